/** Where the runs of a world are kept: a journal and a store of artefacts, as a layer. */
import { Layer } from "effect"
import { type Artefacts, ArtefactsSqlite, type Journal, JournalSqlite } from "espalier/journal"

/**
 * A store, as plain data.
 *
 * - `filename`: of the SQLite file; beside a PostgreSQL database, of the one that has the artefacts.
 * - `leaseMillis`: after which an owner that stands still may be replaced. Default: the journal's.
 */
export interface Store {
  readonly filename: string
  readonly url?: string | undefined
  readonly leaseMillis?: number | undefined
}

/** The store, without any seam. */
export const layerStore = ({
  filename,
  leaseMillis
}: Store): Layer.Layer<Journal.Journal | Artefacts.Artefacts, Journal.JournalError | Artefacts.ArtefactsError> => {
  const lease = leaseMillis === undefined ? {} : { lease: leaseMillis, heartbeat: leaseMillis / 3 }
  return Layer.merge(JournalSqlite.layerSqlite({ filename, ...lease }), ArtefactsSqlite.layerSqlite({ filename }))
}
