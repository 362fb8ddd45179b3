import { assert, describe, it } from "@effect/vitest"
import { Cause, type Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Office, type Outcome, Pipeline, Plan, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, rows } from "./living.ts"

const hour = 3_600_000
const day = 24 * hour

const plan = (tasks: ReadonlyArray<Plan.Task<string>>, fields: Plan.Options = {}) => Plan.make<string>(tasks, fields)
const echo = () => Fake.worker("one", { size: 10, answers: ({ task }) => task })
const version = Effect.flatMap(Journal.Journal, (journal) => journal.version("r1"))

const resume = (desk: ReturnType<typeof deskOf>, waitFor?: Duration.Input) =>
  Run.resume(desk, "r1", { log: false, ...(waitFor === undefined ? {} : { waitFor }) })

/** Every order with the time at which it was given. */
const given = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<readonly [string, number]> =>
  of(events, "Dispatched").map(({ at, task }) => [task, at])

/** Every timer with the time at which it was due and at which that was noticed. */
const fired = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<readonly [string, number, number]> =>
  of(events, "TimerFired").map(({ at, due, subject }) => [subject, due, at])

const waits = ({ status, wakeAt }: Outcome.Outcome) => [status, wakeAt]

describe("A task with `after`", () => {
  const later = () => deskOf([echo()], plan([task("a"), task("b", { needs: ["a"], after: "2 days" })]))

  it.effect("has its run wait, which says when it goes on", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 hour")
      const outcome = yield* Run.start(later(), options)
      assert.deepStrictEqual(waits(outcome), ["waiting", hour + 2 * day])
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b open"])
      assert.deepStrictEqual(waits(yield* Run.outcome("r1")), ["waiting", hour + 2 * day])
      const [set, ...more] = of(yield* history("r1"), "TimerSet")
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual(set, {
        _tag: "TimerSet",
        at: hour,
        timer: "r1/timer/1",
        subject: "b",
        purpose: "after",
        due: hour + 2 * day,
        note: "b waits until 1970-01-03T01:00:00.000Z: what it needs has ended"
      })
    }).pipe(memory)
  )

  it.effect("is not looked at before its time, and nothing is written then", () =>
    Effect.gen(function* () {
      yield* Run.start(later(), options)
      const before = yield* version
      yield* TestClock.adjust(2 * day - 60_001)
      assert.deepStrictEqual(waits(yield* resume(later())), ["waiting", 2 * day])
      assert.strictEqual(yield* version, before)
    }).pipe(memory)
  )

  it.effect("goes on when the run is taken up after its time, which is told as it was", () =>
    Effect.gen(function* () {
      yield* Run.start(later(), options)
      yield* TestClock.adjust("3 days")
      const outcome = yield* resume(later())
      assert.deepStrictEqual([outcome.status, outcome.wakeAt], ["completed", undefined])
      const events = yield* history("r1")
      assert.deepStrictEqual(fired(events), [["b", 2 * day, 3 * day]])
      assert.deepStrictEqual(given(events), [
        ["a", 0],
        ["b", 3 * day]
      ])
      const [resumed] = of(events, "RunResumed")
      assert.include(resumed?.note, "its next timer is due")
    }).pipe(memory)
  )

  it.effect("of no time at all does not wait", () =>
    Effect.gen(function* () {
      const outcome = yield* Run.start(deskOf([echo()], plan([task("a", { after: 0 })])), options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(of(yield* history("r1"), "TimerSet"), [])
    }).pipe(memory)
  )

  it.effect("of less than a minute is waited for by the run itself", () =>
    Effect.gen(function* () {
      const built = deskOf([echo()], plan([task("a", { after: "30 seconds" }), task("b", { after: "1 minute" })]))
      const outcome = yield* elapse(Run.start(built, options), "2 minutes")
      assert.strictEqual(outcome.status, "completed")
      const events = yield* history("r1")
      assert.deepStrictEqual(given(events), [
        ["a", 30_000],
        ["b", 60_000]
      ])
      assert.deepStrictEqual(of(events, "RunResumed"), [])
    }).pipe(memory)
  )

  const patience: ReadonlyArray<readonly [Duration.Input, string, number | undefined]> = [
    ["0 seconds", "waiting", 30_000],
    ["29 seconds", "waiting", 30_000],
    ["30 seconds", "completed", undefined],
    ["Infinity", "completed", undefined]
  ]
  it.effect.each(patience)("of 30 s, where a run waits for %s, ends as %s", ([waitFor, status, wakeAt]) =>
    Effect.gen(function* () {
      const built = deskOf([echo()], plan([task("a", { after: "30 seconds" })]))
      const outcome = yield* elapse(Run.start(built, { ...options, waitFor }), "1 minute")
      assert.deepStrictEqual(waits(outcome), [status, wakeAt])
    }).pipe(memory)
  )

  it.effect("takes no slot and no worker while it waits", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { latency: "1 second", answers: ({ task }) => task })
      const built = deskOf(
        [one],
        plan([task("a", { after: "10 seconds" }), task("b"), task("c", { needs: ["b"] })], { concurrency: 1 })
      )
      yield* elapse(Run.start(built, options), "1 minute")
      assert.deepStrictEqual(given(yield* history("r1")), [
        ["b", 0],
        ["c", 1_000],
        ["a", 10_000]
      ])
    }).pipe(memory)
  )

  it.effect("of a group waits before the group is opened, and one inside of it as well", () =>
    Effect.gen(function* () {
      const inner = Pipeline.make<unknown>([
        { id: "x", worker: "d.one", objective: "Do x" },
        { id: "y", worker: "d.one", objective: "Do y", after: "1 day" }
      ])
      const built = deskOf([echo()], plan([{ id: "all", by: inner, objective: "All", after: "1 day" }, task("b")]))
      assert.deepStrictEqual(waits(yield* Run.start(built, options)), ["waiting", day])
      assert.deepStrictEqual(of(yield* history("r1"), "GroupOpened"), [])
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(waits(yield* resume(built)), ["waiting", 2 * day])
      yield* TestClock.adjust("1 day")
      const outcome = yield* resume(built)
      assert.deepStrictEqual(rows(outcome), [
        "r1/b/1 d.one accepted",
        "r1/all/x/1 d.one accepted",
        "r1/all/y/1 d.one accepted"
      ])
      assert.deepStrictEqual(fired(yield* history("r1")), [
        ["all", day, day],
        ["all/y", 2 * day, 2 * day]
      ])
    }).pipe(memory)
  )
})

describe("Run.resume", () => {
  it.effect("waits for a timer that is as near as it was told to, whatever the run began with", () =>
    Effect.gen(function* () {
      const built = deskOf([echo()], plan([task("a", { after: "2 days" })]))
      yield* Run.start(built, options)
      const before = yield* version
      assert.deepStrictEqual(waits(yield* resume(built, "47 hours")), ["waiting", 2 * day])
      assert.strictEqual(yield* version, before)
      const outcome = yield* elapse(resume(built, "48 hours"), "2 days")
      assert.deepStrictEqual([outcome.status, outcome.endedAt], ["completed", 2 * day])
    }).pipe(memory)
  )

  it.effect.each([-1, Number.NaN, "soon"])("dies when it is to wait for %s", (waitFor) =>
    Effect.gen(function* () {
      const built = deskOf([echo()], plan([task("a")]))
      const exit = yield* Effect.exit(resume(built, waitFor as Duration.Input))
      const defect = exit._tag === "Failure" ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(defect, RangeError)
      assert.strictEqual((defect as RangeError).message, `Run.resume: waitFor must be a duration >= 0, got ${waitFor}`)
    }).pipe(memory)
  )
})

describe("Timers that are overdue", () => {
  it.effect("fire in the order in which they were due, each with its time", () =>
    Effect.gen(function* () {
      const tasks = [3, 1, 2, 1].map((days, index) => task(`t${index}`, { after: days * day }))
      const built = deskOf([echo()], plan(tasks))
      assert.deepStrictEqual(waits(yield* Run.start(built, options)), ["waiting", day])
      yield* TestClock.adjust("10 days")
      assert.strictEqual((yield* resume(built)).status, "completed")
      assert.deepStrictEqual(fired(yield* history("r1")), [
        ["t1", day, 10 * day],
        ["t3", day, 10 * day],
        ["t2", 2 * day, 10 * day],
        ["t0", 3 * day, 10 * day]
      ])
    }).pipe(memory)
  )

  it.effect("come home over ten days in which the run is taken up, put down and cut off again and again", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 10,
        latency: "1 hour",
        attemptTimeout: "1 day",
        answers: ({ task }) => task
      })
      const chain = Array.from({ length: 5 }, (_, index) =>
        task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`], after: "1 day" })
      )
      const built = deskOf([one], plan([...chain, task("once", { after: "5 days" })]))
      let run = yield* begin(Effect.orDie(Run.start(built, options)))
      for (let halfDays = 0; halfDays < 20; halfDays++) {
        yield* run.interrupt
        yield* pass("12 hours")
        run = yield* begin(Effect.orDie(resume(built)))
        yield* pass(halfDays % 3 === 0 ? "10 minutes" : "2 hours")
      }
      const outcome = yield* run.join
      assert.strictEqual(outcome.status, "completed")
      const events = yield* history("r1")
      assert.strictEqual(of(events, "TimerSet").length, 6)
      assert.strictEqual(of(events, "Dispatched").length, 6)
      for (const { at, due, subject } of of(events, "TimerFired")) {
        const before = events.find(
          (event) => event._tag === "TaskEnded" && event.task === `t${Number(subject.slice(1)) - 1}`
        )
        assert.strictEqual(due, subject === "once" ? 5 * day : (before?.at ?? 0) + day)
        assert.isAtLeast(at, due)
      }
    }).pipe(memory)
  )
})

describe("A run that waits for a timer", () => {
  it.effect("is carried out by nobody, and its office stays open for others", () =>
    Effect.gen(function* () {
      const office = yield* Office.open(deskOf([echo()], plan([task("a", { after: "1 day" })])), { log: false })
      assert.strictEqual((yield* Run.startIn(office, options)).status, "waiting")
      assert.strictEqual(office.live.size, 0)
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* Run.resumeIn(office, "r1")).status, "completed")
    }).pipe(Effect.scoped, memory)
  )

  it.effect("is left waiting when it is interrupted, or its office closes, while it waits here", () =>
    Effect.gen(function* () {
      const built = deskOf([echo()], plan([task("a", { after: "30 seconds" })]))
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      assert.deepStrictEqual(waits(yield* Run.outcome("r1")), ["waiting", 30_000])
      assert.deepStrictEqual(of(yield* history("r1"), "RunSuspended"), [])
      const closed = yield* Effect.scoped(
        Effect.gen(function* () {
          const office = yield* Office.open(built, { log: false })
          return yield* begin(Run.resumeIn(office, "r1"))
        })
      )
      assert.deepStrictEqual(waits(yield* closed.join), ["waiting", 30_000])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )

  it.effect("ends when it is called off, from outside and where it waits", () =>
    Effect.gen(function* () {
      const built = deskOf([echo()], plan([task("a", { after: "1 day" }), task("b")]))
      yield* Run.start(built, options)
      yield* Run.cancel("r1", { by: "ada" })
      const outcome = yield* resume(built)
      assert.deepStrictEqual([outcome.status, ends(outcome).join()], ["cancelled", "a cancelled,b accepted"])

      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, { ...options, id: "r2", waitFor: "Infinity" }))
      yield* pass("1 hour")
      yield* Run.cancel("r2", { by: "ada", office })
      const second = yield* run.join
      assert.deepStrictEqual([second.status, second.endedAt], ["cancelled", hour])
      assert.deepStrictEqual(fired(yield* history("r2")), [])
    }).pipe(Effect.scoped, memory)
  )
})

describe("The list of runs", () => {
  it.effect("says when a run goes on, and is written only when that or its status changes", () => {
    const listings: Array<string> = []
    const journal = Layer.effect(
      Journal.Journal,
      Effect.map(Journal.Journal, (journal) => ({
        ...journal,
        append: (append: Journal.Append) => {
          const { status, wakeAt } = append.listing ?? {}
          if (status !== undefined) listings.push(`${status} ${wakeAt}`)
          return journal.append(append)
        }
      }))
    ).pipe(Layer.provide(Journal.layerMemory))
    return Effect.gen(function* () {
      const one = Fake.worker("one", { size: 10, answers: ({ task }) => (task === "ask" ? Fake.fail("denied") : task) })
      const built = deskOf(
        [one],
        plan([task("ask"), task("a", { after: "1 day" }), task("b", { after: "2 days" }), task("c", { needs: ["b"] })])
      )
      yield* Run.start(built, options)
      const runs = Effect.flatMap(Journal.Journal, (journal) => journal.runs({ order: "due", dueBy: day }))
      assert.deepStrictEqual(
        (yield* runs).map(({ run, wakeAt }) => [run, wakeAt]),
        // Before the timer, somebody is reminded of the question.
        [["r1", day / 2]]
      )
      yield* Run.changeTier("r1", { from: "medium", to: "low", who: "ada", why: "Careful" })
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(waits(yield* resume(built)), ["waiting", 1.5 * day])
      assert.deepStrictEqual(yield* runs, [])
      yield* Run.cancel("r1", { by: "ada" })
      yield* resume(built)
      assert.deepStrictEqual(listings, [
        "running undefined",
        `waiting ${day / 2}`,
        // What comes next is another reminder of the question.
        `waiting ${1.5 * day}`,
        "running undefined",
        "cancelled undefined"
      ])
    }).pipe(Effect.provide(journal))
  })
})
