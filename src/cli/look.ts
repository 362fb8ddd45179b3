/**
 * How text looks where it is printed: how a status is coloured and a time is written; the rest is shared.
 *
 * @since 0.1.0
 */
import { type Look, type Style } from "../internal/look.ts"
import { instantOf } from "../run/internal/text.ts"

export { harmless, harmlessJson, type Look, lookOf, painted, piped, type Style } from "../internal/look.ts"

const styles: Readonly<Record<string, Style>> = {
  // Runs.
  running: "cyan",
  waiting: "yellow",
  suspended: "magenta",
  completed: "green",
  partial: "yellow",
  failed: "red",
  cancelled: "dim",
  // Tasks.
  queued: "dim",
  ready: "blue",
  "awaiting-review": "magenta",
  accepted: "green",
  rejected: "red",
  blocked: "red",
  skipped: "dim",
  // Dispatches.
  open: "cyan",
  refused: "red",
  "rejected-contract": "red",
  "rejected-quality": "red",
  "timed-out": "red",
  crashed: "red",
  "budget-exceeded": "red",
  denied: "red",
  lost: "yellow",
  // Workers.
  healthy: "green",
  degraded: "yellow",
  "ready-for-probe": "yellow",
  probing: "cyan",
  unavailable: "red",
  // What was found of a run, or of what runs need.
  ok: "green",
  warn: "yellow",
  fail: "red",
  damaged: "red",
  differs: "yellow",
  unread: "red",
  ghost: "yellow",
  kept: "yellow",
  rebuilt: "green"
}

/** The style of a status: one each, the same everywhere. */
export const styleOf = (status: string): Style | undefined =>
  Object.hasOwn(styles, status) ? styles[status] : undefined

/** A time: for programs in full, for people as one reads it, in UTC as everything that is written down. */
export const timeOf = (look: Look, millis: number): string => {
  const instant = instantOf(millis)
  return look.columns === undefined ? instant : instant.replace(/^(\S+)T(\d\d:\d\d:\d\d)\.\d+Z$/, "$1 $2Z")
}
