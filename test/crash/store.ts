/** Where the runs of a world are kept: a journal and a store of artefacts, as a layer. */
import { Effect, Layer, Redacted } from "effect"
import { type Artefacts, ArtefactsSqlite, type Journal, JournalSqlite } from "espalier/journal"

/**
 * A store, as plain data.
 *
 * - `filename`: of the SQLite file; beside a PostgreSQL database, of the one that has the artefacts.
 * - `postgres`: where the journal is, if it is not in the file.
 * - `leaseMillis`: after which an owner that stands still may be replaced. Default: the journal's.
 */
export interface Store {
  readonly filename: string
  readonly postgres?: { readonly url: string; readonly schema: string } | undefined
  readonly leaseMillis?: number | undefined
}

/** Loaded by those who need it: each life pays for what it loads. */
const layerPostgres = (
  { schema, url }: NonNullable<Store["postgres"]>,
  lease: { lease?: number; heartbeat?: number }
) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("espalier/journal/JournalPostgres")),
      ({ layerPostgres }) => layerPostgres({ url: Redacted.make(url), schema, ...lease })
    )
  )

/** The store, without any seam. */
export const layerStore = ({
  filename,
  leaseMillis,
  postgres
}: Store): Layer.Layer<Journal.Journal | Artefacts.Artefacts, Journal.JournalError | Artefacts.ArtefactsError> => {
  const lease = leaseMillis === undefined ? {} : { lease: leaseMillis, heartbeat: leaseMillis / 3 }
  const journal =
    postgres === undefined ? JournalSqlite.layerSqlite({ filename, ...lease }) : layerPostgres(postgres, lease)
  return Layer.merge(journal, ArtefactsSqlite.layerSqlite({ filename }))
}
