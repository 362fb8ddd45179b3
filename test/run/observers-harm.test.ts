/** What becomes of a run whose observers are of no good: nothing. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Domain, Host, Observer, Office, Plan, Router, Run, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { standing } from "../../src/run/Health.ts"
import { attended, nobody } from "../../src/run/internal/observing.ts"
import { desk, elapse, history, memory, task, worker } from "./desks.ts"
import { guarded, r1, say } from "./guards.ts"
import { begin, deskOf, pass, resume } from "./living.ts"
import { isWhole, logged, watching } from "./watching.ts"

const broken = new Error("the observer is broken")

const fails = (): never => {
  throw broken
}

const later = (): never => Promise.reject(broken) as never

/** What was queued before this has come to its end, rejections among it. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** What is to hold of what observers were shown in the end. */
const checks = new WeakMap<Observer.Observer, Effect.Effect<void, never, Journal.Journal>>()

const checked = () => {
  const good = watching()
  checks.set(good.observer, Effect.orDie(isWhole(good.attendances)))
  return good
}

/** A run with choices, a retry, something that crashes and something that takes its time, and what it came to. */
const story = Effect.fnUntraced(function* (observers: ReadonlyArray<Observer.Observer>) {
  let asked = 0
  let done = 0
  const one = Fake.worker("one", {
    answers: [Fake.fail("transient", { retryAfter: "5 seconds" }), "a", Fake.die(new Error("broke")), "b"],
    latency: "2 seconds"
  })
  const two = worker("two", () =>
    Effect.as(
      Effect.delay(
        Effect.sync(() => void (done += 1)),
        "1 second"
      ),
      "c"
    )
  )
  const built = deskOf(
    [one, two as Worker.Worker<never>],
    Router.make({
      tasks: [task("a"), task("b"), task("c", { worker: "d.two" })],
      choose: () => Effect.sync(() => ["a", "b", "c", "finish"][asked++]),
      fallback: "c"
    })
  )
  return yield* Effect.gen(function* () {
    const run = Effect.gen(function* () {
      const outcome = yield* Run.start(built, r1)
      return { outcome, took: yield* Clock.currentTimeMillis }
    })
    const { outcome, took } = yield* elapse(Observer.only(run, observers), "10 minutes")
    const events = (yield* history("r1")).map((event) => ({ ...event, trace: undefined }))
    for (const observer of observers) yield* checks.get(observer) ?? Effect.void
    return { events, asked, done, results: outcome.results, took }
  }).pipe(Effect.provide([TestClock.layer(), Journal.layerMemory]))
})

type Part = keyof Observer.Attendance

/** An observer of which one part is of no good. */
const bad = (part: Part): Observer.Observer => ({ attend: () => ({ [part]: fails }) })

const around = (around: Observer.Around): Observer.Observer => ({ attend: () => ({ around }) })

const arounds: ReadonlyArray<readonly [name: string, around: Observer.Around]> = [
  ["throws", fails],
  ["answers with nothing that it could", () => undefined as never],
  ["answers with what is no effect", () => 7 as never],
  ["leaves the work out", () => Effect.succeed(7) as never],
  ["fails before it", () => Effect.die(broken)],
  ["interrupts itself before it", () => Effect.interrupt],
  ["does it twice", (_, effect) => Effect.andThen(effect, effect)],
  ["does it twice at once", (_, effect) => Effect.map(Effect.all([effect, effect], { concurrency: 2 }), ([a]) => a)],
  ["fails afterwards", (_, effect) => Effect.andThen(effect, Effect.die(broken))],
  ["fails with a failure afterwards", (_, effect) => Effect.andThen(effect, Effect.fail(broken)) as never],
  ["is interrupted afterwards", (_, effect) => Effect.andThen(effect, Effect.interrupt)],
  ["answers with another value", (_, effect) => Effect.as(effect, 7) as never],
  ["never fails", (_, effect) => Effect.ignoreCause(effect) as never],
  ["fails always", (_, effect) => Effect.andThen(Effect.exit(effect), Effect.die(broken))],
  ["fails otherwise", (_, effect) => Effect.catchCause(effect, () => Effect.die(broken)) as never],
  ["has it done beside", (_, effect) => Effect.flatMap(Effect.forkChild(effect), Fiber.join)],
  ["does not wait for it", (_, effect) => Effect.forkChild(effect, { startImmediately: true }) as never],
  ["does not even wait for its begin", (_, effect) => Effect.forkDetach(effect) as never],
  ["looks at its end and throws", (_, effect, ended) => Effect.onExit(effect, (exit) => (ended(exit), fails()))]
]

describe("an observer that is of no good", () => {
  it.effect.each(["begin", "happened", "end"] as const)(
    "R-501 B1 in its %s is told of once, and changes nothing",
    (part) =>
      Effect.gen(function* () {
        const { layer, lines, told } = logged()
        const without = yield* story([])
        const good = watching()
        const broken = yield* story([bad(part), good.observer]).pipe(
          Effect.tap(isWhole(good.attendances)),
          Effect.provide(layer),
          memory
        )
        assert.deepStrictEqual(broken, without)
        assert.lengthOf(told(), 1, lines.join("\n"))
        assert.include(told()[0], `Observer: ${part} of an observer of r1 failed, which changes nothing`)
      })
  )

  it.effect("R-501 B1 in its attend is told of once, and the others attend", () =>
    Effect.gen(function* () {
      const { layer, told } = logged()
      const good = checked()
      const without = yield* story([])
      const observers = [{ attend: fails }, good.observer, {}, { attend: () => undefined as never }]
      const broken = yield* story(observers).pipe(Effect.tap(isWhole(good.attendances)), Effect.provide(layer), memory)
      assert.deepStrictEqual(broken, without)
      assert.lengthOf(told(), 1)
    })
  )

  it.effect.each([
    ["attend", { attend: later }],
    ...(["begin", "happened", "end"] as const).map((part) => [part, { attend: () => ({ [part]: later }) }] as const)
  ] as ReadonlyArray<readonly [string, Observer.Observer]>)(
    "R-501 B1 in its %s some time later is told of once, and is no end of the process (rejections)",
    ([part, observer]) =>
      Effect.gen(function* () {
        const { layer, lines, told } = logged()
        const without = yield* story([])
        const given = yield* story([observer]).pipe(Effect.provide(layer))
        yield* turn
        assert.deepStrictEqual(given, without)
        assert.lengthOf(told(), 1, lines.join("\n"))
        assert.include(told()[0], `Observer: ${part} of an observer of r1 failed, which changes nothing`)
      })
  )

  it.effect("R-501 B1 around work some time later is no end of the process, and the work is done", () =>
    Effect.gen(function* () {
      const without = yield* story([])
      assert.deepStrictEqual(yield* story([around(later)]).pipe(Effect.provide(logged().layer)), without)
      yield* turn
    })
  )

  it.effect("R-501 B1 beside it, who is told of events and fails some time later is told of once", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      const built = deskOf([Fake.worker("one", { otherwise: "b" })], plan)
      yield* Run.start(built, { ...r1, onEvent: later }).pipe(Effect.provide(layer))
      yield* turn
      assert.deepStrictEqual(
        lines.map((line) => line.startsWith("Run: onEvent of r1 threw and is not called again")),
        [true]
      )
    }).pipe(memory)
  )

  it.effect("R-501 B1 in its recall is told of once, and the run is taken up", () =>
    Effect.gen(function* () {
      const { layer, told } = logged()
      const built = deskOf([Fake.worker("one", { answers: [Fake.never, "b"], attemptTimeout: "1 day" })], plan)
      const going = yield* begin(Run.start(built, r1))
      yield* going.interrupt
      const { status } = yield* resume(built).pipe(Observer.only([bad("recall")]), Effect.provide(layer))
      assert.strictEqual(status, "completed")
      assert.lengthOf(told(), 1)
    }).pipe(memory)
  )

  it.effect("R-501 B1 each of several is told of", () =>
    Effect.gen(function* () {
      const { layer, told } = logged()
      yield* story([bad("happened"), bad("happened"), bad("begin")]).pipe(Effect.provide(layer))
      assert.lengthOf(told(), 3)
    })
  )

  /** Of what is fine, and of what goes wrong only with work that fails, there is nothing to tell. */
  const harmless = new Set(["has it done beside", "fails otherwise"])

  it.effect.each(arounds)("R-501 B1 B2 around work changes neither the run nor its time: it %s", ([name, each]) =>
    Effect.gen(function* () {
      const { layer, lines, told } = logged()
      const without = yield* story([])
      const outer = watching()
      const inner = watching()
      const broken = yield* story([outer.observer, around(each), inner.observer]).pipe(Effect.provide(layer))
      assert.deepStrictEqual(broken, without)
      assert.deepStrictEqual(outer.ends, inner.ends)
      assert.lengthOf(told(), harmless.has(name) ? 0 : 1, lines.join("\n"))
      if (told()[0] !== undefined) assert.include(told()[0], "Observer: around of an observer of r1 failed")
    })
  )

  it.effect.each(arounds)("R-501 B1 around work lets it be interrupted: it %s", ([, each]) =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const hangs = Effect.onInterrupt(Effect.never, () => Effect.sync(() => void log.push("interrupted")))
      const built = deskOf([worker("one", () => hangs, { attemptTimeout: "1 day" }) as Worker.Worker<never>], plan)
      const going = yield* begin(
        Run.start(built, r1).pipe(Observer.only([around(each)]), Effect.provide(logged().layer))
      )
      yield* going.interrupt
      assert.deepStrictEqual(log, ["interrupted"])
      assert.strictEqual((yield* Run.outcome("r1")).status, "suspended")
    }).pipe(memory)
  )

  it.effect.each(arounds)("R-501 B1 around a decision changes nothing of it: it %s", ([, each]) =>
    Effect.gen(function* () {
      const { layer } = logged()
      const built = guarded([Fake.worker("one", { otherwise: "done", risk: "high" })], [task("a")])
      yield* Run.start(built, r1)
      const bad = Observer.only([around(each)])
      const first = yield* say("approve").pipe(bad, Effect.provide(layer))
      const error = yield* Effect.flip(say("reject", { by: "bob" }).pipe(bad, Effect.provide(layer)))
      assert.deepStrictEqual([first._tag, error._tag], ["Applied", "CommandRefused"])
    }).pipe(memory)
  )

  it.effect("R-501 that is slow after the work takes nothing from what it has brought when its run is put down", () =>
    Effect.gen(function* () {
      const slow = around((_, effect) => Effect.onExit(effect, () => Effect.sleep("10 seconds")))
      const one = Fake.worker("one", { answers: ["a"] })
      const built = deskOf([one], plan)
      const going = yield* begin(Run.start(built, r1).pipe(Observer.only([slow])))
      const stopped = yield* begin(going.interrupt)
      yield* pass("10 seconds")
      yield* stopped.join
      const { results } = yield* resume(built)
      assert.strictEqual(results["a"]?.output, "a")
      assert.lengthOf(yield* one.calls, 1)
    }).pipe(memory)
  )

  it.effect("R-501 that interrupts work has interrupted it, which is told, and the run goes on", () =>
    Effect.gen(function* () {
      const { layer, told } = logged()
      const impatient = around((_, effect) => Effect.timeout(effect, "1 second") as never)
      const one = Fake.worker("one", { latency: "1 minute", otherwise: "late", attemptTimeout: "1 hour" })
      const { results } = yield* elapse(
        Run.start(deskOf([one], plan), r1).pipe(Observer.only([impatient])),
        "1 hour"
      ).pipe(Effect.provide(layer))
      assert.notStrictEqual(results["a"]?.status, "accepted")
      assert.lengthOf(told(), 1)
    }).pipe(memory)
  )

  it.effect("R-501 is told of by the rules around it, without secrets", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      const key = `sk-ant-api03-${"x".repeat(93)}AA`
      const leaks = around(() => Effect.die(new Error(`no access with ${key}`)))
      yield* story([leaks]).pipe(Effect.provide(layer))
      assert.isAbove(lines.length, 0)
      assert.notInclude(lines.join("\n"), key)
    })
  )
})

const plan = Plan.make<string>([task("a")])

describe("an observer that is shown a desk", () => {
  const built = () => deskOf([Fake.worker("one", { otherwise: "done" })], plan)

  const opened = (staffed: Observer.Observer["staffed"]) =>
    Effect.gen(function* () {
      const { layer, told } = logged()
      const outcome = yield* Run.start(built(), r1).pipe(Observer.only([{ staffed }]), Effect.provide(layer))
      return { status: outcome.status, told: told() }
    }).pipe(memory)

  const table: ReadonlyArray<readonly [name: string, staffed: Observer.Observer["staffed"]]> = [
    ["throws", fails],
    ["dies", () => Effect.die(broken)],
    ["fails", () => Effect.fail(broken) as never],
    ["answers with what is no effect", () => 7 as never],
    ["dies of what it leaves to the end", () => Effect.addFinalizer(() => Effect.die(broken))]
  ]

  it.effect.each(table)("R-501 B1 and is of no good is told of once, and the desk is open: it %s", ([, staffed]) =>
    Effect.gen(function* () {
      const { status, told } = yield* opened(staffed)
      assert.strictEqual(status, "completed")
      assert.deepStrictEqual(
        told.map((line) => line.startsWith("Observer: it was not shown the desk desk")),
        [true]
      )
    })
  )

  it.effect("R-501 B1 is not waited for, and ends with the desk", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const { status, told } = yield* opened(() =>
        Effect.gen(function* () {
          log.push("begun")
          yield* Effect.addFinalizer(() => Effect.sync(() => void log.push("ended")))
          return yield* Effect.never
        })
      )
      assert.deepStrictEqual([status, told, log], ["completed", [], ["begun", "ended"]])
    })
  )

  it.effect.each([
    ["never ends what it has begun", () => Effect.addFinalizer(() => Effect.never)],
    ["cannot be interrupted", () => Effect.uninterruptible(Effect.never)]
  ] as const)("R-501 B1 and %s is told of once: the desk closes in time, and others see its end", ([, staffed]) =>
    Effect.gen(function* () {
      const { layer, told } = logged()
      const log: Array<string> = []
      const good = (name: string): Observer.Observer => ({
        staffed: () => Effect.addFinalizer(() => Effect.sync(() => void log.push(name)))
      })
      const run = Run.start(built(), r1).pipe(
        Observer.only([good("before"), { staffed }, good("after")]),
        Effect.provide(layer)
      )
      const { status } = yield* elapse(run, "5 seconds")
      assert.strictEqual(status, "completed")
      assert.deepStrictEqual(log.toSorted(), ["after", "before"])
      assert.deepStrictEqual(
        told().map((line) => line.startsWith("Observer: what it began with the desk desk has not ended")),
        [true]
      )
    }).pipe(memory)
  )

  it.effect("R-501 is waited for at the end for so long, also where the desk is interrupted", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const staffed: Observer.Observer["staffed"] = () =>
        Effect.addFinalizer(() =>
          Effect.andThen(
            Effect.sleep("1 second"),
            Effect.sync(() => void log.push("ended"))
          )
        )
      const slow = worker("one", () => Effect.never)
      const run = yield* begin(
        Run.start(deskOf([slow as Worker.Worker<never>], plan), r1).pipe(Observer.only([{ staffed }]))
      )
      const ending = yield* Effect.forkChild(
        Effect.andThen(
          run.interrupt,
          Effect.sync(() => void log.push("closed"))
        )
      )
      yield* pass("999 millis")
      assert.deepStrictEqual(log, [])
      yield* pass("1 millis")
      assert.deepStrictEqual(log, ["ended", "closed"])
      yield* Fiber.join(ending)
    }).pipe(memory)
  )

  it.effect("R-501 keeps what it has begun until the desk is closed", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const down = yield* Deferred.make<void>()
      const staffed: Observer.Observer["staffed"] = ({ desk }) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => void log.push(`open ${desk.name}`)),
            () => Effect.sync(() => void log.push("closed"))
          )
        )
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Office.open(built(), { log: false })
          yield* pass("1 hour")
          log.push("used")
          yield* Deferred.succeed(down, undefined)
        })
      ).pipe(Observer.only([{ staffed }]))
      assert.deepStrictEqual(log, ["open desk", "used", "closed"])
    })
  )
})

describe("who is told beside observers", () => {
  const failing: ReadonlyArray<readonly [when: string, call: () => void]> = [
    ["at once", fails],
    ["later", later]
  ]

  const gone = () =>
    desk([], [task("a")], {
      domains: [
        Domain.make("d", {
          workers: [worker("one", () => Effect.die(new Error("broke"))) as Worker.Worker<never>],
          intensity: { restarts: 0, within: "1 second" }
        })
      ]
    })

  it.effect.each(failing)(
    "R-209 B1 of the tree, and fails %s, does not keep a domain that gave up from being routed around",
    ([, onEvent]) =>
      Effect.gen(function* () {
        const { layer, lines } = logged()
        yield* Effect.gen(function* () {
          const office = yield* Office.open(gone(), { log: false, onEvent })
          yield* elapse(Effect.exit(Run.startIn(office, r1)), "1 hour")
          yield* turn
          assert.notStrictEqual(standing(office.health.facts(), "d.one").status, "healthy")
        }).pipe(Effect.scoped, Effect.provide(layer))
        assert.lengthOf(
          lines.filter((line) => line.startsWith("an observer of the tree's events threw and was removed")),
          1
        )
      }).pipe(memory)
  )

  it.effect.each(failing)(
    "R-302 B1 of what came of runs, and fails %s, does not keep others from going on",
    ([, onTaken]) =>
      Effect.gen(function* () {
        const { layer, lines } = logged()
        const built = deskOf(
          [Fake.worker("one", { otherwise: "b" })],
          Plan.make<string>([task("a", { after: "1 hour" })])
        )
        const ids = ["r1", "r2", "r3"]
        for (const id of ids) yield* elapse(Run.start(built, { ...r1, id, waitFor: "1 second" }), "2 seconds")
        yield* TestClock.adjust("2 hours")
        const taken = yield* Effect.gen(function* () {
          const office = yield* Office.open(built, { log: false })
          return yield* Host.pass(office, { onTaken })
        }).pipe(Effect.scoped, Effect.provide(layer))
        yield* turn
        assert.deepStrictEqual(
          taken.map(({ result }) => result),
          ids.map(() => "finished")
        )
        assert.lengthOf(
          lines.filter((line) => line.startsWith("Host: onTaken threw and is not called again")),
          1
        )
      }).pipe(memory)
  )
})

describe("nobody", () => {
  it.effect("R-501 attends to a run around which there are no observers, and nothing is put around its work", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* attended("r1", Effect.succeed), nobody)
      const work = Effect.succeed(1)
      const decision = { _tag: "Decision", review: "r1/review/1", decision: "approve" } as const
      assert.strictEqual(
        nobody.around(decision, work, () => ({ outcome: "accepted" })),
        work
      )
      assert.deepStrictEqual(
        nobody.begin({ cause: "start", desk: "desk", decided: [], at: 0, context: yield* Effect.context<never>() }),
        {}
      )
    })
  )
})
