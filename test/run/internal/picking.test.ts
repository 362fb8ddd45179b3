import { assert, describe, it } from "@effect/vitest"
import type { Journal } from "espalier/journal"

import { type Facts, nextWake, pick } from "../../../src/run/internal/picking.ts"

const listed = (run: string, fields: Partial<Journal.Listed> = {}): Journal.Listed => ({
  run,
  status: "running",
  desk: "desk",
  startedAt: 0,
  version: 1,
  updatedAt: 0,
  ...fields
})

const facts = (fields: Partial<Facts> = {}): Facts => ({
  now: 100,
  live: new Set<string>(),
  spoken: new Set(),
  asked: false,
  ...fields
})

const live = { live: new Set(["r"]) }
const spoken = { spoken: new Set(["r"]) }
const asked = { asked: true }

describe("pick", () => {
  const table: ReadonlyArray<readonly [Partial<Journal.Listed>, Partial<Facts>, boolean]> = [
    [{ status: "running" }, {}, true],
    [{ status: "running" }, live, false],
    [{ status: "running" }, { ...live, ...spoken, ...asked }, false],
    [{ status: "waiting" }, {}, false],
    [{ status: "waiting" }, asked, false],
    [{ status: "waiting" }, spoken, true],
    [{ status: "waiting" }, { ...spoken, ...live }, false],
    [{ status: "waiting" }, { spoken: new Set(["other"]) }, false],
    [{ status: "waiting", wakeAt: 99 }, {}, true],
    [{ status: "waiting", wakeAt: 100 }, {}, true],
    [{ status: "waiting", wakeAt: 101 }, {}, false],
    [{ status: "waiting", wakeAt: 101 }, spoken, true],
    [{ status: "waiting", wakeAt: 99 }, live, false],
    [{ status: "suspended", reason: "asked" }, {}, false],
    [{ status: "suspended", reason: "asked" }, spoken, false],
    [{ status: "suspended", reason: "asked" }, asked, true],
    [{ status: "suspended", reason: "asked" }, { ...asked, ...live }, false],
    [{ status: "suspended", reason: "quarantined" }, { ...asked, ...spoken }, false],
    [{ status: "suspended", reason: "untrusted-state" }, { ...asked, ...spoken }, false],
    [{ status: "suspended", reason: "version-mismatch" }, asked, true],
    [{ status: "suspended", reason: "version-mismatch" }, spoken, false],
    [{ status: "suspended" }, { ...asked, ...spoken }, false],
    [{ status: "suspended", reason: "asked", wakeAt: 1 }, {}, false],
    [{ status: "completed" }, { ...asked, ...spoken }, false],
    [{ status: "a state of another release" }, { ...asked, ...spoken }, false]
  ]
  it.each(table)("K2 of a run that is %j, with %j: %s", (row, rest, expected) => {
    assert.deepStrictEqual(pick([listed("r", row)], facts(rest)), expected ? ["r"] : [])
  })

  it("K1 whom nobody has touched for longest comes first, and of equals the one whose id does", () => {
    const runs = [
      listed("d", { updatedAt: 5 }),
      listed("b", { updatedAt: 9, status: "waiting", wakeAt: 0 }),
      listed("c", { updatedAt: 5 }),
      listed("a", { updatedAt: 50 }),
      listed("e", { updatedAt: -1 })
    ]
    assert.deepStrictEqual(pick(runs, facts()), ["e", "c", "d", "b", "a"])
    assert.deepStrictEqual(pick(runs.toReversed(), facts()), ["e", "c", "d", "b", "a"])
  })
})

describe("nextWake", () => {
  const table: ReadonlyArray<readonly [ReadonlyArray<Partial<Journal.Listed>>, number | undefined]> = [
    [[], undefined],
    [[{ status: "running" }], undefined],
    [[{ status: "waiting" }], undefined],
    [[{ status: "waiting", wakeAt: 7 }], 7],
    [[{ status: "waiting", wakeAt: 0 }], 0],
    [[{ status: "waiting", wakeAt: 9 }, { status: "waiting", wakeAt: 8 }, { status: "waiting" }], 8],
    [
      [
        { status: "suspended", wakeAt: 1 },
        { status: "waiting", wakeAt: 9 }
      ],
      9
    ]
  ]
  it.each(table)("of %j is %s", (rows, expected) => {
    assert.strictEqual(nextWake(rows.map((row, i) => listed(`r${i}`, row))), expected)
  })
})
