/**
 * The bounds of histograms, as numbers in the unit of the metric.
 *
 * @since 0.1.0
 */

const times = (first: number, factor: number, count: number): ReadonlyArray<number> =>
  // Decimal digits are rounded away, for 0.01 times a power of two is not always exact.
  Array.from({ length: count }, (_, index) => Number((first * factor ** index).toPrecision(12)))

/**
 * The sets of bounds, by what they are for.
 *
 * **Details**
 *
 * - `fast`: calls, in seconds. `agent`: turns of agents, in seconds. `run`: whole tasks, in seconds. `wait`: waiting for people,
 *   in seconds. `handling`: how long one of them took for it, in seconds.
 * - `calls`: calls in one turn. `steps`: steps of one task. `tokens`: of one call. `handed`: tokens handed over or spent on a
 *   task.
 * - `cost`: in the currency. `ratio`: shares of a whole.
 *
 * @category buckets
 * @since 0.1.0
 */
export const buckets = {
  fast: times(0.01, 2, 14),
  agent: times(0.1, 2, 13),
  run: [1, 5, 15, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 259_200, 604_800],
  wait: [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 172_800, 259_200, 604_800],
  handling: [1, 3, 10, 30, 60, 300, 900, 1_800, 3_600, 14_400, 86_400],
  calls: times(1, 2, 8),
  steps: times(1, 2, 10),
  tokens: times(1, 4, 14),
  handed: times(256, 4, 9),
  cost: [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100],
  ratio: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1]
} as const satisfies Readonly<Record<string, ReadonlyArray<number>>>
