import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Delegation } from "espalier/observe"
import { Host, Notifier, Office, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "../run/desks.ts"
import { guarded, r1, say } from "../run/guards.ts"
import { begin, resume } from "../run/living.ts"
import { killed, tagged } from "../run/outside.ts"
import { watching } from "../run/watching.ts"

/** A desk that asks before it does something. */
const asking = () => guarded([Fake.worker("one", { otherwise: "done", risk: "high" })], [task("a")])

/** A desk whose task waits for an hour. */
const later = () => guarded([Fake.worker("one", { otherwise: "done" })], [task("a", { after: "1 hour" })])

const left = Effect.fnUntraced(function* (type: string, data: object) {
  const journal = yield* Journal.Journal
  yield* journal.command({ run: "r1", type, at: 0, data: data as never })
})

/** What happens to a run, and why it was taken up in it. */
const stories = {
  "a decision": [
    Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* say("approve")
      yield* resume(asking())
    }),
    ["decision"]
  ],
  "a decision that was left for it": [
    Effect.gen(function* () {
      const office = yield* Office.open(asking(), { log: false })
      yield* Run.startIn(office, r1)
      yield* left("ReviewDecided", { review: "r1/review/1", decision: "approve", by: "ann", note: "" })
      yield* Host.pass(office)
    }).pipe(Effect.scoped),
    ["decision"]
  ],
  "the end that somebody asked for": [
    Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* Run.cancel("r1", { by: "ann" })
      yield* resume(asking())
    }),
    ["message"]
  ],
  "a timer that is due": [
    Effect.gen(function* () {
      yield* Run.start(later(), { ...r1, waitFor: "1 second" })
      yield* TestClock.adjust("1 hour")
      yield* resume(later())
    }),
    ["timer"]
  ],
  "a timer that is due soon": [
    Effect.gen(function* () {
      yield* Run.start(later(), { ...r1, waitFor: "1 second" })
      yield* elapse(Run.resume(later(), "r1", { log: false, waitFor: "2 hours" }), "2 hours")
    }),
    ["timer"]
  ],
  "word beside a timer that is due": [
    Effect.gen(function* () {
      yield* Run.start(later(), { ...r1, waitFor: "1 second" })
      yield* left("AutonomyChanged", { from: "medium", to: "low", by: "ann", note: "careful" })
      yield* TestClock.adjust("1 hour")
      yield* resume(later())
    }),
    ["message"]
  ],
  "a notice that is owed": [
    Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* Effect.provide(resume(asking()), Notifier.layer([{ name: "c", send: () => Effect.void }]))
    }),
    ["message"]
  ],
  "a process that died, twice": [
    Effect.gen(function* () {
      const plain = () => guarded([Fake.worker("one", { otherwise: "done" })], [task("a")])
      yield* killed(elapse(Run.start(plain(), r1), "1 minute"), tagged("Reported"), "before")
      yield* killed(elapse(resume(plain()), "1 minute"), tagged("Reported"), "before")
      yield* resume(plain())
    }),
    ["crash-recovery", "crash-recovery"]
  ]
} as const

/** Why a run was taken up each time, as its journal says it. */
const written = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  events.flatMap((event) => (event._tag === "RunResumed" ? [event.cause] : []))

/** The same as what is told of it. */
const told = (events: ReadonlyArray<RunEvent.RunEvent>) => {
  const fold = Delegation.fold()
  for (const event of events) fold.add(event)
  return fold.tree()?.children.map(({ segment }) => segment?.cause)
}

/** An event of a journal from before causes were written. */
const unwritten = (event: RunEvent.RunEvent): RunEvent.RunEvent => {
  if (event._tag !== "RunResumed") return event
  const { cause: _, ...old } = event
  return old
}

/** A desk that asks people, waits for timers, and works, all at once. */
const busy = () =>
  guarded(
    [
      Fake.worker("one", { size: 3, otherwise: "done" }),
      Fake.worker("two", { size: 3, otherwise: "done", risk: "high" })
    ],
    [
      task("a", { worker: "d.two" }),
      task("b", { after: "1 hour" }),
      task("c", { after: "3 hours", needs: ["b"] }),
      task("d", { worker: "d.two", needs: ["b"] }),
      task("e", { worker: "d.two", needs: ["c"] })
    ]
  )

const notifying = Notifier.layer([{ name: "c", send: () => Effect.void }])

const takesUp = Run.resume(busy(), "r1", { log: false, waitFor: "1 second" })

const happens = {
  "a decision": say("approve"),
  "a decision that is left": Effect.flatMap(Run.outcome("r1"), ({ reviews }) =>
    left("ReviewDecided", { review: reviews.at(-1)?.review ?? "r1/review/1", decision: "approve", by: "ann", note: "" })
  ),
  "another tier": Effect.flatMap(Run.outcome("r1"), ({ tier }) =>
    Run.changeTier("r1", { from: tier, to: tier === "low" ? "medium" : "low", who: "ann", why: "so it is" })
  ),
  "another tier that is left": left("AutonomyChanged", { from: "medium", to: "low", by: "ann", note: "" }),
  "word that is none": left("AutonomyChanged", { from: "medium" }),
  "half an hour": TestClock.adjust("30 minutes"),
  "two hours": TestClock.adjust("2 hours"),
  "a day": TestClock.adjust("1 day"),
  "somebody who takes it up": takesUp,
  "somebody who takes it up and tells people": Effect.provide(takesUp, notifying),
  "somebody who takes it up and puts it down": Effect.flatMap(begin(takesUp), ({ interrupt }) => interrupt),
  "a process that dies": Effect.sandbox(killed(takesUp, tagged("Reported"), "before")),
  "the end that somebody asks for": Run.cancel("r1", { by: "ann" })
} satisfies Readonly<Record<string, Effect.Effect<unknown, unknown, Journal.Journal>>>

/** What leaves word for whoever takes it up. */
const leaves: ReadonlySet<string> = new Set([
  "a decision that is left",
  "another tier that is left",
  "word that is none"
])

const Step = Schema.Literals(Object.keys(happens) as ReadonlyArray<keyof typeof happens>)

describe("Why a run was taken up", () => {
  it.effect.each(Object.keys(stories) as ReadonlyArray<keyof typeof stories>)(
    "R-501 is told by its events as whoever took it up knew it: %s",
    (name) => {
      const { causes, layer } = watching()
      const [story, expected] = stories[name]
      return Effect.gen(function* () {
        yield* story
        const tree = yield* Delegation.ofRun("r1")
        const found = tree?.children.map(({ segment }) => segment?.cause)
        assert.deepStrictEqual(found, ["start", ...expected])
        assert.deepStrictEqual(found, causes())
        const events = yield* history("r1")
        assert.deepStrictEqual(written(events), [...expected])
        // As an old journal has it.
        assert.deepStrictEqual(told(events.map(unwritten)), found)
      }).pipe(Effect.provide(layer), memory)
    }
  )

  it.effect("R-501 is what is written, whatever it looks like", () =>
    Effect.gen(function* () {
      yield* stories["a timer that is due"][0]
      const events = yield* history("r1")
      const otherwise = events.map((event) =>
        event._tag === "RunResumed" ? { ...event, cause: "decision" as const } : event
      )
      assert.deepStrictEqual(told(otherwise), ["start", "decision"])
    }).pipe(memory)
  )

  it.effect("R-501 is known where word that was left is none, of which an old journal says nothing", () =>
    Effect.gen(function* () {
      yield* Run.start(later(), { ...r1, waitFor: "1 second" })
      yield* happens["word that is none"]
      yield* TestClock.adjust("1 hour")
      yield* resume(later())
      const events = yield* history("r1")
      assert.deepStrictEqual(told(events), ["start", "message"])
      assert.deepStrictEqual(told(events.map(unwritten)), ["start", "timer"])
    }).pipe(memory)
  )

  it.effect.prop(
    "R-501 is what whoever took it up has written, through whatever happens",
    [Schema.Array(Step).check(Schema.isMinLength(1), Schema.isMaxLength(8))],
    ([steps]) => {
      const { causes, layer } = watching()
      return Effect.gen(function* () {
        yield* Run.start(busy(), { ...r1, waitFor: "1 second" })
        for (const step of steps) yield* Effect.ignore(happens[step])
        const events = yield* history("r1")
        const found = ["start", ...written(events)]
        assert.deepStrictEqual(told(events), found)
        assert.deepStrictEqual(causes(), found)
        // An old journal does not say what word was refused that was left for it; all the rest can be seen in it.
        if (!steps.some((step) => leaves.has(step))) assert.deepStrictEqual(told(events.map(unwritten)), found)
      }).pipe(Effect.provide(layer), memory)
    },
    { arbitrary: { runs: 200 } }
  )
})
