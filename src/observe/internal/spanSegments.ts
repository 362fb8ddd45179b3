/**
 * The segments of a run: where the trace of the next one stands, what it points to, and whether it is kept.
 *
 * @since 0.1.0
 */
import type { Beginning } from "../../run/Observer.ts"
import type { RunEvent } from "../../run/RunEvent.ts"
import { links } from "../SemConv.ts"
import { isInside } from "./causes.ts"
import * as Traceparent from "./traceparent.ts"

/** What a span points to: another one of this plan, or one of another process, as a `traceparent`. */
export interface Link {
  readonly type: string
  readonly to: { readonly id: string } | { readonly trace: string }
}

/** So many decisions a segment points to. */
const mostDecisions = 20

/** Whether an event is one of those after which somebody will want to see the rest of the run. */
const isTrouble = (event: RunEvent): boolean => {
  switch (event._tag) {
    case "AttemptFailed":
    case "BudgetRefused":
    case "DeadlinePassed":
    case "DecisionFailed":
    case "EffectQuarantined":
    case "Overrun":
    case "ReviewOpened":
      return true
    case "Reported":
      return event.outcome !== "accepted"
    default:
      return false
  }
}

/** A number from 0 to below 1 that depends on a text and on nothing else: FNV-1a, mixed as in MurmurHash3. */
const shareOf = (text: string): number => {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** Whether a run is among so many of all, whoever asks. */
export const isAmong = (run: string, share: number): boolean => shareOf(run) < share

/** What is known of the segments of a run so far. */
export class Segments {
  /** How many have begun, as far as events say. */
  count = 0
  private origin: string | undefined
  private latest: string | undefined
  private decided: Array<string> = []
  private trouble = false

  /** The latest anchor, as a `traceparent`. */
  get last(): string | undefined {
    return this.latest
  }

  /** That of the first one. */
  get first(): string | undefined {
    return this.origin
  }

  learn(event: RunEvent): void {
    this.trouble ||= isTrouble(event)
    const trace = "trace" in event ? Traceparent.only(event.trace) : undefined
    if (event._tag === "ReviewDecided" && trace !== undefined) this.decided.push(trace)
    // What was decided while somebody carried the run out is no reason why another one does.
    else if (isInside(event)) this.decided = []
    if (event._tag === "RunStarted") {
      this.count = 1
      this.origin = this.latest = trace
    } else if (event._tag === "RunResumed") {
      this.count += 1
      if (trace !== undefined) this.latest = trace
    }
  }

  /** What the anchor of the next one points to. `caller`: the span in which it begins. */
  linksOf({ cause, decided }: Beginning, caller: string | undefined): ReadonlyArray<Link> {
    const to = (type: string, ...traces: ReadonlyArray<string | undefined>): ReadonlyArray<Link> =>
      [...new Set(traces)].flatMap((trace) => (trace === undefined ? [] : [{ type, to: { trace } }]))
    return [
      ...to(cause === "crash-recovery" ? links.recovers : links.resumedFrom, this.latest),
      ...to(links.runOrigin, this.origin),
      ...to(links.decidedBy, ...[...this.decided, ...decided].slice(-mostDecisions)),
      ...to(links.triggeredBy, caller)
    ]
  }

  /** Whether the next one is told: as the run is kept, as it was in trouble, or as a part of it was told. */
  isSampled({ cause }: Beginning, kept: boolean): boolean {
    return kept || this.trouble || cause === "crash-recovery" || Traceparent.read(this.latest)?.sampled === true
  }
}
