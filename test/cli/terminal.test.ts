import { readFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { widthOf } from "../../src/cli/width.ts"
import { withCommand, withProcesses } from "../fixtures/real.ts"
import { connection } from "../journal/fixtures/folder.ts"
import { copied } from "../run/released.ts"
import { espalier } from "./inside.ts"
import { describeInTerminal, inTerminal } from "./terminal.ts"

/** An escape is shown as a word, so that it can be read. */
const seen = (lines: ReadonlyArray<string>): string => lines.join("\n").replaceAll("\u001B", "ESC")

const golden = (name: string) =>
  readFileSync(join(import.meta.dirname, "golden", `${name}.txt`), "utf8").replace(/\n$/, "")

// oxlint-disable-next-line no-control-regex -- it is what is looked for.
const styled = /\u001B\[(?:[12]|22|3[1-69])m/g

const bare = (text: string): string => text.replaceAll(styled, "")

/** Many processes, one after the other. */
const many = 180_000

/** What is printed where standard output says that it is a terminal of that width. */
const inColumns = (journal: string, args: ReadonlyArray<string>, columns: number, env: Record<string, string> = {}) =>
  espalier(journal, args, { columns, env: { TERM: "xterm-256color", ...env } })

describe("espalier in the columns of a terminal", () => {
  withCommand.each([
    ["runs", ["runs"], 60],
    ["runs", ["runs"], 120],
    ["show", ["show", "waiting"], 60],
    ["show", ["show", "waiting"], 120],
    ["tree", ["tree", "waiting"], 60],
    ["tree", ["tree", "waiting"], 120],
    ["audit", ["audit", "stumbled"], 60],
    ["audit", ["audit", "stumbled"], 200],
    ["trail", ["audit", "stumbled", "--trail"], 60],
    ["trail", ["audit", "stumbled", "--trail"], 120]
  ] as const)("R-503 prints %s as %j in %d columns", ([name, args, columns]) =>
    Effect.gen(function* () {
      const { code, err, out } = yield* inColumns(yield* copied, args, columns)
      assert.deepStrictEqual([code, err], [0, []])
      assert.isTrue(
        out.every((line) => widthOf(bare(line)) <= columns),
        seen(out)
      )
      assert.strictEqual(seen(out), golden(`terminal-${name}-${columns}`))
    })
  )

  withCommand(
    "R-503 has colours in a terminal that has not asked for plain text, and in no pipe that has not asked for them",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const terminal = (env: Record<string, string> = {}) =>
          Effect.map(inColumns(journal, ["runs"], 120, env), ({ out }) => out.join("\n"))
        const pipe = (env: Record<string, string> = {}) =>
          Effect.map(espalier(journal, ["runs"], { env }), ({ out }) => out.join("\n"))
        assert.include(yield* terminal(), "\u001B[32mcompleted\u001B[39m")
        assert.notInclude(yield* terminal({ NO_COLOR: "1" }), "\u001B")
        assert.notInclude(yield* terminal({ TERM: "dumb" }), "\u001B")
        assert.notInclude(yield* terminal({ FORCE_COLOR: "0" }), "\u001B")
        assert.notInclude(yield* pipe(), "\u001B")
        const forced = yield* pipe({ FORCE_COLOR: "1" })
        assert.include(forced, "\u001B[32mcompleted\u001B[39m")
        // Only the colours differ: in a pipe nothing is shortened.
        assert.strictEqual(bare(forced), yield* pipe())
        const help = (env: Record<string, string> = {}) => inColumns(journal, ["--help"], 120, env)
        assert.include((yield* help()).out.join("\n"), "\u001B[")
        assert.notInclude((yield* help({ NO_COLOR: "1" })).out.join("\n"), "\u001B")
      }),
    many
  )

  withCommand(
    "R-503 nothing that a worker or a journal says is obeyed by the terminal",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        // An older release has no reasons in its lists.
        yield* espalier(journal, ["rebuild"])
        const database = yield* connection(journal)
        const attack = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\r\\u202eneddih"
        // The chain of hashes finds a change by hand, and this one is not about that: it is not looked at by these commands.
        database.exec(`UPDATE events SET data = replace(data, 'write goes to', '${attack}write goes to')`)
        database.exec(
          `UPDATE runs SET desk = char(27) || '[8mgazette', reason = char(155) || '5m' WHERE run = 'stumbled'`
        )
        for (const args of [
          ["runs"],
          ["audit", "stumbled"],
          ["audit", "stumbled", "--trail"],
          ["audit", "stumbled", "--json"],
          ["audit", "stumbled", "--lines"],
          ["runs", "--json"],
          ["verify"],
          ["rebuild", "--dry-run"]
        ]) {
          const { err, out } = yield* inColumns(journal, args, 120)
          const text = bare([...out, ...err].join("\n"))
          assert.isAbove(text.length, 0)
          // oxlint-disable-next-line no-control-regex -- it is what is looked for.
          assert.notMatch(text, /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/, args.join(" "))
        }
        const { out } = yield* inColumns(journal, ["audit", "stumbled", "--json"], 120)
        const piped = yield* espalier(journal, ["audit", "stumbled", "--json"])
        assert.deepStrictEqual(JSON.parse(out.join("")), JSON.parse(piped.out.join("")))
        assert.include(piped.out.join(""), "\u009B")
      }),
    many
  )
})

describeInTerminal("espalier in a terminal", () => {
  withProcesses("R-503 knows its columns and its colours, with the output and with the help", () =>
    Effect.gen(function* () {
      const journal = yield* copied
      for (const args of [["audit", "stumbled"], ["--help"]]) {
        const { code, out } = yield* inTerminal(journal, args, { columns: 60 })
        assert.strictEqual(code, 0)
        assert.deepStrictEqual(out, (yield* inColumns(journal, args, 60)).out)
        assert.include(out.join("\n"), "\u001B[")
      }
    })
  )
})
