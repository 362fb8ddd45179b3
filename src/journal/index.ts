/**
 * The journal: an append-only history of events, in memory and in SQLite.
 *
 * @since 0.1.0
 */
export * as Artefacts from "./Artefacts.ts"
export * as ArtefactsSqlite from "./ArtefactsSqlite.ts"
export * as Chain from "./Chain.ts"
export * as Export from "./Export.ts"
export * as Journal from "./Journal.ts"
export * as JournalSqlite from "./JournalSqlite.ts"
export * as Reference from "./Reference.ts"
