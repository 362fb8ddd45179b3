/**
 * What keeps a sandbox from starting, or says that a limit was reached.
 */
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"

/**
 * What a sandbox may hold back. The table stands in the module `Sandbox`.
 *
 * @category models
 * @since 0.1.0
 */
export type Guard = (typeof guards)[number]

/**
 * Every {@link Guard}, in the order of the documentation.
 *
 * @category models
 * @since 0.1.0
 */
export const guards = [
  "network",
  "filesystem",
  "processes",
  "signals",
  "environment",
  "descendants",
  "orphans",
  "time",
  "cpu",
  "memory",
  "output",
  "disk"
] as const

/**
 * This platform cannot hold back what has to be held back, so nothing was started.
 *
 * **Details**
 *
 * - `lacking`: what cannot be enforced. `detail`: how that was found.
 *
 * @category errors
 * @since 0.1.0
 */
export class SandboxUnavailable extends Schema.TaggedError<SandboxUnavailable>(
  "espalier/agent/Sandbox/SandboxUnavailable"
)("SandboxUnavailable", { lacking: Schema.Array(Schema.Literals(guards)), detail: Schema.String }) {
  readonly [Failure.kind] = "capability"

  override get message(): string {
    return `no sandbox here, lacking ${this.lacking.join(", ")}: ${this.detail}`
  }
}

/**
 * The files to run cannot be taken as they are: they come from a model, and nothing was started.
 *
 * **Details**
 *
 * - `problem`: `"path"` for a path that is not one of a file below the scratch folder, `"entry"` for an entry that is not
 *   among the files, `"size"` for more bytes or files than the disk limit allows.
 *
 * @category errors
 * @since 0.1.0
 */
export class SandboxFilesRefused extends Schema.TaggedError<SandboxFilesRefused>(
  "espalier/agent/Sandbox/SandboxFilesRefused"
)("SandboxFilesRefused", { problem: Schema.Literals(["path", "entry", "size"]), detail: Schema.String }) {
  /** @since 0.1.0 */
  get [Failure.kind](): Failure.Kind {
    return this.problem === "size" ? "oversized" : "malformed"
  }

  override get message(): string {
    return this.detail
  }
}

const kinds = {
  "not-found": "capability",
  denied: "denied",
  scratch: "transient",
  size: "oversized",
  other: "transient"
} as const

const problems: Readonly<Record<string, keyof typeof kinds>> = {
  ENOENT: "not-found",
  ENOTDIR: "not-found",
  EACCES: "denied",
  EPERM: "denied",
  E2BIG: "size"
}

/**
 * The process could not be started.
 *
 * **Details**
 *
 * - `problem`: `"not-found"` for a command or folder that is not there, `"denied"` for one that may not be run or
 *   entered, `"scratch"` when the scratch folder cannot be made (a full disk), `"size"` for more arguments than a process may
 *   have, `"other"` when the system has no room for another process.
 * - `detail`: the code of the system, such as `ENOSPC`.
 *
 * @category errors
 * @since 0.1.0
 */
export class SandboxNotStarted extends Schema.TaggedError<SandboxNotStarted>(
  "espalier/agent/Sandbox/SandboxNotStarted"
)("SandboxNotStarted", {
  problem: Schema.Literals(["not-found", "denied", "scratch", "size", "other"]),
  detail: Schema.String
}) {
  /** @since 0.1.0 */
  get [Failure.kind](): Failure.Kind {
    return kinds[this.problem]
  }

  override get message(): string {
    return `the sandbox did not start, ${this.problem}: ${this.detail}`
  }
}

/**
 * A sandbox was ended because a limit was reached.
 *
 * @category errors
 * @since 0.1.0
 */
export class SandboxLimitReached extends Schema.TaggedError<SandboxLimitReached>(
  "espalier/agent/Sandbox/SandboxLimitReached"
)("SandboxLimitReached", {
  limit: Schema.Literals(["timeout", "cpu", "memory", "output", "disk", "processes"]),
  durationMillis: Schema.Finite
}) {
  readonly [Failure.kind] = "exhausted"

  override get message(): string {
    return `the sandbox was ended after ${this.durationMillis} ms: ${this.limit}`
  }
}

/** What an error of the system says of itself, without paths. */
export const codeOf = (error: unknown): string => {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined
  return typeof code === "string" ? code : error instanceof Error ? error.name : "unknown"
}

/** Why a process or a folder could not be had. */
export const notStarted = (error: unknown, otherwise: "scratch" | "other"): SandboxNotStarted => {
  const detail = codeOf(error)
  return new SandboxNotStarted({ problem: otherwise === "scratch" ? "scratch" : (problems[detail] ?? "other"), detail })
}
