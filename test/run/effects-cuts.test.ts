import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Failure } from "espalier"
import { Journal } from "espalier/journal"
import { Effects, Run } from "espalier/run"

import { elapse, history, memory } from "./desks.ts"
import { options, resume } from "./living.ts"
import { Bank, desk, killed, type Moment } from "./outside.ts"

/** Three tasks, one for each way in which what nobody knows is found out, and two effects in each. */
const tasks = ["person", "probe", "repeat"]

const building = (bank: Bank) =>
  desk(({ attempt, task }) => {
    const once = (name: string) =>
      Effects.perform({
        name: `${task}/${name}`,
        run: (key) =>
          Effect.delay(
            Effect.sync(() => `${bank.pay(`${task}/${name}`, key) > 0}`),
            `${100 + 30 * tasks.indexOf(task)} millis`
          ),
        ...(task === "repeat" ? { idempotent: true } : {}),
        ...(task === "probe"
          ? { probe: (key: string) => Effect.succeed(bank.byKey.has(key) ? Option.some("true") : Option.none()) }
          : {})
      })
    return Effect.andThen(
      once("first"),
      Effect.tap(once("second"), () => (attempt === 1 ? Effect.fail(Failure.transient("busy")) : Effect.void))
    )
  }, tasks)

const count = (bank: Bank, what: string): number => bank.done.filter((each) => each === what).length

/** Takes the run up until it is over; what a person is asked, is looked up outside. */
const toTheEnd = (bank: Bank): Effect.Effect<number, unknown, Journal.Journal> =>
  Effect.gen(function* () {
    let asked = 0
    for (let round = 0; round < 10; round++) {
      const outcome = yield* elapse(resume(building(bank)), "1 minute")
      if (outcome.status !== "waiting") {
        assert.deepStrictEqual([outcome.status, outcome.unsettled], ["completed", []])
        return asked
      }
      for (const { facts, review } of outcome.reviews) {
        asked += 1
        assert.strictEqual(facts["of"], "person")
        const happened = bank.byKey.has(String(facts["effect"]))
        yield* Run.decide({
          review,
          by: "ann",
          ...(happened ? { decision: "answer", answer: "true" } : { decision: "retry" })
        } as const)
      }
    }
    return assert.fail("the run does not end")
  })

describe("A process that is killed at any commit", () => {
  const events = Effect.gen(function* () {
    yield* elapse(Run.start(building(new Bank()), options), "1 minute")
    return (yield* history("r1")).length
  })

  it.effect.each(["before", "after"] as const)(
    "R-301 R-303 has each effect happen once, or twice where that does no harm (%s the commit)",
    (moment: Moment) =>
      Effect.gen(function* () {
        const last = yield* Effect.provide(events, Journal.layerMemory)
        let asked = 0
        let repeated = 0
        for (let cut = 1; cut <= last; cut++) {
          const bank = new Bank()
          yield* Effect.gen(function* () {
            let seen = 0
            const at = (): boolean => ++seen === cut
            yield* elapse(killed(Run.start(building(bank), options), at, moment), "1 minute")
            const begun = yield* Effect.exit(Run.outcome("r1"))
            // Nothing was begun: it is as if the run had never been asked for.
            if (begun._tag === "Failure") return assert.deepStrictEqual(bank.done, [])
            if (begun.value.status !== "completed") asked += yield* toTheEnd(bank)
            for (const task of tasks) {
              for (const name of ["first", "second"]) {
                const times = count(bank, `${task}/${name}`)
                assert.isAtLeast(times, 1, `cut ${cut}: ${task}/${name}`)
                assert.isAtMost(times, task === "repeat" ? 2 : 1, `cut ${cut}: ${task}/${name}`)
                if (times === 2) repeated += 1
              }
            }
            assert.strictEqual(bank.byKey.size, 6)
            assert.strictEqual((yield* history("r1")).filter(({ _tag }) => _tag === "RunFinished").length, 1)
          }).pipe(memory)
        }
        assert.isAbove(asked, 0)
        // After a commit nothing has been done that is not in it.
        assert.strictEqual(repeated > 0, moment === "before")
      })
  )
})
