/**
 * Where an event becomes a row and a row becomes an event again, for every store.
 *
 * Whatever is to happen to an event on its way to the disk (a check, a hash, an artefact instead of a large value)
 * happens in {@link rowsOf}; {@link pageOf} is its inverse.
 */
import * as Result from "effect/Result"

import type { Append, Command, Filter, Left, Listing, OpenReview, Recorded, Stored } from "../Journal.ts"
import { InvalidInput, JournalCorrupt, ValueTooLarge, type Reason } from "./errors.ts"
import { encode } from "./json.ts"

/** The longest id, in UTF-16 units. */
export const maxIdLength = 200

/** The largest data of one event, in bytes of JSON as UTF-8. */
export const maxDataBytes = 4 * 1024 * 1024

/**
 * One event as a store keeps it. `hash`: of its place in the chain of its run, in hexadecimal; empty where the store hashes
 * only what it is asked for.
 */
export interface Row {
  readonly run: string
  readonly version: number
  readonly type: string
  readonly at: number
  readonly data: string
  readonly hash: string
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

/** What is wrong with a filter on the list of runs. */
export const checkFilter = ({ dueBy, limit, order, run }: Filter): InvalidInput | undefined =>
  firstProblem([
    ["run", run === undefined ? undefined : idProblem(run)],
    ["limit", limit === undefined ? undefined : integerProblem(limit, 0)],
    ["dueBy", dueBy === undefined ? undefined : timeProblem(dueBy)],
    [
      "order",
      order === undefined || ["newest", "oldest", "due"].includes(order)
        ? undefined
        : 'must be "newest", "oldest" or "due"'
    ]
  ])

type Problems = ReadonlyArray<readonly [string, string | undefined]>

const textProblem = (value: unknown, most: number): string | undefined => {
  if (typeof value !== "string") return `must be a string, is a ${typeof value}`
  if (value.length > most) return `must have at most ${most} characters, has ${value.length}`
  return value.includes("\u0000") || !value.isWellFormed() ? "must not contain a NUL or a lone surrogate" : undefined
}

const listingProblems = ({ desk, reason, startedAt, status, wakeAt }: Listing): Problems => [
  ["listing.status", idProblem(status)],
  ["listing.desk", idProblem(desk)],
  ["listing.startedAt", timeProblem(startedAt)],
  ["listing.wakeAt", wakeAt === undefined ? undefined : timeProblem(wakeAt)],
  ["listing.reason", reason === undefined ? undefined : textProblem(reason, 1000)]
]

const openProblems = (field: string, open: ReadonlyArray<OpenReview>): Problems =>
  open.flatMap(({ dueAt, kind, openedAt, review, task }, index): Problems => [
    [`${field}[${index}].review`, idProblem(review)],
    [`${field}[${index}].kind`, idProblem(kind)],
    [`${field}[${index}].task`, task === undefined ? undefined : textProblem(task, 1000)],
    [`${field}[${index}].openedAt`, timeProblem(openedAt)],
    [`${field}[${index}].dueAt`, dueAt === undefined ? undefined : timeProblem(dueAt)]
  ])

/** What is wrong with the arguments of listing a run anew. */
export const checkRelist = (run: string, listing: Listing, open: ReadonlyArray<OpenReview>): InvalidInput | undefined =>
  firstProblem([["run", idProblem(run)], ...listingProblems(listing), ...openProblems("open", open)])

/** What is wrong with the numbers of commands. */
export const checkNumbers = (commands: ReadonlyArray<number>): InvalidInput | undefined =>
  firstProblem(commands.map((id, index) => [`commands[${index}]`, integerProblem(id, 1)]))

/** The largest data of a command, in bytes of JSON as UTF-8. */
export const maxCommandBytes = 1024 * 1024

/** A command with its data as text, or the first thing in it that cannot be stored. */
export const commandOf = (
  command: Command
): Result.Result<Omit<Command, "data"> & { readonly data: string }, Reason> => {
  const { at, review, run, type } = command
  const problem = firstProblem([
    ["run", idProblem(run)],
    ["type", idProblem(type)],
    ["at", timeProblem(at)],
    ["review", review === undefined ? undefined : idProblem(review)]
  ])
  if (problem !== undefined) return Result.fail(problem)
  return Result.mapBoth(encode(command.data, maxCommandBytes), {
    onSuccess: (data) => ({ run, type, at, data, ...(review === undefined ? {} : { review }) }),
    onFailure: (refusal): Reason =>
      refusal._tag === "TooLarge"
        ? new ValueTooLarge({ run, index: 0, type, bytes: refusal.bytes, limit: maxCommandBytes })
        : new InvalidInput({ field: `data${refusal.path}`, problem: refusal.problem })
  })
}

/** A command as it is stored. */
export interface StoredCommand extends Omit<Left, "data"> {
  readonly data: string
}

/** A command as it is read. Data that somebody else has put there and that is not JSON says nothing. */
export const leftOf = (stored: StoredCommand): Left => {
  try {
    return { ...stored, data: JSON.parse(stored.data) }
  } catch {
    return { ...stored, data: null }
  }
}

/** The rows of one append, or the first thing in it that cannot be stored. */
export const rowsOf = (append: Append): Result.Result<ReadonlyArray<Row>, Reason> => {
  const { run, expected, events, handled = [], listing, reviews } = append
  const problem = firstProblem([
    ["run", idProblem(run)],
    ["expected", integerProblem(expected, 0)],
    ["events", events.length === 0 ? "must hold at least one event" : undefined],
    ...(listing === undefined ? [] : listingProblems(listing)),
    ...(reviews?.opened === undefined ? [] : openProblems("reviews.opened", reviews.opened)),
    ...(reviews?.closed ?? []).map((id, index) => [`reviews.closed[${index}]`, idProblem(id)] as const),
    ...handled.map((id, index) => [`handled[${index}]`, integerProblem(id, 1)] as const)
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
    rows.push({ run, version: expected + 1 + index, type: event.type, at: event.at, data: data.success, hash: "" })
  }
  return Result.succeed(rows)
}

/** The most events of one page, and the most text of it, except that a page holds at least one event. */
const pageEvents = 256
const pageChars = 1024 * 1024

/** Some events in a row, and the version after them when there are more to read. */
export interface Page<A> {
  readonly events: ReadonlyArray<A>
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
): Result.Result<Page<Recorded>, JournalCorrupt> => {
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

/** The next page of a run as it is stored: rows that are missing are left out. */
export const rawPageOf = (last: number, rows: Iterable<Row>): Page<Stored> => {
  const events: Array<Stored> = []
  let chars = 0
  for (const { at, data, hash, type, version } of rows) {
    events.push({ version, type, at, data, hash })
    chars += data.length
    if (events.length === pageEvents || chars >= pageChars) break
  }
  const next = (events.at(-1)?.version ?? last) + 1
  return { events, next: next <= last ? next : undefined }
}

const recordedOf = (row: Row): Recorded | undefined => {
  try {
    return { version: row.version, type: row.type, at: row.at, data: JSON.parse(row.data), hash: row.hash }
  } catch {
    return undefined
  }
}

/** Columns that hold nothing are properties that are not there. */
export const present = <A extends object>(row: { readonly [K in keyof A]: A[K] | null }): A =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as A
