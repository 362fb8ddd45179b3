import { copyFileSync, globSync } from "node:fs"
import { basename, join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { DateTime, type Duration, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { ArtefactsSqlite, Journal, JournalSqlite } from "espalier/journal"
import { Run } from "espalier/run"
import { VirtualTime } from "espalier/testing"

import { desk } from "../fixtures/journals/desk.ts"
import { folder } from "../journal/fixtures/folder.ts"

const released = globSync("*.db", { cwd: join(import.meta.dirname, "../fixtures/journals") }).map((name) =>
  basename(name, ".db")
)

/** A journal as that release left it, opened by this one. */
const journalOf = (release: string) =>
  Layer.unwrap(
    Effect.map(folder, (path) => {
      const filename = join(path, "journal.db")
      copyFileSync(join(import.meta.dirname, `../fixtures/journals/${release}.db`), filename)
      return Layer.merge(
        JournalSqlite.layerSqlite({ filename, synchronous: "normal" }),
        ArtefactsSqlite.layerSqlite({ filename })
      )
    })
  )

const later = TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-12-01T00:00:00Z")))

const resume = (run: string, time: Duration.Input = "1 minute") =>
  VirtualTime.elapse(Run.resume(desk, run, { log: false }), time)

const approve = (run: string) => Run.decide({ review: `${run}/review/1`, decision: "approve", by: "bo" })

const told = (run: string) => Effect.map(Stream.runCollect(Run.events(run)), (events) => events.map(({ _tag }) => _tag))

describe.each(released)("a journal of %s", (release) => {
  it("R-308 is there: one for each release", () => assert.include(released, "0.1.0"))

  it.effect("R-308 is read by this release, with its outputs, also those that are artefacts", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const listed = yield* journal.runs()
      assert.deepStrictEqual(
        new Map(listed.map(({ run, status }) => [run, status])),
        new Map([
          ["finished", "completed"],
          ["large", "completed"],
          ["stumbled", "completed"],
          ["waiting", "waiting"],
          ["suspended", "suspended"],
          ["cut-off", "running"]
        ])
      )
      const { output, results, usage } = yield* Run.outcome("large")
      assert.isUndefined(output)
      assert.deepStrictEqual(results["write"]?.output, { text: "word ".repeat(20_000) })
      assert.deepStrictEqual([usage.tokens, results["print"]?.output], [20_000, { pages: 50 }])
      const { dispatches } = yield* Run.outcome("stumbled")
      assert.deepStrictEqual(
        dispatches.map(({ attempts, outcome, worker }) => [worker, attempts, outcome]),
        [
          ["press.writer", 2, "accepted"],
          ["press.printer", 1, "accepted"]
        ]
      )
    }).pipe(Effect.provide(journalOf(release)))
  )

  it.effect.each(["suspended", "cut-off"])("R-308 has a run that this release takes up: %s", (run) =>
    Effect.gen(function* () {
      yield* later
      assert.strictEqual((yield* resume(run, "61 minutes")).status, "waiting")
      yield* approve(run)
      const { dispatches, status } = yield* resume(run)
      assert.deepStrictEqual(
        [status, ...dispatches.map(({ dispatch, outcome }) => `${dispatch} ${outcome}`)],
        ["completed", `${run}/write/1 accepted`, `${run}/print/1 accepted`]
      )
      assert.include(yield* told(run), "RunResumed")
    }).pipe(Effect.provide(journalOf(release)))
  )

  it.effect("R-308 has a question that can still be decided, and the run goes on", () =>
    Effect.gen(function* () {
      yield* later
      const { reviews } = yield* Run.outcome("waiting")
      assert.deepStrictEqual(
        reviews.map(({ kind, review, task }) => [review, kind, task]),
        [["waiting/review/1", "action-approval", "print"]]
      )
      yield* approve("waiting")
      const { results, status } = yield* resume("waiting")
      assert.deepStrictEqual([status, results["print"]?.output], ["completed", { pages: 1 }])
    }).pipe(Effect.provide(journalOf(release)))
  )
})
