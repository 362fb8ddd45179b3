import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { type Outcome, Result, Run, type Worker } from "espalier/run"
import { Fake, Outage } from "espalier/testing"

import { desk, elapse, history, memory, settle, task } from "../run/desks.ts"

const options = { id: "r1", input: "go", log: false } as const

/** What a run of one task came to: its status, and each dispatch with its outcome and its number of attempts. */
const told = ({ dispatches, results, status }: Outcome.Outcome) => ({
  status,
  output: results["a"]?.output,
  dispatches: dispatches.map(({ attempts, outcome, worker }) => `${worker} ${outcome} ${attempts}`)
})

/** Runs one task on a fake, with as much time as it takes. */
const ran = (worker: Worker.Worker<never>, id = "r1") =>
  Effect.map(elapse(Run.start(desk([worker], [task("a")]), { ...options, id }), "1 hour"), told)

describe("Fake", () => {
  describe("worker", () => {
    it.effect("R-701 answers from its list, call by call, and remembers what it was asked", () =>
      Effect.gen(function* () {
        const fake = Fake.worker("one", {
          input: Schema.Struct({ n: Schema.Int }),
          output: Schema.String,
          answers: ["first", Result.partial("second", [{ part: "p", reason: "q" }]), "third"]
        })
        const plan = ["a", "b"].map((id, n) => task(id, { input: () => ({ n }) }))
        const { missing, results } = yield* Run.start(desk([fake], plan), options)
        assert.deepStrictEqual([results["a"]?.output, results["b"]?.output], ["first", "second"])
        assert.deepStrictEqual(missing, [{ task: "b", worker: "d.one", reason: "p: q" }])
        const calls = yield* fake.calls
        assert.deepStrictEqual(
          calls.map(({ attempt, dispatch, input }) => [dispatch, attempt, input.n]),
          [
            ["r1/a/1", 1, 0],
            ["r1/b/1", 1, 1]
          ]
        )
        assert.deepStrictEqual(yield* fake.unused, ["third"])
        assert.strictEqual(yield* fake.running, 0)
      }).pipe(memory)
    )

    it.effect.each([
      ["outputs of any JSON by default", [{ a: [1, null] }], { status: "completed", dispatches: ["d.one accepted 1"] }],
      [
        "a passing failure",
        [Fake.fail("transient"), "done"],
        { status: "completed", dispatches: ["d.one accepted 2"] }
      ],
      ["a lasting failure", [Fake.fail("denied")], { status: "waiting", dispatches: ["d.one denied 1"] }],
      ["a bug", [Fake.die(), "done"], { status: "completed", dispatches: ["d.one crashed 1", "d.one accepted 1"] }],
      [
        "a malformed answer",
        [Fake.malformed(), "done"],
        { status: "completed", dispatches: ["d.one rejected-contract 1", "d.one accepted 1"] }
      ],
      [
        "an answer that is no JSON",
        [Fake.malformed(() => "a function"), "done"],
        { status: "completed", dispatches: ["d.one rejected-contract 1", "d.one accepted 1"] }
      ],
      [
        "an empty answer",
        [Fake.empty, "done"],
        { status: "completed", dispatches: ["d.one rejected-contract 1", "d.one accepted 1"] }
      ],
      ["no answer at all", [Fake.never, "done"], { status: "completed", dispatches: ["d.one accepted 2"] }]
    ] satisfies ReadonlyArray<[string, ReadonlyArray<Fake.Reply<Schema.Json>>, object]>)(
      "R-701 can give %s",
      ([, answers, expected]) =>
        Effect.gen(function* () {
          const fake = Fake.worker("one", { answers })
          const { output: _, ...seen } = yield* ran(fake)
          assert.deepStrictEqual(seen, expected as never)
          assert.deepStrictEqual(yield* fake.unused, [])
        }).pipe(memory)
    )

    it.effect("breaks off with a bug that says so when its list is used up", () =>
      Effect.gen(function* () {
        const outcome = yield* elapse(Run.start(desk([Fake.worker("one")], [task("a")]), options), "1 hour")
        assert.strictEqual(outcome.status, "failed")
        assert.include(outcome.missing[0]?.reason, "one has no answer left for r1/a/2, attempt 1")
      }).pipe(memory)
    )

    it.effect("gives `otherwise` to every call beyond its list", () =>
      Effect.gen(function* () {
        const fake = Fake.worker("one", { answers: ["first"], otherwise: "more" })
        const { results } = yield* Run.start(desk([fake], [task("a"), task("b"), task("c")]), options)
        assert.deepStrictEqual(
          Object.values(results).map(({ output }) => output),
          ["first", "more", "more"]
        )
      }).pipe(memory)
    )

    it.effect("answers by a function of the order, also with an effect and what it needs", () => {
      class Ink extends Context.Service<Ink, string>()("test/Ink") {}
      const fake = Fake.worker("one", {
        input: Schema.Struct({ text: Schema.String }),
        answers: ({ attempt, input }) =>
          attempt === 1 ? Fake.fail("transient") : Effect.map(Ink, (ink) => `${input.text} in ${ink}`)
      })
      expectTypeOf(fake).toExtend<Worker.Worker<Ink>>()
      expectTypeOf(Fake.worker("one", { answers: ["x"] })).toExtend<Worker.Worker<never>>()
      const plan = [task("a", { input: (_, text) => ({ text }) })]
      return elapse(Run.start(desk([fake], plan), options), "1 hour").pipe(
        Effect.map(({ results }) => assert.strictEqual(results["a"]?.output, "go in blue")),
        Effect.provide(Layer.merge(Journal.layerMemory, Layer.succeed(Ink, "blue")))
      )
    })

    it.effect("R-701 takes its time, by the clock", () =>
      Effect.gen(function* () {
        const fixed = Fake.worker("one", { answers: ["x"], latency: "3 seconds" })
        const run = yield* Effect.forkChild(Run.start(desk([fixed], [task("a")]), options))
        yield* settle
        yield* TestClock.adjust("2999 millis")
        assert.strictEqual(yield* fixed.running, 1)
        yield* TestClock.adjust("1 milli")
        assert.strictEqual((yield* Fiber.join(run)).endedAt, 3_000)
        assert.strictEqual(yield* fixed.running, 0)
      }).pipe(memory)
    )

    it.effect("scatters its time between two durations by a seed", () =>
      Effect.gen(function* () {
        const times = (seed: number) =>
          Effect.gen(function* () {
            const fake = Fake.worker("one", {
              otherwise: "x",
              size: 20,
              latency: { from: "1 second", to: "2 seconds", seed }
            })
            const plan = Array.from({ length: 20 }, (_, index) => task(`t${index}`))
            const run = Run.start(desk([fake], plan, { concurrency: 20 }), options)
            yield* elapse(run, "1 minute")
            const events = yield* history("r1")
            return events.flatMap((event) => (event._tag === "Reported" ? [event.at] : []))
          }).pipe(Effect.provide(Layer.fresh(Layer.merge(Journal.layerMemory, TestClock.layer()))))
        const one = yield* times(1)
        assert.deepStrictEqual(yield* times(1), one)
        assert.notDeepEqual(yield* times(2), one)
        assert.isTrue(one.every((time) => time >= 1_000 && time <= 2_000))
        assert.isAbove(new Set(one).size, 15)
      })
    )

    it.effect("R-701 fails by a seed, whatever runs beside it", () =>
      Effect.gen(function* () {
        const failed = (concurrency: number) =>
          Effect.gen(function* () {
            const fake = Fake.worker("one", {
              otherwise: "x",
              size: concurrency,
              failures: { rate: 0.3, seed: 5, kind: "capability" }
            })
            const plan = Array.from({ length: 200 }, (_, index) => task(`t${index}`))
            const { dispatches } = yield* Run.start(desk([fake], plan, { concurrency }), options).pipe(
              Effect.provide(Layer.fresh(Journal.layerMemory))
            )
            assert.strictEqual((yield* fake.calls).length, 200)
            return dispatches.filter(({ outcome }) => outcome === "refused").map(({ task }) => task)
          })
        const one = yield* failed(1)
        assert.deepStrictEqual((yield* failed(7)).toSorted(), one.toSorted())
        assert.isTrue(one.length > 40 && one.length < 80, `${one.length} of 200 failed`)
      })
    )

    it.effect("keeps the answer for the next call when a seeded failure strikes", () =>
      Effect.gen(function* () {
        const fake = Fake.worker("one", {
          answers: ["done"],
          failures: { rate: 1, seed: 1, retryAfter: "7 seconds" }
        })
        assert.deepStrictEqual(yield* ran(fake), {
          status: "failed",
          output: undefined,
          dispatches: ["d.one failed 3"]
        })
        assert.deepStrictEqual(yield* fake.unused, ["done"])
      }).pipe(memory)
    )

    it.effect("R-701 goes down with an outage, under its own name or another, and comes back", () =>
      Effect.gen(function* () {
        const outage = Outage.make([{ what: "d.one", until: "30 seconds", retryAfter: "rest" }])
        const fake = Fake.worker("one", { answers: ["done"], outage, what: "d.one" })
        const outcome = yield* elapse(Run.start(desk([fake], [task("a")]), options), "1 hour")
        assert.deepStrictEqual(told(outcome), {
          status: "completed",
          output: "done",
          dispatches: ["d.one accepted 2"]
        })
        assert.strictEqual(outcome.endedAt, 30_000)
        assert.strictEqual((yield* fake.calls).length, 2)
      }).pipe(memory)
    )

    it.effect("R-701 goes down with what it depends on", () =>
      Effect.gen(function* () {
        const outage = Outage.make([{ what: "provider", kind: "denied", until: "1 minute" }])
        const fake = Fake.worker("one", { otherwise: "done", outage, dependencies: ["disk", "provider"] })
        assert.deepStrictEqual((yield* ran(fake)).dispatches, ["d.one denied 1"])
        assert.strictEqual((yield* ran(fake, "r2")).status, "completed")
      }).pipe(memory)
    )

    it.effect("goes down with the current outage when none is named", () => {
      const outage = Outage.make([{ what: "one", kind: "denied" }])
      return ran(Fake.worker("one", { answers: ["done"] })).pipe(
        Effect.map(({ dispatches }) => assert.deepStrictEqual(dispatches, ["d.one denied 1"])),
        Effect.provide(Layer.merge(Journal.layerMemory, Outage.layer(outage)))
      )
    })

    it.each([
      [{ failures: { rate: 1.1, seed: 1 } }, "failures.rate must be a number between 0 and 1, got 1.1"],
      [{ failures: { rate: Number.NaN, seed: 1 } }, "failures.rate must be a number between 0 and 1, got NaN"],
      [{ latency: -1 }, "latency must be finite and >= 0, got -1 ms"],
      [{ latency: "Infinity" as const }, "latency must be finite and >= 0, got Infinity ms"],
      [{ latency: { from: 2, to: 1, seed: 1 } }, "latency.to must be >= from (2 ms), got 1 ms"]
    ])("refuses %o", (wrong, message) => {
      assert.throws(() => Fake.worker("one", wrong), RangeError)
      assert.throws(() => Fake.worker("one", wrong), message)
    })
  })
})

describe("Desks of fakes", () => {
  it.effect("R-703 end complete in more than 95 of 100 runs when every fifth call fails", () =>
    Effect.gen(function* () {
      let completed = 0
      for (let seed = 0; seed < 200; seed++) {
        const failures = { rate: 0.2, seed, kind: seed % 2 === 0 ? "transient" : "malformed" } as const
        const one = Fake.worker("one", { otherwise: "x", failures })
        const two = Fake.worker("two", { otherwise: "x", failures })
        const three = Fake.worker("three", { otherwise: "x", failures })
        const plan = [task("a"), task("b", { worker: "d.two" }), task("c", { worker: "d.three", needs: ["a", "b"] })]
        const run = Run.start(
          desk(
            [one, two, three].map((each) => ({ ...each, capabilities: ["work"] })),
            plan.map((each) => ({ ...each, capability: "work" }))
          ),
          { ...options, id: `r${seed}` }
        )
        const { missing, status } = yield* elapse(run, "10 minutes")
        if (status === "completed") completed += 1
        else assert.isNotEmpty(missing)
      }
      assert.isAbove(completed, 190)
    }).pipe(memory)
  )

  it.effect("R-703 end degraded or partial, and in time, when one worker is down for good", () =>
    Effect.gen(function* () {
      const outage = Outage.make([{ what: "one", kind: "silence" }])
      for (const standIn of [true, false]) {
        const one = Fake.worker("one", { capabilities: ["work"], outage })
        const two = Fake.worker("two", { capabilities: standIn ? ["work"] : [], otherwise: "x" })
        const plan = [task("a", { capability: "work" }), task("b", { worker: "d.two" })]
        const run = Run.start(desk([one, two], plan), { ...options, id: `stand-in-${standIn}` })
        const outcome = yield* elapse(run, "3 minutes")
        assert.deepStrictEqual(
          [outcome.status, outcome.degraded, outcome.missing.map(({ task }) => task)],
          standIn ? ["completed", true, []] : ["partial", false, ["a"]]
        )
        assert.strictEqual(yield* one.running, 0)
      }
    }).pipe(memory)
  )
})
