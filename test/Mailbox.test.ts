import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Mailbox, Supervisor } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

/** An actor whose first message, `Hold`, keeps it busy until the door opens, so that mail piles up. */
class Box extends Actor.Service<Box>()("Box", [
  Rpc.make("Hold", {}),
  Rpc.make("Put", { payload: { n: Schema.Finite }, success: Schema.Finite })
]) {}

const holding = (mailbox: Mailbox.Options) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const door = yield* Deferred.make<void>()
    const handled: Array<number> = []
    const box = Box.child(
      Effect.succeed(
        Box.handlers({
          Hold: () => Deferred.await(door),
          Put: ({ n }) => {
            handled.push(n)
            return n
          }
        })
      ),
      { mailbox }
    )
    const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [box] }))
    const ref = Context.get(context, Box)
    yield* ref.tell.Hold()
    yield* until("it is busy", () => stage.steps.includes("Started root"))
    yield* quiet
    const depth = Effect.map(tree.snapshot, (snapshot) => nodeOf(snapshot, "Box").mailbox)
    return { stage, ref, tree, handled, depth, open: Deferred.succeed(door, undefined) }
  })

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const dropped = (stage: Stage) => stage.of("DeadLetter").map((event) => [event.message, event.reason])

describe("Mailbox", () => {
  describe("make", () => {
    it("fills in the defaults: unbounded, wait, keep", () => {
      assert.deepStrictEqual(Mailbox.make(), {
        capacity: Number.POSITIVE_INFINITY,
        whenFull: "wait",
        onRestart: "keep"
      })
      assert.deepStrictEqual(Mailbox.make({ capacity: 3, whenFull: "drop-old", onRestart: "fail" }), {
        capacity: 3,
        whenFull: "drop-old",
        onRestart: "fail"
      })
    })

    for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "many", null]) {
      it(`refuses a capacity of ${String(capacity)}`, () => {
        assert.throws(
          () => Mailbox.make({ capacity: capacity as never }),
          RangeError,
          `Mailbox.make: capacity must be a whole number >= 1 or "unbounded", got ${String(capacity)}`
        )
      })
    }

    it("refuses policies that it does not know, and lists those that it does", () => {
      assert.throws(
        () => Mailbox.make({ whenFull: "drop" as never }),
        RangeError,
        "Mailbox.make: whenFull must be one of wait, drop-new, drop-old, fail, got drop"
      )
      assert.throws(
        () => Mailbox.make({ onRestart: "drop" as never }),
        RangeError,
        "Mailbox.make: onRestart must be keep or fail, got drop"
      )
    })
  })

  describe("C-159 R-109 a full mailbox", () => {
    it.effect("is never full when it is unbounded", () =>
      Effect.gen(function* () {
        const { ref, handled, depth, open } = yield* holding({})
        for (let n = 0; n < 10_000; n++) assert.isTrue(ref.tellUnsafe.Put({ n }))
        assert.strictEqual(yield* depth, 10_000)
        yield* open
        yield* ref.Put({ n: -1 })
        assert.lengthOf(handled, 10_001)
        assert.deepStrictEqual(handled.slice(-2), [9_999, -1])
      })
    )

    it.effect("with wait, suspends tells and asks, and lets them in by the order in which they came", () =>
      Effect.gen(function* () {
        const { ref, handled, depth, open, stage } = yield* holding({ capacity: 2 })
        const tells = yield* Effect.forEach([1, 2, 3], (n) => forked(ref.tell.Put({ n })))
        const ask = yield* forked(ref.Put({ n: 4 }))
        const last = yield* forked(ref.tell.Put({ n: 5 }))
        yield* quiet
        assert.deepStrictEqual(
          [...tells, last].map((fiber) => fiber.pollUnsafe() !== undefined),
          [true, true, false, false]
        )
        assert.strictEqual(yield* depth, 2)
        assert.isFalse(ref.tellUnsafe.Put({ n: 6 }))
        yield* open
        yield* Fiber.joinAll([...tells, last])
        assert.strictEqual(yield* Fiber.join(ask), 4)
        yield* quiet
        assert.deepStrictEqual(handled, [1, 2, 3, 4, 5])
        assert.deepStrictEqual(dropped(stage), [])
      })
    )

    it.effect("with wait, a waiting sender that is interrupted neither enters nor holds up those behind it", () =>
      Effect.gen(function* () {
        const { ref, handled, open } = yield* holding({ capacity: 1 })
        yield* ref.tell.Put({ n: 1 })
        const gone = yield* Effect.forEach(
          [ref.tell.Put({ n: 2 }), ref.Put({ n: 3 }), ref.tell.Put({ n: 4 })],
          (send) => forked(send as Effect.Effect<unknown, unknown>)
        )
        const stays = yield* forked(ref.tell.Put({ n: 5 }))
        yield* quiet
        yield* Effect.forEach(gone, Fiber.interrupt)
        yield* open
        yield* quiet
        assert.isTrue(Exit.isSuccess(stays.pollUnsafe() ?? Exit.fail("it still waits")))
        assert.deepStrictEqual(handled, [1, 5])
      })
    )

    it.effect("with wait, a sender's time-out counts while it waits for room", () =>
      Effect.gen(function* () {
        const { ref, open, handled } = yield* holding({ capacity: 1 })
        yield* ref.tell.Put({ n: 1 })
        const ask = yield* forked(Effect.flip(Actor.withTimeout(0)(ref.Put({ n: 2 }))))
        yield* quiet
        assert.strictEqual((yield* Fiber.join(ask))._tag, "AskTimeout")
        yield* open
        yield* ref.Put({ n: 3 })
        // As with every time-out, the message itself was sent.
        assert.deepStrictEqual(handled, [1, 2, 3])
      })
    )

    it.effect("with wait, those who wait are released when the actor stops", () =>
      Effect.gen(function* () {
        const { ref, stage, tree } = yield* holding({ capacity: 1 })
        yield* ref.tell.Put({ n: 1 })
        const tell = yield* forked(ref.tell.Put({ n: 2 }))
        const ask = yield* forked(Effect.flip(ref.Put({ n: 3 })))
        yield* tree.stop
        yield* Fiber.join(tell)
        assert.strictEqual((yield* Fiber.join(ask))._tag, "ActorStopped")
        assert.deepStrictEqual(dropped(stage), [
          ["Hold", "interrupted"],
          ["Put", "stopped"],
          ["Put", "stopped"]
        ])
      })
    )

    it.effect("with drop-new, makes the newcomer a dead letter, and an ask fails with MailboxFull", () =>
      Effect.gen(function* () {
        const { ref, handled, open, stage } = yield* holding({ capacity: 2, whenFull: "drop-new" })
        for (const n of [1, 2, 3]) yield* ref.tell.Put({ n })
        const error = yield* Effect.flip(ref.Put({ n: 4 }))
        assert.strictEqual(error.message, "the mailbox of root/Box is full: 2 messages wait, Put was not taken")
        assert.isFalse(ref.tellUnsafe.Put({ n: 5 }))
        assert.deepStrictEqual(dropped(stage), [["Put", "dropped-new"]])
        yield* open
        yield* quiet
        assert.deepStrictEqual(handled, [1, 2])
      })
    )

    it.effect("with drop-old, makes the oldest a dead letter, and its asker fails with MailboxFull", () =>
      Effect.gen(function* () {
        const { ref, handled, open, stage, depth } = yield* holding({ capacity: 2, whenFull: "drop-old" })
        const ask = yield* forked(Effect.flip(ref.Put({ n: 1 })))
        for (const n of [2, 3, 4]) yield* ref.tell.Put({ n })
        assert.strictEqual((yield* Fiber.join(ask))._tag, "MailboxFull")
        assert.strictEqual(yield* depth, 2)
        assert.deepStrictEqual(dropped(stage), [
          ["Put", "dropped-old"],
          ["Put", "dropped-old"]
        ])
        yield* open
        yield* quiet
        assert.deepStrictEqual(handled, [3, 4])
      })
    )

    it.effect("with drop-old, keeps its capacity when the one who was dropped asks again at once", () =>
      Effect.gen(function* () {
        const { ref, depth, open } = yield* holding({ capacity: 1, whenFull: "drop-old" })
        const stubborn = yield* forked(Effect.retry(ref.Put({ n: 1 }), { times: 3 }))
        const rival = yield* forked(Effect.retry(ref.Put({ n: 2 }), { times: 2 }))
        yield* quiet
        assert.strictEqual(yield* depth, 1)
        yield* open
        yield* quiet
        const exits = [stubborn.pollUnsafe()!, rival.pollUnsafe()!]
        assert.lengthOf(exits.filter(Exit.isSuccess), 1)
      })
    )

    it.effect("with fail, an ask fails with MailboxFull and a tell is a dead letter that harms nobody", () =>
      Effect.gen(function* () {
        const { ref, handled, open, stage } = yield* holding({ capacity: 1, whenFull: "fail" })
        yield* ref.tell.Put({ n: 1 })
        assert.strictEqual((yield* Effect.flip(ref.Put({ n: 2 })))._tag, "MailboxFull")
        yield* ref.tell.Put({ n: 3 })
        assert.isFalse(ref.tellUnsafe.Put({ n: 4 }))
        assert.deepStrictEqual(dropped(stage), [["Put", "mailbox-full"]])
        yield* open
        yield* quiet
        assert.deepStrictEqual(handled, [1])
      })
    )

    it.effect("holds capacity messages beside the one in progress", () =>
      Effect.gen(function* () {
        const { ref, depth } = yield* holding({ capacity: 1, whenFull: "fail" })
        assert.strictEqual(yield* depth, 0)
        assert.isTrue(ref.tellUnsafe.Put({ n: 1 }))
        assert.isFalse(ref.tellUnsafe.Put({ n: 2 }))
        assert.strictEqual(yield* depth, 1)
      })
    )
  })
})
