import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Queue, Schema, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Supervisor } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

class Torn extends Schema.TaggedError<Torn>()("Torn", { at: Schema.Finite }) {}

/** A tape that is read in several ways, and moved meanwhile. */
class Tape extends Actor.Service<Tape>()("Tape", [
  Rpc.make("Read", { payload: { from: Schema.Finite }, success: Schema.Finite, error: Torn, stream: true }),
  Rpc.make("Late", { success: Schema.Finite, error: Torn, stream: true }),
  Rpc.make("Lines", { success: Schema.String, error: Torn, stream: true }),
  Rpc.make("Move", { payload: { by: Schema.Finite }, success: Schema.Finite }),
  Rpc.make("Wait", {}),
  Rpc.make("Deaf", { error: Torn }),
  Rpc.make("Crash", {})
]) {}

/** What a test does to the tape. */
class Player {
  readonly log: Array<string> = []
  /** lets `Late` answer, `Wait` and `Deaf` end */
  readonly door = Deferred.makeUnsafe<void>()
  /** elements that producers have made */
  made = 0
  /** what the reading from 0 does at the end; the others are endless */
  end: Stream.Stream<never, Torn> = Stream.empty
  /** how `Deaf` ends */
  deaf: Effect.Effect<void, Torn> = Effect.void
  /** how long a producer's clean-up takes */
  cleanup: Effect.Effect<unknown> = Effect.void
  lines: Queue.Queue<string, Torn | Cause.Done> | undefined
}

const tape = (player: Player, options?: Actor.Options<never>) =>
  Tape.child(
    Effect.gen(function* () {
      let at = 0
      player.log.push("init")
      yield* Effect.addFinalizer(() => Effect.sync(() => player.log.push("released")))
      const produce = (from: number, end = player.end) =>
        Stream.range(from, from === 0 ? 2 : 1e6).pipe(
          Stream.rechunk(1),
          Stream.tap(() => Effect.sync(() => (player.made += 1))),
          Stream.concat(end),
          Stream.ensuring(
            Effect.andThen(
              player.cleanup,
              Effect.sync(() => player.log.push(`closed ${from}`))
            )
          )
        )
      return Tape.handlers({
        Read: ({ from }) => {
          player.log.push(`read ${from} at ${at}`)
          return produce(from)
        },
        Late: () => Effect.as(Deferred.await(player.door), produce(20)),
        Lines: () =>
          Effect.map(Queue.bounded<string, Torn | Cause.Done>(4), (queue) => {
            player.lines = queue
            return queue
          }),
        Move: ({ by }) => (at += by),
        Wait: () => Deferred.await(player.door),
        Deaf: () => Effect.uninterruptible(Effect.andThen(Deferred.await(player.door), player.deaf)),
        Crash: () => Effect.die("boom")
      })
    }),
    options
  )

const playing = (options?: Actor.Options<never>) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const player = new Player()
    const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [tape(player, options)] }))
    player.log.length = 0
    return { stage, player, tree, ref: Context.get(context, Tape) }
  })

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** A consumer that takes elements when it is told to. */
const consumer = <A, E>(stream: Stream.Stream<A, E>) =>
  Effect.gen(function* () {
    const taken: Array<A> = []
    const gate = yield* Queue.unbounded<void>()
    const fiber = yield* forked(
      Stream.runForEach(stream, (element) =>
        Effect.andThen(
          Effect.sync(() => taken.push(element)),
          Queue.take(gate)
        )
      )
    )
    return { taken, fiber, next: () => Queue.offerUnsafe(gate, undefined) }
  })

const tagOf = <E extends { readonly _tag: string }>(fiber: Fiber.Fiber<unknown, E>) =>
  Effect.map(Effect.flip(Fiber.join(fiber)), (error) => error._tag)

describe("Actor: replies that are streams", () => {
  it.effect("R-109 the elements arrive in order and the stream ends where the handler's does", () =>
    Effect.gen(function* () {
      const { player, ref } = yield* playing()
      assert.deepStrictEqual(yield* Stream.runCollect(ref.Read({ from: 0 })), [0, 1, 2])
      assert.deepStrictEqual(player.log, ["read 0 at 0", "closed 0"])
    })
  )

  it.effect("R-109 a stream asks each time it is run, and not before", () =>
    Effect.gen(function* () {
      const { player, ref } = yield* playing()
      const stream = ref.Read({ from: 0 })
      yield* quiet
      assert.deepStrictEqual(player.log, [])
      yield* Stream.runDrain(stream)
      yield* ref.Move({ by: 5 })
      yield* Stream.runDrain(stream)
      assert.deepStrictEqual(player.log, ["read 0 at 0", "closed 0", "read 0 at 5", "closed 0"])
    })
  )

  it.effect("R-109 a handler may make its stream in an Effect, or give the end of a queue", () =>
    Effect.gen(function* () {
      const { player, ref } = yield* playing()
      Deferred.doneUnsafe(player.door, Exit.void)
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(ref.Late(), 2)), [20, 21])
      const lines = yield* forked(Stream.runCollect(ref.Lines()))
      yield* until("the queue is there", () => player.lines !== undefined)
      yield* Queue.offerAll(player.lines!, ["a", "b"])
      yield* Queue.end(player.lines!)
      assert.deepStrictEqual(yield* Fiber.join(lines), ["a", "b"])
    })
  )

  it.effect("R-109 the call that makes the stream waits its turn; its elements do not hold up the mailbox", () =>
    Effect.gen(function* () {
      const { player, ref } = yield* playing()
      const busy = yield* forked(ref.Wait())
      const reading = yield* consumer(ref.Read({ from: 1 }))
      yield* quiet
      assert.deepStrictEqual([player.log, reading.taken], [[], []])
      Deferred.doneUnsafe(player.door, Exit.void)
      yield* Fiber.join(busy)
      yield* until("an element came", () => reading.taken.length === 1)
      assert.strictEqual(yield* ref.Move({ by: 3 }), 3)
      reading.next()
      yield* until("another came", () => reading.taken.length === 2)
      assert.strictEqual(yield* ref.Move({ by: 3 }), 6)
      assert.deepStrictEqual(reading.taken, [1, 2])
    })
  )

  describe("back-pressure", () => {
    it.effect("R-109 the producer of a slow consumer waits, sixteen elements ahead", () =>
      Effect.gen(function* () {
        const { player, ref } = yield* playing()
        const reading = yield* consumer(ref.Read({ from: 1 }))
        yield* quiet
        // One is consumed, sixteen wait, one is in the producer's hand.
        assert.deepStrictEqual([reading.taken, player.made], [[1], 18])
        for (let i = 2; i < 40; i++) {
          reading.next()
          yield* until("the producer goes on", () => player.made === 17 + i)
        }
        yield* quiet
        assert.deepStrictEqual([reading.taken.length, player.made], [39, 56])
      })
    )

    it.effect("R-109 an rpc says for itself how many may wait", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let made = 0
        class Drip extends Actor.Service<Drip>()("Drip", [
          Rpc.make("Two", { success: Schema.Finite, stream: true }).annotate(Actor.StreamBuffer, 2),
          Rpc.make("Usual", { success: Schema.Finite, stream: true })
        ]) {}
        const drops = Stream.fromEffectRepeat(Effect.sync(() => (made += 1)))
        const drip = Drip.child(Effect.succeed(Drip.handlers({ Two: () => drops, Usual: () => drops })))
        const { context } = yield* stage.start(Supervisor.make("root", { children: [drip] }))
        const ref = Context.get(context, Drip)
        for (const [stream, buffer] of [
          [ref.Two(), 2],
          [ref.Usual(), 16]
        ] as const) {
          made = 0
          const reading = yield* consumer(stream)
          yield* quiet
          assert.strictEqual(reading.taken.length, 1)
          assert.strictEqual(made, buffer + 2)
          yield* Fiber.interrupt(reading.fiber)
        }
      })
    )

    it("a buffer that is no whole number >= 1 is refused", () => {
      for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "2"]) {
        assert.throws(
          () =>
            Actor.Service()("Bad", [
              Rpc.make("X", { success: Schema.Finite, stream: true }).annotate(Actor.StreamBuffer, bad as never)
            ]),
          RangeError,
          /Actor.Service: StreamBuffer of X of Bad must be a whole number >= 1, got/u
        )
      }
    })
  })

  describe("the consumer", () => {
    it.effect("R-109 a consumer that has enough ends the producer, whose finalizers run", () =>
      Effect.gen(function* () {
        const { player, ref, tree } = yield* playing()
        assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(ref.Read({ from: 5 }), 2)), [5, 6])
        yield* until("it is closed", () => player.log.includes("closed 5"))
        const { made } = player
        yield* quiet
        assert.strictEqual(player.made, made)
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Tape").incarnation, 1)
      })
    )

    it.effect("R-109 an interrupted consumer does too, and does not wait for them", () =>
      Effect.gen(function* () {
        const { player, ref } = yield* playing()
        player.cleanup = Effect.sleep("1 hour")
        const reading = yield* consumer(ref.Read({ from: 5 }))
        yield* until("it reads", () => reading.taken.length === 1)
        yield* Fiber.interrupt(reading.fiber)
        assert.notInclude(player.log, "closed 5")
        yield* TestClock.adjust("1 hour")
        assert.include(player.log, "closed 5")
      })
    )

    it.effect("R-109 a consumer that left before its turn starts nothing", () =>
      Effect.gen(function* () {
        const { player, ref } = yield* playing()
        const busy = yield* forked(ref.Wait())
        const reading = yield* consumer(ref.Read({ from: 1 }))
        yield* Fiber.interrupt(reading.fiber)
        Deferred.doneUnsafe(player.door, Exit.void)
        yield* Fiber.join(busy)
        yield* quiet
        assert.deepStrictEqual([player.log, player.made], [[], 0])
      })
    )

    it.effect("R-109 two consumers each have their own producer", () =>
      Effect.gen(function* () {
        const { player, ref } = yield* playing()
        const [one, two] = [yield* consumer(ref.Read({ from: 1 })), yield* consumer(ref.Read({ from: 50 }))]
        yield* until("both read", () => one.taken.length + two.taken.length === 2)
        yield* Fiber.interrupt(one.fiber)
        yield* until("one is closed", () => player.log.includes("closed 1"))
        two.next()
        yield* until("the other goes on", () => two.taken.length === 2)
        assert.deepStrictEqual([one.taken, two.taken], [[1], [50, 51]])
        assert.notInclude(player.log, "closed 50")
      })
    )
  })

  describe("time", () => {
    it.effect("R-109 the time-out bounds the wait for the handler, and a late stream is never started", () =>
      Effect.gen(function* () {
        const { player, ref } = yield* playing()
        const first = yield* forked(Stream.runCollect(ref.Late()))
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* tagOf(first), "AskTimeout")
        const second = yield* consumer(Stream.provideService(ref.Read({ from: 0 }), Actor.Timeout, "1 hour"))
        Deferred.doneUnsafe(player.door, Exit.void)
        yield* until("the next call has its own elements", () => second.taken.length === 1)
        yield* quiet
        assert.deepStrictEqual([second.taken, player.made], [[0], 3])
      })
    )

    it.effect("R-109 no time-out runs between elements", () =>
      Effect.gen(function* () {
        const { player, ref } = yield* playing()
        const lines = yield* forked(Stream.runCollect(ref.Lines()))
        yield* until("the queue is there", () => player.lines !== undefined)
        yield* TestClock.adjust("1 day")
        yield* Queue.offer(player.lines!, "slow")
        yield* Queue.end(player.lines!)
        assert.deepStrictEqual(yield* Fiber.join(lines), ["slow"])
      })
    )
  })

  describe("failures", () => {
    it.effect("R-109 a typed error comes after the elements before it, and the actor lives on", () =>
      Effect.gen(function* () {
        const { player, ref, tree } = yield* playing()
        player.end = Stream.fail(new Torn({ at: 3 }))
        const seen: Array<number> = []
        const error = yield* Effect.flip(
          Stream.runForEach(ref.Read({ from: 0 }), (element) => Effect.sync(() => seen.push(element)))
        )
        assert.deepStrictEqual([seen, error], [[0, 1, 2], new Torn({ at: 3 })])
        const lines = yield* forked(Stream.runCollect(ref.Lines()))
        yield* until("the queue is there", () => player.lines !== undefined)
        yield* Queue.fail(player.lines!, new Torn({ at: 4 }))
        assert.deepStrictEqual(yield* Effect.flip(Fiber.join(lines)), new Torn({ at: 4 }))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Tape").incarnation, 1)
      })
    )

    it.effect("R-109 a defect in a stream crashes the incarnation, and every consumer hears of that alone", () =>
      Effect.gen(function* () {
        const { player, ref, stage } = yield* playing()
        const other = yield* consumer(ref.Read({ from: 7 }))
        yield* until("it reads", () => other.taken.length === 1)
        player.end = Stream.die("boom")
        const error = yield* Effect.flip(Stream.runDrain(ref.Read({ from: 0 })))
        assert.deepStrictEqual(error._tag, "ActorCrashed")
        assert.strictEqual(error.message, "root/Tape crashed on Read")
        other.next()
        assert.strictEqual(yield* tagOf(other.fiber), "ActorCrashed")
        assert.deepStrictEqual(other.taken, [7]) // fifteen more were ready
        yield* until("the next one is up", () => stage.of("Started", "Tape").length === 2)
        const [exited] = stage.of("Exited", "Tape")
        assert(exited?.reason._tag === "Error")
        assert.strictEqual(Cause.squash(exited.reason.cause), "boom")
        assert.deepStrictEqual(player.log.slice(-4), ["closed 0", "closed 7", "released", "init"])
        assert.strictEqual(yield* ref.Move({ by: 1 }), 1)
      })
    )

    it.effect("R-109 a stream that interrupts itself is a crash, as a handler is", () =>
      Effect.gen(function* () {
        const { player, ref, stage } = yield* playing()
        player.end = Stream.fromEffect(Effect.interrupt)
        const error = yield* Effect.flip(Stream.runDrain(ref.Read({ from: 0 })))
        assert.strictEqual(error._tag, "ActorCrashed")
        yield* until("it ended", () => stage.of("Exited", "Tape").length === 1)
        assert.strictEqual(stage.of("Exited", "Tape")[0]!.reason._tag, "Killed")
      })
    )

    it.effect("R-109 the message in progress goes down with it, the mail behind is kept", () =>
      Effect.gen(function* () {
        const { player, ref, stage } = yield* playing()
        const gate = yield* Deferred.make<void>()
        player.end = Stream.fromEffect(Effect.andThen(Deferred.await(gate), Effect.die("boom")))
        const reading = yield* forked(Stream.runDrain(ref.Read({ from: 0 })))
        yield* until("it produces", () => player.made === 3)
        const busy = yield* forked(ref.Wait())
        const behind = yield* forked(ref.Move({ by: 2 }))
        yield* quiet
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual(yield* tagOf(busy), "ActorCrashed")
        assert.strictEqual(yield* tagOf(reading), "ActorCrashed")
        assert.strictEqual(yield* Fiber.join(behind), 2)
        assert.deepStrictEqual(
          stage.of("Started", "Tape").map((event) => event.incarnation),
          [1, 2]
        )
      })
    )

    it.effect(
      "R-109 a handler that cannot be interrupted holds up the restart, not the consumers, for a grace time",
      () =>
        Effect.gen(function* () {
          const { player, ref, stage } = yield* playing()
          const gate = yield* Deferred.make<void>()
          player.end = Stream.fromEffect(Effect.andThen(Deferred.await(gate), Effect.die("boom")))
          const reading = yield* forked(Stream.runDrain(ref.Read({ from: 0 })))
          yield* until("it produces", () => player.made === 3)
          const busy = yield* forked(Actor.withTimeout("Infinity")(ref.Deaf()))
          const behind = yield* forked(Actor.withTimeout("Infinity")(ref.Move({ by: 2 })))
          yield* Deferred.succeed(gate, undefined)
          assert.strictEqual(yield* tagOf(reading), "ActorCrashed")
          yield* TestClock.adjust("4999 millis")
          assert.deepStrictEqual(stage.of("Exited", "Tape"), [])
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual(
            [stage.of("Leaked", "Tape").length, stage.of("Exited", "Tape")[0]!.reason._tag],
            [1, "Error"]
          )
          assert.strictEqual(yield* Fiber.join(behind), 2)
          assert.strictEqual(yield* tagOf(busy), "ActorStopped")
          Deferred.doneUnsafe(player.door, Exit.void)
          yield* until("the old one is gone", () => stage.of("LeakEnded", "Tape").length === 1)
        })
    )

    it.effect.each([
      ["finishes", Effect.void],
      ["fails", Effect.fail(new Torn({ at: 0 }))]
    ] as const)("R-109 a handler that %s all the same is the old incarnation's last", ([, deaf]) =>
      Effect.gen(function* () {
        const { player, ref, stage } = yield* playing()
        player.deaf = deaf
        const gate = yield* Deferred.make<void>()
        player.end = Stream.fromEffect(Effect.andThen(Deferred.await(gate), Effect.die("boom")))
        yield* forked(Stream.runDrain(ref.Read({ from: 0 })))
        yield* until("it produces", () => player.made === 3)
        const busy = yield* forked(ref.Deaf())
        yield* ref.Move({ by: 10 }).pipe(forked)
        const behind = yield* forked(ref.Move({ by: 2 }))
        yield* Deferred.succeed(gate, undefined)
        yield* quiet
        Deferred.doneUnsafe(player.door, Exit.void)
        assert.strictEqual(yield* tagOf(busy), "ActorCrashed")
        assert.strictEqual(yield* Fiber.join(behind), 12)
        assert.strictEqual(stage.of("Started", "Tape").length, 2)
        assert.deepStrictEqual(stage.of("DeadLetter"), [])
      })
    )

    it.effect("R-109 a handler whose stream is none crashes", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Odd extends Actor.Service<Odd>()("Odd", [
          Rpc.make("Plain", { success: Schema.Finite, stream: true }),
          Rpc.make("Inside", { success: Schema.Finite, stream: true }),
          Rpc.make("Promised", { success: Schema.Finite, stream: true })
        ]) {}
        const odd = Odd.child(
          Effect.succeed(
            Odd.handlers({
              Plain: () => 1 as never,
              Inside: () => Effect.succeed([1]) as never,
              Promised: () => Promise.reject(new Error("nobody sees it")) as never
            })
          )
        )
        const { context } = yield* stage.start(Supervisor.make("root", { children: [odd] }))
        const ref = Context.get(context, Odd)
        for (const stream of [ref.Plain(), ref.Inside(), ref.Promised()]) {
          assert.strictEqual((yield* Effect.flip(Stream.runDrain(stream)))._tag, "ActorCrashed")
        }
        const causes = stage
          .of("Exited", "Odd")
          .map(({ reason }) => reason._tag === "Error" && Cause.pretty(reason.cause))
        assert.include(causes[0], "the handler Plain must give a Stream or a Dequeue, got number")
        assert.include(causes[1], "the handler Inside must give a Stream or a Dequeue, got object")
        assert.include(causes[2], "returned a promise")
      })
    )
  })

  describe("the end of the incarnation", () => {
    it.effect(
      "R-109 a crash elsewhere cuts the consumer off at once, and the producer is gone before the release",
      () =>
        Effect.gen(function* () {
          const { player, ref, stage } = yield* playing()
          player.cleanup = Effect.sleep("1 second")
          const lines = yield* forked(Stream.runDrain(ref.Lines()))
          const reading = yield* consumer(ref.Read({ from: 1 }))
          yield* until("it reads", () => reading.taken.length === 1)
          yield* Effect.flip(ref.Crash())
          reading.next()
          assert.deepStrictEqual([yield* tagOf(lines), yield* tagOf(reading.fiber)], ["ActorCrashed", "ActorCrashed"])
          assert.deepStrictEqual(stage.of("Exited"), [])
          assert.notInclude(player.log, "released")
          yield* TestClock.adjust("1 second")
          yield* until("the next one is up", () => stage.of("Started", "Tape").length === 2)
          assert.deepStrictEqual(player.log.slice(-3), ["closed 1", "released", "init"])
        })
    )

    it.effect("R-109 a consumer hears of a crash when the supervisor knows", () =>
      Effect.gen(function* () {
        const { player, ref, tree } = yield* playing()
        const state = yield* forked(
          Stream.runDrain(ref.Lines()).pipe(
            Effect.flip,
            Effect.andThen(tree.snapshot),
            Effect.map((snapshot) => nodeOf(snapshot, "Tape").incarnation)
          )
        )
        yield* until("the queue is there", () => player.lines !== undefined)
        yield* ref.tell.Crash()
        assert.strictEqual(yield* Fiber.join(state), 2)
      })
    )

    it.effect.each(["interrupt", "finish"] as const)(
      "R-109 a stop (%s) cuts the consumer off at once, and waits for the producer",
      (stop) =>
        Effect.gen(function* () {
          const { player, ref, stage, tree } = yield* playing({ stop })
          player.cleanup = Effect.sleep("1 second")
          const reading = yield* consumer(ref.Read({ from: 1 }))
          yield* until("it reads", () => reading.taken.length === 1)
          reading.next()
          reading.next()
          const busy = yield* forked(ref.Deaf())
          yield* quiet
          const stopping = yield* forked(tree.stop)
          for (let i = 0; i < 20; i++) reading.next()
          assert.strictEqual(yield* tagOf(reading.fiber), "ActorStopped")
          assert.isBelow(reading.taken.length, 5)
          assert.isUndefined(stopping.pollUnsafe())
          Deferred.doneUnsafe(player.door, Exit.void)
          yield* Fiber.await(busy)
          yield* quiet
          assert.isUndefined(stopping.pollUnsafe())
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(stopping)
          assert.deepStrictEqual(player.log.slice(-2), ["closed 1", "released"])
          assert.strictEqual(stage.of("Leaked").length, 0)
          assert.strictEqual(yield* tagOf(yield* forked(Stream.runDrain(ref.Read({ from: 0 })))), "ActorStopped")
        })
    )

    it.effect("R-109 a producer that will not end is leaked after the grace time, and its consumer is long gone", () =>
      Effect.gen(function* () {
        const { player, ref, stage, tree } = yield* playing()
        player.cleanup = Deferred.await(player.door)
        const reading = yield* consumer(ref.Read({ from: 1 }))
        yield* until("it reads", () => reading.taken.length === 1)
        const stopping = yield* forked(tree.stop)
        reading.next()
        assert.strictEqual(yield* tagOf(reading.fiber), "ActorStopped")
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(stopping)
        assert.strictEqual(stage.of("Leaked", "Tape").length, 1)
        assert.notInclude(player.log, "released")
        Deferred.doneUnsafe(player.door, Exit.void)
        yield* until("it ended after all", () => stage.of("LeakEnded", "Tape").length === 1)
        assert.deepStrictEqual(player.log.slice(-2), ["closed 1", "released"])
      })
    )

    it.effect("R-109 a producer whose clean-up breaks makes the end unclean", () =>
      Effect.gen(function* () {
        const { player, ref, stage, tree } = yield* playing()
        player.cleanup = Effect.die("stuck door")
        const reading = yield* consumer(ref.Read({ from: 1 }))
        yield* until("it reads", () => reading.taken.length === 1)
        yield* tree.stop
        const [exited] = stage.of("Exited", "Tape")
        assert(exited?.reason._tag === "Shutdown" && exited.reason.cause !== undefined)
        assert.strictEqual(Cause.squash(exited.reason.cause), "stuck door")
        assert.include(player.log, "released")
      })
    )

    it.effect("R-109 a handler that finishes while its actor stops makes a stream that is never started", () =>
      Effect.gen(function* () {
        const { player, ref, stage, tree } = yield* playing({ stop: "finish" })
        const late = yield* forked(Stream.runDrain(ref.Late()))
        yield* quiet
        const stopping = yield* forked(tree.stop)
        yield* until("it is asked to stop", () => stage.of("Stopping", "Tape").length === 1)
        Deferred.doneUnsafe(player.door, Exit.void)
        assert.strictEqual(yield* tagOf(late), "ActorStopped")
        yield* Fiber.join(stopping)
        assert.deepStrictEqual([player.made, player.log], [0, ["released"]])
      })
    )

    it.effect("R-109 a stop that drains cuts streams off when the mail is handled, and does not wait for them", () =>
      Effect.gen(function* () {
        const { player, ref, stage, tree } = yield* playing({ stop: "drain" })
        const reading = yield* consumer(ref.Read({ from: 1 }))
        yield* until("it reads", () => reading.taken.length === 1)
        const busy = yield* forked(ref.Wait())
        const behind = yield* forked(ref.Move({ by: 1 }))
        const stopping = yield* forked(tree.stop)
        yield* until("it is asked to stop", () => stage.of("Stopping", "Tape").length === 1)
        reading.next()
        yield* until("it goes on", () => reading.taken.length === 2)
        Deferred.doneUnsafe(player.door, Exit.void)
        yield* Fiber.join(busy)
        assert.strictEqual(yield* Fiber.join(behind), 1)
        yield* Fiber.join(stopping)
        reading.next()
        assert.strictEqual(yield* tagOf(reading.fiber), "ActorStopped")
        assert.deepStrictEqual(player.log.slice(-2), ["closed 1", "released"])
      })
    )

    it.effect("R-109 an abandoned actor's streams end at once, and its resources last as long as their producers", () =>
      Effect.gen(function* () {
        const { player, ref, stage, tree } = yield* playing({ shutdown: "abandon" })
        const closing = yield* Deferred.make<void>()
        player.cleanup = Deferred.await(closing)
        const reading = yield* consumer(ref.Read({ from: 1 }))
        yield* until("it reads", () => reading.taken.length === 1)
        yield* forked(ref.Deaf())
        yield* tree.stop
        reading.next()
        assert.strictEqual(yield* tagOf(reading.fiber), "ActorStopped")
        Deferred.doneUnsafe(player.door, Exit.void)
        yield* quiet
        assert.deepStrictEqual([player.log.includes("released"), stage.of("LeakEnded").length], [false, 0])
        yield* Deferred.succeed(closing, undefined)
        yield* until("it ended after all", () => stage.of("LeakEnded", "Tape").length === 1)
        assert.deepStrictEqual(player.log.slice(-2), ["closed 1", "released"])
      })
    )
  })

  it.effect("R-109 an actor can consume its neighbour's stream in a handler, and a stream can ask its own actor", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      class Sum extends Actor.Service<Sum>()("Sum", [
        Rpc.make("Total", { success: Schema.Finite }),
        Rpc.make("Squares", { success: Schema.Finite, stream: true }),
        Rpc.make("Square", { payload: { n: Schema.Finite }, success: Schema.Finite })
      ]) {}
      const sum = Sum.child(
        Effect.map(Effect.all([Tape, Sum]), ([tape, self]) =>
          Sum.handlers({
            Total: () =>
              tape.Read({ from: 0 }).pipe(
                Stream.runFold(
                  () => 0,
                  (total, n) => total + n
                ),
                Actor.orCrash,
                Effect.orDie
              ),
            Squares: () => Stream.mapEffect(Stream.range(1, 3), (n) => Effect.orDie(self.Square({ n }))),
            Square: ({ n }) => n * n
          })
        )
      )
      const root = Supervisor.make("root", { children: [tape(new Player()), sum] })
      const { context } = yield* stage.start(root)
      const ref = Context.get(context, Sum)
      assert.strictEqual(yield* ref.Total(), 3)
      assert.deepStrictEqual(yield* Stream.runCollect(ref.Squares()), [1, 4, 9])
    })
  )

  it.effect("R-109 a message that wants a stream can wait in the stash", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      class Shop extends Actor.Service<Shop>()("Shop", [
        Rpc.make("Goods", { success: Schema.String, error: Actor.StashFull, stream: true }),
        Rpc.make("Open", {})
      ]) {}
      const shop = Shop.child(
        Effect.gen(function* () {
          const stash = yield* Actor.stash({ capacity: 1 })
          let open = false
          return Shop.handlers({
            Goods: () => (open ? Stream.make("bread", "milk") : stash.add),
            Open: () => {
              open = true
              return stash.unstashAll
            }
          })
        })
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [shop] }))
      const ref = Context.get(context, Shop)
      const early = yield* forked(Stream.runCollect(ref.Goods()))
      assert.strictEqual((yield* Effect.flip(Stream.runCollect(ref.Goods())))._tag, "StashFull")
      assert.isUndefined(early.pollUnsafe())
      yield* ref.Open()
      assert.deepStrictEqual(yield* Fiber.join(early), ["bread", "milk"])
    })
  )

  it.effect("R-109 a producer's spans are below its consumer's", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      class Traced extends Actor.Service<Traced>()("Traced", [
        Rpc.make("Parents", { success: Schema.String, stream: true })
      ]) {}
      const parents = Stream.fromEffect(Effect.map(Effect.currentParentSpan, (span) => span.spanId))
      const child = Traced.child(Effect.succeed(Traced.handlers({ Parents: () => Stream.orDie(parents) })))
      const { context } = yield* stage.start(Supervisor.make("root", { children: [child] }))
      const [seen, own] = yield* Effect.all([
        Stream.runCollect(Context.get(context, Traced).Parents()),
        Effect.map(Effect.currentSpan, (span) => span.spanId)
      ]).pipe(Effect.withSpan("consumer"))
      assert.deepStrictEqual(seen, [own])
    })
  )

  it.effect("a stream cannot be told, and a mailbox that is full refuses it", () =>
    Effect.gen(function* () {
      const { player, ref } = yield* playing({ mailbox: { capacity: 1, whenFull: "fail" } })
      assert.isUndefined((ref.tell as Record<string, unknown>)["Read"])
      assert.isUndefined((ref.tellUnsafe as Record<string, unknown>)["Read"])
      yield* forked(ref.Wait())
      yield* quiet
      const first = yield* forked(Stream.runCollect(ref.Read({ from: 0 })))
      assert.strictEqual((yield* Effect.flip(Stream.runCollect(ref.Read({ from: 0 }))))._tag, "MailboxFull")
      Deferred.doneUnsafe(player.door, Exit.void)
      assert.deepStrictEqual(yield* Fiber.join(first), [0, 1, 2])
    })
  )

  it.effect("hundreds of streams of one actor end with it", () =>
    Effect.gen(function* () {
      const { player, ref, stage } = yield* playing()
      const readings = yield* Effect.forEach(Array.from({ length: 300 }), () => consumer(ref.Read({ from: 1 })))
      yield* until("all read", () => readings.every(({ taken }) => taken.length === 1))
      yield* Effect.flip(ref.Crash())
      for (const { fiber, next } of readings) {
        next()
        assert.strictEqual(yield* tagOf(fiber), "ActorCrashed")
      }
      yield* until("the next one is up", () => stage.of("Started", "Tape").length === 2)
      assert.strictEqual(player.log.filter((line) => line === "closed 1").length, 300)
    })
  )
})
