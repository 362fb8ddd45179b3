import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Schema } from "effect"
import { Repetition, Swarm } from "espalier/run"

import { type Came, ended, ids, part, play, seen, view } from "./coordinators.ts"

const pair = (options: { readonly steps?: number; readonly repetition?: Repetition.Policy } = {}) =>
  Swarm.make({
    start: "writer",
    peers: {
      writer: { worker: "docs.writer", objective: "Write", handOver: () => "critic" },
      critic: {
        worker: "docs.critic",
        objective: "Criticise",
        handOver: (output: Schema.Json) => (output === "fine" ? "done" : "writer")
      }
    },
    ...options
  })

/** Both do something new each time, and the critic is content after so many rounds. */
const rounds =
  (times: number) =>
  (name: string, before: number): Came => ({
    label: name === "writer" ? "critic" : before + 1 < times ? "writer" : "done",
    worker: `docs.${name}`,
    order: `${name}-in-${before}`,
    digest: `${name}-out-${before}`
  })

const labels = (found: ReadonlyArray<{ readonly rule: string; readonly message: string }> | undefined) =>
  found?.map(({ message, rule }) => `${rule}: ${message}`)

describe("Swarm", () => {
  it.effect("R-205 D23 hands the work over until a peer is done, and has one result", () =>
    Effect.gen(function* () {
      const played = yield* play(pair, { came: rounds(2) })
      assert.deepStrictEqual(ids(played), ["writer", "critic", "writer#2", "critic#2"])
      assert.deepStrictEqual(played.end, { _tag: "Done", result: "critic#2", note: "critic#2 is done" })
      assert.deepStrictEqual(
        played.planned.map(({ needs }) => needs),
        [[], ["writer"], ["writer", "critic"], ["writer#2", "critic"]]
      )
      assert.isTrue(played.planned.every(({ acceptMissing }) => acceptMissing))
    })
  )

  it.effect("R-205 lets a peer hand over to itself", () =>
    Effect.gen(function* () {
      const alone = () =>
        Swarm.make({ start: "one", peers: { one: { worker: "d.one", objective: "One", handOver: () => "one" } } })
      const played = yield* play(alone, { came: (_, before) => ({ label: before < 2 ? "one" : "done" }) })
      assert.deepStrictEqual(ids(played), ["one", "one#2", "one#3"])
      assert.strictEqual(ended(played), "Done")
    })
  )

  it.effect.each([1, 2, 5, 20] as const)("R-205 D30 has exactly %d tasks when that is the cap", (steps) =>
    Effect.gen(function* () {
      const played = yield* play(() => pair({ steps }), { came: rounds(1000) })
      assert.strictEqual(ended(played), "Stop budget-exceeded")
      assert.strictEqual(ids(played).length, steps)
    })
  )

  it.effect("R-205 has 20 tasks unless told otherwise, and may be done with the last of them", () =>
    Effect.gen(function* () {
      assert.strictEqual(ids(yield* play(pair, { came: rounds(1000) })).length, 20)
      const just = yield* play(() => pair({ steps: 4 }), { came: rounds(2) })
      assert.strictEqual(ended(just), "Done")
    })
  )

  it.effect("R-205 D39 stops two peers that hand the same things to and fro", () =>
    Effect.gen(function* () {
      const same = (name: string): Came => ({
        ...rounds(1000)(name, 0),
        order: `${name}-in`,
        digest: `${name}-out`
      })
      const played = yield* play(pair, { came: same })
      assert.deepStrictEqual(ids(played).length, 6)
      assert.deepStrictEqual(played.end, {
        _tag: "Stop",
        reason: "loop-detected",
        recall: false,
        note: "The group goes round in circles: docs.writer and docs.critic handed the same things to and fro 3 times"
      })
    })
  )

  it.effect("R-205 R-210 calls a worker as often as it may be called", () =>
    Effect.gen(function* () {
      const repetition = Repetition.make({ perWorker: 2 })
      const played = yield* play(() => pair({ repetition }), { came: rounds(1000) })
      assert.strictEqual(ended(played), "Stop loop-detected")
      assert.deepStrictEqual(ids(played), ["writer", "critic", "writer#2", "critic#2"])
    })
  )

  it.each([
    ["editor", `writer handed over to "editor", which is none of: writer, critic, done`],
    ["Critic", `writer handed over to "Critic", which is none of: writer, critic, done`],
    [undefined, "writer handed over to nobody, which is none of: writer, critic, done"]
  ])("R-205 stops at the unknown peer %s, and names the known ones", (label, note) => {
    const next = pair().next(view({ tasks: [seen("writer", label === undefined ? {} : { label })] }))
    assert.deepStrictEqual(next, { _tag: "Stop", reason: "no-ready-task", recall: false, note })
  })

  it("R-205 stops with what there is when a peer gives no result", () => {
    const tasks = [seen("writer", { label: "critic" }), seen("critic", { status: "failed", reason: "ill" })]
    assert.deepStrictEqual(pair().next(view({ tasks })), {
      _tag: "Stop",
      reason: "no-ready-task",
      recall: false,
      note: "critic gave no result and handed over to nobody: ill"
    })
    const parts = [part("writer", "text"), part("critic")]
    assert.deepStrictEqual(pair().merge?.(parts), Result.succeed("text"))
    assert.deepStrictEqual(pair().merge?.([part("writer")]), Result.fail("No peer gave a result"))
  })

  it("R-205 waits while a peer works, and begins with its start", () => {
    assert.deepStrictEqual(pair().next(view({ tasks: [seen("writer", { status: "running" })], open: 1 })), {
      _tag: "Wait"
    })
    assert.deepStrictEqual(
      pair().initial.map(({ id }) => id),
      ["writer"]
    )
    const first = pair().next(view())
    assert.strictEqual(first._tag === "Add" ? first.tasks[0]?.id : undefined, "writer")
  })

  it("R-218 names peers of several domains, a peer called done, and a start that is no peer", () => {
    assert.deepStrictEqual(labels(pair().problems?.()), [])
    const peer = (worker: string) => ({ worker, objective: "Do it", handOver: () => "done" as const })
    assert.deepStrictEqual(
      labels(Swarm.make({ start: "a", peers: { a: peer("d.a"), b: peer("d.b"), c: peer("e.c") } }).problems?.()),
      [`several-domains: the peers are of several domains: a in "d", c in "e"`]
    )
    assert.deepStrictEqual(labels(Swarm.make({ start: "done", peers: { done: peer("d.a") } }).problems?.()), [
      "reserved-name: no peer can be called done, which is the end"
    ])
    const untyped = Swarm.make as (options: unknown) => Swarm.Swarm
    assert.deepStrictEqual(
      labels(
        untyped({ start: "b", peers: { a: { ...peer("d.a"), worker: undefined, capability: "work" } } }).problems?.()
      ),
      [`unknown-node: the swarm starts at "b", but the peers are a`, "unassigned: the peer a names no worker"]
    )
    assert.strictEqual(untyped({ start: "b", peers: { a: peer("d.a") } }).next(view())._tag, "Stop")
  })

  it("R-205 refuses a number of steps that is out of range", () => {
    assert.throws(() => pair({ steps: 0 }), "Swarm.make: steps must be a whole number >= 1, got 0")
  })
})
