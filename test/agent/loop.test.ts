/** The whole loop of an agent over the real client, against a server that speaks the Messages API. */
import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Models, ToolScope } from "espalier/agent"
import * as AnthropicModel from "espalier/agent/AnthropicModel"
import { Run } from "espalier/run"

import * as Real from "../fixtures/real.ts"
import { history } from "../run/desks.ts"
import { of, options } from "../run/living.ts"
import { deskWith, search, services } from "./agents.ts"
import * as Api from "./messagesServer.ts"

const thought = [
  Api.block(0, { type: "thinking", thinking: "", signature: "" }),
  Api.delta(0, { type: "thinking_delta", thinking: "hm" }),
  Api.delta(0, { type: "signature_delta", signature: "signed" }),
  Api.stop(0)
]
const looks = {
  events: [Api.start(), ...thought, ...Api.calls(1, "search", `{"query":"ship"}`), ...Api.end("tool_use")]
}
const delivers = {
  events: [
    Api.start(),
    ...Api.calls(0, "deliver", `{"output":{"answer":"Fram"},"confidence":0.9}`),
    ...Api.end("tool_use")
  ]
}
const tooLong = Api.error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")

/** A run of one agent whose provider answers by the script. */
const ran = (answers: ReadonlyArray<Api.Answer>, settings: AnthropicModel.Options = {}) =>
  Effect.gen(function* () {
    const server = yield* Api.serve(...answers)
    const client = AnthropicModel.layerClient({ apiKey: Redacted.make("no key"), baseURL: server.url })
    const provide = Layer.provide(AnthropicModel.model("claude-test", settings), client)
    const desk = deskWith(Models.make([{ provide }]), { tools: ToolScope.make([search()]) })
    const outcome = yield* Run.start(desk, options)
    const reported = of(yield* history("r1"), "Reported").map(({ result }) => result.error?.kind ?? result.status)
    return { server, outcome, reported }
  }).pipe(Effect.provide(services))

describe("An agent over the real client", () => {
  Real.withNetwork("R-401 D40 D41 waits as long as it is told, asks once each time, and keeps what was thought", () =>
    Effect.gen(function* () {
      const answers = [Api.error(429, "rate_limit_error", "", { "retry-after": "1" }), looks, delivers]
      const { outcome, server } = yield* ran(answers, { thinking: 1024, cache: "5m" })
      assert.strictEqual(outcome.status, "completed")
      assert.strictEqual(server.requests.length, 3)
      const [first, second, third] = server.requests.map(({ body }) => body)
      assert.deepStrictEqual(second, first)
      const sent = JSON.stringify(third)
      for (const said of [`"thinking":"hm"`, `"signature":"signed"`, "cache_control", "tool_result", "ship 1"]) {
        assert.include(sent, said)
      }
      assert.deepStrictEqual(outcome.usage, { steps: 2, tokens: 30, toolCalls: 1 })
    })
  )

  Real.withNetwork("R-401 D40 asks an overloaded provider once more, and not more often", () =>
    Effect.gen(function* () {
      const busy = Api.error(529, "overloaded_error", "", { "retry-after": "1" })
      const { outcome, server } = yield* ran([busy, delivers])
      assert.deepStrictEqual([outcome.status, server.requests.length], ["completed", 2])
    })
  )

  Real.withNetwork("R-405 D98 is oversized when it is too long twice, and goes on when it is only once", () =>
    Effect.gen(function* () {
      const once = yield* ran([looks, tooLong, delivers])
      assert.deepStrictEqual([once.reported, once.server.requests.length], [["completed"], 3])
      const twice = yield* ran([looks, tooLong, tooLong])
      assert.deepStrictEqual([twice.reported[0], twice.server.requests.length], ["oversized", 3])
    })
  )

  Real.withNetwork("R-401 D38 refuses what was refused, and asks again after an answer that was cut", () =>
    Effect.gen(function* () {
      const refused = yield* ran([{ events: [Api.start(), ...Api.end("refusal")] }])
      assert.strictEqual(refused.reported[0], "capability")
      const cut = { events: [Api.start(), ...Api.says(0, "The ship"), Api.stop(0), ...Api.end("max_tokens")] }
      const again = yield* ran([cut, delivers])
      assert.deepStrictEqual([again.reported, again.server.requests.length], [["completed"], 2])
    })
  )
})
