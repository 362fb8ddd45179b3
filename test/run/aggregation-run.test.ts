import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Aggregate, type Desk, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, memory, task } from "./desks.ts"
import { goOn, guarded, of, r1 } from "./guards.ts"

const Found = Schema.Struct({
  owner: Schema.optionalKey(Schema.String),
  dead: Schema.optionalKey(Schema.Array(Schema.String))
})

const aggregate = Aggregate.make({
  tasks: { a: Found, b: Found },
  fields: {
    owner: Aggregate.error(Schema.String),
    dead: Aggregate.concat(Schema.String)
  }
})

type Reply = Fake.Reply<Schema.Json>

const two = (a: Reply, b: Reply, options: Parameters<typeof guarded>[2] = {}) =>
  guarded(
    [
      Fake.worker("one", { otherwise: a, attemptTimeout: "1 second" }),
      Fake.worker("two", { otherwise: b, attemptTimeout: "1 second" })
    ],
    [task("a"), task("b", { worker: "d.two" })],
    { aggregate, ...options }
  )

const differ = (options: Parameters<typeof guarded>[2] = {}) =>
  two({ owner: "ann", dead: ["x"] }, { owner: "bob", dead: ["y"] }, options)

const start = (desk: Desk.Desk<string, never>) => elapse(Run.start(desk, r1), "1 minute")

describe("aggregation of a run", () => {
  it.effect("R-212 merges what its tasks deliver, field by field, and decodes it", () =>
    Effect.gen(function* () {
      const output = Schema.Struct({ owner: Schema.String, dead: Schema.Array(Schema.String) })
      const outcome = yield* start(
        two({ owner: "ann", dead: ["x"] }, { owner: "ann", dead: ["y"] }, { output: output as never })
      )
      assert.deepStrictEqual([outcome.status, outcome.stopReason], ["completed", "accepted"])
      assert.deepStrictEqual(outcome.output, { owner: "ann", dead: ["x", "y"] })
      assert.deepStrictEqual([outcome.conflicts, outcome.leftOut], [[], []])
      const [merged] = yield* of("Merged")
      assert.deepInclude(merged, { group: "", outcome: "accepted" })
    }).pipe(memory)
  )

  it.effect("R-212 an answer that the desk's schema does not take is no success", () =>
    Effect.gen(function* () {
      const output = Schema.Struct({ owner: Schema.String, dead: Schema.Array(Schema.String), count: Schema.Int })
      const outcome = yield* start(two({ owner: "ann" }, { dead: ["y"] }, { output: output as never }))
      assert.deepStrictEqual([outcome.status, outcome.stopReason, outcome.output], ["failed", "empty", undefined])
      assert.include(outcome.note, "OUTPUT_INVALID: the desk's output.count is required; it is {2 fields}")
      assert.deepStrictEqual(
        outcome.missing.map(({ task, worker }) => [task, worker]),
        [[outcome.run, "plan"]]
      )
    }).pipe(memory)
  )

  it.effect("R-212 D112 a conflict that nobody decides stays open, with both values and the name of its field", () =>
    Effect.gen(function* () {
      const outcome = yield* start(differ())
      assert.deepStrictEqual([outcome.status, outcome.output], ["partial", { dead: ["x", "y"] }])
      assert.deepStrictEqual(outcome.conflicts, [
        {
          field: "owner",
          values: [
            { task: "a", value: "ann", confidence: 1 },
            { task: "b", value: "bob", confidence: 1 }
          ]
        }
      ])
      assert.strictEqual(outcome.note, "The answer is partial: it lacks owner; 2 of 2 tasks accepted")
      assert.deepStrictEqual(outcome.missing, [
        { task: outcome.run, worker: "plan", reason: "owner: Tasks gave different values, and nobody chose" }
      ])
      const [merged] = yield* of("Merged")
      assert.strictEqual(merged?.outcome, "partial")
      assert.deepStrictEqual(merged?.result.missing, [
        { part: "owner", reason: "Tasks gave different values, and nobody chose" }
      ])
    }).pipe(memory)
  )

  it.effect("R-212 R-210 is not whole without a task that a spent budget left out", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { estimate: { tokens: 400 }, otherwise: { owner: "ann", dead: [] } })
      const plan = [task("a"), task("b", { needs: ["a"] })]
      const outcome = yield* start(guarded([one], plan, { aggregate, limits: { tokens: 500 } }))
      assert.deepStrictEqual([outcome.status, outcome.results["b"]?.status], ["partial", "skipped"])
      const [merged] = yield* of("Merged")
      assert.strictEqual(merged?.outcome, "partial")
      assert.deepStrictEqual(
        Object.values(Aggregate.deliveries(outcome)).map(({ status }) => status),
        ["ok", "cancelled"]
      )
      assert.deepStrictEqual(
        outcome.missing.map(({ task }) => task),
        ["b"]
      )
    }).pipe(memory)
  )

  describe("a function decides", () => {
    it.effect("R-212 is asked one narrow question, and its answer stands", () =>
      Effect.gen(function* () {
        const asked: Array<Aggregate.Question> = []
        const reconcile = (question: Aggregate.Question) => {
          asked.push(question)
          return Effect.succeed("ann")
        }
        const outcome = yield* start(differ({ reconcile }))
        assert.deepStrictEqual([outcome.status, outcome.output], ["completed", { owner: "ann", dead: ["x", "y"] }])
        assert.strictEqual(asked.length, 1)
        assert.deepInclude(asked[0], { field: "owner", question: "Which value of owner holds? It is given by a, b." })
        assert.deepStrictEqual(
          (yield* of("Consulted")).map(({ purpose }) => purpose),
          ["reconcile"]
        )
      }).pipe(memory)
    )

    it.effect("R-212 refuses an answer that does not fit, asks once more, and takes that", () =>
      Effect.gen(function* () {
        let calls = 0
        const outcome = yield* start(differ({ reconcile: () => Effect.sync(() => (++calls === 1 ? 7 : "bob")) }))
        assert.deepStrictEqual([outcome.status, calls], ["completed", 2])
        const [failed] = yield* of("DecisionFailed")
        assert.include(failed?.note, "owner must be a text, got 7")
      }).pipe(memory)
    )

    it.effect.each([
      ["answers badly twice", Effect.succeed(7)],
      ["fails", Effect.fail("no")],
      ["is broken", Effect.die("boom")]
    ] as const)("R-212 leaves the conflict open when it %s", ([, answer]) =>
      Effect.gen(function* () {
        let calls = 0
        const reconcile = () => Effect.suspend((): Effect.Effect<unknown, unknown> => (calls++, answer))
        const outcome = yield* start(differ({ reconcile }))
        assert.deepStrictEqual([outcome.status, outcome.conflicts.length, calls], ["partial", 1, 2])
      }).pipe(memory)
    )
  })

  describe("a person decides", () => {
    const several = Aggregate.make({
      tasks: { a: Schema.Record(Schema.String, Schema.String), b: Schema.Record(Schema.String, Schema.String) },
      fields: { owner: Aggregate.error(Schema.String), place: Aggregate.error(Schema.String) }
    })

    it.effect("R-212 R-216 sees the field and its values, and the answer stands", () =>
      Effect.gen(function* () {
        const desk = differ({ reconcile: "review" })
        const waiting = yield* start(desk)
        assert.strictEqual(waiting.status, "waiting")
        const [review] = waiting.reviews
        assert.deepInclude(review, {
          kind: "reconciliation",
          reason: "conflict",
          allowed: ["answer", "accept-partial"]
        })
        assert.strictEqual(review?.facts["field"], "owner")
        const outcome = yield* goOn(desk, "answer", { answer: { reconcile: { owner: "bob" } } })
        assert.deepStrictEqual([outcome.status, outcome.output], ["completed", { owner: "bob", dead: ["x", "y"] }])
      }).pipe(memory)
    )

    it.effect("R-212 R-216 may leave it open", () =>
      Effect.gen(function* () {
        const desk = differ({ reconcile: "review" })
        yield* start(desk)
        const outcome = yield* goOn(desk, "accept-partial")
        assert.deepStrictEqual([outcome.status, outcome.conflicts.length], ["partial", 1])
      }).pipe(memory)
    )

    it.effect("R-212 R-216 is asked about each field", () =>
      Effect.gen(function* () {
        const desk = two(
          { owner: "ann", place: "here" },
          { owner: "bob", place: "there" },
          { aggregate: several, reconcile: "review" }
        )
        yield* start(desk)
        const second = yield* goOn(desk, "answer", { answer: { reconcile: { owner: "bob" } } })
        assert.deepStrictEqual([second.status, second.reviews[0]?.facts["field"]], ["waiting", "place"])
        const outcome = yield* goOn(desk, "answer", { answer: { reconcile: { place: "here" } } })
        assert.deepStrictEqual([outcome.status, outcome.output], ["completed", { owner: "bob", place: "here" }])
      }).pipe(memory)
    )

    it.effect("R-212 R-216 is asked once more when the answer does not fit, and not for ever", () =>
      Effect.gen(function* () {
        const desk = differ({ reconcile: "review" })
        yield* start(desk)
        const again = yield* goOn(desk, "answer", { answer: { reconcile: { owner: 7 } } })
        assert.strictEqual(again.status, "waiting")
        const outcome = yield* goOn(desk, "answer", { answer: { reconcile: { owner: 8 } } })
        assert.deepStrictEqual([outcome.status, outcome.conflicts.length], ["partial", 1])
      }).pipe(memory)
    )
  })

  it.effect("R-212 an output that drifted from its schema is left out, and named", () =>
    Effect.gen(function* () {
      const outcome = yield* start(two({ owner: "ann" }, { owner: 7 }))
      assert.deepStrictEqual([outcome.status, outcome.output], ["partial", { owner: "ann" }])
      assert.deepStrictEqual(
        outcome.leftOut.map(({ part }) => part),
        ["b"]
      )
      assert.include(outcome.leftOut[0]?.reason, "owner must be a text, got 7")
    }).pipe(memory)
  )

  it.effect("R-212 D113 claims without a source are not in the answer", () =>
    Effect.gen(function* () {
      const Claim = Schema.Struct({ text: Schema.String, source: Schema.optionalKey(Schema.String) })
      const claims = Aggregate.make({
        tasks: { a: Schema.Struct({ claims: Schema.Array(Claim) }), b: Schema.Struct({ claims: Schema.Array(Claim) }) },
        fields: { claims: Aggregate.concat(Claim, { backed: ({ source }) => source !== undefined }) }
      })
      const desk = two(
        { claims: [{ text: "so", source: "s1" }] },
        { claims: [{ text: "no" }, { text: "yes", source: "s2" }] },
        { aggregate: claims }
      )
      const outcome = yield* start(desk)
      assert.deepStrictEqual(outcome.output, {
        claims: [
          { text: "so", source: "s1" },
          { text: "yes", source: "s2" }
        ]
      })
    }).pipe(memory)
  )

  it.effect.each([
    ["fails", Fake.fail("capability"), "failed"],
    ["times out", Fake.never, "failed"],
    ["drifts", { owner: 7 }, "accepted"]
  ] as const)("R-212 D110 a run whose every task %s is empty, never a success", ([, answer, status]) =>
    Effect.gen(function* () {
      const outcome = yield* start(two(answer, answer))
      assert.deepStrictEqual([outcome.status, outcome.stopReason, outcome.output], ["failed", "empty", undefined])
      assert.deepStrictEqual(
        Object.values(outcome.results).map(({ status }) => status),
        [status, status]
      )
    }).pipe(memory)
  )

  it.effect(
    "R-212 a synthesis is a task like any other: it works on what was accepted, and its output is checked",
    () =>
      Effect.gen(function* () {
        const Text = Schema.Struct({ text: Schema.String })
        const write = Fake.worker("write", {
          output: Text,
          answers: ({ accepted }) => ({ text: JSON.stringify(accepted) })
        })
        const one = Fake.worker("one", { otherwise: { owner: "ann" } })
        const plan = [task("a"), task("b", { needs: ["a"] }), task("whole", { worker: "d.write", needs: ["a", "b"] })]
        const whole = Aggregate.make({ tasks: { whole: Text }, fields: { text: Aggregate.error(Schema.String) } })
        const outcome = yield* start(guarded([one, write], plan, { aggregate: whole }))
        assert.deepStrictEqual(outcome.output, { text: '{"a":{"owner":"ann"},"b":{"owner":"ann"}}' })
        const [order] = yield* write.calls
        assert.deepStrictEqual([order?.task, order?.previous], ["whole", []])
      }).pipe(memory)
  )
})
