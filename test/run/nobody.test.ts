import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ladder, Notifier, Plan, Review, Reviewers, ReviewPolicy, Run } from "espalier/run"

import { history, memory, settle, task, worker } from "./desks.ts"
import { deskOf, of } from "./living.ts"

const start = { id: "r1", input: "go", log: false } as const

const hour = 3_600_000

const asks = worker("one", () =>
  Effect.map(Review.ask({ name: "which", question: "Which one?" }), (reply) =>
    reply._tag === "Answered" ? String(reply.value) : reply._tag
  )
)

/** A desk that asks the stages in turn, a day each. */
const asking = (stages: ReadonlyArray<ReadonlyArray<string>>, action: Ladder.Action = "reject") =>
  deskOf([asks], Plan.make<string>([task("a")]), {
    reviews: ReviewPolicy.make({
      ladders: {
        question: Ladder.make({
          stages: stages.map((to, index) => ({
            to,
            after: index * 24 * hour,
            ...(index === 0 ? { remindAt: [0.5] } : {})
          })),
          final: { after: 72 * hour, action }
        })
      }
    })
  })

const directory = (groups: Record<string, ReadonlyArray<string>>) => Reviewers.layer({ groups })

const steps = Effect.map(history("r1"), (events) =>
  events.flatMap((event) =>
    event._tag === "ReviewAdvanced"
      ? [`${event.what} ${event.stage} at ${event.at / hour}`]
      : event._tag === "ReviewExpired"
        ? [`expired ${event.action} ${event.because} at ${event.at / hour}`]
        : []
  )
)

const empty = ["group:nobody"]
const full = ["group:people"]

const groups = { people: ["ann"], nobody: [] }

describe("Where nobody can decide", () => {
  const table: ReadonlyArray<
    readonly [
      what: string,
      stages: ReadonlyArray<ReadonlyArray<string>>,
      steps: ReadonlyArray<string>,
      asked: ReadonlyArray<string>
    ]
  > = [
    ["a stage that has people is waited for", [full, empty], [], ["group:people"]],
    [
      "the next stage comes at once",
      [empty, full],
      ["skipped 0 at 0", "widened 1 at 0"],
      ["group:nobody", "group:people"]
    ],
    [
      "so does the one after that",
      [empty, ["group:unknown"], full],
      ["skipped 0 at 0", "widened 1 at 0", "skipped 1 at 0", "widened 2 at 0"],
      ["group:nobody", "group:unknown", "group:people"]
    ]
  ]
  for (const [what, stages, expected, asked] of table) {
    it.effect(`R-306 ${what}`, () =>
      Effect.gen(function* () {
        const notices: Array<Notifier.Notice> = []
        const chat: Notifier.Channel = { name: "chat", send: (notice) => Effect.sync(() => void notices.push(notice)) }
        const outcome = yield* Run.start(asking(stages), start).pipe(
          Effect.provide(Layer.merge(directory(groups), Notifier.layer([chat])))
        )
        assert.strictEqual(outcome.status, "waiting")
        assert.deepStrictEqual(yield* steps, expected)
        assert.deepStrictEqual(notices.at(-1)?.to, asked)
        // The end stays where it was promised.
        const [review] = [...(yield* Run.state("r1")).reviews.values()]
        assert.strictEqual(review?.steps.at(-1)?.at, 72 * hour)
      }).pipe(memory)
    )
  }

  for (const action of ["reject", "halt"] as const) {
    it.effect(`R-306 where no stage has anybody, its end comes at once: ${action}`, () =>
      Effect.gen(function* () {
        const outcome = yield* Run.start(asking([empty, empty], action), start).pipe(Effect.provide(directory(groups)))
        assert.deepStrictEqual(yield* steps, [`expired ${action} no-reviewer at 0`])
        assert.notStrictEqual(outcome.status, "waiting")
        const [expired] = of(yield* history("r1"), "ReviewExpired")
        assert.match(expired?.note ?? "", /nobody who can decide r1\/review\/1/)
      }).pipe(memory)
    )
  }

  it.effect("R-306 with hold it stays open, is reminded of, and is not looked at again", () =>
    Effect.gen(function* () {
      const built = asking([empty], "hold")
      const within = Effect.provide(directory(groups))
      assert.strictEqual((yield* Run.start(built, start).pipe(within)).status, "waiting")
      yield* TestClock.adjust("24 hours")
      yield* Run.resume(built, "r1", { log: false }).pipe(within)
      assert.deepStrictEqual(yield* steps, ["expired hold no-reviewer at 0", "reminded 0 at 24"])
    }).pipe(memory)
  )

  it.effect("R-306 people who have left meanwhile are noticed when the run is taken up", () =>
    Effect.gen(function* () {
      const built = asking([full, ["anyone"]])
      yield* Run.start(built, start).pipe(Effect.provide(directory(groups)))
      yield* TestClock.adjust("12 hours")
      yield* Run.resume(built, "r1", { log: false }).pipe(Effect.provide(directory({ people: [] })))
      assert.deepStrictEqual(yield* steps, ["reminded 0 at 12", "skipped 0 at 12", "widened 1 at 12"])
    }).pipe(memory)
  )

  it.effect("R-306 a directory that cannot say skips nothing, and one that never answers keeps nobody", () =>
    Effect.gen(function* () {
      const broken = Layer.succeed(
        Reviewers.Reviewers,
        Reviewers.make("broken", Effect.fail(Reviewers.unavailable("broken", "must answer")))
      )
      yield* Run.start(asking([empty, empty]), start).pipe(Effect.provide(broken))
      assert.deepStrictEqual(yield* steps, [])
      const silent = Layer.succeed(Reviewers.Reviewers, Reviewers.make("silent", Effect.never))
      const other = yield* Effect.forkChild(
        Run.start(asking([empty, empty]), { ...start, id: "r2" }).pipe(Effect.provide(silent))
      )
      yield* settle
      assert.isUndefined(other.pollUnsafe())
      yield* TestClock.adjust("5 seconds")
      yield* settle
      assert.strictEqual((yield* Run.state("r2")).status, "waiting")
      assert.isDefined(other.pollUnsafe())
    }).pipe(memory)
  )

  it.effect("R-306 somebody who decides while the directory is asked has decided", () =>
    Effect.gen(function* () {
      const slow = Layer.succeed(
        Reviewers.Reviewers,
        Reviewers.make(
          "slow",
          Effect.as(Effect.sleep("2 seconds"), {
            members: () => Effect.succeed([]),
            standIns: () => Effect.succeed([]),
            admins: Effect.succeed([])
          })
        )
      )
      const built = asking([empty, empty])
      const run = yield* Effect.forkChild(Run.start(built, start).pipe(Effect.provide(slow)))
      yield* settle
      // Here everybody may.
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "this", by: "ann" })
      yield* TestClock.adjust("10 seconds")
      yield* settle
      assert.isDefined(run.pollUnsafe())
      assert.strictEqual((yield* Run.outcome("r1")).results["a"]?.output, "this")
      assert.deepStrictEqual(yield* steps, [])
    }).pipe(memory)
  )
})
