/**
 * What a process or a thread writes: read until it ends, line by line, and passed to the log or to a function.
 *
 * The reader outlives the request to stop, so that nobody blocks on a full pipe while shutting down, and the last lines
 * are not lost.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import { showPath } from "./errors.ts"
import { type Line, Lines } from "./lines.ts"
import { tellInfo, tellWarning } from "./telling.ts"
import { trouble } from "./trouble.ts"

/** Which of the two it was written to. */
export type Source = "stdout" | "stderr"

/** Where lines go. */
export type Output<E, R> = "log" | "ignore" | ((line: string, from: Source) => Effect.Effect<unknown, E, R>)

/** How long the last lines may take after the end of the one who wrote them. */
export const drainTime = "1 second"

const tailLines = 20
const tailLine = 500

/** The last lines of stderr, for errors. */
export class Tail {
  readonly lines: Array<string> = []

  add(line: string): void {
    this.lines.push(line.length > tailLine ? `${line.slice(0, tailLine)}…` : line)
    if (this.lines.length > tailLines) this.lines.shift()
  }
}

interface Options<E, R> {
  readonly path: ReadonlyArray<string>
  readonly output: Output<E, R>
  /** sees each line before it is passed on */
  readonly seen: (line: string, from: Source) => void
}

/** Reads one stream to its end. */
const consume = <E, R, E2>(
  stream: Stream.Stream<Uint8Array, E2>,
  from: Source,
  { path, output, seen }: Options<E, R>
): Effect.Effect<void, E | E2, R> => {
  const lines = new Lines()
  const annotations = { path: showPath(path), stream: from }
  const pass = ({ text, cut }: Line): Effect.Effect<unknown, E, R> => {
    seen(text, from)
    if (output === "ignore") return Effect.void
    if (output !== "log") return output(text, from)
    return (from === "stdout" ? tellInfo(text) : tellWarning(text)).pipe(
      Effect.annotateLogs(cut ? { ...annotations, cut } : annotations)
    )
  }
  return Stream.decodeText(stream).pipe(
    Stream.runForEach((text) => Effect.forEach(lines.push(text), pass, { discard: true })),
    Effect.andThen(Effect.suspend(() => Effect.forEach(lines.end(), pass, { discard: true })))
  )
}

/** Reads both streams to their end. */
export const consumeBoth = <E, R, E2>(
  streams: Readonly<Record<Source, Stream.Stream<Uint8Array, E2>>>,
  options: Options<E, R>
): Effect.Effect<void, E | E2, R> =>
  Effect.all([consume(streams.stdout, "stdout", options), consume(streams.stderr, "stderr", options)], {
    concurrency: 2,
    discard: true
  })

/** Readers at work. */
export interface Readers<E> {
  /** never succeeds; fails when a reader fails */
  readonly failing: Effect.Effect<never, E>
  /** waits until all was read, but not for ever: somebody else may hold the pipe open; fails when a reader failed */
  readonly drained: Effect.Effect<void, E>
}

/**
 * Makes a place for readers in the incarnation's scope. What is acquired afterwards is released before they are
 * interrupted, and they get the time to finish.
 */
export const place: Effect.Effect<
  <E, R>(path: ReadonlyArray<string>, reading: Effect.Effect<void, E, R>) => Effect.Effect<Readers<E>, never, R>,
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const scope = yield* Effect.flatMap(Effect.scope, Scope.fork)
  let finish: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void> = () => Effect.void
  yield* Effect.addFinalizer((exit) => finish(exit))
  return (path, reading) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkIn(reading, scope)
      // In a finalizer too, where nothing else can be interrupted.
      const ended = Effect.timeoutOption(Effect.interruptible(Fiber.await(fiber)), drainTime)
      const cutOff = Effect.annotateLogs(
        Effect.logWarning("the rest of the output is not read: the pipe is still open, or its reader is busy"),
        { path: showPath(path) }
      )
      /** how the reading went is told once */
      let told = false
      const tell = <E>(exit: Exit.Exit<void, E> | undefined): Effect.Effect<void, E> => {
        if (told) return Effect.void
        told = exit === undefined || Exit.isFailure(exit)
        return exit === undefined ? cutOff : exit
      }
      const drained = Effect.suspend(() =>
        told ? Effect.void : Effect.flatMap(ended, (exit) => tell(exit._tag === "None" ? undefined : exit.value))
      )
      finish = (exit) => Effect.catch(drained, (error) => trouble(path, exit, error))
      return { failing: Effect.andThen(Effect.flatMap(Fiber.await(fiber), tell), Effect.never), drained }
    })
})
