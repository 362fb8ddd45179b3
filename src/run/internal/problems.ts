/**
 * What is wrong with a value, as data: the exact path, what was expected, and a short and safe sight of what was there.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

import { named } from "../../internal/redaction/keys.ts"
import { concealing } from "../../internal/redaction/schemas.ts"
import { defaults } from "../../Redaction.ts"

/** @since 0.1.0 */
export interface Problem extends Schema.Schema.Type<typeof Problem> {}

/**
 * One thing that is wrong with a value.
 *
 * **Details**
 *
 * - `path`: where, as in `limits.tokens` or `definitionOfDone[0].id`; empty for the value itself.
 * - `expectation`: reads on from the path, as in `is required` or `must be a whole number >= 0`.
 * - `actual`: what was there, shortened; empty when nothing was.
 *
 * @category models
 * @since 0.1.0
 */
export const Problem = Schema.Struct({
  path: Schema.String,
  expectation: Schema.String,
  actual: Schema.String
})

const shown = 48

/**
 * A text of at most `limit` characters, with a sign where something was cut.
 *
 * @since 0.1.0
 */
export const shorten = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const end = limit - 1
  // No character is cut in two: half of one would be refused where the text is sent on.
  return `${text.slice(0, isHigh(text.charCodeAt(end - 1)) ? end - 1 : end)}…`
}

/** Whether it is the first half of a character that has two. */
const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/**
 * A text from outside in short: secrets are taken out of it first, by the default rules, so that no half of one is left.
 *
 * @since 0.1.0
 */
export const shortened = (text: string, limit: number): string =>
  text.length <= limit ? text : shorten(defaults.text(text), limit)

/**
 * A short sight of any value. Objects are only counted, never printed: what lies in them is nobody's business in a log.
 * Secrets are taken out of texts by the default rules.
 *
 * @since 0.1.0
 */
export const show = (value: unknown): string => {
  try {
    return seen(value)
  } catch {
    return "what cannot be read"
  }
}

const seen = (value: unknown): string => {
  if (typeof value === "string") return JSON.stringify(shorten(defaults.text(value), shown))
  if (typeof value === "bigint") return shorten(`${value}n`, shown)
  if (Object.is(value, -0)) return "-0"
  if (Array.isArray(value)) return value.length === 1 ? "[1 item]" : `[${value.length} items]`
  if (Predicate.isFunction(value)) return "a function"
  if (Predicate.isObject(value)) {
    const count = Object.keys(value).length
    return count === 1 ? "{1 field}" : `{${count} fields}`
  }
  return String(value)
}

/**
 * A count with its noun: `1 task`, `2 tasks`.
 *
 * @since 0.1.0
 */
export const many = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/**
 * Whose time is over, and when it was.
 *
 * @since 0.1.0
 */
export const overdue = (id: string, at: number | undefined): string => {
  const when = at === undefined ? undefined : instant(at)
  return `the time of ${id} is over${when === undefined ? "" : ` (${when})`}`
}

/** A moment as a person reads it; nothing for a number that is none. */
export const instant = (at: number): string | undefined =>
  Option.getOrUndefined(Option.map(DateTime.make(at), DateTime.formatIso))

const plain = /^[A-Za-z_$][\w$-]*$/

/** @since 0.1.0 */
export const pathOf = (path: ReadonlyArray<PropertyKey>): string => {
  let text = ""
  for (const key of path) {
    if (typeof key === "number") text += `[${key}]`
    else if (typeof key === "string" && plain.test(key)) text += text === "" ? key : `.${key}`
    else text += `[${JSON.stringify(shorten(String(key), shown))}]`
  }
  return text
}

const required = "is required"
const unknownField = "is not a known field"

const articles: ReadonlyMap<string, string> = new Map([
  ["object", "an object"],
  ["array", "a list"],
  ["string", "a text"],
  ["number", "a number"],
  ["boolean", "true or false"],
  ["JSON value", "a plain JSON value"]
])

const expectationOf = (message: string): string => {
  if (!message.startsWith("Expected ")) return message
  const expected = message.slice(9)
  return `must be ${articles.get(expected) ?? expected}`
}

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    switch (issue._tag) {
      case "MissingKey":
        return required
      case "UnexpectedKey":
        return unknownField
      default:
        return expectationOf(SchemaIssue.defaultLeafHook(issue))
    }
  }
})

const missing = Symbol("missing")

const lookUp = (input: unknown, path: ReadonlyArray<PropertyKey>): unknown => {
  let value = input
  for (const key of path) {
    if (!Predicate.hasProperty(value, key) || !Object.hasOwn(value, key)) return missing
    value = value[key]
  }
  return value
}

/** Of what stands below the name of a secret, only that it is there. */
const sightOf = (value: unknown, keys: ReadonlyArray<PropertyKey>): string => {
  const secret = typeof value === "object" ? undefined : keys.findLast((key) => typeof key === "string" && named(key))
  return secret === undefined ? show(value) : `a ${typeof value}`
}

/**
 * What is wrong with an input, each with the keys that lead to it.
 *
 * @since 0.1.0
 */
export const issuesOf = (
  error: Schema.SchemaError,
  input: unknown
): ReadonlyArray<Omit<Problem, "path"> & { readonly keys: ReadonlyArray<PropertyKey> }> =>
  format(error.issue).issues.map(({ message, path }) => {
    const keys = (path ?? []).map((part): PropertyKey => (typeof part === "object" ? part.key : part))
    const actual = lookUp(input, keys)
    return {
      keys,
      expectation: expectationOf(message),
      actual: actual === missing || message === unknownField ? "" : sightOf(actual, keys)
    }
  })

/** @since 0.1.0 */
export const problemsOf = (error: Schema.SchemaError, input: unknown): ReadonlyArray<Problem> =>
  issuesOf(error, input).map(({ actual, expectation, keys }) => ({ path: pathOf(keys), expectation, actual }))

/**
 * One problem as half a sentence: `limits.tokens must be a whole number >= 0, got -1`.
 *
 * @since 0.1.0
 */
export const sentence = ({ actual, expectation, path }: Problem, subject = "the value"): string =>
  `${path === "" ? subject : path} ${expectation}${actual === "" ? "" : `, got ${actual}`}`

/**
 * Several half sentences as one text: the first five, or as many as are asked for, and how many there are beside them.
 *
 * @since 0.1.0
 */
export const joined = (said: ReadonlyArray<string>, most = 5): string => {
  const more = said.length - most
  return `${said.slice(0, most).join("; ")}${more <= 0 ? "" : ` (and ${more} more)`}`
}

/**
 * Problems as one text, see {@link joined}.
 *
 * @since 0.1.0
 */
export const sentences = (problems: ReadonlyArray<Problem>, subject?: string | undefined, most?: number): string =>
  problems.length === 0
    ? "no problem"
    : joined(
        problems.map((each) => sentence(each, subject)),
        most
      )

/**
 * What it says of anything that user code has thrown, also of what cannot be read.
 *
 * @since 0.1.0
 */
export const thrown = (error: unknown): string => {
  try {
    return shortened(String(Predicate.isError(error) ? error.message : error), 300)
  } catch {
    return "an error that cannot be read"
  }
}

/**
 * Decodes with a schema and answers with every problem instead of the first issue. A getter or a proxy that throws is a
 * problem too.
 *
 * @since 0.1.0
 */
export const decoder = <T, E>(
  schema: Schema.Codec<T, E>,
  excess: "ignore" | "error" = "ignore"
): ((input: unknown) => Result.Result<T, ReadonlyArray<Problem>>) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: excess })
  return (input) => guarded(() => Result.mapError(decode(input), (error) => problemsOf(error, input)))
}

/**
 * Encodes with a schema, with every problem as in {@link decoder}. What the schema marks as a secret is taken out.
 *
 * @since 0.1.0
 */
export const encoder = <T, E>(
  schema: Schema.Codec<T, E>
): ((value: unknown) => Result.Result<E, ReadonlyArray<Problem>>) => {
  const encode = Schema.encodeUnknownResult(schema, { errors: "all" })
  const conceal = concealing(schema)
  return (value) =>
    guarded(() =>
      Result.mapBoth(encode(value), {
        onFailure: (error) => problemsOf(error, value),
        // Where nothing is marked, it is as it was encoded; what stands in for a secret is a text.
        onSuccess: (encoded) => conceal(encoded) as E
      })
    )
}

const guarded = <A>(run: () => Result.Result<A, ReadonlyArray<Problem>>): Result.Result<A, ReadonlyArray<Problem>> => {
  try {
    return run()
  } catch (error) {
    return Result.fail([{ path: "", expectation: `must be readable: ${shorten(thrown(error), 120)}`, actual: "" }])
  }
}
