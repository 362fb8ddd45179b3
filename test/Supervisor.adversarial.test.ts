/** What a tree must survive, in ways that nobody plans. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Cause, Deferred, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Child, Failure, Supervisor, type Tree } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

const plenty = { restarts: 1_000_000, within: "1 hour" } as const

const refusalOf = (exit: Exit.Exit<unknown, unknown>): unknown => {
  assert(Exit.isFailure(exit))
  return (Cause.squash(exit.cause) as Tree.ChildRefused).reason
}

describe("a tree under attack", () => {
  describe("late ends", () => {
    it.effect(
      "R-107 a child that declined to start and was abandoned over its clean-up is no leak once that ends",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const gate = yield* Deferred.make<void>()
          const root = Supervisor.make("root", {
            children: [
              Child.make(
                "a",
                Effect.as(
                  Effect.acquireRelease(Effect.void, () => Deferred.await(gate)),
                  Child.ignore
                ),
                { shutdown: "1 second" }
              )
            ]
          })
          const starting = yield* Effect.forkChild(Effect.exit(stage.start(root)), { startImmediately: true })
          yield* TestClock.adjust("1 second")
          assert.isTrue(Exit.isFailure(yield* Fiber.join(starting)))
          assert.lengthOf(stage.of("Leaked", "a"), 1)
          yield* Deferred.succeed(gate, undefined)
          yield* until("it is told", () => stage.of("LeakEnded", "a").length === 1)
        })
    )

    it.effect("R-102 nobody is above the root to decide about it: a start that fails for good is told once", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const denied = Failure.denied("no")
        const root = Supervisor.make("root", { children: [Child.make("a", Effect.fail(denied))] })
        yield* Effect.flip(stage.start(root))
        yield* quiet
        assert.deepStrictEqual(stage.steps, [
          "Starting root",
          "Starting a",
          "StartFailed a",
          "Failed a",
          "StartFailed root"
        ])
      })
    )
  })

  describe("deaths together", () => {
    it.effect(
      "R-104 a child that died while another was being restarted is not waited for when the tree gives up",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          let slow = false
          const gate = yield* Deferred.make<void>()
          const root = Supervisor.make("root", {
            intensity: { restarts: 1, within: "1 hour" },
            children: [
              stage.child("a"),
              stage.child("b"),
              stage.child("c", { init: Effect.suspend(() => (slow ? Deferred.await(gate) : Effect.void)) })
            ]
          })
          const { tree } = yield* stage.start(root)
          slow = true
          stage.end("c")
          yield* until("c starts again", () => stage.of("Starting", "c").length === 2)
          stage.end("a") // both wait behind the start of c
          stage.end("b")
          yield* until("both are down", () => stage.of("Exited").length === 3)
          yield* Deferred.succeed(gate, undefined)
          assert.deepStrictEqual((yield* Effect.flip(tree.ended)).path, ["root", "a"])
          assert.deepStrictEqual(stage.log.slice(-2), ["stop c", "down c"])
        })
    )

    it.effect.each(["one-for-one", "one-for-all", "rest-for-one"] as const)(
      "C-039 a thousand deaths in one tick under %s: everybody is back, once",
      (strategy) =>
        Effect.gen(function* () {
          const stage = new Stage()
          const ids = Array.from({ length: 1_000 }, (_, i) => `c${i}`)
          const root = Supervisor.make("root", {
            strategy,
            intensity: plenty,
            children: ids.map((id) => stage.child(id))
          })
          const { tree } = yield* stage.start(root)
          for (const id of ids) stage.end(id)
          yield* until("the last is back", () => stage.of("Started", "c999").length === 2)
          yield* quiet
          const snapshot = yield* tree.snapshot
          assert.isTrue(snapshot.children.every(({ incarnation, state }) => incarnation === 2 && state === "running"))
          const spent = stage.of("Restarting").length
          assert.strictEqual(spent, strategy === "one-for-one" ? 1_000 : 1)
          stage.takeLog()
          yield* tree.stop
          assert.deepStrictEqual(
            stage.log.filter((line) => line.startsWith("stop")),
            ids.toReversed().map((id) => `stop ${id}`)
          )
        })
    )

    it.effect("a thousand deaths in one tick over the budget: all are down, and the tree ends", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const ids = Array.from({ length: 1_000 }, (_, i) => `c${i}`)
        const root = Supervisor.make("root", {
          intensity: { restarts: 10, within: "1 hour" },
          children: ids.map((id) => stage.child(id))
        })
        const { tree } = yield* stage.start(root)
        for (const id of ids) stage.end(id)
        assert.deepStrictEqual((yield* Effect.flip(tree.ended)).path, ["root", "c10"])
        const count = (word: string) => stage.log.filter((line) => line.startsWith(`${word} `)).length
        assert.deepStrictEqual([count("start"), count("down")], [1_010, 1_010])
      })
    )

    it.effect("a child that escalates in the tick of a stop: the tree was stopped", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [stage.child("a"), stage.child("b", { onFailure: () => "escalate" })]
        })
        const { tree } = yield* stage.start(root)
        const stopping = yield* Effect.forkChild(tree.stop, { startImmediately: true })
        stage.end("b", Effect.fail("fire"))
        yield* Fiber.join(stopping)
        assert.deepStrictEqual(yield* Effect.exit(tree.ended), Exit.void)
        assert.deepStrictEqual(stage.of("GaveUp"), [])
      })
    )
  })

  describe("stops at bad moments", () => {
    it.effect("a backoff that never answers does not keep a stop waiting", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const stuck = Schedule.addDelay(Schedule.forever, () => Effect.never)
        const root = Supervisor.make("root", { children: [stage.child("a"), stage.child("b", { backoff: stuck })] })
        const { tree } = yield* stage.start(root)
        stage.end("b")
        yield* until("b is down", () => stage.of("Exited", "b").length === 1)
        yield* quiet
        yield* (yield* tree.find(["root"])).stopChild("b")
        assert.strictEqual(nodeOf(yield* tree.snapshot, "b").state, "stopped")
        yield* (yield* tree.find(["root"])).restartChild("b")
        stage.end("b")
        yield* quiet
        yield* tree.stop
        assert.deepStrictEqual(stage.log.slice(-2), ["stop a", "down a"])
      })
    )

    it.effect("a child that fails to start in the tick in which it is stopped is down, and nobody asks twice", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let failing = false
        const gate = yield* Deferred.make<never, string>()
        const init = Effect.suspend(() => (failing ? Deferred.await(gate) : Effect.void))
        const root = Supervisor.make("root", {
          intensity: plenty,
          children: [stage.child("a"), stage.child("b", { init })]
        })
        const { tree } = yield* stage.start(root)
        failing = true
        stage.end("b")
        yield* until("b starts again", () => stage.of("Starting", "b").length === 2)
        const stopping = yield* Effect.forkChild(tree.stop, { startImmediately: true })
        yield* Deferred.fail(gate, "too late")
        yield* Fiber.join(stopping)
        assert.lengthOf(stage.of("Starting", "b"), 2)
        assert.deepStrictEqual(stage.log.slice(-2), ["stop a", "down a"])
      })
    )

    it.effect("C-092 requests that wait when their supervisor runs out of patience are refused, not forgotten", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [
            Supervisor.make("inner", {
              shutdown: "1 second",
              children: [stage.child("a"), stage.child("hung", { cleanup: "Infinity", shutdown: "Infinity" })]
            })
          ]
        })
        const { tree } = yield* stage.start(root)
        const inner = yield* tree.find(["root", "inner"])
        const under = yield* Effect.forkChild(Effect.exit(inner.stopChild("hung")), { startImmediately: true })
        const waiting = yield* Effect.forkChild(Effect.exit(inner.stopChild("a")), { startImmediately: true })
        yield* quiet
        yield* stage.stop(tree, "1 second")
        assert.strictEqual(refusalOf(yield* Fiber.join(under)), "not-running")
        assert.strictEqual(refusalOf(yield* Fiber.join(waiting)), "not-running")
      })
    )

    it.effect("C-092 requests that wait when a decision throws are refused, not forgotten", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const broken = Child.effect("broken", Effect.never)
        const bomb: typeof broken = {
          ...broken,
          mount: (runtime, parent, outer) =>
            Object.assign(broken.mount(runtime, parent, outer), {
              begin: () => {
                throw new Error("the runtime is broken")
              }
            })
        }
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), stage.child("b")] }))
        const handle = yield* tree.find(["root"])
        const fibers = yield* Effect.forEach(
          [handle.stopChild("b"), handle.startChild(bomb), handle.stopChild("a"), handle.removeChild("b")],
          (request) => Effect.forkChild(Effect.exit(request), { startImmediately: true })
        )
        assert.isTrue(Exit.hasDies(yield* Effect.exit(tree.ended)))
        const [first, ...rest] = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
        assert.isTrue(Exit.isSuccess(first!))
        for (const exit of rest) assert.strictEqual(refusalOf(exit), "not-running")
      })
    )

    it.effect("a child that ended by itself and hangs in its clean-up is replaced after its grace time", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let first = true
        const child = Child.make(
          "a",
          Effect.gen(function* () {
            const hang = first
            first = false
            yield* Effect.addFinalizer(() => (hang ? Effect.never : Effect.void))
            return hang ? Effect.die("x") : Effect.never
          }),
          { shutdown: "1 second" }
        )
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
        yield* quiet
        assert.lengthOf(stage.of("Starting", "a"), 1)
        yield* TestClock.adjust("1 second")
        yield* until("it is back", () => stage.of("Started", "a").length === 2)
        assert.deepInclude(nodeOf(yield* tree.snapshot, "a"), { state: "running", leaked: 1 })
        assert.deepStrictEqual(yield* tree.stop, { leaked: [["root", "a"]] })
      })
    )
  })

  describe("directives and delays", () => {
    it.effect(
      "R-106 onFailure is asked neither about a typed error beside a bug nor about a time-out of the init",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const asked: Array<unknown> = []
          let slow = false
          const child = Child.make(
            "a",
            Effect.gen(function* () {
              if (slow) yield* Effect.never
              slow = true
              yield* Effect.addFinalizer(() => Effect.die("bug"))
              return Effect.fail("typed")
            }),
            {
              initTimeout: "1 second",
              onFailure: (error) => {
                asked.push(error)
                return "escalate"
              }
            }
          )
          const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
          yield* until("it starts again", () => stage.of("Starting", "a").length === 2)
          yield* TestClock.adjust("1 second")
          yield* until("the time-out", () => stage.of("BackingOff", "a").length === 1)
          assert.deepStrictEqual(asked, [])
          yield* tree.stop
        })
    )

    it.effect("R-105 a restart that fails to start late in the tree's life is no time of health", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let broken = false
        const root = Supervisor.make("root", {
          intensity: plenty,
          children: [
            stage.child("a", {
              init: Effect.suspend(() => (broken ? Effect.die("x") : Effect.void)),
              backoff: Schedule.exponential("1 second")
            })
          ]
        })
        const { tree } = yield* stage.start(root)
        yield* TestClock.adjust("1 hour")
        broken = true
        stage.end("a")
        yield* quiet
        for (let i = 0; i < 7; i++) yield* TestClock.adjust(`${2 ** i} seconds`)
        assert.deepStrictEqual(
          stage.of("BackingOff", "a").map((event) => (event.until - event.at) / 1_000),
          [1, 2, 4, 8, 16, 32, 64, 128]
        )
        yield* tree.stop
      })
    )
  })

  describe("what callers without types may do", () => {
    it.effect("an error that throws when it is read is an error like any other", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const refuse = (): never => {
          throw new Error("no access")
        }
        const error = new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse })
        const root = Supervisor.make("root", { children: [stage.child("a"), stage.child("b")] })
        const { tree } = yield* stage.start(root)
        stage.end("a", Effect.fail(error))
        stage.end("b", Effect.die(error))
        yield* until("both are back", () => stage.of("Started").length === 5)
        assert.lengthOf(stage.of("Restarting"), 2)
        yield* tree.stop
      })
    )

    it.effect("a directive that is none counts as a restart", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", { children: [stage.child("a", { onFailure: () => undefined as never })] })
        const { tree } = yield* stage.start(root)
        stage.end("a", Effect.fail("x"))
        yield* until("it is back", () => stage.of("Started", "a").length === 2)
        yield* tree.stop
      })
    )
  })

  describe("every way to end", () => {
    const ways: ReadonlyArray<readonly [string, Effect.Effect<unknown, string>]> = [
      ["success", Effect.void],
      ["a typed failure", Effect.fail("x")],
      ["a defect", Effect.die("x")],
      ["interruption", Effect.interrupt],
      [
        "a throw",
        Effect.sync(() => {
          throw new Error("x")
        })
      ],
      ["a failure, then a finalizer that dies", Effect.ensuring(Effect.fail("x"), Effect.die("y"))]
    ]
    for (const [name, way] of ways) {
      for (const phase of ["init", "run"] as const) {
        it.effect(`R-107 releases what was acquired once, before the next incarnation: ${name} in the ${phase}`, () =>
          Effect.gen(function* () {
            const log: Array<string> = []
            let life = 0
            const child = Child.make(
              "a",
              Effect.gen(function* () {
                const n = ++life
                yield* Effect.acquireRelease(
                  Effect.sync(() => log.push(`acquire ${n}`)),
                  () =>
                    Effect.andThen(
                      Effect.yieldNow,
                      Effect.sync(() => log.push(`release ${n}`))
                    )
                )
                yield* Effect.forkScoped(Effect.never)
                // the first life ends in its run phase, so that the second begins as a restart
                if (n === 1) return Effect.die("begin")
                if (n === 2 && phase === "init") yield* way
                return n === 2 ? way : Effect.never
              })
            )
            const { tree } = yield* new Stage().start(Supervisor.make("root", { children: [child] }))
            yield* until("the third", () => log.includes("acquire 3"))
            yield* tree.stop
            assert.deepStrictEqual(
              log,
              [1, 2, 3].flatMap((n) => [`acquire ${n}`, `release ${n}`])
            )
          })
        )
      }
    }

    it.effect("R-107 releases after a time-out of the init, a group stop and a give-up too", () =>
      Effect.gen(function* () {
        let open = 0
        let acquired = 0
        let hang = false
        const holding = (id: string, options?: Child.Options<never>) =>
          Child.make(
            id,
            Effect.gen(function* () {
              yield* Effect.acquireRelease(
                Effect.sync(() => ((acquired += 1), (open += 1))),
                () => Effect.sync(() => (open -= 1))
              )
              if (hang && id === "b") yield* Effect.never
              return Effect.never
            }),
            options
          )
        const stage = new Stage()
        const root = Supervisor.make("root", {
          strategy: "one-for-all",
          intensity: { restarts: 2, within: "1 hour" },
          children: [
            holding("a"),
            holding("b", { initTimeout: "1 second", backoff: Schedule.spaced("1 second") }),
            stage.child("c")
          ]
        })
        const { tree } = yield* stage.start(root)
        assert.deepStrictEqual([open, acquired], [2, 2])
        hang = true
        stage.end("c")
        yield* TestClock.adjust("1 second")
        yield* until("b waits", () => stage.of("BackingOff", "b").length === 1)
        yield* quiet
        assert.strictEqual(open, 0) // the group was rolled back
        yield* TestClock.adjust("2 seconds")
        yield* TestClock.adjust("2 seconds")
        yield* Effect.flip(tree.ended)
        assert.strictEqual(open, 0)
        assert.strictEqual(acquired, 6)
      })
    )
  })

  describe("at random", () => {
    const int = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))
    const ends = [Effect.void, Effect.fail("x"), Effect.die("x"), Effect.interrupt]
    const strategies = ["one-for-one", "one-for-all", "rest-for-one"] as const
    const restarts = ["always", "on-failure", "never"] as const

    it.effect.prop(
      "R-107 whatever happens in whatever order, everybody who started is down when the stop is, and every request is answered",
      { picks: Arbitrary.array(int(1 << 16), { minLength: 12, maxLength: 12 }), script: Arbitrary.array(int(1 << 16)) },
      ({ picks, script }) =>
        Effect.scoped(
          Effect.gen(function* () {
            const stage = new Stage()
            let flaky = 0
            const leaf = (id: string, pick: number) =>
              stage.child(id, {
                restart: restarts[pick % 3],
                shutdown: pick % 5 === 0 ? "abandon" : "2 seconds",
                cleanup: pick % 4 === 0 ? "1 second" : undefined,
                backoff: pick % 7 === 0 ? Schedule.spaced("1 second") : undefined,
                init: Effect.suspend(() => {
                  flaky += 1
                  if (flaky > 8 && flaky % 5 === 0) return Effect.fail("flaky")
                  return pick % 6 === 0 ? Effect.yieldNow : Effect.void
                })
              })
            const group = (id: string, at: number) =>
              Supervisor.make(id, {
                strategy: strategies[picks[at]! % 3],
                intensity: { restarts: picks[at + 1]! % 4, within: "10 seconds" },
                children: [
                  leaf(`${id}1`, picks[at + 2]!),
                  leaf(`${id}2`, picks[at + 3]!),
                  leaf(`${id}3`, picks[at + 1]!)
                ]
              })
            const root = Supervisor.make("root", {
              strategy: strategies[picks[8]! % 3],
              intensity: { restarts: picks[9]! % 6, within: "10 seconds" },
              children: [group("x", 0), leaf("m", picks[10]!), group("y", 4)]
            })
            const { tree } = yield* stage.start(root)
            const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
            const ask = (request: Effect.Effect<unknown, unknown>) =>
              Effect.map(Effect.forkChild(Effect.exit(request), { startImmediately: true }), (fiber) =>
                fibers.push(fiber)
              )
            const ids = ["x1", "x2", "x3", "m", "y1", "y2", "y3"]
            for (const pick of script) {
              const id = ids[(pick >> 4) % ids.length]!
              const parent = id === "m" ? ["root"] : ["root", id[0]!]
              const handle = yield* Effect.option(tree.find(parent))
              switch (pick % 12) {
                case 0:
                case 1:
                case 2:
                  yield* TestClock.adjust(`${(pick >> 8) % 3} seconds`)
                  break
                case 3:
                case 4:
                  yield* quiet
                  break
                case 5:
                case 6:
                case 7:
                case 8:
                  stage.end(id, ends[(pick >> 8) % 4])
                  break
                default:
                  if (handle._tag === "None") break
                  if (pick % 12 === 9) yield* ask(handle.value.stopChild(id))
                  else if (pick % 12 === 10) yield* ask(handle.value.restartChild(id))
                  else yield* ask(handle.value.startChild(leaf(id, pick)))
              }
            }
            const stopping = yield* Effect.forkChild(tree.stop, { startImmediately: true })
            yield* TestClock.adjust("1 minute")
            yield* Fiber.join(stopping)
            for (const fiber of fibers) {
              assert.isDefined(fiber.pollUnsafe(), "a request is not answered")
            }
            const count = (word: string, id: string) => stage.log.filter((line) => line === `${word} ${id}`).length
            for (const id of ids) assert.strictEqual(count("start", id), count("down", id), `${id} is down`)
            assert.strictEqual(stage.of("Leaked").length, stage.of("LeakEnded").length)
          })
        ),
      { arbitrary: { runs: 300, size: 60, seed: "espalier" } }
    )
  })
})
