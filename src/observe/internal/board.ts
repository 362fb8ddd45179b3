/**
 * Gauges of which the values are read when somebody looks: a series is there for as long as what it is about.
 *
 * **Invariants**
 *
 * - G1. After {@link Board.refresh} there is one series for each sample of the sources, and no other.
 * - G2. A source is read once for all series that are read in one go, however many there are: until one of them is read again, or
 *   somebody else has had a turn.
 * - G3. A board that is closed has no series.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

import { type Attributes, type CardinalityGuard, keyOf, rest } from "./cardinality.ts"
import type { Entry } from "./catalogue.ts"
import { allowed, withUnit } from "./recorder.ts"
import type { Sample } from "./sample.ts"

/** Where values come from. */
export type Source = () => ReadonlyArray<Sample>

interface Merged {
  readonly entry: Entry
  readonly attributes: Attributes
  value: number
}

interface Registered {
  readonly name: string
  readonly attributes: Attributes
  readonly registration: Metric.Registration
}

const fold = ({ fold = "sum" }: Entry, one: number, other: number): number =>
  fold === "max" ? Math.max(one, other) : fold === "min" ? Math.min(one, other) : one + other

/** @since 0.1.0 */
export class Board {
  private readonly context: Context.Context<never>
  private readonly entries: ReadonlyMap<string, Entry>
  private readonly guard: CardinalityGuard
  private readonly sources = new Set<Source>()
  private readonly registered = new Map<string, Registered>()
  private read: { readonly values: ReadonlyMap<string, Merged>; readonly seen: Set<string> } | undefined

  constructor(context: Context.Context<never>, entries: ReadonlyMap<string, Entry>, guard: CardinalityGuard) {
    this.context = context
    this.entries = entries
    this.guard = guard
  }

  /** Adds a source; the answer takes it away again, with its series. */
  add(source: Source): () => void {
    this.sources.add(source)
    this.refresh()
    return () => {
      if (this.sources.delete(source)) this.refresh()
    }
  }

  /** Series for what there is now. */
  refresh(): void {
    this.read = undefined
    const current = this.gather((name, own) => this.guard.admit(name, own))
    for (const [key, { attributes, name, registration }] of this.registered) {
      if (current.has(key)) continue
      registration.remove()
      this.registered.delete(key)
      this.guard.release(name, attributes)
    }
    for (const [key, { attributes, entry }] of current) {
      if (!this.registered.has(key)) this.registered.set(key, this.register(key, entry, attributes))
    }
  }

  close(): void {
    this.sources.clear()
    this.refresh()
  }

  private register(key: string, entry: Entry, attributes: Attributes): Registered {
    const { description, name } = entry
    const gauge = Metric.gauge(name, { description, attributes: withUnit(entry, attributes) })
    const registration = Metric.registerUnsafe(gauge, this.context, {
      get: () => ({ value: this.valueOf(key) }),
      update: noop,
      modify: noop
    })
    return { name, attributes, registration }
  }

  /** What is read in one go shows one moment. G2 */
  private valueOf(key: string): number {
    let { read } = this
    if (read === undefined || read.seen.has(key)) {
      const values = this.gather((name, own) => (this.registered.has(seriesOf(name, own)) ? own : rest))
      const again = { values, seen: new Set<string>() }
      this.read = read = again
      queueMicrotask(() => {
        if (this.read === again) this.read = undefined
      })
    }
    read.seen.add(key)
    return read.values.get(key)?.value ?? 0
  }

  private gather(admit: (name: string, own: Attributes) => Attributes): ReadonlyMap<string, Merged> {
    const merged = new Map<string, Merged>()
    for (const source of this.sources) {
      for (const { attributes: given, metric, value } of source()) {
        const entry = this.entries.get(metric)
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
}

const seriesOf = (name: string, attributes: Attributes): string => `${name} ${keyOf(attributes)}`

const noop = (): void => {}
