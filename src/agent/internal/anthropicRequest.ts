/**
 * A prompt, its tools and what is asked for, as the body of a request to the Messages API. Pure.
 *
 * A request is valid before it leaves: turns alternate, each tool call has its one result directly after it, nothing is
 * empty. What has no place in it is left out; what cannot be said in it fails.
 */
import type {
  ContentBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  OutputConfig,
  TextBlockParam,
  ThinkingConfigParam,
  ToolChoice,
  ToolUnion
} from "@anthropic-ai/sdk/resources/messages"
import * as AiError from "effect/ai/AiError"
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Base64 from "effect/encoding/Base64"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { enforceable } from "./anthropicSchema.ts"

/** How much a model does for its answer. */
export type Effort = "low" | "medium" | "high" | "xhigh" | "max"

/** What the module has made of its options. */
export interface Settings {
  readonly model: string
  readonly maxTokens: number
  readonly effort: Effort | undefined
  readonly thinking: "adaptive" | number | undefined
  readonly cache: "none" | "5m" | "1h"
  readonly strictTools: boolean
}

/** The part of a call that a request is made of. */
export interface Asked {
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly responseFormat: LanguageModel.ProviderOptions["responseFormat"]
}

/** A request, and what is needed to read its answer. */
export interface Request {
  readonly body: MessageCreateParamsStreaming
  /** Whether the provider carries out a tool of the request itself. */
  readonly serverTools: boolean
  /** Whether a text that was cut may be sent back to be continued. */
  readonly continuable: boolean
  /** The name that a tool has here. */
  readonly toolName: (providerName: string) => string
  /** The arguments of a call in the encoding of the tool's own schema. */
  readonly restore: (name: string, params: unknown) => unknown
}

type Reason = AiError.AiErrorReason
type Block = ContentBlockParam
type Fields = Readonly<Record<string, unknown>>
type CacheControl = { readonly type: "ephemeral"; readonly ttl: "5m" | "1h" }

const isRecord = (value: unknown): value is Fields => Predicate.isObject(value) && !Array.isArray(value)

/** What this provider said of a part when it answered. */
const own = (options: Prompt.ProviderOptions): Fields => {
  const said: unknown = options["anthropic"]
  return isRecord(said) ? said : {}
}

const nonEmpty = (value: unknown): value is string => typeof value === "string" && value !== ""

const invalid = (description: string): Reason => new AiError.InvalidUserInputError({ description })

const text = (value: string): ReadonlyArray<TextBlockParam> =>
  value.trim() === "" ? [] : [{ type: "text", text: value }]

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"])

const file = (part: Prompt.FilePart): Result.Result<Block, Reason> => {
  const { data, mediaType } = part
  const title = part.fileName === undefined ? {} : { title: part.fileName }
  const url = data instanceof URL ? data.href : typeof data === "string" && /^https?:\/\//.test(data) ? data : undefined
  const base64 = typeof data === "string" ? data.replace(/^data:[^,]*;base64,/, "") : Base64.encode(data as Uint8Array)
  if (mediaType.startsWith("image/")) {
    if (url !== undefined) return Result.succeed({ type: "image", source: { type: "url", url } })
    const media_type = (mediaType === "image/*" ? "image/jpeg" : mediaType) as "image/jpeg"
    return imageTypes.has(media_type)
      ? Result.succeed({ type: "image", source: { type: "base64", media_type, data: base64 } })
      : Result.fail(invalid(`Images of type ${mediaType} are not supported`))
  }
  if (mediaType === "application/pdf") {
    return Result.succeed({
      type: "document",
      source: url === undefined ? { type: "base64", media_type: mediaType, data: base64 } : { type: "url", url },
      ...title
    })
  }
  if (mediaType.startsWith("text/") && url === undefined) {
    return Result.mapBoth(Base64.decodeString(base64), {
      onSuccess: (data): Block => ({
        type: "document",
        source: { type: "text", media_type: "text/plain", data },
        ...title
      }),
      onFailure: () => invalid("A text file is not in base64")
    })
  }
  return Result.fail(invalid(`Files of type ${mediaType} are not supported`))
}

const parts = (content: ReadonlyArray<Prompt.TextPart | Prompt.FilePart>): Result.Result<Array<Block>, Reason> =>
  Result.gen(function* () {
    const blocks: Array<Block> = []
    for (const part of content) {
      if (part.type === "text") blocks.push(...text(part.text))
      else blocks.push(yield* file(part))
    }
    return blocks
  })

/** Ids of calls as the API takes them; those of another provider may have other characters. */
const wireIds = (): ((id: string) => string) => {
  const made = new Map<string, string>()
  const taken = new Set<string>()
  return (id) => {
    const known = made.get(id)
    if (known !== undefined) return known
    const plain = id.replaceAll(/[^\w-]/g, "_") || "_"
    let wire = plain
    for (let next = 2; taken.has(wire); next += 1) wire = `${plain}_${next}`
    made.set(id, wire)
    taken.add(wire)
    return wire
  }
}

const toolResult = (part: Prompt.ToolResultPart, id: string): Result.Result<Block, Reason> => {
  const failed = part.isFailure ? { is_error: true } : {}
  if (part.modelOutput !== undefined) {
    return Result.map(parts(part.modelOutput), (content) => ({
      type: "tool_result",
      tool_use_id: id,
      content: content as Array<TextBlockParam>,
      ...failed
    }))
  }
  const content = typeof part.result === "string" ? part.result : (JSON.stringify(part.result) ?? "")
  return Result.succeed({ type: "tool_result", tool_use_id: id, content, ...failed })
}

/** A block of what the provider's own tool gave back, as it came. */
const serverResult = (part: Prompt.ToolResultPart, id: string, name: string): Block => {
  const said = own(part.options)["type"]
  const type = nonEmpty(said) && /^[a-z_]+_tool_result$/.test(said) ? said : `${name}_tool_result`
  return { type, tool_use_id: id, content: part.result } as unknown as Block
}

/** A thought goes back with its signature, and only with it. */
const reasoning = (part: Prompt.ReasoningPart): ReadonlyArray<Block> => {
  const { signature, redactedData } = own(part.options)
  if (nonEmpty(redactedData)) return [{ type: "redacted_thinking", data: redactedData }]
  return nonEmpty(signature) ? [{ type: "thinking", thinking: part.text, signature }] : []
}

const input = (params: unknown): Fields =>
  isRecord(params) ? params : params === undefined || params === null ? {} : { value: params }

interface Turn {
  readonly role: "user" | "assistant"
  readonly content: Array<Block>
}

/** Turns that alternate, before calls and results are matched. */
const turnsOf = (prompt: Prompt.Prompt, names: Tool.NameMapper<ReadonlyArray<Tool.Any>>) =>
  Result.gen(function* () {
    const system: Array<TextBlockParam> = []
    const turns: Array<Turn> = []
    const ids = wireIds()
    const add = (role: Turn["role"], content: ReadonlyArray<Block>) => {
      if (content.length === 0) return
      const last = turns.at(-1)
      if (last?.role === role) last.content.push(...content)
      else turns.push({ role, content: [...content] })
    }
    for (const message of prompt.content) {
      switch (message.role) {
        case "system": {
          system.push(...text(message.content))
          break
        }
        case "user": {
          add("user", yield* parts(message.content))
          break
        }
        case "tool": {
          for (const part of message.content) {
            // Who may approve is not for a prompt to say: such a part grants nothing and is not sent.
            if (part.type === "tool-result") add("user", [yield* toolResult(part, ids(part.id))])
          }
          break
        }
        case "assistant": {
          for (const part of message.content) {
            if (part.type === "text") add("assistant", text(part.text))
            else if (part.type === "reasoning") add("assistant", reasoning(part))
            else if (part.type === "tool-call") {
              const name = names.getProviderName(part.name)
              const { caller } = own(part.options)
              const by = isRecord(caller) ? { caller } : {}
              const call = { id: ids(part.id), name, input: input(part.params), ...by }
              const type = part.providerExecuted ? "server_tool_use" : "tool_use"
              add("assistant", [{ type, ...call } as Block])
            } else if (part.type === "tool-result") {
              const id = ids(part.id)
              if (part.providerExecuted) add("assistant", [serverResult(part, id, names.getProviderName(part.name))])
              else add("user", [yield* toolResult(part, id)])
            }
          }
        }
      }
    }
    return { system, turns }
  })

const missing = "There is no result of this call: it was not carried out, or its outcome was lost."

/** Puts the result of each call first into the turn after it, and leaves out what answers no call. */
const matched = (turns: ReadonlyArray<Turn>): Array<Turn> => {
  const done: Array<Turn> = []
  for (const [index, turn] of turns.entries()) {
    if (turn.role === "assistant") {
      done.push({ role: "assistant", content: [...turn.content] })
      // Calls of the last turn have no turn after them: a model would not get to speak without their results.
      if (index === turns.length - 1 && calls(turn).length > 0) done.push(answers(turn, { role: "user", content: [] }))
    } else {
      const before = done.at(-1)
      const user = answers(before, turn)
      if (user.content.length > 0) done.push(user)
    }
  }
  return joined(done)
}

const calls = (turn: Turn | undefined): ReadonlyArray<string> =>
  turn?.role !== "assistant" ? [] : turn.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))

const answers = (before: Turn | undefined, turn: Turn): Turn => {
  const given = new Map(
    turn.content.flatMap((block) => (block.type === "tool_result" ? [[block.tool_use_id, block]] : []))
  )
  const results = calls(before).map(
    (id): Block => given.get(id) ?? { type: "tool_result", tool_use_id: id, content: missing, is_error: true }
  )
  return { role: "user", content: [...results, ...turn.content.filter((block) => block.type !== "tool_result")] }
}

/** Where a whole turn was left out, its neighbours become one. */
const joined = (turns: ReadonlyArray<Turn>): Array<Turn> => {
  const all: Array<Turn> = []
  for (const turn of turns) {
    const last = all.at(-1)
    if (last?.role === turn.role) last.content.push(...turn.content)
    else all.push({ role: turn.role, content: [...turn.content] })
  }
  return all
}

/** The API refuses a text at the end of a turn to be continued that ends with a blank. */
const trimEnd = (turns: Array<Turn>): void => {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== "assistant" || block?.type !== "text") return
  last.content[last.content.length - 1] = { ...block, text: block.text.trimEnd() }
}

/** Whether the schema of a tool is sent in another form, from which its calls are brought back. */
const isTransformed = (tool: Tool.Any, settings: Settings): boolean =>
  !Tool.isDynamic(tool) && (Tool.getStrictMode(tool) ?? settings.strictTools)

/** A schema that somebody else wrote is only enforced where that is asked for. */
const strictOf = (tool: Tool.Any, settings: Settings): Fields | undefined => {
  if (isTransformed(tool, settings)) return strictSchema(tool)
  return Tool.isDynamic(tool) && tool.jsonSchema !== undefined && Tool.getStrictMode(tool) === true
    ? enforceable(tool.jsonSchema)
    : undefined
}

const toolOf = (tool: Tool.Any, settings: Settings): Result.Result<ToolUnion, Reason> => {
  if (Tool.isProviderDefined(tool)) {
    const dot = tool.id.indexOf(".")
    if (tool.id.slice(0, dot) !== "anthropic") {
      const description = "It is a tool of another provider"
      return Result.fail(new AiError.ToolConfigurationError({ toolName: tool.name, description }))
    }
    const args = isRecord(tool.args) ? tool.args : {}
    return Result.succeed({ ...args, type: tool.id.slice(dot + 1), name: tool.providerName } as unknown as ToolUnion)
  }
  const description = Tool.getDescription(tool)
  const common = { name: tool.name, ...(description === undefined ? {} : { description }) }
  return Result.try({
    try: (): ToolUnion => {
      const wants = strictOf(tool, settings)
      const input_schema = (wants ?? Tool.getJsonSchema(tool)) as { readonly type: "object" }
      return { ...common, input_schema, ...(wants === undefined ? {} : { strict: true }) }
    },
    catch: () =>
      new AiError.UnsupportedSchemaError({ description: `The parameters of ${tool.name} have no JSON schema` })
  })
}

/** The schema in the subset that is enforced, or `undefined` for one that has no such form. */
const strictSchema = (tool: Tool.Any): Fields | undefined => {
  try {
    const { jsonSchema } = toCodecAnthropic(tool.parametersSchema as Schema.Codec<unknown>)
    return jsonSchema["type"] === "object" ? jsonSchema : undefined
  } catch {
    return undefined
  }
}

const restoring =
  (tools: ReadonlyArray<Tool.Any>, settings: Settings): Request["restore"] =>
  (name, params) => {
    const tool = tools.find((each) => each.name === name)
    if (tool === undefined || Tool.isProviderDefined(tool) || !isTransformed(tool, settings)) return params
    try {
      const schema = tool.parametersSchema as Schema.Codec<unknown>
      const value = Schema.decodeUnknownOption(toCodecAnthropic(schema).codec)(params)
      return Option.getOrElse(Option.flatMap(value, Schema.encodeUnknownOption(schema)), () => params)
    } catch {
      return params // what does not fit is judged by whoever checks the call
    }
  }

const choiceOf = (choice: Asked["toolChoice"]): ToolChoice => {
  if (choice === "auto") return { type: "auto" }
  if (choice === "none") return { type: "none" }
  if (choice === "required") return { type: "any" }
  if ("tool" in choice) return { type: "tool", name: choice.tool }
  return { type: choice.mode === "required" ? "any" : "auto" }
}

/** A budget for thinking leaves at least one token for the answer, and is at least what the API takes. */
const thinkingOf = (settings: Settings, maxTokens: number, forced: boolean): ThinkingConfigParam | undefined => {
  if (settings.thinking === undefined || forced) return undefined
  if (settings.thinking === "adaptive") return { type: "adaptive" }
  const budget = Math.min(settings.thinking, maxTokens - 1)
  return budget < 1024 ? undefined : { type: "enabled", budget_tokens: budget }
}

const formatOf = (format: Asked["responseFormat"]): Result.Result<Fields | undefined, Reason> =>
  format.type === "text"
    ? Result.succeed(undefined)
    : Result.try({
        try: () => toCodecAnthropic(format.schema as Schema.Codec<unknown>).jsonSchema,
        catch: () =>
          new AiError.UnsupportedSchemaError({ description: `${format.objectName} has no form that can be enforced` })
      })

const cached = <A extends object>(list: ReadonlyArray<A>, control: CacheControl | undefined): Array<A> =>
  list.map((each, index) =>
    control === undefined || index < list.length - 1 ? each : { ...each, cache_control: control }
  )

/** Marks the end of the last turn of the user, so that all before it may come from the cache. */
const markTurns = (turns: ReadonlyArray<Turn>, control: CacheControl | undefined): Array<MessageParam> => {
  const last = turns.findLastIndex((turn) => turn.role === "user")
  return turns.map(({ role, content }, index) => ({
    role,
    content: index === last ? cached(content, control) : content
  }))
}

/** Makes the request, or says why there is none. */
export const requestOf = (
  asked: Asked,
  settings: Settings,
  limit: number | undefined
): Result.Result<Request, Reason> =>
  Result.gen(function* () {
    const names = new Tool.NameMapper(asked.tools)
    const { system, turns: raw } = yield* turnsOf(asked.prompt, names)
    const turns = matched(joined(raw))
    trimEnd(turns)
    if (turns.length === 0) return yield* Result.fail(invalid("The prompt has nothing that could be sent"))
    if (turns[0]?.role !== "user") return yield* Result.fail(invalid("The prompt does not begin with the user"))
    const tools: Array<ToolUnion> = []
    for (const tool of asked.tools) tools.push(yield* toolOf(tool, settings))
    const schema = yield* formatOf(asked.responseFormat)
    const choice = choiceOf(mapChoice(asked.toolChoice, names))
    const maxTokens = limit ?? settings.maxTokens
    const forced = tools.length > 0 && (choice.type === "any" || choice.type === "tool")
    const thinking = thinkingOf(settings, maxTokens, forced)
    const control = settings.cache === "none" ? undefined : ({ type: "ephemeral", ttl: settings.cache } as const)
    const output: OutputConfig = {
      ...(settings.effort === undefined ? {} : { effort: settings.effort }),
      ...(schema === undefined ? {} : { format: { type: "json_schema", schema } })
    }
    const body: MessageCreateParamsStreaming = {
      model: settings.model,
      max_tokens: maxTokens,
      ...(system.length === 0 ? {} : { system: cached(system, control) }),
      messages: markTurns(turns, control),
      ...(tools.length === 0 ? {} : { tools: cached(tools, control), tool_choice: choice }),
      ...(thinking === undefined ? {} : { thinking }),
      ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
      stream: true
    }
    return {
      body,
      serverTools: asked.tools.some((tool) => Tool.isProviderDefined(tool) && !tool.requiresHandler),
      continuable: thinking === undefined && schema === undefined,
      toolName: (name) => names.getCustomName(name),
      restore: restoring(asked.tools, settings)
    }
  })

const mapChoice = (choice: Asked["toolChoice"], names: Tool.NameMapper<ReadonlyArray<Tool.Any>>): Asked["toolChoice"] =>
  typeof choice === "object" && "tool" in choice ? { tool: names.getProviderName(choice.tool) } : choice

/** The same request, with the text that is there already as the beginning of the answer. */
export const withPrefix = (body: MessageCreateParamsStreaming, prefix: string): MessageCreateParamsStreaming => {
  if (prefix === "") return body
  const block: Block = { type: "text", text: prefix }
  const last = body.messages.at(-1)
  if (last?.role === "assistant" && Array.isArray(last.content)) {
    return {
      ...body,
      messages: [...body.messages.slice(0, -1), { role: "assistant", content: [...last.content, block] }]
    }
  }
  return { ...body, messages: [...body.messages, { role: "assistant", content: [block] }] }
}
