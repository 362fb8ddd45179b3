import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  Aggregate,
  Decider,
  Desk,
  Ladder,
  Planner,
  Result,
  Review,
  ReviewPolicy,
  Router,
  Run,
  type RunEvent,
  RunState
} from "espalier/run"
import { Fake } from "espalier/testing"

import { history, memory, task, worker } from "./desks.ts"
import { guarded, of, r1 } from "./guards.ts"
import type { resume } from "./living.ts"
import { Bank, desk as outside, killed, pays, tagged } from "./outside.ts"
import { get } from "./simulate.ts"

type Settings = NonNullable<Parameters<typeof guarded>[2]>

const missing = [{ part: "the end", reason: "It is not written" }]

/** Nobody has decided after an hour: then `action` is done, whatever it is about. */
const silence = (action: RunEvent.FinalAction) => {
  const ladder = (final: RunEvent.FinalAction) =>
    Ladder.make({ stages: [{ to: ["anyone"], after: 0 }], final: { after: "1 hour", action: final } })
  const open = action === "approve" ? "hold" : action
  return ReviewPolicy.make({
    allowAutoApprove: action === "approve",
    ladders: { low: ladder(action), question: ladder(open), reconciliation: ladder(open) }
  })
}

type Ends = readonly [task: string, run: RunState.RunStatus, stop: RunEvent.StopReason]

interface Case {
  readonly kind: RunEvent.ReviewKind
  readonly desk: (settings: Settings) => Desk.Desk<string, never>
  readonly start?: (built: Desk.Desk<string, never>) => ReturnType<typeof resume>
  /** What becomes of the task, and of the run, when nobody decides. */
  readonly reject: Ends
  readonly halt?: Ends
  /** Where silence may approve. */
  readonly approve?: Ends
}

const unanswered: Ends = ["failed", "failed", "escalation-expired"]

const fake = (...answers: ReadonlyArray<unknown>) =>
  Fake.worker("one", { answers: answers as ReadonlyArray<string>, otherwise: "more" })

const coordinated = (coordinator: object, settings: Settings) =>
  guarded([fake("done")], [], { ...settings, coordinator } as Settings)

const Owned = Schema.Struct({ owner: Schema.String })

const aggregate = Aggregate.make({ tasks: { a: Owned, b: Owned }, fields: { owner: Aggregate.error(Schema.String) } })

const scope = [
  { id: "tests", statement: "Tests pass" },
  { id: "docs", statement: "Docs build", mandatory: false }
]

const cases: ReadonlyArray<Case & { readonly what: string }> = [
  {
    what: "an action",
    kind: "action-approval",
    desk: (settings) => guarded([fake("done")], [task("a")], { ...settings, tier: "low" }),
    reject: unanswered,
    approve: ["accepted", "completed", "accepted"]
  },
  {
    what: "a gate",
    kind: "result-acceptance",
    desk: (settings) => guarded([fake("done")], [task("a", { acceptance: "person" })], settings),
    reject: unanswered
  },
  {
    what: "a question of a worker",
    kind: "question",
    desk: (settings) => guarded([fake(Result.ambiguous("Which one?"))], [task("a")], settings),
    reject: unanswered
  },
  {
    what: "a question of the work of an order",
    kind: "question",
    desk: (settings) =>
      guarded(
        [worker("one", () => Effect.map(Review.ask({ name: "which", question: "Which?" }), ({ _tag }) => _tag))],
        [task("a")],
        settings
      ),
    // It goes on and says what it makes of that.
    reject: ["accepted", "completed", "accepted"],
    halt: unanswered
  },
  {
    what: "what is not complete",
    kind: "escalation",
    desk: (settings) =>
      guarded([fake(Result.partial("half", missing))], [task("a", { onIncomplete: "escalate" })], settings),
    reject: unanswered
  },
  {
    what: "a budget",
    kind: "budget-increase",
    desk: (settings) =>
      guarded(
        [Fake.worker("one", { otherwise: "done", estimate: { tokens: 500 } })],
        [task("first"), task("a", { needs: ["first"] })],
        { ...settings, limits: { tokens: 600 }, policy: { atCap: "review" } }
      ),
    reject: ["failed", "partial", "escalation-expired"]
  },
  {
    what: "what may be dropped",
    kind: "scope-reduction",
    desk: (settings) => guarded([fake("done")], [task("a", { definitionOfDone: scope, reduceScope: true })], settings),
    reject: unanswered
  },
  {
    what: "a field that two tasks disagree about",
    kind: "reconciliation",
    desk: (settings) =>
      guarded([Fake.worker("one", { answers: ({ task }) => ({ owner: task }) })], [task("a"), task("b")], {
        ...settings,
        aggregate,
        reconcile: "review"
      }),
    reject: ["accepted", "partial", "accepted"]
  },
  {
    what: "an effect that nobody knows the outcome of",
    kind: "reconciliation",
    desk: (settings) => outside(() => pays(new Bank()), ["a"], {}, settings as never),
    start: (built) =>
      Effect.andThen(
        killed(Run.start(built, r1), tagged("EffectSettled"), "before"),
        Run.resume(built, "r1", { log: false })
      ),
    reject: unanswered
  },
  {
    what: "a route",
    kind: "routing",
    desk: (settings) =>
      coordinated(
        Router.make<string>({
          tasks: [task("a")] as never,
          choose: () => Effect.succeed("none"),
          fallback: "review"
        }),
        settings
      ),
    reject: ["", "failed", "escalation-expired"]
  },
  {
    what: "a plan",
    kind: "plan-approval",
    desk: (settings) =>
      coordinated(
        Planner.make<string>({
          plan: () => Effect.succeed([{ id: "a", worker: "d.one", objective: "Do a" }]),
          fallback: "review",
          review: "person"
        }),
        settings
      ),
    reject: ["", "failed", "escalation-expired"]
  },
  {
    what: "a plan of a task",
    kind: "plan-approval",
    desk: (settings) => {
      const { worker: _, ...a } = task("a")
      const by = Planner.make<never>({
        plan: () => Effect.succeed([{ id: "x", worker: "d.one", objective: "Do x" }]),
        fallback: "review",
        review: "person"
      })
      return guarded([fake("done")], [{ ...a, by }], settings)
    },
    reject: unanswered
  }
]

const begin = (each: Case, built: Desk.Desk<string, never>) => each.start?.(built) ?? Run.start(built, r1)

const endOf = Effect.fnUntraced(function* (each: Case, action: RunEvent.FinalAction) {
  const built = each.desk({ reviews: silence(action) })
  const first = yield* begin(each, built)
  assert.deepStrictEqual([first.status, first.reviews.map(({ kind }) => kind)], ["waiting", [each.kind]])
  yield* TestClock.adjust("1 hour")
  const last = yield* Run.resume(built, "r1", { log: false })
  return { built, last }
})

describe("A question that nobody decides in time", () => {
  const ended = cases.flatMap((each) => (["reject", "halt"] as const).map((action) => ({ ...each, action })))
  it.effect.each(ended.map((each) => [each.what, each.action, each] as const))(
    "R-306 about %s, with %s",
    ([, action, each]) =>
      Effect.gen(function* () {
        const { last } = yield* endOf(each, action)
        const [status, run, stop] = (action === "halt" ? each.halt : undefined) ?? each.reject
        assert.deepStrictEqual([last.results["a"]?.status ?? "", last.status, last.stopReason], [status, run, stop])
        assert.deepStrictEqual(last.reviews, [])
        const [expired] = yield* of("ReviewExpired")
        assert.deepInclude(expired, { action, because: "deadline", due: 3_600_000 })
        assert.deepStrictEqual(yield* of("ReviewDecided"), [])
        if (status === "failed") assert.match(last.results["a"]?.note ?? "", /nobody has decided/i)
        // Nobody who did not decide is said to have rejected anything.
        assert.notInclude(JSON.stringify(last.missing), "reject")
        const late = yield* Effect.flip(Run.decide({ review: "r1/review/1", decision: "reject", by: "ann" }))
        assert.strictEqual(late._tag === "CommandRefused" ? late.because : late._tag, "expired")
      }).pipe(memory)
  )

  it.effect.each(cases.map((each) => [each.what, each] as const))("R-306 about %s stays open with hold", ([, each]) =>
    Effect.gen(function* () {
      const { built, last } = yield* endOf(each, "hold")
      assert.deepStrictEqual([last.status, last.reviews.length], ["waiting", 1])
      yield* TestClock.adjust("10 days")
      const later = yield* Run.resume(built, "r1", { log: false })
      assert.deepStrictEqual([later.status, later.reviews.length], ["waiting", 1])
      const allowed = later.reviews[0]?.allowed ?? []
      const decision = allowed.includes("reject") ? "reject" : "accept-partial"
      yield* Run.decide({ review: "r1/review/1", decision, by: "ann", note: "at last" })
      assert.notStrictEqual((yield* Run.resume(built, "r1", { log: false })).status, "waiting")
    }).pipe(memory)
  )

  it.effect.each(cases.map((each) => [each.what, each] as const))(
    "R-306 D77 about %s is approved by silence only where it is an action of low risk",
    ([, each]) =>
      Effect.gen(function* () {
        const { last } = yield* endOf(each, "approve")
        const [expired] = yield* of("ReviewExpired")
        const held = each.kind === "question" || each.kind === "reconciliation"
        assert.strictEqual(expired?.action, each.approve !== undefined ? "approve" : held ? "hold" : "reject")
        if (held) return
        const [status, run, stop] = each.approve ?? each.reject
        assert.deepStrictEqual([last.results["a"]?.status ?? "", last.status, last.stopReason], [status, run, stop])
      }).pipe(memory)
  )

  it.effect.each(cases.map((each) => [each.what, each] as const))(
    "R-306 about %s has one answer in the decider, which asks nobody again",
    ([, each]) =>
      Effect.gen(function* () {
        const built = each.desk({ reviews: silence("reject") })
        yield* begin(each, built)
        const events = [...(yield* history("r1"))]
        const before = get(RunState.fold(events))
        assert.deepStrictEqual(Decider.decide(before!, Desk.spec(built)), [])
        for (const action of ["reject", "halt"] as const) {
          const due = 3_600_000
          const state = get(
            RunState.evolve(before, {
              _tag: "ReviewExpired",
              at: due,
              review: "r1/review/1",
              action,
              because: "deadline",
              due,
              note: "Nobody has decided"
            })
          )
          const actions = Decider.decide(state, Desk.spec(built))
          assert.isAbove(actions.length, 0)
          assert.isFalse(actions.some(({ _tag }) => _tag === "Review" || _tag === "Dispatch" || _tag === "Consult"))
        }
      }).pipe(memory)
  )
})
