/**
 * Why a run was taken up, out of its events: as whoever took it up has written it, or what it must have been where the journal is older
 * than that.
 *
 * @since 0.1.0
 */
import { type Draft, fromOutside } from "../../run/internal/apply.ts"
import { wakeAt } from "../../run/internal/applying/timers.ts"
import { configuration } from "../../run/internal/tiering.ts"
import type { Cause } from "../../run/Observer.ts"
import type { Of, RunEvent } from "../../run/RunEvent.ts"

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

/** What is written because its time has come. */
const due: ReadonlySet<string> = new Set([
  "TimerFired",
  "ReviewAdvanced",
  "ReviewExpired",
  "GrantStalled",
  "DeadlinePassed"
])

/** What may be taken in first, and says nothing of why. */
const isSilent = (event: RunEvent): boolean =>
  event._tag === "HealthChanged" || (event._tag === "AutonomyChanged" && event.by === configuration)

/**
 * Finds why a run was taken up, as whoever took it up knew it. Where that is not written: by what it was then, and by what people had
 * said that was not in its journal yet, which is taken in at once.
 */
export class Causes {
  /** More of the cause may come. */
  private unsure = false
  /** It goes on because of people: it was put down, or they have left word for it. What is due beside that is not why. */
  private byPeople = false

  /** The cause of a segment that begins. `cutOff`: the one before has not ended. */
  of(draft: Draft | undefined, cutOff: boolean, { at, cause }: Of<"RunResumed">): Cause {
    this.unsure = false
    if (cause !== undefined) return cause
    this.byPeople = draft?.status === "suspended"
    if (cutOff) return "crash-recovery"
    if (draft?.status === "running") return draft.cancelled === undefined ? "decision" : "message"
    // With orders under way, what people have said beside that is not why.
    if (this.byPeople && draft !== undefined && draft.running + draft.consulting > 0) return "message"
    this.unsure = true
    const wakes = draft?.status === "waiting" ? wakeAt(draft) : undefined
    return wakes !== undefined && wakes <= at ? "timer" : "message"
  }

  /** Sees the next event, and answers with its cause where it is another one. */
  see(event: RunEvent): Cause | undefined {
    const { _tag: tag } = event
    if (!this.unsure || isSilent(event)) return undefined
    if (tag === "ReviewDecided" || !fromOutside.has(tag)) this.unsure = false
    if (tag === "ReviewDecided") return "decision"
    if (fromOutside.has(tag)) {
      this.byPeople = true
      return "message"
    }
    return due.has(tag) && !this.byPeople ? "timer" : undefined
  }
}
