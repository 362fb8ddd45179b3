import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Queue } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Host, Office, Plan, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { connection, freshPath } from "../journal/fixtures/folder.ts"
import { history, memory, settle, task } from "./desks.ts"
import { deskOf, of, pass } from "./living.ts"

/** A process: a journal on a file that is opened, and given back when it ends. */
const process = (filename: string) =>
  Effect.map(Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))), (context) =>
    Context.get(context, Journal.Journal)
  )

const at = (journal: Journal.Journal["Service"]) => Effect.provideService(Journal.Journal, journal)

/** A desk whose only task a person is asked about. */
const asking = (size = 1) =>
  deskOf(
    [Fake.worker("one", { size, answers: ({ dispatch }) => (dispatch.endsWith("/1") ? Fake.fail("denied") : "done") })],
    Plan.make<string>([task("a")])
  )

const retry = (run: string, by = "ada") => ({ review: `${run}/review/1`, decision: "retry", by }) as const

describe("word", () => {
  it.effect("D65 is heard wherever it comes between the question and the moment at which the run waits", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      const office = yield* Office.open(asking(300), { log: false })
      const finished = new Set<string>()
      const host = yield* Effect.forkChild(
        Host.serve(office, {
          onTaken: ({ result, run }) => void (result === "finished" && finished.add(run))
        }).pipe(at(here))
      )
      yield* settle
      const asked = yield* Queue.unbounded<string>()
      const onEvent = (event: RunEvent.RunEvent): void => {
        if (event._tag === "ReviewOpened") Queue.offerUnsafe(asked, event.review.replace(/\/review\/1$/, ""))
      }
      const runs = Array.from({ length: 300 }, (_, n) => `r${n}`)
      const outcomes = yield* Effect.forkChild(
        Effect.forEach(runs, (id) => Run.startIn(office, { id, input: "go", onEvent }).pipe(at(here)), {
          concurrency: "unbounded"
        })
      )
      const deciding = yield* Effect.forkChild(
        Effect.forEach(
          runs,
          (_, n) =>
            Effect.gen(function* () {
              const run = yield* Queue.take(asked)
              // At once, or some turns later.
              yield* Effect.repeat(Effect.yieldNow, { times: n % 30 })
              if (n % 2 === 0) return yield* Run.decide(retry(run)).pipe(at(there), Effect.asVoid)
              // As if the file told of it in this moment.
              const { by, decision, review } = retry(run)
              yield* here.command({
                run,
                type: "ReviewDecided",
                at: 0,
                review,
                data: { review, by, decision, note: "" }
              })
            }),
          { concurrency: "unbounded" }
        )
      )
      yield* settle
      for (let step = 0; step < 8; step++) yield* pass("250 millis")
      yield* Fiber.join(deciding)
      for (const { run, status } of yield* Fiber.join(outcomes)) if (status === "completed") finished.add(run)
      assert.deepStrictEqual([finished.size, yield* here.commands()], [300, []])
      assert.deepStrictEqual((yield* here.runs({ status: ["running", "waiting", "suspended"] })).length, 0)
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped)
  )

  it.effect("D65 is heard at once, whatever moment it is left in, with nobody else to ring", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const office = yield* Office.open(asking(), { log: false })
      const host = yield* Effect.forkChild(Host.serve(office, { every: "1 hour" }))
      yield* settle
      const late: Array<string> = []
      for (let turns = 0; turns < 80; turns++) {
        const run = `r${turns}`
        const asked = yield* Deferred.make<void>()
        const onEvent = (event: RunEvent.RunEvent): void => {
          if (event._tag === "ReviewOpened") Deferred.doneUnsafe(asked, Exit.void)
        }
        const started = yield* Effect.forkChild(Run.startIn(office, { id: run, input: "go", onEvent }))
        const deciding = yield* Effect.forkChild(
          Effect.gen(function* () {
            yield* Deferred.await(asked)
            yield* Effect.repeat(Effect.yieldNow, { times: turns })
            const { by, decision, review } = retry(run)
            yield* journal.command({
              run,
              type: "ReviewDecided",
              at: 0,
              review,
              data: { review, by, decision, note: "" }
            })
          })
        )
        yield* settle
        yield* Fiber.joinAll([started, deciding])
        yield* settle
        if ((yield* Run.outcome(run)).status !== "completed") late.push(run)
      }
      assert.deepStrictEqual(late, [])
      assert.deepStrictEqual(yield* journal.commands(), [])
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D65 is heard at once when it is left while its run is being taken up", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      // What is read is already some time old when it arrives, as from a server.
      const slow = {
        ...journal,
        commands: (run?: string) => Effect.tap(journal.commands(run), Effect.sleep("100 millis"))
      }
      const one = Fake.worker("one", {
        size: 5,
        answers: ({ dispatch }) => (dispatch.endsWith("/1") ? Fake.fail("denied") : Fake.never),
        attemptTimeout: "1 day"
      })
      const office = yield* Office.open(deskOf([one], Plan.make<string>([task("a")])), { log: false })
      const host = yield* Effect.forkChild(Host.serve(office, { every: "1 hour" }).pipe(at(slow)))
      yield* settle
      yield* pass("1 second")
      yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(at(slow))
      yield* pass("1 second")
      const { by, decision, review } = retry("r1")
      yield* journal.command({
        run: "r1",
        type: "ReviewDecided",
        at: 0,
        review,
        data: { review, by, decision, note: "" }
      })
      yield* pass("150 millis")
      assert.strictEqual(office.live.size, 0)
      yield* journal.command({ run: "r1", type: "CancelRequested", at: 0, data: { by: "ada", note: "Enough" } })
      yield* pass("50 millis")
      assert.strictEqual(office.live.size, 1)
      yield* pass("1 second")
      yield* pass("5 seconds")
      assert.strictEqual((yield* Run.outcome("r1")).status, "cancelled")
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D51 about a review that the lists do not know is left all the same, and the owner takes the first", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      const office = yield* Office.open(asking(), { log: false })
      yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(at(here))
      const raw = yield* connection(filename)
      raw.exec("DELETE FROM reviews")
      yield* Run.decide(retry("r1", "ada")).pipe(at(there))
      yield* Run.decide(retry("r1", "bo")).pipe(at(there))
      assert.deepStrictEqual(
        (yield* there.commands("r1")).map(({ review, type }) => [type, review]),
        [
          ["ReviewDecided", undefined],
          ["ReviewDecided", undefined]
        ]
      )
      const taken = yield* Host.pass(office).pipe(at(here))
      assert.deepStrictEqual(
        taken.map(({ result }) => result),
        ["finished"]
      )
      const events = yield* history("r1").pipe(at(here))
      assert.deepStrictEqual(
        of(events, "ReviewDecided").map(({ by }) => by),
        ["ada"]
      )
      assert.deepStrictEqual(
        of(events, "ReviewRefused").map(({ because, by }) => [by, because]),
        [["bo", "already-decided"]]
      )
      assert.deepStrictEqual(yield* here.commands(), [])
    }).pipe(Effect.scoped)
  )
})

describe("a run whose events somebody has changed", () => {
  it.effect("R-304 is not carried out: it is put aside as untrusted, and its worker hears nothing", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const paid: Array<unknown> = []
      const pays = Fake.worker("one", {
        answers: ({ contract }) => Effect.sync(() => `paid ${paid.push(contract.inputs)}`)
      })
      const desk = deskOf(
        [pays],
        Plan.make<string>([{ ...task("a", { after: "2 minutes" }), input: (_, amount: string) => ({ amount }) }])
      )
      const office = yield* Office.open(desk, { log: false })
      yield* Run.startIn(office, { id: "r1", input: "10 euros" }).pipe(at(here))
      const other = yield* connection(filename)
      other.exec(`UPDATE events SET data = replace(data, '10 euros', '99 euros') WHERE run = 'r1'`)
      yield* pass("3 minutes")
      const taken = yield* Host.pass(office).pipe(at(here))
      assert.deepStrictEqual(
        taken.map(({ note, result }) => [result, note]),
        [
          [
            "untrusted",
            "the run r1 cannot be trusted from version 1 on: the event is not what was written: its hash does not hold"
          ]
        ]
      )
      const error = yield* Effect.flip(Run.resumeIn(office, "r1").pipe(at(here)))
      assert.deepStrictEqual([error._tag, paid], ["RunUntrusted", []])
    }).pipe(Effect.scoped)
  )
})
