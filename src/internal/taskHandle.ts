/**
 * Tasks as their callers see them: waiting for a result, stopping, and the link between a task and the one who asked.
 */
import type * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

import { durationOf } from "../Child.ts"
import { cheaply } from "./actorErrors.ts"
import { type TasksFull, type TasksStopped, TaskTimeout } from "./taskErrors.ts"
import { Job, type Patience, type TasksMount } from "./tasksMount.ts"

/** What waits for the end of a task while nobody may interrupt it: the task's grace time bounds it. */
export const stop = (job: Job): Effect.Effect<void> =>
  Effect.callback((resume) => {
    job.cancel()
    job.onOver(() => resume(Effect.void))
  })

/**
 * The tasks that one caller is linked to. It fails with the first of them that ends uncleanly, and they end with it.
 *
 * **Invariants**
 *
 * - L1. A linked task is over before the caller that it is linked to has ended.
 * - L2. The first failure is the one that counts; the tasks that are cancelled because of it are not heard.
 */
export class Link {
  private readonly jobs = new Set<Job>()
  private readonly silent = new Set<Job>()
  private closed = false
  private cause: Cause.Cause<unknown> | undefined
  private crash: (() => void) | undefined

  /** Fails with the cause of a crash. */
  readonly failed: Effect.Effect<never, unknown> = Effect.callback((resume) => {
    this.crash = () => {
      if (this.cause !== undefined) resume(Effect.failCause(this.cause))
    }
    this.crash()
  })

  /** Whether it takes tasks. */
  get open(): boolean {
    return !this.closed && this.cause === undefined
  }

  add(job: Job): void {
    this.jobs.add(job)
    job.onOver(() => {
      this.jobs.delete(job)
      this.silent.delete(job)
    })
    job.onResult((result) => {
      if (Exit.isFailure(result) && !this.silent.has(job)) this.fail(result.cause)
    })
    // It may have brought its own caller down before anybody knew that they were linked.
    if (!this.open) job.cancel()
  }

  /** The task's end will not be heard, whatever it is; it still ends with the caller. */
  silence(job: Job): void {
    if (this.jobs.has(job)) this.silent.add(job)
  }

  /** Nothing connects the task and the caller any longer. */
  release(job: Job): void {
    this.silence(job)
    this.jobs.delete(job)
  }

  private fail(cause: Cause.Cause<unknown>): void {
    if (!this.open) return
    this.cause = cause // L2
    this.crash?.()
    for (const job of this.jobs) job.cancel()
  }

  /** Cancels what still runs, all at once, and waits until it is over. (L1) */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    const jobs = [...this.jobs]
    for (const job of jobs) job.cancel()
    return Effect.forEach(jobs, stop, { discard: true })
  })
}

/** The link of the current caller. */
export const CurrentLink = Context.Service<Link, Link>("espalier/Tasks/Link")

/** Runs an effect as a caller to whom tasks can be linked. */
export const linked = <A, E, R>(body: Effect.Effect<A, E, R>): Effect.Effect<A, unknown, Exclude<R, Link>> =>
  Effect.suspend(() => {
    const link = new Link()
    // The failure listens first: a task may crash in the body's first step.
    return Effect.raceFirst(link.failed, Effect.provideService(body, CurrentLink, link)).pipe(
      Effect.ensuring(link.close)
    )
  })

type Result = Exit.Exit<unknown, unknown>

/** Waits for a task's result. */
const resultOf = (job: Job): Effect.Effect<Result> =>
  Effect.callback((resume) => {
    const forget = job.onResult((result) => resume(Effect.succeed(result)))
    return Effect.sync(forget)
  })

const withinTime = (job: Job, patience: Duration.Duration): Effect.Effect<Option.Option<Result>> =>
  Duration.isFinite(patience) ? Effect.timeoutOption(resultOf(job), patience) : Effect.asSome(resultOf(job))

/** A task, as the one who started it holds it. */
export class Handle {
  private readonly job: Job
  readonly exit: Effect.Effect<Result>
  readonly await: Effect.Effect<unknown, unknown>
  readonly shutdown: Effect.Effect<Option.Option<Result>>
  readonly ignore: Effect.Effect<Option.Option<Result>>

  constructor(job: Job, link: Link | undefined) {
    this.job = job
    this.exit = resultOf(job)
    this.await = Effect.flatten(this.exit)
    this.shutdown = Effect.suspend(() => {
      link?.silence(job)
      return Effect.map(stop(job), () => (job.stopped ? Option.none() : Option.fromUndefinedOr(job.result)))
    })
    this.ignore = Effect.sync(() => {
      link?.release(job)
      return Option.fromUndefinedOr(job.result)
    })
  }

  get path(): ReadonlyArray<string> {
    return this.job.path
  }

  awaitFor(input: Duration.Input): Effect.Effect<unknown, unknown> {
    const patience = durationOf("Tasks.awaitFor", "timeout", input, "zero")
    return Effect.flatMap(
      withinTime(this.job, patience),
      Option.match({ onNone: () => Effect.fail(timeout(this.job, patience, undefined)), onSome: (result) => result })
    )
  }

  yieldFor(input: Duration.Input): Effect.Effect<Option.Option<Result>> {
    return withinTime(this.job, durationOf("Tasks.yieldFor", "duration", input, "zero"))
  }
}

export const timeout = (job: Job, patience: Duration.Duration, index: number | undefined): TaskTimeout =>
  cheaply(
    () =>
      new TaskTimeout({
        tasks: job.parent.path,
        task: job.id,
        afterMillis: Duration.toMillis(patience),
        index
      })
  )

type Refused = TasksStopped | TasksFull

/** Runs an effect as a task and waits for it: each ends with the other. */
export const run = (
  mount: TasksMount,
  effect: Effect.Effect<unknown, unknown>,
  patience: Patience | undefined
): Effect.Effect<unknown, unknown> =>
  // Started in the step that also says how to stop it: an interruption finds either nothing or the whole.
  Effect.callback((resume) => {
    const job = mount.spawn(effect, Fiber.getCurrent()!.context, patience)
    if (!(job instanceof Job)) return resume(Effect.fail(job))
    job.onResult((result) => resume(result))
    return stop(job)
  })

export const start = (
  mount: TasksMount,
  effect: Effect.Effect<unknown, unknown>,
  patience: Patience | undefined
): Effect.Effect<Handle, Refused> =>
  Effect.withFiber((fiber) => {
    const job = mount.spawn(effect, fiber.context, patience)
    return job instanceof Job ? Effect.succeed(new Handle(job, undefined)) : Effect.fail(job)
  })

export const startLinked = (
  mount: TasksMount,
  effect: Effect.Effect<unknown, unknown>,
  patience: Patience | undefined
): Effect.Effect<Handle, Refused, Link> =>
  Effect.withFiber((fiber) => {
    const link = Context.get(fiber.context as Context.Context<Link>, CurrentLink)
    // The caller has ended, or is about to: what it would start could only be cancelled.
    if (!link.open) return Effect.interrupt
    const job = mount.spawn(effect, fiber.context, patience)
    if (!(job instanceof Job)) return Effect.fail(job)
    link.add(job)
    return link.open ? Effect.succeed(new Handle(job, link)) : Effect.interrupt
  })
