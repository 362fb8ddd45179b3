import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { Failure } from "espalier"
import { Journal } from "espalier/journal"
import { Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { withProcesses } from "../fixtures/real.ts"
import { connection, freshSchema, opened, serverOfThisFile } from "../journal/fixtures/postgres.ts"
import { desk, history, short, task, worker } from "./desks.ts"
import { deskOf, ends, options, resume, rows } from "./living.ts"

/** Waits for something that the test can see but not be told of. */
const until = (seen: Effect.Effect<boolean>): Effect.Effect<void> =>
  Effect.flatMap(seen, (now) => (now ? Effect.void : Effect.andThen(Effect.yieldNow, until(seen))))

describeWithPostgres("runs with their journal in PostgreSQL", () => {
  const server = serverOfThisFile()

  /** Two processes on one journal, one after the other. */
  const processes = Effect.gen(function* () {
    const schema = yield* freshSchema
    const arrive = Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      const journal = yield* Effect.provideService(opened(server(), { schema }), Scope.Scope, scope)
      return { within: Effect.provideService(Journal.Journal, journal), leave: Scope.close(scope, Exit.void) }
    })
    return { arrive, schema }
  })

  it.effect("R-302 a run goes on in the next process where it was cut off, and does nothing finished again", () =>
    Effect.gen(function* () {
      const { arrive } = yield* processes
      let again = false
      const one = Fake.worker("one", { size: 4, answers: ({ task }) => (task === "b" && !again ? Fake.never : task) })
      const built = deskOf(
        [one],
        Plan.make<string>([task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["b"] })])
      )
      const first = yield* arrive
      const run = yield* Effect.forkChild(first.within(Run.start(built, options)))
      yield* until(Effect.map(one.calls, (calls) => calls.some(({ task }) => task === "b")))
      yield* Fiber.interrupt(run)
      yield* first.leave
      again = true
      const second = yield* arrive
      const outcome = yield* second.within(resume(built))
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b accepted", "c accepted"])
      assert.deepStrictEqual(
        (yield* one.calls).map(({ dispatch }) => dispatch),
        ["r1/a/1", "r1/b/1", "r1/b/1", "r1/c/1"]
      )
    }).pipe(Effect.scoped)
  )

  // A commit that failed is tried again after a while.
  withProcesses("R-301 a run goes on through cut connections and keeps one history without a gap", () =>
    Effect.gen(function* () {
      const { arrive } = yield* processes
      const { within } = yield* arrive
      let cut = false
      const one = Fake.worker("one", {
        size: 10,
        answers: ({ task }) => {
          if (task !== "t3" || cut) return task
          cut = true
          return Effect.as(Effect.orDie(server().cut), task)
        }
      })
      const tasks = Array.from({ length: 8 }, (_, index) =>
        task(`t${index}`, index === 0 ? {} : { needs: [`t${index - 1}`] })
      )
      const built = deskOf([one], Plan.make<string>(tasks))
      /** What the process of a run does when its journal could not be reached: it goes on from the journal. */
      const persistently = (
        attempt: Effect.Effect<ReadonlyArray<string>, unknown>
      ): Effect.Effect<ReadonlyArray<string>> =>
        Effect.catch(attempt, () =>
          Effect.andThen(Effect.yieldNow, persistently(within(Effect.map(resume(built), rows))))
        )
      const done = yield* persistently(within(Effect.map(Run.start(built, options), rows)))
      assert.isTrue(cut)
      assert.deepStrictEqual(
        done,
        tasks.map(({ id }) => `r1/${id}/1 d.one accepted`)
      )
      const events = yield* within(Effect.flatMap(Journal.Journal, (journal) => Stream.runCollect(journal.read("r1"))))
      assert.deepStrictEqual(
        events.map(({ version }) => version),
        events.map((_, index) => index + 1)
      )
    }).pipe(Effect.scoped)
  )

  it.effect("R-306 a run that waits for a person is decided and goes on in another process", () =>
    Effect.gen(function* () {
      const { arrive } = yield* processes
      const denying = worker("one", ({ answers }) =>
        answers.length > 0 ? Effect.succeed("done after all") : Effect.fail(Failure.denied("No"))
      )
      const built = desk([denying], [task("a")])
      const first = yield* arrive
      assert.strictEqual((yield* first.within(Run.start(built, options))).status, "waiting")
      yield* first.leave
      const second = yield* arrive
      yield* second.within(Run.decide({ review: "r1/review/1", decision: "retry", by: "ada" }))
      yield* second.leave
      const third = yield* arrive
      const outcome = yield* third.within(Run.resume(built, "r1", { log: false }))
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "done after all"])
      assert.include(short(yield* third.within(history("r1"))), "ReviewDecided")
    }).pipe(Effect.scoped)
  )

  it.effect("R-307 a task of three steps costs four rows, in as many transactions or fewer", () =>
    Effect.gen(function* () {
      const { arrive, schema } = yield* processes
      const { within } = yield* arrive
      const sql = yield* connection(server().url)
      const one = Fake.worker("one", { size: 10, answers: ({ task }) => task })
      const chain = (length: number) =>
        Array.from({ length }, (_, index) => task(`t${index}`, index === 0 ? {} : { needs: [`t${index - 1}`] }))
      for (const length of [3, 6]) {
        const built = deskOf([one], Plan.make<string>(chain(length)))
        yield* within(Run.start(built, { ...options, id: `r${length}` }))
      }
      const counted = yield* sql(
        `SELECT count(DISTINCT xmin::text)::int AS commits FROM ${schema}.events GROUP BY run ORDER BY run`
      )
      const [three, six] = counted.map(({ commits }) => Number(commits))
      assert.isAtMost(three ?? 99, 4)
      assert.strictEqual((six ?? 0) - (three ?? 0), 3)
    }).pipe(Effect.scoped)
  )
})
