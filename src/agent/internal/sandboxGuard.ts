/**
 * What is put around JavaScript inside its own process: the flags of Node, the first module, and the attempts that have to
 * fail. A Node file: uses `node:process`.
 *
 * **Invariants**
 *
 * - G1. What Node's permission model leaves open is taken away before the first line of the code runs. Seen with Node 26: it
 *   may signal any process of its user, change its priority, and write files anywhere by way of `node:sqlite`, of a report
 *   on a fatal error, and of a flag of V8.
 */
import process from "node:process"

import type { Guard } from "./sandboxErrors.ts"

/** The first module of the process. G1 */
export const bootstrap = `
import process from "node:process"
import os from "node:os"
import v8 from "node:v8"
import { syncBuiltinESMExports } from "node:module"
const take = (from, names) => { for (const name of names) if (name in from && !delete from[name]) process.reallyExit(70) }
take(process, ["kill", "_kill", "_debugProcess", "_debugEnd", "_startProfilerIdleNotifier", "_stopProfilerIdleNotifier",
  "report", "binding", "_linkedBinding", "execve", "setuid", "setgid", "seteuid", "setegid", "setgroups",
  "initgroups"])
take(os, ["setPriority"])
take(v8, ["setFlagsFromString", "setHeapSnapshotNearHeapLimit", "setHeapProfileNearHeapLimit", "startupSnapshot"])
syncBuiltinESMExports()
`

/** Whether the Node that runs this knows a flag. */
const known = (flag: string): boolean => process.allowedNodeEnvironmentFlags.has(flag)

/** Whether the permission model of this Node holds back the network. */
export const deniesNetwork = (): boolean => known("--permission") && known("--allow-net")

/** What is read and written under the permission model, and what the heap may have. */
export interface Permission {
  readonly read: ReadonlyArray<string>
  readonly write: ReadonlyArray<string>
  readonly memoryBytes: number
}

/** The flags of the permission model: nothing is allowed but these folders. */
export const permissionFlags = ({ memoryBytes, read, write }: Permission): ReadonlyArray<string> => [
  "--permission",
  ...read.map((folder) => `--allow-fs-read=${folder}`),
  ...write.map((folder) => `--allow-fs-write=${folder}`),
  "--no-addons",
  // A flag that this Node does not know would keep it from starting.
  ...["--disable-sigusr1", "--no-experimental-sqlite", "--no-experimental-ffi", "--no-experimental-webstorage"].filter(
    known
  ),
  "--disable-warning=ExperimentalWarning",
  // What is not the heap has a quarter of the memory.
  `--max-old-space-size=${Math.max(16, Math.floor((memoryBytes * 3) / 4 / 2 ** 20))}`,
  "--import",
  `data:text/javascript,${encodeURIComponent(bootstrap)}`
]

/** A variable that changes what Node or the loader of the system does, whatever its flags say. */
export const isSteering = (name: string): boolean =>
  /^(NODE_|LD_|DYLD_|OPENSSL_|SSL_|UV_|V8_)|^(GLIBC_TUNABLES|GCONV_PATH)$/.test(name)

/** Whether a path may stand in a flag of the permission model: a star there means more than itself. */
export const isPlain = (path: string): boolean => !/[*,\0\n]/.test(path)

/**
 * The attempts of the check. Each reports `denied` or how it went. Its arguments: a file with a secret, a folder that is not
 * the scratch folder, and the pid of another process.
 */
export const probe = `
import process from "node:process"
import fs from "node:fs"
const [secret, outside, pid] = process.argv.slice(2)
const codes = ["ERR_ACCESS_DENIED", "ERR_DLOPEN_DISABLED", "ERR_UNKNOWN_BUILTIN_MODULE", "EPERM", "EACCES"]
const tell = {}
// Some errors are thrown out of a callback.
let thrown
process.on("uncaughtException", (error) => thrown(error))
const attempt = async (guard, name, act) => {
  let said
  try {
    const away = new Promise((_, no) => { thrown = no })
    said = (await Promise.race([act(), away])) === "gone" ? "denied" : "done"
  } catch (error) {
    const code = error?.code ?? error?.cause?.code ?? error?.name
    said = codes.includes(code) ? "denied" : String(code)
  }
  ;(tell[guard] ??= {})[name] = said
}
const event = (emitter, name) => new Promise((yes, no) => { emitter.once(name, yes); emitter.on("error", no) })
const gone = (value) => (value === undefined ? "gone" : "there")
const builtin = (name) => process.getBuiltinModule(name)
await attempt("filesystem", "read", () => fs.readFileSync(secret))
await attempt("filesystem", "read-async", () => fs.promises.readFile(secret))
await attempt("filesystem", "list", () => fs.readdirSync(outside))
await attempt("filesystem", "write", () => fs.writeFileSync(outside + "/written", ""))
await attempt("filesystem", "link", () => fs.linkSync(secret, "linked"))
await attempt("filesystem", "symlink", () => { fs.symlinkSync(secret, "symlinked"); fs.readFileSync("symlinked") })
await attempt("filesystem", "sqlite", () => { const { DatabaseSync } = builtin("node:sqlite") ?? {}
  if (DatabaseSync === undefined) return "gone"; new DatabaseSync(outside + "/written.db") })
await attempt("filesystem", "report", () => gone(process.report))
await attempt("filesystem", "flags", () => gone(builtin("node:v8").setFlagsFromString))
await attempt("processes", "spawn", () => event(builtin("node:child_process").spawn(process.execPath, ["-v"]), "exit"))
await attempt("processes", "spawn-sync", () => { const { error } = builtin("node:child_process").spawnSync(process.execPath, ["-v"])
  if (error) throw error })
await attempt("processes", "execve", () => gone(process.execve))
await attempt("processes", "thread", () => event(new (builtin("node:worker_threads").Worker)("1", { eval: true }), "exit"))
fs.writeFileSync("none.node", "")
await attempt("processes", "addon", () => builtin("node:module").createRequire(import.meta.url)("./none.node"))
await attempt("processes", "binding", () => gone(process.binding))
await attempt("processes", "dlopen", () => process.dlopen({ exports: {} }, process.cwd() + "/none.node"))
await attempt("processes", "wasi", () => new (builtin("node:wasi").WASI)({ version: "preview1" }))
await attempt("processes", "ffi", () => { const ffi = builtin("node:ffi"); return ffi === undefined ? "gone" : ffi.dlopen(null, {}) })
await attempt("processes", "inspector", () => new (builtin("node:inspector").Session)().connect())
await attempt("signals", "kill", () => { if (process.kill === undefined) return "gone"; process.kill(Number(pid), 0) })
await attempt("signals", "raw-kill", () => gone(process._kill))
await attempt("signals", "debug", () => gone(process._debugProcess))
await attempt("signals", "priority", () => gone(builtin("node:os").setPriority))
await attempt("environment", "own", () => (Object.keys(process.env).some((name) => !name.startsWith("__")) ? "there" : "gone"))
await attempt("environment", "parent", () => fs.readFileSync("/proc/" + pid + "/environ"))
await attempt("environment", "file", () => fs.readFileSync("/proc/self/environ"))
const net = builtin("node:net")
await attempt("network", "connect", () => event(net.connect(9, "127.0.0.1"), "connect"))
await attempt("network", "listen", () => event(net.createServer().listen(0, "127.0.0.1"), "listening"))
await attempt("network", "socket", () => event(net.connect(process.cwd() + "/none"), "connect"))
await attempt("network", "datagram", () => { const socket = builtin("node:dgram").createSocket("udp4")
  const bound = event(socket, "listening"); socket.bind(0, "127.0.0.1"); return bound })
await attempt("network", "name", () => builtin("node:dns").promises.lookup("localhost"))
fs.writeSync(1, JSON.stringify(tell))
process.exit(0)
`

/** The guards that the {@link probe} tries. */
export const probed = [
  "network",
  "filesystem",
  "processes",
  "signals",
  "environment"
] as const satisfies ReadonlyArray<Guard>

/** What the probe has reported: the guards that did not hold, and which attempts showed it. */
export const readProbe = (
  stdout: string
): { readonly lacking: ReadonlyArray<Guard>; readonly attempts: ReadonlyArray<string> } => {
  let told: unknown
  try {
    told = JSON.parse(stdout)
  } catch {
    return { lacking: probed, attempts: ["the check did not report"] }
  }
  const lacking: Array<Guard> = []
  const attempts: Array<string> = []
  for (const guard of probed) {
    const all: unknown = typeof told === "object" && told !== null ? Reflect.get(told, guard) : undefined
    const open =
      typeof all === "object" && all !== null
        ? Object.entries(all).filter(([, said]) => said !== "denied")
        : [["all", "missing"]]
    if (open.length === 0) continue
    lacking.push(guard)
    attempts.push(...open.map(([name, said]) => `${guard}/${String(name)}: ${String(said)}`))
  }
  return { lacking, attempts }
}
