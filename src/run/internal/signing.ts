/**
 * Signatures of messages between servers: HMAC-SHA256 over the id, the time and the body, in synchronous steps.
 *
 * @see https://www.standardwebhooks.com
 * @since 0.1.0
 */
import * as Mac from "effect/crypto/Mac"
import * as Base64 from "effect/encoding/Base64"
import * as Hex from "effect/encoding/Hex"
import * as EffectResult from "effect/Result"

import { hasher } from "../../journal/internal/sha256.ts"

const block = 64

const bytesOf = new TextEncoder()

const hashed = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = hasher()
  for (const part of parts) whole.update(part)
  return EffectResult.getOrThrow(Hex.decode(whole.digest()))
}

/**
 * The HMAC-SHA256 of what comes in parts. WebCrypto would answer only after a turn of the real event loop, which a test
 * clock does not know of.
 *
 * @see https://www.rfc-editor.org/rfc/rfc2104
 * @since 0.1.0
 */
export const hmacSha256 = (key: Uint8Array, ...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const padded = new Uint8Array(block)
  padded.set(key.length > block ? hashed(key) : key)
  const inner = hashed(
    padded.map((byte) => byte ^ 0x36),
    ...parts
  )
  return hashed(
    padded.map((byte) => byte ^ 0x5c),
    inner
  )
}

const prefix = "whsec_"

/**
 * The key of a secret as it is handed out: base64 of 24 to 64 bytes, with or without `whsec_` in front; `undefined` for what
 * is none.
 *
 * @since 0.1.0
 */
export const keyOf = (secret: string): Uint8Array | undefined => {
  const decoded = Base64.decode(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret)
  if (EffectResult.isFailure(decoded)) return undefined
  const { length } = decoded.success
  return length >= 24 && length <= 64 ? decoded.success : undefined
}

/**
 * What is signed.
 *
 * **Details**
 *
 * - `id`: of the message; it has no `.`. `timestamp`: seconds since 1970, in digits.
 *
 * @since 0.1.0
 */
export interface Signed {
  readonly id: string
  readonly timestamp: string
  readonly body: Uint8Array
}

const tag = (key: Uint8Array, { body, id, timestamp }: Signed): Uint8Array =>
  hmacSha256(key, bytesOf.encode(`${id}.${timestamp}.`), body)

/**
 * The signatures of a message, one for each key, as they stand in a header.
 *
 * @since 0.1.0
 */
export const sign = (keys: ReadonlyArray<Uint8Array>, message: Signed): string =>
  keys.map((key) => `v1,${Base64.encode(tag(key, message))}`).join(" ")

/** More signatures than anybody has keys are not looked at. */
const mostSignatures = 32

/**
 * Whether one of the signatures in a header is that of one of the keys. How long it takes does not tell how much of one was
 * right, nor which key it was.
 *
 * @since 0.1.0
 */
export const isSigned = (keys: ReadonlyArray<Uint8Array>, message: Signed, header: string): boolean => {
  const candidates = header
    .split(" ", mostSignatures)
    .filter((each) => each.startsWith("v1,"))
    .flatMap((each) => {
      const decoded = Base64.decode(each.slice(3))
      return EffectResult.isSuccess(decoded) ? [decoded.success] : []
    })
  let found = false
  for (const key of keys) {
    const expected = tag(key, message)
    for (const candidate of candidates) {
      // Every pair is compared, whatever was found before.
      const same = Mac.timingSafeEqual(expected, candidate)
      found = found || same
    }
  }
  return found
}
