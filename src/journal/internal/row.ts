/**
 * Where an event becomes a row and a row becomes an event again, for every store.
 *
 * Whatever is to happen to an event on its way to the disk (a check, a hash, an artefact instead of a large value)
 * happens in {@link rowsOf}; {@link pageOf} is its inverse.
 */
import * as Result from "effect/Result"

import type { Append, Recorded } from "../Journal.ts"
import { InvalidInput, JournalCorrupt, ValueTooLarge, type Reason } from "./errors.ts"
import { encode } from "./json.ts"

/** The longest id, in UTF-16 units. */
export const maxIdLength = 200

/** The largest data of one event, in bytes of JSON as UTF-8. */
export const maxDataBytes = 4 * 1024 * 1024

/** One event as a store keeps it. */
export interface Row {
  readonly run: string
  readonly version: number
  readonly type: string
  readonly at: number
  readonly data: string
}

/** Why an id cannot be one. Text stores would cut at a NUL and merge ids that differ in a lone surrogate. */
const idProblem = (id: unknown): string | undefined => {
  if (typeof id !== "string") return `must be a string, is ${id === null ? "null" : `a ${typeof id}`}`
  if (id.length === 0) return "must not be empty"
  if (id.length > maxIdLength) return `must have at most ${maxIdLength} characters, has ${id.length}`
  if (id.includes("\u0000")) return "must not contain a NUL character"
  return id.isWellFormed() ? undefined : "must not contain a lone surrogate"
}

const integerProblem = (value: unknown, least: number): string | undefined =>
  Number.isSafeInteger(value) && Number(value) >= least
    ? undefined
    : `must be a whole number${least === Number.MIN_SAFE_INTEGER ? "" : ` >= ${least}`}, is ${
        typeof value === "number" ? value : `a ${typeof value}`
      }`

const timeProblem = (value: unknown): string | undefined => integerProblem(value, Number.MIN_SAFE_INTEGER)

/** The first of the named fields that has a problem. */
const firstProblem = (fields: ReadonlyArray<readonly [string, string | undefined]>): InvalidInput | undefined => {
  for (const [field, problem] of fields) {
    if (problem !== undefined) return new InvalidInput({ field, problem })
  }
  return undefined
}

/** What is wrong with the arguments of a read. */
export const checkRange = (
  run: string,
  range: { readonly from?: number | undefined; readonly to?: number | undefined } = {}
): InvalidInput | undefined =>
  firstProblem([
    ["run", idProblem(run)],
    ["from", range.from === undefined ? undefined : integerProblem(range.from, 1)],
    ["to", range.to === undefined ? undefined : integerProblem(range.to, 0)]
  ])

/** What is wrong with a limit on a list. */
export const checkLimit = (limit: number | undefined): InvalidInput | undefined =>
  firstProblem([["limit", limit === undefined ? undefined : integerProblem(limit, 0)]])

/** The rows of one append, or the first thing in it that cannot be stored. */
export const rowsOf = (append: Append): Result.Result<ReadonlyArray<Row>, Reason> => {
  const { run, expected, events, listing } = append
  const problem = firstProblem([
    ["run", idProblem(run)],
    ["expected", integerProblem(expected, 0)],
    ["events", events.length === 0 ? "must hold at least one event" : undefined],
    ["listing.status", listing && idProblem(listing.status)],
    ["listing.desk", listing && idProblem(listing.desk)],
    ["listing.startedAt", listing && timeProblem(listing.startedAt)]
  ])
  if (problem !== undefined) return Result.fail(problem)
  const rows: Array<Row> = []
  for (const [index, event] of events.entries()) {
    const type = idProblem(event.type)
    const at = timeProblem(event.at)
    if (type !== undefined) return Result.fail(new InvalidInput({ field: `events[${index}].type`, problem: type }))
    if (at !== undefined) return Result.fail(new InvalidInput({ field: `events[${index}].at`, problem: at }))
    const data = encode(event.data, maxDataBytes)
    if (Result.isFailure(data)) {
      return Result.fail(
        data.failure._tag === "TooLarge"
          ? new ValueTooLarge({ run, index, type: event.type, bytes: data.failure.bytes, limit: maxDataBytes })
          : new InvalidInput({ field: `events[${index}].data${data.failure.path}`, problem: data.failure.problem })
      )
    }
    rows.push({ run, version: expected + 1 + index, type: event.type, at: event.at, data: data.success })
  }
  return Result.succeed(rows)
}

/** The most events of one page, and the most text of it, except that a page holds at least one event. */
const pageEvents = 256
const pageChars = 1024 * 1024

/** Some events in a row, and the version after them when there are more to read. */
export interface Page {
  readonly events: ReadonlyArray<Recorded>
  readonly next: number | undefined
}

/**
 * The next page of a run from its rows, which begin at version `from` and ought to be dense up to `last`. Rows beyond the
 * page are not pulled. A damaged row ends the page before it, and fails the page that would begin with it.
 */
export const pageOf = (
  location: string,
  run: string,
  from: number,
  last: number,
  rows: Iterable<Row>
): Result.Result<Page, JournalCorrupt> => {
  const events: Array<Recorded> = []
  let chars = 0
  let damage = "the event is missing"
  for (const row of rows) {
    const version = from + events.length
    if (row.version !== version) break
    const event = recordedOf(row)
    if (event === undefined) {
      damage = "its data is not JSON"
      break
    }
    events.push(event)
    chars += row.data.length
    if (events.length === pageEvents || chars >= pageChars) break
  }
  const next = from + events.length
  if (events.length === 0 && next <= last) {
    return Result.fail(new JournalCorrupt({ location, run, version: next, detail: damage }))
  }
  return Result.succeed({ events, next: next <= last ? next : undefined })
}

const recordedOf = (row: Row): Recorded | undefined => {
  try {
    return { version: row.version, type: row.type, at: row.at, data: JSON.parse(row.data) }
  } catch {
    return undefined
  }
}
