/** What runs say at their end of what was used, and of what is not there. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Desk, Domain, Plan, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { desk, elapse, memory, task } from "./desks.ts"

const options = { id: "r1", input: "go", log: false }

describe("the usage of a run", () => {
  it.effect("D34 is that of every attempt, also of those that failed", () =>
    Effect.gen(function* () {
      const answers = [
        Result.failed("transient", "Busy", { usage: { tokens: 5 } }),
        Fake.fail("transient"),
        Result.completed("x", { usage: { tokens: 7 } })
      ]
      const outcome = yield* elapse(
        Run.start(desk([Fake.worker("one", { answers })], [task("a")]), options),
        "1 minute"
      )
      assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 12 }])
    }).pipe(memory)
  )

  it.effect("D34 is what the calls of all attempts came to, where the results do not say it", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        answers: ({ allowance, attempt }) =>
          Effect.as(
            allowance.call({ tokens: 10 }, Effect.void, () => ({ tokens: attempt })).pipe(Effect.orDie),
            attempt < 3 ? Fake.fail("transient") : "x"
          )
      })
      const outcome = yield* elapse(Run.start(desk([one], [task("a")]), options), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 6 }])
    }).pipe(memory)
  )
})

describe("the answer of a run", () => {
  it.effect("R-212 can be read again when the run stopped and every task that was begun is accepted", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ["x"], estimate: { tokens: 60 } })
      const stopped = Desk.make("desk", {
        version: "1",
        input: Schema.String,
        output: Schema.Struct({ a: Schema.String }),
        domains: [Domain.make("d", { workers: [one] })],
        coordinator: Plan.make([task("a"), task("b", { needs: ["a"] })]),
        limits: { tokens: 100 }
      })
      const { output, stopReason } = yield* Run.start(stopped, options)
      assert.deepStrictEqual([output, stopReason], [{ a: "x" }, "budget-exceeded"])
      assert.deepStrictEqual((yield* Run.outcome("r1")).output, { a: "x" })
    }).pipe(memory)
  )
})
