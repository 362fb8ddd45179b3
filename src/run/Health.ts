/**
 * The health of the workers of one open desk, shared by all its runs.
 *
 * A thin shell over {@link Breaker}: it keeps a state per worker, tells listeners of every change, and wakes when a pause
 * is over. All of it is synchronous but the making; it decides nothing that `Breaker` does not.
 *
 * **Details**
 *
 * - A worker that nobody has reported on is healthy.
 * - A worker whose domain gave up is degraded at once; its probe is the one that starts the domain again.
 * - A worker can be withdrawn for a reason beside its breaker. It is `unavailable` as long as somebody withdraws it, and
 *   reports on it count all the same.
 * - When a pause ends without anybody asking, the listeners are told by the clock.
 *
 * **Invariants**
 *
 * - H1. {@link Facts} are a value: they never change. There is a new one, of the next version, with each change that the
 *   listeners are told of, and the listeners see it.
 * - H2. Listeners are told of changes in the order in which they happened.
 *
 * **Gotchas**
 *
 * A listener that throws is not called again; the log says so.
 *
 * **Example** (A worker that keeps failing)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Health } from "espalier/run"
 *
 * const program = Effect.gen(function*() {
 *   const health = yield* Health.make({ breaker: { failures: 2, cooldown: "10 minutes" } })
 *   const notes: Array<string> = []
 *   health.changes(({ note }) => notes.push(note))
 *   health.report("docs.links", 0, "failed", "audit/links/1")
 *   health.report("docs.links", 5, "failed", "audit/links/2")
 *   return [health.admit("docs.links", 6, "audit/links/3")._tag, ...notes]
 * })
 * const seen = await Effect.runPromise(Effect.scoped(program))
 * seen // => ["Refused", "docs.links is degraded for 10m: 2 failed dispatches within 5m, the last one audit/links/2"]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"

import { tellWarning } from "../internal/telling.ts"
import * as Breaker from "./Breaker.ts"
import { Given } from "./internal/given.ts"
import { Listeners } from "./internal/listeners.ts"

/**
 * Where a worker stands: what its breaker says, or that it was withdrawn.
 *
 * @category models
 * @since 0.1.0
 */
export type Status = Breaker.State["status"] | "unavailable"

/**
 * What routing has to know of a worker.
 *
 * **Details**
 *
 * - `until`: when a `degraded` worker is ready for its probe, in milliseconds since 1970.
 * - `dispatch`: the probe of a `probing` worker.
 * - `reason`: why it is `unavailable`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Standing {
  readonly status: Status
  readonly until?: number
  readonly dispatch?: string
  readonly reason?: string
}

/**
 * Where all workers stand.
 *
 * **Details**
 *
 * - `version`: 0 at first, one more with each change.
 * - `workers`: those that were named at the making or changed since; any other is healthy.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly version: number
  readonly workers: ReadonlyMap<string, Standing>
}

/**
 * A worker stands elsewhere than before.
 *
 * **Details**
 *
 * - `at`: when, in milliseconds since 1970. `version`: of the facts that hold from here.
 * - `note`: one plain sentence that says what happened and why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly worker: string
  readonly at: number
  readonly version: number
  readonly state: Status
  readonly until?: number
  readonly dispatch?: string
  readonly note: string
}

/**
 * How a dispatch ended, as far as the health of its worker goes.
 *
 * **Details**
 *
 * - `failed`: after its retries, through the worker's own fault.
 * - `interrupted`: cancelled, or failed through somebody else's fault; it counts for nothing.
 *
 * @category models
 * @since 0.1.0
 */
export type End = "succeeded" | "failed" | "interrupted"

/**
 * Whether a dispatch may begin.
 *
 * @category models
 * @since 0.1.0
 */
export type Admission =
  | { readonly _tag: "Admitted"; readonly probe: boolean }
  | {
      readonly _tag: "Refused"
      readonly reason: "degraded" | "probing" | "unavailable"
      readonly until?: number
      readonly note: string
    }

/**
 * The health of a staff.
 *
 * **Details**
 *
 * - `facts`: where all workers stand now; the same value until something changes.
 * - `admit`: asks for one dispatch; the answer may make it the probe, whose end must be reported.
 * - `report`: how a dispatch ended.
 * - `trip`: degrades a worker at once, with the reason: its domain gave up. A probe under way is left to decide.
 * - `withdraw`: makes a worker unavailable on behalf of `by`, with the reason; again with another reason to change it.
 * - `restore`: `by` has nothing against the worker any more. No change when it had nothing.
 * - `changes`: calls the listener with every change from now on; the answer removes it.
 *
 * `at` is milliseconds since 1970. None of it fails.
 *
 * @category models
 * @since 0.1.0
 */
export interface Health {
  readonly facts: () => Facts
  readonly admit: (worker: string, at: number, dispatch: string) => Admission
  readonly report: (worker: string, at: number, end: End, dispatch: string) => void
  readonly trip: (worker: string, at: number, reason: string) => void
  readonly withdraw: (worker: string, at: number, why: { readonly by: string; readonly reason: string }) => void
  readonly restore: (worker: string, at: number, by: string) => void
  readonly changes: (listener: (change: Change) => void) => () => void
}

/**
 * Where a worker stands by these facts.
 *
 * @category accessors
 * @since 0.1.0
 */
export const standing = (facts: Facts, worker: string): Standing => facts.workers.get(worker) ?? { status: "healthy" }

interface Worker {
  readonly state: Breaker.State
  /** Who withdraws it, and why; the first one is named. */
  readonly against: ReadonlyMap<string, string>
}

const unknown: Worker = { state: Breaker.healthy, against: new Map() }

const standingOf = ({ against, state }: Worker): Standing => {
  const [reason] = against.values()
  if (reason !== undefined) return { status: "unavailable", reason }
  switch (state.status) {
    case "degraded":
      return { status: "degraded", until: state.until }
    case "probing":
      return { status: "probing", dispatch: state.dispatch }
    default:
      return { status: state.status }
  }
}

const same = (one: Standing, other: Standing): boolean =>
  one.status === other.status &&
  one.until === other.until &&
  one.dispatch === other.dispatch &&
  one.reason === other.reason

const span = (millis: number): string => Duration.format(Duration.millis(millis))

class Shell implements Health {
  private readonly settings: Breaker.Settings
  private readonly workers = new Map<string, Worker>()
  private readonly listeners: Listeners<Change>
  private current: Facts
  /** Open when the clock's fiber has something to look at. */
  private readonly news = Latch.makeUnsafe(false)
  private readonly thrown: Array<unknown> = []

  constructor(settings: Breaker.Settings, names: Iterable<string>) {
    this.settings = settings
    this.listeners = new Listeners((error) => {
      this.thrown.push(error)
      this.news.openUnsafe()
    })
    for (const name of names) this.workers.set(name, unknown)
    this.current = {
      version: 0,
      workers: new Map(Array.from(this.workers, ([name, worker]) => [name, standingOf(worker)]))
    }
  }

  readonly facts = (): Facts => this.current

  readonly changes = (listener: (change: Change) => void): (() => void) => this.listeners.add(listener)

  readonly admit = (name: string, at: number, dispatch: string): Admission => {
    this.tick(name, at)
    const worker = this.of(name)
    const { reason } = standingOf(worker)
    if (reason !== undefined) {
      return { _tag: "Refused", reason: "unavailable", note: `${name} is unavailable: ${reason}` }
    }
    const admission = Breaker.admit(worker.state, at, dispatch)
    if (admission._tag === "Admitted") {
      if (admission.state !== worker.state) {
        this.set(name, at, { ...worker, state: admission.state }, `${dispatch} is the probe of ${name}`)
      }
      return { _tag: "Admitted", probe: admission.probe }
    }
    return admission.until === undefined
      ? { _tag: "Refused", reason: "probing", note: `${name} is being probed` }
      : {
          _tag: "Refused",
          reason: "degraded",
          until: admission.until,
          note: `${name} is degraded for another ${span(admission.until - at)}`
        }
  }

  readonly report = (name: string, at: number, end: End, dispatch: string): void => {
    this.tick(name, at)
    const worker = this.of(name)
    const probe = worker.state.status === "probing"
    const state = this.after(worker.state, at, end, dispatch)
    if (state === worker.state) return
    this.set(name, at, { ...worker, state }, this.noteOf(name, end, dispatch, probe))
  }

  private after(state: Breaker.State, at: number, end: End, dispatch: string): Breaker.State {
    switch (end) {
      case "failed":
        return Breaker.failed(state, at, dispatch, this.settings)
      case "succeeded":
        return Breaker.succeeded(state, dispatch)
      case "interrupted":
        return Breaker.interrupted(state, dispatch)
    }
  }

  private noteOf(name: string, end: End, dispatch: string, probe: boolean): string {
    const { cooldownMillis, failures, withinMillis } = this.settings
    const degraded = `${name} is degraded for ${span(cooldownMillis)}`
    if (end === "succeeded") return `${name} is healthy again: its probe ${dispatch} succeeded`
    if (end === "interrupted") return `${name} is ready for another probe: ${dispatch} was interrupted`
    if (probe) return `${degraded}: its probe ${dispatch} failed`
    const dispatches = failures === 1 ? "1 failed dispatch" : `${failures} failed dispatches`
    return `${degraded}: ${dispatches} within ${span(withinMillis)}, the last one ${dispatch}`
  }

  readonly trip = (name: string, at: number, reason: string): void => {
    this.tick(name, at)
    const worker = this.of(name)
    const state = Breaker.tripped(worker.state, at, this.settings)
    this.set(name, at, { ...worker, state }, `${name} is degraded for ${span(this.settings.cooldownMillis)}: ${reason}`)
  }

  readonly withdraw = (
    name: string,
    at: number,
    { by, reason }: { readonly by: string; readonly reason: string }
  ): void => {
    this.tick(name, at)
    const worker = this.of(name)
    const against = new Map(worker.against).set(by, reason)
    this.set(name, at, { ...worker, against }, `${name} is unavailable: ${standingOf({ ...worker, against }).reason}`)
  }

  readonly restore = (name: string, at: number, by: string): void => {
    this.tick(name, at)
    const worker = this.of(name)
    const against = new Map(worker.against)
    against.delete(by)
    const { reason, status } = standingOf({ ...worker, against })
    const note =
      reason === undefined ? `${name} is available again, and ${status}` : `${name} is unavailable: ${reason}`
    this.set(name, at, { ...worker, against }, note)
  }

  private of(name: string): Worker {
    return this.workers.get(name) ?? unknown
  }

  private tick(name: string, at: number): void {
    const worker = this.of(name)
    const state = Breaker.tick(worker.state, at)
    if (state !== worker.state) this.set(name, at, { ...worker, state }, `${name} may be probed: its pause is over`)
  }

  /** Keeps what is known of a worker; when that makes it stand elsewhere, the note says why. */
  private set(name: string, at: number, worker: Worker, note: string): void {
    const before = this.current.workers.get(name)
    const after = standingOf(worker)
    this.workers.set(name, worker)
    if (worker.state.status === "degraded") this.news.openUnsafe()
    if (before !== undefined ? same(before, after) : after.status === "healthy") return
    const version = this.current.version + 1
    this.current = { version, workers: new Map(this.current.workers).set(name, after) } // H1
    const { dispatch, status, until } = after
    this.listeners.tell({
      worker: name,
      at,
      version,
      state: status,
      ...(until === undefined ? {} : { until }),
      ...(dispatch === undefined ? {} : { dispatch }),
      note
    })
  }

  /** Ticks every worker whose pause is over; answers with how long the next one has to wait. */
  private wake(at: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const [name, { state }] of Array.from(this.workers)) {
      if (state.status !== "degraded") continue
      if (at >= state.until) this.tick(name, at)
      else next = Math.min(next, state.until - at)
    }
    return next
  }

  /** The one fiber that waits: for news, and for the first pause that ends. */
  readonly keep: Effect.Effect<never> = Effect.gen({ self: this }, function* () {
    for (;;) {
      this.news.closeUnsafe()
      const wait = this.wake(Math.floor(yield* Clock.currentTimeMillis))
      for (const error of this.thrown.splice(0)) {
        yield* tellWarning("Health: a listener threw and is not called again", error)
      }
      yield* wait === Number.POSITIVE_INFINITY ? this.news.await : Effect.timeoutOption(this.news.await, wait)
    }
  })
}

/**
 * What a {@link Health} is made of.
 *
 * **Details**
 *
 * - `workers`: names that the facts hold from the start. Default none.
 * - `breaker`: what differs from `Breaker.settings`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly workers?: Iterable<string> | undefined
  readonly breaker?: Breaker.Options | undefined
}

/**
 * Makes the health of a staff. One fiber waits for pauses to end; it ends with the scope.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when an option is not what its type says, also with that of `Breaker.make`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<Health, never, Scope.Scope> =>
  Effect.suspend(() => {
    given.record("options", options, ["workers", "breaker"])
    const { breaker, workers = [] } = options
    if (!Predicate.isIterable(workers) || typeof workers === "string") given.refuse("workers", "a list", workers)
    const names = [...workers]
    given.texts("workers", names)
    const shell = new Shell(Breaker.make(breaker), names)
    return Effect.as(Effect.forkScoped(shell.keep), shell)
  })

const given = new Given("Health.make")
