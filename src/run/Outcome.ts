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

import type { Reference } from "../journal/Reference.ts"
import * as Audit from "./Audit.ts"
import type { Tier } from "./Autonomy.ts"
import { plus } from "./internal/amounts.ts"
import { applyEvent, type Draft } from "./internal/apply.ts"
import { hasOutput } from "./internal/applying/draft.ts"
import { isMoot } from "./internal/applying/effects.ts"
import { unspent } from "./internal/applying/spending.ts"
import { wakeAt } from "./internal/applying/timers.ts"
import { sealed } from "./internal/plain.ts"
import type { Envelope, Evidence, Missing as MissingPart, Usage } from "./Result.ts"
import type { Of, PlannedTask, RunEvent, StopReason, TaskEnd } from "./RunEvent.ts"
import type { RunState, RunStatus } from "./RunState.ts"

/**
 * What came of one task.
 *
 * **Details**
 *
 * - `status`: `open` while it has not ended.
 * - `worker`: who was asked last; absent when nobody was.
 * - `output`: of an accepted or a partial task. `confidence`: 0 without an output.
 * - `outputRef`: where the output is, in its place, when the events were folded without the store that has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskOutcome {
  readonly task: string
  readonly status: TaskEnd | "open"
  readonly worker?: string | undefined
  readonly output?: Schema.Json | undefined
  readonly outputRef?: Reference | undefined
  readonly confidence: number
  readonly missing: ReadonlyArray<MissingPart>
  readonly note: string
}

/**
 * Something that the run was asked for and has not got.
 *
 * **Details**
 *
 * - `task`: the id of the run where it is no task that is missing: its answer does not hold, or its coordinator was stopped.
 * - `worker`: who was asked last, otherwise who would have been; the kind of the coordinator where `task` is the run.
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
 * A question to a person. See {@link RunEvent.ReviewOpened}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Review extends Omit<Of<"ReviewOpened">, "_tag"> {}

/**
 * Something that was intended outside, of which nobody knows whether it has happened. See {@link RunEvent.EffectIntended}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Unsettled extends Omit<Of<"EffectIntended">, "_tag"> {}

/**
 * What came of a run.
 *
 * **Details**
 *
 * - `degraded`: complete, but not as it was meant to be: by another worker than the one that is named, because that one
 *   failed or could not have it; by a new plan, or the fallback of a router or a planner; on something partial inside; or
 *   with a confidence below the threshold. What is split or followed up by those who were to do it is not degraded.
 * - `wakeAt`: of a run that waits, when it goes on by itself if it is taken up then, in milliseconds since 1970; see
 *   `RunState.wakeAt`. Absent when only people can make it go on.
 * - `tier`: the autonomy that it had at the end. `usage`: what all dispatches and decisions of the run used.
 * - `output`: the merged answer, where the desk asks for one. `conflicts`, `leftOut`: what the merge left open and out.
 * - `outputRef`: as of a task.
 * - `reviews`: what people are asked and have not decided.
 * - `unsettled`: what was begun outside and is not settled: it is under way, or nobody knows whether it has happened.
 * - `results`: one for each task, by id; also for the tasks that carry out another one.
 * - `missing`: one for each part of a partial task, for each task without a result, for each requirement that does not
 *   hold at the final revision, for what the merged answer lacks beyond that, and for a coordinator that was stopped. A task
 *   that was skipped because there was enough without it is not missing. Empty for a completed run, and for no other that
 *   is over.
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
  readonly wakeAt?: number | undefined
  readonly note: string
  readonly tier: Tier
  readonly usage: Usage
  readonly output?: Schema.Json | undefined
  readonly outputRef?: Reference | undefined
  readonly conflicts: ReadonlyArray<Schema.Json>
  readonly leftOut: ReadonlyArray<MissingPart>
  readonly reviews: ReadonlyArray<Review>
  readonly unsettled: ReadonlyArray<Unsettled>
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
 * - `result`: the result of a task that has an output: the one that it ended with, before that the last one, or that of a
 *   `dispatch`.
 * - `evidence`: what the last report of a task came with.
 * - `references`: where the input is, and the outputs that stand, as far as they are only there by reference, each once.
 * - `restore`: puts values in place of references, by hash.
 * - `intent`: what was intended outside, by its key, until it is settled.
 * - `usage`: what all dispatches of a task, and of the tasks that carry it out, have used so far.
 * - `outcome`: as of now; `undefined` before the first event. `state`: of the run, which knows whether it waits and until
 *   when. Default: it does not wait.
 *
 * @category folding
 * @since 0.1.0
 */
export interface Fold {
  readonly add: (event: RunEvent) => void
  readonly input: () => Schema.Json
  readonly result: (task: string, dispatch?: string) => Envelope | undefined
  readonly evidence: (task: string) => ReadonlyArray<Evidence> | undefined
  readonly references: () => ReadonlyArray<Reference>
  readonly restore: (values: ReadonlyMap<string, Schema.Json>) => void
  readonly intent: (effect: string) => Unsettled | undefined
  readonly usage: (task: string) => Usage
  readonly outcome: (state?: RunState | undefined) => Outcome | undefined
}

interface Entry {
  readonly planned: PlannedTask
  readonly within: string
  worker: string | undefined
  result: Envelope | undefined
  evidence: ReadonlyArray<Evidence> | undefined
  /** Results that were not the last ones, by dispatch, or without one: an earlier one may be the one that stands. */
  earlier: Map<string, Envelope> | undefined
  status: TaskEnd | "open"
  missing: ReadonlyArray<MissingPart>
  note: string
  usage: Usage
}

const entry = (planned: PlannedTask, within: string): Entry => ({
  planned,
  within,
  worker: undefined,
  result: undefined,
  evidence: undefined,
  earlier: undefined,
  status: "open",
  missing: [],
  note: "",
  usage: {}
})

/**
 * Makes an empty {@link Fold}.
 *
 * @category folding
 * @since 0.1.0
 */
export const fold = (): Fold => {
  const audit = Audit.fold()
  const entries = new Map<string, Entry>()
  const reviews = new Map<string, Review>()
  const unsettled = new Map<string, Unsettled>()
  /** What of open orders was paid for call by call. */
  const paid = new Map<string, Usage>()
  let usage: Usage = {}
  let input: Schema.Json = null
  let inputRef: Reference | undefined
  let tier: Tier = "medium"
  let whole: Of<"Merged"> | undefined
  let stopped: string | undefined
  let coordinator = "plan"
  let head: Pick<Outcome, "run" | "desk" | "version" | "startedAt"> | undefined
  let end: Pick<Outcome, "status" | "stopReason" | "degraded" | "endedAt" | "note"> = open("")
  const charge = (task: string, used: Usage): void => {
    usage = plus(usage, used)
    for (let each = entries.get(task); each !== undefined; each = entries.get(each.within)) {
      each.usage = plus(each.usage, used)
    }
  }
  return {
    add: (event) => {
      audit.add(event)
      switch (event._tag) {
        case "RunStarted": {
          const { at, desk, note, run, tasks, version } = event
          head = { run, desk, version, startedAt: at }
          end = open(note)
          input = event.input
          inputRef = event.inputRef
          tier = event.tier ?? "medium"
          coordinator = event.coordinator ?? coordinator
          for (const planned of tasks) entries.set(planned.id, entry(planned, ""))
          return
        }
        case "GroupOpened":
        case "TasksAdded": {
          const within = event._tag === "GroupOpened" ? event.task : event.group
          for (const planned of event.tasks) entries.set(planned.id, entry(planned, within))
          return
        }
        case "GroupStopping": {
          if (event.group === "") stopped = event.reason === "accepted" ? undefined : event.note
          return
        }
        case "RunResumed": {
          end = open(event.note)
          return
        }
        case "RunSuspended": {
          for (const { task, usage } of event.interrupted ?? []) charge(task, usage)
          end = { status: "suspended", degraded: false, endedAt: event.at, note: event.note }
          return
        }
        case "RunFinished": {
          const { at, degraded, note, status, stopReason } = event
          end = { status, stopReason, degraded, endedAt: at, note }
          reviews.clear()
          return
        }
        case "AutonomyChanged": {
          tier = event.to
          return
        }
        case "ReviewOpened": {
          const { _tag: _, ...review } = event
          reviews.set(event.review, review)
          return
        }
        case "ReviewDecided": {
          const effect = reviews.get(event.review)?.facts["effect"]
          if (typeof effect === "string" && event.decision !== "reject") unsettled.delete(effect)
          reviews.delete(event.review)
          return
        }
        case "EffectIntended": {
          const { _tag: _, ...intent } = event
          unsettled.set(event.effect, sealed(intent))
          return
        }
        case "EffectSettled": {
          unsettled.delete(event.effect)
          return
        }
        case "Decided":
        case "DecisionFailed": {
          if (event.usage !== undefined) usage = plus(usage, event.usage)
          return
        }
        case "Merged": {
          if (event.group === "") whole = event
          else enter(entries, event.group, event)
          return
        }
        case "Reported": {
          charge(event.task, unspent(event.result.usage, paid.get(event.dispatch)))
          paid.delete(event.dispatch)
          for (const [id, intent] of unsettled) {
            if (intent.dispatch === event.dispatch && isMoot(intent)) unsettled.delete(id)
          }
          break
        }
        case "Parked": {
          charge(event.task, event.usage ?? {})
          break
        }
        case "Spent": {
          charge(event.task, event.usage)
          if (event.worker !== "") paid.set(event.dispatch, plus(paid.get(event.dispatch) ?? {}, event.usage))
          return
        }
      }
      if ("task" in event && event.task !== undefined) enter(entries, event.task, event)
      if (event._tag === "TaskEnded") {
        for (const [id, { task }] of reviews) if (task === event.task) reviews.delete(id)
      }
    },
    input: () => input,
    result: (task, dispatch) => {
      const entry = entries.get(task)
      return (dispatch === undefined ? undefined : entry?.earlier?.get(dispatch)) ?? entry?.result
    },
    evidence: (task) => entries.get(task)?.evidence,
    references: () => {
      const found = new Map<string, Reference>()
      const note = (result: Envelope | undefined) => {
        if (result?.outputRef !== undefined) found.set(result.outputRef.hash, result.outputRef)
      }
      if (inputRef !== undefined) found.set(inputRef.hash, inputRef)
      for (const { earlier, result, status } of entries.values()) {
        if (status !== "open" && !delivers(status)) continue
        note(result)
        for (const each of earlier?.values() ?? []) note(each)
      }
      note(whole?.result)
      return [...found.values()]
    },
    restore: (values) => {
      const given = inputRef === undefined ? undefined : values.get(inputRef.hash)
      if (given !== undefined) {
        input = given
        inputRef = undefined
      }
      for (const each of entries.values()) {
        if (each.result !== undefined) each.result = filled(each.result, values)
        for (const [dispatch, result] of each.earlier ?? []) each.earlier?.set(dispatch, filled(result, values))
      }
      if (whole !== undefined) whole = { ...whole, result: filled(whole.result, values) }
    },
    intent: (effect) => unsettled.get(effect),
    usage: (task) => ({ ...entries.get(task)?.usage }),
    outcome: (state) => {
      if (head === undefined) return undefined
      const waiting = state?.status === "waiting"
      const wakes = state === undefined ? undefined : wakeAt(state)
      const results: Array<readonly [string, TaskOutcome]> = []
      for (const [task, entry] of entries) results.push([task, outcomeOf(task, entry)])
      const missing = end.status === "completed" ? [] : [...lacking(entries, whole)]
      if (over.has(end.status)) {
        const { run } = head
        const of = (reason: string): Missing => ({ task: run, worker: coordinator, reason })
        missing.push(...beyond(run, entries, whole, missing, of))
        const error = whole?.outcome === "rejected-contract" ? whole.result.error?.reason : undefined
        if (error !== undefined) missing.push(of(error))
        // What was not begun says itself that the run was stopped.
        else if (stopped !== undefined && !isTold(entries)) missing.push(of(stopped))
        if (missing.length === 0) missing.push(of(end.note))
      }
      const { output, outputRef } = whole?.result ?? {}
      return {
        ...head,
        ...end,
        ...(waiting && end.status === "running" ? { status: "waiting" as const } : {}),
        ...(wakes === undefined ? {} : { wakeAt: wakes }),
        tier,
        usage: { ...usage },
        ...(output === undefined ? {} : { output }),
        ...(outputRef === undefined ? {} : { outputRef }),
        conflicts: whole?.conflicts ?? [],
        leftOut: whole?.leftOut ?? [],
        reviews: [...reviews.values()],
        unsettled: [...unsettled.values()],
        results: Object.fromEntries(results),
        missing,
        dispatches: audit.rows()
      }
    }
  }
}

/** The ends of a run that is not complete. */
const over: ReadonlySet<string> = new Set(["partial", "failed", "cancelled"])

/** Whether a task of the run was left out. */
const isTold = (entries: ReadonlyMap<string, Entry>): boolean => {
  for (const { status, within } of entries.values()) {
    if (within === "" && (status === "skipped" || status === "cancelled")) return true
  }
  return false
}

/** What the tasks of the run have not given, and what the answer that was made of them lacks beyond that. */
const lacking = (entries: ReadonlyMap<string, Entry>, whole: Of<"Merged"> | undefined): ReadonlyArray<Missing> => {
  const missing: Array<Missing> = []
  for (const [task, entry] of entries) if (entry.within === "") missing.push(...missingOf(task, entry))
  for (const { reason, requirement, task } of whole?.open ?? []) {
    missing.push({ task, worker: entries.get(task)?.worker ?? "nobody", reason: `${requirement}: ${reason}` })
  }
  return missing
}

/** What the answer lacks that no task lacks: a value that nobody chose, an output that was left out of it. */
const beyond = (
  run: string,
  entries: ReadonlyMap<string, Entry>,
  whole: Of<"Merged"> | undefined,
  named: ReadonlyArray<Missing>,
  of: (reason: string) => Missing
): ReadonlyArray<Missing> => {
  const told = new Set([run])
  for (const { reason, task } of named) told.add(task).add(reason)
  for (const { requirement, task } of whole?.open ?? []) told.add(`${task}.${requirement}`)
  return (whole?.result.missing ?? []).flatMap(({ part, reason }) => {
    const said = `${part}: ${reason}`
    if (told.has(part) || told.has(said)) return []
    const entry = entries.get(part)
    return [entry === undefined ? of(said) : { task: part, worker: entry.worker ?? "nobody", reason }]
  })
}

const open = (note: string) => ({ status: "running", degraded: false, note }) as const

/** Whether tasks of this status have a result that stands. */
const delivers = (status: TaskEnd | "open"): boolean => status === "accepted" || status === "partial"

/** A result with its output in place. */
const filled = (result: Envelope, values: ReadonlyMap<string, Schema.Json>): Envelope => {
  if (result.outputRef === undefined) return result
  const { outputRef, ...rest } = result
  const output = values.get(outputRef.hash)
  return output === undefined ? result : sealed({ ...rest, output })
}

const outcomeOf = (task: string, { missing, note, result, status, worker }: Entry): TaskOutcome => {
  const kept = delivers(status) ? result : undefined
  return {
    task,
    status,
    ...(worker === undefined ? {} : { worker }),
    ...(kept?.output === undefined ? {} : { output: kept.output }),
    ...(kept?.outputRef === undefined ? {} : { outputRef: kept.outputRef }),
    confidence: kept?.confidence ?? 0,
    missing,
    note
  }
}

const enter = (entries: ReadonlyMap<string, Entry>, task: string, event: RunEvent): void => {
  const entry = entries.get(task)
  if (entry === undefined) return
  switch (event._tag) {
    case "Routed":
    case "Dispatched": {
      entry.worker = event.worker
      return
    }
    case "Reused": {
      const result = entries.get(event.of)?.result
      entry.result = result
      if (result !== undefined) (entry.earlier ??= new Map()).set("", result)
      return
    }
    case "Merged":
    case "Reported": {
      // It is handed to whoever builds on it, and stays what it is.
      const result = sealed(event.result)
      entry.evidence = result.evidence
      if (!hasOutput(result)) return
      const dispatch = event._tag === "Reported" ? event.dispatch : ""
      ;(entry.earlier ??= new Map()).set(dispatch, result)
      if (event._tag === "Merged") entry.worker = event.kind
      entry.result = result
      return
    }
    case "TaskEnded": {
      entry.status = event.status
      entry.missing = event.missing
      entry.note = event.note
      const standing = delivers(event.status) ? entry.earlier?.get(event.dispatch ?? "") : undefined
      if (standing !== undefined) entry.result = standing
      entry.earlier = undefined
    }
  }
}

const missingOf = (task: string, entry: Entry): ReadonlyArray<Missing> => {
  const { missing, note, planned, status } = entry
  if (status === "open" || status === "accepted") return []
  if (status === "skipped" && missing.length === 0) return []
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
  let state: Draft | undefined
  for (const event of events) {
    all.add(event)
    const next = applyEvent(state, event)
    if (typeof next !== "string") state = next
  }
  return all.outcome(state)
}
