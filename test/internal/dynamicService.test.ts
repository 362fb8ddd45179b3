import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor, Tree } from "espalier"

import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

class Crew extends Supervisor.DynamicService<Crew, string, never, unknown>()("crew") {}
class Echo extends Actor.Service<Echo>()("Echo", [
  Rpc.make("Say", { payload: { word: Schema.String }, success: Schema.String }),
  Rpc.make("Crash", {})
]) {}

const reasonOf = (error: unknown): unknown => (error instanceof Tree.ChildRefused ? error.reason : error)

const sail = (stage: Stage, crew: Child.Child<Crew, never, never>, options: object = {}) =>
  Effect.gen(function* () {
    const { context, tree } = yield* stage.start(
      Supervisor.make("ship", { intensity: { restarts: 100, within: "1 hour" }, ...options, children: [crew] })
    )
    return { crew: yield* Effect.provide(Crew, context), context, tree }
  })

describe("DynamicService", () => {
  describe("start", () => {
    it.effect("fails when the template throws or returns no child, and the supervisor lives on", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const templates: Array<() => Child.Child<never, unknown, never>> = [
          () => {
            throw new Error("no such hand")
          },
          () => undefined as never,
          () => stage.child("b", { restart: "never", significant: true }),
          () => stage.child("a")
        ]
        const { crew } = yield* sail(
          stage,
          Crew.child(() => templates.shift()!(), { maxChildren: 1, intensity: { restarts: 0 } })
        )
        const messages: Array<string> = []
        for (let i = 0; i < 3; i++) {
          const failure = yield* Effect.flip(crew.start("x"))
          assert.instanceOf(failure, Supervisor.StartFailure)
          messages.push(failure.message)
        }
        assert.deepStrictEqual(messages, [
          "ship/crew/1 did not start: no such hand",
          "ship/crew/2 did not start: Supervisor.DynamicService: template of crew must return a child made by this library, got undefined",
          "ship/crew/3 did not start: Supervisor.DynamicService: significant of a child of crew must be false, got true"
        ])
        assert.strictEqual((yield* crew.start("a")).id, "4")
      })
    )

    it.effect("does not wait for another start, so an init may start its siblings", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Nest extends Supervisor.DynamicService<Nest, number, never, unknown>()("nest") {}
        const nest = Nest.child((depth) =>
          Child.make(
            "doll",
            Effect.gen(function* () {
              if (depth > 0) yield* (yield* Nest).start(depth - 1)
              stage.log.push(`doll ${depth}`)
              return Effect.never
            })
          )
        )
        const { context } = yield* stage.start(Supervisor.make("root", { children: [nest] }))
        const handle = yield* Effect.provide(Nest, context)
        yield* handle.start(3)
        assert.deepStrictEqual(stage.log, ["doll 0", "doll 1", "doll 2", "doll 3"])
        assert.deepStrictEqual(yield* handle.counts, { specs: 4, active: 4, supervisors: 0, workers: 4 })
      })
    )

    it.effect("lets an init ask a sibling that still starts, and stop another through the tree", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const open = yield* Deferred.make<void>()
        class Echoes extends Supervisor.DynamicService<Echoes, string, Echo, unknown>()("echoes") {}
        let slow: Echo["Service"] | undefined
        const echoes = Echoes.child((name) =>
          Echo.child(
            Effect.gen(function* () {
              if (name === "slow") {
                slow = yield* Echo
                yield* Deferred.await(open)
              }
              if (name === "asks") {
                yield* (yield* Tree.find(["root", "echoes"])).stopChild("1")
                stage.log.push(yield* slow!.Say({ word: "heard" }))
              }
              return Echo.handlers({ Say: ({ word }) => word, Crash: () => undefined })
            })
          )
        )
        const { context } = yield* stage.start(Supervisor.make("root", { children: [echoes] }))
        const { children, start } = yield* Effect.provide(Echoes, context)
        yield* start("idle")
        const starting = yield* Effect.forkChild(start("slow"), { startImmediately: true })
        yield* until("it is in its init", () => slow !== undefined)
        const asking = yield* Effect.forkChild(start("asks"), { startImmediately: true })
        yield* until("the other is gone", () => stage.of("Removed", "1").length === 1)
        yield* quiet
        assert.deepStrictEqual([stage.log, asking.pollUnsafe()], [[], undefined])
        yield* Deferred.succeed(open, undefined)
        yield* Fiber.join(starting)
        yield* Fiber.join(asking)
        assert.deepStrictEqual(stage.log, ["heard"])
        assert.deepStrictEqual(
          (yield* children).map(({ id }) => id),
          ["2", "3"]
        )
      })
    )

    it.effect("is undone when its caller is interrupted, while the init runs and before it begins", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { crew } = yield* sail(
          stage,
          Crew.child((name) => stage.child(name, { init: Effect.never }))
        )
        const starting = yield* Effect.forkChild(crew.start("a"), { startImmediately: true })
        yield* until("the init runs", () => stage.log.includes("start a"))
        yield* Fiber.interrupt(starting)
        yield* until("it is gone", () => stage.of("Removed", "1").length === 1)
        assert.deepStrictEqual(stage.log, ["start a", "stop a", "down a"])
        const early = yield* Effect.forkChild(crew.start("b"), { startImmediately: true })
        yield* Fiber.interrupt(early)
        yield* quiet
        assert.notInclude(stage.log, "up b")
        assert.strictEqual(stage.log.includes("start b"), stage.log.includes("down b"))
        assert.deepStrictEqual(yield* crew.children, [])
      })
    )

    it.effect("fails with not-running as soon as the supervisor stops, and leaves nothing running", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { crew, tree } = yield* sail(
          stage,
          Crew.child((name) => stage.child(name, { init: Effect.never, cleanup: "1 second" }))
        )
        const starting = yield* Effect.forkChild(Effect.flip(crew.start("a")), { startImmediately: true })
        yield* until("the init runs", () => stage.log.includes("start a"))
        const stopping = yield* Effect.forkChild(tree.stop, { startImmediately: true })
        assert.strictEqual(reasonOf(yield* Fiber.join(starting)), "not-running")
        assert.strictEqual(reasonOf(yield* Effect.flip(crew.start("b"))), "not-running")
        assert.notInclude(stage.log, "down a")
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(stage.log, ["start a", "stop a", "down a"])
      })
    )

    it.effect("fails with not-running before the supervisor has started, and works once it has", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const early = Child.make(
          "early",
          Effect.gen(function* () {
            stage.log.push(String(reasonOf(yield* Effect.flip((yield* Crew).start("a")))))
            return Effect.never
          })
        )
        const crew = Crew.child((name) => stage.child(name))
        const { context } = yield* stage.start(Supervisor.make("ship", { children: [early, crew] }))
        yield* (yield* Effect.provide(Crew, context)).start("b")
        assert.deepStrictEqual(stage.log, ["not-running", "start b", "up b"])
      })
    )
  })

  describe("stop", () => {
    it.effect("may come from the child itself", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Guests extends Supervisor.DynamicService<Guests>()("guests") {}
        let stop: Effect.Effect<void, Tree.ChildRefused> = Effect.never
        const go = yield* Deferred.make<void>()
        const guests = Guests.child(() =>
          Child.effect(
            "guest",
            Effect.andThen(
              Deferred.await(go),
              Effect.suspend(() => Effect.orDie(stop))
            )
          )
        )
        const { context, tree } = yield* stage.start(Supervisor.make("inn", { children: [guests] }))
        stop = (yield* (yield* Effect.provide(Guests, context)).start()).stop
        yield* Deferred.succeed(go, undefined)
        yield* until("it has left", () => stage.of("Removed", "1").length === 1)
        assert.deepStrictEqual(nodeOf(yield* tree.snapshot, "guests").children, [])
        assert.deepStrictEqual(stage.of("Restarting"), [])
      })
    )

    it.effect("of one child is shared by all who ask, and does not hold up others", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { crew } = yield* sail(
          stage,
          Crew.child((name) => stage.child(name, { cleanup: name === "slow" ? "3 seconds" : undefined }))
        )
        const slow = yield* crew.start("slow")
        const quick = yield* crew.start("quick")
        const stops = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(slow.stop, { startImmediately: true }))
        yield* until("it is asked", () => stage.log.includes("stop slow"))
        yield* quick.stop
        yield* crew.start("next")
        assert.notInclude(stage.log, "down slow")
        yield* TestClock.adjust("3 seconds")
        for (const stop of stops) yield* Fiber.join(stop)
        assert.strictEqual(stage.log.filter((line) => line === "stop slow").length, 1)
      })
    )

    it.effect("of a child that hangs is over after its grace time, and the slot is free", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { crew, tree } = yield* sail(
          stage,
          Crew.child((name) => stage.child(name, { cleanup: "Infinity", shutdown: "1 second" }), { maxChildren: 1 })
        )
        const a = yield* crew.start("a")
        const stopping = yield* Effect.forkChild(a.stop, { startImmediately: true })
        yield* until("it is asked", () => stage.log.includes("stop a"))
        assert.strictEqual(reasonOf(yield* Effect.flip(crew.start("b"))), "max-children")
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(stopping)
        assert.lengthOf(stage.of("Leaked", "1"), 1)
        yield* crew.start("b")
        assert.deepStrictEqual((yield* stage.stop(tree, "1 second")).leaked, [
          ["ship", "crew", "1"],
          ["ship", "crew", "3"]
        ])
      })
    )
  })

  describe("the supervisor's own life", () => {
    it.effect("children end with it: restarted, it is empty, its handle works, and old ids find nobody", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const crew = Crew.child((name) => stage.child(name))
        const first = stage.child("first")
        const { context } = yield* stage.start(
          Supervisor.make("ship", { strategy: "one-for-all", children: [first, crew] })
        )
        const handle = yield* Effect.provide(Crew, context)
        const a = yield* handle.start("a")
        stage.end("first")
        yield* until("the ship is back", () => stage.of("Started", "crew").length === 2)
        assert.deepStrictEqual(yield* handle.children, [])
        assert.strictEqual(reasonOf(yield* Effect.flip(a.stop)), "not-found")
        assert.strictEqual((yield* handle.start("a")).id, "2")
        assert.isTrue(stage.log.indexOf("down a") < stage.log.lastIndexOf("start first"))
      })
    )

    it.effect("abandoned, it takes its children along, however long their own grace time is", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const crew = Crew.child((name) => stage.child(name, { cleanup: "Infinity", shutdown: "Infinity" }), {
          shutdown: "2 seconds",
          intensity: { restarts: 9 }
        })
        const { crew: handle, tree } = yield* sail(stage, crew)
        yield* handle.start("hangs")
        const report = yield* stage.stop(tree, "2 seconds")
        assert.deepStrictEqual(report.leaked, [["ship", "crew", "1"]])
        assert.isTrue(Exit.isSuccess(yield* Effect.exit(tree.ended)))
        assert.strictEqual(reasonOf(yield* Effect.flip(handle.start("late"))), "not-running")
      })
    )

    it.effect("abandoned, it gives up the restart that one of its children waits for", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const crew = Crew.child((name) => stage.child(name, { backoff: Schedule.spaced("1 second") }), {
          shutdown: "abandon"
        })
        const { crew: handle, tree } = yield* sail(stage, crew)
        yield* handle.start("a")
        stage.end("a")
        yield* until("it waits", () => stage.of("BackingOff").length === 1)
        assert.deepStrictEqual(yield* tree.stop, { leaked: [] })
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(stage.log.filter((line) => line === "start a").length, 1)
      })
    )

    it.effect(
      "whoever asks a child that is down for good is told at once: it gave up on it, or stopped while it waited",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          class Echoes extends Supervisor.DynamicService<Echoes, boolean, Echo>()("echoes") {}
          const handlers = Echo.handlers({ Say: ({ word }) => word, Crash: () => Effect.die("crash") })
          const echoes = Echoes.child(
            (patient) => Echo.child(Effect.succeed(handlers), patient ? { backoff: Schedule.spaced("1 minute") } : {}),
            { intensity: { restarts: 0 }, restart: "never" }
          )
          const { context } = yield* stage.start(Supervisor.make("root", { children: [echoes] }))
          const handle = yield* Effect.provide(Echoes, context)
          const [waits, crashes] = [yield* handle.start(true), yield* handle.start(false)]
          yield* Effect.exit(waits.ref.Crash())
          yield* until("it waits", () => stage.of("BackingOff").length === 1)
          const asking = yield* Effect.forkChild(Effect.flip(waits.ref.Say({ word: "a" })), { startImmediately: true })
          yield* quiet
          assert.isUndefined(asking.pollUnsafe())
          yield* Effect.exit(crashes.ref.Crash()) // beyond the budget
          assert.instanceOf(yield* Fiber.join(asking), Actor.ActorStopped)
          assert.instanceOf(yield* Effect.flip(crashes.ref.Say({ word: "b" })), Actor.ActorStopped)
        })
    )

    it.effect("is one child among others: what it needs and provides goes through it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Echoes extends Supervisor.DynamicService<Echoes, string, Echo>()("echoes") {}
        const echoes = Echoes.child((prefix) =>
          Echo.child(
            Effect.gen(function* () {
              const self = yield* Echo
              return Echo.handlers({
                Say: ({ word }) =>
                  word.length === 0
                    ? Effect.succeed(prefix)
                    : // it asks itself by its own reference, not a sibling's
                      Effect.as(self.tell.Say({ word: "" }), `${prefix}${word}`),
                Crash: () => Effect.die("crash")
              })
            })
          )
        )
        const { context } = yield* stage.start(Supervisor.make("root", { children: [echoes] }))
        const handle = yield* Effect.provide(Echoes, context)
        const [a, b] = [yield* handle.start("a:"), yield* handle.start("b:")]
        assert.deepStrictEqual([yield* a.ref.Say({ word: "x" }), yield* b.ref.Say({ word: "y" })], ["a:x", "b:y"])
        assert.strictEqual(Context.get(a.context, Echo), a.ref)
        yield* Effect.exit(a.ref.Crash())
        assert.deepStrictEqual([yield* a.ref.Say({ word: "x" }), yield* b.ref.Say({ word: "y" })], ["a:x", "b:y"])
        const failed = yield* Effect.flip(Effect.andThen(a.stop, a.ref.Say({ word: "x" })))
        assert.strictEqual(failed.message.split(" ")[0], "root/echoes/1")
      })
    )

    it.effect("its children may be supervisors, and their trees are found below it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Teams extends Supervisor.DynamicService<Teams, string, Echo, unknown>()("teams") {}
        const echo = Echo.child(Effect.succeed(Echo.handlers({ Say: ({ word }) => word, Crash: () => undefined })))
        const teams = Teams.child((name) => Supervisor.make(name, { children: [echo, stage.child(`${name}-b`)] }))
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [teams] }))
        const handle = yield* Effect.provide(Teams, context)
        const red = yield* handle.start("red")
        yield* handle.start("blue")
        assert.strictEqual(yield* red.ref.Say({ word: "hi" }), "hi")
        assert.deepStrictEqual(yield* handle.counts, { specs: 2, active: 2, supervisors: 2, workers: 0 })
        assert.strictEqual(nodeOf(yield* tree.snapshot, "teams", "2", "blue-b").state, "running")
        yield* (yield* tree.find(["root", "teams", "1"])).stopChild("red-b")
        assert.include(stage.log, "down red-b")
        yield* red.stop
        assert.strictEqual(reasonOf(yield* Effect.flip(tree.find(["root", "teams", "1", "Echo"]))), "not-found")
      })
    )

    it.effect("a child that is told to escalate takes it down with the child's cause", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { crew, tree } = yield* sail(
          stage,
          Crew.child((name) => stage.child(name, { onFailure: () => "escalate" }), { restart: "on-failure" })
        )
        yield* crew.start("a")
        yield* crew.start("b")
        stage.end("a", Effect.fail("mutiny"))
        yield* until("the crew is down", () => stage.of("Exited", "crew").length === 1)
        const [exited] = stage.of("Exited", "crew")
        assert.strictEqual(exited!.reason._tag, "GaveUp")
        assert.strictEqual(exited!.reason._tag === "GaveUp" && Cause.squash(exited!.reason.cause), "mutiny")
        assert.strictEqual(nodeOf(yield* tree.snapshot, "crew").state, "gave-up")
        assert.strictEqual(reasonOf(yield* Effect.flip(crew.start("c"))), "not-running")
        assert.include(stage.log, "down b")
      })
    )
  })
})
