import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Fiber } from "effect"
import { Failure } from "espalier"
import { Allowance, Budget } from "espalier/run"

/** A call that says when it has begun and then waits for ever. */
const hanging = Effect.gen(function* () {
  const begun = yield* Deferred.make<void>()
  return { begun: Deferred.await(begun), effect: Effect.andThen(Deferred.succeed(begun, undefined), Effect.never) }
})

describe("Allowance", () => {
  describe("call", () => {
    it.effect("D32 R-210 does not begin a call whose estimate does not fit", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000 } })
        let begun = 0
        const call = allowance.call(
          { tokens: 400 },
          Effect.sync(() => (begun += 1)),
          () => ({ tokens: 400 })
        )
        assert.deepStrictEqual([yield* call, yield* call], [1, 2])
        const refused = yield* Effect.flip(call)
        assert.instanceOf(refused, Budget.BudgetExceeded)
        assert.strictEqual(Failure.kindOf(refused), "exhausted")
        assert.deepStrictEqual(
          [refused.account, refused.measure, refused.settled, refused.asked],
          ["the dispatch", "tokens", 800, 400]
        )
        assert.strictEqual(begun, 2)
        assert.deepStrictEqual(yield* allowance.used, { tokens: 800 })
      })
    )

    it.effect("D33 refuses one call above the cap for a single one, although enough remains", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 5_000 }, perCall: { tokens: 500 } })
        let begun = 0
        const call = (tokens: number) =>
          allowance.call(
            { tokens },
            Effect.sync(() => (begun += 1)),
            () => ({ tokens })
          )
        const refused = yield* Effect.flip(call(900))
        assert.deepStrictEqual([refused.account, refused.limit, refused.asked], ["one call", 500, 900])
        assert.strictEqual(begun, 0)
        assert.deepStrictEqual(yield* allowance.left, { tokens: 5_000 })
        yield* call(500)
        yield* call(500)
        assert.deepStrictEqual([begun, yield* allowance.left], [2, { tokens: 4_000 }])
      })
    )

    it.effect("D33 tells inside the dispatch what is left and what is used", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000, toolCalls: 3 } })
        const inside = yield* allowance.call({ tokens: 300, toolCalls: 1 }, allowance.left, () => ({ tokens: 100 }))
        assert.deepStrictEqual(inside, { tokens: 700, toolCalls: 2 })
        assert.deepStrictEqual(yield* allowance.left, { tokens: 900, toolCalls: 2 })
        assert.deepStrictEqual(yield* allowance.used, { tokens: 100, toolCalls: 1 })
      })
    )

    it.effect("D35 charges a call that is cancelled in flight with its reservation, and leaves nothing reserved", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000 } })
        const { begun, effect } = yield* hanging
        const fiber = yield* Effect.forkChild(allowance.call({ tokens: 400 }, effect))
        yield* begun
        assert.deepStrictEqual([yield* allowance.left, yield* allowance.used], [{ tokens: 600 }, {}])
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual([yield* allowance.left, yield* allowance.used], [{ tokens: 600 }, { tokens: 400 }])
        // All that is left can be reserved: nothing of the cancelled call is still open.
        yield* allowance.call({ tokens: 600 }, Effect.void)
      })
    )

    it.effect("D35 charges a cancelled call with what the provider has reported by then", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000, cost: 1 } })
        const { begun, effect } = yield* hanging
        let streamed = 0
        const stream = Effect.andThen(
          Effect.sync(() => (streamed = 70)),
          effect
        )
        const fiber = yield* Effect.forkChild(
          allowance.call({ tokens: 400, cost: 0.2 }, stream, (exit) => {
            assert.isTrue(Exit.hasInterrupts(exit))
            return { tokens: streamed }
          })
        )
        yield* begun
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* allowance.used, { tokens: 70, cost: 0.2 })
      })
    )

    it.effect("settles a call that fails or dies, and passes its end on", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000 } })
        const failed = yield* Effect.exit(allowance.call({ tokens: 100 }, Effect.fail("no"), () => ({ tokens: 30 })))
        assert.deepStrictEqual(failed, Exit.fail("no"))
        const died = yield* Effect.exit(allowance.call({ tokens: 100 }, Effect.die("bug")))
        assert.deepStrictEqual(died, Exit.die("bug"))
        assert.deepStrictEqual([yield* allowance.left, yield* allowance.used], [{ tokens: 870 }, { tokens: 130 }])
      })
    )

    it.effect("charges the estimate and dies when the usage cannot be told", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000 } })
        const exit = yield* Effect.exit(
          allowance.call({ tokens: 100 }, Effect.void, () => {
            throw new TypeError("no usage in the answer")
          })
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.deepStrictEqual([yield* allowance.left, yield* allowance.used], [{ tokens: 900 }, { tokens: 100 }])
      })
    )

    it.effect("R-210 refuses every call after one that used more than it reserved", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000 }, account: "the third dispatch" })
        yield* allowance.call({ tokens: 100 }, Effect.void, () => ({ tokens: 101 }))
        const refused = yield* Effect.flip(allowance.call({ toolCalls: 1 }, Effect.void))
        assert.deepStrictEqual([refused.account, refused.closed], ["the third dispatch", true])
        assert.deepStrictEqual(yield* allowance.used, { tokens: 101 })
      })
    )

    it.effect("A3 calls at the same time share what is left, and what is freed can be reserved again", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 1_000 } })
        const gate = yield* Deferred.make<void>()
        let running = 0
        const work = Effect.andThen(
          Effect.sync(() => (running += 1)),
          Deferred.await(gate)
        )
        const fibers = yield* Effect.forEach(Array.from({ length: 10 }), () =>
          Effect.forkChild(Effect.exit(allowance.call({ tokens: 300 }, work, () => ({ tokens: 200 }))), {
            startImmediately: true
          })
        )
        assert.strictEqual(running, 3)
        assert.deepStrictEqual(yield* allowance.left, { tokens: 100 })
        yield* Deferred.succeed(gate, undefined)
        const exits = yield* Effect.forEach(fibers, Fiber.join)
        assert.strictEqual(exits.filter(Exit.isSuccess).length, 3)
        assert.deepStrictEqual([yield* allowance.left, yield* allowance.used], [{ tokens: 400 }, { tokens: 600 }])
        yield* allowance.call({ tokens: 400 }, Effect.void)
      })
    )

    it.effect("is a reservation of its own each time that it is run", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { toolCalls: 2 } })
        const call = allowance.call({ toolCalls: 1 }, Effect.succeed("found"))
        assert.deepStrictEqual([yield* call, yield* call], ["found", "found"])
        const refused = yield* Effect.flip(call)
        assert.deepStrictEqual([refused.settled, refused.reserved], [2, 0])
      })
    )

    it.effect("limits nothing when nothing is limited, and counts all the same", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: {} })
        yield* allowance.call({ tokens: 1e12 }, Effect.void, () => ({ tokens: 2e12, steps: 1 }))
        assert.deepStrictEqual([yield* allowance.left, yield* allowance.used], [{}, { steps: 1, tokens: 2e12 }])
      })
    )

    it.effect("dies before it begins when the estimate is no amount", () =>
      Effect.gen(function* () {
        const allowance = yield* Allowance.make({ limit: { tokens: 10 } })
        let begun = false
        const exit = yield* Effect.exit(
          allowance.call(
            { tokens: -1 },
            Effect.sync(() => (begun = true))
          )
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.isFalse(begun)
        assert.deepStrictEqual(yield* allowance.left, { tokens: 10 })
      })
    )
  })

  describe("make", () => {
    it.effect.each([{ limit: { tokens: -1 } }, { limit: {}, perCall: { cost: Number.NaN } }])(
      "dies with the options %j",
      (options) =>
        Effect.gen(function* () {
          const exit = yield* Effect.exit(Allowance.make(options))
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        })
    )
  })
})
