import { assert, describe, it } from "@effect/vitest"
import { Effect, Result as EffectResult, Schema } from "effect"
import { type Contract, type Coordinator, Plan, Result, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, history, memory, task } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume, rows } from "./living.ts"

const failing = Fake.fail("capability", { reason: "No" })
const echo = (name = "one", size = 10) =>
  Fake.worker(name, { answers: ({ input, task }) => ({ task, input: input as Schema.Json }), size })

/** A coordinator made by hand: what its group is to do next is a function of what it sees. */
const byHand = (
  tasks: ReadonlyArray<Coordinator.Task<string>>,
  next: Coordinator.Coordinator["next"],
  fields: Partial<Coordinator.Coordinator<string>> = {}
): Coordinator.Coordinator<string> => ({
  kind: "graph",
  tasks,
  initial: [],
  adds: true,
  concurrency: 10,
  containment: "isolate",
  next,
  ...fields
})

const planned = (id: string, fields: Partial<RunEvent.PlannedTask> = {}): RunEvent.PlannedTask => ({
  id,
  needs: [],
  acceptMissing: false,
  worker: "d.one",
  ...fields
})

describe("A composite task", () => {
  const inner = Plan.make<{ readonly word: string }>([
    { id: "x", worker: "d.one", objective: "Do x", input: (_, { word }) => ({ word }) },
    { id: "y", worker: "d.one", objective: "Do y", needs: ["x"], input: (before, { word }) => ({ before, word }) }
  ])
  const middle = Plan.make<{ readonly text: string }>([
    { id: "deep", by: inner, objective: "Deep", input: (_, { text }) => ({ word: `${text}!` }) },
    { id: "last", worker: "d.one", objective: "Last", needs: ["deep"], input: (before) => ({ before }) }
  ])
  const outer = Plan.make<string>([
    task("first", { input: (_, text) => ({ text }) }),
    task("all", {
      worker: undefined as never,
      by: middle,
      needs: ["first"],
      input: (before, text) => ({ text: `${text} ${Object.keys(before).join()}` })
    }),
    task("end", { needs: ["all"], input: (before) => ({ before }) })
  ])

  it.effect("R-205 is carried out by tasks of its own, two deep, which begin with its input and are merged", () =>
    Effect.gen(function* () {
      const outcome = yield* Run.start(deskOf([echo()], outer), options)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(ends(outcome), [
        "first accepted",
        "all accepted",
        "end accepted",
        "all/deep accepted",
        "all/last accepted",
        "all/deep/x accepted",
        "all/deep/y accepted"
      ])
      const x = { task: "all/deep/x", input: { word: "go first!" } }
      const y = { task: "all/deep/y", input: { before: { x }, word: "go first!" } }
      const deep = { x, y }
      const last = { task: "all/last", input: { before: { deep } } }
      assert.deepStrictEqual(outcome.results["all"]?.output, { deep, last })
      assert.deepStrictEqual(outcome.results["end"]?.output, {
        task: "end",
        input: { before: { all: { deep, last } } }
      })
      const events = yield* history("r1")
      assert.deepStrictEqual(
        of(events, "GroupOpened").map(({ kind, task, tasks }) => [task, kind, tasks.map(({ id }) => id)]),
        [
          ["all", "plan", ["all/deep", "all/last"]],
          ["all/deep", "plan", ["all/deep/x", "all/deep/y"]]
        ]
      )
      assert.deepStrictEqual(
        of(events, "Merged").map(({ group, outcome }) => `${group} ${outcome}`),
        ["all/deep accepted", "all accepted"]
      )
    }).pipe(memory)
  )

  it.effect("is merged, validated and labelled as it says", () =>
    Effect.gen(function* () {
      const labels: Array<string | undefined> = []
      const sum = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "x" }], {
        merge: (parts) => EffectResult.succeed(parts.length)
      })
      const coordinator = byHand(
        [
          { id: "good", by: sum, objective: "Good", label: (output) => `is ${String(output)}` },
          { id: "bad", by: sum, objective: "Bad", validate: (output) => (output === 1 ? ["one is too few"] : []) }
        ],
        ({ tasks }) => {
          labels.push(...tasks.flatMap(({ label }) => (label === undefined ? [] : [label])))
          if (tasks.length > 0) return { _tag: "Wait" }
          const both = ["good", "bad"].map((id) => ({ id, needs: [], acceptMissing: false, group: "plan" }))
          return { _tag: "Add", tasks: both, note: "Both" }
        }
      )
      const outcome = yield* Run.start(deskOf([echo()], coordinator), options)
      assert.include(labels, "is 1")
      assert.deepStrictEqual(outcome.results["good"]?.output, 1)
      assert.strictEqual(outcome.results["bad"]?.status, "failed")
      assert.include(outcome.results["bad"]?.note, "one is too few")
    }).pipe(memory)
  )

  it.effect("R-214 is partial, and names what is missing, when one of its parts fails", () =>
    Effect.gen(function* () {
      const two = Plan.make<unknown>([
        { id: "x", worker: "d.one", objective: "Do x" },
        { id: "y", worker: "d.one", objective: "Do y" }
      ])
      const one = Fake.worker("one", { size: 2, answers: ({ task }) => (task.endsWith("x") ? failing : "done") })
      const coordinator = Plan.make<string>([{ id: "all", by: two, objective: "All" }, task("end", { needs: ["all"] })])
      const outcome = yield* Run.start(deskOf([one], coordinator), options)
      assert.deepStrictEqual(ends(outcome), ["all partial", "end accepted", "all/x failed", "all/y accepted"])
      assert.deepStrictEqual(outcome.results["all"]?.output, { y: "done" })
      assert.deepStrictEqual(
        outcome.results["all"]?.missing.map(({ part }) => part),
        ["x"]
      )
      const [end] = (yield* one.calls).filter(({ task }) => task === "end")
      assert.deepStrictEqual(
        end?.missing.map(({ part, task }) => [task, part]),
        [["all", "x"]]
      )
      assert.strictEqual(outcome.status, "partial")
    }).pipe(memory)
  )

  it.effect("R-206 is opened anew under new names when a person has it tried again", () =>
    Effect.gen(function* () {
      const two = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "Do x" }])
      let calls = 0
      const one = Fake.worker("one", { answers: () => (++calls < 3 ? failing : "done") })
      const all = { id: "all", by: two, objective: "All", onIncomplete: "escalate" } as const
      const built = deskOf([one], Plan.make<string>([all]))
      const waiting = yield* Run.start(built, options)
      assert.strictEqual(waiting.status, "waiting")
      yield* Run.decide({ review: "r1/review/1", decision: "retry", by: "ada" })
      const again = yield* resume(built)
      assert.strictEqual(again.status, "waiting")
      yield* Run.decide({ review: "r1/review/2", decision: "retry", by: "ada" })
      const outcome = yield* resume(built)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(ends(outcome), ["all accepted", "all/x failed", "all/2/x failed", "all/3/x accepted"])
      assert.deepStrictEqual(outcome.results["all"]?.output, { x: "done" })
    }).pipe(memory)
  )

  it.effect("is opened anew under new names also when its coordinator adds all tasks itself", () =>
    Effect.gen(function* () {
      const adds = byHand([{ id: "x", worker: "d.one", objective: "Do x" }], ({ tasks }) =>
        tasks.length === 0 ? { _tag: "Add", tasks: [planned("x")], note: "One" } : { _tag: "Done", result: "x" }
      )
      const one = Fake.worker("one", { answers: [failing, "done"] })
      const all = { id: "all", by: adds, objective: "All", onIncomplete: "escalate" } as const
      const built = deskOf([one], Plan.make<string>([all]))
      yield* Run.start(built, options)
      yield* Run.decide({ review: "r1/review/1", decision: "retry", by: "ada" })
      const outcome = yield* resume(built)
      assert.deepStrictEqual(ends(outcome), ["all accepted", "all/x failed", "all/2/x accepted"])
      assert.deepStrictEqual(outcome.results["all"]?.output, "done")
    }).pipe(memory)
  )

  it.effect("D13 D05 goes on where it was cut off, and does nothing twice", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: ({ task }) => task, latency: "1 second", size: 10 })
      const built = deskOf([one], outer)
      const first = yield* begin(Run.start(built, options))
      yield* pass("2500 millis")
      yield* first.interrupt
      const outcome = yield* elapse(resume(built), "1 minute")
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(
        (yield* one.calls).map(({ dispatch }) => dispatch),
        ["r1/first/1", "r1/all/deep/x/1", "r1/all/deep/y/1", "r1/all/deep/y/1", "r1/all/last/1", "r1/end/1"]
      )
    }).pipe(memory)
  )

  it.effect("D06 a failure of a part is told at every group that it goes up through", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: failing })
      const deep = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "x" }])
      const mid = Plan.make<unknown>([{ id: "deep", by: deep, objective: "deep" }])
      yield* Run.start(deskOf([one], Plan.make<string>([{ id: "all", by: mid, objective: "all" }])), options)
      const told = (yield* history("r1")).flatMap((event) =>
        event._tag === "Reported"
          ? [`${event.task} ${event.result.error?.kind}`]
          : event._tag === "Merged"
            ? [`${event.group} ${event.result.error?.kind}`]
            : []
      )
      assert.deepStrictEqual(told, ["all/deep/x capability", "all/deep capability", "all capability"])
    }).pipe(memory)
  )

  const orders = [0, 1, 2, 3, 4].flatMap((first) => [0, 1, 2, 3, 4].map((last) => [first, last] as const))
  it.effect.each(orders)("D111 joins once, whoever of five is first and last: %j %j", ([first, last]) =>
    Effect.gen(function* () {
      const one = Fake.worker("one", {
        size: 5,
        answers: ({ task }) => {
          const index = Number(task.slice(-1))
          const millis = index === first ? 1 : index === last ? 3 : 2
          return Effect.delay(Effect.succeed(index), millis)
        }
      })
      const five = Plan.make<unknown>(
        [0, 1, 2, 3, 4].map((id) => ({ id: `t${id}`, worker: "d.one", objective: `Do ${id}` }))
      )
      const join = task("end", { needs: ["all"] })
      const built = deskOf(
        [one, Fake.worker("two", { otherwise: "joined" })],
        Plan.make<string>([
          { id: "all", by: five, objective: "all" },
          { ...join, worker: "d.two" }
        ])
      )
      const outcome = yield* elapse(Run.start(built, options), "1 second")
      const events = yield* history("r1")
      assert.deepStrictEqual(outcome.results["all"]?.output, { t0: 0, t1: 1, t2: 2, t3: 3, t4: 4 })
      assert.strictEqual(of(events, "Merged").length, 1)
      assert.deepStrictEqual(
        rows(outcome).filter((row) => row.startsWith("r1/end")),
        ["r1/end/1 d.two accepted"]
      )
    }).pipe(memory)
  )
})

describe("A coordinator", () => {
  it.effect("adds tasks as it sees what became of the others", () =>
    Effect.gen(function* () {
      const coordinator = byHand([{ id: "x", worker: "d.one", objective: "x", label: () => "go-on" }], (view) => {
        if (view.tasks.length > 0 && view.tasks.at(-1)?.status !== "accepted") return { _tag: "Wait" }
        if (view.tasks.length === 3) return { _tag: "Done", result: "x#3" }
        return { _tag: "Add", tasks: [planned(`x#${view.tasks.length + 1}`, { template: "x" })], note: "Again" }
      })
      const outcome = yield* Run.start(deskOf([Fake.worker("one", { answers: [1, 2, 3] })], coordinator), options)
      assert.deepStrictEqual(ends(outcome), ["x#1 accepted", "x#2 accepted", "x#3 accepted"])
    }).pipe(memory)
  )

  const rubbish: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.PlannedTask>]> = [
    ["is planned twice", [planned("x"), planned("x")]],
    ["needs an unknown task", [planned("x", { needs: ["z"] })]],
    ["larger than 1048576 bytes", Array.from({ length: 2_000 }, (_, index) => planned(`${"t".repeat(90)}${index}`))]
  ]
  it.effect.each(rubbish)("R-215 whose tasks cannot be added ends its group with the reason: %s", ([reason, tasks]) =>
    Effect.gen(function* () {
      const coordinator = byHand([{ id: "x", worker: "d.one", objective: "x" }], ({ tasks: { length } }) =>
        length === 0 ? { _tag: "Add", tasks, note: "Rubbish" } : { _tag: "Wait" }
      )
      const outcome = yield* Run.start(deskOf([echo()], coordinator, { steps: 10_000 }), options)
      assert.strictEqual(outcome.status, "failed")
      assert.include(outcome.note, reason)
    }).pipe(memory)
  )

  it.effect("R-215 that throws ends its group with the reason", () =>
    Effect.gen(function* () {
      const coordinator = byHand([{ id: "x", worker: "d.one", objective: "x" }], () => {
        throw new Error("no idea")
      })
      const outcome = yield* Run.start(deskOf([echo()], coordinator), options)
      assert.strictEqual(outcome.status, "failed")
      assert.include(outcome.note, "no idea")
    }).pipe(memory)
  )
})

describe("An expansion", () => {
  const oversized = Fake.fail("oversized", { reason: "1 GB" })
  const part = (id: string, fields: Partial<Coordinator.TaskData> = {}): Coordinator.TaskData => ({
    id,
    worker: "d.part",
    objective: `Do ${id}`,
    ...fields
  })
  const parts = Fake.worker("part", { answers: ({ task }) => task, size: 10 })
  const limited: Partial<Plan.Task<string>> = {
    limits: { tokens: 100, deadlineMillis: 60_000 },
    permissions: { files: ["read"] }
  }

  it.effect("R-206 splits what is too large into tasks of its own, with the reason", () =>
    Effect.gen(function* () {
      const seen: Array<Coordinator.Failing> = []
      const split = task("a", {
        ...limited,
        needs: ["before"],
        decompose: (failing) => {
          seen.push(failing)
          return [part("left", { limits: { tokens: 50 } }), part("right", { needs: ["left"], inputs: { n: 1 } })]
        }
      })
      const one = Fake.worker("one", { answers: ["ready", oversized] })
      const parts = Fake.worker("part", { answers: ({ task }) => task, size: 10 })
      const outcome = yield* Run.start(deskOf([one, parts], Plan.make([task("before"), split])), options)
      assert.deepStrictEqual(outcome.results["a"]?.output, { left: "a/decompose/left", right: "a/decompose/right" })
      assert.deepStrictEqual([outcome.status, outcome.degraded], ["completed", false])
      assert.deepStrictEqual(
        seen.map(({ accepted, contract, reason }) => [accepted, contract.task, reason]),
        [[{ before: "ready" }, "a", "1 GB"]]
      )
      const [left, right] = yield* parts.calls
      assert.deepStrictEqual(left?.contract.limits, { tokens: 50 } satisfies Contract.Limits)
      assert.deepStrictEqual(left?.contract.permissions, { files: ["read"] })
      assert.deepStrictEqual([right?.accepted, right?.input], [{ left: "a/decompose/left" }, { n: 1 }])
      const [asked] = of(yield* history("r1"), "Consulted")
      assert.strictEqual(asked?.purpose, "decompose")
      assert.include(asked?.note, "1 GB")
    }).pipe(memory)
  )

  const refusals: ReadonlyArray<readonly [string, NonNullable<Plan.Task["decompose"]>]> = [
    ["tasks[0].limits.tokens must be at most the 100 of a, got 101", () => [part("x", { limits: { tokens: 101 } })]],
    [
      'tasks[0].permissions.files[0] must be within the permissions of a, got "write"',
      () => [part("x", { permissions: { files: ["write"] } })]
    ],
    [
      'tasks[0].permissions.mail[0] must be within the permissions of a, got "send"',
      () => [part("x", { permissions: { mail: ["send"] } })]
    ],
    ["there is no worker d.nobody", () => [part("x", { worker: "d.nobody" })]],
    ["no worker has the capability fly", () => [{ id: "x", objective: "x", capability: "fly" }]],
    ["it names neither a worker nor a capability", () => [{ id: "x", objective: "x" }]],
    ["gave no tasks", () => []],
    ["gave 51 tasks", () => Array.from({ length: 51 }, (_, index) => part(`x${index}`))],
    ['tasks[1].id is used twice, got "x"', () => [part("x"), part("x")]],
    ["needs an unknown task z", () => [part("x", { needs: ["z"] })]],
    ["in a circle", () => [part("x", { needs: ["y"] }), part("y", { needs: ["x"] })]],
    ["tasks[0].objective must be", () => [part("x", { objective: "" })]],
    ["tasks[0].id must be", () => [part("x/y")]],
    ["tasks[0].inputs.f must be a plain JSON value", () => [part("x", { inputs: { f: () => 1 } as never })]],
    ["must give a list of tasks", () => 3 as never],
    ["must give a list of tasks", () => ({ id: "x" }) as never],
    ["tasks[0] must be a record, got null", () => [null] as never],
    [
      "out of ideas",
      () => {
        throw new Error("out of ideas")
      }
    ]
  ]
  it.effect.each(refusals)("R-206 that cannot be carried out makes way for the next rung: %s", ([reason, decompose]) =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { answers: [oversized], capabilities: ["work"] })
      const two = Fake.worker("two", { answers: ["whole"], capabilities: ["work"] })
      const split = task("a", { ...limited, decompose })
      const outcome = yield* Run.start(deskOf([one, two, parts], Plan.make([split])), options)
      assert.deepStrictEqual(rows(outcome), ["r1/a/1 d.one failed", "r1/a/2 d.two accepted"])
      const events = yield* history("r1")
      assert.include(of(events, "DecisionFailed")[0]?.error.reason, reason)
      assert.strictEqual(of(events, "GroupOpened").length, 0)
      assert.strictEqual(outcome.results["a"]?.output, "whole")
    }).pipe(memory)
  )

  it.effect("R-206 R-218 that does not hold is told with up to five problems, each with its place and its field", () =>
    Effect.gen(function* () {
      const reasonFor = Effect.fnUntraced(function* (id: string, last: ReadonlyArray<Coordinator.TaskData>) {
        const one = Fake.worker("one", { answers: [oversized], capabilities: ["work"] })
        const two = Fake.worker("two", { answers: ["whole"], capabilities: ["work"] })
        const decompose = () => [
          part("x/y", { objective: "" }),
          part("x", { limits: { tokens: 101 }, permissions: { files: ["write"] } }),
          ...last
        ]
        const split = task("a", { ...limited, decompose })
        yield* Run.start(deskOf([one, two, parts], Plan.make([split])), { ...options, id })
        return of(yield* history(id), "DecisionFailed")[0]?.error.reason
      })
      const four = [
        "decompose of a: tasks[0].id must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got \"x/y\"",
        'tasks[0].objective must be a text that is not empty, got ""',
        "tasks[1].limits.tokens must be at most the 100 of a, got 101",
        'tasks[1].permissions.files[0] must be within the permissions of a, got "write"'
      ].join("; ")
      const twice = 'tasks[2].id is used twice, got "x"'
      assert.strictEqual(yield* reasonFor("r1", [part("x")]), `${four}; ${twice}`)
      const more = [part("x", { needs: ["y", "y"] })]
      assert.strictEqual(
        yield* reasonFor("r2", more),
        `${four}; tasks[2].needs[1] is named twice, got "y" (and 3 more)`
      )
    }).pipe(memory)
  )

  it.effect("R-206 happens once: a split that fails goes to the next rung", () =>
    Effect.gen(function* () {
      let splits = 0
      const one = Fake.worker("one", { otherwise: oversized, capabilities: ["work"] })
      const two = Fake.worker("two", { otherwise: oversized, capabilities: ["work"] })
      const broken = Fake.worker("part", { otherwise: oversized })
      const split = task("a", { decompose: () => (splits++, [part("x")]) })
      const outcome = yield* Run.start(deskOf([one, two, broken], Plan.make([split])), options)
      assert.deepStrictEqual(ends(outcome), ["a failed", "a/decompose/x failed"])
      assert.deepStrictEqual(rows(outcome), [
        "r1/a/1 d.one failed",
        "r1/a/decompose/x/1 d.part failed",
        "r1/a/2 d.two failed"
      ])
      assert.strictEqual(splits, 1)
    }).pipe(memory)
  )

  it.effect("R-206 plans anew when nobody is left", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: failing })
      const anew = task("a", { replan: ({ reason }) => [part("x", { inputs: { reason } })] })
      const parts = Fake.worker("part", { answers: ({ input }) => input as Schema.Json })
      const outcome = yield* Run.start(deskOf([one, parts], Plan.make([anew])), options)
      assert.deepStrictEqual(ends(outcome), ["a accepted", "a/re-plan/x accepted"])
      assert.deepStrictEqual(outcome.results["a"]?.output, { reason: "No" })
      assert.deepStrictEqual(
        of(yield* history("r1"), "GroupOpened").map(({ kind }) => kind),
        ["re-plan"]
      )
    }).pipe(memory)
  )

  describe("follow-up", () => {
    const proof = (requirement: string, exitStatus: number) => ({
      requirement,
      command: `check ${requirement}`,
      environment: "ci",
      revision: "r1",
      exitStatus,
      output: exitStatus === 0 ? "fine" : "broken"
    })
    const must = [
      { id: "tests", statement: "The tests pass", mandatory: true, evidence: true },
      { id: "lint", statement: "The linter is quiet", mandatory: true, evidence: true }
    ]
    const given = (exit: number, output = "built"): Result.Result<string> =>
      Result.completed(output, { evidence: [proof("tests", 0), proof("lint", exit)] })

    it.effect("R-206 carries only the evidence that failed, then the task is done once more", () =>
      Effect.gen(function* () {
        const seen: Array<Coordinator.Failing> = []
        const one = Fake.worker("one", { answers: ["ready", given(1), given(0, "rebuilt")] })
        const fix = Fake.worker("part", { answers: ["fixed"] })
        const built = task("a", {
          needs: ["before"],
          definitionOfDone: must,
          input: (before, text) => ({ before, text }),
          followUp: (failing) => {
            seen.push(failing)
            return part("fix", { inputs: { failing: failing.failing } })
          }
        })
        const outcome = yield* Run.start(deskOf([one, fix], Plan.make([task("before"), built])), options)
        assert.deepStrictEqual(
          seen[0]?.failing.map(({ requirement }) => requirement),
          ["lint"]
        )
        assert.deepStrictEqual(ends(outcome).slice(1), [
          "a accepted",
          "a/follow-up/fix accepted",
          "a/follow-up/again accepted"
        ])
        assert.strictEqual(outcome.results["a"]?.output, "rebuilt")
        const again = (yield* one.calls).at(-1)
        assert.deepStrictEqual(again?.input, { before: { before: "ready" }, text: "go" })
        assert.deepStrictEqual(again?.accepted, { before: "ready", fix: "fixed" })
        assert.deepStrictEqual(again?.contract.definitionOfDone.length, 2)
      }).pipe(memory)
    )

    it.effect("R-206 happens once: evidence that fails again does not lead to another one", () =>
      Effect.gen(function* () {
        const one = Fake.worker("one", { otherwise: given(1) })
        const fix = Fake.worker("part", { otherwise: "fixed" })
        const built = task("a", { definitionOfDone: must, followUp: () => part("fix") })
        const outcome = yield* Run.start(deskOf([one, fix], Plan.make([built])), options)
        assert.strictEqual(of(yield* history("r1"), "GroupOpened").length, 1)
        assert.strictEqual(outcome.results["a"]?.status, "failed")
        assert.strictEqual((yield* fix.calls).length, 1)
      }).pipe(memory)
    )
  })
})

describe("A part of a group", () => {
  it.effect("R-210 says what its task has used, with what failed and with the tasks that stood in for it", () =>
    Effect.gen(function* () {
      const parts: Array<Coordinator.Part> = []
      const one = Fake.worker("one", {
        answers: [
          Result.failed("oversized", "Too large", { usage: { steps: 3, tokens: 10 } }),
          Result.completed("half", { usage: { steps: 2 } }),
          Result.completed("other half", { usage: { steps: 2, cost: 1 } }),
          Result.completed("b", { usage: { steps: 1 } })
        ]
      })
      const split = task("a", {
        decompose: () => ["x", "y"].map((id) => ({ id, worker: "d.one", objective: `Do ${id}`, inputs: { id } }))
      })
      const plan = Plan.make([split, task("b", { needs: ["a"] })], {
        merge: (all) => {
          parts.push(...all)
          return EffectResult.succeed("whole")
        }
      })
      const outcome = yield* Run.start(deskOf([one], plan, { output: Schema.String }), options)
      assert.deepStrictEqual(
        parts.map(({ id, usage }) => [id, usage]),
        [
          ["a", { steps: 7, tokens: 10, cost: 1 }],
          ["b", { steps: 1 }]
        ]
      )
      assert.deepStrictEqual(outcome.usage, { steps: 8, tokens: 10, cost: 1 })
    }).pipe(memory)
  )
})

describe("A run that is stopped when nothing of it has failed", () => {
  it.effect("R-210 R-215 names what it did not begin as missing, so that its history can be read", () =>
    Effect.gen(function* () {
      const one = Fake.worker("one", { otherwise: Result.completed("done", { usage: { steps: 2 } }) })
      const two = Fake.worker("two", { estimate: { steps: 2 } })
      const plan = Plan.make([task("a"), task("b", { worker: "d.two", needs: ["a"] })])
      const desk = deskOf([one, two], plan, { output: Schema.Json, limits: { steps: 3 } })
      const outcome = yield* Run.start(desk, options)
      assert.deepStrictEqual(ends(outcome), ["a accepted", "b skipped"])
      const [merged] = of(yield* history("r1"), "Merged")
      assert.deepStrictEqual(
        merged?.result.missing.map(({ part }) => part),
        ["b"]
      )
      assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
    }).pipe(memory)
  )
})
