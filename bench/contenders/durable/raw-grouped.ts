/** The limit of SQLite when all rows of one turn of the event loop share a commit. */
import type { Limits, Open } from "../../durable/engine.ts"
import { engineOn } from "../../durable/log.ts"
import { sqliteLog } from "../../durable/sqlite.ts"

export const limits: Limits = { stores: ["full", "normal"] }

export const open: Open = async ({ store, where }, work) => engineOn(sqliteLog(where, store, true), work)
