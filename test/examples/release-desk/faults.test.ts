import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Result } from "effect"
import { Failure } from "espalier"

import * as Faults from "../../../examples/release-desk/faults.ts"

const call = Effect.succeed("done")

describe("faults", () => {
  it.effect("strike the first calls of their worker, and no other worker", () =>
    Effect.gen(function* () {
      const strike = Faults.make([{ worker: "code.size", kind: "transient", calls: 2 }])
      assert.strictEqual(yield* strike("code.markers", call), "done")
      for (let i = 0; i < 2; i++) {
        const failed = yield* Effect.result(strike("code.size", call))
        assert.isTrue(Result.isFailure(failed) && failed.failure.kind === "transient")
      }
      assert.strictEqual(yield* strike("code.size", call), "done")
    })
  )

  it.effect.each(Failure.kinds.filter((kind) => kind !== "malformed"))("%s fails with that kind, for good", (kind) =>
    Effect.gen(function* () {
      const strike = Faults.make([{ worker: "w", kind, calls: undefined }])
      for (let i = 0; i < 5; i++) assert.strictEqual((yield* Effect.flip(strike("w", call))).kind, kind)
    })
  )

  it.effect("crash is a defect, not a failure", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Faults.make([{ worker: "w", kind: "crash", calls: 1 }])("w", call))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause) && !Cause.hasFails(exit.cause))
    })
  )

  it.effect("malformed answers with what no audit looks like", () =>
    Effect.gen(function* () {
      const answer: unknown = yield* Faults.make([{ worker: "w", kind: "malformed", calls: 1 }])("w", call)
      assert.isString(answer)
      assert.notStrictEqual(answer, "done")
    })
  )

  it.effect("hang never ends, and can be interrupted", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Faults.make([{ worker: "w", kind: "hang", calls: 1 }])("w", call), {
        startImmediately: true
      })
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
    })
  )
})
