/**
 * Which calls of models were under way when their process died: what the journal says has begun, and never that it has ended.
 *
 * @since 0.1.0
 */
import type * as RunEvent from "../../run/RunEvent.ts"
import { modelEffect } from "./endings.ts"
import { modelSwap } from "./metering.ts"

/** A turn that a model is asked for. `told`: of its last call the journal says how it ended, or it is counted already. */
interface Turn {
  readonly task: string
  readonly dispatch: string
  told: boolean
}

/** Calls that are under way, and those that were cut off. */
export class UnderWay {
  /** The workers whose calls were cut off, one for each call. */
  readonly cuts: Array<string> = []
  private readonly turns = new Map<string, Turn>()
  private readonly workers = new Map<string, string>()

  see(event: RunEvent.RunEvent): void {
    switch (event._tag) {
      case "Dispatched":
        for (const turn of this.turns.values()) if (turn.task === event.task) this.cut(turn)
        this.workers.set(event.dispatch, event.worker)
        return
      case "EffectIntended": {
        if (event.name !== modelEffect) return
        const before = this.turns.get(event.effect)
        if (before !== undefined) this.cut(before)
        this.turns.set(event.effect, { task: event.task, dispatch: event.dispatch, told: false })
        return
      }
      case "EffectSettled":
        this.turns.delete(event.effect)
        return
      case "Spent":
        if (event.what !== "model") return
        for (const turn of this.turns.values()) if (turn.dispatch === event.dispatch) turn.told = true
        return
      case "Noticed":
        // Another model is asked for the same turn.
        if (event.what !== modelSwap) return
        for (const turn of this.turns.values()) if (turn.task === event.subject) turn.told = false
        return
      case "RunResumed":
        for (const turn of this.turns.values()) this.cut(turn)
        return
      default:
    }
  }

  private cut(turn: Turn): void {
    if (turn.told) return
    turn.told = true
    this.cuts.push(this.workers.get(turn.dispatch) ?? "")
  }
}
