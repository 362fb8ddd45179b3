/** The desk with Claude, as it answers over HTTP, and the desk taken up by a process that knows nothing of the last one. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Fiber, Layer, Option, Redacted } from "effect"
import { Meter, Models, ScriptedModel } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Dependency } from "espalier/run"
import { VirtualTime } from "espalier/testing"

import { defaultTopic } from "../../../examples/research-desk/arguments.ts"
import * as Checking from "../../../examples/research-desk/checking.ts"
import { conduct } from "../../../examples/research-desk/conduct.ts"
import { settingOf, takenUp } from "../../../examples/research-desk/forced.ts"
import { Library } from "../../../examples/research-desk/Library.ts"
import { reportOf } from "../../../examples/research-desk/print.ts"
import * as Finding from "../../../examples/research-desk/research.ts"
import * as Script from "../../../examples/research-desk/script.ts"
import * as Tools from "../../../examples/research-desk/tools.ts"
import * as Writing from "../../../examples/research-desk/writing.ts"
import * as Claude from "../../../examples/shared/claude.ts"
import * as Prices from "../../../examples/shared/prices.ts"
import * as Api from "../../agent/messagesServer.ts"
import { withNetwork } from "../../fixtures/real.ts"
import { settle } from "../../run/desks.ts"
import { shipped } from "./runs.ts"

const research = Finding.byWords(defaultTopic, shipped.notes)
const draft = Writing.byNotes(defaultTopic, research)
const { draft: _, ...check } = Checking.byFigures(shipped, draft).check

/** An answer that calls one tool. */
const calls = (name: string, params: unknown): Api.Answer => ({
  events: [
    Api.start({ input_tokens: 1_000, output_tokens: 1 }),
    ...Api.calls(0, name, JSON.stringify(params)),
    ...Api.end("tool_use", { output_tokens: 200 })
  ]
})
const delivers = (output: unknown) => calls("deliver", { output, confidence: 0.9 })

const services = Layer.mergeAll(
  Journal.layerMemory,
  Dependency.layer(),
  Prices.layer,
  Layer.succeed(Library, { notes: shipped })
)

describe("the research desk with Claude", () => {
  withNetwork("R-802 R-408 R-401 is the same desk: its workers ask Claude, and what that costs is known", () =>
    Effect.gen(function* () {
      const server = yield* Api.serve(
        calls("search_words", { topic: defaultTopic }),
        delivers(research),
        // The strong model is overloaded for a while: the cheap one stands in.
        Api.error(529, "overloaded_error"),
        delivers(draft),
        calls("look_up", { places: [{ file: "02-scion-wood.md", line: 6 }] }),
        delivers(check)
      )
      const claude = yield* Claude.make(Redacted.make("sk-none"), { baseURL: server.url })
      const outcome = yield* conduct({
        run: "r1",
        input: { topic: defaultTopic, folder: "/notes" },
        setting: { faults: [] },
        desk: { models: (worker) => (worker.startsWith("library") ? claude.cheap : claude.strong) }
      })
      assert.strictEqual(outcome.status, "completed", outcome.note)
      assert.deepInclude(reportOf(outcome), { kind: "article", verdict: "APPROVED" })
      const { cheap, strong } = Claude.defaults
      assert.deepStrictEqual(
        server.requests.map(({ body, path }) => [path, body["model"]]),
        [cheap, cheap, strong, cheap, strong, strong].map((model) => ["/v1/messages", model])
      )
      const { run } = yield* Meter.ofRun("r1")
      // Three calls of the cheap model, two of the strong one, by the table of prices; what failed has taken nothing.
      const [one, other] = [cheap, strong].map((model) => Prices.prices[`anthropic/${model}`])
      const of = ({ input = 0, output = 0 }) => (1_000 * input + 200 * output) / 1_000_000
      assert.deepStrictEqual([run.calls, run.swaps], [6, 1])
      assert.approximately(run.costs[0]?.cost ?? 0, 3 * of(one ?? {}) + 2 * of(other ?? {}), 1e-9)
    }).pipe(Effect.provide(services))
  )

  it.effect("a checker that has another article checked than the one there is has checked nothing", () =>
    Effect.gen(function* () {
      const other = { title: "Another", paragraphs: [] }
      const output = { verdict: "APPROVED", checked: 1, unsupported: [], draft: other }
      const liar = ScriptedModel.fromFunction(() =>
        ScriptedModel.tools([{ name: "deliver", params: { output, confidence: 1 } }])
      )
      const honest = Script.make([])
      const models = (worker: string) =>
        worker.startsWith("checking") ? Models.make([{ provide: liar.model }]) : honest(worker)
      const input = { topic: defaultTopic, folder: "/notes" }
      const outcome = yield* VirtualTime.elapse(
        conduct({ run: "r1", input, setting: { faults: [] }, desk: { models } }),
        "1 minute"
      )
      assert.deepInclude(reportOf(outcome), { kind: "article", verdict: "UNKNOWN" })
      assert.match(reportOf(outcome)?.notes.join("\n") ?? "", /is not the one that was to be checked/)
    }).pipe(Effect.provide(services))
  )

  it.effect("its tools read and search the notes of their order, and no others", () =>
    Effect.gen(function* () {
      const [first, second] = shipped.notes.map(({ file }) => file)
      const called = { key: "k", call: "c", order: { contract: { inputs: { files: [first] } } } as never }
      const read = (file: string | undefined, from: number, to: number) =>
        Tools.readNote.handle({ file, from, to }, called)
      const lines = shipped.notes[0]?.lines ?? []
      assert.deepStrictEqual(yield* read(first, 0, 2), [
        { line: 1, text: lines[0] },
        { line: 2, text: lines[1] }
      ])
      assert.deepStrictEqual(yield* read(first, 5, 1), [])
      assert.match(String(yield* Effect.flip(read(second, 1, 2))), /there is no note/)
      const search = Tools.search("search_words", "Searches", 1_000_000, Finding.byWords)
      const found = (yield* search.handle({ topic: defaultTopic }, called)) as typeof Tools.Found.Type
      assert.deepStrictEqual([...new Set(found.passages.map(({ file }) => file))], [first])
      assert.strictEqual(found.searched, 1)
      const places = [
        { file: first ?? "", line: 1 },
        { file: "gone.md", line: 1 }
      ]
      assert.deepStrictEqual(yield* Tools.lookUp.handle({ places }, called), [
        { file: first, line: 1, text: lines[0] },
        { file: "gone.md", line: 1, text: null }
      ])
    }).pipe(Effect.provide(services))
  )

  it.effect("R-408 a key that is empty is none", () =>
    Effect.gen(function* () {
      const keyOf = (env: Record<string, string>) =>
        Effect.provideService(Claude.key, ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env }))
      assert.isTrue(Option.isNone(yield* keyOf({})))
      assert.isTrue(Option.isNone(yield* keyOf({ ANTHROPIC_API_KEY: "" })))
      assert.isTrue(Option.isSome(yield* keyOf({ ANTHROPIC_API_KEY: "a" })))
    })
  )

  it.effect("R-408 R-802 goes on where it was cut off: nothing that a model has answered is asked for again", () =>
    Effect.gen(function* () {
      const input = { topic: defaultTopic, folder: "/notes" }
      const held = settingOf(undefined, undefined)
      const hangs = { ...held, faults: [{ worker: "checking.figures", kind: "hang" as const }] }
      const fiber = yield* Effect.forkChild(conduct({ run: "r1", input, setting: hangs }))
      yield* settle
      yield* Fiber.interrupt(fiber)
      const before = yield* Meter.ofRun("r1")
      const answered = ({ worker }: Meter.CallRow) => worker !== "checking.figures"
      assert.strictEqual(before.calls.filter(answered).length, 3)
      const outcome = yield* VirtualTime.elapse(conduct({ run: "r1", setting: takenUp(undefined) }), "1 minute")
      assert.deepInclude(reportOf(outcome), { kind: "article", verdict: "APPROVED" })
      const after = yield* Meter.ofRun("r1")
      assert.strictEqual(after.calls.filter(answered).length, 3)
    }).pipe(Effect.provide(services))
  )
})
