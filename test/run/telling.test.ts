import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Host, Notifier, Office, Review, Run } from "espalier/run"

import { desk, history, memory, settle, task, worker } from "./desks.ts"
import { begin, of, pass } from "./living.ts"

const start = { id: "r1", input: "go", log: false } as const

const asks = worker("one", () =>
  Effect.map(Review.ask({ name: "which", question: "Which one?" }), (reply) =>
    reply._tag === "Answered" ? String(reply.value) : reply._tag
  )
)

const asking = desk([asks], [task("a")])

const answer = { review: "r1/review/1", decision: "answer", answer: "this one", by: "ann" } as const

const resume = Run.resume(asking, "r1", { log: false })

/** Somebody who is told, and keeps it. `fails`: how often a notice does not go out. */
const channel = (name: string, fails = 0, options: Partial<Notifier.Channel> = {}) => {
  const notices: Array<Notifier.Notice> = []
  const tried: Array<string> = []
  const send = (notice: Notifier.Notice): Effect.Effect<void, Notifier.NotifyFailed> =>
    Effect.suspend(() => {
      tried.push(notice.what)
      if (tried.length <= fails) {
        return Effect.fail(new Notifier.NotifyFailed({ channel: name, reason: "no luck", retryable: false }))
      }
      notices.push(notice)
      return Effect.void
    })
  const whats = () => notices.map(({ what }) => what)
  return { notices, tried, whats, channel: { name, send, ...options } satisfies Notifier.Channel }
}

const telling = (...channels: ReadonlyArray<Notifier.Channel>) => Effect.provide(Notifier.layer(channels))

const notified = Effect.map(history("r1"), (events) =>
  of(events, "Notified").map(({ channels, ok, what }) => `${what} ${ok} ${channels.map((each) => each.channel).join()}`)
)

/** A journal that writes nothing any more from the first commit on that has such an event. */
const mortal = (journal: Journal.Journal["Service"], type: string) => {
  let dead = false
  return {
    ...journal,
    append: (append: Journal.Append) =>
      Effect.suspend(() => {
        dead ||= append.events.some((event) => event.type.startsWith(type))
        return dead ? Effect.never : journal.append(append)
      })
  }
}

describe("Telling people", () => {
  it.effect("R-306 is told that they are asked, and that it is decided, also in the last commit of the run", () =>
    Effect.gen(function* () {
      const chat = channel("chat")
      const first = yield* Run.start(asking, start).pipe(telling(chat.channel))
      assert.strictEqual(first.status, "waiting")
      assert.deepStrictEqual(chat.whats(), ["created"])
      const [{ summary, to } = { summary: "", to: [] }] = chat.notices
      assert.deepStrictEqual([to, summary.includes("Which one?")], [["anyone"], false])
      yield* Run.decide(answer)
      const last = yield* resume.pipe(telling(chat.channel))
      assert.strictEqual(last.status, "completed")
      assert.deepStrictEqual(chat.whats(), ["created", "decided"])
      assert.deepStrictEqual(yield* notified, ["created true chat", "decided true chat"])
    }).pipe(memory)
  )

  it.effect("R-306 nothing is owed or written where nobody is to be told", () =>
    Effect.gen(function* () {
      yield* Run.start(asking, start)
      yield* Run.decide(answer)
      yield* resume
      assert.deepStrictEqual(yield* notified, [])
    }).pipe(memory)
  )

  it.effect("R-306 what somebody decides too late, after the end, is told when the run is looked at again", () =>
    Effect.gen(function* () {
      const chat = channel("chat")
      yield* Run.start(asking, start).pipe(telling(chat.channel))
      yield* Run.decide(answer)
      yield* resume.pipe(telling(chat.channel))
      yield* Effect.flip(Run.decide({ ...answer, by: "bob" }))
      const again = yield* resume.pipe(telling(chat.channel))
      assert.strictEqual(again.status, "completed")
      assert.deepStrictEqual(chat.whats(), ["created", "decided", "late-attempt"])
      assert.strictEqual((yield* history("r1")).at(-1)?._tag, "Notified")
      yield* resume.pipe(telling(chat.channel))
      assert.deepStrictEqual(chat.whats(), ["created", "decided", "late-attempt"])
    }).pipe(memory)
  )

  it.effect("R-306 who dies between telling and writing it down tells again, with the same id", () =>
    Effect.gen(function* () {
      const chat = channel("chat")
      const journal = yield* Journal.Journal
      const dying = Run.start(asking, start).pipe(
        Effect.provideService(Journal.Journal, mortal(journal, "Notified")),
        telling(chat.channel)
      )
      yield* Effect.forkDetach(dying)
      yield* settle
      assert.deepStrictEqual([chat.whats(), yield* notified], [["created"], []])
      assert.strictEqual((yield* resume.pipe(telling(chat.channel))).status, "waiting")
      assert.deepStrictEqual(chat.whats(), ["created", "created"])
      assert.strictEqual(chat.notices[0]?.id, chat.notices[1]?.id)
      assert.deepStrictEqual(yield* notified, ["created true chat"])
    }).pipe(memory)
  )

  it.effect(
    "R-306 a process that dies before it has told anybody owes it to the next one, the end of the run, too",
    () =>
      Effect.gen(function* () {
        const stuck = channel("chat", 0, { send: () => Effect.never, timeout: "1 day" })
        const chat = channel("chat")
        yield* Run.start(asking, start).pipe(telling(chat.channel))
        yield* Run.decide(answer)
        const dying = yield* Effect.forkChild(resume.pipe(telling(stuck.channel)))
        yield* settle
        assert.strictEqual((yield* Run.state("r1")).status, "completed")
        yield* Fiber.interrupt(dying)
        assert.deepStrictEqual((yield* history("r1")).at(-1)?._tag, "RunFinished")
        yield* resume.pipe(telling(chat.channel))
        assert.deepStrictEqual(chat.whats(), ["created", "decided"])
      }).pipe(memory)
  )

  it.effect("R-306 a channel that never answers keeps the run for three minutes, and no longer", () =>
    Effect.gen(function* () {
      const stuck = channel("chat", 0, { send: () => Effect.never, timeout: "1 day" })
      const run = yield* begin(Run.start(asking, start).pipe(telling(stuck.channel)))
      yield* pass("179 seconds")
      assert.isFalse(yield* run.over)
      yield* pass("1 second")
      assert.strictEqual((yield* run.join).status, "waiting")
      assert.deepStrictEqual(yield* notified, [])
    }).pipe(memory)
  )

  it.effect("R-306 goes on with an answer that comes while it still tells people of the question", () =>
    Effect.gen(function* () {
      const told = yield* Deferred.make<void>()
      const slow = channel("chat", 0, {
        send: () => Effect.andThen(Deferred.done(told, Exit.void), Effect.sleep("5 seconds"))
      })
      const run = yield* begin(Run.start(asking, start).pipe(telling(slow.channel)))
      yield* Deferred.await(told)
      yield* Run.decide(answer)
      yield* pass("5 seconds")
      yield* pass("5 seconds")
      assert.strictEqual((yield* run.join).status, "completed")
      assert.deepStrictEqual(yield* notified, ["created true chat", "decided true chat"])
    }).pipe(memory)
  )

  it.effect(
    "R-306 what has failed is written, tried again where it has not come through, and given up after five times",
    () =>
      Effect.gen(function* () {
        const log = channel("log")
        const chat = channel("chat", 100)
        const both = telling(log.channel, chat.channel)
        yield* Run.start(asking, start).pipe(both)
        for (let n = 0; n < 8; n++) yield* resume.pipe(both)
        assert.deepStrictEqual([log.tried.length, chat.tried.length], [1, 5])
        const events = of(yield* history("r1"), "Notified")
        assert.deepStrictEqual(
          events.map(({ channels, ok }) => [ok, channels.map((each) => each.channel).join()]),
          [
            [false, "log,chat"],
            [false, "chat"],
            [false, "chat"],
            [false, "chat"],
            [false, "chat"]
          ]
        )
        assert.strictEqual(events[0]?.channels[1]?.reason, "no luck")
        assert.match(events[3]?.note ?? "", /tried again/)
        assert.match(events[4]?.note ?? "", /has failed 5 times and is given up/)
      }).pipe(memory)
  )

  it.effect("R-306 a reminder is an occasion to tell once more what has failed", () =>
    Effect.gen(function* () {
      const chat = channel("chat", 1)
      yield* Run.start(asking, start).pipe(telling(chat.channel))
      assert.deepStrictEqual([chat.tried, chat.whats()], [["created"], []])
      yield* TestClock.adjust("12 hours")
      yield* resume.pipe(telling(chat.channel))
      assert.deepStrictEqual(chat.whats(), ["created", "reminder"])
      assert.deepStrictEqual(yield* notified, ["created false chat", "created true chat", "reminder true chat"])
    }).pipe(memory)
  )

  it.effect("R-306 leaves people alone while it is quiet, and tells them when that is over", () =>
    Effect.gen(function* () {
      const chat = channel("chat")
      const quiet = Notifier.quiet({ from: "22:00", until: "07:00", zone: "UTC" })(chat.channel)
      yield* TestClock.setTime(23 * 3_600_000)
      // Something else goes on all night.
      const two = worker("two", () => Effect.as(Effect.sleep("20 hours"), "done"), { attemptTimeout: "1 day" })
      const busy = desk([asks, two], [task("a"), task("b", { worker: "d.two" })])
      const run = yield* Effect.forkChild(Run.start(busy, start).pipe(telling(quiet)))
      yield* pass("7 hours")
      assert.deepStrictEqual([chat.whats(), yield* notified], [[], []])
      yield* pass("1 hour")
      assert.deepStrictEqual([chat.whats(), yield* notified], [["created"], ["created true chat"]])
      yield* Fiber.interrupt(run)
    }).pipe(memory)
  )

  it.effect("R-306 a host tells what was decided straight into the journal", () =>
    Effect.gen(function* () {
      const chat = channel("chat")
      yield* Run.start(asking, start).pipe(telling(chat.channel))
      yield* Run.decide(answer)
      const office = yield* Office.open(asking, { log: false })
      const taken = yield* Host.pass(office).pipe(telling(chat.channel))
      assert.deepStrictEqual([taken.map(({ result }) => result), chat.whats()], [["finished"], ["created", "decided"]])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-306 does not wait for what is only held back", () =>
    Effect.gen(function* () {
      const chat = channel("chat")
      const quiet = Notifier.quiet({ from: "22:00", until: "07:00", zone: "UTC" })(chat.channel)
      yield* TestClock.setTime(23 * 3_600_000)
      const run = yield* begin(Run.start(asking, start).pipe(telling(quiet)))
      assert.isTrue(yield* run.over)
      yield* TestClock.adjust("8 hours")
      yield* resume.pipe(telling(quiet))
      assert.deepStrictEqual([chat.whats(), yield* notified], [["created"], ["created true chat"]])
    }).pipe(memory)
  )

  it.effect("R-306 sends four notices at once", () =>
    Effect.gen(function* () {
      let now = 0
      let highest = 0
      const order: Array<string> = []
      const slow: Notifier.Channel = {
        name: "chat",
        send: ({ review, what }) =>
          Effect.gen(function* () {
            highest = Math.max(highest, ++now)
            yield* Effect.sleep("1 second")
            now--
            order.push(`${what} ${review.slice(-1)}`)
          })
      }
      const many = worker("one", () =>
        Effect.as(
          Effect.forEach([1, 2, 3, 4, 5, 6], (n) => Review.ask({ name: "q", occurrence: n, question: `${n}?` }), {
            concurrency: "unbounded"
          }),
          "done"
        )
      )
      const built = desk([many], [task("a")])
      const run = yield* begin(Run.start(built, start).pipe(telling(slow)))
      yield* pass("1 second")
      assert.deepStrictEqual([highest, order.length], [4, 4])
      yield* pass("1 second")
      yield* pass("1 second")
      yield* run.join
      assert.deepStrictEqual([highest, order.length], [4, 6])
    }).pipe(memory)
  )
})
