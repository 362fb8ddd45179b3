/** Mistakes that other runtimes shipped about stashes, children of actors and references; each is shown not to be made. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Supervisor, Watch } from "espalier"

import { dropped } from "../fixtures/box.ts"
import { counting, failure, forked } from "../fixtures/counter.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

type Tagged = { readonly _tag: string }

const plenty = { restarts: 1_000_000, within: "1 hour" } as const

describe("mistakes about mailboxes and references", () => {
  // A notice that was put aside vanished when the stash was replayed.
  it.effect("a notice of an end that is put aside is handled once when the stash is opened", () =>
    Effect.gen(function* () {
      class Nurse extends Actor.Service<Nurse>()("Nurse", [
        Rpc.make("Lost", { payload: { path: Schema.String }, error: Actor.StashFull }),
        Rpc.make("Open", {}),
        Rpc.make("Losses", { success: Schema.Array(Schema.String) })
      ]) {}
      const stage = new Stage()
      let asides = 0
      const nurse = Nurse.child(
        Effect.gen(function* () {
          const stash = yield* Actor.stash()
          const lost: Array<string> = []
          let open = false
          return Nurse.handlers({
            Lost: ({ path }) => {
              if (open) {
                lost.push(path)
                return
              }
              asides += 1
              return stash.add
            },
            Open: () => {
              open = true
              return stash.unstashAll
            },
            Losses: () => lost
          })
        })
      )
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", { children: [nurse, stage.child("patient", { restart: "on-failure" })] })
      )
      const ref = Context.get(context, Nurse)
      const patient = yield* tree.find(["root", "patient"])
      yield* Watch.tell(ref, patient, "Lost", (down) => ({ path: down.path.join("/") }))
      yield* (yield* tree.find(["root"])).stopChild("patient")
      yield* until("the notice is put aside", () => asides === 1)
      assert.deepStrictEqual(yield* ref.Losses(), [])
      yield* ref.Open()
      assert.deepStrictEqual(yield* ref.Losses(), ["root/patient"])
      yield* ref.Open()
      assert.deepStrictEqual(yield* ref.Losses(), ["root/patient"])
    })
  )

  // The children of a crashed parent lived on, and those of its successor clashed with them.
  it.effect(
    "what an init starts elsewhere and its finalizer stops is there once, however often the parent crashes",
    () =>
      Effect.gen(function* () {
        class Helper extends Actor.Service<Helper>()("Helper", [Rpc.make("Work", { success: Schema.Int })]) {}
        class Helpers extends Supervisor.DynamicService<Helpers, { readonly of: number }, Helper>()("Helpers") {}
        class Parent extends Actor.Service<Parent>()("Parent", [
          Rpc.make("Crash", {}),
          Rpc.make("Delegate", { success: Schema.Int })
        ]) {}
        const stage = new Stage()
        let parents = 0
        const helpers = Helpers.child(({ of }) => Helper.child(Effect.succeed(Helper.handlers({ Work: () => of }))))
        const parent = Parent.child(
          Effect.gen(function* () {
            parents += 1
            const { start } = yield* Helpers
            const helper = yield* Effect.acquireRelease(start({ of: parents }), (helper) =>
              Effect.ignore(helper.stop)
            ).pipe(Effect.orDie)
            return Parent.handlers({
              Crash: () => Effect.die("boom"),
              Delegate: () => helper.ref.Work().pipe(Actor.orCrash)
            })
          })
        )
        const { context } = yield* stage.start(
          Supervisor.make("root", { intensity: plenty, children: [helpers, parent] })
        )
        const ref = Context.get(context, Parent)
        for (let life = 1; life <= 3; life++) {
          assert.strictEqual(yield* ref.Delegate(), life)
          assert.strictEqual((yield* Context.get(context, Helpers).children).length, 1)
          yield* Effect.flip(ref.Crash())
        }
        assert.strictEqual(yield* ref.Delegate(), 4)
      })
  )

  // A child that its grandparent's decision brought back was not known under its reference any more.
  it.effect("an actor that came back by way of an escalation answers through the old reference", () =>
    Effect.gen(function* () {
      class Worker extends Actor.Service<Worker>()("Worker", [
        Rpc.make("Crash", {}),
        Rpc.make("Life", { success: Schema.Int })
      ]) {}
      const stage = new Stage()
      let lives = 0
      const worker = Worker.child(
        Effect.sync(() => {
          lives += 1
          const life = lives
          return Worker.handlers({ Crash: () => Effect.die("boom"), Life: () => life })
        })
      )
      const middle = Supervisor.make("middle", { intensity: { restarts: 0, within: "1 hour" }, children: [worker] })
      const { context } = yield* stage.start(Supervisor.make("root", { intensity: plenty, children: [middle] }))
      const ref = Context.get(context, Worker)
      for (let life = 1; life <= 3; life++) {
        assert.strictEqual(yield* ref.Life(), life)
        yield* Effect.flip(ref.Crash())
        yield* until("it is back", () => stage.of("Started", "Worker").length === life + 1)
      }
      assert.strictEqual(yield* ref.Life(), 4)
      assert.strictEqual(stage.of("GaveUp", "middle").length, 3)
    })
  )

  // A mailbox full of other messages kept out the one that its actor waited for.
  it.effect.each(["wait", "drop-new", "drop-old", "fail"] as const)(
    "D67 a full mailbox (%s) keeps out neither an answer that its actor waits for nor a control message",
    (whenFull) =>
      Effect.gen(function* () {
        class Clerk extends Actor.Service<Clerk>()("Clerk", [
          Rpc.make("Look", { success: Schema.String }),
          Rpc.make("Mail", { payload: { n: Schema.Int }, success: Schema.Int }),
          Rpc.make("Urgent", { success: Schema.String }).annotate(Actor.Control, true)
        ]) {}
        class Archive extends Actor.Service<Archive>()("Archive", [
          Rpc.make("Find", { success: Schema.String }),
          Rpc.make("Mail", { payload: { n: Schema.Int } })
        ]) {}
        const stage = new Stage()
        const door = yield* Deferred.make<void>()
        const told = (what: string) => Effect.sync(() => (stage.log.push(what), what))
        const mailbox = { capacity: 2, whenFull }
        const archive = Archive.child(
          Effect.succeed(
            Archive.handlers({
              Find: () => Effect.as(Deferred.await(door), "found"),
              Mail: ({ n }) => Effect.asVoid(told(`left ${n}`))
            })
          ),
          { mailbox }
        )
        const clerk = Clerk.child(
          Effect.map(Archive, (archive) =>
            Clerk.handlers({
              Look: () => Effect.flatMap(Actor.orCrash(archive.Find()), told),
              Mail: ({ n }) => Effect.as(told(`mail ${n}`), n),
              Urgent: () => told("urgent")
            })
          ),
          { mailbox }
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [archive, clerk] }))
        const ref = Context.get(context, Clerk)
        const look = yield* forked(ref.Look())
        yield* quiet
        // Both are full: who waits, and who is waited for.
        for (const n of [1, 2]) {
          yield* ref.tell.Mail({ n })
          yield* Context.get(context, Archive).tell.Mail({ n })
        }
        const late = yield* forked(Effect.exit(ref.Mail({ n: 3 })))
        const urgent = yield* forked(ref.Urgent())
        yield* quiet
        const full = yield* tree.snapshot
        assert.deepStrictEqual([nodeOf(full, "Clerk").mailbox, nodeOf(full, "Archive").mailbox], [3, 2])
        assert.deepStrictEqual(stage.log, [])
        yield* Deferred.succeed(door, undefined)
        assert.deepStrictEqual(yield* Fiber.joinAll([look, urgent]), ["found", "urgent"])
        yield* Fiber.join(late)
        yield* quiet
        const clerks = stage.log.filter((what) => !what.startsWith("left"))
        assert.deepStrictEqual(clerks.slice(0, 2), ["found", "urgent"])
        assert.strictEqual(clerks.at(-1), whenFull === "wait" || whenFull === "drop-old" ? "mail 3" : "mail 2")
      })
  )

  // A restart after a defect dropped the requests that were in flight.
  it.effect("D68 of five requests the second kills the actor: it fails, and the three behind it are answered", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* counting()
      const answers: Array<string> = []
      const asked = (name: string, ask: Effect.Effect<unknown>) =>
        forked(Effect.tap(ask, (answer) => Effect.sync(() => answers.push(`${name} ${String(answer)}`))))
      const add = (by: number) => Effect.orDie(ref.Add({ by }))
      const asks = [
        yield* asked("1", add(1)),
        yield* asked("2", Effect.orDie(failure(ref.Crash()))),
        yield* asked("3", add(10)),
        yield* asked("4", add(20)),
        yield* asked("5", add(30))
      ]
      assert.deepStrictEqual(answers, [])
      yield* Fiber.joinAll(asks)
      assert.deepStrictEqual(answers, ["1 1", "2 ActorCrashed", "3 10", "4 30", "5 60"])
      assert.lengthOf(stage.of("Started", "Counter"), 2)
      assert.deepStrictEqual(dropped(stage), [])
    })
  )

  it.effect("D68 or they fail with it, where the mailbox says so, and none is left without an answer", () =>
    Effect.gen(function* () {
      const { ref } = yield* counting({ mailbox: { onRestart: "fail" } })
      const asks = [
        yield* forked(Effect.exit(ref.Add({ by: 1 }))),
        yield* forked(Effect.flip(ref.Crash())),
        ...(yield* Effect.forEach([10, 20, 30], (by) => forked(Effect.flip(ref.Add({ by })))))
      ]
      const gone = "ActorCrashed"
      const ends = yield* Effect.forEach(asks, (ask) => Fiber.join<Tagged, unknown>(ask))
      assert.deepStrictEqual(
        ends.map(({ _tag }) => _tag),
        ["Success", gone, gone, gone, gone]
      )
      assert.strictEqual(yield* ref.Add({ by: 5 }), 5)
    })
  )
})
