/**
 * How many tokens a request takes, estimated from the characters that are sent.
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"

/** What one character takes, in twelfths of a token, by the script that it is of. */
const twelfths = (code: number): number => {
  if (code < 0x370) return 4 // Latin: three characters to a token
  if (code < 0x800) return 6 // Greek, Cyrillic, Hebrew, Arabic
  if (code < 0x2000) return 9 // Indic scripts, Thai, Georgian, Ethiopic
  if (code < 0x2e80) return 6 // punctuation, arrows, signs
  return code <= 0xffff ? 12 : 24 // Chinese, Japanese, Korean; beyond them rare signs and emoji
}

const textOf = (text: string): number => {
  let sum = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x370) sum += 4
    else if (code >= 0xd800 && code < 0xdc00) {
      sum += 24
      index++ // its second half
    } else sum += twelfths(code)
  }
  return sum
}

/** A value as it is sent. What cannot be written as JSON is written as a text. */
export const jsonOf = (value: unknown): string => {
  if (typeof value === "string") return value
  try {
    return JSON.stringify(value) ?? "null"
  } catch {
    return String(value)
  }
}

/** What goes around a message, and around a call, a result or a tool, in twelfths. */
const frame = { message: 48, block: 96 } as const

/** A picture, or a page or two of a document, in twelfths. */
const picture = 1600 * 12

const fileOf = ({ data, mediaType }: Prompt.FilePart): number => {
  if (mediaType.startsWith("image/") || data instanceof URL) return picture
  const bytes = typeof data === "string" ? data.length * 0.75 : data.length
  // A text is sent as it is; in other documents a token takes much more room.
  return mediaType.startsWith("text/") ? Math.ceil(bytes * 4) : Math.max(picture, Math.ceil(bytes / 32) * 12)
}

const partOf = (part: Prompt.Part): number => {
  switch (part.type) {
    case "text":
      return textOf(part.text)
    case "reasoning":
      // What is sealed comes back with it.
      return textOf(part.text) + (Object.keys(part.options).length === 0 ? 0 : textOf(jsonOf(part.options)))
    case "file":
      return fileOf(part)
    case "tool-call":
      return frame.block + textOf(part.id) + textOf(part.name) + textOf(jsonOf(part.params))
    case "tool-result": {
      const { id, modelOutput, name, result } = part
      const output = modelOutput?.reduce((sum, each) => sum + partOf(each), 0)
      return frame.block + textOf(id) + textOf(name) + (output ?? textOf(jsonOf(result)))
    }
    case "tool-approval-request":
    case "tool-approval-response":
      return 0
  }
}

const messageOf = ({ content }: Prompt.Message): number =>
  frame.message +
  (typeof content === "string" ? textOf(content) : content.reduce((sum, part: Prompt.Part) => sum + partOf(part), 0))

const schemaOf = (tool: Tool.Any): string => {
  if (Tool.isProviderDefined(tool)) return jsonOf(tool.args)
  try {
    return jsonOf(Tool.getJsonSchema(tool))
  } catch {
    return "" // what has no JSON Schema is not sent
  }
}

/** Tools do not change, and are counted at each call. */
const tools = new WeakMap<Tool.Any, number>()

const toolOf = (tool: Tool.Any): number => {
  const known = tools.get(tool)
  if (known !== undefined) return known
  const sum = frame.block + textOf(tool.name) + textOf(Tool.getDescription(tool) ?? "") + textOf(schemaOf(tool))
  tools.set(tool, sum)
  return sum
}

/**
 * Tokens of a request, rounded up.
 *
 * @since 0.1.0
 */
export const estimate = (request: {
  readonly prompt: Prompt.Prompt
  readonly tools?: ReadonlyArray<Tool.Any> | undefined
}): number => {
  let sum = 0
  for (const message of request.prompt.content) sum += messageOf(message)
  for (const tool of request.tools ?? []) sum += toolOf(tool)
  return Math.ceil(sum / 12)
}
