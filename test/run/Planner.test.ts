import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Failure } from "espalier"
import { type Coordinator, ContractPolicy, Plan, Planner } from "espalier/run"

import { candidate, ended, ids, part, play, question, seen, view, type World } from "./coordinators.ts"

const workers = [candidate("d.one", ["count"]), candidate("d.two", ["check"]), candidate("e.three", ["write"])]

const task = (id: string, fields: object = {}) => ({ id, worker: "d.one", objective: `Do ${id}`, ...fields })

type Options = Partial<Planner.Options<unknown, never, never>>

const planner = (answer: unknown, options: Options = {}) =>
  Planner.make({ plan: () => Effect.succeed(answer), fallback: "review", ...options })

const decide = (answer: unknown, options: Options = {}) =>
  Effect.suspend(() => planner(answer, options).decide(question({ purpose: "plan", workers })))

const refused = (answer: unknown, options: Options = {}) =>
  Effect.map(Effect.flip(decide(answer, options)), (error) => {
    assert.instanceOf(error, Planner.PlanInvalid)
    assert.strictEqual(Failure.kindOf(error), "malformed")
    return error.message.replace("PLAN_INVALID: ", "").split("; ")
  })

/** Plans one after the other, and then the last one for ever. */
const scripted = (answers: ReadonlyArray<unknown>, options: Options = {}) => {
  let asked = 0
  return () =>
    Planner.make<unknown, unknown>({
      plan: () => {
        const answer = answers[Math.min(asked, answers.length - 1)]
        asked += 1
        return answer instanceof Failure.Failure ? Effect.fail(answer) : Effect.succeed(answer)
      },
      fallback: "review",
      ...options
    })
}

const run = (answers: ReadonlyArray<unknown>, options: Options = {}, world: World = {}) =>
  play(scripted(answers, options), { workers, ...world })

const fallback = Plan.make([
  { id: "links", worker: "d.one", objective: "Find dead links", permissions: { repository: ["docs"] } },
  { id: "sum", worker: "d.two", objective: "Sum up", needs: ["links"] }
])

describe("Planner", () => {
  describe("decide", () => {
    it.effect("R-204 R-205 answers with the plan, its limits and permissions filled in", () =>
      Effect.gen(function* () {
        const plan = [
          task("a", { inputs: { path: "docs" }, limits: { tokens: 10 } }),
          { id: "b", capability: "check", objective: "Check", needs: ["a"], acceptMissing: true }
        ]
        const { answer, note } = yield* decide(plan, { limits: { tokens: 100, cost: 2 } })
        assert.deepStrictEqual(answer, [
          { ...plan[0], limits: { tokens: 10, cost: 2 }, permissions: {} },
          { ...plan[1], limits: { tokens: 100, cost: 2 }, permissions: {} }
        ])
        assert.strictEqual(note, "A plan of 2 tasks")
        assert.isTrue(Schema.is(Schema.toEncoded(Planner.PlanData))(answer))
      })
    )

    it.effect("R-204 D27 leaves out every field that no task has, and tells so", () =>
      Effect.gen(function* () {
        const control = {
          status: "accepted",
          result: { ok: true },
          approved: true,
          version: 7,
          resumeData: {},
          task: "x"
        }
        const { answer, note } = yield* decide([task("a", control), task("b")])
        assert.deepStrictEqual(answer, [
          task("a", { limits: {}, permissions: {} }),
          task("b", { limits: {}, permissions: {} })
        ])
        assert.strictEqual(
          note,
          "A plan of 2 tasks; left out of it: tasks[0].status, tasks[0].result, tasks[0].approved, tasks[0].version, tasks[0].resumeData, tasks[0].task"
        )
      })
    )

    it.effect("R-204 leaves out fields that are undefined, and takes what code has made", () =>
      Effect.gen(function* () {
        const { answer, note } = yield* decide([
          task("a", { worker: undefined, capability: "count", needs: undefined })
        ])
        assert.deepStrictEqual(Object.keys((answer as ReadonlyArray<object>)[0] ?? {}).toSorted(), [
          "capability",
          "id",
          "limits",
          "objective",
          "permissions"
        ])
        assert.strictEqual(note, "A plan of 1 task")
      })
    )

    const cyclic: Record<string, unknown> = task("a")
    cyclic["inputs"] = { self: cyclic }

    it.effect.each<[string, unknown, ReadonlyArray<string>]>([
      ["no list", { tasks: [] }, ["the plan must be a list of tasks, got {1 field}"]],
      ["a text", "first a, then b", [`the plan must be a list of tasks, got "first a, then b"`]],
      ["nothing", undefined, ["the plan must be a list of tasks, got undefined"]],
      ["an empty plan", [], ["the plan must have at least one task, got [0 items]"]],
      [
        "too many tasks",
        Array.from({ length: 51 }, (_, at) => task(`t${at}`)),
        ["the plan must have at most 50 tasks, got [51 items]"]
      ],
      ["what is no task", ["a"], [`tasks[0] must be a task, got "a"`]],
      [
        "an unknown worker and an unknown capability",
        [task("a", { worker: "d.on" }), task("b", { capability: "fly" })],
        [
          `tasks[0].worker must be one of: d.one, d.two, e.three, got "d.on"`,
          `tasks[1].capability must be one of: count, check, write, got "fly"`
        ]
      ],
      [
        "nobody to do it",
        [{ id: "a", objective: "Do a" }],
        ["tasks[0].worker is required where there is no capability"]
      ],
      [
        "names that are used twice, and needs that are none",
        [task("a"), task("a"), task("b", { needs: ["a", "a", "c"] })],
        [
          `tasks[1].id is used twice, got "a"`,
          `tasks[2].needs[1] is named twice, got "a"`,
          `tasks[2].needs[2] must be a task of the plan, got "c"`
        ]
      ],
      [
        "a circle",
        [task("a"), task("b", { needs: ["d"] }), task("c", { needs: ["b"] }), task("d", { needs: ["a", "c"] })],
        ["tasks[1].needs must not lead back to the task: b → d → c → b"]
      ],
      [
        "a task that needs itself",
        [task("a", { needs: ["a"] })],
        ["tasks[0].needs must not lead back to the task: a → a"]
      ],
      [
        "fields that do not fit",
        [task("a b", { objective: "" })],
        [
          "tasks[0].id must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got \"a b\"",
          `tasks[0].objective must be a text that is not empty, got ""`
        ]
      ],
      [
        "a misspelt limit inside a field",
        [task("a", { limits: { tokns: 5 } })],
        ["tasks[0].limits.tokns is not a known field"]
      ],
      [
        "a field that does not fit beside somebody who is not there and a circle",
        [task("a", { limits: { tokens: -1 }, needs: ["b"] }), task("b", { worker: "d.nobody", needs: ["a"] })],
        [
          "tasks[0].limits.tokens must be a whole number >= 0, got -1",
          `tasks[1].worker must be one of: d.one, d.two, e.three, got "d.nobody"`,
          "tasks[0].needs must not lead back to the task: a → b → a"
        ]
      ],
      [
        "what cannot be read, once, and says nothing about what may need it",
        [task("a", { worker: 5 }), task("b", { id: 1 }), task("c", { needs: ["b"] }), task("d", { needs: "b" })],
        [
          "tasks[0].worker must be a text, got 5",
          "tasks[1].id must be a text, got 1",
          `tasks[3].needs must be a list, got "b"`
        ]
      ],
      [
        "a contract that contradicts itself",
        [
          task("a", {
            definitionOfDone: [
              { id: "x", statement: "X" },
              { id: "x", statement: "Y" }
            ]
          })
        ],
        [`tasks[0].definitionOfDone[1].id is used twice, got "x"`]
      ],
      ["what is no JSON", [cyclic], ["the plan must have at most 128 levels"]]
    ])("R-204 R-218 refuses %s, with the path of every problem", ([, plan, problems]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* refused(plan), problems)
      })
    )

    it.effect("R-204 refuses a plan that cannot be read", () =>
      Effect.gen(function* () {
        const broken = {
          get id(): string {
            throw new Error("gone")
          }
        }
        assert.deepStrictEqual(yield* refused([broken]), ["the plan must be readable"])
      })
    )

    it.effect("R-204 R-206 lets tasks ask for less than the planner has, and never for more", () =>
      Effect.gen(function* () {
        const options: Options = {
          limits: { tokens: 100 },
          permissions: { repository: ContractPolicy.paths(["docs"]), hosts: ContractPolicy.names(["example.org"]) }
        }
        const narrow = task("a", {
          limits: { tokens: 100 },
          permissions: { repository: ["docs/api/**"], hosts: ["example.org"] }
        })
        const { answer } = yield* decide([narrow], options)
        assert.deepStrictEqual(answer, [narrow])
        const wide = task("a", {
          limits: { tokens: 101 },
          permissions: { repository: ["docs/../src"], hosts: ["example.com"], database: ["all"] }
        })
        assert.deepStrictEqual(yield* refused([wide], options), [
          "tasks[0].limits.tokens must be at most 100, got 101",
          `tasks[0].permissions.repository[0] must not contain .., got "docs/../src"`,
          `tasks[0].permissions.hosts[0] must be one of "example.org", got "example.com"`,
          "tasks[0].permissions.database is not an area of the policy"
        ])
        assert.deepStrictEqual(yield* refused([task("a", { permissions: { repository: ["docs"] } })]), [
          "tasks[0].permissions.repository is not an area of the policy"
        ])
      })
    )

    it.effect("R-204 shows and takes only the workers that a plan may use", () =>
      Effect.gen(function* () {
        const asked: Array<Coordinator.Question> = []
        const own = Planner.make({
          plan: (question) => {
            asked.push(question)
            return Effect.succeed([
              task("a", { worker: "e.three" }),
              task("b", { worker: "d.one", capability: "write" })
            ])
          },
          fallback: "review",
          workers: ["d.one", "d.two"]
        })
        const error = yield* Effect.flip(own.decide(question({ workers })))
        assert.deepStrictEqual(
          asked[0]?.workers.map(({ name }) => name),
          ["d.one", "d.two"]
        )
        assert.strictEqual(
          error instanceof Planner.PlanInvalid ? error.message : "",
          `PLAN_INVALID: tasks[0].worker must be one of: d.one, d.two, got "e.three"; tasks[1].capability must be one of: count, check, got "write"`
        )
      })
    )

    it.effect.each([
      [5, ""],
      [6, " (and 1 more)"],
      [50, " (and 45 more)"]
    ] as const)("R-204 R-218 tells up to five problems in its message, of %i", ([count, more]) =>
      Effect.gen(function* () {
        const bad = Array.from({ length: count }, (_, at) => task(`t${at}`, { objective: "" }))
        const own = Planner.make({ plan: () => Effect.succeed(bad), fallback: "review" })
        const error = yield* Effect.flip(own.decide(question({ workers })))
        const five = [0, 1, 2, 3, 4].map((at) => `tasks[${at}].objective must be a text that is not empty, got ""`)
        assert.strictEqual(
          error instanceof Planner.PlanInvalid ? error.message : "",
          `PLAN_INVALID: ${five.join("; ")}${more}`
        )
        assert.strictEqual(error instanceof Planner.PlanInvalid ? error.problems.length : 0, count)
      })
    )

    it.effect("R-204 says what a plan cost, also one that could not be used", () =>
      Effect.gen(function* () {
        const usage = { tokens: 12 }
        const good = yield* decide(Planner.answer([task("a")], { usage, note: "Short" }))
        assert.deepStrictEqual([good.usage, good.note], [usage, "Short"])
        const bad = yield* Effect.flip(decide(Planner.answer([], { usage })))
        assert.deepStrictEqual(bad instanceof Planner.PlanInvalid ? bad.usage : undefined, usage)
      })
    )

    it.effect("R-204 gives a plan that nobody can change afterwards", () =>
      Effect.gen(function* () {
        const inputs = { path: "docs" }
        const { answer } = yield* decide([task("a", { inputs })])
        inputs.path = "src"
        assert.deepStrictEqual(answer, [task("a", { inputs: { path: "docs" }, limits: {}, permissions: {} })])
      })
    )
  })

  it.effect("R-205 D21 asks once, adds all tasks at once, and is done when they have ended", () =>
    Effect.gen(function* () {
      const played = yield* run([[task("a"), task("b"), task("c", { needs: ["a", "b"] })]])
      assert.deepStrictEqual(ids(played), ["a", "b", "c"])
      assert.deepStrictEqual(
        played.planned.map(({ amendment, needs }) => [amendment, needs]),
        [
          [{ objective: "Do a", limits: {}, permissions: {} }, []],
          [{ objective: "Do b", limits: {}, permissions: {} }, []],
          [{ objective: "Do c", limits: {}, permissions: {} }, ["a", "b"]]
        ]
      )
      assert.deepStrictEqual(
        played.moves.map(({ _tag }) => _tag),
        ["Consult", "Add", "Done"]
      )
    })
  )

  it.effect("R-205 a plan of one task takes the same path", () =>
    Effect.gen(function* () {
      const played = yield* run([[task("a")]])
      assert.deepStrictEqual(ids(played), ["a"])
      assert.strictEqual(ended(played), "Done")
    })
  )

  it.effect("R-204 a bad plan is handed back once with every problem", () =>
    Effect.gen(function* () {
      const played = yield* run([[task("a", { worker: "x", needs: ["b"] })], [task("a")]], { fallback })
      assert.deepStrictEqual(ids(played), ["a"])
      assert.deepStrictEqual(played.questions[1]?.refused, {
        kind: "malformed",
        reason: `PLAN_INVALID: tasks[0].worker must be one of: d.one, d.two, e.three, got "x"; tasks[0].needs[0] must be a task of the plan, got "b"`
      })
    })
  )

  it.effect.each<[string, ReadonlyArray<unknown>]>([
    ["a second bad plan", [[], "no"]],
    ["a second failure", [Failure.transient("busy"), Failure.transient("busy")]]
  ])("R-204 has the fallback stand in after %s", ([, answers]) =>
    Effect.gen(function* () {
      const played = yield* run(answers, { fallback })
      assert.deepStrictEqual(ids(played), ["links", "sum"])
      assert.deepStrictEqual(
        played.planned.map(({ amendment, needs }) => [amendment, needs]),
        [
          [undefined, []],
          [undefined, ["links"]]
        ]
      )
      assert.strictEqual(played.questions.length, 2)
      assert.strictEqual(ended(played), "Done")
    })
  )

  it.effect("R-204 a planned task is never taken for one of the fallback", () =>
    Effect.gen(function* () {
      const played = yield* run([[task("links"), task("b", { needs: ["links"] })]], { fallback })
      assert.deepStrictEqual(ids(played), ["links#planned", "b"])
      assert.deepStrictEqual(
        played.planned.map(({ needs, template }) => [needs, template]),
        [
          [[], undefined],
          [["links#planned"], undefined]
        ]
      )
    })
  )

  describe("with a person", () => {
    it.effect("R-204 asks one who then plans, and asks again when that plan does not hold", () =>
      Effect.gen(function* () {
        const asked = yield* run(["no"])
        assert.strictEqual(ended(asked), "Review")
        assert.strictEqual(
          asked.end._tag === "Review" ? asked.end.note : "",
          `No plan could be used, the last one because of: PLAN_INVALID: the plan must be a list of tasks, got "no"; a person plans`
        )
        const played = yield* run(
          ["no"],
          {},
          {
            people: [
              { decision: "answer", answer: [] },
              { decision: "answer", answer: [task("a")] }
            ]
          }
        )
        assert.deepStrictEqual(ids(played), ["a"])
        assert.strictEqual(ended(played), "Done")
        assert.strictEqual(played.moves.filter(({ _tag }) => _tag === "Review").length, 2)
      })
    )

    it.effect.each([
      ["accept-partial", "Done"],
      ["reject", "Stop rejected-by-reviewer"]
    ] as const)("R-204 does what a person decides: %s", ([decision, end]) =>
      Effect.gen(function* () {
        const played = yield* run(["no"], {}, { people: [{ decision }] })
        assert.deepStrictEqual(ids(played), [])
        assert.strictEqual(ended(played), end)
      })
    )
  })

  it("R-204 R-215 goes on from the recorded plan alone, and stops when it does not hold any more", () => {
    const answered = (answer: Schema.Json) =>
      view({
        answers: [answer],
        consult: { id: "r1/consult/1", purpose: "plan", status: "answered", failures: 0, answer }
      })
    const never = Planner.make({ plan: () => Effect.never, fallback: "review", limits: { tokens: 5 } })
    const next = never.next(answered([task("a")]))
    assert.strictEqual(next._tag === "Add" ? next.tasks[0]?.id : undefined, "a")
    assert.deepStrictEqual(never.next(answered([task("a", { limits: { tokens: 6 } })])), {
      _tag: "Stop",
      reason: "untrusted-state",
      recall: false,
      note: "The plan that was chosen does not hold any more: tasks[0].limits.tokens must be at most 5, got 6"
    })
    assert.deepStrictEqual(never.next(view({ tasks: [seen("a", { status: "running" })], open: 1 })), { _tag: "Wait" })
  })

  it("R-205 merges as it is told", () => {
    const merge = (parts: ReadonlyArray<Coordinator.Part>) => Result.succeed(parts.length)
    assert.deepStrictEqual(planner([], { merge }).merge?.([part("a", 1)]), Result.succeed(1))
    assert.isUndefined(planner([]).merge)
  })

  it("R-218 names a fallback without tasks, and a planner that may use nobody", () => {
    const found = (options: Options) =>
      planner([], options)
        .problems?.()
        .map(({ message, rule }) => `${rule}: ${message}`)
    assert.deepStrictEqual(found({ fallback }), [])
    assert.deepStrictEqual(found({}), [])
    assert.deepStrictEqual(found({ fallback: Plan.make([]), workers: [] }), [
      "no-worker: the planner may use no workers",
      "no-fallback: the planner's fallback has no tasks"
    ])
  })

  it("R-204 refuses limits that are out of range", () => {
    assert.throws(() => planner([], { limits: { tokens: -1 } }), "limits.tokens must be a whole number >= 0, got -1")
    assert.throws(() => planner([], { concurrency: 0 }), "Planner.make: concurrency must be a whole number >= 1")
  })
})
