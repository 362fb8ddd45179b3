import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Schema, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, Journal, JournalSqlite } from "espalier/journal"
import { type Budget, Host, Notifier, Observer, Office, Plan, Result, Run, RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { freshPath } from "../journal/fixtures/folder.ts"
import { desk, elapse, gate, history, memory, settle, task, worker } from "./desks.ts"
import { guarded, r1, say } from "./guards.ts"
import { begin, deskOf, of, resume } from "./living.ts"
import { killed, tagged } from "./outside.ts"
import { dice } from "./simulate.ts"
import { isWhole, logged, trace, watching } from "./watching.ts"

const one = (...answers: ReadonlyArray<Fake.Reply<Schema.Json>>) => Fake.worker("one", { answers, size: 4 })

const plain = (...answers: ReadonlyArray<Fake.Reply<Schema.Json>>) => deskOf([one(...answers)], Plan.make([task("a")]))

/** A desk that asks before it does something. */
const asking = () => guarded([Fake.worker("one", { otherwise: "done", risk: "high" })], [task("a")])

const traces = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  events.flatMap((event) => ("trace" in event ? [`${event._tag} ${event.trace}`] : []))

describe("what is shown", () => {
  it.effect("R-501 R-502 is every event once it is in the journal, before the work that it begins", () => {
    const { attendances, layer, seen } = watching()
    return Effect.gen(function* () {
      yield* Run.start(plain("a"), r1)
      yield* isWhole(attendances)
      assert.deepStrictEqual(seen, [
        "begin r1 start",
        "RunStarted",
        "Routed",
        "Dispatched",
        "around Attempt r1/a/1 1",
        "after Attempt r1/a/1 1",
        "Reported",
        "TaskEnded",
        "RunFinished",
        "end"
      ])
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 is in the journal already when it is shown", () => {
    const counts: Array<ReadonlyArray<number>> = []
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const services = yield* Effect.context<Journal.Journal>()
      let shown = 0
      const layer = Observer.layer({
        attend: () => ({
          happened: (events) => {
            shown += events.length
            counts.push([shown, Effect.runSyncWith(services)(journal.version("r1"))])
          }
        })
      })
      yield* Effect.provide(Run.start(plain("a"), r1), layer)
      assert.isAbove(counts.length, 1)
      for (const [shown, written] of counts) assert.strictEqual(shown, written)
    }).pipe(memory)
  })

  it.effect("R-501 is frozen, live and recalled, so that who sees it changes nothing", () => {
    const { layer: logs, told } = logged()
    const change = (event: RunEvent.RunEvent) => {
      if (event._tag === "Reported") (event as { note: string }).note = "changed"
    }
    const layer = Observer.layer({ attend: () => ({ recall: change, happened: (events) => events.forEach(change) }) })
    return Effect.gen(function* () {
      const two = deskOf(
        [one("a"), Fake.worker("two", { answers: [Fake.never, "b"], attemptTimeout: "1 day" })],
        Plan.make([task("a"), task("b", { worker: "d.two" })])
      )
      const going = yield* begin(Run.start(two, r1))
      yield* going.interrupt
      const outcome = yield* resume(two)
      assert.deepStrictEqual([outcome.results["a"]?.output, outcome.results["b"]?.output], ["a", "b"])
      assert.deepStrictEqual(
        told().map((line) => line.split(" of an")[0]),
        ["Observer: happened", "Observer: recall", "Observer: happened"]
      )
    }).pipe(Effect.provide([layer, logs]), memory)
  })

  it.effect(
    "R-501 are accounts of its budget as they are after the events, frozen, so that who sees one changes nothing",
    () => {
      const shown: Array<Budget.Account | undefined> = []
      const layer = Observer.layer({
        attend: () => ({ happened: (_, known) => void shown.push(known?.account("run"), known?.account("nobody")) })
      })
      return Effect.gen(function* () {
        const spends = worker("one", () => Effect.succeed(Result.completed("a", { usage: { tokens: 7 } })))
        yield* Run.start(guarded([spends], [task("a")], { limits: { tokens: 9 } }), r1)
        const [first, nobody] = shown
        assert.isUndefined(nobody)
        assert.deepStrictEqual(first?.limit, { tokens: 9 })
        assert.deepStrictEqual(shown.at(-2)?.settled, { tokens: 7 })
        assert.isTrue([first, first?.limit, first?.settled, first?.reserved].every(Object.isFrozen))
      }).pipe(Effect.provide(layer), memory)
    }
  )

  it.effect("R-501 is the value of a large output when it happens, and its place when it is recalled", () => {
    const { attendances, layer } = watching()
    return Effect.gen(function* () {
      const large = "x".repeat(200_000)
      const two = deskOf(
        [one(large), Fake.worker("two", { answers: [Fake.never, "b"], attemptTimeout: "1 day" })],
        Plan.make([task("a"), task("b", { worker: "d.two" })])
      )
      const going = yield* begin(Run.start(two, r1))
      yield* going.interrupt
      const { results } = yield* resume(two)
      assert.strictEqual(results["a"]?.output, large)
      const [first, second] = attendances.map(({ events }) => of(events, "Reported")[0]?.result)
      assert.deepStrictEqual([first?.output, first?.outputRef], [large, undefined])
      assert.deepStrictEqual([second?.output, second?.outputRef === undefined], [undefined, false])
    }).pipe(Effect.provide([layer, Artefacts.layerMemory()]), memory)
  })

  it.effect(
    "R-501 to all observers of layers that are merged, to one of those of one name, and to those alone that are named",
    () =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const to = (who: string): Observer.Observer => ({
          attend: (run) => {
            told.push(`${who} ${run}`)
            return {}
          }
        })
        const run = (id: string) => Run.start(plain("a"), { ...r1, id })
        const inner = Layer.mergeAll(
          Observer.layer(to("b")),
          Observer.layer(to("c")),
          Observer.layer(to("new"), "named")
        )
        const outer = Layer.mergeAll(Observer.layer(to("a")), Observer.layer(to("old"), "named"))
        yield* run("r1").pipe(Effect.provide(inner), Effect.provide(outer))
        assert.deepStrictEqual(told.splice(0).toSorted(), ["a r1", "b r1", "c r1", "new r1"])
        yield* run("r2").pipe(Observer.only([to("d"), to("e")]), Effect.provide(inner))
        assert.deepStrictEqual(told.splice(0), ["d r2", "e r2"])
        yield* Observer.only(run("r3"), []).pipe(Effect.provide(inner))
        assert.deepStrictEqual(told, [])
      }).pipe(memory)
  )

  it.effect.each(["Inside", "#1", "=", ""])(
    "R-501 to an observer of any name, such as %j, beside those of none",
    (name) =>
      Effect.gen(function* () {
        const observers = [{}, {}, {}] as const
        const [one, two, three] = observers
        const layer = Layer.mergeAll(Observer.layer(one), Observer.layer(two, name), Observer.layer(three))
        const seen: Array<ReadonlyArray<Observer.Observer>> = []
        const looks = worker("one", () =>
          Effect.as(
            Effect.map(Observer.all, (all) => void seen.push(all)),
            "done"
          )
        )
        // What goes on inside of a run is no observer.
        const inside = Effect.provideService(Observer.Inside, (_, effect) => effect)
        const all = yield* Observer.all.pipe(inside, Effect.provide(layer))
        assert.sameMembers([...all], [...observers])
        assert.notStrictEqual(yield* Effect.provide(Observer.Inside, layer), two)
        yield* Run.start(desk([looks], [task("a")]), r1).pipe(Effect.provide(layer))
        assert.deepStrictEqual(
          seen.map((each) => each.length),
          [3]
        )
      }).pipe(memory)
  )

  it.effect("R-501 several observers, of which the first that has a trace says which", () => {
    const first = watching({})
    const wrong = watching({ trace: "00-0-0-0" })
    const third = watching()
    const fourth = watching({ trace: trace.replaceAll("a", "c") })
    const layers = [first, wrong, third, fourth].reduceRight(
      (inner: Layer.Layer<never>, { layer }) => Layer.provideMerge(inner, layer),
      Layer.empty
    )
    return Effect.gen(function* () {
      yield* Run.start(plain("a"), r1)
      assert.deepStrictEqual(traces(yield* history("r1")), [`RunStarted ${trace}`])
      for (const { attendances, causes } of [first, wrong, third, fourth]) {
        assert.deepStrictEqual(causes(), ["start"])
        yield* isWhole(attendances)
      }
    }).pipe(Effect.provide(layers), memory)
  })

  it.effect.each([
    "",
    "nonsense",
    trace.toUpperCase(),
    `${trace}-more`,
    trace.replace("00-", "ff-"),
    `00-${"0".repeat(32)}-${"b".repeat(16)}-01`,
    `00-${"a".repeat(32)}-${"0".repeat(16)}-01`
  ])("R-501 %j is no trace, and nothing is written of it", (given) =>
    Effect.gen(function* () {
      yield* Effect.provide(Run.start(plain("a"), r1), watching({ trace: given }).layer)
      assert.deepStrictEqual(traces(yield* history("r1")), [])
    }).pipe(memory)
  )

  it("R-501 a journal of before has no traces, and reads back", () => {
    const { trace: _, ...old } = { _tag: "RunResumed", at: 0, trace, note: "" } as const
    assert.deepStrictEqual(Schema.decodeSync(RunEvent.RunResumed)(old), old)
  })

  it.effect("R-501 ends with each attempt to take a run up, whatever comes of it", () => {
    const { attendances, layer } = watching()
    return Effect.gen(function* () {
      const built = plain("a")
      yield* Effect.flip(resume(built))
      yield* Run.start(built, r1)
      yield* resume(built)
      yield* Effect.flip(Run.start(built, r1))
      yield* Effect.flip(Run.decide({ review: "r1/review/9", decision: "approve", by: "ann" }))
      assert.deepStrictEqual(
        attendances.map(({ ends }) => ends),
        attendances.map(() => 1)
      )
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 of a desk of another version it is that the run is put down", () => {
    const { attendances, causes, layer } = watching()
    return Effect.gen(function* () {
      const going = yield* begin(Run.start(desk([one(Fake.never)], [task("a")]), r1))
      yield* going.interrupt
      yield* Effect.flip(Run.resume(desk([one("a")], [task("a")], { version: "2" }), "r1", { log: false }))
      assert.deepStrictEqual(causes(), ["start"])
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })
})

describe("a run that is taken up again", () => {
  it.effect("R-501 R-502 is recalled without a gap, begins anew, and is told why", () => {
    const first = watching()
    const second = watching()
    return Effect.gen(function* () {
      const going = yield* begin(Effect.provide(Run.start(plain(Fake.never), r1), first.layer))
      yield* going.interrupt
      assert.deepStrictEqual(first.ends, [{ of: "Attempt r1/a/1 1", outcome: "suspended" }])
      assert.deepStrictEqual(first.seen.slice(-3), ["after Attempt r1/a/1 1", "RunSuspended", "end"])
      yield* Effect.provide(resume(plain("a")), second.layer)
      assert.deepStrictEqual(second.seen.slice(0, 7), [
        "recall RunStarted",
        "recall Routed",
        "recall Dispatched",
        "recall RunSuspended",
        "begin r1 message",
        "RunResumed",
        "around Attempt r1/a/1 1"
      ])
      yield* isWhole([...first.attendances, ...second.attendances])
      assert.deepStrictEqual(traces(yield* history("r1")), [`RunStarted ${trace}`, `RunResumed ${trace}`])
    }).pipe(memory)
  })

  it.effect("R-501 R-302 after a crash sees what the last process could write, and that it was cut off", () => {
    const { attendances, causes, layer } = watching()
    return Effect.gen(function* () {
      yield* killed(elapse(Run.start(plain("a"), r1), "1 minute"), tagged("Reported"), "before")
      yield* resume(plain("a"))
      assert.deepStrictEqual(causes(), ["start", "crash-recovery"])
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 of which nobody has heard that the last commit was made, recalls that", () => {
    const { attendances, layer } = watching()
    return Effect.gen(function* () {
      yield* killed(elapse(Run.start(plain("a"), r1), "1 minute"), tagged("Dispatched"), "after")
      yield* resume(plain("a"))
      const [first, second] = attendances
      assert.deepStrictEqual(first?.events, [])
      assert.deepStrictEqual(second?.events, [...(yield* history("r1"))])
    }).pipe(Effect.provide(layer), memory)
  })
})

describe("why a run is carried out", () => {
  it.effect("R-501 a decision that was written while nobody carried it out", () => {
    const { attendances, causes, ends, layer, seen } = watching()
    return Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      const before = seen.length
      yield* say("approve")
      const decided = seen.slice(before)
      assert.strictEqual(decided.filter((each) => each === "ReviewDecided").length, 1)
      assert.deepStrictEqual(ends, [{ of: "Decision r1/review/1", outcome: "accepted" }])
      yield* resume(asking())
      assert.deepStrictEqual(causes(), ["start", "decision"])
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 a decision beside a timer that is not due", () => {
    const { causes, layer } = watching()
    return Effect.gen(function* () {
      const built = guarded(
        [Fake.worker("one", { otherwise: "done", risk: "high" }), Fake.worker("two", { otherwise: "two" })],
        [task("a"), task("b", { worker: "d.two", after: "1 hour" })]
      )
      yield* Run.start(built, { ...r1, waitFor: "1 second" })
      yield* say("approve")
      yield* Run.resume(built, "r1", { log: false, waitFor: "1 second" })
      assert.deepStrictEqual(causes(), ["start", "decision"])
      yield* TestClock.adjust("1 hour")
      yield* Run.resume(built, "r1", { log: false })
      assert.deepStrictEqual(causes(), ["start", "decision", "timer"])
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 the end of it that somebody asked for", () => {
    const { attendances, causes, layer } = watching()
    return Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* Run.cancel("r1", { by: "ann" })
      assert.strictEqual((yield* resume(asking())).status, "cancelled")
      assert.deepStrictEqual(causes(), ["start", "message"])
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect.each([
    ["ReviewDecided", { review: "r1/review/1", decision: "approve", by: "ann", note: "" }, "decision"],
    ["CancelRequested", { by: "ann", note: "no need" }, "message"],
    ["AutonomyChanged", { from: "medium", to: "low", by: "ann", note: "careful" }, "message"]
  ] as const)("R-501 D82 word that was left for it: %s", ([type, data, cause]) => {
    const { attendances, causes, layer } = watching()
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const office = yield* Office.open(asking(), { log: false })
      yield* Run.startIn(office, r1)
      yield* journal.command({ run: "r1", type, at: 0, data })
      assert.lengthOf(yield* Host.pass(office), 1)
      assert.deepStrictEqual(causes(), ["start", cause])
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), Effect.scoped, memory)
  })

  it.effect("R-501 D82 word beside a timer that is due", () => {
    const { causes, layer } = watching()
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const built = guarded([Fake.worker("one", { otherwise: "done" })], [task("a", { after: "1 hour" })])
      yield* Run.start(built, { ...r1, waitFor: "1 second" })
      const data = { from: "medium", to: "low", by: "ann", note: "careful" }
      yield* journal.command({ run: "r1", type: "AutonomyChanged", at: 0, data })
      yield* TestClock.adjust("1 hour")
      yield* resume(built)
      assert.deepStrictEqual(causes(), ["start", "message"])
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 a notice that is owed", () => {
    const { attendances, causes, layer } = watching()
    const sent: Array<string> = []
    const channel = {
      name: "c",
      send: (notice: { readonly id: string }) => Effect.sync(() => void sent.push(notice.id))
    }
    return Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* Effect.provide(resume(asking()), Notifier.layer([channel]))
      assert.deepStrictEqual(causes(), ["start", "message"])
      assert.isAbove(sent.length, 0)
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })
})

describe("people who decide", () => {
  it.effect("R-501 D74 elsewhere leave word, and its owner sees it once", () => {
    const here = watching()
    const there = watching()
    return Effect.gen(function* () {
      const filename = yield* freshPath
      const open = Effect.map(
        Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))),
        (context) => Effect.provide(context)
      )
      const own = yield* open
      const other = yield* open
      yield* Run.start(asking(), r1).pipe(Effect.provide(here.layer), own)
      const left = yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" }).pipe(
        Effect.provide(there.layer),
        other
      )
      assert.strictEqual(left._tag, "Left")
      assert.deepStrictEqual(there.ends, [{ of: "Decision r1/review/1", outcome: "accepted" }])
      yield* resume(asking()).pipe(Effect.provide(here.layer), own)
      assert.deepStrictEqual(here.causes(), ["start", "decision"])
      assert.isTrue(there.attendances.every(({ happened }) => happened.length === 0))
      yield* isWhole(here.attendances).pipe(own)
    }).pipe(Effect.scoped)
  })

  it.effect("R-501 D74 while it is carried out are seen by who carries it out", () => {
    const { attendances, layer, seen } = watching()
    return Effect.gen(function* () {
      const open = gate()
      const slow = worker("two", () => Effect.as(open.wait, "two"))
      const built = guarded(
        [Fake.worker("one", { otherwise: "done", risk: "high" }), slow],
        [task("a"), task("b", { worker: "d.two" })]
      )
      const office = yield* Office.open(built, { log: false })
      const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
      yield* open.reached
      yield* say("approve", {}, office)
      yield* open.open
      yield* Fiber.join(fiber)
      assert.strictEqual(seen.filter((each) => each === "ReviewDecided").length, 1)
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), Effect.scoped, memory)
  })

  it.effect("R-501 D74 write in between: it is recalled where it was overtaken, and nothing happens twice", () => {
    const { attendances, layer } = watching()
    return Effect.gen(function* () {
      const open = gate()
      const slow = worker("two", () => Effect.as(open.wait, "two"))
      const built = guarded(
        [Fake.worker("one", { otherwise: "done", risk: "high" }), slow],
        [task("a"), task("b", { worker: "d.two" })]
      )
      const fiber = yield* Effect.forkChild(Run.start(built, r1))
      yield* open.reached
      yield* settle
      yield* say("approve")
      yield* open.open
      const { status } = yield* Fiber.join(fiber)
      assert.strictEqual(status, "completed")
      assert.isTrue(
        attendances.some(
          ({ causes, events, happened }) =>
            causes.length > 0 && of(events, "ReviewDecided").length === 1 && of(happened, "ReviewDecided").length === 0
        )
      )
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 D82 after the end are seen by who writes it down", () => {
    const { attendances, layer } = watching()
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const office = yield* Office.open(asking(), { log: false })
      yield* Run.startIn(office, r1)
      yield* Run.cancel("r1", { by: "ann" })
      yield* Run.resumeIn(office, "r1")
      const data = { review: "r1/review/1", decision: "approve", by: "ann", note: "" }
      yield* journal.command({ run: "r1", type: "ReviewDecided", at: 0, data })
      yield* Host.pass(office)
      assert.strictEqual(attendances.at(-1)?.happened[0]?._tag, "ReviewRefused")
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), Effect.scoped, memory)
  })

  it.effect("R-501 who are refused have not failed, and what is said again is accepted", () => {
    const { attendances, ends, layer } = watching()
    return Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* say("approve", { key: "k" })
      assert.strictEqual((yield* say("approve", { key: "k" }))._tag, "Replayed")
      yield* Effect.flip(say("reject", { by: "bob" }))
      assert.deepStrictEqual(
        ends.map(({ outcome }) => outcome),
        ["accepted", "accepted", "refused"]
      )
      yield* isWhole(attendances)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 are traced, and who says the same again in another trace says the same", () =>
    Effect.gen(function* () {
      const spans: Array<string> = []
      const layer = Observer.layer({
        attend: () => ({
          around: (_, effect) =>
            Effect.suspend(() => {
              const digit = String(spans.length + 1)
              spans.push(digit)
              const span = Tracer.externalSpan({ traceId: digit.repeat(32), spanId: digit.repeat(16) })
              return Effect.provideService(effect, Tracer.ParentSpan, span)
            })
        })
      })
      yield* Run.start(asking(), r1)
      const decided = yield* Effect.provide(Effect.all([say("approve"), say("approve")]), layer)
      assert.deepStrictEqual(
        decided.map(({ _tag }) => _tag),
        ["Applied", "Replayed"]
      )
      const [first] = of(yield* history("r1"), "ReviewDecided")
      assert.strictEqual(first?.trace, `00-${"1".repeat(32)}-${"1".repeat(16)}-01`)
    }).pipe(memory)
  )

  it.effect("R-501 are traced by nothing where their span has no ids of a trace", () =>
    Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      const span = Tracer.externalSpan({ traceId: "noop", spanId: "noop" })
      yield* say("approve").pipe(
        Effect.provide(
          Observer.layer({ attend: () => ({ around: (_, effect) => Effect.withParentSpan(effect, span) }) })
        )
      )
      assert.deepStrictEqual(traces(yield* history("r1")), [])
    }).pipe(memory)
  )
})

describe("a run of any kind", () => {
  const lost = new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: "memory" }) })

  /** A run that fails, asks, waits, is put down, is cut off and is decided about, in an order of its own. */
  const story = Effect.fnUntraced(function* (seed: number) {
    const { below, next } = dice(seed)
    const work = Fake.worker("one", {
      size: 3,
      attemptTimeout: "1 day",
      answers: () => {
        const roll = next()
        const reply = roll < 0.2 ? Fake.fail("transient") : roll < 0.3 ? Fake.die(new Error("broke")) : "done"
        return Effect.as(Effect.sleep(below(5) * 1_000), reply)
      }
    })
    const acts = Fake.worker("two", { otherwise: "acted", risk: "high", size: 2 })
    const built = guarded(
      [work, acts],
      Array.from({ length: 2 + below(4) }, (_, n) =>
        task(`t${n}`, {
          ...(n > 0 && next() < 0.4 ? { needs: [`t${n - 1}`] } : {}),
          ...(next() < 0.3 ? { worker: "d.two" } : {})
        })
      )
    )
    const { attendances, layer } = watching()
    yield* Effect.gen(function* () {
      const journal = yield* Journal.Journal
      let left = 40
      let run: Effect.Effect<unknown, unknown, Journal.Journal> = Run.start(built, r1)
      while (left-- > 0) {
        // Some of its processes lose their journal, and nothing that they write from then on is written.
        let appends = next() < 0.3 ? below(5) : Infinity
        const append: (typeof journal)["append"] = (append) =>
          Effect.suspend(() => (appends-- > 0 ? journal.append(append) : Effect.fail(lost)))
        const own = Effect.provideService(run, Journal.Journal, { ...journal, append })
        const fiber = yield* Effect.forkChild(Effect.exit(own))
        for (let steps = 0; steps < 1 + below(6); steps++) {
          yield* settle
          yield* TestClock.adjust(below(3_000))
          if (next() < 0.4) {
            const [open] = Option.match(yield* Effect.option(Run.outcome("r1")), {
              onNone: () => [],
              onSome: ({ reviews }) => reviews
            })
            const decision = next() < 0.7 ? "approve" : "reject"
            if (open !== undefined) yield* Effect.exit(say(decision, { review: open.review }))
          }
        }
        yield* Fiber.interrupt(fiber)
        const known = yield* Effect.option(Run.outcome("r1"))
        if (Option.isSome(known) && ["completed", "partial", "failed"].includes(known.value.status)) return
        run = Option.isSome(known) ? resume(built) : Run.start(built, r1)
      }
      return yield* Effect.die(new Error("it does not end"))
    }).pipe(Effect.andThen(isWhole(attendances)), Effect.provide([layer, logged().layer]), memory)
    return attendances.length
  })

  it.effect.each(Array.from({ length: 25 }, (_, seed) => seed + 1))(
    "R-501 R-502 shows each of its events once over all who carry it out, without a gap: case %d",
    (seed) => Effect.map(story(seed), (count) => assert.isAbove(count, 0))
  )
})
