/** What the workloads share. */
const { performance } = globalThis

export const now = (): number => performance.now()

/** Milliseconds that this thread has worked. What goes on beside it is not in there, nor who else keeps the machine busy. */
export const worked = (): number => {
  const { system, user } = process.threadCpuUsage()
  return (user + system) / 1000
}

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

/** A count at a scale, 100 at least. */
export const at = (count: number, scale: number, least = 100): number => Math.max(least, Math.round(count * scale))

/** One run of many independent tasks: how many there are, and how many may be in flight. */
export const fanOut = { tasks: 50, inFlight: 10 } as const

/** What a workload of orchestration is worth nothing without: that all of it was done. */
export const mustBe = (what: string, seen: unknown, expected: unknown): void => {
  if (seen !== expected) throw new Error(`${what} is ${String(seen)} and not ${String(expected)}`)
}

/** Microseconds for one of `n` cycles, after some that are not counted. */
export const timed = async (n: number, warmUp: number, cycle: (i: number) => Promise<unknown>): Promise<number> => {
  let t0 = now()
  for (let i = 0; i < warmUp + n; i++) {
    if (i === warmUp) t0 = now()
    await cycle(i)
  }
  return ((now() - t0) * 1000) / n
}

/** One workload of one contender: figures by metric, in the unit of the metric. `warming`: they are not looked at. */
export type Workload = (scale: number, warming: boolean) => Promise<Readonly<Record<string, number>>>

/** What a contender can do. */
export type Contender = Readonly<Record<string, Workload>>
