/** Chains and exports with every store of the journal. */
import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "effect"
import { Effect, type Layer, Stream } from "effect"
import { Artefacts, Chain, Export, Journal } from "espalier/journal"

const listing: Journal.Listing = { status: "running", desk: "audit", startedAt: 5, wakeAt: 9, reason: "it waits" }

/** Data in which texts of JSON differ most from each other: keys like numbers, escapes, a key that is no key elsewhere. */
const odd: ReadonlyArray<Schema.Json> = [
  null,
  { 10: "ten", 9: "nine", b: 1, a: -0 },
  JSON.parse('{"__proto__":{"x":1},"y":[1e21,1e-7,0.1]}'),
  { lone: "\ud800", pair: "😀", line: "\u2028\n\r\t", quote: '"\\/' },
  [[], {}, ["ä".repeat(300)]]
]

/** Appends so many events of odd data, a few in one commit. */
const fill = (run: string, count: number) =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    let version = 0
    while (version < count) {
      const events = Array.from({ length: Math.min(7, count - version) }, (_, index) => ({
        type: "Odd",
        at: version + index,
        data: odd[(version + index) % odd.length]!
      }))
      version = yield* journal.append({
        run,
        expected: version,
        events,
        listing,
        ...(version === 0
          ? { reviews: { opened: [{ review: `${run}/review/1`, kind: "question", openedAt: 3 }] } }
          : {})
      })
    }
    return yield* journal.head(run)
  })

const linesOf = (run: string, options?: Export.Options) => Stream.runCollect(Export.lines(run, options))

const read = (lines: ReadonlyArray<string>, options?: Export.Options) =>
  Export.read(Stream.fromIterable(lines), options)

/** The text of a line with one field replaced. */
const edited = (line: string, edit: (fields: { [field: string]: unknown }) => void): string => {
  const fields = JSON.parse(line)
  edit(fields)
  return JSON.stringify(fields)
}

export const contract = (layer: Layer.Layer<Journal.Journal, Journal.JournalError>): void => {
  /** What is done with an export in another, empty journal. */
  const elsewhere = <A, E>(use: Effect.Effect<A, E, Journal.Journal>) => Effect.provide(use, layer, { local: true })

  describe("Chain.verify", () => {
    it.effect("R-304 holds for what the journal has written, whatever the data is, also over pages", () =>
      Effect.gen(function* () {
        const head = yield* fill("r1", 600)
        const verification = yield* Chain.verify("r1", { head })
        assert.deepStrictEqual(verification, { run: "r1", events: 600, head })
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 is of no events for a run that nobody knows, unless a head was kept of it", () =>
      Effect.gen(function* () {
        const nothing = yield* Chain.verify("r1")
        assert.deepStrictEqual([nothing.events, nothing.damage], [0, undefined])
        const head = { version: 3, hash: "a".repeat(64) }
        const { damage } = yield* Chain.verify("r1", { head })
        assert.strictEqual(damage?.problem, "cut")
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 comes by a head that was kept, with or without its version, also when the run has gone on", () =>
      Effect.gen(function* () {
        const head = yield* fill("r1", 3)
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "r1", expected: 3, events: [{ type: "Next", at: 0, data: null }] })
        assert.isUndefined((yield* Chain.verify("r1", { head })).damage)
        assert.isUndefined((yield* Chain.verify("r1", { head: { hash: head.hash } })).damage)
        const other = yield* Chain.verify("r1", { head: { hash: "b".repeat(64) } })
        assert.strictEqual(other.damage?.problem, "replaced")
        const wrong = yield* Chain.verify("r1", { head: { version: 2, hash: head.hash } })
        assert.deepStrictEqual([wrong.damage?.problem, wrong.damage?.version, wrong.events], ["replaced", 2, 1])
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 of all runs is told run by run, listed or not", () =>
      Effect.gen(function* () {
        yield* fill("b", 2)
        yield* fill("a", 3)
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "c", expected: 0, events: [{ type: "Unlisted", at: 0, data: null }] })
        const all = yield* Stream.runCollect(Chain.verifyAll())
        assert.deepStrictEqual(
          all.map(({ damage, events, run }) => [run, events, damage]),
          [
            ["a", 3, undefined],
            ["b", 2, undefined],
            ["c", 1, undefined]
          ]
        )
      }).pipe(Effect.provide(layer))
    )
  })

  describe("Export", () => {
    it.effect("R-304 comes back as it was, hash by hash, with what the lists said, and only once", () =>
      Effect.gen(function* () {
        const head = yield* fill("r1", 1203)
        const journal = yield* Journal.Journal
        const before = yield* Stream.runCollect(journal.rows("r1"))
        const lines = yield* linesOf("r1")
        assert.strictEqual(lines.length, 1205)
        yield* elsewhere(
          Effect.gen(function* () {
            const imported = yield* read(lines)
            assert.deepStrictEqual(imported, {
              run: "r1",
              events: 1203,
              head,
              outcome: "imported",
              artefacts: 0,
              leftOut: 0
            })
            const there = yield* Journal.Journal
            assert.deepStrictEqual(yield* Stream.runCollect(there.rows("r1")), before)
            assert.deepStrictEqual(yield* there.runs(), [{ run: "r1", ...listing, version: 1203, updatedAt: 1202 }])
            assert.deepStrictEqual(yield* there.reviews(), [
              { review: "r1/review/1", run: "r1", kind: "question", openedAt: 3 }
            ])
            assert.strictEqual((yield* read(lines)).outcome, "there-already")
            assert.deepStrictEqual(yield* linesOf("r1"), lines)
          })
        )
      }).pipe(Effect.provide(layer))
    )

    const damages: ReadonlyArray<
      readonly [string, (lines: ReadonlyArray<string>) => ReadonlyArray<string>, number, string]
    > = [
      [
        "an event is changed",
        (lines) =>
          lines.with(
            3,
            edited(lines[3]!, (fields) => (fields["data"] = 7))
          ),
        4,
        "hash"
      ],
      [
        "its time is changed",
        (lines) =>
          lines.with(
            2,
            edited(lines[2]!, (fields) => (fields["at"] = 7))
          ),
        3,
        "hash"
      ],
      [
        "its type is changed",
        (lines) =>
          lines.with(
            1,
            edited(lines[1]!, (fields) => (fields["type"] = "Even"))
          ),
        2,
        "hash"
      ],
      ["an event is missing", (lines) => lines.toSpliced(2, 1), 3, "version"],
      ["an event comes twice", (lines) => lines.toSpliced(2, 0, lines[2]!), 4, "version"],
      ["two events change places", (lines) => lines.with(2, lines[3]!).with(3, lines[2]!), 3, "version"],
      ["the end is cut off", (lines) => lines.slice(0, -1), 6, ""],
      ["the last event is cut off", (lines) => lines.toSpliced(5, 1), 6, "end.events"],
      [
        "the last event is cut off and the end says so",
        (lines) => lines.toSpliced(5, 2, JSON.stringify({ end: { events: 4 } })),
        6,
        "head"
      ],
      ["a line is no JSON", (lines) => lines.with(2, lines[2]!.slice(0, -1)), 3, ""],
      ["a line is a list", (lines) => lines.with(2, "[]"), 3, ""],
      [
        "a hash is no text",
        (lines) =>
          lines.with(
            2,
            edited(lines[2]!, (fields) => (fields["hash"] = 1))
          ),
        3,
        "hash"
      ],
      [
        "data is missing",
        (lines) =>
          lines.with(
            2,
            edited(lines[2]!, (fields) => delete fields["data"])
          ),
        3,
        "data"
      ],
      [
        "a time is no whole number",
        (lines) =>
          lines.with(
            2,
            edited(lines[2]!, (fields) => (fields["at"] = 1.5))
          ),
        3,
        "at"
      ],
      ["something follows", (lines) => [...lines, lines[1]!], 8, ""],
      [
        "it is of a newer release",
        (lines) =>
          lines.with(
            0,
            edited(lines[0]!, (fields) => (fields["version"] = 2))
          ),
        1,
        "version"
      ],
      ["it is something else", () => ["{}"], 1, "format"],
      ["the header is missing", (lines) => lines.slice(1), 1, "format"],
      ["there is nothing", () => [], 1, ""],
      [
        "another run is named",
        (lines) =>
          lines.with(
            0,
            edited(lines[0]!, (fields) => (fields["run"] = "r2"))
          ),
        2,
        "hash"
      ],
      [
        "the head is another one",
        (lines) =>
          lines.with(
            0,
            edited(lines[0]!, (fields) => (fields["head"] = { version: 5, hash: "c".repeat(64) }))
          ),
        6,
        "hash"
      ]
    ]
    it.effect.each(damages)("R-304 is refused when %s, and nothing stays", ([, damage, line, field]) =>
      Effect.gen(function* () {
        yield* fill("r1", 5)
        const lines = yield* linesOf("r1")
        yield* elsewhere(
          Effect.gen(function* () {
            const error = yield* Effect.flip(read(damage(lines)))
            if (!(error instanceof Export.ExportInvalid)) return assert.fail(`refused otherwise: ${error.message}`)
            assert.deepStrictEqual([error.line, error.field], [line, field], error.message)
            const journal = yield* Journal.Journal
            assert.deepStrictEqual(yield* Stream.runCollect(journal.ids), [])
            assert.deepStrictEqual(yield* journal.runs(), [])
          })
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 is taken out again when it fails after a part of it was written", () =>
      Effect.gen(function* () {
        yield* fill("r1", 1203)
        const lines = yield* linesOf("r1")
        yield* elsewhere(
          Effect.gen(function* () {
            const journal = yield* Journal.Journal
            const error = yield* Effect.flip(read(lines.with(1100, "{}")))
            assert.strictEqual(error._tag, "ExportInvalid")
            assert.strictEqual(yield* journal.version("r1"), 0)
            assert.strictEqual((yield* read(lines)).outcome, "imported")
          })
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 goes on from the unlisted beginning that a killed import has left", () =>
      Effect.gen(function* () {
        const head = yield* fill("r1", 9)
        const journal = yield* Journal.Journal
        const lines = yield* linesOf("r1")
        const begun = yield* Stream.runCollect(journal.read("r1", { to: 4 }))
        yield* elsewhere(
          Effect.gen(function* () {
            const there = yield* Journal.Journal
            const events = begun.map(({ at, data, type }) => ({ type, at, data }))
            yield* there.append({ run: "r1", expected: 0, events })
            const broken = yield* Effect.flip(read(lines.slice(0, -1)))
            assert.strictEqual(broken._tag, "ExportInvalid")
            assert.strictEqual(yield* there.version("r1"), 4)
            assert.strictEqual((yield* read(lines)).outcome, "imported")
            assert.deepStrictEqual(yield* there.head("r1"), head)
            assert.strictEqual((yield* there.runs()).length, 1)
          })
        )
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 does not touch a run that is there and is another one, or has gone on", () =>
      Effect.gen(function* () {
        yield* fill("r1", 5)
        const lines = yield* linesOf("r1")
        yield* elsewhere(
          Effect.gen(function* () {
            const journal = yield* Journal.Journal
            yield* journal.append({ run: "r1", expected: 0, events: [{ type: "Other", at: 0, data: null }] })
            assert.strictEqual((yield* Effect.flip(read(lines)))._tag, "RunThere")
            assert.strictEqual(yield* journal.version("r1"), 1)
          })
        )
        const journal = yield* Journal.Journal
        yield* journal.append({ run: "r1", expected: 5, events: [{ type: "Next", at: 0, data: null }] })
        const gone = yield* Effect.flip(read(lines))
        assert.include(gone.message, 'has a run "r1" already, at version 6')
        assert.strictEqual(yield* journal.version("r1"), 6)
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-304 takes artefacts along, checks them, and leaves out what is not wanted", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const from = yield* Artefacts.Artefacts
        const large = Uint8Array.from({ length: 2_000_000 }, (_, index) => index % 251)
        const reference = yield* from.put(large)
        const gone = `sha256:${"d".repeat(64)}`
        yield* journal.append({
          run: "r1",
          expected: 0,
          events: [
            { type: "Referred", at: 0, data: { output: { ...reference }, lost: gone } },
            { type: "Referred", at: 0, data: [reference.hash] }
          ]
        })
        const lines = yield* linesOf("r1", { artefacts: from })
        assert.deepStrictEqual(JSON.parse(lines.at(-1)!), {
          end: { events: 2, artefacts: [reference.hash, gone], missing: [gone] }
        })
        const bare = yield* linesOf("r1")
        assert.deepStrictEqual(JSON.parse(bare.at(-1)!), { end: { events: 2, artefacts: [reference.hash, gone] } })
        assert.strictEqual(bare.length, 4)
        const place = lines.findIndex((line) => line.startsWith('{"artefact"'))
        assert.strictEqual(place, 1)
        yield* elsewhere(
          Effect.gen(function* () {
            const to = yield* Artefacts.Artefacts
            const wrong = edited(lines[1]!, (fields) => (fields["content"] = "AAAA"))
            const error = yield* Effect.flip(read(lines.with(1, wrong), { artefacts: to }))
            assert.strictEqual(error._tag, "ExportInvalid")
            const cut = lines.toSpliced(2, 1)
            assert.strictEqual((yield* Effect.flip(read(cut, { artefacts: to })))._tag, "ExportInvalid")
            const without = yield* read(lines)
            assert.deepStrictEqual([without.artefacts, without.leftOut], [0, 1])
            const there = yield* Journal.Journal
            yield* there.remove("r1")
            const { artefacts, leftOut } = yield* read(lines, { artefacts: to })
            assert.deepStrictEqual([artefacts, leftOut], [1, 0])
            assert.deepStrictEqual(yield* to.get(reference), large)
          }).pipe(Effect.provide(Artefacts.layerMemory(), { local: true }))
        )
      }).pipe(Effect.provide(Artefacts.layerMemory()), Effect.provide(layer))
    )

    it.effect("R-304 has nothing to say of a run without events", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(linesOf("r1"))
        assert.strictEqual(error.message, 'the journal has no events of the run "r1"')
      }).pipe(Effect.provide(layer))
    )
  })

  describe("rows", () => {
    it.effect("are the texts that are stored, in a range", () =>
      Effect.gen(function* () {
        yield* fill("r1", 5)
        const journal = yield* Journal.Journal
        const rows = yield* Stream.runCollect(journal.rows("r1", { from: 2, to: 3 }))
        assert.deepStrictEqual(
          rows.map(({ data, version }) => [version, data]),
          [2, 3].map((version) => [version, JSON.stringify(odd[version - 1])])
        )
      }).pipe(Effect.provide(layer))
    )
  })

  describe("ids", () => {
    it.effect("are those of all runs with events, each once, however many there are", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const ids = Array.from({ length: 1_003 }, (_, index) => `run-${String(index).padStart(4, "0")}`)
        yield* Effect.forEach(ids, (run) =>
          journal.append({ run, expected: 0, events: [{ type: "Begun", at: 0, data: null }] })
        )
        assert.deepStrictEqual(yield* Stream.runCollect(journal.ids), ids)
      }).pipe(Effect.provide(layer))
    )
  })
}
