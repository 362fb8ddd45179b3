/**
 * Reading exits: from an Exit and the recorded intent to a reason, from a reason and a policy to a verdict.
 *
 * Both are tables. The order of rules: ordered stop, then a clean exit by `restart`, then an unclean one by
 * `onFailure`, else by the failure's kind, else by `restart`. `"never"` never restarts.
 */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"

import * as Failure from "../Failure.ts"
import { GaveUp } from "./errors.ts"
import type { ExitReason } from "./model.ts"
import type { Restart, Verdict } from "./transition.ts"

/** What `onFailure` may answer. */
export type Directive = "restart" | "stop" | "escalate"

/** `instanceof` for values from outside: what cannot be read is no instance of anything. */
export const isA = <A>(value: unknown, of: abstract new (...args: never) => A): value is A => {
  try {
    return value instanceof of
  } catch {
    return false
  }
}

/**
 * Classifies by intent first: what was asked to stop is an ordered stop, whatever its cause looks like.
 *
 * Only a supervisor gives up. Any other child that fails with `GaveUp`, of a tree of its own, has failed.
 */
export const reasonOf = (exit: Exit.Exit<unknown, unknown>, ordered: boolean, supervisor = false): ExitReason => {
  if (ordered) {
    const cause = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? exit.cause : undefined
    return { _tag: "Shutdown", cause }
  }
  if (Exit.isSuccess(exit)) return { _tag: "Normal" }
  const { cause } = exit
  if (Cause.hasInterruptsOnly(cause)) return { _tag: "Killed", cause }
  let shutdown: Failure.Shutdown | undefined
  for (const reason of cause.reasons) {
    if (Cause.isInterruptReason(reason)) continue
    if (Cause.isFailReason(reason) && isA(reason.error, Failure.Shutdown)) shutdown = reason.error
    else if (supervisor && Cause.isFailReason(reason) && isA(reason.error, GaveUp)) {
      return { _tag: "GaveUp", path: reason.error.path, cause: reason.error.cause }
    } else return { _tag: "Error", cause }
  }
  if (shutdown === undefined) return { _tag: "Error", cause }
  return { _tag: "Shutdown", cause: undefined, detail: shutdown.detail }
}

/** The cause behind a reason, empty for a clean one. */
export const causeOf = (reason: ExitReason): Cause.Cause<unknown> =>
  reason._tag === "Normal" ? Cause.empty : (reason.cause ?? Cause.empty)

/** The default directive of each kind of failure. */
export const defaultDirective = (kind: Failure.Kind | undefined): Directive => {
  switch (kind) {
    case "capability":
    case "oversized":
    case "denied":
    case "exhausted":
      return "stop"
    case "transient":
    case "malformed":
    case undefined:
      return "restart"
  }
}

/** What an exit asks for, given the child's policy and, for an unclean one, its directive. */
export const verdictOf = (reason: ExitReason["_tag"], restart: Restart, directive: Directive): Verdict => {
  switch (reason) {
    case "Normal":
    case "Shutdown":
      return restart === "always" ? "restart" : restart === "on-failure" ? "stop" : "forget"
    case "GaveUp":
      return restart === "always" ? "restart" : restart === "on-failure" ? "gave-up" : "forget"
    case "Killed":
    case "Error": {
      if (directive === "escalate") return "escalate"
      if (restart === "never") return "forget"
      return directive === "stop" ? "fail" : "restart"
    }
  }
}

/** Both causes of an end whose finalizers failed too. */
export const withFinalizers = (
  exit: Exit.Exit<unknown, unknown>,
  finalizers: Exit.Exit<unknown, unknown>
): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(finalizers)) return exit
  if (Exit.isSuccess(exit)) return finalizers
  const known = new Set(exit.cause.reasons)
  const added = finalizers.cause.reasons.filter((reason) => !known.has(reason))
  return Exit.failCause(Cause.fromReasons([...exit.cause.reasons, ...added]))
}
