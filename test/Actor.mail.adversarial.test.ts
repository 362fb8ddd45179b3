import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schema, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Supervisor } from "espalier"

import { quiet, Stage, until } from "./fixtures/stage.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const tagOf = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

/** Says what a test has it say. */
class Oracle extends Actor.Service<Oracle>()("Oracle", [
  Rpc.make("Ask", { payload: { n: Schema.Finite }, success: Schema.Finite }),
  Rpc.make("Deaf", {}),
  Rpc.make("Crash", {}),
  Rpc.make("Numbers", { success: Schema.Finite, stream: true })
]) {}

const sayings = Oracle.handlers({
  Ask: ({ n }) => n as Actor.Answer<number, never>,
  Deaf: (): Effect.Effect<void> => Effect.uninterruptible(Effect.never),
  Crash: () => Effect.die("boom"),
  Numbers: () => Stream.make(1, 2, 3)
})

describe("an answer that comes later", () => {
  it.effect("is late when its incarnation has just ended, though nobody was told yet", () =>
    Effect.gen(function* () {
      const later = Deferred.makeUnsafe<number>()
      const stage = new Stage()
      const oracle = Oracle.child(Effect.succeed({ ...sayings, Ask: () => later }))
      const { context } = yield* stage.start(Supervisor.make("root", { children: [oracle] }), {
        onEvent: (event) => {
          if (event._tag === "Exited") Deferred.doneUnsafe(later, Exit.succeed(1))
        }
      })
      const ref = Context.get(context, Oracle)
      const asking = yield* forked(tagOf(ref.Ask({ n: 1 })))
      yield* quiet
      yield* ref.tell.Crash()
      yield* quiet
      assert.strictEqual(yield* Fiber.join(asking), "ActorCrashed")
    })
  )
})

describe("handlers", () => {
  it.effect("may be frozen", () =>
    Effect.gen(function* () {
      const oracle = Oracle.child(Effect.succeed(Object.freeze({ ...sayings })))
      const { context } = yield* new Stage().start(Supervisor.make("root", { children: [oracle] }))
      const ref = Context.get(context, Oracle)
      assert.deepStrictEqual(yield* Stream.runCollect(ref.Numbers()), [1, 2, 3])
    })
  )

  it.effect.each([undefined, 1])("that are %s are a bug of the init, which fails", (none) =>
    Effect.gen(function* () {
      const child = Oracle.child(Effect.succeed(none as never as typeof sayings))
      const exit = yield* Effect.exit(new Stage().start(Supervisor.make("root", { children: [child] })))
      assert.isTrue(Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes("must give handlers"))
    })
  )
})

describe("a fenced init", () => {
  it.effect("gets no stash of the incarnation after it", () =>
    Effect.gen(function* () {
      const doors = [1, 2, 3].map(() => Deferred.makeUnsafe<void>())
      const stage = new Stage()
      let lives = 0
      const got: Array<unknown> = []
      const oracle = Oracle.child(
        Effect.gen(function* () {
          lives += 1
          const life = lives
          const wait = Deferred.await(doors[life - 1]!)
          const note = (exit: Exit.Exit<unknown>) => Effect.sync(() => got.push([life, exit._tag]))
          const asked = Effect.andThen(wait, Actor.stash()).pipe(Effect.exit, Effect.tap(note))
          yield* life === 2 ? Effect.uninterruptible(asked) : asked
          return sayings
        }),
        { initTimeout: "10 seconds", shutdown: "1 second" }
      )
      yield* Deferred.succeed(doors[0]!, undefined)
      const { context } = yield* stage.start(Supervisor.make("root", { children: [oracle] }))
      const ref = Context.get(context, Oracle)
      yield* ref.tell.Crash()
      yield* TestClock.adjust("11 seconds")
      yield* TestClock.adjust("5 seconds")
      yield* until("the third life", () => lives === 3)
      yield* Deferred.succeed(doors[1]!, undefined)
      yield* quiet
      yield* Deferred.succeed(doors[2]!, undefined)
      yield* quiet
      assert.deepStrictEqual(got, [
        [1, "Success"],
        [2, "Success"],
        [3, "Success"]
      ])
    })
  )
})

describe("an observer of events", () => {
  it.effect.each(["Starting", "Started", "Exited", "Restarting", "Stopping", "DeadLetter", "Leaked"] as const)(
    "may stop an impatient tree at a %s, and nothing is started in it afterwards",
    (tag) =>
      Effect.gen(function* () {
        const stage = new Stage()
        let stop: Effect.Effect<unknown> = Effect.void
        const oracle = Oracle.child(Effect.succeed(sayings), { shutdown: "1 second" })
        const root = Supervisor.make("root", {
          strategy: "one-for-all",
          shutdown: "0 seconds",
          children: [stage.child("a"), oracle, stage.child("b")]
        })
        const { context, tree } = yield* stage.start(root, {
          onEvent: (event) => {
            stage.events.push(event)
            if (event._tag !== tag || event.path.length === 1) return
            const now = stop
            stop = Effect.void
            Effect.runFork(now)
          }
        })
        stage.takeLog()
        stop = tree.stop
        const ref = Context.get(context, Oracle)
        yield* ref.tell.Deaf()
        yield* quiet
        stage.end("b")
        yield* ref.tell.Ask({ n: 1 })
        yield* TestClock.adjust("10 seconds")
        yield* tree.ended
        const ends = stage.steps.indexOf("Exited root")
        assert.isAbove(ends, 0)
        assert.notInclude(stage.steps.slice(ends), "Starting a")
        assert.strictEqual(stage.of("Leaked").length, 1)
        assert.strictEqual(
          stage.log.filter((line) => line === "start a").length,
          stage.log.filter((line) => line === "down a").length - 1
        )
      })
  )
})
