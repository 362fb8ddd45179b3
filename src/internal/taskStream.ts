/**
 * A stream whose elements are made by tasks.
 *
 * A driver, one fiber that belongs to the stream's scope, takes elements from the input and starts their tasks. The
 * consumer takes what is ready. Neither waits for the other unless the {@link Plan}'s bounds say so.
 *
 * **Invariants**
 *
 * - S1. At most `concurrency` tasks hold a slot. A task gives its slot back when it is over, not when its result is taken.
 * - S2. At most `ahead` elements are inside: begun, and not yet taken by the consumer.
 * - S3. An element has one outcome; the first of result and time-out is the one.
 * - S4. After a failure nothing is begun, what was ready before it is still delivered, then the failure is.
 * - S5. When the stream ends, in whatever way, its driver has ended and its tasks are over before the input is finalised.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import { stop, timeout } from "./taskHandle.ts"
import { Job, type Patience, type TasksMount } from "./tasksMount.ts"

/** The options of a stream, checked and with their defaults. */
export interface Plan {
  readonly concurrency: number
  readonly ahead: number
  readonly ordered: boolean
  readonly timeout: Duration.Duration
  readonly onTimeout: "fail" | "value"
  readonly link: boolean
  readonly zipInput: boolean
  readonly shutdown: Patience | undefined
}

type Work = (input: unknown, index: number) => Effect.Effect<unknown, unknown>

interface Entry {
  readonly input: unknown
  readonly index: number
  /** what the consumer gets (S3) */
  outcome: { readonly value: unknown } | undefined
  job: Job | undefined
  cancelTimer: (() => void) | undefined
}

class Run {
  private readonly mount: TasksMount
  private readonly plan: Plan
  private readonly work: Work
  private readonly jobs = new Set<Job>()
  /** elements of an ordered stream whose turn has not come, in order; bounded by `ahead` */
  private readonly order: Array<Entry> = []
  /** outcomes for the consumer; bounded by `ahead` */
  private readonly ready: Array<unknown> = []
  private slots = 0
  private inside = 0
  private count = 0
  private failure: Cause.Cause<unknown> | undefined
  /** how the input ended */
  private end: Cause.Cause<unknown> | undefined
  private closed = false
  private wakeConsumer: (() => void) | undefined
  private wakeDriver: (() => void) | undefined

  constructor(mount: TasksMount, plan: Plan, work: Work) {
    this.mount = mount
    this.plan = plan
    this.work = work
  }

  // ----------------------------------------------------------------------------------------------------------- driver

  /** Starts the task of each element, as the bounds allow. */
  drive(input: Pull.Pull<ReadonlyArray<unknown>, unknown>): Effect.Effect<never, unknown> {
    return Effect.forever(
      Effect.flatMap(input, (chunk) => Effect.forEach(chunk, (element) => this.beginOne(element), { discard: true })),
      { disableYield: true }
    )
  }

  /** The driver has ended: there is no more input. */
  inputEnded(exit: Exit.Exit<never, unknown>): void {
    if (this.closed || Exit.isSuccess(exit)) return
    this.end = exit.cause
    this.wakeConsumer?.()
  }

  private get hasRoom(): boolean {
    return (
      this.failure === undefined &&
      !this.closed &&
      this.slots < this.plan.concurrency && // S1
      this.inside < this.plan.ahead // S2
    )
  }

  private beginOne(input: unknown): Effect.Effect<void> {
    return Effect.withFiber((fiber) => {
      if (this.hasRoom) return Effect.sync(() => this.begin(input, fiber))
      // After a failure there never is: the driver is interrupted with the stream.
      return Effect.callback<void>((resume) => {
        this.wakeDriver = () => {
          if (!this.hasRoom) return
          this.wakeDriver = undefined
          resume(Effect.sync(() => this.begin(input, fiber)))
        }
        return Effect.sync(() => (this.wakeDriver = undefined))
      })
    })
  }

  private begin(input: unknown, driver: Fiber.Fiber<unknown, unknown>): void {
    if (this.closed || this.failure !== undefined) return
    const { mount, plan } = this
    const entry: Entry = { input, index: this.count++, outcome: undefined, job: undefined, cancelTimer: undefined }
    this.slots += 1
    this.inside += 1
    if (plan.ordered) this.order.push(entry)
    const task = Effect.suspend(() => this.work(input, entry.index))
    const job = mount.spawn(task, driver.context, plan.shutdown)
    if (!(job instanceof Job)) return this.fail(Cause.fail(job))
    entry.job = job
    this.jobs.add(job)
    job.onResult((result) => this.finished(entry, job, result))
    job.onOver(() => {
      this.jobs.delete(job)
      this.slots -= 1
      this.wakeDriver?.()
    })
    // It may have failed the stream before anybody knew that it belongs to it.
    if (this.closed || this.failure !== undefined) job.cancel()
    else if (!job.over) entry.cancelTimer = mount.runtime.later(plan.timeout, () => this.timedOut(entry, job))
  }

  // --------------------------------------------------------------------------------------------------------- outcomes

  private finished(entry: Entry, job: Job, result: Exit.Exit<unknown, unknown>): void {
    entry.cancelTimer?.()
    entry.cancelTimer = undefined
    if (entry.outcome !== undefined || this.failure !== undefined || this.closed) return
    const { link, onTimeout } = this.plan
    if (Exit.isSuccess(result)) {
      const plain = link && onTimeout === "fail"
      return this.settle(entry, plain ? result.value : { _tag: "Ok", value: result.value })
    }
    // Without its supervisor no task of the stream can do anything: that is no element's failure.
    if (link || job.revoked) return this.fail(result.cause)
    this.settle(entry, { _tag: "Failed", cause: result.cause, index: entry.index, input: this.inputOf(entry) })
  }

  private timedOut(entry: Entry, job: Job): void {
    entry.cancelTimer = undefined
    if (entry.outcome !== undefined || this.failure !== undefined || this.closed) return
    const error = timeout(job, this.plan.timeout, entry.index)
    if (this.plan.onTimeout === "fail") return this.fail(Cause.fail(error))
    const { afterMillis } = error
    this.settle(entry, { _tag: "TimedOut", afterMillis, index: entry.index, input: this.inputOf(entry) })
    job.cancel()
  }

  private inputOf(entry: Entry): unknown {
    return this.plan.zipInput ? entry.input : undefined
  }

  private settle(entry: Entry, value: unknown): void {
    entry.outcome = { value } // S3
    if (!this.plan.ordered) this.ready.push(value)
    else {
      let due = 0
      while (due < this.order.length && this.order[due]!.outcome !== undefined) due += 1
      for (const next of this.order.splice(0, due)) this.ready.push(next.outcome!.value)
    }
    if (this.ready.length > 0) this.wakeConsumer?.()
  }

  private fail(cause: Cause.Cause<unknown>): void {
    if (this.failure !== undefined || this.closed) return
    this.failure = cause // S4
    this.cancelAll()
    this.wakeConsumer?.()
  }

  private cancelAll(): void {
    for (const job of this.jobs) job.cancel()
  }

  // --------------------------------------------------------------------------------------------------------- consumer

  /** Takes the next outcome, or waits for it. One at a time: what a consumer has in its hands is no longer counted. */
  readonly pull: Effect.Effect<Arr.NonEmptyReadonlyArray<unknown>, unknown> = Effect.suspend(() => {
    if (this.ready.length > 0) {
      const value = this.ready.shift()
      this.inside -= 1
      this.wakeDriver?.()
      return Effect.succeed(Arr.of(value))
    }
    if (this.failure !== undefined) return Effect.failCause(this.failure)
    if (this.end !== undefined && this.inside === 0) return Effect.failCause(this.end)
    return Effect.callback<Arr.NonEmptyReadonlyArray<unknown>, unknown>((resume) => {
      this.wakeConsumer = () => {
        this.wakeConsumer = undefined
        resume(this.pull)
      }
      return Effect.sync(() => (this.wakeConsumer = undefined))
    })
  })

  /** Ends the driver and the tasks, and waits for both. (S5) */
  close(driver: Fiber.Fiber<never, unknown>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.closed = true
      this.cancelAll()
      // The driver may be in the middle of starting one more.
      const rest = Effect.suspend(() => Effect.forEach([...this.jobs], stop, { discard: true }))
      return Effect.andThen(Fiber.interrupt(driver), rest)
    })
  }
}

/** An iterable as the input of a stream: one element at a time, and its iterator is told when the rest is not wanted. */
export const fromIterable = <A>(items: Iterable<A>): Stream.Stream<A> =>
  Array.isArray(items)
    ? Stream.fromArray(items as ReadonlyArray<A>)
    : Stream.fromPull(
        Effect.map(
          Effect.acquireRelease(
            Effect.sync(() => ({ iterator: items[Symbol.iterator](), done: false })),
            (state) => Effect.sync(() => (state.done ? undefined : state.iterator.return?.()))
          ),
          (state) =>
            Effect.suspend((): Pull.Pull<Arr.NonEmptyReadonlyArray<A>> => {
              const next = state.iterator.next()
              if (next.done === true) {
                state.done = true
                return Cause.done()
              }
              return Effect.succeed([next.value])
            })
        )
      ).pipe(Stream.scoped)

export const make = (
  mount: TasksMount,
  items: Stream.Stream<unknown, unknown>,
  work: Work,
  plan: Plan
): Stream.Stream<unknown, unknown> =>
  Stream.fromChannel(
    Channel.fromTransformBracket((_upstream: Pull.Pull<unknown, unknown, unknown>, _scope, scope) =>
      Effect.flatMap(Channel.toPullScoped(Stream.toChannel(items), scope), (input) => {
        const run = new Run(mount, plan, work)
        // Nothing comes between the driver's start and the finalizer that ends it.
        const start = Effect.flatMap(Effect.forkIn(run.drive(input), scope), (driver) => {
          driver.addObserver((exit) => run.inputEnded(exit))
          return Scope.addFinalizer(scope, run.close(driver))
        })
        return Effect.as(Effect.uninterruptible(start), run.pull)
      })
    )
  )
