/**
 * What to do after a failure, as a table: kind of failure × history × policy → the next step.
 *
 * | kind | ladder |
 * |---|---|
 * | `transient` | attempts inside the dispatch, then another worker, then a new plan, then incomplete |
 * | `capability` | another worker, then a new plan, then incomplete |
 * | `oversized` | decompose, then another worker with a larger window, then incomplete |
 * | `malformed` | one correction request to the same worker, then another worker, then incomplete |
 * | `denied` | a person; never tried again |
 * | `exhausted` | incomplete |
 * | `defect` | once more with a fresh incarnation, then another worker, then incomplete |
 *
 * This module is the only owner of retries: nothing below a run tries again on its own.
 *
 * **Invariants**
 *
 * - L1. No task is given to the same worker more than `dispatchesPerWorker` times.
 * - L2. A worker that has had the task is never "another worker", and a task is split, planned anew or followed up once
 *   each, so every ladder ends.
 *
 * **Example** (A malformed answer is corrected once, then handed on)
 *
 * ```ts
 * import { Recovery } from "espalier/run"
 *
 * const first = [{ worker: "docs.links", kind: "malformed" as const }]
 * Recovery.next(first, { others: ["docs.spare"] })._tag // => "SameWorker"
 *
 * const twice = [...first, ...first]
 * Recovery.next(twice, { others: ["docs.spare"] }) // => { _tag: "OtherWorker", worker: "docs.spare" }
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import type { ErrorKind } from "./Result.ts"

/**
 * One rung of a ladder.
 *
 * **Details**
 *
 * - `retry`: more attempts inside the dispatch; spent by the time a dispatch reports.
 * - `correct`: the same worker once more, told what was wrong with its answer.
 * - `again`: the same worker once more, with a fresh incarnation.
 * - `follow-up`: a bounded task that carries only the evidence that did not hold, then the task once more.
 * - `other-worker`: one that can do the task and has not had it. `larger-worker`: one with a larger window than the last.
 * - `decompose`: smaller tasks in its place. `re-plan`: other tasks in its place.
 * - `review`: a person decides.
 * - `incomplete`: the end; the task ends without its result.
 *
 * @category models
 * @since 0.1.0
 */
export const Rung = Schema.Literals([
  "retry",
  "correct",
  "again",
  "follow-up",
  "other-worker",
  "larger-worker",
  "decompose",
  "re-plan",
  "review",
  "incomplete"
])

/**
 * @category models
 * @since 0.1.0
 */
export type Rung = typeof Rung.Type

/**
 * A ladder for each kind of failure.
 *
 * @category models
 * @since 0.1.0
 */
export type Ladders = { readonly [K in ErrorKind]: ReadonlyArray<Rung> }

/**
 * The numbers and ladders that recovery goes by.
 *
 * **Details**
 *
 * - `attempts`: tries inside one dispatch, a whole number >= 1. Default 3.
 * - `waitsMillis`: what is waited before the second, the third … attempt; the last one repeats. Default 1 s and 2 s.
 * - `jitter`: by how much a wait is moved up or down, as a share of it, between 0 and 1. Default 0.2.
 * - `longestWaitMillis`: a failure that asks for a longer wait than this is not waited for. Default 60 s.
 * - `dispatchesPerWorker`: how often one worker gets the same task, a whole number >= 1. Default 3.
 * - `confidence`: a result below it leaves its run degraded, between 0 and 1. Default 0.6.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  readonly ladders: Ladders
  readonly attempts: number
  readonly waitsMillis: ReadonlyArray<number>
  readonly jitter: number
  readonly longestWaitMillis: number
  readonly dispatchesPerWorker: number
  readonly confidence: number
}

/**
 * The table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const ladders: Ladders = {
  transient: ["retry", "other-worker", "re-plan", "incomplete"],
  capability: ["other-worker", "re-plan", "incomplete"],
  oversized: ["decompose", "larger-worker", "incomplete"],
  malformed: ["follow-up", "correct", "other-worker", "incomplete"],
  denied: ["review"],
  exhausted: ["incomplete"],
  defect: ["again", "other-worker", "incomplete"]
}

/**
 * The defaults.
 *
 * @category models
 * @since 0.1.0
 */
export const policy: Policy = {
  ladders,
  attempts: 3,
  waitsMillis: [1_000, 2_000],
  jitter: 0.2,
  longestWaitMillis: 60_000,
  dispatchesPerWorker: 3,
  confidence: 0.6
}

/**
 * A failed dispatch, as far as recovery looks at it.
 *
 * **Details**
 *
 * - `corrected`: its answer was sent back inside the dispatch: the same worker is not asked to correct it once more. Default
 *   false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failed {
  readonly worker: string
  readonly kind: ErrorKind
  readonly corrected?: boolean | undefined
}

/**
 * The ways in which a task that cannot be done as it is is carried out by tasks of its own.
 *
 * @category models
 * @since 0.1.0
 */
export type Expansion = "decompose" | "re-plan" | "follow-up"

/**
 * What comes next.
 *
 * @category models
 * @since 0.1.0
 */
export type Step =
  | { readonly _tag: "SameWorker"; readonly worker: string; readonly rung: "correct" | "again" }
  | { readonly _tag: "OtherWorker"; readonly worker: string }
  | { readonly _tag: "Expand"; readonly purpose: Expansion }
  | { readonly _tag: "Review" }
  | { readonly _tag: "Incomplete"; readonly because: "no-rung" | "no-other-worker" }

/**
 * The next step after the last failure of a task's history.
 *
 * **Details**
 *
 * - `history`: the failed dispatches of the task, oldest first, at least one.
 * - `others`: workers that can do the task, best first; those of the history are passed over. `larger`: those of them
 *   whose window is larger than the last one's. Default: all of them.
 * - `same`: whether the last worker can be asked again. Default true.
 * - `can`: the expansions that the task has left. Default none.
 *
 * @category decisions
 * @since 0.1.0
 */
export const next = (
  history: ReadonlyArray<Failed>,
  options: {
    readonly others: ReadonlyArray<string>
    readonly larger?: ReadonlyArray<string> | undefined
    readonly same?: boolean | undefined
    readonly can?: ReadonlySet<Expansion> | undefined
    readonly policy?: Policy | undefined
  }
): Step => {
  const { dispatchesPerWorker, ladders } = options.policy ?? policy
  const last = history.at(-1)
  if (last === undefined) return { _tag: "Incomplete", because: "no-rung" }
  let had = 0
  let same = 0
  for (const failed of history) {
    if (failed.worker !== last.worker) continue
    had += 1
    if (failed.kind === last.kind) same += 1
  }
  const fresh = (worker: string) => history.every((failed) => failed.worker !== worker) // L2
  const ladder = ladders[last.kind]
  for (const rung of ladder) {
    switch (rung) {
      case "retry":
        continue
      case "correct":
      case "again":
        if (rung === "correct" && last.corrected === true) continue
        // L1. One more chance per kind: the second failure of the same kind is not a slip.
        if (same === 1 && had < dispatchesPerWorker && options.same !== false) {
          return { _tag: "SameWorker", worker: last.worker, rung }
        }
        continue
      case "other-worker":
      case "larger-worker": {
        const { larger, others } = options
        const other = (rung === "larger-worker" ? (larger ?? others) : others).find(fresh)
        if (other !== undefined) return { _tag: "OtherWorker", worker: other }
        continue
      }
      case "decompose":
      case "re-plan":
      case "follow-up":
        if (options.can?.has(rung) === true) return { _tag: "Expand", purpose: rung }
        continue
      case "review":
        return { _tag: "Review" }
      case "incomplete":
        return {
          _tag: "Incomplete",
          because: ladder.some((each) => each.endsWith("-worker")) ? "no-other-worker" : "no-rung"
        }
    }
  }
  return { _tag: "Incomplete", because: "no-rung" }
}

/**
 * Whether a failure says something about the worker, and not about the task that it was given.
 *
 * **Details**
 *
 * Such failures count towards its breaker and towards being passed over in a run: `transient`, `malformed` and `defect`.
 *
 * @category decisions
 * @since 0.1.0
 */
export const blames = (kind: ErrorKind): boolean => kind === "transient" || kind === "malformed" || kind === "defect"

/**
 * Whether a failed attempt is followed by another one inside the same dispatch.
 *
 * **Details**
 *
 * - `attempt`: the one that failed, from 1.
 * - `retryAfterMillis`: what the failure asks to be left alone for.
 * - `random`: a number in [0, 1) that moves the wait inside its jitter.
 *
 * The wait is never shorter than what the failure asks for. `final` means: no other attempt here, take the next rung.
 *
 * @category decisions
 * @since 0.1.0
 */
export const retry = (
  failed: {
    readonly kind: ErrorKind
    readonly attempt: number
    readonly retryAfterMillis?: number | undefined
    readonly random: number
  },
  policy_: Policy = policy
): { readonly _tag: "Wait"; readonly millis: number } | { readonly _tag: "Final" } => {
  const { attempt, kind, random, retryAfterMillis = 0 } = failed
  if (!policy_.ladders[kind].includes("retry") || attempt >= policy_.attempts) return { _tag: "Final" }
  if (retryAfterMillis > policy_.longestWaitMillis) return { _tag: "Final" }
  const wait = policy_.waitsMillis[Math.min(attempt, policy_.waitsMillis.length) - 1] ?? 0
  const moved = Math.round(wait * (1 + policy_.jitter * (2 * random - 1)))
  return { _tag: "Wait", millis: Math.max(moved, Math.ceil(retryAfterMillis)) }
}
