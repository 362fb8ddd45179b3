/** A layer as a child: built for each incarnation, released with it, and run with its services. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Child, Failure, Supervisor } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

class Pool extends Context.Service<Pool, { readonly number: number }>()("Pool") {}
class Config extends Context.Service<Config, { readonly size: number }>()("Config") {}

class NoPool extends Schema.TaggedError<NoPool>()("NoPool", {}) {
  readonly [Failure.kind] = "capability"
}

/** A pool that writes down when it opens and closes, and counts its copies. */
const pools = () => {
  const log: Array<string> = []
  let number = 0
  const live = Layer.effect(
    Pool,
    Effect.acquireRelease(
      Effect.sync(() => {
        number += 1
        log.push(`open ${number}`)
        return { number }
      }),
      (pool) => Effect.sync(() => log.push(`close ${pool.number}`))
    )
  )
  return { log, live }
}

describe("Child.layer", () => {
  it.effect("R-114 a layer is ready when it is built, and released when the tree stops", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { log, live } = pools()
      const gate = yield* Deferred.make<void>()
      const gated = Layer.provideMerge(live, Layer.effectDiscard(Deferred.await(gate)))
      const root = Supervisor.make("root", { children: [Child.layer("pool", gated), stage.child("after")] })
      const starting = yield* Effect.forkScoped(stage.start(root))
      yield* quiet
      assert.deepStrictEqual(stage.steps, ["Starting root", "Starting pool"])
      assert.deepStrictEqual(log, [])
      yield* Deferred.succeed(gate, undefined)
      const { tree } = yield* Fiber.join(starting)
      assert.deepStrictEqual(log, ["open 1"])
      yield* tree.stop
      assert.deepStrictEqual(log, ["open 1", "close 1"])
    })
  )

  it.effect("R-114 every incarnation builds the layer anew, after the one before was released", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { log, live } = pools()
      const crash = yield* Deferred.make<void>()
      const seen: Array<number> = []
      const child = Child.layer("pool", live, {
        run: Effect.gen(function* () {
          seen.push((yield* Pool).number)
          if (seen.length === 1) {
            yield* Deferred.await(crash)
            return yield* Effect.die(new Error("the run crashed"))
          }
          return yield* Effect.never
        })
      })
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
      assert.strictEqual(nodeOf(yield* tree.snapshot, "pool").kind, "layer")
      yield* Deferred.succeed(crash, undefined)
      yield* until("it is back", () => seen.length === 2)
      assert.deepStrictEqual(seen, [1, 2])
      assert.deepStrictEqual(log, ["open 1", "close 1", "open 2"])
      yield* tree.stop
      assert.deepStrictEqual(log, ["open 1", "close 1", "open 2", "close 2"])
    })
  )

  it.effect("R-114 a tree inside a layer does not share the services that the outer build has made", () =>
    Effect.gen(function* () {
      const { log, live } = pools()
      const root = Supervisor.make("root", { children: [Child.layer("one", live), Child.layer("two", live)] })
      yield* Effect.provide(
        Effect.sync(() => assert.deepStrictEqual(log, ["open 1", "open 2", "open 3"])),
        Layer.provideMerge(Supervisor.layer(root), live)
      )
      assert.deepStrictEqual(log.toSorted(), ["close 1", "close 2", "close 3", "open 1", "open 2", "open 3"])
    })
  )

  it.effect("R-114 a build that fails is the child's start error, with its type", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const broken = Layer.effect(
        Pool,
        Effect.flatMap(Config, ({ size }) => (size === 0 ? new NoPool() : Effect.succeed({ number: size })))
      )
      const child = Child.layer("pool", broken, {
        onFailure: (error) => (error._tag === "NoPool" ? "stop" : "restart")
      })
      const typed: Child.Child<never, NoPool, Config> = child
      const failure = yield* Effect.flip(
        Effect.provideService(stage.start(Supervisor.make("root", { children: [typed] })), Config, { size: 0 })
      )
      assert.deepStrictEqual(failure.path, ["root", "pool"])
      assert.include(failure.message, "root/pool did not start")
    })
  )

  it.effect("R-114 a run that ends is a clean end, and one that fails is a crash with its type", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { log, live } = pools()
      const done = Child.layer("done", live, { run: Effect.void, restart: "on-failure" })
      const failing = Child.layer("failing", live, {
        run: Effect.fail(new NoPool()),
        onFailure: (error: NoPool) => (error._tag === "NoPool" ? "stop" : "restart")
      })
      yield* stage.start(Supervisor.make("root", { children: [done, failing] }))
      yield* until("both have ended", () => stage.of("Exited").length === 2)
      assert.strictEqual(stage.of("Exited", "done")[0]!.reason._tag, "Normal")
      assert.strictEqual(stage.of("Exited", "failing")[0]!.reason._tag, "Error")
      assert.strictEqual(stage.of("Failed", "failing").length, 1)
      yield* quiet
      assert.deepStrictEqual(log.filter((line) => line.startsWith("open")).length, 2)
    })
  )

  it.effect("R-114 a build that hangs is cut off at its time-out, and what it had acquired is released", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { log, live } = pools()
      const hanging = Layer.provideMerge(Layer.effectDiscard(Effect.never), live)
      const child = Child.layer("pool", hanging, { initTimeout: "2 seconds" })
      const starting = yield* Effect.forkScoped(
        Effect.flip(stage.start(Supervisor.make("root", { children: [child] })))
      )
      yield* until("it began", () => log.length === 1)
      yield* TestClock.adjust("2 seconds")
      yield* until("it was given up", () => log.length === 2)
      assert.deepStrictEqual(log, ["open 1", "close 1"])
      assert.include((yield* Fiber.join(starting)).message, "not ready after 2000 ms")
    })
  )

  it.each([
    ["no layer", () => Child.layer("a", Effect.never as never), "Child.layer: layer of a must be a Layer, got "],
    [
      "no effect as run",
      () => Child.layer("a", Layer.empty, { run: 1 as never }),
      "Child.layer: run of a must be an Effect, got 1"
    ]
  ] as ReadonlyArray<readonly [string, () => unknown, string]>)("R-114 refuses %s", (_, make, message) => {
    assert.throws(make, RangeError, message)
  })
})
