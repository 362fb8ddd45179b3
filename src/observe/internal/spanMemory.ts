/**
 * What the events of a run say that its spans have to know later.
 *
 * @since 0.1.0
 */
import type { Of, PlannedTask, ReviewKind, RunEvent, WorkerHealth } from "../../run/RunEvent.ts"
import { Routing } from "./spanRouting.ts"
import { Segments } from "./spanSegments.ts"

/** An order that is given and has not come back. */
interface Order {
  readonly task: string
  readonly worker: string
  readonly limits?: Of<"Dispatched">["limits"]
}

/** A question to people. `trace`: of the segment that asks. */
interface Asked {
  readonly at: number
  readonly kind: ReviewKind
  readonly trace: string | undefined
}

/** @since 0.1.0 */
export class SpanMemory {
  desk = ""
  tier = ""
  readonly segments = new Segments()
  readonly routing = new Routing()
  readonly health = new Map<string, WorkerHealth>()
  /** The group of a task, and the kind of a group. */
  readonly parents = new Map<string, string>()
  readonly groups = new Map<string, string>()
  readonly orders = new Map<string, Order>()
  /** Orders that wait for people. */
  readonly parked = new Set<string>()
  readonly reviews = new Map<string, Asked>()
  /** What tasks need, by who needs it; and the spans of the orders that brought it here. */
  readonly needs = new Map<string, ReadonlyArray<string>>()
  readonly brought = new Map<string, string>()

  learn(event: RunEvent): void {
    this.segments.learn(event)
    this.routing.learn(event)
    const tasks = (group: string, planned: ReadonlyArray<PlannedTask>) => {
      for (const { id, needs } of planned) {
        this.parents.set(id, group)
        if (needs.length > 0) this.needs.set(id, needs)
      }
    }
    switch (event._tag) {
      case "RunStarted":
        this.desk = event.desk
        this.tier = event.tier ?? ""
        return tasks("", event.tasks)
      case "AutonomyChanged":
        this.tier = event.to
        return
      case "GroupOpened":
        this.groups.set(event.task, event.kind)
        return tasks(event.task, event.tasks)
      case "TasksAdded":
        return tasks(event.group, event.tasks)
      case "HealthChanged":
        this.health.set(event.worker, event.health)
        return
      case "Dispatched":
        this.orders.set(event.dispatch, {
          task: event.task,
          worker: event.worker,
          limits: { ...event.reserved, ...event.limits }
        })
        return
      case "Parked":
        this.parked.add(event.dispatch)
        return
      case "Unparked":
        this.parked.delete(event.dispatch)
        return
      case "Reported":
        this.orders.delete(event.dispatch)
        this.parked.delete(event.dispatch)
        if (event.outcome === "accepted" || event.outcome === "partial") {
          this.brought.set(event.task, `dispatch ${event.dispatch}`)
        }
        return
      case "Merged":
        this.groups.delete(event.group)
        return
      case "TaskEnded":
        this.parents.delete(event.task)
        this.groups.delete(event.task)
        this.needs.delete(event.task)
        return
      case "ReviewOpened":
        this.reviews.set(event.review, { at: event.at, kind: event.kind, trace: this.segments.last })
        return
      case "ReviewDecided":
      case "ReviewExpired":
      case "ReviewWithdrawn":
        this.reviews.delete(event.review)
    }
  }
}
