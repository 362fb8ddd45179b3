import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Duration, Effect, Exit, type Scope, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"

import { type Node, Runtime, WakesPerTurn } from "../../src/internal/runtime.ts"
import { withEventLoop } from "../fixtures/real.ts"
import { quiet, until } from "../fixtures/stage.ts"

const node: Node = { path: ["root"], parent: undefined }

const runtime = Effect.map(
  Effect.context<Scope.Scope>(),
  (context) => new Runtime(context as Context.Context<never>, { log: false })
)

describe("Runtime", () => {
  describe("post", () => {
    it.effect("decides in order of arrival, after the code that posted is done", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        const log: Array<string> = []
        self.post(() => {
          log.push("a")
          self.post(() => log.push("c"))
          log.push("still a")
        })
        self.post(() => log.push("b"))
        log.push("posted")
        yield* quiet
        assert.deepStrictEqual(log, ["posted", "a", "still a", "b", "c"])
      })
    )

    it.effect("works a queue that grows without end off in slices, so others have their turn", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        let decisions = 0
        let stop = false
        const again = (): void => {
          decisions += 1
          if (!stop) self.post(again)
        }
        self.post(again)
        yield* quiet
        assert.isAbove(decisions, WakesPerTurn)
        stop = true
        yield* quiet
        const then = decisions
        yield* quiet
        assert.strictEqual(decisions, then)
      })
    )

    it.effect(
      "a decision that throws ends the tree with that defect, once, and what waited is decided after the end",
      () =>
        Effect.gen(function* () {
          const self = yield* runtime
          const log: Array<string> = []
          self.whenBroken(() => log.push("broken"))
          self.atEnd(() => log.push("end"))
          self.post(() => {
            throw new Error("first")
          })
          self.post(() => log.push("later"))
          yield* quiet
          self.post(() => {
            throw new Error("second")
          })
          yield* quiet
          self.finish(Exit.void)
          assert.deepStrictEqual(log, ["broken", "end", "later"])
          const exit = yield* Effect.exit(Effect.suspend(() => self.defect ?? Effect.void))
          assert(Exit.isFailure(exit))
          assert.strictEqual((Cause.squash(exit.cause) as Error).message, "first")
        })
    )

    it.effect("even an end that throws itself does not keep the tree from ending", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        let ended = 0
        self.atEnd(() => (ended += 1))
        self.whenBroken(() => self.finish(Exit.void))
        self.post(() => {
          throw new Error("broken")
        })
        yield* quiet
        assert.strictEqual(ended, 1)
      })
    )
  })

  describe("wake", () => {
    it.effect("runs on a clean stack, and goes on after as many wake-ups as a turn allows", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        let runs = 0
        let inside = false
        const run = (): void => {
          assert.isFalse(inside)
          inside = true
          runs += 1
          if (runs < 3 * WakesPerTurn) self.wake(run)
          inside = false
        }
        self.wake(run)
        assert.strictEqual(runs, 0)
        yield* until("it ran often enough", () => runs === 3 * WakesPerTurn)
        yield* quiet
        assert.strictEqual(runs, 3 * WakesPerTurn)
      })
    )

    withEventLoop("leaves timers their turn, however often the tree wakes up", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        let stop = false
        const run = (): void => {
          if (!stop) self.wake(run)
        }
        self.wake(run)
        const [elapsed] = yield* Effect.timed(Effect.sleep("20 millis"))
        stop = true
        assert.isBelow(Duration.toMillis(elapsed), 1_000)
      })
    )
  })

  describe("later", () => {
    it.effect("calls once, when it is time, unless it is cancelled or infinite", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        const log: Array<string> = []
        self.later(Duration.seconds(2), () => log.push("two"))
        self.later(Duration.seconds(1), () => log.push("one"))
        const cancel = self.later(Duration.seconds(1), () => log.push("cancelled"))
        self.later(Duration.infinity, () => log.push("never"))()
        cancel()
        yield* TestClock.adjust("10 seconds")
        assert.deepStrictEqual(log, ["one", "two"])
        cancel()
      })
    )
  })

  describe("emit", () => {
    it.effect("gives every observer every event, in order, until it is unsubscribed or throws", () =>
      Effect.gen(function* () {
        const self = yield* runtime
        const log: Array<string> = []
        self.observe((event) => {
          log.push(`bad ${event._tag}`)
          throw new Error("bad")
        })
        const unsubscribe = self.observe((event) => log.push(`good ${event._tag} ${event.at}`))
        yield* TestClock.adjust("5 millis")
        self.emit(node, { _tag: "Stopping" })
        self.emit(node, { _tag: "Removed" })
        unsubscribe()
        self.emit(node, { _tag: "Removed" })
        assert.deepStrictEqual(log, ["bad Stopping", "good Stopping 5", "good Removed 5"])
      })
    )
  })

  describe("context", () => {
    it.effect("does not carry the span in which the tree was built", () =>
      Effect.gen(function* () {
        const self = yield* runtime.pipe(Effect.withSpan("startup"))
        assert.isUndefined(
          Context.getOrUndefined(self.context as Context.Context<Tracer.ParentSpan>, Tracer.ParentSpan)
        )
      })
    )

    it.effect("takes the classifier of failures from where the tree was built", () =>
      Effect.gen(function* () {
        const self = yield* runtime.pipe(Effect.provideService(Failure.Classifier, () => "denied"))
        assert.strictEqual(self.classifier("anything"), "denied")
      })
    )
  })
})
