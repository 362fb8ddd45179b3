/**
 * SHA-256 in synchronous steps. WebCrypto answers only after a turn of the real event loop, which a test clock does not
 * know of.
 *
 * @see https://csrc.nist.gov/pubs/fips/180-4/upd1/final
 */
import * as Hex from "effect/encoding/Hex"

const primes = (count: number): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (let candidate = 2; found.length < count; candidate++) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate)
  }
  return found
}

/** The first 32 bits of the fractional part. */
const fraction = (value: number): number => Math.floor((value - Math.floor(value)) * 2 ** 32) | 0

const initial = Int32Array.from(primes(8), (prime) => fraction(Math.sqrt(prime)))

const constants = Int32Array.from(primes(64), (prime) => fraction(Math.cbrt(prime)))

const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** Folds one block of 64 bytes into the state. `words` is scratch room for 64 words. */
const compress = (state: Int32Array, words: Int32Array, block: DataView, offset: number): void => {
  const at = (from: Int32Array, index: number): number => from[index] ?? 0
  for (let i = 0; i < 16; i++) words[i] = block.getInt32(offset + i * 4)
  for (let i = 16; i < 64; i++) {
    const x = at(words, i - 15)
    const y = at(words, i - 2)
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10)
    words[i] = at(words, i - 16) + s0 + at(words, i - 7) + s1
  }
  let a = at(state, 0)
  let b = at(state, 1)
  let c = at(state, 2)
  let d = at(state, 3)
  let e = at(state, 4)
  let f = at(state, 5)
  let g = at(state, 6)
  let h = at(state, 7)
  for (let i = 0; i < 64; i++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + at(constants, i) + at(words, i)) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  const next = [a, b, c, d, e, f, g, h]
  next.forEach((word, i) => {
    state[i] = at(state, i) + word
  })
}

/** The last block or two: what did not fill one, a one, zeros, and the length of all in bits. */
const padded = (rest: Uint8Array, length: number): Uint8Array => {
  const tail = new Uint8Array(rest.length < 56 ? 64 : 128)
  tail.set(rest)
  tail[rest.length] = 0x80
  const view = new DataView(tail.buffer)
  view.setUint32(tail.length - 8, Math.floor(length / 2 ** 29))
  view.setUint32(tail.length - 4, (length % 2 ** 29) * 8)
  return tail
}

/** A digest of bytes that come in parts. After `digest`, which gives 64 hexadecimal digits, it is used up. */
export interface Hasher {
  readonly update: (bytes: Uint8Array) => void
  readonly digest: () => string
}

/** A hasher that has seen nothing yet. It holds no more than one block. */
export const hasher = (): Hasher => {
  const state = initial.slice()
  const words = new Int32Array(64)
  const pending = new Uint8Array(64)
  let filled = 0
  let length = 0

  const fold = (bytes: Uint8Array): void => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let offset = 0; offset + 64 <= bytes.length; offset += 64) compress(state, words, view, offset)
  }

  return {
    update: (bytes) => {
      length += bytes.length
      let whole = bytes
      if (filled > 0) {
        const first = bytes.subarray(0, 64 - filled)
        pending.set(first, filled)
        filled += first.length
        if (filled < 64) return
        fold(pending)
        whole = bytes.subarray(first.length)
      }
      fold(whole)
      const rest = whole.subarray(whole.length - (whole.length % 64))
      pending.set(rest)
      filled = rest.length
    },
    digest: () => {
      fold(padded(pending.subarray(0, filled), length))
      const digest = new Uint8Array(32)
      const view = new DataView(digest.buffer)
      state.forEach((word, i) => view.setInt32(i * 4, word))
      return Hex.encode(digest)
    }
  }
}

/** The digest of bytes as 64 hexadecimal digits. */
export const sha256 = (bytes: Uint8Array): string => {
  const whole = hasher()
  whole.update(bytes)
  return whole.digest()
}
