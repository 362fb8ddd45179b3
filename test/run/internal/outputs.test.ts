import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result as EffectResult, Schema, Stream } from "effect"
import { Artefacts, ArtefactsSqlite, Journal, JournalSqlite } from "espalier/journal"
import { Desk, Domain, Outcome, Plan, Result, Run, type RunEvent } from "espalier/run"

import { isLarge } from "../../../src/run/internal/outputs.ts"
import { connection, freshPath } from "../../journal/fixtures/folder.ts"
import { desk, gate, history, settle, task, worker } from "../desks.ts"

const limit = 64 * 1024

/** A text that takes so many bytes of JSON. */
const text = (bytes: number): string => "x".repeat(bytes - 2)

const large = text(limit + 1)

const memory = Layer.merge(Journal.layerMemory, Artefacts.layerMemory())

/** Counts what is read and written. */
const counted = () => {
  const calls = { put: 0, get: 0 }
  const layer = Layer.effect(
    Artefacts.Artefacts,
    Effect.map(Artefacts.Artefacts, (store) => ({
      ...store,
      put: (...args: Parameters<typeof store.put>) =>
        Effect.suspend(() => {
          calls.put += 1
          return store.put(...args)
        }),
      get: (...args: Parameters<typeof store.get>) =>
        Effect.suspend(() => {
          calls.get += 1
          return store.get(...args)
        })
    }))
  ).pipe(Layer.provide(Artefacts.layerMemory()))
  return { calls, layer: Layer.merge(Journal.layerMemory, layer) }
}

const results = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<Result.Envelope> =>
  events.flatMap((event) => (event._tag === "Reported" || event._tag === "Merged" ? [event.result] : []))

/** One task that answers with this, and one that says how long what it was handed is. */
const chain = (output: string, extra: Partial<Plan.Task<string>> = {}) =>
  desk(
    [
      worker("one", () => Effect.succeed(output)),
      worker("two", ({ accepted }) => Effect.succeed(String(accepted["a"]).length.toString()))
    ],
    [task("a"), task("b", { worker: "d.two", needs: ["a"], ...extra })]
  )

const options = { id: "r1", input: "x" }

const journalError = new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: "memory" }) })

/** A journal in memory that refuses these events while it is closed to them. */
const refusing = (refuses: (append: Journal.Append) => boolean) =>
  Layer.effect(
    Journal.Journal,
    Effect.map(Journal.Journal, (journal) => ({
      ...journal,
      append: (append: Journal.Append) => (refuses(append) ? Effect.fail(journalError) : journal.append(append))
    }))
  ).pipe(Layer.provide(Journal.layerMemory))

describe("isLarge", () => {
  const table: ReadonlyArray<readonly [string, Schema.Json, boolean]> = [
    ["nothing", null, false],
    ["a text of 64 KiB", text(limit), false],
    ["a text of one byte more", text(limit + 1), true],
    ["a short text of wide letters", "€".repeat((limit - 2) / 3), false],
    ["one wide letter more", `€${"€".repeat((limit - 2) / 3)}`, true],
    ["escapes", "\u0001".repeat(11_000), true],
    ["quotes", '"'.repeat((limit - 2) / 2), false],
    ["one quote more", `"${'"'.repeat((limit - 2) / 2)}`, true],
    ["many small numbers", Array.from({ length: 32_767 }, () => 1), false],
    ["one number more", Array.from({ length: 32_768 }, () => 1), true],
    ["a long key", { [text(limit - 4)]: 1 }, false],
    ["a longer one", { [text(limit - 3)]: 1 }, true],
    ["a little in many levels", [[[[[["deep"]]]]]], false]
  ]
  it.each(table)("of %s", (_, value, expected) => {
    assert.strictEqual(isLarge(value), expected)
    assert.strictEqual(new TextEncoder().encode(JSON.stringify(value)).byteLength > limit, expected)
  })
})

describe("large outputs", () => {
  it.effect("R-301 are in the store, and in the journal there is only where they are", () =>
    Effect.gen(function* () {
      const seen: Array<RunEvent.RunEvent> = []
      const outcome = yield* Run.start(chain(large), { ...options, onEvent: (event) => seen.push(event) })
      const events = yield* history("r1")
      const [first, second] = results(events)
      assert.isUndefined(first?.output)
      assert.strictEqual(first?.outputRef?.bytes, limit + 1)
      assert.deepStrictEqual([second?.output, second?.outputRef], [`${limit - 1}`, undefined])
      assert.isBelow(JSON.stringify(events).length, 5_000)

      assert.strictEqual(outcome.results["a"]?.output, large)
      assert.strictEqual(outcome.results["b"]?.output, `${limit - 1}`)
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      assert.strictEqual(results(seen)[0]?.output, large)
    }).pipe(Effect.provide(memory))
  )

  it.effect("R-301 are told by reference where events are folded without their store", () =>
    Effect.gen(function* () {
      const outcome = yield* Run.start(chain(large), options)
      const events = yield* history("r1")
      const folded = Outcome.of(events)
      assert.strictEqual(folded?.status, "completed")
      const { output: _, ...rest } = outcome.results["a"]!
      assert.deepStrictEqual(folded?.results["a"], { ...rest, outputRef: results(events)[0]!.outputRef! })
    }).pipe(Effect.provide(memory))
  )

  it.effect("R-301 begin above 64 KiB", () =>
    Effect.gen(function* () {
      yield* Run.start(chain(text(limit)), options)
      const [first] = results(yield* history("r1"))
      assert.strictEqual(first?.output, text(limit))
      assert.isUndefined(first?.outputRef)
    }).pipe(Effect.provide(memory))
  )

  it.effect("R-301 stay in their events where there is no store", () =>
    Effect.gen(function* () {
      yield* Run.start(chain(large), options)
      assert.strictEqual(results(yield* history("r1"))[0]?.output, large)
      assert.strictEqual((yield* Run.outcome("r1")).results["a"]?.output, large)
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("R-301 stay in their events where the store does not take them", () =>
    Effect.gen(function* () {
      const { status } = yield* Run.start(chain(large), options)
      assert.strictEqual(status, "completed")
      assert.strictEqual(results(yield* history("r1"))[0]?.output, large)
    }).pipe(Effect.provide(Layer.merge(Journal.layerMemory, Artefacts.layerMemory({ limit: 100 }))))
  )

  it.effect("R-301 of groups are kept in the same way", () =>
    Effect.gen(function* () {
      const { coordinator } = chain(large)
      const group: Plan.Task<string> = { id: "g", objective: "Do all of it", by: coordinator }
      const two = worker("two", ({ accepted }) => Effect.succeed(JSON.stringify(accepted).length.toString()))
      const built = desk(
        [worker("one", () => Effect.succeed(large)), two],
        [group, task("z", { worker: "d.two", needs: ["g"] })]
      )
      const outcome = yield* Run.start(built, options)
      const events = yield* history("r1")
      const merged = events.find((event) => event._tag === "Merged")
      assert.isDefined(merged?.result.outputRef)
      assert.isUndefined(merged?.result.output)
      const whole = { a: large, b: `${JSON.stringify({ a: large }).length}` }
      assert.deepStrictEqual(outcome.results["g"]?.output, whole)
      assert.strictEqual(outcome.results["z"]?.output, `${JSON.stringify({ g: whole }).length}`)
      assert.deepStrictEqual((yield* Run.outcome("r1")).results, outcome.results)
    }).pipe(Effect.provide(memory))
  )

  it.effect("R-217 of the run itself are kept in the same way", () =>
    Effect.gen(function* () {
      const whole = Desk.make("desk", {
        version: "1",
        input: Schema.String,
        output: Schema.Struct({ a: Schema.String }),
        domains: [Domain.make("d", { workers: [worker("one", () => Effect.succeed(large))] })],
        coordinator: Plan.make([task("a")])
      })
      const outcome = yield* Run.start(whole, options)
      assert.deepStrictEqual([outcome.status, outcome.output], ["completed", { a: large }])
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      const events = yield* history("r1")
      assert.isBelow(JSON.stringify(events).length, 5_000)
      const folded = Outcome.of(events)
      assert.isUndefined(folded?.output)
      assert.deepStrictEqual(folded?.outputRef, results(events).at(-1)?.outputRef)
    }).pipe(Effect.provide(memory))
  )

  const reading = counted()
  it.effect("R-302 that stand for two tasks are read once", () =>
    Effect.gen(function* () {
      const objective = "Do the same"
      const built = desk(
        [worker("one", () => Effect.succeed(large))],
        [task("a", { objective }), task("b", { objective, needs: ["a"], input: () => ({}) })]
      )
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(results(yield* history("r1")).length, 1)
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      assert.strictEqual(outcome.results["b"]?.output, large)
      assert.deepStrictEqual(reading.calls, { put: 1, get: 1 })
    }).pipe(Effect.provide(reading.layer))
  )

  const store = counted()
  it.effect("R-302 are read once when a run is taken up, and not while it runs", () =>
    Effect.gen(function* () {
      const { calls } = store
      const door = gate()
      const two = worker("two", ({ accepted }) => Effect.as(door.wait, String(accepted["a"]).length.toString()))
      const built = desk(
        [worker("one", () => Effect.succeed(large)), two],
        [task("a"), task("b", { worker: "d.two", needs: ["a"] }), task("c", { worker: "d.two", needs: ["a", "b"] })]
      )
      const fiber = yield* Effect.forkChild(Run.start(built, options))
      yield* door.reached
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(calls, { put: 1, get: 0 })
      yield* door.open
      const outcome = yield* Run.resume(built, "r1")
      assert.deepStrictEqual([outcome.status, calls], ["completed", { put: 1, get: 1 }])
      assert.deepStrictEqual(
        ["b", "c"].map((id) => outcome.results[id]?.output),
        [`${limit - 1}`, `${limit - 1}`]
      )
      assert.strictEqual(outcome.results["a"]?.output, large)
    }).pipe(Effect.provide(store.layer))
  )

  it.effect("R-302 are still there after somebody else has written into the journal", () =>
    Effect.gen(function* () {
      const door = gate()
      const built = desk(
        [
          worker("one", () => Effect.succeed(large)),
          worker("two", ({ accepted }) => Effect.succeed(String(accepted["a"]).length.toString())),
          worker("slow", () => Effect.as(door.wait, "done"))
        ],
        [task("a"), task("b", { worker: "d.slow", needs: ["a"] }), task("c", { worker: "d.two", needs: ["a", "b"] })]
      )
      const fiber = yield* Effect.forkChild(Run.start(built, options))
      yield* door.reached
      yield* Run.changeTier("r1", { from: "medium", to: "full", who: "ann", why: "to be sure" })
      yield* door.open
      const { results, status, tier } = yield* Fiber.join(fiber)
      assert.deepStrictEqual([status, tier], ["completed", "full"])
      assert.deepStrictEqual([results["a"]?.output, results["c"]?.output], [large, `${limit - 1}`])
    }).pipe(Effect.provide(memory))
  )

  it.effect("R-302 a crash before the event leaves only an artefact that nobody refers to", () =>
    Effect.gen(function* () {
      let closed = true
      const layer = Layer.merge(
        refusing((append) => closed && append.events.some(({ type }) => type === "Reported")),
        Artefacts.layerMemory()
      )
      yield* Effect.gen(function* () {
        const built = chain(large)
        const error = yield* Effect.flip(Run.start(built, options))
        assert.strictEqual(error, journalError)
        assert.deepStrictEqual(results(yield* history("r1")), [])
        const reference = yield* Artefacts.putJson(large)
        closed = false
        const outcome = yield* Run.resume(built, "r1")
        assert.strictEqual(outcome.status, "completed")
        assert.strictEqual(outcome.results["a"]?.output, large)
        assert.deepStrictEqual(results(yield* history("r1"))[0]?.outputRef, reference)
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("R-302 are not needed to say that a run shall end", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const door = gate()
      const two = worker("two", () => Effect.as(door.wait, "done"))
      const built = desk(
        [worker("one", () => Effect.succeed(large)), two],
        [task("a"), task("b", { worker: "d.two", needs: ["a"] })]
      )
      const run = Run.start(built, options).pipe(Effect.provide(Artefacts.layerMemory()))
      const fiber = yield* Effect.forkChild(Effect.provideService(run, Journal.Journal, journal))
      yield* door.reached
      yield* Fiber.interrupt(fiber)
      yield* settle
      yield* Run.cancel("r1", { by: "ann" })
      const error = yield* Effect.flip(Run.resume(built, "r1"))
      assert.strictEqual(error._tag, "RunUntrusted")
    }).pipe(Effect.provide(Journal.layerMemory))
  )
})

describe("large outputs in a file", () => {
  const within = (filename: string) => {
    const layer = Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))
    return <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.scoped(Effect.provide(effect, Layer.fresh(layer)))
  }

  it.effect("R-302 are there when the file is opened again", () =>
    Effect.gen(function* () {
      const use = within(yield* freshPath)
      const outcome = yield* use(Run.start(chain(large), options))
      assert.deepStrictEqual(yield* use(Run.outcome("r1")), outcome)
      assert.strictEqual(outcome.results["a"]?.output, large)
    })
  )

  const damages: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["gone", "DELETE FROM artefacts", /^an output cannot be read back: there is no artefact sha256:/],
    ["damaged", "UPDATE artefacts SET bytes = x'22'", /is not what its reference says/]
  ]
  it.effect.each(damages)("R-302 that are %s make the run untrusted", ([, sql, reason]) =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const use = within(filename)
      yield* use(Run.start(chain(large), options))
      const vandal = yield* connection(filename)
      vandal.exec(sql)
      const events = yield* use(Effect.flatMap(Journal.Journal, (journal) => Stream.runCollect(journal.read("r1"))))
      const reported = events.find(({ type }) => type === "Reported")
      for (const call of [Run.outcome("r1"), Run.resume(chain(large), "r1")]) {
        const error = yield* Effect.flip<unknown, { readonly _tag: string }, Journal.Journal>(call).pipe(use)
        if (!(error instanceof Run.RunUntrusted)) return assert.fail(`expected a RunUntrusted, got ${error._tag}`)
        assert.match(error.reason, reason)
        assert.strictEqual(error.version, reported?.version)
      }
    })
  )

  it.effect("R-302 need the store that has them", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      yield* within(filename)(Run.start(chain(large), options))
      const error = yield* Effect.flip(Run.outcome("r1")).pipe(
        Effect.provide(JournalSqlite.layerSqlite({ filename })),
        Effect.scoped
      )
      assert.strictEqual(error._tag, "RunUntrusted")
      assert.include(error.message, "there is no store of artefacts to read it from")
    })
  )

  it.effect("R-302 that cannot be asked for just now are trouble of the store", () =>
    Effect.gen(function* () {
      const reason = new Journal.JournalUnavailable({ location: "memory", problem: "io", detail: "disk" })
      const broken = Layer.effect(
        Artefacts.Artefacts,
        Effect.map(Artefacts.Artefacts, (store) => ({
          ...store,
          get: () => Effect.fail(new Artefacts.ArtefactsError({ reason }))
        }))
      ).pipe(Layer.provide(Artefacts.layerMemory()))
      yield* Effect.gen(function* () {
        yield* Run.start(chain(large), options)
        const error = yield* Effect.flip(Run.outcome("r1"))
        assert.deepStrictEqual(error, new Journal.JournalError({ reason }))
      }).pipe(Effect.provide(Layer.merge(Journal.layerMemory, broken)))
    })
  )
})

describe("Envelope", () => {
  const hash = `sha256:${"0".repeat(64)}`
  const outputRef = { uri: `artefact:${hash}`, hash, bytes: 70_000 }
  const envelope = { status: "completed", confidence: 1, evidence: [], usage: {}, missing: [] }
  const decode = Schema.decodeUnknownExit(Result.Envelope)

  it("R-215 has an output or a reference to it, never both", () => {
    assert.strictEqual(decode({ ...envelope, output: 1 })._tag, "Success")
    assert.strictEqual(decode({ ...envelope, outputRef })._tag, "Success")
    const both = Effect.runSync(
      Effect.flip(Schema.decodeUnknownEffect(Result.Envelope)({ ...envelope, output: 1, outputRef }))
    )
    assert.include(both.message, "a result with an output or a reference to it, not both")
  })

  it("R-202 does not let a worker say where its output is kept", () => {
    const answer = { ...Result.completed("x"), outputRef }
    const checked = EffectResult.flip(Result.check(answer, EffectResult.succeed))
    assert.include(EffectResult.getOrThrow(checked).message, "outputRef is not a known field")
  })
})
