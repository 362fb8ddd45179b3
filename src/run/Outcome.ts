/**
 * What came of a run: its status, every task's result, what is missing and why, and who did what.
 *
 * An outcome is folded from events. The one that a run ends with and the one that is read from its journal years later are
 * the same.
 *
 * **Example** (A run that has only begun)
 *
 * ```ts
 * import { Outcome } from "espalier/run"
 *
 * const outcome = Outcome.of([
 *   {
 *     _tag: "RunStarted",
 *     at: 0,
 *     run: "r1",
 *     desk: "release",
 *     version: "1",
 *     definition: "",
 *     input: null,
 *     tasks: [{ id: "links", needs: [], worker: "docs.links", acceptMissing: false }],
 *     note: "Asked for"
 *   }
 * ])
 * outcome?.status // => "running"
 * ```
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

import * as Audit from "./Audit.ts"
import type { Envelope, Missing as MissingPart } from "./Result.ts"
import type { PlannedTask, RunEvent, StopReason, TaskEnd } from "./RunEvent.ts"
import type { RunStatus } from "./RunState.ts"

/**
 * What came of one task.
 *
 * **Details**
 *
 * - `status`: `open` while it has not ended.
 * - `worker`: who was asked last; absent when nobody was.
 * - `output`: of an accepted or a partial task. `confidence`: 0 without an output.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskOutcome {
  readonly task: string
  readonly status: TaskEnd | "open"
  readonly worker?: string | undefined
  readonly output?: Schema.Json | undefined
  readonly confidence: number
  readonly missing: ReadonlyArray<MissingPart>
  readonly note: string
}

/**
 * Something that the run was asked for and has not got.
 *
 * @category models
 * @since 0.1.0
 */
export interface Missing {
  readonly task: string
  readonly worker: string
  readonly reason: string
}

/**
 * What came of a run.
 *
 * **Details**
 *
 * - `degraded`: complete, but by a stand-in or with low confidence.
 * - `results`: one for each planned task, by id.
 * - `missing`: one for each part of a partial task and for each task without a result. Empty for a completed run.
 * - `dispatches`: the audit, one row per dispatch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outcome {
  readonly run: string
  readonly desk: string
  readonly version: string
  readonly status: RunStatus
  readonly stopReason?: StopReason | undefined
  readonly degraded: boolean
  readonly startedAt: number
  readonly endedAt?: number | undefined
  readonly note: string
  readonly results: Readonly<Record<string, TaskOutcome>>
  readonly missing: ReadonlyArray<Missing>
  readonly dispatches: ReadonlyArray<Audit.Row>
}

/**
 * Takes events one after the other. Of the results it keeps the one that stands for each task.
 *
 * **Details**
 *
 * - `input`: what the run began with.
 * - `result`: the last result of a task that has an output.
 * - `outcome`: as of now; `undefined` before the first event.
 *
 * @category folding
 * @since 0.1.0
 */
export interface Fold {
  readonly add: (event: RunEvent) => void
  readonly input: () => Schema.Json
  readonly result: (task: string) => Envelope | undefined
  readonly outcome: () => Outcome | undefined
}

interface Entry {
  readonly planned: PlannedTask
  worker: string | undefined
  result: Envelope | undefined
  status: TaskEnd | "open"
  missing: ReadonlyArray<MissingPart>
  note: string
}

/**
 * Makes an empty {@link Fold}.
 *
 * @category folding
 * @since 0.1.0
 */
export const fold = (): Fold => {
  const audit = Audit.fold()
  const entries = new Map<string, Entry>()
  let input: Schema.Json = null
  let head: Pick<Outcome, "run" | "desk" | "version" | "startedAt"> | undefined
  let end: Pick<Outcome, "status" | "stopReason" | "degraded" | "endedAt" | "note"> = open("")
  return {
    add: (event) => {
      audit.add(event)
      switch (event._tag) {
        case "RunStarted": {
          const { at, desk, note, run, tasks, version } = event
          head = { run, desk, version, startedAt: at }
          end = open(note)
          input = event.input
          for (const planned of tasks) {
            entries.set(planned.id, {
              planned,
              worker: undefined,
              result: undefined,
              status: "open",
              missing: [],
              note: ""
            })
          }
          return
        }
        case "RunResumed": {
          end = open(event.note)
          return
        }
        case "RunSuspended": {
          end = { status: "suspended", degraded: false, endedAt: event.at, note: event.note }
          return
        }
        case "RunFinished": {
          const { at, degraded, note, status, stopReason } = event
          end = { status, stopReason, degraded, endedAt: at, note }
          return
        }
        default: {
          const entry = entries.get(event.task)
          if (entry !== undefined) enter(entry, event)
        }
      }
    },
    input: () => input,
    result: (task) => entries.get(task)?.result,
    outcome: () => {
      if (head === undefined) return undefined
      const results: Array<readonly [string, TaskOutcome]> = []
      const missing: Array<Missing> = []
      for (const [task, entry] of entries) {
        const { note, status, worker } = entry
        const kept = status === "accepted" || status === "partial" ? entry.result : undefined
        results.push([
          task,
          {
            task,
            status,
            ...(worker === undefined ? {} : { worker }),
            ...(kept?.output === undefined ? {} : { output: kept.output }),
            confidence: kept?.confidence ?? 0,
            missing: entry.missing,
            note
          }
        ])
        missing.push(...missingOf(task, entry))
      }
      return { ...head, ...end, results: Object.fromEntries(results), missing, dispatches: audit.rows() }
    }
  }
}

const open = (note: string) => ({ status: "running", degraded: false, note }) as const

const enter = (entry: Entry, event: Extract<RunEvent, { readonly task: string }>): void => {
  switch (event._tag) {
    case "Routed":
    case "Dispatched": {
      entry.worker = event.worker
      return
    }
    case "Reported": {
      if (event.result.output !== undefined) entry.result = event.result
      return
    }
    case "TaskEnded": {
      entry.status = event.status
      entry.missing = event.missing
      entry.note = event.note
    }
  }
}

const missingOf = (task: string, entry: Entry): ReadonlyArray<Missing> => {
  const { missing, note, planned, status } = entry
  if (status === "open" || status === "accepted" || status === "skipped") return []
  const worker = entry.worker ?? planned.worker ?? planned.capability ?? "nobody"
  if (status !== "partial") return [{ task, worker, reason: note }]
  return missing.map(({ part, reason }) => ({ task, worker, reason: `${part}: ${reason}` }))
}

/**
 * The outcome of a history; `undefined` for no events at all.
 *
 * @category folding
 * @since 0.1.0
 */
export const of = (events: Iterable<RunEvent>): Outcome | undefined => {
  const all = fold()
  for (const event of events) all.add(event)
  return all.outcome()
}
