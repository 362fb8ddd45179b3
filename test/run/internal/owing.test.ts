import { assert, describe, it } from "@effect/vitest"
import { type RunEvent, RunState } from "espalier/run"

import { most, owing } from "../../../src/run/internal/owing.ts"
import { isDue, type Sent } from "../../../src/run/internal/telling.ts"
import { get, started } from "../simulate.ts"

const id = (n: number) => `r1/review/${n}`

type Event = RunEvent.RunEvent

const opened = (n: number, at = 0, fields: Partial<RunEvent.Of<"ReviewOpened">> = {}): Event => ({
  _tag: "ReviewOpened",
  at,
  review: id(n),
  kind: "action-approval",
  reason: "autonomy",
  task: `t${n}`,
  allowed: ["approve", "reject"],
  terms: {
    policy: { version: "1", rule: "high" },
    risk: "high",
    stages: [["group:release"], ["user:ada"]],
    final: "reject"
  },
  steps: [
    { at: 10, what: "remind", stage: 0 },
    { at: 20, what: "widen", stage: 1 },
    { at: 30, what: "expire", stage: 1 }
  ],
  facts: {},
  note: "",
  ...fields
})
const reminded = (n: number): Event => ({
  _tag: "ReviewAdvanced",
  at: 10,
  review: id(n),
  what: "reminded",
  stage: 0,
  due: 10,
  note: ""
})
const widened = (n: number): Event => ({
  _tag: "ReviewAdvanced",
  at: 20,
  review: id(n),
  what: "widened",
  stage: 1,
  due: 20,
  note: ""
})
const skipped = (n: number): Event => ({
  _tag: "ReviewAdvanced",
  at: 5,
  review: id(n),
  what: "skipped",
  stage: 0,
  due: 5,
  note: ""
})
const decided = (n: number, decision: RunEvent.Decision = "approve"): Event => ({
  _tag: "ReviewDecided",
  at: 25,
  review: id(n),
  decision,
  by: "ada",
  note: ""
})
const expired = (n: number, action: RunEvent.FinalAction = "reject"): Event => ({
  _tag: "ReviewExpired",
  at: 30,
  review: id(n),
  action,
  because: "deadline",
  due: 30,
  note: ""
})
const withdrawn = (n: number): Event => ({ _tag: "ReviewWithdrawn", at: 26, review: id(n), note: "" })
const reassigned = (n: number): Event => ({
  _tag: "ReviewChanged",
  at: 7,
  review: id(n),
  by: "ada",
  what: "reassigned",
  to: ["user:bob"],
  note: ""
})
const claimed = (n: number): Event => ({
  _tag: "ReviewChanged",
  at: 7,
  review: id(n),
  by: "ada",
  what: "claimed",
  until: 9,
  note: ""
})
const stalled = (n: number, what: "stalled" | "lapsed" = "stalled"): Event => ({
  _tag: "GrantStalled",
  at: 600_000,
  review: id(n),
  task: `t${n}`,
  what,
  due: 600_000,
  note: ""
})
const refused = (n: number, because: RunEvent.RefusedBecause): Event => ({
  _tag: "ReviewRefused",
  at: 40,
  review: id(n),
  decision: "reject",
  by: "eve",
  because,
  note: ""
})

/** What is owed after these events, with the state that each of them leads to. */
const after = (events: ReadonlyArray<Event>) => {
  const fold = owing()
  let state: RunState.RunState | undefined
  for (const event of [started([{ id: "t1" }, { id: "t2" }, { id: "t3" }]), ...events]) {
    state = get(RunState.evolve(state, event))
    fold.add(event, state)
  }
  return fold
}

const owed = (events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  after(events)
    .owed()
    .map(({ notice }) => `${notice.what} ${notice.review.slice(-1)}`)

const notified = (
  events: ReadonlyArray<Event>,
  what: string,
  channels: RunEvent.Of<"Notified">["channels"] = [{ channel: "chat", ok: true, attempts: 1 }]
): Event => {
  const notice = after(events)
    .owed()
    .find((each) => each.notice.what === what)?.notice
  return {
    _tag: "Notified",
    at: 50,
    review: notice?.review ?? "",
    notice: notice?.id ?? "none",
    what,
    ok: channels.every(({ ok }) => ok),
    channels,
    note: ""
  }
}

describe("What people are to be told", () => {
  const one = opened(1)
  const table: ReadonlyArray<readonly [what: string, events: ReadonlyArray<Event>, owed: ReadonlyArray<string>]> = [
    ["nothing of a run that asks nothing", [], []],
    ["that they are asked", [one], ["created 1"]],
    ["that they still are", [one, reminded(1)], ["created 1", "reminder 1"]],
    ["that others are asked, too", [one, reminded(1), widened(1)], ["created 1", "reminder 1", "stage-changed 1"]],
    ["that others are asked instead", [one, reassigned(1)], ["created 1", "stage-changed 1"]],
    ["nothing of somebody who takes care of it", [one, claimed(1)], ["created 1"]],
    ["nothing of a stage that has nobody, but of the next one", [one, skipped(1)], ["created 1"]],
    ["that it is decided, and not that it is asked", [one, reminded(1), decided(1)], ["decided 1"]],
    ["that it has expired", [one, reminded(1), widened(1), expired(1)], ["expired 1"]],
    [
      "that it has expired and is open still",
      [one, reminded(1), widened(1), expired(1, "hold")],
      ["created 1", "reminder 1", "stage-changed 1", "expired 1"]
    ],
    ["that it is withdrawn", [one, withdrawn(1)], ["withdrawn 1"]],
    ["that an approval is not used", [one, decided(1), stalled(1)], ["decided 1", "grant-stalled 1"]],
    ["that somebody came too late", [one, decided(1), refused(1, "already-decided")], ["decided 1", "late-attempt 1"]],
    [
      "each time that somebody did",
      [one, withdrawn(1), refused(1, "withdrawn"), refused(1, "withdrawn")],
      ["withdrawn 1", "late-attempt 1", "late-attempt 1"]
    ],
    ["nothing of somebody who may not", [one, refused(1, "not-a-reviewer")], ["created 1"]],
    ["of each question", [one, opened(2), decided(1)], ["created 2", "decided 1"]]
  ]
  for (const [what, events, expected] of table) {
    it(`R-306 ${what}`, () => assert.deepStrictEqual(owed(events), expected))
  }

  it("R-306 that another question has taken the place of one", () => {
    const asked = { task: "t1", dispatch: "r1/t1/1", key: "k" }
    const dispatched: Event = {
      _tag: "Dispatched",
      at: 0,
      task: "t1",
      dispatch: "r1/t1/1",
      worker: "w",
      contract: 1,
      note: ""
    }
    const routed: Event = { _tag: "Routed", at: 0, task: "t1", worker: "w", candidates: [], note: "" }
    const events = [routed, dispatched, opened(1, 0, asked), opened(2, 1, { ...asked, supersedes: id(1) })]
    assert.deepStrictEqual(owed(events), ["superseded 1", "created 2"])
  })

  it("R-306 what was told is not owed any more, and nothing else is settled by it", () => {
    const events = [one, opened(2)]
    assert.deepStrictEqual(owed([...events, notified([one], "created")]), ["created 2"])
    assert.deepStrictEqual(owed([...events, notified([], "created")]), ["created 1", "created 2"])
  })

  it("R-306 what has failed is owed on the channels that it has not reached, and given up in the end", () => {
    const failed = notified([one], "created", [
      { channel: "log", ok: true, attempts: 1 },
      { channel: "chat", ok: false, attempts: 3 }
    ])
    const [left] = after([one, failed]).owed()
    assert.deepStrictEqual([left?.failed, left?.written, [...(left?.reached ?? [])]], [1, 1, ["log"]])
    const times = (n: number) => [one, ...Array.from({ length: n }, () => failed)]
    assert.deepStrictEqual(owed(times(most - 1)), ["created 1"])
    assert.deepStrictEqual(owed(times(most)), [])
  })

  it("R-306 what was only held back has not failed", () => {
    const held = notified([one], "created", [
      { channel: "log", ok: true, attempts: 1 },
      { channel: "chat", ok: false, attempts: 0 }
    ])
    assert.deepStrictEqual(owed([one, ...Array.from({ length: 2 * most }, () => held)]), ["created 1"])
  })

  it("R-306 says who is asked, what is at stake and what comes next", () => {
    const { notice } = after([one, reminded(1), widened(1)])
      .owed()
      .at(-1)!
    assert.deepStrictEqual(
      { ...notice, id: "", summary: "" },
      {
        id: "",
        run: "r1",
        review: id(1),
        desk: "desk",
        what: "stage-changed",
        kind: "action-approval",
        at: 20,
        due: 30,
        risk: "high",
        task: "t1",
        to: ["group:release", "user:ada"],
        summary: ""
      }
    )
    const late = after([one, decided(1), refused(1, "already-decided")])
      .owed()
      .at(-1)!.notice
    assert.deepStrictEqual([late.to, late.due, late.risk], [["group:release"], undefined, "high"])
  })

  it("R-306 asks nobody any more when the run is over", () => {
    const over: Event = {
      _tag: "RunFinished",
      at: 60,
      status: "cancelled",
      stopReason: "stop-requested",
      degraded: false,
      note: ""
    }
    assert.deepStrictEqual(owed([one, opened(2), decided(2), over]), ["decided 2"])
  })

  it("R-306 is the same whenever the events are folded, and the ids with it", () => {
    const all: ReadonlyArray<Event> = [one, opened(2), reminded(1), decided(1), refused(1, "already-decided")]
    const ids = (events: ReadonlyArray<Event>) =>
      after(events)
        .owed()
        .map(({ notice }) => notice.id)
    for (let length = 0; length <= all.length; length++) {
      const events = all.slice(0, length)
      assert.deepStrictEqual(ids(events), ids(events))
      assert.strictEqual(new Set(ids(events)).size, owed(events).length)
    }
  })
})

describe("Whether a notice is sent", () => {
  const sent = (fields: Partial<Sent>): Sent => ({ under: "writing", written: 0, since: 5, ...fields })
  const table: ReadonlyArray<
    readonly [what: string, owed: { since: number; written: number }, before: Sent | undefined, due: boolean]
  > = [
    ["at first", { since: 5, written: 0 }, undefined, true],
    ["not while it is sent", { since: 6, written: 1 }, sent({ under: "sending" }), false],
    ["not while what came of it is written", { since: 6, written: 0 }, sent({}), false],
    ["not once it has failed, for now", { since: 5, written: 1 }, sent({}), false],
    ["with the next thing that is told", { since: 6, written: 1 }, sent({}), true],
    [
      "not before the time that it is held back for",
      { since: 6, written: 0 },
      sent({ under: "holding", until: 101 }),
      false
    ],
    ["when that is over", { since: 5, written: 0 }, sent({ under: "holding", until: 100 }), true]
  ]
  for (const [what, notice, before, due] of table) {
    it(`R-306 ${what}`, () => assert.strictEqual(isDue(notice, before, 100), due))
  }
})
