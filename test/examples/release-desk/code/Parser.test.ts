import { writeFileSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, PlatformError } from "effect"
import { ChildProcessSpawner } from "effect/process"

import * as complexity from "../../../../examples/release-desk/code/complexity.ts"
import * as Parser from "../../../../examples/release-desk/code/Parser.ts"
import { auditOf, folder } from "../folder.ts"

// Live throughout: what is tested is a process of its own, and the time it takes is real.

const run = <A, E>(body: (parser: Parser.Parser) => Effect.Effect<A, E>, options?: Parameters<typeof Parser.make>[0]) =>
  Parser.make(options).pipe(Effect.flatMap(body), Effect.scoped, Effect.provide(NodeServices.layer))

/** A parser whose process runs this program instead. */
const running = <A, E>(
  program: string,
  options: Parameters<typeof Parser.make>[0],
  body: (parser: Parser.Parser) => Effect.Effect<A, E>
) =>
  Effect.scoped(
    Effect.flatMap(folder({ "program.mjs": program }), (root) =>
      run(body, { ...options, script: join(root, "program.mjs") })
    )
  )

const hostile: Readonly<Record<string, string>> = {
  "arrows.js": `x=${"a=>".repeat(20_000)}1`,
  "conditions.js": `x=${"a?b:".repeat(20_000)}c`,
  "statements.js": `${"if(a)".repeat(20_000)};`,
  "elements.jsx": `x=${"<a>".repeat(20_000)}`,
  "quote.jsx": `x=<a>'{${"(".repeat(20_000)}1${")".repeat(20_000)}}</a>`,
  "types.ts": `type T=${"A<".repeat(20_000)}1${">".repeat(20_000)}`
}

/** A system that starts no process. */
const none = ChildProcessSpawner.make(() =>
  Effect.fail(PlatformError.systemError({ _tag: "NotFound", module: "ChildProcess", method: "spawn" }))
)

describe("Parser", () => {
  it.live("outlives files that end the process which parses them, and reads the next one", () =>
    Effect.gen(function* () {
      const files = { ...hostile, "z.ts": `export const fine = () => {\n${"  f()\n".repeat(130)}}\n` }
      const made = yield* auditOf(complexity.audit, files)
      assert.deepStrictEqual(
        made.findings.filter(({ rule }) => rule === "unparsed").map(({ file }) => file),
        Object.keys(hostile).toSorted()
      )
      assert.deepStrictEqual(
        made.findings.filter(({ rule }) => rule === "long-function").map(({ file }) => file),
        ["z.ts"]
      )
    })
  )

  it.live("stops a file that takes longer than the limit", () =>
    running("setInterval(() => {}, 1000)", { limit: "200 millis" }, (parser) =>
      Effect.map(parser.functionsOf("a.js", ""), ({ functions, problem }) => {
        assert.deepStrictEqual(functions, [])
        assert.include(problem?.reason, "takes longer than 200ms")
      })
    )
  )

  it.live("parses no more after so many lost processes", () =>
    running("process.exit(1)", { maxLost: 2 }, (parser) =>
      Effect.gen(function* () {
        const reasons: Array<string | undefined> = []
        for (const name of ["a.js", "b.js", "c.js"]) {
          reasons.push((yield* parser.functionsOf(name, "")).problem?.reason)
        }
        assert.deepStrictEqual(
          reasons.map((reason) => reason?.includes("2 files before it")),
          [false, false, true]
        )
      })
    )
  )

  it.live("takes no answer but a valid one", () =>
    running("console.log('{'); setInterval(() => {}, 1000)", {}, (parser) =>
      Effect.map(parser.functionsOf("a.js", ""), ({ problem }) => assert.include(problem?.reason, "no valid answer"))
    )
  )

  it.live("does not give the answer of an interrupted question to the next", () => {
    // Answers with the name of the file; the first file of a process waits for a file that the test writes.
    const program = `
      import { existsSync } from "node:fs"
      let text = ""
      for await (const chunk of process.stdin.setEncoding("utf8")) {
        text += chunk
        while (text.includes("\\n")) {
          const { path, text: gate } = JSON.parse(text.slice(0, text.indexOf("\\n")))
          text = text.slice(text.indexOf("\\n") + 1)
          while (gate !== "" && !existsSync(gate)) await new Promise((done) => setTimeout(done, 5))
          console.log(JSON.stringify({ functions: [], exact: true, problem: { line: 0, reason: path } }))
        }
      }`
    return Effect.scoped(
      Effect.flatMap(folder({}), (root) =>
        running(program, {}, (parser) =>
          Effect.gen(function* () {
            const gate = join(root, "gate")
            assert.strictEqual((yield* parser.functionsOf("one.js", "")).problem?.reason, "one.js")
            const asking = yield* Effect.forkChild(parser.functionsOf("two.js", gate), { startImmediately: true })
            yield* Effect.yieldNow
            yield* Fiber.interrupt(asking)
            writeFileSync(gate, "")
            assert.strictEqual((yield* parser.functionsOf("three.js", "")).problem?.reason, "three.js")
          })
        )
      )
    )
  })

  it.live("fails with capability when no process can be started", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(
        Effect.scoped(Effect.flatMap(Parser.make(), (parser) => parser.functionsOf("a.js", "")))
      )
      assert.strictEqual(failure.kind, "capability")
    }).pipe(Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, none))
  )
})
