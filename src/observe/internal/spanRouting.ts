/**
 * Why an order exists: who could have had the task, who chose, and which order of the same task was before it.
 *
 * @since 0.1.0
 */
import type { RunEvent } from "../../run/RunEvent.ts"
import { espalier } from "../SemConv.ts"

/** What is known of the choices of one run. */
export class Routing {
  private readonly candidates = new Map<string, number>()
  /** Choices for which a model was asked, and who chose for a group. */
  private readonly asked = new Set<string>()
  private readonly methods = new Map<string, "llm" | "rule">()
  /** The latest order of a task. */
  private readonly latest = new Map<string, string>()

  learn(event: RunEvent): void {
    switch (event._tag) {
      case "Spent":
        if (event.what === "model") this.asked.add(event.dispatch)
        return
      case "Decided":
        this.methods.set(event.subject, this.asked.delete(event.consult) ? "llm" : "rule")
        return
      case "DecisionFailed":
        this.asked.delete(event.consult)
        return
      case "Routed":
        this.candidates.set(event.task, event.candidates.length)
        return
      case "Reported":
        this.asked.delete(event.dispatch)
        this.latest.set(event.task, event.dispatch)
        return
      case "TaskEnded":
        for (const map of [this.candidates, this.latest, this.methods]) map.delete(event.task)
    }
  }

  /** The order of a task before this one. */
  before(task: string): string | undefined {
    return this.latest.get(task)
  }

  /** Of an order that is given. `group`: of which its task is. */
  of(task: string, group: string, worker: string): Readonly<Record<string, string | number>> {
    const candidates = this.candidates.get(task)
    if (candidates === undefined) return {}
    return {
      [espalier.routingSelected]: worker,
      [espalier.routingCandidates]: candidates,
      [espalier.routingMethod]: this.latest.has(task) ? "fallback" : (this.methods.get(group) ?? "rule")
    }
  }
}
