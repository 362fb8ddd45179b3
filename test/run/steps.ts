import type { Recovery, Result } from "espalier/run"

/** A step of recovery in short. */
export const shown = (step: Recovery.Step): string => {
  switch (step._tag) {
    case "SameWorker":
      return `${step.rung} ${step.worker}`
    case "OtherWorker":
      return `other ${step.worker}`
    case "Expand":
      return step.purpose
    case "Review":
      return "review"
    case "Incomplete":
      return `incomplete ${step.because}`
  }
}

/** `"defect@a malformed@b"` as the failures of a task, oldest first. */
export const failures = (text: string): ReadonlyArray<Recovery.Failed> =>
  text.split(" ").map((entry) => {
    const [kind, worker] = entry.split("@")
    return { kind: kind as Result.ErrorKind, worker: worker! }
  })
