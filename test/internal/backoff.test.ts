import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Schedule } from "effect"
import { Failure } from "espalier"

import * as Backoff from "../../src/internal/backoff.ts"

const bug: Failure.Classified = { kind: undefined, error: "bug" }
const passing = (retryAfter?: number): Failure.Classified => ({
  kind: "transient",
  error: Failure.transient("busy", retryAfter === undefined ? undefined : { retryAfter })
})

const delays = (
  self: Backoff.Backoff,
  count: number,
  schedule: Schedule.Schedule<unknown, Cause.Cause<unknown>> | undefined,
  classified: Failure.Classified
) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Backoff.next(self, schedule, classified, Cause.fail(classified.error), 0)
  )

describe("backoff", () => {
  it.effect("R-105 without a schedule nobody waits, except after a transient failure", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* delays(Backoff.make(), 3, undefined, bug), [0, 0, 0])
      for (const kind of Failure.kinds) {
        const [delay] = yield* delays(Backoff.make(), 1, undefined, { kind, error: "x" })
        assert.strictEqual(delay! > 0, kind === "transient", kind)
      }
    })
  )

  it.effect("R-105 the default doubles from a second, capped at thirty, a fifth up or down, however often", () =>
    Effect.gen(function* () {
      const seen = new Set<number>()
      for (let run = 0; run < 50; run++) {
        const millis = yield* delays(Backoff.make(), 20, undefined, passing())
        millis.forEach((delay, i) => {
          const middle = Math.min(1_000 * 2 ** i, 30_000)
          assert.isAtLeast(delay!, middle * 0.8)
          assert.isAtMost(delay!, middle * 1.2)
          seen.add(delay! / middle)
        })
      }
      assert.isAbove(seen.size, 100) // it is jittered
    })
  )

  it.effect("R-105 a capped default does not overflow after a thousand failures", () =>
    Effect.gen(function* () {
      const millis = yield* delays(Backoff.make(), 1_100, undefined, passing())
      assert.isAtMost(Math.max(...millis.map((delay) => delay!)), 36_000)
      assert.isAtLeast(millis.at(-1)!, 24_000)
    })
  )

  it.effect("R-105 retryAfter is a lower bound, and only a transient failure's is heard", () =>
    Effect.gen(function* () {
      const spaced = Schedule.spaced("100 millis")
      assert.deepStrictEqual(yield* delays(Backoff.make(), 2, spaced, passing(5_000)), [5_000, 5_000])
      assert.deepStrictEqual(yield* delays(Backoff.make(), 2, spaced, passing(50)), [100, 100])
      const denied = { kind: "denied", error: Object.assign(new Error("no"), { retryAfterMillis: 9_000 }) } as const
      assert.deepStrictEqual(yield* delays(Backoff.make(), 1, spaced, denied), [100])
      assert.isAtLeast((yield* delays(Backoff.make(), 1, undefined, passing(60_000)))[0]!, 60_000)
    })
  )

  it.effect("R-105 the place in a schedule is remembered, and a new record begins anew", () =>
    Effect.gen(function* () {
      const self = Backoff.make()
      const own = Schedule.exponential("100 millis")
      assert.deepStrictEqual(yield* delays(self, 3, own, bug), [100, 200, 400])
      assert.deepStrictEqual(yield* delays(self, 1, own, bug), [800])
      assert.deepStrictEqual(yield* delays(Backoff.make(), 1, own, bug), [100])
    })
  )

  it.effect("R-105 two children that share a schedule do not share their place in it", () =>
    Effect.gen(function* () {
      const own = Schedule.exponential("100 millis")
      const [first, second] = [Backoff.make(), Backoff.make()]
      assert.deepStrictEqual(yield* delays(first, 2, own, bug), [100, 200])
      assert.deepStrictEqual(yield* delays(second, 2, own, bug), [100, 200])
    })
  )

  it.effect("R-105 a schedule that is over, or that breaks, has no delay to give", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* delays(Backoff.make(), 3, Schedule.recurs(2), bug), [0, 0, undefined])
      const broken = Schedule.addDelay(Schedule.forever, () => Effect.die("broken"))
      assert.deepStrictEqual(yield* delays(Backoff.make(), 1, broken, bug), [undefined])
    })
  )

  it.effect("R-105 the schedule is stepped with the cause of the end", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const curious = Schedule.tap(
        Schedule.spaced("1 second").pipe(Schedule.setInputType<Cause.Cause<unknown>>()),
        ({ input }) => Effect.sync(() => void seen.push(Cause.squash(input)))
      )
      yield* delays(Backoff.make(), 1, curious, bug)
      assert.deepStrictEqual(seen, ["bug"])
    })
  )
})
