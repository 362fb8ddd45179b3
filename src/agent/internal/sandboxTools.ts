// @effect-diagnostics nodeBuiltinImport:off -- what this host can do is tried with processes of its own.
/**
 * The tools of the operating system that hold a process back, tried before they are used. A Node file: uses
 * `node:child_process`, `node:fs` and `node:process`.
 *
 * None of them is needed for JavaScript under Node's permission model. They are a second wall there, and the only one around
 * other commands.
 */
import { execFile } from "node:child_process"
import { accessSync, constants } from "node:fs"
import process from "node:process"

import * as Effect from "effect/Effect"

/** What is put before a command, and what that is good for. */
export interface Tools {
  /** a user, process and network namespace of its own; without the network one where the network is allowed */
  readonly namespaces: ((network: boolean) => ReadonlyArray<string>) | undefined
  /** ends the process when this one ends, however */
  readonly orphans: ReadonlyArray<string> | undefined
  readonly limits:
    | ((limits: {
        readonly cpuSeconds: number
        readonly memoryBytes: number
        readonly fileBytes: number
      }) => ReadonlyArray<string>)
    | undefined
}

/** No tools. */
export const none: Tools = { namespaces: undefined, orphans: undefined, limits: undefined }

/** Where a tool of the system is. Not looked up along the PATH, which may be anything. */
const find = (name: string): string | undefined =>
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    .map((folder) => `${folder}/${name}`)
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** What a command writes, or `undefined` when it fails. */
const answerOf = (command: ReadonlyArray<string>): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const [file, ...args] = command
    const child = execFile(file!, args, { env: {}, timeout: 10_000, killSignal: "SIGKILL" }, (error, stdout) =>
      resume(Effect.succeed(error === null ? stdout : undefined))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const script =
  "const fs = require('fs'), os = require('os')\n" +
  "const others = fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== '1').length\n" +
  "const status = fs.readFileSync('/proc/self/status', 'utf8')\n" +
  "console.log(JSON.stringify([process.pid, others, Object.keys(os.networkInterfaces()).length," +
  " /^CapEff:\\t0+$/m.test(status), /^NoNewPrivs:\\t1$/m.test(status)]))"

/** Tries what this host has. */
export const detect: Effect.Effect<Tools> = Effect.gen(function* () {
  if (process.platform !== "linux") return none
  const [unshare, setpriv, prlimit] = [find("unshare"), find("setpriv"), find("prlimit")]
  const node = [process.execPath, "-e"]
  const works = (prefix: ReadonlyArray<string>) =>
    Effect.map(answerOf([...prefix, ...node, "console.log('works')"]), (answer) => answer === "works\n")

  const limits: Tools["limits"] =
    prlimit === undefined
      ? undefined
      : ({ cpuSeconds, fileBytes, memoryBytes }) => [
          prlimit,
          `--cpu=${cpuSeconds}`,
          "--core=0",
          `--data=${memoryBytes}`,
          `--fsize=${fileBytes}`,
          "--"
        ]
  const death = setpriv === undefined ? undefined : [setpriv, "--pdeathsig", "KILL", "--"]
  const hasLimits =
    limits !== undefined && (yield* works(limits({ cpuSeconds: 60, memoryBytes: 2 ** 30, fileBytes: 2 ** 20 })))
  const hasDeath = death !== undefined && (yield* works(death))

  let namespaces: Tools["namespaces"]
  if (unshare !== undefined && setpriv !== undefined && hasDeath) {
    const within = (network: boolean): ReadonlyArray<string> => [
      unshare,
      "--user",
      "--map-root-user",
      "--",
      // It would be forgotten on the way into the namespace of users.
      ...death,
      unshare,
      "--pid",
      ...(network ? [] : ["--net"]),
      "--ipc",
      "--mount-proc",
      "--fork",
      "--kill-child",
      "--",
      setpriv,
      "--nnp",
      "--bounding-set=-all",
      "--inh-caps=-all",
      "--"
    ]
    const answer = yield* answerOf([...within(false), ...node, script])
    // Alone, without interfaces, without rights, and without a way to more.
    if (answer?.trim() === "[1,0,0,true,true]") namespaces = within
  }
  return { namespaces, orphans: hasDeath ? death : undefined, limits: hasLimits ? limits : undefined }
})
