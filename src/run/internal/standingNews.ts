/**
 * What a run has to be told of the health of its staff: a function from data to data.
 *
 * @since 0.1.0
 */
import type { Facts } from "../Health.ts"
import type { RunEvent } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"

/** Where the staff stands, as far as the run does not know it yet. */
export const standingNews = (
  { workers }: Pick<Facts, "workers">,
  known: RunState["health"] | undefined,
  at: number
): ReadonlyArray<RunEvent> => {
  const events: Array<RunEvent> = []
  for (const [worker, { status, until }] of workers) {
    if ((known?.get(worker)?.health ?? "healthy") === status) continue
    const end = until === undefined ? {} : { until }
    events.push({ _tag: "HealthChanged", at, worker, health: status, ...end, note: `${worker} is ${status}` })
  }
  for (const worker of known?.keys() ?? []) {
    if (workers.has(worker)) continue
    events.push({ _tag: "HealthChanged", at, worker, health: "healthy", note: `${worker} is healthy` })
  }
  return events
}
