import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"

import type { Envelope } from "../../src/internal/envelope.ts"
import type { Incarnation } from "../../src/internal/mount.ts"
import { type TimerSpec, TimerTable } from "../../src/internal/timers.ts"

/** A place with a mailbox that is an array and a clock that is turned by hand. */
class Place {
  now = 0
  readonly mail: Array<Envelope> = []
  readonly sleeping = new Set<{ readonly at: number; readonly f: () => void }>()
  over: ((life: Incarnation) => void) | undefined
  readonly life = { ordered: false, over: false, struck: undefined, exit: undefined } as unknown as Incarnation
  readonly table = new TimerTable(
    {
      runtime: {
        nanos: () => this.now * 1e6,
        later: (duration: Duration.Duration, f: () => void) => {
          const sleeper = { at: this.now + Duration.toMillis(duration), f }
          this.sleeping.add(sleeper)
          return () => this.sleeping.delete(sleeper)
        }
      },
      observe: (observer: { over(life: Incarnation): void }) => (this.over = observer.over),
      unobserve: () => (this.over = undefined),
      tell: (envelope: Envelope) => this.mail.push(envelope),
      tellFirst: (envelope: Envelope) => this.mail.unshift(envelope)
    } as never,
    this.life
  )

  set(key: string, millis: number, rest: Partial<TimerSpec> = {}): void {
    this.table.set(key, { rpc: key, payload: undefined, urgent: false, millis, repeats: false, ...rest })
  }

  /** Moves the clock, at once as far as it says. */
  pass(millis: number): void {
    this.now += millis
    // Who goes to sleep meanwhile waits for the next time.
    const due = Array.from(this.sleeping).filter(({ at }) => at <= this.now)
    for (const sleeper of due) {
      this.sleeping.delete(sleeper)
      sleeper.f()
    }
  }

  /** Handles what is still wanted. */
  handle(): Array<string> {
    const wanted = this.mail.splice(0).filter(({ cancelled }) => !cancelled)
    for (const envelope of wanted) envelope.answer(undefined as never)
    return wanted.map(({ rpc }) => rpc)
  }

  get size(): number {
    return (this.table as unknown as { readonly timers: ReadonlyMap<string, unknown> }).timers.size
  }
}

describe("timers", () => {
  it("a timer that has fired is forgotten when its message is handled or dropped", () => {
    const place = new Place()
    for (let n = 0; n < 1_000; n++) place.set(`k${n}`, 1)
    place.pass(1)
    assert.deepStrictEqual([place.size, place.mail.length, place.sleeping.size], [1_000, 1_000, 0])
    for (const envelope of place.mail.splice(0, 500)) envelope.dropped()
    assert.strictEqual(place.size, 500)
    assert.strictEqual(place.handle().length, 500)
    assert.strictEqual(place.size, 0)
  })

  it("a message of a timer that was replaced does not end its successor", () => {
    const place = new Place()
    place.set("a", 1)
    place.pass(1)
    const [old] = place.mail
    place.set("a", 5)
    old!.answer(undefined as never)
    assert.deepStrictEqual([old!.cancelled, place.size, place.sleeping.size], [true, 1, 1])
    place.pass(5)
    assert.deepStrictEqual(place.handle(), ["a"])
  })

  it("a process that stood still sends one message and goes on in the old beat", () => {
    const place = new Place()
    place.set("a", 10, { repeats: true })
    place.pass(47)
    assert.deepStrictEqual(place.handle(), ["a"])
    for (let turn = 0; turn < 5; turn++) place.pass(0)
    place.pass(2)
    assert.deepStrictEqual(place.handle(), [])
    place.pass(1)
    assert.deepStrictEqual(place.handle(), ["a"])
  })

  it.each([
    ["was asked to stop", { ordered: true }],
    ["was struck", { struck: {} }],
    ["has crashed", { exit: {} }],
    ["is over", { over: true }]
  ])("nothing fires and nothing is set once the incarnation %s", (_what, state) => {
    const place = new Place()
    place.set("a", 1)
    place.set("b", 1, { repeats: true })
    Object.assign(place.life, state)
    place.pass(1)
    place.set("c", 1)
    assert.deepStrictEqual([place.mail.length, place.sleeping.size], [0, 0])
  })

  it("the end of the incarnation takes back what is queued and wakes nobody", () => {
    const place = new Place()
    place.set("a", 1)
    place.set("b", 1, { urgent: true })
    place.set("c", 5, { repeats: true })
    place.pass(1)
    place.over!({} as Incarnation)
    assert.strictEqual(place.size, 3)
    place.over!(place.life)
    assert.deepStrictEqual([place.mail.map(({ rpc }) => rpc), place.handle()], [["b", "a"], []])
    assert.deepStrictEqual([place.size, place.sleeping.size, place.over], [0, 0, undefined])
  })
})
