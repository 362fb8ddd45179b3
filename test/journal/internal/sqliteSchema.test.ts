import { assert, describe, it } from "@effect/vitest"

import { applicationId, schemaVersion, versionOf } from "../../../src/journal/internal/sqliteSchema.ts"

describe("versionOf", () => {
  const journal = { applicationId, userVersion: schemaVersion, tables: 2 }
  const table: ReadonlyArray<readonly [Partial<typeof journal>, number | string]> = [
    [{ applicationId: 0, userVersion: 0, tables: 0 }, 0],
    [{ userVersion: 0, tables: 0 }, 0],
    [{}, schemaVersion],
    [{ userVersion: schemaVersion + 1 }, "JournalTooNew"],
    [{ applicationId: 0, userVersion: 0, tables: 1 }, "NotAJournal"],
    [{ applicationId: 0, tables: 0 }, "NotAJournal"],
    [{ applicationId: -5, tables: 0 }, "NotAJournal"]
  ]
  it.each(table)("a database that says %j is %s", (part, expected) => {
    const version = versionOf("journal.db", { ...journal, ...part })
    assert.strictEqual(typeof version === "number" ? version : version._tag, expected)
  })
})
