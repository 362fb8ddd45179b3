/**
 * What a reviewer changes in the arguments of a proposed action, and which action an approval is for.
 *
 * A change names a place by a JSON Pointer and gives the value that is to stand there. The proposal stays as it was; what
 * comes of it is a value of its own that nobody can change.
 *
 * **Details**
 *
 * - Only what was declared as editable may be changed: the named places and what lies below them.
 * - A place must be there already. A field that is named as editable itself may be added to an object that is there.
 * - Nothing is removed and nothing is appended to a list: where that is meant, the whole field or list is given anew.
 * - A value is taken as it is: `"1"` stays a text, and `null` is a value and not the absence of one.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import { sha256 } from "../../journal/internal/sha256.ts"
import { canonical } from "./canonical.ts"
import { owned } from "./plain.ts"
import { indexIn, isFields, isList, isWithin, pointerExpected, pointerOf, tokensOf, valueAt } from "./pointers.ts"
import { joined, many, type Problem, shorten } from "./problems.ts"

type Tokens = ReadonlyArray<string>

/** How many places may be named, as editable or in one decision. */
const most = 100

/** A field of this name could become the prototype of an object that is made from it. */
const forbidden = "__proto__"

const problem = (path: string, expectation: string): Problem => ({ path, expectation, actual: "" })

/** A pointer that may be used here, or what is wrong with it. */
const usable = (pointer: unknown): EffectResult.Result<Tokens, string> => {
  const tokens = tokensOf(pointer)
  if (tokens === undefined) return EffectResult.fail(pointerExpected)
  return tokens.includes(forbidden)
    ? EffectResult.fail(`must not lead through a field named ${forbidden}`)
    : EffectResult.succeed(tokens)
}

/**
 * What is wrong with a list of editable places, each with the place in the list as its path.
 *
 * @since 0.1.0
 */
export const editableProblems = (pointers: ReadonlyArray<string>): ReadonlyArray<Problem> => {
  if (pointers.length > most) return [problem("editable", `must have at most ${most} pointers`)]
  const seen = new Set<string>()
  return pointers.flatMap((pointer, index) => {
    const path = `editable[${index}]`
    const tokens = usable(pointer)
    if (EffectResult.isFailure(tokens)) return [problem(path, tokens.failure)]
    if (seen.has(pointer)) return [problem(path, "must not be named twice")]
    seen.add(pointer)
    return []
  })
}

/** Whether a field that could become a prototype stands anywhere in a value. */
const hides = (value: Schema.Json): boolean =>
  isList(value)
    ? value.some(hides)
    : isFields(value) && Object.entries(value).some(([key, field]) => key === forbidden || hides(field))

/** What keeps a place from being changed, if anything does. */
const closed = (args: Schema.Json, tokens: Tokens, editable: ReadonlyArray<Tokens>): string | undefined => {
  if (!editable.some((above) => isWithin(tokens, above))) {
    return editable.length === 0
      ? "must not be changed: nothing is editable here"
      : `must lie in what may be changed: ${joined(editable.map((each) => shorten(JSON.stringify(pointerOf(each)), 80)))}`
  }
  if (valueAt(args, tokens) !== undefined) return undefined
  const parent = valueAt(args, tokens.slice(0, -1))
  if (parent === undefined) return "must be there in the proposal"
  if (isList(parent)) return `must be an item of the list, which has ${many(parent.length, "item")}`
  if (!isFields(parent)) return "must be there in the proposal, where a value without fields stands above it"
  return editable.some((each) => each.length === tokens.length && isWithin(tokens, each))
    ? undefined
    : "must be there in the proposal, or be named as editable itself"
}

/** The same value with another one in one place. */
const put = (value: Schema.Json, tokens: Tokens, given: Schema.Json): Schema.Json => {
  const [token, ...rest] = tokens
  if (token === undefined) return given
  if (isList(value)) {
    const at = indexIn(value, token)
    return value.map((item, index) => (index === at ? put(item, rest, given) : item))
  }
  if (!isFields(value)) return value
  // Defined one by one and not assigned: no name of a field means anything here.
  const fields = new Map(Object.entries(value))
  return Object.fromEntries(fields.set(token, put(fields.get(token) ?? null, rest, given)))
}

/**
 * The arguments with the changes of a reviewer, or everything that is wrong with those; the path of a problem is the
 * pointer.
 *
 * **Details**
 *
 * - Two changes of which one lies in the other are refused: what they came to would depend on their order.
 * - Changes that change nothing are none that is wrong; {@link differences} has what came of them.
 *
 * @since 0.1.0
 */
export const applyEdits = (
  args: Schema.Json,
  edits: Readonly<Record<string, Schema.Json>>,
  editable: ReadonlyArray<string>
): EffectResult.Result<Schema.Json, ReadonlyArray<Problem>> => {
  const undeclared = editableProblems(editable)
  if (undeclared.length > 0) return EffectResult.fail(undeclared)
  const entries = Object.entries(edits)
  if (entries.length > most) return EffectResult.fail([problem("", `must have at most ${most} changes`)])
  const proposal = owned(args, "")
  if (EffectResult.isFailure(proposal)) return EffectResult.fail([proposal.failure])
  const open = editable.flatMap((pointer) => {
    const tokens = tokensOf(pointer)
    return tokens === undefined ? [] : [tokens]
  })
  const problems: Array<Problem> = []
  const taken: Array<Tokens> = []
  let edited = proposal.success
  for (const [pointer, value] of entries) {
    const refuse = (expectation: string) => problems.push(problem(shorten(pointer, 1024), expectation))
    const tokens = usable(pointer)
    if (EffectResult.isFailure(tokens)) {
      refuse(tokens.failure)
      continue
    }
    const place = tokens.success
    const reason = closed(proposal.success, place, open)
    const other = taken.find((each) => isWithin(place, each) || isWithin(each, place))
    const given = owned(value, pointer)
    taken.push(place)
    if (reason !== undefined) refuse(reason)
    else if (other !== undefined) refuse(`must not be changed together with ${JSON.stringify(pointerOf(other))}`)
    else if (EffectResult.isFailure(given)) problems.push(given.failure)
    else if (hides(given.success)) refuse(`must not have a field named ${forbidden}`)
    else edited = put(edited, place, given.success)
  }
  if (problems.length > 0) return EffectResult.fail(problems)
  return EffectResult.mapError(owned(edited, ""), (large) => [large])
}

/**
 * Something that differs between two values. Absent is what was not there, or is not there any more.
 *
 * @since 0.1.0
 */
export interface Difference {
  readonly pointer: string
  readonly before?: Schema.Json
  readonly after?: Schema.Json
}

/**
 * Where two values differ, as deep inside as it can be told; fields by their names, items in their order.
 *
 * @since 0.1.0
 */
export const differences = (before: Schema.Json, after: Schema.Json): ReadonlyArray<Difference> => {
  const found: Array<Difference> = []
  const compare = (a: Schema.Json | undefined, b: Schema.Json | undefined, tokens: ReadonlyArray<string>): void => {
    if (a !== undefined && b !== undefined) {
      if (isList(a) && isList(b)) {
        for (let index = 0; index < Math.max(a.length, b.length); index++) {
          compare(a[index], b[index], [...tokens, String(index)])
        }
        return
      }
      if (isFields(a) && isFields(b)) {
        for (const key of new Set([...Object.keys(a), ...Object.keys(b)].toSorted())) {
          compare(valueAt(a, [key]), valueAt(b, [key]), [...tokens, key])
        }
        return
      }
      if (canonical(a) === canonical(b)) return
    }
    found.push({
      pointer: pointerOf(tokens),
      ...(a === undefined ? {} : { before: a }),
      ...(b === undefined ? {} : { after: b })
    })
  }
  compare(before, after, [])
  return found
}

/**
 * An action as far as an approval of it goes.
 *
 * **Details**
 *
 * - `args`: the effective ones, which would be executed now. `target`: what it is done to, when that is known.
 * - `policy`: the policy that asked, with its version.
 *
 * Nothing of prose and nothing of time belongs to it: the same action is the same one tomorrow, and in other words.
 *
 * @since 0.1.0
 */
export interface Action {
  readonly tool: string
  readonly version: string
  readonly args: Schema.Json
  readonly target?: Schema.Json | undefined
  readonly run: string
  readonly task: string
  readonly policy: Schema.Json
}

const encoder = new TextEncoder()

/**
 * The SHA-256 of an action, 64 hexadecimal digits. Another action has another one, whatever stands in its names, because
 * they are hashed as one canonical JSON text; the order of fields does not matter.
 *
 * @since 0.1.0
 */
export const digestOfAction = ({ args, policy, run, target, task, tool, version }: Action): string =>
  sha256(encoder.encode(canonical(["espalier/action", 1, { args, policy, run, target, task, tool, version }])))
