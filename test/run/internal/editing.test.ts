import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { canonical } from "../../../src/run/internal/canonical.ts"
import {
  type Action,
  applyEdits,
  differences,
  digestOfAction,
  editableProblems
} from "../../../src/run/internal/editing.ts"

const proposed = JSON.parse(
  `{"to":"ada@example.org","cc":null,"lines":["a","b"],"amount":{"value":10,"currency":"EUR"},"a/b":{"~":1},"":0}`
) as Schema.Json

const parsed = (text: string) => JSON.parse(text) as Record<string, Schema.Json>

const edited = (edits: Record<string, Schema.Json>, editable: ReadonlyArray<string>, args = proposed) => {
  const before = canonical(args)
  const result = applyEdits(args, edits, editable)
  assert.strictEqual(canonical(args), before)
  return result
}

describe("editableProblems", () => {
  const table: ReadonlyArray<readonly [pointers: ReadonlyArray<string>, problems: ReadonlyArray<string>]> = [
    [[], []],
    [["", "/to", "/amount/value", "/a~1b/~0", "/", "/constructor"], []],
    [
      ["to", "/~", "/~2", "/x~"],
      ["editable[0]", "editable[1]", "editable[2]", "editable[3]"]
    ],
    [["/to", "/cc", "/to"], ["editable[2]"]],
    [
      ["/__proto__", "/a/__proto__/b"],
      ["editable[0]", "editable[1]"]
    ],
    [[`/${"x".repeat(1024)}`], ["editable[0]"]],
    [Array.from({ length: 101 }, (_, index) => `/${index}`), ["editable"]]
  ]
  it.each(table)("of %j are at %j", (pointers, problems) => {
    assert.deepStrictEqual(
      editableProblems(pointers).map(({ path }) => path),
      problems
    )
  })
})

describe("applyEdits", () => {
  type Row = readonly [edits: string, editable: ReadonlyArray<string>, changes: string]
  const table: ReadonlyArray<Row> = [
    ["{}", [], "[]"],
    [`{"/to":"bob"}`, ["/to"], `[{"pointer":"/to","before":"ada@example.org","after":"bob"}]`],
    [`{"/to":null}`, ["/to"], `[{"pointer":"/to","before":"ada@example.org","after":null}]`],
    [`{"/cc":null}`, ["/cc"], "[]"],
    [`{"/amount/value":"10"}`, ["/amount"], `[{"pointer":"/amount/value","before":10,"after":"10"}]`],
    [`{"/amount/value":-0}`, ["/amount/value"], `[{"pointer":"/amount/value","before":10,"after":0}]`],
    [`{"/lines/1":"c"}`, ["/lines"], `[{"pointer":"/lines/1","before":"b","after":"c"}]`],
    [`{"/lines":["a"]}`, ["/lines"], `[{"pointer":"/lines/1","before":"b"}]`],
    [`{"/a~1b/~0":2}`, ["/a~1b"], `[{"pointer":"/a~1b/~0","before":1,"after":2}]`],
    [`{"/":1}`, ["/"], `[{"pointer":"/","before":0,"after":1}]`],
    [`{"/bcc":null}`, ["/bcc"], `[{"pointer":"/bcc","after":null}]`],
    [`{"/amount/tax":1}`, ["/amount/tax"], `[{"pointer":"/amount/tax","after":1}]`],
    [
      `{"/constructor":1,"/toString":2}`,
      ["/constructor", "/toString"],
      `[{"pointer":"/constructor","after":1},{"pointer":"/toString","after":2}]`
    ],
    [
      `{"":{"to":"bob"}}`,
      [""],
      `[{"pointer":"/","before":0},{"pointer":"/a~1b","before":{"~":1}},{"pointer":"/amount","before":{"value":10,"currency":"EUR"}},{"pointer":"/cc","before":null},{"pointer":"/lines","before":["a","b"]},{"pointer":"/to","before":"ada@example.org","after":"bob"}]`
    ],
    [
      `{"/to":"bob","/lines/0":1}`,
      ["/to", "/lines/0"],
      `[{"pointer":"/lines/0","before":"a","after":1},{"pointer":"/to","before":"ada@example.org","after":"bob"}]`
    ]
  ]
  it.each(table)("R-306 with %s where %j may be changed, changes %s", (edits, editable, changes) => {
    const result = edited(parsed(edits), editable)
    if (Result.isFailure(result)) return assert.fail(JSON.stringify(result.failure))
    assert.deepStrictEqual(differences(proposed, result.success), JSON.parse(changes))
  })

  type Refusal = readonly [edits: string, editable: ReadonlyArray<string>, problems: Record<string, string>]
  const refusals: ReadonlyArray<Refusal> = [
    [`{"/to":"bob"}`, [], { "/to": "must not be changed: nothing is editable here" }],
    [
      `{"/cc":"bob","/lin":1}`,
      ["/to", "/lines"],
      {
        "/cc": `must lie in what may be changed: "/to"; "/lines"`,
        "/lin": `must lie in what may be changed: "/to"; "/lines"`
      }
    ],
    [`{"":{}}`, ["/to"], { "": `must lie in what may be changed: "/to"` }],
    [`{"/amount":{}}`, ["/amount/value"], { "/amount": `must lie in what may be changed: "/amount/value"` }],
    [
      `{"/amount/tax":1}`,
      ["/amount"],
      { "/amount/tax": "must be there in the proposal, or be named as editable itself" }
    ],
    [
      `{"/amount/toString":1,"/amount/constructor":1}`,
      ["/amount"],
      {
        "/amount/toString": "must be there in the proposal, or be named as editable itself",
        "/amount/constructor": "must be there in the proposal, or be named as editable itself"
      }
    ],
    [`{"/x/y":1}`, ["/x/y"], { "/x/y": "must be there in the proposal" }],
    [
      `{"/to/length":1,"/cc/x":1}`,
      ["/to/length", "/cc/x"],
      {
        "/to/length": "must be there in the proposal, where a value without fields stands above it",
        "/cc/x": "must be there in the proposal, where a value without fields stands above it"
      }
    ],
    ...["2", "-", "01", "1.0", "-1", "1e0", " 1", "length", "x"].map((index): Refusal => [
      `{"/lines/${index}":1}`,
      ["/lines", `/lines/${index}`],
      { [`/lines/${index}`]: "must be an item of the list, which has 2 items" }
    ]),
    [
      `{"/amount":{},"/amount/value":1}`,
      ["/amount"],
      {
        "/amount/value": `must not be changed together with "/amount"`
      }
    ],
    [
      `{"/amount/value":1,"/amount":{}}`,
      ["/amount"],
      {
        "/amount": `must not be changed together with "/amount/value"`
      }
    ],
    [
      `{"/__proto__":1,"/amount/__proto__/x":1}`,
      ["", "/amount"],
      {
        "/__proto__": "must not lead through a field named __proto__",
        "/amount/__proto__/x": "must not lead through a field named __proto__"
      }
    ],
    [
      `{"/amount":{"value":[{"__proto__":{"admin":true}}]}}`,
      ["/amount"],
      {
        "/amount": "must not have a field named __proto__"
      }
    ]
  ]
  it.each(refusals)("R-306 refuses %s where %j may be changed", (edits, editable, problems) => {
    const result = edited(parsed(edits), editable)
    if (Result.isSuccess(result)) return assert.fail(canonical(result.success))
    assert.deepStrictEqual(
      Object.fromEntries(result.failure.map(({ expectation, path }) => [path, expectation])),
      problems
    )
  })

  it("R-306 refuses what is no pointer, what is not JSON, and too much of either", () => {
    const refused = (edits: Record<string, unknown>) => {
      const result = edited(edits as Record<string, Schema.Json>, [""])
      return Result.isFailure(result) ? result.failure.map(({ path }) => path) : []
    }
    assert.deepStrictEqual(refused({ to: 1, "/~": 1, "#/to": 1 }), ["to", "/~", "#/to"])
    assert.deepStrictEqual(refused({ "/to": Number.NaN }), ["/to"])
    assert.deepStrictEqual(refused({ "/to": undefined }), ["/to"])
    assert.deepStrictEqual(refused({ "/to": new Map() }), ["/to"])
    assert.deepStrictEqual(refused({ "/to": "x".repeat(2 ** 21 + 1) }), ["/to"])
    assert.deepStrictEqual(refused({ "/to": "x".repeat(2 ** 20), "/cc": "x".repeat(2 ** 20) }), [""])
    assert.deepStrictEqual(refused(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`/${i}`, i]))), [""])
    assert.deepStrictEqual(Result.isFailure(edited({ "/to": 1 }, ["to"])), true)
  })

  it("R-306 gives what nobody can change, and pollutes nothing", () => {
    const value = { admin: true }
    const result = edited({ "/amount": value }, ["/amount"])
    value.admin = false
    if (Result.isFailure(result)) return assert.fail("it is refused")
    const { amount } = result.success as { readonly amount: Schema.Json }
    assert.deepStrictEqual(amount, { admin: true })
    assert.isTrue(Object.isFrozen(result.success) && Object.isFrozen(amount))
    assert.isUndefined(({} as { readonly admin?: boolean }).admin)
  })

  it("R-306 keeps a field of the proposal that is named as a prototype, as a field", () => {
    const args = parsed(`{"a":1,"__proto__":{"b":2}}`)
    const result = edited({ "/a": 2 }, ["/a"], args)
    if (Result.isFailure(result)) return assert.fail("it is refused")
    assert.strictEqual(canonical(result.success), `{"__proto__":{"b":2},"a":2}`)
  })

  it.prop("R-306 replaces a whole value by any other", [Schema.Json, Schema.Json], ([before, after]) => {
    const wrapped = { before }
    const result = edited({ "/before": after }, ["/before"], wrapped)
    if (Result.isFailure(result)) {
      // The generator makes fields of any name.
      assert.include(canonical(after), "__proto__")
    } else assert.strictEqual(canonical(result.success), canonical({ before: after }))
  })
})

describe("differences", () => {
  it.prop("are none of a value and itself, and turn one value into another", [Schema.Json, Schema.Json], ([a, b]) => {
    assert.deepStrictEqual(differences(a, JSON.parse(canonical(a)) as Schema.Json), [])
    assert.strictEqual(differences(a, b).length === 0, canonical(a) === canonical(b))
  })

  it("tell a missing field from null, and a text from a number", () => {
    assert.deepStrictEqual(differences({ a: null, b: 1, c: [] }, { b: "1", c: {}, d: null }), [
      { pointer: "/a", before: null },
      { pointer: "/b", before: 1, after: "1" },
      { pointer: "/c", before: [], after: {} },
      { pointer: "/d", after: null }
    ])
    assert.deepStrictEqual(differences(1, 2), [{ pointer: "", before: 1, after: 2 }])
  })
})

describe("digestOfAction", () => {
  const action: Action = {
    tool: "mail.send",
    version: "2",
    args: { to: "ada", lines: [1, { a: 1, b: 2 }] },
    target: "prod",
    run: "r1",
    task: "notify",
    policy: { id: "mail", version: 3 }
  }

  it("is SHA-256 and does not change from one release to the next", () => {
    assert.strictEqual(digestOfAction(action), "96ea5ec8bb7b62371e6c5eed539325ac06a761313d967f41bcc545a84cc9303b")
  })

  it("does not depend on the order of fields, nor on what is beside them", () => {
    const shuffled = { ...action, args: { lines: [1, { b: 2, a: 1 }], to: "ada" }, summary: "Sends", at: 7 }
    assert.strictEqual(digestOfAction(shuffled), digestOfAction(action))
  })

  const others: ReadonlyArray<Partial<Action>> = [
    { tool: "mail.sent" },
    { version: "3" },
    { args: { to: "bob", lines: [1, { a: 1, b: 2 }] } },
    { args: { to: "ada", lines: ["1", { a: 1, b: 2 }] } },
    { args: { to: "ada", lines: [{ a: 1, b: 2 }, 1] } },
    { args: { to: "ada", lines: [1, { a: 1, b: 2 }], cc: null } },
    { target: "staging" },
    { target: null },
    { target: undefined },
    { run: "r2" },
    { task: "notify/2" },
    { policy: { id: "mail", version: 4 } }
  ]
  it.each(others)("is another one with %j", (fields) => {
    assert.notStrictEqual(digestOfAction({ ...action, ...fields }), digestOfAction(action))
  })

  const name = Schema.Literals(["", "a", "/", "a/", "/a", '"', '","', "\u0000", "\n", ",", ":", 'a":"b'])
  const names = { tool: name, version: name, run: name, task: name, target: name, policy: name, args: name }
  it.prop(
    "D80 is the same only of the same names, whatever separates them",
    { a: Schema.Struct(names), b: Schema.Struct(names) },
    ({ a, b }) => {
      assert.strictEqual(digestOfAction(a) === digestOfAction(b), canonical(a) === canonical(b))
      const moved = { ...a, tool: a.tool + a.version, version: "" }
      assert.strictEqual(digestOfAction(moved) === digestOfAction(a), a.version === "")
    }
  )
})
