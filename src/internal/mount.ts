/**
 * A place in the tree. The place is stable; what runs there, an incarnation, is not.
 *
 * `Mount` owns what all children share: the reports of an incarnation's ready and end, the time-out of its init, the
 * grace time of its stop, abandoning and fencing, and the verdict on its exit. A kind of child adds how an incarnation
 * begins, how it is asked to stop, and how it is fenced.
 *
 * **Invariants**
 *
 * - M1. An incarnation reports its end once: `over` is set first, and what comes later is ignored.
 * - M2. The intent to stop is recorded before anything is interrupted, so an exit is never classified by its cause alone.
 * - M3. An end is reported only after the incarnation's finalizers, or after the grace time, with `leaked`.
 * - M4. Observers hear of an end before anybody else does, and once; nothing is kept for a place without observers.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type * as Schedule from "effect/Schedule"

import * as Failure from "../Failure.ts"
import * as Backoff from "./backoff.ts"
import { InitTimeout } from "./errors.ts"
import * as exits from "./exit.ts"
import type { ChildSpec, ExitReason, NodeState, Snapshot } from "./model.ts"
import type { Node, Runtime } from "./runtime.ts"
import type * as core from "./transition.ts"

/** The policies of a child, defaults applied. */
export interface Policy {
  readonly id: string
  readonly restart: core.Restart
  readonly significant: boolean
  readonly shutdown: Duration.Duration | "abandon"
  /** whether `shutdown` was said, not a default */
  readonly declaredShutdown: boolean
  readonly initTimeout: Duration.Duration
  readonly backoff: Schedule.Schedule<unknown, Cause.Cause<unknown>> | undefined
  readonly backoffReset: Duration.Duration
  readonly onFailure: ((error: never) => exits.Directive) | undefined
}

/** What a child's end was about, for those above: where and why. */
export interface Trouble {
  readonly path: ReadonlyArray<string>
  readonly cause: Cause.Cause<unknown>
}

/** The supervisor of a mount, as the mount sees it. */
export interface Parent extends Node {
  readonly id: string
  readonly context: Context.Context<never>
  /** its children are started side by side: none of them waits for another */
  readonly concurrent: boolean
  /** its children are many of one kind: their ids say no more */
  readonly alike: boolean
  post(message: core.Message<Mount, Trouble>): void
}

/** Who is told about a place. Observers must not throw, and must not run the code of others before they return. */
export interface Observer {
  /** an incarnation is ready */
  up?(life: Incarnation): void
  /** an incarnation is over; nobody else knows yet */
  over?(life: Incarnation, reason: ExitReason): void
  /** nothing will start it again, unless somebody asks */
  settled?(): void
  /** the place itself is given up */
  revoked?(): void
}

/** One life of a child. */
export class Incarnation {
  readonly mount: Mount
  readonly number: number
  ready = false
  /** it was asked to stop (M2) */
  ordered = false
  /** it was asked to stop only to be started again */
  returns = false
  /** its end was reported (M1) */
  over = false
  /** why it has to end, when that is neither its own doing nor its supervisor's */
  struck: Cause.Cause<unknown> | undefined = undefined
  readyAt = 0
  /** how its body ended, while its finalizers still run */
  exit: Exit.Exit<unknown, unknown> | undefined = undefined
  cancelTimer: (() => void) | undefined = undefined
  /** when a stop's patience ends, in nanoseconds: it covers the body and the finalizers together */
  stopBy: number | undefined = undefined

  constructor(mount: Mount) {
    this.mount = mount
    this.number = mount.incarnation
  }
}

/** What a child that a template made has for itself. */
export interface Seat {
  readonly id: string
  /** keys of the references that the child itself finds */
  readonly provides: ReadonlyArray<string>
  context: Context.Context<never> | undefined
}

/** The specs of a place that was given another one, each held by a mount that is no place of its own. */
interface Specs {
  /** what the next incarnation follows */
  next: Mount | undefined
  /** what the place began with, and begins with again when its supervisor does */
  first: Mount | undefined
}

const defaultGrace = Duration.seconds(5)

const noRefs: ReadonlyMap<string, unknown> = new Map()

export abstract class Mount implements core.Child, Node {
  abstract readonly kind: Snapshot["kind"]
  index = -1
  state: NodeState = "stopped"
  incarnation = 0
  restarts = 0
  leaked = 0
  protected current: Incarnation | undefined
  /** where it stands in its schedule, once it was asked */
  private backoff: Backoff.Backoff | undefined
  private cancelRetryTimer: (() => void) | undefined
  /** when the retry is due, in milliseconds since the epoch */
  private retryAt: number | undefined
  /** steps the schedule of an incarnation that is over; its end is told with the delay */
  private stepping: Fiber.Fiber<unknown> | undefined
  readonly runtime: Runtime
  readonly parent: Parent | undefined
  policy: Policy
  /** not there at all until the place is given another spec: most never are */
  declare private specs: Specs | undefined
  private paths: ReadonlyArray<string> | undefined
  private observers: Set<Observer> | undefined
  /** nothing will start it, unless somebody asks */
  settled = false
  /** nothing ever will */
  revoked = false

  /** what the child brings along itself: the root's context, or that of the one who added it at run time */
  protected outer: Context.Context<never> | undefined

  constructor(
    runtime: Runtime,
    parent: Parent | undefined,
    policy: Policy,
    outer?: Context.Context<never> | undefined
  ) {
    this.runtime = runtime
    this.parent = parent
    this.policy = policy
    this.outer = outer
  }

  /** set for a child that a template made: what it is called there, beside others of the same spec */
  seat: Seat | undefined

  /** the services that the child's effects find */
  get context(): Context.Context<never> {
    if (this.outer !== undefined) return this.outer
    const base = this.parent?.context ?? this.runtime.context
    const { seat } = this
    if (seat === undefined || seat.provides.length === 0) return base
    // Its siblings have references of the same key, so it finds its own and they find theirs.
    return (seat.context ??= this.provided(seat.provides, base))
  }

  /** its references of those keys, as services */
  provided<P>(keys: ReadonlyArray<string>, base: Context.Context<P>): Context.Context<P> {
    const { refs } = this
    let context = base
    for (const key of keys) context = Context.addUnsafe(context, key, refs.get(key))
    return context
  }

  /** the stable references that this place gives to others, by service key */
  get refs(): ReadonlyMap<string, unknown> {
    return noRefs
  }

  get id(): string {
    return this.seat === undefined ? this.policy.id : this.seat.id
  }

  get restart(): core.Restart {
    return this.policy.restart
  }

  get significant(): boolean {
    return this.policy.significant
  }

  get path(): ReadonlyArray<string> {
    if (this.paths !== undefined) return this.paths
    const path: Array<string> = []
    path.push(this.id)
    for (let node = this.parent; node !== undefined; node = node.parent as Parent | undefined) path.push(node.id)
    return (this.paths = path.toReversed())
  }

  /** whether an incarnation is up and does what it is there for */
  get serving(): boolean {
    return this.state === "running" && this.current !== undefined && !this.current.over
  }

  /** the incarnation that is not over yet */
  get life(): Incarnation | undefined {
    return this.current?.over === false ? this.current : undefined
  }

  observe(observer: Observer): void {
    this.observers ??= new Set()
    this.observers.add(observer)
  }

  unobserve(observer: Observer): void {
    if (this.observers?.delete(observer) && this.observers.size === 0) this.observers = undefined
  }

  /** Begins the incarnation `this.incarnation`. */
  begin(): void {
    this.follow(this.specs?.next)
    this.runtime.emit(this, { _tag: "Starting", incarnation: this.incarnation })
    this.settled = this.revoked
    const life = this.live()
    this.current = life
    this.launch(life)
    if (!life.ready && !life.over) {
      life.cancelTimer ??= this.runtime.later(this.policy.initTimeout, () => this.initTimedOut(life))
    }
  }

  /** Asks the current incarnation to stop, and sees to it that its end is reported. */
  halt(returns = false): void {
    const life = this.current
    // Its end is on the way, unless a schedule takes its time: then it is told without a delay.
    if (life === undefined) this.stepping?.interruptUnsafe()
    if (life === undefined || life.over || life.ordered) return
    this.runtime.emit(this, { _tag: "Stopping" })
    life.ordered = true // M2
    life.returns = returns
    if (this.policy.shutdown === "abandon") return this.abandon(life)
    life.cancelTimer?.()
    life.cancelTimer = undefined
    life.stopBy = undefined
    this.quit(life, returns)
    this.grace(life)
  }

  /** Gives the incarnation its grace time to end; afterwards it is abandoned. */
  protected grace(life: Incarnation): void {
    if (life.over || life.cancelTimer !== undefined) return
    const { shutdown } = this.policy
    const patience = shutdown === "abandon" ? Duration.zero : shutdown
    // One that ended by itself is not hurried: its finalizers have the usual time, whatever a stop would give them.
    if (!life.ordered && Duration.toMillis(patience) === 0) {
      life.cancelTimer = this.runtime.later(defaultGrace, () => this.giveUpOn(life))
    } else if (Duration.toMillis(patience) === 0) this.giveUpOn(life)
    else life.cancelTimer = this.runtime.later(this.patienceLeft(life, patience), () => this.giveUpOn(life))
  }

  private patienceLeft(life: Incarnation, patience: Duration.Duration): Duration.Duration {
    if ((!life.ordered && life.struck === undefined) || !Duration.isFinite(patience)) return patience
    const now = this.runtime.nanos()
    life.stopBy ??= now + Duration.toMillis(patience) * 1e6
    return Duration.millis((life.stopBy - now) / 1e6)
  }

  /** Ends the incarnation for the tree at once, as an ordered stop. */
  abandon(life: Incarnation | undefined = this.current): void {
    this.stepping?.interruptUnsafe()
    if (life === undefined || life.over) return
    life.ordered = true // M2
    this.giveUpOn(life)
  }

  /** Stops waiting for the incarnation and cuts what connects it to the tree. */
  private giveUpOn(life: Incarnation): void {
    if (life.over) return
    const alive = this.fence(life)
    if (life.over) return // it ended while it was fenced
    if (alive) this.leak(life)
    const reason: ExitReason =
      life.ordered || life.exit === undefined
        ? { _tag: "Killed", cause: Cause.interrupt() }
        : exits.reasonOf(life.exit, false)
    const { struck } = life
    this.report(life, struck === undefined || life.ordered ? reason : { _tag: "Error", cause: struck }, alive)
  }

  private leak(life: Incarnation): void {
    this.leaked += 1
    this.runtime.leaks.set(life, this.path)
    this.runtime.emit(this, { _tag: "Leaked", incarnation: life.number })
  }

  /** What was abandoned has ended after all. */
  protected leakEnded(life: Incarnation): void {
    if (!this.runtime.leaks.delete(life)) return
    this.leaked -= 1
    this.runtime.emit(this, { _tag: "LeakEnded", incarnation: life.number })
  }

  private initTimedOut(life: Incarnation): void {
    if (life.ready || life.over) return
    life.cancelTimer = undefined
    const afterMillis = Duration.toMillis(this.policy.initTimeout)
    this.strike(life, Cause.fail(new InitTimeout({ path: [...this.path], afterMillis })))
  }

  /** Ends an incarnation for a reason that is neither its own doing nor its supervisor's. */
  strike(life: Incarnation, cause: Cause.Cause<unknown>): void {
    if (life.over || life.ordered || life.exit !== undefined || life.struck !== undefined) return
    life.struck = cause
    life.cancelTimer?.()
    life.cancelTimer = undefined
    this.quit(life, false)
    this.grace(life)
  }

  /** The init is finished: the child counts as running. */
  protected started(life: Incarnation): void {
    if (life.over || life.ready || life.struck !== undefined) return
    life.ready = true
    life.readyAt = this.runtime.nanos()
    if (life.ordered) return
    life.cancelTimer?.()
    life.cancelTimer = undefined
    this.runtime.emit(this, { _tag: "Started", incarnation: life.number })
    if (this.observers !== undefined) for (const observer of this.observers) observer.up?.(life)
    this.parent?.post({ _tag: "Started", child: this, incarnation: life.number })
  }

  /** The init declined: there is nothing to run, and that is no failure. */
  protected ignored(life: Incarnation): void {
    if (life.over) return this.leakEnded(life)
    life.over = true
    life.cancelTimer?.()
    if (this.observers !== undefined) this.tellOver(life, { _tag: "Normal" })
    this.runtime.emit(this, { _tag: "Ignored", incarnation: life.number })
    this.parent?.post({ _tag: "Ignored", child: this, incarnation: life.number })
  }

  /** The incarnation and its finalizers are finished. */
  protected finished(life: Incarnation, exit: Exit.Exit<unknown, unknown>): void {
    if (life.over) return this.leakEnded(life)
    const { struck } = life
    const known = struck === undefined || life.ordered ? exit : Exit.failCause(struck)
    const reason = exits.reasonOf(known, life.ordered, this.kind === "supervisor" && life.ready)
    this.report(
      life,
      // A start that interrupts itself, or ends without having begun, is a failed start.
      life.ready || life.ordered || reason._tag !== "Normal"
        ? reason
        : { _tag: "Error", cause: Cause.die(new TypeError("the init ended without a run effect")) },
      false
    )
  }

  private report(life: Incarnation, reason: ExitReason, leaked: boolean): void {
    life.over = true // M1
    life.cancelTimer?.()
    life.cancelTimer = undefined
    const { runtime } = this
    const now = runtime.nanos()
    const trouble = this.troubleOf(reason)
    if (this.current === life) this.current = undefined
    if (this.observers !== undefined) this.tellOver(life, reason) // M4
    const failedStart = !life.ready && !life.ordered
    runtime.emit(
      this,
      failedStart
        ? { _tag: "StartFailed", incarnation: life.number, cause: trouble.cause }
        : { _tag: "Exited", incarnation: life.number, reason, ordered: life.ordered }
    )
    this.down(life, reason)
    const post = (verdict: core.Verdict, delayMillis: number): void =>
      this.parent?.post({
        _tag: failedStart ? "StartFailed" : "Exited",
        child: this,
        incarnation: life.number,
        verdict,
        delayMillis,
        now,
        leaked,
        failure: trouble
      })
    // Nobody is above the root to decide about it: what its end means is told by `down`.
    if (this.parent === undefined) return
    if (life.ordered) {
      post("stop", 0)
      // Those who wait for it need not wait for its siblings too.
      if (!life.returns) this.settle()
      return
    }
    const classified = Failure.classify(trouble.cause, runtime.classifier)
    const verdict = exits.verdictOf(
      failedStart ? "Error" : reason._tag,
      this.restart,
      this.directive(classified, trouble.cause)
    )
    if (verdict === "fail") runtime.emit(this, { _tag: "Failed", reason })
    if (verdict !== "restart") return post(verdict, 0)
    if (life.ready && now - life.readyAt >= Duration.toMillis(this.policy.backoffReset) * 1e6) this.backoff = undefined
    if (this.policy.backoff === undefined && classified.kind !== "transient") return post("restart", 0)
    const asked = runtime.fork(
      Backoff.next(
        (this.backoff ??= Backoff.make()),
        this.policy.backoff,
        classified,
        trouble.cause,
        runtime.clock.currentTimeMillisUnsafe()
      )
    )
    this.stepping = asked
    asked.addObserver((exit) => {
      this.stepping = undefined
      const delay = Exit.isSuccess(exit) ? exit.value : undefined
      if (delay === undefined) post("escalate", 0)
      else post("restart", delay)
    })
  }

  private tellOver(life: Incarnation, reason: ExitReason): void {
    for (const observer of this.observers!) observer.over?.(life, reason)
  }

  /** Where the trouble is: here, or deeper for a supervisor. */
  protected troubleOf(reason: ExitReason): Trouble {
    return reason._tag === "GaveUp"
      ? { path: reason.path, cause: reason.cause }
      : { path: this.path, cause: exits.causeOf(reason) }
  }

  private directive(classified: Failure.Classified, cause: Cause.Cause<unknown>): exits.Directive {
    const { onFailure } = this.policy
    const typed = cause.reasons.find(Cause.isFailReason)
    const bug = cause.reasons.some((reason) => Cause.isDieReason(reason) && !Failure.isMarked(reason.defect))
    // An infrastructure failure of the tree's own is not one of the child's errors.
    if (onFailure !== undefined && typed !== undefined && !bug && !exits.isA(typed.error, InitTimeout)) {
      try {
        return onFailure(typed.error as never)
      } catch {
        // A directive that throws cannot be relied on: the supervisor decides as if the child had a bug.
        return "restart"
      }
    }
    return exits.defaultDirective(classified.kind)
  }

  /** Waits, then asks the supervisor to try again. */
  retryLater(delayMillis: number): void {
    const incarnation = this.incarnation
    const due = (): void => {
      this.cancelRetryTimer = undefined
      this.parent?.post({ _tag: "Retry", child: this, incarnation, now: this.runtime.nanos() })
    }
    if (delayMillis === 0) {
      this.runtime.yieldThen(due)
      return
    }
    const delay = Duration.millis(delayMillis)
    const until = this.runtime.clock.currentTimeMillisUnsafe() + delayMillis
    this.retryAt = until
    this.runtime.emit(this, { _tag: "BackingOff", delay, until })
    this.cancelRetryTimer = this.runtime.later(delay, due)
  }

  cancelRetry(): void {
    this.cancelRetryTimer?.()
    this.cancelRetryTimer = undefined
  }

  /** The supervisor begins anew: so do the counts. */
  renew(): void {
    this.settled = this.revoked
    this.restarts = 0
    if (this.specs !== undefined) {
      this.follow(this.specs.first)
      this.specs = undefined
    }
    this.backoff = undefined
  }

  /** Whether its incarnations can follow the spec of `other`. */
  refusesSpecOf(_other: Mount): core.Refusal | undefined {
    return "not-replaceable"
  }

  /** Follows the spec of `other`, a mount of the same kind that is no place of its own: at once, or from its next start on. */
  replaceBy(other: Mount, atOnce: boolean): void {
    this.specs ??= { next: undefined, first: undefined }
    this.specs.next = other
    this.runtime.emit(this, { _tag: "Replaced", incarnation: this.incarnation + 1 })
    if (atOnce) this.follow(other)
  }

  private follow(other: Mount | undefined): void {
    if (other === undefined) return
    this.trade(other)
    this.backoff = undefined
    this.specs!.next = undefined
    this.specs!.first ??= other // it holds the spec that was followed before
  }

  /** Exchanges the specs of two mounts of one kind. */
  protected trade(other: Mount): void {
    const { outer, policy } = this
    this.policy = other.policy
    this.outer = other.outer
    other.policy = policy
    other.outer = outer
  }

  /** the spec that its next incarnation follows */
  get followed(): ChildSpec {
    return (this.specs?.next ?? this).describe()
  }

  protected describe(): ChildSpec {
    const { backoff, backoffReset, initTimeout, onFailure, restart, shutdown, significant } = this.policy
    return {
      id: this.id,
      kind: this.kind,
      restart,
      significant,
      shutdown,
      initTimeout,
      backoff: backoff !== undefined,
      backoffReset,
      onFailure: onFailure !== undefined
    }
  }

  abstract snapshot(): Snapshot

  protected node(children: ReadonlyArray<Snapshot>): Snapshot {
    const { current, runtime } = this
    return {
      id: this.id,
      path: this.path,
      kind: this.kind,
      state: this.state,
      restart: this.restart,
      incarnation: this.incarnation,
      restarts: this.restarts,
      leaked: this.leaked,
      ...(this.state === "running" && current !== undefined ? { since: runtime.timeAt(current.readyAt) } : {}),
      ...(this.parent?.alike === true ? { instance: true as const } : {}),
      ...(this.state === "backing-off" && this.retryAt !== undefined ? { retryAt: this.retryAt } : {}),
      children
    }
  }

  /** A new incarnation's record. */
  protected live(): Incarnation {
    return new Incarnation(this)
  }

  /** Starts the init; answers through `started`, `ignored`, `finished`. */
  protected abstract launch(life: Incarnation): void

  /** Asks the incarnation to end; answers through `finished`. */
  protected abstract quit(life: Incarnation, returns: boolean): void

  /** Interrupts without waiting, revokes what reaches the incarnation; tells whether something still runs. */
  protected abstract fence(life: Incarnation): boolean

  /** Whether a stop leaves that fiber alone until it is done, although it could be interrupted. */
  waitsOut(_fiber: Fiber.Fiber<unknown, unknown>): boolean {
    return false
  }

  /** The incarnation is down for those who depend on it. */
  protected down(_life: Incarnation, _reason: ExitReason): void {}

  /** Nothing will start it again, unless somebody asks: those who wait for it are told. */
  settle(): void {
    if (this.settled) return
    this.settled = true
    if (this.observers !== undefined) for (const observer of this.observers) observer.settled?.()
  }

  /** Does so, unless an incarnation is under way. */
  settleIdle(): void {
    if (this.current === undefined) this.settle()
  }

  /** The place itself is given up: the child was removed, or the tree is over. */
  revoke(): void {
    if (this.revoked) return
    this.revoked = true
    this.settle()
    if (this.observers !== undefined) for (const observer of this.observers) observer.revoked?.()
  }
}
