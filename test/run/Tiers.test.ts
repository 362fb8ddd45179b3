import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { NodeFileSystem } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Stream } from "effect"
import { Journal } from "espalier/journal"
import { type Autonomy, Host, Office, Plan, Run, Tiers } from "espalier/run"
import { Fake } from "espalier/testing"

import { changeTo, mayChange } from "../../src/run/internal/tiering.ts"
import { folder } from "../journal/fixtures/folder.ts"
import { history, memory, task } from "./desks.ts"
import { deskOf, of, options, pass } from "./living.ts"

const says = (tier: Autonomy.Tier | undefined) =>
  Tiers.layer({ desks: tier === undefined ? { another: "low" } : { desk: tier }, source: "operations" })

/** A desk of two tasks, of which the second begins a minute after the first. */
const desk = (tier?: Autonomy.Tier) =>
  deskOf(
    [Fake.worker("one", { risk: "low", otherwise: "done" })],
    Plan.make<string>([task("a"), { ...task("b"), after: "1 minute" }]),
    tier === undefined ? {} : { tier }
  )

/** A run that waits for its timer. */
const begun = (more: { readonly tier?: Autonomy.Tier } = {}, configured?: Layer.Layer<never>) =>
  Run.start(desk(), { ...options, ...more, waitFor: 0 }).pipe(
    configured === undefined ? (self) => self : Effect.provide(configured)
  )

/** Takes the run up when its timer is due. */
const takenUp = (configured: Layer.Layer<never>) =>
  Effect.gen(function* () {
    yield* pass("1 minute")
    const outcome = yield* Run.resume(desk(), "r1", { log: false }).pipe(Effect.provide(configured))
    const changes = of(yield* history("r1"), "AutonomyChanged")
    return { outcome, changes: changes.map(({ by, from, note, to }) => [from, to, by, note]) }
  })

describe("Tiers", () => {
  describe("a run that begins", () => {
    it.effect.each([
      ["its option wins", "full", "low", "full", "start"],
      ["what is configured comes before its desk", undefined, "low", "low", "configuration"],
      ["what is not configured is as its desk says", undefined, undefined, "medium", undefined]
    ] as const)("R-216 %s", ([, tier, configured, expected, by]) =>
      Effect.gen(function* () {
        const outcome = yield* begun(tier === undefined ? {} : { tier }, says(configured))
        assert.strictEqual(outcome.tier, expected)
        const [started] = of(yield* history("r1"), "RunStarted")
        assert.deepStrictEqual([started?.tier, started?.tierBy], [expected, by])
        // At the tier low a person is asked about everything.
        assert.strictEqual(outcome.results["a"]?.status, expected === "low" ? "open" : "accepted")
      }).pipe(memory)
    )
  })

  describe("a run that is taken up", () => {
    it.effect("R-216 has the tier that is configured now, and says what said so", () =>
      Effect.gen(function* () {
        yield* begun()
        const { changes, outcome } = yield* takenUp(says("low"))
        assert.deepStrictEqual(changes, [["medium", "low", "configuration", "operations says low"]])
        assert.deepStrictEqual([outcome.tier, outcome.status, outcome.reviews.length], ["low", "waiting", 1])
      }).pipe(memory)
    )

    it.effect("R-216 is changed again by what it was changed by", () =>
      Effect.gen(function* () {
        yield* begun({}, says("full"))
        const { changes, outcome } = yield* takenUp(says("medium"))
        assert.deepStrictEqual(changes, [["full", "medium", "configuration", "operations says medium"]])
        assert.deepStrictEqual([outcome.tier, outcome.status], ["medium", "completed"])
      }).pipe(memory)
    )

    it.effect.each([
      ["that says the same", "medium"],
      ["that does not name its desk", undefined]
    ] as const)("R-216 keeps its tier with a configuration %s", ([, configured]) =>
      Effect.gen(function* () {
        yield* begun()
        const { changes, outcome } = yield* takenUp(says(configured))
        assert.deepStrictEqual([changes, outcome.tier, outcome.status], [[], "medium", "completed"])
      }).pipe(memory)
    )

    it.effect("R-216 keeps the tier that it was begun with on purpose", () =>
      Effect.gen(function* () {
        yield* begun({ tier: "medium" })
        const { changes, outcome } = yield* takenUp(says("low"))
        assert.deepStrictEqual([changes, outcome.tier, outcome.status], [[], "medium", "completed"])
      }).pipe(memory)
    )

    it.effect("R-216 keeps the tier that a person has given it since", () =>
      Effect.gen(function* () {
        yield* begun()
        yield* Run.changeTier("r1", { from: "medium", to: "full", who: "ann", why: "A quiet day" })
        const { changes, outcome } = yield* takenUp(says("low"))
        assert.deepStrictEqual([changes, outcome.tier], [[["medium", "full", "ann", "A quiet day"]], "full"])
      }).pipe(memory)
    )

    it.effect("R-216 takes in what a person has left for it, and not what is configured", () =>
      Effect.gen(function* () {
        yield* begun()
        const journal = yield* Journal.Journal
        const said = { from: "medium", to: "full", by: "ann", note: "A quiet day" }
        yield* journal.command({ run: "r1", type: "AutonomyChanged", at: 1, data: said })
        const { changes, outcome } = yield* takenUp(says("low"))
        assert.deepStrictEqual([changes, outcome.tier], [[["medium", "full", "ann", "A quiet day"]], "full"])
      }).pipe(memory)
    )

    it.effect("R-216 by a host has it, too", () =>
      Effect.gen(function* () {
        yield* begun()
        yield* pass("1 minute")
        const office = yield* Office.open(desk(), { log: false })
        const [taken] = yield* Host.pass(office)
        assert.strictEqual(taken?.result, "waiting")
        assert.strictEqual((yield* Run.state("r1")).tier, "low")
      }).pipe(Effect.provide(says("low")), Effect.scoped, memory)
    )
  })

  it("R-216 who may still be changed by configuration, by what the journal says", () => {
    const change = [{ type: "AutonomyChanged" }]
    const table = [
      [{ tier: "medium" }, [], true],
      [{ tier: "medium", tierBy: "configuration" }, [], true],
      [{ tier: "low", tierBy: "configuration" }, [], true],
      [{ tier: "low", tierBy: "configuration" }, change, false],
      [{ tier: "medium", tierBy: "start" }, [], false],
      [{ tier: "medium", tierBy: "person" }, [], false],
      // An older release has begun it with a tier of its own.
      [{ tier: "low" }, [], false]
    ] as const
    for (const [state, left, expected] of table) {
      assert.strictEqual(mayChange(state, "medium", left), expected, JSON.stringify([state, left]))
    }
    assert.deepStrictEqual(changeTo("low", "low", "f", 1), [])
    assert.deepStrictEqual(changeTo("low", undefined, "f", 1), [])
  })

  it.effect("R-216 nobody changes a tier in the name of the configuration", () =>
    Effect.gen(function* () {
      yield* begun()
      const change = { from: "medium", to: "full", who: " Configuration", why: "x" } as const
      const refused = yield* Effect.flip(Run.changeTier("r1", change))
      assert.include(refused.message, 'who must be a person or a system by name, got " Configuration"')
      assert.deepStrictEqual(of(yield* history("r1"), "AutonomyChanged"), [])
    }).pipe(memory)
  )

  describe("layer", () => {
    it("R-216 refuses what is no tier, by name", () => {
      const wrong = { desks: { desk: "high" } } as unknown as Parameters<typeof Tiers.layer>[0]
      assert.throws(
        () => Tiers.layer(wrong),
        `Tiers.layer: desks["desk"] must be one of "low", "medium", "full", got "high"`
      )
      assert.throws(() => Tiers.layer({ desk: {} } as never), "Tiers.layer: each field of options must be one of")
    })
  })

  describe("layerFile", () => {
    const inFile = Effect.map(folder, (path) => {
      const file = join(path, "tiers.json")
      return {
        file,
        layer: Tiers.layerFile(file),
        write: (text: string) => Effect.sync(() => writeFileSync(file, text)),
        remove: Effect.sync(() => rmSync(file))
      }
    })

    it.effect("R-216 is read anew at each start, and when a run is taken up", () =>
      Effect.gen(function* () {
        const { file, layer, write } = yield* inFile
        yield* write(`{ "desks": { "desk": "full" } }`)
        yield* Effect.gen(function* () {
          assert.strictEqual((yield* begun()).tier, "full")
          yield* write(`{ "desks": { "desk": "low" } }`)
          yield* pass("1 minute")
          const outcome = yield* Run.resume(desk(), "r1", { log: false })
          assert.strictEqual(outcome.tier, "low")
          const [change] = of(yield* history("r1"), "AutonomyChanged")
          assert.deepInclude(change, { by: "configuration", note: `${file} says low` })
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer), memory)
    )

    it.effect.each([
      ["is missing", undefined, "the file is not there"],
      ["is no JSON", "{", "the file must be JSON: "],
      [
        "says a tier that there is none",
        `{"desks":{"desk":"high"}}`,
        `desks.desk must be "low" | "medium" | "full", got "high"`
      ],
      ["says one of another desk", `{"desks":{"other":1}}`, `desks.other must be "low" | "medium" | "full", got 1`],
      ["names no desks", `{}`, "desks is required"],
      ["says more", `{"desks":{},"tier":"low"}`, "tier is not a known field"]
    ] as const)("R-216 a file that %s stops the start, and nothing is written", ([, text, expected]) =>
      Effect.gen(function* () {
        const { file, layer, write } = yield* inFile
        if (text !== undefined) yield* write(text)
        const refused = yield* Effect.flip(Effect.provide(begun(), layer))
        assert.strictEqual(refused._tag, "TiersInvalid")
        assert.include(refused.message, `TIERS_INVALID: ${file}: ${expected}`)
        const journal = yield* Journal.Journal
        assert.deepStrictEqual(yield* Stream.runCollect(journal.ids), [])
        // What was said of one run does not need what is said of all.
        assert.strictEqual((yield* Effect.provide(begun({ tier: "full" }), layer)).tier, "full")
      }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer), memory)
    )

    it.effect("R-216 a file that is gone stops the taking up, and the run is as it was", () =>
      Effect.gen(function* () {
        const { layer, remove, write } = yield* inFile
        yield* write(`{ "desks": { "desk": "medium" } }`)
        yield* Effect.gen(function* () {
          yield* begun()
          const before = yield* Run.state("r1")
          yield* remove
          yield* pass("1 minute")
          const office = yield* Office.open(desk(), { log: false })
          const [taken] = yield* Host.pass(office)
          assert.deepInclude(taken, { run: "r1", result: "failed" })
          assert.include(taken?.note, "the file is not there")
          const refused = yield* Effect.flip(Run.resumeIn(office, "r1"))
          assert.strictEqual(refused._tag, "TiersInvalid")
          assert.deepStrictEqual(yield* Run.state("r1"), before)
          yield* write(`{ "desks": {} }`)
          assert.deepInclude((yield* Host.pass(office))[0], { result: "finished" })
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer), memory)
    )
  })
})
