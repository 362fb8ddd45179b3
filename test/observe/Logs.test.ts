import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Layer, Logger, Metric, References, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Child, Failure, Redaction, Supervisor, Tree } from "espalier"
import { Journal } from "espalier/journal"
import { Logs } from "espalier/observe"
import { Domain, Observer, Office, Review, Run, type RunEvent, Secrets } from "espalier/run"

import { assertClean, canaries, names } from "../run/canaries.ts"
import { desk, elapse, history, settle, task, worker } from "../run/desks.ts"

interface Record_ {
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}
import { collecting } from "./spans.ts"

/** Keeps every record with its annotations and the ids of its span. */
const hearing = () => {
  const records: Array<Record_> = []
  const printed: Array<string> = []
  const logger = Logger.make<unknown, void>((options) => {
    const { fiber, logLevel, message } = options
    const { span } = fiber.cache
    const text = Array.isArray(message) ? message.join(" ") : String(message)
    const ids = span === undefined ? {} : { trace: span.traceId, kind: span._tag }
    records.push({
      level: logLevel,
      message: text,
      fields: { ...fiber.getRef(References.CurrentLogAnnotations), ...ids, at: options.date.getTime() }
    })
    printed.push(Logger.formatJson.log(options), inspect(records.at(-1), { depth: 9 }))
  })
  return { records, printed, logger, layer: Logger.layer([logger]) }
}

const events = ({ records }: ReturnType<typeof hearing>) =>
  records.flatMap(({ fields }) => (fields["event.name"] === undefined ? [] : [String(fields["event.name"])]))

const start = { id: "r1", input: "go", log: false } as const

const fine = worker("one", () => Effect.as(Effect.logDebug("thinking"), "done"))

const options = (ear: ReturnType<typeof hearing>, given?: Logs.Options) =>
  Layer.mergeAll(Logs.layer(given), ear.layer, Journal.layerMemory)

const count = Effect.map(Metric.snapshot, (all) =>
  all
    .filter(({ id }) => id === "espalier.telemetry.dropped")
    .reduce((sum, { state }) => sum + Number("count" in state ? state.count : 0), 0)
)

describe("Logs.layer", () => {
  it.effect("R-505 tells the run as it goes, with what R-505 asks for, at the times of its events", () => {
    const ear = hearing()
    const slow = worker("one", () => Effect.as(Effect.sleep("2 seconds"), "done"))
    const given = task("a", { input: () => ({ text: "é" }) })
    return Effect.gen(function* () {
      yield* elapse(Run.start(desk([slow], [given]), start), "2 seconds")
      assert.deepStrictEqual(events(ear), [
        "espalier.run.started",
        "espalier.dispatch.reported",
        "espalier.run.finished"
      ])
      const [began, report, end] = ear.records
      assert.strictEqual(began?.fields["input_size"], 4)
      const { fields } = report!
      assert.strictEqual(fields["run_id"], "r1")
      assert.strictEqual(fields["task"], "a")
      assert.strictEqual(fields["worker"], "d.one")
      assert.strictEqual(fields["attempt"], 1)
      assert.strictEqual(fields["latency_ms"], 2_000)
      assert.strictEqual(fields["input_size"], 13)
      assert.strictEqual(fields["output_size"], 6)
      assert.strictEqual(fields["outcome"], "accepted")
      assert.strictEqual(fields["at"], 2_000)
      assert.strictEqual(end?.message, "the run is completed: accepted")
    }).pipe(Effect.provide(options(ear)))
  })

  it.effect("R-505 tells a failed attempt with its error, and the next one", () => {
    const ear = hearing()
    let tries = 0
    const shaky = worker("one", () =>
      ++tries === 1 ? Effect.fail(Failure.transient("the bank is busy")) : Effect.succeed("done")
    )
    return Effect.gen(function* () {
      yield* elapse(Run.start(desk([shaky], [task("a")]), start), "10 seconds")
      const failed = ear.records.find(({ fields }) => fields["event.name"] === "espalier.attempt.failed")
      assert.strictEqual(failed?.level, "Warn")
      assert.strictEqual(failed?.fields["attempt"], 1)
      assert.include(inspect(failed?.fields["error"]), "the bank is busy")
      const report = ear.records.find(({ fields }) => fields["event.name"] === "espalier.dispatch.reported")
      assert.strictEqual(report?.fields["attempt"], 2)
    }).pipe(Effect.provide(options(ear)))
  })

  describe("levels", () => {
    const quiet = worker("two", () => Effect.as(Effect.logDebug("thinking, too"), "done"))
    const built = desk([], [task("a"), task("b", { worker: "e.two" })], {
      domains: [Domain.make("d", { workers: [fine] }), Domain.make("e", { workers: [quiet] })]
    })
    const told = Effect.fnUntraced(function* (given: Logs.Options) {
      const ear = hearing()
      yield* Run.start(built, start).pipe(Effect.provide(options(ear, { tree: false, ...given })))
      return {
        own: ear.records.filter(({ fields }) => fields["event.name"] === undefined),
        debug: ear.records.filter(({ fields, level }) => level === "Debug" && fields["event.name"] !== undefined),
        all: ear.records
      }
    })

    it.effect("R-505 hold by domain for records and for what workers log themselves, with the place annotated", () =>
      Effect.gen(function* () {
        const { debug, own } = yield* told({ levels: { d: "Debug" } })
        assert.deepStrictEqual(
          own.map(({ message }) => message),
          ["thinking"]
        )
        const { fields } = own[0]!
        assert.deepStrictEqual(
          ["run_id", "task", "worker", "domain", "dispatch", "attempt"].map((name) => fields[name]),
          ["r1", "a", "d.one", "d", "r1/a/1", 1]
        )
        assert.isAbove(debug.length, 0)
        for (const { fields } of debug) assert.strictEqual(fields["worker"], "d.one")
      })
    )

    it.effect(
      "R-505 count for a worker before its domain, for a domain before its desk, and a name before a pattern",
      () =>
        Effect.gen(function* () {
          const own = (levels: Logs.Options["levels"]) =>
            Effect.map(told({ level: "Info", levels }), ({ own }) => own.map(({ message }) => message))
          assert.deepStrictEqual(yield* own({ d: "Debug", "d.one": "Info" }), [])
          assert.deepStrictEqual(yield* own({ "desk:desk": "Debug", d: "Info" }), ["thinking, too"])
          assert.deepStrictEqual(yield* own({ "*": "Debug", e: "Warn" }), ["thinking"])
          assert.deepStrictEqual(yield* own({ "*.t*": "Debug" }), ["thinking, too"])
          assert.sameMembers([...(yield* own({ "desk:d*k": "Debug" }))], ["thinking", "thinking, too"])
        })
    )

    it.effect("R-505 silence a domain, and the whole", () =>
      Effect.gen(function* () {
        const { all } = yield* told({ levels: { d: "None" } })
        assert.isFalse(all.some(({ fields }) => fields["worker"] === "d.one"))
        assert.isTrue(all.some(({ fields }) => fields["worker"] === "e.two"))
        assert.deepStrictEqual((yield* told({ level: "None" })).all, [])
      })
    )

    it.effect("R-505 are those of Effect where nobody says others", () =>
      Effect.gen(function* () {
        const { all } = yield* Effect.provideService(told({}), References.MinimumLogLevel, "Warn")
        assert.deepStrictEqual(all, [])
      })
    )

    const dies = (given: unknown) =>
      Effect.map(Effect.exit(Effect.void.pipe(Effect.provide(Logs.layer(given as Logs.Options)))), (exit) =>
        Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      )

    it.effect("R-505 of what is not there are refused by name", () =>
      Effect.gen(function* () {
        for (const [given, message] of [
          [{ level: "loud" }, /^Logs\.layer: level must be one of "All".*, got "loud"$/],
          [{ levels: { d: "debug" } }, /^Logs\.layer: levels\["d"\] must be one of .*, got "debug"$/],
          [{ levels: { "a b": "Debug" } }, /^Logs\.layer: each name of levels must be DOMAIN, .*, got "a b"$/],
          [{ lvel: "Info" }, /^Logs\.layer: each field of options must be one of level.*, got "lvel"$/],
          [
            { desks: [built], levels: { dd: "Info" } },
            /^Logs\.layer: each name of levels must be one of d, e, got dd$/
          ],
          [{ desks: [built], levels: { "d.oen": "Info" } }, /one of d\.one, e\.two, got d\.oen$/],
          [{ desks: [built], levels: { "desk:dsk": "Info" } }, /one of desk, got desk:dsk$/]
        ] as const) {
          const error = yield* dies(given)
          assert.instanceOf(error, RangeError)
          assert.match(error.message, message)
        }
        assert.isUndefined(yield* dies({ desks: [built], levels: { d: "Info", "e.*": "Debug", "desk:desk": "Warn" } }))
      })
    )

    it.effect("R-505 of what no open desk has are warned of, once", () =>
      Effect.gen(function* () {
        const ear = hearing()
        yield* Effect.forEach(["r1", "r2"], (id) => Run.start(built, { ...start, id })).pipe(
          Effect.provide(options(ear, { levels: { dd: "Debug" } }))
        )
        const warned = ear.records.filter(({ message }) => message.includes("got dd"))
        assert.lengthOf(warned, 1)
        assert.strictEqual(warned[0]?.level, "Warn")
      })
    )
  })

  it.effect("R-505 a resumed run tells nothing twice, and its latency leaves out the days of the wait", () => {
    const ear = hearing()
    const asks = worker("one", () =>
      Effect.andThen(
        Effect.sleep("1 second"),
        Effect.map(Review.ask({ name: "which", question: "Which one?" }), ({ _tag }) => _tag)
      )
    )
    return Effect.gen(function* () {
      const built = desk([asks], [task("a")])
      yield* elapse(Run.start(built, start), "1 second")
      assert.deepStrictEqual(events(ear), ["espalier.run.started", "espalier.review.opened"])
      yield* TestClock.adjust("3 days")
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "x", by: "ann" })
      yield* elapse(Run.resume(built, "r1", { log: false }), "1 second")
      assert.deepStrictEqual(events(ear).slice(2), [
        "espalier.review.decided",
        "espalier.run.resumed",
        "espalier.dispatch.reported",
        "espalier.run.finished"
      ])
      const [decided, resumed, report] = ear.records.slice(2)
      assert.strictEqual(decided?.fields["wait_ms"], 3 * 24 * 3_600_000)
      assert.strictEqual(resumed?.fields["cause"], "decision")
      assert.isAtMost(Number(report?.fields["latency_ms"]), 2_000)
    }).pipe(Effect.provide(options(ear)))
  })

  it.effect("R-505 what happens is told after the journal has it, and each event of the journal once", () => {
    const ear = hearing()
    return Effect.gen(function* () {
      yield* Run.start(desk([fine], [task("a")]), start)
      const written = yield* history("r1")
      const told = ear.records.filter(({ fields }) => fields["run_id"] === "r1" && fields["event.name"] !== undefined)
      assert.lengthOf(told, written.length)
    }).pipe(Effect.provide(options(ear, { level: "Debug", tree: false })))
  })

  describe("traces", () => {
    const trace = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`
    const tracing = Observer.layer({ attend: () => ({ begin: () => ({ trace }) }) })

    it.effect("R-505 records have the trace of the run's segment, and are no events of its spans", () => {
      const ear = hearing()
      return Effect.gen(function* () {
        yield* Run.start(desk([fine], [task("a")]), start)
        assert.isAbove(ear.records.length, 2)
        for (const { fields } of ear.records) {
          assert.strictEqual(fields["trace_id"], "a".repeat(32))
          assert.strictEqual(fields["span_id"], "b".repeat(16))
          assert.strictEqual(fields["trace"], "a".repeat(32))
          assert.strictEqual(fields["kind"], "ExternalSpan")
        }
      }).pipe(Effect.provide(options(ear, { tree: false }).pipe(Layer.provideMerge(tracing))))
    })

    it.effect("R-505 records have the span that `traceOf` says, where events say none", () => {
      const ear = hearing()
      const span = Tracer.externalSpan({ traceId: "c".repeat(32), spanId: "d".repeat(16) })
      return Effect.gen(function* () {
        yield* Run.start(desk([fine], [task("a")]), start)
        for (const { fields } of ear.records) assert.strictEqual(fields["trace_id"], "c".repeat(32))
      }).pipe(Effect.provide(options(ear, { tree: false, traceOf: () => span })))
    })
  })

  it.effect("R-505 records stand beside the span around, by its ids, and are no events of it", () => {
    const ear = hearing()
    const { spans, tracer } = collecting()
    return Effect.gen(function* () {
      yield* Effect.withSpan(Run.start(desk([fine], [task("a")]), start), "request")
      const request = spans.find(({ name }) => name === "request")!
      assert.deepStrictEqual(request.events, [])
      assert.isAbove(ear.records.length, 2)
      for (const { fields } of ear.records) assert.strictEqual(fields["trace"], request.traceId)
    }).pipe(
      Effect.provide(Layer.mergeAll(Logs.layer({ tree: false }), Journal.layerMemory)),
      Effect.provideService(Logger.CurrentLoggers, new Set([ear.logger, Logger.tracerLogger])),
      Effect.provideService(Tracer.Tracer, tracer)
    )
  })

  it.effect("R-505 a crash that is recovered from is told once, and nothing of what was before", () => {
    const ear = hearing()
    return Effect.gen(function* () {
      yield* Run.start(desk([fine], [task("a")]), start)
      const before = (yield* history("r1")).slice(0, 3)
      const [observer] = yield* Observer.all
      const attendance = observer!.attend!("r1")
      const begun = ear.records.length
      for (const event of before) attendance.recall?.(event)
      const context = yield* Effect.context<never>()
      attendance.begin?.({ cause: "crash-recovery", desk: "desk", decided: [], at: 9_000, context })
      attendance.happened?.([{ _tag: "RunResumed", at: 9_000, note: "" }])
      assert.deepStrictEqual(
        ear.records.slice(begun).map(({ fields, level }) => [level, fields["event.name"], fields["silent_ms"]]),
        [
          ["Warn", "espalier.segment.lost", 9_000],
          ["Info", "espalier.run.resumed", undefined]
        ]
      )
    }).pipe(Effect.provide(options(ear, { tree: false })))
  })

  describe("a bulkhead", () => {
    /** How a run ends and what its journal has, with times from its start. */
    const outcome = <R>(layer: Layer.Layer<Journal.Journal | R>) =>
      Effect.gen(function* () {
        const slow = worker("one", () => Effect.as(Effect.sleep("2 seconds"), "done"))
        const { status } = yield* elapse(Run.start(desk([slow], [task("a")]), start), "2 seconds")
        const written: ReadonlyArray<RunEvent.RunEvent> = yield* history("r1")
        return { status, written: written.map((event) => ({ ...event, at: event.at - written[0]!.at })) }
      }).pipe(Effect.provide(layer))

    it.effect("R-505 a logger that throws changes nothing, is counted, and the others are told", () =>
      Effect.gen(function* () {
        const ear = hearing()
        const plain = yield* outcome(Journal.layerMemory)
        const before = yield* count
        const broken = Logger.make(() => {
          throw new Error("the disk is full")
        })
        const loggers = Logger.layer([broken, ear.logger])
        const broke = yield* outcome(Layer.mergeAll(loggers, Logs.layer({ tree: false }), Journal.layerMemory))
        assert.deepStrictEqual(broke, plain)
        assert.strictEqual(yield* count, before + 3)
        assert.lengthOf(ear.records, 3)
      })
    )

    it.effect("R-505 a logger that fails later or never answers changes nothing", () =>
      Effect.gen(function* () {
        const plain = yield* outcome(Journal.layerMemory)
        const before = yield* count
        const later = Logger.make(() => Promise.reject(new Error("the network is down")))
        const never = Logger.make(() => new Promise<void>(() => {}))
        const layer = Layer.mergeAll(Logger.layer([later, never]), Logs.layer({ tree: false }), Journal.layerMemory)
        assert.deepStrictEqual(yield* outcome(layer), plain)
        yield* settle
        assert.strictEqual(yield* count, before + 3)
      })
    )

    it.effect("R-505 a logger whose sink hangs changes nothing", () =>
      Effect.gen(function* () {
        const plain = yield* outcome(Journal.layerMemory)
        const open = yield* Deferred.make<void>()
        let flushed = 0
        const flush = () =>
          Effect.andThen(
            Effect.sync(() => void flushed++),
            Deferred.await(open)
          )
        const logger = yield* Logger.batched(Logger.formatLogFmt, { window: "10 millis", flush })
        const layer = Layer.mergeAll(Logger.layer([logger]), Logs.layer({ tree: false }), Journal.layerMemory)
        assert.deepStrictEqual(yield* outcome(layer), plain)
        assert.strictEqual(flushed, 1)
        yield* Deferred.succeed(open, undefined)
      }).pipe(Effect.scoped)
    )
  })

  it.effect("D106 twelve kinds of secrets, which a worker is handed and tells everybody, are in no record", () => {
    const ear = hearing()
    const all = Object.values(canaries).join("\n")
    const leaky = worker(
      "one",
      () =>
        Effect.gen(function* () {
          for (const name of names) yield* Secrets.get(name)
          yield* Effect.annotateLogs(Effect.logInfo(all), { all })
          yield* Review.ask({ name: "which", question: all })
          return yield* Failure.capability(all)
        }),
      { secrets: names } as never
    )
    return Effect.gen(function* () {
      const built = desk([leaky], [task("a", { objective: all, input: () => ({ all }) })])
      yield* Run.start(built, { ...start, input: all })
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: all, by: "ann", note: all })
      yield* Run.resume(built, "r1", { log: false })
      assert.include(events(ear), "espalier.dispatch.reported")
      assert.include(events(ear), "espalier.review.decided")
      ear.printed.forEach((text) => assertClean(text, text.slice(0, 200)))
      assert.include(ear.printed.join("\n"), "[redacted:api-token]")
    }).pipe(Effect.provide(options(ear, { level: "Debug" })), Effect.provide(Secrets.layerMemory(canaries)))
  })

  it.effect("D106 the rules around the run take secrets out of reasons", () => {
    const ear = hearing()
    const failing = worker("one", () => Effect.fail(Failure.capability("ticket INC-004711 is not for me")))
    const rules = Redaction.layer({ rules: [Redaction.rule({ name: "ticket", pattern: /INC-\d{6}/ })] })
    return Effect.gen(function* () {
      yield* Run.start(desk([failing], [task("a")]), start)
      assert.include(ear.printed.join("\n"), "[redacted:ticket]")
      assert.notInclude(ear.printed.join("\n"), "INC-004711")
    }).pipe(Effect.provide(options(ear)), Effect.provide(rules))
  })
})

describe("withoutFacts", () => {
  it.effect("R-505 leaves out what Logs tells, and nothing else", () => {
    const ear = hearing()
    const talks = worker("one", () => Effect.as(Effect.logInfo("thinking"), "done"))
    const loggers = Logger.layer([Logs.withoutFacts(ear.logger), ear.logger])
    return Effect.gen(function* () {
      yield* Run.start(desk([talks], [task("a")]), start)
      const facts = ear.records.filter(({ fields }) => fields["event.name"] !== undefined)
      const others = ear.records.filter(({ fields }) => fields["event.name"] === undefined)
      assert.strictEqual(facts.length, 3)
      assert.deepStrictEqual(
        others.map(({ message }) => message),
        ["thinking", "thinking"]
      )
    }).pipe(Effect.provide(Layer.mergeAll(Logs.layer({ tree: false }), loggers, Journal.layerMemory)))
  })
})

describe("Logs of trees", () => {
  it.effect("R-505 the tree of a desk is told by the same rules: a domain that gives up", () => {
    const ear = hearing()
    const crashing = worker("one", () => Effect.die(new Error("ink")))
    return Effect.gen(function* () {
      const office = yield* Office.open(
        desk([crashing], [task("a")], { intensity: { restarts: 0, within: "1 second" } }),
        { log: false }
      )
      yield* elapse(Run.startIn(office, { id: "r1", input: "go" }), "1 minute")
      const told = events(ear)
      assert.include(told, "espalier.supervisor.child_exit")
      assert.include(told, "espalier.supervisor.intensity_exceeded")
      const crash = ear.records.find(({ fields }) => fields["event.name"] === "espalier.supervisor.child_exit")!
      assert.strictEqual(crash.level, "Warn")
      assert.strictEqual(crash.fields["domain"], "d")
      assert.strictEqual(crash.fields["worker"], "d.one")
      assert.deepStrictEqual(crash.fields["error"], { kind: "defect", reason: "ink" })
    }).pipe(Effect.scoped, Effect.provide(options(ear)))
  })

  it.effect.each([
    ["once by the observer", {}, undefined, 1, 0],
    ["once by the tree where the observer does not", { tree: false }, undefined, 0, 1],
    ["by both where that is asked for", {}, true, 1, 1]
  ] as const)("R-505 a crash in the tree of a desk is told %s", ([, given, log, byObserver, byTree]) => {
    const ear = hearing()
    const crashing = worker("one", () => Effect.die(new Error("ink")))
    return Effect.gen(function* () {
      const built = desk([crashing], [task("a")], { intensity: { restarts: 0, within: "1 second" } })
      yield* elapse(Run.start(built, { id: "r1", input: "go", log }), "1 minute")
      const told = ear.records.filter(({ message }) => message.includes("gave up on"))
      const own = told.filter(({ fields }) => fields["event.name"] !== undefined)
      assert.deepStrictEqual([own.length, told.length - own.length], [byObserver, byTree])
    }).pipe(Effect.provide(options(ear, given)))
  })

  it.effect("R-505 `tree` tells of a tree without runs, until its scope closes, by levels of its nodes", () => {
    const ear = hearing()
    const child = (id: string) =>
      Child.effect(id, Effect.andThen(Effect.sleep("1 second"), Effect.die(`no ${id}`)), { restart: "never" })
    const root = Supervisor.make("root", { children: [child("ann"), child("bob")] })
    return Effect.gen(function* () {
      const context = yield* Supervisor.start(root, { log: false })
      const tree = Context.get(context, Tree.Tree)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Logs.tree(tree, { levels: { bob: "Error" } })
          yield* settle
          yield* TestClock.adjust("1 second")
          yield* settle
        })
      )
      assert.deepStrictEqual(
        ear.records.map(({ fields, level, message }) => [level, message, fields["node"]]),
        [["Warn", "root/ann crashed", "root/ann"]]
      )
      yield* tree.stop
      yield* settle
      assert.lengthOf(ear.records, 1)
      const error = yield* Effect.flip(Effect.sandbox(Logs.tree(tree, { level: "loud" } as never)))
      assert.match(String(Cause.squash(error)), /RangeError: Logs\.tree: level must be one of/)
    }).pipe(Effect.scoped, Effect.provide(ear.layer))
  })
})
