/**
 * A running tree, as a service: what happens in it, how it stands, how it ends, and requests about single children.
 *
 * **Details**
 *
 * `Supervisor.layer` and `Supervisor.start` provide it, and every child of the tree may ask for it.
 *
 * **Example** (Reading a tree)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Child, Supervisor, Tree } from "espalier"
 *
 * const root = Supervisor.make("root", { children: [Child.effect("worker", Effect.never)] })
 * const program = Effect.gen(function*() {
 *   const tree = yield* Tree.Tree
 *   yield* (yield* tree.find(["root"])).stopChild("worker")
 *   return (yield* tree.snapshot).children.map((child) => [child.id, child.state])
 * })
 * await Effect.runPromise(Effect.provide(program, Supervisor.layer(root))) // => [["worker", "stopped"]]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import type * as Child from "./Child.ts"
import { check as checkSpec } from "./internal/check.ts"
import type { ChildRefused, GaveUp, StartFailure } from "./internal/errors.ts"
import type * as model from "./internal/model.ts"

export { ChildRefused } from "./internal/errors.ts"

/**
 * Why an incarnation ended.
 *
 * @category models
 * @since 0.1.0
 */
export type ExitReason = model.ExitReason

/**
 * What happened in the tree, one step.
 *
 * @category models
 * @since 0.1.0
 */
export type Event = model.Event

/**
 * Why a message was not handled.
 *
 * @category models
 * @since 0.1.0
 */
export type DeadLetterReason = model.DeadLetterReason

/**
 * The state of a node.
 *
 * @category models
 * @since 0.1.0
 */
export type NodeState = model.NodeState

/**
 * One node and what is below it, at one moment.
 *
 * @category models
 * @since 0.1.0
 */
export type Snapshot = model.Snapshot

/**
 * What a stop left behind.
 *
 * **Details**
 *
 * `leaked`: paths of incarnations that did not end in their grace time and still run.
 *
 * @category models
 * @since 0.1.0
 */
export interface StopReport {
  readonly leaked: ReadonlyArray<ReadonlyArray<string>>
}

/**
 * A child that was started by a request.
 *
 * **Details**
 *
 * `context` holds the services that the child provides; they are valid until the child is removed.
 *
 * @category models
 * @since 0.1.0
 */
export interface StartedChild<Provides> {
  readonly id: string
  readonly path: ReadonlyArray<string>
  readonly context: Context.Context<Provides>
}

/**
 * A node of a running tree, and requests to it.
 *
 * **Details**
 *
 * Requests to a supervisor are decided one at a time, in order of arrival, together with the exits of its children. They
 * spend nothing of the restart intensity. A request that waits fails with `not-running` as soon as the supervisor begins
 * to stop. A request whose caller is interrupted is carried out all the same.
 *
 * - `startChild`: adds a child as the last one and waits until it is ready. Fails with `StartFailure`, and then keeps
 *   nothing of it. It takes part in group restarts like a declared one, and is gone when its supervisor restarts.
 * - `stopChild`: waits until the child is down. Its spec is kept, except under `restart: "never"`. Stopping a stopped
 *   child succeeds; one that waits for its restart is not restarted any more. A later group restart (one-for-all,
 *   rest-for-one) starts it again, as in OTP: use `removeChild` to keep it away.
 * - `restartChild`: starts a stopped child again, and waits until it is ready.
 * - `removeChild`: forgets a stopped child; its id is free again.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handle {
  readonly path: ReadonlyArray<string>
  readonly snapshot: Effect.Effect<Snapshot>
  readonly startChild: <P, E, R>(
    child: Child.Child<P, E, R>
  ) => Effect.Effect<StartedChild<P>, StartFailure<E> | ChildRefused, R>
  readonly stopChild: (id: string) => Effect.Effect<void, ChildRefused>
  readonly restartChild: (id: string) => Effect.Effect<void, StartFailure<unknown> | ChildRefused>
  readonly removeChild: (id: string) => Effect.Effect<void, ChildRefused>
}

/**
 * A running tree.
 *
 * **Details**
 *
 * - `events`: what happens from now on. Each subscriber has its own buffer of 4,096 events; one that does not keep up
 *   loses the newest and is told so by a `Missed` event. The stream ends with the tree.
 * - `snapshot`: the whole tree as a value.
 * - `find`: a handle to the node of that path, ids from the root on.
 * - `ended`: succeeds when the tree has stopped, or its root shut itself down (`autoShutdown`), fails when its root gave up. It never fails otherwise.
 * - `stop`: stops the tree and waits until every child is down or abandoned. Any number of callers may wait.
 *
 * @category models
 * @since 0.1.0
 */
export class Tree extends Context.Service<
  Tree,
  {
    readonly events: Stream.Stream<Event>
    readonly snapshot: Effect.Effect<Snapshot>
    readonly find: (path: ReadonlyArray<string>) => Effect.Effect<Handle, ChildRefused>
    readonly ended: Effect.Effect<void, GaveUp>
    readonly stop: Effect.Effect<StopReport>
  }
>()("espalier/Tree") {}

/**
 * `Tree.ended` of the tree in the context.
 *
 * **When to use**
 *
 * A layer cannot fail once it is built. A program beside a tree that must not outlive it races this.
 *
 * @category accessors
 * @since 0.1.0
 */
export const ended: Effect.Effect<void, GaveUp, Tree> = Effect.flatMap(Tree, (tree) => tree.ended)

/**
 * The snapshot of the tree in the context.
 *
 * @category accessors
 * @since 0.1.0
 */
export const snapshot: Effect.Effect<Snapshot, never, Tree> = Effect.flatMap(Tree, (tree) => tree.snapshot)

/**
 * The events of the tree in the context, from now on.
 *
 * @category accessors
 * @since 0.1.0
 */
export const events: Stream.Stream<Event, never, Tree> = Stream.unwrap(Effect.map(Tree, (tree) => tree.events))

/**
 * A handle to a node of the tree in the context.
 *
 * @category accessors
 * @since 0.1.0
 */
export const find = (path: ReadonlyArray<string>): Effect.Effect<Handle, ChildRefused, Tree> =>
  Effect.flatMap(Tree, (tree) => tree.find(path))

/**
 * Finds what may not work as meant in a spec, without starting anything: one sentence each, with the path.
 *
 * **Details**
 *
 * - Under one-for-all and rest-for-one, a declared grace time of `within / restarts` or more: stopping the group may take
 *   so long that the intensity is never exceeded, and the group restarts for ever. It is also a `Warning` event at start.
 *
 * - A child supervisor that shuts itself down and is restarted `always`: each of its ends costs its parent a restart.
 *
 * What cannot work at all is refused when the spec is made.
 *
 * @category checks
 * @since 0.1.0
 */
export const check: (root: Child.Any) => ReadonlyArray<string> = checkSpec
