/**
 * Metrics of the GenAI conventions.
 *
 * @since 0.1.0
 */
import type { Metrics } from "../SemConv.ts"
import { attribute as a } from "./names.ts"

const model = [a.operation, a.provider, a.model]

/** Metrics of the GenAI conventions, by a key of our own: the one that it is, its attributes, and what it says here. */
export const conventions = {
  inferenceDuration: ["inferenceDuration", [...model, a.errorType], "How long a model took to answer"],
  inputTokens: ["inputTokens", [...model, a.modality], "Tokens that models were given, those of a cache among them"],
  outputTokens: ["outputTokens", [...model, a.modality], "Tokens that models answered with, the reasoning among them"],
  cacheReadTokens: ["cacheReadTokens", [...model, a.modality], "Tokens that were read from a cache"],
  cacheWriteTokens: ["cacheWriteTokens", [...model, a.modality], "Tokens that were written to a cache"],
  reasoningTokens: ["reasoningTokens", [...model, a.modality], "Tokens of reasoning"],
  operationInputTokens: ["inferenceInputTokens", model, "Tokens that a model was given, by call"],
  operationOutputTokens: ["inferenceOutputTokens", model, "Tokens that a model answered with, by call"],
  tokenUsage: ["tokenUsage", [...model, a.tokenType], "Tokens of a call, by kind"],
  agentDuration: ["invokeAgentDuration", [a.agent, a.errorType], "How long one attempt of a worker took"],
  inferenceCalls: ["inferenceCalls", [a.agent], "Calls of models for one order, failed ones among them"],
  toolCalls: ["toolCalls", [a.agent], "Calls of tools for one order, failed ones among them"],
  toolDuration: ["executeToolDuration", [a.tool, a.agent, a.errorType], "How long a tool took"]
} satisfies Record<string, readonly [keyof Metrics, attributes: ReadonlyArray<string>, description: string]>
