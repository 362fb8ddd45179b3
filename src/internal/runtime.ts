/**
 * What all nodes of one tree share: the queue of decisions, the clock, timers, events, and the end.
 *
 * It owns the order in which decisions are taken: every message of every supervisor of the tree goes through one queue,
 * which is drained on a clean stack. It owns no child.
 *
 * **Invariants**
 *
 * - One total order: a message is decided only after all that were posted before it.
 * - A decision never runs inside the code that caused it: posting wakes a drain, in a microtask, or through the
 *   scheduler where that is not Effect's own (a test scheduler must see the work).
 * - After {@link WakesPerTurn} wake-ups the next goes through the scheduler, so timers and I/O have their turn whatever
 *   the tree does.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as Tracer from "effect/Tracer"

import * as Failure from "../Failure.ts"
import type { GaveUp } from "./errors.ts"
import { showPath } from "./errors.ts"
import { heard } from "./heard.ts"
import type { Event, EventBody, ExitReason } from "./model.ts"
import type { Incarnation } from "./mount.ts"
import { tellError, tellInfo, tellWarning } from "./telling.ts"

/** Wake-ups of the whole tree before it yields one turn of the event loop. */
export const WakesPerTurn = 1024

/** A node, as far as the runtime needs it. */
export interface Node {
  readonly path: ReadonlyArray<string>
  readonly parent: Node | undefined
}

/** The node whose init or run effect the current fiber executes. */
export const CurrentNode = Context.Reference<Node | undefined>("espalier/internal/CurrentNode", {
  defaultValue: () => undefined
})

/** The incarnation whose init or run effect the current fiber executes; its place is `CurrentNode`. */
export const CurrentLife = Context.Reference<Incarnation | undefined>("espalier/internal/CurrentLife", {
  defaultValue: () => undefined
})

export class Runtime {
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly ended = Deferred.makeUnsafe<void, GaveUp>()
  readonly leaks = new Map<object, ReadonlyArray<string>>()
  readonly classifier: (error: unknown) => Failure.Kind | undefined
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  private readonly observers = new Set<(event: Event) => void>()
  private readonly dispatcher: Scheduler.SchedulerDispatcher
  private readonly microtasks: boolean
  private readonly log: boolean
  private queue: Array<() => void> = []
  private awake = false
  private wakes = 0
  private onBroken: (() => void) | undefined
  private readonly origin: bigint
  /** what broke the runtime itself */
  defect: Exit.Exit<never> | undefined

  constructor(context: Context.Context<never>, options: { readonly log: boolean }) {
    this.context = Context.omit(Tracer.ParentSpan)(context) as Context.Context<never>
    this.clock = Context.get(context, Clock.Clock)
    this.origin = this.clock.monotonicTimeNanosUnsafe()
    this.classifier = Context.get(context, Failure.Classifier)
    this.fork = Effect.runForkWith(this.context)
    const scheduler = Context.get(context, Scheduler.Scheduler)
    this.microtasks = scheduler instanceof Scheduler.MixedScheduler
    this.dispatcher = scheduler.makeDispatcher()
    this.log = options.log
  }

  /** Runs `f` on a clean stack, soon. */
  wake(f: () => void): void {
    if (this.microtasks && ++this.wakes < WakesPerTurn) queueMicrotask(f)
    else {
      this.wakes = 0
      this.dispatcher.scheduleTask(f, 0)
    }
  }

  /** Runs `f` after everybody else had a turn. */
  yieldThen(f: () => void): void {
    this.dispatcher.scheduleTask(f, 0)
  }

  /** Puts one decision at the end of the queue. */
  post(decision: () => void): void {
    this.queue.push(decision)
    if (this.awake) return
    this.awake = true
    this.wake(this.drain)
  }

  private readonly drain = (): void => {
    let i = 0
    while (i < this.queue.length) {
      // A long queue is worked off in slices, so that one turn cannot grow without end.
      if (i === WakesPerTurn) {
        this.queue = this.queue.slice(i)
        return this.yieldThen(this.drain)
      }
      try {
        this.queue[i++]!()
      } catch (defect) {
        this.broken(defect) // what is left in the queue is decided all the same: somebody may wait for an answer
      }
    }
    this.queue = []
    this.awake = false
  }

  /** A decision itself failed: nothing that it left behind can be trusted, so the whole tree ends. */
  private broken(defect: unknown): void {
    if (this.defect !== undefined) return
    this.defect = Exit.die(defect)
    const end = this.onBroken
    this.onBroken = undefined
    try {
      end?.()
    } catch (second) {
      this.defect = Exit.failCause(Cause.combine(Cause.die(defect), Cause.die(second)))
    }
    this.finish(this.defect)
  }

  /** What to do when the runtime itself fails. */
  whenBroken(end: () => void): void {
    this.onBroken = end
  }

  /** Nanoseconds of the monotonic clock since the tree was made: small enough to be exact as a number. */
  nanos(): number {
    return Number(this.clock.monotonicTimeNanosUnsafe() - this.origin)
  }

  /** The time of {@link nanos}, in milliseconds since the epoch. */
  timeAt(nanos: number): number {
    return Math.round(this.clock.currentTimeMillisUnsafe() - (this.nanos() - nanos) / 1e6)
  }

  /** Calls `f` after `duration`, unless it is cancelled; an infinite duration never does. */
  later(duration: Duration.Duration, f: () => void): () => void {
    if (!Duration.isFinite(duration)) return noop
    const fiber = this.fork(Effect.andThen(Effect.sleep(duration), Effect.sync(f)))
    return () => fiber.interruptUnsafe()
  }

  observe(observer: (event: Event) => void): () => void {
    this.observers.add(observer)
    return () => this.observers.delete(observer)
  }

  emit(node: Node, body: EventBody): void {
    const loud = this.log && isLoud(body)
    if (this.observers.size === 0 && !loud) return
    const event: Event = { path: node.path, at: this.clock.currentTimeMillisUnsafe(), ...body }
    if (loud) this.report(event)
    for (const observer of this.observers) {
      const removed = (defect: unknown): void => {
        if (!this.observers.delete(observer)) return
        this.fork(
          tellError("an observer of the tree's events threw and was removed", Cause.die(defect)).pipe(
            Effect.annotateLogs({ path: showPath(event.path) })
          )
        )
      }
      try {
        heard(observer(event), removed)
      } catch (defect) {
        removed(defect)
      }
    }
  }

  /** The one place where the tree logs: what has no caller to be told. */
  private report(event: Event): void {
    const path = showPath(event.path)
    const annotated = Effect.annotateLogs({ path })
    switch (event._tag) {
      case "Exited": {
        const { reason } = event
        if (event.ordered) this.fork(tellWarning(`${path} failed while it stopped`, causeIn(reason)).pipe(annotated))
        else {
          const how = reason._tag === "Killed" ? "was killed" : "crashed"
          this.fork(tellWarning(`${path} ${how}`, causeIn(reason)).pipe(annotated))
        }
        return
      }
      case "StartFailed":
        this.fork(tellWarning(`${path} failed to start again`, event.cause).pipe(annotated))
        return
      case "BackingOff":
        this.fork(tellInfo(`${path} is restarted in ${Duration.format(event.delay)}`).pipe(annotated))
        return
      case "Failed":
        this.fork(tellError(`${path} is not restarted`, causeIn(event.reason)).pipe(annotated))
        return
      case "GaveUp":
        this.fork(
          tellError(
            event.why === "intensity"
              ? `${path} gave up on ${event.child}: more than ${event.intensity.restarts} restarts within ${Duration.format(
                  event.intensity.within
                )}`
              : `${path} gave up on ${event.child}, which escalated`,
            event.cause
          ).pipe(annotated)
        )
        return
      case "Leaked":
        this.fork(tellError(`${path} did not stop in its grace time and was abandoned`).pipe(annotated))
        return
      case "Warning":
        this.fork(tellWarning(`${path}: ${event.warning}`).pipe(annotated))
        return
      default:
    }
  }

  private readonly endings: Array<() => void> = []

  /** Calls `f` when the tree has ended. */
  atEnd(f: () => void): void {
    this.endings.push(f)
  }

  finish(exit: Exit.Exit<void, GaveUp>): void {
    for (const f of this.endings.splice(0)) f()
    Deferred.doneUnsafe(this.ended, this.defect ?? exit)
  }
}

const noop = (): void => {}

const isLoud = (body: EventBody): boolean => {
  switch (body._tag) {
    case "Exited":
      return body.ordered ? body.reason._tag === "Shutdown" && body.reason.cause !== undefined : isUnclean(body.reason)
    case "StartFailed":
      return body.incarnation > 1 // whoever asked for the first start is told how it failed
    case "BackingOff":
    case "Failed":
    case "GaveUp":
    case "Leaked":
    case "Warning":
      return true
    default:
      return false
  }
}

const isUnclean = (reason: { readonly _tag: string }): boolean => reason._tag === "Error" || reason._tag === "Killed"

const causeIn = (reason: ExitReason): Cause.Cause<unknown> =>
  reason._tag === "Normal" ? Cause.empty : (reason.cause ?? Cause.empty)
