import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "effect"
import { Effect, Stream } from "effect"
import { Chain, Journal } from "espalier/journal"

import { contract } from "./chainContract.ts"
import { connection, freshPath, layerFresh, withJournal } from "./fixtures/folder.ts"

describe("in memory", () => {
  contract(Journal.layerMemory)
})

describe("in SQLite", () => {
  contract(layerFresh)
})

const event = (type: string, data: Schema.Json = null) => ({ type, at: 1, data })

/** A journal with one run of five events, changed by a hand that does not know of chains. */
const tampered = (sql: string) =>
  Effect.gen(function* () {
    const filename = yield* freshPath
    const open = withJournal(filename)
    const head = yield* open(
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const events = ["a", "b", "c", "d", "e"].map((name) => event("Noted", { 9: name, name }))
        yield* journal.append({ run: "r1", expected: 0, events })
        return yield* journal.head("r1")
      })
    )
    const database = yield* connection(filename)
    database.exec(sql)
    return { head, verify: (options?: Chain.Options) => open(Chain.verify("r1", options)) }
  })

const hands: ReadonlyArray<readonly [string, string, Chain.ChainBroken["problem"], number]> = [
  ["a value", `UPDATE events SET data = replace(data, 'c', 'x') WHERE version = 3`, "altered", 3],
  ["a space", `UPDATE events SET data = replace(data, ':', ': ') WHERE version = 3`, "altered", 3],
  ["the order of keys", `UPDATE events SET data = '{"name":"c","9":"c"}' WHERE version = 3`, "altered", 3],
  ["a key that comes twice", `UPDATE events SET data = '{"9":"x","9":"c","name":"c"}' WHERE version = 3`, "altered", 3],
  [
    "the way a letter is written",
    `UPDATE events SET data = replace(data, '"c"', '"\\u0063"') WHERE version = 3`,
    "altered",
    3
  ],
  ["data that is no JSON any more", `UPDATE events SET data = 'c' WHERE version = 3`, "altered", 3],
  ["a type", `UPDATE events SET type = 'Denied' WHERE version = 2`, "altered", 2],
  ["a time", `UPDATE events SET at = 2 WHERE version = 4`, "altered", 4],
  ["a hash", `UPDATE events SET hash = zeroblob(32) WHERE version = 5`, "altered", 5],
  ["a hash that is no hash", `UPDATE events SET hash = x'' WHERE version = 1`, "altered", 1],
  [
    "two rows that change places",
    `UPDATE events SET version = 99 WHERE version = 2; UPDATE events SET version = 2 WHERE version = 3;
    UPDATE events SET version = 3 WHERE version = 99`,
    "altered",
    2
  ],
  ["a row that is gone", `DELETE FROM events WHERE version = 2`, "missing", 2],
  ["the first row that is gone", `DELETE FROM events WHERE version = 1`, "missing", 1],
  [
    "a row that comes from elsewhere",
    `UPDATE events SET run = 'r2'; UPDATE events SET run = 'r1' WHERE version > 1`,
    "missing",
    1
  ]
]

describe("Chain.verify", () => {
  it.effect.each(hands)("R-304 finds what was changed by hand: %s", ([, sql, problem, version]) =>
    Effect.gen(function* () {
      const { verify } = yield* tampered(sql)
      const { damage, events, head } = yield* verify()
      assert.deepStrictEqual(
        [damage?.problem, damage?.version, events, head.version],
        [problem, version, version - 1, version - 1]
      )
      assert.include(damage?.message ?? "", `the run "r1"`)
    })
  )

  it.effect("R-304 finds an end that was cut off against the head that was kept, and against nothing else", () =>
    Effect.gen(function* () {
      const { head, verify } = yield* tampered("DELETE FROM events WHERE version > 3")
      assert.isUndefined((yield* verify()).damage)
      const cut = yield* verify({ head })
      assert.deepStrictEqual([cut.damage?.problem, cut.damage?.version, cut.events], ["cut", 3, 3])
      assert.strictEqual((yield* verify({ head: { hash: head.hash } })).damage?.problem, "replaced")
    })
  )

  it.effect("R-304 finds a whole new history against the head that was kept", () =>
    Effect.gen(function* () {
      const { head, verify } = yield* tampered("DELETE FROM events")
      assert.strictEqual((yield* verify({ head })).damage?.problem, "cut")
    })
  )
})

describe("Chain.verifyEvents", () => {
  const rows = Effect.gen(function* () {
    const journal = yield* Journal.Journal
    yield* journal.append({ run: "r1", expected: 0, events: [event("A"), event("B", "c"), event("C", [1])] })
    return yield* Stream.runCollect(journal.rows("r1"))
  }).pipe(Effect.provide(Journal.layerMemory))

  it.effect("R-304 takes the hash that others compute", () =>
    Effect.gen(function* () {
      const [first] = yield* rows
      // printf '%s\n["r1",1,"A",1]\nnull' "$(printf '0%.0s' {1..64})" | sha256sum
      assert.strictEqual(first?.hash, "facab06b8e03a46d1606200ee2b14f094f9e03472c867e873e4980766228ec75")
    })
  )

  it.effect("R-304 stops at the first place that does not hold, with what follows from it", () =>
    Effect.gen(function* () {
      const all = yield* rows
      const changed = all.map((row) => (row.version === 2 ? { ...row, data: '"d"' } : row))
      const { damage, events } = Chain.verifyEvents("r1", changed)
      assert.strictEqual(events, 1)
      assert.strictEqual(damage?.found, all[1]?.hash)
      assert.match(damage?.expected ?? "", /^[0-9a-f]{64}$/)
      assert.notStrictEqual(damage?.expected, damage?.found)
    })
  )

  it.effect("R-304 is of one run: its events are those of no other one", () =>
    Effect.gen(function* () {
      const all = yield* rows
      assert.isUndefined(Chain.verifyEvents("r1", all).damage)
      assert.strictEqual(Chain.verifyEvents("r2", all).damage?.version, 1)
    })
  )
})
