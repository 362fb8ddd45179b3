import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Contract } from "espalier/run"

const good = { task: "links", objective: "Find dead links" }

const circular = (): unknown => {
  const value: Record<string, unknown> = {}
  value["self"] = value
  return value
}

const deep = (): unknown => {
  let value: unknown = 1
  for (let level = 0; level < 100_000; level++) value = [value]
  return value
}

describe("Contract", () => {
  describe("make", () => {
    it.effect("fills in what may be left out", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Contract.make(good), {
          version: 1,
          task: "links",
          objective: "Find dead links",
          inputs: {},
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
      ["the contract must be an object, got [0 items]", []],
      ['objective must be a text that is not empty, got " "', { ...good, objective: " " }],
      [
        "task must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got \"__proto__\"",
        { ...good, task: "__proto__" }
      ],
      ["version must be a whole number > 0, got 0", { ...good, version: 0 }],
      ["version must be an integer, got 1.5", { ...good, version: 1.5 }],
      ["limits.tokens must be a whole number >= 0, got -1", { ...good, limits: { tokens: -1 } }],
      [
        "limits.deadlineMillis must be a number of milliseconds > 0, got -5",
        { ...good, limits: { deadlineMillis: -5 } }
      ],
      ["limits.cost must be a finite number, got Infinity", { ...good, limits: { cost: Infinity } }],
      ["limits.tokns is not a known field", { ...good, limits: { tokns: 1 } }],
      ['permissions.repository must be a list, got "write"', { ...good, permissions: { repository: "write" } }],
      ["inputs.root must be a plain JSON value, got a function", { ...good, inputs: { root: () => "/" } }],
      ["inputs.root must be a plain JSON value, got undefined", { ...good, inputs: { root: undefined } }],
      ['inputs["two words"] must be a plain JSON value, got NaN', { ...good, inputs: { "two words": Number.NaN } }],
      ["definitionOfDone[0].statement is required", { ...good, definitionOfDone: [{ id: "d" }] }],
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
      assert.isTrue(Result.isSuccess(parsed))
      assert.notProperty({}, "polluted")
    })
  })
})
