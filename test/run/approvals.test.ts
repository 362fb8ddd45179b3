import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Contract, Decider, Office, type Plan, Result, Run, RunState, type RunEvent, Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { gate, history, memory, settle, short, task, worker } from "./desks.ts"
import { goOn, guarded, of, r1, say } from "./guards.ts"
import { fold, started } from "./simulate.ts"

const acting = (options: Partial<Fake.Options<unknown, unknown, unknown, unknown, never, never>> = {}) =>
  Fake.worker("one", { risk: "high", otherwise: "done", ...options })

/** A desk whose code has changed, but not its definition: what is ordered is another text. */
const ordering = (text: string, one = acting(), fields: Partial<Plan.Task<string>> = {}) =>
  guarded([one], [task("a", { input: () => ({ text }), ...fields })])

const strict = (
  name: string,
  calls: Array<string>,
  options: Partial<Worker.Options<never, never, string, string, never, never>> = {}
) =>
  Worker.make(name, {
    description: `The worker ${name}`,
    capabilities: ["work"],
    input: Schema.Struct({ text: Schema.String }),
    output: Schema.String,
    ...(options as object),
    handle: () => Effect.sync(() => `done ${calls.push(name)}`)
  })

describe("an approval", () => {
  describe("what a person sees", () => {
    it.effect("R-216 is the order, with its digest", () =>
      Effect.gen(function* () {
        const reference = { uri: "https://example.org/a", hash: `sha256:${"0".repeat(64)}` }
        const fields: Plan.Task<string> = {
          id: "a",
          objective: "Send it",
          input: () => ({ text: "hello" }),
          references: { scan: reference },
          permissions: { mail: ["out"] },
          constraints: ["Once"],
          limits: { tokens: 500 },
          worker: "d.one"
        }
        const one = acting({ estimate: { tokens: 50 } })
        const waiting = yield* Run.start(guarded([one], [fields]), r1)
        const { description, digest, estimate, order } = waiting.reviews[0]?.facts ?? {}
        const { input: _i, worker: _w, id, ...rest } = fields
        const contract = Effect.runSync(Contract.make({ ...rest, task: id, inputs: { text: "hello" } }))
        const { task: _t, ...shown } = contract
        assert.deepStrictEqual(order, shown)
        assert.strictEqual(digest, Contract.digest(contract))
        assert.deepStrictEqual([description, estimate], [one.description, { tokens: 50 }])
        assert.notInclude(waiting.reviews[0]?.note, "too large")
        assert.notProperty(fold(yield* history("r1")).reviews.get("r1/review/1")?.facts, "description")
      }).pipe(memory)
    )

    it.effect("R-216 is of large inputs only their size, and the state keeps nothing of the order", () =>
      Effect.gen(function* () {
        const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`m${index}`, "y".repeat(20_000)]))
        const input = () => ({ text: "short", large: "x".repeat(33_000), fair: "z".repeat(32_766), ...many })
        const waiting = yield* Run.start(ordering("", acting(), { input }), r1)
        const order = waiting.reviews[0]?.facts["order"] as {
          readonly inputs: Record<string, unknown>
          readonly largeInputs: Record<string, number>
        }
        assert.strictEqual(order.inputs["text"], "short")
        assert.strictEqual(order.largeInputs["large"], 33_002)
        assert.strictEqual(order.inputs["fair"], "z".repeat(32_766))
        assert.deepStrictEqual(Object.keys(order.inputs).length + Object.keys(order.largeInputs).length, 15)
        // Four of 20 kB find a place beside the one of 32 KiB.
        assert.deepStrictEqual(Object.keys(order.inputs), ["text", "fair", "m0", "m1", "m2", "m3"])
        assert.include(waiting.reviews[0]?.note, "; too large to be shown: 9 inputs of the order")
        const state = fold(yield* history("r1"))
        assert.notProperty(state.reviews.get("r1/review/1")?.facts, "order")
        assert.isAtMost(state.size, 4_000)
      }).pipe(memory)
    )

    it.effect("R-216 says why it is asked: it cannot be undone, and who is not sure of what it builds on", () =>
      Effect.gen(function* () {
        const base = Fake.worker("two", { otherwise: Result.completed("base", { confidence: 0.3 }) })
        const one = acting({ risk: "low", irreversible: true })
        const plan = [task("b", { worker: "d.two" }), task("a", { needs: ["b"] })]
        const waiting = yield* Run.start(guarded([one, base], plan, { tier: "full" }), r1)
        const [review] = waiting.reviews
        assert.deepInclude(review?.facts, { irreversible: true, confidence: 0.3 })
        assert.include(
          review?.note,
          "(risk low, autonomy full, it cannot be undone, it builds on b, whose confidence is only 0.3)"
        )
      }).pipe(memory)
    )
  })

  describe("what it holds for", () => {
    it.effect("R-216 is the order that was shown: any other is asked about anew, with why", () =>
      Effect.gen(function* () {
        const one = acting()
        yield* Run.start(ordering("ten", one), r1)
        yield* say("approve")
        const again = yield* Run.resume(ordering("ten thousand", one), "r1", { log: false })
        assert.deepStrictEqual([again.status, again.reviews.length, yield* one.calls], ["waiting", 1, []])
        const [review] = again.reviews
        assert.deepInclude(review, { review: "r1/review/2", kind: "action-approval" })
        assert.deepInclude(review?.facts["order"], { inputs: { text: "ten thousand" } })
        assert.include(review?.note, "asked anew, as r1/review/1 let d.one have another order than this one")
        const outcome = yield* goOn(ordering("ten thousand", one), "approve")
        assert.deepStrictEqual([outcome.status, (yield* one.calls).length], ["completed", 1])
      }).pipe(memory)
    )

    it.effect("R-216 is not lost with another one: what was approved once is not asked about again", () =>
      Effect.gen(function* () {
        const one = acting()
        yield* Run.start(ordering("ten", one), r1)
        yield* say("approve")
        yield* Run.resume(ordering("twenty", one), "r1", { log: false })
        yield* say("approve")
        const outcome = yield* Run.resume(ordering("ten", one), "r1", { log: false })
        assert.deepStrictEqual([outcome.status, (yield* one.calls).length], ["completed", 1])
      }).pipe(memory)
    )

    it.effect("R-216 R-302 is not another order that is given again after a crash", () =>
      Effect.gen(function* () {
        const held = gate()
        const slow = worker("one", () => Effect.as(held.wait, "done"), { risk: "high" })
        const plan = (text: string) => guarded([slow], [task("a", { input: () => ({ text }) })])
        yield* Run.start(plan("ten"), r1)
        yield* say("approve")
        const fiber = yield* Effect.forkChild(Run.resume(plan("ten"), "r1", { log: false }))
        yield* held.reached
        yield* Fiber.interrupt(fiber)
        const again = yield* Run.resume(plan("twenty"), "r1", { log: false })
        assert.deepStrictEqual([again.status, held.log], ["waiting", ["began", "interrupted"]])
        assert.deepInclude(again.reviews[0]?.facts["order"], { inputs: { text: "twenty" } })
        const [reported] = yield* of("Reported")
        assert.include(reported?.note, "it is not the order that a person let d.one have")
      }).pipe(memory)
    )

    it.effect("R-216 names the worker that had it, where another one takes over", () =>
      Effect.gen(function* () {
        const one = acting({ capabilities: ["work"], otherwise: Fake.fail("capability") })
        const two = Fake.worker("two", { risk: "high", capabilities: ["work"], otherwise: "done" })
        const desk = guarded([one, two], [task("a")])
        yield* Run.start(desk, r1)
        const again = yield* goOn(desk, "approve")
        assert.deepInclude(again.reviews[0]?.facts, { worker: "d.two" })
        assert.include(again.reviews[0]?.note, "what was approved was for d.one")
        assert.deepStrictEqual(yield* two.calls, [])
      }).pipe(memory)
    )

    it.effect("R-216 of an old journal, which does not say which order it was, is asked anew", () =>
      Effect.gen(function* () {
        const one = acting()
        const desk = ordering("ten", one)
        yield* Run.start(desk, { ...r1, id: "r0" })
        const journal = yield* Journal.Journal
        const events = (yield* history("r0")).map(({ _tag, at, ...data }) => {
          const { digest: _d, order: _o, ...facts } = "facts" in data ? data.facts : {}
          const old = {
            ...data,
            ...("facts" in data ? { facts, review: "r1/review/1" } : {}),
            ...("run" in data ? { run: "r1" } : {})
          }
          return { type: _tag, at, data: old as unknown as Schema.Json }
        })
        const listing = { status: "waiting", desk: "desk", startedAt: 0 }
        yield* journal.append({ run: "r1", expected: 0, events, listing })
        const again = yield* goOn(desk, "approve")
        assert.deepStrictEqual([again.status, yield* one.calls], ["waiting", []])
        assert.include(again.reviews[0]?.note, "as r1/review/1 does not say which order it let d.one have")
        assert.strictEqual((yield* goOn(desk, "approve")).status, "completed")
      }).pipe(memory)
    )

    it.effect("R-216 R-215 has a decision carry what is asked instead, when it is another order", () =>
      Effect.sync(() => {
        const spec = Decider.spec({ workers: [{ name: "d.one", capabilities: [], risk: "high" }] })
        const begun = started([{ id: "a", worker: "d.one" }])
        const [asked] = Decider.decide(fold([begun]), spec)
        if (asked?._tag !== "Review") return assert.fail("nobody is asked")
        const { _tag: _, task: _t, ...review } = asked
        const opened: RunEvent.RunEvent = {
          _tag: "ReviewOpened",
          at: 1,
          review: "r1/review/1",
          task: "a",
          ...review,
          facts: { ...review.facts, digest: "d1" }
        }
        const said: RunEvent.RunEvent = {
          _tag: "ReviewDecided",
          at: 2,
          review: "r1/review/1",
          decision: "approve",
          by: "ann",
          note: ""
        }
        const state = fold([begun, opened, said])
        assert.deepStrictEqual(state.tasks.get("a")?.approved, [
          { worker: "d.one", digest: "d1", review: "r1/review/1" }
        ])
        const [given] = Decider.decide(state, spec)
        assert.deepInclude(given, { _tag: "Dispatch", worker: "d.one" })
        assert.strictEqual(given?._tag === "Dispatch" ? given.approval?.kind : "", "action-approval")
        const raised = RunState.evolve(state, {
          _tag: "AutonomyChanged",
          at: 3,
          from: "medium",
          to: "full",
          by: "ann",
          note: ""
        })
        assert.strictEqual(raised._tag, "Success")
      })
    )
  })
})

describe("an order that cannot be made", () => {
  const bad: ReadonlyArray<readonly [string, Partial<Plan.Task<string>>, string]> = [
    ["has bad inputs", { input: () => ({ text: 3 }) }, "CONTRACT_INVALID: inputs.text must be a text, got 3"],
    [
      "has inputs that cannot be made",
      {
        input: () => {
          throw new Error("no such file")
        }
      },
      "CONTRACT_INVALID: the inputs of a cannot be made: no such file"
    ]
  ]
  it.effect.each(bad)("R-201 R-216 opens no approval when it %s", ([, fields, reason]) =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const one = strict("one", calls, { risk: "high" })
      const outcome = yield* Run.start(guarded([one], [task("a", fields)]), r1)
      assert.deepStrictEqual(short(yield* history("r1")).slice(1), [
        "Routed a d.one",
        "ContractRefused a d.one",
        "TaskEnded a failed",
        "RunFinished failed empty"
      ])
      const said = `The order for d.one could not be made, and d.one was never called: ${reason}`
      assert.strictEqual(outcome.results["a"]?.note, `${said}; nobody else can have it`)
      assert.include(outcome.note, "no order could be made for a")
      assert.deepStrictEqual(calls, [])
    }).pipe(memory)
  )

  it.effect("R-210 R-216 has a budget, too: nobody is asked about what it does not allow", () =>
    Effect.gen(function* () {
      const one = acting({ estimate: { tokens: 10 } })
      const outcome = yield* Run.start(guarded([one], [task("a")]), { ...r1, limits: { tokens: 5 } })
      assert.deepStrictEqual([outcome.status, outcome.stopReason], ["failed", "budget-exceeded"])
      assert.deepStrictEqual([yield* of("ReviewOpened"), (yield* of("BudgetRefused")).length], [[], 1])
    }).pipe(memory)
  )

  it.effect("R-201 is one for another worker whose inputs fit", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const two = Fake.worker("two", { capabilities: ["work"], otherwise: "done" })
      const desk = guarded([strict("one", calls), two], [task("a", { input: () => ({ text: 3 }) })])
      const outcome = yield* Run.start(desk, r1)
      assert.deepStrictEqual([outcome.status, calls, (yield* two.calls).length], ["completed", [], 1])
      const routed = (yield* of("Routed"))[1]
      assert.include(routed?.note, "could not be made")
      assert.notInclude(routed?.note, "capability")
    }).pipe(memory)
  )

  it.effect("R-201 is no lack of workers: the end of the run names it", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const two = Fake.worker("two", { otherwise: "done" })
      const plan = [task("a", { input: () => ({ text: 3 }) }), task("b", { worker: "d.two" })]
      const outcome = yield* Run.start(guarded([strict("one", calls), two], plan), r1)
      assert.deepStrictEqual([outcome.status, outcome.stopReason], ["partial", "no-ready-task"])
      assert.include(outcome.note, "1 of 2 tasks accepted; no order could be made for a")
    }).pipe(memory)
  )

  it.effect("R-216 is found when the approved one is to be given, too, and nobody is asked again", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const desk = (text: unknown) =>
        guarded([strict("one", calls, { risk: "high" })], [task("a", { input: () => ({ text }) })])
      yield* Run.start(desk("fine"), r1)
      yield* say("approve")
      const outcome = yield* Run.resume(desk(3), "r1", { log: false })
      assert.deepStrictEqual([outcome.status, outcome.reviews, calls], ["failed", [], []])
      assert.include(outcome.results["a"]?.note, "could not be made")
    }).pipe(memory)
  )
})

describe("an approval in an office", () => {
  it.effect("R-216 takes effect while other work goes on", () =>
    Effect.gen(function* () {
      const one = acting()
      const slow = Fake.worker("slow", { latency: "10 seconds", otherwise: "slow" })
      const desk = guarded([one, slow], [task("a"), task("s", { worker: "d.slow" })])
      const office = yield* Office.open(desk, { log: false })
      const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
      yield* settle
      yield* say("approve", {}, office)
      yield* settle
      assert.lengthOf(yield* one.calls, 1)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    }).pipe(Effect.scoped, memory)
  )
})
