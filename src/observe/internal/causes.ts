import { type Draft, fromOutside } from "../../run/internal/apply.ts"
/**
 * Why a run was taken up, out of its events.
 *
 * @since 0.1.0
 */
import { wakeAt } from "../../run/internal/applying/timers.ts"
import type { Cause } from "../../run/Observer.ts"
import type { RunEvent } from "../../run/RunEvent.ts"

/** What is written while nobody carries a run out, too. */
const beside: ReadonlySet<string> = new Set([
  ...fromOutside,
  "Notified",
  "ReviewAdvanced",
  "ReviewExpired",
  "GrantStalled"
])

/** Whether an event shows that somebody carries the run out. */
export const isInside = (event: RunEvent): boolean => !beside.has(event._tag)

/** What an event says of why a run goes on. */
const reasonOf = ({ _tag: tag }: RunEvent): Cause | undefined => {
  switch (tag) {
    case "ReviewDecided":
    case "ReviewVoted":
    case "ReviewWithdrawn":
      return "decision"
    case "CancelRequested":
    case "AutonomyChanged":
      return "message"
    case "TimerFired":
    case "ReviewAdvanced":
    case "ReviewExpired":
    case "GrantStalled":
    case "DeadlinePassed":
      return "timer"
    default:
      return undefined
  }
}

/** What is taken in together with the event that says that the run was taken up. */
const first: ReadonlySet<string> = new Set(["RunResumed", "AutonomyChanged", "Notified"])

/** Finds why a run was taken up. */
export class Causes {
  /** What people have said since nobody carries it out. */
  private heard: Cause | undefined
  /** Nothing but what was due was seen since it was taken up. */
  private unsure = false

  /** The cause of a segment. `cutOff`: the one before has not ended. */
  of(draft: Draft | undefined, cutOff: boolean): Cause {
    const wakes = draft === undefined ? undefined : wakeAt(draft)
    const heard = this.heard
    this.heard = undefined
    this.unsure = false
    if (cutOff) return "crash-recovery"
    if (draft?.status === "suspended") return "message"
    if (heard !== undefined) return heard
    this.unsure = true
    return wakes === undefined ? "decision" : "timer"
  }

  /** Sees an event, and answers with another cause of the segment that goes on where it shows one. */
  see(event: RunEvent, isOpen: boolean): Cause | undefined {
    const reason = reasonOf(event)
    if (!isOpen) {
      if (reason !== undefined && fromOutside.has(event._tag)) this.heard ??= reason
      return undefined
    }
    if (!this.unsure || first.has(event._tag)) return undefined
    this.unsure = false
    return reason
  }
}
