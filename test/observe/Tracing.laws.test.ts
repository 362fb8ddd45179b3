/** Whatever models do, and whenever a run is put down, called back or cut off: its spans are the tree of its journal. */
import { describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Layer, Schema } from "effect"
import { Journal } from "espalier/journal"
import { Run } from "espalier/run"

import { services } from "../agent/agents.ts"
import { world } from "../agent/erring.ts"
import { elapse } from "../run/desks.ts"
import { begin, pass } from "../run/living.ts"
import { lost } from "../run/outside.ts"
import type { Seen } from "./seen.ts"
import { agree, sound, tracing } from "./traced.ts"
import { eventsOf } from "./trees.ts"

const int = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))
const options = { id: "r1", input: "go", log: false } as const

/** What becomes of a run at a moment. */
const ways = ["put-down", "called-back", "cut-off", "nothing"] as const

/** One process that has to do with a run: what it writes while it lives, and what it has told when it is over. */
const process = Effect.map(Journal.Journal, (journal) => {
  const { layer, seen } = tracing()
  let left: ReadonlyArray<Seen> | undefined
  const append: (typeof journal)["append"] = (append) =>
    Effect.suspend(() => (left === undefined ? journal.append(append) : Effect.fail(lost)))
  return {
    layer: Layer.merge(layer, Layer.succeed(Journal.Journal, { ...journal, append })),
    die: () => {
      left = seen().filter(({ end }) => end !== "open")
    },
    told: () => left ?? seen()
  }
})

describe("The spans of any run", () => {
  it.effect.prop(
    "R-501 D101 D102 D104 are the tree of its journal, segment by segment, and add up",
    {
      picks: Arbitrary.array(int(1 << 12), { minLength: 2, maxLength: 16 }),
      wide: int(2),
      deep: int(2),
      seed: int(1 << 12)
    },
    ({ deep, picks, seed, wide }) => {
      const { desk } = world(picks, wide + 1, deep)
      return Effect.gen(function* () {
        const spans: Array<Seen> = []
        const carry = Effect.suspend(() => {
          const started = Effect.asVoid(Effect.exit(Run.start(desk(), options)))
          return spans.length === 0 ? started : Effect.asVoid(Effect.exit(Run.resume(desk(), "r1", { log: false })))
        })
        for (const way of [ways[seed % 4], ways[Math.floor(seed / 4) % 4]]) {
          if (way === "nothing") continue
          const { die, layer, told } = yield* process
          const fiber = yield* begin(Effect.provide(carry, layer))
          yield* pass(`${seed % 40} seconds`)
          if (way === "called-back") {
            yield* Effect.ignore(Run.cancel("r1", { by: "ann", note: "enough" }))
            yield* pass("1 minute")
          }
          if (way === "cut-off") die()
          yield* fiber.interrupt
          spans.push(...told())
        }
        const { layer, told } = yield* process
        yield* elapse(Effect.provide(carry, layer), "2 hours")
        spans.push(...told())
        agree("r1", spans, yield* eventsOf("r1"))
        sound(spans, "r1")
      }).pipe(Effect.provide(services))
    },
    { arbitrary: { runs: 40, seed: "espalier" }, timeout: 60_000 }
  )
})
