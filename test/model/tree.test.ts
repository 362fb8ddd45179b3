import { assert, describe, it } from "@effect/vitest"

import type { Case } from "./plan.ts"
import { generate } from "./plan.ts"
import { showCase, shrink } from "./shrink.ts"
import { trial } from "./trial.ts"

describe("a random tree", () => {
  for (const hundred of [0, 100, 200, 300, 400]) {
    it(`R-107 does what the model says and leaves nothing behind: seeds ${hundred} to ${hundred + 99}`, () => {
      for (let seed = hundred; seed < hundred + 100; seed++) {
        const wrong = trial(seed)
        assert.isUndefined(wrong, wrong)
      }
    })
  }
})

describe("generate", () => {
  it("makes the same case of the same seed, and another of another", () => {
    assert.deepStrictEqual(generate(7), generate(7))
    assert.notDeepEqual(generate(7), generate(8))
  })
})

describe("shrink", () => {
  const stops = (plan: Case): number =>
    plan.steps.flat().filter((step) => step.do === "stop" || step.do === "remove").length

  it("leaves out what is not needed for a case to fail", () => {
    const plan = generate(9)
    assert.isAbove(stops(plan), 2)
    const least = shrink(plan, (some) => stops(some) >= 2)
    assert.deepStrictEqual(
      [least.steps.length, stops(least), least.root.children.length, least.root.shutdown],
      [2, 2, 0, Number.POSITIVE_INFINITY]
    )
    assert.match(showCase(least), /^ {2}root supervisor.*\n {2}- \w+ .*\n {2}- \w+ .*\n {2}- \w+$/)
  })
})
