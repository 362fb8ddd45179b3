/**
 * Logs of runs and trees: one record for each fact that somebody on call needs.
 *
 * What happens in runs and trees is handed to whatever loggers are around, with the same fields everywhere. Which event is
 * told how loud:
 *
 * | level | facts |
 * |---|---|
 * | error | an order that crashed, an effect that nobody knows the outcome of, a run that failed, a supervisor that gave up |
 * | warn | what failed and is tried again, refusals, budgets, deadlines, loops, breakers, another model, a crash that was recovered from, a question that expired |
 * | info | a run that began, went on, was put down or ended; an order that was reported; a question and its answer |
 * | debug | all the rest |
 *
 * **Details**
 *
 * - A record has `event.name`, and where they apply `run_id`, `task`, `worker`, `domain`, `dispatch`, `attempt`, `latency_ms`,
 *   `tokens`, `cost`, `estimated`, `input_size` and `output_size` (bytes of JSON), `outcome`, `error` (its `kind` and `reason`),
 *   `error.type`, `trace_id` and `span_id`. They are annotations, which each logger writes in its own way.
 * - `input_size` is that of a run where it began, of an effect where it is intended, and of an order where it is given and where it is
 *   reported; orders of old journals do not say it.
 * - `estimated` is `true` of a call of which the provider did not say what it used, as one that crashed: `tokens` and `cost` are what
 *   was set aside for it. Those of an order have such calls in them, and do not say so.
 * - `latency_ms` of an order leaves out the time in which it waited for people, or nobody carried the run out.
 * - What workers log themselves (`Effect.log`) gets `run_id`, `task`, `worker` and `attempt`, too, and the level of its place.
 * - Levels are said by place. A worker counts before its domain, its domain before its desk, a name before a pattern.
 *
 * **Invariants**
 *
 * - G1. No record holds an input, an output, a prompt, an argument or what a reviewer wrote. Reasons go through
 *   `Redaction` and are cut after 300 characters.
 * - G2. What was told once is not told again when a run is resumed.
 * - G3. No logger changes what a run does. A record that one throws on is counted in `espalier.telemetry.dropped`.
 *
 * **Gotchas**
 *
 * - Loggers are called at once, by the run. One that takes long makes it wait: write to files and networks in batches, as
 *   `Logger.toFile` and `OtlpLogger` do.
 * - It tells of the crashes in the trees of desks, so these do not log them themselves. A tree of its own does: say `log: false` to
 *   `Supervisor.start` where {@link tree} tells of it.
 * - What a worker logs goes to the loggers around its desk as ever: there, one that throws is a defect of the work.
 * - The reason of a failure is in the words of who failed, which may quote what it was given: see `reasons`.
 *
 * **Example** (A run, and more of one of its domains)
 *
 * ```ts
 * import { Effect, Layer, Logger, References, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Logs } from "espalier/observe"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Int,
 *   handle: ({ input }) => Effect.as(Effect.logDebug("counting"), input.text.split(" ").length)
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
 * const lines: Array<string> = []
 * const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
 *   const { task } = fiber.getRef(References.CurrentLogAnnotations)
 *   lines.push(`${logLevel} ${task ?? "-"} ${message}`)
 * })
 * const layer = Layer.mergeAll(Logs.layer({ levels: { words: "Debug" } }), Logger.layer([logger]), Journal.layerMemory)
 *
 * await Effect.runPromise(Effect.provide(Run.start(desk, { id: "r1", input: { text: "to be" } }), layer))
 * lines[0] // => "Info - the run of counting 1 began"
 * lines.includes("Debug count counting") // => true
 * lines.includes("Info count r1/count/1 of words.count: accepted") // => true
 * ```
 *
 * @since 0.1.0
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import type * as Tracer from "effect/Tracer"

import { tellWarning } from "../internal/telling.ts"
import { Redaction } from "../Redaction.ts"
import * as Desk from "../run/Desk.ts"
import { Given } from "../run/internal/given.ts"
import * as Observer from "../run/Observer.ts"
import type { Office } from "../run/Office.ts"
import type { Event, Tree } from "../Tree.ts"
import { dropped } from "./internal/drops.ts"
import { following } from "./internal/following.ts"
import { LevelRules, type Names } from "./internal/levels.ts"
import { LogLines, type Manner, told } from "./internal/logLines.ts"
import { domainOf, type Fields, given, isFact } from "./internal/logNames.ts"
import { write } from "./internal/logWriting.ts"
import { treeLine } from "./internal/treeLines.ts"

/**
 * What is told.
 *
 * **Details**
 *
 * - `level`: the least level that is told, of records and of what workers log. Default: the `MinimumLogLevel` around, which
 *   is `Info` where nobody says another.
 * - `levels`: the same by place: `DOMAIN`, `DOMAIN.WORKER` or `desk:NAME`, with `*` for any characters. Default none.
 * - `reasons`: whether the words of failures are told, without the secrets that `Redaction` finds. Default `true`.
 *
 * @category models
 * @since 0.1.0
 */
export interface TreeOptions {
  readonly level?: LogLevel.LogLevel | undefined
  readonly levels?: Readonly<Record<string, LogLevel.LogLevel>> | undefined
  readonly reasons?: boolean | undefined
}

/**
 * What is told of runs.
 *
 * **Details**
 *
 * - `desks`: those whose runs are told of. With them, a name in `levels` that none of them has is refused at once; without, it
 *   is warned of when a desk is opened that does not have it. Default: not known.
 * - `tree`: whether what happens in the tree of a desk is told, too. Default `true`.
 * - `traceOf`: the span that a run's records belong to, where its events do not say it. Default: none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends TreeOptions {
  readonly desks?: ReadonlyArray<Desk.Desk<never, unknown>> | undefined
  readonly tree?: boolean | undefined
  readonly traceOf?: ((run: string) => Tracer.AnySpan | undefined) | undefined
}

interface Settings {
  readonly rules: LevelRules
  readonly reasons: boolean
  readonly tree: boolean
  readonly strict: boolean
  readonly traceOf: (run: string) => Tracer.AnySpan | undefined
}

const common = ["level", "levels", "reasons"]

const settingsOf = (where: string, options: Options, known: ReadonlyArray<string>): Settings => {
  const check = new Given(where)
  check.record("options", options, known)
  const { desks, level, levels, reasons = true, traceOf = () => undefined, tree = true } = options
  check.flag("reasons", reasons)
  check.flag("tree", tree)
  check.code("traceOf", traceOf)
  const rules = new LevelRules(where, level, levels)
  if (desks !== undefined) {
    check.list("desks", desks)
    const [stranger] = rules.strangers(desks.map(namesOf))
    if (stranger !== undefined) throw new RangeError(stranger[1])
  }
  return { rules, reasons, tree, strict: desks !== undefined, traceOf }
}

const namesOf = (desk: Desk.Desk<never, unknown>): Names => ({
  desk: desk.name,
  workers: Desk.seats(desk).map(({ name }) => name)
})

/** What those who attend to a run have around them, else what there was when the layer was built. */
const around = (built: Context.Context<never>): Context.Context<never> => Fiber.getCurrent()?.context ?? built

/** What is annotated to what is logged in the course of some work. */
const annotationsOf = (run: string, work: Observer.Work, manner: Manner): Fields => {
  switch (work._tag) {
    case "Attempt": {
      const { attempt, dispatch, task, worker } = work
      return { run_id: run, task, worker, domain: domainOf(worker), dispatch, attempt }
    }
    case "Choice":
      return given({ run_id: run, task: work.subject === "" ? undefined : work.subject, consult: work.consult })
    case "Tool":
      return { tool: told(manner, work.tool) }
    case "Decision":
      return { run_id: run, review: work.review }
  }
}

const attending =
  ({ reasons, rules, traceOf }: Settings, built: Context.Context<never>) =>
  (run: string): Observer.Attendance => {
    const context = around(built)
    const manner: Manner = { by: Context.get(context, Redaction), reasons }
    const lines = new LogLines(run, manner)
    const traced = (): Fields => {
      const span = traceOf(run)
      return span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }
    }
    return {
      recall: (event) => lines.recall(event),
      begin: ({ cause }) => lines.begin(cause),
      happened: (events) => {
        for (const event of events) for (const line of lines.happened(event)) write(context, rules, line, traced)
      },
      around: (work, effect) => {
        const annotated = Effect.annotateLogs(effect, annotationsOf(run, work, manner))
        if (work._tag === "Tool") return annotated
        const level = rules.at({
          desk: lines.known.desk,
          worker: work._tag === "Attempt" ? work.worker : undefined
        })
        return level === undefined ? annotated : Effect.provideService(annotated, References.MinimumLogLevel, level)
      }
    }
  }

/** Tells what happens in a tree, for as long as the scope is open. */
const telling = (tree: Tree["Service"], { reasons, rules }: Settings): Effect.Effect<void, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<Scope.Scope>) => {
    const manner: Manner = { by: Context.get(context, Redaction), reasons }
    const take = (events: ReadonlyArray<Event>) => {
      for (const event of events) {
        write(context as Context.Context<never>, rules, treeLine(event, manner), () => ({}))
      }
    }
    return following(tree, take, () => dropped("logs", "thrown", context as Context.Context<never>))
  })

/** Warns of names that no desk has had so far, of each once, and tells of the tree. */
const staffed = (settings: Settings) => {
  const open: Array<Names> = []
  const warned = new Set<string>()
  return (office: Office): Effect.Effect<void, never, Scope.Scope> =>
    Effect.gen(function* () {
      const names = namesOf(office.desk)
      if (!open.some(({ desk }) => desk === names.desk)) open.push(names)
      for (const [name, why] of settings.strict ? [] : settings.rules.strangers(open)) {
        if (warned.has(name)) continue
        warned.add(name)
        yield* tellWarning(why)
      }
      if (settings.tree) yield* telling(office.tree, settings)
    })
}

/**
 * Tells of the runs around, and of the trees of their desks.
 *
 * **Details**
 *
 * - It may stand beside the layers of loggers in any order: what is told goes to the loggers around each run.
 * - The layer dies with a `RangeError` for a level that is none, and for a name in `levels` that `desks` do not have.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<never> =>
  Observer.layerEffect(
    Effect.contextWith((built: Context.Context<never>) =>
      Effect.sync(() => {
        const settings = settingsOf("Logs.layer", options, [...common, "desks", "tree", "traceOf"])
        return { attend: attending(settings, built), staffed: staffed(settings), logsTrees: settings.tree }
      })
    ),
    "Logs"
  )

/**
 * Tells of a tree that has no runs, for as long as the scope is open.
 *
 * **Details**
 *
 * - In `levels`, `desk:ID` is the root, `ID` a child of it, `ID.ID` a child of that and all below it.
 * - It sees what happens from now on.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` for a level that is none.
 *
 * **Example** (A crash)
 *
 * ```ts
 * import { Context, Effect, Logger } from "effect"
 * import { Child, Supervisor, Tree } from "espalier"
 * import { Logs } from "espalier/observe"
 *
 * const lines: Array<string> = []
 * const logger = Logger.make<unknown, void>(({ logLevel, message }) => void lines.push(`${logLevel} ${message}`))
 * const root = Supervisor.make("root", {
 *   children: [Child.effect("clerk", Effect.andThen(Effect.yieldNow, Effect.die("ink")), { restart: "never" })]
 * })
 * const program = Effect.gen(function* () {
 *   const context = yield* Supervisor.start(root, { log: false })
 *   yield* Logs.tree(Context.get(context, Tree.Tree))
 *   yield* Effect.sleep("10 millis")
 * })
 * await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Logger.layer([logger]))))
 * lines // => ["Warn root/clerk crashed"]
 * ```
 *
 * @category observing
 * @since 0.1.0
 */
export const tree = (tree: Tree["Service"], options: TreeOptions = {}): Effect.Effect<void, never, Scope.Scope> =>
  Effect.suspend(() => telling(tree, settingsOf("Logs.tree", options, common)))

/**
 * A logger without what {@link layer} and {@link tree} tell, for a terminal on which that is shown otherwise.
 *
 * **Example** (What others log, and no facts)
 *
 * ```ts
 * import { Logger } from "effect"
 * import { Logs } from "espalier/observe"
 *
 * const layer = Logger.layer([Logs.withoutFacts(Logger.withConsoleError(Logger.formatLogFmt))])
 * ```
 *
 * @category loggers
 * @since 0.1.0
 */
export const withoutFacts = <Message>(logger: Logger.Logger<Message, unknown>): Logger.Logger<Message, void> =>
  Logger.make((options) => {
    if (!isFact(options)) logger.log(options)
  })
