/* oxlint-disable vitest/warn-todo -- a row that is left out keeps its place, with the reason */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, type Mailbox, Supervisor } from "espalier"

import { dropped, holding } from "../fixtures/box.ts"
import { counter, Counter, counting, failure, forked } from "../fixtures/counter.ts"
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

  class Door extends Actor.Service<Door>()("Door", [
    Rpc.make("Enter", { payload: { name: Schema.String }, success: Schema.String, error: Actor.StashFull }),
    Rpc.make("Open", {}),
    Rpc.make("Shut", {}),
    Rpc.make("Clear", {}),
    Rpc.make("Size", { success: Schema.Finite }),
    Rpc.make("Crash", {})
  ]) {}

  /** A door that lets nobody in until it is open; `onEnter` runs for everyone who gets in. */
  const guarding = (
    options?: Actor.Options<never> & { readonly capacity?: number },
    onEnter?: (name: string, stash: Actor.Stash) => Effect.Effect<unknown>
  ) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { capacity, ...rest } = options ?? {}
      const door = Door.child(
        Effect.gen(function* () {
          const stash = yield* Actor.stash({ capacity })
          let open = false
          return Door.handlers({
            Enter: ({ name }) => {
              if (!open) return stash.add
              stage.log.push(name)
              return Effect.as(onEnter?.(name, stash) ?? Effect.void, `welcome ${name}`)
            },
            Open: () => {
              open = true
              return stash.unstashAll
            },
            Shut: () => {
              open = false
            },
            Clear: () => stash.clear,
            Size: () => stash.size,
            Crash: () => Effect.die("kicked in")
          })
        }),
        rest
      )
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [door] }))
      return { stage, tree, ref: Context.get(context, Door), root: yield* tree.find(["root"]) }
    })

  const entering = (ref: Door["Service"], name: string) => forked(failureOr(ref.Enter({ name })))

  /** What an ask answers, or the tag of the error that it fails with. */
  const failureOr = <E extends { readonly _tag: string }>(ask: Effect.Effect<string, E>) =>
    Effect.match(ask, { onFailure: (error): string => error._tag, onSuccess: (text) => text })

  it.effect("C-162 what is stashed is handled in its order, before newer mail, and its callers get their answers", () =>
    Effect.gen(function* () {
      const { ref, stage, tree } = yield* guarding()
      const asks = [yield* entering(ref, "a"), yield* entering(ref, "b")]
      yield* ref.tell.Enter({ name: "c" })
      assert.strictEqual(yield* ref.Size(), 3)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Door").mailbox, 3)
      yield* ref.tell.Open()
      yield* ref.tell.Enter({ name: "d" })
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["welcome a", "welcome b"])
      yield* ref.Size()
      assert.deepStrictEqual(stage.log, ["a", "b", "c", "d"])
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Door").mailbox, 0)
    })
  )

  it.effect("C-162 a stash that is full says so to the actor, keeps what it has, and has room when callers go", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* guarding({ capacity: 2 })
      const a = yield* entering(ref, "a")
      const b = yield* forked(ref.Enter({ name: "b" }))
      const error = yield* Effect.flip(ref.Enter({ name: "c" }))
      assert.strictEqual(error.message, "the stash of root/Door is full: it holds 2 messages, Enter is not among them")
      assert.strictEqual(yield* ref.Size(), 2)
      yield* Fiber.interrupt(b)
      const d = yield* entering(ref, "d")
      assert.strictEqual(yield* ref.Size(), 2)
      yield* ref.Open()
      assert.deepStrictEqual(yield* Fiber.joinAll([a, d]), ["welcome a", "welcome d"])
      assert.deepStrictEqual(stage.log, ["a", "d"])
      assert.throws(
        () => Actor.stash({ capacity: 0 }),
        RangeError,
        "Actor.stash: capacity must be a whole number >= 1, got 0"
      )
    })
  )

  it.effect("C-162 the time-out of an ask goes on while it is stashed", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* guarding()
      const a = yield* entering(ref, "a")
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(a), "AskTimeout")
      yield* ref.Open()
      yield* ref.Size()
      // As with every time-out, the message itself was sent.
      assert.deepStrictEqual(stage.log, ["a"])
    })
  )

  it.effect("C-162 only the handler of a message can put it aside, once, and an actor has one stash", () =>
    Effect.gen(function* () {
      class Misuse extends Actor.Service<Misuse>()("Misuse", [
        Rpc.make("Twice", {}),
        Rpc.make("Beside", {}),
        Rpc.make("Outside", {})
      ]) {}
      let outside: Effect.Effect<unknown, unknown> = Effect.void
      const misuse = Misuse.child(
        Effect.gen(function* () {
          const stash = yield* Actor.stash()
          outside = stash.add
          const add = Effect.orDie(stash.add)
          return Misuse.handlers({
            Twice: () => Effect.andThen(add, add),
            Beside: () => Effect.flatMap(Effect.forkChild(add), Fiber.join),
            Outside: () => Effect.sleep("1 second")
          })
        }),
        { restart: "never" }
      )
      const start = Effect.gen(function* () {
        const stage = new Stage()
        const { context } = yield* stage.start(Supervisor.make("root", { children: [misuse] }))
        return { stage, ref: Context.get(context, Misuse) }
      })
      const twice = yield* start
      assert.strictEqual(yield* failure(twice.ref.Twice()), "ActorStopped") // it was stashed when the actor crashed
      const [exited] = twice.stage.of("Exited")
      assert(exited?.reason._tag === "Error")
      assert.include(String(Cause.squash(exited.reason.cause)), "Stash.add: must be run by the handler")
      const beside = yield* start
      assert.strictEqual(yield* failure(beside.ref.Beside()), "ActorCrashed")
      const busy = yield* start
      const ask = yield* forked(busy.ref.Outside())
      yield* quiet
      assert.isTrue(Exit.hasDies(yield* Effect.exit(outside)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ask)

      const greedy = Misuse.child(
        Effect.andThen(
          Actor.stash(),
          Effect.as(
            Actor.stash(),
            Misuse.handlers({ Twice: () => undefined, Beside: () => undefined, Outside: () => undefined })
          )
        )
      )
      const exit = yield* Effect.exit(new Stage().start(Supervisor.make("root", { children: [greedy] })))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "Actor.stash: must be called once")
    })
  )

  it.effect("C-163 a replay handles what was stashed when it began, whatever comes after it", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* guarding()
      const asks = [yield* entering(ref, "a"), yield* entering(ref, "b"), yield* entering(ref, "c")]
      yield* ref.tell.Open()
      yield* ref.tell.Shut()
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["welcome a", "welcome b", "welcome c"])
      const d = yield* entering(ref, "d")
      assert.strictEqual(yield* ref.Size(), 1)
      assert.isUndefined(d.pollUnsafe())
      assert.deepStrictEqual(stage.log, ["a", "b", "c"])
    })
  )

  class Loop extends Actor.Service<Loop>()("Loop", [
    Rpc.make("Put", { payload: { n: Schema.Finite }, success: Schema.Finite }),
    Rpc.make("Replay", {}),
    Rpc.make("Size", { success: Schema.Finite })
  ]) {}

  it.effect("C-163 a handler that stashes all that is replayed ends each replay after one pass", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const loop = Loop.child(
        Effect.map(Actor.stash(), (stash) =>
          Loop.handlers({
            Put: ({ n }) => {
              stage.log.push(String(n))
              return Effect.orDie(stash.add)
            },
            Replay: () => stash.unstashAll,
            Size: () => stash.size
          })
        )
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [loop] }))
      const ref = Context.get(context, Loop)
      for (const n of [1, 2, 3]) yield* ref.tell.Put({ n })
      for (let pass = 0; pass < 2; pass++) {
        yield* ref.Replay()
        assert.strictEqual(yield* ref.Size(), 3)
      }
      assert.deepStrictEqual(stage.log, ["1", "2", "3", "1", "2", "3", "1", "2", "3"])
    })
  )

  it.effect("C-163 a clear during a replay drops the rest, and what was stashed meanwhile", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* guarding({}, (name, stash) => (name === "b" ? stash.clear : Effect.void))
      const asks = [yield* entering(ref, "a"), yield* entering(ref, "b"), yield* entering(ref, "c")]
      yield* ref.tell.Enter({ name: "d" })
      yield* ref.Size()
      yield* ref.Open()
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["welcome a", "welcome b", "MessageDropped"])
      assert.deepStrictEqual(stage.log, ["a", "b"])
      assert.deepStrictEqual(dropped(stage), [["Enter", "cleared"]])
      assert.strictEqual(yield* ref.Size(), 0)
    })
  )

  it.effect("C-163 what is stashed again during a replay comes before the rest of it when it is unstashed again", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let ready = 0
      const loop = Loop.child(
        Effect.map(Actor.stash(), (stash) =>
          Loop.handlers({
            Put: ({ n }) => {
              stage.log.push(String(n))
              if (ready < n) return Effect.orDie(stash.add)
              return n === 2 ? Effect.as(stash.unstashAll, n) : n
            },
            Replay: () => {
              ready = Math.max(ready, 2)
              return stash.unstashAll
            },
            Size: () => {
              ready = 3
              return stash.size
            }
          })
        )
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [loop] }))
      const ref = Context.get(context, Loop)
      for (const n of [3, 2, 1]) yield* ref.tell.Put({ n })
      yield* ref.Replay()
      assert.strictEqual(yield* ref.Size(), 1)
      yield* ref.Replay()
      assert.strictEqual(yield* ref.Size(), 0)
      // In the first replay 2 brought 3 back before 1 was handled.
      assert.deepStrictEqual(stage.log, ["3", "2", "1", "3", "2", "3", "1", "3"])
    })
  )

  it.effect("C-164 what a stash holds when its actor stops becomes dead letters, and asks fail", () =>
    Effect.gen(function* () {
      const { ref, root, stage } = yield* guarding()
      const a = yield* entering(ref, "a")
      yield* ref.tell.Enter({ name: "b" })
      yield* ref.Size()
      yield* root.stopChild("Door")
      assert.strictEqual(yield* Fiber.join(a), "ActorStopped")
      assert.deepStrictEqual(dropped(stage), [["Enter", "stopped"]])
      assert.deepStrictEqual(stage.log, [])
    })
  )

  it.effect("C-164 what a stash holds when its actor crashes is mail of the next incarnation, the oldest first", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* guarding()
      const asks = [yield* entering(ref, "a"), yield* entering(ref, "b")]
      yield* ref.Size()
      const crash = yield* forked(failure(ref.Crash()))
      asks.push(yield* entering(ref, "c"))
      yield* ref.tell.Open()
      assert.strictEqual(yield* Fiber.join(crash), "ActorCrashed")
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["welcome a", "welcome b", "welcome c"])
      assert.deepStrictEqual(stage.log, ["a", "b", "c"])
      assert.deepStrictEqual(dropped(stage), [])
    })
  )

  it.effect("C-164 with onRestart fail, what a stash holds when its actor crashes is answered and reported", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* guarding({ mailbox: { onRestart: "fail" } })
      const a = yield* entering(ref, "a")
      yield* ref.tell.Enter({ name: "b" })
      yield* ref.Size()
      yield* Effect.ignore(ref.Crash())
      assert.strictEqual(yield* Fiber.join(a), "ActorCrashed")
      assert.deepStrictEqual(dropped(stage), [["Enter", "crashed"]])
      assert.strictEqual(yield* ref.Size(), 0)
    })
  )

  it.effect("C-164 a crash while a replay is under way loses the message in progress alone", () =>
    Effect.gen(function* () {
      let broken = true
      const { ref, stage } = yield* guarding({}, (name) =>
        name === "b" && broken ? Effect.die(((broken = false), "b breaks it")) : Effect.void
      )
      const asks = [yield* entering(ref, "a"), yield* entering(ref, "b"), yield* entering(ref, "c")]
      yield* ref.Size()
      yield* ref.tell.Open()
      assert.deepStrictEqual(yield* Fiber.joinAll(asks.slice(0, 2)), ["welcome a", "ActorCrashed"])
      assert.strictEqual(yield* ref.Size(), 1) // the new incarnation is shut, and stashed it again
      yield* ref.Open()
      assert.strictEqual(yield* Fiber.join(asks[2]!), "welcome c")
      assert.deepStrictEqual(stage.log, ["a", "b", "c"])
    })
  )

  it.effect("C-159 a tell to a mailbox that is full harms no sender, not even one that is an actor", () =>
    Effect.gen(function* () {
      class Sender extends Actor.Service<Sender>()("Sender", [Rpc.make("Send", { success: Schema.Finite })]) {}
      const { ref: full, stage } = yield* holding({ capacity: 1, whenFull: "fail" })
      const sender = Sender.child(
        Effect.sync(() => {
          let sent = 0
          return Sender.handlers({ Send: () => Effect.as(full.tell.Put({ n: sent }), (sent += 1)) })
        })
      )
      const mine = new Stage()
      const { context } = yield* mine.start(Supervisor.make("root", { children: [sender] }))
      const ref = Context.get(context, Sender)
      for (const n of [1, 2, 3]) assert.strictEqual(yield* ref.Send(), n)
      assert.lengthOf(mine.of("Exited"), 0)
      assert.deepStrictEqual(dropped(stage), [
        ["Put", "mailbox-full"],
        ["Put", "mailbox-full"]
      ])
    })
  )

  it.effect("C-159 ten thousand senders that wait for room get in one by one, in their order", () =>
    Effect.gen(function* () {
      const { ref, handled, open } = yield* holding({ capacity: 1 })
      const senders = yield* Effect.forEach(
        Array.from({ length: 10_000 }, (_, n) => n),
        (n) => forked(ref.tell.Put({ n }))
      )
      yield* open
      yield* Fiber.joinAll(senders)
      yield* ref.Put({ n: -1 })
      assert.lengthOf(handled, 10_001)
      assert.isTrue(handled.every((n, at) => n === at || n === -1))
    })
  )

  it.effect(
    "C-165 a message whose handler is interrupted by a restart is reported, and the mail behind it is handled",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          strategy: "one-for-all",
          children: [counter(stage), stage.child("sibling")]
        })
        const { context } = yield* stage.start(root)
        const ref = Context.get(context, Counter)
        yield* ref.tell.Wait()
        yield* until("it waits", () => stage.log.includes("waits"))
        const queued = yield* forked(ref.Add({ by: 1 }))
        stage.end("sibling")
        assert.strictEqual(yield* Fiber.join(queued), 1)
        assert.deepStrictEqual(dropped(stage), [["Wait", "interrupted"]])
      })
  )

  it.effect("C-165 of five messages the first crashes its actor, and the other four are handled in order", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* counting()
      yield* ref.tell.Crash()
      const answers = yield* Effect.forEach([1, 2, 3, 4], (by) => forked(ref.Add({ by })))
      assert.deepStrictEqual(yield* Fiber.joinAll(answers), [1, 3, 6, 10])
      assert.deepStrictEqual(dropped(stage), [["Crash", "crashed"]])
    })
  )

  it.todo(
    "C-161 a priority mailbox: left out, because control messages and stash give the order that matters in constant time, and work that should not wait for other work is better off in an actor of its own"
  )

  it.todo(
    "C-166 selective receive: left out, because a typed protocol has no patterns to select by; the stash puts messages aside, and control messages reach an actor that defers the rest"
  )
})
