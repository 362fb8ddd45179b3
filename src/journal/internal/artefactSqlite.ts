// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes large content many times as fast.
/**
 * Artefacts in an open and migrated SQLite database. A Node file: uses `node:crypto`, and `node:sqlite` through
 * `sqliteNode.ts`.
 */
import { createHash } from "node:crypto"

import * as Effect from "effect/Effect"

import { because, type ArtefactsError } from "./artefactErrors.ts"
import type { Store } from "./artefactStore.ts"
import { failWith, patiently, type Sqlite } from "./sqliteNode.ts"

// The content that is there already stays, unless it is damaged: then putting it again mends it.
const upsert = `
  INSERT INTO artefacts (hash, bytes, media_type, size) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (hash) DO UPDATE SET bytes = ?2, size = ?4 WHERE bytes <> ?2`

const select = "SELECT bytes FROM artefacts WHERE hash = ?1"

const exists = "SELECT 1 FROM artefacts WHERE hash = ?1"

/** The store of a database. `busyMillis` is how long an operation waits for other processes. */
export const make = (sqlite: Sqlite, busyMillis: number, limit: number): Effect.Effect<Store, ArtefactsError> => {
  const { location, native } = sqlite
  const wait = patiently(busyMillis)
  const attempt = <A>(run: () => A) =>
    Effect.suspend(() => {
      try {
        return Effect.succeed(run())
      } catch (cause) {
        return failWith(location, cause)
      }
    })
  /** One synchronous step against the driver, tried again while another process holds the lock. */
  const step = <A>(run: () => A): Effect.Effect<A, ArtefactsError> =>
    Effect.mapError(wait(attempt(run)), ({ reason }) => because(reason))

  return step(() => {
    const statements = {
      upsert: native.prepare(upsert),
      select: native.prepare(select),
      exists: native.prepare(exists)
    }
    return {
      location,
      limit,
      hash: (bytes) => createHash("sha256").update(bytes).digest("hex"),
      write: ({ bytes, hash, mediaType }) =>
        step(() => {
          statements.upsert.run(hash, bytes, mediaType, bytes.length)
        }),
      read: (hash) =>
        step(() => {
          const bytes = statements.select.get(hash)?.["bytes"]
          return bytes instanceof Uint8Array ? bytes : undefined
        }),
      has: (hash) => step(() => statements.exists.get(hash) !== undefined)
    }
  })
}
