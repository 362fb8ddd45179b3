/** The limit of a store: one row and one commit for each step, by its driver. On PostgreSQL, over up to ten connections. */
import type { Limits, Open } from "../../durable/engine.ts"
import { engineOn, type Log, type Row, table } from "../../durable/log.ts"
import { type Client, connect } from "../../durable/postgres.ts"
import { sqliteLog } from "../../durable/sqlite.ts"
import { fanOut } from "../../util.ts"

const postgresLog = async (url: string): Promise<Log> => {
  const first = await connect(url)
  await first.query(table)
  const all: Array<Promise<Client>> = [Promise.resolve(first)]
  const free = [first]
  const waiting: Array<(client: Client) => void> = []
  const take = (): Promise<Client> => {
    const client = free.pop()
    if (client !== undefined) return Promise.resolve(client)
    if (all.length === fanOut.inFlight) return new Promise((resolve) => waiting.push(resolve))
    const made = connect(url)
    all.push(made)
    return made
  }
  const give = (client: Client): void => {
    const next = waiting.shift()
    if (next === undefined) free.push(client)
    else next(client)
  }
  return {
    append: async (run, version, type, data) => {
      const client = await take()
      await client.query({
        name: "insert",
        text: "INSERT INTO events (run, version, type, data) VALUES ($1, $2, $3, $4)",
        values: [run, version, type, data]
      })
      give(client)
    },
    unfinished: async (end) => {
      const { rows } = await first.query(
        `SELECT run FROM (SELECT DISTINCT ON (run) run, type FROM events ORDER BY run, version DESC) last
         WHERE type <> $1`,
        [end]
      )
      return rows.map((row) => String(row["run"]))
    },
    read: async (run) => {
      const { rows } = await first.query("SELECT type, data FROM events WHERE run = $1 ORDER BY version", [run])
      return rows.map((row): Row => ({ type: String(row["type"]), data: String(row["data"]) }))
    },
    close: async () => {
      for (const client of await Promise.all(all)) await client.end()
    }
  }
}

export const limits: Limits = { stores: ["full", "normal", "postgres"] }

export const open: Open = async ({ store, where }, work) =>
  engineOn(store === "postgres" ? await postgresLog(where) : sqliteLog(where, store, false), work)
