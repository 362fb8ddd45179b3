import { assert, describe, it } from "@effect/vitest"

import { type Crossing, plan } from "./points.ts"

const trace: ReadonlyArray<Crossing> = Array.from({ length: 60 }, (_, index) => ({
  _tag: "Crossed",
  life: 0,
  boundary: `boundary ${index % 6}`,
  acknowledged: index,
  millis: index * 2
}))

describe("plan", () => {
  it("plans every kill once, in cases of at most four", () => {
    const cases = plan(7, 41, trace)
    assert.isTrue(cases.every(({ kills }) => kills.length >= 1 && kills.length <= 4))
    const numbers = cases.flatMap(({ kills }) => kills.map(({ number }) => number))
    assert.deepStrictEqual(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: 41 }, (_, index) => index + 1)
    )
  })

  it("is the same for the same seed, and another one for another", () => {
    assert.deepStrictEqual(plan(7, 40, trace), plan(7, 40, trace))
    assert.notDeepEqual(plan(7, 40, trace), plan(8, 40, trace))
  })

  it("comes by every boundary, those of taking up too", () => {
    const points = plan(1, 11, trace).flatMap(({ kills }) => kills.map(({ point }) => point))
    const names = points.flatMap((point) => (point._tag === "boundary" ? [point.name] : []))
    const taking = ["after append RunResumed", "before append RunResumed"]
    assert.deepStrictEqual([...new Set(names)].toSorted(), [
      ...taking,
      ...[0, 1, 2, 3, 4, 5].map((index) => `boundary ${index}`)
    ])
  })

  it("begins a case with what only a later life comes by after a kill that is not counted, and only if it must", () => {
    for (let seed = 0; seed < 50; seed++) {
      assert.isTrue(plan(seed, 40, trace).every(({ prelude }) => prelude === undefined))
      for (const { kills, prelude } of plan(seed, 1, trace)) {
        const point = kills[0]?.point
        const later = point?._tag === "boundary" && point.name.endsWith("RunResumed")
        assert.strictEqual(prelude !== undefined, later)
      }
    }
  })

  it("makes every eighth kill one of the server, where there is one, alone in its case", () => {
    assert.isTrue(plan(7, 40, trace).every(({ kills }) => kills.every(({ server }) => server === undefined)))
    const cases = plan(7, 41, trace, true)
    const numbers = cases.flatMap(({ kills }) => kills.map(({ number }) => number))
    assert.strictEqual(new Set(numbers).size, 41)
    const struck = cases.flatMap(({ kills }) => kills.filter(({ server }) => server !== undefined))
    assert.deepStrictEqual(
      struck.map(({ number, server }) => `${server} ${number}`),
      ["restart 8", "cut 16", "restart 24", "cut 32", "restart 40"]
    )
    for (const { kills } of cases) {
      if (kills.some(({ server }) => server !== undefined)) assert.strictEqual(kills.length, 1)
    }
  })

  it("counts on from where the life before was killed", () => {
    for (const { kills } of plan(3, 40, trace)) {
      let before = 0
      for (const { next, point } of kills) {
        if (point._tag !== "acknowledged" || next._tag !== "acknowledged") continue
        assert.isAtMost(next.events, point.events)
        assert.isAtLeast(point.events, before)
        before = point.events
      }
    }
  })
})
