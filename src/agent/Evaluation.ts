/**
 * How good finished runs were: scorers look at them, people look at what is low or new, and the scores make a trend.
 *
 * A scorer is code, or a judge: a model that is not the one whose work it judges. An {@link Evaluation} is a small desk of its
 * own. What it finds about the run `r1` is the run `evaluation.r1`, in the same journal: durable, resumable, and with the
 * questions to people that any run has.
 *
 * **Details**
 *
 * - Which runs are looked at follows from their ids alone, so a second look at the same share takes the same runs.
 * - A score is a number from 0, the worst, to 1. A scorer that fails, and a judge that answers badly twice or cannot do it,
 *   gives no score.
 * - What a judge is asked is paid for call by call in the run of the evaluation, also what is answered badly: `Meter` has it.
 *   A judge that cannot be reached, or may not be asked, fails the order instead: `Recovery` says what happens then.
 * - A failure is new when no evaluation that is still in the journal has seen its kind with a reason of the same shape: the
 *   reason without ids, numbers, paths and what is quoted.
 * - A judge is shown the input, the results and what is missing of a run, as data.
 *
 * **Invariants**
 *
 * - No score is made up: what could not be judged is counted, and is in no mean.
 * - A judge never judges a run that its own model has worked on, as far as the journal says which models that were.
 *
 * **Gotchas**
 *
 * - To the first evaluations every failure is new.
 * - Names of models are compared as they are written: two names of one model are two models.
 * - What a judge says is as untrusted as any other answer of a model.
 *
 * **Example** (A scorer that counts what is missing)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Evaluation } from "espalier/agent"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts words",
 *   input: Schema.Struct({}),
 *   output: Schema.Int,
 *   handle: () => Effect.succeed(3)
 * })
 * const desk = Desk.make("words", {
 *   version: "1",
 *   input: Schema.Struct({}),
 *   domains: [Domain.make("words", { workers: [count] })],
 *   coordinator: Plan.make([{ id: "count", worker: "words.count", objective: "Count" }])
 * })
 * const whole = Evaluation.scorer("whole", ({ outcome }) =>
 *   Effect.succeed({ value: outcome.missing.length === 0 ? 1 : 0, why: `${outcome.missing.length} parts are missing` })
 * )
 * const evaluation = Evaluation.make({ scorers: [whole] })
 *
 * const program = Effect.gen(function* () {
 *   yield* Run.start(desk, { id: "r1", input: {} })
 *   yield* Evaluation.sweep(evaluation)
 *   const trend = yield* Evaluation.trend()
 *   return trend.map(({ count, desk, mean, scorer }) => [desk, scorer, count, mean])
 * })
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => [["words", "whole", 1, 1]]
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as Failure from "../Failure.ts"
import { tellWarning } from "../internal/telling.ts"
import * as Journal from "../journal/Journal.ts"
import type * as Dependency from "../run/Dependency.ts"
import * as Desk from "../run/Desk.ts"
import * as Domain from "../run/Domain.ts"
import type * as Effects from "../run/Effects.ts"
import { digest } from "../run/internal/canonical.ts"
import { Given } from "../run/internal/given.ts"
import { shortened } from "../run/internal/problems.ts"
import type * as Outcome from "../run/Outcome.ts"
import * as Plan from "../run/Plan.ts"
import * as Result from "../run/Result.ts"
import * as Review from "../run/Review.ts"
import type * as ReviewPolicy from "../run/ReviewPolicy.ts"
import * as Run from "../run/Run.ts"
import { RunEnd } from "../run/RunEvent.ts"
import type * as Tiers from "../run/Tiers.ts"
import * as Worker from "../run/Worker.ts"
import type * as Supervisor from "../Supervisor.ts"
import type { CostModel } from "./CostModel.ts"
import { type Found, isSameModel, judged, none, score as found } from "./internal/evaluationJudge.ts"
import { known, type ScoreGiven, Scored, Verdict } from "./internal/evaluationReport.ts"
import { read } from "./internal/evaluationSubject.ts"
import * as Models from "./Models.ts"

export { ScoreGiven, Scored, Verdict } from "./internal/evaluationReport.ts"
export { scores, trend, type Query, type Row, type Trend, type TrendQuery } from "./internal/evaluationTrend.ts"

const TypeId = "~espalier/agent/Evaluation"

/**
 * What a scorer looks at.
 *
 * **Details**
 *
 * - `input`: what the run began with. `outcome`: what came of it.
 * - `models`: the names of the models that it called, as far as its calls were recorded. `workers`: who took part.
 * - `failures`: of its orders, by kind and shape of the reason.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  readonly run: string
  readonly input: unknown
  readonly outcome: Outcome.Outcome
  readonly models: ReadonlyArray<string>
  readonly workers: ReadonlyArray<string>
  readonly failures: ReadonlyArray<{ readonly kind: string; readonly shape: string }>
}

/**
 * A score: `value` between 0 and 1, and `why` in a sentence.
 *
 * @category models
 * @since 0.1.0
 */
export interface Score {
  readonly value: number
  readonly why: string
}

/**
 * Something that gives scores. Made by {@link scorer} and {@link judge}.
 *
 * **Details**
 *
 * - `model`: of a judge.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scorer<out R = never> {
  readonly [TypeId]: (subject: Subject, order: Worker.Order) => Effect.Effect<Found, unknown, R | Effects.Effects>
  readonly name: string
  readonly model?: string | undefined
}

const isScorer = (value: unknown): value is Scorer => Predicate.hasProperty(value, TypeId)

const named = (given: Given, name: string): void => {
  given.names("name", [name], "ids")
}

const isScore = (value: unknown): value is Score =>
  Predicate.hasProperty(value, "value") &&
  typeof value.value === "number" &&
  value.value >= 0 &&
  value.value <= 1 &&
  Predicate.hasProperty(value, "why") &&
  typeof value.why === "string"

/**
 * A scorer that is code. What it fails or breaks off with, and a value that is not between 0 and 1, is no score.
 *
 * @category scorers
 * @since 0.1.0
 */
export const scorer = <E, R>(name: string, score: (subject: Subject) => Effect.Effect<Score, E, R>): Scorer<R> => {
  const given = new Given("Evaluation.scorer")
  named(given, name)
  given.code("score", score)
  return {
    name,
    [TypeId]: (subject) =>
      guarded(
        Effect.map(
          Effect.suspend(() => score(subject)),
          (said) => (isScore(said) ? found(said.value, said.why) : none("the value is not between 0 and 1"))
        )
      )
  }
}

/** Whatever becomes of a scorer, the others go on. */
const guarded = <E, R>(scoring: Effect.Effect<Found, E, R>): Effect.Effect<Found, never, R> =>
  Effect.catchCause(scoring, (cause) =>
    Cause.hasInterrupts(cause)
      ? Effect.interrupt
      : Effect.succeed(none(`the scorer failed: ${String(Cause.squash(cause))}`))
  )

/**
 * What a judge is made of.
 *
 * **Details**
 *
 * - `models`: who judges, and who stands in. `called`: the names of these models.
 * - `worker`: the names of the models whose work it judges; its own are refused.
 * - `rubric`: what is good and what is not, in plain sentences.
 * - `view`: what it is shown of a run, plain JSON; the first 60,000 characters of it. Default: the input, the results and what
 *   is missing.
 * - `maxOutput`: the most tokens that its answer may have, a whole number >= 1. Default 4096.
 *
 * @category models
 * @since 0.1.0
 */
export interface JudgeOptions<R> {
  readonly models: Models.Models<R>
  readonly called: string | ReadonlyArray<string>
  readonly worker: string | ReadonlyArray<string>
  readonly rubric: string
  readonly view?: ((subject: Subject) => unknown) | undefined
  readonly maxOutput?: number | undefined
}

const wholeView = ({ input, outcome: { missing, output, results, status } }: Subject): unknown => ({
  status,
  input,
  output,
  results: Object.values(results).map(({ output, status, task }) => ({ task, status, output })),
  missing: missing.map(({ reason, task }) => ({ task, reason }))
})

/**
 * A scorer that is a model. It is asked once, and once more, told what was wrong, when its answer does not fit.
 *
 * | its models | then |
 * |---|---|
 * | answer badly twice | no score |
 * | refuse, cannot be asked for this, or find it too long | no score |
 * | cannot be reached, may not be asked, have no budget left | the order fails, and is tried again as `Recovery` says |
 *
 * **Details**
 *
 * - It has to answer with an object: `score`, a number from 0 (the worst) to 1 (the best), and `why`, one or two sentences.
 * - What a judge has said is recorded: it is not asked again when the order is tried again or taken up after a crash.
 * - Of its models, those that have worked on the run are not asked, as their own names and the journal say.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when one of its models is one of the work, by `called` or by the name of a member. A run of which no
 * model is left to judge it gets no score.
 *
 * @category scorers
 * @since 0.1.0
 */
export const judge = <R>(
  name: string,
  options: JudgeOptions<R>
): Scorer<Exclude<R, Scope.Scope> | Dependency.Dependency | CostModel> => {
  const given = new Given("Evaluation.judge")
  named(given, name)
  given.record("options", options, ["models", "called", "worker", "rubric", "view", "maxOutput"])
  const { maxOutput = 4096, models, rubric, view = wholeView } = options
  const called = given.names("options.called", listOf(options.called))
  const workers = given.names("options.worker", listOf(options.worker))
  given.made("options.models", "made by Models.make", Models.isModels(models), models)
  given.text("options.rubric", rubric)
  given.code("options.view", view)
  given.whole("options.maxOutput", maxOutput, 1)
  if (called.length === 0) given.refuse("options.called", "a list of at least one name", options.called)
  const members = models.members.flatMap(({ name }) => (name === undefined ? [] : [name]))
  const isOf = (works: ReadonlyArray<string>, judge: string) => works.some((worker) => isSameModel(worker, judge))
  for (const [parameter, names] of [
    ["options.called", called],
    ["options.models", members]
  ] as const) {
    const own = names.find((each) => isOf(workers, each))
    if (own !== undefined) given.refuse(parameter, "another model than that of the work", own)
  }
  return {
    name,
    model: called[0],
    [TypeId]: (subject, order) => {
      const works = [...workers, ...subject.models]
      if (called.every((each) => isOf(works, each))) {
        return Effect.succeed(none(`${called.join(" and ")} would judge its own work`))
      }
      const judging = { scorer: name, models, rubric, maxOutput, isWorker: (judge: string) => isOf(works, judge) }
      return Effect.matchEffect(
        Effect.try(() => JSON.stringify(view(subject)) ?? "null"),
        {
          onFailure: ({ cause }) => Effect.succeed(none(`there is nothing to show the judge: ${String(cause)}`)),
          onSuccess: (shown) => judged(judging, shown, order)
        }
      )
    }
  }
}

const listOf = (names: string | ReadonlyArray<string>): ReadonlyArray<string> =>
  typeof names === "string" ? [names] : names

/**
 * What an evaluation is made of.
 *
 * **Details**
 *
 * - `name`: of its desk, and what the ids of its runs begin with. Default `"evaluation"`. `version`: default `"1"`.
 * - `scorers`: with names that are unique; at least one.
 * - `share`: of the runs that are looked at, between 0 and 1. Default 1.
 * - `low`: a score below it is low, between 0 and 1. Default 0.5.
 * - `onLow`, `onNew`: whether people are asked about low scores and new failures, or it is only marked. Default `"review"`.
 * - `reviews`: by which rules people are asked. Default: `ReviewPolicy.policy`.
 * - `history`: how many earlier evaluations are looked through for failures that are known, a whole number >= 0. Default 1000.
 * - `timeout`: how long one scorer may take, > 0. Default 5 minutes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<R> {
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly scorers: ReadonlyArray<Scorer<R>>
  readonly share?: number | undefined
  readonly low?: number | undefined
  readonly onLow?: "review" | "mark" | undefined
  readonly onNew?: "review" | "mark" | undefined
  readonly reviews?: ReviewPolicy.ReviewPolicy | undefined
  readonly history?: number | undefined
  readonly timeout?: Duration.Input | undefined
}

/**
 * An evaluation: the desk that carries it out, and the share of the runs that it looks at.
 *
 * @category models
 * @since 0.1.0
 */
export interface Evaluation<out R = never> {
  readonly desk: Desk.Desk<{ readonly run: string }, R | Journal.Journal>
  readonly name: string
  readonly share: number
}

const optionNames = [
  "name",
  "version",
  "scorers",
  "share",
  "low",
  "onLow",
  "onNew",
  "reviews",
  "history",
  "timeout"
] as const

/**
 * Makes an evaluation.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option is not what its type says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R>(options: Options<R>): Evaluation<R> => {
  const given = new Given("Evaluation.make")
  given.record("options", options, optionNames)
  const {
    history = 1_000,
    low = 0.5,
    name = "evaluation",
    onLow = "review",
    onNew = "review",
    reviews,
    scorers,
    share = 1,
    timeout = "5 minutes",
    version = "1"
  } = options
  given.names("options.name", [name], "ids")
  given.list("options.scorers", scorers).forEach((each, index) => {
    given.made(`options.scorers[${index}]`, "a scorer of Evaluation", isScorer(each), each)
  })
  if (scorers.length === 0) given.refuse("options.scorers", "a list of at least one scorer", scorers)
  given.names(
    "options.scorers",
    scorers.map((each) => each.name)
  )
  given.share("options.share", share)
  given.share("options.low", low)
  given.oneOf("options.onLow", onLow, ["review", "mark"])
  given.oneOf("options.onNew", onNew, ["review", "mark"])
  given.whole("options.history", history, 0)
  given.duration("options.timeout", timeout, "more")

  const scoring = Worker.make("scorer", {
    description: "Scores a finished run",
    input: Schema.Struct({ run: Schema.String }),
    output: Scored,
    // Each scorer has its own time, and tells that it is over.
    attemptTimeout: Duration.times(Duration.fromInputUnsafe(timeout), 2),
    handle: Effect.fnUntraced(function* (order) {
      const { run } = order.input
      const { failures, input, models, outcome, workers } = yield* read(run)
      if (!isOver(outcome.status)) return yield* new RunNotOver({ run, status: outcome.status })
      const seen = yield* known(name, history)
      const subject: Subject = { run, input, outcome, models, workers, failures }
      const given: Array<ScoreGiven> = []
      for (const each of scorers) {
        const found = yield* Effect.timeoutOption(each[TypeId](subject, order), timeout)
        const { model = each.model, value, why } = Option.getOrElse(found, () => none("the scorer took too long"))
        given.push({ scorer: each.name, value, why, ...(model === undefined ? {} : { model }) })
        yield* order.progress
      }
      const scored: Scored = {
        run,
        desk: outcome.desk,
        status: outcome.status,
        endedAt: outcome.endedAt ?? outcome.startedAt,
        workers,
        scores: given,
        failures: failures.map(({ kind, shape }) => ({ kind, shape, fresh: !seen.has(`${kind} ${shape}`) }))
      }
      return Result.completed(scored)
    })
  })

  const looking = Worker.make("reader", {
    description: "Has people look at what is low or new",
    input: Schema.Struct({ scored: Scored }),
    output: Verdict,
    handle: Effect.fnUntraced(function* ({ input: { scored } }) {
      const poor = scored.scores.filter(({ value }) => value !== null && value < low)
      const fresh = scored.failures.filter((failure) => failure.fresh).map(({ kind, shape }) => `${kind}: ${shape}`)
      const verdict: Verdict = {
        run: scored.run,
        low: poor.map(({ scorer }) => scorer),
        fresh,
        marked: poor.length > 0 || fresh.length > 0,
        asked: (onLow === "review" && poor.length > 0) || (onNew === "review" && fresh.length > 0)
      }
      if (!verdict.asked) return verdict
      const reply = yield* Review.ask({
        name: "look",
        question: questionOf(scored, poor, fresh.length),
        about: {
          run: scored.run,
          desk: scored.desk,
          status: scored.status,
          low: poor.map(({ scorer, value }) => ({ scorer, value })),
          fresh: fresh.slice(0, 50)
        },
        rationale: poor.map(({ scorer, why }) => `${scorer}: ${why}`).join("\n"),
        choices: ["problem", "fine"],
        schema: Schema.Literals(["problem", "fine"])
      })
      return reply._tag === "Answered" ? { ...verdict, said: reply.value, by: reply.by } : verdict
    })
  })

  const desk = Desk.make(name, {
    version,
    input: Schema.Struct({ run: Schema.String }),
    domains: [Domain.make("evaluation", { workers: [scoring, looking] })],
    ...(reviews === undefined ? {} : { reviews }),
    coordinator: Plan.make<{ readonly run: string }>([
      { id: "score", worker: "evaluation.scorer", objective: "Score the run", input: (_, { run }) => ({ run }) },
      {
        id: "look",
        worker: "evaluation.reader",
        objective: "Have people look at what is low or new",
        needs: ["score"],
        input: ({ score }) => ({ scored: score })
      }
    ])
  })
  return { desk, name, share }
}

const questionOf = (scored: Scored, poor: ReadonlyArray<ScoreGiven>, fresh: number): string => {
  const low = poor.map(({ scorer, value }) => `${scorer} ${value}`).join(", ")
  const said = [
    ...(poor.length === 0 ? [] : [`scored low: ${low}`]),
    ...(fresh === 0 ? [] : [`failed in ${fresh === 1 ? "a new way" : `${fresh} new ways`}`])
  ]
  return shortened(`The run ${scored.run} of ${scored.desk} ${said.join(", and ")}. Is that a problem?`, 1_000)
}

const ends: ReadonlyArray<string> = RunEnd.literals

const isOver = (status: string): boolean => ends.includes(status)

/**
 * Whether a run is among the share of an evaluation. It follows from its id.
 *
 * @category sampling
 * @since 0.1.0
 */
export const isSampled = (run: string, share: number): boolean =>
  Number.parseInt(digest(run).slice(0, 8), 16) / 0x1_0000_0000 < share

/**
 * The id of the run that evaluates a run.
 *
 * @category sampling
 * @since 0.1.0
 */
export const idOf = (evaluation: Pick<Evaluation, "name">, run: string): string => {
  const id = `${evaluation.name}.${run}`
  return id.length <= 100 ? id : `${evaluation.name}.${digest(run)}`
}

/**
 * A run that is to be evaluated has not ended.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunNotOver extends Schema.TaggedError<RunNotOver>("espalier/agent/Evaluation/RunNotOver")("RunNotOver", {
  run: Schema.String,
  status: Schema.String
}) {
  readonly [Failure.kind] = "denied"

  override get message(): string {
    return `the run ${this.run} is ${this.status}: only a run that is over can be evaluated`
  }
}

type Trouble =
  | Run.InputInvalid
  | Tiers.TiersInvalid
  | Run.RunExists
  | Run.RunBusy
  | Run.RunNotFound
  | Run.RunTooNew
  | Run.RunUntrusted
  | Run.RunError
  | Run.VersionMismatch
  | RunNotOver
  | Desk.DeskInvalid
  | Journal.JournalError
  | Supervisor.StartFailure<never>

/**
 * Evaluates a finished run, or goes on with its evaluation; `None` when it is not among the share.
 *
 * @category running
 * @since 0.1.0
 */
export const evaluate = <R>(
  evaluation: Evaluation<R>,
  run: string,
  options: Run.Watching = {}
): Effect.Effect<Option.Option<Outcome.Outcome>, Trouble, R | Journal.Journal> =>
  Effect.gen(function* () {
    if (!isSampled(run, evaluation.share)) return Option.none()
    const id = idOf(evaluation, run)
    const journal = yield* Journal.Journal
    const found = yield* journal.runs({ run: id })
    if (found.length > 0) return Option.some(yield* Run.resume(evaluation.desk, id, options))
    const { status } = yield* Run.state(run)
    if (!isOver(status)) return yield* new RunNotOver({ run, status })
    return Option.some(yield* Run.start(evaluation.desk, { id, input: { run }, ...options }))
  })

/**
 * Evaluates the finished runs that are among the share, the newest first, one after the other.
 *
 * **Details**
 *
 * - `desk`: only runs of this desk. Default: all but those of the evaluation itself.
 * - `limit`: at most so many of the newest finished runs are looked through, a whole number >= 0. Default 1000.
 * - Each is evaluated once. An evaluation that was cut off is gone on with; one that waits for people is left to them.
 * - A run, or an evaluation of one, that cannot be read or gone on with is passed over, which is logged as a warning.
 * - Answers with what came of those that were evaluated now.
 *
 * @category running
 * @since 0.1.0
 */
export const sweep = Effect.fnUntraced(function* <R>(
  evaluation: Evaluation<R>,
  options: { readonly desk?: string | undefined; readonly limit?: number | undefined } & Run.Watching = {}
): Effect.fn.Return<ReadonlyArray<Outcome.Outcome>, Trouble, R | Journal.Journal> {
  const { desk, limit = 1_000, ...watching } = options
  new Given("Evaluation.sweep").whole("options.limit", limit, 0)
  const journal = yield* Journal.Journal
  const over = yield* journal.runs({ status: ends, desk, limit })
  const evaluated: Array<Outcome.Outcome> = []
  for (const { desk, run } of over) {
    if (desk === evaluation.name) continue
    if (!isSampled(run, evaluation.share)) continue
    const [begun] = yield* journal.runs({ run: idOf(evaluation, run) })
    if (begun !== undefined && (isOver(begun.status) || begun.status === "waiting")) continue
    const outcome = yield* evaluate(evaluation, run, watching).pipe(
      // Somebody else is at it.
      Effect.catchTag(["RunBusy", "RunExists"], () => Effect.succeedNone),
      Effect.catchTag(["RunUntrusted", "RunTooNew", "RunNotFound", "RunNotOver", "VersionMismatch"], (error) =>
        Effect.as(tellWarning(`Evaluation: ${run} is not evaluated`, error), Option.none())
      )
    )
    if (Option.isSome(outcome)) evaluated.push(outcome.value)
  }
  return evaluated
})
