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
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import type { Mailbox } from "../Mailbox.ts"
import { ActorCrashed, ActorStopped, AskTimeout, cheaply, MailboxFull } from "./actorErrors.ts"
import type { Addressee } from "./envelope.ts"
import { Ask, Deadlines, type Envelope } from "./envelope.ts"
import { showPath } from "./errors.ts"
import * as exits from "./exit.ts"
import { Fifo } from "./fifo.ts"
import type { DeadLetterReason, ExitReason, Snapshot } from "./model.ts"
import type { Parent, Policy } from "./mount.ts"
import { Incarnation, Mount } from "./mount.ts"
import { Feeds, isThenable, type StreamRpc } from "./replyStream.ts"
import { CurrentLife, CurrentNode } from "./runtime.ts"
import type { Runtime } from "./runtime.ts"

/** The handlers of one incarnation, by rpc. */
export type Handlers = Readonly<Record<string, (payload: never) => unknown>>

/** An actor's spec, as its mount needs it. */
export interface ActorSpec {
  readonly key: string
  readonly build: Effect.Effect<Handlers, unknown, Scope.Scope>
  readonly mailbox: Mailbox
  /** let the message in progress finish when the actor is stopped */
  readonly finish: boolean
  /** the rpcs that answer with streams */
  readonly streams: ReadonlyArray<StreamRpc>
  readonly ref: (mount: ActorMount) => unknown
}

class Life extends Incarnation {
  readonly scope = Scope.makeUnsafe()
  handlers: Handlers | undefined = undefined
  /** the init's fiber, then that of a burst whose handler is suspended, then that of the finalizers */
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  closing = false
  /** the fiber that runs the init, or handlers, or finalizers: who asks from there waits for itself */
  self: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** the message in progress */
  handling: Envelope | undefined = undefined
  /** the effect of the message in progress, while a burst is about to run it */
  effect: Effect.Effect<unknown, unknown> | undefined = undefined
  /** messages that this turn may still begin */
  turn = 0
  /** the streams that its handlers made, if the protocol has any */
  feeds: Feeds | undefined = undefined
}

const deadlinesOf = new WeakMap<Runtime, Deadlines>()

const deadlines = (runtime: Runtime): Deadlines => {
  let known = deadlinesOf.get(runtime)
  if (known === undefined) {
    const made = new Deadlines(runtime)
    runtime.atEnd(() => made.stop())
    deadlinesOf.set(runtime, (known = made))
  }
  return known
}

/** A sender that waits for room. */
interface Waiting {
  readonly envelope: Envelope
  readonly taken: () => void
}

export class ActorMount extends Mount implements Addressee {
  readonly kind = "actor"
  declare protected current: Life | undefined
  readonly ref: unknown
  private readonly spec: ActorSpec
  private readonly mail = new Fifo<Envelope>()
  /** control messages: before the mail, and beyond its bound, for none may be lost */
  private control: Fifo<Envelope> | undefined
  /** senders that wait for room; each is a suspended fiber, so their number is bounded by them */
  private waiting: Fifo<Waiting> | undefined
  /** made when it is first needed: most actors of a large tree are idle */
  private drainer: (() => void) | undefined
  private awake = false

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

  get depth(): number {
    return this.mail.size + (this.control?.size ?? 0)
  }

  get capacity(): number {
    return this.spec.mailbox.capacity
  }

  // ---------------------------------------------------------------------------------------------------------- senders

  override get serving(): boolean {
    return this.current?.handlers !== undefined
  }

  /** Whether an ask from `caller` can only be answered once the caller's own init is finished. */
  waitsFor(caller: Mount | undefined): boolean {
    if (this.settled) return false
    for (let node: Mount | undefined = caller; node !== undefined; node = node.parent as Mount | undefined) {
      // Below their nearest common supervisor, one branch starts, and the other is down until that is done.
      const branch = this.branchOf(node.parent)
      if (branch !== undefined) {
        return branch !== node && !node.parent!.concurrent && node.state === "starting" && !branch.serving
      }
    }
    return false
  }

  /** Whether `fiber` is the one that would have to handle what it asks. */
  isRunBy(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return this.current?.self === fiber
  }

  private branchOf(supervisor: Parent | undefined): Mount | undefined {
    if (this.parent === supervisor) return this
    let node = this.parent as Mount | undefined
    while (node !== undefined && node.parent !== supervisor) node = node.parent as Mount | undefined
    return node
  }

  ask(envelope: Ask, millis: number): void {
    if (this.settled) return this.refuse(envelope)
    if (!this.hasRoom()) {
      switch (this.spec.mailbox.whenFull) {
        case "wait": {
          this.wait({ envelope, taken: noop })
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
    if (this.settled) return this.refuse(envelope)
    this.pushFirst(envelope)
    this.await(envelope, millis)
  }

  private await(envelope: Ask, millis: number): void {
    if (Number.isFinite(millis)) deadlines(this.runtime).add(envelope, millis)
  }

  /** Takes a tell, or answers `false` when it would have to wait or be dropped. */
  tellUnsafe(envelope: Envelope): boolean {
    if (this.settled || !this.hasRoom()) return false
    this.push(envelope)
    return true
  }

  /** Takes a tell by the mailbox's policy; calls `taken` once it is in, or never will be. */
  tell(envelope: Envelope, taken: () => void): void {
    if (this.settled) this.deadLetter(envelope, "stopped")
    else if (this.hasRoom()) this.push(envelope)
    else {
      switch (this.spec.mailbox.whenFull) {
        case "wait": {
          this.wait({ envelope, taken })
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
    if (this.settled) return false
    this.pushFirst(envelope)
    return true
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
    this.control ??= new Fifo()
    this.control.push(envelope)
    this.rouse()
  }

  private wait(sender: Waiting): void {
    this.waiting ??= new Fifo()
    this.waiting.push(sender)
  }

  private full(envelope: Envelope): void {
    const { capacity } = this
    envelope.answer(Effect.fail(cheaply(() => new MailboxFull({ actor: this.path, rpc: envelope.rpc, capacity }))))
  }

  private refuse(envelope: Envelope): void {
    envelope.answer(Effect.fail(cheaply(() => new ActorStopped({ actor: this.path, rpc: envelope.rpc }))))
  }

  private crashed(envelope: Envelope): void {
    envelope.answer(Effect.fail(cheaply(() => new ActorCrashed({ actor: this.path, rpc: envelope.rpc }))))
  }

  /** Takes a message in and the oldest one out. */
  private pushOut(envelope: Envelope): void {
    const oldest = this.takeMail()
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

  // ---------------------------------------------------------------------------------------------------------- mailbox

  /** The next message that somebody still wants handled. */
  private take(): Envelope | undefined {
    for (let urgent = this.control?.shift(); urgent !== undefined; urgent = this.control?.shift()) {
      if (!urgent.cancelled) return urgent
    }
    return this.takeMail()
  }

  /** The oldest of the ordinary ones. */
  private takeMail(): Envelope | undefined {
    for (let envelope = this.mail.shift(); envelope !== undefined; envelope = this.mail.shift()) {
      if (this.waiting !== undefined) this.admit(this.waiting)
      if (!envelope.cancelled) return envelope
    }
    return undefined
  }

  /** Lets the first sender in that still waits for room. */
  private admit(waiting: Fifo<Waiting>): void {
    for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) {
      if (first.envelope.cancelled) continue
      this.mail.push(first.envelope)
      return first.taken()
    }
  }

  /** Empties the mailbox: asks get `answer`, tells become dead letters. */
  private clear(answer: (envelope: Envelope) => void, reason: DeadLetterReason): void {
    const mail = [...(this.control?.takeAll() ?? []), ...this.mail.takeAll()]
    for (const { envelope, taken } of this.waiting?.takeAll() ?? []) {
      mail.push(envelope)
      taken()
    }
    for (const envelope of mail) {
      if (envelope.cancelled) continue
      if (envelope instanceof Ask) answer(envelope)
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
    life.turn = this.depth // A5
    this.proceed(life)
    this.burst(life)
  }

  /** Runs plain handlers until one returns an Effect, the turn is over, or the mailbox is empty. */
  private proceed(life: Life): void {
    life.effect = undefined
    while (life.turn > 0) {
      const envelope = this.take()
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
      life.handling = undefined
      envelope.answer(Effect.succeed(result))
      if (life.closing || life.over) return
    }
  }

  /** Runs the effect at hand, and those of the messages after it, in one fiber. */
  private burst(life: Life): void {
    while (life.effect !== undefined) {
      const fiber = Effect.runForkWith(this.context)(
        Effect.whileLoop({
          while: () => life.effect !== undefined,
          body: () => {
            life.self = Fiber.getCurrent()
            return life.effect!
          },
          step: (value) => {
            const envelope = life.handling
            life.handling = undefined
            envelope?.answer(Effect.succeed(value))
            if (life.closing || life.ordered || life.over) life.effect = undefined
            else this.proceed(life)
          }
        })
      )
      const exit = fiber.pollUnsafe()
      if (exit === undefined) {
        life.fiber = fiber
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
    life.self = undefined
    if (life.over) {
      this.lateEnd(life, exit)
      return false
    }
    if (Exit.isSuccess(exit)) {
      if (life.ordered || life.closing) return this.closeOnce(life, Exit.void)
      return true
    }
    const { cause } = exit
    const envelope = life.handling
    if (cause.reasons.every(Cause.isFailReason)) {
      // The protocol's own error: it answers the caller, the actor lives on.
      life.handling = undefined
      envelope?.answer(exit)
      if (life.ordered) return this.closeOnce(life, Exit.void)
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
    if (life.ordered) this.close(life, Exit.void)
    else if (this.depth > 0) this.rouse()
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
      else {
        life.handlers = this.spec.streams.length === 0 ? exit.value : this.withStreams(life, exit.value)
        this.started(life)
        if (this.depth > 0) this.rouse()
      }
    })
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
          return finalizers
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

  protected quit(life: Life): void {
    if (life.closing) return
    this.endStreams(life)
    if (life.feeds !== undefined) this.runtime.post(() => life.feeds?.tell()) // A4
    const { fiber } = life
    if (fiber !== undefined) {
      if (!this.spec.finish || !life.ready || life.struck !== undefined) fiber.interruptUnsafe()
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

  protected override down(_life: Incarnation, reason: ExitReason): void {
    if (this.spec.mailbox.onRestart === "fail" && reason._tag !== "Shutdown" && reason._tag !== "Normal") {
      this.clear((envelope) => this.runtime.post(() => this.crashed(envelope)), "crashed")
    }
  }

  override settle(): void {
    if (this.settled) return
    super.settle()
    this.clear((envelope) => this.refuse(envelope), "stopped")
  }

  snapshot(): Snapshot {
    return { ...this.node([]), mailbox: this.depth }
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
