/** The least that a durable run can be: one row for each step, written before the next one begins. */
import { fanOut, mustBe } from "../util.ts"
import type { Engine, Work } from "./engine.ts"
import { steps } from "./engine.ts"

export interface Row {
  readonly type: string
  readonly data: string
}

/** Where rows are kept. Each `append` is kept when it is over. */
export interface Log {
  readonly append: (run: string, version: number, type: string, data: string) => Promise<unknown>
  /** The runs whose last row is of another type. */
  readonly unfinished: (end: string) => Promise<ReadonlyArray<string>>
  readonly read: (run: string) => Promise<ReadonlyArray<Row>>
  readonly close: () => Promise<void>
}

const named = (n: number): ReadonlyArray<string> => Array.from({ length: n }, (_, i) => `s${i}`)

/** An engine on a log, written by hand. */
export const engineOn = (log: Log, work: Work): Engine => {
  const step = async (run: string, version: number, name: string): Promise<void> => {
    const output = await work(name)
    await log.append(run, version, name, JSON.stringify({ output }))
  }
  /** Goes on after `done` of the steps; row 1 is the beginning of the run. */
  const goOn = async (run: string, names: ReadonlyArray<string>, done: number): Promise<void> => {
    for (let i = done; i < names.length; i++) await step(run, i + 2, names[i]!)
  }
  const begin = (run: string) => log.append(run, 1, "started", "{}")
  return {
    task: async (run) => {
      await begin(run)
      await goOn(run, steps, 0)
    },
    fan: async (run) => {
      await begin(run)
      let next = 0
      let done = 0
      const slot = async (): Promise<void> => {
        while (next < fanOut.tasks) {
          const task = next++
          await step(run, task + 2, `t${task}`)
          done += 1
        }
      }
      await Promise.all(Array.from({ length: fanOut.inFlight }, slot))
      mustBe("the results", done, fanOut.tasks)
    },
    chain: async (run, n) => {
      await begin(run)
      await goOn(run, named(n), 0)
    },
    resume: async (n) => {
      const names = n === undefined ? steps : named(n)
      for (const run of await log.unfinished(names.at(-1)!)) {
        const rows = await log.read(run)
        // What a run is follows from all of its rows.
        for (const { data } of rows) JSON.parse(data)
        await goOn(run, names, rows.length - 1)
      }
    },
    close: log.close
  }
}

/** The table of a log. */
export const table =
  "CREATE TABLE IF NOT EXISTS events (run TEXT NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, version))"
