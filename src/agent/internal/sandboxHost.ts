// @effect-diagnostics nodeBuiltinImport:off -- commands and folders of this host are looked up as it does.
/**
 * The sandbox of this host: checked once, then used. A Node file: uses `node:fs`, `node:path` and `node:process`.
 */
import { accessSync, constants, lstatSync, opendirSync, realpathSync, statSync, writeFileSync } from "node:fs"
import { delimiter, isAbsolute, join, resolve } from "node:path"
import process from "node:process"

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { Code, Command, Report, Result } from "../Sandbox.ts"
import {
  type Guard,
  guards,
  notStarted,
  SandboxFilesRefused,
  type SandboxNotStarted,
  SandboxUnavailable
} from "./sandboxErrors.ts"
import * as guard from "./sandboxGuard.ts"
import * as given from "./sandboxOptions.ts"
import * as running from "./sandboxProcess.ts"
import * as scratch from "./sandboxScratch.ts"
import * as tools from "./sandboxTools.ts"
import * as usage from "./sandboxUsage.ts"

/** What was found out about this host. */
export interface Checked {
  readonly tools: tools.Tools
  readonly watched: boolean
  readonly report: Report
}

/** Guards in their order, and those that are missing. */
const sides = (enforced: ReadonlySet<Guard>): Pick<Result, "enforced" | "unenforced"> => ({
  enforced: guards.filter((each) => enforced.has(each)),
  unenforced: guards.filter((each) => !enforced.has(each))
})

/** A scratch folder for as long as it is used. */
const withScratch = <A, E>(
  root: string | undefined,
  use: (folder: string) => Effect.Effect<A, E>
): Effect.Effect<A, E | SandboxNotStarted> =>
  Effect.acquireUseRelease(
    Effect.try({ try: () => scratch.make(root), catch: (error) => notStarted(error, "scratch") }),
    use,
    (folder) => Effect.sync(() => scratch.remove(folder))
  )

const prefixOf = (
  found: tools.Tools,
  bounds: given.Bounds,
  network: boolean,
  fileBytes: number
): ReadonlyArray<string> => [
  ...(found.limits?.({
    // Only what this process can no longer watch comes so far.
    cpuSeconds: Math.ceil(bounds.cpuMillis / 1000) + 1,
    memoryBytes: bounds.memoryBytes * 2 + 512 * 2 ** 20,
    fileBytes
  }) ?? []),
  ...(found.namespaces?.(network) ?? found.orphans ?? [])
]

/** Runs JavaScript in a folder that holds it already. */
const runCode = (
  found: tools.Tools,
  watched: boolean,
  folder: string,
  { args, bounds, entry, env, input }: Omit<given.CodeGiven, "files" | "collect">
): Effect.Effect<running.Outcome, SandboxNotStarted> =>
  running.run({
    command: [
      // A little more, so that a file which is over the limit is seen to be.
      ...prefixOf(found, bounds, false, bounds.diskBytes + 2 ** 20),
      process.execPath,
      ...guard.permissionFlags({ read: [`${folder}/`], write: [`${folder}/`], memoryBytes: bounds.memoryBytes }),
      `${folder}/${entry}`,
      ...args
    ],
    folder,
    env,
    input,
    timeMillis: bounds.timeMillis,
    cpuMillis: bounds.cpuMillis,
    memoryBytes: bounds.memoryBytes,
    outputBytes: bounds.outputBytes,
    // The tools before it are processes too; it has none.
    processes: 8,
    watched,
    disk: { folder, bytes: bounds.diskBytes, files: bounds.files }
  })

/** Tries what this host holds back. */
const checking = (settings: given.Settings): Effect.Effect<Checked, SandboxNotStarted> =>
  Effect.gen(function* () {
    const found = settings.tools === "none" ? tools.none : yield* tools.detect
    const watched = usage.isKnown()
    const now = yield* Clock.currentTimeMillis
    yield* Effect.sync(() => scratch.sweep(settings.folder, now))
    const outcome = yield* withScratch(settings.folder, (outside) =>
      withScratch(settings.folder, (folder) =>
        Effect.gen(function* () {
          const secret = join(outside, "secret")
          yield* Effect.try({
            try: () => {
              writeFileSync(secret, "secret", { mode: 0o600 })
              scratch.fill(folder, new Map([["main.mjs", new TextEncoder().encode(guard.probe)]]))
            },
            catch: (error) => notStarted(error, "scratch")
          })
          return yield* runCode(found, watched, folder, {
            entry: "main.mjs",
            args: [secret, outside, String(process.pid)],
            input: undefined,
            env: {},
            bounds: { ...given.ofLayer({}).bounds, timeMillis: 20_000, cpuMillis: 20_000 }
          })
        })
      )
    )
    const { attempts, lacking: open } = guard.readProbe(outcome.stdout)
    const code = new Set<Guard>(["time", "output", "disk", "descendants"])
    for (const each of guard.probed) if (!open.includes(each)) code.add(each)
    if (open.includes("processes")) code.delete("descendants")
    const both = new Set<Guard>(["time", "output"])
    if (watched) both.add("cpu").add("memory")
    if (found.orphans !== undefined) both.add("orphans")
    for (const each of both) code.add(each)
    const command = new Set(both)
    if (watched) command.add("processes")
    if (found.namespaces !== undefined) {
      for (const each of ["network", "signals", "environment", "descendants"] as const) command.add(each)
    }
    const lacking = guards.filter((each) => each !== "orphans" && !code.has(each))
    const reasons = [
      ...attempts,
      ...(outcome.exitCode === 0 ? [] : [`the check ended: ${outcome.ended}, ${outcome.stderr.trim().slice(0, 500)}`]),
      ...(watched ? [] : ["this system does not tell what a tree of processes uses"]),
      ...(guard.deniesNetwork() ? [] : ["the permission model of this Node does not hold back the network"])
    ]
    return {
      tools: found,
      watched,
      report: {
        lacking,
        detail: lacking.length === 0 ? "" : reasons.join("; ").slice(0, 1000),
        code: sides(code).enforced,
        command: sides(command).enforced,
        tools: [
          ...(found.namespaces === undefined ? [] : ["unshare" as const]),
          ...(found.orphans === undefined ? [] : ["setpriv" as const]),
          ...(found.limits === undefined ? [] : ["prlimit" as const])
        ]
      }
    }
  })

/** Runs JavaScript where the check says that it can be held back. */
export const sandboxed = (
  { report, tools: found, watched }: Checked,
  settings: given.Settings,
  code: given.CodeGiven
): Effect.Effect<Result, SandboxUnavailable | SandboxFilesRefused | SandboxNotStarted> =>
  Effect.gen(function* () {
    const { lacking } = report
    if (lacking.length > 0) return yield* new SandboxUnavailable({ lacking, detail: report.detail })
    const { bounds, collect } = code
    const plan = yield* Effect.try({
      try: () => scratch.planOf(code.files, code.entry, { bytes: bounds.diskBytes, files: bounds.files }),
      catch: (error) => {
        if (error instanceof SandboxFilesRefused) return error
        throw error
      }
    })
    return yield* withScratch(settings.folder, (folder) =>
      Effect.gen(function* () {
        yield* Effect.try({ try: () => scratch.fill(folder, plan), catch: (error) => notStarted(error, "scratch") })
        const outcome = yield* runCode(found, watched, folder, code)
        const { files, leftOut } =
          collect === undefined ? { files: [], leftOut: 0 } : scratch.changed(folder, plan, collect)
        return { ...outcome, ...sides(new Set(report.code)), files, filesLeftOut: leftOut }
      })
    )
  })

/** Where the program is, as the system would find it. */
const programOf = (command: string, cwd: string, path: string): string => {
  const places = command.includes("/")
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter((folder) => isAbsolute(folder))
        .map((folder) => join(folder, command))
  let denied: unknown
  for (const place of places) {
    try {
      if (!statSync(place).isFile()) continue
      accessSync(place, constants.X_OK)
      return place
    } catch (error) {
      if (notStarted(error, "other").problem === "denied") denied = error
    }
  }
  throw denied ?? Object.assign(new Error("not found"), { code: "ENOENT" })
}

/** Whether no link lies in a folder, symbolic or hard; one that has too much in it to tell counts as having one. */
const hasNoLinks = (folders: ReadonlyArray<string>): boolean => {
  let left = 20_000
  const look = (folder: string): boolean => {
    const open = opendirSync(folder)
    try {
      for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
        left -= 1
        const path = join(folder, entry.name)
        const stat = lstatSync(path)
        if (left < 0 || stat.isSymbolicLink() || (stat.isFile() && stat.nlink > 1)) return false
        if (stat.isDirectory() && !look(path)) return false
      }
      return true
    } finally {
      open.closeSync()
    }
  }
  try {
    return folders.every((folder) =>
      lstatSync(folder).isDirectory() ? look(folder) : !lstatSync(folder).isSymbolicLink()
    )
  } catch {
    return false
  }
}

const commanded = (
  { report, tools: found, watched }: Checked,
  command: given.CommandGiven
): Effect.Effect<Result, SandboxNotStarted> =>
  Effect.gen(function* () {
    const { bounds, held, network } = command
    const ready = yield* Effect.try({
      try: () => {
        const cwd = realpathSync(command.cwd)
        if (!statSync(cwd).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" })
        const real = (folders: ReadonlyArray<string>) =>
          folders
            .map((folder) => realpathSync(folder))
            .map((path) => (statSync(path).isDirectory() ? `${path}/` : path))
        return {
          cwd,
          program: programOf(command.command, cwd, given.pathOf(command.env)),
          readable: held ? real(command.readable) : [],
          writable: held ? real(command.writable) : []
        }
      },
      catch: (error) => notStarted(error, "other")
    })
    const enforced = new Set<Guard>(report.command)
    if (network) enforced.delete("network")
    const flags = held
      ? guard.permissionFlags({ read: ready.readable, write: ready.writable, memoryBytes: bounds.memoryBytes })
      : []
    if (held) {
      const folders = [...new Set([...ready.readable, ...ready.writable])]
      for (const each of guard.probed) {
        if (each === "network" && network) continue
        if (each === "filesystem" && !hasNoLinks(folders)) continue
        if (report.code.includes(each)) enforced.add(each)
      }
      if (report.code.includes("descendants")) enforced.add("descendants")
    }
    const outcome = yield* running.run({
      command: [
        ...prefixOf(found, bounds, network, 2 ** 40),
        ready.program,
        ...(held && network && guard.deniesNetwork() ? ["--allow-net"] : []),
        ...flags,
        ...command.args
      ],
      folder: ready.cwd,
      env: command.env,
      input: command.input,
      timeMillis: bounds.timeMillis,
      cpuMillis: bounds.cpuMillis,
      memoryBytes: bounds.memoryBytes,
      outputBytes: bounds.outputBytes,
      // One for the tool that waits before it.
      processes: bounds.processes + (found.namespaces === undefined ? 0 : 1),
      watched,
      disk: undefined
    })
    return { ...outcome, ...sides(enforced), files: [], filesLeftOut: 0 }
  })

/** The service of a layer. */
export const make = (settings: given.Settings) =>
  Effect.gen(function* () {
    const one = yield* Semaphore.make(1)
    let known: Checked | undefined
    // A check that failed, such as for a full disk, is tried again.
    const checked = one.withPermits(1)(
      Effect.suspend(() =>
        known === undefined
          ? Effect.tap(checking(settings), (found) => Effect.sync(() => (known = found)))
          : Effect.succeed(known)
      )
    )
    return {
      run: (code: Code) =>
        Effect.suspend(() => {
          const whole = given.ofCode(code, settings)
          return Effect.flatMap(checked, (found) => sandboxed(found, settings, whole))
        }),
      command: (command: Command) =>
        Effect.suspend(() => {
          const whole = given.ofCommand(command, settings)
          return Effect.flatMap(checked, (found) => commanded(found, whole))
        }),
      check: Effect.map(checked, ({ report }) => report)
    }
  })
