import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { Child, Failure, Supervisor, Tree } from "espalier"

import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const ends = {
  normal: Effect.void,
  shutdown: Effect.fail(new Failure.Shutdown({ detail: "done" })),
  error: Effect.fail("broken"),
  killed: Effect.interrupt
} as const
type End = keyof typeof ends

const all: ReadonlyArray<End> = ["normal", "shutdown", "error", "killed"]
const modes = ["any-significant", "all-significant"] as const

/** A tree of a plain child, the significant one `s`, another plain child, under that mode. */
const staged = (
  autoShutdown: Supervisor.AutoShutdown,
  significant: Child.Options<never>,
  options: Pick<Supervisor.Options<readonly []>, "strategy" | "intensity"> = {}
) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const root = Supervisor.make("root", {
      intensity: { restarts: 5, within: "1 hour" },
      children: [
        stage.child("a"),
        stage.child("s", { significant: true, ...significant }),
        stage.child("z", { restart: "on-failure" })
      ],
      ...options,
      autoShutdown
    })
    const { tree } = yield* stage.start(root)
    stage.takeLog()
    return { stage, tree, handle: yield* tree.find(["root"]) }
  })

describe("G: significant children", () => {
  it.effect.each(modes.flatMap((mode) => all.map((end) => [mode, end] as const)))(
    "C-074 under %s the %s end of a child that is not significant ends nobody",
    ([autoShutdown, end]) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          autoShutdown,
          children: [
            stage.child("s", { significant: true, restart: "on-failure" }),
            stage.child("once", { restart: "never" }),
            stage.child("on-failure", { restart: "on-failure" })
          ]
        })
        const { tree } = yield* stage.start(root)
        for (const id of ["once", "on-failure"]) {
          stage.end(id, ends[end])
          yield* until("it ended", () => stage.of("Exited", id).length === 1)
        }
        yield* quiet
        assert.strictEqual((yield* tree.snapshot).state, "running")
        assert.lengthOf(stage.of("AutoShutdown"), 0)
      })
  )

  it.effect.each(all)("C-075 a `never` child that is significant ends the supervisor with its %s end", (end) =>
    Effect.gen(function* () {
      const { stage, tree } = yield* staged("any-significant", { restart: "never" })
      stage.end("s", ends[end])
      assert.deepStrictEqual(yield* Effect.exit(tree.ended), Exit.void)
      assert.deepStrictEqual(stage.log, ["stop s", "down s", "stop z", "down z", "stop a", "down a"])
      const [exited] = stage.of("Exited", "root")
      assert.deepStrictEqual([exited?.reason._tag, exited?.ordered], ["Shutdown", false])
      assert.deepStrictEqual(
        stage.of("AutoShutdown").map(({ child, path }) => [child, path]),
        [["s", ["root"]]]
      )
      assert.lengthOf(stage.of("GaveUp"), 0)
    })
  )

  it.effect.each(["normal", "shutdown"] as const)(
    "C-076 an `on-failure` child that is significant ends the supervisor with its %s end",
    (end) =>
      Effect.gen(function* () {
        const { stage, tree } = yield* staged("any-significant", { restart: "on-failure" })
        stage.end("s", ends[end])
        yield* tree.ended
        assert.deepStrictEqual(stage.log, ["stop s", "down s", "stop z", "down z", "stop a", "down a"])
      })
  )

  it.effect.each(["error", "killed"] as const)(
    "C-076 an `on-failure` child that is significant is restarted after its %s end",
    (end) =>
      Effect.gen(function* () {
        const { stage, tree } = yield* staged("any-significant", { restart: "on-failure" })
        stage.end("s", ends[end])
        yield* until("it is up again", () => stage.log.includes("up s"))
        yield* quiet
        assert.deepStrictEqual(stage.log, ["stop s", "down s", "start s", "up s"])
        assert.strictEqual((yield* tree.snapshot).intensity?.left, 4)
      })
  )

  it.effect("C-076 a failure that no restart can help is an end", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* staged("any-significant", { restart: "on-failure" })
      stage.end("s", Effect.fail(Failure.denied("not yours")))
      yield* tree.ended
      assert.lengthOf(stage.of("Failed", "s"), 1)
      assert.lengthOf(stage.of("AutoShutdown", "root"), 1)
    })
  )

  it.effect("C-077 under all-significant the last of them ends the supervisor, and no earlier one does", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        autoShutdown: "all-significant",
        children: [
          stage.child("s1", { significant: true, restart: "on-failure" }),
          stage.child("s2", { significant: true, restart: "never" }),
          stage.child("s3", { significant: true, restart: "on-failure" }),
          stage.child("plain")
        ]
      })
      const { tree } = yield* stage.start(root)
      for (const [id, end] of [
        ["s2", "error"],
        ["s1", "normal"]
      ] as const) {
        stage.end(id, ends[end])
        yield* until(`${id} ended`, () => stage.of("Exited", id).length === 1)
        yield* quiet
        assert.strictEqual((yield* tree.snapshot).state, "running")
      }
      stage.end("s3", ends.shutdown)
      yield* tree.ended
      assert.deepStrictEqual(
        stage.of("AutoShutdown").map(({ child }) => child),
        ["s3"]
      )
    })
  )

  it.effect.each(modes)("C-078 under %s a significant child that is stopped by request ends nobody", (mode) =>
    Effect.gen(function* () {
      const { handle, stage, tree } = yield* staged(mode, { restart: "never" })
      yield* handle.stopChild("s")
      yield* quiet
      assert.strictEqual((yield* tree.snapshot).state, "running")
      assert.deepStrictEqual(stage.log, ["stop s", "down s"])
    })
  )

  it.effect.each(["one-for-all", "rest-for-one"] as const)(
    "C-078 a significant child that a %s restart takes along ends nobody",
    (strategy) =>
      Effect.gen(function* () {
        const { stage, tree } = yield* staged("any-significant", { restart: "on-failure" }, { strategy })
        stage.end("a")
        yield* until("all are up again", () => stage.log.includes("up z"))
        yield* quiet
        assert.strictEqual((yield* tree.snapshot).state, "running")
        assert.deepStrictEqual(
          (yield* tree.snapshot).children.map(({ id, incarnation }) => [id, incarnation]),
          [
            ["a", 2],
            ["s", 2],
            ["z", 2]
          ]
        )
      })
  )

  it.effect("C-079 under all-significant one that was stopped by request is gone, one that waits is not", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const significant = { significant: true, restart: "on-failure" } as const
      const root = Supervisor.make("root", {
        autoShutdown: "all-significant",
        children: [
          stage.child("stopped", significant),
          stage.child("waits", { ...significant, backoff: Schedule.spaced("10 seconds") }),
          stage.child("ends", significant)
        ]
      })
      const { tree } = yield* stage.start(root)
      yield* (yield* tree.find(["root"])).stopChild("stopped")
      stage.end("waits")
      yield* until("it waits", () => stage.of("BackingOff", "waits").length === 1)
      stage.end("ends", Effect.void)
      yield* until("it ended", () => stage.of("Exited", "ends").length === 1)
      yield* quiet
      assert.strictEqual((yield* tree.snapshot).state, "running")
      yield* TestClock.adjust("10 seconds")
      yield* until("it runs", () => stage.of("Started", "waits").length === 2)
      stage.end("waits", Effect.void)
      yield* tree.ended
      assert.lengthOf(stage.of("AutoShutdown", "root"), 1)
    })
  )

  it.effect("C-080 an auto-shutdown works with a budget of zero", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* staged(
        "any-significant",
        { restart: "on-failure" },
        { intensity: { restarts: 0, within: "1 hour" } }
      )
      stage.end("s", Effect.void)
      yield* tree.ended
      assert.deepStrictEqual(
        [stage.of("Restarting").length, stage.of("GaveUp").length, stage.of("AutoShutdown").length],
        [0, 0, 1]
      )
    })
  )

  /** A root over `inner`, which ends when its significant leaf does. */
  const nested = (
    inner: Pick<Supervisor.Options<readonly []>, "restart" | "significant">,
    root: Supervisor.AutoShutdown = "never"
  ) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const leaf = stage.child("leaf", { significant: true, restart: "on-failure" })
      const { tree } = yield* stage.start(
        Supervisor.make("root", {
          autoShutdown: root,
          intensity: { restarts: 5, within: "1 hour" },
          children: [
            stage.child("elder"),
            Supervisor.make("inner", { autoShutdown: "any-significant", ...inner, children: [leaf] })
          ]
        })
      )
      stage.end("leaf", Effect.void)
      yield* until("inner ended", () => stage.of("Exited", "inner").length === 1)
      yield* quiet
      return { stage, tree }
    })

  it.effect("C-081 a significant supervisor that shut itself down takes its parent along", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* nested({ significant: true, restart: "on-failure" }, "any-significant")
      yield* tree.ended
      assert.deepStrictEqual(
        stage.of("AutoShutdown").map(({ child, path }) => [path.join("/"), child]),
        [
          ["root/inner", "leaf"],
          ["root", "inner"]
        ]
      )
      assert.deepStrictEqual(stage.log.slice(-2), ["stop elder", "down elder"])
    })
  )

  it.effect.each([
    ["on-failure", "stopped"],
    ["never", undefined]
  ] as const)("C-081 one that is not significant is left alone: under `%s` it is %s", ([restart, state]) =>
    Effect.gen(function* () {
      const { stage, tree } = yield* nested({ restart }, "any-significant")
      const snapshot = yield* tree.snapshot
      assert.strictEqual(snapshot.state, "running")
      assert.strictEqual(snapshot.children.find(({ id }) => id === "inner")?.state, state)
      assert.deepStrictEqual([snapshot.intensity?.left, stage.of("AutoShutdown").length], [5, 1])
    })
  )

  it.effect("C-081 a significant supervisor that gave up has ended as well", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const inner = Supervisor.make("inner", {
        significant: true,
        restart: "on-failure",
        intensity: { restarts: 0 },
        children: [stage.child("leaf")]
      })
      const root = Supervisor.make("root", { autoShutdown: "all-significant", children: [inner] })
      const { tree } = yield* stage.start(root)
      stage.end("leaf")
      yield* tree.ended
      assert.deepStrictEqual([stage.of("GaveUp", "inner").length, stage.of("AutoShutdown", "root").length], [1, 1])
    })
  )

  it.effect("C-082 one that is restarted `always` comes back at once, at its parent's cost", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* nested({})
      yield* until("it is back", () => stage.of("Started", "leaf").length === 2)
      const snapshot = yield* tree.snapshot
      assert.strictEqual(snapshot.intensity?.left, 4)
      assert.strictEqual(nodeOf(snapshot, "inner", "leaf").state, "running")
    })
  )

  it("C-082 that is warned about, at any depth, and other policies are not", () => {
    const leaf = Child.effect("leaf", Effect.void, { significant: true, restart: "on-failure" })
    const inner = (restart: Child.Restart) =>
      Supervisor.make("inner", { autoShutdown: "any-significant", restart, children: [leaf] })
    const root = (child: Child.Any) =>
      Supervisor.make("root", { children: [Supervisor.make("middle", { children: [child] })] })
    assert.deepStrictEqual(Tree.check(root(inner("always"))), [
      "root/middle: inner shuts itself down and is restarted always, at the cost of a restart each time"
    ])
    assert.deepStrictEqual([...Tree.check(root(inner("on-failure"))), ...Tree.check(root(inner("never")))], [])
    // Nobody restarts a root.
    assert.deepStrictEqual(Tree.check(inner("always")), [])
  })

  it.effect("a tree whose root shuts itself down is a program that succeeds", () =>
    Effect.gen(function* () {
      const job = Child.effect("job", Effect.sleep("3 seconds"), { significant: true, restart: "on-failure" })
      const root = Supervisor.make("root", {
        autoShutdown: "any-significant",
        children: [Child.effect("helper", Effect.never), job]
      })
      const running = yield* Effect.forkChild(Supervisor.run(root, { log: false }), { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      yield* until("it ended", () => running.pollUnsafe() !== undefined)
      assert.deepStrictEqual(running.pollUnsafe(), Exit.void)
    })
  )

  it.effect("a supervisor that shut itself down can be started again, and its actors' places are kept", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* nested({ restart: "on-failure" })
      assert.strictEqual(nodeOf(yield* tree.snapshot, "inner").state, "stopped")
      yield* (yield* tree.find(["root"])).restartChild("inner")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "inner", "leaf").state, "running")
      assert.lengthOf(stage.of("Started", "leaf"), 2)
    })
  )
})
