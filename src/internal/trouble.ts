/**
 * What goes wrong while something is stopped by a finalizer, and where it is told.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import { showPath } from "./errors.ts"
import { tellWarning } from "./telling.ts"

/**
 * Adds the trouble to the cause of an end that has none of its own, as a defect. Otherwise it is logged: a failure that
 * has a cause already keeps its meaning, and a defect beside it would read as a bug.
 */
export const trouble = (
  path: ReadonlyArray<string>,
  exit: Exit.Exit<unknown, unknown>,
  error: unknown
): Effect.Effect<void> =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    ? Effect.die(error)
    : Effect.annotateLogs(tellWarning("there was trouble while it was stopped", error), { path: showPath(path) })
