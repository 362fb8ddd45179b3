/**
 * What went to a model and what came back, in the shape that the conventions publish for messages.
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"

import type { Redaction } from "../../Redaction.ts"

/**
 * A part of a message. Its `type` is one of those of the conventions, such as `text`, `reasoning`, `tool_call`,
 * `tool_call_response`, `uri` and `blob`; its other fields depend on that.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  readonly type: string
  readonly [field: string]: unknown
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Message {
  readonly role: string
  readonly parts: ReadonlyArray<Part>
  readonly finish_reason?: string | undefined
}

/**
 * The content of one call of a model.
 *
 * **Details**
 *
 * - `system`: its instructions. `tools`: names and descriptions of the tools that it could call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Messages {
  readonly system: ReadonlyArray<Part>
  readonly input: ReadonlyArray<Message>
  readonly output: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<Part>
}

/** Bytes are never told: a file is what it is of, and how large. */
const fileOf = (mediaType: string, data: unknown): Part => {
  const modality = mediaType.split("/", 1)[0]!
  if (data instanceof URL) return { type: "uri", modality, mime_type: mediaType, uri: data.href }
  const size = data instanceof Uint8Array ? data.byteLength : typeof data === "string" ? data.length : 0
  return { type: "blob", modality, mime_type: mediaType, size }
}

const partOf = (part: Prompt.Part | Response.AnyPart): ReadonlyArray<Part> => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [{ type: part.type, content: part.text }]
    case "text-delta":
    case "reasoning-delta":
      return [{ type: part.type === "text-delta" ? "text" : "reasoning", content: part.delta }]
    case "tool-call":
      return [{ type: "tool_call", id: part.id, name: part.name, arguments: part.params }]
    case "tool-result":
      return [{ type: "tool_call_response", id: part.id, name: part.name, response: part.result }]
    case "file":
      return "data" in part && "mediaType" in part ? [fileOf(part.mediaType, part.data)] : []
    default:
      return []
  }
}

/** Pieces of a stream are one part where they follow each other. */
const joined = (parts: ReadonlyArray<Part>): ReadonlyArray<Part> => {
  const all: Array<Part> = []
  for (const part of parts) {
    const last = all.at(-1)
    const isText = part.type === "text" || part.type === "reasoning"
    if (isText && last?.type === part.type) {
      all[all.length - 1] = { ...last, content: `${String(last["content"])}${String(part["content"])}` }
    } else all.push(part)
  }
  return all
}

/** What a call was about. */
export const messagesOf = (
  { prompt, tools }: Pick<LanguageModel.ProviderOptions, "prompt" | "tools">,
  response: ReadonlyArray<Response.AnyPart>
): Messages => {
  const system: Array<Part> = []
  const input: Array<Message> = []
  for (const message of prompt.content) {
    if (message.role === "system") system.push({ type: "text", content: message.content })
    else {
      const parts = (message.content as ReadonlyArray<Prompt.Part>).flatMap(partOf)
      input.push({ role: message.role, parts })
    }
  }
  const finish = response.find((part) => part.type === "finish")
  return {
    system,
    input,
    output: [
      {
        role: "assistant",
        parts: joined(response.flatMap(partOf)),
        ...(finish === undefined ? {} : { finish_reason: finish.reason })
      }
    ],
    tools: tools.map((tool) => ({ type: "function", name: tool.name, description: Tool.getDescription(tool) }))
  }
}

const encoder = new TextEncoder()

const bytesOf = (text: string): number => encoder.encode(text).length

/** The beginning of a text, as far as so many bytes. */
export const cut = (text: string, limit: number): string => {
  if (bytesOf(text) <= limit) return text
  const mark = "…"
  const bytes = encoder.encode(text).slice(0, Math.max(0, limit - bytesOf(mark)))
  // A character that was cut in two is left out.
  return `${new TextDecoder().decode(bytes).replace(/\uFFFD+$/, "")}${mark}`
}

/** A value as JSON, and what is none as nothing. */
export const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? "null"
  } catch {
    return "null"
  }
}

/** Fields that say what a part is, and not what it says. */
const plain: ReadonlySet<string> = new Set(["type", "id", "name", "modality", "mime_type", "size"])

/** Data stays data as long as it is short enough; otherwise it is the beginning of its JSON, as a text. */
const limited = (value: unknown, limit: number): unknown => {
  if (typeof value === "string") return cut(value, limit)
  const json = jsonOf(value)
  return bytesOf(json) <= limit ? (JSON.parse(json) as unknown) : cut(json, limit)
}

/**
 * How a part is told.
 *
 * **Details**
 *
 * - `sizes`: its kind and how many bytes it has. `by`: what secrets are taken out by. `limit`: how many bytes may be left of each.
 */
export interface Telling {
  readonly sizes: boolean
  readonly by: Redaction
  readonly limit: number
}

const toldPart = (part: Part, { by, limit, sizes }: Telling): Part => {
  const fields: Record<string, unknown> = {}
  let size = 0
  for (const [key, value] of Object.entries(part)) {
    if (plain.has(key)) fields[key] = typeof value === "string" ? by.text(value) : value
    else if (sizes) size += bytesOf(typeof value === "string" ? value : jsonOf(value))
    // Secrets go first: half of one is not found any more.
    else fields[key] = limited(typeof value === "string" ? by.text(value) : by.value(value), limit)
  }
  return sizes ? { size, ...fields, type: part.type } : { ...fields, type: part.type }
}

/** The content as it may be told. */
export const toldMessages = (messages: Messages, telling: Telling): Messages => {
  const parts = (all: ReadonlyArray<Part>) => all.map((part) => toldPart(part, telling))
  const each = (all: ReadonlyArray<Message>) => all.map((message) => ({ ...message, parts: parts(message.parts) }))
  return {
    system: parts(messages.system),
    input: each(messages.input),
    output: each(messages.output),
    tools: parts(messages.tools)
  }
}
