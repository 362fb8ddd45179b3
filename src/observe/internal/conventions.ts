/**
 * Metrics of the GenAI conventions.
 *
 * @since 0.1.0
 */
import { buckets, counter, histogram, type Profile, type Rest } from "./instruments.ts"
import { attribute as a, genAi } from "./names.ts"

const model = [a.operation, a.provider, a.model]

/** Metrics of the GenAI conventions, by a key of our own: their names follow the profile. */
export const conventions = {
  inferenceDuration: [
    { "genai-0.1": genAi("client.inference.duration"), "semconv-1.41": genAi("client.operation.duration") },
    histogram("s", buckets.fast, [...model, a.errorType], "How long a model took to answer")
  ],
  inputTokens: [
    { "genai-0.1": genAi("client.inference.usage.input_tokens") },
    counter("{token}", [...model, a.modality], "Tokens that models were given, those of a cache among them")
  ],
  outputTokens: [
    { "genai-0.1": genAi("client.inference.usage.output_tokens") },
    counter("{token}", [...model, a.modality], "Tokens that models answered with, the reasoning among them")
  ],
  cacheReadTokens: [
    { "genai-0.1": genAi("client.inference.usage.cache_read.input_tokens") },
    counter("{token}", [...model, a.modality], "Tokens that were read from a cache")
  ],
  cacheWriteTokens: [
    { "genai-0.1": genAi("client.inference.usage.cache_write.input_tokens") },
    counter("{token}", [...model, a.modality], "Tokens that were written to a cache")
  ],
  reasoningTokens: [
    { "genai-0.1": genAi("client.inference.usage.reasoning.output_tokens") },
    counter("{token}", [...model, a.modality], "Tokens of reasoning")
  ],
  operationInputTokens: [
    { "genai-0.1": genAi("client.inference.operation.input_tokens") },
    histogram("{token}", buckets.operationTokens, model, "Tokens that a model was given, by call")
  ],
  operationOutputTokens: [
    { "genai-0.1": genAi("client.inference.operation.output_tokens") },
    histogram("{token}", buckets.operationTokens, model, "Tokens that a model answered with, by call")
  ],
  tokenUsage: [
    { "semconv-1.41": genAi("client.token.usage") },
    histogram("{token}", buckets.operationTokens, [...model, a.tokenType], "Tokens of a call, by kind")
  ],
  agentDuration: [
    { "genai-0.1": genAi("invoke_agent.duration"), "semconv-1.41": genAi("invoke_agent.duration") },
    histogram("s", buckets.agent, [a.agent, a.errorType], "How long one attempt of a worker took")
  ],
  inferenceCalls: [
    { "genai-0.1": genAi("invoke_agent.inference_calls"), "semconv-1.41": genAi("invoke_agent.inference_calls") },
    histogram("{inference_call}", buckets.calls, [a.agent], "Calls of models for one order, failed ones among them")
  ],
  toolCalls: [
    { "genai-0.1": genAi("invoke_agent.tool_calls"), "semconv-1.41": genAi("invoke_agent.tool_calls") },
    histogram("{tool_call}", buckets.calls, [a.agent], "Calls of tools for one order, failed ones among them")
  ],
  toolDuration: [
    { "genai-0.1": genAi("execute_tool.duration"), "semconv-1.41": genAi("execute_tool.duration") },
    histogram("s", buckets.fast, [a.tool, a.agent, a.errorType], "How long a tool took")
  ]
} satisfies Record<string, readonly [Readonly<Partial<Record<Profile, string>>>, Rest]>
