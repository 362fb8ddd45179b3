import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Duration, Effect, Schema } from "effect"
import { Failure } from "espalier"

class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfterMillis: Schema.Finite }) {
  readonly [Failure.kind] = "transient"
}

class Odd extends Data.TaggedError("Odd") {}

const throwing = new Proxy(
  {},
  {
    get: () => {
      throw new Error("no access")
    },
    has: () => true
  }
)

describe("Failure", () => {
  describe("kindOf", () => {
    it.each(Failure.kinds)("reads %s from an error that carries it", (kind) => {
      assert.strictEqual(Failure.kindOf(new Failure.Failure({ kind, reason: "so" })), kind)
      assert.strictEqual(Failure.kindOf({ [Failure.kind]: kind }), kind)
    })

    it("knows an error class of one's own by its mark", () => {
      assert.strictEqual(Failure.kindOf(new Busy({ retryAfterMillis: 1 })), "transient")
      assert.isTrue(Failure.isMarked(new Busy({ retryAfterMillis: 1 })))
    })

    it.each([
      undefined,
      null,
      "transient",
      0,
      new Error("x"),
      new Odd(),
      { [Failure.kind]: "passing" },
      { [Failure.kind]: undefined },
      { [Failure.kind]: { toString: () => "transient" } },
      { kind: "transient" },
      JSON.parse('{"__proto__":{"~espalier/Failure/kind":"transient"}}') as unknown
    ])("finds no kind in %o", (error: unknown) => {
      assert.isUndefined(Failure.kindOf(error))
      assert.isFalse(Failure.isMarked(error))
    })
  })

  describe("retryAfterOf", () => {
    it("is the time that a marked error asks for", () => {
      assert.deepStrictEqual(Failure.retryAfterOf(new Busy({ retryAfterMillis: 250 })), Duration.millis(250))
      assert.deepStrictEqual(
        Failure.retryAfterOf(Failure.transient("busy", { retryAfter: "2 seconds" })),
        Duration.seconds(2)
      )
      assert.deepStrictEqual(Failure.retryAfterOf(new Busy({ retryAfterMillis: 0 })), Duration.zero)
      assert.isUndefined(Failure.retryAfterOf(Failure.transient("busy")))
    })

    it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "250", null, {}])(
      "ignores %o, which comes from outside",
      (retryAfterMillis: unknown) => {
        assert.isUndefined(Failure.retryAfterOf({ [Failure.kind]: "transient", retryAfterMillis }))
      }
    )

    it("ignores the wish of an error that is not marked", () => {
      assert.isUndefined(Failure.retryAfterOf({ retryAfterMillis: 100 }))
    })
  })

  describe("constructors", () => {
    it("say in one line what failed and what that means", () => {
      for (const kind of Failure.kinds) {
        // oxlint-disable-next-line import/namespace -- the kinds are the names of the constructors
        const failure = Failure[kind]("no paper")
        assert.strictEqual(failure._tag, "Failure")
        assert.strictEqual(failure.message, `${kind}: no paper`)
        assert.strictEqual(failure[Failure.kind], kind)
      }
    })

    it.effect("are typed errors that go over a wire and come back", () =>
      Effect.gen(function* () {
        const failure = Failure.transient("busy", { retryAfter: "1 second" })
        const wire = yield* Schema.encodeEffect(Failure.Failure)(failure)
        const back = yield* Schema.decodeUnknownEffect(Failure.Failure)(JSON.parse(JSON.stringify(wire)))
        assert.strictEqual(back[Failure.kind], "transient")
        assert.strictEqual(back.retryAfterMillis, 1_000)
        assert.strictEqual((yield* Effect.flip(Effect.fail(failure))).reason, "busy")
      })
    )
  })

  describe("classify", () => {
    const kind = (cause: Cause.Cause<unknown>) => Failure.classify(cause).kind
    const busy = new Busy({ retryAfterMillis: 1 })

    it("R-106 reads a typed error by its mark, and none without", () => {
      assert.deepStrictEqual(Failure.classify(Cause.fail(busy)), { kind: "transient", error: busy })
      assert.deepStrictEqual(Failure.classify(Cause.fail("x")), { kind: undefined, error: "x" })
    })

    it("R-106 reads a defect only when it is a marked error", () => {
      assert.strictEqual(kind(Cause.die(busy)), "transient")
      assert.strictEqual(kind(Cause.die(new Error("bug"))), undefined)
    })

    it("R-106 calls a typed error beside a bug a bug, in either order", () => {
      const bug = new Error("bug")
      for (const cause of [
        Cause.combine(Cause.fail(busy), Cause.die(bug)),
        Cause.combine(Cause.die(bug), Cause.fail(busy))
      ]) {
        assert.deepStrictEqual(Failure.classify(cause), { kind: undefined, error: bug })
      }
      assert.strictEqual(kind(Cause.combine(Cause.die(busy), Cause.fail("first"))), undefined)
    })

    it("R-106 finds nothing in interruption or in an empty cause", () => {
      assert.deepStrictEqual(Failure.classify(Cause.interrupt(1)), { kind: undefined, error: undefined })
      assert.deepStrictEqual(Failure.classify(Cause.empty), { kind: undefined, error: undefined })
      assert.strictEqual(kind(Cause.combine(Cause.interrupt(1), Cause.fail(busy))), "transient")
    })

    it("asks the classifier first, and the mark when it has no opinion or throws", () => {
      const odd = (error: unknown): Failure.Kind | undefined => (error instanceof Odd ? "denied" : undefined)
      assert.strictEqual(Failure.classify(Cause.fail(new Odd()), odd).kind, "denied")
      assert.strictEqual(Failure.classify(Cause.fail(busy), odd).kind, "transient")
      assert.strictEqual(Failure.classify(Cause.die(new Odd()), odd).kind, "denied")
      const broken = (): never => {
        throw new Error("no opinion")
      }
      assert.strictEqual(Failure.classify(Cause.fail(busy), broken).kind, "transient")
    })

    it("an error that cannot be read has no kind", () => {
      assert.isUndefined(kind(Cause.fail(throwing)))
      assert.isUndefined(Failure.retryAfterOf(throwing))
    })
  })
})
