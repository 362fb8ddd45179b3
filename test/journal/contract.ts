/** What every store of the journal must do: the same suite runs against all of them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, type Layer, Schema, Stream } from "effect"
import { Journal } from "espalier/journal"

const event = (type: string, data: Schema.Json = null, at = 0): Journal.Event => ({ type, at, data })

const listing = (status: string, startedAt = 0, desk = "audit"): Journal.Listing => ({ status, desk, startedAt })

/** All events of a run. */
const all = (run: string, range?: Journal.Range) =>
  Effect.flatMap(Journal.Journal, (journal) => Stream.runCollect(journal.read(run, range)))

const versions = (run: string, range?: Journal.Range) =>
  Effect.map(all(run, range), (events) => events.map((event) => event.version))

/** The tag of the reason for which a journal call is refused. */
const refusal = <A, E extends Journal.JournalError | Journal.VersionConflict, R>(call: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(call), (error) => (error._tag === "JournalError" ? error.reason : error))

const nested = (depth: number): Schema.Json => {
  let value: Schema.Json = 0
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

/** A value that the types do not allow, as one that comes from outside. */
const foreign = (value: unknown): Schema.Json => value as Schema.Json

const shared = (): Schema.Json => {
  let value: Schema.Json = "leaf"
  for (let i = 0; i < 64; i++) value = [value, value]
  return value
}

const cyclic = (): Schema.Json => {
  const value: Array<unknown> = []
  value.push(value)
  return foreign(value)
}

export const contract = (layer: Layer.Layer<Journal.Journal, Journal.JournalError>): void => {
  describe("append", () => {
    it.effect("numbers the events of a run from 1 and answers with the last number", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const first = yield* journal.append({ run: "a", expected: 0, events: [event("x")] })
        const second = yield* journal.append({ run: "a", expected: 1, events: [event("y"), event("z")] })
        assert.deepStrictEqual([first, second], [1, 3])
        assert.deepStrictEqual(
          (yield* all("a")).map(({ type, version }) => [version, type]),
          [
            [1, "x"],
            [2, "y"],
            [3, "z"]
          ]
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps the runs apart", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: [event("of a")] })
        yield* journal.append({ run: "b", expected: 0, events: [event("of b")] })
        assert.deepStrictEqual(
          (yield* all("b")).map(({ type }) => type),
          ["of b"]
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect.each([0, 1, 3, 7])("is refused when the run is at version 2 and %d is expected", (expected) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: [event("x"), event("y")] })
        const stale = journal.append({
          run: "a",
          expected,
          events: [event("late"), event("later")],
          listing: listing("late")
        })
        assert.deepStrictEqual(
          yield* Effect.flip(stale),
          new Journal.VersionConflict({ run: "a", expected, actual: 2 })
        )
        assert.deepStrictEqual(yield* versions("a"), [1, 2])
        assert.deepStrictEqual(yield* journal.runs(), [])
      }).pipe(Effect.provide(layer))
    )

    it.effect("lets exactly one of many concurrent writers win each version", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        for (let expected = 0; expected < 5; expected++) {
          const exits = yield* Effect.forEach(
            Array.from({ length: 8 }, (_, writer) => writer),
            (writer) => Effect.exit(journal.append({ run: "a", expected, events: [event("x", { writer })] })),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
        }
        assert.deepStrictEqual(yield* versions("a"), [1, 2, 3, 4, 5])
      }).pipe(Effect.provide(layer))
    )

    it.effect("writes nothing at all when one of its events is refused", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const broken = journal.append({
          run: "a",
          expected: 0,
          events: [event("fine"), event("broken", foreign(Number.NaN))],
          listing: listing("running")
        })
        const reason = yield* refusal(broken)
        assert.strictEqual(reason.message, "events[1].data must be a JSON value, is NaN")
        assert.strictEqual(yield* journal.version("a"), 0)
        assert.deepStrictEqual(yield* journal.runs(), [])
        assert.strictEqual(yield* journal.append({ run: "a", expected: 0, events: [event("again")] }), 1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("stores a copy: changing the data afterwards changes nothing", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const findings: Array<string> = ["one"]
        yield* journal.append({ run: "a", expected: 0, events: [event("x", { findings })] })
        findings.push("two")
        assert.deepStrictEqual((yield* all("a"))[0]?.data, { findings: ["one"] })
      }).pipe(Effect.provide(layer))
    )
  })

  describe("data", () => {
    it.effect.prop(
      "any JSON value is read back as it was given",
      { data: Schema.Json },
      ({ data }) =>
        Effect.gen(function* () {
          const journal = yield* Journal.Journal
          yield* journal.append({ run: "a", expected: 0, events: [event("x", data)] })
          // JSON has no negative zero.
          assert.deepStrictEqual((yield* all("a"))[0]?.data, JSON.parse(JSON.stringify(data)))
        }).pipe(Effect.provide(layer)),
      { arbitrary: { runs: 40 } }
    )

    const odd: ReadonlyArray<readonly [string, Schema.Json]> = [
      ["a __proto__ key", foreign(JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":null}'))],
      ["lone surrogates", { "\ud800": "\udfff", pair: "😀" }],
      ["control characters and a NUL", { "\u0000": "a\u0000b\u001f\u2028" }],
      ["the largest and the smallest numbers", [Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53 + 2, -1e-7, 0.1]],
      ["keys that look like numbers, or are empty", { 10: 1, 9: 2, "": 3, "01": 4 }],
      ["the deepest nesting", nested(256)],
      ["text of one, two, three and four bytes a character", "aé€😀".repeat(1000)]
    ]
    it.effect.each(odd)("%s is read back as it was given", ([, data]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: [event("x", data)] })
        const [read] = yield* all("a")
        assert.strictEqual(JSON.stringify(read?.data), JSON.stringify(data))
        assert.strictEqual(Reflect.has({}, "polluted"), false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("a property that is undefined is left out", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: [event("x", foreign({ a: 1, b: undefined }))] })
        assert.deepStrictEqual((yield* all("a"))[0]?.data, { a: 1 })
      }).pipe(Effect.provide(layer))
    )

    const refused: ReadonlyArray<readonly [string, unknown, string]> = [
      ["NaN", { a: { b: Number.NaN } }, "events[0].data.a.b must be a JSON value, is NaN"],
      ["an infinity", [1, Number.POSITIVE_INFINITY], "events[0].data[1] must be a JSON value, is an infinite number"],
      ["a bigint", { "odd key": 1n }, 'events[0].data["odd key"] must be a JSON value, is a bigint'],
      ["undefined", undefined, "events[0].data must be a JSON value, is undefined"],
      ["a hole", Object.assign([], { 1: 1 }), "events[0].data[0] must be a JSON value, is undefined"],
      ["a function", { toJSON: () => 1 }, "events[0].data.toJSON must be a JSON value, is a function"],
      ["a symbol", Symbol.iterator, "events[0].data must be a JSON value, is a symbol"],
      ["an instance", { at: new Map() }, "events[0].data.at must be a JSON value, is an object of a class"],
      [
        "too deep nesting",
        nested(257),
        "events[0].data[0][0][0][0][0][0][0][0] must not be nested deeper than 256 levels, or is a cycle"
      ],
      [
        "a cycle",
        cyclic(),
        "events[0].data[0][0][0][0][0][0][0][0] must not be nested deeper than 256 levels, or is a cycle"
      ]
    ]
    it.effect.each(refused)("%s is refused, with its place and without its value", ([, data, message]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const event = { type: "x", at: 0, data: foreign(data) }
        const reason = yield* refusal(journal.append({ run: "a", expected: 0, events: [event] }))
        assert.strictEqual(reason._tag, "InvalidInput")
        assert.strictEqual(reason.message, message)
        assert.strictEqual(yield* journal.version("a"), 0)
      }).pipe(Effect.provide(layer))
    )

    const limit = 4 * 1024 * 1024
    const sizes: ReadonlyArray<readonly [string, Schema.Json, boolean]> = [
      ["4 MiB of ASCII", "x".repeat(limit - 2), true],
      ["one byte more", "x".repeat(limit - 1), false],
      ["4 MiB of three-byte characters", "€".repeat((limit - 2) / 3), true],
      ["one such character more", "€".repeat((limit - 2) / 3 + 1), false],
      ["escapes that make it longer", "\n".repeat(limit / 2), false],
      ["parts shared 2^64 times", shared(), false]
    ]
    it.effect.each(sizes)("%s: accepted up to 4 MiB as UTF-8, refused with its place beyond", ([, data, fits]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const append = journal.append({ run: "a", expected: 0, events: [event("small"), event("Large", data)] })
        if (fits) {
          assert.strictEqual(yield* append, 2)
          assert.strictEqual((yield* all("a"))[1]?.data, data)
        } else {
          const reason = yield* refusal(append)
          assert.strictEqual(reason._tag, "ValueTooLarge")
          if (reason._tag !== "ValueTooLarge") return
          assert.deepStrictEqual([reason.run, reason.index, reason.type, reason.limit], ["a", 1, "Large", limit])
          assert.isTrue(reason.bytes > limit)
          assert.isTrue(reason.message.length < 200)
          assert.strictEqual(yield* journal.version("a"), 0)
        }
      }).pipe(Effect.provide(layer))
    )
  })

  describe("ids", () => {
    const odd = ["'; DROP TABLE events; --", "../../etc/passwd", "%_*?", "a\nb\tc", "😀é", " ", "x".repeat(200)]
    it.effect.each(odd)("%j is a run like any other", (run) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run, expected: 0, events: [event(run)], listing: listing(run, 0, run) })
        yield* journal.append({ run: [...run].slice(1).join("") || "!", expected: 0, events: [event("other")] })
        assert.deepStrictEqual(
          (yield* all(run)).map(({ type }) => type),
          [run]
        )
        assert.deepStrictEqual(yield* journal.runs({ status: run, desk: run }), [
          { run, status: run, desk: run, startedAt: 0, version: 1, updatedAt: 0 }
        ])
      }).pipe(Effect.provide(layer))
    )

    const bad: ReadonlyArray<readonly [string, string]> = [
      ["", "run must not be empty"],
      ["x".repeat(201), "run must have at most 200 characters, has 201"],
      ["a\u0000b", "run must not contain a NUL character"],
      ["\ud800", "run must not contain a lone surrogate"]
    ]
    it.effect.each(bad)("%j is no run, for a writer and for a reader", ([run, message]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const reasons = [
          yield* refusal(journal.append({ run, expected: 0, events: [event("x")] })),
          yield* refusal(all(run)),
          yield* refusal(journal.version(run))
        ]
        assert.deepStrictEqual(
          reasons.map((reason) => reason.message),
          [message, message, message]
        )
      }).pipe(Effect.provide(layer))
    )

    const wrong: ReadonlyArray<readonly [Partial<Journal.Append>, string]> = [
      [{ events: [] }, "events must hold at least one event"],
      [{ expected: -1 }, "expected must be a whole number >= 0, is -1"],
      [{ expected: 0.5 }, "expected must be a whole number >= 0, is 0.5"],
      [{ events: [event("")] }, "events[0].type must not be empty"],
      [{ events: [event("x", null, 1.5)] }, "events[0].at must be a whole number, is 1.5"],
      [{ listing: listing("") }, "listing.status must not be empty"],
      [{ listing: listing("running", 0, "") }, "listing.desk must not be empty"],
      [{ listing: listing("running", Number.NaN) }, "listing.startedAt must be a whole number, is NaN"]
    ]
    it.effect.each(wrong)("an append with %j is refused with the field and what it must be", ([part, message]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const append = journal.append({ run: "a", expected: 0, events: [event("x")], ...part })
        assert.strictEqual((yield* refusal(append)).message, message)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("read", () => {
    it.effect("gives nothing for a run that the journal does not know", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        assert.deepStrictEqual(yield* all("nobody"), [])
        assert.strictEqual(yield* journal.version("nobody"), 0)
      }).pipe(Effect.provide(layer))
    )

    const ranges: ReadonlyArray<readonly [Journal.Range, ReadonlyArray<number>]> = [
      [{}, [1, 2, 3, 4, 5]],
      [{ from: 1 }, [1, 2, 3, 4, 5]],
      [{ from: 4 }, [4, 5]],
      [{ from: 6 }, []],
      [{ to: 2 }, [1, 2]],
      [{ to: 0 }, []],
      [{ from: 2, to: 4 }, [2, 3, 4]],
      [{ from: 4, to: 2 }, []],
      [{ from: 5, to: 900 }, [5]]
    ]
    it.effect.each(ranges)("with %j gives the events of that range", ([range, expected]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: Array.from({ length: 5 }, () => event("x")) })
        assert.deepStrictEqual(yield* versions("a", range), expected)
      }).pipe(Effect.provide(layer))
    )

    it.effect.each([{ from: 0 }, { from: 1.5 }, { to: -1 }])("with %j is refused", (range) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* refusal(all("a", range)))._tag, "InvalidInput")
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps the order over many pages, of many events and of large ones", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const events = Array.from({ length: 1000 }, (_, i) => event("x", i % 100 === 0 ? "y".repeat(600_000) : i))
        yield* journal.append({ run: "a", expected: 0, events })
        const read = yield* all("a")
        assert.deepStrictEqual(
          read.map(({ version }) => version),
          events.map((_, i) => i + 1)
        )
        assert.isTrue(read.every(({ data }, i) => data === events[i]?.data))
      }).pipe(Effect.provide(layer))
    )

    it.effect("does not chase a writer: events appended after it started are not in it", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: [event("x"), event("x")] })
        const seen = yield* journal.read("a").pipe(
          Stream.tap(({ version }) => journal.append({ run: "a", expected: version + 1, events: [event("more")] })),
          Stream.runCollect
        )
        assert.strictEqual(seen.length, 2)
        assert.strictEqual(yield* journal.version("a"), 4)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("command", () => {
    it.effect("of words about one review the first is left, and one about no open review is refused", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const word = { run: "a", type: "Decided", at: 1, data: { choice: "yes" }, review: "r" }
        const opened = [{ review: "r", kind: "approval", openedAt: 0 }]
        assert.deepInclude(yield* Effect.flip(journal.command(word)), { _tag: "ReviewTaken", found: "not-open" })
        yield* journal.append({ run: "a", expected: 0, events: [event("x")], reviews: { opened } })
        const id = yield* journal.command(word)
        assert.deepInclude(yield* Effect.flip(journal.command(word)), { _tag: "ReviewTaken", found: "claimed" })
        assert.deepStrictEqual(
          (yield* journal.commands("a")).map((left) => left.id),
          [id]
        )
        // The store can be written to after a refusal.
        yield* journal.append({
          run: "a",
          expected: 1,
          events: [event("y")],
          reviews: { closed: ["r"] },
          handled: [id]
        })
        assert.deepStrictEqual([yield* journal.commands("a"), yield* journal.reviews("a")], [[], []])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("runs", () => {
    it.effect("lists a run from the first append that says so, and changes the row only when it is given", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "a", expected: 0, events: [event("x", null, 1)] })
        assert.deepStrictEqual(yield* journal.runs(), [])
        yield* journal.append({
          run: "a",
          expected: 1,
          events: [event("x", null, 2)],
          listing: listing("running", 2)
        })
        yield* journal.append({ run: "a", expected: 2, events: [event("x", null, 3)] })
        const row = { run: "a", desk: "audit", startedAt: 2 }
        assert.deepStrictEqual(yield* journal.runs(), [{ ...row, status: "running", version: 3, updatedAt: 3 }])
        yield* journal.append({
          run: "a",
          expected: 3,
          events: [event("x", null, 4), event("x", null, 9)],
          listing: listing("finished", 2)
        })
        assert.deepStrictEqual(yield* journal.runs(), [{ ...row, status: "finished", version: 5, updatedAt: 9 }])
      }).pipe(Effect.provide(layer))
    )

    const filters: ReadonlyArray<readonly [Journal.Filter | undefined, ReadonlyArray<string>]> = [
      [undefined, ["d", "b", "c", "a"]],
      [{}, ["d", "b", "c", "a"]],
      [{ status: "running" }, ["b", "a"]],
      [{ status: ["running", "waiting"] }, ["d", "b", "a"]],
      [{ status: [] }, []],
      [{ status: "unheard of" }, []],
      [{ desk: "two" }, ["c"]],
      [{ desk: "one", status: "running", limit: 1 }, ["b"]],
      [{ limit: 2 }, ["d", "b"]],
      [{ limit: 0 }, []]
    ]
    it.effect.each(filters)("with %j lists the runs that match, newest first", ([filter, expected]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const add = (run: string, row: Journal.Listing) =>
          journal.append({ run, expected: 0, events: [event("x")], listing: row })
        yield* add("a", listing("running", 1, "one"))
        yield* add("c", listing("finished", 2, "two"))
        yield* add("b", listing("running", 2, "one"))
        yield* add("d", listing("waiting", 3, "one"))
        assert.deepStrictEqual(
          (yield* journal.runs(filter)).map(({ run }) => run),
          expected
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("refuses a limit that is no number of runs", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        assert.strictEqual((yield* refusal(journal.runs({ limit: -1 })))._tag, "InvalidInput")
      }).pipe(Effect.provide(layer))
    )
  })
}
