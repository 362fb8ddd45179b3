/**
 * One turn of a model: what it said, as it is recorded, and what has to be done about it.
 *
 * | the model | then |
 * |---|---|
 * | calls one ending, and nothing else | the work ends |
 * | calls tools, an ending among them or not | the tools are called; an ending is told to come alone |
 * | was cut while it answered | told so; nothing that it called is done |
 * | says something, or nothing, and calls nothing | told to call something |
 * | was paused by its provider | it goes on |
 * | was kept from answering by a content policy | a `capability` failure |
 * | does not say why it stopped, or ends with an error | a `malformed` failure |
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import * as Schema from "effect/Schema"

import { isRecord } from "../../run/internal/given.ts"
import { many, shorten } from "../../run/internal/problems.ts"
import { deliver, giveUp } from "./endings.ts"

/**
 * The result of a call that is not what an effect has recorded: it failed, or it was never done.
 *
 * **Details**
 *
 * - `refused`: it was not in scope, or its gate denied it. `misfit`: its arguments did not fit.
 */
export const Failed = Schema.Struct({
  call: Schema.String,
  text: Schema.String,
  what: Schema.Literals(["failed", "refused", "misfit", "not-done"])
})

/** @since 0.1.0 */
export interface Failed extends Schema.Schema.Type<typeof Failed> {}

/**
 * A turn as it is recorded.
 *
 * **Details**
 *
 * - `parts`: what the model answered. `before`: the calls of the turn before that failed, as the model was told of them.
 * - `provider`, `model`: who answered.
 * - `tokens`: what the provider said of the size of the prompt. `harder`: it was made smaller, because it was too long.
 * - `beyond`: how many calls it had beside those that are here, which are all that one turn may have.
 */
export const Turn = Schema.Struct({
  parts: Schema.Array(Schema.Record(Schema.String, Schema.Json)),
  before: Schema.Array(Failed),
  provider: Schema.String,
  model: Schema.String,
  tokens: Schema.optionalKey(Schema.Int),
  harder: Schema.optionalKey(Schema.Boolean),
  beyond: Schema.optionalKey(Schema.Int)
})

/** @since 0.1.0 */
export interface Turn extends Schema.Schema.Type<typeof Turn> {}

/** A call of a tool, as a model asked for it. */
export interface Call {
  readonly id: string
  readonly name: string
  readonly params: unknown
}

/** @since 0.1.0 */
export type Step =
  | { readonly _tag: "Deliver"; readonly call: Call }
  | { readonly _tag: "GiveUp"; readonly call: Call }
  | { readonly _tag: "Call"; readonly calls: ReadonlyArray<Call> }
  | { readonly _tag: "Correct"; readonly calls: ReadonlyArray<Call>; readonly why: string }
  | { readonly _tag: "GoOn" }
  | { readonly _tag: "Fail"; readonly kind: "capability" | "malformed"; readonly reason: string }

/** What a turn says, in the words of the conversation. */
export interface Said {
  readonly message: Prompt.Message | undefined
  readonly calls: ReadonlyArray<Call>
  readonly text: string
  readonly finish: Response.FinishReason | undefined
}

/** What of an answer is read. Requests for approval, for one, are not: whoever may approve does not do it in a conversation. */
const kept: ReadonlySet<unknown> = new Set(["text", "reasoning", "tool-call", "finish"])

/** The parts of an answer that are recorded, with at most so many calls, and how many calls there were beside them. */
export const bounded = (
  parts: ReadonlyArray<{ readonly type: string }>,
  most: number
): Pick<Turn, "parts" | "beyond"> => {
  let calls = 0
  const within = parts.filter(({ type }) => kept.has(type) && (type !== "tool-call" || ++calls <= most))
  return { parts: within as unknown as Turn["parts"], ...(calls > most ? { beyond: calls - most } : {}) }
}

/** What a model is told whose calls were too many. */
export const tooMany = (beyond: number, most: number): string =>
  `${many(beyond, "call")} of your last turn had no place in it and were not done: a turn may have ${most}`

const isFinish = Schema.is(Response.FinishReason)

const text = (value: unknown): string => (typeof value === "string" ? value : "")

const idPattern = /^[\w-]{1,100}$/

/**
 * Reads a turn. `taken`: the ids of the calls so far, to which those of this one are added; one that is there already, or that no
 * provider would take back, gets another id.
 */
export const read = ({ parts }: Pick<Turn, "parts">, number: number, taken: Set<string>): Said => {
  const content: Array<Prompt.AssistantMessagePartEncoded> = []
  const calls: Array<Call> = []
  const said: Array<string> = []
  let finish: Response.FinishReason | undefined
  parts.forEach((part, index) => {
    const options = (part["metadata"] ?? {}) as Prompt.ProviderOptions
    switch (part["type"]) {
      case "text": {
        if (text(part["text"]).trim() === "") return
        said.push(text(part["text"]))
        content.push({ type: "text", text: text(part["text"]).toWellFormed(), options })
        return
      }
      case "reasoning": {
        content.push({ type: "reasoning", text: text(part["text"]).toWellFormed(), options })
        return
      }
      case "tool-call": {
        const own = text(part["id"])
        let id = idPattern.test(own) ? own : `call_${number}_${index}`
        for (let again = 0; taken.has(id); again++) id = `call_${number}_${index}_${again}`
        taken.add(id)
        const { name, params } = part
        calls.push({ id, name: text(name), params })
        content.push({ type: "tool-call", id, name: nameOf(text(name)), params: paramsOf(params), options })
        return
      }
      case "finish": {
        if (isFinish(part["reason"])) finish = part["reason"]
      }
    }
  })
  const message = content.length === 0 ? undefined : Prompt.make([{ role: "assistant" as const, content }]).content[0]
  return { message, calls, text: said.join("\n"), finish }
}

/** Without lone surrogates, for which a provider would refuse the whole prompt, and every later one. */
const wellFormed = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed()
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(wellFormed)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]))
}

/** A name that a provider takes back. */
const nameOf = (name: string): string => (/^[\w-]{1,64}$/.test(name) ? name : "unknown")

/** Arguments that a provider takes back: a record. */
const paramsOf = (params: unknown): unknown =>
  isRecord(params)
    ? wellFormed(params)
    : { malformed: shorten(typeof params === "string" ? params : JSON.stringify(params ?? null), 500) }

/** What has to be done about a turn: the table of the module. */
export const stepOf = ({ calls, finish, text }: Said): Step => {
  switch (finish) {
    case "content-filter":
      return { _tag: "Fail", kind: "capability", reason: "the model was kept from answering by a content policy" }
    case "length":
      return {
        _tag: "Correct",
        calls,
        why: "Your answer was cut because it was too long. Nothing of it was done. Be shorter"
      }
    case "pause":
      return calls.length === 0 ? { _tag: "GoOn" } : { _tag: "Call", calls }
    case "stop":
    case "tool-calls":
      break
    case "error":
      return { _tag: "Fail", kind: "malformed", reason: "the model ended its answer with an error" }
    case "other":
    case "unknown":
    case undefined:
      return { _tag: "Fail", kind: "malformed", reason: "the model does not say why it stopped" }
  }
  const [first] = calls
  if (first === undefined) {
    const what = text === "" ? "You have said nothing" : "Text by itself is read by nobody"
    return { _tag: "Correct", calls, why: `${what}. Call \`${deliver}\` with your result, or another tool` }
  }
  if (calls.length === 1 && first.name === deliver) return { _tag: "Deliver", call: first }
  if (calls.length === 1 && first.name === giveUp) return { _tag: "GiveUp", call: first }
  return { _tag: "Call", calls }
}

/** What an ending is told that does not come alone. */
export const notAlone =
  "This was not done: it has to be the only call of its turn. Look at the results of the others first"

/** Whether a call is one of the endings. */
export const isEnding = ({ name }: Call): boolean => name === deliver || name === giveUp

/** The result of a call, as the model is told. */
export interface Told {
  readonly call: Call
  readonly result: Schema.Json
  readonly isFailure: boolean
}

/** The results of a turn, in the order of its calls. */
export const results = (told: ReadonlyArray<Told>): Prompt.Message =>
  Prompt.toolMessage({
    content: told.map(({ call, isFailure, result }) =>
      Prompt.toolResultPart({
        id: call.id,
        name: nameOf(call.name),
        isFailure,
        result: wellFormed(result),
        providerExecuted: false
      })
    )
  })

/** Something that the model is told beside results. */
export const remark = (text: string): Prompt.Message =>
  Prompt.userMessage({ content: [Prompt.textPart({ text: text.toWellFormed() })] })
