import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Failure, Supervisor } from "espalier"

import * as exits from "../../src/internal/exit.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const ends = {
  normal: Effect.void,
  shutdown: Effect.fail(new Failure.Shutdown({})),
  "shutdown(detail)": Effect.fail(new Failure.Shutdown({ detail: "moved" })),
  "typed error": Effect.fail("broken"),
  defect: Effect.die(new Error("bug")),
  killed: Effect.interrupt
} as const
type End = keyof typeof ends
const clean: ReadonlyArray<End> = ["normal", "shutdown", "shutdown(detail)"]
const unclean: ReadonlyArray<End> = ["typed error", "defect", "killed"]

/** A tree with one child of that policy which ended in that way; how it stands, and what was spent. */
const after = (restart: Child.Restart, end: End, intensity = { restarts: 5, within: "1 hour" } as const) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const root = Supervisor.make("root", { intensity, children: [stage.child("a", { restart }), stage.child("b")] })
    const { tree } = yield* stage.start(root)
    stage.takeLog()
    stage.end("a", ends[end])
    yield* until("it ended", () => stage.of("Exited", "a").length === 1)
    yield* quiet
    const snapshot = yield* tree.snapshot
    const child = snapshot.children.find(({ id }) => id === "a")
    return {
      stage,
      tree,
      state: child?.state,
      spent: 5 - snapshot.intensity!.left,
      starts: stage.log.filter((line) => line === "start a").length
    }
  })

describe("C: restart types", () => {
  it.effect.each(clean)("C-023 R-103 `always` restarts after %s, for one unit", (end) =>
    Effect.gen(function* () {
      const { spent, starts, state } = yield* after("always", end)
      assert.deepStrictEqual([state, spent, starts], ["running", 1, 1])
    })
  )

  it.effect.each(unclean)("C-024 R-103 `always` restarts after %s, for one unit", (end) =>
    Effect.gen(function* () {
      const { spent, starts, state } = yield* after("always", end)
      assert.deepStrictEqual([state, spent, starts], ["running", 1, 1])
    })
  )

  it.effect.each(clean)(
    "C-025 R-103 `on-failure` leaves a child stopped after %s, for nothing, and it can be started again",
    (end) =>
      Effect.gen(function* () {
        const { spent, starts, state, tree } = yield* after("on-failure", end)
        assert.deepStrictEqual([state, spent, starts], ["stopped", 0, 0])
        yield* (yield* tree.find(["root"])).restartChild("a")
        assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
      })
  )

  it.effect.each(unclean)("C-026 R-103 `on-failure` restarts after %s, for one unit", (end) =>
    Effect.gen(function* () {
      const { spent, starts, state } = yield* after("on-failure", end)
      assert.deepStrictEqual([state, spent, starts], ["running", 1, 1])
    })
  )

  it.effect.each([...clean, ...unclean])(
    "C-027 R-103 `never` is forgotten after %s, for nothing, and its id is free",
    (end) =>
      Effect.gen(function* () {
        const { spent, stage, starts, state, tree } = yield* after("never", end)
        assert.deepStrictEqual([state, spent, starts], [undefined, 0, 0])
        assert.strictEqual(stage.of("Removed", "a").length, 1)
        yield* (yield* tree.find(["root"])).startChild(stage.child("a"))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
      })
  )

  it.effect("C-027 fifty crashes of `never` children leave a supervisor without budget alive", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(Supervisor.make("root", { intensity: { restarts: 0 }, children: [] }))
      const handle = yield* tree.find(["root"])
      for (let i = 0; i < 50; i++) {
        yield* handle.startChild(stage.child("a", { restart: "never" }))
        stage.end("a")
        yield* until("it is gone", () => stage.of("Removed").length === i + 1)
      }
      assert.strictEqual((yield* tree.snapshot).state, "running")
    })
  )

  it("C-028 only the library's Shutdown is a clean failure", () => {
    const tag = (error: unknown) => exits.reasonOf(Exit.fail(error), false)._tag
    assert.strictEqual(tag(new Failure.Shutdown({})), "Shutdown")
    assert.strictEqual(tag({ _tag: "Shutdown" }), "Error")
    assert.strictEqual(tag(new Error("Shutdown")), "Error")
    const mixed = Cause.combine(Cause.fail(new Failure.Shutdown({})), Cause.die("and more"))
    assert.strictEqual(exits.reasonOf(Exit.failCause(mixed), false)._tag, "Error")
  })

  it.effect("C-028 what Shutdown says is in the exit's reason", () =>
    Effect.gen(function* () {
      const { stage } = yield* after("on-failure", "shutdown(detail)")
      const [exited] = stage.of("Exited", "a")
      assert.deepStrictEqual(exited?.reason, { _tag: "Shutdown", cause: undefined, detail: "moved" })
    })
  )

  it.effect.each(["succeeds", "fails", "dies"] as const)(
    "C-029 an ordered stop is no exit event, even if the child %s on the way down",
    (how) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const last = how === "succeeds" ? Effect.void : how === "fails" ? Effect.fail("late") : Effect.die("late")
        const child = Child.effect("a", Effect.never.pipe(Effect.onInterrupt(() => Effect.orDie(last))))
        const { tree } = yield* stage.start(Supervisor.make("root", { intensity: { restarts: 0 }, children: [child] }))
        yield* (yield* tree.find(["root"])).stopChild("a")
        yield* quiet
        const snapshot = yield* tree.snapshot
        assert.strictEqual(nodeOf(snapshot, "a").state, "stopped")
        assert.strictEqual(snapshot.state, "running")
        const [exited] = stage.of("Exited", "a")
        assert.deepStrictEqual([exited?.ordered, exited?.reason._tag], [true, "Shutdown"])
      })
  )

  it.effect.each([
    ["success, then a finalizer that dies", Effect.void, 1],
    ["a typed failure, then a finalizer that dies", Effect.fail("first"), 2]
  ] as const)("C-030 %s is an unclean end, with the whole cause", ([, run, reasons]) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const child = Child.make(
        "a",
        Effect.as(
          Effect.addFinalizer(() => Effect.die("finalizer")),
          run
        ),
        { restart: "on-failure" }
      )
      const root = Supervisor.make("root", { intensity: { restarts: 1 }, children: [child] })
      const { tree } = yield* stage.start(root)
      yield* Effect.exit(tree.ended)
      const [exited] = stage.of("Exited", "a")
      assert.strictEqual(exited?.reason._tag, "Error")
      const { cause } = exited!.reason as { readonly cause: Cause.Cause<unknown> }
      assert.strictEqual(cause.reasons.length, reasons)
      assert.isTrue(Cause.hasDies(cause))
      assert.strictEqual(Cause.hasFails(cause), reasons === 2)
      assert.isAbove(stage.of("Restarting").length, 0)
    })
  )

  it.effect("C-031 a restart runs the original init in its old place, behind the same reference", () =>
    Effect.gen(function* () {
      class Counter extends Actor.Service<Counter>()("Counter", [
        Rpc.make("Next", { success: Schema.Number }),
        Rpc.make("Crash")
      ]) {}
      const stage = new Stage()
      const counter = Counter.child(
        Effect.sync(() => {
          let count = 0
          return Counter.handlers({ Next: () => ++count, Crash: () => Effect.die("crash") })
        })
      )
      const root = Supervisor.make("root", { children: [stage.child("a"), counter, stage.child("b")] })
      const { context, tree } = yield* stage.start(root)
      const ref = Context.get(context, Counter)
      assert.deepStrictEqual([yield* ref.Next(), yield* ref.Next()], [1, 2])
      yield* Effect.exit(ref.Crash())
      assert.strictEqual(yield* ref.Next(), 1)
      const snapshot = yield* tree.snapshot
      assert.deepStrictEqual(
        snapshot.children.map(({ id, incarnation }) => [id, incarnation]),
        [
          ["a", 1],
          ["Counter", 2],
          ["b", 1]
        ]
      )
    })
  )

  it.effect.each(["one-for-all", "rest-for-one"] as const)(
    "C-032 under %s a clean end or a forgotten crash touches no sibling",
    (strategy) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          strategy,
          children: [
            stage.child("done", { restart: "on-failure" }),
            stage.child("gone", { restart: "never" }),
            stage.child("c")
          ]
        })
        const { tree } = yield* stage.start(root)
        stage.takeLog()
        stage.end("done", Effect.void)
        stage.end("gone")
        yield* until("both ended", () => stage.of("Exited").length === 2)
        yield* quiet
        assert.deepStrictEqual(
          stage.log.filter((line) => line.startsWith("start")),
          []
        )
        assert.strictEqual(nodeOf(yield* tree.snapshot, "c").incarnation, 1)
      })
  )
})

describe("directives", () => {
  class Passing extends Schema.TaggedError<Passing>()("Passing", {}) {
    readonly [Failure.kind] = "transient"
  }

  it.each(Failure.kinds)("R-106 has a default directive for %s", (kind) => {
    const stops = ["capability", "oversized", "denied", "exhausted"]
    assert.strictEqual(exits.defaultDirective(kind), stops.includes(kind) ? "stop" : "restart")
    assert.strictEqual(exits.defaultDirective(undefined), "restart")
  })

  it("R-106 decides by the order of rules: stop, clean end, directive, policy; `never` never restarts", () => {
    const table: Array<readonly [string, string, string, string]> = []
    for (const reason of ["Normal", "Shutdown", "GaveUp", "Error", "Killed"] as const) {
      for (const restart of ["always", "on-failure", "never"] as const) {
        for (const directive of ["restart", "stop", "escalate"] as const) {
          table.push([reason, restart, directive, exits.verdictOf(reason, restart, directive)])
        }
      }
    }
    for (const [reason, restart, directive, verdict] of table) {
      if (reason === "Normal" || reason === "Shutdown") {
        assert.strictEqual(verdict, { always: "restart", "on-failure": "stop", never: "forget" }[restart])
      } else if (reason === "GaveUp") {
        assert.strictEqual(verdict, { always: "restart", "on-failure": "gave-up", never: "forget" }[restart])
      } else if (directive === "escalate") assert.strictEqual(verdict, "escalate")
      else if (restart === "never") assert.strictEqual(verdict, "forget")
      else assert.strictEqual(verdict, directive === "stop" ? "fail" : "restart")
    }
    assert.strictEqual(table.length, 45)
  })

  const withDirective = (
    onFailure: ((error: string) => Child.Directive) | undefined,
    end: Effect.Effect<unknown, string>
  ) =>
    Effect.gen(function* () {
      const stage = new Stage()
      let starts = 0
      const child = Child.make(
        "a",
        Effect.sync(() => (++starts === 1 ? end : Effect.never)),
        { onFailure }
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child, stage.child("b")] }))
      yield* until("it ended", () => stage.of("Exited", "a").length === 1)
      yield* quiet
      return { stage, starts, tree, state: nodeOf(yield* tree.snapshot, "a").state }
    })

  it.effect("R-106 onFailure stops a child, and the failure is an event", () =>
    Effect.gen(function* () {
      const { stage, state } = yield* withDirective(
        (error) => (error === "no paper" ? "stop" : "restart"),
        Effect.fail("no paper")
      )
      assert.strictEqual(state, "failed")
      assert.strictEqual(stage.of("Failed", "a").length, 1)
    })
  )

  it.effect("R-106 onFailure escalates: the supervisor gives up with this cause", () =>
    Effect.gen(function* () {
      const { tree } = yield* withDirective(() => "escalate", Effect.fail("fire"))
      const gaveUp = yield* Effect.flip(tree.ended)
      assert.deepStrictEqual(gaveUp.path, ["root", "a"])
      assert.deepStrictEqual(gaveUp.cause, Cause.fail("fire"))
    })
  )

  it.effect("R-106 onFailure is not asked about defects or interruption", () =>
    Effect.gen(function* () {
      for (const end of [Effect.die("bug"), Effect.interrupt, Effect.die("bug").pipe(Effect.ensuring(Effect.void))]) {
        const { starts, state } = yield* withDirective(() => "escalate", end)
        assert.deepStrictEqual([state, starts], ["running", 2])
      }
    })
  )

  it.effect("R-106 an onFailure that throws counts as a restart", () =>
    Effect.gen(function* () {
      const { starts, state } = yield* withDirective(() => {
        throw new Error("no opinion")
      }, Effect.fail("x"))
      assert.deepStrictEqual([state, starts], ["running", 2])
    })
  )

  it.effect("R-106 a marked defect is read by its kind: a lost neighbour is not a bug", () =>
    Effect.gen(function* () {
      const { state } = yield* withDirective(undefined, Effect.die(new Passing()))
      assert.strictEqual(state, "backing-off")
    })
  )

  it.effect.each(Failure.kinds)("R-106 a child that fails with %s does what the table says", (kind) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const child = Child.effect("a", Effect.fail(new Failure.Failure({ kind, reason: "so" })))
      const { tree } = yield* stage.start(
        Supervisor.make("root", { intensity: { restarts: 100 }, children: [Child.hide(child), stage.child("b")] })
      )
      yield* until("it ended", () => stage.of("Exited", "a").length > 0)
      const expected = { transient: "backing-off", malformed: "Restarting" }[kind as string] ?? "failed"
      if (expected === "Restarting") yield* until("it restarts", () => stage.of("Restarting", "a").length > 0)
      else {
        yield* until("it settles", () => stage.of(expected === "failed" ? "Failed" : "BackingOff", "a").length > 0)
        yield* quiet
        assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, expected)
      }
      const fiber = yield* Effect.forkChild(tree.stop, { startImmediately: true })
      yield* Fiber.join(fiber)
    })
  )
})
