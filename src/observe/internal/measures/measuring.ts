/**
 * What the events of one run measure, one after the other.
 *
 * **Invariants**
 *
 * - F1. What an event measures follows from the events before it, whether they were recalled or have happened here: to read a run
 *   back and go on measures what going on would have measured, and nothing again.
 *
 * @since 0.1.0
 */
import type { RunEvent } from "../../../run/RunEvent.ts"
import { checks } from "./checks.ts"
import { evaluations } from "./evaluations.ts"
import { handoffs } from "./handoffs.ts"
import { incidents } from "./incidents.ts"
import type { Measure, Measurement } from "./measurement.ts"
import { Memory } from "./memory.ts"
import { outcomes } from "./outcomes.ts"
import { people } from "./people.ts"
import { routing } from "./routing.ts"
import { spending } from "./spending.ts"

const all: ReadonlyArray<Measure> = [routing, handoffs, outcomes, people, checks, spending, incidents, evaluations]

/** The measures of one run. `recall`: an event of before, which measures nothing. `happened`: one that is new. */
export interface Measuring {
  readonly memory: Memory
  readonly recall: (event: RunEvent) => void
  readonly happened: (event: RunEvent) => ReadonlyArray<Measurement>
}

/** @since 0.1.0 */
export const make = (measures: ReadonlyArray<Measure> = all): Measuring => {
  const memory = new Memory()
  return {
    memory,
    recall: (event) => memory.see(event),
    happened: (event) => {
      const found = measures.flatMap((measure) => measure(event, memory))
      memory.see(event)
      return found
    }
  }
}
