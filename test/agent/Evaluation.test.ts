import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { CostModel, Evaluation, Meter, Models, ScriptedModel } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Dependency, Desk, Domain, Plan, Review, Run, Worker } from "espalier/run"

/** A worker that answers as its run is called: `bad…` fails, `model…` pays for a model. */
const worker = Worker.make("writer", {
  description: "Writes",
  input: Schema.Struct({ text: Schema.String }),
  output: Schema.String,
  handle: ({ input: { text }, run, spend }) =>
    Effect.gen(function* () {
      if (run.startsWith("bad")) return yield* Failure.capability(text)
      if (run.startsWith("model")) {
        yield* spend({}, (record) =>
          record({ what: "model", usage: { tokens: 1 }, facts: { provider: "acme", model: "Worker-1" } })
        )
      }
      return `about ${text}`
    })
})

const desk = Desk.make("essays", {
  version: "1",
  input: Schema.Struct({ text: Schema.String }),
  domains: [Domain.make("office", { workers: [worker] })],
  coordinator: Plan.make([
    {
      id: "write",
      worker: "office.writer",
      objective: "Write",
      input: (_, { text }: { text: string }) => ({ text })
    }
  ])
})

const run = (id: string, text = "elms") => Run.start(desk, { id, input: { text }, log: false })

const fixed = (value: number, name = "fixed") =>
  Evaluation.scorer(name, () => Effect.succeed({ value, why: `it is ${value}` }))

const verdictOf = (
  outcome: { readonly results: Readonly<Record<string, { readonly output?: unknown }>> } | undefined
) => outcome?.results["look"]?.output as Evaluation.Verdict

const scoredOf = (outcome: { readonly results: Readonly<Record<string, { readonly output?: unknown }>> }) =>
  outcome.results["score"]?.output as Evaluation.Scored

const evaluated = <R>(evaluation: Evaluation.Evaluation<R>, id: string) =>
  Effect.map(Evaluation.evaluate(evaluation, id, { log: false }), Option.getOrThrow)

const prices = CostModel.layer({ currency: "USD", prices: { "scripted/judge-1": { input: 1_000, output: 1_000 } } })

const memory = Effect.provide(Layer.mergeAll(Journal.layerMemory, Dependency.layer(), prices))

const judging = (steps: ReadonlyArray<ScriptedModel.Step>, options: Partial<Evaluation.JudgeOptions<never>> = {}) => {
  const script = ScriptedModel.make(steps, { model: "judge-1" })
  const judge = Evaluation.judge("helpful", {
    models: Models.make([{ provide: script.model }]),
    called: "judge-1",
    worker: "worker-1",
    rubric: "Helpful essays are good.",
    ...options
  })
  return { script, evaluation: Evaluation.make({ scorers: [judge], onLow: "mark", onNew: "mark" }) }
}

describe("Evaluation", () => {
  describe("scorers", () => {
    it.effect("R-409 a scorer sees what came of a finished run, and its score is in a journal of its own", () =>
      Effect.gen(function* () {
        const seen: Array<Evaluation.Subject> = []
        const scorer = Evaluation.scorer("long", (subject) => {
          seen.push(subject)
          return Effect.succeed({ value: 0.75, why: "long enough" })
        })
        yield* run("r1")
        const before = yield* Run.outcome("r1")
        const outcome = yield* evaluated(Evaluation.make({ scorers: [scorer] }), "r1")
        assert.strictEqual(outcome.run, "evaluation.r1")
        assert.strictEqual(outcome.status, "completed")
        assert.deepInclude(scoredOf(outcome), {
          run: "r1",
          desk: "essays",
          status: "completed",
          workers: ["office.writer"],
          scores: [{ scorer: "long", value: 0.75, why: "long enough" }],
          failures: []
        })
        assert.deepStrictEqual(seen[0]?.input, { text: "elms" })
        assert.deepStrictEqual(seen[0]?.outcome, before)
        assert.deepStrictEqual(yield* Run.outcome("r1"), before)
      }).pipe(memory)
    )

    it.effect.each<readonly [string, Evaluation.Scorer, string]>([
      ["fails", Evaluation.scorer("s", () => Effect.fail("no luck")), "no luck"],
      ["breaks off", Evaluation.scorer("s", () => Effect.die(new Error("bug"))), "bug"],
      [
        "throws",
        Evaluation.scorer("s", () => {
          throw new Error("thrown")
        }),
        "thrown"
      ],
      ["is above 1", fixed(7, "s"), "not between 0 and 1"],
      ["is not a number", fixed(Number.NaN, "s"), "not between 0 and 1"]
    ])("a scorer that %s gives no score, and the others go on", ([, scorer, why]) =>
      Effect.gen(function* () {
        yield* run("r1")
        const outcome = yield* evaluated(Evaluation.make({ scorers: [scorer, fixed(0.9)] }), "r1")
        const [none, other] = scoredOf(outcome).scores
        assert.isNull(none?.value)
        assert.include(none?.why ?? "", why)
        assert.strictEqual(other?.value, 0.9)
        assert.deepStrictEqual(verdictOf(outcome).low, [])
      }).pipe(memory)
    )

    it.effect("a scorer that takes too long gives no score", () =>
      Effect.gen(function* () {
        yield* run("r1")
        const begun = yield* Deferred.make<void>()
        const slow = Evaluation.scorer("slow", () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
        const evaluation = Evaluation.make({ scorers: [slow, fixed(1)], timeout: "1 minute" })
        const fiber = yield* Effect.forkChild(evaluated(evaluation, "r1"))
        yield* Deferred.await(begun)
        yield* TestClock.adjust("1 minute")
        const { scores } = scoredOf(yield* Fiber.join(fiber))
        assert.deepStrictEqual(
          scores.map(({ value, why }) => [value, why]),
          [
            [null, "no score: the scorer took too long"],
            [1, "it is 1"]
          ]
        )
      }).pipe(memory)
    )

    it.effect("a run that is not over is not scored", () =>
      Effect.gen(function* () {
        const asking = Worker.make("asker", {
          description: "Asks",
          input: Schema.Struct({}),
          output: Schema.String,
          handle: () => Effect.as(Review.ask({ name: "q", question: "Which?" }), "x")
        })
        const waiting = Desk.make("waiting", {
          version: "1",
          input: Schema.Struct({}),
          domains: [Domain.make("d", { workers: [asking] })],
          coordinator: Plan.make([{ id: "t", worker: "d.asker", objective: "Ask" }])
        })
        yield* Run.start(waiting, { id: "w1", input: {}, log: false })
        const evaluation = Evaluation.make({ scorers: [fixed(1)] })
        assert.deepStrictEqual(yield* Evaluation.sweep(evaluation), [])
        const error = yield* Effect.flip(Evaluation.evaluate(evaluation, "w1"))
        assert.include(error.message, "the run w1 is waiting: only a run that is over can be evaluated")
        assert.strictEqual((yield* Effect.flip(Evaluation.evaluate(evaluation, "nobody")))._tag, "RunNotFound")
        assert.deepStrictEqual(yield* Evaluation.trend(), [])
      }).pipe(memory)
    )
  })

  describe("judge", () => {
    it.effect("R-409 a model judges by the rubric what it is shown as data, and says what that took", () => {
      const { evaluation, script } = judging([
        ScriptedModel.object({ score: 0.25, why: "dull" }, { usage: { inputTokens: 90, outputTokens: 10 } })
      ])
      return Effect.gen(function* () {
        yield* run("r1", "elms")
        const outcome = yield* evaluated(evaluation, "r1")
        assert.deepStrictEqual(scoredOf(outcome).scores, [
          { scorer: "helpful", value: 0.25, why: "dull", model: "judge-1" }
        ])
        assert.strictEqual(outcome.usage.tokens, 100)
        const [request] = yield* script.requests
        assert.include(request?.said ?? "", "Helpful essays are good.")
        assert.include(request?.last ?? "", '"output":"about elms"')
        assert.notInclude(String(request?.prompt.content[0]?.content), "elms")
        yield* script.complete
      }).pipe(memory)
    })

    it.effect("a judge that answers badly once is asked once more", () => {
      const { evaluation, script } = judging([
        ScriptedModel.object({ score: 9, why: "!" }),
        ScriptedModel.object({ score: 0.5, why: "fine" })
      ])
      return Effect.gen(function* () {
        yield* run("r1")
        assert.strictEqual(scoredOf(yield* evaluated(evaluation, "r1")).scores[0]?.value, 0.5)
        yield* script.complete
      }).pipe(memory)
    })

    it.effect.each<readonly [string, ReadonlyArray<ScriptedModel.Step>]>([
      ["text instead of a verdict", [ScriptedModel.text("good!"), ScriptedModel.text("0.9")]],
      [
        "a score out of range",
        [ScriptedModel.object({ score: 2, why: "" }), ScriptedModel.object({ score: -1, why: "" })]
      ],
      [
        "a score as a text",
        [ScriptedModel.object({ score: "1", why: "" }), ScriptedModel.object({ score: null, why: "" })]
      ],
      ["what no model answers", [ScriptedModel.fault("malformed"), ScriptedModel.fault("malformed")]]
    ])("twice %s is no score, never one", ([, steps]) => {
      const { evaluation, script } = judging(steps)
      return Effect.gen(function* () {
        yield* run("r1")
        const { scores } = scoredOf(yield* evaluated(evaluation, "r1"))
        assert.isNull(scores[0]?.value)
        assert.include(scores[0]?.why ?? "", "no score: the judge answered badly twice")
        const [trend] = yield* Evaluation.trend()
        assert.deepInclude(trend, { count: 0, unscored: 1, mean: null, p10: null })
        yield* script.complete
      }).pipe(memory)
    })

    it.effect("a judge is told what was wrong with its first answer, and what to answer", () => {
      const { evaluation, script } = judging([
        ScriptedModel.object({ score: 2, why: "" }),
        ScriptedModel.object({ score: 0.5, why: "It is fair" })
      ])
      return Effect.gen(function* () {
        yield* run("r1")
        assert.strictEqual(scoredOf(yield* evaluated(evaluation, "r1")).scores[0]?.value, 0.5)
        const [first, second] = yield* script.requests
        assert.notInclude(first?.said, "could not be used")
        assert.match(
          second?.last ?? "",
          /^Your last answer could not be used: .*schema.* score, a number from 0 .* why,/
        )
        assert.deepStrictEqual(second?.prompt.content.slice(0, -1), first?.prompt.content)
      }).pipe(memory)
    })

    it.effect(
      "R-406 R-409 what a judge answers badly is paid for too, call by call, in the run of the evaluation",
      () => {
        const usage = { usage: { inputTokens: 90, outputTokens: 10 } }
        const { evaluation } = judging([
          ScriptedModel.text("good!", usage),
          ScriptedModel.object({ score: 2, why: "" }, usage)
        ])
        return Effect.gen(function* () {
          yield* run("r1")
          const outcome = yield* evaluated(evaluation, "r1")
          assert.isNull(scoredOf(outcome).scores[0]?.value)
          const { calls, workers } = yield* Meter.ofRun(outcome.run)
          assert.deepStrictEqual(
            calls.map(({ call }) => [call?.model, call?.end]),
            [
              ["judge-1", "malformed"],
              ["judge-1", "malformed"]
            ]
          )
          assert.deepStrictEqual(
            workers.map(({ name, unread }) => [name, unread]),
            [["evaluation.scorer", 0]]
          )
          assert.strictEqual(outcome.usage.tokens, workers[0]?.tokens.total)
          assert.isAtLeast(outcome.usage.tokens ?? 0, 200)
          assert.deepStrictEqual(workers[0]?.costs, [{ currency: "USD", cost: outcome.usage.cost ?? 0 }])
        }).pipe(memory)
      }
    )

    it.effect.each(["refusal", "quota", "context-overflow"] as const)(
      "a judge that cannot do it (%s) is asked once, and the others go on",
      (fault) => {
        const script = ScriptedModel.make([ScriptedModel.fault(fault)], { model: "judge-1" })
        const judge = Evaluation.judge("helpful", {
          models: Models.make([{ provide: script.model }]),
          called: "judge-1",
          worker: "worker-1",
          rubric: ""
        })
        return Effect.gen(function* () {
          yield* run("r1")
          const { scores } = scoredOf(yield* evaluated(Evaluation.make({ scorers: [judge, fixed(1)] }), "r1"))
          assert.isNull(scores[0]?.value)
          assert.include(scores[0]?.why ?? "", "no score: the judge cannot do it")
          assert.strictEqual(scores[1]?.value, 1)
          yield* script.complete
        }).pipe(memory)
      }
    )

    it.effect(
      "R-409 a judge whose provider is down is tried again as the ladder says, and what another said is kept",
      () => {
        const first = ScriptedModel.make([ScriptedModel.object({ score: 0.5, why: "so so" })], { model: "first" })
        const second = ScriptedModel.make(
          [
            ScriptedModel.fault("server"),
            ScriptedModel.fault("rate-limit", { retryAfter: "5 seconds" }),
            ScriptedModel.object({ score: 1, why: "fine" })
          ],
          { model: "second", provider: "other" }
        )
        const judge = (name: string, { model }: ScriptedModel.ScriptedModel) =>
          Evaluation.judge(name, { models: Models.make([{ provide: model }]), called: name, worker: "w", rubric: "" })
        return Effect.gen(function* () {
          yield* run("r1")
          const evaluation = Evaluation.make({
            scorers: [judge("first", first), judge("second", second)],
            onLow: "mark"
          })
          const fiber = yield* Effect.forkChild(evaluated(evaluation, "r1"), { startImmediately: true })
          yield* TestClock.adjust("5 minutes")
          const outcome = yield* Fiber.join(fiber)
          assert.deepStrictEqual(
            scoredOf(outcome).scores.map(({ value }) => value),
            [0.5, 1]
          )
          const events = yield* Stream.runCollect(Run.events(outcome.run))
          assert.deepStrictEqual(
            events.flatMap((event) => (event._tag === "AttemptFailed" ? [event.kind] : [])),
            ["transient", "transient"]
          )
          yield* first.complete
          yield* second.complete
        }).pipe(memory)
      }
    )

    it.effect("R-409 a judge whose provider stays down is no score: the evaluation ends without one", () => {
      const { evaluation } = judging([])
      return Effect.gen(function* () {
        yield* run("r1")
        const down = Effect.fail(Failure.transient("down", { retryAfter: "10 days" }))
        yield* Effect.ignore(Dependency.call("scripted", down))
        const fiber = yield* Effect.forkChild(evaluated(evaluation, "r1"), { startImmediately: true })
        yield* TestClock.adjust("1 hour")
        const outcome = yield* Fiber.join(fiber)
        assert.notStrictEqual(outcome.status, "completed")
        assert.deepStrictEqual(
          outcome.missing.map(({ task }) => task),
          ["score", "look"]
        )
        assert.include(outcome.missing[0]?.reason ?? "", "scripted")
        assert.deepStrictEqual(yield* Evaluation.trend(), [])
        assert.deepStrictEqual((yield* Meter.ofRun(outcome.run)).calls, [])
      }).pipe(memory)
    })

    it.effect("of several judges the one that has not done the work is asked, and the score says who", () => {
      const own = ScriptedModel.make([], { model: "worker-1" })
      const other = ScriptedModel.make([ScriptedModel.object({ score: 1, why: "fine" })], { model: "judge-1" })
      const judge = Evaluation.judge("helpful", {
        models: Models.make([{ provide: own.model }, { provide: other.model }]),
        called: ["worker-1", "judge-1"],
        worker: "another",
        rubric: ""
      })
      return Effect.gen(function* () {
        yield* run("model1")
        const { scores } = scoredOf(yield* evaluated(Evaluation.make({ scorers: [judge] }), "model1"))
        assert.deepStrictEqual(scores, [{ scorer: "helpful", value: 1, why: "fine", model: "judge-1" }])
        assert.deepStrictEqual(yield* own.requests, [])
      }).pipe(memory)
    })

    it.effect(
      "when the first judge cannot be reached, the next one of the chain judges, and the journal says so",
      () => {
        const script = ScriptedModel.make([ScriptedModel.fault("overloaded")], { model: "judge-1" })
        const spare = ScriptedModel.make([ScriptedModel.object({ score: 1, why: "fine" })], { model: "judge-2" })
        const judge = Evaluation.judge("helpful", {
          models: Models.make([{ provide: script.model }, { provide: spare.model }]),
          called: ["judge-1", "judge-2"],
          worker: "worker-1",
          rubric: ""
        })
        return Effect.gen(function* () {
          yield* run("r1")
          const outcome = yield* evaluated(Evaluation.make({ scorers: [judge] }), "r1")
          assert.strictEqual(scoredOf(outcome).scores[0]?.model, "judge-2")
          const events = yield* Stream.runCollect(Run.events(outcome.run))
          assert.isTrue(events.some((event) => event._tag === "Noticed" && event.what === "model-swap"))
        }).pipe(memory)
      }
    )

    it("the model of the work cannot be its judge", () => {
      for (const worker of ["judge-1", ["other", " JUDGE-1"]]) {
        assert.throws(() => judging([], { worker }), RangeError, "options.called must be another model")
      }
      const { model } = ScriptedModel.make([])
      const models = Models.make([{ provide: model }, { provide: model, name: "worker-1" }])
      assert.throws(() => judging([], { models }), RangeError, "options.models must be another model")
      assert.throws(() => judging([], { called: ["judge-1", "worker-1"] }), RangeError, "options.called must be")
    })

    it.effect("a run that the judge's model worked on, as the journal says, gets no score, and it is not asked", () => {
      const { evaluation, script } = judging([], { called: "worker-1", worker: "another" })
      return Effect.gen(function* () {
        yield* run("model1")
        const { scores } = scoredOf(yield* evaluated(evaluation, "model1"))
        assert.deepStrictEqual(scores[0]?.why, "no score: worker-1 would judge its own work")
        assert.isNull(scores[0]?.value)
        assert.deepStrictEqual(yield* script.requests, [])
      }).pipe(memory)
    })

    it.effect("a judge whose layer turns out to be the model of the work is not asked", () => {
      const { evaluation, script } = judging([], { called: "judge-2", worker: "judge-1" })
      return Effect.gen(function* () {
        yield* run("r1")
        const { scores } = scoredOf(yield* evaluated(evaluation, "r1"))
        assert.deepStrictEqual(scores[0]?.why, "no score: judge-1 would judge its own work")
        assert.deepStrictEqual(yield* script.requests, [])
      }).pipe(memory)
    })
  })

  describe("low scores and new failures", () => {
    it.effect("R-409 a low score asks people, once, and the answer is in the verdict", () =>
      Effect.gen(function* () {
        let asked = 0
        const scorer = Evaluation.scorer("tone", () =>
          Effect.sync(() => ({ value: 0.1, why: `rude, look ${(asked += 1)}` }))
        )
        const evaluation = Evaluation.make({ scorers: [scorer] })
        yield* run("r1")
        const waiting = yield* evaluated(evaluation, "r1")
        assert.strictEqual(waiting.status, "waiting")
        const [item] = (yield* Review.queue({})).items
        const review = item?.review ?? ""
        assert.include(waiting.reviews[0]?.note ?? "", "The run r1 of essays scored low: tone 0.1")
        assert.strictEqual(waiting.reviews[0]?.facts["rationale"], "tone: rude, look 1")
        yield* Run.decide({ review, decision: "answer", answer: "problem", by: "ann" })
        const done = yield* evaluated(evaluation, "r1")
        assert.strictEqual(done.status, "completed")
        assert.deepStrictEqual(verdictOf(done), {
          run: "r1",
          low: ["tone"],
          fresh: [],
          marked: true,
          asked: true,
          said: "problem",
          by: "ann"
        })
        assert.strictEqual(asked, 1)
      }).pipe(memory)
    )

    it.effect("or is only marked, and a score at the threshold is not low", () =>
      Effect.gen(function* () {
        yield* run("r1")
        const evaluation = Evaluation.make({ scorers: [fixed(0.6, "a"), fixed(0.7, "b")], low: 0.7, onLow: "mark" })
        const outcome = yield* evaluated(evaluation, "r1")
        assert.strictEqual(outcome.status, "completed")
        assert.deepStrictEqual(verdictOf(outcome), { run: "r1", low: ["a"], fresh: [], marked: true, asked: false })
      }).pipe(memory)
    )

    it.effect(
      "R-409 a failure of a new kind or shape asks people; the same with other numbers and names does not",
      () =>
        Effect.gen(function* () {
          const evaluation = Evaluation.make({ scorers: [fixed(1)] })
          const freshOf = Effect.fnUntraced(function* (id: string, text: string) {
            yield* run(id, text)
            const outcome = yield* evaluated(evaluation, id)
            return [outcome.status, ...scoredOf(outcome).failures.map(({ fresh, shape }) => [shape, fresh])]
          })
          assert.deepStrictEqual(yield* freshOf("bad1", 'page 12 of "a.pdf" is empty'), [
            "waiting",
            ["page # of <quoted> is empty", true]
          ])
          assert.deepStrictEqual(yield* freshOf("bad2", 'page 7 of "b.pdf" is empty'), [
            "completed",
            ["page # of <quoted> is empty", false]
          ])
          assert.deepStrictEqual(yield* freshOf("bad3", "no such file /tmp/x1/y"), [
            "waiting",
            ["no such file <path>", true]
          ])
        }).pipe(memory)
    )

    it.effect("new failures are only marked where that is asked for", () =>
      Effect.gen(function* () {
        yield* run("bad1", "odd")
        const outcome = yield* evaluated(Evaluation.make({ scorers: [fixed(1)], onNew: "mark" }), "bad1")
        assert.deepStrictEqual(verdictOf(outcome), {
          run: "bad1",
          low: [],
          fresh: ["capability: odd"],
          marked: true,
          asked: false
        })
      }).pipe(memory)
    )
  })

  describe("sampling", () => {
    it("R-409 takes about the share, and the same runs each time; more of them with a larger share", () => {
      const ids = Array.from({ length: 2_000 }, (_, index) => `run-${index}`)
      const of = (share: number) => ids.filter((id) => Evaluation.isSampled(id, share))
      assert.deepStrictEqual(of(0), [])
      assert.strictEqual(of(1).length, 2_000)
      assert.closeTo(of(0.2).length, 400, 60)
      assert.deepStrictEqual(of(0.2), of(0.2))
      const larger = new Set(of(0.5))
      assert.isTrue(of(0.2).every((id) => larger.has(id)))
    })

    it.effect("a sweep evaluates the finished runs among the share, each once, and no evaluation", () =>
      Effect.gen(function* () {
        for (let index = 0; index < 8; index++) yield* run(`r${index}`)
        const evaluation = Evaluation.make({ scorers: [fixed(1)], share: 0.5 })
        const expected = Array.from({ length: 8 }, (_, index) => `r${index}`).filter((id) =>
          Evaluation.isSampled(id, 0.5)
        )
        assert.isAbove(expected.length, 0)
        assert.isBelow(expected.length, 8)
        const swept = yield* Evaluation.sweep(evaluation, { log: false })
        assert.sameMembers(
          swept.map((outcome) => outcome.run),
          expected.map((id) => `evaluation.${id}`)
        )
        assert.deepStrictEqual(yield* Evaluation.sweep(evaluation, { log: false }), [])
        const other = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"].find((id) => !expected.includes(id)) ?? ""
        assert.isTrue(Option.isNone(yield* Evaluation.evaluate(evaluation, other)))
      }).pipe(memory)
    )

    it.effect("a sweep goes on with an evaluation that was cut off, and leaves alone one that waits for people", () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const once = Evaluation.scorer("once", () =>
          Effect.flatMap(Deferred.isDone(begun), (again) =>
            again
              ? Effect.succeed({ value: 0, why: "poor" })
              : Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
          )
        )
        const evaluation = Evaluation.make({ scorers: [once] })
        yield* run("r1")
        const fiber = yield* Effect.forkChild(Evaluation.sweep(evaluation, { log: false }))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        const statuses = Effect.map(Evaluation.sweep(evaluation, { log: false }), (swept) =>
          swept.map(({ status }) => status)
        )
        assert.deepStrictEqual(yield* statuses, ["waiting"])
        assert.deepStrictEqual(yield* statuses, [])
      }).pipe(memory)
    )

    it.effect("a sweep passes over what cannot be gone on with, and evaluates the others", () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const cut = Evaluation.scorer("cut", () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
        for (const id of ["r1", "r2", "r3"]) yield* run(id)
        const fiber = yield* Effect.forkChild(
          Evaluation.evaluate(Evaluation.make({ scorers: [cut] }), "r2", { log: false })
        )
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        // Of r2 there is an evaluation of another version; r3 is not what it was.
        const journal = yield* Journal.Journal
        const read: (typeof journal)["read"] = (id, options) =>
          Stream.map(journal.read(id, options), (record) => (id === "r3" ? { ...record, data: {} } : record))
        const swept = yield* Evaluation.sweep(Evaluation.make({ scorers: [fixed(1)], version: "2" }), {
          log: false
        }).pipe(Effect.provideService(Journal.Journal, { ...journal, read }))
        assert.deepStrictEqual(
          swept.map((outcome) => outcome.run),
          ["evaluation.r1"]
        )
      }).pipe(memory)
    )

    it("an id that would be too long is a digest", () => {
      const id = Evaluation.idOf({ name: "evaluation" }, "r".repeat(95))
      assert.isAtMost(id.length, 100)
      assert.isTrue(id.startsWith("evaluation."))
    })
  })

  describe("trend", () => {
    it.effect("R-409 has mean, tenth and count by desk and scorer, and the change against a baseline", () =>
      Effect.gen(function* () {
        const value = Evaluation.scorer("byId", ({ run }) =>
          run === "r11" ? Effect.fail("none") : Effect.succeed({ value: Number(run.slice(1)) / 20, why: "" })
        )
        const evaluation = Evaluation.make({ scorers: [value, fixed(1)], onLow: "mark" })
        for (let index = 1; index <= 10; index++) yield* run(`r${index}`)
        yield* TestClock.adjust("1 day")
        yield* run("r11")
        yield* run("r20")
        yield* Evaluation.sweep(evaluation, { log: false })
        const day = 86_400_000
        const [byId, fixedRow] = yield* Evaluation.trend({ until: day - 1 })
        assert.deepInclude(byId, { desk: "essays", scorer: "byId", count: 10, unscored: 0, p10: 0.05 })
        assert.closeTo(byId?.mean ?? 0, 0.275, 1e-9)
        assert.deepInclude(fixedRow, { scorer: "fixed", mean: 1, p10: 1, count: 10 })
        assert.isFalse("baseline" in (byId ?? {}))
        const [now] = yield* Evaluation.trend({ since: day, baseline: { until: day - 1 }, scorer: "byId" })
        assert.deepInclude(now, { count: 1, unscored: 1, mean: 1 })
        assert.strictEqual(now?.baseline?.count, 10)
        assert.closeTo(now?.change ?? 0, 0.725, 1e-9)
        const [later] = yield* Evaluation.trend({ since: 2 * day, baseline: {}, scorer: "byId" })
        assert.deepInclude(later, { count: 0, mean: null, change: null })
      }).pipe(memory)
    )

    it.effect("R-409 by worker, a score counts for all who took part; scores are rows for metrics", () =>
      Effect.gen(function* () {
        yield* run("r1")
        yield* Evaluation.sweep(Evaluation.make({ scorers: [fixed(0.5)] }), { log: false })
        assert.deepStrictEqual(
          (yield* Evaluation.trend({ by: "worker" })).map(({ mean, worker }) => [worker, mean]),
          [["office.writer", 0.5]]
        )
        assert.deepStrictEqual(yield* Evaluation.trend({ worker: "office.nobody" }), [])
        assert.deepStrictEqual(yield* Evaluation.trend({ desk: "other" }), [])
        assert.deepStrictEqual(yield* Evaluation.trend({ evaluation: "other" }), [])
        assert.deepStrictEqual(yield* Stream.runCollect(Evaluation.scores()), [
          { run: "r1", desk: "essays", workers: ["office.writer"], scorer: "fixed", value: 0.5, at: 0 }
        ])
      }).pipe(memory)
    )
  })

  describe("refusals", () => {
    it.each<readonly [string, () => unknown, string]>([
      ["no scorer", () => Evaluation.make({ scorers: [] }), "options.scorers"],
      ["something that is no scorer", () => Evaluation.make({ scorers: [{} as never] }), "options.scorers[0]"],
      ["two scorers of a name", () => Evaluation.make({ scorers: [fixed(1), fixed(0)] }), "must not be named twice"],
      ["a share above 1", () => Evaluation.make({ scorers: [fixed(1)], share: 2 }), "options.share"],
      ["a threshold below 0", () => Evaluation.make({ scorers: [fixed(1)], low: -1 }), "options.low"],
      ["an unknown way", () => Evaluation.make({ scorers: [fixed(1)], onLow: "ask" as never }), "options.onLow"],
      ["a name that is none", () => Evaluation.scorer("a b", () => Effect.never), "name"],
      ["a judge without models", () => judging([], { models: {} as never }), "options.models"],
      ["a judge without names", () => judging([], { called: [] }), "options.called"],
      ["a judge that may say nothing", () => judging([], { maxOutput: 0 }), "options.maxOutput"],
      ["a judge without a rubric", () => judging([], { rubric: 1 as never }), "options.rubric"]
    ])("%s is a RangeError that names it", (_, make, named) => {
      assert.throws(make, RangeError, named)
    })
  })
})
