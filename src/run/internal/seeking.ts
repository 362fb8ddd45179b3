/**
 * Looks whether there is anybody at all who can decide a question, as far as its ladder has come: there is nobody to wait for
 * where nobody is asked.
 *
 * Where there is nobody, the next stage comes at once, and where no stage has anybody, its end. A directory that cannot say
 * is no sign of that, see `Reviewers.none`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as Reviewers from "../Reviewers.ts"
import type { RunEvent } from "../RunEvent.ts"
import type { ReviewState, RunState } from "../RunState.ts"
import { Errands } from "./errands.ts"
import type { News } from "./news.ts"
import { expiry } from "./timing.ts"

/** So many questions are looked at at once. */
const atOnce = 4

/**
 * The questions of a run that have to be looked at after an event: those with a ladder that have got other people.
 *
 * @since 0.1.0
 */
export const isAsking = ({ held, steps, terms, to }: ReviewState): boolean =>
  held !== true && to === undefined && terms !== undefined && steps.length > 0

/** Whether an event asks people who were not asked before. */
const asks = (event: RunEvent): event is Extract<RunEvent, { readonly _tag: "ReviewOpened" | "ReviewAdvanced" }> =>
  event._tag === "ReviewOpened" || (event._tag === "ReviewAdvanced" && event.what === "widened")

/** What has to be done about a question that nobody can decide. */
const found = (
  state: Pick<RunState, "desk" | "requester" | "run">,
  review: ReviewState
): Effect.Effect<News | undefined> => {
  const { requester, review: id, stage, terms, votes } = review
  if (terms === undefined) return Effect.succeed(undefined)
  const nobody = (stages: ReadonlyArray<ReadonlyArray<string>>) =>
    Reviewers.none({
      stages,
      run: state.run,
      desk: state.desk,
      risk: terms.risk,
      separation: terms.separation ?? "off",
      quorum: terms.quorum ?? 1,
      agents: terms.agents ?? false,
      editors: votes.flatMap(({ by, edits }) => (edits === undefined ? [] : [by])),
      ...(requester === undefined ? {} : { requester })
    })
  const asked = terms.stages.slice(0, stage + 1)
  return Effect.gen(function* () {
    if (!(yield* nobody(asked))) return undefined
    const last = asked.length === terms.stages.length
    const none = last || (yield* nobody(terms.stages))
    const due = Math.floor(yield* Clock.currentTimeMillis)
    if (none) {
      const { final } = terms
      const note = `There is nobody who can decide ${id}, of all who could be asked: ${expiry[final]}`
      return { _tag: "ReviewExpired", review: id, action: final, because: "no-reviewer", due, note }
    }
    const note = `There is nobody who can decide ${id} among ${asked.flat().join(", ")}: the next are asked at once`
    return { _tag: "ReviewAdvanced", review: id, what: "skipped", stage, due, note }
  })
}

/** @since 0.1.0 */
export class Seeking {
  private readonly errands: Errands
  private readonly tell: (news: News) => void
  private open = false

  /** `idle`: is called whenever there is nothing more to be done, whether or not that was news. */
  constructor(fork: (effect: Effect.Effect<void>) => void, tell: (news: News) => void, idle: () => void) {
    this.errands = new Errands(atOnce, fork, idle)
    this.tell = tell
  }

  /** Begins with whom the directory says. Where everybody may decide there is nothing to look for. */
  begin(reviewers: Reviewers.Reviewers): void {
    this.open = reviewers !== Reviewers.open
  }

  isBusy(): boolean {
    return !this.errands.isIdle()
  }

  close(): void {
    this.errands.close()
  }

  /** Looks at the questions that these events have put to others; at all that are open where no events are given. */
  look(state: RunState, events?: ReadonlyArray<RunEvent> | undefined): void {
    if (!this.open || state.reviews.size === 0) return
    const ids =
      events === undefined ? state.reviews.keys() : events.flatMap((event) => (asks(event) ? [event.review] : []))
    for (const id of new Set(ids)) {
      const review = state.reviews.get(id)
      if (review === undefined || !isAsking(review)) continue
      const told = Effect.map(found(state, review), (news) => {
        if (news !== undefined) this.tell(news)
      })
      this.errands.add(id, told)
    }
  }
}
