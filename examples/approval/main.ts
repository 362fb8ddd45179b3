/**
 * A refund that people let through, in processes that are killed.
 *
 * ```sh
 * npm run example examples/approval/main.ts
 * ```
 *
 * Each line that begins with `$` is a process of its own, which is the command of this package and knows nothing of the others.
 * Two of them are killed with SIGKILL: one while a question is open and other work is under way, one when the money has just
 * been paid and nobody has heard of it. In the end the till has one line.
 *
 * `--folder` names an empty folder for the journal and the till (default: one that is removed at the end). Exit codes: 0 it went
 * as told here, 2 it did not, 3 it could not run.
 *
 * Watch for: exit code 10 of a run that waits, 2 of a decision that does not count; the key in the till.
 *
 * @since 0.1.0
 */
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import { Effect, FileSystem, Path, Schedule, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

import { args, main } from "../shared/program.ts"

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const command = path("../../src/cli/main.ts")
const desk = path("desk.ts")
const people = path("people.json")

/** A word as a shell takes it; paths of this folder as seen from the repository. */
const shown = (word: string): string => {
  const short = word === desk || word === people ? `examples/approval/${word.split(/[\\/]/).at(-1)}` : word
  return /^[\w./:=-]+$/.test(short) ? short : `'${short}'`
}

/** When a process is killed, by the lines that it has printed so far; looked at again and again. */
type Killed = (lines: ReadonlyArray<string>) => Effect.Effect<boolean>

/** Runs `espalier WORDS` in a folder, and answers with the exit code; with none where it was killed. */
const espalier = (folder: string, words: ReadonlyArray<string>, killed?: Killed) =>
  Effect.scoped(
    Effect.gen(function* () {
      const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
      const { join } = yield* Path.Path
      console.log(`\n$ espalier ${words.map(shown).join(" ")}`)
      const child = yield* spawner.spawn(
        ChildProcess.make(process.execPath, ["--conditions=@espalier/source", command, ...words], {
          cwd: folder,
          env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(folder, "compiled") },
          extendEnv: true,
          stdin: "ignore"
        })
      )
      const lines: Array<string> = []
      let died = false
      const printing = Stream.runForEach(Stream.splitLines(Stream.decodeText(child.all)), (line) =>
        Effect.sync(() => {
          lines.push(line)
          console.log(line)
        })
      )
      const killing =
        killed === undefined
          ? Effect.never
          : Effect.andThen(
              Effect.repeat(
                Effect.suspend(() => killed(lines)),
                { until: (now) => now, schedule: Schedule.spaced("20 millis") }
              ),
              Effect.suspend(() => {
                died = true
                // An end by a signal counts as a failure.
                return Effect.ignore(child.kill({ killSignal: "SIGKILL" }))
              })
            )
      yield* Effect.raceFirst(printing, killing)
      const code = died ? undefined : Number(yield* child.exitCode)
      console.log(code === undefined ? "(killed with SIGKILL)" : `(exit code ${code})`)
      return code
    })
  )

const parse = () => parseArgs({ options: { folder: { type: "string" } } }).values

const program = Effect.gen(function* () {
  const given = yield* args(parse)
  const files = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const folder = given.folder ?? (yield* files.makeTempDirectoryScoped())
  yield* files.makeDirectory(folder, { recursive: true })
  const till = Effect.orElseSucceed(files.readFileString(join(folder, ".espalier/payments.jsonl")), () => "")
  const codes: Array<number | undefined> = []
  const step = (words: ReadonlyArray<string>, killed?: Killed) =>
    Effect.map(espalier(folder, words, killed), (code) => void codes.push(code))
  const finance = ["--people", people]
  const asked: Killed = (lines) => Effect.succeed(lines.some((line) => line.includes("asked, ")))
  const paying: Killed = () => Effect.map(till, (text) => text !== "")
  const resume = ["resume", "r1", ...finance]

  // The first process dies while somebody is asked how much, and the warehouse is asked, too.
  const input = JSON.stringify({ order: "1043" })
  yield* step(["run", desk, "--id", "r1", "--as", "ann", "--input", input, ...finance], asked)
  yield* step(["answer", "r1/review/1", "half", "--as", "eve"])
  yield* step(resume)

  yield* step(["reviews"])
  yield* step(["approve", "r1/review/2", "--as", "ann", ...finance])
  const because = "It had been lowered before"
  yield* step(["edit", "r1/review/2", "--set", "/amount=40", "--as", "bob", "--why", because, ...finance])
  // The next one dies when the money is gone, and nobody has heard of it.
  yield* step(resume, paying)
  yield* step(resume)

  yield* step(["reject", "r1/review/2", "--why", "Not this one", "--as", "cem", ...finance])
  yield* step(["approve", "r1/review/3", "--as", "ann", ...finance])
  yield* step(resume)

  const paid = yield* till
  console.log(`\nThe till:\n${paid}`)
  const once = paid.split("\n").length === 2
  console.log(once ? "It was paid once." : "It was not paid once.")
  const wanted = [undefined, 0, 10, 0, 2, 0, undefined, 10, 2, 0, 0]
  return once && wanted.join() === codes.join() ? 0 : 2
})

process.exitCode = await main("approval", Effect.scoped(program))
