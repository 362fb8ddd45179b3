import { copyFileSync } from "node:fs"
import { join } from "node:path"

import { Effect, Layer } from "effect"
import { ArtefactsSqlite, JournalSqlite } from "espalier/journal"

import { folder } from "../journal/fixtures/folder.ts"

/** A copy of the journal of a release, in a folder of its own. */
export const copied = Effect.map(folder, (path) => {
  const filename = join(path, "journal.db")
  copyFileSync(join(import.meta.dirname, "../fixtures/journals/0.1.0.db"), filename)
  return filename
})

/** That journal, with its artefacts: runs that are finished, that wait, that were suspended and cut off. */
export const released = Layer.unwrap(
  Effect.map(copied, (filename) =>
    Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))
  )
)
