import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { Child, Failure, Supervisor } from "espalier"

import { causeOf, reasonOf, withFinalizers } from "../../src/internal/exit.ts"

const gaveUp = new Supervisor.GaveUp({ path: ["root", "a"], cause: Cause.die("leaf") })
const shutdown = new Failure.Shutdown({ detail: "moved" })
const interrupt = Cause.interrupt(7)

const and = (...causes: ReadonlyArray<Cause.Cause<unknown>>): Exit.Exit<never, unknown> =>
  Exit.failCause(Cause.fromReasons(causes.flatMap((cause) => cause.reasons)))

describe("exit", () => {
  describe("reasonOf", () => {
    it.each([
      ["success", Exit.void, "Normal"],
      ["a typed failure", Exit.fail("x"), "Error"],
      ["a failure of undefined", Exit.fail(undefined), "Error"],
      ["a defect", Exit.die("x"), "Error"],
      ["interruption", Exit.interrupt(1), "Killed"],
      ["interruption by nobody", Exit.failCause(Cause.interrupt()), "Killed"],
      ["Shutdown", Exit.fail(shutdown), "Shutdown"],
      ["Shutdown, then interruption", and(Cause.fail(shutdown), interrupt), "Shutdown"],
      ["Shutdown beside a defect", and(Cause.fail(shutdown), Cause.die("x")), "Error"],
      ["a defect that is a Shutdown", Exit.die(shutdown), "Error"],
      ["a typed failure, then interruption", and(Cause.fail("x"), interrupt), "Error"],
      ["interruption, then a defect", and(interrupt, Cause.die("x")), "Error"],
      ["a failure without any reason", Exit.failCause(Cause.empty), "Error"],
      ["another tree's GaveUp", Exit.fail(gaveUp), "Error"]
    ] as ReadonlyArray<readonly [string, Exit.Exit<unknown, unknown>, string]>)(
      "C-028 C-030 R-106 reads %s",
      (_, exit, expected) => {
        assert.strictEqual(reasonOf(exit, false)._tag, expected)
      }
    )

    it("reads a supervisor's GaveUp as what it is, with the path and the cause of the leaf", () => {
      const { cause, path } = gaveUp
      assert.deepStrictEqual(reasonOf(Exit.fail(gaveUp), false, true), { _tag: "GaveUp", path, cause })
    })

    it("C-029 reads every end after an order to stop as a shutdown, and keeps what went wrong on the way", () => {
      const stopped = (exit: Exit.Exit<unknown, unknown>) => reasonOf(exit, true)
      for (const exit of [Exit.void, Exit.interrupt(1), Exit.succeed("late")]) {
        assert.deepStrictEqual(stopped(exit), { _tag: "Shutdown", cause: undefined })
      }
      const mixed = and(interrupt, Cause.die("finalizer"))
      assert.deepStrictEqual(stopped(mixed), {
        _tag: "Shutdown",
        cause: Exit.isFailure(mixed) ? mixed.cause : undefined
      })
    })

    it("keeps the detail of a Shutdown", () => {
      assert.deepStrictEqual(reasonOf(Exit.fail(shutdown), false), {
        _tag: "Shutdown",
        cause: undefined,
        detail: "moved"
      })
    })
  })

  it("causeOf is empty for a clean end and the whole cause for an unclean one", () => {
    assert.deepStrictEqual(causeOf({ _tag: "Normal" }), Cause.empty)
    assert.deepStrictEqual(causeOf({ _tag: "Shutdown", cause: undefined }), Cause.empty)
    assert.deepStrictEqual(causeOf(reasonOf(Exit.fail("x"), false)), Cause.fail("x"))
  })

  describe("withFinalizers", () => {
    const failed = Exit.fail("run")
    const late = Exit.die("finalizer")

    it("C-030 keeps both causes, each reason once", () => {
      assert.strictEqual(withFinalizers(failed, Exit.void), failed)
      assert.strictEqual(withFinalizers(Exit.void, late), late)
      const both = withFinalizers(failed, late)
      assert(Exit.isFailure(both))
      assert.deepStrictEqual(
        both.cause.reasons.map((reason) => reason._tag),
        ["Fail", "Die"]
      )
      const again = withFinalizers(both, Exit.failCause(both.cause))
      assert(Exit.isFailure(again))
      assert.lengthOf(again.cause.reasons, 2)
    })
  })
})

it.effect("a child that embeds a tree of its own fails with its GaveUp, and onFailure is asked", () =>
  Effect.gen(function* () {
    const asked: Array<unknown> = []
    const inner = Supervisor.make("inner", {
      intensity: { restarts: 0 },
      children: [Child.effect("leaf", Effect.die("leaf"))]
    })
    const host = Child.effect("host", Supervisor.run(inner, { log: false }), {
      restart: "on-failure",
      onFailure: (error) => {
        asked.push(error._tag)
        return "escalate"
      }
    })
    const error = yield* Effect.flip(Supervisor.run(Supervisor.make("root", { children: [host] }), { log: false }))
    assert.deepStrictEqual(asked, ["GaveUp"])
    assert.deepStrictEqual(error.path, ["root", "host"])
  })
)
