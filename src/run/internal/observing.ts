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
import * as Tracer from "effect/Tracer"

import { tellWarning } from "../../internal/telling.ts"
import { type Around, type Attendance, type Beginning, type Ended, Inside, Observers, type Work } from "../Observer.ts"
import type { RunEvent } from "../RunEvent.ts"
import { sealed } from "./plain.ts"

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

/** @since 0.1.0 */
export class Observing {
  private readonly run: string
  private readonly attending: ReadonlyArray<Attendance>
  private readonly context: Context.Context<never>
  /** Each part of an observer is told of once. */
  private readonly told = new Set<string>()

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
    for (const each of this.attending) this.guarded("recall", () => each.recall?.(event))
  }

  /** Somebody begins to carry the run out. Answers with what is to be written of it. */
  begin(beginning: Beginning): { readonly trace?: string } {
    let trace: string | undefined
    for (const each of this.attending) {
      this.guarded("begin", () => {
        trace ??= each.begin?.(beginning)?.trace
      })
    }
    return trace === undefined || !isTrace(trace) ? {} : { trace }
  }

  /** Shows events that are in the journal now. */
  happened(events: ReadonlyArray<RunEvent>): void {
    if (this.isNobody) return
    const shown = sealed([...events])
    for (const each of this.attending) this.guarded("happened", () => each.happened?.(shown))
  }

  end(): void {
    for (const each of this.attending) this.guarded("end", () => each.end?.())
  }

  /** Does work with what its observers put around it. `interrupted`: what an interruption means here. */
  readonly around = <A, E, R>(
    work: Work,
    effect: Effect.Effect<A, E, R>,
    ended: (exit: Exit.Exit<A, E>) => Ended,
    interrupted: () => Ended = () => ({ outcome: "cancelled" })
  ): Effect.Effect<A, E, R> => {
    const around = this.attending.flatMap((each) => (each.around === undefined ? [] : [each.around]))
    if (around.length === 0) return effect
    const means = (exit: Exit.Exit<A, E>): Ended =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? interrupted() : ended(exit)
    const inside: Around = (work, effect, ended) => this.around(work, effect, ended, interrupted)
    return Effect.contextWith((outer: Context.Context<never>) => {
      const handing = Effect.contextWith((inner: Context.Context<never>) =>
        Effect.provideService(
          Effect.provideService(effect, Handed, added(Context.add(inner, Inside, inside), outer)),
          Inside,
          inside
        )
      )
      return around.reduceRight<Effect.Effect<A, E, R>>((inner, each) => this.one(each, work, inner, means), handing)
    })
  }

  private one<A, E, R>(
    around: Around,
    work: Work,
    effect: Effect.Effect<A, E, R>,
    ended: (exit: Exit.Exit<A, E>) => Ended
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let begun = false
      let exit: Exit.Exit<A, E> | undefined
      const tracked = Effect.suspend(() => {
        if (begun) return Effect.die(new Error("an observer has work done more than once")) // B2
        begun = true
        return Effect.onExit(effect, (own) => Effect.sync(() => void (exit = own)))
      })
      const wrapped = this.guarded("around", () => around(work, tracked, ended))
      if (wrapped === undefined) return effect
      // B1
      const after = (given: Exit.Exit<A, E>): Effect.Effect<A, E, R> => {
        if (exit !== undefined) return exit
        if (Exit.isFailure(given) && (begun || Cause.hasInterrupts(given.cause))) return given
        this.trouble("around", Exit.isFailure(given) ? Cause.squash(given.cause) : new Error("it left the work out"))
        return effect
      }
      return Effect.matchCauseEffect(wrapped, {
        onFailure: (cause) => after(Exit.failCause(cause)),
        onSuccess: (value) => after(Exit.succeed(value))
      })
    })
  }

  private guarded<A>(what: string, call: () => A): A | undefined {
    try {
      return call()
    } catch (error) {
      this.trouble(what, error)
      return undefined
    }
  }

  trouble(what: string, error: unknown): void {
    if (this.told.has(what)) return
    this.told.add(what)
    const warning = tellWarning(`Observer: ${what} of an observer of ${this.run} failed, which changes nothing`, error)
    Effect.runSyncExitWith(this.context)(warning)
  }
}

/** A span as a W3C `traceparent`; nothing where its ids are none. */
export const traceOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): { readonly trace?: string } => {
  const trace = `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`
  return isTrace(trace) ? { trace } : {}
}

/** What is written is what it is to be, whatever an observer answers with. */
const isTrace = (trace: unknown): trace is string =>
  typeof trace === "string" && /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/.test(trace)

/** A run that nobody attends to. */
export const nobody = new Observing("", [], Context.empty())

/**
 * Has the observers around attend to a run.
 *
 * @since 0.1.0
 */
export const attend = (run: string): Effect.Effect<Observing> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      const observers = Context.get(context, Observers)
      if (observers.length === 0) return nobody
      const attending: Array<Attendance> = []
      const observing = new Observing(run, attending, context)
      for (const { attend } of observers) {
        if (attend === undefined) continue
        try {
          attending.push(attend(run))
        } catch (error) {
          observing.trouble("attend", error)
        }
      }
      return observing
    })
  )
