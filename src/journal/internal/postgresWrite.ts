/**
 * Commits as one statement of PostgreSQL. Pure: it makes the text and its parameters.
 *
 * **Details**
 *
 * - The row of the owner is locked against a claim, not against a heartbeat, and only while it has the epoch of the writer. A
 *   claim that commits meanwhile makes the statement find no row then, and nothing is written.
 * - Of a statement there are as many texts as there are kinds of things to change, so that all stay prepared.
 * - The parts of one statement do not see each other, and none may change a row twice. So what several commits of a batch do
 *   to one run or one review is worked out before, in their order.
 *
 * **Invariants**
 *
 * - W1. A statement of {@link writing} has written nothing when it changes or answers with no row.
 */
import type { Listing, OpenReview } from "../Journal.ts"
import { integers, texts, type Parameter } from "./postgresDatabase.ts"
import type { Row } from "./row.ts"
import type { Commit } from "./store.ts"

/** A statement and its parameters. `answers`: whether it answers with a row when it was carried out, or counts rows. */
export interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<Parameter>
}

const hasProjections = ({ handled = [], listing, reviews }: Commit): boolean =>
  listing !== undefined || reviews !== undefined || handled.length > 0

/** A review after all commits: listed with this, or, without, not any more. `anew`: whether it had been closed before. */
interface Review {
  readonly run: string
  readonly open: OpenReview | undefined
  readonly anew: boolean
}

/** What commits come to. */
interface Sum {
  readonly rows: ReadonlyArray<Row>
  readonly listings: ReadonlyMap<string, Listing>
  readonly reviews: ReadonlyMap<string, Review>
  readonly handled: ReadonlyArray<number>
}

const sumOf = (commits: ReadonlyArray<Commit>): Sum => {
  const rows: Array<Row> = []
  const listings = new Map<string, Listing>()
  const reviews = new Map<string, Review>()
  const handled: Array<number> = []
  for (const commit of commits) {
    rows.push(...commit.rows)
    if (commit.listing !== undefined) listings.set(commit.run, commit.listing)
    for (const open of commit.reviews?.opened ?? []) {
      const before = reviews.get(open.review)
      const anew = before !== undefined && (before.anew || before.open === undefined)
      reviews.set(open.review, { run: commit.run, open, anew })
    }
    for (const review of commit.reviews?.closed ?? []) {
      reviews.set(review, { run: commit.run, open: undefined, anew: true })
    }
    handled.push(...(commit.handled ?? []))
  }
  return { rows, listings, reviews, handled }
}

const columns = <A>(
  values: Iterable<A>,
  ...pick: ReadonlyArray<(value: A) => string | null>
): ReadonlyArray<Parameter> => {
  const all = [...values]
  return pick.map((of) => texts(all.map(of)))
}

/** What several rows are written with. `p` names the parameters. */
const insertRows = (s: string, p: (count: number) => ReadonlyArray<string>): string => {
  const [runs, versions, types, ats, data, hashes] = p(6)
  return `INSERT INTO ${s}.events (run, version, type, at, data, hash)
    SELECT e.run, e.version, e.type, e.at, e.data, decode(e.hash, 'hex')
    FROM mine, unnest(${runs}::text[], ${versions}::bigint[], ${types}::text[], ${ats}::bigint[], ${data}::text[], ${hashes}::text[])
      AS e (run, version, type, at, data, hash)`
}

const listRuns = (s: string, p: (count: number) => ReadonlyArray<string>): string => {
  const [runs, statuses, desks, reasons, starts, wakes] = p(6)
  return `INSERT INTO ${s}.runs (run, status, desk, reason, started_at, wake_at)
    SELECT r.* FROM mine, unnest(${runs}::text[], ${statuses}::text[], ${desks}::text[], ${reasons}::text[], ${starts}::bigint[],
      ${wakes}::bigint[]) AS r
    ON CONFLICT (run) DO UPDATE SET status = excluded.status, desk = excluded.desk, reason = excluded.reason,
      started_at = excluded.started_at, wake_at = excluded.wake_at`
}

/** The one statement that writes commits, or nothing: see W1. */
export const writing = (schema: string, epoch: number, commits: ReadonlyArray<Commit>): Statement => {
  const [commit] = commits
  const [row] = commit?.rows ?? []
  if (commits.length === 1 && commit?.rows.length === 1 && row !== undefined && !hasProjections(commit)) {
    return single(schema, epoch, row)
  }
  return several(schema, epoch, sumOf(commits))
}

// The usual append, one event: nothing else is as quick.
const single = (s: string, epoch: number, { at, data, hash, run, type, version }: Row): Statement => ({
  sql: `
    INSERT INTO ${s}.events (run, version, type, at, data, hash)
    SELECT $2::text, $3::bigint, $4::text, $5::bigint, $6::text, decode($7::text, 'hex')
    FROM ${s}.owner WHERE epoch = $1::bigint FOR KEY SHARE`,
  params: [String(epoch), run, String(version), type, String(at), data, hash]
})

const several = (s: string, epoch: number, { handled, listings, reviews, rows }: Sum): Statement => {
  const params: Array<Parameter> = [String(epoch)]
  const parts = [`mine AS MATERIALIZED (SELECT FROM ${s}.owner WHERE epoch = $1::bigint FOR KEY SHARE)`]
  const add = (name: string, part: string, values: ReadonlyArray<Parameter>): void => {
    params.push(...values)
    parts.push(`${name} AS (${part})`)
  }
  /** The names of the next parameters. */
  const next = (count: number): ReadonlyArray<string> =>
    Array.from({ length: count }, (_, index) => `$${params.length + 1 + index}`)

  if (rows.length > 0) {
    add("written", insertRows(s, next), [
      texts(rows.map(({ run }) => run)),
      integers(rows.map(({ version }) => version)),
      texts(rows.map(({ type }) => type)),
      integers(rows.map(({ at }) => at)),
      texts(rows.map(({ data }) => data)),
      texts(rows.map(({ hash }) => hash))
    ])
  }
  if (listings.size > 0) {
    const all = [...listings.values()]
    add("listed", listRuns(s, next), [
      texts([...listings.keys()]),
      ...columns(
        all,
        ({ status }) => status,
        ({ desk }) => desk,
        ({ reason }) => reason ?? null
      ),
      integers(all.map(({ startedAt }) => startedAt)),
      integers(all.map(({ wakeAt }) => wakeAt))
    ])
  }
  const done = integers(handled)
  const opened = [...reviews.values()].filter(({ open }) => open !== undefined)
  if (opened.length > 0) {
    const [ids, runs, kinds, tasks, opens, dues, anew, dones] = next(8)
    add(
      "opened",
      `INSERT INTO ${s}.reviews AS known (review, run, kind, task, opened_at, due_at)
        SELECT r.review, r.run, r.kind, r.task, r.opened_at, r.due_at
        FROM mine, unnest(${ids}::text[], ${runs}::text[], ${kinds}::text[], ${tasks}::text[], ${opens}::bigint[], ${dues}::bigint[])
          AS r (review, run, kind, task, opened_at, due_at)
        ON CONFLICT (review) DO UPDATE SET run = excluded.run, kind = excluded.kind, task = excluded.task,
          opened_at = excluded.opened_at, due_at = excluded.due_at,
          claimed = CASE WHEN known.review = ANY (${anew}::text[]) OR known.claimed = ANY (${dones}::bigint[])
            THEN NULL ELSE known.claimed END`,
      [
        ...columns(
          opened,
          ({ open }) => open!.review,
          ({ run }) => run,
          ({ open }) => open!.kind,
          ({ open }) => open!.task ?? null
        ),
        integers(opened.map(({ open }) => open!.openedAt)),
        integers(opened.map(({ open }) => open!.dueAt)),
        texts(opened.flatMap(({ anew, open }) => (anew ? [open!.review] : []))),
        done
      ]
    )
  }
  const closed = [...reviews].flatMap(([id, { open }]) => (open === undefined ? [id] : []))
  if (closed.length > 0) {
    add("closed", `DELETE FROM ${s}.reviews USING mine WHERE review = ANY (${next(1)[0]}::text[])`, [texts(closed)])
  }
  if (handled.length > 0) {
    add("handled", `DELETE FROM ${s}.commands USING mine WHERE id = ANY (${next(1)[0]}::bigint[])`, [done])
    const [dones, touched] = next(2)
    add(
      "freed",
      `UPDATE ${s}.reviews SET claimed = NULL FROM mine
        WHERE claimed = ANY (${dones}::bigint[]) AND review <> ALL (${touched}::text[])`,
      [done, texts([...reviews.keys()])]
    )
  }
  return { sql: `WITH ${parts.join(",\n")}\nSELECT 1 AS written FROM mine`, params }
}

/** The one statement that removes a run with all that belongs to it, or nothing, as {@link writing} does. */
export const removing = (s: string, epoch: number, run: string): Statement => ({
  sql: `
    WITH mine AS MATERIALIZED (SELECT FROM ${s}.owner WHERE epoch = $1::bigint FOR KEY SHARE),
    ${["events", "runs", "reviews", "commands"]
      .map((table) => `from_${table} AS (DELETE FROM ${s}.${table} USING mine WHERE run = $2::text)`)
      .join(",\n")}
    SELECT 1 AS written FROM mine`,
  params: [String(epoch), run]
})

/** The one statement that leaves a command, claims its review and wakes whoever listens; no row when it cannot be claimed. */
export const leaving = (
  s: string,
  channel: string,
  command: {
    readonly run: string
    readonly type: string
    readonly at: number
    readonly data: string
    readonly review?: string | undefined
  }
): Statement => {
  const { at, data, review, run, type } = command
  const values = [channel, run, type, String(at), data]
  // Also where the database acknowledges before it has written.
  const durable = `CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END`
  const answer = `SELECT id::float8 AS id, pg_notify($1::text, ''), ${durable} FROM remaining`
  if (review === undefined) {
    return {
      sql: `
        WITH remaining AS (
          INSERT INTO ${s}.commands (run, type, at, data)
          VALUES ($2::text, $3::text, $4::bigint, $5::text) RETURNING id)
        ${answer}`,
      params: values
    }
  }
  return {
    sql: `
      WITH number AS MATERIALIZED (SELECT nextval(pg_get_serial_sequence($7::text, 'id')) AS id),
      taken AS (
        UPDATE ${s}.reviews r SET claimed = number.id FROM number
        WHERE r.review = $6::text AND r.run = $2::text AND r.claimed IS NULL RETURNING r.claimed AS id),
      remaining AS (
        INSERT INTO ${s}.commands (id, run, type, at, data, review)
        SELECT taken.id, $2::text, $3::text, $4::bigint, $5::text, $6::text FROM taken RETURNING id)
      ${answer}`,
    params: [...values, review, `${s}.commands`]
  }
}
