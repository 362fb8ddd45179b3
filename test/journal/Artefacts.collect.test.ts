/** What is referred to is never collected, whatever happens while artefacts are collected. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, Journal, Reference } from "espalier/journal"

/** What a program does, one after the other, while artefacts are collected again and again. */
const Step = Schema.Union([
  Schema.TaggedStruct("Put", { content: Schema.Literals([0, 1, 2, 3, 4]) }),
  Schema.TaggedStruct("Refer", { content: Schema.Literals([0, 1, 2, 3, 4]) }),
  Schema.TaggedStruct("Wait", { minutes: Schema.Literals([1, 10, 40, 70]) }),
  Schema.TaggedStruct("Yield", { times: Schema.Literals([1, 2, 5]) })
])

describe("collect", () => {
  it.effect.prop(
    "D56 never removes what an event refers to, in any order of putting, referring, waiting and collecting",
    { steps: Schema.Array(Step) },
    ({ steps }) =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const journal = yield* Journal.Journal
        const lastPut = new Map<number, { readonly at: number; readonly reference: Reference.Reference }>()
        const referred = new Map<string, Reference.Reference>()
        let now = 0
        let version = 0

        /** References come one by one, and others do things in between. */
        const slowly = Artefacts.references.pipe(
          Stream.rechunk(1),
          Stream.tap(() => Effect.yieldNow)
        )
        const collecting = yield* Effect.forkChild(
          Effect.forever(
            Effect.andThen(artefacts.collect({ olderThan: "1 hour", references: slowly }), Effect.sleep("7 minutes"))
          )
        )
        for (const step of steps) {
          if (step._tag === "Put") {
            const reference = yield* artefacts.put(`content ${step.content}`)
            lastPut.set(step.content, { at: now, reference })
          } else if (step._tag === "Refer") {
            // The promise of who refers: an artefact is put in at most an hour before.
            const kept = lastPut.get(step.content)
            if (kept === undefined || now - kept.at > 60) continue
            const { reference } = kept
            version = yield* journal.append({
              run: "a",
              expected: version,
              events: [{ type: "Referred", at: now, data: { ...reference } }],
              listing: { status: "running", desk: "d", startedAt: 0 }
            })
            referred.set(reference.hash, reference)
          } else if (step._tag === "Wait") {
            yield* TestClock.adjust(Duration.minutes(step.minutes))
            now += step.minutes
          } else {
            for (let time = 0; time < step.times; time++) yield* Effect.yieldNow
          }
          for (const reference of referred.values()) assert.isTrue(yield* artefacts.has(reference))
        }
        yield* Fiber.interrupt(collecting)
        // And in the end all the rest goes.
        yield* TestClock.adjust("3 hours")
        yield* artefacts.collect({ olderThan: "1 hour", references: Artefacts.references })
        for (const { reference } of lastPut.values()) {
          assert.strictEqual(yield* artefacts.has(reference), referred.has(reference.hash))
        }
      }).pipe(Effect.provide(Artefacts.layerMemory()), Effect.provide(Journal.layerMemory)),
    { arbitrary: { runs: 200 } }
  )
})

const referenceOf = (text: string) =>
  Effect.flatMap(Artefacts.Artefacts, ({ put }) => put(text)).pipe(Effect.provide(Artefacts.layerMemory()))

describe("references", () => {
  it.effect("are the hashes in all events of all runs, and in what was left for their owner", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const [one, two] = [yield* referenceOf("one"), yield* referenceOf("two")]
      yield* journal.command({ run: "a", type: "Decide", at: 0, data: { ...two } })
      for (const [run, data] of [
        ["a", { result: { outputRef: { ...one } } }],
        ["b", [`see ${two.hash}, and ${one.hash}`]],
        ["c", "nothing"]
      ] as const) {
        yield* journal.append({
          run,
          expected: 0,
          events: [{ type: "Kept", at: 0, data }],
          listing: { status: "running", desk: "d", startedAt: 0 }
        })
      }
      const found = yield* Stream.runCollect(Artefacts.references)
      assert.deepStrictEqual(found.toSorted(), [one.hash, one.hash, one.hash, two.hash, two.hash, two.hash].toSorted())
    }).pipe(Effect.provide(Journal.layerMemory))
  )
})

describe("hashesIn", () => {
  const hash = `sha256:${"0a".repeat(32)}`
  const table: ReadonlyArray<readonly [Schema.Json, ReadonlyArray<string>]> = [
    [null, []],
    [hash, [hash]],
    [{ a: [{ uri: `artefact:${hash}`, hash }] }, [hash, hash]],
    [{ [hash]: "a key" }, [hash]],
    [`"${hash}"\\n${hash}f`, [hash, hash]],
    [hash.toUpperCase(), []],
    [hash.slice(0, -1), []]
  ]
  it.each(table)("finds what stands in %j", (value, expected) => {
    assert.deepStrictEqual(Reference.hashesIn(value), expected)
  })
})
