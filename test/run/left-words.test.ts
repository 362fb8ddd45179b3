/** That whatever is left as word can be taken in by a run, and leaves it one that can be read. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Journal } from "espalier/journal"
import { type Desk, Effects, Plan, Planner, Result, Review, Router, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { history, memory, task, worker } from "./desks.ts"
import { guarded } from "./guards.ts"
import { begin, deskOf, pass } from "./living.ts"

const start = { id: "r1", input: "go", log: false }

/** Texts that are none, or more than there is room for. */
const Text = Schema.Literals([
  "",
  " ",
  "\n",
  "\u200b",
  "\u0000",
  "\ud800",
  "__proto__",
  "ann",
  "configuration",
  "agent:",
  "x".repeat(200),
  "x".repeat(201),
  "x".repeat(8_000),
  "x".repeat(8_001)
])
const Time = Schema.Literals([0, -1, 0.5, 1, 3_600_000, 1e300])
const Id = Schema.Literals(["r1/review/1", "r1/review/1", "r1/review/2", "", "r1"])
const optional = Schema.optionalKey
const Principal = Schema.Struct({ kind: Schema.Literals(["human", "agent"]), id: Text, onBehalfOf: optional(Text) })
const said = { by: Text, note: Text, principal: optional(Principal) }
const about = { ...said, review: Id }
const decision = Schema.Literals(["approve", "reject", "retry", "accept-partial", "answer", "edit"])
const word = <const T extends string, const F extends Schema.Struct.Fields>(type: T, fields: F) =>
  Schema.Struct({ type: Schema.Literal(type), data: Schema.Struct(fields) })

const Word = Schema.Union([
  word("CancelRequested", said),
  word("AutonomyChanged", { ...said, from: Schema.Literals(["medium", "low"]), to: Schema.Literals(["low", "full"]) }),
  word("ReviewDecided", {
    ...about,
    decision,
    answer: optional(Schema.Union([Text, Schema.Null, Schema.Struct({ reconcile: Schema.Record(Text, Text) })])),
    raise: optional(Schema.Struct({ tokens: Schema.Literals([0, 1, 1_000]) })),
    edits: optional(Schema.Record(Schema.Literals(["", "/amount", "/a~"]), Text)),
    key: optional(Text),
    digest: optional(Text),
    revision: optional(Schema.Literals([0, 1, 2])),
    trace: optional(Text),
    via: optional(Text)
  }),
  word("ReviewWithdrawn", { ...about, by: optional(Text) }),
  word("ReviewChanged", {
    ...about,
    what: Schema.Literals(["claimed", "released", "reassigned", "extended"]),
    until: optional(Time),
    to: optional(Schema.Array(Text)),
    millis: optional(Time)
  }),
  word("ReviewRefused", { ...about, decision, because: Schema.Literals(["already-decided", "invalid", "expired"]) }),
  word("GrantRevoked", { ...about, grant: Text }),
  word("GrantGiven", {
    ...about,
    grant: Schema.Struct({
      id: Text,
      worker: Text,
      tool: Text,
      by: Text,
      at: Time,
      until: Time,
      uses: Schema.Literals([0, 1]),
      run: optional(Text),
      task: optional(Text)
    })
  })
])

/** Runs that wait for people, or were put down, each with a question of another kind. */
const desks: ReadonlyArray<readonly [name: string, make: () => Desk.Desk<string, never>]> = [
  [
    "with an order under way",
    () =>
      deskOf(
        [Fake.worker("one", { answers: [Fake.never], otherwise: "a", attemptTimeout: "1 day" })],
        Plan.make<string>([task("a"), task("b", { needs: ["a"] })])
      )
  ],
  [
    "with a task that failed",
    () => deskOf([Fake.worker("one", { answers: [Fake.fail("denied")], otherwise: "a" })], Plan.make([task("a")]))
  ],
  [
    "with a question",
    () =>
      deskOf(
        [worker("one", () => Effect.as(Review.ask({ name: "which", question: "Which?" }), "a")) as never],
        Plan.make([task("a")])
      )
  ],
  [
    "with a call of a tool",
    () => {
      const pay = Effects.perform({ name: "pay", args: { amount: 1 }, run: () => Effect.succeed("paid") })
      const input = Schema.Struct({ amount: Schema.Number })
      const tools = [{ name: "pay", input, gate: "always", editable: ["/amount"] }] as const
      return deskOf([worker("one", () => pay, { tools }) as never], Plan.make([task("a")]))
    }
  ],
  [
    "with an effect that nobody knows the end of",
    () => {
      const pay = Effects.perform({ name: "pay", run: () => Effect.die(new Error("the line is dead")) })
      return deskOf([worker("one", () => Effect.as(pay, "a")) as never], Plan.make([task("a")]))
    }
  ],
  [
    "with a budget that is spent",
    () =>
      guarded(
        [Fake.worker("one", { estimate: { tokens: 400 }, otherwise: "a" })],
        [task("a"), task("b", { needs: ["a"] })],
        { limits: { tokens: 500 }, policy: { atCap: "review" } }
      )
  ],
  [
    "with a route that nobody found",
    () =>
      deskOf(
        [Fake.worker("one", { otherwise: "a" })],
        Router.make({ tasks: [task("a")], choose: () => Effect.succeed("none"), fallback: "review" })
      )
  ],
  [
    "with a plan that nobody made",
    () =>
      deskOf(
        [Fake.worker("one", { otherwise: "a" })],
        Planner.make({ plan: () => Effect.succeed("none" as never), fallback: "review" })
      )
  ],
  [
    "with a result that somebody is to look at",
    () =>
      deskOf(
        [Fake.worker("one", { otherwise: Result.needsReview("a", [{ part: "end", reason: "none" }]) as never })],
        Plan.make([task("a")])
      )
  ],
  [
    "with an order that needs an approval",
    () => deskOf([Fake.worker("one", { otherwise: "a", risk: "high" })], Plan.make([task("a")]))
  ]
]

/** Takes a run up until it is over or waits, and puts it down. */
const goOn = (desk: Desk.Desk<string, never>) =>
  Effect.gen(function* () {
    const going = yield* begin(Effect.exit(Run.resume(desk, "r1", { log: false })))
    yield* pass("1 minute")
    if (!(yield* going.over)) return yield* going.interrupt
    const exit = yield* going.join
    if (Exit.isFailure(exit)) assert.fail(`it cannot be taken up: ${String(exit.cause)}`)
  })

describe("word that is left in the journal", () => {
  it.effect.each(desks)("D65 has a question or an order to be about: a run %s", ([, make]) =>
    Effect.gen(function* () {
      const going = yield* begin(Effect.exit(Run.start(make(), start)))
      yield* pass("1 minute")
      yield* going.interrupt
      const outcome = yield* Run.outcome("r1")
      assert.isTrue(outcome.status === "suspended" || outcome.reviews.length > 0)
    }).pipe(memory)
  )

  for (const [name, make] of desks) {
    it.effect.prop(
      `D65 is taken in whatever it says, and the run can be read: one ${name}`,
      [Schema.Array(Word).check(Schema.isMinLength(1), Schema.isMaxLength(3))],
      ([words]) =>
        Effect.gen(function* () {
          const journal = yield* Journal.Journal
          const going = yield* begin(Effect.exit(Run.start(make(), start)))
          yield* pass("1 minute")
          yield* going.interrupt
          for (const { data, type } of words) {
            yield* journal.command({ run: "r1", type, at: 0, data: JSON.parse(JSON.stringify(data)) as Schema.Json })
          }
          yield* goOn(make())
          assert.deepStrictEqual(yield* journal.commands("r1"), [])
          const before = yield* history("r1")
          const { status } = yield* Run.outcome("r1")
          assert.isFalse(before.some((event) => event._tag === "RunSuspended" && event.reason === "quarantined"))
          yield* goOn(make())
          assert.isNotEmpty(status)
        }).pipe(memory),
      { arbitrary: { runs: 60 } }
    )
  }

  it.effect.each([
    ["CancelRequested", { by: "ann" }],
    ["ReviewWithdrawn", { by: "ann", review: "r1/review/1" }]
  ] as const)("D65 a run goes on that an old journal has let take in a %s which says nothing", ([type, data]) =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const make = () =>
        deskOf([Fake.worker("one", { answers: [Fake.fail("denied")], otherwise: "a" })], Plan.make([task("a")]))
      yield* Run.start(make(), start)
      const expected = yield* journal.version("r1")
      const event = { type, at: 0, data: { ...data, note: "" } }
      yield* journal.append({ run: "r1", expected, events: [event] })
      yield* goOn(make())
      const { results } = yield* Run.outcome("r1")
      assert.strictEqual(results["a"]?.status, "cancelled")
    }).pipe(memory)
  )

  it.effect("D65 what may not be left is refused at once where it is said", () =>
    Effect.gen(function* () {
      yield* Run.start(deskOf([Fake.worker("one", { answers: [Fake.fail("denied")] })], Plan.make([task("a")])), start)
      const said = yield* Effect.flip(Run.cancel("r1", { by: "" }))
      assert.strictEqual(said._tag, "CommandRefused")
      assert.include(said.message, 'by must be a text that is not empty, got ""')
      const long = yield* Effect.flip(Run.cancel("r1", { by: "ann", note: "x".repeat(8_001) }))
      assert.include(long.message, "note must be at most 8000 characters, got")
    }).pipe(memory)
  )
})
