/** An agent whose process is killed, and another process that goes on with what it has asked and done. */
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { assert, describe } from "@effect/vitest"
import { Deferred, Effect } from "effect"

import * as Real from "../fixtures/real.ts"
import { folder } from "../journal/fixtures/folder.ts"
import * as Api from "./messagesServer.ts"

const script = fileURLToPath(new URL("fixtures/asker.ts", import.meta.url))

/** A process of its own, which does not outlive the scope. */
const process_ = (settings: object) =>
  Effect.gen(function* () {
    const ended = yield* Deferred.make<{
      readonly signal: string | undefined
      readonly out: string
      readonly err: string
    }>()
    const args = ["--conditions=@espalier/source", script, JSON.stringify(settings)]
    const child = execFile(process.execPath, args, (error, out, err) =>
      Deferred.doneUnsafe(ended, Effect.succeed({ signal: error?.signal ?? undefined, out, err }))
    )
    const kill = Effect.sync(() => child.kill("SIGKILL"))
    yield* Effect.addFinalizer(() => Effect.andThen(kill, Deferred.await(ended)))
    return { kill, ended: Deferred.await(ended) }
  })

const turn = (...calls: ReadonlyArray<object>): Api.Answer => ({
  events: [Api.start(), ...calls, ...Api.end("tool_use")]
})

describe("An agent whose process is killed in the middle of its turns", () => {
  Real.withProcesses(
    "R-301 R-303 R-401 R-406 is gone on with by another one: nothing that was answered is asked again, nothing is done twice, all is paid for once",
    () =>
      Effect.gen(function* () {
        const server = yield* Api.serve(
          turn(...Api.calls(0, "mark", `{"text":"x"}`)),
          turn(...Api.calls(0, "mark", `{"text":"y"}`)),
          { after: "hang" },
          turn(...Api.calls(0, "deliver", `{"output":{"answer":"marked"},"confidence":0.9}`))
        )
        const parent = yield* folder
        const settings = { filename: join(parent, "journal.db"), marks: join(parent, "marks"), url: server.url }
        const marks = () => readFileSync(settings.marks, "utf8").split("\n").filter(Boolean)

        const first = yield* process_({ ...settings, resume: false })
        // The third turn is asked for when the second one, and what it has called, is in the journal.
        for (const number of [0, 1, 2]) assert.strictEqual(yield* server.asked, number)
        yield* first.kill
        assert.strictEqual((yield* first.ended).signal, "SIGKILL")
        assert.deepStrictEqual(marks(), ["x", "y"])

        const second = yield* process_({ ...settings, resume: true })
        const { err, out } = yield* second.ended
        assert.deepStrictEqual(
          out === "" ? err : JSON.parse(out),
          // Three answers of 15 tokens each; the journal never heard of the call that was under way.
          { status: "completed", usage: { steps: 3, tokens: 45, toolCalls: 2 }, output: { answer: "marked" } }
        )
        assert.deepStrictEqual(marks(), ["x", "y"])
        assert.strictEqual(server.requests.length, 4)
        const [, , before, after] = server.requests.map(({ body }) => body)
        assert.deepStrictEqual(after, before)
      }),
    60_000
  )
})
