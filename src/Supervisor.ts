/**
 * A supervisor starts its children in order, restarts those that fail, and gives up when that does not help.
 *
 * A supervisor is a value, and itself a child: trees nest to any depth. {@link run} makes a tree the program,
 * {@link layer} embeds one in a program, {@link start} is the scoped form.
 *
 * **Details**
 *
 * The types of a tree are inferred from its children: what it provides (the references of its actors), how its start
 * can fail, and what it needs. A child's needs are met by its siblings' references or from outside.
 *
 * **Gotchas**
 *
 * - A layer value is built once per graph; two calls of {@link layer} with one spec are two trees.
 * - There is no kill in Effect. What does not stop within its grace time is abandoned and fenced, and named in a
 *   `Leaked` event; it is never claimed to have stopped.
 *
 * **Example** (The tree is the program)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Child, Supervisor } from "espalier"
 *
 * let starts = 0
 * const flaky = Child.effect("flaky", Effect.suspend(() => {
 *   starts += 1
 *   return starts < 3 ? Effect.die("not yet") : Effect.never
 * }))
 * const root = Supervisor.make("root", { intensity: { restarts: 3, within: "5 seconds" }, children: [flaky] })
 *
 * await Effect.runPromise(Effect.timeoutOption(Supervisor.run(root, { log: false }), "50 millis"))
 * starts // => 3
 * ```
 *
 * @see https://www.erlang.org/doc/apps/stdlib/supervisor.html
 * @since 0.1.0
 */

import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

import * as Child from "./Child.ts"
import { check } from "./internal/check.ts"
import { type GaveUp, StartFailure } from "./internal/errors.ts"
import * as internal from "./internal/handle.ts"
import type { Event } from "./internal/model.ts"
import { CurrentLife, CurrentNode, Runtime } from "./internal/runtime.ts"
import { SupervisorMount, type SupervisorPolicy } from "./internal/supervisorMount.ts"
import type { AutoShutdown as AutoShutdown_, Strategy as Strategy_ } from "./internal/transition.ts"
import * as RestartIntensity from "./RestartIntensity.ts"
import { Tree } from "./Tree.ts"

export type { Counts } from "./internal/model.ts"
export {
  type Dynamic,
  type DynamicChild,
  type DynamicClass,
  type DynamicOptions,
  DynamicService
} from "./internal/dynamicService.ts"
export { GaveUp, InitTimeout, StartFailure } from "./internal/errors.ts"
export {
  type Partitioned,
  type PartitionedClass,
  type PartitionedOptions,
  PartitionedService
} from "./internal/partitionedService.ts"
export type { RefOf } from "./internal/template.ts"

/**
 * Which siblings a restart takes along.
 *
 * **Details**
 *
 * - `one-for-one`: none.
 * - `one-for-all`: all. They are stopped in reverse order, then all are started in order.
 * - `rest-for-one`: those that were started after it.
 *
 * A group restart costs one unit of the intensity, and also starts members that had been stopped or had finished, except
 * those that are restarted `never`. With a backoff, the group is stopped when the delay is over, not before.
 *
 * @category models
 * @since 0.1.0
 */
export type Strategy = Strategy_

/**
 * When a supervisor ends because its significant children have.
 *
 * **Details**
 *
 * - `never`: it does not. The default.
 * - `any-significant`: as soon as one of them has ended.
 * - `all-significant`: once none of them runs or waits for a restart.
 *
 * Only an end by itself counts, and only when no restart answers it: a clean end under `restart: "on-failure"`, any end
 * under `"never"`, a failure whose directive is `"stop"`, a supervisor that gave up. A child that was stopped by request
 * or along with a group does not end its supervisor, nor does an init that declines; for `all-significant` it is gone.
 *
 * The supervisor stops its children in reverse order and ends cleanly, with reason `Shutdown`. That spends nothing of
 * its own intensity. Its parent applies its `restart`; when it is significant itself, its parent may follow. At the root
 * the tree has ended: `Supervisor.run` and `Tree.ended` succeed.
 *
 * @see https://www.erlang.org/doc/system/sup_princ.html "Automatic Shutdown"
 * @category models
 * @since 0.1.0
 */
export type AutoShutdown = AutoShutdown_

/**
 * A supervisor; a child like any other.
 *
 * @category models
 * @since 0.1.0
 */
export interface Supervisor<out Provides, out E, out R> extends Child.Child<Provides, E, R> {
  /** The declared children, in start order. */
  readonly children: ReadonlyArray<Child.Any>
  /** @internal */
  readonly policy: SupervisorPolicy
}

/**
 * What is missing of `R` when `P` is there; a list of children of unknown needs keeps its unknown needs.
 *
 * @category models
 * @since 0.1.0
 */
export type Missing<R, P> = unknown extends R ? unknown : Exclude<R, P | Tree>

/**
 * The options of a supervisor: its children, its rules, and its own policies as a child.
 *
 * **Details**
 *
 * - `children`: in start order. Ids must differ.
 * - `strategy`: default `"one-for-one"`.
 * - `intensity`: restarts allowed within a sliding window, default 3 within 5 seconds. The restart beyond it makes the
 *   supervisor stop its children and give up.
 * - `autoShutdown`: see {@link AutoShutdown}. Default `"never"`. With another value it is better restarted `"on-failure"`:
 *   under the default `"always"` each of its ends costs its parent a restart, which `Tree.check` warns about.
 * - The rest as for every child; `shutdown` and `initTimeout` are `"Infinity"` by default, because its children have
 *   their own.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<C extends ReadonlyArray<Child.Any>> extends Omit<
  Child.Options<Child.Error<C[number]>>,
  "onFailure"
> {
  readonly children: C
  readonly strategy?: Strategy | undefined
  readonly intensity?: RestartIntensity.Options | undefined
  readonly autoShutdown?: AutoShutdown | undefined
}

const strategies: ReadonlyArray<Strategy> = ["one-for-one", "one-for-all", "rest-for-one"]

const autoShutdowns: ReadonlyArray<AutoShutdown> = ["never", "any-significant", "all-significant"]

/**
 * Makes a supervisor.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is out of range, when two children have one id, when two children
 * provide one service (see `Child.hide`), and when a child is significant although `autoShutdown` is `"never"`. Nothing
 * is started by then.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const C extends ReadonlyArray<Child.Any>>(
  id: string,
  options: Options<C>
): Supervisor<
  Child.Provides<C[number]>,
  Child.Error<C[number]>,
  Missing<Child.Requires<C[number]>, Child.Provides<C[number]>>
> => {
  const where = "Supervisor.make"
  if (typeof options !== "object" || options === null) {
    throw new RangeError(`${where}: options of ${id} must be an object with children, got ${format(options)}`)
  }
  const policy: SupervisorPolicy = {
    ...Child.policyOf(where, id, options as Child.Options<never>, Child.supervisorDefaults),
    strategy: options.strategy ?? "one-for-one",
    intensity: options.intensity,
    autoShutdown: options.autoShutdown ?? "never"
  }
  if (!strategies.includes(policy.strategy)) {
    throw new RangeError(
      `${where}: strategy of ${id} must be one of ${strategies.join(", ")}, got ${Child.show(policy.strategy)}`
    )
  }
  if (!autoShutdowns.includes(policy.autoShutdown)) {
    throw new RangeError(
      `${where}: autoShutdown of ${id} must be one of ${autoShutdowns.join(", ")}, got ${Child.show(policy.autoShutdown)}`
    )
  }
  RestartIntensity.make(options.intensity)
  if (!Array.isArray(options.children)) {
    throw new RangeError(`${where}: children of ${id} must be an array, got ${format(options.children)}`)
  }
  const ids = new Set<string>()
  const keys = new Map<string, string>()
  for (const child of options.children) {
    if (typeof child !== "object" || child === null || !(Child.TypeId in child)) {
      throw new RangeError(`${where}: every child of ${id} must be made by this library, got ${format(child)}`)
    }
    if (ids.has(child.id)) throw new RangeError(`${where}: two children of ${id} have the id ${child.id}`)
    ids.add(child.id)
    if (child.policy.significant && policy.autoShutdown === "never") {
      throw new RangeError(`${where}: autoShutdown of ${id} must not be never, ${child.id} is significant`)
    }
    for (const key of child.provides) {
      const other = keys.get(key)
      if (other !== undefined) {
        throw new RangeError(
          `${where}: two children of ${id}, ${other} and ${child.id}, provide ${key}; hide one with Child.hide`
        )
      }
      keys.set(key, child.id)
    }
  }
  const { children } = options
  return {
    ...Child.fromMount<never, never, never>(
      policy,
      [...keys.keys()],
      (runtime, parent, outer) => new SupervisorMount(runtime, parent, policy, children, outer)
    ),
    policy,
    children
  }
}

/**
 * How a tree is run.
 *
 * **Details**
 *
 * - `onEvent`: is called with every event, in order, before anything else hears of it. It must be quick; one that throws
 *   is removed, and that is logged.
 * - `log`: whether what has no caller to be told is logged: crashes, give-ups, abandoned children. Default `true`.
 *
 * @category models
 * @since 0.1.0
 */
export interface RunOptions {
  readonly onEvent?: ((event: Event) => void) | undefined
  readonly log?: boolean | undefined
}

/**
 * Starts a tree in the current scope and returns it with its references.
 *
 * **Details**
 *
 * - Returns when every child is ready. Fails with `StartFailure`, naming the path, after those that were started have
 *   been stopped in reverse order.
 * - Closing the scope stops the tree and waits until every child is down, each within its grace time.
 * - Interrupting the start rolls it back too.
 *
 * @category running
 * @since 0.1.0
 */
export const start = <P, E, R>(
  root: Supervisor<P, E, R>,
  options?: RunOptions | undefined
): Effect.Effect<Context.Context<P | Tree>, StartFailure<E>, R | Scope.Scope> =>
  Effect.contextWith((given: Context.Context<R | Scope.Scope>) => {
    const outer = Context.omit(
      Scope.Scope,
      CurrentNode,
      CurrentLife
    )(given as Context.Context<Scope.Scope>) as Context.Context<never>
    const runtime = new Runtime(outer, { log: options?.log ?? true })
    if (options?.onEvent !== undefined) runtime.observe(options.onEvent)
    const tree = internal.service(runtime, () => mount)
    const context = Context.add(runtime.context, Tree, tree)
    const mount: SupervisorMount = new SupervisorMount(runtime, undefined, root.policy, root.children, context)
    for (const warning of check(root)) runtime.emit(mount, { _tag: "Warning", warning })
    const boot = Effect.callback<void, StartFailure<E>>((resume) => {
      mount.bootRoot((trouble) =>
        resume(
          trouble === undefined
            ? Effect.void
            : Effect.fail(new StartFailure<E>({ path: trouble.path, cause: trouble.cause as Cause.Cause<E> }))
        )
      )
    })
    // The finalizer stands before anything starts, so a start that is interrupted is rolled back by it.
    return Effect.addFinalizer(() => tree.stop).pipe(
      Effect.andThen(boot),
      Effect.as(Context.add(Context.makeUnsafe<P>(new Map(mount.refs)), Tree, tree) as Context.Context<P | Tree>)
    )
  })

/**
 * A tree as a layer: it provides the references of its actors and the {@link Tree}.
 *
 * **Gotchas**
 *
 * A layer cannot fail after it is built. When the root gives up, the references answer `ActorStopped` and `Tree.ended`
 * fails; a program that must not go on without its tree races that:
 * `program.pipe(Effect.raceFirst(Tree.ended), Effect.provide(layer))`.
 *
 * @category running
 * @since 0.1.0
 */
export const layer = <P, E, R>(
  root: Supervisor<P, E, R>,
  options?: RunOptions | undefined
): Layer.Layer<P | Tree, StartFailure<E>, Exclude<R, Scope.Scope>> => Layer.effectContext(start(root, options))

/**
 * Runs a tree until it ends: the tree is the program.
 *
 * **Details**
 *
 * - Fails with `StartFailure` when it does not start, with `GaveUp` when its root gives up; both after every child is
 *   down.
 * - Succeeds when the tree was stopped through `Tree.stop`, or its root shut itself down. Interruption stops the tree first.
 *
 * @category running
 * @since 0.1.0
 */
export const run = <P, E, R>(
  root: Supervisor<P, E, R>,
  options?: RunOptions | undefined
): Effect.Effect<void, StartFailure<E> | GaveUp, Exclude<R, Scope.Scope>> =>
  Effect.scoped(Effect.flatMap(start(root, options), (context) => Context.get(context, Tree).ended))
