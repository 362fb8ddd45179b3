import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Delegation } from "espalier/observe"
import { Host, Notifier, Office, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, memory, task } from "../run/desks.ts"
import { guarded, r1, say } from "../run/guards.ts"
import { resume } from "../run/living.ts"
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
      }).pipe(Effect.provide(layer), memory)
    }
  )
})
