/**
 * When a worker is left alone: so many failed dispatches within a window degrade it for a while, then one probe decides.
 *
 * It owns the decision and nothing else: a state goes in, a state comes out, and the caller says what time it is.
 *
 * | state | a dispatch is | what changes it |
 * |---|---|---|
 * | `healthy` | admitted | the last failure that is allowed within the window → `degraded` |
 * | `degraded` | refused until its time is over | that time → `ready-for-probe` |
 * | `ready-for-probe` | admitted, as the probe | → `probing` |
 * | `probing` | refused, unless it is the probe itself | the probe: succeeded → `healthy`, failed → `degraded`, interrupted → `ready-for-probe` |
 *
 * **Details**
 *
 * - What counts is a dispatch that failed after its retries, not an attempt. One that was interrupted counts for nothing.
 * - A dispatch that was under way when its worker was degraded changes nothing any more: only the probe does.
 * - Times are milliseconds since 1970, as in the events of a run.
 *
 * **Invariants**
 *
 * - B1. A failure aged exactly `withinMillis` still counts; a millisecond older does not.
 * - B2. A healthy state keeps fewer than `failures` times, whatever is reported.
 * - B3. There is at most one probe, and nothing but its end takes its place away.
 *
 * **Example** (Three failures, a pause, a probe)
 *
 * ```ts
 * import { Breaker } from "espalier/run"
 *
 * let state: Breaker.State = Breaker.healthy
 * for (const at of [0, 1_000, 2_000]) state = Breaker.failed(state, at, `audit/links/${at}`)
 * Breaker.admit(state, 3_000, "audit/links/4") // => { _tag: "Refused", state, reason: "degraded", until: 602_000 }
 *
 * const probe = Breaker.admit(state, 602_000, "audit/links/5")
 * probe // => { _tag: "Admitted", state: { status: "probing", dispatch: "audit/links/5" }, probe: true }
 * Breaker.succeeded(probe.state, "audit/links/5") // => { status: "healthy", failures: [] }
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

import { show } from "../internal/options.ts"
import { Given } from "./internal/given.ts"

/**
 * What is known of a worker, as plain JSON.
 *
 * **Details**
 *
 * - `failures`: the times of the failed dispatches that may still count, in the order of their reports.
 * - `until`: when the pause is over.
 * - `dispatch`: the probe.
 *
 * @category models
 * @since 0.1.0
 */
export const State = Schema.Union([
  Schema.Struct({ status: Schema.Literal("healthy"), failures: Schema.Array(Schema.Finite) }),
  Schema.Struct({ status: Schema.Literal("degraded"), until: Schema.Finite }),
  Schema.Struct({ status: Schema.Literal("ready-for-probe") }),
  Schema.Struct({ status: Schema.Literal("probing"), dispatch: Schema.String })
])

/**
 * @category models
 * @since 0.1.0
 */
export type State = typeof State.Type

/**
 * What a breaker goes by.
 *
 * **Details**
 *
 * - `failures`: failed dispatches within the window that degrade a worker, a whole number >= 1. Default 3.
 * - `withinMillis`: width of the sliding window, > 0 and finite. Default 5 minutes.
 * - `cooldownMillis`: how long a degraded worker is left alone, > 0 and finite. Default 10 minutes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  readonly failures: number
  readonly withinMillis: number
  readonly cooldownMillis: number
}

/**
 * {@link Settings} as they are written down: durations instead of numbers, all of them optional.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly failures?: number | undefined
  readonly within?: Duration.Input | undefined
  readonly cooldown?: Duration.Input | undefined
}

/**
 * Whether a dispatch may begin, and the state that follows.
 *
 * **Details**
 *
 * - `probe`: whether the dispatch is the one that decides.
 * - `until`: when asking again makes sense; not known while a probe is under way.
 *
 * @category models
 * @since 0.1.0
 */
export type Admission =
  | { readonly _tag: "Admitted"; readonly state: State; readonly probe: boolean }
  | {
      readonly _tag: "Refused"
      readonly state: State
      readonly reason: "degraded" | "probing"
      readonly until?: number
    }

/**
 * A worker of which nothing bad is known.
 *
 * @category constructors
 * @since 0.1.0
 */
export const healthy: State = { status: "healthy", failures: [] }

const given = new Given("Breaker.make")

const millis = (name: string, input: Duration.Input): number => {
  const value = Duration.toMillis(given.duration(name, input, "more"))
  if (!Number.isFinite(value)) throw new RangeError(`Breaker.make: ${name} must be finite, got ${show(input)}`)
  return value
}

/**
 * Makes settings out of what differs from the defaults.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is out of range, and when there is no such option.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Settings => {
  given.record("options", options, ["failures", "within", "cooldown"])
  return {
    failures: given.whole("failures", options.failures ?? 3, 1),
    withinMillis: millis("within", options.within ?? "5 minutes"),
    cooldownMillis: millis("cooldown", options.cooldown ?? "10 minutes")
  }
}

/**
 * The defaults.
 *
 * @category constructors
 * @since 0.1.0
 */
export const settings: Settings = make()

const degraded = (at: number, { cooldownMillis }: Settings): State => ({
  status: "degraded",
  until: at + cooldownMillis
})

const isProbe = (state: State, dispatch: string): boolean => state.status === "probing" && state.dispatch === dispatch

/**
 * A dispatch failed, after its retries, at `at`.
 *
 * @category operations
 * @since 0.1.0
 */
export const failed = (state: State, at: number, dispatch: string, by: Settings = settings): State => {
  if (state.status !== "healthy") return isProbe(state, dispatch) ? degraded(at, by) : state // B3
  const failures = [...state.failures.filter((time) => at - time <= by.withinMillis), at] // B1
  return failures.length < by.failures ? { status: "healthy", failures } : degraded(at, by) // B2
}

/**
 * The worker cannot work at all from `at` on: it is degraded at once, whatever it was, but for a probe under way, whose
 * end decides.
 *
 * @category operations
 * @since 0.1.0
 */
export const tripped = (state: State, at: number, by: Settings = settings): State =>
  state.status === "probing" ? state : degraded(at, by) // B3

/**
 * A dispatch brought a result.
 *
 * **Details**
 *
 * Earlier failures are not forgiven for it: they leave the window by their age.
 *
 * @category operations
 * @since 0.1.0
 */
export const succeeded = (state: State, dispatch: string): State => (isProbe(state, dispatch) ? healthy : state)

/**
 * A dispatch was cancelled, or ended in a way that says nothing about its worker. The probe gives its place back.
 *
 * @category operations
 * @since 0.1.0
 */
export const interrupted = (state: State, dispatch: string): State =>
  isProbe(state, dispatch) ? { status: "ready-for-probe" } : state

/**
 * Time has come to `at`: a degraded worker whose pause is over is ready for one probe.
 *
 * @category operations
 * @since 0.1.0
 */
export const tick = (state: State, at: number): State =>
  state.status === "degraded" && at >= state.until ? { status: "ready-for-probe" } : state

/**
 * Asks whether a dispatch may begin at `at`.
 *
 * **Details**
 *
 * The probe itself may ask again, as it does when it is taken up after a crash.
 *
 * @category operations
 * @since 0.1.0
 */
export const admit = (before: State, at: number, dispatch: string): Admission => {
  const state = tick(before, at)
  switch (state.status) {
    case "healthy":
      return { _tag: "Admitted", state, probe: false }
    case "degraded":
      return { _tag: "Refused", state, reason: "degraded", until: state.until }
    case "ready-for-probe":
      return { _tag: "Admitted", state: { status: "probing", dispatch }, probe: true }
    case "probing":
      return state.dispatch === dispatch
        ? { _tag: "Admitted", state, probe: true }
        : { _tag: "Refused", state, reason: "probing" }
  }
}
