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
 * - A run keeps the desk's version and definition that it began with. Taken up with another one, it is suspended instead.
 * - With a store of artefacts (`Artefacts`) around it, a run keeps outputs of more than 64 KiB of JSON there, and the journal
 *   only has where they are. Whoever takes the run up or reads its outcome needs the same store. Without one, outputs of up
 *   to 2 MiB are in the journal.
 *
 * **Invariants**
 *
 * - W1. No worker sees an order that is not in the journal.
 * - W2. No decision is made on a report that is not in the journal together with it.
 * - W3. After a refused append this executor writes nothing any more and its work is cancelled.
 *
 * **Gotchas**
 *
 * The work of an executor that lost a run to another one may have had effects; the dispatch id and the idempotency key are
 * the same for both.
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
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import type * as Supervisor from "../Supervisor.ts"
import type * as Tree from "../Tree.ts"
import * as Autonomy from "./Autonomy.ts"
import * as Budget from "./Budget.ts"
import * as Contract from "./Contract.ts"
import * as Desk from "./Desk.ts"
import type { Draft } from "./internal/apply.ts"
import { applyEvent, applySaid } from "./internal/apply.ts"
import { candidates } from "./internal/closest.ts"
import { make } from "./internal/executor.ts"
import { isRecord, quoted } from "./internal/given.ts"
import { notHere } from "./internal/inbox.ts"
import { commit, fromRecord, toRecord } from "./internal/log.ts"
import type { News } from "./internal/news.ts"
import { readBack, store } from "./internal/outputs.ts"
import { owned } from "./internal/plain.ts"
import { decoder, many, Problem, sentences, show } from "./internal/problems.ts"
import * as Office from "./Office.ts"
import * as Outcome from "./Outcome.ts"
import { Decision, type RunEvent } from "./RunEvent.ts"
import { isFinished } from "./RunState.ts"

/**
 * What a run was asked to begin with is not what its desk takes, or an option of it is not what it can be.
 *
 * @category errors
 * @since 0.1.0
 */
export class InputInvalid extends Schema.TaggedError<InputInvalid>("espalier/run/Run/InputInvalid")("InputInvalid", {
  desk: Schema.String,
  problems: Schema.Array(Problem)
}) {
  override get message(): string {
    return `INPUT_INVALID: ${this.desk}: ${sentences(this.problems, "the input")}`
  }
}

/**
 * There is a run of this id already.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunExists extends Schema.TaggedError<RunExists>("espalier/run/Run/RunExists")("RunExists", {
  run: Schema.String
}) {
  override get message(): string {
    return `the run ${this.run} exists already; resume it, or choose another id`
  }
}

/**
 * The journal has no run of this id.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunNotFound extends Schema.TaggedError<RunNotFound>("espalier/run/Run/RunNotFound")("RunNotFound", {
  run: Schema.String
}) {
  override get message(): string {
    return `the journal has no run ${this.run}`
  }
}

/**
 * The run began with another definition of the desk. It was left suspended.
 *
 * @category errors
 * @since 0.1.0
 */
export class VersionMismatch extends Schema.TaggedError<VersionMismatch>("espalier/run/Run/VersionMismatch")(
  "VersionMismatch",
  { run: Schema.String, began: Schema.String, current: Schema.String }
) {
  override get message(): string {
    return `the run ${this.run} began with ${this.began} and cannot go on with ${this.current}`
  }
}

/**
 * What the journal says of the run cannot have happened, so nothing can be built on it.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunUntrusted extends Schema.TaggedError<RunUntrusted>("espalier/run/Run/RunUntrusted")("RunUntrusted", {
  run: Schema.String,
  version: Schema.Int,
  reason: Schema.String
}) {
  override get message(): string {
    return `the run ${this.run} cannot be trusted from version ${this.version} on: ${this.reason}`
  }
}

/**
 * The run is being carried out at this office. Nothing was changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunBusy extends Schema.TaggedError<RunBusy>("espalier/run/Run/RunBusy")("RunBusy", {
  run: Schema.String
}) {
  override get message(): string {
    return `the run ${this.run} is carried out here already`
  }
}

/**
 * How a run can fail to be carried out. A task that fails is no such failure; it is in the outcome.
 *
 * **Details**
 *
 * `VersionConflict`: somebody else is executing the run.
 *
 * @category errors
 * @since 0.1.0
 */
export type RunError = Journal.VersionConflict | Journal.JournalError

/**
 * How a run may be watched.
 *
 * **Details**
 *
 * - `onEvent`: is called with each event once it is in the journal, in order. It must be quick; one that throws is not
 *   called again, and that is logged.
 * - `onTreeEvent`: the same for the tree of a desk that the run opens itself.
 * - `log`: whether the tree logs crashes and give-ups. Default true. Only for a desk that the run opens itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Watching {
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  readonly onTreeEvent?: ((event: Tree.Event) => void) | undefined
  readonly log?: boolean | undefined
}

/**
 * What a run begins with.
 *
 * **Details**
 *
 * - `input`: as the desk takes it.
 * - `id`: letters, digits, `.`, `_` and `-`, at most 100. Default: a new one, see {@link makeId}.
 * - `limits`: of this run; they can only narrow those of the desk. Default: those of the desk.
 * - `tier`: how much this run may do without a person. Default: that of the desk.
 *
 * @category models
 * @since 0.1.0
 */
export interface StartOptions<Input> extends Watching {
  readonly input: Input
  readonly id?: string | undefined
  readonly limits?: Contract.Limits | undefined
  readonly tier?: Autonomy.Tier | undefined
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
  "onEvent",
  "onTreeEvent",
  "log"
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
  check("onEvent", "must be a function", Predicate.isFunction)
  check("onTreeEvent", "must be a function", Predicate.isFunction)
  check("log", "must be true or false", Predicate.isBoolean)
  return problems
}

const idPattern = /^[A-Za-z0-9][\w.-]{0,99}$/

/**
 * Opens a desk, starts a run, carries it to its end, and closes the desk again.
 *
 * **Details**
 *
 * - Succeeds with the outcome whatever became of the tasks. A run that only people can make go on ends here as `waiting`:
 *   it is in the journal, with its questions, and holds nothing. {@link decide} answers them, {@link resume} goes on.
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
  InputInvalid | RunExists | RunError | Desk.DeskInvalid | Supervisor.StartFailure<never>,
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
 * - A run that is over is not touched, and neither is one that waits for people: its outcome is read.
 * - Outputs that were kept by reference are read back first; one that is gone or damaged is a `RunUntrusted`.
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
  RunBusy | RunNotFound | VersionMismatch | RunUntrusted | RunError | Desk.DeskInvalid | Supervisor.StartFailure<never>,
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
) => Effect.Effect<Outcome.Outcome, InputInvalid | RunExists | RunError, Journal.Journal> = Effect.fnUntraced(
  function* <Input>(office: Office.Office<Input>, options: StartOptions<Input>) {
    const { desk } = office
    const invalid = (problems: ReadonlyArray<Problem>) => new InputInvalid({ desk: desk.name, problems })
    const wrong = wrongOptions(options)
    if (wrong.length > 0) return yield* invalid(wrong)
    const run = options.id ?? (yield* makeId)
    if (!idPattern.test(run)) {
      const expectation = "must be letters, digits, '.', '_' and '-', at most 100"
      return yield* invalid([{ path: "id", expectation, actual: show(run) }])
    }
    const tier = options.tier ?? desk.tier
    const encoded = desk.encodeInput(options.input)
    if (EffectResult.isFailure(encoded)) return yield* invalid(encoded.failure)
    const owns = owned(encoded.success, "")
    if (EffectResult.isFailure(owns)) return yield* invalid([owns.failure])
    // The run goes by what is written down, as it will when it is taken up again.
    const input = desk.decodeInput(owns.success)
    if (EffectResult.isFailure(input)) return yield* invalid(input.failure)
    const limits = limitsOf(desk, options.limits)
    if (EffectResult.isFailure(limits)) return yield* invalid(limits.failure)
    const { deadlineMillis, ...amount } = limits.success
    const accounts = { ...(Object.keys(amount).length === 0 ? {} : { run: amount }), ...desk.budgets }
    const journal = yield* Journal.Journal
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const executor = yield* make(office, journal, run, options.onEvent)
    const started: RunEvent = {
      _tag: "RunStarted",
      at,
      run,
      desk: desk.name,
      version: desk.version,
      ...(desk.owner === "" ? {} : { owner: desk.owner }),
      definition: office.definition,
      input: owns.success,
      tasks: Desk.tasks(desk),
      coordinator: desk.coordinator.kind,
      ...(desk.coordinator.containment === "isolate" ? {} : { containment: desk.coordinator.containment }),
      ...(Object.keys(accounts).length === 0 ? {} : { limits: accounts }),
      tier,
      ...(deadlineMillis === undefined ? {} : { deadlineAt: at + deadlineMillis }),
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
  }
)

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
      const problems: Array<Problem> = []
      for (const measure of ["deadlineMillis", "tokens", "toolCalls", "steps", "cost"] as const) {
        const [asked, most] = [own[measure], desk.limits[measure]]
        if (asked === undefined || most === undefined || asked <= most) continue
        const expectation = `must be at most the ${most} of the desk`
        problems.push({ path: `limits.${measure}`, expectation, actual: `${asked}` })
      }
      return problems.length === 0 ? EffectResult.succeed({ ...desk.limits, ...own }) : EffectResult.fail(problems)
    }
  )
}

interface Read {
  readonly state: Draft
  readonly fold: Outcome.Fold
}

/** Folds a run from its journal. Large outputs are there by reference. */
const foldRun = Effect.fnUntraced(function* (run: string) {
  const journal = yield* Journal.Journal
  const fold = Outcome.fold()
  const references = new Map<string, number>()
  let state: Draft | undefined
  yield* journal.read(run).pipe(
    Stream.runForEach((recorded) => {
      const untrusted = (reason: string) => Effect.fail(new RunUntrusted({ run, version: recorded.version, reason }))
      const event = fromRecord(recorded)
      if (EffectResult.isFailure(event)) return untrusted(event.failure)
      const next = applyEvent(state, event.success)
      if (typeof next === "string") return untrusted(`a ${event.success._tag} that cannot have happened: ${next}`)
      state = next
      fold.add(event.success)
      const hash = "result" in event.success ? event.success.result.outputRef?.hash : undefined
      if (hash !== undefined) references.set(hash, recorded.version)
      return Effect.void
    })
  )
  if (state === undefined) return yield* new RunNotFound({ run })
  const read: Read & { readonly references: ReadonlyMap<string, number> } = { state, fold, references }
  return read
})

/** Folds a run from its journal, with its outputs. One that is gone is no less untrusted than an event that is. */
const readRun = Effect.fnUntraced(function* (run: string) {
  const { fold, references, state } = yield* foldRun(run)
  yield* readBack(yield* store, fold).pipe(
    Effect.catchTag("Lost", ({ hash, reason }) =>
      Effect.fail(
        new RunUntrusted({
          run,
          version: references.get(hash) ?? state.version,
          reason: `an output cannot be read back: ${reason}`
        })
      )
    )
  )
  const read: Read = { state, fold }
  return read
})

/**
 * As {@link resume}, with the staff of an open desk.
 *
 * @category running
 * @since 0.1.0
 */
export const resumeIn: (
  office: Office.Office,
  run: string,
  options?: Watching | undefined
) => Effect.Effect<
  Outcome.Outcome,
  RunBusy | RunNotFound | VersionMismatch | RunUntrusted | RunError,
  Journal.Journal
> = Effect.fnUntraced(function* (office: Office.Office, run: string, options?: Watching | undefined) {
  if (office.live.has(run)) return yield* new RunBusy({ run })
  const { desk } = office
  const { fold, state } = yield* readRun(run)
  const known = fold.outcome(state.status === "waiting")
  if ((isFinished(state.status) || state.status === "waiting") && known !== undefined) return known
  const journal = yield* Journal.Journal
  const at = Math.floor(yield* Clock.currentTimeMillis)
  const executor = yield* make(office, journal, run, options?.onEvent, state, fold)
  const input = desk.decodeInput(fold.input())
  const name = (version: string, definition: string) => `${version} (${definition.slice(0, 12)})`
  const sameDesk = state.desk === desk.name && state.deskVersion === desk.version
  if (!sameDesk || state.definition !== office.definition || EffectResult.isFailure(input)) {
    const mismatch = new VersionMismatch({
      run,
      began: `${state.desk} ${name(state.deskVersion, state.definition)}`,
      current: `${desk.name} ${name(desk.version, office.definition)}`
    })
    yield* executor.suspend("version-mismatch", mismatch.message, at)
    return yield* mismatch
  }
  // A step ends with something under way, or with a run that waits for people.
  const waited = state.running + state.consulting === 0
  const why =
    state.status === "suspended"
      ? `it was suspended (${state.suspended})`
      : waited
        ? "what it waited for is decided"
        : "it was cut off"
  const rest = state.running === 0 ? "" : `, with ${many(state.running, "order")} under way`
  const note = `Taken up at version ${state.version}: ${why}${rest}`
  return yield* executor.execute([{ _tag: "RunResumed", at, note }], input.success, () => new RunBusy({ run }))
})

/**
 * Somebody's word came too late, or is not one that was asked for. Nothing was changed.
 *
 * **Details**
 *
 * - `command`: what was said, as in `the decision of r1/review/1`. `reason`: the field, what was there, and what is allowed.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommandRefused extends Schema.TaggedError<CommandRefused>("espalier/run/Run/CommandRefused")(
  "CommandRefused",
  { run: Schema.String, command: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `${this.command} is refused: ${this.reason}`
  }
}

type FromOutside = Extract<News, { readonly _tag: "ReviewDecided" | "AutonomyChanged" | "CancelRequested" }>

/** What somebody said, in the words of whoever said it. */
const named = (run: string, said: Pick<FromOutside, "_tag"> & { readonly review?: string }): string => {
  switch (said._tag) {
    case "ReviewDecided":
      return `the decision of ${said.review}`
    case "AutonomyChanged":
      return `the change of the tier of ${run}`
    case "CancelRequested":
      return `the cancelling of ${run}`
  }
}

/** What is wrong with what somebody says, if it could not be read back from the journal. */
const unreadable = (news: News): string | undefined => {
  const { ack: _, ...told } = news
  const read = fromRecord(toRecord({ ...told, at: 0 } as RunEvent))
  return EffectResult.isFailure(read) ? read.failure : undefined
}

/** Has an event from outside taken: by whoever carries the run out here, or straight into the journal. */
const command = Effect.fnUntraced(function* (
  office: Pick<Office.Office, "live"> | undefined,
  run: string,
  news: FromOutside
): Effect.fn.Return<void, CommandRefused | RunNotFound | RunUntrusted | RunError, Journal.Journal> {
  const refuse = (reason: string) => new CommandRefused({ run, command: named(run, news), reason })
  const wrong = unreadable(news)
  if (wrong !== undefined) return yield* refuse(wrong)
  const live = office?.live.get(run)
  if (live !== undefined) {
    const ack = Deferred.makeUnsafe<string | undefined>()
    live.tell({ ...news, ack })
    const refused = yield* Deferred.await(ack)
    if (refused === undefined) return
    if (refused !== notHere) return yield* refuse(refused)
  }
  const journal = yield* Journal.Journal
  // Whoever writes in between only makes this one look again.
  for (let tries = 1; ; tries++) {
    const { state } = yield* foldRun(run)
    const expected = state.version
    const before = state.status
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const event: RunEvent = { ...news, at }
    const next = applySaid(state, event)
    if (typeof next === "string") return yield* refuse(next)
    const listing = { status: next.status, desk: next.desk, startedAt: next.startedAt }
    const written = yield* commit(journal, {
      run,
      expected,
      events: [toRecord(event)],
      ...(next.status === before ? {} : { listing })
    }).pipe(
      Effect.as(true),
      Effect.catchTag("VersionConflict", (conflict) => (tries < 10 ? Effect.succeed(false) : Effect.fail(conflict)))
    )
    if (written) return
  }
})

/**
 * A decision about a {@link Outcome.Review}.
 *
 * **Details**
 *
 * - `review`: its id, `run/review/n`. `decision`: one of those that it allows.
 * - `by`: who decides, a text that is not empty. `note`: why, in a sentence. Default none.
 * - `answer`: with the decision `answer`, and only then: see the table of {@link decide}.
 * - `raise`: what a spent budget is raised by, by measure; where a `budget-increase` is approved, and only then. Measures that
 *   the account limits, each > 0, and at least what `facts.needed` names; `{}` opens an account that was closed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Deciding {
  readonly review: string
  readonly decision: Decision
  readonly by: string
  readonly note?: string | undefined
  readonly answer?: Schema.Json | undefined
  readonly raise?: Budget.Amount | undefined
}

const Deciding = Schema.Struct({
  review: Schema.String.check(Schema.isPattern(/^.+\/review\/[1-9]\d*$/, { expected: "an id such as RUN/review/1" })),
  decision: Decision,
  by: Schema.String.check(Schema.isPattern(/\S/, { expected: "a text that is not empty" })),
  note: Schema.optionalKey(Schema.String),
  answer: Schema.optionalKey(Schema.Json),
  raise: Schema.optionalKey(Budget.Amount)
})

const decodeDeciding = decoder(Deciding, "error")

/** What a review allows, to be told to whoever said something else; nothing when it is not known. */
const allowedBy = (run: string, id: string): Effect.Effect<string, never, Journal.Journal> =>
  foldRun(run).pipe(
    Effect.map(({ state }) => {
      const review = state.reviews.get(id)
      return review === undefined ? "" : `; ${id} (${review.kind}) allows ${review.allowed.join(", ")}`
    }),
    Effect.orElseSucceed(() => "")
  )

const without = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/**
 * Answers what a run asks of people.
 *
 * **Details**
 *
 * - `office`: where the run is being carried out, if it is. The decision then takes effect at once; otherwise it is written
 *   into the journal, and {@link resume} goes on from it.
 * - A decision is taken once. A second one, a late one, and one that was not asked for are refused with `CommandRefused`, and
 *   nothing is written. So is a field that says nothing with the decision.
 *
 * | kind of review | decision | what happens |
 * |---|---|---|
 * | `action-approval` | `approve` | the worker gets the order of `facts.order`; an order with another `facts.digest`, or another worker, is asked about anew |
 * | | `reject` | the task ends as `rejected`, its worker was never called |
 * | `result-acceptance` | `approve` | the result is accepted |
 * | | `reject` | the task ends as `rejected` |
 * | | `retry` | the task is tried anew, with the note as a hint |
 * | `question` | `answer` | the worker gets the task again, with `answer`: any JSON but null and an empty text |
 * | | `accept-partial`, `reject` | what there is stands; the task ends as `rejected` |
 * | `escalation` | `retry` | the task is tried anew, with the note as a hint |
 * | | `accept-partial`, `reject` | what there is stands; the task ends as `rejected` |
 * | `budget-increase` | `approve` | the account is raised by `raise`, and who waits for it goes on |
 * | | `reject` | nothing more is spent of the account |
 * | `scope-reduction` | `approve` | the requirements of `facts.drop` are dropped, and the task is tried anew |
 * | | `reject` | the task ends with what there is |
 * | `reconciliation` | `answer` | the field has the value of `answer`, `{ reconcile: { field: value } }` with the one field of `facts.field`; a value that does not fit is asked for once more |
 * | | `accept-partial` | the field is left out, and named as missing |
 * | `routing` | `answer` | the group goes on with `answer`: one of `facts.choices`, or the plan that was asked for |
 * | | `accept-partial`, `reject` | the group ends with what there is; it is stopped as rejected |
 *
 * **Gotchas**
 *
 * Who may decide is not checked here.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decide = (
  deciding: Deciding,
  options?: { readonly office?: Pick<Office.Office, "live"> | undefined } | undefined
): Effect.Effect<void, CommandRefused | RunNotFound | RunUntrusted | RunError, Journal.Journal> =>
  Effect.suspend(() => {
    const decoded = decodeDeciding(without(deciding))
    const run = String(deciding.review).replace(/\/review\/[^/]*$/, "")
    if (EffectResult.isFailure(decoded)) {
      const reason = sentences(decoded.failure, "the decision")
      const command = named(run, { _tag: "ReviewDecided", review: String(deciding.review) })
      return Effect.flatMap(allowedBy(run, deciding.review), (allowed) =>
        Effect.fail(new CommandRefused({ run, command, reason: `${reason}${allowed}` }))
      )
    }
    const { answer: given, note = "no reason given", ...rest } = decoded.success
    const own = given === undefined ? undefined : owned(given, "answer")
    if (own !== undefined && EffectResult.isFailure(own)) {
      const reason = sentences([own.failure], "the decision")
      return Effect.fail(
        new CommandRefused({
          run,
          command: named(run, { _tag: "ReviewDecided", review: decoded.success.review }),
          reason
        })
      )
    }
    const answer = own === undefined ? {} : { answer: own.success }
    return command(options?.office, run, { _tag: "ReviewDecided", ...rest, ...answer, note })
  })

/**
 * Asks for the end of a run: what is under way is called back and has stopped when the run ends as `cancelled`.
 *
 * **Details**
 *
 * - `office`: as for {@link decide}. Without it, a run that is cut off or waits ends as `cancelled` when it is taken up.
 *
 * @category deciding
 * @since 0.1.0
 */
export const cancel = (
  run: string,
  options: {
    readonly by: string
    readonly note?: string | undefined
    readonly office?: Pick<Office.Office, "live"> | undefined
  }
): Effect.Effect<void, CommandRefused | RunNotFound | RunUntrusted | RunError, Journal.Journal> =>
  command(options.office, run, {
    _tag: "CancelRequested",
    by: options.by,
    note: `${options.by} asked for the end of the run${options.note === undefined ? "" : `: ${options.note}`}`
  })

/**
 * Changes how much a run may do without a person. Who changed it, and why, is in the journal.
 *
 * **Details**
 *
 * - `change`: as checked by `Autonomy.change`. `office`: as for {@link decide}.
 *
 * @category deciding
 * @since 0.1.0
 */
export const changeTier = (
  run: string,
  change: Omit<Autonomy.TierChange, "at">,
  options?: { readonly office?: Pick<Office.Office, "live"> | undefined } | undefined
): Effect.Effect<void, CommandRefused | RunNotFound | RunUntrusted | RunError, Journal.Journal> =>
  Effect.suspend(() => {
    const checked = Autonomy.change(change.from, { ...change, at: 0 })
    if (EffectResult.isFailure(checked)) {
      const reason = checked.failure.message
      return Effect.fail(new CommandRefused({ run, command: named(run, { _tag: "AutonomyChanged" }), reason }))
    }
    const { from, to, who, why } = checked.success
    return command(options?.office, run, { _tag: "AutonomyChanged", from, to, by: who, note: why })
  })

/**
 * Everything that happened in a run, in order.
 *
 * **Gotchas**
 *
 * Events are as the journal has them: a large output is there by reference (`outputRef`), also where `onEvent` had the value.
 *
 * @category reading
 * @since 0.1.0
 */
export const events = (run: string): Stream.Stream<RunEvent, RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Stream.unwrap(
    Effect.map(Journal.Journal, (journal) =>
      journal
        .read(run)
        .pipe(
          Stream.mapEffect((recorded) =>
            Effect.fromResult(
              EffectResult.mapError(
                fromRecord(recorded),
                (reason) => new RunUntrusted({ run, version: recorded.version, reason })
              )
            )
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
): Effect.Effect<Outcome.Outcome, RunNotFound | RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Effect.flatMap(readRun(run), ({ fold, state }) => {
    const known = fold.outcome(state.status === "waiting")
    return known === undefined ? Effect.fail(new RunNotFound({ run })) : Effect.succeed(known)
  })
