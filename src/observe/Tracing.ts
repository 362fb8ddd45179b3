/**
 * Runs as spans: one trace for each time that somebody carries a run out, in the shape of its delegation.
 *
 * | span | is |
 * |---|---|
 * | `espalier.segment` | the anchor of a trace; over before its work begins, so that it is there whatever becomes of the rest |
 * | `invoke_workflow DESK` | the run, until it ends, waits or is put down; also a group of tasks, by the kind of its coordinator |
 * | `invoke_agent DESK`, `invoke_agent DOMAIN` | the supervisors |
 * | `plan DESK` | a choice that somebody was asked for |
 * | `espalier.delegate WORKER` | an order |
 * | `invoke_agent WORKER` | one try of it; models are asked and tools are called below it |
 * | `execute_tool TOOL` | a model's call of a tool; one that is recorded is not made again, and has no span |
 * | `espalier.review request`, `espalier.review decide` | a question to people, and its answer, in the trace of whoever answers |
 *
 * **Details**
 *
 * - A run that is taken up again has a trace of its own, whose anchor points to the one before (`resumed_from`, after a crash
 *   `recovers`), to the first one (`run_origin`), and to what decided it (`decided_by`).
 * - No span is open while people are waited for. What is suspended, cancelled or refused is no error.
 * - What is read back from the journal makes no span; the anchor says how many events that were.
 * - Where a run cannot be begun or taken up, as it is there already or somebody else carries it out, there is an anchor whose outcome is
 *   `refused`, and nothing below it.
 * - Nothing of inputs, outputs, arguments or reasons is on a span; a failure is told by its type.
 *
 * **Gotchas**
 *
 * - It makes the spans of runs; {@link EspalierTracer} gives those of models their names.
 * - An anchor is over once the journal says that the run is carried out, and is sent when its exporter sends: by `Otlp`, as soon as
 *   there is a collector that takes it. To that of a process which was killed before, `recovers` leads nowhere.
 *
 * **Example** (The spans of a run)
 *
 * ```ts
 * import { Effect, Layer, Schema, Tracer } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Tracing } from "espalier/observe"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Int,
 *   handle: ({ input }) => Effect.succeed(input.text.split(" ").length)
 * })
 * const desk = Desk.make("counting", {
 *   version: "1",
 *   input: Schema.Struct({ text: Schema.String }),
 *   domains: [Domain.make("words", { workers: [count] })],
 *   coordinator: Plan.make([
 *     { id: "count", worker: "words.count", objective: "Count", input: (_, { text }: { text: string }) => ({ text }) }
 *   ])
 * })
 *
 * const names: Array<string> = []
 * const tracer = Tracer.make({
 *   span: (options) => {
 *     names.push(options.name)
 *     return new Tracer.NativeSpan(options)
 *   }
 * })
 * const layers = Layer.mergeAll(Tracing.layer(), Journal.layerMemory, Layer.succeed(Tracer.Tracer, tracer))
 * await Effect.runPromise(Effect.provide(Run.start(desk, { id: "r1", input: { text: "to be" } }), layers))
 * names.slice(0, 3) // => ["espalier.segment", "invoke_workflow counting", "invoke_agent counting"]
 * names.slice(3) // => ["invoke_agent words", "espalier.delegate words.count", "invoke_agent words.count"]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

import { heard } from "../internal/heard.ts"
import { Given } from "../run/internal/given.ts"
import { traceOf } from "../run/internal/observing.ts"
import * as Observer from "../run/Observer.ts"
import { dropped } from "./internal/drops.ts"
import { Decoration, GenAiScope } from "./internal/genAiScope.ts"
import { isSpan } from "./internal/guard.ts"
import type { Fields, Op } from "./internal/spanOps.ts"
import { SpanPlan } from "./internal/spanPlan.ts"
import { isAmong } from "./internal/spanSegments.ts"
import * as Traceparent from "./internal/traceparent.ts"
import { defaultProfile, espalier, names, Profiles, type Profile } from "./SemConv.ts"

/**
 * How runs are traced.
 *
 * **Details**
 *
 * - `profile`: by the names of which version. Default `genai-0.1`.
 * - `maxSpans`: so many spans the run layer makes for one segment, a whole number >= 1; those beyond are counted on the span of
 *   the workflow. Those of models and tools are not counted. Default 2,000.
 * - `sampled`: of which runs something is told: a share of all from 0 to 1, by their ids, so that it is all segments of a run or none;
 *   or whether it is this one; a function that throws has said no. Default 1. What is taken up again after a crash, or after trouble of
 *   any kind (a question to people, a try that failed, a result that was not accepted, a budget or a deadline that was met), is told in
 *   any case from there on.
 * - `traceMode`: `segment` = each time that a run is carried out is a trace of its own; `run` = all of them are one trace, for backends
 *   that wait long enough. Default `segment`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly profile?: Profile | undefined
  readonly maxSpans?: number | undefined
  readonly sampled?: number | ((run: string) => boolean) | undefined
  readonly traceMode?: "segment" | "run" | undefined
}

/** A failure as it is told: by its type, without words and without a stack. */
class Failed extends Error {
  override readonly name: string
  constructor(type: string) {
    super(type)
    this.name = type
    this.stack = type
  }
}

const parse = (trace: string | undefined): Tracer.ExternalSpan | undefined => {
  const read = Traceparent.read(trace)
  return read === undefined ? undefined : Tracer.externalSpan(read)
}

const given = new Given("Tracing.layer")

/** The tracer of a run: the one around it, decorated where that is wanted. */
const tracerOf = (context: Context.Context<never>): Tracer.Tracer => {
  const tracer = Context.get(context, Tracer.Tracer)
  const decoration = Context.get(context, Decoration)
  return decoration === undefined ? tracer : decoration.decorate(tracer)
}

/** Makes and ends spans as a plan says. What a tracer throws costs what it was told then, and nothing else. */
class Spans {
  private context: Context.Context<never>
  private readonly made = new Map<string, Tracer.Span>()
  /** What could not be made, each with what it would be below. */
  private readonly unmade = new Map<string, string | undefined>()

  constructor(context: Context.Context<never>) {
    this.context = context
  }

  use(context: Context.Context<never>): void {
    this.context = context
  }

  /** A span, or the nearest around it that could be made. */
  get(id: string): Tracer.Span | undefined {
    let nearest: string | undefined = id
    while (nearest !== undefined && this.unmade.has(nearest)) nearest = this.unmade.get(nearest)
    return nearest === undefined ? undefined : this.made.get(nearest)
  }

  do(ops: ReadonlyArray<Op>, parent?: Tracer.AnySpan | undefined, around: Context.Context<never> = this.context): void {
    for (const op of ops) this.guarded(around, () => this.one(op, parent, around))
  }

  /** Whoever makes spans may throw, which is no matter of the run. */
  private guarded(around: Context.Context<never>, tell: () => unknown): void {
    const lost = () => dropped("traces", "thrown", around)
    try {
      heard(tell(), lost)
    } catch {
      lost()
    }
  }

  private one(op: Op, around: Tracer.AnySpan | undefined, context: Context.Context<never>): void {
    const now = Context.get(context, Clock.Clock).currentTimeNanosUnsafe()
    if (op._tag === "Forget") return void this.made.delete(op.id)
    if (op._tag === "Tell") return this.tell(op.attributes, this.made.get(op.id), context)
    if (op._tag === "Close") {
      this.unmade.delete(op.id)
      const span = this.made.get(op.id)
      if (span === undefined) return
      if (!op.kept) this.made.delete(op.id)
      this.tell(op.attributes, span, context)
      const exit = op.error === undefined ? (op.quiet ? Exit.interrupt() : Exit.void) : Exit.die(new Failed(op.error))
      return this.guarded(context, () => span.end(now, exit))
    }
    const outer = op.within === undefined ? around : parse(op.within)
    const parent = op.parent === undefined ? outer : (this.get(op.parent) ?? outer)
    this.unmade.set(op.id, op.parent)
    const span: unknown = tracerOf(context).span({
      name: op.name,
      parent: Option.fromUndefinedOr(parent),
      annotations: Context.empty(),
      links: op.links.flatMap(({ to, type }) => {
        const target = "trace" in to ? parse(to.trace) : this.made.get(to.id)
        return target === undefined ? [] : [{ span: target, attributes: { [espalier.linkType]: type } }]
      }),
      startTime: now,
      kind: op.kind,
      root: parent === undefined,
      sampled: op.sampled ?? parent?.sampled ?? true
    })
    if (!isSpan(span)) throw new TypeError("it is no span that the tracer has made")
    this.unmade.delete(op.id)
    this.made.set(op.id, span)
    this.tell(op.attributes, span, context)
  }

  /** Shows a span content, of which it takes what may be told. It is one of a decorated tracer. */
  content(id: string, key: string, value: unknown, context: Context.Context<never>): void {
    const span = this.made.get(id)
    if (value !== undefined) this.guarded(context, () => span?.attribute(key, value))
  }

  private tell(attributes: Fields, span: Tracer.Span | undefined, context: Context.Context<never>): void {
    for (const [key, each] of Object.entries(attributes)) {
      this.guarded(context, () => span?.attribute(key, each))
    }
  }
}

/**
 * An observer that makes spans of runs, for the tracer around each of them.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when a value does not hold.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Observer.Observer => {
  given.record("options", options, ["profile", "maxSpans", "sampled", "traceMode"])
  const { maxSpans = 2000, profile = defaultProfile, sampled = 1, traceMode: mode = "segment" } = options
  given.oneOf("profile", profile, Profiles)
  given.oneOf("traceMode", mode, ["segment", "run"])
  const most = given.whole("maxSpans", maxSpans, 1)
  const isShare = typeof sampled === "number" && sampled >= 0 && sampled <= 1
  if (!isShare && typeof sampled !== "function") given.refuse("sampled", "a number from 0 to 1, or a function", sampled)
  const isKept = (run: string): boolean => {
    if (typeof sampled === "number") return isAmong(run, sampled)
    try {
      return (sampled(run) as unknown) === true
    } catch {
      dropped("traces", "thrown", Fiber.getCurrent()?.context)
      return false
    }
  }
  const { attributes, content } = names(profile)
  return {
    attend: (run): Observer.Attendance => {
      const plan = new SpanPlan(run, attributes, { most, mode, kept: isKept(run) })
      const spans = new Spans(Context.empty())
      return {
        recall: (event) => plan.recall(event),
        begin: (beginning) => {
          spans.use(beginning.context)
          const caller = Context.getOption(beginning.context, Tracer.ParentSpan)
          spans.do(plan.begin(beginning, Option.isNone(caller) ? undefined : traceOf(caller.value).trace))
          const anchor = spans.get("segment")
          return anchor === undefined ? {} : traceOf(anchor)
        },
        happened: (events, known) => {
          for (const event of events) spans.do(plan.happened(event, known))
        },
        around: (work, effect, ended) =>
          Effect.suspend(() => {
            const fiber = Fiber.getCurrent()
            const context = fiber === undefined ? Context.empty() : fiber.context
            const { agent, id, ops, within } = plan.work(work)
            spans.do(ops, fiber?.cache.span, context)
            const span = spans.get(within)
            const decoration = Context.get(context, Decoration)
            const tells = work._tag === "Tool" && decoration?.tellsTools === true
            if (tells) spans.content(id, content.toolCallArguments, work.params, context)
            const over = Effect.onExit(effect, (exit) =>
              Effect.sync(() => {
                if (tells && Exit.isSuccess(exit)) spans.content(id, content.toolCallResult, exit.value, context)
                const now = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
                spans.do(plan.done(work, id, ended(exit), now), undefined, context)
              })
            )
            if (agent === undefined && span === undefined && decoration === undefined) return over
            return Effect.updateContext(over, (outer) => {
              const scoped =
                agent === undefined
                  ? outer
                  : Context.add(outer, GenAiScope, { ...Context.get(outer, GenAiScope), agent, run })
              const decorated =
                decoration === undefined ? scoped : Context.add(scoped, Tracer.Tracer, tracerOf(context))
              return span === undefined ? decorated : Context.add(decorated, Tracer.ParentSpan, span)
            })
          }),
        end: () => spans.do(plan.end())
      }
    }
  }
}

/**
 * Traces the runs around which it is.
 *
 * **Gotchas**
 *
 * As of {@link make}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<never> => Observer.layer(make(options), "Tracing")
