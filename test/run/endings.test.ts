import { assert, describe, it } from "@effect/vitest"
import { Effect, Result as EffectResult, Schema } from "effect"
import { type Coordinator, Graph, type Outcome, Plan, Planner, Result, Router, Run, Swarm } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume } from "./living.ts"

const one = Fake.worker("one", { size: 10, otherwise: "done" })
const failing = Fake.fail("capability", { reason: "No" })

const missing = (outcome: Outcome.Outcome): ReadonlyArray<string> =>
  outcome.missing.map(({ reason, task, worker }) => `${task} (${worker}): ${reason}`)

const start = (
  coordinator: Coordinator.Coordinator<string>,
  settings?: Parameters<typeof deskOf>[2],
  workers: Parameters<typeof deskOf>[0] = [one]
) => Run.start(deskOf(workers, coordinator, settings), options)

describe("What is missing at the end", () => {
  const loop = { outcomes: ["again", "enough"], outcome: () => "again" as const } as const
  const graph = Graph.make({
    start: "a",
    nodes: { a: { worker: "d.one", objective: "A", ...loop } },
    edges: { a: { again: "a", enough: "finish" } },
    steps: 2
  })
  const swarm = Swarm.make({
    start: "a",
    peers: {
      a: { worker: "d.one", objective: "A", handOver: () => "b" },
      b: { worker: "d.one", objective: "B", handOver: () => "a" }
    },
    steps: 2
  })
  const router = Router.make<"a", string>({
    tasks: [{ id: "a", worker: "d.one", objective: "A", fresh: true }],
    choose: Router.rule(() => "a"),
    fallback: "review",
    steps: 2
  })
  it.effect.each<readonly [string, Coordinator.Coordinator<string>, string]>([
    ["graph", graph, "r1 (graph): The graph has had 2 of 2 tasks, and a would be next"],
    ["swarm", swarm, "r1 (swarm): The group has had 2 of 2 tasks, and a would be next"],
    ["router", router, "r1 (router): The group has had 2 of 2 tasks, and a would be next"]
  ])("R-210 R-212 names a %s that was stopped at its cap", ([, coordinator, expected]) =>
    Effect.gen(function* () {
      const outcome = yield* start(coordinator)
      assert.deepStrictEqual([outcome.status, outcome.stopReason], ["partial", "budget-exceeded"])
      assert.deepStrictEqual(missing(outcome), [expected])
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    }).pipe(memory)
  )

  it.effect("R-210 R-212 names every task that a spent budget left out, and nothing twice", () =>
    Effect.gen(function* () {
      const dear = Fake.worker("one", {
        estimate: { tokens: 400 },
        otherwise: Result.completed("done", { usage: { tokens: 400 } })
      })
      const plan = Plan.make<string>([task("a"), task("b"), task("c", { needs: ["b"] })], { concurrency: 1 })
      const outcome = yield* start(plan, { limits: { tokens: 500 } }, [dear])
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b skipped", "c skipped"])
      assert.deepStrictEqual(
        outcome.missing.map(({ task }) => task),
        ["b", "c"]
      )
      for (const { reason } of outcome.missing) assert.include(reason, "run has 100 tokens left")
    }).pipe(memory)
  )

  it.effect("R-212 names the answer that the desk does not take, shows it shortly, and says what it is", () =>
    Effect.gen(function* () {
      const output = Schema.Struct({ text: Schema.String })
      const outcome = yield* start(Plan.make<string>([task("a")]), { output })
      const reason =
        "OUTPUT_INVALID: the desk's output.text is required; it is {1 field}; " +
        "without a merge the output of a plan is a record by task: a"
      assert.deepStrictEqual([outcome.status, outcome.note], ["failed", `${reason}; 1 of 1 task accepted`])
      assert.deepStrictEqual(missing(outcome), [`r1 (plan): ${reason}`])
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    }).pipe(memory)
  )

  it.effect("R-212 does not speak of a merge where one is given", () =>
    Effect.gen(function* () {
      const merge = () => EffectResult.succeed("secret")
      const outcome = yield* start(Plan.make<string>([task("a")], { merge }), { output: Schema.Array(Schema.String) })
      assert.deepStrictEqual(missing(outcome), [
        'r1 (plan): OUTPUT_INVALID: the desk\'s output must be a list, got "secret"'
      ])
    }).pipe(memory)
  )
})

describe("A quorum that is reached", () => {
  const all = [task("a"), task("b"), task("c", { needs: ["b"] })]
  const slow = Fake.worker("one", {
    size: 5,
    answers: ({ task }) => (task === "a" ? "first" : Effect.delay(Effect.succeed("late"), "1 hour"))
  })

  it.effect("R-220 completes the run, and nothing is missing of what it does not need", () =>
    Effect.gen(function* () {
      const outcome = yield* elapse(
        start(Plan.make<string>(all, { containment: { quorum: 1 } }), {}, [slow]),
        "1 minute"
      )
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b skipped", "c skipped"])
      assert.deepStrictEqual(
        [outcome.status, outcome.stopReason, outcome.degraded, outcome.missing, outcome.note],
        ["completed", "accepted", false, [], "1 of 3 tasks accepted, which is enough"]
      )
      assert.strictEqual(outcome.results["b"]?.note, "b is not needed: 1 result is enough, and it is there")
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    }).pipe(memory)
  )

  it.effect("R-220 R-212 gives an answer that is whole, also beside a task that has failed", () =>
    Effect.gen(function* () {
      const some = Fake.worker("one", { answers: ({ task }) => (task === "a" ? failing : task) })
      const plan = Plan.make<string>([task("a"), task("b")], { containment: { quorum: 1 }, concurrency: 1 })
      const outcome = yield* start(plan, { output: Schema.Json }, [some])
      assert.deepStrictEqual(ends(outcome), ["a failed", "b accepted"])
      assert.deepStrictEqual([outcome.status, outcome.output, outcome.missing], ["completed", { b: "b" }, []])
    }).pipe(memory)
  )

  it.effect("R-220 does not make a group inside whole that stops with the one that it is in", () =>
    Effect.gen(function* () {
      const inner = Plan.make<unknown>(["quick", "slow"].map((id) => ({ id, worker: "d.one", objective: id })))
      const some = Fake.worker("one", {
        size: 5,
        answers: ({ task }) =>
          task.endsWith("slow") ? Effect.never : task === "a" ? Effect.delay(Effect.succeed("a"), "1 second") : task
      })
      const plan = Plan.make<string>([task("a"), { id: "in", by: inner, objective: "In" }], {
        containment: { quorum: 1 }
      })
      const outcome = yield* elapse(start(plan, {}, [some]), "1 minute")
      assert.deepStrictEqual(ends(outcome), ["a accepted", "in partial", "in/quick accepted", "in/slow skipped"])
      assert.deepStrictEqual(outcome.results["in"]?.output, { quick: "in/quick" })
      assert.deepStrictEqual([outcome.status, outcome.missing], ["completed", []])
    }).pipe(memory)
  )

  it.effect("R-220 R-208 keeps what was delivered while somebody else is asked about it", () =>
    Effect.gen(function* () {
      const unsure = Fake.worker("one", {
        size: 5,
        capabilities: ["work"],
        answers: ({ task }) =>
          task === "a" ? Effect.delay(Effect.succeed("a"), "1 second") : Result.completed("unsure", { confidence: 0.1 })
      })
      const checker = Fake.worker("two", { capabilities: ["work"], answers: () => Effect.never })
      const plan = Plan.make<string>([task("a"), task("b")], { containment: { quorum: 1 } })
      const policy = { policy: { lowConfidence: "cross-check" } } as never
      const outcome = yield* elapse(start(plan, policy, [unsure, checker]), "1 minute")
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b accepted"])
      assert.strictEqual(outcome.results["b"]?.output, "unsure")
    }).pipe(memory)
  )
})

describe("A run is degraded", () => {
  const capable = { capabilities: ["work"], size: 5 } as const
  const good = Fake.worker("one", { ...capable, otherwise: "good" })
  const two = Fake.worker("two", { ...capable, otherwise: "stand-in" })
  const bad = Fake.worker("one", { ...capable, otherwise: failing })
  const inside = (coordinator: Coordinator.Coordinator<unknown>): Plan.Plan<string> =>
    Plan.make<string>([{ id: "in", by: coordinator, objective: "In" }])
  const plain = [{ id: "a", worker: "d.one", objective: "A" }]
  const nobody = { plan: () => Effect.succeed("no plan"), fallback: Plan.make<unknown>(plain) }
  const never = {
    tasks: [{ id: "a", worker: "d.one", objective: "A" }] as const,
    choose: ({ tasks }: Router.Question<unknown>) => Effect.succeed(tasks.length === 0 ? "none" : "finish"),
    fallback: "a" as const
  }
  const planned = { plan: () => Effect.succeed(plain), fallback: Plan.make<unknown>(plain) }
  const half = Fake.worker("one", {
    ...capable,
    answers: ({ task }) => (task.endsWith("b") ? "whole" : Result.partial("half", [{ part: "p", reason: "r" }]))
  })
  const chain = Graph.make({
    start: "a",
    nodes: {
      a: { worker: "d.one", objective: "A", outcomes: ["on"], outcome: () => "on" },
      b: { worker: "d.one", objective: "B", outcomes: ["on"], outcome: () => "on" }
    },
    edges: { a: { on: "b" }, b: { on: "finish" } }
  })
  const replan = { replan: () => [{ id: "new", worker: "d.two", objective: "Anew" }] }
  const decompose = { decompose: () => [{ id: "x", worker: "d.one", objective: "X" }] }
  const large = Fake.worker("one", {
    ...capable,
    answers: ({ task }) => (task === "a" ? Fake.fail("oversized") : "small")
  })
  it.effect.each<
    readonly [string, Plan.Task<string> | Coordinator.Coordinator<string>, Parameters<typeof deskOf>[0], string]
  >([
    ["not by the worker that is named", task("a"), [good, two], ""],
    ["by another one when that has failed", task("a"), [bad, two], "by a stand-in"],
    ["by another one inside a group", inside(Plan.make<unknown>(plain)), [bad, two], "by a stand-in"],
    ["not inside a group by the worker that is named", inside(Plan.make<unknown>(plain)), [good], ""],
    ["by a new plan", task("a", replan), [Fake.worker("one", { otherwise: failing }), two], "by a stand-in"],
    ["not by being split", task("a", decompose), [large], ""],
    ["by the fallback of a planner", Planner.make<string>(nobody), [good], "by a fallback"],
    ["by the fallback of a planner inside", inside(Planner.make<unknown>(nobody)), [good], "by a fallback"],
    ["not by a plan that holds", inside(Planner.make<unknown>(planned)), [good], ""],
    ["by the fallback of a router", Router.make<"a", string>(never), [good], "by a fallback"],
    ["by the fallback of a router inside", inside(Router.make<"a", unknown>(never)), [good], "by a fallback"],
    ["by something partial inside", inside(chain), [half], "on results that are not whole"],
    ["not by what is whole inside", inside(chain), [good], ""],
    [
      "by low confidence",
      task("a"),
      [Fake.worker("one", { otherwise: Result.completed("?", { confidence: 0.1 }) })],
      "with low confidence"
    ]
  ])("R-206 R-212 %s", ([, given, workers, how]) =>
    Effect.gen(function* () {
      const coordinator = "objective" in given ? Plan.make<string>([given]) : given
      const outcome = yield* elapse(start(coordinator, {}, workers), "1 hour")
      assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", how !== ""])
      assert.strictEqual(outcome.note, `1 of 1 task accepted${how === "" ? "" : `, ${how}`}`)
    }).pipe(memory)
  )
})

describe("A check that fails", () => {
  const unsure = Result.completed("good", { confidence: 0.1 })
  it.effect.each([
    ["cross-check", [unsure], ["d.one", "d.two"]],
    ["retry", [unsure, failing], ["d.one", "d.one"]]
  ] as const)(
    "R-208 R-210 is not made for ever, and leaves what was delivered: %s",
    ([lowConfidence, answers, asked]) =>
      Effect.gen(function* () {
        const named = Fake.worker("one", { capabilities: ["work"], answers, otherwise: unsure })
        const checker = Fake.worker("two", { capabilities: ["work"], otherwise: failing })
        const plan = Plan.make<string>([task("a")])
        const outcome = yield* start(plan, { policy: { lowConfidence } }, [named, checker])
        assert.deepStrictEqual(
          outcome.dispatches.map(({ worker }) => worker),
          [...asked]
        )
        assert.deepStrictEqual(
          [outcome.status, outcome.note, outcome.results["a"]?.output],
          ["completed", "1 of 1 task accepted, with low confidence", "good"]
        )
      }).pipe(memory)
  )
})

describe("What a merge is given", () => {
  it.effect("R-212 is a part and nothing beside it, of a run and of a group", () =>
    Effect.gen(function* () {
      const keys: Array<string> = []
      const merge = (parts: ReadonlyArray<Coordinator.Part>) => {
        for (const part of parts) keys.push(Object.keys(part).toSorted().join())
        return EffectResult.succeed("merged")
      }
      const inner = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "X" }], { merge })
      yield* start(Plan.make<string>([{ id: "a", by: inner, objective: "A" }], { merge }), { output: Schema.String })
      const fields = "id,reason,result,status,template,usage"
      assert.deepStrictEqual(keys, [fields, fields])
    }).pipe(memory)
  )
})

describe("The note of a run that is taken up", () => {
  const denied = Fake.worker("one", { answers: [Fake.fail("denied"), "done"] })

  it.effect("R-216 says that what it waited for is decided", () =>
    Effect.gen(function* () {
      const desk = deskOf([denied], Plan.make<string>([task("a")]))
      const waiting = yield* Run.start(desk, options)
      assert.strictEqual(waiting.status, "waiting")
      yield* Run.decide({ review: waiting.reviews[0]?.review ?? "", decision: "accept-partial", by: "ann" })
      yield* resume(desk)
      const [resumed] = of(yield* history("r1"), "RunResumed")
      assert.match(resumed?.note ?? "", /^Taken up at version \d+: what it waited for is decided$/)
    }).pipe(memory)
  )

  it.effect("R-211 counts one order as one", () =>
    Effect.gen(function* () {
      const hanging = Fake.worker("one", { answers: [Fake.never, "done"] })
      const desk = deskOf([hanging], Plan.make<string>([task("a")]))
      const run = yield* begin(Run.start(desk, options))
      yield* pass("1 second")
      yield* run.interrupt
      yield* resume(desk)
      const events = yield* history("r1")
      assert.include(of(events, "RunSuspended")[0]?.note, "with 1 order under way")
      assert.include(of(events, "RunResumed")[0]?.note, "it was suspended (asked), with 1 order under way")
    }).pipe(memory)
  )
})

describe("What a person was asked about", () => {
  const unsure = Fake.worker("one", {
    size: 5,
    answers: ({ task }) => {
      if (task === "low") return Result.completed("maybe 42", { confidence: 0.2 })
      if (task === "look") return Result.needsReview("3000 EUR", [{ part: "the sum", reason: "it is large" }])
      if (task === "half") return Result.partial("12", [{ part: "the rest", reason: "no time" }])
      return task === "fails" ? failing : "done"
    }
  })
  const asked = ["low", "look", "half"]
  const plan = (fields: Plan.Options = {}, more: ReadonlyArray<Plan.Task<string>> = []) =>
    Plan.make<string>(
      [task("low"), task("look"), task("half", { onIncomplete: "escalate" }), task("fine"), ...more],
      fields
    )
  const settings = { policy: { lowConfidence: "review" as const } }
  const outputs = ({ results }: Outcome.Outcome) =>
    Object.values(results).map(({ output = null, status, task }) => `${task} ${status} ${JSON.stringify(output)}`)
  const left = [...asked.map((id) => `${id} cancelled null`), 'fine accepted "done"']

  it.effect("R-208 R-211 is not let stand by the end of its run", () =>
    Effect.gen(function* () {
      const desk = deskOf([unsure], plan(), settings)
      const waiting = yield* Run.start(desk, options)
      assert.strictEqual(waiting.reviews.length, 3)
      yield* Run.cancel("r1", { by: "ada" })
      const outcome = yield* resume(desk)
      assert.deepStrictEqual(outputs(outcome), left)
      assert.include(outcome.missing[0]?.reason, "before a person has let stand what there is")
    }).pipe(memory)
  )

  it.effect("R-208 R-220 is not let stand by a sibling that fails", () =>
    Effect.gen(function* () {
      const desk = deskOf([unsure], plan({ containment: "fail-fast" }, [task("fails", { needs: ["fine"] })]), settings)
      const outcome = yield* Run.start(desk, options)
      assert.deepStrictEqual(outputs(outcome).slice(0, 4), left)
    }).pipe(memory)
  )

  it.effect("R-208 stands when a person has said so before the end", () =>
    Effect.gen(function* () {
      const desk = deskOf([unsure], plan(), settings)
      const waiting = yield* Run.start(desk, options)
      const review = waiting.reviews.find(({ task }) => task === "low")?.review ?? ""
      yield* Run.decide({ review, decision: "approve", by: "ada" })
      yield* Run.cancel("r1", { by: "ada" })
      const outcome = yield* resume(desk)
      assert.deepStrictEqual(outputs(outcome)[0], 'low accepted "maybe 42"')
    }).pipe(memory)
  )
})

describe("A task whose budget was raised", () => {
  it.effect("R-206 R-210 goes on where it was refused, and begins no new ladder", () =>
    Effect.gen(function* () {
      const estimate = { tokens: 60 }
      const first = Fake.worker("one", { capabilities: ["work"], estimate, answers: [failing] })
      const second = Fake.worker("two", { capabilities: ["work"], estimate, otherwise: "done" })
      const settings = { limits: { tokens: 100 }, policy: { atCap: "review" as const } }
      const desk = deskOf([first, second], Plan.make<string>([task("a")]), settings)
      const waiting = yield* Run.start(desk, options)
      const [review] = waiting.reviews
      assert.strictEqual(review?.kind, "budget-increase")
      yield* Run.decide({ review: review?.review ?? "", decision: "approve", by: "ada", raise: { tokens: 100 } })
      const outcome = yield* resume(desk)
      assert.deepStrictEqual(
        outcome.dispatches.map(({ outcome, worker }) => `${worker} ${outcome}`),
        ["d.one refused", "d.two accepted"]
      )
      assert.include(outcome.dispatches[1]?.routing, "the budget has room for a at d.two now")
    }).pipe(memory)
  )
})
