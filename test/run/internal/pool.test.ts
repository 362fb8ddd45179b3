import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"

import { Pool } from "../../../src/run/internal/pool.ts"

describe("Pool", () => {
  it.effect("gives what was put in, the oldest first", () =>
    Effect.gen(function* () {
      const pool = new Pool<string>()
      pool.put("a")
      pool.put("b")
      assert.deepStrictEqual([yield* pool.take, yield* pool.take], ["a", "b"])
    })
  )

  it.effect("gives what is put back to whoever has waited longest", () =>
    Effect.gen(function* () {
      const pool = new Pool<string>()
      const first = yield* Effect.forkChild(pool.take, { startImmediately: true })
      const second = yield* Effect.forkChild(pool.take, { startImmediately: true })
      pool.put("a")
      pool.put("b")
      assert.deepStrictEqual([yield* Fiber.join(second), yield* Fiber.join(first)], ["b", "a"])
    })
  )

  it.effect("gives nothing to who has stopped waiting", () =>
    Effect.gen(function* () {
      const pool = new Pool<string>()
      const first = yield* Effect.forkChild(pool.take, { startImmediately: true })
      const second = yield* Effect.forkChild(pool.take, { startImmediately: true })
      yield* Fiber.interrupt(first)
      pool.put("a")
      assert.strictEqual(yield* Fiber.join(second), "a")
      pool.put("b")
      assert.strictEqual(yield* pool.take, "b")
    })
  )

  it.effect.each([
    [0, { free: 0, queued: 0, held: 3 }],
    [2, { free: 0, queued: 2, held: 1 }],
    [9, { free: 0, queued: 3, held: 0 }]
  ] as const)("R-209 with %d places in its queue it serves in the order in which they came", ([places, full]) =>
    Effect.gen(function* () {
      const pool = new Pool<string>(places)
      pool.put("m")
      yield* pool.take
      const got: Array<number> = []
      for (const number of [1, 2, 3]) {
        yield* Effect.forkChild(Effect.map(pool.take, () => got.push(number)))
        yield* Effect.yieldNow
      }
      assert.deepStrictEqual(pool.count(), full)
      for (const expected of [[1], [1, 2], [1, 2, 3]]) {
        pool.put("m")
        yield* Effect.yieldNow
        assert.deepStrictEqual(got, expected)
      }
      pool.put("m")
      assert.deepStrictEqual(pool.count(), { free: 1, queued: 0, held: 0 })
    })
  )
})
