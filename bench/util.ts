/** What the workloads share. */
const { performance } = globalThis

export const now = (): number => performance.now()

export const quantile = (sorted: ArrayLike<number>, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
}

export const summary = (values: ReadonlyArray<number>): Summary => {
  const sorted = values.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), min: sorted[0]!, max: sorted.at(-1)! }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Heap in use after collection, in bytes. */
export const heap = async (): Promise<number> => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await tick()
  }
  const memory = process.memoryUsage()
  return memory.heapUsed + memory.external
}

/** One workload of one contender: figures by metric, in the unit of the metric. */
export type Workload = (scale: number) => Promise<Readonly<Record<string, number>>>

/** What a contender can do. */
export type Contender = Readonly<Record<string, Workload>>
