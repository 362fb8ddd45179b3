import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Baseline, Office, Result, Run, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, gate, history, memory, settle, task, worker } from "./desks.ts"
import { goOn, guarded, of, r1 } from "./guards.ts"

type Options = Partial<Fake.Options<unknown, unknown, unknown, unknown, never, never>>

const able = (name: string, options: Options = {}) =>
  Fake.worker(name, { capabilities: ["read"], otherwise: name, ...options })

const read = (id: string, fields: Parameters<typeof task>[1] = {}) => ({
  id,
  capability: "read",
  objective: `Read ${id}`,
  ...fields
})

const run = (id: string) => ({ ...r1, id })

describe("routing in a run", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<Worker.Worker<never>>, ReadonlyArray<string>, string]> = [
    [
      "the one with the capability",
      [able("no", { capabilities: ["write"] }), able("yes")],
      ["d.yes"],
      "which has the capability read"
    ],
    ["the one that is available", [able("off", { available: false }), able("on")], ["d.on"], "d.off is not available"],
    [
      "the cheaper of two",
      [able("dear", { estimate: { cost: 3 } }), able("cheap", { estimate: { cost: 2 } })],
      ["d.cheap"],
      "d.dear is dearer"
    ],
    ["the first of equals", [able("one"), able("two")], ["d.one"], "d.two is further down the list"],
    [
      "nobody whose permission the task does not grant",
      [able("writes", { permissions: ["repository"] }), able("reads")],
      ["d.reads"],
      "d.writes cannot take this contract: CONTRACT_INVALID: permissions.repository is required"
    ]
  ]

  it.effect.each(cases)("R-203 chooses %s, and says who was passed over and why", ([, workers, expected, note]) =>
    Effect.gen(function* () {
      const outcome = yield* Run.start(guarded(workers, [read("a")]), r1)
      assert.deepStrictEqual(
        [outcome.status, outcome.dispatches.map(({ worker }) => worker)],
        ["completed", [...expected]]
      )
      const [routed] = yield* of("Routed")
      assert.include(routed?.note, note)
      assert.strictEqual(outcome.dispatches[0]?.routing, routed?.note)
    }).pipe(memory)
  )

  it.effect("R-203 chooses the less busy one, and waits for the one that is named", () =>
    Effect.gen(function* () {
      const one = able("one", { latency: "1 second" })
      const two = able("two", { latency: "1 second" })
      const outcome = yield* elapse(Run.start(guarded([one, two], [read("a"), read("b")]), r1), "5 seconds")
      assert.deepStrictEqual(
        [outcome.dispatches.map(({ worker }) => worker), outcome.endedAt],
        [["d.one", "d.two"], 1_000]
      )
      const named = [read("a", { worker: "d.one" }), read("b", { worker: "d.one" })]
      const waited = yield* elapse(Run.start(guarded([one, two], named), run("r2")), "5 seconds")
      assert.deepStrictEqual(
        waited.dispatches.map(({ worker }) => worker),
        ["d.one", "d.one"]
      )
    }).pipe(memory)
  )

  it.effect("R-203 a worker that needs a permission has the tasks that grant it", () =>
    Effect.gen(function* () {
      const one = able("one", { permissions: ["repository"] })
      const desk = guarded(
        [one],
        [
          read("a", { permissions: { repository: ["docs"] } }),
          read("b", { needs: ["a"], permissions: { repository: ["docs"] } })
        ]
      )
      const granted = yield* Run.start(desk, r1)
      assert.strictEqual(granted.status, "completed")
      assert.strictEqual((yield* one.calls).length, 2)
    }).pipe(memory)
  )
})

describe("bulkheads", () => {
  it.effect("R-209 a slow worker of one takes nobody's slot: ten others go on beside it", () =>
    Effect.gen(function* () {
      const slow = Fake.worker("slow", { latency: "10 seconds", otherwise: "slow" })
      const quick = Fake.worker("quick", { size: 10, latency: "1 second", otherwise: "quick" })
      const plan = [
        ...Array.from({ length: 10 }, (_, index) => task(`s${index}`, { worker: "d.slow" })),
        ...Array.from({ length: 18 }, (_, index) => task(`q${index}`, { worker: "d.quick" }))
      ]
      const fiber = yield* Effect.forkChild(Run.start(guarded([slow, quick], plan), r1))
      yield* settle
      assert.deepStrictEqual([yield* slow.running, yield* quick.running], [1, 9])
      yield* TestClock.adjust("2 seconds")
      const ended = (yield* of("TaskEnded")).map(({ task }) => task)
      assert.deepStrictEqual([ended.length, ended.every((id) => id.startsWith("q"))], [18, true])
      assert.strictEqual(yield* slow.running, 1)
      yield* TestClock.adjust("98 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    }).pipe(memory)
  )

  it.effect(
    "R-209 the queue of a worker over all runs is bounded; who comes later is held back, and keeps the order",
    () =>
      Effect.gen(function* () {
        const order: Array<string> = []
        const one = worker("one", ({ run }) => Effect.as(Effect.sleep("1 second"), order.push(run) > 0 ? "done" : ""), {
          queue: 2
        })
        const office = yield* Office.open(guarded([one], [task("a")]), { log: false })
        const load = Effect.map(Office.loads(office), (loads) => loads.get("d.one"))
        const fibers = []
        for (const id of ["r1", "r2", "r3", "r4", "r5"]) {
          fibers.push(yield* Effect.forkChild(Run.startIn(office, run(id))))
          yield* settle
        }
        assert.deepStrictEqual(yield* load, { size: 1, busy: 1, queued: 2, held: 2 })
        // One that leaves the queue makes room for the first that was held back.
        yield* Run.cancel("r2", { by: "ann", office })
        yield* settle
        assert.deepStrictEqual(yield* load, { size: 1, busy: 1, queued: 2, held: 1 })
        yield* TestClock.adjust("1 second")
        yield* settle
        assert.deepStrictEqual(yield* load, { size: 1, busy: 1, queued: 2, held: 0 })
        yield* TestClock.adjust("3 seconds")
        const outcomes = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
        assert.deepStrictEqual(
          outcomes.map(({ status }) => status),
          ["completed", "cancelled", "completed", "completed", "completed"]
        )
        assert.deepStrictEqual(order, ["r1", "r3", "r4", "r5"])
        assert.deepStrictEqual(yield* load, { size: 1, busy: 0, queued: 0, held: 0 })
      }).pipe(Effect.scoped, memory)
  )

  it.effect("D89 R-211 a cancelled run leaves no work, no reservation and no place taken", () =>
    Effect.gen(function* () {
      const held = gate()
      let running = 0
      const one = worker(
        "one",
        ({ run }) =>
          run === "r1"
            ? Effect.ensuring(
                Effect.suspend(() => (running++, held.wait)),
                Effect.sync(() => running--)
              )
            : Effect.succeed("done"),
        { size: 4, estimate: { tokens: 10 }, output: Schema.Unknown as never }
      )
      const plan = Array.from({ length: 40 }, (_, index) => task(`t${index}`))
      const office = yield* Office.open(guarded([one], plan, { limits: { tokens: 1_000 } }), { log: false })
      const fiber = yield* Effect.forkChild(Run.startIn(office, run("r1")))
      yield* held.reached
      yield* settle
      assert.strictEqual(running, 4)
      yield* Run.cancel("r1", { by: "ann", office })
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual([outcome.status, outcome.stopReason, running], ["cancelled", "stop-requested", 0])
      assert.deepStrictEqual((yield* Office.loads(office)).get("d.one"), { size: 4, busy: 0, queued: 0, held: 0 })
      assert.strictEqual((yield* Run.startIn(office, run("r2"))).status, "completed")
    }).pipe(Effect.scoped, memory)
  )
})

describe("the baseline of real runs", () => {
  it.effect(
    "R-219 counts what was accepted, done again, asked of people and spent, and tells who changed the tier",
    () =>
      Effect.gen(function* () {
        const spent = (cost: number) => ({ usage: { cost, tokens: 10 } })
        const one = Fake.worker("one", {
          answers: [
            Result.needsReview("draft", [{ part: "x", reason: "y" }], spent(1)),
            Result.completed("final", spent(2)),
            Fake.malformed(),
            Result.completed("second", spent(3))
          ]
        })
        const desk = guarded([one], [task("a"), task("b", { needs: ["a"] })])
        yield* Run.start(desk, r1)
        yield* Run.changeTier("r1", { from: "medium", to: "full", who: "ann", why: "It went well" })
        const outcome = yield* goOn(desk, "retry")
        assert.strictEqual(outcome.status, "completed")
        const measured = Baseline.measure([yield* history("r1")])
        assert.deepInclude(measured, { runs: 1, unfinished: 0, ended: 2, accepted: 2, dispatches: 4, reports: 4 })
        assert.deepInclude(measured, { verified: 1, rework: 1, escalations: 1, cost: 3, costReports: 3 })
        const [changed] = yield* of("AutonomyChanged")
        assert.deepInclude(changed, { by: "ann", note: "It went well", from: "medium", to: "full" })
      }).pipe(memory)
  )
})
