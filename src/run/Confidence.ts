/**
 * What to do about a result that its worker is not sure of, as a function of everything that was delivered for the task.
 *
 * | policy | a result below the threshold is |
 * |---|---|
 * | `note` | accepted, with a note |
 * | `retry` | asked for once more from the same worker, then the best is taken |
 * | `cross-check` | asked for from another worker, then the two are compared |
 * | `review` | shown to a person |
 *
 * Two results are compared by digest: the same digest from two workers is confirmed; different ones of which one is above
 * the threshold give that one; two unsure ones that differ give a review where one is configured, else the more confident.
 *
 * **Invariants**
 *
 * - F1. A result at or above the threshold is never asked for again, unless another one above it contradicts it.
 * - F2. The same worker is asked once more at most, and another worker only if it has not delivered, so every history ends.
 *
 * **Gotchas**
 *
 * Digests of outputs that differ only in their wording differ. Cross-check work whose output is canonical: a number, a
 * verdict, a sorted list.
 *
 * **Example** (An unsure result is cross-checked and confirmed)
 *
 * ```ts
 * import { Confidence } from "espalier/run"
 *
 * const policy = Confidence.make({ low: "cross-check" })
 * const unsure = { worker: "docs.links", confidence: 0.4, digest: "5f3a" }
 * Confidence.next([unsure], { others: ["docs.spare"], policy })._tag // => "CrossCheck"
 *
 * const same = { worker: "docs.spare", confidence: 0.5, digest: "5f3a" }
 * Confidence.next([unsure, same], { others: ["docs.spare"], policy })._tag // => "Accept"
 * ```
 *
 * @since 0.1.0
 */
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Schema from "effect/Schema"

import { Given } from "./internal/given.ts"

/**
 * See the table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const Low = Schema.Literals(["note", "retry", "cross-check", "review"])

/**
 * @category models
 * @since 0.1.0
 */
export type Low = typeof Low.Type

/**
 * What is done about low confidence.
 *
 * **Details**
 *
 * - `threshold`: a confidence below it is low, between 0 and 1. Default 0.6.
 * - `low`: what is done then. Default `"note"`.
 * - `review`: whether a person is asked when a retry or a cross-check settles nothing. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  readonly threshold: number
  readonly low: Low
  readonly review: boolean
}

/**
 * Makes a policy. See {@link Policy} for the defaults.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when it is not what its type says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Partial<Policy> = {}): Policy => {
  const given = new Given("Confidence.make")
  given.record("options", options, ["threshold", "low", "review"])
  const { low = "note", review = false, threshold = 0.6 } = options
  given.oneOf("low", low, Low.literals)
  given.flag("review", review)
  return { threshold: given.share("threshold", threshold), low, review }
}

/**
 * The defaults.
 *
 * @category models
 * @since 0.1.0
 */
export const policy: Policy = make()

/**
 * A result that was delivered, as far as confidence is concerned.
 *
 * **Details**
 *
 * - `confidence`: between 0 and 1.
 * - `digest`: of the output; equal outputs have equal digests.
 *
 * @category models
 * @since 0.1.0
 */
export interface Delivered {
  readonly worker: string
  readonly confidence: number
  readonly digest: string
}

/**
 * What comes next.
 *
 * **Details**
 *
 * - `Accept`: take the result number `index` of the history. `confirmed`: another worker delivered the same. `low`: it is
 *   below the threshold and nobody confirmed it, so the run is degraded. `note`: what those who read it are told.
 * - `Retry`: the same worker once more. `CrossCheck`: another worker, without showing it the result.
 * - `Review`: a person decides. `reason`: `low-confidence`, or `disagreement` when two results differ.
 *
 * @category models
 * @since 0.1.0
 */
export type Step =
  | {
      readonly _tag: "Accept"
      readonly index: number
      readonly confirmed: boolean
      readonly low: boolean
      readonly note: string
    }
  | { readonly _tag: "Retry"; readonly worker: string; readonly note: string }
  | { readonly _tag: "CrossCheck"; readonly worker: string; readonly note: string }
  | { readonly _tag: "Review"; readonly reason: "low-confidence" | "disagreement"; readonly note: string }

/**
 * The next step after the last delivered result of a task.
 *
 * **Details**
 *
 * - `history`: the delivered results of the task that still stand, oldest first.
 * - `others`: workers that can do the task, best first; those of the history are passed over.
 * - `policy`: default {@link policy}.
 *
 * Of two equally confident results the earlier one is taken.
 *
 * @category decisions
 * @since 0.1.0
 */
export const next = (
  history: NonEmptyReadonlyArray<Delivered>,
  options: { readonly others: ReadonlyArray<string>; readonly policy?: Policy | undefined }
): Step => {
  const { low, review, threshold } = options.policy ?? policy
  const settled = confirmed(history) ?? sure(history, threshold)
  if (settled !== undefined) return settled // F1
  const best = mostConfident(history)
  const { confidence, worker } = history[best] ?? history[0]
  const unsure = `${worker} gives it a confidence of ${confidence}, below ${threshold}`
  const differ = history.some(({ digest }) => digest !== history[0].digest)
  let why = ""
  switch (low) {
    case "note":
      break
    case "review":
      return { _tag: "Review", reason: differ ? "disagreement" : "low-confidence", note: open(history, threshold) }
    case "retry": {
      if (history.length === 1) return { _tag: "Retry", worker, note: unsure } // F2
      why = "; another try did not change that"
      break
    }
    case "cross-check": {
      if (workersOf(history).size === 1) {
        const other = options.others.find((name) => history.every((had) => had.worker !== name)) // F2
        if (other !== undefined) return { _tag: "CrossCheck", worker: other, note: unsure }
        why = "; nobody else could check it"
      } else why = "; another worker delivered something else"
      break
    }
  }
  if (review && low !== "note") {
    return { _tag: "Review", reason: differ ? "disagreement" : "low-confidence", note: open(history, threshold) }
  }
  const isLow = confidence < threshold
  const note = isLow ? `${unsure}${why}` : `${worker} gives it a confidence of ${confidence}${why}`
  return { _tag: "Accept", index: best, confirmed: false, low: isLow, note }
}

const workersOf = (history: ReadonlyArray<Delivered>): ReadonlySet<string> =>
  new Set(history.map(({ worker }) => worker))

/** The index of the most confident result, the earliest of equals. */
const mostConfident = (history: ReadonlyArray<Delivered>): number => {
  let best = 0
  history.forEach(({ confidence }, index) => {
    if (confidence > (history[best]?.confidence ?? 0)) best = index
  })
  return best
}

/** The most confident one of the results that two workers delivered alike, if exactly one output is so. */
const confirmed = (history: ReadonlyArray<Delivered>): Step | undefined => {
  const digests = new Set(
    history
      .filter(({ digest, worker }) => history.some((other) => other.digest === digest && other.worker !== worker))
      .map(({ digest }) => digest)
  )
  const [digest] = digests
  if (digest === undefined || digests.size > 1) return undefined
  const alike = history.filter((each) => each.digest === digest)
  const chosen = alike[mostConfident(alike)]
  return {
    _tag: "Accept",
    index: history.findIndex((each) => each === chosen),
    confirmed: true,
    low: false,
    note: `${[...workersOf(alike)].join(" and ")} delivered the same`
  }
}

/** The result at or above the threshold, if all such results are the same. */
const sure = (history: ReadonlyArray<Delivered>, threshold: number): Step | undefined => {
  const enough = history.filter(({ confidence }) => confidence >= threshold)
  const [first] = enough
  if (first === undefined || enough.some(({ digest }) => digest !== first.digest)) return undefined
  const chosen = enough[mostConfident(enough)] ?? first
  const { confidence, worker } = chosen
  const others = history.length === 1 ? "" : ", the only one that is sure of its result"
  return {
    _tag: "Accept",
    index: history.indexOf(chosen),
    confirmed: false,
    low: false,
    note: `${worker} gives it a confidence of ${confidence}${others}`
  }
}

const open = (history: ReadonlyArray<Delivered>, threshold: number): string => {
  const each = history.map(({ confidence, worker }) => `${worker} ${confidence}`).join(", ")
  return `No result settles it at a threshold of ${threshold}: ${each}`
}

/**
 * What one validator says about a task's result.
 *
 * @category validators
 * @since 0.1.0
 */
export interface Verdict {
  readonly validator: string
  readonly accepts: boolean
}

/**
 * What follows from the verdicts.
 *
 * **Details**
 *
 * - `Wait`: those of `missing` have not spoken in this round.
 * - `Accepted`, `Rejected`: all agree.
 * - `Again`: they disagree for the first time; each is asked once more.
 * - `Escalate`: they disagree for the second time; a person decides.
 *
 * @category validators
 * @since 0.1.0
 */
export type Judgement =
  | { readonly _tag: "Wait"; readonly missing: ReadonlyArray<string> }
  | { readonly _tag: "Accepted" }
  | { readonly _tag: "Rejected" }
  | { readonly _tag: "Again"; readonly note: string }
  | { readonly _tag: "Escalate"; readonly reason: "disagreement"; readonly note: string }

/**
 * What the validators of a task's result say together.
 *
 * **Details**
 *
 * - `validators`: who is asked, at least one, each once.
 * - `verdicts`: in the order in which they came. The n-th verdict of a validator belongs to the n-th round; a round counts
 *   once all have spoken in it. Verdicts of others are passed over.
 *
 * @category validators
 * @since 0.1.0
 */
export const judge = (validators: NonEmptyReadonlyArray<string>, verdicts: ReadonlyArray<Verdict>): Judgement => {
  const said = new Map(validators.map((name): [string, Array<boolean>] => [name, []]))
  for (const { accepts, validator } of verdicts) said.get(validator)?.push(accepts)
  const counts = [...said.values()].map((each) => each.length)
  const rounds = Math.max(1, ...counts)
  const missing = [...said.keys()].filter((name) => (said.get(name)?.length ?? 0) < rounds)
  if (missing.length > 0) return { _tag: "Wait", missing }
  let disagreements = 0
  let last: ReadonlyArray<string> = []
  for (let round = 0; round < rounds; round++) {
    last = [...said].filter(([, each]) => each[round] === true).map(([name]) => name)
    if (last.length > 0 && last.length < said.size) disagreements += 1
  }
  if (last.length === said.size) return { _tag: "Accepted" }
  if (last.length === 0) return { _tag: "Rejected" }
  const against = [...said.keys()].filter((name) => !last.includes(name))
  const note = `${last.join(", ")} for it, ${against.join(", ")} against it`
  return disagreements >= 2 ? { _tag: "Escalate", reason: "disagreement", note } : { _tag: "Again", note }
}
