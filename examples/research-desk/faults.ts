/**
 * Faults on order: what `--force` and `--fail` do to the models of workers, so that each way of recovery can be watched.
 *
 * Each fault is one that a model can have: it fails as a provider does, says that it cannot go on, never answers, delivers
 * what no schema accepts, or delivers an answer that is real but for one thing. What the run does then is its own affair.
 *
 * @since 0.1.0
 */

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
 * A fault of the model of one worker.
 *
 * **Details**
 *
 * - `worker`: `domain.worker`.
 * - `kind`: beside the bends: its provider is overloaded, it gives up as not able or because its work is too large, it delivers
 *   something else, it has a bug, it never answers.
 * - `calls`: how many conversations it strikes before the next fault of that worker has its turn; `undefined` = all from then on.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fault {
  readonly worker: string
  readonly kind: "transient" | "capability" | "oversized" | "malformed" | "crash" | "hang" | Bend
  readonly calls?: number | undefined
}

/**
 * Says what is wrong with a turn of a worker's model. A conversation keeps what its first turn had.
 *
 * @category models
 * @since 0.1.0
 */
export type Strike = (worker: string, conversation: string, turn: number) => Fault["kind"] | undefined

/**
 * Counts the conversations of each worker and strikes those that were asked for.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (faults: ReadonlyArray<Fault>): Strike => {
  const counts = new Map<string, number>()
  const struck = new Map<string, Fault["kind"] | undefined>()
  const next = (worker: string): Fault["kind"] | undefined => {
    const count = (counts.get(worker) ?? 0) + 1
    counts.set(worker, count)
    let until = 0
    for (const fault of faults) {
      if (fault.worker !== worker) continue
      until += fault.calls ?? Number.POSITIVE_INFINITY
      if (count <= until) return fault.kind
    }
    return undefined
  }
  return (worker, conversation, turn) => {
    const key = `${worker} ${conversation}`
    if (turn === 1) struck.set(key, next(worker))
    return struck.get(key)
  }
}

/**
 * What a fault says of itself.
 *
 * @category models
 * @since 0.1.0
 */
export const reason = "a fault that was ordered"
