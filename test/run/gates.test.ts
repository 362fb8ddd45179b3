import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { TestClock } from "effect/testing"
import { type Coordinator, Desk, Graph, Pipeline, Plan, Planner, Result, Run, type RunEvent, Swarm } from "espalier/run"
import { Fake } from "espalier/testing"

import { history, memory, task, worker } from "./desks.ts"
import { deskOf, ends, of, options, resume, rows } from "./living.ts"

const say = (review: number, decision: RunEvent.Decision, note = "so be it") =>
  Run.decide({ review: `r1/review/${review}`, decision, by: "ann", note })

const gated = (id: string, fields: Parameters<typeof task>[1] = {}) => task(id, { acceptance: "person", ...fields })

const missing = [{ part: "the end", reason: "It is not written" }]

describe("A task with acceptance by a person", () => {
  const one = () => Fake.worker("one", { answers: ["first", "second"] })

  it.effect("R-306 has its result wait, shows it, and lets it stand once a person says so", () =>
    Effect.gen(function* () {
      const built = deskOf([one()], Plan.make<string>([gated("a"), task("b", { needs: ["a"] })]))
      const first = yield* Run.start(built, options)
      assert.strictEqual(first.status, "waiting")
      assert.deepStrictEqual(ends(first), ["a open", "b open"])
      const [review] = first.reviews
      assert.deepInclude(review, {
        review: "r1/review/1",
        task: "a",
        kind: "result-acceptance",
        reason: "gate",
        allowed: ["approve", "reject", "retry"]
      })
      assert.deepInclude(review?.facts, { output: "first", worker: "d.one", objective: "Do a", dispatch: "r1/a/1" })
      yield* say(1, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual(ends(last), ["a accepted", "b accepted"])
      assert.strictEqual(last.results["a"]?.output, "first")
      assert.include(last.results["a"]?.note, "ann decided r1/review/1 (approve)")
      assert.strictEqual(last.stopReason, "accepted")
    }).pipe(memory)
  )

  it.effect("R-306 is tried anew with the note as a hint, and asked about again", () =>
    Effect.gen(function* () {
      const seen: Array<ReadonlyArray<unknown>> = []
      const counts = worker("one", (order) =>
        Effect.sync(() => {
          seen.push(order.answers)
          return `${seen.length}`
        })
      )
      const built = deskOf([counts], Plan.make<string>([gated("a")]))
      yield* Run.start(built, options)
      yield* say(1, "retry", "shorter")
      const second = yield* resume(built)
      assert.deepStrictEqual(
        second.reviews.map(({ facts, review }) => [review, facts["output"]]),
        [["r1/review/2", "2"]]
      )
      yield* say(2, "approve")
      const last = yield* resume(built)
      assert.strictEqual(last.results["a"]?.output, "2")
      assert.deepStrictEqual(seen, [[], [{ by: "ann", note: "shorter" }]])
    }).pipe(memory)
  )

  it.effect("R-306 ends as rejected, and so does the run", () =>
    Effect.gen(function* () {
      const built = deskOf([one()], Plan.make<string>([gated("a")]))
      yield* Run.start(built, options)
      yield* say(1, "reject", "no")
      const last = yield* resume(built)
      assert.deepStrictEqual(ends(last), ["a rejected"])
      assert.deepStrictEqual([last.status, last.stopReason], ["failed", "rejected-by-reviewer"])
      assert.isUndefined(last.results["a"]?.output)
    }).pipe(memory)
  )

  it.effect("R-306 holds back what lacks something, too, and lets it stand as partial", () =>
    Effect.gen(function* () {
      const half = Fake.worker<string>("one", { answers: [Result.partial("half", missing)] })
      const built = deskOf([half], Plan.make<string>([gated("a")]))
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(first.reviews[0]?.allowed, ["accept-partial", "reject", "retry"])
      assert.include(first.reviews[0]?.note, "the end (It is not written)")
      yield* say(1, "accept-partial")
      const last = yield* resume(built)
      assert.deepStrictEqual(ends(last), ["a partial"])
      assert.strictEqual(last.results["a"]?.output, "half")
    }).pipe(memory)
  )

  const inner = () => [task("x"), task("y", { needs: ["x"] })]
  const groups: ReadonlyArray<readonly [string, () => Coordinator.Coordinator<string>]> = [
    ["plan", () => Plan.make<string>(inner())],
    ["pipeline", () => Pipeline.make<string>([task("x"), task("y")])]
  ]
  it.effect.each(groups)("R-306 asks about what a %s came to, and has all of it done anew", ([, by]) =>
    Effect.gen(function* () {
      const done = yield* Ref.make(0)
      const counts = worker("one", () => Ref.updateAndGet(done, (n) => n + 1).pipe(Effect.map(String)))
      const { worker: _, ...outer } = gated("a")
      const built = deskOf([counts], Plan.make<string>([{ ...outer, by: by() }]))
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(ends(first), ["a open", "a/x accepted", "a/y accepted"])
      assert.deepInclude(first.reviews[0], { task: "a", kind: "result-acceptance", reason: "gate" })
      assert.isDefined(first.reviews[0]?.facts["output"])
      yield* say(1, "retry")
      const second = yield* resume(built)
      assert.deepStrictEqual(
        second.reviews.map(({ review }) => review),
        ["r1/review/2"]
      )
      yield* say(2, "approve")
      const last = yield* resume(built)
      assert.strictEqual(last.status, "completed")
      assert.strictEqual(yield* Ref.get(done), 4)
    }).pipe(memory)
  )

  it.effect("R-306 is asked about once for each, also where the second is the same order and not given", () =>
    Effect.gen(function* () {
      const fake = Fake.worker("one", { otherwise: "same" })
      const same = { objective: "Do it" }
      const built = deskOf([fake], Plan.make<string>([gated("a", same), gated("b", { ...same, needs: ["a"] })]))
      yield* Run.start(built, options)
      yield* say(1, "approve")
      const second = yield* resume(built)
      assert.deepStrictEqual(
        second.reviews.map(({ task }) => task),
        ["b"]
      )
      yield* say(2, "approve")
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )

  it.effect("R-306 is not kept by a group that stops before a person has let it stand", () =>
    Effect.gen(function* () {
      const fails = Fake.worker<string>("two", { answers: [Fake.fail("capability")], size: 1 })
      const built = deskOf(
        [one(), fails],
        Plan.make<string>([gated("a"), task("b", { worker: "d.two", needs: ["c"] }), task("c")], {
          containment: "fail-fast"
        })
      )
      const last = yield* Run.start(built, options)
      assert.deepStrictEqual(ends(last).toSorted(), ["a cancelled", "b failed", "c accepted"])
      assert.deepStrictEqual(last.reviews, [])
      assert.include(
        (yield* history("r1")).map(({ _tag }) => _tag),
        "ReviewWithdrawn"
      )
    }).pipe(memory)
  )

  it.effect("R-306 is asked about at each visit of a node, and the graph goes on from what was let stand", () =>
    Effect.gen(function* () {
      const graph = Graph.make({
        start: "draft",
        nodes: {
          draft: {
            worker: "d.one",
            objective: "Draft",
            acceptance: "person",
            outcomes: ["more", "done"],
            outcome: (output) => (output === "first" ? "more" : "done")
          }
        },
        edges: { draft: { more: "draft", done: "finish" } }
      })
      const built = deskOf([one()], graph)
      yield* Run.start(built, options)
      yield* say(1, "approve")
      const second = yield* resume(built)
      assert.deepStrictEqual(
        second.reviews.map(({ facts, task }) => [task, facts["output"]]),
        [["draft#2", "second"]]
      )
      yield* say(2, "approve")
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )

  it.effect("R-306 is asked about where a peer of a swarm is gated, and only there", () =>
    Effect.gen(function* () {
      const swarm = Swarm.make({
        start: "writer",
        peers: {
          writer: { worker: "d.one", objective: "Write", handOver: () => "critic" },
          critic: { worker: "d.one", objective: "Criticise", acceptance: "person", handOver: () => "done" }
        }
      })
      const built = deskOf([one()], swarm)
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(ends(first), ["writer accepted", "critic open"])
      yield* say(1, "approve")
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )

  it("R-306 belongs to the definition and the description of a desk, and is checked", () => {
    const plain = deskOf([one()], Plan.make<string>([task("a")]))
    const with_ = deskOf([one()], Plan.make<string>([gated("a")]))
    assert.notStrictEqual(Desk.definition(plain), Desk.definition(with_))
    assert.deepStrictEqual(
      Desk.describe(with_).tasks.map(({ acceptance }) => acceptance),
      ["person"]
    )
    assert.notProperty(Desk.describe(plain).tasks[0], "acceptance")
    const odd = { ...Plan.make<string>([task("a")]), tasks: [{ ...task("a"), acceptance: "nobody" as never }] }
    assert.deepStrictEqual(
      Desk.check(deskOf([one()], odd)).map(({ message, rule }) => [rule, message]),
      [["out-of-range", 'task a: acceptance must be one of "person", got "nobody"']]
    )
    assert.throws(
      () => Plan.make([{ ...task("a"), acceptance: "nobody" } as never]),
      'Plan.make: tasks[0].acceptance must be one of "person", got "nobody"'
    )
  })
})

describe("A person who says what becomes of a task whose new plan could not be made", () => {
  it.effect("R-216 is heard, and not asked again", () =>
    Effect.gen(function* () {
      const fails = Fake.worker("one", { answers: [Fake.fail("capability")] })
      const a = task("a", { onIncomplete: "escalate", replan: () => [] })
      const built = deskOf([fails], Plan.make<string>([a]))
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(
        first.reviews.map(({ kind, review }) => [kind, review]),
        [["escalation", "r1/review/1"]]
      )
      assert.strictEqual(of(yield* history("r1"), "DecisionFailed").length, 1)
      yield* say(1, "reject")
      const last = yield* resume(built)
      assert.deepStrictEqual([ends(last), last.status], [["a rejected"], "failed"])
    }).pipe(memory)
  )
})

describe("A planner with review by a person", () => {
  const plan = (...ids: ReadonlyArray<string>) =>
    ids.map((id) => ({ id, worker: "d.one", objective: `Do ${id}`, inputs: {} }))

  const planned = (make: (question: Coordinator.Question<string>) => unknown) =>
    Planner.make<string>({
      plan: (question) => Effect.sync(() => make(question)),
      fallback: "review",
      review: "person"
    })

  it.effect("R-306 shows the plan, and adds its tasks once a person approves it", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [Fake.worker("one", { otherwise: "x" })],
        planned(() => plan("a", "b"))
      )
      const first = yield* Run.start(built, options)
      assert.strictEqual(first.status, "waiting")
      assert.deepStrictEqual(ends(first), [])
      const [review] = first.reviews
      assert.deepInclude(review, { kind: "plan-approval", reason: "gate", allowed: ["approve", "reject", "retry"] })
      assert.deepNestedInclude(review?.facts, { "plan[0].id": "a", "plan[1].id": "b", group: "" })
      yield* TestClock.adjust("1 day")
      yield* say(1, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual(ends(last), ["a accepted", "b accepted"])
      assert.strictEqual(of(yield* history("r1"), "Consulted").length, 1)
    }).pipe(memory)
  )

  it.effect("R-306 makes another plan with what the person said, which is asked about anew", () =>
    Effect.gen(function* () {
      const hints: Array<unknown> = []
      const built = deskOf(
        [Fake.worker("one", { otherwise: "x" })],
        planned((question) => {
          hints.push(question.hints)
          return plan(question.hints === undefined ? "long" : "short")
        })
      )
      yield* Run.start(built, options)
      yield* say(1, "retry", "shorter")
      const second = yield* resume(built)
      assert.deepStrictEqual(ends(second), [])
      assert.deepStrictEqual(
        second.reviews.map(({ review }) => review),
        ["r1/review/2"]
      )
      yield* say(2, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual(ends(last), ["short accepted"])
      assert.deepStrictEqual(hints, [undefined, ["shorter"]])
    }).pipe(memory)
  )

  it.effect("R-306 stops the group as rejected, and nothing of the plan was ever there", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [Fake.worker("one", { otherwise: "x" })],
        planned(() => plan("a"))
      )
      yield* Run.start(built, options)
      yield* say(1, "reject", "not this year")
      const last = yield* resume(built)
      assert.deepStrictEqual([last.status, last.stopReason], ["failed", "rejected-by-reviewer"])
      assert.deepStrictEqual([ends(last), rows(last)], [[], []])
      assert.include(last.note, "ann stopped the plan: not this year")
    }).pipe(memory)
  )

  it.effect("R-306 does so inside a task, at its own path, and the others go on", () =>
    Effect.gen(function* () {
      const { worker: _, ...outer } = task("a")
      const built = deskOf(
        [Fake.worker("one", { otherwise: "x" })],
        Plan.make<string>([{ ...outer, by: planned(() => plan("p")) }, task("b")])
      )
      const first = yield* Run.start(built, options)
      assert.deepStrictEqual(ends(first), ["a open", "b accepted"])
      assert.deepInclude(first.reviews[0], { task: "a", kind: "plan-approval" })
      assert.strictEqual(first.reviews[0]?.facts["group"], "a")
      yield* say(1, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual(ends(last), ["a accepted", "b accepted", "a/p accepted"])
      assert.deepStrictEqual(rows(last).filter((row) => row.startsWith("r1/b/")).length, 1)
    }).pipe(memory)
  )

  it("R-306 belongs to the definition of a desk, and to its description", () => {
    const without = Planner.make<string>({ plan: () => Effect.succeed([]), fallback: "review" })
    const with_ = planned(() => [])
    const built = (by: Coordinator.Coordinator<string>) => deskOf([Fake.worker("one", { otherwise: "x" })], by)
    assert.notStrictEqual(Desk.definition(built(without)), Desk.definition(built(with_)))
    assert.deepInclude(Desk.describe(built(with_)).groups[0]?.facts, { review: "person" })
    assert.throws(
      () => Planner.make({ plan: () => Effect.succeed([]), fallback: "review", review: "model" as never }),
      'Planner.make: review must be one of "person", got "model"'
    )
  })
})
