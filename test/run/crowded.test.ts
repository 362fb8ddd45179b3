import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Host, Office, Plan, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { freshPath } from "../journal/fixtures/folder.ts"
import { history, memory, settle, task } from "./desks.ts"
import { begin, deskOf, pass } from "./living.ts"

/** A desk whose runs have work for a worker with one place and a queue of one, beside work that a person is asked about. */
const crowded = () => {
  const one = Fake.worker("one", { size: 1, queue: 1, attemptTimeout: "1 day", otherwise: Fake.never })
  const asks = Fake.worker("asks", {
    size: 5,
    answers: ({ answers }) => (answers.length === 0 ? Result.ambiguous("Which one?") : String(answers[0]?.answer))
  })
  const slow = Fake.worker("slow", { latency: "1 minute", otherwise: "slow", size: 5, attemptTimeout: "1 day" })
  const tasks = [
    task("asked", { worker: "d.asks" }),
    task("a"),
    task("b"),
    task("after", { worker: "d.slow", needs: ["asked"] })
  ]
  return { one, desk: deskOf([one, asks, slow], Plan.make<string>(tasks)) }
}

/** Three runs: the first has the place, the second stands in the queue, and the third is held back. */
const three = (office: Office.Office<string>) =>
  Effect.gen(function* () {
    const runs = []
    for (const id of ["r1", "r2", "r3"]) runs.push(yield* begin(Run.startIn(office, { id, input: "go" })))
    assert.deepStrictEqual(yield* load(office), full)
    return runs
  })

const full = { size: 1, busy: 1, queued: 1, held: 1 }

const load = (office: Parameters<typeof Office.loads>[0]) =>
  Effect.map(Office.loads(office), (loads) => loads.get("d.one"))

const answer = { review: "r3/review/1", decision: "answer", answer: "the left one", by: "ada" } as const

const ended = Effect.map(history("r3"), (events) =>
  events.flatMap((event) => (event._tag === "TaskEnded" ? [`${event.task} ${event.status}`] : []))
)

describe("A worker whose queue is full", () => {
  it.effect("D67 keeps out no decision, no report, no change of the tier and no end of a run", () =>
    Effect.gen(function* () {
      const { desk, one } = crowded()
      const office = yield* Office.open(desk, { log: false })
      const runs = yield* three(office)
      yield* Run.decide(answer, { office })
      yield* settle
      assert.deepStrictEqual(yield* ended, ["asked accepted"])
      yield* Run.changeTier("r3", { from: "medium", to: "low", who: "ada", why: "Careful" }, { office })
      assert.deepStrictEqual((yield* Run.outcome("r3")).tier, "low")
      yield* pass("1 minute")
      assert.deepStrictEqual(yield* ended, ["asked accepted", "after accepted"])
      assert.deepStrictEqual(yield* load(office), full)
      for (const run of ["r3", "r2", "r1"]) yield* Run.cancel(run, { by: "ada", office })
      for (const { join } of runs) assert.strictEqual((yield* join).status, "cancelled")
      assert.deepStrictEqual(yield* load(office), { size: 1, busy: 0, queued: 0, held: 0 })
      assert.strictEqual((yield* one.calls).length, 1)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D67 keeps out no word that another process left for it", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const process = Effect.map(
        Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))),
        (context) => Context.get(context, Journal.Journal)
      )
      const here = Effect.provideService(Journal.Journal, yield* process)
      const there = Effect.provideService(Journal.Journal, yield* process)
      const { desk } = crowded()
      const office = yield* Office.open(desk, { log: false })
      const host = yield* Effect.forkChild(Host.serve(office).pipe(here))
      const runs = yield* three(office).pipe(here)
      yield* Run.decide(answer).pipe(there)
      yield* pass("1 second")
      assert.deepStrictEqual(yield* ended.pipe(here), ["asked accepted"])
      assert.deepStrictEqual(yield* load(office), full)
      for (const run of ["r3", "r2", "r1"]) yield* Run.cancel(run, { by: "ada" }).pipe(there)
      yield* pass("1 second")
      for (const { join } of runs) assert.strictEqual((yield* join).status, "cancelled")
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped)
  )
})
