import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts } from "espalier/journal"
import * as ArtefactsPostgres from "espalier/journal/ArtefactsPostgres"

import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { artefactsContract } from "./artefactsContract.ts"
import { connection, freshSchema, opened, serverOfThisFile, step } from "./fixtures/postgres.ts"

const piece = 256 * 1024

/** Bytes that differ from piece to piece. */
const content = (pieces: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length: pieces * piece }, (_, index) => (index >>> 8) * seed + index)

describeWithPostgres("artefacts in PostgreSQL", () => {
  const server = serverOfThisFile()
  const url = () => Redacted.make(server().url)

  artefactsContract((limit) =>
    Layer.unwrap(Effect.map(freshSchema, (schema) => ArtefactsPostgres.layerPostgres({ url: url(), schema, limit })))
  )

  const artefactsIn = (schema: string) =>
    Effect.map(Layer.build(ArtefactsPostgres.layerPostgres({ url: url(), schema })), (context) =>
      Context.get(context, Artefacts.Artefacts)
    )

  const stage = Effect.gen(function* () {
    const schema = yield* freshSchema
    const artefacts = yield* artefactsIn(schema)
    const sql = yield* connection(server().url)
    const count = (table: string) =>
      Effect.map(sql(`SELECT count(*)::int AS n FROM ${schema}.${table}`), ([row]) => Number(row?.["n"]))
    /** What lies in the tables: artefacts, pieces, uploads. */
    const lying = Effect.all([count("artefacts"), count("artefact_chunks"), count("artefact_uploads")])
    return { schema, artefacts, sql, lying }
  })

  it.effect("keeps the same content once, also when many put it in at the same time", () =>
    Effect.gen(function* () {
      const { artefacts, lying, schema } = yield* stage
      const other = yield* artefactsIn(schema)
      const same = content(3)
      yield* Effect.forEach(
        Array.from({ length: 6 }),
        (_, index) =>
          index % 3 === 0 ? other.putStream(Stream.make(same)) : (index % 2 === 0 ? artefacts : other).put(same),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* lying, [1, 3, 0])
      yield* artefacts.put(content(20))
      yield* artefacts.put(content(20))
      assert.deepStrictEqual(yield* lying, [2, 23, 0])
    }).pipe(Effect.scoped)
  )

  const damages: ReadonlyArray<readonly [string, string]> = [
    ["changed bytes", "UPDATE SCHEMA.artefact_chunks SET bytes = 'sane' WHERE n = 1"],
    ["a missing piece", "DELETE FROM SCHEMA.artefact_chunks WHERE n = 0"],
    [
      "a piece too many",
      "INSERT INTO SCHEMA.artefact_chunks SELECT upload, 2, bytes FROM SCHEMA.artefact_chunks WHERE n = 0"
    ]
  ]
  it.effect.each(damages)("R-202 finds %s, and putting it in again mends it", ([, damage]) =>
    Effect.gen(function* () {
      const { artefacts, lying, schema, sql } = yield* stage
      for (const put of [artefacts.put(content(2)), artefacts.putStream(Stream.make(content(2)))]) {
        const reference = yield* put
        yield* sql(damage.replaceAll("SCHEMA", schema))
        assert.isFalse(yield* Effect.isSuccess(artefacts.verify(reference)))
        yield* put
        yield* artefacts.verify(reference)
        assert.deepStrictEqual(yield* lying, [1, 2, 0])
      }
    }).pipe(Effect.scoped)
  )

  it.effect("D56 removes what no event and no command of the same schema refers to", () =>
    Effect.gen(function* () {
      const { artefacts, lying, schema } = yield* stage
      // Else the test clock would stop for each of its signs of life.
      const journal = yield* opened(server(), { schema, heartbeat: "10 days", lease: "30 days" })
      const none = yield* Effect.flip(artefacts.collect())
      assert.deepInclude(none.reason, { _tag: "InvalidInput", field: "references" })
      const references = yield* Effect.forEach(["event", "command", "nothing", "kept"], (text) => artefacts.put(text))
      const [first, second, third, fourth] = references
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) return
      yield* journal.append({ run: "a", expected: 0, events: [{ type: "Made", at: 0, data: { ...first } }] })
      yield* journal.command({ run: "a", type: "Said", at: 0, data: [{ ...second }] })
      yield* TestClock.adjust("25 hours")
      const rest = Stream.make(fourth.hash)
      const told = { artefacts: 1, bytes: "nothing".length, uploads: 0 }
      assert.deepStrictEqual(yield* artefacts.collect({ references: rest, dryRun: true }), told)
      assert.deepStrictEqual(yield* artefacts.collect({ references: rest }), told)
      assert.deepStrictEqual(yield* Effect.forEach(references, artefacts.has), [true, true, false, true])
      assert.strictEqual((yield* artefacts.collect()).artefacts, 1)
      assert.deepStrictEqual(yield* lying, [2, 2, 0])
    }).pipe(Effect.scoped)
  )

  it.effect("a journal from before there were artefacts gets the tables, and keeps its events", () =>
    Effect.gen(function* () {
      const schema = yield* freshSchema
      const sql = yield* connection(server().url)
      yield* Effect.scoped(Effect.flatMap(opened(server(), { schema }), (journal) => step(journal, "a", 0)))
      yield* sql(`DROP TABLE ${schema}.artefacts, ${schema}.artefact_chunks, ${schema}.artefact_uploads`)
      yield* sql(`UPDATE ${schema}.journal_format SET version = 1`)
      const artefacts = yield* artefactsIn(schema)
      yield* artefacts.verify(yield* artefacts.put("new"))
      const journal = yield* opened(server(), { schema })
      assert.strictEqual(yield* journal.version("a"), 1)
    }).pipe(Effect.scoped)
  )

  describe("trouble", () => {
    it.effect("is told as the journal tells it", () =>
      Effect.gen(function* () {
        const nowhere = Layer.build(ArtefactsPostgres.layerPostgres({ url: url(), port: 1 }))
        const error = yield* Effect.flip(Effect.scoped(nowhere))
        assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "cannot-open" })
        assert.isTrue(error.isRetryable)
        const artefacts = yield* Effect.scoped(Effect.flatMap(freshSchema, artefactsIn))
        const closed = yield* Effect.flip(artefacts.put("a"))
        assert.deepInclude(closed.reason, { _tag: "JournalUnavailable", problem: "closed" })
      })
    )
  })
})
