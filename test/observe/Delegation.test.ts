import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Failure } from "espalier"
import { CostModel, Meter, type ModelCall, Models, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Delegation } from "espalier/observe"
import { Dependency, Plan, Result, Review, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { calls, delivers, deskWith, Mail, search, Search } from "../agent/agents.ts"
import { elapse, memory, task, worker } from "../run/desks.ts"
import { deskOf, options, resume } from "../run/living.ts"
import { killed } from "../run/outside.ts"
import { released } from "../run/released.ts"
import { eventsOf, lines, nodes, treeOf } from "./trees.ts"

const drawn = Effect.map(eventsOf("r1"), (events) => lines(treeOf(events)))

/** The lines below the supervisor of a domain, of which there is one in all of the tree. */
const below = (all: ReadonlyArray<string>, domain: string): ReadonlyArray<string> => {
  const from = all.findIndex((line) => line.trim().startsWith(`supervisor ${domain} `))
  const depth = (line: string | undefined) => line?.search(/\S/) ?? 0
  const rest = all.slice(from + 1)
  const to = rest.findIndex((line) => depth(line) <= depth(all[from]))
  return rest.slice(0, to < 0 ? undefined : to).map((line) => line.slice(depth(all[from]) + 2))
}

const priced = Layer.mergeAll(
  Journal.layerMemory,
  Dependency.layer(),
  CostModel.layer({ currency: "USD", prices: { "b/two": { input: 1, output: 5 } } })
)

/** A mail takes two seconds. */
const mail = ToolScope.tool(Mail, {
  idempotent: true,
  handle: () => Effect.delay(Effect.succeed("sent"), "2 seconds")
})

const tools = ToolScope.make([search(), mail]) as never

/** An agent whose first model has no quota, and which searches, sends a mail and delivers. */
const agentDesk = () => {
  const first = ScriptedModel.make(
    Array.from({ length: 3 }, () => ScriptedModel.fault("quota")),
    { provider: "a", model: "one" }
  )
  const second = ScriptedModel.make(
    [
      calls(["search", { query: "ship" }], ["search", { query: "sail" }]),
      calls(["mail", { to: "y" }]),
      delivers("Fram")
    ],
    { provider: "b", model: "two" }
  )
  return deskWith(Models.make([{ provide: first.model }, { provide: second.model }]), { tools })
}

const at = (millis: number) => ({ at: millis, note: "" })
const started: RunEvent.RunEvent = {
  ...at(0),
  _tag: "RunStarted",
  run: "r1",
  desk: "desk",
  version: "1",
  definition: "",
  input: null,
  tasks: []
}
const given = (task: string, number = 1, millis = 0): RunEvent.RunEvent => ({
  ...at(millis),
  _tag: "Dispatched",
  task,
  dispatch: `r1/${task}/${number}`,
  worker: "d.one",
  contract: 1
})
const reported = (
  task: string,
  outcome: RunEvent.DispatchEnd,
  millis: number,
  error?: Result.ErrorInfo
): RunEvent.RunEvent => ({
  ...at(millis),
  _tag: "Reported",
  task,
  dispatch: `r1/${task}/1`,
  worker: "d.one",
  attempts: 1,
  outcome,
  result: {
    status: error === undefined ? "completed" : "failed",
    confidence: 0,
    ...(error === undefined ? {} : { error }),
    evidence: [],
    usage: {},
    missing: []
  }
})

describe("Delegation", () => {
  it.effect("R-501 D101 calls of one tool at the same time have an end each, in whatever order they end", () => {
    const handle = ({ query }: { readonly query: string }) =>
      Effect.delay(Effect.succeed([query]), query === "slow" ? "2 seconds" : "1 second")
    const script = ScriptedModel.make(
      [calls(["search", { query: "slow" }], ["search", { query: "fast" }]), delivers("found")],
      { model: "m" }
    )
    const built = deskWith(script, { tools: ToolScope.make([ToolScope.tool(Search, { handle })]) as never })
    return Effect.gen(function* () {
      yield* elapse(Run.start(built, options), "1 minute")
      const all = nodes(treeOf(yield* eventsOf("r1")))
      const found = all.filter(({ kind }) => kind === "tool")
      assert.deepStrictEqual(
        found.map(({ endedAt, outcome, totals }) => [endedAt, outcome, totals?.toolCalls]),
        [
          [2_000, "ok", 1],
          [1_000, "ok", 1]
        ]
      )
    }).pipe(Effect.provide(priced))
  })

  it.effect("R-501 has orders, their attempts and the tasks of tasks under their supervisors, with their times", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 1,
        answers: ({ attempt, task }) =>
          task === "first" && attempt === 1 ? (Result.failed("transient", "busy") as never) : "done"
      })
      const inner = Plan.make<unknown>(["x", "y"].map((id) => ({ id, worker: "d.one", objective: `Do ${id}` })))
      const built = deskOf(
        [one],
        Plan.make<string>([task("first"), { id: "many", by: inner, objective: "Do many", needs: ["first"] }])
      )
      yield* elapse(Run.start(built, options), "1 minute")
      const all = yield* drawn
      const wait = Number(/agent d\.one #2 (\d+)/.exec(all.join("\n"))?.[1])
      assert.isAbove(wait, 500)
      assert.deepStrictEqual(
        all.map((line) => line.replaceAll(String(wait), "W")),
        [
          "run r1 0..W accepted",
          "  segment 0 0..W ok",
          "    workflow desk 0..W ok",
          "      supervisor desk 0..W ok",
          "        supervisor d 0..W ok",
          "          delegate d.one 0..W accepted",
          "            agent d.one #1 0..0 failed (transient recovered)",
          "            agent d.one #2 W..W accepted",
          "        workflow plan W..W accepted",
          "          supervisor d W..W accepted",
          "            delegate d.one W..W accepted",
          "              agent d.one #1 W..W accepted",
          "            delegate d.one W..W accepted",
          "              agent d.one #1 W..W accepted",
          "          note merged W..W accepted"
        ]
      )
    }).pipe(memory)
  )

  it("R-501 has every attempt, though a timer was early by the clock that the events have", () => {
    const failed = (attempt: number, millis: number): RunEvent.RunEvent => ({
      ...at(millis),
      _tag: "AttemptFailed",
      task: "a",
      dispatch: "r1/a/1",
      worker: "d.one",
      attempt,
      kind: "transient",
      waitMillis: 1_000
    })
    const tree = treeOf([
      started,
      given("a"),
      failed(1, 10),
      failed(2, 1_009),
      { ...reported("a", "accepted", 2_008), attempts: 3 } as RunEvent.RunEvent
    ])
    assert.deepStrictEqual(below(lines(tree), "d"), [
      "delegate d.one 0..2008 accepted",
      "  agent d.one #1 0..10 failed (transient recovered)",
      "  agent d.one #2 1009..1009 failed (transient recovered)",
      "  agent d.one #3 2008..2008 accepted"
    ])
    assert.strictEqual(nodes(tree).find(({ kind }) => kind === "delegate")?.attempts, 3)
  })

  it("R-501 has no attempt that had not begun when its order was called back", () => {
    const order = { ...at(20), task: "a", dispatch: "r1/a/1", worker: "d.one" } as const
    const waits: ReadonlyArray<RunEvent.RunEvent> = [
      started,
      given("a"),
      { ...order, _tag: "AttemptFailed", attempt: 1, kind: "transient", waitMillis: 1_000 }
    ]
    const ends: ReadonlyArray<ReadonlyArray<RunEvent.RunEvent>> = [
      [{ ...reported("a", "cancelled", 30), attempts: 2 } as RunEvent.RunEvent],
      [
        { ...order, _tag: "Recalled", reason: "deadline" },
        { ...reported("a", "timed-out", 30), attempts: 2 } as RunEvent.RunEvent
      ]
    ]
    for (const end of ends) {
      const agents = nodes(treeOf([...waits, ...end])).filter(({ kind }) => kind === "agent")
      assert.deepStrictEqual(
        agents.map(({ attempt, outcome }) => [attempt, outcome]),
        [[1, "failed"]]
      )
    }
  })

  it.effect("R-501 has a segment for each time that somebody carried the run out, and a wait for people in none", () =>
    Effect.gen(function* () {
      const asks = worker("one", () =>
        Effect.gen(function* () {
          yield* Effect.sleep("1 second")
          const reply = yield* Review.ask({ name: "which", question: "Which one?" })
          return reply._tag
        })
      )
      const built = deskOf([asks as never], Plan.make<string>([task("a")]))
      yield* elapse(Run.start(built, options), "10 minutes")
      const waiting = yield* drawn
      assert.deepStrictEqual(waiting[0], "run r1 0.. suspended")
      assert.include(waiting, "              review question 1000..")
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "x", by: "ann" })
      yield* elapse(resume(built), "10 minutes")
      assert.deepStrictEqual(yield* drawn, [
        "run r1 0..601000 accepted",
        "  segment 0 0..1000 suspended",
        "    workflow desk 0..1000 suspended",
        "      supervisor desk 0..1000 suspended",
        "        supervisor d 0..1000 suspended",
        "          delegate d.one 0..1000 suspended",
        "            agent d.one #1 0..1000 suspended",
        "              review question 1000..600000 accepted",
        "              note parked 1000..600000 ok",
        "  segment 1 600000..601000 ok",
        "    workflow desk 600000..601000 ok",
        "      supervisor desk 600000..601000 ok",
        "        supervisor d 600000..601000 ok",
        "          delegate d.one 600000..601000 accepted",
        "            agent d.one #1 600000..601000 accepted"
      ])
      const events = yield* eventsOf("r1")
      const tree = treeOf(events)
      const resumed = events.findIndex(({ _tag }) => _tag === "RunResumed")
      assert.deepStrictEqual(tree.children[1]?.segment, { index: 1, cause: "decision", replayed: resumed })
      const review = nodes(tree).find(({ kind }) => kind === "review")?.review
      assert.deepInclude(review, { end: "decided", decision: "answer", by: "ann", waitMillis: 599_000 })
      assert.isUndefined(Delegation.firstError(tree))
    }).pipe(memory)
  )

  it.effect("R-501 an in-process wait for a timer stays in its segment, one that nobody sees makes another", () =>
    Effect.gen(function* () {
      const echo = () => Fake.worker("one", { size: 10, answers: ({ task }) => task })
      const later = deskOf([echo()], Plan.make<string>([task("a"), task("b", { needs: ["a"], after: "1 hour" })]))
      yield* elapse(Run.start(later, options), "2 hours")
      yield* elapse(Run.resume(later, "r1", { log: false }), "1 minute")
      const two = treeOf(yield* eventsOf("r1"))
      assert.deepStrictEqual(
        two.children.map(({ segment }) => segment?.cause),
        ["start", "timer"]
      )
      yield* elapse(Run.start(later, { ...options, id: "r2", waitFor: "3 hours" }), "2 hours")
      const one = treeOf(yield* eventsOf("r2"))
      assert.deepStrictEqual(
        one.children.map(({ endedAt = 0, outcome, startedAt }) => [endedAt - startedAt, outcome]),
        [[3_600_000, "ok"]]
      )
    }).pipe(memory)
  )

  it.effect("R-501 has calls of models and tools below the attempt that made them, and the swap that recovered", () =>
    Effect.gen(function* () {
      yield* elapse(Run.start(agentDesk(), options), "5 minutes")
      const events = yield* eventsOf("r1")
      const tree = treeOf(events)
      assert.deepStrictEqual(below(lines(tree), "d"), [
        "delegate d.one 0..2000 accepted",
        "  agent d.one #1 0..2000 accepted",
        "    chat one 0..0 failed (capability recovered)",
        "    chat two 0..0 ok",
        "    tool search 0..0 ok",
        "    tool search 0..0 ok",
        "    chat one 0..0 failed (capability recovered)",
        "    chat two 0..0 ok",
        "    tool mail 0..2000 ok",
        "    chat one 2000..2000 failed (capability recovered)",
        "    chat two 2000..2000 ok"
      ])
      const { run } = yield* Meter.ofRun("r1")
      const { calls, costs, estimated, tokens, unpriced } = tree.totals!
      assert.deepStrictEqual(
        { calls, costs, estimated, tokens, unpriced },
        {
          calls: run.calls,
          costs: run.costs,
          estimated: run.estimated,
          tokens: run.tokens,
          unpriced: run.unpriced
        }
      )
      assert.deepStrictEqual([calls, unpriced, tree.totals?.toolCalls], [6, 3, 3])
      assert.strictEqual(Delegation.firstError(tree)?.error.recovered, true)
    }).pipe(Effect.provide(priced))
  )

  it.effect("R-501 a tool that fails is an error of its own, which the attempt makes good that goes on", () =>
    Effect.gen(function* () {
      const script = ScriptedModel.make([calls(["mail", { to: "nobody" }]), delivers("Fram")])
      const failing = ToolScope.tool(Mail, { handle: () => Effect.fail(Failure.transient("no such address")) })
      yield* elapse(Run.start(deskWith(script, { tools: ToolScope.make([failing]) as never }), options), "5 minutes")
      const tree = treeOf(yield* eventsOf("r1"))
      assert.deepStrictEqual(below(lines(tree), "d"), [
        "delegate d.one 0..0 accepted",
        "  agent d.one #1 0..0 accepted",
        "    chat scripted-1 0..0 ok",
        "    tool mail 0..0 failed (tool-failed recovered)",
        "    chat scripted-1 0..0 ok"
      ])
      const found = Delegation.firstError(tree)
      assert.deepStrictEqual([found?.path.at(-1)?.name, found?.error.recovered], ["mail", true])
    }).pipe(Effect.provide(priced))
  )

  it.effect("R-501 an order of a task of a task goes on in the workflow of that, in a later segment, too", () =>
    Effect.gen(function* () {
      const asks = worker("one", () =>
        Effect.map(Review.ask({ name: "which", question: "Which?" }), ({ _tag }) => _tag)
      )
      const inner = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "Do x" }])
      const built = deskOf([asks as never], Plan.make<string>([{ id: "many", by: inner, objective: "Do many" }]))
      yield* Run.start(built, options)
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "x", by: "ann" })
      yield* resume(built)
      const all = yield* drawn
      const path = (kind: string) =>
        all.flatMap((line) => (line.trim().startsWith(`${kind} `) ? [`${line.search(/\S/) / 2} ${line.trim()}`] : []))
      assert.deepStrictEqual(path("workflow"), [
        "2 workflow desk 0..0 suspended",
        "4 workflow plan 0..0 suspended",
        "2 workflow desk 0..0 ok",
        "4 workflow plan 0..0 accepted"
      ])
      assert.deepStrictEqual(path("delegate"), ["6 delegate d.one 0..0 suspended", "6 delegate d.one 0..0 accepted"])
    }).pipe(memory)
  )

  it.effect("R-501 what was cut off is lost, and goes on in another segment under the same order", () =>
    Effect.gen(function* () {
      const built = () =>
        deskWith(
          ScriptedModel.fromFunction(({ prompt }) =>
            prompt.content.length > 3 ? delivers("Fram") : calls(["mail", { to: "y" }])
          ),
          { tools }
        )
      const sent = (event: Journal.Event) =>
        event.type === "EffectSettled" && JSON.stringify(event.data).includes("sent")
      yield* elapse(killed(Run.start(built(), options), sent, "before"), "5 minutes")
      yield* elapse(resume(built()), "5 minutes")
      assert.deepStrictEqual(yield* drawn, [
        "run r1 0..302000 accepted",
        "  segment 0 0..0 lost",
        "    workflow desk 0..0 lost",
        "      supervisor desk 0..0 lost",
        "        supervisor d 0..0 lost",
        "          delegate d.one 0..0 lost",
        "            agent d.one #1 0..0 lost",
        "              chat scripted-1 0..0 ok",
        "              tool mail 0..0 lost",
        "  segment 1 300000..302000 ok",
        "    workflow desk 300000..302000 ok",
        "      supervisor desk 300000..302000 ok",
        "        supervisor d 300000..302000 ok",
        "          delegate d.one 300000..302000 accepted",
        "            agent d.one #1 300000..302000 accepted",
        "              tool mail 300000..302000 ok",
        "              chat scripted-1 302000..302000 ok"
      ])
      const [, second] = treeOf(yield* eventsOf("r1")).children
      assert.strictEqual(second?.segment?.cause, "crash-recovery")
    }).pipe(Effect.provide(priced))
  )

  it.effect("R-501 any cut of a run of an agent gives a tree whose totals are its receipts", () =>
    Effect.gen(function* () {
      let crashed = 0
      for (let cut = 1; ; cut++) {
        let seen = 0
        const id = `r${cut}`
        const whole = yield* elapse(
          killed(Run.start(agentDesk(), { ...options, id }), () => ++seen === cut, "after"),
          "5 minutes"
        ).pipe(
          Effect.as(false),
          Effect.catchDefect(() => Effect.succeed(true))
        )
        if (whole) {
          assert.isAbove(crashed, 10)
          break
        }
        yield* elapse(Run.resume(agentDesk(), id, { log: false }), "5 minutes")
        const events = yield* eventsOf(id)
        for (let length = 1; length <= events.length; length++) {
          const prefix = events.slice(0, length)
          const tree = treeOf(prefix)
          const { run } = Meter.fold(prefix)
          assert.strictEqual(tree.totals?.calls ?? 0, run.calls)
          assert.deepStrictEqual(tree.totals?.costs ?? [], run.costs)
          assert.strictEqual(tree.totals?.tokens.total ?? 0, run.tokens.total)
          assert.strictEqual(tree.totals?.unpriced ?? 0, run.unpriced)
        }
        const tree = treeOf(events)
        // After the last commit there is nothing to take up.
        const resumed = events.filter(({ _tag }) => _tag === "RunResumed").length
        assert.strictEqual(tree.children.length, 1 + resumed, `cut ${cut}`)
        if (resumed === 1) crashed += 1
        assert.isUndefined(nodes(tree).find(({ endedAt }) => endedAt === undefined))
      }
    }).pipe(Effect.provide(priced))
  )

  it.effect(
    "R-501 any first part of a released journal gives a tree, with ids that stay and plain JSON that reads back",
    () =>
      Effect.gen(function* () {
        const encode = Schema.encodeUnknownSync(Delegation.Node)
        const decode = Schema.decodeUnknownSync(Delegation.Node)
        const journal = yield* Journal.Journal
        const runs = (yield* journal.runs()).map(({ run }) => run)
        assert.isAbove(runs.length, 5)
        for (const run of runs) {
          const { add, tree } = Delegation.fold()
          const known = new Map<number, string>()
          for (const event of yield* eventsOf(run)) {
            add(event)
            const whole = tree()!
            for (const { id, kind, name } of nodes(whole)) {
              const what = `${kind} ${name}`
              assert.strictEqual(known.get(id) ?? what, what)
              known.set(id, what)
            }
            assert.strictEqual(new Set(nodes(whole).map(({ id }) => id)).size, nodes(whole).length)
            assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(encode(whole)))), whole)
          }
          assert.deepStrictEqual(tree(), yield* Delegation.ofRun(run))
        }
        assert.isUndefined(yield* Delegation.ofRun("unheard"))
      }).pipe(Effect.provide(released))
  )

  it.effect("R-501 a run that was put down ends its segment, and a message begins the next one", () =>
    Effect.sync(() => {
      const tree = treeOf([
        started,
        { ...at(5), _tag: "TasksAdded", group: "", tasks: [{ id: "a", needs: [], acceptMissing: false }] },
        given("a", 1, 5),
        { ...at(9), _tag: "RunSuspended", reason: "asked" },
        { ...at(50), _tag: "RunResumed" },
        { ...at(60), _tag: "RunSuspended", reason: "quarantined" }
      ])
      assert.deepStrictEqual(
        tree.children.map(({ endedAt, lost, outcome, segment }) => [segment?.cause, endedAt, outcome, lost]),
        [
          ["start", 9, "suspended", undefined],
          ["message", 50, undefined, true]
        ]
      )
    })
  )

  it.effect("R-501 histories that this version would not have written give trees, too", () =>
    Effect.sync(() => {
      const usual: ModelCall.Call = {
        provider: "a",
        model: "one",
        step: 0,
        attempt: 1,
        end: "answered",
        usage: { input: 1, output: 1 },
        durationMillis: 7
      }
      const spent = (dispatch: string, what: string, facts?: Record<string, Schema.Json>): RunEvent.RunEvent => ({
        ...at(8),
        _tag: "Spent",
        task: "t",
        dispatch,
        worker: "",
        what,
        usage: { tokens: 3 },
        ...(facts === undefined ? {} : { facts })
      })
      const histories: ReadonlyArray<ReadonlyArray<RunEvent.RunEvent>> = [
        [{ ...at(3), _tag: "RunResumed" }],
        [{ ...at(3), _tag: "RunFinished", status: "failed", stopReason: "deadline", degraded: false }],
        [given("a"), given("a"), given("a", 2), reported("a", "accepted", 1), { ...at(2), _tag: "RunResumed" }],
        [started, started, { ...at(1), _tag: "Unparked", task: "a", dispatch: "r1/a/1", worker: "d.one" }],
        [started, { ...at(1), _tag: "Parked", task: "a", dispatch: "r1/a/1", worker: "d.one" }, given("a")],
        [spent("nobody", "model"), spent("nobody", "tool", { tool: "x" }), spent("nobody", "stamps", { ...usual })],
        [
          started,
          { ...at(1), _tag: "RunFinished", status: "completed", stopReason: "accepted", degraded: false },
          given("late", 1, 2),
          spent("r1/late/1", "model", { ...usual }),
          { ...at(9), _tag: "RunResumed" }
        ]
      ]
      for (const history of histories) {
        for (let length = 1; length <= history.length; length++) {
          const prefix = history.slice(0, length)
          assert.strictEqual(treeOf(prefix).totals?.calls ?? 0, Meter.fold(prefix).run.calls)
        }
      }
      assert.deepStrictEqual(lines(treeOf(histories[1]!))[0], "run  0..0 timed-out (deadline)")
      const [, , , , tool] = lines(treeOf(histories[5]!)).slice(1)
      assert.match(tool ?? "", /tool x/)
    })
  )

  it.effect("R-501 the first error is the earliest that nothing made good; without one, the earliest that was", () =>
    Effect.sync(() => {
      const failure = (reason: string): Result.ErrorInfo => ({ kind: "malformed", reason })
      const early = [started, given("a"), reported("a", "failed", 3, failure("early"))]
      const later = [given("b", 1, 4), reported("b", "failed", 9, failure("later"))]
      const path = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<unknown> => {
        const found = Delegation.firstError(treeOf(events))
        return [found?.error.reason, found?.error.recovered, found?.path.map(({ kind }) => kind).slice(-3)]
      }
      const deepest = ["supervisor", "delegate", "agent"]
      assert.deepStrictEqual(path([...early, ...later]), ["early", undefined, deepest])
      const good: RunEvent.RunEvent = { ...at(10), _tag: "TaskEnded", task: "a", status: "accepted", missing: [] }
      assert.deepStrictEqual(path([...early, ...later, good]), ["later", undefined, deepest])
      assert.deepStrictEqual(path([...early, good]), ["early", true, deepest])
    })
  )

  it.effect(
    "R-501 a no of people, a recall and a refused question are no errors; a contract that cannot be made is",
    () =>
      Effect.sync(() => {
        const denied = { ...reported("a", "denied", 3, { kind: "denied", reason: "no" }), review: "r1/review/1" }
        const cancelled = reported("a", "cancelled", 3, { kind: "transient", reason: "called back" })
        for (const end of [denied as RunEvent.RunEvent, cancelled]) {
          assert.isUndefined(Delegation.firstError(treeOf([started, given("a"), end])))
        }
        const gate = reported("a", "denied", 3, { kind: "denied", reason: "out of scope" })
        assert.strictEqual(Delegation.firstError(treeOf([started, given("a"), gate]))?.error.kind, "denied")
        const refused: RunEvent.RunEvent = { ...at(3), _tag: "ContractRefused", task: "a", worker: "d.one" }
        assert.strictEqual(Delegation.firstError(treeOf([started, refused]))?.error.kind, "contract-violation")
      })
  )

  it.effect("R-501 a choice has its own calls below it, and one that failed is made good by the next answer", () =>
    Effect.sync(() => {
      const ask = (consult: string, millis: number): RunEvent.RunEvent => ({
        ...at(millis),
        _tag: "Consulted",
        consult,
        subject: "",
        purpose: "plan"
      })
      const paid: RunEvent.RunEvent = {
        ...at(4),
        _tag: "Spent",
        task: "",
        dispatch: "r1/consult/1",
        worker: "",
        what: "model",
        usage: { tokens: 9 },
        facts: { durationMillis: 3 }
      }
      const error = { kind: "malformed", reason: "no plan" } as const
      const tree = treeOf([
        started,
        ask("r1/consult/1", 1),
        paid,
        { ...at(5), _tag: "DecisionFailed", consult: "r1/consult/1", subject: "", error },
        ask("r1/consult/2", 5),
        { ...at(8), _tag: "Decided", consult: "r1/consult/2", subject: "", answer: null }
      ])
      assert.deepStrictEqual(
        lines(tree)
          .slice(4)
          .map((line) => line.trim()),
        ["plan plan 1..5 failed (malformed recovered)", "chat model 1..4 ok", "plan plan 5..8 accepted"]
      )
    })
  )

  it.effect("R-501 odd histories, made of real ones by leaving events out and telling them twice, give trees", () =>
    Effect.gen(function* () {
      const sent = (event: Journal.Event) =>
        event.type === "EffectSettled" && JSON.stringify(event.data).includes("sent")
      yield* elapse(killed(Run.start(agentDesk(), options), sent, "before"), "5 minutes")
      yield* elapse(resume(agentDesk()), "5 minutes")
      const events = yield* eventsOf("r1")
      const decode = Schema.decodeUnknownSync(Delegation.Node)
      for (let seed = 0; seed < 300; seed++) {
        // Some numbers that have nothing to do with each other.
        const odd = events.flatMap((event, index) => {
          const dice = Math.imul(seed * 7919 + index * 104_729, 2_654_435_761) >>> 28
          return dice === 0 ? [] : dice === 1 ? [event, event] : [event]
        })
        const tree = treeOf(odd)
        const { run } = Meter.fold(odd)
        assert.deepStrictEqual([tree.totals?.calls ?? 0, tree.totals?.costs ?? []], [run.calls, run.costs])
        assert.deepStrictEqual(decode(tree), tree)
        for (const { endedAt, startedAt } of nodes(tree)) assert.isAtLeast(endedAt ?? startedAt, startedAt)
      }
    }).pipe(Effect.provide(priced))
  )
})
