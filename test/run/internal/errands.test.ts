import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"

import { Errands } from "../../../src/run/internal/errands.ts"
import { settle } from "../desks.ts"

const made = Effect.fnUntraced(function* (atOnce: number) {
  const scope = yield* Effect.scope
  const log: Array<string> = []
  const context = yield* Effect.context<never>()
  const errands = new Errands(
    atOnce,
    (effect) => void Effect.runSyncWith(context)(Effect.forkIn(effect, scope)),
    () => log.push("idle")
  )
  const gates = new Map<string, Deferred.Deferred<void>>()
  const add = (subject: string, name: string) => {
    const gate = Deferred.makeUnsafe<void>()
    gates.set(name, gate)
    errands.add(
      subject,
      Effect.andThen(
        Effect.sync(() => log.push(name)),
        Deferred.await(gate)
      )
    )
  }
  const finish = (name: string) => Effect.andThen(Deferred.succeed(gates.get(name)!, undefined), settle)
  return { add, errands, finish, log }
})

describe("Errands", () => {
  it.effect("are so many at once, and of one subject one after the other", () =>
    Effect.gen(function* () {
      const { add, errands, finish, log } = yield* made(2)
      for (const [subject, name] of ["a1", "a2", "b1", "c1"].map((name) => [name.charAt(0), name] as const)) {
        add(subject, name)
      }
      yield* settle
      assert.deepStrictEqual(log, ["a1", "b1"])
      yield* finish("b1")
      assert.deepStrictEqual(log, ["a1", "b1", "c1"])
      yield* finish("a1")
      assert.deepStrictEqual(log, ["a1", "b1", "c1", "a2"])
      assert.isFalse(errands.isIdle())
      yield* finish("c1")
      yield* finish("a2")
      assert.deepStrictEqual([errands.isIdle(), log.at(-1)], [true, "idle"])
    }).pipe(Effect.scoped)
  )

  it.effect("do not begin any more once they are closed", () =>
    Effect.gen(function* () {
      const { add, errands, finish, log } = yield* made(1)
      add("a", "a1")
      add("b", "b1")
      yield* settle
      errands.close()
      yield* finish("a1")
      add("c", "c1")
      yield* settle
      assert.deepStrictEqual(log, ["a1", "idle"])
    }).pipe(Effect.scoped)
  )

  it.effect("a thousand that are over at once are no thousand calls deep", () =>
    Effect.gen(function* () {
      let done = 0
      const errands = new Errands(
        1,
        (effect) => Effect.runSync(effect),
        () => {}
      )
      for (let n = 0; n < 20_000; n++)
        errands.add(
          "a",
          Effect.sync(() => void (done += 1))
        )
      yield* settle
      assert.deepStrictEqual([done, errands.isIdle()], [20_000, true])
    })
  )
})
