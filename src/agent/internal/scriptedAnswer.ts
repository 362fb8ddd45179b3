/**
 * A scripted answer as the parts of a response, whole or as they arrive one by one.
 */
import type * as Response from "effect/ai/Response"

/** Tokens that a call took; what is left out is not said. */
export interface ScriptedUsage {
  readonly inputTokens?: number | undefined
  readonly outputTokens?: number | undefined
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly reasoning?: number | undefined
}

/** One call of a tool, with the id that it has got. */
export interface ScriptedCall {
  readonly id: string
  readonly name: string
  readonly params: unknown
}

/** What one answer says. */
export interface Said {
  readonly id: string
  readonly model: string
  readonly reasoning: string
  readonly chunks: ReadonlyArray<string>
  readonly calls: ReadonlyArray<ScriptedCall>
  readonly usage: ScriptedUsage
  readonly finish: Response.FinishReason | "none"
}

const some = <A extends Record<string, unknown>>(fields: A): { [K in keyof A]: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof A]: Exclude<A[K], undefined>
  }

const usageOf = (usage: ScriptedUsage): Response.FinishPartEncoded["usage"] => ({
  inputTokens: some({ total: usage.inputTokens, cacheRead: usage.cacheRead, cacheWrite: usage.cacheWrite }),
  outputTokens: some({ total: usage.outputTokens, reasoning: usage.reasoning })
})

const metadata = (said: Said): Response.ResponseMetadataPartEncoded => ({
  type: "response-metadata",
  id: said.id,
  modelId: said.model
})

const finish = (said: Said): ReadonlyArray<Response.FinishPartEncoded> =>
  said.finish === "none" ? [] : [{ type: "finish", reason: said.finish, usage: usageOf(said.usage) }]

const callPart = ({ id, name, params }: ScriptedCall): Response.ToolCallPartEncoded => ({
  type: "tool-call",
  id,
  name,
  params
})

/** The whole answer. */
export const wholeParts = (said: Said): Array<Response.PartEncoded> => {
  const text = said.chunks.join("")
  return [
    metadata(said),
    ...(said.reasoning === "" ? [] : [{ type: "reasoning" as const, text: said.reasoning }]),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...said.calls.map(callPart),
    ...finish(said)
  ]
}

const written = (params: unknown): string => {
  try {
    return JSON.stringify(params) ?? ""
  } catch {
    return "" // what cannot be written as JSON arrives in the call alone
  }
}

/** The answer as it arrives. */
export const streamParts = (said: Said): ReadonlyArray<Response.StreamPartEncoded> => [
  metadata(said),
  ...(said.reasoning === ""
    ? []
    : [
        { type: "reasoning-start" as const, id: "reasoning" },
        { type: "reasoning-delta" as const, id: "reasoning", delta: said.reasoning },
        { type: "reasoning-end" as const, id: "reasoning" }
      ]),
  ...(said.chunks.length === 0
    ? []
    : [
        { type: "text-start" as const, id: "text" },
        ...said.chunks.map((delta) => ({ type: "text-delta" as const, id: "text", delta })),
        { type: "text-end" as const, id: "text" }
      ]),
  ...said.calls.flatMap((call) => [
    { type: "tool-params-start" as const, id: call.id, name: call.name, providerExecuted: false },
    { type: "tool-params-delta" as const, id: call.id, delta: written(call.params) },
    { type: "tool-params-end" as const, id: call.id },
    callPart(call)
  ]),
  ...finish(said)
]
