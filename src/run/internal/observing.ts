/**
 * The observers of one run, as those who carry it out see them: none of them can do harm.
 *
 * **Invariants**
 *
 * - B1. What an observer throws, or lets its part of a piece of work end with, changes nothing about the run or the work.
 * - B2. Work is done exactly once, whatever is put around it.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as Tracer from "effect/Tracer"

import { heard } from "../../internal/heard.ts"
import { tellWarning } from "../../internal/telling.ts"
import { type Around, type Attendance, type Beginning, type Ended, Inside, type Known, type Work } from "../Observer.ts"
import type { RunEvent } from "../RunEvent.ts"
import { observersIn } from "./observers.ts"
import { sealed } from "./plain.ts"
import { surrounded } from "./surrounding.ts"

/** What was put around work and has to reach it where it is done, in a fiber of the staff. */
export const Handed = Context.Reference<Context.Context<never> | undefined>("espalier/run/internal/observing/Handed", {
  defaultValue: () => undefined
})

/** What of one context another one does not have, and the tracer in any case: a span and its children are told to one. */
const added = (inner: Context.Context<never>, outer: Context.Context<never>): Context.Context<never> => {
  const before = outer.mapUnsafe
  const map = new Map<string, unknown>()
  for (const [key, value] of inner.mapUnsafe) {
    if (key === Tracer.TracerKey || before.get(key) !== value) map.set(key, value)
  }
  return Context.makeUnsafe(map)
}

/**
 * Does something with the services of an office, and with what was put around it.
 *
 * @since 0.1.0
 */
export const inOffice = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  office: Context.Context<never>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Handed, (handed) =>
    Effect.provideContext(effect, handed === undefined ? office : Context.merge(office, handed))
  )

/** A context without anything that was put around the work that goes on in it: what begins in it is no part of that. */
export const alone = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.omit(Inside, Handed)(context) as Context.Context<R>

/** @since 0.1.0 */
export class Observing {
  private readonly run: string
  private readonly attending: ReadonlyArray<Attendance>
  private readonly context: Context.Context<never>
  /** What was told of each observer: each part of it is told of once. */
  private readonly told = new Map<unknown, Set<string>>()

  constructor(run: string, attending: ReadonlyArray<Attendance>, context: Context.Context<never>) {
    this.run = run
    this.attending = attending
    this.context = context
  }

  get isNobody(): boolean {
    return this.attending.length === 0
  }

  /** Shows an event that was in the journal before. */
  readonly recall = (event: RunEvent): void => {
    if (this.isNobody) return
    const shown = sealed(event)
    this.each("recall", (one) => one.recall?.(shown))
  }

  /** Somebody begins to carry the run out. Answers with what is to be written of it: what the first says who says anything. */
  begin(beginning: Beginning): { readonly trace?: string } {
    const traces: Array<string> = []
    this.each("begin", (one) => {
      const answer = one.begin?.(beginning)
      const trace: unknown = answer?.trace
      if (isTrace(trace)) traces.push(trace)
      return answer
    })
    const [trace] = traces
    return trace === undefined ? {} : { trace }
  }

  /** Shows events that are in the journal now. */
  happened(events: ReadonlyArray<RunEvent>, known?: Known): void {
    if (this.isNobody) return
    const shown = sealed([...events])
    this.each("happened", (one) => one.happened?.(shown, known))
  }

  end(): void {
    this.each("end", (one) => one.end?.())
  }

  /** Does work with what its observers put around it. `interrupted`: what an interruption means here, and inside of it. */
  readonly around = <A, E, R>(
    work: Work,
    effect: Effect.Effect<A, E, R>,
    ended: (exit: Exit.Exit<A, E>) => Ended,
    interrupted: () => Ended = () => ({ outcome: "cancelled" }),
    within: () => Ended = interrupted
  ): Effect.Effect<A, E, R> => {
    const around = this.attending.filter((one) => one.around !== undefined)
    if (around.length === 0) return effect
    const means = (exit: Exit.Exit<A, E>): Ended =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? interrupted() : ended(exit)
    const inside: Around = (inner, effect, ended) =>
      this.around(
        inner._tag === "Tool" && work._tag === "Attempt" ? { ...inner, of: work } : inner,
        effect,
        ended,
        within
      )
    return Effect.contextWith((outer: Context.Context<never>) => {
      const handing = Effect.updateContext(effect, (around: Context.Context<R>) => {
        const inner = Context.add(around, Inside, inside)
        return Context.add(inner, Handed, added(inner, outer))
      })
      return around.reduceRight<Effect.Effect<A, E, R>>(
        (inner, one) =>
          surrounded(
            (effect) => one.around?.(work, effect, means),
            inner,
            (error) => this.trouble("around", error, one)
          ),
        handing
      )
    })
  }

  private each(what: string, call: (one: Attendance) => unknown): void {
    for (const one of this.attending) {
      try {
        heard(call(one), (error) => this.trouble(what, error, one))
      } catch (error) {
        this.trouble(what, error, one)
      }
    }
  }

  trouble(what: string, error: unknown, of: unknown): void {
    const told = this.told.get(of) ?? new Set()
    if (told.has(what)) return
    this.told.set(of, told.add(what))
    const warning = tellWarning(`Observer: ${what} of an observer of ${this.run} failed, which changes nothing`, error)
    Effect.runSyncExitWith(this.context)(warning)
  }
}

/** A span as a W3C `traceparent`; nothing where its ids are none. */
export const traceOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): { readonly trace?: string } => {
  const trace = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`
  return isTrace(trace) ? { trace } : {}
}

/** Whether it is a `traceparent`: what is written is what it is to be, whoever says it. */
export const isTrace = (trace: unknown): trace is string =>
  typeof trace === "string" && /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(trace)

/** A run that nobody attends to. */
export const nobody = new Observing("", [], Context.empty())

const attend = (run: string): Effect.Effect<Observing> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      const observers = observersIn(context)
      if (observers.length === 0) return nobody
      const attending: Array<Attendance> = []
      const observing = new Observing(run, attending, context)
      for (const observer of observers) {
        try {
          const attendance: unknown = observer.attend?.(run)
          heard(attendance, (error) => observing.trouble("attend", error, observer))
          if (Predicate.isObject(attendance)) attending.push(attendance)
        } catch (error) {
          observing.trouble("attend", error, observer)
        }
      }
      return observing
    })
  )

/**
 * Has the observers around attend to a run for as long as something is done with it.
 *
 * @since 0.1.0
 */
export const attended = <A, E, R>(
  run: string,
  use: (observing: Observing) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(attend(run), (observing) =>
    observing.isNobody
      ? use(observing)
      : Effect.onExit(
          Effect.suspend(() => use(observing)),
          () => Effect.sync(() => observing.end())
        )
  )
