/**
 * What `--force` and `--fail` mean: the faults, the limits and the policy under which a run has to take the step that is
 * asked for. None of it says what the run does then.
 *
 * @since 0.1.0
 */
import type { Contract } from "espalier/run"

import type { Options } from "./desk.ts"
import type { Fault } from "./faults.ts"

/**
 * The steps that can be forced.
 *
 * @category models
 * @since 0.1.0
 */
export const forces = [
  "retry",
  "correct",
  "other-worker",
  "decompose",
  "re-plan",
  "follow-up",
  "reduce-scope",
  "escalate",
  "partial",
  "cross-check",
  "low-confidence",
  "budget",
  "deadline",
  "breaker",
  "cancel",
  "needs-revision"
] as const

/** @since 0.1.0 */
export type Force = (typeof forces)[number]

/**
 * The kinds of work that can be made to fail for good.
 *
 * @category models
 * @since 0.1.0
 */
export const failures = ["research", "write", "check"] as const

/** @since 0.1.0 */
export type Fail = (typeof failures)[number]

/**
 * How a run is set up.
 *
 * **Details**
 *
 * - `cancelAt`: the task at whose first order somebody asks for the end of the run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Setting {
  readonly faults: ReadonlyArray<Fault>
  readonly desk?: Options | undefined
  readonly limits?: Contract.Limits | undefined
  readonly cancelAt?: string | undefined
}

const settings: Readonly<Record<Force, Setting>> = {
  retry: { faults: [{ worker: "library.keywords", kind: "transient", calls: 2 }] },
  correct: { faults: [{ worker: "writing.composer", kind: "malformed", calls: 1 }] },
  "other-worker": { faults: [{ worker: "library.keywords", kind: "capability" }] },
  decompose: { faults: [{ worker: "library.keywords", kind: "oversized", calls: 1 }] },
  "re-plan": {
    faults: [
      { worker: "library.keywords", kind: "capability" },
      { worker: "reading.sections", kind: "capability" }
    ]
  },
  "follow-up": { faults: [{ worker: "writing.composer", kind: "misquote", calls: 1 }] },
  "reduce-scope": {
    faults: [
      { worker: "writing.composer", kind: "no-figures" },
      { worker: "writing.digest", kind: "no-figures" }
    ]
  },
  escalate: {
    faults: [
      { worker: "checking.figures", kind: "capability", calls: 1 },
      { worker: "checking.wording", kind: "capability", calls: 1 }
    ],
    desk: { unchecked: "escalate" }
  },
  partial: { faults: [{ worker: "library.keywords", kind: "half", calls: 1 }] },
  "cross-check": {
    faults: [{ worker: "library.keywords", kind: "unsure" }],
    desk: { lowConfidence: "cross-check" }
  },
  "low-confidence": { faults: [{ worker: "library.keywords", kind: "unsure" }] },
  // The catalogue takes one step and research two; writing needs two more.
  budget: { faults: [], limits: { steps: 4 } },
  deadline: { faults: [{ worker: "writing.composer", kind: "hang" }], limits: { deadlineMillis: 1_500 } },
  // Research is split, and the worker that does the parts crashes twice: the parts that are left go elsewhere.
  breaker: {
    faults: [
      { worker: "library.keywords", kind: "oversized", calls: 1 },
      { worker: "library.keywords", kind: "crash" }
    ],
    desk: { failuresToDegrade: 2 }
  },
  cancel: { faults: [{ worker: "writing.composer", kind: "hang" }], cancelAt: "write" },
  "needs-revision": { faults: [{ worker: "writing.composer", kind: "misstate" }] }
}

const workers: Readonly<Record<Fail, ReadonlyArray<string>>> = {
  research: ["library.keywords", "reading.sections", "library.outliner"],
  write: ["writing.composer", "writing.digest"],
  check: ["checking.figures", "checking.wording"]
}

/**
 * The setting that forces a step and makes a kind of work fail. What fails for good comes before what is forced.
 *
 * @category conversions
 * @since 0.1.0
 */
export const settingOf = (force: Force | undefined, fail: Fail | undefined): Setting => {
  const forced: Setting = force === undefined ? { faults: [] } : settings[force]
  const failing = fail === undefined ? [] : workers[fail].map((worker): Fault => ({ worker, kind: "capability" }))
  return { ...forced, faults: [...failing, ...forced.faults] }
}

/**
 * The setting with which a run is taken up again: the policy that it began with, and no new faults.
 *
 * @category conversions
 * @since 0.1.0
 */
export const takenUp = (force: Force | undefined): Setting => {
  const { desk } = settingOf(force, undefined)
  return { faults: [], ...(desk === undefined ? {} : { desk }) }
}
