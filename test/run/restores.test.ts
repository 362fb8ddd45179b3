import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Schema } from "effect"
import { Journal } from "espalier/journal"
import { Outcome, Plan, Result, Run, type RunEvent, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, of, options, pass, resume } from "./living.ts"

/** Another journal than that of the test. */
const elsewhere = Effect.provide(Layer.fresh(Journal.layerMemory))

/** What of an order is data. */
const handed = ({ allowance: _a, notice: _n, progress: _p, spend: _s, ...order }: Worker.Order<unknown>) => order
type Handed = ReturnType<typeof handed>

const answer = (review: string) => ({ review, decision: "answer", answer: "the left one", by: "ada" }) as const

describe("A run that is restored five times", () => {
  /** A task that fails once and is tried again, one that a person is asked about, and one that needs both. */
  const make = () => {
    let held = true
    const one = Fake.worker("one", {
      size: 10,
      attemptTimeout: "1 day",
      answers: ({ answers, dispatch, task }) => {
        if (task === "asks" && answers.length === 0) return Result.ambiguous("Which one?")
        if (dispatch.endsWith("/b/1")) return Fake.die(new Error("It broke"))
        if (dispatch.endsWith("/b/2") && held) return Fake.never
        return `${task} is done`
      }
    })
    const plan = [
      task("a", { input: (_, text) => ({ text }) }),
      task("b", { needs: ["a"], input: (before) => ({ before }) }),
      task("asks", { needs: ["a"] }),
      task("end", { needs: ["b", "asks"], input: (before) => ({ before }) })
    ]
    return {
      desk: deskOf([one], Plan.make<string>(plan)),
      orders: Effect.map(one.calls, (calls) => calls.map(handed)),
      release: Effect.sync(() => {
        held = false
      })
    }
  }

  /** The run up to where `b` is under way for the second time, restored so often, and on to its end. */
  const story = (restores: number) =>
    Effect.gen(function* () {
      const { desk, orders, release } = make()
      let run: { readonly interrupt: Effect.Effect<void> } = yield* begin(Run.start(desk, options))
      yield* pass("1 minute")
      for (let times = 0; times < restores; times++) {
        yield* run.interrupt
        run = yield* begin(resume(desk))
      }
      yield* run.interrupt
      yield* release
      const waiting = yield* elapse(resume(desk), "1 minute")
      assert.strictEqual(waiting.status, "waiting")
      // Restored while it waits for a person, nothing is written, and nobody is handed anything.
      const before = [yield* orders, yield* history("r1")]
      for (let times = 0; times < restores; times++) assert.deepStrictEqual(yield* resume(desk), waiting)
      assert.deepStrictEqual([yield* orders, yield* history("r1")], before)
      yield* Run.decide(answer("r1/review/1"))
      const outcome = yield* elapse(resume(desk), "1 minute")
      return { outcome, orders: yield* orders, events: yield* history("r1") }
    }).pipe(elsewhere)

  const once = (orders: ReadonlyArray<Handed>): ReadonlyArray<Handed> =>
    orders.filter(({ dispatch }, index) => orders.findIndex((each) => each.dispatch === dispatch) === index)

  it.effect("D60 hands its workers what it would have handed them without that, and no order twice", () =>
    Effect.gen(function* () {
      const plain = yield* story(0)
      const restored = yield* story(5)
      assert.strictEqual(plain.outcome.status, "completed")
      assert.deepStrictEqual(once(restored.orders), once(plain.orders))
      const [again] = restored.orders.filter(({ dispatch }) => dispatch === "r1/b/2")
      assert.deepStrictEqual(again?.accepted, { a: "a is done" })
      assert.deepStrictEqual(
        again?.previous.map(({ dispatch, kind, reason }) => [dispatch, kind, reason]),
        [["r1/b/1", "defect", "It broke"]]
      )
      // Only the order that was under way is handed out again, as it was.
      for (const order of restored.orders) {
        const same = restored.orders.filter(({ dispatch }) => dispatch === order.dispatch)
        assert.strictEqual(same.length, order.dispatch === "r1/b/2" ? 7 : 1, order.dispatch)
        for (const each of same) assert.deepStrictEqual(each, same[0])
      }
      const ordered = ({ events }: typeof plain) => of(events, "Dispatched").map(({ dispatch }) => dispatch)
      assert.deepStrictEqual(ordered(restored), ordered(plain))
      assert.strictEqual(new Set(ordered(restored)).size, ordered(restored).length)
      const { results, dispatches } = restored.outcome
      const untimed = ({ dispatch, outcome, worker }: Outcome.Outcome["dispatches"][number]) => [
        dispatch,
        worker,
        outcome
      ]
      assert.deepStrictEqual(results, plain.outcome.results)
      assert.deepStrictEqual(dispatches.map(untimed), plain.outcome.dispatches.map(untimed))
    })
  )
})

describe("A run that is copied up to one of its events", () => {
  /** A join of which one half is there, two groups one in the other, and a question to a person, all at the same time. */
  const make = () => {
    const one = Fake.worker("one", {
      size: 10,
      attemptTimeout: "1 day",
      answers: ({ accepted, answers, task }): Effect.Effect<Fake.Reply<Schema.Json>> => {
        const late = (millis: number, reply: Fake.Reply<Schema.Json>) => Effect.delay(Effect.succeed(reply), millis)
        const done = { task, accepted, said: answers.map(({ answer = null }) => answer) }
        if (task === "asks" && answers.length === 0) return late(1_000, Result.ambiguous("Which one?"))
        return late(task === "right" ? 5_000 : 1_500, done)
      }
    })
    const inner = Plan.make<{ readonly word: string }>([
      { id: "x", worker: "d.one", objective: "x", input: (_, { word }) => ({ word }) },
      { id: "y", worker: "d.one", objective: "y", needs: ["x"], input: (before) => ({ before }) }
    ])
    const middle = Plan.make<{ readonly text: string }>([
      { id: "deep", by: inner, objective: "deep", input: (_, { text }) => ({ word: `${text}!` }) },
      { id: "beside", worker: "d.one", objective: "beside" }
    ])
    const plan: ReadonlyArray<Plan.Task<string>> = [
      task("left"),
      task("right"),
      task("join", { needs: ["left", "right"] }),
      { id: "group", by: middle, objective: "group", input: (_, text) => ({ text }) },
      task("asks"),
      task("end", { needs: ["join", "group", "asks"] })
    ]
    return { desk: deskOf([one], Plan.make(plan)), orders: Effect.map(one.calls, (calls) => calls.map(handed)) }
  }

  const shown = ({ dispatches, output, results, reviews, status }: Outcome.Outcome) => ({
    status,
    output,
    reviews: reviews.length,
    results: Object.fromEntries(
      Object.values(results).map(({ missing, output, status, task }) => [task, { status, output, missing }])
    ),
    dispatches: Object.fromEntries(dispatches.map(({ dispatch, outcome }) => [dispatch, outcome]))
  })

  /** Puts events into a journal of its own. */
  const copy = (events: ReadonlyArray<RunEvent.RunEvent>) =>
    Effect.flatMap(Journal.Journal, (journal) =>
      journal.append({
        run: "r1",
        expected: 0,
        events: events.map(({ _tag, at, ...data }) => ({ type: _tag, at, data: data as unknown as Schema.Json }))
      })
    )

  it.effect("D70 goes on elsewhere as it did, from each of them", () =>
    Effect.gen(function* () {
      const first = make()
      const run = yield* begin(Run.start(first.desk, options))
      yield* pass("1 minute")
      assert.strictEqual((yield* run.join).status, "waiting")
      yield* Run.decide(answer("r1/review/1"))
      const whole = yield* elapse(resume(first.desk), "1 minute")
      assert.strictEqual(whole.status, "completed")
      const events = yield* history("r1")
      const orders = new Map((yield* first.orders).map((order) => [order.dispatch, order]))
      let hard = 0
      for (let length = 1; length <= events.length; length++) {
        const where = `cut at ${length}`
        const prefix = events.slice(0, length)
        const known = Outcome.of(prefix)
        const halves = ["left", "right"].filter((id) => known?.results[id]?.status === "accepted").length
        const open = ["group", "group/deep"].every((id) => known?.results[id]?.status === "open")
        if (halves === 1 && open && known?.reviews.length === 1) hard += 1
        yield* Effect.gen(function* () {
          yield* copy(prefix)
          assert.deepStrictEqual(yield* Run.outcome("r1"), known, where)
          const { desk, orders: given } = make()
          let outcome = yield* elapse(resume(desk), "1 minute")
          for (const { review } of outcome.reviews) yield* Run.decide(answer(review))
          if (outcome.status === "waiting") outcome = yield* elapse(resume(desk), "1 minute")
          assert.deepStrictEqual(shown(outcome), shown(whole), where)
          // What is handed out is what was, and nothing that has reported.
          const reported = new Set(of(prefix, "Reported").map(({ dispatch }) => dispatch))
          for (const order of yield* given) {
            assert.deepStrictEqual(order, orders.get(order.dispatch), where)
            assert.isFalse(reported.has(order.dispatch), `${where}: ${order.dispatch}`)
          }
          assert.strictEqual((yield* given).length, orders.size - reported.size, where)
        }).pipe(elsewhere)
      }
      assert.isAtLeast(hard, 3)
    }).pipe(memory)
  )
})
