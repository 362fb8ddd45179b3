import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { Journal } from "espalier/journal"
import { Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, memory, task } from "./desks.ts"
import { deskOf } from "./living.ts"
import { dice } from "./simulate.ts"

const field = (data: Schema.Json, name: string): string => String(Reflect.get(Object(data), name))

/** A journal whose commits take their time, before they are made and before anybody hears of it; it tells of both. */
const slowly = (journal: Journal.Journal["Service"], millis: () => number, log: Array<string>) => {
  let open = 0
  const append: Journal.Journal["Service"]["append"] = (append) =>
    Effect.gen(function* () {
      assert.strictEqual(++open, 1, "a run commits one thing after the other")
      yield* Effect.sleep(millis())
      const version = yield* journal.append(append)
      yield* Effect.sleep(millis())
      open -= 1
      for (const { data, type } of append.events) {
        if (type === "Dispatched") log.push(`ordered ${field(data, "dispatch")}`)
        if (type === "TaskEnded") log.push(`ended ${field(data, "task")}`)
        if (type === "RunFinished") log.push("finished")
      }
      return version
    }).pipe(Effect.uninterruptible)
  return { ...journal, append }
}

describe("a journal whose commits take their time", () => {
  const needs: Readonly<Record<string, ReadonlyArray<string>>> = { a: [], b: ["a"], c: ["a"], d: ["b", "c"], e: [] }

  it.effect.each([1, 2, 3, 4, 5, 6, 7, 8])(
    "D57 nothing is begun before its order is acknowledged, nor before the end of what it needs: case %d",
    (seed) =>
      Effect.gen(function* () {
        const { below } = dice(seed)
        const log: Array<string> = []
        const one = Fake.worker("one", {
          size: 5,
          answers: ({ dispatch }) =>
            Effect.suspend(() => {
              log.push(`begun ${dispatch}`)
              return Effect.as(Effect.sleep(below(4) * 500), dispatch)
            })
        })
        const tasks = Object.entries(needs).map(([id, needs]) => task(id, { needs }))
        const journal = slowly(yield* Journal.Journal, () => below(4) * 400, log)
        const outcome = yield* elapse(
          Run.start(deskOf([one], Plan.make<string>(tasks)), { id: "r1", input: "go", log: false }),
          "5 minutes"
        ).pipe(Effect.provideService(Journal.Journal, journal))
        assert.strictEqual(outcome.status, "completed")
        const place = (what: string): number => {
          assert.strictEqual(log.filter((each) => each === what).length, 1, `${what}: ${log.join(", ")}`)
          return log.indexOf(what)
        }
        for (const [id, before] of Object.entries(needs)) {
          const begun = place(`begun r1/${id}/1`)
          assert.isBelow(place(`ordered r1/${id}/1`), begun, log.join(", "))
          for (const need of before) assert.isBelow(place(`ended ${need}`), begun, log.join(", "))
        }
        assert.strictEqual(place("finished"), log.length - 1)
      }).pipe(memory)
  )
})
