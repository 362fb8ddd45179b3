import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { Journal } from "espalier/journal"
import { Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume } from "./living.ts"

const plan = (tasks: ReadonlyArray<Plan.Task<string>>, fields: Plan.Options = {}) => Plan.make<string>(tasks, fields)

describe("Run.resume", () => {
  it.effect("D14 brings forty-nine tasks home, although one fails again and again", () =>
    Effect.gen(function* () {
      let again = false
      const one = Fake.worker("one", {
        size: 50,
        answers: ({ task }) => (!again ? Fake.never : task === "t0" ? Fake.die() : task)
      })
      const tasks = Array.from({ length: 50 }, (_, index) => task(`t${index}`))
      const built = deskOf([one], plan(tasks, { concurrency: 50 }))
      const run = yield* begin(Run.start(built, options))
      assert.strictEqual(yield* one.running, 50)
      yield* run.interrupt
      again = true
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.strictEqual(outcome.status, "partial")
      const accepted = ends(outcome).filter((line) => line.endsWith(" accepted"))
      assert.deepStrictEqual([accepted.length, outcome.results["t0"]?.status], [49, "failed"])
      assert.isAtMost((yield* one.calls).filter(({ task }) => task === "t0").length, 4)
    }).pipe(memory)
  )

  it.effect("D09 goes on, and tells where it is, while one task of it never comes back", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 4,
        attemptTimeout: "1 day",
        answers: ({ task }) => (task === "d/hangs" ? Fake.never : Effect.delay(Effect.succeed(task), "1 second"))
      })
      const leaves = Plan.make<unknown>(
        ["hangs", "works"].map((id) => ({
          id,
          worker: "d.one",
          objective: `Do ${id}`,
          limits: { deadlineMillis: 60_000 }
        }))
      )
      const built = deskOf([one], plan([{ id: "d", by: leaves, objective: "Do d" }, task("beside")]))
      const run = yield* begin(Run.start(built, options))
      yield* pass("500 millis")
      yield* run.interrupt
      const again = yield* begin(resume(built))
      yield* pass("1500 millis")
      const now = yield* Run.outcome("r1")
      assert.strictEqual(now.status, "running")
      assert.deepStrictEqual(ends(now), ["d open", "beside accepted", "d/hangs open", "d/works accepted"])
      yield* pass("2 minutes")
      const outcome = yield* again.join
      assert.deepStrictEqual(ends(outcome), ["d partial", "beside accepted", "d/hangs failed", "d/works accepted"])
    }).pipe(memory)
  )

  it.effect("D16 fails with what the journal said, and nothing is left behind", () => {
    let broken = false
    const journal = Layer.effect(
      Journal.Journal,
      Effect.map(Journal.Journal, (journal) => ({
        ...journal,
        append: (append: Journal.Append) =>
          Effect.suspend(() =>
            broken
              ? Effect.fail(new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: "memory" }) }))
              : journal.append(append)
          )
      }))
    ).pipe(Layer.provide(Journal.layerMemory))
    return Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: Fake.never })
      const built = deskOf([one], plan([task("a")]))
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      broken = true
      const before = yield* history("r1")
      const exit = yield* Effect.exit(resume(built))
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual((yield* Effect.flip(exit))._tag, "JournalError")
      assert.deepStrictEqual([yield* one.running, yield* history("r1")], [0, before])
    }).pipe(Effect.provide(journal))
  })

  it.effect("D48 counts attempts on: a wait that was cut off is followed by the next one", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: Fake.fail("transient") })
      const built = deskOf([one], plan([task("a")]), { policy: { waitsMillis: [10_000], jitter: 0 } })
      const run = yield* begin(Run.start(built, options))
      yield* pass("5 seconds")
      yield* run.interrupt
      yield* elapse(resume(built), "1 minute")
      assert.deepStrictEqual(
        (yield* one.calls).map(({ attempt }) => attempt),
        [1, 2, 3]
      )
      assert.deepStrictEqual(
        of(yield* history("r1"), "AttemptFailed").map(({ attempt }) => attempt),
        [1, 2]
      )
    }).pipe(memory)
  )
})
