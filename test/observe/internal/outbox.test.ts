import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { meaning, rejectedOf } from "../../../src/observe/internal/otlpClient.ts"
import { admit, pause } from "../../../src/observe/internal/outbox.ts"

const Size = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 }))
const Batch = Schema.Struct({ items: Size, bytes: Size })

describe("outbox", () => {
  it.prop(
    "D15 admit keeps to the bounds, or to one batch, and never drops more than it has to",
    {
      held: Schema.UndefinedOr(Batch),
      batches: Schema.Array(Batch),
      overflow: Schema.Literals(["drop-old", "drop-new"])
    },
    ({ batches, held, overflow }) => {
      const limits = { maxQueue: 50, maxBytes: 60, overflow }
      const sum = (all: ReadonlyArray<{ items: number; bytes: number }>) => ({
        items: all.reduce((total, { items }) => total + items, 0),
        bytes: all.reduce((total, { bytes }) => total + bytes, 0)
      })
      const fits = (all: ReadonlyArray<{ items: number; bytes: number }>) => {
        const { bytes, items } = sum(all)
        return items <= 50 && bytes <= 60
      }
      const rest = held === undefined ? [] : [held]
      let waiting: ReadonlyArray<{ items: number; bytes: number }> = []
      for (const next of batches) {
        const { enters, gone } = admit(limits, held, waiting, next)
        const all = [...rest, ...waiting.slice(gone), next]
        if (enters) {
          assert.isTrue(fits(all) || all.length === 1)
          if (overflow === "drop-new") assert.strictEqual(gone, 0)
          if (gone > 0) assert.isFalse(fits([...rest, ...waiting.slice(gone - 1), next]))
          waiting = [...waiting.slice(gone), next]
        } else {
          assert.strictEqual(gone, 0)
          assert.isFalse(fits(overflow === "drop-old" ? [...rest, next] : [...rest, ...waiting, next]))
        }
      }
    }
  )

  it("pause is what was asked, up to a minute, else twice the one before, up to half a minute", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6, 7].map((attempt) => pause(attempt, undefined)),
      [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
    )
    assert.deepStrictEqual(
      [-5, 0, 7_000, 3_600_000].map((asked) => pause(1, asked)),
      [0, 0, 7_000, 60_000]
    )
  })

  it("a status means what the specification of OTLP says", () => {
    const by = (wanted: string) =>
      [0, 200, 202, 204, 301, 400, 401, 404, 408, 413, 429, 500, 501, 502, 503, 504].filter(
        (status) => meaning(status) === wanted
      )
    assert.deepStrictEqual(by("Taken"), [200, 202, 204])
    assert.deepStrictEqual(by("Again"), [429, 502, 503, 504])
  })

  it("what was taken in part is read out of any answer", () => {
    const answers: ReadonlyArray<readonly [body: string, count: number]> = [
      ["", 0],
      ["{}", 0],
      ["null", 0],
      ["[1]", 0],
      ["{", 0],
      ['{"partialSuccess":null}', 0],
      ['{"partialSuccess":{"rejectedSpans":"x"}}', 0],
      ['{"partialSuccess":{"rejectedSpans":-1}}', 0],
      ['{"partialSuccess":{"rejectedSpans":"3"}}', 3],
      ['{"partialSuccess":{"rejectedDataPoints":4}}', 4],
      ['{"partialSuccess":{"rejectedLogRecords":"5","errorMessage":"x"}}', 5]
    ]
    for (const [body, count] of answers) assert.strictEqual(rejectedOf(body), count, body)
  })
})
