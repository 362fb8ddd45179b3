import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Schema } from "effect"
import { TestClock } from "effect/testing"
import { Failure, type Tree } from "espalier"
import { Breaker, Dependency, Domain, Office, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, gate, memory, settle, task, worker } from "./desks.ts"
import { guarded, of } from "./guards.ts"

const run = (id: string) => ({ id, input: "go", log: false }) as const

const changes = (id: string) =>
  Effect.map(of("HealthChanged", id), (events) => events.map(({ health, worker }) => `${worker} ${health}`))

const capable = { capabilities: ["work"] }

/** Fails for good each time, through its own fault, without another attempt. */
const broken = (options: Partial<Fake.Options<unknown, unknown, unknown, unknown, never, never>> = {}) =>
  Fake.worker("one", { ...capable, otherwise: Fake.malformed(), ...options })

const stand = () => Fake.worker("two", { ...capable, otherwise: "done" })

const open = (...[workers, options]: readonly [Parameters<typeof guarded>[0], Parameters<typeof guarded>[2]?]) =>
  Office.open(guarded(workers, [task("a")], options), { log: false })

const workersOf = (outcome: { readonly dispatches: ReadonlyArray<{ readonly worker: string }> }) =>
  outcome.dispatches.map(({ worker }) => worker)

describe("health over the runs of an office", () => {
  it.effect("R-209 three failed dispatches within 5 minutes, whatever run they are of, degrade a worker for all", () =>
    Effect.gen(function* () {
      const one = broken()
      const office = yield* open([one, stand()])
      // Each run tries it twice, once for a correction: the second failure of the second run is the fourth.
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("r1"))), ["d.one", "d.one", "d.two"])
      assert.deepStrictEqual(yield* changes("r1"), [])
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("r2"))), ["d.one", "d.two"])
      assert.deepStrictEqual(yield* changes("r2"), ["d.one degraded"])
      // A later run knows it from its start, passes it over, and says why.
      const third = yield* Run.startIn(office, run("r3"))
      assert.deepStrictEqual([workersOf(third), third.status, third.degraded], [["d.two"], "completed", true])
      assert.deepStrictEqual(yield* changes("r3"), ["d.one degraded"])
      const [routed] = yield* of("Routed", "r3")
      assert.strictEqual(routed?.note, "a goes to d.two, a stand-in for d.one; d.one is degraded")
      assert.deepStrictEqual([...(routed?.candidates ?? [])], ["d.one", "d.two"])
      assert.strictEqual((yield* one.calls).length, 3)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 a run that goes on hears of it while it goes on", () =>
    Effect.gen(function* () {
      const held = gate()
      const two = worker("two", ({ run }) => (run === "live" ? Effect.as(held.wait, "done") : Effect.succeed("done")), {
        description: "Waits",
        size: 2
      })
      const desk = guarded([broken(), two], [task("w", { worker: "d.two" }), task("a", { needs: ["w"] })])
      const office = yield* Office.open(desk, { log: false })
      const live = yield* Effect.forkChild(Run.startIn(office, run("live")))
      yield* held.reached
      for (const number of [1, 2, 3]) office.health.report("d.one", 0, "failed", `other/a/${number}`)
      yield* settle
      assert.deepStrictEqual(yield* changes("live"), ["d.one degraded"])
      yield* held.open
      assert.deepStrictEqual(workersOf(yield* Fiber.join(live)), ["d.two", "d.two"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 a worker that is degraded in the middle of a task is not asked to correct its answer", () =>
    Effect.gen(function* () {
      const breaker = { failures: 1 }
      const with_ = yield* Run.start(guarded([broken(), stand()], [task("a")], { breaker }), run("r1"))
      assert.deepStrictEqual([workersOf(with_), with_.status], [["d.one", "d.two"], "completed"])
      const alone = yield* Run.start(guarded([broken()], [task("a")], { breaker }), run("r2"))
      assert.deepStrictEqual([workersOf(alone), alone.status], [["d.one"], "failed"])
    }).pipe(memory)
  )

  it.effect("R-208 R-209 an unsure worker that is degraded meanwhile is not asked again", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        ...capable,
        answers: [Result.completed("first", { confidence: 0.3 })],
        latency: "1 second"
      })
      const office = yield* open([one], { policy: { lowConfidence: "retry" } })
      const fiber = yield* Effect.forkChild(Run.startIn(office, run("r1")))
      yield* settle
      for (const number of [1, 2, 3]) office.health.report("d.one", 0, "failed", `other/a/${number}`)
      yield* TestClock.adjust("1 second")
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual([outcome.status, outcome.degraded, workersOf(outcome)], ["completed", true, ["d.one"]])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 failures that are more than 5 minutes apart do not add up", () =>
    Effect.gen(function* () {
      const one = broken()
      const office = yield* open([one, stand()])
      for (const id of ["r1", "r2", "r3"]) {
        yield* Run.startIn(office, run(id))
        assert.deepStrictEqual(yield* changes(id), [])
        yield* TestClock.adjust("301 seconds")
      }
      assert.strictEqual((yield* one.calls).length, 6)
    }).pipe(Effect.scoped, memory)
  )

  const degraded = (answers: ReadonlyArray<Fake.Reply<Schema.Json>>, otherwise: Fake.Reply<Schema.Json> = "done") => {
    const one = Fake.worker("one", {
      ...capable,
      answers: [Fake.malformed(), Fake.malformed(), Fake.malformed(), ...answers],
      otherwise
    })
    return Effect.gen(function* () {
      const office = yield* open([one, stand()])
      yield* Run.startIn(office, run("r1"))
      yield* Run.startIn(office, run("r2"))
      return { office, one }
    })
  }

  it.effect("R-209 one probe after 10 minutes brings it back", () =>
    Effect.gen(function* () {
      const { office, one } = yield* degraded([])
      yield* TestClock.adjust("599 seconds")
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("early"))), ["d.two"])
      yield* TestClock.adjust("1 second")
      yield* settle
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("probe"))), ["d.one"])
      assert.deepStrictEqual(yield* changes("probe"), ["d.one ready-for-probe", "d.one probing", "d.one healthy"])
      const after = yield* Run.startIn(office, run("after"))
      assert.deepStrictEqual([workersOf(after), yield* changes("after")], [["d.one"], []])
      assert.strictEqual((yield* one.calls).length, 5)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 a probe that fails leaves it alone for another 10 minutes", () =>
    Effect.gen(function* () {
      const { office, one } = yield* degraded([Fake.malformed()])
      yield* TestClock.adjust("10 minutes")
      yield* settle
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("probe"))), ["d.one", "d.two"])
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("early"))), ["d.two"])
      yield* TestClock.adjust("10 minutes")
      yield* settle
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("again"))), ["d.one"])
      assert.strictEqual((yield* one.calls).length, 5)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 D44 of two runs that both want the probe one gets it, and the other goes elsewhere", () =>
    Effect.gen(function* () {
      const held = gate()
      let failing = true
      const one = worker("one", () => (failing ? Effect.succeed(1) : Effect.as(held.wait, "done")), { size: 4 })
      const two = stand()
      const office = yield* open([one, two])
      yield* Run.startIn(office, run("r1"))
      yield* Run.startIn(office, run("r2"))
      failing = false
      yield* TestClock.adjust("10 minutes")
      yield* settle
      const runs = yield* Effect.forEach(["p1", "p2", "p3"], (id) => Effect.forkChild(Run.startIn(office, run(id))))
      yield* held.reached
      yield* settle
      assert.deepStrictEqual(held.log, ["began"])
      yield* held.open
      const ended = yield* Effect.forEach(runs, (fiber) => Fiber.join(fiber))
      assert.deepStrictEqual(ended.map(workersOf), [["d.one"], ["d.two"], ["d.two"]])
      assert.deepStrictEqual(Breaker.settings.cooldownMillis, 600_000)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 D08 a probe that is cancelled gives its place to another one", () =>
    Effect.gen(function* () {
      const { office, one } = yield* degraded([Fake.never])
      yield* TestClock.adjust("10 minutes")
      yield* settle
      const probe = yield* Effect.forkChild(Run.startIn(office, run("probe")))
      yield* settle
      assert.strictEqual(yield* one.running, 1)
      yield* Run.cancel("probe", { by: "ann", office })
      assert.strictEqual((yield* Fiber.join(probe)).status, "cancelled")
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("next"))), ["d.one"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 D08 so does one whose run is put down", () =>
    Effect.gen(function* () {
      const { office, one } = yield* degraded([Fake.never])
      yield* TestClock.adjust("10 minutes")
      yield* settle
      const probe = yield* Effect.forkChild(Run.startIn(office, run("probe")))
      yield* settle
      assert.strictEqual(yield* one.running, 1)
      yield* Fiber.interrupt(probe)
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("next"))), ["d.one"])
      const resumed = yield* Run.resumeIn(office, "probe", { log: false })
      assert.deepStrictEqual([resumed.status, workersOf(resumed)], ["completed", ["d.one"]])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 D08 dispatches that are cancelled count for nothing", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { ...capable, otherwise: Fake.never })
      const office = yield* open([one, stand()])
      for (const id of ["r1", "r2", "r3", "r4"]) {
        const fiber = yield* Effect.forkChild(Run.startIn(office, run(id)))
        yield* settle
        yield* Run.cancel(id, { by: "ann", office })
        yield* Fiber.join(fiber)
      }
      assert.strictEqual((yield* one.calls).length, 4)
      assert.deepStrictEqual(office.health.facts().workers.get("d.one"), { status: "healthy" })
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 D45 what a dependency fails in counts for the dependency alone", () =>
    Effect.gen(function* () {
      const dependency = Dependency.make({ failures: 100 })
      const one = worker("one", () => dependency.call("search", Effect.fail(Failure.transient("HTTP 503"))))
      const office = yield* open([one, stand()])
      for (const id of ["r1", "r2", "r3", "r4"]) {
        const outcome = yield* elapse(Run.startIn(office, run(id)), "10 seconds")
        assert.deepStrictEqual(workersOf(outcome), ["d.one", "d.two"])
      }
      assert.deepStrictEqual(office.health.facts().workers.get("d.one"), { status: "healthy" })
      const [reported] = yield* of("Reported", "r1")
      assert.strictEqual(reported?.dependency, "search")
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 after 5 failed dispatches of a run the worker gets no more of it", () =>
    Effect.gen(function* () {
      const one = broken()
      const plan = Array.from({ length: 5 }, (_, index) =>
        task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`] })
      )
      const desk = guarded([one, stand()], plan, { breaker: { failures: 100 } })
      const outcome = yield* Run.start(desk, run("r1"))
      assert.deepStrictEqual([outcome.status, (yield* one.calls).length], ["completed", 5])
      const routed = (yield* of("Routed")).at(-1)
      assert.strictEqual(routed?.note, "t4 goes to d.two, a stand-in for d.one; d.one failed 5 dispatches of this run")
    }).pipe(memory)
  )
})

describe("a domain that gives up", () => {
  const fixture = (crashes: number) => {
    let calls = 0
    const log: Array<string> = []
    const crash = worker("one", () =>
      Effect.suspend(() => (++calls <= crashes ? Effect.die("boom") : Effect.succeed("up")))
    )
    const idle = worker("idle", () => Effect.succeed("idle"), { description: "Idles", capabilities: ["idle"] })
    const spare = worker("two", () => Effect.succeed("spare"), { description: "Stands in" })
    const domains = [
      Domain.make("d", { workers: [crash, idle], intensity: { restarts: 0 } }),
      Domain.make("e", { workers: [spare] })
    ]
    const onEvent = (event: Tree.Event) => log.push(`${event._tag} ${event.path.join("/")}`)
    return Effect.map(
      Office.open(guarded([], [task("a", { capability: "work" })], { domains }), { log: false, onEvent }),
      (office) => ({ office, log, calls: () => calls })
    )
  }

  it.effect("R-209 R-108 degrades all its workers at once, in every run", () =>
    Effect.gen(function* () {
      const { log, office } = yield* fixture(1)
      const outcome = yield* Run.startIn(office, run("r1"))
      assert.deepStrictEqual([outcome.status, workersOf(outcome)], ["completed", ["d.one", "e.two"]])
      assert.include(log, "GaveUp desk/d")
      assert.deepStrictEqual([...(yield* changes("r1"))].toSorted(), ["d.idle degraded", "d.one degraded"])
      const [first] = yield* of("HealthChanged")
      assert.include(first?.note, "the domain d gave up")
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("r2"))), ["e.two"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 the probe starts it again", () =>
    Effect.gen(function* () {
      const { calls, log, office } = yield* fixture(1)
      yield* Run.startIn(office, run("r1"))
      yield* TestClock.adjust("10 minutes")
      yield* settle
      log.length = 0
      const outcome = yield* elapse(Run.startIn(office, run("probe")), "1 second")
      assert.deepStrictEqual([workersOf(outcome), outcome.results["a"]?.output, calls()], [["d.one"], "up", 2])
      assert.include(log, "Started desk/d")
      assert.deepStrictEqual(office.health.facts().workers.get("d.one"), { status: "healthy" })
      assert.deepStrictEqual(workersOf(yield* Run.startIn(office, run("after"))), ["d.one"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-209 a probe that brings it down again leaves it for another 10 minutes", () =>
    Effect.gen(function* () {
      const { calls, office } = yield* fixture(2)
      yield* Run.startIn(office, run("r1"))
      for (const [id, expected, made] of [
        ["down", ["d.one", "e.two"], 2],
        ["early", ["e.two"], 2]
      ] as const) {
        if (id === "down") yield* TestClock.adjust("10 minutes")
        yield* settle
        const outcome = yield* elapse(Run.startIn(office, run(id)), "1 second")
        assert.deepStrictEqual([workersOf(outcome), calls()], [[...expected], made])
      }
      yield* TestClock.adjust("10 minutes")
      yield* settle
      assert.deepStrictEqual(workersOf(yield* elapse(Run.startIn(office, run("up")), "1 second")), ["d.one"])
    }).pipe(Effect.scoped, memory)
  )
})
