import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Deferred, Duration, Effect, Exit, Fiber, Logger, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { Dependency, Health, HttpFailure, Office, Recovery, Run } from "espalier/run"

import { desk, memory, settle, task, worker } from "./desks.ts"

class Unmarked extends Data.TaggedError("Unmarked")<{ readonly cause?: unknown }> {}

/** A provider that can be told how to answer, and counts who asked when, in seconds. */
class Provider {
  readonly asked: Array<number> = []
  answer: Effect.Effect<string, unknown> = Effect.succeed("fine")

  readonly request = TestClock.testClockWith((clock) =>
    Effect.suspend(() => {
      this.asked.push(clock.currentTimeMillisUnsafe() / 1_000)
      return this.answer
    })
  )
}

const down = Effect.suspend(() => Effect.fail(Failure.transient("down")))
const limited = (seconds: number) =>
  Effect.suspend(() => Effect.fail(Failure.transient("HTTP 429", { retryAfter: seconds * 1_000 })))

/** A provider behind a dependency of the name `p`, and what became of each call, in short. */
const setup = (options?: Dependency.Options) => {
  const dependency = Dependency.make(options)
  const provider = new Provider()
  const call = dependency.call("p", provider.request)
  const changes: Array<string> = []
  dependency.changes(({ note }) => changes.push(note))
  const outcome = Effect.map(Effect.exit(call), (exit) => {
    if (Exit.isSuccess(exit)) return exit.value
    const error = Cause.squash(exit.cause)
    if (!(error instanceof Dependency.DependencyOpen)) return "failed"
    return `${error.because}${error.retryAfterMillis === undefined ? "" : ` ${error.retryAfterMillis}`}`
  })
  const times = (count: number) => Effect.all(Array.from({ length: count }, () => outcome))
  return { dependency, provider, call, outcome, times, changes }
}

const open = Effect.fnUntraced(function* (options?: Dependency.Options) {
  const all = setup(options)
  all.provider.answer = down
  yield* all.times(5)
  all.provider.asked.length = 0
  return all
})

describe("Dependency", () => {
  describe("call", () => {
    it.effect("R-209 the fifth failure in a row opens it for 30 seconds, and calls fail at once", () =>
      Effect.gen(function* () {
        const { changes, dependency, outcome, provider, times } = setup()
        provider.answer = down
        assert.deepStrictEqual(yield* times(4), ["failed", "failed", "failed", "failed"])
        assert.deepStrictEqual(yield* dependency.states, [])
        assert.deepStrictEqual(yield* times(3), ["failed", "failing 30000", "failing 30000"])
        yield* TestClock.adjust("12 seconds")
        assert.strictEqual(yield* outcome, "failing 18000")
        assert.strictEqual(provider.asked.length, 5)
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "open", until: 30_000 }])
        assert.deepStrictEqual(changes, ["p gets no call for 30s: 5 calls failed in a row"])
      })
    )

    it.effect("R-209 a success in between begins the count anew", () =>
      Effect.gen(function* () {
        const { dependency, outcome, provider, times } = setup()
        for (const answer of [down, Effect.succeed("fine"), down]) {
          provider.answer = answer
          yield* times(answer === down ? 4 : 1)
        }
        assert.deepStrictEqual(yield* dependency.states, [])
        yield* outcome
        assert.deepStrictEqual(
          (yield* dependency.states).map(({ status }) => status),
          ["open"]
        )
      })
    )

    it.effect("R-209 after the pause one call is the probe, everybody else is refused, then all are let through", () =>
      Effect.gen(function* () {
        const { call, changes, dependency, outcome, provider, times } = yield* open()
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "ready-for-probe" }])
        const answer = yield* Deferred.make<string>()
        provider.answer = Deferred.await(answer)
        const probe = yield* Effect.forkChild(call)
        yield* settle
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "probing" }])
        assert.deepStrictEqual(yield* times(3), ["probing", "probing", "probing"])
        yield* Deferred.succeed(answer, "fine")
        assert.strictEqual(yield* Fiber.join(probe), "fine")
        assert.strictEqual(yield* outcome, "fine")
        assert.deepStrictEqual(yield* dependency.states, [])
        assert.deepStrictEqual(changes.slice(1), [
          "p is probed by one call: its pause is over",
          "p takes every call again: the probe was answered"
        ])
      })
    )

    it.effect("R-209 a probe that fails begins another pause, as long as the failure says", () =>
      Effect.gen(function* () {
        const { changes, outcome, provider, times } = yield* open()
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(yield* times(2), ["failed", "failing 30000"])
        yield* TestClock.adjust("30 seconds")
        provider.answer = limited(7)
        assert.deepStrictEqual(yield* times(2), ["failed", "failing 7000"])
        assert.strictEqual(changes.at(-1), "p gets no call for 7s: the probe failed")
        yield* TestClock.adjust("7 seconds")
        provider.answer = Effect.succeed("fine")
        assert.strictEqual(yield* outcome, "fine")
      })
    )

    it.effect("D08 a probe that is interrupted gives its place to the next call", () =>
      Effect.gen(function* () {
        const { call, changes, dependency, outcome, provider } = yield* open()
        yield* TestClock.adjust("30 seconds")
        provider.answer = Effect.never
        const probe = yield* Effect.forkChild(call)
        yield* settle
        yield* Fiber.interrupt(probe)
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "ready-for-probe" }])
        assert.strictEqual(changes.at(-1), "p is ready for another probe: the probe ended without an answer")
        provider.answer = Effect.succeed("fine")
        assert.strictEqual(yield* outcome, "fine")
      })
    )

    it.effect("D08 six interrupted calls in a row are no failure", () =>
      Effect.gen(function* () {
        const { call, dependency, outcome, provider, times } = setup()
        provider.answer = down
        yield* times(4)
        provider.answer = Effect.never
        for (let number = 0; number < 6; number++) {
          const fiber = yield* Effect.forkChild(call)
          yield* settle
          yield* Fiber.interrupt(fiber)
        }
        assert.deepStrictEqual(yield* dependency.states, [])
        provider.answer = down
        yield* outcome
        assert.strictEqual((yield* dependency.states).length, 1)
      })
    )

    const answers: ReadonlyArray<readonly [string, Effect.Effect<string, unknown>, "closed" | "open" | "four"]> = [
      ["a transient failure", down, "open"],
      ["an error without a kind", Effect.suspend(() => Effect.fail(new Unmarked({}))), "open"],
      ["a text as an error", Effect.fail("ECONNREFUSED"), "open"],
      ["a time-out", Effect.suspend(() => Effect.fail(new Cause.TimeoutError())), "open"],
      ["capability", Effect.suspend(() => Effect.fail(Failure.capability("no"))), "closed"],
      ["denied", Effect.suspend(() => Effect.fail(Failure.denied("no"))), "closed"],
      ["oversized", Effect.suspend(() => Effect.fail(Failure.oversized("no"))), "closed"],
      ["malformed", Effect.suspend(() => Effect.fail(Failure.malformed("no"))), "closed"],
      ["exhausted", Effect.suspend(() => Effect.fail(Failure.exhausted("no"))), "four"],
      ["a bug", Effect.die(new TypeError("bug")), "four"],
      ["a bug beside an error", Effect.failCause(Cause.combine(Cause.fail("e"), Cause.die("bug"))), "four"],
      ["a marked defect", Effect.suspend(() => Effect.die(Failure.transient("lost"))), "open"]
    ]
    it.effect.each(answers)("R-209 %s after four failures leaves it %s", ([, answer, after]) =>
      Effect.gen(function* () {
        const { dependency, outcome, provider, times } = setup()
        provider.answer = down
        yield* times(4)
        provider.answer = answer
        yield* outcome
        assert.strictEqual((yield* dependency.states).length, after === "open" ? 1 : 0)
        provider.answer = down
        yield* outcome
        // What says nothing leaves the count where it was; an answer begins it anew.
        assert.strictEqual((yield* dependency.states).length, after === "closed" ? 0 : 1)
      })
    )

    it.effect("goes by what the call's classifier says, then by the one in context", () =>
      Effect.gen(function* () {
        const dependency = Dependency.make({ failures: 1 })
        const http = Effect.suspend(() => Effect.fail({ status: 429, headers: { "retry-after": "9" } }))
        yield* Effect.flip(dependency.call("p", http, { classify: HttpFailure.classify }))
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "open", until: 9_000 }])

        yield* Effect.flip(dependency.call("q", Effect.fail("no such file"), { classify: () => "capability" }))
        const classifier = (error: unknown) => (error === "no such file" ? ("denied" as const) : undefined)
        yield* dependency
          .call("r", Effect.fail("no such file"), { classify: () => undefined })
          .pipe(Effect.flip, Effect.provideService(Failure.Classifier, classifier))
        assert.strictEqual((yield* dependency.states).length, 1)

        yield* Effect.flip(
          dependency.call("s", Effect.fail("e"), {
            classify: () => {
              throw new Error("no opinion")
            }
          })
        )
        assert.strictEqual((yield* dependency.states).length, 2)
      })
    )

    it.effect("the refusal by another dependency inside is not charged to the one outside", () =>
      Effect.gen(function* () {
        const dependency = Dependency.make({ failures: 1 })
        yield* Effect.flip(dependency.call("model", down))
        const error = yield* Effect.flip(dependency.call("provider", dependency.call("model", down)))
        assert.strictEqual(Dependency.blame(error), "model")
        assert.deepStrictEqual(
          (yield* dependency.states).map(({ dependency }) => dependency),
          ["model"]
        )
      })
    )

    it.effect("fails as the call failed, and refuses with a transient error that is plain data", () =>
      Effect.gen(function* () {
        const dependency = Dependency.make({ failures: 1 })
        const own = new Unmarked({})
        assert.strictEqual(yield* Effect.flip(dependency.call("p", Effect.fail(own))), own)
        const refused = yield* Effect.flip(dependency.call("p", Effect.void))
        assert.instanceOf(refused, Dependency.DependencyOpen)
        assert.strictEqual(refused.message, "p keeps failing: no call for another 30s")
        assert.strictEqual(Failure.kindOf(refused), "transient")
        const json: unknown = JSON.parse(JSON.stringify(Schema.encodeSync(Dependency.DependencyOpen)(refused)))
        assert.deepStrictEqual(json, {
          _tag: "DependencyOpen",
          dependency: "p",
          because: "failing",
          retryAfterMillis: 30_000
        })
      })
    )
  })

  describe("a hint", () => {
    it.effect("D41 of one caller holds back the others, and afterwards everybody may call", () =>
      Effect.gen(function* () {
        const { changes, dependency, outcome, provider, times } = setup()
        provider.answer = limited(30)
        assert.deepStrictEqual(yield* times(3), ["failed", "asked-to-wait 30000", "asked-to-wait 30000"])
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "held", until: 30_000 }])
        yield* TestClock.adjust(29_999)
        assert.strictEqual(yield* outcome, "asked-to-wait 1")
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* dependency.states, [])
        provider.answer = Effect.succeed("fine")
        assert.deepStrictEqual(yield* times(2), ["fine", "fine"])
        assert.deepStrictEqual(provider.asked, [0, 30, 30])
        assert.deepStrictEqual(changes, [
          "p gets no call for 30s: it asked to be left alone",
          "p takes every call again: its pause is over"
        ])
      })
    )

    it.effect("D41 counts in the row, and opens it in the end", () =>
      Effect.gen(function* () {
        const { outcome, provider } = setup()
        provider.answer = limited(1)
        for (let number = 0; number < 5; number++) {
          yield* outcome
          if (number < 4) yield* TestClock.adjust("1 second")
        }
        assert.strictEqual(yield* outcome, "failing 1000")
      })
    )

    it.effect("of zero, negative or of more than the longest pause", () =>
      Effect.gen(function* () {
        const { dependency, outcome, provider } = setup({ longest: "1 minute" })
        for (const millis of [0, -5, Number.NaN]) {
          provider.answer = Effect.suspend(() => Effect.fail({ [Failure.kind]: "transient", retryAfterMillis: millis }))
          yield* outcome
        }
        assert.deepStrictEqual(yield* dependency.states, [])
        provider.answer = limited(86_400)
        yield* outcome
        assert.strictEqual(yield* outcome, "asked-to-wait 60000")
      })
    )

    it.effect("of a call from before the opening is heard, its end is not counted", () =>
      Effect.gen(function* () {
        const { call, dependency, provider, times } = setup()
        const late = yield* Deferred.make<string, unknown>()
        const good = yield* Deferred.make<string, unknown>()
        provider.answer = Deferred.await(late)
        const one = yield* Effect.forkChild(Effect.exit(call))
        yield* settle
        provider.answer = Deferred.await(good)
        const two = yield* Effect.forkChild(Effect.exit(call))
        yield* settle
        provider.answer = down
        yield* times(5)
        yield* Deferred.succeed(good, "late")
        yield* Fiber.join(two)
        assert.deepStrictEqual(
          (yield* dependency.states).map(({ until }) => until),
          [30_000]
        )
        yield* Deferred.fail(late, Failure.transient("429", { retryAfter: "50 seconds" }))
        yield* Fiber.join(one)
        assert.deepStrictEqual(
          (yield* dependency.states).map(({ until }) => until),
          [50_000]
        )
      })
    )

    it.effect("of a call from before the opening holds it back after the probe too", () =>
      Effect.gen(function* () {
        const { call, dependency, outcome, provider, times } = setup({ failures: 2 })
        const late = yield* Deferred.make<string, unknown>()
        provider.answer = Deferred.await(late)
        const fiber = yield* Effect.forkChild(Effect.exit(call))
        yield* settle
        provider.answer = down
        yield* times(2)
        yield* TestClock.adjust("30 seconds")
        provider.answer = Effect.succeed("fine")
        yield* outcome
        provider.answer = down
        yield* outcome
        yield* Deferred.fail(late, Failure.transient("429", { retryAfter: "5 seconds" }))
        yield* Fiber.join(fiber)
        // Held for the hint, not opened by the count.
        assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "held", until: 35_000 }])
      })
    )
  })

  describe("spacing", () => {
    /** A worker as a run makes one: it asks, waits as the ladder says, and asks again. */
    const persist = <A, E>(call: Effect.Effect<A, E>, attempt = 1): Effect.Effect<A, E> =>
      Effect.catch(call, (error) => {
        const asks = Failure.retryAfterOf(error)
        const retryAfterMillis = asks === undefined ? undefined : Duration.toMillis(asks)
        const step = Recovery.retry({ kind: "transient", attempt, retryAfterMillis, random: 0.5 })
        return step._tag === "Final"
          ? Effect.fail(error)
          : Effect.andThen(Effect.sleep(step.millis), persist(call, attempt + 1))
      })

    it.effect("D41 20 workers and one 429 with 30 s: no request before 30 s, then one a second", () =>
      Effect.gen(function* () {
        const { call, provider } = setup({ spacing: "1 second" })
        provider.answer = limited(30)
        const workers = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 20 }, () => persist(call)),
            { concurrency: "unbounded" }
          )
        )
        yield* settle
        provider.answer = Effect.succeed("fine")
        yield* TestClock.adjust("2 minutes")
        yield* Fiber.join(workers)
        assert.deepStrictEqual(provider.asked, [0, ...Array.from({ length: 20 }, (_, index) => 30 + index)])
      })
    )

    it.effect("an interrupted wait leaves a gap and nothing else, and a place in line is lost when it closes", () =>
      Effect.gen(function* () {
        const { dependency, outcome, provider } = setup({ spacing: "10 seconds" })
        yield* outcome
        const second = yield* Effect.forkChild(outcome)
        yield* settle
        const third = yield* Effect.forkChild(outcome)
        yield* settle
        yield* Fiber.interrupt(second)
        provider.answer = limited(5)
        yield* TestClock.adjust("20 seconds")
        assert.strictEqual(yield* Fiber.join(third), "failed")
        // The pause is over before the next turn comes; the turn is kept.
        yield* TestClock.adjust("6 seconds")
        assert.deepStrictEqual(yield* dependency.states, [])
        provider.answer = limited(60)
        const fourth = yield* Effect.forkChild(outcome)
        yield* settle
        const fifth = yield* Effect.forkChild(outcome)
        yield* TestClock.adjust("4 seconds")
        assert.strictEqual(yield* Fiber.join(fourth), "failed")
        // It learns at once, not in its turn.
        assert.strictEqual(yield* Fiber.join(fifth), "asked-to-wait 60000")
        assert.deepStrictEqual(provider.asked, [0, 20, 30])
      })
    )

    it.effect("places in a line that was given up are free again", () =>
      Effect.gen(function* () {
        const { outcome, provider, times } = setup({ spacing: "10 seconds" })
        yield* outcome
        provider.answer = limited(5)
        const line = yield* Effect.forkChild(Effect.all([outcome, outcome, outcome], { concurrency: "unbounded" }))
        yield* settle
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(yield* Fiber.join(line), ["failed", "asked-to-wait 5000", "asked-to-wait 5000"])
        provider.answer = Effect.succeed("fine")
        yield* TestClock.adjust("5 seconds")
        const next = yield* Effect.forkChild(times(1))
        yield* settle
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* Fiber.join(next), ["fine"])
        assert.deepStrictEqual(provider.asked, [0, 10, 20])
      })
    )

    it.effect("nobody starts before his turn because another call ended", () =>
      Effect.gen(function* () {
        const { outcome, provider } = setup({ spacing: "10 seconds" })
        const answer = yield* Deferred.make<string>()
        provider.answer = Deferred.await(answer)
        const long = yield* Effect.forkChild(outcome)
        yield* settle
        provider.answer = limited(5)
        yield* TestClock.adjust("10 seconds")
        yield* outcome
        yield* TestClock.adjust("6 seconds")
        const next = yield* Effect.forkChild(outcome)
        yield* settle
        yield* Deferred.succeed(answer, "fine")
        yield* Fiber.join(long)
        yield* settle
        assert.isUndefined(next.pollUnsafe())
        yield* TestClock.adjust("4 seconds")
        yield* Fiber.join(next)
        assert.deepStrictEqual(provider.asked, [0, 10, 20])
      })
    )

    it.effect("is each dependency's own", () =>
      Effect.gen(function* () {
        const dependency = Dependency.make({
          failures: 1,
          dependencies: { slow: { spacing: "1 second", failures: 2 } }
        })
        yield* Effect.flip(dependency.call("slow", down))
        yield* Effect.flip(dependency.call("other", down))
        const fiber = yield* Effect.forkChild(dependency.call("slow", Effect.succeed("fine")))
        yield* settle
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(fiber), "fine")
        assert.deepStrictEqual(
          (yield* dependency.states).map(({ dependency }) => dependency),
          ["other"]
        )
      })
    )
  })

  it.effect("D44 50 workers ask every second for 10 minutes: no more calls than the threshold and the probes", () =>
    Effect.gen(function* () {
      const { call, dependency, provider } = setup()
      provider.answer = down
      let served = 0
      const one = Effect.gen(function* () {
        for (;;) {
          const exit = yield* Effect.exit(call)
          if (Exit.isSuccess(exit)) served += 1
          yield* Effect.sleep("1 second")
        }
      })
      const workers = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 50 }, () => one),
          { concurrency: "unbounded" }
        )
      )
      yield* settle
      yield* TestClock.adjust("599 seconds")
      // Five to open it, and a probe every 30 seconds.
      assert.strictEqual(provider.asked.length, 5 + 19)
      assert.strictEqual(served, 0)
      // It recovers: one probe goes ahead, and only when it is answered do the others follow.
      const answer = yield* Deferred.make<string>()
      provider.answer = Deferred.await(answer)
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* dependency.states, [{ dependency: "p", status: "probing" }])
      assert.deepStrictEqual(provider.asked.slice(24), [600])
      provider.answer = Effect.succeed("fine")
      yield* Deferred.succeed(answer, "fine")
      yield* settle
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(served, 50)
      yield* Fiber.interrupt(workers)
    })
  )

  describe("blame", () => {
    it.effect("D45 names the dependency of its failures, and nobody for the worker's own", () =>
      Effect.gen(function* () {
        const dependency = Dependency.make({ failures: 1 })
        const failed = yield* Effect.flip(dependency.call("p", down))
        const refused = yield* Effect.flip(dependency.call("p", down))
        assert.deepStrictEqual([Dependency.blame(failed), Dependency.blame(refused)], ["p", "p"])
        assert.strictEqual(Dependency.blame(new Unmarked({ cause: new Unmarked({ cause: failed }) })), "p")
        const own = yield* Effect.flip(dependency.call("q", Effect.fail(Failure.capability("no"))))
        assert.isUndefined(Dependency.blame(own))
        assert.isUndefined(Dependency.blame(Failure.transient("my own")))
      })
    )

    const circle = new Unmarked({})
    Object.defineProperty(circle, "cause", { value: circle })
    const unreadable = Object.defineProperty({}, "cause", {
      get: () => {
        throw new Error("no")
      }
    })
    it.each([undefined, null, "text", 5, [], {}, circle, unreadable])("blames nobody for %o", (error) => {
      assert.isUndefined(Dependency.blame(error))
    })

    it.effect("D45 ten rate limits with a working fallback: ten results, no restart, a healthy worker", () =>
      Effect.gen(function* () {
        const provider = new Provider()
        provider.answer = limited(1)
        let fallbacks = 0
        const ask = worker("one", () =>
          Dependency.call("primary", provider.request).pipe(
            Effect.catch((error) => {
              assert.strictEqual(Dependency.blame(error), "primary")
              fallbacks += 1
              return Dependency.call("spare", Effect.succeed("from the spare"))
            })
          )
        )
        const tasks = Array.from({ length: 10 }, (_, index) => task(`t${index}`))
        const office = yield* Office.open(desk([ask], tasks), { log: false })
        const outcome = yield* Run.startIn(office, { input: "go", id: "r1" })
        assert.strictEqual(outcome.status, "completed")
        assert.deepStrictEqual(
          Object.values(outcome.results).map(({ output }) => output),
          tasks.map(() => "from the spare")
        )
        assert.deepStrictEqual([fallbacks, provider.asked.length], [10, 1])
        const { children } = yield* office.tree.snapshot
        assert.deepStrictEqual(
          children.flatMap(({ children }) => children.map(({ restarts }) => restarts)),
          [0]
        )
      }).pipe(Effect.provide(Dependency.layer()), memory)
    )

    it.effect("D45 a run that goes by blame charges the dependency and not the worker", () =>
      Effect.gen(function* () {
        const { call, dependency } = yield* open()
        const health = yield* Health.make()
        for (let number = 1; number <= 10; number++) {
          const error = yield* Effect.flip(call)
          const end = Dependency.blame(error) === undefined ? "failed" : "interrupted"
          health.report("d.one", 0, end, `r/a/${number}`)
        }
        assert.strictEqual(health.facts().version, 0)
        assert.strictEqual((yield* dependency.states).length, 1)
      })
    )
  })

  describe("changes", () => {
    it.effect("drops a listener that throws and logs it, and tells nobody who left", () => {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ message }) => logged.push(message))
      return Effect.gen(function* () {
        const dependency = Dependency.make({ failures: 1 })
        let told = 0
        dependency.changes(() => {
          throw new Error("oops")
        })
        const leave = dependency.changes(() => (told += 1))
        yield* Effect.exit(dependency.call("a", down))
        leave()
        yield* Effect.exit(dependency.call("b", down))
        assert.strictEqual(told, 1)
        assert.deepStrictEqual(logged, [["Dependency: a listener threw and is not called again", new Error("oops")]])
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  })

  describe("make and layer", () => {
    it.each([
      [{ failures: 0 }, "failures must be a whole number >= 1, got 0"],
      [{ failures: 1.5 }, "failures must be a whole number >= 1, got 1.5"],
      [{ openFor: 0 }, "openFor must be a duration > 0, got 0"],
      [{ openFor: "Infinity" }, "openFor must be finite, got Infinity"],
      [{ longest: -1 }, "longest must be a duration > 0, got -1"],
      [{ spacing: -1 }, "spacing must be a duration >= 0, got -1"],
      [{ dependencies: { x: { spacing: -1 } } }, "spacing of x must be a duration >= 0, got -1"]
    ] as ReadonlyArray<readonly [Dependency.Options, string]>)("refuse %j", (options, text) => {
      assert.throws(() => Dependency.make(options), RangeError, `Dependency.make: ${text}`)
      assert.throws(() => Dependency.layer(options), RangeError, `Dependency.make: ${text}`)
    })
  })
})
