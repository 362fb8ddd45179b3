/** PostgreSQL as the workloads use it: databases of their own, which are dropped again. */
import { setTimeout } from "node:timers/promises"

export interface Client {
  connect(): Promise<unknown>
  query(
    query: string | { readonly name: string; readonly text: string; readonly values: ReadonlyArray<unknown> },
    values?: ReadonlyArray<unknown>
  ): Promise<{ readonly rows: ReadonlyArray<Readonly<Record<string, unknown>>> }>
  end(): Promise<void>
}

/** What is used of the package, which is installed beside the benchmarks only. */
interface Pg {
  readonly Client: new (options: { readonly connectionString: string }) => Client
}

/** A connection of its own. */
export const connect = async (url: string): Promise<Client> => {
  const loaded: { readonly default: Pg } = await import("pg" as string)
  const client = new loaded.default.Client({ connectionString: url })
  await client.connect()
  return client
}

const using = async <A>(url: string, use: (client: Client) => Promise<A>): Promise<A> => {
  const client = await connect(url)
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** Whether a server answers there. */
export const answers = (url: string): Promise<boolean> =>
  using(url, (client) => client.query("SELECT 1")).then(
    () => true,
    () => false
  )

/** The address of another database of the same server. */
const urlOf = (server: string, database: string): string => {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

/** Makes an empty database and answers with its address. */
export const createDatabase = (server: string, name: string): Promise<string> =>
  using(server, async (client) => {
    await client.query(`CREATE DATABASE "${name}"`)
    return urlOf(server, name)
  })

/** Drops every database whose name begins so, whoever is connected to it. */
export const dropDatabases = (server: string, prefix: string): Promise<void> =>
  using(server, async (client) => {
    const { rows } = await client.query("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", [prefix])
    for (const { datname } of rows) {
      // Whoever has closed a connection may still be heard of for a moment; who is killed with it may die of that.
      for (let tries = 0; tries < 50; tries++) {
        const open = await client.query("SELECT 1 FROM pg_stat_activity WHERE datname = $1", [datname])
        if (open.rows.length === 0) break
        await setTimeout(20)
      }
      await client.query(`DROP DATABASE IF EXISTS "${String(datname)}" WITH (FORCE)`)
    }
  })

/** Bytes of all tables of a database, with their indexes. */
export const bytesOf = (url: string): Promise<number> =>
  using(url, async (client) => {
    const { rows } = await client.query(
      `SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 AS bytes FROM pg_class
       WHERE relkind = 'r' AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`
    )
    return Number(rows[0]?.["bytes"])
  })
