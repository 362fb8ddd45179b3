/** A tracer that makes spans, and keeps none. */
import { Layer, Tracer } from "effect"

/** It makes the spans that Effect makes by itself. `count`: of all, and of those of orders. */
export const recording = () => {
  const count = { spans: 0, orders: 0 }
  const tracer = Tracer.make({
    span: (options) => {
      count.spans += 1
      if (options.name.startsWith("espalier.delegate ")) count.orders += 1
      return new Tracer.NativeSpan(options)
    }
  })
  return { count, layer: Layer.succeed(Tracer.Tracer, tracer), tracer }
}
