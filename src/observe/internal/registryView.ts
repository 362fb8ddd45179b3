/**
 * A registry of metrics as an exporter sees it, in which one bad metric does not spoil the others.
 *
 * **Details**
 *
 * - A metric whose value cannot be read is left out, and so is one that has the name of another and is of another type: a
 *   reader of the registry that meets one gives up, and nothing is exported any more.
 * - Each reading counts what it leaves out.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as EffectContext from "effect/Context"
import * as Metric from "effect/Metric"

type Metadata = ReturnType<Metric.MetricRegistry["values"]> extends IterableIterator<infer M> ? M : never

/** A metric with the value that it had when it was read. */
export type Reading = Pick<Metadata, "id" | "type" | "description" | "attributes"> & { readonly state: unknown }

/**
 * What an exporter makes of a reading; `undefined`: it cannot be shown.
 *
 * @since 0.1.0
 */
export type Show = (reading: Reading) => Reading | undefined

class View extends Map<string, Metadata> {
  readonly context: Context.Context<never>
  readonly show: Show
  readonly left: (count: number) => void

  constructor(context: Context.Context<never>, show: Show, left: (count: number) => void) {
    super()
    this.context = context
    this.show = show
    this.left = left
  }

  override values(): MapIterator<Metadata> {
    const types = new Map<string, string>()
    const seen = new Set<string>()
    const shown: Array<Metadata> = []
    let left = 0
    for (const metadata of EffectContext.get(this.context, Metric.MetricRegistry).values()) {
      const reading = this.read(metadata)
      const type = reading && (types.get(reading.id) ?? reading.type)
      const series = reading && JSON.stringify([reading.id, Object.entries(reading.attributes ?? {}).toSorted()])
      if (reading === undefined || series === undefined || type !== reading.type || seen.has(series)) {
        left++
        continue
      }
      types.set(reading.id, reading.type)
      seen.add(series)
      const { state, ...meta } = reading
      shown.push({ ...meta, hooks: { ...metadata.hooks, get: () => state } })
    }
    this.left(left)
    return shown.values() as MapIterator<Metadata>
  }

  private read(metadata: Metadata): Reading | undefined {
    try {
      const { attributes, description, hooks, id, type } = metadata
      return this.show({ id, type, description, attributes, state: hooks.get(this.context) })
    } catch {
      return undefined
    }
  }
}

/**
 * The registry of a context as it is shown.
 *
 * @since 0.1.0
 */
export const make = (
  context: Context.Context<never>,
  show: Show,
  left: (count: number) => void
): Metric.MetricRegistry => new View(context, show, left)
