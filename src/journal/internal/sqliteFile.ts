// @effect-diagnostics nodeBuiltinImport:off -- SQLite opens paths itself, and needs them looked at in one step.
/**
 * The path of a database, looked at before SQLite is let near it. A Node file: uses `node:fs` and `node:path`.
 *
 * SQLite answers most of these cases with "unable to open database file", and opening a named pipe would hang.
 */
import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

import { because, InvalidInput, JournalReadOnly, JournalUnavailable, NotAJournal, type JournalError } from "./errors.ts"

const codeOf = (cause: unknown): string =>
  Predicate.hasProperty(cause, "code") && typeof cause.code === "string" ? cause.code : String(cause)

/** What the codes mean that a wrong path leads to. */
const meanings: Readonly<Record<string, string>> = {
  EEXIST: "a part of the path is not a folder",
  ENOTDIR: "a part of the path is not a folder",
  ELOOP: "the path is a loop of symbolic links",
  ENAMETOOLONG: "the path is too long",
  ENOSPC: "there is no room to make the file"
}

/** The error of a system call on the path. */
export const refused = (location: string, cause: unknown): JournalError => {
  const code = codeOf(cause)
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") return because(new JournalReadOnly({ location }))
  const meaning = meanings[code]
  const detail = meaning === undefined ? code : `${meaning} (${code})`
  return because(new JournalUnavailable({ location, problem: "cannot-open", detail }))
}

const kindOf = (location: string): "file" | "folder" | "other" | "nothing" => {
  const stats = statSync(location, { throwIfNoEntry: false })
  if (stats === undefined) return "nothing"
  return stats.isFile() ? "file" : stats.isDirectory() ? "folder" : "other"
}

/**
 * Makes an empty file that only its owner may read; SQLite gives its side files the same mode. Opening it for appending
 * also does no harm when another process was faster, and follows a link to a file that is not there yet.
 */
export const touch = (location: string): void => closeSync(openSync(location, "a", 0o600))

/**
 * The same for a file that may be there and locked by this process: it is not opened then, because closing it again would give
 * up all locks that this process has on it.
 */
export const touchUnopened = (location: string): void => {
  try {
    closeSync(openSync(location, "ax", 0o600))
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") throw cause
  }
}

/**
 * Which file a path leads to, to be asked later whether it still does: a file that is removed or replaced stays what it was for
 * whoever has it open. What cannot be looked at counts as unchanged.
 */
export const watched = (path: string): (() => boolean) => {
  const look = (): string | undefined => {
    try {
      const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
      return stats === undefined ? "" : `${stats.dev}:${stats.ino}`
    } catch {
      return undefined
    }
  }
  const found = look()
  return () => {
    const now = look()
    return now === undefined || found === undefined || now === found
  }
}

const create = (location: string): void => {
  mkdirSync(dirname(location), { recursive: true, mode: 0o700 })
  touch(location)
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
