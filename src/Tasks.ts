/**
 * Tasks: effects that run under a supervisor for somebody who wants the result.
 *
 * A task supervisor is declared with {@link Service}, as an actor is: its value is a handle that stays valid over
 * restarts. Its tasks live in the tree, so a stop of the tree ends them within their grace time; they see the services
 * of whoever started them, and their spans hang below the caller's.
 *
 * **Details**
 *
 * | started by    | ends with its caller | its unclean end                        |
 * | ------------- | -------------------- | -------------------------------------- |
 * | `run`         | yes                  | is the caller's: `run` fails with it   |
 * | `async`       | yes                  | ends the {@link linked} caller         |
 * | `asyncNoLink` | no                   | is a value for whoever waits           |
 * | `stream`      | with the consumer    | fails the stream, or is one of its values |
 *
 * - A task is never started again. An end is unclean when the effect failed, died, or was interrupted by somebody else
 *   than the caller.
 * - A typed failure is an answer; a defect is also an `Exited` event that names the task, so that the tree knows of bugs.
 * - When the supervisor stops, whoever waits for one of its tasks fails with {@link TasksStopped} at once; the tasks
 *   have their grace time, all at the same time.
 * - Snapshots show how many tasks run, not which: a task is no node.
 *
 * **Gotchas**
 *
 * There is no kill in Effect. A task that does not stop within its grace time is abandoned: a `Leaked` event names it,
 * it no longer counts as a task, and nothing that it does reaches anybody.
 *
 * **Example** (Three at a time, and a slow one that is no reason to fail)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Supervisor, Tasks } from "espalier"
 *
 * class Jobs extends Tasks.Service<Jobs>()("Jobs") {}
 *
 * const fetch = (page: number) => page === 2 ? Effect.never : Effect.succeed(`page ${page}`)
 * const program = Effect.gen(function*() {
 *   const jobs = yield* Jobs
 *   const pages = jobs.stream([1, 2, 3], fetch, { concurrency: 3, timeout: "10 millis", onTimeout: "value" })
 *   return yield* Stream.runCollect(pages)
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [Jobs.child()] }))
 * const found = await Effect.runPromise(Effect.provide(program, tree))
 * found.map((one) => one._tag) // => ["Ok", "TimedOut", "Ok"]
 * ```
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Covariant } from "effect/Types"

import * as Child from "./Child.ts"
import type { TaskCancelled, TasksFull, TasksStopped, TaskTimeout } from "./internal/taskErrors.ts"
import * as handle from "./internal/taskHandle.ts"
import { type Patience, TasksMount } from "./internal/tasksMount.ts"
import * as stream from "./internal/taskStream.ts"

export { TaskCancelled, TasksFull, TasksStopped, TaskTimeout } from "./internal/taskErrors.ts"

/**
 * Why a task was not started. Both are `transient` failures; nothing has run.
 *
 * @category errors
 * @since 0.1.0
 */
export type Refused = TasksStopped | TasksFull

/**
 * How a task can end beside its effect's own failures: with its supervisor, or because it was cancelled.
 *
 * @category errors
 * @since 0.1.0
 */
export type Lost = TasksStopped | TaskCancelled

/**
 * A task that runs, or has run.
 *
 * **Details**
 *
 * Its result is one value, which can be asked for any number of times; nothing is left behind when nobody does.
 *
 * - `path`: where the task is, as events name it.
 * - `exit`: waits for the result and gives it as an `Exit`.
 * - `await`: waits for the result; succeeds or fails with it.
 * - `awaitFor`: the same for at most so long (>= 0, `"Infinity"` allowed), then it fails with {@link TaskTimeout}. The
 *   task runs on.
 * - `yieldFor`: waits at most so long; `None` when there is no result yet. The task runs on, and the question can be
 *   repeated.
 * - `shutdown`: stops the task and waits until it is over. `Some` of its exit when it had one by then; `None` when it
 *   was stopped; `Some` of a failure with a leaked {@link TaskCancelled} when its grace time ran out. A linked caller
 *   does not hear of a task that it shut down itself.
 * - `ignore`: unlinks the task: it runs on whatever becomes of the caller, who will not hear of its end. `Some` of its
 *   exit when it has one already.
 *
 * @category models
 * @since 0.1.0
 */
export interface Task<out A, out E> {
  readonly path: ReadonlyArray<string>
  readonly exit: Effect.Effect<Exit.Exit<A, E | Lost>>
  readonly await: Effect.Effect<A, E | Lost>
  readonly awaitFor: (timeout: Duration.Input) => Effect.Effect<A, E | Lost | TaskTimeout>
  readonly yieldFor: (duration: Duration.Input) => Effect.Effect<Option.Option<Exit.Exit<A, E | Lost>>>
  readonly shutdown: Effect.Effect<Option.Option<Exit.Exit<A, E | Lost>>>
  readonly ignore: Effect.Effect<Option.Option<Exit.Exit<A, E | Lost>>>
}

/**
 * The need of a linked task: a caller that can be told, see {@link linked}. `E` is what it may be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface Link<out E> {
  readonly "~espalier/Tasks/Link": Covariant<E>
}

/**
 * How the links among some needs may fail.
 *
 * @category models
 * @since 0.1.0
 */
export type LinkError<R> = R extends Link<infer E> ? E : never

/**
 * Runs an effect as the caller of linked tasks: whatever ends, they end together.
 *
 * **Details**
 *
 * - A task that is started inside with `async` and ends uncleanly interrupts the effect, cancels the other linked tasks,
 *   and is the failure of the whole, with its own cause. So are a task that was lost with its supervisor, and one that
 *   interrupted itself. The first one counts.
 * - When the effect ends, in whatever way, the linked tasks that still run are cancelled.
 * - Either way nothing of it runs any more when this returns: it waits for finalizers, for each task at most its grace
 *   time.
 * - Effects that are forked inside share the link. Links nest; a task belongs to the nearest one.
 *
 * **When to use**
 *
 * Around work that makes no sense without each of its tasks. A failure that the caller wants to handle belongs into the
 * task's own effect, or in a task of `asyncNoLink`: catching what `await` fails with does not undo the link.
 *
 * **Gotchas**
 *
 * OTP links processes, and the exit signal finds the caller wherever it is. An Effect cannot be failed from outside, so
 * the caller is what this wraps. The type of `async` asks for it.
 *
 * @category combinators
 * @since 0.1.0
 */
export const linked: <A, E, R>(
  body: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | LinkError<R>, Exclude<R, Link<unknown>>> = handle.linked as never

/**
 * The options of one task.
 *
 * **Details**
 *
 * `shutdown`: the grace time of this task, as `shutdown` of {@link Options}, which is the default.
 *
 * @category options
 * @since 0.1.0
 */
export interface TaskOptions {
  readonly shutdown?: Duration.Input | "abandon" | undefined
}

/**
 * A result in a stream that also has others than results.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ok<out A> {
  readonly _tag: "Ok"
  readonly value: A
}

/**
 * A task of a stream ended uncleanly.
 *
 * **Details**
 *
 * - `index`: the position of its element in the input, from 0.
 * - `input`: the element, if the stream was asked to `zipInput`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failed<out E, out Input = undefined> {
  readonly _tag: "Failed"
  readonly cause: Cause.Cause<E | TaskCancelled>
  readonly index: number
  readonly input: Input
}

/**
 * A task of a stream took too long and was cancelled.
 *
 * @see {@link Failed} for `index` and `input`
 * @category models
 * @since 0.1.0
 */
export interface TimedOut<out Input = undefined> {
  readonly _tag: "TimedOut"
  readonly afterMillis: number
  readonly index: number
  readonly input: Input
}

/**
 * The input of a stream: a stream or an iterable. It says no more, so that one that is written in place keeps its types.
 *
 * @category models
 * @since 0.1.0
 */
export type AnyInput = Iterable<unknown> | { readonly [Stream.TypeId]: unknown }

/**
 * What the input of a stream, a stream or an iterable, gives.
 *
 * @category models
 * @since 0.1.0
 */
export type Input<Items> =
  Items extends Stream.Stream<infer I, infer _E, infer _R> ? I : Items extends Iterable<infer I> ? I : never

/**
 * How the input of a stream can fail.
 *
 * @category models
 * @since 0.1.0
 */
export type InputError<Items> = Items extends Stream.Stream<infer _I, infer E, infer _R> ? E : never

/**
 * What the input of a stream needs.
 *
 * @category models
 * @since 0.1.0
 */
export type InputServices<Items> = Items extends Stream.Stream<infer _I, infer _E, infer R> ? R : never

/**
 * The elements of a stream, by its options: plain results, unless failures or time-outs are values too.
 *
 * @category models
 * @since 0.1.0
 */
export type Element<A, E, Linked, OnTimeout, Input> = Linked extends true
  ? OnTimeout extends "value"
    ? Ok<A> | TimedOut<Input>
    : A
  : OnTimeout extends "value"
    ? Ok<A> | Failed<E, Input> | TimedOut<Input>
    : Ok<A> | Failed<E, Input>

/**
 * How a stream can fail beside its input, by its options.
 *
 * @category models
 * @since 0.1.0
 */
export type StreamError<E, Linked, OnTimeout, Timeout> =
  | Refused
  | (Linked extends true ? E | TaskCancelled : never)
  | ([Timeout] extends [never] ? never : OnTimeout extends "value" ? never : TaskTimeout)

/**
 * The options of a stream.
 *
 * **Details**
 *
 * - `concurrency`: tasks that run at one time, a whole number >= 1. Default 10 (ours; Elixir's is the number of
 *   schedulers). A task that is over frees its slot, also when its result still waits.
 * - `ahead`: elements that may be begun before the consumer has taken their results, a whole number >= `concurrency`. It
 *   bounds what a slow consumer, or in an ordered stream a slow element, makes the stream keep. Default 8 times
 *   `concurrency` (ours; Elixir keeps any number in an ordered stream).
 * - `ordered`: whether results come in the order of the input. Default `true`; else they come as they are finished.
 * - `timeout`: how long one element's task may take, >= 0. Then it is cancelled. Default `"Infinity"` (ours; Elixir's
 *   is 5 seconds).
 * - `onTimeout`: whether a time-out fails the stream with {@link TaskTimeout}, the default, or is a {@link TimedOut} in
 *   its place.
 * - `link`: whether an element that ends uncleanly fails the stream with its cause. Default `true`; else it is a
 *   {@link Failed} in its place.
 * - `zipInput`: whether `Failed` and `TimedOut` carry their element. Default `false`.
 * - `shutdown`: as for every task.
 *
 * @category options
 * @since 0.1.0
 */
export interface StreamOptions<
  Linked extends boolean = boolean,
  OnTimeout extends "fail" | "value" = "fail" | "value",
  Timeout extends Duration.Input = Duration.Input,
  Zip extends boolean = boolean
> extends TaskOptions {
  readonly concurrency?: number | undefined
  readonly ahead?: number | undefined
  readonly ordered?: boolean | undefined
  readonly timeout?: Timeout | undefined
  readonly onTimeout?: OnTimeout | undefined
  readonly link?: Linked | undefined
  readonly zipInput?: Zip | undefined
}

/**
 * A running task supervisor.
 *
 * **Details**
 *
 * What an effect needs comes from the caller, tracing included. Everything fails at once with {@link TasksStopped} while
 * the supervisor does not run, and with {@link TasksFull} when it has `maxChildren` tasks.
 *
 * - `run`: runs an effect as a task and waits for its result. Interrupting the caller cancels the task and waits until
 *   it is over.
 * - `async`: starts a task that is linked to the caller, inside {@link linked}.
 * - `asyncNoLink`: starts a task that is linked to nobody. It runs until it ends, or its supervisor does.
 * - `stream`: a stream that makes each of its elements by a task, see {@link StreamOptions}. When the stream ends, or its
 *   consumer wants no more, its tasks are cancelled and over, and the input is finalised. After a failure, what was
 *   ready is still delivered. When the input fails, the tasks that were begun are waited for first.
 *
 * **Gotchas**
 *
 * An option that is out of range is a `RangeError`, thrown by the call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ref {
  readonly run: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    options?: TaskOptions | undefined
  ) => Effect.Effect<A, E | Refused | TaskCancelled, R>
  readonly async: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    options?: TaskOptions | undefined
  ) => Effect.Effect<Task<A, E>, Refused, R | Link<E | Lost>>
  readonly asyncNoLink: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    options?: TaskOptions | undefined
  ) => Effect.Effect<Task<A, E>, Refused, R>
  readonly stream: <
    Items extends AnyInput,
    A,
    E,
    R,
    const Linked extends boolean = true,
    const OnTimeout extends "fail" | "value" = "fail",
    const Timeout extends Duration.Input = never,
    const Zip extends boolean = false
  >(
    items: Items,
    f: (input: Input<Items>, index: number) => Effect.Effect<A, E, R>,
    options?: StreamOptions<Linked, OnTimeout, Timeout, Zip> | undefined
  ) => Stream.Stream<
    Element<A, E, Linked, OnTimeout, Zip extends true ? Input<Items> : undefined>,
    InputError<Items> | StreamError<E, Linked, OnTimeout, Timeout>,
    R | InputServices<Items>
  >
}

/**
 * The options of a task supervisor.
 *
 * **Details**
 *
 * - `id`: the child's id. Default: the service's.
 * - `maxChildren`: tasks that may run at one time, a whole number >= 1. Default `"unbounded"` (Elixir's).
 * - `shutdown`: the grace time of each task that does not bring its own, >= 0. The task is interrupted; if it and its
 *   finalizers are not finished in time it is abandoned. `0` interrupts and does not wait, `"abandon"` likewise,
 *   `"Infinity"` waits as long as it takes. Default 5 seconds. A stop of the supervisor gives it to all tasks at the
 *   same time.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends TaskOptions {
  readonly id?: string | undefined
  readonly maxChildren?: number | "unbounded" | undefined
}

/**
 * A task supervisor as a service: the key of its handle, and the maker of its children.
 *
 * @category models
 * @since 0.1.0
 */
export interface TasksClass<Self, Id extends string> extends Context.ServiceClass<Self, Id, Ref> {
  /** The task supervisor as a child. */
  readonly child: (options?: Options | undefined) => Child.Child<Self, never, never>
}

const patienceOf = (where: string, id: string, input: Duration.Input | "abandon"): Patience =>
  input === "abandon" ? input : Child.durationOf(where, `shutdown of ${id}`, input, "zero")

const ownPatience = (where: string, id: string, options: TaskOptions | undefined): Patience | undefined =>
  options?.shutdown === undefined ? undefined : patienceOf(where, id, options.shutdown)

const wholeOf = (where: string, name: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(`${where}: ${name} must be a whole number >= ${least}, got ${Child.show(value)}`)
}

const mostOf = (where: string, id: string, value: number | "unbounded"): number => {
  if (value === "unbounded") return Number.POSITIVE_INFINITY
  if (Number.isSafeInteger(value) && value >= 1) return value
  throw new RangeError(
    `${where}: maxChildren of ${id} must be a whole number >= 1 or unbounded, got ${Child.show(value)}`
  )
}

const oneOf = <A>(where: string, name: string, value: A, among: ReadonlyArray<A>): A => {
  if (among.includes(value)) return value
  throw new RangeError(`${where}: ${name} must be ${among.map(Child.show).join(" or ")}, got ${Child.show(value)}`)
}

const planOf = (id: string, options: StreamOptions | undefined): stream.Plan => {
  const where = "Tasks.stream"
  const of = `of ${id}`
  const flag = (name: string, value: boolean | undefined, otherwise: boolean): boolean =>
    oneOf(where, `${name} ${of}`, value ?? otherwise, [true, false])
  const concurrency = wholeOf(where, `concurrency ${of}`, options?.concurrency ?? 10, 1)
  return {
    concurrency,
    ahead: wholeOf(where, `ahead ${of}`, options?.ahead ?? 8 * concurrency, concurrency),
    ordered: flag("ordered", options?.ordered, true),
    timeout: Child.durationOf(where, `timeout ${of}`, options?.timeout ?? Duration.infinity, "zero"),
    onTimeout: oneOf(where, `onTimeout ${of}`, options?.onTimeout ?? "fail", ["fail", "value"]),
    link: flag("link", options?.link, true),
    zipInput: flag("zipInput", options?.zipInput, false),
    shutdown: ownPatience(where, id, options)
  }
}

type AnyEffect = Effect.Effect<unknown, unknown>

const makeRef = (mount: TasksMount): Ref => {
  const { id } = mount
  const ref = {
    run: (effect: AnyEffect, options?: TaskOptions) => handle.run(mount, effect, ownPatience("Tasks.run", id, options)),
    async: (effect: AnyEffect, options?: TaskOptions) =>
      handle.startLinked(mount, effect, ownPatience("Tasks.async", id, options)),
    asyncNoLink: (effect: AnyEffect, options?: TaskOptions) =>
      handle.start(mount, effect, ownPatience("Tasks.asyncNoLink", id, options)),
    stream: (
      items: Iterable<unknown> | Stream.Stream<unknown, unknown>,
      f: (input: unknown, index: number) => AnyEffect,
      options?: StreamOptions
    ) => stream.make(mount, Stream.isStream(items) ? items : stream.fromIterable(items), f, planOf(id, options))
  }
  // What the effects need is in the context of the fiber that calls: the types of `Ref` see to that.
  return ref as never
}

/**
 * Declares a task supervisor.
 *
 * **Example** (A result, and a crash that hurts nobody)
 *
 * ```ts
 * import { Effect, Exit } from "effect"
 * import { Supervisor, Tasks } from "espalier"
 *
 * class Jobs extends Tasks.Service<Jobs>()("Jobs") {}
 *
 * const program = Effect.gen(function*() {
 *   const jobs = yield* Jobs
 *   const sum = yield* jobs.run(Effect.succeed(1 + 1))
 *   const task = yield* jobs.asyncNoLink(Effect.fail("no paper"))
 *   return { sum, printed: yield* task.exit }
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [Jobs.child({ maxChildren: 100 })] }))
 * await Effect.runPromise(Effect.provide(program, tree)) // => { sum: 2, printed: Exit.fail("no paper") }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const Service =
  <Self>() =>
  <const Id extends string>(id: Id): TasksClass<Self, Id> => {
    const child = (options?: Options | undefined): Child.Child<never, never, never> => {
      const where = "Tasks.child"
      // The supervisor's own patience has no limit: that of its tasks has.
      const policy = Child.policyOf(where, options?.id ?? id, undefined, Child.supervisorDefaults)
      const spec = {
        key: id,
        maxChildren: mostOf(where, policy.id, options?.maxChildren ?? "unbounded"),
        patience: patienceOf(where, policy.id, options?.shutdown ?? Child.workerDefaults.shutdown),
        ref: makeRef
      }
      return Child.fromMount(
        policy,
        [id],
        (runtime, parent, outer) => new TasksMount(runtime, parent, policy, spec, outer)
      )
    }
    return Object.assign(Context.Service<Self, Ref>()(id), { child }) as never
  }
