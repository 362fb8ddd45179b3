import { assert, describe, it } from "@effect/vitest"
import { Context, type Duration, Effect, Exit, Fiber, Layer, References, Scope } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Host, Office, Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { connection, freshPath } from "../journal/fixtures/folder.ts"
import { history, memory, settle, task } from "./desks.ts"
import { deskOf, pass } from "./living.ts"

const plan = (tasks: ReadonlyArray<Plan.Task<string>>) => Plan.make<string>(tasks)

/** A desk whose run waits. */
const slow = (after: Duration.Input = "2 days") =>
  deskOf([Fake.worker("one", { otherwise: "done" })], plan([task("a", { after })]))

/** A journal in a file, and another program's connection to that file. */
const shared = Effect.gen(function* () {
  const filename = yield* freshPath
  const context = yield* Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" })))
  return { journal: Context.get(context, Journal.Journal), native: yield* connection(filename) }
})

const results = (taken: ReadonlyArray<Host.Taken>) => taken.map(({ result, run }) => `${run} ${result}`)

const quiet = Effect.provideService(References.MinimumLogLevel, "None")

const insert = "INSERT INTO commands (id, run, type, at, data) VALUES (?, ?, ?, ?, ?)"

describe("word that another program put into the file", () => {
  const far = 9_223_372_036_854_775_000n
  const forged: ReadonlyArray<readonly [string, number | bigint | null, string, number | bigint, string]> = [
    ["data that is not JSON", null, "CancelRequested", 0, '{"by":'],
    ["a type longer than an event may be", null, "X".repeat(5_000_000), 0, "{}"],
    ["a time that is no number of JavaScript's", null, "X", far, "{}"]
  ]
  it.effect.each(forged)("R-302 is told in the run and gone, whatever it is: %s", ([, id, type, at, data]) =>
    Effect.gen(function* () {
      const { journal, native } = yield* shared
      const office = yield* Office.open(slow(), { log: false })
      const host = Host.pass(office).pipe(Effect.provideService(Journal.Journal, journal))
      yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(Effect.provideService(Journal.Journal, journal))
      native.prepare(insert).run(id, "r1", type, at, data)
      assert.deepStrictEqual(results(yield* host), ["r1 waiting"])
      const events = yield* history("r1").pipe(Effect.provideService(Journal.Journal, journal))
      const notes = events.flatMap((event) =>
        event._tag === "Noticed" && event.what === "refused-command" ? [event.note] : []
      )
      assert.strictEqual(notes.length, 1)
      assert.isBelow(notes[0]?.length ?? 0, 200)
      assert.deepStrictEqual(yield* journal.commands(), [])
      assert.deepStrictEqual(results(yield* host), [])
    }).pipe(Effect.scoped)
  )

  it.effect.each([-1, 0, 9_007_199_254_740_993n])("is none with the number %s, which no word gets", (id) =>
    Effect.gen(function* () {
      const { journal, native } = yield* shared
      const office = yield* Office.open(slow(), { log: false })
      yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(Effect.provideService(Journal.Journal, journal))
      native.exec(`INSERT INTO commands (id, run, type, at, data) VALUES (${id}, 'r1', 'X', 0, '{}')`)
      assert.deepStrictEqual([yield* journal.commands(), yield* journal.commands("r1")], [[], []])
      assert.deepStrictEqual(
        results(yield* Host.pass(office).pipe(Effect.provideService(Journal.Journal, journal))),
        []
      )
    }).pipe(Effect.scoped)
  )

  it.effect.each([["", "no id of a run"] as const, ["over", "a run that is damaged"] as const])(
    "for %j, which is %s, keeps no other run from being taken up",
    ([run]) =>
      Effect.gen(function* () {
        const { journal, native } = yield* shared
        const here = Effect.provideService(Journal.Journal, journal)
        const quick = deskOf([Fake.worker("one", { otherwise: "done" })], plan([task("a")]))
        const other = yield* Office.open(quick, { log: false })
        assert.strictEqual((yield* Run.startIn(other, { id: "over", input: "go" }).pipe(here)).status, "completed")
        const office = yield* Office.open(slow(), { log: false })
        yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(here)
        native.exec("UPDATE events SET data = '{' WHERE run = 'over' AND version = 1")
        native.prepare(insert).run(null, run, "X", 0, "{}")
        native.prepare(insert).run(null, "r1", "X", 0, "{}")
        assert.deepStrictEqual(results(yield* Host.pass(office).pipe(here)), ["r1 waiting"])
      }).pipe(Effect.scoped)
  )
})

describe("a host", () => {
  it.effect("R-302 looks at a run that is due and cannot be read as seldom as at any other", () =>
    Effect.gen(function* () {
      const { journal, native } = yield* shared
      const here = Effect.provideService(Journal.Journal, journal)
      const office = yield* Office.open(slow("2 minutes"), { log: false })
      yield* Run.startIn(office, { id: "r1", input: "go" }).pipe(here)
      native.exec("UPDATE events SET data = '{' WHERE version = 1")
      const taken: Array<string> = []
      const onTaken = ({ result }: Host.Taken) => void taken.push(result)
      const host = yield* Effect.forkChild(Host.serve(office, { onTaken, every: "1 hour" }).pipe(here, quiet))
      yield* pass("2 minutes")
      const due = taken.length
      assert.isAtLeast(due, 1)
      for (let step = 0; step < 20; step++) yield* pass("1 second")
      assert.isAtMost(taken.length - due, 1)
      assert.isTrue(taken.every((result) => result === "failed"))
      yield* Fiber.interrupt(host)
    }).pipe(Effect.scoped)
  )
})

describe("an office that is closed", () => {
  it.effect("R-302 carries nothing out: what waits goes on elsewhere, and what is asked for is not begun", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const closed = yield* Office.open(slow(), { log: false }).pipe(Scope.provide(scope))
      yield* Run.startIn(closed, { id: "r1", input: "go" })
      yield* Scope.close(scope, Exit.void)
      yield* pass("2 days")
      const before = yield* history("r1")
      const [taken] = yield* Host.pass(closed).pipe(quiet)
      assert.deepStrictEqual([taken?.run, taken?.result], ["r1", "failed"])
      assert.match(taken?.note ?? "", /the office that r1 was given to is closed$/)
      assert.deepStrictEqual(yield* history("r1"), before)
      const begun = yield* Effect.exit(Run.startIn(closed, { id: "r2", input: "go" }))
      assert.isTrue(Exit.hasDies(begun))
      assert.deepStrictEqual(yield* history("r2"), [])
      const office = yield* Office.open(slow(), { log: false })
      assert.deepStrictEqual(results(yield* Host.pass(office)), ["r1 finished"])
      assert.strictEqual((yield* Run.outcome("r1")).status, "completed")
      yield* settle
    }).pipe(Effect.scoped, memory)
  )
})
