import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { SemConv } from "espalier/observe"
import type { RunEvent } from "espalier/run"

import { OpenSpans } from "../../../src/observe/internal/openSpans.ts"
import type { Op } from "../../../src/observe/internal/spanOps.ts"

const made = (most = 100) => new OpenSpans(SemConv.names().attributes, most)

const open = (spans: OpenSpans, id: string, parent: string) =>
  spans.open({ _tag: "Open", id, parent, name: id, kind: "internal", attributes: {}, links: [] })

/** A domain, an order and a try of it below a run, and another order beside them. */
const tree = (most?: number) => {
  const spans = made(most)
  const ops = [
    ...open(spans, "workflow", "segment"),
    ...open(spans, "domain d", "workflow"),
    ...open(spans, "dispatch 1", "domain d"),
    ...open(spans, "attempt 1", "dispatch 1"),
    ...open(spans, "dispatch 2", "domain d")
  ]
  return { spans, ops }
}

const closed = (ops: ReadonlyArray<Op>) =>
  ops.map((op) =>
    op._tag === "Close" ? `${op.id} ${String(op.attributes[SemConv.espalier.outcome])}` : `${op._tag} ${op.id}`
  )

/** A call of a model of which it is not known what it has used. */
const spent: RunEvent.Of<"Spent"> = {
  _tag: "Spent",
  at: 1,
  task: "a",
  dispatch: "1",
  worker: "d.one",
  what: "model",
  usage: {},
  note: ""
}

const Step = Schema.Struct({
  opens: Schema.Boolean,
  id: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 })),
  below: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 12 }))
})

describe("OpenSpans", () => {
  it("R-501 P2 closes what is open below, the inside first, and nothing beside", () => {
    const { spans } = tree()
    assert.deepStrictEqual(closed(spans.close("dispatch 1", { outcome: "failed", kind: "defect" })), [
      "attempt 1 failed",
      "dispatch 1 failed"
    ])
    assert.deepStrictEqual(
      ["attempt 1", "dispatch 1", "dispatch 2", "domain d"].map((id) => spans.has(id)),
      [false, false, true, true]
    )
    assert.deepStrictEqual(closed(spans.close("dispatch 1", { outcome: "accepted" })), [])
  })

  it("R-501 what is done well has put down what is under way in it, and its supervisors have done well", () => {
    const { spans } = tree()
    assert.deepStrictEqual(closed(spans.close("workflow", { outcome: "accepted" })), [
      "attempt 1 suspended",
      "dispatch 1 suspended",
      "dispatch 2 suspended",
      "domain d ok",
      "workflow ok"
    ])
  })

  it("R-501 what is beyond the limit is no span: what is below it is below the nearest that is one", () => {
    const { ops, spans } = tree(2)
    assert.deepStrictEqual(closed(ops), ["Open workflow", "Open domain d"])
    assert.deepStrictEqual(
      [spans.dropped, spans.nearest("attempt 1"), spans.nearest("domain d")],
      [3, "domain d", "domain d"]
    )
    assert.deepStrictEqual(spans.tell("attempt 1", {}), [])
    assert.deepStrictEqual(closed(spans.tell("domain d", {})), ["Tell domain d"])
    assert.deepStrictEqual(closed(spans.close("workflow", { outcome: "failed", kind: "defect" })), [
      "domain d failed",
      "workflow failed"
    ])
  })

  it("R-501 the end of a span says what was used in its time, and of what it is below as well", () => {
    const { spans } = tree()
    assert.deepStrictEqual(spans.around("attempt 1"), ["attempt 1", "dispatch 1", "domain d", "workflow"])
    assert.deepStrictEqual(spans.around("segment"), [])
    spans.spent(spent, spans.around("dispatch 1"))
    const said = new Map(
      spans
        .close("workflow", { outcome: "accepted" }, { own: 1 })
        .flatMap((op) => (op._tag === "Close" ? [[op.id, op.attributes] as const] : []))
    )
    const unknown = (id: string) => said.get(id)?.[SemConv.espalier.usageUnknownCalls]
    assert.deepStrictEqual(["attempt 1", "dispatch 1", "dispatch 2", "domain d", "workflow"].map(unknown), [
      undefined,
      1,
      undefined,
      1,
      1
    ])
    assert.strictEqual(said.get("workflow")?.["own"], 1)
  })

  it.prop(
    "R-501 P1 P2 whatever is opened is closed once, after what is below it, and there are no more than may be",
    [Schema.Array(Step), Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 12 }))],
    ([steps, most]) => {
      const spans = made(most)
      const below = new Map<string, string>()
      let opened = 0
      const done = (ops: ReadonlyArray<Op>) => {
        for (const op of ops) {
          if (op._tag === "Open") {
            opened += 1
            assert.isTrue(op.parent === "segment" || below.has(op.parent ?? ""), op.id)
            below.set(op.id, op.parent ?? "")
          } else {
            assert.isFalse([...below.values()].includes(op.id), op.id)
            assert.isTrue(below.delete(op.id), op.id)
          }
        }
      }
      done(open(spans, "0", "segment"))
      let tried = 1
      for (const step of steps) {
        const [id, parent] = [String(step.id), String(step.below)]
        if (!step.opens) done(spans.close(id, { outcome: "accepted" }))
        else if (!spans.has(id) && spans.has(parent)) {
          tried += 1
          done(open(spans, id, parent))
        }
      }
      assert.strictEqual(opened, Math.min(tried, most))
      assert.strictEqual(spans.dropped, tried - opened)
      done(spans.close("0", { outcome: "suspended" }))
      assert.strictEqual(below.size, 0)
    }
  )

  it("R-501 what is opened again is below what it was opened below at last", () => {
    const { spans } = tree()
    open(spans, "attempt 1", "dispatch 2")
    assert.deepStrictEqual(closed(spans.close("dispatch 1", { outcome: "accepted" })), ["dispatch 1 ok"])
    assert.deepStrictEqual(closed(spans.close("dispatch 2", { outcome: "accepted" })), [
      "attempt 1 suspended",
      "dispatch 2 ok"
    ])
  })
})
