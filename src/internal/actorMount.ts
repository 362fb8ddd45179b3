/**
 * A child that is an actor: a mailbox that outlives incarnations, and handlers that do not.
 *
 * An idle actor holds no fiber. The first message of a burst wakes a drain: plain handlers run in it one after the
 * other; the first handler that returns an Effect starts a fiber, which goes on with the mailbox until it is empty or
 * its turn is over, and ends.
 *
 * **Invariants**
 *
 * - A1. One message at a time: the next handler begins after the effect of the one before has ended.
 * - A2. A message taken from the mailbox is handled, answered, or reported as a dead letter.
 * - A3. An answer belongs to one ask and is given once; what comes later, or from a fenced incarnation, goes nowhere.
 * - A4. On a crash the supervisor is told first and the caller after it, so a caller never sees a tree that does not know.
 * - A5. A turn handles at most what was waiting when it began, so the rest of the tree has its turn.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { format } from "effect/Formatter"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import type { Mailbox } from "../Mailbox.ts"
import { ActorCrashed, ActorStopped, AskTimeout, cheaply, MailboxFull, MessageDropped } from "./actorErrors.ts"
import { type Handlers, Life } from "./actorLife.ts"
import type { Addressee } from "./envelope.ts"
import { Ask, deadlinesOf, type Envelope, Notice } from "./envelope.ts"
import { showPath } from "./errors.ts"
import * as exits from "./exit.ts"
import { StopWith, Unanswered } from "./later.ts"
import { Mail } from "./mail.ts"
import type { ChildSpec, DeadLetterReason, ExitReason, Snapshot } from "./model.ts"
import type { Parent, Policy } from "./mount.ts"
import { type Incarnation, Mount } from "./mount.ts"
import { Feeds, isThenable, type StreamRpc } from "./replyStream.ts"
import { CurrentLife, CurrentNode } from "./runtime.ts"
import type { Runtime } from "./runtime.ts"
import { startsAfter } from "./startsAfter.ts"
import { StashBuffer } from "./stash.ts"
import type { Refusal } from "./transition.ts"

/** An actor's spec, as its mount needs it. */
export interface ActorSpec {
  readonly key: string
  readonly build: Effect.Effect<Handlers, unknown, Scope.Scope>
  readonly mailbox: Mailbox
  readonly stop: "interrupt" | "finish" | "drain"
  /** the rpcs that can be told */
  readonly messages: ReadonlyMap<string, Message>
  /** the rpcs that answer with streams */
  readonly streams: ReadonlyArray<StreamRpc>
  readonly ref: (mount: ActorMount) => unknown
}

/** An rpc that can be told. */
export interface Message {
  /** the payload as its schema wants it; throws when it cannot be had */
  readonly make: (payload: unknown) => unknown
  /** goes before the mail */
  readonly urgent: boolean
}

export class ActorMount extends Mount implements Addressee {
  declare protected current: Life | undefined
  readonly ref: unknown
  private spec: ActorSpec
  private readonly mail = new Mail()
  /** made when it is first needed: most actors of a large tree are idle */
  private drainer: (() => void) | undefined
  private awake = false
  /** a stop waits for the queue and for answers that are still to come, and new messages are refused */
  private draining = false

  get kind(): Snapshot["kind"] {
    return "actor"
  }

  constructor(
    runtime: Runtime,
    parent: Parent,
    policy: Policy,
    spec: ActorSpec,
    outer: Context.Context<never> | undefined
  ) {
    super(runtime, parent, policy, outer)
    this.spec = spec
    this.ref = spec.ref(this)
  }

  override get refs(): ReadonlyMap<string, unknown> {
    return new Map([[this.spec.key, this.ref]])
  }

  get capacity(): number {
    return this.spec.mailbox.capacity
  }

  // ---------------------------------------------------------------------------------------------------------- senders

  private get refuses(): boolean {
    return this.settled || this.draining
  }

  override get serving(): boolean {
    return this.current?.handlers !== undefined
  }

  /** Whether an ask from `caller` can only be answered once the caller's own init is finished. */
  waitsFor(caller: Mount | undefined): boolean {
    return !this.refuses && startsAfter(this, caller)
  }

  /** Whether `fiber` is the one that would have to handle what it asks. */
  isRunBy(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return this.current?.self === fiber
  }

  ask(envelope: Ask, millis: number): void {
    if (this.refuses) return this.refuse(envelope)
    if (!this.hasRoom()) {
      switch (this.spec.mailbox.whenFull) {
        case "wait": {
          this.mail.wait(envelope, noop)
          break
        }
        case "drop-old": {
          this.pushOut(envelope)
          break
        }
        case "drop-new":
        case "fail":
          return this.full(envelope)
      }
    } else this.push(envelope)
    this.await(envelope, millis)
  }

  /** Takes an ask into the control lane, which is never full. */
  askFirst(envelope: Ask, millis: number): void {
    if (this.refuses) return this.refuse(envelope)
    this.pushFirst(envelope)
    this.await(envelope, millis)
  }

  private await(envelope: Ask, millis: number): void {
    if (Number.isFinite(millis)) deadlinesOf(this.runtime).add(envelope, millis)
  }

  /** Takes a tell, or answers `false` when it would have to wait or be dropped. */
  tellUnsafe(envelope: Envelope): boolean {
    if (this.refuses || !this.hasRoom()) return false
    this.push(envelope)
    return true
  }

  /** Takes a tell by the mailbox's policy; calls `taken` once it is in, or never will be. */
  tell(envelope: Envelope, taken: () => void): void {
    if (this.refuses) this.deadLetter(envelope, "stopped")
    else if (this.hasRoom()) this.push(envelope)
    else {
      switch (this.spec.mailbox.whenFull) {
        case "wait": {
          this.mail.wait(envelope, taken)
          return
        }
        case "drop-old": {
          this.pushOut(envelope)
          break
        }
        case "drop-new": {
          this.deadLetter(envelope, "dropped-new")
          break
        }
        case "fail": {
          this.deadLetter(envelope, "mailbox-full")
          break
        }
      }
    }
    taken()
  }

  /** Takes a tell into the control lane, or answers `false` when nobody will handle it. */
  tellFirst(envelope: Envelope): boolean {
    if (this.refuses) return false
    this.pushFirst(envelope)
    return true
  }

  /** The message of an rpc that can be told. */
  messageOf(rpc: string): Message | undefined {
    return this.spec.messages.get(rpc)
  }

  /** Takes a notice in behind the mail that is there, whether there is room or not. */
  notify(notice: Notice): void {
    if (this.settled) return
    if (this.messageOf(notice.rpc)?.urgent === true) this.pushFirst(notice)
    else this.push(notice)
  }

  /** A notice could not be made: whoever wants it has a bug. */
  misread(rpc: string, defect: unknown): void {
    this.runtime.emit(this, { _tag: "DeadLetter", message: rpc, reason: "crashed" })
    if (this.current !== undefined) this.strike(this.current, Cause.die(defect))
  }

  /** Whether this very message is being handled. */
  isHandling(envelope: Envelope): boolean {
    return this.current?.handling === envelope
  }

  soon(f: () => void): void {
    this.runtime.wake(f)
  }

  expire(envelope: Ask, afterMillis: number): void {
    if (envelope.resume === undefined) return
    envelope.answer(Effect.fail(cheaply(() => new AskTimeout({ actor: this.path, rpc: envelope.rpc, afterMillis }))))
  }

  private hasRoom(): boolean {
    return this.mail.size < this.spec.mailbox.capacity
  }

  private push(envelope: Envelope): void {
    this.mail.push(envelope)
    this.rouse()
  }

  private pushFirst(envelope: Envelope): void {
    this.mail.pushFirst(envelope)
    this.rouse()
  }

  private full(envelope: Envelope): void {
    const { capacity } = this
    envelope.answer(Effect.fail(cheaply(() => new MailboxFull({ actor: this.path, rpc: envelope.rpc, capacity }))))
  }

  private refuse(envelope: Envelope): void {
    envelope.answer(Effect.fail(cheaply(() => new ActorStopped({ actor: this.path, rpc: envelope.rpc }))))
  }

  private dropped(envelope: Envelope): void {
    envelope.answer(Effect.fail(cheaply(() => new MessageDropped({ actor: this.path, rpc: envelope.rpc }))))
  }

  private crashed(envelope: Envelope): void {
    envelope.answer(Effect.fail(cheaply(() => new ActorCrashed({ actor: this.path, rpc: envelope.rpc }))))
  }

  /** Takes a message in and the oldest one out. */
  private pushOut(envelope: Envelope): void {
    const oldest = this.mail.takeDroppable()
    this.push(envelope)
    // Whoever waits for it goes on at once, and may send again: by now the mailbox is as it will be.
    if (oldest === undefined) return
    if (oldest instanceof Ask) this.full(oldest)
    this.deadLetter(oldest, "dropped-old")
  }

  private deadLetter(envelope: Envelope, reason: DeadLetterReason): void {
    envelope.dropped()
    this.runtime.emit(this, { _tag: "DeadLetter", message: envelope.rpc, reason })
  }

  /** Tells those who wait, by `answer` or by a dead letter, that these messages will not be handled. */
  private discard(envelopes: ReadonlyArray<Envelope>, answer: (ask: Ask) => void, reason: DeadLetterReason): void {
    for (const envelope of envelopes) {
      if (envelope.cancelled) continue
      if (envelope instanceof Ask) answer(envelope)
      else if (envelope instanceof Notice && reason === "crashed") this.mail.push(envelope)
      else this.deadLetter(envelope, reason)
    }
  }

  // ------------------------------------------------------------------------------------------------------------ drain

  private rouse(): void {
    if (this.awake || this.current?.handlers === undefined) return
    this.awake = true
    this.runtime.wake((this.drainer ??= () => this.drain()))
  }

  private drain(): void {
    const life = this.current
    if (life?.handlers === undefined || life.closing) {
      this.awake = false
      return
    }
    // A wake-up of an earlier incarnation can come late: what is under way goes on by itself. (A1)
    if (life.handling !== undefined || life.fiber !== undefined) return
    this.awake = true
    life.turn = this.mail.depth // A5
    this.proceed(life)
    this.burst(life)
  }

  /** Runs plain handlers until one returns an Effect, the turn is over, or the mailbox is empty. */
  private proceed(life: Life): void {
    life.effect = undefined
    while (life.turn > 0) {
      const envelope = this.mail.take()
      if (envelope === undefined) return
      life.turn -= 1
      life.handling = envelope
      let result: unknown
      try {
        const handler = life.handlers![envelope.rpc]
        if (typeof handler !== "function") throw new TypeError(`${showPath(this.path)} has no handler ${envelope.rpc}`)
        result = handler(envelope.payload as never)
        if (isThenable(result)) {
          result.then(noop, noop)
          throw new TypeError(
            `the handler ${envelope.rpc} of ${showPath(this.path)} returned a promise: wrap it in Effect.promise`
          )
        }
      } catch (defect) {
        return this.crash(life, Cause.die(defect))
      }
      if (Effect.isEffect(result)) {
        const effect = result as Effect.Effect<unknown, unknown>
        life.effect =
          envelope.span === undefined ? effect : Effect.provideService(effect, Tracer.ParentSpan, envelope.span)
        return
      }
      this.replied(life, result)
      if (life.closing || life.over) return
    }
  }

  /** The handler is through with the message in progress: `value` is the answer, or says how there will be one. */
  private replied(life: Life, value: unknown): void {
    const envelope = life.handling
    life.handling = undefined
    if (envelope === undefined) return // it waits in the stash
    if (typeof value === "object" && value !== null) {
      if (value instanceof StopWith) {
        life.farewell = () => envelope.answer(Effect.succeed(value.value))
        this.awake = false
        return this.close(life, Exit.void)
      }
      if (Deferred.isDeferred(value)) {
        if (envelope instanceof Ask) this.unanswered(life).add(envelope, value as Deferred.Deferred<unknown, unknown>)
        else envelope.answer(Effect.void) // nobody waits: it is handled
        return
      }
    }
    envelope.answer(Effect.succeed(value))
  }

  private unanswered(life: Life): Unanswered {
    // A stop that drains has waited for the last answer.
    return (life.unanswered ??= new Unanswered(life, () => {
      if (this.draining) this.soon(() => this.awake || this.rest(life))
    }))
  }

  /** Runs the effect at hand, and those of the messages after it, in one fiber. */
  private burst(life: Life): void {
    while (life.effect !== undefined) {
      // One that is left to finish may ask who waits for it: it must be known who asks.
      const context = this.spec.stop === "interrupt" ? this.context : Context.add(this.context, CurrentLife, life)
      const fiber = Effect.runForkWith(context)(
        Effect.whileLoop({
          while: () => life.effect !== undefined,
          body: () => {
            life.self = Fiber.getCurrent()
            return life.effect!
          },
          step: (value) => {
            this.replied(life, value)
            if (life.closing || life.over || (life.ordered && !this.draining)) life.effect = undefined
            else this.proceed(life)
          }
        })
      )
      const exit = fiber.pollUnsafe()
      if (exit === undefined) {
        // The last answer may have ended the incarnation already: then its finalizers are what runs.
        if (!life.closing) life.fiber = fiber
        fiber.addObserver((exit) => {
          if (life.fiber === fiber) life.fiber = undefined
          if (this.settleBurst(life, exit)) this.burst(life)
        })
        return
      }
      if (!this.settleBurst(life, exit)) return
    }
    this.rest(life)
  }

  /** Reads how a burst ended; tells whether the actor goes on. */
  private settleBurst(life: Life, exit: Exit.Exit<unknown, unknown>): boolean {
    life.effect = undefined
    if (!life.closing) life.self = undefined
    if (life.over) {
      this.lateEnd(life, exit)
      return false
    }
    if (Exit.isSuccess(exit)) {
      if (life.closing || (life.ordered && !this.draining)) return this.closeOnce(life, Exit.void)
      return true
    }
    const { cause } = exit
    const envelope = life.handling
    if (cause.reasons.every(Cause.isFailReason)) {
      // The protocol's own error: it answers the caller, the actor lives on.
      life.handling = undefined
      envelope?.answer(exit)
      if (life.ordered && !this.draining) return this.closeOnce(life, Exit.void)
      this.proceed(life)
      return !life.closing
    }
    if (life.ordered && Cause.hasInterruptsOnly(cause)) {
      life.handling = undefined
      if (envelope !== undefined) this.interrupted(envelope)
      return this.closeOnce(life, Exit.void)
    }
    this.crash(life, cause)
    return false
  }

  /** A fenced incarnation's handler has ended after all: what its init acquired is released, and nobody waits for it. */
  private lateEnd(life: Life, exit: Exit.Exit<unknown, unknown>): void {
    if (life.closing) return this.leakEnded(life)
    life.closing = true
    const finalizers = thenFinalize(this.endStreams(life), Scope.closeUnsafe(life.scope, exit)) ?? Effect.void
    this.runtime.fork(finalizers).addObserver(() => this.leakEnded(life))
  }

  private closeOnce(life: Life, exit: Exit.Exit<unknown, unknown>): false {
    if (!life.closing) this.close(life, exit)
    return false
  }

  /** The turn is over: sleep, or ask for another. */
  private rest(life: Life): void {
    this.awake = false
    if (life.over || life.closing) return
    const { depth } = this.mail
    if (life.ordered && !(this.draining && depth + (life.unanswered?.size ?? 0) > 0)) this.close(life, Exit.void)
    else if (depth > 0) this.rouse()
  }

  private interrupted(envelope: Envelope): void {
    if (envelope instanceof Ask) this.refuse(envelope)
    else this.deadLetter(envelope, "interrupted")
  }

  private crash(life: Life, cause: Cause.Cause<unknown>): void {
    const envelope = life.handling
    life.handling = undefined
    life.effect = undefined
    this.awake = false
    this.close(life, Exit.failCause(cause))
    if (envelope === undefined) return
    if (envelope instanceof Ask) this.runtime.post(() => this.crashed(envelope)) // A4
    else this.deadLetter(envelope, "crashed")
  }

  // ------------------------------------------------------------------------------------------------------ incarnation

  private withStreams(life: Life, handlers: Handlers): Handlers {
    life.feeds = new Feeds({
      context: this.context,
      crashed: (cause) => this.runtime.wake(() => this.strike(life, cause))
    })
    return life.feeds.wrap(handlers, this.spec.streams)
  }

  /** Ends the streams of an incarnation, before its consumers are told; gives what waits for them. */
  private endStreams(life: Life): Effect.Effect<void, unknown> | undefined {
    const crashed = life.struck !== undefined || (life.exit !== undefined && Exit.isFailure(life.exit))
    return life.feeds?.end((rpc) =>
      cheaply(() =>
        crashed ? new ActorCrashed({ actor: this.path, rpc }) : new ActorStopped({ actor: this.path, rpc })
      )
    )
  }

  protected override live(): Life {
    this.awake = false
    this.draining = false
    return new Life(this)
  }

  protected launch(life: Life): void {
    const context = this.context.pipe(
      Context.add(CurrentNode, this as Mount),
      Context.add(CurrentLife, life),
      Context.add(Scope.Scope, life.scope)
    )
    const build = Effect.withFiber((fiber) => {
      life.self = fiber
      return this.spec.build
    })
    const fiber = Effect.runForkWith(context)(build)
    life.fiber = fiber
    fiber.addObserver((exit) => {
      life.fiber = undefined
      life.self = undefined
      if (life.over) this.lateEnd(life, exit)
      else if (Exit.isFailure(exit) || life.ordered || life.struck !== undefined) this.close(life, exit)
      else this.open(life, exit.value)
    })
  }

  /** The init has made handlers: the actor begins to serve. */
  private open(life: Life, handlers: Handlers): void {
    try {
      if (typeof handlers !== "object" || handlers === null) {
        throw new TypeError(`the init of ${showPath(this.path)} must give handlers, got ${format(handlers)}`)
      }
      life.handlers = this.spec.streams.length === 0 ? handlers : this.withStreams(life, handlers)
    } catch (defect) {
      return this.close(life, Exit.die(defect))
    }
    this.started(life)
    if (this.mail.depth > 0) this.rouse()
  }

  /** The stash of the incarnation whose init asks for it. */
  makeStash(life: Incarnation | undefined, capacity: number): StashBuffer | undefined {
    if (!(life instanceof Life) || life.mount !== this || life.stash !== undefined) return undefined
    return (life.stash = new StashBuffer(
      {
        path: this.path,
        inProgress: (fiber) => (life.self === fiber ? life.handling : undefined),
        putAside: () => (life.handling = undefined),
        putBack: (envelopes) => {
          if (life.over) return false
          this.mail.putBack(envelopes)
          this.rouse()
          return true
        },
        discard: (envelopes) => {
          if (life.over) return
          this.discard([...this.mail.takePutBack(), ...envelopes], (ask) => this.dropped(ask), "cleared")
        }
      },
      capacity
    ))
  }

  /** Ends the incarnation: its finalizers run, then its end is reported. */
  private close(life: Life, exit: Exit.Exit<unknown, unknown>): void {
    life.closing = true
    life.handlers = undefined
    life.exit = exit
    const finalizers = thenFinalize(this.endStreams(life), Scope.closeUnsafe(life.scope, exit))
    if (finalizers === undefined) this.finished(life, exit)
    else this.finalize(life, exit, finalizers)
    if (life.feeds !== undefined) this.runtime.post(() => life.feeds?.tell()) // A4
  }

  private finalize(life: Life, exit: Exit.Exit<unknown, unknown>, finalizers: Effect.Effect<unknown, unknown>): void {
    life.cancelTimer?.()
    life.cancelTimer = undefined
    const fiber = this.runtime.fork(
      Effect.uninterruptible(
        Effect.withFiber((fiber) => {
          life.self = fiber
          return Effect.provideService(finalizers, CurrentLife, life)
        })
      )
    )
    life.fiber = fiber
    fiber.addObserver((end) => {
      life.fiber = undefined
      this.finished(life, exits.withFinalizers(exit, end))
    })
    this.grace(life)
  }

  protected quit(life: Life, returns: boolean): void {
    if (life.closing) return
    const { stop } = this.spec
    const patient = life.ready && life.struck === undefined
    if (stop === "drain" && patient && !returns) {
      this.draining = true
      if (!this.awake) this.rest(life)
      return
    }
    this.endStreams(life)
    if (life.feeds !== undefined) this.runtime.post(() => life.feeds?.tell()) // A4
    const { fiber } = life
    if (fiber !== undefined) {
      if (stop === "interrupt" || !patient) fiber.interruptUnsafe()
    } else if (!this.awake || life.handling === undefined) this.close(life, Exit.void)
  }

  protected fence(life: Life): boolean {
    life.handlers = undefined
    this.endStreams(life)
    life.feeds?.tell()
    if (!life.closing) {
      life.fiber?.interruptUnsafe()
      if (life.fiber === undefined && !life.over) this.close(life, Exit.void)
    }
    const envelope = life.handling
    life.handling = undefined
    life.effect = undefined
    this.awake = false
    if (envelope !== undefined) this.interrupted(envelope)
    return life.fiber !== undefined
  }

  protected override down(life: Life, reason: ExitReason): void {
    const failed = reason._tag !== "Shutdown" && reason._tag !== "Normal"
    const { farewell, stash, unanswered } = life
    if (farewell !== undefined) this.onceDecided(farewell)
    if (unanswered !== undefined) {
      for (const ask of unanswered) {
        this.onceDecided(() => (failed && !life.ordered ? this.crashed(ask) : this.refuse(ask)))
      }
    }
    if (stash !== undefined) this.mail.putBack(stash.takeAll())
    if (failed && this.spec.mailbox.onRestart === "fail") {
      this.discard(this.mail.clear(), (ask) => this.onceDecided(() => this.crashed(ask)), "crashed")
    }
  }

  /** Runs `f` when the supervisor has decided about the end that is being reported. (A4) */
  private onceDecided(f: () => void): void {
    this.runtime.post(() => this.runtime.post(f))
  }

  override settle(): void {
    if (this.settled) return
    super.settle()
    this.discard(this.mail.clear(), (ask) => this.refuse(ask), "stopped")
  }

  override refusesSpecOf(other: Mount): Refusal | undefined {
    if (!(other instanceof ActorMount)) return "other-kind"
    // References that were given out keep the methods of the service that made them.
    return other.spec.ref === this.spec.ref ? undefined : "other-service"
  }

  protected override trade(other: ActorMount): void {
    super.trade(other)
    const { spec } = this
    this.spec = other.spec
    other.spec = spec
    this.mail.makeRoom(this.capacity)
  }

  protected override describe(): ChildSpec {
    return { ...super.describe(), mailbox: this.spec.mailbox }
  }

  override waitsOut(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return this.spec.stop !== "interrupt" && this.isRunBy(fiber)
  }

  snapshot(): Snapshot {
    const { capacity } = this
    return {
      ...this.node([]),
      mailbox: this.mail.depth + (this.current?.stash?.depth ?? 0),
      ...(Number.isFinite(capacity) ? { capacity } : {})
    }
  }
}

const noop = (): void => {}

/** The finalizers run after what still uses their resources has ended; both tell what went wrong. */
const thenFinalize = (
  first: Effect.Effect<void, unknown> | undefined,
  finalizers: Effect.Effect<void> | undefined
): Effect.Effect<void, unknown> | undefined => {
  if (first === undefined || finalizers === undefined) return first ?? finalizers
  return Effect.flatMap(Effect.exit(first), (end) =>
    Effect.flatMap(Effect.exit(finalizers), (exit) => exits.withFinalizers(end, exit) as Exit.Exit<void, unknown>)
  )
}
