import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Context,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Schedule,
  Schema,
  Stream
} from "effect"
import { format } from "effect/Formatter"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Failure, Supervisor, Tree } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** What matters of an event, without times and causes. */
const show = (event: Tree.Event): string => {
  const where = `${event._tag} ${event.path.join("/")}`
  switch (event._tag) {
    case "Starting":
    case "Started":
    case "Ignored":
    case "StartFailed":
    case "Leaked":
    case "LeakEnded":
    case "Replaced":
      return `${where} #${event.incarnation}`
    case "Exited":
      return `${where} #${event.incarnation} ${event.reason._tag}${event.ordered ? " ordered" : ""}`
    case "BackingOff":
      return `${where} ${Duration.toMillis(event.delay)} until ${event.until}`
    case "Restarting":
      return `${where} ${event.left} left, ${event.strategy}`
    case "Failed":
      return `${where} ${event.reason._tag}`
    case "GaveUp":
      return `${where} on ${event.child}, ${event.intensity.restarts} in ${Duration.toMillis(event.intensity.within)}, at ${event.restarts.join(" ")}`
    case "DeadLetter":
      return `${where} ${event.message} ${event.reason}`
    case "AutoShutdown":
      return `${where} after ${event.child}`
    case "Missed":
      return `${where} ${event.count}`
    case "Warning":
    case "Stopping":
    case "Removed":
      return where
  }
}

describe("Tree", () => {
  describe("events", () => {
    it.effect("R-112 every step of a life is an event, in order, with its path, its time and its data", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          intensity: { restarts: 2, within: "1 minute" },
          children: [
            stage.child("a", { backoff: Schedule.spaced("10 seconds") }),
            Child.make("declines", Effect.succeed(Child.ignore)),
            stage.child("once", { restart: "never" })
          ]
        })
        const { tree } = yield* stage.start(root)
        const take = () => {
          const shown = stage.events.map(show)
          stage.takeLog()
          return shown
        }
        assert.deepStrictEqual(take(), [
          "Starting root #1",
          "Starting root/a #1",
          "Started root/a #1",
          "Starting root/declines #1",
          "Ignored root/declines #1",
          "Starting root/once #1",
          "Started root/once #1",
          "Started root #1"
        ])
        yield* TestClock.adjust("5 seconds")
        stage.end("a")
        yield* quiet
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(take(), [
          "Exited root/a #1 Error",
          "BackingOff root/a 10000 until 15000",
          "Restarting root/a 1 left, one-for-one",
          "Starting root/a #2",
          "Started root/a #2"
        ])
        stage.end("once", Effect.void)
        yield* quiet
        assert.deepStrictEqual(take(), ["Exited root/once #1 Normal", "Removed root/once"])
        const handle = yield* tree.find(["root"])
        yield* handle.stopChild("a")
        yield* handle.restartChild("a")
        assert.deepStrictEqual(take(), [
          "Stopping root/a",
          "Exited root/a #2 Shutdown ordered",
          "Starting root/a #3",
          "Started root/a #3"
        ])
        stage.end("a", Effect.fail(Failure.denied("no")))
        yield* quiet
        assert.deepStrictEqual(take(), ["Exited root/a #3 Error", "Failed root/a Error"])
        yield* handle.removeChild("a")
        assert.deepStrictEqual(take(), ["Removed root/a"])
        yield* tree.stop
        assert.deepStrictEqual(take(), ["Stopping root", "Exited root #1 Shutdown ordered"])
      })
    )

    it.effect("R-112 giving up is one event that says who, why and when", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          intensity: { restarts: 2, within: "30 seconds" },
          children: [stage.child("a")]
        })
        const { tree } = yield* stage.start(root)
        for (let crash = 0; crash < 3; crash++) {
          yield* TestClock.adjust("7 seconds")
          stage.end("a", Effect.die(`crash ${crash}`))
          yield* quiet
        }
        const [gaveUp] = stage.of("GaveUp")
        assert.strictEqual(show(gaveUp!), "GaveUp root on a, 2 in 30000, at 7000 14000 21000")
        assert.strictEqual(Cause.squash(gaveUp!.cause), "crash 2")
        assert.strictEqual((yield* tree.snapshot).state, "gave-up")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(tree.ended)))
      })
    )

    it.effect(
      "R-112 the stream gives every subscriber what happens from its subscription on, and ends with the tree",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
          const readers = yield* Effect.forEach([1, 2], () => forked(Stream.runCollect(tree.events)))
          yield* quiet
          const seen = stage.events.length
          stage.end("a")
          yield* quiet
          const late = yield* forked(Stream.runCollect(tree.events))
          yield* quiet
          const seenLate = stage.events.length
          yield* tree.stop
          const [one, two] = yield* Fiber.joinAll(readers)
          assert.deepStrictEqual([...one!], stage.events.slice(seen))
          assert.deepStrictEqual([...two!], [...one!])
          assert.deepStrictEqual([...(yield* Fiber.join(late))], stage.events.slice(seenLate))
          assert.deepStrictEqual([...(yield* Stream.runCollect(tree.events))], [])
        })
    )

    it.effect("R-112 a subscriber that falls behind loses the newest events and is told how many", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(
          Supervisor.make("root", { children: [stage.child("a", { restart: "never" })] })
        )
        const handle = yield* tree.find(["root"])
        yield* handle.stopChild("a")
        class Quiet extends Actor.Service<Quiet>()("Quiet", [Rpc.make("Noise", {})]) {}
        const started = yield* handle.startChild(
          Quiet.child(Effect.succeed(Quiet.handlers({ Noise: () => undefined })))
        )
        const ref = Context.get(started.context, Quiet)
        yield* handle.stopChild("Quiet")
        const go = yield* Deferred.make<void>()
        const seen: Array<Tree.Event> = []
        let first = true
        const reader = yield* forked(
          Stream.runForEach(tree.events, (event) =>
            Effect.andThen(
              Effect.suspend(() => {
                if (!first) return Effect.void
                first = false
                return Deferred.await(go)
              }),
              Effect.sync(() => seen.push(event))
            )
          )
        )
        yield* quiet
        yield* ref.tell.Noise()
        yield* until("the reader is busy", () => !first)
        for (let n = 0; n < 5_000; n++) yield* ref.tell.Noise()
        yield* Deferred.succeed(go, undefined)
        yield* until("it caught up", () => seen.length >= 4_000)
        yield* quiet
        yield* ref.tell.Noise()
        yield* quiet
        const missed = seen.filter((event) => event._tag === "Missed")
        assert.lengthOf(missed, 1)
        const lost = missed[0]!._tag === "Missed" ? missed[0]!.count : 0
        assert.deepStrictEqual(missed[0]!.path, ["root"])
        assert.strictEqual(seen.length - 1 + lost, 5_002)
        assert.isAtLeast(lost, 1)
        yield* tree.stop
        yield* Fiber.join(reader)
      })
    )

    it.effect("R-112 what was missed is told even when the tree ends before anything else happens", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Quiet extends Actor.Service<Quiet>()("Quiet", [Rpc.make("Noise", {})]) {}
        const child = Quiet.child(Effect.succeed(Quiet.handlers({ Noise: () => undefined })))
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
        const ref = Context.get(context, Quiet)
        yield* (yield* tree.find(["root"])).stopChild("Quiet")
        const go = yield* Deferred.make<void>()
        const seen: Array<Tree.Event> = []
        const reader = yield* forked(
          Stream.runForEach(tree.events, (event) =>
            Effect.andThen(
              Deferred.await(go),
              Effect.sync(() => seen.push(event))
            )
          )
        )
        yield* quiet
        for (let n = 0; n < 6_000; n++) yield* ref.tell.Noise()
        yield* tree.stop
        yield* Deferred.succeed(go, undefined)
        yield* Fiber.join(reader)
        const last = seen.at(-1)!
        assert(last._tag === "Missed")
        assert.strictEqual(seen.length - 1 + last.count, 6_002)
      })
    )

    it.effect("an observer that throws is removed, that is logged, and the tree goes on", () =>
      Effect.gen(function* () {
        const lines: Array<unknown> = []
        const logger = Logger.make(({ message }) => void lines.push(message))
        const stage = new Stage()
        let calls = 0
        const root = Supervisor.make("root", { children: [stage.child("a")] })
        const { tree } = yield* stage
          .start(root, {
            onEvent: () => {
              calls += 1
              throw new Error("a bad observer")
            }
          })
          .pipe(Effect.provide(Logger.layer([logger])))
        yield* quiet
        assert.strictEqual(calls, 1)
        assert.include(JSON.stringify(lines), "an observer of the tree's events threw and was removed")
        assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
      })
    )

    it.effect("what has no caller to be told is logged, with the path, and only that", () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
        const stage = new Stage()
        const root = Supervisor.make("root", {
          intensity: { restarts: 1, within: "1 minute" },
          children: [stage.child("a"), stage.child("hung", { cleanup: "Infinity", shutdown: "1 second" })]
        })
        const { tree } = yield* stage.start(root, { log: true }).pipe(Effect.provide(Logger.layer([logger])))
        stage.end("a")
        yield* quiet
        stage.end("a")
        yield* quiet
        yield* TestClock.adjust("1 second")
        yield* Effect.exit(tree.ended)
        yield* quiet
        assert.deepStrictEqual(
          lines.map((line) => line.split(",")[0]),
          [
            "Warn root/a crashed",
            "Warn root/a crashed",
            "Error root gave up on a: more than 1 restarts within 1m",
            "Error root/hung did not stop in its grace time and was abandoned"
          ]
        )
      })
    )
  })

  describe("what people read", () => {
    it.effect("a supervisor that gives up says whether its intensity was spent or a child escalated", () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
        const ended = (child: Child.Child<never, never, never>) =>
          Effect.gen(function* () {
            const stage = new Stage()
            const root = Supervisor.make("root", { children: [child] })
            const { tree } = yield* stage.start(root, { log: true }).pipe(Effect.provide(Logger.layer([logger])))
            const end = yield* Effect.forkChild(Effect.exit(tree.ended), { startImmediately: true })
            yield* TestClock.adjust("1 minute")
            yield* Fiber.join(end)
            yield* quiet
            return stage.of("GaveUp").map(({ why }) => why)
          })
        const die = Effect.die("boom")
        assert.deepStrictEqual(yield* ended(Child.effect("a", die)), ["intensity"])
        assert.deepStrictEqual(yield* ended(Child.effect("b", Effect.fail("no"), { onFailure: () => "escalate" })), [
          "escalated"
        ])
        lines.length = 0
        const once = Schedule.spaced("10 millis").pipe(Schedule.upTo({ times: 1 }))
        assert.deepStrictEqual(yield* ended(Child.effect("c", die, { backoff: once })), ["escalated"])
        assert.deepStrictEqual(
          lines.map((line) => line.split(",")[0]),
          ["Warn root/c crashed", "Info root/c is restarted in 10ms", "Warn root/c crashed", "Error root gave up on c"]
        )
      })
    )

    it.effect("a restart that fails to start is logged, a first start that fails is told to its caller alone", () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
        const stage = new Stage()
        let starts = 0
        const child = stage.child("a", {
          init: Effect.suspend(() => {
            starts += 1
            return starts === 2 ? Effect.die("not yet") : Effect.void
          })
        })
        const { tree } = yield* stage
          .start(Supervisor.make("root", { children: [child] }), { log: true })
          .pipe(Effect.provide(Logger.layer([logger])))
        const root = yield* tree.find(["root"])
        yield* Effect.flip(root.startChild(Child.make("b", Effect.die("never"))))
        stage.end("a")
        yield* until("it is back", () => stage.of("Started", "a").length === 2)
        yield* quiet
        assert.deepStrictEqual(
          lines.map((line) => line.split(",")[0]),
          ["Warn root/a crashed", "Warn root/a failed to start again"]
        )
      })
    )

    it.effect("references and handles show their place, not the tree behind it", () =>
      Effect.gen(function* () {
        class Mute extends Actor.Service<Mute>()("Mute", [Rpc.make("Wait", { payload: { n: Schema.Finite } })]) {}
        class Mutes extends Supervisor.DynamicService<Mutes, void, Mute>()("Mutes") {}
        const mute = Mute.child(Effect.succeed(Mute.handlers({ Wait: () => Effect.never })))
        const stage = new Stage()
        const { context, tree } = yield* stage.start(
          Supervisor.make("root", { children: [mute, Mutes.child(() => mute)] })
        )
        const ref = Context.get(context, Mute)
        const child = yield* Context.get(context, Mutes).start()
        const shown = [ref, ref.tell, yield* tree.find(["root"]), Context.get(context, Mutes), child, child.ref]
        const texts = ["Ref(root/Mute)", "Ref(root/Mute)", "Handle(root)", "Dynamic(root/Mutes)"]
        texts.push("DynamicChild(root/Mutes/1)", "Ref(root/Mutes/1)")
        assert.deepStrictEqual(shown.map(String), texts)
        assert.deepStrictEqual(
          shown.map((one) => JSON.stringify(one)),
          texts.map((text) => JSON.stringify(text))
        )
        for (const [i, one] of shown.entries()) {
          assert.isBelow(format({ one }).length, 60)
          assert.include(format({ one }), texts[i]!)
        }
        const defect = Cause.squash(yield* Effect.flip(Effect.sandbox(ref.Wait({ n: Number.NaN })))) as Error
        assert.match(defect.message, /^Mute\.Wait: the payload does not pass its schema: [^{}]*finite[^{}]*\["n"\]/s)
      })
    )

    it.effect("a refusal says what is not there", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("house", { children: [] }))
        const house = yield* tree.find(["house"])
        const messages = yield* Effect.forEach(
          [house.stopChild("nope"), tree.find(["hous"]), tree.find(["house", "x", "y"])] as const,
          (request) => Effect.map(Effect.flip(request as Effect.Effect<unknown, Tree.ChildRefused>), (it) => it.message)
        )
        assert.deepStrictEqual(messages, [
          'house has no child "nope"',
          'the tree has no root "hous"',
          'house has no child "x"'
        ])
      })
    )
  })

  describe("snapshot", () => {
    it.effect("R-502 a running node says since when, a bounded mailbox how much it takes", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Bounded extends Actor.Service<Bounded>()("Bounded", [Rpc.make("Wait", {})]) {}
        const handlers = Effect.succeed(Bounded.handlers({ Wait: () => Effect.void }))
        const root = Supervisor.make("root", {
          children: [stage.child("a"), Bounded.child(handlers, { mailbox: { capacity: 7 } })]
        })
        const { tree } = yield* stage.start(root)
        yield* TestClock.adjust("10 seconds")
        stage.end("a")
        yield* quiet
        const seen = (yield* tree.snapshot).children.map(({ capacity, id, since }) => [id, since, capacity])
        assert.deepStrictEqual(seen, [
          ["a", 10_000, undefined],
          ["Bounded", 0, 7]
        ])
      })
    )

    it.effect("R-502 one of many of a kind is told from a child that was declared", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Pool extends Supervisor.DynamicService<Pool, string, never, unknown>()("pool") {}
        const { context, tree } = yield* stage.start(
          Supervisor.make("root", { children: [Pool.child((name) => stage.child(name)), stage.child("a")] })
        )
        yield* Context.get(context, Pool).start("one")
        const { children } = yield* tree.snapshot
        assert.deepStrictEqual(
          children.map(({ children, id, instance }) => [id, instance, children.map((child) => child.instance)]),
          [
            ["pool", undefined, [true]],
            ["a", undefined, []]
          ]
        )
      })
    )

    it.effect("R-112 one call shows the whole tree: states, counts, budgets, mail", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Mute extends Actor.Service<Mute>()("Mute", [Rpc.make("Wait", {})]) {}
        const root = Supervisor.make("root", {
          children: [
            Supervisor.make("inner", {
              intensity: { restarts: 5, within: "1 minute" },
              restart: "on-failure",
              children: [stage.child("a"), stage.child("b", { backoff: Schedule.spaced("1 hour") })]
            }),
            Mute.child(Effect.succeed(Mute.handlers({ Wait: () => Effect.never }))),
            Child.make("declines", Effect.succeed(Child.ignore), { restart: "on-failure" })
          ]
        })
        const { context, tree } = yield* stage.start(root)
        stage.end("a")
        stage.end("b")
        for (let n = 0; n < 3; n++) yield* Context.get(context, Mute).tell.Wait()
        yield* quiet
        const minute = Duration.minutes(1)
        const leaf = { leaked: 0, restart: "always", children: [], kind: "worker" } as const
        assert.deepStrictEqual(yield* tree.snapshot, {
          id: "root",
          path: ["root"],
          kind: "supervisor",
          state: "running",
          restart: "always",
          incarnation: 1,
          restarts: 0,
          leaked: 0,
          since: 0,
          intensity: { restarts: 3, within: Duration.seconds(5), left: 3 },
          children: [
            {
              id: "inner",
              path: ["root", "inner"],
              kind: "supervisor",
              state: "running",
              restart: "on-failure",
              incarnation: 1,
              restarts: 0,
              leaked: 0,
              since: 0,
              intensity: { restarts: 5, within: minute, left: 4 },
              children: [
                {
                  ...leaf,
                  id: "a",
                  path: ["root", "inner", "a"],
                  state: "running",
                  incarnation: 2,
                  restarts: 1,
                  since: 0
                },
                {
                  ...leaf,
                  id: "b",
                  path: ["root", "inner", "b"],
                  state: "backing-off",
                  incarnation: 1,
                  restarts: 0,
                  retryAt: 3_600_000
                }
              ]
            },
            {
              ...leaf,
              id: "Mute",
              path: ["root", "Mute"],
              kind: "actor",
              state: "running",
              incarnation: 1,
              restarts: 0,
              since: 0,
              mailbox: 2
            },
            {
              ...leaf,
              id: "declines",
              path: ["root", "declines"],
              restart: "on-failure",
              state: "stopped",
              incarnation: 1,
              restarts: 0
            }
          ]
        })
      })
    )

    it.effect("R-112 the root shows that it starts, stops, and has stopped", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const seen: Array<string> = []
        const root = Supervisor.make("root", {
          children: [
            Child.make(
              "reader",
              Effect.gen(function* () {
                const tree = yield* Tree.Tree
                seen.push((yield* tree.snapshot).state)
                yield* Effect.addFinalizer(() => Effect.map(tree.snapshot, ({ state }) => seen.push(state)))
                return Effect.never
              })
            )
          ]
        })
        const { tree } = yield* stage.start(root)
        seen.push((yield* tree.snapshot).state)
        yield* tree.stop
        seen.push((yield* tree.snapshot).state)
        assert.deepStrictEqual(seen, ["starting", "running", "stopping", "stopped"])
      })
    )
  })

  describe("find", () => {
    it.effect("finds a node by its path, and names the first id that is missing", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [Supervisor.make("inner", { children: [stage.child("a")] }), stage.child("b")]
        })
        const { tree } = yield* stage.start(root)
        assert.deepStrictEqual((yield* tree.find(["root", "inner", "a"])).path, ["root", "inner", "a"])
        assert.strictEqual((yield* (yield* tree.find(["root", "inner"])).snapshot).children[0]!.id, "a")
        const failures = yield* Effect.forEach(
          [[], ["rot"], ["root", "none"], ["root", "inner", "none", "x"], ["root", "b", "x"], ["root", "__proto__"]],
          (path) =>
            Effect.map(Effect.flip(tree.find(path)), ({ supervisor, child, reason }) => [
              supervisor.join("/"),
              child,
              reason
            ])
        )
        assert.deepStrictEqual(failures, [
          ["", "", "not-found"],
          ["", "rot", "not-found"],
          ["root", "none", "not-found"],
          ["root/inner", "none", "not-found"],
          ["root/b", "x", "not-a-supervisor"],
          ["root", "__proto__", "not-found"]
        ])
      })
    )

    it.effect("a handle to a supervisor stays valid over its restarts", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [
            Supervisor.make("inner", { intensity: { restarts: 0, within: "1 second" }, children: [stage.child("a")] })
          ]
        })
        const { tree } = yield* stage.start(root)
        const inner = yield* tree.find(["root", "inner"])
        stage.end("a")
        yield* until("it is back", () => stage.of("Started", "inner").length === 2)
        yield* inner.startChild(stage.child("b"))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "inner", "b").state, "running")
      })
    )

    it.effect("a request on a node that is no supervisor is refused", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
        const a = yield* tree.find(["root", "a"])
        for (const request of [
          a.stopChild("x"),
          a.removeChild("x"),
          a.restartChild("x"),
          a.startChild(stage.child("x"))
        ]) {
          const error = yield* Effect.flip(request as Effect.Effect<unknown, Tree.ChildRefused>)
          assert.strictEqual(error.message, 'root/a refused "x": not-a-supervisor')
        }
      })
    )

    it.effect("an init that asks the supervisor that waits for it is refused at once", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const reasons: Array<string> = []
        const selfish = Child.make(
          "selfish",
          Effect.gen(function* () {
            const tree = yield* Tree.Tree
            for (const path of [["root"], ["root", "inner"]]) {
              const error = yield* Effect.flip((yield* tree.find(path)).stopChild("other"))
              reasons.push(error.reason)
            }
            return Effect.never
          })
        )
        yield* stage.start(Supervisor.make("root", { children: [Supervisor.make("inner", { children: [selfish] })] }))
        assert.deepStrictEqual(reasons, ["called-from-init", "called-from-init"])
      })
    )

    it.effect("a run effect may stop its own siblings, and itself", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const go = yield* Deferred.make<void>()
        const boss = Child.effect(
          "boss",
          Effect.gen(function* () {
            yield* Deferred.await(go)
            const handle = yield* Tree.find(["root"])
            yield* handle.stopChild("a")
            yield* handle.stopChild("boss")
          })
        )
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), boss] }))
        yield* Deferred.succeed(go, undefined)
        yield* until("both are down", () => stage.of("Exited").length === 2)
        yield* quiet
        assert.deepStrictEqual(
          (yield* tree.snapshot).children.map((child) => child.state),
          ["stopped", "stopped"]
        )
      })
    )
  })

  describe("ended", () => {
    it.effect("succeeds when the tree was stopped, and a program beside it may race it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const layer = Supervisor.layer(
          Supervisor.make("root", { intensity: { restarts: 0, within: "1 second" }, children: [stage.child("a")] }),
          { log: false }
        )
        const error = yield* Effect.gen(function* () {
          stage.end("a")
          return yield* Effect.never
        }).pipe(Effect.raceFirst(Tree.ended), Effect.provide(layer), Effect.flip)
        assert.strictEqual(error._tag === "GaveUp" ? error.message : error._tag, "root gave up on a: a crashed")
        const stopped = yield* Effect.gen(function* () {
          const tree = yield* Tree.Tree
          yield* tree.stop
          return yield* Tree.ended
        }).pipe(Effect.provide(Layer.fresh(layer)), Effect.exit)
        assert.deepStrictEqual(stopped, Exit.void)
      })
    )
  })

  describe("stop", () => {
    it.effect("reports what an actor left behind, and its late answer reaches nobody", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Deaf extends Actor.Service<Deaf>()("Deaf", [Rpc.make("Work", { success: Schema.String })]) {}
        const deaf = Deaf.child(
          Effect.as(
            Effect.addFinalizer(() => Effect.sync(() => stage.log.push("released"))),
            Deaf.handlers({ Work: () => Effect.uninterruptible(Effect.as(Effect.sleep("1 minute"), "done")) })
          ),
          { shutdown: "1 second" }
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [deaf] }))
        const ask = yield* forked(Effect.exit(Context.get(context, Deaf).Work()))
        yield* quiet
        const report = yield* stage.stop(tree, "1 second")
        assert.deepStrictEqual(report, { leaked: [["root", "Deaf"]] })
        const answer = yield* Fiber.join(ask)
        assert.include(JSON.stringify(answer), "ActorStopped")
        assert.deepStrictEqual(stage.log, [])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(stage.log, ["released"])
        assert.lengthOf(stage.of("LeakEnded", "Deaf"), 1)
        assert.deepStrictEqual(yield* tree.stop, { leaked: [] })
      })
    )
  })
})
