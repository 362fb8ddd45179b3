import { createHmac } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { hmacSha256, isSigned, keyOf, sign } from "../../../src/run/internal/signing.ts"

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("signing", () => {
  // RFC 4231, cases 1, 2, 3, 6 and 7.
  it.each([
    ["0b".repeat(20), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"],
    [
      hex(bytes("Jefe")),
      "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ],
    [
      "aa".repeat(131),
      "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ]
  ])("R-306 is HMAC-SHA256 by its test vectors: %s, %s", (key, data, expected) => {
    assert.strictEqual(hex(hmacSha256(Buffer.from(key, "hex"), bytes(data))), expected)
  })

  it.prop(
    "R-306 is the HMAC of Node.js, for keys and data of any length, in whatever parts",
    { key: Schema.Uint8Array, data: Schema.Uint8Array, cut: Schema.Int },
    ({ cut, data, key }) => {
      const parts = [data.subarray(0, cut), data.subarray(cut < 0 ? Math.max(0, data.length + cut) : cut)]
      assert.strictEqual(hex(hmacSha256(key, ...parts)), createHmac("sha256", key).update(data).digest("hex"))
    }
  )

  it("R-306 signs as the Standard Webhooks libraries do", () => {
    const key = keyOf("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") ?? assert.fail("no key")
    const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: "1614265330", body: bytes(`{"test": 2432232314}`) }
    const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert.strictEqual(sign([key], message), signature)
    assert.isTrue(isSigned([key], message, signature))
    assert.deepStrictEqual(keyOf("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), key)
  })

  it.each([
    ["", false],
    ["whsec_", false],
    [`whsec_${btoa("x".repeat(23))}`, false],
    [`whsec_${btoa("x".repeat(24))}`, true],
    [btoa("x".repeat(64)), true],
    [btoa("x".repeat(65)), false],
    ["a secret that somebody has made up!!", false]
  ])("R-306 %j is a secret: %s", (secret, expected) => {
    assert.strictEqual(keyOf(secret) !== undefined, expected)
  })
})
