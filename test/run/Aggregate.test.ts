import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result as EffectResult, Schema } from "effect"
import { Aggregate, Outcome, type RunEvent } from "espalier/run"

import { dice, envelope, get, started } from "./simulate.ts"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}

const ok = (output: unknown, confidence = 1): Aggregate.Delivery => ({ status: "ok", output, confidence })

/** Merges `values`, given by tasks a, b, c, … in one field. */
const one = <A>(field: Aggregate.Field<A>, values: ReadonlyArray<unknown>, confidences: ReadonlyArray<number> = []) => {
  const names = values.map((_, index) => String.fromCodePoint(97 + index))
  const aggregate = Aggregate.make({
    tasks: Object.fromEntries(names.map((name) => [name, Schema.Json])),
    fields: { it: field }
  })
  const merged = aggregate.merge(
    Object.fromEntries(names.map((name, index) => [name, ok({ it: values[index] }, confidences[index])]))
  )
  return { aggregate, merged }
}

const Claim = Schema.Struct({ id: Schema.String, text: Schema.String, source: Schema.optionalKey(Schema.String) })

describe("Aggregate", () => {
  describe("fields", () => {
    const text = Schema.String
    const id = (claim: typeof Claim.Type) => claim.id
    const pairs = Aggregate.custom("longest", {
      part: text,
      merged: Schema.Int,
      merge: (parts) => Option.some(Math.max(...parts.map(({ value }) => value.length)))
    })
    const picky = Aggregate.custom("picky", { part: text, merged: text, merge: () => Option.none() })
    type Row = readonly [
      name: string,
      field: Aggregate.Field<unknown>,
      values: ReadonlyArray<unknown>,
      merged: unknown,
      confidences?: ReadonlyArray<number>
    ]
    const conflict = "conflict"
    const table: ReadonlyArray<Row> = [
      ["first", Aggregate.first(text), ["x", "y"], "x"],
      ["last", Aggregate.last(text), ["x", "y"], "y"],
      ["concat", Aggregate.concat(text), [["x", "y"], [], ["x"]], ["x", "y", "x"]],
      ["concat of nothing found", Aggregate.concat(text), [[], []], []],
      [
        "union",
        Aggregate.union(text),
        [
          ["x", "y"],
          ["y", "z"]
        ],
        ["x", "y", "z"]
      ],
      [
        "union by key",
        Aggregate.union(Claim, { key: id }),
        [
          [{ id: "1", text: "t" }],
          [
            { text: "t", id: "1" },
            { id: "2", text: "t" }
          ]
        ],
        [
          { id: "1", text: "t" },
          { id: "2", text: "t" }
        ]
      ],
      [
        "union by key, contradicted",
        Aggregate.union(Claim, { key: id }),
        [[{ id: "1", text: "t" }], [{ id: "1", text: "u" }]],
        conflict
      ],
      ["sum", Aggregate.sum(), [1, 2.5, -1], 2.5],
      ["sum beyond all numbers", Aggregate.sum(), [Number.MAX_VALUE, Number.MAX_VALUE], conflict],
      ["max", Aggregate.max(), [1, 3, 2], 3],
      ["majority", Aggregate.majority(text), ["x", "y", "y"], "y"],
      ["majority of half", Aggregate.majority(text), ["x", "y"], conflict],
      ["majority of one", Aggregate.majority(text), ["x"], "x"],
      ["error", Aggregate.error(text), ["x", "x"], "x"],
      ["D112 error, contradicted", Aggregate.error(text), ["x", "y"], conflict],
      [
        "error, keys in another order",
        Aggregate.error(Schema.Json),
        [
          { p: 1, q: 2 },
          { q: 2, p: 1 }
        ],
        { p: 1, q: 2 }
      ],
      ["most confident", Aggregate.mostConfident(text), ["x", "y", "z"], "y", [0.5, 0.9, 0.8]],
      ["most confident, alike", Aggregate.mostConfident(text), ["x", "x", "z"], "x", [0.9, 0.9, 0.8]],
      ["most confident, contradicted", Aggregate.mostConfident(text), ["x", "y", "z"], conflict, [0.9, 0.9, 0.8]],
      ["custom", pairs, ["x", "long", "yy"], 4],
      ["custom, contradicted", picky, ["x"], conflict],
      [
        "custom, with a value that does not fit",
        Aggregate.custom("half", { part: text, merged: Schema.Int, merge: () => Option.some(0.5) }),
        ["x"],
        conflict
      ],
      ["majority, else first", Aggregate.orElse(Aggregate.majority(text), Aggregate.first(text)), ["x", "y"], "x"],
      [
        "majority, else first, with one",
        Aggregate.orElse(Aggregate.majority(text), Aggregate.first(text)),
        ["x", "y", "y"],
        "y"
      ]
    ]
    it.effect.each(table)("R-212 merges by %s", ([, field, values, expected, confidences]) =>
      Effect.sync(() => {
        const { merged } = one(field, values, confidences)
        if (expected === conflict) {
          assert.notProperty(merged.output, "it")
          assert.notProperty(merged.value, "it")
          assert.strictEqual(merged.status, "partial")
          assert.deepStrictEqual(
            merged.conflicts.map((each) => [each.field, each.values.map(({ value }) => value)]),
            [["it", values]]
          )
        } else {
          assert.deepStrictEqual(merged.value.it, expected)
          assert.deepStrictEqual(merged.conflicts, [])
          assert.strictEqual(merged.status, "complete")
        }
      })
    )

    it("D112 R-212 a conflict is data with both values, their tasks and their confidence", () => {
      const { merged } = one(Aggregate.error(Schema.Boolean), [true, false], [0.9, 0.4])
      assert.deepStrictEqual(merged.conflicts, [
        {
          field: "it",
          values: [
            { task: "a", value: true, confidence: 0.9 },
            { task: "b", value: false, confidence: 0.4 }
          ]
        }
      ])
    })

    it("D112 R-212 where a rule chooses among different values, what it did not choose is on record", () => {
      const values = [
        { task: "a", value: "x", confidence: 1 },
        { task: "b", value: "y", confidence: 1 }
      ]
      const text = Schema.String
      assert.deepStrictEqual(one(Aggregate.last(text), ["x", "y"]).merged.decided, [
        { field: "it", values, rule: "last" }
      ])
      const settled = Aggregate.orElse(Aggregate.error(text), Aggregate.first(text))
      assert.deepStrictEqual(one(settled, ["x", "y"]).merged.decided, [
        { field: "it", values, rule: "error, else first" }
      ])
      assert.deepStrictEqual(one(Aggregate.last(text), ["x", "x"]).merged.decided, [])
      assert.deepStrictEqual(one(Aggregate.sum(), [1, 2]).merged.decided, [])
    })

    it("reads a field of another name, decoded by its schema", () => {
      const aggregate = Aggregate.make({
        tasks: { a: Schema.Json, b: Schema.Json },
        fields: { latest: Aggregate.last(Schema.Date, { from: "day" }) }
      })
      const merged = aggregate.merge({
        a: ok({ day: "2026-01-01T00:00:00.000Z" }),
        b: ok({ day: "2026-02-01T00:00:00.000Z", latest: "x" })
      })
      assert.strictEqual(merged.value.latest?.toISOString(), "2026-02-01T00:00:00.000Z")
      assert.deepStrictEqual(merged.output, { latest: "2026-02-01T00:00:00.000Z" })
    })
  })

  describe("backed", () => {
    const backed = ({ source }: typeof Claim.Type) => source !== undefined

    it("D113 R-212 claims without a source are dropped and listed", () => {
      const lists = [
        [
          { id: "1", text: "t", source: "a.md" },
          { id: "2", text: "t" }
        ],
        [{ id: "3", text: "t", source: "b.md" }]
      ]
      for (const field of [Aggregate.concat(Claim, { backed }), Aggregate.union(Claim, { backed })]) {
        const { merged } = one(field, lists)
        assert.deepStrictEqual(
          merged.value.it?.map(({ id }) => id),
          ["1", "3"]
        )
        assert.deepStrictEqual(merged.dropped, [{ task: "a", field: "it", claim: { id: "2", text: "t" } }])
        assert.strictEqual(merged.status, "complete")
      }
    })

    it("D113 R-212 a single value is a claim too, and does not take part when it is dropped", () => {
      const claims = [
        { id: "1", text: "t" },
        { id: "2", text: "t", source: "a.md" }
      ]
      const { merged } = one(Aggregate.error(Claim, { backed }), claims)
      assert.strictEqual(merged.value.it?.id, "2")
      assert.deepStrictEqual(merged.dropped, [{ task: "a", field: "it", claim: claims[0]! }])
      assert.deepStrictEqual(merged.entries[0], { task: "a", status: "empty", cause: "No claim of it has a source" })
    })

    it("D113 R-212 with no backed claim at all the whole is empty; with nothing found it is not", () => {
      assert.strictEqual(one(Aggregate.concat(Claim, { backed }), [[{ id: "2", text: "t" }]]).merged.status, "empty")
      assert.strictEqual(one(Aggregate.concat(Claim, { backed }), [[]]).merged.status, "complete")
    })
  })

  describe("merge", () => {
    const audit = Aggregate.make({
      tasks: {
        links: Schema.Struct({ dead: Schema.Array(Schema.String) }),
        prose: Schema.Struct({ dead: Schema.Array(Schema.String), ready: Schema.Boolean }),
        code: Schema.Struct({ ready: Schema.Boolean }),
        licence: Schema.Struct({ ready: Schema.Boolean })
      },
      fields: { dead: Aggregate.union(Schema.String), ready: Aggregate.error(Schema.Boolean) }
    })

    it("R-212 the type of the value is inferred from the fields", () => {
      const merged = audit.merge({})
      same<typeof merged.value, { readonly dead?: ReadonlyArray<string>; readonly ready?: boolean }>()
      assert.deepStrictEqual(merged.value, {})
    })

    it("D110 R-212 there is one entry per planned task: ok, empty, timed out and failed are told apart", () => {
      const merged = audit.merge({
        licence: { status: "failed", cause: "No such file" },
        code: { status: "timed-out" },
        links: ok({ dead: ["x"] }),
        prose: ok(null)
      })
      assert.deepStrictEqual(merged.entries, [
        { task: "links", status: "ok", cause: "It delivered" },
        { task: "prose", status: "empty", cause: "It has no output" },
        { task: "code", status: "timed-out", cause: "It timed out" },
        { task: "licence", status: "failed", cause: "No such file" }
      ])
      assert.strictEqual(merged.status, "partial")
      assert.deepStrictEqual(merged.output, { dead: ["x"] })
    })

    const statuses: ReadonlyArray<readonly [Aggregate.Report["status"], Readonly<Record<string, Aggregate.Delivery>>]> =
      [
        ["empty", {}],
        ["empty", { links: ok({}), prose: { status: "failed" } }],
        ["empty", { links: ok({ dead: 7 }) }],
        [
          "empty",
          {
            links: { status: "skipped" },
            prose: { status: "skipped" },
            code: { status: "skipped" },
            licence: { status: "skipped" }
          }
        ],
        ["partial", { links: ok({ dead: [] }) }],
        [
          "partial",
          {
            links: ok({ dead: [] }),
            prose: { status: "skipped" },
            code: { status: "skipped" },
            licence: { status: "cancelled" }
          }
        ],
        [
          "partial",
          {
            links: { status: "partial", output: { dead: [] } },
            prose: { status: "skipped" },
            code: { status: "skipped" },
            licence: { status: "skipped" }
          }
        ],
        [
          "complete",
          {
            links: ok({ dead: [] }),
            prose: { status: "skipped" },
            code: { status: "skipped" },
            licence: { status: "skipped" }
          }
        ],
        [
          "partial",
          {
            links: ok({ dead: [] }),
            prose: ok({ dead: [], ready: true }),
            code: ok({ ready: true }),
            licence: ok({ ready: false })
          }
        ],
        [
          "complete",
          {
            links: ok({ dead: [] }),
            prose: ok({ dead: [], ready: true }),
            code: ok({ ready: true }),
            licence: ok({ ready: true })
          }
        ]
      ]
    it.effect.each(statuses)("R-212 is %s after %j", ([status, deliveries]) =>
      Effect.sync(() => {
        const merged = audit.merge(deliveries)
        assert.strictEqual(merged.status, status)
        assert.deepStrictEqual(
          merged.entries.map(({ task }) => task),
          audit.tasks
        )
      })
    )

    it("R-212 an output that does not fit its task or a field is left out as a whole, and listed", () => {
      const loose = Aggregate.make({
        tasks: { a: Schema.Json, b: Schema.Struct({ dead: Schema.Array(Schema.String) }), c: Schema.Json },
        fields: { dead: Aggregate.concat(Schema.String), count: Aggregate.sum() }
      })
      const merged = loose.merge({
        a: ok({ dead: ["x", 2], count: 1 }),
        b: ok({ dead: "x" }),
        c: ok({ dead: ["y"], count: 2 }),
        z: ok({ count: 4 })
      })
      assert.deepStrictEqual(merged.value, { dead: ["y"], count: 2 })
      assert.deepStrictEqual(
        merged.leftOut.map(({ reason, task }) => [task, reason]),
        [
          ["a", "Its output does not fit: dead[1] must be a text, got 2"],
          ["b", 'Its output does not fit: dead must be a list, got "x"'],
          ["z", "It is not a planned task"]
        ]
      )
      assert.deepStrictEqual(
        merged.entries.map(({ status }) => status),
        ["failed", "failed", "ok"]
      )
    })

    it("R-212 is plain data beside its value", () => {
      const { value: _, ...report } = audit.merge({
        links: ok({ dead: ["x"] }),
        prose: ok({ dead: "x" }),
        code: ok({ ready: true }),
        licence: ok({ ready: false })
      })
      const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(Aggregate.Report)(report)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Aggregate.Report)(json), report)
    })

    const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
    it.prop("R-212 is the same in whatever order the tasks finish", { seed }, ({ seed }) => {
      const { below, next, pick } = dice(seed)
      const names = ["a", "b", "c", "d", "e"].slice(0, 2 + below(4))
      const aggregate = Aggregate.make({
        tasks: Object.fromEntries(names.map((name) => [name, Schema.Json])),
        fields: {
          first: Aggregate.first(Schema.Int, { from: "n" }),
          last: Aggregate.last(Schema.Int, { from: "n" }),
          error: Aggregate.error(Schema.Int, { from: "n" }),
          majority: Aggregate.majority(Schema.Int, { from: "n" }),
          confident: Aggregate.mostConfident(Schema.Int, { from: "n" }),
          sum: Aggregate.sum({ from: "f" }),
          max: Aggregate.max({ from: "f" }),
          concat: Aggregate.concat(Schema.Int, { from: "l", backed: (n) => n !== 2 }),
          union: Aggregate.union(Schema.Int, { from: "l", key: (n) => String(n % 3) })
        }
      })
      const statuses = ["ok", "ok", "ok", "partial", "timed-out", "failed", "cancelled"] as const
      const deliveries = names
        .filter(() => next() < 0.9)
        .map((name): [string, Aggregate.Delivery] => [
          name,
          {
            status: pick(statuses),
            confidence: pick([0.2, 0.5, 0.5, 1]),
            output:
              next() < 0.1
                ? "drifted"
                : {
                    n: next() < 0.1 ? "no number" : below(3),
                    f: next() / 7,
                    l: Array.from({ length: below(4) }, () => below(5))
                  }
          }
        ])
      const expected = aggregate.merge(Object.fromEntries(deliveries))
      const shuffled = deliveries
        .map((entry): [number, typeof entry] => [next(), entry])
        .toSorted(([one], [other]) => one - other)
        .map(([, entry]) => entry)
      assert.deepStrictEqual(aggregate.merge(Object.fromEntries(shuffled)), expected)
      assert.deepStrictEqual(aggregate.merge(Object.fromEntries(deliveries.toReversed())), expected)
      assert.strictEqual(
        expected.status === "empty",
        expected.entries.every(({ status }) => status !== "ok" && status !== "partial")
      )
    })
  })

  describe("question and resolve", () => {
    const { aggregate, merged } = one(Aggregate.error(Schema.Literals(["yes", "no", "later"])), ["yes", "no"])
    const [conflict] = merged.conflicts

    it("R-212 hands a conflict out as one narrow question", () => {
      assert.deepStrictEqual(aggregate.question(conflict!), {
        field: "it",
        values: [
          { task: "a", value: "yes", confidence: 1 },
          { task: "b", value: "no", confidence: 1 }
        ],
        question: "Which value of it holds? It is given by a, b.",
        schema: { type: "string", enum: ["yes", "no", "later"] }
      })
      assert.throws(
        () => aggregate.question({ field: "other", values: [] }),
        RangeError,
        'must be a field, got "other"'
      )
    })

    it.effect.each(["no", "later"] as const)("R-212 the answer %s settles it", (answer) =>
      Effect.sync(() => {
        const settled = get(aggregate.resolve(merged, "it", answer))
        assert.deepStrictEqual([settled.status, settled.value.it, settled.output["it"]], ["complete", answer, answer])
        assert.deepStrictEqual(settled.conflicts, [])
        assert.deepStrictEqual(settled.decided, [{ ...conflict!, rule: "answer" }])
        assert.strictEqual(merged.status, "partial")
      })
    )

    const bad: ReadonlyArray<readonly [message: string, field: string, answer: unknown]> = [
      ['ANSWER_REFUSED: it must be "yes" | "no" | "later", got "maybe"', "it", "maybe"],
      ['ANSWER_REFUSED: it must be "yes" | "no" | "later", got null', "it", null],
      ["ANSWER_REFUSED: other must have an open conflict; open are it", "other", "yes"]
    ]
    it.effect.each(bad)("R-212 refuses: %s", ([message, field, answer]) =>
      Effect.sync(() => {
        const refused = aggregate.resolve(merged, field, answer)
        assert.isTrue(EffectResult.isFailure(refused))
        if (EffectResult.isFailure(refused)) assert.strictEqual(refused.failure.message, message)
      })
    )

    it("R-212 a conflict is settled once", () => {
      const settled = get(aggregate.resolve(merged, "it", "no"))
      const again = aggregate.resolve(settled, "it", "yes")
      assert.isTrue(EffectResult.isFailure(again))
      if (EffectResult.isSuccess(again)) return
      assert.strictEqual(again.failure.message, "ANSWER_REFUSED: it must have an open conflict; there is none")
    })
  })

  describe("deliveries", () => {
    it("D110 R-212 takes what a run delivered, and tells a time-out from a failure", () => {
      const dispatched = (task: string, end: RunEvent.DispatchEnd, result: Parameters<typeof envelope>[0]) =>
        [
          { _tag: "Dispatched", at: 1, task, dispatch: `r1/${task}/1`, worker: "d.w", contract: 1, note: "" },
          {
            _tag: "Reported",
            at: 2,
            task,
            dispatch: `r1/${task}/1`,
            worker: "d.w",
            attempts: 1,
            outcome: end,
            result: envelope(result),
            note: ""
          }
        ] as const
      const ended = (task: string, status: RunEvent.TaskEnd, note = ""): RunEvent.RunEvent => ({
        _tag: "TaskEnded",
        at: 3,
        task,
        status,
        missing: status === "partial" ? [{ part: "p", reason: "too large" }] : [],
        note
      })
      const error = { status: "failed", error: { kind: "transient", reason: "slow" }, confidence: 0 } as const
      const outcome = Outcome.of([
        started(["a", "b", "c", "d", "e", "f"].map((id) => ({ id, worker: "d.w" }))),
        ...dispatched("a", "accepted", { output: { n: 1 }, confidence: 0.8 }),
        ended("a", "accepted"),
        ...dispatched("b", "partial", { status: "partial", output: { n: 2 }, missing: [{ part: "p", reason: "x" }] }),
        ended("b", "partial", "In part"),
        ...dispatched("c", "timed-out", error),
        ended("c", "failed", "Too slow"),
        ...dispatched("d", "failed", error),
        ended("d", "failed", "Broken"),
        ended("e", "skipped")
      ])
      assert.deepStrictEqual(Aggregate.deliveries(outcome!), {
        a: { status: "ok", confidence: 0.8, output: { n: 1 } },
        b: { status: "partial", confidence: 1, output: { n: 2 }, cause: "p: too large" },
        c: { status: "timed-out", confidence: 0, cause: "Too slow" },
        d: { status: "failed", confidence: 0, cause: "Broken" },
        e: { status: "skipped", confidence: 0 },
        f: { status: "blocked", confidence: 0, cause: "It has not ended" }
      })
    })
  })

  describe("make", () => {
    const fields = { n: Aggregate.sum() }
    const bad: ReadonlyArray<readonly [message: string, make: () => unknown]> = [
      ["tasks must name at least one task", () => Aggregate.make({ tasks: {}, fields })],
      ["fields must name at least one field", () => Aggregate.make({ tasks: { a: Schema.Json }, fields: {} })],
      ['ids that begin with a letter, got "7"', () => Aggregate.make({ tasks: { 7: Schema.Json }, fields })]
    ]
    it.effect.each(bad)("throws: %s", ([message, make]) => Effect.sync(() => assert.throws(make, RangeError, message)))
  })
})
