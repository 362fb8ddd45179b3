import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Duration, Effect, Exit, Fiber, Metric, Option, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor } from "espalier"

import { withEventLoop, withProcesses } from "./fixtures/real.ts"
import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const tagOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

/** Answers, waits behind a door that its incarnation makes, or crashes. */
class Desk extends Actor.Service<Desk>()("Desk", [
  Rpc.make("Echo", { payload: { n: Schema.Finite }, success: Schema.Finite }),
  Rpc.make("Wait", { success: Schema.Finite }),
  Rpc.make("Deaf", { success: Schema.Finite }),
  Rpc.make("Crash", {}),
  Rpc.make("Next", { success: Schema.Finite })
]) {}

class Doors {
  readonly all: Array<Deferred.Deferred<number>> = []
  readonly handled: Array<string> = []
  closed = 0

  open(incarnation: number, n = incarnation): void {
    Deferred.doneUnsafe(this.all[incarnation - 1]!, Exit.succeed(n))
  }
}

const desk = (doors: Doors, options?: Actor.Options<never>) =>
  Desk.child(
    Effect.gen(function* () {
      const door = yield* Deferred.make<number>()
      const incarnation = doors.all.push(door)
      let next = 0
      yield* Effect.addFinalizer(() => Effect.sync(() => (doors.closed += 1)))
      const entry = (what: string) => Effect.sync(() => doors.handled.push(`${what} ${incarnation}`))
      return Desk.handlers({
        Echo: ({ n }) => {
          doors.handled.push(`Echo ${n}`)
          return n
        },
        Wait: () => Effect.andThen(entry("Wait"), Deferred.await(door)),
        Deaf: () => Effect.andThen(entry("Deaf"), Effect.uninterruptible(Deferred.await(door))),
        Crash: () => Effect.die("boom"),
        Next: () => (next += 1)
      })
    }),
    options
  )

const seated = (options?: Actor.Options<never>) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const doors = new Doors()
    const root = Supervisor.make("root", {
      intensity: { restarts: 1_000_000, within: "1 second" },
      children: [desk(doors, options), stage.child("sibling")]
    })
    const { context, tree } = yield* stage.start(root)
    return { stage, doors, tree, root: yield* tree.find(["root"]), ref: Context.get(context, Desk) }
  })

describe("Actor, fairness", () => {
  class Ping extends Actor.Service<Ping>()("Ping", [Rpc.make("Hit", {})]) {}
  class Pong extends Actor.Service<Pong>()("Pong", [Rpc.make("Hit", {})]) {}

  const rally = (hits: { count: number }, suspended: boolean) => {
    const hit = (other: {
      readonly tell: { readonly Hit: (payload: void) => Effect.Effect<void> }
      readonly tellUnsafe: { readonly Hit: (payload: void) => boolean }
    }) =>
      suspended
        ? () =>
            Effect.andThen(
              Effect.sync(() => (hits.count += 1)),
              other.tell.Hit()
            )
        : () => {
            hits.count += 1
            other.tellUnsafe.Hit()
          }
    return Supervisor.make("root", {
      children: [
        Ping.child(Effect.map(Pong, (other) => Ping.handlers({ Hit: hit(other) }))),
        Pong.child(Effect.map(Ping, (other) => Pong.handlers({ Hit: hit(other) })))
      ]
    })
  }

  for (const suspended of [false, true]) {
    withEventLoop(
      `two actors that tell each other for ever, ${suspended ? "with effects" : "with plain handlers"}, leave timers their turn`,
      () =>
        Effect.gen(function* () {
          const hits = { count: 0 }
          const context = yield* Supervisor.start(rally(hits, suspended), { log: false })
          yield* Context.get(context, Ping).tell.Hit()
          const [elapsed] = yield* Effect.timed(Effect.sleep("50 millis"))
          assert.isBelow(Duration.toMillis(elapsed), 1_000)
          assert.isAbove(hits.count, 1_000)
        })
    )
  }

  withEventLoop("an actor that tells itself for ever leaves timers their turn", () =>
    Effect.gen(function* () {
      let hits = 0
      const ping = Ping.child(
        Effect.map(Ping, (self) =>
          Ping.handlers({
            Hit: () => {
              hits += 1
              self.tellUnsafe.Hit()
            }
          })
        )
      )
      const context = yield* Supervisor.start(Supervisor.make("root", { children: [ping] }), { log: false })
      yield* Context.get(context, Ping).tell.Hit()
      const [elapsed] = yield* Effect.timed(Effect.sleep("50 millis"))
      assert.isBelow(Duration.toMillis(elapsed), 1_000)
      assert.isAbove(hits, 10)
    })
  )

  withEventLoop("an endless loop of asks leaves timers their turn", () =>
    Effect.gen(function* () {
      const doors = new Doors()
      const context = yield* Supervisor.start(Supervisor.make("root", { children: [desk(doors)] }), { log: false })
      const ref = Context.get(context, Desk)
      let asks = 0
      yield* Effect.forkScoped(Effect.forever(Effect.map(ref.Next(), (n) => (asks = n))))
      const [elapsed] = yield* Effect.timed(Effect.sleep("50 millis"))
      assert.isBelow(Duration.toMillis(elapsed), 1_000)
      assert.isAbove(asks, 10)
    })
  )

  it.effect("a busy actor does not starve the others of its tree", () =>
    Effect.gen(function* () {
      const hits = { count: 0 }
      const doors = new Doors()
      const root = Supervisor.make("root", {
        children: [rally(hits, false), desk(doors)]
      })
      const context = yield* Supervisor.start(root, { log: false })
      yield* Context.get(context, Ping).tell.Hit()
      const ref = Context.get(context, Desk)
      const before = hits.count
      for (let n = 0; n < 100; n++) assert.strictEqual(yield* ref.Echo({ n }), n)
      assert.isBelow(hits.count - before, 100_000)
    })
  )
})

describe("Actor, on the test clock", () => {
  for (const yields of [0, 1, 3]) {
    it.effect(
      `a ticker that asks every 10 ms has asked ten times after 100 ms, with handlers that yield ${yields} times`,
      () =>
        Effect.gen(function* () {
          class Tick extends Actor.Service<Tick>()("Tick", [
            Rpc.make("At", { payload: { at: Schema.Finite }, success: Schema.Finite })
          ]) {}
          const results: Array<number> = []
          const tick = Tick.child(
            Effect.succeed(
              Tick.handlers({
                At: ({ at }) =>
                  yields === 0 ? at : Effect.as(Effect.repeat(Effect.yieldNow, { times: yields - 1 }), at)
              })
            )
          )
          const ticker = Child.effect(
            "ticker",
            Effect.gen(function* () {
              const ref = yield* Tick
              for (let n = 1; ; n++) {
                yield* Effect.sleep("10 millis")
                results.push(yield* ref.At({ at: n * 10 }))
              }
            })
          )
          yield* Supervisor.start(Supervisor.make("root", { children: [tick, ticker] }), { log: false })
          yield* TestClock.adjust("100 millis")
          assert.deepStrictEqual(results, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
        })
    )
  }
})

describe("Actor, callers", () => {
  it.effect("a caller that is resumed sends again at once, and its messages are handled in order", () =>
    Effect.gen(function* () {
      const { ref, doors } = yield* seated()
      const chain = yield* forked(
        Effect.gen(function* () {
          for (let n = 0; n < 100; n += 2) {
            yield* ref.Echo({ n })
            yield* ref.tell.Echo({ n: n + 1 })
          }
          return yield* ref.Echo({ n: 100 })
        })
      )
      assert.strictEqual(yield* Fiber.join(chain), 100)
      assert.deepStrictEqual(
        doors.handled,
        Array.from({ length: 101 }, (_, n) => `Echo ${n}`)
      )
    })
  )

  it.effect("asks from inside handlers go through a chain of ten thousand actors and back", () =>
    Effect.gen(function* () {
      const length = 10_000
      const makeLink = (index: number) => {
        class Link extends Actor.Service<Link>()(`Link${index}`, [
          Rpc.make("Pass", { payload: { n: Schema.Finite }, success: Schema.Finite })
        ]) {}
        return Link
      }
      const links = Array.from({ length }, (_, index) => makeLink(index))
      const children = links.map((Link, index) => {
        const Neighbour = links[index + 1]
        return Neighbour === undefined
          ? Link.child(Effect.succeed(Link.handlers({ Pass: ({ n }) => n })))
          : Link.child(
              Effect.map(Neighbour, (next) =>
                Link.handlers({ Pass: ({ n }) => Actor.orCrash(next.Pass({ n: n + 1 })) })
              )
            )
      })
      const root = Supervisor.make("root", { children })
      const context = yield* Supervisor.start(root as unknown as Supervisor.Supervisor<never, never, never>, {
        log: false
      })
      const first = Context.get(context as Context.Context<unknown> as never, links[0]!) as Actor.Ref<
        (typeof links)[0]["protocol"][number]
      >
      assert.strictEqual(yield* first.Pass({ n: 0 }), length - 1)
    })
  )

  it.effect("C-150 the late answer of an ask that timed out is never the answer of the next one", () =>
    Effect.gen(function* () {
      const { ref, doors } = yield* seated()
      const late = yield* forked(tagOf(Actor.withTimeout("10 millis")(ref.Wait())))
      yield* TestClock.adjust("10 millis")
      assert.strictEqual(yield* Fiber.join(late), "AskTimeout")
      const next = yield* forked(ref.Echo({ n: 7 }))
      doors.open(1, 99)
      assert.strictEqual(yield* Fiber.join(next), 7)
    })
  )

  it.effect("C-157 a thousand callers that are interrupted leave nothing to handle", () =>
    Effect.gen(function* () {
      const { ref, doors, tree } = yield* seated()
      yield* ref.tell.Wait()
      const callers = yield* Effect.forEach(Array.from({ length: 1_000 }), (_, n) => forked(ref.Echo({ n })))
      yield* quiet
      yield* Effect.forEach(callers, Fiber.interrupt, { discard: true })
      doors.open(1)
      assert.strictEqual(yield* ref.Echo({ n: -1 }), -1)
      assert.deepStrictEqual(doors.handled, ["Wait 1", "Echo -1"])
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Desk").mailbox, 0)
    })
  )

  it.effect("C-157 a caller interrupted in the tick of its answer ends as interrupted, and the actor goes on", () =>
    Effect.gen(function* () {
      const { ref, doors } = yield* seated()
      const caller = yield* forked(ref.Wait())
      yield* until("it waits", () => doors.handled.length === 1)
      doors.open(1)
      caller.interruptUnsafe()
      const exit = yield* Fiber.await(caller)
      assert.isTrue(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause))
      assert.strictEqual(yield* ref.Echo({ n: 1 }), 1)
    })
  )
})

describe("Actor, crashes", () => {
  it.effect("R-109 a thousand messages that wait when the actor crashes are all handled, in order, once", () =>
    Effect.gen(function* () {
      const { ref, doors, stage } = yield* seated()
      yield* ref.tell.Wait()
      yield* quiet
      const asks = yield* Effect.forEach(Array.from({ length: 500 }), (_, n) =>
        Effect.andThen(ref.tell.Echo({ n: 2 * n }), forked(ref.Echo({ n: 2 * n + 1 })))
      )
      Deferred.doneUnsafe(doors.all[0]!, Exit.die("boom"))
      assert.lengthOf(yield* Fiber.joinAll(asks), 500)
      assert.deepStrictEqual(
        doors.handled.slice(1),
        Array.from({ length: 1_000 }, (_, n) => `Echo ${n}`)
      )
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => [event.message, event.reason]),
        [["Wait", "crashed"]]
      )
    })
  )

  it.effect("a message that crashes every incarnation costs one restart each time it is sent, not more", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* seated()
      for (let n = 0; n < 50; n++) yield* ref.tell.Crash()
      assert.strictEqual(yield* ref.Echo({ n: 1 }), 1)
      assert.lengthOf(stage.of("Restarting"), 50)
      assert.lengthOf(stage.of("DeadLetter"), 50)
    })
  )

  class Odd extends Actor.Service<Odd>()("Odd", [
    Rpc.make("Go", { payload: { how: Schema.String }, success: Schema.String }),
    Rpc.make("Missing", {})
  ]) {}

  const odd = Odd.child(
    Effect.succeed({
      Go: ({ how }: { readonly how: string }) => {
        switch (how) {
          case "throws a string":
            throw "just a string" // oxlint-disable-line no-throw-literal, typescript/only-throw-error
          case "throws undefined":
            throw undefined // oxlint-disable-line no-throw-literal, typescript/only-throw-error
          case "returns a rejected promise":
            return Promise.reject(new Error("nobody listens"))
          case "interrupts itself":
            return Effect.interrupt
          case "fails and dies":
            return Effect.ensuring(Effect.fail("typed"), Effect.die("bug"))
          default:
            return how
        }
      }
    } as never)
  )

  for (const [how, cause] of [
    ["throws a string", "just a string"],
    ["throws undefined", "undefined"],
    ["returns a rejected promise", "the handler Go of root/Odd returned a promise: wrap it in Effect.promise"],
    ["interrupts itself", "All fibers interrupted without error"],
    ["fails and dies", "bug"]
  ] as const) {
    it.effect(`a handler that ${how} crashes its actor, and only the caller of that message hears of it`, () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { context } = yield* stage.start(Supervisor.make("root", { children: [odd] }))
        const ref = Context.get(context, Odd)
        const crash = yield* forked(tagOf(ref.Go({ how })))
        const other = yield* forked(ref.Go({ how: "fine" }))
        assert.strictEqual(yield* Fiber.join(crash), "ActorCrashed")
        assert.strictEqual(yield* Fiber.join(other), "fine")
        const [exited] = stage.of("Exited", "Odd")
        const reason = exited!.reason
        assert.strictEqual(reason._tag, how === "interrupts itself" ? "Killed" : "Error")
        assert.include(Cause.pretty("cause" in reason ? reason.cause! : Cause.empty), cause)
      })
    )
  }

  it.effect("an rpc without a handler, which only untyped code can do, crashes with a message that says so", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { context } = yield* stage.start(Supervisor.make("root", { children: [odd] }))
      const ref = Context.get(context, Odd)
      assert.strictEqual(yield* tagOf(ref.Missing()), "ActorCrashed")
      assert.include(JSON.stringify(stage.of("Exited")[0], errorsAsText), "root/Odd has no handler Missing")
      assert.throws(() => (ref as unknown as { readonly Unknown: () => void }).Unknown(), TypeError)
    })
  )

  const errorsAsText = (_: string, value: unknown): unknown => (value instanceof Error ? value.message : value)
})

describe("Actor, stops", () => {
  for (const stop of ["interrupt", "finish"] as const) {
    it.effect(`with ${stop}, a stop while a handler is suspended ends in time, and a start finds the next mail`, () =>
      Effect.gen(function* () {
        const { ref, root, doors, stage } = yield* seated({ stop })
        const handled = yield* forked(Effect.exit(ref.Wait()))
        const queued = yield* forked(tagOf(ref.Echo({ n: 1 })))
        yield* until("it waits", () => doors.handled.length === 1)
        const stopping = yield* forked(root.stopChild("Desk"))
        yield* quiet
        if (stop === "finish") {
          assert.isUndefined(stopping.pollUnsafe())
          doors.open(1)
        }
        yield* Fiber.join(stopping)
        assert.strictEqual(yield* Fiber.join(queued), "ActorStopped")
        assert.strictEqual(Exit.isSuccess(yield* Fiber.join(handled)), stop === "finish")
        assert.strictEqual(yield* tagOf(ref.Echo({ n: 2 })), "ActorStopped")
        yield* root.restartChild("Desk")
        assert.strictEqual(yield* ref.Echo({ n: 3 }), 3)
        assert.deepStrictEqual(doors.handled, ["Wait 1", "Echo 3"])
        assert.deepStrictEqual(
          stage.of("Exited", "Desk").map((event) => event.reason._tag),
          ["Shutdown"]
        )
      })
    )
  }

  it.effect("with finish, a handler that fails or crashes while it is let finish answers its caller so", () =>
    Effect.gen(function* () {
      class Last extends Actor.Service<Last>()("Last", [Rpc.make("Word", { error: Schema.String })]) {}
      const ends: ReadonlyArray<Effect.Effect<never, string>> = [Effect.fail("typed"), Effect.die("bug")]
      const seen: Array<unknown> = []
      for (const end of ends) {
        const stage = new Stage()
        const door = yield* Deferred.make<void>()
        const last = Last.child(
          Effect.succeed(Last.handlers({ Word: () => Effect.andThen(Deferred.await(door), end) })),
          {
            stop: "finish"
          }
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [last] }))
        const ask = yield* forked(Effect.flip(Context.get(context, Last).Word()))
        const behind = yield* forked(Effect.flip(Context.get(context, Last).Word()))
        yield* quiet
        const stopping = yield* forked(tree.stop)
        yield* quiet
        yield* Deferred.succeed(door, undefined)
        yield* Fiber.join(stopping)
        const error = yield* Fiber.join(ask)
        const skipped = yield* Fiber.join(behind)
        assert.strictEqual(typeof skipped === "string" ? skipped : skipped._tag, "ActorStopped")
        const { reason } = stage.of("Exited", "Last")[0]!
        seen.push([typeof error === "string" ? error : error._tag, "cause" in reason && reason.cause !== undefined])
      }
      assert.deepStrictEqual(seen, [
        ["typed", false],
        ["ActorCrashed", true]
      ])
    })
  )

  it.effect("a restart after a stop finds the mail that came in between as dead letters, not as work", () =>
    Effect.gen(function* () {
      const { ref, root, doors, stage } = yield* seated()
      yield* root.stopChild("Desk")
      yield* ref.tell.Echo({ n: 1 })
      yield* root.restartChild("Desk")
      assert.strictEqual(yield* ref.Next(), 1)
      assert.deepStrictEqual(doors.handled, [])
      assert.lengthOf(stage.of("DeadLetter"), 1)
    })
  )

  it.effect("a hundred stops and starts while messages rain lose no ask: each is answered", () =>
    Effect.gen(function* () {
      const { ref, root } = yield* seated()
      const asks: Array<Fiber.Fiber<string>> = []
      for (let round = 0; round < 100; round++) {
        for (let n = 0; n < 5; n++) {
          asks.push(
            yield* forked(
              Effect.match(ref.Echo({ n }), { onSuccess: () => "answered", onFailure: (error) => error._tag })
            )
          )
        }
        yield* round % 3 === 0 ? Effect.ignore(ref.Crash()) : root.stopChild("Desk")
        yield* Effect.ignore(root.restartChild("Desk"))
      }
      const answers = yield* Fiber.joinAll(asks)
      assert.lengthOf(answers, 500)
      assert.deepStrictEqual(
        answers.filter((answer) => answer !== "answered" && answer !== "ActorStopped"),
        []
      )
      assert.strictEqual(yield* ref.Echo({ n: 1 }), 1)
    })
  )
})

describe("Actor, groups and fences", () => {
  for (const strategy of ["one-for-all", "rest-for-one"] as const) {
    it.effect(`${strategy} keeps the mail of its members`, () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const doors = new Doors()
        const root = Supervisor.make("root", { strategy, children: [stage.child("head"), desk(doors)] })
        const { context } = yield* stage.start(root)
        const ref = Context.get(context, Desk)
        yield* ref.tell.Wait()
        yield* until("it waits", () => doors.handled.length === 1)
        const asks = yield* Effect.forEach([1, 2, 3], (n) => forked(ref.Echo({ n })))
        stage.end("head")
        assert.deepStrictEqual(yield* Fiber.joinAll(asks), [1, 2, 3])
        assert.strictEqual(doors.all.length, 2)
      })
    )
  }

  it.effect("C-158 a wake-up that an incarnation did not live to see lets nothing overlap in the next one", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = new Doors()
      const root = Supervisor.make("root", { strategy: "one-for-all", children: [desk(doors), stage.child("sibling")] })
      const { context } = yield* stage.start(root)
      const ref = Context.get(context, Desk)
      yield* Effect.sync(() => {
        stage.end("sibling") // the group restart is decided before the first wake-up for this mail
        ref.tellUnsafe.Wait()
        ref.tellUnsafe.Echo({ n: 1 })
      })
      yield* until("the next incarnation waits", () => doors.handled.length > 0)
      yield* quiet
      assert.deepStrictEqual(doors.handled, ["Wait 2"])
      doors.open(2)
      yield* quiet
      assert.deepStrictEqual(doors.handled, ["Wait 2", "Echo 1"])
    })
  )

  it.effect("a fenced incarnation reaches nobody: not its caller, not its mailbox, not its successor", () =>
    Effect.gen(function* () {
      const { ref, root, doors, stage, tree } = yield* seated({ shutdown: "1 second" })
      const handled = yield* forked(tagOf(ref.Deaf()))
      yield* until("it is deaf", () => doors.handled.length === 1)
      const stopping = yield* forked(root.stopChild("Desk"))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      assert.strictEqual(yield* Fiber.join(handled), "ActorStopped")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Desk").state, "leaked")
      assert.strictEqual(yield* tagOf(ref.Echo({ n: 1 })), "ActorStopped")
      yield* root.restartChild("Desk")
      // The successor is in the middle of a message of its own when the old handler ends at last.
      const waiting = yield* forked(ref.Wait())
      const behind = yield* forked(ref.Echo({ n: 5 }))
      yield* until("the successor waits", () => doors.handled.includes("Wait 2"))
      doors.open(1, 111)
      yield* until("the old one ended", () => stage.of("LeakEnded").length === 1)
      yield* quiet
      assert.isUndefined(waiting.pollUnsafe())
      assert.isUndefined(behind.pollUnsafe())
      assert.strictEqual(doors.closed, 1) // what the old one held is released all the same
      doors.open(2, 222)
      assert.deepStrictEqual(yield* Fiber.joinAll([waiting, behind]), [222, 5])
      assert.deepStrictEqual(doors.handled, ["Deaf 1", "Wait 2", "Echo 5"])
      assert.deepStrictEqual(
        stage.of("LeakEnded").map((event) => event.incarnation),
        [1]
      )
    })
  )

  it.effect("a supervisor that was fenced and comes back serves its actors' references again", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = new Doors()
      const root = Supervisor.make("root", {
        strategy: "one-for-all",
        children: [
          stage.child("head"),
          Supervisor.make("middle", {
            shutdown: "1 second",
            children: [desk(doors), stage.child("hung", { cleanup: "1 minute", shutdown: "Infinity" })]
          })
        ]
      })
      const { context, tree } = yield* stage.start(root)
      const ref = Context.get(context, Desk)
      assert.strictEqual(yield* ref.Next(), 1)
      stage.end("head")
      yield* TestClock.adjust("1 second")
      yield* until("all is back", () => stage.of("Started", "middle").length === 2)
      assert.deepStrictEqual(
        stage.of("Leaked").map((event) => event.path.join("/")),
        ["root/middle/hung"]
      )
      assert.strictEqual(yield* ref.Next(), 1)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "middle", "hung").leaked, 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "middle", "hung").leaked, 0)
      yield* stage.stop(tree, "2 minutes")
    })
  )

  it.effect("when a supervisor gave up and starts again, mail that its inits send to younger siblings is kept", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = new Doors()
      const early = stage.child("early", { init: Effect.void })
      const teller = Child.make(
        "teller",
        Effect.gen(function* () {
          yield* (yield* Desk).tell.Echo({ n: doors.all.length })
          return Effect.never
        })
      )
      const root = Supervisor.make("root", {
        children: [
          Supervisor.make("inner", {
            intensity: { restarts: 0, within: "1 second" },
            children: [early, teller, Supervisor.make("deep", { children: [desk(doors)] })]
          })
        ]
      })
      yield* stage.start(root)
      yield* until("the first mail is handled", () => doors.handled.length === 1)
      stage.end("early")
      yield* until("all is back", () => stage.of("Started", "inner").length === 2)
      yield* quiet
      assert.deepStrictEqual(doors.handled, ["Echo 0", "Echo 1"])
      assert.deepStrictEqual(stage.of("DeadLetter"), [])
    })
  )

  it.effect("an actor that was removed is gone for its references, also when a new one takes its id", () =>
    Effect.gen(function* () {
      const { ref, root, doors } = yield* seated()
      yield* root.stopChild("Desk")
      yield* root.removeChild("Desk")
      const started = yield* root.startChild(desk(doors))
      assert.strictEqual(yield* Context.get(started.context, Desk).Echo({ n: 1 }), 1)
      assert.strictEqual(yield* tagOf(ref.Echo({ n: 2 })), "ActorStopped")
      assert.isFalse(ref.tellUnsafe.Echo({ n: 2 }))
    })
  )
})

describe("Actor, deadlines", () => {
  it.effect("many distinct time-outs expire in their own order, whatever the order of asking", () =>
    Effect.gen(function* () {
      const { ref } = yield* seated()
      const expired: Array<number> = []
      yield* ref.tell.Wait()
      const times = Array.from({ length: 200 }, (_, n) => ((n * 7919) % 200) + 1)
      for (const millis of times) {
        yield* forked(
          Effect.ignore(Actor.withTimeout(millis)(ref.Echo({ n: millis }))).pipe(
            Effect.andThen(Effect.sync(() => expired.push(millis)))
          )
        )
      }
      yield* quiet
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(
        expired,
        Array.from({ length: 100 }, (_, n) => n + 1)
      )
      yield* TestClock.adjust("100 millis")
      assert.lengthOf(expired, 200)
    })
  )

  it.effect("asks of one patience expire one by one, as they were sent", () =>
    Effect.gen(function* () {
      const { ref } = yield* seated()
      const expired: Array<readonly [number, number]> = []
      yield* ref.tell.Wait()
      for (let n = 0; n < 5; n++) {
        yield* forked(
          Effect.ignore(ref.Echo({ n })).pipe(
            Effect.andThen(
              Effect.clockWith((clock) => Effect.sync(() => expired.push([n, clock.currentTimeMillisUnsafe()])))
            )
          )
        )
        yield* TestClock.adjust("1 second")
      }
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(
        expired,
        [0, 1, 2, 3, 4].map((n) => [n, 5_000 + n * 1_000] as const)
      )
    })
  )

  it.effect("a caller that asks again the moment it timed out has its whole patience again", () =>
    Effect.gen(function* () {
      const { ref } = yield* seated()
      yield* ref.tell.Wait()
      let tries = 0
      yield* forked(
        Effect.ignore(
          Effect.retry(
            Effect.suspend(() => {
              tries += 1
              return ref.Echo({ n: tries })
            }),
            Schedule.forever
          )
        )
      )
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(tries, 5)
    })
  )

  it.effect("C-157 a time-out of thirty days is long, not immediate", () =>
    Effect.gen(function* () {
      const { ref } = yield* seated()
      const ask = yield* forked(tagOf(Actor.withTimeout("30 days")(ref.Wait())))
      yield* TestClock.adjust("29 days")
      assert.isUndefined(ask.pollUnsafe())
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* Fiber.join(ask), "AskTimeout")
    })
  )

  // What is shown is that a process with nothing but ended trees exits by itself.
  withProcesses("no sleeper outlives its tree: the process ends at once", () =>
    Effect.gen(function* () {
      const run = Effect.callback<string, Error>((resume) => {
        const child = execFile(
          process.execPath,
          ["--conditions=@espalier/source", fileURLToPath(new URL("./fixtures/exits.ts", import.meta.url))],
          { timeout: 20_000 },
          (error, stdout) => resume(error === null ? Effect.succeed(stdout) : Effect.fail(error))
        )
        return Effect.sync(() => child.kill())
      })
      const [elapsed, stdout] = yield* Effect.timed(run)
      assert.strictEqual(stdout.trim(), "stopped")
      assert.isBelow(Duration.toMillis(elapsed), 15_000)
    })
  )
})

describe("Actor, cost", () => {
  it.effect("an idle actor holds no fiber", () =>
    Effect.gen(function* () {
      let alive = 0
      const metrics: Metric.FiberRuntimeMetricsService = {
        recordFiberStart: () => {
          alive += 1
        },
        recordFiberEnd: () => {
          alive -= 1
        }
      }
      const makeIdle = (index: number) => Child.hide(desk(new Doors(), { id: `desk-${index}` }))
      const doors = new Doors()
      const root = Supervisor.make("root", {
        children: [desk(doors), ...Array.from({ length: 500 }, (_, n) => makeIdle(n))]
      })
      const context = yield* Supervisor.start(root, { log: false }).pipe(
        Effect.provideService(Metric.FiberRuntimeMetrics, metrics)
      )
      yield* quiet
      assert.strictEqual(alive, 0)
      const ref = Context.get(context, Desk)
      assert.strictEqual(yield* Actor.withTimeout("Infinity")(ref.Next()), 1)
      assert.strictEqual(alive, 0)
      yield* ref.Next()
      yield* quiet
      const sleepers = alive // one for all asks of five seconds, whatever their number, and one of the test clock's
      assert.isAtMost(sleepers, 2)
      for (let n = 0; n < 100; n++) yield* ref.Next()
      assert.strictEqual(alive, sleepers)
      yield* ref.tell.Wait()
      yield* quiet
      assert.strictEqual(alive, sleepers + 1)
      doors.open(1)
      yield* quiet
      assert.strictEqual(alive, sleepers)
    })
  )
})

describe("Actor, traces", () => {
  it.effect("a handler's span is the child of the caller's span, for tells too, and of none without one", () =>
    Effect.gen(function* () {
      const parents: Array<string> = []
      class Traced extends Actor.Service<Traced>()("Traced", [Rpc.make("Work", {})]) {}
      const work = Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
        parents.push(Option.match(span.parent, { onNone: () => "none", onSome: (parent) => parent.spanId }))
      }).pipe(Effect.withSpan("handler"))
      const traced = Traced.child(Effect.succeed(Traced.handlers({ Work: () => work })))
      const context = yield* Supervisor.start(Supervisor.make("root", { children: [traced] }), { log: false }).pipe(
        Effect.withSpan("startup")
      )
      const ref = Context.get(context, Traced)
      const id = Effect.map(Effect.orDie(Effect.currentSpan), (span) => span.spanId)
      const asked = yield* Effect.tap(id, () => ref.Work()).pipe(Effect.withSpan("asks"))
      const told = yield* Effect.tap(id, () => ref.tell.Work()).pipe(Effect.withSpan("tells"))
      yield* quiet
      yield* ref.Work()
      assert.deepStrictEqual(parents, [asked, told, "none"])
    })
  )

  it.effect("a burst of messages gives each handler the span of its own caller", () =>
    Effect.gen(function* () {
      const parents: Array<string> = []
      class Traced extends Actor.Service<Traced>()("Traced", [Rpc.make("Work", {})]) {}
      const work = Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
        parents.push(
          Option.match(span.parent, {
            onNone: () => "none",
            onSome: (parent) => (parent._tag === "Span" ? parent.name : "external")
          })
        )
      }).pipe(Effect.withSpan("handler"))
      const traced = Traced.child(Effect.succeed(Traced.handlers({ Work: () => work })))
      const context = yield* Supervisor.start(Supervisor.make("root", { children: [traced] }), { log: false })
      const ref = Context.get(context, Traced)
      for (let n = 0; n < 4; n++)
        yield* n % 2 === 0 ? ref.tell.Work().pipe(Effect.withSpan(`caller ${n}`)) : ref.tell.Work()
      yield* quiet
      assert.deepStrictEqual(parents, ["caller 0", "none", "caller 2", "none"])
    })
  )
})
