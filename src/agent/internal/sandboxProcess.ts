// @effect-diagnostics nodeBuiltinImport:off -- a process group, its pipes and its end need more than a stream of bytes.
/**
 * One process with limits: begun as the leader of its own group, watched, and killed with all that it started. A Node file:
 * uses `node:child_process` and `node:process`.
 *
 * **Invariants**
 *
 * - P1. Whatever ends the effect, the group is killed and the pipes are closed before the effect has ended.
 * - P2. The first reason to end it is the one that is told.
 */
import { type ChildProcess, spawn } from "node:child_process"
import process from "node:process"

import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type { Result } from "../Sandbox.ts"
import { notStarted, type SandboxNotStarted } from "./sandboxErrors.ts"
import * as scratch from "./sandboxScratch.ts"
import * as usage from "./sandboxUsage.ts"

/** What ended it. */
export type Ended = "exited" | "killed" | "timeout" | "cpu" | "memory" | "output" | "disk" | "processes"

/** A process to run. */
export interface Spec {
  readonly command: ReadonlyArray<string>
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  readonly input: string | undefined
  readonly timeMillis: number
  readonly cpuMillis: number
  readonly memoryBytes: number
  readonly outputBytes: number
  readonly processes: number
  /** whether what it uses is looked at; not every system tells */
  readonly watched: boolean
  /** the folder whose content is bounded */
  readonly disk: { readonly folder: string; readonly bytes: number; readonly files: number } | undefined
}

/** How a process ended. */
export type Outcome = Omit<Result, "enforced" | "unenforced" | "files" | "filesLeftOut">

/** How often what it uses is looked at, and its folder with each fourth look. */
const every = 25

/** How long the pipes may stay open after the process has ended: what still holds them was not of its group. */
const grace = 2000

/** Far over the limit of output: it is killed when it has written this many times what is kept. */
const flood = 4

interface Running {
  readonly child: ChildProcess
  readonly output: { stdout: Array<Buffer>; stderr: Array<Buffer>; kept: number; written: number; tail: string }
  readonly exited: Deferred.Deferred<{ readonly code: number | null; readonly signal: string | null }>
  readonly closed: Deferred.Deferred<void>
  readonly flooded: Deferred.Deferred<void>
}

/** Kills a process, or with a negative number its group. */
const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // Nothing of it is left.
  }
}

const begin = (spec: Spec): Effect.Effect<Running, SandboxNotStarted> =>
  Effect.callback((resume) => {
    const [file, ...args] = spec.command
    let child: ChildProcess
    try {
      child = spawn(file!, args, {
        cwd: spec.folder,
        env: { ...spec.env },
        detached: true,
        shell: false,
        windowsHide: true,
        stdio: [spec.input === undefined ? "ignore" : "pipe", "pipe", "pipe"]
      })
    } catch (error) {
      return resume(Effect.fail(notStarted(error, "other")))
    }
    const running: Running = {
      child,
      output: { stdout: [], stderr: [], kept: 0, written: 0, tail: "" },
      exited: Deferred.makeUnsafe(),
      closed: Deferred.makeUnsafe(),
      flooded: Deferred.makeUnsafe()
    }
    const { output } = running
    const take = (into: Array<Buffer>) => (chunk: Buffer) => {
      output.written += chunk.length
      const room = spec.outputBytes - output.kept
      if (room > 0) {
        const part = chunk.length > room ? Buffer.from(chunk.subarray(0, room)) : chunk
        output.kept += part.length
        into.push(part)
      }
      if (output.written > spec.outputBytes * flood) Deferred.doneUnsafe(running.flooded, Effect.void)
    }
    child.stdout?.on("data", take(output.stdout)).on("error", () => {})
    child.stderr?.on("data", take(output.stderr)).on("error", () => {})
    child.stderr?.on("data", (chunk: Buffer) => {
      output.tail = (output.tail + chunk.toString("latin1")).slice(-16_384)
    })
    // A process that does not read its input is no failure.
    child.stdin?.on("error", () => {}).end(spec.input)
    child.once("exit", (code, signal) => {
      // At once, while the number of the group cannot be anybody else's.
      if (child.pid !== undefined) kill(-child.pid)
      Deferred.doneUnsafe(running.exited, Effect.succeed({ code, signal }))
    })
    child.once("close", () => Deferred.doneUnsafe(running.closed, Effect.void))
    child.on("error", (error) => resume(Effect.fail(notStarted(error, "other"))))
    child.once("spawn", () => resume(Effect.succeed(running)))
  })

/** Kills the group and what is known to descend from it, and closes the pipes. P1 */
const end = (spec: Spec, { child, closed, exited }: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    const pid = child.pid
    if (pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const below = spec.watched ? usage.of(pid, 4096).pids.slice(1) : []
      kill(-pid)
      below.forEach(kill)
    }
    yield* Effect.timeoutOption(Deferred.await(exited), grace)
    yield* Effect.timeoutOption(Deferred.await(closed), grace)
    child.stdin?.destroy()
    child.stdout?.destroy()
    child.stderr?.destroy()
  })

/** Looks at what is used until a limit is reached. */
const watch = (spec: Spec, pid: number, peak: { bytes: number }): Effect.Effect<Ended> =>
  Effect.gen(function* () {
    for (let look = 0; ; look += 1) {
      yield* Effect.sleep(every)
      const now = spec.watched ? usage.of(pid, spec.processes + 16) : undefined
      if (now !== undefined) {
        peak.bytes = Math.max(peak.bytes, now.memoryBytes)
        if (now.memoryBytes > spec.memoryBytes) return "memory"
        if (now.cpuMillis > spec.cpuMillis) return "cpu"
        if (now.pids.length > spec.processes) return "processes"
      }
      if (spec.disk === undefined || look % 4 !== 3) continue
      if (scratch.isOver(spec.disk.folder, spec.disk)) return "disk"
      if (now !== undefined && usage.removedBytes(now.pids) > spec.disk.bytes) return "disk"
    }
  })

/** What an end by itself means. */
const endOf = (spec: Spec, signal: string | null, code: number | null, tail: string): Ended => {
  if (signal === "SIGXCPU") return "cpu"
  if (signal === "SIGXFSZ") return "disk"
  const aborted = signal !== null || (code !== null && code > 128)
  if (aborted && tail.includes("JavaScript heap out of memory")) return "memory"
  if (spec.disk !== undefined && scratch.isOver(spec.disk.folder, spec.disk)) return "disk"
  return signal === null ? "exited" : "killed"
}

/** Runs the process to its end, or to that of a limit. */
export const run = (spec: Spec): Effect.Effect<Outcome, SandboxNotStarted> =>
  Effect.acquireUseRelease(
    begin(spec),
    (running) =>
      Effect.gen(function* () {
        const started = yield* Clock.currentTimeMillis
        const { child, exited, flooded, output } = running
        const peak = { bytes: 0 }
        const limit = yield* Effect.raceAllFirst<Effect.Effect<Ended | undefined>>([
          Effect.as(Deferred.await(exited), undefined),
          Effect.as(Deferred.await(flooded), "output"),
          Effect.as(Effect.sleep(spec.timeMillis), "timeout"),
          watch(spec, child.pid!, peak)
        ])
        const durationMillis = (yield* Clock.currentTimeMillis) - started
        yield* end(spec, running)
        const text = (chunks: ReadonlyArray<Buffer>) => new TextDecoder().decode(Buffer.concat(chunks))
        const { exitCode, signalCode } = child
        return {
          ended:
            limit ??
            (output.written > spec.outputBytes * flood ? "output" : endOf(spec, signalCode, exitCode, output.tail)),
          exitCode: exitCode ?? undefined,
          signal: signalCode ?? undefined,
          stdout: text(output.stdout),
          stderr: text(output.stderr),
          truncated: output.written > output.kept,
          durationMillis,
          peakMemoryBytes: peak.bytes
        }
      }),
    (running) => end(spec, running)
  )
