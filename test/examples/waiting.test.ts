import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Desk } from "espalier/run"

import { desk } from "../../examples/waiting/desk.ts"
import { withProcesses } from "../fixtures/real.ts"
import { program } from "./patterns.ts"
import { folder } from "./release-desk/folder.ts"

const start = (after: string, root: string, ...more: ReadonlyArray<string>) =>
  program("waiting", ["--after", after, "--folder", root, ...more])

describe("the run that waits", () => {
  it("holds as a desk", () => {
    assert.deepStrictEqual(Desk.check(desk("2 days")), [])
  })

  withProcesses("ends with its process, goes on in another one, and is over in a third", () =>
    Effect.gen(function* () {
      const root = yield* folder({})
      const first = yield* start("2 seconds", root)
      assert.strictEqual(first.code, 4, first.stderr)
      assert.include(first.stdout, `Starting the run graft in ${join(root, "journal.db")}\n`)
      assert.match(
        first.stdout,
        /^graft: Bellflower is grafted\nlook: open\nThe run waits until \S+, \S+ s from now\./m
      )
      // Each start before the time only looks; the first one after it goes on.
      const last = yield* Effect.repeat(start("2 seconds", root), { until: ({ code }) => code !== 4 })
      assert.strictEqual(last.code, 0, last.stderr)
      assert.include(last.stdout, "Taking up the run graft")
      assert.match(last.stdout, /^look: Bellflower has taken, grafted at \S+\nThe run is completed\.$/m)
      assert.match(last.stdout, /^graft +garden\.grafter +1 +accepted$/m)
      assert.match(last.stdout, /^look +garden\.watcher +1 +accepted$/m)
      const again = yield* start("2 seconds", root)
      assert.strictEqual(again.stdout, last.stdout)
    }).pipe(Effect.scoped)
  )

  withProcesses("is not begun without a time, and waits for it in every process", () =>
    Effect.gen(function* () {
      const root = yield* folder({})
      const misused = yield* start("soon", root)
      assert.deepStrictEqual(
        [misused.code, misused.stderr],
        [3, 'waiting: --after must be a duration such as "3 seconds" or "2 days", got soon\n']
      )
      const first = yield* start("1 day", root)
      assert.match(first.stdout, /, 86\d{3} s from now\. Start it again then\.$/m)
      const second = yield* start("1 day", root)
      assert.strictEqual(second.code, 4)
      assert.deepStrictEqual(second.stdout.match(/until \S+,/)?.[0], first.stdout.match(/until \S+,/)?.[0])
    }).pipe(Effect.scoped)
  )
})
