import { symlinkSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Desk, type Outcome } from "espalier/run"

import { desk } from "../../examples/graph/desk.ts"
import { related, search, spelt } from "../../examples/graph/terms.ts"
import { list, maxBytes, read } from "../../examples/shared/files.ts"
import { withProcesses } from "../fixtures/real.ts"
import { carryOut, ends, program, tagged } from "./patterns.ts"
import { folder } from "./release-desk/folder.ts"

const files = {
  "garden/pears.md": "Pears want \u001b[2Jpruning in winter\nPruning wants a ladder\nA ladder wants a shed\n",
  "garden/plums.txt": "Plums want no pruning in winter\nWinter is for ladder repairs\n",
  "shed.ts": "// the shed holds the ladder and the spade\n// the spade is sharp\n",
  ".hidden/pears.md": "Pears\n",
  "picture.bin": "pears"
}

const run = (term: string, enough: number) =>
  Effect.flatMap(folder(files), (root) => carryOut(desk, { term, folder: root, enough })).pipe(Effect.scoped)

const articleOf = ({ results }: Outcome.Outcome) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.String))(results["article"]?.output)

describe("the graph", () => {
  it("R-804 holds as a desk", () => {
    assert.deepStrictEqual(Desk.check(desk), [])
  })

  it("R-804 finds lines, the first term first, and terms that stand near them", () => {
    const texts = [
      { file: "a.md", text: "The ladder leans\nPears and pruning\nPruning on a ladder" },
      { file: "b.md", text: "PEARS in winter, pruning too" }
    ]
    const found = search(texts, ["pears", "ladder"], 4)
    assert.deepStrictEqual(
      found.passages.map(({ file, line }) => `${file}:${line}`),
      ["a.md:2", "b.md:1", "a.md:1", "a.md:3"]
    )
    assert.strictEqual(found.verdict, "enough")
    assert.deepStrictEqual(related(found), ["pruning"])
    assert.deepStrictEqual(related({ ...found, tried: ["pruning"] }), ["ladder", "pears"])
    assert.deepStrictEqual(spelt(texts, "pearsons"), ["pears"])
    assert.deepStrictEqual(spelt(texts, "pe"), [])
  })

  it.effect("R-804 R-205 writes at once when the first search is enough", () =>
    Effect.gen(function* () {
      const { outcome } = yield* run("pears", 1)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(ends(outcome), ["research accepted", "article accepted", "research/search accepted"])
      assert.deepStrictEqual(articleOf(outcome), [
        "1 line about pears. The first of them:",
        "garden/pears.md:1  Pears want [2Jpruning in winter"
      ])
    })
  )

  it.effect("R-804 R-205 goes deeper with related terms until it is enough", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* run("pruning", 4)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(
        tagged(events, "Reported").map(({ label, task }) => `${task} ${label}`),
        ["research/search thin", "research/deepen found", "research/search#2 enough", "article undefined"]
      )
      assert.strictEqual(articleOf(outcome)[0], "4 lines about pruning, winter. The first of them:")
    })
  )

  it.effect("R-804 R-205 never finds enough, stops at the cap, and writes about what there is", () =>
    Effect.gen(function* () {
      const chain = ["apples", "berries", "cherries", "damsons", "elders", "grapes"]
      const lines = chain.slice(1).flatMap((word, at) => [`${chain[at]} ${word}`, `${word} ${chain[at]}`])
      const root = yield* folder({ "fruit.md": lines.join("\n") })
      const { events, outcome } = yield* carryOut(desk, { term: "apples", folder: root, enough: 1000 })
      assert.strictEqual(outcome.status, "partial")
      const orders = tagged(events, "Reported").map(({ task }) => task.replace("research/", ""))
      const visits = ["search", "deepen", "search#2", "deepen#2", "search#3", "deepen#3", "search#4", "deepen#4"]
      assert.deepStrictEqual(orders, [...visits, "article"])
      assert.deepStrictEqual(
        tagged(events, "GroupStopping").map(({ group, reason }) => `${group} ${reason}`),
        ["research loop-detected"]
      )
      const article = articleOf(outcome)
      assert.strictEqual(article[0], "8 lines about apples, berries, cherries, damsons. The first of them:")
      const cut = "More could not be found: The node search was visited 4 times, which is its cap."
      assert.strictEqual(article.at(-1), cut)
    }).pipe(Effect.scoped)
  )

  it.effect("R-804 tries another spelling when there is nothing, and says so when that is of no use", () =>
    Effect.gen(function* () {
      const { outcome } = yield* run("pearsons", 1)
      assert.deepStrictEqual(ends(outcome).slice(2), [
        "research/search accepted",
        "research/respell accepted",
        "research/search#2 accepted"
      ])
      assert.strictEqual(articleOf(outcome)[0], "1 line about pearsons, pears. The first of them:")
      assert.deepStrictEqual(articleOf((yield* run("quinces", 1)).outcome), ["Nothing is said about quinces."])
    })
  )

  it.effect("R-804 a folder that is not there ends the run with the reason", () =>
    Effect.gen(function* () {
      const { outcome } = yield* carryOut(desk, { term: "pears", folder: "/nowhere/at/all", enough: 1 })
      assert.strictEqual(outcome.status, "failed")
      assert.match(outcome.results["research/search"]?.note ?? "", /nowhere\/at\/all cannot be read: NotFound/)
    })
  )

  it.effect("R-804 reads files within bounds, and follows no link in a circle", () =>
    Effect.gen(function* () {
      const root = yield* folder({ ...files, "large.txt": "a".repeat(maxBytes + 1), "binary.txt": "a\0b" })
      symlinkSync(".", join(root, "again"))
      const listed = yield* list(root, [".md", ".txt"])
      assert.deepStrictEqual(listed, ["binary.txt", "garden/pears.md", "garden/plums.txt", "large.txt"])
      const refusals = yield* Effect.forEach(["large.txt", "binary.txt", "garden", "gone.txt"], (file) =>
        Effect.flip(read(join(root, file)))
      )
      assert.deepStrictEqual(
        refusals.map(({ reason }) => reason),
        ["it has 1000001 bytes, more than 1000000", "it is not text", "it is no file but a Directory", "NotFound"]
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("R-804 refuses to begin with what makes no sense, with every problem", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(carryOut(desk, { term: "", folder: ".", enough: 0 }))
      const paths = refused._tag === "InputInvalid" ? refused.problems.map(({ path }) => path) : []
      assert.deepStrictEqual(paths, ["term", "enough"])
    })
  )

  withProcesses("R-804 runs as a program", () =>
    Effect.gen(function* () {
      const root = yield* folder(files)
      const done = yield* program("graph", ["pruning", root, "--enough", "4"])
      assert.strictEqual(done.code, 0, done.stderr)
      assert.match(done.stdout, /^research\/search: accepted \(thin\) from library\.searcher$/m)
      assert.match(done.stdout, /^\+ research\/search#2: deepen came out as "found"; next: search$/m)
      assert.match(done.stdout, /^4 lines about pruning, winter\./m)
      const misused = yield* program("graph", ["pruning", root, "--enough", "none"])
      assert.strictEqual(misused.code, 3)
      assert.strictEqual(misused.stderr, "graph: --enough must be a whole number from 1 on, got none\n")
    })
  )
})
