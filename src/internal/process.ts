/**
 * The life of an operating-system process: spawned by the init, watched by the run effect, stopped by finalizers.
 *
 * It owns the process group from the spawn to the observed end. Signals, groups and waiting for the end are the
 * spawner's; when to use them is decided here.
 *
 * **Invariants**
 *
 * - P1. The output is read until the process is gone, also while it stops: nobody blocks on a full pipe.
 * - P2. The end is reported after the whole group was signalled and the process was seen to end.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { PlatformError } from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import { type ChildProcessHandle, ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import { Redaction } from "../Redaction.ts"
import { showPath } from "./errors.ts"
import { consumeBoth, type Output, place, type Source, Tail } from "./output.ts"
import {
  problemOf,
  ProcessExited,
  ProcessKilled,
  ProcessNotStarted,
  ProcessPipeBroken,
  type Status,
  statusOf
} from "./processErrors.ts"
import { CurrentNode } from "./runtime.ts"
import { tellWarning } from "./telling.ts"
import { trouble } from "./trouble.ts"

/** What to wait for, checked. */
export type Readiness<R> =
  | { readonly _tag: "AtOnce" }
  | { readonly _tag: "Output"; readonly matches: (line: string) => boolean; readonly from: Source | "both" }
  | {
      readonly _tag: "Probe"
      readonly probe: Effect.Effect<boolean | void, unknown, R>
      readonly every: Duration.Duration
    }

/** A process to run, checked. */
export interface Spec<E, R, R2> {
  readonly id: string
  readonly command: ChildProcess.StandardCommand
  readonly ready: Readiness<R2>
  readonly output: Output<E, R>
  readonly grace: Duration.Duration | "abandon"
}

/** Beyond the grace time: to kill, to see the end, and to read the last lines. */
export const killTime = Duration.seconds(5)

/** The command, but the grace time of the child decides when it is killed. */
const unhurried = (command: ChildProcess.StandardCommand): ChildProcess.StandardCommand =>
  ChildProcess.make(command.command, command.args, { ...command.options, forceKillAfter: undefined })

/** Stops what is left of the process's group and waits for the end of the process; tells whether it had to be killed. */
const stopGroup = (
  handle: ChildProcessHandle,
  signal: ChildProcess.Signal,
  grace: Duration.Duration
): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const running = yield* Effect.orElseSucceed(handle.isRunning, () => true)
    // It fails when there is nobody left to signal.
    const kill = (options: ChildProcess.KillOptions) => Effect.ignore(handle.kill(options))
    if (Duration.isZero(grace)) yield* kill({ killSignal: "SIGKILL" })
    else if (Duration.isFinite(grace)) yield* kill({ killSignal: signal, forceKillAfter: grace })
    else yield* Effect.andThen(kill({ killSignal: signal }), kill({ killSignal: "SIGKILL" }))
    const status = yield* statusIn(handle) // P2
    return (
      running &&
      signal !== "SIGKILL" &&
      !Duration.isZero(grace) &&
      status._tag === "Signal" &&
      status.signal === "SIGKILL"
    )
  })

const statusIn = (handle: ChildProcessHandle): Effect.Effect<Status> =>
  handle.exitCode.pipe(
    Effect.map((exitCode): Status => ({ _tag: "Code", exitCode })),
    Effect.catch((error) => Effect.succeed(statusOf(error)))
  )

/** Asks until the answer is yes. What it fails with is told when nobody waits any longer. */
const probing = <R>(
  path: ReadonlyArray<string>,
  probe: Effect.Effect<boolean | void, unknown, R>,
  every: Duration.Duration
): Effect.Effect<void, never, R> =>
  Effect.suspend(() => {
    let last: unknown
    let failed = false
    const once = Effect.match(probe, {
      onFailure: (error) => {
        last = error
        failed = true
        return false
      },
      onSuccess: (answer) => answer !== false
    })
    const ask: Effect.Effect<void, never, R> = Effect.flatMap(once, (ready) =>
      ready ? Effect.void : Effect.andThen(Effect.sleep(every), ask)
    )
    return Effect.onInterrupt(ask, () =>
      failed
        ? tellWarning("the last probe before the start was given up failed", last).pipe(
            Effect.annotateLogs({ path: showPath(path) })
          )
        : Effect.void
    )
  })

/** Spawns the process and waits until it is ready; the value watches it. */
export const init = <E, R, R2>(
  spec: Spec<E, R, R2>
): Effect.Effect<
  Effect.Effect<void, E | ProcessExited | ProcessPipeBroken>,
  E | ProcessNotStarted | ProcessExited | ProcessPipeBroken,
  R | R2 | ChildProcessSpawner | Scope.Scope
> =>
  Effect.gen(function* () {
    const path = [...((yield* CurrentNode)?.path ?? [spec.id])]
    const spawner = yield* ChildProcessSpawner
    const { command, options } = spec.command
    const signal = options.killSignal ?? "SIGTERM"
    const grace = spec.grace === "abandon" ? Duration.zero : spec.grace
    const read = yield* place // P1
    const handle = yield* Effect.mapError(
      spawner.spawn(unhurried(spec.command)),
      (error) => new ProcessNotStarted({ path, command, problem: problemOf(error), detail: error.message })
    )
    const pid = Number(handle.pid)
    const where = { path, command, pid }
    let gone = false
    yield* Effect.addFinalizer((exit) =>
      Effect.gen(function* () {
        // Once the group is gone its number may belong to somebody else.
        if (!gone && (yield* stopGroup(handle, signal, grace))) {
          yield* trouble(path, exit, new ProcessKilled({ ...where, afterMillis: Duration.toMillis(grace) }))
        }
      })
    )

    const tail = new Tail()
    const rules = yield* Redaction
    const { ready } = spec
    const seen = Deferred.makeUnsafe<void>()
    const broken = (stream: Source) => (error: PlatformError) =>
      new ProcessPipeBroken({ ...where, stream, detail: error.message })
    const reading = consumeBoth(
      {
        stdout: Stream.mapError(handle.stdout, broken("stdout")),
        stderr: Stream.mapError(handle.stderr, broken("stderr"))
      },
      {
        path,
        output: spec.output,
        seen: (line, from) => {
          if (from === "stderr") tail.add(rules.text(line))
          if (ready._tag === "Output" && (ready.from === "both" || ready.from === from) && ready.matches(line)) {
            Deferred.doneUnsafe(seen, Effect.void)
          }
        }
      }
    )
    const readers = yield* read(path, reading)

    const ended = (beforeReady: boolean): Effect.Effect<void, E | ProcessExited | ProcessPipeBroken> =>
      Effect.gen(function* () {
        const status = yield* statusIn(handle)
        if (status._tag === "Broken") {
          return yield* new ProcessPipeBroken({ ...where, stream: "stdin", detail: status.detail })
        }
        // What it left behind in its group goes first: it may hold the pipes open.
        yield* stopGroup(handle, signal, grace)
        gone = true
        yield* readers.drained
        if (status._tag === "Code" && status.exitCode === 0 && !beforeReady) return
        return yield* new ProcessExited({
          ...where,
          ...(status._tag === "Code" ? { exitCode: status.exitCode } : {}),
          ...(status._tag === "Signal" && status.signal !== undefined ? { signal: status.signal } : {}),
          beforeReady,
          stderrTail: tail.lines.slice()
        })
      })
    const watch = (beforeReady: boolean) => Effect.raceFirst(readers.failing, ended(beforeReady))

    if (ready._tag === "Output") yield* Effect.raceFirst(Deferred.await(seen), watch(true))
    if (ready._tag === "Probe") yield* Effect.raceFirst(probing(path, ready.probe, ready.every), watch(true))
    return watch(false)
  })
