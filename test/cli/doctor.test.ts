import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import {
  type Check,
  clockCheck,
  deskChecks,
  diskCheck,
  effectCheck,
  exitOf,
  nodeCheck,
  ownerCheck
} from "../../src/cli/doctor.ts"
import { withCommand } from "../fixtures/real.ts"
import { espalier } from "./inside.ts"

const now = 1_796_000_000_000
const owner = { epoch: 1, name: "7@host", since: 0, heartbeatAt: now - 1_000, released: false }
const mebi = 1024 * 1024

describe("what a doctor says", () => {
  const judged: ReadonlyArray<readonly [Check, Check["status"], string]> = [
    [nodeCheck("v22.19.0", ">=22.19"), "ok", "v22.19.0"],
    [nodeCheck("v26.1.0", ">=22.19"), "ok", "v26.1.0"],
    [nodeCheck("v22.9.1", ">=22.19"), "fail", "v22.9.1, and >=22.19 is needed"],
    [nodeCheck("v20.20.2", ">=22.19"), "fail", "v20.20.2, and >=22.19 is needed"],
    [effectCheck("4.1.0", "4.1.0"), "ok", "4.1.0"],
    [effectCheck("4.1.0", "3.19.0"), "warn", "4.1.0; a desk of this folder has 3.19.0"],
    [effectCheck("4.1.0", undefined), "warn", "4.1.0; there is none in this folder"],
    [clockCheck(now, undefined, undefined), "ok", "2026-11-30T00:53:20.000Z"],
    [clockCheck(now, now + 4_000, now - 1.4), "ok", "2026-11-30T00:53:20.000Z, 1 ms from the server's"],
    [clockCheck(now, now, now + 6_000), "warn", "2026-11-30T00:53:20.000Z, 6 s from the server's"],
    [clockCheck(now, now + 6_000, undefined), "warn", "the last event is of 2026-11-30T00:53:26.000Z"],
    [clockCheck(0, undefined, undefined), "fail", "1970-01-01T00:00:00.000Z"],
    [diskCheck(2048 * mebi), "ok", "2 GiB free"],
    [diskCheck(1023 * mebi), "warn", "1023 MiB free"],
    [diskCheck(63 * mebi), "fail", "63 MiB free"],
    [ownerCheck(undefined, now), "ok", "nobody, it is free"],
    [ownerCheck({ ...owner, released: true }, now), "ok", "nobody, it is free"],
    [ownerCheck(owner, now), "ok", "carried out by 7@host, last sign of life 1 s ago"],
    [
      ownerCheck(owner, now + 600_000),
      "warn",
      "7@host gave its last sign of life 10 min ago and has died or stands still"
    ]
  ]
  it.each(judged)("R-503 %j is %s: %s", (check, status, found) => {
    assert.strictEqual(check.status, status)
    assert.include(check.found, found)
    assert.strictEqual(check.advice === undefined, status === "ok")
    assert.notInclude(JSON.stringify(check), "sk-secret")
  })

  it("R-503 a desk is told by its findings, and what fails is the exit code", () => {
    const findings = [
      { rule: "no-worker", severity: "error", message: "the domain docs has no workers" },
      { rule: "no-estimate", severity: "warning", message: "a says nothing of tokens" }
    ] as const
    const checks = deskChecks("release", findings as unknown as Parameters<typeof deskChecks>[1])
    assert.deepStrictEqual(
      checks.map(({ found, status }) => [status, found]),
      [
        ["fail", "release: the domain docs has no workers"],
        ["warn", "release: a says nothing of tokens"]
      ]
    )
    assert.deepStrictEqual(deskChecks("release", []), [{ check: "desk", status: "ok", found: "release holds" }])
    assert.strictEqual(exitOf(checks), 3)
    assert.strictEqual(exitOf(checks.slice(1)), 0)
    assert.strictEqual(exitOf([...checks, diskCheck(0)]), 4)
  })
})

describe("espalier doctor", () => {
  const desk = (name: string) => join(import.meta.dirname, "desks", `${name}.ts`)

  withCommand(
    "R-503 looks at a journal and a desk, makes nothing, and tells no key",
    () =>
      Effect.gen(function* () {
        const path = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "espalier-doctor-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        const journal = join(path, "journal.db")
        const env = { ANTHROPIC_API_KEY: "sk-secret" }
        const ask = (...args: ReadonlyArray<string>) =>
          Effect.map(espalier(journal, ["doctor", "--json", ...args], { cwd: path, env }), ({ code, err, out }) => {
            assert.deepStrictEqual([out.length, err], [1, []])
            assert.notInclude(out[0], "sk-secret")
            const { checks, ok } = JSON.parse(out[0]!) as {
              readonly ok: boolean
              readonly checks: ReadonlyArray<Check>
            }
            assert.strictEqual(ok, code === 0)
            return { code, told: new Map(checks.map((each) => [each.check, each])) }
          })
        const before = yield* ask()
        assert.strictEqual(before.code, 0)
        assert.include(before.told.get("journal")?.found, "there is none at")
        assert.isFalse(before.told.has("key"))
        const input = JSON.stringify({ one: "well", other: "well" })
        yield* espalier(journal, ["run", desk("works"), "--id", "r1", "--input", input])
        const after = yield* ask(desk("works"))
        assert.strictEqual(after.code, 0)
        assert.include(after.told.get("events")?.found, "1 run, 10 events, ")
        assert.strictEqual(after.told.get("owner")?.found, "nobody, it is free")
        assert.strictEqual(after.told.get("desk")?.found, "works holds")
        const named = yield* ask(desk("named"))
        assert.deepStrictEqual([named.code, named.told.get("desk")?.status], [3, "fail"])
        writeFileSync(join(path, "none.db"), "no journal")
        const other = yield* ask("--journal", "none.db")
        assert.deepStrictEqual([other.code, other.told.get("journal")?.status], [4, "fail"])
        const text = yield* espalier(journal, ["doctor"], { cwd: path })
        assert.match(text.out[0]!, /^check +status +found +what to do$/)
        // Which keys a desk needs, it says where it is made.
        assert.notInclude(text.out.join("\n"), "ANTHROPIC_API_KEY")
      }),
    180_000
  )
})
