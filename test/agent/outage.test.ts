/** What a provider does is not held against the agents that ask it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Agent, Models, ScriptedModel } from "espalier/agent"
import { Plan, Run, type RunEvent, type Worker } from "espalier/run"

import { elapse, history } from "../run/desks.ts"
import { deskOf, of, options } from "../run/living.ts"
import { Answer, delivers, services } from "./agents.ts"

/** So many agents, each with a task, all of one provider. */
const crowd = (many: number, models: () => Models.Models) => {
  const ids = Array.from({ length: many }, (_, n) => `w${n}`)
  return deskOf(
    ids.map(
      (id) =>
        Agent.make(id, {
          description: `Answers as ${id}`,
          instructions: "Answer.",
          input: Schema.Struct({}),
          output: Answer,
          models: models()
        }) as unknown as Worker.Worker<never>
    ),
    Plan.make<string>(
      ids.map((id) => ({ id, worker: `d.${id}`, objective: "Answer" })),
      { concurrency: many, containment: "isolate" }
    )
  )
}

/** Nobody was restarted, and nobody is thought to be ill. */
const blameless = (events: ReadonlyArray<RunEvent.RunEvent>, tree: ReadonlyArray<string>) => {
  const started = tree.filter((each) => each.startsWith("Started "))
  assert.isAtLeast(started.length, 10)
  assert.strictEqual(new Set(started).size, started.length)
  assert.deepStrictEqual(
    new Set(tree.map((each) => each.split(" ")[0])),
    new Set(["Starting", "Started", "Stopping", "Exited"])
  )
  assert.isEmpty(of(events, "HealthChanged"))
}

describe("A provider that is down", () => {
  it.effect(
    "D44 D45 is asked by 50 agents no more often than its breaker lets through, and none of them is to blame",
    () => {
      let asked = 0
      const down = ScriptedModel.fromFunction(() => {
        asked += 1
        return ScriptedModel.fault("server")
      })
      const tree: Array<string> = []
      return Effect.gen(function* () {
        const desk = crowd(50, () => Models.make([{ provide: down.model }]))
        const run = Run.start(desk, {
          ...options,
          onTreeEvent: ({ _tag, path }) => tree.push(`${_tag} ${path.join("/")}`)
        })
        const outcome = yield* elapse(run, "1 hour")
        const events = yield* history("r1")
        assert.strictEqual(outcome.status, "failed")
        // Five until it opens, and a probe from time to time: 50 agents would make 50 calls and more.
        assert.isAtMost(asked, 5 + 10)
        assert.strictEqual(of(events, "Spent").filter(({ what }) => what === "model").length, asked)
        blameless(events, tree)
      }).pipe(Effect.provide(services))
    }
  )

  it.effect("D45 D41 limits ten calls while another one answers: nobody tries again, nobody is restarted", () => {
    const limited = ScriptedModel.fromFunction(() => ScriptedModel.fault("rate-limit"), { provider: "a" })
    const fallback = ScriptedModel.fromFunction(() => delivers("yes"), { provider: "b" })
    const tree: Array<string> = []
    return Effect.gen(function* () {
      const desk = crowd(10, () => Models.make([{ provide: limited.model }, { provide: fallback.model }]))
      const run = Run.start(desk, {
        ...options,
        onTreeEvent: ({ _tag, path }) => tree.push(`${_tag} ${path.join("/")}`)
      })
      const outcome = yield* elapse(run, "1 hour")
      const events = yield* history("r1")
      assert.strictEqual(outcome.status, "completed")
      assert.isEmpty(of(events, "AttemptFailed"))
      assert.strictEqual((yield* fallback.requests).length, 10)
      assert.strictEqual(of(events, "Noticed").filter(({ what }) => what === "model-swap").length, 10)
      blameless(events, tree)
    }).pipe(Effect.provide(services))
  })

  it.effect("D41 is waited for as long as it says, and its fallback is left alone", () => {
    const at: Array<number> = []
    const limited = ScriptedModel.fromFunction(
      () => {
        at.push(0)
        return at.length <= 1 ? ScriptedModel.fault("rate-limit", { retryAfter: "30 seconds" }) : delivers("yes")
      },
      { provider: "a" }
    )
    const fallback = ScriptedModel.fromFunction(() => delivers("other"), { provider: "b" })
    return Effect.gen(function* () {
      const desk = crowd(20, () => Models.make([{ provide: limited.model }, { provide: fallback.model }]))
      const outcome = yield* elapse(Run.start(desk, options), "1 hour")
      assert.strictEqual(outcome.status, "completed")
      assert.isEmpty(yield* fallback.requests)
      const calls = of(yield* history("r1"), "Spent").filter(({ facts }) => facts?.["end"] === "answered")
      assert.strictEqual(calls.length, 20)
      const first = Math.min(...of(yield* history("r1"), "Spent").map(({ at }) => at))
      for (const { at } of calls) assert.isAtLeast(at - first, 30_000)
    }).pipe(Effect.provide(services))
  })
})
