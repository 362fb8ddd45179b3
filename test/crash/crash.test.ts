import { fileURLToPath } from "node:url"

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { withProcesses } from "../fixtures/real.ts"
import { closing, crashTest } from "./harness.ts"
import { live } from "./life.ts"

const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

describe("R-302 a killed process", () => {
  withProcesses(
    "D54 loses nothing, repeats nothing, and its runs end as they would have",
    () =>
      Effect.gen(function* () {
        const report = yield* crashTest({ points: 6, seed: 11 })
        assert.deepStrictEqual(report.found, [])
        assert.strictEqual(closing(report), "6 kills: 0 lost, 0 repeated, 0 hung")
      }),
    300_000
  )

  withProcesses(
    "R-301 would be found out if it told of events that it had not written down",
    () =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const script = fixture("writeBehind.ts")
        const report = yield* crashTest({ points: 2, seed: 4, script, told: (line) => told.push(line) })
        assert.isAbove(report.found.filter(({ kind }) => kind === "lost").length, 0)
        assert.notInclude(closing(report), " 0 lost,")
        assert.isTrue(told.some((line) => /^kill \d \(case \d, .*\): lost: event \d+ of [ab], .* is gone$/.test(line)))
      }),
    300_000
  )

  withProcesses("is told to hang when it does not end in time, and to fail when it ends too early", () =>
    Effect.gen(function* () {
      const settings = { life: 0, outside: "", store: { filename: "" }, runs: [] } as const
      const manner = { cache: "", bound: "2 seconds" } as const
      assert.deepStrictEqual(yield* live(settings, { ...manner, script: fixture("idle.ts") }), { _tag: "hung" })
      const ending = yield* live(settings, { ...manner, bound: "30 seconds" })
      assert.strictEqual(ending._tag, "failed")
    })
  )
})
