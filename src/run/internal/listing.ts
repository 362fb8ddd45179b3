/**
 * What the lists of a journal say about a run: a row that follows from its state, and its open reviews.
 *
 * **Invariants**
 *
 * - L1. A run that is over has no open reviews in the lists.
 * - L2. Nothing is given when nothing has changed: then a step costs no more than its events.
 *
 * @since 0.1.0
 */
import type * as Journal from "../../journal/Journal.ts"
import { isFinished, type ReviewState, type RunState } from "../RunState.ts"
import { wakeAt } from "./applying/timers.ts"

/** The row of a run. */
export const listingOf = (state: RunState): Journal.Listing => {
  const { desk, startedAt, status, stopReason, suspended } = state
  const reason = suspended ?? stopReason
  // Whoever carries a run out looks at the clock itself; only one that waits has to be woken.
  const wake = status === "waiting" ? wakeAt(state) : undefined
  return {
    status,
    desk,
    startedAt,
    ...(wake === undefined ? {} : { wakeAt: Math.ceil(wake) }),
    ...(reason === undefined ? {} : { reason })
  }
}

const openReview = ({ at, kind, review, task }: ReviewState): Journal.OpenReview => ({
  review,
  kind,
  ...(task === undefined ? {} : { task }),
  openedAt: at
})

/** The reviews that people can decide. L1 */
export const openReviews = ({
  reviews,
  status
}: Pick<RunState, "reviews" | "status">): ReadonlyArray<Journal.OpenReview> =>
  isFinished(status) ? [] : Array.from(reviews.values(), openReview)

/** What the lists have of a run, so that only changes are given to them. */
export class Listed {
  private row: string
  private reviews: ReadonlySet<string>

  /** As the lists have it: a run is listed after each of its commits. */
  constructor(state: RunState | undefined) {
    this.row = state === undefined ? "" : JSON.stringify(listingOf(state))
    this.reviews = new Set(state === undefined ? [] : openReviews(state).map(({ review }) => review))
  }

  /** What has to be given with the next commit. L2 */
  changes(state: RunState): Pick<Journal.Append, "listing" | "reviews"> {
    const listing = listingOf(state)
    return {
      ...(JSON.stringify(listing) === this.row ? {} : { listing }),
      ...(this.reviews.size === 0 && state.reviews.size === 0 ? {} : this.reviewsOf(state))
    }
  }

  private reviewsOf(state: RunState): Pick<Journal.Append, "reviews"> {
    const open = openReviews(state)
    const opened = open.filter(({ review }) => !this.reviews.has(review))
    const stay = new Set(open.map(({ review }) => review))
    const closed = [...this.reviews].filter((review) => !stay.has(review))
    return opened.length + closed.length === 0 ? {} : { reviews: { opened, closed } }
  }
}
