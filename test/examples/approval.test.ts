import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "espalier/journal"
import { Desk, Reviewers, Run } from "espalier/run"

import desk from "../../examples/approval/desk.ts"
import people from "../../examples/approval/people.json" with { type: "json" }
import { espalier } from "../cli/inside.ts"
import { withCommand, withProcesses } from "../fixtures/real.ts"
import { program } from "./patterns.ts"

/** Many processes, one after the other. */
const many = 180_000

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "espalier-approval-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const decide = (by: string) => Effect.result(Run.decide({ review: "r1/review/1", decision: "approve", by }))

describe("the desk that asks people", () => {
  it("holds as a desk", () => {
    assert.deepStrictEqual(Desk.check(desk), [])
  })

  // Real time: the warehouse of the example takes two seconds.
  it.live("asks two people of finance about what is dear, and nobody else", () =>
    Effect.gen(function* () {
      const { reviews, status } = yield* Run.start(desk, {
        id: "r1",
        input: { order: "1044" },
        requester: "ann",
        log: false
      })
      const [review] = reviews
      assert.deepStrictEqual(
        [status, review?.facts["rule"], review?.facts["risk"], review?.facts["arguments"]],
        ["waiting", "over-500", "critical", { order: "1044", to: "Flo", amount: 890 }]
      )
      const heard: Array<string> = []
      for (const by of ["ann", "eve", "bob", "gus"]) {
        const said = yield* decide(by)
        if (said._tag === "Success") heard.push(`${by}: ${said.success._tag}`)
        else heard.push(`${by}: ${said.failure._tag === "CommandRefused" ? said.failure.because : said.failure._tag}`)
      }
      // Gus stands in for Cem.
      assert.deepStrictEqual(heard, ["ann: self-approval", "eve: not-a-reviewer", "bob: Voted", "gus: Applied"])
    }).pipe(Effect.provide(Reviewers.layer(people)), Effect.provide(Journal.layerMemory))
  )

  withProcesses(
    "pays once, whatever is killed, and as a person has changed it",
    () =>
      Effect.gen(function* () {
        const root = yield* folder
        const { code, stderr, stdout } = yield* program("approval", ["--folder", root])
        assert.strictEqual(code, 0, `${stdout}${stderr}`)
        assert.strictEqual(stdout.match(/^\(killed with SIGKILL\)$/gm)?.length, 2)
        assert.match(stdout, /approve by ann is refused \(self-approval\)/)
        assert.match(stdout, /^refund: \{"order":"1043","to":"Dan","amount":45\}$/m)
        assert.match(stdout, /reject by cem is refused \(already-decided\)/)
        assert.match(stdout, /^letter: .* we have paid back 40 € for your order 1043\./m)
        const [, till = ""] = stdout.split("\nThe till:\n")
        assert.match(till, /^\{"key":"\w+","order":"1043","to":"Dan","amount":40\}\n\nIt was paid once\.$/m)
      }).pipe(Effect.scoped),
    many
  )

  withCommand(
    "R-306 what somebody decides is looked at by the directory of whoever carries the run out",
    () =>
      Effect.gen(function* () {
        const root = yield* folder
        const here = (...args: ReadonlyArray<string>) => espalier(join(root, "journal.db"), args, { cwd: root })
        const at = (name: string) => join(import.meta.dirname, "../../examples/approval", name)
        const begun = yield* here("run", at("desk.ts"), "--id", "r1", "--as", "ann", "--input", `{"order":"1042"}`)
        assert.strictEqual(begun.code, 10, begun.err.join("\n"))
        // Without a directory of her own, Eve may.
        assert.strictEqual((yield* here("approve", "r1/review/1", "--as", "eve")).code, 0)
        const { code, err, out } = yield* here("resume", "r1", "--people", at("people.json"))
        assert.strictEqual(code, 10, err.join("\n"))
        assert.isTrue(out.some((line) => line.includes("r1/review/1  approve by eve refused, not-a-reviewer")))
        assert.isTrue(out.some((line) => line.startsWith("r1/review/1  action-approval of payment")))
      }).pipe(Effect.scoped),
    many
  )

  withProcesses("says what is wrong with its arguments", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* program("approval", ["--order=7"])
      assert.strictEqual(code, 3)
      assert.match(stderr, /^approval: Unknown option '--order'/)
    })
  )
})
