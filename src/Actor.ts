/**
 * Actors: a typed protocol, a mailbox, and one message at a time.
 *
 * A protocol is a list of Effect `Rpc`s. {@link Service} declares it as a service whose value is a *reference*: it stays
 * valid over restarts. The actor itself is a child of a supervisor, made by the service's `child`.
 *
 * **Details**
 *
 * - A handler's typed error answers the caller and keeps the actor alive; a defect crashes it, and the supervisor decides.
 * - The caller of the message that crashed an actor fails at once with {@link ActorCrashed}. The message is not handled
 *   again; queued mail waits for the next incarnation.
 * - An ask that finds no answer in time fails with {@link AskTimeout}; a late answer goes nowhere. An ask whose caller is
 *   interrupted is not handled if it had not begun.
 * - An actor that asks itself would wait for itself: the ask fails at once with {@link ActorCalledItself}. A circle of
 *   several actors, or of an actor and a fiber that its handler forked and waits for, ends with {@link AskTimeout}.
 * - A handler may return a plain value instead of an Effect; that is faster.
 * - A handler may also leave its answer for later, answer and stop, or put its message aside: see {@link Answer}.
 * - An rpc with `stream: true` answers with a stream. The handler that makes it runs as a message; after that a fiber of
 *   the incarnation produces elements while the mailbox goes on, at most {@link StreamBuffer} ahead of its consumer. A
 *   consumer that stops interrupts it. A typed error ends the stream alone, a defect crashes the actor. When the
 *   incarnation crashes or stops, the stream fails at once, and elements that wait are not delivered; a stop that drains
 *   ends streams when the mail is handled. The time-out of an
 *   ask bounds the wait for the handler, not for elements.
 * - {@link Timers} send an actor messages later; they end with the incarnation.
 * - An idle actor holds no fiber.
 *
 * **Gotchas**
 *
 * Typed errors of handlers never reach `onFailure`: they are answers. Only errors of the init do, and marked failures
 * that a handler dies with, see {@link orCrash}.
 *
 * **Example** (A counter)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Supervisor } from "espalier"
 *
 * class Counter extends Actor.Service<Counter>()("Counter", [
 *   Rpc.make("Increment", { payload: { by: Schema.Finite }, success: Schema.Finite })
 * ]) {}
 *
 * const counter = Counter.child(Effect.sync(() => {
 *   let total = 0
 *   return Counter.handlers({ Increment: ({ by }) => total += by })
 * }))
 *
 * const program = Effect.gen(function*() {
 *   const c = yield* Counter
 *   yield* c.tell.Increment({ by: 1 })
 *   return yield* c.Increment({ by: 2 })
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [counter] }))
 * await Effect.runPromise(Effect.provide(program, tree)) // => 3
 * ```
 *
 * @since 0.1.0
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Queue from "effect/Queue"
import type * as Rpc from "effect/rpc/Rpc"
import type * as RpcSchema from "effect/rpc/RpcSchema"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

import * as Child from "./Child.ts"
import type { ActorFailure as ActorFailure_ } from "./internal/actorErrors.ts"
import * as errors from "./internal/actorErrors.ts"
import type { Handlers as AnyHandlers } from "./internal/actorLife.ts"
import { ActorMount, type ActorSpec, type Message } from "./internal/actorMount.ts"
import { Timeout } from "./internal/annotations.ts"
import { StopWith as StopWith_ } from "./internal/later.ts"
import { check, makeRef, makeTimers, streamsOf } from "./internal/protocol.ts"
import { isVia } from "./internal/registry.ts"
import { CurrentLife, CurrentNode } from "./internal/runtime.ts"
import * as Mailbox from "./Mailbox.ts"
import type * as Registry from "./Registry.ts"

export {
  ActorCalledItself,
  ActorCrashed,
  ActorNotStarted,
  ActorStopped,
  AskTimeout,
  MailboxFull,
  MessageDropped,
  StashFull
} from "./internal/actorErrors.ts"

/**
 * How an ask can fail beside the protocol's own errors. Each is a `transient` failure, except {@link ActorCalledItself},
 * which is a mistake in the program and `malformed`.
 *
 * @category errors
 * @since 0.1.0
 */
export type ActorFailure = ActorFailure_

export { Control, StreamBuffer, Timeout } from "./internal/annotations.ts"

/**
 * Gives every ask in an effect this time-out.
 *
 * @category options
 * @since 0.1.0
 */
export const withTimeout: {
  (timeout: Duration.Input): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
} = (timeout) => Effect.provideService(Timeout, timeout) as never

/** The element and the error of an rpc's stream; `never` for other rpcs. */
type ElementOf<C> = Rpc.SuccessSchema<C> extends RpcSchema.Stream<infer A, infer _E> ? A["Type"] : never
type StreamErrorOf<C> =
  Rpc.SuccessSchema<C> extends RpcSchema.Stream<infer _A, infer E> ? E["Type"] | Rpc.Error<C> : never
type IsStream<C> = Rpc.SuccessSchema<C> extends RpcSchema.Stream<infer _A, infer _E> ? true : false

/**
 * What a handler may say: the answer, or how there will be one.
 *
 * **Details**
 *
 * - A `Deferred` says that the answer comes when it is completed, from wherever: the actor goes on with the next message
 *   meanwhile. Only its first completion counts. A caller whose deferred is not completed when the incarnation ends fails
 *   with {@link ActorStopped} or {@link ActorCrashed}; its time-out goes on counting. One deferred may answer many.
 * - {@link StopWith} is the answer and the end, see {@link stopWith}.
 * - {@link Stashed} says that the message waits in the {@link Stash}, and its caller with it.
 *
 * @category models
 * @since 0.1.0
 */
export type Answer<A, E> = A | Deferred.Deferred<A, E> | StopWith<A> | Stashed

/**
 * What the handler of one rpc gives back.
 *
 * **Details**
 *
 * An {@link Answer}, or an Effect of one. Where the rpc answers with a stream: a `Stream`, a `Queue.Dequeue` or
 * {@link Stashed}, or an Effect of one.
 *
 * @category models
 * @since 0.1.0
 */
export type Result<C extends Rpc.Any> =
  IsStream<C> extends true
    ? | Streamed<ElementOf<C>, StreamErrorOf<C>>
      | Effect.Effect<Streamed<ElementOf<C>, StreamErrorOf<C>>, StreamErrorOf<C>, unknown>
    : Answer<Rpc.Success<C>, Rpc.Error<C>> | Effect.Effect<Answer<Rpc.Success<C>, Rpc.Error<C>>, Rpc.Error<C>, unknown>

type Streamed<A, E> = Stream.Stream<A, E, unknown> | Queue.Dequeue<A, E | Cause.Done> | Stashed

/**
 * What an actor's handlers look like: one function per rpc, from the payload to its {@link Result}.
 *
 * @category models
 * @since 0.1.0
 */
export type Handlers<R extends Rpc.Any> = {
  readonly [C in R as Rpc.Tag<C>]: (payload: Rpc.Payload<C>) => Result<C>
}

type ServicesOf<X> =
  X extends Effect.Effect<infer A, infer _E, infer R>
    ? R | (A extends Stream.Stream<infer _A2, infer _E2, infer R2> ? R2 : never)
    : X extends Stream.Stream<infer _A, infer _E, infer R>
      ? R
      : never

/**
 * What a set of handlers needs.
 *
 * @category models
 * @since 0.1.0
 */
export type HandlersContext<H> = ServicesOf<H[keyof H] extends (payload: never) => infer X ? X : never>

/**
 * A reference to an actor.
 *
 * **Details**
 *
 * - `ref.Increment(payload)` asks: it succeeds with the answer, and fails with the rpc's own error or an
 *   {@link ActorFailure}.
 * - `ref.tell.Increment(payload)` tells: it never fails, and waits only for a full mailbox of the policy `wait`. What
 *   cannot be delivered is a `DeadLetter` event.
 * - `ref.tellUnsafe.Increment(payload)` does so synchronously, and returns `false`, having done nothing, where `tell`
 *   would have waited or dropped.
 *
 * An rpc that answers with a stream is asked by running the stream: `ref.Follow(payload)` is a `Stream` of the elements,
 * which fails with the stream's own error or an {@link ActorFailure}. Each run asks anew. It cannot be told.
 *
 * Payloads are checked by the rpc's schema where that says more than the type; a payload that does not pass is the
 * caller's bug, and a defect there.
 *
 * @category models
 * @since 0.1.0
 */
export type Ref<R extends Rpc.Any> = {
  readonly [C in R as Rpc.Tag<C>]: (
    payload: Rpc.PayloadConstructor<C>
  ) => IsStream<C> extends true
    ? Stream.Stream<ElementOf<C>, StreamErrorOf<C> | ActorFailure>
    : Effect.Effect<Rpc.Success<C>, Rpc.Error<C> | ActorFailure>
} & {
  readonly tell: { readonly [C in R as Told<C>]: (payload: Rpc.PayloadConstructor<C>) => Effect.Effect<void> }
  readonly tellUnsafe: { readonly [C in R as Told<C>]: (payload: Rpc.PayloadConstructor<C>) => boolean }
}

/** The names of rpcs that can be told: a stream needs somebody who listens. */
type Told<C extends Rpc.Any> = IsStream<C> extends true ? never : Rpc.Tag<C>

/**
 * An actor's timers: messages that it sends itself later. Its init asks for them, see `ActorClass.timers`.
 *
 * **Details**
 *
 * - `after(key, delay).Poll(payload)` sends one message. `delay`: >= 0, `"Infinity"` never sends.
 * - `every(key, period).Poll(payload)` sends one after each period. `period`: > 0. It does not drift, and sends none while
 *   its last one is not handled yet.
 * - `cancel(key)`: there is no such timer any more, and no message of it.
 *
 * A key has one timer: setting it again replaces the timer, and takes back what it has sent and is not handled. Timers end
 * with the incarnation, the moment it is asked to stop or crashes, before finalizers run; what they have sent never
 * reaches the next incarnation. Their messages go through the mailbox as every tell.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the delay or the period is out of range.
 *
 * **Example** (A session that ends when nobody uses it)
 *
 * ```ts
 * import { Duration, Effect, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Supervisor } from "espalier"
 *
 * class Session extends Actor.Service<Session>()("Session", [
 *   Rpc.make("Use", {}),
 *   Rpc.make("Idle", {}),
 *   Rpc.make("IsOpen", { success: Schema.Boolean })
 * ]) {}
 *
 * const session = (patience: Duration.Input) => Session.child(Effect.gen(function*() {
 *   const timers = yield* Session.timers
 *   let open = true
 *   yield* timers.after("idle", patience).Idle()
 *   return Session.handlers({
 *     Use: () => timers.after("idle", patience).Idle(),
 *     Idle: () => { open = false },
 *     IsOpen: () => open
 *   })
 * }))
 *
 * const program = Effect.gen(function*() {
 *   const ref = yield* Session
 *   const before = yield* ref.IsOpen()
 *   yield* Effect.sleep("20 millis")
 *   return [before, yield* ref.IsOpen()]
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [session("1 millis")] }))
 * await Effect.runPromise(Effect.provide(program, tree)) // => [true, false]
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Timers<R extends Rpc.Any> {
  readonly after: (key: string, delay: Duration.Input) => Timed<R>
  readonly every: (key: string, period: Duration.Input) => Timed<R>
  readonly cancel: (key: string) => Effect.Effect<void>
}

/**
 * The message that a timer sends.
 *
 * @category models
 * @since 0.1.0
 */
export type Timed<R extends Rpc.Any> = {
  readonly [C in R as Told<C>]: (payload: Rpc.PayloadConstructor<C>) => Effect.Effect<void>
}

/**
 * The options of an actor.
 *
 * **Details**
 *
 * - `id`: the child's id. Default: the service's.
 * - `mailbox`: see `Mailbox.Options`. Default unbounded.
 * - `stop`: what a stop does to the message in progress. `"interrupt"`, the default, interrupts it; `"finish"` lets it
 *   finish within the grace time, as OTP does; `"drain"` refuses new messages, and lets what is in the mailbox be handled
 *   and every {@link Answer} that is still to come be given, all within the grace time. A stop that is part of a group
 *   restart does not drain but finishes: the mail is kept.
 * - The rest as for every child. `onFailure` is asked about errors of the init.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in E> extends Child.Options<E> {
  readonly id?: string | undefined
  readonly mailbox?: Mailbox.Options | undefined
  readonly stop?: "interrupt" | "finish" | "drain" | undefined
}

/**
 * The name of an actor: a key of a registry, as `Names.at(key)`.
 *
 * **Details**
 *
 * The actor's reference is registered before its init runs, for every incarnation. While another child has the key, the
 * start fails with `Registry.AlreadyRegistered`. The key is free as soon as the incarnation's end can be seen.
 *
 * @category models
 * @since 0.1.0
 */
export interface Named<out V> {
  readonly via?: V | undefined
}

/**
 * An actor's protocol as a service: the key of its reference, and the maker of its children.
 *
 * @category models
 * @since 0.1.0
 */
export interface ActorClass<Self, Id extends string, R extends Rpc.Any> extends Context.ServiceClass<Self, Id, Ref<R>> {
  /** The rpcs, as for an `RpcGroup` or an `Entity`. */
  readonly protocol: ReadonlyArray<R>
  /** The actor's {@link Timers}, for its init: an Effect that dies anywhere else. */
  readonly timers: Effect.Effect<Timers<R>, never, Init>
  /** Handlers, checked against the protocol. */
  readonly handlers: <H extends Handlers<R>>(handlers: H) => H
  /**
   * The actor as a child. `build` is its init: it is scoped, runs for every incarnation, and makes the handlers, so that
   * their state begins anew.
   */
  readonly child: <H extends Handlers<R>, E, RX, V extends Registry.Via<unknown, Ref<R>> = never>(
    build: Effect.Effect<H, E, RX>,
    options?: (Options<NoInfer<E> | Registry.ViaError<V>> & Named<V>) | undefined
  ) => Child.Child<
    Self,
    E | Registry.ViaError<V>,
    Exclude<RX, Scope.Scope | Init> | HandlersContext<H> | Registry.ViaServices<V>
  >
}

/**
 * Declares an actor's protocol.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when two rpcs have one name, when an rpc is called like a member of the reference (`tell`,
 * `tellUnsafe`, `then`, …), and when an annotation is out of range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const Service =
  <Self>() =>
  <const Id extends string, const Protocol extends ReadonlyArray<Rpc.Any>>(
    id: Id,
    protocol: Protocol
  ): ActorClass<Self, Id, Protocol[number]> => {
    const rpcs = protocol as ReadonlyArray<Rpc.Any> as ReadonlyArray<Rpc.AnyWithProps>
    check(id, rpcs)
    const streams = streamsOf(id, rpcs)
    const messages = new Map<string, Message>()
    const ref = makeRef(id, rpcs, messages)
    const child = (
      build: Effect.Effect<AnyHandlers, unknown, Scope.Scope>,
      options?: (Options<never> & Named<Registry.Via<unknown, unknown>>) | undefined
    ): Child.Child<never, never, never> => {
      const where = "Actor.child"
      const policy = Child.policyOf(where, options?.id ?? id, options, Child.workerDefaults)
      const stop = options?.stop ?? "interrupt"
      if (stop !== "interrupt" && stop !== "finish" && stop !== "drain") {
        throw new RangeError(`${where}: stop of ${policy.id} must be interrupt, finish or drain, got ${String(stop)}`)
      }
      const via = options?.via
      if (via !== undefined && !isVia(via)) {
        throw new RangeError(
          `${where}: via of ${policy.id} must be a key of a unique registry, as its at gives, got ${Child.show(via)}`
        )
      }
      const spec: ActorSpec = {
        key: id,
        build: via === undefined ? build : Effect.andThen(named(via), build),
        mailbox: Mailbox.make(options?.mailbox),
        stop,
        messages,
        streams,
        ref
      }
      return Child.fromMount(
        policy,
        [id],
        (runtime, parent, outer) => new ActorMount(runtime, parent, policy, spec, outer)
      )
    }
    const service = Context.Service<Self, Ref<Protocol[number]>>()(id)
    return Object.assign(service, {
      protocol,
      timers: makeTimers(id, rpcs),
      handlers: <H>(handlers: H): H => handlers,
      child
    }) as never
  }

/** Registers the actor whose init this is. */
const named = (via: Registry.Via<unknown, unknown>): Effect.Effect<void, Registry.AlreadyRegistered> =>
  Effect.withFiber((fiber) => via.register((fiber.getRef(CurrentNode) as ActorMount).ref))

/**
 * Whether an error is an {@link ActorFailure}.
 *
 * @category guards
 * @since 0.1.0
 */
export const isActorFailure = (error: unknown): error is ActorFailure =>
  error instanceof errors.ActorCrashed ||
  error instanceof errors.ActorStopped ||
  error instanceof errors.ActorNotStarted ||
  error instanceof errors.ActorCalledItself ||
  error instanceof errors.AskTimeout ||
  error instanceof errors.MailboxFull ||
  error instanceof errors.MessageDropped

/**
 * Answers the message in progress, and stops the actor: a handler returns it, or its Effect succeeds with it.
 *
 * **Details**
 *
 * The actor ends with the reason `Normal`; whether it is started again is for its `restart` policy to say. The caller has
 * the answer when the finalizers are finished and the supervisor has decided, so the place is free by then. What waits in
 * the mailbox is kept for the next incarnation, or, when there is none, refused.
 *
 * @category constructors
 * @since 0.1.0
 */
export const stopWith: {
  (): StopWith<void>
  <A>(value: A): StopWith<A>
} = <A>(value?: A) => new StopWith_(value)

/**
 * The answer of a handler with which its actor ends, see {@link stopWith}.
 *
 * @category models
 * @since 0.1.0
 */
export type StopWith<A> = StopWith_<A>

/**
 * What only the init of an actor has; {@link stash} and `ActorClass.timers` need it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Init {
  readonly [InitTypeId]: typeof InitTypeId
}

declare const InitTypeId: unique symbol

/**
 * What a handler returns whose message waits in the {@link Stash}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stashed {
  readonly [StashedTypeId]: typeof StashedTypeId
}

declare const StashedTypeId: unique symbol

/**
 * Messages that an actor put aside, in their order.
 *
 * **Details**
 *
 * - `add`: puts the message in progress aside. Its handler's result is not an answer any more, and its caller goes on
 *   waiting, within its time-out. Fails with {@link StashFull} when the stash holds `capacity`; the message is still in
 *   progress then, and the others stay.
 * - `unstashAll`: handles what is in the stash at this moment before newer mail, in its order. What is put aside
 *   meanwhile waits for the next `unstashAll`.
 * - `clear`: throws away what is in the stash, and what `unstashAll` has not yet handed out: asks fail with
 *   {@link MessageDropped}, tells become dead letters.
 * - `size`: how many messages are put aside; those of callers that are gone do not count.
 *
 * A stash ends with its incarnation. What it held is mail again, in front of the rest: a restart hands it to the next
 * incarnation or not by the mailbox's `onRestart`, a stop makes it dead letters.
 *
 * **Gotchas**
 *
 * `add` must be run by the handler's own fiber, while it handles the message; anywhere else it is a defect.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stash {
  readonly add: Effect.Effect<Stashed, errors.StashFull>
  readonly unstashAll: Effect.Effect<void>
  readonly clear: Effect.Effect<void>
  readonly size: Effect.Effect<number>
}

/**
 * The stash of an actor, for its init to ask for.
 *
 * **Details**
 *
 * - `capacity`: messages that it holds at most, a whole number >= 1. Default 1,000.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the capacity is out of range. Dies with one when the init asks for a second stash.
 *
 * **Example** (A door that is closed at first)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Supervisor } from "espalier"
 *
 * class Door extends Actor.Service<Door>()("Door", [
 *   Rpc.make("Enter", { payload: { name: Schema.String }, success: Schema.String, error: Actor.StashFull }),
 *   Rpc.make("Open", {})
 * ]) {}
 *
 * const door = Door.child(Effect.gen(function*() {
 *   const stash = yield* Actor.stash({ capacity: 100 })
 *   let open = false
 *   return Door.handlers({
 *     Enter: ({ name }) => open ? `welcome ${name}` : stash.add,
 *     Open: () => {
 *       open = true
 *       return stash.unstashAll
 *     }
 *   })
 * }))
 *
 * const program = Effect.gen(function*() {
 *   const ref = yield* Door
 *   const [answer] = yield* Effect.all([ref.Enter({ name: "Ada" }), ref.Open()], { concurrency: 2 })
 *   return answer
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [door] }))
 * await Effect.runPromise(Effect.provide(program, tree)) // => "welcome Ada"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const stash = (options?: { readonly capacity?: number | undefined }): Effect.Effect<Stash, never, Init> => {
  const capacity = options?.capacity ?? 1_000
  if (!Number.isSafeInteger(capacity) || capacity < 1) {
    throw new RangeError(`Actor.stash: capacity must be a whole number >= 1, got ${String(capacity)}`)
  }
  // That it runs in an init is what `Init` says to the compiler.
  return Effect.withFiber((fiber) => {
    const node = fiber.getRef(CurrentNode)
    const life = fiber.getRef(CurrentLife)
    const made = node instanceof ActorMount ? node.makeStash(life, capacity) : undefined
    return made === undefined
      ? Effect.die(new RangeError("Actor.stash: must be called once, in the init of an actor"))
      : Effect.succeed<Stash>(made)
  }) as Effect.Effect<Stash, never, Init>
}

/**
 * Makes the loss of a neighbour this actor's own crash, without making it a bug.
 *
 * **Details**
 *
 * A handler that asks another actor has {@link ActorFailure} among its errors, which are not in its protocol. This dies
 * with the failure itself; it is marked `transient`, so the supervisor restarts with the backoff of a passing failure.
 *
 * @category combinators
 * @since 0.1.0
 */
export const orCrash = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, ActorFailure>, R> =>
  Effect.catch(self, (error) =>
    isActorFailure(error) ? Effect.die(error) : Effect.fail(error as Exclude<E, ActorFailure>)
  )
