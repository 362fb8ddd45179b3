/**
 * What an error of PostgreSQL means to a journal.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as SqlError from "effect/sql/SqlError"

import {
  because,
  JournalCorrupt,
  JournalFull,
  JournalReadOnly,
  JournalUnavailable,
  type JournalError,
  type Reason
} from "./errors.ts"

/** The codes of PostgreSQL that mean something to a journal: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const code = {
  taken: "23505",
  readOnly: "25006",
  mayNot: "42501",
  noTable: "42P01",
  noColumn: "42703",
  noSchema: "3F000",
  full: "53100",
  endedByAdministrator: "57P01",
  ended: "57P02",
  notYet: "57P03"
} as const

/** Somebody else holds what is needed, or there is not enough of it just now: nothing has been done. */
const busy: ReadonlySet<string> = new Set(["40001", "40P01", "53000", "53200", "53300", "53400", "55P03", "57014"])

/** The server cannot be spoken to, or not as this user or to this database. */
const cannotOpen: ReadonlySet<string> = new Set([code.notYet, "3D000"])

const lost: ReadonlySet<string> = new Set([code.endedByAdministrator, code.ended, code.notYet])

/** What the server said: its code and its words. Neither is there when it could not say anything. */
const saidBy = (error: SqlError.SqlError): { readonly code: string | undefined; readonly words: string } => {
  const { cause, message } = error.reason
  const said = Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : undefined
  const words = cause instanceof Error && cause.message !== "" ? cause.message : message
  return { code: said !== undefined && /^[0-9A-Z]{5}$/.test(said) ? said : undefined, words: words ?? "unknown" }
}

/** Whether a row was there already. */
export const isTaken = (error: SqlError.SqlError): boolean => saidBy(error).code === code.taken

/** Whether the connection cannot be used any more. */
export const isLost = (error: SqlError.SqlError): boolean => {
  const said = saidBy(error).code
  return said === undefined || lost.has(said) || said.startsWith("08")
}

/** What an error means. The words of the server are told only where they cannot repeat what was to be stored. */
export const reasonOf = (location: string, error: SqlError.SqlError): Reason => {
  const { code: said, words } = saidBy(error)
  if (said === undefined) {
    const problem = error.reason.operation === "connect" ? "cannot-open" : "io"
    return new JournalUnavailable({ location, problem, detail: words })
  }
  const detail = `${words} (SQLSTATE ${said})`
  if (said === code.full) return new JournalFull({ location })
  if (said === code.readOnly || said === code.mayNot) return new JournalReadOnly({ location })
  if (busy.has(said)) return new JournalUnavailable({ location, problem: "busy", detail })
  if (cannotOpen.has(said) || said.startsWith("28")) {
    return new JournalUnavailable({ location, problem: "cannot-open", detail })
  }
  if (said === code.noTable || said === code.noColumn || said === code.noSchema || said.startsWith("XX")) {
    return new JournalCorrupt({ location, detail })
  }
  if (said.startsWith("22") || said.startsWith("23")) {
    return new JournalCorrupt({ location, detail: `a row does not fit its table (SQLSTATE ${said})` })
  }
  return new JournalUnavailable({ location, problem: "io", detail })
}

/** Fails with what an error means. */
export const failWith =
  (location: string) =>
  (error: SqlError.SqlError): Effect.Effect<never, JournalError> =>
    Effect.fail(because(reasonOf(location, error)))
