import { Arbitrary, Schema } from "effect"
import { Prompt } from "effect/ai"

/** A call of a tool with its result, as two messages. */
export const step = (
  id: string,
  result: unknown = "found",
  isFailure = false
): ReadonlyArray<Prompt.MessageEncoded> => [
  { role: "assistant", content: [{ type: "tool-call", id, name: "look", params: { at: id } }] },
  { role: "tool", content: [{ type: "tool-result", id, name: "look", isFailure, result }] }
]

/** A history out of numbers: questions, answers, and answers with some calls whose results come in one message or in several. */
export const historyOf = (picks: ReadonlyArray<number>, names = "c"): Prompt.Prompt => {
  const messages: Array<Prompt.MessageEncoded> = [
    { role: "system", content: "You look things up" },
    { role: "user", content: "Find the ship. It must be a sailing ship." }
  ]
  picks.forEach((pick, index) => {
    const words = "слово word 船 ".repeat(1 + (pick % 40))
    switch (pick % 4) {
      case 0: {
        messages.push({ role: "user", content: `Also ${words}` })
        break
      }
      case 1: {
        messages.push({ role: "assistant", content: `I have ${words}` })
        break
      }
      default: {
        const ids = Array.from({ length: 1 + (pick % 3) }, (_, call) => `${names}${index}.${call}`)
        messages.push({
          role: "assistant",
          content: [
            ...(pick % 5 === 0 ? [{ type: "reasoning", text: "hm" } as const] : []),
            ...ids.map((id) => ({ type: "tool-call", id, name: `look${pick % 7}`, params: { id } }) as const)
          ]
        })
        const results = ids.map(
          (id) =>
            ({
              type: "tool-result",
              id,
              name: `look${pick % 7}`,
              isFailure: pick % 11 === 0,
              result: { id, words }
            }) as const
        )
        if (pick % 2 === 0) messages.push({ role: "tool", content: results })
        else for (const result of results) messages.push({ role: "tool", content: [result] })
      }
    }
  })
  return Prompt.make(messages)
}

const int = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))

export const picks = Arbitrary.array(int(1 << 16), { maxLength: 24 })
export const small = int(4)
