import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Host, Ladder, Office, Reviewers, ReviewPolicy, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { mostWaiting } from "../../src/run/internal/commanding.ts"
import { most } from "../../src/run/internal/submitting.ts"
import { freshPath } from "../journal/fixtures/folder.ts"
import { history, memory, settle, task } from "./desks.ts"
import { guarded } from "./guards.ts"
import { of } from "./living.ts"

/** A process: a journal on a file that is opened, and given back when it ends. */
const process = (filename: string) =>
  Effect.map(Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))), (context) =>
    Context.get(context, Journal.Journal)
  )

const at = (journal: Journal.Journal["Service"]) => Effect.provideService(Journal.Journal, journal)

const reviews = ReviewPolicy.make({
  ladders: {
    high: Ladder.make({ stages: [{ to: ["group:release"], after: 0 }], final: { after: "1 day", action: "reject" } })
  }
})

/** Something of high risk, that ann has asked for, and something else that goes on beside it. */
const risky = () =>
  guarded(
    [
      Fake.worker("one", { risk: "high", otherwise: "done" }),
      Fake.worker("two", { otherwise: Fake.never, attemptTimeout: "1 day" })
    ],
    [task("a"), task("b", { worker: "d.two" })],
    { reviews }
  )

const alone = () => guarded([Fake.worker("one", { risk: "high", otherwise: "done" })], [task("a")], { reviews })

const begins = { id: "r1", input: "go", log: false, requester: "ann" } as const

/** ann is away; cem stands in for her. */
const directory = Reviewers.layer({
  groups: { release: ["ann", "bob"] },
  absences: [{ who: "ann", from: "1970-01-01", until: "9999-01-01", delegate: "cem" }]
})

type Case = {
  readonly what: string
  readonly by: Run.Deciding["by"]
  readonly decision?: RunEvent.Decision
  readonly because: RunEvent.RefusedBecause | undefined
}

const cases: ReadonlyArray<Case> = [
  { what: "bob, who is asked", by: "bob", because: undefined },
  { what: "ann, who has asked for it", by: "ann", because: "self-approval" },
  { what: "ANN, by another way to write it", by: "ANN", because: "self-approval" },
  { what: "ann, who rejects it", by: "ann", decision: "reject", because: undefined },
  { what: "cem, by the right of ann", by: "cem", because: "self-approval" },
  {
    what: "a service on behalf of ann",
    by: { kind: "service", id: "mailer", onBehalfOf: "ann" },
    because: "self-approval"
  },
  { what: "an agent of ann", by: { kind: "agent", id: "critic", onBehalfOf: "ann" }, because: "not-a-reviewer" },
  { what: "eve, whom nobody has asked", by: "eve", because: "not-a-reviewer" }
]

const deciding = ({ by, decision = "approve" }: Pick<Case, "by" | "decision">) =>
  ({ review: "r1/review/1", decision, by }) as const

/** What of the decisions is in the run. */
const written = Effect.map(history("r1"), (events) =>
  events.flatMap((event) =>
    event._tag === "ReviewRefused" ? [event.because] : event._tag === "ReviewDecided" ? ["decided"] : []
  )
)

const becauseOf = <A>(exit: Exit.Exit<A, unknown>): unknown => {
  if (Exit.isSuccess(exit)) return undefined
  const found = Exit.findErrorOption(exit)
  return found._tag === "Some" && found.value instanceof Run.CommandRefused ? found.value.because : "another error"
}

describe("Who decides", () => {
  for (const { because, what, ...said } of cases) {
    const expected = [because ?? "decided"]

    it.effect(`R-306 ${what}, while the run is carried out under a directory`, () =>
      Effect.gen(function* () {
        const office = yield* Office.open(risky(), { log: false })
        const run = yield* Effect.forkChild(Run.startIn(office, begins).pipe(Effect.provide(directory)))
        yield* settle
        const exit = yield* Effect.exit(Run.decide(deciding(said), { office }))
        assert.strictEqual(becauseOf(exit), because)
        assert.deepStrictEqual(yield* written, expected)
        yield* Fiber.interrupt(run)
      }).pipe(Effect.scoped, memory)
    )

    it.effect(`R-306 ${what}, straight into the journal`, () =>
      Effect.gen(function* () {
        const outcome = yield* Run.start(alone(), begins).pipe(Effect.provide(directory))
        assert.deepStrictEqual([outcome.status, outcome.reviews[0]?.requester], ["waiting", "ann"])
        const exit = yield* Effect.exit(Run.decide(deciding(said)).pipe(Effect.provide(directory)))
        assert.strictEqual(becauseOf(exit), because)
        assert.deepStrictEqual(yield* written, expected)
      }).pipe(memory)
    )

    it.effect(
      `R-306 ${what}, from a process in which everybody may: the directory of the owner has the last word`,
      () =>
        Effect.gen(function* () {
          const filename = yield* freshPath
          const here = yield* process(filename)
          const there = yield* process(filename)
          yield* Run.start(alone(), begins).pipe(Effect.provide(directory), at(here))
          const exit = yield* Effect.exit(Run.decide(deciding(said)).pipe(at(there)))
          // Who has asked for it does not approve it in any directory.
          const known = because === "self-approval" && said.by !== "cem" ? because : undefined
          const agent = typeof said.by === "object" && said.by.kind === "agent" ? because : known
          assert.strictEqual(becauseOf(exit), agent)
          yield* Run.resume(alone(), "r1", { log: false }).pipe(Effect.provide(directory), at(here))
          assert.deepStrictEqual(yield* written.pipe(at(here)), expected)
          assert.deepStrictEqual(yield* here.commands(), [])
        }).pipe(Effect.scoped)
    )
  }

  it.effect("R-306 somebody who was told that it does not count is not counted after all", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      yield* Run.start(alone(), begins).pipe(at(here))
      const exit = yield* Effect.exit(Run.decide(deciding({ by: "eve" })).pipe(Effect.provide(directory), at(there)))
      assert.strictEqual(becauseOf(exit), "not-a-reviewer")
      // Here everybody may.
      const outcome = yield* Run.resume(alone(), "r1", { log: false }).pipe(at(here))
      assert.deepStrictEqual([outcome.status, yield* written.pipe(at(here))], ["waiting", ["not-a-reviewer"]])
    }).pipe(Effect.scoped)
  )

  it.effect("R-306 who decides after somebody whose word still waits is too late, and that is written down, too", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      yield* Run.start(alone(), begins).pipe(at(here))
      assert.deepStrictEqual(yield* Run.decide(deciding({ by: "bob" })).pipe(at(there)), { _tag: "Left" })
      const late = deciding({ by: "eve", decision: "reject" })
      for (const process of [there, here]) {
        assert.strictEqual(becauseOf(yield* Effect.exit(Run.decide(late).pipe(at(process)))), "already-decided")
      }
      yield* Run.resume(alone(), "r1", { log: false }).pipe(at(here))
      assert.deepStrictEqual(yield* written.pipe(at(here)), ["decided", "already-decided", "already-decided"])
    }).pipe(Effect.scoped)
  )

  it.effect("R-306 what does not count is written down two hundred times in a run, whoever carries it out", () =>
    Effect.gen(function* () {
      const refuse = Effect.flip(Run.decide(deciding({ by: "eve" })).pipe(Effect.provide(directory)))
      yield* Run.start(alone(), begins).pipe(Effect.provide(directory))
      for (let n = 1; n <= most - 1; n++) yield* refuse
      yield* Run.resume(alone(), "r1", { log: false }).pipe(Effect.provide(directory))
      for (let n = 1; n <= 5; n++) yield* refuse
      const refused = of(yield* history("r1"), "ReviewRefused")
      assert.deepStrictEqual([refused.length, (yield* Run.state("r1")).refusals], [most, most])
      assert.match(refused.at(-1)?.note ?? "", /from here on/)
      assert.notMatch(refused.at(-2)?.note ?? "", /from here on/)
    }).pipe(memory)
  )

  it.effect("R-306 of what does not count only so much waits for the owner", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const here = yield* process(filename)
      const there = yield* process(filename)
      yield* Run.start(alone(), begins).pipe(Effect.provide(directory), at(here))
      const said = Run.decide(deciding({ by: "eve" })).pipe(Effect.provide(directory), Effect.exit, at(there))
      const exits = yield* Effect.forEach(Array.from({ length: 3 * mostWaiting }), () => said)
      assert.deepStrictEqual([...new Set(exits.map(becauseOf))], ["not-a-reviewer"])
      assert.strictEqual((yield* here.commands()).length, mostWaiting)
      // There is room for somebody who may.
      assert.deepStrictEqual(yield* Run.decide(deciding({ by: "bob" })).pipe(Effect.provide(directory), at(there)), {
        _tag: "Left"
      })
      const last = yield* Run.resume(alone(), "r1", { log: false }).pipe(Effect.provide(directory), at(here))
      assert.strictEqual(last.status, "completed")
      const all = yield* written.pipe(at(here))
      assert.deepStrictEqual([all.length, all.at(-1)], [mostWaiting + 1, "decided"])
    }).pipe(Effect.scoped)
  )

  it.effect("R-306 what somebody decides after the end of a run is written into it before it is cleared away", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      yield* Run.start(alone(), begins)
      yield* Run.decide(deciding({ by: "bob" }))
      yield* Run.resume(alone(), "r1", { log: false })
      // Left by a process that has not seen the end.
      const { review, ...word } = deciding({ by: "eve", decision: "reject" })
      yield* journal.command({ run: "r1", type: "ReviewDecided", at: 0, data: { ...word, review, note: "" } })
      yield* journal.command({ run: "r1", type: "CancelRequested", at: 0, data: { by: "eve", note: "" } })
      const office = yield* Office.open(alone(), { log: false })
      yield* Host.pass(office)
      assert.deepStrictEqual(yield* written, ["decided", "already-decided"])
      assert.deepStrictEqual(yield* journal.commands(), [])
      assert.strictEqual((yield* Run.outcome("r1")).status, "completed")
      yield* Host.pass(office)
      assert.deepStrictEqual(yield* written, ["decided", "already-decided"])
    }).pipe(Effect.scoped, memory)
  )

  const requesters: ReadonlyArray<readonly [requester: unknown, holds: boolean]> = [
    ["ann", true],
    ["service:mailer", true],
    ["", false],
    [" ann", false],
    [7, false]
  ]
  it.effect("R-306 who has asked for a run is somebody", () =>
    Effect.gen(function* () {
      for (const [index, [requester, holds]] of requesters.entries()) {
        const options = { ...begins, id: `r${index}`, requester: requester as string }
        const exit = yield* Effect.exit(Run.start(alone(), options))
        assert.strictEqual(Exit.isSuccess(exit), holds, String(requester))
        if (holds) assert.strictEqual((yield* Run.state(`r${index}`)).requester, requester)
        else {
          const found = Exit.findErrorOption(exit)
          assert.match(found._tag === "Some" ? String(found.value) : "", /requester/)
        }
      }
    }).pipe(memory)
  )
})
