/**
 * What a failure means for a chain of models, as pure rules. Public through `Models`.
 *
 * @since 0.1.0
 */
import type * as Failure from "../../Failure.ts"

/** As much of a failed call as the rules look at. */
export interface Failed {
  readonly kind: Failure.Kind
  readonly retryAfterMillis?: number | undefined
  readonly begun?: boolean | undefined
}

/** As much of a model in a chain as the rules look at. */
export interface Link {
  readonly window?: number | undefined
}

export type Next = "retry-later" | "swap" | "stop"

/** Whether a failure asks for so short a pause that the same model is waited for. */
const waits = ({ kind, retryAfterMillis }: Failed, swapAfterMillis: number): boolean =>
  kind === "transient" && retryAfterMillis !== undefined && retryAfterMillis <= swapAfterMillis

const isLarger = ({ window }: Link, than: Link | undefined): boolean =>
  window !== undefined && than?.window !== undefined && window > than.window

/**
 * The position of the model that is asked next, or `undefined` when none is.
 *
 * @since 0.1.0
 */
export const target = (
  failure: Failed,
  position: number,
  chain: ReadonlyArray<Link>,
  swapAfterMillis: number
): number | undefined => {
  if (failure.begun === true || failure.kind === "exhausted" || waits(failure, swapAfterMillis)) return undefined
  const found = chain.findIndex(
    (link, index) => index > position && (failure.kind !== "oversized" || isLarger(link, chain[position]))
  )
  return found === -1 ? undefined : found
}

/** See `Models.next`. */
export const next = (failure: Failed, position: number, chain: ReadonlyArray<Link>, swapAfterMillis: number): Next => {
  if (failure.begun === true) return "stop"
  if (waits(failure, swapAfterMillis)) return "retry-later"
  return target(failure, position, chain, swapAfterMillis) === undefined ? "stop" : "swap"
}

const hope: ReadonlyArray<Failure.Kind> = ["transient", "oversized", "capability", "denied", "malformed", "exhausted"]

/** See `Models.mostHopeful`. */
export const mostHopeful = <F extends Failed>(failures: readonly [F, ...Array<F>]): F =>
  failures.reduce((best, each) => {
    const order = hope.indexOf(each.kind) - hope.indexOf(best.kind)
    if (order !== 0) return order < 0 ? each : best
    return (each.retryAfterMillis ?? Infinity) <= (best.retryAfterMillis ?? Infinity) ? each : best
  })

/**
 * What a chain that asks nobody any more fails with: the last failure when it says why nobody else is asked, else the most
 * hopeful one.
 *
 * @since 0.1.0
 */
export const outcome = <F extends Failed>(failures: readonly [F, ...Array<F>], swapAfterMillis: number): F => {
  const last = failures.at(-1)!
  return last.begun === true || last.kind === "exhausted" || waits(last, swapAfterMillis) ? last : mostHopeful(failures)
}
