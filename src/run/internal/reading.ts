/**
 * A run as its journal has it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Stream from "effect/Stream"

import { canonicalRow, root } from "../../journal/internal/chain.ts"
import * as Journal from "../../journal/Journal.ts"
import type { Reference } from "../../journal/Reference.ts"
import * as Outcome from "../Outcome.ts"
import type { RunEvent } from "../RunEvent.ts"
import { applyEvent, type Draft } from "./apply.ts"
import { fromRecord, refusal } from "./log.ts"
import { readBack, store } from "./outputs.ts"
import { owing as nothingOwed, type Owing } from "./owing.ts"
import { NoSuchEvent, RunNotFound, RunUntrusted } from "./runErrors.ts"

/** What a run has come to, what came of it, and what people are to be told of it. */
export interface Read {
  readonly state: Draft
  readonly fold: Outcome.Fold
  readonly owing: Owing
}

const referred = (event: RunEvent): Reference | undefined =>
  event._tag === "RunStarted" ? event.inputRef : "result" in event ? event.result.outputRef : undefined

/** A run with where its events refer to: the version of the event by the hash. */
export interface Folded extends Read {
  readonly references: ReadonlyMap<string, number>
}

/** Is shown each event with the state that it led to; that state changes with the next one. */
export type Look = (event: RunEvent, state: Draft) => void

/** Folds a run from its journal, up to a version where one is given. An event that somebody has changed ends it. */
const foldTo = Effect.fnUntraced(function* (run: string, to: number | undefined, look?: Look | undefined) {
  const journal = yield* Journal.Journal
  const fold = Outcome.fold()
  const owing = nothingOwed()
  const references = new Map<string, number>()
  let state: Draft | undefined
  let previous = root
  yield* journal.read(run, { to }).pipe(
    Stream.runForEach((recorded) => {
      const untrusted = (reason: string) => Effect.fail(new RunUntrusted({ run, version: recorded.version, reason }))
      if (journal.digest !== undefined) {
        // What was appended reads back as the text that it was stored as.
        const data = JSON.stringify(recorded.data)
        previous = journal.digest(canonicalRow(previous, { ...recorded, run, data }))
        if (previous !== recorded.hash) return untrusted("the event is not what was written: its hash does not hold")
      }
      const event = fromRecord(recorded)
      if (EffectResult.isFailure(event)) return Effect.fail(refusal(run, recorded.version, event.failure))
      const next = applyEvent(state, event.success)
      if (typeof next === "string") return untrusted(`a ${event.success._tag} that cannot have happened: ${next}`)
      state = next
      fold.add(event.success)
      look?.(event.success, next)
      owing.add(event.success, next)
      const reference = referred(event.success)
      if (reference !== undefined) references.set(reference.hash, recorded.version)
      return Effect.void
    })
  )
  if (state === undefined) return yield* new RunNotFound({ run })
  const folded: Folded = { state, fold, owing, references }
  return folded
})

/** Folds a run from its journal. What is large is there by reference. */
export const foldRun = (run: string, look?: Look | undefined) => foldTo(run, undefined, look)

/** As {@link foldRun}, as the run was after its event `version`. */
export const foldAt = Effect.fnUntraced(function* (run: string, version: number) {
  const journal = yield* Journal.Journal
  const last = yield* journal.version(run)
  if (last === 0) return yield* new RunNotFound({ run })
  if (!Number.isSafeInteger(version) || version < 1 || version > last) {
    return yield* new NoSuchEvent({ run, version, last })
  }
  return yield* foldTo(run, version)
})

/** Puts the input and the outputs in place that stand. One that is gone is no less untrusted than an event that is. */
export const withOutputs = Effect.fnUntraced(function* (run: string, { fold, owing, references, state }: Folded) {
  yield* readBack(yield* store, fold).pipe(
    Effect.catchTag("Lost", ({ hash, reason }) =>
      Effect.fail(
        new RunUntrusted({
          run,
          version: references.get(hash) ?? state.version,
          reason: `${references.get(hash) === 1 ? "the input" : "an output"} cannot be read back: ${reason}`
        })
      )
    )
  )
  const read: Read = { state, fold, owing }
  return read
})

/** Folds a run from its journal, with its input and outputs. `look`: as for {@link foldRun}. */
export const readRun = (run: string, look?: Look | undefined) =>
  Effect.flatMap(foldRun(run, look), (folded) => withOutputs(run, folded))
