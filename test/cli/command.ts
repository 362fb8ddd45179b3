/** The command as a process of its own. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterAll } from "@effect/vitest"
import { Effect } from "effect"

const main = join(import.meta.dirname, "../../src/cli/main.ts")

/** Where the processes of a test file find what they have compiled: most of the time of one is that. */
const compiled = mkdtempSync(join(tmpdir(), "espalier-compiled-"))
afterAll(() => rmSync(compiled, { recursive: true, force: true }))

/** What a process has left: its exit code and its lines. */
export interface Left {
  readonly code: number
  readonly out: ReadonlyArray<string>
  readonly err: ReadonlyArray<string>
}

const linesOf = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.replace(/\n$/, "").split("\n"))

/** Runs `espalier ARGS` on a journal, with nothing else in its environment but `env`. */
export const espalier = (
  journal: string,
  args: ReadonlyArray<string>,
  options: { readonly env?: Record<string, string>; readonly input?: string } = {}
): Effect.Effect<Left> =>
  Effect.callback<Left>((resume) => {
    const child = execFile(
      process.execPath,
      ["--conditions=@espalier/source", main, ...args],
      { env: { ESPALIER_JOURNAL: journal, NODE_COMPILE_CACHE: compiled, ...options.env }, maxBuffer: 64 * 1024 * 1024 },
      (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1
        resume(Effect.succeed({ code, out: linesOf(out), err: linesOf(err) }))
      }
    )
    child.stdin?.end(options.input ?? "")
    return Effect.sync(() => child.kill("SIGKILL"))
  })
