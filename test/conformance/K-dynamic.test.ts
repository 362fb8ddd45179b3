import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Schedule, Schema, type Scope } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor, Tree } from "espalier"

import { DynamicDecisions } from "../fixtures/dynamicDecisions.ts"
import { withCollector } from "../fixtures/real.ts"
import { nodeOf, type Player, Stage, until } from "../fixtures/stage.ts"

/** A dynamic supervisor of stage children: they are told apart by their argument. */
class Crew extends Supervisor.DynamicService<Crew, string, never, unknown>()("crew") {}

const wide = { restarts: 1_000, within: "1 hour" } as const

interface Ship {
  readonly stage: Stage
  readonly tree: Tree.Tree["Service"]
  readonly crew: Crew["Service"]
  readonly ids: Effect.Effect<ReadonlyArray<string>>
}

/** A tree with a crew whose children behave as `player` says. */
const sail = (
  player: Player | ((name: string) => Player) = {},
  options: Supervisor.DynamicOptions = { intensity: wide },
  root: Omit<Supervisor.Options<[]>, "children"> = { intensity: wide }
): Effect.Effect<Ship, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const stage = new Stage()
    const child = Crew.child((name) => stage.child(name, typeof player === "function" ? player(name) : player), options)
    const { context, tree } = yield* stage.start(Supervisor.make("ship", { ...root, children: [child] }))
    const crew = yield* Effect.provide(Crew, context)
    return { stage, tree, crew, ids: Effect.map(crew.children, (children) => children.map(({ id }) => id)) }
  })

const reasonOf = (error: unknown): unknown => (error instanceof Tree.ChildRefused ? error.reason : error)

/** The reason why a request is refused. */
const refusal = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<unknown, A> =>
  Effect.map(Effect.flip(effect), reasonOf)

describe("K: dynamic supervisors, on the core", () => {
  it("C-116 the core makes no child when there is no slot for it", () => {
    const core = new DynamicDecisions(1).boot().with("a")
    assert.deepStrictEqual(core.start("b").answer, { _tag: "Refused", reason: "max-children" })
    assert.strictEqual(core.made, 1)
    assert.deepStrictEqual(core.take(), [])
  })

  it("C-117 the core keeps the slot of a child that starts, waits, or is started again", () => {
    const core = new DynamicDecisions(1).boot()
    const full = () => assert.deepStrictEqual(core.start("b").answer, { _tag: "Refused", reason: "max-children" })
    core.start("a")
    full()
    core.up("a")
    full()
    core.down("a", "restart", { delayMillis: 10 })
    full()
    core.retry("a")
    full()
    core.startFails("a")
    full()
    core.request("StopChild", "a")
    core.start("c")
    assert.deepStrictEqual(core.states, ["c starting"])
    core.request("StopChild", "c")
    full()
  })

  it("C-122 the core lets all children go down with the one that overdraws the budget", () => {
    const core = new DynamicDecisions(undefined, { restarts: 2 }).boot().with("a", "b", "c", "d")
    core.down("a", "restart")
    core.down("b", "restart")
    core.take()
    core.down("c", "restart")
    assert.deepStrictEqual(core.take(), ["gave-up c", "settled c", "stop a", "stop b", "stop d"])
    for (const id of ["d", "b", "a"]) core.down(id)
    assert.deepStrictEqual(core.take(), ["settled d", "settled b", "settled a", "ended GaveUp"])
  })
})

describe("K: dynamic supervisors", () => {
  it.effect(
    "C-115 a dynamic supervisor starts empty, and the same arguments start as many children as are asked for",
    () =>
      Effect.gen(function* () {
        const { crew, ids, stage, tree } = yield* sail()
        assert.deepStrictEqual(nodeOf(yield* tree.snapshot, "crew").children, [])
        const children = yield* Effect.forEach([1, 2, 3], () => crew.start("cook"))
        assert.deepStrictEqual(
          children.map(({ id, path }) => [id, path.join("/")]),
          ["1", "2", "3"].map((id) => [id, `ship/crew/${id}`])
        )
        assert.deepStrictEqual(yield* ids, ["1", "2", "3"])
        assert.strictEqual(stage.log.filter((line) => line === "up cook").length, 3)
        const node = nodeOf(yield* tree.snapshot, "crew")
        assert.deepStrictEqual([node.kind, node.state, node.children.length], ["supervisor", "running", 3])
        assert.deepStrictEqual(yield* crew.counts, { specs: 3, active: 3, supervisors: 0, workers: 3 })
      })
  )

  it.effect(
    "C-116 a start beyond the maximum is refused without asking the template, and a maximum of 0 refuses all",
    () =>
      Effect.gen(function* () {
        const { crew, stage } = yield* sail({}, { maxChildren: 2 })
        yield* crew.start("a")
        const b = yield* crew.start("b")
        const refused = yield* Effect.flip(crew.start("c"))
        assert.instanceOf(refused, Tree.ChildRefused)
        assert.strictEqual(refused.message, 'ship/crew refused "3": max-children')
        assert.notInclude(stage.log, "start c")
        yield* b.stop
        yield* crew.start("d")

        let asked = 0
        const none = Crew.child(() => ((asked += 1), stage.child("x")), { maxChildren: 0 })
        const { context } = yield* stage.start(Supervisor.make("none", { children: [none] }))
        const empty = yield* Effect.provide(Crew, context)
        assert.strictEqual(yield* refusal(empty.start("x")), "max-children")
        assert.strictEqual(asked, 0)
      })
  )

  it.effect("C-117 a child that crashes again and again, or waits for its restart, keeps its slot", () =>
    Effect.gen(function* () {
      const { crew, ids, stage } = yield* sail({}, { maxChildren: 1, intensity: wide })
      yield* crew.start("a")
      for (let crash = 1; crash <= 5; crash++) {
        stage.end("a")
        assert.strictEqual(yield* refusal(crew.start("b")), "max-children")
        yield* until(`restart ${crash}`, () => stage.of("Started", "1").length === crash + 1)
        assert.strictEqual(yield* refusal(crew.start("b")), "max-children")
      }
      assert.deepStrictEqual(yield* ids, ["1"])

      const slow = yield* sail({ backoff: Schedule.spaced("1 second") }, { maxChildren: 1, intensity: wide })
      yield* slow.crew.start("a")
      slow.stage.end("a")
      yield* until("it waits", () => slow.stage.of("BackingOff").length === 1)
      assert.deepStrictEqual(yield* slow.crew.counts, { specs: 1, active: 0, supervisors: 0, workers: 1 })
      assert.strictEqual(yield* refusal(slow.crew.start("b")), "max-children")
      assert.notInclude(slow.stage.log, "start b")
    })
  )

  it.effect("C-118 a forgotten or cleanly ended child frees its slot", () =>
    Effect.gen(function* () {
      for (const [restart, end] of [
        ["never", Effect.die("crashed")],
        ["on-failure", Effect.void]
      ] as const) {
        const { crew, ids, stage } = yield* sail({ restart }, { maxChildren: 1 })
        yield* crew.start("a")
        stage.end("a", end)
        yield* until("it is forgotten", () => stage.of("Removed", "1").length === 1)
        assert.deepStrictEqual(yield* ids, [])
        yield* crew.start("b")
        assert.deepStrictEqual(yield* ids, ["2"])
      }
    })
  )

  it.effect("C-118 a failed start or a declined one takes no slot, and spends nothing", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const inits: Array<Effect.Effect<Effect.Effect<void>, string>> = [
        Effect.fail("no berth"),
        Effect.succeed(Child.ignore),
        Effect.die("overboard"),
        Effect.succeed(Effect.never)
      ]
      class Berths extends Supervisor.DynamicService<Berths, void, never, string>()("berths") {}
      const berths = Berths.child(
        () =>
          Child.make(
            "berth",
            Effect.suspend(() => inits.shift()!)
          ),
        {
          maxChildren: 1,
          intensity: { restarts: 0 }
        }
      )
      const { context, tree } = yield* stage.start(Supervisor.make("ship", { children: [berths] }))
      const handle = yield* Effect.provide(Berths, context)
      const failed = yield* Effect.flip(handle.start())
      assert.instanceOf(failed, Supervisor.StartFailure)
      assert.deepStrictEqual([failed.path, Cause.squash(failed.cause)], [["ship", "berths", "1"], "no berth"])
      assert.strictEqual(yield* refusal(handle.start()), "ignored")
      assert.strictEqual((yield* Effect.flip(handle.start())).message, "ship/berths/3 did not start: overboard")
      const child = yield* handle.start()
      assert.strictEqual(child.id, "4")
      const node = nodeOf(yield* tree.snapshot, "berths")
      assert.deepStrictEqual([node.children.length, node.intensity?.left], [1, 0])
      assert.deepStrictEqual(stage.of("Restarting"), [])
    })
  )

  it.effect("C-119 a stopped child is down when the stop answers, and not found afterwards", () =>
    Effect.gen(function* () {
      const { crew, ids, stage } = yield* sail()
      const a = yield* crew.start("a")
      const b = yield* crew.start("b")
      yield* a.stop
      assert.deepStrictEqual(stage.log.slice(-2), ["stop a", "down a"])
      assert.strictEqual(yield* refusal(a.stop), "not-found")
      assert.strictEqual(yield* refusal(crew.stop(a.id)), "not-found")
      assert.deepStrictEqual(yield* ids, [b.id])
      assert.strictEqual((yield* crew.start("a")).id, "3")
      assert.strictEqual(yield* refusal(a.stop), "not-found")
    })
  )

  it.effect("C-119 a child that waits for its restart is still known by its id, and a stop gives the restart up", () =>
    Effect.gen(function* () {
      const { crew, ids, stage } = yield* sail({ backoff: Schedule.spaced("1 second") })
      const a = yield* crew.start("a")
      stage.end("a")
      yield* until("it waits", () => stage.of("BackingOff", "1").length === 1)
      assert.deepStrictEqual(
        (yield* crew.children).map(({ id, state }) => [id, state]),
        [["1", "backing-off"]]
      )
      yield* a.stop
      assert.deepStrictEqual(yield* ids, [])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(stage.log.filter((line) => line === "start a").length, 1)
      assert.strictEqual(yield* refusal(a.stop), "not-found")
    })
  )

  it.effect("C-120 a restart runs with the arguments of the start and all that the template added", () =>
    Effect.gen(function* () {
      const seen: Array<readonly [object, object]> = []
      const shared = { flag: "blue" }
      const args = { name: "a" }
      let calls = 0
      const ends: Array<Deferred.Deferred<never>> = []
      class Hands extends Supervisor.DynamicService<Hands, { readonly name: string }>()("hands") {}
      const hands = Hands.child((given) => {
        calls += 1
        return Child.effect(
          given.name,
          Effect.gen(function* () {
            seen.push([given, shared])
            const end = yield* Deferred.make<never>()
            ends.push(end)
            return yield* Deferred.await(end)
          })
        )
      })
      const stage = new Stage()
      const { context } = yield* stage.start(Supervisor.make("ship", { children: [hands] }))
      yield* (yield* Effect.provide(Hands, context)).start(args)
      Deferred.doneUnsafe(ends[0]!, Effect.die("crashed"))
      yield* until("it runs again", () => seen.length === 2)
      for (const [given, added] of seen) {
        assert.strictEqual(given, args)
        assert.strictEqual(added, shared)
      }
      assert.strictEqual(calls, 1)
    })
  )

  it.effect("C-120 the reference of a child stays valid over its restarts", () =>
    Effect.gen(function* () {
      class Tally extends Actor.Service<Tally>()("Tally", [
        Rpc.make("Add", { success: Schema.Finite }),
        Rpc.make("Burn", {})
      ]) {}
      class Tallies extends Supervisor.DynamicService<Tallies, { readonly from: number }, Tally>()("Tallies") {}
      const tallies = Tallies.child(({ from }) =>
        Tally.child(
          Effect.sync(() => {
            let total = from
            return Tally.handlers({ Add: () => (total += 1), Burn: () => Effect.die("burnt") })
          })
        )
      )
      const stage = new Stage()
      const { context } = yield* stage.start(Supervisor.make("ship", { children: [tallies] }))
      const handle = yield* Effect.provide(Tallies, context)
      const [ten, fifty] = [yield* handle.start({ from: 10 }), yield* handle.start({ from: 50 })]
      yield* ten.ref.Add()
      yield* fifty.ref.Add()
      yield* Effect.exit(ten.ref.Burn())
      assert.deepStrictEqual([yield* ten.ref.Add(), yield* fifty.ref.Add()], [11, 52])
      yield* ten.stop
      assert.instanceOf(yield* Effect.flip(ten.ref.Add()), Actor.ActorStopped)
    })
  )

  it.effect("C-121 a child that declines its restart is gone for good, and the supervisor stops cleanly later", () =>
    Effect.gen(function* () {
      let lives = 0
      const ends: Array<Deferred.Deferred<never>> = []
      class Moths extends Supervisor.DynamicService<Moths>()("moths") {}
      const moths = Moths.child(
        () =>
          Child.make(
            "moth",
            Effect.gen(function* () {
              const end = yield* Deferred.make<never>()
              ends.push(end)
              lives += 1
              return lives === 2 ? Child.ignore : Deferred.await(end)
            })
          ),
        { maxChildren: 1 }
      )
      const stage = new Stage()
      const { context, tree } = yield* stage.start(Supervisor.make("ship", { children: [moths] }))
      const handle = yield* Effect.provide(Moths, context)
      const moth = yield* handle.start()
      Deferred.doneUnsafe(ends[0]!, Effect.die("burnt"))
      yield* until("it is gone", () => stage.of("Removed", "1").length === 1)
      assert.strictEqual(yield* refusal(moth.stop), "not-found")
      yield* handle.start()
      assert.deepStrictEqual(yield* tree.stop, { leaked: [] })
      assert.isTrue(Exit.isSuccess(yield* Effect.exit(tree.ended)))
    })
  )

  it.effect("C-122 crashes of different children spend one budget, and all go down with the supervisor", () =>
    Effect.gen(function* () {
      const { crew, stage, tree } = yield* sail(
        {},
        { intensity: { restarts: 2, within: "1 hour" } },
        { intensity: { restarts: 1, within: "1 hour" } }
      )
      for (const name of ["a", "b", "c", "fit"]) yield* crew.start(name)
      for (const [index, name] of ["a", "b"].entries()) {
        stage.end(name)
        yield* until(`${name} is back`, () => stage.of("Restarting").length === index + 1)
      }
      yield* until("both are up", () => stage.of("Started").length === 8)
      stage.takeLog()
      stage.end("c")
      yield* until("the crew is back", () => stage.of("Started", "crew").length === 1)
      const [gaveUp] = stage.of("GaveUp")
      assert.deepStrictEqual([gaveUp!.path, gaveUp!.child], [["ship", "crew"], "3"])
      assert.strictEqual(gaveUp!.restarts.length, 3)
      assert.deepStrictEqual(
        stage.log.filter((line) => line.startsWith("down")).toSorted(),
        ["a", "b", "c", "fit"].map((name) => `down ${name}`)
      )
      // It comes back empty, with a new budget, behind the same handle.
      assert.deepStrictEqual((yield* crew.children).length, 0)
      assert.strictEqual((yield* crew.start("a")).id, "5")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "crew").intensity?.left, 2)
    })
  )

  it.effect("C-122 the path of a give-up ends at the child that overdrew the budget", () =>
    Effect.gen(function* () {
      const { crew, stage, tree } = yield* sail({}, { intensity: { restarts: 0 } }, { intensity: { restarts: 0 } })
      yield* crew.start("a")
      yield* crew.start("b")
      stage.end("b")
      const gaveUp = yield* Effect.flip(tree.ended)
      assert.deepStrictEqual([gaveUp.path, Cause.squash(gaveUp.cause)], [["ship", "crew", "2"], "b crashed"])
      assert.strictEqual(yield* refusal(crew.start("c")), "not-running")
      assert.deepStrictEqual(stage.log.slice(-2), ["stop a", "down a"])
    })
  )

  it.effect("C-123 ten thousand children come and go, and nothing is left of them", () =>
    Effect.gen(function* () {
      class Sparks extends Supervisor.DynamicService<Sparks>()("sparks") {}
      let lit = 0
      const light = Effect.acquireRelease(
        Effect.sync(() => (lit += 1)),
        () => Effect.sync(() => (lit -= 1))
      )
      const spark = Child.make("spark", Effect.as(light, Effect.never))
      const stage = new Stage()
      const { context, tree } = yield* stage.start(Supervisor.make("fire", { children: [Sparks.child(() => spark)] }))
      const sparks = yield* Effect.provide(Sparks, context)
      const children = yield* Effect.forEach(Array.from({ length: 10_000 }), () => sparks.start(), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual([lit, (yield* sparks.counts).active], [10_000, 10_000])
      yield* Effect.forEach(children, (child) => child.stop, { concurrency: 64, discard: true })
      assert.deepStrictEqual([lit, yield* sparks.children], [0, []])
      assert.deepStrictEqual(nodeOf(yield* tree.snapshot, "sparks").children, [])
    })
  )

  it.effect("C-093 a dynamic supervisor restarts and forgets its children itself, and stops only its own", () =>
    Effect.gen(function* () {
      const { crew, stage, tree } = yield* sail()
      const a = yield* crew.start("a")
      const handle = yield* tree.find(["ship", "crew"])
      assert.strictEqual(yield* refusal(handle.restartChild(a.id)), "dynamic-supervisor")
      assert.strictEqual(yield* refusal(handle.removeChild(a.id)), "dynamic-supervisor")
      assert.strictEqual(yield* refusal(handle.startChild(stage.child("b"))), "dynamic-supervisor")
      assert.strictEqual(yield* refusal(handle.stopChild("a")), "not-found") // the spec's name is nobody's id here
      assert.strictEqual(yield* refusal(handle.stopChild("crew")), "not-found")
      assert.deepStrictEqual(stage.log, ["start a", "up a"])
      assert.deepStrictEqual((yield* tree.find(a.path)).path, ["ship", "crew", "1"])
      yield* handle.stopChild(a.id)
      assert.deepStrictEqual(stage.log.slice(-1), ["down a"])
      assert.strictEqual(yield* refusal(handle.stopChild(a.id)), "not-found")
      assert.strictEqual(yield* refusal(tree.find(a.path)), "not-found")
    })
  )

  withCollector("C-096 arguments and specs of children that are gone are not kept", () =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const gc = runInNewContext("gc") as () => void
      const refs: Array<WeakRef<object>> = []
      class Jobs extends Supervisor.DynamicService<Jobs, { readonly big: Array<number> }, never, string>()("jobs") {}
      const jobs = Jobs.child(
        ({ big }) => {
          const spec = Child.make(
            "job",
            big[0] === 1 ? Effect.fail("no") : Effect.succeed(big[0] === 0 ? Effect.void : Effect.die(big)),
            { restart: "never" }
          )
          refs.push(new WeakRef(spec), new WeakRef(big))
          return spec
        },
        { intensity: wide }
      )
      const stage = new Stage()
      const { context } = yield* stage.start(Supervisor.make("shop", { children: [jobs] }))
      const handle = yield* Effect.provide(Jobs, context)
      yield* Effect.forEach(
        Array.from({ length: 300 }, (_, i) => i % 3),
        (kind) => Effect.exit(handle.start({ big: Array.from({ length: 1_000 }, () => kind) })),
        { discard: true }
      )
      yield* until("all are gone", () => stage.of("Removed").length === 300)
      stage.takeLog()
      let left = 600
      // A collection may take several turns; what is kept stays in every one of them.
      for (let turn = 0; turn < 50 && left > 12; turn++) {
        yield* Effect.sleep("10 millis")
        gc()
        left = refs.filter((ref) => ref.deref() !== undefined).length
      }
      assert.isAtMost(left, 12, "some of the last may still stand on a stack")
    })
  )
})
