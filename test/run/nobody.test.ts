import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Ladder, Notifier, Plan, Review, Reviewers, ReviewPolicy, Run, type RunEvent } from "espalier/run"

import { history, memory, settle, task, worker } from "./desks.ts"
import { deskOf, of } from "./living.ts"
import { fold, started } from "./simulate.ts"

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

describe("A stage that is skipped", () => {
  const opened: RunEvent.RunEvent = {
    _tag: "ReviewOpened",
    at: 0,
    review: "r1/review/1",
    kind: "question",
    reason: "ambiguity",
    task: "a",
    allowed: ["answer", "reject"],
    terms: { policy: { version: "1", rule: "low" }, risk: "low", stages: [empty, full], final: "reject" },
    steps: [
      { at: 10, what: "remind", stage: 0 },
      { at: 20, what: "widen", stage: 1 },
      { at: 25, what: "remind", stage: 1 },
      { at: 30, what: "expire", stage: 1 }
    ],
    facts: {},
    note: ""
  }
  const advanced = (what: "skipped" | "widened" | "reminded", stage: number, at: number): RunEvent.RunEvent => ({
    _tag: "ReviewAdvanced",
    at,
    review: "r1/review/1",
    what,
    stage,
    due: at,
    note: ""
  })
  const nobody = (action: Ladder.Action): RunEvent.RunEvent => ({
    _tag: "ReviewExpired",
    at: 5,
    review: "r1/review/1",
    action,
    because: "no-reviewer",
    due: 5,
    note: ""
  })
  const reassigned: RunEvent.RunEvent = {
    _tag: "ReviewChanged",
    at: 5,
    review: "r1/review/1",
    by: "ann",
    what: "reassigned",
    to: ["user:bob"],
    note: ""
  }

  it("R-306 leaves the next one, now, and everything after it where it was", () => {
    const state = fold([started([{ id: "a" }]), opened, advanced("skipped", 0, 5)])
    const [review] = [...state.reviews.values()]
    assert.deepStrictEqual(review?.steps, [
      { at: 5, what: "widen", stage: 1 },
      { at: 25, what: "remind", stage: 1 },
      { at: 30, what: "expire", stage: 1 }
    ])
    assert.strictEqual(review?.stage, 0)
    const next = fold([started([{ id: "a" }]), opened, advanced("skipped", 0, 5), advanced("widened", 1, 5)])
    assert.strictEqual([...next.reviews.values()][0]?.stage, 1)
  })

  it("R-306 comes no earlier than when it is noticed too late", () => {
    const state = fold([started([{ id: "a" }]), opened, advanced("reminded", 0, 10), advanced("skipped", 0, 22)])
    assert.strictEqual([...state.reviews.values()][0]?.steps[0]?.at, 20)
  })

  const refusals: ReadonlyArray<readonly [what: string, events: ReadonlyArray<RunEvent.RunEvent>, reason: RegExp]> = [
    [
      "the last one",
      [advanced("skipped", 0, 5), advanced("widened", 1, 5), advanced("skipped", 1, 5)],
      /no stage after 1/
    ],
    [
      "one that is over",
      [advanced("skipped", 0, 5), advanced("widened", 1, 5), advanced("skipped", 0, 6)],
      /at stage 1/
    ],
    ["where others are asked instead", [reassigned, advanced("skipped", 0, 5)], /asks others/],
    ["the end, where others are asked instead", [reassigned, nobody("reject")], /asks others/],
    ["the end of one that is held", [nobody("hold"), nobody("hold")], /held already/]
  ]
  for (const [what, events, reason] of refusals) {
    it(`R-306 is not ${what}`, () => assert.throws(() => fold([started([{ id: "a" }]), opened, ...events]), reason))
  }
})

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
