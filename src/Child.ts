/**
 * What a supervisor supervises: a spec with an id, policies, and a way to begin.
 *
 * A child has two phases. Its *init* is scoped and must finish before the child counts as ready; the init's value is
 * the effect that *runs*. This is OTP's init and loop in Effect's terms: it gives ordered start, roll-back of a failed
 * start, and release before restart. A spec is a value; the same one can stand in two places of a tree.
 *
 * `Child<Provides, StartError, Requires>`: the services that siblings and the tree's users get from it (only actors
 * have any: what must stay valid over restarts is a reference), how its init can fail, and what its effects need.
 * Failures of the run phase never leave a child: they end in `onFailure` and in events.
 *
 * **Example** (A child with a resource)
 *
 * ```ts
 * import { Effect, Schedule } from "effect"
 * import { Child, Supervisor } from "espalier"
 *
 * const log: Array<string> = []
 * const ticker = Child.make("ticker", Effect.gen(function*() {
 *   yield* Effect.acquireRelease(Effect.sync(() => log.push("open")), () => Effect.sync(() => log.push("close")))
 *   return Effect.never // the run phase
 * }), { backoff: Schedule.exponential("100 millis") })
 *
 * const program = Effect.scoped(Supervisor.start(Supervisor.make("root", { children: [ticker] })))
 * await Effect.runPromise(program)
 * log // => ["open", "close"]
 * ```
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import * as Layer from "effect/Layer"
import * as ChildProcess from "effect/process/ChildProcess"
import type { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Covariant } from "effect/Types"

import { EffectMount, ignore as ignored } from "./internal/effectMount.ts"
import type { Directive as Directive_ } from "./internal/exit.ts"
import * as layers from "./internal/layer.ts"
import type { Snapshot } from "./internal/model.ts"
import type { Mount, Parent, Policy } from "./internal/mount.ts"
import { durationOf, mustBeEffect, show } from "./internal/options.ts"
import type { Output as Output_ } from "./internal/output.ts"
import * as processes from "./internal/process.ts"
import type { ProcessExited, ProcessNotStarted, ProcessPipeBroken } from "./internal/processErrors.ts"
import { outputOf, type Ready as Ready_, readyOf } from "./internal/processOptions.ts"
import type { Runtime } from "./internal/runtime.ts"
import type { Restart as Restart_ } from "./internal/transition.ts"

/** @internal */
export { durationOf, show } from "./internal/options.ts"
export { ProcessExited, ProcessKilled, ProcessNotStarted, ProcessPipeBroken } from "./internal/processErrors.ts"

/**
 * The type id of a child.
 *
 * @category models
 * @since 0.1.0
 */
export const TypeId = "~espalier/Child"

/**
 * The spec of a child.
 *
 * @category models
 * @since 0.1.0
 */
export interface Child<out Provides, out E, out R> {
  readonly [TypeId]: {
    readonly _Provides: Covariant<Provides>
    readonly _E: Covariant<E>
    readonly _R: Covariant<R>
  }
  /** Unique among its siblings. */
  readonly id: string
  /** @internal keys of the services that it provides */
  readonly provides: ReadonlyArray<string>
  /** @internal */
  readonly policy: Policy
  /** @internal */
  mount(runtime: Runtime, parent: Parent, outer?: Context.Context<never> | undefined): Mount
}

/**
 * Any child; the top of the type, so no type is lost in a list of them.
 *
 * @category models
 * @since 0.1.0
 */
export type Any = Child<unknown, unknown, unknown>

/**
 * What a child provides.
 *
 * @category models
 * @since 0.1.0
 */
export type Provides<C> = C extends Child<infer P, infer _E, infer _R> ? P : never

/**
 * How a child's start can fail.
 *
 * @category models
 * @since 0.1.0
 */
export type Error<C> = C extends Child<infer _P, infer E, infer _R> ? E : never

/**
 * What a child needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Requires<C> = C extends Child<infer _P, infer _E, infer R> ? R : never

/**
 * When a child is restarted after it ended by itself.
 *
 * **Details**
 *
 * - `always`: after every end. OTP's *permanent*. The default.
 * - `on-failure`: only after an unclean end. OTP's *transient*.
 * - `never`: not at all; its spec is forgotten when it ends. OTP's *temporary*.
 *
 * @category models
 * @since 0.1.0
 */
export type Restart = Restart_

/**
 * What to do about a failure: restart the child, leave it stopped, or let the supervisor give up with this cause.
 *
 * @category models
 * @since 0.1.0
 */
export type Directive = Directive_

/**
 * The policies of a child.
 *
 * **Details**
 *
 * - `restart`: see {@link Restart}. Default `"always"` (OTP's default for a worker).
 * - `shutdown`: the grace time of a stop, >= 0. The child is interrupted; if it and its finalizers are not finished in
 *   time it is abandoned and fenced, and a `Leaked` event names it. `0` interrupts and does not wait; `"abandon"` fences
 *   without asking how it went (OTP's `brutal_kill`); `"Infinity"` waits as long as it takes. Default 5 seconds, for
 *   supervisors `"Infinity"` (OTP's defaults).
 * - `significant`: whether its end may end its supervisor, see `autoShutdown` of a supervisor's options. Only a child that
 *   is restarted `"on-failure"` or `"never"` can be significant, and only where the supervisor shuts itself down. Default
 *   `false`.
 * - `initTimeout`: how long the init may take, > 0. Then it is interrupted and the start fails with `InitTimeout`.
 *   Default 30 seconds, for supervisors `"Infinity"`: their children have their own.
 * - `backoff`: the delay before each restart. It is stepped with the cause of the end; when the schedule is over, the
 *   supervisor gives up. Default: none, except after a failure of kind `transient` (exponential from 1 s, factor 2, cap
 *   30 s, jitter ± 20 %). A transient failure's `retryAfterMillis` is always a lower bound.
 * - `backoffReset`: health after which the schedule starts anew, > 0. Default 60 seconds.
 * - `onFailure`: the directive for a typed error of the child, in either phase. Default: by the failure's kind:
 *   `transient` and `malformed` restart, `capability`, `oversized`, `denied` and `exhausted` stop. Unmarked errors and
 *   defects restart. It is not asked about defects; if it throws, the child is restarted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in E> {
  readonly restart?: Restart | undefined
  readonly significant?: boolean | undefined
  readonly shutdown?: Duration.Input | "abandon" | undefined
  readonly initTimeout?: Duration.Input | undefined
  readonly backoff?: Schedule.Schedule<unknown, Cause.Cause<E>> | undefined
  readonly backoffReset?: Duration.Input | undefined
  readonly onFailure?: ((error: E) => Directive) | undefined
}

const variance = {
  _Provides: (_: never) => _,
  _E: (_: never) => _,
  _R: (_: never) => _
}

/** A spec. A class, because a tree may have a hundred thousand of them. */
class Spec<P, E, R> implements Child<P, E, R> {
  readonly [TypeId] = variance
  readonly id: string
  readonly policy: Policy
  readonly provides: ReadonlyArray<string>
  readonly mount: Child<P, E, R>["mount"]

  constructor(policy: Policy, provides: ReadonlyArray<string>, mount: Child<P, E, R>["mount"]) {
    this.id = policy.id
    this.policy = policy
    this.provides = provides
    this.mount = mount
  }
}

/**
 * @internal
 */
export const fromMount = <P, E, R>(
  policy: Policy,
  provides: ReadonlyArray<string>,
  mount: Child<P, E, R>["mount"]
): Child<P, E, R> => new Spec(policy, provides, mount)

const restarts: ReadonlyArray<Restart> = ["always", "on-failure", "never"]

/** The duration that was given, or the default: one object for all children that say nothing. */
const durationOr = (
  fallback: Duration.Duration,
  where: string,
  name: string,
  id: string,
  input: Duration.Input | undefined,
  least: "zero" | "more"
): Duration.Duration => (input === undefined ? fallback : durationOf(where, `${name} of ${id}`, input, least))

const defaultReset = Duration.seconds(60)

/** What differs between kinds of children where nothing is said. */
interface Defaults {
  readonly shutdown: Duration.Duration
  readonly initTimeout: Duration.Duration
}

/**
 * @internal the policies with their defaults, checked
 */
export const policyOf = (
  where: string,
  id: string,
  options: Options<never> | undefined,
  defaults: Defaults
): Policy => {
  if (typeof id !== "string" || id.length === 0) {
    throw new RangeError(`${where}: id must be a string that is not empty, got ${format(id)}`)
  }
  const restart = options?.restart ?? "always"
  if (!restarts.includes(restart)) {
    throw new RangeError(`${where}: restart of ${id} must be one of ${restarts.join(", ")}, got ${show(restart)}`)
  }
  const significant = options?.significant ?? false
  if (typeof significant !== "boolean") {
    throw new RangeError(`${where}: significant of ${id} must be a boolean, got ${show(significant)}`)
  }
  if (significant && restart === "always") {
    throw new RangeError(`${where}: restart of ${id} must be on-failure or never when it is significant, got always`)
  }
  const onFailure = options?.onFailure
  if (onFailure !== undefined && typeof onFailure !== "function") {
    throw new RangeError(`${where}: onFailure of ${id} must be a function, got ${show(onFailure)}`)
  }
  const backoff = options?.backoff
  if (backoff !== undefined && !Schedule.isSchedule(backoff)) {
    throw new RangeError(`${where}: backoff of ${id} must be a Schedule, got ${show(backoff)}`)
  }
  const shutdown = options?.shutdown
  return {
    id,
    restart,
    significant,
    shutdown:
      shutdown === "abandon" ? shutdown : durationOr(defaults.shutdown, where, "shutdown", id, shutdown, "zero"),
    declaredShutdown: shutdown !== undefined,
    initTimeout: durationOr(defaults.initTimeout, where, "initTimeout", id, options?.initTimeout, "more"),
    backoff: backoff as Policy["backoff"],
    backoffReset: durationOr(defaultReset, where, "backoffReset", id, options?.backoffReset, "more"),
    onFailure
  }
}

/**
 * @internal a child that is an Effect, of a kind of its own; `more` is the time beyond its grace time that a forced end needs
 */
export const fromInit = <E, R>(
  policy: Policy,
  kind: Snapshot["kind"],
  init: (runtime: Runtime) => Effect.Effect<Effect.Effect<unknown, unknown>, E, R>,
  more?: Duration.Duration
): Child<never, E, Exclude<R, Scope.Scope>> => {
  const { shutdown } = policy
  const patient =
    more === undefined || shutdown === "abandon" ? policy : { ...policy, shutdown: Duration.sum(shutdown, more) }
  return fromMount(
    policy,
    [],
    (runtime, parent, outer) =>
      // The context that the tree was started with holds what the child asks for: the types of the tree see to that.
      new EffectMount(
        runtime,
        parent,
        patient,
        init(runtime) as Effect.Effect<unknown, unknown, Scope.Scope>,
        outer,
        kind
      )
  )
}

/** @internal */
export const workerDefaults: Defaults = { shutdown: Duration.seconds(5), initTimeout: Duration.seconds(30) }

/** @internal */
export const supervisorDefaults: Defaults = { shutdown: Duration.infinity, initTimeout: Duration.infinity }

/**
 * A child with two phases: an init that is scoped, and the effect that it returns.
 *
 * **Details**
 *
 * - What the init acquires is released when the incarnation ends, whatever the reason, before the next one begins.
 * - The run effect sees the same scope. Fibers that it forks with `Effect.forkScoped` or `Effect.forkChild` end with it.
 * - An init that succeeds with {@link ignore} declines: the child is listed as stopped, and nothing failed.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when an option is out of range, or the init when it is no Effect.
 *
 * @see {@link effect} for a child that needs no init
 * @category constructors
 * @since 0.1.0
 */
export const make = <Run extends Effect.Effect<unknown, unknown, unknown>, E, R>(
  id: string,
  init: Effect.Effect<Run, E, R>,
  options?: Options<NoInfer<E | Effect.Error<Run>>> | undefined
): Child<never, E, Exclude<R | Effect.Services<Run>, Scope.Scope>> => {
  const policy = policyOf("Child.make", id, options as Options<never> | undefined, workerDefaults)
  mustBeEffect("Child.make", "init", id, init)
  return fromMount(
    policy,
    [],
    (runtime, parent, outer) =>
      // The context that the tree was started with holds what the child asks for: the types of the tree see to that.
      new EffectMount(runtime, parent, policy, init as Effect.Effect<unknown, unknown, Scope.Scope>, outer)
  )
}

/**
 * A child of one phase: it is ready as soon as it runs.
 *
 * @see {@link make} for a child that must get ready first
 * @category constructors
 * @since 0.1.0
 */
export const effect = <A, E, R>(
  id: string,
  run: [A] extends [never]
    ? Effect.Effect<A, E, R>
    : [A] extends [Effect.Effect<infer _A, infer _E, infer _R>]
      ? "this effect yields an effect: use Child.make"
      : Effect.Effect<A, E, R>,
  options?: Options<NoInfer<E>> | undefined
): Child<never, never, Exclude<R, Scope.Scope>> => {
  const policy = policyOf("Child.effect", id, options as Options<never> | undefined, workerDefaults)
  mustBeEffect("Child.effect", "run", id, run)
  return fromMount(
    policy,
    [],
    (runtime, parent, outer) => new EffectMount(runtime, parent, policy, Effect.succeed(run), outer)
  )
}

/**
 * The options of {@link layer}.
 *
 * **Details**
 *
 * `run`: what the child does once the layer is built, with the layer's services; the child ends when it ends. Default:
 * nothing, until it is stopped.
 *
 * @category models
 * @since 0.1.0
 */
export interface LayerOptions<E, Run extends Effect.Effect<unknown, unknown, unknown>> extends Options<
  E | Effect.Error<NoInfer<Run>>
> {
  readonly run?: Run | undefined
}

/**
 * A child that is a layer: ready when it is built, and built anew for every incarnation.
 *
 * **Details**
 *
 * - What the layer acquires is released when the incarnation ends, before the next one begins.
 * - Nothing is shared with a former incarnation or with the rest of the program: the layer is built without a memo map
 *   from outside. Services that must be shared are required by the layer and provided around the tree.
 * - It provides nothing to its siblings, for their services would be stale after a restart: only an actor has a
 *   reference that stays valid.
 * - A failure of the build is the child's start error.
 *
 * **Gotchas**
 *
 * A layer cannot fail once it is built, so without `run` this child ends only when it is stopped. A fiber that the layer
 * forks may die unseen: give its effect to `run`.
 *
 * **Example** (A server with a health loop)
 *
 * ```ts
 * import { Context, Effect, Layer } from "effect"
 * import { Child, Supervisor } from "espalier"
 *
 * class Server extends Context.Service<Server, { readonly port: number }>()("Server") {}
 *
 * const log: Array<string> = []
 * const ServerLive = Layer.effect(Server, Effect.acquireRelease(
 *   Effect.sync(() => { log.push("open"); return { port: 8080 } }),
 *   () => Effect.sync(() => log.push("close"))
 * ))
 * const server = Child.layer("server", ServerLive, {
 *   run: Effect.flatMap(Server, ({ port }) => Effect.sync(() => log.push(`port ${port}`)).pipe(Effect.andThen(Effect.never)))
 * })
 *
 * const program = Effect.andThen(Supervisor.start(Supervisor.make("root", { children: [server] })), Effect.yieldNow)
 * await Effect.runPromise(Effect.scoped(program))
 * log // => ["open", "port 8080", "close"]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const layer = <A, E, R, Run extends Effect.Effect<unknown, unknown, unknown> = Effect.Effect<never>>(
  id: string,
  layer: Layer.Layer<A, E, R>,
  options?: LayerOptions<NoInfer<E>, Run> | undefined
): Child<never, E, Exclude<R | Exclude<Effect.Services<Run>, A>, Scope.Scope>> => {
  const policy = policyOf("Child.layer", id, options as Options<never> | undefined, workerDefaults)
  if (!Layer.isLayer(layer)) throw new RangeError(`Child.layer: layer of ${id} must be a Layer, got ${show(layer)}`)
  const run = options?.run
  if (run !== undefined) mustBeEffect("Child.layer", "run", id, run)
  const init = layers.init(layer, run) as Effect.Effect<
    Effect.Effect<unknown, unknown>,
    E,
    R | Exclude<Effect.Services<Run>, A>
  >
  return fromInit(policy, "layer", () => init)
}

/**
 * When a process counts as ready.
 *
 * **Details**
 *
 * - `"at-once"`: when it was started. The default.
 * - `output`: when it wrote a line that contains the string or matches the expression, to `from` (default `"both"`).
 *   Whole lines are compared, without their end; a prompt without a line break is none.
 * - `probe`: when the effect succeeds with anything but `false`. It is asked again every `every` (> 0, default 100
 *   milliseconds, from the answer on). A probe that fails typed says *not yet*; the last such failure is logged when the
 *   start is given up. `espalier/NodePort` has the probe for a port.
 *
 * A process that ends before it is ready fails the start with `ProcessExited`; one that is not ready within `initTimeout`
 * is stopped like any other, and the start fails with `InitTimeout`.
 *
 * @category models
 * @since 0.1.0
 */
export type Ready<R = never> = Ready_<R>

/**
 * Reads the types of a {@link Ready}.
 *
 * @since 0.1.0
 */
export declare namespace Ready {
  /**
   * What its probe needs.
   *
   * @category models
   * @since 0.1.0
   */
  export type Services<When> = When extends { readonly probe: Effect.Effect<infer _A, infer _E, infer R> } ? R : never
}

/**
 * Where the lines go that a process or a thread writes.
 *
 * **Details**
 *
 * - `"log"`: to the log, at level Info from stdout and Warn from stderr, annotated with the child's `path` and `stream`.
 * - `"ignore"`: read and thrown away.
 * - a function: called with one line at a time. While its effect runs, the writer may have to wait. When it fails, the
 *   child fails.
 *
 * A line of more than 16,384 characters is passed on in parts; in the log all but the last are annotated with `cut`.
 *
 * @category models
 * @since 0.1.0
 */
export type Output<E = never, R = never> = Output_<E, R>

/**
 * Reads the types of an {@link Output}.
 *
 * @since 0.1.0
 */
export declare namespace Output {
  /**
   * What its function fails with.
   *
   * @category models
   * @since 0.1.0
   */
  export type Error<To> = To extends (...args: never) => Effect.Effect<infer _A, infer E, infer _R> ? E : never

  /**
   * What its function needs.
   *
   * @category models
   * @since 0.1.0
   */
  export type Services<To> = To extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R : never
}

/**
 * What ends the start or the run of a process.
 *
 * @category models
 * @since 0.1.0
 */
export type ProcessFailure = ProcessNotStarted | ProcessExited | ProcessPipeBroken

/**
 * The options of {@link process}.
 *
 * **Details**
 *
 * - `ready`: see {@link Ready}. Default `"at-once"`.
 * - `output`: see {@link Output}. Default `"log"`.
 * - `shutdown`: how long the process has to end after it was asked to, >= 0. Then its whole group is killed. `0` and
 *   `"abandon"` kill at once; `"abandon"` does not wait for the end. Default 5 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface ProcessOptions<When extends Ready<unknown>, To extends Output<unknown, unknown>> extends Options<
  ProcessFailure | Output.Error<NoInfer<To>>
> {
  readonly ready?: When | undefined
  readonly output?: To | undefined
}

/**
 * A child that is an operating-system process.
 *
 * **Details**
 *
 * - The spawner is a requirement: provide `NodeServices.layer` of `@effect/platform-node`, or a fake one in tests.
 *   Arguments, environment, working directory, stdin and `killSignal` (default SIGTERM) are the command's.
 * - Exit code 0 is a clean end. Any other code and every signal is a {@link ProcessExited}, treated like a crash. A
 *   command that cannot be started fails with {@link ProcessNotStarted}, which says whether a restart could help.
 * - A stop signals the whole process group, waits `shutdown`, kills what is left of the group with SIGKILL, and is over
 *   when the process was seen to end. A process that had to be killed leaves a {@link ProcessKilled} in the cause of its
 *   ordered exit, and in the log.
 * - When the process ends by itself, what it left behind in its group is stopped the same way before the restart.
 * - Output is read until the end, also during a stop. What cannot be read within 1 second of the end (somebody outside
 *   the group holds the pipe) is left, with a warning in the log.
 *
 * **Gotchas**
 *
 * - A grandchild that starts a session or group of its own (a daemon) is out of reach.
 * - A process group is alive for the operating system while it has a zombie. Where nobody reaps orphans (a container
 *   without an init) a stop takes the whole grace time once there were grandchildren.
 * - The process has its own group, so Ctrl-C does not reach it, only the tree. If this program is killed with SIGKILL,
 *   nobody stops it.
 * - A pipeline is several processes and is refused: use one child each, or the `shell` option. So are `detached: false`
 *   (there would be no group) and a `forceKillAfter` beside `shutdown`.
 * - Waiting for a group to end takes real time, also under `TestClock`.
 *
 * **Example** (A process that is ready when it says so)
 *
 * ```ts no-run
 * import { NodeRuntime, NodeServices } from "@effect/platform-node"
 * import { Effect } from "effect"
 * import { ChildProcess } from "effect/process"
 * import { Child, Supervisor } from "espalier"
 *
 * const redis = Child.process("redis", ChildProcess.make("redis-server", ["--port", "7777"]), {
 *   ready: { output: "Ready to accept connections" },
 *   shutdown: "10 seconds"
 * })
 *
 * const main = Supervisor.run(Supervisor.make("services", { children: [redis] })).pipe(Effect.provide(NodeServices.layer))
 * NodeRuntime.runMain(main)
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const process = <When extends Ready<unknown> = "at-once", To extends Output<unknown, unknown> = Output>(
  id: string,
  command: ChildProcess.StandardCommand,
  options?: ProcessOptions<When, To> | undefined
): Child<
  never,
  ProcessFailure | Output.Error<To>,
  ChildProcessSpawner | Exclude<Ready.Services<When> | Output.Services<To>, Scope.Scope>
> => {
  const policy = policyOf("Child.process", id, options as Options<never> | undefined, workerDefaults)
  const refuse = (what: string, got: unknown): never => {
    throw new RangeError(`Child.process: ${what}, got ${show(got)}`)
  }
  if (!ChildProcess.isCommand(command) || !ChildProcess.isStandardCommand(command)) {
    return refuse(`command of ${id} must be one command, made by ChildProcess.make`, command)
  }
  if (command.options.detached === false)
    refuse(`detached of ${id} must not be false: its group could not be stopped`, false)
  if (command.options.forceKillAfter !== undefined) {
    refuse(`forceKillAfter of ${id} must be left to shutdown`, command.options.forceKillAfter)
  }
  const output = outputOf("Child.process", id, options?.output)
  const ready = readyOf(id, command, options?.ready ?? "at-once")
  const init = processes.init<Output.Error<To>, Output.Services<To>, Ready.Services<When>>({
    id,
    command,
    ready: ready as processes.Readiness<Ready.Services<When>>,
    output: output as Output<Output.Error<To>, Output.Services<To>>,
    grace: policy.shutdown
  })
  return fromInit(policy, "process", () => init, processes.killTime)
}

/**
 * The value of an init that has nothing to run. The child counts as stopped, not as failed.
 *
 * **Details**
 *
 * It is OTP's `ignore`. The spec is kept, except under `restart: "never"`; `restartChild` tries again.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ignore: Effect.Effect<void> = ignored

/**
 * The same child, but what it provides is hidden from its siblings and from the tree's users.
 *
 * **When to use**
 *
 * Use it to mount a second copy of an actor in one supervisor, where two services of one key would clash.
 *
 * @category combinators
 * @since 0.1.0
 */
export const hide = <P, E, R>(self: Child<P, E, R>): Child<never, E, R> =>
  // A supervisor's spec says more than a child's, and is kept whole.
  "children" in self ? { ...self, provides: nothing, [TypeId]: variance } : fromMount(self.policy, nothing, self.mount)

const nothing: ReadonlyArray<string> = []
