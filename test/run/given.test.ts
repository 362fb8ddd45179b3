import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import {
  Aggregate,
  Allowance,
  Autonomy,
  Breaker,
  Budget,
  Confidence,
  ContractPolicy,
  Dependency,
  Desk,
  Domain,
  Graph,
  Health,
  Pipeline,
  Plan,
  Planner,
  Repetition,
  Router,
  Run,
  Swarm,
  Worker
} from "espalier/run"
import { Fake, Outage } from "espalier/testing"

type Make = (...given: ReadonlyArray<unknown>) => unknown

/** A constructor as somebody without types calls it. */
const untyped = (make: unknown): Make => make as Make

const error = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}

const plain = { description: "Counts", input: Schema.Json, output: Schema.Json, handle: () => Effect.succeed(1) }

const one = Worker.make("one", plain)

const task = { id: "a", worker: "d.one", objective: "Do it" }

const node = { ...task, outcomes: ["done"], outcome: () => "done" }

const desk = {
  version: "1",
  input: Schema.Json,
  domains: [Domain.make("d", { workers: [one] })],
  coordinator: Plan.make([task])
}

/** The function, what it is called with, and what it says. */
type Row = readonly [make: string, given: ReadonlyArray<unknown>, message: string]

const functions: Readonly<Record<string, unknown>> = {
  "Worker.make": Worker.make,
  "Domain.make": Domain.make,
  "Desk.make": Desk.make,
  "Plan.make": Plan.make,
  "Pipeline.make": Pipeline.make,
  "Graph.make": Graph.make,
  "Swarm.make": Swarm.make,
  "Router.make": Router.make,
  "Planner.make": Planner.make,
  "Aggregate.make": Aggregate.make,
  "Aggregate.first": Aggregate.first,
  "Aggregate.mostConfident": Aggregate.mostConfident,
  "Aggregate.union": Aggregate.union,
  "Aggregate.custom": Aggregate.custom,
  "Breaker.make": Breaker.make,
  "Health.make": (options: unknown) =>
    Effect.runSync(Effect.scoped(untyped(Health.make)(options) as Effect.Effect<unknown>)),
  "Dependency.make": Dependency.make,
  "Confidence.make": Confidence.make,
  "Autonomy.decide": Autonomy.decide,
  "Autonomy.riskOf": Autonomy.riskOf,
  "Repetition.make": Repetition.make,
  Budget: Budget.make,
  "Allowance.make": (options: unknown) => Effect.runSync(untyped(Allowance.make)(options) as Effect.Effect<unknown>),
  "ContractPolicy.make": ContractPolicy.make,
  "ContractPolicy.paths": ContractPolicy.paths,
  "ContractPolicy.names": ContractPolicy.names,
  "Fake.worker": Fake.worker,
  "Fake.fail": Fake.fail,
  "Outage.make": Outage.make,
  "Outage.random": Outage.random
}

const options = (make: string, base: object, rows: ReadonlyArray<readonly [object, string]>): ReadonlyArray<Row> =>
  rows.map(([own, message]) => [make, [{ ...base, ...own }], message])

const called = (make: string, name: string, base: object, rows: ReadonlyArray<readonly [object, string]>) =>
  rows.map(([own, message]): Row => [make, [name, { ...base, ...own }], message])

const group = (make: string, list: string): ReadonlyArray<Row> => [
  [make, ["a"], `${list} must be a list, got "a"`],
  [make, [[null]], `${list}[0] must be an object, got null`],
  [make, [[task, {}]], `${list}[1].id must be a text, got undefined`],
  [make, [[{ ...task, id: 5 }]], `${list}[0].id must be a text, got 5`],
  [make, [[{ ...task, worker: 5 }]], `${list}[0].worker must be a text, got 5`],
  [make, [[{ ...task, needs: "b" }]], `${list}[0].needs must be a list, got "b"`],
  [make, [[{ ...task, needs: [1] }]], `${list}[0].needs[0] must be a text, got 1`],
  [make, [[{ ...task, input: {} }]], `${list}[0].input must be a function, got {0 fields}`],
  [make, [[{ ...task, fresh: "yes" }]], `${list}[0].fresh must be true or false, got "yes"`],
  [make, [[{ ...task, by: "plan" }]], `${list}[0].by must be a coordinator, got "plan"`],
  [make, [[task], "fast"], 'options must be an object, got "fast"'],
  [
    make,
    [[task], { concurency: 1 }],
    'each field of options must be one of concurrency, containment, merge, got "concurency"'
  ],
  [make, [[task], { concurrency: "10" }], 'concurrency must be a whole number >= 1, got "10"'],
  [make, [[task], { concurrency: Number.NaN }], "concurrency must be a whole number >= 1, got NaN"],
  [
    make,
    [[task], { containment: "failfast" }],
    'containment must be "isolate", "fail-fast" or a quorum, got "failfast"'
  ],
  [make, [[task], { containment: null }], 'containment must be "isolate", "fail-fast" or a quorum, got null'],
  [make, [[task], { containment: { quorum: "2" } }], 'quorum must be a whole number >= 1, got "2"'],
  [make, [[task], { containment: { qorum: 2 } }], 'each field of containment must be one of quorum, got "qorum"'],
  [make, [[task], { merge: "last" }], 'merge must be a function, got "last"']
]

const table: ReadonlyArray<Row> = [
  ["Worker.make", [5, plain], "name must be letters, digits, '_' and '-', got 5"],
  ["Worker.make", ["one"], "options must be an object, got undefined"],
  ...called("Worker.make", "one", plain, [
    [{ description: undefined }, "description must be a text, got undefined"],
    [{ input: {} }, "input must be a schema, got {0 fields}"],
    [{ output: undefined }, "output must be a schema, got undefined"],
    [{ handle: "run" }, 'handle must be a function, got "run"'],
    [{ risk: "hgih" }, 'risk must be one of "low", "medium", "high", got "hgih"'],
    [{ risk: "critical" }, 'risk must be one of "low", "medium", "high", got "critical"'],
    [{ capabilities: "read" }, 'capabilities must be a list, got "read"'],
    [{ capabilities: [5] }, "capabilities[0] must be a name that is not empty, got 5"],
    [{ capabilities: ["a", "a"] }, 'capabilities[1] must not be named twice, got "a"'],
    [{ tools: { a: 1 } }, "tools must be a list, got {1 field}"],
    [{ tools: [{ name: "pay", gates: 1 }] }, "each field of tools[0] must be one of gate,"],
    [{ tools: [{ name: 5 }] }, "tools[0] must be a name that is not empty, got 5"],
    [{ tools: [{ name: "pay", idempotent: "yes" }] }, 'tools[0].idempotent must be true or false, got "yes"'],
    [
      { tools: [{ name: "pay", risk: "dire" }] },
      'tools[0].risk must be one of "low", "medium", "high", "critical", got "dire"'
    ],
    [{ tools: [{ name: "pay", irreversible: 1 }] }, "tools[0].irreversible must be true or false, got 1"],
    [
      { tools: [{ name: "pay", gate: "ask" }] },
      'tools[0].gate must be "always", "never" or a function of the arguments, got "ask"'
    ],
    [{ tools: [{ name: "pay", input: {} }] }, "tools[0].input must be a schema, got {0 fields}"],
    [{ tools: [{ name: "pay", editable: "/a" }] }, 'tools[0].editable must be a list, got "/a"'],
    [{ tools: [{ name: "pay", describe: "pays" }] }, 'tools[0].describe must be a function, got "pays"'],
    [{ tools: [{ name: "pay", version: 2 }] }, "tools[0].version must be a text that is not empty, got 2"],
    [{ size: "3" }, 'size must be a whole number >= 1, got "3"'],
    [{ queue: null, size: 1.5 }, "size must be a whole number >= 1, got 1.5"],
    [{ available: "no" }, 'available must be true or false, got "no"'],
    [{ irreversible: 1 }, "irreversible must be true or false, got 1"],
    [{ attemptTimeout: "3 moons" }, "attemptTimeout must be a duration > 0, got 3 moons"],
    [{ attemptTimeout: Number.NaN }, "attemptTimeout must be a duration > 0, got NaN"],
    [{ attemptTimeout: { moons: 3 } }, 'attemptTimeout must be a duration > 0, got {"moons":3}'],
    [{ attemptTimeout: { seconds: "3" } }, 'attemptTimeout must be a duration > 0, got {"seconds":"3"}'],
    [{ confidence: "0.5" }, 'confidence must be a number between 0 and 1, got "0.5"'],
    [{ window: 0 }, "window must be a whole number >= 1, got 0"],
    [{ estimate: "free" }, 'estimate must be an object, got "free"'],
    [{ estimate: { token: 5 } }, "estimate.token is not a known field"],
    [{ estimate: { tokens: "5" } }, 'estimate.tokens must be a number, got "5"'],
    [{ attemptTimout: "1 second" }, "each field of options must be one of attemptTimeout,"]
  ]),

  ["Domain.make", ["d"], "options must be an object, got undefined"],
  ...called("Domain.make", "d", { workers: [one] }, [
    [{ workers: one }, "workers must be a list, got"],
    [{ workers: [one, "two"] }, 'workers[1] must be a worker, got "two"'],
    [{ strategy: "all" }, 'strategy must be one of "one-for-one", "one-for-all", "rest-for-one", got "all"'],
    [{ intensity: 3 }, "intensity must be an object, got 3"],
    [{ intensity: { restart: 3 } }, 'each field of intensity must be one of restarts, within, got "restart"'],
    [{ worker: [] }, 'each field of options must be one of workers, strategy, intensity, got "worker"']
  ]),

  ["Desk.make", [undefined, desk], "name must be a text, got undefined"],
  ["Desk.make", ["desk"], "options must be an object, got undefined"],
  ...called("Desk.make", "desk", desk, [
    [{ version: undefined }, "version must be a text, got undefined"],
    [{ version: 1 }, "version must be a text, got 1"],
    [{ coordinator: undefined }, "coordinator must be a coordinator, got undefined"],
    [{ coordinator: [task] }, "coordinator must be a coordinator, got [1 item]"],
    [{ input: undefined }, "input must be a schema, got undefined"],
    [{ output: "text" }, 'output must be a schema, got "text"'],
    [{ domains: undefined }, "domains must be a list, got undefined"],
    [{ domains: [one] }, "domains[0] must be a domain, got"],
    [{ owner: 5 }, "owner must be a text, got 5"],
    [{ policy: "review" }, 'policy must be an object, got "review"'],
    [{ limits: 5 }, "limits must be an object, got 5"],
    [{ budgets: [] }, "budgets must be an object, got [0 items]"],
    [{ breaker: 3 }, "breaker must be an object, got 3"],
    [{ contracts: {} }, "contracts must be a policy that ContractPolicy.make has made, got {0 fields}"],
    [{ aggregate: {} }, "aggregate must be an aggregate, got {0 fields}"],
    [{ confirm: true }, "confirm must be a function, got true"],
    [{ reconcile: "me" }, 'reconcile must be a function or "review", got "me"'],
    [{ acceptance: { sameRevision: "yes" } }, 'acceptance.sameRevision must be true or false, got "yes"'],
    [{ acceptance: { sameRevsion: true } }, 'each field of acceptance must be one of sameRevision, got "sameRevsion"'],
    [{ teir: "low" }, "each field of options must be one of tier,"]
  ]),

  ...group("Plan.make", "tasks"),
  ...group("Pipeline.make", "stages"),

  ...options("Graph.make", { start: "a", nodes: { a: node }, edges: { a: { done: "finish" } } }, [
    [{ start: 5 }, "start must be a text, got 5"],
    [{ nodes: [node] }, "nodes must be an object, got [1 item]"],
    [{ nodes: { a: { ...node, outcomes: "done" } } }, 'nodes.a.outcomes must be a list, got "done"'],
    [{ nodes: { a: { ...node, outcome: undefined } } }, "nodes.a.outcome must be a function, got undefined"],
    [{ nodes: { a: { ...node, join: 1 } } }, "nodes.a.join must be true or false, got 1"],
    [{ edges: { a: "finish" } }, 'edges.a must be an object, got "finish"'],
    [{ edges: { a: { done: 5 } } }, "edges.a.done must be a name or a list of names, got 5"],
    [{ edges: undefined }, "edges must be an object, got undefined"],
    [{ cap: 0 }, "cap must be a whole number >= 1, got 0"],
    [{ steps: "20" }, 'steps must be a whole number >= 1, got "20"'],
    [{ concurrency: -1 }, "concurrency must be a whole number >= 1, got -1"],
    [{ caps: 3 }, "each field of options must be one of cap, "]
  ]),

  ...options("Swarm.make", { start: "a", peers: { a: { ...task, handOver: () => "done" } } }, [
    [{ peers: { a: task } }, "peers.a.handOver must be a function, got undefined"],
    [{ peers: undefined }, "peers must be an object, got undefined"],
    [{ start: undefined }, "start must be a text, got undefined"],
    [{ steps: Number.NaN }, "steps must be a whole number >= 1, got NaN"],
    [{ repetition: 3 }, "repetition must be an object, got 3"],
    [{ repetition: { identical: 3 } }, "repetition.rounds must be a whole number >= 2, got undefined"],
    [{ step: 3 }, 'each field of options must be one of steps, start, peers, repetition, concurrency, got "step"']
  ]),

  ...options("Router.make", { tasks: [task], choose: () => Effect.succeed("a"), fallback: "review" }, [
    [{ tasks: undefined }, "tasks must be a list, got undefined"],
    [{ choose: "a" }, 'choose must be a function, got "a"'],
    [{ fallback: 5 }, "fallback must be a text, got 5"],
    [{ steps: 0 }, "steps must be a whole number >= 1, got 0"],
    [{ repetition: { ...Repetition.policy, window: 2 } }, "repetition.window must be a whole number >= 6, got 2"]
  ]),

  ...options("Planner.make", { plan: () => Effect.succeed([]), fallback: "review" }, [
    [{ plan: [] }, "plan must be a function, got [0 items]"],
    [{ fallback: "nobody" }, 'fallback must be a plan or "review", got "nobody"'],
    [{ workers: "d.one" }, 'workers must be a list, got "d.one"'],
    [{ containment: "failfast" }, 'containment must be "isolate", "fail-fast" or a quorum, got "failfast"']
  ]),

  ...options("Aggregate.make", { tasks: { a: Schema.Json }, fields: { all: Aggregate.first(Schema.Json) } }, [
    [{ tasks: { a: "text" } }, 'tasks.a must be a schema, got "text"'],
    [{ tasks: ["a"] }, "tasks must be an object, got [1 item]"],
    [{ fields: { all: "first" } }, 'fields.all must be made by a rule of Aggregate, got "first"'],
    [{ field: {} }, 'each field of options must be one of fields, tasks, got "field"']
  ]),
  ["Aggregate.first", ["text"], 'schema must be a schema, got "text"'],
  ["Aggregate.first", [Schema.Json, { form: "a" }], 'each field of options must be one of from, backed, got "form"'],
  ["Aggregate.mostConfident", [Schema.Json, { from: 5 }], "from must be a text, got 5"],
  ["Aggregate.union", [Schema.Json, { key: "id" }], 'key must be a function, got "id"'],
  ["Aggregate.custom", ["mine", { part: Schema.Json, merged: Schema.Json }], "merge must be a function, got undefined"],

  ...options("Breaker.make", {}, [
    [{ failures: 0 }, "failures must be a whole number >= 1, got 0"],
    [{ within: "3 moons" }, "within must be a duration > 0, got 3 moons"],
    [{ within: {} }, "within must be a duration > 0, got {}"],
    [{ cooldown: "Infinity" }, "cooldown must be finite, got Infinity"],
    [{ failure: 3 }, 'each field of options must be one of failures, within, cooldown, got "failure"']
  ]),
  ["Breaker.make", [null], "options must be an object, got null"],
  ["Health.make", [{ workers: "d.one" }], 'workers must be a list, got "d.one"'],
  ["Health.make", [{ braker: {} }], 'each field of options must be one of breaker, workers, got "braker"'],
  ...options("Dependency.make", {}, [
    [{ failures: "5" }, 'failures must be a whole number >= 1, got "5"'],
    [{ spacing: -1 }, "spacing must be a duration >= 0, got -1"],
    [{ dependencies: { a: 3 } }, "dependencies.a must be an object, got 3"],
    [
      { dependencies: { a: { openfor: 3 } } },
      'each field of dependencies.a must be one of openFor, spacing, longest, failures, got "openfor"'
    ]
  ]),

  ...options("Confidence.make", {}, [
    [{ low: "retri" }, 'low must be one of "note", "retry", "cross-check", "review", got "retri"'],
    [{ threshold: "0.6" }, 'threshold must be a number between 0 and 1, got "0.6"'],
    [{ review: "yes" }, 'review must be true or false, got "yes"'],
    [{ treshold: 1 }, 'each field of options must be one of threshold, review, low, got "treshold"']
  ]),
  ["Autonomy.decide", ["hi", { risk: "low" }], 'tier must be one of "low", "medium", "full", got "hi"'],
  ["Autonomy.decide", ["low", { risk: "hgih" }], 'risk must be one of "low", "medium", "high", "critical", got "hgih"'],
  ["Autonomy.riskOf", [{ worker: "hgih" }], 'worker must be one of "low", "medium", "high", "critical", got "hgih"'],
  [
    "Autonomy.riskOf",
    [{ worker: "low", tool: "rm", tools: { rm: "hgih" } }],
    'tools.rm must be one of "low", "medium", "high", "critical", got "hgih"'
  ],
  ...options("Repetition.make", {}, [
    [{ identical: 1 }, "identical must be a whole number >= 2, got 1"],
    [{ windows: 9 }, 'each field of options must be one of window, rounds, identical, perWorker, got "windows"']
  ]),

  ["Budget", [{ run: { tokens: -1 } }], "the limit of run must have a whole number >= 0 as tokens, got -1"],
  ["Budget", [{ run: 5 }], "the limit of run must be an object, got 5"],
  [
    "Budget",
    [{ run: { token: 5 } }],
    'the limit of run must have no other measures than steps, tokens, toolCalls, cost, got "token"'
  ],
  ...options("Allowance.make", { limit: {} }, [
    [{ limit: undefined }, "limit must be an object, got undefined"],
    [{ limit: { token: 5 } }, "each field of limit must be one of tokens, "],
    [{ perCall: 5 }, "perCall must be an object, got 5"],
    [{ account: 5 }, "account must be a text, got 5"]
  ]),
  ...options("ContractPolicy.make", {}, [
    [{ limits: 5 }, "limits must be an object, got 5"],
    [{ limits: { token: 5 } }, "limits.token is not a known field"],
    [{ areas: { a: ["docs"] } }, "areas.a must be made by ContractPolicy.paths or ContractPolicy.names, got [1 item]"],
    [{ dataClasses: "public" }, 'dataClasses must be a list, got "public"'],
    [{ dataClassRequired: 1 }, "dataClassRequired must be true or false, got 1"],
    [{ area: {} }, 'each field of options must be one of areas, limits, dataClasses, dataClassRequired, got "area"']
  ]),
  ["ContractPolicy.paths", ["docs"], 'roots must be a list, got "docs"'],
  ["ContractPolicy.paths", [[5]], "roots[0] must be a text, got 5"],
  ["ContractPolicy.names", ["docs"], 'names must be a list, got "docs"'],

  ...called("Fake.worker", "one", {}, [
    [{ answers: "a" }, 'answers must be a list, got "a"'],
    [{ failures: { rate: "1", seed: 1 } }, 'failures.rate must be a number between 0 and 1, got "1"'],
    [{ failures: { rate: 1 } }, "failures.seed must be a text or a number, got undefined"],
    [{ failures: { rate: 1, seed: 1, kind: "transiet" } }, "failures.kind must be one of"],
    [{ failures: { rate: 1, seed: 1, chance: 1 } }, "each field of failures must be one of"],
    [{ latency: "3 moons" }, 'latency must be a duration, got "3 moons"'],
    [{ outage: [] }, "outage must be an outage, got [0 items]"],
    [{ what: 5 }, "what must be a text, got 5"]
  ]),
  ["Fake.fail", ["transiet"], "kind must be one of"],
  ["Fake.fail", ["transient", { retryAfter: "soon" }], "retryAfter must be a duration >= 0, got soon"],
  ["Outage.make", ["a"], 'spans must be a list, got "a"'],
  ["Outage.make", [[{ what: 5 }]], "[0].what must be a text, got 5"],
  ["Outage.make", [[{ what: "a", from: "3 moons" }]], '[0].from must be a duration, got "3 moons"'],
  ["Outage.make", [[{ what: "a", kind: "transiet" }]], "[0].kind must be one of"],
  ["Outage.make", [[{ what: "a", til: 5 }]], "each field of [0] must be one of"],
  ...options("Outage.random", { seed: 1, names: ["a"], within: 10, mean: 1 }, [
    [{ seed: undefined }, "seed must be a text or a number, got undefined"],
    [{ names: "a" }, 'names must be a list, got "a"'],
    [{ mean: "3 moons" }, 'mean must be a duration, got "3 moons"'],
    [{ kinds: ["transiet"] }, "kinds[0] must be one of"]
  ])
]

describe("what a constructor is given", () => {
  it.each(table)("R-218 %s with %j throws: %s", (make, given, message) => {
    const thrown = error(() => untyped(functions[make])(...given))
    assert.instanceOf(thrown, RangeError)
    if (thrown instanceof Error) {
      const whole = `${make}: ${message}`
      // What does not end in the value is the beginning of a longer list, or of a value whose size is of no matter.
      assert.strictEqual(
        /, got .|field$|twice/.test(message) ? thrown.message : thrown.message.slice(0, whole.length),
        whole
      )
    }
  })
})

describe("what a desk is given", () => {
  const ladders = {
    transient: ["retry"],
    capability: [],
    oversized: [],
    malformed: [],
    denied: [],
    exhausted: [],
    defect: []
  }
  const rows: ReadonlyArray<readonly [object, string]> = [
    [{ tier: "hi" }, 'tier must be one of "low", "medium", "full", got "hi"'],
    [{ steps: "20" }, 'steps must be a whole number >= 0, got "20"'],
    [
      { policy: { atcap: "review" } },
      "policy.atcap is not a known field; known are atCap, attempts, jitter, ladders, skipAfter and 6 more"
    ],
    [{ policy: { atCap: "reveiw" } }, 'policy.atCap must be one of "stop", "review", got "reveiw"'],
    [
      { policy: { lowConfidence: "retri" } },
      'policy.lowConfidence must be one of "note", "retry", "cross-check", "review", got "retri"'
    ],
    [{ policy: { reviewConfidence: "yes" } }, 'policy.reviewConfidence must be true or false, got "yes"'],
    [{ policy: { attempts: -1 } }, "policy.attempts must be a whole number >= 1, got -1"],
    [{ policy: { attempts: "3" } }, 'policy.attempts must be a whole number >= 1, got "3"'],
    [{ policy: { skipAfter: Number.NaN } }, "policy.skipAfter must be a whole number >= 1, got NaN"],
    [{ policy: { waitsMillis: 5 } }, "policy.waitsMillis must be a list, got 5"],
    [{ policy: { waitsMillis: [1, "2"] } }, 'policy.waitsMillis[1] must be a number of milliseconds >= 0, got "2"'],
    [{ policy: { jitter: 1.1 } }, "policy.jitter must be a number between 0 and 1, got 1.1"],
    [{ policy: { jitter: "0.1" } }, 'policy.jitter must be a number between 0 and 1, got "0.1"'],
    [{ policy: { ladders: "retry" } }, 'policy.ladders must be an object, got "retry"'],
    [{ policy: { ladders: { ...ladders, defect: undefined } } }, "policy.ladders.defect must be a list, got undefined"],
    [{ policy: { ladders: { ...ladders, denied: "review" } } }, 'policy.ladders.denied must be a list, got "review"'],
    [
      { policy: { ladders: { ...ladders, denied: ["reviw"] } } },
      `policy.ladders.denied[0] must be one of "retry", "correct", "again", "follow-up", "other-worker", "larger-worker", "decompose", "re-plan", "review", "incomplete", got "reviw"`
    ],
    [
      { policy: { ladders: { ...ladders, transiet: [] } } },
      "policy.ladders.transiet is not a known field; known are transient, denied, oversized, exhausted, defect and 2 more"
    ],
    [{ limits: { token: 5 } }, "limits.token is not a known field"],
    [{ breaker: { failures: 0 } }, "Breaker.make: failures must be a whole number >= 1, got 0"],
    [
      { breaker: { failure: 3 } },
      'Breaker.make: each field of options must be one of failures, within, cooldown, got "failure"'
    ]
  ]
  const checked = (own: object) => {
    const made = untyped(Desk.make)("desk", { ...desk, ...own }) as Desk.Desk<Schema.Json, never>
    return Desk.check(made).map(({ message, severity, subject }) => [severity, subject, message])
  }

  it.each(rows)("R-218 %j is a finding", (own, message) => {
    assert.deepStrictEqual(checked(own), [["error", "desk", `the desk desk: ${message}`]])
  })

  it("R-218 what is undefined is as if it was not said", () => {
    assert.deepStrictEqual(checked({ policy: { attempts: undefined }, tier: undefined, limits: undefined }), [])
  })

  it("R-218 every problem of a contract is a finding", () => {
    const coordinator = untyped(Plan.make)([
      { ...task, objective: "", onIncomplete: "partially", limits: { token: 1 } }
    ])
    assert.deepStrictEqual(
      checked({ coordinator }).map(([, subject, message]) => [subject, message]),
      [
        ["a", 'task a: CONTRACT_INVALID: objective must be a text that is not empty, got ""'],
        ["a", "task a: CONTRACT_INVALID: limits.token is not a known field"],
        ["a", 'task a: CONTRACT_INVALID: onIncomplete must be "partial" | "escalate", got "partially"']
      ]
    )
  })
})

describe("what a run is given", () => {
  const rows: ReadonlyArray<readonly [unknown, string]> = [
    [{ tier: "hi" }, 'tier must be one of "low", "medium", "full", got "hi"'],
    [{ id: 5 }, "id must be a text, got 5"],
    [{ id: "a b" }, `id must be letters, digits, '.', '_' and '-', at most 100, got "a b"`],
    [{ limits: "none" }, 'limits must be an object, got "none"'],
    [{ limits: { token: 5 } }, "limits.token is not a known field"],
    [{ onEvent: "log" }, 'onEvent must be a function, got "log"'],
    [{ module: "" }, 'module must be a text of 1 to 500 characters, got ""'],
    [{ module: 5 }, "module must be a text of 1 to 500 characters, got 5"],
    [{ log: "no" }, 'log must be true or false, got "no"'],
    [{ waitFor: "-1 second" }, 'waitFor must be a duration >= 0, got "-1 second"'],
    [{ waitFor: "a while" }, 'waitFor must be a duration >= 0, got "a while"'],
    [{ waitFor: Number.NaN }, "waitFor must be a duration >= 0, got NaN"],
    [{ teir: "low" }, "teir is not a known option; known are tier, id, log, input, limits and 5 more"],
    [{ requester: "" }, 'requester must name somebody, such as ann or service:mailer, got ""']
  ]
  const made = Desk.make("desk", desk)

  it.effect.each(rows)("R-217 %j is refused", ([own, message]) =>
    Effect.gen(function* () {
      const options = { input: null, ...(own as object) } as Run.StartOptions<Schema.Json>
      const refused = yield* Effect.flip(Run.start(made, options))
      assert.strictEqual(refused._tag, "InputInvalid")
      assert.strictEqual(refused.message, `INPUT_INVALID: desk: ${message}`)
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("R-217 no options at all are refused", () =>
    Effect.gen(function* () {
      const start = Run.start as (desk: unknown, options?: unknown) => ReturnType<typeof Run.start<Schema.Json, never>>
      const refused = yield* Effect.flip(start(made))
      assert.strictEqual(refused.message, "INPUT_INVALID: desk: options must be an object, got undefined")
    }).pipe(Effect.provide(Journal.layerMemory))
  )
})
