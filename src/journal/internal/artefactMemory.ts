/**
 * Artefacts in memory.
 */
import * as Effect from "effect/Effect"

import { gone } from "./artefactErrors.ts"
import { type Entry, split, type Store } from "./artefactStore.ts"
import { hasher } from "./sha256.ts"

interface Upload {
  readonly pieces: Array<Uint8Array>
  touchedAt: number
}

interface Kept extends Entry {
  readonly pieces: ReadonlyArray<Uint8Array>
}

const location = "memory"

/** A store of its own. */
export const make = (limit: number): Store => {
  const kept = new Map<string, Kept>()
  const uploads = new Map<number, Upload>()
  let begun = 0

  const keep = (entry: Entry, pieces: ReadonlyArray<Uint8Array>): void => {
    const before = kept.get(entry.hash)
    kept.set(entry.hash, { ...entry, at: Math.max(entry.at, before?.at ?? entry.at), pieces })
  }

  /** Does something with an upload that is there. */
  const withUpload = (upload: number, use: (found: Upload) => void) =>
    Effect.suspend(() => {
      const found = uploads.get(upload)
      if (found === undefined) return Effect.fail(gone(location))
      use(found)
      return Effect.void
    })

  return {
    location,
    limit,
    hasher,
    write: (entry, bytes) => Effect.sync(() => keep(entry, split(bytes))),
    begin: (at) =>
      Effect.sync(() => {
        begun += 1
        uploads.set(begun, { pieces: [], touchedAt: at })
        return begun
      }),
    append: (upload, { at, bytes, n }) =>
      withUpload(upload, (found) => {
        found.pieces[n] = bytes
        found.touchedAt = at
      }),
    commit: (upload, entry) =>
      withUpload(upload, ({ pieces }) => {
        keep(entry, pieces)
        uploads.delete(upload)
      }),
    discard: (upload) => Effect.sync(() => uploads.delete(upload)),
    pieces: (hash) => Effect.sync(() => kept.get(hash)?.pieces.length),
    piece: (hash, n) => Effect.sync(() => kept.get(hash)?.pieces[n]?.slice()),
    touch: (hash, at) =>
      Effect.sync(() => {
        const found = kept.get(hash)
        if (found !== undefined && found.at < at) kept.set(hash, { ...found, at })
      }),
    sweep: ({ before, dryRun, keep }) =>
      Effect.sync(() => {
        if (keep === undefined) return undefined
        const removed = [...kept.values()].filter(({ at, hash }) => at < before && !keep.has(hash))
        if (!dryRun) for (const { hash } of removed) kept.delete(hash)
        return { artefacts: removed.length, bytes: removed.reduce((total, { bytes }) => total + bytes, 0) }
      }),
    clean: (before) =>
      Effect.sync(() => {
        const idle = [...uploads].filter(([, { touchedAt }]) => touchedAt < before)
        for (const [upload] of idle) uploads.delete(upload)
        return idle.length
      })
  }
}
