/**
 * Watching places of a tree: who wants to know that another is down, or ends with it.
 *
 * What is watched is a *place*: an actor's reference, or the handle of any node (`Tree.find`). Incarnations come and go
 * there. A place is *down* when nothing will start it any more unless somebody asks: it ended and is not restarted, it was
 * stopped or removed, its supervisor gave up, or the tree is over. It is OTP's monitor and Akka's DeathWatch.
 *
 * **Details**
 *
 * - {@link down} waits for the end, {@link changes} follows every step, {@link tell} makes the end a message of an actor.
 * - {@link link} ends this child when another fails, {@link pact} when another is down.
 *
 * **Invariants**
 *
 * - A watch gives exactly one notice. A restart gives none.
 * - What was down before it was watched gives its notice at once, with the reason `Gone`.
 * - A notice comes after the finalizers of the dead, after its names are free, and after every message that it sent.
 * - A notice that was not handled yet when its watch ends is not handled.
 *
 * **Gotchas**
 *
 * Only places of a tree can be watched: a plain fiber has no address.
 *
 * **Example** (Waiting for the end of a child)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Child, Supervisor, Tree, Watch } from "espalier"
 *
 * const root = Supervisor.make("root", { children: [Child.effect("worker", Effect.never)] })
 * const program = Effect.gen(function*() {
 *   const worker = yield* Tree.find(["root", "worker"])
 *   yield* (yield* Tree.find(["root"])).stopChild("worker")
 *   return [yield* Watch.down(worker)].map((down) => [down.path.join("/"), down.reason._tag])
 * })
 * await Effect.runPromise(Effect.provide(program, Supervisor.layer(root))) // => [["root/worker", "Gone"]]
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

import { ActorMount } from "./internal/actorMount.ts"
import * as Feed from "./internal/feed.ts"
import type { Incarnation, Mount, Observer } from "./internal/mount.ts"
import { placeOf } from "./internal/place.ts"
import { CurrentLife } from "./internal/runtime.ts"
import * as internal from "./internal/watch.ts"
import { DeathPact, LinkBroken, WatchConflict } from "./internal/watchErrors.ts"
import type { Handle } from "./Tree.ts"

export { DeathPact, LinkBroken, WatchConflict } from "./internal/watchErrors.ts"

/**
 * An actor's reference, as far as watching goes.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnyRef {
  readonly tell: object
  readonly tellUnsafe: object
}

/**
 * What can be watched: the reference of an actor, or a handle.
 *
 * @category models
 * @since 0.1.0
 */
export type Target = AnyRef | Handle

/**
 * Why a place ended: the exit reason of its last incarnation, or `Gone` when that had ended before it was watched.
 *
 * @category models
 * @since 0.1.0
 */
export type Reason = internal.Reason

/**
 * The notice that a place is down.
 *
 * @category models
 * @since 0.1.0
 */
export type Down = internal.Down

/**
 * One step in the life of a place.
 *
 * **Details**
 *
 * - `Started`: an incarnation is ready, and none was there before it, or the place had been down.
 * - `Ended`: an incarnation is over, its finalizers are finished; what follows is decided next. An init that failed, too.
 * - `Restarted`: a further incarnation is ready.
 * - `Down`: nothing will start it, unless somebody asks.
 * - `Missed`: this subscriber was too slow for `count` steps.
 *
 * @category models
 * @since 0.1.0
 */
export type Change = internal.Change

/**
 * Whether the end was a failure (an error, a kill, a supervisor that gave up) and not a stop.
 *
 * @category guards
 * @since 0.1.0
 */
export const isFailure = (notice: { readonly reason: Reason }): boolean => internal.isFailure(notice.reason)

/**
 * The cause of an end; empty for one that had no trouble.
 *
 * @category accessors
 * @since 0.1.0
 */
export const causeOf = (notice: { readonly reason: Reason }): Cause.Cause<unknown> => internal.causeOf(notice.reason)

const mountOf = (where: string, what: string, target: unknown): Mount => {
  const mount = placeOf(target)
  if (mount === undefined) {
    throw new RangeError(
      `Watch.${where}: ${what} must be an actor's reference or a handle of a tree, got ${format(target)}`
    )
  }
  return mount
}

const actorOf = (where: string, ref: unknown): ActorMount => {
  const mount = mountOf(where, "watcher", ref)
  if (!(mount instanceof ActorMount)) {
    throw new RangeError(
      `Watch.${where}: watcher must be an actor's reference, got the handle of ${mount.path.join("/")}`
    )
  }
  return mount
}

/**
 * Waits until a place is down.
 *
 * **Details**
 *
 * Interrupting it ends the watch. Dies with a `RangeError` when the target is no place of a tree.
 *
 * @category watching
 * @since 0.1.0
 */
export const down = (target: Target): Effect.Effect<Down> =>
  Effect.callback((resume) => {
    const watch = new internal.DownWatch(mountOf("down", "target", target), (notice) => resume(Effect.succeed(notice)))
    return Effect.sync(() => watch.close())
  })

/**
 * Every step of a place: its stops, its restarts, and its end.
 *
 * **Details**
 *
 * - The first element says how it stands, `Started` or `Down`, unless it is about to be started.
 * - A place that is down may be started again on request: `Started` follows. The stream ends when that is impossible:
 *   the child was removed or the tree is over.
 * - A subscriber may be 4,096 steps behind; then the newest are lost, and `Missed` tells how many.
 * - Ending the stream ends the watch. Dies with a `RangeError` when the target is no place of a tree.
 *
 * @category watching
 * @since 0.1.0
 */
export const changes = (target: Target): Stream.Stream<Change> =>
  Feed.make<Change>(
    (feed) =>
      Effect.acquireRelease(
        Effect.sync(
          () =>
            new internal.ChangeWatch(
              mountOf("changes", "target", target),
              (change) => feed.offer(change),
              () => feed.end()
            )
        ),
        (watch) => Effect.sync(() => watch.close())
      ),
    (count) => ({ _tag: "Missed", path: mountOf("changes", "target", target).path, count })
  )

/**
 * The payloads of an actor's messages, by the name of the rpc.
 *
 * @category models
 * @since 0.1.0
 */
export type PayloadOf<Watcher extends AnyRef, Rpc extends keyof Watcher["tell"]> = Watcher["tell"][Rpc] extends (
  payload: infer P
) => unknown
  ? P
  : never

/**
 * Has an actor told, by one of its own messages, that a place is down.
 *
 * **Details**
 *
 * - `payload`: the message's payload, or a function that makes it from the notice. One that throws, or makes what the
 *   schema refuses, crashes the watcher.
 * - The notice stands behind the mail that is there and finds room in a full mailbox; a crash of the watcher does not lose
 *   it, whatever its `onRestart`. If the watcher is down by then, it goes nowhere, and is no dead letter.
 * - The watch belongs to the watcher's *place*: it outlives restarts, and ends with the notice, with {@link unwatch}, or
 *   when the watcher is down.
 * - Watching again is no second watch. With another message it fails with {@link WatchConflict}, except in a later
 *   incarnation of the watcher: then the new message counts, also for a notice that is not handled yet. Messages are one
 *   when their payloads are `Equal`, functions when they are the same function.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when the watcher has no such message, or the target is no place of a tree.
 *
 * **Example** (An actor that counts the workers it has)
 *
 * ```ts
 * import { Context, Effect, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Child, Supervisor, Tree, Watch } from "espalier"
 *
 * class Foreman extends Actor.Service<Foreman>()("Foreman", [
 *   Rpc.make("Lost", { payload: { worker: Schema.String } }),
 *   Rpc.make("Losses", { success: Schema.Array(Schema.String) })
 * ]) {}
 *
 * const foreman = Foreman.child(Effect.sync(() => {
 *   const lost: Array<string> = []
 *   return Foreman.handlers({ Lost: ({ worker }) => void lost.push(worker), Losses: () => lost })
 * }))
 *
 * const root = Supervisor.make("root", { children: [foreman, Child.effect("mason", Effect.never)] })
 * const program = Effect.gen(function*() {
 *   const ref = yield* Foreman
 *   yield* Watch.tell(ref, yield* Tree.find(["root", "mason"]), "Lost", (down) => ({ worker: down.path.join("/") }))
 *   yield* (yield* Tree.find(["root"])).stopChild("mason")
 *   yield* Effect.yieldNow
 *   return yield* ref.Losses()
 * })
 * await Effect.runPromise(Effect.provide(program, Supervisor.layer(root))) // => ["root/mason"]
 * ```
 *
 * @category watching
 * @since 0.1.0
 */
export const tell = <Watcher extends AnyRef, const Rpc extends keyof Watcher["tell"] & string>(
  watcher: Watcher,
  target: Target,
  rpc: Rpc,
  ...payload: void extends PayloadOf<Watcher, Rpc>
    ? [payload?: PayloadOf<Watcher, Rpc>]
    : [payload: PayloadOf<Watcher, Rpc> | ((down: Down) => PayloadOf<Watcher, Rpc>)]
): Effect.Effect<void, WatchConflict> =>
  Effect.suspend(() => {
    const actor = actorOf("tell", watcher)
    if (actor.messageOf(rpc) === undefined) {
      throw new RangeError(`Watch.tell: rpc must be a message of ${actor.path.join("/")}, got ${format(rpc)}`)
    }
    const mount = mountOf("tell", "target", target)
    const standing = internal.tell(actor, mount, { rpc, payload: payload[0] })
    return standing === undefined
      ? Effect.void
      : Effect.fail(new WatchConflict({ watcher: actor.path, target: mount.path, rpc: standing }))
  })

/**
 * Ends a watch that {@link tell} began. A notice that is not handled yet is not handled any more.
 *
 * **Details**
 *
 * Without such a watch it does nothing. Dies with a `RangeError` when either is no place of a tree.
 *
 * @category watching
 * @since 0.1.0
 */
export const unwatch = (watcher: AnyRef, target: Target): Effect.Effect<void> =>
  Effect.sync(() => internal.untell(actorOf("unwatch", watcher), mountOf("unwatch", "target", target)))

/** Runs with the incarnation that the current fiber executes. */
const withLife = <A, E, R>(where: string, f: (life: Incarnation) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const life = fiber.getRef(CurrentLife)
    if (life === undefined) {
      throw new RangeError(`Watch.${where}: must be called by the init or the run effect of a child`)
    }
    return f(life)
  })

const strike = (life: Incarnation, defect: unknown): void =>
  life.mount.runtime.post(() => life.mount.strike(life, Cause.die(defect)))

/**
 * Links this child to another: when an incarnation of the other fails, this incarnation ends too.
 *
 * **Details**
 *
 * - It is called by the init or the run effect of a child, and holds until the scope closes: in an init that is the end of
 *   the incarnation.
 * - Failures are errors, kills (also an abandoned stop) and supervisors that gave up, whether the other is restarted or
 *   not. A normal end or a stop breaks no link.
 * - This child ends with {@link LinkBroken}, a defect; its supervisor then decides about it as about any other end.
 * - A link has one direction. Two children that link to each other end together, as in OTP.
 * - Linking to what is down fails at once in the same way, with the reason `Gone`.
 *
 * **When to use**
 *
 * Use it between children of different supervisors. Within one supervisor a strategy says the same without code. To be
 * told instead of ending (OTP's `trap_exit`), use {@link tell}.
 *
 * **Gotchas**
 *
 * Every restart of this child costs its supervisor one unit of its intensity. Dies with a `RangeError` outside of a child.
 *
 * @category linking
 * @since 0.1.0
 */
export const link = (target: Target): Effect.Effect<void, never, Scope.Scope> =>
  withLife("link", (life) => {
    const mount = mountOf("link", "target", target)
    if (mount.settled) return Effect.die(new LinkBroken({ path: mount.path, reason: { _tag: "Gone" } }))
    const observer: Observer = {
      over: (_, reason) => {
        if (internal.isFailure(reason)) strike(life, new LinkBroken({ path: mount.path, reason }))
      }
    }
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => mount.observe(observer)),
        () => Effect.sync(() => mount.unobserve(observer))
      )
    )
  })

/**
 * This child does not outlive another: when the other is down, whatever the reason, this incarnation ends.
 *
 * **Details**
 *
 * - It is called by the init or the run effect of a child, and holds until the scope closes.
 * - Restarts of the other do not matter, its final end does. This child ends with {@link DeathPact}, a defect.
 *
 * **Gotchas**
 *
 * A child that is restarted and signs the pact again with what is still down ends again, until its supervisor gives up.
 * Dies with a `RangeError` outside of a child.
 *
 * @category linking
 * @since 0.1.0
 */
export const pact = (target: Target): Effect.Effect<void, never, Scope.Scope> =>
  withLife("pact", (life) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(
          () =>
            new internal.DownWatch(mountOf("pact", "target", target), ({ path, reason }) =>
              life.mount.strike(life, Cause.die(new DeathPact({ path, reason })))
            )
        ),
        (watch) => Effect.sync(() => watch.close())
      )
    )
  )
