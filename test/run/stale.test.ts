import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Schema } from "effect"
import { Journal } from "espalier/journal"
import { Office, Plan, Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, settle, short, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume, rows } from "./living.ts"

const plan = (tasks: ReadonlyArray<Plan.Task<string>>) => Plan.make<string>(tasks)
const version = Effect.flatMap(Journal.Journal, (journal) => journal.version("r1"))

/** A task that a person is asked about, and two in a row that go on meanwhile, a second each. */
const beside = (used?: number) => {
  const one = Fake.worker("one", {
    size: 3,
    estimate: used === undefined ? {} : { tokens: 10 },
    answers: ({ dispatch, task }) =>
      dispatch === "r1/a/1"
        ? Fake.fail("denied")
        : Effect.delay(
            Effect.succeed(
              used === undefined ? task : Result.completed<Schema.Json>(task, { usage: { tokens: used } })
            ),
            "1 second"
          )
  })
  const built = deskOf([one], plan([task("a"), task("b"), task("c", { needs: ["b"] })]))
  return { one, built }
}
const retry = { review: "r1/review/1", decision: "retry", by: "ada" } as const
const careful = { from: "medium", to: "low", who: "ada", why: "Careful" } as const

describe("What somebody else has written into a run that is carried out", () => {
  const commands: ReadonlyArray<
    readonly [string, Effect.Effect<void, unknown, Journal.Journal>, RunEvent.RunEvent["_tag"], string, string]
  > = [
    ["a decision", Run.decide(retry), "ReviewDecided", "completed", "a accepted,b accepted,c accepted"],
    ["the end", Run.cancel("r1", { by: "ada" }), "CancelRequested", "cancelled", "a cancelled,b accepted,c cancelled"],
    ["a tier", Run.changeTier("r1", careful), "AutonomyChanged", "waiting", "a open,b accepted,c open"]
  ]
  it.effect.each(commands)(
    "R-215 %s is taken in with the next step, and the run goes on",
    ([, say, tag, status, all]) =>
      Effect.gen(function* () {
        const { built } = beside()
        const run = yield* begin(Run.start(built, options))
        yield* pass("500 millis")
        const before = yield* version
        yield* say
        assert.strictEqual(yield* version, before + 1)
        yield* pass("10 seconds")
        const outcome = yield* run.join
        assert.deepStrictEqual([outcome.status, ends(outcome).join()], [status, all])
        const events = yield* history("r1")
        assert.strictEqual(
          events.findIndex((event) => event._tag === tag),
          before
        )
        assert.strictEqual(events.filter((event) => event._tag === "Reported" && event.task === "b").length, 1)
        assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      }).pipe(memory)
  )

  it.effect("R-215 costs nothing of what followed from the facts of the step", () =>
    Effect.gen(function* () {
      const { built } = beside(50)
      const run = yield* begin(Run.start(built, { ...options, limits: { tokens: 1_000 } }))
      yield* pass("500 millis")
      yield* Run.changeTier("r1", { ...careful, to: "full" })
      yield* pass("10 seconds")
      yield* run.join
      const overruns = of(yield* history("r1"), "Overrun").filter(({ task }) => task === "b")
      assert.isAbove(overruns.length, 0)
    }).pipe(memory)
  )

  it.effect("R-215 does not cost a decision that was said here at the same time", () =>
    Effect.gen(function* () {
      const { built } = beside()
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* Run.changeTier("r1", { ...careful, to: "full" })
      yield* Run.decide(retry, { office })
      yield* pass("10 seconds")
      const outcome = yield* run.join
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual([outcome.tier, of(yield* history("r1"), "ReviewDecided").length], ["full", 1])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-215 between the reading of a run and its first step costs no order that was under way", () => {
    let inject = false
    const journal = Layer.effect(
      Journal.Journal,
      Effect.map(Journal.Journal, (journal) => ({
        ...journal,
        append: (append: Journal.Append) =>
          Effect.suspend(() => {
            if (!inject) return journal.append(append)
            inject = false
            const { expected, run } = append
            const { from, to, who: by, why: note } = { ...careful, to: "full" }
            const events = [{ type: "AutonomyChanged", at: 1, data: { from, to, by, note } }]
            return Effect.andThen(journal.append({ run, expected, events }), journal.append(append))
          })
      }))
    ).pipe(Layer.provide(Journal.layerMemory))
    return Effect.gen(function* () {
      const one = Fake.worker("one", { latency: "1 second", otherwise: "done" })
      const built = deskOf([one], plan([task("a")]))
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      inject = true
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual([outcome.status, outcome.tier], ["completed", "full"])
      assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one accepted"])
    }).pipe(Effect.provide(journal))
  })
})

describe("A second executor", () => {
  it.effect("R-215 of the same id finds that the run exists, and leaves no trace", () =>
    Effect.gen(function* () {
      const { built, one } = beside()
      const run = yield* begin(Run.start(built, options))
      const before = yield* history("r1")
      const second = beside()
      const error = yield* Effect.flip(Run.start(second.built, options))
      assert.strictEqual(error._tag, "RunExists")
      assert.deepStrictEqual([yield* history("r1"), yield* second.one.calls], [before, []])
      yield* Run.decide(retry)
      yield* pass("10 seconds")
      assert.strictEqual((yield* run.join).status, "completed")
      assert.strictEqual((yield* one.calls).length, 4)
    }).pipe(memory)
  )

  it.effect("R-215 at the same office is refused, and leaves no trace", () =>
    Effect.gen(function* () {
      const { built } = beside()
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      const before = yield* history("r1")
      const error = yield* Effect.flip(Run.resumeIn(office, "r1"))
      assert.strictEqual(error.message, "the run r1 is carried out here already")
      assert.deepStrictEqual(yield* history("r1"), before)
      yield* Run.decide(retry, { office })
      yield* pass("10 seconds")
      assert.strictEqual((yield* run.join).status, "completed")
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-215 that lost a run writes nothing any more, and its work is stopped", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const slow = (name: string) =>
        deskOf(
          [
            Fake.worker("one", {
              size: 2,
              answers: ({ task }) =>
                Effect.delay(Effect.succeed(task), task === "a" ? "1 second" : "3 seconds").pipe(
                  Effect.onInterrupt(() => Effect.sync(() => log.push(`${name} stopped ${task}`)))
                )
            })
          ],
          plan([task("a"), task("b")])
        )
      const first = yield* begin(Effect.flip(Run.start(slow("first"), options)))
      yield* pass("500 millis")
      const second = yield* begin(resume(slow("second")))
      const before = yield* version
      yield* pass("500 millis")
      assert.strictEqual((yield* first.join)._tag, "VersionConflict")
      assert.deepStrictEqual(log, ["first stopped b"])
      assert.strictEqual(yield* version, before)
      yield* pass("10 seconds")
      assert.strictEqual((yield* second.join).status, "completed")
    }).pipe(memory)
  )
})

describe("A word that is not one", () => {
  const huge = "x".repeat(1_100_000)
  const table: ReadonlyArray<readonly [string, Partial<Run.Deciding>, string]> = [
    ["of an unknown review", { review: "r1/review/9" }, "the review r1/review/9 is not open; open are r1/review/1"],
    [
      "that is not allowed",
      { decision: "approve" },
      'decision must be one of retry, accept-partial, reject, got "approve"'
    ],
    ["by nobody", { by: " " }, "by must be"],
    ["of no review", { review: "r1" }, "review must be"],
    ["that is none", { decision: "maybe" as never }, "decision must be"],
    ["that is too large", { note: huge }, "the state would be larger than 1048576 bytes"],
    ["with an answer where none is asked for", { answer: huge }, 'answer must not be given with the decision "retry"']
  ]
  const refused = (reason: string, deciding: Run.Deciding, office?: Office.Office<string>) =>
    Effect.gen(function* () {
      const before = yield* history("r1")
      const error = yield* Effect.flip(Run.decide(deciding, { office }))
      assert.strictEqual(error._tag, "CommandRefused")
      assert.include(error.message, reason)
      assert.deepStrictEqual(yield* history("r1"), before)
    })
  /** The same again is known; another one is refused, and that is all that is written. */
  const late = (office?: Office.Office<string>) =>
    Effect.gen(function* () {
      const before = yield* history("r1")
      assert.deepStrictEqual(yield* Run.decide(retry, { office }), { _tag: "Replayed" })
      assert.deepStrictEqual(yield* history("r1"), before)
      const others = [
        { ...retry, by: "bob" },
        { ...retry, decision: "reject" }
      ] as const
      for (const other of others) {
        const error = yield* Effect.flip(Run.decide(other, { office }))
        assert.strictEqual(error._tag === "CommandRefused" ? error.because : error._tag, "already-decided")
        assert.include(error.message, "r1/review/1 was decided by ada at ")
      }
      // Where the run is carried out a refusal is told before it is written.
      yield* settle
      const events = yield* history("r1")
      assert.deepStrictEqual(events.slice(0, before.length), before)
      const told = events.slice(before.length)
      assert.lengthOf(told, others.length)
      for (const [index, { by, decision, review }] of others.entries()) {
        assert.deepInclude(told[index], { _tag: "ReviewRefused", review, decision, by, because: "already-decided" })
      }
    })

  it.effect.each(table)("R-215 %s is refused, and nothing is written", ([, fields, reason]) =>
    Effect.gen(function* () {
      const { built } = beside()
      yield* elapse(Run.start(built, options), "1 minute")
      yield* refused(reason, { ...retry, ...fields })
      yield* Run.decide(retry)
      assert.strictEqual((yield* elapse(resume(built), "1 minute")).status, "completed")
    }).pipe(memory)
  )

  it.effect.each(table)(
    "R-215 %s is refused where the run is carried out, and nothing is written",
    ([, fields, reason]) =>
      Effect.gen(function* () {
        const { built } = beside()
        const office = yield* Office.open(built, { log: false })
        const run = yield* begin(Run.startIn(office, options))
        yield* refused(reason, { ...retry, ...fields }, office)
        yield* Run.decide(retry, { office })
        yield* late(office)
        yield* pass("10 seconds")
        assert.strictEqual((yield* run.join).status, "completed")
        yield* late(office)
      }).pipe(Effect.scoped, memory)
  )

  it.effect("R-215 twice is known the second time, and another one is refused and told, also late", () =>
    Effect.gen(function* () {
      const { built } = beside()
      yield* elapse(Run.start(built, options), "1 minute")
      yield* Run.decide(retry)
      yield* late()
      yield* elapse(resume(built), "1 minute")
      yield* late()
    }).pipe(memory)
  )
})

describe("A state over its bound", () => {
  it.effect("R-215 is refused at the start, with the bound, and leaves no run", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 4_000 }, (_, index) => task(`t${index}`))
      const error = yield* Effect.flip(Run.start(deskOf([Fake.worker("one")], plan(many)), options))
      assert.strictEqual(error._tag, "InputInvalid")
      assert.include(error.message, "larger than 1048576 bytes")
      assert.strictEqual(yield* version, 0)
    }).pipe(memory)
  )

  it.effect("R-215 is no split of a task: the next rung comes", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { capabilities: ["work"], otherwise: Fake.fail("oversized") })
      const two = Fake.worker("two", { capabilities: ["work"], otherwise: "whole" })
      const split = task("a", {
        decompose: () =>
          Array.from({ length: 40 }, (_, index) => ({
            id: `x${index}`,
            worker: "d.two",
            objective: "x",
            inputs: { text: "y".repeat(15_000) }
          }))
      })
      const outcome = yield* Run.start(deskOf([one, two], plan([split])), options)
      assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one failed", "r1/a/2 d.two accepted"])
      const [failed] = of(yield* history("r1"), "DecisionFailed")
      assert.include(failed?.error.reason, "larger than 1048576 bytes")
      assert.notInclude(short(yield* history("r1")), "GroupOpened")
    }).pipe(memory)
  )
})
