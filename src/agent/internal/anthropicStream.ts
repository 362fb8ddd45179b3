/**
 * The events of a streamed answer, read one by one into the parts that Effect has for them. Pure but for its own state.
 *
 * One {@link Reading} serves a whole call: after a stall the next attempt goes on in it, so that a text which is continued
 * is one text, and what was used is the sum of all attempts.
 *
 * **Invariants**
 *
 * - S1. A part is given out once, in the order of the stream.
 * - S2. An answer is over by `message_stop` after a reason that is known, and by nothing else.
 * - S3. Events, blocks and fields that are not known are passed over: the API may add some.
 */
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import { unsafeSecureJsonParse } from "effect/ai/Tool"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

import type * as PartialUsage from "../PartialUsage.ts"
import type { Request } from "./anthropicRequest.ts"

type Part = Response.StreamPartEncoded
type Fields = Readonly<Record<string, unknown>>

const Count = Schema.optional(Schema.NullOr(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))))

const Usage = Schema.Struct({
  input_tokens: Count,
  output_tokens: Count,
  cache_read_input_tokens: Count,
  cache_creation_input_tokens: Count,
  output_tokens_details: Schema.optional(Schema.NullOr(Schema.Struct({ thinking_tokens: Count })))
})

const Fields = Schema.Record(Schema.String, Schema.Unknown)

const Event = Schema.Union([
  Schema.Struct({
    type: Schema.Literal("message_start"),
    message: Schema.Struct({ id: Schema.String, model: Schema.String, usage: Schema.optional(Usage) })
  }),
  Schema.Struct({ type: Schema.Literal("content_block_start"), index: Schema.Int, content_block: Fields }),
  Schema.Struct({ type: Schema.Literal("content_block_delta"), index: Schema.Int, delta: Fields }),
  Schema.Struct({ type: Schema.Literal("content_block_stop"), index: Schema.Int }),
  Schema.Struct({
    type: Schema.Literal("message_delta"),
    delta: Schema.Struct({
      stop_reason: Schema.optional(Schema.NullOr(Schema.String)),
      stop_sequence: Schema.optional(Schema.NullOr(Schema.String)),
      stop_details: Schema.optional(Schema.Unknown)
    }),
    usage: Schema.optional(Usage)
  }),
  Schema.Struct({ type: Schema.Literal("message_stop") })
])

const known: ReadonlySet<string> = new Set(Event.members.map((member) => member.fields.type.literal))

const decode = Schema.decodeUnknownOption(Event)

/** What one event has led to: parts, the end of the answer, or what is wrong with it. */
export interface Step {
  readonly parts: ReadonlyArray<Part>
  readonly done: boolean
  readonly wrong: Wrong | undefined
}

/** Why an answer cannot be used. */
export type Wrong =
  | { readonly _tag: "Unreadable"; readonly what: string }
  | { readonly _tag: "Oversized" }
  | { readonly _tag: "Refused" }
  | { readonly _tag: "Arguments"; readonly tool: string }

interface Block {
  readonly type: string
  readonly id: string
  readonly fields: Fields
  readonly name: string
  readonly providerExecuted: boolean
  json: string
  signature: string
  readonly citations: Array<Schema.Json>
}

/** Tokens of one attempt, as they were told last. */
interface Tokens {
  input: number | undefined
  output: number | undefined
  cacheRead: number | undefined
  cacheWrite: number | undefined
  reasoning: number | undefined
}

const none: Step = { parts: [], done: false, wrong: undefined }

const some = (...parts: ReadonlyArray<Part>): Step => ({ parts, done: false, wrong: undefined })

const broken = (wrong: Wrong): Step => ({ parts: [], done: false, wrong })

const reasons: Readonly<Record<string, Response.FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  tool_use: "tool-calls",
  pause_turn: "pause",
  refusal: "content-filter"
}

const text = (value: unknown): string => (typeof value === "string" ? value : "")

/** A value that came out of JSON is JSON. */
const json = (value: unknown): Schema.Json => value as Schema.Json

const isRecord = (value: unknown): value is Fields => Predicate.isObject(value) && !Array.isArray(value)

const add = (left: number | undefined, right: number | undefined): number | undefined =>
  left === undefined ? right : right === undefined ? left : left + right

/** Characters that the events of a call may have: 64 Mi, several times as many as the longest answer takes. */
const most = 64 * 2 ** 20

/** Reads the events of one call. */
export class Reading {
  private readonly request: Pick<Request, "toolName" | "restore">
  private readonly options: { readonly deferred: boolean; readonly refusals: "part" | "error" }
  private readonly report: ((usage: PartialUsage.Usage) => void) | undefined

  private readonly blocks = new Map<number, Block>()
  private readonly serverNames = new Map<string, string>()
  private readonly passedOver = new Set<string>()
  private spent: Tokens = unknownTokens()
  private now: Tokens = unknownTokens()
  private next = 0
  private size = 0
  private stop: string | undefined
  private stopSequence: string | undefined
  private metadataGiven = false
  /** A text that was cut and is not closed: the next attempt goes on in it. */
  private open: string | undefined
  /** Blanks at the end of the text that was cut. They were given out and are not sent back. */
  private blanks = ""

  /** All text of the answer so far. */
  said = ""
  /** Whether anything but text has begun. */
  other = false
  /** Whether this attempt has begun to answer. */
  started = false
  resumes = 0
  requestId: string | undefined

  constructor(
    request: Pick<Request, "toolName" | "restore">,
    options: { readonly deferred: boolean; readonly refusals: "part" | "error" },
    report: ((usage: PartialUsage.Usage) => void) | undefined
  ) {
    this.request = request
    this.options = options
    this.report = report
  }

  /** Whether anything of an answer was given out. */
  get begun(): boolean {
    return this.said !== "" || this.other
  }

  /** The text to send back, without the blanks that the API refuses at its end. */
  get prefix(): string {
    return this.said.trimEnd()
  }

  /** Goes on in the text that is there. */
  continue(): void {
    this.resumes += 1
    this.blanks = this.said.slice(this.prefix.length)
    this.settle()
  }

  /** Forgets what was read. What it cost is kept. */
  anew(): void {
    this.resumes += 1
    this.said = ""
    this.other = false
    this.open = undefined
    this.blanks = ""
    this.settle()
  }

  private settle(): void {
    for (const block of this.blocks.values()) if (block.type === "text") this.open = block.id
    this.blocks.clear()
    this.spent = sum(this.spent, this.now)
    this.now = unknownTokens()
    this.stop = undefined
    this.started = false
  }

  /** What was used, all attempts together. */
  get usage(): PartialUsage.Usage {
    const { input, output, cacheRead, cacheWrite, reasoning } = sum(this.spent, this.now)
    const total = add(add(input, cacheRead), cacheWrite)
    return {
      inputTokens: {
        ...count("uncached", input),
        ...count("total", total),
        ...count("cacheRead", cacheRead),
        ...count("cacheWrite", cacheWrite)
      },
      outputTokens: {
        ...count("total", output),
        ...(output !== undefined && reasoning !== undefined ? { text: Math.max(0, output - reasoning) } : {}),
        ...count("reasoning", reasoning)
      }
    }
  }

  /** Reads the data of one event. */
  read(data: string): Step {
    this.size += data.length
    if (this.size > most) return broken({ _tag: "Unreadable", what: "it is longer than any answer" })
    let value: unknown
    try {
      value = unsafeSecureJsonParse(data)
    } catch {
      return broken({ _tag: "Unreadable", what: "an event is no JSON" })
    }
    const type = isRecord(value) ? value["type"] : undefined
    if (typeof type !== "string") return broken({ _tag: "Unreadable", what: "an event has no type" })
    if (!known.has(type)) return none // S3
    const event = decode(value)
    if (Option.isNone(event)) return broken({ _tag: "Unreadable", what: `the event ${type} lacks a field` })
    return this.step(event.value)
  }

  private step(event: typeof Event.Type): Step {
    switch (event.type) {
      case "message_start":
        this.started = true
        this.tell(event.message.usage)
        return this.metadata(event.message)
      case "content_block_start":
        return this.begin(event.index, event.content_block)
      case "content_block_delta":
        return this.delta(event.index, event.delta)
      case "content_block_stop":
        return this.end(event.index)
      case "message_delta":
        this.tell(event.usage)
        this.stop = event.delta.stop_reason ?? this.stop
        this.stopSequence = event.delta.stop_sequence ?? undefined
        return none
      case "message_stop":
        return this.finish()
    }
  }

  private metadata(message: { readonly id: string; readonly model: string }): Step {
    if (this.metadataGiven) return none
    this.metadataGiven = true
    const requestId = this.requestId === undefined ? {} : { metadata: { anthropic: { requestId: this.requestId } } }
    return some({ type: "response-metadata", id: message.id, modelId: message.model, ...requestId })
  }

  private tell(usage: typeof Usage.Type | undefined): void {
    if (usage === undefined) return
    const { now } = this
    now.input = usage.input_tokens ?? now.input
    now.output = usage.output_tokens ?? now.output
    now.cacheRead = usage.cache_read_input_tokens ?? now.cacheRead
    now.cacheWrite = usage.cache_creation_input_tokens ?? now.cacheWrite
    now.reasoning = usage.output_tokens_details?.thinking_tokens ?? now.reasoning
    this.report?.(this.usage)
  }

  private begin(index: number, fields: Fields): Step {
    const type = text(fields["type"])
    const own = text(fields["name"])
    const block: Block = {
      type,
      id: type.endsWith("tool_use") ? text(fields["id"]) : `${this.next}`,
      fields,
      name: this.request.toolName(own),
      providerExecuted: type === "server_tool_use",
      json: "",
      signature: text(fields["signature"]),
      citations: []
    }
    this.next += 1
    this.blocks.set(index, block)
    if (type === "text") return this.beginText(index, block)
    this.other = true
    const closed = this.closeOpen()
    switch (type) {
      case "thinking":
        return some(
          ...closed,
          { type: "reasoning-start", id: block.id },
          ...reasoningDelta(block.id, text(fields["thinking"]))
        )
      case "redacted_thinking": {
        const metadata = { anthropic: { redactedData: text(fields["data"]) } }
        return some(...closed, { type: "reasoning-start", id: block.id, metadata })
      }
      case "tool_use":
      case "server_tool_use":
        if (block.id === "" || own === "") return broken({ _tag: "Unreadable", what: "a call has no id or no name" })
        if (block.providerExecuted) this.serverNames.set(block.id, block.name)
        return some(...closed, {
          type: "tool-params-start",
          id: block.id,
          name: block.name,
          providerExecuted: block.providerExecuted
        })
      default:
        return some(...closed, ...this.result(type, fields))
    }
  }

  private beginText(index: number, block: Block): Step {
    const first = text(block.fields["text"])
    if (this.open !== undefined) {
      this.blocks.set(index, { ...block, id: this.open })
      this.open = undefined
      return some(...this.textDelta(index, first))
    }
    return some({ type: "text-start", id: block.id }, ...this.textDelta(index, first))
  }

  /** A text that was to be continued and was not. */
  private closeOpen(): ReadonlyArray<Part> {
    const id = this.open
    this.open = undefined
    return id === undefined ? [] : [{ type: "text-end", id }]
  }

  private textDelta(index: number, delta: string): ReadonlyArray<Part> {
    let rest = delta
    while (this.blanks !== "" && rest.startsWith(this.blanks[0]!)) {
      rest = rest.slice(1)
      this.blanks = this.blanks.slice(1)
    }
    if (rest === "") return []
    this.blanks = ""
    this.said += rest
    return [{ type: "text-delta", id: this.blocks.get(index)!.id, delta: rest }]
  }

  /** What a tool of the provider gave back. */
  private result(type: string, fields: Fields): ReadonlyArray<Part> {
    if (!type.endsWith("_tool_result")) {
      this.passedOver.add(type)
      return []
    }
    const id = text(fields["tool_use_id"])
    const content = fields["content"]
    return [
      {
        type: "tool-result",
        id,
        name: this.serverNames.get(id) ?? this.request.toolName(type.slice(0, -"_tool_result".length)),
        result: content,
        isFailure: isRecord(content) && text(content["type"]).endsWith("_error"),
        providerExecuted: true,
        metadata: { anthropic: { type } }
      }
    ]
  }

  private delta(index: number, delta: Fields): Step {
    const block = this.blocks.get(index)
    if (block === undefined) return broken({ _tag: "Unreadable", what: "a piece belongs to no block" })
    switch (delta["type"]) {
      case "text_delta":
        return block.type === "text" ? some(...this.textDelta(index, text(delta["text"]))) : none
      case "thinking_delta":
        return some(...reasoningDelta(block.id, text(delta["thinking"])))
      case "signature_delta":
        block.signature += text(delta["signature"])
        return none
      case "citations_delta":
        block.citations.push(json(delta["citation"]))
        return none
      case "input_json_delta": {
        const piece = text(delta["partial_json"])
        block.json += piece
        const calls = block.type === "tool_use" || block.providerExecuted
        return piece === "" || !calls ? none : some({ type: "tool-params-delta", id: block.id, delta: piece })
      }
      default:
        return none // S3
    }
  }

  private end(index: number): Step {
    const block = this.blocks.get(index)
    if (block === undefined) return broken({ _tag: "Unreadable", what: "a block ends that has not begun" })
    this.blocks.delete(index)
    switch (block.type) {
      case "text": {
        const citations =
          block.citations.length === 0 ? {} : { metadata: { anthropic: { citations: block.citations } } }
        return some({ type: "text-end", id: block.id, ...citations })
      }
      case "thinking": {
        const signed = block.signature === "" ? {} : { metadata: { anthropic: { signature: block.signature } } }
        return some({ type: "reasoning-end", id: block.id, ...signed })
      }
      case "redacted_thinking":
        return some({ type: "reasoning-end", id: block.id })
      case "tool_use":
      case "server_tool_use":
        return this.call(block)
      default:
        return none
    }
  }

  private call(block: Block): Step {
    const { id, name, providerExecuted } = block
    const params = argumentsOf(block)
    if (Option.isNone(params) && !this.options.deferred) return broken({ _tag: "Arguments", tool: name })
    const { caller } = block.fields
    const by =
      isRecord(caller) && caller["type"] !== "direct" ? { metadata: { anthropic: { caller: json(caller) } } } : {}
    return some(
      { type: "tool-params-end", id },
      {
        type: "tool-call",
        id,
        name,
        params: Option.isNone(params) ? block.json : this.request.restore(name, params.value),
        providerExecuted,
        ...by
      }
    )
  }

  private finish(): Step {
    const stop = this.stop
    if (stop === "model_context_window_exceeded") return broken({ _tag: "Oversized" })
    if (stop === "refusal" && this.options.refusals === "error") return broken({ _tag: "Refused" })
    const reason = stop === undefined || !Object.hasOwn(reasons, stop) ? undefined : reasons[stop]
    if (stop === undefined || reason === undefined) {
      return broken({ _tag: "Unreadable", what: "the answer ended without a known reason" }) // S2
    }
    if (this.blocks.size > 0) return broken({ _tag: "Unreadable", what: "the answer ended within a block" })
    const finish: Part = {
      type: "finish",
      reason,
      usage: this.usage,
      metadata: {
        anthropic: {
          stopReason: stop,
          ...(this.stopSequence === undefined ? {} : { stopSequence: this.stopSequence }),
          ...(this.requestId === undefined ? {} : { requestId: this.requestId }),
          ...(this.resumes === 0 ? {} : { resumes: this.resumes }),
          ...(this.passedOver.size === 0 ? {} : { passedOver: [...this.passedOver] })
        }
      }
    }
    return { parts: [...this.closeOpen(), finish], done: true, wrong: undefined }
  }
}

const unknownTokens = (): Tokens => ({
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrite: undefined,
  reasoning: undefined
})

const sum = (left: Tokens, right: Tokens): Tokens => ({
  input: add(left.input, right.input),
  output: add(left.output, right.output),
  cacheRead: add(left.cacheRead, right.cacheRead),
  cacheWrite: add(left.cacheWrite, right.cacheWrite),
  reasoning: add(left.reasoning, right.reasoning)
})

const count = <Name extends string>(name: Name, value: number | undefined): { readonly [key in Name]?: number } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [key in Name]: number })

const reasoningDelta = (id: string, delta: string): ReadonlyArray<Part> =>
  delta === "" ? [] : [{ type: "reasoning-delta", id, delta }]

/** The arguments of a call: what was streamed, else what the block began with. */
const argumentsOf = (block: Block): Option.Option<unknown> => {
  if (block.json.trim() === "") return Option.some(block.fields["input"] ?? {})
  try {
    return Option.some(unsafeSecureJsonParse(block.json))
  } catch {
    return Option.none()
  }
}

/** The parts of a whole answer out of those of its stream. */
export const collect = (parts: ReadonlyArray<Part>): Array<Response.PartEncoded> => {
  const whole: Array<Response.PartEncoded> = []
  const running = new Map<string, { readonly type: "text" | "reasoning"; text: string; metadata: Fields; at: number }>()
  const merge = (left: Fields, right: unknown): Fields => {
    const anthropic = { ...(left["anthropic"] as object), ...(isRecord(right) ? (right["anthropic"] as object) : {}) }
    return Object.keys(anthropic).length === 0 ? {} : { anthropic }
  }
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const type = part.type === "text-start" ? "text" : "reasoning"
        running.set(part.id, { type, text: "", metadata: merge({}, part.metadata), at: whole.length })
        whole.push({ type, text: "" })
        break
      }
      case "text-delta":
      case "reasoning-delta": {
        const one = running.get(part.id)
        if (one !== undefined) one.text += part.delta
        break
      }
      case "text-end":
      case "reasoning-end": {
        const one = running.get(part.id)
        if (one === undefined) break
        const metadata = merge(one.metadata, part.metadata) as Response.ProviderMetadata
        whole[one.at] = { type: one.type, text: one.text, ...(Object.keys(metadata).length === 0 ? {} : { metadata }) }
        break
      }
      case "tool-params-start":
      case "tool-params-delta":
      case "tool-params-end":
      case "error":
        break
      default:
        whole.push(part)
    }
  }
  return whole.filter((part) => part.type !== "text" || part.text !== "")
}

/** Why an answer cannot be used, as Effect says it. */
export const reasonOf = (
  wrong: Wrong,
  mark: { readonly requestId?: string; readonly begun?: boolean }
): AiError.AiErrorReason => {
  const metadata = (kind?: string): AiError.ProviderMetadata => ({
    espalier: { ...mark, ...(kind === undefined ? {} : { kind }) }
  })
  switch (wrong._tag) {
    case "Unreadable":
      return new AiError.InvalidResponseError({ description: wrong.what, metadata: metadata() })
    case "Oversized":
      return new AiError.InvalidRequestError({
        description: "The context window of the model is full",
        metadata: metadata("oversized")
      })
    case "Refused":
      return new AiError.ContentPolicyError({ description: "The model refused to answer", metadata: metadata() })
    case "Arguments":
      return new AiError.InvalidOutputError({
        description: `The arguments for ${wrong.tool} are no JSON`,
        metadata: metadata()
      })
  }
}
