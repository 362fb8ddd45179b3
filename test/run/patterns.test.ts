import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Schema } from "effect"
import { Journal } from "espalier/journal"
import { type Coordinator, Desk, Domain, Graph, Pipeline, Plan, Planner, Router, Run, Swarm } from "espalier/run"

import { elapse, history, memory, worker } from "./desks.ts"

const options = { id: "r1", input: "go", log: false } as const

const text = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** A desk of three workers that put out their own name and what they were given, and count their orders. */
const office = <R>(
  coordinator: Coordinator.Coordinator<string, R>,
  handle: (name: string, input: unknown, times: number) => Effect.Effect<string, unknown> = (name, input) =>
    Effect.succeed(`${name}(${text(input)})`)
) => {
  const calls: Record<string, number> = {}
  const made = (name: string, capability: string) =>
    worker(
      name,
      ({ input }) =>
        Effect.suspend(() => {
          calls[name] = (calls[name] ?? 0) + 1
          return handle(name, input, calls[name] ?? 0)
        }),
      { capabilities: [capability], size: 5 }
    )
  const built = Desk.make("desk", {
    version: "1",
    input: Schema.String,
    domains: [Domain.make("d", { workers: [made("one", "a"), made("two", "b"), made("three", "c")] })],
    coordinator
  })
  return { built, calls }
}

const outputs = (outcome: { readonly results: object }) =>
  Object.fromEntries(
    Object.entries(outcome.results).map(([id, entry]: [string, { readonly output?: unknown }]) => [id, entry.output])
  )

describe("Patterns, in a run", () => {
  it.effect("R-205 a pipeline hands each output on", () =>
    Effect.gen(function* () {
      const pipeline = Pipeline.make<string>([
        { id: "a", worker: "d.one", objective: "A", input: (_, go) => ({ from: go }) },
        { id: "b", worker: "d.two", objective: "B", input: ({ a }) => ({ from: a }) }
      ])
      const outcome = yield* Run.start(office(pipeline).built, options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(outputs(outcome), {
        a: `one({"from":"go"})`,
        b: `two({"from":"one({\\"from\\":\\"go\\"})"})`
      })
    }).pipe(memory)
  )

  it.effect("R-205 a graph goes round until the check is content, with the same inputs too", () =>
    Effect.gen(function* () {
      const graph = Graph.make({
        start: "draft",
        nodes: {
          draft: { worker: "d.one", objective: "Draft", outcomes: ["drafted"], outcome: () => "drafted" },
          check: {
            worker: "d.two",
            objective: "Check",
            outcomes: ["fine", "wrong"],
            outcome: (output) => (output === "fine" ? "fine" : "wrong")
          }
        },
        edges: { draft: { drafted: "check" }, check: { fine: "finish", wrong: "draft" } }
      })
      const { built, calls } = office(graph, (name, _, times) =>
        Effect.succeed(name === "two" ? (times < 3 ? "wrong" : "fine") : `draft ${times}`)
      )
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(calls, { one: 3, two: 3 })
      assert.strictEqual(outputs(outcome)["draft#3"], "draft 3")
    }).pipe(memory)
  )

  it.effect("R-205 D30 a graph that never comes to its end stops at its cap with what there is", () =>
    Effect.gen(function* () {
      const graph = Graph.make({
        start: "a",
        nodes: {
          a: { worker: "d.one", objective: "A", outcomes: ["again", "ok"], outcome: () => "again" }
        },
        edges: { a: { again: "a", ok: "finish" } },
        cap: 4
      })
      const { built, calls } = office(graph)
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.status, "partial")
      assert.strictEqual(outcome.stopReason, "loop-detected")
      assert.deepStrictEqual(calls, { one: 4 })
    }).pipe(memory)
  )

  it.effect("R-205 D23 a swarm is one task of a plan and has one result, and the plan goes on", () =>
    Effect.gen(function* () {
      const swarm = Swarm.make({
        start: "writer",
        peers: {
          writer: { worker: "d.one", objective: "Write", handOver: () => "critic" },
          critic: {
            worker: "d.two",
            objective: "Criticise",
            input: ({ writer }: Coordinator.Accepted) => ({ text: writer }),
            handOver: (output) => (output === "fine" ? "done" : "writer")
          }
        }
      })
      const plan = Plan.make<string>([
        { id: "notes", by: swarm, objective: "Write the notes" },
        { id: "post", worker: "d.three", objective: "Post", needs: ["notes"], input: ({ notes }) => ({ notes }) }
      ])
      const { built, calls } = office(plan, (name, input, times) =>
        Effect.succeed(name === "two" ? (times < 2 ? "wrong" : "fine") : name === "one" ? `text ${times}` : text(input))
      )
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(calls, { one: 2, two: 2, three: 1 })
      assert.strictEqual(outputs(outcome)["post"], `{"notes":"fine"}`)
    }).pipe(memory)
  )

  it.effect("R-204 D18 a model that misbehaves is corrected once, and then its choice counts", () =>
    Effect.gen(function* () {
      const said: Array<unknown> = ["Research", " research ", "write", "finish"]
      const told: Array<string | undefined> = []
      const router = Router.make({
        tasks: [
          { id: "research", worker: "d.one", objective: "Find out" },
          {
            id: "write",
            worker: "d.two",
            objective: "Write",
            input: ({ research }: Coordinator.Accepted) => ({ research })
          }
        ],
        choose: ({ refused }) => Effect.sync(() => (told.push(refused?.reason), said.shift())),
        fallback: "review"
      })
      const outcome = yield* Run.start(office(router).built, options)
      assert.strictEqual(outcome.status, "completed")
      const none = `ROUTING_ERROR: "Research" is none of: research, write, finish, none`
      assert.deepStrictEqual(told, [undefined, none, undefined, undefined])
      assert.deepStrictEqual(outputs(outcome), { "research#2": "one({})", "write#3": `two({"research":"one({})"})` })
      const refused = (yield* history("r1")).flatMap((event) => (event._tag === "DecisionFailed" ? [event.error] : []))
      assert.deepStrictEqual(refused, [
        { kind: "malformed", reason: `ROUTING_ERROR: "Research" is none of: research, write, finish, none` }
      ])
    }).pipe(memory)
  )

  it.effect(
    "R-210 what a choice costs is charged to the run, also a bad one, and nobody is asked once it is spent",
    () =>
      Effect.gen(function* () {
        const said: Array<unknown> = ["nobody", "research", "research"]
        const router = Router.make({
          tasks: [{ id: "research", worker: "d.one", objective: "Find out", fresh: true }],
          choose: () => Effect.sync(() => Router.answer(said.shift(), { usage: { tokens: 60 } })),
          fallback: "review"
        })
        const { built, calls } = office(router, (_, _i, times) => Effect.succeed(`found ${times}`))
        const outcome = yield* Run.start(built, { ...options, limits: { tokens: 100 } })
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["failed", "budget-exceeded"])
        assert.deepStrictEqual(outcome.usage, { tokens: 120 })
        assert.deepStrictEqual([calls, said], [{}, ["research"]])
      }).pipe(memory)
  )

  it.effect("R-204 a choice that is never made fails after two minutes, twice, and then the fallback is taken", () =>
    Effect.gen(function* () {
      const router = Router.make({
        tasks: [{ id: "research", worker: "d.one", objective: "Find out" }],
        choose: ({ tasks }) => (tasks.length === 0 ? Effect.never : Effect.succeed("finish")),
        fallback: "research"
      })
      const { built, calls } = office(router)
      const outcome = yield* elapse(Run.start(built, options), "4 minutes")
      assert.deepStrictEqual([outcome.status, calls], ["completed", { one: 1 }])
      const failed = (yield* history("r1")).flatMap((event) => (event._tag === "DecisionFailed" ? [event.error] : []))
      const late = { kind: "transient", reason: "no answer within 2 minutes" }
      assert.deepStrictEqual(failed, [late, late])
    }).pipe(memory)
  )

  it.effect("R-204 D28 a router that finishes at once fails as empty", () =>
    Effect.gen(function* () {
      const router = Router.make({
        tasks: [{ id: "research", worker: "d.one", objective: "Find out" }],
        choose: Router.rule(() => "finish"),
        fallback: "review"
      })
      const { built, calls } = office(router)
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.status, "failed")
      assert.strictEqual(outcome.stopReason, "empty")
      assert.deepStrictEqual(calls, {})
    }).pipe(memory)
  )

  it.effect("R-204 D20 D39 a router that chooses the same for ever has the worker run once, and is stopped", () =>
    Effect.gen(function* () {
      const router = Router.make({
        tasks: [{ id: "research", worker: "d.one", objective: "Find out", input: () => ({ what: "it" }) }],
        choose: Router.rule(() => "research"),
        fallback: "review"
      })
      const { built, calls } = office(router)
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.stopReason, "loop-detected")
      assert.deepStrictEqual(calls, { one: 1 })
      const events = yield* history("r1")
      assert.strictEqual(events.filter(({ _tag }) => _tag === "Reused").length, 2)
    }).pipe(memory)
  )

  it.effect("R-204 D30 a router that never finishes has exactly so many tasks as its cap", () =>
    Effect.gen(function* () {
      const router = Router.make({
        tasks: [{ id: "research", worker: "d.one", objective: "Find out", fresh: true }],
        choose: Router.rule(() => "research"),
        fallback: "review",
        steps: 5
      })
      const { built, calls } = office(router, (_, _i, times) => Effect.succeed(`found ${times}`))
      const outcome = yield* Run.start(built, options)
      assert.strictEqual(outcome.stopReason, "budget-exceeded")
      assert.strictEqual(outcome.status, "partial")
      assert.deepStrictEqual(calls, { one: 5 })
    }).pipe(memory)
  )

  it.effect("R-204 a run without a route waits for a person, whose answer is a route", () =>
    Effect.gen(function* () {
      const router = Router.make({
        tasks: [
          { id: "research", worker: "d.one", objective: "Find out" },
          { id: "write", worker: "d.two", objective: "Write" }
        ],
        choose: Router.rule(({ tasks }) => (tasks.length === 0 ? "none" : "finish")),
        fallback: "review"
      })
      const { built, calls } = office(router)
      const waiting = yield* Run.start(built, options)
      assert.strictEqual(waiting.status, "waiting")
      const [review] = waiting.reviews
      assert.deepStrictEqual([review?.kind, review?.reason], ["routing", "no-route"])
      assert.deepStrictEqual(review?.facts["choices"], ["research", "write", "finish"])
      const said = { review: "r1/review/1", decision: "answer", by: "ann", note: "She knows" } as const
      const wrong = yield* Effect.flip(Run.decide({ ...said, answer: "wrote" }))
      assert.include(wrong.message, 'answer must be one of research, write, finish, got "wrote"')
      yield* Run.decide({ ...said, answer: "write" })
      const outcome = yield* Run.resume(built, "r1", { log: false })
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(calls, { two: 1 })
      assert.deepStrictEqual(Object.keys(outcome.results), ["write#1-review"])
    }).pipe(memory)
  )

  it.effect("R-205 D24 one graph is a task of two plans, and its branches run side by side in both", () =>
    Effect.gen(function* () {
      const both = { objective: "Do it", outcomes: ["ok"], outcome: () => "ok" as const } as const
      const graph = Graph.make({
        start: "split",
        nodes: {
          split: { ...both, worker: "d.one" },
          left: { ...both, worker: "d.two" },
          right: { ...both, worker: "d.three" },
          join: { ...both, worker: "d.one", input: ({ left, right }: Coordinator.Accepted) => ({ left, right }) }
        },
        edges: {
          split: { ok: ["left", "right"] },
          left: { ok: "join" },
          right: { ok: "join" },
          join: { ok: "finish" }
        }
      })
      const plan = Plan.make<string>([
        { id: "x", by: graph, objective: "X" },
        { id: "y", by: graph, objective: "Y", needs: ["x"] }
      ])
      const { built, calls } = office(plan, (name, input) =>
        Effect.as(Effect.sleep("10 seconds"), `${name}(${text(input)})`)
      )
      const outcome = yield* elapse(Run.start(built, options).pipe(Random.withSeed(1)), "2 minutes")
      assert.strictEqual(outcome.status, "completed")
      assert.strictEqual((outcome.endedAt ?? 0) - outcome.startedAt, 60_000)
      assert.deepStrictEqual(calls, { one: 4, two: 2, three: 2 })
      const joined = `one({"left":"two({})","right":"three({})"})`
      assert.strictEqual(outputs(outcome)["x"], joined)
      assert.strictEqual(outputs(outcome)["y"], joined)
    }).pipe(memory)
  )

  it.effect("R-205 D21 D27 a plan of a model runs side by side, and its control fields do nothing", () =>
    Effect.gen(function* () {
      const planner = Planner.make({
        plan: () =>
          Effect.succeed([
            { id: "a", worker: "d.one", objective: "A", inputs: { n: 1 }, status: "accepted", approved: true },
            { id: "b", worker: "d.two", objective: "B", inputs: { n: 2 } },
            { id: "c", worker: "d.three", objective: "C", needs: ["a", "b"] }
          ]),
        fallback: Plan.make([{ id: "all", worker: "d.three", objective: "All" }])
      })
      const { built, calls } = office(planner, (name, input) =>
        Effect.as(Effect.sleep("10 seconds"), `${name}(${text(input)})`)
      )
      const outcome = yield* elapse(Run.start(built, options).pipe(Random.withSeed(1)), "1 minute")
      assert.strictEqual(outcome.status, "completed")
      assert.strictEqual((outcome.endedAt ?? 0) - outcome.startedAt, 20_000)
      assert.deepStrictEqual(calls, { one: 1, two: 1, three: 1 })
      assert.deepStrictEqual(outputs(outcome), { a: `one({"n":1})`, b: `two({"n":2})`, c: "three({})" })
    }).pipe(memory)
  )

  it.effect("R-204 a second bad plan gives way to the fallback", () =>
    Effect.gen(function* () {
      const planner = Planner.make({
        plan: () => Effect.succeed([{ id: "a", worker: "d.nobody", objective: "A" }]),
        fallback: Plan.make([{ id: "a", worker: "d.one", objective: "A" }])
      })
      const outcome = yield* Run.start(office(planner).built, options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(outputs(outcome), { a: "one({})" })
    }).pipe(memory)
  )

  it.effect("R-204 R-215 a run that is cut off anywhere goes on the same, and no choice is asked for twice", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const make = () =>
        office(
          Router.make({
            tasks: [
              { id: "research", worker: "d.one", objective: "Find out" },
              { id: "write", worker: "d.two", objective: "Write" },
              { id: "spare", worker: "d.three", objective: "Do what can be done" }
            ],
            choose: ({ consult, tasks }) =>
              Effect.sync(() => {
                asked.push(consult)
                // Nonsense, until the fallback has stood in.
                return tasks.length === 0 ? ["research"] : (["", "research", "write"][tasks.length] ?? "finish")
              }),
            fallback: "spare"
          })
        ).built
      const whole = yield* Run.start(make(), options)
      assert.strictEqual(whole.status, "completed")
      assert.deepStrictEqual(Object.keys(whole.results), ["spare#2-fallback", "research#3", "write#4"])
      assert.deepStrictEqual(asked, ["r1/consult/1", "r1/consult/2", "r1/consult/3", "r1/consult/4", "r1/consult/5"])
      const events = yield* history("r1")
      const journal = yield* Journal.Journal
      for (let length = 1; length < events.length; length++) {
        const run = `cut-${length}`
        const prefix = events.slice(0, length).map((event): typeof event => {
          const renamed = JSON.parse(JSON.stringify(event).replaceAll("r1/", `${run}/`))
          return renamed._tag === "RunStarted" ? { ...renamed, run } : renamed
        })
        yield* journal.append({
          run,
          expected: 0,
          events: prefix.map(({ _tag, at, ...data }) => ({
            type: _tag,
            at,
            data: Schema.decodeUnknownSync(Schema.JsonObject)(data)
          }))
        })
        asked.length = 0
        const outcome = yield* Run.resume(make(), run, { log: false })
        assert.deepStrictEqual(outputs(outcome), outputs(whole), run)
        const known = prefix.flatMap((event) =>
          event._tag === "Decided" || event._tag === "DecisionFailed" ? [event.consult] : []
        )
        assert.strictEqual(asked.length + known.length, 5, run)
        assert.deepStrictEqual(
          asked.filter((consult) => known.includes(consult)),
          [],
          run
        )
      }
    }).pipe(memory)
  )
})
