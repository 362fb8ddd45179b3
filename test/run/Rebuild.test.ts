import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Journal } from "espalier/journal"
import { Rebuild } from "espalier/run"

import { connection, withJournal } from "../journal/fixtures/folder.ts"
import { copied } from "./released.ts"

const lists = Effect.gen(function* () {
  const journal = yield* Journal.Journal
  return { runs: yield* journal.runs(), reviews: yield* journal.reviews() }
})

const rebuilt = (options?: Rebuild.Options) =>
  Effect.map(Stream.runCollect(Rebuild.all(options)), (changes) =>
    changes.map(({ ghost, run, unread, what }) => [run, ...what, ...(ghost ? ["ghost"] : []), unread?._tag ?? "read"])
  )

/** A journal whose lists are right, changed by hand. */
const changed = (sql: string) =>
  Effect.gen(function* () {
    const filename = yield* copied
    const right = yield* withJournal(filename)(Effect.andThen(rebuilt(), lists))
    const database = yield* connection(filename)
    database.exec(sql)
    return { right, open: withJournal(filename) }
  })

describe("Rebuild.all", () => {
  it.effect("R-308 makes anew the lists that were deleted by hand, and once only", () =>
    Effect.gen(function* () {
      const { open, right } = yield* changed("DELETE FROM runs; DELETE FROM reviews")
      assert.strictEqual(right.runs.length, 6)
      assert.deepStrictEqual(
        right.reviews.map(({ kind, review, run, task }) => [run, review, kind, task]),
        [["waiting", "waiting/review/1", "action-approval", "print"]]
      )
      yield* open(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* lists, { runs: [], reviews: [] })
          const all = [
            ["cut-off", "listing", "read"],
            ["finished", "listing", "read"],
            ["large", "listing", "read"],
            ["stumbled", "listing", "read"],
            ["suspended", "listing", "read"],
            ["waiting", "listing", "waiting/review/1", "read"]
          ]
          assert.deepStrictEqual(yield* rebuilt({ dryRun: true }), all)
          assert.deepStrictEqual(yield* lists, { runs: [], reviews: [] })
          assert.deepStrictEqual(yield* rebuilt(), all)
          assert.deepStrictEqual(yield* lists, right)
          assert.deepStrictEqual(yield* rebuilt(), [])
        })
      )
    })
  )

  const hands: ReadonlyArray<readonly [string, string, ReadonlyArray<ReadonlyArray<string>>]> = [
    ["a status", "UPDATE runs SET status = 'running' WHERE run = 'finished'", [["finished", "listing", "read"]]],
    ["a time to wake up", "UPDATE runs SET wake_at = 5 WHERE run = 'waiting'", [["waiting", "listing", "read"]]],
    ["a kind", "UPDATE reviews SET kind = 'question'", [["waiting", "waiting/review/1", "read"]]],
    [
      "a review that nobody asked",
      "INSERT INTO reviews (review, run, kind, opened_at) VALUES ('large/review/9', 'large', 'question', 1)",
      [["large", "large/review/9", "read"]]
    ]
  ]
  it.effect.each(hands)("R-308 puts right what was changed by hand: %s", ([, sql, expected]) =>
    Effect.gen(function* () {
      const { open, right } = yield* changed(sql)
      yield* open(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* rebuilt(), expected)
          assert.deepStrictEqual(yield* lists, right)
        })
      )
    })
  )

  it.effect("R-308 D62 leaves a run alone that cannot be read, or has no events, and tells it", () =>
    Effect.gen(function* () {
      const { open } = yield* changed(`
        UPDATE events SET data = '{}' WHERE run = 'stumbled' AND version = 5;
        UPDATE runs SET status = 'running' WHERE run IN ('large', 'stumbled', 'finished');
        INSERT INTO runs (run, status, desk, started_at) VALUES ('nothing', 'running', 'gazette', 1)`)
      yield* open(
        Effect.gen(function* () {
          const journal = yield* Journal.Journal
          // What a later release writes, in a chain that holds.
          yield* journal.append({ run: "large", expected: 13, events: [{ type: "Danced", at: 0, data: {} }] })
          assert.deepStrictEqual(yield* rebuilt(), [
            ["finished", "listing", "read"],
            ["large", "RunTooNew"],
            ["stumbled", "RunUntrusted"],
            ["nothing", "ghost", "read"]
          ])
          const { runs } = yield* lists
          const running = runs.flatMap(({ run, status }) => (status === "running" ? [run] : []))
          assert.sameMembers(running, ["large", "stumbled", "cut-off", "nothing"])
        })
      )
    })
  )

  it.effect(
    "R-308 leaves a run finished whose events do not say so, and says why it differs, unless it is forced",
    () =>
      Effect.gen(function* () {
        const { open } = yield* changed("DELETE FROM events WHERE run = 'large' AND version > 9")
        yield* open(
          Effect.gen(function* () {
            const journal = yield* Journal.Journal
            const status = Effect.map(journal.runs({ run: "large" }), ([listed]) => listed?.status)
            const differences = [
              { of: "listing", field: "status", listed: "completed", should: "running" },
              { of: "listing", field: "reason", listed: "accepted" }
            ]
            const kept = { run: "large", what: ["listing"], differences, kept: true }
            assert.deepStrictEqual(yield* Rebuild.run("large"), kept)
            assert.strictEqual(yield* status, "completed")
            assert.deepStrictEqual(yield* Rebuild.run("large", { force: true }), {
              run: "large",
              what: ["listing"],
              differences
            })
            assert.strictEqual(yield* status, "running")
            assert.deepStrictEqual(yield* rebuilt(), [])
          })
        )
      })
  )
})
