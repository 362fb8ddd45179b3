/**
 * Gauges of which the values are read when somebody looks: a series is there for as long as what it is about.
 *
 * **Invariants**
 *
 * - G1. After {@link Shown.refresh} of a source there is one series for each of its samples. There is none that no source has had at
 *   its latest.
 * - G2. A source is read once for all series that are read in one go, however many there are: until one of them is read again, or
 *   somebody else has had a turn.
 * - G3. A board that is closed has no series.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

import { type Attributes, type CardinalityGuard, rest, seriesOf } from "./cardinality.ts"
import type { Entry } from "./catalogue.ts"
import { allowed, withUnit } from "./recorder.ts"
import type { Sample } from "./sample.ts"

/** Where values come from. */
export type Source = () => ReadonlyArray<Sample>

/** A source that is on a board. */
export interface Shown {
  /** Series for what it has now. It is said by whoever knows that there is something else than before, as values need none. */
  readonly refresh: () => void
  /** Takes it away again, with its series. */
  readonly remove: () => void
}

interface Merged {
  readonly entry: Entry
  readonly attributes: Attributes
  value: number
}

interface Registered {
  readonly name: string
  readonly attributes: Attributes
  readonly registration: Metric.Registration
  /** how many sources have it */
  sources: number
}

type Samples = ReadonlyMap<string, Merged>

const none: Samples = new Map()

const fold = ({ fold = "sum" }: Entry, one: number, other: number): number =>
  fold === "max" ? Math.max(one, other) : fold === "min" ? Math.min(one, other) : one + other

/** @since 0.1.0 */
export class Board {
  private readonly context: Context.Context<never>
  private readonly entries: ReadonlyMap<string, Entry>
  private readonly guard: CardinalityGuard
  /** What each source had at its latest refresh, by series. */
  private readonly sources = new Map<Source, Samples>()
  private readonly registered = new Map<string, Registered>()
  private read: { readonly values: Samples; readonly seen: Set<string> } | undefined

  constructor(context: Context.Context<never>, entries: ReadonlyMap<string, Entry>, guard: CardinalityGuard) {
    this.context = context
    this.entries = entries
    this.guard = guard
  }

  /** Adds a source, with series for what it has. */
  add(source: Source): Shown {
    this.sources.set(source, none)
    const refresh = () => {
      const before = this.sources.get(source)
      if (before === undefined) return
      this.show(
        source,
        before,
        gathered([source], this.entries, (name, own) => this.guard.admit(name, own))
      )
    }
    refresh()
    return { refresh, remove: () => this.remove(source) }
  }

  close(): void {
    for (const source of this.sources.keys()) this.remove(source) // G3
  }

  private remove(source: Source): void {
    const before = this.sources.get(source)
    if (before === undefined) return
    this.show(source, before, none)
    this.sources.delete(source)
  }

  /** Series for what a source has now, in place of those for what it had. G1 */
  private show(source: Source, before: Samples, now: Samples): void {
    this.read = undefined
    this.sources.set(source, now)
    for (const key of before.keys()) if (!now.has(key)) this.drop(key)
    for (const [key, { attributes, entry }] of now) if (!before.has(key)) this.have(key, entry, attributes)
  }

  private have(key: string, entry: Entry, attributes: Attributes): void {
    const registered = this.registered.get(key)
    if (registered === undefined) this.registered.set(key, this.register(key, entry, attributes))
    else registered.sources += 1
  }

  private drop(key: string): void {
    const registered = this.registered.get(key)
    if (registered === undefined || --registered.sources > 0) return
    registered.registration.remove()
    this.registered.delete(key)
    this.guard.release(registered.name, registered.attributes)
  }

  private register(key: string, entry: Entry, attributes: Attributes): Registered {
    const { description, name } = entry
    const gauge = Metric.gauge(name, { description, attributes: withUnit(entry, attributes) })
    const registration = Metric.registerUnsafe(gauge, this.context, {
      get: () => ({ value: this.valueOf(key) }),
      update: noop,
      modify: noop
    })
    return { name, attributes, registration, sources: 1 }
  }

  /** What is read in one go shows one moment. G2 */
  private valueOf(key: string): number {
    let { read } = this
    if (read === undefined || read.seen.has(key)) {
      const values = gathered(this.sources.keys(), this.entries, (name, own) =>
        this.registered.has(seriesOf(name, own)) ? own : rest
      )
      const again = { values, seen: new Set<string>() }
      this.read = read = again
      queueMicrotask(() => {
        if (this.read === again) this.read = undefined
      })
    }
    read.seen.add(key)
    return read.values.get(key)?.value ?? 0
  }
}

/** What sources have now, by series. `admit`: the attributes that it is shown with. */
const gathered = (
  sources: Iterable<Source>,
  entries: ReadonlyMap<string, Entry>,
  admit: (name: string, own: Attributes) => Attributes
): Samples => {
  const merged = new Map<string, Merged>()
  for (const source of sources) {
    for (const { attributes: given, metric, value } of source()) {
      const entry = entries.get(metric)
      if (entry === undefined || !Number.isFinite(value)) continue
      const attributes = admit(entry.name, allowed(entry, given))
      const key = seriesOf(entry.name, attributes)
      const before = merged.get(key)
      if (before === undefined) merged.set(key, { entry, attributes, value })
      else before.value = fold(entry, before.value, value)
    }
  }
  return merged
}

const noop = (): void => {}
