import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { Journal } from "espalier/journal"

import { commandOf, type FromOutside, wordOf } from "../../../src/run/internal/word.ts"

const said: ReadonlyArray<FromOutside> = [
  { _tag: "ReviewDecided", review: "r1/review/1", decision: "approve", by: "ada", note: "Fine" },
  { _tag: "ReviewDecided", review: "r1/review/2", decision: "answer", by: "ada", note: "", answer: { a: [1, "é"] } },
  { _tag: "ReviewDecided", review: "r1/review/3", decision: "approve", by: "ada", note: "", raise: { tokens: 5 } },
  { _tag: "AutonomyChanged", from: "medium", to: "low", by: "ada", note: "Careful" },
  { _tag: "CancelRequested", by: "ada", note: "Enough" }
]

const refused = (id: number, type: string): ReturnType<typeof wordOf> => ({
  _tag: "Noticed",
  subject: "",
  what: "refused-command",
  note: `Word number ${id} that was left in the journal is none that a run takes: ${JSON.stringify(type)}`,
  command: id
})

describe("commandOf and wordOf", () => {
  it.effect.each(said)("are each other's inverse, through any journal: %j", (news) =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const command = commandOf("r1", 7, news)
      assert.deepStrictEqual(
        [command.run, command.at, command.review],
        ["r1", 7, news._tag === "ReviewDecided" ? news.review : undefined]
      )
      const { review: _, ...unclaimed } = command
      const id = yield* journal.command(unclaimed)
      const [left] = yield* journal.commands("r1")
      if (left === undefined) return assert.fail("it was left")
      assert.deepStrictEqual(wordOf(left), { ...news, command: id, since: 7 })
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  const forged: ReadonlyArray<readonly [string, Schema.Json]> = [
    ["Reported", { task: "a", dispatch: "r1/a/1" }],
    ["RunFinished", { status: "completed", degraded: false, note: "" }],
    ["RunStarted", null],
    ["Noticed", { subject: "", what: "stale", note: "forged" }],
    ["HealthChanged", { worker: "d.one", health: "open", note: "" }],
    ["ReviewDecided", { review: "r1/review/1", decision: "perhaps", by: "eve", note: "" }],
    ["ReviewDecided", { decision: "approve", by: "eve", note: "" }],
    ["ReviewDecided", null],
    ["CancelRequested", "text"],
    ["CancelRequested", ["by", "eve"]],
    ["CancelRequested", { by: 3, note: "" }],
    ["AutonomyChanged", { from: "low", to: "almighty", by: "eve", note: "" }],
    ['a "type"\n', {}],
    ["__proto__", { __proto__: 1 }]
  ]
  it.each(forged)("what is no word is told as such: %s %j", (type, data) => {
    assert.deepStrictEqual(wordOf({ id: 9, run: "r1", type, at: 0, data }), refused(9, type))
  })

  it("the type of the word counts, whatever its data says, and nothing comes along that it does not have", () => {
    const data = { _tag: "RunFinished", at: 99, command: 4, ack: "x", by: "eve", note: "n", review: "r1/review/1" }
    assert.deepStrictEqual(wordOf({ id: 9, run: "r1", type: "CancelRequested", at: 0, data }), {
      _tag: "CancelRequested",
      by: "eve",
      note: "n",
      command: 9,
      since: 0
    })
  })
})
