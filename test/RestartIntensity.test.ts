import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Duration, Schema } from "effect"
import { RestartIntensity } from "espalier"

const ms = (millis: number): number => millis * 1_000_000

/** What a caller without types could pass. */
const untyped = (value: unknown): never => value as never

describe("RestartIntensity", () => {
  describe("make", () => {
    it("allows 3 restarts in 5 seconds unless told otherwise", () => {
      const { restarts, within } = RestartIntensity.make()
      assert.deepStrictEqual([restarts, within], [3, Duration.seconds(5)])
    })

    it.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "3", Object.create(null)])(
      "C-018 refuses %o as restarts",
      (restarts: unknown) => {
        assert.throws(
          () => RestartIntensity.make({ restarts: untyped(restarts) }),
          RangeError,
          "RestartIntensity.make: restarts must be a whole number >= 0, got "
        )
      }
    )

    it.each([0, -1, Number.NaN, "Infinity", "-Infinity", "0 millis", "soon", {}, [Object.create(null)]])(
      "C-018 refuses %o as within",
      (within: unknown) => {
        assert.throws(
          () => RestartIntensity.make({ within: untyped(within) }),
          RangeError,
          "RestartIntensity.make: within must be a finite duration greater than zero, got "
        )
      }
    )
  })

  describe("record", () => {
    it("C-044 allows as many as it says inside the window, and not one more", () => {
      const budget = RestartIntensity.make({ restarts: 2, within: "1 second" })
      assert.deepStrictEqual(
        [0, 1, 2, 3].map((at) => RestartIntensity.record(budget, at)),
        [true, true, false, false]
      )
    })

    it("C-045 allows none at all when restarts is 0", () => {
      assert.isFalse(RestartIntensity.record(RestartIntensity.make({ restarts: 0 }), 0))
    })

    it("C-047 still counts a restart aged exactly one window, and no more a nanosecond later", () => {
      const at = (age: number): boolean => {
        const budget = RestartIntensity.make({ restarts: 1, within: "1 second" })
        RestartIntensity.record(budget, 7)
        return RestartIntensity.record(budget, 7 + age)
      }
      assert.deepStrictEqual([at(ms(1_000)), at(ms(1_000) + 1)], [false, true])
    })

    it("C-046 lets each restart leave the window by itself", () => {
      const budget = RestartIntensity.make({ restarts: 2, within: "1 second" })
      const allowed = [0, 600, 1_100, 1_700, 2_200, 2_600].map((at) => RestartIntensity.record(budget, ms(at)))
      assert.deepStrictEqual(allowed, [true, true, true, true, true, false])
    })

    it("an overdrawn budget stays so until what overdrew it leaves the window", () => {
      const budget = RestartIntensity.make({ restarts: 1, within: "1 second" })
      const allowed = [0, 500, 1_200, 2_300].map((at) => RestartIntensity.record(budget, ms(at)))
      assert.deepStrictEqual(allowed, [true, false, false, true])
    })

    it("R2 keeps no more than it needs, whatever is recorded", () => {
      const budget = RestartIntensity.make({ restarts: 3, within: "1 second" })
      for (let i = 0; i < 100_000; i++) RestartIntensity.record(budget, i)
      assert.strictEqual(RestartIntensity.times(budget).length, 4)
      assert.isBelow(budget.marks.length, 128)
    })

    const int = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))

    it.prop(
      "C-046 R-104 agrees with counting by hand, as long as the budget is kept",
      { restarts: int(4), within: int(20), steps: Arbitrary.array(int(12), { maxLength: 200 }) },
      ({ restarts, within, steps }) => {
        const budget = RestartIntensity.make({ restarts, within: within + 1 })
        const times: Array<number> = []
        let now = 0
        for (const step of steps) {
          now += step
          const inside = times.filter((time) => now - time <= within + 1)
          assert.strictEqual(RestartIntensity.left(budget, ms(now)), restarts - inside.length)
          if (inside.length === restarts) {
            // A tree ends here; a budget that is asked about a copy is not changed.
            assert.isFalse(RestartIntensity.record({ ...budget, marks: [...budget.marks] }, ms(now)))
            continue
          }
          assert.isTrue(RestartIntensity.record(budget, ms(now)))
          times.push(now)
        }
      },
      { arbitrary: { runs: 500, size: 200, seed: "espalier" } }
    )
  })

  describe("left, times and reset", () => {
    it("tell what is left, since when, and begin anew", () => {
      const budget = RestartIntensity.make({ restarts: 2, within: "1 second" })
      RestartIntensity.record(budget, ms(100))
      RestartIntensity.record(budget, ms(200))
      assert.strictEqual(RestartIntensity.left(budget, ms(200)), 0)
      assert.deepStrictEqual(RestartIntensity.times(budget), [ms(100), ms(200)])
      assert.strictEqual(RestartIntensity.left(budget, ms(1_101)), 1)
      RestartIntensity.record(budget, ms(1_101))
      RestartIntensity.record(budget, ms(1_102))
      assert.strictEqual(RestartIntensity.left(budget, ms(1_102)), 0) // never negative
      RestartIntensity.reset(budget)
      assert.deepStrictEqual([RestartIntensity.left(budget, ms(1_102)), RestartIntensity.times(budget)], [2, []])
    })

    it("looking at what is left changes nothing, though what is recorded next may be older than the look", () => {
      const budget = RestartIntensity.make({ restarts: 1, within: "1 second" })
      RestartIntensity.record(budget, ms(100))
      assert.strictEqual(RestartIntensity.left(budget, ms(1_500)), 1)
      assert.isFalse(RestartIntensity.record(budget, ms(1_050)))
    })
  })
})
