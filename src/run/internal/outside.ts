/**
 * What the workers of one run do outside, as its executor keeps it: what is under way here, and what the state knows.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import * as Artefacts from "../../journal/Artefacts.ts"
import type * as Journal from "../../journal/Journal.ts"
import type { JournalError } from "../../journal/Journal.ts"
import type * as Decider from "../Decider.ts"
import type { Done, Service } from "../Effects.ts"
import type { Usage } from "../Result.ts"
import type * as ReviewPolicy from "../ReviewPolicy.ts"
import type { EffectRecovery, RunEvent } from "../RunEvent.ts"
import type { EffectState, RunState } from "../RunState.ts"
import { minus, plus } from "./amounts.ts"
import { isMoot, unsettledTwin } from "./applying/effects.ts"
import { EffectError } from "./effectErrors.ts"
import { Gatekeeper } from "./gatekeeping.ts"
import { fromRecord, patience } from "./log.ts"
import type { News } from "./news.ts"
import type { Store } from "./outputs.ts"
import type { Told } from "./paying.ts"
import { type Book, type Entry, type Intent, type Known, keyOf, type Pending, perform, recall } from "./performing.ts"
import { shortened } from "./problems.ts"
import { Questions } from "./questioning.ts"
import { bytesOf } from "./showing.ts"
import type { Called } from "./tools.ts"

/** What is needed of the executor of a run. */
export interface Surroundings {
  readonly run: string
  readonly journal: Journal.Journal["Service"]
  readonly store: Store
  readonly state: () => RunState
  readonly tell: (news: News) => void
  readonly spec: Decider.Spec
  readonly policy: ReviewPolicy.ReviewPolicy
  /** Has the work of an order interrupted once it can be. */
  readonly park: (dispatch: string, questions: Questions) => void
}

/** The effects of one run that are under way in this process, or being written. */
export class Outside {
  readonly around: Surroundings
  readonly pending = new Map<string, Pending>()
  /** Effects of which the end was told, until whoever told it has heard that it is written. */
  readonly settling = new Map<string, Deferred.Deferred<string | undefined>>()

  constructor(around: Surroundings) {
    this.around = around
  }

  /** How many effects nobody knows the outcome of. */
  get unknown(): number {
    let count = 0
    for (const effect of this.around.state().effects.values()) {
      if (effect.status !== "done" && !isMoot(effect)) count += 1
    }
    return count
  }

  /** What an order does outside. */
  session(task: string, dispatch: string, worker: string): Session {
    return new Session(this, task, dispatch, worker)
  }
}

/** Bytes of JSON that arguments may take in their event: 32 KiB. */
const small = 32 * 1024

/** So much of what was done before is told. */
const mostDone = 50

/** So many notices an order may write down. */
const mostNotices = 100

const shown = (args: Schema.Json): { arguments: Schema.Json } | { largeArguments: number } | undefined => {
  if (args === null) return undefined
  const bytes = bytesOf(args)
  return bytes > small ? { largeArguments: bytes } : { arguments: args }
}

/** Passing trouble of a store is no failure of the worker that asks for what is recorded. */
const patiently = <A, E extends { readonly isRetryable: boolean }>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.retry(effect, { schedule: patience, while: ({ isRetryable }) => isRetryable })

/** The event of a version. */
const recorded = ({ journal, run }: Surroundings, version: number): Effect.Effect<RunEvent | undefined, JournalError> =>
  journal.read(run, { from: version, to: version }).pipe(
    Stream.runHead,
    patiently,
    Effect.map((found) => (Option.isNone(found) ? undefined : EffectResult.getOrUndefined(fromRecord(found.value))))
  )

/** What of an order is not known. */
export interface Doubt {
  readonly name: string
  readonly recovery: EffectRecovery
}

/** What one order does outside. */
export class Session implements Book {
  readonly run: string
  readonly task: string
  readonly pending: Map<string, Pending>
  readonly service: Service = {
    perform: (options, called) => perform(this, options, called),
    recall: (options) => recall(this, options),
    done: Effect.suspend(() => this.doneBefore())
  }
  private readonly outside: Outside
  readonly dispatch: string
  private readonly worker: string
  /** What the order had paid for before it was taken up here, and since. */
  private readonly before: Usage
  private here: Usage = {}
  private noticed = 0
  private readonly doubts = new Map<string, Doubt>()
  readonly questions: Questions
  private readonly gate: Gatekeeper
  private stuck: EffectError | undefined
  private closed = false

  constructor(outside: Outside, task: string, dispatch: string, worker: string) {
    this.outside = outside
    this.run = outside.around.run
    this.task = task
    this.dispatch = dispatch
    this.worker = worker
    this.pending = outside.pending
    const { around } = outside
    const open = around.state().tasks.get(task)?.dispatch
    this.before = (open?.id === dispatch ? open.spent : undefined) ?? {}
    this.questions = new Questions({
      task,
      dispatch,
      state: around.state,
      tell: around.tell,
      recorded: (version) => recorded(around, version),
      refusal: () => this.refusal("")?.detail,
      rest: this.rest,
      park: () => around.park(dispatch, this.questions)
    })
    this.gate = new Gatekeeper({
      run: this.run,
      task,
      dispatch,
      worker,
      state: around.state,
      tell: around.tell,
      questions: this.questions,
      spec: around.spec,
      policy: around.policy,
      refusal: (name) => this.refusal(name),
      stick: (error) => this.stick(error)
    })
    const { effects } = outside.around.state()
    if (effects.size === 0) return
    for (const [id, effect] of effects) {
      const { name, recovery, status, task: of } = effect
      if (of === task && status !== "done" && !isMoot(effect)) this.doubts.set(id, { name, recovery })
    }
  }

  /** Why the order ends, if it does for an effect that only a person can tell the outcome of. */
  get end(): EffectError | undefined {
    return this.stuck
  }

  /** The effect of the order that nobody knows the outcome of, one that only people can tell first. */
  get doubt(): Doubt | undefined {
    let first: Doubt | undefined
    for (const doubt of this.doubts.values()) {
      if (doubt.recovery === "person") return doubt
      first ??= doubt
    }
    return first
  }

  /** What a person did not let be done, last. */
  get rejection(): EffectError | undefined {
    return this.gate.rejection
  }

  earlier(intent: Intent): Intent {
    if (intent.per === undefined || isMoot(intent)) return intent
    const { arguments: args, name, occurrence } = intent
    for (const [effect, { digest, dispatch, name: its, per, task }] of this.outside.around.state().effects) {
      if (per === undefined || task !== this.task || its !== name || dispatch === this.dispatch) continue
      if (keyOf(this.run, task, name, args, occurrence, dispatch) === effect) {
        return { ...intent, effect, digest, per: dispatch }
      }
    }
    return intent
  }

  pass(intent: Intent, called: Called): Effect.Effect<Intent, EffectError> {
    return this.gate.pass(intent, called)
  }

  holds(grant: string): boolean {
    return this.outside.around.state().grants.has(grant)
  }

  /** The order is over: nothing more is begun for it. */
  close(): void {
    this.closed = true
  }

  /** What the order was paid for call by call, in all its lives. */
  get spent(): Usage {
    return plus(this.before, this.here)
  }

  /** What of its calls was not paid for one by one. */
  beside(calls: Usage): Usage {
    return minus(calls, this.here)
  }

  /** Writes down what was paid for. */
  readonly paid = (told: Told): void => {
    const { dispatch, task, worker } = this
    this.here = plus(this.here, told.usage)
    this.outside.around.tell({ _tag: "Spent", task, dispatch, worker, ...told })
  }

  /** Writes down what the work has to say, as far as there is room for it. */
  readonly notice = (what: string, note: string): Effect.Effect<void> =>
    Effect.sync(() => {
      this.noticed += 1
      if (this.noticed > mostNotices) return
      const last = this.noticed === mostNotices ? "; what else it has to say is not recorded" : ""
      const said = { what: shortened(what, 100), note: `${this.dispatch}: ${shortened(note, 500)}${last}` }
      this.outside.around.tell({ _tag: "Noticed", subject: this.task, ...said })
    })

  /** The work, and then the effects that it has left behind: nobody reports before they are over. */
  readonly whole = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.matchCauseEffect(work, {
      onFailure: (cause) => Effect.andThen(this.rest, Effect.failCause(cause)),
      onSuccess: (value) => Effect.as(this.rest, value)
    })

  private readonly rest: Effect.Effect<void> = Effect.suspend(() => {
    for (const { over, owner } of this.pending.values()) {
      if (owner === this) return Effect.andThen(Deferred.await(over), this.rest)
    }
    return Effect.void
  })

  refusal(name: string): EffectError | undefined {
    if (this.stuck !== undefined) {
      if (this.stuck.effect === name) return this.stuck
      const reason = this.stuck.reason === "unknown" ? "unknown" : "refused"
      return new EffectError({ effect: name, reason, detail: this.stuck.message })
    }
    return this.closed
      ? new EffectError({ effect: name, reason: "refused", detail: `${this.dispatch} is over` })
      : undefined
  }

  stick(error: EffectError): void {
    this.stuck = error
  }

  look(intent: Intent): Known {
    const { around, settling } = this.outside
    const { effects } = around.state()
    const mine = this.waiting(intent.effect)
    if (mine !== undefined) return mine
    const known = effects.get(intent.effect)
    if (known !== undefined) return this.standing(intent, known)
    if (effects.size === 0 && settling.size === 0) return { _tag: "New" }
    const twin = unsettledTwin({ effects }, intent)
    const other = twin === undefined ? undefined : effects.get(twin)
    if (twin === undefined || other === undefined) return { _tag: "New" }
    const whose = other.task === this.task ? "the same effect" : `the same effect of ${other.task}`
    const why = `${whose} was begun before, and nobody knows whether it has happened`
    if (other.status === "intended" && other.recovery !== "person") return this.waiting(twin) ?? { _tag: "Busy", why }
    return this.waiting(twin) ?? { _tag: "Held", effect: twin, happened: other.happened, why }
  }

  private waiting(effect: string): Known | undefined {
    const ack = this.outside.settling.get(effect)
    if (ack === undefined) return undefined
    if (!Deferred.isDoneUnsafe(ack)) return { _tag: "Wait", until: Deferred.await(ack) }
    this.outside.settling.delete(effect)
    return undefined
  }

  private standing({ effect, name }: Intent, { happened, status, version }: EffectState): Known {
    switch (status) {
      case "done":
        return { _tag: "Done", value: this.read(name, version) }
      case "quarantined":
        return { _tag: "Held", effect, happened, why: "a person has to tell what became of it" }
      case "intended":
        return { _tag: "Unknown" }
    }
  }

  private doneBefore(): Effect.Effect<ReadonlyArray<Done>, EffectError> {
    const { around } = this.outside
    const known = [...around.state().effects.values()].filter(
      ({ dispatch, per, status, task }) =>
        task === this.task && status === "done" && per === undefined && dispatch !== this.dispatch
    )
    return Effect.forEach(known.slice(-mostDone), ({ intended, name, version }) =>
      Effect.gen({ self: this }, function* () {
        const busy = ({ message }: JournalError) =>
          new EffectError({ effect: name, reason: "busy", detail: `what is recorded of it cannot be read: ${message}` })
        const event = intended === undefined ? undefined : yield* Effect.mapError(recorded(around, intended), busy)
        const args = event?._tag === "EffectIntended" ? event.arguments : undefined
        const value = yield* this.read(name, version)
        return { name, ...(args === undefined ? {} : { arguments: args }), ...(value === undefined ? {} : { value }) }
      })
    )
  }

  /** What came of an effect, from the event that says it. */
  private read(name: string, version: number): Effect.Effect<Schema.Json | undefined, EffectError> {
    const { around } = this.outside
    const { store } = around
    const busy = (detail: string) => new EffectError({ effect: name, reason: "busy", detail })
    return recorded(around, version).pipe(
      Effect.mapError(({ message }) => busy(`what is recorded of it cannot be read: ${message}`)),
      Effect.flatMap((event): Effect.Effect<Schema.Json | undefined, EffectError> => {
        if (event?._tag === "ReviewDecided") return Effect.succeed(event.answer)
        if (event?._tag !== "EffectSettled") return Effect.fail(busy(`there is no record of it at version ${version}`))
        const { value, valueRef } = event
        if (valueRef === undefined) return Effect.succeed(value)
        if (Option.isNone(store)) return Effect.fail(busy("there is no store of artefacts to read its value from"))
        return Artefacts.getJson(valueRef).pipe(
          Effect.provideService(Artefacts.Artefacts, store.value),
          patiently,
          Effect.mapError(({ message }) => busy(`its value cannot be read: ${message}`))
        )
      })
    )
  }

  tell(intent: Intent, entry: Entry): Deferred.Deferred<string | undefined> {
    const ack = Deferred.makeUnsafe<string | undefined>()
    const { effect, name } = intent
    switch (entry._tag) {
      case "Intended": {
        if (!isMoot(intent)) this.doubts.set(effect, { name, recovery: intent.recovery })
        break
      }
      case "Settled": {
        this.doubts.delete(effect)
        this.outside.settling.set(effect, ack)
        break
      }
    }
    this.outside.around.tell({ ...this.newsOf(intent, entry), ack })
    return ack
  }

  private newsOf(intent: Intent, entry: Entry): News {
    const { dispatch, task } = this
    const { digest, effect, name, occurrence, per, recovery } = intent
    switch (entry._tag) {
      case "Intended": {
        const note = `${dispatch} is about to do ${name}${occurrence === 0 ? "" : ` (occurrence ${occurrence})`}`
        const args = shown(intent.arguments)
        const grant = intent.grant === undefined ? {} : { grant: intent.grant }
        const own = per === undefined ? {} : { per: "dispatch" as const }
        const what = { effect, name, digest, occurrence, recovery, ...own, ...grant }
        return { _tag: "EffectIntended", task, dispatch, ...what, ...args, note }
      }
      case "Settled": {
        const { by, outcome, value, why } = entry
        const note =
          outcome === "failed"
            ? `${name} of ${dispatch} has not happened: ${why}`
            : `${name} of ${dispatch} has happened${by === "probe" ? ", as was found out by asking" : ""}`
        const came = value === undefined ? {} : { value }
        return { _tag: "EffectSettled", task, effect, outcome, by, ...came, note }
      }
      case "Quarantined": {
        const note = `${dispatch} cannot do ${name}: ${entry.why}`
        return { _tag: "EffectQuarantined", task, effect: entry.effect, happened: entry.happened, note }
      }
    }
  }

  written({ effect }: Intent): void {
    this.outside.settling.delete(effect)
  }
}
