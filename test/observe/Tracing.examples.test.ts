/** The spans of the runs of all examples are the tree of their journals: names, nesting, tries, tools, ends and times. */
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { CostModel, Sandbox } from "espalier/agent"
import { Artefacts, Journal } from "espalier/journal"
import { SemConv } from "espalier/observe"
import { Dependency, Observer, Reviewers, Run, type RunEvent } from "espalier/run"

import refunds from "../../examples/approval/desk.ts"
import people from "../../examples/approval/people.json" with { type: "json" }
import { desk as graph } from "../../examples/graph/desk.ts"
import * as Reset from "../../examples/password-reset/conduct.ts"
import { scripted } from "../../examples/password-reset/scripts.ts"
import { desk as pipeline } from "../../examples/pipeline/desk.ts"
import { Folder, make as planned } from "../../examples/planned/desk.ts"
import * as Script from "../../examples/planned/script.ts"
import { desk as release, Subject } from "../../examples/release-desk/desk.ts"
import * as Faults from "../../examples/release-desk/faults.ts"
import * as Repository from "../../examples/release-desk/Repository.ts"
import { defaultTopic } from "../../examples/research-desk/arguments.ts"
import { conduct } from "../../examples/research-desk/conduct.ts"
import { forces, settingOf } from "../../examples/research-desk/forced.ts"
import { Library } from "../../examples/research-desk/Library.ts"
import * as Prices from "../../examples/shared/prices.ts"
import { desk as swarm } from "../../examples/swarm/desk.ts"
import { desk as garden } from "../../examples/waiting/desk.ts"
import { carryOut } from "../examples/patterns.ts"
import { folder } from "../examples/release-desk/folder.ts"
import * as Research from "../examples/research-desk/runs.ts"
import { lost } from "../run/outside.ts"
import type { Seen } from "./seen.ts"
import { type Difference, realTime } from "./shape.ts"
import { agree, sound, tracing } from "./traced.ts"
import { eventsOf } from "./trees.ts"

const { espalier, spanName } = SemConv

const anchors = (spans: ReadonlyArray<Seen>) => spans.filter(({ name }) => name === spanName.segment)

const linksOf = (span: Seen | undefined, type: string) =>
  span?.links.flatMap((link) => (link.type === type ? [`${link.trace} ${link.id}`] : []))

/** Carries a run out, and compares; answers with its spans. */
const agrees = <E, R>(
  run: string,
  effect: Effect.Effect<{ readonly events: ReadonlyArray<RunEvent.RunEvent> }, E, R>,
  without: ReadonlyArray<Difference> = []
) =>
  Effect.gen(function* () {
    const { layer, seen } = tracing()
    const { events } = yield* Effect.provide(effect, layer)
    agree(run, seen(), events, without)
    sound(seen(), run)
    return seen()
  })

/** The same of a run that nothing suspends: it is one trace, of one root. */
const isOneTrace = <E, R>(run: string, effect: Parameters<typeof agrees<E, R>>[1]) =>
  Effect.map(agrees(run, effect), (spans) => {
    assert.strictEqual(new Set(spans.map(({ trace }) => trace)).size, 1)
    assert.strictEqual(spans.filter(({ parent }) => parent === undefined).length, 1)
  })

const notice = "We are very glad to tell you. From 4 March on the shop opens at 6:30. Ask Amina about `rye` (3.20)."

const changes = ["# Changelog", "## 2.0.0", "### Added", "- `pay` takes cards", "### Fixed", "- Rounding"].join("\n")

const notes = {
  "garden/pears.md": "Pears want pruning in winter\nPruning wants a ladder\nA ladder wants a shed\n",
  "garden/plums.txt": "Plums want no pruning in winter\nWinter is for ladder repairs\n"
}

describe("The spans of the examples are the trees of their journals", () => {
  it.effect.each(["nothing", ...forces])("R-501 D101 of the research desk, where %s is forced", (what) =>
    isOneTrace("r1", Research.run({ force: forces.find((each) => each === what) }))
  )

  it.effect.each(["retry", "accept-partial", "reject"] as const)(
    "R-501 D103 of the research desk, where a person is asked and says %s",
    (answer) =>
      Effect.map(agrees("r1", Research.run({ force: "escalate", answer })), (spans) => {
        const [, second] = anchors(spans)
        const decided = spans.find(({ name }) => name === spanName.reviewDecide)
        assert.deepStrictEqual(linksOf(second, "decided_by"), [`${decided?.trace} ${decided?.id}`])
        assert.isFalse(
          spans.some(({ attributes, end }) => end === "error" && attributes[espalier.outcome] === "suspended")
        )
      })
  )

  it.effect.each(["research", "write", "check"] as const)("R-501 D101 of the research desk, where %s fails", (fail) =>
    isOneTrace("r1", Research.run({ fail }))
  )

  it.effect.each(["none", "research", "analysis", "sloppy"] as const)("R-501 D101 of the pipeline, fault %s", (fault) =>
    Effect.gen(function* () {
      const root = yield* folder({ "changes.md": changes })
      yield* isOneTrace("r1", carryOut(pipeline, { file: join(root, "changes.md"), fault }))
    }).pipe(Effect.scoped)
  )

  it.effect.each([
    ["pears", 1],
    ["pruning", 4],
    ["pearsons", 1]
  ] as const)("R-501 D101 of the graph, %s until there are %d", ([term, enough]) =>
    Effect.gen(function* () {
      const root = yield* folder(notes)
      yield* isOneTrace("r1", carryOut(graph, { term, folder: root, enough }))
    }).pipe(Effect.scoped)
  )

  it.effect.each([false, true])("R-501 D101 of the swarm, stubborn: %s", (stubborn) => {
    return isOneTrace("r1", carryOut(swarm, { text: notice, limit: 16, stubborn }))
  })

  it.effect.each([0, 1, 2] as const)("R-501 D101 of the planned survey, with %d bad plans", (badPlans) =>
    Effect.gen(function* () {
      const root = yield* folder({ "README.md": "# Till\n", "src/till.ts": "export const total = 1\n" })
      const run = carryOut(planned(Script.make(badPlans)), {}).pipe(
        Effect.provideService(Folder, root),
        Effect.provide(Layer.merge(Dependency.layer(), CostModel.layerUnknown))
      )
      yield* isOneTrace("r1", run)
    }).pipe(Effect.scoped)
  )

  it.effect.each(["nothing", "crash", "crash at first", "capability", "malformed", "denied"] as const)(
    "R-501 D101 of the release desk, where one worker ends with %s",
    (fault) =>
      Effect.gen(function* () {
        const root = yield* folder({
          "README.md": "# Till\n\n[nothing](gone.md)\n",
          "src/index.ts": "// TODO: round\n"
        })
        const repository = yield* Repository.open(root)
        const [kind, first] = fault === "crash at first" ? (["crash", 1] as const) : ([fault, undefined] as const)
        const faults = kind === "nothing" ? [] : [{ worker: "code.size", kind, calls: first }]
        const run = carryOut(release, { root, runChecks: false })
        yield* isOneTrace("r1", Effect.provideService(run, Subject, { repository, strike: Faults.make(faults) }))
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect.each(["segment", "run"] as const)("R-501 D102 of the run that waits, each %s a trace", (traceMode) =>
    Effect.gen(function* () {
      const desk = garden("2 days")
      const how = { log: false, waitFor: 0 } as const
      const { layer, seen } = tracing({ traceMode })
      const events = yield* Effect.gen(function* () {
        yield* Run.start(desk, { ...how, id: "r1", input: { scion: "Bellflower" } })
        yield* TestClock.adjust("1 day")
        // Somebody looks too early.
        yield* Run.resume(desk, "r1", how)
        yield* TestClock.adjust("1 day")
        yield* Run.resume(desk, "r1", how)
        return yield* eventsOf("r1")
      }).pipe(Effect.provide(layer))
      agree("r1", seen(), events)
      sound(seen(), "r1")
      const all = anchors(seen())
      assert.deepStrictEqual(
        all.map(({ attributes }) => attributes[espalier.segmentCause]),
        ["start", "timer"]
      )
      assert.deepStrictEqual(linksOf(all[1], "resumed_from"), [`${all[0]?.trace} ${all[0]?.id}`])
      assert.strictEqual(all[0]?.trace === all[1]?.trace, traceMode === "run")
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("R-501 D103 of the reset of passwords, which people let through twice", () =>
    Effect.gen(function* () {
      const root = yield* folder({})
      const cast = yield* scripted({ stubborn: false })
      const sandbox = Sandbox.layerMemory(() => Effect.succeed({}))
      const run = Reset.conduct({ cast, person: { contract: true, deployment: true } }).pipe(
        Effect.provide(Reset.surroundings(root, sandbox)),
        Effect.provide(Layer.merge(Journal.layerMemory, Artefacts.layerMemory()))
      )
      const spans = yield* agrees(Reset.id, run)
      const decided = spans.filter(({ name }) => name === spanName.reviewDecide)
      assert.isAbove(decided.length, 1)
      for (const anchor of anchors(spans).slice(1)) {
        const by = linksOf(anchor, "decided_by") ?? []
        assert.isTrue(decided.some(({ id, trace }) => by.includes(`${trace} ${id}`)))
      }
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  /** The till of the example lies below the folder in which its program is started. */
  const inside = (root: string) =>
    Effect.acquireRelease(
      Effect.sync(() => {
        const before = process.cwd()
        process.chdir(root)
        return before
      }),
      (before) => Effect.sync(() => process.chdir(before))
    )

  // Real time: the warehouse of the example takes two seconds, and so does its bank.
  it.live("R-501 D103 of the refunds, which people are asked about three times", () =>
    Effect.gen(function* () {
      yield* inside(yield* folder({}))
      const resumed = Run.resume(refunds, "r1", { log: false })
      const decide = (review: string, by: string, said: Omit<Run.Deciding, "review" | "by">) =>
        Effect.andThen(Run.decide({ review, by, ...said }), resumed)
      const run = Effect.gen(function* () {
        yield* Run.start(refunds, { id: "r1", input: { order: "1043" }, requester: "ann", log: false })
        yield* decide("r1/review/1", "bob", { decision: "answer", answer: "half" })
        yield* decide("r1/review/2", "bob", { decision: "approve" })
        const { status } = yield* decide("r1/review/3", "bob", { decision: "approve" })
        assert.strictEqual(status, "completed")
        return { events: yield* eventsOf("r1") }
      }).pipe(Effect.provide(Reviewers.layer(people)), Effect.provide(Journal.layerMemory))
      const spans = yield* agrees("r1", run, [realTime])
      assert.deepStrictEqual(
        anchors(spans).map(({ attributes }) => attributes[espalier.segmentCause]),
        ["start", "decision", "decision", "decision"]
      )
      assert.isFalse(spans.some(({ end }) => end === "error"))
    }).pipe(Effect.scoped)
  )
})

/** A turn of the event loop, in which files and digests come. */
const turn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** The test clock goes on until an effect is over, which also waits for what no clock turns. */
const waiting = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* turn
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })

/**
 * A run whose process dies in the midst of each try and each choice in turn, and that another one takes up: what had ended is there, and what
 * was open is lost. `time`: what it has to wait for; whoever reads files has no use of a clock that goes faster than these.
 */
const recovers = <E1, E2, R>(
  begin: Effect.Effect<unknown, E1, R>,
  resume: Effect.Effect<unknown, E2, R>,
  time: "none" | "goes on" = "none"
) =>
  Effect.gen(function* () {
    const elapsed = <A, E, R>(effect: Effect.Effect<A, E, R>) => (time === "none" ? effect : waiting(effect))
    let tries = 1
    for (let nth = 1; nth <= tries; nth++) {
      const [first, second] = [tracing(), tracing()]
      const died = yield* Deferred.make<ReadonlyArray<Seen>>()
      let begun = 0
      const dies = Observer.layer({
        attend: () => ({
          around: (work, effect) => {
            if ((work._tag !== "Attempt" && work._tag !== "Choice") || ++begun !== nth) return effect
            const left = first.seen().filter(({ end }) => end !== "open")
            return Effect.andThen(Deferred.succeed(died, left), Effect.never)
          }
        })
      })
      yield* Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const append: (typeof journal)["append"] = (append) =>
          Effect.flatMap(Deferred.isDone(died), (isDead) => (isDead ? Effect.fail(lost) : journal.append(append)))
        const process = Layer.mergeAll(first.layer, dies, Layer.succeed(Journal.Journal, { ...journal, append }))
        const running = yield* Effect.forkChild(Effect.provide(begin, process))
        const left = yield* elapsed(Deferred.await(died))
        yield* Fiber.interrupt(running)
        yield* Effect.provide(elapsed(resume), second.layer)
        const events = yield* eventsOf("r1")
        const spans = [...left, ...second.seen()]
        // What files take is time in which the clock goes on.
        agree("r1", spans, events, time === "none" ? [] : [realTime])
        sound(spans, "r1")
        const [before, after] = anchors(spans)
        assert.deepStrictEqual(linksOf(after, "recovers"), [`${before?.trace} ${before?.id}`])
        assert.strictEqual(after?.attributes[espalier.segmentLost], true)
        const isTry = ({ attributes, name }: Seen) =>
          attributes[espalier.nodeRole] === "worker" || name.startsWith(spanName.plan())
        if (nth === 1) tries = second.seen().filter(isTry).length
      }).pipe(Effect.provide(Journal.layerMemory))
    }
    return tries
  })

describe("The spans of examples whose process dies are what is not lost of their trees", () => {
  const r1 = { id: "r1", log: false } as const

  it.effect("R-501 D102 of the swarm", () => {
    const input = { text: notice, limit: 16, stubborn: false }
    return Effect.map(recovers(Run.start(swarm, { ...r1, input }), Run.resume(swarm, "r1", r1)), (tries) =>
      assert.strictEqual(tries, 7)
    )
  })

  it.effect("R-501 D102 of the pipeline, where a wrong number is handed back", () =>
    Effect.gen(function* () {
      const root = yield* folder({ "changes.md": changes })
      const input = { file: join(root, "changes.md"), fault: "sloppy" } as const
      const tries = yield* recovers(Run.start(pipeline, { ...r1, input }), Run.resume(pipeline, "r1", r1))
      assert.strictEqual(tries, 4)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("R-501 D102 of the graph", () =>
    Effect.gen(function* () {
      const input = { term: "pruning", folder: yield* folder(notes), enough: 4 }
      const tries = yield* recovers(Run.start(graph, { ...r1, input }), Run.resume(graph, "r1", r1))
      assert.strictEqual(tries, 4)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("R-501 D102 of the planned survey, whose first plan is a bad one", () =>
    Effect.gen(function* () {
      const root = yield* folder({ "README.md": "# Till\n", "src/till.ts": "export const total = 1\n" })
      const desk = planned(Script.make(1))
      const run = recovers(Run.start(desk, { ...r1, input: {} }), Run.resume(desk, "r1", r1)).pipe(
        Effect.provideService(Folder, root),
        Effect.provide(Layer.merge(Dependency.layer(), CostModel.layerUnknown))
      )
      assert.strictEqual(yield* run, 5)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("R-501 D102 of the research desk, where one worker cannot and its models fail", () => {
    const setting = settingOf("retry", undefined)
    const carried = (input?: { readonly topic: string; readonly folder: string }) =>
      conduct({ run: "r1", input, setting, desk: { jitter: 0 } }).pipe(
        Effect.provideService(Library, { notes: Research.shipped }),
        Effect.provide(Layer.merge(Dependency.layer(), Prices.layer))
      )
    const begin = carried({ topic: defaultTopic, folder: "" })
    return Effect.map(recovers(begin, carried(), "goes on"), (tries) => assert.strictEqual(tries, 6))
  })
})
