/**
 * Real processes: how they start, get ready, end, and are stopped with all that they started.
 *
 * Every test with a process runs in real time: the operating system knows no test clock. They wait for events.
 */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Logger, References, Stream } from "effect"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { Child, Supervisor, type Tree } from "espalier"

import * as NodePort from "../src/NodePort.ts"
import { alive, happens, node, real, sh } from "./fixtures/live.ts"
import { withProcesses } from "./fixtures/real.ts"
import { nodeOf, Stage } from "./fixtures/stage.ts"

const root = <E, R>(child: Child.Child<never, E, R>) => Supervisor.make("root", { children: [child] })

/** A child that keeps what the process writes, and can be asked for it. */
const listener = () => {
  const lines: Array<string> = []
  const output = (line: string) => Effect.sync(() => void lines.push(line))
  return { lines, output, pids: () => lines.filter((line) => /^\d+$/.test(line)).map(Number) }
}

const errorIn = (reason: Tree.ExitReason | undefined): unknown =>
  reason !== undefined && "cause" in reason && reason.cause !== undefined ? Cause.squash(reason.cause) : undefined

const folder = mkdtempSync(join(tmpdir(), "espalier-process-"))

describe("Child.process", () => {
  describe("stops", () => {
    withProcesses("R-114 with SIGTERM, and the end is clean", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const lines: Array<string> = []
        const script = `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`
        const child = Child.process("app", sh(script), {
          output: (line, from) => Effect.sync(() => (from === "stdout" ? lines.push(line) : 0)),
          ready: { output: "up" }
        })
        const { tree } = yield* stage.start(root(child))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "app").kind, "process")
        const { leaked } = yield* tree.stop
        assert.deepStrictEqual(leaked, [])
        // What it wrote on the way down was read.
        assert.deepStrictEqual(lines, ["up", "bye"])
        assert.deepStrictEqual(stage.of("Exited", "app")[0]!.reason, { _tag: "Shutdown", cause: undefined })
      }).pipe(real)
    )

    withProcesses("R-114 with SIGKILL at the grace time, and the grandchild goes too", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { output, pids } = listener()
        // Both ignore SIGTERM; the inner shell inherits that.
        const script = `trap '' TERM; sh -c 'echo $$; while :; do sleep 0.05; done' & echo $$; echo up; wait`
        const child = Child.process("app", sh(script), { output, ready: { output: /^up$/ }, shutdown: "300 millis" })
        const { tree } = yield* stage.start(root(child))
        yield* happens("both have told their pid", () => pids().length === 2)
        assert.deepStrictEqual(pids().map(alive), [true, true])
        const { leaked } = yield* tree.stop
        assert.deepStrictEqual(leaked, [])
        assert.deepStrictEqual(pids().map(alive), [false, false])
        const exited = stage.of("Exited", "app")[0]!
        assert.isTrue(exited.ordered)
        assert.strictEqual(exited.reason._tag, "Shutdown")
        const killed = errorIn(exited.reason)
        assert.instanceOf(killed, Child.ProcessKilled)
        assert.deepStrictEqual(killed.path, ["root", "app"])
        assert.strictEqual(killed.afterMillis, 300)
        assert.isAtLeast(exited.at - stage.of("Stopping", "app")[0]!.at, 300)
        assert.strictEqual(stage.of("Leaked").length, 0)
      }).pipe(real)
    )

    withProcesses("R-114 and a reader that fails on its last lines is in the cause", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const script = `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`
        const child = Child.process("app", sh(script), {
          output: (line) => (line === "bye" ? Effect.fail("no bye") : Effect.void),
          ready: { output: "up" }
        })
        const { tree } = yield* stage.start(root(child))
        yield* tree.stop
        const { reason } = stage.of("Exited", "app")[0]!
        assert.deepStrictEqual([reason._tag, errorIn(reason)], ["Shutdown", "no bye"])
      }).pipe(real)
    )

    withProcesses.each(["abandon", 0] as const)("R-114 at once when shutdown is %s, without asking", (shutdown) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { lines, output, pids } = listener()
        const script = `trap 'echo asked; exit 0' TERM; echo $$; echo up; while :; do sleep 0.02; done`
        const child = Child.process("app", sh(script), { output, ready: { output: "up" }, shutdown })
        const { tree } = yield* stage.start(root(child))
        yield* tree.stop
        yield* happens("it is gone", () => !alive(pids()[0]!))
        yield* happens("nothing is left", () => stage.of("LeakEnded").length === stage.of("Leaked").length)
        assert.notInclude(lines, "asked")
        assert.strictEqual(stage.of("Leaked").length, shutdown === "abandon" ? 1 : 0)
      }).pipe(real)
    )

    withProcesses("R-114 also one that writes much while it stops", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { lines, output } = listener()
        const script = `process.on("SIGTERM", () => {
          for (let i = 0; i < 20_000; i++) console.log("a line that fills the pipe " + i)
          process.exitCode = 0; clearInterval(timer)
        }); const timer = setInterval(() => {}, 1000); console.log("up")`
        const child = Child.process("app", node(script), { output, ready: { output: "up" } })
        const { tree } = yield* stage.start(root(child))
        yield* tree.stop
        assert.strictEqual(lines.length, 20_001)
        assert.strictEqual(lines.at(-1), "a line that fills the pipe 19999")
        assert.strictEqual(errorIn(stage.of("Exited", "app")[0]!.reason), undefined)
      }).pipe(real)
    )

    withProcesses("R-114 although somebody outside the group holds the pipe, and says what is not read", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { output, pids } = listener()
        const logged: Array<unknown> = []
        const daemon = `require("child_process").spawn("sleep", ["30"], { detached: true, stdio: "inherit" })`
        const script = `const c = ${daemon}; console.log(c.pid); console.log("up"); setInterval(() => {}, 1000)`
        const child = Child.process("app", node(script), { output, ready: { output: "up" } })
        yield* Effect.gen(function* () {
          const { tree } = yield* stage.start(root(child))
          const { leaked } = yield* tree.stop
          assert.deepStrictEqual(leaked, [])
        }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
        assert.include(JSON.stringify(logged), "the rest of the output is not read")
        const [pid] = pids()
        assert.isTrue(alive(pid!))
        process.kill(pid!, "SIGKILL")
      }).pipe(real)
    )
  })

  describe("ends", () => {
    withProcesses("R-114 with code 3: a typed error, restarted like a crash", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const seen: Array<Child.ProcessFailure> = []
        const script = `echo begin; echo one >&2; echo two >&2; exit 3`
        const child = Child.process("app", sh(script), {
          output: "ignore",
          onFailure: (error) => {
            seen.push(error)
            return seen.length === 2 ? "stop" : "restart"
          }
        })
        const { tree } = yield* stage.start(root(child))
        yield* happens("it failed twice", () => stage.of("Failed", "app").length === 1)
        const error = seen[0]!
        assert.instanceOf(error, Child.ProcessExited)
        assert.deepStrictEqual(
          { ...error, pid: 0 },
          {
            ...new Child.ProcessExited({
              path: ["root", "app"],
              command: "sh",
              pid: 0,
              exitCode: 3,
              beforeReady: false,
              stderrTail: ["one", "two"]
            })
          }
        )
        assert.match(error.message, /^root\/app: sh \(pid \d+\) ended with code 3: two$/)
        assert.strictEqual(nodeOf(yield* tree.snapshot, "app").incarnation, 2)
      }).pipe(real)
    )

    withProcesses("R-114 with code 0: a clean end", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = Child.process("app", sh("exit 0"), { restart: "on-failure" })
        yield* stage.start(root(child))
        yield* happens("it ended", () => stage.of("Exited", "app").length === 1)
        assert.deepStrictEqual(stage.of("Exited", "app")[0]!.reason, { _tag: "Normal" })
      }).pipe(real)
    )

    withProcesses("R-114 by a signal from outside: a typed error, and a new process", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { output, pids } = listener()
        const child = Child.process("app", sh(`echo $$; exec sleep 60`), {
          output,
          ready: { output: /^\d+$/g }
        })
        yield* stage.start(root(child))
        process.kill(pids()[0]!, "SIGKILL")
        yield* happens("a second one is up", () => stage.of("Started", "app").length === 2)
        const { reason, ordered } = stage.of("Exited", "app")[0]!
        assert.isFalse(ordered)
        const error = errorIn(reason)
        assert.instanceOf(error, Child.ProcessExited)
        assert.strictEqual(error.signal, "SIGKILL")
        assert.strictEqual(error.exitCode, undefined)
        assert.strictEqual(error.pid, pids()[0])
        assert.notStrictEqual(pids()[0], pids()[1])
      }).pipe(real)
    )

    withProcesses("R-114 and what it left behind in its group is gone before the next one starts", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { output, pids } = listener()
        const script = `sh -c 'trap "" TERM; echo $$; while :; do sleep 0.02; done' & sleep 0.2; exit 3`
        const left: Array<boolean> = []
        const child = Child.process("app", sh(script), {
          output,
          shutdown: "200 millis",
          onFailure: () => {
            left.push(...pids().map(alive))
            return "stop"
          }
        })
        yield* stage.start(root(child))
        yield* happens("it failed", () => stage.of("Failed", "app").length === 1)
        assert.deepStrictEqual(left, [false])
      }).pipe(real)
    )

    withProcesses("R-114 when the reader of its output fails, with that error", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        // That it must be killed too does not make a bug of it.
        const child = Child.process("app", sh(`trap '' TERM; echo $$; while :; do sleep 0.05; done`), {
          shutdown: "50 millis",
          output: (line) => Effect.fail({ _tag: "Unreadable" as const, line }),
          onFailure: (error) => (error._tag === "Unreadable" ? "stop" : "restart")
        })
        yield* stage.start(root(child))
        yield* happens("it failed", () => stage.of("Failed", "app").length === 1)
        const error = errorIn(stage.of("Exited", "app")[0]!.reason) as { readonly line: string }
        assert.isFalse(alive(Number(error.line)))
      }).pipe(real)
    )

    withProcesses("R-114 when its input breaks, with a typed error", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const stdin = Stream.fromEffect(Effect.andThen(ChildProcess.make("not-a-command"), Effect.never)).pipe(
          Stream.scoped,
          Stream.provide(NodeServices.layer)
        )
        const child = Child.process("app", sh("exec sleep 60", { stdin }), { onFailure: () => "stop" })
        yield* stage.start(root(child))
        yield* happens("it failed", () => stage.of("Failed", "app").length === 1)
        const error = errorIn(stage.of("Exited", "app")[0]!.reason)
        assert.instanceOf(error, Child.ProcessPipeBroken)
        assert.strictEqual(error.stream, "stdin")
        assert.isFalse(alive(error.pid))
      }).pipe(real)
    )
  })

  describe("starts", () => {
    withProcesses("R-114 when a line says so, from the stream that is meant", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { lines, output } = listener()
        const script = `echo ready to begin; echo ready >&2; exec sleep 60`
        const child = Child.process("app", sh(script), { output, ready: { output: /^ready$/g, from: "stderr" } })
        yield* stage.start(root(child))
        assert.include(lines, "ready")
      }).pipe(real)
    )

    withProcesses("R-114 when its port is open", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const free = node(
          `const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })`
        )
        const spawner = yield* Effect.context<ChildProcessSpawner.ChildProcessSpawner>()
        const port = Number(
          yield* Effect.provideContext(
            Effect.scoped(Effect.flatMap(free, (handle) => Stream.mkString(Stream.decodeText(handle.stdout)))),
            spawner
          )
        )
        assert.isFalse(yield* NodePort.accepts(port))
        const server = node(`setTimeout(() => require("net").createServer().listen(${port}, "127.0.0.1"), 50)`)
        const child = Child.process("app", server, { ready: { probe: NodePort.accepts(port), every: "10 millis" } })
        const { tree } = yield* stage.start(root(child))
        assert.isTrue(yield* NodePort.accepts(port))
        yield* tree.stop
        assert.isFalse(yield* NodePort.accepts(port))
        const refused = yield* Effect.exit(NodePort.accepts(0))
        assert.include(String(refused), "NodePort.accepts: port must be a whole number from 1 to 65535, got 0")
      }).pipe(real)
    )

    withProcesses("R-114 when a probe succeeds; one that fails or says false is asked again", () =>
      Effect.gen(function* () {
        class Answers extends Context.Service<Answers, Array<Effect.Effect<boolean, string>>>()("Answers") {}
        const stage = new Stage()
        const answers = [Effect.fail("not yet"), Effect.succeed(false), Effect.succeed(true), Effect.die("too many")]
        const probe = Effect.flatMap(Answers, (all) => all.shift()!)
        const child = Child.process("app", sh("exec sleep 60"), { ready: { probe, every: "1 millis" } })
        yield* Effect.provideService(stage.start(root(child)), Answers, answers)
        assert.strictEqual(answers.length, 1)
      }).pipe(real)
    )

    withProcesses("R-114 or not in time: the start fails with InitTimeout, and no process is left", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const logged: Array<unknown> = []
        const { output, pids } = listener()
        const probe = Effect.andThen(
          Effect.suspend(() => (pids().length === 2 ? Effect.void : Effect.fail("no pids"))),
          Effect.fail("refused")
        )
        const child = Child.process("app", sh(`sleep 60 & echo $!; echo $$; wait`), {
          output,
          shutdown: "500 millis",
          initTimeout: "1 second",
          ready: { probe, every: "10 millis" }
        })
        const failure = yield* Effect.flip(stage.start(root(child))).pipe(
          Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))]))
        )
        assert.deepStrictEqual(failure.path, ["root", "app"])
        const error: unknown = Cause.squash(failure.cause)
        assert.instanceOf(error, Supervisor.InitTimeout)
        assert.strictEqual(pids().length, 2)
        assert.deepStrictEqual(pids().map(alive), [false, false])
        assert.include(JSON.stringify(logged), "refused")
      }).pipe(real)
    )

    withProcesses("R-114 not when it ends before it is ready, whatever its code", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = Child.process("app", sh("echo no disk >&2; exit 0"), {
          ready: { output: "up" },
          output: "ignore"
        })
        const failure = yield* Effect.flip(stage.start(root(child)))
        const error: unknown = Cause.squash(failure.cause)
        assert.instanceOf(error, Child.ProcessExited)
        assert.strictEqual(error.exitCode, 0)
        assert.isTrue(error.beforeReady)
        assert.match(failure.message, /ended with code 0 before it was ready: no disk$/)
      }).pipe(real)
    )

    const locked = join(folder, "locked")
    writeFileSync(locked, "#!/bin/sh\n", { mode: 0o600 })
    withProcesses.each([
      ["a command that is missing", ChildProcess.make(join(folder, "none")), "not-found"],
      ["a command that may not be run", ChildProcess.make(locked), "permission-denied"],
      ["a working folder that is missing", sh("exit 0", { cwd: join(folder, "none") }), "not-found"],
      ["an argument that cannot be passed", ChildProcess.make("sh", ["\0"]), "bad-argument"]
    ] as const)("R-114 not with %s: a restart would not help", ([, command, problem]) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const failure = yield* Effect.flip(stage.start(root(Child.process("app", command))))
        const error: unknown = Cause.squash(failure.cause)
        assert.instanceOf(error, Child.ProcessNotStarted)
        assert.strictEqual(error.problem, problem)
        assert.deepStrictEqual(error.path, ["root", "app"])
      }).pipe(real)
    )

    withProcesses("R-114 a command that goes missing stops the child, not the tree", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const command = join(folder, "once")
        writeFileSync(command, `#!/bin/sh\nrm "$0"; exit 3\n`, { mode: 0o700 })
        const { tree } = yield* stage.start(root(Child.process("app", ChildProcess.make(command))))
        yield* happens("the restart failed for good", () => stage.of("Failed", "app").length === 1)
        assert.isFalse(existsSync(command))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "app").state, "failed")
        assert.strictEqual((yield* tree.snapshot).state, "running")
      }).pipe(real)
    )
  })

  withProcesses("R-114 its lines are logged with the child's path, at a level by stream, long ones in parts", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const logged: Array<readonly [unknown, string, unknown]> = []
      const logger = Logger.make(({ message, logLevel, fiber }) => {
        logged.push([message, logLevel, fiber.getRef(References.CurrentLogAnnotations)])
      })
      const script = `process.stdout.write("x".repeat(16384) + "yz\\r\\nlast without an end", () => { console.error("oh") })`
      const child = Child.process("app", node(script), { restart: "on-failure" })
      yield* Effect.provide(stage.start(root(child)), Logger.layer([logger]))
      yield* happens("it ended", () => stage.of("Exited", "app").length === 1)
      const path = "root/app"
      const of = (level: string) =>
        logged.filter((entry) => entry[1] === level).map(([message, , notes]) => [message, notes])
      assert.deepStrictEqual(of("Info"), [
        [["x".repeat(16_384)], { path, stream: "stdout", cut: true }],
        [["yz"], { path, stream: "stdout" }],
        [["last without an end"], { path, stream: "stdout" }]
      ])
      assert.deepStrictEqual(of("Warn"), [[["oh"], { path, stream: "stderr" }]])
    }).pipe(real)
  )

  const command = sh("exit 0")
  it.each([
    [
      "no command",
      () => Child.process("a", "ls" as never),
      "command of a must be one command, made by ChildProcess.make, got ls"
    ],
    [
      "a pipeline",
      () => Child.process("a", ChildProcess.pipeTo(command, command) as never),
      "command of a must be one command"
    ],
    [
      "a process without a group",
      () => Child.process("a", sh("", { detached: false })),
      "detached of a must not be false"
    ],
    [
      "two grace times",
      () => Child.process("a", sh("", { forceKillAfter: 5 })),
      "forceKillAfter of a must be left to shutdown, got 5"
    ],
    [
      "an unknown readiness",
      () => Child.process("a", command, { ready: "soon" as never }),
      `ready of a must be "at-once", an output to wait for, or a probe, got soon`
    ],
    ["an empty text to wait for", () => Child.process("a", command, { ready: { output: "" } }), "ready of a must be"],
    [
      "an unknown stream",
      () => Child.process("a", command, { ready: { output: "x", from: "stdin" as never } }),
      "ready.from of a must be one of stdout, stderr, both, got stdin"
    ],
    [
      "output that nobody reads",
      () => Child.process("a", sh("", { stdout: "inherit", stderr: { stream: "ignore" } }), { ready: { output: "x" } }),
      "ready.output of a must be written to a pipe"
    ],
    [
      "a probe that is none",
      () => Child.process("a", command, { ready: { probe: true as never } }),
      "ready.probe of a must be an Effect, got true"
    ],
    [
      "a pause that is none",
      () => Child.process("a", command, { ready: { probe: Effect.void, every: 0 } }),
      "ready.every of a must be a duration > 0, got 0"
    ],
    [
      "an unknown output",
      () => Child.process("a", command, { output: "file" as never }),
      `output of a must be "log", "ignore" or a function, got file`
    ]
  ] as ReadonlyArray<readonly [string, () => unknown, string]>)("R-114 refuses %s", (_, make, message) => {
    assert.throws(make, RangeError, `Child.process: ${message}`)
  })

  it("R-114 what a process needs and fails with is inferred, also inline", () => {
    class Sink extends Context.Service<Sink, void>()("Sink") {}
    const plain = Supervisor.make("root", { children: [Child.process("a", command)] })
    const same: Supervisor.Supervisor<never, Child.ProcessFailure, ChildProcessSpawner.ChildProcessSpawner> = plain
    const rich = Child.process("b", command, {
      output: () => Effect.andThen(Sink, Effect.fail("full" as const)),
      ready: { probe: Effect.asVoid(Sink) }
    })
    const typed: Child.Child<never, Child.ProcessFailure | "full", ChildProcessSpawner.ChildProcessSpawner | Sink> =
      rich
    assert.deepStrictEqual([same.id, typed.id], ["root", "b"])
  })
})
