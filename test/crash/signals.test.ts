import { assert, describe } from "@effect/vitest"
import { type Duration, Effect, Queue } from "effect"

import { withProcesses } from "../fixtures/real.ts"
import { check } from "./check.ts"
import { folder, toTheEnd, undisturbed } from "./harness.ts"
import { begin, type Ending, type Process } from "./life.ts"
import { liveOn, look, makeWorld, nextLife, outcomes } from "./world.ts"

const three = ["a", "b", "c"]

/** Waits until a process has come to its point. */
const atPoint = ({ lines }: Process) =>
  Effect.gen(function* () {
    for (;;) {
      const line = yield* Queue.take(lines)
      if (line === "signal") return
      assert.notStrictEqual(line, "closed", "it ended before its point")
    }
  })

const within = (duration: Duration.Input, process: Process) =>
  Effect.timeoutOrElse(process.ended, {
    duration,
    orElse: () => Effect.succeed<Ending>({ _tag: "failed", told: "it is still there" })
  })

describe("A process that is told to stop", () => {
  withProcesses(
    "D55 leaves its runs suspended within the grace time, and the next one finishes them without repeating anything",
    () =>
      Effect.gen(function* () {
        const [parent, cache] = [yield* folder, yield* folder]
        const { end } = yield* undisturbed(makeWorld(parent, "undisturbed", {}, three), { cache })

        const world = makeWorld(parent, "drained", {}, three)
        const told = { point: { _tag: "acknowledged", events: 60 }, signal: "SIGTERM" } as const
        const process = yield* begin(nextLife(world, told), { cache })
        yield* atPoint(process)
        assert.deepStrictEqual(yield* within("5 seconds", process), { _tag: "suspended" })

        assert.deepStrictEqual(
          (yield* outcomes(world)).map(({ status }) => status),
          three.map(() => "suspended")
        )
        assert.deepStrictEqual(check(yield* look(world)), [])
        assert.deepStrictEqual(yield* toTheEnd(world, { cache }, end), [])
      }),
    300_000
  )
})

describe("A process that stands still for longer than its lease", () => {
  withProcesses(
    "D64 is replaced within it, and writes nothing any more when it wakes up",
    () =>
      Effect.gen(function* () {
        const [parent, cache] = [yield* folder, yield* folder]
        const store = { leaseMillis: 5_000 }
        const { end } = yield* undisturbed(makeWorld(parent, "undisturbed", store), { cache })

        const world = makeWorld(parent, "frozen", store)
        const told = { point: { _tag: "acknowledged", events: 50 }, signal: "SIGSTOP" } as const
        const frozen = yield* begin(nextLife(world, told), { cache })
        yield* atPoint(frozen)

        // A second one is refused as long as the first may be alive, and takes over once the lease is over.
        const refused = yield* liveOn(world, { cache })
        assert.strictEqual(refused._tag, "failed")
        assert.match(refused._tag === "failed" ? refused.told : "", /are carried out by another process/)
        const second = yield* liveOn(world, { cache, bound: "30 seconds" }, { patient: true })
        // It may have to ask people what became of an effect that the first one was about to do.
        assert.include(["over", "waiting"], second._tag)
        const before = yield* look(world)

        frozen.signal("SIGCONT")
        const woken = yield* within("10 seconds", frozen)
        assert.strictEqual(woken._tag, "failed")
        assert.match(woken._tag === "failed" ? woken.told : "", /is not the owner of the journal .* any more/)
        assert.deepStrictEqual((yield* look(world)).histories, before.histories)

        assert.deepStrictEqual(yield* toTheEnd(world, { cache }, end), [])
      }),
    300_000
  )
})
