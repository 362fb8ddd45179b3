/**
 * What a failed HTTP response means, as a table that can be overridden.
 *
 * The first row that fits a response says its kind; a response that no row fits is `transient`. Rows of your own go in
 * front of {@link table}.
 *
 * | status | kind |
 * |---|---|
 * | 429 that speaks of a spent quota, 402 | `capability` |
 * | 403 that speaks of a rate limit, or says when to come back | `transient` |
 * | 400 that speaks of a context that is too long, 413 | `oversized` |
 * | 401, 403, 407 | `denied` |
 * | 400, 404, 405, 406, 410, 415, 422 | `capability` |
 * | 408, 425, 429, every 5xx, whatever is not in the table | `transient` |
 *
 * **Details**
 *
 * A `transient` response may say how long to wait: `retry-after-ms`, or `Retry-After` in seconds or as an HTTP date. What
 * cannot be read is left out.
 *
 * **Gotchas**
 *
 * A date is compared with the clock of this machine.
 *
 * **Example** (A gateway that throttles, and one row of one's own)
 *
 * ```ts
 * import { HttpFailure } from "espalier/run"
 *
 * const busy = { status: 503, headers: { "Retry-After": "2" } }
 * HttpFailure.classify(busy, 0) // => { kind: "transient", retryAfterMillis: 2_000 }
 *
 * const mine: HttpFailure.Table = [{ status: 409, body: "already exists", kind: "denied" }, ...HttpFailure.table]
 * const conflict = { status: 409, body: `{"error":"Already exists"}` }
 * HttpFailure.classify(conflict, 0, mine) // => { kind: "denied" }
 * HttpFailure.classify(conflict, 0) // => { kind: "transient" }
 * ```
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-retry-after
 * @since 0.1.0
 */

import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"

const StatusCode = Schema.Int.check(Schema.isBetween({ minimum: 100, maximum: 999 }, { expected: "a status code" }))

/** @since 0.1.0 */
export interface Row extends Schema.Schema.Type<typeof Row> {}

/**
 * One row, as plain JSON: a response that has all of what it names is of this kind.
 *
 * **Details**
 *
 * - `status`: a status code, or the first and the last of a range. Default any.
 * - `body`: a text that the body contains, in whatever case. Default any.
 * - `header`: the name of a header that is there, in whatever case. Default any.
 *
 * @category models
 * @since 0.1.0
 */
export const Row = Schema.Struct({
  status: Schema.optionalKey(Schema.Union([StatusCode, Schema.Tuple([StatusCode, StatusCode])])),
  body: Schema.optionalKey(Schema.NonEmptyString),
  header: Schema.optionalKey(Schema.NonEmptyString),
  kind: Failure.Kind
})

/**
 * Rows, the first that fits wins.
 *
 * @category models
 * @since 0.1.0
 */
export const Table = Schema.Array(Row)

/**
 * @category models
 * @since 0.1.0
 */
export type Table = typeof Table.Type

/**
 * The table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const table: Table = [
  // A quota that is spent does not come back by waiting; another provider has its own.
  { status: 429, body: "insufficient_quota", kind: "capability" },
  { status: 429, body: "exceeded your current quota", kind: "capability" },
  { status: 402, kind: "capability" },
  // Some say 403 where they mean 429.
  { status: 403, header: "retry-after", kind: "transient" },
  { status: 403, body: "rate limit", kind: "transient" },
  { status: 400, body: "context_length_exceeded", kind: "oversized" },
  { status: 400, body: "maximum context length", kind: "oversized" },
  { status: 400, body: "prompt is too long", kind: "oversized" },
  { status: 413, kind: "oversized" },
  { status: 401, kind: "denied" },
  { status: 403, kind: "denied" },
  { status: 407, kind: "denied" },
  { status: 408, kind: "transient" },
  { status: 425, kind: "transient" },
  { status: 429, kind: "transient" },
  { status: 400, kind: "capability" },
  { status: [404, 406], kind: "capability" },
  { status: 410, kind: "capability" },
  { status: 415, kind: "capability" },
  { status: 422, kind: "capability" },
  { status: [500, 599], kind: "transient" }
]

/**
 * As much of a failed response as is looked at.
 *
 * **Details**
 *
 * - `body`: its text, or the beginning of it. Default none.
 * - `headers`: a record, or pairs as `Headers` and `Map` give them; names in whatever case. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Response {
  readonly status: number
  readonly body?: string | undefined
  readonly headers?: Iterable<readonly [string, string]> | Readonly<Record<string, string | undefined>> | undefined
}

/**
 * What a response means.
 *
 * **Details**
 *
 * - `retryAfterMillis`: what a `transient` one asks to be left alone for, >= 0.
 *
 * @category models
 * @since 0.1.0
 */
export interface Classified {
  readonly kind: Failure.Kind
  readonly retryAfterMillis?: number
}

const headersOf = ({ headers = {} }: Response): ReadonlyMap<string, string> => {
  const pairs = Predicate.isIterable(headers) ? headers : Object.entries(headers)
  const found = new Map<string, string>()
  for (const [name, value] of pairs) if (value !== undefined) found.set(name.toLowerCase(), value)
  return found
}

const fits = (row: Row, status: number, body: string, headers: ReadonlyMap<string, string>): boolean => {
  const [first, last] = typeof row.status === "number" ? [row.status, row.status] : (row.status ?? [0, Infinity])
  return (
    status >= first &&
    status <= last &&
    (row.body === undefined || body.includes(row.body.toLowerCase())) &&
    (row.header === undefined || headers.has(row.header.toLowerCase()))
  )
}

/**
 * The first row that fits a failed response, or `undefined` when there is none.
 *
 * @category classification
 * @since 0.1.0
 */
export const rowOf = (response: Response, by: Table = table): Row | undefined => {
  const headers = headersOf(response)
  const body = (response.body ?? "").toLowerCase()
  return by.find((row) => fits(row, response.status, body, headers))
}

/**
 * The kind of a failed response, read at the time `at` in milliseconds since 1970.
 *
 * @category classification
 * @since 0.1.0
 */
export const classify = (response: Response, at: number, by: Table = table): Classified => {
  const kind = rowOf(response, by)?.kind ?? "transient"
  if (kind !== "transient") return { kind }
  const headers = headersOf(response)
  const asks = parseMillis(headers.get("retry-after-ms")) ?? retryAfter(headers.get("retry-after") ?? "", at)
  return asks === undefined ? { kind } : { kind, retryAfterMillis: asks }
}

/**
 * A failed response as a marked error: `HTTP 503`, with its kind and what it asks to be left alone for. The body is left
 * out: it may say what is nobody's business in a log.
 *
 * @category constructors
 * @since 0.1.0
 */
export const failure = (response: Response, at: number, by: Table = table): Failure.Failure =>
  new Failure.Failure({ ...classify(response, at, by), reason: `HTTP ${response.status}` })

const number = /^\d{1,15}(\.\d{1,9})?$/

const parseMillis = (text: string | undefined): number | undefined =>
  text !== undefined && number.test(text.trim()) ? Number(text) : undefined

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

/** The three forms of an HTTP date: the one in use, and the two that a recipient has to know. */
const dates: ReadonlyArray<RegExp> = [
  /^[a-z]{3}, (?<day>\d{2}) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) gmt$/,
  /^[a-z]{6,9}, (?<day>\d{2})-(?<month>[a-z]{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) gmt$/,
  /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/
]

/** A year of two digits is the one that lies less than 50 years ahead. */
const fullYear = (year: string, at: number): number => {
  if (year.length === 4) return Number(year)
  const now = DateTime.getPartUtc(DateTime.makeUnsafe(at), "year")
  const guess = now - (now % 100) + Number(year)
  return guess > now + 50 ? guess - 100 : guess
}

const dateOf = (text: string, at: number): number | undefined => {
  for (const form of dates) {
    const found = form.exec(text.toLowerCase())?.groups
    if (found === undefined) continue
    const { day = "", month = "", time = "", year = "" } = found
    const index = months.indexOf(month)
    if (index < 0) return undefined
    const two = (value: number | string): string => String(value).trim().padStart(2, "0")
    const iso = `${String(fullYear(year, at)).padStart(4, "0")}-${two(index + 1)}-${two(day)}T${time}.000Z`
    const made = DateTime.make(iso)
    // The 31st of February is not the 3rd of March.
    return Option.isSome(made) && DateTime.formatIso(made.value) === iso ? made.value.epochMilliseconds : undefined
  }
  return undefined
}

/**
 * Reads the value of a `Retry-After` header at the time `at` in milliseconds since 1970: milliseconds from there, >= 0, or
 * `undefined` for what is neither seconds nor an HTTP date.
 *
 * **Details**
 *
 * A date that has passed is 0.
 *
 * @category classification
 * @since 0.1.0
 */
export const retryAfter = (value: string, at: number): number | undefined => {
  const text = value.trim()
  const seconds = parseMillis(text)
  if (seconds !== undefined) return seconds * 1_000
  const date = dateOf(text, at)
  return date === undefined ? undefined : Math.max(0, date - at)
}
