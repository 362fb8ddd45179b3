import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as effectTesting from "effect/testing"
import * as espalier from "espalier"
import * as journal from "espalier/journal"
import * as run from "espalier/run"
import * as testing from "espalier/testing"

import { compiled } from "./fixtures/compiled.ts"
import { withProcesses } from "./fixtures/real.ts"

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")

const section = (title: string, level = "###"): string => {
  const from = readme.indexOf(`\n${level} ${title}\n`)
  assert.isAbove(from, 0, `there is no section ${title}`)
  const to = readme.slice(from + 1).search(/\n##+ /)
  return readme.slice(from, to < 0 ? undefined : from + 1 + to)
}

const modules: Readonly<Record<string, object>> = { ...effectTesting, ...espalier, ...journal, ...run, ...testing }

/** What stands between backticks and begins as a module does. */
const named = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([A-Z][A-Za-z]+)(?:\.([a-z][A-Za-z]*))?[^`]*`/g)].map(([, module = "", member]) =>
    member === undefined ? module : `${module}.${member}`
  )

describe("The README", () => {
  it.each([
    "Which pattern when",
    "When something fails",
    "Testing an outage",
    "Before it goes live",
    "Which gate when",
    "Who decides, and what silence means"
  ])("R-805 names only what is there: %s", (title) => {
    const names = named(section(title))
    assert.isAbove(names.length, 0)
    for (const name of names) {
      const [module = "", member] = name.split(".")
      // Members of a running thing (`Outcome.missing`) are types only.
      if (module === "Outcome") continue
      assert.property(modules, module, `${name} in the section ${title}`)
      if (member !== undefined) assert.property(modules[module], member, `${name} in the section ${title}`)
    }
  })

  it("R-805 says of every coordinator when to use it", () => {
    const guide = section("Which pattern when")
    for (const kind of ["Plan", "Pipeline", "Graph", "Swarm", "Router", "Planner"]) {
      assert.match(guide, new RegExp(`\\| \`${kind}\`[^|]*\\|`), kind)
      assert.property(modules[kind], "make")
    }
  })

  it("links only to files that are there", () => {
    for (const [, path = ""] of readme.matchAll(/\]\(([^)#:]+)\)/g)) {
      assert.doesNotThrow(() => readFileSync(new URL(`../${path}`, import.meta.url)), path)
    }
  })
})

const root = fileURLToPath(new URL("..", import.meta.url))

/** What stands before each command: the command of this package as readers have it, and what was left by the one before. */
const before = (code: number) =>
  `espalier() { "${process.execPath}" --conditions=@espalier/source "${root}src/cli/main.ts" "$@"; }
people=examples/approval/people.json
(exit ${code})
`

/** Runs a line as a shell does, and answers with all that it prints, and its exit code. */
const shell = (line: string, folder: string, code: number) =>
  Effect.callback<{ readonly code: number; readonly printed: string }>((resume) => {
    const child = execFile(
      "sh",
      ["-c", `exec 2>&1\n${before(code)}${line}`],
      { cwd: folder, env: { PATH: process.env["PATH"], ...compiled } },
      (_, printed) => resume(Effect.succeed({ code: child.exitCode ?? -1, printed }))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** The commands of a section with what is said to come of them, in turn. */
const commands = (text: string) =>
  [...text.matchAll(/```console\n([^]*?)```/g)].flatMap(([, block = ""]) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((each) => {
        const [line = "", ...lines] = each.trimEnd().split("\n")
        return { line, lines }
      })
  )

/** Without what differs from day to day. */
const steady = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")

/** What a text with `…` matches: as a line, any lines; at the end of a line, the rest of it. */
const pattern = (lines: ReadonlyArray<string>): RegExp => {
  const each = lines.map((line) =>
    line === "…"
      ? "(?:.*\\n)*?"
      : `${steady(line)
          .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
          .replace(/…$/, ".*")}\\n`
  )
  return new RegExp(`^${each.join("")}$`)
}

describe("The walk-through of the README", () => {
  it("is compared with care", () => {
    assert.match("a 1\nb\nc\nTIME d\n", pattern(["a …", "…", "2026-11-30T19:35:33.028Z d"]))
    assert.notMatch("a 1\nb\n", pattern(["a …"]))
    assert.notMatch("a\n", pattern(["b", "…"]))
  })

  withProcesses(
    "R-306 R-805 goes as it is told",
    () =>
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "espalier-readme-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        symlinkSync(join(root, "examples"), join(folder, "examples"))
        const told = commands(section("People in the loop", "##"))
        assert.isAbove(told.length, 10)
        let left = 0
        for (const { line, lines } of told) {
          const { code, printed } = yield* shell(line, folder, left)
          assert.match(steady(printed), pattern(lines), `$ ${line}\n${printed}`)
          left = code
        }
      }).pipe(Effect.scoped),
    // Some twelve processes, one after the other.
    180_000
  )

  it("R-805 has every command", () => {
    const help = readFileSync(new URL("cli/golden/help.txt", import.meta.url), "utf8")
    const [, list = ""] = help.split("SUBCOMMANDS\n")
    const names = [...list.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name)
    assert.isAbove(names.length, 20)
    const journal = section("The journal", "##")
    for (const name of names) assert.match(journal, new RegExp(`\\b${name}\\b`), name)
  })

  it("R-805 names every folder of examples", () => {
    const folders = readdirSync(join(root, "examples"), { withFileTypes: true })
      .filter((each) => each.isDirectory() && each.name !== "shared")
      .map(({ name }) => name)
    assert.isAbove(folders.length, 5)
    for (const name of folders) assert.include(readme, `examples/${name}/`)
  })
})
