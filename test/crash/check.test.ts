import { assert, describe, it } from "@effect/vitest"
import type { Journal } from "espalier/journal"

import { check, compare, decisions, type End, type Seen } from "./check.ts"
import type { Line } from "./outside.ts"
import { digestOf } from "./seams.ts"

const event = (version: number, type: string, data: Readonly<Record<string, string>>): Journal.Recorded => ({
  version,
  type,
  at: version * 10,
  data: { note: `${type} ${version}`, ...data },
  hash: ""
})

const started = event(1, "RunStarted", {})
const ordered = event(2, "Dispatched", { task: "one", dispatch: "a/one/1" })
const intended = event(3, "EffectIntended", { task: "one", effect: "k1" })
const ended = event(4, "TaskEnded", { task: "one" })
const history = [started, ordered, intended, ended]

const committed = (recorded: Journal.Recorded, life = 0): Line => ({
  _tag: "Committed",
  life,
  run: "a",
  version: recorded.version,
  digest: digestOf(recorded)
})
const published = ({ at, type, version }: Journal.Recorded, life = 0): Line => ({
  _tag: "Published",
  life,
  run: "a",
  what: `${type} ${at} ${type} ${version}`
})
const life = (life: number, a: number): Line => ({ _tag: "Life", life, versions: { a } })
const begun = (life: number, dispatch = "a/one/1"): Line => ({ _tag: "Begun", life, run: "a", task: "one", dispatch })
const done = (life: number, key = "k1"): Line => ({ _tag: "Done", life, run: "a", task: "one", key })

/** A run that was cut off with an order under way, and done at the second try. */
const lines: ReadonlyArray<Line> = [
  life(0, 0),
  committed(started),
  committed(ordered),
  published(started),
  published(ordered),
  begun(0),
  committed(intended),
  published(intended),
  done(0),
  life(1, 3),
  begun(1),
  committed(ended, 1),
  published(ended, 1)
]

const seen = (
  changes: Partial<{ lines: ReadonlyArray<Line>; history: ReadonlyArray<Journal.Recorded> }> = {}
): Seen => ({
  lines: changes.lines ?? lines,
  histories: new Map([["a", changes.history ?? history]])
})

const found = (seen: Seen): ReadonlyArray<string> => check(seen).map(({ kind, what }) => `${kind}: ${what}`)

describe("R-302 what is looked at after a kill", () => {
  it("finds nothing where an order under way was given again", () => {
    assert.deepStrictEqual(found(seen()), [])
  })

  it("finds an acknowledged event that is gone, at the end and in the middle", () => {
    assert.deepStrictEqual(found(seen({ history: [started, ordered, intended] })), [
      "lost: event 4 of a, acknowledged in life 1, is gone",
      'lost: life 1 told of "TaskEnded 40 TaskEnded 4" of a, which is not its event 4'
    ])
    const gap = found(seen({ history: [started, intended, ended] }))
    assert.include(gap, "lost: a has version 3 in place 2")
    assert.include(gap, "lost: event 2 of a, acknowledged in life 0, is another one: EffectIntended")
  })

  it("finds an acknowledged event that was changed", () => {
    const changed = { ...ordered, data: { ...(ordered.data as object), worker: "another" } }
    assert.deepStrictEqual(found(seen({ history: [started, changed, intended, ended] })), [
      "lost: event 2 of a, acknowledged in life 0, is another one: Dispatched"
    ])
  })

  it("finds a place that was acknowledged twice", () => {
    const twice = [...lines, { ...committed(ended), version: 2 } as Line]
    assert.include(
      found(seen({ lines: twice })),
      "lost: event 2 of a, acknowledged in life 0, had been acknowledged as another one"
    )
  })

  it("finds an event that was told of in another order than it is in", () => {
    const order = lines.map((line) =>
      line._tag === "Published" && line.what.includes(" 1") ? published(ordered) : line
    )
    assert.deepStrictEqual(found(seen({ lines: order })), [
      'lost: life 0 told of "Dispatched 20 Dispatched 2" of a, which is not its event 1'
    ])
  })

  it("finds a finished task that is begun again", () => {
    assert.deepStrictEqual(found(seen({ lines: [...lines, life(2, 4), begun(2)] })), [
      "repeated: one of a had ended at version 4, and life 2 began a/one/1 again"
    ])
  })

  it("D57 finds work that begins before its order is written down, or without one", () => {
    const early = [life(0, 0), committed(started), begun(0), committed(ordered)]
    assert.deepStrictEqual(found(seen({ lines: early })), [
      "lost: a/one/1 was begun in life 0 before version 2, which says so, was written down"
    ])
    assert.deepStrictEqual(found(seen({ lines: [...lines, begun(1, "a/two/1")] })), [
      "lost: a/two/1 was begun in life 1 and is not in the journal"
    ])
  })

  it("D57 finds an effect that happens before its intent is written down, or without one", () => {
    const early = [life(0, 0), committed(started), committed(ordered), begun(0), done(0), committed(intended)]
    assert.deepStrictEqual(found(seen({ lines: early })), [
      "lost: the effect k1 of one was begun in life 0 before version 3, which says so, was written down"
    ])
    assert.deepStrictEqual(found(seen({ lines: [...lines, done(1, "k2")] })), [
      "lost: the effect k2 of one was begun in life 1 and is not in the journal"
    ])
  })

  it("D58 finds an effect that happened twice", () => {
    assert.deepStrictEqual(found(seen({ lines: [...lines, done(1)] })), [
      "repeated: the effect k1 of one happened in life 0 and 1"
    ])
  })
})

describe("R-302 what an end is compared with", () => {
  const end = (status: string, effects: ReadonlyArray<string> = ["k1"], orders = ["a/one/1"]): End => ({
    runs: { a: { whole: { status, results: [{ task: "one", output: 1 }] }, orders: { one: orders } } },
    effects: new Set(effects),
    asked: new Set()
  })
  const differences = (is: End) => compare(is, end("completed")).map(({ kind, what }) => `${kind}: ${what}`)

  it("is the same end", () => {
    assert.deepStrictEqual(differences(end("completed")), [])
  })

  it("differs in the first place that is another one", () => {
    assert.deepStrictEqual(differences(end("partial")), [
      'lost: the outcome of a.status is "partial", undisturbed "completed"'
    ])
    assert.deepStrictEqual(differences({ ...end("completed"), runs: {} }), [
      'lost: the outcome of a is nothing, undisturbed {"status":"completed","results":[{"task":"one","output":1}]}'
    ])
  })

  it("has another order for a task, unless people were asked about it", () => {
    const another = end("completed", ["k1"], ["a/one/1", "a/one/2"])
    assert.deepStrictEqual(differences(another), [
      'lost: the outcome of a.orders.one.1 is "a/one/2", undisturbed nothing'
    ])
    assert.deepStrictEqual(differences({ ...another, asked: new Set(["a one"]) }), [])
  })

  it("lacks an effect, or has one too many", () => {
    assert.deepStrictEqual(differences(end("completed", [])), ["lost: the effect k1 did not happen"])
    assert.deepStrictEqual(differences(end("completed", ["k1", "k2"])), [
      "repeated: the effect k2 is none of an undisturbed run"
    ])
  })
})

describe("R-306 what is looked at where people are asked", () => {
  const opened = (version: number, review: string, what: Readonly<Record<string, string>>) =>
    event(version, "ReviewOpened", { task: "one", kind: "question", key: "which", review, ...what })
  const decided = (version: number, review: string, by = "ann") => event(version, "ReviewDecided", { review, by })
  const look = (...history: ReadonlyArray<Journal.Recorded>) =>
    found({ lines: [], histories: new Map([["a", history]]) })

  it("finds nothing where each question is asked and answered once", () => {
    const other = opened(3, "a/review/2", { key: "other" })
    assert.deepStrictEqual(look(started, opened(2, "a/review/1", {}), other, decided(4, "a/review/1")), [])
  })

  it("D82 finds a question that is asked twice, and one that is closed twice", () => {
    assert.deepStrictEqual(look(started, opened(2, "a/review/1", {}), opened(3, "a/review/2", {})), [
      "repeated: a/review/2 of a asks what a/review/1 has asked: one question which"
    ])
    const twice = [decided(3, "a/review/1"), decided(4, "a/review/1", "bob")]
    assert.deepStrictEqual(look(started, opened(2, "a/review/1", {}), ...twice), [
      "repeated: a/review/1 of a is closed a second time: ReviewDecided"
    ])
  })

  it("finds an order that is given before it is approved", () => {
    const approval = opened(2, "a/review/1", { kind: "action-approval" })
    const order = event(3, "Dispatched", { task: "one", dispatch: "a/one/1" })
    assert.deepStrictEqual(look(started, approval, order), [
      "repeated: a/one/1 is given before anybody has approved it"
    ])
    const later = event(4, "Dispatched", { task: "one", dispatch: "a/one/1" })
    assert.deepStrictEqual(look(started, approval, decided(3, "a/review/1"), later), [])
  })

  it("finds a decision that was taken and is lost, and one that was refused and stands", () => {
    const histories = new Map([["a", [started, opened(2, "a/review/1", {}), decided(3, "a/review/1", "bob")]]])
    const told = (by: string, told: string) =>
      decisions({ lines: [], histories, decisions: [{ review: "a/review/1", by, told }] }).map(({ what }) => what)
    assert.deepStrictEqual([told("bob", "Left"), told("ann", "already-decided")], [[], []])
    assert.deepStrictEqual(told("ann", "Left"), ["the decision of ann about a/review/1: it stands as that of bob"])
    assert.deepStrictEqual(told("bob", "already-decided"), [
      "bob heard already-decided of a/review/1, and their decision stands"
    ])
    assert.deepStrictEqual(told("ann", "not-open"), ["ann heard of a/review/1: not-open"])
  })
})
