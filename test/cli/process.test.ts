import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { least, tooOld } from "../../src/cli/node.ts"
import { withProcesses } from "../fixtures/real.ts"
import { connection } from "../journal/fixtures/folder.ts"
import { copied } from "../run/released.ts"
import { espalier as inProcess, invocation } from "./command.ts"
import { espalier } from "./inside.ts"

const project = join(import.meta.dirname, "../..")

describe("espalier as a process", () => {
  const asked: ReadonlyArray<readonly [args: ReadonlyArray<string>, code: number]> = [
    [["runs"], 0],
    [["audit", "--trail"], 1],
    [["show", "fnished", "--json"], 2],
    [["verify", "large"], 3],
    [["import", "-"], 3]
  ]
  withProcesses(
    "R-304 ends with its exit code, and says what it says inside of another one",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const database = yield* connection(journal)
        database.exec("UPDATE events SET data = '{}' WHERE run = 'large' AND version = 4")
        for (const [args, code] of asked) {
          const options = { input: "no line of an export\n" }
          const left = yield* inProcess(journal, args, options)
          assert.strictEqual(left.code, code, left.err.join("\n"))
          assert.deepStrictEqual(left, yield* espalier(journal, args, options), args.join(" "))
        }
      }),
    120_000
  )

  withProcesses("R-304 ends well when nobody reads any more", () =>
    Effect.gen(function* () {
      const { env, words } = invocation(yield* copied, ["export", "large", "--artefacts"])
      const [program = "", ...args] = words
      const left = yield* Effect.callback<readonly [number | null, string]>((resume) => {
        const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] })
        let err = ""
        child.stderr.on("data", (data) => (err += String(data)))
        child.stdout.once("data", () => child.stdout.destroy())
        child.on("close", (code) => resume(Effect.succeed([code, err])))
        return Effect.sync(() => child.kill("SIGKILL"))
      })
      assert.deepStrictEqual(left, [0, ""])
    })
  )
})

describe("the Node of the command", () => {
  it.each([
    ["20.20.2", "Node 22.19 or later is needed, this is 20.20.2"],
    ["22.18.9", "Node 22.19 or later is needed, this is 22.18.9"],
    ["22.19.0", undefined],
    ["24.0.0", undefined]
  ])("R-503 %s: %s", (version, said) => {
    assert.strictEqual(tooOld(version), said)
    assert.strictEqual(least, JSON.parse(readFileSync(join(project, "package.json"), "utf8")).engines.node)
  })

  it("R-503 is looked at before anything is loaded that an older one does not have", () => {
    const imports = (file: string) =>
      [...readFileSync(join(project, "src/cli", file), "utf8").matchAll(/^import .*"(.*)"$/gm)].map(([, name]) => name)
    assert.deepStrictEqual([imports("main.ts"), imports("node.ts")], [["node:process", "./node.ts"], []])
  })
})
