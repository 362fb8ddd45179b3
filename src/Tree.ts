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
import type { ChildInfo, ChildSpec, Counts, Event, Snapshot } from "./internal/model.ts"

export { ChildRefused } from "./internal/errors.ts"
export type {
  ChildInfo,
  ChildSpec,
  Counts,
  DeadLetterReason,
  Event,
  ExitReason,
  NodeState,
  Snapshot
} from "./internal/model.ts"

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
 * Requests to a supervisor are decided one at a time, in order of arrival, together with the exits of its children: while
 * it starts or stops one child, also in a restart, the others' requests wait, as long as that init or grace time takes.
 * They spend nothing of the restart intensity. A request that waits fails with `not-running` as soon as the supervisor begins
 * to stop. A request whose caller is interrupted is carried out all the same. Reading (`children`, `counts`, `specOf`)
 * waits for nothing, and shows a supervisor in the middle of its work as it stands.
 *
 * - `context`: the services that the node provides, hidden ones too: the reference of an actor, those below a supervisor.
 * - `children`: every child once, in start order, added ones last.
 * - `counts`: see {@link Counts}.
 * - `specOf`: the spec that the child's next incarnation follows.
 * - `startChild`: adds a child as the last one and waits until it is ready. Fails with `StartFailure`, and then keeps
 *   nothing of it. It takes part in group restarts like a declared one, and is gone when its supervisor restarts.
 * - `stopChild`: waits until the child is down. Its spec is kept, except under `restart: "never"`. Stopping a stopped
 *   child succeeds; one that waits for its restart is not restarted any more. A later group restart (one-for-all,
 *   rest-for-one) starts it again, as in OTP: use `removeChild` to keep it away.
 * - `restartChild`: starts a stopped child again, and waits until it is ready.
 * - `removeChild`: forgets a stopped child; its id is free again.
 * - `replaceChild`: gives the child of that id another spec: at once when it is stopped, otherwise from its next start on.
 *   Until then the incarnation that runs, or that waits for its restart, is judged and stopped by the spec that it began
 *   with: one that is restarted `never` is forgotten at its end, and the new spec with it. Nothing is started or stopped;
 *   `stopChild` and `restartChild` make the change effective now. The child keeps its place, its count of restarts, its
 *   references and its mail; its backoff begins anew. An actor can be replaced by another of the same `Actor.Service`
 *   only, a worker by a worker; anything else is refused (`other-kind`, `other-service`, and `not-replaceable` for
 *   supervisors, whose subtree's references were given out). When its supervisor restarts, a declared child follows its
 *   declaration again.
 *
 * A child may ask its own supervisor, or one above. From a run effect or a handler that works like any request; what
 * stops the asker itself interrupts it while it waits. What would wait for the asker instead is refused at once:
 * `called-from-init` in an init that the supervisor waits for, `called-from-stop` in finalizers and in uninterruptible
 * code of a child that is to stop, and in handlers of an actor with `stop: "finish"` or `"drain"`. Such code can fork the request,
 * and not wait for it. A request that is made earlier, and a handler in an uninterruptible region, wait out the child's
 * grace time.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handle {
  readonly path: ReadonlyArray<string>
  readonly context: Context.Context<never>
  readonly snapshot: Effect.Effect<Snapshot>
  readonly children: Effect.Effect<ReadonlyArray<ChildInfo>, ChildRefused>
  readonly counts: Effect.Effect<Counts, ChildRefused>
  readonly specOf: (id: string) => Effect.Effect<ChildSpec, ChildRefused>
  readonly startChild: <P, E, R>(
    child: Child.Child<P, E, R>
  ) => Effect.Effect<StartedChild<P>, StartFailure<E> | ChildRefused, R>
  readonly stopChild: (id: string) => Effect.Effect<void, ChildRefused>
  readonly restartChild: (id: string) => Effect.Effect<void, StartFailure<unknown> | ChildRefused>
  readonly removeChild: (id: string) => Effect.Effect<void, ChildRefused>
  readonly replaceChild: <P, E, R>(child: Child.Child<P, E, R>) => Effect.Effect<void, ChildRefused, R>
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
 * - `stop`: stops the tree and waits until every child is down or abandoned. Any number of callers may wait. Code of the
 *   tree that a stop cannot interrupt (a finalizer, an uninterruptible region) does not wait, for it would for itself.
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
