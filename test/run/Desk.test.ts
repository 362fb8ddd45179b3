import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import { Aggregate, Desk, Domain, Pipeline, Plan, Run, Worker } from "espalier/run"

import { history } from "./desks.ts"

const worker = (name: string, options: Partial<Worker.Options<object, object, string, string, never, never>> = {}) =>
  Worker.make(name, {
    description: `Does ${name}`,
    input: Schema.Struct({}),
    output: Schema.String,
    handle: () => Effect.succeed("done"),
    ...options
  })

type Options = Partial<Desk.Options<object, object, ReadonlyArray<Domain.Domain<never>>, never, unknown, unknown>>

const desk = (
  parts: Omit<Options, "input"> & { readonly tasks?: ReadonlyArray<Plan.Task>; readonly input?: object }
) => {
  const { input = Schema.Struct({}), tasks = [task("a")], ...options } = parts
  return Desk.make("desk", {
    version: "1",
    // Which input it is of is of no matter here.
    input: input as Schema.Codec<object>,
    domains: [Domain.make("d", { workers: [worker("one", { capabilities: ["read"] })] })],
    coordinator: Plan.make(tasks),
    ...options
  })
}

/** A task that is carried out by a plan. */
const group = (tasks: ReadonlyArray<Plan.Task>, options?: Plan.Options): Plan.Task => ({
  id: "g",
  objective: "Do all of it",
  by: Plan.make(tasks, options) as Plan.Plan
})

const merged: unknown = Aggregate.make({
  tasks: { a: Schema.Unknown },
  fields: { all: Aggregate.first(Schema.String) }
})

const task = (id: string, fields: Partial<Plan.Task> = {}): Plan.Task => ({
  id,
  worker: "d.one",
  objective: "Do it",
  ...fields
})

describe("Desk", () => {
  describe("definition", () => {
    const one = worker("one", { capabilities: ["read"] })
    const base = { tasks: [task("a", { by: undefined }), group([task("c")])] }
    const first = (fields: Partial<Plan.Task>) => desk({ tasks: [task("a", fields), group([task("c")])] })
    const deep = (fields: Partial<Plan.Task>) => desk({ tasks: [task("a"), group([task("c", fields)])] })
    const staff = (options: Parameters<typeof worker>[1]) =>
      desk({
        ...base,
        domains: [Domain.make("d", { workers: [worker("one", { capabilities: ["read"], ...options })] })]
      })
    const led = (facts: Schema.Json) => desk({ coordinator: { ...Plan.make(base.tasks), facts } })
    const done = (statement: string) => ({ definitionOfDone: [{ id: "checked", statement }] })
    const original = () => desk(base)

    const changes: ReadonlyArray<readonly [string, ReturnType<typeof desk>]> = [
      ["another task", desk({ tasks: [...base.tasks, task("z")] })],
      ["one task less", desk({ tasks: [group([task("c")])] })],
      ["a need", desk({ tasks: [task("a"), { ...group([task("c")]), needs: ["a"] }] })],
      ["a worker of a task", first({ worker: "d.two" })],
      ["a capability of a task", first({ capability: "read" })],
      ["acceptMissing", first({ acceptMissing: true })],
      ["after", first({ after: "2 days" })],
      ["another time", first({ after: "3 days" })],
      ["fresh", first({ fresh: true })],
      ["reduceScope", first({ reduceScope: true })],
      ["an objective", first({ objective: "Do it well" })],
      ["a constraint", first({ constraints: ["Quietly"] })],
      ["a limit", first({ limits: { tokens: 10 } })],
      ["a permission", first({ permissions: { repository: ["docs"] } })],
      ["a data class", first({ dataClass: "public" })],
      ["a definition of done", first(done("It was checked"))],
      ["its words", first(done("It was looked at"))],
      ["onIncomplete", first({ onIncomplete: "escalate" })],
      ["an objective inside a group", deep({ objective: "Do it well" })],
      ["a limit inside a group", deep({ limits: { tokens: 10 } })],
      ["a worker inside a group", deep({ worker: "d.two" })],
      ["containment", desk({ coordinator: Plan.make(base.tasks, { containment: "fail-fast" }) })],
      ["a quorum", desk({ coordinator: Plan.make(base.tasks, { containment: { quorum: 1 } }) })],
      ["containment inside a group", desk({ tasks: [task("a"), group([task("c")], { containment: "fail-fast" })] })],
      ["facts of a coordinator", led({ cap: 3 })],
      ["other facts", led({ cap: 4 })],
      ["the kind of a coordinator", desk({ coordinator: Pipeline.make(base.tasks) })],
      ["a capability of a worker", staff({ capabilities: ["read", "write"] })],
      ["a permission of a worker", staff({ permissions: ["repository"] })],
      ["an artefact of a worker", staff({ artefacts: ["patch"] })],
      ["what a worker takes", staff({ input: Schema.Struct({ a: Schema.String }) as never })],
      ["what a worker answers", staff({ output: Schema.String.check(Schema.isMaxLength(3)) })],
      ["another worker", desk({ ...base, domains: [Domain.make("d", { workers: [one, worker("two")] })] })],
      ["another domain", desk({ ...base, domains: [Domain.make("e", { workers: [one] })] })],
      ["what the desk answers", desk({ ...base, output: Schema.Struct({ a: Schema.String }) })],
      ["what the desk takes", desk({ ...base, input: Schema.Struct({ b: Schema.String }) })],
      ["an aggregate", desk({ ...base, aggregate: merged as Aggregate.Aggregate<unknown> })]
    ]
    it.each(changes)("R-217 changes with %s", (_, changed) => {
      assert.notStrictEqual(Desk.definition(changed), Desk.definition(original()))
    })

    it("R-217 is another one for each of these changes", () => {
      assert.strictEqual(new Set(changes.map(([, changed]) => Desk.definition(changed))).size, changes.length)
    })

    const stays: ReadonlyArray<readonly [string, ReturnType<typeof desk>]> = [
      ["nothing", original()],
      ["the code of a worker", staff({ handle: () => Effect.succeed("otherwise") })],
      ["the code of a task", first({ input: () => ({}), validate: () => [], label: () => "fine" })],
      [
        "a default that is written out",
        first({ onIncomplete: "partial", limits: {}, constraints: [], needs: [], after: 0 })
      ],
      ["the order of fields", desk({ tasks: [{ objective: "Do it", worker: "d.one", id: "a" }, group([task("c")])] })],
      [
        "how a worker is run",
        staff({ size: 3, queue: 5, attemptTimeout: "1 second", estimate: { steps: 1 }, risk: "high" })
      ],
      ["its description", staff({ description: "Does one thing" })],
      [
        "limits, budgets and the tier",
        desk({ ...base, limits: { steps: 9 }, budgets: { "domain:d": {} }, tier: "low" })
      ],
      ["who is responsible", desk({ ...base, owner: "somebody" })],
      ["the recovery policy", desk({ ...base, policy: { attempts: 1 } })],
      ["how many orders are under way at once", desk({ coordinator: Plan.make(base.tasks, { concurrency: 1 }) })]
    ]
    it.each(stays)("R-217 stays with %s", (_, same) => {
      assert.strictEqual(Desk.definition(same), Desk.definition(original()))
    })
  })

  describe("description", () => {
    const described = () =>
      Desk.describe(
        desk({
          owner: "the docs team",
          input: Schema.Struct({ root: Schema.String }),
          domains: [Domain.make("d", { workers: [worker("one"), worker("two", { capabilities: ["read"] })] })],
          output: Schema.Struct({ a: Schema.String }),
          limits: { tokens: 100 },
          tasks: [
            task("a", { permissions: { repository: ["docs"] }, limits: { tokens: 50 } }),
            {
              ...group([task("c", { worker: undefined, capability: "read" })]),
              needs: ["a"],
              acceptMissing: true,
              after: "1 minute"
            }
          ]
        })
      )

    it("R-217 says who is responsible, what goes in and out, and whom it may call", () => {
      const { input, name, output, owner, tier, version, workers } = described()
      assert.deepStrictEqual([name, version, owner, tier], ["desk", "1", "the docs team", "medium"])
      assert.deepInclude(input, { type: "object" })
      assert.deepInclude(output, { type: "object", required: ["a"] })
      assert.deepStrictEqual(
        workers.map(({ attemptTimeoutMillis, capabilities, name }) => [name, capabilities, attemptTimeoutMillis]),
        [
          ["d.one", [], 30_000],
          ["d.two", ["read"], 30_000]
        ]
      )
    })

    it("R-217 names the tasks at any depth, with what is agreed and who may do them", () => {
      const { groups, tasks } = described()
      assert.deepStrictEqual(groups, [
        { task: "", kind: "plan", containment: "isolate", tasks: ["a", "g"] },
        { task: "g", kind: "plan", containment: "isolate", tasks: ["g/c"] }
      ])
      const contract = { references: {}, constraints: [], permissions: {}, definitionOfDone: [], limits: {} } as const
      assert.deepStrictEqual(tasks, [
        {
          task: "a",
          worker: "d.one",
          candidates: ["d.one"],
          needs: [],
          acceptMissing: false,
          contract: {
            ...contract,
            objective: "Do it",
            permissions: { repository: ["docs"] },
            limits: { tokens: 50 },
            onIncomplete: "partial"
          }
        },
        {
          task: "g",
          by: "plan",
          candidates: [],
          needs: ["a"],
          acceptMissing: true,
          afterMillis: 60_000,
          contract: { ...contract, objective: "Do all of it", onIncomplete: "partial" }
        },
        {
          task: "g/c",
          capability: "read",
          candidates: ["d.two"],
          needs: [],
          acceptMissing: false,
          contract: { ...contract, objective: "Do it", onIncomplete: "partial" }
        }
      ])
    })

    it.effect("R-217 R-503 a run says who is responsible for it, its tier, and where its desk is from", () =>
      Effect.gen(function* () {
        yield* Run.start(desk({ owner: "the docs team", tier: "low" }), {
          id: "r1",
          input: {},
          module: "./desk.ts"
        })
        yield* Run.start(desk({}), { id: "r2", input: {} })
        const [owned] = yield* history("r1")
        const [free] = yield* history("r2")
        assert.deepInclude(owned, { _tag: "RunStarted", owner: "the docs team", tier: "low", module: "./desk.ts" })
        assert.isFalse("owner" in (free ?? {}) || "module" in (free ?? {}))
      }).pipe(Effect.provide(Journal.layerMemory))
    )

    it("R-217 is plain data that survives JSON", () => {
      const text = JSON.stringify(Schema.encodeSync(Desk.Description)(described()))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Desk.Description)(JSON.parse(text)), described())
    })
  })
})

describe("Worker", () => {
  describe("make", () => {
    const bad: ReadonlyArray<readonly [string, () => unknown]> = [
      ["Worker.make: name must be letters, digits, '_' and '-', got \"a.b\"", () => worker("a.b")],
      ["Worker.make: size must be a whole number >= 1, got 0", () => worker("a", { size: 0 })],
      ["Worker.make: attemptTimeout must be a duration > 0, got 0", () => worker("a", { attemptTimeout: 0 })],
      ["Domain.make: name must be letters, digits, '_' and '-', got \"\"", () => Domain.make("", { workers: [] })],
      ["Plan.make: concurrency must be a whole number >= 1, got 0", () => Plan.make([], { concurrency: 0 })]
    ]
    it.each(bad)("throws: %s", (message, make) => {
      assert.throws(make, RangeError, message)
    })
  })
})
