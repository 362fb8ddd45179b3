/** Mistakes that other runtimes shipped about stashes, children of actors and references; each is shown not to be made. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Supervisor, Watch } from "espalier"

import { Stage, until } from "../fixtures/stage.ts"

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
})
