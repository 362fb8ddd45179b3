// @effect-diagnostics nodeBuiltinImport:off -- an absolute path is what this host says it is.
/**
 * What a sandbox was given, checked, with every default. A Node file: uses `node:path` and `node:process`.
 *
 * What a programmer gives dies with a `RangeError`; the files, which a model gives, are looked at elsewhere.
 */
import { isAbsolute } from "node:path"
import process from "node:process"

import * as Duration from "effect/Duration"

import { Given } from "../../run/internal/given.ts"
import type { Code, Command, Limits, Options } from "../Sandbox.ts"
import { isPlain, isSteering } from "./sandboxGuard.ts"

/** Limits with every default. */
export interface Bounds {
  readonly timeMillis: number
  readonly cpuMillis: number
  readonly memoryBytes: number
  readonly outputBytes: number
  readonly diskBytes: number
  readonly files: number
  readonly processes: number
}

/** A layer, checked. */
export interface Settings {
  readonly bounds: Bounds
  readonly folder: string | undefined
  readonly tools: "auto" | "none"
}

/** Code, checked but for its files. */
export interface CodeGiven {
  readonly files: Readonly<Record<string, string>>
  readonly entry: string
  readonly args: ReadonlyArray<string>
  readonly input: string | undefined
  readonly env: Readonly<Record<string, string>>
  readonly collect: { readonly files: number; readonly bytes: number } | undefined
  readonly bounds: Bounds
}

/** A command, checked. */
export interface CommandGiven {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly input: string | undefined
  readonly network: boolean
  /** it is the Node that runs this, and the permission model is put around it */
  readonly held: boolean
  readonly readable: ReadonlyArray<string>
  readonly writable: ReadonlyArray<string>
  readonly bounds: Bounds
}

const MiB = 2 ** 20

const day = 86_400_000

const standard: Bounds = {
  timeMillis: 10_000,
  cpuMillis: 10_000,
  memoryBytes: 256 * MiB,
  outputBytes: MiB,
  diskBytes: 64 * MiB,
  files: 1000,
  processes: 64
}

const limitNames = ["time", "cpu", "memory", "output", "disk", "files", "processes"]

const usualPath = "/usr/local/bin:/usr/bin:/bin"

const boundsOf = (given: Given, value: Limits | undefined, otherwise: Bounds): Bounds => {
  if (value === undefined) return otherwise
  given.record("limits", value, limitNames)
  const { cpu, disk, files, memory, output, processes, time } = value
  const millis = (parameter: string, duration: Duration.Input): number => {
    const read = Duration.toMillis(given.duration(parameter, duration, "more"))
    return read <= day ? read : given.refuse(parameter, "a duration of at most 1 day", duration)
  }
  const timeMillis = time === undefined ? otherwise.timeMillis : millis("limits.time", time)
  return {
    timeMillis,
    cpuMillis: cpu !== undefined ? millis("limits.cpu", cpu) : time === undefined ? otherwise.cpuMillis : timeMillis,
    memoryBytes: memory === undefined ? otherwise.memoryBytes : given.whole("limits.memory", memory, 64 * MiB),
    outputBytes: output === undefined ? otherwise.outputBytes : given.whole("limits.output", output, 1),
    diskBytes: disk === undefined ? otherwise.diskBytes : given.whole("limits.disk", disk, 1),
    files: files === undefined ? otherwise.files : given.whole("limits.files", files, 1),
    processes: processes === undefined ? otherwise.processes : given.whole("limits.processes", processes, 1)
  }
}

/** A text that an argument or a variable of a process can be. */
const plain = (given: Given, parameter: string, value: unknown): void => {
  given.text(parameter, value)
  if (String(value).includes("\0")) given.refuse(parameter, "a text without a zero character", value)
}

const listOf = (given: Given, parameter: string, value: ReadonlyArray<string> | undefined): ReadonlyArray<string> => {
  if (value === undefined) return []
  given.list(parameter, value).forEach((each, index) => plain(given, `${parameter}[${index}]`, each))
  return [...value]
}

const envOf = (given: Given, value: unknown, steered: boolean): Readonly<Record<string, string>> => {
  const env = given.record("env", value)
  for (const [name, each] of Object.entries(env)) {
    if (name === "" || /[=\0]/.test(name)) given.refuse("each name of env", "one without '=' and zero characters", name)
    if (steered && isSteering(name)) given.refuse("each name of env", "one that does not steer Node", name)
    // The value may be a secret, so it is not shown.
    if (typeof each !== "string" || each.includes("\0"))
      given.refuse(`env.${name}`, "a text without zero characters", "it")
  }
  return env as Readonly<Record<string, string>>
}

const folderOf = (given: Given, parameter: string, value: unknown): string => {
  plain(given, parameter, value)
  return isAbsolute(String(value)) ? String(value) : given.refuse(parameter, "an absolute path", value)
}

/** Checks the options of a layer. */
export const ofLayer = (options: Options): Settings => {
  const given = new Given("Sandbox.layer")
  given.record("options", options, ["limits", "folder", "tools"])
  const { folder, tools = "auto" } = options
  given.oneOf("tools", tools, ["auto", "none"])
  if (folder !== undefined && !isPlain(folderOf(given, "folder", folder))) {
    given.refuse("folder", "a path without '*' and ','", folder)
  }
  return { bounds: boundsOf(given, options.limits, standard), folder, tools }
}

/** Checks what is to be run. */
export const ofCode = (code: Code, { bounds }: Settings): CodeGiven => {
  const given = new Given("Sandbox.run")
  given.record("options", code, ["code", "files", "entry", "args", "input", "env", "collect", "limits"])
  if ((code.code === undefined) === (code.files === undefined)) {
    given.refuse("options", "an object with either code or files", Object.keys(code))
  }
  if (code.code !== undefined) given.text("code", code.code)
  const { collect, entry = "main.mjs", input } = code
  const files = code.code === undefined ? given.record("files", code.files) : { [entry]: code.code }
  for (const [path, text] of Object.entries(files)) given.text(`files[${JSON.stringify(path)}]`, text)
  given.text("entry", entry)
  if (input !== undefined) given.text("input", input)
  if (collect !== undefined) given.record("collect", collect, ["files", "bytes"])
  return {
    files: files as Readonly<Record<string, string>>,
    entry,
    args: listOf(given, "args", code.args),
    input,
    env: envOf(given, code.env ?? {}, true),
    collect:
      collect === undefined
        ? undefined
        : {
            files: given.whole("collect.files", collect.files ?? 20, 1),
            bytes: given.whole("collect.bytes", collect.bytes ?? MiB, 1)
          },
    bounds: boundsOf(given, code.limits, bounds)
  }
}

const commandNames = [
  "command",
  "args",
  "cwd",
  "env",
  "input",
  "network",
  "permission",
  "readable",
  "writable",
  "limits"
]

/** Checks a command. */
export const ofCommand = (command: Command, { bounds }: Settings): CommandGiven => {
  const given = new Given("Sandbox.command")
  given.record("options", command, commandNames)
  plain(given, "command", command.command)
  if (command.command === "") given.refuse("command", "the name or the path of a program", command.command)
  const cwd = folderOf(given, "cwd", command.cwd)
  const { input, network = false, permission = true } = command
  given.flag("permission", permission)
  const held = permission && command.command === process.execPath
  if (input !== undefined) given.text("input", input)
  given.flag("network", network)
  const folders = (parameter: "readable" | "writable"): ReadonlyArray<string> => {
    const value = command[parameter]
    if (value === undefined) return [cwd]
    return given.list(parameter, value).map((each, index) => {
      const folder = folderOf(given, `${parameter}[${index}]`, each)
      return isPlain(folder) ? folder : given.refuse(`${parameter}[${index}]`, "a path without '*' and ','", folder)
    })
  }
  return {
    command: command.command,
    args: listOf(given, "args", command.args),
    cwd,
    env: envOf(given, command.env ?? { PATH: usualPath }, held),
    input,
    network,
    held,
    readable: folders("readable"),
    writable: folders("writable"),
    bounds: boundsOf(given, command.limits, bounds)
  }
}

/** Where a command without an environment of its own is looked for. */
export const pathOf = (env: Readonly<Record<string, string>>): string => env["PATH"] ?? usualPath
