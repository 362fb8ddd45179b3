import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Effects, Plan, Run, type RunEvent } from "espalier/run"

import { history, memory, task, worker } from "./desks.ts"
import { deskOf, of } from "./living.ts"
import { killed, type Moment, tagged } from "./outside.ts"

const Refund = Schema.Struct({ to: Schema.String, amount: Schema.Number })

/** What was paid back, by key. */
class Till {
  readonly paid: Array<readonly [key: string, amount: number]> = []

  desk(idempotent: boolean) {
    const tools = [{ name: "refund", input: Refund, gate: "always", editable: ["/amount"], idempotent }] as const
    const one = worker(
      "one",
      () =>
        Effects.perform({
          name: "refund",
          args: { to: "ann", amount: 5 },
          run: (key, args) =>
            Effect.sync(() => {
              const { amount } = args as typeof Refund.Type
              this.paid.push([key, amount])
              return `${amount}`
            })
        }),
      { tools }
    )
    return deskOf([one], Plan.make<string>([task("a")]))
  }
}

const start = { id: "r1", input: "go", log: false }

const between: ReadonlyArray<RunEvent.RunEvent["_tag"]> = [
  "ReviewOpened",
  "Parked",
  "Unparked",
  "EffectIntended",
  "EffectSettled",
  "Reported",
  "RunFinished"
]

const decisions = [
  ["approve", {}, 5],
  ["edit", { edits: { "/amount": 3 } }, 3]
] as const

/** Takes the run up, with a decision about what is asked in between, until nothing is asked any more. */
const toEnd = Effect.fnUntraced(function* (till: Till, idempotent: boolean, decision: (typeof decisions)[number]) {
  const built = till.desk(idempotent)
  for (let tries = 0; tries < 5; tries++) {
    const { reviews, status } = yield* Run.resume(built, "r1", { log: false })
    const [open] = reviews
    if (open === undefined) return status
    if (open.kind !== "action-approval") return open.kind
    yield* Run.decide({ review: open.review, decision: decision[0], by: "ann", ...decision[1] })
  }
  return "asked again and again"
})

describe("A process that is killed while a call is asked about and done", () => {
  for (const decision of decisions) {
    for (const tag of between) {
      for (const moment of ["before", "after"] as const satisfies ReadonlyArray<Moment>) {
        it.effect(`D80 D82 ${decision[0]}, ${moment} ${tag}: it is done as it was approved, and under one key`, () =>
          Effect.gen(function* () {
            const till = new Till()
            const first = Effect.gen(function* () {
              yield* Run.start(till.desk(true), start)
              yield* Run.decide({ review: "r1/review/1", decision: decision[0], by: "ann", ...decision[1] })
              yield* Run.resume(till.desk(true), "r1", { log: false })
            })
            yield* killed(first, tagged(tag), moment)
            assert.strictEqual(yield* toEnd(till, true, decision), "completed")
            assert.strictEqual(new Set(till.paid.map(([key]) => key)).size, 1)
            assert.isTrue(till.paid.every(([, amount]) => amount === decision[2]))
            const all = yield* history("r1")
            assert.strictEqual(of(all, "ReviewDecided").length, 1)
            assert.strictEqual(of(all, "EffectSettled").length, 1)
          }).pipe(memory)
        )
      }
    }

    it.effect(`D80 ${decision[0]}: what may have happened is done again by nobody, whoever has approved it`, () =>
      Effect.gen(function* () {
        const till = new Till()
        const first = Effect.gen(function* () {
          yield* Run.start(till.desk(false), start)
          yield* Run.decide({ review: "r1/review/1", decision: decision[0], by: "ann", ...decision[1] })
          yield* Run.resume(till.desk(false), "r1", { log: false })
        })
        yield* killed(first, tagged("EffectSettled"), "before")
        assert.strictEqual(yield* toEnd(till, false, decision), "reconciliation")
        assert.strictEqual(till.paid.length, 1)
      }).pipe(memory)
    )
  }
})
