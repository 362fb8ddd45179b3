/* oxlint-disable vitest/warn-todo -- a row that is left out keeps its place, with the reason */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, RestartIntensity, Supervisor, Tree } from "espalier"

import { quiet, Stage } from "../fixtures/stage.ts"

/** What a caller without types could pass. */
const untyped = (value: unknown): never => value as never

const never = (id: string, options?: Child.Options<never>) => Child.effect(id, Effect.never, options)

class Echo extends Actor.Service<Echo>()("Echo", [Rpc.make("Say", { success: Schema.String })]) {}
const echo = Echo.child(Effect.succeed(Echo.handlers({ Say: () => "x" })))

class Crew extends Supervisor.DynamicService<Crew>()("crew") {}
const worker = Child.effect("worker", Effect.never)

describe("B: specs", () => {
  it.effect("C-014 a spec reads back with its defaults", () =>
    Effect.gen(function* () {
      const worker = never("worker")
      const inner = Supervisor.make("inner", { children: [worker] })
      assert.strictEqual(worker.policy.restart, "always")
      assert.deepStrictEqual(worker.policy.shutdown, Duration.seconds(5))
      assert.deepStrictEqual(worker.policy.initTimeout, Duration.seconds(30))
      assert.deepStrictEqual(worker.policy.backoffReset, Duration.seconds(60))
      assert.deepStrictEqual(inner.policy.shutdown, Duration.infinity)
      assert.strictEqual(inner.policy.strategy, "one-for-one")
      const { tree } = yield* new Stage().start(Supervisor.make("root", { children: [inner] }))
      const snapshot = yield* tree.snapshot
      assert.deepStrictEqual(snapshot.intensity, { restarts: 3, within: Duration.seconds(5), left: 3 })
      assert.deepStrictEqual([snapshot.kind, snapshot.children[0]?.children[0]?.kind], ["supervisor", "worker"])
    })
  )

  it("C-015 two equal ids are refused before anything starts", () => {
    assert.throws(
      () => Supervisor.make("root", { children: [never("a"), never("b"), never("a")] }),
      RangeError,
      "the id a"
    )
  })

  it.each([
    ["an empty id", () => never(""), /id must be a string that is not empty, got ""/],
    ["a missing id", () => never(untyped(undefined)), /id must be a string/],
    [
      "an unknown restart",
      () => never("a", { restart: untyped("permanent") }),
      /restart of a must be one of always, on-failure, never, got permanent/
    ],
    [
      "an onFailure that is no function",
      () => never("a", { onFailure: untyped("stop") }),
      /onFailure of a must be a function, got stop/
    ],
    [
      "a child that is none",
      () => Supervisor.make("root", { children: [untyped({ id: "a" })] }),
      /every child of root must be made by this library/
    ],
    ["a child that is null", () => Supervisor.make("root", { children: [untyped(null)] }), /every child of root/],
    [
      "children that are no list",
      () => Supervisor.make("root", { children: untyped("a") }),
      /children of root must be an array/
    ],
    [
      "an unknown stop of an actor",
      () => Echo.child(Effect.succeed(Echo.handlers({ Say: () => "x" })), { stop: untyped("later") }),
      /stop of Echo must be interrupt, finish or drain/
    ],
    [
      "two children that provide one service",
      () =>
        Supervisor.make("root", {
          children: [echo, Echo.child(Effect.succeed(Echo.handlers({ Say: () => "y" })), { id: "other" })]
        }),
      /Echo and other, provide Echo; hide one/
    ]
  ] as const)("C-016 %s is refused, and the field named", (_name, make, expected) => {
    assert.throws(make, RangeError, expected)
  })

  it.effect("C-016 a bad spec at run time leaves the supervisor alive", () =>
    Effect.gen(function* () {
      const { tree } = yield* new Stage().start(Supervisor.make("root", { children: [never("a")] }))
      const handle = yield* tree.find(["root"])
      assert.throws(() => never("b", { restart: untyped("often") }), RangeError)
      const refused = yield* Effect.flip(handle.startChild(never("a")))
      assert.strictEqual((refused as Tree.ChildRefused).reason, "already-started")
      assert.strictEqual((yield* handle.snapshot).state, "running")
    })
  )

  it.each([0, "0 millis", "1 millis", "Infinity", "abandon"] as const)(
    "C-017 the grace time %s is accepted, for workers and supervisors",
    (shutdown) => {
      for (const { policy } of [never("a", { shutdown }), Supervisor.make("root", { children: [], shutdown })]) {
        assert.deepStrictEqual(policy.shutdown, shutdown === "abandon" ? shutdown : Duration.fromInputUnsafe(shutdown))
      }
    }
  )

  it.each([-1, Number.NaN, "soon"] as ReadonlyArray<unknown>)("C-017 the grace time %s is refused", (shutdown) => {
    assert.throws(
      () => never("a", { shutdown: untyped(shutdown) }),
      RangeError,
      "shutdown of a must be a duration >= 0"
    )
    assert.throws(
      () => Supervisor.make("root", { children: [], shutdown: untyped(shutdown) }),
      RangeError,
      "shutdown of root"
    )
  })

  it.each([
    [
      "strategy",
      { strategy: untyped("one_for_one") },
      /strategy of root must be one of one-for-one, one-for-all, rest-for-one/
    ],
    [
      "autoShutdown",
      { autoShutdown: untyped("any_significant") },
      /autoShutdown of root must be one of never, any-significant, all-significant, got any_significant/
    ],
    ["restarts", { intensity: { restarts: -1 } }, /restarts must be a whole number >= 0, got -1/],
    ["restarts", { intensity: { restarts: 1.5 } }, /restarts must be a whole number/],
    ["restarts", { intensity: { restarts: Number.POSITIVE_INFINITY } }, /restarts must be a whole number/],
    ["within", { intensity: { within: 0 } }, /within must be a finite duration greater than zero/],
    ["within", { intensity: { within: "Infinity" } }, /within must be a finite duration/],
    ["initTimeout", { initTimeout: 0 }, /initTimeout of root must be a duration > 0/],
    ["backoffReset", { backoffReset: -5 }, /backoffReset of root must be a duration > 0/]
  ] as ReadonlyArray<readonly [string, object, RegExp]>)(
    "C-018 a bad %s is refused (%#)",
    (_field, options, expected) => {
      assert.throws(() => Supervisor.make("root", { children: [], ...options }), RangeError, expected)
    }
  )

  it("C-018 an intensity of zero restarts is legal", () => {
    const { policy } = Supervisor.make("root", { children: [], intensity: { restarts: 0, within: "1 second" } })
    assert.strictEqual(policy.intensity?.restarts, 0)
  })

  it.each([
    [
      "a significant that is no boolean",
      () => never("a", { significant: untyped("yes") }),
      /significant of a must be a boolean, got yes/
    ],
    [
      "a significant child that is restarted always",
      () => never("a", { significant: true, restart: "always" }),
      /Child.effect: restart of a must be on-failure or never when it is significant, got always/
    ],
    [
      "a significant child of the default restart",
      () => never("a", { significant: true }),
      /must be on-failure or never/
    ],
    [
      "a significant supervisor that is restarted always",
      () => Supervisor.make("root", { children: [], significant: true }),
      /Supervisor.make: restart of root must be on-failure or never/
    ],
    [
      "a significant child where autoShutdown is never",
      () => Supervisor.make("root", { children: [never("b"), never("a", { significant: true, restart: "never" })] }),
      /Supervisor.make: autoShutdown of root must not be never, a is significant/
    ]
  ] as const)("C-019 %s is refused", (_name, make, expected) => {
    assert.throws(make, RangeError, expected)
  })

  it.effect("C-019 a significant child is refused at run time where autoShutdown is never, and taken elsewhere", () =>
    Effect.gen(function* () {
      const significant = never("a", { significant: true, restart: "on-failure" })
      for (const autoShutdown of ["never", "any-significant", "all-significant"] as const) {
        const { tree } = yield* new Stage().start(Supervisor.make("root", { children: [], autoShutdown }))
        const handle = yield* tree.find(["root"])
        const answer = yield* Effect.result(handle.startChild(significant))
        assert.strictEqual(
          answer._tag === "Success" ? "taken" : (answer.failure as Tree.ChildRefused).reason,
          autoShutdown === "never" ? "no-auto-shutdown" : "taken"
        )
        assert.lengthOf((yield* handle.snapshot).children, autoShutdown === "never" ? 0 : 1)
      }
    })
  )

  it.each([
    [undefined, {}, /DynamicService: template of crew must be a function, got undefined/],
    [[() => worker], {}, /template of crew must be a function/],
    [() => worker, { maxChildren: -1 }, /maxChildren of crew must be a whole number >= 0 or unbounded, got -1/],
    [() => worker, { maxChildren: 1.5 }, /maxChildren of crew .* got 1.5/],
    [() => worker, { maxChildren: Number.POSITIVE_INFINITY }, /maxChildren of crew .* got Infinity/],
    [() => worker, { maxChildren: "many" }, /maxChildren of crew .* got many/],
    [() => worker, { strategy: "one-for-all" }, /strategy of crew must be one-for-one, got one-for-all/],
    [() => worker, { autoShutdown: "any-significant" }, /autoShutdown of crew must be never, got any-significant/],
    [() => worker, { intensity: { restarts: -1 } }, /restarts must be a whole number >= 0, got -1/],
    [() => worker, { shutdown: -1 }, /DynamicService: shutdown of crew must be a duration >= 0/],
    [() => worker, { id: "" }, /DynamicService: id must be a string that is not empty/]
  ] as ReadonlyArray<readonly [unknown, object, RegExp]>)(
    "C-020 a bad template or option of a dynamic supervisor is refused (%#)",
    (template, options, expected) => {
      assert.throws(() => Crew.child(untyped(template), options), RangeError, expected)
    }
  )

  it("C-020 what holds anyway may be said, and any whole maximum from 0 on", () => {
    for (const options of [
      { strategy: "one-for-one", autoShutdown: "never" },
      { maxChildren: 0 },
      { maxChildren: 7 }
    ]) {
      assert.strictEqual(Crew.child(() => worker, options).id, "crew")
    }
  })

  it.effect("C-021 a grace time, a window and a backoff of 30 days are long, not immediate", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 1, within: "30 days" },
        children: [stage.child("a", { cleanup: "29 days", shutdown: "30 days" })]
      })
      const { tree } = yield* stage.start(root)
      stage.end("a")
      yield* quiet
      yield* TestClock.adjust("29 days")
      yield* quiet
      assert.deepStrictEqual(stage.takeLog().slice(-2), ["start a", "up a"])
      const stopping = yield* Effect.forkChild(tree.stop, { startImmediately: true })
      yield* TestClock.adjust("28 days")
      assert.isUndefined(stopping.pollUnsafe())
      yield* TestClock.adjust("1 days")
      assert.deepStrictEqual((yield* Fiber.join(stopping)).leaked, [])
    })
  )

  it("C-021 a restart 29 days ago still counts within 30 days", () => {
    const budget = RestartIntensity.make({ restarts: 1, within: "30 days" })
    const day = 24 * 3600 * 1e9
    assert.isTrue(RestartIntensity.record(budget, 0))
    assert.isFalse(RestartIntensity.record(budget, 29 * day))
  })

  it("C-022 extra keys do no harm, and a spec is checked without being started", () => {
    let started = false
    const child = Child.effect(
      "a",
      Effect.sync(() => (started = true)),
      untyped({ colour: "red" })
    )
    assert.deepStrictEqual(Tree.check(Supervisor.make("root", { children: [child] })), [])
    assert.isFalse(started)
  })
})
