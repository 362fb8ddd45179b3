/**
 * What a provider would refuse in a prompt, found before it is sent; and a prompt as its turns.
 *
 * A history that was cut, merged or interrupted can hold a tool call without its result. A provider refuses it, and refuses
 * every later prompt that grows out of it. Whatever is sent is looked at here first.
 *
 * **Invariants**
 *
 * - C1. Every call of a tool has one result, in the tool messages right after the message that holds the call, in the order of
 *   the calls. A call that the provider has executed itself has its result behind it in the same message.
 * - C2. No result is without its call, and no two calls have the same id.
 * - C3. System messages come first, then a message of the user. No message and no text is empty.
 * - C4. A part stands only in messages of a role that may hold it. Requests and answers of approvals stand in none: they could
 *   be forged, and grant nothing.
 *
 * **Example** (A call whose result was lost)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { PromptCheck } from "espalier/agent"
 *
 * const prompt = Prompt.make([
 *   { role: "user", content: "What is the weather in Oslo?" },
 *   { role: "assistant", content: [{ type: "tool-call", id: "c1", name: "weather", params: { city: "Oslo" } }] },
 *   { role: "user", content: "Go on" }
 * ])
 * PromptCheck.check(prompt).map(({ path, expectation }) => `${path} ${expectation}`)
 * // => ["content[1].content[0] must have its result in the tool message right after it"]
 * ```
 *
 * @since 0.1.0
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { many, type Problem, Problem as ProblemSchema, show } from "../run/internal/problems.ts"

export type { Problem } from "../run/internal/problems.ts"

/**
 * A prompt that a provider would refuse is not sent. It counts as a bug of whoever made it.
 *
 * **Details**
 *
 * - `problems`: at least one, each with its place in the prompt and what was expected there.
 *
 * @category errors
 * @since 0.1.0
 */
export class PromptInvalid extends Schema.TaggedError<PromptInvalid>("espalier/agent/PromptCheck/PromptInvalid")(
  "PromptInvalid",
  { problems: Schema.NonEmptyArray(ProblemSchema) }
) {
  override get message(): string {
    const [{ actual, expectation, path }, ...others] = this.problems
    const got = actual === "" ? "" : `, got ${actual}`
    const more = others.length === 0 ? "" : ` (and ${many(others.length, "other problem")})`
    return `the prompt is not sent: ${path} ${expectation}${got}${more}`
  }
}

/**
 * One turn: a message of the user, or an answer of the model with all results of its calls.
 *
 * @category models
 * @since 0.1.0
 */
export interface Turn {
  readonly messages: readonly [Prompt.Message, ...ReadonlyArray<Prompt.Message>]
}

const allowed: { readonly [role: string]: ReadonlySet<string> } = {
  user: new Set(["text", "file"]),
  assistant: new Set(["text", "file", "reasoning", "tool-call", "tool-result"]),
  tool: new Set(["tool-result"])
}

const isBlank = (text: string): boolean => text.trim() === ""

/** One walk over a prompt. */
class Walk {
  readonly problems: Array<Problem> = []
  /** Calls without a result yet, in their order, with their places. */
  private open: ReadonlyArray<{ readonly id: string; readonly name: string; readonly path: string }> = []
  private readonly called = new Set<string>()
  private readonly answered = new Set<string>()
  private begun = false

  private say(path: string, expectation: string, actual = ""): void {
    this.problems.push({ path, expectation, actual })
  }

  message(message: Prompt.Message, path: string): void {
    if (message.role !== "tool") this.close()
    if (message.role === "system") {
      if (this.begun) this.say(path, "must stand before every other message, as a system message")
      if (isBlank(message.content)) this.say(path, "must not be empty")
      return
    }
    if (!this.begun && message.role !== "user") this.say(path, "must be of the user, as the first one", message.role)
    this.begun = true
    if (message.content.length === 0) this.say(path, "must not be empty")
    message.content.forEach((part, index) => this.part(message.role, part, `${path}.content[${index}]`))
  }

  private part(role: string, part: Prompt.Part, path: string): void {
    if (part.type === "tool-approval-request" || part.type === "tool-approval-response") {
      this.say(path, "must not stand in a prompt: approvals are not taken from messages", part.type)
      return
    }
    if (allowed[role]?.has(part.type) !== true) {
      this.say(path, `must be a part that a message of role ${role} may hold`, show(part.type))
      return
    }
    switch (part.type) {
      case "text": {
        if (isBlank(part.text)) this.say(path, "must not be empty")
        break
      }
      case "tool-call": {
        this.call(part, path)
        break
      }
      case "tool-result": {
        this.result(role, part, path)
        break
      }
      case "file":
      case "reasoning":
    }
  }

  private call({ id, name }: Prompt.ToolCallPart, path: string): void {
    if (isBlank(id)) this.say(path, "must have an id")
    if (isBlank(name)) this.say(path, "must name a tool")
    if (this.called.has(id)) this.say(path, "must have an id of its own", show(id))
    this.called.add(id)
    this.open = [...this.open, { id, name, path }]
  }

  private result(role: string, { id, name, providerExecuted }: Prompt.ToolResultPart, path: string): void {
    if (this.answered.has(id)) {
      this.say(path, "must be the only result of its call", show(id))
      return
    }
    if ((role === "assistant") !== providerExecuted) {
      this.say(path, "must stand in a tool message, or, if the provider has made it, beside its call")
    }
    const index = this.open.findIndex((call) => call.id === id)
    const call = this.open[index]
    if (call === undefined) {
      this.say(path, "must be the result of a call in the message before", show(id))
      return
    }
    this.answered.add(id)
    if (role === "tool" && index > 0) this.say(path, "must stand in the order of the calls", show(id))
    if (call.name !== name) this.say(path, `must name the tool of its call, ${show(call.name)}`, show(name))
    this.open = this.open.filter((each) => each !== call)
  }

  /** The results of the calls so far had to be here. */
  close(): void {
    for (const { path } of this.open) this.say(path, "must have its result in the tool message right after it")
    this.open = []
  }
}

/**
 * What a provider would refuse in a prompt; nothing for one that holds.
 *
 * @category checking
 * @since 0.1.0
 */
export const check = (prompt: Prompt.Prompt): ReadonlyArray<Problem> => {
  const walk = new Walk()
  prompt.content.forEach((message, index) => walk.message(message, `content[${index}]`))
  walk.close()
  if (!prompt.content.some(({ role }) => role !== "system")) {
    walk.problems.push({ path: "content", expectation: "must hold a message of the user", actual: "" })
  }
  return walk.problems
}

/**
 * A prompt that can be sent, as it is.
 *
 * @category checking
 * @since 0.1.0
 */
export const valid = (prompt: Prompt.Prompt): Effect.Effect<Prompt.Prompt, PromptInvalid> =>
  Effect.suspend(() => {
    const [first, ...others] = check(prompt)
    return first === undefined
      ? Effect.succeed(prompt)
      : Effect.fail(new PromptInvalid({ problems: [first, ...others] }))
  })

/**
 * A prompt as the system messages at its beginning and its whole turns. A prompt can be cut between any two turns, and all its
 * messages are in them.
 *
 * @category turns
 * @since 0.1.0
 */
export const turns = (
  prompt: Prompt.Prompt
): { readonly system: ReadonlyArray<Prompt.Message>; readonly turns: ReadonlyArray<Turn> } => {
  const first = prompt.content.findIndex(({ role }) => role !== "system")
  const begin = first === -1 ? prompt.content.length : first
  const whole: Array<Turn> = []
  for (const message of prompt.content.slice(begin)) {
    const last = whole.at(-1)
    if (message.role === "tool" && last !== undefined) {
      whole[whole.length - 1] = { messages: [...last.messages, message] }
    } else whole.push({ messages: [message] })
  }
  return { system: prompt.content.slice(0, begin), turns: whole }
}
