/**
 * What a prompt says, as plain text.
 */
import type * as Prompt from "effect/ai/Prompt"

const json = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? ""
  } catch {
    return "" // what cannot be written as JSON has no text
  }
}

const partText = (part: Exclude<Prompt.Message["content"], string>[number]): string => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text
    case "tool-call":
      return `${part.name} ${json(part.params)}`
    case "tool-result":
      return json(part.result)
    case "file":
      return `file ${part.mediaType}`
    default:
      return ""
  }
}

const messageText = ({ content }: Prompt.Message): string =>
  typeof content === "string"
    ? content
    : content
        .map(partText)
        .filter((text) => text !== "")
        .join("\n")

/** The text of all messages, one per line. */
export const saidIn = (prompt: Prompt.Prompt): string => prompt.content.map(messageText).join("\n")

/** The text of the last message. */
export const lastOf = (prompt: Prompt.Prompt): string => {
  const last = prompt.content.at(-1)
  return last === undefined ? "" : messageText(last)
}

/** How often the model has spoken, and once more. */
export const turnOf = (prompt: Prompt.Prompt): number =>
  prompt.content.filter(({ role }) => role === "assistant").length + 1

/** The highest `N` of the calls `call_N` in a prompt; 0 when there is none. */
export const highestCall = (prompt: Prompt.Prompt): number => {
  let highest = 0
  for (const message of prompt.content) {
    if (message.role !== "assistant") continue
    for (const part of message.content) {
      const number = part.type === "tool-call" ? /^call_(\d{1,9})$/.exec(part.id)?.[1] : undefined
      if (number !== undefined) highest = Math.max(highest, Number(number))
    }
  }
  return highest
}
