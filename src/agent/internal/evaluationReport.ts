/**
 * What an evaluation keeps about a run, and how it is read back.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import * as Journal from "../../journal/Journal.ts"
import * as Run from "../../run/Run.ts"

/** @since 0.1.0 */
export interface ScoreGiven extends Schema.Schema.Type<typeof ScoreGiven> {}

/**
 * What one scorer says.
 *
 * **Details**
 *
 * - `value`: `null` = no score; `why` says why. `model`: of a judge.
 *
 * @category models
 * @since 0.1.0
 */
export const ScoreGiven = Schema.Struct({
  scorer: Schema.String,
  value: Schema.NullOr(Schema.Finite),
  why: Schema.String,
  model: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export interface Scored extends Schema.Schema.Type<typeof Scored> {}

/**
 * What is known about an evaluated run: the output of the task `score`.
 *
 * **Details**
 *
 * - `endedAt`: of the run, in milliseconds since 1970. `workers`: who took part in it.
 * - `failures`: by kind and shape of the reason. `fresh`: not seen before.
 *
 * @category models
 * @since 0.1.0
 */
export const Scored = Schema.Struct({
  run: Schema.String,
  desk: Schema.String,
  status: Schema.String,
  endedAt: Schema.Finite,
  workers: Schema.Array(Schema.String),
  scores: Schema.Array(ScoreGiven),
  failures: Schema.Array(Schema.Struct({ kind: Schema.String, shape: Schema.String, fresh: Schema.Boolean }))
})

/** @since 0.1.0 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

/**
 * What an evaluation has come to: the output of its task `look`.
 *
 * **Details**
 *
 * - `low`: the scorers with a low score. `fresh`: new failures. `marked`: whether there is any of these.
 * - `asked`: whether people were asked. `said`: what they answered, `problem` or `fine`; absent when nobody did.
 *
 * @category models
 * @since 0.1.0
 */
export const Verdict = Schema.Struct({
  run: Schema.String,
  low: Schema.Array(Schema.String),
  fresh: Schema.Array(Schema.String),
  marked: Schema.Boolean,
  asked: Schema.Boolean,
  said: Schema.optionalKey(Schema.Literals(["problem", "fine"])),
  by: Schema.optionalKey(Schema.String)
})

const decode = Schema.decodeUnknownOption(Scored)

/** The reports of the newest evaluations. A run that cannot be read any more stops nobody else. */
export const reports = (
  evaluation: string,
  limit?: number | undefined
): Stream.Stream<Scored, Journal.JournalError, Journal.Journal> =>
  Stream.unwrap(
    Effect.map(
      Effect.flatMap(Journal.Journal, (journal) => journal.runs({ desk: evaluation, limit })),
      (found) =>
        Stream.fromIterable(found).pipe(
          Stream.mapEffect(({ run }) =>
            Run.outcome(run).pipe(
              Effect.map(({ results }) => decode(results["score"]?.output)),
              Effect.catchTags({
                RunNotFound: () => Effect.succeed(Option.none<Scored>()),
                RunTooNew: () => Effect.succeed(Option.none<Scored>()),
                RunUntrusted: () => Effect.succeed(Option.none<Scored>())
              })
            )
          ),
          Stream.filter(Option.isSome),
          Stream.map(({ value }) => value)
        )
    )
  )

/** The failures that earlier evaluations have seen, as `kind shape`. */
export const known = (
  evaluation: string,
  history: number
): Effect.Effect<ReadonlySet<string>, Journal.JournalError, Journal.Journal> =>
  Stream.runFold(
    reports(evaluation, history),
    () => new Set<string>(),
    (seen, { failures }) => {
      for (const { kind, shape } of failures) seen.add(`${kind} ${shape}`)
      return seen
    }
  )
