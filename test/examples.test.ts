/** Each numbered example runs in a process of its own and prints what it promises. */
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { withProcesses } from "./fixtures/real.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const printed: Readonly<Record<string, RegExp>> = {
  "01-first-tree.ts": /^poller: running, incarnation 2\nclerk: running, incarnation 1\n$/m,
  "02-first-actor.ts": /^total 250\nshop\/Till crashed on Sell\ntotal 100\n$/,
  "03-typed-failures.ts": /^draft: running\noffice: backing-off\nphoto: failed\n$/,
  "04-dynamic.ts":
    /^Ada owes 250, booking 1001\nBob owes 100, .*\nhotel\/Accounts refused "3": max-children\nAda owes 80, booking 1002\nCleo owes 10, booking 1\nLedgers: 0, 1, 2, 3\nAccounts: 1, 4\n$/,
  "05-watch-and-registry.ts":
    /^ann carries a letter\noffice\/ann crashed on Carry\nann carries a book\nann is not registered in Couriers\nann is gone\n$/,
  "06-tasks.ts": /^printed to Ada\nTimedOut 1 "to Bob"\nFailed 2 ""\nprinted to Cyd\nended by a blank page\n$/,
  "07-processes-and-threads.ts": /^(shop\/printer: sh \(pid\) ended with code 7: jam\n){2}closed, 0 left behind\n$/
}

const run = (file: string) =>
  Effect.promise(() =>
    promisify(execFile)(process.execPath, ["--conditions=@espalier/source", `examples/${file}`], { cwd: root })
  )

describe("examples", () => {
  it("are all listed here", () => {
    const files = readdirSync(`${root}/examples`).filter((name) => name.endsWith(".ts"))
    assert.deepStrictEqual(files.toSorted(), Object.keys(printed).toSorted())
  })

  // Each example is a program that a reader runs as it stands.
  withProcesses.each(Object.entries(printed))("%s prints what it promises", ([file, expected]) =>
    Effect.map(run(file), ({ stdout }) => assert.match(stdout, expected))
  )
})
