/**
 * Replies that are streams: one message makes the stream, a fiber of the incarnation feeds it to one consumer.
 *
 * The handler runs as a message like any other; its answer is a {@link Supply}, which starts nothing. The consumer who
 * takes the answer opens it: then a producer runs the stream into a bounded queue, while the mailbox goes on.
 *
 * **Invariants**
 *
 * - S1. A producer belongs to the incarnation whose handler made the stream: it ends before that incarnation's scope does.
 * - S2. A producer runs only while somebody consumes: an answer nobody took starts nothing, a consumer who leaves ends it.
 * - S3. The end of the incarnation reaches every consumer, whatever the producer does about its interruption.
 * - S4. At most `buffer` elements wait, beside those that the stream gives in one go.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"

import type { ActorFailure } from "./actorErrors.ts"
import { stashed } from "./stash.ts"

/** An rpc that answers with a stream. */
export interface StreamRpc {
  readonly tag: string
  /** elements that may wait for the consumer */
  readonly buffer: number
}

type Handler = (payload: never) => unknown

/** Why a consumer is cut off. */
type Loss = (rpc: string) => ActorFailure

type Elements = Stream.Stream<unknown, unknown>

/** What the streams of an incarnation need of it. */
export interface Producing {
  /** the services that handlers find */
  readonly context: Context.Context<never>
  /** a stream ended by a defect, or interrupted itself */
  crashed(cause: Cause.Cause<unknown>): void
}

/** One consumer's stream under way. */
class Feed {
  readonly rpc: string
  readonly queue: Queue.Queue<unknown, unknown>
  producer: Fiber.Fiber<void, unknown> | undefined
  /** nobody listens any more */
  left = false
  lost: ActorFailure | undefined

  constructor(rpc: string, queue: Queue.Queue<unknown, unknown>) {
    this.rpc = rpc
    this.queue = queue
  }

  /** What waits is not handed out any more: the consumer hears of the loss at its next pull. */
  lose(error: ActorFailure): void {
    this.lost = error
    Queue.failCauseUnsafe(this.queue, Cause.fail(error))
  }

  // One at a time: what a consumer already has in hand is out of reach when the incarnation ends.
  readonly pull = Effect.suspend(() =>
    this.lost === undefined ? Effect.map(Queue.take(this.queue), Array.of) : Effect.fail<unknown>(this.lost)
  )
}

/** The streams of one incarnation. */
export class Feeds {
  private readonly owner: Producing
  private readonly feeds = new Set<Feed>()
  private readonly defects: Array<Cause.Cause<unknown>> = []
  private loss: Loss | undefined
  /** those whose consumers hear of the loss */
  private readonly told: Array<Feed> = []

  constructor(owner: Producing) {
    this.owner = owner
  }

  /** Handlers whose streams answer as supplies. */
  wrap<H extends Readonly<Record<string, Handler>>>(handlers: H, rpcs: ReadonlyArray<StreamRpc>): H {
    const wrapped = Object.create(handlers) as H
    for (const { buffer, tag } of rpcs) {
      const handler = handlers[tag]
      if (typeof handler !== "function") continue
      const supply = (made: unknown): unknown =>
        made === stashed ? made : new Supply(this, tag, buffer, elementsOf(tag, made))
      const supplying: Handler = (payload) => {
        const made = handler(payload)
        // A promise is refused by whoever runs the handlers, as every handler's.
        if (isThenable(made)) return made
        return Effect.isEffect(made) ? Effect.map(made as Effect.Effect<unknown>, supply) : supply(made)
      }
      // Handlers may be frozen, and an assignment would meet that.
      Object.defineProperty(wrapped, tag, { value: supplying })
    }
    return wrapped
  }

  open(rpc: string, buffer: number, elements: Elements): Effect.Effect<Feed, ActorFailure> {
    return Effect.flatMap(Queue.bounded<unknown, unknown>(buffer), (queue) =>
      Effect.withFiber((consumer) => {
        if (this.loss !== undefined) return Effect.fail(this.loss(rpc))
        const feed = new Feed(rpc, queue)
        const { span } = consumer.cache
        const producing = Stream.runForEachArray(elements, (values) => Queue.offerAll(queue, values))
        this.feeds.add(feed)
        const producer = Effect.runForkWith(this.owner.context)(
          span === undefined ? producing : Effect.provideService(producing, Tracer.ParentSpan, span)
        )
        feed.producer = producer
        producer.addObserver((exit) => this.ended(feed, exit))
        return Effect.succeed(feed)
      })
    )
  }

  /** The consumer is done: the producer is told, and not waited for. */
  leave(feed: Feed): void {
    feed.left = true
    feed.producer?.interruptUnsafe()
  }

  private ended(feed: Feed, exit: Exit.Exit<void, unknown>): void {
    this.feeds.delete(feed)
    if (Exit.isSuccess(exit)) return void Queue.endUnsafe(feed.queue as Queue.Queue<unknown, unknown | Cause.Done>)
    const { cause } = exit
    const asked = feed.left || this.loss !== undefined
    if (cause.reasons.every(Cause.isFailReason)) return void Queue.failCauseUnsafe(feed.queue, cause)
    if (asked && !Cause.hasDies(cause)) return
    if (this.loss !== undefined) return void this.defects.push(cause)
    this.told.push(feed)
    this.owner.crashed(cause)
  }

  /**
   * Ends all streams; the first call says how. What it gives back waits for the producers, and fails with what went
   * wrong with them; `undefined` when there is nothing to wait for.
   */
  end(loss: Loss): Effect.Effect<void, unknown> | undefined {
    if (this.loss === undefined) {
      this.loss = loss
      for (const feed of this.feeds) this.told.push(feed)
      for (const feed of this.told) feed.producer?.interruptUnsafe()
    }
    if (this.feeds.size === 0 && this.defects.length === 0) return undefined
    const producers = Array.from(this.feeds, (feed) => feed.producer!)
    return Effect.andThen(
      Effect.forEach(producers, Fiber.await, { discard: true }),
      Effect.suspend(() => {
        const reasons = this.defects.splice(0).flatMap((cause) => cause.reasons.filter(Cause.isDieReason))
        return reasons.length === 0 ? Effect.void : Effect.failCause(Cause.fromReasons(reasons))
      })
    )
  }

  /** Tells the consumers of streams that were ended. */
  tell(): void {
    const { loss } = this
    if (loss === undefined) return
    for (const feed of this.told.splice(0)) feed.lose(loss(feed.rpc))
  }
}

/** The answer of a handler that made a stream. It starts nothing. */
export class Supply {
  private readonly feeds: Feeds
  private readonly rpc: string
  private readonly buffer: number
  private readonly elements: Elements

  constructor(feeds: Feeds, rpc: string, buffer: number, elements: Elements) {
    this.feeds = feeds
    this.rpc = rpc
    this.buffer = buffer
    this.elements = elements
  }

  readonly feed: Effect.Effect<Feed, ActorFailure, Scope.Scope> = Effect.suspend(() =>
    Effect.acquireRelease(this.feeds.open(this.rpc, this.buffer, this.elements), (feed) =>
      Effect.sync(() => this.feeds.leave(feed))
    )
  )
}

/** The stream of an ask that is answered with a supply: it asks whenever it is run. */
export const consume = (ask: Effect.Effect<unknown, unknown>): Elements =>
  Stream.unwrap(
    Effect.map(
      Effect.flatMap(ask, (supply) => (supply as Supply).feed),
      (feed) => Stream.fromPull(Effect.succeed(feed.pull as never)) as Elements
    )
  )

/** Whether a value can be awaited. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && typeof (value as { readonly then?: unknown }).then === "function"

const elementsOf = (rpc: string, made: unknown): Elements => {
  if (Stream.isStream(made)) return made as Elements
  if (Queue.isDequeue(made)) return Stream.fromQueue(made)
  throw new TypeError(`the handler ${rpc} must give a Stream or a Dequeue, got ${typeof made}`)
}
