import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { Budget, Office, Outcome, Plan, Result, Run, RunState } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, gate, history, memory, settle, task, worker } from "./desks.ts"
import { goOn, guarded, of, r1, receipts, say } from "./guards.ts"

const used = (tokens: number) => Result.completed("done", { usage: { tokens } })

/** A worker that is expected to use 400 tokens a dispatch, and does. */
const dear = (options: Partial<Fake.Options<unknown, unknown, unknown, unknown, never, never>> = {}) =>
  Fake.worker("one", { estimate: { tokens: 400 }, otherwise: used(400), ...options })

const three = [task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["b"] })]
const open = [task("a"), task("b"), task("c")]

const ledgerOf = (run = "r1") =>
  Effect.map(history(run), (events) => {
    const state = RunState.fold(events)
    if (state._tag === "Failure" || state.success === undefined) throw new Error("no state")
    return state.success.ledger
  })

describe("budgets of a run", () => {
  describe("a cap that is reached", () => {
    it.effect(
      "R-210 D32 refuses the third call of 400 under 1,000 before the worker sees it, and ends with what there is",
      () =>
        Effect.gen(function* () {
          const one = dear()
          const outcome = yield* Run.start(guarded([one], three, { limits: { tokens: 1_000 } }), r1)
          assert.deepStrictEqual(
            [outcome.status, outcome.stopReason, outcome.usage, (yield* one.calls).length],
            ["partial", "budget-exceeded", { tokens: 800 }, 2]
          )
          const [refused] = yield* of("BudgetRefused")
          assert.deepInclude(refused, {
            task: "c",
            worker: "d.one",
            account: "run",
            measure: "tokens",
            limit: 1_000,
            asked: 400
          })
          assert.deepStrictEqual(
            [outcome.results["c"]?.status, outcome.missing.map(({ task }) => task)],
            ["skipped", ["c"]]
          )
          assert.include(outcome.note, "run has 200 tokens left, 400 were asked for")
        }).pipe(memory)
    )

    it.effect("R-210 lets what is in flight finish, and counts it", () =>
      Effect.gen(function* () {
        const one = dear({ size: 3, latency: "1 second" })
        const outcome = yield* elapse(Run.start(guarded([one], open, { limits: { tokens: 1_000 } }), r1), "5 seconds")
        assert.deepStrictEqual(
          [outcome.status, outcome.stopReason, outcome.endedAt],
          ["partial", "budget-exceeded", 1_000]
        )
        assert.deepStrictEqual(
          Object.values(outcome.results).map(({ status }) => status),
          ["accepted", "accepted", "skipped"]
        )
        assert.deepStrictEqual((yield* ledgerOf()).reservations.size, 0)
      }).pipe(memory)
    )

    it.effect("R-210 waits for what is in flight, which may use less than was set aside for it", () =>
      Effect.gen(function* () {
        const one = dear({ size: 3, latency: "1 second", otherwise: used(100) })
        const outcome = yield* elapse(Run.start(guarded([one], open, { limits: { tokens: 1_000 } }), r1), "5 seconds")
        assert.deepStrictEqual([outcome.status, outcome.usage, outcome.endedAt], ["completed", { tokens: 300 }, 2_000])
        assert.deepStrictEqual(yield* of("BudgetRefused"), [])
      }).pipe(memory)
    )

    it.effect("R-210 fails when there is nothing at all", () =>
      Effect.gen(function* () {
        const one = dear()
        const outcome = yield* Run.start(guarded([one], three), { ...r1, limits: { tokens: 0 } })
        assert.deepStrictEqual(
          [outcome.status, outcome.stopReason, yield* one.calls],
          ["failed", "budget-exceeded", []]
        )
      }).pipe(memory)
    )

    it.effect("R-210 D32 asks a person where the desk says so; a raise lets it go on", () =>
      Effect.gen(function* () {
        const one = dear()
        const desk = guarded([one], three, { limits: { tokens: 1_000 }, policy: { atCap: "review" } })
        const waiting = yield* Run.start(desk, r1)
        assert.deepStrictEqual([waiting.status, waiting.reviews.length, (yield* one.calls).length], ["waiting", 1, 2])
        assert.deepInclude(waiting.reviews[0], { kind: "budget-increase", reason: "budget", task: "c" })
        assert.deepStrictEqual(waiting.reviews[0]?.facts["account"], "run")
        const outcome = yield* goOn(desk, "approve", { raise: { tokens: 200 } })
        assert.deepStrictEqual(
          [outcome.status, outcome.stopReason, outcome.usage, (yield* one.calls).length],
          ["completed", "accepted", { tokens: 1_200 }, 3]
        )
      }).pipe(memory)
    )

    it.effect("R-210 ends the run when the person says no, or names no raise at first", () =>
      Effect.gen(function* () {
        const one = dear()
        const desk = guarded([one], three, { limits: { tokens: 1_000 }, policy: { atCap: "review" } })
        yield* Run.start(desk, r1)
        const refused = yield* Effect.flip(say("approve"))
        assert.include(refused.message, "raise is required")
        const outcome = yield* goOn(desk, "reject")
        assert.deepStrictEqual(
          [outcome.status, outcome.stopReason, (yield* one.calls).length],
          ["partial", "budget-exceeded", 2]
        )
      }).pipe(memory)
    )

    it.effect("R-210 shows what is lacking, and refuses a raise that is still too small, with how much is needed", () =>
      Effect.gen(function* () {
        const one = dear()
        const desk = guarded([one], three, { limits: { tokens: 1_000 }, policy: { atCap: "review" } })
        const waiting = yield* Run.start(desk, r1)
        assert.deepStrictEqual(waiting.reviews[0]?.facts, {
          task: "c",
          tries: 1,
          account: "run",
          measure: "tokens",
          limit: 1_000,
          settled: 800,
          reserved: 0,
          asked: 400,
          closed: false,
          estimate: { tokens: 400 },
          needed: { tokens: 200 }
        })
        assert.include(waiting.reviews[0]?.note, "approve with a raise of at least 200 tokens, or reject")
        const before = yield* history("r1")
        const refused = yield* Effect.flip(say("approve", { raise: { tokens: 199 } }))
        assert.strictEqual(
          refused.message,
          "the decision of r1/review/1 is refused: raise.tokens must be at least 200, as run lacks 200 tokens, " +
            "got 199; r1/review/1 (budget-increase) allows approve, reject"
        )
        assert.deepStrictEqual(yield* history("r1"), before)
        assert.strictEqual((yield* goOn(desk, "approve", { raise: { tokens: 200 } })).status, "completed")
      }).pipe(memory)
    )

    it.effect("R-210 opens an account that was overrun with a raise of nothing", () =>
      Effect.gen(function* () {
        const one = dear({ answers: [used(500)] })
        const desk = guarded([one], three, { limits: { tokens: 5_000 }, policy: { atCap: "review" } })
        const waiting = yield* Run.start(desk, r1)
        const [review] = waiting.reviews
        assert.deepInclude(review?.facts, { closed: true, needed: {}, settled: 500 })
        assert.include(review?.note, "approve with a raise of {}, which opens run again")
        const outcome = yield* goOn(desk, "approve", { raise: {} })
        assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 1_300 }])
      }).pipe(memory)
    )

    it.effect.each([
      ["approve", { raise: { tokens: 2_000 } }, "completed", "accepted", 4],
      ["reject", {}, "failed", "budget-exceeded", 0]
    ] as const)(
      "R-210 asks once about an account that several tasks need: %s",
      ([decision, more, status, reason, calls]) =>
        Effect.gen(function* () {
          const one = dear({ size: 4 })
          const desk = guarded([one], [...open, task("e")], { policy: { atCap: "review" } })
          const waiting = yield* Run.start(desk, { ...r1, limits: { tokens: 100 } })
          assert.deepStrictEqual([waiting.status, waiting.reviews.length], ["waiting", 1])
          const outcome = yield* goOn(desk, decision, more)
          assert.deepStrictEqual(
            [outcome.status, outcome.stopReason, (yield* one.calls).length],
            [status, reason, calls]
          )
          assert.strictEqual((yield* of("ReviewOpened")).length, 1)
        }).pipe(memory)
    )

    it.effect("R-210 decides in process as well, while other work goes on", () =>
      Effect.gen(function* () {
        const held = gate()
        const slow = worker("two", () => Effect.as(held.wait, "done"))
        const plan = [task("a"), task("b", { needs: ["a"] }), task("s", { worker: "d.two" })]
        const desk = guarded([dear(), slow], plan, { limits: { tokens: 400 }, policy: { atCap: "review" } })
        const office = yield* Office.open(desk, { log: false })
        const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
        yield* held.reached
        yield* settle
        yield* say("approve", { raise: { tokens: 400 } }, office)
        yield* held.open
        const outcome = yield* Fiber.join(fiber)
        assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 800 }])
      }).pipe(Effect.scoped, memory)
    )
  })

  describe("whose budget it is", () => {
    it.effect.each([
      ["domain:d", { budgets: { "domain:d": { tokens: 400 } } }],
      ["worker:d.one", { budgets: { "worker:d.one": { tokens: 400 } } }]
    ] as const)("R-210 holds what %s may spend over the whole run", ([account, options]) =>
      Effect.gen(function* () {
        const one = dear()
        const outcome = yield* Run.start(guarded([one], [task("a"), task("b", { needs: ["a"] })], options), r1)
        assert.deepStrictEqual([outcome.status, (yield* one.calls).length], ["partial", 1])
        const ledger = yield* ledgerOf()
        assert.deepStrictEqual(
          [ledger.accounts.get(account)?.settled, ledger.accounts.get("run")?.settled],
          [{ tokens: 400 }, { tokens: 400 }]
        )
        assert.include(outcome.results["b"]?.note, `${account} has 0 tokens left, 400 were asked for`)
      }).pipe(memory)
    )

    it.effect("R-210 takes a cheaper worker before it refuses, and says why", () =>
      Effect.gen(function* () {
        const cheap = Fake.worker("two", { capabilities: ["work"], estimate: { tokens: 100 }, otherwise: used(100) })
        const one = dear({ capabilities: ["work"] })
        const outcome = yield* Run.start(guarded([one, cheap], three, { limits: { tokens: 600 } }), r1)
        assert.deepStrictEqual(
          outcome.dispatches.map(({ worker }) => worker),
          ["d.one", "d.two", "d.two"]
        )
        assert.strictEqual(outcome.status, "completed")
        const routed = (yield* of("Routed"))[1]
        assert.include(routed?.note, "d.one costs more than is left: run has 200 tokens left, 400 were asked for")
      }).pipe(memory)
    )

    it.effect("R-210 gives a task in other hands no new budget", () =>
      Effect.gen(function* () {
        const one = dear({
          capabilities: ["work"],
          answers: [Result.failed("capability", "Not mine", { usage: { tokens: 400 } })]
        })
        const two = Fake.worker("two", { capabilities: ["work"], estimate: { tokens: 400 }, otherwise: used(400) })
        const plan = [task("a", { limits: { tokens: 700 } })]
        const outcome = yield* Run.start(guarded([one, two], plan), r1)
        assert.deepStrictEqual([outcome.status, (yield* two.calls).length], ["failed", 0])
        const [refused] = yield* of("BudgetRefused")
        assert.deepInclude(refused, { account: "task:a", worker: "d.two", limit: 700 })
      }).pipe(memory)
    )

    it.effect("D31 lets a run only narrow what its desk allows", () =>
      Effect.gen(function* () {
        const desk = guarded([dear()], three, { limits: { tokens: 1_000, cost: 5 } })
        const wider = yield* Effect.flip(Run.start(desk, { ...r1, limits: { tokens: 1_001 } }))
        assert.include(wider.message, "limits.tokens must be at most the 1000 of the desk, got 1001")
        const narrow = yield* Run.start(desk, { ...r1, limits: { tokens: 400 } })
        assert.deepStrictEqual([narrow.stopReason, narrow.usage], ["budget-exceeded", { tokens: 400 }])
        const [started] = yield* of("RunStarted")
        assert.deepStrictEqual(started?.limits, { run: { tokens: 400, cost: 5 } })
      }).pipe(memory)
    )
  })

  describe("what is charged", () => {
    it.effect("R-210 closes an account that was overrun, and says so", () =>
      Effect.gen(function* () {
        const one = dear({ answers: [used(500)] })
        const outcome = yield* Run.start(guarded([one], three, { limits: { tokens: 5_000 } }), r1)
        assert.deepStrictEqual(
          [outcome.status, outcome.stopReason, (yield* one.calls).length],
          ["partial", "budget-exceeded", 1]
        )
        const [overrun] = yield* of("Overrun")
        assert.deepInclude(overrun, {
          account: "run",
          measure: "tokens",
          limit: 5_000,
          settled: 500,
          dispatch: "r1/a/1"
        })
        assert.include(outcome.note, "run is closed since its tokens were overrun")
      }).pipe(memory)
    )

    it.effect(
      "D33 shows a handler what is left, refuses a call that is too large, and reports what its calls used",
      () =>
        Effect.gen(function* () {
          const seen: Array<unknown> = []
          const one = worker(
            "one",
            ({ allowance }) =>
              Effect.gen(function* () {
                seen.push(yield* allowance.left)
                yield* allowance.call({ tokens: 300 }, Effect.succeed("first"), () => ({ tokens: 250 }))
                seen.push(yield* allowance.left)
                const refused = yield* Effect.flip(allowance.call({ tokens: 300 }, Effect.die("never called")))
                seen.push(refused.message)
                return "done"
              }),
            { estimate: { tokens: 400 } }
          )
          const outcome = yield* Run.start(guarded([one], [task("a")], { limits: { tokens: 5_000 } }), r1)
          assert.deepStrictEqual(seen, [
            { tokens: 400 },
            { tokens: 150 },
            "r1/a/1 has 150 tokens left, 300 were asked for: limit 400, settled 250, reserved 0"
          ])
          assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 250 }])
        }).pipe(memory)
    )

    it.effect("R-210 ends a task whose handler passes the refusal on as exhausted", () =>
      Effect.gen(function* () {
        const one = worker("one", ({ allowance }) => allowance.call({ tokens: 500 }, Effect.succeed("never")), {
          estimate: { tokens: 400 }
        })
        const outcome = yield* Run.start(guarded([one], [task("a")], { limits: { tokens: 5_000 } }), r1)
        assert.deepStrictEqual(
          outcome.dispatches.map(({ outcome }) => outcome),
          ["budget-exceeded"]
        )
        assert.strictEqual(outcome.results["a"]?.status, "failed")
      }).pipe(memory)
    )

    it.effect.each([
      ["with what its calls used", true, 120],
      ["with what was set aside, when nothing is known", false, 400]
    ] as const)("D35 settles a dispatch that is cancelled in flight %s", ([, calls, tokens]) =>
      Effect.gen(function* () {
        const held = gate()
        const one = worker(
          "one",
          ({ allowance }) =>
            Effect.gen(function* () {
              if (calls) yield* allowance.call({ tokens: 200 }, Effect.void, () => ({ tokens: 120 }))
              yield* held.wait
              return "done"
            }),
          { estimate: { tokens: 400 } }
        )
        const office = yield* Office.open(guarded([one], [task("a")], { limits: { tokens: 5_000 } }), { log: false })
        const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
        yield* held.reached
        yield* Run.cancel("r1", { by: "ann", office })
        const outcome = yield* Fiber.join(fiber)
        assert.deepStrictEqual([outcome.status, held.log], ["cancelled", ["began", "interrupted"]])
        const ledger = yield* ledgerOf()
        assert.deepStrictEqual([ledger.accounts.get("run")?.settled, ledger.reservations.size], [{ tokens }, 0])
      }).pipe(Effect.scoped, memory)
    )

    it.effect.each([
      ["a call that has ended", 120, Effect.void],
      ["a call that was under way, by what was set aside for it", 200, Effect.never]
    ] as const)("D34 D35 an interrupted order is charged before it is given again: %s", ([, first, call]) =>
      Effect.gen(function* () {
        let times = 0
        const held = gate()
        const one = worker(
          "one",
          ({ allowance }) =>
            Effect.gen(function* () {
              if (++times > 1)
                return yield* allowance.call({ tokens: 50 }, Effect.succeed("done"), () => ({ tokens: 50 }))
              yield* Effect.forkScoped(held.wait)
              yield* allowance.call({ tokens: 200 }, call, () => (call === Effect.never ? {} : { tokens: 120 }))
              return yield* Effect.never
            }),
          { estimate: { tokens: 400 } }
        )
        const inner = Plan.make<unknown>([{ id: "a", worker: "d.one", objective: "A" }])
        const desk = guarded([one], [{ id: "in", by: inner, objective: "In" }], { limits: { tokens: 5_000 } })
        const fiber = yield* Effect.forkChild(Run.start(desk, r1))
        yield* held.reached
        yield* settle
        yield* Fiber.interrupt(fiber)
        const down = yield* ledgerOf()
        assert.deepStrictEqual(down.accounts.get("run")?.settled, { tokens: first })
        assert.deepStrictEqual([...down.reservations.keys()], ["r1/in/a/1"])
        assert.deepStrictEqual((yield* Run.outcome("r1")).usage, { tokens: first })
        const outcome = yield* Run.resume(desk, "r1", { log: false })
        assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: first + 50 }])
        const ledger = yield* ledgerOf()
        for (const account of ["run", "domain:d", "worker:d.one"]) {
          assert.deepStrictEqual(ledger.accounts.get(account)?.settled, { tokens: first + 50 }, account)
        }
        assert.strictEqual(ledger.reservations.size, 0)
        const fold = Outcome.fold()
        for (const event of yield* history("r1")) fold.add(event)
        assert.deepStrictEqual(fold.usage("in"), { tokens: first + 50 })
      }).pipe(memory)
    )

    it.effect("R-210 keeps one account over the attempts of a dispatch", () =>
      Effect.gen(function* () {
        let calls = 0
        const one = worker(
          "one",
          ({ allowance }) =>
            Effect.gen(function* () {
              yield* allowance.call({ tokens: 100 }, Effect.void, () => ({ tokens: 100 }))
              return ++calls < 3 ? yield* Failure.transient("Busy") : "done"
            }),
          { estimate: { tokens: 300 } }
        )
        const outcome = yield* elapse(
          Run.start(guarded([one], [task("a")], { limits: { tokens: 300 } }), r1),
          "10 seconds"
        )
        assert.deepStrictEqual([outcome.status, outcome.usage], ["completed", { tokens: 300 }])
      }).pipe(memory)
    )
  })

  describe("the ledger", () => {
    const measures = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))
    /** Tasks of tasks, three wide and three deep. */
    const nested = (depth: number): ReadonlyArray<Plan.Task<string>> =>
      ["x", "y", "z"].map((id) =>
        depth === 0
          ? task(id, { capability: "work" })
          : { id, objective: `Do ${id}`, by: Plan.make(nested(depth - 1)) as never, limits: { tokens: 1_500 } }
      )

    it.effect.prop(
      "D34 R-210 has at every account the sum of the receipts below it, however the run goes",
      { seed: measures },
      ({ seed }) =>
        Effect.gen(function* () {
          const made = (name: string) =>
            Fake.worker(name, {
              capabilities: ["work"],
              size: 3,
              estimate: { tokens: 60 },
              latency: { from: 0, to: "2 seconds", seed },
              failures: { rate: 0.2, seed: `${name} ${seed}`, kind: "malformed" },
              answers: ({ dispatch }) => used((dispatch.length * 7 + seed) % 60)
            })
          const outcome = yield* elapse(
            Run.start(guarded([made("one"), made("two")], nested(2), { limits: { tokens: 1_500 } }), r1),
            "2 minutes"
          )
          const events = yield* history("r1")
          const { accounts, reservations } = yield* ledgerOf()
          assert.strictEqual(reservations.size, 0)
          const spent = (account: string) => accounts.get(account)?.settled.tokens ?? 0
          assert.strictEqual(
            outcome.stopReason === "budget-exceeded" || outcome.status === "completed",
            true,
            outcome.note
          )
          assert.isAtMost(spent("run"), 1_500)
          for (const [account] of accounts) {
            const [kind, name = ""] = account.split(":")
            const below = receipts(events, ({ task, worker }) =>
              kind === "task"
                ? task === name || task.startsWith(`${name}/`)
                : kind === "worker"
                  ? worker === name
                  : true
            )
            assert.strictEqual(spent(account), below, account)
          }
        }).pipe(memory),
      { arbitrary: { runs: 10, seed: "espalier" } }
    )

    it.effect("D34 D36 is the same after a restart in the middle, and limits hold over it", () =>
      Effect.gen(function* () {
        const plan = Array.from({ length: 6 }, (_, index) =>
          task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`] })
        )
        const one = dear({ latency: "1 second" })
        const desk = guarded([one], plan, { limits: { tokens: 2_000 } })
        const fiber = yield* Effect.forkChild(Run.start(desk, r1))
        yield* settle
        yield* TestClock.adjust("2500 millis")
        yield* settle
        yield* Fiber.interrupt(fiber)
        const before = yield* ledgerOf()
        assert.deepStrictEqual([before.accounts.get("run")?.settled, before.reservations.size], [{ tokens: 800 }, 1])
        const outcome = yield* elapse(Run.resume(desk, "r1", { log: false }), "1 minute")
        assert.deepStrictEqual(
          [outcome.stopReason, outcome.usage, outcome.dispatches.length],
          ["budget-exceeded", { tokens: 2_000 }, 5]
        )
        const ledger = yield* ledgerOf()
        assert.deepStrictEqual(Budget.left(ledger, ["run"]), { tokens: 0 })
      }).pipe(memory)
    )
  })

  describe("an order that was carried out already", () => {
    const twins = (fresh: boolean) =>
      ["a", "b", "c"].map((id, index) =>
        task(id, {
          objective: "Do the same",
          needs: index === 0 ? [] : [["a", "b"][index - 1]!],
          fresh,
          acceptMissing: true
        })
      )

    it.effect("R-210 D20 is not given again: its outcome stands, and costs nothing more", () =>
      Effect.gen(function* () {
        const one = dear()
        const outcome = yield* Run.start(guarded([one], twins(false)), r1)
        assert.deepStrictEqual(
          [outcome.status, outcome.usage, (yield* one.calls).length],
          ["completed", { tokens: 400 }, 1]
        )
        assert.deepStrictEqual(
          Object.values(outcome.results).map(({ output }) => output),
          ["done", "done", "done"]
        )
        assert.deepStrictEqual(
          (yield* of("Reused")).map(({ of, task }) => `${task} of ${of}`),
          ["b of a", "c of a"]
        )
      }).pipe(memory)
    )

    it.effect("R-210 is given again when it says so", () =>
      Effect.gen(function* () {
        const one = dear()
        const outcome = yield* Run.start(guarded([one], twins(true)), r1)
        assert.deepStrictEqual([outcome.status, (yield* one.calls).length, yield* of("Reused")], ["completed", 3, []])
      }).pipe(memory)
    )
  })
})
