import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { type Actor, Child, Supervisor, Tree, Watch } from "espalier"

import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"
import { lost, Notes, Witness } from "../fixtures/witness.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const many = { restarts: 100, within: "1 hour" } as const

/** A tree with a witness and the children `a` and `b`. */
const scene = (options?: { readonly a?: Child.Options<never>; readonly witness?: Actor.Options<never> }) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const notes = new Notes()
    const root = Supervisor.make("root", {
      intensity: many,
      children: [notes.child(undefined, options?.witness), stage.child("a", options?.a), stage.child("b")]
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

describe("J: watching", () => {
  it.effect("C-105 each watcher of a child that ends for good hears so once, with the reason", () =>
    Effect.gen(function* () {
      const { stage, notes, a, witness } = yield* scene({ a: { restart: "never" } })
      const notices: Array<Watch.Down> = []
      for (let i = 0; i < 3; i++) yield* forked(Effect.map(Watch.down(a), (down) => notices.push(down)))
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* quiet
      assert.deepStrictEqual([notices.length, notes.heard], [0, []])
      stage.end("a", Effect.fail("no more"))
      yield* until("the witness hears", () => notes.heard.length > 0)
      yield* quiet
      assert.deepStrictEqual(notes.heard, ["lost a: Error"])
      assert.strictEqual(notices.length, 3)
      for (const notice of notices) {
        assert.deepStrictEqual([notice.path, notice.incarnation], [["root", "a"], 1])
        assert(notice.reason._tag === "Error")
        assert.strictEqual(Cause.squash(notice.reason.cause), "no more")
      }
    })
  )

  it.effect("C-106 who watches what is down already hears so at once, and once", () =>
    Effect.gen(function* () {
      const { notes, root, a, witness } = yield* scene()
      yield* root.stopChild("a")
      assert.deepStrictEqual((yield* Watch.down(a)).reason, { _tag: "Gone" })
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* until("the witness hears", () => notes.heard.length > 0)
      yield* root.removeChild("a")
      assert.deepStrictEqual((yield* Watch.down(a)).reason, { _tag: "Gone" })
      yield* quiet
      assert.deepStrictEqual(notes.heard, ["lost a: Gone"])
    })
  )

  it.effect("C-107 a notice that waits in the mailbox is not handled once its watch has ended", () =>
    Effect.gen(function* () {
      const { notes, root, a, b, tree, witness } = yield* scene()
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* Watch.tell(witness, b, "Lost", lost)
      yield* witness.tell.Busy()
      yield* until("the witness is busy", () => notes.heard.length > 0)
      yield* root.stopChild("a")
      yield* root.stopChild("b")
      yield* quiet
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Witness").mailbox, 2)
      yield* Watch.unwatch(witness, a)
      notes.release()
      yield* witness.Ping()
      assert.deepStrictEqual(notes.heard, ["busy", "lost b: Shutdown"])
    })
  )

  it.effect("C-107 a watch that ends in the very turn of the end gives no notice", () =>
    Effect.gen(function* () {
      const { notes, root, a, witness } = yield* scene()
      let waited: string | undefined
      const waiting = yield* forked(Effect.map(Watch.down(a), ({ reason }) => (waited = reason._tag)))
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* root.stopChild("a")
      yield* Watch.unwatch(witness, a)
      yield* Fiber.interrupt(waiting)
      yield* quiet
      yield* witness.Ping()
      assert.deepStrictEqual([notes.heard, waited], [[], undefined])
    })
  )

  it.effect("C-108 the same watch twice is one, another message is refused until the first is taken back", () =>
    Effect.gen(function* () {
      const { notes, root, a, witness } = yield* scene()
      yield* Watch.tell(witness, a, "Alone", { who: "its friend" })
      yield* Watch.tell(witness, a, "Alone", { who: "its friend" })
      const conflict = yield* Effect.flip(Watch.tell(witness, a, "Alone", { who: "its foe" }))
      assert.deepStrictEqual(conflict, yield* Effect.flip(Watch.tell(witness, a, "Lost", lost)))
      assert.deepStrictEqual(
        [conflict._tag, conflict.watcher, conflict.target, conflict.rpc],
        ["WatchConflict", ["root", "Witness"], ["root", "a"], "Alone"]
      )
      yield* root.stopChild("a")
      yield* until("the witness hears", () => notes.heard.length > 0)
      yield* root.restartChild("a")
      yield* Watch.tell(witness, a, "Alone", { who: "its friend" })
      yield* Watch.unwatch(witness, a)
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* root.stopChild("a")
      yield* until("the witness hears again", () => notes.heard.length > 1)
      yield* quiet
      assert.deepStrictEqual(notes.heard, ["without its friend", "lost a: Shutdown"])
    })
  )

  it.effect("C-109 a restart tells nobody, the final end does", () =>
    Effect.gen(function* () {
      const { stage, notes, root, a, witness } = yield* scene()
      yield* Watch.tell(witness, a, "Lost", lost)
      const waiting = yield* forked(Watch.down(a))
      for (let i = 0; i < 3; i++) {
        stage.takeLog()
        stage.end("a")
        yield* until("a is up again", () => stage.log.includes("up a"))
      }
      yield* quiet
      assert.deepStrictEqual([notes.heard, waiting.pollUnsafe()], [[], undefined])
      yield* root.stopChild("a")
      assert.deepStrictEqual([(yield* Fiber.join(waiting)).incarnation], [4])
      yield* until("the witness hears", () => notes.heard.length > 0)
      assert.deepStrictEqual(notes.heard, ["lost a: Shutdown"])
    })
  )

  it.effect("C-109 a child that waits for its retry is not down, and is when the retry is taken back", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const late = Schedule.spaced("1 minute")
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a", { backoff: late })] }))
      const a = yield* tree.find(["root", "a"])
      const waiting = yield* forked(Watch.down(a))
      stage.end("a")
      yield* until("a waits", () => stage.of("BackingOff").length > 0)
      yield* quiet
      assert.isUndefined(waiting.pollUnsafe())
      yield* (yield* tree.find(["root"])).stopChild("a")
      assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "Error")
    })
  )

  it.effect("C-110 the notice comes after the finalizers of the dead, and after what it had sent", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const notes = new Notes()
      const talker = Child.make(
        "talker",
        Effect.gen(function* () {
          const witness = yield* Witness
          yield* Effect.addFinalizer(() =>
            Effect.sleep("1 second").pipe(
              Effect.andThen(witness.tell.Say({ text: "farewell" })),
              Effect.andThen(Effect.sync(() => stage.log.push("released")))
            )
          )
          return Effect.andThen(witness.tell.Say({ text: "hello" }), Effect.never)
        })
      )
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [notes.child(), talker] }))
      const target = yield* tree.find(["root", "talker"])
      const witness = Context.get(context, Witness)
      yield* Watch.tell(witness, target, "Lost", lost)
      const released = yield* forked(Effect.map(Watch.down(target), () => [...stage.log]))
      const stopping = yield* forked((yield* tree.find(["root"])).stopChild("talker"))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(notes.heard, ["hello"])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(yield* Fiber.join(released), ["released"])
      yield* until("the witness hears", () => notes.heard.length === 3)
      assert.deepStrictEqual(notes.heard, ["hello", "farewell", "lost talker: Shutdown"])
    })
  )

  it.effect("C-110 the notice of a child that was abandoned does not wait for it", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", { children: [stage.child("a", { cleanup: "Infinity", shutdown: "1 second" })] })
      )
      const waiting = yield* forked(Effect.flatMap(tree.find(["root", "a"]), Watch.down))
      yield* forked((yield* tree.find(["root"])).stopChild("a"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting)).reason._tag, "Killed")
    })
  )

  it.effect("C-111 a notice tells a stop from a failure, and a failure carries its cause", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: ["error", "defect", "killed", "stopped", "finished"].map((id) =>
          stage.child(id, { restart: "never" })
        )
      })
      const { tree } = yield* stage.start(root)
      const watched = (id: string) => forked(Effect.flatMap(tree.find(["root", id]), Watch.down))
      const waiting = yield* Effect.forEach(["error", "defect", "killed", "stopped", "finished"], watched)
      stage.end("error", Effect.fail("typed"))
      stage.end("defect", Effect.die("a bug"))
      stage.end("killed", Effect.interrupt)
      stage.end("finished", Effect.void)
      yield* (yield* tree.find(["root"])).stopChild("stopped")
      const notices = yield* Fiber.joinAll(waiting)
      assert.deepStrictEqual(
        notices.map((down) => [down.reason._tag, Watch.isFailure(down)]),
        [
          ["Error", true],
          ["Error", true],
          ["Killed", true],
          ["Shutdown", false],
          ["Normal", false]
        ]
      )
      assert.deepStrictEqual(
        notices.slice(0, 2).map((down) => Cause.squash(Watch.causeOf(down))),
        ["typed", "a bug"]
      )
      assert.deepStrictEqual(notices.slice(3).map(Watch.causeOf), [Cause.empty, Cause.empty])
    })
  )

  it.effect("C-111 a supervisor that gave up is a failure with the cause of its child", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const team = Supervisor.make("team", {
        restart: "on-failure",
        intensity: { restarts: 0, within: "1 second" },
        children: [stage.child("a")]
      })
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [team] }))
      const above = yield* forked(Effect.flatMap(tree.find(["root", "team"]), Watch.down))
      const below = yield* forked(Effect.flatMap(tree.find(["root", "team", "a"]), Watch.down))
      stage.end("a", Effect.fail("too often"))
      const [team_, a] = yield* Fiber.joinAll([above, below])
      assert.deepStrictEqual([team_?.reason._tag, a?.reason._tag], ["GaveUp", "Error"])
      assert.strictEqual(Cause.squash(Watch.causeOf(team_!)), "too often")
    })
  )

  it.effect("C-112 a child that made a pact ends with DeathPact when the other is down, not when it restarts", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const notes = new Notes()
      const a = stage.child("a")
      const heir = Child.make(
        "heir",
        Effect.gen(function* () {
          yield* Watch.pact(yield* Effect.orDie(Tree.find(["root", "a"])))
          stage.log.push("up heir")
          return Effect.never
        }),
        { restart: "never" }
      )
      const orphan = notes.child(Effect.flatMap(Effect.orDie(Tree.find(["root", "a"])), Watch.pact), {
        restart: "never"
      })
      const root = Supervisor.make("root", { intensity: many, children: [a, heir, orphan] })
      const { tree } = yield* stage.start(root)
      stage.end("a")
      yield* until("a is up again", () => stage.log.filter((line) => line === "up a").length === 2)
      yield* quiet
      assert.deepStrictEqual(stage.of("Exited", "heir"), [])
      yield* (yield* tree.find(["root"])).stopChild("a")
      yield* until("both ended", () => stage.of("Removed").length === 2)
      for (const id of ["heir", "Witness"]) {
        const { reason } = stage.of("Exited", id)[0]!
        assert(reason._tag === "Error")
        const pact = Cause.squash(reason.cause)
        assert(pact instanceof Watch.DeathPact)
        assert.deepStrictEqual([pact.path, pact.reason._tag], [["root", "a"], "Shutdown"])
        assert.strictEqual(pact.message, "root/a is down, and this must not outlive it: Shutdown")
      }
    })
  )

  it.effect("C-113 a failure of one ends what is linked to it, a normal end and a stop do not", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const linked = (id: string, to: string) =>
        stage.child(id, { init: Effect.flatMap(Tree.find(["root", to]), Watch.link) as Effect.Effect<void> })
      const root = Supervisor.make("root", {
        intensity: many,
        children: [
          ...["error", "finished", "stopped", "killed"].map((id) => stage.child(id, { restart: "on-failure" })),
          ...["error", "finished", "stopped", "killed"].map((id) => linked(`${id}'s`, id))
        ]
      })
      const { tree } = yield* stage.start(root)
      stage.end("error", Effect.fail("oh"))
      stage.end("finished", Effect.void)
      stage.end("killed", Effect.interrupt)
      yield* (yield* tree.find(["root"])).stopChild("stopped")
      yield* until("two links broke", () => stage.of("BackingOff").length === 2)
      yield* quiet
      assert.deepStrictEqual(
        stage
          .of("Exited")
          .map(({ path, reason }) => `${path.at(-1)} ${reason._tag}`)
          .toSorted(),
        ["error Error", "error's Error", "finished Normal", "killed Killed", "killed's Error", "stopped Shutdown"]
      )
      const { reason } = stage.of("Exited", "killed's")[0]!
      assert(reason._tag === "Error")
      const broken = Cause.squash(reason.cause)
      assert(broken instanceof Watch.LinkBroken)
      assert.deepStrictEqual([broken.path, broken.reason._tag], [["root", "killed"], "Killed"])
      const { reason: other } = stage.of("Exited", "error's")[0]!
      assert(other._tag === "Error")
      assert.strictEqual(
        (Cause.squash(other.cause) as Error).message,
        "root/error failed, and this is linked to it: oh"
      )
      // It is a failure that passes: both come back, and link again.
      yield* TestClock.adjust("2 seconds")
      yield* until("they are up again", () => stage.of("Started", "killed's").length === 2)
    })
  )

  it.effect("C-113 links go both ways when both ask for them, and end an actor in the middle of its message", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const notes = new Notes()
      const a = stage.child("a", {
        restart: "never",
        init: Effect.flatMap(Witness, Watch.link) as unknown as Effect.Effect<void>
      })
      const witness = notes.child(Effect.flatMap(Effect.orDie(Tree.find(["root", "a"])), Watch.link), {
        restart: "never",
        stop: "finish"
      })
      const { context } = yield* stage.start(Supervisor.make("root", { children: [a, witness] }))
      const asking = yield* forked(Effect.flip(Context.get(context, Witness).Busy()))
      yield* until("the witness is busy", () => notes.heard.length > 0)
      stage.end("a")
      assert.strictEqual((yield* Fiber.join(asking))._tag, "ActorCrashed")
      yield* until("both are gone", () => stage.of("Removed").length === 2)
      assert.deepStrictEqual(
        stage.of("Exited").map(({ path }) => path.at(-1)),
        ["a", "Witness"]
      )

      const again = new Stage()
      const other = again.child("a", { restart: "never", init: Effect.flatMap(Witness, Watch.link) as never })
      const second = yield* again.start(
        Supervisor.make("root", { children: [other, new Notes().child(undefined, { restart: "never" })] })
      )
      yield* Context.get(second.context, Witness).tell.Crash()
      yield* until("both are gone", () => again.of("Removed").length === 2)
    })
  )

  it.effect("C-113 who wants a message instead of an end gets one, and sees a kill as a kill", () =>
    Effect.gen(function* () {
      const { stage, notes, a, witness } = yield* scene({ a: { restart: "never" } })
      yield* Watch.tell(witness, a, "Lost", lost)
      stage.end("a", Effect.interrupt)
      yield* until("the witness hears", () => notes.heard.length > 0)
      assert.deepStrictEqual(notes.heard, ["lost a: Killed"])
      assert.deepStrictEqual(stage.of("Exited", "Witness"), [])
    })
  )

  it.effect("C-114 with its watcher a watch is gone, and what dies later sends nothing", () =>
    Effect.gen(function* () {
      const { stage, notes, root, a, b, tree, witness } = yield* scene()
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* Watch.tell(witness, b, "Lost", lost)
      yield* witness.tell.Busy()
      yield* until("the witness is busy", () => notes.heard.length > 0)
      yield* root.stopChild("a") // its notice waits
      yield* quiet
      yield* root.stopChild("Witness")
      yield* root.stopChild("b")
      yield* Watch.tell(witness, a, "Lost", lost) // nobody would read it
      yield* quiet
      assert.deepStrictEqual(
        stage.of("DeadLetter").map(({ message }) => message),
        ["Busy"]
      )
      yield* root.restartChild("Witness")
      yield* tree.stop
      assert.deepStrictEqual([notes.heard, stage.of("DeadLetter").length], [["busy"], 1])
    })
  )

  it.effect("C-114 a notice that comes while the watcher restarts is for the next incarnation", () =>
    Effect.gen(function* () {
      const { notes, stage, root, a, b, witness } = yield* scene({
        witness: { backoff: Schedule.spaced("1 minute"), mailbox: { onRestart: "fail" } }
      })
      yield* Watch.tell(witness, a, "Lost", lost)
      yield* Watch.tell(witness, b, "Lost", lost)
      yield* witness.tell.Busy()
      yield* until("the witness is busy", () => notes.heard.length > 0)
      yield* root.stopChild("a") // waits in the mailbox when the crash comes
      yield* quiet
      Deferred.doneUnsafe(notes.free, Exit.die("crash"))
      yield* until("the witness waits for its restart", () => stage.of("BackingOff").length > 0)
      yield* root.stopChild("b") // comes while nobody is there
      yield* quiet
      assert.deepStrictEqual(notes.heard, ["busy"])
      yield* TestClock.adjust("1 minute")
      yield* until("the next one hears", () => notes.heard.length === 3)
      yield* quiet
      assert.deepStrictEqual(notes.heard, ["busy", "lost a: Shutdown", "lost b: Shutdown"])
    })
  )
})
