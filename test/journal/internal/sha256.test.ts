import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { hasher, sha256 } from "../../../src/journal/internal/sha256.ts"

const reference = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

describe("sha256", () => {
  it("is what the standard says of nothing, of abc and of a million times a", () => {
    assert.strictEqual(sha256(new Uint8Array()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    assert.strictEqual(
      sha256(new TextEncoder().encode("abc")),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
    assert.strictEqual(
      sha256(new Uint8Array(1_000_000).fill(97)),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    )
  })

  it("is right on every side of a block's edge", () => {
    for (let length = 0; length <= 260; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => (index * 37 + length) & 0xff)
      assert.strictEqual(sha256(bytes), reference(bytes), `${length} bytes`)
    }
  })

  it("is right for a part of a larger buffer", () => {
    const bytes = Uint8Array.from({ length: 300 }, (_, index) => index & 0xff).subarray(7, 207)
    assert.strictEqual(sha256(bytes), reference(bytes))
  })

  it.prop("agrees with the one of the platform", [Schema.Array(Schema.Int)], ([numbers]) => {
    const bytes = Uint8Array.from(numbers, (number) => number & 0xff)
    assert.strictEqual(sha256(bytes), reference(bytes))
  })

  it.prop("is the same of bytes that come in parts", [Schema.Array(Schema.Array(Schema.Int))], ([parts]) => {
    const repeated = parts.map((numbers, index) =>
      Uint8Array.from(
        { length: numbers.length * (1 + 13 * index) },
        (_, at) => (numbers[at % numbers.length] ?? 0) & 0xff
      )
    )
    const whole = Uint8Array.from(repeated.flatMap((part) => [...part]))
    const inParts = hasher()
    for (const part of repeated) inParts.update(part)
    assert.strictEqual(inParts.digest(), reference(whole))
  })

  it("is the same wherever the bytes are cut", () => {
    const bytes = Uint8Array.from({ length: 200 }, (_, index) => (index * 37) & 0xff)
    for (let first = 0; first <= 200; first += 7) {
      for (let second = first; second <= 200; second += 11) {
        const inParts = hasher()
        for (const part of [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]) {
          inParts.update(part)
        }
        assert.strictEqual(inParts.digest(), reference(bytes), `cut at ${first} and ${second}`)
      }
    }
  })
})
