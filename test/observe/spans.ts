/** Tracers that keep what they are told, for tests of what is told. */
import { inspect } from "node:util"

import { Cause, Effect, Exit, Layer, Metric, Option, Tracer } from "effect"

/** A tracer, and the spans that it has made. */
export const collecting = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

/** What an exporter would make of the end of a span. */
export const endOf = (span: Tracer.Span): string => {
  if (span.status._tag === "Started") return "open"
  const { exit } = span.status
  if (Exit.isSuccess(exit)) return "ok"
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  return Cause.prettyErrors(exit.cause)
    .map(({ message, name }) => (message === "" ? name : `${name}: ${message}`))
    .join("; ")
}

export const attributesOf = (span: Tracer.Span): Record<string, unknown> => Object.fromEntries(span.attributes)

/** The names of spans, each below its parent. */
export const treeOf = (spans: ReadonlyArray<Tracer.Span>): ReadonlyArray<string> => {
  const below = (parent: string | undefined, depth: number): ReadonlyArray<string> =>
    spans
      .filter((span) => Option.getOrUndefined(span.parent)?.spanId === parent)
      .flatMap((span) => [`${"  ".repeat(depth)}${span.name}`, ...below(span.spanId, depth + 1)])
  return below(undefined, 0)
}

/** Everything that spans hold, as an exporter could see it. */
export const everything = (spans: ReadonlyArray<Tracer.NativeSpan>): string =>
  spans
    .map((span) => {
      const { attributes, events, links, name, status } = span
      const errors =
        status._tag === "Ended" && Exit.isFailure(status.exit)
          ? Cause.prettyErrors(status.exit.cause, { includeCauseInStack: true }).map(({ message, name, stack }) => [
              name,
              message,
              stack
            ])
          : []
      const seen = {
        name,
        attributes: [...attributes],
        events,
        links: links.map((each) => each.attributes),
        status,
        errors
      }
      return inspect(seen, { depth: 20, maxStringLength: null, maxArrayLength: null, showHidden: true })
    })
    .join("\n")

/** How much has been dropped, by signal and reason. */
export const drops = Effect.map(Metric.snapshot, (all) =>
  Object.fromEntries(
    all.flatMap((metric) =>
      metric.id === "espalier.telemetry.dropped" && metric.type === "Counter"
        ? [
            [
              `${metric.attributes?.["espalier.telemetry.signal"]} ${metric.attributes?.["espalier.telemetry.reason"]}`,
              Number(metric.state.count)
            ]
          ]
        : []
    )
  )
)

/** A registry of metrics of its own. */
export const ownMetrics = Effect.provideServiceEffect(
  Metric.MetricRegistry,
  Effect.sync(() => new Map())
)
