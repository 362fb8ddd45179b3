/** Every worker of the desk holds to what any worker has to hold to. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { Desk } from "espalier/run"
import { WorkerSuite } from "espalier/testing"

import { desk, Subject } from "../../../examples/release-desk/desk.ts"
import * as Faults from "../../../examples/release-desk/faults.ts"
import * as Repository from "../../../examples/release-desk/Repository.ts"
import { withProcesses } from "../../fixtures/real.ts"
import { folder } from "./folder.ts"

const files = {
  "README.md": "# Till\n\n[Guide](guide.md) and [nothing](gone.md)\n",
  "guide.md": "# Guide\n",
  "CHANGELOG.md": "# Changelog\n\n## 1.0.0\n\n- First\n",
  "package.json": `{ "name": "till", "version": "1.0.1", "dependencies": { "left": "^1.0.0" } }`,
  "src/index.ts": "// TODO: round\nexport const total = (a: number, b: number) => a + b\n",
  "src/main.py": "import os\n\ndef main():\n    pass\n"
}

describe("workers of the release desk", () => {
  withProcesses.each(Desk.seats(desk))("R-701 $name passes the suite", ({ worker }) =>
    Effect.gen(function* () {
      const root = yield* folder(files)
      const repository = yield* Repository.open(root)
      const findings = yield* WorkerSuite.check(worker, {
        inputs: [{ root, runChecks: false }],
        badInputs: [{}, { root }, { root: 1, runChecks: false }, { root, runChecks: "no" }, null]
      }).pipe(Effect.provideService(Subject, { repository, strike: Faults.make([]) }))
      assert.deepStrictEqual(findings, [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
