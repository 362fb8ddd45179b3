import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Office, Result, Run, Worker } from "espalier/run"

import { desk, elapse, history, memory, settle, task, Text, worker } from "./desks.ts"

const options = { id: "r1", input: "go", log: false } as const

describe("A worker", () => {
  it.effect("D02 that stops at its limit of steps ends as partial, with what it has done and why it stopped", () =>
    Effect.gen(function* () {
      const one = worker("one", ({ allowance }) =>
        Effect.gen(function* () {
          let done = 0
          const step = allowance.call(
            { steps: 1 },
            Effect.sync(() => void (done += 1))
          )
          const stopped = yield* Effect.flip(Effect.repeat(step, { times: 3 }))
          return Result.partial(`${done} steps`, [{ part: "step 4", reason: stopped.message }])
        })
      )
      const outcome = yield* Run.start(desk([one], [task("a", { limits: { steps: 3 } })]), options)
      const { missing, output, status } = outcome.results["a"]!
      assert.deepStrictEqual([outcome.status, status, output], ["partial", "partial", "3 steps"])
      assert.include(missing[0]?.reason, "has 0 steps left, 1 were asked for: limit 3, settled 3")
      assert.deepStrictEqual(outcome.usage, { steps: 3 })
      assert.deepStrictEqual(
        outcome.dispatches.map(({ outcome }) => outcome),
        ["partial"]
      )
    }).pipe(memory)
  )

  const alive = (beats: number) =>
    worker(
      "one",
      ({ progress }) =>
        Effect.gen(function* () {
          for (let beat = 0; beat < beats; beat++) {
            yield* Effect.sleep("5 seconds")
            yield* progress
          }
          return beats === 12 ? "done" : yield* Effect.never
        }),
      { attemptTimeout: "10 seconds" }
    )

  it.effect("D12 that gives signs of life is not timed out", () =>
    Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(desk([alive(12)], [task("a")]), options), "61 seconds")
      assert.deepStrictEqual(
        outcome.dispatches.map(({ attempts, durationMillis, outcome }) => [outcome, attempts, durationMillis]),
        [["accepted", 1, 60_000]]
      )
    }).pipe(memory)
  )

  it.effect("D12 that falls silent is timed out from its last sign on, and named", () =>
    Effect.gen(function* () {
      yield* elapse(Run.start(desk([alive(3)], [task("a")]), options), "10 minutes")
      const failed = (yield* history("r1")).find(({ _tag }) => _tag === "AttemptFailed")
      assert.strictEqual(failed?.at, 25_000)
      assert.include(failed?.note, "Attempt 1 at d.one failed (transient): no answer within 10000 ms")
    }).pipe(memory)
  )

  it.effect("D12 that crashes after it was given more time ends as crashed, at once", () =>
    Effect.gen(function* () {
      const one = worker(
        "one",
        ({ progress }) =>
          Effect.sleep("8 seconds").pipe(
            Effect.andThen(progress),
            Effect.andThen(Effect.sleep("4 seconds")),
            Effect.andThen(Effect.die("boom"))
          ),
        { attemptTimeout: "10 seconds" }
      )
      yield* elapse(Run.start(desk([one], [task("a")]), options), "1 minute")
      const [first] = (yield* history("r1")).filter(({ _tag }) => _tag === "Reported")
      assert.deepInclude(first, { at: 12_000 })
      assert.include(first?.note, "boom")
    }).pipe(memory)
  )

  it.effect("D91 that ignores its cancellation is told as unsettled, and as settled when it ends after all", () =>
    Effect.gen(function* () {
      const letGo = Deferred.makeUnsafe<void>()
      const deaf = worker("one", ({ task }) =>
        task === "a" ? Effect.as(Effect.uninterruptible(Deferred.await(letGo)), "late") : Effect.never
      )
      const other = worker("two", () => Effect.sleep("1 hour").pipe(Effect.as("other")), {
        capabilities: [],
        attemptTimeout: "2 hours"
      })
      const plan = [task("a", { limits: { deadlineMillis: 10_000 } }), task("b", { worker: "d.two" })]
      const office = yield* Office.open(desk([deaf, other], plan), { log: false })
      const fiber = yield* Effect.forkChild(Run.startIn(office, options))
      yield* settle
      // The deadline, the grace time of the work, and that of the member that is replaced under it.
      yield* TestClock.adjust("10 seconds")
      yield* settle
      yield* TestClock.adjust("5 seconds")
      yield* settle
      yield* TestClock.adjust("5 seconds")
      yield* settle
      const reported = (yield* history("r1")).find((event) => event._tag === "Reported" && event.task === "a")
      assert.include(reported?.note, "its work did not stop and was left behind, so what it does outside is unsettled")
      yield* Deferred.succeed(letGo, undefined)
      yield* settle
      yield* TestClock.adjust("1 hour")
      const outcome = yield* Fiber.join(fiber)
      assert.strictEqual(outcome.results["a"]?.output, undefined)
      const noticed = (yield* history("r1")).filter(({ _tag }) => _tag === "Noticed")
      assert.deepStrictEqual(
        noticed.map(({ note }) => note),
        ["The work of r1/a/1 at d.one, which had been left behind, has ended"]
      )
    }).pipe(Effect.scoped, memory)
  )

  it.effect(
    "D26 D69 never sees what another run of the same desk gave it, at the same time and under the same names",
    () =>
      Effect.gen(function* () {
        const echo = Worker.make("one", {
          description: "Echoes",
          capabilities: ["work"],
          size: 100,
          input: Text,
          output: Schema.String,
          handle: ({ accepted, input, run }) =>
            Effect.as(Effect.sleep("1 second"), `${run} ${input.text} ${JSON.stringify(accepted)}`)
        })
        const plan = [
          task("a", { input: (_, text) => ({ text }) }),
          task("b", { needs: ["a"], input: (_, text) => ({ text: `${text}!` }) })
        ]
        const office = yield* Office.open(desk([echo], plan), { log: false })
        const runs = Effect.forEach(
          Array.from({ length: 100 }, (_, index) => `tenant-${index}`),
          (id) => Run.startIn(office, { id, input: `for ${id}` }),
          { concurrency: "unbounded" }
        )
        for (const { results, run } of yield* elapse(runs, "3 seconds")) {
          assert.strictEqual(results["a"]?.output, `${run} for ${run} {}`)
          assert.strictEqual(results["b"]?.output, `${run} for ${run}! {"a":"${run} for ${run} {}"}`)
        }
      }).pipe(Effect.scoped, memory)
  )
})

describe("An office", () => {
  it.effect("D93 keeps no listener, no live run and no fiber of the runs that are over", () =>
    Effect.gen(function* () {
      const office = yield* Office.open(desk([worker("one", () => Effect.succeed("done"))], [task("a")]), {
        log: false
      })
      let listening = 0
      let most = 0
      const { changes } = office.health
      Object.assign(office.health, {
        changes: (listener: Parameters<typeof changes>[0]) => {
          most = Math.max(most, ++listening)
          const end = changes(listener)
          return () => {
            listening -= 1
            end()
          }
        }
      })
      for (let number = 1; number <= 1_000; number++) {
        yield* Run.startIn(office, { id: `r${number}`, input: "go" })
      }
      assert.deepStrictEqual([listening, most, office.live.size], [0, 1, 0])
    }).pipe(Effect.scoped, memory)
  )
})
