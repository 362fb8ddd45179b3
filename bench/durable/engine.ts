/** What the workloads of durable runs ask of a contender, and the answers of their workers. */

/** How a run is kept: SQLite with a write to the device for each commit, SQLite without, PostgreSQL. */
export type Store = "full" | "normal" | "postgres"

/** Where: the path of a file, or the address of a database. */
export interface Place {
  readonly store: Store
  readonly where: string
}

/** What a worker answers to a step: `research`, `write`, `check`, or one of `s0`, `s1` … */
export type Work = (step: string) => string | Promise<string>

/** The steps of a task, in their order. */
export const steps = ["research", "write", "check"] as const

/** An open contender. Everything that it says is done is kept. */
export interface Engine {
  /** Carries out a run of three steps, each handed the answer of the one before. */
  readonly task: (run: string) => Promise<void>
  /** Makes ready for so many tasks at once, where that is work of its own; the answer carries out one of them. */
  readonly crowd?: (n: number) => Promise<(run: string) => Promise<void>>
  /** Carries out a run of independent steps, some of them at once. */
  readonly fan: (run: string) => Promise<void>
  /** Makes ready for runs of `n` steps in a row, where that is work of its own. */
  readonly prepare?: (n: number) => Promise<void>
  /** Carries out a run of `n` steps in a row. */
  readonly chain: (run: string, n: number) => Promise<void>
  /** Takes up every run that was cut off, of `n` steps in a row or of a task, and carries them to their end. */
  readonly resume: (n: number | undefined) => Promise<void>
  readonly close: () => Promise<void>
}

export type Open = (place: Place, work: Work) => Promise<Engine>

/**
 * What a contender is not put to, because it cannot or because it would take minutes.
 *
 * - `stores`: that it can keep runs in. `atOnce`: most runs at once. `longest` and `longestLarge`: most steps of a run with
 *   answers of 1 KB and of 100 KB; no limit when not given.
 */
export interface Limits {
  readonly stores: ReadonlyArray<Store>
  readonly atOnce?: number
  readonly longest?: number
  readonly longestLarge?: number
}

/** What the module of a contender exports. */
export interface Durable {
  readonly open: Open
  readonly limits: Limits
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/** A text that does not compress, always the same. */
const makeNoise = (length: number): string => {
  let state = 1
  let text = ""
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    text += letters.charAt(state >>> 26)
  }
  return text
}

/** Gives a text of so many bytes, another one each time. */
export const makeTexts = (bytes: number): (() => string) => {
  const noise = makeNoise(bytes + 65_536)
  let count = 0
  return () => {
    const offset = (count * 7_919) % 65_536
    const start = `${count++} `
    return start + noise.slice(offset, offset + bytes - start.length)
  }
}
