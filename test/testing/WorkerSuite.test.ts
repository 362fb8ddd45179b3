import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Result as EffectResult, Schema, type Scope } from "effect"
import { Failure } from "espalier"
import { type Effects, Result, type Review, Worker } from "espalier/run"
import { Fake, WorkerSuite } from "espalier/testing"

import { elapse } from "../run/desks.ts"

const Number_ = Schema.Struct({ n: Schema.Int })

type Handle<R> = (order: Worker.Order<{ readonly n: number }>) => Effect.Effect<unknown, unknown, R>

/** A worker that halves even numbers, as a careless hand may have changed it. */
const half = <R = never>(
  handle: Handle<R>,
  options: Partial<Pick<Worker.Options<never, never, never, never, never, never>, "attemptTimeout">> & {
    readonly output?: Schema.Codec<unknown, unknown>
  } = {}
): Worker.Worker<Exclude<R, Scope.Scope | Effects.Effects | Review.Review>> =>
  Worker.make("half", {
    description: "Halves an even number",
    input: Number_,
    output: options.output ?? (Schema.Int as Schema.Codec<unknown, unknown>),
    attemptTimeout: options.attemptTimeout,
    handle
  })

const halve: Handle<never> = ({ input: { n } }) =>
  n % 2 === 0 ? Effect.succeed(n / 2) : Effect.fail(Failure.capability("odd"))

const inputs = [{ n: 4 }, { n: 0 }]
const all = { inputs, failingInputs: [{ n: 5 }], badInputs: [{ n: "four" }, {}, null, "text", { n: 1.5 }] }

const checked = <R>(worker: Worker.Worker<R>, options: Partial<WorkerSuite.Options> = {}) =>
  elapse(WorkerSuite.check(worker, { ...all, ...options }), "1 hour")

/** The rules that were broken, each once. */
const rules = <R>(worker: Worker.Worker<R>, options: Partial<WorkerSuite.Options> = {}) =>
  Effect.map(checked(worker, options), (findings) => [...new Set(findings.map(({ rule }) => rule))])

interface Case {
  readonly rule: WorkerSuite.Rule
  readonly worker: () => Worker.Worker<never>
  readonly options?: Partial<WorkerSuite.Options>
  readonly message: string
}

const sleepy = half((order) => Effect.andThen(Effect.sleep("1 second"), halve(order)))

const bad: ReadonlyArray<Case> = [
  {
    rule: "input-refused",
    worker: () => half(halve),
    options: { inputs: [{ n: 4 }, { m: 4 }] },
    message: "inputs[1]: n is required"
  },
  {
    rule: "bad-input-accepted",
    worker: () =>
      Worker.make("half", {
        description: "Looks at its input too late",
        input: Schema.Unknown,
        output: Schema.Int,
        handle: ({ input }) =>
          Schema.is(Number_)(input) && input.n % 2 === 0
            ? Effect.succeed(input.n / 2)
            : Effect.fail(Failure.malformed("not an even number"))
      }),
    message: "badInputs[0]: reaches the handler"
  },
  {
    rule: "bad-input-untyped",
    worker: () => {
      const good = half(halve)
      return { ...good, prepare: (order) => EffectResult.mapError(good.prepare(order), () => []) }
    },
    message: "badInputs[0]: is refused without a word about what is wrong with it"
  },
  {
    rule: "bad-input-untyped",
    worker: () => {
      const good = half(halve)
      return {
        ...good,
        prepare: (order) => {
          const prepared = good.prepare(order)
          if (EffectResult.isFailure(prepared)) throw new Error("what is that?")
          return prepared
        }
      }
    },
    message: "badInputs[0]: is refused with something thrown: what is that?"
  },
  {
    rule: "throws",
    worker: () => half((order) => (order.input.n === 4 ? Effect.die(new Error("four!")) : halve(order))),
    message: "inputs[0]: breaks off with a bug: four!"
  },
  {
    rule: "throws",
    worker: () => half((order) => (order.input.n === 4 ? Effect.interrupt : halve(order))),
    message: "inputs[0]: interrupts itself"
  },
  {
    rule: "no-kind",
    worker: () => half((order) => (order.input.n === 5 ? Effect.fail({ odd: true }) : halve(order))),
    message: "failingInputs[0]: fails without a kind: {1 field}"
  },
  {
    rule: "no-answer",
    worker: () => half((order) => (order.input.n === 0 ? Effect.fail(Failure.denied("zero")) : halve(order))),
    message: "inputs[1]: fails (denied): zero"
  },
  {
    rule: "no-answer",
    worker: () =>
      half((order) => (order.input.n === 0 ? Effect.succeed(Result.blocked("denied", "zero")) : halve(order))),
    message: "inputs[1]: is blocked (denied): zero"
  },
  {
    rule: "no-failure",
    worker: () => half(({ input: { n } }) => Effect.succeed(Math.floor(n / 2))),
    message: "failingInputs[0]: is answered with a completed result"
  },
  {
    rule: "too-slow",
    worker: () => half((order) => Effect.delay(halve(order), "2 seconds"), { attemptTimeout: "1999 millis" }),
    message: "inputs[0]: no answer within 1999 ms"
  },
  {
    rule: "infinite-timeout",
    worker: () => half(halve, { attemptTimeout: "Infinity" }),
    message: "the worker: has an attempt time-out that never comes"
  },
  {
    rule: "output-invalid",
    worker: () => half(({ input: { n } }) => (n === 5 ? halve({ input: { n } } as never) : Effect.succeed(n / 8))),
    message: "inputs[0]: output must be an integer, got 0.5"
  },
  {
    rule: "output-invalid",
    worker: () => half((order) => (order.input.n === 4 ? Effect.undefined : halve(order))),
    message: "inputs[0]: output is empty"
  },
  {
    rule: "confidence",
    worker: () => half((order) => Effect.map(halve(order), (output) => Result.completed(output, { confidence: 80 }))),
    message: "inputs[0]: confidence must be a number between 0 and 1, got 80"
  },
  {
    rule: "result-invalid",
    worker: () => half((order) => Effect.map(halve(order), (output) => Result.partial(output, []))),
    message: "inputs[0]: missing must name at least one part when the status is partial"
  },
  {
    rule: "over-limit",
    worker: () =>
      half((order) => Effect.map(halve(order), (output) => Result.completed(output, { usage: { tokens: 101 } }))),
    options: { contract: { limits: { tokens: 100 } } },
    message: "inputs[0]: used 101 of 100 tokens"
  },
  {
    rule: "inconsistent",
    worker: () => half((order) => Effect.map(halve(order), (output) => (output as number) + order.attempt)),
    message: "inputs[0]: completed at first, completed and another answer under the same idempotency key"
  },
  {
    rule: "ignores-interruption",
    worker: () => half((order) => Effect.uninterruptible(Effect.delay(halve(order), "6 seconds"))),
    message: "inputs[0]: still runs 5000 ms after it was interrupted"
  },
  {
    rule: "goes-on",
    worker: () => half((order) => Effect.andThen(Effect.forkDetach(Effect.sleep("1 day")), halve(order))),
    message: "inputs[0]: 1 of its fibers still run after it has ended"
  },
  {
    rule: "goes-on",
    // It stops what it started, but not when it is interrupted.
    worker: () =>
      half((order) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkDetach(Effect.sleep("1 day"))
          yield* Effect.sleep("1 second")
          yield* Fiber.interrupt(fiber)
          return yield* halve(order)
        })
      ),
    message: "inputs[0]: 1 of its fibers still run after it has ended"
  }
]

describe("WorkerSuite", () => {
  describe("check", () => {
    it.effect.each<readonly [string, Worker.Worker<never>]>([
      ["one that answers at once", half(halve)],
      ["one that takes its time", sleepy],
      [
        "one with fibers and resources of its own",
        half((order) =>
          Effect.gen(function* () {
            yield* Effect.addFinalizer(() => Effect.sleep("1 second"))
            yield* Effect.forkScoped(Effect.never)
            yield* Effect.forkChild(Effect.never)
            return yield* Effect.delay(halve(order), "1 second")
          })
        )
      ],
      [
        "one that says more than its output",
        half((order) => Effect.map(halve(order), (output) => Result.completed(output, { confidence: 0.8 })))
      ]
    ])("R-701 finds nothing wrong with %s", ([, worker]) =>
      Effect.map(checked(worker), (findings) => assert.deepStrictEqual(findings, []))
    )

    it.effect.each(bad)("R-701 finds $rule: $message", ({ message, options, rule, worker }) =>
      Effect.gen(function* () {
        const findings = yield* checked(worker(), options)
        assert.deepInclude(findings, { rule, message })
        assert.deepStrictEqual([...new Set(findings.map((finding) => finding.rule))], [rule])
      })
    )

    it.effect("R-701 finds what is held after the end, and after an interruption", () =>
      Effect.gen(function* () {
        let held = 0
        const open = Effect.sync(() => (held += 1))
        const close = Effect.sync(() => (held -= 1))
        const careless = half((order) =>
          Effect.gen(function* () {
            yield* open
            yield* Effect.sleep("1 second")
            yield* close
            return yield* halve(order)
          })
        )
        const careful = half((order) =>
          Effect.acquireUseRelease(
            open,
            () => Effect.delay(halve(order), "1 second"),
            () => Effect.delay(close, "1 second")
          )
        )
        const counting = { held: Effect.sync(() => held) }
        assert.deepStrictEqual(yield* rules(careful, counting), [])
        const findings = yield* checked(careless, counting)
        assert.deepInclude(findings, { rule: "held", message: "inputs[0]: still holds 1 after it has ended" })
        assert.deepStrictEqual([...new Set(findings.map(({ rule }) => rule))], ["held"])
      })
    )

    it.effect("has a rule for every kind of finding, and a bad worker for every rule", () =>
      Effect.sync(() => {
        const shown = new Set<string>([...bad.map(({ rule }) => rule), "held"])
        assert.deepStrictEqual([...shown].toSorted(), WorkerSuite.Rule.literals.toSorted())
      })
    )

    it.effect("orders with the contract that it is given, or one that grants what the worker needs", () =>
      Effect.gen(function* () {
        const fake = Fake.worker("one", { otherwise: "x", permissions: ["repository"] })
        yield* checked(fake, { failingInputs: [] })
        const contract = { objective: "Halve it", permissions: { repository: ["src"] } }
        yield* checked(fake, { failingInputs: [], contract })
        const seen = (yield* fake.calls).map(({ contract: { objective, permissions } }) => [objective, permissions])
        assert.deepStrictEqual(seen[0], ["The fake worker one", { repository: ["*"] }])
        assert.deepStrictEqual(seen.at(-1), ["Halve it", { repository: ["src"] }])
      })
    )

    it.effect("R-701 finds artefacts that the worker does not declare", () =>
      Effect.gen(function* () {
        const reference = { uri: "file:report.md", hash: `sha256:${"0".repeat(64)}` }
        const output = Result.delivered({ report: reference })
        const declares = Fake.worker("one", { otherwise: output, artefacts: ["report"] })
        assert.deepStrictEqual(yield* rules(declares, { failingInputs: [], badInputs: [] }), [])
        const silent = Fake.worker("one", { otherwise: output })
        assert.deepStrictEqual(yield* rules(silent, { failingInputs: [], badInputs: [] }), ["result-invalid"])
      })
    )

    it.effect("takes another view of what is consistent", () =>
      Effect.gen(function* () {
        let call = 0
        const vague = half((order) => Effect.map(halve(order), (output) => (output as number) + ++call))
        assert.deepStrictEqual(yield* rules(vague), ["inconsistent"])
        assert.deepStrictEqual(yield* rules(vague, { consistent: (a, b) => a.status === b.status }), [])
      })
    )

    it.effect("reads errors of others through the classifier", () =>
      Effect.gen(function* () {
        const foreign = half((order) => (order.input.n === 5 ? Effect.fail("odd") : halve(order)))
        assert.deepStrictEqual(yield* rules(foreign), ["no-kind"])
        const knows = Layer.succeed(Failure.Classifier, (error) => (error === "odd" ? "capability" : undefined))
        assert.deepStrictEqual(yield* Effect.provide(rules(foreign), knows), [])
      })
    )

    it.effect("R-701 finds nothing wrong with a good fake, and everything with a bad one", () =>
      Effect.gen(function* () {
        const good = Fake.worker("one", { otherwise: { fine: true }, latency: "1 second" })
        assert.deepStrictEqual(yield* checked(good, { failingInputs: [], badInputs: [] }), [])
        const each: ReadonlyArray<[Fake.Answer, WorkerSuite.Rule]> = [
          [Fake.fail("transient"), "no-answer"],
          [Fake.die(), "throws"],
          [Fake.never, "too-slow"],
          [Fake.malformed(), "confidence"],
          [Fake.empty, "output-invalid"]
        ]
        for (const [otherwise, rule] of each) {
          const fake = Fake.worker("one", { otherwise })
          assert.deepStrictEqual(yield* rules(fake, { failingInputs: [], badInputs: [] }), [rule])
          assert.strictEqual(yield* fake.running, 0)
        }
      })
    )

    it.each([
      [{ inputs: [] }, "inputs must be at least one, got none"],
      [{ inputs, grace: 0 }, "grace must be finite and > 0, got 0 ms"],
      [
        { inputs, contract: { objective: " " } },
        "contract must be one, got CONTRACT_INVALID: objective must be a text that is not empty"
      ],
      [{ inputs, grace: "Infinity" as const }, "grace must be finite and > 0, got Infinity ms"]
    ])("refuses %o", (options, message) => {
      assert.throws(() => WorkerSuite.check(half(halve), options), RangeError)
      assert.throws(() => WorkerSuite.check(half(halve), options), message)
    })
  })
})
