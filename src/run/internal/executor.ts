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
import { isFinished, type TaskState } from "../RunState.ts"
import { applyEvent, applySaid, type Draft, fromOutside } from "./apply.ts"
import { overlarge } from "./applying/groups.ts"
import { nextReview } from "./applying/reviews.ts"
import { isSoon, nextDue } from "./applying/timers.ts"
import { asking } from "./asking.ts"
import { failure } from "./attempt.ts"
import { carryOut, lapse, withdraw } from "./carrying.ts"
import type { Asking } from "./consulting.ts"
import type { Beginning, Hands } from "./hands.ts"
import { Inbox, notHere } from "./inbox.ts"
import { Listed } from "./listing.ts"
import { commit, toRecord } from "./log.ts"
import type { News } from "./news.ts"
import type { Sources } from "./orders.ts"
import { byReference, type Store, store } from "./outputs.ts"
import { Outside } from "./outside.ts"
import { owing as nothingOwed, type Owing } from "./owing.ts"
import { sealed } from "./plain.ts"
import { many } from "./problems.ts"
import { termed } from "./proposing.ts"
import type { Read } from "./reading.ts"
import { reattach } from "./reattaching.ts"
import { redacted } from "./redacting.ts"
import { reread } from "./rereading.ts"
import { Seeking } from "./seeking.ts"
import { standingNews } from "./standingNews.ts"
import { type Eligible, type Heard, relayed, submitted, unheard } from "./submitting.ts"
import { Telling } from "./telling.ts"
import { dueBy } from "./timing.ts"
import { Underway } from "./underway.ts"
import { asksWho, type Judged, vet } from "./vetting.ts"
import { wordOf } from "./word.ts"

type Refused = Journal.VersionConflict | Journal.JournalError

/** What the executor makes itself is always valid. */
const valid = (next: Draft | string): Draft => {
  if (typeof next === "string") throw new Error(`Run: an event that cannot happen: ${next}`)
  return next
}

/** An answer that the state has no room for is none: whoever was asked is told, or the next rung comes. */
const bounded = (draft: Draft, event: Of<"Decided"> | Of<"DecisionFailed">): RunEvent => {
  const reason = event._tag === "Decided" ? overlarge(draft, event) : undefined
  if (reason === undefined) return event
  const { at, consult, subject, usage } = event
  const note = `The answer to ${consult} is not used: ${reason}`
  const used = usage === undefined ? {} : { usage }
  return { _tag: "DecisionFailed", at, consult, subject, error: { kind: "malformed", reason }, ...used, note }
}

/** Nobody has looked whether who decides may. */
const unvetted: Eligible = {
  _tag: "Refused",
  because: "reviewers-unavailable",
  reason: "nobody has looked whether they may"
}

/** So long a run that has nothing else to do waits for its notices, and for a directory that is asked. */
const longestEnd = 3 * 60_000

/** What a run that is over takes in: that people were told, and that they came too late. */
const afterTheEnd: ReadonlySet<string> = new Set([...fromOutside, "Notified"])

/** What may have been overtaken by what somebody did in the meantime. */
const overtaken: ReadonlySet<string> = new Set(["ReviewAdvanced", "ReviewExpired"])

/**
 * How a run is carried out.
 *
 * **Details**
 *
 * - `onEvent`: see `Run.Watching`. `waitForMillis`: how far ahead the next timer may be for it to be waited for here.
 *
 * @since 0.1.0
 */
export interface Manner {
  readonly onEvent: ((event: RunEvent) => void) | undefined
  readonly waitForMillis: number
}

/** @since 0.1.0 */
export class Executor {
  readonly office: Office
  readonly journal: Journal.Journal["Service"]
  readonly run: string
  private onEvent: ((event: RunEvent) => void) | undefined
  private state: Draft | undefined
  private fold: Outcome.Fold
  private owing: Owing
  /** What the journal has; the state may be ahead of it inside a step. */
  private version: number
  private listed: Listed
  private readonly waitForMillis: number
  private readonly inbox: Inbox
  private readonly store: Store
  private readonly rules: Redaction
  private readonly clock: Clock.Clock
  /** What was decided in this step and begins once it is committed. */
  private orders: Array<Beginning> = []
  private askings: Array<Asking> = []
  private recalls: Array<string> = []
  /** Who waits to hear whether an event was taken, and those that were and have to be written first. */
  private readonly askers = new Map<RunEvent, Deferred.Deferred<string | undefined>>()
  private acks: Array<{ readonly ack: Deferred.Deferred<string | undefined>; readonly refused: string | undefined }> =
    []
  /** What is known of who decides, and who wants to know what became of it. */
  private readonly deciders = new WeakMap<RunEvent, Pick<News, "eligible" | "heard">>()
  /** Events that were left in the journal as word, with its number. */
  private readonly words = new Map<RunEvent, number>()
  private input: unknown
  private sources: Sources | undefined
  private readonly hands: Hands
  private readonly underway: Underway
  private readonly outside: Outside
  private readonly telling: Telling
  private readonly seeking: Seeking

  constructor(
    clock: Clock.Clock,
    store: Store,
    rules: Redaction,
    office: Office,
    journal: Journal.Journal["Service"],
    run: string,
    { onEvent, waitForMillis }: Manner,
    state?: Draft | undefined,
    fold: Outcome.Fold = Outcome.fold(),
    owing: Owing = nothingOwed()
  ) {
    this.clock = clock
    this.store = store
    this.rules = rules
    this.inbox = new Inbox(office.staff.soon)
    this.office = office
    this.journal = journal
    this.run = run
    this.onEvent = onEvent
    this.waitForMillis = waitForMillis
    this.state = state
    this.fold = fold
    this.owing = owing
    this.version = state?.version ?? 0
    this.listed = new Listed(state)
    this.underway = new Underway(office.staff, () => this.known(), this.tell)
    const { beside, park } = this.underway
    const rouse = () => this.inbox.rouse()
    this.telling = new Telling(beside, this.tell, rouse)
    this.seeking = new Seeking(beside, this.tell, rouse)
    this.outside = new Outside({
      run,
      journal,
      store,
      state: () => this.known(),
      tell: this.tell,
      park,
      spec: office.spec,
      policy: office.desk.reviews
    })
    this.hands = {
      office,
      outside: this.outside,
      fold: () => this.fold,
      sources: () => this.from(),
      state: () => this.known(),
      take: (event) => this.take(event),
      offer: (event) => this.offer(event),
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
      results: { result: (task) => this.fold.result(task) },
      input: this.input
    }
    return this.sources
  }

  private known(): Draft {
    if (this.state === undefined) throw new Error("Run: a decision before the first event")
    return this.state
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
      Effect.andThen(this.office.hearing.begin(this.journal, this.state !== undefined), this.carry(first, left))
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
      if (live.has(this.run)) return Effect.fail(busy())
      if (this.office.closed()) return Effect.die(new Error(`Run: the office that ${this.run} was given to is closed`))
      this.underway.context = context
      this.telling.open(Context.get(context, Notifier))
      this.seeking.begin(Context.get(context, Reviewers))
      const listening = health.changes((change) => this.heard(changed(change)))
      for (const { id } of left) this.commands.add(id)
      const { eligible, end, hear, stop, tell } = this
      live.set(this.run, { tell, stop, hear, end, eligible })
      return carry.pipe(
        Effect.ensuring(
          Effect.suspend(() => {
            listening()
            this.telling.close()
            this.seeking.close()
            live.delete(this.run)
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
    const { lastAt, tasks } = this.state ?? { tasks: new Map<string, TaskState>(), lastAt: 0 }
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
    this.acks = []
    for (const ack of this.askers.values()) Deferred.doneUnsafe(ack, Exit.succeed(notHere))
    this.askers.clear()
    Deferred.doneUnsafe(this.over, Exit.void)
  }

  /** Word that was taken in with what is not written yet. */
  private handled: ReadonlyArray<number> = []
  private readonly commands = new Set<number>()

  /** Word that was left in the journal is news, once. */
  private readonly hear = (left: Journal.Left): Effect.Effect<() => void> =>
    Effect.suspend(() => {
      if (this.commands.has(left.id)) return Effect.succeed(() => {})
      return Effect.map(this.read(left), (news) => () => {
        if (this.commands.has(left.id)) return
        this.commands.add(left.id)
        this.tell(news)
      })
    })

  /** Word, and whether who left it may decide. */
  private read(left: Journal.Left): Effect.Effect<News> {
    const word = wordOf(left)
    if (!asksWho(word)) return Effect.succeed(word)
    return Effect.map(this.eligible(word), (eligible) => ({ ...word, eligible }))
  }

  /** Whether somebody may say what they say. */
  private readonly eligible = (said: Judged): Effect.Effect<Eligible> =>
    Effect.suspend(() => Effect.provideContext(vet(this.known(), said), this.underway.context))

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
      const open = [...(this.state?.tasks.values() ?? [])].filter((task) => task.dispatch !== undefined)
      const said = this.dated(yield* Effect.forEach(left, (each) => this.read(each), { concurrency: 16 }))
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
          if (this.known().status !== "running") break
          return yield* Effect.interrupt
        }
        yield* this.step(this.dated(this.isOver() ? news.filter((each) => this.stillCounts(each)) : news))
      }
      return this.outcome()
    })
  }

  private isOver(): boolean {
    return this.state !== undefined && isFinished(this.state.status)
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
    const state = this.known()
    if (state.status !== "waiting") return state.status === "running"
    return !this.stopping && isSoon(state, this.now(), this.waitForMillis)
  }

  /** Whether something has come in the moment in which there was nothing left to do but to wait for people. */
  private hasNews(): boolean {
    return this.state !== undefined && this.state.status !== "running" && !this.inbox.isEmpty()
  }

  /** When something has to be looked at although nothing has come. */
  private next(): number | undefined {
    const due = this.isOver() ? [] : [nextDue(this.known())]
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

  /** The news as events. */
  private dated(news: ReadonlyArray<News>): ReadonlyArray<RunEvent> {
    const at = this.now()
    const events: Array<RunEvent> = []
    for (const each of news) {
      if (each.ack === undefined && each.command === undefined) events.push({ ...each, at } as RunEvent)
      else {
        const { ack, command, eligible, heard, ...told } = each
        const event = { ...told, at }
        if (eligible !== undefined || heard !== undefined) this.deciders.set(event, { eligible, heard })
        if (ack !== undefined) this.askers.set(event, ack)
        if (command !== undefined) this.words.set(event, command)
        events.push(event)
      }
    }
    return events
  }

  /** What is due after these events. */
  private due(events: ReadonlyArray<RunEvent>, at: number): ReadonlyArray<RunEvent> {
    const state = this.known()
    const next = this.isOver() ? undefined : nextDue(state)
    if (next === undefined || next > at) return []
    return dueBy(state, at, new Set(events.flatMap((event) => (event._tag === "Reported" ? [event.task] : []))))
  }

  /** Takes what somebody says, or writes down that it does not count; the reason then. */
  private submit(made: RunEvent): string | undefined {
    if (made._tag === "ReviewOpened") return this.openFor(this.asked(made))
    if (made._tag === "ReviewRefused") {
      const { event } = relayed(this.known(), made)
      return event === undefined ? undefined : this.offer(event)
    }
    const { eligible = unvetted, heard: tell } = this.deciders.get(made) ?? {}
    if (made._tag !== "ReviewDecided" || this.state === undefined) {
      const refusal = this.state !== undefined && asksWho(made) ? unheard(this.state, made, eligible) : undefined
      if (refusal === undefined) return this.offer(made)
      tell?.(refusal)
      return refusal.reason
    }
    const { event, heard } = submitted(this.state, redacted(made, this.rules) as Of<"ReviewDecided">, eligible)
    const refused = event === undefined ? undefined : this.offer(event)
    const unable: Heard | undefined =
      refused === undefined ? undefined : { _tag: "Refused", because: "invalid", reason: refused }
    tell?.(unable ?? heard)
    return refused ?? (heard._tag === "Refused" ? heard.reason : undefined)
  }

  /** Opens a question of the work of an order; one that a standing grant covers is decided in the same moment. */
  private openFor(opened: Of<"ReviewOpened">): string | undefined {
    const refused = this.offer(opened)
    const { at, grant, review } = opened
    const standing = grant === undefined ? undefined : this.known().standing.get(grant)
    if (refused !== undefined || grant === undefined || standing === undefined) return refused
    const { by, uses } = standing.grant
    const note = `${grant} of ${by} covers it, use ${standing.used + 1} of ${uses}`
    return this.offer({ _tag: "ReviewDecided", at, review, decision: "approve", by, grant, note })
  }

  /** A question of the work of an order, with its name and its terms. */
  private asked(made: Of<"ReviewOpened">): Of<"ReviewOpened"> {
    const state = this.known()
    const { spec, desk } = this.office
    const worker = spec.workers.get(state.tasks.get(made.task ?? "")?.dispatch?.worker ?? "")
    return termed(desk.reviews, state, { ...made, review: nextReview(state) }, worker)
  }

  /** Takes an event that may be refused; the reason when it was. */
  private offer(made: RunEvent): string | undefined {
    const event = redacted(made, this.rules)
    const next = applySaid(this.state, event)
    if (typeof next === "string") return next
    this.state = next
    this.note(event, next)
    return undefined
  }

  /** Takes the beginning of a new run in, or says why it cannot begin so. */
  open(started: Of<"RunStarted">): string | undefined {
    return this.offer(started)
  }

  /** Puts the run down. */
  suspend(
    reason: SuspendReason,
    note: string,
    at: number,
    open: NonNullable<Of<"RunSuspended">["interrupted"]> = []
  ): Effect.Effect<void, Refused> {
    if (this.state === undefined || this.state.suspended === reason) return Effect.void
    return Effect.suspend(() => {
      if (this.state?.status === "suspended") this.take({ _tag: "RunResumed", at, note: "Taken up to be looked at" })
      const interrupted = open.length === 0 ? {} : { interrupted: open }
      this.take({ _tag: "RunSuspended", at, reason, ...interrupted, note })
      return this.write()
    })
  }

  private outcome(): Outcome.Outcome {
    const outcome = this.fold.outcome(this.state)
    if (outcome === undefined) throw new Error("Run: an outcome before the first event")
    return outcome
  }

  private taken: Array<RunEvent> = []
  /** What was written and not looked at since: whether it asks people, and what they are told of it. */
  private written: ReadonlyArray<RunEvent> = []
  /** Collects the changes of health that a report of this run leads to. */
  private own: Array<News> | undefined

  /** Takes an event in; it is written by the next `write`. */
  private take(made: RunEvent): void {
    const event = redacted(made, this.rules)
    this.state = valid(applyEvent(this.state, event))
    this.note(event, this.state)
  }

  private note(event: RunEvent, state: Draft): void {
    this.fold.add(event)
    this.owing.add(event, state)
    this.taken.push(event)
  }

  private write(): Effect.Effect<void, Refused> {
    return Effect.suspend(() => {
      const { state, taken } = this
      if (taken.length === 0 || state === undefined) return Effect.void
      this.taken = []
      const { handled } = this
      const changes = this.listed.changes(state)
      return byReference(this.store, taken).pipe(
        Effect.flatMap((events) =>
          commit(this.journal, {
            run: this.run,
            expected: this.version,
            events: events.map(toRecord),
            ...changes,
            ...(handled.length === 0 ? {} : { handled })
          })
        ),
        Effect.flatMap((version) => {
          this.version = version
          this.written = [...this.written, ...taken]
          if (changes.listing !== undefined || changes.reviews !== undefined) this.listed = new Listed(state)
          this.handled = this.handled.slice(handled.length)
          return this.publish(taken)
        })
      )
    })
  }

  private publish(events: ReadonlyArray<RunEvent>): Effect.Effect<void> {
    if (this.onEvent === undefined) return Effect.void
    try {
      for (const event of events) this.onEvent(sealed(event))
      return Effect.void
    } catch (error) {
      this.onEvent = undefined
      return tellWarning(`Run: onEvent of ${this.run} threw and is not called again`, error)
    }
  }

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
          Effect.catchTag(this.write(), "VersionConflict", (conflict) => this.reconcile(conflict, events, at, also)),
          () => {
            this.acknowledge()
            this.begin()
          }
        )
      })
    )
  }

  private acknowledge(): void {
    if (this.askers.size === 0) return
    for (const { ack, refused } of this.acks.splice(0)) Deferred.doneUnsafe(ack, Exit.succeed(refused))
    this.askers.clear()
  }

  private decide(at: number): void {
    for (;;) {
      const actions = Decider.decide(this.known(), this.office.spec)
      if (actions.length === 0) return
      for (const action of actions) carryOut(this.hands, action, at)
    }
  }

  /** Takes one piece of news in, and what follows from it by arithmetic. */
  private receive(event: RunEvent): void {
    const asker = this.askers.get(event)
    if (asker !== undefined) {
      // A person's word can come too late; who said it is told.
      this.answer(event, asker, this.submit(event))
      return
    }
    const word = this.words.get(event)
    if (word !== undefined) return this.obey(event, word)
    if (event._tag === "HealthChanged") {
      const { health = "healthy" } = this.state?.health.get(event.worker) ?? {}
      if (health === event.health) return
    }
    if (event._tag === "Decided" || event._tag === "DecisionFailed") {
      // Who was asked may answer after nobody needs it any more.
      const refused = this.offer(bounded(this.known(), event))
      if (refused === undefined) return
      const { at, consult, subject } = event
      const note = `The answer to ${consult} is not used: ${refused}`
      return this.take({ _tag: "Noticed", at, subject, what: "late-answer", note })
    }
    if (event._tag === "Parked") return this.park(event)
    if (overtaken.has(event._tag)) return void this.offer(event)
    this.take(event)
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
    const refused = this.offer(event)
    this.underway.over(dispatch)
    if (refused === undefined) return void this.office.health.report(worker, at, "interrupted", dispatch)
    const { outcome, result } = failure("transient", refused, "cancelled")
    const note = `${dispatch} at ${worker} has stopped: ${refused}`
    const attempts = (this.known().tasks.get(task)?.attempts ?? 0) + 1
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

  /** Takes word in. What cannot be taken is told, and gone from the journal all the same. */
  private obey(event: RunEvent, word: number): void {
    this.words.delete(event)
    this.handled = [...this.handled, word]
    const refused = this.submit(event)
    // What somebody decides and does not count says so itself.
    if (refused === undefined || this.taken.at(-1)?._tag === "ReviewRefused" || this.isOver()) return
    const note = `A ${event._tag} that was left in the journal is refused: ${refused}`
    this.take({ _tag: "Noticed", at: event.at, subject: "", what: "refused-command", note })
  }

  /** What a dispatch used beyond what was set aside for it. */
  private overruns(event: Of<"Reported">): void {
    for (const overrun of this.known().overruns) {
      const { at, dispatch, task } = event
      const { account, limit, measure, settled, used } = overrun
      const note = `${dispatch} used ${used} ${measure}, more than was set aside; ${account} is closed`
      this.take({ _tag: "Overrun", at, task, dispatch, account, measure, limit, settled, note })
    }
  }

  /** A refusal is told at once, anything else when it is written. */
  private answer(event: RunEvent, asker: Deferred.Deferred<string | undefined>, refused: string | undefined): void {
    // What is written down is told when it is.
    if (refused === undefined || this.taken.at(-1)?._tag === "ReviewRefused") {
      return void this.acks.push({ ack: asker, refused })
    }
    this.askers.delete(event)
    Deferred.doneUnsafe(asker, Exit.succeed(refused))
    if (event._tag !== "EffectSettled") return
    // Whoever has to decide about it is told nevertheless.
    const { at, note, task } = event
    this.take({
      _tag: "Noticed",
      at,
      subject: task,
      what: "late-effect",
      note: `${note}, which came too late: ${refused}`
    })
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
    for (const { ack: _, command: __, eligible: _e, heard: _h, ...event } of heard) this.receive({ ...event, at })
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
      const { fold, owing, state } = yield* reread(this.journal, this.store, this.run, conflict)
      this.state = state
      this.fold = fold
      this.owing = owing
      this.version = state.version
      this.listed = new Listed(state)
      this.taken = []
      this.orders = []
      this.askings = []
      this.recalls = []
      this.acks = []
      for (const event of events) {
        const asker = this.askers.get(event)
        const refused = this.submit(event._tag === "Decided" ? bounded(this.known(), event) : event)
        if (asker !== undefined) {
          this.answer(event, asker, refused)
          continue
        }
        if (refused === undefined) {
          if (event._tag === "Reported") {
            lapse(this.hands, ({ dispatch }) => dispatch === event.dispatch, at, `${event.dispatch} is over`)
            this.overruns(event)
          }
          continue
        }
        if (overtaken.has(event._tag) || this.isOver()) continue
        const subject = "task" in event && event.task !== undefined ? event.task : ""
        this.take({ _tag: "Noticed", at, subject, what: "stale", note: `A ${event._tag} came too late: ${refused}` })
      }
      for (const event of [...this.healthNow(at), ...this.due(events, at)]) this.offer(event)
      this.decide(at)
      also?.()
      yield* Effect.catchTag(this.write(), "VersionConflict", (next) => this.reconcile(next, events, at, also))
    })
  }

  private healthNow(at: number): ReadonlyArray<RunEvent> {
    return standingNews(this.office.health.facts(), this.state?.health, at)
  }

  /** Gives an order again that was under way when the run was cut off. */
  private reattach(id: string): void {
    const task = this.known().tasks.get(id)
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
    const open = [...this.known().groups.values(), ...this.known().tasks.values()]
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
    const { looked, written } = this
    this.written = []
    this.looked = true
    if (!this.isOver()) this.seeking.look(this.known(), looked ? written : undefined)
    if (this.telling.isOpen()) this.telling.begin(this.owing.owed(), this.now())
  }

  /** The work has been cancelled and has stopped: what was reported before that counts, then the run is put down. */
  private interrupted(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.state?.status !== "running") return Effect.void
      const at = this.now()
      const events = this.dated(this.inbox.clear())
      for (const event of events) this.receive(event)
      for (const event of this.due(events, at)) this.receive(event)
      const unknown = this.outside.unknown
      const left = unknown === 0 ? "" : `; it is not known whether ${many(unknown, "effect")} has happened`
      const note = `Asked to stop, with ${many(this.state.running, "order")} under way${left}; resume to go on`
      const tasks = this.state.tasks
      const open = [...this.underway.interruptions].flatMap(([dispatch, { task, usage }]) =>
        tasks.get(task)?.dispatch?.id === dispatch ? [{ task, dispatch, usage }] : []
      )
      return Effect.map(this.suspend("asked", note, at, open), () => this.acknowledge())
    }).pipe(Effect.catch((error) => tellWarning(`Run: ${this.run} could not be left suspended`, error)))
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
  manner: Manner,
  { fold, owing, state }: Partial<Read> = {}
): Effect.Effect<Executor> =>
  Effect.flatMap(store, (store) =>
    Effect.flatMap(Redaction, (rules) =>
      Clock.clockWith((clock) =>
        Effect.sync(() => new Executor(clock, store, rules, office, journal, run, manner, state, fold, owing))
      )
    )
  )
