/**
 * An outage drill: what a desk delivers when a provider is down for ninety seconds and a whole domain never answers.
 *
 * Copy it next to your own desk. The workers are fakes, the outage is data, and the clock is virtual: the drill takes
 * minutes of its own time and none of yours. Run it with `npx vitest run examples/outage-drill`.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import { Desk, Domain, Plan, Run } from "espalier/run"
import { Fake, Outage, VirtualTime } from "espalier/testing"

/** The drill: the search provider is down from second 15 to second 105, the build host for good, without a word. */
const drill = Outage.make([
  { what: "search", from: "15 seconds", until: "105 seconds", retryAfter: "45 seconds" },
  { what: "build-host", kind: "silence" }
])

/** The last moment at which somebody still waits for the report. */
const deadline = "5 minutes"

/** The workers of the desk. Each knows what it depends on; the drill decides whether that is there. */
const makeWorkers = () => ({
  outline: Fake.worker("outline", { answers: [{ chapters: 3 }], latency: "20 seconds" }),
  links: Fake.worker("links", {
    description: "Looks up every link",
    answers: [{ dead: ["guide.md"] }],
    dependencies: ["search"],
    latency: "2 seconds"
  }),
  compile: Fake.worker("compile", {
    capabilities: ["compile"],
    answers: [{ warnings: 0 }],
    dependencies: ["build-host"],
    attemptTimeout: "20 seconds"
  }),
  recompile: Fake.worker("recompile", {
    capabilities: ["compile"],
    answers: [{ warnings: 0 }],
    dependencies: ["build-host"],
    attemptTimeout: "20 seconds"
  }),
  report: Fake.worker("report", {
    answers: ({ accepted, missing }) => ({ from: Object.keys(accepted), without: missing.map(({ task }) => task) })
  })
})

const makeDesk = ({ compile, links, outline, recompile, report }: ReturnType<typeof makeWorkers>) =>
  Desk.make("release", {
    version: "1",
    input: Schema.Struct({ root: Schema.String }),
    domains: [
      Domain.make("docs", { workers: [outline, links, report] }),
      Domain.make("code", { workers: [compile, recompile] })
    ],
    coordinator: Plan.make([
      { id: "outline", worker: "docs.outline", objective: "Outline the manual" },
      { id: "links", worker: "docs.links", objective: "Find dead links", needs: ["outline"] },
      { id: "compile", capability: "compile", objective: "Compile without warnings" },
      {
        id: "report",
        worker: "docs.report",
        objective: "Write the report",
        needs: ["links", "compile"],
        acceptMissing: true
      }
    ])
  })

/** Runs the desk under the drill and gives it until the deadline; a run that is not over then fails the test. */
const underDrill = Effect.gen(function* () {
  const workers = makeWorkers()
  const run = Run.start(makeDesk(workers), { id: "drill", input: { root: "." }, log: false })
  const outcome = yield* VirtualTime.elapse(run, deadline)
  return { outcome, workers }
}).pipe(Effect.provide([Outage.layer(drill), Journal.layerMemory]))

describe("R-804 an outage drill", () => {
  it.effect("ends with a partial result that says what is missing and why", () =>
    Effect.gen(function* () {
      const { outcome } = yield* underDrill
      assert.strictEqual(outcome.status, "partial")
      assert.deepStrictEqual(
        outcome.missing.map(({ task }) => task),
        ["compile"]
      )
      assert.include(outcome.missing[0]?.reason, "no answer within 20000 ms")
      assert.deepStrictEqual(outcome.results["links"]?.output, { dead: ["guide.md"] })
      assert.deepStrictEqual(outcome.results["report"]?.output, { from: ["links"], without: ["compile"] })
    })
  )

  it.effect("waits for the provider as it asks, and asks it no more often", () =>
    Effect.gen(function* () {
      const { outcome, workers } = yield* underDrill
      // At second 20, 65 and 110: forty-five seconds apart, and the third time it is back.
      const attempts = (yield* workers.links.calls).map(({ attempt }) => attempt)
      assert.deepStrictEqual(attempts, [1, 2, 3])
      const links = outcome.dispatches.find(({ task }) => task === "links")
      assert.deepStrictEqual([links?.startedAt, links?.durationMillis], [20_000, 92_000])
    })
  )

  it.effect("gives the silent domain up in time, after its stand-in was tried too", () =>
    Effect.gen(function* () {
      const { outcome } = yield* underDrill
      const compile = outcome.dispatches.filter(({ task }) => task === "compile")
      assert.deepStrictEqual(
        compile.map(({ outcome, worker }) => `${worker} ${outcome}`),
        ["code.compile timed-out", "code.recompile timed-out"]
      )
      assert.isAtMost(outcome.endedAt! - outcome.startedAt, 150_000)
    })
  )

  it.effect("leaves nothing running, and nobody is called any more", () =>
    Effect.gen(function* () {
      const { workers } = yield* underDrill
      const all = Object.values(workers)
      const called = yield* Effect.forEach(all, ({ calls }) => Effect.map(calls, ({ length }) => length))
      assert.deepStrictEqual(yield* Effect.forEach(all, ({ running }) => running), [0, 0, 0, 0, 0])
      yield* VirtualTime.elapse(Effect.void, "1 day")
      const later = yield* Effect.forEach(all, ({ calls }) => Effect.map(calls, ({ length }) => length))
      assert.deepStrictEqual(later, called)
    })
  )
})
