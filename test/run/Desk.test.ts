import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Desk, Domain, Plan, Worker } from "espalier/run"

const worker = (name: string, options: Partial<Worker.Options<object, object, string, string, never, never>> = {}) =>
  Worker.make(name, {
    description: `Does ${name}`,
    input: Schema.Struct({}),
    output: Schema.String,
    handle: () => Effect.succeed("done"),
    ...options
  })

const desk = (parts: {
  readonly version?: string
  readonly domains?: ReadonlyArray<Domain.Domain>
  readonly tasks?: ReadonlyArray<Plan.Task>
}) =>
  Desk.make("desk", {
    version: parts.version ?? "1",
    input: Schema.Struct({}),
    domains: parts.domains ?? [
      Domain.make("d", { workers: [worker("one"), worker("two", { capabilities: ["read"] })] })
    ],
    coordinator: Plan.make(parts.tasks ?? [{ id: "a", worker: "d.one", objective: "Do it" }])
  })

const task = (id: string, fields: Partial<Plan.Task> = {}): Plan.Task => ({
  id,
  worker: "d.one",
  objective: "Do it",
  ...fields
})

describe("Desk", () => {
  describe("check", () => {
    it("finds nothing wrong with a good desk", () => {
      assert.deepStrictEqual(Desk.check(desk({})), [])
    })

    const table: ReadonlyArray<readonly [Desk.Finding["rule"], string, ReturnType<typeof desk>]> = [
      ["no-version", "the desk desk has no version", desk({ version: " " })],
      ["no-task", "the plan of desk has no tasks", desk({ tasks: [] })],
      ["duplicate-task", "two tasks are called a", desk({ tasks: [task("a"), task("a")] })],
      [
        "invalid-contract",
        "task a: CONTRACT_INVALID: limits.tokens must be a whole number >= 0, got -1",
        desk({ tasks: [task("a", { limits: { tokens: -1 } })] })
      ],
      [
        "unassigned",
        "task a: names neither a worker nor a capability",
        desk({ tasks: [task("a", { worker: undefined })] })
      ],
      ["unknown-worker", "task a: there is no worker d.nine", desk({ tasks: [task("a", { worker: "d.nine" })] })],
      [
        "unknown-capability",
        "task a: no worker has the capability fly",
        desk({ tasks: [task("a", { capability: "fly" })] })
      ],
      ["unknown-need", "task a: needs an unknown task z", desk({ tasks: [task("a", { needs: ["z"] })] })],
      ["unknown-need", "task b: needs a twice", desk({ tasks: [task("a"), task("b", { needs: ["a", "a"] })] })],
      ["cycle", "tasks need each other in a circle: a → a", desk({ tasks: [task("a", { needs: ["a"] })] })],
      [
        "cycle",
        "tasks need each other in a circle: b → d → c → b",
        desk({
          tasks: [
            task("a", { needs: ["b"] }),
            task("b", { needs: ["d"] }),
            task("c", { needs: ["b"] }),
            task("d", { needs: ["c"] })
          ]
        })
      ],
      [
        "duplicate-worker",
        "two workers are called d.one",
        desk({ domains: [Domain.make("d", { workers: [worker("one"), worker("one", { description: "Else" })] })] })
      ],
      [
        "duplicate-domain",
        "two domains are called d",
        desk({ domains: ["one", "two"].map((name) => Domain.make("d", { workers: [worker(name)] })) })
      ],
      [
        "no-worker",
        "the domain e has no workers",
        desk({ domains: [Domain.make("d", { workers: [worker("one")] }), Domain.make("e", { workers: [] })] })
      ],
      [
        "same-description",
        "d.one and d.two have the same description, so nobody can choose between them",
        desk({
          domains: [Domain.make("d", { workers: [worker("one"), worker("two", { description: " Does one" })] })]
        })
      ],
      [
        "infinite-timeout",
        "the attempt time-out of d.one is infinite",
        desk({ domains: [Domain.make("d", { workers: [worker("one", { attemptTimeout: "Infinity" })] })] })
      ]
    ]
    it.each(table)("R-218 finds %s: %s", (rule, message, desk) => {
      const findings = Desk.check(desk).filter((finding) => finding.rule === rule)
      assert.deepStrictEqual(
        findings.map((finding) => [finding.severity, finding.message]),
        [["error", message]]
      )
    })

    it("warns about more than eight workers under one supervisor", () => {
      const workers = Array.from({ length: 9 }, (_, index) => worker(index === 0 ? "one" : `w${index}`))
      const findings = Desk.check(desk({ domains: [Domain.make("d", { workers })] }))
      assert.deepStrictEqual(
        findings.map(({ rule, severity }) => [rule, severity]),
        [["crowded", "warning"]]
      )
    })

    it("sees through a chain of ten thousand tasks", () => {
      const tasks = Array.from({ length: 10_000 }, (_, index) =>
        task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`] })
      )
      assert.deepStrictEqual(Desk.check(desk({ tasks })), [])
    })
  })

  describe("definition", () => {
    it("is the same for the same desk, and changes with tasks, edges, workers and schemas", () => {
      const definitions = [
        desk({}),
        desk({ tasks: [task("b")] }),
        desk({ tasks: [task("a"), task("b")] }),
        desk({ tasks: [task("a"), task("b", { needs: ["a"] })] }),
        desk({ domains: [Domain.make("d", { workers: [worker("one")] })] }),
        desk({
          domains: [
            Domain.make("d", { workers: [worker("one", { input: Schema.Struct({ a: Schema.String }) as never })] })
          ]
        })
      ].map(Desk.definition)
      assert.strictEqual(new Set(definitions).size, definitions.length)
      assert.strictEqual(Desk.definition(desk({})), definitions[0])
    })
  })
})

describe("Worker", () => {
  describe("make", () => {
    const bad: ReadonlyArray<readonly [string, () => unknown]> = [
      ["Worker.make: name must be letters, digits, '_' and '-', got \"a.b\"", () => worker("a.b")],
      ["Worker.make: size must be a whole number >= 1, got 0", () => worker("a", { size: 0 })],
      ["Worker.make: attemptTimeout must be > 0, got 0 ms", () => worker("a", { attemptTimeout: 0 })],
      ["Domain.make: name must be letters, digits, '_' and '-', got \"\"", () => Domain.make("", { workers: [] })],
      ["Plan.make: concurrency must be a whole number >= 1, got 0", () => Plan.make([], { concurrency: 0 })]
    ]
    it.each(bad)("throws: %s", (message, make) => {
      assert.throws(make, RangeError, message)
    })
  })
})
