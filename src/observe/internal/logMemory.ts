/**
 * What has to be known of a run's past to tell of its next event: made of the events alone.
 *
 * **Invariants**
 *
 * - M1. It holds what is open, orders and questions, and nothing of what has ended.
 *
 * @since 0.1.0
 */
import { fromOutside } from "../../run/internal/apply.ts"
import type { ReviewKind, ReviewReason, RunEvent } from "../../run/RunEvent.ts"
import { Kept } from "./kept.ts"

/** An order that is open. `waited`: how long it has waited for people, or for somebody who carries the run out. `inputBytes`: see `Dispatched`. */
export interface OpenOrder {
  readonly at: number
  readonly task: string
  readonly worker: string
  readonly parkedAt: number | undefined
  readonly waited: number
  readonly inputBytes: number | undefined
}

/** A question that is open. */
export interface OpenReview {
  readonly at: number
  readonly kind: ReviewKind
  readonly reason: ReviewReason
  readonly task: string | undefined
}

/** @since 0.1.0 */
export interface Memory {
  readonly run: string
  readonly desk: string | undefined
  readonly startedAt: number | undefined
  /** How many events there are: the version of the journal. */
  readonly events: number
  /** When somebody last carried the run out, as far as it is written. */
  readonly carriedAt: number
  /** The W3C `traceparent` of the current segment. */
  readonly trace: string | undefined
  readonly orders: Kept<OpenOrder>
  readonly reviews: Kept<OpenReview>
  readonly health: Kept<string>
}

/** A run of which nothing is known. */
export const nothingOf = (run: string): Memory => ({
  run,
  desk: undefined,
  startedAt: undefined,
  events: 0,
  carriedAt: 0,
  trace: undefined,
  orders: Kept.none(),
  reviews: Kept.none(),
  health: Kept.none()
})

/** What people say, which may be written while nobody carries the run out. */
const said: ReadonlySet<string> = new Set([...fromOutside, "Notified", "RunResumed"])

/** What is known after an event. */
export const remember = (before: Memory, event: RunEvent): Memory => {
  const known: Memory = {
    ...before,
    events: before.events + 1,
    carriedAt: said.has(event._tag) ? before.carriedAt : Math.max(before.carriedAt, event.at)
  }
  switch (event._tag) {
    case "RunStarted":
      return { ...known, desk: event.desk, startedAt: event.at, trace: event.trace }
    case "RunResumed": {
      const gap = Math.max(0, event.at - before.carriedAt)
      // One that waits for people anyway waits for nobody else.
      const orders = known.orders.map((order) =>
        order.parkedAt === undefined ? { ...order, waited: order.waited + gap } : order
      )
      return { ...known, carriedAt: event.at, trace: event.trace, orders }
    }
    case "Dispatched": {
      const { at, dispatch, inputBytes, task, worker } = event
      return {
        ...known,
        orders: known.orders.with(dispatch, { at, task, worker, parkedAt: undefined, waited: 0, inputBytes })
      }
    }
    case "Parked": {
      const order = known.orders.get(event.dispatch)
      if (order === undefined) return known
      return { ...known, orders: known.orders.with(event.dispatch, { ...order, parkedAt: event.at }) }
    }
    case "Unparked": {
      const order = known.orders.get(event.dispatch)
      if (order?.parkedAt === undefined) return known
      const waited = order.waited + Math.max(0, event.at - order.parkedAt)
      return { ...known, orders: known.orders.with(event.dispatch, { ...order, parkedAt: undefined, waited }) }
    }
    case "Reported":
      return { ...known, orders: known.orders.without(event.dispatch) } // M1
    case "ReviewOpened": {
      const { at, kind, reason, review, supersedes, task } = event
      const others = supersedes === undefined ? known.reviews : known.reviews.without(supersedes)
      return { ...known, reviews: others.with(review, { at, kind, reason, task }) }
    }
    case "ReviewDecided":
    case "ReviewWithdrawn":
      return { ...known, reviews: known.reviews.without(event.review) }
    case "ReviewExpired":
      return event.action === "hold" ? known : { ...known, reviews: known.reviews.without(event.review) }
    case "HealthChanged":
      return { ...known, health: known.health.with(event.worker, event.health) }
    case "RunFinished":
      return { ...known, orders: Kept.none(), reviews: Kept.none() }
    default:
      return known
  }
}

/** How long an order has been worked on at a time. */
export const workedOn = (order: OpenOrder | undefined, at: number): number | undefined => {
  if (order === undefined) return undefined
  const parked = order.parkedAt === undefined ? 0 : Math.max(0, at - order.parkedAt)
  return Math.max(0, at - order.at - order.waited - parked)
}

/** Who works on a task, if somebody does. */
export const workerOn = ({ orders }: Memory, task: string): string | undefined => {
  for (const order of orders.values()) if (order.task === task) return order.worker
  return undefined
}
