import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { withCommand, withProcesses } from "../fixtures/real.ts"
import { begin, espalier as inProcess, type Left, programme } from "./command.ts"
import { espalier } from "./inside.ts"

/** Many processes, one after the other. */
const many = 180_000

const desk = (name: string) => join(import.meta.dirname, "desks", `${name}.ts`)

const works = desk("works")

/** An empty folder, and the journal that is to be in it. */
const folder = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "espalier-run-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  ),
  (path) => ({ path, journal: join(path, "journal.db") })
)

const input = (one: string, other: string) => JSON.stringify({ one, other })

/** Lines without what differs from run to run. */
const steady = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.map((line) => line.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME").replaceAll(/\d+@[\w.-]+/g, "PID@HOST"))

const golden = (name: string) =>
  readFileSync(join(import.meta.dirname, "golden", `${name}.txt`), "utf8")
    .replace(/\n$/, "")
    .split("\n")

describe("espalier run", () => {
  const shown: ReadonlyArray<readonly [string, ReadonlyArray<string>, number]> = [
    ["run", ["--input", input("well", "well")], 0],
    ["run-partial", ["--input", input("well", "badly")], 11],
    ["run-failed", ["--input", input("badly", "badly")], 12],
    ["run-waiting", ["--input", input("well", "well"), "--tier", "low"], 10]
  ]
  withCommand.each(shown)(
    "R-503 carries a run out, tells how it goes, and how it was left: %s",
    ([name, args, expected]) =>
      Effect.gen(function* () {
        const { journal, path } = yield* folder
        const { code, err, out } = yield* espalier(journal, ["run", works, "--id", "r1", ...args], { cwd: path })
        assert.deepStrictEqual([code, err], [expected, []])
        assert.deepStrictEqual(steady(out), golden(name))
      })
  )

  withCommand(
    "R-503 prints the outcome as one JSON; what the desk prints is not part of it",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* folder
        writeFileSync(join(path, "words.json"), `{"text":"to be or not"}`)
        for (const [given, options] of [
          [`{"text":"to be or not"}`, {}],
          ["@words.json", {}],
          ["-", { input: `{"text":"to be or not"}` }]
        ] as const) {
          const args = ["run", desk("counting"), "--input", given, "--json"]
          const { code, err, out } = yield* espalier(journal, args, { cwd: path, ...options })
          assert.deepStrictEqual([code, out.length, err], [0, 1, ["counting 12 characters"]])
          const { results, status } = JSON.parse(out[0]!)
          assert.deepStrictEqual([status, results.count.output], ["completed", { words: 4 }])
        }
        const { out } = yield* espalier(journal, ["runs", "--json"])
        assert.deepStrictEqual(
          JSON.parse(out[0]!).map(({ status }: { status: string }) => status),
          ["completed", "completed", "completed"]
        )
      }),
    many
  )

  const refused: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
    [[], 2, "espalier: INPUT_INVALID: works: one is required; other is required"],
    [["--input", input("well", "soon")], 2, "espalier: INPUT_INVALID: works: other must be"],
    [["--input", "one"], 1, "espalier: --input must be JSON: "],
    [["--input", "@none.json"], 2, "espalier: the input cannot be read from none.json: it is not there"],
    [["--input", input("well", "well"), "--id", "a/b"], 2, "id must be letters, digits"],
    [["--input", input("well", "well"), "--tier", "high"], 1, "high"]
  ]
  withCommand.each(refused)(
    "R-503 says what is wrong with what a run is to begin with: %j",
    ([args, expected, message]) =>
      Effect.gen(function* () {
        const { journal, path } = yield* folder
        const { code, err, out } = yield* espalier(journal, ["run", works, ...args], { cwd: path })
        assert.deepStrictEqual([code, out], [expected, []])
        assert.include(err[0], message)
      })
  )

  const made = "must export a desk, or an effect of one as default"
  const modules: ReadonlyArray<readonly [name: string, text: string | undefined, said: string]> = [
    ["./none.ts", undefined, "the module ./none.ts is not there: there is no file "],
    ["none", undefined, "the module none is not there: there is neither a file "],
    [".", undefined, "the module . is not there: there is no file "],
    ["file://elsewhere/a.ts", undefined, "is not there: that is no address of a file here"],
    ["desks/none", undefined, "the module desks/none is not there: Package subpath './none' is not defined"],
    ["desks/works", undefined, "the desk works"],
    ["./names.ts", "export const x = 1; export const y = 2", `${made}: it has no default export, it exports x, y`],
    ["./nothing.ts", "export {}", `${made}: it has no default export, it exports nothing`],
    ["number.ts", "export default 5", `the module number.ts ${made}, which is 5`],
    ["./function.js", "export default () => 5", `${made}, which is a function: export what it returns`],
    ["./promise.mjs", "export default Promise.resolve(5)", `${made}, which is a promise: await it`],
    ["./object.ts", "export default { name: 'a', version: '1' }", `${made}, which is {2 fields}`],
    ["./throws.ts", "throw new TypeError('no key')", "cannot be loaded: TypeError: no key (./throws.ts:1)"],
    ["./cut.ts", "export default 5 +", "cannot be loaded: SyntaxError: "],
    ["./enum.ts", "enum A { B }\nexport default A", "TypeScript enum is not supported in strip-only mode"],
    ["./imports.ts", "import './none.ts'\nexport default 5", "cannot be loaded: Cannot find module "],
    ["./effect.ts", `export { default } from ${JSON.stringify(desk("effect"))}`, "the desk works"],
    [desk("failing"), undefined, "failing.ts could not make its desk: there is no password"],
    [desk("number"), undefined, "exports an effect as default that must make a desk, and made 5"],
    [desk("named"), undefined, `${made}: it has no default export, its export release is a desk: export { release as`]
  ]
  withProcesses("R-503 says what a module is instead of a desk, and finds packages from the current folder", () =>
    Effect.gen(function* () {
      const { path } = yield* folder
      const place = join(path, "node_modules", "desks")
      mkdirSync(place, { recursive: true })
      writeFileSync(
        join(place, "package.json"),
        `{"name":"desks","type":"module","exports":{"./works":{"import":"./works.js"}}}`
      )
      writeFileSync(join(place, "works.js"), `export { default } from ${JSON.stringify(works)}`)
      for (const [name, text] of modules) if (text !== undefined) writeFileSync(join(path, name), text)
      const said = yield* programme(
        join(import.meta.dirname, "loadAll.ts"),
        modules.map(([name]) => name),
        { cwd: path }
      )
      // What the desks themselves print is no JSON.
      const lines = said.out.filter((line) => line.startsWith('"'))
      assert.deepStrictEqual([said.code, lines.length], [0, modules.length], said.err.join("\n"))
      modules.forEach(([name, , expected], at) => {
        assert.include(JSON.parse(lines[at]!), expected, name)
      })
    })
  )

  withProcesses("R-503 a module that has no desk is refused, and a desk may be an effect that holds something", () =>
    Effect.gen(function* () {
      const { journal, path } = yield* folder
      const none = yield* inProcess(journal, ["run", desk("named"), "--json"], { cwd: path })
      assert.deepStrictEqual([none.code, none.out, none.err.length], [2, [], 1])
      assert.include(JSON.parse(none.err[0]!).error, "must export a desk")
      const args = ["run", desk("effect"), "--input", input("well", "well"), "--json"]
      const { code, err, out } = yield* inProcess(journal, args, { cwd: path })
      assert.deepStrictEqual([code, JSON.parse(out[0]!).status, err], [0, "completed", ["taken", "given back"]])
    })
  )
})

describe("A module with a desk that brings what it needs", () => {
  withCommand("R-503 R-408 is run by the command, which tells what its models have used", () =>
    Effect.gen(function* () {
      const { journal, path } = yield* folder
      const args = ["run", desk("agent"), "--id", "r1", "--input", '"What was the ship called?"', "--json"]
      const { code, err, out } = yield* espalier(journal, args, { cwd: path })
      const { results, status } = JSON.parse(out[0] ?? "")
      assert.deepStrictEqual([code, err, status, results.find.output], [0, [], "completed", "Fram"])
      const costs = yield* espalier(journal, ["costs", "r1", "--json"])
      assert.strictEqual(JSON.parse(costs.out[0] ?? "").run.tokens.total, 110)
    })
  )
})

describe("espalier resume", () => {
  withProcesses(
    "R-503 Ctrl-C leaves a run suspended and says how to go on, and a second process does",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* folder
        const run = yield* begin(
          journal,
          ["run", works, "--id", "r1", "--input", input("hangs", "well"), "--journal", "my journal.db"],
          path
        )
        yield* run.until("other  accepted")
        const own = ["--journal", "my journal.db"]
        const busy = yield* espalier(journal, ["resume", "r1", ...own], { cwd: path })
        assert.strictEqual(busy.code, 4, busy.err.join("\n"))
        yield* run.signal("SIGINT")
        const left = yield* run.left
        assert.deepStrictEqual(
          [left.code, left.err],
          [
            130,
            ["espalier: interrupted: the run r1 is suspended; go on with: espalier resume r1 --journal 'my journal.db'"]
          ]
        )
        writeFileSync(join(path, "go"), "")
        const { code, out } = yield* inProcess(journal, ["resume", "r1", ...own], { cwd: path })
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(steady(out), golden("resume"))
        const again = yield* espalier(journal, ["resume", "r1", "--json", ...own], { cwd: path })
        assert.deepStrictEqual([again.code, JSON.parse(again.out[0]!).status], [0, "completed"])
        const text = yield* espalier(journal, ["resume", "r1", ...own], { cwd: path })
        assert.strictEqual(text.out[0], "the run r1 is over, nothing was done")
      }),
    many
  )

  withProcesses(
    "R-503 finds the module that a run began with, is told another one, and mixes no desks",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* folder
        const text = (version: string) =>
          `import desk from ${JSON.stringify(works)}\nexport default { ...desk, version: ${JSON.stringify(version)} }`
        writeFileSync(join(path, "desk.ts"), text("1"))
        const started = yield* espalier(
          journal,
          ["run", "./desk.ts", "--id", "r1", "--tier", "low", "--input", input("well", "well")],
          { cwd: path }
        )
        assert.strictEqual(started.code, 10)
        const resume = (...args: ReadonlyArray<string>): Effect.Effect<Left> =>
          espalier(journal, ["resume", "r1", ...args], { cwd: path })
        const waits = yield* resume()
        assert.deepStrictEqual([waits.code, waits.out[0]], [10, "the run r1 is waiting, nothing was done"])
        const elsewhere = yield* espalier(journal, ["resume", "r1"], { cwd: tmpdir() })
        assert.strictEqual(elsewhere.code, 2)
        assert.include(elsewhere.err[0], "the module ./desk.ts is not there: ")
        assert.include(elsewhere.err[0], "; the run r1 began with it: name another one with --module")
        const other = yield* resume("--module", desk("counting"))
        assert.strictEqual(other.code, 2)
        assert.include(other.err[0], "the run r1 is one of the desk works, and the module")
        assert.include(other.err[0], "has the desk counting")
        writeFileSync(join(path, "people.json"), "{}")
        const named = yield* resume("--module", works, "--people", "people.json")
        assert.deepStrictEqual(
          [named.code, named.out.at(-1)],
          [10, `go on then with: espalier resume r1 --module ${works} --people people.json`]
        )
        yield* espalier(journal, ["cancel", "r1", "--by", "ada"])
        writeFileSync(join(path, "desk.ts"), text("2"))
        // A process loads a module once.
        const newer = yield* inProcess(journal, ["resume", "r1"], { cwd: path })
        assert.strictEqual(newer.code, 2)
        assert.match(newer.err[0]!, /began with works 1 \(\w{12}\) and cannot go on with works 2 \(\w{12}\)/)
        const unknown = yield* espalier(journal, ["resume", "r2"], { cwd: path })
        assert.deepStrictEqual([unknown.code, unknown.err], [2, ["espalier: the journal has no run r2; known is r1"]])
      }),
    many
  )
})

describe("espalier cancel", () => {
  withProcesses(
    "R-503 ends a run that another process carries out, and one that nobody does when it is taken up",
    () =>
      Effect.gen(function* () {
        const { journal, path } = yield* folder
        const run = yield* begin(journal, ["run", works, "--id", "r1", "--input", input("hangs", "well")], path)
        yield* run.until("other  accepted")
        const asked = yield* espalier(journal, ["cancel", "r1", "--by", "ada", "--note", "Enough"])
        assert.deepStrictEqual(
          [asked.code, steady(asked.out)],
          [0, ["asked for the end of r1 as ada; PID@HOST, who carries out the runs of this journal, hears of it"]]
        )
        const left = yield* run.left
        assert.strictEqual(left.code, 13)
        assert.include(
          left.out.join("\n"),
          "run r1 is cancelled, stop-requested: ada asked for the end of the run: Enough"
        )
        const late = yield* espalier(journal, ["cancel", "r1", "--by", "ada"])
        assert.deepStrictEqual([late.code, late.err.length], [2, 1])

        yield* espalier(journal, ["run", works, "--id", "r2", "--tier", "low", "--input", input("well", "well")])
        const alone = yield* espalier(journal, ["cancel", "r2", "--by", "ada"])
        assert.deepStrictEqual(alone.out, [
          "asked for the end of r2 as ada; nobody carries it out now, and it ends when it is taken up: espalier resume r2"
        ])
        const ended = yield* espalier(journal, ["resume", "r2", "--json"])
        assert.deepStrictEqual([ended.code, JSON.parse(ended.out[0]!).status], [13, "cancelled"])
        const nobody = yield* espalier(journal, ["cancel", "r2", "--by", " "])
        assert.deepStrictEqual([nobody.code, nobody.err[0]], [1, "espalier: --by must be a name, is empty"])
      }),
    many
  )
})
