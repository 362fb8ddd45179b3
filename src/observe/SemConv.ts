/**
 * Every name that espalier's telemetry uses, and the only place where those of the GenAI conventions of OpenTelemetry stand.
 *
 * Those conventions still change. A profile is one state of them: `genai-0.1`, the first release on their own, and
 * `semconv-1.41`, the last one within the general conventions, for backends that are older.
 *
 * | value | `semconv-1.41` | `genai-0.1` |
 * |---|---|---|
 * | tokens written to a cache | `gen_ai.usage.cache_creation.input_tokens` | `gen_ai.usage.cache_write.input_tokens` |
 * | how long an inference took | `gen_ai.client.operation.duration` | `gen_ai.client.inference.duration` |
 * | tokens | `gen_ai.client.token.usage` by `gen_ai.token.type` | five counters and two histograms |
 * | the name of a workflow | `gen_ai.workflow.name` | `gen_ai.agent.name` |
 * | how long the first chunk took | `gen_ai.client.operation.time_to_first_chunk` | `gen_ai.client.inference.time_to_first_chunk` |
 *
 * **Details**
 *
 * - A name that is `undefined` does not exist in its profile, and its value is not told.
 * - Names that are espalier's own are the same in all profiles.
 * - A name that was read in no released text of its profile is not `verified`: it is known from a list of changes, from
 *   later texts, or from what others emit.
 *
 * **Invariants**
 *
 * - S1. A profile never has two names for one value.
 *
 * **Gotchas**
 *
 * In `genai-0.1` a workflow and an agent share the attribute of their name: the operation tells them apart.
 *
 * **Example** (One value in both profiles)
 *
 * ```ts
 * import { SemConv } from "espalier/observe"
 *
 * SemConv.names("genai-0.1").attributes.usageCacheWrite // => "gen_ai.usage.cache_write.input_tokens"
 * SemConv.names("semconv-1.41").attributes.usageCacheWrite // => "gen_ai.usage.cache_creation.input_tokens"
 * SemConv.spanName.chat("claude-sonnet-4-6") // => "chat claude-sonnet-4-6"
 * SemConv.value("rejected-contract") // => "rejected_contract"
 * SemConv.errorTypeOfOutcome("suspended") // => undefined
 * ```
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { buckets } from "./internal/buckets.ts"

export * from "../agent/internal/errorTypes.ts"
export * from "./internal/buckets.ts"
export * from "./internal/ownNames.ts"

/**
 * Every {@link Profile}, the default first.
 *
 * @category models
 * @since 0.1.0
 */
export const Profiles = ["genai-0.1", "semconv-1.41"] as const

/**
 * A state of the conventions.
 *
 * @category models
 * @since 0.1.0
 */
export const Profile = Schema.Literals(Profiles)

/**
 * @category models
 * @since 0.1.0
 */
export type Profile = typeof Profile.Type

/**
 * The profile where nothing else is said.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultProfile: Profile = "genai-0.1"

const shared = {
  operationName: "gen_ai.operation.name",
  providerName: "gen_ai.provider.name",
  agentName: "gen_ai.agent.name",
  agentId: "gen_ai.agent.id",
  agentDescription: "gen_ai.agent.description",
  agentVersion: "gen_ai.agent.version",
  conversationId: "gen_ai.conversation.id",
  dataSourceId: "gen_ai.data_source.id",
  outputType: "gen_ai.output.type",
  promptName: "gen_ai.prompt.name",
  requestModel: "gen_ai.request.model",
  requestChoiceCount: "gen_ai.request.choice.count",
  requestSeed: "gen_ai.request.seed",
  requestStream: "gen_ai.request.stream",
  requestTemperature: "gen_ai.request.temperature",
  requestTopK: "gen_ai.request.top_k",
  requestTopP: "gen_ai.request.top_p",
  requestMaxTokens: "gen_ai.request.max_tokens",
  requestStopSequences: "gen_ai.request.stop_sequences",
  requestFrequencyPenalty: "gen_ai.request.frequency_penalty",
  requestPresencePenalty: "gen_ai.request.presence_penalty",
  requestEncodingFormats: "gen_ai.request.encoding_formats",
  responseId: "gen_ai.response.id",
  responseModel: "gen_ai.response.model",
  responseFinishReasons: "gen_ai.response.finish_reasons",
  responseTimeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  toolDescription: "gen_ai.tool.description",
  toolCallId: "gen_ai.tool.call.id",
  usageInput: "gen_ai.usage.input_tokens",
  usageOutput: "gen_ai.usage.output_tokens",
  usageCacheRead: "gen_ai.usage.cache_read.input_tokens",
  usageReasoning: "gen_ai.usage.reasoning.output_tokens",
  evaluationName: "gen_ai.evaluation.name",
  evaluationScoreValue: "gen_ai.evaluation.score.value",
  evaluationScoreLabel: "gen_ai.evaluation.score.label",
  errorType: "error.type",
  serverAddress: "server.address",
  serverPort: "server.port",
  exceptionType: "exception.type",
  exceptionMessage: "exception.message"
} as const

const sharedContent = {
  systemInstructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolDefinitions: "gen_ai.tool.definitions",
  toolCallArguments: "gen_ai.tool.call.arguments",
  toolCallResult: "gen_ai.tool.call.result",
  retrievalQuery: "gen_ai.retrieval.query.text",
  retrievalDocuments: "gen_ai.retrieval.documents",
  evaluationExplanation: "gen_ai.evaluation.explanation"
} as const

const sharedEvents = {
  inferenceDetails: "gen_ai.client.inference.operation.details",
  operationException: "gen_ai.client.operation.exception",
  evaluationResult: "gen_ai.evaluation.result"
} as const

/**
 * Names of attributes that carry what somebody wrote: a prompt, an answer, arguments, results. They are left out unless content is
 * captured.
 *
 * @category models
 * @since 0.1.0
 */
export type ContentAttributes = { readonly [K in keyof typeof sharedContent]: string } & {
  readonly promptVariable: string | undefined
}

/**
 * Names of the other attributes.
 *
 * **Details**
 *
 * - `tokenType`: of a number of tokens, `input` or `output`. `tokenModality`: `text`, `image`, `audio` or `unknown`.
 *
 * @category models
 * @since 0.1.0
 */
export type Attributes = { readonly [K in keyof typeof shared]: string } & {
  readonly workflowName: string
  readonly usageCacheWrite: string
  readonly tokenType: string | undefined
  readonly tokenModality: string | undefined
  readonly requestReasoningLevel: string | undefined
  readonly requestPreviousResponseId: string | undefined
  readonly conversationCompacted: string | undefined
  readonly promptVersion: string | undefined
}

/**
 * A metric of the conventions.
 *
 * **Details**
 *
 * - `verified`: whether the name, and `bucketsVerified`: whether the bounds were read in the text of the profile.
 *
 * @category models
 * @since 0.1.0
 */
export interface Instrument {
  readonly name: string
  readonly instrument: "counter" | "histogram"
  readonly unit: string
  readonly description: string
  readonly buckets: ReadonlyArray<number> | undefined
  readonly verified: boolean
  readonly bucketsVerified: boolean
}

/**
 * The metrics of the conventions.
 *
 * **Details**
 *
 * - `inferenceDuration`: of one call of a model. `operationDuration`: of one call for embeddings and the like.
 * - `tokenUsage`: tokens of one call, by `tokenType`. Where it is, the seven others of tokens are not.
 * - `inputTokens` … `reasoningTokens`: counters of all tokens. `inferenceInputTokens`, `inferenceOutputTokens`: of one call.
 * - `workflowDuration`: may be the same metric as `invokeAgentDuration`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Metrics {
  readonly inferenceDuration: Instrument
  readonly operationDuration: Instrument
  readonly timeToFirstChunk: Instrument
  readonly timePerOutputChunk: Instrument
  readonly tokenUsage: Instrument | undefined
  readonly inputTokens: Instrument | undefined
  readonly outputTokens: Instrument | undefined
  readonly cacheReadTokens: Instrument | undefined
  readonly cacheWriteTokens: Instrument | undefined
  readonly reasoningTokens: Instrument | undefined
  readonly inferenceInputTokens: Instrument | undefined
  readonly inferenceOutputTokens: Instrument | undefined
  readonly invokeAgentDuration: Instrument
  readonly inferenceCalls: Instrument
  readonly toolCalls: Instrument
  readonly executeToolDuration: Instrument
  readonly workflowDuration: Instrument
}

/**
 * The names of the conventions in one profile.
 *
 * @category models
 * @since 0.1.0
 */
export interface Names {
  readonly profile: Profile
  readonly attributes: Attributes
  readonly content: ContentAttributes
  readonly metrics: Metrics
  readonly events: { readonly [K in keyof typeof sharedEvents]: string }
  /** Keys of `attributes` whose names are not verified. */
  readonly unverified: ReadonlyArray<keyof Attributes>
}

const histogram = (
  name: string,
  unit: string,
  bounds: ReadonlyArray<number>,
  description: string,
  { bucketsVerified = true, verified = true }: { verified?: boolean; bucketsVerified?: boolean } = {}
): Instrument => ({ name, instrument: "histogram", unit, description, buckets: bounds, verified, bucketsVerified })

const tokens = (kind: string, description: string): Instrument => ({
  name: `gen_ai.client.inference.usage.${kind}`,
  instrument: "counter",
  unit: "{token}",
  description,
  buckets: undefined,
  verified: true,
  bucketsVerified: true
})

const none = {
  inputTokens: undefined,
  outputTokens: undefined,
  cacheReadTokens: undefined,
  cacheWriteTokens: undefined,
  reasoningTokens: undefined,
  inferenceInputTokens: undefined,
  inferenceOutputTokens: undefined
} as const

const words = {
  inference: "How long one inference took",
  operation: "How long one operation of a client took",
  first: "How long it took until the first chunk of an answer",
  chunk: "How long each further chunk of an answer took",
  workflow: "How long one workflow took"
} as const

/** Metrics of agents, which the last release within the general conventions did not have yet. */
const ofAgents = (verified: boolean) => {
  const how = { verified, bucketsVerified: false }
  return {
    invokeAgentDuration: histogram("gen_ai.invoke_agent.duration", "s", buckets.agent, "How long one turn took", how),
    inferenceCalls: histogram(
      "gen_ai.invoke_agent.inference_calls",
      "{inference_call}",
      buckets.calls,
      "How many inferences an agent asked for itself in one turn",
      how
    ),
    toolCalls: histogram(
      "gen_ai.invoke_agent.tool_calls",
      "{tool_call}",
      buckets.calls,
      "How many tools an agent called itself in one turn",
      how
    ),
    executeToolDuration: histogram(
      "gen_ai.execute_tool.duration",
      "s",
      buckets.fast,
      "How long one call of a tool took",
      how
    )
  }
}

const genai01: Names = {
  profile: "genai-0.1",
  attributes: {
    ...shared,
    workflowName: "gen_ai.agent.name",
    usageCacheWrite: "gen_ai.usage.cache_write.input_tokens",
    tokenType: undefined,
    tokenModality: "gen_ai.token.modality",
    requestReasoningLevel: "gen_ai.request.reasoning.level",
    requestPreviousResponseId: "gen_ai.request.previous_response.id",
    conversationCompacted: "gen_ai.conversation.compacted",
    promptVersion: "gen_ai.prompt.version"
  },
  content: { ...sharedContent, promptVariable: "gen_ai.prompt.variable" },
  metrics: {
    inferenceDuration: histogram("gen_ai.client.inference.duration", "s", buckets.fast, words.inference),
    operationDuration: histogram("gen_ai.client.operation.duration", "s", buckets.fast, words.operation),
    timeToFirstChunk: histogram("gen_ai.client.inference.time_to_first_chunk", "s", buckets.fast, words.first),
    timePerOutputChunk: histogram("gen_ai.client.inference.time_per_output_chunk", "s", buckets.fast, words.chunk),
    tokenUsage: undefined,
    inputTokens: tokens("input_tokens", "Tokens that went in, those of caches included"),
    outputTokens: tokens("output_tokens", "Tokens that came out, those of reasoning included"),
    cacheReadTokens: tokens("cache_read.input_tokens", "Tokens that were read from a cache"),
    cacheWriteTokens: tokens("cache_write.input_tokens", "Tokens that were written to a cache"),
    reasoningTokens: tokens("reasoning.output_tokens", "Tokens that were spent on reasoning"),
    inferenceInputTokens: histogram(
      "gen_ai.client.inference.operation.input_tokens",
      "{token}",
      buckets.tokens,
      "Tokens that went into one inference"
    ),
    inferenceOutputTokens: histogram(
      "gen_ai.client.inference.operation.output_tokens",
      "{token}",
      buckets.tokens,
      "Tokens that came out of one inference"
    ),
    ...ofAgents(true),
    workflowDuration: histogram("gen_ai.invoke_agent.duration", "s", buckets.agent, words.workflow, {
      verified: false,
      bucketsVerified: false
    })
  },
  events: sharedEvents,
  unverified: ["workflowName"]
}

const semconv141: Names = {
  profile: "semconv-1.41",
  attributes: {
    ...shared,
    workflowName: "gen_ai.workflow.name",
    usageCacheWrite: "gen_ai.usage.cache_creation.input_tokens",
    tokenType: "gen_ai.token.type",
    tokenModality: undefined,
    requestReasoningLevel: undefined,
    requestPreviousResponseId: undefined,
    conversationCompacted: undefined,
    promptVersion: undefined
  },
  content: { ...sharedContent, promptVariable: undefined },
  metrics: {
    inferenceDuration: histogram("gen_ai.client.operation.duration", "s", buckets.fast, words.inference),
    operationDuration: histogram("gen_ai.client.operation.duration", "s", buckets.fast, words.operation),
    timeToFirstChunk: histogram("gen_ai.client.operation.time_to_first_chunk", "s", buckets.fast, words.first),
    timePerOutputChunk: histogram("gen_ai.client.operation.time_per_output_chunk", "s", buckets.fast, words.chunk),
    tokenUsage: histogram("gen_ai.client.token.usage", "{token}", buckets.tokens, "Tokens of one inference"),
    ...none,
    ...ofAgents(false),
    workflowDuration: histogram("gen_ai.invoke_workflow.duration", "s", buckets.agent, words.workflow, {
      verified: false,
      bucketsVerified: false
    })
  },
  events: sharedEvents,
  unverified: []
}

/**
 * The names of the conventions in a profile.
 *
 * @category constructors
 * @since 0.1.0
 */
export const names = (profile: Profile = defaultProfile): Names => (profile === "genai-0.1" ? genai01 : semconv141)

/**
 * Whether an attribute is one of the GenAI conventions, of whatever profile.
 *
 * @category guards
 * @since 0.1.0
 */
export const isGenAi = (attribute: string): boolean => attribute.startsWith("gen_ai.")

const contents: ReadonlySet<string> = new Set([
  ...Object.values(sharedContent),
  "gen_ai.prompt.variable",
  // Of earlier conventions.
  "gen_ai.prompt",
  "gen_ai.completion"
])

/**
 * Whether an attribute carries what somebody wrote, in whatever profile.
 *
 * @category guards
 * @since 0.1.0
 */
export const isContent = (attribute: string): boolean =>
  contents.has(attribute) || attribute.startsWith("gen_ai.prompt.variable.")

/**
 * Whether an attribute says how many tokens were used, in whatever profile.
 *
 * @category guards
 * @since 0.1.0
 */
export const isUsage = (attribute: string): boolean => attribute.startsWith("gen_ai.usage.")

/** Names that others still write, and the keys of those that took their place. */
const former: Readonly<Record<string, keyof Attributes>> = {
  "gen_ai.system": "providerName",
  "gen_ai.usage.prompt_tokens": "usageInput",
  "gen_ai.usage.completion_tokens": "usageOutput",
  "gen_ai.usage.cache_creation.input_tokens": "usageCacheWrite",
  "gen_ai.usage.cache_write.input_tokens": "usageCacheWrite",
  "gen_ai.workflow.name": "workflowName"
}

/**
 * The name that a value has in a profile, for one that was written by another: by that of the other profile, or by one that was used
 * before. Every other name is left as it is.
 *
 * @category conversions
 * @since 0.1.0
 */
export const renamed = (attribute: string, { attributes }: Names): string => {
  const key = Object.hasOwn(former, attribute) ? former[attribute] : undefined
  return (key === undefined ? undefined : attributes[key]) ?? attribute
}

/**
 * One name, as it is listed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Name {
  readonly of: "attribute" | "content" | "metric" | "event"
  readonly key: string
  readonly name: string
  readonly verified: boolean
}

/**
 * Every name of the conventions that a profile has.
 *
 * @category accessors
 * @since 0.1.0
 */
export const list = (profile: Profile): ReadonlyArray<Name> => {
  const { attributes, content, events, metrics, unverified } = names(profile)
  const listed = (of: Name["of"], record: object, isVerified: (key: string) => boolean = () => true) =>
    Object.entries(record as Readonly<Record<string, string | undefined>>).flatMap(([key, name]): Array<Name> =>
      name === undefined ? [] : [{ of, key, name, verified: isVerified(key) }]
    )
  return [
    ...listed("attribute", attributes, (key) => !unverified.some((each) => each === key)),
    ...listed("content", content),
    ...Object.entries(metrics as unknown as Readonly<Record<string, Instrument | undefined>>).flatMap(
      ([key, instrument]): Array<Name> =>
        instrument === undefined ? [] : [{ of: "metric", key, name: instrument.name, verified: instrument.verified }]
    ),
    ...listed("event", events)
  ]
}

/**
 * A literal of espalier's API as the value of an attribute: `rejected-contract` is `rejected_contract`.
 *
 * **Gotchas**
 *
 * For literals only: the name of a worker or a task keeps its dashes.
 *
 * @category conversions
 * @since 0.1.0
 */
export const value = (literal: string): string => literal.replaceAll("-", "_")
