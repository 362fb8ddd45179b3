import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"

import { withProcesses } from "../fixtures/real.ts"
import { check, field } from "./check.ts"
import { folder, toTheEnd, undisturbed } from "./harness.ts"
import { liveOn, look, makeWorld, outcomes } from "./world.ts"

const runs = ["a"]

/** Where the process is killed, and what the next one knows of the effect: how often it happens in it, whether it asks people. */
const kills = [
  { name: "before book", again: 0, asks: true },
  { name: "after book", again: 0, asks: true },
  { name: "before mark", again: 1, asks: false },
  { name: "after mark", again: 0, asks: false },
  { name: "before publish", again: 1, asks: false },
  { name: "after publish", again: 0, asks: false }
]

describe("R-303 an effect that a process was killed at", () => {
  withProcesses(
    "D58 is asked for, done again under its key, or left to a person, and happens once in the end",
    () =>
      Effect.gen(function* () {
        const [parent, cache] = [yield* folder, yield* folder]
        const { end } = yield* undisturbed(makeWorld(parent, "undisturbed", {}, runs), { cache })
        const tried = kills.map(({ again, asks, name }) =>
          Effect.gen(function* () {
            const world = makeWorld(parent, name.replace(" ", "-"), {}, runs)
            const point = { _tag: "boundary", name, nth: 1 } as const
            assert.deepStrictEqual(yield* liveOn(world, { cache }, { point }), { _tag: "killed" }, name)
            const history = (yield* look(world)).histories.get("a") ?? []
            const [key] = history
              .flatMap((event) => (event.type === "EffectIntended" ? [field(event, "effect")] : []))
              .slice(-1)

            const next = yield* liveOn(world, { cache })
            assert.deepStrictEqual(next, { _tag: asks ? "waiting" : "over" }, name)
            const seen = yield* look(world)
            assert.deepStrictEqual(check(seen), [], name)
            const done = seen.lines.filter((line) => line._tag === "Done" && line.key === key && line.life === 1)
            assert.strictEqual(done.length, again, name)
            const [outcome] = yield* outcomes(world)
            const asked = outcome?.reviews.map(({ facts, kind }) => ({ kind, effect: facts["effect"] }))
            assert.deepStrictEqual(asked, asks ? [{ kind: "reconciliation", effect: key }] : [], name)

            assert.deepStrictEqual(yield* toTheEnd(world, { cache }, end), [], name)
          })
        )
        yield* Effect.all(tried, { concurrency: 2 })
      }),
    300_000
  )
})
