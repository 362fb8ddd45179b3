/**
 * What becomes of word for a run that is over: nobody takes it in any more, but that somebody decided too late is a matter of
 * record.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as Journal from "../../journal/Journal.ts"
import { Redaction } from "../../Redaction.ts"
import type { RunEvent } from "../RunEvent.ts"
import { applyEvent, type Draft } from "./apply.ts"
import { commit, toRecord } from "./log.ts"
import { attended } from "./observing.ts"
import { foldRun } from "./reading.ts"
import { redacted } from "./redacting.ts"
import { relayed, submitted } from "./submitting.ts"
import { wordOf } from "./word.ts"

/** What is written of word that came after the end of its run, if anything is. The run is over: nobody may decide any more. */
const recorded = (state: Draft, left: Journal.Left, at: number, rules: Redaction): RunEvent | undefined => {
  const { command: _, ...word } = wordOf(left)
  const event = redacted({ ...word, at } as RunEvent, rules)
  if (event._tag === "ReviewDecided") return submitted(state, event, { _tag: "Eligible" }).event
  return event._tag === "ReviewRefused" ? relayed(state, event).event : undefined
}

/**
 * Clears word for a run that is over away.
 *
 * @since 0.1.0
 */
export const clear = Effect.fnUntraced(function* (
  journal: Journal.Journal["Service"],
  run: Draft,
  commands: ReadonlyArray<Journal.Left>
): Effect.fn.Return<void, Journal.VersionConflict | Journal.JournalError> {
  const rules = yield* Redaction
  const at = Math.floor(yield* Clock.currentTimeMillis)
  const expected = run.version
  const events: Array<RunEvent> = []
  let state = run
  for (const left of commands) {
    const event = recorded(state, left, at, rules)
    const next = event === undefined ? "nothing is written" : applyEvent(state, event)
    if (event === undefined || typeof next === "string") continue
    state = next
    events.push(event)
  }
  const handled = commands.map(({ id }) => id)
  if (events.length === 0) return yield* journal.discard(handled)
  const write = commit(journal, { run: run.run, expected, events: events.map(toRecord), handled })
  yield* attended(run.run, (observing) => {
    if (observing.isNobody) return write
    const known = Effect.provideService(foldRun(run.run, observing.recall), Journal.Journal, journal)
    return Effect.matchEffect(known, {
      // O2
      onFailure: () => write,
      onSuccess: () => Effect.uninterruptible(Effect.map(write, () => observing.happened(events)))
    })
  })
})
