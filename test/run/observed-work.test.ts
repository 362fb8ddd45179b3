import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, References, Tracer } from "effect"
import { Failure } from "espalier"
import { ScriptedModel, ToolScope } from "espalier/agent"
import { Effects, Observer, Office, Plan, Planner, Result, Review, Router, Run, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { calls, deskWith, delivers, search, Search, services, started, Mail } from "../agent/agents.ts"
import { desk, elapse, history, memory, task, worker } from "./desks.ts"
import { r1 } from "./guards.ts"
import { begin, deskOf, of, pass, resume } from "./living.ts"
import { watching } from "./watching.ts"

type Handle = Parameters<typeof worker>[1]

const only = (handle: Handle, options: Parameters<typeof worker>[2] = {}) =>
  deskOf([worker("one", handle, options) as Worker.Worker<never>], Plan.make([task("a")]))

describe("what is told of an attempt", () => {
  it.effect("R-501 is each try, with what came of it", () => {
    const { ends, layer, work } = watching()
    return Effect.gen(function* () {
      const one = Fake.worker("one", { answers: [Fake.fail("transient", { reason: "busy" }), "a"] })
      yield* elapse(Run.start(deskOf([one], Plan.make([task("a")])), r1), "10 seconds")
      assert.deepStrictEqual(ends, [
        { of: "Attempt r1/a/1 1", outcome: "failed", kind: "transient", reason: "busy" },
        { of: "Attempt r1/a/1 2", outcome: "accepted" }
      ])
      const named = { _tag: "Attempt", task: "a", dispatch: "r1/a/1", worker: "d.one", waitMillis: 0 } as const
      assert.deepStrictEqual(work, [
        { ...named, attempt: 1 },
        { ...named, attempt: 2 }
      ])
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 is how long it has waited for a free member", () => {
    const { layer, work } = watching()
    return Effect.gen(function* () {
      const slow = worker("one", () => Effect.as(Effect.sleep("3 seconds"), "done"))
      const office = yield* Office.open(desk([slow], [task("a")]), { log: false })
      const runs = ["r1", "r2", "r3"].map((id) => Run.startIn(office, { id, input: "go" }))
      yield* elapse(Effect.all(runs, { concurrency: "unbounded" }), "1 minute")
      assert.deepStrictEqual(
        work.map((each) => (each._tag === "Attempt" ? each.waitMillis : -1)),
        [0, 3_000, 6_000]
      )
    }).pipe(Effect.provide(layer), Effect.scoped, memory)
  })

  const table: ReadonlyArray<readonly [name: string, handle: Handle, expected: Partial<Observer.Ended>]> = [
    ["an answer", () => Effect.succeed("done"), { outcome: "accepted" }],
    ["a part", () => Effect.succeed(Result.partial("half", [{ part: "p", reason: "r" }])), { outcome: "partial" }],
    ["no answer that fits", () => Effect.succeed(7), { outcome: "rejected-contract", kind: "malformed" }],
    ...Failure.kinds.map(
      (kind) =>
        [
          `a failure that is ${kind}`,
          () => Effect.fail(new Failure.Failure({ kind, reason: "why" })),
          {
            outcome: (
              {
                transient: "failed",
                capability: "refused",
                oversized: "failed",
                malformed: "rejected-contract",
                denied: "denied",
                exhausted: "budget-exceeded"
              } as const
            )[kind],
            kind,
            reason: "why"
          }
        ] as const
    ),
    ["a defect", () => Effect.die(new Error("broke")), { outcome: "crashed", kind: "defect" }],
    ["silence", () => Effect.never, { outcome: "timed-out", kind: "transient" }],
    [
      "a question",
      () => Effect.as(Review.ask({ name: "which", question: "Which?" }), "never"),
      { outcome: "suspended" }
    ],
    [
      "an answer in spite of an effect that nobody knows the outcome of",
      () =>
        Effects.perform({ name: "pay", run: () => Effect.die(new Error("the line is dead")) }).pipe(
          Effect.ignoreCause,
          Effect.as("done")
        ),
      { outcome: "failed", kind: "transient" }
    ]
  ]

  it.effect.each(table)("R-501 says how it has ended: %s", ([, handle, expected]) => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const going = yield* begin(Run.start(only(handle, { attemptTimeout: "1 second" }), r1))
      yield* pass("10 minutes")
      yield* going.interrupt
      const { of, reason, ...ended } = ends[0] ?? assert.fail("nothing has ended")
      assert.strictEqual(of, "Attempt r1/a/1 1")
      assert.deepInclude({ ...ended, reason }, expected)
      if (expected.kind === undefined) assert.strictEqual(ended.kind, undefined)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 that nobody needs any more is cancelled, and blamed on nobody", () => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 2,
        attemptTimeout: "1 day",
        answers: ({ task }) => (task === "a" ? Fake.fail("capability") : Fake.never)
      })
      const tasks = [task("a"), task("b")]
      yield* elapse(Run.start(deskOf([one], Plan.make(tasks, { containment: "fail-fast" })), r1), "1 hour")
      assert.deepInclude(ends, { of: "Attempt r1/b/1 1", outcome: "cancelled" })
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 whose time is over is timed out", () => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: Fake.never, attemptTimeout: "1 day" })
      const built = deskOf([one], Plan.make([task("a")]), { limits: { deadlineMillis: 60_000 } })
      yield* elapse(Run.start(built, r1), "1 hour")
      assert.deepStrictEqual(ends, [{ of: "Attempt r1/a/1 1", outcome: "timed-out", kind: "exhausted" }])
    }).pipe(Effect.provide(layer), memory)
  })
})

describe("what is told of a choice", () => {
  const routed = (decide: () => Effect.Effect<unknown, unknown>) =>
    deskOf(
      [Fake.worker("one", { otherwise: "done" })],
      Router.make({ tasks: [task("a"), task("b")], choose: () => decide() as Effect.Effect<unknown>, fallback: "b" })
    )

  it.effect("R-501 is what is asked for, of how many, and that somebody answered", () => {
    const { ends, layer, seen, work } = watching()
    return Effect.gen(function* () {
      let asked = 0
      yield* Run.start(
        routed(() => Effect.sync(() => (asked++ === 0 ? "a" : "finish"))),
        r1
      )
      assert.deepStrictEqual(work[0], {
        _tag: "Choice",
        consult: "r1/consult/1",
        subject: "",
        purpose: "route",
        candidates: 1
      })
      assert.deepStrictEqual(
        ends.filter(({ of }) => of.startsWith("Choice")),
        [
          { of: "Choice r1/consult/1 route", outcome: "accepted" },
          { of: "Choice r1/consult/2 route", outcome: "accepted" }
        ]
      )
      assert.deepStrictEqual(seen.slice(2, 5), [
        "Consulted",
        "around Choice r1/consult/1 route",
        "after Choice r1/consult/1 route"
      ])
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 is a plan", () => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const planner = Planner.make({
        plan: () => Effect.succeed([{ id: "a", worker: "d.one", objective: "Do it" }]),
        fallback: "review"
      })
      yield* Run.start(deskOf([Fake.worker("one", { otherwise: "done" })], planner), r1)
      assert.deepInclude(ends, { of: "Choice r1/consult/1 plan", outcome: "accepted" })
    }).pipe(Effect.provide(layer), memory)
  })

  const failing: ReadonlyArray<
    readonly [name: string, decide: () => Effect.Effect<unknown, unknown>, expected: Partial<Observer.Ended>]
  > = [
    ["a wrong name", () => Effect.succeed("nobody"), { outcome: "failed", kind: "malformed" }],
    [
      "a failure",
      () => Effect.fail(Failure.transient("down")),
      { outcome: "failed", kind: "transient", reason: "down" }
    ],
    ["a defect", () => Effect.die(new Error("broke")), { outcome: "failed", kind: "defect" }],
    ["silence for two minutes", () => Effect.never, { outcome: "timed-out", kind: "transient" }]
  ]

  it.effect.each(failing)("R-501 is that it failed: %s", ([, decide, expected]) => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      yield* elapse(Run.start(routed(decide), r1), "1 hour")
      assert.deepInclude(ends[0], { of: "Choice r1/consult/1 route", ...expected })
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 is that it failed where the answer is no data", () => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const choose = () => Effect.succeed("a")
      const router = Router.make({ tasks: [task("a")], choose, fallback: "a" })
      const odd = { ...router, decide: () => Effect.succeed({ answer: () => "a", note: "" }) }
      const built = deskOf([Fake.worker("one", { otherwise: "done" })], odd as never)
      yield* elapse(Run.start(built, r1), "1 hour")
      assert.deepInclude(ends[0], { of: "Choice r1/consult/1 route", outcome: "failed", kind: "malformed" })
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 waits with its run, and is cancelled where nobody needs it", () => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const built = routed(() => Effect.never)
      const going = yield* begin(Run.start(built, r1))
      yield* going.interrupt
      const office = yield* Office.open(built, { log: false })
      const again = yield* begin(Run.resumeIn(office, "r1"))
      yield* Run.cancel("r1", { by: "ann", office })
      yield* again.join
      assert.deepStrictEqual(
        ends.map(({ outcome }) => outcome),
        ["suspended", "cancelled"]
      )
    }).pipe(Effect.provide(layer), Effect.scoped, memory)
  })
})

describe("what is told of the tools of an agent", () => {
  const mail = (sent: Array<string>, gate: "always" | "never" = "never") =>
    ToolScope.tool(Mail, { gate, handle: ({ to }) => Effect.sync(() => `mail ${sent.push(to)}`) })

  it.effect("R-501 R-403 is each call that is made, inside of its attempt, and none that is recorded", () => {
    const { ends, layer, seen, work } = watching()
    const queries: Array<string> = []
    const sent: Array<string> = []
    const built = () =>
      deskWith(
        ScriptedModel.fromFunction((request) =>
          request.prompt.content.some(({ role }) => role === "tool")
            ? delivers("done")
            : calls(["search", { query: "x" }], ["mail", { to: "all" }], ["rm", {}], ["search", { query: "y" }])
        ),
        { tools: ToolScope.make([search(queries), mail(sent, "always")]) }
      )
    return Effect.gen(function* () {
      yield* started(built())
      assert.deepStrictEqual(ends, [
        { of: "Tool search", outcome: "accepted" },
        { of: "Tool mail", outcome: "suspended" },
        { of: "Attempt r1/a/1 1", outcome: "suspended" }
      ])
      const [, tool] = work
      assert.deepInclude(tool, { _tag: "Tool", tool: "search", description: "Searches the notes" })
      assert.isAbove(seen.indexOf("around Tool search"), seen.indexOf("around Attempt r1/a/1 1"))
      assert.isBelow(seen.indexOf("after Tool mail"), seen.indexOf("after Attempt r1/a/1 1"))
      const before = ends.length
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })
      yield* elapse(resume(built()), "5 minutes")
      const made = ends.slice(before).map(({ of, outcome }) => `${of} ${outcome}`)
      assert.deepStrictEqual(
        made.filter((each) => each.startsWith("Tool mail")),
        ["Tool mail accepted"]
      )
      assert.strictEqual(
        ends.filter(({ of, outcome }) => of === "Tool search" && outcome === "accepted").length,
        queries.length
      )
      assert.deepStrictEqual(sent, ["all"])
    }).pipe(Effect.provide([layer, services]))
  })

  it.effect("R-501 R-403 has not failed where nobody let it be made", () => {
    const { ends, layer } = watching()
    const built = () =>
      deskWith(
        ScriptedModel.fromFunction((request) =>
          request.prompt.content.some(({ role }) => role === "tool") ? delivers("no") : calls(["mail", { to: "all" }])
        ),
        { tools: ToolScope.make([mail([], "always")]) }
      )
    return Effect.gen(function* () {
      yield* started(built())
      yield* Run.decide({ review: "r1/review/1", decision: "reject", by: "ann" })
      yield* elapse(resume(built()), "5 minutes")
      assert.deepStrictEqual(
        ends.filter(({ of }) => of === "Tool mail"),
        [
          { of: "Tool mail", outcome: "suspended" },
          { of: "Tool mail", outcome: "denied" }
        ]
      )
    }).pipe(Effect.provide([layer, services]))
  })

  it.effect("R-501 is timed out by itself", () => {
    const { ends, layer } = watching()
    const slow = ToolScope.tool(Search, { timeout: "1 second", handle: () => Effect.never })
    const built = deskWith(ScriptedModel.make([calls(["search", { query: "x" }]), delivers("done")]), {
      tools: ToolScope.make([slow])
    })
    return Effect.gen(function* () {
      yield* started(built)
      assert.deepInclude(ends[0], { of: "Tool search", outcome: "timed-out", kind: "transient" })
    }).pipe(Effect.provide([layer, services]))
  })

  const accepted = (): Observer.Ended => ({ outcome: "accepted" })

  const call = (tool: string, effect: Effect.Effect<unknown>) =>
    Effect.flatMap(Observer.Inside, (around) => around({ _tag: "Tool", tool, call: tool }, effect, accepted))

  const interrupted: ReadonlyArray<readonly [name: string, handle: Handle, expected: Partial<Observer.Ended>]> = [
    [
      "with its attempt, whose time is over",
      () => call("t", Effect.never),
      { outcome: "timed-out", kind: "transient" }
    ],
    [
      "by another one beside it",
      () => Effect.as(Effect.raceFirst(call("t", Effect.never), Effect.sleep("10 millis")), "done"),
      { outcome: "cancelled" }
    ],
    [
      "with its order, which waits",
      () =>
        Effect.as(
          Effect.all(
            [call("t", Effect.never), Effect.delay(Review.ask({ name: "q", question: "Which?" }), "1 millis")],
            {
              concurrency: 2
            }
          ),
          "never"
        ),
      { outcome: "suspended" }
    ]
  ]

  it.effect.each(interrupted)("R-501 that is interrupted is so for a reason: %s", ([, handle, expected]) => {
    const { ends, layer } = watching()
    return Effect.gen(function* () {
      const going = yield* begin(Run.start(only(handle, { attemptTimeout: "1 second" }), r1))
      yield* pass("2 seconds")
      yield* going.interrupt
      assert.deepInclude(ends[0], { of: "Tool t", ...expected })
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("R-501 is nothing where nothing is around them", () =>
    Effect.gen(function* () {
      const around = yield* Observer.Inside
      const work = Effect.succeed(1)
      const ended = (): Observer.Ended => ({ outcome: "accepted" })
      assert.strictEqual(around({ _tag: "Tool", tool: "t", call: "c" }, work, ended), work)
    })
  )
})

describe("what is put around work", () => {
  class Note extends Context.Service<Note, string>()("test/Note") {}

  const span = (digit: string) => Tracer.externalSpan({ traceId: digit.repeat(32), spanId: digit.repeat(16) })

  interface Found {
    readonly note: string | undefined
    readonly span: string | undefined
    readonly level: string
  }

  /** What of it is there where it is looked. */
  const look = Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const note = context.mapUnsafe.get(Note.key) as string | undefined
    const parent = yield* Effect.option(Effect.currentParentSpan)
    const level = yield* References.MinimumLogLevel
    const found: Found = { note, span: parent._tag === "Some" ? parent.value.spanId[0] : undefined, level }
    return found
  })

  /** Puts a service, a span and a level around each work. */
  const providing = Observer.layer({
    attend: () => ({
      around: (work, effect) => {
        const digit = work._tag === "Attempt" ? "1" : work._tag === "Choice" ? "2" : "3"
        return effect.pipe(
          Effect.provideService(Note, work._tag),
          Effect.provideService(Tracer.ParentSpan, span(digit)),
          Effect.provideService(References.MinimumLogLevel, "Error")
        )
      }
    })
  })

  it.effect("R-501 reaches whoever does it, in whatever the office was opened, and nobody after them", () =>
    Effect.gen(function* () {
      const found: Array<Found> = []
      const looks = Effect.map(look, (each) => void found.push(each))
      let asked = 0
      const built = deskOf(
        [worker("one", () => Effect.as(looks, "done")) as Worker.Worker<never>],
        Router.make({
          tasks: [task("a")],
          choose: () => Effect.as(looks, asked++ === 0 ? "a" : "finish") as Effect.Effect<unknown>,
          fallback: "a"
        })
      )
      const office = yield* Office.open(built, { log: false }).pipe(
        Effect.provideService(References.MinimumLogLevel, "Warn"),
        Effect.provideService(Tracer.ParentSpan, span("9"))
      )
      yield* Effect.provide(Run.startIn(office, r1), providing)
      const choice: Found = { note: "Choice", span: "2", level: "Error" }
      assert.deepStrictEqual(found, [choice, { note: "Attempt", span: "1", level: "Error" }, choice])
      asked = 0
      yield* Run.startIn(office, { ...r1, id: "r2" }).pipe(Effect.provideService(Tracer.ParentSpan, span("8")))
      const none: Found = { note: undefined, span: "8", level: "Warn" }
      assert.deepStrictEqual(found.slice(3), [none, none, none])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-501 reaches the tools of an agent", () => {
    const found: Array<Found> = []
    const looking = ToolScope.tool(Search, {
      handle: () => Effect.map(look, (each) => [`found ${found.push(each)}`])
    })
    return Effect.gen(function* () {
      yield* started(
        deskWith(ScriptedModel.make([calls(["search", { query: "x" }]), delivers("done")]), {
          tools: ToolScope.make([looking])
        })
      )
      assert.deepStrictEqual(found, [{ note: "Tool", span: "3", level: "Error" }])
    }).pipe(Effect.provide([providing, services]))
  })

  it.effect("R-501 is no part of a run that is begun inside of it", () =>
    Effect.gen(function* () {
      const { layer, seen } = watching()
      const inside: Array<boolean> = []
      const own = Effect.map(Observer.Inside, (around) => {
        const work = Effect.void
        inside.push(around({ _tag: "Tool", tool: "inner", call: "c" }, work, () => ({ outcome: "accepted" })) === work)
        return "inner"
      })
      const inner = only(() => own)
      const outer = only(
        () =>
          Effect.flatMap(Observer.Inside, (around) => {
            const run = Observer.only(Run.start(inner, { ...r1, id: "r2" }), [])
            return around({ _tag: "Tool", tool: "outer", call: "c" }, run, () => ({ outcome: "accepted" })).pipe(
              Effect.as("outer")
            )
          }) as Effect.Effect<string, unknown, never>
      )
      yield* Effect.provide(Run.start(outer, r1), layer)
      assert.deepStrictEqual(inside, [true])
      assert.include(seen, "around Tool outer")
      assert.notInclude(seen, "around Tool inner")
      assert.strictEqual(of(yield* history("r2"), "RunFinished").length, 1)
    }).pipe(memory)
  )
})
