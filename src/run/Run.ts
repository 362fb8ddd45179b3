/**
 * Runs a desk from its input to its outcome, on the journal.
 *
 * The shell around two pure functions: it folds the journal, asks `decide`, writes down what was decided, and only then
 * has it done. So a run can be cut off at any moment and taken up again: what has finished is not done again, what was
 * under way is given again under the same dispatch id.
 *
 * **Details**
 *
 * - One decision is one commit: a report, what follows from it, and the next orders are in the journal together.
 * - An interrupted run cancels its work, waits until it has stopped, and is left `suspended`; {@link resume} takes it up.
 *   What the calls of that work had used is charged; of a run whose process was killed nobody can know it.
 * - A run for which nothing is under way, and which waits for people or for a time (`after` of a task), ends here as `waiting`:
 *   nothing is held, and its outcome says when it goes on.
 * - Who is to be told of questions to people (`Notifier`) and who may decide them (`Reviewers`) is looked up around whoever
 *   carries the run out. Before a run ends here, people are told what they are to be told, which takes 3 minutes at most.
 * - A run keeps the desk's version and definition that it began with. Taken up with another one, it is suspended instead.
 * - With a store of artefacts (`Artefacts`) around it, a run keeps its input and outputs of more than 64 KiB of JSON there,
 *   and the journal only has where they are. Whoever takes the run up or reads its outcome needs the same store. Outputs may
 *   be as large as the store takes; without one, they are in the journal and take up to 2 MiB, as an input does with either.
 * - Secrets are taken out of every event before it is taken in, by the rules around the run (`Redaction`): of the input, of
 *   what workers bring and say, of what people answer. What is live, written, hashed and handed on is the same.
 *
 * **Invariants**
 *
 * - W1. No worker sees an order that is not in the journal.
 * - W2. No decision is made on a report that is not in the journal together with it.
 * - W3. After a refused append this executor writes nothing any more and its work is cancelled.
 *
 * **Gotchas**
 *
 * - A worker does not get a secret out of the input or out of another worker's output, now or after a resumption. Hand over
 *   where it is, and have the worker look there. An input that does not fit its schema without its secret is an
 *   `InputInvalid`.
 * - The work of an executor that lost a run to another one may have had effects; the dispatch id and the idempotency key are
 *   the same for both.
 *
 * **Example** (Running a desk, and reading its outcome from the journal)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Struct({ words: Schema.Int }),
 *   handle: ({ input }) => Effect.succeed({ words: input.text.split(" ").length })
 * })
 * const desk = Desk.make("counting", {
 *   version: "1",
 *   input: Schema.Struct({ text: Schema.String }),
 *   domains: [Domain.make("words", { workers: [count] })],
 *   coordinator: Plan.make([
 *     { id: "count", worker: "words.count", objective: "Count", input: (_, { text }: { text: string }) => ({ text }) }
 *   ])
 * })
 *
 * const program = Effect.gen(function* () {
 *   yield* Run.start(desk, { id: "r1", input: { text: "to be or not" } })
 *   const { dispatches, results, status } = yield* Run.outcome("r1")
 *   return [status, results["count"]?.output, dispatches.map(({ dispatch }) => dispatch)]
 * })
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => ["completed", { words: 4 }, ["r1/count/1"]]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as EffectResult from "effect/Result"
import * as Stream from "effect/Stream"

import { durationOf, readDuration } from "../internal/options.ts"
import * as Journal from "../journal/Journal.ts"
import { Redaction } from "../Redaction.ts"
import type * as Supervisor from "../Supervisor.ts"
import type * as Tree from "../Tree.ts"
import * as Autonomy from "./Autonomy.ts"
import * as Contract from "./Contract.ts"
import * as Desk from "./Desk.ts"
import { candidates } from "./internal/closest.ts"
import { make } from "./internal/executor.ts"
import { isRecord, quoted } from "./internal/given.ts"
import { beyond } from "./internal/limiting.ts"
import { fromRecord, refusal } from "./internal/log.ts"
import { attended, type Observing } from "./internal/observing.ts"
import { owned } from "./internal/plain.ts"
import { principal } from "./internal/principals.ts"
import { decoder, many, type Problem, show } from "./internal/problems.ts"
import { foldAt, type Folded, foldRun, withOutputs } from "./internal/reading.ts"
import type { RunBusy } from "./internal/runErrors.ts"
import {
  InputInvalid,
  type NoSuchEvent,
  type RunError,
  RunExists,
  RunNotFound,
  type RunTooNew,
  type RunUntrusted,
  type VersionMismatch
} from "./internal/runErrors.ts"
import { takeUp } from "./internal/takingUp.ts"
import * as Office from "./Office.ts"
import type * as Outcome from "./Outcome.ts"
import type { RunEvent } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"
import { Tiers, type TiersInvalid } from "./Tiers.ts"

export {
  CommandRefused,
  InputInvalid,
  NoSuchEvent,
  RunBusy,
  RunExists,
  RunNotFound,
  RunQuarantined,
  RunTooNew,
  RunUntrusted,
  VersionMismatch,
  type RunError
} from "./internal/runErrors.ts"
export { cancel, changeTier, decide, type Deciding } from "./internal/commanding.ts"

/**
 * How a run may be watched.
 *
 * **Details**
 *
 * - `onEvent`: is called with each event once it is in the journal, in order. It must be quick; one that throws is not
 *   called again, and that is logged.
 * - `onTreeEvent`: the same for the tree of a desk that the run opens itself.
 * - `log`: whether the tree logs crashes and give-ups. Default true, unless an observer does. Only for a desk that the run opens itself.
 * - `waitFor`: how far ahead the next timer of a run may be for it to be waited for here, >= 0, `"Infinity"` for all of them. A run
 *   that waits for nobody but people is not waited for: `Host` takes it up for the next step of its questions. A run
 *   that waits for a later one ends here as `waiting`. Default 1 minute: below that, putting a run down and opening its desk
 *   anew costs more than it saves; above it, a process would hold a desk and a fiber for nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Watching {
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  readonly onTreeEvent?: ((event: Tree.Event) => void) | undefined
  readonly log?: boolean | undefined
  readonly waitFor?: Duration.Input | undefined
}

const waitForMillis = (where: string, { waitFor = "1 minute" }: Watching = {}): number =>
  Duration.toMillis(durationOf(where, "waitFor", waitFor, "zero"))

/**
 * What a run begins with.
 *
 * **Details**
 *
 * - `input`: as the desk takes it.
 * - `id`: letters, digits, `.`, `_` and `-`, at most 100. Default: a new one, see {@link makeId}.
 * - `limits`: of this run; they can only narrow those of the desk. Default: those of the desk.
 * - `tier`: how much this run may do without a person. Default: what configuration says (see `Tiers`), else that of the desk.
 * - `requester`: who has asked for the run, as `Reviewers.principal` reads it: `ann`, `service:mailer`. The person, also where a
 *   program asks for them. Where separation applies they do not approve what it does. Default: nobody is known to have.
 * - `module`: where the desk was loaded from, for whoever takes the run up: 1 to 500 characters. Default: not said.
 *
 * @category models
 * @since 0.1.0
 */
export interface StartOptions<Input> extends Watching {
  readonly input: Input
  readonly id?: string | undefined
  readonly limits?: Contract.Limits | undefined
  readonly tier?: Autonomy.Tier | undefined
  readonly requester?: string | undefined
  readonly module?: string | undefined
}

/**
 * A new id of a run: the time, and a random part. Both come from Effect's services.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeId: Effect.Effect<string> = Effect.gen(function* () {
  const now = yield* DateTime.now
  const stamp = DateTime.formatIso(now).slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-")
  const parts = [yield* Random.nextIntBetween(0, 0x1000000), yield* Random.nextIntBetween(0, 0x1000000)]
  return `${stamp}-${parts.map((part) => part.toString(16).padStart(6, "0")).join("")}`
})

const startOptions: ReadonlyArray<keyof StartOptions<unknown>> = [
  "input",
  "id",
  "limits",
  "tier",
  "requester",
  "module",
  "onEvent",
  "onTreeEvent",
  "log",
  "waitFor"
]

/** What is wrong with what a run is to begin with, beside the values of its input and its limits. */
const wrongOptions = (options: unknown): ReadonlyArray<Problem> => {
  if (!isRecord(options)) return [{ path: "options", expectation: "must be an object", actual: show(options) }]
  const problems: Array<Problem> = []
  const check = (name: string, expectation: string, holds: (value: unknown) => boolean) => {
    const value = options[name]
    if (value !== undefined && !holds(value)) problems.push({ path: name, expectation, actual: show(value) })
  }
  for (const key of Object.keys(options)) {
    if (startOptions.some((name) => name === key)) continue
    const expectation = `is not a known option; known are ${candidates(key, startOptions)}`
    problems.push({ path: key, expectation, actual: "" })
  }
  check("id", "must be a text", Predicate.isString)
  check("tier", `must be one of ${quoted(Autonomy.Tier.literals)}`, (tier) =>
    Autonomy.Tier.literals.some((name) => name === tier)
  )
  check(
    "module",
    "must be a text of 1 to 500 characters",
    (module) => Predicate.isString(module) && module.length > 0 && module.length <= 500
  )
  check(
    "requester",
    "must name somebody, such as ann or service:mailer",
    (requester) => Predicate.isString(requester) && EffectResult.isSuccess(principal(requester))
  )
  check("onEvent", "must be a function", Predicate.isFunction)
  check("onTreeEvent", "must be a function", Predicate.isFunction)
  check("log", "must be true or false", Predicate.isBoolean)
  check("waitFor", "must be a duration >= 0", (waitFor) => {
    const duration = readDuration(waitFor)
    return duration !== undefined && Duration.toMillis(duration) >= 0
  })
  return problems
}

const idPattern = /^[A-Za-z0-9][\w.-]{0,99}$/

/**
 * Opens a desk, starts a run, carries it to its end, and closes the desk again.
 *
 * **Details**
 *
 * - Succeeds with the outcome whatever became of the tasks. A run that only people can make go on, or a timer that is further
 *   ahead than `waitFor`, ends here as `waiting`: it is in the journal, with its questions and the time at which it wants to
 *   go on (`wakeAt`), and holds nothing. {@link decide} answers them, {@link resume} goes on.
 * - When it is interrupted, the run is left suspended.
 *
 * @see {@link startIn} for a desk that is open already
 * @category running
 * @since 0.1.0
 */
export const start = <Input, R>(
  desk: Desk.Desk<Input, R>,
  options: StartOptions<Input>
): Effect.Effect<
  Outcome.Outcome,
  InputInvalid | TiersInvalid | RunExists | RunError | Desk.DeskInvalid | Supervisor.StartFailure<never>,
  Journal.Journal | R
> =>
  Effect.suspend(() => {
    const problems = wrongOptions(options)
    return problems.length > 0
      ? Effect.fail(new InputInvalid({ desk: desk.name, problems }))
      : inOwnOffice(desk, options, (office) => startIn(office, options))
  })

/**
 * Opens a desk, takes up a run that was cut off or suspended, carries it to its end, and closes the desk again.
 *
 * **Details**
 *
 * - Tasks that have ended are not done again. An order under way is given again, under the same dispatch id, with the
 *   attempts that it had left.
 * - A run that is over is not touched, and neither is one that waits for people, or for a timer that is further ahead than
 *   `waitFor`: its outcome is read.
 * - What people were to be told and were not (see `Notifier`) is told first, also of a run that is over or that waits.
 * - What became due while nobody carried the run out comes first, in order, each with its true time.
 * - Outputs that were kept by reference are read back first; one that is gone or damaged is a `RunUntrusted`.
 * - A run that newer code has begun or gone on with is a `RunTooNew`; it is left as it is.
 * - Its tier is the one that configuration says now, where nobody has said another one of this run: see `Tiers`.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when `waitFor` is no duration >= 0.
 *
 * @see {@link resumeIn} for a desk that is open already
 * @category running
 * @since 0.1.0
 */
export const resume = <R>(
  desk: Desk.Desk<never, R>,
  run: string,
  options?: Watching | undefined
): Effect.Effect<
  Outcome.Outcome,
  | RunBusy
  | RunNotFound
  | VersionMismatch
  | RunTooNew
  | RunUntrusted
  | TiersInvalid
  | RunError
  | Desk.DeskInvalid
  | Supervisor.StartFailure<never>,
  Journal.Journal | R
> => inOwnOffice(desk, options, (office) => resumeIn(office, run, options))

const inOwnOffice = <Input, R, A, E>(
  desk: Desk.Desk<Input, R>,
  watching: Watching | undefined,
  use: (office: Office.Office<Input>) => Effect.Effect<A, E, Journal.Journal>
): Effect.Effect<A, E | Desk.DeskInvalid | Supervisor.StartFailure<never>, Journal.Journal | R> =>
  Effect.scoped(Effect.flatMap(Office.open(desk, { onEvent: watching?.onTreeEvent, log: watching?.log }), use))

/**
 * As {@link start}, with the staff of an open desk. Several runs share it.
 *
 * @category running
 * @since 0.1.0
 */
export const startIn: <Input>(
  office: Office.Office<Input>,
  options: StartOptions<Input>
) => Effect.Effect<Outcome.Outcome, InputInvalid | TiersInvalid | RunExists | RunError, Journal.Journal> =
  Effect.fnUntraced(function* <Input>(office: Office.Office<Input>, options: StartOptions<Input>) {
    const { desk } = office
    const invalid = (problems: ReadonlyArray<Problem>) => new InputInvalid({ desk: desk.name, problems })
    const wrong = wrongOptions(options)
    if (wrong.length > 0) return yield* invalid(wrong)
    const run = options.id ?? (yield* makeId)
    if (!idPattern.test(run)) {
      const expectation = "must be letters, digits, '.', '_' and '-', at most 100"
      return yield* invalid([{ path: "id", expectation, actual: show(run) }])
    }
    const configured = options.tier === undefined ? yield* (yield* Tiers).of(desk.name) : undefined
    const tier = options.tier ?? configured ?? desk.tier
    const tierBy = options.tier !== undefined ? "start" : configured !== undefined ? "configuration" : undefined
    const encoded = desk.encodeInput(options.input)
    if (EffectResult.isFailure(encoded)) return yield* invalid(encoded.failure)
    const owns = owned(encoded.success, "")
    if (EffectResult.isFailure(owns)) return yield* invalid([owns.failure])
    // The run goes by what is written down, as it will when it is taken up again: without the secrets.
    const redacted = (yield* Redaction).value(owns.success)
    const written = redacted === owns.success ? owns : owned(redacted, "")
    if (EffectResult.isFailure(written)) return yield* invalid([written.failure])
    const input = desk.decodeInput(written.success)
    if (EffectResult.isFailure(input)) return yield* invalid(input.failure)
    const limits = limitsOf(desk, options.limits)
    if (EffectResult.isFailure(limits)) return yield* invalid(limits.failure)
    const { deadlineMillis, ...amount } = limits.success
    const accounts = { ...(Object.keys(amount).length === 0 ? {} : { run: amount }), ...desk.budgets }
    const journal = yield* Journal.Journal
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const begun = Effect.fnUntraced(function* (observing: Observing) {
      const manner = { observing, onEvent: options.onEvent, waitForMillis: waitForMillis("Run.start", options) }
      const executor = yield* make(office, journal, run, manner)
      const context = yield* Effect.context<never>()
      const started: RunEvent = {
        _tag: "RunStarted",
        at,
        run,
        desk: desk.name,
        version: desk.version,
        ...(desk.owner === "" ? {} : { owner: desk.owner }),
        ...(options.requester === undefined ? {} : { requester: options.requester }),
        ...(options.module === undefined ? {} : { module: options.module }),
        definition: office.definition,
        input: written.success,
        tasks: Desk.tasks(desk),
        coordinator: desk.coordinator.kind,
        ...(desk.coordinator.containment === "isolate" ? {} : { containment: desk.coordinator.containment }),
        ...(Object.keys(accounts).length === 0 ? {} : { limits: accounts }),
        tier,
        ...(tierBy === undefined ? {} : { tierBy }),
        ...(deadlineMillis === undefined ? {} : { deadlineAt: at + deadlineMillis }),
        ...observing.begin({ cause: "start", at, context, desk: desk.name, decided: [] }),
        note: `${desk.name} ${desk.version} was asked to run ${many(desk.coordinator.tasks.length, "task")}`
      }
      const refused = executor.open(started)
      if (refused !== undefined) {
        return yield* invalid([{ path: "tasks", expectation: `cannot be begun with: ${refused}`, actual: "" }])
      }
      return yield* executor
        .execute([], input.success, () => new RunExists({ run }))
        .pipe(
          Effect.catchTag("VersionConflict", (conflict): Effect.Effect<never, RunExists | Journal.VersionConflict> =>
            Effect.fail(conflict.expected === 0 ? new RunExists({ run }) : conflict)
          )
        )
    })
    return yield* attended(run, begun)
  })

const decodeLimits = decoder(Contract.Limits, "error")

/** The limits of a run: those of the desk, narrowed by its own. */
const limitsOf = (
  desk: Desk.Desk,
  own: Contract.Limits | undefined
): EffectResult.Result<Contract.Limits, ReadonlyArray<Problem>> => {
  if (own === undefined) return EffectResult.succeed(desk.limits)
  return EffectResult.flatMap(
    EffectResult.mapError(decodeLimits(own), (problems) =>
      problems.map((each) => ({ ...each, path: each.path === "" ? "limits" : `limits.${each.path}` }))
    ),
    (own) => {
      const problems = beyond(own, desk.limits, "the desk")
      return problems.length === 0 ? EffectResult.succeed({ ...desk.limits, ...own }) : EffectResult.fail(problems)
    }
  )
}

/**
 * As {@link resume}, with the staff of an open desk.
 *
 * @see `Host.serve` for all runs of a desk
 * @category running
 * @since 0.1.0
 */
export const resumeIn = (
  office: Office.Office,
  run: string,
  options?: Watching | undefined
): Effect.Effect<
  Outcome.Outcome,
  RunBusy | RunNotFound | VersionMismatch | RunTooNew | RunUntrusted | TiersInvalid | RunError,
  Journal.Journal
> =>
  // Nobody has set a limit.
  Effect.catchTag(
    takeUp(office, run, { onEvent: options?.onEvent, waitForMillis: waitForMillis("Run.resume", options) }),
    "RunQuarantined",
    Effect.die
  )

/**
 * Everything that happened in a run, in order.
 *
 * **Gotchas**
 *
 * Events are as the journal has them: a large input or output is there by reference (`inputRef`, `outputRef`), also where
 * `onEvent` had the value.
 *
 * @category reading
 * @since 0.1.0
 */
export const events = (
  run: string
): Stream.Stream<RunEvent, RunTooNew | RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Stream.unwrap(
    Effect.map(Journal.Journal, (journal) =>
      journal
        .read(run)
        .pipe(
          Stream.mapEffect((recorded) =>
            Effect.fromResult(EffectResult.mapError(fromRecord(recorded), (why) => refusal(run, recorded.version, why)))
          )
        )
    )
  )

/**
 * The outcome of a run as the journal has it, whether or not the run is over.
 *
 * **Details**
 *
 * Fails with `RunUntrusted` also when an output that stands was kept by reference and is gone, damaged, or there is no store
 * of artefacts around this effect; with `JournalError` when the store cannot be asked just now.
 *
 * @category reading
 * @since 0.1.0
 */
export const outcome = (
  run: string
): Effect.Effect<Outcome.Outcome, RunNotFound | RunTooNew | RunUntrusted | Journal.JournalError, Journal.Journal> =>
  told(run, foldRun(run))

/**
 * The outcome of a run as it was after its event `version`.
 *
 * **Details**
 *
 * - `version`: from 1 to that of the last event; any other is a `NoSuchEvent`.
 * - Fails as {@link outcome} does, for outputs that stood then.
 *
 * @category reading
 * @since 0.1.0
 */
export const outcomeAt = (
  run: string,
  version: number
): Effect.Effect<
  Outcome.Outcome,
  NoSuchEvent | RunNotFound | RunTooNew | RunUntrusted | Journal.JournalError,
  Journal.Journal
> => told(run, foldAt(run, version))

const told = <E, R>(run: string, folding: Effect.Effect<Folded, E, R>) =>
  folding.pipe(
    Effect.flatMap((folded) => withOutputs(run, folded)),
    Effect.flatMap(({ fold, state }) => {
      const known = fold.outcome(state)
      return known === undefined ? Effect.fail(new RunNotFound({ run })) : Effect.succeed(known)
    })
  )

/**
 * The state of a run as the journal has it.
 *
 * @category reading
 * @since 0.1.0
 */
export const state = (
  run: string
): Effect.Effect<RunState, RunNotFound | RunTooNew | RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Effect.map(foldRun(run), ({ state }) => state)

/**
 * The state of a run as it was after its event `version`: from 1 to that of the last one; any other is a `NoSuchEvent`.
 *
 * @category reading
 * @since 0.1.0
 */
export const stateAt = (
  run: string,
  version: number
): Effect.Effect<
  RunState,
  NoSuchEvent | RunNotFound | RunTooNew | RunUntrusted | Journal.JournalError,
  Journal.Journal
> => Effect.map(foldAt(run, version), ({ state }) => state)
