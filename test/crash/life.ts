/** One life of the program: started, killed or not, and how it ended. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

import { Deferred, type Duration, Effect, Queue } from "effect"

import type { Settings } from "./child.ts"

/** How a life is lived: which program, and how long it may take before it counts as hung. */
export interface Manner {
  /** Where compiled modules are kept from one life to the next. */
  readonly cache: string
  readonly script?: string | undefined
  /** Default a minute; real work in it is well under one. */
  readonly bound?: Duration.Input | undefined
}

/**
 * How a life ended.
 *
 * - `killed`: as it was meant to. `over`: its runs were over before it came to the point.
 * - `failed`: by itself, before its runs were over. `hung`: not in time.
 */
export type Ending =
  | { readonly _tag: "killed" }
  | { readonly _tag: "over" }
  | { readonly _tag: "failed"; readonly told: string }
  | { readonly _tag: "hung" }

const program = fileURLToPath(new URL("child.ts", import.meta.url))

/** A living process. `ready` and `over` are its lines; `ended` is how it ended. */
export interface Process {
  readonly lines: Queue.Dequeue<string>
  readonly ended: Effect.Effect<Ending>
  readonly signal: (name: NodeJS.Signals) => void
}

/** Starts the program. */
export const begin = (settings: Settings, { cache, script = program }: Manner): Effect.Effect<Process> =>
  Effect.gen(function* () {
    const lines = yield* Queue.unbounded<string>()
    const ended = yield* Deferred.make<Ending>()
    const child = spawn(process.execPath, ["--conditions=@espalier/source", script, JSON.stringify(settings)], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_COMPILE_CACHE: cache }
    })
    let over = false
    let told = ""
    createInterface({ input: child.stdout }).on("line", (line) => {
      over ||= line === "over"
      Queue.offerUnsafe(lines, line)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => (told = `${told}${text}`.slice(-4_000)))
    child.on("close", (code, signal) => {
      const ending: Ending =
        code === 0 && over
          ? { _tag: "over" }
          : signal === "SIGKILL"
            ? { _tag: "killed" }
            : { _tag: "failed", told: `exit ${String(code ?? signal)}: ${told.trim()}` }
      Queue.offerUnsafe(lines, "closed")
      Deferred.doneUnsafe(ended, Effect.succeed(ending))
    })
    return { lines, ended: Deferred.await(ended), signal: (name) => void child.kill(name) }
  })

/** Lives one life to its end; a point in time is kept by this side. */
export const live = (settings: Settings, manner: Manner): Effect.Effect<Ending> =>
  Effect.gen(function* () {
    const { ended, lines, signal } = yield* begin(settings, manner)
    const { point } = settings
    const killing =
      point?._tag !== "millis"
        ? Effect.never
        : Queue.take(lines).pipe(
            Effect.andThen(Effect.sleep(point.millis)),
            Effect.andThen(Effect.sync(() => signal("SIGKILL"))),
            Effect.andThen(Effect.never)
          )
    return yield* Effect.raceFirst(ended, killing).pipe(
      Effect.timeoutOrElse({
        duration: manner.bound ?? "1 minute",
        orElse: () =>
          Effect.andThen(
            Effect.sync(() => signal("SIGKILL")),
            Effect.as(ended, { _tag: "hung" } as const)
          )
      }),
      Effect.onInterrupt(() =>
        Effect.andThen(
          Effect.sync(() => signal("SIGKILL")),
          ended
        )
      )
    )
  })
