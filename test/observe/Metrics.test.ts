import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Metric, type Scope } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Failure, Mailbox, Supervisor, Tree } from "espalier"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Metrics, RoutingQuality } from "espalier/observe"
import { Dependency, Office, Result, Review, Run } from "espalier/run"
import { Fake } from "espalier/testing"
import parsePrometheus from "parse-prometheus-text-format"

import { calls, delivers, deskWith, search, started } from "../agent/agents.ts"
import { nodeOf, quiet, Stage } from "../fixtures/stage.ts"
import { desk, elapse, settle, task, worker } from "../run/desks.ts"
import { r1, say } from "../run/guards.ts"
import { begin, pass } from "../run/living.ts"
import { registry, series, text, values } from "./scrape.ts"

type Services = Metrics.Metrics | Journal.Journal | Scope.Scope

const withMetrics =
  (options: Metrics.Options = {}) =>
  <A, E>(effect: Effect.Effect<A, E, Services>) =>
    effect.pipe(
      Effect.scoped,
      Effect.provide(Layer.provideMerge(Metrics.layer(options), Journal.layerMemory)),
      Effect.provide(registry())
    )

const one = (...answers: ReadonlyArray<Fake.Reply<string>>) => Fake.worker("one", { answers })

describe("layer", () => {
  it.effect("R-502 a run counts its tasks, its orders and itself", () =>
    Effect.gen(function* () {
      yield* Run.start(desk([one("a", "b")], [task("a"), task("b", { needs: ["a"] })]), r1)
      assert.deepStrictEqual(yield* values("espalier.task.results"), { "desk accepted": 2 })
      assert.deepStrictEqual(yield* values("espalier.run.results"), { "desk completed accepted false": 1 })
      assert.deepStrictEqual(yield* values("espalier.delegation.attempts"), { "desk d.one accepted true": 2 })
      assert.deepStrictEqual(yield* values("espalier.handoff.deliveries"), { "d.one d.one desk": 1 })
      assert.deepStrictEqual(yield* values("gen_ai.invoke_agent.duration"), { "d.one": 2 })
    }).pipe(withMetrics())
  )

  it.effect("R-502 the share of each budget that was used is told once, when its run ends, whoever has begun it", () =>
    Effect.gen(function* () {
      const usage = { tokens: 250, cost: 2 }
      const spends = Fake.worker("one", {
        answers: [Result.completed("a", { usage }), Result.completed("b", { usage })]
      })
      const built = desk([spends], [task("a"), task("b", { needs: ["a"], after: "1 hour" })])
      const limits = { tokens: 1_000, cost: 5, steps: 0 }
      yield* Run.start(built, { ...r1, limits, waitFor: "1 minute" })
      assert.deepStrictEqual(yield* values("espalier.budget.utilization"), {})
      yield* TestClock.adjust("2 hours")
      yield* Run.resume(built, "r1", { log: false })
      const found = (yield* Metric.snapshot).flatMap((metric) =>
        metric.id === "espalier.budget.utilization" && metric.type === "Histogram"
          ? [
              [
                metric.attributes?.["espalier.budget.kind"],
                metric.attributes?.["espalier.budget.scope"],
                metric.state.sum
              ]
            ]
          : []
      )
      assert.deepStrictEqual(found.toSorted(), [
        ["cost", "run", 0.8],
        ["tokens", "run", 0.5]
      ])
    }).pipe(withMetrics())
  )

  it.effect("R-502 what happens in the tree just before its desk closes is counted", () =>
    Effect.gen(function* () {
      const crashing = worker("one", () => Effect.die(new Error("ink")))
      const built = desk([crashing], [task("a")], { intensity: { restarts: 0, within: "1 second" } })
      yield* elapse(Run.start(built, r1), "1 minute")
      assert.deepStrictEqual(Object.values(yield* values("espalier.supervisor.escalations")), [1])
    }).pipe(withMetrics())
  )

  it.effect("R-502 a run that is taken up again in another process counts nothing of before a second time", () =>
    Effect.gen(function* () {
      const journal = yield* Effect.service(Journal.Journal)
      const told = Deferred.makeUnsafe<void>()
      const attempts: Array<number> = []
      const held = worker("one", ({ task }) =>
        task === "a" ? Effect.succeed("a") : Effect.as(Deferred.await(told), "b")
      )
      const two = desk([held], [task("a"), task("b", { needs: ["a"] })])
      const process = <A, E>(effect: Effect.Effect<A, E, Services>) =>
        Effect.gen(function* () {
          const value = yield* effect
          attempts.push(...Object.values(yield* values("gen_ai.invoke_agent.duration")))
          return [value, yield* values("espalier.task.results"), yield* values("espalier.routing.decisions")] as const
        }).pipe(
          Effect.scoped,
          Effect.provide(Metrics.layer()),
          Effect.provideService(Journal.Journal, journal),
          Effect.provide(registry())
        )
      const [, first, chosen] = yield* process(
        Effect.gen(function* () {
          const run = yield* begin(Run.start(two, r1))
          yield* run.interrupt
        })
      )
      assert.deepStrictEqual([first, chosen], [{ "desk accepted": 1 }, { "desk d.one rule desk": 2 }])
      Deferred.doneUnsafe(told, Effect.void)
      const [, second, more] = yield* process(Run.resume(two, "r1", { log: false }))
      assert.deepStrictEqual([second, more], [{ "desk accepted": 1 }, {}])
      // Whoever only looks at a run that is over counts nothing at all.
      const [, third] = yield* process(Run.resume(two, "r1", { log: false }))
      assert.deepStrictEqual(third, {})
      // An attempt that was put down is not over: it counts where it ends.
      assert.deepStrictEqual(attempts, [1, 1])
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("R-502 each metric has at most so many series, and the rest is in one that says so", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 8; n++) {
        yield* RoutingQuality.record({ supervisor: "s", predicted: `w${n % 5}`, expected: "w0" })
      }
      const found = yield* series("espalier.routing.evaluations")
      assert.strictEqual(found.length, 4)
      assert.deepStrictEqual(
        found.filter(({ attributes }) => attributes["espalier.overflow"] === "true").map(({ value }) => value),
        [2]
      )
      assert.strictEqual(
        found.reduce((sum, { value }) => sum + value, 0),
        8
      )
      assert.deepStrictEqual(yield* values("espalier.telemetry.dropped"), { "series cardinality": 2 })
      assert.strictEqual((yield* values("espalier.telemetry.series"))["espalier.routing.evaluations"], 3)
    }).pipe(withMetrics({ maxSeries: 3 }))
  )

  it.each([
    [{ maxSeries: 0 }, "maxSeries must be a whole number >= 1, got 0"],
    [{ profile: "newest" as never }, 'profile must be one of "genai-0.1", "semconv-1.41", got "newest"'],
    [{ reviewsEvery: 0 }, "reviewsEvery"],
    [{ people: { perHour: -1, currency: "EUR" } }, "people.perHour must be a number >= 0, got -1"],
    [{ people: { perHour: 1, currency: "euro" } }, "people.currency must be three capital letters"],
    [{ every: 1 } as never, "each field of options"]
  ])("R-502 throws for %o", (options, message) => {
    assert.throws(
      () => Metrics.layer(options),
      RangeError,
      `${message}`.startsWith("each") ? message : `Metrics.layer: ${message}`
    )
  })

  it.effect("R-502 tokens go by the names of the profile", () =>
    Effect.gen(function* () {
      const names = (profile: Metrics.Profile) => Metrics.catalogOf(profile).map(({ name }) => name)
      assert.isTrue(names("genai-0.1").includes("gen_ai.client.inference.duration"))
      assert.isFalse(names("genai-0.1").includes("gen_ai.client.token.usage"))
      assert.isTrue(names("semconv-1.41").includes("gen_ai.client.token.usage"))
      assert.isFalse(names("semconv-1.41").some((name) => name.startsWith("gen_ai.client.inference")))
    })
  )

  it.effect("R-502 the time of people costs what was said, of questions that somebody took care of", () =>
    Effect.gen(function* () {
      const asks = Fake.worker("one", { answers: ["a"], risk: "high" })
      const run = Run.start(desk([asks], [task("a")]), r1)
      yield* run
      const open = yield* Review.queue()
      const [item] = open.items
      yield* Review.claim(item!.review, { by: "ann" })
      yield* TestClock.adjust("12 minutes")
      yield* say("approve")
      assert.deepStrictEqual(
        (yield* series("espalier.cost.spent")).map(({ attributes, value }) => [
          attributes["espalier.cost.kind"],
          attributes["espalier.cost.currency"],
          value
        ]),
        [["people", "EUR", 16]]
      )
    }).pipe(withMetrics({ people: { perHour: 80, currency: "EUR" } }))
  )
})

describe("people", () => {
  const risky = () => desk([Fake.worker("one", { answers: ["a"], risk: "high" })], [task("a")])
  const counts = Effect.all([
    values("espalier.review.requests"),
    values("espalier.review.decisions"),
    values("espalier.task.results")
  ])

  it.effect("R-502 an answer is counted once, whoever carries out the run when it comes", () =>
    Effect.gen(function* () {
      const two = desk(
        [Fake.worker("one", { answers: ["a"], risk: "high" }), worker("two", () => Effect.never)],
        [task("a"), task("b", { worker: "d.two" })]
      )
      const office = yield* Office.open(two, { log: false })
      const run = yield* begin(Run.startIn(office, r1))
      yield* say("approve", {}, office)
      yield* settle
      assert.deepStrictEqual(yield* counts, [
        { "action_approval high desk autonomy": 1 },
        { "action_approval high approved primary desk human": 1 },
        { "desk accepted": 1 }
      ])
      yield* run.interrupt
    }).pipe(withMetrics())
  )

  it.effect("R-502 so is one that comes when nobody does", () =>
    Effect.gen(function* () {
      const asks = risky()
      yield* Run.start(asks, r1)
      yield* say("approve")
      yield* Run.resume(asks, "r1", { log: false })
      assert.deepStrictEqual(yield* counts, [
        { "action_approval high desk autonomy": 1 },
        { "action_approval high approved primary desk human": 1 },
        { "desk accepted": 1 }
      ])
    }).pipe(withMetrics())
  )

  it.effect("R-502 the questions of one journal are shown once, however many desks are open on it", () =>
    Effect.gen(function* () {
      const asks = risky()
      yield* Office.open(risky(), { log: false })
      const inner = Effect.gen(function* () {
        yield* Office.open(risky(), { log: false })
        yield* Run.start(asks, r1)
        yield* settle
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), { action_approval: 1 })
      })
      yield* Effect.scoped(inner)
      assert.deepStrictEqual(yield* values("espalier.review.pending.count"), { action_approval: 1 })
    }).pipe(withMetrics())
  )

  it.effect(
    "R-502 the questions of a journal are read while a desk is open on it, and by nobody when it is closed",
    () =>
      Effect.gen(function* () {
        yield* Run.start(risky(), r1)
        yield* settle
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), {})
        assert.deepStrictEqual(yield* values("espalier.review.pending.age"), {})
        yield* Office.open(risky(), { log: false })
        yield* settle
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), { action_approval: 1 })
      }).pipe(withMetrics())
  )

  it.effect("R-502 of a journal that cannot be read nothing is shown", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      let broken = false
      const reason = new Journal.JournalUnavailable({ location: "here", problem: "io", detail: "gone" })
      const gone = new Journal.JournalError({ reason })
      const moody: Journal.Journal["Service"] = {
        ...journal,
        reviews: (run) => Effect.suspend(() => (broken ? Effect.fail(gone) : journal.reviews(run)))
      }
      const asks = risky()
      yield* Effect.gen(function* () {
        yield* Office.open(asks, { log: false })
        yield* Run.start(asks, r1)
        yield* settle
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), { action_approval: 1 })
        broken = true
        yield* pass("15 seconds")
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), {})
      }).pipe(Effect.provideService(Journal.Journal, moody))
    }).pipe(withMetrics())
  )
})

describe("models", () => {
  it.effect("R-502 what an agent asks of a model is counted out of what the run wrote down", () =>
    Effect.gen(function* () {
      const script = ScriptedModel.make([calls(["search", { query: "x" }]), delivers("found")])
      const agent = deskWith(script, { tools: ToolScope.make([search()]) })
      yield* started(agent)
      assert.deepStrictEqual(yield* values("gen_ai.invoke_agent.inference_calls"), { "d.one": 1 })
      const [tokens] = yield* series("gen_ai.client.inference.usage.input_tokens")
      assert.strictEqual(tokens?.value, 20)
      assert.strictEqual((yield* series("espalier.context_window.utilization"))[0]?.value, 2)
      assert.strictEqual((yield* series("gen_ai.execute_tool.duration"))[0]?.attributes["gen_ai.tool.name"], "search")
      assert.strictEqual((yield* series("espalier.cost.unknown"))[0]?.value, 2)
    }).pipe(Effect.provide(Layer.mergeAll(CostModel.layerUnknown, Dependency.layer())), withMetrics())
  )
})

describe("desks", () => {
  it.effect("R-502 a desk shows its pools while it is open, and nothing of them afterwards", () =>
    Effect.gen(function* () {
      const told = Deferred.makeUnsafe<void>()
      const busy = worker("one", () => Effect.as(Deferred.await(told), "done"), { size: 1 })
      const two = desk([busy], [task("a"), task("b", { needs: ["a"] })])
      const open = Effect.scoped(
        Effect.flatMap(Office.open(two, { log: false }), (office) =>
          Effect.all([Run.startIn(office, r1), Run.startIn(office, { ...r1, id: "r2" })], { concurrency: "unbounded" })
        )
      )
      const run = yield* begin(open)
      assert.deepStrictEqual(yield* values("espalier.pool.size"), { "d.one": 1 })
      assert.deepStrictEqual(yield* values("espalier.pool.busy.count"), { "d.one": 1 })
      assert.deepStrictEqual(yield* values("espalier.pool.queued.count"), { "d.one": 1 })
      assert.deepStrictEqual(yield* values("espalier.task.count"), {
        "desk queued": 2,
        "desk ready": 0,
        "desk running": 2,
        "desk awaiting_review": 0
      })
      assert.deepStrictEqual(yield* values("espalier.supervisor.restart.limit"), { desk: 3, "desk/d": 3 })
      yield* TestClock.adjust("3 seconds")
      Deferred.doneUnsafe(told, Effect.void)
      yield* run.join
      for (const gauge of Metrics.catalog.filter(({ instrument, name }) => instrument === "gauge" && !kept.has(name))) {
        assert.deepStrictEqual(yield* series(gauge.name), [], gauge.name)
      }
      const waits = (yield* Metric.snapshot).find(({ id }) => id === "espalier.pool.wait.duration")
      assert.deepInclude(waits?.state, { count: 4, sum: 3, max: 3 })
    }).pipe(withMetrics())
  )

  it.effect(
    "R-502 the tasks of a desk are shown for as long as one of its runs is carried out, whichever ends first",
    () =>
      Effect.gen(function* () {
        const told = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
        let calls = 0
        const busy = worker("one", () => Effect.as(Deferred.await(told[calls++]!), "done"), { size: 2 })
        const office = yield* Office.open(desk([busy], [task("a")]), { log: false })
        const first = yield* begin(Run.startIn(office, r1))
        const second = yield* begin(Run.startIn(office, { ...r1, id: "r2" }))
        const running = Effect.map(values("espalier.task.count"), (all) => all["desk running"])
        assert.strictEqual(yield* running, 2)
        Deferred.doneUnsafe(told[0]!, Effect.void)
        yield* first.join
        assert.strictEqual(yield* running, 1)
        Deferred.doneUnsafe(told[1]!, Effect.void)
        yield* second.join
        assert.deepStrictEqual(yield* values("espalier.task.count"), {})
      }).pipe(withMetrics())
  )

  it.effect("R-502 a breaker is in one state of three, and its changes are counted", () =>
    Effect.gen(function* () {
      const office = yield* Office.open(desk([one("a")], [task("a")]), { log: false })
      const state = (name: string) =>
        Effect.map(values("espalier.breaker.status"), (all) =>
          Object.entries(all).flatMap(([key, value]) => (key.startsWith(name) && value === 1 ? [key] : []))
        )
      assert.deepStrictEqual(yield* state("d.one"), ["d.one closed"])
      office.health.trip("d.one", 0, "it is ill")
      assert.deepStrictEqual(yield* values("espalier.breaker.transitions"), { "d.one closed open": 1 })
      // It is out of use for another reason now, which changes nothing about calls.
      office.health.withdraw("d.one", 0, { by: "ann", reason: "it is repaired" })
      assert.deepStrictEqual(yield* values("espalier.breaker.transitions"), { "d.one closed open": 1 })
      office.health.restore("d.one", 0, "ann")
      assert.deepStrictEqual(yield* state("d.one"), ["d.one open"])
      yield* pass("10 minutes")
      assert.deepStrictEqual(yield* state("d.one"), ["d.one half_open"])
      assert.deepStrictEqual(yield* values("espalier.breaker.transitions"), {
        "d.one closed open": 1,
        "d.one open half_open": 1
      })
    }).pipe(withMetrics())
  )

  it.effect("R-502 a dependency has a breaker, too, from its first trouble on, also when it is well again", () =>
    Effect.gen(function* () {
      yield* Office.open(desk([one("a")], [task("a")]), { log: false })
      assert.deepStrictEqual(Object.keys(yield* values("espalier.breaker.status")).length, 3)
      yield* Effect.exit(Dependency.call("acme", Effect.fail(Failure.transient("429", { retryAfter: "30 seconds" }))))
      assert.strictEqual((yield* values("espalier.breaker.status"))["acme open"], 1)
      yield* TestClock.adjust("31 seconds")
      yield* Dependency.call("acme", Effect.void)
      assert.strictEqual((yield* values("espalier.breaker.status"))["acme closed"], 1)
      assert.deepStrictEqual(yield* values("espalier.breaker.transitions"), {
        "acme closed open": 1,
        "acme open closed": 1
      })
    }).pipe(Effect.provide(Dependency.layer()), withMetrics())
  )

  it.effect(
    "R-502 questions that are open are shown with the age of the oldest, also when nobody carries out their run",
    () =>
      Effect.gen(function* () {
        const asks = Fake.worker("one", { answers: ["a"], risk: "high" })
        const risky = desk([asks], [task("a")])
        yield* Office.open(risky, { log: false })
        yield* Run.start(risky, r1)
        yield* settle
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), { action_approval: 1 })
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* values("espalier.review.pending.age"), { action_approval: 3600 })
        yield* say("reject")
        yield* pass("15 seconds")
        assert.deepStrictEqual(yield* values("espalier.review.pending.count"), {})
      }).pipe(withMetrics())
  )
})

/** Gauges of the metrics themselves. */
const kept = new Set(["espalier.telemetry.series"])

describe("tree", () => {
  class Inbox extends Actor.Service<Inbox>()("Inbox", [Rpc.make("Note", {})]) {}

  const busy = Effect.succeed(Inbox.handlers({ Note: () => Effect.never }))

  it.effect("R-502 a tree shows what is left of each intensity, its children by state, and counts restarts", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", {
          children: [
            Supervisor.make("inner", {
              intensity: { restarts: 5, within: "1 minute" },
              children: [stage.child("a"), stage.child("b")]
            })
          ]
        })
      )
      yield* Metrics.tree(tree)
      yield* TestClock.adjust("20 seconds")
      stage.end("a")
      stage.end("b", Effect.fail(Failure.malformed("nonsense")))
      yield* quiet
      const inner = (all: Readonly<Record<string, number>>) => all["root/inner"]
      assert.strictEqual(inner(yield* values("espalier.supervisor.restart.usage")), 2)
      assert.strictEqual(inner(yield* values("espalier.supervisor.restart.limit")), 5)
      assert.strictEqual(inner(yield* values("espalier.supervisor.restart.left")), 3)
      assert.deepStrictEqual(yield* values("espalier.supervisor.restarts"), {
        "root/inner worker one_for_one crash": 1,
        "root/inner worker one_for_one contract_violation": 1
      })
      assert.strictEqual((yield* values("espalier.supervisor.child.count"))["root/inner running"], 2)
      const [lifetime] = (yield* Metric.snapshot).filter(({ id }) => id === "espalier.supervisor.child.lifetime")
      assert.deepInclude(lifetime?.state, { count: 2, sum: 40 })
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(inner(yield* values("espalier.supervisor.restart.usage")), 0)
    }).pipe(withMetrics())
  )

  it.effect("R-502 a supervisor that gives up is told, with who has to deal with it", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", {
          children: [
            Supervisor.make("inner", { intensity: { restarts: 0 }, restart: "never", children: [stage.child("a")] })
          ]
        })
      )
      yield* Metrics.tree(tree)
      stage.end("a")
      yield* quiet
      assert.deepStrictEqual(yield* values("espalier.supervisor.escalations"), { "root/inner parent": 1 })
      // What is not there any more has no series.
      assert.deepStrictEqual(Object.keys(yield* values("espalier.supervisor.restart.limit")), ["root"])
    }).pipe(withMetrics())
  )

  it.effect("R-502 mail is shown by kind: what the fullest has, and what all have; a drop is counted", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const mailbox = Mailbox.make({ capacity: 2, whenFull: "drop-new" })
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", {
          children: [Inbox.child(busy, { mailbox: { capacity: 2, whenFull: mailbox.whenFull } })]
        })
      )
      yield* Metrics.tree(tree)
      for (let n = 0; n < 5; n++) yield* Context.get(context, Inbox).tell.Note()
      yield* quiet
      assert.deepStrictEqual(yield* values("espalier.mailbox.usage"), { "root/Inbox max": 1, "root/Inbox sum": 1 })
      assert.deepStrictEqual(yield* values("espalier.mailbox.limit"), { "root/Inbox max": 2, "root/Inbox sum": 2 })
      assert.deepStrictEqual(yield* values("espalier.mailbox.rejections"), { "root/Inbox drop_new": 3 })
      assert.deepStrictEqual(yield* values("espalier.deadletter.messages"), { "root/Inbox dropped_new": 3 })
    }).pipe(withMetrics())
  )

  it.effect("R-502 a mailbox without a bound has no limit", () =>
    Effect.gen(function* () {
      const { tree } = yield* new Stage().start(Supervisor.make("root", { children: [Inbox.child(busy)] }))
      yield* Metrics.tree(tree)
      assert.deepStrictEqual(yield* values("espalier.mailbox.usage"), { "root/Inbox max": 0, "root/Inbox sum": 0 })
      assert.deepStrictEqual(yield* values("espalier.mailbox.limit"), {})
    }).pipe(withMetrics())
  )

  it.effect("R-502 children of one template are one kind, however many come and go", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      class Pool extends Supervisor.DynamicService<Pool, string, never, unknown>()("pool") {}
      const inner = (name: string) => Supervisor.make("crew", { children: [stage.child(name)] })
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", { children: [Pool.child(inner, { intensity: { restarts: 1000 } })] })
      )
      yield* Metrics.tree(tree)
      const pool = Context.get(context, Pool)
      for (let n = 0; n < 20; n++) yield* pool.start(`n${n}`)
      yield* quiet
      assert.deepStrictEqual(Object.keys(yield* values("espalier.supervisor.restart.limit")).toSorted(), [
        "root",
        "root/pool",
        "root/pool/*"
      ])
      assert.strictEqual((yield* values("espalier.supervisor.child.count"))["root/pool/* running"], 20)
      stage.end("n3")
      yield* quiet
      assert.deepStrictEqual(yield* values("espalier.supervisor.restarts"), {
        "root/pool/* worker one_for_one crash": 1
      })
      for (const { id } of yield* pool.children) yield* pool.stop(id)
      yield* quiet
      assert.deepStrictEqual(Object.keys(yield* values("espalier.supervisor.restart.limit")).toSorted(), [
        "root",
        "root/pool"
      ])
    }).pipe(withMetrics())
  )

  it.effect("R-502 a node that is removed leaves no series; one that is restarted keeps one", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const inner = Supervisor.make("inner", { children: [stage.child("a")], restart: "always" })
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [inner, Inbox.child(busy)] }))
      yield* Metrics.tree(tree)
      const root = yield* tree.find(["root"])
      const count = () => Effect.map(Metric.snapshot, (all) => all.filter(({ type }) => type === "Gauge").length)
      const before = yield* count()
      yield* root.stopChild("Inbox")
      yield* root.restartChild("Inbox")
      stage.end("a")
      yield* quiet
      assert.strictEqual(yield* count(), before)
      yield* root.stopChild("Inbox")
      yield* root.removeChild("Inbox")
      yield* root.stopChild("inner")
      yield* root.removeChild("inner")
      yield* quiet
      const left = (yield* Metric.snapshot).filter(({ attributes = {}, type }) => {
        return type === "Gauge" && Object.values(attributes).some((text) => /Inbox|inner/.test(text))
      })
      assert.deepStrictEqual(left, [])
    }).pipe(withMetrics())
  )

  it.effect("R-502 a tree that has ended leaves no gauge", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
      yield* Metrics.tree(tree)
      assert.isAbove((yield* series("espalier.supervisor.child.count")).length, 0)
      yield* tree.stop
      yield* quiet
      assert.deepStrictEqual(yield* series("espalier.supervisor.child.count"), [])
    }).pipe(withMetrics())
  )

  it.effect("R-502 two trees of one kind are shown as one: the least that is left, and all children", () =>
    Effect.gen(function* () {
      const [first, second] = [new Stage(), new Stage()]
      const spec = (stage: Stage) => Supervisor.make("root", { children: [stage.child("a")] })
      yield* Metrics.tree((yield* first.start(spec(first))).tree)
      const other = yield* second.start(spec(second))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Metrics.tree(other.tree)
          second.end("a")
          yield* quiet
          assert.deepStrictEqual(yield* values("espalier.supervisor.restart.left"), { root: 2 })
          assert.strictEqual((yield* values("espalier.supervisor.child.count"))["root running"], 2)
        })
      )
      assert.deepStrictEqual(yield* values("espalier.supervisor.restart.left"), { root: 3 })
    }).pipe(withMetrics())
  )

  it.effect("R-502 a tree in the context is measured by a layer", () =>
    Effect.gen(function* () {
      const tree = yield* Tree.Tree
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
      assert.strictEqual((yield* values("espalier.supervisor.child.count"))["root running"], 1)
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          Metrics.layerTree,
          Supervisor.layer(Supervisor.make("root", { children: [Child.effect("a", Effect.never)] }))
        )
      ),
      withMetrics()
    )
  )
})

describe("a scrape", () => {
  it.effect("R-502 is text that Prometheus reads, with a type for each metric and no unit among the labels", () =>
    Effect.gen(function* () {
      const failing = one(Fake.fail("capability"), "a")
      yield* Office.open(desk([one("a")], [task("a")]), { log: false })
      yield* Run.start(desk([failing], [task("a")]), r1)
      const families = parsePrometheus(yield* text)
      const byName = new Map(families.map((family) => [family.name, family]))
      for (const { description, instrument, name } of Metrics.catalog) {
        const family = byName.get(name.replaceAll(".", "_"))
        if (family === undefined) continue
        assert.strictEqual(family.type.toLowerCase(), instrument, name)
        assert.strictEqual(family.help, description)
        for (const { labels = {} } of family.metrics) assert.notProperty(labels, "unit")
      }
      const results = byName.get("espalier_task_results")?.metrics[0]
      assert.deepStrictEqual(results?.labels, { espalier_workflow_type: "desk", espalier_task_result: "failed" })
      assert.isAbove(byName.size, 20)
    }).pipe(withMetrics())
  )
})
