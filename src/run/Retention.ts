/**
 * Which finished runs are still kept: by how they ended, how long ago, and how many there are.
 *
 * What goes is decided by {@link select}, which is pure, and removed by {@link apply}. A run that has not ended is never
 * among it, however old it is.
 *
 * **Invariants**
 *
 * - R1. Only a run that has ended, and of which nothing is open for a person, is removed.
 * - R2. The newest `atLeast` runs that have ended stay, however old they are.
 * - R3. No more than `atMost` runs that have ended stay, however young they are.
 *
 * **Gotchas**
 *
 * - What a removed run has put into a store of artefacts is still there: `collect` of `Artefacts` removes what no run refers
 *   to any more.
 * - A removed run is gone whole, with its chain of hashes. Export it first if it is evidence.
 * - Who waits for a run reads it when it has ended: keep runs for some minutes at least.
 *
 * **Example** (What would go)
 *
 * ```ts
 * import { Retention } from "espalier/run"
 *
 * const policy = Retention.make({ keep: { completed: "30 days", failed: "90 days" }, atLeast: 1 })
 * const day = 24 * 60 * 60 * 1000
 * const run = (run: string, status: string, endedAt: number) =>
 *   ({ run, status, desk: "release", startedAt: 0, version: 9, updatedAt: endedAt })
 *
 * const runs = [run("a", "completed", day), run("b", "failed", day), run("c", "waiting", day), run("d", "completed", 2 * day)]
 * Retention.select(runs, policy, 40 * day) // => ["a"]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import * as Journal from "../journal/Journal.ts"
import { Given } from "./internal/given.ts"
import { RunEnd } from "./RunEvent.ts"

/**
 * How long runs are kept.
 *
 * **Details**
 *
 * - `keep`: for each way to end, how long a run that ended so is kept, counted from its last event; a duration >= 0.
 *   Default: for ever.
 * - `atLeast`: so many of those that have ended stay in any case, the newest ones; a whole number >= 0. Default 0.
 * - `atMost`: no more than so many of those that have ended stay, the newest ones; a whole number >= `atLeast`. Default:
 *   no limit.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly keep?: { readonly [End in RunEnd]?: Duration.Input | undefined } | undefined
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
}

/**
 * A policy, as {@link make} makes it. `keepMillis` has those ways to end that are not kept for ever.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  readonly keepMillis: ReadonlyMap<RunEnd, number>
  readonly atLeast: number
  readonly atMost: number
}

/**
 * Makes a policy. Without options it removes nothing.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is out of range, and when there is no such option or no such way to
 * end.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Policy => {
  const given = new Given("Retention.make")
  given.record("options", options, ["keep", "atLeast", "atMost"])
  const { atMost, keep = {} } = options
  given.record("keep", keep, RunEnd.literals)
  const keepMillis = new Map<RunEnd, number>()
  for (const end of RunEnd.literals) {
    const time = keep[end]
    if (time !== undefined) keepMillis.set(end, Duration.toMillis(given.duration(`keep.${end}`, time, "zero")))
  }
  const atLeast = given.whole("atLeast", options.atLeast ?? 0, 0)
  return { keepMillis, atLeast, atMost: atMost === undefined ? Infinity : given.whole("atMost", atMost, atLeast) }
}

/**
 * The ids of the runs that a policy does not keep at a time, newest first.
 *
 * **Details**
 *
 * - `runs`: as the journal lists them, in any order. `now`: in milliseconds since the epoch.
 * - The newest run is the one whose last event is the latest; of several, the one whose id comes first. A run that is
 *   exactly as old as it is kept is still kept.
 *
 * @category operations
 * @since 0.1.0
 */
export const select = (
  runs: ReadonlyArray<Journal.Listed>,
  { atLeast, atMost, keepMillis }: Policy,
  now: number
): ReadonlyArray<string> =>
  runs
    .flatMap(({ run, status, updatedAt }) => {
      const end = RunEnd.literals.find((end) => end === status)
      return end === undefined ? [] : [{ run, end, at: updatedAt }] // R1
    })
    .toSorted((a, b) => b.at - a.at || (a.run < b.run ? -1 : 1))
    .filter(({ at, end }, index) => {
      if (index < atLeast) return false // R2
      return index >= atMost || now - at > (keepMillis.get(end) ?? Infinity) // R3
    })
    .map(({ run }) => run)

/**
 * Removes the runs that a policy does not keep, one after the other, and answers with their ids.
 *
 * **Details**
 *
 * - Each run is one commit, and others go on in between. When it fails or is interrupted, those before it are gone.
 * - Fails as `remove` of the journal does, among others when another process owns it.
 * - To see what would go, use {@link select} with the list of runs.
 *
 * @category operations
 * @since 0.1.0
 */
export const apply = (policy: Policy): Effect.Effect<ReadonlyArray<string>, Journal.JournalError, Journal.Journal> =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const listed = yield* journal.runs({ status: RunEnd.literals })
    const open = new Set((yield* journal.reviews()).map(({ run }) => run))
    const now = yield* Clock.currentTimeMillis
    const removed = select(
      listed.filter(({ run }) => !open.has(run)), // R1
      policy,
      now
    )
    yield* Effect.forEach(removed, (run) => Effect.andThen(journal.remove(run), Effect.yieldNow), { discard: true })
    return removed
  })
