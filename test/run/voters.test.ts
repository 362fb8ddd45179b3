import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Ladder, Office, ReviewPolicy, Reviewers, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { memory, settle, task } from "./desks.ts"
import { guarded, of } from "./guards.ts"

const ladder = Ladder.make({
  stages: [{ to: ["user:ann", "user:cem", "user:Ann", "user:service:mailer"], after: 0 }],
  final: { after: "2 hours", action: "reject" }
})

/** Ann is away for good, and Bob stands in for her. */
const people = Effect.provide(
  Reviewers.layer({
    users: { ann: {}, Ann: {}, bob: {}, cem: {}, "service:mailer": {} },
    absences: [{ who: "ann", from: "1970-01-01", until: "9999-01-01", delegate: "bob" }]
  })
)

const desk = guarded([Fake.worker("one", { risk: "high", otherwise: "done" })], [task("a")], {
  reviews: ReviewPolicy.make({ quorum: { high: 2 }, ladders: { critical: ladder, high: ladder } })
})

const options = { id: "r1", input: "go", log: false } as const

type By = Run.Deciding["by"]

const approve = (by: By): Run.Deciding => ({ review: "r1/review/1", decision: "approve", by })

const pairs: ReadonlyArray<readonly [what: string, one: By, other: By, people: 1 | 2]> = [
  ["two people", "ann", "cem", 2],
  ["one by two names", "ann", "Ann", 1],
  ["somebody and what acts for them", "ann", { kind: "service", id: "mailer", onBehalfOf: "ann" }, 1],
  ["somebody and who stands in for them", "ann", "bob", 1],
  ["who stands in for somebody, and they themselves", "bob", "ann", 1],
  ["who stands in for somebody, and another one", "bob", "cem", 2]
]

describe("two approvals", () => {
  it.effect.each(pairs)("R-306 of %s, one after the other", ([, one, other, count]) =>
    Effect.gen(function* () {
      yield* Run.start(desk, options)
      assert.deepStrictEqual(yield* Run.decide(approve(one)), { _tag: "Voted", votes: 1, need: 2 })
      const second = yield* Run.decide(approve(other))
      assert.deepStrictEqual(second, count === 2 ? { _tag: "Applied" } : { _tag: "Voted", votes: 1, need: 2 })
      assert.lengthOf(yield* of("ReviewDecided"), count - 1)
      if (count === 1) assert.deepStrictEqual(yield* Run.decide(approve("cem")), { _tag: "Applied" })
    }).pipe(people, memory)
  )

  it.effect.each(pairs)("R-306 of %s, in the same moment", ([, one, other, count]) =>
    Effect.gen(function* () {
      const office = yield* Office.open(
        guarded(
          [Fake.worker("one", { risk: "high", otherwise: "done" }), Fake.worker("slow", { answers: [Fake.never] })],
          [task("a"), task("s", { worker: "d.slow" })],
          { reviews: ReviewPolicy.make({ quorum: { high: 2 }, ladders: { critical: ladder, high: ladder } }) }
        ),
        { log: false }
      )
      const fiber = yield* Effect.forkChild(Run.startIn(office, options))
      yield* settle
      yield* Effect.forEach([one, other], (by) => Run.decide(approve(by), { office }), { concurrency: "unbounded" })
      assert.lengthOf(yield* of("ReviewDecided"), count - 1)
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.scoped, people, memory)
  )

  it.effect("R-306 of one who says it twice are one, and the second is known", () =>
    Effect.gen(function* () {
      yield* Run.start(desk, options)
      yield* Run.decide(approve("cem"))
      assert.deepStrictEqual(yield* Run.decide(approve("cem")), { _tag: "Replayed" })
      assert.lengthOf(yield* of("ReviewVoted"), 1)
    }).pipe(people, memory)
  )
})
