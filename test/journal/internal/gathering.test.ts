import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scheduler } from "effect"

import { Gathering, Waiting } from "../../../src/journal/internal/gathering.ts"

class One extends Waiting<number, never> {
  readonly n: number

  constructor(n: number, size = 1) {
    super(size)
    this.n = n
  }
}

/** Gathers for a write that takes some turns, and keeps what it was given. */
const gatheringOf = (options: { readonly turns?: number; readonly waits?: boolean } = {}) => {
  const batches: Array<ReadonlyArray<number>> = []
  let writing = 0
  const gathering = new Gathering<number, never, One>(
    (batch) =>
      Effect.suspend(() => {
        assert.strictEqual(++writing, 1, "one writes at a time")
        batches.push(batch.map(({ n }) => n))
        return Effect.asVoid(Effect.repeat(Effect.yieldNow, { times: options.turns ?? 3 })).pipe(
          Effect.andThen(
            Effect.sync(() => {
              writing -= 1
              for (const each of batch) each.outcome = Effect.succeed(each.n * 10)
            })
          )
        )
      }),
    () => options.waits ?? true
  )
  return { batches, join: (one: One) => Effect.uninterruptible(Effect.suspend(() => gathering.join(one))) }
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

describe("Gathering", () => {
  it.effect("G1 writes each once, in the order in which they came, and answers each with its own outcome", () =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf()
      const outcomes = yield* Effect.forEach(upTo(40), (n) => join(new One(n)), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        outcomes,
        upTo(40).map((n) => n * 10)
      )
      assert.deepStrictEqual(batches, [upTo(40)])
    })
  )

  it.effect("writes at once, and alone, when there is nobody to wait for", () =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf({ waits: false, turns: 0 })
      const first = yield* Effect.forkChild(join(new One(1)), { startImmediately: true })
      assert.deepStrictEqual(batches, [[1]])
      yield* Fiber.join(first)
      assert.strictEqual(yield* join(new One(2)), 20)
      assert.deepStrictEqual(batches, [[1], [2]])
    })
  )

  it.effect("those who come while it writes are in the next write, all of them", () =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf({ waits: false })
      yield* Effect.forEach(upTo(6), (n) => join(new One(n)), { concurrency: "unbounded" })
      assert.deepStrictEqual(batches, [[0], [1, 2, 3, 4, 5]])
    })
  )

  const mebi = 1024 * 1024
  const sizes: ReadonlyArray<readonly [string, ReadonlyArray<number>, ReadonlyArray<number>]> = [
    ["1,300 small ones", upTo(1300).map(() => 1), [512, 512, 276]],
    ["exactly 512", upTo(512).map(() => 1), [512]],
    ["what is 4 MiB together", [2 * mebi, 2 * mebi, 1], [2, 1]],
    ["one that is larger alone", [5 * mebi, 1, 1], [1, 2]],
    ["a larger one between small ones", [1, 5 * mebi, 1], [1, 1, 1]]
  ]
  it.effect.each(sizes)("G2 %s", ([, chars, expected]) =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf()
      yield* Effect.forEach(chars, (size, n) => join(new One(n, size)), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        batches.map((batch) => batch.length),
        expected
      )
      assert.deepStrictEqual(batches.flat(), upTo(chars.length))
    })
  )

  it.effect("G3 does not wait for ever for those who come one by one", () =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf({ turns: 0 })
      const fibers: Array<Fiber.Fiber<number>> = []
      for (let n = 0; n < 40; n++) {
        fibers.push(yield* Effect.forkChild(join(new One(n)), { startImmediately: true }))
        // One is ahead, so that each turn of the leader has brought somebody.
        if (n > 0) yield* Effect.yieldNow
      }
      yield* Fiber.joinAll(fibers)
      assert.strictEqual(batches[0]?.length, 9)
      assert.deepStrictEqual(batches.flat(), upTo(40))
    })
  )

  it.effect("a write that dies is told to those in it, and the next ones are written", () =>
    Effect.gen(function* () {
      let writes = 0
      const gathering = new Gathering<number, never, One>(
        (batch) =>
          Effect.suspend(() => {
            writes += 1
            if (writes === 1) return Effect.andThen(Effect.yieldNow, Effect.die(new TypeError("a bug")))
            for (const each of batch) each.outcome = Effect.succeed(each.n)
            return Effect.void
          }),
        () => false
      )
      const exits = yield* Effect.forEach(
        upTo(4),
        (n) => Effect.exit(Effect.suspend(() => gathering.join(new One(n)))),
        {
          concurrency: "unbounded"
        }
      )
      const [first, ...rest] = exits
      assert.isTrue(first !== undefined && Exit.isFailure(first) && Cause.hasDies(first.cause))
      assert.deepStrictEqual(rest, [1, 2, 3].map(Exit.succeed))
      assert.deepStrictEqual(yield* Effect.suspend(() => gathering.join(new One(9))), 9)
    })
  )

  it.effect("whoever is interrupted meanwhile is written all the same, and hurts nobody", () =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf({ turns: 20 })
      const fibers = yield* Effect.forEach(upTo(5), (n) =>
        Effect.forkChild(join(new One(n)), { startImmediately: true })
      )
      // The one that leads, and one that waits for it.
      yield* Effect.forkChild(Fiber.interrupt(fibers[0]!), { startImmediately: true })
      yield* Effect.forkChild(Fiber.interrupt(fibers[3]!), { startImmediately: true })
      assert.deepStrictEqual(yield* Fiber.join(fibers[4]!), 40)
      assert.deepStrictEqual(yield* Fiber.join(fibers[1]!), 10)
      yield* Fiber.await(fibers[0]!)
      assert.deepStrictEqual(batches, [[0, 1, 2, 3, 4]])
      assert.strictEqual(yield* join(new One(7)), 70)
    })
  )

  it.effect.each(upTo(24))("G1 hears of its write when it loses its turn after %d steps on its way in", (steps) =>
    Effect.gen(function* () {
      const { batches, join } = gatheringOf({ waits: false, turns: 1 })
      const leads = yield* Effect.forkChild(join(new One(0)), { startImmediately: true })
      const way = upTo(steps).reduce<Effect.Effect<void>>((before) => Effect.andThen(before, Effect.void), Effect.void)
      const follows = yield* Effect.forkChild(
        Effect.provideService(Effect.andThen(way, join(new One(1))), Scheduler.MaxOpsBeforeYield, 16),
        { startImmediately: true }
      )
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      assert.deepStrictEqual([leads.pollUnsafe(), follows.pollUnsafe()], [Exit.succeed(0), Exit.succeed(10)])
      assert.deepStrictEqual(batches, [[0], [1]])
    })
  )
})
