import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Schedule, Schema, Scope, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor, Tree, Watch } from "espalier"

import * as Feed from "../src/internal/feed.ts"
import { placeOf } from "../src/internal/place.ts"
import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"
import { lost, Notes, Witness } from "./fixtures/witness.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** What a defect says. */
const defect = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it succeeded"

/** Writes the steps of a place down, as `tag incarnation`. */
const follow = (target: Watch.Target, into: Array<string>) =>
  forked(
    Stream.runForEach(Watch.changes(target), (change) =>
      Effect.sync(() => into.push(change._tag === "Missed" ? "Missed" : `${change._tag} ${change.incarnation}`))
    )
  )

const watchersOf = (target: Watch.Target): unknown => (placeOf(target) as unknown as { observers: unknown }).observers

describe("Watch", () => {
  describe("changes", () => {
    it.effect("R-110 says how a child stands, then its ends and restarts, and ends when the child is removed", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
        const root = yield* tree.find(["root"])
        const steps: Array<string> = []
        const following = yield* follow(yield* tree.find(["root", "a"]), steps)
        stage.end("a")
        yield* until("a is up again", () => stage.of("Started", "a").length === 2)
        yield* root.stopChild("a")
        yield* quiet
        assert.deepStrictEqual(steps, ["Started 1", "Ended 1", "Restarted 2", "Ended 2", "Down 2"])
        yield* root.restartChild("a")
        yield* root.stopChild("a")
        yield* quiet
        assert.deepStrictEqual(steps.slice(5), ["Started 3", "Ended 3", "Down 3"])
        assert.isUndefined(following.pollUnsafe())
        yield* root.removeChild("a")
        yield* Fiber.join(following)
        assert.strictEqual(steps.length, 8)
      })
    )

    it.effect("tells the reasons, and says of a child that is down before that it is gone", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(
          Supervisor.make("root", { children: [stage.child("a", { restart: "on-failure" })] })
        )
        const a = yield* tree.find(["root", "a"])
        const running = yield* forked(Stream.runCollect(Watch.changes(a)))
        stage.end("a", Effect.void)
        yield* until("a ended", () => stage.of("Exited").length > 0)
        yield* quiet
        const late = yield* forked(Stream.runCollect(Watch.changes(a)))
        yield* quiet
        yield* tree.stop
        const path = ["root", "a"]
        assert.deepStrictEqual(yield* Fiber.join(running), [
          { _tag: "Started", path, incarnation: 1 },
          { _tag: "Ended", path, incarnation: 1, reason: { _tag: "Normal" } },
          { _tag: "Down", path, incarnation: 1, reason: { _tag: "Normal" } }
        ])
        assert.deepStrictEqual(yield* Fiber.join(late), [
          { _tag: "Down", path, incarnation: 1, reason: { _tag: "Gone" } }
        ])
        assert.deepStrictEqual(yield* Stream.runCollect(Watch.changes(a)), [
          { _tag: "Down", path, incarnation: 1, reason: { _tag: "Gone" } }
        ])
      })
    )

    it.effect("says of a child that waits for its restart that it was restarted", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const child = stage.child("a", { backoff: Schedule.spaced("1 minute") })
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
        stage.end("a")
        yield* until("a waits", () => stage.of("BackingOff").length > 0)
        const steps: Array<string> = []
        yield* follow(yield* tree.find(["root", "a"]), steps)
        yield* TestClock.adjust("1 minute")
        yield* until("a is up", () => steps.length > 0)
        yield* tree.stop
        yield* quiet
        assert.deepStrictEqual(steps, ["Restarted 2", "Ended 2", "Down 2"])
      })
    )

    it.effect("follows a child over restarts of its supervisor", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const team = Supervisor.make("team", { children: [stage.child("a")] })
        const root = Supervisor.make("root", { strategy: "one-for-all", children: [team, stage.child("b")] })
        const { tree } = yield* stage.start(root)
        const steps: Array<string> = []
        yield* follow(yield* tree.find(["root", "team", "a"]), steps)
        stage.end("b")
        yield* until("all are up", () => stage.of("Started", "b").length === 2)
        yield* quiet
        assert.deepStrictEqual(steps, ["Started 1", "Ended 1", "Restarted 2"])
      })
    )

    it.effect("gives back what it held when the reader leaves", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
        const a = yield* tree.find(["root", "a"])
        assert.isUndefined(watchersOf(a))
        const following = yield* follow(a, [])
        const waiting = yield* forked(Watch.down(a))
        yield* until("it is watched", () => watchersOf(a) !== undefined)
        yield* Fiber.interruptAll([following, waiting])
        assert.isUndefined(watchersOf(a))
      })
    )
  })

  describe("a feed", () => {
    it.effect("keeps as much as its buffer, and tells a slow reader what it missed", () =>
      Effect.gen(function* () {
        let feed: Feed.Feed<number> | undefined
        const stream = Feed.make<number>(
          (given) => Effect.sync(() => (feed = given)),
          (count) => -count
        )
        const scope = yield* Scope.make()
        const pull = yield* Stream.toPull(stream).pipe(Scope.provide(scope))
        const first = yield* forked(pull)
        yield* until("it is subscribed", () => feed !== undefined)
        for (let i = 0; i < Feed.Buffer + 10; i++) feed!.offer(i)
        const got: Array<number> = [...(yield* Fiber.join(first))]
        feed!.offer(7)
        feed!.end()
        yield* Effect.ignore(Effect.forever(Effect.map(pull, (some) => got.push(...some))))
        assert.strictEqual(got.length, Feed.Buffer + 2)
        assert.deepStrictEqual(got.slice(-3), [Feed.Buffer - 1, -10, 7])
        yield* Scope.close(scope, Exit.void)
      })
    )
  })

  describe("tell", () => {
    const start = (options?: Actor.Options<never>) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const notes = new Notes()
        const root = Supervisor.make("root", {
          intensity: { restarts: 100, within: "1 hour" },
          children: [notes.child(undefined, options), stage.child("a"), stage.child("b")]
        })
        const { context, tree } = yield* stage.start(root)
        return {
          stage,
          notes,
          tree,
          root: yield* tree.find(["root"]),
          a: yield* tree.find(["root", "a"]),
          b: yield* tree.find(["root", "b"]),
          witness: Context.get(context, Witness)
        }
      })

    it.effect("finds room in a full mailbox, and is not pushed out of it", () =>
      Effect.gen(function* () {
        for (const whenFull of ["wait", "drop-new", "drop-old", "fail"] as const) {
          const { stage, notes, root, a, b, witness } = yield* start({ mailbox: { capacity: 2, whenFull } })
          yield* Watch.tell(witness, a, "Lost", lost)
          yield* Watch.tell(witness, b, "Lost", lost)
          yield* witness.tell.Busy()
          yield* until("the witness is busy", () => notes.heard.length > 0)
          yield* root.stopChild("a")
          yield* quiet
          for (const text of ["one", "two", "three"]) yield* forked(witness.tell.Say({ text }))
          yield* root.stopChild("b")
          yield* quiet
          notes.release()
          yield* until(`all is heard: ${whenFull}`, () => notes.heard.some((line) => line.startsWith("lost b")))
          yield* quiet
          assert.strictEqual(notes.heard[1], "lost a: Shutdown", whenFull)
          const said = notes.heard.filter((line) => !line.startsWith("lost")).slice(1)
          assert.deepStrictEqual(
            said,
            { wait: ["one", "two", "three"], "drop-new": ["one"], "drop-old": ["three"], fail: ["one"] }[whenFull]
          )
          assert.strictEqual(stage.of("DeadLetter").length, 3 - said.length, whenFull)
        }
      })
    )

    it.effect("may ask again while it handles the notice, and then hears again", () =>
      Effect.gen(function* () {
        class Keeper extends Actor.Service<Keeper>()("Keeper", [
          Rpc.make("Gone", { payload: { reason: Schema.String } })
        ]) {}
        const heard: Array<string> = []
        const gone = ({ reason }: Watch.Down) => ({ reason: reason._tag })
        const stage = new Stage()
        const keeper = Keeper.child(
          Effect.gen(function* () {
            const self = yield* Keeper
            const tree = yield* Tree.Tree
            return Keeper.handlers({
              Gone: ({ reason }) =>
                Effect.gen(function* () {
                  heard.push(reason)
                  if (heard.length < 3) {
                    const a = yield* Effect.orDie(tree.find(["root", "a"]))
                    yield* Effect.orDie(Watch.tell(self, a, "Gone", gone))
                  }
                })
            })
          })
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [keeper, stage.child("a")] }))
        const ref = Context.get(context, Keeper)
        yield* Watch.tell(ref, yield* tree.find(["root", "a"]), "Gone", gone)
        yield* (yield* tree.find(["root"])).stopChild("a")
        yield* until("it heard three times", () => heard.length === 3)
        yield* quiet
        assert.deepStrictEqual(heard, ["Shutdown", "Gone", "Gone"])
        assert.isUndefined(watchersOf(ref))
      })
    )

    it.effect("a notice that crashes its watcher is spent: it is reported, and another watch is a new one", () =>
      Effect.gen(function* () {
        class Frail extends Actor.Service<Frail>()("Frail", [Rpc.make("Gone", {})]) {}
        const stage = new Stage()
        const frail = Frail.child(Effect.succeed(Frail.handlers({ Gone: () => Effect.die("it cannot bear it") })))
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [frail, stage.child("a")] }))
        const ref = Context.get(context, Frail)
        const a = yield* tree.find(["root", "a"])
        yield* (yield* tree.find(["root"])).stopChild("a")
        for (const crashes of [1, 2]) {
          yield* Watch.tell(ref, a, "Gone")
          yield* until("it is back", () => stage.of("Started", "Frail").length === crashes + 1)
          assert.deepStrictEqual(
            stage.of("DeadLetter").map(({ message, reason }) => `${message} ${reason}`),
            Array.from({ length: crashes }, () => "Gone crashed")
          )
          assert.isUndefined(watchersOf(ref))
        }
      })
    )

    it.effect("asked again by a new incarnation, tells what that one wants, also when the end came before", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const notes = new Notes()
        let who = "first"
        const asks = Effect.gen(function* () {
          const a = yield* Tree.find(["root", "a"])
          yield* Watch.tell(yield* Witness, a, "Alone", { who })
        }) as Effect.Effect<void>
        const witness = notes.child(asks, { backoff: Schedule.spaced("1 minute") })
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a"), witness] }))
        who = "second"
        const ref = Context.get(context, Witness)
        yield* ref.tell.Crash()
        yield* until("it waits for its restart", () => stage.of("BackingOff").length > 0)
        yield* (yield* tree.find(["root"])).stopChild("a")
        yield* quiet
        assert.deepStrictEqual(notes.heard, [])
        yield* TestClock.adjust("1 minute")
        yield* until("the second hears", () => notes.heard.length > 0)
        yield* quiet
        assert.deepStrictEqual(notes.heard, ["without second"])
      })
    )

    it.effect("a payload that cannot be made crashes the watcher, and only the watcher", () =>
      Effect.gen(function* () {
        class Strict extends Actor.Service<Strict>()("Strict", [
          Rpc.make("Short", { payload: { text: Schema.String.check(Schema.isMaxLength(3)) } })
        ]) {}
        const stage = new Stage()
        const strict = Strict.child(Effect.succeed(Strict.handlers({ Short: () => undefined })))
        const root = Supervisor.make("root", { children: [strict, stage.child("a"), stage.child("b")] })
        const { context, tree } = yield* stage.start(root)
        const ref = Context.get(context, Strict)
        yield* Watch.tell(ref, yield* tree.find(["root", "a"]), "Short", { text: "far too long" })
        yield* Watch.tell(ref, yield* tree.find(["root", "b"]), "Short", () => {
          throw new Error("a bug")
        })
        for (const id of ["a", "b"]) {
          yield* (yield* tree.find(["root"])).stopChild(id)
          yield* until("it crashed and came back", () => stage.of("Restarting", "Strict").length > 0)
          yield* until("it is up", () => stage.events.at(-1)?._tag === "Started")
          assert.deepStrictEqual(
            stage.of("DeadLetter").map(({ message, reason }) => [message, reason]),
            [["Short", "crashed"]]
          )
          stage.takeLog()
        }
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Strict").incarnation, 3)
        assert.isUndefined(watchersOf(ref))
      })
    )

    it.effect("crosses trees", () =>
      Effect.gen(function* () {
        const { notes, witness } = yield* start()
        const other = new Stage()
        const { tree } = yield* other.start(Supervisor.make("other", { children: [other.child("x")] }))
        yield* Watch.tell(witness, yield* tree.find(["other", "x"]), "Lost", lost)
        yield* Watch.tell(witness, yield* tree.find(["other"]), "Lost", lost)
        yield* tree.stop
        yield* until("both are lost", () => notes.heard.length === 2)
        assert.deepStrictEqual(notes.heard.toSorted(), ["lost other: Shutdown", "lost x: Shutdown"])
      })
    )

    it.effect("leaves nothing behind, however it ended", () =>
      Effect.gen(function* () {
        const { notes, root, a, b, witness } = yield* start()
        yield* Watch.tell(witness, a, "Lost", lost)
        yield* root.stopChild("a")
        yield* until("it is told", () => notes.heard.length > 0)
        yield* Watch.tell(witness, b, "Lost", lost)
        yield* Watch.unwatch(witness, b)
        yield* Watch.unwatch(witness, b)
        assert.deepStrictEqual([a, b, witness].map(watchersOf), [undefined, undefined, undefined])
        yield* Watch.tell(witness, b, "Lost", lost)
        yield* root.stopChild("Witness")
        assert.deepStrictEqual([b, witness].map(watchersOf), [undefined, undefined])
      })
    )
  })

  describe("mistakes", () => {
    it.effect("what is no place of a tree is refused", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const notes = new Notes()
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [notes.child()] }))
        const witness = Context.get(context, Witness)
        const handle = yield* tree.find(["root"])
        const fake = { tell: {}, tellUnsafe: {} }
        const said = yield* Effect.forEach(
          [
            Watch.down(fake),
            Stream.runDrain(Watch.changes(fake)),
            Watch.tell(witness, fake, "Lost", lost),
            Watch.tell(fake, witness, "Lost" as never, lost as never),
            Watch.tell(handle as never, witness, "Lost" as never, lost as never),
            Watch.tell(witness, handle, "Unknown" as never, lost as never),
            Watch.unwatch(fake, witness),
            Effect.scoped(Watch.link(witness)),
            Effect.scoped(Watch.pact(witness))
          ] as ReadonlyArray<Effect.Effect<unknown, unknown>>,
          (effect) => Effect.map(Effect.exit(effect), defect)
        )
        const no = 'must be an actor\'s reference or a handle of a tree, got {"tell":{},"tellUnsafe":{}}'
        assert.deepStrictEqual(said, [
          `RangeError: Watch.down: target ${no}`,
          `RangeError: Watch.changes: target ${no}`,
          `RangeError: Watch.tell: target ${no}`,
          `RangeError: Watch.tell: watcher ${no}`,
          "RangeError: Watch.tell: watcher must be an actor's reference, got the handle of root",
          'RangeError: Watch.tell: rpc must be a message of root/Witness, got "Unknown"',
          `RangeError: Watch.unwatch: watcher ${no}`,
          "RangeError: Watch.link: must be called by the init or the run effect of a child",
          "RangeError: Watch.pact: must be called by the init or the run effect of a child"
        ])
      })
    )
  })

  describe("link", () => {
    it.effect("to what is down ends the child at once", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
        const root = yield* tree.find(["root"])
        const a = yield* tree.find(["root", "a"])
        yield* root.stopChild("a")
        const late = Child.make("late", Effect.as(Watch.link(a), Effect.never))
        const failure = yield* Effect.flip(root.startChild(late))
        assert(failure._tag === "StartFailure")
        const broken = Cause.squash(failure.cause)
        assert(broken instanceof Watch.LinkBroken)
        assert.deepStrictEqual([broken.path, broken.reason], [["root", "a"], { _tag: "Gone" }])
      })
    )

    it.effect("holds as long as its scope", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
        const root = yield* tree.find(["root"])
        const a = yield* tree.find(["root", "a"])
        const brief = Child.effect(
          "brief",
          Effect.scoped(
            Effect.andThen(
              Watch.link(a),
              Effect.sync(() => stage.log.push("linked"))
            )
          ).pipe(Effect.andThen(Effect.never))
        )
        yield* root.startChild(brief)
        yield* until("it was linked", () => stage.log.includes("linked"))
        assert.isUndefined(watchersOf(a))
        stage.end("a")
        yield* until("a is up again", () => stage.of("Started", "a").length === 2)
        yield* quiet
        assert.deepStrictEqual(stage.of("Exited", "brief"), [])
      })
    )

    it.effect("breaks an init that is under way, and a stop that is under way is not disturbed", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(
          Supervisor.make("root", {
            intensity: { restarts: 10, within: "1 hour" },
            children: [stage.child("a"), stage.child("c")]
          })
        )
        const root = yield* tree.find(["root"])
        const a = yield* tree.find(["root", "a"])
        const slow = stage.child("slow", { init: Effect.andThen(Watch.link(a), Effect.never) })
        const starting = yield* forked(Effect.flip(root.startChild(slow)))
        yield* until("slow starts", () => stage.log.includes("start slow"))
        stage.end("a")
        const failure = yield* Fiber.join(starting)
        assert(failure._tag === "StartFailure")
        assert(Cause.squash(failure.cause) instanceof Watch.LinkBroken)

        const c = yield* tree.find(["root", "c"])
        const calm = stage.child("calm", { init: Watch.link(c), cleanup: "1 second" })
        yield* root.startChild(calm)
        const stopping = yield* forked(root.stopChild("calm"))
        yield* quiet
        stage.end("c")
        yield* quiet
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(stopping)
        assert.strictEqual(stage.of("Exited", "calm")[0]?.reason._tag, "Shutdown")
      })
    )
  })
})
