/**
 * Faults on order: what `--force` and `--fail` do to workers, so that each way of recovery can be watched.
 *
 * Each fault is the real thing, not a pretence: a crash is a defect, a hang never ends, a malformed answer is one that the
 * worker's schema refuses, a bent answer is a real one with one thing wrong. What the run does then is its own affair.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import { Failure } from "espalier"
import type { Result } from "espalier/run"

/**
 * What can be wrong with an answer that is otherwise fine.
 *
 * **Details**
 *
 * - `half`: only the first half of it, which it says. `unsure`: a low confidence.
 * - `misquote`: a place that is one line off. `misstate`: a figure that no source has. `no-figures`: no figure at all.
 *
 * @category models
 * @since 0.1.0
 */
export type Bend = "half" | "unsure" | "misquote" | "misstate" | "no-figures"

/**
 * A fault of one worker.
 *
 * **Details**
 *
 * - `worker`: `domain.worker`.
 * - `calls`: how many calls it strikes before the next fault of that worker has its turn; `undefined` = all from then on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fault {
  readonly worker: string
  readonly kind: Failure.Kind | "crash" | "hang" | Bend
  readonly calls?: number | undefined
}

/**
 * Wraps a worker's calls: one that a fault strikes does not reach the worker, or its answer is bent.
 *
 * @category constructors
 * @since 0.1.0
 */
export type Strike = <A, E, R>(
  worker: string,
  call: Effect.Effect<Result.Result<A>, E, R>,
  bend: (kind: Exclude<Bend, "unsure">, answer: Result.Result<A>) => Result.Result<A>
) => Effect.Effect<Result.Result<A>, E | Failure.Failure, R>

/**
 * Counts the calls of each worker and strikes those that were asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (faults: ReadonlyArray<Fault>): Strike => {
  const calls = new Map<string, number>()
  const turn = (worker: string): Fault["kind"] | undefined => {
    const count = (calls.get(worker) ?? 0) + 1
    calls.set(worker, count)
    let until = 0
    for (const fault of faults) {
      if (fault.worker !== worker) continue
      until += fault.calls ?? Number.POSITIVE_INFINITY
      if (count <= until) return fault.kind
    }
    return undefined
  }
  return <A, E, R>(
    worker: string,
    call: Effect.Effect<Result.Result<A>, E, R>,
    bend: (kind: Exclude<Bend, "unsure">, answer: Result.Result<A>) => Result.Result<A>
  ) =>
    Effect.suspend((): Effect.Effect<Result.Result<A>, E | Failure.Failure, R> => {
      const kind = turn(worker)
      switch (kind) {
        case undefined:
          return call
        case "unsure":
          return Effect.map(call, (answer) => ({ ...answer, confidence: 0.4 }))
        case "half":
        case "misquote":
        case "misstate":
        case "no-figures":
          return Effect.map(call, (answer) => bend(kind, answer))
        default:
          return struck(kind)
      }
    })
}

const reason = "a fault that was ordered"

const struck = (kind: Failure.Kind | "crash" | "hang"): Effect.Effect<never, Failure.Failure> => {
  switch (kind) {
    case "crash":
      return Effect.die(new Error(reason))
    case "hang":
      return Effect.never
    case "malformed":
      // An answer that no schema of this desk accepts; the type says otherwise, which is the point.
      return Effect.succeed("not what was asked for" as never)
    default:
      return Effect.fail(new Failure.Failure({ kind, reason }))
  }
}
