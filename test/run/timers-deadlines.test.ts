import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ladder, type Outcome, Plan, ReviewPolicy, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume, rows } from "./living.ts"

const hour = 3_600_000
const day = 24 * hour

const plan = (tasks: ReadonlyArray<Plan.Task<string>>, fields: Plan.Options = {}) => Plan.make<string>(tasks, fields)
const echo = () => Fake.worker("one", { size: 10, answers: ({ task }) => task })

/** Deadlines and timers with the time at which they were due and at which that was noticed. */
const dues = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  events.flatMap((event) =>
    event._tag === "DeadlinePassed" || event._tag === "TimerFired"
      ? [[event._tag, event.subject, event.due, event.at] as const]
      : []
  )

const ended = ({ endedAt, status, stopReason }: Outcome.Outcome) => [status, stopReason, endedAt]

/** Questions that wait for 30 days, and remind nobody before. */
const patient = ReviewPolicy.make({
  ladders: {
    low: Ladder.make({ stages: [{ to: ["anyone"], after: 0 }], final: { after: "30 days", action: "reject" } })
  }
})

describe("The deadline of a run that waits for a timer of its own", () => {
  const within = (deadlineMillis: number, tasks = [task("a"), task("b", { needs: ["a"], after: "2 days" })]) =>
    deskOf([echo()], plan(tasks), { limits: { deadlineMillis } })

  it.effect("runs on, wakes the run, and ends it", () =>
    Effect.gen(function* () {
      const built = within(day)
      const waiting = yield* Run.start(built, options)
      assert.deepStrictEqual([waiting.status, waiting.wakeAt], ["waiting", day])
      yield* TestClock.adjust(day - 60_001)
      assert.strictEqual((yield* resume(built)).status, "waiting")
      yield* TestClock.adjust(60_001)
      const outcome = yield* resume(built)
      assert.deepStrictEqual(ended(outcome), ["partial", "deadline", day])
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b cancelled"])
      assert.deepStrictEqual(dues(yield* history("r1")), [["DeadlinePassed", "", day, day]])
    }).pipe(memory)
  )

  it.effect("that had passed before the timer was due ends the run also when it is taken up much later", () =>
    Effect.gen(function* () {
      const built = within(day)
      yield* Run.start(built, options)
      yield* TestClock.adjust("10 days")
      const outcome = yield* resume(built)
      assert.deepStrictEqual(ended(outcome), ["partial", "deadline", 10 * day])
      assert.deepStrictEqual(dues(yield* history("r1")), [["DeadlinePassed", "", day, 10 * day]])
      assert.include(outcome.note, "(1970-01-02T00:00:00.000Z)")
    }).pipe(memory)
  )

  it.effect("stands still once the timer was due and nobody took the run up", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        attemptTimeout: "30 days",
        answers: ({ task }) => (task === "a" ? task : Fake.never)
      })
      const built = deskOf([one], plan([task("a"), task("b", { needs: ["a"], after: "2 days" })]), {
        limits: { deadlineMillis: 3 * day }
      })
      yield* Run.start(built, options)
      yield* TestClock.adjust("10 days")
      const outcome = yield* elapse(resume(built), "2 days")
      // Two of its three days had passed when its timer was due: there is one left.
      assert.deepStrictEqual(ended(outcome), ["partial", "deadline", 11 * day])
      assert.deepStrictEqual(dues(yield* history("r1")), [
        ["TimerFired", "b", 2 * day, 10 * day],
        ["DeadlinePassed", "", 11 * day, 11 * day]
      ])
    }).pipe(memory)
  )

  it.effect("at the very time of the timer comes first", () =>
    Effect.gen(function* () {
      const built = within(2 * day)
      yield* Run.start(built, options)
      yield* TestClock.adjust("2 days")
      assert.deepStrictEqual(ended(yield* resume(built)), ["partial", "deadline", 2 * day])
      assert.deepStrictEqual(dues(yield* history("r1")), [["DeadlinePassed", "", 2 * day, 2 * day]])
    }).pipe(memory)
  )

  it.effect("runs on while the run waits for a person, too, and stands still once it waits for nobody else", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 10,
        attemptTimeout: "30 days",
        answers: ({ dispatch, task }) =>
          dispatch === "r1/ask/1" ? Fake.fail("denied") : task === "ask" ? Fake.never : task
      })
      const built = deskOf([one], plan([task("ask"), task("b", { after: "1 day" })]), {
        limits: { deadlineMillis: 3 * day },
        reviews: patient
      })
      const both = yield* Run.start(built, options)
      assert.deepStrictEqual([both.status, both.wakeAt, both.reviews.length], ["waiting", day, 1])
      yield* TestClock.adjust("1 day")
      const person = yield* resume(built)
      assert.deepStrictEqual(
        [person.status, person.wakeAt, ends(person).join()],
        ["waiting", 30 * day, "ask open,b accepted"]
      )
      yield* TestClock.adjust("20 days")
      assert.strictEqual((yield* resume(built)).status, "waiting")
      yield* Run.decide({ review: "r1/review/1", decision: "retry", by: "ada" })
      const outcome = yield* elapse(resume(built), "5 days")
      // One day of three was its own timer's; the twenty of the person do not count.
      assert.deepStrictEqual(ended(outcome), ["partial", "deadline", 23 * day])
    }).pipe(memory)
  )

  it.effect("runs on to a decision that comes before the timer, and stands still after that until it is taken up", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 10,
        attemptTimeout: "30 days",
        answers: ({ dispatch, task }) =>
          dispatch === "r1/ask/1" ? Fake.fail("denied") : task === "ask" ? Fake.never : task
      })
      const built = deskOf([one], plan([task("ask"), task("b", { after: "6 days" })]), {
        limits: { deadlineMillis: 3 * day }
      })
      const both = yield* Run.start(built, options)
      // Before that, somebody is reminded of the question.
      assert.deepStrictEqual([both.status, both.wakeAt], ["waiting", day / 2])
      yield* TestClock.adjust("1 day")
      yield* Run.decide({ review: "r1/review/1", decision: "retry", by: "ada" })
      yield* TestClock.adjust("10 days")
      const outcome = yield* elapse(resume(built), "5 days")
      assert.deepStrictEqual(ended(outcome), ["partial", "deadline", 13 * day])
      assert.deepStrictEqual(dues(yield* history("r1")), [
        ["TimerFired", "b", 6 * day, 11 * day],
        ["DeadlinePassed", "", 13 * day, 13 * day]
      ])
    }).pipe(memory)
  )

  it.effect("of a suspended run stands still although a timer is open, which does not", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 10,
        latency: "1 hour",
        attemptTimeout: "1 day",
        answers: ({ task }) => task
      })
      const built = deskOf([one], plan([task("a"), task("b", { after: "2 days" })]), {
        limits: { deadlineMillis: 3 * hour }
      })
      const run = yield* begin(Run.start(built, options))
      yield* pass("30 minutes")
      yield* run.interrupt
      assert.deepStrictEqual((yield* Run.outcome("r1")).status, "suspended")
      assert.strictEqual((yield* Run.outcome("r1")).wakeAt, undefined)
      yield* TestClock.adjust("10 days")
      const outcome = yield* elapse(resume(built), "1 day")
      assert.strictEqual(outcome.status, "completed")
      const resumed = 10 * day + hour / 2
      assert.deepStrictEqual(dues(yield* history("r1")), [["TimerFired", "b", 2 * day, resumed]])
    }).pipe(memory)
  )
})

describe("The deadline of a task that waits", () => {
  it.effect("begins with its first order", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: Fake.never, attemptTimeout: "1 day" })
      const built = deskOf([one], plan([task("a", { after: "2 days", limits: { deadlineMillis: 60_000 } })]))
      yield* Run.start(built, options)
      yield* TestClock.adjust("2 days")
      const outcome = yield* elapse(resume(built), "1 hour")
      assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one timed-out"])
      assert.strictEqual(outcome.endedAt, 2 * day + 60_000)
    }).pipe(memory)
  )

  it.effect("inside of another one ends with that one's", () =>
    Effect.gen(function* () {
      const inner = Plan.make<unknown>([
        { id: "x", worker: "d.one", objective: "Do x" },
        { id: "y", worker: "d.one", objective: "Do y", after: "2 days" }
      ])
      const built = deskOf(
        [echo()],
        plan([{ id: "all", by: inner, objective: "All", limits: { deadlineMillis: day } }])
      )
      const waiting = yield* Run.start(built, options)
      assert.deepStrictEqual([waiting.status, waiting.wakeAt], ["waiting", day])
      yield* TestClock.adjust("5 days")
      const outcome = yield* resume(built)
      assert.deepStrictEqual(ends(outcome), ["all partial", "all/x accepted", "all/y cancelled"])
      const [passed] = of(yield* history("r1"), "DeadlinePassed")
      assert.deepStrictEqual([passed?.subject, passed?.due, passed?.at], ["all", day, 5 * day])
    }).pipe(memory)
  )
})

describe("The timer of a task that ends before its time", () => {
  it.effect("is gone where a sibling has failed and the others are stopped", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => (task === "bad" ? Fake.fail("capability") : task) })
      const built = deskOf([one], plan([task("bad"), task("late", { after: "1 day" })], { containment: "fail-fast" }))
      const outcome = yield* Run.start(built, options)
      assert.deepStrictEqual(ends(outcome), ["bad failed", "late cancelled"])
      assert.strictEqual(outcome.endedAt, 0)
    }).pipe(memory)
  )

  it.effect("is gone where there is enough without it", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [echo()],
        plan([task("now"), task("late", { after: "1 day" })], { containment: { quorum: 1 } })
      )
      const outcome = yield* Run.start(built, options)
      assert.deepStrictEqual([outcome.status, ...ends(outcome)], ["completed", "now accepted", "late skipped"])
      assert.deepStrictEqual(dues(yield* history("r1")), [])
    }).pipe(memory)
  )

  it.effect("is not set where it is blocked, and is where it takes what is missing", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => (task === "bad" ? Fake.fail("capability") : task) })
      const built = deskOf(
        [one],
        plan([
          task("bad"),
          task("blocked", { needs: ["bad"], after: "1 day" }),
          task("goes", { needs: ["bad"], after: "1 day", acceptMissing: true })
        ])
      )
      assert.strictEqual((yield* Run.start(built, options)).status, "waiting")
      const events = yield* history("r1")
      assert.deepStrictEqual(
        of(events, "TimerSet").map(({ subject }) => subject),
        ["goes"]
      )
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(ends(yield* resume(built)), ["bad failed", "blocked blocked", "goes accepted"])
    }).pipe(memory)
  )
})
