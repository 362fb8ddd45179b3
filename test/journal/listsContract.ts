/** What every store of the journal must do besides events: lists, reviews, word, the chain. The same suite for all of them. */
import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, type Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"

type Service = Journal.Journal["Service"]

const event = (type: string, at = 0): Journal.Event => ({ type, at, data: null })

const row = (fields: Partial<Journal.Listing> = {}): Journal.Listing => ({
  status: "waiting",
  desk: "audit",
  startedAt: 0,
  ...fields
})

const review = (id: string, fields: Partial<Journal.OpenReview> = {}): Journal.OpenReview => ({
  review: id,
  kind: "approval",
  openedAt: 0,
  ...fields
})

const word = (run: string, fields: Partial<Journal.Command> = {}): Journal.Command => ({
  run,
  type: "Said",
  at: 3,
  data: { by: "ada" },
  ...fields
})

const append = (journal: Service, run: string, expected: number, rest: Partial<Journal.Append> = {}) =>
  journal.append({ run, expected, events: [event("x")], ...rest })

const runsOf = <E>(list: Effect.Effect<ReadonlyArray<{ readonly run: string }>, E>) =>
  Effect.map(list, (all) => all.map(({ run }) => run))

const reviewsOf = (journal: Service, run?: string) =>
  Effect.map(journal.reviews(run), (all) =>
    all.map(({ claimed, review }) => (claimed === undefined ? review : `${review} claimed by ${claimed}`))
  )

const idsOf = (journal: Service, run?: string) => Effect.map(journal.commands(run), (all) => all.map(({ id }) => id))

const root = "0".repeat(64)

/** The chain by hand: from what is read back and nothing else. */
const chainOf = (run: string, events: ReadonlyArray<Journal.Recorded>): ReadonlyArray<string> => {
  let previous = root
  return events.map(({ at, data, type, version }) => {
    const text = `${previous}\n${JSON.stringify([run, version, type, at])}\n${JSON.stringify(data)}`
    previous = createHash("sha256").update(text).digest("hex")
    return previous
  })
}

export const contract = (layer: Layer.Layer<Journal.Journal, Journal.JournalError>): void => {
  /** A test with a journal of its own. */
  const test = <E>(name: string, body: (journal: Service) => Effect.Effect<void, E>) =>
    it.effect(name, () => Effect.flatMap(Journal.Journal, body).pipe(Effect.provide(layer)))

  describe("head", () => {
    test("is zeros for a run that is not known, and of the last event otherwise", (journal) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* journal.head("a"), { version: 0, hash: root })
        for (const expected of [0, 1, 2]) {
          yield* append(journal, "a", expected)
          const last = (yield* Stream.runCollect(journal.read("a"))).at(-1)
          assert.deepStrictEqual(yield* journal.head("a"), { version: expected + 1, hash: last?.hash ?? "" })
        }
        assert.deepStrictEqual(yield* journal.head("b"), { version: 0, hash: root })
      }))

    test("the hashes are those that follow from the rows, over several appends and odd content", (journal) =>
      Effect.gen(function* () {
        const run = 'odd "run"\n😀'
        const datas = [{ b: 1, a: [1.5, "é\u2028"], "": null }, "x".repeat(70_000), 1e21, -0.5, { "10": 1, "9": 2 }]
        yield* journal.append({
          run,
          expected: 0,
          events: datas.map((data, at) => ({ type: `t"${at}`, at: -at, data }))
        })
        yield* journal.append({
          run,
          expected: 5,
          events: Array.from({ length: 40 }, (_, i) => ({ type: "y", at: i, data: i }))
        })
        yield* append(journal, "other", 0)
        const events = yield* Stream.runCollect(journal.read(run))
        assert.deepStrictEqual(
          events.map(({ hash }) => hash),
          chainOf(run, events)
        )
        assert.strictEqual(new Set(events.map(({ hash }) => hash)).size, 45)
        // A part of it has the same hashes.
        const part = yield* Stream.runCollect(journal.read(run, { from: 4, to: 9 }))
        assert.deepStrictEqual(
          part.map(({ hash }) => hash),
          chainOf(run, events).slice(3, 9)
        )
      }))
  })

  describe("runs by what they wait for", () => {
    const add = (journal: Service) =>
      Effect.gen(function* () {
        yield* append(journal, "late", 0, { listing: row({ wakeAt: 900, startedAt: 1 }) })
        yield* append(journal, "soon", 0, { listing: row({ wakeAt: 100, startedAt: 3 }) })
        yield* append(journal, "same", 0, { listing: row({ wakeAt: 100, startedAt: 2 }) })
        yield* append(journal, "none", 0, { listing: row({ reason: "asked", status: "suspended", startedAt: 4 }) })
      })
    const filters: ReadonlyArray<readonly [Journal.Filter, ReadonlyArray<string>]> = [
      [{ order: "newest" }, ["none", "soon", "same", "late"]],
      [{ order: "oldest" }, ["late", "same", "soon", "none"]],
      [{ order: "due" }, ["same", "soon", "late"]],
      [{ order: "due", limit: 1 }, ["same"]],
      [{ order: "oldest", limit: 2 }, ["late", "same"]],
      [{ dueBy: 99 }, []],
      [{ dueBy: 100 }, ["soon", "same"]],
      [{ dueBy: 899, order: "due" }, ["same", "soon"]],
      [{ dueBy: 900, status: "waiting", desk: "audit", order: "oldest" }, ["late", "same", "soon"]],
      [{ dueBy: 900, desk: "other" }, []],
      [{ status: "suspended", order: "due" }, []]
    ]
    it.effect.each(filters)("with %j are those that match, in that order", ([filter, expected]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* add(journal)
        assert.deepStrictEqual(yield* runsOf(journal.runs(filter)), expected)
      }).pipe(Effect.provide(layer))
    )

    test("show the time and the reason, until a row without them takes their place", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { listing: row({ wakeAt: 7, reason: "timer" }) })
        const shown = { run: "a", status: "waiting", desk: "audit", startedAt: 0, updatedAt: 0 }
        assert.deepStrictEqual(yield* journal.runs(), [{ ...shown, wakeAt: 7, reason: "timer", version: 1 }])
        yield* append(journal, "a", 1, { listing: row() })
        assert.deepStrictEqual(yield* journal.runs(), [{ ...shown, version: 2 }])
      }))
  })

  describe("reviews", () => {
    test("are open from the commit that opens them to the one that closes them, oldest first", (journal) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* journal.reviews(), [])
        const full = review("a/2", { task: "t", openedAt: 5, dueAt: 9, kind: "question" })
        yield* append(journal, "a", 0, { reviews: { opened: [full, review("a/1", { openedAt: 5 })] } })
        yield* append(journal, "b", 0, { reviews: { opened: [review("b/1", { openedAt: 1 })] } })
        assert.deepStrictEqual(yield* reviewsOf(journal), ["b/1", "a/1", "a/2"])
        assert.deepStrictEqual(yield* journal.reviews("a"), [
          { ...review("a/1", { openedAt: 5 }), run: "a" },
          { ...full, run: "a" }
        ])
        yield* append(journal, "a", 1, { reviews: { closed: ["a/2"], opened: [review("a/3")] } })
        assert.deepStrictEqual(yield* reviewsOf(journal), ["a/3", "b/1", "a/1"])
        assert.deepStrictEqual(yield* reviewsOf(journal, "nobody"), [])
      }))

    test("an append that is refused neither opens nor closes one", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { reviews: { opened: [review("a/1")] } })
        const stale = append(journal, "a", 0, {
          reviews: { opened: [review("a/2")], closed: ["a/1"] },
          listing: row()
        })
        assert.strictEqual((yield* Effect.flip(stale))._tag, "VersionConflict")
        assert.deepStrictEqual([yield* reviewsOf(journal), yield* journal.runs()], [["a/1"], []])
      }))
  })

  describe("command and commands", () => {
    test("word is numbered in the order in which it was left, and read back as it was", (journal) =>
      Effect.gen(function* () {
        const first = yield* journal.command(word("a"))
        const second = yield* journal.command(word("b", { data: ["é", null], at: -1, type: "t" }))
        const third = yield* journal.command(word("a", { data: null }))
        assert.isTrue(first < second && second < third)
        assert.deepStrictEqual(yield* journal.commands(), [
          { ...word("a"), id: first },
          { ...word("b", { data: ["é", null], at: -1, type: "t" }), id: second },
          { ...word("a", { data: null }), id: third }
        ])
        assert.deepStrictEqual(yield* idsOf(journal, "a"), [first, third])
        assert.deepStrictEqual(yield* idsOf(journal, "nobody"), [])
        // A number is not given twice, also when the last one is gone.
        yield* journal.discard([third])
        assert.isAbove(yield* journal.command(word("a")), third)
      }))

    test("claims its review in the same commit; another word about it is too late, and is not left", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { reviews: { opened: [review("a/1"), review("a/2")] } })
        const id = yield* journal.command(word("a", { review: "a/1" }))
        assert.deepStrictEqual(yield* reviewsOf(journal), [`a/1 claimed by ${id}`, "a/2"])
        const taken = (found: "claimed" | "not-open", run: string, review: string) =>
          new Journal.ReviewTaken({ run, review, found })
        const late: ReadonlyArray<readonly [string, string, "claimed" | "not-open"]> = [
          ["a", "a/1", "claimed"],
          ["a", "a/9", "not-open"],
          ["b", "a/2", "not-open"],
          ["b", "a/1", "not-open"]
        ]
        for (const [run, review, found] of late) {
          assert.deepStrictEqual(yield* Effect.flip(journal.command(word(run, { review }))), taken(found, run, review))
        }
        yield* append(journal, "a", 1, { reviews: { closed: ["a/2"] } })
        const closed = journal.command(word("a", { review: "a/2" }))
        assert.deepStrictEqual(yield* Effect.flip(closed), taken("not-open", "a", "a/2"))
        assert.deepStrictEqual(yield* idsOf(journal), [id])
        assert.deepStrictEqual(yield* reviewsOf(journal), [`a/1 claimed by ${id}`])
      }))

    test("a review that is opened once more stays claimed", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { reviews: { opened: [review("a/1")] } })
        const id = yield* journal.command(word("a", { review: "a/1" }))
        yield* append(journal, "a", 1, { reviews: { opened: [review("a/1", { dueAt: 7 })] } })
        assert.deepStrictEqual(yield* journal.reviews(), [{ ...review("a/1", { dueAt: 7 }), run: "a", claimed: id }])
      }))
  })

  describe("handled", () => {
    test("takes word away in the commit of the events, and a review that stays open is free again", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { reviews: { opened: [review("a/1"), review("a/2")] } })
        const one = yield* journal.command(word("a", { review: "a/1" }))
        const two = yield* journal.command(word("a", { review: "a/2" }))
        const three = yield* journal.command(word("a"))
        yield* append(journal, "a", 1, { handled: [one, three] })
        assert.deepStrictEqual(yield* idsOf(journal), [two])
        assert.deepStrictEqual(yield* reviewsOf(journal), ["a/1", `a/2 claimed by ${two}`])
        const again = yield* journal.command(word("a", { review: "a/1" }))
        yield* append(journal, "a", 2, { handled: [again, two, 999_999], reviews: { closed: ["a/1", "a/2"] } })
        assert.deepStrictEqual([yield* idsOf(journal), yield* reviewsOf(journal)], [[], []])
      }))

    test("nothing is taken away by an append that is refused", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { reviews: { opened: [review("a/1")] } })
        const id = yield* journal.command(word("a", { review: "a/1" }))
        const stale = append(journal, "a", 0, { handled: [id], reviews: { closed: ["a/1"] } })
        assert.strictEqual((yield* Effect.flip(stale))._tag, "VersionConflict")
        assert.deepStrictEqual([yield* idsOf(journal), yield* reviewsOf(journal)], [[id], [`a/1 claimed by ${id}`]])
      }))
  })

  describe("discard", () => {
    test("removes exactly the word that is named, and frees its reviews", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, { reviews: { opened: [review("a/1")] } })
        const one = yield* journal.command(word("a", { review: "a/1" }))
        const two = yield* journal.command(word("b"))
        yield* journal.discard([])
        yield* journal.discard([one, 999_999])
        assert.deepStrictEqual([yield* idsOf(journal), yield* reviewsOf(journal)], [[two], ["a/1"]])
        assert.strictEqual(yield* journal.version("a"), 1)
      }))
  })

  describe("relist", () => {
    test("lists a run anew: its row, and exactly the reviews that are given", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0, {
          listing: row({ status: "running", wakeAt: 4 }),
          reviews: { opened: [review("a/1"), review("a/2")] }
        })
        yield* append(journal, "b", 0, { reviews: { opened: [review("b/1")] } })
        const id = yield* journal.command(word("a", { review: "a/2" }))
        yield* journal.relist("a", row({ status: "suspended", reason: "untrusted-state" }), [
          review("a/2", { openedAt: 1 }),
          review("a/3", { openedAt: 2 })
        ])
        assert.deepStrictEqual(yield* journal.runs(), [
          { ...row({ status: "suspended", reason: "untrusted-state" }), run: "a", version: 1, updatedAt: 0 }
        ])
        assert.deepStrictEqual(yield* reviewsOf(journal), ["b/1", `a/2 claimed by ${id}`, "a/3"])
        assert.strictEqual(yield* journal.version("a"), 1)
        yield* journal.relist("a", row(), [])
        assert.deepStrictEqual(yield* reviewsOf(journal), ["b/1"])
        assert.strictEqual(yield* append(journal, "a", 1), 2)
      }))

    test("lists a run without events, too", (journal) =>
      Effect.gen(function* () {
        yield* journal.relist("a", row({ startedAt: 42 }), [])
        assert.deepStrictEqual(yield* journal.runs(), [
          { ...row({ startedAt: 42 }), run: "a", version: 0, updatedAt: 42 }
        ])
      }))
  })

  describe("remove", () => {
    test("removes everything of a run and nothing of another one, and the run can begin again", (journal) =>
      Effect.gen(function* () {
        for (const run of ["a", "b"]) {
          const opened = [review(`${run}/1`)]
          yield* append(journal, run, 0, { listing: row(), reviews: { opened } })
          yield* append(journal, run, 1)
          yield* journal.command(word(run, { review: `${run}/1` }))
          yield* journal.command(word(run))
        }
        const kept = [yield* journal.head("b"), yield* journal.commands("b"), yield* journal.reviews("b")]
        yield* journal.remove("a")
        assert.deepStrictEqual(yield* journal.head("a"), { version: 0, hash: root })
        assert.deepStrictEqual(yield* Stream.runCollect(journal.read("a")), [])
        assert.deepStrictEqual([yield* journal.commands("a"), yield* journal.reviews("a")], [[], []])
        assert.deepStrictEqual(yield* runsOf(journal.runs()), ["b"])
        assert.deepStrictEqual(
          [yield* journal.head("b"), yield* journal.commands("b"), yield* journal.reviews("b")],
          kept
        )
        yield* journal.remove("a")
        yield* journal.remove("never")
        assert.strictEqual((yield* Effect.flip(append(journal, "a", 2)))._tag, "VersionConflict")
        assert.strictEqual(yield* append(journal, "a", 0), 1)
        const events = yield* Stream.runCollect(journal.read("a"))
        assert.deepStrictEqual(
          events.map(({ hash }) => hash),
          chainOf("a", events)
        )
        assert.strictEqual(yield* append(journal, "b", 2), 3)
      }))
  })

  describe("size", () => {
    test("counts events, and their data as text in bytes", (journal) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* journal.size(), { events: 0, bytes: 0 })
        const events = ["ab", "é€😀", null].map((data) => ({ type: "x", at: 0, data }))
        yield* journal.append({ run: "a", expected: 0, events })
        yield* append(journal, "b", 0)
        assert.deepStrictEqual(yield* journal.size("a"), { events: 3, bytes: 4 + 11 + 4 })
        assert.deepStrictEqual(yield* journal.size(), { events: 4, bytes: 23 })
        assert.deepStrictEqual(yield* journal.size("nobody"), { events: 0, bytes: 0 })
        yield* journal.remove("a")
        assert.deepStrictEqual(yield* journal.size(), { events: 1, bytes: 4 })
      }))
  })

  describe("own, owns and owner", () => {
    test("reading and leaving word claim nothing; owning is the same however often it is asked for", (journal) =>
      Effect.gen(function* () {
        yield* journal.command(word("a"))
        assert.deepStrictEqual(
          [yield* journal.runs(), yield* journal.owns, yield* journal.owner],
          [[], false, undefined]
        )
        const owner = yield* journal.own
        assert.deepInclude(owner, { epoch: 1, released: false })
        assert.deepStrictEqual([yield* journal.own, yield* journal.owner], [owner, owner])
        assert.isTrue(yield* journal.owns)
        yield* append(journal, "a", 0)
        assert.strictEqual((yield* journal.own).epoch, 1)
      }))

    test("the first append claims", (journal) =>
      Effect.gen(function* () {
        yield* append(journal, "a", 0)
        assert.isTrue(yield* journal.owns)
        assert.strictEqual((yield* journal.owner)?.epoch, 1)
      }))
  })

  describe("changes", () => {
    const rung = (journal: Service, count: { value: number }) =>
      Effect.forkChild(
        Stream.runForEach(journal.changes, () => Effect.sync(() => void (count.value += 1))),
        { startImmediately: true }
      )
    const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

    test("emit for who begins to listen, for word, and for an announcement; nobody else's end ends it", (journal) =>
      Effect.gen(function* () {
        const [first, second] = [{ value: 0 }, { value: 0 }]
        const listening = yield* rung(journal, first)
        const leaving = yield* rung(journal, second)
        yield* settle
        assert.isAtLeast(Math.min(first.value, second.value), 1)
        yield* Fiber.interrupt(leaving)
        let before = first.value
        yield* journal.command(word("a"))
        yield* settle
        assert.isAbove(first.value, before)
        before = first.value
        const gone = second.value
        yield* journal.announce
        yield* settle
        assert.isAbove(first.value, before)
        assert.strictEqual(second.value, gone)
        yield* Fiber.interrupt(listening)
        // One can listen again after the last one has gone.
        const third = { value: 0 }
        const again = yield* rung(journal, third)
        yield* settle
        before = third.value
        yield* journal.announce
        yield* settle
        assert.isAbove(third.value, before)
        yield* Fiber.interrupt(again)
        yield* TestClock.adjust("1 second")
      }))
  })

  describe("what has no place in a journal", () => {
    const bad = { number: 1.5, none: Number.NaN }
    const appends: ReadonlyArray<readonly [Partial<Journal.Append>, string]> = [
      [{ listing: row({ wakeAt: bad.number }) }, "listing.wakeAt must be a whole number, is 1.5"],
      [{ listing: row({ reason: "x".repeat(1001) }) }, "listing.reason must have at most 1000 characters, has 1001"],
      [{ listing: row({ reason: "a\u0000" }) }, "listing.reason must not contain a NUL or a lone surrogate"],
      [{ reviews: { opened: [review("")] } }, "reviews.opened[0].review must not be empty"],
      [{ reviews: { opened: [review("a"), review("b", { kind: "" })] } }, "reviews.opened[1].kind must not be empty"],
      [
        { reviews: { opened: [review("a", { task: "\ud800" })] } },
        "reviews.opened[0].task must not contain a NUL or a lone surrogate"
      ],
      [
        { reviews: { opened: [review("a", { openedAt: bad.none })] } },
        "reviews.opened[0].openedAt must be a whole number, is NaN"
      ],
      [
        { reviews: { opened: [review("a", { dueAt: bad.number })] } },
        "reviews.opened[0].dueAt must be a whole number, is 1.5"
      ],
      [{ reviews: { closed: ["a", "b\u0000"] } }, "reviews.closed[1] must not contain a NUL character"],
      [{ handled: [1, 0] }, "handled[1] must be a whole number >= 1, is 0"]
    ]
    it.effect.each(appends)("is refused of an append: %j", ([part, message]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const error = yield* Effect.flip(append(journal, "a", 0, part))
        assert.deepInclude(error._tag === "JournalError" ? error.reason : error, { _tag: "InvalidInput", message })
        assert.strictEqual(yield* journal.version("a"), 0)
      }).pipe(Effect.provide(layer))
    )

    const calls: ReadonlyArray<
      readonly [string, (journal: Service) => Effect.Effect<unknown, unknown>, string, string]
    > = [
      ["a command's run", (journal) => journal.command(word("")), "run", "must not be empty"],
      ["its type", (journal) => journal.command(word("a", { type: "" })), "type", "must not be empty"],
      ["its time", (journal) => journal.command(word("a", { at: 0.5 })), "at", "must be a whole number, is 0.5"],
      ["its review", (journal) => journal.command(word("a", { review: "" })), "review", "must not be empty"],
      [
        "its data",
        (journal) => journal.command(word("a", { data: { n: Number.NaN } })),
        "data.n",
        "must be a JSON value, is NaN"
      ],
      ["a filter's dueBy", (journal) => journal.runs({ dueBy: 0.5 }), "dueBy", "must be a whole number, is 0.5"],
      [
        "a filter's order",
        (journal) => journal.runs({ order: "random" as "due" }),
        "order",
        'must be "newest", "oldest" or "due"'
      ],
      ["the run of reviews", (journal) => journal.reviews(""), "run", "must not be empty"],
      ["the run of commands", (journal) => journal.commands(""), "run", "must not be empty"],
      ["the run of a size", (journal) => journal.size("a\u0000"), "run", "must not contain a NUL character"],
      ["the run of a head", (journal) => journal.head(""), "run", "must not be empty"],
      ["the run of a removal", (journal) => journal.remove(""), "run", "must not be empty"],
      ["the run of a relisting", (journal) => journal.relist("", row(), []), "run", "must not be empty"],
      ["its row", (journal) => journal.relist("a", row({ status: "" }), []), "listing.status", "must not be empty"],
      ["its reviews", (journal) => journal.relist("a", row(), [review("", {})]), "open[0].review", "must not be empty"],
      [
        "what is discarded",
        (journal) => journal.discard([1, 2.5]),
        "commands[1]",
        "must be a whole number >= 1, is 2.5"
      ]
    ]
    it.effect.each(calls)("is refused, with the field: %s", ([, call, field, problem]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const error = yield* Effect.flip(call(journal))
        assert.deepStrictEqual(
          error,
          new Journal.JournalError({ reason: new Journal.InvalidInput({ field, problem }) })
        )
        assert.deepStrictEqual([yield* journal.commands(), yield* journal.runs()], [[], []])
      }).pipe(Effect.provide(layer))
    )

    test("a command of more than 1 MiB is too large, and one of just that fits", (journal) =>
      Effect.gen(function* () {
        const limit = 1024 * 1024
        const fits = yield* journal.command(word("a", { data: "x".repeat(limit - 2) }))
        const error = yield* Effect.flip(journal.command(word("a", { data: "x".repeat(limit - 1) })))
        assert.deepInclude(error._tag === "JournalError" ? error.reason : error, {
          _tag: "ValueTooLarge",
          limit,
          run: "a"
        })
        assert.deepStrictEqual(yield* idsOf(journal), [fits])
      }))
  })
}
