/**
 * What installs the metrics: it attends to runs, watches trees and desks, and owns the gauges.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"

import { errorTypeOfEnd } from "../../agent/internal/errorTypes.ts"
import * as Journal from "../../journal/Journal.ts"
import * as Dependency from "../../run/Dependency.ts"
import { standing } from "../../run/Health.ts"
import type { Attendance, Beginning, Ended, Observer, Work } from "../../run/Observer.ts"
import * as Office from "../../run/Office.ts"
import type { RunEvent } from "../../run/RunEvent.ts"
import type { Event, Tree } from "../../Tree.ts"
import { Board, type Shown } from "./board.ts"
import { CardinalityGuard } from "./cardinality.ts"
import { byKey, type Profile } from "./catalogue.ts"
import { dropped } from "./drops.ts"
import { following } from "./following.ts"
import { Budgets } from "./measures/budgets.ts"
import { measured, type Measurement, seconds } from "./measures/measurement.ts"
import { make as makeMeasuring } from "./measures/measuring.ts"
import type { Memory } from "./measures/memory.ts"
import { attribute as a, word } from "./names.ts"
import { breakerSamples, loadSamples, type Position, positionOf } from "./officeSamples.ts"
import * as pending from "./pending.ts"
import { Recorder } from "./recorder.ts"
import { type Sample, sample } from "./sample.ts"
import { TreeMeasures } from "./treeMeasures.ts"
import { treeSamples } from "./treeSamples.ts"

/** @since 0.1.0 */
export interface Settings {
  readonly profile: Profile
  readonly maxSeries: number
  readonly reviewsEvery: Duration.Duration
  readonly people: { readonly perHour: number; readonly currency: string } | undefined
}

/** Whether somebody carries the run out from here on. */
const isBegin = ({ _tag }: RunEvent): boolean => _tag === "RunStarted" || _tag === "RunResumed"

/** States of tasks that are not over. */
const states = ["queued", "ready", "running", "awaiting_review"] as const

/** @since 0.1.0 */
export class Metering {
  private readonly settings: Settings
  private readonly scope: Scope.Scope
  private readonly clock: Clock.Clock
  private readonly recorder: Recorder
  private readonly board: Board
  /** what is known of the runs that are carried out here, by desk: there are no empty ones */
  private readonly live = new Map<string, Set<Memory>>()
  private readonly tasks: Shown
  private readonly journals = new Map<Journal.Journal["Service"], Reading>()

  constructor(settings: Settings, scope: Scope.Scope, clock: Clock.Clock, recorder: Recorder, board: Board) {
    this.settings = settings
    this.scope = scope
    this.clock = clock
    this.recorder = recorder
    this.board = board
    this.tasks = board.add(() => this.taskSamples())
    board.add(() => this.seriesSamples())
  }

  /** Everything that happens to runs. */
  get observer(): Observer {
    return {
      attend: () => this.attend(),
      staffed: (office) => this.office(office)
    }
  }

  readonly record = (measurements: ReadonlyArray<Measurement>): void => {
    if (measurements.length > 0) this.recorder.record(measurements)
  }

  /** Watches a tree for as long as the scope, or until it ends. */
  tree(tree: Tree["Service"]): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const run = Effect.runSyncWith(this.recorder.context)
      const snapshot = () => run(tree.snapshot)
      const { refresh, remove } = yield* this.source(() => treeSamples(snapshot()))
      const look = (path: ReadonlyArray<string>) =>
        Option.getOrUndefined(run(Effect.option(Effect.flatMap(tree.find(path), (node) => node.snapshot))))
      const measures = new TreeMeasures(snapshot(), look)
      const take = (events: ReadonlyArray<Event>) => {
        for (const event of events) this.record(measures.happened(event))
        if (measures.takeChanged()) refresh()
      }
      yield* following(tree, take, () => dropped("metrics", "thrown", this.recorder.context))
      yield* Effect.forkScoped(Effect.ensuring(Effect.exit(tree.ended), Effect.sync(remove)), {
        startImmediately: true
      })
    })
  }

  private office<Input>(office: Office.Office<Input>): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const run = Effect.runSyncWith(this.recorder.context)
      yield* this.tree(office.tree)
      yield* this.source(() => loadSamples(run(Office.loads(office))))
      yield* this.workers(office)
      const dependency = yield* Effect.serviceOption(Dependency.Dependency)
      if (Option.isSome(dependency)) yield* this.dependencies(dependency.value)
      const journal = yield* Effect.serviceOption(Journal.Journal)
      if (Option.isSome(journal)) yield* this.reviews(journal.value)
    })
  }

  private workers({ health, staff }: Pick<Office.Office, "health" | "staff">): Effect.Effect<void, never, Scope.Scope> {
    const positions = new Map<string, Position>()
    const now = (worker: string) => positionOf(standing(health.facts(), worker).status)
    for (const worker of staff.posts.keys()) positions.set(worker, now(worker))
    const source = this.source(() =>
      Array.from(staff.posts.keys()).flatMap((worker) => breakerSamples(worker, now(worker)))
    )
    const changes = health.changes(({ state, worker }) => this.moved(positions, worker, positionOf(state)))
    return Effect.andThen(
      source,
      Effect.addFinalizer(() => Effect.sync(changes))
    )
  }

  private dependencies(dependency: Dependency.Dependency["Service"]): Effect.Effect<void, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const run = Effect.runSyncWith(this.recorder.context)
      const positions = new Map<string, Position>()
      for (const { dependency: name, status } of yield* dependency.states) positions.set(name, positionOf(status))
      const { refresh } = yield* this.source(() => {
        // The list has only those that do not take every call.
        const known = new Map<string, Position>(Array.from(positions.keys(), (name) => [name, "closed"]))
        for (const { dependency: name, status } of run(dependency.states)) known.set(name, positionOf(status))
        return Array.from(known).flatMap(([name, position]) => breakerSamples(name, position))
      })
      const stop = dependency.changes(({ dependency: name, status }) => {
        this.moved(positions, name, positionOf(status))
        refresh()
      })
      yield* Effect.addFinalizer(() => Effect.sync(stop))
    })
  }

  private moved(positions: Map<string, Position>, name: string, to: Position): void {
    const from = positions.get(name) ?? "closed"
    positions.set(name, to)
    if (from === to) return
    const attributes = { [a.breaker]: name, [a.fromState]: from, [a.toState]: to }
    this.record([measured("espalier.breaker.transitions", 1, attributes)])
  }

  /** The questions of a journal are read once, however many desks are open on it. */
  private reviews(journal: Journal.Journal["Service"]): Effect.Effect<void, never, Scope.Scope> {
    const begin = Effect.gen({ self: this }, function* () {
      const known = this.journals.get(journal)
      if (known !== undefined) {
        known.desks += 1
        return known
      }
      const scope = yield* Scope.fork(this.scope)
      const watching = pending.watch(journal, this.board, this.settings.reviewsEvery)
      const reading: Reading = { desks: 1, scope, again: yield* Scope.provide(watching, scope) }
      this.journals.set(journal, reading)
      return reading
    })
    const end = (reading: Reading) =>
      Effect.suspend(() => {
        reading.desks -= 1
        if (reading.desks > 0) return Effect.void
        this.journals.delete(journal)
        return Scope.close(reading.scope, Exit.void)
      })
    return Effect.asVoid(Effect.acquireRelease(begin, end))
  }

  private source(read: () => ReadonlyArray<Sample>): Effect.Effect<Shown, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.board.add(read)),
      ({ remove }) => Effect.sync(remove)
    )
  }

  private attend(): Attendance {
    const measuring = makeMeasuring()
    const { memory } = measuring
    const budgets = new Budgets()
    const since = this.clock.currentTimeMillisUnsafe()
    let begun: Beginning | undefined
    let ended = (): void => {}
    return {
      recall: (event) => {
        measuring.recall(event)
        budgets.see(event)
      },
      begin: (beginning) => {
        begun = beginning
      },
      happened: (events, known) => {
        // Not before the journal says so: somebody else may carry it out.
        if (begun !== undefined && events.some(isBegin)) {
          ended = this.begun(begun, memory, since)
          begun = undefined
        }
        for (const event of events) {
          this.record(this.priced(measuring.happened(event)))
          budgets.see(event)
          this.record(budgets.measure(event, known))
        }
        this.told(events)
      },
      around: (work, effect, ended) => (work._tag === "Attempt" ? this.attempt(work, effect, ended) : effect),
      end: () => ended()
    }
  }

  /** A run is carried out here, until the answer is called. What desks have no run of has no series. */
  private begun({ at, cause, desk }: Beginning, memory: Memory, since: number): () => void {
    if (cause !== "start") {
      this.record([measured("espalier.journal.replay.duration", seconds(at - since), { [a.workflow]: memory.desk })])
    }
    if (cause === "crash-recovery") {
      this.record([measured("espalier.run.recoveries", 1, { [a.recovery]: word(cause) })])
    }
    const { live } = this
    const runs = live.get(desk) ?? new Set()
    runs.add(memory)
    if (!live.has(desk)) {
      live.set(desk, runs)
      this.tasks.refresh()
    }
    return () => {
      if (!runs.delete(memory) || runs.size > 0) return
      live.delete(desk)
      this.tasks.refresh()
    }
  }

  private told(events: ReadonlyArray<RunEvent>): void {
    if (events.some(({ _tag }) => _tag.startsWith("Review"))) for (const { again } of this.journals.values()) again()
  }

  /** With what the time of people costs, where that was said. */
  private priced(measurements: ReadonlyArray<Measurement>): ReadonlyArray<Measurement> {
    const { people } = this.settings
    if (people === undefined) return measurements
    return measurements.flatMap((each) =>
      each.metric === "espalier.review.handling.duration"
        ? [
            each,
            measured("espalier.cost.spent", (each.value / 3600) * people.perHour, {
              [a.workflow]: each.attributes[a.workflow],
              [a.costKind]: "people",
              [a.rework]: "false",
              [a.currency]: people.currency
            })
          ]
        : [each]
    )
  }

  private attempt<A, E, R>(
    { waitMillis, worker }: Extract<Work, { readonly _tag: "Attempt" }>,
    effect: Effect.Effect<A, E, R>,
    ended: (exit: Exit.Exit<A, E>) => Ended
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const since = this.clock.currentTimeMillisUnsafe()
      this.record([measured("espalier.pool.wait.duration", seconds(waitMillis), { [a.pool]: worker })])
      return Effect.onExit(effect, (exit) =>
        Effect.sync(() => {
          const end = ended(exit)
          // Work that was put down is not over.
          if (end.outcome === "suspended") return
          const error = errorTypeOfEnd(end)
          const took = seconds(this.clock.currentTimeMillisUnsafe() - since)
          this.record([measured("agentDuration", took, { [a.agent]: worker, [a.errorType]: error })])
        })
      )
    })
  }

  private taskSamples(): ReadonlyArray<Sample> {
    return Array.from(this.live).flatMap(([desk, runs]) => {
      const counts = Array.from(runs, ({ states }) => states)
      return states.map((state) => {
        const count = counts.reduce((sum, each) => sum + (each.get(state) ?? 0), 0)
        return sample("espalier.task.count", count, { [a.workflow]: desk, [a.taskState]: state })
      })
    })
  }

  private seriesSamples(): ReadonlyArray<Sample> {
    const { entries, guard } = this.recorder
    const { sizes } = guard
    return Array.from(entries.values(), ({ name }) =>
      sample("espalier.telemetry.series", sizes.get(name) ?? 0, { [a.metric]: name })
    )
  }
}

interface Reading {
  desks: number
  readonly scope: Scope.Closeable
  readonly again: () => void
}

/** Installs it in the current scope. */
export const make = (settings: Settings): Effect.Effect<Metering, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const entries = byKey(settings.profile)
    const guard = new CardinalityGuard(settings.maxSeries)
    const recorder = new Recorder(context, entries, guard)
    const board = yield* Effect.acquireRelease(
      Effect.sync(() => new Board(context, entries, guard)),
      (board) => Effect.sync(() => board.close())
    )
    return new Metering(settings, yield* Effect.scope, yield* Clock.Clock, recorder, board)
  })
