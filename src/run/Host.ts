/**
 * Carries out all runs that a journal has of a desk: those that were cut off when a process died, those whose time has come,
 * and those that somebody has left word for.
 *
 * `Run.start` and `Run.resume` are about one run and come back when it ends or waits. A host stays: while it is there, a
 * waiting run needs no fiber and nobody who remembers it.
 *
 * **Details**
 *
 * - At the start, and again whenever something has happened, it looks for runs to take up; every `every` it looks whatever
 *   has happened, so that no signal that was lost keeps a run waiting, and a store that failed for a while is asked again.
 * - The run that nobody has touched for longest comes first, at most `concurrency` at once.
 * - An order that was under way is given again under its own id; what has ended is not done again.
 * - A run that was cut off several times in a row without any progress is suspended as `quarantined`. One that was cut off
 *   twice is taken up only while no other such run is under way, so that one that brings its process down does not take the
 *   others with it.
 * - A run whose events cannot be trusted is listed as suspended, its reason `untrusted-state`, and left as it is; one that
 *   began with another definition of the desk is suspended as `version-mismatch`, and goes on at a host that has its own and
 *   is told to with `asked`.
 * - Word for a run that is over is cleared away; that somebody decided too late is written into the run before.
 * - When it is interrupted, its runs are suspended as `asked`: they go on when somebody says so, for instance with `asked`.
 *
 * **Invariants**
 *
 * - H1. A run is carried out by one fiber at a time, which ends with the host.
 * - H2. A waiting run holds no fiber.
 * - H3. What keeps one run from being taken up keeps no other from it, except the loss of the journal.
 *
 * **Example** (A run that was cut off goes on)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Host, Office, Plan, Run, Worker } from "espalier/run"
 *
 * let tries = 0
 * const slow = Worker.make("slow", {
 *   description: "Never comes to an end at the first try",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.String,
 *   handle: ({ input }) => Effect.suspend(() => (++tries === 1 ? Effect.never : Effect.succeed(input.text)))
 * })
 * const desk = Desk.make("patience", {
 *   version: "1",
 *   input: Schema.String,
 *   domains: [Domain.make("work", { workers: [slow] })],
 *   coordinator: Plan.make([
 *     { id: "wait", worker: "work.slow", objective: "Wait", input: (_, text: string) => ({ text }) }
 *   ])
 * })
 *
 * const program = Effect.gen(function* () {
 *   const office = yield* Office.open(desk)
 *   yield* Effect.timeoutOption(Run.startIn(office, { id: "r1", input: "done" }), "10 millis")
 *   const taken = yield* Host.pass(office, { asked: true })
 *   return taken.map(({ result, run }) => `${run} ${result}`)
 * })
 * await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Journal.layerMemory))) // => ["r1 finished"]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Queue from "effect/Queue"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"

import { heeded } from "../internal/heard.ts"
import { tellWarning } from "../internal/telling.ts"
import * as Journal from "../journal/Journal.ts"
import { clear } from "./internal/clearing.ts"
import { Given } from "./internal/given.ts"
import { nextWake, pick, unfinished } from "./internal/picking.ts"
import { foldRun } from "./internal/reading.ts"
import type { RunError } from "./internal/runErrors.ts"
import { takeUp } from "./internal/takingUp.ts"
import type * as Office from "./Office.ts"
import type { RunEvent } from "./RunEvent.ts"
import { isFinished } from "./RunState.ts"

/**
 * What came of taking a run up.
 *
 * **Details**
 *
 * - `finished`: it is over. `waiting`: it waits for people or for a time.
 * - `quarantined`, `mismatched`, `untrusted`: it is suspended, as the module says.
 * - `too-new`: newer code has gone on with it, and it is left as it is.
 * - `busy`: it is carried out here already. `failed`: it could not go on just now; the next look tries it again.
 *
 * @category models
 * @since 0.1.0
 */
export type Result = "finished" | "waiting" | "quarantined" | "mismatched" | "untrusted" | "too-new" | "busy" | "failed"

/**
 * A run that was taken up, what came of it, and a sentence about that.
 *
 * @category models
 * @since 0.1.0
 */
export interface Taken {
  readonly run: string
  readonly result: Result
  readonly note: string
}

/**
 * How runs are taken up.
 *
 * **Details**
 *
 * - `concurrency`: runs that are carried out at once, a whole number >= 1. Default 10.
 * - `asked`: whether runs that were put down on request go on, and so do those that were put down for another definition of
 *   the desk and began with this one. Default false.
 * - `crashes`: after how many times in a row of being cut off without progress a run goes into quarantine, a whole number
 *   >= 1. Default 5.
 * - `every`: how long after the last look at the latest the next one comes, > 0. Default 30 seconds.
 * - `onTaken`: is called with what came of each run. `onEvent`: see `Run.Watching`; the event's run is the second argument.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly concurrency?: number | undefined
  readonly asked?: boolean | undefined
  readonly crashes?: number | undefined
  readonly every?: Duration.Input | undefined
  readonly onTaken?: ((taken: Taken) => void) | undefined
  readonly onEvent?: ((event: RunEvent, run: string) => void) | undefined
}

const given = new Given("Host")

const known: ReadonlyArray<keyof Options> = ["concurrency", "asked", "crashes", "every", "onTaken", "onEvent"]

/** The options with their defaults. Throws a `RangeError` that names what cannot be. */
const checked = (options: Options) => {
  given.record("options", options, known)
  const { asked = false, concurrency = 10, crashes = 5, every = "30 seconds", onEvent, onTaken } = options
  given.flag("asked", asked)
  return {
    asked,
    concurrency: given.whole("concurrency", concurrency, 1),
    crashes: given.whole("crashes", crashes, 1),
    every: Duration.toMillis(given.duration("every", every, "more")),
    onEvent,
    onTaken
  }
}

type Checked = ReturnType<typeof checked>

/** How often a run may be cut off without progress before it is only taken up by itself. */
const suspect = 2

const patience = Duration.seconds(1)

/** A failure of the journal that no other run would be spared. */
const isLoss = (error: RunError): boolean =>
  error._tag === "JournalError" && (error.reason._tag === "JournalFenced" || error.reason._tag === "JournalOwned")

/** A failure that is about one run, which is damaged or can be none. */
const isOfOne = (error: Journal.JournalError): boolean =>
  error.reason._tag === "JournalCorrupt" || error.reason._tag === "InvalidInput"

/** Takes runs of one office up. */
const make = (office: Office.Office, options: Checked) =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const slots = yield* Semaphore.make(options.concurrency)
    const alone = yield* Semaphore.make(1)
    const lost = Deferred.makeUnsafe<never, Journal.JournalError>()

    const untrusted = (run: string): Effect.Effect<void, Journal.JournalError> =>
      Effect.flatMap(journal.runs({ desk: office.desk.name, status: unfinished }), (listed) => {
        const found = listed.find((each) => each.run === run)
        if (found === undefined) return Effect.void
        const { desk, startedAt } = found
        return journal.relist(run, { status: "suspended", desk, startedAt, reason: "untrusted-state" }, [])
      })

    const told = (run: string, result: Result, note: string): Taken => ({ run, result, note })

    /** Takes one run up; never fails. */
    const one = (run: string): Effect.Effect<Taken> => {
      const { crashes, onEvent } = options
      return takeUp(office, run, {
        crashes,
        // H2
        waitForMillis: 0,
        alone: { from: suspect, lane: alone.withPermit },
        ...(onEvent === undefined ? {} : { onEvent: (event: RunEvent) => onEvent(event, run) })
      }).pipe(
        Effect.map(({ status, stopReason }) =>
          status === "waiting"
            ? told(run, "waiting", "it waits")
            : told(run, "finished", `it is over: ${status}${stopReason === undefined ? "" : ` (${stopReason})`}`)
        ),
        Effect.catchTags({
          RunQuarantined: ({ message }) => Effect.succeed(told(run, "quarantined", message)),
          RunTooNew: ({ message }) => Effect.succeed(told(run, "too-new", message)),
          VersionMismatch: ({ message }) => Effect.succeed(told(run, "mismatched", message)),
          RunUntrusted: ({ message }) => Effect.as(untrusted(run), told(run, "untrusted", message)),
          RunBusy: ({ message }) => Effect.succeed(told(run, "busy", message))
        }),
        Effect.catch((error) => {
          if (error._tag === "JournalError" && isLoss(error)) Deferred.doneUnsafe(lost, Exit.fail(error))
          return Effect.succeed(told(run, "failed", error.message))
        }),
        Effect.catchDefect((defect) => Effect.succeed(told(run, "failed", `it died: ${String(defect)}`))),
        slots.withPermit,
        Effect.provideService(Journal.Journal, journal),
        Effect.tap(report)
      )
    }

    const context = yield* Effect.context<never>()
    const taking =
      options.onTaken &&
      heeded(options.onTaken, (error) => {
        const message = "Host: onTaken threw and is not called again"
        Effect.runSyncExitWith(context)(tellWarning(message, error))
      })
    const report = (taken: Taken): Effect.Effect<void> => {
      taking?.(taken)
      const { note, result, run } = taken
      return result === "finished" || result === "waiting" || result === "busy"
        ? Effect.void
        : Effect.logWarning(`Host: ${run} is ${result}: ${note}`)
    }

    /** Word for a run of this desk that is over is taken in by nobody; that somebody decided too late is written down. */
    const sweep = (commands: ReadonlyArray<Journal.Left>): Effect.Effect<void, Journal.JournalError> =>
      Effect.forEach(
        new Set(commands.map(({ run }) => run)),
        (run) =>
          foldRun(run).pipe(
            Effect.flatMap(({ state }) => {
              if (state.desk !== office.desk.name || !isFinished(state.status)) return Effect.void
              return clear(
                journal,
                state,
                commands.filter((each) => each.run === run)
              )
            }),
            Effect.catchTags({
              RunNotFound: () => Effect.void,
              RunTooNew: () => Effect.void,
              RunUntrusted: () => Effect.void,
              // Somebody has written meanwhile: the next look clears it.
              VersionConflict: () => Effect.void
            }),
            Effect.catchIf(isOfOne, () => Effect.void)
          ),
        { concurrency: 1, discard: true }
      ).pipe(Effect.provideService(Journal.Journal, journal))

    /** Looks once: which runs to take up, and when the next one wants to be looked at. */
    const look = (live: { readonly has: (run: string) => boolean }, asked: boolean) =>
      Effect.gen(function* () {
        const now = Math.floor(yield* Clock.currentTimeMillis)
        const commands = yield* journal.commands()
        const listed = yield* journal.runs({ desk: office.desk.name, status: unfinished })
        const open = new Set(listed.map(({ run }) => run))
        yield* sweep(commands.filter(({ run }) => !open.has(run) && !live.has(run)))
        const spoken = new Set(commands.map(({ run }) => run))
        const runs = pick(listed, { now, live, spoken, asked })
        // Who is taken up is not waited for: it may have to wait for its turn, and what fails would be tried without end.
        const busy = new Set(runs)
        return { runs, wake: nextWake(listed.filter(({ run }) => !busy.has(run) && !live.has(run))) }
      })

    return { journal, look, lost: Deferred.await(lost), one }
  })

/**
 * Looks once, takes up what there is to take up, and answers with what came of it when all of that is over or waits.
 *
 * **Details**
 *
 * - Fails with `JournalError` when the list of runs cannot be had, and when the journal belongs to another process.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when an option is out of its range.
 *
 * @category running
 * @since 0.1.0
 */
export const pass = Effect.fnUntraced(function* (
  office: Office.Office,
  options: Options = {}
): Effect.fn.Return<ReadonlyArray<Taken>, Journal.JournalError, Journal.Journal> {
  const { asked, ...rest } = checked(options)
  const { journal, look, lost, one } = yield* make(office, { ...rest, asked })
  yield* journal.own
  const { runs } = yield* look(office.live, asked)
  return yield* Effect.raceFirst(lost, Effect.forEach(runs, one, { concurrency: "unbounded" }))
})

/**
 * Stays, and carries out the runs of a desk. Never succeeds; ends when it is interrupted.
 *
 * **Details**
 *
 * - Fails with `JournalError`, reason `JournalOwned`, when another process carries out the runs of this journal, and reason
 *   `JournalFenced` when another one took it over. While the journal cannot be read it tries again each second.
 * - `asked` concerns the first look: runs that are put down while it is there stay so.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when an option is out of its range.
 *
 * @category running
 * @since 0.1.0
 */
export const serve = (
  office: Office.Office,
  options: Options = {}
): Effect.Effect<never, Journal.JournalError, Journal.Journal> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { asked, every, ...rest } = checked(options)
      const { journal, look, lost, one } = yield* make(office, { ...rest, asked, every })
      yield* journal.own
      yield* office.hearing.begin(journal)
      // A bell has no memory beyond that it rang.
      const bell = yield* Queue.sliding<void>(1)
      const ring = Effect.asVoid(Queue.offer(bell, undefined))
      yield* Effect.forkScoped(Stream.runForEach(journal.changes, () => ring))
      const fibers = yield* FiberMap.make<string, void>()
      const live = { has: (run: string) => office.live.has(run) || FiberMap.hasUnsafe(fibers, run) }

      /** What could not go on just now waits for the next look, whenever that is. */
      const again = ({ result }: Taken): Effect.Effect<void> =>
        result === "failed" || result === "busy" ? Effect.void : ring

      const round = (asked: boolean): Effect.Effect<number, Journal.JournalError> =>
        Effect.gen(function* () {
          const { runs, wake } = yield* look(live, asked)
          for (const run of runs) yield* FiberMap.run(fibers, run, Effect.flatMap(one(run), again))
          if (wake === undefined) return every
          const now = yield* Clock.currentTimeMillis
          return Math.min(every, Math.max(0, wake - now))
        })

      const forever = (asked: boolean): Effect.Effect<never, Journal.JournalError> =>
        round(asked).pipe(
          Effect.map((wait) => ({ wait, next: false })),
          Effect.catchIf(
            (error) => error.isRetryable,
            (error) =>
              Effect.as(Effect.logWarning(`Host: the runs cannot be looked at: ${error.message}`), {
                wait: Duration.toMillis(patience),
                next: asked
              })
          ),
          Effect.flatMap(({ next, wait }) =>
            Effect.flatMap(Effect.timeoutOption(Queue.take(bell), wait), () => forever(next))
          )
        )

      return yield* Effect.raceFirst(Effect.raceFirst(lost, journal.fenced), forever(asked))
    })
  )
