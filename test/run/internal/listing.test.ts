import { assert, describe, it } from "@effect/vitest"
import { type RunEvent, RunState } from "espalier/run"

import { Listed, listingOf, openReviews } from "../../../src/run/internal/listing.ts"
import { get, started } from "../simulate.ts"

const opened = (n: number, task = "a"): RunEvent.RunEvent => ({
  _tag: "ReviewOpened",
  at: n,
  review: `r1/review/${n}`,
  task,
  kind: "escalation",
  reason: "denied",
  allowed: ["retry", "reject"],
  facts: {},
  note: "Asked"
})

const decided = (n: number): RunEvent.RunEvent => ({
  _tag: "ReviewDecided",
  at: 10 + n,
  review: `r1/review/${n}`,
  decision: "reject",
  by: "ada",
  note: "No"
})

const begun: RunEvent.RunEvent = started([{ id: "a" }, { id: "b" }])

const after = (...events: ReadonlyArray<RunEvent.RunEvent>): RunState.RunState =>
  get(RunState.fold([begun, ...events])) ?? assert.fail("no events")

const review = (n: number, task = "a") => ({ review: `r1/review/${n}`, kind: "escalation", task, openedAt: n })

const waiting = (wakes: number | undefined): RunState.RunState => {
  const state = after(opened(1))
  const timers = wakes === undefined ? [] : [{ id: "r1/timer/1", subject: "", due: wakes }]
  return { ...state, status: "waiting", timers: timers as unknown as RunState.RunState["timers"] }
}

describe("listingOf", () => {
  it("is what the run is, when it wants to be woken, and why it stands still", () => {
    const row = { status: "running", desk: "desk", startedAt: 0 }
    assert.deepStrictEqual(listingOf(after()), row)
    assert.deepStrictEqual(listingOf(waiting(undefined)), { ...row, status: "waiting" })
    assert.deepStrictEqual(listingOf(waiting(4.2)), { ...row, status: "waiting", wakeAt: 5 })
    // Whoever carries a run out looks at the clock itself.
    assert.deepStrictEqual(listingOf({ ...waiting(4), status: "running" }), row)
    const suspended = after({ _tag: "RunSuspended", at: 1, reason: "asked", note: "Stop" })
    assert.deepStrictEqual(listingOf(suspended), { ...row, status: "suspended", reason: "asked" })
  })
})

describe("Listed", () => {
  it("L2 gives nothing when nothing has changed", () => {
    assert.deepStrictEqual(new Listed(after()).changes(after()), {})
    const one = after(opened(1))
    assert.deepStrictEqual(new Listed(one).changes(one), {})
    // An event that the lists do not show.
    const noticed = after(opened(1), { _tag: "Noticed", at: 3, subject: "", what: "stale", note: "n" })
    assert.deepStrictEqual(new Listed(one).changes(noticed), {})
    assert.deepStrictEqual(new Listed(waiting(4.2)).changes(waiting(4.9)), {})
  })

  it("gives a run that is new its row and its reviews", () => {
    const state = after(opened(1))
    assert.deepStrictEqual(new Listed(undefined).changes(state), {
      listing: listingOf(state),
      reviews: { opened: [review(1)], closed: [] }
    })
    assert.deepStrictEqual(new Listed(undefined).changes(after()), { listing: listingOf(after()) })
  })

  it("gives the row when the state, the reason or the time to be woken changes", () => {
    const suspended = after({ _tag: "RunSuspended", at: 1, reason: "asked", note: "Stop" })
    assert.deepStrictEqual(new Listed(after()).changes(suspended), { listing: listingOf(suspended) })
    assert.deepStrictEqual(new Listed(waiting(4)).changes(waiting(5)), { listing: listingOf(waiting(5)) })
    assert.deepStrictEqual(new Listed(waiting(4)).changes(waiting(undefined)), {
      listing: listingOf(waiting(undefined))
    })
  })

  it("gives exactly the reviews that were opened or are over", () => {
    const one = after(opened(1))
    const two = after(opened(1), opened(2, "b"))
    const other = after(opened(1), opened(2, "b"), decided(1))
    assert.deepStrictEqual(new Listed(one).changes(two).reviews, { opened: [review(2, "b")], closed: [] })
    assert.deepStrictEqual(new Listed(two).changes(other).reviews, { opened: [], closed: ["r1/review/1"] })
    assert.deepStrictEqual(new Listed(one).changes(other).reviews, {
      opened: [review(2, "b")],
      closed: ["r1/review/1"]
    })
  })

  it("L1 a run that is over has none, whatever was open", () => {
    const open = after(opened(1), opened(2, "b"))
    const over: RunState.RunState = { ...open, status: "cancelled" }
    assert.deepStrictEqual(openReviews(over), [])
    assert.deepStrictEqual(new Listed(open).changes(over), {
      listing: listingOf(over),
      reviews: { opened: [], closed: ["r1/review/1", "r1/review/2"] }
    })
    assert.deepStrictEqual(new Listed(over).changes(over), {})
  })
})
