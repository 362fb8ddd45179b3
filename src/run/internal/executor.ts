/**
 * Carries out the decisions of one run: write down, then act, then wait for news.
 *
 * It owns the run's state while it executes. A step (taking in news, deciding, committing) is never interrupted halfway;
 * only the waiting between two steps is.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

import { tellWarning } from "../../internal/telling.ts"
import type * as Journal from "../../journal/Journal.ts"
import { Redaction } from "../../Redaction.ts"
import * as Decider from "../Decider.ts"
import type { Change } from "../Health.ts"
import { Notifier } from "../Notifier.ts"
import type { Office } from "../Office.ts"
import * as Outcome from "../Outcome.ts"
import * as Recovery from "../Recovery.ts"
import { Reviewers } from "../Reviewers.ts"
import type { Of, RunEvent, SuspendReason } from "../RunEvent.ts"
import type { TaskState } from "../RunState.ts"
import { type Draft, fromOutside } from "./apply.ts"
import { overlarge } from "./applying/groups.ts"
import { isSoon, nextDue } from "./applying/timers.ts"
import { asking } from "./asking.ts"
import { failure } from "./attempt.ts"
import { carryOut, lapse, withdraw } from "./carrying.ts"
import type { Asking } from "./consulting.ts"
import type { Beginning, Hands } from "./hands.ts"
import { Inbox, notHere } from "./inbox.ts"
import type { News } from "./news.ts"
import { alone, type Observing } from "./observing.ts"
import type { Sources } from "./orders.ts"
import { store } from "./outputs.ts"
import { Outside } from "./outside.ts"
import { owing as nothingOwed } from "./owing.ts"
import { Page } from "./page.ts"
import { many } from "./problems.ts"
import type { Read } from "./reading.ts"
import { reattach } from "./reattaching.ts"
import { reread } from "./rereading.ts"
import { Seeking } from "./seeking.ts"
import { standingNews } from "./standingNews.ts"
import { Telling } from "./telling.ts"
import { dueBy } from "./timing.ts"
import { Underway } from "./underway.ts"
import { Voices } from "./voices.ts"

type Refused = Journal.VersionConflict | Journal.JournalError

/** An answer that the state has no room for is none: whoever was asked is told, or the next rung comes. */
const bounded = (draft: Draft, event: Of<"Decided"> | Of<"DecisionFailed">): RunEvent => {
  const reason = event._tag === "Decided" ? overlarge(draft, event) : undefined
  if (reason === undefined) return event
  const { at, consult, subject, usage } = event
  const note = `The answer to ${consult} is not used: ${reason}`
  const used = usage === undefined ? {} : { usage }
  return { _tag: "DecisionFailed", at, consult, subject, error: { kind: "malformed", reason }, ...used, note }
}

/** So long a run that has nothing else to do waits for its notices, and for a directory that is asked. */
const longestEnd = 3 * 60_000

/** What a run that is over takes in: that people were told, and that they came too late. */
const afterTheEnd: ReadonlySet<string> = new Set([...fromOutside, "Notified", "Spent"])

/** What may have been overtaken by what somebody did in the meantime. */
const overtaken: ReadonlySet<string> = new Set(["ReviewAdvanced", "ReviewExpired"])

/**
 * How a run is carried out.
 *
 * **Details**
 *
 * - `onEvent`: see `Run.Watching`. `waitForMillis`: how far ahead the next timer may be for it to be waited for here.
 * - `observing`: who else sees it, and has seen what the journal has.
 *
 * @since 0.1.0
 */
export interface Manner {
  readonly onEvent: ((event: RunEvent) => void) | undefined
  readonly waitForMillis: number
  readonly observing: Observing
}

/** @since 0.1.0 */
export class Executor {
  private readonly office: Office
  private readonly page: Page
  private readonly voices: Voices
  private readonly waitForMillis: number
  private readonly inbox: Inbox
  private readonly clock: Clock.Clock
  /** What was decided in this step and begins once it is committed. */
  private orders: Array<Beginning> = []
  private askings: Array<Asking> = []
  private recalls: Array<string> = []
  private input: unknown
  private sources: Sources | undefined
  private readonly hands: Hands
  private readonly underway: Underway
  private readonly outside: Outside
  private readonly telling: Telling
  private readonly seeking: Seeking

  constructor(clock: Clock.Clock, office: Office, page: Page, waitForMillis: number) {
    this.clock = clock
    this.office = office
    this.page = page
    this.waitForMillis = waitForMillis
    this.inbox = new Inbox(office.staff.soon)
    this.voices = new Voices(page, office, this.tell, () => this.underway.context)
    const { journal, observing, run, store } = page.place
    this.underway = new Underway(office.staff, () => page.known(), this.tell, observing)
    const { beside, park } = this.underway
    const rouse = () => this.inbox.rouse()
    this.telling = new Telling(beside, this.tell, rouse)
    this.seeking = new Seeking(beside, this.tell, rouse)
    this.outside = new Outside({
      run,
      journal,
      store,
      state: () => page.known(),
      tell: this.tell,
      park,
      spec: office.spec,
      policy: office.desk.reviews
    })
    this.hands = {
      office,
      outside: this.outside,
      fold: () => page.fold,
      sources: () => this.from(),
      state: () => page.known(),
      take: (event) => page.take(event),
      offer: (event) => page.offer(event),
      begin: (beginning) => void this.orders.push(beginning),
      ask: (asking) => void this.askings.push(asking),
      recall: (dispatch) => void this.recalls.push(dispatch),
      again: (task) => this.reattach(task)
    }
  }

  private from(): Sources {
    this.sources ??= {
      templates: this.office.templates,
      contracts: this.office.contracts,
      policy: this.office.desk.contracts,
      capabilities: [...new Set([...this.office.spec.workers.values()].flatMap(({ capabilities }) => capabilities))],
      results: { result: (task) => this.page.fold.result(task) },
      input: this.input
    }
    return this.sources
  }

  private now(): number {
    return Math.floor(this.clock.currentTimeMillisUnsafe())
  }

  /**
   * Begins with these events and goes on to the end of the run, or until nothing but people or a timer that is too far ahead
   * can make it go on. `busy`: what it fails with when somebody else carries the run out here, which is looked at in the step
   * that takes its place. `left`: word that was left for the run before.
   */
  execute<E>(
    first: ReadonlyArray<RunEvent>,
    input: unknown,
    busy: () => E,
    left: ReadonlyArray<Journal.Left> = []
  ): Effect.Effect<Outcome.Outcome, Refused | E> {
    this.input = input
    return this.within(
      busy,
      left,
      Effect.andThen(
        this.office.hearing.begin(this.page.place.journal, this.page.state !== undefined),
        this.carry(first, left)
      )
    )
  }

  /** Sends what people are still to be told of a run that is over, and does nothing else. */
  tellRest<E>(busy: () => E): Effect.Effect<Outcome.Outcome, Refused | E> {
    const rest = Effect.suspend(() => {
      this.begin()
      return this.goOn()
    })
    return this.within(busy, [], rest)
  }

  private within<E>(
    busy: () => E,
    left: ReadonlyArray<Journal.Left>,
    carry: Effect.Effect<Outcome.Outcome, Refused>
  ): Effect.Effect<Outcome.Outcome, Refused | E> {
    const { health, live } = this.office
    return Effect.contextWith((context: Context.Context<never>): Effect.Effect<Outcome.Outcome, Refused | E> => {
      if (live.has(this.page.place.run)) return Effect.fail(busy())
      if (this.office.closed())
        return Effect.die(new Error(`Run: the office that ${this.page.place.run} was given to is closed`))
      this.underway.context = alone(context)
      this.telling.open(Context.get(context, Notifier))
      this.seeking.begin(Context.get(context, Reviewers))
      const listening = health.changes((change) => this.heard(changed(change)))
      this.voices.expect(left)
      const { end, stop, tell } = this
      const { eligible, hear } = this.voices
      live.set(this.page.place.run, { tell, stop, hear, end, eligible })
      return carry.pipe(
        Effect.ensuring(
          Effect.suspend(() => {
            listening()
            this.telling.close()
            this.seeking.close()
            live.delete(this.page.place.run)
            this.release()
            return this.underway.interrupt
          })
        )
      )
    }).pipe(
      Effect.onInterrupt(() => this.interrupted()),
      Effect.ensuring(Effect.sync(() => this.dismiss()))
    )
  }

  /** What is still under way is carried out by nobody from here on: a probe gives its place back. */
  private release(): void {
    const { lastAt, tasks } = this.page.state ?? { tasks: new Map<string, TaskState>(), lastAt: 0 }
    for (const { dispatch } of tasks.values()) {
      if (dispatch !== undefined) this.office.health.report(dispatch.worker, lastAt, "interrupted", dispatch.id)
    }
  }

  private readonly tell = (news: News): void => this.inbox.tell(news)

  private readonly over = Deferred.makeUnsafe<void>()
  /** Whether the office is being closed. */
  private stopping = false

  /** Ends the execution as an interruption does, at the next step, and waits for its end. */
  private readonly stop: Effect.Effect<void> = Effect.suspend(() => {
    this.stopping = true
    this.inbox.rouse()
    return Deferred.await(this.over)
  })

  /** Nobody listens any more: who still waits for an answer has to look elsewhere. */
  private dismiss(): void {
    this.inbox.close()
    this.voices.dismiss()
    Deferred.doneUnsafe(this.over, Exit.void)
  }

  private lost: Journal.JournalError | undefined

  /** Ends the execution with an error, at the next step. */
  private readonly end = (error: Journal.JournalError): void => {
    this.lost = error
    this.inbox.rouse()
  }

  private carry(
    first: ReadonlyArray<RunEvent>,
    left: ReadonlyArray<Journal.Left>
  ): Effect.Effect<Outcome.Outcome, Refused> {
    return Effect.gen({ self: this }, function* () {
      const open = [...(this.page.state?.tasks.values() ?? [])].filter((task) => task.dispatch !== undefined)
      const said = this.dated(yield* this.voices.readAll(left))
      yield* this.step([...first, ...said, ...this.healthNow(this.now())], () => {
        for (const { id } of open) this.reattach(id)
        this.askAgain()
      })
      return yield* this.goOn()
    })
  }

  /** Takes in what happens until nothing more does. */
  private goOn(): Effect.Effect<Outcome.Outcome, Refused> {
    return Effect.gen({ self: this }, function* () {
      while (this.goesOn() || this.hasNews() || this.lingers()) {
        const news = this.stopping || this.lost !== undefined ? [] : yield* this.wait()
        if (this.lost !== undefined) return yield* this.lost
        if (this.stopping) {
          // What has come is taken in with the end.
          for (const each of news) this.tell(each)
          if (this.page.known().status !== "running") break
          return yield* Effect.interrupt
        }
        yield* this.step(this.dated(this.page.isOver() ? news.filter((each) => this.stillCounts(each)) : news))
      }
      return this.page.outcome()
    })
  }

  /** Whether a run that is over takes it in. Who waits for an answer to anything else is told where to look. */
  private stillCounts(news: News): boolean {
    if (afterTheEnd.has(news._tag)) return true
    if (news.ack !== undefined) Deferred.doneUnsafe(news.ack, Exit.succeed(notHere))
    return false
  }

  private endsBy: number | undefined

  /** Whether something is still under way for people, and how long that is waited for is not over. */
  private lingers(): boolean {
    if (!this.telling.isBusy() && !this.seeking.isBusy()) return false
    this.endsBy ??= this.now() + longestEnd
    return this.now() < this.endsBy
  }

  /** Whether there is something under way, or a timer that is waited for here. */
  private goesOn(): boolean {
    const on = this.isGoingOn()
    if (on) this.endsBy = undefined
    return on
  }

  private isGoingOn(): boolean {
    const state = this.page.known()
    if (state.status !== "waiting") return state.status === "running"
    return !this.stopping && isSoon(state, this.now(), this.waitForMillis)
  }

  /** Whether something has come in the moment in which there was nothing left to do but to wait for people. */
  private hasNews(): boolean {
    return this.page.state !== undefined && this.page.state.status !== "running" && !this.inbox.isEmpty()
  }

  /** When something has to be looked at although nothing has come. */
  private next(): number | undefined {
    const due = this.page.isOver() ? [] : [nextDue(this.page.known())]
    const times = [...due, this.telling.next(), this.endsBy].filter((time) => time !== undefined)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** What has happened since, or nothing when a deadline or a timer has come first. */
  private wait(): Effect.Effect<ReadonlyArray<News>> {
    const next = this.next()
    if (next === undefined) return this.inbox.take
    return Effect.map(
      Effect.timeoutOption(this.inbox.take, Math.max(0, next - this.now())),
      Option.getOrElse((): ReadonlyArray<News> => [])
    )
  }

  private dated(news: ReadonlyArray<News>): ReadonlyArray<RunEvent> {
    return this.voices.dated(news, this.now())
  }

  /** What is due after these events. */
  private due(events: ReadonlyArray<RunEvent>, at: number): ReadonlyArray<RunEvent> {
    const state = this.page.known()
    const next = this.page.isOver() ? undefined : nextDue(state)
    if (next === undefined || next > at) return []
    return dueBy(state, at, new Set(events.flatMap((event) => (event._tag === "Reported" ? [event.task] : []))))
  }

  /** Takes the beginning of a new run in, or says why it cannot begin so. */
  open(started: Of<"RunStarted">): string | undefined {
    return this.page.offer(started)
  }

  /** Puts the run down. */
  suspend(
    reason: SuspendReason,
    note: string,
    at: number,
    open: NonNullable<Of<"RunSuspended">["interrupted"]> = []
  ): Effect.Effect<void, Refused> {
    if (this.page.state === undefined || this.page.state.suspended === reason) return Effect.void
    return Effect.suspend(() => {
      if (this.page.state?.status === "suspended")
        this.page.take({ _tag: "RunResumed", at, cause: "message", note: "Taken up to be looked at" })
      const interrupted = open.length === 0 ? {} : { interrupted: open }
      this.page.take({ _tag: "RunSuspended", at, reason, ...interrupted, note })
      return this.page.write()
    })
  }

  /** Collects the changes of health that a report of this run leads to. */
  private own: Array<News> | undefined

  /** Takes news in, decides until nothing is left to decide, commits, and lets what was decided begin. */
  private step(events: ReadonlyArray<RunEvent>, also?: (() => void) | undefined): Effect.Effect<void, Refused> {
    return Effect.uninterruptible(
      Effect.suspend(() => {
        const at = this.now()
        for (const event of events) this.receive(event)
        for (const event of this.due(events, at)) this.receive(event)
        this.decide(at)
        also?.()
        return Effect.map(
          Effect.catchTag(this.page.write(), "VersionConflict", (conflict) =>
            this.reconcile(conflict, events, at, also)
          ),
          () => {
            this.voices.acknowledge()
            this.begin()
          }
        )
      })
    )
  }

  private decide(at: number): void {
    for (;;) {
      const actions = Decider.decide(this.page.known(), this.office.spec)
      if (actions.length === 0) return
      for (const action of actions) carryOut(this.hands, action, at)
    }
  }

  /** Takes one piece of news in, and what follows from it by arithmetic. */
  private receive(event: RunEvent): void {
    if (this.voices.receive(event)) return
    if (event._tag === "HealthChanged") {
      const { health = "healthy" } = this.page.state?.health.get(event.worker) ?? {}
      if (health === event.health) return
    }
    if (event._tag === "Decided" || event._tag === "DecisionFailed") {
      // Who was asked may answer after nobody needs it any more.
      const refused = this.page.offer(bounded(this.page.known(), event))
      if (refused === undefined) return
      const { at, consult, subject } = event
      const note = `The answer to ${consult} is not used: ${refused}`
      return this.page.take({ _tag: "Noticed", at, subject, what: "late-answer", note })
    }
    if (event._tag === "Parked") return this.park(event)
    if (overtaken.has(event._tag)) return void this.page.offer(event)
    this.page.take(event)
    if (event._tag !== "Reported") return
    this.underway.over(event.dispatch)
    withdraw(this.hands, ({ dispatch }) => dispatch === event.dispatch, event.at, `${event.dispatch} is over`)
    lapse(this.hands, ({ dispatch }) => dispatch === event.dispatch, event.at, `${event.dispatch} is over`)
    this.assess(event)
    this.overruns(event)
  }

  /** The work of an order has stopped, to wait for answers; or to end, where it was called back meanwhile. */
  private park(event: Of<"Parked">): void {
    const { at, dispatch, task, usage = {}, worker } = event
    const refused = this.page.offer(event)
    this.underway.over(dispatch)
    if (refused === undefined) return void this.office.health.report(worker, at, "interrupted", dispatch)
    const { outcome, result } = failure("transient", refused, "cancelled")
    const note = `${dispatch} at ${worker} has stopped: ${refused}`
    const attempts = (this.page.known().tasks.get(task)?.attempts ?? 0) + 1
    this.receive({
      _tag: "Reported",
      at,
      task,
      dispatch,
      worker,
      attempts,
      outcome,
      result: { ...result, usage },
      note
    })
  }

  /** What a dispatch used beyond what was set aside for it. */
  private overruns(event: Of<"Reported">): void {
    for (const overrun of this.page.known().overruns) {
      const { at, dispatch, task } = event
      const { account, limit, measure, settled, used } = overrun
      const note = `${dispatch} used ${used} ${measure}, more than was set aside; ${account} is closed`
      this.page.take({ _tag: "Overrun", at, task, dispatch, account, measure, limit, settled, note })
    }
  }

  /** Tells the health of the staff how a dispatch went. */
  private assess({ at, dependency, dispatch, outcome, result, worker }: Of<"Reported">): void {
    const { error } = result
    const end =
      outcome === "cancelled" || dependency !== undefined
        ? "interrupted"
        : error === undefined
          ? "succeeded"
          : Recovery.blames(error.kind)
            ? "failed"
            : "interrupted"
    const heard: Array<News> = []
    this.own = heard
    this.office.health.report(worker, at, end, dispatch)
    this.own = undefined
    for (const { ack: _, command: __, eligible: _e, heard: _h, since: _s, ...event } of heard)
      this.receive({ ...event, at })
  }

  /** What follows from a report of this run is taken in with it; all other changes are news. */
  private heard(news: News): void {
    if (this.own === undefined) this.tell(news)
    else this.own.push(news)
  }

  /**
   * Somebody else has written. When it was only what people said, it is taken in, the facts of this step after it, and
   * everything is decided again; otherwise another executor has the run.
   */
  private reconcile(
    conflict: Journal.VersionConflict,
    events: ReadonlyArray<RunEvent>,
    at: number,
    also: (() => void) | undefined
  ): Effect.Effect<void, Refused> {
    return Effect.gen({ self: this }, function* () {
      const { journal, observing, run, store } = this.page.place
      this.page.replace(yield* reread(journal, store, run, conflict, observing.recall))
      this.orders = []
      this.askings = []
      this.recalls = []
      this.voices.retract()
      for (const event of events) {
        const refused = this.voices.again(event._tag === "Decided" ? bounded(this.page.known(), event) : event)
        if (refused === undefined) {
          if (event._tag === "Reported") {
            lapse(this.hands, ({ dispatch }) => dispatch === event.dispatch, at, `${event.dispatch} is over`)
            this.overruns(event)
          }
          continue
        }
        if (overtaken.has(event._tag) || this.page.isOver()) continue
        const subject = "task" in event && event.task !== undefined ? event.task : ""
        this.page.take({
          _tag: "Noticed",
          at,
          subject,
          what: "stale",
          note: `A ${event._tag} came too late: ${refused}`
        })
      }
      for (const event of [...this.healthNow(at), ...this.due(events, at)]) this.page.offer(event)
      this.decide(at)
      also?.()
      yield* Effect.catchTag(this.page.write(), "VersionConflict", (next) => this.reconcile(next, events, at, also))
    })
  }

  private healthNow(at: number): ReadonlyArray<RunEvent> {
    return standingNews(this.office.health.facts(), this.page.state?.health, at)
  }

  /** Gives an order again that was under way when the run was cut off. */
  private reattach(id: string): void {
    const task = this.page.known().tasks.get(id)
    const again = task === undefined ? undefined : reattach(this.hands, task)
    if (again === undefined) return
    if (again._tag === "Over") return this.tell(again.report)
    const { order } = again.beginning
    this.orders.push(again.beginning)
    if (task?.dispatch?.recalled !== undefined) this.recalls.push(order.dispatch)
  }

  /** Asks again for the choices that were open when the run was cut off. */
  private askAgain(): void {
    const asked = new Set(this.askings.map(({ consult }) => consult))
    const open = [...this.page.known().groups.values(), ...this.page.known().tasks.values()]
    for (const { consult, id } of open) {
      if (consult?.status !== "open" || asked.has(consult.id)) continue
      if (consult.purpose === "reconcile") {
        // The question is put together again when the answers are merged again.
        const note = "The question was cut off"
        const error = { kind: "transient" as const, reason: note }
        this.tell({ _tag: "DecisionFailed", consult: consult.id, subject: id, error, note })
      } else this.askings.push(asking(this.hands, id, consult.purpose, consult.id))
    }
  }

  private begin(): void {
    const { askings, orders, recalls } = this
    this.orders = []
    this.askings = []
    this.recalls = []
    this.underway.begin(orders, askings, recalls)
    this.tellPeople()
  }

  /** Whether everybody who is asked has been looked at since this executor began. */
  private looked = false

  /** Sends what is owed now that it is written, and looks whether there is anybody to decide. */
  private tellPeople(): void {
    const { looked } = this
    const written = this.page.news()
    this.looked = true
    if (!this.page.isOver()) this.seeking.look(this.page.known(), looked ? written : undefined)
    if (this.telling.isOpen()) this.telling.begin(this.page.owing.owed(), this.now())
  }

  /** The work has been cancelled and has stopped: what was reported before that counts, then the run is put down. */
  private interrupted(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.page.state?.status !== "running") return Effect.void
      const at = this.now()
      const events = this.dated(this.inbox.clear())
      for (const event of events) this.receive(event)
      for (const event of this.due(events, at)) this.receive(event)
      const unknown = this.outside.unknown
      const left = unknown === 0 ? "" : `; it is not known whether ${many(unknown, "effect")} has happened`
      const note = `Asked to stop, with ${many(this.page.state.running, "order")} under way${left}; resume to go on`
      const tasks = this.page.state.tasks
      const open = [...this.underway.interruptions].flatMap(([dispatch, { task, usage }]) =>
        tasks.get(task)?.dispatch?.id === dispatch ? [{ task, dispatch, usage }] : []
      )
      return Effect.map(this.suspend("asked", note, at, open), () => this.voices.acknowledge())
    }).pipe(Effect.catch((error) => tellWarning(`Run: ${this.page.place.run} could not be left suspended`, error)))
  }
}

const changed = ({ note, state, until, worker }: Change): News => ({
  _tag: "HealthChanged",
  worker,
  health: state,
  ...(until === undefined ? {} : { until }),
  note
})

/**
 * Makes an executor, which begins from nothing or from where the journal left off.
 *
 * @since 0.1.0
 */
export const make = (
  office: Office,
  journal: Journal.Journal["Service"],
  run: string,
  { observing, onEvent, waitForMillis }: Manner,
  { fold = Outcome.fold(), owing = nothingOwed(), state }: Partial<Read> = {}
): Effect.Effect<Executor> =>
  Effect.flatMap(store, (store) =>
    Effect.flatMap(Redaction, (rules) =>
      Clock.clockWith((clock) =>
        Effect.sync(() => {
          const page = new Page({ run, journal, store, rules, onEvent, observing }, { fold, owing, state })
          return new Executor(clock, office, page, waitForMillis)
        })
      )
    )
  )
