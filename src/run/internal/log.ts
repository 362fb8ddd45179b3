/**
 * Events in and out of the journal.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import type * as Journal from "../../journal/Journal.ts"
import { RunEvent } from "../RunEvent.ts"
import { RunTooNew, RunUntrusted } from "./runErrors.ts"
import { type Data, storedType, type Unreadable, upcast, type Upcasters } from "./upcasting.ts"

/** @since 0.1.0 */
export const toRecord = ({ _tag, at, ...data }: RunEvent): Journal.Event => ({
  type: storedType(_tag),
  at,
  // Every field of an event is plain JSON by its schema; the type only does not say so.
  data: data as unknown as Schema.Json
})

const decode = Schema.decodeUnknownResult(RunEvent)

const isData = (data: Schema.Json): data is Data => typeof data === "object" && data !== null && !Array.isArray(data)

/**
 * The event of a record, or why it is none.
 *
 * @since 0.1.0
 */
export const fromRecord = (
  { at, data, type }: Journal.Event,
  table?: Upcasters | undefined
): EffectResult.Result<RunEvent, Unreadable> =>
  EffectResult.flatMap(upcast(type, isData(data) ? data : {}, table), ({ data, name }) =>
    EffectResult.mapError(decode({ ...data, _tag: name, at }), (error): Unreadable => ({
      _tag: "Damaged",
      reason: `a ${type} that cannot be read: ${error.message}`
    }))
  )

/**
 * What an event that cannot be read is to whoever wants to read the run.
 *
 * @since 0.1.0
 */
export const refusal = (run: string, version: number, why: Unreadable): RunTooNew | RunUntrusted =>
  why._tag === "TooNew"
    ? new RunTooNew({ run, version, type: why.type, known: why.known })
    : new RunUntrusted({ run, version, reason: why.reason })

const same = (recorded: Journal.Recorded, event: Journal.Event): boolean =>
  recorded.type === event.type &&
  recorded.at === event.at &&
  JSON.stringify(recorded.data) === JSON.stringify(event.data)

/**
 * Passing trouble of the store: tried again for about six seconds.
 *
 * @since 0.1.0
 */
export const patience = Schedule.exponential("100 millis").pipe(Schedule.upTo({ times: 6 }))

/**
 * Appends in one commit. A failed commit is tried again as a commit; when it turns out that an earlier try had reached the
 * store after all, that is a success.
 *
 * @since 0.1.0
 */
export const commit = (
  journal: Journal.Journal["Service"],
  append: Journal.Append
): Effect.Effect<number, Journal.VersionConflict | Journal.JournalError> =>
  Effect.catchTag(journal.append(append), "JournalError", (error) =>
    error.isRetryable ? again(journal, append, error) : Effect.fail(error)
  )

/** Goes on after a first try that failed. */
const again = (
  journal: Journal.Journal["Service"],
  append: Journal.Append,
  failed: Journal.JournalError
): Effect.Effect<number, Journal.VersionConflict | Journal.JournalError> => {
  let tries = 0
  const once = Effect.suspend(() => (++tries === 1 ? Effect.fail(failed) : journal.append(append)))
  return once.pipe(
    Effect.retry({
      schedule: patience,
      while: (error) => error._tag === "JournalError" && error.isRetryable
    }),
    Effect.catchTag("VersionConflict", (conflict) => {
      const { events, expected, run } = append
      if (conflict.actual !== expected + events.length) return Effect.fail(conflict)
      return journal.read(run, { from: expected + 1 }).pipe(
        Stream.runCollect,
        Effect.flatMap((recorded) =>
          recorded.every((each, index) => same(each, events[index]!))
            ? Effect.succeed(conflict.actual)
            : Effect.fail(conflict)
        )
      )
    })
  )
}
