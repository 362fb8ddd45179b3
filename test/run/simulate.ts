import { Result as EffectResult } from "effect"
import { Decider, type Result, type RunEvent, RunState } from "espalier/run"

/** A small generator of our own (mulberry32), so that a seed is a whole case. */
export const dice = (seed: number) => {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    next,
    below: (limit: number) => Math.floor(next() * limit),
    pick: <A>(values: ReadonlyArray<A>): A => values[Math.floor(next() * values.length)]!
  }
}

const kinds: ReadonlyArray<Result.ErrorKind> = [
  "transient",
  "capability",
  "oversized",
  "malformed",
  "denied",
  "exhausted",
  "defect"
]

export const envelope = (fields: Partial<Result.Envelope>): Result.Envelope => ({
  status: "completed",
  confidence: 1,
  evidence: [],
  usage: {},
  missing: [],
  ...fields
})

export const started = (
  tasks: ReadonlyArray<Partial<RunEvent.PlannedTask> & { readonly id: string }>
): RunEvent.Of<"RunStarted"> => ({
  _tag: "RunStarted",
  at: 0,
  run: "r1",
  desk: "desk",
  version: "1",
  definition: "d",
  input: null,
  tasks: tasks.map((task) => ({ needs: [], acceptMissing: false, ...task })),
  note: "Asked for"
})

export const get = <A, E>(result: EffectResult.Result<A, E>): A => {
  if (EffectResult.isFailure(result)) throw result.failure
  return result.success
}

export const fold = (events: ReadonlyArray<RunEvent.RunEvent>): RunState.RunState => {
  const state = get(RunState.fold(events))
  if (state === undefined) throw new Error("no events")
  return state
}

export interface Simulated {
  readonly events: ReadonlyArray<RunEvent.RunEvent>
  readonly spec: Decider.Spec
  readonly state: RunState.RunState
}

/** A random plan, random workers and random outcomes, carried to the end without any Effect. */
export const simulate = (seed: number): Simulated => {
  const { below, next, pick } = dice(seed)
  const capabilities = ["a", "b", "c"]
  const workers = Array.from({ length: 1 + below(6) }, (_, index) => ({
    name: `d.w${index}`,
    capabilities: capabilities.filter(() => next() < 0.5)
  }))
  const spec = Decider.spec({ workers, concurrency: 1 + below(4) })
  const tasks = Array.from({ length: 1 + below(10) }, (_, index) => ({
    id: `t${index}`,
    needs: Array.from({ length: index }, (_, earlier) => `t${earlier}`).filter(() => next() < 0.3),
    acceptMissing: next() < 0.3,
    ...(next() < 0.5 ? { worker: pick(workers).name } : { capability: pick(capabilities) })
  }))
  const events: Array<RunEvent.RunEvent> = []
  let state: RunState.RunState | undefined
  let at = 0
  const happened = (event: RunEvent.RunEvent) => {
    events.push(event)
    state = get(RunState.evolve(state, event))
  }
  happened(started(tasks))
  for (let round = 0; round < 10_000; round++) {
    const current = state!
    if (RunState.isFinished(current.status)) return { events, spec, state: current }
    const actions = Decider.decide(current, spec)
    at += 1
    for (const action of actions) {
      switch (action._tag) {
        case "Dispatch": {
          const { candidates, note, task, worker } = action
          happened({ _tag: "Routed", at, task, worker, candidates, note })
          if (next() < 0.05) {
            happened({ _tag: "ContractRefused", at, task, worker, note: "CONTRACT_INVALID" })
            break
          }
          const dispatch = `r1/${task}/${current.tasks.get(task)!.dispatches + 1}`
          happened({ _tag: "Dispatched", at, task, dispatch, worker, contract: 1, note })
          break
        }
        case "EndTask": {
          const { dispatch, missing, note, status, task } = action
          happened({
            _tag: "TaskEnded",
            at,
            task,
            status,
            ...(dispatch === undefined ? {} : { dispatch }),
            missing,
            note
          })
          break
        }
        case "Finish": {
          const { degraded, note, status, stopReason } = action
          happened({ _tag: "RunFinished", at, status, stopReason, degraded, note })
          break
        }
        case "Review": {
          const { _tag: _, task, ...rest } = action
          const review = `r1/review/${state!.reviewed + 1}`
          happened({ _tag: "ReviewOpened", at, review, ...(task === undefined ? {} : { task }), ...rest })
          break
        }
        case "Confirm": {
          const { allowed, note, task, worker } = action
          happened({ _tag: "Confirmed", at, task, worker, allowed, note })
          break
        }
        default:
          throw new Error(`seed ${seed}: a ${action._tag} of a plain plan`)
      }
    }
    if (actions.length > 0 && next() < 0.5) continue
    const open = [...state!.tasks.values()].filter((task) => task.dispatch !== undefined)
    const [review] = state!.reviews.values()
    if (review !== undefined && (open.length === 0 || next() < 0.2)) {
      // A person who has something tried again for ever would keep the run from ending.
      const decision = pick(review.allowed.filter((each) => each !== "retry" || next() < 0.3))
      if (decision !== undefined) {
        happened({ _tag: "ReviewDecided", at, review: review.review, decision, by: "somebody", note: "So be it" })
      }
      continue
    }
    if (open.length === 0) {
      if (actions.length === 0) throw new Error(`seed ${seed} is stuck`)
      continue
    }
    if (next() < 0.05) {
      happened({ _tag: "RunSuspended", at, reason: "asked", note: "Asked to stop" })
      happened({ _tag: "RunResumed", at, note: "Taken up again" })
    }
    const task = pick(open)
    const { id: dispatch, worker } = task.dispatch!
    const roll = next()
    if (roll < 0.15) {
      happened({
        _tag: "AttemptFailed",
        at,
        task: task.id,
        dispatch,
        worker,
        attempt: task.attempts + 1,
        kind: "transient",
        waitMillis: 1_000,
        note: "Slow down"
      })
      continue
    }
    const kind = pick(kinds)
    const result =
      roll < 0.55
        ? envelope({ output: at, confidence: next() })
        : roll < 0.65
          ? envelope({ status: "partial", output: at, missing: [{ part: "p", reason: "q" }] })
          : envelope({ status: "failed", confidence: 0, error: { kind, reason: "broke" } })
    happened({
      _tag: "Reported",
      at,
      task: task.id,
      dispatch,
      worker,
      attempts: task.attempts + 1,
      outcome: result.status === "completed" ? "accepted" : result.status === "partial" ? "partial" : "failed",
      result,
      note: "Reported"
    })
  }
  throw new Error(`seed ${seed} does not end`)
}
