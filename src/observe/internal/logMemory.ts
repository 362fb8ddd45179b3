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
  readonly orders: ReadonlyMap<string, OpenOrder>
  readonly reviews: ReadonlyMap<string, OpenReview>
  readonly health: ReadonlyMap<string, string>
}

/** A run of which nothing is known. */
export const nothingOf = (run: string): Memory => ({
  run,
  desk: undefined,
  startedAt: undefined,
  events: 0,
  carriedAt: 0,
  trace: undefined,
  orders: new Map(),
  reviews: new Map(),
  health: new Map()
})

const without = <V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> => {
  if (!map.has(key)) return map
  const rest = new Map(map)
  rest.delete(key)
  return rest
}

const withOne = <V>(map: ReadonlyMap<string, V>, key: string, value: V): ReadonlyMap<string, V> =>
  new Map(map).set(key, value)

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
      const orders = Array.from(known.orders, ([dispatch, order]): [string, OpenOrder] => [
        dispatch,
        order.parkedAt === undefined ? { ...order, waited: order.waited + gap } : order
      ])
      return { ...known, carriedAt: event.at, trace: event.trace, orders: new Map(orders) }
    }
    case "Dispatched": {
      const { at, dispatch, inputBytes, task, worker } = event
      return {
        ...known,
        orders: withOne(known.orders, dispatch, { at, task, worker, parkedAt: undefined, waited: 0, inputBytes })
      }
    }
    case "Parked": {
      const order = known.orders.get(event.dispatch)
      if (order === undefined) return known
      return { ...known, orders: withOne(known.orders, event.dispatch, { ...order, parkedAt: event.at }) }
    }
    case "Unparked": {
      const order = known.orders.get(event.dispatch)
      if (order?.parkedAt === undefined) return known
      const waited = order.waited + Math.max(0, event.at - order.parkedAt)
      return { ...known, orders: withOne(known.orders, event.dispatch, { ...order, parkedAt: undefined, waited }) }
    }
    case "Reported":
      return { ...known, orders: without(known.orders, event.dispatch) } // M1
    case "ReviewOpened": {
      const { at, kind, reason, review, supersedes, task } = event
      const others = supersedes === undefined ? known.reviews : without(known.reviews, supersedes)
      return { ...known, reviews: withOne(others, review, { at, kind, reason, task }) }
    }
    case "ReviewDecided":
    case "ReviewWithdrawn":
      return { ...known, reviews: without(known.reviews, event.review) }
    case "ReviewExpired":
      return event.action === "hold" ? known : { ...known, reviews: without(known.reviews, event.review) }
    case "HealthChanged":
      return { ...known, health: withOne(known.health, event.worker, event.health) }
    case "RunFinished":
      return { ...known, orders: new Map(), reviews: new Map() }
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
