/**
 * Real threads: how they start, get ready, end, are stopped or terminated, and what they are told and tell.
 *
 * Every test with a thread runs in real time: a thread knows no test clock. They wait for events.
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, DateTime, Effect, Queue, Schema, Stream } from "effect"
import { type Child, Supervisor, type Tree } from "espalier"

import * as ThreadChild from "../src/ThreadChild.ts"
import { happens } from "./fixtures/live.ts"
import { withThreads } from "./fixtures/real.ts"
import { nodeOf, quiet, Stage } from "./fixtures/stage.ts"

const entry = new URL("./fixtures/thread.ts", import.meta.url)

const root = <E, R>(child: Child.Child<never, E, R>) => Supervisor.make("root", { children: [child] })

const errorIn = (reason: Tree.ExitReason | undefined): unknown =>
  reason !== undefined && "cause" in reason && reason.cause !== undefined ? Cause.squash(reason.cause) : undefined

/** What a thread writes and sends. */
const listener = () => {
  const lines: Array<string> = []
  const messages: Array<unknown> = []
  return {
    lines,
    messages,
    output: (line: string, from: "stdout" | "stderr") => Effect.sync(() => void lines.push(`${from} ${line}`)),
    receive: ThreadChild.receive(Schema.Unknown, (message) => Effect.sync(() => void messages.push(message)))
  }
}

describe("ThreadChild.make", () => {
  describe("stops", () => {
    withThreads("R-114 a thread that is asked, and takes what it says on the way down", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { lines, messages, output, receive } = listener()
        const child = ThreadChild.make("worker", entry, { argv: ["polite"], ready: "message", output, receive })
        const { tree } = yield* stage.start(root(child))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "worker").kind, "thread")
        const { leaked } = yield* tree.stop
        assert.deepStrictEqual(leaked, [])
        assert.deepStrictEqual(lines, ["stdout bye"])
        assert.deepStrictEqual(messages, ["last words"])
        assert.deepStrictEqual(stage.of("Exited", "worker")[0]!.reason, { _tag: "Shutdown", cause: undefined })
      })
    )

    withThreads.each(["busy", "stubborn"])("R-114 a %s thread is terminated at the grace time, and is gone", (part) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { argv: [part], ready: "message", shutdown: "200 millis" })
        const { tree } = yield* stage.start(root(child))
        const { leaked } = yield* tree.stop
        assert.deepStrictEqual(leaked, [])
        assert.strictEqual(stage.of("Leaked").length, 0)
        const exited = stage.of("Exited", "worker")[0]!
        assert.isTrue(exited.ordered)
        const terminated = errorIn(exited.reason)
        assert.instanceOf(terminated, ThreadChild.ThreadTerminated)
        assert.strictEqual(terminated.afterMillis, 200)
        assert.isAtLeast(exited.at - stage.of("Stopping", "worker")[0]!.at, 195)
      })
    )

    withThreads.each([0, "abandon"] as const)("R-114 a thread at once when shutdown is %s", (shutdown) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { lines, output } = listener()
        const child = ThreadChild.make("worker", entry, { argv: ["polite"], ready: "message", output, shutdown })
        const { tree } = yield* stage.start(root(child))
        yield* tree.stop
        yield* happens("nothing is left", () => stage.of("LeakEnded").length === stage.of("Leaked").length)
        assert.strictEqual(stage.of("Leaked").length, shutdown === "abandon" ? 1 : 0)
        assert.strictEqual(stage.of("Exited", "worker")[0]!.reason._tag, shutdown === "abandon" ? "Killed" : "Shutdown")
        assert.deepStrictEqual(lines, [])
      })
    )

    withThreads("R-114 a thread whose way down crashes: the stop succeeds", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { argv: ["throws in its stop"], ready: "message" })
        const { tree } = yield* stage.start(root(child))
        yield* tree.stop
        const { reason } = stage.of("Exited", "worker")[0]!
        assert.strictEqual(reason._tag, "Shutdown")
        const error = errorIn(reason)
        assert.instanceOf(error, ThreadChild.ThreadCrashed)
        assert.strictEqual(error.error, "no way out")
      })
    )
  })

  describe("ends", () => {
    withThreads("R-114 when it throws: with message and stack, and is restarted", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { argv: ["throws"] })
        yield* stage.start(
          Supervisor.make("root", { intensity: { restarts: 1, within: "1 minute" }, children: [child] })
        )
        yield* happens("the root gave up", () => stage.of("GaveUp", "root").length === 1)
        assert.strictEqual(stage.of("Starting", "worker").length, 2)
        const error = errorIn(stage.of("Exited", "worker")[0]!.reason)
        assert.instanceOf(error, ThreadChild.ThreadCrashed)
        assert.deepStrictEqual([error.name, error.error], ["TypeError", "it is no order"])
        assert.include(error.threadStack, "thread.ts")
        assert.strictEqual(error.message, "root/worker: the thread threw TypeError: it is no order")
      })
    )

    withThreads("R-114 when what it throws is no error", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { argv: ["throws a text"], onFailure: () => "stop" })
        yield* stage.start(root(child))
        yield* happens("it failed", () => stage.of("Failed", "worker").length === 1)
        const error = errorIn(stage.of("Exited", "worker")[0]!.reason)
        assert.instanceOf(error, ThreadChild.ThreadCrashed)
        assert.deepStrictEqual([error.name, error.error, error.threadStack], ["string", "just a text", undefined])
      })
    )

    withThreads("R-114 when it has no memory left: only the thread, and it is restarted", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let count = 0
        const child = ThreadChild.make("worker", entry, {
          argv: ["memory"],
          output: "ignore",
          resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
          onFailure: (error) => (error._tag === "ThreadOutOfMemory" && ++count < 2 ? "restart" : "stop")
        })
        yield* stage.start(root(child))
        yield* happens("it failed twice", () => stage.of("Failed", "worker").length === 1)
        assert.strictEqual(count, 2)
        assert.strictEqual(stage.of("Restarting", "worker").length, 1)
        assert.instanceOf(errorIn(stage.of("Exited", "worker")[0]!.reason), ThreadChild.ThreadOutOfMemory)
      })
    )

    withThreads("R-114 with a code that is not 0: a typed error with its last lines", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { argv: ["exits"], output: "ignore", onFailure: () => "stop" })
        yield* stage.start(root(child))
        yield* happens("it failed", () => stage.of("Failed", "worker").length === 1)
        const error = errorIn(stage.of("Exited", "worker")[0]!.reason)
        assert.instanceOf(error, ThreadChild.ThreadExited)
        assert.strictEqual(error.exitCode, 3)
        assert.deepStrictEqual(error.stderrTail, ["no more orders"])
      })
    )

    withThreads("R-114 with code 0 or when only the stop is waited for: a clean end", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const make = (part: string) => ThreadChild.make(part, entry, { argv: [part], restart: "on-failure" })
        yield* stage.start(Supervisor.make("root", { children: [make("done"), make("idle")] }))
        yield* happens("both have ended", () => stage.of("Exited").length === 2)
        for (const { reason } of stage.of("Exited")) assert.deepStrictEqual(reason, { _tag: "Normal" })
      })
    )
  })

  describe("starts", () => {
    withThreads("R-114 not without its entry, nor without what that needs: the child stops", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const missing = ThreadChild.make("missing", new URL("./fixtures/none.ts", import.meta.url))
        const lacking = ThreadChild.make("lacking", entry, { argv: ["misses a module"] })
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [missing, lacking] }))
        yield* happens("both failed", () => stage.of("Failed").length === 2)
        for (const id of ["missing", "lacking"]) {
          const error = errorIn(stage.of("Exited", id)[0]!.reason)
          assert.instanceOf(error, ThreadChild.ThreadNotStarted)
          assert.strictEqual(error.problem, "not-found")
          assert.strictEqual(nodeOf(yield* tree.snapshot, id).state, "failed")
        }
      })
    )

    withThreads("R-114 not when its data cannot be cloned", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { workerData: () => {} })
        const failure = yield* Effect.flip(stage.start(root(child)))
        const error: unknown = Cause.squash(failure.cause)
        assert.instanceOf(error, ThreadChild.ThreadNotStarted)
        assert.strictEqual(error.problem, "bad-argument")
      })
    )

    withThreads.each([
      ["done", ThreadChild.ThreadExited, /ended with code 0 before it was ready$/],
      ["throws", ThreadChild.ThreadCrashed, /it is no order$/]
    ] as const)("R-114 not when it ends before its first message (%s)", ([part, type, message]) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, { argv: [part], ready: "message" })
        const failure = yield* Effect.flip(stage.start(root(child)))
        assert.isTrue((Cause.squash(failure.cause) as unknown) instanceof type)
        assert.match(failure.message, message)
      })
    )

    withThreads("R-114 or not in time: InitTimeout, and no thread is left", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = ThreadChild.make("worker", entry, {
          argv: ["writes"],
          execArgv: ["--import", "data:text/javascript,for(;;);"],
          ready: "message",
          initTimeout: "100 millis",
          shutdown: "50 millis"
        })
        const failure = yield* Effect.flip(stage.start(root(child)))
        assert.instanceOf(Cause.squash(failure.cause) as unknown, Supervisor.InitTimeout)
        assert.strictEqual(stage.of("Leaked").length, 0)
      })
    )
  })

  describe("messages", () => {
    withThreads("R-114 go both ways through their schemas, in order, over restarts", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const numbers = yield* Queue.unbounded<DateTime.Utc>()
        const doubled: Array<number> = []
        const Millis = Schema.DateTimeUtcFromMillis
        const child = ThreadChild.make("worker", entry, {
          argv: ["doubles"],
          send: ThreadChild.send(Millis, Stream.fromQueue(numbers)),
          receive: ThreadChild.receive(Millis, (date) => Effect.sync(() => void doubled.push(date.epochMilliseconds)))
        })
        yield* stage.start(root(child))
        yield* Queue.offerAll(
          numbers,
          [1, 2, 3].map((millis) => DateTime.makeUnsafe(millis))
        )
        yield* happens("they are doubled", () => doubled.length === 3)
        yield* Queue.offer(numbers, DateTime.makeUnsafe(13))
        yield* happens("it was restarted", () => stage.of("Started", "worker").length === 2)
        yield* Queue.offer(numbers, DateTime.makeUnsafe(4))
        yield* happens("the next is doubled too", () => doubled.length === 4)
        assert.deepStrictEqual(doubled, [2, 4, 6, 8])
      })
    )

    withThreads("R-114 wait until the thread has done with the ones before", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let taken = 0
        const { messages, receive } = listener()
        const endless = Stream.tap(Stream.range(1, 1000), () => Effect.sync(() => (taken += 1)))
        const child = ThreadChild.make("worker", entry, {
          argv: ["doubles"],
          receive,
          send: ThreadChild.send(
            Schema.Int,
            Stream.map(endless, (n) => -n),
            { window: 3 }
          )
        })
        const { tree } = yield* stage.start(root(child))
        yield* happens("three are under way", () => messages.length === 3)
        yield* quiet
        assert.deepStrictEqual(messages, [-2, -4, -6])
        assert.strictEqual(taken, 4)
        yield* tree.stop
      })
    )

    withThreads("R-114 wait for a thread that listens late", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { messages, receive } = listener()
        const send = ThreadChild.send(Schema.Int, Stream.make(1, 2, 3))
        yield* stage.start(root(ThreadChild.make("worker", entry, { argv: ["late"], receive, send })))
        yield* happens("all came", () => messages.length === 3)
        assert.deepStrictEqual(messages, [1, 2, 3])
      })
    )

    withThreads("R-114 that are not what was agreed on fail the child, in either direction", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const stop = { onFailure: () => "stop" as const }
        const receive = ThreadChild.receive(Schema.Int, () => Effect.void)
        const send = ThreadChild.send(
          Schema.Unknown,
          Stream.make(() => {})
        )
        const odd = ThreadChild.send(Schema.Int, Stream.make(1.5))
        yield* stage.start(
          Supervisor.make("root", {
            children: [
              ThreadChild.make("text", entry, { argv: ["sends"], workerData: ["text"], receive, ...stop }),
              ThreadChild.make("raw", entry, { argv: ["raw"], receive, shutdown: "20 millis", ...stop }),
              ThreadChild.make("function", entry, { argv: ["doubles"], send, ...stop }),
              ThreadChild.make("odd", entry, { argv: ["doubles"], send: odd, ...stop })
            ]
          })
        )
        yield* happens("all failed", () => stage.of("Failed").length === 4)
        const told = ["text", "raw", "function", "odd"].map((id) => {
          const error = errorIn(stage.of("Exited", id)[0]!.reason)
          assert.instanceOf(error, ThreadChild.ThreadMessageInvalid)
          return error.direction
        })
        assert.deepStrictEqual(told, ["from", "from", "to", "to"])
      })
    )

    withThreads("R-114 beyond the capacity are dropped, each with an event, as are those that nobody receives", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { messages } = listener()
        const slow = ThreadChild.receive(
          Schema.Int,
          (n) =>
            Effect.andThen(
              Effect.sync(() => messages.push(n)),
              n === 0 ? Effect.never : Effect.void
            ),
          { capacity: 2 }
        )
        const workerData = Array.from({ length: 10 }, (_, n) => n)
        const child = ThreadChild.make("slow", entry, { argv: ["sends"], workerData, receive: slow })
        const deaf = ThreadChild.make("deaf", entry, { argv: ["sends"], workerData: [1] })
        yield* stage.start(Supervisor.make("root", { children: [child, deaf] }))
        yield* happens("most are dropped", () => stage.of("DeadLetter", "slow").length >= 7)
        yield* happens("the one is dropped", () => stage.of("DeadLetter", "deaf").length === 1)
        assert.isAtMost(stage.of("DeadLetter", "slow").length, 8)
        assert.deepStrictEqual([...new Set(stage.of("DeadLetter").map(({ reason }) => reason))], ["dropped-new"])
      })
    )

    withThreads("R-114 a handler or a stream that fails, fails the child with its type", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const receive = ThreadChild.receive(Schema.Int, () => Effect.fail("full" as const))
        const send = ThreadChild.send(Schema.Int, Stream.fail("dry" as const))
        const seen: Array<unknown> = []
        const first = ThreadChild.make("first", entry, {
          argv: ["sends"],
          workerData: [1],
          receive,
          onFailure: (error) => {
            seen.push(error)
            return error === "full" ? "stop" : "restart"
          }
        })
        const second = ThreadChild.make("second", entry, {
          argv: ["doubles"],
          send,
          onFailure: (error) => {
            seen.push(error)
            return error === "dry" ? "stop" : "restart"
          }
        })
        yield* stage.start(Supervisor.make("root", { children: [first, second] }))
        yield* happens("both failed", () => stage.of("Failed").length === 2)
        assert.deepStrictEqual(seen.toSorted(), ["dry", "full"])
      })
    )
  })

  withThreads("R-114 its lines go where they should, and it gets its own environment", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { lines, output } = listener()
      const child = ThreadChild.make("worker", entry, {
        argv: ["writes"],
        output,
        env: { MOOD: "fine" },
        restart: "never"
      })
      yield* stage.start(root(child))
      yield* happens("it ended", () => stage.of("Exited", "worker").length === 1)
      assert.deepStrictEqual(lines.toSorted(), ["stderr fine", "stdout one", "stdout two"])
    })
  )

  const file = new URL("file:///a.js")
  it.each([
    [
      "no entry",
      () => ThreadChild.make("a", "" as never),
      "ThreadChild.make: entry of a must be a file: or data: URL or a path, got "
    ],
    [
      "an entry elsewhere",
      () => ThreadChild.make("a", new URL("https://a.b/c")),
      "ThreadChild.make: entry of a must be a file: or data: URL or a path, got "
    ],
    [
      "an unknown readiness",
      () => ThreadChild.make("a", file, { ready: "soon" as never }),
      `ThreadChild.make: ready of a must be "online" or "message", got soon`
    ],
    [
      "a function as receive",
      () => ThreadChild.make("a", file, { receive: (() => {}) as never }),
      "ThreadChild.make: receive of a must be made by ThreadChild.receive, got "
    ],
    [
      "a stream as send",
      () => ThreadChild.make("a", file, { send: Stream.empty as never }),
      "ThreadChild.make: send of a must be made by ThreadChild.send, got "
    ],
    [
      "an unknown output",
      () => ThreadChild.make("a", file, { output: "file" as never }),
      "ThreadChild.make: output of a must be "
    ],
    [
      "no schema",
      () => ThreadChild.receive(1 as never, () => Effect.void),
      "ThreadChild.receive: schema must be a Schema, got 1"
    ],
    [
      "no handler",
      () => ThreadChild.receive(Schema.Int, 1 as never),
      "ThreadChild.receive: handle must be a function, got 1"
    ],
    [
      "no room",
      () => ThreadChild.receive(Schema.Int, () => Effect.void, { capacity: 0 }),
      "ThreadChild.receive: capacity must be a whole number >= 1, got 0"
    ],
    [
      "no schema to send",
      () => ThreadChild.send(1 as never, Stream.empty),
      "ThreadChild.send: schema must be a Schema, got 1"
    ],
    ["no stream", () => ThreadChild.send(Schema.Int, 1 as never), "ThreadChild.send: messages must be a Stream, got 1"],
    [
      "half a window",
      () => ThreadChild.send(Schema.Int, Stream.empty, { window: 0.5 }),
      "ThreadChild.send: window must be a whole number >= 1, got 0.5"
    ]
  ] as ReadonlyArray<readonly [string, () => unknown, string]>)("R-114 refuses %s", (_, make, message) => {
    assert.throws(make, RangeError, message)
  })

  it("R-114 what a thread needs and fails with is inferred, also inline", () => {
    class Store extends Context.Service<Store, void>()("Store") {}
    const plain = Supervisor.make("root", { children: [ThreadChild.make("a", file)] })
    const same: Supervisor.Supervisor<never, ThreadChild.ThreadFailure, never> = plain
    const rich = Supervisor.make("root", {
      children: [
        ThreadChild.make("b", file, {
          receive: ThreadChild.receive(Schema.Int, (n) => Effect.andThen(Store, Effect.fail(`full at ${n}` as const))),
          output: (line) => Effect.fail({ line })
        })
      ]
    })
    const typed: Supervisor.Supervisor<
      never,
      ThreadChild.ThreadFailure | `full at ${number}` | { line: string },
      Store
    > = rich
    assert.deepStrictEqual([same.id, typed.id], ["root", "root"])
  })
})
