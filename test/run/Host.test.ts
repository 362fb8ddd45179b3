import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Journal, JournalSqlite } from "espalier/journal"
import { Host, Office, Plan, Run, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { freshPath } from "../journal/fixtures/folder.ts"
import { history, memory, settle, task } from "./desks.ts"
import { deskOf, pass } from "./living.ts"

const plan = (tasks: ReadonlyArray<Plan.Task<string>>) => Plan.make<string>(tasks)

/** A process: a journal on a file that is opened, and given back when it ends. */
const process = (filename: string) =>
  Effect.map(Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))), (context) =>
    Context.get(context, Journal.Journal)
  )

/** A journal that does as if its process were killed: from some moment on it writes nothing and answers nobody. */
const mortal = (journal: Journal.Journal["Service"]) => {
  let dead = false
  const alive = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => (dead ? Effect.never : effect))
  return {
    kill: Effect.sync(() => {
      dead = true
    }),
    journal: { ...journal, append: (append: Journal.Append) => alive(journal.append(append)) }
  }
}

/** Begins runs of a desk and lets their process die while their orders are under way. */
const cutOff = Effect.fnUntraced(function* (
  desk: Parameters<typeof Office.open<string, never>>[0],
  runs: ReadonlyArray<string>
) {
  const { journal, kill } = mortal(yield* Journal.Journal)
  yield* Effect.forkDetach(
    Effect.scoped(
      Effect.flatMap(Office.open(desk, { log: false }), (office) =>
        Effect.forEach(runs, (id) => Run.startIn(office, { id, input: "go" }), { concurrency: "unbounded" })
      )
    ).pipe(Effect.provideService(Journal.Journal, journal))
  )
  yield* settle
  yield* kill
})

const listed = Effect.flatMap(Journal.Journal, (journal) =>
  Effect.map(journal.runs({ order: "oldest" }), (runs) =>
    runs.map(({ reason, run, status }) => `${run} ${status}${reason === undefined ? "" : ` ${reason}`}`)
  )
)

const results = (taken: ReadonlyArray<Host.Taken>) => taken.map(({ result, run }) => `${run} ${result}`)

/** A worker whose first order never comes to an end. */
const stuckOnce = (orders: Array<string> = []): Worker.Worker<never> =>
  Fake.worker("one", {
    size: 5,
    answers: ({ attempt, dispatch }) => {
      orders.push(dispatch)
      return orders.filter((each) => each === dispatch).length === 1 && attempt === 1 ? Fake.never : "done"
    },
    attemptTimeout: "1 day"
  })

describe("pass", () => {
  it.effect("R-302 D54 takes up every run that was cut off, under the same dispatch ids, and nothing else", () =>
    Effect.gen(function* () {
      const orders: Array<string> = []
      const desk = deskOf(
        [stuckOnce(orders), Fake.worker("two", { otherwise: "two" })],
        plan([task("a"), task("b", { worker: "d.two" })])
      )
      yield* cutOff(desk, ["r1", "r2", "r3"])
      const office = yield* Office.open(desk, { log: false })
      yield* Run.startIn(office, { id: "over", input: "go" }).pipe(Effect.timeoutOption("1 second"), Effect.forkChild)
      yield* pass("2 seconds")
      assert.deepStrictEqual(yield* listed, ["over suspended asked", "r1 running", "r2 running", "r3 running"])
      const taken = yield* Host.pass(office)
      assert.deepStrictEqual(results(taken), ["r1 finished", "r2 finished", "r3 finished"])
      assert.deepStrictEqual(
        orders.filter((dispatch) => dispatch.startsWith("r1")),
        ["r1/a/1", "r1/a/1"]
      )
      const { dispatches, status } = yield* Run.outcome("r2")
      assert.deepStrictEqual([status, dispatches.map(({ dispatch }) => dispatch)], ["completed", ["r2/a/1", "r2/b/1"]])
      assert.deepStrictEqual(results(yield* Host.pass(office)), [])
      assert.deepStrictEqual(results(yield* Host.pass(office, { asked: true })), ["over finished"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D72 puts a run into quarantine that is cut off again and again, with what was under way", () =>
    Effect.gen(function* () {
      const desk = deskOf([Fake.worker("one", { otherwise: Fake.never })], plan([task("a")]))
      const once = Effect.fnUntraced(function* (crashes: number) {
        const { journal, kill } = mortal(yield* Journal.Journal)
        const taken = yield* Effect.forkDetach(
          Effect.scoped(
            Effect.flatMap(Office.open(desk, { log: false }), (office) => Host.pass(office, { crashes }))
          ).pipe(Effect.provideService(Journal.Journal, journal))
        )
        yield* settle
        yield* kill
        return taken.pollUnsafe()
      })
      yield* cutOff(desk, ["r1"])
      assert.deepStrictEqual([yield* once(3), yield* once(3), yield* once(3)], [undefined, undefined, undefined])
      const last = yield* once(3)
      if (last === undefined || Exit.isFailure(last)) return assert.fail("it was taken up a fourth time")
      assert.deepStrictEqual(results(last.value), ["r1 quarantined"])
      assert.match(last.value[0]?.note ?? "", /cut off 3 times without any progress; under way: r1\/a\/1 at d\.one$/)
      assert.deepStrictEqual(yield* listed, ["r1 suspended quarantined"])
      // It stays there, also for a host that takes up what was put down on request.
      const office = yield* Office.open(desk, { log: false })
      assert.deepStrictEqual(results(yield* Host.pass(office, { asked: true })), [])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("twenty planned stops are no crash: the run is never put into quarantine", () =>
    Effect.gen(function* () {
      const orders: Array<string> = []
      const one = Fake.worker("one", {
        answers: ({ dispatch }) => {
          orders.push(dispatch)
          return orders.length <= 20 ? Fake.never : "done"
        },
        attemptTimeout: "1 day"
      })
      const desk = deskOf([one], plan([task("a")]))
      const office = yield* Office.open(desk, { log: false })
      const stopped = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go" }))
      yield* settle
      yield* Fiber.interrupt(stopped)
      for (let stop = 1; stop < 20; stop++) {
        const again = yield* Effect.forkChild(Host.pass(office, { asked: true, crashes: 1 }))
        yield* settle
        yield* Fiber.interrupt(again)
      }
      assert.deepStrictEqual(results(yield* Host.pass(office, { asked: true, crashes: 1 })), ["r1 finished"])
      assert.strictEqual(new Set(orders).size, 1)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("a run that brings its process down is alone while it is suspected, and the others get through", () =>
    Effect.gen(function* () {
      let live = 0
      let most = 0
      const one = Fake.worker("one", {
        size: 5,
        answers: ({ dispatch }) => {
          if (!dispatch.startsWith("r")) return "done"
          return Effect.sync(() => {
            live += 1
            most = Math.max(most, live)
          }).pipe(Effect.andThen(Effect.never), Effect.ensuring(Effect.sync(() => (live -= 1))))
        },
        attemptTimeout: "1 day"
      })
      const desk = deskOf([one], plan([task("a")]))
      const once = Effect.gen(function* () {
        const { journal, kill } = mortal(yield* Journal.Journal)
        const before = live
        most = live
        yield* Effect.forkDetach(
          Effect.scoped(Effect.flatMap(Office.open(desk, { log: false }), (office) => Host.pass(office))).pipe(
            Effect.provideService(Journal.Journal, journal)
          )
        )
        yield* settle
        yield* kill
        return most - before
      })
      yield* cutOff(desk, ["r1", "r2", "r3"])
      assert.deepStrictEqual([yield* once, yield* once, yield* once, yield* once], [3, 3, 1, 1])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D62 a run whose events cannot be trusted is put aside, and the others go on", () =>
    Effect.gen(function* () {
      const desk = deskOf([stuckOnce()], plan([task("a")]))
      yield* cutOff(desk, ["r1", "r2"])
      const journal = yield* Journal.Journal
      yield* journal.append({
        run: "r1",
        expected: yield* journal.version("r1"),
        events: [{ type: "Reported", at: 0, data: {} }]
      })
      const office = yield* Office.open(desk, { log: false })
      assert.deepStrictEqual(results(yield* Host.pass(office)).toSorted(), ["r1 untrusted", "r2 finished"])
      assert.deepStrictEqual(yield* listed, ["r1 suspended untrusted-state", "r2 completed accepted"])
      assert.deepStrictEqual(results(yield* Host.pass(office, { asked: true })), [])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("a run that began with another definition is suspended as such", () =>
    Effect.gen(function* () {
      yield* cutOff(deskOf([stuckOnce()], plan([task("a")])), ["r1"])
      const office = yield* Office.open(deskOf([stuckOnce()], plan([task("a"), task("b")])), { log: false })
      assert.deepStrictEqual(results(yield* Host.pass(office)), ["r1 mismatched"])
      assert.deepStrictEqual(yield* listed, ["r1 suspended version-mismatch"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("takes up at most as many at once as it may, and each of fifty gets its turn", () =>
    Effect.gen(function* () {
      let live = 0
      let most = 0
      let dies = true
      const one = Fake.worker("one", {
        size: 100,
        attemptTimeout: "1 day",
        answers: ({ dispatch }) =>
          dies
            ? Fake.never
            : Effect.sync(() => {
                live += 1
                most = Math.max(most, live)
              }).pipe(
                Effect.andThen(Effect.sleep("1 second")),
                Effect.ensuring(Effect.sync(() => (live -= 1))),
                Effect.as(dispatch)
              )
      })
      const desk = deskOf([one], plan([task("a")]))
      const runs = Array.from({ length: 50 }, (_, i) => `r${i}`)
      yield* cutOff(desk, runs)
      const office = yield* Office.open(desk, { log: false })
      dies = false
      const fiber = yield* Effect.forkChild(Host.pass(office, { concurrency: 4 }))
      yield* pass("1 minute")
      const taken = yield* Fiber.join(fiber)
      assert.deepStrictEqual([taken.length, most], [50, 4])
      assert.isTrue(taken.every(({ result }) => result === "finished"))
    }).pipe(Effect.scoped, memory)
  )

  const wrong: ReadonlyArray<readonly [Host.Options, RegExp]> = [
    [{ concurrency: 0 }, /concurrency.*0/],
    [{ crashes: 1.5 }, /crashes.*1\.5/],
    [{ every: "0 seconds" }, /every/],
    [{ asked: 1 as unknown as boolean }, /asked/],
    [{ concurency: 3 } as Host.Options, /concurency/]
  ]
  it.effect.each(wrong)("dies for the options %j and names what is wrong", ([options, message]) =>
    Effect.gen(function* () {
      const office = yield* Office.open(deskOf([Fake.worker("one")], plan([task("a")])), { log: false })
      const exit = yield* Effect.exit(Host.pass(office, options))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(error, RangeError)
      assert.match(String(error), message)
    }).pipe(Effect.scoped, memory)
  )
})

/** A desk whose only task a person is asked about. */
const asking = () =>
  deskOf(
    [Fake.worker("one", { answers: ({ dispatch }) => (dispatch.endsWith("/1") ? Fake.fail("denied") : "done") })],
    plan([task("a")])
  )

const retry = (run: string) => ({ review: `${run}/review/1`, decision: "retry", by: "ada" }) as const

describe("serve", () => {
  it.effect("R-302 D65 hears what another process says to a run that waits, whenever it says it", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      const office = yield* Office.open(asking(), { log: false })
      const taken: Array<string> = []
      const host = yield* Effect.forkChild(
        Host.serve(office, { onTaken: ({ result, run }) => void taken.push(`${run} ${result}`) }).pipe(
          Effect.provideService(Journal.Journal, here)
        )
      )
      yield* settle
      for (const id of ["r1", "r2", "r3"]) {
        const outcome = yield* Run.startIn(office, { id, input: "go" }).pipe(
          Effect.provideService(Journal.Journal, here)
        )
        assert.strictEqual(outcome.status, "waiting")
        yield* Run.decide(retry(id)).pipe(Effect.provideService(Journal.Journal, there))
      }
      yield* pass("300 millis")
      yield* pass("1 second")
      assert.deepStrictEqual(taken.toSorted(), ["r1 finished", "r2 finished", "r3 finished"])
      assert.deepStrictEqual(yield* here.commands(), [])
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped)
  )

  it.effect("hears what is said to a run that is carried out, and a tier, and its end", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      const one = Fake.worker("one", { otherwise: Fake.never, attemptTimeout: "1 day" })
      const office = yield* Office.open(deskOf([one], plan([task("a")])), { log: false })
      const running = yield* Effect.forkChild(
        Run.startIn(office, { id: "r1", input: "go" }).pipe(Effect.provideService(Journal.Journal, here))
      )
      yield* settle
      const say = Effect.provideService(Journal.Journal, there)
      yield* Run.changeTier("r1", { from: "medium", to: "low", who: "ada", why: "Careful" }).pipe(say)
      yield* Run.cancel("r1", { by: "ada" }).pipe(say)
      assert.isUndefined(running.pollUnsafe())
      yield* pass("300 millis")
      yield* pass("10 seconds")
      assert.strictEqual((yield* Fiber.join(running)).status, "cancelled")
      const events = yield* history("r1").pipe(Effect.provideService(Journal.Journal, here))
      const said = events.filter(({ _tag }) => _tag === "AutonomyChanged" || _tag === "CancelRequested")
      assert.deepStrictEqual(
        said.map(({ _tag }) => _tag),
        ["AutonomyChanged", "CancelRequested"]
      )
      assert.deepStrictEqual(yield* here.commands(), [])
    }).pipe(Effect.scoped)
  )

  it.effect("D51 of two processes that decide at once one is told that the other was faster", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const others = [yield* process(filename), yield* process(filename)]
      const office = yield* Office.open(asking(), { log: false })
      yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(Effect.provideService(Journal.Journal, here))
      const said = yield* Effect.forEach(
        others,
        (journal, n) =>
          Effect.result(
            Run.decide({ ...retry("r1"), by: `person-${n}` }).pipe(Effect.provideService(Journal.Journal, journal))
          ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        said.map((result) => (result._tag === "Failure" ? result.failure.message : "taken")),
        [
          "taken",
          "the decision of r1/review/1 is refused: r1/review/1 was decided by person-0 at 1970-01-01T00:00:00.000Z (retry), which waits to be taken in"
        ]
      )
      // Who says the same once more is known.
      const again = Run.decide({ ...retry("r1"), by: "person-0" }).pipe(
        Effect.provideService(Journal.Journal, others[0]!)
      )
      assert.deepStrictEqual(yield* again, { _tag: "Replayed" })
      // Nor does the owner itself, which has not taken that in yet.
      const own = yield* Effect.flip(Run.decide(retry("r1")).pipe(Effect.provideService(Journal.Journal, here)))
      assert.include(own.message, "was decided by person-0")
      const taken = yield* Host.pass(office).pipe(Effect.provideService(Journal.Journal, here))
      assert.deepStrictEqual(results(taken), ["r1 finished"])
      const events = yield* history("r1").pipe(Effect.provideService(Journal.Journal, here))
      assert.strictEqual(events.filter(({ _tag }) => _tag === "ReviewDecided").length, 1)
      // And one that comes later is refused by what the journal has.
      const say = Effect.provideService(Journal.Journal, others[1]!)
      const late = yield* Effect.flip(Run.decide({ ...retry("r1"), by: "bob" }).pipe(say))
      assert.strictEqual(late._tag === "CommandRefused" ? late.because : late._tag, "already-decided")
      // The same one of the same is known.
      assert.deepStrictEqual(yield* Run.decide({ ...retry("r1"), by: "person-0" }).pipe(say), { _tag: "Replayed" })
    }).pipe(Effect.scoped)
  )

  it.effect("word that a run cannot take is told in the run, and is gone", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const office = yield* Office.open(asking(), { log: false })
      yield* Run.startIn(office, { id: "r1", input: "go" })
      yield* journal.command({ run: "r1", type: "Reported", at: 0, data: { task: "a", forged: true } })
      yield* journal.command({
        run: "r1",
        type: "ReviewDecided",
        at: 0,
        data: { review: "r1/review/7", decision: "retry", by: "eve", note: "" }
      })
      assert.deepStrictEqual(results(yield* Host.pass(office)), ["r1 waiting"])
      const notes = (yield* history("r1")).flatMap((event) =>
        event._tag === "Noticed" && event.what === "refused-command" ? [event.note] : []
      )
      assert.deepStrictEqual(notes, [
        'Word number 1 that was left in the journal is none that a run takes: "Reported"',
        "A ReviewDecided that was left in the journal is refused: the review r1/review/7 is not open; open are r1/review/1"
      ])
      assert.deepStrictEqual(yield* journal.commands(), [])
      yield* Run.decide(retry("r1"))
      assert.deepStrictEqual(results(yield* Host.pass(office)), ["r1 finished"])
      // Word for a run that is over is taken in by nobody.
      yield* journal.command({ run: "r1", type: "CancelRequested", at: 0, data: { by: "eve", note: "" } })
      assert.deepStrictEqual(results(yield* Host.pass(office)), [])
      assert.deepStrictEqual(yield* journal.commands(), [])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("wakes a run when its timer is due, and holds nothing meanwhile", () =>
    Effect.gen(function* () {
      const office = yield* Office.open(
        deskOf(
          [Fake.worker("one", { otherwise: "done" })],
          plan([task("a"), task("b", { needs: ["a"], after: "2 days" })])
        ),
        { log: false }
      )
      const host = yield* Effect.forkChild(Host.serve(office))
      const outcome = yield* Run.startIn(office, { id: "r1", input: "go" })
      assert.deepStrictEqual([outcome.status, office.live.size], ["waiting", 0])
      yield* pass("1 day")
      assert.deepStrictEqual([(yield* Run.outcome("r1")).status, office.live.size], ["waiting", 0])
      yield* pass("1 day")
      const { endedAt, status } = yield* Run.outcome("r1")
      assert.deepStrictEqual([status, endedAt], ["completed", 2 * 24 * 3_600_000])
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped, memory)
  )

  const later = (answers: Effect.Effect<string>) =>
    deskOf(
      [Fake.worker("one", { size: 5, otherwise: "done" }), Fake.worker("two", { size: 5, answers: () => answers })],
      plan([task("a"), task("b", { worker: "d.two", needs: ["a"], after: "1 day" })])
    )

  /** A journal that counts how often the list of runs is asked for. */
  const counting = (journal: Journal.Journal["Service"]) => {
    const looks = { count: 0 }
    const runs: Journal.Journal["Service"]["runs"] = (filter) =>
      Effect.suspend(() => {
        looks.count += 1
        return journal.runs(filter)
      })
    return { looks, journal: { ...journal, runs } }
  }

  it.effect("does not look without end while runs that are due wait for their turn", () =>
    Effect.gen(function* () {
      const office = yield* Office.open(later(Effect.as(Effect.sleep("10 seconds"), "late")), { log: false })
      const { journal, looks } = counting(yield* Journal.Journal)
      for (const id of ["r1", "r2", "r3"]) yield* Run.startIn(office, { id, input: "go" })
      yield* TestClock.adjust("1 day")
      const host = yield* Effect.forkChild(
        Host.serve(office, { concurrency: 1 }).pipe(Effect.provideService(Journal.Journal, journal))
      )
      yield* settle
      yield* pass("5 seconds")
      assert.isAtMost(looks.count, 3)
      for (let run = 0; run < 3; run++) yield* pass("10 seconds")
      assert.deepStrictEqual(yield* listed, ["r1 completed accepted", "r2 completed accepted", "r3 completed accepted"])
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("a run that is due and cannot go on is tried at the next look, not without end", () =>
    Effect.gen(function* () {
      const office = yield* Office.open(later(Effect.succeed("late")), { log: false })
      const { journal, looks } = counting(yield* Journal.Journal)
      yield* Run.startIn(office, { id: "r1", input: "go" })
      yield* TestClock.adjust("1 day")
      const unavailable = new Journal.JournalError({
        reason: new Journal.JournalUnavailable({ location: "memory", problem: "io", detail: "down" })
      })
      let down = true
      const taken: Array<string> = []
      const host = yield* Effect.forkChild(
        Host.serve(office, {
          every: "1 minute",
          onTaken: ({ result, run }) => void taken.push(`${run} ${result}`)
        }).pipe(
          Effect.provideService(Journal.Journal, {
            ...journal,
            read: (run, range) => (down ? Stream.fail(unavailable) : journal.read(run, range))
          })
        )
      )
      yield* settle
      const [tries, count] = [taken.length, looks.count]
      assert.isAtMost(tries, 2)
      yield* pass("59 seconds")
      assert.deepStrictEqual([taken.length, looks.count], [tries, count])
      down = false
      yield* pass("1 second")
      assert.deepStrictEqual(taken.at(-1), "r1 finished")
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("is refused while another process carries out the runs of the journal", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      yield* here.own
      const office = yield* Office.open(asking(), { log: false })
      const error = yield* Effect.flip(
        Host.serve(office).pipe(Effect.provideServiceEffect(Journal.Journal, process(filename)))
      )
      assert.strictEqual(error.reason._tag, "JournalOwned")
    }).pipe(Effect.scoped)
  )

  it.effect("D64 ends with all that it carries out when its journal is taken over, and writes nothing any more", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const fenced = yield* Deferred.make<void>()
      const desk = deskOf([Fake.worker("one", { otherwise: Fake.never, attemptTimeout: "1 day" })], plan([task("a")]))
      const office = yield* Office.open(desk, { log: false })
      const host = yield* Effect.forkChild(
        Host.serve(office).pipe(
          Effect.provideService(Journal.Journal, here),
          Effect.ensuring(Deferred.succeed(fenced, undefined))
        )
      )
      const run = yield* Effect.forkChild(
        Run.startIn(office, { id: "r1", input: "go" }).pipe(Effect.provideService(Journal.Journal, here))
      )
      yield* settle
      // Somebody else has raised the epoch, as after a lease that ran out.
      const { DatabaseSync } = yield* Effect.promise(() => import("node:sqlite"))
      const other = new DatabaseSync(filename)
      other.exec("UPDATE owner SET epoch = epoch + 1, name = 'other'")
      const before = yield* here.version("r1")
      yield* TestClock.adjust("5 seconds")
      yield* settle
      yield* Deferred.await(fenced)
      const ends = [yield* Fiber.await(host), yield* Fiber.await(run)]
      for (const exit of ends) {
        const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        assert.strictEqual(error instanceof Journal.JournalError && error.reason._tag, "JournalFenced")
      }
      assert.deepStrictEqual([yield* here.version("r1"), office.live.size], [before, 0])
      other.close()
    }).pipe(Effect.scoped)
  )

  it.effect("D64 goes on by itself after the store could not be read for a while", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const desk = deskOf([stuckOnce()], plan([task("a")]))
      yield* cutOff(desk, ["r1"])
      let down = true
      const unavailable = new Journal.JournalError({
        reason: new Journal.JournalUnavailable({ location: "memory", problem: "io", detail: "down" })
      })
      const office = yield* Office.open(desk, { log: false })
      const host = yield* Effect.forkChild(
        Host.serve(office).pipe(
          Effect.provideService(Journal.Journal, {
            ...journal,
            runs: (filter) => (down ? Effect.fail(unavailable) : journal.runs(filter))
          })
        )
      )
      yield* pass("2 seconds")
      assert.deepStrictEqual(yield* listed, ["r1 running"])
      down = false
      yield* pass("1 second")
      assert.deepStrictEqual(yield* listed, ["r1 completed accepted"])
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped, memory)
  )
})
