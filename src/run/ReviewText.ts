/**
 * What is said of a question to people once it is settled: to the worker or the model that wanted the action, and to people.
 *
 * The text follows from how the question was settled and from nothing else. It says what happened and what did not; it never
 * says what is going to happen. An action that nobody approved was not executed, and each text about one says so.
 *
 * **Details**
 *
 * - Both audiences are told the same. A worker is also told what follows for it: not to repeat the call, or to ask again only
 *   if it is still needed.
 * - What people have written, names, and arguments stand in quotes as JSON, on one line, shortened, and without secrets by
 *   the default rules. It is data: a model should not take it for an instruction.
 *
 * **Gotchas**
 *
 * An approval is not an execution. What became of an approved action is told by its `outcome`; where that is absent, nothing
 * is said about it.
 *
 * **Example** (A reviewer has changed a call)
 *
 * ```ts
 * import { ReviewText } from "espalier/run"
 *
 * const resolution: ReviewText.Resolution = {
 *   _tag: "ApprovedWithEdits",
 *   by: "ada",
 *   changes: [{ pointer: "/to", before: "all", after: "team" }],
 *   outcome: "executed"
 * }
 * const said = ReviewText.forPerson(resolution, "mail.send").split(". ")
 * said[0] // => 'The call of "mail.send" was approved by "ada" with changes'
 * said[1] // => "The original call was not executed"
 * said[2] // => 'Changed by the reviewer: "/to" from "all" to "team"'
 * said[3] // => "The call with these changes was executed."
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { defaults } from "../Redaction.ts"
import { Text } from "./internal/fields.ts"
import { pointerExpected, tokensOf, valueAt } from "./internal/pointers.ts"
import { many, shorten } from "./internal/problems.ts"

/**
 * What became of an action that was approved.
 *
 * **Details**
 *
 * - `executed`, `failed`: it was done, or begun and failed.
 * - `unknown`: it was begun, and nobody knows what came of it.
 * - `lapsed`: the time of the approval was over before it was begun.
 *
 * @category models
 * @since 0.1.0
 */
export const Outcome = Schema.Literals(["executed", "failed", "unknown", "lapsed"])

/**
 * @category models
 * @since 0.1.0
 */
export type Outcome = typeof Outcome.Type

/** @since 0.1.0 */
export interface Change extends Schema.Schema.Type<typeof Change> {}

/**
 * An argument that a reviewer has changed.
 *
 * **Details**
 *
 * - `pointer`: where, as a JSON Pointer. `before`, `after`: absent is what was not there, or is not there any more; `null` is
 *   a value.
 *
 * @category models
 * @since 0.1.0
 */
export const Change = Schema.Struct({
  pointer: Schema.String.check(
    Schema.makeFilter((pointer: string) => tokensOf(pointer) !== undefined || pointerExpected)
  ),
  before: Schema.optionalKey(Schema.Json),
  after: Schema.optionalKey(Schema.Json)
})

/**
 * What is done about a question that nobody has answered and that is not approved: the action is refused, its task is ended,
 * or the question stays open.
 *
 * @category models
 * @since 0.1.0
 */
export const Unanswered = Schema.Literals(["reject", "halt", "hold"])

/**
 * @category models
 * @since 0.1.0
 */
export type Unanswered = typeof Unanswered.Type

const outcome = Schema.optionalKey(Outcome)
const reason = Schema.optionalKey(Text)

/**
 * How a question was settled.
 *
 * **Details**
 *
 * - `Approved`, `ApprovedWithEdits`: by a person, as it was or with `changes`.
 * - `ApprovedByPolicy`: by no person; the policy says that silence approves. `cause`: why nobody has decided.
 * - `Rejected`: by a person. `doNotRetry`: whether it may not be tried in another form, either.
 * - `RejectedRepeat`: the same call as one that was rejected before, with the reason that was given then.
 * - `Expired`: nobody has decided in time. `NoReviewer`: there was nobody who may.
 * - `Withdrawn`: nobody has to decide any more. `Superseded`: the question was replaced by another one, `by`.
 *
 * @category models
 * @since 0.1.0
 */
export const Resolution = Schema.Union([
  Schema.TaggedStruct("Approved", { by: Text, reason, outcome }),
  Schema.TaggedStruct("ApprovedWithEdits", { by: Text, changes: Schema.NonEmptyArray(Change), reason, outcome }),
  Schema.TaggedStruct("ApprovedByPolicy", { cause: Schema.Literals(["expired", "no-reviewer"]), outcome }),
  Schema.TaggedStruct("Rejected", { by: Text, reason: Text, doNotRetry: Schema.Boolean }),
  Schema.TaggedStruct("RejectedRepeat", { reason: Text }),
  Schema.TaggedStruct("Expired", { action: Unanswered }),
  Schema.TaggedStruct("NoReviewer", { action: Unanswered }),
  Schema.TaggedStruct("Withdrawn", { reason: Text }),
  Schema.TaggedStruct("Superseded", { by: Text, reason })
])

/**
 * @category models
 * @since 0.1.0
 */
export type Resolution = typeof Resolution.Type

/** Characters of what people have written, of names, and of the JSON of a value. */
const longest = { reason: 500, name: 120, value: 200 }

/** Changes that are told one by one. */
const mostChanges = 10

/** What would break a line, turn its direction or be no character at all. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
    .map((unit) => String.raw`\u${unit.toString(16).padStart(4, "0")}`)
    .join("")

const json = (value: Schema.Json): string => JSON.stringify(value).replace(unseen, escaped)

const quoted = (text: string, limit: number): string => json(shorten(defaults.text(text), limit))

const nameOf = (name: string): string => quoted(name, longest.name)

/** A value as JSON; of a longer one its beginning. What stands under the name of a secret is not shown. */
const shown = (pointer: string, value: Schema.Json): string => {
  const tokens = tokensOf(pointer) ?? []
  const inPlace = tokens.reduceRight<Schema.Json>((inner, token) => ({ [token]: inner }), value)
  const safe = valueAt(defaults.value(inPlace), tokens)
  if (safe === undefined) return "a value that is not shown"
  const text = json(safe)
  return text.length <= longest.value ? text : `JSON that begins with ${json(shorten(text, longest.value))}`
}

const changed = ({ after, before, pointer }: Change): string => {
  const place = nameOf(pointer)
  if (before === undefined) return after === undefined ? place : `${place} added as ${shown(pointer, after)}`
  if (after === undefined) return `${place} removed, it was ${shown(pointer, before)}`
  return `${place} from ${shown(pointer, before)} to ${shown(pointer, after)}`
}

const listed = (changes: ReadonlyArray<Change>): string => {
  const more = changes.length - mostChanges
  const said = changes.slice(0, mostChanges).map(changed).join("; ")
  return `Changed by the reviewer: ${said}${more > 0 ? `; and ${many(more, "more change")}` : ""}.`
}

const given = (reason: string | undefined, what = "Reason"): ReadonlyArray<string> =>
  reason === undefined ? [] : [`${what}, quoted as data: ${quoted(reason, longest.reason)}.`]

/** Sentences: `said` to everybody, `advice` to the worker. */
interface Told {
  readonly said: ReadonlyArray<string>
  readonly advice: ReadonlyArray<string>
}

const ifNeeded = "Ask again only if it is still needed."

/** What became of what was approved; nothing where it is not known. */
const became = (what: string, outcome: Outcome | undefined): Told => {
  switch (outcome) {
    case undefined:
      return { said: [], advice: [] }
    case "executed":
      return { said: [`${what} was executed.`], advice: [] }
    case "failed":
      return { said: [`${what} was begun and failed.`], advice: [] }
    case "unknown":
      return {
        said: [`${what} was begun, and nobody knows whether it was executed.`],
        advice: ["Do not repeat it to find out."]
      }
    case "lapsed":
      return { said: [`The approval lapsed before it was used, so ${low(what)} was not executed.`], advice: [ifNeeded] }
  }
}

const low = (text: string): string => `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`

const unanswered = (action: Unanswered): Told => {
  switch (action) {
    case "reject":
      return { said: ["It was not executed, and nobody rejected it."], advice: [ifNeeded] }
    case "halt":
      return {
        said: ["It was not executed, and nobody rejected it. The rule for this is to end the task."],
        advice: []
      }
    case "hold":
      return {
        said: ["It was not executed, and nobody rejected it. The question is still open."],
        advice: ["Do not ask again."]
      }
  }
}

const told = (resolution: Resolution, call: string): Told => {
  const Call = `The ${call}`
  switch (resolution._tag) {
    case "Approved": {
      const { advice, said } = became("It", resolution.outcome)
      const approved = `${Call} was approved by ${nameOf(resolution.by)}.`
      return { said: [approved, ...given(resolution.reason), ...said], advice }
    }
    case "ApprovedWithEdits": {
      const { by, changes, outcome, reason } = resolution
      const { advice, said } = became("The call with these changes", outcome)
      const approved = `${Call} was approved by ${nameOf(by)} with changes. The original call was not executed.`
      return {
        said: [approved, listed(changes), ...given(reason), ...said],
        advice: ["Do not repeat the original call.", ...advice]
      }
    }
    case "ApprovedByPolicy": {
      const { advice, said } = became("It", resolution.outcome)
      return { said: [silent(resolution.cause, call), "Its policy approved it, and no person did.", ...said], advice }
    }
    case "Rejected": {
      const { by, doNotRetry, reason } = resolution
      return {
        said: [`${Call} was rejected by ${nameOf(by)}. It was not executed.`, ...given(reason)],
        advice: [doNotRetry ? "Do not try it again, in this form or in another." : "Do not repeat it as it is."]
      }
    }
    case "RejectedRepeat":
      return {
        said: [
          `${Call} is the same as one that was rejected before. It was not executed.`,
          ...given(resolution.reason, "The reason that was given then")
        ],
        advice: ["Do not try it again."]
      }
    case "Expired":
    case "NoReviewer": {
      const { advice, said } = unanswered(resolution.action)
      return { said: [silent(resolution._tag === "Expired" ? "expired" : "no-reviewer", call), ...said], advice }
    }
    case "Withdrawn":
      return {
        said: [
          `The question about the ${call} was withdrawn. The call was not executed, and nobody rejected it.`,
          ...given(resolution.reason)
        ],
        advice: [ifNeeded]
      }
    case "Superseded":
      return {
        said: [
          `The question about the ${call} was replaced by ${nameOf(resolution.by)}. The call was not executed, and nobody rejected it.`,
          ...given(resolution.reason)
        ],
        advice: ["Do not ask again."]
      }
  }
}

const silent = (cause: "expired" | "no-reviewer", call: string): string =>
  cause === "expired"
    ? `Nobody decided about the ${call} in time.`
    : `There was nobody who may decide about the ${call}.`

const callOf = (tool: string | undefined): string => (tool === undefined ? "call" : `call of ${nameOf(tool)}`)

/**
 * What is said to people.
 *
 * **Details**
 *
 * - `tool`: what was to be called. Default: it is not named.
 *
 * @category operations
 * @since 0.1.0
 */
export const forPerson = (resolution: Resolution, tool?: string): string =>
  told(resolution, callOf(tool)).said.join(" ")

/**
 * What is said to the worker or the model that wanted the action: what people are told, and what follows for it.
 *
 * **Details**
 *
 * - `tool`: what was to be called. Default: it is not named.
 *
 * @category operations
 * @since 0.1.0
 */
export const forWorker = (resolution: Resolution, tool?: string): string => {
  const { advice, said } = told(resolution, callOf(tool))
  return [...said, ...advice].join(" ")
}
