import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, type Schema } from "effect"
import { AiError } from "effect/ai"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { ContextWindow, Gateway, Memory, ModelAnswer, ModelFailure, Sandbox } from "espalier/agent"
import { Secrets } from "espalier/run"

const provider = { provider: "acme", model: "large" }
const errorOf = (reason: AiError.AiErrorReason) => AiError.make({ module: "Acme", method: "generateText", reason })
const http = (status: number, body = "", headers: Readonly<Record<string, string>> = {}) => ({
  body,
  response: { status, headers }
})

describe("ModelFailure", () => {
  describe("classify", () => {
    const rows: ReadonlyArray<readonly [name: string, reason: AiError.AiErrorReason, expected: string]> = [
      ["a rate limit", new AiError.RateLimitError({ retryAfter: Duration.seconds(3) }), "transient 3000"],
      [
        "a rate limit that is a spent quota",
        new AiError.RateLimitError({ http: http(429, "insufficient_quota") }),
        "capability"
      ],
      ["a spent quota", new AiError.QuotaExhaustedError({ http: http(429) }), "capability"],
      ["a wrong key", new AiError.AuthenticationError({ kind: "InvalidKey" }), "denied"],
      [
        "403 that is a rate limit",
        new AiError.AuthenticationError({ kind: "Unknown", http: http(403, "", { "retry-after": "1" }) }),
        "transient 1000"
      ],
      ["a refusal", new AiError.ContentPolicyError({ description: "", http: http(500) }), "capability"],
      ["a wrong request", new AiError.InvalidRequestError({}), "capability"],
      [
        "a context that is too long",
        new AiError.InvalidRequestError({ http: http(400, "context_length_exceeded") }),
        "oversized"
      ],
      ["a request that is too large", new AiError.InvalidRequestError({ http: http(413) }), "oversized"],
      ["an unreadable response", new AiError.InvalidResponseError({ description: "", http: http(200) }), "malformed"],
      ["a failed provider", new AiError.InternalProviderError({ description: "" }), "transient"],
      [
        "throttling as 503",
        new AiError.InternalProviderError({ description: "", http: http(503, "throttled", { "Retry-After": "2" }) }),
        "transient 2000"
      ],
      [
        "no network",
        new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "https://acme.test" }),
        "transient"
      ],
      [
        "a wrong URL",
        new AiError.NetworkError({ reason: "InvalidUrlError", method: "POST", url: "acme" }),
        "capability"
      ],
      ["an answer that does not fit", new AiError.InvalidOutputError({ description: "" }), "malformed"],
      [
        "an object that does not fit",
        new AiError.StructuredOutputError({ description: "", responseText: "" }),
        "malformed"
      ],
      ["a schema that is not supported", new AiError.UnsupportedSchemaError({ description: "" }), "capability"],
      ["something unknown", new AiError.UnknownError({}), "transient"],
      ["something unknown with a status that is known", new AiError.UnknownError({ http: http(404) }), "capability"],
      ["a tool that does not exist", new AiError.ToolNotFoundError({ toolName: "x", availableTools: [] }), "malformed"],
      [
        "arguments that do not fit",
        new AiError.ToolParameterValidationError({ toolName: "x", description: "" }),
        "malformed"
      ],
      [
        "a result that does not fit",
        new AiError.InvalidToolResultError({ toolName: "x", description: "" }),
        "capability"
      ],
      [
        "a tool that is not set up",
        new AiError.ToolConfigurationError({ toolName: "x", description: "" }),
        "capability"
      ],
      ["a file that is not taken", new AiError.InvalidUserInputError({ description: "" }), "capability"]
    ]
    it.each(rows)("R-401, D42 %s", (_, reason, expected) => {
      const { kind, retryAfterMillis, begun } = ModelFailure.classify(errorOf(reason))
      assert.strictEqual([kind, retryAfterMillis].filter((part) => part !== undefined).join(" "), expected)
      assert.isFalse(begun)
    })

    it("R-401 no answer in time is transient", () => {
      assert.deepInclude(ModelFailure.classify(new Cause.TimeoutError()), { kind: "transient", begun: false })
    })

    it("D42 a row of one's own comes before reason and table, and flips no other", () => {
      const overrides = [{ status: 503, body: "maintenance", kind: "capability" }] as const
      const failed = (body: string) =>
        errorOf(new AiError.InternalProviderError({ description: "", http: http(503, body) }))
      assert.strictEqual(ModelFailure.classify(failed("Maintenance"), { overrides }).kind, "capability")
      assert.strictEqual(ModelFailure.classify(failed("busy"), { overrides }).kind, "transient")
      assert.strictEqual(ModelFailure.classify(failed("Maintenance")).kind, "transient")
    })

    it("R-401, D49 what an adapter marks wins, field by field, and nonsense in it is passed over", () => {
      const marked = (espalier: Schema.MutableJson) =>
        ModelFailure.classify(
          errorOf(new AiError.RateLimitError({ http: http(429, "", { "request-id": "r1" }), metadata: { espalier } }))
        )
      assert.deepInclude(marked({ kind: "oversized", requestId: "r2", begun: true }), {
        kind: "oversized",
        requestId: "r2",
        begun: true
      })
      assert.deepInclude(marked({ kind: "fine", requestId: "two words", begun: "yes" }), {
        kind: "transient",
        requestId: "r1",
        begun: false
      })
      assert.deepInclude(marked(null), { kind: "transient" })
      assert.strictEqual(marked({ retryAfterMillis: 5 }).retryAfterMillis, 5)
      assert.isUndefined(marked({ retryAfterMillis: -5 }).retryAfterMillis)
    })

    it("D106 nothing that a provider wrote is told", () => {
      const canary = "canary"
      const error = errorOf(
        new AiError.InvalidRequestError({ description: canary, http: http(400, canary, { "x-a": canary }) })
      )
      assert.notInclude(JSON.stringify(ModelFailure.fromAiError(error, provider)), canary)
    })
  })

  const host = { tool: "search", host: "example.com" } as const
  const marked: ReadonlyArray<Failure.Marked & Error> = [
    ModelFailure.fromAiError(new Cause.TimeoutError(), provider),
    new ModelAnswer.AnswerInvalid({ problem: "unfit", details: ["there is no choice"] }),
    new Memory.MemoryError({ reason: "key", detail: "it has no key" }),
    new ContextWindow.WindowExceeded({ tokens: 10, size: 5, reason: "refused" }),
    new Gateway.GatewayOff({ ...host, off: "tool", by: "ann", why: "it is slow" }),
    new Gateway.GatewayDenied({ ...host, reason: "unlisted" }),
    new Gateway.GatewayBusy({ ...host, reason: "queue" }),
    new Gateway.GatewayTimeout({ ...host, millis: 5 }),
    new Sandbox.SandboxFilesRefused({ problem: "path", detail: "../x is no path of a file" }),
    new Secrets.SecretRefused({ secret: "key", reason: "unavailable", may: [] })
  ]
  it.effect.each(marked)("the message of a %s leaves the kind to whoever tells of it", (error) =>
    Effect.sync(() => assert.notMatch(error.message, /^(transient|capability|oversized|malformed|denied|exhausted)\b/))
  )

  describe("read", () => {
    it.effect("D42 goes by the rows that are provided and counts a date from now", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_700_000_000_000)
        const reason = new AiError.InternalProviderError({
          description: "",
          http: http(503, "maintenance", { "retry-after": "Tue, 14 Nov 2023 22:13:50 GMT" })
        })
        const failure = yield* ModelFailure.read(errorOf(reason), provider)
        assert.strictEqual(Failure.kindOf(failure), "transient")
        assert.deepStrictEqual(Failure.retryAfterOf(failure), Duration.seconds(30))
        const rows = [{ body: "maintenance", kind: "denied" }] as const
        const other = yield* ModelFailure.read(errorOf(reason), provider).pipe(
          Effect.provideService(ModelFailure.Overrides, rows)
        )
        assert.strictEqual(Failure.kindOf(other), "denied")
        // Whoever tells of it says the kind beside it.
        assert.strictEqual(other.message, "acme/large: the provider failed (HTTP 503)")
      })
    )
  })
})
