import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Schema } from "effect"
import { Graph } from "espalier/run"

import { type Came, ended, ids, part, play, seen, view } from "./coordinators.ts"
import { dice } from "./simulate.ts"

const node = <const Outcome extends string>(...outcomes: ReadonlyArray<Outcome>) => ({
  worker: "d.one",
  objective: "Do it",
  outcomes,
  outcome: (output: Schema.Json): Outcome => outcomes.find((each) => each === output) ?? outcomes[0]!
})

/** A draft that a check sends back. */
const loop = (options: { readonly cap?: number; readonly steps?: number; readonly result?: "draft" } = {}) =>
  Graph.make({
    start: "draft",
    nodes: { draft: node("drafted"), check: node("fine", "wrong") },
    edges: { draft: { drafted: "check" }, check: { fine: "finish", wrong: "draft" } },
    ...options
  })

const labels =
  (by: Readonly<Record<string, (before: number) => string>>) =>
  (name: string, before: number): Came => {
    const label = by[name]?.(before)
    return label === undefined ? {} : { label }
  }

const often = (times: number) =>
  labels({ draft: () => "drafted", check: (before) => (before < times ? "wrong" : "fine") })

describe("Graph", () => {
  it.effect("R-205 follows the outcomes, and comes back to a node as name#2, name#3", () =>
    Effect.gen(function* () {
      const played = yield* play(loop, { came: often(2) })
      assert.deepStrictEqual(ids(played), ["draft", "check", "draft#2", "check#2", "draft#3", "check#3"])
      assert.deepStrictEqual(played.end, { _tag: "Done", result: "check#3", note: "The graph has come to its end" })
      assert.deepStrictEqual(
        played.planned.map(({ template }) => template),
        [undefined, undefined, "draft", "check", "draft", "check"]
      )
    })
  )

  it.effect("R-205 lets a node read the newest output of each node before it, and run without", () =>
    Effect.gen(function* () {
      const played = yield* play(loop, { came: often(2) })
      assert.deepStrictEqual(
        played.planned.map(({ needs }) => needs),
        [[], ["draft"], ["draft", "check"], ["draft#2", "check"], ["draft#2", "check#2"], ["draft#3", "check#2"]]
      )
      assert.isTrue(played.planned.every(({ acceptMissing }) => acceptMissing))
    })
  )

  it.effect("R-205 has the newest output of a declared node as its result", () =>
    Effect.gen(function* () {
      const played = yield* play(() => loop({ result: "draft" }), { came: often(1) })
      assert.strictEqual(played.end._tag === "Done" ? played.end.result : undefined, "draft#2")
      const none = yield* play(
        () =>
          Graph.make({
            start: "a",
            nodes: { a: node("ok") },
            edges: { a: { ok: "finish", failed: "finish" } },
            result: "a"
          }),
        { came: () => ({ status: "failed" }) }
      )
      assert.deepStrictEqual(none.end, {
        _tag: "Done",
        note: "The graph has come to its end, and the node a gave no result"
      })
    })
  )

  it.effect.each([1, 2, 3, 10] as const)("R-205 D30 visits a node exactly %d times when that is the cap", (cap) =>
    Effect.gen(function* () {
      const played = yield* play(() => loop({ cap, steps: 1000 }), { came: often(1000) })
      assert.strictEqual(ended(played), "Stop loop-detected")
      assert.strictEqual(ids(played).filter((id) => id.startsWith("draft")).length, cap)
      assert.strictEqual(
        played.end._tag === "Stop" ? played.end.note : "",
        `The node draft was visited ${cap} times, which is its cap`
      )
    })
  )

  it.effect("R-205 D30 visits a node 10 times unless told otherwise, and has 20 tasks in all", () =>
    Effect.gen(function* () {
      const alone = yield* play(
        () => Graph.make({ start: "a", nodes: { a: node("again", "ok") }, edges: { a: { again: "a", ok: "finish" } } }),
        { came: () => ({ label: "again" }) }
      )
      assert.strictEqual(ended(alone), "Stop loop-detected")
      assert.strictEqual(ids(alone).length, 10)
      const played = yield* play(() => loop({ cap: 1000 }), { came: often(1000) })
      assert.strictEqual(ended(played), "Stop budget-exceeded")
      assert.strictEqual(ids(played).length, 20)
    })
  )

  it.effect.each(["failed", "blocked", "rejected", "cancelled", "skipped"] as const)(
    "R-205 follows the edge failed when a task is %s, and stops without one",
    (status) =>
      Effect.gen(function* () {
        const make = (failed?: "b") =>
          Graph.make({
            start: "a",
            nodes: { a: node("ok"), b: node("ok") },
            edges: { a: { ok: "finish", ...(failed === undefined ? {} : { failed }) }, b: { ok: "finish" } }
          })
        const came = (name: string): Came => (name === "a" ? { status, reason: "no luck" } : { label: "ok" })
        const saved = yield* play(() => make("b"), { came })
        assert.deepStrictEqual(ids(saved), ["a", "b"])
        assert.strictEqual(ended(saved), "Done")
        const lost = yield* play(() => make(), { came })
        assert.strictEqual(ended(lost), "Stop no-ready-task")
        assert.strictEqual(
          lost.end._tag === "Stop" ? lost.end.note : "",
          "a gave no result, and no edge says what follows then: no luck"
        )
      })
  )

  it("R-205 goes on from a partial result by its outcome", () => {
    const next = loop().next(view({ tasks: [seen("draft", { status: "partial", label: "drafted" })] }))
    assert.strictEqual(next._tag === "Add" ? next.tasks[0]?.id : undefined, "check")
  })

  it.each([
    ["done", `draft came out as "done", which is none of: drafted`],
    ["failed", `draft came out as "failed", which is none of: drafted`],
    ["constructor", `draft came out as "constructor", which is none of: drafted`],
    [undefined, "draft came out without an outcome, which is none of: drafted"]
  ])("R-205 stops at the outcome %s, which is not declared, and names those that are", (label, note) => {
    const next = loop().next(view({ tasks: [seen("draft", label === undefined ? {} : { label })] }))
    assert.deepStrictEqual(next, { _tag: "Stop", reason: "no-ready-task", recall: false, note })
  })

  describe("branches", () => {
    const names = ["b", "c", "d", "e", "f"] as const
    const fan = () =>
      Graph.make({
        start: "a",
        nodes: {
          a: node("ok"),
          b: node("ok"),
          c: node("ok"),
          d: node("ok"),
          e: node("ok"),
          f: node("ok"),
          join: node("ok")
        },
        edges: {
          a: { ok: names },
          b: { ok: "join" },
          c: { ok: "join" },
          d: { ok: "join" },
          e: { ok: "join" },
          f: { ok: "join" },
          join: { ok: "finish" }
        }
      })
    const ok = () => ({ label: "ok" })

    it.effect("R-205 D21 run side by side", () =>
      Effect.gen(function* () {
        const played = yield* play(fan, { came: ok })
        const added = played.moves.flatMap((move) => (move._tag === "Add" ? [move.tasks.map(({ id }) => id)] : []))
        assert.deepStrictEqual(added, [[...names], ["join"]])
        assert.deepStrictEqual(played.planned.at(-1)?.needs, ["a", ...names])
      })
    )

    it.effect("R-205 D111 of 5 join exactly once, in whatever order they end", () =>
      Effect.gen(function* () {
        const orders = new Set<string>()
        for (let seed = 0; seed < 300; seed++) {
          const order: Array<string> = []
          const played = yield* play(fan, {
            order: dice(seed),
            came: (name) => {
              order.push(name)
              return { label: "ok" }
            }
          })
          orders.add(order.join(""))
          assert.deepStrictEqual(ids(played), ["a", ...names, "join"])
          assert.strictEqual(ended(played), "Done")
        }
        assert.isAbove(orders.size, 80, "the orders differ")
      })
    )

    const uneven = (join: boolean) =>
      Graph.make({
        start: "a",
        nodes: { a: node("ok"), short: node("ok"), long: node("ok"), longer: node("ok"), end: { ...node("ok"), join } },
        edges: {
          a: { ok: ["short", "long"] },
          short: { ok: "end" },
          long: { ok: "longer" },
          longer: { ok: "end" },
          end: { ok: "finish" }
        }
      })

    it.effect("R-205 D111 of different lengths join once where the node says so, and else once for each length", () =>
      Effect.gen(function* () {
        const once = yield* play(() => uneven(true), { came: ok })
        assert.deepStrictEqual(ids(once), ["a", "short", "long", "longer", "end"])
        const twice = yield* play(() => uneven(false), { came: ok })
        assert.deepStrictEqual(ids(twice), ["a", "short", "long", "end", "longer", "end#2"])
      })
    )

    it.effect("R-205 end one by one, and the graph with the last of them", () =>
      Effect.gen(function* () {
        const played = yield* play(
          () =>
            Graph.make({
              start: "a",
              nodes: { a: node("ok"), b: node("ok"), c: node("ok", "more") },
              edges: { a: { ok: ["b", "c"] }, b: { ok: "finish" }, c: { ok: "finish", more: "c" } }
            }),
          { came: (name, before) => ({ label: name === "c" && before < 2 ? "more" : "ok" }) }
        )
        assert.deepStrictEqual(ids(played), ["a", "b", "c", "c#2", "c#3"])
        assert.strictEqual(played.end._tag === "Done" ? played.end.result : undefined, "c#3")
      })
    )
  })

  it("R-205 merges what there is when it stopped: the newest output, of the declared node where there is one", () => {
    const parts = [part("draft", 1), part("check", "wrong"), part("draft#2", 2), part("check#2", "wrong")]
    assert.deepStrictEqual(loop().merge?.(parts), Result.succeed("wrong"))
    assert.deepStrictEqual(loop({ result: "draft" }).merge?.(parts), Result.succeed(2))
    assert.deepStrictEqual(
      loop({ result: "draft" }).merge?.([part("draft")]),
      Result.fail("The node draft gave no result")
    )
    assert.deepStrictEqual(loop().merge?.([]), Result.fail("No node gave a result"))
  })

  it("R-205 labels an output with the outcome that the node's function gives", () => {
    const [, check] = loop().tasks
    assert.strictEqual(check?.label?.("wrong"), "wrong")
    assert.strictEqual(check?.label?.(7), "fine")
    assert.deepStrictEqual(Object.keys(check ?? {}).toSorted(), ["id", "label", "objective", "worker"])
  })

  describe("problems", () => {
    /** As a caller without types would. */
    const untyped = Graph.make as (options: unknown) => ReturnType<typeof loop>
    const found = (start: string, nodes: unknown, edges: unknown, more: object = {}) =>
      untyped({ start, nodes, edges, ...more })
        .problems?.()
        .map(({ message, rule }) => `${rule}: ${message}`)

    it("R-218 there are none in a graph that can work", () => {
      assert.deepStrictEqual(loop().problems?.(), [])
    })

    it.each<[string, ReturnType<typeof found>, ReadonlyArray<string>]>([
      [
        "an unknown start",
        found("x", { a: node("ok") }, { a: { ok: "finish" } }),
        [
          `unknown-node: the graph starts at "x", but the nodes are a`,
          "unreachable-node: the node a cannot be reached from x"
        ]
      ],
      [
        "an unknown target, also among several",
        found("a", { a: node("ok", "no") }, { a: { ok: "b", no: ["a", "finish"] } }),
        [
          `unknown-node: the edge "ok" of a leads to "b", but the nodes are a`,
          `unknown-node: the edge "no" of a leads to "finish", but the nodes are a`
        ]
      ],
      [
        "a missing transition",
        found("a", { a: node("ok", "no", "late") }, { a: { ok: "finish", no: [] } }),
        [
          `missing-transition: nothing follows the node a when it comes out as "late"`,
          `missing-transition: the edge "no" of a leads nowhere`
        ]
      ],
      [
        "an edge for an outcome that is not declared",
        found("a", { a: node("ok") }, { a: { ok: "finish", no: "finish" } }),
        [`unknown-outcome: the node a has an edge for "no", which it does not declare`]
      ],
      [
        "edges of a node that is none",
        found("a", { a: node("ok") }, { a: { ok: "finish" }, b: { ok: "finish" } }),
        [`unknown-node: edges lead out of "b", but the nodes are a`]
      ],
      [
        "a node that is never reached",
        found("a", { a: node("ok"), b: node("ok") }, { a: { ok: "finish" }, b: { ok: "a" } }),
        ["unreachable-node: the node b cannot be reached from a"]
      ],
      [
        "a loop without an exit",
        found(
          "a",
          { a: node("ok", "no"), b: node("ok"), c: node("ok") },
          { a: { ok: "finish", no: "b" }, b: { ok: "c" }, c: { ok: "b" } }
        ),
        [
          "no-exit: no way leads from the node b to the end of the graph",
          "no-exit: no way leads from the node c to the end of the graph"
        ]
      ],
      [
        "names that mean something else",
        found("finish", { finish: node("failed") }, { finish: { failed: "finish" } }),
        [
          "reserved-name: no node can be called finish, which is the end of a graph",
          "reserved-name: the node finish cannot declare the outcome failed, which stands for no result"
        ]
      ],
      [
        "a node without outcomes and an unknown result",
        found("a", { a: node() }, { a: { failed: "finish" } }, { result: "b" }),
        [
          `unknown-node: the graph's result is that of "b", but the nodes are a`,
          "no-outcome: the node a declares no outcomes"
        ]
      ]
    ])("R-218 names %s", (_, problems, expected) => {
      assert.deepStrictEqual(problems, expected)
    })

    it.effect("R-205 a graph that was not checked stops where it cannot go on", () =>
      Effect.gen(function* () {
        const nowhere = yield* play(
          () => untyped({ start: "a", nodes: { a: node("ok") }, edges: { a: { ok: "b" } } }),
          {
            came: () => ({ label: "ok" })
          }
        )
        assert.strictEqual(ended(nowhere), "Stop no-ready-task")
        const nothing = yield* play(() =>
          untyped({ start: "x", nodes: { a: node("ok") }, edges: { a: { ok: "finish" } } })
        )
        assert.strictEqual(ended(nothing), "Stop no-ready-task")
        const lost = yield* play(() => untyped({ start: "a", nodes: { a: node("ok") }, edges: {} }), {
          came: () => ({ label: "ok" })
        })
        assert.strictEqual(ended(lost), "Stop no-ready-task")
      })
    )
  })

  it.each([
    ["cap", 0],
    ["cap", 1.5],
    ["steps", 0],
    ["steps", Number.NaN]
  ] as const)("R-205 refuses a %s of %d by name", (name, value) => {
    assert.throws(() => loop({ [name]: value }), `Graph.make: ${name} must be a whole number >= 1, got ${value}`)
  })
})
