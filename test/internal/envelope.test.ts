import { assert, describe, it } from "@effect/vitest"
import { type Context, Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"

import { type Addressee, Ask, Deadlines, Envelope } from "../../src/internal/envelope.ts"
import { Runtime } from "../../src/internal/runtime.ts"

const deadlines = Effect.map(Effect.context<Scope.Scope>(), (context) => {
  const runtime = new Runtime(context as Context.Context<never>, { log: false })
  const expired: Array<string> = []
  const to: Addressee = {
    expire: (ask, millis) => {
      expired.push(`${ask.rpc} ${millis}`)
      ask.answer(Effect.void)
    },
    soon: (f) => runtime.wake(f)
  }
  const answers: Array<string> = []
  const ask = (name: string): Ask => new Ask(to, name, undefined, undefined, () => answers.push(name))
  const self = new Deadlines(runtime)
  runtime.atEnd(() => self.stop())
  return { self, ask, expired, answers, runtime }
})

describe("Envelope", () => {
  it("an ask is answered once, and not at all when it was cancelled", () => {
    const heard: Array<Effect.Effect<unknown, unknown>> = []
    const to: Addressee = { expire: () => {}, soon: (f) => f() }
    const one = new Ask(to, "One", 1, undefined, (effect) => heard.push(effect))
    const first = Effect.succeed(1)
    one.answer(first)
    one.answer(Effect.succeed(2))
    const two = new Ask(to, "Two", 2, undefined, (effect) => heard.push(effect))
    two.cancel()
    two.answer(Effect.succeed(3))
    assert.deepStrictEqual(heard, [first])
    assert.deepStrictEqual([one.cancelled, two.cancelled], [false, true])
  })

  it("answers inside answers nest only so deep; then one takes a clean stack, and nothing is lost", () => {
    const soon: Array<() => void> = []
    const to: Addressee = { expire: () => {}, soon: (f) => soon.push(f) }
    let answered = 0
    const chain = (length: number): Ask =>
      new Ask(to, "Link", undefined, undefined, () => {
        answered += 1
        if (length > 1) chain(length - 1).answer(Effect.void)
      })
    chain(1_000).answer(Effect.void)
    assert.isBelow(answered, 1_000)
    let turns = 0
    for (let next = soon.shift(); next !== undefined; next = soon.shift()) {
      turns += 1
      next()
    }
    assert.strictEqual(answered, 1_000)
    assert.isBelow(turns, 50)
  })

  it("a tell takes any answer and gives it to nobody", () => {
    const tell = new Envelope("Tell", undefined, undefined)
    tell.answer(Effect.die("nobody"))
    tell.cancel()
    assert.isTrue(tell.cancelled)
  })
})

describe("Deadlines", () => {
  it.effect("expire asks when their time has come, whatever lists they stand in", () =>
    Effect.gen(function* () {
      const { self, ask, expired } = yield* deadlines
      self.add(ask("b"), 20)
      self.add(ask("a"), 10)
      yield* TestClock.adjust("5 millis")
      self.add(ask("c"), 20)
      self.add(ask("d"), 10)
      yield* TestClock.adjust("9 millis")
      assert.deepStrictEqual(expired, ["a 10"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(expired, ["a 10", "d 10", "b 20", "c 20"])
    })
  )

  it.effect("forget asks that were answered or cancelled, at the head, in the middle and at the end", () =>
    Effect.gen(function* () {
      const { self, ask, expired, answers } = yield* deadlines
      const asks = ["a", "b", "c", "d", "e"].map(ask)
      for (const some of asks) self.add(some, 10)
      asks[0]!.answer(Effect.void)
      asks[2]!.cancel()
      asks[4]!.answer(Effect.void)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(expired, ["b 10", "d 10"])
      assert.deepStrictEqual(answers, ["a", "e", "b", "d"])
    })
  )

  it.effect("go on when an ask that expires is followed by another of the same patience at once", () =>
    Effect.gen(function* () {
      const { self, ask, expired, runtime } = yield* deadlines
      let left = 3
      const to: Addressee = {
        expire: (some) => {
          expired.push(`${some.rpc} at ${runtime.nanos() / 1e6}`)
          if ((left -= 1) > 0) self.add(new Ask(to, "again", undefined, undefined, () => {}), 10)
        },
        soon: (f) => runtime.wake(f)
      }
      self.add(new Ask(to, "again", undefined, undefined, () => {}), 10)
      self.add(ask("other"), 10)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(expired, ["again at 10", "other 10", "again at 20", "again at 30"])
    })
  )

  it.effect("expire an ask with a time-out of zero in the next turn", () =>
    Effect.gen(function* () {
      const { self, ask, expired } = yield* deadlines
      self.add(ask("now"), 0)
      yield* Effect.yieldNow
      assert.deepStrictEqual(expired, ["now 0"])
    })
  )

  it.effect("stop with their tree, and expire nothing after it", () =>
    Effect.gen(function* () {
      const { self, ask, expired } = yield* deadlines
      self.add(ask("a"), 10)
      self.add(ask("b"), 20)
      self.stop()
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(expired, [])
    })
  )
})
