/**
 * What a sandbox is given, what it answers, and where it refuses. What tries to get out is in `Sandbox.escapes.test.ts`.
 */
import { spawn } from "node:child_process"
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, it, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Failure } from "espalier"
import { Sandbox } from "espalier/agent"

import { notStarted } from "../../src/agent/internal/sandboxErrors.ts"
import { readProbe } from "../../src/agent/internal/sandboxGuard.ts"
import { sandboxed } from "../../src/agent/internal/sandboxHost.ts"
import { ofCode, ofLayer } from "../../src/agent/internal/sandboxOptions.ts"
import { none } from "../../src/agent/internal/sandboxTools.ts"
import { alive, happens } from "../fixtures/live.ts"
import { withProcesses } from "../fixtures/real.ts"

const home = realpathSync(mkdtempSync(join(tmpdir(), "espalier-sandboxes-")))
const folder = (name: string): string => {
  mkdirSync(join(home, name), { recursive: true })
  return join(home, name)
}
const scratch = folder("scratch")
const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)

describe("Sandbox.layerMemory", () => {
  it.effect("R-407 answers with a function, and fills in what it leaves out", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const result = yield* Effect.gen(function* () {
        yield* Sandbox.command({ command: "tests", cwd: "/work" })
        return yield* Sandbox.run({ code: "1" })
      }).pipe(
        Effect.provide(
          Sandbox.layerMemory((request) => {
            seen.push(request._tag === "Code" ? `code ${request.code}` : `command ${request.command}`)
            return Effect.succeed({ ended: "timeout", stdout: "so far" })
          })
        )
      )
      assert.deepStrictEqual(seen, ["command tests", "code 1"])
      assert.deepStrictEqual([result.ended, result.exitCode, result.stdout], ["timeout", undefined, "so far"])
      assert.deepStrictEqual([result.enforced, result.unenforced], [Sandbox.guards, []])
    })
  )

  it.effect("R-407 the end of a limit is a failure on request, and its kind is exhausted", () =>
    Effect.gen(function* () {
      const run = (ended: Sandbox.Ended) =>
        Sandbox.run({ code: "" }).pipe(
          Effect.orDie,
          Effect.flatMap(Sandbox.orFail),
          Effect.provide(Sandbox.layerMemory(() => Effect.succeed({ ended, durationMillis: 7 })))
        )
      for (const ended of ["timeout", "cpu", "memory", "output", "disk", "processes"] as const) {
        const failure = yield* Effect.flip(run(ended))
        assert.deepStrictEqual(
          [failure.limit, failure.durationMillis, Failure.kindOf(failure)],
          [ended, 7, "exhausted"]
        )
      }
      assert.strictEqual((yield* run("killed")).ended, "killed")
    })
  )
})

describe("Options", () => {
  const code = (options: object) => Sandbox.run({ code: "", ...options } as Sandbox.Code)
  const command = (options: object) => Sandbox.command({ command: "ls", cwd: "/", ...options })
  const wrong: ReadonlyArray<
    readonly [what: string, expected: RegExp, effect: Effect.Effect<unknown, unknown, Sandbox.Sandbox>]
  > = [
    ["code and files", /either code or files/, code({ files: {} })],
    ["neither code nor files", /either code or files/, code({ code: undefined })],
    ["an unknown field", /each field of options must be one of/, code({ netwrok: true })],
    ["code that is no text", /code must be a text/, code({ code: 1 })],
    ["a file that is no text", /files\["a"\] must be a text/, code({ code: undefined, files: { a: 1 } })],
    ["no time", /limits.time must be a duration > 0/, code({ limits: { time: 0 } })],
    ["more than a day", /limits.time must be a duration of at most 1 day/, code({ limits: { time: "25 hours" } })],
    ["endless time", /limits.time must be a duration/, code({ limits: { time: Infinity } })],
    ["little memory", /limits.memory must be a whole number >= 67108864/, code({ limits: { memory: 1000 } })],
    ["endless output", /limits.output must be a whole number/, code({ limits: { output: Infinity } })],
    ["no file", /limits.files must be a whole number >= 1/, code({ limits: { files: 0 } })],
    ["flags of Node in the environment", /does not steer Node/, code({ env: { NODE_OPTIONS: "--allow-net" } })],
    ["a library in the environment", /does not steer Node/, code({ env: { LD_PRELOAD: "/tmp/x.so" } })],
    ["a name with =", /without '='/, code({ env: { "A=B": "" } })],
    ["an argument with a zero character", /args\[0\] must be a text without/, code({ args: ["a\0"] })],
    ["arguments that are no list", /args must be a list/, command({ args: "-la" })],
    ["a folder that is not absolute", /cwd must be an absolute path/, command({ cwd: "here" })],
    ["no command", /command must be the name or the path/, command({ command: "" })],
    ["a star in a folder", /without '\*'/, command({ readable: ["/*"] })],
    [
      "flags for a Node that is held",
      /does not steer Node/,
      command({ command: process.execPath, env: { NODE_OPTIONS: "" } })
    ]
  ]
  it.effect.each(wrong)("R-407 %s dies with a RangeError", ([, expected, effect]) =>
    Effect.gen(function* () {
      const layer = Sandbox.layerMemory(() => Effect.succeed({}))
      const cause = yield* Effect.sandbox(effect).pipe(Effect.provide(layer), Effect.flip)
      const [reason] = cause.reasons
      const defect = reason !== undefined && "defect" in reason ? reason.defect : undefined
      assert.instanceOf(defect, RangeError)
      assert.match(String(defect), expected)
    })
  )

  it("R-407 a secret in the environment is in no error", () => {
    const env = { KEY: "s3cret\0" }
    try {
      ofCode({ code: "", env }, ofLayer({}))
      assert.fail("it was taken")
    } catch (error) {
      assert.notInclude(String(error), "s3cret")
    }
  })

  it("R-407 what the system says has a kind", () => {
    const kind = (code: string, otherwise: "scratch" | "other" = "other") =>
      Failure.kindOf(notStarted(Object.assign(new Error("no"), { code }), otherwise))
    assert.deepStrictEqual(
      [kind("ENOENT"), kind("EACCES"), kind("E2BIG"), kind("EAGAIN"), kind("EMFILE"), kind("ENOSPC", "scratch")],
      ["capability", "denied", "oversized", "transient", "transient", "transient"]
    )
  })
})

describe("Where it cannot be held back", () => {
  const held = JSON.stringify(
    Object.fromEntries(
      ["network", "filesystem", "processes", "signals", "environment"].map((guard) => [guard, { all: "denied" }])
    )
  )
  const table = [
    ["nothing that is open", held, []],
    [
      "one attempt that came through",
      held.replace(`"network":{"all":"denied"`, `"network":{"all":"denied","connect":"done"`),
      ["network"]
    ],
    [
      "an attempt that failed for another reason",
      held.replace(`"signals":{"all":"denied"`, `"signals":{"all":"ESRCH"`),
      ["signals"]
    ],
    ["a guard that nothing was said of", held.replace(`"filesystem":{"all":"denied"},`, ""), ["filesystem"]],
    ["no report", "", ["network", "filesystem", "processes", "signals", "environment"]],
    ["a report that is no object", "1", ["network", "filesystem", "processes", "signals", "environment"]]
  ] as const
  it.each(table)("R-407 the check sees %s", (_name, stdout, lacking) => {
    assert.deepStrictEqual(readProbe(stdout).lacking, [...lacking])
  })

  it.effect("R-407 nothing is started, and the failure says what is lacking", () =>
    Effect.gen(function* () {
      const settings = ofLayer({ folder: join(home, "none") })
      const report = {
        lacking: ["network"],
        detail: "network/connect: done",
        code: [],
        command: [],
        tools: []
      } as const
      const failure = yield* Effect.flip(
        sandboxed({ tools: none, watched: true, report }, settings, ofCode({ code: "" }, settings))
      )
      // A folder that is not there would have been asked for next.
      assert.strictEqual(failure._tag, "SandboxUnavailable")
      assert.include(failure.message, "network")
      assert.strictEqual(Failure.kindOf(failure), "capability")
    })
  )

  withProcesses("R-407 a scratch folder that cannot be made is a failure that may pass", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Sandbox.run({ code: "" }))
      assert.strictEqual(failure._tag, "SandboxNotStarted")
      assert.strictEqual(Failure.kindOf(failure), "transient")
    }).pipe(Effect.provide(Sandbox.layer({ folder: join(home, "none") })))
  )
})

// Real time: these are real processes, and the operating system knows no test clock.
layer(Sandbox.layer({ folder: scratch }), { excludeTestServices: true })("Sandbox", (it) => {
  it.effect("R-407 code has its files, arguments, input and environment, and nothing else", () =>
    Effect.gen(function* () {
      const result = yield* Sandbox.run({
        files: {
          "main.mjs": `import { answer } from "./lib/answer.mjs"; import fs from "node:fs"
            console.log(JSON.stringify([answer, process.argv.slice(2), fs.readFileSync(0, "utf8"), process.env]))
            console.error("to error"); process.exitCode = 4`,
          "lib/answer.mjs": "export const answer = 42"
        },
        args: ["one", "--two"],
        input: "given",
        env: { NAME: "value" }
      })
      assert.deepStrictEqual(JSON.parse(result.stdout), [42, ["one", "--two"], "given", { NAME: "value" }])
      assert.deepStrictEqual([result.ended, result.exitCode, result.signal], ["exited", 4, undefined])
      assert.deepStrictEqual([result.stderr, result.truncated], ["to error\n", false])
      assert.isAbove(result.peakMemoryBytes, 0)
    })
  )

  it.effect("R-407 every guard but orphans is enforced for code", () =>
    Effect.gen(function* () {
      const { enforced, unenforced } = yield* Sandbox.run({ code: "" })
      assert.deepStrictEqual([...enforced, ...unenforced].toSorted(), Sandbox.guards.toSorted())
      assert.deepStrictEqual(
        unenforced.filter((guard) => guard !== "orphans"),
        []
      )
    })
  )

  it.effect("R-407 what code writes is cut at the limit, and that is said", () =>
    Effect.gen(function* () {
      const result = yield* Sandbox.run({ code: `process.stdout.write("a".repeat(250))`, limits: { output: 100 } })
      assert.deepStrictEqual([result.ended, result.stdout, result.truncated], ["exited", "a".repeat(100), true])
    })
  )

  it.effect("R-407 files that were added or changed are collected, within bounds, and no link is followed", () =>
    Effect.gen(function* () {
      const code = `import fs from "node:fs"
        fs.writeFileSync("same.txt", "same"); fs.writeFileSync("changed.txt", "after")
        fs.mkdirSync("new"); fs.writeFileSync("new/added.txt", "added")
        fs.writeFileSync("large.txt", "x".repeat(2000)); fs.writeFileSync(Buffer.from([0xff]), "no name")`
      const result = yield* Sandbox.run({
        files: { "main.mjs": code, "same.txt": "same", "changed.txt": "before" },
        collect: { bytes: 1000 }
      })
      assert.deepStrictEqual(
        result.files.map((file) => [file.path, file.bytes, text(file.content)]),
        [
          ["changed.txt", 5, "after"],
          ["new/added.txt", 5, "added"]
        ]
      )
      assert.strictEqual(result.filesLeftOut, 2)
    })
  )

  it.effect.each([
    ["above", { "../main.mjs": "" }, "../main.mjs", "path"],
    ["with a name of too many bytes", { ["é".repeat(150)]: "" }, "é".repeat(120), "path"],
    ["absolute", { "/tmp/main.mjs": "" }, "/tmp/main.mjs", "path"],
    ["with a dot", { "./main.mjs": "" }, "./main.mjs", "path"],
    ["empty between", { "a//b": "" }, "a//b", "path"],
    ["with a zero character", { "a\0": "" }, "a\0", "path"],
    ["with a backslash", { "a\\b": "" }, "a\\b", "path"],
    ["of a file that is a folder too", { a: "", "a/b": "" }, "a", "path"],
    ["that is missing", { a: "" }, "b", "entry"]
  ] as const)("R-407 a path %s is refused, and it is malformed", ([, files, entry, problem]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Sandbox.run({ files, entry }))
      assert.strictEqual(failure._tag, "SandboxFilesRefused")
      assert.strictEqual("problem" in failure ? failure.problem : "", problem)
      assert.strictEqual(Failure.kindOf(failure), "malformed")
    })
  )

  it.effect("R-407 files that are larger than the disk limit are refused, and oversized", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(Sandbox.run({ code: "x".repeat(11), limits: { disk: 10 } }))
      assert.strictEqual(Failure.kindOf(failure), "oversized")
    })
  )

  it.effect("R-407 a command runs in its folder with its environment, and what is not enforced is said", () =>
    Effect.gen(function* () {
      const cwd = folder("command")
      const result = yield* Sandbox.command({
        command: "sh",
        args: ["-c", `pwd; echo "$NAME $HOME"; cat`],
        cwd,
        env: { NAME: "value" },
        input: "given"
      })
      assert.deepStrictEqual([result.ended, result.exitCode, result.stdout], ["exited", 0, `${cwd}\nvalue \ngiven`])
      assert.includeMembers([...result.unenforced], ["filesystem", "disk"])
      const networked = yield* Sandbox.command({ command: "true", cwd, network: true })
      assert.include(networked.unenforced, "network")
    })
  )

  it.effect("R-407 a command is no script: what a shell would read is an argument", () =>
    Effect.gen(function* () {
      const cwd = folder("arguments")
      const { stdout } = yield* Sandbox.command({ command: "echo", args: ["$HOME; touch written", "`id`"], cwd })
      assert.strictEqual(stdout, "$HOME; touch written `id`\n")
      assert.deepStrictEqual(readdirSync(cwd), [])
    })
  )

  it.effect("R-407 a command cannot use the network or see this process where a namespace holds it", () =>
    Effect.gen(function* () {
      const { command } = yield* Sandbox.check
      if (!command.includes("network")) return
      const bystander = spawn("/bin/sleep", ["60"], { stdio: "ignore" })
      const { stdout } = yield* Sandbox.command({
        command: process.execPath,
        permission: false,
        args: [
          "-e",
          `const net = require("net"); const os = require("os")
           let seen = true; try { process.kill(${bystander.pid}, 0) } catch { seen = false }
           console.log(seen, Object.keys(os.networkInterfaces()).length, require("fs").existsSync("/proc/${process.pid}"))`
        ],
        cwd: folder("namespace")
      })
      bystander.kill("SIGKILL")
      assert.strictEqual(stdout, "false 0 false\n")
    })
  )

  it.effect("R-407 a command that is not there, and one that may not be run", () =>
    Effect.gen(function* () {
      const cwd = folder("missing")
      writeFileSync(join(cwd, "plain"), "")
      const problemOf = (command: string, where = cwd) =>
        Effect.map(Effect.flip(Sandbox.command({ command, cwd: where })), ({ problem }) => problem)
      assert.strictEqual(yield* problemOf("espalier-is-not-there"), "not-found")
      assert.strictEqual(yield* problemOf("./plain"), "denied")
      assert.strictEqual(yield* problemOf("ls", join(home, "none")), "not-found")
    })
  )

  it.effect("R-407 a command that is this Node reads its folder and nothing else", () =>
    Effect.gen(function* () {
      const cwd = folder("node")
      const outside = join(folder("node-outside"), "secret")
      writeFileSync(outside, "secret")
      writeFileSync(join(cwd, "own"), "own")
      const script = `import fs from "node:fs"
        const tries = [() => fs.readFileSync("own", "utf8"), () => fs.readFileSync(${JSON.stringify(outside)}, "utf8"), () => fs.writeFileSync("new", "")]
        console.log(JSON.stringify(tries.map((act) => { try { return act() ?? "done" } catch (error) { return error.code } })))`
      writeFileSync(join(cwd, "main.mjs"), script)
      const node = (options?: Partial<Sandbox.Command>) =>
        Sandbox.command({ command: process.execPath, args: ["main.mjs"], cwd, ...options })
      const result = yield* node({ writable: [] })
      assert.deepStrictEqual(
        JSON.parse(result.stdout),
        ["own", "ERR_ACCESS_DENIED", "ERR_ACCESS_DENIED"],
        result.stderr
      )
      assert.includeMembers([...result.enforced], ["filesystem", "network", "signals", "descendants"])
      const plain = yield* node({ permission: false })
      assert.deepStrictEqual(JSON.parse(plain.stdout), ["own", "secret", "done"])
      assert.include(plain.unenforced, "filesystem")
      // What was a link before leads out, and is not passed over in silence.
      symlinkSync(outside, join(cwd, "link"))
      assert.include((yield* node()).unenforced, "filesystem")
    })
  )

  it.effect("R-407 a hard link in the folder of a Node is not passed over either", () =>
    Effect.gen(function* () {
      const cwd = folder("hard")
      writeFileSync(join(folder("hard-outside"), "file"), "")
      linkSync(join(home, "hard-outside", "file"), join(cwd, "file"))
      const result = yield* Sandbox.command({ command: process.execPath, args: ["-e", "1"], cwd })
      assert.include(result.unenforced, "filesystem")
    })
  )

  it.effect("R-407 a folder that a killed process left behind is removed after two days", () =>
    Effect.gen(function* () {
      const where = folder("swept")
      const [old, young, other] = ["espalier-sandbox-1-old", "espalier-sandbox-1-young", "other-old"].map((name) =>
        folder(`swept/${name}`)
      )
      utimesSync(old!, 1000, 1000)
      utimesSync(other!, 1000, 1000)
      yield* Sandbox.check.pipe(Effect.provide(Sandbox.layer({ folder: where, tools: "none" }), { local: true }))
      assert.deepStrictEqual([existsSync(old!), existsSync(young!), existsSync(other!)], [false, true, true])
    })
  )

  it.effect("R-407 code does not outlive a process that is killed, where the system can see to it", () =>
    Effect.gen(function* () {
      const { code } = yield* Sandbox.check
      if (!code.includes("orphans")) return
      const where = folder("orphans")
      const program = `
        import { Effect } from "effect"
        import { Sandbox } from "espalier/agent"
        const run = Sandbox.run({ code: "for (;;);", limits: { time: "1 minute" } })
        await Effect.runPromise(Effect.provide(run, Sandbox.layer({ folder: ${JSON.stringify(where)} })))`
      const parent = spawn(process.execPath, ["--conditions=@espalier/source", "--input-type=module", "-e", program], {
        stdio: "ignore"
      })
      const running = () =>
        readdirSync("/proc").filter((name) => {
          try {
            return (
              /^\d+$/.test(name) &&
              readFileSync(`/proc/${name}/cmdline`, "utf8").includes(`${where}/`) &&
              alive(Number(name))
            )
          } catch {
            return false
          }
        })
      const inLoop = () => readdirSync(where).some((name) => readdirSync(join(where, name)).includes("main.mjs"))
      // The check has a folder with such a file too; two folders are the check, one is the run.
      yield* happens("the code runs", () => readdirSync(where).length === 1 && inLoop() && running().length > 0)
      parent.kill("SIGKILL")
      yield* happens("the code has ended", () => running().length === 0)
    })
  )

  it("R-407 nothing is left", () => {
    assert.deepStrictEqual(readdirSync(scratch), [])
  })
})
