/** Mistakes that other runtimes shipped about starting, restarting and budgets; each is shown not to be made here. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Failure, Supervisor, Tree } from "espalier"

import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const plenty = { restarts: 1_000_000, within: "1 hour" } as const

/** A resource that only one may hold, as a port is. */
class Lock {
  held = false
  readonly take = Effect.acquireRelease(
    Effect.suspend(() => {
      if (this.held) return Effect.fail("taken" as const)
      this.held = true
      return Effect.void
    }),
    () =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => (this.held = false))
      )
  )
}

describe("mistakes about starts", () => {
  it.effect("a failed start has let go of everything when its starter hears of it", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const lock = new Lock()
      let broken = true
      const holder = () =>
        Child.make(
          "holder",
          Effect.andThen(
            lock.take,
            Effect.suspend(() => (broken ? Effect.fail("broken" as const) : Effect.succeed(Effect.never)))
          )
        )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [] }))
      const root = yield* tree.find(["root"])
      const failure = yield* Effect.flip(root.startChild(holder()))
      assert(failure._tag === "StartFailure")
      assert.deepStrictEqual(failure.cause, Cause.fail("broken"))
      broken = false
      yield* root.startChild(holder()) // in the same tick
      assert.isTrue(lock.held)
    })
  )

  it.effect("a stop that was answered has freed the name: ten thousand stops and starts in a row", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const lock = new Lock()
      const holder = Child.make("holder", Effect.as(lock.take, Effect.never))
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [holder] }))
      const root = yield* tree.find(["root"])
      for (let i = 0; i < 10_000; i++) {
        yield* root.stopChild("holder")
        yield* root.restartChild("holder")
      }
      assert.strictEqual(nodeOf(yield* tree.snapshot, "holder").incarnation, 10_001)
    })
  )

  it.effect("a child that is dead before anybody looks is restarted until its supervisor gives up", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const dead = Child.effect("dead", Effect.die("at once"))
      const root = Supervisor.make("root", { intensity: { restarts: 5, within: "1 hour" }, children: [dead] })
      const exit = yield* Effect.exit(
        Supervisor.run(root, { log: false, onEvent: (event) => stage.events.push(event) })
      )
      assert(Exit.isFailure(exit))
      assert.strictEqual(stage.of("Starting", "dead").length, 6)
      assert.strictEqual(stage.of("Exited", "dead").length, 6)
    })
  )

  it.effect("a start that fails in a restart is tried again within the budget, and the supervisor stays", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let failures = 0
      const root = Supervisor.make("root", {
        intensity: { restarts: 4, within: "1 hour" },
        children: [
          stage.child("weak", {
            init: Effect.suspend(() => {
              if (failures === 0) return Effect.void
              failures -= 1
              return Effect.die("not yet")
            })
          }),
          stage.child("sibling")
        ]
      })
      const { tree } = yield* stage.start(root)
      failures = 3
      stage.end("weak")
      yield* until("it is up again", () => stage.of("Started", "weak").length === 2)
      const snapshot = yield* tree.snapshot
      assert.strictEqual(nodeOf(snapshot, "sibling").incarnation, 1)
      assert.strictEqual(snapshot.intensity?.left, 0)
    })
  )

  it.effect("a start that fails over and over lets the others work between its attempts", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let broken = false
      let progress = 0
      let seen = 0
      const root = Supervisor.make("root", {
        intensity: { restarts: 1_000, within: "1 hour" },
        children: [
          stage.child("failing", {
            init: Effect.suspend(() => {
              if (!broken) return Effect.void
              seen = Math.max(seen, progress)
              return Effect.die("broken")
            })
          }),
          Child.effect(
            "worker",
            Effect.forever(
              Effect.andThen(
                Effect.sync(() => (progress += broken ? 1 : 0)),
                Effect.yieldNow
              )
            )
          )
        ]
      })
      const { tree } = yield* stage.start(root)
      broken = true
      stage.end("failing")
      yield* Effect.exit(tree.ended)
      // Without a turn in between, the worker would have made no step until the last attempt.
      assert.isAbove(seen, 100)
    })
  )

  it.effect("what init forks belongs to the incarnation: the next one finds its names free", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const lock = new Lock()
      const helper = Effect.scoped(Effect.andThen(lock.take, Effect.never))
      const parent = Child.make(
        "parent",
        Effect.gen(function* () {
          const forked = yield* Effect.forkScoped(helper, { startImmediately: true })
          if (forked.pollUnsafe() !== undefined) return yield* Effect.fail("the helper of before still lives" as const)
          return yield* Effect.succeed(Effect.andThen(Effect.yieldNow, Effect.die("boom")))
        }),
        { restart: "on-failure" }
      )
      const root = Supervisor.make("root", { intensity: { restarts: 20, within: "1 hour" }, children: [parent] })
      const { tree } = yield* stage.start(root)
      yield* Effect.exit(tree.ended)
      assert.strictEqual(stage.of("Exited", "parent").length, 21)
      assert.deepStrictEqual(stage.of("StartFailed"), [])
      assert.isFalse(lock.held)
    })
  )
})

describe("mistakes about budgets", () => {
  /** Crashes a child until the tree ends or `times` is reached; tells how often it could. */
  const crashes = (intensity: Supervisor.Options<[]>["intensity"], times: number, every: number) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(Supervisor.make("root", { intensity, children: [stage.child("a")] }))
      let count = 0
      while (count < times) {
        count += 1
        stage.end("a")
        yield* until("it is decided", () => stage.of("Started", "a").length > count || stage.of("GaveUp").length > 0)
        if (stage.of("GaveUp").length > 0) return count
        yield* TestClock.adjust(every)
      }
      yield* quiet
      assert.strictEqual((yield* tree.snapshot).state, "running")
      return Number.POSITIVE_INFINITY
    })

  it.effect("the budget is obeyed: the crash after the last unit ends the supervisor", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* crashes({ restarts: 4, within: "1 hour" }, 100, 0), 5)
    })
  )

  it.effect("failures leave the window one by one, also when the last is always recent", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", { intensity: { restarts: 3, within: "10 seconds" }, children: [stage.child("a")] })
      )
      const crash = (nth: number) =>
        Effect.gen(function* () {
          stage.end("a")
          yield* until("it is back", () => stage.of("Started", "a").length === nth + 1)
        })
      for (let i = 1; i <= 3; i++) yield* crash(i)
      yield* TestClock.adjust(10_001)
      for (let i = 4; i <= 6; i++) yield* crash(i)
      yield* quiet
      assert.strictEqual((yield* tree.snapshot).state, "running")
      // and spaced out, each within the window of the one before
      assert.strictEqual(yield* crashes({ restarts: 3, within: "10 seconds" }, 30, 3_334), Number.POSITIVE_INFINITY)
    })
  )

  it.effect("the default budget is three restarts within five seconds, not the other way round", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* crashes(undefined, 10, 1_000), 4)
      assert.strictEqual(yield* crashes(undefined, 20, 1_700), Number.POSITIVE_INFINITY)
    })
  )

  it.effect("children share their supervisor's budget; a supervisor of their own gives them one each", () =>
    Effect.gen(function* () {
      const ids = ["a", "b", "c", "d", "e"]
      const intensity = { restarts: 1, within: "1 hour" } as const

      const shared = new Stage()
      const first = yield* shared.start(
        Supervisor.make("root", { intensity, children: ids.map((id) => shared.child(id)) })
      )
      for (const id of ids) shared.end(id)
      assert.strictEqual((yield* Effect.flip(first.tree.ended))._tag, "GaveUp")

      const isolated = new Stage()
      const second = yield* isolated.start(
        Supervisor.make("root", {
          children: ids.map((id) => Supervisor.make(`of-${id}`, { intensity, children: [isolated.child(id)] }))
        })
      )
      for (const id of ids) isolated.end(id)
      yield* until(
        "all are back",
        () => isolated.of("Started").filter(({ incarnation }) => incarnation === 2).length === 5
      )
      assert.strictEqual((yield* second.tree.snapshot).intensity?.left, 3)
    })
  )

  it.effect("who spends the whole budget from outside hears that the supervisor is gone", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const ids = ["a", "b", "c", "d"]
      const { tree } = yield* stage.start(Supervisor.make("root", { children: ids.map((id) => stage.child(id)) }))
      const root = yield* tree.find(["root"])
      for (const id of ids) stage.end(id)
      yield* Effect.exit(tree.ended)
      const refusals = yield* Effect.forEach(ids, (id) => Effect.flip(root.stopChild(id)))
      assert.deepStrictEqual(
        refusals.map((refusal) => [refusal._tag, refusal.reason]),
        ids.map(() => ["ChildRefused", "not-running"])
      )
    })
  )

  it.effect("a grace time that outlasts the budget's share is warned about at the start", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const immortal = Supervisor.make("root", {
        strategy: "one-for-all",
        intensity: { restarts: 3, within: "5 seconds" },
        children: [stage.child("slow", { shutdown: "2 seconds" })]
      })
      yield* stage.start(immortal)
      assert.strictEqual(stage.of("Warning", "root").length, 1)
      assert.include(stage.of("Warning")[0]!.warning, "slow")
      assert.lengthOf(Tree.check(immortal), 1)
    })
  )

  it.effect("an ordinary end costs nothing: a hundred expiries in one second, and the budget is whole", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const ids = Array.from({ length: 100 }, (_, i) => `session-${i}`)
      const { tree } = yield* stage.start(
        Supervisor.make("root", {
          intensity: { restarts: 0, within: "1 hour" },
          children: ids.map((id) => stage.child(id, { restart: "on-failure" }))
        })
      )
      for (const id of ids) {
        stage.end(id, Effect.fail(new Failure.Shutdown({ detail: "expired" })))
        yield* TestClock.adjust(10)
      }
      yield* until("all are over", () => stage.of("Exited").length === 100)
      const snapshot = yield* tree.snapshot
      assert.strictEqual(snapshot.state, "running")
      assert.isTrue(snapshot.children.every((child) => child.state === "stopped"))
      assert.deepStrictEqual(stage.of("Restarting"), [])
    })
  )

  it.effect("a crash on the first message counts, however healthy every start was", () =>
    Effect.gen(function* () {
      class Bad extends Actor.Service<Bad>()("Bad", [Rpc.make("Do", { success: Schema.Void })]) {}
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 7, within: "1 hour" },
        children: [Bad.child(Effect.sync(() => Bad.handlers({ Do: () => Effect.die("always") })))]
      })
      const { context, tree } = yield* stage.start(root)
      const bad = Context.get(context, Bad)
      const tags: Array<string> = []
      for (let i = 0; i < 10; i++) tags.push((yield* Effect.flip(bad.Do()))._tag)
      assert.deepStrictEqual(tags, [...Array(8).fill("ActorCrashed"), "ActorStopped", "ActorStopped"])
      assert.deepStrictEqual((yield* Effect.flip(tree.ended)).path, ["root", "Bad"])
    })
  )

  it.effect("a restart begins with what the first start had: the same arguments", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const seen: Array<ReadonlyArray<unknown>> = []
      const withArguments = (...given: ReadonlyArray<unknown>) =>
        Child.make(
          "worker",
          Effect.sync(() => {
            seen.push(given)
            return seen.length < 4 ? Effect.die("boom") : Effect.never
          })
        )
      const { tree } = yield* stage.start(Supervisor.make("root", { intensity: plenty, children: [] }))
      const shared = { pool: "shared" }
      yield* (yield* tree.find(["root"])).startChild(withArguments("own", shared))
      yield* until("it has crashed three times", () => seen.length === 4)
      for (const given of seen) {
        assert.strictEqual(given[0], "own")
        assert.strictEqual(given[1], shared)
      }
    })
  )

  it.effect("the late end of an incarnation that was given up concerns nobody", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const releases: Array<() => void> = []
      const hold = Effect.callback<void>((resume) => {
        releases.push(() => resume(Effect.void))
      })
      const stubborn = Child.make(
        "stubborn",
        Effect.sync(() => Effect.uninterruptible(hold)),
        { shutdown: "1 second", restart: "on-failure" }
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stubborn, stage.child("sibling")] }))
      const root = yield* tree.find(["root"])
      const stopping = yield* Effect.forkChild(root.stopChild("stubborn"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* Effect.forkChild(root.restartChild("stubborn"), { startImmediately: true })
      yield* until("it runs again", () => stage.of("Started", "stubborn").length === 2)
      yield* until("both run", () => releases.length === 2)
      assert.isDefined(stopping.pollUnsafe())
      assert.strictEqual(nodeOf(yield* tree.snapshot, "stubborn").leaked, 1)
      releases[0]!()
      yield* until("the old one has ended", () => stage.of("LeakEnded").length === 1)
      yield* quiet
      const snapshot = yield* tree.snapshot
      const { state, incarnation, leaked, restarts } = nodeOf(snapshot, "stubborn")
      assert.deepStrictEqual(
        { state, incarnation, leaked, restarts, left: snapshot.intensity?.left },
        { state: "running", incarnation: 2, leaked: 0, restarts: 0, left: 3 }
      )
      releases[1]!() // so that the stop of the tree need not wait for a clock that nobody moves
    })
  )
})
