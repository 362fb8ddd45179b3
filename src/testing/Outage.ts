/**
 * Outages as data: what is down, from when, until when, and how a call to it fails.
 *
 * An outage is a list of spans of time, each of one name. A name is anything that can be down: a worker, a provider, a
 * host. A call that is made inside a span fails as the span says; all others pass. Time is read from `Clock`, so a test
 * clock walks through an outage in no time.
 *
 * **Details**
 *
 * - Times are counted from zero of the clock, where a test clock begins. {@link fromNow} and {@link layer} count from the
 *   moment at which they are run or built.
 * - A span begins at `from` and is over at `until`: a call at that very moment passes.
 * - Of spans that overlap, the first in the list speaks.
 *
 * **Gotchas**
 *
 * An outage is looked at when a call begins. A call under way when one begins is not touched.
 *
 * **Example** (A provider that is down for ninety seconds)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TestClock } from "effect/testing"
 * import { Outage } from "espalier/testing"
 *
 * const drill = Outage.make([{ what: "search", from: "10 seconds", until: "100 seconds", retryAfter: "rest" }])
 *
 * const call = Outage.apply(drill, "search", Effect.succeed("found")).pipe(
 *   Effect.catch(({ message, retryAfterMillis }) => Effect.succeed(`${message}; again after ${retryAfterMillis} ms`))
 * )
 * const program = Effect.gen(function* () {
 *   const before = yield* call
 *   yield* TestClock.adjust("40 seconds")
 *   const during = yield* call
 *   yield* TestClock.adjust("60 seconds")
 *   return [before, during, yield* call]
 * })
 * const seen = await Effect.runPromise(Effect.provide(program, TestClock.layer()))
 * seen // => ["found", "transient: search is down; again after 60000 ms", "found"]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"

import * as Failure from "../Failure.ts"
import { readDuration } from "../internal/options.ts"
import { Given } from "../run/internal/given.ts"

const TypeId = "~espalier/testing/Outage"

/**
 * How a call fails while what it needs is down: as one of the kinds of failure, as a bug (`defect`), or by no answer at all
 * (`silence`), which lasts for this call even when the outage is over.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = Failure.Kind | "defect" | "silence"

/**
 * A time in which something is down, as plain data.
 *
 * **Details**
 *
 * - `fromMillis`, `untilMillis`: from the origin of the outage. Without `untilMillis` it is down for good.
 * - `retryAfterMillis`: what the failure asks the caller to wait, `rest` = until the span is over.
 *
 * @category models
 * @since 0.1.0
 */
export interface Span {
  readonly what: string
  readonly fromMillis: number
  readonly untilMillis?: number | undefined
  readonly kind: Kind
  readonly retryAfterMillis?: number | "rest" | undefined
}

/**
 * Spans of outage, and the moment from which they are counted, in milliseconds of the clock.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outage {
  readonly [TypeId]: typeof TypeId
  readonly spans: ReadonlyArray<Span>
  readonly originMillis: number
}

/**
 * What a span is made of.
 *
 * **Details**
 *
 * - `what`: any name.
 * - `from`: >= 0 and finite. Default 0.
 * - `until`: later than `from`. Default: never.
 * - `kind`: default `"transient"`.
 * - `retryAfter`: >= 0 and finite, or `rest` for what is left of a span that ends; for `transient` only. Default: nothing is
 *   said.
 *
 * @category models
 * @since 0.1.0
 */
export interface SpanOptions {
  readonly what: string
  readonly from?: Duration.Input | undefined
  readonly until?: Duration.Input | undefined
  readonly kind?: Kind | undefined
  readonly retryAfter?: Duration.Input | "rest" | undefined
}

/**
 * Whether a value is an outage.
 *
 * @category guards
 * @since 0.1.0
 */
export const isOutage = (value: unknown): value is Outage => Predicate.hasProperty(value, TypeId)

const fromSpans = (spans: ReadonlyArray<Span>, originMillis = 0): Outage => ({ [TypeId]: TypeId, spans, originMillis })

/**
 * Makes an outage of spans, counted from zero of the clock.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the span and the field when a value is out of its range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (spans: ReadonlyArray<SpanOptions>): Outage => {
  making.list("spans", spans)
  return fromSpans(
    spans.map((span, index) => {
      const path = `[${index}]`
      making.record(path, span, ["what", "from", "until", "kind", "retryAfter"])
      const { from, kind = "transient", retryAfter, until, what } = span
      making.text(`${path}.what`, what)
      making.oneOf(`${path}.kind`, kind, every)
      const millis = (field: string, input: Duration.Input) => millisOf(making, `${path}.${field}`, input)
      const refuse = (field: string, expectation: string, got: unknown): never => {
        throw new RangeError(`Outage.make: [${index}].${field} must be ${expectation}, got ${String(got)}`)
      }
      const fromMillis = millis("from", from ?? 0)
      const untilMillis = until === undefined ? undefined : millis("until", until)
      const retryAfterMillis =
        retryAfter === undefined || retryAfter === "rest" ? retryAfter : millis("retryAfter", retryAfter)
      if (what.trim() === "") refuse("what", "a name that is not empty", JSON.stringify(what))
      if (!(Number.isFinite(fromMillis) && fromMillis >= 0)) refuse("from", "finite and >= 0", `${fromMillis} ms`)
      if (untilMillis !== undefined && !(untilMillis > fromMillis)) {
        refuse("until", `later than from (${fromMillis} ms)`, `${untilMillis} ms`)
      }
      if (retryAfterMillis !== undefined && kind !== "transient") {
        refuse("retryAfter", `left out when kind is ${kind}`, retryAfterMillis)
      }
      if (retryAfterMillis === "rest" && !Number.isFinite(untilMillis ?? Infinity)) {
        refuse("retryAfter", "a duration when the span never ends", "rest")
      }
      if (typeof retryAfterMillis === "number" && !(Number.isFinite(retryAfterMillis) && retryAfterMillis >= 0)) {
        refuse("retryAfter", "finite and >= 0", `${retryAfterMillis} ms`)
      }
      return {
        what,
        fromMillis,
        ...(untilMillis === undefined || untilMillis === Infinity ? {} : { untilMillis }),
        kind,
        ...(retryAfterMillis === undefined ? {} : { retryAfterMillis })
      }
    })
  )
}

const making = new Given("Outage.make")

const every: ReadonlyArray<Kind> = [...Failure.kinds, "defect", "silence"]

const millisOf = (given: Given, parameter: string, input: Duration.Input): number =>
  Duration.toMillis(readDuration(input) ?? given.refuse(parameter, "a duration", input))

/**
 * Nothing is ever down.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: Outage = fromSpans([])

/**
 * Outages from a seed: each name is up and down in turn, for times that scatter exponentially.
 *
 * **Details**
 *
 * - `seed`: the same seed gives the same outage; each name has times of its own, whatever other names there are.
 * - `names`: what can be down.
 * - `within`: every span is over by then, > 0 and finite.
 * - `mean`: how long a span lasts on average, > 0 and finite.
 * - `apart`: how long a name is up between two spans on average, > 0 and finite. Default four times `mean`.
 * - `kinds`: each span has one of them. Default `["transient"]`.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option is not what its type says, when a value is out of its range, and when there are no
 * kinds.
 *
 * @category constructors
 * @since 0.1.0
 */
export const random = (options: {
  readonly seed: number | string
  readonly names: ReadonlyArray<string>
  readonly within: Duration.Input
  readonly mean: Duration.Input
  readonly apart?: Duration.Input | undefined
  readonly kinds?: ReadonlyArray<Kind> | undefined
}): Effect.Effect<Outage> => {
  drawing.record("options", options, ["seed", "names", "within", "mean", "apart", "kinds"])
  const { names, seed } = options
  if (typeof seed !== "string" && !Number.isFinite(seed)) drawing.refuse("seed", "a text or a number", seed)
  drawing.texts("names", names)
  const within = positive("within", options.within)
  const mean = positive("mean", options.mean)
  const apart = positive("apart", options.apart ?? mean * 4)
  const kinds = options.kinds ?? ["transient"]
  drawing.list("kinds", kinds).forEach((kind, index) => drawing.oneOf(`kinds[${index}]`, kind, every))
  if (kinds.length === 0) throw new RangeError("Outage.random: kinds must name at least one kind, got none")
  const spansOf = (what: string) =>
    Effect.gen(function* () {
      const spans: Array<Span> = []
      const lasting = (mean: number) => Effect.map(Random.next, (random) => Math.ceil(-mean * Math.log(1 - random)) + 1)
      for (let from = yield* lasting(apart); from < within; from += yield* lasting(apart)) {
        const until = Math.min(from + (yield* lasting(mean)), within)
        spans.push({ what, fromMillis: from, untilMillis: until, kind: yield* Effect.orDie(Random.choice(kinds)) })
        from = until
      }
      return spans
    }).pipe(Random.withSeed(JSON.stringify([seed, what])))
  return Effect.map(Effect.forEach(new Set(names), spansOf), (spans) => fromSpans(spans.flat()))
}

const drawing = new Given("Outage.random")

const positive = (field: string, input: Duration.Input): number => {
  const value = millisOf(drawing, field, input)
  if (Number.isFinite(value) && value > 0) return value
  throw new RangeError(`Outage.random: ${field} must be finite and > 0, got ${value} ms`)
}

/**
 * The same outage, counted from now.
 *
 * @category combinators
 * @since 0.1.0
 */
export const fromNow = (outage: Outage): Effect.Effect<Outage> =>
  Effect.map(Clock.currentTimeMillis, (now) => fromSpans(outage.spans, now))

/**
 * The outage that holds where nobody names one. Default {@link none}.
 *
 * @category services
 * @since 0.1.0
 */
export const Current = Context.Reference<Outage>("espalier/testing/Outage/Current", { defaultValue: () => none })

/**
 * Makes an outage the current one, counted from the moment at which the layer is built.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (outage: Outage): Layer.Layer<never> => Layer.effect(Current)(fromNow(outage))

/**
 * The span that keeps a name down at a moment of the clock, if one does.
 *
 * @category decisions
 * @since 0.1.0
 */
export const at = (outage: Outage, what: string, nowMillis: number): Span | undefined => {
  const now = nowMillis - outage.originMillis
  return outage.spans.find(
    (span) => span.what === what && span.fromMillis <= now && now < (span.untilMillis ?? Number.POSITIVE_INFINITY)
  )
}

/**
 * Lets a call meet an outage: while `what` is down it fails as the span says and does not reach anybody.
 *
 * @category combinators
 * @since 0.1.0
 */
export const apply = <A, E, R>(
  outage: Outage,
  what: string,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E | Failure.Failure, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<A, E | Failure.Failure, R> => {
    const span = at(outage, what, now)
    return span === undefined ? call : failing(span, now - outage.originMillis)
  })

/**
 * As {@link apply}, with the {@link Current} outage.
 *
 * @category combinators
 * @since 0.1.0
 */
export const applyCurrent = <A, E, R>(
  what: string,
  call: Effect.Effect<A, E, R>
): Effect.Effect<A, E | Failure.Failure, R> => Effect.flatMap(Current, (outage) => apply(outage, what, call))

const failing = (span: Span, now: number): Effect.Effect<never, Failure.Failure> => {
  const { kind, retryAfterMillis, untilMillis, what } = span
  const reason = `${what} is down${untilMillis === undefined ? " for good" : ""}`
  if (kind === "silence") return Effect.never
  if (kind === "defect") return Effect.die(new Error(reason))
  const wait = retryAfterMillis === "rest" ? (untilMillis ?? now) - now : retryAfterMillis
  return Effect.fail(new Failure.Failure({ kind, reason, ...(wait === undefined ? {} : { retryAfterMillis: wait }) }))
}

/**
 * Waits until a name is up: at once when it is, never when it is down for good.
 *
 * @category waiting
 * @since 0.1.0
 */
export const ended = (outage: Outage, what: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const span = at(outage, what, now)
    if (span === undefined) return Effect.void
    if (span.untilMillis === undefined) return Effect.never
    const rest = outage.originMillis + span.untilMillis - now
    return Effect.flatMap(Effect.sleep(rest), () => ended(outage, what))
  })
