/**
 * Reads the functions of JavaScript and TypeScript in a process of its own, so that no file can take the desk down.
 *
 * The parser is exact, but it is native code that recurses: twenty kilobytes of `a=>a=>a=>…` overflow its stack and end
 * the process that runs it, and nothing in that process can catch it. So it runs elsewhere. When a file ends that
 * process, or keeps it too long, the file has no answer and the next one gets a new process.
 *
 * **Details**
 *
 * - One file at a time; the process starts with the first file and ends with the scope.
 * - After `maxLost` processes that were lost no further file is parsed: each costs a fraction of a second to replace, and
 *   a folder full of such files would cost minutes.
 *
 * **Gotchas**
 *
 * The limit is measured by the `Clock`: under a test clock that stands still nothing takes too long.
 *
 * @since 0.1.0
 */
import { Duration, Effect, Exit, Queue, Result, Schema, Scope, Stream } from "effect"
import type { Cause } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { Failure } from "espalier"

import { Functions } from "./functions.ts"
import type { Language } from "./languages.ts"

/**
 * A file and its text, as the process is asked.
 *
 * @category models
 * @since 0.1.0
 */
export const Question = Schema.fromJsonString(Schema.Struct({ path: Schema.String, text: Schema.String }))

/**
 * What the process answers.
 *
 * @category models
 * @since 0.1.0
 */
export const Answer = Schema.fromJsonString(Functions)

/**
 * Reads files one after the other.
 *
 * **Details**
 *
 * `functionsOf` gives no functions and a `problem` for a file that ends the parser or takes too long. It fails with
 * `capability` when no process can be started at all.
 *
 * @category models
 * @since 0.1.0
 */
export interface Parser {
  readonly functionsOf: (path: string, text: string) => Effect.Effect<Functions, Failure.Failure>
}

/**
 * Whether a file of a language belongs to the parser.
 *
 * @category queries
 * @since 0.1.0
 */
export const reads = (language: Language): boolean => language.name === "JavaScript" || language.name === "TypeScript"

interface Running {
  readonly scope: Scope.Closeable
  readonly questions: Queue.Queue<string, Cause.Done>
  readonly answers: Queue.Queue<string, Cause.Done>
}

const unread = (reason: string): Functions => ({
  functions: [],
  exact: true,
  problem: { line: 0, reason, refused: true }
})

const encode = Schema.encodeSync(Question)
const decode = Schema.decodeResult(Answer)

/**
 * Makes a parser that lives as long as the scope.
 *
 * **Details**
 *
 * - `limit`: time for one file, default 10 seconds.
 * - `maxLost`: processes to lose at most, default 20.
 * - `script`: the program of the process, for tests.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  options?:
    | {
        readonly limit?: Duration.Input | undefined
        readonly maxLost?: number | undefined
        readonly script?: string | undefined
      }
    | undefined
): Effect.fn.Return<Parser, never, Scope.Scope | ChildProcessSpawner.ChildProcessSpawner> {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const scope = yield* Effect.scope
  const limit = Duration.fromInputUnsafe(options?.limit ?? "10 seconds")
  const program = options?.script ?? `${import.meta.dirname}/parse.ts`
  const command = ChildProcess.make(process.execPath, ["--disable-warning=ExperimentalWarning", program], {
    stderr: "ignore",
    killSignal: "SIGKILL"
  })
  const maxLost = options?.maxLost ?? 20
  let running: Running | undefined
  let lost = 0

  const start = Effect.fnUntraced(function* () {
    const own = yield* Scope.fork(scope)
    const handle = yield* Effect.mapError(Scope.provide(spawner.spawn(command), own), (error) =>
      Failure.capability(`no process for parsing can be started: ${error.message}`)
    )
    const questions = yield* Queue.unbounded<string, Cause.Done>()
    const answers = yield* Queue.unbounded<string, Cause.Done>()
    // Both pipes break when the process ends. That it ended shows as the end of the answers.
    yield* Stream.fromQueue(questions).pipe(
      Stream.encodeText,
      Stream.run(handle.stdin),
      Effect.ignore,
      Effect.forkIn(own)
    )
    yield* handle.stdout.pipe(
      Stream.decodeText,
      Stream.splitLines,
      Stream.runForEach((line) => Queue.offer(answers, line)),
      Effect.ignore,
      Effect.andThen(Queue.end(answers)),
      Effect.forkIn(own)
    )
    const made: Running = { scope: own, questions, answers }
    return made
  })

  const end = Effect.suspend(() => {
    const ended = running
    running = undefined
    return ended === undefined ? Effect.void : Scope.close(ended.scope, Exit.void)
  })

  const functionsOf = Effect.fnUntraced(function* (path: string, text: string) {
    if (lost >= maxLost) return unread(`not parsed: ${lost} files before it ended the parser`)
    running ??= yield* start()
    const { answers, questions } = running
    yield* Queue.offer(questions, `${encode({ path, text })}\n`)
    const answer = yield* Queue.take(answers).pipe(
      Effect.mapError(() => "not parsed: it ends the parser, which no file that a person writes does"),
      Effect.timeoutOrElse({
        duration: limit,
        orElse: () => Effect.fail(`not parsed: the parser takes longer than ${Duration.format(limit)}`)
      }),
      Effect.flatMap((line) =>
        Effect.mapError(Effect.fromResult(decode(line)), () => "not parsed: the parser gave no valid answer")
      ),
      // An answer that comes too late must not be taken for that of the next question.
      Effect.onInterrupt(() => end),
      Effect.result
    )
    if (Result.isSuccess(answer)) return answer.success
    lost += 1
    yield* end
    return unread(answer.failure)
  })
  return { functionsOf }
})
