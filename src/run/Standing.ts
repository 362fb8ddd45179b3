/**
 * What a run knows of itself: where each accepted fact comes from, what is still to be decided, and what may happen next.
 *
 * All of it follows from the events. It is told by function from what they fold to, so that it can be asked for of a run that
 * goes on, of one that waits, and of one that was over years ago.
 *
 * **Example** (Where a result comes from)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Standing, Worker } from "espalier/run"
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
 *   const { facts, next } = yield* Standing.ofRun("r1", { desk })
 *   return [facts.map(({ dispatch, version, worker }) => [dispatch, version, worker]), next.length]
 * })
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => [[["r1/count/1", 4, "words.count"]], 0]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

import { sha256 } from "../journal/internal/sha256.ts"
import type * as Journal from "../journal/Journal.ts"
import type { Reference } from "../journal/Reference.ts"
import * as Decider from "./Decider.ts"
import * as Desk from "./Desk.ts"
import { applyEvent, copy } from "./internal/apply.ts"
import { foldAt, foldRun } from "./internal/reading.ts"
import type { NoSuchEvent, RunNotFound, RunTooNew, RunUntrusted } from "./internal/runErrors.ts"
import type * as Outcome from "./Outcome.ts"
import type { Evidence, Missing } from "./Result.ts"
import type { Decision, Purpose, ReviewKind, ReviewReason, StopReason } from "./RunEvent.ts"
import { isFinished, type RunState, type RunStatus, type TaskState, type TimerState, type Try } from "./RunState.ts"

/**
 * A result that stands, and where it comes from.
 *
 * **Details**
 *
 * - `version`: of the event that holds the result.
 * - `dispatch`, `contract`: under which order, and the version of its contract; absent of a merged or a reused result.
 * - `worker`: who gave it; the kind of the coordinator of a merged one.
 * - `hash`: of the output as JSON, with which an artefact of it would be found. `reference`: where it is, when it is kept by
 *   reference.
 * - `builtOn`: the results that it was made from, with the versions of their events.
 * - `approvals`: what people decided about the task, as in `approve by ada`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fact {
  readonly task: string
  readonly status: "accepted" | "partial"
  readonly version: number
  readonly dispatch?: string | undefined
  readonly contract?: number | undefined
  readonly worker: string
  readonly confidence: number
  readonly hash?: string | undefined
  readonly reference?: Reference | undefined
  readonly evidence: ReadonlyArray<Evidence>
  readonly missing: ReadonlyArray<Missing>
  readonly builtOn: ReadonlyArray<{ readonly task: string; readonly version: number }>
  readonly approvals: ReadonlyArray<string>
}

/**
 * What is not decided yet, or has not come yet.
 *
 * **Details**
 *
 * - `reviews`: what people are asked. `choices`: what routers, planners and others are asked.
 * - `timers`: what waits for a time. `deadlines`: times that have not passed; of the run itself under `run`.
 * - `orders`: dispatches under way. `effects`: what may have happened outside, and nobody knows.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outstanding {
  readonly reviews: ReadonlyArray<{
    readonly review: string
    readonly task?: string | undefined
    readonly kind: ReviewKind
    readonly reason: ReviewReason
    readonly allowed: ReadonlyArray<Decision>
    readonly at: number
    readonly note: string
  }>
  readonly choices: ReadonlyArray<{
    readonly consult: string
    readonly subject: string
    readonly purpose: Purpose
  }>
  readonly timers: ReadonlyArray<TimerState>
  readonly deadlines: ReadonlyArray<{ readonly subject: string; readonly at: number }>
  readonly orders: ReadonlyArray<{
    readonly task: string
    readonly dispatch: string
    readonly worker: string
    readonly at: number
  }>
  readonly effects: ReadonlyArray<{
    readonly effect: string
    readonly task: string
    readonly name: string
    readonly status: "intended" | "quarantined"
  }>
}

/**
 * Something that may happen next.
 *
 * **Details**
 *
 * - `what`: `decide`, `resume`, `cancel`, or the action of {@link Decider.Action} that the desk would take.
 * - `subject`: the review, task or group; the run itself is `run`. `note`: more about it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Next {
  readonly what: "decide" | "resume" | "cancel" | Decider.Action["_tag"]
  readonly subject: string
  readonly note: string
}

/**
 * What a run knows of itself.
 *
 * **Details**
 *
 * - `version`, `at`: of the last event that is taken into account, and when it was.
 *
 * @category models
 * @since 0.1.0
 */
export interface Standing {
  readonly run: string
  readonly version: number
  readonly at: number
  readonly status: RunStatus
  readonly stopReason?: StopReason | undefined
  readonly facts: ReadonlyArray<Fact>
  readonly outstanding: Outstanding
  readonly next: ReadonlyArray<Next>
}

/** The run itself, where something is about a task otherwise. */
const run = "run"

const named = (subject: string): string => (subject === "" ? run : subject)

const encoder = new TextEncoder()

/** The try whose result stands: the last one with an event of that version. */
const standingTry = (task: TaskState, version: number): Try | undefined =>
  task.tries.findLast((each) => each.version === version)

const provenance = (state: RunState, fold: Outcome.Fold): ReadonlyArray<Fact> => {
  const contracts = new Map(
    (fold.outcome(state)?.dispatches ?? []).map(({ contract, dispatch }) => [dispatch, contract])
  )
  const within = new Map<string, Array<TaskState>>()
  for (const task of state.tasks.values()) within.set(task.parent, [...(within.get(task.parent) ?? []), task])
  const facts: Array<Fact> = []
  for (const task of state.tasks.values()) {
    const { id, needs, result: version, status } = task
    if (version === undefined || (status !== "accepted" && status !== "partial")) continue
    const result = fold.result(id)
    const { confidence = result?.confidence ?? 0, dispatch, worker = "" } = standingTry(task, version) ?? {}
    const contract = dispatch === undefined ? undefined : contracts.get(dispatch)
    const { output, outputRef } = result ?? {}
    const hash =
      outputRef?.hash ?? (output === undefined ? undefined : `sha256:${sha256(encoder.encode(JSON.stringify(output)))}`)
    const before = needs.flatMap((need) => state.tasks.get(need) ?? [])
    facts.push({
      task: id,
      status,
      version,
      ...(dispatch === undefined ? {} : { dispatch }),
      ...(contract === undefined ? {} : { contract }),
      worker,
      confidence,
      ...(hash === undefined ? {} : { hash }),
      ...(outputRef === undefined ? {} : { reference: outputRef }),
      evidence: result?.evidence ?? [],
      missing: task.missing,
      builtOn: [...before, ...(within.get(id) ?? [])].flatMap(({ id, result }) =>
        result === undefined ? [] : [{ task: id, version: result }]
      ),
      approvals: task.answers.map(({ by, decision }) => `${decision} by ${by}`)
    })
  }
  return facts
}

const outstandingOf = (state: RunState): Outstanding => {
  const open = [...state.groups.values(), ...state.tasks.values()]
  const deadlines = [...state.timed].flatMap((subject) => {
    const at = state.tasks.get(subject)?.deadlineAt
    return at === undefined ? [] : [{ subject, at }]
  })
  const own = state.deadlineAt === undefined || state.expired ? [] : [{ subject: run, at: state.deadlineAt }]
  return {
    reviews: Array.from(state.reviews.values(), ({ allowed, at, kind, note, reason, review, task }) => ({
      review,
      ...(task === undefined ? {} : { task }),
      kind,
      reason,
      allowed,
      at,
      note
    })),
    choices: open.flatMap(({ consult, id }) =>
      consult?.status === "open" ? [{ consult: consult.id, subject: named(id), purpose: consult.purpose }] : []
    ),
    timers: state.timers,
    deadlines: [...own, ...deadlines],
    orders: [...state.tasks.values()].flatMap(({ dispatch, id }) =>
      dispatch === undefined ? [] : [{ task: id, dispatch: dispatch.id, worker: dispatch.worker, at: dispatch.at }]
    ),
    effects: [...state.effects].flatMap(([effect, { name, status, task }]) =>
      status === "done" ? [] : [{ effect, task, name, status }]
    )
  }
}

/** What an action is about, and more of it. */
const nextOf = (action: Decider.Action): Next => {
  const what = action._tag
  switch (what) {
    case "Finish":
      return { what, subject: run, note: `${action.status}, ${action.stopReason}: ${action.note}` }
    case "Merge":
      return { what, subject: named(action.group), note: "" }
    case "AddTasks":
      return { what, subject: named(action.group), note: action.tasks.map(({ id }) => id).join(", ") }
    case "StopGroup":
      return { what, subject: named(action.group), note: action.note }
    case "Consult":
      return { what, subject: named(action.subject), note: action.purpose }
    case "Review":
      return { what, subject: action.task ?? run, note: `${action.kind}: ${action.note}` }
    case "SetTimer":
      return { what, subject: action.task, note: `${action.purpose} ${action.millis} ms` }
    case "EndTask":
      return { what, subject: action.task, note: `${action.status}: ${action.note}` }
    case "Dispatch":
      return {
        what,
        subject: action.task,
        note: action.approval === undefined ? action.note : `unless it is approved already: ${action.approval.note}`
      }
    default:
      return { what, subject: action.task, note: action.note }
  }
}

/** What the desk would do: a run that was put down is taken up first. */
const actionsOf = (state: RunState, desk: Desk.Desk): ReadonlyArray<Decider.Action> => {
  const resumed =
    state.status === "suspended" ? applyEvent(copy(state), { _tag: "RunResumed", at: state.lastAt, note: "" }) : state
  return typeof resumed === "string" ? [] : Decider.decide(resumed, Desk.spec(desk))
}

const nextSteps = (state: RunState, desk: Desk.Desk | undefined): ReadonlyArray<Next> => {
  if (isFinished(state.status)) return []
  const decisions = Array.from(state.reviews.values(), ({ allowed, kind, review }): Next => {
    return { what: "decide", subject: review, note: `${kind}: ${allowed.join(", ")}` }
  })
  const resume: ReadonlyArray<Next> =
    state.status === "suspended"
      ? [{ what: "resume", subject: run, note: `it was suspended: ${state.suspended ?? "asked"}` }]
      : state.status === "running"
        ? [{ what: "resume", subject: run, note: "when nobody carries it out any more" }]
        : []
  const actions = desk === undefined ? [] : actionsOf(state, desk).map(nextOf)
  const cancel: ReadonlyArray<Next> =
    state.cancelled === undefined ? [{ what: "cancel", subject: run, note: "with what there is" }] : []
  return [...actions, ...decisions, ...resume, ...cancel]
}

/**
 * What a run knows of itself, from what its events fold to.
 *
 * **Details**
 *
 * - `desk`: with it, `next` begins with the actions that the desk decides on in this state. Without it they are what people
 *   and processes may do about the run.
 *
 * **Gotchas**
 *
 * It has to be the desk that the run began with; that is not checked.
 *
 * @category constructors
 * @since 0.1.0
 */
export const of = (state: RunState, fold: Outcome.Fold, desk?: Desk.Desk | undefined): Standing => ({
  run: state.run,
  version: state.version,
  at: state.lastAt,
  status: state.status,
  ...(state.stopReason === undefined ? {} : { stopReason: state.stopReason }),
  facts: provenance(state, fold),
  outstanding: outstandingOf(state),
  next: nextSteps(state, desk)
})

/**
 * What a run in the journal knows of itself.
 *
 * **Details**
 *
 * - `desk`: as of {@link of}. `at`: as it was after this event; one that the run has not got to is a `NoSuchEvent`. Default: the
 *   last one.
 * - Outputs that are kept by reference are not read.
 *
 * @category reading
 * @since 0.1.0
 */
export const ofRun = (
  run: string,
  options: { readonly desk?: Desk.Desk | undefined; readonly at?: number | undefined } = {}
): Effect.Effect<
  Standing,
  NoSuchEvent | RunNotFound | RunTooNew | RunUntrusted | Journal.JournalError,
  Journal.Journal
> =>
  Effect.map(options.at === undefined ? foldRun(run) : foldAt(run, options.at), ({ fold, state }) =>
    of(state, fold, options.desk)
  )
