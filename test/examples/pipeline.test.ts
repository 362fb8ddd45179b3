import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Desk, type Outcome } from "espalier/run"

import { analyse, check, research, write } from "../../examples/pipeline/changes.ts"
import { desk } from "../../examples/pipeline/desk.ts"
import { withProcesses } from "../fixtures/real.ts"
import { carryOut, ends, program, tagged } from "./patterns.ts"
import { folder } from "./release-desk/folder.ts"

const changelog = [
  "# Changelog",
  "## 2.0.0",
  "### Added",
  "- `pay` takes cards",
  "  and coins, says `pay`",
  "- `refund` and `pay`",
  "### Fixed",
  "- Rounding \u001b[31mof totals\u001b[0m",
  "",
  "  A paragraph of its own",
  "## 1.0.0",
  "* The till"
].join("\n")

const article = [
  "4 changes in 2.0.0, 1.0.0.",
  "Added: 2 changes, most of all about pay, refund.",
  "Fixed: 1 change.",
  "Other: 1 change."
]

const run = (text: string, fault: "none" | "research" | "analysis" | "sloppy" = "none") =>
  Effect.gen(function* () {
    const root = yield* folder({ "changes.md": text })
    return yield* carryOut(desk, { file: join(root, "changes.md"), fault })
  }).pipe(Effect.scoped)

const articleOf = ({ results }: Outcome.Outcome) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.String))(results["article"]?.output)

describe("the pipeline", () => {
  it("R-804 holds as a desk", () => {
    assert.deepStrictEqual(Desk.check(desk), [])
  })

  it("R-804 finds changes by their headings, on one line each, without terminal escapes", () => {
    assert.deepStrictEqual(research(changelog), {
      changes: [
        { release: "2.0.0", group: "Added", text: "`pay` takes cards and coins, says `pay`" },
        { release: "2.0.0", group: "Added", text: "`refund` and `pay`" },
        { release: "2.0.0", group: "Fixed", text: "Rounding [31mof totals [0m" },
        { release: "1.0.0", group: "Other", text: "The till" }
      ],
      stray: 0
    })
  })

  it("R-804 checks every number of an article", () => {
    const found = research(changelog)
    const analysis = analyse(found)
    assert.deepStrictEqual(check(write(found, analysis), analysis), [])
    const wrong = write(found, { ...analysis, groups: analysis.groups.map((group) => ({ ...group, count: 7 })) })
    assert.deepStrictEqual(check(wrong, analysis), [
      'line 2 must begin with "Added: 2 changes"',
      'line 3 must begin with "Fixed: 1 change"',
      'line 4 must begin with "Other: 1 change"'
    ])
    assert.strictEqual(check([], analysis).length, 4)
  })

  it.effect("R-804 hands each output on, and ends with the article", () =>
    Effect.gen(function* () {
      const { outcome } = yield* run(changelog)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(ends(outcome), ["research accepted", "analysis accepted", "article accepted"])
      assert.deepStrictEqual(outcome.results["article"]?.output, article)
    })
  )

  it.effect("R-804 hands a wrong number back once, with what is wrong", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* run(changelog, "sloppy")
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(outcome.results["article"]?.output, article)
      const [, , first, second] = tagged(events, "Reported")
      assert.deepStrictEqual([first?.outcome, second?.outcome], ["rejected-quality", "accepted"])
      assert.match(first?.result.error?.reason ?? first?.note ?? "", /line 1 must begin with "4 changes in"/)
    })
  )

  it.effect("R-804 writes without numbers when nobody counts, and says so", () =>
    Effect.gen(function* () {
      const { outcome } = yield* run(changelog, "analysis")
      assert.strictEqual(outcome.status, "partial")
      assert.deepStrictEqual(ends(outcome), ["research accepted", "analysis failed", "article accepted"])
      const lines = articleOf(outcome)
      assert.strictEqual(lines[0], "What changed, uncounted:")
      assert.match(lines.at(-1) ?? "", /^Missing from analysis: /)
      assert.deepStrictEqual(
        outcome.missing.map(({ task }) => task),
        ["analysis"]
      )
    })
  )

  it.effect("R-804 writes nothing when nothing was found", () =>
    Effect.gen(function* () {
      for (const [text, fault] of [
        ["No bullets at all", "none"],
        [changelog, "research"]
      ] as const) {
        const { outcome } = yield* run(text, fault)
        assert.strictEqual(outcome.status, "failed")
        assert.deepStrictEqual(ends(outcome), ["research failed", "analysis blocked", "article failed"])
      }
    })
  )

  it.effect("R-804 takes what stands under no heading as missing, and goes on", () =>
    Effect.gen(function* () {
      const { outcome } = yield* run(`- lost\n${changelog}`)
      assert.strictEqual(outcome.status, "partial")
      assert.deepStrictEqual(ends(outcome), ["research partial", "analysis accepted", "article accepted"])
      assert.match(articleOf(outcome).at(-1) ?? "", /stray bullets, 1 stand/)
    })
  )

  withProcesses("R-804 runs as a program", () =>
    Effect.gen(function* () {
      const root = yield* folder({ "changes.md": changelog })
      const file = join(root, "changes.md")
      const done = yield* program("pipeline", [file])
      assert.strictEqual(done.code, 0, done.stderr)
      assert.include(done.stdout, `\n${article.join("\n")}\n`)
      assert.match(done.stdout, /^article +press\.writer +1 +accepted$/m)
      assert.strictEqual((yield* program("pipeline", [file, "--fault", "analysis"])).code, 2)
      const misused = yield* program("pipeline", [file, "--fault", "rain"])
      assert.strictEqual(misused.code, 3)
      assert.strictEqual(
        misused.stderr,
        "pipeline: --fault must be one of none, research, analysis, sloppy, got rain\n"
      )
    })
  )
})
