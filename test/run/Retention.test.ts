import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, Journal } from "espalier/journal"
import { Plan, Retention, Run, RunEvent, RunState } from "espalier/run"
import { Fake } from "espalier/testing"

import { layerFresh } from "../journal/fixtures/folder.ts"
import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, options, pass, resume } from "./living.ts"

const day = 24 * 60 * 60 * 1000

const run = (id: string, status: string, updatedAt: number): Journal.Listed => ({
  run: id,
  status,
  desk: "d",
  startedAt: 0,
  version: 3,
  updatedAt
})

describe("make", () => {
  const refused: ReadonlyArray<readonly [unknown, string]> = [
    [{ keeps: {} }, "each field of options must be one of keep, atLeast, atMost"],
    [{ keep: { complete: "1 day" } }, "each field of keep must be one of"],
    [{ keep: { failed: -1 } }, "keep.failed must be"],
    [{ atLeast: 0.5 }, "atLeast must be a whole number >= 0, got 0.5"],
    [{ atLeast: 3, atMost: 2 }, "atMost must be a whole number >= 3, got 2"]
  ]
  it.each(refused)("refuses %j", (options, message) => {
    assert.throws(() => Retention.make(options as Retention.Options), RangeError, `Retention.make: ${message}`)
  })
})

describe("select", () => {
  const runs = [
    run("old", "completed", 0),
    run("old-failed", "failed", 0),
    run("middle", "completed", 5 * day),
    run("new", "partial", 9 * day),
    run("going", "running", 0),
    run("asks", "waiting", 0),
    run("rests", "suspended", 0),
    run("of another release", "archived", 0)
  ]
  const table: ReadonlyArray<readonly [Retention.Options, ReadonlyArray<string>]> = [
    [{}, []],
    [{ atLeast: 100 }, []],
    [{ keep: { completed: "5 days" } }, ["old"]],
    [{ keep: { completed: "4 days" } }, ["middle", "old"]],
    [{ keep: { completed: "4 days", failed: "9 days" } }, ["middle", "old", "old-failed"]],
    [{ keep: { completed: "4 days" }, atLeast: 2 }, ["old"]],
    [{ keep: { completed: 0, failed: 0, partial: 0, cancelled: 0 }, atLeast: 3 }, ["old-failed"]],
    [{ atMost: 3 }, ["old-failed"]],
    [{ atMost: 1 }, ["middle", "old", "old-failed"]],
    [{ atMost: 0 }, ["new", "middle", "old", "old-failed"]],
    [{ keep: { completed: "Infinity" }, atMost: 2 }, ["old", "old-failed"]]
  ]
  it.each(table)("by %j", (options, expected) => {
    assert.deepStrictEqual(Retention.select(runs, Retention.make(options), 10 * day), expected)
  })

  const listed = Schema.Array(
    Schema.Struct({
      status: RunState.RunStatus,
      updatedAt: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 }))
    })
  )
  const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 6 }))

  it.prop(
    "D56 keeps what has not ended, the newest atLeast and no more than atMost, in whatever order it is given",
    [listed, small, small, small],
    ([statuses, least, more, keep]) => {
      const runs = statuses.map(({ status, updatedAt }, index) => run(`r${index}`, status, updatedAt))
      const policy = Retention.make({
        keep: { completed: keep, failed: keep * 2 },
        atLeast: least,
        atMost: least + more
      })
      const removed = Retention.select(runs, policy, 20)
      assert.deepStrictEqual(Retention.select(runs.toReversed(), policy, 20), removed)
      const gone = new Set(removed)
      const ended = runs.filter(({ status }) => RunEvent.RunEnd.literals.some((end) => end === status))
      const left = ended.filter(({ run }) => !gone.has(run))
      assert.strictEqual(left.length, ended.length - gone.size)
      assert.isAtMost(left.length, least + more)
      assert.isAtLeast(left.length, Math.min(ended.length, least))
      for (const { run, updatedAt } of ended) {
        const newer = ended.filter((other) => other.updatedAt > updatedAt).length
        if (newer >= least + more) assert.isTrue(gone.has(run))
      }
      // And with what is left, it has nothing more to do.
      assert.deepStrictEqual(
        Retention.select(
          runs.filter(({ run }) => !gone.has(run)),
          policy,
          20
        ),
        []
      )
    }
  )
})

const plan = (count: number) =>
  Plan.make<string>(
    Array.from({ length: count }, (_, index) => task(`t${index}`)),
    { concurrency: 1 }
  )

const stores: ReadonlyArray<readonly [string, Layer.Layer<Journal.Journal, Journal.JournalError>]> = [
  ["memory", Journal.layerMemory],
  ["SQLite", layerFresh]
]

describe("apply", () => {
  /** Three runs that end and one that goes on, is cut off and taken up again, with something done in between. */
  const story = (between: Effect.Effect<unknown, Journal.JournalError, Journal.Journal>) =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => Effect.delay(Effect.succeed(task), "10 seconds") })
      for (const id of ["a", "b", "c"]) {
        yield* elapse(Run.start(deskOf([one], plan(2)), { ...options, id }), "1 hour")
      }
      const long = deskOf([one], plan(20))
      const going = yield* begin(Run.start(long, options))
      yield* pass("45 seconds")
      yield* between
      yield* pass("45 seconds")
      yield* going.interrupt
      yield* between
      const outcome = yield* elapse(resume(long), "1 hour")
      return { outcome, events: yield* history("r1"), calls: (yield* one.calls).length }
    })

  it.effect.each(stores)("D56 prunes beside a run that goes on, which ends as it would have: %s", ([, layer]) =>
    Effect.gen(function* () {
      const removed: Array<ReadonlyArray<string>> = []
      const pruned = yield* Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const prune = Effect.map(Retention.apply(Retention.make({ atMost: 0 })), (runs) => void removed.push(runs))
        const told = yield* story(prune)
        assert.deepStrictEqual(
          (yield* journal.runs()).map(({ run }) => run),
          ["r1"]
        )
        const size = yield* journal.size()
        assert.deepStrictEqual(size, yield* journal.size("r1"))
        return told
      }).pipe(Effect.provide(layer))
      yield* TestClock.setTime(0)
      const whole = yield* story(Effect.void).pipe(Effect.provide(layer))
      assert.deepStrictEqual(removed, [["c", "b", "a"], []])
      assert.deepStrictEqual(pruned, whole)
      assert.strictEqual(pruned.outcome.status, "completed")
    })
  )

  it.effect("a run that is gone is not found, and its id is free", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => task })
      const built = deskOf([one], plan(2))
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(yield* Retention.apply(Retention.make({ keep: { completed: "1 hour" } })), [])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* Retention.apply(Retention.make({ keep: { completed: "1 hour" } })), [])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(yield* Retention.apply(Retention.make({ keep: { completed: "1 hour" } })), ["r1"])
      assert.strictEqual((yield* Effect.flip(Run.outcome("r1")))._tag, "RunNotFound")
      assert.strictEqual((yield* Run.start(built, options)).status, first.status)
    }).pipe(memory)
  )

  it.effect("a run of which something is open for a person stays", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      for (const id of ["a", "b"]) {
        yield* journal.append({
          run: id,
          expected: 0,
          events: [{ type: "RunFinished", at: 0, data: null }],
          listing: { status: "failed", desk: "d", startedAt: 0 },
          ...(id === "a" ? { reviews: { opened: [{ review: "a/1", kind: "effect", openedAt: 0 }] } } : {})
        })
      }
      assert.deepStrictEqual(yield* Retention.apply(Retention.make({ atMost: 0 })), ["b"])
    }).pipe(memory)
  )

  it.effect("D56 what a removed run has put in is collected after it, and what others refer to is not", () =>
    Effect.gen(function* () {
      const { collect } = yield* Artefacts.Artefacts
      const one = Fake.worker("one", { answers: ({ task }) => `${task} ${"x".repeat(100_000)}` })
      yield* Run.start(deskOf([one], plan(2)), { ...options, id: "a" })
      yield* TestClock.adjust("2 days")
      yield* Run.start(deskOf([one], plan(1)), options)
      const outcome = yield* Run.outcome("r1")
      yield* TestClock.adjust("2 days")
      assert.deepStrictEqual(yield* Retention.apply(Retention.make({ keep: { completed: "3 days" } })), ["a"])
      assert.strictEqual((yield* collect({ references: Artefacts.references })).artefacts, 1)
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    }).pipe(Effect.provide(Artefacts.layerMemory()), memory)
  )
})

describe("what a run holds", () => {
  const bytesOf = (steps: number) =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => `${task} ${"x".repeat(200)}` })
      yield* Run.start(deskOf([one], plan(steps)), options)
      const journal = yield* Journal.Journal
      const events = yield* Stream.runCount(journal.read("r1"))
      const size = yield* journal.size("r1")
      assert.strictEqual(size.events, events)
      return size.bytes
    }).pipe(memory)

  it.effect("D56 a thousand steps take ten times what a hundred take, and less than 4 KiB each", () =>
    Effect.gen(function* () {
      const [few, many] = [yield* bytesOf(100), yield* bytesOf(1_000)]
      assert.isBelow(many, 4_096 * 1_000)
      assert.isBelow(many, 11 * few)
    })
  )
})
