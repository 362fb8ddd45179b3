/**
 * What code tries in order to get out, and what becomes of it. Real processes: the operating system knows no test clock.
 *
 * What has to be denied is tried in one process, with the tools of the system and without. What has to be ended has a
 * process of its own.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Sandbox } from "espalier/agent"

const home = realpathSync(mkdtempSync(join(tmpdir(), "espalier-escapes-")))
const scratch = join(home, "scratch")
const outside = join(home, "outside")
mkdirSync(scratch)
mkdirSync(outside)
const secret = join(outside, "secret.mjs")
writeFileSync(secret, "export const secret = 'do not tell'\n")
const untouched = ["secret.mjs"]

const alive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Processes whose command line names something. */
const processesOf = (text: string): ReadonlyArray<string> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").includes(text)
      } catch {
        return false
      }
    })

/** Nothing is left: no process, no folder, and what lies outside is as it was. */
const nothingIsLeft = (mark = scratch): void => {
  assert.deepStrictEqual(readdirSync(scratch), [], "scratch folders")
  assert.deepStrictEqual(processesOf(mark), [], "processes")
  assert.deepStrictEqual(readdirSync(outside), untouched)
}

// What each attempt must come to: an error with this code, or the value "gone" for what is not there at all.
const access = "ERR_ACCESS_DENIED"

/** name, what it must come to, the attempt: an expression that may await. */
const attempts: ReadonlyArray<readonly [name: string, expected: string, attempt: string]> = [
  ["reads /etc/passwd", access, `fs.readFileSync("/etc/passwd")`],
  ["reads it with a promise", access, `await fs.promises.readFile("/etc/passwd")`],
  ["reads it as a stream", access, `await event(fs.createReadStream("/etc/passwd"), "data")`],
  ["reads the parent's package.json", access, `fs.readFileSync(parentFolder + "/package.json")`],
  ["lists the parent's folder", access, `fs.readdirSync(parentFolder)`],
  ["lists it as a folder handle", access, `fs.opendirSync(parentFolder)`],
  ["finds out whether a file is there", access, `fs.statSync(secret)`],
  ["watches a file", access, `fs.watch(secret)`],
  ["writes outside", access, `fs.writeFileSync(outside + "/written", "")`],
  ["appends outside", access, `fs.appendFileSync(secret, "x")`],
  ["makes a folder outside", access, `fs.mkdirSync(outside + "/made")`],
  ["makes a temporary folder outside", access, `fs.mkdtempSync(outside + "/made")`],
  ["removes a file outside", access, `fs.rmSync(secret)`],
  ["renames a file into the scratch folder", access, `fs.renameSync(secret, "renamed")`],
  ["copies a file into the scratch folder", access, `fs.copyFileSync(secret, "copied")`],
  ["copies out", access, `fs.copyFileSync("main.mjs", outside + "/copied")`],
  ["changes the mode of a file outside", access, `fs.chmodSync(secret, 0o777)`],
  ["makes a link that leads out", access, `fs.symlinkSync(secret, "link")`],
  ["makes a relative link that leads out", access, `fs.symlinkSync("../../outside/secret.mjs", "link2")`],
  ["makes a link to a folder outside", access, `fs.symlinkSync(outside, "link3", "dir")`],
  ["makes a hard link", access, `fs.linkSync(secret, "hard")`],
  ["goes up with ..", access, `fs.readFileSync("../../outside/secret.mjs")`],
  ["goes up with .. behind the scratch folder", access, `fs.readFileSync(process.cwd() + "/../../outside/secret.mjs")`],
  ["goes up with bytes", access, `fs.readFileSync(Buffer.from(process.cwd() + "/../../outside/secret.mjs"))`],
  ["goes up with an array of bytes", access, `fs.readFileSync(new TextEncoder().encode(secret))`],
  ["goes to a folder whose name begins alike", access, `fs.mkdirSync(process.cwd() + "-beside")`],
  ["uses a file URL", access, `fs.readFileSync(new URL("file://" + secret))`],
  ["uses a file URL with escapes", access, `fs.readFileSync(new URL("file://" + secret.replaceAll("/", "/%2e/")))`],
  ["goes up by a long way", access, `fs.readFileSync(process.cwd() + "/.".repeat(1500) + "/../../outside/secret.mjs")`],
  ["goes through /proc", access, `fs.readFileSync("/proc/self/root" + secret)`],
  ["looks for files", "gone", `fs.globSync(outside + "/*")[0]`],
  ["copies a folder", access, `fs.cpSync(outside, "copy", { recursive: true, dereference: true })`],
  ["opens it as a blob", access, `await (await fs.openAsBlob(secret)).text()`],
  ["imports it", access, `await import(secret)`],
  ["requires it", access, `module.createRequire(import.meta.url)(parentFolder + "/package.json")`],
  ["imports a package of the parent", access, `module.createRequire(parentFolder + "/x.js")("effect")`],
  ["changes the folder", access, `process.chdir("/")`],
  ["opens a database outside", "ERR_UNKNOWN_BUILTIN_MODULE", `await import("node:sqlite")`],
  ["gets the database by its name", "gone", `process.getBuiltinModule("node:sqlite")`],
  ["has a report written outside", "gone", `process.report`],
  ["sets flags of V8", "gone", `v8.setFlagsFromString`],
  ["sets flags of V8, imported by name", "gone", `(await import("node:v8")).setFlagsFromString`],
  ["has a heap snapshot written outside", access, `v8.writeHeapSnapshot(outside + "/heap")`],
  ["reads variables out of a file", access, `process.loadEnvFile(secret)`],
  ["reads its own environment from /proc", access, `fs.readFileSync("/proc/self/environ")`],
  ["reads the parent's environment from /proc", access, `fs.readFileSync("/proc/" + parent + "/environ")`],
  ["reads the memory of the parent", access, `fs.openSync("/proc/" + parent + "/mem")`],
  ["has variables", "gone", `Object.keys(process.env)[0]`],
  ["spawns", access, `await event(cp.spawn("/bin/true"), "exit")`],
  ["spawns and waits", access, `const { error } = cp.spawnSync("/bin/true"); if (error) throw error`],
  ["runs a shell", access, `await event(cp.exec("true"), "exit")`],
  ["forks", access, `await event(cp.fork("main.mjs"), "exit")`],
  ["leaves a detached process behind", access, `cp.spawn("/bin/sleep", ["60"], { detached: true }).unref()`],
  [
    "spawns by what is below",
    access,
    `cp.ChildProcess.prototype.spawn.call(new cp.ChildProcess(), { file: "/bin/true", args: ["true"], stdio: [] })`
  ],
  ["becomes another program", "gone", `process.execve`],
  ["starts a thread", access, `new threads.Worker("1", { eval: true })`],
  ["starts a cluster", access, `await event((await import("node:cluster")).default.fork(), "exit")`],
  ["gets an inner binding", "gone", `process.binding`],
  ["gets another inner binding", "gone", `process._linkedBinding`],
  ["registers loader hooks in a thread", access, `module.register("data:text/javascript,")`],
  ["reads through loader hooks of its own", access, `await hooked()`],
  ["loads an addon", "ERR_DLOPEN_DISABLED", `module.createRequire(import.meta.url)("./none.node")`],
  ["loads a library", "ERR_DLOPEN_DISABLED", `process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6")`],
  ["uses WASI", access, `new (await import("node:wasi")).WASI({ version: "preview1", preopens: { "/": "/" } })`],
  ["calls foreign functions", "ERR_UNKNOWN_BUILTIN_MODULE", `await import("node:ffi")`],
  ["opens an inspector", access, `(await import("node:inspector")).open(0)`],
  ["connects to an inspector of itself", access, `new (await import("node:inspector")).Session().connect()`],
  ["uses a cryptographic engine", "ERR_CRYPTO_CUSTOM_ENGINE_NOT_SUPPORTED", `crypto.setEngine("/tmp/x.so")`],
  ["connects to a port", access, `await event(net.connect(port, "127.0.0.1"), "connect")`],
  ["connects to a socket of the system", access, `await event(net.connect(socket), "connect")`],
  [
    "connects by the class of its output",
    access,
    `throw new process.stdout._handle.constructor(0).connect({ oncomplete() {} }, socket)`
  ],
  ["listens by an inner handle", access, `net._createServerHandle("127.0.0.1", 0, 4)`],
  ["sends by an inner handle", access, `throw inner().bind("127.0.0.1", 0, 0)`],
  ["listens", access, `await event(net.createServer().listen(0), "listening")`],
  ["fetches", access, `await fetch("http://127.0.0.1:" + port)`],
  ["asks over HTTP", access, `await event((await import("node:http")).get("http://127.0.0.1:" + port), "response")`],
  ["asks for a name", access, `await (await import("node:dns/promises")).lookup("localhost")`],
  ["asks a name server", access, `await (await import("node:dns/promises")).resolve4("example.com")`],
  ["sends a datagram", access, `await datagram()`],
  ["signals its parent", "gone", `process.kill`],
  ["signals by the inner function", "gone", `process._kill`],
  ["signals by an import", "gone", `(await import("node:process")).kill`],
  ["wakes the debugger of another process", "gone", `process._debugProcess`],
  ["changes the priority of its parent", "gone", `(await import("node:os")).setPriority`],
  ["becomes another user", "gone", `process.setuid`],
  ["reads with eval", access, `await (0, eval)("import('node:fs')").then((fs) => fs.readFileSync(secret))`],
  ["reads out of another context", access, `vm.runInNewContext("read(secret)", { read: fs.readFileSync, secret })`],
  ["drops the permission model", access, `process.permission.has = () => true; fs.readFileSync(secret)`],
  ["makes every check of a text true", access, `games(); fs.readFileSync(secret)`],
  ["makes a link after that", access, `games(); fs.symlinkSync(secret, "link4")`],
  ["starts a thread after that", access, `games(); new threads.Worker("1", { eval: true })`]
]

const batch = `
import fs from "node:fs"
import net from "node:net"
import cp from "node:child_process"
import v8 from "node:v8"
import vm from "node:vm"
import crypto from "node:crypto"
import dgram from "node:dgram"
import module from "node:module"
import threads from "node:worker_threads"
const [secret, outside, parentFolder, parent, port, socket] = process.argv.slice(2)
let thrown
process.on("uncaughtException", (error) => thrown(error))
const event = (emitter, name) => new Promise((yes, no) => { emitter.once(name, yes); emitter.on("error", no) })
const datagram = async () => {
  const socket = (await import("node:dgram")).createSocket("udp4")
  await new Promise((yes, no) => { socket.on("error", no); socket.send("x", 9, "127.0.0.1", (error) => error ? no(error) : yes()) })
}
const inner = () => {
  const socket = dgram.createSocket("udp4")
  return socket[Object.getOwnPropertySymbols(socket).find((each) => String(each) === "Symbol(state symbol)")].handle
}
const hooked = () => {
  module.registerHooks({ resolve: (name, context, next) => name === "hooked" ? { url: "file://" + secret, shortCircuit: true } : next(name, context) })
  return import("hooked")
}
const games = () => {
  process.permission.isEnabled = () => false
  String.prototype.startsWith = () => true
  Array.prototype.some = () => false
  Object.prototype.env = { PATH: "/bin" }
  Object.prototype.permission = { fs: true }
}
fs.writeFileSync("none.node", "")
const told = {}
const attempt = async (name, act) => {
  try {
    const value = await Promise.race([act(), new Promise((_, no) => { thrown = no })])
    told[name] = value === undefined ? "gone" : "done"
  } catch (error) {
    told[name] = String(error?.code ?? error?.cause?.code ?? error?.message)
  }
}
${attempts
  .map(([name, expected, act]) =>
    expected === "gone"
      ? `await attempt(${JSON.stringify(name)}, async () => ${act})`
      : `await attempt(${JSON.stringify(name)}, async () => { ${act}; return "done" })`
  )
  .join("\n")}
fs.writeSync(1, JSON.stringify(told))
process.exit(0)
`

const bomb = (limits: Sandbox.Limits, code: string): Sandbox.Code => ({
  code,
  limits: { time: "8 seconds", ...limits }
})

/** name, how it must end, the code. */
const killers: ReadonlyArray<readonly [name: string, ended: Sandbox.Ended, code: Sandbox.Code]> = [
  ["an endless loop", "timeout", bomb({ time: 250 }, "for (;;);")],
  ["an endless loop has no more time of the processor either", "cpu", bomb({ cpu: 250 }, "for (;;);")],
  // Real time: the timer is the attempt, in a process of its own.
  ["timers that nobody ends", "timeout", bomb({ time: 250 }, "setInterval(() => {}, 1)")],
  [
    "a process that refuses to end",
    "timeout",
    // Real time: it keeps a process of its own from ending by itself.
    bomb({ time: 250 }, `process.on("SIGTERM", () => {}); setInterval(() => {}, 9)`)
  ],
  [
    "a heap that grows",
    "memory",
    bomb({ memory: 64 * 2 ** 20 }, "const all = []; for (;;) all.push(new Array(1000).fill(all.length))")
  ],
  [
    "buffers that grow",
    "memory",
    bomb({ memory: 96 * 2 ** 20 }, "const all = []; for (;;) all.push(Buffer.alloc(2 ** 20, 1))")
  ],
  ["a flood of output", "output", bomb({ output: 1000 }, `for (;;) process.stdout.write("flood ".repeat(100))`)],
  [
    "a flood of errors",
    "output",
    bomb({ output: 1000 }, `import fs from "node:fs"; for (;;) fs.writeSync(2, "flood ".repeat(100))`)
  ],
  [
    "a disk that fills",
    "disk",
    bomb(
      { disk: 2 ** 20 },
      `import fs from "node:fs"; for (let i = 0; ; i++) { fs.writeFileSync("f" + i, Buffer.alloc(2 ** 18)); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5) }`
    )
  ],
  [
    "many files",
    "disk",
    bomb(
      { files: 50 },
      `import fs from "node:fs"; for (let i = 0; ; i++) { fs.mkdirSync("f" + i); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1) }`
    )
  ],
  [
    "a disk that fills deeper than any path leads",
    "disk",
    bomb(
      { disk: 2 ** 20 },
      // Real time: it keeps a process of its own there until its disk is looked at.
      `import fs from "node:fs"; const d = "d".repeat(200); while (process.cwd().length < 3880) { fs.mkdirSync(d); process.chdir(d) }; for (let i = 0; i < 9; i++) fs.writeFileSync("f".repeat(240) + i, Buffer.alloc(2 ** 18)); setInterval(() => {}, 9)`
    )
  ],
  [
    "a file that was removed and still grows",
    "disk",
    bomb(
      { disk: 2 ** 20 },
      `import fs from "node:fs"; const all = []; for (let i = 0; ; i++) { const f = fs.openSync("f", "w"); fs.unlinkSync("f"); fs.writeSync(f, Buffer.alloc(2 ** 18)); all.push(f); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5) }`
    )
  ]
]

/** name, exit code, the code. */
const ends: ReadonlyArray<readonly [name: string, exitCode: number, code: string]> = [
  ["an exit code", 3, "process.exit(3)"],
  ["an error that is thrown", 1, "throw new Error('thrown')"],
  [
    "folders that nobody may look into",
    0,
    `import fs from "node:fs"; fs.mkdirSync("a/b", { recursive: true }); fs.writeFileSync("a/b/c", ""); fs.chmodSync("a/b", 0); fs.chmodSync("a", 0)`
  ],
  ["a scratch folder that is removed", 0, `import fs from "node:fs"; fs.rmSync(process.cwd(), { recursive: true })`]
]

const shell = (script: string, limits: Sandbox.Limits): Sandbox.Command => ({
  command: "/bin/sh",
  args: ["-c", script],
  cwd: outside,
  limits
})

for (const tools of ["auto", "none"] as const) {
  describe(`Escapes, tools: ${tools}`, () => {
    // Real time: these are real processes, and the operating system knows no test clock.
    layer(Sandbox.layer({ folder: scratch, tools }), { excludeTestServices: true })((it) => {
      it.effect("R-407 every attempt to get out is denied", () =>
        Effect.gen(function* () {
          const calls: Array<string> = []
          const server = createServer(() => calls.push("port")).listen(0, "127.0.0.1")
          const local = createServer(() => calls.push("socket")).listen(join(home, "socket"))
          const bystander = spawn("/bin/sleep", ["60"], { stdio: "ignore" })
          yield* Effect.promise(() => Promise.all([once(server, "listening"), once(local, "listening")]))
          const address = server.address()
          const port = typeof address === "object" && address !== null ? address.port : 0
          const result = yield* Sandbox.run({
            code: batch,
            args: [secret, outside, process.cwd(), String(process.pid), String(port), join(home, "socket")],
            limits: { time: "20 seconds" }
          })
          server.close()
          local.close()
          const survived = bystander.pid !== undefined && alive(bystander.pid)
          bystander.kill("SIGKILL")
          assert.strictEqual(result.ended, "exited", result.stderr)
          assert.deepStrictEqual(
            JSON.parse(result.stdout),
            Object.fromEntries(attempts.map(([name, expected]) => [name, expected]))
          )
          assert.deepStrictEqual(calls, [])
          assert.isTrue(survived)
          nothingIsLeft()
        })
      )

      it.effect("R-407 what a command leaves in its group does not outlive it", () =>
        Effect.gen(function* () {
          const mark = tools === "auto" ? "sleep 63.25" : "sleep 67.25"
          const result = yield* Sandbox.command(shell(`${mark} & echo done`, { time: "8 seconds" }))
          assert.deepStrictEqual([result.ended, result.exitCode, result.stdout], ["exited", 0, "done\n"])
          nothingIsLeft(mark)
        })
      )

      it.effect("R-407 what runs away is ended with all that belongs to it", () =>
        Effect.gen(function* () {
          const heap = "const all = []; for (;;) all.push(new Array(1000).fill(all.length))"
          assert.strictEqual((yield* Sandbox.run(bomb({}, heap))).ended, "memory")
          const mark = tools === "auto" ? "sleep 65.25" : "sleep 66.25"
          const result = yield* Sandbox.command(shell(`trap "" TERM; (${mark}; ${mark}) & ${mark}`, { time: 300 }))
          assert.strictEqual(result.ended, "timeout")
          if (tools === "none")
            assert.includeMembers([...result.unenforced], ["network", "signals", "descendants", "orphans"])
          nothingIsLeft(mark)
        })
      )
    })
  })
}

describe("Escapes", () => {
  // Real time: these are real processes, and the operating system knows no test clock.
  layer(Sandbox.layer({ folder: scratch }), { excludeTestServices: true })((it) => {
    it.effect.each(killers)("R-407 %s is ended: %s", ([, ended, code]) =>
      Effect.gen(function* () {
        const result = yield* Sandbox.run(code)
        assert.strictEqual(result.ended, ended, result.stderr)
        assert.isUndefined(result.exitCode)
        const failure = yield* Effect.flip(Sandbox.orFail(result))
        assert.strictEqual(failure.limit, ended)
        nothingIsLeft()
      })
    )

    it.effect.each(ends)("R-407 %s leaves nothing behind, exit code %i", ([, exitCode, code]) =>
      Effect.gen(function* () {
        const result = yield* Sandbox.run({ code })
        assert.deepStrictEqual([result.ended, result.exitCode], ["exited", exitCode], result.stderr)
        nothingIsLeft()
      })
    )

    it.effect("R-407 a run that is interrupted leaves nothing behind", () =>
      Effect.gen(function* () {
        const running = yield* Effect.forkChild(Sandbox.run({ code: "for (;;);" }))
        // Real time: a process of the system begins when it does, and says so nowhere else.
        while (processesOf(scratch).length === 0) yield* Effect.sleep(10)
        yield* Fiber.interrupt(running)
        nothingIsLeft()
      })
    )

    it.effect("R-407 a command with too many processes is ended with all of them", () =>
      Effect.gen(function* () {
        const script = "i=0; while [ $i -lt 200 ]; do sleep 61.25 & i=$((i+1)); done; wait"
        const result = yield* Sandbox.command(shell(script, { time: "8 seconds", processes: 20 }))
        assert.strictEqual(result.ended, "processes")
        nothingIsLeft("sleep 61.25")
      })
    )

    it.effect("R-407 what a command sends out of its group does not outlive it where a namespace holds it", () =>
      Effect.gen(function* () {
        const { command } = yield* Sandbox.check
        if (!command.includes("descendants")) return
        const result = yield* Sandbox.command(shell("setsid sleep 64.25 & echo done", { time: "8 seconds" }))
        assert.deepStrictEqual([result.ended, result.stdout], ["exited", "done\n"])
        nothingIsLeft("sleep 64.25")
      })
    )
  })
})
