import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Context, Deferred, Duration, Effect, Exit, Fiber, Schedule, Schema, Scope } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor, Tree } from "espalier"

import { Counter, counter, forked } from "../fixtures/counter.ts"
import { withCollector } from "../fixtures/real.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

/** What a caller without types could pass. */
const untyped = (value: unknown): never => value as never

const reasonOf = (request: Effect.Effect<unknown, unknown>) =>
  Effect.map(Effect.result(request), (answer) =>
    answer._tag === "Success" ? "done" : ((answer.failure as Tree.ChildRefused).reason ?? "failed")
  )

/** A tree of the children `a`, `x`, `z` below the root. */
const staged = (x: Parameters<Stage["child"]>[1] = {}, strategy: Supervisor.Strategy = "one-for-one") =>
  Effect.gen(function* () {
    const stage = new Stage()
    const root = Supervisor.make("root", {
      strategy,
      intensity: { restarts: 5, within: "1 hour" },
      children: [stage.child("a"), stage.child("x", x), stage.child("z")]
    })
    const { context, tree } = yield* stage.start(root)
    stage.takeLog()
    return { stage, tree, context, root: yield* tree.find(["root"]) }
  })

const states = (root: Tree.Handle) =>
  Effect.map(root.children, (children) => children.map(({ id, state }) => `${id} ${state}`))

describe("H: requests at run time", () => {
  describe("startChild", () => {
    it.effect("C-083 R-111 a new child is the last one, and its references come back", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        const started = yield* root.startChild(counter(stage, { id: "tally" }))
        assert.deepStrictEqual([started.id, started.path], ["tally", ["root", "tally"]])
        assert.strictEqual(yield* Context.get(started.context, Counter).Add({ by: 2 }), 2)
        assert.deepStrictEqual(yield* states(root), ["a running", "x running", "z running", "tally running"])
      })
    )

    it.effect(
      "C-083 an id that runs is already started: the refusal tells how it stands, a handle has its reference",
      () =>
        Effect.gen(function* () {
          const { root, stage, tree } = yield* staged()
          const tally = counter(stage, { id: "tally" })
          yield* root.startChild(tally)
          const refused = (yield* Effect.flip(root.startChild(tally))) as Tree.ChildRefused
          assert.strictEqual(refused.reason, "already-started")
          assert.deepStrictEqual(refused.present, { state: "running", incarnation: 1 })
          const ref = Context.get((yield* tree.find(["root", "tally"])).context as Context.Context<Counter>, Counter)
          assert.strictEqual(yield* ref.Add({ by: 1 }), 1)
        })
    )

    it.effect("C-083 an id that is stopped, or waits for its restart, is already present", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ backoff: Schedule.spaced("1 minute") })
        yield* root.stopChild("a")
        stage.end("x")
        yield* until("it waits", () => stage.of("BackingOff", "x").length === 1)
        for (const [id, state] of [
          ["a", "stopped"],
          ["x", "backing-off"]
        ] as const) {
          const refused = (yield* Effect.flip(root.startChild(stage.child(id)))) as Tree.ChildRefused
          assert.deepStrictEqual([refused.reason, refused.present], ["already-present", { state, incarnation: 1 }])
        }
      })
    )

    it.effect.each([
      ["a typed failure", Effect.fail("no")],
      ["a defect", Effect.die("bug")],
      ["an interruption", Effect.interrupt]
    ] as const)("C-084 a start that fails by %s keeps nothing and costs nothing", ([_name, init]) =>
      Effect.gen(function* () {
        const { root, stage, tree } = yield* staged()
        const failure = yield* Effect.flip(root.startChild(stage.child("new", { init })))
        assert.strictEqual(failure._tag, "StartFailure")
        assert.deepStrictEqual((failure as Supervisor.StartFailure<unknown>).path, ["root", "new"])
        assert.deepStrictEqual(yield* states(root), ["a running", "x running", "z running"])
        assert.strictEqual((yield* tree.snapshot).intensity?.left, 5)
        assert.strictEqual(yield* reasonOf(root.startChild(stage.child("new"))), "done")
      })
    )
  })

  describe("stopChild", () => {
    it.effect("C-085 answers when the child is entirely down, keeps its spec, and may be asked again", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ cleanup: "2 seconds" })
        const stopping = yield* forked(root.stopChild("x"))
        yield* TestClock.adjust("1 second")
        assert.isUndefined(stopping.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(stage.log, ["stop x", "down x"])
        assert.deepStrictEqual(yield* states(root), ["a running", "x stopped", "z running"])
        yield* root.stopChild("x")
      })
    )

    it.effect("C-085 a `never` child is forgotten, and then unknown", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ restart: "never" })
        yield* root.stopChild("x")
        assert.deepStrictEqual(yield* states(root), ["a running", "z running"])
        assert.strictEqual(yield* reasonOf(root.stopChild("x")), "not-found")
        assert.strictEqual(yield* reasonOf(root.startChild(stage.child("x"))), "done")
      })
    )

    it.effect.each([["nobody"], ["__proto__"], [{ id: "x" }], [undefined]] as const)("C-085 %o is no child", ([id]) =>
      Effect.gen(function* () {
        const { root } = yield* staged()
        for (const request of [root.stopChild, root.restartChild, root.removeChild, root.specOf]) {
          assert.strictEqual(yield* reasonOf(request(untyped(id))), "not-found")
        }
        assert.deepStrictEqual(yield* states(root), ["a running", "x running", "z running"])
      })
    )

    it.effect("C-086 one that waits for its restart is stopped, and never comes back", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ backoff: Schedule.spaced("1 minute") })
        stage.end("x")
        yield* until("it waits", () => stage.of("BackingOff", "x").length === 1)
        yield* root.stopChild("x")
        stage.takeLog()
        yield* TestClock.adjust("1 hour")
        yield* quiet
        assert.deepStrictEqual(stage.log, [])
        assert.deepStrictEqual(yield* states(root), ["a running", "x stopped", "z running"])
      })
    )

    it.effect("C-086 one whose restart fails again and again is stopped between two tries", () =>
      Effect.gen(function* () {
        let fails = false
        const stage = new Stage()
        const x = stage.child("x", { init: Effect.suspend(() => (fails ? Effect.fail("not yet") : Effect.void)) })
        const root = Supervisor.make("root", { intensity: { restarts: 1_000_000, within: "1 hour" }, children: [x] })
        const { tree } = yield* stage.start(root)
        fails = true
        stage.end("x")
        yield* until("it was tried often", () => stage.of("StartFailed", "x").length > 20)
        const handle = yield* tree.find(["root"])
        yield* handle.stopChild("x")
        const tries = stage.of("StartFailed", "x").length
        yield* quiet
        assert.strictEqual(stage.of("StartFailed", "x").length, tries)
        assert.deepStrictEqual(yield* states(handle), ["x stopped"])
      })
    )
  })

  describe("restartChild and removeChild", () => {
    it.effect("C-087 R-111 a stopped child gets a new incarnation in its old place", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        yield* root.stopChild("x")
        stage.takeLog()
        yield* root.restartChild("x")
        assert.deepStrictEqual(stage.log, ["start x", "up x"])
        assert.deepStrictEqual(
          (yield* root.children).map(({ id, incarnation }) => [id, incarnation]),
          [
            ["a", 1],
            ["x", 2],
            ["z", 1]
          ]
        )
      })
    )

    it.effect("C-087 C-088 what runs, and what waits for its restart, is refused, with how it stands", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ backoff: Schedule.spaced("1 minute") })
        for (const [reason, state] of [
          ["running", "running"],
          ["restarting", "backing-off"]
        ] as const) {
          for (const request of [root.restartChild("x"), root.removeChild("x")]) {
            const refused = (yield* Effect.flip(request)) as Tree.ChildRefused
            assert.deepStrictEqual([refused.reason, refused.present], [reason, { state, incarnation: 1 }])
          }
          if (state === "running") stage.end("x")
          yield* until("it waits", () => stage.of("BackingOff", "x").length === 1)
        }
      })
    )

    it.effect("C-087 a start that fails is told, the spec is kept, the budget untouched", () =>
      Effect.gen(function* () {
        let fails = false
        const { root, tree } = yield* staged({ init: Effect.suspend(() => (fails ? Effect.fail("no") : Effect.void)) })
        yield* root.stopChild("x")
        fails = true
        const failure = yield* Effect.flip(root.restartChild("x"))
        assert.strictEqual(failure._tag, "StartFailure")
        assert.deepStrictEqual(yield* states(root), ["a running", "x failed", "z running"])
        assert.strictEqual((yield* tree.snapshot).intensity?.left, 5)
        fails = false
        yield* root.restartChild("x")
        assert.deepStrictEqual(yield* states(root), ["a running", "x running", "z running"])
      })
    )

    it.effect("C-088 a stopped child is forgotten, and its id is free", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        yield* root.stopChild("x")
        yield* root.removeChild("x")
        assert.deepStrictEqual(yield* states(root), ["a running", "z running"])
        assert.strictEqual(yield* reasonOf(root.removeChild("x")), "not-found")
        yield* root.startChild(stage.child("x"))
        assert.deepStrictEqual(yield* states(root), ["a running", "z running", "x running"])
      })
    )
  })

  describe("what a supervisor tells of its children", () => {
    it.effect("C-089 R-111 every child once, in start order, added ones last, in whatever state", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          intensity: { restarts: 5, within: "1 hour" },
          children: [
            stage.child("stopped"),
            Supervisor.make("inner", { restart: "on-failure", children: [stage.child("leaf")] }),
            counter(stage, { restart: "on-failure" }),
            stage.child("waits", { backoff: Schedule.spaced("1 minute") }),
            stage.child("gone", { restart: "never" })
          ]
        })
        const { tree } = yield* stage.start(root)
        const handle = yield* tree.find(["root"])
        yield* handle.startChild(stage.child("added"))
        yield* handle.stopChild("stopped")
        stage.end("waits")
        stage.end("gone")
        yield* until("it waits", () => stage.of("BackingOff", "waits").length === 1)
        const child = (
          id: string,
          kind: Tree.ChildInfo["kind"],
          state: Tree.NodeState,
          restart: Child.Restart = "always"
        ): Tree.ChildInfo => ({ id, path: ["root", id], kind, state, restart, incarnation: 1 })
        assert.deepStrictEqual(yield* handle.children, [
          child("stopped", "worker", "stopped"),
          child("inner", "supervisor", "running", "on-failure"),
          child("Counter", "actor", "running", "on-failure"),
          child("waits", "worker", "backing-off"),
          child("added", "worker", "running")
        ])
        assert.deepStrictEqual(yield* handle.counts, { specs: 5, active: 3, supervisors: 1, workers: 4 })
        const inner = yield* tree.find(["root", "inner"])
        assert.deepStrictEqual(
          (yield* inner.children).map(({ path }) => path),
          [["root", "inner", "leaf"]]
        )
      })
    )

    it.effect("C-089 a child may read its supervisor while that starts it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let read: unknown
        const reader = Child.make(
          "reader",
          Effect.gen(function* () {
            const handle = yield* Tree.find(["root"])
            read = [yield* states(handle), yield* handle.counts]
            return Effect.never
          })
        )
        yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), reader, stage.child("z")] }))
        assert.deepStrictEqual(read, [
          ["a running", "reader starting", "z stopped"],
          { specs: 3, active: 1, supervisors: 0, workers: 3 }
        ])
      })
    )

    it.effect.prop(
      "C-090 whatever is asked and whatever crashes, the figures agree with the list and none is negative",
      {
        script: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 << 16 }))))
      },
      ({ script }) =>
        Effect.scoped(
          Effect.gen(function* () {
            const stage = new Stage()
            const restarts = ["always", "on-failure", "never"] as const
            const ids = ["a", "b", "c", "d", "s"]
            const make = (id: string, pick: number) => {
              const restart = restarts[pick % 3]
              const backoff = pick % 5 === 0 ? Schedule.spaced("1 second") : undefined
              return id === "s"
                ? Supervisor.make("s", { restart, children: [] })
                : stage.child(id, { restart, backoff, cleanup: pick % 7 === 0 ? "1 second" : undefined })
            }
            const children: ReadonlyArray<Child.Child<never, unknown, never>> = [
              make("a", 1),
              make("b", 5),
              make("s", 2)
            ]
            const root = Supervisor.make("root", { intensity: { restarts: 10_000, within: "1 hour" }, children })
            const { tree } = yield* stage.start(root)
            const handle = yield* tree.find(["root"])
            for (const pick of script) {
              const id = ids[(pick >> 3) % ids.length]!
              const requests = [
                handle.startChild(make(id, pick >> 6)),
                handle.stopChild(id),
                handle.restartChild(id),
                handle.removeChild(id)
              ]
              if (pick % 8 < 4) yield* forked(Effect.exit(requests[pick % 8]!))
              else if (pick % 8 === 4) yield* TestClock.adjust("1 second")
              else if (pick % 8 === 5) yield* quiet
              else if (id !== "s" && stage.log.includes(`up ${id}`))
                stage.end(id, [Effect.void, Effect.die("x")][pick % 2])
              const [list, counts] = [yield* handle.children, yield* handle.counts]
              const supervisors = list.filter(({ kind }) => kind === "supervisor").length
              assert.deepStrictEqual(counts, {
                specs: list.length,
                active: list.filter(({ state }) => state === "running").length,
                supervisors,
                workers: list.length - supervisors
              })
              assert.isTrue(Object.values(counts).every((count) => count >= 0))
              assert.strictEqual(new Set(list.map((child) => child.id)).size, list.length, "every child once")
            }
            yield* stage.stop(tree, "1 minute")
          })
        ),
      { arbitrary: { runs: 60, size: 60, seed: "espalier" } }
    )

    it.effect("C-091 the spec of a child, complete with its defaults", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          autoShutdown: "all-significant",
          children: [
            Child.effect("plain", Effect.never),
            Child.effect("full", Effect.fail("no") as Effect.Effect<never, string>, {
              restart: "on-failure",
              significant: true,
              shutdown: "abandon",
              initTimeout: "1 second",
              backoff: Schedule.spaced("1 minute"),
              backoffReset: "2 minutes",
              onFailure: () => "stop"
            }),
            counter(stage, { mailbox: { capacity: 3, whenFull: "fail" } }),
            Supervisor.make("inner", { strategy: "rest-for-one", children: [] })
          ]
        })
        const { tree } = yield* stage.start(root)
        const handle = yield* tree.find(["root"])
        const plain = {
          id: "plain",
          kind: "worker",
          restart: "always",
          significant: false,
          shutdown: Duration.seconds(5),
          initTimeout: Duration.seconds(30),
          backoff: false,
          backoffReset: Duration.seconds(60),
          onFailure: false
        } as const
        assert.deepStrictEqual(yield* handle.specOf("plain"), plain)
        assert.deepStrictEqual(yield* handle.specOf("full"), {
          id: "full",
          kind: "worker",
          restart: "on-failure",
          significant: true,
          shutdown: "abandon",
          initTimeout: Duration.seconds(1),
          backoff: true,
          backoffReset: Duration.minutes(2),
          onFailure: true
        })
        assert.deepStrictEqual(yield* handle.specOf("Counter"), {
          ...plain,
          id: "Counter",
          kind: "actor",
          mailbox: { capacity: 3, whenFull: "fail", onRestart: "keep" }
        })
        assert.deepStrictEqual(yield* handle.specOf("inner"), {
          ...plain,
          id: "inner",
          kind: "supervisor",
          shutdown: Duration.infinity,
          initTimeout: Duration.infinity,
          supervisor: {
            strategy: "rest-for-one",
            intensity: { restarts: 3, within: Duration.seconds(5) },
            autoShutdown: "never"
          }
        })
        assert.strictEqual(yield* reasonOf(handle.specOf("none")), "not-found")
      })
    )
  })

  describe("a supervisor that is not there", () => {
    const everything = (handle: Tree.Handle, stage: Stage) => [
      handle.children,
      handle.counts,
      handle.specOf("x"),
      handle.startChild(stage.child("new")),
      handle.stopChild("x"),
      handle.restartChild("x"),
      handle.removeChild("x"),
      handle.replaceChild(stage.child("x"))
    ]

    it.effect(
      "C-092 one that is stopped refuses everything at once, and so does the root of a tree that has ended",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const inner = Supervisor.make("inner", { children: [stage.child("x")] })
          const { tree } = yield* stage.start(Supervisor.make("root", { children: [inner] }))
          const root = yield* tree.find(["root"])
          const handle = yield* tree.find(["root", "inner"])
          yield* root.stopChild("inner")
          for (const request of everything(handle, stage)) assert.strictEqual(yield* reasonOf(request), "not-running")
          yield* root.removeChild("inner")
          for (const request of everything(handle, stage)) assert.strictEqual(yield* reasonOf(request), "not-running")
          yield* tree.stop
          for (const request of everything(root, stage)) assert.strictEqual(yield* reasonOf(request), "not-running")
        })
    )

    it.effect("C-091 C-092 a dynamic supervisor tells of its children too, and takes no new specs", () =>
      Effect.gen(function* () {
        class Crew extends Supervisor.DynamicService<Crew, void, never, unknown>()("Crew") {}
        const stage = new Stage()
        const crew = Crew.child(() => stage.child("x", { restart: "on-failure" }), { intensity: { restarts: 7 } })
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [crew] }))
        const { id } = yield* Context.get(context, Crew).start()
        const handle = yield* tree.find(["root", "Crew"])
        assert.deepStrictEqual(yield* states(handle), [`${id} running`])
        assert.deepStrictEqual(yield* handle.counts, yield* Context.get(context, Crew).counts)
        assert.deepStrictEqual([(yield* handle.specOf(id)).id, (yield* handle.specOf(id)).restart], [id, "on-failure"])
        assert.strictEqual(yield* reasonOf(handle.replaceChild(stage.child(id))), "dynamic-supervisor")
        const root = yield* tree.find(["root"])
        assert.strictEqual((yield* root.specOf("Crew")).supervisor?.intensity.restarts, 7)
        assert.strictEqual(yield* reasonOf(root.replaceChild(crew)), "not-replaceable")
        yield* root.stopChild("Crew")
        for (const request of everything(handle, stage).slice(0, 3)) {
          assert.strictEqual(yield* reasonOf(request), "not-running")
        }
      })
    )

    it.effect("C-092 one that never was is not found, and a worker is none", () =>
      Effect.gen(function* () {
        const { stage, tree } = yield* staged()
        assert.strictEqual(yield* reasonOf(tree.find(["root", "none"])), "not-found")
        const worker = yield* tree.find(["root", "x"])
        for (const request of everything(worker, stage)) {
          assert.strictEqual(yield* reasonOf(request), "not-a-supervisor")
        }
      })
    )

    it.effect("C-092 one that stops while requests wait refuses them all, before its children are down", () =>
      Effect.gen(function* () {
        const { root, stage, tree } = yield* staged({ cleanup: "Infinity", shutdown: "1 hour" })
        const under = yield* forked(reasonOf(root.stopChild("x")))
        const waiting = yield* Effect.forEach(
          [root.stopChild("a"), root.restartChild("z"), root.startChild(stage.child("new")), root.removeChild("a")],
          (request) => forked(reasonOf(request))
        )
        yield* quiet
        const stopping = yield* forked(tree.stop)
        yield* until("all are answered", () => [under, ...waiting].every((fiber) => fiber.pollUnsafe() !== undefined))
        for (const fiber of [under, ...waiting]) assert.strictEqual(yield* Fiber.join(fiber), "not-running")
        assert.isUndefined(stopping.pollUnsafe())
        yield* TestClock.adjust("1 hour")
        yield* Fiber.join(stopping)
      })
    )
  })

  it.effect("C-094 R-111 four fibers stop, restart, stop and remove one child: all succeed, in order", () =>
    Effect.gen(function* () {
      const { root, stage } = yield* staged({ cleanup: "1 second", init: Effect.sleep("1 second") }).pipe(
        Effect.raceFirst(Effect.forever(Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow)))
      )
      const order: Array<string> = []
      const said = (name: string, request: Effect.Effect<void, unknown>) =>
        forked(
          Effect.andThen(
            request,
            Effect.sync(() => order.push(name))
          )
        )
      const fibers = [
        yield* said("stop", root.stopChild("x")),
        yield* said("restart", root.restartChild("x")),
        yield* said("stop again", root.stopChild("x")),
        yield* said("remove", root.removeChild("x"))
      ]
      yield* TestClock.adjust("10 seconds")
      for (const fiber of fibers) yield* Fiber.join(fiber)
      assert.deepStrictEqual(order, ["stop", "restart", "stop again", "remove"])
      assert.deepStrictEqual(stage.log, ["stop x", "down x", "start x", "up x", "stop x", "down x"])
      assert.deepStrictEqual(yield* states(root), ["a running", "z running"])
    })
  )

  it.effect("C-094 a slow init delays the requests and exits behind it, and loses none", () =>
    Effect.gen(function* () {
      const { root, stage } = yield* staged()
      const gate = yield* Deferred.make<void>()
      const slow = yield* forked(root.startChild(stage.child("slow", { init: Deferred.await(gate) })))
      const later = yield* forked(Effect.all([root.stopChild("a"), root.startChild(stage.child("b"))]))
      yield* quiet
      stage.end("x")
      yield* quiet
      assert.deepStrictEqual([slow.pollUnsafe(), later.pollUnsafe()], [undefined, undefined])
      assert.deepStrictEqual(stage.log, ["start slow", "stop x", "down x"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(slow)
      yield* Fiber.join(later)
      assert.deepStrictEqual(stage.log.slice(3), ["up slow", "stop a", "down a", "start x", "up x", "start b", "up b"])
    })
  )

  describe("replaceChild", () => {
    /** A worker that says which version of it runs. */
    const version = (stage: Stage, name: string, options?: Child.Options<unknown>) =>
      Child.make(
        "x",
        Effect.sync(() => {
          stage.log.push(`up ${name}`)
          return Effect.never
        }),
        options
      )

    it.effect("R-111 a stopped child follows its new spec at once", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        yield* root.stopChild("x")
        stage.takeLog()
        yield* root.replaceChild(version(stage, "v2", { restart: "on-failure" }))
        assert.strictEqual((yield* root.specOf("x")).restart, "on-failure")
        assert.deepStrictEqual((yield* root.children)[1]?.restart, "on-failure")
        assert.deepStrictEqual(stage.log, [])
        assert.deepStrictEqual(
          stage.of("Replaced").map(({ incarnation, path }) => [path.join("/"), incarnation]),
          [["root/x", 2]]
        )
        yield* root.restartChild("x")
        assert.deepStrictEqual(stage.log, ["up v2"])
        assert.deepStrictEqual(yield* states(root), ["a running", "x running", "z running"])
      })
    )

    it.effect("R-111 one that runs goes on by its old spec, is judged by it, and comes back by the new one", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ cleanup: "1 second", shutdown: "2 seconds" })
        yield* root.replaceChild(version(stage, "v2", { restart: "on-failure", shutdown: "abandon" }))
        assert.strictEqual((yield* root.children)[1]?.restart, "always")
        assert.strictEqual((yield* root.specOf("x")).restart, "on-failure")
        stage.end("x", Effect.void) // `always` restarts it, `on-failure` would not
        yield* until("it ends", () => stage.log.includes("stop x"))
        yield* TestClock.adjust("1 second")
        yield* until("it is back", () => stage.log.includes("up v2"))
        assert.deepStrictEqual(stage.log, ["stop x", "down x", "up v2"])
        assert.strictEqual((yield* root.children)[1]?.restart, "on-failure")
      })
    )

    it.effect("R-111 one that waits for its restart comes back by the new spec, with a backoff of its own", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ backoff: Schedule.exponential("10 seconds") })
        stage.end("x")
        yield* until("it waits", () => stage.of("BackingOff", "x").length === 1)
        yield* root.replaceChild(stage.child("x", { backoff: Schedule.exponential("1 second") }))
        yield* TestClock.adjust("10 seconds")
        yield* until("it is back", () => stage.of("Started", "x").length === 1)
        stage.end("x")
        yield* until("it waits again", () => stage.of("BackingOff", "x").length === 2)
        assert.deepStrictEqual(
          stage.of("BackingOff", "x").map(({ delay }) => Duration.toMillis(delay)),
          [10_000, 1_000]
        )
      })
    )

    it.effect("R-111 a `never` child is forgotten at its end, and its new spec with it", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged({ restart: "never" })
        yield* root.replaceChild(version(stage, "v2"))
        stage.end("x")
        yield* until("it ended", () => stage.of("Removed", "x").length === 1)
        yield* quiet
        assert.deepStrictEqual(yield* states(root), ["a running", "z running"])
        assert.notInclude(stage.log, "up v2")
      })
    )

    it.effect("R-111 the last of several new specs counts", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        yield* root.replaceChild(version(stage, "v2"))
        yield* root.replaceChild(version(stage, "v3"))
        stage.end("x")
        yield* until("it is back", () => stage.log.includes("up v3"))
        assert.notInclude(stage.log, "up v2")
      })
    )

    it.effect("R-111 a new spec that cannot start is a failed restart", () =>
      Effect.gen(function* () {
        const { root, stage, tree } = yield* staged()
        yield* root.replaceChild(Child.make("x", Effect.fail("worse")))
        stage.end("x")
        const gaveUp = yield* Effect.flip(tree.ended)
        assert.deepStrictEqual(gaveUp.path, ["root", "x"])
        assert.lengthOf(stage.of("StartFailed", "x"), 5)
      })
    )

    it.effect("R-111 an actor keeps its reference and its mail, and gets its new mailbox", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        const options = { id: "tally", mailbox: { capacity: 1, whenFull: "wait" } } as const
        const started = yield* root.startChild(counter(stage, options))
        const ref = Context.get(started.context, Counter)
        yield* forked(ref.Wait())
        const first = yield* forked(ref.Add({ by: 1 }))
        const second = yield* forked(ref.Add({ by: 2 })) // waits for room
        const doubling = Counter.child(
          Effect.sync(() => {
            let total = 0
            return Counter.handlers({
              Add: ({ by }) => (total += 2 * by),
              Slow: ({ name }) => name,
              Wait: () => undefined,
              Crash: () => Effect.die("boom")
            })
          }),
          { id: "tally", mailbox: { capacity: 2, whenFull: "fail" } }
        )
        yield* root.replaceChild(doubling)
        assert.deepStrictEqual((yield* root.specOf("tally")).mailbox?.capacity, 2)
        assert.isUndefined(second.pollUnsafe())
        stage.takeLog()
        yield* forked(Effect.exit(ref.Crash())) // behind those that wait
        yield* root.stopChild("z")
        // Its message in progress is interrupted, and it comes back by the new spec.
        const stopping = yield* forked(root.stopChild("tally"))
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(
          [yield* reasonOf(Fiber.join(first)), yield* reasonOf(Fiber.join(second))],
          ["failed", "failed"]
        )
        yield* root.restartChild("tally")
        assert.strictEqual(yield* ref.Add({ by: 3 }), 6)
      })
    )

    it.effect("R-111 senders that waited for room are let in by a larger mailbox", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const small = counter(stage, {
          mailbox: { capacity: 1, whenFull: "wait" },
          backoff: Schedule.spaced("1 minute")
        })
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [small] }))
        const ref = Context.get(context, Counter)
        const root = yield* tree.find(["root"])
        yield* forked(Effect.exit(ref.Crash()))
        yield* until("it waits for its restart", () => stage.of("BackingOff").length === 1)
        const told: Array<number> = []
        for (const by of [1, 2, 3, 4]) {
          yield* forked(
            Effect.andThen(
              ref.tell.Add({ by }),
              Effect.sync(() => told.push(by))
            )
          )
        }
        yield* quiet
        assert.deepStrictEqual(told, [1])
        const ready = yield* Deferred.make<void>()
        const slow = Effect.andThen(
          Deferred.await(ready),
          Effect.sync(() => {
            let total = 0
            return Counter.handlers({
              Add: ({ by }) => (total += by),
              Slow: ({ name }) => name,
              Wait: () => {},
              Crash: () => {}
            })
          })
        )
        yield* root.replaceChild(Counter.child(slow, { mailbox: { capacity: 3, whenFull: "wait" } }))
        yield* TestClock.adjust("1 minute")
        yield* until("it starts", () => stage.of("Starting", "Counter").length === 2)
        yield* quiet
        assert.deepStrictEqual(told, [1, 2, 3])
        yield* Deferred.succeed(ready, undefined)
        yield* until("all are in", () => told.length === 4)
        assert.strictEqual(yield* ref.Add({ by: 0 }), 10)
      })
    )

    it.effect("R-111 a declared child follows its declaration again when its supervisor restarts", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const inner = Supervisor.make("inner", {
          intensity: { restarts: 0 },
          children: [stage.child("x"), stage.child("y"), stage.child("bomb")]
        })
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [inner] }))
        const handle = yield* tree.find(["root", "inner"])
        yield* handle.stopChild("x")
        yield* handle.replaceChild(version(stage, "v2", { restart: "on-failure" }))
        yield* handle.replaceChild(version(stage, "v3", { restart: "on-failure" }))
        yield* handle.restartChild("x")
        yield* handle.replaceChild(Child.effect("y", Effect.never, { restart: "never" }))
        assert.include(stage.log, "up v3")
        stage.takeLog()
        stage.end("bomb")
        yield* until("it is back", () => stage.of("Started", "inner").length === 1)
        assert.isTrue(stage.log.includes("up x") && stage.log.includes("up y"))
        assert.deepStrictEqual(
          (yield* handle.children).map(({ restart }) => restart),
          ["always", "always", "always"]
        )
        assert.strictEqual((yield* handle.specOf("y")).restart, "always")
      })
    )

    class Other extends Actor.Service<Other>()("Other", [Rpc.make("Ping", {})]) {}
    class Twin extends Actor.Service<Twin>()("Counter", [Rpc.make("Ping", {})]) {}

    it.effect("R-111 what would leave references without an owner is refused, and nothing changes", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [stage.child("x"), counter(stage), Supervisor.make("inner", { children: [] })]
        })
        const { tree } = yield* stage.start(root)
        const handle = yield* tree.find(["root"])
        const before = yield* handle.specOf("Counter")
        const ping = { Ping: () => undefined }
        const cases = [
          [stage.child("nobody"), "not-found"],
          [stage.child("Counter"), "other-kind"],
          [counter(stage, { id: "x" }), "other-kind"],
          [Other.child(Effect.succeed(ping), { id: "Counter" }), "other-service"],
          [Twin.child(Effect.succeed(ping)), "other-service"],
          [Supervisor.make("inner", { children: [stage.child("y")] }), "not-replaceable"],
          [stage.child("inner"), "not-replaceable"],
          [stage.child("x", { significant: true, restart: "never" }), "no-auto-shutdown"]
        ] as const
        for (const [child, reason] of cases) {
          assert.strictEqual(yield* reasonOf(handle.replaceChild(child as Child.Child<never, unknown, never>)), reason)
        }
        assert.deepStrictEqual(yield* handle.specOf("Counter"), before)
        assert.lengthOf(stage.of("Replaced"), 0)
      })
    )

    class Setting extends Context.Service<Setting, string>()("Setting") {}

    it.effect("R-111 a new spec brings along what its caller provides", () =>
      Effect.gen(function* () {
        const { root, stage } = yield* staged()
        const child = Child.make(
          "x",
          Effect.gen(function* () {
            stage.log.push(yield* Setting)
            return Effect.never
          })
        )
        yield* root.replaceChild(child).pipe(Effect.provideService(Setting, "loud"))
        stage.end("x")
        yield* until("it is back", () => stage.log.includes("loud"))
      })
    )
  })

  describe("children that ask their own supervisor", () => {
    /** A child `x` whose finalizer asks for something; `end` ends its current incarnation. */
    const finalizing = (request: (root: Tree.Handle) => Effect.Effect<unknown, unknown>, answers: Array<string>) => {
      let current: Deferred.Deferred<void>
      const child = Child.make(
        "x",
        Effect.gen(function* () {
          const root = yield* Tree.find(["root"])
          yield* Effect.addFinalizer(() =>
            Effect.andThen(reasonOf(request(root)), (answer) => Effect.sync(() => answers.push(answer)))
          )
          current = yield* Deferred.make<void>()
          return Deferred.await(current)
        })
      )
      return { child, end: Effect.suspend(() => Deferred.succeed(current, undefined)) }
    }

    it.effect.each([
      ["stopChild of itself", (root: Tree.Handle) => root.stopChild("x")],
      ["stopChild of another", (root: Tree.Handle) => root.stopChild("a")],
      ["restartChild", (root: Tree.Handle) => root.restartChild("x")],
      ["removeChild", (root: Tree.Handle) => root.removeChild("x")],
      ["startChild", (root: Tree.Handle) => root.startChild(Child.effect("new", Effect.never))],
      ["replaceChild", (root: Tree.Handle) => root.replaceChild(Child.effect("x", Effect.never))]
    ] as const)("C-095 a finalizer of a stop that asks for %s is refused at once", ([_name, request]) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const { child } = finalizing(request, answers)
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), child] }))
        yield* (yield* tree.find(["root"])).stopChild("x") // without any time passing
        assert.deepStrictEqual(answers, ["called-from-stop"])
        assert.lengthOf(stage.of("Leaked"), 0)
      })
    )

    it.effect("C-095 a finalizer of a child that ended by itself may ask, but not for its own stop", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const { child, end } = finalizing((root) => Effect.andThen(root.stopChild("a"), root.stopChild("x")), answers)
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), child] }))
        yield* end
        yield* until("it is back", () => stage.of("Started", "x").length === 2)
        assert.deepStrictEqual(answers, ["called-from-stop"])
        assert.deepStrictEqual(yield* states(yield* tree.find(["root"])), ["a stopped", "x running"])
      })
    )

    it.effect("C-095 a finalizer of a member that the group has yet to stop is refused", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const { child, end } = finalizing((root) => root.stopChild("a"), answers)
        const root = Supervisor.make("root", {
          strategy: "one-for-all",
          children: [stage.child("a"), child, stage.child("z", { cleanup: "1 second" })]
        })
        const { tree } = yield* stage.start(root)
        stage.end("a") // the group stops, z first
        yield* until("z is being stopped", () => stage.log.includes("stop z"))
        yield* end
        yield* until("x was refused", () => answers.length === 1)
        assert.deepStrictEqual(answers, ["called-from-stop"])
        yield* TestClock.adjust("1 second")
        yield* until("all are back", () => stage.of("Started", "z").length === 2)
        yield* stage.stop(tree, "1 second")
      })
    )

    it.effect("C-095 a finalizer below may not ask for the stop of what is above it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const { child, end } = finalizing((root) => root.stopChild("inner"), answers)
        const inner = Supervisor.make("inner", { children: [child] })
        yield* stage.start(Supervisor.make("root", { children: [inner] }))
        yield* end
        yield* until("it is back", () => stage.of("Started", "x").length === 2)
        assert.deepStrictEqual(answers, ["called-from-stop"])
      })
    )

    it.effect("C-095 a finalizer of a scope that was added by hand is known as well", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const tree: { root?: Tree.Handle } = {}
        const child = Child.make(
          "x",
          Effect.gen(function* () {
            const ask = Effect.suspend(() => reasonOf(tree.root!.stopChild("a")))
            yield* Scope.addFinalizer(
              yield* Effect.scope,
              Effect.map(ask, (answer) => void answers.push(answer))
            )
            return Effect.never
          })
        )
        const started = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), child] }))
        tree.root = yield* started.tree.find(["root"])
        yield* tree.root.stopChild("x")
        assert.deepStrictEqual(answers, ["called-from-stop"])
      })
    )

    it.effect("C-095 a request that a finalizer forks, and does not wait for, is carried out after the stop", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const { child } = finalizing(
          (root) =>
            Effect.forkDetach(
              Effect.map(reasonOf(root.stopChild("a")), (answer) => answers.push(answer)),
              { startImmediately: true }
            ),
          answers
        )
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), child] }))
        const root = yield* tree.find(["root"])
        yield* root.stopChild("x")
        yield* until("both are answered", () => answers.length === 2)
        assert.deepStrictEqual(answers, ["done", "done"])
        assert.deepStrictEqual(yield* states(root), ["a stopped", "x stopped"])
      })
    )

    it.effect("C-095 uninterruptible code may not stop its own child, and may stop another", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const go = yield* Deferred.make<void>()
        const boss = Child.effect(
          "boss",
          Effect.gen(function* () {
            yield* Deferred.await(go)
            const root = yield* Tree.find(["root"])
            answers.push(yield* Effect.uninterruptible(reasonOf(root.stopChild("boss"))))
            answers.push(yield* Effect.uninterruptible(reasonOf(root.stopChild("a"))))
            return yield* Effect.never
          })
        )
        yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), boss] }))
        yield* Deferred.succeed(go, undefined)
        yield* until("both are answered", () => answers.length === 2)
        assert.deepStrictEqual(answers, ["called-from-stop", "done"])
      })
    )

    it.effect(
      "C-095 uninterruptible code that asks in the tick in which its stop was asked for is refused in its turn",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const answers: Array<string> = []
          const go = yield* Deferred.make<void>()
          const boss = Child.effect(
            "boss",
            Effect.uninterruptible(
              Effect.gen(function* () {
                const root = yield* Effect.orDie(Tree.find(["root"]))
                stage.log.push("waits")
                yield* Deferred.await(go)
                stage.log.push(`asks while ${(yield* Effect.orDie(root.children))[1]?.state}`)
                answers.push(yield* reasonOf(root.stopChild("a")))
              })
            )
          )
          const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), boss] }))
          yield* until("it waits", () => stage.log.includes("waits"))
          const stopping = yield* forked((yield* tree.find(["root"])).stopChild("boss"))
          Deferred.doneUnsafe(go, Exit.void)
          yield* Fiber.join(stopping) // without any time passing
          assert.include(stage.log, "asks while running")
          assert.deepStrictEqual(answers, ["called-from-stop"])
        })
    )

    class Boss extends Actor.Service<Boss>()("Boss", [
      Rpc.make("Stop", { payload: { id: Schema.String }, success: Schema.String })
    ]) {}
    const boss = (stop: "interrupt" | "finish") =>
      Boss.child(
        Effect.map(Tree.Tree, (tree) =>
          Boss.handlers({
            Stop: ({ id }) => Effect.flatMap(Effect.orDie(tree.find(["root"])), (root) => reasonOf(root.stopChild(id)))
          })
        ),
        { stop }
      )

    it.effect("C-095 a handler may stop its own actor: it is interrupted, unless it is left to finish", () =>
      Effect.gen(function* () {
        for (const [stop, expected] of [
          ["interrupt", "ActorStopped"],
          ["finish", "called-from-stop"]
        ] as const) {
          const stage = new Stage()
          const { context, tree } = yield* stage.start(
            Supervisor.make("root", { children: [stage.child("a"), boss(stop)] })
          )
          const ref = Context.get(context, Boss)
          assert.strictEqual(yield* ref.Stop({ id: "a" }), "done")
          const answer = yield* Effect.result(ref.Stop({ id: "Boss" }))
          assert.strictEqual(answer._tag === "Success" ? answer.success : answer.failure._tag, expected)
          const root = yield* tree.find(["root"])
          yield* quiet
          assert.deepStrictEqual(yield* states(root), [
            "a stopped",
            `Boss ${stop === "finish" ? "running" : "stopped"}`
          ])
        }
      })
    )

    it.effect("C-095 a finishing handler that asks while its actor is stopped is refused", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const gate = yield* Deferred.make<void>()
        const slow = Boss.child(
          Effect.map(Tree.Tree, (tree) =>
            Boss.handlers({
              Stop: ({ id }) =>
                Effect.gen(function* () {
                  stage.log.push("waits")
                  yield* Deferred.await(gate)
                  return yield* reasonOf((yield* Effect.orDie(tree.find(["root"]))).stopChild(id))
                })
            })
          ),
          { stop: "finish" }
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), slow] }))
        const answer = yield* forked(Context.get(context, Boss).Stop({ id: "a" }))
        yield* until("it waits", () => stage.log.includes("waits"))
        const stopping = yield* forked((yield* tree.find(["root"])).stopChild("Boss"))
        yield* quiet
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(stopping)
        assert.strictEqual(yield* Fiber.join(answer), "called-from-stop")
      })
    )

    it.effect("C-095 an init that asks is refused, a run effect during the same start is not", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<string> = []
        const gate = yield* Deferred.make<void>()
        const child = Child.make(
          "x",
          Effect.gen(function* () {
            const root = yield* Tree.find(["root"])
            answers.push(yield* reasonOf(root.stopChild("a")))
            return Effect.andThen(
              Effect.map(reasonOf(root.stopChild("a")), (answer) => answers.push(answer)),
              Effect.never
            )
          })
        )
        const inner = Supervisor.make("inner", {
          children: [child, stage.child("slow", { init: Deferred.await(gate) })]
        })
        const starting = yield* forked(stage.start(Supervisor.make("root", { children: [stage.child("a"), inner] })))
        yield* quiet
        assert.deepStrictEqual(answers, ["called-from-init"])
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.join(starting)
        yield* until("the run effect has its answer", () => answers.length === 2)
        assert.deepStrictEqual(answers, ["called-from-init", "done"])
      })
    )

    class Pool extends Supervisor.DynamicService<Pool>()("Pool") {}

    it.effect(
      "C-095 a child of a dynamic supervisor may ask it for anything in its init, and not for its own stop",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const answers: Array<string> = []
          const pool = Pool.child(() =>
            Child.make(
              "member",
              Effect.gen(function* () {
                const handle = yield* Effect.orDie(Tree.find(["root", "Pool"]))
                const members = yield* Effect.orDie(handle.children)
                const own = members.at(-1)!.id
                const tell = (request: Effect.Effect<unknown, unknown>) =>
                  Effect.map(reasonOf(request), (answer) => void answers.push(`${own} ${answer}`))
                if (members.length > 1) yield* tell(handle.stopChild(members[0]!.id))
                yield* Effect.addFinalizer(() => tell(handle.stopChild(own)))
                return Effect.never
              })
            )
          )
          const { context } = yield* stage.start(Supervisor.make("root", { children: [pool] }))
          const first = yield* Context.get(context, Pool).start()
          const second = yield* Context.get(context, Pool).start()
          assert.deepStrictEqual(answers, [`${first.id} called-from-stop`, `${second.id} done`])
          yield* second.stop // without any time passing
          assert.deepStrictEqual(answers.slice(2), [`${second.id} called-from-stop`])
          assert.lengthOf(stage.of("Leaked"), 0)
        })
    )

    it.effect("C-095 a finalizer that stops the whole tree does not wait for itself", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const gate = yield* Deferred.make<void>()
        const stopping = Child.make(
          "last",
          Effect.gen(function* () {
            const tree = yield* Tree.Tree
            yield* Effect.addFinalizer(() => Effect.ignore(tree.stop))
            return Deferred.await(gate)
          })
        )
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), stopping] }))
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* Effect.exit(tree.ended), Exit.void) // without any time passing
        assert.lengthOf(stage.of("Leaked"), 0)
      })
    )
  })

  withCollector("C-096 nothing of a removed or finished child is kept, however often", () =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const collect = runInNewContext("gc") as () => void
      const { root, stage } = yield* staged()
      const kept: Array<WeakRef<object>> = []
      /** A child whose init and run effect hold a large argument. */
      const holding = (
        id: string,
        restart: Child.Restart,
        init: Effect.Effect<Effect.Effect<unknown, unknown>, string>
      ) => {
        const large = { bytes: new Uint8Array(100_000) }
        kept.push(new WeakRef(large))
        return Child.make(
          id,
          Effect.suspend(() => (large.bytes.length > 0 ? init : Effect.die("never"))),
          { restart }
        )
      }
      for (let i = 0; i < 20; i++) {
        yield* root.startChild(holding("removed", "always", Effect.succeed(Effect.never)))
        yield* root.stopChild("removed")
        yield* root.removeChild("removed")
        yield* root.startChild(holding("stopped", "never", Effect.succeed(Effect.never)))
        yield* root.stopChild("stopped")
        yield* root.startChild(holding("finished", "never", Effect.succeed(Effect.void)))
        yield* root.startChild(holding("crashed", "never", Effect.succeed(Effect.die("x"))))
        yield* Effect.exit(root.startChild(holding("failed", "always", Effect.fail("no"))))
        yield* until("they ended", () => stage.of("Removed").length === 5 * (i + 1))
        yield* root.stopChild("x")
        yield* root.replaceChild(holding("x", "always", Effect.succeed(Effect.never))) // the last one is in use
      }
      assert.lengthOf(kept, 120)
      const left = () => kept.filter((ref) => ref.deref() !== undefined).length
      stage.takeLog()
      for (let turn = 0; turn < 100 && left() > 1; turn++) {
        yield* Effect.sleep("5 millis")
        collect()
      }
      assert.strictEqual(left(), 1)
      assert.deepStrictEqual(yield* states(root), ["a running", "x stopped", "z running"])
    })
  )

  it.effect("R-111 requests are safe while restarts are under way", () =>
    Effect.gen(function* () {
      const { root, stage, tree } = yield* staged({ cleanup: "1 second" }, "one-for-all")
      stage.end("a")
      yield* until("the group stops", () => stage.log.includes("stop x"))
      const answers = yield* Effect.forEach(
        [root.stopChild("x"), root.startChild(stage.child("new")), root.removeChild("x"), root.restartChild("a")],
        (request) => forked(reasonOf(request))
      )
      yield* TestClock.adjust("5 seconds")
      yield* until("all are answered", () => answers.every((fiber) => fiber.pollUnsafe() !== undefined))
      assert.deepStrictEqual(yield* Effect.forEach(answers, (fiber) => Fiber.join(fiber)), [
        "done",
        "done",
        "done",
        "running"
      ])
      assert.deepStrictEqual(yield* states(root), ["a running", "z running", "new running"])
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").incarnation, 2)
    })
  )
})
