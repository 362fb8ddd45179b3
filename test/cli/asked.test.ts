import { assert, describe, it } from "@effect/vitest"

import { factLines, saidText } from "../../src/cli/asked.ts"
import { carriedText, waitsText } from "../../src/cli/carried.ts"

describe("what people are asked", () => {
  const nothing = { reviews: [], choices: [], timers: [], deadlines: [], orders: [], effects: [] }

  it("R-309 of an effect: its name, its arguments, and what each decision means", () => {
    const facts = { effect: "r1/effect/1", name: "charge", arguments: { cents: 5 } }
    assert.deepStrictEqual(
      factLines("reconciliation", ["answer", "retry", "reject"], { review: "r1/review/1", facts }),
      [
        "           effect: r1/effect/1",
        "           name: charge",
        `           arguments: {"cents":5}`,
        "           may answer: it has happened, and the answer is what came of it",
        "           may retry: it has not happened, and is done",
        "           may reject: the task ends as rejected"
      ]
    )
  })

  it("R-309 an answer is told with who gave it, and nothing in it is obeyed by a terminal", () => {
    const said = {
      review: "r1/review/1",
      decision: "answer",
      by: "ada",
      answer: "to\u001b[2Jmorrow",
      note: ""
    } as const
    assert.strictEqual(saidText(said), "answer by ada, answer to [2Jmorrow")
    const raised = {
      review: "r1/review/1",
      decision: "approve",
      by: "ada",
      raise: { tokens: 5 },
      note: "Enough"
    } as const
    assert.strictEqual(saidText(raised), `approve by ada, raise {"tokens":5}: Enough`)
  })

  it("R-309 who carries a run out is alive, has died, or there is nobody", () => {
    const owner = { epoch: 1, name: "7@host", since: 0, heartbeatAt: 1_000, released: false }
    assert.strictEqual(carriedText(owner, 3_000), "by 7@host, last sign of life 2 s ago")
    assert.strictEqual(
      carriedText(owner, 181_000),
      "nobody carries it out: 7@host gave its last sign of life 3 min ago and has died or stands still"
    )
    assert.strictEqual(carriedText({ ...owner, released: true }, 3_000), "nobody carries it out")
    assert.strictEqual(carriedText(undefined, 3_000), "nobody carries it out")
  })

  it("R-309 a run that waits says until when", () => {
    const timer = { timer: "r1/timer/1", subject: "a", purpose: "after", due: 5 } as const
    assert.strictEqual(waitsText({ ...nothing, timers: [timer] }, 5), "1 timer, until 1970-01-01T00:00:00.005Z")
  })
})
