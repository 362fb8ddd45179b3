import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"

/**
 * The path of a database, looked at before SQLite is let near it. A Node file: uses `node:fs` and `node:path`.
 *
 * SQLite answers most of these cases with "unable to open database file", and opening a named pipe would hang.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

import { because, InvalidInput, JournalReadOnly, JournalUnavailable, NotAJournal, type JournalError } from "./errors.ts"

const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : String(cause)

/** The error of a system call on the path. */
const refused = (location: string, cause: unknown): JournalError => {
  const code = codeOf(cause)
  return because(
    code === "EACCES" || code === "EPERM" || code === "EROFS"
      ? new JournalReadOnly({ location })
      : new JournalUnavailable({ location, problem: "cannot-open", detail: code })
  )
}

const kindOf = (location: string): "file" | "folder" | "other" | "nothing" => {
  const stats = statSync(location, { throwIfNoEntry: false })
  if (stats === undefined) return "nothing"
  return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other"
}

/** Makes an empty file that only its owner may read; SQLite gives its side files the same mode. */
const create = (location: string): void => {
  mkdirSync(dirname(location), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(location, "wx", 0o600))
  } catch (cause) {
    // Another process was faster, or this is a link to a file that SQLite is about to make.
    if (codeOf(cause) !== "EEXIST") throw cause
  }
}

/** The absolute path of a file that exists, may be written, and is a file. Makes it and its folders when missing. */
export const prepare = (filename: string): Effect.Effect<string, JournalError> =>
  Effect.suspend(() => {
    if (filename === "" || filename === ":memory:" || filename.includes("\u0000")) {
      return Effect.fail(because(new InvalidInput({ field: "filename", problem: "must be the path of a file" })))
    }
    // An absolute path is never read as a URI.
    const location = resolve(filename)
    try {
      const kind = kindOf(location)
      if (kind === "nothing") create(location)
      else if (kind !== "file") {
        return Effect.fail(
          because(new NotAJournal({ location, found: kind === "folder" ? "a folder" : "not a regular file" }))
        )
      }
      accessSync(location, constants.R_OK | constants.W_OK)
      return Effect.succeed(location)
    } catch (cause) {
      return Effect.fail(refused(location, cause))
    }
  })
