import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Contract } from "espalier/run"

const good = { task: "links", objective: "Find dead links" }

const circular = (): unknown => {
  const value: Record<string, unknown> = {}
  value["self"] = value
  return value
}

const hash = `sha256:${"0".repeat(64)}`

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

const deep = (): unknown => nested(100_000)

describe("Contract", () => {
  describe("make", () => {
    it.effect("fills in what may be left out", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Contract.make(good), {
          version: 1,
          task: "links",
          objective: "Find dead links",
          inputs: {},
          references: {},
          constraints: [],
          permissions: {},
          definitionOfDone: [],
          limits: {},
          onIncomplete: "partial"
        })
      })
    )

    it.effect("keeps 0 apart from nothing said: 0 is none, absent is inherited", () =>
      Effect.gen(function* () {
        const { limits } = yield* Contract.make({ ...good, limits: { tokens: 0 } })
        assert.deepStrictEqual(limits, { tokens: 0 })
      })
    )

    const bad: ReadonlyArray<readonly [message: string, input: unknown]> = [
      ["objective is required", { task: "links" }],
      ["the contract must be an object, got null", null],
      ["the contract must be an object, got undefined", undefined],
      ["the contract must be an object, got [0 items]", []],
      ['the contract must be an object, got "links"', "links"],
      ["the contract must be an object, got a function", () => good],
      ['objective must be a text that is not empty, got " "', { ...good, objective: " " }],
      ['objective must be a text that is not empty, got "\u200b\u2060"', { ...good, objective: "\u200b\u2060" }],
      ['objective must be a text that is not empty, got "\\u0000"', { ...good, objective: "\u0000" }],
      ["objective must be a text, got 7", { ...good, objective: 7 }],
      ["objective must be a text, got {1 field}", { ...good, objective: { toString: () => "Find" } }],
      ...["__proto__", "tâche", "links\n", "", "9", "a/b", "x".repeat(65)].map(
        (task) =>
          [
            `task must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got ${
              task.length > 48 ? `"${"x".repeat(47)}…"` : JSON.stringify(task)
            }`,
            { ...good, task }
          ] as const
      ),
      ["version must be a whole number > 0, got 0", { ...good, version: 0 }],
      ["version must be a whole number > 0, got -1", { ...good, version: -1 }],
      ["version must be a whole number > 0, got 1.5", { ...good, version: 1.5 }],
      ["version must be a whole number > 0, got 9007199254740992", { ...good, version: 2 ** 53 }],
      ['version must be a number, got "1"', { ...good, version: "1" }],
      ...[-1, -0.5, 1.5, Number.NaN, Infinity, -Infinity, 2 ** 53, 1e308, -0].flatMap((value) =>
        ["tokens", "toolCalls", "steps"].map(
          (limit) =>
            [
              `limits.${limit} must be a whole number >= 0, got ${Object.is(value, -0) ? "-0" : value}`,
              { ...good, limits: { [limit]: value } }
            ] as const
        )
      ),
      ...[-5, -Number.MIN_VALUE, 0, -0, Number.NaN, Infinity, -Infinity, 1e308].map(
        (value) =>
          [
            `limits.deadlineMillis must be a number of milliseconds > 0 and at most 100 years, got ${
              Object.is(value, -0) ? "-0" : value
            }`,
            { ...good, limits: { deadlineMillis: value } }
          ] as const
      ),
      ...[-0.01, Number.NaN, Infinity, 1e16, -0].map(
        (value) =>
          [
            `limits.cost must be an amount >= 0 and at most 1e15, got ${Object.is(value, -0) ? "-0" : value}`,
            { ...good, limits: { cost: value } }
          ] as const
      ),
      ['limits.tokens must be a number, got "100"', { ...good, limits: { tokens: "100" } }],
      ["limits.tokens must be a number, got 100n", { ...good, limits: { tokens: 100n } }],
      ["limits.tokens must be a number, got null", { ...good, limits: { tokens: null } }],
      ["limits must be an object, got null", { ...good, limits: null }],
      ["limits.tokns is not a known field", { ...good, limits: { tokns: 1 } }],
      ["limits.constructor is not a known field", { ...good, limits: { constructor: 1 } }],
      ["limits.__proto__ is not a known field", JSON.parse('{"task":"t","objective":"o","limits":{"__proto__":1}}')],
      ["timeout is not a known field", { ...good, timeout: -1 }],
      ["__proto__ is not a known field", JSON.parse('{"task":"t","objective":"o","__proto__":{}}')],
      ["toString is not a known field", { ...good, toString: "x" }],
      ['permissions.repository must be a list, got "write"', { ...good, permissions: { repository: "write" } }],
      ["permissions.repository[1] must be a text, got 3", { ...good, permissions: { repository: ["docs", 3] } }],
      [
        'permissions.repository[0] must be a text that is not empty, got ""',
        { ...good, permissions: { repository: [""] } }
      ],
      [
        "permissions.__proto__ must have a name of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got [1 item]",
        JSON.parse('{"task":"t","objective":"o","permissions":{"__proto__":["x"]}}')
      ],
      [
        "permissions[\"dépôt\"] must have a name of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got [0 items]",
        { ...good, permissions: { dépôt: [] } }
      ],
      ["inputs.root must be a plain JSON value, got a function", { ...good, inputs: { root: () => "/" } }],
      ["inputs.root must be a plain JSON value, got undefined", { ...good, inputs: { root: undefined } }],
      ['inputs["two words"] must be a plain JSON value, got NaN', { ...good, inputs: { "two words": Number.NaN } }],
      ["inputs.at must be a plain JSON value, got 1n", { ...good, inputs: { at: 1n } }],
      ["inputs must have at most 128 levels", { ...good, inputs: { a: nested(200) } }],
      ["inputs must be at most 2 MiB of JSON", { ...good, inputs: { a: "x".repeat(2 * 1024 * 1024) } }],
      ["constraints must be at most 2 MiB of JSON", { ...good, constraints: ["é".repeat(1_100_000)] }],
      ["constraints[0] must be a text, got null", { ...good, constraints: [null] }],
      ["references.report.hash is required", { ...good, references: { report: { uri: "file:report.pdf" } } }],
      [
        'references.report.hash must be sha256: and 64 hexadecimal digits in lower case, got "sha256:ABC"',
        { ...good, references: { report: { uri: "file:report.pdf", hash: "sha256:ABC" } } }
      ],
      [
        'references.report.uri must be a URI with a scheme and without blanks, at most 2048 characters, got "report.pdf"',
        { ...good, references: { report: { uri: "report.pdf", hash } } }
      ],
      [
        'references.report.uri must be a URI with a scheme and without blanks, at most 2048 characters, got "file:a b"',
        { ...good, references: { report: { uri: "file:a b", hash } } }
      ],
      [
        "references.report.bytes must be a whole number of bytes >= 0, got -1",
        { ...good, references: { report: { uri: "file:r", hash, bytes: -1 } } }
      ],
      [
        'references.report.mediaType must be a media type such as text/plain, got "pdf"',
        { ...good, references: { report: { uri: "file:r", hash, mediaType: "pdf" } } }
      ],
      [
        "references.report.version must be a whole number > 0, got 0",
        { ...good, references: { report: { uri: "file:r", hash, version: 0 } } }
      ],
      [
        "references.report.sha is not a known field",
        { ...good, references: { report: { uri: "file:r", hash, sha: "x" } } }
      ],
      [
        "references.report has the name of an input",
        { ...good, inputs: { report: "short" }, references: { report: { uri: "file:r", hash } } }
      ],
      [
        "references.__proto__ must have a name of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got {2 fields}",
        JSON.parse(`{"task":"t","objective":"o","references":{"__proto__":{"uri":"file:r","hash":"${hash}"}}}`)
      ],
      [
        "dataClass must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got \"\"",
        { ...good, dataClass: "" }
      ],
      ["definitionOfDone[0].statement is required", { ...good, definitionOfDone: [{ id: "d" }] }],
      [
        'definitionOfDone[0].evidence must be true or false, got "no"',
        { ...good, definitionOfDone: [{ id: "d", statement: "s", evidence: "no" }] }
      ],
      ["definitionOfDone[0] must be an object, got [0 items]", { ...good, definitionOfDone: [[]] }],
      [
        'definitionOfDone[1].id is used twice, got "d"',
        {
          ...good,
          definitionOfDone: [
            { id: "d", statement: "s" },
            { id: "d", statement: "t" }
          ]
        }
      ],
      ['onIncomplete must be "partial" | "escalate", got "stop"', { ...good, onIncomplete: "stop" }]
    ]
    it.each(bad)("R-201 refuses with the exact field: %s", (message, input) => {
      const parsed = Contract.parse(input)
      assert.isTrue(Result.isFailure(parsed))
      if (Result.isFailure(parsed)) assert.strictEqual(parsed.failure.message, `CONTRACT_INVALID: ${message}`)
    })

    it("names every problem, and the number of the others in its message", () => {
      const parsed = Contract.parse({ task: "", limits: { steps: -1 } })
      assert.isTrue(Result.isFailure(parsed))
      if (Result.isFailure(parsed)) {
        assert.deepStrictEqual(
          parsed.failure.problems.map(({ path }) => path),
          ["task", "objective", "limits.steps"]
        )
        assert.include(parsed.failure.message, "(and 2 more)")
      }
    })

    it("shows long values shortened and objects only by their size", () => {
      const parsed = Contract.parse({ task: "x".repeat(1_000), objective: { password: "hunter2" } })
      assert.isTrue(Result.isFailure(parsed))
      if (Result.isFailure(parsed)) {
        const text = JSON.stringify(parsed.failure.problems)
        assert.isBelow(text.length, 500)
        assert.notInclude(text, "hunter2")
      }
    })

    const hostile: ReadonlyArray<readonly [string, () => unknown]> = [
      ["a circle", () => ({ ...good, inputs: { a: circular() } })],
      ["a hundred thousand levels", () => ({ ...good, inputs: { a: deep() } })],
      [
        "a getter that throws",
        () => ({
          ...good,
          get inputs() {
            throw new Error("boom")
          }
        })
      ],
      [
        "a proxy that throws",
        () =>
          new Proxy(
            {},
            {
              ownKeys: () => {
                throw new Error("boom")
              }
            }
          )
      ]
    ]
    it.each(hostile)("refuses %s without a crash", (_, input) => {
      assert.isTrue(Result.isFailure(Contract.parse(input())))
    })

    it("keeps a field called __proto__ a plain field", () => {
      const parsed = Contract.parse(JSON.parse(`{"task":"t","objective":"o","inputs":{"__proto__":{"polluted":1}}}`))
      const { inputs } = Result.getOrThrow(parsed)
      assert.deepStrictEqual(Object.keys(inputs), ["__proto__"])
      assert.notProperty({}, "polluted")
      assert.isUndefined(inputs["polluted"])
    })

    it("takes the names that objects have of their own accord for what they are in a contract", () => {
      const permissions = { constructor: ["a"], hasOwnProperty: ["b"] }
      const { permissions: kept } = Result.getOrThrow(Contract.parse({ ...good, permissions }))
      assert.deepStrictEqual(Object.entries(kept), Object.entries(permissions))
    })

    it("is a frozen copy: what happens to the inputs afterwards does not reach it", () => {
      const files = ["a.md"]
      const contract = Result.getOrThrow(Contract.parse({ ...good, inputs: { files, zero: -0 } }))
      files.push("b.md")
      assert.deepStrictEqual(contract.inputs, { files: ["a.md"], zero: 0 })
      assert.throws(() => Object.assign(contract.limits, { tokens: 1 }), TypeError)
      assert.throws(() => (contract.inputs["files"] as Array<string>).push("c.md"), TypeError)
      assert.isFalse(Object.isFrozen(files))
    })
  })

  describe("granting", () => {
    const areas: ReadonlyArray<readonly [permissions: Record<string, ReadonlyArray<string>>, message: string]> = [
      [{}, "permissions.repository is required (and 1 more)"],
      [{ repository: ["docs/**"] }, "permissions.constructor is required"],
      [
        { repository: ["docs/**"], constructor: [] },
        "permissions.constructor must name at least one scope, got [0 items]"
      ]
    ]
    it.effect.each(areas)("R-201 a worker's areas are required: %j", ([permissions, message]) =>
      Effect.gen(function* () {
        const contract = yield* Contract.make({ ...good, permissions })
        const refused = Contract.granting(contract, ["repository", "constructor"])
        assert.isTrue(Result.isFailure(refused))
        if (Result.isFailure(refused)) assert.strictEqual(refused.failure.message, `CONTRACT_INVALID: ${message}`)
      })
    )

    it.effect("R-201 the message is exact", () =>
      Effect.gen(function* () {
        const contract = yield* Contract.make(good)
        const { message } = yield* Effect.flip(Effect.fromResult(Contract.granting(contract, ["repository"])))
        assert.strictEqual(message, "CONTRACT_INVALID: permissions.repository is required")
      })
    )

    it.effect("is the contract itself when nothing is lacking", () =>
      Effect.gen(function* () {
        const contract = yield* Contract.make({ ...good, permissions: { repository: ["docs"] } })
        assert.strictEqual(Result.getOrThrow(Contract.granting(contract, ["repository"])), contract)
      })
    )
  })

  describe("digest", () => {
    const of = (fields: object) => Contract.digest(Result.getOrThrow(Contract.parse({ ...good, ...fields })))
    const base = { inputs: { a: 1, b: { c: [1, 2], d: "x" } }, limits: { tokens: 5, steps: 2 } }

    it("does not depend on the task or on the order of fields", () => {
      const turned = { limits: { steps: 2, tokens: 5 }, inputs: { b: { d: "x", c: [1, 2] }, a: 1 }, task: "other" }
      assert.strictEqual(of(base), of(turned))
      assert.match(of(base), /^[0-9a-f]{32}$/)
    })

    it("does not depend on whether a default was written down", () => {
      assert.strictEqual(of({}), of({ version: 1, constraints: [], onIncomplete: "partial" }))
    })

    const others: ReadonlyArray<readonly [string, object]> = [
      ["an input", { ...base, inputs: { a: 1, b: { c: [2, 1], d: "x" } } }],
      ["a limit", { ...base, limits: { tokens: 5 } }],
      ["a reference", { ...base, references: { r: { uri: "file:r", hash } } }],
      ["the version", { ...base, version: 2 }],
      ["the objective", { ...base, objective: "Find dead links." }],
      ["a permission", { ...base, permissions: { repository: ["docs"] } }],
      ["a requirement's evidence", { ...base, definitionOfDone: [{ id: "d", statement: "s", evidence: false }] }],
      ["the class of data", { ...base, dataClass: "personal" }],
      ["what becomes of it when incomplete", { ...base, onIncomplete: "escalate" }]
    ]
    it.each(others)("depends on %s", (_, fields) => {
      assert.notStrictEqual(of(fields), of(base))
    })

    it("tells all of these apart from each other", () => {
      assert.strictEqual(new Set(others.map(([, fields]) => of(fields))).size, others.length)
    })
  })
})
