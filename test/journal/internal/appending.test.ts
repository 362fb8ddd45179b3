import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Result, Schema, Stream } from "effect"
import { Journal } from "espalier/journal"

import { canonicalRow, root } from "../../../src/journal/internal/chain.ts"
import { because } from "../../../src/journal/internal/errors.ts"
import { service } from "../../../src/journal/internal/journalService.ts"
import { makeMemory } from "../../../src/journal/internal/memory.ts"
import type { Commit, Store } from "../../../src/journal/internal/store.ts"

const sha = (text: string): string => createHash("sha256").update(text).digest("hex")

const busy = because(new Journal.JournalUnavailable({ location: "memory", problem: "busy", detail: "locked" }))
const readOnly = because(new Journal.JournalReadOnly({ location: "memory" }))

type Write = Store["write"]

/** A store that gathers; each write goes through `through`, which is told how many there were before. */
const storeOf = (
  through: (write: ReturnType<Write>, commits: ReadonlyArray<Commit>, before: number) => ReturnType<Write> = (write) =>
    write
) => {
  const memory = makeMemory()
  const writes: Array<ReadonlyArray<string>> = []
  const heads: Array<string> = []
  const store: Store = {
    ...memory,
    gathers: true,
    digest: sha,
    head: (run) =>
      Effect.suspend(() => {
        heads.push(run)
        return memory.head(run)
      }),
    write: (epoch, commits) =>
      Effect.suspend(() => {
        writes.push(commits.map(({ rows, run }) => `${run}@${rows[0]?.version}`))
        return through(memory.write(epoch, commits), commits, writes.length - 1)
      })
  }
  return { memory, store, writes, heads }
}

/** One who has the same store open, and writes without telling anybody. */
const elsewhere = (memory: Store, run: string, expected: number) =>
  Effect.scoped(Effect.flatMap(service(memory), (journal) => append(journal, run, expected)))

const append = (journal: Journal.Journal["Service"], run: string, expected: number, type = "Stepped") =>
  journal.append({ run, expected, events: [{ type, at: 1, data: { expected } }] })

/** As if they came at one moment. */
const together = <A, E>(all: ReadonlyArray<Effect.Effect<A, E>>) =>
  Effect.forEach(all, (one) => Effect.result(one), { concurrency: "unbounded" })

const told = <A>(results: ReadonlyArray<Result.Result<A, Journal.VersionConflict | Journal.JournalError>>) =>
  results.map((result) =>
    Result.isSuccess(result)
      ? result.success
      : result.failure._tag === "VersionConflict"
        ? `conflict at ${result.failure.actual}`
        : result.failure.reason._tag
  )

/** Whether the hashes that are stored are those that follow from the rows. */
const isChained = (memory: Store, run: string) =>
  memory.page(run, 1, 1000, (rows) => {
    let previous = root
    for (const row of rows) {
      previous = sha(canonicalRow(previous, row))
      if (row.hash !== previous) return false
    }
    return true
  })

describe("appends of several runs", () => {
  it.effect("share a write, in the order in which they came, and each run has its own chain", () =>
    Effect.gen(function* () {
      const { memory, store, writes } = storeOf()
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const results = yield* together(["a", "b", "c"].map((run) => append(journal, run, 0)))
      assert.deepStrictEqual(told(results), [1, 1, 1])
      assert.deepStrictEqual(writes, [["warm@1"], ["a@1", "b@1", "c@1"]])
      assert.deepStrictEqual(told(yield* together(["c", "a"].map((run) => append(journal, run, 1)))), [2, 2])
      for (const run of ["a", "b", "c"]) assert.isTrue(yield* isChained(memory, run), run)
      assert.notStrictEqual((yield* journal.head("a")).hash, (yield* journal.head("c")).hash)
    })
  )

  it.effect("a thousand at once all get their versions, in a few writes", () =>
    Effect.gen(function* () {
      const { store, writes } = storeOf((write) => Effect.andThen(Effect.yieldNow, write))
      const journal = yield* service(store)
      const runs = Array.from({ length: 1000 }, (_, n) => `r${n}`)
      for (let expected = 0; expected < 3; expected++) {
        const results = yield* together(runs.map((run) => append(journal, run, expected)))
        assert.isTrue(results.every((result) => Result.isSuccess(result) && result.success === expected + 1))
      }
      assert.isAtMost(writes.length, 12)
      assert.deepStrictEqual(yield* journal.size(), { events: 3000, bytes: 3000 * '{"expected":0}'.length })
    })
  )

  it.effect("a few that go on side by side share their writes for as long as they do", () =>
    Effect.gen(function* () {
      const { store, writes } = storeOf()
      const journal = yield* service(store)
      const writer = (run: string) =>
        Effect.forEach(
          Array.from({ length: 20 }, (_, n) => n),
          (expected) => Effect.andThen(Effect.yieldNow, append(journal, run, expected))
        )
      yield* Effect.forEach(["a", "b", "c"], writer, { concurrency: "unbounded" })
      // The first one did not know of the others yet, and is ahead of them by one.
      assert.isAtMost(writes.length, 22)
      assert.strictEqual(writes.flat().length, 60)
    })
  )

  it.effect("one run by itself waits for nobody, and its head is asked for once", () =>
    Effect.gen(function* () {
      const { heads, memory, store, writes } = storeOf()
      yield* elsewhere(memory, "a", 0)
      const journal = yield* service(store)
      const fiber = yield* Effect.forkChild(append(journal, "a", 1), { startImmediately: true })
      assert.deepStrictEqual(fiber.pollUnsafe(), Exit.succeed(2))
      yield* append(journal, "a", 2)
      assert.deepStrictEqual([writes, heads], [[["a@2"], ["a@3"]], ["a"]])
    })
  )

  it.effect("of two for one version the first is written, and the second is stale", () =>
    Effect.gen(function* () {
      const { store } = storeOf()
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const results = yield* together([append(journal, "a", 0, "first"), append(journal, "a", 0, "second")])
      assert.deepStrictEqual(told(results), [1, "conflict at 1"])
      const [event] = yield* Stream.runCollect(journal.read("a"))
      assert.strictEqual(event?.type, "first")
    })
  )

  it.effect("one that follows another of the same run is written with it", () =>
    Effect.gen(function* () {
      const { memory, store, writes } = storeOf()
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const results = yield* together([append(journal, "a", 0), append(journal, "b", 0), append(journal, "a", 1)])
      assert.deepStrictEqual(told(results), [1, 1, 2])
      assert.deepStrictEqual(writes[1], ["a@1", "b@1", "a@2"])
      assert.isTrue(yield* isChained(memory, "a"))
    })
  )

  it.effect("nobody is stale because of one that was not written", () =>
    Effect.gen(function* () {
      const { store } = storeOf((write, _, before) => (before === 1 ? Effect.fail(busy) : write))
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const results = yield* together([append(journal, "a", 0, "first"), append(journal, "a", 0, "second")])
      assert.deepStrictEqual(told(results), ["JournalUnavailable", 1])
      const [event] = yield* Stream.runCollect(journal.read("a"))
      assert.strictEqual(event?.type, "second")
    })
  )
})

describe("a write that fails", () => {
  const runs = ["a", "b", "c", "d"]

  it.effect("for a reason that waiting does not mend is tried one by one, and only who is to blame fails", () =>
    Effect.gen(function* () {
      const { memory, store, writes } = storeOf((write, commits) =>
        commits.some(({ run }) => run === "c") ? Effect.fail(readOnly) : write
      )
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      assert.deepStrictEqual(told(yield* together(runs.map((run) => append(journal, run, 0)))), [
        1,
        1,
        "JournalReadOnly",
        1
      ])
      assert.deepStrictEqual(writes.slice(2), [["a@1"], ["b@1"], ["c@1"], ["d@1"]])
      assert.strictEqual(yield* journal.version("c"), 0)
      assert.strictEqual(yield* append(journal, "d", 1), 2)
      assert.isTrue(yield* isChained(memory, "d"))
    })
  )

  it.effect("for a reason that passes is told to all, once, and the same appends succeed later", () =>
    Effect.gen(function* () {
      const { store, writes } = storeOf((write, _, before) => (before === 1 ? Effect.fail(busy) : write))
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const all = runs.map((run) => append(journal, run, 0))
      assert.deepStrictEqual(
        told(yield* together(all)),
        runs.map(() => "JournalUnavailable")
      )
      assert.strictEqual(writes.length, 2)
      assert.deepStrictEqual(
        told(yield* together(all)),
        runs.map(() => 1)
      )
    })
  )

  it.effect("although it has been made is recognised: whoever tries again is told where the run is", () =>
    Effect.gen(function* () {
      let lost = false
      const { memory, store } = storeOf((write) => (lost ? Effect.andThen(write, Effect.fail(busy)) : write))
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      lost = true
      const first = ["a", "b"].map((run) => append(journal, run, 0))
      assert.deepStrictEqual(told(yield* together(first)), ["JournalUnavailable", "JournalUnavailable"])
      lost = false
      assert.deepStrictEqual(told(yield* together(first)), ["conflict at 1", "conflict at 1"])
      lost = true
      const second = ["a", "b"].map((run) => append(journal, run, 1))
      assert.deepStrictEqual(told(yield* together(second)), ["JournalUnavailable", "JournalUnavailable"])
      lost = false
      assert.deepStrictEqual(told(yield* together(second)), ["conflict at 2", "conflict at 2"])
      assert.strictEqual(yield* append(journal, "a", 2), 3)
      assert.isTrue(yield* isChained(memory, "a"))
    })
  )

  it.effect("because of rows that were there already is a conflict for who is stale, and for nobody else", () =>
    Effect.gen(function* () {
      const { memory, store } = storeOf()
      const journal = yield* service(store)
      yield* append(journal, "a", 0)
      yield* append(journal, "b", 0)
      // What this service knows of the heads is not true any more.
      yield* elsewhere(memory, "a", 1)
      yield* elsewhere(memory, "c", 0)
      const all = [append(journal, "a", 1), append(journal, "b", 1), append(journal, "c", 0), append(journal, "d", 0)]
      assert.deepStrictEqual(told(yield* together(all)), ["conflict at 2", 2, "conflict at 1", 1])
      assert.strictEqual(yield* append(journal, "a", 2), 3)
    })
  )

  it.effect("because of rows that no head accounts for is damage, after a few tries", () =>
    Effect.gen(function* () {
      const { store, writes } = storeOf(() => Effect.succeed("collision"))
      const journal = yield* service(store)
      const [result] = yield* together([append(journal, "a", 0)])
      assert.deepStrictEqual(told(result === undefined ? [] : [result]), ["JournalCorrupt"])
      assert.strictEqual(writes.length, 3)
    })
  )

  it.effect("because the head of one run cannot be had leaves the others alone", () =>
    Effect.gen(function* () {
      const { memory, store } = storeOf()
      yield* elsewhere(memory, "a", 0)
      yield* elsewhere(memory, "b", 0)
      const journal = yield* service({
        ...store,
        head: (run) => (run === "a" ? Effect.fail(busy) : store.head(run))
      })
      yield* append(journal, "warm", 0)
      const results = yield* together([append(journal, "a", 1), append(journal, "b", 1), append(journal, "c", 0)])
      assert.deepStrictEqual(told(results), ["JournalUnavailable", 2, 1])
    })
  )

  it.effect("because rows were there already, with a head that cannot be had, can be tried again", () =>
    Effect.gen(function* () {
      const { memory, store } = storeOf()
      yield* elsewhere(memory, "a", 0)
      let down = true
      const journal = yield* service({
        ...store,
        head: (run) => (down && run === "a" ? Effect.fail(busy) : store.head(run))
      })
      yield* append(journal, "warm", 0)
      assert.deepStrictEqual(told(yield* together([append(journal, "a", 0), append(journal, "b", 0)])), [
        "JournalUnavailable",
        1
      ])
      down = false
      assert.deepStrictEqual(told(yield* together([append(journal, "a", 0)])), ["conflict at 1"])
    })
  )

  it.effect("with a bug is a defect of those in it, and the journal goes on", () =>
    Effect.gen(function* () {
      const { store } = storeOf((write, _, before) =>
        before === 1 ? Effect.andThen(Effect.yieldNow, Effect.die(new TypeError("a bug"))) : write
      )
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const exits = yield* Effect.forEach(["a", "b"], (run) => Effect.exit(append(journal, run, 0)), {
        concurrency: "unbounded"
      })
      assert.isTrue(exits.every(Exit.isFailure))
      assert.strictEqual(yield* append(journal, "a", 0), 1)
    })
  )
})

describe("a loss of the journal", () => {
  it.effect("D64 reaches all that are gathered, and nothing is written afterwards", () =>
    Effect.gen(function* () {
      const fenced = because(new Journal.JournalFenced({ location: "memory", epoch: 1, current: 2 }))
      const { store, writes } = storeOf((write, _, before) => (before === 1 ? Effect.fail(fenced) : write))
      const journal = yield* service(store)
      yield* append(journal, "warm", 0)
      const lost = yield* Effect.forkChild(Effect.flip(journal.fenced))
      const results = yield* together(["a", "b", "c"].map((run) => append(journal, run, 0)))
      assert.deepStrictEqual(told(results), ["JournalFenced", "JournalFenced", "JournalFenced"])
      assert.deepStrictEqual(yield* Fiber.join(lost), fenced)
      assert.isFalse(yield* journal.owns)
      assert.deepStrictEqual(told(yield* together([append(journal, "d", 0)])), ["JournalFenced"])
      assert.strictEqual(writes.length, 2)
    })
  )
})

describe("removing a run", () => {
  it.effect("that is written to meanwhile leaves no gap: it begins anew", () =>
    Effect.gen(function* () {
      const { memory, store } = storeOf()
      const journal = yield* service({
        ...store,
        remove: (epoch, run) => Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 5 }), memory.remove(epoch, run))
      })
      yield* append(journal, "a", 0)
      const removing = yield* Effect.forkChild(journal.remove("a"), { startImmediately: true })
      assert.strictEqual(yield* append(journal, "a", 1), 2)
      yield* Fiber.join(removing)
      assert.deepStrictEqual(told(yield* together([append(journal, "a", 2)])), ["conflict at 0"])
      assert.strictEqual(yield* append(journal, "a", 0), 1)
      assert.isTrue(yield* isChained(memory, "a"))
    })
  )
})

describe("whatever happens to the writes", () => {
  const fates = Schema.Array(Schema.Literals(["pass", "pass", "busy", "lost", "guilty", "slow"])).check(
    Schema.isMaxLength(30)
  )
  it.effect.prop(
    "each run ends up with exactly what was acknowledged, or what its writer then found there",
    { fates, writers: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })) },
    ({ fates, writers }) =>
      Effect.gen(function* () {
        const { memory, store } = storeOf((write, _, before) => {
          switch (fates[before]) {
            case "busy":
              return Effect.fail(busy)
            case "guilty":
              return Effect.fail(readOnly)
            case "lost":
              return Effect.andThen(write, Effect.fail(busy))
            case "slow":
              return Effect.andThen(Effect.yieldNow, write)
            default:
              return write
          }
        })
        const journal = yield* service(store)
        /** Writes ten events, and tries each again until it is there. */
        const writer = (n: number) =>
          Effect.gen(function* () {
            for (let expected = 0; expected < 10;) {
              const result = yield* Effect.result(append(journal, `r${n}`, expected, `${expected}`))
              if (Result.isSuccess(result)) expected = result.success
              else if (result.failure._tag === "VersionConflict") {
                assert.strictEqual(result.failure.actual, expected + 1)
                expected += 1
              }
              yield* Effect.yieldNow
            }
          })
        yield* Effect.forEach(
          Array.from({ length: writers }, (_, n) => n),
          writer,
          { concurrency: "unbounded" }
        )
        for (let n = 0; n < writers; n++) {
          const events = yield* Stream.runCollect(journal.read(`r${n}`))
          assert.deepStrictEqual(
            events.map(({ type, version }) => `${version} ${type}`),
            Array.from({ length: 10 }, (_, i) => `${i + 1} ${i}`)
          )
          assert.isTrue(yield* isChained(memory, `r${n}`))
        }
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 50 } }
  )
})
