import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, type Mailbox, Supervisor } from "espalier"

import { dropped, holding } from "../fixtures/box.ts"
import { counting, failure, forked } from "../fixtures/counter.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

describe("P: mailbox and stash", () => {
  it.effect("C-158 messages of one sender are handled in order, one at a time, suspended handlers included", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* counting()
      for (const name of ["a", "b", "c"]) yield* ref.tell.Slow({ name, millis: name === "a" ? 30 : 1 })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(stage.log, ["begin a", "end a", "begin b", "end b", "begin c", "end c"])
    })
  )

  it.effect("C-158 asks and tells share one order", () =>
    Effect.gen(function* () {
      const { ref } = yield* counting()
      yield* ref.tell.Add({ by: 1 })
      const answer = yield* forked(ref.Add({ by: 10 }))
      assert.isTrue(ref.tellUnsafe.Add({ by: 20 }))
      assert.strictEqual(yield* Fiber.join(answer), 11)
      assert.strictEqual(yield* ref.Add({ by: 0 }), 31)
    })
  )

  it.effect("C-164 what waits in the mailbox of an actor that stops becomes dead letters, and asks fail", () =>
    Effect.gen(function* () {
      const { ref, root, stage } = yield* counting()
      yield* ref.tell.Wait()
      yield* until("it waits", () => stage.log.includes("waits"))
      yield* ref.tell.Add({ by: 1 })
      const ask = yield* forked(failure(ref.Add({ by: 2 })))
      yield* ref.tell.Add({ by: 3 })
      yield* root.stopChild("Counter")
      assert.strictEqual(yield* Fiber.join(ask), "ActorStopped")
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => event.reason),
        ["interrupted", "stopped", "stopped"]
      )
    })
  )

  it.effect("C-159 R-109 a mailbox that is full: it never is when it is unbounded", () =>
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

  it.effect(
    "C-159 R-109 a mailbox that is full, with wait, suspends tells and asks, and lets them in by the order in which they came",
    () =>
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

  it.effect(
    "C-159 R-109 a mailbox that is full, with wait, a waiting sender that is interrupted neither enters nor holds up those behind it",
    () =>
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

  it.effect("C-159 R-109 a mailbox that is full, with wait, a sender's time-out counts while it waits for room", () =>
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

  it.effect("C-159 R-109 a mailbox that is full, with wait, those who wait are released when the actor stops", () =>
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

  it.effect(
    "C-159 R-109 a mailbox that is full, with drop-new, makes the newcomer a dead letter, and an ask fails with MailboxFull",
    () =>
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

  it.effect(
    "C-159 R-109 a mailbox that is full, with drop-old, makes the oldest a dead letter, and its asker fails with MailboxFull",
    () =>
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

  it.effect(
    "C-159 R-109 a mailbox that is full, with drop-old, keeps its capacity when the one who was dropped asks again at once",
    () =>
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

  it.effect(
    "C-159 R-109 a mailbox that is full, with fail, an ask fails with MailboxFull and a tell is a dead letter that harms nobody",
    () =>
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

  it.effect("C-159 R-109 a mailbox that is full holds capacity messages beside the one in progress", () =>
    Effect.gen(function* () {
      const { ref, depth } = yield* holding({ capacity: 1, whenFull: "fail" })
      assert.strictEqual(yield* depth, 0)
      assert.isTrue(ref.tellUnsafe.Put({ n: 1 }))
      assert.isFalse(ref.tellUnsafe.Put({ n: 2 }))
      assert.strictEqual(yield* depth, 1)
    })
  )

  class Press extends Actor.Service<Press>()("Press", [
    Rpc.make("Hold", {}),
    Rpc.make("Print", { payload: { page: Schema.String }, success: Schema.String }),
    Rpc.make("Urgent", { payload: { page: Schema.String }, success: Schema.String }).annotate(Actor.Control, true)
  ]) {}

  /** A press that is busy until its door opens. */
  const pressing = (mailbox?: Mailbox.Options) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const door = yield* Deferred.make<void>()
      const print = ({ page }: { readonly page: string }): string => {
        stage.log.push(page)
        return page
      }
      const press = Press.child(
        Effect.succeed(Press.handlers({ Hold: () => Deferred.await(door), Print: print, Urgent: print })),
        { mailbox }
      )
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [press] }))
      const ref = Context.get(context, Press)
      yield* ref.tell.Hold()
      yield* quiet
      return { stage, ref, tree, open: Deferred.succeed(door, undefined) }
    })

  it.effect("C-160 control messages go before the mail, in their own order, and do not interrupt", () =>
    Effect.gen(function* () {
      const { ref, stage, open, tree } = yield* pressing()
      yield* ref.tell.Print({ page: "1" })
      const slow = yield* forked(ref.Print({ page: "2" }))
      yield* ref.tell.Urgent({ page: "a" })
      const urgent = yield* forked(ref.Urgent({ page: "b" }))
      assert.isTrue(ref.tellUnsafe.Urgent({ page: "c" }))
      yield* quiet
      assert.deepStrictEqual(stage.log, [])
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Press").mailbox, 5)
      yield* open
      assert.deepStrictEqual(yield* Fiber.joinAll([urgent, slow]), ["b", "2"])
      assert.deepStrictEqual(stage.log, ["a", "b", "c", "1", "2"])
    })
  )

  it.effect.each(["wait", "drop-new", "drop-old", "fail"] as const)(
    "C-160 with %s, a full mailbox takes every control message, and loses no other for them",
    (whenFull) =>
      Effect.gen(function* () {
        const { ref, stage, open } = yield* pressing({ capacity: 1, whenFull })
        yield* ref.tell.Print({ page: "mail" })
        for (const page of ["a", "b"]) yield* ref.tell.Urgent({ page })
        assert.isTrue(ref.tellUnsafe.Urgent({ page: "c" }))
        const ask = yield* forked(ref.Urgent({ page: "d" }))
        yield* quiet
        yield* open
        assert.strictEqual(yield* Fiber.join(ask), "d")
        yield* quiet
        assert.deepStrictEqual(stage.log, ["a", "b", "c", "d", "mail"])
        assert.deepStrictEqual(dropped(stage), [])
      })
  )

  it.effect("C-160 a stop does not wait behind the mail, and control messages that are left are reported", () =>
    Effect.gen(function* () {
      const { ref, stage, tree } = yield* pressing()
      for (let page = 0; page < 1_000; page++) yield* ref.tell.Print({ page: String(page) })
      yield* ref.tell.Urgent({ page: "a" })
      const ask = yield* forked(failure(ref.Urgent({ page: "b" })))
      yield* tree.stop
      assert.strictEqual(yield* Fiber.join(ask), "ActorStopped")
      assert.deepStrictEqual(stage.log, [])
      assert.lengthOf(
        dropped(stage).filter(([message]) => message === "Urgent"),
        1
      )
      yield* ref.tell.Urgent({ page: "c" })
      assert.isFalse(ref.tellUnsafe.Urgent({ page: "d" }))
      assert.strictEqual(yield* failure(ref.Urgent({ page: "e" })), "ActorStopped")
      assert.deepStrictEqual(dropped(stage).slice(-1), [["Urgent", "stopped"]])
      assert.lengthOf(dropped(stage), 1_003)
    })
  )

  it.effect("C-160 a control message whose caller is gone is passed over", () =>
    Effect.gen(function* () {
      const { ref, stage, open } = yield* pressing()
      const gone = yield* forked(ref.Urgent({ page: "gone" }))
      yield* quiet
      yield* Fiber.interrupt(gone)
      yield* open
      yield* ref.Print({ page: "1" })
      assert.deepStrictEqual(stage.log, ["1"])
    })
  )
})
