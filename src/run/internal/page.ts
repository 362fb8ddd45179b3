/**
 * One run as its executor knows it: its state, what was taken in, and what of it is written.
 *
 * What is taken in changes the state at once and is written by the next {@link Page.write}, in one commit.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import { heard } from "../../internal/heard.ts"
import { tellWarning } from "../../internal/telling.ts"
import type * as Journal from "../../journal/Journal.ts"
import type { Redaction } from "../../Redaction.ts"
import type * as Budget from "../Budget.ts"
import type * as Outcome from "../Outcome.ts"
import type { RunEvent } from "../RunEvent.ts"
import { isFinished, type RunState } from "../RunState.ts"
import { applyEvent, applySaid, type Draft } from "./apply.ts"
import { Listed } from "./listing.ts"
import { commit, toRecord } from "./log.ts"
import type { Observing } from "./observing.ts"
import { byReference, type Store } from "./outputs.ts"
import type { Owing } from "./owing.ts"
import { frozen, sealed } from "./plain.ts"
import type { Read } from "./reading.ts"
import { redacted } from "./redacting.ts"

type Refused = Journal.VersionConflict | Journal.JournalError

/** What the executor makes itself is always valid. */
const valid = (next: Draft | string): Draft => {
  if (typeof next === "string") throw new Error(`Run: an event that cannot happen: ${next}`)
  return next
}

/** Where a run is written. `onEvent`: see `Run.Watching`; `observing`: who else sees it. */
export interface Place {
  readonly run: string
  readonly journal: Journal.Journal["Service"]
  readonly store: Store
  readonly rules: Redaction
  readonly onEvent: ((event: RunEvent) => void) | undefined
  readonly observing: Observing
}

/** @since 0.1.0 */
export class Page {
  readonly place: Place
  state: Draft | undefined
  fold: Outcome.Fold
  owing: Owing
  private onEvent: Place["onEvent"]
  /** What the journal has; the state may be ahead of it inside a step. */
  private version: number
  private listed: Listed
  private taken: Array<RunEvent> = []
  /** Word that was taken in with what is not written yet. */
  private handled: ReadonlyArray<number> = []
  private written: ReadonlyArray<RunEvent> = []

  constructor(place: Place, { fold, owing, state }: Omit<Read, "state"> & { readonly state: Draft | undefined }) {
    this.place = place
    this.onEvent = place.onEvent
    this.state = state
    this.fold = fold
    this.owing = owing
    this.version = state?.version ?? 0
    this.listed = new Listed(state)
  }

  known(): Draft {
    if (this.state === undefined) throw new Error("Run: a decision before the first event")
    return this.state
  }

  isOver(): boolean {
    return this.state !== undefined && isFinished(this.state.status)
  }

  /** Takes an event that may be refused; the reason when it was. */
  offer(made: RunEvent): string | undefined {
    const event = redacted(made, this.place.rules)
    const next = applySaid(this.state, event)
    if (typeof next === "string") return next
    this.note(event, next)
    return undefined
  }

  /** Takes an event in; it is written by the next `write`. */
  take(made: RunEvent): void {
    const event = redacted(made, this.place.rules)
    this.note(event, valid(applyEvent(this.state, event)))
  }

  private note(event: RunEvent, state: Draft): void {
    this.state = state
    this.fold.add(event)
    this.owing.add(event, state)
    this.taken.push(event)
  }

  /** What was taken in last and is not written. */
  get last(): RunEvent | undefined {
    return this.taken.at(-1)
  }

  /** Word that goes from the journal with what is written next. */
  handle(word: number): void {
    this.handled = [...this.handled, word]
  }

  /** What was written since this was asked last. */
  news(): ReadonlyArray<RunEvent> {
    const { written } = this
    this.written = []
    return written
  }

  /** Goes on from what the journal has; what was not written is forgotten. */
  replace({ fold, owing, state }: Read): void {
    this.state = state
    this.fold = fold
    this.owing = owing
    this.version = state.version
    this.listed = new Listed(state)
    this.taken = []
  }

  outcome(): Outcome.Outcome {
    const outcome = this.fold.outcome(this.state)
    if (outcome === undefined) throw new Error("Run: an outcome before the first event")
    return outcome
  }

  /** Writes what was taken in, in one commit, and tells whoever watches. */
  write(): Effect.Effect<void, Refused> {
    return Effect.suspend(() => {
      const { state, taken } = this
      if (taken.length === 0 || state === undefined) return Effect.void
      this.taken = []
      const { handled } = this
      const changes = this.listed.changes(state)
      return byReference(this.place.store, taken).pipe(
        Effect.flatMap((events) =>
          commit(this.place.journal, {
            run: this.place.run,
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
          return this.publish(taken, state)
        })
      )
    })
  }

  private publish(events: ReadonlyArray<RunEvent>, { ledger }: RunState): Effect.Effect<void> {
    // What somebody is shown is a copy.
    const account = (name: string) => frozen(ledger.accounts.get(name)) as Budget.Account | undefined
    this.place.observing.happened(events, { account })
    if (this.onEvent === undefined) return Effect.void
    return Effect.contextWith((context: Context.Context<never>) => {
      try {
        for (const event of events) {
          heard(this.onEvent?.(sealed(event)), (error) => Effect.runSyncExitWith(context)(this.unheeded(error)))
        }
        return Effect.void
      } catch (error) {
        return this.unheeded(error)
      }
    })
  }

  private unheeded(error: unknown): Effect.Effect<void> {
    if (this.onEvent === undefined) return Effect.void
    this.onEvent = undefined
    return tellWarning(`Run: onEvent of ${this.place.run} threw and is not called again`, error)
  }
}
