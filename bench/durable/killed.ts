/** A run that is cut off by `kill -9` inside one of its steps, and taken up by a new process. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"

import type { Place } from "./engine.ts"

const child = fileURLToPath(new URL("./child.ts", import.meta.url))

/** What a process is asked to do with a place: to stop inside a step, or to take up what was stopped. */
export interface Job {
  readonly contender: string
  readonly place: Place
  /** The steps of the run in a row; a task when not given. */
  readonly steps?: number | undefined
  readonly bytes: number
  /** Inside this step it says so and waits. */
  readonly stop?: string | undefined
}

/** What the process that takes up says: milliseconds, and how often each step was done. */
export interface Resumed {
  readonly import: number
  readonly open: number
  readonly resume: number
  readonly done: Readonly<Record<string, number>>
}

/** Runs a process until it says something, and ends it without warning. */
const said = (job: Job): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const running = fork(child, [JSON.stringify(job)], { execArgv: [...process.execArgv] })
    let message: unknown
    running.once("message", (what) => {
      message = what
      running.kill("SIGKILL")
    })
    running.once("error", reject)
    running.once("exit", (code, signal) => {
      const ended = signal ?? String(code)
      if (message === undefined) reject(new Error(`a process ended with ${ended} and said nothing`))
      else if (job.stop !== undefined && signal !== "SIGKILL")
        reject(new Error(`it ended with ${ended} and was not killed`))
      else resolve(message)
    })
  })

/** Begins a run, kills its process inside a step, and has another process take it up. */
export const killAndResume = async (job: Job & { readonly stop: string }): Promise<Resumed> => {
  await said(job)
  return (await said({ ...job, stop: undefined })) as Resumed
}
