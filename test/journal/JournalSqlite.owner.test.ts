import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs"
import { hostname } from "node:os"
import { basename, dirname } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Logger, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Journal, JournalSqlite } from "espalier/journal"

import { withProcesses } from "../fixtures/real.ts"
import { run } from "./fixtures/child.ts"
import { connection, freshPath } from "./fixtures/folder.ts"

type Service = Journal.Journal["Service"]

/** The journal of another process, as far as one process can play two. */
const opened = (filename: string, options: Omit<JournalSqlite.Options, "filename"> = {}) =>
  Effect.map(
    Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal", ...options }))),
    (context) => Context.get(context, Journal.Journal)
  )

/** One that can be closed before the test is over. */
const closable = Effect.fnUntraced(function* (filename: string) {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const journal = yield* Effect.provideService(opened(filename), Scope.Scope, scope)
  return { journal, close: Scope.close(scope, Exit.void) }
})

const step = (journal: Service, run: string, expected: number) =>
  journal.append({ run, expected, events: [{ type: "Stepped", at: 0, data: null }] })

const whyNot = <A>(call: Effect.Effect<A, Journal.JournalError | Journal.VersionConflict>) =>
  Effect.map(Effect.flip(call), (error) => (error._tag === "JournalError" ? error.reason : error))

const replace = (path: string): void => {
  copyFileSync(path, `${path}.copy`)
  renameSync(`${path}.copy`, path)
}

const besides = (filename: string) =>
  readdirSync(dirname(filename))
    .filter((name) => name.includes("-owner-"))
    .toSorted()

const name = `${process.pid}@${hostname()}`

describe("the owner of a journal in a file", () => {
  it.effect("is whoever appends first; another one is told who that is, and writes nothing", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const first = yield* opened(filename)
      const second = yield* opened(filename)
      assert.deepStrictEqual([yield* first.owner, yield* first.owns, yield* second.owns], [undefined, false, false])
      yield* TestClock.setTime(1000)
      yield* step(first, "a", 0)
      const owner = { epoch: 1, name, since: 1000, heartbeatAt: 1000, released: false }
      assert.deepStrictEqual([yield* first.own, yield* second.owner, yield* first.owns], [owner, owner, true])
      const owned = new Journal.JournalOwned({
        location: filename,
        owner: name,
        epoch: 1,
        since: 1000,
        heartbeatAt: 1000
      })
      assert.deepStrictEqual(yield* whyNot(step(second, "b", 0)), owned)
      assert.deepStrictEqual(yield* whyNot(second.own), owned)
      assert.deepStrictEqual(yield* whyNot(second.remove("a")), owned)
      assert.deepStrictEqual(yield* whyNot(second.discard([1])), owned)
      assert.deepStrictEqual(yield* whyNot(second.relist("a", { status: "x", desk: "y", startedAt: 0 }, [])), owned)
      assert.deepStrictEqual([yield* second.version("a"), yield* second.version("b"), yield* second.runs()], [1, 0, []])
    }).pipe(Effect.scoped)
  )

  it.effect("that gave the journal back is replaced at once, and its lock is gone", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const epochs: Array<number> = []
      for (let owner = 0; owner < 3; owner++) {
        const { close, journal } = yield* closable(filename)
        yield* step(journal, "a", owner)
        epochs.push((yield* journal.own).epoch)
        assert.deepStrictEqual(besides(filename), [`${basename(filename)}-owner-${owner + 1}`])
        yield* close
        assert.deepStrictEqual(besides(filename), [])
      }
      assert.deepStrictEqual(epochs, [1, 2, 3])
      const last = yield* opened(filename)
      assert.deepInclude(yield* last.owner, { epoch: 3, released: true })
    }).pipe(Effect.scoped)
  )

  it.effect("keeps it for as long as it gives signs of life", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const first = yield* opened(filename)
      const second = yield* opened(filename)
      yield* step(first, "a", 0)
      for (let beat = 1; beat <= 10; beat++) {
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual((yield* second.owner)?.heartbeatAt, beat * 5000)
        assert.strictEqual((yield* whyNot(second.own))._tag, "JournalOwned")
      }
      assert.strictEqual(yield* step(first, "a", 1), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("D64 that stands still is replaced after its lease, not before, and can do nothing any more", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      // It gives a sign of life too late, as one does that stands still.
      const first = yield* opened(filename, { heartbeat: "40 seconds", lease: "41 seconds" })
      const second = yield* opened(filename)
      yield* step(first, "a", 0)
      yield* TestClock.adjust("14999 millis")
      assert.strictEqual((yield* whyNot(second.own))._tag, "JournalOwned")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* second.own).epoch, 2)
      assert.strictEqual(yield* step(second, "a", 1), 2)
      const fenced = new Journal.JournalFenced({ location: filename, epoch: 1, current: 2 })
      const lost = yield* Effect.forkChild(Effect.flip(first.fenced), { startImmediately: true })
      assert.isUndefined(lost.pollUnsafe())
      assert.deepStrictEqual(yield* whyNot(step(first, "a", 2)), fenced)
      assert.deepStrictEqual((yield* Fiber.join(lost)).reason, fenced)
      const calls = [step(first, "b", 0), first.own, first.remove("a"), first.discard([1])]
      for (const call of calls) assert.deepStrictEqual(yield* whyNot<unknown>(call), fenced)
      assert.isFalse(yield* first.owns)
      assert.deepStrictEqual([yield* second.version("a"), yield* second.version("b")], [2, 0])
      // It can still read, and leave word.
      assert.strictEqual(yield* first.command({ run: "a", type: "Said", at: 0, data: null }), 1)
      assert.strictEqual(yield* first.version("a"), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("D64 that was replaced learns it from its next sign of life at the latest", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const first = yield* opened(filename)
      yield* first.own
      const lost = yield* Effect.forkChild(Effect.flip(first.fenced), { startImmediately: true })
      const other = yield* connection(filename)
      other.exec("UPDATE owner SET epoch = 5, heartbeat_at = 77")
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(lost.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(
        (yield* Fiber.join(lost)).reason,
        new Journal.JournalFenced({ location: filename, epoch: 1, current: 5 })
      )
      yield* TestClock.adjust("1 minute")
      assert.deepInclude(yield* first.owner, { epoch: 5, heartbeatAt: 77 })
    }).pipe(Effect.scoped)
  )

  it.effect("D64 of three generations only the last one writes, and closing the former takes nothing from it", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const generations: Array<{ readonly journal: Service; readonly close: Effect.Effect<void> }> = []
      for (let generation = 0; generation < 3; generation++) {
        const one = yield* closable(filename)
        yield* step(one.journal, "a", generation)
        generations.push(one)
        // Nobody is there to say that it lives on.
        const other = yield* connection(filename)
        other.exec("UPDATE owner SET heartbeat_at = -1000000")
      }
      const [one, two, three] = generations
      if (one === undefined || two === undefined || three === undefined) return assert.fail("three were opened")
      assert.deepInclude(yield* whyNot(step(one.journal, "a", 3)), { _tag: "JournalFenced", epoch: 1, current: 3 })
      assert.deepInclude(yield* whyNot(step(two.journal, "a", 3)), { _tag: "JournalFenced", epoch: 2, current: 3 })
      yield* two.close
      yield* one.close
      assert.deepStrictEqual(besides(filename), ["journal.db-owner-3"])
      assert.deepInclude(yield* three.journal.owner, { epoch: 3, released: false })
      assert.strictEqual(yield* step(three.journal, "a", 3), 4)
      yield* three.close
      assert.deepStrictEqual(readdirSync(dirname(filename)).includes("journal.db-owner-3"), false)
    }).pipe(Effect.scoped)
  )

  it.effect("is one of those who claim it at the same moment", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const journals = yield* Effect.forEach([1, 2, 3, 4], () => opened(filename))
      const claims = yield* Effect.forkChild(
        Effect.forEach(journals, (journal) => Effect.result(journal.own), { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("10 seconds")
      const results = yield* Fiber.join(claims)
      const won = results.filter(({ _tag }) => _tag === "Success")
      assert.strictEqual(won.length, 1)
      for (const result of results) {
        if (result._tag === "Failure") assert.strictEqual(result.failure.reason._tag, "JournalOwned")
      }
      assert.deepStrictEqual(besides(filename), ["journal.db-owner-1"])
    }).pipe(Effect.scoped)
  )

  it.effect("waits for somebody who is just claiming it, and is told when that takes too long", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const journal = yield* opened(filename, { busyTimeout: "1 second" })
      const claiming = yield* connection(`${filename}-owner-1`)
      claiming.exec("BEGIN EXCLUSIVE")
      const first = yield* Effect.forkChild(Effect.flip(journal.own))
      yield* TestClock.adjust("2 seconds")
      assert.deepInclude((yield* Fiber.join(first)).reason, { _tag: "JournalUnavailable", problem: "busy" })
      assert.isFalse(yield* journal.owns)
      const second = yield* Effect.forkChild(journal.own)
      yield* TestClock.adjust("500 millis")
      assert.isUndefined(second.pollUnsafe())
      claiming.exec("ROLLBACK")
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(second)).epoch, 1)
    }).pipe(Effect.scoped)
  )

  it.effect("makes up for a sign of life that it could not give, and says so", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const told: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void told.push(String(message)))
      const journal = yield* opened(filename, { busyTimeout: "1 second" }).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.tap((journal) => Effect.provide(step(journal, "a", 0), Logger.layer([logger])))
      )
      const other = yield* connection(filename)
      other.exec("BEGIN IMMEDIATE")
      yield* TestClock.adjust("6 seconds")
      other.exec("ROLLBACK")
      assert.strictEqual(told.length, 1)
      assert.match(told[0] ?? "", /^Journal: no sign of life could be given: the journal .* is unavailable \(busy\)/)
      assert.strictEqual((yield* journal.owner)?.heartbeatAt, 0)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* journal.owner)?.heartbeatAt, 11_000)
      assert.strictEqual(told.length, 1)
      assert.strictEqual(yield* step(journal, "a", 1), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("gives no sign of life any more once its layer has ended", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const { close, journal } = yield* closable(filename)
      yield* journal.own
      yield* close
      yield* TestClock.adjust("1 minute")
      const reader = yield* opened(filename)
      assert.deepStrictEqual(yield* reader.owner, { epoch: 1, name, since: 0, heartbeatAt: 0, released: true })
    }).pipe(Effect.scoped)
  )

  it.effect("cannot be anybody while its lock cannot be made, and that is told with its reason", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const journal = yield* opened(filename)
      mkdirSync(`${filename}-owner-1`)
      const reason = yield* whyNot(step(journal, "a", 0))
      assert.deepInclude(reason, { _tag: "JournalUnavailable", problem: "cannot-open", location: filename })
      assert.deepStrictEqual([yield* journal.version("a"), yield* journal.owner], [0, undefined])
    }).pipe(Effect.scoped)
  )

  // Real time: other processes own the file, are killed, or ask for it; the tests wait for what they print.
  withProcesses(
    "that is killed is replaced at once, although its lease has not run out",
    () =>
      // Live: a real process is killed.
      Effect.gen(function* () {
        const filename = yield* freshPath
        const child = yield* run("owner.ts", [filename])
        assert.strictEqual(yield* Queue.take(child.lines), "owner 1")
        const journal = yield* opened(filename)
        assert.deepInclude(yield* whyNot(journal.own), { _tag: "JournalOwned", epoch: 1 })
        yield* child.kill
        assert.strictEqual((yield* journal.own).epoch, 2)
        assert.strictEqual(yield* step(journal, "a", 1), 2)
        assert.deepStrictEqual(besides(filename), ["journal.db-owner-2"])
      }).pipe(Effect.scoped),
    60_000
  )

  const harms: ReadonlyArray<readonly [string, (filename: string) => void]> = [
    ["is removed", (filename) => rmSync(filename)],
    ["is replaced by a copy of itself", (filename) => replace(filename)],
    ["has its log removed", (filename) => rmSync(`${filename}-wal`)],
    ["has its log replaced", (filename) => replace(`${filename}-wal`)]
  ]
  it.effect.each(harms)("D64 writes nothing any more once its file %s", ([, harm]) =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const journal = yield* opened(filename, { heartbeat: "1 second" })
      yield* step(journal, "a", 0)
      yield* TestClock.adjust("10 seconds")
      assert.isTrue(yield* journal.owns)
      yield* Effect.sync(() => harm(filename))
      yield* TestClock.adjust("1 second").pipe(Effect.provide(Logger.layer([])))
      const fenced = new Journal.JournalFenced({ location: filename, epoch: 1, current: 0 })
      assert.deepStrictEqual(yield* whyNot(journal.fenced), fenced)
      assert.deepStrictEqual(yield* whyNot(step(journal, "a", 1)), fenced)
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([])))
  )

  withProcesses(
    "keeps its lock when others ask for it, from its own process and from another one",
    () =>
      // Live: a lock is one of a process, so another process has to ask for it.
      Effect.gen(function* () {
        const filename = yield* freshPath
        const first = yield* opened(filename)
        yield* step(first, "a", 0)
        const second = yield* opened(filename)
        assert.strictEqual((yield* whyNot(second.own))._tag, "JournalOwned")
        const child = yield* run("owner.ts", [filename])
        assert.strictEqual(yield* Queue.take(child.lines), "JournalOwned")
        assert.strictEqual(yield* step(first, "a", 1), 2)
      }).pipe(Effect.scoped),
    60_000
  )

  withProcesses(
    "does not keep its process alive by its signs of life, and gives the journal back at the end",
    () =>
      // Live: a real process ends by itself.
      Effect.gen(function* () {
        const filename = yield* freshPath
        const child = yield* run("owner.ts", [filename, "leave"])
        assert.strictEqual(yield* Queue.take(child.lines), "owner 1")
        assert.strictEqual(yield* child.exit, 0)
        const journal = yield* opened(filename)
        assert.deepInclude(yield* journal.owner, { epoch: 1, released: true })
        assert.deepStrictEqual(besides(filename), [])
      }).pipe(Effect.scoped),
    60_000
  )

  withProcesses(
    "cannot be in a folder that may not be written: the reason says so",
    () =>
      // Live: another process does it, because root may write everything.
      Effect.gen(function* () {
        const filename = yield* freshPath
        yield* Effect.scoped(Effect.flatMap(opened(filename), (journal) => step(journal, "a", 0)))
        const reader = yield* opened(filename)
        yield* reader.version("a")
        chmodSync(filename, 0o666)
        for (const side of ["-wal", "-shm"]) if (existsSync(filename + side)) chmodSync(filename + side, 0o666)
        chmodSync(dirname(filename), 0o555)
        const child = yield* run("owner.ts", [filename], process.getuid?.() === 0 ? 65_534 : undefined)
        assert.strictEqual(yield* Queue.take(child.lines), "JournalReadOnly")
        chmodSync(dirname(filename), 0o755)
        assert.deepInclude(yield* reader.owner, { epoch: 1, released: true })
      }).pipe(Effect.scoped),
    60_000
  )
})
