/**
 * Large inputs, outputs, and what came of effects: in the journal there is only where they are, in memory and for whoever
 * reads a run there is the value.
 *
 * **Invariants**
 *
 * - O1. The artefact is there before the event that refers to it. A crash in between leaves an artefact that nobody refers
 *   to, never a reference to nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { tellWarning } from "../../internal/telling.ts"
import * as Artefacts from "../../journal/Artefacts.ts"
import * as Journal from "../../journal/Journal.ts"
import type * as Outcome from "../Outcome.ts"
import type { RunEvent } from "../RunEvent.ts"
import { patience } from "./log.ts"
import { isVast } from "./plain.ts"

/** The store around a run, if there is one. */
export type Store = Option.Option<Artefacts.Artefacts["Service"]>

/** The store around this effect, if there is one. */
export const store: Effect.Effect<Store> = Effect.serviceOption(Artefacts.Artefacts)

/** Bytes of JSON that an output may take in its event: 64 KiB. */
const largest = 64 * 1024

/** What a number, `true`, `false` or `null` takes at most, with what stands around it. */
const scalar = 32

/**
 * Whether a value takes more than 64 KiB of JSON. Only one that might is written out to be measured.
 */
export const isLarge = (value: Schema.Json): boolean => {
  let most = 0
  const stack: Array<Schema.Json> = [value]
  for (let each = stack.pop(); each !== undefined; each = stack.pop()) {
    most += 3
    if (typeof each === "string") most += 6 * each.length
    else if (typeof each !== "object" || each === null) most += scalar
    else if (Array.isArray(each)) for (const item of each) stack.push(item)
    else {
      for (const [key, item] of Object.entries(each)) {
        most += 6 * key.length + 4
        stack.push(item)
      }
    }
    if (most > largest) return bytesOf(JSON.stringify(value)) > largest
  }
  return false
}

const bytesOf = (text: string): number =>
  text.length > largest ? text.length : new TextEncoder().encode(text).byteLength

const large = (event: RunEvent): Schema.Json | undefined => {
  if (event._tag === "RunStarted") return isLarge(event.input) ? event.input : undefined
  if (event._tag === "EffectSettled") return event.value !== undefined && isLarge(event.value) ? event.value : undefined
  if (event._tag !== "Reported" && event._tag !== "Merged") return undefined
  const { output } = event.result
  return output !== undefined && isLarge(output) ? output : undefined
}

/**
 * The events as they are written: inputs and outputs that are too large for them are kept in the store first. O1
 *
 * What the store does not take stays in its event, as it does without a store; that is logged. One that an event
 * could not hold was in the store before it was accepted, so passing trouble is waited for.
 */
export const byReference = (store: Store, events: ReadonlyArray<RunEvent>): Effect.Effect<ReadonlyArray<RunEvent>> =>
  Option.isNone(store) || !events.some((event) => large(event) !== undefined)
    ? Effect.succeed(events)
    : Effect.forEach(events, (event) => referring(store.value, event))

const referring = (store: Artefacts.Artefacts["Service"], event: RunEvent): Effect.Effect<RunEvent> => {
  const value = large(event)
  if (value === undefined) return Effect.succeed(event)
  return Artefacts.putJson(value).pipe(
    Effect.provideService(Artefacts.Artefacts, store),
    Effect.retry({ schedule: patience, while: ({ isRetryable }) => isRetryable && isVast(value) }),
    Effect.map((reference): RunEvent => {
      if (event._tag === "RunStarted") return { ...event, input: null, inputRef: reference }
      if (event._tag === "EffectSettled") {
        const { value: _, ...rest } = event
        return { ...rest, valueRef: reference }
      }
      if (event._tag !== "Reported" && event._tag !== "Merged") return event
      const { output: _, ...rest } = event.result
      return { ...event, result: { ...rest, outputRef: reference } }
    }),
    Effect.catch((error) => Effect.as(tellWarning(`Run: a large value stays in its event: ${error.message}`), event))
  )
}

/** An output that is gone, or is not what its reference says. */
export class Lost extends Schema.TaggedError<Lost>("espalier/run/internal/Lost")("Lost", {
  hash: Schema.String,
  reason: Schema.String
}) {}

/**
 * Puts the input and the outputs in place of the references of a folded run, of those that stand: each is read once, after the journal.
 *
 * Trouble of the store, after which nobody knows whether an output is there, is told as that of a journal.
 */
export const readBack = (store: Store, fold: Outcome.Fold): Effect.Effect<void, Lost | Journal.JournalError> => {
  const references = fold.references()
  const [first] = references
  if (first === undefined) return Effect.void
  if (Option.isNone(store)) {
    return Effect.fail(new Lost({ hash: first.hash, reason: "there is no store of artefacts to read it from" }))
  }
  return Effect.forEach(references, (reference) =>
    Artefacts.getJson(reference).pipe(
      Effect.map((value) => [reference.hash, value] as const),
      Effect.provideService(Artefacts.Artefacts, store.value),
      Effect.mapError(({ message, reason }) => {
        switch (reason._tag) {
          case "ArtefactMissing":
          case "ArtefactMismatch":
          case "ArtefactTooLarge":
          case "ArtefactUnreadable":
          case "InvalidInput":
            return new Lost({ hash: reference.hash, reason: message })
          default:
            return new Journal.JournalError({ reason })
        }
      })
    )
  ).pipe(Effect.map((values) => fold.restore(new Map(values))))
}
