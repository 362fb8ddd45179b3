/**
 * A child that runs tasks for others: one fiber per task, none of them ever started again.
 *
 * It owns the fibers of its tasks. The task supervisor itself holds no fiber and runs no code of its users, so it ends
 * only when it is told to. Who gets a task's result, and who a task is linked to, is not its business: they listen.
 *
 * **Invariants**
 *
 * - J1. A task has one result, and those who listen hear it once. It is final before its fiber has ended only when the
 *   supervisor stops: nobody waits for what can no longer come.
 * - J2. A task is over once: its fiber has ended with its finalizers, or its grace time has.
 * - J3. A task that is over holds no place: it is gone from the count before anybody hears of it.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

import { cheaply } from "./actorErrors.ts"
import * as exits from "./exit.ts"
import type { Snapshot } from "./model.ts"
import type { Parent, Policy } from "./mount.ts"
import { Incarnation, Mount } from "./mount.ts"
import type { Node, Runtime } from "./runtime.ts"
import { TaskCancelled, TasksFull, TasksStopped } from "./taskErrors.ts"

/** Tasks that may begin, or end, inside each other; the next has a stack of its own. */
const Nested = 32

/** How long a task may take to stop. */
export type Patience = Duration.Duration | "abandon"

/** A task supervisor's spec, as its mount needs it. */
export interface TasksSpec {
  readonly key: string
  readonly maxChildren: number
  readonly patience: Patience
  readonly ref: (mount: TasksMount) => unknown
}

class Life extends Incarnation {
  /** tasks that are not over */
  readonly jobs = new Set<Job>()
  /** tasks that ran on when the whole incarnation was fenced */
  readonly fenced = new Set<Job>()
}

/** One task. */
export class Job implements Node {
  readonly parent: TasksMount
  readonly id: string
  /** what those who wait for it get */
  result: Exit.Exit<unknown, unknown> | undefined
  /** (J2) */
  over = false
  /** its supervisor stopped before it had a result */
  revoked = false
  /** it ended because it was asked to, without anything else to say */
  stopped = false
  private readonly life: Life
  private readonly patience: Patience
  private ordered = false
  private fiber: Fiber.Fiber<unknown, unknown> | undefined
  private cancelTimer: (() => void) | undefined
  private readonly onResults = new Set<(result: Exit.Exit<unknown, unknown>) => void>()
  private readonly onOvers = new Set<() => void>()

  constructor(parent: TasksMount, life: Life, number: number, patience: Patience) {
    this.parent = parent
    this.life = life
    this.id = `task-${number}`
    this.patience = patience
  }

  get path(): ReadonlyArray<string> {
    return [...this.parent.path, this.id]
  }

  start(effect: Effect.Effect<unknown, unknown>, context: Context.Context<never>): void {
    const { parent } = this
    const deep = parent.nesting >= Nested
    const body = Effect.withFiber<unknown, unknown>((fiber) => {
      // Known before the first step of the task, which may already be its last, or may cancel it.
      this.fiber = fiber
      return deep ? Effect.andThen(Effect.yieldNow, effect) : effect
    })
    parent.nesting += 1
    const fiber = Effect.runForkWith(context)(body)
    parent.nesting -= 1
    fiber.addObserver((exit) => this.ended(exit))
  }

  /** Calls `f` with the result, at once if it is known. */
  onResult(f: (result: Exit.Exit<unknown, unknown>) => void): () => void {
    if (this.result !== undefined) f(this.result)
    else this.onResults.add(f)
    return () => this.onResults.delete(f)
  }

  /** Calls `f` when the task is over, at once if it is. */
  onOver(f: () => void): void {
    if (this.over) f()
    else this.onOvers.add(f)
  }

  /** Asks it to stop; it is over after its grace time at the latest. */
  cancel(): void {
    if (this.over || this.ordered) return
    this.ordered = true
    this.fiber?.interruptUnsafe()
    if (this.over) return
    const { patience } = this
    if (patience === "abandon" || Duration.isZero(patience)) this.abandon()
    else this.cancelTimer = this.parent.runtime.later(patience, () => this.abandon())
  }

  /** Its supervisor stops: nobody waits for it any longer. */
  revoke(): void {
    if (this.result !== undefined) return
    this.revoked = true
    this.settle(Exit.fail(cheaply(() => new TasksStopped({ tasks: this.parent.path }))))
  }

  /** Its supervisor is abandoned, and takes the task along; tells whether it still runs. */
  fence(): boolean {
    this.revoke()
    this.ordered = true
    this.fiber?.interruptUnsafe()
    this.finish()
    return this.fiber !== undefined
  }

  private abandon(): void {
    if (this.over) return
    if (this.fiber !== undefined) this.parent.taskLeaked(this)
    this.finish(Exit.fail(cheaply(() => this.cancelled(true))))
  }

  private ended(exit: Exit.Exit<unknown, unknown>): void {
    this.fiber = undefined
    if (this.over) return this.parent.taskEndedLate(this, this.life)
    const reason = exits.reasonOf(exit, this.ordered)
    // A typed error is an answer. A bug is nobody's answer, so the tree hears of it too.
    if (Exit.isFailure(exit) && exit.cause.reasons.some(Cause.isDieReason)) {
      this.parent.runtime.emit(this, { _tag: "Exited", incarnation: 1, reason, ordered: this.ordered })
    }
    const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    this.stopped = interrupted && this.ordered && this.result === undefined
    this.finish(interrupted ? Exit.fail(cheaply(() => this.cancelled(false))) : exit)
  }

  private finish(result?: Exit.Exit<unknown, unknown>): void {
    if (this.over) return
    this.over = true // J2
    this.cancelTimer?.()
    this.cancelTimer = undefined
    this.parent.taskOver(this, this.life) // J3
    if (result !== undefined) this.settle(result)
    const listeners = [...this.onOvers]
    this.onOvers.clear()
    for (const f of listeners) this.parent.tell(f)
    this.parent.endIfIdle(this.life)
  }

  private settle(result: Exit.Exit<unknown, unknown>): void {
    if (this.result !== undefined) return // J1
    this.result = result
    const listeners = [...this.onResults]
    this.onResults.clear()
    for (const f of listeners) this.parent.tell(() => f(result))
  }

  private cancelled(leaked: boolean): TaskCancelled {
    return new TaskCancelled({ tasks: this.parent.path, task: this.id, leaked })
  }
}

export class TasksMount extends Mount {
  readonly kind = "tasks"
  declare protected current: Life | undefined
  readonly ref: unknown
  readonly spec: TasksSpec
  /** starts and notices that are under way on the current stack */
  nesting = 0
  private count = 0

  constructor(
    runtime: Runtime,
    parent: Parent,
    policy: Policy,
    spec: TasksSpec,
    outer: Context.Context<never> | undefined
  ) {
    super(runtime, parent, policy, outer)
    this.spec = spec
    this.ref = spec.ref(this)
  }

  override get refs(): ReadonlyMap<string, unknown> {
    return new Map([[this.spec.key, this.ref]])
  }

  /** Starts a task, which may be over when this returns. */
  spawn(
    effect: Effect.Effect<unknown, unknown>,
    context: Context.Context<never>,
    patience: Patience = this.spec.patience
  ): Job | TasksStopped | TasksFull {
    const life = this.current
    if (life === undefined || life.ordered || life.over) {
      return cheaply(() => new TasksStopped({ tasks: this.path }))
    }
    const { maxChildren } = this.spec
    if (life.jobs.size >= maxChildren) return cheaply(() => new TasksFull({ tasks: this.path, maxChildren }))
    const job = new Job(this, life, ++this.count, patience)
    life.jobs.add(job)
    job.start(effect, context)
    return job
  }

  /** Tells a listener, which may go on with whatever it waited to do. */
  tell(f: () => void): void {
    if (this.nesting >= Nested) return this.runtime.wake(f)
    this.nesting += 1
    try {
      f()
    } finally {
      this.nesting -= 1
    }
  }

  taskOver(job: Job, life: Life): void {
    life.jobs.delete(job)
  }

  taskLeaked(job: Job): void {
    this.leaked += 1
    this.runtime.leaks.set(job, job.path)
    this.runtime.emit(job, { _tag: "Leaked", incarnation: 1 })
  }

  /** The fiber of a task that had been abandoned has ended after all. */
  taskEndedLate(job: Job, life: Life): void {
    if (this.runtime.leaks.delete(job)) {
      this.leaked -= 1
      this.runtime.emit(job, { _tag: "LeakEnded", incarnation: 1 })
    }
    // It may be both: whoever heard that it was revoked may have abandoned it before its turn to be fenced came.
    if (life.fenced.delete(job) && life.fenced.size === 0) this.finished(life, Exit.void)
  }

  /** A stop ends with the last task. */
  endIfIdle(life: Life): void {
    if (life.ordered && !life.over && life.jobs.size === 0 && life.fenced.size === 0) this.finished(life, Exit.void)
  }

  protected override live(): Life {
    return new Life(this)
  }

  protected launch(life: Life): void {
    this.started(life)
  }

  protected quit(life: Life): void {
    const jobs = [...life.jobs]
    for (const job of jobs) job.revoke()
    for (const job of jobs) job.cancel()
    this.endIfIdle(life)
  }

  protected fence(life: Life): boolean {
    // None may end the incarnation before it is known whether another still runs.
    const jobs = [...life.jobs]
    for (const job of jobs) life.fenced.add(job)
    for (const job of jobs) if (!job.fence()) life.fenced.delete(job)
    return life.fenced.size > 0
  }

  snapshot(): Snapshot {
    return { ...this.node([]), tasks: this.current?.jobs.size ?? 0 }
  }
}
