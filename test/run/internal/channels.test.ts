import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { after, type Next } from "../../../src/run/internal/channels.ts"

const again = (afterMillis: number): Next => ({ _tag: "Again", afterMillis })
const over: Next = { _tag: "Over" }

describe("channels", () => {
  const table: ReadonlyArray<readonly [string, Parameters<typeof after>, Next]> = [
    ["a second, a fifth shorter", [{ retryable: true }, 1, 3, 0], again(800)],
    ["a second", [{ retryable: true }, 1, 3, 0.5], again(1_000)],
    ["two seconds, a fifth longer", [{ retryable: true }, 2, 3, 1], again(2_400)],
    ["a minute at most", [{ retryable: true }, 30, 50, 1], again(60_000)],
    ["what is asked for, if that is longer", [{ retryable: true, retryAfterMillis: 5_000 }, 1, 3, 1], again(5_000)],
    ["no less than usual", [{ retryable: true, retryAfterMillis: 1 }, 1, 3, 0.5], again(1_000)],
    ["as usual for no time at all", [{ retryable: true, retryAfterMillis: Number.NaN }, 1, 3, 0.5], again(1_000)],
    ["nothing after the last one", [{ retryable: true }, 3, 3, 0.5], over],
    ["nothing where it would not help", [{ retryable: false, retryAfterMillis: 5_000 }, 1, 3, 0.5], over],
    ["rest, after the last", [{ retryable: true, retryAfterMillis: 5 }, 3, 3, 0.5], { _tag: "Over", restMillis: 5 }],
    ["a day's rest", [{ retryable: true, retryAfterMillis: 1e12 }, 1, 3, 0], { _tag: "Over", restMillis: 86_400_000 }]
  ]
  it.each(table)("R-306 waits between attempts: %s", (_, given, expected) => {
    assert.deepStrictEqual(after(...given), expected)
  })

  it.prop(
    "R-306 never waits longer than a minute, nor shorter than it is asked to, and never rests for more than a day",
    {
      asked: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1e12 })),
      attempt: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 2_000 })),
      random: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
    },
    ({ asked, attempt, random }) => {
      const next = after({ retryable: true, retryAfterMillis: asked }, attempt, 1_000, random)
      if (next._tag === "Over") assert.isAtMost(next.restMillis ?? 0, 86_400_000)
      else {
        assert.isAtMost(next.afterMillis, 60_000)
        assert.isAtLeast(next.afterMillis, Math.max(800, Math.round(asked)))
      }
      assert.strictEqual(next._tag, attempt >= 1_000 || asked > 60_000 ? "Over" : "Again")
    }
  )
})
