import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { Artefacts, Journal } from "espalier/journal"
import { type Coordinator, Health, Office, type Outcome, Plan, Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, settle, short, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume, rows } from "./living.ts"

const plan = (tasks: ReadonlyArray<Plan.Task<string>>, fields: Plan.Options = {}) => Plan.make<string>(tasks, fields)

/** A worker that works for a second, and takes another one to let go of what it holds. */
const holding = (log: Array<string>, name = "one", size = 50) =>
  Fake.worker(name, {
    size,
    answers: ({ task }) =>
      Effect.sleep("1 second").pipe(
        Effect.as(task),
        Effect.onInterrupt(() =>
          Effect.delay(
            Effect.sync(() => log.push(`released ${task}`)),
            "1 second"
          )
        )
      )
  })

const isCancelled = (outcome: Outcome.Outcome): void =>
  assert.deepStrictEqual([outcome.status, outcome.stopReason], ["cancelled", "stop-requested"])

/** Every order has an end, and nothing comes after the end of the run. */
const isSettled = (events: ReadonlyArray<RunEvent.RunEvent>): void => {
  const open = new Set(of(events, "Dispatched").map(({ dispatch }) => dispatch))
  for (const { dispatch } of of(events, "Reported")) open.delete(dispatch)
  assert.deepStrictEqual([...open], [])
  assert.strictEqual(events.at(-1)?._tag, "RunFinished")
}

describe("Run.cancel", () => {
  describe("of a run that is carried out here", () => {
    it.effect("R-211 D90 stops what is in flight, waits for its finalizers, and keeps what is finished", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const one = holding(log)
        const quick = Fake.worker("quick", { answers: ({ task }) => task })
        const built = deskOf(
          [one, quick],
          plan([task("done", { worker: "d.quick" }), task("a"), task("b"), task("after", { needs: ["a"] })])
        )
        const office = yield* Office.open(built, { log: false })
        const run = yield* begin(Run.startIn(office, options))
        assert.strictEqual(yield* one.running, 2)
        const asked = yield* begin(Run.cancel("r1", { by: "ada", note: "Enough", office }))
        yield* asked.join
        assert.isFalse(yield* run.over)
        yield* pass("999 millis")
        assert.isFalse(yield* run.over)
        assert.deepStrictEqual(log, [])
        yield* pass("1 millis")
        const outcome = yield* run.join
        isCancelled(outcome)
        assert.deepStrictEqual(log, ["released a", "released b"])
        assert.deepStrictEqual(ends(outcome), ["done accepted", "a cancelled", "b cancelled", "after cancelled"])
        assert.strictEqual(outcome.results["done"]?.output, "done")
        assert.strictEqual(outcome.endedAt, 1_000)
        assert.include(outcome.note, "ada asked for the end of the run: Enough")
        const events = yield* history("r1")
        isSettled(events)
        yield* pass("1 hour")
        assert.strictEqual((yield* one.calls).length, 2)
        assert.strictEqual((yield* history("r1")).length, events.length)
      }).pipe(Effect.scoped, memory)
    )

    it.effect("R-220 keeps what was finished and only had to be looked at when it was called back", () =>
      Effect.gen(function* () {
        const store = yield* Artefacts.Artefacts
        const patch = yield* store.put("the patch")
        const one = Fake.worker("one", {
          size: 2,
          artefacts: ["patch"],
          answers: ({ task }) => (task === "a" ? Result.completed("a", { artefacts: { patch } }) : Fake.never)
        })
        const office = yield* Office.open(deskOf([one], plan([task("a"), task("b")])), { log: false })
        const slow: typeof store = { ...store, verify: (of) => Effect.delay(store.verify(of), "1 second") }
        const run = yield* begin(Effect.provideService(Run.startIn(office, options), Artefacts.Artefacts, slow))
        assert.strictEqual(yield* one.running, 1)
        yield* Run.cancel("r1", { by: "ada", office })
        yield* pass("1 second")
        const outcome = yield* run.join
        isCancelled(outcome)
        assert.deepStrictEqual(ends(outcome), ["a accepted", "b cancelled"])
        assert.strictEqual(of(yield* history("r1"), "Recalled").length, 2)
      }).pipe(Effect.scoped, Effect.provide(Artefacts.layerMemory()), memory)
    )

    it.effect("D48 cuts a wait between two attempts short", () =>
      Effect.gen(function* () {
        const one = Fake.worker("one", { answers: [Fake.fail("transient", { retryAfter: "60 seconds" })] })
        const office = yield* Office.open(deskOf([one], plan([task("a")])), { log: false })
        const run = yield* begin(Run.startIn(office, options))
        yield* pass("1 second")
        yield* Run.cancel("r1", { by: "ada", office })
        const outcome = yield* run.join
        isCancelled(outcome)
        assert.strictEqual(outcome.endedAt, 1_000)
        assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one cancelled"])
      }).pipe(Effect.scoped, memory)
    )

    it.effect("D92 leaves work behind that does not stop in its grace time, says so, and frees its place", () =>
      Effect.gen(function* () {
        const tree: Array<string> = []
        const deaf = Fake.worker("one", {
          answers: ({ run }) => (run === "r1" ? Effect.uninterruptible(Effect.never) : "done")
        })
        const office = yield* Office.open(deskOf([deaf], plan([task("a")])), {
          log: false,
          onEvent: (event) => tree.push(`${event._tag} ${event.path.join("/")}`)
        })
        const run = yield* begin(Run.startIn(office, options))
        const next = yield* begin(Run.startIn(office, { ...options, id: "r2" }))
        yield* Run.cancel("r1", { by: "ada", office })
        yield* pass("4999 millis")
        assert.deepStrictEqual([yield* run.over, yield* next.over], [false, false])
        yield* elapse(Effect.void, "10 seconds")
        isCancelled(yield* run.join)
        assert.include(tree, "Leaked desk/d/one")
        assert.strictEqual((yield* next.join).status, "completed")
      }).pipe(Effect.scoped, memory)
    )

    it.effect("D08 is no failure of a worker: neither its breaker nor its restarts are counted", () =>
      Effect.gen(function* () {
        const tree: Array<string> = []
        const one = Fake.worker("one", { otherwise: Fake.never })
        const built = deskOf([one], plan([task("a")]), { breaker: { failures: 3 } })
        const office = yield* Office.open(built, { log: false, onEvent: ({ _tag }) => tree.push(_tag) })
        for (let number = 1; number <= 6; number++) {
          const id = `r${number}`
          const run = yield* begin(Run.startIn(office, { ...options, id }))
          yield* Run.cancel(id, { by: "ada", office })
          isCancelled(yield* run.join)
        }
        assert.strictEqual((yield* one.calls).length, 6)
        assert.strictEqual(Health.standing(office.health.facts(), "d.one").status, "healthy")
        assert.notInclude(tree, "Restarting")
      }).pipe(Effect.scoped, memory)
    )

    it.effect("D89 stops a tree of forty tasks, three groups deep", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const one = holding(log)
        const leaves = Plan.make<unknown>(
          Array.from({ length: 5 }, (_, index) => ({ id: `leaf${index}`, worker: "d.one", objective: `Leaf ${index}` }))
        )
        const twigs = Plan.make<unknown>([0, 1].map((id) => ({ id: `twig${id}`, by: leaves, objective: "Twig" })))
        const root = plan(
          [0, 1, 2, 3].map((id): Plan.Task<string> => ({ id: `b${id}`, by: twigs, objective: "Branch", fresh: true })),
          { concurrency: 50 }
        )
        const office = yield* Office.open(deskOf([one], root), { log: false })
        const run = yield* begin(Run.startIn(office, options))
        assert.strictEqual(yield* one.running, 40)
        yield* Run.cancel("r1", { by: "ada", office })
        yield* pass("1 second")
        const outcome = yield* run.join
        isCancelled(outcome)
        assert.deepStrictEqual([log.length, yield* one.running], [40, 0])
        isSettled(yield* history("r1"))
        assert.isTrue(
          Object.values(outcome.results).every(({ status }) => status === "cancelled" || status === "failed")
        )
      }).pipe(Effect.scoped, memory)
    )

    it.effect("stops whoever is asked for a choice", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const asks: Coordinator.Coordinator<string> = {
          kind: "router",
          tasks: [{ id: "a", worker: "d.one", objective: "Do a" }],
          initial: [],
          adds: true,
          concurrency: 10,
          containment: "isolate",
          next: ({ consult }) =>
            consult === undefined ? { _tag: "Consult", purpose: "route", note: "Who?" } : { _tag: "Wait" },
          decide: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("stopped")))
        }
        const built = deskOf([Fake.worker("one", {})], asks)
        const office = yield* Office.open(built, { log: false })
        const run = yield* begin(Run.startIn(office, options))
        yield* Run.cancel("r1", { by: "ada", office })
        isCancelled(yield* run.join)
        assert.deepStrictEqual(log, ["stopped"])
      }).pipe(Effect.scoped, memory)
    )

    const ways: ReadonlyArray<readonly ["office" | "journal", "office" | "journal"]> = [
      ["office", "office"],
      ["office", "journal"],
      ["journal", "office"],
      ["journal", "journal"]
    ]
    it.effect.each(ways)(
      "D94 is a success a second time, and nothing more is written: through the %s, then the %s",
      ([first, second]) =>
        Effect.gen(function* () {
          const log: Array<string> = []
          const office = yield* Office.open(deskOf([holding(log)], plan([task("a")])), { log: false })
          const through = (way: "office" | "journal") => (way === "office" ? { office } : {})
          const run = yield* begin(Run.startIn(office, options))
          yield* Run.cancel("r1", { by: "ada", ...through(first) })
          yield* Run.cancel("r1", { by: "bob", ...through(second) })
          const asked = (yield* history("r1")).filter(({ _tag }) => _tag === "CancelRequested")
          assert.deepStrictEqual(
            asked.map(({ note }) => note),
            ["ada asked for the end of the run"]
          )
          yield* pass("1 minute")
          isCancelled(yield* run.join)
        }).pipe(Effect.scoped, memory)
    )

    it.effect("is refused when the run is over, and nothing is written", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const office = yield* Office.open(deskOf([holding(log)], plan([task("a")])), { log: false })
        const run = yield* begin(Run.startIn(office, options))
        yield* Run.cancel("r1", { by: "ada", office })
        yield* pass("1 second")
        const before = yield* history("r1")
        const refused = yield* Effect.flip(Run.cancel("r1", { by: "bob", office }))
        assert.strictEqual(
          refused._tag === "CommandRefused" ? refused.reason : refused._tag,
          "the run is over: cancelled"
        )
        assert.strictEqual((yield* history("r1")).length, before.length)
        yield* run.join
      }).pipe(Effect.scoped, memory)
    )
  })

  /** Everything that a run can be at: retries, crashes, corrections, stand-ins, splits, groups, waits. */
  const busy = () => {
    const one = Fake.worker("one", {
      size: 3,
      capabilities: ["work"],
      answers: ({ attempt, dispatch, task }) => {
        if (task === "b" && attempt === 1) return Fake.fail("transient")
        if (task === "c" && dispatch.endsWith("/1")) return Fake.die()
        if (task === "d") return Fake.fail("capability")
        if (task === "e") return Fake.fail("oversized")
        return Effect.delay(Effect.succeed(task), "100 millis")
      }
    })
    const two = Fake.worker("two", { capabilities: ["work"], latency: "100 millis", answers: ({ task }) => task })
    const inner = Plan.make<unknown>([
      { id: "x", worker: "d.one", objective: "Do x" },
      { id: "y", worker: "d.one", objective: "Do y", needs: ["x"] }
    ])
    const built = deskOf(
      [one, two],
      plan(
        [
          task("a"),
          task("b", { needs: ["a"] }),
          task("c", { needs: ["a"] }),
          task("d", { needs: ["b", "c"] }),
          task("e", { decompose: () => [{ id: "s", worker: "d.two", objective: "Do s" }] }),
          { id: "f", by: inner, objective: "Do f", needs: ["c"] },
          task("g", { needs: ["d", "e", "f"] })
        ],
        { concurrency: 4 }
      )
    )
    return { built, one, two, running: Effect.zipWith(one.running, two.running, (a, b) => a + b) }
  }

  it.effect("D94 stops a run at each of its moments, and nothing begins afterwards", () =>
    Effect.gen(function* () {
      const whole = yield* elapse(Run.start(busy().built, options), "1 minute")
      assert.strictEqual(whole.status, "completed")
      const { length } = yield* history("r1")
      assert.isAbove(length, 50)
      for (let moment = 1; moment < length; moment++) {
        const id = `at-${moment}`
        const { built, one, running, two } = busy()
        const office = yield* Office.open(built, { log: false })
        const reached = yield* Deferred.make<void>()
        let seen = 0
        const onEvent = () => {
          if (++seen === moment) Deferred.doneUnsafe(reached, Effect.void)
        }
        const run = yield* begin(
          Effect.all(
            [
              Run.startIn(office, { ...options, id, onEvent }),
              Effect.andThen(Deferred.await(reached), Effect.exit(Run.cancel(id, { by: "ada", office })))
            ],
            { concurrency: "unbounded" }
          )
        )
        yield* pass("1 minute")
        const [outcome, asked] = yield* run.join
        if (asked._tag === "Success") isCancelled(outcome)
        else assert.strictEqual(outcome.status, "completed", `at ${moment}`)
        isSettled(yield* history(id))
        assert.strictEqual(yield* running, 0, `at ${moment}`)
        const calls = (yield* one.calls).length + (yield* two.calls).length
        yield* pass("1 minute")
        assert.strictEqual((yield* one.calls).length + (yield* two.calls).length, calls, `at ${moment}`)
      }
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-211 ends a run that was cut off at any of its moments, and gives no order again", () =>
    Effect.gen(function* () {
      yield* elapse(Run.start(busy().built, options), "1 minute")
      const journal = yield* Journal.Journal
      const events = yield* history("r1")
      for (let moment = 1; moment < events.length; moment++) {
        const run = `cut-${moment}`
        const prefix = events.slice(0, moment).map((event) => {
          const renamed = JSON.parse(JSON.stringify(event).replaceAll("r1/", `${run}/`)) as RunEvent.RunEvent
          return renamed._tag === "RunStarted" ? { ...renamed, run } : renamed
        })
        yield* journal.append({
          run,
          expected: 0,
          events: prefix.map(({ _tag, at, ...data }) => ({ type: _tag, at, data: data as never }))
        })
        const { built, one, two } = busy()
        yield* Run.cancel(run, { by: "ada" })
        const outcome = yield* elapse(Run.resume(built, run, { log: false }), "1 minute")
        isCancelled(outcome)
        isSettled(yield* history(run))
        assert.deepStrictEqual([yield* one.calls, yield* two.calls], [[], []], `cut at ${moment}`)
        const accepted = of(prefix, "TaskEnded").filter(({ status }) => status === "accepted")
        for (const { task } of accepted) assert.strictEqual(outcome.results[task]?.status, "accepted")
      }
    }).pipe(memory)
  )

  it.effect("R-211 ends a run that waits for a person", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => (task === "a" ? Fake.fail("denied") : "done") })
      const built = deskOf([one], plan([task("a"), task("b")]))
      assert.strictEqual((yield* Run.start(built, options)).status, "waiting")
      yield* Run.cancel("r1", { by: "ada" })
      const outcome = yield* resume(built)
      isCancelled(outcome)
      assert.deepStrictEqual(ends(outcome), ["a cancelled", "b accepted"])
      assert.deepStrictEqual(outcome.reviews, [])
      const late = yield* Effect.flip(Run.decide({ review: "r1/review/1", decision: "retry", by: "bob" }))
      assert.strictEqual(late._tag, "CommandRefused")
    }).pipe(memory)
  )

  it.effect("R-211 ends a run that was suspended, when it is taken up", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => (task === "a" ? "done" : Fake.never) })
      const built = deskOf([one], plan([task("a"), task("b", { needs: ["a"] })]))
      const run = yield* begin(Run.start(built, options))
      yield* run.interrupt
      yield* Run.cancel("r1", { by: "ada" })
      assert.strictEqual(short(yield* history("r1")).at(-1), "CancelRequested")
      assert.strictEqual((yield* Run.outcome("r1")).status, "suspended")
      const outcome = yield* resume(built)
      isCancelled(outcome)
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b cancelled"])
      assert.strictEqual((yield* one.calls).length, 2)
    }).pipe(memory)
  )

  it.effect("says that there is no such run", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(Run.cancel("nothing", { by: "ada" })))._tag, "RunNotFound")
      yield* settle
    }).pipe(memory)
  )
})
