/**
 * Faults on order: what `--fault code.complexity=crash@2` does to a worker.
 *
 * A fault strikes the first N calls of a worker in this process, or every one. Each kind is the real thing, not a
 * pretence: a crash is a defect, a hang never ends, a malformed answer is one that the worker's own schema refuses.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import { Failure } from "espalier"

/**
 * What can go wrong on order.
 *
 * @category models
 * @since 0.1.0
 */
export const faultKinds = [...Failure.kinds, "crash", "hang"] as const

/**
 * @category models
 * @since 0.1.0
 */
export type FaultKind = (typeof faultKinds)[number]

/**
 * A fault of one worker.
 *
 * **Details**
 *
 * - `worker`: `domain.worker`.
 * - `calls`: how many calls it strikes, from the first on; `undefined` = every one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fault {
  readonly worker: string
  readonly kind: FaultKind
  readonly calls: number | undefined
}

/**
 * Wraps a worker's calls: the one that a fault strikes does not reach the worker.
 *
 * @category constructors
 * @since 0.1.0
 */
export type Strike = <A, E, R>(worker: string, call: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Failure.Failure, R>

/**
 * Counts the calls of each worker and strikes those that were asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (faults: ReadonlyArray<Fault>): Strike => {
  const calls = new Map<string, number>()
  return <A, E, R>(worker: string, call: Effect.Effect<A, E, R>) =>
    Effect.suspend((): Effect.Effect<A, E | Failure.Failure, R> => {
      const count = (calls.get(worker) ?? 0) + 1
      calls.set(worker, count)
      const fault = faults.find(
        (fault) => fault.worker === worker && count <= (fault.calls ?? Number.POSITIVE_INFINITY)
      )
      return fault === undefined ? call : struck(fault.kind)
    })
}

const reason = "a fault that was ordered with --fault"

const struck = (kind: FaultKind): Effect.Effect<never, Failure.Failure> => {
  switch (kind) {
    case "crash":
      return Effect.die(new Error(reason))
    case "hang":
      return Effect.never
    case "malformed":
      // An answer that no schema of this desk accepts; the type says otherwise, which is the point.
      return Effect.succeed("not an audit" as never)
    case "transient":
    case "capability":
    case "oversized":
    case "denied":
    case "exhausted":
      return Effect.fail(new Failure.Failure({ kind, reason }))
  }
}
