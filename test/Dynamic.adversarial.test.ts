/** What a dynamic supervisor must survive, in ways that nobody plans. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Supervisor } from "espalier"

import { quiet, Stage, until } from "./fixtures/stage.ts"

class Pool extends Supervisor.DynamicService<Pool, number>()("Pool") {}

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Children that wait for one signal, and crash on it together. */
const crowd = (restarts: number) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const signals: Array<Deferred.Deferred<never>> = []
    const pool = Pool.child(
      (n) =>
        Child.make(
          `member-${n}`,
          Effect.gen(function* () {
            const signal = yield* Deferred.make<never>()
            signals.push(signal)
            return Deferred.await(signal)
          })
        ),
      { intensity: { restarts, within: "1 hour" }, restart: "never" }
    )
    const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [pool] }))
    return { stage, signals, tree, pool: Context.get(context, Pool) }
  })

describe("a dynamic supervisor under attack", () => {
  it.effect("thousands crash in one tick, exactly as many as the budget allows: all are back", () =>
    Effect.gen(function* () {
      const { pool, signals, stage } = yield* crowd(2_000)
      yield* Effect.forEach(
        Array.from({ length: 2_000 }, (_, i) => i),
        pool.start,
        { concurrency: "unbounded" }
      )
      for (const signal of signals.splice(0)) Deferred.doneUnsafe(signal, Exit.die("together"))
      yield* until("all are back", () => signals.length === 2_000)
      yield* quiet
      assert.deepStrictEqual(stage.of("GaveUp"), [])
      assert.strictEqual((yield* pool.counts).active, 2_000)
    })
  )

  it.effect("thousands crash in one tick, one more than the budget allows: all are down, and a start is refused", () =>
    Effect.gen(function* () {
      const { pool, signals, stage, tree } = yield* crowd(1_999)
      yield* Effect.forEach(
        Array.from({ length: 2_000 }, (_, i) => i),
        pool.start,
        { concurrency: "unbounded" }
      )
      for (const signal of signals.splice(0)) Deferred.doneUnsafe(signal, Exit.die("together"))
      yield* until("it has given up", () => stage.of("Exited", "Pool").length === 1)
      const started = stage.events.filter(({ _tag, path }) => _tag === "Started" && path.length === 3).length
      const exited = stage.events.filter(({ _tag, path }) => _tag === "Exited" && path.length === 3).length
      assert.strictEqual(started, exited)
      assert.deepStrictEqual((yield* tree.snapshot).children, [])
      const refused = yield* Effect.flip(pool.start(1))
      assert(refused._tag === "ChildRefused")
      assert.strictEqual(refused.reason, "not-running")
    })
  )

  it.effect("starts that are interrupted, fail, decline and succeed at once leave as many slots as they took", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const gate = yield* Deferred.make<void>()
      const pool = Pool.child(
        (n) =>
          Child.make(
            `member-${n}`,
            Effect.gen(function* () {
              yield* Deferred.await(gate)
              if (n % 4 === 1) return yield* Effect.die("no")
              return n % 4 === 2 ? Child.ignore : Effect.never
            })
          ),
        { maxChildren: 40 }
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [pool] }))
      const handle = Context.get(context, Pool)
      const starting = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, i) => i),
        (n) => forked(handle.start(n))
      )
      const full = yield* Effect.flip(handle.start(0))
      assert(full._tag === "ChildRefused")
      assert.strictEqual(full.reason, "max-children")
      yield* Effect.forEach(
        starting.filter((_, n) => n % 4 === 3),
        Fiber.interrupt
      )
      yield* Deferred.succeed(gate, undefined)
      const exits = yield* Effect.forEach(starting, Fiber.await)
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 10)
      yield* quiet
      assert.deepStrictEqual(yield* handle.counts, { specs: 10, active: 10, supervisors: 0, workers: 10 })
      const more = yield* Effect.forEach(
        Array.from({ length: 31 }, () => 0),
        (n) => Effect.exit(handle.start(n))
      )
      assert.deepStrictEqual(
        more.map(Exit.isSuccess),
        Array.from({ length: 31 }, (_, i) => i < 30)
      )
    })
  )

  it.effect("a template may make supervisors: each child is a tree, and comes and goes as one", () =>
    Effect.gen(function* () {
      class Leaf extends Actor.Service<Leaf>()("Leaf", [Rpc.make("Who", { success: Schema.Int })]) {}
      class Trees extends Supervisor.DynamicService<Trees, number, Leaf, unknown>()("Trees") {}
      const stage = new Stage()
      const trees = Trees.child((n) =>
        Supervisor.make("branch", {
          children: [Leaf.child(Effect.succeed(Leaf.handlers({ Who: () => n }))), stage.child(`worker-${n}`)]
        })
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [trees] }))
      const handle = Context.get(context, Trees)
      const started = yield* Effect.forEach([1, 2, 3], handle.start)
      assert.deepStrictEqual(yield* Effect.forEach(started, ({ ref }) => ref.Who()), [1, 2, 3])
      assert.deepStrictEqual(yield* handle.counts, { specs: 3, active: 3, supervisors: 3, workers: 0 })
      yield* started[1]!.stop
      assert.include(stage.log, "down worker-2")
      assert.strictEqual((yield* Effect.flip(started[1]!.ref.Who()))._tag, "ActorStopped")
      assert.strictEqual(yield* started[2]!.ref.Who(), 3)
    })
  )

  it.effect("auto-shutdown through three levels without a restart to spend ends the whole tree, cleanly", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const none = { restarts: 0, within: "1 hour" } as const
      const job = stage.child("job", { restart: "on-failure", significant: true })
      const inner = Supervisor.make("inner", {
        intensity: none,
        autoShutdown: "any-significant",
        restart: "on-failure",
        significant: true,
        children: [stage.child("helper"), job]
      })
      const middle = Supervisor.make("middle", {
        intensity: none,
        autoShutdown: "all-significant",
        restart: "on-failure",
        significant: true,
        children: [inner]
      })
      const root = Supervisor.make("root", {
        intensity: none,
        autoShutdown: "any-significant",
        children: [stage.child("first"), middle]
      })
      const { tree } = yield* stage.start(root)
      stage.end("job", Effect.void)
      yield* tree.ended
      assert.deepStrictEqual(
        stage.of("AutoShutdown").map(({ path, child }) => `${path.join("/")}: ${child}`),
        ["root/middle/inner: job", "root/middle: inner", "root: middle"]
      )
      assert.deepStrictEqual(stage.log.slice(-4), ["stop helper", "down helper", "stop first", "down first"])
      assert.deepStrictEqual([stage.of("Restarting"), stage.of("GaveUp")], [[], []])
    })
  )
})
