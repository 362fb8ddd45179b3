/**
 * What an executor does when somebody else has written into its run: reads the run again, if only people have.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Stream from "effect/Stream"

import type * as Journal from "../../journal/Journal.ts"
import * as Outcome from "../Outcome.ts"
import type { RunEvent } from "../RunEvent.ts"
import { applyEvent, type Draft, fromOutside } from "./apply.ts"
import { fromRecord } from "./log.ts"
import { readBack, type Store } from "./outputs.ts"
import { owing as nothingOwed, type Owing } from "./owing.ts"

/**
 * The run as the journal has it now. Fails with the conflict when somebody else carries the run out, and when what was
 * written cannot be built upon. `recall`: is shown what others have written since.
 *
 * @since 0.1.0
 */
export const reread = (
  journal: Journal.Journal["Service"],
  store: Store,
  run: string,
  conflict: Journal.VersionConflict,
  recall: (event: RunEvent) => void
): Effect.Effect<
  { readonly state: Draft; readonly fold: Outcome.Fold; readonly owing: Owing },
  Journal.VersionConflict | Journal.JournalError
> =>
  Effect.gen(function* () {
    if (conflict.expected === 0) return yield* conflict
    const fold = Outcome.fold()
    const owing = nothingOwed()
    let state: Draft | undefined
    let foreign = false
    const since: Array<RunEvent> = []
    yield* journal.read(run).pipe(
      Stream.runForEach((recorded) => {
        const event = fromRecord(recorded)
        if (EffectResult.isFailure(event)) return Effect.fail(conflict)
        if (recorded.version > conflict.expected) {
          if (!fromOutside.has(event.success._tag)) foreign = true
          since.push(event.success)
        }
        const next = applyEvent(state, event.success)
        if (typeof next === "string") return Effect.fail(conflict)
        state = next
        fold.add(event.success)
        owing.add(event.success, next)
        return Effect.void
      })
    )
    if (foreign || state === undefined) return yield* conflict
    yield* Effect.catchTag(readBack(store, fold), "Lost", () => Effect.fail(conflict))
    since.forEach((event) => recall(event))
    return { state, fold, owing }
  })
