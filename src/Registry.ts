/**
 * Names for children: who is found under a key, and no longer than it lives.
 *
 * An entry belongs to an *incarnation* of a child: to the one whose init or run effect registered it. It vanishes when
 * that incarnation ends, for whatever reason, before anybody hears of the end; a stop that was given up on counts. So a
 * lookup never gives an owner that is known to be dead, and an incarnation that goes on after it was abandoned removes
 * nothing that its successor has.
 *
 * **Details**
 *
 * - {@link Unique} declares a registry in which a key has one owner, {@link Duplicate} one in which it may have many.
 * - An actor is registered by its option `via: Names.at(key)`, before it is ready: who has the key already makes its start
 *   fail, and after a restart the key leads to the new incarnation.
 * - A registry is a service beside the tree. Provide its `layer` to the tree and to the program that looks keys up.
 *
 * **Gotchas**
 *
 * Keys are compared by Effect's `Equal`: primitives as by `===` (`"1"` is not `1`), other values by their structure. A key
 * must not change while it is registered.
 *
 * **Example** (Actors found by name)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Registry, Supervisor } from "espalier"
 *
 * class Room extends Actor.Service<Room>()("Room", [Rpc.make("Topic", { success: Schema.String })]) {}
 * class Rooms extends Registry.Unique<Rooms, string, Room["Service"]>()("Rooms") {}
 *
 * const room = Room.child(Effect.succeed(Room.handlers({ Topic: () => "gardening" })), { via: Rooms.at("roses") })
 *
 * const program = Effect.gen(function*() {
 *   const rooms = yield* Rooms
 *   const roses = yield* rooms.whereis("roses")
 *   const tulips = yield* Effect.flip(rooms.whereis("tulips"))
 *   return [yield* roses.Topic(), tulips.message]
 * })
 * const tree = Supervisor.layer(Supervisor.make("house", { children: [room] }))
 * await Effect.runPromise(Effect.provide(program, Layer.provideMerge(tree, Rooms.layer)))
 * // => ["gardening", "tulips is not registered in Rooms"]
 * ```
 *
 * @see https://hexdocs.pm/elixir/Registry.html
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { Covariant } from "effect/Types"

import * as Feed from "./internal/feed.ts"
import type { Incarnation } from "./internal/mount.ts"
import * as internal from "./internal/registry.ts"
import { AlreadyRegistered, NotOwner, NotRegistered } from "./internal/registryErrors.ts"
import { CurrentLife } from "./internal/runtime.ts"

export { AlreadyRegistered, NotOwner, NotRegistered } from "./internal/registryErrors.ts"

/**
 * Who registered: one incarnation of a child.
 *
 * @category models
 * @since 0.1.0
 */
export type Owner = internal.Owner

/**
 * One registration.
 *
 * @category models
 * @since 0.1.0
 */
export type Entry<K, V> = internal.Entry<K, V>

/**
 * What happened in a registry.
 *
 * **Details**
 *
 * `because` tells an entry that its owner took back from one that went with its owner. `Missed`: this subscriber was too
 * slow for `count` events.
 *
 * @category models
 * @since 0.1.0
 */
export type Event<K, V> = internal.Event<K, V>

/**
 * What both sorts of registries have.
 *
 * **Details**
 *
 * - `unregister`: takes the caller's entries of this key back. Without one it does nothing.
 * - `keys`, `entries`, `size`: all that is registered now.
 * - `events`: what happens from now on. A subscriber may be 4,096 events behind; then it loses the newest.
 * - `withLock`: runs an effect while no other holds the lock of this key. It is given back when the effect ends, fails or
 *   is interrupted. The lock is not bound to an entry. It is not reentrant.
 *
 * @category models
 * @since 0.1.0
 */
export interface Common<K, V> {
  readonly unregister: (key: K) => Effect.Effect<void>
  readonly keys: Effect.Effect<ReadonlyArray<K>>
  readonly entries: Effect.Effect<ReadonlyArray<Entry<K, V>>>
  readonly size: Effect.Effect<number>
  readonly events: Stream.Stream<Event<K, V>>
  readonly withLock: (key: K) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/**
 * A registry in which a key has one owner.
 *
 * **Details**
 *
 * - `register`: fails with {@link AlreadyRegistered} when the key is taken, also by the caller itself; nothing is kept of
 *   it then.
 * - `lookup`: the entry of a key.
 * - `whereis`: its value, or {@link NotRegistered}. Call through it: `Effect.flatMap(names.whereis(key), (ref) => …)` finds
 *   whoever has the key when it runs, and fails at once when nobody does.
 * - `update`: changes the value; only the owner may, others fail with {@link NotOwner}.
 *
 * **Gotchas**
 *
 * `register`, `unregister` and `update` act for the child whose init or run effect calls them. A handler of an actor says
 * for whom with {@link as}. Anybody else dies with a `RangeError`. Who calls `register` for an incarnation that is over is
 * interrupted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Unique<K, V> extends Common<K, V> {
  readonly register: (key: K, value: V) => Effect.Effect<void, AlreadyRegistered>
  readonly lookup: (key: K) => Effect.Effect<Option.Option<Entry<K, V>>>
  readonly whereis: (key: K) => Effect.Effect<V, NotRegistered>
  readonly update: (key: K, f: (value: V) => V) => Effect.Effect<V, NotOwner>
}

/**
 * A registry in which a key may have many owners, and an owner many entries of a key.
 *
 * **Details**
 *
 * - `register`: never fails.
 * - `lookup`: the entries of a key, oldest first.
 * - `dispatch`: runs an effect for each entry that the key has now, once, without those that are gone when their turn
 *   comes. `concurrency`: default 1, in order.
 *
 * **Gotchas**
 *
 * `register` and `unregister` act for the calling child, as in {@link Unique}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Duplicate<K, V> extends Common<K, V> {
  readonly register: (key: K, value: V) => Effect.Effect<void>
  readonly lookup: (key: K) => Effect.Effect<ReadonlyArray<Entry<K, V>>>
  readonly dispatch: <E, R>(
    key: K,
    f: (value: V, entry: Entry<K, V>) => Effect.Effect<unknown, E, R>,
    options?: { readonly concurrency?: number | "unbounded" | undefined } | undefined
  ) => Effect.Effect<void, E, R>
}

/**
 * The type id of a {@link Via}.
 *
 * @category models
 * @since 0.1.0
 */
export const ViaTypeId = internal.ViaTypeId

/**
 * A key of a registry, as the name of an actor.
 *
 * @category models
 * @since 0.1.0
 */
export interface Via<out Services, in Value> {
  readonly [ViaTypeId]: { readonly _Services: Covariant<Services> }
  /** @internal */
  readonly register: (value: Value) => Effect.Effect<void, AlreadyRegistered>
}

/**
 * What a named actor needs because of its name.
 *
 * @category models
 * @since 0.1.0
 */
export type ViaServices<V> = V extends { readonly [ViaTypeId]: { readonly _Services: Covariant<infer S> } } ? S : never

/**
 * How the start of a named actor can fail because of its name.
 *
 * @category models
 * @since 0.1.0
 */
export type ViaError<V> = [V] extends [never] ? never : AlreadyRegistered

/**
 * A declared registry with unique keys: its service, its layer, and its keys as names of actors.
 *
 * @category models
 * @since 0.1.0
 */
export interface UniqueClass<Self, Id extends string, K, V> extends Context.ServiceClass<Self, Id, Unique<K, V>> {
  /** A new, empty registry. */
  readonly layer: Layer.Layer<Self>
  /** A key, for the option `via` of an actor. */
  readonly at: (key: K) => Via<Self, V>
}

/**
 * A declared registry with duplicate keys: its service and its layer.
 *
 * @category models
 * @since 0.1.0
 */
export interface DuplicateClass<Self, Id extends string, K, V> extends Context.ServiceClass<Self, Id, Duplicate<K, V>> {
  /** A new, empty registry. */
  readonly layer: Layer.Layer<Self>
}

/** Runs with the incarnation that acts. */
const withLife = <A, E>(where: string, f: (life: Incarnation) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) => {
    const life = fiber.getRef(CurrentLife)
    if (life !== undefined) return f(life)
    throw new RangeError(
      `Registry.${where}: must be called by the init or the run effect of a child, or for one with Registry.as`
    )
  })

const common = <K, V>(entries: internal.Entries<K, V>): Common<K, V> => ({
  unregister: (key) => withLife("unregister", (life) => Effect.sync(() => entries.remove(life, key))),
  keys: Effect.sync(() => entries.keys),
  entries: Effect.sync(() => entries.entries),
  size: Effect.sync(() => entries.sizes.entries),
  events: Feed.make<Event<K, V>>(
    (feed) =>
      Effect.acquireRelease(
        Effect.sync(() => entries.listen(feed)),
        (leave) => Effect.sync(leave)
      ),
    (count) => ({ _tag: "Missed", count })
  ),
  withLock: (key) => (effect) => entries.withLock(key, effect)
})

const unique = <K, V>(id: string, entries: internal.Entries<K, V>): Unique<K, V> => ({
  ...common(entries),
  register: (key, value) =>
    withLife("register", (life) => {
      if (life.over) return Effect.interrupt
      const there = entries.add(life, key, value)
      return there === undefined
        ? Effect.void
        : Effect.fail(new AlreadyRegistered({ registry: id, key, owner: there.owner.path }))
    }),
  lookup: (key) => Effect.sync(() => Option.fromUndefinedOr(entries.get(key))),
  whereis: (key) =>
    Effect.suspend(() => {
      const entry = entries.get(key)
      return entry === undefined ? Effect.fail(new NotRegistered({ registry: id, key })) : Effect.succeed(entry.value)
    }),
  update: (key, f) =>
    withLife("update", (life) => {
      const entry = entries.update(life, key, f)
      return entry === undefined
        ? Effect.fail(new NotOwner({ registry: id, key, caller: life.mount.path }))
        : Effect.succeed(entry.value)
    })
})

const duplicate = <K, V>(entries: internal.Entries<K, V>): Duplicate<K, V> => ({
  ...common(entries),
  register: (key, value) =>
    withLife("register", (life) => {
      if (life.over) return Effect.interrupt
      entries.add(life, key, value)
      return Effect.void
    }),
  lookup: (key) => Effect.sync(() => entries.list(key)),
  dispatch: (key, f, options) =>
    Effect.suspend(() =>
      Effect.forEach(
        entries.list(key),
        (entry) => Effect.suspend(() => (entries.has(entry) ? f(entry.value, entry) : Effect.void)),
        { discard: true, concurrency: options?.concurrency ?? 1 }
      )
    )
})

/** A registry that lives as long as its layer. */
const layerOf = <Self, K, V, S>(
  service: Context.Key<Self, S>,
  keys: "unique" | "duplicate",
  make: (entries: internal.Entries<K, V>) => S
): Layer.Layer<Self> =>
  Layer.effect(
    service,
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new internal.Entries<K, V>(keys === "unique")),
        (entries) => Effect.sync(() => entries.close())
      ),
      make
    )
  )

/**
 * Declares a registry in which a key has one owner.
 *
 * **Details**
 *
 * `Key` is compared by `Equal`. `Value` is what is found: for actors, their reference.
 *
 * **Example** (A child that registers itself)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Child, Registry, Supervisor } from "espalier"
 *
 * class Ports extends Registry.Unique<Ports, number, string>()("Ports") {}
 *
 * const web = Child.make("web", Effect.gen(function*() {
 *   yield* (yield* Ports).register(8080, "http")
 *   return Effect.never
 * }))
 * const program = Effect.gen(function*() {
 *   const ports = yield* Ports
 *   const entry = yield* Effect.flatMap(ports.lookup(8080), Effect.fromOption)
 *   return [entry.value, entry.owner.path.join("/")]
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [web] }))
 * await Effect.runPromise(Effect.provide(program, Layer.provideMerge(tree, Ports.layer))) // => ["http", "root/web"]
 * ```
 *
 * @see {@link Duplicate} for keys with many owners
 * @category constructors
 * @since 0.1.0
 */
export const Unique =
  <Self, Key, Value>() =>
  <const Id extends string>(id: Id): UniqueClass<Self, Id, Key, Value> => {
    const service = Context.Service<Self, Unique<Key, Value>>()(id)
    const at = (key: Key): Via<Self, Value> => ({
      [ViaTypeId]: { _Services: (_: never) => _ },
      register: (value) =>
        Effect.flatMap(service, (names) => names.register(key, value)) as Effect.Effect<void, AlreadyRegistered>
    })
    const layer = layerOf<Self, Key, Value, Unique<Key, Value>>(service, "unique", (entries) => unique(id, entries))
    return Object.assign(service, { layer, at }) as never
  }

/**
 * Declares a registry in which a key may have many owners.
 *
 * **Example** (Telling all that listen to a topic)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Child, Registry, Supervisor } from "espalier"
 *
 * const heard: Array<string> = []
 * class Topics extends Registry.Duplicate<Topics, string, (text: string) => void>()("Topics") {}
 *
 * const listener = (id: string) => Child.make(id, Effect.gen(function*() {
 *   yield* (yield* Topics).register("news", (text) => heard.push(`${id}: ${text}`))
 *   return Effect.never
 * }))
 * const program = Effect.gen(function*() {
 *   yield* (yield* Topics).dispatch("news", (tell) => Effect.sync(() => tell("rain")))
 *   return heard
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [listener("ann"), listener("bob")] }))
 * await Effect.runPromise(Effect.provide(program, Layer.provideMerge(tree, Topics.layer)))
 * // => ["ann: rain", "bob: rain"]
 * ```
 *
 * @see {@link Unique} for keys with one owner
 * @category constructors
 * @since 0.1.0
 */
export const Duplicate =
  <Self, Key, Value>() =>
  <const Id extends string>(id: Id): DuplicateClass<Self, Id, Key, Value> => {
    const service = Context.Service<Self, Duplicate<Key, Value>>()(id)
    return Object.assign(service, {
      layer: layerOf<Self, Key, Value, Duplicate<Key, Value>>(service, "duplicate", duplicate)
    }) as never
  }

/**
 * The incarnation whose init or run effect this is, to act for it later with {@link as}.
 *
 * **Details**
 *
 * Dies with a `RangeError` outside of a child.
 *
 * @category owners
 * @since 0.1.0
 */
export const self: Effect.Effect<Owner> = withLife("self", (life) => Effect.succeed(internal.ownerOf(life)))

/**
 * Lets an effect register, unregister and update for this owner.
 *
 * **When to use**
 *
 * The handlers of an actor do not run as its init does: the init takes {@link self}, and a handler acts for it.
 *
 * **Example** (A handler that registers)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Registry, Supervisor } from "espalier"
 *
 * class Seats extends Registry.Unique<Seats, number, string>()("Seats") {}
 * class Guest extends Actor.Service<Guest>()("Guest", [Rpc.make("Sit", { payload: { seat: Schema.Finite } })]) {}
 *
 * const guest = Guest.child(Effect.gen(function*() {
 *   const seats = yield* Seats
 *   const me = yield* Registry.self
 *   return Guest.handlers({
 *     Sit: ({ seat }) => seats.register(seat, "taken").pipe(Effect.orDie, Registry.as(me))
 *   })
 * }))
 * const program = Effect.gen(function*() {
 *   yield* (yield* Guest).Sit({ seat: 4 })
 *   return yield* (yield* Seats).whereis(4)
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [guest] }))
 * await Effect.runPromise(Effect.provide(program, Layer.provideMerge(tree, Seats.layer))) // => "taken"
 * ```
 *
 * @category owners
 * @since 0.1.0
 */
export const as =
  (owner: Owner) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, CurrentLife, internal.lifeOf(owner))
