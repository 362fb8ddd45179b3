/** Every worker of the examples of patterns holds to what any worker has to hold to. */
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Desk, type Worker } from "espalier/run"
import { WorkerSuite } from "espalier/testing"

import { desk as library } from "../../examples/graph/desk.ts"
import { desk as newsroom } from "../../examples/pipeline/desk.ts"
import { Folder, make as surveyOffice } from "../../examples/planned/desk.ts"
import * as Script from "../../examples/planned/script.ts"
import { desk as editing } from "../../examples/swarm/desk.ts"
import { withProcesses } from "../fixtures/real.ts"
import { folder } from "./release-desk/folder.ts"

const files = {
  "changes.md": "## 1.0.0\n\n### Added\n\n- The till\n",
  "prices.json": "[1, 2]",
  "till.ts": "export {}\n"
}

const research = { changes: [{ release: "1.0.0", group: "Added", text: "The till" }], stray: 0 }
const found = { tried: ["till"], total: 1, passages: [{ file: "a.md", line: 1, text: "The till" }], verdict: "thin" }
const measured = { files: 1, numbers: { words: 3 }, broken: [] }
const text = "The till of Amina costs 300."

/** An input that each worker answers, and one on which it fails where there is one; `root` is the folder of the files. */
const inputs = (root: string): Readonly<Record<string, ReadonlyArray<Readonly<Record<string, unknown>>>>> => ({
  "press.reader": [
    { file: join(root, "changes.md"), fault: "none" },
    { file: join(root, "gone.md"), fault: "none" }
  ],
  "press.analyst": [
    { research, fault: "none" },
    { research, fault: "analysis" }
  ],
  "press.writer": [
    { research, analysis: null, fault: "none" },
    { research: null, analysis: null, fault: "none" }
  ],
  "library.searcher": [
    { folder: root, enough: 1, terms: ["till"] },
    { folder: join(root, "gone"), enough: 1, terms: ["till"] }
  ],
  "library.relater": [{ found }],
  "library.speller": [
    { folder: root, term: "tills" },
    { folder: join(root, "gone"), term: "tills" }
  ],
  "library.writer": [
    { term: "till", found },
    { term: "till", found: null }
  ],
  "survey.prose": [{ kinds: ["prose"] }],
  "survey.code": [{ kinds: ["code"] }],
  "survey.data": [{ kinds: ["data"] }],
  "survey.plain": [{ kinds: ["prose", "code", "data"] }],
  "desk.editor": [{ survey: { prose: measured } }],
  "editing.drafter": [{ source: text, again: true }],
  "editing.shortener": [{ text, limit: 3, keep: ["Amina"] }],
  "editing.critic": [{ text: "The till.", source: text, limit: 3 }]
})

const seats = [newsroom, library, surveyOffice(Script.make()), editing].flatMap((desk) => Desk.seats(desk))

describe("workers of the patterns", () => {
  withProcesses.each(seats)("R-804 R-701 $name passes the suite", ({ name, worker }) =>
    Effect.gen(function* () {
      const root = yield* folder(files)
      const [good = {}, failing] = inputs(root)[name] ?? []
      const findings = yield* WorkerSuite.check(worker as Worker.Worker<Folder | NodeServices.NodeServices>, {
        inputs: [good],
        ...(failing === undefined ? {} : { failingInputs: [failing] }),
        badInputs: [{}, null, { folder: 1, file: 1, text: 1, source: 1, research: 1, found: 1, survey: 1, term: 1 }]
      }).pipe(Effect.provideService(Folder, root))
      assert.deepStrictEqual(findings, [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
