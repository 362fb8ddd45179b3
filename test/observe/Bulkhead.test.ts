import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber, Layer, Logger, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Bulkhead } from "espalier/observe"

import { apart, dropped, pass } from "./collector.ts"

const fail = (): never => {
  throw new Error("telemetry")
}

const work = Effect.gen(function* () {
  yield* Effect.annotateCurrentSpan("a", 1)
  yield* Effect.logInfo("work")
  return (yield* Effect.currentSpan).name
}).pipe(Effect.withSpan("work"))

describe("Bulkhead", () => {
  it.effect("D15 R-501 keeps what spans throw from the program, and counts it", () =>
    Effect.gen(function* () {
      const broken = Layer.succeed(
        Tracer.Tracer,
        Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            span.end = fail
            span.attribute = fail
            return span
          }
        })
      )
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.provide(work, broken))))
      assert.strictEqual(yield* Effect.provide(work, Bulkhead.around(broken)), "work")
      assert.deepStrictEqual(yield* dropped, { "traces thrown": 2 })
    }).pipe(apart)
  )

  it.effect("D15 R-501 goes on where no span can be begun, and still tells the program's own failures", () =>
    Effect.gen(function* () {
      const broken = Bulkhead.around(Layer.succeed(Tracer.Tracer, Tracer.make({ span: fail })))
      assert.strictEqual(yield* Effect.provide(work, broken), "work")
      const error = yield* Effect.fail("no stock").pipe(Effect.withSpan("work"), Effect.provide(broken), Effect.flip)
      assert.strictEqual(error, "no stock")
      assert.deepStrictEqual(yield* dropped, { "traces thrown": 2 })
    }).pipe(apart)
  )

  it.effect.each([
    ["nothing", () => undefined],
    ["what is no span", () => ({ end: 7 })],
    ["a span that cannot be changed", (options: never) => Object.freeze(new Tracer.NativeSpan(options))]
  ] as const)("D15 R-501 goes on where a tracer answers with %s", ([, span]) =>
    Effect.gen(function* () {
      const broken = Bulkhead.around(Layer.succeed(Tracer.Tracer, Tracer.make({ span: span as never })))
      assert.strictEqual(yield* Effect.provide(work, broken), "work")
      assert.deepStrictEqual(yield* dropped, { "traces thrown": 1 })
    }).pipe(apart)
  )

  it.effect("D15 R-501 guards one span once, however often a tracer answers with it", () =>
    Effect.gen(function* () {
      let one: Tracer.Span | undefined
      const same = Tracer.make({ span: (options) => (one ??= new Tracer.NativeSpan(options)) })
      const ends = new Set<unknown>()
      yield* Effect.repeat(
        Effect.withSpan(
          Effect.sync(() => ends.add(one?.end)),
          "work"
        ),
        { times: 10 }
      ).pipe(Effect.provide(Bulkhead.around(Layer.succeed(Tracer.Tracer, same))))
      assert.strictEqual(ends.size, 1)
    })
  )

  it.effect(
    "D15 hears what fails later, of spans and of loggers, so that it does not end the process (rejections)",
    () =>
      Effect.gen(function* () {
        const later = (): never => Promise.reject(new Error("telemetry")) as never
        const spans = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            span.end = later
            span.attribute = later
            return span
          }
        })
        const broken = Layer.merge(Layer.succeed(Tracer.Tracer, spans), Logger.layer([Logger.make(later)]))
        assert.strictEqual(yield* Effect.provide(work, Bulkhead.around(broken)), "work")
        // A promise is rejected before what is queued after it.
        yield* Effect.promise(() => Promise.resolve())
        yield* Effect.promise(() => Promise.resolve())
        assert.deepStrictEqual(yield* dropped, { "traces thrown": 2, "logs thrown": 1 })
      }).pipe(apart)
  )

  it.effect("D15 guards the loggers of the layer, and leaves those that were there", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const mine = Logger.make(({ message }) => void told.push(message))
      const broken = Bulkhead.around(Logger.layer([Logger.make(fail)], { mergeWithExisting: true }))
      const loggers = yield* Logger.CurrentLoggers.pipe(
        Effect.provide(broken.pipe(Layer.provide(Logger.layer([mine]))))
      )
      assert.isTrue(loggers.has(mine))
      yield* Effect.provide(work, Layer.provide(broken, Logger.layer([mine])))
      assert.deepStrictEqual(told, [["work"]])
      assert.deepStrictEqual(yield* dropped, { "logs thrown": 1 })
    }).pipe(apart)
  )

  const ends: ReadonlyArray<readonly [name: string, end: Effect.Effect<void>, millis: number, why?: string]> = [
    ["throws", Effect.sync(fail), 0, "a failure"],
    ["dies", Effect.die("telemetry"), 0, "a failure"],
    ["is interrupted", Effect.interrupt, 0, "a failure"],
    ["takes a second", Effect.sleep("1 second"), 1_000],
    ["hangs", Effect.never, 5_000, "no end in time"],
    ["hangs, and cannot be interrupted", Effect.uninterruptible(Effect.never), 5_000, "no end in time"],
    ["hangs, and may be interrupted", Effect.interruptible(Effect.never), 5_000, "no end in time"]
  ]
  it.effect.each(ends)("D15 keeps an end that %s from the program", ([, end, millis, why]) =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const loggers = Logger.layer([Logger.make(({ message }) => void told.push(message))])
      const telemetry = Layer.provide(Bulkhead.around(Layer.effectDiscard(Effect.addFinalizer(() => end))), loggers)
      const fiber = yield* Effect.forkChild(
        Effect.gen(function* () {
          const result = yield* Effect.provide(Effect.succeed("packed"), telemetry)
          return [result, yield* Clock.currentTimeMillis] as const
        })
      )
      yield* Effect.forEach(Array.from({ length: 20 }), () => TestClock.adjust(0), { discard: true })
      yield* pass(10)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["packed", millis])
      const expected = ["Telemetry did not end well; what it had may be lost", { why }]
      assert.deepStrictEqual(told, why === undefined ? [] : [expected])
    })
  )

  it.effect("tells that the layer cannot be made, and ends what was made of it", () =>
    Effect.gen(function* () {
      let ended = 0
      const telemetry = Layer.effectDiscard(
        Effect.gen(function* () {
          yield* Effect.addFinalizer(() => Effect.sync(() => void ended++))
          return yield* Effect.fail("no exporter" as const)
        })
      )
      const error = yield* Effect.flip(Effect.provide(Effect.void, Bulkhead.around(telemetry)))
      assert.deepStrictEqual([error, ended], ["no exporter", 1])
    })
  )

  it("refuses options that do not hold", () => {
    assert.throws(() => Bulkhead.around(Layer.empty, { shutdownTimeout: -1 }), RangeError, /shutdownTimeout/)
  })
})
