import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { Outage } from "espalier/testing"

const spans = [
  { what: "search", from: "10 seconds", until: "20 seconds", retryAfter: "rest" },
  { what: "search", from: "15 seconds", until: "30 seconds", kind: "capability" },
  { what: "mail", kind: "denied" }
] as const

const outage = Outage.make(spans)
const calling = (what: string, from = outage) =>
  Outage.apply(from, what, Effect.succeed("up")).pipe(Effect.catch((error) => Effect.succeed(error)))

describe("Outage", () => {
  describe("make", () => {
    it("is plain data in milliseconds", () => {
      assert.deepStrictEqual(outage.spans, [
        { what: "search", fromMillis: 10_000, untilMillis: 20_000, kind: "transient", retryAfterMillis: "rest" },
        { what: "search", fromMillis: 15_000, untilMillis: 30_000, kind: "capability" },
        { what: "mail", fromMillis: 0, kind: "denied" }
      ])
      assert.deepStrictEqual(JSON.parse(JSON.stringify(outage.spans)), outage.spans)
    })

    it.each([
      [{ what: " " }, "[1].what must be a name that is not empty"],
      [{ what: "a", from: -1 }, "[1].from must be finite and >= 0, got -1 ms"],
      [{ what: "a", from: "Infinity" }, "[1].from must be finite and >= 0, got Infinity ms"],
      [{ what: "a", from: 5, until: 5 }, "[1].until must be later than from (5 ms), got 5 ms"],
      [{ what: "a", kind: "denied", retryAfter: 5 }, "[1].retryAfter must be left out when kind is denied, got 5"],
      [{ what: "a", retryAfter: "rest" }, "[1].retryAfter must be a duration when the span never ends, got rest"],
      [{ what: "a", retryAfter: -5 }, "[1].retryAfter must be finite and >= 0, got -5 ms"]
    ] satisfies ReadonlyArray<[Outage.SpanOptions, string]>)("refuses %o", (span, message) => {
      const made = () => Outage.make([{ what: "fine" }, span])
      assert.throws(made, RangeError)
      assert.throws(made, message)
    })
  })

  describe("at", () => {
    it.each([
      ["search", 9_999, undefined],
      ["search", 10_000, "transient"],
      ["search", 19_999, "transient"],
      ["search", 20_000, "capability"],
      ["search", 29_999, "capability"],
      ["search", 30_000, undefined],
      ["mail", 1e15, "denied"],
      ["other", 10_000, undefined]
    ] as const)("R-701 of %s at %d ms is %s", (what, now, kind) => {
      assert.strictEqual(Outage.at(outage, what, now)?.kind, kind)
    })
  })

  describe("apply", () => {
    it.effect("R-701 lets calls pass outside of a span, and fails them inside with what is left of it", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* calling("search"), "up")
        yield* TestClock.adjust("12 seconds")
        assert.deepStrictEqual(
          yield* calling("search"),
          new Failure.Failure({ kind: "transient", reason: "search is down", retryAfterMillis: 8_000 })
        )
        yield* TestClock.adjust("8 seconds")
        assert.deepStrictEqual(
          yield* calling("search"),
          new Failure.Failure({ kind: "capability", reason: "search is down" })
        )
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* calling("search"), "up")
        assert.deepStrictEqual(yield* calling("mail"), Failure.denied("mail is down for good"))
      })
    )

    it.effect("does not begin a call that is struck", () =>
      Effect.gen(function* () {
        let begun = 0
        const call = Effect.sync(() => (begun += 1))
        yield* Effect.exit(Outage.apply(outage, "mail", call))
        assert.strictEqual(begun, 0)
        yield* Outage.apply(outage, "search", call)
        assert.strictEqual(begun, 1)
      })
    )

    it.effect("breaks off with a bug, or never answers, when the span says so", () =>
      Effect.gen(function* () {
        const both = Outage.make([
          { what: "bug", kind: "defect" },
          { what: "hole", kind: "silence", until: "1 second" }
        ])
        const exit = yield* Effect.exit(Outage.apply(both, "bug", Effect.void))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        const silent = yield* Effect.forkChild(Outage.apply(both, "hole", Effect.void))
        yield* TestClock.adjust("1 hour")
        assert.isUndefined(silent.pollUnsafe())
        yield* Fiber.interrupt(silent)
      })
    )
  })

  describe("layer", () => {
    it.effect("R-701 counts from the moment at which it is built, for whoever names no outage", () =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        const seen = yield* Effect.gen(function* () {
          const before = yield* Outage.applyCurrent("search", Effect.succeed("up"))
          yield* TestClock.adjust("10 seconds")
          return [before, yield* Effect.flip(Outage.applyCurrent("search", Effect.succeed("up")))]
        }).pipe(Effect.provide(Layer.fresh(Outage.layer(outage))))
        assert.deepStrictEqual(seen, ["up", Failure.transient("search is down", { retryAfter: "10 seconds" })])
        assert.strictEqual(yield* Outage.applyCurrent("search", Effect.succeed("up")), "up")
      })
    )
  })

  describe("ended", () => {
    it.effect("waits until no span is left that touches, and for ever when there is no end", () =>
      Effect.gen(function* () {
        yield* Outage.ended(outage, "search")
        yield* TestClock.adjust("10 seconds")
        const waiting = yield* Effect.forkChild(Outage.ended(outage, "search"), { startImmediately: true })
        const forever = yield* Effect.forkChild(Outage.ended(outage, "mail"), { startImmediately: true })
        yield* TestClock.adjust("19 seconds")
        assert.isUndefined(waiting.pollUnsafe())
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(waiting)
        yield* TestClock.adjust("1000 days")
        assert.isUndefined(forever.pollUnsafe())
        yield* Fiber.interrupt(forever)
      })
    )
  })

  describe("random", () => {
    const options = { names: ["a", "b"], within: "1 hour", mean: "1 minute", kinds: ["transient", "denied"] } as const

    it.effect("R-701 gives the same outage for the same seed, and a name its own times", () =>
      Effect.gen(function* () {
        const one = yield* Outage.random({ ...options, seed: 1 })
        assert.deepStrictEqual(yield* Outage.random({ ...options, seed: 1 }), one)
        assert.notDeepEqual(yield* Outage.random({ ...options, seed: 2 }), one)
        const alone = yield* Outage.random({ ...options, names: ["b"], seed: 1 })
        assert.deepStrictEqual(
          alone.spans,
          one.spans.filter(({ what }) => what === "b")
        )
        assert.isAbove(alone.spans.length, 0)
      })
    )

    it.effect("R-701 keeps spans apart and within, and their average length", () =>
      Effect.gen(function* () {
        const kinds = new Set<string>()
        let total = 0
        let count = 0
        for (let seed = 0; seed < 100; seed++) {
          let end = 0
          const { spans } = yield* Outage.random({ ...options, names: ["a"], seed })
          for (const { fromMillis, kind, untilMillis = Infinity } of spans) {
            assert.isTrue(end < fromMillis && fromMillis < untilMillis && untilMillis <= 3_600_000, `seed ${seed}`)
            end = untilMillis
            total += untilMillis - fromMillis
            count += 1
            kinds.add(kind)
          }
        }
        assert.closeTo(total / count, 60_000, 6_000)
        assert.closeTo(count / 100, 12, 2)
        assert.deepStrictEqual([...kinds].toSorted(), ["denied", "transient"])
      })
    )

    it.each([
      [{ mean: 0 }, "mean must be finite and > 0, got 0 ms"],
      [{ within: "Infinity" as const }, "within must be finite and > 0, got Infinity ms"],
      [{ apart: -1 }, "apart must be finite and > 0, got -1 ms"],
      [{ kinds: [] }, "kinds must name at least one kind, got none"]
    ])("refuses %o", (wrong, message) => {
      assert.throws(() => Outage.random({ ...options, seed: 1, ...wrong }), message)
    })
  })
})
