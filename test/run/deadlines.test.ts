import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume, rows } from "./living.ts"

const plan = (tasks: ReadonlyArray<Plan.Task<string>>, fields: Plan.Options = {}) => Plan.make<string>(tasks, fields)
const minute = { deadlineMillis: 60_000 }

/** A worker that never ends by itself, and takes half a second to let go. */
const hanging = (log: Array<string>) =>
  Fake.worker("one", {
    size: 10,
    answers: ({ task }) =>
      Effect.onInterrupt(Effect.never, () =>
        Effect.delay(
          Effect.sync(() => log.push(task)),
          "500 millis"
        )
      ),
    attemptTimeout: "1 day"
  })

describe("A deadline", () => {
  it.effect("R-211 of a task stops its work, waits for it, and says what happened", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const built = deskOf([hanging(log)], plan([task("a", { limits: minute }), task("b", { needs: ["a"] })]))
      const outcome = yield* elapse(Run.start(built, options), "1 hour")
      assert.deepStrictEqual(log, ["a"])
      assert.deepStrictEqual(ends(outcome), ["a failed", "b blocked"])
      assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one timed-out"])
      assert.strictEqual(outcome.endedAt, 60_500)
      const over = "the time of a is over (1970-01-01T00:01:00.000Z)"
      assert.include(outcome.results["a"]?.note, over)
      assert.include(outcome.note, "the time of a was over")
      const events = yield* history("r1")
      const [reported] = of(events, "Reported")
      assert.deepStrictEqual(reported?.result.error, { kind: "exhausted", reason: over })
      assert.deepStrictEqual(
        of(events, "DeadlinePassed").map(({ at, note, subject }) => [subject, at, note]),
        [["a", 60_000, "The time of a is over (1970-01-01T00:01:00.000Z)"]]
      )
    }).pipe(memory)
  )

  it.effect("of a task begins with its first order, and goes on over tries and workers", () =>
    Effect.gen(function* () {
      const slow = (name: string) =>
        Fake.worker(name, { latency: "25 seconds", otherwise: Fake.fail("capability"), capabilities: ["work"] })
      const built = deskOf(
        [
          slow("one"),
          slow("two"),
          slow("three"),
          Fake.worker("first", { latency: "50 seconds", otherwise: 1, attemptTimeout: "1 hour" })
        ],
        plan([task("first", { worker: "d.first" }), task("a", { needs: ["first"], limits: minute })])
      )
      const outcome = yield* elapse(Run.start(built, options), "1 hour")
      assert.deepStrictEqual(rows(outcome).slice(1), [
        "r1/a/1 d.one refused",
        "r1/a/2 d.two refused",
        "r1/a/3 d.three timed-out"
      ])
      assert.strictEqual(outcome.endedAt, 110_000)
    }).pipe(memory)
  )

  it.effect("of a task that has a partial result keeps it", () =>
    Effect.gen(function* () {
      const inner = Plan.make<unknown>([
        { id: "x", worker: "d.quick", objective: "Do x" },
        { id: "y", worker: "d.one", objective: "Do y" }
      ])
      const built = deskOf(
        [hanging([]), Fake.worker("quick", { otherwise: "x" })],
        plan([{ id: "all", by: inner, objective: "All", limits: minute }])
      )
      const outcome = yield* elapse(Run.start(built, options), "1 hour")
      assert.deepStrictEqual(ends(outcome), ["all partial", "all/x accepted", "all/y cancelled"])
      assert.deepStrictEqual(outcome.results["all"]?.output, { x: "x" })
      assert.strictEqual(outcome.endedAt, 60_500)
    }).pipe(memory)
  )

  it.effect("R-211 of a run stops everything, and keeps what is finished", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const inner = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "Do x" }])
      const built = deskOf(
        [hanging(log), Fake.worker("quick", { otherwise: "quick" })],
        plan([
          task("done", { worker: "d.quick" }),
          task("a"),
          { id: "in", by: inner, objective: "In" },
          task("later", { needs: ["a"] })
        ]),
        { limits: minute }
      )
      const outcome = yield* elapse(Run.start(built, options), "1 hour")
      assert.deepStrictEqual([outcome.status, outcome.stopReason, outcome.endedAt], ["partial", "deadline", 60_500])
      assert.deepStrictEqual(log.toSorted(), ["a", "in/x"])
      assert.deepStrictEqual(ends(outcome), [
        "done accepted",
        "a cancelled",
        "in cancelled",
        "later cancelled",
        "in/x cancelled"
      ])
    }).pipe(memory)
  )

  const waits: ReadonlyArray<readonly [seconds: number, row: string, endedAt: number]> = [
    [30, "r1/a/1 d.one accepted", 30_000],
    [59, "r1/a/1 d.one accepted", 59_000],
    [60, "r1/a/1 d.one failed", 0],
    [61, "r1/a/1 d.one failed", 0]
  ]
  it.effect.each(waits)("a wait of %d s inside a minute ends as %s at %d ms", ([seconds, row, endedAt]) =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        capabilities: ["work"],
        answers: [Fake.fail("transient", { retryAfter: `${seconds} seconds` }), "done"]
      })
      const two = Fake.worker("two", { capabilities: ["work"], otherwise: "two" })
      const built = deskOf([one, two], plan([task("a", { limits: minute })]), {
        policy: { longestWaitMillis: 600_000 }
      })
      const outcome = yield* elapse(Run.start(built, options), "1 hour")
      assert.strictEqual(rows(outcome)[0], row)
      assert.strictEqual(outcome.results["a"]?.output, row.endsWith("failed") ? "two" : "done")
      assert.strictEqual(outcome.endedAt, endedAt)
    }).pipe(memory)
  )

  describe("stands still", () => {
    const asks = () =>
      Fake.worker("one", {
        answers: ({ dispatch }) => (dispatch.endsWith("/1") ? Fake.fail("denied") : Fake.never),
        attemptTimeout: "1 day"
      })
    const retry = { review: "r1/review/1", decision: "retry", by: "ada" } as const

    it.effect("R-211 of a task, while a person is waited for", () =>
      Effect.gen(function* () {
        const built = deskOf([asks()], plan([task("a", { limits: minute })]))
        assert.strictEqual((yield* Run.start(built, options)).status, "waiting")
        yield* TestClock.adjust("2 days")
        yield* Run.decide(retry)
        yield* TestClock.adjust("3 days")
        const outcome = yield* elapse(resume(built), "1 hour")
        const fiveDays = 5 * 24 * 3_600_000
        assert.deepStrictEqual(
          [...rows(outcome), outcome.endedAt! - fiveDays],
          ["r1/a/1 d.one denied", "r1/a/2 d.one timed-out", 60_000]
        )
      }).pipe(memory)
    )

    it.effect("R-211 of a group and of the run, while nothing but a person is waited for", () =>
      Effect.gen(function* () {
        const inner = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "Do x" }])
        const built = deskOf([asks()], plan([{ id: "all", by: inner, objective: "All", limits: minute }]), {
          limits: { deadlineMillis: 90_000 }
        })
        assert.strictEqual((yield* Run.start(built, options)).status, "waiting")
        yield* TestClock.adjust("1 day")
        yield* Run.changeTier("r1", { from: "medium", to: "full", who: "ada", why: "Let it" })
        yield* TestClock.adjust("1 day")
        yield* Run.decide(retry)
        yield* TestClock.adjust("3 days")
        const outcome = yield* elapse(resume(built), "1 hour")
        const fiveDays = 5 * 24 * 3_600_000
        const passed = of(yield* history("r1"), "DeadlinePassed")
        assert.deepStrictEqual(
          passed.map(({ at, subject }) => [subject, at - fiveDays]),
          [["all", 60_000]]
        )
        assert.strictEqual(outcome.endedAt! - fiveDays, 60_000)
      }).pipe(memory)
    )

    it.effect("R-211 D11 while a run is suspended or cut off, whoever writes to it meanwhile", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const built = deskOf([hanging(log)], plan([task("a", { limits: minute })]), {
          limits: { deadlineMillis: 90_000 }
        })
        const run = yield* begin(Run.start(built, options))
        yield* pass("20 seconds")
        yield* elapse(run.interrupt, "500 millis")
        assert.deepStrictEqual(log, ["a"])
        yield* TestClock.adjust("1 hour")
        yield* Run.changeTier("r1", { from: "medium", to: "full", who: "ada", why: "Let it" })
        yield* TestClock.adjust("1 hour")
        const outcome = yield* elapse(resume(built), "1 hour")
        const passed = of(yield* history("r1"), "DeadlinePassed")
        assert.deepStrictEqual(
          passed.map(({ at }) => at - 7_200_000),
          [60_000]
        )
        assert.strictEqual(outcome.results["a"]?.status, "failed")
      }).pipe(memory)
    )
  })

  it.effect("D11 twenty planned stops are no failure, and cost nothing", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { latency: "1 second", answers: ({ task }) => task })
      const tasks = Array.from({ length: 20 }, (_, index) =>
        task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`] })
      )
      const built = deskOf([one], plan(tasks), { limits: { deadlineMillis: 30_000 } })
      let run = yield* begin(Effect.orDie(Run.start(built, options)))
      for (let stop = 0; stop < 19; stop++) {
        yield* pass("1100 millis")
        yield* run.interrupt
        yield* TestClock.adjust("1 day")
        run = yield* begin(Effect.orDie(resume(built)))
      }
      yield* pass("10 seconds")
      const outcome = yield* run.join
      assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", false])
      assert.isTrue(outcome.dispatches.every(({ attempts, outcome }) => attempts === 1 && outcome === "accepted"))
    }).pipe(memory)
  )
})
