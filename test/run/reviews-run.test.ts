import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Schema } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts } from "espalier/journal"
import { Office, Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { history, memory, settle, task } from "./desks.ts"
import { goOn, guarded, of, r1, say } from "./guards.ts"
import { fold } from "./simulate.ts"

const missing = [{ part: "the end", reason: "It is not written" }]

const says = (...answers: ReadonlyArray<Fake.Reply<never> | Result.Result<string> | string>) =>
  Fake.worker("one", { answers: answers as ReadonlyArray<Fake.Reply<string>> })

interface Case {
  readonly what: string
  readonly answers: ReadonlyArray<Result.Result<string> | string | Fake.Answer>
  readonly fields?: Parameters<typeof task>[1]
  readonly options?: Parameters<typeof guarded>[2]
  readonly kind: RunEvent.ReviewKind
  readonly reason: RunEvent.ReviewReason
  readonly allowed: ReadonlyArray<RunEvent.Decision>
  readonly facts: Readonly<Record<string, Schema.Json>>
  /** For each decision: the task's end, the run's end, and how often the worker was called. */
  readonly ends: ReadonlyArray<readonly [RunEvent.Decision, RunEvent.TaskEnd, RunEvent.RunEnd, number]>
}

const accepting = ["approve", "reject", "retry"] as const

const cases: ReadonlyArray<Case> = [
  {
    what: "a result that its worker wants to be looked at",
    answers: [Result.needsReview("draft", missing), "final"],
    kind: "result-acceptance",
    reason: "needs-review",
    allowed: accepting,
    facts: { worker: "d.one", confidence: 1, tries: 1, task: "a" },
    ends: [
      ["approve", "accepted", "completed", 1],
      ["reject", "rejected", "failed", 1],
      ["retry", "accepted", "completed", 2]
    ]
  },
  {
    what: "a finding of high severity",
    answers: [Result.completed("draft", { findings: [{ severity: "high", statement: "It leaks" }] }), "final"],
    kind: "result-acceptance",
    reason: "finding",
    allowed: accepting,
    facts: { worker: "d.one" },
    ends: [
      ["approve", "accepted", "completed", 1],
      ["reject", "rejected", "failed", 1],
      ["retry", "accepted", "completed", 2]
    ]
  },
  {
    what: "a question of a worker that delivered something",
    answers: [Result.partial("half", missing, { ambiguity: "Which one?" }), "final"],
    kind: "question",
    reason: "ambiguity",
    allowed: ["answer", "accept-partial", "reject"],
    facts: { question: "Which one?" },
    ends: [
      ["answer", "accepted", "completed", 2],
      ["accept-partial", "partial", "partial", 1],
      ["reject", "rejected", "failed", 1]
    ]
  },
  {
    what: "a question of a worker that cannot begin without an answer",
    answers: [Result.ambiguous("Which one?"), "final"],
    kind: "question",
    reason: "ambiguity",
    allowed: ["answer", "accept-partial", "reject"],
    facts: { question: "Which one?", worker: "d.one" },
    ends: [
      ["answer", "accepted", "completed", 2],
      ["accept-partial", "failed", "failed", 1],
      ["reject", "rejected", "failed", 1]
    ]
  },
  {
    what: "a partial result that would do harm",
    answers: [Result.partial("half", missing), "final"],
    fields: { onIncomplete: "escalate" },
    kind: "escalation",
    reason: "incomplete",
    allowed: ["accept-partial", "retry", "reject"],
    facts: { worker: "d.one" },
    ends: [
      ["accept-partial", "partial", "partial", 1],
      ["retry", "accepted", "completed", 2],
      ["reject", "rejected", "failed", 1]
    ]
  },
  {
    what: "a failure where a partial result would do harm",
    answers: [Fake.fail("capability"), "final"],
    fields: { onIncomplete: "escalate" },
    kind: "escalation",
    reason: "incomplete",
    allowed: ["retry", "accept-partial", "reject"],
    facts: { task: "a" },
    ends: [
      ["retry", "accepted", "completed", 2],
      ["accept-partial", "failed", "failed", 1],
      ["reject", "rejected", "failed", 1]
    ]
  },
  {
    what: "what was denied",
    answers: [Fake.fail("denied"), "final"],
    kind: "escalation",
    reason: "denied",
    allowed: ["retry", "accept-partial", "reject"],
    facts: { worker: "d.one" },
    ends: [
      ["retry", "accepted", "completed", 2],
      ["accept-partial", "failed", "failed", 1],
      ["reject", "rejected", "failed", 1]
    ]
  }
]

const answerTo = (decision: RunEvent.Decision) => (decision === "answer" ? { answer: "The left one" } : {})

const table = cases.flatMap((each) => each.ends.map(([decision, ...end]) => ({ ...each, decision, end })))

describe("reviews of a run", () => {
  describe("what people are asked", () => {
    it.effect.each(table)(
      "R-213 R-216 $what: $decision",
      ({ allowed, answers, decision, end, facts, fields, kind, options, reason }) =>
        Effect.gen(function* () {
          const one = says(...answers)
          const desk = guarded([one], [task("a", fields)], options)
          const waiting = yield* Run.start(desk, r1)
          assert.deepStrictEqual([waiting.status, waiting.reviews.length, (yield* one.calls).length], ["waiting", 1, 1])
          assert.deepInclude(waiting.reviews[0], {
            review: "r1/review/1",
            task: "a",
            kind,
            reason,
            allowed: [...allowed]
          })
          assert.deepInclude(waiting.reviews[0]?.facts, facts)
          // A run that waits is read, and nothing is done.
          assert.deepStrictEqual(yield* Run.resume(desk, "r1", { log: false }), waiting)
          const outcome = yield* goOn(desk, decision, answerTo(decision))
          assert.deepStrictEqual([outcome.results["a"]?.status, outcome.status, (yield* one.calls).length], [...end])
          assert.deepStrictEqual(outcome.reviews, [])
        }).pipe(memory)
    )

    it.effect.each(table)(
      "R-213 R-216 $what: $decision, said while the run is being carried out",
      ({ answers, decision, end, fields, options }) =>
        Effect.gen(function* () {
          const one = says(...answers)
          const slow = Fake.worker("slow", { latency: "10 seconds", otherwise: "slow" })
          const desk = guarded([one, slow], [task("a", fields), task("s", { worker: "d.slow" })], options)
          const office = yield* Office.open(desk, { log: false })
          const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
          yield* settle
          yield* say(decision, answerTo(decision), office)
          yield* TestClock.adjust("10 seconds")
          const outcome = yield* Fiber.join(fiber)
          assert.deepStrictEqual([outcome.results["a"]?.status, (yield* one.calls).length], [end[0], end[2]])
          assert.strictEqual(outcome.results["s"]?.status, "accepted")
        }).pipe(Effect.scoped, memory)
    )
  })

  describe("what people see of a result", () => {
    const evidence = [{ requirement: "tests", command: "npm test", exitStatus: 0, output: "ok", environment: "ci" }]
    const objective = "Write it down"
    const standing: ReadonlyArray<
      readonly [string, Result.Result<string>, Parameters<typeof task>[1], Record<string, Schema.Json>]
    > = [
      [
        "result-acceptance",
        Result.needsReview("draft", missing, { evidence }),
        {},
        { output: "draft", missing, evidence: [{ requirement: "tests", command: "npm test", exitStatus: 0 }] }
      ],
      [
        "question",
        Result.partial("half", missing, { ambiguity: "Which one?" }),
        {},
        { output: "half", missing, evidence: [] }
      ],
      [
        "escalation",
        Result.partial("half", missing),
        { onIncomplete: "escalate" },
        { output: "half", missing, evidence: [] }
      ]
    ]

    it.effect.each(standing)("R-213 R-216 is the result itself: %s", ([kind, answer, fields, facts]) =>
      Effect.gen(function* () {
        const desk = guarded([says(answer, "final")], [task("a", { objective, ...fields })])
        const waiting = yield* Run.start(desk, r1)
        const [review] = waiting.reviews
        assert.strictEqual(review?.kind, kind)
        assert.deepInclude(review?.facts, { objective, ...facts })
        const [opened] = yield* of("ReviewOpened")
        assert.deepStrictEqual(opened?.facts, review?.facts)
        const state = fold(yield* history("r1"))
        for (const name of ["objective", ...Object.keys(facts)]) {
          assert.notProperty(state.reviews.get("r1/review/1")?.facts, name)
        }
        assert.notProperty(waiting.results["a"], "output")
      }).pipe(memory)
    )

    it.effect("R-213 R-216 is the last one there is, after a later order failed", () =>
      Effect.gen(function* () {
        const one = says(Result.needsReview("draft", missing), Fake.fail("denied"))
        const desk = guarded([one], [task("a", { objective })])
        yield* Run.start(desk, r1)
        const waiting = yield* goOn(desk, "retry")
        assert.deepInclude(waiting.reviews[0], { kind: "escalation", reason: "denied" })
        assert.deepInclude(waiting.reviews[0]?.facts, { objective, output: "draft", missing })
      }).pipe(memory)
    )

    it.effect("R-213 R-216 is nothing but the objective where there is no result", () =>
      Effect.gen(function* () {
        const waiting = yield* Run.start(guarded([says(Fake.fail("denied"))], [task("a", { objective })]), r1)
        assert.deepStrictEqual(waiting.reviews[0]?.facts, { task: "a", tries: 1, worker: "d.one", objective })
      }).pipe(memory)
    )

    const kib = 32 * 1024
    it.effect.each([
      ["of 32 KiB", kib - 2, {}],
      ["of a byte more", kib - 1, { largeOutput: kib + 1 }],
      ["of more than a report takes", 3 * kib, { largeOutput: 3 * kib + 2 }]
    ] as const)("R-213 R-216 is of a large output only its size: %s", ([, length, large]) =>
      Effect.gen(function* () {
        const output = "x".repeat(length)
        const desk = guarded([says(Result.needsReview(output, missing))], [task("a")])
        const [review] = (yield* Run.start(desk, r1)).reviews
        const { largeOutput, output: shown } = review?.facts ?? {}
        assert.deepStrictEqual(largeOutput === undefined ? {} : { largeOutput }, large)
        assert.strictEqual(shown, largeOutput === undefined ? output : undefined)
        const state = fold(yield* history("r1"))
        assert.isAtMost(state.size, 4_000)
      }).pipe(Effect.provide(Artefacts.layerMemory()), memory)
    )
  })

  it.effect("R-216 hands the answer to the worker that asked, with who gave it", () =>
    Effect.gen(function* () {
      const one = says(Result.ambiguous("Which one?"), "final")
      const desk = guarded([one], [task("a")])
      yield* Run.start(desk, r1)
      yield* goOn(desk, "answer", { by: "bob", answer: { one: "the left" }, note: "as always" })
      const [, order] = yield* one.calls
      assert.deepStrictEqual(order?.answers, [{ by: "bob", answer: { one: "the left" }, note: "as always" }])
      assert.strictEqual(order?.dispatch, "r1/a/2")
    }).pipe(memory)
  )

  it.effect("R-213 drops what is not mandatory only if a person says so, and the contract has a new version", () =>
    Effect.gen(function* () {
      const definitionOfDone = [
        { id: "tests", statement: "Tests pass" },
        { id: "docs", statement: "Docs build", mandatory: false }
      ]
      // Only the mandatory one is checked, so the worker itself has to be told what was dropped.
      const one = Fake.worker("one", {
        answers: ({ contract }) =>
          contract.definitionOfDone.length === 2
            ? Result.completed("all", { evidence: [{ requirement: "tests", command: "npm test", exitStatus: 1 }] })
            : Result.completed("some", { evidence: [{ requirement: "tests", command: "npm test", exitStatus: 0 }] })
      })
      const desk = guarded([one], [task("a", { definitionOfDone, reduceScope: true })])
      const waiting = yield* Run.start(desk, r1)
      assert.deepInclude(waiting.reviews[0], {
        kind: "scope-reduction",
        reason: "scope",
        allowed: ["approve", "reject"]
      })
      assert.deepStrictEqual(waiting.reviews[0]?.facts["drop"], ["docs"])
      const before = (yield* one.calls).length
      const outcome = yield* goOn(desk, "approve")
      const last = (yield* one.calls).at(-1)
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "some"])
      assert.deepStrictEqual(
        [before, last?.contract.version, last?.contract.definitionOfDone.map(({ id }) => id)],
        [2, 2, ["tests"]]
      )
    }).pipe(memory)
  )

  it.effect("R-213 keeps the scope when the person says no", () =>
    Effect.gen(function* () {
      const definitionOfDone = [
        { id: "tests", statement: "Tests pass" },
        { id: "docs", statement: "Docs build", mandatory: false }
      ]
      const one = Fake.worker("one", { otherwise: "done" })
      const desk = guarded([one], [task("a", { definitionOfDone, reduceScope: true })])
      yield* Run.start(desk, r1)
      const outcome = yield* goOn(desk, "reject")
      assert.deepStrictEqual(
        [outcome.status, outcome.results["a"]?.status, (yield* one.calls).length],
        ["failed", "failed", 2]
      )
    }).pipe(memory)
  )

  it.effect("R-216 D85 a question about one branch stops only what needs that branch", () =>
    Effect.gen(function* () {
      const one = says(Result.ambiguous("Which one?"), "final")
      const two = Fake.worker("two", { size: 4, otherwise: "done" })
      const plan = [
        task("a"),
        task("b", { worker: "d.two" }),
        task("c", { worker: "d.two", needs: ["b"] }),
        task("join", { worker: "d.two", needs: ["a", "c"] })
      ]
      const desk = guarded([one, two], plan)
      const waiting = yield* Run.start(desk, r1)
      const states = (outcome: typeof waiting) =>
        Object.values(outcome.results).map(({ status, task }) => `${task} ${status}`)
      assert.deepStrictEqual(
        [waiting.status, ...states(waiting)],
        ["waiting", "a open", "b accepted", "c accepted", "join open"]
      )
      const outcome = yield* goOn(desk, "answer", { answer: "left" })
      assert.deepStrictEqual(
        [outcome.status, ...states(outcome)],
        ["completed", "a accepted", "b accepted", "c accepted", "join accepted"]
      )
    }).pipe(memory)
  )

  it.effect("R-216 a task whose time is over is not offered to be tried anew", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: [Fake.never] })
      const desk = guarded([one], [task("a", { onIncomplete: "escalate", limits: { deadlineMillis: 5_000 } })])
      const fiber = yield* Effect.forkChild(Run.start(desk, r1))
      yield* settle
      yield* TestClock.adjust("5 seconds")
      const waiting = yield* Fiber.join(fiber)
      assert.deepStrictEqual([waiting.status, waiting.reviews[0]?.allowed], ["waiting", ["accept-partial", "reject"]])
      assert.strictEqual((yield* goOn(desk, "accept-partial")).status, "failed")
    }).pipe(memory)
  )

  it.effect("R-216 a person's time is no task's time: it has as much left afterwards as before", () =>
    Effect.gen(function* () {
      const asks = Fake.worker("one", {
        answers: [Result.ambiguous("Which one?"), Fake.never],
        attemptTimeout: "1 hour"
      })
      const desk = guarded([asks], [task("a", { limits: { deadlineMillis: 5_000 } })])
      yield* Run.start(desk, r1)
      yield* TestClock.adjust("1 hour")
      yield* say("answer", { answer: "The left one" })
      const fiber = yield* Effect.forkChild(Run.resume(desk, "r1", { log: false }))
      yield* settle
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const outcome = yield* Fiber.join(fiber)
      assert.deepStrictEqual([outcome.status, outcome.endedAt], ["failed", 3_605_000])
    }).pipe(memory)
  )

  describe("is refused", () => {
    const wrong: ReadonlyArray<readonly [string, Partial<Run.Deciding>, string]> = [
      [
        "a decision that was not asked for",
        { decision: "answer" },
        'decision must be one of approve, reject, retry, got "answer"'
      ],
      [
        "a review that is not open",
        { review: "r1/review/2" },
        "the review r1/review/2 is not open; open are r1/review/1"
      ],
      ["an id that is none", { review: "r1" }, "review must be an id such as RUN/review/1"],
      ["nobody", { by: " " }, "by must be a text that is not empty"]
    ]
    it.effect.each(wrong)("R-216 %s", ([, more, reason]) =>
      Effect.gen(function* () {
        yield* Run.start(guarded([says(Result.needsReview("draft", missing))], [task("a")]), r1)
        const refused = yield* Effect.flip(say("approve", more))
        assert.include(refused.message, reason)
        assert.strictEqual((yield* of("ReviewDecided")).length, 0)
      }).pipe(memory)
    )

    it.effect("R-216 a second decision, and one after the end", () =>
      Effect.gen(function* () {
        const desk = guarded([says(Result.needsReview("draft", missing))], [task("a")])
        yield* Run.start(desk, r1)
        const refused = Effect.gen(function* () {
          assert.deepStrictEqual(yield* say("approve"), { _tag: "Replayed" })
          const error = yield* Effect.flip(say("reject"))
          assert.strictEqual(error._tag === "CommandRefused" ? error.because : error._tag, "already-decided")
          assert.include(error.message, "r1/review/1 was decided by ann at ")
        })
        yield* say("approve")
        yield* refused
        yield* Run.resume(desk, "r1", { log: false })
        yield* refused
        assert.strictEqual((yield* of("ReviewDecided")).length, 1)
        assert.deepStrictEqual(
          (yield* of("ReviewRefused")).map(({ because, decision }) => [decision, because]),
          [
            ["reject", "already-decided"],
            ["reject", "already-decided"]
          ]
        )
      }).pipe(memory)
    )
  })
})
