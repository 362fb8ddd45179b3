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
})
