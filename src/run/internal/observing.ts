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
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
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

/** Whether two failures are of the same: an interruption is no part of that, and where they came by is not. */
const isSame = (one: Cause.Cause<unknown>, other: Cause.Cause<unknown>): boolean => {
  const errors = ({ reasons }: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
    reasons.flatMap((each) => (Cause.isFailReason(each) ? [each.error] : Cause.isDieReason(each) ? [each.defect] : []))
  const ones = errors(one)
  const others = errors(other)
  return ones.length === others.length && ones.every((each, index) => Object.is(each, others[index]))
}

/** What an observer gives for an effect, which may be anything. */
export const effectOf = <A, E, R>(given: Effect.Effect<A, E, R> | undefined): Effect.Effect<A, E, R> => {
  if (!Effect.isEffect(given)) throw new TypeError("it is no effect that an observer answers with")
  return given
}

/** What is wrong with what an observer makes of the end of a piece of work, if anything is. */
const changed = (own: Exit.Exit<unknown, unknown>, given: Exit.Exit<unknown, unknown>): unknown => {
  if (Exit.isFailure(given)) {
    return Exit.isFailure(own) && isSame(own.cause, given.cause) ? undefined : Cause.squash(given.cause)
  }
  return Exit.isSuccess(own) && Object.is(own.value, given.value)
    ? undefined
    : new Error("it answered with something else than the work")
}

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
      const trace: unknown = one.begin?.(beginning)?.trace
      if (isTrace(trace)) traces.push(trace)
    })
    const [trace] = traces
    return trace === undefined ? {} : { trace }
  }

  /** Shows events that are in the journal now. */
  happened(events: ReadonlyArray<RunEvent>): void {
    if (this.isNobody) return
    const shown = sealed([...events])
    this.each("happened", (one) => one.happened?.(shown))
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
    const inside: Around = (work, effect, ended) => this.around(work, effect, ended, within)
    return Effect.contextWith((outer: Context.Context<never>) => {
      const handing = Effect.contextWith((inner: Context.Context<never>) =>
        Effect.provideService(
          Effect.provideService(effect, Handed, added(Context.add(inner, Inside, inside), outer)),
          Inside,
          inside
        )
      )
      return around.reduceRight<Effect.Effect<A, E, R>>((inner, one) => this.one(one, work, inner, means), handing)
    })
  }

  private one<A, E, R>(
    one: Attendance,
    work: Work,
    effect: Effect.Effect<A, E, R>,
    ended: (exit: Exit.Exit<A, E>) => Ended
  ): Effect.Effect<A, E, R> {
    return Effect.uninterruptibleMask((restore) => {
      const own = Deferred.makeUnsafe<A, E>()
      let begun = 0
      let by: Fiber.Fiber<unknown, unknown> | undefined
      let exit: Exit.Exit<A, E> | undefined
      const end = (as: Exit.Exit<A, E>) =>
        Effect.sync(() => {
          exit ??= as
          Deferred.doneUnsafe(own, exit)
        })
      const tracked = Effect.withFiber<A, E, R>((fiber) => {
        begun += 1
        if (begun > 1) return Deferred.await(own) // B2
        by = fiber
        return Effect.onExit(effect, end)
      })
      // B1
      const settle = (given: Exit.Exit<A, E>): Effect.Effect<A, E, R> => {
        if (begun === 0) {
          return Effect.flatMap(Effect.exit(restore(Effect.void)), (now) => {
            if (Exit.isFailure(now)) {
              const { cause } = now
              return Effect.andThen(end(Exit.failCause(cause)), Effect.failCause(cause))
            }
            const why = Exit.isFailure(given) ? Cause.squash(given.cause) : new Error("it left the work out")
            this.trouble("around", why, one)
            return restore(tracked)
          })
        }
        // Whoever has the work done beside does not end before it, and does not keep it from being interrupted.
        if (exit === undefined) {
          const over = Effect.onInterrupt(restore(Deferred.await(own)), () =>
            by === undefined ? Effect.void : Fiber.interrupt(by)
          )
          return Effect.flatMap(Effect.exit(over), () => settle(given))
        }
        const wrong = begun > 1 ? new Error("it had the work done more than once") : changed(exit, given)
        if (wrong !== undefined) this.trouble("around", wrong, one)
        return exit
      }
      const wrapped = Effect.suspend(() => effectOf(one.around?.(work, tracked, ended)))
      return Effect.matchCauseEffect(restore(wrapped), {
        onFailure: (cause) => settle(Exit.failCause(cause)),
        onSuccess: (value) => settle(Exit.succeed(value))
      })
    })
  }

  private each(what: string, call: (one: Attendance) => void): void {
    for (const one of this.attending) {
      try {
        call(one)
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

/** What is written is what it is to be, whatever an observer answers with. */
const isTrace = (trace: unknown): trace is string =>
  typeof trace === "string" && /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(trace)

/** A run that nobody attends to. */
export const nobody = new Observing("", [], Context.empty())

const attend = (run: string): Effect.Effect<Observing> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      const observers = Context.get(context, Observers)
      if (observers.length === 0) return nobody
      const attending: Array<Attendance> = []
      const observing = new Observing(run, attending, context)
      for (const observer of observers) {
        try {
          const attendance = observer.attend?.(run)
          if (attendance !== undefined) attending.push(attendance)
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
