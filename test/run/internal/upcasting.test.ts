import { assert, describe, it } from "@effect/vitest"
import { Result, type Schema } from "effect"
import { RunEvent } from "espalier/run"

import { fromRecord, refusal, toRecord } from "../../../src/run/internal/log.ts"
import { storedType, upcast, type Upcasters } from "../../../src/run/internal/upcasting.ts"

/** A later release: a notice had no `subject` at first, and then its `what` was called `kind`. */
const later: Upcasters = {
  Noticed: [
    ({ note, kind }) => ({ note: note ?? "", kind: kind ?? "", subject: "" }),
    ({ kind, note, subject }) => ({ note: note ?? "", what: kind ?? "", subject: subject ?? "" })
  ]
}

const notice = { _tag: "Noticed", at: 7, subject: "", what: "late", note: "Too late" } as const

const stored: ReadonlyArray<readonly [string, Schema.Json]> = [
  ["Noticed", { kind: "late", note: "Too late" }],
  ["Noticed.2", { kind: "late", note: "Too late", subject: "" }],
  ["Noticed.3", { what: "late", note: "Too late", subject: "" }]
]

describe("fromRecord", () => {
  it.each(stored)("R-308 brings a %s up to the latest version, one step at a time", (type, data) => {
    assert.deepStrictEqual(fromRecord({ type, at: 7, data }, later), Result.succeed(notice))
  })

  it("R-308 reads what it writes, whatever version it is", () => {
    const { data, type } = toRecord(notice)
    assert.strictEqual(type, "Noticed")
    assert.deepStrictEqual(fromRecord({ type, at: 7, data }), Result.succeed(notice))
    assert.strictEqual(storedType("Noticed", later), "Noticed.3")
    const written = { type: storedType("Noticed", later), at: 7, data }
    assert.deepStrictEqual(fromRecord(written, later), Result.succeed(notice))
  })

  it("R-308 does not change what is stored", () => {
    const data = Object.freeze({ kind: "late", note: "Too late" })
    fromRecord({ type: "Noticed", at: 7, data }, later)
    assert.deepStrictEqual(data, { kind: "late", note: "Too late" })
  })

  const refused: ReadonlyArray<readonly [string, string, string]> = [
    ["Noticed.4", "RunTooNew", "its event 5 is a Noticed.4, which this one knows up to version 3"],
    ["Noticed.10", "RunTooNew", "its event 5 is a Noticed.10, which this one knows up to version 3"],
    ["Routed.2", "RunTooNew", "its event 5 is a Routed.2, which this one knows up to version 1"],
    ["Danced", "RunTooNew", "its event 5 is a Danced, which this one does not know at all"],
    ["Danced.2", "RunTooNew", "its event 5 is a Danced.2, which this one does not know at all"],
    ["Noticed.1", "RunUntrusted", 'version 5 on: an event of the type "Noticed.1"'],
    ["Noticed.02", "RunUntrusted", 'version 5 on: an event of the type "Noticed.02"'],
    ["Noticed.", "RunUntrusted", 'version 5 on: an event of the type "Noticed."'],
    ["noticed", "RunUntrusted", 'version 5 on: an event of the type "noticed"'],
    ["constructor", "RunUntrusted", 'version 5 on: an event of the type "constructor"'],
    ["Noticed.3\n", "RunUntrusted", "version 5 on: an event of the type"]
  ]
  it.each(refused)("R-308 tells newer code from damage: %j", (type, error, message) => {
    const read = fromRecord({ type, at: 7, data: { what: "late", note: "", subject: "" } }, later)
    if (Result.isSuccess(read)) return assert.fail(`${type} was read`)
    const refusing = refusal("r1", 5, read.failure)
    assert.strictEqual(refusing._tag, error)
    assert.include(refusing.message, message)
  })

  it("R-308 takes a step that throws for damage, and so what the latest schema does not take", () => {
    const strict: Upcasters = {
      Noticed: [
        () => {
          throw new Error("no kind")
        }
      ]
    }
    const why = (table: Upcasters) =>
      Result.match(fromRecord({ type: "Noticed", at: 7, data: {} }, table), {
        onSuccess: () => "read",
        onFailure: ({ _tag }) => _tag
      })
    assert.deepStrictEqual([why(strict), why({ Noticed: [() => ({ subject: 1 })] })], ["Damaged", "Damaged"])
  })
})

describe("upcast", () => {
  it("R-308 knows each event of this release by its name", () => {
    for (const { fields } of RunEvent.RunEvent.members) {
      const name = fields._tag.schema.literal
      assert.deepStrictEqual(upcast(name, {}), Result.succeed({ name, data: {} }))
    }
  })
})
