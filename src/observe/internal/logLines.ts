/**
 * The log of one run, as lines: a pure fold over its events.
 *
 * **Details**
 *
 * - What is told of which event, and how loud, is in the table (`logTable.ts`).
 * - What was written before is learned and not told again.
 *
 * **Invariants**
 *
 * - L1. One event gives one line; the first event after a crash gives one more, of the crash.
 * - L2. Every text of a line went through the rules that take secrets out, and is cut.
 *
 * @since 0.1.0
 */
import type { Redaction } from "../../Redaction.ts"
import { shorten } from "../../run/internal/problems.ts"
import type { Cause } from "../../run/Observer.ts"
import type { RunEvent } from "../../run/RunEvent.ts"
import type { Place } from "./levels.ts"
import { type Memory, nothingOf, remember } from "./logMemory.ts"
import { domainOf, errorType, eventName, type Fields, given, word } from "./logNames.ts"
import type { Level, Said } from "./logSaid.ts"
import { table } from "./logTable.ts"
import { events as eventNames } from "./ownNames.ts"
import * as Traceparent from "./traceparent.ts"

/**
 * One line of a log.
 *
 * **Details**
 *
 * - `place`: where it belongs, to decide whether it is told. `fields`: made when they are asked for.
 *
 * @since 0.1.0
 */
export interface Line {
  readonly at: number
  readonly level: Level
  readonly place: Place
  readonly message: () => string
  readonly fields: () => Fields
}

/**
 * How texts that are not ours are told: `by` takes secrets out; without `reasons` they are not told at all.
 *
 * @since 0.1.0
 */
export interface Manner {
  readonly by: Redaction
  readonly reasons: boolean
}

/** Characters of a reason, and of any other text. */
const longest = { reason: 300, text: 200 }

/** A text without secrets, and cut after they were taken out, so that no half of one is left. */
export const told = ({ by }: Pick<Manner, "by">, text: string, limit: number = longest.text): string =>
  shorten(by.text(text), limit)

/** Fields whose texts are ids that other records are found by. */
const ids: ReadonlySet<string> = new Set(["run_id", "trace_id", "span_id", eventName])

const clean = (fields: Fields, manner: Manner): Fields => {
  const found: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) {
    const value = fields[name]
    found[name] = typeof value === "string" && !ids.has(name) ? told(manner, value) : value
  }
  return found
}

/** The ids in a W3C `traceparent`; nothing where it is none. */
export const idsOf = (trace: string | undefined): Fields => {
  const read = Traceparent.read(trace)
  return read === undefined ? {} : { trace_id: read.traceId, span_id: read.spanId }
}

const errorOf = ({ error }: Said, { reasons, ...manner }: Manner): Fields =>
  error === undefined
    ? {}
    : {
        ...(error.type === undefined ? {} : { [errorType]: error.type }),
        error: {
          kind: word(error.kind),
          ...(reasons ? { reason: told(manner, error.reason, longest.reason) } : {})
        }
      }

const noteOf = ({ note }: Said, { reasons, ...manner }: Manner): Fields =>
  note === undefined || !reasons ? {} : { note: told(manner, note, longest.reason) }

/** What is said as a line, in a manner. `fields`: where it happened. */
export const lineOf = (at: number, said: Said, place: Place, fields: Fields, manner: Manner): Line => ({
  at,
  level: said.level,
  place,
  message: () => told(manner, said.message, longest.reason),
  fields: () => ({
    ...clean(given({ [eventName]: said.name, ...fields, ...said.more?.() }), manner),
    ...errorOf(said, manner),
    ...noteOf(said, manner)
  })
})

/** @since 0.1.0 */
export class LogLines {
  private readonly manner: Manner
  private memory: Memory
  private cause: Cause | undefined

  constructor(run: string, manner: Manner) {
    this.memory = nothingOf(run)
    this.manner = manner
  }

  /** What is known of the run now. */
  get known(): Memory {
    return this.memory
  }

  /** An event that was written before, and is not told again. */
  recall(event: RunEvent): void {
    this.memory = remember(this.memory, event)
  }

  /** Somebody begins to carry the run out. */
  begin(cause: Cause): void {
    this.cause = cause
  }

  /** The lines of an event that has happened. */
  happened(event: RunEvent): ReadonlyArray<Line> {
    const before = this.memory
    this.memory = remember(before, event)
    // A segment begins with the event that says so, in its own trace.
    const { trace } = this.memory
    const known = before.desk === undefined ? this.memory : before
    const line = this.line(event.at, this.with(table[event._tag](event as never, before), event), known, trace)
    if (event._tag !== "RunResumed" || this.cause !== "crash-recovery") return [line]
    return [this.line(event.at, lost(before, event.at), known, before.trace), line] // L1
  }

  private line(at: number, said: Said, { desk, run }: Memory, trace: string | undefined): Line {
    const { task, worker } = said
    const domain = worker === undefined ? undefined : domainOf(worker)
    const fields = { run_id: run, task, worker, domain, ...idsOf(trace) }
    return lineOf(at, said, { desk, domain, worker }, fields, this.manner)
  }

  private with(said: Said, { _tag }: RunEvent): Said {
    const { cause } = this
    if (_tag !== "RunResumed" || cause === undefined) return said
    const { message, more } = said
    return { ...said, message: `${message}: ${cause}`, more: () => ({ ...more?.(), cause: word(cause) }) }
  }
}

/** Whoever carried the run out before has left no word. It belongs to the segment that was lost. */
const lost = ({ carriedAt, events, orders }: Memory, at: number): Said => ({
  level: "Warn",
  name: eventNames.segmentLost,
  message: `whoever carried the run out is gone, with ${orders.size} open orders`,
  more: () => ({ events, open: orders.size, silent_ms: Math.max(0, at - carriedAt) })
})
