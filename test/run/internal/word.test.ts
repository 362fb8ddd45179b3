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

const refused = (id: number, type: string, why = ""): ReturnType<typeof wordOf> => ({
  _tag: "Noticed",
  subject: "",
  what: "refused-command",
  note: `Word number ${id} that was left in the journal is none that a run takes: ${JSON.stringify(type)}${why}`,
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

  const forged: ReadonlyArray<readonly [type: string, data: Schema.Json, why: string]> = [
    ["Reported", { task: "a", dispatch: "r1/a/1" }, ""],
    ["RunFinished", { status: "completed", degraded: false, note: "" }, ""],
    ["RunStarted", null, ""],
    ["Noticed", { subject: "", what: "stale", note: "forged" }, ""],
    ["HealthChanged", { worker: "d.one", health: "open", note: "" }, ""],
    [
      "ReviewDecided",
      { review: "r1/review/1", decision: "perhaps", by: "eve", note: "" },
      'decision must be "approve" | "reject" | "retry" | "accept-partial" | "answer" | "edit", got "perhaps"'
    ],
    ["ReviewDecided", { decision: "approve", by: "eve", note: "" }, "review is required"],
    ["ReviewDecided", null, "review is required; decision is required; by is required; note is required"],
    ["CancelRequested", "text", "by is required; note is required"],
    ["CancelRequested", ["by", "eve"], "by is required; note is required"],
    ["CancelRequested", { by: 3, note: "" }, "by must be a text, got 3"],
    [
      "AutonomyChanged",
      { from: "low", to: "almighty", by: "eve", note: "" },
      'to must be "low" | "medium" | "full", got "almighty"'
    ],
    ['a "type"\n', {}, ""],
    ["__proto__", { __proto__: 1 }, ""]
  ]
  it.each(forged)("what is no word is told as such: %s %j", (type, data, why) => {
    const expected = refused(9, type, why === "" ? "" : `, of which ${why}`)
    assert.deepStrictEqual(wordOf({ id: 9, run: "r1", type, at: 0, data }), expected)
  })

  const about = { review: "r1/review/1", by: "eve", note: "n" }
  const unsayable: ReadonlyArray<readonly [type: string, data: Schema.Json, why: string]> = [
    ["CancelRequested", { by: "eve", note: "" }, 'note must be a text that is not empty, got ""'],
    ["CancelRequested", { by: "eve", note: "\u200b\n" }, 'note must be a text that is not empty, got "\u200b\\n"'],
    ["CancelRequested", { by: " ", note: "n" }, 'by must be a text that is not empty, got " "'],
    [
      "CancelRequested",
      { by: "e".repeat(201), note: "n" },
      `by must be at most 200 characters, got "${"e".repeat(47)}…"`
    ],
    [
      "CancelRequested",
      { by: "eve", note: "n".repeat(8_001) },
      `note must be at most 8000 characters, got "${"n".repeat(47)}…"`
    ],
    ["ReviewWithdrawn", { ...about, note: "" }, 'note must be a text that is not empty, got ""'],
    ["ReviewWithdrawn", { review: "r1/review/1", note: "n" }, "by must be given: the run takes nothing back by word"],
    ["AutonomyChanged", { from: "low", to: "full", by: "", note: "" }, 'by must be a text that is not empty, got ""'],
    [
      "AutonomyChanged",
      { from: "low", to: "full", by: "Configuration", note: "" },
      'by must not be configuration, got "Configuration"'
    ],
    ["ReviewDecided", { ...about, decision: "approve", key: "" }, 'key must be a text of 1 to 200 characters, got ""'],
    ["ReviewDecided", { ...about, decision: "approve", via: "ann" }, 'via must not be said, got "ann"'],
    [
      "ReviewDecided",
      { ...about, decision: "approve", trace: "00-1-2-x" },
      'trace must be a W3C traceparent, got "00-1-2-x"'
    ],
    [
      "ReviewDecided",
      { ...about, decision: "approve", principal: { kind: "human", id: "ann" } },
      'by must be the name of principal, got "eve"'
    ],
    ["ReviewChanged", { ...about, what: "claimed", until: 0 }, "until must be later than now, by at most a day, got 0"],
    [
      "ReviewChanged",
      { ...about, what: "extended", millis: 0.5 },
      "millis must be a whole number > 0 of at most 100 years, got 0.5"
    ],
    [
      "ReviewChanged",
      { ...about, what: "reassigned", to: [] },
      "to must be 1 to 50 of those who may decide, got [0 items]"
    ]
  ]
  it.each(unsayable)(
    "D65 what nobody can have said names the field, what it must be, and what it is: %s %j",
    (type, data, why) => {
      assert.deepStrictEqual(wordOf({ id: 9, run: "r1", type, at: 0, data }), refused(9, type, `, of which ${why}`))
    }
  )

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
