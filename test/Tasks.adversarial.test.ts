import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Supervisor, Tasks } from "espalier"

import { quiet, Stage } from "./fixtures/stage.ts"

class Jobs extends Tasks.Service<Jobs>()("Jobs") {}

describe("tasks that are abandoned with those above", () => {
  it.effect("are no leak any more once they end, though their caller had abandoned them in the same moment", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const door = Deferred.makeUnsafe<void>()
      const deaf = Effect.uninterruptible(Deferred.await(door))
      const branch = Supervisor.make("branch", {
        shutdown: "1 second",
        children: [Jobs.child(), stage.child("slow", { cleanup: "1 hour", shutdown: "Infinity" })]
      })
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [branch] }))
      const jobs = Context.get(context, Jobs)
      const both = Effect.gen(function* () {
        yield* jobs.async(deaf)
        yield* jobs.async(deaf, { shutdown: "abandon" })
        return yield* Effect.never
      })
      yield* Effect.forkDetach(Effect.exit(Tasks.linked(both)), { startImmediately: true })
      yield* quiet
      const stopping = yield* Effect.forkDetach(tree.stop, { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      yield* Deferred.succeed(door, undefined)
      yield* quiet
      assert.isDefined(stopping.pollUnsafe())
      assert.deepStrictEqual(
        stage
          .of("LeakEnded")
          .map((event) => event.path.join("/"))
          .toSorted(),
        stage
          .of("Leaked")
          .map((event) => event.path.join("/"))
          .filter((path) => !path.endsWith("slow"))
          .toSorted()
      )
    })
  )
})
