import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Pipeline, Plan } from "espalier/run"

import { ended, part, play, view } from "./coordinators.ts"

const stage = (id: string, fields: Partial<Plan.Task> = {}): Plan.Task => ({
  id,
  worker: "d.one",
  objective: `Do ${id}`,
  ...fields
})

describe("Pipeline", () => {
  it("R-205 gives each stage the one before it as a need, beside its own", () => {
    const pipeline = Pipeline.make([stage("a"), stage("b"), stage("c", { needs: ["a"] }), stage("d", { needs: ["c"] })])
    assert.deepStrictEqual(
      pipeline.initial.map(({ id, needs }) => [id, needs]),
      [
        ["a", []],
        ["b", ["a"]],
        ["c", ["b", "a"]],
        ["d", ["c"]]
      ]
    )
    assert.deepStrictEqual(
      pipeline.tasks.map(({ needs }) => needs ?? []),
      pipeline.initial.map(({ needs }) => needs)
    )
    assert.isFalse(pipeline.adds)
    assert.strictEqual(pipeline.kind, "pipeline")
  })

  it.effect("R-205 is done when no stage is open, and adds nothing", () =>
    Effect.gen(function* () {
      const played = yield* play(() => Pipeline.make([stage("a"), stage("b")]))
      assert.strictEqual(ended(played), "Done")
      assert.strictEqual(played.moves.length, 1)
    })
  )

  it("R-205 D23 has the output of its last stage as its own, and says when there is none", () => {
    const pipeline = Pipeline.make([stage("a"), stage("b")])
    assert.deepStrictEqual(
      pipeline.merge?.([part("a", 1), part("b", { text: "two" })]),
      Result.succeed({ text: "two" })
    )
    assert.deepStrictEqual(
      pipeline.merge?.([part("a", 1), part("b")]),
      Result.fail("The last stage, b, gave no result")
    )
    assert.deepStrictEqual(Pipeline.make([]).merge?.([]), Result.fail("The pipeline has no stages"))
    const own = Pipeline.make([stage("a")], { merge: (parts) => Result.succeed(parts.length) })
    assert.deepStrictEqual(own.merge?.([part("a", 1)]), Result.succeed(1))
  })

  it("R-205 D24 one pipeline is a part of two others, and of none", () => {
    const inner = Pipeline.make([stage("a"), stage("b")])
    const before = JSON.stringify(inner.initial)
    const one = Pipeline.make([stage("first"), { id: "inner", by: inner, objective: "Inner" }])
    const two = Plan.make([{ id: "other", by: inner, objective: "Inner" }])
    assert.strictEqual(one.initial[1]?.group, "pipeline")
    assert.strictEqual(two.initial[0]?.group, "pipeline")
    assert.strictEqual(JSON.stringify(inner.initial), before)
    assert.strictEqual(inner.next(view())._tag, "Done")
  })

  it("R-205 R-218 names stages of the same name, and a stage that needs a later one", () => {
    const found = (stages: ReadonlyArray<Plan.Task>) =>
      Pipeline.make(stages)
        .problems?.()
        .map(({ message, rule }) => `${rule}: ${message}`)
    assert.deepStrictEqual(found([stage("a"), stage("b", { needs: ["a"] })]), [])
    assert.deepStrictEqual(found([]), ["no-task: the pipeline has no stages"])
    assert.deepStrictEqual(found([stage("a"), stage("a")]), ["duplicate-task: two stages are called a"])
    assert.deepStrictEqual(found([stage("a", { needs: ["b"] }), stage("b", { needs: ["b"] })]), [
      "cycle: the stage a needs b, which does not come before it",
      "cycle: the stage b needs b, which does not come before it"
    ])
  })

  it("R-205 refuses a concurrency or a quorum that is out of range", () => {
    assert.throws(() => Pipeline.make([], { concurrency: 0 }), "Pipeline.make: concurrency must be a whole number >= 1")
    assert.throws(() => Pipeline.make([], { containment: { quorum: 0.5 } }), RangeError)
  })
})
