/** What a run of agents says that it has used is what their models have used, however it goes. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { Meter } from "espalier/agent"
import type { Journal } from "espalier/journal"
import { Run, type RunEvent } from "espalier/run"

import { elapse, history } from "../run/desks.ts"
import { begin, of, pass } from "../run/living.ts"
import { killed } from "../run/outside.ts"
import { services } from "./agents.ts"
import { concurrency, world } from "./erring.ts"

const tokens = (events: ReadonlyArray<RunEvent.Of<"Spent">>) =>
  events.reduce((sum, { usage }) => sum + (usage.tokens ?? 0), 0)

const int = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))
const options = { id: "r1", input: "go", log: false } as const

describe("What a run of agents has used", () => {
  it.effect.prop(
    "R-406 D34 D35 is what its models have used, less what the journal never heard of, at every account and in every total",
    {
      picks: Arbitrary.array(int(1 << 12), { minLength: 2, maxLength: 16 }),
      wide: int(2),
      deep: int(2),
      seed: int(1 << 12)
    },
    ({ deep, picks, seed, wide }) => {
      const { calls, desk, receipts } = world(picks, wide + 1, deep)
      return Effect.gen(function* () {
        let kills = 0
        let whole = true
        let run: Effect.Effect<unknown, unknown, Journal.Journal> = Run.start(desk(), options) as never
        // It is killed, put down, or called back, and goes on.
        for (const way of [seed % 5, Math.floor(seed / 5) % 5]) {
          if (way === 4) continue
          whole = false
          let count = 0
          const at = 2 + ((seed + way) % 50)
          if (way < 2) {
            const dies = () => count++ >= at
            yield* elapse(Effect.exit(killed(run, dies, way === 0 ? "before" : "after")), "30 minutes")
            kills += 1
          } else {
            const fiber = yield* begin(run)
            yield* pass(`${seed % 40} seconds`)
            if (way === 3) {
              yield* Effect.ignore(Run.cancel("r1", { by: "ann", note: "enough" } as never))
              yield* pass("1 minute")
            }
            yield* fiber.interrupt
          }
          run = Run.resume(desk(), "r1", { log: false }) as never
        }
        yield* elapse(Effect.exit(run), "2 hours")

        const events = yield* history("r1")
        if (events.length === 0) return
        const spent = of(events, "Spent").filter(({ what }) => what === "model")
        const known = spent.filter(({ facts }) => facts?.["estimated"] !== true)
        const paid = known.flatMap(({ usage }) => (usage.tokens === 0 ? [] : [usage.tokens ?? 0]))
        // Nothing twice, nothing that was not used.
        assert.strictEqual(new Set(paid).size, paid.length)
        for (const each of paid) assert.include(receipts, each)
        // What is not there was under way when a process died, and no more of it than could be.
        const lost = calls() - spent.length
        assert.isAtLeast(lost, 0)
        assert.isAtMost(lost, kills * concurrency * 2)
        if (kills === 0) assert.strictEqual(lost, 0)
        if (whole)
          assert.strictEqual(
            tokens(known),
            receipts.reduce((sum, each) => sum + each, 0)
          )

        const { ledger } = yield* Run.state("r1")
        const outcome = yield* Run.outcome("r1")
        assert.strictEqual(ledger.reservations.size, 0)
        assert.strictEqual(outcome.usage.tokens ?? 0, tokens(spent))
        assert.strictEqual(Meter.fold(events).run.tokens.total, tokens(spent))
        for (const [account, { settled }] of ledger.accounts) {
          const [kind, name = ""] = account.split(":")
          const below = of(events, "Spent").filter(({ task, worker }) =>
            kind === "task"
              ? task === name || task.startsWith(`${name}/`)
              : kind === "worker"
                ? worker === name
                : kind === "domain"
                  ? worker.startsWith(`${name}.`)
                  : true
          )
          assert.strictEqual(settled.tokens ?? 0, tokens(below), account)
        }
      }).pipe(Effect.provide(services))
    },
    { arbitrary: { runs: 40, seed: "espalier" } }
  )
})
