import { readFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CostModel, Models, ScriptedModel } from "espalier/agent"
import { JournalSqlite } from "espalier/journal"
import { Dependency, Run } from "espalier/run"

import { deskWith } from "../agent/agents.ts"
import { withCommand } from "../fixtures/real.ts"
import { folder } from "../journal/fixtures/folder.ts"
import { copied } from "../run/released.ts"
import { espalier } from "./inside.ts"

/** A journal with a run of an agent: its first model is not able to, the second one has a price. */
const spent = Effect.gen(function* () {
  const journal = join(yield* folder, "journal.db")
  const first = ScriptedModel.make([ScriptedModel.fault("quota")], { provider: "a", model: "one" })
  const usage = { inputTokens: 1_000, outputTokens: 200 }
  const second = ScriptedModel.make(
    [
      ScriptedModel.tools([{ name: "deliver", params: { output: { answer: "Fram" }, confidence: 0.9 } }], { usage }),
      ScriptedModel.text("nothing")
    ],
    { provider: "b", model: "two" }
  )
  const desk = deskWith(Models.make([{ provide: first.model }, { provide: second.model }]))
  const prices = CostModel.layer({ currency: "USD", prices: { "b/two": { input: 1, output: 5 } } })
  const services = Layer.mergeAll(JournalSqlite.layerSqlite({ filename: journal }), Dependency.layer(), prices)
  const { status } = yield* Run.start(desk, { id: "r1", input: "go", log: false }).pipe(Effect.provide(services))
  assert.strictEqual(status, "completed")
  return journal
})

describe("espalier costs", () => {
  withCommand("R-406 R-503 prints what models have used and cost, by domain and worker", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* espalier(yield* spent, ["costs", "r1"])
      assert.deepStrictEqual([code, err], [0, []])
      const golden = readFileSync(join(import.meta.dirname, "golden", "costs.txt"), "utf8")
      assert.strictEqual(`${out.join("\n")}\n`, golden)
    })
  )

  withCommand("R-406 R-503 prints JSON where it is asked to, call by call", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* espalier(yield* spent, ["costs", "r1", "--json"])
      assert.deepStrictEqual([code, err, out.length], [0, [], 1])
      const table = JSON.parse(out[0] ?? "")
      assert.deepStrictEqual(table.run.costs, [{ currency: "USD", cost: 0.002 }])
      assert.deepStrictEqual(
        table.calls.map(({ call, worker }: { readonly call: { readonly end: string }; readonly worker: string }) => [
          worker,
          call.end
        ]),
        [
          ["d.one", "capability"],
          ["d.one", "answered"]
        ]
      )
    })
  )

  withCommand("R-503 show has what the run has used, and refers to the costs for its calls", () =>
    Effect.gen(function* () {
      const journal = yield* spent
      const { out } = yield* espalier(journal, ["show", "r1"])
      assert.deepStrictEqual(
        out.filter((line) => /^(spent|paid) /.test(line)),
        [
          "spent    run: 1 steps",
          "spent    run: 1200 tokens",
          "spent    run: 0.002 cost",
          "paid     2 calls; espalier costs r1 tells of those of models"
        ]
      )
      const { paid, spent: accounts } = JSON.parse((yield* espalier(journal, ["show", "r1", "--json"])).out[0] ?? "")
      assert.strictEqual(paid, 2)
      assert.include(
        accounts.map(({ account }: { readonly account: string }) => account),
        "worker:d.one"
      )
    })
  )

  withCommand("R-503 says so where no model was asked, and which runs there are where one is not there", () =>
    Effect.gen(function* () {
      const journal = yield* copied
      assert.deepStrictEqual(yield* espalier(journal, ["costs", "finished"]), {
        code: 0,
        err: [],
        out: ["no calls of models"]
      })
      const missing = yield* espalier(journal, ["costs", "fnished"])
      assert.strictEqual(missing.code, 2)
      assert.include(missing.err.join("\n"), "the journal has no run fnished; known are finished")
      assert.strictEqual((yield* espalier(journal, ["costs"])).code, 1)
    })
  )
})
