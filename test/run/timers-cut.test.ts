import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Layer, type Schema } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Graph, type Outcome, Plan, Run, type RunEvent, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { Machine } from "../model/machine.ts"
import { drive } from "../model/runs/drive.ts"
import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume } from "./living.ts"

const day = 86_400_000

const plan = (tasks: ReadonlyArray<Plan.Task<string>>) => Plan.make<string>(tasks)
const echo = () => Fake.worker("one", { size: 10, answers: ({ task }) => task })

type Answer = (order: Worker.Order<unknown>) => Fake.Reply<Schema.Json>

/** A worker that writes down when it was called. */
const clocked = (answer: Answer) => {
  const calls: Array<readonly [task: string, attempt: number, at: number]> = []
  const one = Fake.worker("one", {
    answers: (order) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        calls.push([order.task, order.attempt, at])
        return answer(order)
      })
  })
  return { one, calls }
}

/** A journal whose writer dies at one of its commits, before or after it is durable. */
const mortal = (cut: { at: number; durable: boolean }) => {
  let appends = 0
  return Layer.effect(
    Journal.Journal,
    Effect.map(Journal.Journal, (journal) => ({
      ...journal,
      append: (append: Journal.Append) =>
        Effect.suspend(() => {
          appends += 1
          if (appends !== cut.at) return journal.append(append)
          return Effect.andThen(cut.durable ? journal.append(append) : Effect.void, Effect.die("the power is gone"))
        })
    }))
  ).pipe(Layer.provide(Journal.layerMemory))
}

describe("A run with timers that is cut off", () => {
  const built = () =>
    deskOf(
      [echo()],
      plan([
        task("a"),
        task("b", { needs: ["a"], after: "1 day" }),
        task("c", { needs: ["b"], after: "1 day" }),
        task("d", { after: "30 hours" })
      ])
    )

  /** Starts the run, and takes it up once a day until it is over. The commits that were made are counted. */
  const story = Effect.gen(function* () {
    const first = yield* Effect.exit(Run.start(built(), options))
    let died = first._tag === "Failure"
    let status = first._tag === "Success" ? first.value.status : "cut off"
    for (let tries = 0; status !== "completed" && tries < 8; tries++) {
      yield* TestClock.adjust("12 hours")
      const known = yield* Effect.exit(Run.outcome("r1"))
      const again: Effect.Effect<Outcome.Outcome, unknown, Journal.Journal> =
        known._tag === "Failure" ? Run.start(built(), options) : resume(built())
      const next = yield* Effect.exit(again)
      if (next._tag === "Failure") died = true
      else status = next.value.status
    }
    const journal = yield* Journal.Journal
    return { died, status, events: yield* history("r1"), version: yield* journal.version("r1") }
  })

  /** A commit that ends with these events is cut. */
  const check = (at: number, durable: boolean) =>
    Effect.gen(function* () {
      const { died, events, status } = yield* story
      if (!died) return false
      const where = `commit ${at}, ${durable ? "after" : "before"} it is durable`
      assert.strictEqual(status, "completed", where)
      const count = (tag: RunEvent.RunEvent["_tag"]) => events.filter(({ _tag }) => _tag === tag).length
      assert.deepStrictEqual([count("TimerSet"), count("TimerFired"), count("Reported")], [3, 3, 4], where)
      for (const { at, due, subject, timer } of of(events, "TimerFired")) {
        const set = of(events, "TimerSet").find((each) => each.timer === timer)
        assert.deepStrictEqual([set?.subject, set?.due], [subject, due], where)
        assert.isAtLeast(at, due, where)
      }
      const order = of(events, "TimerFired").map(({ due }) => due)
      assert.deepStrictEqual(
        order,
        order.toSorted((one, other) => one - other),
        where
      )
      return true
    }).pipe(Effect.provide(mortal({ at, durable })))

  it.effect.each([[false], [true]] as const)("at any commit, durable %s, sets and fires each timer once", ([durable]) =>
    Effect.gen(function* () {
      let cut = 0
      while (yield* check(cut + 1, durable)) cut += 1
      assert.isAtLeast(cut, 6)
    })
  )
})

describe("A wait between attempts", () => {
  const flaky = () => clocked(() => Fake.fail("transient"))
  const waiting = { policy: { waitsMillis: [10_000, 20_000], jitter: 0 } }

  it.effect("D48 goes on where it was cut off: the rest of it is waited for, and no more", () =>
    Effect.gen(function* () {
      const { calls, one } = flaky()
      const built = deskOf([one], plan([task("a")]), waiting)
      const run = yield* begin(Run.start(built, options))
      yield* pass("4 seconds")
      yield* run.interrupt
      const again = yield* begin(resume(built))
      yield* pass("5999 millis")
      assert.strictEqual(calls.length, 1)
      yield* pass("1 millis")
      assert.strictEqual(calls.length, 2)
      yield* pass("1 minute")
      yield* again.join
      assert.deepStrictEqual(calls, [
        ["a", 1, 0],
        ["a", 2, 10_000],
        ["a", 3, 30_000]
      ])
    }).pipe(memory)
  )

  it.effect("D48 that was over meanwhile is not waited for anew", () =>
    Effect.gen(function* () {
      const { calls, one } = flaky()
      const built = deskOf([one], plan([task("a")]), waiting)
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      yield* TestClock.adjust("1 hour")
      const again = yield* begin(resume(built))
      assert.deepStrictEqual(
        calls.map(([, attempt]) => attempt),
        [1, 2]
      )
      yield* again.interrupt
    }).pipe(memory)
  )

  it.effect("is cut short when the run is called off after it was taken up", () =>
    Effect.gen(function* () {
      const { calls, one } = flaky()
      const built = deskOf([one], plan([task("a")]), waiting)
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      yield* Run.cancel("r1", { by: "ada" })
      const outcome = yield* resume(built)
      assert.deepStrictEqual([outcome.status, outcome.endedAt, ...ends(outcome)], ["cancelled", 0, "a cancelled"])
      assert.strictEqual(calls.length, 1)
    }).pipe(memory)
  )

  it.effect("by a clock that was wrong is no longer than any wait may be", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000 * day)
      const { calls, one } = flaky()
      const built = deskOf([one], plan([task("a")]), waiting)
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      yield* TestClock.setTime(day)
      yield* elapse(resume(built), "3 minutes")
      assert.strictEqual(calls.length, 3)
    }).pipe(memory)
  )
})

describe("A run that waits", () => {
  it("leaves no fiber and no timer behind, and needs none until it is taken up", () => {
    const machine = new Machine()
    const built = deskOf([echo()], plan([task("a"), task("b", { needs: ["a"], after: "3 days" })]))
    const story = Effect.gen(function* () {
      const fibers = machine.fibers
      const outcome = yield* Run.start(built, options)
      return [outcome.status, outcome.wakeAt, machine.fibers - fibers, machine.pending]
    })
    const exit = drive(machine, Effect.provide(story, Journal.layerMemory))
    assert.deepStrictEqual(exit, Exit.succeed(["waiting", 3 * day, 0, 0]))
    assert.deepStrictEqual([machine.fibers, machine.pending], [0, 0])
  })
})

describe("A node of a graph with `after`", () => {
  it.effect("waits before each of its visits", () =>
    Effect.gen(function* () {
      const { calls, one } = clocked(({ task }) => (task === "look#3" ? "there" : "not yet"))
      const graph = Graph.make({
        start: "look",
        nodes: {
          look: {
            worker: "d.one",
            objective: "Look whether it is there",
            after: "1 day",
            outcomes: ["there", "not yet"],
            outcome: (output) => (output === "there" ? "there" : "not yet")
          }
        },
        edges: { look: { there: "finish", "not yet": "look" } },
        cap: 5
      })
      const built = deskOf([one], graph)
      let outcome = yield* Run.start(built, options)
      for (let days = 0; outcome.status === "waiting" && days < 10; days++) {
        yield* TestClock.adjust("1 day")
        outcome = yield* resume(built)
      }
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(calls, [
        ["look", 1, day],
        ["look#2", 1, 2 * day],
        ["look#3", 1, 3 * day]
      ])
    }).pipe(memory)
  )
})
