/**
 * Carries out the decisions of one run: write down, then act, then wait for news.
 *
 * It owns the run's state while it executes. A step (taking in news, deciding, committing) is never interrupted halfway;
 * only the waiting between two steps is.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as EffectResult from "effect/Result"
import type * as Scope from "effect/Scope"

import type * as Journal from "../../journal/Journal.ts"
import * as Decider from "../Decider.ts"
import type { Office } from "../Office.ts"
import * as Outcome from "../Outcome.ts"
import type { RunEvent, SuspendReason } from "../RunEvent.ts"
import type { Order } from "../Worker.ts"
import { applyEvent, type Draft } from "./apply.ts"
import { failure } from "./attempt.ts"
import { dispatch, type News } from "./dispatch.ts"
import { commit, toRecord } from "./log.ts"
import { orderFor } from "./orders.ts"

type Refused = Journal.VersionConflict | Journal.JournalError

const now = Effect.map(Clock.currentTimeMillis, Math.floor)

/** The state of a run that has been started is never undefined; what the executor makes itself is always valid. */
const valid = (next: Draft | string): Draft => {
  if (typeof next === "string") throw new Error(`Run: an event that cannot happen: ${next}`)
  return next
}

const lost = ({ attempt, dispatch, task }: Order, worker: string, cause: Cause.Cause<never>): News => {
  const { outcome, result } = failure("defect", Cause.pretty(cause), "failed")
  const note = `${dispatch} was lost: ${result.error?.reason}`
  return { _tag: "Reported", task, dispatch, worker, attempts: attempt, outcome, result, note }
}

/** @since 0.1.0 */
export class Executor {
  readonly office: Office
  readonly journal: Journal.Journal["Service"]
  readonly run: string
  private onEvent: ((event: RunEvent) => void) | undefined
  private state: Draft | undefined
  private readonly fold: Outcome.Fold
  /** What the journal has; the state may be ahead of it inside a step. */
  private version: number
  private listed: string | undefined
  private readonly inbox: Queue.Queue<News>
  /** Dispatches that were decided in this step and begin once it is committed. */
  private orders: Array<Order & { readonly worker: string }> = []

  constructor(
    inbox: Queue.Queue<News>,
    office: Office,
    journal: Journal.Journal["Service"],
    run: string,
    onEvent: ((event: RunEvent) => void) | undefined,
    state?: Draft | undefined,
    fold: Outcome.Fold = Outcome.fold()
  ) {
    this.inbox = inbox
    this.office = office
    this.journal = journal
    this.run = run
    this.onEvent = onEvent
    this.state = state
    this.fold = fold
    this.version = state?.version ?? 0
    this.listed = state?.status
  }

  /** Begins with these events and goes on to the end of the run. */
  execute(first: ReadonlyArray<RunEvent>, input: unknown): Effect.Effect<Outcome.Outcome, Refused> {
    const open = [...(this.state?.tasks.values() ?? [])].filter((task) => task.dispatch !== undefined)
    return Effect.scopedWith((scope) =>
      Effect.gen({ self: this }, function* () {
        yield* this.step(first, input, scope)
        for (const task of open) this.reattach(task.id, input)
        yield* this.begin(scope)
        while (this.state?.status === "running") {
          const news = yield* Queue.takeAll(this.inbox)
          const at = yield* now
          yield* this.step(
            news.map((each) => ({ ...each, at })),
            input,
            scope
          )
        }
        return this.outcome()
      })
    ).pipe(Effect.onInterrupt(() => this.interrupted()))
  }

  /** Puts the run down. */
  suspend(reason: SuspendReason, note: string, at: number): Effect.Effect<void, Refused> {
    if (this.state === undefined || this.state.suspended === reason) return Effect.void
    return Effect.suspend(() => {
      if (this.state?.status === "suspended") this.take([{ _tag: "RunResumed", at, note: "Taken up to be looked at" }])
      this.take([{ _tag: "RunSuspended", at, reason, note }])
      return this.write()
    })
  }

  private outcome(): Outcome.Outcome {
    const outcome = this.fold.outcome()
    if (outcome === undefined) throw new Error("Run: an outcome before the first event")
    return outcome
  }

  private taken: Array<RunEvent> = []

  /** Takes events in; they are written by the next `write`. */
  private take(events: ReadonlyArray<RunEvent>): void {
    for (const event of events) {
      this.state = valid(applyEvent(this.state, event))
      this.fold.add(event)
      this.taken.push(event)
    }
  }

  private write(): Effect.Effect<void, Refused> {
    return Effect.suspend(() => {
      const { state, taken } = this
      if (taken.length === 0 || state === undefined) return Effect.void
      this.taken = []
      const changed = state.status !== this.listed
      return commit(this.journal, {
        run: this.run,
        expected: this.version,
        events: taken.map(toRecord),
        ...(changed ? { listing: { status: state.status, desk: state.desk, startedAt: state.startedAt } } : {})
      }).pipe(
        Effect.flatMap((version) => {
          this.version = version
          this.listed = state.status
          return this.publish(taken)
        })
      )
    })
  }

  private publish(events: ReadonlyArray<RunEvent>): Effect.Effect<void> {
    if (this.onEvent === undefined) return Effect.void
    try {
      for (const event of events) this.onEvent(event)
      return Effect.void
    } catch (error) {
      this.onEvent = undefined
      return Effect.logWarning(`Run: onEvent of ${this.run} threw and is not called again`, error)
    }
  }

  /** Takes news in, decides until nothing is left to decide, commits, and lets the decided dispatches begin. */
  private step(events: ReadonlyArray<RunEvent>, input: unknown, scope: Scope.Scope): Effect.Effect<void, Refused> {
    return Effect.uninterruptible(
      Effect.gen({ self: this }, function* () {
        this.take(events)
        const at = yield* now
        for (;;) {
          const actions = Decider.decide(this.state!, this.office.spec)
          if (actions.length === 0) break
          for (const action of actions) this.carryOut(action, at, input)
        }
        yield* this.write()
        yield* this.begin(scope)
      })
    )
  }

  private carryOut(action: Decider.Action, at: number, input: unknown): void {
    switch (action._tag) {
      case "Dispatch": {
        const { candidates, note, task, worker } = action
        this.take([{ _tag: "Routed", at, task, worker, candidates, note }])
        const order = this.order(task, worker, input)
        if (EffectResult.isFailure(order)) {
          this.take([{ _tag: "ContractRefused", at, task, worker, note: order.failure }])
          return
        }
        const { contract, dispatch } = order.success
        const given = `${dispatch} is given to ${worker}`
        this.take([{ _tag: "Dispatched", at, task, dispatch, worker, contract: contract.version, note: given }])
        this.orders.push({ ...order.success, worker })
        return
      }
      case "EndTask": {
        const { dispatch, missing, note, status, task } = action
        const behind = dispatch === undefined ? {} : { dispatch }
        return this.take([{ _tag: "TaskEnded", at, task, status, ...behind, missing, note }])
      }
      case "Finish": {
        const { degraded, note, status, stopReason } = action
        return this.take([{ _tag: "RunFinished", at, status, stopReason, degraded, note }])
      }
    }
  }

  private order(id: string, worker: string, input: unknown): EffectResult.Result<Order, string> {
    const { staff, tasks } = this.office
    const task = this.state?.tasks.get(id)
    const post = staff.posts.get(worker)
    if (this.state === undefined || task === undefined || post === undefined) {
      return EffectResult.fail(`CONTRACT_INVALID: there is no worker ${worker}`)
    }
    const number = task.dispatch === undefined ? task.dispatches + 1 : task.dispatches
    return orderFor(tasks, post.seat, this.state, task, this.fold, input, number)
  }

  /** Gives an order again that was under way when the run was cut off. */
  private reattach(id: string, input: unknown): void {
    const open = this.state?.tasks.get(id)?.dispatch
    if (open === undefined) return
    const order = this.order(id, open.worker, input)
    if (EffectResult.isSuccess(order)) this.orders.push({ ...order.success, worker: open.worker })
    else {
      const { outcome, result } = failure("defect", order.failure, "rejected-contract")
      const note = `${open.worker} cannot be given ${open.id} again: ${order.failure}`
      const attempts = (this.state?.tasks.get(id)?.attempts ?? 0) + 1
      const { worker } = open
      const news: News = { _tag: "Reported", task: id, dispatch: open.id, worker, attempts, outcome, result, note }
      Queue.offerUnsafe(this.inbox, news)
    }
  }

  private begin(scope: Scope.Scope): Effect.Effect<void> {
    const { orders } = this
    this.orders = []
    return Effect.forEach(
      orders,
      ({ worker, ...order }) => {
        const { posts } = this.office.staff
        const tell = (news: News) => void Queue.offerUnsafe(this.inbox, news)
        const work = dispatch(this.office.staff, posts.get(worker)!, order, this.office.desk.policy, tell).pipe(
          // A run never waits for a dispatch that cannot report.
          Effect.catchCause((cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.sync(() => tell(lost(order, worker, cause)))
          )
        )
        // Steps are not interruptible, their dispatches are.
        return Effect.forkIn(Effect.interruptible(work), scope)
      },
      { discard: true }
    )
  }

  /** The work has been cancelled and has stopped: what was reported before that counts, then the run is put down. */
  private interrupted(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.state?.status !== "running") return
      const at = yield* now
      const reported = yield* Effect.orElseSucceed(Queue.clear(this.inbox), () => [])
      this.take(reported.map((each) => ({ ...each, at })))
      const note = `Asked to stop, with ${this.state.running} orders under way; resume to go on`
      yield* this.suspend("asked", note, at)
    }).pipe(Effect.catch((error) => Effect.logWarning(`Run: ${this.run} could not be left suspended`, error)))
  }
}

/**
 * Makes an executor, which begins from nothing or from where the journal left off.
 *
 * The inbox is not bounded: every open dispatch tells of each attempt once, and their number is.
 *
 * @since 0.1.0
 */
export const make = (
  office: Office,
  journal: Journal.Journal["Service"],
  run: string,
  onEvent: ((event: RunEvent) => void) | undefined,
  state?: Draft | undefined,
  fold?: Outcome.Fold | undefined
): Effect.Effect<Executor> =>
  Effect.map(Queue.unbounded<News>(), (inbox) => new Executor(inbox, office, journal, run, onEvent, state, fold))
