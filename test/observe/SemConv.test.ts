import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { assert, describe, expect, it } from "@effect/vitest"
import * as incubating from "@opentelemetry/semantic-conventions/incubating"
import { Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import { SemConv } from "espalier/observe"
import { Result, RunEvent } from "espalier/run"

/** What the conventions say, read for each profile: by the key that we use. `-` = the profile has none. */
const attributes: ReadonlyArray<readonly [key: string, semconv141: string, genai01: string]> = [
  ["operationName", "gen_ai.operation.name", "="],
  ["providerName", "gen_ai.provider.name", "="],
  ["agentName", "gen_ai.agent.name", "="],
  ["agentId", "gen_ai.agent.id", "="],
  ["agentDescription", "gen_ai.agent.description", "="],
  ["agentVersion", "gen_ai.agent.version", "="],
  ["conversationId", "gen_ai.conversation.id", "="],
  ["dataSourceId", "gen_ai.data_source.id", "="],
  ["outputType", "gen_ai.output.type", "="],
  ["promptName", "gen_ai.prompt.name", "="],
  ["requestModel", "gen_ai.request.model", "="],
  ["requestChoiceCount", "gen_ai.request.choice.count", "="],
  ["requestSeed", "gen_ai.request.seed", "="],
  ["requestStream", "gen_ai.request.stream", "="],
  ["requestTemperature", "gen_ai.request.temperature", "="],
  ["requestTopK", "gen_ai.request.top_k", "="],
  ["requestTopP", "gen_ai.request.top_p", "="],
  ["requestMaxTokens", "gen_ai.request.max_tokens", "="],
  ["requestStopSequences", "gen_ai.request.stop_sequences", "="],
  ["requestFrequencyPenalty", "gen_ai.request.frequency_penalty", "="],
  ["requestPresencePenalty", "gen_ai.request.presence_penalty", "="],
  ["requestEncodingFormats", "gen_ai.request.encoding_formats", "="],
  ["requestReasoningLevel", "-", "gen_ai.request.reasoning.level"],
  ["requestPreviousResponseId", "-", "gen_ai.request.previous_response.id"],
  ["conversationCompacted", "-", "gen_ai.conversation.compacted"],
  ["promptVersion", "-", "gen_ai.prompt.version"],
  ["responseId", "gen_ai.response.id", "="],
  ["responseModel", "gen_ai.response.model", "="],
  ["responseFinishReasons", "gen_ai.response.finish_reasons", "="],
  ["responseTimeToFirstChunk", "gen_ai.response.time_to_first_chunk", "="],
  ["toolName", "gen_ai.tool.name", "="],
  ["toolType", "gen_ai.tool.type", "="],
  ["toolDescription", "gen_ai.tool.description", "="],
  ["toolCallId", "gen_ai.tool.call.id", "="],
  ["usageInput", "gen_ai.usage.input_tokens", "="],
  ["usageOutput", "gen_ai.usage.output_tokens", "="],
  ["usageCacheRead", "gen_ai.usage.cache_read.input_tokens", "="],
  ["usageCacheWrite", "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens"],
  ["usageReasoning", "gen_ai.usage.reasoning.output_tokens", "="],
  ["tokenType", "gen_ai.token.type", "-"],
  ["tokenModality", "-", "gen_ai.token.modality"],
  ["workflowName", "gen_ai.workflow.name", "gen_ai.agent.name"],
  ["evaluationName", "gen_ai.evaluation.name", "="],
  ["evaluationScoreValue", "gen_ai.evaluation.score.value", "="],
  ["evaluationScoreLabel", "gen_ai.evaluation.score.label", "="],
  ["errorType", "error.type", "="],
  ["serverAddress", "server.address", "="],
  ["serverPort", "server.port", "="],
  ["exceptionType", "exception.type", "="],
  ["exceptionMessage", "exception.message", "="],
  ["systemInstructions", "gen_ai.system_instructions", "="],
  ["inputMessages", "gen_ai.input.messages", "="],
  ["outputMessages", "gen_ai.output.messages", "="],
  ["toolDefinitions", "gen_ai.tool.definitions", "="],
  ["toolCallArguments", "gen_ai.tool.call.arguments", "="],
  ["toolCallResult", "gen_ai.tool.call.result", "="],
  ["retrievalQuery", "gen_ai.retrieval.query.text", "="],
  ["retrievalDocuments", "gen_ai.retrieval.documents", "="],
  ["evaluationExplanation", "gen_ai.evaluation.explanation", "="],
  ["promptVariable", "-", "gen_ai.prompt.variable"]
]

const fast = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const agent = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6]
const calls = [1, 2, 4, 8, 16, 32, 64, 128]
const tokens = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864]

type Row = readonly [key: string, name: string, instrument: string, unit: string, bounds?: ReadonlyArray<number>]

const ofAgents: ReadonlyArray<Row> = [
  ["invokeAgentDuration", "gen_ai.invoke_agent.duration", "histogram", "s", agent],
  ["inferenceCalls", "gen_ai.invoke_agent.inference_calls", "histogram", "{inference_call}", calls],
  ["toolCalls", "gen_ai.invoke_agent.tool_calls", "histogram", "{tool_call}", calls],
  ["executeToolDuration", "gen_ai.execute_tool.duration", "histogram", "s", fast]
]

const metrics: Readonly<Record<SemConv.Profile, ReadonlyArray<Row>>> = {
  "genai-0.1": [
    ["inferenceDuration", "gen_ai.client.inference.duration", "histogram", "s", fast],
    ["operationDuration", "gen_ai.client.operation.duration", "histogram", "s", fast],
    ["timeToFirstChunk", "gen_ai.client.inference.time_to_first_chunk", "histogram", "s", fast],
    ["timePerOutputChunk", "gen_ai.client.inference.time_per_output_chunk", "histogram", "s", fast],
    ["inputTokens", "gen_ai.client.inference.usage.input_tokens", "counter", "{token}"],
    ["outputTokens", "gen_ai.client.inference.usage.output_tokens", "counter", "{token}"],
    ["cacheReadTokens", "gen_ai.client.inference.usage.cache_read.input_tokens", "counter", "{token}"],
    ["cacheWriteTokens", "gen_ai.client.inference.usage.cache_write.input_tokens", "counter", "{token}"],
    ["reasoningTokens", "gen_ai.client.inference.usage.reasoning.output_tokens", "counter", "{token}"],
    ["inferenceInputTokens", "gen_ai.client.inference.operation.input_tokens", "histogram", "{token}", tokens],
    ["inferenceOutputTokens", "gen_ai.client.inference.operation.output_tokens", "histogram", "{token}", tokens],
    ...ofAgents,
    ["workflowDuration", "gen_ai.invoke_agent.duration", "histogram", "s", agent]
  ],
  "semconv-1.41": [
    ["inferenceDuration", "gen_ai.client.operation.duration", "histogram", "s", fast],
    ["operationDuration", "gen_ai.client.operation.duration", "histogram", "s", fast],
    ["timeToFirstChunk", "gen_ai.client.operation.time_to_first_chunk", "histogram", "s", fast],
    ["timePerOutputChunk", "gen_ai.client.operation.time_per_output_chunk", "histogram", "s", fast],
    ["tokenUsage", "gen_ai.client.token.usage", "histogram", "{token}", tokens],
    ...ofAgents,
    ["workflowDuration", "gen_ai.invoke_workflow.duration", "histogram", "s", agent]
  ]
}

/** What npm's package has, as the last release with these conventions in it. */
const published = new Set(Object.values(incubating).map(String))

const attributesOf = (profile: SemConv.Profile) => {
  const { attributes, content } = SemConv.names(profile)
  return Object.fromEntries(
    Object.entries({ ...attributes, ...content }).flatMap(([key, name]) => (name === undefined ? [] : [[key, name]]))
  )
}

const src = fileURLToPath(new URL("../../src", import.meta.url))

describe("SemConv", () => {
  describe("names", () => {
    it.effect.each(SemConv.Profiles)(
      "R-501 the attributes of %s are those of its conventions, and no others",
      (profile) =>
        Effect.sync(() => {
          const expected = attributes.flatMap(([key, older, newer]) => {
            const name = profile === "semconv-1.41" || newer === "=" ? older : newer
            return name === "-" ? [] : [[key, name] as const]
          })
          assert.deepStrictEqual(attributesOf(profile), Object.fromEntries(expected))
        })
    )

    it.effect.each(SemConv.Profiles)(
      "R-501 the metrics of %s have their names, instruments, units and bounds",
      (profile) =>
        Effect.sync(() => {
          const found = Object.entries(SemConv.names(profile).metrics as unknown as Record<string, SemConv.Instrument>)
            .filter(([, each]) => each !== undefined)
            .map(([key, { buckets, instrument, name, unit }]): Row =>
              buckets === undefined ? [key, name, instrument, unit] : [key, name, instrument, unit, buckets]
            )
          const byKey = (all: ReadonlyArray<Row>) => all.toSorted(([a], [b]) => a.localeCompare(b))
          assert.deepStrictEqual(byKey(found), byKey(metrics[profile]))
        })
    )

    it.effect("R-501 every verified name of semconv-1.41 is in npm's package", () =>
      Effect.sync(() => {
        const names = SemConv.list("semconv-1.41").filter(({ name, verified }) => verified && SemConv.isGenAi(name))
        assert.isAbove(names.length, 50)
        assert.deepStrictEqual(
          names.filter(({ name }) => !published.has(name)),
          []
        )
      })
    )

    it.effect("R-501 what is not verified is said: in semconv-1.41 just what npm's package does not have", () =>
      Effect.sync(() => {
        const unverified = (profile: SemConv.Profile) =>
          SemConv.list(profile).flatMap(({ key, name, verified }) => (verified ? [] : [[key, name] as const]))
        assert.deepStrictEqual(unverified("genai-0.1"), [
          ["workflowName", "gen_ai.agent.name"],
          ["workflowDuration", "gen_ai.invoke_agent.duration"]
        ])
        assert.deepStrictEqual(
          unverified("semconv-1.41").map(([, name]) => [name, published.has(name)]),
          [
            ["gen_ai.invoke_agent.duration", false],
            ["gen_ai.invoke_agent.inference_calls", false],
            ["gen_ai.invoke_agent.tool_calls", false],
            ["gen_ai.execute_tool.duration", false],
            ["gen_ai.invoke_workflow.duration", false]
          ]
        )
      })
    )

    it.effect.each<readonly [one: string, other: string]>([
      ["gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens"],
      ["gen_ai.client.token.usage", "gen_ai.client.inference.usage.input_tokens"],
      ["gen_ai.client.token.usage", "gen_ai.client.inference.operation.input_tokens"],
      ["gen_ai.token.type", "gen_ai.token.modality"],
      ["gen_ai.client.operation.time_to_first_chunk", "gen_ai.client.inference.time_to_first_chunk"],
      ["gen_ai.workflow.name", "-"]
    ])("R-501 no profile has both %s and %s", ([one, other]) =>
      Effect.sync(() => {
        const having = (name: string) =>
          SemConv.Profiles.filter((profile) => SemConv.list(profile).some((each) => each.name === name))
        assert.deepStrictEqual(having(one), ["semconv-1.41"])
        if (other !== "-") assert.deepStrictEqual(having(other), ["genai-0.1"])
      })
    )

    it.effect("a name stands for one value, but for the two of a workflow and the two of a duration", () =>
      Effect.sync(() => {
        const shared = SemConv.Profiles.map((profile) => {
          const all = SemConv.list(profile)
          return all.filter(({ name }) => all.filter((each) => each.name === name).length > 1).map(({ key }) => key)
        })
        assert.deepStrictEqual(shared, [
          ["agentName", "workflowName", "invokeAgentDuration", "workflowDuration"],
          ["inferenceDuration", "operationDuration"]
        ])
      })
    )

    it.each(SemConv.Profiles)("D105 every name of %s is as it was", (profile) => {
      const said = SemConv.list(profile).map(
        ({ key, name, of, verified }) => `${of} ${key} ${name}${verified ? "" : " ?"}`
      )
      // oxlint-disable-next-line vitest/no-standalone-expect -- it.each is a block of tests.
      expect(said).toMatchSnapshot()
    })
  })

  it.effect("R-501 the names of the conventions stand in one file", () =>
    Effect.sync(() => {
      const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))
      assert.isAbove(files.length, 100)
      const having = files.filter((file) => readFileSync(join(src, file), "utf8").includes("gen_ai."))
      assert.deepStrictEqual(having, [join("observe", "SemConv.ts")])
    })
  )

  describe("renamed", () => {
    it.effect("gives what was written by other names the name of the profile", () =>
      Effect.sync(() => {
        const of = (profile: SemConv.Profile) => (name: string) => SemConv.renamed(name, SemConv.names(profile))
        const others = [
          "gen_ai.system",
          "gen_ai.usage.cache_creation.input_tokens",
          "gen_ai.usage.cache_write.input_tokens"
        ]
        assert.deepStrictEqual(others.map(of("genai-0.1")), [
          "gen_ai.provider.name",
          "gen_ai.usage.cache_write.input_tokens",
          "gen_ai.usage.cache_write.input_tokens"
        ])
        assert.deepStrictEqual(others.map(of("semconv-1.41")), [
          "gen_ai.provider.name",
          "gen_ai.usage.cache_creation.input_tokens",
          "gen_ai.usage.cache_creation.input_tokens"
        ])
        assert.deepStrictEqual(["url.full", "constructor"].map(of("genai-0.1")), ["url.full", "constructor"])
      })
    )
  })

  describe("value", () => {
    it.effect("writes every literal of how work ends in snake case", () =>
      Effect.sync(() => {
        const all = [...RunEvent.DispatchEnd.literals, ...RunEvent.StopReason.literals].map(SemConv.value)
        assert.deepStrictEqual(
          all.filter((each) => !/^[a-z]+(_[a-z]+)*$/.test(each)),
          []
        )
        assert.include(all, "rejected_contract")
      })
    )
  })

  describe("errorTypeOfAi", () => {
    it.effect("R-502 knows every reason of an AiError, and says _OTHER only of the one that is unknown", () =>
      Effect.sync(() => {
        const reasons = AiError.AiErrorReason.members.map((member) => member.fields._tag.schema.literal)
        assert.isAbove(reasons.length, 15)
        const types = reasons.map((reason) => [reason, SemConv.errorTypeOfAi(reason)] as const)
        assert.deepStrictEqual(
          types.filter(([, type]) => !SemConv.errorTypes.includes(type)),
          []
        )
        assert.deepStrictEqual(
          types.flatMap(([reason, type]) => (type === "_OTHER" ? [reason] : [])),
          ["UnknownError"]
        )
        assert.strictEqual(SemConv.errorTypeOfAi("RateLimitError"), "rate_limited")
        assert.strictEqual(SemConv.errorTypeOfAi("toString"), "_OTHER")
      })
    )
  })

  describe("errorTypeOfOutcome", () => {
    it.effect("D103 says of each end what error it is, and of what is none nothing", () =>
      Effect.sync(() => {
        const none = ["ok", "accepted", "partial", "suspended", "cancelled", "refused", "rejected-quality"] as const
        assert.deepStrictEqual(
          none.map((outcome) => SemConv.errorTypeOfOutcome(outcome, { kind: "denied", late: true })),
          none.map(() => undefined)
        )
        const rest = RunEvent.DispatchEnd.literals.filter((each) => !none.some((one) => one === each))
        assert.deepStrictEqual(
          rest.map((outcome) => [outcome, SemConv.errorTypeOfOutcome(outcome)]),
          [
            ["rejected-contract", "contract_violation"],
            ["failed", "_OTHER"],
            ["timed-out", "timeout"],
            ["crashed", "crash"],
            ["budget-exceeded", "budget_exceeded"],
            ["denied", "denied"]
          ]
        )
      })
    )

    it.effect("R-502 says of what failed what its kind says", () =>
      Effect.sync(() => {
        assert.deepStrictEqual(
          Result.ErrorKind.literals.map((kind) => [kind, SemConv.errorTypeOfOutcome("failed", { kind })]),
          [
            ["transient", "transient"],
            ["capability", "capability"],
            ["oversized", "oversized"],
            ["malformed", "contract_violation"],
            ["denied", "denied"],
            ["exhausted", "budget_exceeded"],
            ["defect", "crash"]
          ]
        )
        assert.strictEqual(SemConv.errorTypeOfOutcome("failed", { kind: "transient", late: true }), "timeout")
      })
    )
  })

  describe("errorTypeOfEnd", () => {
    it("D103 says of an end what it is, and nothing of what people did not let be done", () => {
      assert.deepStrictEqual(
        [
          SemConv.errorTypeOfEnd({ outcome: "timed-out", kind: "exhausted" }),
          SemConv.errorTypeOfEnd({ outcome: "denied", kind: "denied" }),
          SemConv.errorTypeOfEnd({ outcome: "denied" }),
          SemConv.errorTypeOfEnd({ outcome: "failed" }),
          SemConv.errorTypeOfEnd({ outcome: "suspended", kind: "denied" })
        ],
        ["timeout", "denied", undefined, "_OTHER", undefined]
      )
    })

    it("D103 is blind to what nobody is to blame for in an order", () => {
      const result = {
        status: "failed",
        confidence: 0,
        error: { kind: "denied", reason: "no" },
        evidence: [],
        usage: {},
        missing: []
      } as const
      const type = (review?: string) =>
        SemConv.errorTypeOfEnd(SemConv.endOfOrder({ outcome: "denied", result, review }))
      assert.deepStrictEqual([type(), type("r1/review/1")], ["denied", undefined])
      const choice = SemConv.endOfChoice({ error: { kind: "transient", reason: "late" }, late: true })
      assert.strictEqual(SemConv.errorTypeOfEnd(choice), "timeout")
    })
  })

  describe("errorTypeOfTool", () => {
    it("R-502 says that the tool failed where nothing else is known, and else what", () => {
      assert.deepStrictEqual(
        Result.ErrorKind.literals.map((kind) => SemConv.errorTypeOfTool({ outcome: "failed", kind })),
        ["tool_failed", "tool_failed", "oversized", "contract_violation", "denied", "budget_exceeded", "crash"]
      )
      assert.isUndefined(SemConv.errorTypeOfTool({ outcome: "denied" }))
      assert.isUndefined(SemConv.errorTypeOfTool({ outcome: "accepted" }))
    })
  })

  describe("errorTypeOfRun", () => {
    it("D103 is only of a run that failed, and not for people who stopped it, rejected it or said nothing", () => {
      const of = (status: RunEvent.RunEnd) =>
        RunEvent.StopReason.literals.map((stopReason) => [stopReason, SemConv.errorTypeOfRun({ status, stopReason })])
      for (const status of ["completed", "partial", "cancelled"] as const) {
        assert.isTrue(of(status).every(([, type]) => type === undefined))
      }
      assert.deepStrictEqual(Object.fromEntries(of("failed")), {
        accepted: "_OTHER",
        empty: "_OTHER",
        "budget-exceeded": "budget_exceeded",
        deadline: "timeout",
        "no-ready-task": "_OTHER",
        "no-eligible-worker": "_OTHER",
        "loop-detected": "loop_detected",
        "stop-requested": undefined,
        "rejected-by-reviewer": undefined,
        "escalation-expired": undefined,
        "untrusted-state": "_OTHER",
        "root-gave-up": "restart_intensity"
      })
    })
  })

  it.effect("names of our own are one for each value, in small letters, and below espalier", () =>
    Effect.sync(() => {
      const all = Object.values(SemConv.espalier)
      assert.strictEqual(new Set(all).size, all.length)
      assert.deepStrictEqual(
        [...all, ...Object.values(SemConv.events)].filter((name) => !/^espalier(\.[a-z]+(_[a-z]+)*)+$/.test(name)),
        []
      )
      assert.isTrue(Schema.is(SemConv.Profile)(SemConv.defaultProfile))
    })
  )
})
