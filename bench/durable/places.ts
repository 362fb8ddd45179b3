/** Places to keep runs in, gone when they have been used. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"

import type { Place, Store } from "./engine.ts"
import { bytesOf, createDatabase, dropDatabases } from "./postgres.ts"

/** The server, and the beginning of the names of the databases that are made there. */
export const server = process.env["ESPALIER_BENCH_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/postgres"
const prefix = `${process.env["ESPALIER_BENCH_PREFIX"] ?? "espalier_bench"}_${process.pid}_`

let count = 0

/** Uses an empty place. */
export const withPlace = async <A>(store: Store, use: (place: Place) => Promise<A>): Promise<A> => {
  const name = `${prefix}${count++}_`
  if (store === "postgres") {
    try {
      return await use({ store, where: await createDatabase(server, name) })
    } finally {
      await dropDatabases(server, name)
    }
  }
  const folder = mkdtempSync(join(tmpdir(), "espalier-bench-"))
  try {
    return await use({ store, where: join(folder, "runs.db") })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Bytes that a place takes while nobody has it open. */
export const bytesAt = async ({ store, where }: Place): Promise<number> => {
  if (store === "postgres") return bytesOf(where)
  // Not everybody folds the log back into the file when it is closed.
  const database = new DatabaseSync(where)
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
  return statSync(where).size
}
