/** The command as a process of its own. */
import { execFile, spawn } from "node:child_process"
import { join } from "node:path"

import { Effect } from "effect"

import { compiled } from "../fixtures/compiled.ts"

const main = join(import.meta.dirname, "../../src/cli/main.ts")

/** What a process has left: its exit code and its lines. */
export interface Left {
  readonly code: number
  readonly out: ReadonlyArray<string>
  readonly err: ReadonlyArray<string>
}

/** A text in lines. */
export const linesOf = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.replace(/\n$/, "").split("\n"))

/** The words of `espalier ARGS`, and the environment that it needs for a journal. */
export const invocation = (journal: string, args: ReadonlyArray<string>) => ({
  words: [process.execPath, "--conditions=@espalier/source", main, ...args],
  env: { ...compiled, ESPALIER_JOURNAL: journal }
})

interface Options {
  readonly env?: Record<string, string>
  readonly input?: string
  readonly cwd?: string
}

/** Runs a program with nothing in its environment but `env`. */
export const programme = (
  file: string,
  args: ReadonlyArray<string>,
  { cwd, env, input = "" }: Options = {}
): Effect.Effect<Left> =>
  Effect.callback<Left>((resume) => {
    const child = execFile(
      process.execPath,
      ["--conditions=@espalier/source", file, ...args],
      { env: { ...compiled, ...env }, cwd, maxBuffer: 64 * 1024 * 1024 },
      (error, out, err) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1
        resume(Effect.succeed({ code, out: linesOf(out), err: linesOf(err) }))
      }
    )
    child.stdin?.end(input)
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Runs `espalier ARGS` on a journal. */
export const espalier = (journal: string, args: ReadonlyArray<string>, options: Options = {}): Effect.Effect<Left> =>
  programme(main, args, { ...options, env: { ESPALIER_JOURNAL: journal, ...options.env } })

/** A process that goes on. `until`: waits for a text on its standard output. `left`: waits for its end. */
export interface Begun {
  readonly pid: number
  readonly until: (text: string) => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  readonly left: Effect.Effect<Left>
}

/** Begins `espalier ARGS`, and ends it with the scope. */
export const begin = (journal: string, args: ReadonlyArray<string>, cwd: string) =>
  Effect.acquireRelease(
    Effect.sync((): Begun & { readonly kill: () => void } => {
      const child = spawn(process.execPath, ["--conditions=@espalier/source", main, ...args], {
        env: { ...compiled, ESPALIER_JOURNAL: journal },
        cwd,
        stdio: ["ignore", "pipe", "pipe"]
      })
      let out = ""
      let err = ""
      let ended: Left | undefined
      const waiting = new Set<() => void>()
      const look = () => waiting.forEach((each) => each())
      child.stdout.on("data", (data) => {
        out += String(data)
        look()
      })
      child.stderr.on("data", (data) => {
        err += String(data)
      })
      child.on("close", (code) => {
        ended = { code: code ?? -1, out: linesOf(out), err: linesOf(err) }
        look()
      })
      const when = <A>(found: () => A | undefined): Effect.Effect<A> =>
        Effect.callback<A>((resume) => {
          const check = () => {
            const value = found()
            if (value === undefined) return
            waiting.delete(check)
            resume(Effect.succeed(value))
          }
          waiting.add(check)
          check()
          return Effect.sync(() => waiting.delete(check))
        })
      return {
        pid: child.pid ?? -1,
        until: (text) =>
          Effect.asVoid(
            when(() => (out.includes(text) ? true : ended === undefined ? undefined : fallen(text, ended)))
          ),
        signal: (signal) => Effect.sync(() => void child.kill(signal)),
        left: when(() => ended),
        kill: () => void child.kill("SIGKILL")
      }
    }),
    ({ kill }) => Effect.sync(kill)
  )

const fallen = (text: string, { code, err, out }: Left): never => {
  throw new Error(`ended with ${code} before it said ${text}: ${[...out, ...err].join("\n")}`)
}
