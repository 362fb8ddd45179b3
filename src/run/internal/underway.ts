/**
 * What is under way of one run: its dispatches, and the choices that were asked for.
 *
 * It owns their fibers; what comes of them is told as news.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { Redaction } from "../../Redaction.ts"
import type { Ended } from "../Observer.ts"
import type { Usage } from "../Result.ts"
import type { RunState } from "../RunState.ts"
import { failure } from "./attempt.ts"
import { ask, type Asking } from "./consulting.ts"
import { beside, counted, dispatch, type Finished, leftBehind, report, unknown } from "./dispatch.ts"
import type { Beginning } from "./hands.ts"
import type { News } from "./news.ts"
import type { Observing } from "./observing.ts"
import { overdue } from "./problems.ts"
import type { Questions } from "./questioning.ts"
import type { Staff } from "./staff.ts"

const lost = ({ order, worker }: Beginning, cause: Cause.Cause<never>, rules: Redaction): News => {
  const { attempt, dispatch, task } = order
  const { outcome, result } = failure("defect", rules.text(Cause.pretty(cause)), "failed")
  const note = `${dispatch} was lost: ${result.error?.reason}`
  return { _tag: "Reported", task, dispatch, worker, attempts: attempt, outcome, result, note }
}

/** @since 0.1.0 */
export class Underway {
  /** What the fibers are given: the services of whoever carries the run out. */
  context: Context.Context<never> = Context.empty()
  /** What orders had used that nobody called back, because the run was put down. */
  readonly interruptions = new Map<string, { readonly task: string; readonly usage: Usage }>()
  private readonly staff: Staff
  private readonly state: () => RunState
  private readonly tell: (news: News) => void
  private readonly observing: Observing
  private readonly fibers = new Map<string, Fiber.Fiber<void>>()
  private readonly asked = new Map<string, { readonly subject: string; readonly fiber: Fiber.Fiber<void> }>()
  private readonly alive = new Set<Fiber.Fiber<void>>()
  private stopping = false

  constructor(staff: Staff, state: () => RunState, tell: (news: News) => void, observing: Observing) {
    this.staff = staff
    this.observing = observing
    this.state = state
    this.tell = tell
  }

  /** Begins what was decided, and calls back what was called back. */
  begin(orders: ReadonlyArray<Beginning>, askings: ReadonlyArray<Asking>, recalls: ReadonlyArray<string>): void {
    for (const beginning of orders) {
      // What is called back in the moment in which it is given does not begin.
      if (recalls.includes(beginning.order.dispatch)) {
        this.fork(this.cancelled(beginning))
        continue
      }
      const fiber = this.fork(this.work(beginning))
      if (fiber.pollUnsafe() === undefined) this.fibers.set(beginning.order.dispatch, fiber)
    }
    for (const each of askings) {
      const interrupted = (): Ended => ({ outcome: this.stopping ? "suspended" : "cancelled" })
      const fiber = this.fork(ask(each, this.tell, { observing: this.observing, interrupted }))
      this.asked.set(each.consult, { subject: each.subject, fiber })
    }
    for (const id of recalls) this.fibers.get(id)?.interruptUnsafe()
    if (this.asked.size > 0) this.forget()
  }

  /** A choice that nobody needs any more is not waited for. */
  private forget(): void {
    const { groups, tasks } = this.state()
    for (const [id, { fiber, subject }] of this.asked) {
      const consult = groups.get(subject)?.consult ?? tasks.get(subject)?.consult
      if (consult?.id === id && consult.status === "open") continue
      fiber.interruptUnsafe()
      this.asked.delete(id)
    }
  }

  /** A dispatch has reported. */
  over(dispatch: string): void {
    this.fibers.delete(dispatch)
  }

  /** Interrupts the work of an order that waits for answers, once it can be. */
  readonly park = (dispatch: string, questions: Questions): void => {
    this.fork(
      Effect.map(questions.quiet, (quiet) => {
        if (quiet) this.fibers.get(dispatch)?.interruptUnsafe()
      })
    )
  }

  /** Interrupts everything, and waits until it has stopped. */
  readonly interrupt: Effect.Effect<void> = Effect.suspend(() => {
    this.stopping = true
    return this.alive.size === 0 ? Effect.void : Fiber.interruptAll(Array.from(this.alive))
  })

  /** Has something done beside the run, as long as that is carried out. */
  readonly beside = (effect: Effect.Effect<void>): void => void this.fork(effect)

  /** Runs beside the run, and ends with it. */
  private fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    const fiber = Effect.runForkWith(this.context)(effect)
    if (fiber.pollUnsafe() === undefined) {
      this.alive.add(fiber)
      fiber.addObserver(() => this.alive.delete(fiber))
    }
    return fiber
  }

  private lost(beginning: Beginning, cause: Cause.Cause<never>): void {
    this.tell(lost(beginning, cause, Context.get(this.context, Redaction)))
  }

  private work(beginning: Beginning): Effect.Effect<void> {
    const { order, terms, work, worker } = beginning
    const { posts } = this.staff
    const post = posts.get(worker)
    if (post === undefined) return Effect.sync(() => this.lost(beginning, Cause.die(`there is no worker ${worker}`)))
    const finished: Finished = {}
    const watched = { observing: this.observing, interrupted: () => this.interruption(beginning) }
    return dispatch(this.staff, post, order, work, terms, this.tell, finished, watched).pipe(
      // A run never waits for a dispatch that cannot report. One that is interrupted from here does not come here.
      Effect.catchCause((cause) => Effect.sync(() => this.lost(beginning, cause))),
      // What had finished when it was called back is kept.
      Effect.onInterrupt(() =>
        finished.answer === undefined
          ? this.cancelled(beginning, finished.unsettled)
          : report(worker, order, terms, finished, this.tell)
      )
    )
  }

  /** What an interruption of the work of an order means: it waits, or its run does; or it was called back. */
  private interruption({ order }: Beginning): Ended {
    const open = this.state().tasks.get(order.task)?.dispatch
    const recalled = open?.id === order.dispatch ? open.recalled : undefined
    if (recalled === undefined) return { outcome: "suspended" }
    return recalled === "deadline" ? { outcome: "timed-out", kind: "exhausted" } : { outcome: "cancelled" }
  }

  /** The work of an order that was called back has stopped. */
  private cancelled({ order, terms, worker }: Beginning, unsettled = false): Effect.Effect<void> {
    terms.outside.close()
    const task = this.state().tasks.get(order.task)
    const reason = task?.dispatch?.id === order.dispatch ? task.dispatch.recalled : undefined
    if (reason === undefined && task !== undefined && terms.outside.questions.parking) {
      const left = unsettled ? leftBehind : ""
      const note = `${order.dispatch} at ${worker} waits for answers to what it has asked${left}`
      return Effect.map(beside(terms), (usage) =>
        this.tell({
          _tag: "Parked",
          task: order.task,
          dispatch: order.dispatch,
          worker,
          ...(Object.keys(usage).length === 0 ? {} : { usage }),
          note
        })
      )
    }
    if (reason === undefined || task === undefined) {
      // Nobody called it back, so the run is being put down.
      return Effect.map(beside(terms), (usage) => {
        if (Object.keys(usage).length > 0) this.interruptions.set(order.dispatch, { task: order.task, usage })
      })
    }
    const late = reason === "deadline"
    const { deadlineAt, run } = this.state()
    const over = task.expired ? overdue(task.id, task.deadlineAt) : overdue(run, deadlineAt)
    const why = late ? over : `it was called back (${reason})`
    const { doubt } = terms.outside
    const left = `${doubt === undefined ? "" : `; ${unknown(doubt)}`}${unsettled ? leftBehind : ""}`
    const { result } = failure(late ? "exhausted" : "transient", why)
    return Effect.map(counted(result, terms), (result) =>
      this.tell({
        _tag: "Reported",
        task: order.task,
        dispatch: order.dispatch,
        worker,
        attempts: Math.max(order.attempt, task.attempts + 1),
        outcome: late ? "timed-out" : "cancelled",
        result,
        note: `${order.dispatch} at ${worker} ${unsettled ? "was called back" : "has stopped"}: ${why}${left}`
      })
    )
  }
}
