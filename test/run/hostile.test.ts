import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Result as EffectResult, Schema, Stream } from "effect"
import { Journal } from "espalier/journal"
import { Aggregate, Desk, Domain, Office, type Outcome, Plan, Result, Router, Run, type RunEvent } from "espalier/run"

import { elapse, gate, history, memory, settle, task, worker } from "./desks.ts"
import { deskOf, of, options } from "./living.ts"
import { strict } from "./strict.ts"

/** What a caller without types hands over. */
const untyped = (value: unknown): never => value as never

const throws = (error: unknown) => (): never => {
  // oxlint-disable-next-line no-throw-literal -- this is what careless code does
  throw error
}

const unreadable = (): object => Object.create(null) as object

const trap = (target: object): object => new Proxy(target, { ownKeys: throws(new Error("trap")) })

const cycle = (): object => {
  const value: { self?: object } = {}
  value.self = value
  return value
}

/** An object that says something else of itself when it is written. */
const twoFaced = (value: object): object => Object.defineProperty(value, "toJSON", { value: () => "another" })

const one = (answer: () => unknown) =>
  worker("one", () => Effect.sync(answer), { output: untyped(Schema.Json) as Schema.Codec<string, string> })

/** The run as it went, and as the journal has it; nothing was written that cannot be read back. */
const told = Effect.fnUntraced(function* (desk: Desk.Desk<string, never>) {
  const journal = strict()
  return yield* Effect.gen(function* () {
    const outcome = yield* elapse(Run.start(desk, options), "10 minutes")
    assert.deepStrictEqual(journal.wrong, [])
    assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    return outcome
  }).pipe(Effect.provide(journal.layer))
})

const plan = (answer: () => unknown, fields: Partial<Plan.Task<string>> = {}) =>
  deskOf([one(answer)], Plan.make<string>([task("a", fields)]))

const statusOf = ({ results }: Outcome.Outcome) => results["a"]?.status

describe("a hostile output", () => {
  let reads = 0
  it.effect.each<[string, () => unknown, unknown]>([
    ["with a toJSON that nobody lists", () => twoFaced({ a: 1 }), { a: 1 }],
    ["with one further down", () => ({ x: [twoFaced({ a: 1 })] }), { x: [{ a: 1 }] }],
    ["that is a list with one", () => twoFaced([1]), [1]],
    [
      "that is a list of a class",
      () =>
        new (class extends Array<number> {
          toJSON = () => "another"
        })(1, 2),
      undefined
    ],
    [
      "that changes whenever it is looked at",
      () => ({
        get a() {
          return (reads += 1)
        }
      }),
      undefined
    ],
    ["with a key that is a symbol", () => ({ a: 1, [Symbol("b")]: 2 }), { a: 1 }],
    [
      "with the names of inherited properties",
      () => ({ constructor: 1, toString: 2 }),
      { constructor: 1, toString: 2 }
    ],
    ["with half a character", () => "\ud800", "\ud800"]
  ])("R-202 %s stands as it was looked at", ([, answer, expected]) =>
    Effect.gen(function* () {
      const outcome = yield* told(plan(answer))
      if (statusOf(outcome) === "failed") return assert.isUndefined(expected)
      assert.strictEqual(outcome.status, "completed")
      if (expected !== undefined) assert.deepStrictEqual(outcome.results["a"]?.output, expected)
    })
  )

  it.effect.each<[string, () => unknown]>([
    ["a cycle", cycle],
    ["a proxy that throws", () => trap({})],
    ["a BigInt", () => ({ a: 1n })],
    ["parts that are shared again and again", () => Array.from({ length: 40 }).reduce((all) => [all, all], "x")]
  ])("R-202 that is %s is refused", ([, answer]) =>
    Effect.gen(function* () {
      assert.strictEqual(statusOf(yield* told(plan(answer))), "failed")
    })
  )

  it.effect("R-202 cannot say afterwards that it used less", () =>
    Effect.gen(function* () {
      let reads = 0
      const usage = {
        get tokens() {
          return (reads += 1) === 1 ? 5 : -5
        }
      }
      assert.strictEqual((yield* told(plan(() => Result.completed("x", { usage })))).usage.tokens, 5)
    })
  )

  it.effect("R-212 is changed by nobody whom it is handed to", () =>
    Effect.gen(function* () {
      const greedy = worker(
        "one",
        ({ accepted, task }) =>
          Effect.sync(() => {
            if (task === "a") return ["kept"]
            untyped((accepted["a"] as Array<string>).push("added"))
            return ["never"]
          }),
        { output: untyped(Schema.Json) as Schema.Codec<string, string> }
      )
      const outcome = yield* told(deskOf([greedy], Plan.make<string>([task("a"), task("b", { needs: ["a"] })])))
      assert.deepStrictEqual([outcome.results["a"]?.output, outcome.results["b"]?.status], [["kept"], "failed"])
    })
  )
})

describe("what stands around a task", () => {
  it.effect.each<[string, unknown]>([
    ["a number", () => 5],
    ["nothing", () => undefined],
    ["a promise", () => Promise.resolve("x")],
    ["something that turns into a text", () => ({ toString: () => "x" })],
    ["a text without end", () => "x".repeat(3_000_000)],
    ["an error that cannot be read", throws(unreadable())]
  ])("R-205 a label that is %s is a mistake of the output", ([, label]) =>
    Effect.gen(function* () {
      assert.strictEqual(statusOf(yield* told(plan(() => "x", { label: untyped(label) }))), "failed")
    })
  )

  it.effect.each<[string, unknown]>([
    ["an error that cannot be read", throws(unreadable())],
    ["a symbol", throws(Symbol("x"))],
    ["an error whose message throws", throws(Object.defineProperty(new Error("x"), "message", { get: throws(1) }))]
  ])("R-201 an input that throws %s ends its task", ([, input]) =>
    Effect.gen(function* () {
      assert.strictEqual(statusOf(yield* told(plan(() => "x", { input: untyped(input) }))), "failed")
    })
  )

  it.effect.each<[string, unknown]>([
    ["gives a promise", () => Promise.resolve("x")],
    ["gives nothing", () => undefined],
    ["gives its output as it is", () => "x"],
    ["fails with a number", () => EffectResult.fail(5)],
    ["fails with nothing", () => EffectResult.fail(undefined)],
    ["throws what cannot be read", throws(unreadable())],
    ["gives no output", () => EffectResult.succeed(undefined)],
    ["gives a cycle", () => EffectResult.succeed(cycle())],
    ["gives a BigInt", () => EffectResult.succeed(1n)],
    ["gives a function", () => EffectResult.succeed(() => 1)],
    ["gives a proxy that throws", () => EffectResult.succeed(trap({}))],
    ["gives more than fits", () => EffectResult.succeed("x".repeat(3_000_000))],
    [
      "changes what it is given",
      (parts: ReadonlyArray<{ result: { output: unknown } }>) => {
        for (const part of parts) part.result.output = "changed"
        return EffectResult.succeed("x")
      }
    ]
  ])("R-205 a merge that %s has merged nothing, and the run goes on", ([, merge]) =>
    Effect.gen(function* () {
      const parts = ["x", "y"].map((id) => ({ id, worker: "d.two", objective: `Do ${id}` }))
      const desk = deskOf(
        [
          one(() => Result.failed("oversized", "too much")),
          worker("two", () => Effect.succeed("two"), { capabilities: [] })
        ],
        Plan.make<string>([task("a", { decompose: () => parts, merge: untyped(merge) })])
      )
      const { results } = yield* told(desk)
      assert.deepStrictEqual([results["a"]?.status, results["a/decompose/x"]?.output], ["failed", "two"])
    })
  )

  it.effect("R-212 an aggregate that throws leaves the run without an answer, and its tasks as they are", () =>
    Effect.gen(function* () {
      const desk = Desk.make("desk", {
        version: "1",
        input: Schema.String,
        domains: [Domain.make("d", { workers: [one(() => ({ claims: ["x"] }))] })],
        coordinator: Plan.make<string>([task("a")]),
        aggregate: Aggregate.make({
          tasks: { a: Schema.Struct({ claims: Schema.Array(Schema.String) }) },
          fields: { claims: Aggregate.union(Schema.String, { backed: throws(unreadable()) }) }
        })
      })
      const outcome = yield* told(untyped(desk))
      assert.deepStrictEqual([outcome.status, statusOf(outcome), outcome.output], ["failed", "accepted", undefined])
    })
  )

  it.effect("R-204 an answer with a note that is none is taken without it", () =>
    Effect.gen(function* () {
      const answers = ["a", "finish"]
      const router = Router.make<"a", string>({
        tasks: [{ id: "a", worker: "d.one", objective: "Do a" }],
        choose: () => Effect.sync(() => Router.answer(answers.shift(), { note: untyped(5) })),
        fallback: "review"
      })
      assert.strictEqual((yield* told(deskOf([one(() => "x")], router))).status, "completed")
    })
  )

  it.effect("R-301 whoever watches changes nothing of what happened", () =>
    Effect.gen(function* () {
      const onEvent = (event: RunEvent.RunEvent) => {
        if (event._tag === "Routed") (event.candidates as Array<string>).push("d.nobody")
      }
      const desk = deskOf([one(() => "x")], Plan.make<string>([task("a"), task("b", { needs: ["a"] })]))
      const outcome = yield* Run.start(desk, { ...options, onEvent })
      assert.strictEqual(outcome.status, "completed")
      const routed = of(yield* history("r1"), "Routed").map(({ candidates }) => candidates)
      assert.deepStrictEqual(routed, [["d.one"], ["d.one"]])
    }).pipe(memory)
  )
})

describe("what comes from outside", () => {
  it.effect.each<[string, object, string]>([
    ["an id that is no text", { id: 5 }, "id"],
    ["an id that cannot be read", { id: trap({}) }, "id"],
    ["a tier that there is not", { tier: "boundless" }, "tier"]
  ])("R-201 %s does not begin a run", ([, given, field]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Run.start(
          plan(() => "x"),
          { ...options, ...given }
        )
      )
      assert.strictEqual(error._tag, "InputInvalid")
      assert.include(error.message, field)
    }).pipe(memory)
  )

  it.effect("R-301 a run goes by what is written of its input, not by what its caller makes of it later", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const desk = Desk.make("desk", {
        version: "1",
        input: Schema.Unknown,
        domains: [Domain.make("d", { workers: [one(() => "x")] })],
        coordinator: Plan.make<unknown>([
          { id: "a", worker: "d.one", objective: "Do a", input: (_, input) => ({ input: seen.push(input) }) }
        ])
      })
      const input = twoFaced({ list: [1] })
      yield* Run.start(desk, { ...options, input })
      const [started] = yield* history("r1")
      assert.deepStrictEqual(seen[0], started?._tag === "RunStarted" ? started.input : undefined)
      assert.notStrictEqual(seen[0], input)
      assert.isTrue(Object.isFrozen(seen[0]))
    }).pipe(memory)
  )

  it.effect.each<[string, object]>([
    ["nobody who can be named", { by: 5 }],
    ["nobody at all", { by: undefined }]
  ])("R-211 a cancel by %s is refused, and the run can still be read", ([, given]) =>
    Effect.gen(function* () {
      const door = gate()
      const fiber = yield* Effect.forkChild(
        Run.start(deskOf([worker("one", () => Effect.as(door.wait, "x"))], Plan.make<string>([task("a")])), options)
      )
      yield* door.reached
      const refused = yield* Effect.flip(Run.cancel("r1", untyped(given)))
      assert.strictEqual(refused._tag, "CommandRefused")
      yield* door.open
      assert.strictEqual((yield* Fiber.join(fiber)).status, "completed")
    }).pipe(memory)
  )
})

describe("one office", () => {
  /** A journal whose reading takes a turn, so that two who read at once have both read before either writes. */
  const slow = Effect.map(Journal.Journal, (journal): Journal.Journal["Service"] => ({
    ...journal,
    read: (run, range) => Stream.unwrap(Effect.as(Effect.yieldNow, journal.read(run, range)))
  }))

  it.effect("R-301 carries a run out once, however many take it up at the same moment", () =>
    Effect.gen(function* () {
      const door = gate()
      let calls = 0
      const desk = deskOf(
        [
          worker("one", () => {
            calls += 1
            return Effect.as(door.wait, "x")
          })
        ],
        Plan.make<string>([task("a")])
      )
      const office = yield* Office.open(desk)
      const first = yield* Effect.forkChild(Run.startIn(office, options))
      yield* settle
      yield* Fiber.interrupt(first)
      const journal = yield* slow
      const fibers = yield* Effect.forEach([1, 2, 3], () =>
        Effect.forkChild(Effect.exit(Run.resumeIn(office, "r1").pipe(Effect.provideService(Journal.Journal, journal))))
      )
      yield* settle
      assert.deepStrictEqual([calls, office.live.size], [2, 1])
      // Whoever came too late has not taken the place of the one that goes on.
      yield* Run.cancel("r1", { by: "me", office })
      const exits = yield* Effect.forEach(fibers, Fiber.join)
      const said = exits.map((exit) =>
        Exit.isSuccess(exit) ? exit.value.status : String(Effect.runSync(Effect.flip(exit))._tag)
      )
      assert.deepStrictEqual(said.toSorted(), ["RunBusy", "RunBusy", "cancelled"])
      assert.strictEqual(office.live.size, 0)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-211 leaves its runs suspended when it closes before them, and they go on in another one", () =>
    Effect.gen(function* () {
      const door = gate()
      const desk = deskOf([worker("one", () => Effect.as(door.wait, "x"))], Plan.make<string>([task("a")]))
      const run = yield* Effect.scoped(
        Effect.gen(function* () {
          const office = yield* Office.open(desk, { log: false })
          const run = yield* Effect.forkDetach(Run.startIn(office, options))
          yield* door.reached
          return run
        })
      )
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(run)))
      assert.deepStrictEqual(door.log, ["began", "interrupted"])
      assert.strictEqual((yield* Run.outcome("r1")).status, "suspended")
      yield* door.open
      assert.strictEqual((yield* Run.resume(desk, "r1", { log: false })).status, "completed")
    }).pipe(memory)
  )

  it.effect("R-301 does not lose a run to another one that wants its name", () =>
    Effect.gen(function* () {
      const door = gate()
      const desk = deskOf([worker("one", () => Effect.as(door.wait, "x"))], Plan.make<string>([task("a")]))
      const office = yield* Office.open(desk)
      const first = yield* Effect.forkChild(Run.startIn(office, options))
      yield* door.reached
      assert.strictEqual((yield* Effect.flip(Run.startIn(office, options)))._tag, "RunExists")
      yield* Run.cancel("r1", { by: "me", office })
      assert.strictEqual((yield* Fiber.join(first)).status, "cancelled")
    }).pipe(Effect.scoped, memory)
  )
})
