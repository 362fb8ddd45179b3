/** Events of one run, as its tests write them: only what matters to the test is said. */
import type { ModelCall } from "espalier/agent"
import type { RunEvent } from "espalier/run"

import type { Measurement } from "../../src/observe/internal/measures/measurement.ts"
import { make } from "../../src/observe/internal/measures/measuring.ts"
import { envelope, started } from "../run/simulate.ts"

type Fields<Tag extends RunEvent.RunEvent["_tag"]> = Partial<Omit<RunEvent.Of<Tag>, "_tag">>

export const begun = started

export const routed = (task: string, worker: string, fields: Fields<"Routed"> = {}): RunEvent.RunEvent => ({
  _tag: "Routed",
  at: 0,
  task,
  worker,
  candidates: [worker],
  note: "Chosen",
  ...fields
})

export const dispatched = (task: string, worker: string, at = 0, n = 1): RunEvent.Of<"Dispatched"> => ({
  _tag: "Dispatched",
  at,
  task,
  dispatch: `r1/${task}/${n}`,
  worker,
  contract: 1,
  note: "Given"
})

export const reported = (
  task: string,
  worker: string,
  outcome: RunEvent.DispatchEnd,
  at = 0,
  n = 1,
  fields: Fields<"Reported"> = {}
): RunEvent.Of<"Reported"> => ({
  _tag: "Reported",
  at,
  task,
  dispatch: `r1/${task}/${n}`,
  worker,
  attempts: 1,
  outcome,
  result:
    outcome === "accepted" || outcome === "partial" || outcome === "rejected-quality"
      ? envelope({ output: 1 })
      : envelope({ status: "failed", confidence: 0, error: { kind: "capability", reason: "not mine" } }),
  note: "Over",
  ...fields
})

export const ended = (task: string, status: RunEvent.TaskEnd, at = 0): RunEvent.Of<"TaskEnded"> => ({
  _tag: "TaskEnded",
  at,
  task,
  status,
  missing: [],
  note: "Over"
})

export const finished = (at = 0, fields: Fields<"RunFinished"> = {}): RunEvent.Of<"RunFinished"> => ({
  _tag: "RunFinished",
  at,
  status: "completed",
  stopReason: "accepted",
  degraded: false,
  note: "Over",
  ...fields
})

export const call = (fields: Partial<ModelCall.Call> = {}): ModelCall.Call => ({
  provider: "acme",
  model: "small",
  step: 0,
  attempt: 1,
  end: "answered",
  usage: { input: 100, output: 20, cacheRead: 300, reasoning: 5 },
  cost: 0.25,
  currency: "EUR",
  durationMillis: 800,
  ...fields
})

export const spent = (
  task: string,
  dispatch: string,
  worker: string,
  fields: Partial<ModelCall.Call> = {},
  more: Readonly<Record<string, number>> = { utilisation: 0.4 }
): RunEvent.Of<"Spent"> => {
  const { cost, usage, ...rest } = call(fields)
  const { cacheRead = 0, cacheWrite = 0, input, output } = usage
  return {
    _tag: "Spent",
    at: 0,
    task,
    dispatch,
    worker,
    what: "model",
    usage: { tokens: input + output + cacheRead + cacheWrite, steps: 1, ...(cost === undefined ? {} : { cost }) },
    facts: { usage, ...rest, ...(cost === undefined ? {} : { cost }), ...more } as never,
    note: "Asked"
  }
}

export const opened = (fields: Fields<"ReviewOpened"> = {}): RunEvent.Of<"ReviewOpened"> => ({
  _tag: "ReviewOpened",
  at: 0,
  review: "r1/review/1",
  kind: "action-approval",
  reason: "gate",
  allowed: ["approve", "reject"],
  facts: {},
  note: "Asked",
  ...fields
})

export const decided = (
  decision: RunEvent.Decision,
  at = 0,
  fields: Fields<"ReviewDecided"> = {}
): RunEvent.Of<"ReviewDecided"> => ({
  _tag: "ReviewDecided",
  at,
  review: "r1/review/1",
  decision,
  by: "ann",
  note: "So be it",
  ...fields
})

/** All that the events measure. */
export const measurements = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<Measurement> => {
  const measuring = make()
  return events.flatMap(measuring.happened)
}

/** The measurements of one metric: value and attributes without their namespace. */
export const of = (
  metric: string,
  events: ReadonlyArray<RunEvent.RunEvent>
): ReadonlyArray<readonly [number, Readonly<Record<string, string>>]> =>
  measurements(events)
    .filter((each) => each.metric === metric)
    .map(({ attributes, value }) => [
      value,
      Object.fromEntries(Object.entries(attributes).map(([name, text]) => [name.replace(/^espalier\./, ""), text]))
    ])
