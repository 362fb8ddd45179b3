/** What `npm run smoke` does, in this process: with a script, and with Claude as it answers over HTTP. */
import { readFileSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"

import { help } from "../../scripts/smoke/arguments.ts"
import { main } from "../../scripts/smoke/main.ts"
import { planned } from "../../scripts/smoke/script.ts"
import { withNetwork } from "../fixtures/real.ts"
import { folder } from "../journal/fixtures/folder.ts"
import * as Api from "./messagesServer.ts"

const key = "sk-ant-none-0123456789abcdefghijklmnop"

const smoke = (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  main(args).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
    Effect.provide(NodeServices.layer)
  )

const names = ["an agent with a tool", "a choice for a router", "a plan for a planner", "an answer with a form"]

const calls = (name: string, params: unknown): Api.Answer => ({
  events: [
    Api.start({ input_tokens: 400, output_tokens: 1 }),
    ...Api.calls(0, name, JSON.stringify(params)),
    ...Api.end("tool_use", { output_tokens: 20 })
  ]
})

const beginning = [
  calls("search", { word: "ship" }),
  calls("deliver", { output: { ship: "Fram" }, confidence: 0.9 }),
  calls("words", { reason: "They are to be counted" }),
  calls("finish", { reason: "They are counted" })
]

const rest = [
  calls("smoke__counter", planned),
  Api.text('{"sentence":"Where is the ship?",', '"isQuestion":true}'),
  Api.text("one\n", "two\n"),
  { body: '{"input_tokens":25}' }
]

describe("npm run smoke", () => {
  it.effect("R-401 R-408 shows each kind of work with a scripted model, without a key", () =>
    Effect.gen(function* () {
      const { code, text } = yield* smoke(["--scripted"])
      assert.strictEqual(code, 0, text)
      for (const name of [...names, "an answer piece by piece"]) assert.include(text, `ok    ${name}\n`)
      assert.match(text, /^stream 1, as used +\d+ +\d+ +-?\d+\.\d %$/m)
      assert.match(text, /^run +7 +7 .* not known +7$/m)
    })
  )

  it.effect.each([{}, { ANTHROPIC_API_KEY: "" }])(
    "R-401 says in one line that there is no key, and that is all: %j",
    (env) =>
      Effect.gen(function* () {
        const { code, text } = yield* smoke([], env)
        assert.strictEqual(code, 0)
        assert.match(text, /^smoke: there is no ANTHROPIC_API_KEY, [^\n]+$/)
      })
  )

  withNetwork("R-401 R-406 asks Claude for each of them, says what that cost, and records it without the key", () =>
    Effect.gen(function* () {
      const server = yield* Api.serve(...beginning, ...rest)
      const file = join(yield* folder, "recorded.json")
      const { code, text } = yield* smoke(["--base-url", server.url, "--record", file], { ANTHROPIC_API_KEY: key })
      assert.strictEqual(code, 0, text)
      for (const name of [...names, "an answer piece by piece", "a count of tokens"]) {
        assert.match(text, new RegExp(`^ok {4}${name}$`, "m"))
      }
      assert.match(text, /^stream, as counted +\d+ +25 /m)
      // By the table of prices: five calls of 400 and 20 tokens, two of 10 and 5.
      assert.match(text, /^run +7 +7 .* 0\.00257 USD +0$/m)
      const messages = Array.from({ length: 7 }, () => "/v1/messages")
      assert.deepStrictEqual(
        server.requests.map(({ path }) => path),
        [...messages, "/v1/messages/count_tokens"]
      )
      assert.deepStrictEqual([...new Set(server.requests.map(({ body }) => body["model"]))], ["claude-haiku-4-5"])
      const kept = readFileSync(file, "utf8")
      assert.include(kept, "What is the ship called?")
      for (const said of [kept, text]) assert.notInclude(said, key)
      assert.strictEqual(JSON.parse(kept).exchanges.length, 7)
    })
  )

  withNetwork("R-401 a model whose choice could not be used at first fails its check, and the others go on", () =>
    Effect.gen(function* () {
      const [search, deliver, words, finish] = beginning
      const server = yield* Api.serve(search!, deliver!, Api.text("I would rather not"), words!, finish!, ...rest)
      const { code, text } = yield* smoke(["--base-url", server.url], { ANTHROPIC_API_KEY: key })
      assert.strictEqual(code, 1)
      assert.match(text, /^fail {2}a choice for a router +ANSWER_INVALID: /m)
      assert.strictEqual(text.match(/^ok /gm)?.length, 5, text)
    })
  )

  withNetwork("R-401 a key that is refused is told, check by check", () =>
    Effect.gen(function* () {
      const server = yield* Api.serve(...Array.from({ length: 20 }, () => Api.error(401, "authentication_error")))
      const { code, text } = yield* smoke(["--base-url", server.url], { ANTHROPIC_API_KEY: key })
      assert.strictEqual(code, 1)
      assert.strictEqual(text.match(/^fail /gm)?.length, 6, text)
      assert.notInclude(text, key)
    })
  )

  it.effect("R-503 tells every flag, and refuses what it cannot obey in one line", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* smoke(["--help"]), { code: 0, text: help })
      for (const args of [["--bogus"], ["--model", "a b"], ["--record="], ["extra"]]) {
        assert.notInclude((yield* Effect.flip(smoke(args))).message, "\n")
      }
    })
  )
})
