/**
 * Runs code that nobody trusts in a process of its own, and commands that may hang or run away. A Node module: uses
 * `node:child_process`, `node:fs`, `node:os`, `node:path` and `node:process`.
 *
 * {@link run} is for JavaScript that a model wrote: a fresh Node under the permission model, in a scratch folder that is
 * removed afterwards. {@link command} is for programs that are trusted more, such as a test runner in a worktree. Neither uses
 * a shell, and neither hands on the environment of this process.
 *
 * **Details**
 *
 * | guard | `run` | `command` |
 * |---|---|---|
 * | `network` | permission model | namespace |
 * | `filesystem` | permission model: nothing but the scratch folder | only where the command is this Node |
 * | `processes` | none can be started | their number is bounded, where the system tells it |
 * | `signals` | to other processes: taken away | namespace |
 * | `environment` | nothing but `env`, and that of others cannot be read | nothing but `env`; that of others: namespace |
 * | `descendants` | there are none | nothing that left its group outlives it: namespace |
 * | `orphans` | it ends when this process is killed: Linux | the same |
 * | `time`, `output` | yes | yes |
 * | `cpu`, `memory` | where the system tells what is used: Linux | the same |
 * | `disk` | bytes and number of files in the scratch folder | no |
 *
 * - Everything of this is tried in a process before the first code runs. `run` starts nothing when a guard does not hold but
 *   `orphans` ({@link SandboxUnavailable}). A `command` runs, and its result says what was `unenforced`.
 * - Where `unshare`, `setpriv` and `prlimit` are there and work, they are a second wall around `run`.
 * - The end of a limit is not a failure but a result, with what was written until then. {@link orFail} makes it one.
 *
 * **Invariants**
 *
 * - S1. What cannot be held back is not started, or is named in the result.
 * - S2. When the effect has ended, however it ended, the process group is killed and the scratch folder is removed.
 * - S3. No limit is unlimited.
 *
 * **Gotchas**
 *
 * - Limits of memory, processor and disk are looked at 10 to 40 times in a second: a quick process may be over them for a
 *   moment.
 * - The code can find out the name of the host, of its user, its addresses, and whether a file is there. It can tell only the
 *   one who reads its output.
 * - Under `TestClock` no limit of time passes unless the clock is adjusted.
 * - A process that is killed with `SIGKILL` while it runs a sandbox leaves the scratch folder behind. The first check after
 *   two days removes it.
 * - Node says itself that its permission model is no boundary against code that attacks Node's own memory. Put a container
 *   around the whole where that matters.
 *
 * **Example** (Code that a model wrote)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { Sandbox } from "espalier/agent"
 *
 * const program = Effect.gen(function* () {
 *   const result = yield* Sandbox.run({ code: "console.log(6 * 7)" })
 *   return [result.ended, result.stdout]
 * })
 * await Effect.runPromise(Effect.provide(program, Sandbox.layerNode)) // => ["exited", "42\n"]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import {
  type Guard,
  guards,
  type SandboxFilesRefused,
  SandboxLimitReached,
  type SandboxNotStarted,
  type SandboxUnavailable
} from "./internal/sandboxErrors.ts"
import * as host from "./internal/sandboxHost.ts"
import * as given from "./internal/sandboxOptions.ts"

export {
  type Guard,
  guards,
  SandboxFilesRefused,
  SandboxLimitReached,
  SandboxNotStarted,
  SandboxUnavailable
} from "./internal/sandboxErrors.ts"

/**
 * What a process may use.
 *
 * **Details**
 *
 * - `time`: from start to end, > 0 and at most 1 day. Default 10 seconds.
 * - `cpu`: time of the processor, of all its processes, > 0. Default: as `time`.
 * - `memory`: bytes in memory, of all its processes, at least 64 MiB. Default 256 MiB. In `run`, three quarters of it are for
 *   the heap.
 * - `output`: bytes of standard output and error together that are kept, >= 1. Default 1 MiB. A process that writes more than
 *   4 times as many is killed.
 * - `disk`: bytes in the scratch folder, >= 1. Default 64 MiB. `files`: files and folders in it, >= 1. Default 1,000.
 * - `processes`: of a command, itself included, >= 1. Default 64.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  readonly time?: Duration.Input | undefined
  readonly cpu?: Duration.Input | undefined
  readonly memory?: number | undefined
  readonly output?: number | undefined
  readonly disk?: number | undefined
  readonly files?: number | undefined
  readonly processes?: number | undefined
}

/**
 * JavaScript to run.
 *
 * **Details**
 *
 * - `code`: an ECMAScript module, alone. `files`: several by their paths below the scratch folder, `/` between the parts.
 *   One of the two.
 * - `entry`: the path of the file that is run. Default `"main.mjs"`, the name of `code`.
 * - `args`: what stands in `process.argv` from its third place. Default none.
 * - `input`: standard input. Default: it is empty.
 * - `env`: its whole environment. Default empty. Names that steer Node itself, such as `NODE_OPTIONS`, are refused.
 * - `collect`: the files that it added or changed, up to `files` (default 20) and `bytes` (default 1 MiB) together. Default:
 *   none are read.
 * - `limits`: each one by itself replaces that of the layer.
 *
 * @category models
 * @since 0.1.0
 */
export type Code = (
  | { readonly code: string; readonly files?: undefined }
  | { readonly files: Readonly<Record<string, string>>; readonly code?: undefined }
) & {
  readonly entry?: string | undefined
  readonly args?: ReadonlyArray<string> | undefined
  readonly input?: string | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly collect?: { readonly files?: number | undefined; readonly bytes?: number | undefined } | undefined
  readonly limits?: Limits | undefined
}

/**
 * A command to run.
 *
 * **Details**
 *
 * - `command`: the path of a program, or its name, which is looked for along the `PATH` of `env`. `args`: as they are.
 * - `cwd`: the folder it runs in, an absolute path.
 * - `env`: its whole environment. Default: a `PATH` with the usual folders of the system.
 * - `input`: standard input. Default: it is empty.
 * - `network`: whether it may use the network. Default false. Where a namespace holds it back, that is also true of
 *   `127.0.0.1`.
 * - `permission`: whether the permission model is put around the command where it is the Node that runs this, which is then
 *   without other processes, threads and addons. Default true. For another command there is none.
 * - `readable`, `writable`: files and folders for that, absolute paths. Default `[cwd]` both.
 * - `limits`: each one by itself replaces that of the layer. `disk` and `files` are not enforced.
 *
 * @category models
 * @since 0.1.0
 */
export interface Command {
  readonly command: string
  readonly args?: ReadonlyArray<string> | undefined
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly input?: string | undefined
  readonly network?: boolean | undefined
  readonly permission?: boolean | undefined
  readonly readable?: ReadonlyArray<string> | undefined
  readonly writable?: ReadonlyArray<string> | undefined
  readonly limits?: Limits | undefined
}

/**
 * How it ended: by itself (`exited`), by a signal that was not sent from here (`killed`), or by a limit.
 *
 * @category models
 * @since 0.1.0
 */
export type Ended = "exited" | "killed" | "timeout" | "cpu" | "memory" | "output" | "disk" | "processes"

/**
 * A file that the code added or changed.
 *
 * @category models
 * @since 0.1.0
 */
export interface File {
  readonly path: string
  readonly bytes: number
  readonly content: Uint8Array
}

/**
 * What came of it.
 *
 * **Details**
 *
 * - `exitCode`: when it ended by itself. `signal`: when it was killed.
 * - `stdout`, `stderr`: text; what is no UTF-8 is replaced. `truncated`: it wrote more than is kept.
 * - `durationMillis`: by the `Clock`. `peakMemoryBytes`: the most that was seen, 0 where the system does not tell.
 * - `enforced`, `unenforced`: each guard stands in one of the two.
 * - `files`: what `collect` asked for, by path. `filesLeftOut`: what did not fit, and what is no regular file.
 *
 * @category models
 * @since 0.1.0
 */
export interface Result {
  readonly ended: Ended
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly durationMillis: number
  readonly peakMemoryBytes: number
  readonly enforced: ReadonlyArray<Guard>
  readonly unenforced: ReadonlyArray<Guard>
  readonly files: ReadonlyArray<File>
  readonly filesLeftOut: number
}

/**
 * What the check of this host has found.
 *
 * **Details**
 *
 * - `lacking`: what keeps `run` from starting. `detail`: the attempts that showed it.
 * - `code`, `command`: what holds for each of the two.
 * - `tools`: the tools of the system that work here.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly lacking: ReadonlyArray<Guard>
  readonly detail: string
  readonly code: ReadonlyArray<Guard>
  readonly command: ReadonlyArray<Guard>
  readonly tools: ReadonlyArray<"unshare" | "setpriv" | "prlimit">
}

/**
 * The service.
 *
 * @category services
 * @since 0.1.0
 */
export class Sandbox extends Context.Service<
  Sandbox,
  {
    /** Runs JavaScript. See {@link run}. */
    readonly run: (code: Code) => Effect.Effect<Result, SandboxUnavailable | SandboxFilesRefused | SandboxNotStarted>
    /** Runs a command. See {@link command}. */
    readonly command: (command: Command) => Effect.Effect<Result, SandboxNotStarted>
    /** What this host can hold back. See {@link check}. */
    readonly check: Effect.Effect<Report, SandboxNotStarted>
  }
>()("espalier/agent/Sandbox") {}

/**
 * What a layer is made with.
 *
 * **Details**
 *
 * - `limits`: for what says nothing else. Defaults as in {@link Limits}.
 * - `folder`: where scratch folders are made, an absolute path. Default: the folder for temporary files.
 * - `tools`: `"auto"` uses what the system has, `"none"` does not. Default `"auto"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly limits?: Limits | undefined
  readonly folder?: string | undefined
  readonly tools?: "auto" | "none" | undefined
}

/**
 * Sandboxes on this host.
 *
 * **Details**
 *
 * The host is checked when the first sandbox is asked for, once for each layer.
 *
 * Dies with a `RangeError` when an option is out of range.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Sandbox> =>
  Layer.effect(
    Sandbox,
    Effect.suspend(() => host.make(given.ofLayer(options)))
  )

/**
 * Sandboxes on this host, with every default.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerNode: Layer.Layer<Sandbox> = layer()

/**
 * A sandbox without processes, for tests: a function answers.
 *
 * **Details**
 *
 * What the function leaves out is that of a process which ended well and wrote nothing, with everything enforced. The
 * arguments are checked as on a host.
 *
 * **Example** (A test without a process)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Sandbox } from "espalier/agent"
 *
 * const layer = Sandbox.layerMemory(() => Effect.succeed({ stdout: "42\n" }))
 * const program = Effect.map(Sandbox.run({ code: "console.log(6 * 7)" }), ({ ended, stdout }) => [ended, stdout])
 * await Effect.runPromise(Effect.provide(program, layer)) // => ["exited", "42\n"]
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (
  answer: (
    request: ({ readonly _tag: "Code" } & Code) | ({ readonly _tag: "Command" } & Command)
  ) => Effect.Effect<Partial<Result>, SandboxNotStarted>
): Layer.Layer<Sandbox> => {
  const defaults = given.ofLayer({})
  const whole = (part: Partial<Result>): Result => ({
    ended: "exited",
    exitCode: part.ended === undefined || part.ended === "exited" ? 0 : undefined,
    signal: undefined,
    stdout: "",
    stderr: "",
    truncated: false,
    durationMillis: 0,
    peakMemoryBytes: 0,
    enforced: guards,
    unenforced: [],
    files: [],
    filesLeftOut: 0,
    ...part
  })
  return Layer.succeed(Sandbox, {
    run: (code) =>
      Effect.suspend(() => {
        given.ofCode(code, defaults)
        return Effect.map(answer({ _tag: "Code", ...code }), whole)
      }),
    command: (command) =>
      Effect.suspend(() => {
        given.ofCommand(command, defaults)
        return Effect.map(answer({ _tag: "Command", ...command }), whole)
      }),
    check: Effect.succeed({ lacking: [], detail: "", code: guards, command: guards, tools: [] })
  })
}

/**
 * Runs JavaScript in a fresh process, with nothing but a scratch folder.
 *
 * **Details**
 *
 * - Fails with {@link SandboxUnavailable} when this host cannot hold it back, with {@link SandboxFilesRefused} when the files
 *   cannot be taken, and with {@link SandboxNotStarted} when the process or its folder cannot be had.
 * - What the code does, also when it fails, is in the result.
 * - Dies with a `RangeError` when an option is out of range.
 *
 * @category operations
 * @since 0.1.0
 */
export const run = (
  code: Code
): Effect.Effect<Result, SandboxUnavailable | SandboxFilesRefused | SandboxNotStarted, Sandbox> =>
  Effect.flatMap(Sandbox, (sandbox) => sandbox.run(code))

/**
 * Runs a command with limits, in a folder that is given.
 *
 * **Details**
 *
 * - What could not be enforced is in `unenforced` of the result. Look at {@link check} first where it matters.
 * - Where the command is the Node that runs this, it has the flags of the permission model, unless `permission` is false.
 * - Dies with a `RangeError` when an option is out of range.
 *
 * **Gotchas**
 *
 * - There is no grace: at a limit, everything is killed at once.
 * - In a namespace the command is its first process. A signal that it sends to itself is ignored. It has no rights over files
 *   of other users, also where this process has them.
 * - A link that lies in a folder, symbolic or hard, leads out of it, also under the permission model: Node follows it. So
 *   `filesystem` is never said to be enforced for a folder that has one.
 *
 * @category operations
 * @since 0.1.0
 */
export const command = (command: Command): Effect.Effect<Result, SandboxNotStarted, Sandbox> =>
  Effect.flatMap(Sandbox, (sandbox) => sandbox.command(command))

/**
 * What this host can hold back, tried with processes that attempt it.
 *
 * @category operations
 * @since 0.1.0
 */
export const check: Effect.Effect<Report, SandboxNotStarted, Sandbox> = Effect.flatMap(
  Sandbox,
  (sandbox) => sandbox.check
)

/**
 * The result, or a failure where a limit ended it.
 *
 * @category operations
 * @since 0.1.0
 */
export const orFail = (result: Result): Effect.Effect<Result, SandboxLimitReached> =>
  result.ended === "exited" || result.ended === "killed"
    ? Effect.succeed(result)
    : Effect.fail(new SandboxLimitReached({ limit: result.ended, durationMillis: result.durationMillis }))
