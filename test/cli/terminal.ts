/** The command in a pseudo-terminal of a width. */
import { execFile, execFileSync } from "node:child_process"

import { describe } from "@effect/vitest"
import { Effect } from "effect"

import { type Left, linesOf, invocation } from "./command.ts"

/** Runs its arguments after the first, the columns, in a pseudo-terminal, and copies what they write. */
const python = `
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    os.write(1, data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`

const quoted = (words: ReadonlyArray<string>): string =>
  words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ")

type Wrap = (columns: number, words: ReadonlyArray<string>) => readonly [string, ReadonlyArray<string>]

/** The ways to a pseudo-terminal. */
const ways: ReadonlyArray<Wrap> = [
  (columns, words) => ["python3", ["-c", python, String(columns), ...words]],
  (columns, words) => ["script", ["-qec", `stty cols ${columns}; exec ${quoted(words)}`, "/dev/null"]]
]

/** The first way that this machine has. */
const way = ways.find((wrap) => {
  const [program, args] = wrap(60, [process.execPath, "-p", "[process.stdout.isTTY, process.stdout.columns].join()"])
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() === "true,60"
  } catch {
    return false
  }
})

if (way === undefined)
  console.warn("No pseudo-terminal here (python3 or script): tests of the command in one are skipped")

/** Tests that need a pseudo-terminal: skipped where there is none; with `ESPALIER_REQUIRE_ALL=1` they fail instead. */
// oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- this makes a describe, and is none
export const describeInTerminal = describe.skipIf(way === undefined && process.env["ESPALIER_REQUIRE_ALL"] !== "1")

/** Runs `espalier ARGS` in a terminal of that width. What it says beside its output is in it, too. */
export const inTerminal = (
  journal: string,
  args: ReadonlyArray<string>,
  options: { readonly columns: number; readonly env?: Record<string, string> }
): Effect.Effect<Omit<Left, "err">> =>
  Effect.callback((resume) => {
    if (way === undefined) return resume(Effect.die(new Error("there is no way to a pseudo-terminal here")))
    const { env, words } = invocation(journal, args)
    const [program, wrapped] = way(options.columns, words)
    const child = execFile(
      program,
      wrapped,
      { env: { PATH: process.env["PATH"], ...env, TERM: "xterm-256color", ...options.env } },
      (error, out) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1
        resume(Effect.succeed({ code, out: linesOf(out.replaceAll("\r\n", "\n")) }))
      }
    )
    child.stdin?.end()
    return Effect.sync(() => child.kill("SIGKILL"))
  })
