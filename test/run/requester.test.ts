import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Plan, Run } from "espalier/run"

import { history, memory, task, worker } from "./desks.ts"
import { deskOf, of, options, resume } from "./living.ts"

const built = deskOf([worker("one", () => Effect.succeed("done"), { risk: "high" })], Plan.make<string>([task("a")]))

const approve = (by: string) => Run.decide({ review: "r1/review/1", decision: "approve", by })

describe("Who asks for a run", () => {
  it.effect("R-306 is written down, and does not approve what it does at high risk", () =>
    Effect.gen(function* () {
      yield* Run.start(built, { ...options, requester: "ann" })
      const refused = yield* Effect.flip(approve("ann"))
      assert.strictEqual(refused._tag === "CommandRefused" ? refused.because : refused._tag, "self-approval")
      assert.deepStrictEqual(
        of(yield* history("r1"), "RunStarted").map(({ requester }) => requester),
        ["ann"]
      )
      yield* approve("bob")
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )

  it.effect("R-306 is nobody where nobody is named, and then anybody approves", () =>
    Effect.gen(function* () {
      yield* Run.start(built, options)
      yield* approve("ann")
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(memory)
  )
})
