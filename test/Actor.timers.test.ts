import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, type Duration, Effect, Exit, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

/** Writes down what its timers send. */
class Bell extends Actor.Service<Bell>()("Bell", [
  Rpc.make("Ring", { payload: { name: Schema.String.check(Schema.isMinLength(1)) } }),
  Rpc.make("Toll", {}).annotate(Actor.Control, true),
  Rpc.make("After", { payload: { key: Schema.String, delay: Schema.Unknown, name: Schema.String } }),
  Rpc.make("Every", { payload: { key: Schema.String, period: Schema.Unknown, name: Schema.String } }),
  Rpc.make("TollAfter", { payload: { delay: Schema.Unknown } }),
  Rpc.make("Cancel", { payload: { key: Schema.String } }),
  Rpc.make("Wait", {})
]) {}

class Tower {
  readonly rung: Array<string> = []
  door = Deferred.makeUnsafe<void>()
  incarnations = 0
  /** what the init sends after a second */
  first: string | undefined
  onRing: (name: string, timers: Actor.Timers<(typeof Bell)["protocol"][number]>) => Effect.Effect<void> = () =>
    Effect.void

  open(): void {
    Deferred.doneUnsafe(this.door, Exit.void)
    this.door = Deferred.makeUnsafe<void>()
  }
}

const bell = (tower: Tower, options?: Actor.Options<never>) =>
  Bell.child(
    Effect.gen(function* () {
      const timers = yield* Bell.timers
      const incarnation = ++tower.incarnations
      if (tower.first !== undefined) yield* timers.after("first", "1 second").Ring({ name: tower.first })
      return Bell.handlers({
        Ring: ({ name }) => {
          tower.rung.push(`${name} ${incarnation}`)
          return tower.onRing(name, timers)
        },
        Toll: () => void tower.rung.push(`toll ${incarnation}`),
        After: ({ delay, key, name }) =>
          Effect.suspend(() => timers.after(key, delay as Duration.Input).Ring({ name })),
        Every: ({ key, name, period }) =>
          Effect.suspend(() => timers.every(key, period as Duration.Input).Ring({ name })),
        TollAfter: ({ delay }) => Effect.suspend(() => timers.after("toll", delay as Duration.Input).Toll()),
        Cancel: ({ key }) => timers.cancel(key),
        Wait: () => Effect.suspend(() => Deferred.await(tower.door))
      })
    }),
    options
  )

const ringing = (options?: Actor.Options<never>) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const tower = new Tower()
    const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [bell(tower, options)] }))
    return { stage, tower, tree, ref: Context.get(context, Bell) }
  })

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const forever = Actor.withTimeout("Infinity")

describe("Actor: timers", () => {
  it.effect("a timer sends its message once, after its delay", () =>
    Effect.gen(function* () {
      const { ref, tower } = yield* ringing()
      yield* ref.After({ key: "a", delay: "1 second", name: "one" })
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(tower.rung, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(tower.rung, ["one 1"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(tower.rung, ["one 1"])
    })
  )

  it.effect("a delay of zero sends soon, an infinite one never", () =>
    Effect.gen(function* () {
      const { ref, tower } = yield* ringing()
      yield* ref.After({ key: "a", delay: 0, name: "now" })
      yield* ref.After({ key: "b", delay: "Infinity", name: "never" })
      yield* until("it rang", () => tower.rung.length === 1)
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual(tower.rung, ["now 1"])
    })
  )

  it.effect("a repeated timer sends after every period until it is cancelled", () =>
    Effect.gen(function* () {
      const { ref, tower } = yield* ringing()
      yield* ref.Every({ key: "a", period: "1 second", name: "tick" })
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(tower.rung, [])
      for (let n = 1; n <= 5; n++) {
        yield* TestClock.adjust(n === 1 ? "1 millis" : "1 second")
        assert.strictEqual(tower.rung.length, n)
      }
      yield* ref.Cancel({ key: "a" })
      yield* ref.Cancel({ key: "nothing" })
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(tower.rung.length, 5)
    })
  )

  it.effect("a repeated timer keeps its beat, has one message on its way, and does not make up for missed ones", () =>
    Effect.gen(function* () {
      const { ref, tower, tree } = yield* ringing()
      yield* ref.Every({ key: "a", period: "1 second", name: "tick" })
      const busy = yield* forked(forever(ref.Wait()))
      for (let n = 0; n < 35; n++) yield* TestClock.adjust("100 millis")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Bell").mailbox, 1)
      tower.open()
      yield* Fiber.join(busy)
      yield* until("the one that waited", () => tower.rung.length === 1)
      yield* quiet
      assert.strictEqual(tower.rung.length, 1)
      yield* TestClock.adjust("499 millis")
      assert.strictEqual(tower.rung.length, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(tower.rung.length, 2)
    })
  )

  it.effect("keys are independent, and a handler may set its own key again", () =>
    Effect.gen(function* () {
      const { ref, tower } = yield* ringing()
      tower.onRing = (name, timers) =>
        name === "again" && tower.rung.length < 4 ? timers.after("a", "1 second").Ring({ name }) : Effect.void
      yield* ref.After({ key: "a", delay: "1 second", name: "again" })
      yield* ref.After({ key: "b", delay: "1500 millis", name: "other" })
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(tower.rung, ["again 1", "other 1", "again 1", "again 1"])
    })
  )

  it.effect("a key that is set again loses its old timer and what it sent", () =>
    Effect.gen(function* () {
      const { ref, tower } = yield* ringing()
      // The old timer fires while a message is in progress, behind which its key is set again.
      yield* ref.After({ key: "a", delay: "1 second", name: "old" })
      yield* ref.After({ key: "b", delay: "1 second", name: "kept" })
      yield* ref.After({ key: "c", delay: "1 second", name: "cancelled" })
      const second = yield* forked(forever(ref.Wait()))
      const again = yield* forked(forever(ref.After({ key: "a", delay: "5 seconds", name: "new" })))
      const gone = yield* forked(forever(ref.Cancel({ key: "c" })))
      yield* TestClock.adjust("1 second")
      tower.open()
      yield* Fiber.joinAll([second, again, gone])
      yield* quiet
      assert.deepStrictEqual(tower.rung, ["kept 1"])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(tower.rung, ["kept 1", "new 1"])
    })
  )

  it.effect("messages of timers are mail: behind what waits, before it for a control message", () =>
    Effect.gen(function* () {
      const { ref, tower } = yield* ringing()
      yield* ref.After({ key: "a", delay: "1 second", name: "timer" })
      yield* ref.TollAfter({ delay: "1 second" })
      const busy = yield* forked(forever(ref.Wait()))
      yield* ref.tell.Ring({ name: "mail" })
      yield* TestClock.adjust("1 second")
      tower.open()
      yield* Fiber.join(busy)
      yield* until("all came", () => tower.rung.length === 3)
      assert.deepStrictEqual(tower.rung, ["toll 1", "mail 1", "timer 1"])
    })
  )

  it.effect.each(["drop-new", "drop-old", "fail", "wait"] as const)(
    "a full mailbox treats a timer's message as any other (%s), and the next one comes",
    (whenFull) =>
      Effect.gen(function* () {
        const { ref, stage, tower } = yield* ringing({ mailbox: { capacity: 1, whenFull } })
        yield* ref.Every({ key: "a", period: "1 second", name: "tick" })
        const busy = yield* forked(forever(ref.Wait()))
        yield* quiet
        yield* ref.tell.Ring({ name: "mail" })
        yield* TestClock.adjust("1 second")
        if (whenFull === "drop-old") yield* ref.tell.Ring({ name: "newer" })
        const reasons = stage.of("DeadLetter").map(({ reason }) => reason)
        const expected = {
          "drop-new": ["dropped-new"],
          "drop-old": ["dropped-old", "dropped-old"],
          fail: ["mailbox-full"],
          wait: []
        }
        assert.deepStrictEqual(reasons, expected[whenFull])
        tower.open()
        yield* Fiber.join(busy)
        yield* TestClock.adjust("1 second")
        const rung = {
          "drop-new": ["mail 1", "tick 1"],
          "drop-old": ["newer 1", "tick 1"],
          fail: ["mail 1", "tick 1"],
          wait: ["mail 1", "tick 1", "tick 1"]
        }
        assert.deepStrictEqual(tower.rung, rung[whenFull])
      })
  )

  it.effect("a bad delay, a bad period and a bad payload are bugs of the actor", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* ringing()
      const bad = [
        [ref.After({ key: "a", delay: -1, name: "x" }), "Timers.after: delay must be a duration >= 0, got -1"],
        [ref.After({ key: "a", delay: "soon", name: "x" }), "Timers.after: delay must be a duration >= 0, got soon"],
        [ref.Every({ key: "a", period: 0, name: "x" }), "Timers.every: period must be a duration > 0, got 0"]
      ] as const
      for (const [ask, message] of bad) {
        stage.takeLog()
        assert.strictEqual((yield* Effect.flip(ask))._tag, "ActorCrashed")
        yield* until("it is up again", () => stage.of("Started").length === 1)
        const [exited] = stage.of("Exited", "Bell")
        assert(exited?.reason._tag === "Error")
        const error = Cause.squash(exited.reason.cause)
        assert(error instanceof RangeError)
        assert.strictEqual(error.message, message)
      }
      assert.strictEqual((yield* Effect.flip(ref.After({ key: "a", delay: 1, name: "" })))._tag, "ActorCrashed")
    })
  )

  it.effect(
    "a message of a repeated timer whose handler answers later, or puts it aside, is handled and comes again",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const rung: Array<string> = []
        class Slow extends Actor.Service<Slow>()("Slow", [
          Rpc.make("Later", {}),
          Rpc.make("Aside", { error: Actor.StashFull }),
          Rpc.make("Back", {})
        ]) {}
        const slow = Slow.child(
          Effect.gen(function* () {
            const timers = yield* Slow.timers
            const stash = yield* Actor.stash()
            const never = yield* Deferred.make<void>()
            let open = false
            yield* timers.every("later", "1 second").Later()
            yield* timers.every("aside", "1 second").Aside()
            return Slow.handlers({
              Later: () => {
                rung.push("later")
                return never
              },
              Aside: () => (open ? void rung.push("aside") : stash.add),
              Back: () => {
                open = true
                return stash.unstashAll
              }
            })
          })
        )
        const { context } = yield* stage.start(Supervisor.make("root", { children: [slow] }))
        for (let second = 0; second < 3; second++) yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(rung, ["later", "later", "later"])
        yield* Context.get(context, Slow).Back()
        yield* until("it came back once", () => rung.length === 4)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(rung.slice(3), ["aside", "later", "aside"])
      })
  )

  it.effect("a timer's message that waits in the stash ends with its incarnation", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const seen: Array<string> = []
      class Shy extends Actor.Service<Shy>()("Shy", [
        Rpc.make("Say", { payload: { what: Schema.String }, error: Actor.StashFull }),
        Rpc.make("Crash", {})
      ]) {}
      let incarnation = 0
      const shy = Shy.child(
        Effect.gen(function* () {
          const own = ++incarnation
          const timers = yield* Shy.timers
          const stash = yield* Actor.stash()
          if (own === 1) yield* timers.after("a", "1 second").Say({ what: "tick" })
          return Shy.handlers({
            Say: ({ what }) => (own === 1 ? stash.add : void seen.push(what)),
            Crash: () => Effect.die("boom")
          })
        })
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [shy] }))
      const ref = Context.get(context, Shy)
      yield* TestClock.adjust("1 second")
      yield* ref.tell.Say({ what: "told" })
      yield* ref.tell.Crash()
      yield* until("it is back", () => stage.of("Started", "Shy").length === 2)
      yield* quiet
      assert.deepStrictEqual(seen, ["told"])
    })
  )

  it.effect("a timer sends to its own actor, also to one that nobody else can see", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const [seen, hidden] = [new Tower(), new Tower()]
      const root = Supervisor.make("root", {
        children: [bell(seen), Child.hide(bell(hidden, { id: "hidden" }))]
      })
      for (const tower of [seen, hidden]) tower.first = "first"
      yield* stage.start(root)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([seen.rung, hidden.rung], [["first 1"], ["first 1"]])
    })
  )

  it.effect("timers are there for the init of their own actor alone", () =>
    Effect.gen(function* () {
      class Other extends Actor.Service<Other>()("Other", [Rpc.make("X", {})]) {}
      const outside = yield* Effect.exit(Bell.timers as Effect.Effect<unknown>)
      assert(Exit.isFailure(outside))
      assert.include(Cause.pretty(outside.cause), "Bell.timers: only the init of Bell has them")
      const other = Other.child(Effect.as(Bell.timers, Other.handlers({ X: () => undefined })))
      const start = yield* Effect.exit(Supervisor.start(Supervisor.make("root", { children: [other] }), { log: false }))
      assert(Exit.isFailure(start))
      assert.include(Cause.pretty(start.cause), "Bell.timers: only the init of Bell has them")
    })
  )
})
