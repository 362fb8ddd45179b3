import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { Journal } from "espalier/journal"
import { Office, type Outcome, Plan, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { memory, settle, task } from "./desks.ts"
import { deskOf, pass } from "./living.ts"

const branches = ["a", "b", "c"] as const
type Branch = (typeof branches)[number]

/** The review of a branch: they come to wait one after the other, a second apart. */
const reviewOf = (branch: Branch) => `r1/review/${branches.indexOf(branch) + 1}`

/** Three branches that each ask a person after a while, one that goes on beside them, and a join of all. */
const make = () => {
  const one = Fake.worker("one", {
    size: 10,
    attemptTimeout: "1 day",
    answers: ({ answers, task }) => {
      const after = (seconds: number, reply: Fake.Reply<string>) => Effect.delay(Effect.succeed(reply), seconds * 1000)
      const index = branches.findIndex((branch) => branch === task)
      if (index < 0) return after(task === "beside" ? 20 : 1, `${task} is done`)
      const [said] = answers
      return said === undefined ? after(index + 1, Result.ambiguous(`What of ${task}?`)) : after(5, String(said.answer))
    }
  })
  const joined = Fake.worker("two", { answers: ({ accepted }) => Object.values(accepted).join(", ") })
  const tasks = [...branches, "beside"].map((id) => task(id))
  const join = task("join", { worker: "d.two", needs: [...branches] })
  return { one, joined, desk: deskOf([one, joined], Plan.make<string>([...tasks, join], { concurrency: 10 })) }
}

/**
 * What happens between two decisions: nothing, the process is told to stop, or it is killed; the next decision comes in the
 * new process, or while there is none.
 */
type Gap = "goes on" | "stops" | "is killed" | "is down"

/** A process in which the run is carried out. Killed, it goes on as it likes, and nothing of it is ever written. */
const process = Effect.fnUntraced(function* (first: boolean) {
  const journal = yield* Journal.Journal
  const made = make()
  const scope = yield* Scope.make()
  const office = yield* Office.open(made.desk, { log: false }).pipe(Effect.provideService(Scope.Scope, scope))
  let dead = false
  const append = (append: Journal.Append) => Effect.suspend(() => (dead ? Effect.never : journal.append(append)))
  const carried: Effect.Effect<Outcome.Outcome, unknown, Journal.Journal> = first
    ? Run.startIn(office, { id: "r1", input: "go" })
    : Run.resumeIn(office, "r1")
  const run = yield* Effect.forkDetach(carried.pipe(Effect.provideService(Journal.Journal, { ...journal, append })))
  yield* settle
  return {
    office,
    outcome: Effect.orDie(Fiber.join(run)),
    made,
    stop: Effect.andThen(Fiber.interrupt(run), Scope.close(scope, Exit.void)),
    kill: Effect.sync(() => {
      dead = true
    })
  }
})

const shown = ({ dispatches, results, reviews, status }: Outcome.Outcome) => ({
  status,
  reviews: reviews.length,
  results: Object.fromEntries(Object.values(results).map(({ output, status, task }) => [task, `${status}: ${output}`])),
  dispatches: dispatches.map(({ dispatch, outcome }) => `${dispatch} ${outcome}`).toSorted()
})

const final: ReturnType<typeof shown> = {
  status: "completed",
  reviews: 0,
  results: {
    a: "accepted: say a",
    b: "accepted: say b",
    c: "accepted: say c",
    beside: "accepted: beside is done",
    join: "accepted: say a, say b, say c"
  },
  dispatches: [
    ...branches.flatMap((branch) => [`r1/${branch}/1 refused`, `r1/${branch}/2 accepted`]),
    "r1/beside/1 accepted",
    "r1/join/1 accepted"
  ].toSorted()
}

const orders: ReadonlyArray<ReadonlyArray<Branch>> = branches.flatMap((first) =>
  branches
    .filter((branch) => branch !== first)
    .map((second) => [first, second, branches.find((branch) => branch !== first && branch !== second)!])
)

const gaps: ReadonlyArray<readonly [Gap, Gap]> = [
  ["goes on", "goes on"],
  ...(["stops", "is killed", "is down"] as const).flatMap((gap): ReadonlyArray<readonly [Gap, Gap]> => [
    [gap, "goes on"],
    ["goes on", gap],
    [gap, gap]
  ])
]

const table = gaps.flatMap((gap) => orders.map((order) => [...gap, order.join(", "), order] as const))

describe("branches that wait for people", () => {
  it.effect.each(table)("D52 end alike; the process %s, then %s, and what is decided is %s", ([one, two, , order]) =>
    Effect.gen(function* () {
      let current = yield* process(true)
      yield* pass("3500 millis")
      const decided = new Set<string>()
      const gaps: ReadonlyArray<Gap> = ["goes on", one, two]
      for (const [index, branch] of order.entries()) {
        const gap = gaps[index] ?? "goes on"
        if (gap !== "goes on") yield* gap === "stops" ? current.stop : current.kill
        const decision = { review: reviewOf(branch), decision: "answer", answer: `say ${branch}`, by: "ada" } as const
        if (gap === "is down") yield* Run.decide(decision)
        if (gap !== "goes on") current = yield* process(false)
        if (gap !== "is down") yield* Run.decide(decision, { office: current.office })
        decided.add(branch)
        yield* pass("1 second")
        // The others are as they were: neither ended, nor asked about again, and the join waits for them.
        const { results, reviews, status } = yield* Run.outcome("r1")
        assert.strictEqual(status, "running")
        assert.deepStrictEqual(
          reviews.map(({ review }) => review),
          branches.filter((each) => !decided.has(each)).map(reviewOf)
        )
        assert.strictEqual(results["join"]?.status, "open")
        assert.deepStrictEqual(yield* current.made.joined.calls, [])
      }
      yield* pass("1 minute")
      assert.deepStrictEqual(shown(yield* current.outcome), final)
      assert.strictEqual((yield* current.made.joined.calls).length, 1)
      yield* current.stop
    }).pipe(memory)
  )

  it.effect.each(orders)("D52 %s, %s, %s: each ends by itself, and what has ended stays so", (order) =>
    Effect.gen(function* () {
      const current = yield* process(true)
      yield* pass("3500 millis")
      const ended: Array<string> = []
      for (const branch of order) {
        const decision = { review: reviewOf(branch), decision: "answer", answer: `say ${branch}`, by: "ada" } as const
        yield* Run.decide(decision, { office: current.office })
        yield* pass("5 seconds")
        ended.push(branch)
        const { results } = yield* Run.outcome("r1")
        assert.deepStrictEqual(
          branches.map((each) => results[each]?.status),
          branches.map((each) => (ended.includes(each) ? "accepted" : "open"))
        )
      }
      yield* pass("1 minute")
      assert.deepStrictEqual(shown(yield* current.outcome), final)
      yield* current.stop
    }).pipe(memory)
  )
})
