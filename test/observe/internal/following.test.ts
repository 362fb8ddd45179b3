import { assert, describe, it } from "@effect/vitest"
import { type Cause, Deferred, Effect, Queue, Stream } from "effect"
import type { Tree } from "espalier"

import { following } from "../../../src/observe/internal/following.ts"

/** An event that cannot be taken. */
const thrown = -1

/** A tree whose events are what a test says. */
const told = Effect.gen(function* () {
  const queue = yield* Queue.unbounded<number, Cause.Done>()
  const ended = yield* Deferred.make<void>()
  const tree = { events: Stream.fromQueue(queue), ended: Deferred.await(ended) }
  const taken: Array<number> = []
  let losses = 0
  const take = (events: ReadonlyArray<unknown>): void => {
    if (events.includes(thrown)) throw new Error("the taker is broken")
    taken.push(...(events as ReadonlyArray<number>))
  }
  const follow = following(tree as unknown as Tree.Tree["Service"], take, () => void (losses += 1))
  const end = () => {
    Queue.endUnsafe(queue)
    Deferred.doneUnsafe(ended, Effect.void)
  }
  return { tell: (event: number) => Queue.offerUnsafe(queue, event), end, taken, follow, losses: () => losses }
})

describe("following", () => {
  it.effect("R-502 R-505 takes the last events of a tree that has ended, however soon the scope closes", () =>
    Effect.gen(function* () {
      const { end, follow, taken, tell } = yield* told
      yield* Effect.scoped(
        Effect.andThen(
          follow,
          Effect.sync(() => {
            for (const event of [1, 2, 3]) tell(event)
            end()
          })
        )
      )
      assert.deepStrictEqual(taken, [1, 2, 3])
    })
  )

  it.effect("R-502 R-505 takes what comes after what could not be taken, and says that it was lost", () =>
    Effect.gen(function* () {
      const { end, follow, losses, taken, tell } = yield* told
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* follow
          for (const event of [1, thrown, 2]) {
            tell(event)
            yield* Effect.repeat(Effect.yieldNow, { times: 20 })
          }
          end()
        })
      )
      assert.deepStrictEqual([taken, losses()], [[1, 2], 1])
    })
  )

  it.effect("R-502 R-505 of a tree that goes on it takes nothing after the scope, which waits for nothing", () =>
    Effect.gen(function* () {
      const { follow, taken, tell } = yield* told
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* follow
          tell(1)
          yield* Effect.repeat(Effect.yieldNow, { times: 20 })
        })
      )
      tell(2)
      yield* Effect.repeat(Effect.yieldNow, { times: 20 })
      assert.deepStrictEqual(taken, [1])
    })
  )
})
