/** The least that a durable run on SQLite can be. */
import { DatabaseSync } from "node:sqlite"

import type { Store } from "./engine.ts"
import { type Log, type Row, table } from "./log.ts"

interface Waiting {
  readonly row: readonly [run: string, version: number, type: string, data: string]
  readonly kept: () => void
}

/** A log in a file. `grouped`: the rows of one turn of the event loop share a commit. */
export const sqliteLog = (file: string, synchronous: Store, grouped: boolean): Log => {
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; ${table}`)
  const insert = database.prepare("INSERT INTO events (run, version, type, data) VALUES (?, ?, ?, ?)")
  const begin = database.prepare("BEGIN IMMEDIATE")
  const commit = database.prepare("COMMIT")
  let group: Array<Waiting> = []
  const flush = (): void => {
    const all = group
    group = []
    if (all.length > 1) begin.run()
    for (const { row } of all) insert.run(...row)
    if (all.length > 1) commit.run()
    for (const { kept } of all) kept()
  }
  return {
    append: grouped
      ? (...row) =>
          new Promise<void>((kept) => {
            if (group.push({ row, kept }) === 1) setImmediate(flush)
          })
      : async (...row) => insert.run(...row),
    unfinished: async (end) =>
      database
        .prepare("SELECT run, type, max(version) FROM events GROUP BY run HAVING type <> ?")
        .all(end)
        .map((row) => String(row["run"])),
    read: async (run) =>
      database
        .prepare("SELECT type, data FROM events WHERE run = ? ORDER BY version")
        .all(run)
        .map((row): Row => ({ type: String(row["type"]), data: String(row["data"]) })),
    close: async () => database.close()
  }
}
