import { dice } from "./simulate.ts"

/** What only looks like JSON, and what is on the edge of it. */
export const odd: ReadonlyArray<unknown> = [
  undefined,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  -0,
  1n,
  Symbol("x"),
  () => 1,
  new Set([1]),
  new Map([["a", 1]]),
  Array.from<unknown>({ length: 1 }).concat(1),
  Object.assign<Array<unknown>, object>([], { length: 2 }),
  Object.create(null) as unknown,
  { [Symbol("s")]: 1, a: 1 },
  JSON.parse('{"__proto__":{"a":1}}') as unknown,
  "x".repeat(2 * 1024 * 1024 + 1),
  Array.from({ length: 130 }).reduce<unknown>((inner) => [inner], 1),
  Object.defineProperty({}, "thrown", {
    enumerable: true,
    get: () => {
      throw new Error("a getter threw")
    }
  })
]

const texts = ["", " ", "a", "naïve ✓", "\ud800", "line\nbreak"]
const keys = ["a", "text", "spec", "1", "__proto__", ""]

/** Makes values as workers and tasks give them: mostly JSON, now and then with something odd in it. */
export const values = (seed: number) => {
  const { below, next, pick } = dice(seed)
  const value = (depth: number): unknown => {
    if (next() < 0.06) return pick(odd)
    const kind = below(depth > 3 ? 4 : 7)
    if (kind === 0) return pick(texts)
    if (kind === 1) return (below(2_000) - 1_000) / 8
    if (kind === 2) return pick([true, false])
    if (kind === 3) return null
    if (kind === 4) return Array.from({ length: below(4) }, () => value(depth + 1))
    return fields(depth + 1)
  }
  const fields = (depth: number): unknown =>
    Object.fromEntries(Array.from({ length: below(4) }, () => [pick(keys), value(depth)]))
  return { below, next, pick, value: () => value(0), fields: () => fields(0) }
}
