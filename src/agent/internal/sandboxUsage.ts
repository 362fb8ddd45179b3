// @effect-diagnostics nodeBuiltinImport:off -- what a process uses stands in files of the system.
/**
 * What a process and all that it has started use, as Linux tells it under `/proc`. A Node file: uses `node:fs`.
 */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import process from "node:process"

/** What a tree of processes uses now. */
export interface Usage {
  readonly pids: ReadonlyArray<number>
  readonly cpuMillis: number
  readonly memoryBytes: number
}

/** Whether this system tells what a tree of processes uses. */
export const isKnown = (): boolean => existsSync(`/proc/self/task/${process.pid}/children`)

// The kernel counts in hundredths of a second, whatever its own clock is.
const tick = 10

const childrenOf = (pid: number): ReadonlyArray<number> => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
      try {
        return readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number)
      } catch {
        return []
      }
    })
  } catch {
    return []
  }
}

/** What the tree below and with a process uses; looks at no more than `most` processes. */
export const of = (root: number, most: number): Usage => {
  const pids = [root]
  let cpuMillis = 0
  let memoryBytes = 0
  for (let at = 0; at < pids.length && at < most; at += 1) {
    const pid = pids[at]!
    try {
      // The name in parentheses may hold anything; what follows it is numbers.
      const text = readFileSync(`/proc/${pid}/stat`, "utf8")
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
      for (const index of [11, 12, 13, 14]) cpuMillis += Number(fields[index] ?? 0) * tick
      const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
      memoryBytes += Number(resident?.[1] ?? 0) * 1024
    } catch {
      // It has ended.
    }
    pids.push(...childrenOf(pid))
  }
  return { pids, cpuMillis, memoryBytes }
}

/** The bytes of files that were removed and are still held open. */
export const removedBytes = (pids: ReadonlyArray<number>): number => {
  let bytes = 0
  for (const pid of pids) {
    let files: ReadonlyArray<string> = []
    try {
      files = readdirSync(`/proc/${pid}/fd`)
    } catch {
      continue
    }
    for (const file of files) {
      try {
        const stat = statSync(`/proc/${pid}/fd/${file}`)
        if (stat.isFile() && stat.nlink === 0) bytes += Math.max(stat.size, stat.blocks * 512)
      } catch {
        // It was closed.
      }
    }
  }
  return bytes
}
