import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Failure } from "espalier"
import { Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, memory, task, worker } from "./desks.ts"
import { goOn, guarded, of, r1 } from "./guards.ts"

const done = [{ id: "tests", statement: "Tests pass" }]

const with_ = (exitStatus: number | undefined, revision?: string) =>
  Result.completed("work", {
    evidence: [
      {
        requirement: "tests",
        command: "npm test",
        ...(exitStatus === undefined ? {} : { exitStatus }),
        ...(revision === undefined ? {} : { revision })
      }
    ]
  })

const capable = { capabilities: ["work"] }

const outcomes = (outcome: {
  readonly dispatches: ReadonlyArray<{ readonly worker: string; readonly outcome?: string | undefined }>
}) => outcome.dispatches.map(({ outcome, worker }) => `${worker} ${outcome}`)

describe("acceptance in a run", () => {
  const bad: ReadonlyArray<readonly [string, Fake.Reply<string>, string]> = [
    ["has no evidence", "work", "tests is unproven: There is no evidence for it"],
    ["has failing evidence", with_(1), "tests is unmet: npm test ended with exit status 1"],
    ["has evidence without an exit status", with_(undefined), "tests is unproven: npm test has no exit status"],
    [
      "has evidence for something else",
      Result.completed("work", { evidence: [{ requirement: "test", command: "npm test", exitStatus: 0 }] }),
      "tests is unproven: There is no evidence for it; there is evidence for test, which is no requirement of this task"
    ],
    [
      "does not say what was run",
      Result.completed("work", { evidence: [{ requirement: "tests", exitStatus: 0 }] }),
      "tests is unproven: Its evidence does not say what was run"
    ]
  ]

  it.effect.each(bad)(
    "R-213 a result that %s goes back with the reason, then to another worker",
    ([, answer, reason]) =>
      Effect.gen(function* () {
        const one = Fake.worker("one", { ...capable, otherwise: answer as Fake.Reply<string> })
        const two = Fake.worker("two", { ...capable, otherwise: with_(0) })
        const outcome = yield* Run.start(guarded([one, two], [task("a", { definitionOfDone: done })]), r1)
        assert.deepStrictEqual(outcomes(outcome), [
          "d.one rejected-quality",
          "d.one rejected-quality",
          "d.two accepted"
        ])
        const [, again] = yield* one.calls
        assert.deepStrictEqual(again?.previous, [{ dispatch: "r1/a/1", worker: "d.one", kind: "malformed", reason }])
        const [other] = yield* two.calls
        assert.deepStrictEqual(
          other?.previous.map(({ dispatch }) => dispatch),
          ["r1/a/1", "r1/a/2"]
        )
        assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", true])
      }).pipe(memory)
  )

  it.effect("R-213 a correction that brings the evidence is accepted", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: [with_(1), with_(0)] })
      const outcome = yield* Run.start(guarded([one], [task("a", { definitionOfDone: done })]), r1)
      assert.deepStrictEqual(outcomes(outcome), ["d.one rejected-quality", "d.one accepted"])
      assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", false])
    }).pipe(memory)
  )

  it.effect("R-213 nothing is let stand when nobody brings it", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: with_(1) })
      const outcome = yield* Run.start(guarded([one], [task("a", { definitionOfDone: done })]), r1)
      assert.deepStrictEqual(
        [outcome.status, outcome.results["a"]?.status, outcome.results["a"]?.output],
        ["failed", "failed", undefined]
      )
      assert.include(outcome.missing[0]?.reason, "npm test ended with exit status 1")
    }).pipe(memory)
  )

  describe("validators of a task", () => {
    const long = (output: unknown) => (String(output).length < 10 ? ["The text is too short", "It names nobody"] : [])

    it.effect("D29 R-213 hand their sentences back to the worker", () =>
      Effect.gen(function* () {
        const one = Fake.worker("one", { answers: ["short", "long enough by now"] })
        const outcome = yield* Run.start(guarded([one], [task("a", { validate: long })]), r1)
        assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "long enough by now"])
        const [, again] = yield* one.calls
        assert.deepStrictEqual(
          again?.previous.map(({ reason }) => reason),
          ["The text is too short; It names nobody"]
        )
      }).pipe(memory)
    )

    it.effect("D109 one that throws is a failed answer like any other", () =>
      Effect.gen(function* () {
        let calls = 0
        const validate = () => {
          if (++calls === 1) throw new Error("cannot read it")
          return []
        }
        const one = Fake.worker("one", { answers: ["first", "second"] })
        const outcome = yield* Run.start(guarded([one], [task("a", { validate })]), r1)
        assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "second"])
        const [, again] = yield* one.calls
        assert.deepStrictEqual(again?.previous[0]?.reason, "the validation threw: cannot read it")
      }).pipe(memory)
    )

    it.effect("D109 malformed, thrown at, valid: the third one, a stand-in's, is taken", () =>
      Effect.gen(function* () {
        const validate = (output: unknown): ReadonlyArray<string> => {
          if (output === "throw") throw new Error("no")
          return []
        }
        const one = Fake.worker("one", { ...capable, answers: [Fake.empty, "throw"] })
        const two = Fake.worker("two", { ...capable, answers: ["fine"] })
        const outcome = yield* Run.start(guarded([one, two], [task("a", { validate })]), r1)
        assert.deepStrictEqual(outcomes(outcome), [
          "d.one rejected-contract",
          "d.one rejected-quality",
          "d.two accepted"
        ])
        assert.strictEqual(outcome.results["a"]?.output, "fine")
      }).pipe(memory)
    )

    it.effect(
      "D108 what only a stand-in gave after refusals leaves the run degraded, and says how often it was tried",
      () =>
        Effect.gen(function* () {
          const one = Fake.worker("one", { ...capable, otherwise: Fake.empty })
          const two = Fake.worker("two", { ...capable, otherwise: Fake.empty })
          const three = Fake.worker("three", { ...capable, otherwise: "n/a" })
          const desk = guarded([one, two, three], [task("a")])
          const outcome = yield* Run.start(desk, r1)
          assert.deepStrictEqual([outcome.status, outcome.degraded, outcome.dispatches.length], ["completed", true, 5])
          const strict = yield* Run.start(
            guarded(
              [one, two, three],
              [task("a", { validate: (output) => (output === "n/a" ? ["It says nothing"] : []) })]
            ),
            { ...r1, id: "r2" }
          )
          assert.deepStrictEqual([strict.status, strict.results["a"]?.status], ["failed", "failed"])
        }).pipe(memory)
    )

    it.effect("D29 D37 count apart from passing failures and from crashes: none uses up what another has left", () =>
      Effect.gen(function* () {
        let calls = 0
        const answers = [
          Effect.fail(Failure.transient("Busy")),
          Effect.fail(Failure.transient("Busy")),
          Effect.succeed("short"),
          Effect.fail(Failure.transient("Busy")),
          Effect.die("boom"),
          Effect.fail(Failure.transient("Busy")),
          Effect.succeed("long enough by now")
        ]
        const one = worker("one", () => Effect.suspend((): Effect.Effect<string, unknown> => answers[calls++]!))
        const outcome = yield* elapse(Run.start(guarded([one], [task("a", { validate: long })]), r1), "1 minute")
        assert.deepStrictEqual(
          outcome.dispatches.map(({ attempts, outcome }) => `${attempts} ${outcome}`),
          ["3 rejected-quality", "2 crashed", "2 accepted"]
        )
        assert.strictEqual(outcome.status, "completed")
      }).pipe(memory)
    )
  })

  describe("of the whole run", () => {
    const plan = [
      task("a", { definitionOfDone: done }),
      task("b", { worker: "d.two", definitionOfDone: done, needs: ["a"] })
    ]
    const desk = (first: Result.Result<string>, second: Result.Result<string>, sameRevision = true) =>
      guarded([Fake.worker("one", { otherwise: first }), Fake.worker("two", { otherwise: second })], plan, {
        acceptance: { sameRevision }
      })

    it.effect("R-213 is complete when everything holds at one revision", () =>
      Effect.gen(function* () {
        const outcome = yield* Run.start(desk(with_(0, "abc"), with_(0, "abc")), r1)
        assert.deepStrictEqual([outcome.status, outcome.stopReason, outcome.missing], ["completed", "accepted", []])
      }).pipe(memory)
    )

    it.effect("R-213 is not complete when something was checked against an earlier revision, and names it", () =>
      Effect.gen(function* () {
        const outcome = yield* Run.start(desk(with_(0, "abc"), with_(0, "def")), r1)
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["partial", "accepted"])
        assert.deepStrictEqual(outcome.missing, [
          {
            task: "a",
            worker: "d.one",
            reason: "tests: It was checked against revision abc, not against revision def"
          }
        ])
        assert.include(outcome.note, "a.tests")
        assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
        const [merged] = yield* of("Merged")
        assert.deepInclude(merged, { group: "", outcome: "partial" })
      }).pipe(memory)
    )

    it.effect("R-213 evidence that names no revision goes back with the reason", () =>
      Effect.gen(function* () {
        const one = Fake.worker("one", { answers: [with_(0), with_(0, "abc")] })
        const tasks = [task("a", { definitionOfDone: done })]
        const outcome = yield* Run.start(guarded([one], tasks, { acceptance: { sameRevision: true } }), r1)
        assert.deepStrictEqual(outcomes(outcome), ["d.one rejected-quality", "d.one accepted"])
        const reason = "tests is unproven: npm test does not say against which revision it was run"
        const [, again] = yield* one.calls
        assert.deepStrictEqual(
          again?.previous.map((each) => each.reason),
          [reason]
        )
      }).pipe(memory)
    )

    it.effect("R-213 is not asked for unless the desk says so", () =>
      Effect.gen(function* () {
        const outcome = yield* Run.start(desk(with_(0, "abc"), with_(0, "def"), false), r1)
        assert.deepStrictEqual([outcome.status, yield* of("Merged")], ["completed", []])
      }).pipe(memory)
    )

    it.effect("R-213 looks at the result that stands, and not at what a person let go", () =>
      Effect.gen(function* () {
        const first = Result.needsReview("draft", [{ part: "x", reason: "y" }], {
          evidence: [{ requirement: "tests", command: "npm test", exitStatus: 0, revision: "def" }]
        })
        const built = desk(first, with_(0, "def"))
        yield* Run.start(built, r1)
        const outcome = yield* goOn(built, "approve")
        assert.deepStrictEqual([outcome.status, outcome.missing], ["completed", []])
      }).pipe(memory)
    )
  })
})
