/**
 * A program that decides what is asked: `decider.ts SETTINGS [stay]`. It prints each decision with what it has heard, and
 * ends, or stays until it is killed.
 */
import { writeSync } from "node:fs"

import { Effect, Schedule } from "effect"
import { Review, Run } from "espalier/run"

import { layerStore, type Store } from "./store.ts"

const [told = "", stay] = process.argv.slice(2)
const { by, store } = JSON.parse(told) as { readonly by: string; readonly store: Store }

const once = Effect.gen(function* () {
  const { items } = yield* Review.queue()
  for (const { kind, review } of items) {
    const said =
      kind === "question" ? ({ decision: "answer", answer: "left" } as const) : { decision: "approve" as const }
    const heard = yield* Effect.match(Run.decide({ review, by, ...said }), {
      onSuccess: ({ _tag }) => _tag,
      onFailure: (error) => (error._tag === "CommandRefused" ? (error.because ?? error.message) : error.message)
    })
    writeSync(1, `${JSON.stringify({ review, by, told: heard })}\n`)
  }
})

// Real time: another process asks whenever it comes to that, and tells nobody but its journal.
const program = stay === undefined ? once : Effect.repeat(once, Schedule.spaced("50 millis"))

await Effect.runPromise(Effect.provide(program, layerStore(store)))
