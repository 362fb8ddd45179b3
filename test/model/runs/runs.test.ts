import { assert, describe, it } from "@effect/vitest"

import { type Case, generate } from "./case.ts"
import { rates } from "./rates.ts"
import { showCase, shrink } from "./shrink.ts"
import { livingTrial, pureTrial } from "./trial.ts"
import { walk } from "./walk.ts"

const hundreds = [0, 100, 200, 300, 400]

/** What is wrong with the first seed of a hundred that does not hold. */
const firstWrong = (hundred: number, trial: (seed: number) => string | undefined): string | undefined => {
  for (let seed = hundred; seed < hundred + 100; seed++) {
    const wrong = trial(seed)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

describe("the decisions of a random run", () => {
  for (const hundred of hundreds) {
    it(`R-702 are possible, the same again, and lead to an end: seeds ${hundred} to ${hundred + 99}`, () => {
      const wrong = firstWrong(hundred, pureTrial)
      assert.isUndefined(wrong, wrong)
    })
  }
})

describe("a random run in a living office", () => {
  for (const hundred of hundreds) {
    it(`R-702 ends in time, within its budget, and leaves nothing behind: seeds ${hundred} to ${hundred + 99}`, () => {
      const wrong = firstWrong(hundred, livingTrial)
      assert.isUndefined(wrong, wrong)
    })
  }
})

describe("unreliable workers", () => {
  it("R-703 let 95 of 100 runs succeed, or end in time with what there is", () => {
    const { runs, succeeded, wrong } = rates(0, 100)
    assert.deepStrictEqual(wrong, [])
    assert.isAtLeast(succeeded, runs * 0.95)
  })
})

describe("generate", () => {
  it("makes the same case of the same seed, and another of another", () => {
    assert.deepStrictEqual(generate(7), generate(7))
    assert.notDeepEqual(generate(7), generate(8))
  })

  it("makes cases that go the same way again", () => {
    assert.deepStrictEqual(walk(generate(11)).events, walk(generate(11)).events)
  })
})

describe("shrink", () => {
  it("leaves out what is not needed for a case to fail", () => {
    const asks = (plan: Case): boolean => walk(plan).events.some(({ _tag }) => _tag === "Consulted")
    const plan = Array.from({ length: 100 }, (_, seed) => generate(seed)).find(
      (each) => asks(each) && each.root.tasks.length > 3
    )!
    const least = shrink(plan, asks)
    assert.isAtMost(least.root.tasks.length, 1)
    assert.strictEqual(least.trouble.cancelAt, undefined)
    assert.match(showCase(least), /^ {2}\{"seed":\d+/)
  })
})
