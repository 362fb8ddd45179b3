/**
 * The command inside of this process: it sees the arguments, the environment, the folder and the streams of a process of its
 * own. What a process has beside that (signals, a real terminal, modules that Node loads) is shown with `command.ts`.
 */
import { Console } from "node:console"
import { Readable, Writable } from "node:stream"

import { ConfigProvider, Console as EffectConsole, Effect, Semaphore } from "effect"

import { run } from "../../src/cli/commands.ts"
import { ended } from "../../src/cli/ending.ts"
import { type Left, linesOf } from "./command.ts"

/** Puts values in the place of properties until that is undone. */
const replaced = (object: object, values: Readonly<Record<string, unknown>>): (() => void) => {
  const before = Object.keys(values).map((name) => [name, Object.getOwnPropertyDescriptor(object, name)] as const)
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
  }
  return () => {
    for (const [name, descriptor] of before)
      if (descriptor !== undefined) Object.defineProperty(object, name, descriptor)
  }
}

/** A stream that keeps what is written to it. `columns`: it is a terminal of that width. */
const kept = (columns: number | undefined) => {
  const parts: Array<string> = []
  const stream = new Writable({
    decodeStrings: false,
    write: (part: string, _, done) => {
      parts.push(part)
      done()
    }
  })
  if (columns !== undefined) Object.assign(stream, { isTTY: true, columns })
  return { parts, stream }
}

interface Options {
  readonly env?: Record<string, string>
  readonly input?: string
  readonly cwd?: string
  /** Standard output and what is said beside it are a terminal of that width. Default: pipes. */
  readonly columns?: number
}

// There is one process, and one folder that it is in.
const alone = Semaphore.makeUnsafe(1)

/** Runs `espalier ARGS` on a journal. */
export const espalier = (journal: string, args: ReadonlyArray<string>, options: Options = {}): Effect.Effect<Left> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const { columns, cwd = process.cwd(), input = "" } = options
      const [out, err, folder] = [kept(columns), kept(columns), process.cwd()]
      const env = { ESPALIER_JOURNAL: journal, ...options.env }
      const undo = [
        replaced(process, {
          argv: [...process.argv.slice(0, 2), ...args],
          env,
          stdin: Readable.from(input === "" ? [] : [Buffer.from(input)]),
          stdout: out.stream,
          stderr: err.stream
        }),
        replaced(globalThis, { console: new Console({ stdout: out.stream, stderr: err.stream }) })
      ]
      process.chdir(cwd)
      const restore = () => {
        process.chdir(folder)
        for (const each of undo) each()
      }
      return { env, err: err.parts, out: out.parts, restore }
    }),
    ({ env, err, out }) =>
      Effect.promise(async (signal) => {
        const command = run(args).pipe(
          Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
          Effect.provideService(EffectConsole.Console, console)
        )
        const code = ended(await Effect.runPromiseExit(command, { signal }))
        return { code, out: linesOf(out.join("")), err: linesOf(err.join("")) }
      }),
    ({ restore }) => Effect.sync(restore)
  ).pipe(alone.withPermit)
