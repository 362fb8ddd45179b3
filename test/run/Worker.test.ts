import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Schema, Stream } from "effect"
import { Artefacts, Journal, type Reference } from "espalier/journal"
import { type Coordinator, Desk, Domain, Plan, Planner, Result, Run, Worker } from "espalier/run"

type Given = Omit<
  Worker.Options<object, object, string, string, never, never>,
  "description" | "input" | "output" | "handle"
>

const make = (options: Given) =>
  Worker.make("count", {
    description: "Counts",
    input: Schema.Struct({}),
    output: Schema.String,
    handle: () => Effect.succeed("3"),
    ...options
  })

describe("Worker", () => {
  describe("make", () => {
    it("fills in what may be left out", () => {
      const { encodeOutput: _e, prepare: _p, schemas: _s, ...rest } = make({})
      assert.deepInclude(rest, {
        name: "count",
        description: "Counts",
        capabilities: [],
        risk: "low",
        size: 1,
        queue: 100,
        available: true,
        attemptTimeout: Duration.seconds(30),
        permissions: [],
        tools: [],
        dependencies: [],
        artefacts: [],
        estimate: {},
        confidence: undefined
      })
    })

    it("R-203 keeps what it was given", () => {
      const given = {
        queue: 0,
        available: false,
        permissions: ["repository"],
        tools: ["files/read", "größe"],
        dependencies: ["https://api.example.org"],
        artefacts: ["patch", "constructor"],
        estimate: { steps: 1, tokens: 1_000, toolCalls: 2, cost: 0.03 },
        confidence: 0.8
      }
      assert.deepInclude(make(given), given)
    })

    it("keeps its lists when the caller changes them", () => {
      const tools = ["read"]
      const worker = make({ tools })
      tools.push("write")
      assert.deepStrictEqual(worker.tools, ["read"])
    })

    const bad: ReadonlyArray<readonly [message: string, options: Given]> = [
      ["size must be a whole number >= 1, got 0", { size: 0 }],
      ["size must be a whole number >= 1, got NaN", { size: Number.NaN }],
      ["queue must be a whole number >= 0, got -1", { queue: -1 }],
      ["queue must be a whole number >= 0, got 1.5", { queue: 1.5 }],
      ["queue must be a whole number >= 0, got Infinity", { queue: Infinity }],
      ["attemptTimeout must be a duration > 0, got 0", { attemptTimeout: 0 }],
      ["attemptTimeout must be a duration > 0, got -1", { attemptTimeout: -1 }],
      ["confidence must be a number between 0 and 1, got 1.1", { confidence: 1.1 }],
      ["confidence must be a number between 0 and 1, got -0.1", { confidence: -0.1 }],
      ["confidence must be a number between 0 and 1, got NaN", { confidence: Number.NaN }],
      ["estimate.tokens must be a whole number >= 0, got -1", { estimate: { tokens: -1 } }],
      ["estimate.steps must be a whole number >= 0, got NaN", { estimate: { steps: Number.NaN } }],
      ["estimate.cost must be an amount >= 0 and at most 1e15, got Infinity", { estimate: { cost: Infinity } }],
      ["estimate.toolCalls must be a whole number >= 0, got -0", { estimate: { toolCalls: -0 } }],
      [
        "permissions[0] must be letters, digits, '.', '_' and '-', beginning with a letter, got \"__proto__\"",
        { permissions: ["__proto__"] }
      ],
      ['permissions[1] must not be named twice, got "repository"', { permissions: ["repository", "repository"] }],
      [
        "artefacts[0] must be letters, digits, '.', '_' and '-', beginning with a letter, got \"\"",
        { artefacts: [""] }
      ],
      ['tools[1] must be a name that is not empty, got " "', { tools: ["read", " "] }],
      ['tools[1] must not be named twice, got "read"', { tools: ["read", "read"] }],
      [
        "tools[0].editable must have an input beside it, by which changes are checked",
        { tools: [{ name: "pay", editable: ["/amount"] }] }
      ],
      [
        "tools[1].editable[1] must not be named twice",
        { tools: ["read", { name: "pay", input: Schema.Unknown, editable: ["/amount", "/amount"] }] }
      ],
      ['dependencies[0] must be a name that is not empty, got ""', { dependencies: [""] }]
    ]
    it.each(bad)("throws a RangeError that names the option: %s", (message, options) => {
      const error = (() => {
        try {
          return make(options)
        } catch (thrown) {
          return thrown
        }
      })()
      assert.instanceOf(error, RangeError)
      assert.strictEqual(error.message, `Worker.make: ${message}`)
    })

    it("infers what the handler needs and what it is handed, beside every option", () => {
      const worker = Worker.make("count", {
        description: "Counts",
        permissions: ["repository"],
        estimate: { tokens: 5 },
        input: Schema.Struct({ text: Schema.String }),
        output: Schema.Struct({ words: Schema.Int }),
        handle: ({ input }) => Effect.map(Journal.Journal, () => ({ words: input.text.length }))
      })
      const needs: Worker.Worker<Journal.Journal> = worker
      assert.isTrue(Worker.isWorker(needs))
    })
  })

  describe("in a run", () => {
    const hash = `sha256:${"0".repeat(64)}`
    const forged = { uri: `artefact:${hash}`, hash }

    const writer = (made: Effect.Effect<Reference.Reference, Artefacts.ArtefactsError, Artefacts.Artefacts>) =>
      Worker.make("writer", {
        description: "Writes a patch",
        permissions: ["repository"],
        artefacts: ["patch"],
        input: Schema.Struct({}),
        output: Schema.String,
        handle: () =>
          Effect.map(made, (patch) => {
            const evidence = [{ requirement: "written", output: "x".repeat(9_000) }]
            return Result.delivered({ patch }, { evidence })
          })
      })
    const honest = writer(Effect.flatMap(Artefacts.Artefacts, ({ put }) => put("the patch")))
    const reader = Worker.make("reader", {
      description: "Says what it was handed",
      input: Schema.Struct({}),
      output: Schema.Unknown,
      handle: ({ accepted, artefacts }) => Effect.succeed({ accepted, artefacts })
    })
    const deskOf = <R>(worker: Worker.Worker<R>, coordinator: Coordinator.Coordinator<string>) =>
      Desk.make("patches", {
        version: "1",
        input: Schema.String,
        domains: [Domain.make("code", { workers: [worker, reader] })],
        coordinator
      })
    const planOf = (permissions: Record<string, ReadonlyArray<string>>) =>
      Plan.make<string>([
        { id: "write", worker: "code.writer", objective: "Write it", permissions },
        { id: "read", worker: "code.reader", objective: "Read it", needs: ["write"] }
      ])
    const run = <R>(worker: Worker.Worker<R>, permissions: Record<string, ReadonlyArray<string>>) =>
      Run.start(deskOf(worker, planOf(permissions)), { input: "x" })
    const layer = Layer.merge(Journal.layerMemory, Artefacts.layerMemory())

    it.effect("R-201 a contract without the area that a worker needs never reaches it", () =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(run(honest, { network: ["*"] }))
        assert.include(refused.message, "code.writer can never have it: permissions.repository is required")
        const plan = [{ id: "write", worker: "code.writer", objective: "Write it" }]
        const planner = Planner.make({ plan: () => Effect.succeed(plan), fallback: "review" })
        const { results } = yield* Run.start(deskOf(honest, planner), { input: "x" })
        assert.strictEqual(results["write"]?.status, "failed")
        assert.include(results["write"]?.note, "CONTRACT_INVALID: permissions.repository is required")
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-202 artefacts reach the next task by reference, and evidence is stamped and shortened", () =>
      Effect.gen(function* () {
        const { results, run: id } = yield* run(honest, { repository: ["docs/**"] })
        const patch = yield* Effect.flatMap(Artefacts.Artefacts, ({ put }) => put("the patch"))
        assert.deepStrictEqual(results["read"]?.output, {
          accepted: { write: null },
          artefacts: { write: { patch: { ...patch } } }
        })
        const journal = yield* Journal.Journal
        const events = yield* Stream.runCollect(journal.read(id))
        const reported = events.find(({ type }) => type === "Reported")
        const { result } = Schema.decodeUnknownSync(Schema.Struct({ result: Result.Envelope }))(reported?.data)
        const [evidence] = result.evidence
        assert.deepInclude(evidence, { requirement: "written", worker: "code.writer", task: "write", at: 0 })
        assert.include(evidence?.output, "bytes left out")
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-202 D01 an artefact that is not there makes the answer one that does not hold", () =>
      Effect.gen(function* () {
        const { dispatches, results } = yield* run(writer(Effect.succeed(forged)), { repository: ["docs/**"] })
        assert.strictEqual(results["write"]?.status, "failed")
        assert.include(
          results["write"]?.note,
          `RESULT_INVALID: artefacts.patch does not hold: there is no artefact ${hash} in memory`
        )
        assert.isTrue(dispatches.filter(({ task }) => task === "write").length > 0)
        assert.strictEqual(results["read"]?.status, "blocked")
      }).pipe(Effect.provide(layer))
    )

    const troubles: ReadonlyArray<readonly [string, Effect.Effect<never, Artefacts.ArtefactsError>, RegExp]> = [
      [
        "told of the trouble of its store",
        Effect.fail(
          new Artefacts.ArtefactsError({
            reason: new Journal.JournalCorrupt({ location: "artefacts.db", detail: "a broken page" })
          })
        ),
        /the journal artefacts\.db is damaged: a broken page/
      ],
      ["not ended by a bug in its store", Effect.die(new Error("a bug in the store")), /a bug in the store/]
    ]
    it.effect.each(troubles)("a run is %s", ([, verify, note]) =>
      Effect.gen(function* () {
        const store = yield* Artefacts.Artefacts
        const { results } = yield* run(honest, { repository: ["docs/**"] }).pipe(
          Effect.provideService(Artefacts.Artefacts, { ...store, verify: () => verify })
        )
        assert.strictEqual(results["write"]?.status, "failed")
        assert.match(results["write"]?.note ?? "", note)
      }).pipe(Effect.provide(layer))
    )

    it.effect("R-202 without a store no artefact holds", () =>
      Effect.gen(function* () {
        const worker = Worker.make("writer", {
          description: "Writes a patch",
          artefacts: ["patch"],
          input: Schema.Struct({}),
          output: Schema.String,
          handle: () => Effect.succeed(Result.delivered({ patch: forged }))
        })
        const { results } = yield* run(worker, {})
        assert.include(
          results["write"]?.note,
          "RESULT_INVALID: artefacts.patch does not hold: the run has no store of artefacts"
        )
      }).pipe(Effect.provide(Journal.layerMemory))
    )

    it.effect("a service that is missing is told with the way to bring it", () =>
      Effect.gen(function* () {
        class Prices extends Context.Service<Prices, number>()("test/Prices") {}
        const worker = Worker.make("writer", {
          description: "Writes a price",
          input: Schema.Struct({}),
          output: Schema.Number,
          handle: () => Prices
        }) as unknown as Worker.Worker<never>
        const { results } = yield* run(worker, {})
        assert.include(
          results["write"]?.note,
          "(defect: Service not found: test/Prices; a desk brings what its workers need by Desk.provide)"
        )
      }).pipe(Effect.provide(Journal.layerMemory))
    )

    it.effect("D63 an output that is too large is one failure that names its worker, and is not asked for again", () =>
      Effect.gen(function* () {
        const worker = Worker.make("writer", {
          description: "Writes too much",
          input: Schema.Struct({}),
          output: Schema.String,
          handle: () => Effect.succeed("x".repeat(5 * 1024 * 1024))
        })
        const { dispatches, results } = yield* run(worker, {})
        const of = dispatches.filter(({ task }) => task === "write")
        assert.deepStrictEqual(
          of.map(({ attempts, worker }) => [worker, attempts]),
          [["code.writer", 1]]
        )
        assert.include(results["write"]?.note, "RESULT_INVALID: output must be at most 2 MiB of JSON")
      }).pipe(Effect.provide(Journal.layerMemory))
    )

    it.effect("D63 D120 the same output as an artefact goes through, by reference", () =>
      Effect.gen(function* () {
        const large = writer(Effect.flatMap(Artefacts.Artefacts, ({ put }) => put("x".repeat(5 * 1024 * 1024))))
        const { results } = yield* run(large, { repository: ["docs/**"] })
        assert.strictEqual(results["read"]?.status, "accepted")
        assert.isBelow(JSON.stringify(results).length, 4_096)
      }).pipe(Effect.provide(layer))
    )

    it.effect("D63 content over the store's limit is one failure too", () =>
      Effect.gen(function* () {
        const { dispatches, results } = yield* run(honest, { repository: ["docs/**"] })
        const of = dispatches.filter(({ task }) => task === "write")
        assert.deepStrictEqual(
          of.map(({ attempts }) => attempts),
          [1]
        )
        assert.include(results["write"]?.note, "the artefact is too large: at least 9 bytes, the limit is 4")
      }).pipe(Effect.provide(Layer.merge(Journal.layerMemory, Artefacts.layerMemory({ limit: 4 }))))
    )
  })
})
