import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Random, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Actor, Failure, type Tree } from "espalier"
import { Journal } from "espalier/journal"
import { Audit, Desk, Domain, Office, Outcome, Plan, Result, Run, type RunEvent, Worker } from "espalier/run"

import { desk, elapse, gate, history, memory, settle, short, Text, task, worker } from "./desks.ts"

const options = { id: "r1", input: "go", log: false } as const
const done = () => Effect.succeed("done")

describe("Run", () => {
  describe("start", () => {
    it.effect("carries a desk from its input to its outcome", () =>
      Effect.gen(function* () {
        const echo = Worker.make("one", {
          description: "Echoes",
          input: Text,
          output: Text,
          handle: ({ input }) => Effect.succeed({ text: `${input.text}!` })
        })
        const plan = [task("a", { input: (_, text) => ({ text }) })]
        const outcome = yield* Run.start(desk([echo], plan), options)
        assert.deepStrictEqual(
          { ...outcome, dispatches: [], note: "" },
          {
            run: "r1",
            desk: "desk",
            version: "1",
            status: "completed",
            stopReason: "accepted",
            degraded: false,
            startedAt: 0,
            endedAt: 0,
            note: "",
            tier: "medium",
            usage: {},
            conflicts: [],
            leftOut: [],
            reviews: [],
            unsettled: [],
            results: {
              a: {
                task: "a",
                status: "accepted",
                worker: "d.one",
                output: { text: "go!" },
                confidence: 1,
                missing: [],
                note: "a is accepted from d.one"
              }
            },
            missing: [],
            dispatches: []
          }
        )
        assert.deepStrictEqual(short(yield* history("r1")), [
          "RunStarted",
          "Routed a d.one",
          "Dispatched r1/a/1 d.one",
          "Reported r1/a/1 accepted",
          "TaskEnded a accepted",
          "RunFinished completed accepted"
        ])
      }).pipe(memory)
    )

    it.effect("R-301 writes an order down before the worker sees it, and a report before the next decision", () =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const seen: Array<string> = []
        const peek = worker("one", ({ dispatch }) =>
          Effect.gen(function* () {
            const events = yield* history("r1")
            seen.push(`${dispatch}: ${short(events).slice(-2).join(", ")}`)
            return "done"
          }).pipe(Effect.provideService(Journal.Journal, journal))
        )
        yield* Run.start(desk([peek], [task("a"), task("b", { needs: ["a"] })]), options)
        assert.deepStrictEqual(seen, [
          "r1/a/1: Routed a d.one, Dispatched r1/a/1 d.one",
          "r1/b/1: Routed b d.one, Dispatched r1/b/1 d.one"
        ])
        assert.include(short(yield* history("r1")).join(), "Reported r1/a/1 accepted,TaskEnded a accepted,Routed b")
      }).pipe(memory)
    )

    it.effect("hands a worker its contract, what came before, and ids that stay the same", () =>
      Effect.gen(function* () {
        const orders: Array<Worker.Order> = []
        const one = worker("one", (order) => {
          orders.push(order)
          return order.task === "a" ? Effect.succeed("first") : Effect.succeed("second")
        })
        const second = task("b", {
          needs: ["a"],
          objective: "Go on",
          constraints: ["Be brief"],
          limits: { tokens: 100 },
          input: (accepted, input) => ({ before: accepted["a"], input })
        })
        yield* Run.start(desk([one], [task("a"), second]), options)
        const order = orders[1]!
        assert.deepStrictEqual(
          [order.run, order.task, order.dispatch, order.attempt, order.idempotencyKey, order.accepted],
          ["r1", "b", "r1/b/1", 1, "r1/b", { a: "first" }]
        )
        assert.deepStrictEqual(order.input, { before: "first", input: "go" })
        assert.deepStrictEqual([order.missing, order.previous], [[], []])
        assert.deepStrictEqual(
          [order.contract.objective, order.contract.constraints, order.contract.limits, order.contract.inputs],
          ["Go on", ["Be brief"], { tokens: 100 }, { before: "first", input: "go" }]
        )
      }).pipe(memory)
    )

    it.effect("infers what its workers need", () => {
      class Ink extends Context.Service<Ink, string>()("test/Ink") {}
      const write = Worker.make("one", {
        description: "Writes",
        input: Schema.Struct({}),
        output: Schema.String,
        handle: () =>
          Effect.gen(function* () {
            return `in ${yield* Ink}`
          })
      })
      const typed: Desk.Desk<string, Ink> = desk([write], [task("a")])
      return Run.start(typed, options).pipe(
        Effect.map(({ results }) => assert.strictEqual(results["a"]?.output, "in blue")),
        Effect.provide(Layer.merge(Journal.layerMemory, Layer.succeed(Ink, "blue")))
      )
    })

    it.effect("keeps to the bound on tasks in flight", () =>
      Effect.gen(function* () {
        let running = 0
        let most = 0
        const slow = worker(
          "one",
          () =>
            Effect.gen(function* () {
              most = Math.max(most, ++running)
              yield* Effect.sleep("1 second")
              running -= 1
              return "done"
            }),
          { size: 10 }
        )
        const plan = Array.from({ length: 7 }, (_, index) => task(`t${index}`))
        const outcome = yield* elapse(Run.start(desk([slow], plan, { concurrency: 3 }), options), "10 seconds")
        assert.deepStrictEqual([outcome.status, most, outcome.endedAt], ["completed", 3, 3_000])
      }).pipe(memory)
    )

    it.effect("gives a worker no more orders at once than its pool has members", () =>
      Effect.gen(function* () {
        let running = 0
        let most = 0
        const slow = worker(
          "one",
          () =>
            Effect.gen(function* () {
              most = Math.max(most, ++running)
              yield* Effect.sleep("1 second")
              running -= 1
              return "done"
            }),
          { size: 2 }
        )
        const plan = Array.from({ length: 6 }, (_, index) => task(`t${index}`))
        const outcome = yield* elapse(Run.start(desk([slow], plan), options), "10 seconds")
        assert.deepStrictEqual([outcome.status, most, outcome.endedAt], ["completed", 2, 3_000])
      }).pipe(memory)
    )

    it.effect("runs a thousand tasks in a row", () =>
      Effect.gen(function* () {
        const plan = Array.from({ length: 1_000 }, (_, index) =>
          task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`] })
        )
        const outcome = yield* Run.start(desk([worker("one", done)], plan), options)
        assert.deepStrictEqual([outcome.status, outcome.dispatches.length], ["completed", 1_000])
      }).pipe(memory)
    )

    it.effect("names a run by its time and a random part, the same under the same services", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(1_795_000_000_000)
        const id = yield* Run.makeId.pipe(Random.withSeed("seed"))
        assert.match(id, /^20261118-110640-[0-9a-f]{12}$/)
        assert.strictEqual(yield* Run.makeId.pipe(Random.withSeed("seed")), id)
        const { run } = yield* Run.start(desk([worker("one", done)], [task("a")]), { input: "go" })
        assert.match(run, /^20261118-110640-[0-9a-f]{12}$/)
      }).pipe(memory)
    )

    it.effect("tells of every event once it is in the journal, and survives a listener that throws", () =>
      Effect.gen(function* () {
        const heard: Array<RunEvent.RunEvent> = []
        const tree: Array<Tree.Event> = []
        const outcome = yield* Run.start(desk([worker("one", done)], [task("a")]), {
          ...options,
          onEvent: (event) => heard.push(event),
          onTreeEvent: (event) => tree.push(event)
        })
        assert.deepStrictEqual(heard, [...(yield* history("r1"))])
        assert.deepStrictEqual(Outcome.of(heard), outcome)
        assert.deepStrictEqual(Audit.rows(heard), outcome.dispatches)
        assert.include(
          tree.map(({ path }) => path.join("/")),
          "desk/d/one"
        )
        const again = yield* Run.start(desk([worker("one", done)], [task("a")]), {
          ...options,
          id: "r2",
          onEvent: () => {
            throw new Error("deaf")
          }
        })
        assert.strictEqual(again.status, "completed")
      }).pipe(memory)
    )

    it.effect("says who did what: the audit has one row per dispatch", () =>
      Effect.gen(function* () {
        let calls = 0
        const flaky = worker("one", () =>
          ++calls < 2 ? Effect.fail(Failure.transient("Busy")) : Effect.as(Effect.sleep("30 millis"), "done")
        )
        const { dispatches } = yield* elapse(
          Run.start(desk([flaky], [task("a")]), options).pipe(Random.withSeed(1)),
          "5 seconds"
        )
        const [row] = dispatches
        assert.strictEqual(dispatches.length, 1)
        assert.deepInclude(row, { dispatch: "r1/a/1", task: "a", worker: "d.one", contract: 1, attempts: 2 })
        assert.deepInclude(row, { outcome: "accepted", confidence: 1, startedAt: 0 })
        assert.isAtLeast(row!.durationMillis!, 830)
        assert.strictEqual(row!.routing, "a goes to d.one, which its plan names")
        assert.strictEqual(row!.note, "d.one delivered a completed result after 2 attempts")
      }).pipe(memory)
    )

    describe("refuses", () => {
      it.effect("an input that is not what the desk takes", () =>
        Effect.gen(function* () {
          const typed = Desk.make("desk", {
            version: "1",
            input: Schema.Struct({ root: Schema.String }),
            domains: [Domain.make("d", { workers: [worker("one", done)] })],
            coordinator: Plan.make([{ id: "a", worker: "d.one", objective: "Do it" }])
          })
          const error = yield* Effect.flip(Run.start(typed, { input: { root: 3 as never }, log: false }))
          assert.strictEqual(error.message, "INPUT_INVALID: desk: root must be a text, got 3")
        }).pipe(memory)
      )

      it.effect("an id that cannot be one", () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(
            Run.start(desk([worker("one", done)], [task("a")]), { ...options, id: "a/b" })
          )
          assert.strictEqual(
            error.message,
            `INPUT_INVALID: desk: id must be letters, digits, '.', '_' and '-', at most 100, got "a/b"`
          )
        }).pipe(memory)
      )

      it.effect("the id of another run, which it leaves alone", () =>
        Effect.gen(function* () {
          const first = yield* Run.start(desk([worker("one", done)], [task("a")]), options)
          const error = yield* Effect.flip(Run.start(desk([worker("one", done)], [task("a")]), options))
          assert.strictEqual(error._tag, "RunExists")
          assert.deepStrictEqual(yield* Run.outcome("r1"), first)
        }).pipe(memory)
      )

      it.effect("a desk that does not hold, before anything runs", () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(
            Run.start(desk([worker("one", done)], [task("a", { worker: "d.x" })]), options)
          )
          assert.strictEqual(error.message, "DESK_INVALID: desk: task a: there is no worker d.x; known is d.one")
          assert.strictEqual(yield* Effect.flatMap(Journal.Journal, (journal) => journal.version("r1")), 0)
        }).pipe(memory)
      )
    })
  })

  describe("recovery", () => {
    const ladder = (
      one: (call: number, order: Worker.Order<unknown>) => Effect.Effect<unknown, unknown, Scope.Scope>,
      two: (call: number, order: Worker.Order<unknown>) => Effect.Effect<unknown, unknown> = () => Effect.succeed("two")
    ) => {
      const calls = { one: 0, two: 0 }
      const built = desk(
        [
          worker("one", (order) => Effect.suspend(() => one(++calls.one, order))),
          worker("two", (order) => Effect.suspend(() => two(++calls.two, order)))
        ],
        [task("a")]
      )
      return elapse(Run.start(built, options).pipe(Random.withSeed(1)), "10 minutes").pipe(
        Effect.map((outcome) => ({
          outcome,
          calls,
          dispatches: outcome.dispatches.map(({ attempts, outcome, worker }) => `${worker} ${attempts} ${outcome}`)
        }))
      )
    }

    it.effect("R-206 tries a passing failure three times, then another worker", () =>
      Effect.gen(function* () {
        const { calls, dispatches, outcome } = yield* ladder(() => Effect.fail(Failure.transient("Busy")))
        assert.deepStrictEqual(calls, { one: 3, two: 1 })
        assert.deepStrictEqual(dispatches, ["d.one 3 failed", "d.two 1 accepted"])
        assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", true])
        const waits = (yield* history("r1")).flatMap((event) =>
          event._tag === "AttemptFailed" ? [event.waitMillis] : []
        )
        assert.strictEqual(waits.length, 2)
        assert.isTrue(waits[0]! >= 800 && waits[0]! <= 1_200 && waits[1]! >= 1_600 && waits[1]! <= 2_400)
      }).pipe(memory)
    )

    it.effect("goes on with what a later attempt brings", () =>
      Effect.gen(function* () {
        const { dispatches, outcome } = yield* ladder((call) =>
          call < 3 ? Effect.fail(Failure.transient("Busy")) : Effect.succeed("one")
        )
        assert.deepStrictEqual(dispatches, ["d.one 3 accepted"])
        assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", false])
      }).pipe(memory)
    )

    it.effect("waits as long as the failure asks to, up to a minute", () =>
      Effect.gen(function* () {
        const { outcome } = yield* ladder((call) =>
          call < 2 ? Effect.fail(Failure.transient("Slow down", { retryAfter: "60 seconds" })) : Effect.succeed("one")
        )
        assert.strictEqual(outcome.endedAt, 60_000)
      }).pipe(memory)
    )

    it.effect("takes the next rung at once when it is asked to wait longer", () =>
      Effect.gen(function* () {
        const { dispatches, outcome } = yield* ladder(() =>
          Effect.fail(Failure.transient("Come back tomorrow", { retryAfter: "61 seconds" }))
        )
        assert.deepStrictEqual(dispatches, ["d.one 1 failed", "d.two 1 accepted"])
        assert.strictEqual(outcome.endedAt, 0)
      }).pipe(memory)
    )

    it.effect("hands what a worker cannot do to another one", () =>
      Effect.gen(function* () {
        const { dispatches } = yield* ladder(() => Effect.fail(Failure.capability("No such format")))
        assert.deepStrictEqual(dispatches, ["d.one 1 refused", "d.two 1 accepted"])
      }).pipe(memory)
    )

    it.effect("R-207 asks once for a correction and says what was wrong", () =>
      Effect.gen(function* () {
        const told: Array<ReadonlyArray<Worker.PreviousError>> = []
        const { dispatches } = yield* ladder((call, order) => {
          told.push(order.previous)
          return Effect.succeed(call === 1 ? 42 : "corrected")
        })
        assert.deepStrictEqual(dispatches, ["d.one 1 rejected-contract", "d.one 1 accepted"])
        assert.deepStrictEqual(told, [
          [],
          [
            {
              dispatch: "r1/a/1",
              worker: "d.one",
              kind: "malformed",
              reason: "RESULT_INVALID: output must be a text, got 42"
            }
          ]
        ])
      }).pipe(memory)
    )

    it.effect("R-207 reassigns after a second malformed answer; an empty one is malformed", () =>
      Effect.gen(function* () {
        const { dispatches } = yield* ladder(() => Effect.succeed("  "))
        assert.deepStrictEqual(dispatches, [
          "d.one 1 rejected-contract",
          "d.one 1 rejected-contract",
          "d.two 1 accepted"
        ])
      }).pipe(memory)
    )

    it.effect("R-206 never tries denied again by itself: a person is asked", () =>
      Effect.gen(function* () {
        const { dispatches, outcome } = yield* ladder(() => Effect.fail(Failure.denied("No")))
        assert.deepStrictEqual(dispatches, ["d.one 1 denied"])
        assert.strictEqual(outcome.status, "waiting")
        assert.deepStrictEqual(
          outcome.reviews.map(({ allowed, kind, reason, review, task }) => [review, task, kind, reason, allowed]),
          [["r1/review/1", "a", "escalation", "denied", ["retry", "accept-partial", "reject"]]]
        )
      }).pipe(memory)
    )

    const once: ReadonlyArray<readonly [Failure.Kind, RunEvent.DispatchEnd]> = [["exhausted", "budget-exceeded"]]
    it.effect.each(once)("never tries %s again", ([kind, end]) =>
      Effect.gen(function* () {
        const { dispatches, outcome } = yield* ladder(() => Effect.fail(new Failure.Failure({ kind, reason: "No" })))
        assert.deepStrictEqual(dispatches, [`d.one 1 ${end}`])
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["failed", "empty"])
        assert.deepStrictEqual(outcome.missing, [
          {
            task: "a",
            worker: "d.one",
            reason: `d.one failed (${kind}: No); a failure of this kind is not retried`
          }
        ])
      }).pipe(memory)
    )

    it.effect("hands what is too large to another worker, then ends without a result", () =>
      Effect.gen(function* () {
        const { dispatches, outcome } = yield* ladder(
          () => Effect.fail(Failure.oversized("1 GB")),
          () => Effect.fail(Failure.oversized("Too much"))
        )
        assert.deepStrictEqual(dispatches, ["d.one 1 failed", "d.two 1 failed"])
        assert.strictEqual(outcome.results["a"]?.status, "failed")
      }).pipe(memory)
    )

    const bugs: ReadonlyArray<readonly [string, () => Effect.Effect<never, unknown>, RunEvent.DispatchEnd]> = [
      ["a defect", () => Effect.die(new Error("boom")), "crashed"],
      [
        "a handler that throws",
        () => {
          throw new Error("boom")
        },
        "crashed"
      ],
      ["an error without a kind", () => Effect.fail(new Error("boom")), "failed"],
      ["an interruption that nobody asked for", () => Effect.interrupt, "crashed"]
    ]
    it.effect.each(bugs)("gives a worker one more try after %s, then takes another one", ([, one, end]) =>
      Effect.gen(function* () {
        const { dispatches, outcome } = yield* ladder(one)
        assert.deepStrictEqual(dispatches, [`d.one 1 ${end}`, `d.one 1 ${end}`, "d.two 1 accepted"])
        assert.strictEqual(outcome.status, "completed")
      }).pipe(memory)
    )

    it.effect("reads a lost neighbour of the worker as what it is: a passing failure", () =>
      Effect.gen(function* () {
        const lost = new Actor.ActorStopped({ actor: ["elsewhere"], rpc: "Ask" })
        const { dispatches } = yield* ladder((call) => (call === 1 ? Effect.die(lost) : Effect.succeed("one")))
        assert.deepStrictEqual(dispatches, ["d.one 2 accepted"])
      }).pipe(memory)
    )

    it.effect("asks the classifier of the surroundings first", () =>
      Effect.gen(function* () {
        const { dispatches } = yield* ladder(() => Effect.fail("403")).pipe(
          Effect.provideService(Failure.Classifier, (error) => (error === "403" ? "denied" : undefined))
        )
        assert.deepStrictEqual(dispatches, ["d.one 1 denied"])
      }).pipe(memory)
    )

    it.effect("starts a fresh incarnation after a crash, and tells the tree", () =>
      Effect.gen(function* () {
        const tree: Array<string> = []
        let calls = 0
        const one = worker("one", () => (++calls === 1 ? Effect.die("boom") : Effect.succeed("done")))
        yield* Run.start(desk([one], [task("a")]), {
          ...options,
          onTreeEvent: (event) => tree.push(`${event._tag} ${event.path.join("/")}`)
        })
        assert.include(tree, "Restarting desk/d/one")
      }).pipe(memory)
    )

    it.effect("keeps to the worker's own time-out, whatever the patience of whoever starts the run", () =>
      Effect.gen(function* () {
        const slow = worker("one", () => Effect.as(Effect.sleep("8 seconds"), "done"), {
          attemptTimeout: "10 seconds"
        })
        const run = Effect.provideService(Run.start(desk([slow], [task("a")]), options), Actor.Timeout, "1 second")
        const outcome = yield* elapse(run, "1 minute")
        assert.deepStrictEqual(
          outcome.dispatches.map(({ attempts, outcome }) => [outcome, attempts]),
          [["accepted", 1]]
        )
      }).pipe(memory)
    )

    it.effect("R-211 interrupts an attempt that takes too long, and reads it as a passing failure", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const hang = worker(
          "one",
          () =>
            Effect.never.pipe(
              Effect.onInterrupt(() =>
                Effect.andThen(
                  Effect.sleep("1 second"),
                  Effect.sync(() => log.push("released"))
                )
              )
            ),
          { attemptTimeout: "10 seconds" }
        )
        const outcome = yield* elapse(Run.start(desk([hang, worker("two", done)], [task("a")]), options), "10 minutes")
        assert.deepStrictEqual(log, ["released", "released", "released"])
        assert.deepStrictEqual(
          outcome.dispatches.map(({ attempts, outcome, worker }) => `${worker} ${attempts} ${outcome}`),
          ["d.one 3 timed-out", "d.two 1 accepted"]
        )
        assert.include(outcome.dispatches[0]!.note, "no answer within 10000 ms")
      }).pipe(memory)
    )

    it.effect("replaces a worker that does not stop, and says so in the tree", () =>
      Effect.gen(function* () {
        const tree: Array<string> = []
        let calls = 0
        const deaf = worker(
          "one",
          () => (++calls === 1 ? Effect.uninterruptible(Effect.never) : Effect.succeed("done")),
          { attemptTimeout: "10 seconds" }
        )
        const outcome = yield* elapse(
          Run.start(desk([deaf], [task("a")]), {
            ...options,
            onTreeEvent: (event) => tree.push(`${event._tag} ${event.path.join("/")}`)
          }),
          "10 minutes"
        )
        assert.deepStrictEqual([outcome.status, calls], ["completed", 2])
        assert.include(tree, "Leaked desk/d/one")
      }).pipe(memory)
    )

    it.effect("releases what an attempt has acquired when it ends", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const { dispatches } = yield* ladder((call) =>
          Effect.gen(function* () {
            yield* Effect.acquireRelease(
              Effect.sync(() => log.push(`acquired ${call}`)),
              () => Effect.sync(() => log.push(`released ${call}`))
            )
            return call === 1 ? yield* Effect.fail(Failure.transient("Busy")) : "done"
          })
        )
        assert.deepStrictEqual(log, ["acquired 1", "released 1", "acquired 2", "released 2"])
        assert.strictEqual(dispatches.length, 1)
      }).pipe(memory)
    )

    it.effect("R-108 keeps a domain that gives up out of the others' way, and names what is missing", () =>
      Effect.gen(function* () {
        const tree: Array<string> = []
        const crash = worker("one", () => Effect.die("boom"), { capabilities: [] })
        const domains = [
          Domain.make("d", { workers: [crash], intensity: { restarts: 1, within: "1 minute" } }),
          Domain.make("e", { workers: [worker("one", done, { description: "Fine", capabilities: [] })] })
        ]
        const plan = [
          task("a"),
          task("b"),
          task("c", { worker: "e.one" }),
          task("d", { worker: "e.one", needs: ["c"] }),
          task("e", { worker: "e.one", needs: ["a"] })
        ]
        const outcome = yield* elapse(
          Run.start(desk([], plan, { domains, concurrency: 1 }), {
            ...options,
            onTreeEvent: (event) => tree.push(`${event._tag} ${event.path.join("/")}`)
          }),
          "1 minute"
        )
        assert.include(tree, "GaveUp desk/d")
        assert.notInclude(tree.join(), "GaveUp desk,")
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["partial", "no-eligible-worker"])
        assert.deepStrictEqual(
          Object.values(outcome.results).map(({ status, task }) => `${task} ${status}`),
          ["a failed", "b failed", "c accepted", "d accepted", "e blocked"]
        )
        assert.deepStrictEqual(
          outcome.missing.map(({ task, worker }) => [task, worker]),
          [
            ["a", "d.one"],
            ["b", "d.one"],
            ["e", "e.one"]
          ]
        )
        assert.include(outcome.missing[1]!.reason, "d.one is degraded")
      }).pipe(memory)
    )

    it.effect("R-214 tells a task what is missing before it", () =>
      Effect.gen(function* () {
        const orders: Array<Worker.Order> = []
        const one = worker("one", (order) => {
          orders.push(order)
          return order.task === "a"
            ? Effect.succeed(Result.partial("half", [{ part: "the rest", reason: "no time" }]))
            : order.task === "b"
              ? Effect.fail(Failure.exhausted("No"))
              : Effect.succeed("done")
        })
        const plan = [task("a"), task("b"), task("c", { needs: ["a", "b"], acceptMissing: true })]
        const outcome = yield* Run.start(desk([one], plan), options)
        const order = orders.find(({ task }) => task === "c")!
        assert.deepStrictEqual(order.accepted, { a: "half" })
        assert.deepStrictEqual(
          order.missing.map(({ part, task }) => [task, part]),
          [
            ["a", "the rest"],
            ["b", "b"]
          ]
        )
        assert.strictEqual(outcome.status, "partial")
        assert.deepStrictEqual(outcome.missing[0], { task: "a", worker: "d.one", reason: "the rest: no time" })
      }).pipe(memory)
    )

    it.effect("R-214 leaves out an input whose task gave nothing", () =>
      Effect.gen(function* () {
        const orders: Array<unknown> = []
        const one = worker("one", (order) => {
          if (order.task === "a") return Effect.fail(Failure.exhausted("No"))
          orders.push(order.input)
          return Effect.succeed("done")
        })
        const input = ({ a }: Plan.Accepted) => ({ a, b: 1 })
        const plan = [task("a"), task("b", { needs: ["a"], acceptMissing: true, input })]
        const outcome = yield* Run.start(desk([one], plan), options)
        assert.deepStrictEqual([outcome.results["b"]?.status, orders], ["accepted", [{ b: 1 }]])
      }).pipe(memory)
    )

    const hash = `sha256:${"0".repeat(64)}`
    const refusals: ReadonlyArray<readonly [string, Partial<Plan.Task<string>>]> = [
      ["CONTRACT_INVALID: inputs.text must be a text, got 3", { input: () => ({ text: 3 }) }],
      [
        "CONTRACT_INVALID: references.text has the name of an input; references.more has the name of an input",
        {
          references: { text: { uri: "file:notes.md", hash }, more: { uri: "file:more.md", hash } },
          input: () => ({ text: "", more: "" })
        }
      ],
      [
        "CONTRACT_INVALID: inputs.text must be a plain JSON value, got a function",
        { input: () => ({ text: () => "" }) }
      ],
      [
        "CONTRACT_INVALID: the inputs of a cannot be made: no such file",
        {
          input: () => {
            throw new Error("no such file")
          }
        }
      ]
    ]
    it.effect.each(refusals)("R-201 refuses a contract before a worker sees it: %s", ([message, fields]) =>
      Effect.gen(function* () {
        let calls = 0
        const one = Worker.make("one", {
          description: "Never called",
          input: Text,
          output: Schema.String,
          handle: () => Effect.sync(() => `${++calls}`)
        })
        const outcome = yield* Run.start(desk([one], [task("a", fields)]), options)
        assert.deepStrictEqual([calls, outcome.dispatches.length, outcome.status], [0, 0, "failed"])
        assert.include(outcome.missing[0]!.reason, message)
      }).pipe(memory)
    )
  })

  describe("interruption", () => {
    it.effect("R-211 stops the work of a run in an office that goes on, and waits until it has stopped", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const reached = Deferred.makeUnsafe<void>()
        const one = worker("one", ({ run }) =>
          run === "r1"
            ? Effect.andThen(Deferred.succeed(reached, undefined), Effect.never).pipe(
                Effect.onInterrupt(() =>
                  Effect.andThen(
                    Effect.sleep("1 second"),
                    Effect.sync(() => log.push("released"))
                  )
                )
              )
            : done()
        )
        const office = yield* Office.open(desk([one], [task("a"), task("b")]), { log: false })
        const fiber = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go" }))
        yield* Deferred.await(reached)
        yield* elapse(Fiber.interrupt(fiber), "2 seconds")
        assert.deepStrictEqual(log, ["released"])
        assert.strictEqual(short(yield* history("r1")).at(-1), "RunSuspended asked")
        const next = yield* Run.startIn(office, { id: "r2", input: "go" })
        assert.strictEqual(next.status, "completed")
      }).pipe(Effect.scoped, memory)
    )

    it.effect("R-211 stops the work first, then leaves the run suspended, and it can be taken up", () =>
      Effect.gen(function* () {
        const first = gate()
        const one = worker("one", ({ task }) => (task === "b" ? Effect.as(first.wait, "b") : Effect.succeed("a")))
        const built = desk([one], [task("a"), task("b")], { concurrency: 1 })
        const fiber = yield* Effect.forkChild(Run.start(built, options))
        yield* first.reached
        const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
        assert.deepStrictEqual(first.log, ["began", "interrupted"])
        assert.strictEqual(short(yield* history("r1")).at(-1), "RunSuspended asked")
        const [listed] = yield* Effect.flatMap(Journal.Journal, (journal) => journal.runs())
        assert.strictEqual(listed?.status, "suspended")
        yield* first.open
        const outcome = yield* Run.resume(built, "r1", { log: false })
        assert.strictEqual(outcome.status, "completed")
        assert.deepStrictEqual(
          outcome.dispatches.map(({ dispatch }) => dispatch),
          ["r1/a/1", "r1/b/1"]
        )
      }).pipe(memory)
    )
  })

  describe("resume", () => {
    /** A run with a retry, a crash, a stand-in and dependants; everything that was done is counted. */
    const busy = () => {
      const ended: Array<string> = []
      const finish = (task: string) => Effect.sync(() => (ended.push(task), task))
      const one = worker("one", ({ attempt, dispatch, task }) => {
        if (task === "b" && attempt === 1) return Effect.fail(Failure.transient("Busy"))
        if (task === "c" && dispatch.endsWith("/1")) return Effect.die("boom")
        if (task === "d") return Effect.fail(Failure.capability("No"))
        return finish(task)
      })
      const two = worker("two", ({ task }) => finish(task))
      const plan = [
        task("a"),
        task("b", { needs: ["a"] }),
        task("c", { needs: ["a"] }),
        task("d", { needs: ["b", "c"] }),
        task("e", { needs: ["d"] })
      ]
      return { built: desk([one, two], plan, { concurrency: 2 }), ended }
    }

    it.effect("R-302 goes on from every moment of a run, and does nothing twice that has ended", () =>
      Effect.gen(function* () {
        const first = busy()
        const whole = yield* elapse(Run.start(first.built, options), "1 minute")
        assert.strictEqual(whole.status, "completed")
        const journal = yield* Journal.Journal
        const events = yield* history("r1")
        for (let length = 1; length < events.length; length++) {
          const { built, ended } = busy()
          const run = `cut-${length}`
          const prefix = events.slice(0, length).map((event) => {
            const renamed = JSON.parse(JSON.stringify(event).replaceAll("r1/", `${run}/`)) as RunEvent.RunEvent
            return renamed._tag === "RunStarted" ? { ...renamed, run } : renamed
          })
          yield* journal.append({
            run,
            expected: 0,
            events: prefix.map(({ _tag, at, ...data }) => ({ type: _tag, at, data: data as never }))
          })
          const before = new Set(prefix.flatMap((event) => (event._tag === "TaskEnded" ? [event.task] : [])))
          const open = new Set(prefix.flatMap((event) => (event._tag === "Dispatched" ? [event.dispatch] : [])))
          for (const event of prefix) if (event._tag === "Reported") open.delete(event.dispatch)
          const outcome = yield* elapse(Run.resume(built, run, { log: false }), "1 minute")
          assert.strictEqual(outcome.status, "completed", `cut at ${length}`)
          assert.deepStrictEqual(
            ended.filter((task) => before.has(task)),
            [],
            `cut at ${length}`
          )
          assert.strictEqual(new Set(ended).size, ended.length, `cut at ${length}`)
          const after = (yield* history(run)).slice(length)
          assert.strictEqual(after[0]?._tag, "RunResumed")
          for (const dispatch of open) {
            const again = after.filter((event) => event._tag === "Dispatched" && event.dispatch === dispatch)
            assert.deepStrictEqual(again, [], `cut at ${length}: ${dispatch} is not ordered a second time`)
            assert.isTrue(
              after.some((event) => event._tag === "Reported" && event.dispatch === dispatch),
              `cut at ${length}: ${dispatch} reports`
            )
          }
          assert.deepStrictEqual(Outcome.of(yield* history(run)), outcome)
        }
      }).pipe(memory)
    )

    it.effect("does not give an order more attempts than it had left", () =>
      Effect.gen(function* () {
        let calls = 0
        const one = worker("one", () => Effect.suspend(() => (calls++, Effect.fail(Failure.transient("Busy")))))
        const built = desk([one], [task("a")])
        const fiber = yield* Effect.forkChild(Run.start(built, options))
        yield* settle
        yield* TestClock.adjust("1500 millis")
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(calls, 2)
        const outcome = yield* elapse(Run.resume(built, "r1", { log: false }), "1 minute")
        assert.deepStrictEqual([calls, outcome.dispatches[0]?.attempts], [3, 3])
      }).pipe(memory)
    )

    it.effect("reads the outcome of a run that is over, and runs nothing", () =>
      Effect.gen(function* () {
        let calls = 0
        const built = desk([worker("one", () => Effect.sync(() => `${++calls}`))], [task("a")])
        const outcome = yield* Run.start(built, options)
        assert.deepStrictEqual(yield* Run.resume(built, "r1"), outcome)
        assert.strictEqual(calls, 1)
      }).pipe(memory)
    )

    it.effect("fails for a run that the journal does not have", () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Run.resume(desk([worker("one", done)], [task("a")]), "nothing"))
        assert.strictEqual(error.message, "the journal has no run nothing")
      }).pipe(memory)
    )

    it.effect("suspends a run that began with another definition of the desk", () =>
      Effect.gen(function* () {
        const held = gate()
        const one = worker("one", () => Effect.as(held.wait, "done"))
        const fiber = yield* Effect.forkChild(Run.start(desk([one], [task("a")]), options))
        yield* held.reached
        yield* Fiber.interrupt(fiber)
        for (const other of [desk([one], [task("a")], { version: "2" }), desk([one], [task("a"), task("b")])]) {
          const error = yield* Effect.flip(Run.resume(other, "r1", { log: false }))
          assert.strictEqual(error._tag, "VersionMismatch")
          assert.strictEqual(short(yield* history("r1")).at(-1), "RunSuspended version-mismatch")
        }
        yield* held.open
        const outcome = yield* Run.resume(desk([one], [task("a")]), "r1", { log: false })
        assert.strictEqual(outcome.status, "completed")
      }).pipe(memory)
    )

    const lies: ReadonlyArray<readonly [string, Journal.Event, string]> = [
      [
        "cannot be read",
        { type: "RunFinished", at: 1, data: { status: "splendid" } },
        "a RunFinished that cannot be read"
      ],
      ["is of no possible type", { type: "danced", at: 1, data: {} }, 'an event of the type "danced"'],
      [
        "cannot have happened",
        {
          type: "TaskEnded",
          at: 1,
          data: { task: "a", status: "accepted", dispatch: "r1/a/9", missing: [], note: "" }
        },
        "a TaskEnded that cannot have happened"
      ]
    ]
    it.effect.each(lies)("does not build on an event that %s", ([, event, reason]) =>
      Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const built = desk([worker("one", () => Effect.never)], [task("a")])
        const fiber = yield* Effect.forkChild(Run.start(built, options))
        yield* settle
        yield* Fiber.interrupt(fiber)
        const version = yield* journal.version("r1")
        yield* journal.append({
          run: "r1",
          expected: version,
          events: [{ type: "RunResumed", at: 1, data: { note: "" } }, event]
        })
        const error = yield* Effect.flip(Run.resume(built, "r1", { log: false }))
        assert.strictEqual(error._tag, "RunUntrusted")
        assert.include(error.message, `cannot be trusted from version ${version + 2} on: ${reason}`)
      }).pipe(memory)
    )
  })

  describe("two executors of one run", () => {
    it.effect("R-215 exactly one goes on; the other fails with the conflict, and its work is cancelled", () =>
      Effect.gen(function* () {
        const held = [gate(), gate()]
        let calls = 0
        const one = worker("one", () => Effect.suspend(() => Effect.as(held[calls++]!.wait, "done")))
        const built = desk([one], [task("a")])
        const first = yield* Effect.forkChild(Run.start(built, options))
        yield* held[0]!.reached
        const second = yield* Effect.forkChild(Run.resume(built, "r1", { log: false }))
        yield* held[1]!.reached
        yield* held[0]!.open
        const lost = yield* Effect.flip(Fiber.join(first))
        assert.strictEqual(lost._tag, "VersionConflict")
        yield* held[1]!.open
        const outcome = yield* Fiber.join(second)
        assert.strictEqual(outcome.status, "completed")
        assert.strictEqual(short(yield* history("r1")).filter((line) => line.startsWith("Reported")).length, 1)
      }).pipe(memory)
    )
  })

  describe("an open desk", () => {
    it.effect("serves several runs with one staff", () =>
      Effect.gen(function* () {
        let running = 0
        let most = 0
        const one = worker("one", () =>
          Effect.gen(function* () {
            most = Math.max(most, ++running)
            yield* Effect.sleep("1 second")
            running -= 1
            return "done"
          })
        )
        const office = yield* Office.open(desk([one], [task("a")]), { log: false })
        const runs = ["r1", "r2", "r3"].map((id) => Run.startIn(office, { id, input: "go" }))
        const outcomes = yield* elapse(Effect.all(runs, { concurrency: "unbounded" }), "10 seconds")
        assert.deepStrictEqual(
          outcomes.map(({ status }) => status),
          ["completed", "completed", "completed"]
        )
        assert.strictEqual(most, 1)
        const snapshot = yield* office.tree.snapshot
        assert.deepStrictEqual(
          snapshot.children[0]?.children.map(({ id, state }) => [id, state]),
          [["one", "running"]]
        )
      }).pipe(Effect.scoped, memory)
    )
  })

  describe("trouble with the journal", () => {
    const failing = (fails: (append: number) => Journal.JournalError | undefined, written = false) =>
      Layer.effect(
        Journal.Journal,
        Effect.map(Journal.Journal, (journal) => {
          let appends = 0
          return {
            ...journal,
            append: (append: Journal.Append) =>
              Effect.suspend(() => {
                const error = fails(++appends)
                if (error === undefined) return journal.append(append)
                return written ? Effect.andThen(journal.append(append), Effect.fail(error)) : Effect.fail(error)
              })
          }
        })
      ).pipe(Layer.provide(Journal.layerMemory))
    const io = new Journal.JournalError({
      reason: new Journal.JournalUnavailable({ location: "memory", problem: "io", detail: "disk" })
    })
    const full = new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: "memory" }) })

    it.effect("tries a failed commit again as a commit, never the step", () =>
      Effect.gen(function* () {
        let calls = 0
        const built = desk([worker("one", () => Effect.sync(() => `${++calls}`))], [task("a")])
        const outcome = yield* elapse(Run.start(built, options), "1 minute")
        assert.deepStrictEqual([outcome.status, calls], ["completed", 1])
      }).pipe(Effect.provide(failing((append) => (append % 2 === 1 ? io : undefined))))
    )

    it.effect("sees that a commit had reached the store after all", () =>
      Effect.gen(function* () {
        let calls = 0
        const built = desk([worker("one", () => Effect.sync(() => `${++calls}`))], [task("a")])
        const outcome = yield* elapse(Run.start(built, options), "1 minute")
        assert.deepStrictEqual([outcome.status, calls], ["completed", 1])
        assert.strictEqual((yield* history("r1")).length, 6)
      }).pipe(Effect.provide(failing((append) => (append % 2 === 1 ? io : undefined), true)))
    )

    it.effect("stops the work and fails with what the journal said when it cannot be written", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const reached = yield* Deferred.make<void>()
        const one = worker(
          "one",
          ({ task }) =>
            task === "a"
              ? Effect.as(Deferred.await(reached), "a")
              : Effect.andThen(Deferred.succeed(reached, undefined), Effect.never).pipe(
                  Effect.onInterrupt(() => Effect.sync(() => log.push("interrupted")))
                ),
          { size: 2 }
        )
        const error = yield* Effect.flip(Run.start(desk([one], [task("a"), task("b")]), options))
        assert.strictEqual(error, full)
        assert.deepStrictEqual(log, ["interrupted"])
      }).pipe(Effect.provide(failing((append) => (append === 2 ? full : undefined))))
    )
  })
})
