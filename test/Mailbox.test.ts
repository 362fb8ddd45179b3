import { assert, describe, it } from "@effect/vitest"
import { Mailbox } from "espalier"

describe("Mailbox", () => {
  describe("make", () => {
    it("fills in the defaults: unbounded, wait, keep", () => {
      assert.deepStrictEqual(Mailbox.make(), {
        capacity: Number.POSITIVE_INFINITY,
        whenFull: "wait",
        onRestart: "keep"
      })
      assert.deepStrictEqual(Mailbox.make({ capacity: 3, whenFull: "drop-old", onRestart: "fail" }), {
        capacity: 3,
        whenFull: "drop-old",
        onRestart: "fail"
      })
    })

    for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "many", null]) {
      it(`refuses a capacity of ${String(capacity)}`, () => {
        assert.throws(
          () => Mailbox.make({ capacity: capacity as never }),
          RangeError,
          `Mailbox.make: capacity must be a whole number >= 1 or "unbounded", got ${String(capacity)}`
        )
      })
    }

    it("refuses policies that it does not know, and lists those that it does", () => {
      assert.throws(
        () => Mailbox.make({ whenFull: "drop" as never }),
        RangeError,
        "Mailbox.make: whenFull must be one of wait, drop-new, drop-old, fail, got drop"
      )
      assert.throws(
        () => Mailbox.make({ onRestart: "drop" as never }),
        RangeError,
        "Mailbox.make: onRestart must be keep or fail, got drop"
      )
    })
  })
})
