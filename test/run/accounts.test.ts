/** What runs say at their end of what was used, and of what is not there. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Desk, Domain, Outcome, Plan, Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { desk, elapse, memory, task } from "./desks.ts"
import { envelope, fold, started } from "./simulate.ts"

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

describe("a task whose outcome another task has", () => {
  const said = (task: string, output: string): RunEvent.RunEvent => {
    const told = { attempts: 1, outcome: "accepted", result: envelope({ output, confidence: 0.1 }), note: "" } as const
    return { _tag: "Reported", at: 2, task, dispatch: `r1/${task}/1`, worker: "d.one", ...told }
  }
  const given = (task: string): ReadonlyArray<RunEvent.RunEvent> => [
    { _tag: "Routed", at: 1, task, worker: "d.one", candidates: ["d.one"], note: "" },
    { _tag: "Dispatched", at: 1, task, dispatch: `r1/${task}/1`, worker: "d.one", contract: 1, note: "" }
  ]

  it("R-208 can keep it although another worker was asked, too", () => {
    const first = [started([{ id: "a" }, { id: "b" }]), ...given("a"), said("a", "first")]
    const events: ReadonlyArray<RunEvent.RunEvent> = [
      ...first,
      { _tag: "TaskEnded", at: 2, task: "a", status: "accepted", dispatch: "r1/a/1", missing: [], note: "" },
      { _tag: "Routed", at: 3, task: "b", worker: "d.one", candidates: ["d.one"], note: "" },
      { _tag: "Reused", at: 3, task: "b", worker: "d.one", of: "a", version: first.length, note: "" },
      ...given("b"),
      said("b", "second"),
      { _tag: "TaskEnded", at: 4, task: "b", status: "accepted", missing: [], note: "" }
    ]
    assert.strictEqual(fold(events).tasks.get("b")?.result, first.length)
    assert.strictEqual(Outcome.of(events)?.results["b"]?.output, "first")
  })
})
