import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { Plan } from "espalier/run"

import { Contracts } from "../../../src/run/internal/contracts.ts"
import { odd, values } from "../values.ts"

const hash = `sha256:${"0".repeat(64)}`

const templates: ReadonlyArray<Plan.Task<never>> = [
  { id: "plain", worker: "d.one", objective: "Do it" },
  {
    id: "full",
    worker: "d.one",
    objective: "Do it",
    constraints: ["Quietly"],
    permissions: { repository: ["docs"] },
    references: { spec: { uri: "store:spec", hash } },
    definitionOfDone: [{ id: "done", statement: "It is done" }],
    limits: { tokens: 100, deadlineMillis: 1_000 }
  },
  { id: "bad", worker: "d.one", objective: "", limits: { tokens: -1 } }
]

const ids = ["plain", "group/other", "full#2", "9th", ""]

/** Everything that can be told apart, the order of fields included. */
const seen = (contract: ReturnType<Contracts["of"]>) =>
  Result.match(contract, {
    onFailure: ({ message, problems }) => ({ message, problems }),
    onSuccess: (contract) => ({ contract, text: JSON.stringify(contract) })
  })

const isFrozen = (value: unknown): boolean =>
  typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen))

describe("Contracts", () => {
  it.prop(
    "R-202 agrees with the schema about every contract, also about why it is none",
    { seed: Schema.Int },
    ({ seed }) => {
      const { fields, next, pick, value } = values(seed)
      const template = pick(templates)
      const id = pick(ids)
      const inputs = next() < 0.8 ? fields() : value()
      const amendment = pick([
        undefined,
        undefined,
        undefined,
        {},
        { objective: "Do it again" },
        { limits: { steps: -1 } }
      ])
      const contracts = new Contracts()
      const expected = seen(Plan.contract({ ...template, id }, inputs, amendment))
      for (const _ of ["once", "again"]) {
        const contract = contracts.of(template, id, inputs, amendment)
        assert.deepStrictEqual(seen(contract), expected)
        if (Result.isSuccess(contract)) assert.isTrue(isFrozen(contract.success))
      }
    },
    { arbitrary: { runs: 500 } }
  )

  it.each(odd.map((value, index) => [index, value] as const))("agrees about the odd input %i", (_, value) => {
    const inputs = { a: value }
    const template = templates[0]!
    assert.deepStrictEqual(
      seen(new Contracts().of(template, "plain", inputs, undefined)),
      seen(Plan.contract(template, inputs))
    )
  })

  it("hands out copies that nothing done to the inputs changes", () => {
    const inputs = { list: [1] }
    const contract = new Contracts().of(templates[0]!, "plain", inputs, undefined)
    inputs.list.push(2)
    assert.deepStrictEqual(Result.getOrThrow(contract).inputs, { list: [1] })
  })
})
