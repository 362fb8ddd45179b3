/** One life of the program: started, killed or not, and how it ended. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

import { Deferred, type Duration, Effect, Queue, type Scope } from "effect"

import { bundled } from "../fixtures/bundled.ts"
import type { Settings } from "./child.ts"

/** How a life is lived: which program, and how long it may take before it counts as hung. */
export interface Manner {
  /** Where compiled modules are kept from one life to the next. */
  readonly cache: string
  readonly script?: string | undefined
  /** Default a minute; real work in it is well under one. */
  readonly bound?: Duration.Input | undefined
  /** What is done when it says that it is at its point, and goes on. */
  readonly onSignal?: Effect.Effect<void> | undefined
}

/**
 * How a life ended.
 *
 * - `killed`: as it was meant to. `over`, `waiting`, `suspended`: by itself, as it says.
 * - `failed`: by itself, and nobody knows how. `hung`: not in time.
 */
export type Ending =
  | { readonly _tag: "killed" | "over" | "waiting" | "suspended" | "hung" }
  | { readonly _tag: "failed"; readonly told: string }

const ends = ["over", "waiting", "suspended"] as const

const program = fileURLToPath(new URL("child.ts", import.meta.url))

/** A living process: what it says, line by line, then `closed`; and how it ended. */
export interface Process {
  readonly lines: Queue.Dequeue<string>
  readonly ended: Effect.Effect<Ending>
  readonly signal: (name: NodeJS.Signals) => void
}

/** Starts the program, which does not outlive the scope. */
export const begin = (settings: object, { cache, script }: Manner): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lines = yield* Queue.unbounded<string>()
    const ended = yield* Deferred.make<Ending>()
    const file = script ?? (yield* Effect.promise(() => bundled(program)))
    const child = spawn(process.execPath, ["--conditions=@espalier/source", file, JSON.stringify(settings)], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { NODE_COMPILE_CACHE: cache, ...process.env }
    })
    let last = ""
    let told = ""
    createInterface({ input: child.stdout }).on("line", (line) => {
      last = line
      Queue.offerUnsafe(lines, line)
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => (told = `${told}${text}`.slice(-4_000)))
    child.on("close", (code, signal) => {
      const end = ends.find((each) => code === 0 && each === last)
      const ending: Ending =
        end !== undefined
          ? { _tag: end }
          : signal === "SIGKILL"
            ? { _tag: "killed" }
            : { _tag: "failed", told: `exit ${String(code ?? signal)}: ${told.trim()}` }
      Queue.offerUnsafe(lines, "closed")
      Deferred.doneUnsafe(ended, Effect.succeed(ending))
    })
    const kill = Effect.sync(() => child.kill("SIGKILL"))
    yield* Effect.addFinalizer(() => Effect.andThen(kill, Deferred.await(ended)))
    return { lines, ended: Deferred.await(ended), signal: (name) => void child.kill(name) }
  })

/** What is done from outside while a process lives. */
const meanwhile = ({ lines, signal }: Process, { point }: Settings, onSignal: Effect.Effect<void>) =>
  Effect.gen(function* () {
    if (point?._tag === "millis") {
      yield* Queue.take(lines)
      // Real time: the process is killed at a random moment of its life.
      yield* Effect.sleep(point.millis)
      return signal("SIGKILL")
    }
    while ((yield* Queue.take(lines)) !== "signal") {}
    yield* Effect.uninterruptible(onSignal)
  })

/** Lives one life to its end; a point in time is kept by this side. */
export const live = (settings: Settings, manner: Manner): Effect.Effect<Ending> =>
  Effect.gen(function* () {
    const { bound = "1 minute", onSignal = Effect.void } = manner
    const process = yield* begin(settings, manner)
    const hung: Ending = { _tag: "hung" }
    return yield* Effect.raceFirst(
      process.ended,
      Effect.andThen(meanwhile(process, settings, onSignal), Effect.never)
    ).pipe(Effect.timeoutOrElse({ duration: bound, orElse: () => Effect.succeed(hung) }))
  }).pipe(Effect.scoped)
