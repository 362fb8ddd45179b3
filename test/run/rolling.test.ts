import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Schedule, Scope } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Host, Office, Plan, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { freshPath } from "../journal/fixtures/folder.ts"
import { history, settle, task } from "./desks.ts"
import { deskOf, of, pass } from "./living.ts"

const asksIn = (run: string): boolean => Number(run.slice(1)) % 3 === 0

/** Every third run has a person asked about its second task. */
const makeDesk = () => {
  const one = Fake.worker("one", {
    size: 4,
    latency: "700 millis",
    answers: ({ answers, run, task }) =>
      task === "b" && asksIn(run) && answers.length === 0 ? Result.ambiguous("Which one?") : `${task} is done`
  })
  const plan = [task("a"), task("b", { needs: ["a"] }), task("beside"), task("end", { needs: ["b", "beside"] })]
  return deskOf([one], Plan.make<string>(plan))
}

/** A process of a service: it waits until the journal is free, carries out its runs then, and gives it back when it ends. */
const process = Effect.fnUntraced(function* (filename: string, taken: Array<Host.Taken>, troubles: Array<string>) {
  const scope = yield* Scope.make()
  const built = yield* Layer.buildWithScope(
    Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" })),
    scope
  )
  const journal = Context.get(built, Journal.Journal)
  const office = yield* Office.open(makeDesk(), { log: false }).pipe(Effect.provideService(Scope.Scope, scope))
  const serving = Host.serve(office, { asked: true, onTaken: (each) => void taken.push(each) }).pipe(
    Effect.retry({
      while: (error) => error.reason._tag === "JournalOwned",
      schedule: Schedule.spaced("1 second")
    }),
    Effect.catch((error) => Effect.sync(() => void troubles.push(error.message))),
    Effect.provideService(Journal.Journal, journal)
  )
  yield* Effect.forkIn(serving, scope)
  return { journal, office, close: Scope.close(scope, Exit.void) }
})

describe("three processes that are replaced one after the other", () => {
  it.effect("D66 bring every run to its end, and none fails for it", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const taken: Array<Host.Taken> = []
      const troubles: Array<string> = []
      const begun: Array<string> = []
      const decided = new Set<string>()
      const there = [
        yield* process(filename, taken, troubles),
        yield* process(filename, taken, troubles),
        yield* process(filename, taken, troubles)
      ]
      yield* settle
      const owner = Effect.gen(function* () {
        for (const each of there) if (yield* each.journal.owns) return each
        return undefined
      })
      const start = (at: (typeof there)[number]) => {
        const id = `r${begun.length}`
        begun.push(id)
        return Run.startIn(at.office, { id, input: "go" }).pipe(
          // Whoever has begun it is stopped with its process; the run is not.
          Effect.catchCause((cause) =>
            Effect.sync(
              () => void (Cause.hasInterruptsOnly(cause) ? 0 : troubles.push(`${id}: ${Cause.pretty(cause)}`))
            )
          ),
          Effect.provideService(Journal.Journal, at.journal),
          Effect.forkDetach
        )
      }
      /** Somebody answers, by way of a process that does not carry the runs out. */
      const answer = Effect.gen(function* () {
        const now = yield* owner
        const other = there.findLast((each) => each !== now)
        if (other === undefined) return
        const said = Effect.provideService(Journal.Journal, other.journal)
        for (const run of begun) {
          if (!asksIn(run) || decided.has(run)) continue
          const known = yield* Effect.exit(Run.outcome(run).pipe(said))
          if (Exit.isFailure(known) || known.value.reviews.length === 0) continue
          decided.add(run)
          yield* Run.decide({ review: `${run}/review/1`, decision: "answer", answer: "this one", by: "ada" }).pipe(said)
        }
      })
      const owners: Array<unknown> = []
      for (let step = 0; step < 36; step++) {
        const now = yield* owner
        if (now !== undefined && begun.length < 24) yield* start(now)
        if (now !== undefined && owners.at(-1) !== now) owners.push(now)
        yield* pass("300 millis")
        yield* answer
        if (step % 9 === 8 && now !== undefined) {
          there.splice(there.indexOf(now), 1)
          yield* now.close
          there.push(yield* process(filename, taken, troubles))
          yield* settle
        }
      }
      for (let step = 0; step < 60; step++) {
        yield* pass("500 millis")
        yield* answer
      }
      const last = yield* owner
      if (last === undefined) return assert.fail("nobody has the journal")
      assert.isAtLeast(owners.length, 4)
      assert.deepStrictEqual(troubles, [])
      yield* Effect.gen(function* () {
        const listed = yield* last.journal.runs()
        assert.deepStrictEqual(
          listed.map(({ run, status }) => `${run} ${status}`).toSorted(),
          begun.map((run) => `${run} completed`).toSorted()
        )
        let handedOver = 0
        for (const run of begun) {
          const events = yield* history(run)
          for (const { reason } of of(events, "RunSuspended")) assert.strictEqual(reason, "asked")
          handedOver += of(events, "RunSuspended").length
          for (const { note, status } of of(events, "TaskEnded")) assert.strictEqual(status, "accepted", note)
          // The only one that is told is that of who asks, and has nothing without an answer.
          const told = of(events, "Reported").filter(({ result }) => result.error !== undefined)
          assert.deepStrictEqual(
            told.map(({ result }) => result.ambiguity),
            asksIn(run) ? ["Which one?"] : [],
            run
          )
        }
        assert.isAbove(handedOver, 3)
      }).pipe(Effect.provideService(Journal.Journal, last.journal))
      const wrong = taken.filter(({ result }) => result !== "finished" && result !== "waiting")
      assert.deepStrictEqual(wrong, [])
      for (const each of there) yield* each.close
    }).pipe(Effect.scoped)
  )
})
