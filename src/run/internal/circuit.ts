/**
 * The breaker of one dependency, as a pure function of its state, the time, and how a call ended.
 *
 * | state | a call is | what changes it |
 * |---|---|---|
 * | `closed` | let through | the last failure in a row that is allowed → `open`; a failure with a hint → `held` |
 * | `held` | refused until the hint is over | its time → `closed`, for everybody |
 * | `open` | refused until its time is over | its time → `probing`, for the first who asks |
 * | `probing` | refused | the probe: answered → `closed`, failed → `open`, nothing → `open`, with its time over |
 *
 * **Invariants**
 *
 * - K1. What is `held` or `open` is so at least as long as the last hint says, whichever call brought it.
 * - K2. A call from before an opening does not count after it; only its hint is heard.
 *
 * @since 0.1.0
 */

/** @since 0.1.0 */
export type State =
  | { readonly status: "closed"; readonly failures: number }
  | { readonly status: "held"; readonly failures: number; readonly until: number }
  | { readonly status: "open"; readonly until: number }
  | { readonly status: "probing"; readonly call: number }

/**
 * A circuit: its state, and how often it opened.
 *
 * @since 0.1.0
 */
export interface Circuit {
  readonly state: State
  readonly openings: number
}

/** @since 0.1.0 */
export interface Settings {
  readonly failures: number
  readonly openMillis: number
  readonly longestMillis: number
}

/**
 * What the end of a call says about the dependency.
 *
 * `answered`: it is there. `failed`: it is not, or does not want to be asked now. `nothing`: the call ended for a reason of
 * its own.
 *
 * @since 0.1.0
 */
export type Verdict =
  | { readonly _tag: "Answered" }
  | { readonly _tag: "Failed"; readonly retryAfterMillis?: number | undefined }
  | { readonly _tag: "Nothing" }

/** @since 0.1.0 */
export interface Call {
  readonly id: number
  readonly openings: number
}

/** @since 0.1.0 */
export const closed: Circuit = { state: { status: "closed", failures: 0 }, openings: 0 }

/** @since 0.1.0 */
export type Admission =
  | { readonly _tag: "Admitted"; readonly circuit: Circuit; readonly call: Call }
  | { readonly _tag: "Refused"; readonly reason: "held" | "open" | "probing"; readonly until?: number }

/**
 * Asks for the call `id` at `at`.
 *
 * @since 0.1.0
 */
export const admit = (circuit: Circuit, at: number, id: number): Admission => {
  const { openings, state } = circuit
  const admitted = (state: State): Admission => ({
    _tag: "Admitted",
    circuit: { ...circuit, state },
    call: { id, openings }
  })
  switch (state.status) {
    case "closed":
      return admitted(state)
    case "held":
      return at >= state.until
        ? admitted({ status: "closed", failures: state.failures })
        : { _tag: "Refused", reason: "held", until: state.until }
    case "open":
      return at >= state.until
        ? admitted({ status: "probing", call: id })
        : { _tag: "Refused", reason: "open", until: state.until }
    case "probing":
      return { _tag: "Refused", reason: "probing" }
  }
}

const later = (state: State, until: number): number => ("until" in state ? Math.max(state.until, until) : until)

/**
 * The call ended at `at`.
 *
 * @since 0.1.0
 */
export const settle = (circuit: Circuit, at: number, call: Call, verdict: Verdict, settings: Settings): Circuit => {
  const { openings, state } = circuit
  const hint = verdict._tag === "Failed" ? Math.min(verdict.retryAfterMillis ?? 0, settings.longestMillis) : 0
  const open = (): Circuit => ({
    state: { status: "open", until: later(state, at + (hint > 0 ? hint : settings.openMillis)) }, // K1
    openings: openings + 1
  })
  const held = (failures: number): Circuit => ({
    state: { status: "held", failures, until: later(state, at + hint) }, // K1
    openings
  })

  if (state.status === "probing") {
    if (state.call !== call.id) return circuit
    if (verdict._tag === "Failed") return open()
    return verdict._tag === "Answered"
      ? { state: { status: "closed", failures: 0 }, openings }
      : { state: { status: "open", until: at }, openings }
  }
  if (state.status === "open") {
    return hint > 0 ? { state: { status: "open", until: later(state, at + hint) }, openings } : circuit // K1
  }
  if (verdict._tag === "Nothing") return circuit
  const stale = call.openings !== openings
  if (stale) return hint > 0 ? held(state.failures) : circuit // K2
  if (verdict._tag === "Answered") return { state: { ...state, failures: 0 }, openings }
  const failures = state.failures + 1
  if (failures >= settings.failures) return open()
  return hint > 0 ? held(failures) : { state: { ...state, failures }, openings }
}
