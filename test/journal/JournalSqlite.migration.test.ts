import { copyFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue, Stream } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"

import { withProcesses } from "../fixtures/real.ts"
import { run } from "./fixtures/child.ts"
import { connection, folder } from "./fixtures/folder.ts"

/** A journal as a release left it that knew of no chain. */
const old = Effect.map(folder, (path) => {
  const filename = join(path, "journal.db")
  copyFileSync(join(import.meta.dirname, "../fixtures/journals/0.1.0.db"), filename)
  return filename
})

const histories = Effect.gen(function* () {
  const journal = yield* Journal.Journal
  const all: Record<string, ReadonlyArray<Journal.Recorded>> = {}
  for (const { run } of yield* journal.runs({ order: "oldest" })) all[run] = yield* Stream.runCollect(journal.read(run))
  return all
})

/** The same events appended anew, one commit each. */
const anew = Effect.fnUntraced(function* (all: Readonly<Record<string, ReadonlyArray<Journal.Recorded>>>) {
  const journal = yield* Journal.Journal
  for (const [run, events] of Object.entries(all)) {
    for (const { at, data, type, version } of events) {
      yield* journal.append({
        run,
        expected: version - 1,
        events: [{ type, at, data }],
        ...(version === 1 ? { listing: { status: "x", desk: "y", startedAt: at } } : {})
      })
    }
  }
  return yield* histories
})

const hashes = (all: Readonly<Record<string, ReadonlyArray<Journal.Recorded>>>) =>
  new Map(Object.entries(all).map(([run, events]) => [run, events.map(({ hash }) => hash)]))

describe("a journal from before there was a chain", () => {
  it.effect("gets the chain that a new journal with the same events has, and goes on with it", () =>
    Effect.gen(function* () {
      const filename = yield* old
      const raw = yield* connection(filename)
      const count = raw.prepare("SELECT count(*) AS n FROM events").get()?.["n"]
      const migrated = yield* histories.pipe(Effect.provide(JournalSqlite.layerSqlite({ filename })))
      const sizes = Object.values(migrated).map((events) => events.length)
      assert.deepStrictEqual([sizes.length, sizes.reduce((a, b) => a + b)], [6, Number(count)])
      const fresh = yield* anew(migrated).pipe(Effect.provide(Journal.layerMemory))
      assert.deepStrictEqual(hashes(migrated), hashes(fresh))
      // What is appended after that is chained to it.
      const more = Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const expected = yield* journal.version("finished")
        yield* journal.append({ run: "finished", expected, events: [{ type: "More", at: 1, data: { n: 1 } }] })
        return yield* journal.head("finished")
      })
      const there = yield* more.pipe(Effect.provide(JournalSqlite.layerSqlite({ filename })))
      const here = yield* Effect.andThen(anew(migrated), more).pipe(Effect.provide(Journal.layerMemory))
      assert.deepStrictEqual(there, here)
    })
  )

  withProcesses(
    "is brought up to date once, however many processes open it at the same moment",
    () =>
      // Live: real processes compete for the file.
      Effect.gen(function* () {
        const filename = yield* old
        const children = yield* Effect.forEach([1, 2, 3, 4], () => run("opener.ts", [filename]))
        for (const { lines } of children) assert.strictEqual(yield* Queue.take(lines), "opened")
        const migrated = yield* histories.pipe(Effect.provide(JournalSqlite.layerSqlite({ filename })))
        const fresh = yield* anew(migrated).pipe(Effect.provide(Journal.layerMemory))
        assert.deepStrictEqual(hashes(migrated), hashes(fresh))
      }),
    60_000
  )
})
