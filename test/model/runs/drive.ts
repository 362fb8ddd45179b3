/** Carries an effect to its end on a machine, as far as its time goes. */
import type { Effect, Exit } from "effect"

import type { Machine } from "../machine.ts"

const day = 86_400_000

/** How it ended, or why it does not. */
export const drive = <A, E>(machine: Machine, effect: Effect.Effect<A, E>): Exit.Exit<A, E> | string => {
  const fiber = machine.fork(effect)
  machine.settle()
  for (;;) {
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return exit
    if (machine.next === undefined) return "it hangs: nothing is left to wait for"
    if (machine.now > day) return "it does not end within a day"
    machine.advanceTo(machine.next)
  }
}
