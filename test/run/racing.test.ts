import { describe } from "@effect/vitest"
import { Context, Effect, Layer, Redacted } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import * as JournalPostgres from "espalier/journal/JournalPostgres"

import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { freshPath } from "../journal/fixtures/folder.ts"
import { freshSchema, serverOfThisFile } from "../journal/fixtures/postgres.ts"
import { contract } from "./racingContract.ts"

/** A journal as one process has it. */
const built = <E>(layer: Layer.Layer<Journal.Journal, E>) =>
  Effect.map(Layer.build(Layer.fresh(layer)), (context) => Context.get(context, Journal.Journal))

describe("in memory", () => {
  contract(Effect.map(built(Journal.layerMemory), (here) => ({ here })))
})

describe("in an SQLite file", () => {
  contract(
    Effect.gen(function* () {
      const layer = JournalSqlite.layerSqlite({ filename: yield* freshPath, synchronous: "normal" })
      return { here: yield* built(layer), there: yield* built(layer) }
    })
  )
})

describeWithPostgres("in PostgreSQL", () => {
  const server = serverOfThisFile()
  contract(
    Effect.gen(function* () {
      const layer = JournalPostgres.layerPostgres({ url: Redacted.make(server().url), schema: yield* freshSchema })
      return { here: yield* built(layer), there: yield* built(layer) }
    })
  )
})
