// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes many times as fast.
/**
 * A store of artefacts on an established PostgreSQL schema. A Node file: uses `node:crypto`.
 *
 * **Details**
 *
 * - All content lies in the pieces of an upload. An artefact names the upload that its content lies in; an upload that is not
 *   finished has a row of its own, and no artefact.
 * - Each operation is one statement, or several of which each leaves everything in order. What an artefact's content is
 *   replaced by is put in its place by a comparison with the upload that was seen: who is too late looks again.
 */
import { createHash, hash as digestOf } from "node:crypto"

import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { because, gone, type ArtefactsError } from "./artefactErrors.ts"
import { split, type Entry, type Store, type Sweep, type Swept } from "./artefactStore.ts"
import { texts, type Database, type Parameter, type Row } from "./postgresDatabase.ts"
import { reasonOf } from "./postgresErrors.ts"
import type { Hasher } from "./sha256.ts"

const hasher = (): Hasher => {
  const whole = createHash("sha256")
  return { update: (bytes) => void whole.update(bytes), digest: () => whole.digest("hex") }
}

const binary = (values: ReadonlyArray<Uint8Array>): Parameter =>
  Result.getOrThrow(PgTypes.array(values, PgTypes.OID.bytea))

/** The most pieces that one statement carries: 4 MiB. More of them come as those of a stream do. */
const mostPieces = 16

/** Where the content of a hash comes from: pieces that are given, or an upload that has them already. */
type Source = { readonly pieces: ReadonlyArray<Uint8Array> } | { readonly upload: number }

/** The statement that makes a source the content of a hash that has none, or whose content lies in the upload `before`. */
const keeping = (
  s: string,
  { at, bytes, hash, mediaType }: Entry,
  source: Source,
  before: number | undefined
): { readonly sql: string; readonly params: ReadonlyArray<Parameter> } => {
  const params: Array<Parameter> = []
  const bind = (value: Parameter, type: string): string => `$${params.push(value)}::${type}`
  const size = bind(String(bytes), "bigint")
  const time = bind(String(at), "bigint")
  const id = bind(hash, "text")
  const parts: Array<string> = []
  if ("upload" in source) {
    const upload = bind(String(source.upload), "bigint")
    parts.push(`source AS MATERIALIZED (SELECT upload FROM ${s}.artefact_uploads WHERE upload = ${upload} FOR UPDATE)`)
  } else {
    const sequence = bind(`${s}.artefact_uploads`, "text")
    parts.push(`source AS MATERIALIZED (SELECT nextval(pg_get_serial_sequence(${sequence}, 'upload')) AS upload)`)
  }
  if (before === undefined) {
    parts.push(`kept AS (
      INSERT INTO ${s}.artefacts (hash, media_type, size, put_at, upload)
      SELECT ${id}, ${bind(mediaType, "text")}, ${size}, ${time}, upload FROM source
      ON CONFLICT (hash) DO NOTHING RETURNING upload)`)
  } else {
    const old = bind(String(before), "bigint")
    parts.push(
      `kept AS (
        UPDATE ${s}.artefacts a SET size = ${size}, put_at = greatest(a.put_at, ${time}), upload = source.upload
        FROM source WHERE a.hash = ${id} AND a.upload = ${old} RETURNING a.upload)`,
      `dropped AS (DELETE FROM ${s}.artefact_chunks c USING kept WHERE c.upload = ${old})`
    )
  }
  parts.push(
    "upload" in source
      ? `ended AS (DELETE FROM ${s}.artefact_uploads u USING kept WHERE u.upload = kept.upload)`
      : `filled AS (
        INSERT INTO ${s}.artefact_chunks (upload, n, bytes)
        SELECT kept.upload, p.n - 1, p.bytes FROM kept,
          unnest(${bind(binary(source.pieces), "bytea[]")}) WITH ORDINALITY AS p (bytes, n))`
  )
  return { sql: `WITH ${parts.join(",\n")} SELECT 1 FROM kept`, params }
}

const statements = (s: string) => {
  /** All that is old and not kept, and which of it stands in the events, or in what was left for the owner. */
  const candidates = `
    old AS MATERIALIZED (
      SELECT hash, size FROM ${s}.artefacts WHERE put_at < $1::bigint AND NOT hash = ANY ($2::text[])),
    used AS MATERIALIZED (
      SELECT DISTINCT found[1] AS hash
      FROM (SELECT data FROM ${s}.events UNION ALL SELECT data FROM ${s}.commands) e,
        regexp_matches(e.data, 'sha256:[0-9a-f]{64}', 'g') AS found
      WHERE EXISTS (SELECT FROM old) AND e.data LIKE '%sha256:%'),
    unused AS MATERIALIZED (SELECT hash, size FROM old WHERE hash NOT IN (SELECT hash FROM used))`
  const told = (from: string) =>
    `SELECT count(*)::float8 AS artefacts, coalesce(sum(size), 0)::float8 AS bytes FROM ${from}`
  return {
    // Whether the pieces that are there have the hashes of those that are given.
    find: `
      SELECT a.upload::float8 AS upload,
        (SELECT count(*) = cardinality($2::text[]) AND coalesce(bool_and(encode(sha256(c.bytes), 'hex') = ($2::text[])[c.n + 1]), true)
          FROM ${s}.artefact_chunks c WHERE c.upload = a.upload) AS same
      FROM ${s}.artefacts a WHERE a.hash = $1`,
    lies: `SELECT upload::float8 AS upload FROM ${s}.artefacts WHERE hash = $1`,
    touch: `UPDATE ${s}.artefacts SET put_at = greatest(put_at, $2::bigint) WHERE hash = $1 RETURNING 1`,
    begin: `INSERT INTO ${s}.artefact_uploads (touched_at) VALUES ($1::bigint) RETURNING upload::float8 AS upload`,
    append: `
      WITH living AS (UPDATE ${s}.artefact_uploads SET touched_at = $2::bigint WHERE upload = $1::bigint RETURNING upload)
      INSERT INTO ${s}.artefact_chunks (upload, n, bytes) SELECT upload, $3::integer, $4::bytea FROM living RETURNING n`,
    living: `SELECT 1 FROM ${s}.artefact_uploads WHERE upload = $1::bigint`,
    discard: `
      WITH ended AS (DELETE FROM ${s}.artefact_uploads WHERE upload = $1::bigint RETURNING upload)
      DELETE FROM ${s}.artefact_chunks c USING ended WHERE c.upload = ended.upload`,
    pieces: `
      SELECT (SELECT count(*)::float8 FROM ${s}.artefact_chunks c WHERE c.upload = a.upload) AS pieces
      FROM ${s}.artefacts a WHERE a.hash = $1`,
    piece: `
      SELECT c.bytes FROM ${s}.artefacts a JOIN ${s}.artefact_chunks c ON c.upload = a.upload
      WHERE a.hash = $1 AND c.n = $2::integer`,
    hasEvents: `SELECT EXISTS (SELECT FROM ${s}.events) AS yes`,
    count: `WITH ${candidates} ${told("unused")}`,
    sweep: `
      WITH ${candidates},
      gone AS (
        DELETE FROM ${s}.artefacts a USING unused WHERE a.hash = unused.hash AND a.put_at < $1::bigint
        RETURNING a.upload, a.size),
      dropped AS (DELETE FROM ${s}.artefact_chunks c USING gone WHERE c.upload = gone.upload)
      ${told("gone")}`,
    clean: `
      WITH ended AS (DELETE FROM ${s}.artefact_uploads WHERE touched_at < $1::bigint RETURNING upload),
      dropped AS (DELETE FROM ${s}.artefact_chunks c USING ended WHERE c.upload = ended.upload)
      SELECT count(*)::float8 AS uploads FROM ended`
  }
}

const numberIn = (row: Row | undefined, name: string): number | undefined => {
  const value = row?.[name]
  return typeof value === "number" ? value : undefined
}

/** How often somebody else may be faster with the same content before that is trouble. */
const tries = 10

/** The store of an established database. */
export const make = (database: Database, limit: number): Store => {
  const { location, schema } = database
  const sql = statements(schema)

  const ask = (
    statement: string,
    params: ReadonlyArray<Parameter>
  ): Effect.Effect<ReadonlyArray<Row>, ArtefactsError> =>
    Effect.mapError(database.ask(statement, params), ({ reason }) => because(reason))

  /** The same without a limit in time, for what reads all events. */
  const askPatiently = (statement: string, params: ReadonlyArray<Parameter>) =>
    Effect.mapError(database.open, ({ reason }) => because(reason)).pipe(
      Effect.andThen(
        Effect.mapError(database.patient(statement, params), (error) => because(reasonOf(location, error)))
      ),
      Effect.map(({ rows }) => rows)
    )

  const keep = (entry: Entry, source: Source, before: number | undefined): Effect.Effect<boolean, ArtefactsError> => {
    const statement = keeping(schema, entry, source, before)
    return Effect.map(ask(statement.sql, statement.params), ({ length }) => length === 1)
  }

  const begin = (at: number) => Effect.map(ask(sql.begin, [String(at)]), ([row]) => numberIn(row, "upload") ?? 0)

  const append = (upload: number, n: number, bytes: Uint8Array, at: number): Effect.Effect<void, ArtefactsError> =>
    Effect.flatMap(ask(sql.append, [String(upload), String(at), String(n), PgTypes.bytea(bytes)]), ({ length }) =>
      length === 1 ? Effect.void : Effect.fail(gone(location))
    )

  const discard = (upload: number) => Effect.asVoid(ask(sql.discard, [String(upload)]))

  const commit = (upload: number, entry: Entry, left = tries): Effect.Effect<void, ArtefactsError> =>
    Effect.gen(function* () {
      const [before] = yield* ask(sql.lies, [entry.hash])
      if (yield* keep(entry, { upload }, numberIn(before, "upload"))) return
      const there = (yield* ask(sql.living, [String(upload)])).length === 1
      return yield* there && left > 0 ? commit(upload, entry, left - 1) : gone(location)
    })

  /** Whether there is something to touch. */
  const touch = (hash: string, at: number): Effect.Effect<boolean, ArtefactsError> =>
    Effect.map(ask(sql.touch, [hash, String(at)]), ({ length }) => length === 1)

  /** Content of many pieces comes as a stream does, and is seen when it is whole. */
  const writeMany = (entry: Entry, pieces: ReadonlyArray<Uint8Array>): Effect.Effect<void, ArtefactsError> =>
    Effect.acquireUseRelease(
      begin(entry.at),
      (upload) =>
        Effect.andThen(
          Effect.forEach(pieces, (bytes, n) => append(upload, n, bytes, entry.at), { discard: true }),
          commit(upload, entry)
        ),
      // Nothing is there any more when it was committed.
      (upload) => Effect.ignore(discard(upload))
    )

  const write = (entry: Entry, bytes: Uint8Array, left = tries): Effect.Effect<void, ArtefactsError> =>
    Effect.gen(function* () {
      const pieces = split(bytes)
      const hashes = texts(pieces.map((piece) => digestOf("sha256", piece, "hex")))
      const [found] = yield* ask(sql.find, [entry.hash, hashes])
      if (found?.["same"] === true) {
        if (yield* touch(entry.hash, entry.at)) return
      } else if (pieces.length > mostPieces) {
        return yield* writeMany(entry, pieces)
      } else if (yield* keep(entry, { pieces }, numberIn(found, "upload"))) return
      // Somebody else has put it in, replaced it or removed it since.
      return yield* left > 0 ? write(entry, bytes, left - 1) : gone(location)
    })

  const sweep = ({ before, dryRun, keep }: Sweep): Effect.Effect<Swept | undefined, ArtefactsError> =>
    Effect.gen(function* () {
      if (keep === undefined && (yield* ask(sql.hasEvents, []))[0]?.["yes"] !== true) return undefined
      const params = [String(before), texts([...(keep ?? [])])]
      const [row] = yield* askPatiently(dryRun ? sql.count : sql.sweep, params)
      return { artefacts: numberIn(row, "artefacts") ?? 0, bytes: numberIn(row, "bytes") ?? 0 }
    })

  return {
    location,
    limit,
    hasher,
    write: (entry, bytes) => write(entry, bytes),
    begin,
    append: (upload, { at, bytes, n }) => append(upload, n, bytes, at),
    commit: (upload, entry) => commit(upload, entry),
    discard,
    pieces: (hash) => Effect.map(ask(sql.pieces, [hash]), ([row]) => numberIn(row, "pieces")),
    piece: (hash, n) =>
      Effect.map(ask(sql.piece, [hash, String(n)]), ([row]) => {
        const bytes = row?.["bytes"]
        return bytes instanceof Uint8Array ? Uint8Array.from(bytes) : undefined
      }),
    touch: (hash, at) => Effect.asVoid(touch(hash, at)),
    sweep,
    clean: (before) => Effect.map(ask(sql.clean, [String(before)]), ([row]) => numberIn(row, "uploads") ?? 0)
  }
}
