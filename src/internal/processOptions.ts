/**
 * Reading the options of a process or a thread.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as ChildProcess from "effect/process/ChildProcess"

import { durationOf, mustBeEffect, show } from "./options.ts"
import type { Output } from "./output.ts"
import type { Readiness } from "./process.ts"

/** When a process counts as ready, as it is written. */
export type Ready<R> =
  | "at-once"
  | { readonly output: RegExp | string; readonly from?: "stdout" | "stderr" | "both" | undefined }
  | { readonly probe: Effect.Effect<boolean | void, unknown, R>; readonly every?: Duration.Input | undefined }

/** Checks where lines go; the log by default. */
export const outputOf = <E, R>(where: string, id: string, output: Output<E, R> | undefined): Output<E, R> => {
  if (output === undefined || output === "log" || output === "ignore" || typeof output === "function") {
    return output ?? "log"
  }
  throw new RangeError(`${where}: output of ${id} must be "log", "ignore" or a function, got ${show(output)}`)
}

/** Whether what the process writes there is read here. */
const isRead = (config: ChildProcess.CommandOptions["stdout"]): boolean => {
  const stream = config === undefined || typeof config === "string" || !("stream" in config) ? config : config.stream
  return stream !== "inherit" && stream !== "ignore"
}

/** Checks what to wait for. */
export const readyOf = <R>(id: string, command: ChildProcess.StandardCommand, ready: Ready<R>): Readiness<R> => {
  if (ready === "at-once") return { _tag: "AtOnce" }
  if (typeof ready === "object" && ready !== null) {
    if ("probe" in ready) {
      mustBeEffect("Child.process", "ready.probe", id, ready.probe)
      const every = durationOf("Child.process", `ready.every of ${id}`, ready.every ?? "100 millis", "more")
      return { _tag: "Probe", probe: ready.probe, every }
    }
    const from = ready.from ?? "both"
    const { output } = ready
    if (!["stdout", "stderr", "both"].includes(from)) {
      throw new RangeError(`Child.process: ready.from of ${id} must be one of stdout, stderr, both, got ${show(from)}`)
    }
    const { stdout, stderr } = command.options
    if (!(from !== "stderr" && isRead(stdout)) && !(from !== "stdout" && isRead(stderr))) {
      throw new RangeError(
        `Child.process: ready.output of ${id} must be written to a pipe, got ${from}, which is not read`
      )
    }
    if (typeof output === "string" && output !== "") {
      return { _tag: "Output", matches: (line) => line.includes(output), from }
    }
    if (output instanceof RegExp) {
      // An expression with a memory would skip lines.
      const pattern = new RegExp(output.source, output.flags.replaceAll(/[gy]/g, ""))
      return { _tag: "Output", matches: (line) => pattern.test(line), from }
    }
  }
  throw new RangeError(
    `Child.process: ready of ${id} must be "at-once", an output to wait for, or a probe, got ${show(ready)}`
  )
}
