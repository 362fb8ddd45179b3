import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

import { encode, maxDepth } from "../../../src/journal/internal/json.ts"
import { odd, values } from "../../run/values.ts"

/** Whether a value is one that JSON can say, as far as a journal goes. */
const isJson = (value: unknown, depth: number): boolean => {
  if (typeof value === "number") return Number.isFinite(value)
  if (value === null || typeof value === "string" || typeof value === "boolean") return true
  if (typeof value !== "object" || depth >= maxDepth) return false
  if (Array.isArray(value)) return Array.from(value as Array<unknown>).every((each) => isJson(each, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return false
  return Object.values(value).every((each) => each === undefined || isJson(each, depth + 1))
}

const limit = 1_000

/** What is written, `refused`, or `thrown` where a getter throws. */
const written = (value: unknown): string => {
  try {
    return Result.getOrElse(encode(value, limit), () => "refused")
  } catch {
    return "thrown"
  }
}

const expected = (value: unknown): string => {
  try {
    const text = isJson(value, 0) ? JSON.stringify(value) : "refused"
    return new TextEncoder().encode(text).length > limit ? "refused" : text
  } catch {
    return "thrown"
  }
}

describe("encode", () => {
  it.prop(
    "R-301 writes what is JSON as it is, and refuses everything else",
    { seed: Schema.Int },
    ({ seed }) => {
      const value = values(seed).value()
      assert.strictEqual(written(value), expected(value))
    },
    { arbitrary: { runs: 1_000 } }
  )

  it.each(odd.map((value, index) => [index, value] as const))("agrees about the odd value %i", (_, value) => {
    assert.strictEqual(written(value), expected(value))
    assert.strictEqual(written([{ a: value }]), expected([{ a: value }]))
  })

  it("does not walk for ever through what is shared, or through itself", () => {
    let shared: unknown = []
    for (let level = 0; level < 60; level++) shared = [shared, shared]
    assert.isTrue(Result.isFailure(encode(shared, limit)))
    const cycle: Array<unknown> = []
    cycle.push(cycle)
    assert.isTrue(Result.isFailure(encode(cycle, limit)))
  })
})
