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
