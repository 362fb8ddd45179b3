/**
 * How many restarts a supervisor may spend before it gives up.
 *
 * A `RestartIntensity` is a budget of `restarts` within a sliding window `within`. It owns the times of the restarts
 * that still count; it knows nothing of children, and reads no clock: the caller says what time it is.
 *
 * **Invariants**
 *
 * - R1. The marks are times of restarts, oldest first, none older than the window at the last `record`.
 * - R2. At most `restarts + 1` marks are kept: the one that overdraws is kept too, so an overdrawn budget stays so
 *   until it leaves the window.
 * - R3. A restart aged exactly `within` still counts; a nanosecond older does not.
 *
 * **Example** (Two restarts a second)
 *
 * ```ts
 * import { RestartIntensity } from "espalier"
 *
 * const budget = RestartIntensity.make({ restarts: 2, within: "1 second" })
 * const second = 1_000_000_000
 * RestartIntensity.record(budget, 0) // => true
 * RestartIntensity.record(budget, 1) // => true
 * RestartIntensity.record(budget, second) // => false
 * RestartIntensity.left(budget, 3 * second) // => 2
 * ```
 *
 * @see https://www.erlang.org/doc/apps/stdlib/supervisor.html "Restart intensity and period"
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import { format } from "effect/Formatter"

/**
 * The numbers of a budget.
 *
 * **Details**
 *
 * - `restarts`: restarts allowed inside the window, a whole number >= 0. Default 3.
 * - `within`: width of the sliding window, > 0 and finite. Default 5 seconds.
 *
 * Source of the defaults: Elixir's `Supervisor` (`max_restarts: 3`, `max_seconds: 5`); Erlang's own are 1 and 5.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly restarts?: number | undefined
  readonly within?: Duration.Input | undefined
}

/**
 * A budget and what was spent of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface RestartIntensity {
  readonly restarts: number
  readonly within: Duration.Duration
  /** @internal */
  readonly withinNanos: number
  /** @internal times in nanoseconds, oldest at `head` */
  marks: Array<number>
  /** @internal */
  head: number
}

const show = (value: unknown): string => (typeof value === "string" ? value : format(value))

const windowOf = (input: Duration.Input): Duration.Duration => {
  const within = Duration.fromInput(input)
  if (within._tag === "None" || !Duration.isFinite(within.value) || Duration.toMillis(within.value) <= 0) {
    throw new RangeError(
      `RestartIntensity.make: within must be a finite duration greater than zero, got ${show(input)}`
    )
  }
  return within.value
}

/**
 * Makes an unspent budget.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the parameter when `restarts` or `within` is out of range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: Options | undefined): RestartIntensity => {
  const restarts = options?.restarts ?? 3
  if (!Number.isSafeInteger(restarts) || restarts < 0) {
    throw new RangeError(`RestartIntensity.make: restarts must be a whole number >= 0, got ${show(restarts)}`)
  }
  const within = windowOf(options?.within ?? "5 seconds")
  return { restarts, within, withinNanos: Duration.toMillis(within) * 1_000_000, marks: [], head: 0 }
}

const prune = (self: RestartIntensity, now: number): void => {
  const { marks, withinNanos } = self
  while (self.head < marks.length && now - marks[self.head]! > withinNanos) self.head += 1 // R3
  if (self.head > 32 && self.head * 2 > marks.length) {
    self.marks = marks.slice(self.head)
    self.head = 0
  }
}

/**
 * Records a restart at `now` (nanoseconds of a monotonic clock) and tells whether the budget allows it.
 *
 * @category operations
 * @since 0.1.0
 */
export const record = (self: RestartIntensity, now: number): boolean => {
  prune(self, now)
  if (self.marks.length - self.head > self.restarts) self.head += 1 // R2
  self.marks.push(now)
  return self.marks.length - self.head <= self.restarts
}

/**
 * How many restarts are left at `now`, in nanoseconds of the same clock.
 *
 * @category operations
 * @since 0.1.0
 */
export const left = (self: RestartIntensity, now: number): number => {
  // It only looks: a restart that is recorded later may have been asked for before `now`.
  let { head } = self
  while (head < self.marks.length && now - self.marks[head]! > self.withinNanos) head += 1
  return Math.max(0, self.restarts - (self.marks.length - head))
}

/**
 * The times of the restarts that still count at the last `record`, oldest first, in nanoseconds.
 *
 * @category operations
 * @since 0.1.0
 */
export const times = (self: RestartIntensity): ReadonlyArray<number> => self.marks.slice(self.head)

/**
 * Forgets what was spent: a supervisor that starts again begins with an empty history.
 *
 * @category operations
 * @since 0.1.0
 */
export const reset = (self: RestartIntensity): void => {
  self.marks = []
  self.head = 0
}
