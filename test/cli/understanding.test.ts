import { assert, describe, it } from "@effect/vitest"
import { Duration, Result, type Schema } from "effect"

import { answerOf, editsOf, raiseOf, timeOf } from "../../src/cli/understanding.ts"

const question = (facts: { readonly [name: string]: Schema.Json } = {}) => ({ kind: "question", facts }) as const

const field = { kind: "reconciliation", facts: { field: "price" } } as const

const reasonOf = <A>(read: Result.Result<A, { readonly reason: string }>): string =>
  Result.isFailure(read) ? read.failure.reason : "understood"

describe("what is typed", () => {
  const answers: ReadonlyArray<
    readonly [Parameters<typeof answerOf>[0], string, boolean, value: Schema.Json, as: string]
  > = [
    [question(), "the left one", false, "the left one", 'the text "the left one"'],
    [question(), "5", false, 5, "the number 5"],
    [question(), "5", true, "5", 'the text "5"'],
    [question({ choices: ["5", "6"] }), "5", false, "5", 'the text "5"'],
    [question(), "true", false, true, "true"],
    [question(), `{"one":1}`, false, { one: 1 }, "an object of 1 field"],
    [question(), "[1,2]", false, [1, 2], "a list of 2 elements"],
    [question(), `"5"`, false, "5", 'the text "5"'],
    [question(), `{"one":`, false, `{"one":`, `the text "{\\"one\\":"`],
    [field, "5", false, { reconcile: { price: 5 } }, "the number 5, as the value of price"],
    [field, `{"reconcile":{"price":5}}`, false, { reconcile: { price: 5 } }, "an object of 1 field"],
    [{ kind: "reconciliation", facts: { effect: "pay" } }, "null", false, null, "null"]
  ]
  it.each(answers)("R-503 an answer to %j: %s is taken for what it is", (whole, text, asIs, value, as) => {
    assert.deepStrictEqual(answerOf(whole, text, asIs), { value, as })
  })

  it("R-503 changes are pointers and values, each once", () => {
    assert.deepStrictEqual(
      editsOf([`/to="team"`, "/times=2", "/subject=a=b", "/cc=null"]),
      Result.succeed({
        edits: { "/to": "team", "/times": 2, "/subject": "a=b", "/cc": null },
        as: ['/to to the text "team"', "/times to the number 2", '/subject to the text "a=b"', "/cc to null"]
      })
    )
    for (const [given, reason] of [
      [["/to"], `--set must be a JSON pointer and a value, such as /to="team", is /to`],
      [["to=1"], `--set must be a JSON pointer and a value, such as /to="team", is to=1`],
      [["/to=1", "/to=2"], "--set names /to twice"]
    ] as const) {
      assert.strictEqual(reasonOf(editsOf(given)), reason)
    }
  })

  it("R-503 a raise is amounts by measure", () => {
    for (const given of ["cost=1.5,tokens=100", " cost = 1.5 , tokens = 100 ", `{"cost":1.5,"tokens":100}`]) {
      assert.deepStrictEqual(raiseOf(given), Result.succeed({ cost: 1.5, tokens: 100 }))
    }
    assert.deepStrictEqual(raiseOf("{}"), Result.succeed({}))
    for (const [given, reason] of [
      ["much", "--raise must be amounts such as cost=1,tokens=100, or an object of JSON, is much"],
      ["{tokens:1}", "--raise must be amounts such as cost=1,tokens=100, or an object of JSON, is {tokens:1}"],
      ["token=1", "--raise has no measure token; known are tokens"],
      ["tokens=many", "--raise: tokens must be a number"],
      [`{"tokens":"5"}`, "--raise: tokens must be a number"]
    ] as const) {
      assert.include(reasonOf(raiseOf(given)), reason)
    }
  })

  it("R-503 a time lasts", () => {
    assert.deepStrictEqual(Result.map(timeOf("for", "2 hours"), Duration.toMillis), Result.succeed(7_200_000))
    for (const given of ["soon", "0 hours", "-1 hours", "2"]) {
      assert.include(reasonOf(timeOf("for", given)), `--for must be a time that lasts, such as "2 hours"`)
    }
  })
})
