/** What is too large for the journal, and a record in it that nobody can read. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, ArtefactsSqlite, Journal, JournalSqlite } from "espalier/journal"
import { Aggregate, Desk, Domain, Plan, Result, Retention, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { connection, freshPath } from "../journal/fixtures/folder.ts"
import { desk, elapse, gate, memory, task, worker } from "./desks.ts"
import { guarded } from "./guards.ts"

const options = { id: "r1", input: "go", log: false } as const

/** Five megabytes. */
const five = "x".repeat(5_000_000)

/** Just more than an event may hold. */
const over = "x".repeat(2_200_000)

/** A desk whose first task answers with this, and whose second one needs it; and how often they were asked. */
const counting = (output: unknown) => {
  const calls = { one: 0, two: 0 }
  const one = worker("one", () =>
    Effect.sync(() => {
      calls.one += 1
      return output
    })
  )
  const two = worker("two", () => Effect.sync(() => `${(calls.two += 1)}`), { capabilities: ["other"] })
  return { calls, desk: desk([one, two], [task("a"), task("b", { worker: "d.two", needs: ["a"] })]) }
}

/** The store, with another way to put in. */
const putting = (put: (store: Artefacts.Artefacts["Service"]) => Artefacts.Artefacts["Service"]["put"]) =>
  Layer.effect(
    Artefacts.Artefacts,
    Effect.map(Artefacts.Artefacts, (store) => ({ ...store, put: put(store) }))
  ).pipe(Layer.provide(Artefacts.layerMemory()))

const unavailable = new Artefacts.ArtefactsError({
  reason: new Journal.JournalUnavailable({ location: "memory", problem: "io", detail: "disk" })
})

describe("an output of five megabytes", () => {
  it.effect("D63 is kept by reference, and the journal stays small", () =>
    Effect.gen(function* () {
      const { calls, desk } = counting(five)
      const outcome = yield* Run.start(desk, options)
      assert.deepStrictEqual(calls, { one: 1, two: 1 })
      assert.strictEqual(outcome.status, "completed")
      assert.strictEqual(outcome.results["a"]?.output, five)
      const journal = yield* Journal.Journal
      assert.isBelow((yield* journal.size("r1")).bytes, 8_192)
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      assert.deepStrictEqual(
        yield* Stream.runCollect(Artefacts.references).pipe(Effect.map((all) => new Set(all).size)),
        1
      )
    }).pipe(Effect.provide(Artefacts.layerMemory()), memory)
  )

  it.effect("D63 is one failure without a store, for good, of the worker that gave it", () =>
    Effect.gen(function* () {
      const { calls, desk } = counting(five)
      const outcome = yield* elapse(Run.start(desk, options), "1 hour")
      assert.strictEqual(calls.one, 1)
      assert.deepStrictEqual(
        outcome.dispatches.map(({ attempts, outcome, worker }) => [worker, attempts, outcome]),
        [["d.one", 1, "failed"]]
      )
      assert.include(
        outcome.results["a"]?.note,
        "d.one failed (oversized: RESULT_INVALID: output must be at most 2 MiB of JSON"
      )
      const journal = yield* Journal.Journal
      assert.isBelow((yield* journal.size("r1")).bytes, 8_192)
    }).pipe(memory)
  )

  it.effect("D63 is one failure with a store that takes less", () =>
    Effect.gen(function* () {
      const { calls, desk } = counting(five)
      const outcome = yield* elapse(Run.start(desk, options), "1 hour")
      assert.strictEqual(calls.one, 1)
      assert.include(
        outcome.results["a"]?.note,
        "d.one failed (oversized: RESULT_INVALID: output must be at most 3 MiB"
      )
    }).pipe(Effect.provide(Artefacts.layerMemory({ limit: 3 * 1024 * 1024 })), memory)
  )

  it.effect("D63 that the store does not take just now is a failure that may pass", () => {
    let times = 0
    const layer = putting(
      ({ put }) =>
        (content, options) =>
          Effect.suspend(() => ((times += 1) === 1 ? Effect.fail(unavailable) : put(content, options)))
    )
    return Effect.gen(function* () {
      const { calls, desk } = counting(over)
      const outcome = yield* elapse(Run.start(desk, options), "1 hour")
      assert.strictEqual(calls.one, 2)
      assert.strictEqual(outcome.results["a"]?.output, over)
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("D63 that was in the store when it was accepted is waited for when it is written down", () => {
    let times = 0
    const layer = putting(
      ({ put }) =>
        (content, options) =>
          Effect.suspend(() => ((times += 1) === 2 ? Effect.fail(unavailable) : put(content, options)))
    )
    return Effect.gen(function* () {
      const { calls, desk } = counting(over)
      const outcome = yield* elapse(Run.start(desk, options), "1 hour")
      assert.strictEqual(calls.one, 1)
      assert.isAtLeast(times, 3)
      assert.strictEqual(outcome.status, "completed")
    }).pipe(Effect.provide(layer), memory)
  })

  it.effect("D63 a bug of the store is one of the answer", () =>
    Effect.gen(function* () {
      const outcome = yield* elapse(Run.start(counting(over).desk, options), "1 hour")
      assert.include(outcome.results["a"]?.note, "a bug in the store")
    }).pipe(Effect.provide(putting(() => () => Effect.die(new Error("a bug in the store")))), memory)
  )

  it("D63 fits where it is said to", () => {
    const check = (limit?: number) =>
      Result.check(Result.completed(five), (output) => ({ _tag: "Success", success: output }) as never, { limit })
    assert.strictEqual(check()._tag, "Failure")
    assert.strictEqual(check(5_000_001)._tag, "Failure")
    assert.strictEqual(check(5_000_002)._tag, "Success")
  })
})

describe("what differs in outputs of three megabytes", () => {
  it.effect("D63 is one failure of the answer, and the results stand", () =>
    Effect.gen(function* () {
      const Owned = Schema.Struct({ owner: Schema.String })
      const workers = ["one", "two"].map((name) =>
        Fake.worker(name, { answers: () => ({ owner: `${name}${"x".repeat(3_000_000)}` }) })
      )
      const aggregate = Aggregate.make({
        tasks: { a: Owned, b: Owned },
        fields: { owner: Aggregate.error(Schema.String) }
      })
      const outcome = yield* elapse(
        Run.start(guarded(workers, [task("a"), task("b", { worker: "d.two" })], { aggregate }), options),
        "1 minute"
      )
      assert.deepStrictEqual(
        Object.values(outcome.results).map(({ status }) => status),
        ["accepted", "accepted"]
      )
      assert.include(outcome.note, "what tasks gave different values for must be at most 2 MiB of JSON")
      assert.strictEqual(outcome.status, "failed")
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    }).pipe(Effect.provide(Artefacts.layerMemory()), memory)
  )
})

describe("a large input", () => {
  const large = "z".repeat(70_000)

  /** A desk whose only task says what it was given, once it may. */
  const echoing = (door: Effect.Effect<void>) =>
    Desk.make("desk", {
      version: "1",
      input: Schema.String,
      domains: [Domain.make("d", { workers: [worker("one", ({ input }) => Effect.as(door, JSON.stringify(input)))] })],
      coordinator: Plan.make<string>([{ id: "a", worker: "d.one", objective: "Do a", input: (_, text) => ({ text }) }])
    })

  it.effect("D63 is kept by reference, and handed on when the run is taken up again", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const door = gate()
      const going = yield* Effect.forkChild(Run.start(echoing(door.wait), { ...options, input: large }))
      yield* door.reached
      yield* Fiber.interrupt(going)
      const [started] = yield* Stream.runCollect(Run.events("r1"))
      if (started?._tag !== "RunStarted") return assert.fail("the run has not started")
      assert.deepStrictEqual([started.input, started.inputRef?.bytes], [null, large.length + 2])
      assert.isBelow((yield* journal.size("r1")).bytes, 8_192)
      const outcome = yield* Run.resume(echoing(Effect.void), "r1", { log: false })
      assert.strictEqual(outcome.status, "completed")
      assert.strictEqual(outcome.results["a"]?.output, JSON.stringify({ text: large }))
    }).pipe(Effect.provide(Artefacts.layerMemory()), memory)
  )

  it.effect("D63 that is gone is told so, with its place", () =>
    Effect.gen(function* () {
      const outcome = yield* Run.start(echoing(Effect.void), { ...options, input: large }).pipe(
        Effect.provide(Artefacts.layerMemory())
      )
      assert.strictEqual(outcome.status, "completed")
      const error = yield* Effect.flip(Run.outcome("r1").pipe(Effect.provide(Artefacts.layerMemory())))
      if (error._tag !== "RunUntrusted") return assert.fail(`expected a RunUntrusted, got ${error._tag}`)
      assert.strictEqual(error.version, 1)
      assert.match(error.reason, /^the input cannot be read back: there is no artefact sha256:/)
    }).pipe(memory)
  )

  it.effect("D63 stays in its event without a store", () =>
    Effect.gen(function* () {
      yield* Run.start(echoing(Effect.void), { ...options, input: large })
      const [started] = yield* Stream.runCollect(Run.events("r1"))
      assert.deepInclude(started, { _tag: "RunStarted", input: large })
    }).pipe(memory)
  )
})

describe("an input of five megabytes", () => {
  it.effect("D63 is refused at once, and nothing of the run is there", () =>
    Effect.gen(function* () {
      const { calls, desk } = counting("done")
      const error = yield* Effect.flip(Run.start(desk, { ...options, input: five }))
      assert.include(error.message, "must be at most 2 MiB of JSON")
      assert.strictEqual(calls.one, 0)
      assert.deepStrictEqual(yield* Effect.flatMap(Journal.Journal, (journal) => journal.runs()), [])
    }).pipe(memory)
  )
})

describe("a record that cannot be read", () => {
  const within = (filename: string) => {
    const layer = Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))
    return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.scoped(Effect.provide(effect, Layer.fresh(layer)))
  }

  it.effect("D62 is told with its place, and touches no other run, no list and no rule", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const use = within(filename)
      const large = "y".repeat(100_000)
      for (const id of ["poisoned", "sound"]) yield* use(Run.start(counting(`${large} ${id}`).desk, { ...options, id }))
      const sound = yield* use(Run.outcome("sound"))
      const vandal = yield* connection(filename)
      vandal.exec(`UPDATE events SET data = '{"torn' || data WHERE run = 'poisoned' AND type = 'Reported'`)
      const [first] = vandal.prepare("SELECT min(version) AS version FROM events WHERE type = 'Reported'").all()

      for (let time = 0; time < 3; time++) {
        const error = yield* use(Effect.flip(Run.outcome("poisoned")))
        assert.include(error.message, `run "poisoned", version ${String(first?.["version"])}`)
        assert.deepStrictEqual(yield* use(Run.outcome("sound")), sound)
      }
      const listed = yield* use(Effect.flatMap(Journal.Journal, (journal) => journal.runs()))
      assert.deepStrictEqual(listed.map(({ run }) => run).toSorted(), ["poisoned", "sound"])

      // What it refers to is as safe as it is itself.
      yield* TestClock.adjust("2 days")
      const collected = yield* use(Effect.flatMap(Artefacts.Artefacts, ({ collect }) => collect()))
      assert.strictEqual(collected.artefacts, 0)
      const elsewhere = yield* use(
        Effect.exit(Effect.flatMap(Artefacts.Artefacts, ({ collect }) => collect({ references: Artefacts.references })))
      )
      assert.isTrue(Exit.isFailure(elsewhere))
      assert.deepStrictEqual(yield* use(Run.outcome("sound")), sound)

      // It goes as others go.
      yield* use(Retention.apply(Retention.make({ keep: { completed: "1 day" } })))
      assert.deepStrictEqual(yield* use(Effect.flatMap(Journal.Journal, (journal) => journal.runs())), [])
      assert.strictEqual(
        (yield* use(Effect.flatMap(Artefacts.Artefacts, ({ collect }) => collect({ references: Stream.empty }))))
          .artefacts,
        2
      )
    })
  )
})
