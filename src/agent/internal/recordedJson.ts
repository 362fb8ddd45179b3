/**
 * Requests, answers and errors of a model as plain JSON, and the first difference of two requests.
 */
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

import type { Redaction } from "../../Redaction.ts"

const asJson = (value: unknown): Schema.Json => {
  const text = JSON.stringify(value)
  return text === undefined ? null : (JSON.parse(text) as Schema.Json)
}

const encodePrompt = Schema.encodeUnknownSync(Schema.toCodecJson(Prompt.Prompt))

const schemaOf = (make: () => unknown): Schema.Json => {
  try {
    return asJson(make())
  } catch {
    return null // a schema that has no JSON schema is told by its name alone
  }
}

/** What a request is known by. */
export const requestJson = (
  method: "generateText" | "streamText",
  { prompt, responseFormat, toolChoice, tools }: LanguageModel.ProviderOptions,
  outputLimit: number | undefined
): Schema.Json =>
  asJson({
    method,
    prompt: encodePrompt(prompt),
    tools: tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: schemaOf(() => Tool.getJsonSchema(tool))
    })),
    toolChoice,
    responseFormat:
      responseFormat.type === "text"
        ? responseFormat
        : {
            type: "json",
            objectName: responseFormat.objectName,
            schema: schemaOf(() => Tool.getJsonSchemaFromSchema(responseFormat.schema))
          },
    outputLimit
  })

const encodePart = Schema.encodeUnknownSync(Response.AllParts())

/** A part of an answer as a provider gives it. What is said about the exchange over HTTP is left out. */
export const partJson = (part: Response.AnyPart): Schema.Json => {
  const { response: _, ...rest } = encodePart(part) as Response.FinishPartEncoded
  return asJson(rest)
}

const keptHeaders = ["retry-after", "retry-after-ms"]

const cleanHttp = ({ response }: typeof AiError.HttpContext.Type): typeof AiError.HttpContext.Type =>
  response === undefined
    ? {}
    : {
        response: {
          status: response.status,
          headers: Object.fromEntries(
            Object.entries(response.headers).filter(
              ([name, value]) => keptHeaders.includes(name.toLowerCase()) && typeof value === "string"
            )
          )
        }
      }

/** The deltas of one text, tool call or reasoning belong together: a secret may be in two of them. */
export const wholeDeltas = (parts: ReadonlyArray<Schema.Json>, by: Redaction): ReadonlyArray<Schema.Json> => {
  const groups = new Map<string, Array<number>>()
  parts.forEach((part, index) => {
    const { delta, id, type } = part as Partial<Response.TextDeltaPartEncoded>
    if (delta === undefined) return
    const key = `${type} ${id}`
    groups.set(key, [...(groups.get(key) ?? []), index])
  })
  const deltas = new Map<number, string>()
  for (const indices of groups.values()) {
    const texts = indices.map((index) => (parts[index] as unknown as Response.TextDeltaPartEncoded).delta)
    const whole = by.text(texts.join(""))
    if (whole !== texts.join("")) indices.forEach((index, order) => deltas.set(index, order === 0 ? whole : ""))
  }
  if (deltas.size === 0) return parts
  return parts.flatMap((part, index) => {
    const delta = deltas.get(index)
    return delta === undefined ? [part] : delta === "" ? [] : [{ ...(part as Schema.JsonObject), delta }]
  })
}

type ReasonClass = { new (fields: unknown): AiError.AiErrorReason; readonly fields: Readonly<Record<string, unknown>> }

/** A reason without its cause, and without what was sent over HTTP but the status and what the provider asks to wait. */
const cleanReason = (reason: AiError.AiErrorReason): AiError.AiErrorReason => {
  const made = reason.constructor as unknown as ReasonClass
  const all = reason as unknown as Readonly<Record<string, unknown>>
  const kept = Object.keys(made.fields).filter((name) => name !== "cause" && all[name] !== undefined)
  return new made(
    Object.fromEntries(
      kept.map((name) => [name, name === "http" ? cleanHttp(all[name] as typeof AiError.HttpContext.Type) : all[name]])
    )
  )
}

const ErrorJson = Schema.toCodecJson(AiError.AiError)
const encodeError = Schema.encodeUnknownSync(ErrorJson)

/** An error as it is kept. */
export const errorJson = ({ method, module, reason }: AiError.AiError): Schema.Json => {
  try {
    return asJson(encodeError(AiError.make({ module, method, reason: cleanReason(reason) })))
  } catch {
    const unknown = new AiError.UnknownError({ description: `an error that could not be kept: ${reason._tag}` })
    return asJson(encodeError(AiError.make({ module, method, reason: unknown })))
  }
}

/** The error that was kept. */
export const errorOf = Schema.decodeUnknownEffect(ErrorJson)

const lead = 20
const most = 80

/** A text around the place where it differs, or the beginning of another value. */
const excerpt = (value: unknown, from: number): string => {
  if (value === undefined) return "nothing"
  const text = JSON.stringify(value)
  const start = typeof value === "string" ? Math.max(0, from - lead) : 0
  const cut = text.slice(start, start + most)
  return `${start > 0 ? "…" : ""}${cut}${start + most < text.length ? "…" : ""}`
}

const commonLength = (a: string, b: string): number => {
  let index = 0
  while (index < a.length && a[index] === b[index]) index += 1
  return index
}

/** Where two values of JSON differ first, and how; `undefined` when they do not. */
export const firstDifference = (recorded: unknown, asked: unknown, path = ""): string | undefined => {
  if (Predicate.isObjectOrArray(recorded) && Predicate.isObjectOrArray(asked)) {
    if (Array.isArray(recorded) === Array.isArray(asked)) {
      const [a, b] = [recorded as Readonly<Record<string, unknown>>, asked as Readonly<Record<string, unknown>>]
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
        const at = Array.isArray(recorded) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`
        const found = firstDifference(a[key], b[key], at)
        if (found !== undefined) return found
      }
      return undefined
    }
  } else if (recorded === asked) return undefined
  const from = typeof recorded === "string" && typeof asked === "string" ? commonLength(recorded, asked) : 0
  return `${path === "" ? "the request" : path}: recorded ${excerpt(recorded, from)}, asked ${excerpt(asked, from)}`
}
