/**
 * How the command ends: what is said of its failure, and its exit code.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

import { codeOf, type Failure, sayWhy } from "./failures.ts"
import { complain } from "./printing.ts"

/** Says what went wrong, as far as that has not been told already, and gives the exit code. */
export const ended = (exit: Exit.Exit<unknown, Failure>): number => {
  if (Exit.isSuccess(exit)) return 0
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined && Cause.hasInterruptsOnly(exit.cause)) return 130
  const said = error === undefined ? [Cause.pretty(exit.cause)] : sayWhy(error)
  const code = error === undefined ? 70 : codeOf(error)
  const [message, hint] = said
  if (message !== undefined) complain({ error: message, code, ...(hint === undefined ? {} : { hint }) }, said)
  return code
}
