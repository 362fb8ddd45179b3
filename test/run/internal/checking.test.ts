import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import {
  Aggregate,
  ContractPolicy,
  type Coordinator,
  Desk,
  Domain,
  Graph,
  Pipeline,
  Plan,
  Router,
  Run,
  type RunEvent,
  Worker
} from "espalier/run"

import { history } from "../desks.ts"
import { dice } from "../simulate.ts"

const worker = (name: string, options: Partial<Worker.Options<object, object, string, string, never, never>> = {}) =>
  Worker.make(name, {
    description: `Does ${name}`,
    input: Schema.Struct({}),
    output: Schema.String,
    handle: () => Effect.succeed("done"),
    ...options
  })

type Options = Partial<Desk.Options<object, object, ReadonlyArray<Domain.Domain<never>>, never, unknown, unknown>>

const domain = (...workers: ReadonlyArray<Worker.Worker<never>>) => Domain.make("d", { workers })

const desk = (
  parts: Options & {
    readonly name?: string
    readonly workers?: ReadonlyArray<Worker.Worker<never>>
    readonly tasks?: ReadonlyArray<Plan.Task>
  } = {}
): Desk.Desk<object, never> => {
  const { name = "desk", tasks = [task("a")], workers, ...options } = parts
  const made = Desk.make(name, {
    version: "1",
    input: Schema.Struct({}),
    domains: [domain(...(workers ?? [worker("one"), worker("two", { capabilities: ["read"] })]))],
    coordinator: Plan.make(tasks),
    ...options
  })
  return made
}

const task = (id: string, fields: Partial<Plan.Task> = {}): Plan.Task => ({
  id,
  worker: "d.one",
  objective: "Do it",
  ...fields
})

/** A task that is carried out by a plan. */
const group = (id: string, tasks: ReadonlyArray<Plan.Task>, options?: Plan.Options): Plan.Task => ({
  id,
  objective: "Do all of it",
  by: Plan.make(tasks, options) as Plan.Plan
})

const shared = Plan.make([task("b")]) as Plan.Plan

/** A router that takes its tasks one after the other. */
const inTurn = (tasks: ReadonlyArray<Plan.Task>): Coordinator.Coordinator =>
  Router.make({
    tasks: tasks.map((each) => ({ ...each, needs: [] })),
    choose: Router.rule((question) => tasks[question.tasks.length]?.id ?? "finish"),
    fallback: "review"
  })

/** A coordinator of somebody else's making. */
const coordinator = (fields: Partial<Coordinator.Coordinator<unknown>>): Coordinator.Coordinator<unknown> => ({
  ...Plan.make([task("a")]),
  adds: true,
  ...fields
})

const says = (rule: string, subject: string, message: string, severity?: "warning") => () => [
  { rule, subject, message, ...(severity === undefined ? {} : { severity }) }
]

const repository = (...scopes: ReadonlyArray<string>) => ({ repository: scopes })

const policy = ContractPolicy.make({
  limits: { tokens: 100 },
  areas: { repository: ContractPolicy.paths(["docs"]), hosts: ContractPolicy.names([]) }
})

const itself = (): Plan.Task => {
  const tasks: Array<Plan.Task> = [task("b")]
  const by = Plan.make(tasks)
  tasks.push({ id: "c", objective: "Do it again", by })
  return { id: "a", objective: "Do it", by }
}

const planned = (id: string, fields: Partial<RunEvent.PlannedTask> = {}): RunEvent.PlannedTask => ({
  id,
  needs: [],
  worker: "d.one",
  acceptMissing: false,
  ...fields
})

const merged: unknown = Aggregate.make({
  tasks: { a: Schema.Unknown, z: Schema.Unknown },
  fields: { all: Aggregate.first(Schema.String) }
})

type Row = readonly [rule: Desk.Finding["rule"], message: string, desk: Desk.Desk<object>, subject: string]

const errors: ReadonlyArray<Row> = [
  // The desk
  ["no-name", "the desk has no name", desk({ name: " " }), " "],
  ["no-version", "the desk desk has no version", desk({ version: " " }), "desk"],
  ["no-domain", "the desk desk has no domains", desk({ domains: [] }), "desk"],
  [
    "invalid-limits",
    "the desk desk: limits.tokens must be a whole number >= 0, got -1",
    desk({ limits: { tokens: -1 } }),
    "desk"
  ],
  [
    "invalid-limits",
    'the desk desk: budgets["domain:d"].steps must be a whole number >= 0, got 1.5',
    desk({ budgets: { "domain:d": { steps: 1.5 } } }),
    "domain:d"
  ],
  [
    "unknown-account",
    "there is a budget for domain:e, which is neither a domain nor a worker of desk; known are domain:d, worker:d.one, worker:d.two",
    desk({ budgets: { "domain:e": { steps: 1 } } }),
    "domain:e"
  ],
  [
    "unknown-account",
    "there is a budget for worker:one, which is neither a domain nor a worker of desk; known are worker:d.one, worker:d.two, domain:d",
    desk({ budgets: { "worker:one": { steps: 1 } } }),
    "worker:one"
  ],
  [
    "unknown-account",
    "there is a budget for run, whose limits are those of the desk",
    desk({ budgets: { run: { steps: 1 } } }),
    "run"
  ],
  ["out-of-range", "the desk desk: steps must be a whole number >= 0, got -1", desk({ steps: -1 }), "desk"],
  [
    "out-of-range",
    "the desk desk: policy.attempts must be a whole number >= 1, got 0",
    desk({ policy: { attempts: 0 } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: policy.dispatchesPerWorker must be a whole number >= 1, got 0.5",
    desk({ policy: { dispatchesPerWorker: 0.5 } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: policy.skipAfter must be a whole number >= 1, got 0",
    desk({ policy: { skipAfter: 0 } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: policy.confidence must be a number between 0 and 1, got 2",
    desk({ policy: { confidence: 2 } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: policy.jitter must be a number between 0 and 1, got NaN",
    desk({ policy: { jitter: Number.NaN } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: policy.longestWaitMillis must be a number of milliseconds >= 0, got Infinity",
    desk({ policy: { longestWaitMillis: Number.POSITIVE_INFINITY } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: policy.waitsMillis[1] must be a number of milliseconds >= 0, got -5",
    desk({ policy: { waitsMillis: [0, -5] } }),
    "desk"
  ],
  [
    "out-of-range",
    "the desk desk: Breaker.make: failures must be a whole number >= 1, got 0",
    desk({ breaker: { failures: 0 } }),
    "desk"
  ],
  [
    "unknown-task",
    "the answer of desk is merged out of z, but there is no such task; known is a",
    desk({
      // Which fields there are is of no matter here.
      aggregate: merged as Aggregate.Aggregate<unknown>
    }),
    "desk"
  ],

  // Domains and workers
  [
    "duplicate-domain",
    "two domains are called d",
    desk({ domains: ["one", "two"].map((name) => domain(worker(name))) }),
    "d"
  ],
  [
    "no-worker",
    "the domain e has no workers",
    desk({ domains: [domain(worker("one")), Domain.make("e", { workers: [] })] }),
    "e"
  ],
  [
    "out-of-range",
    "the domain d: RestartIntensity.make: restarts must be a whole number >= 0, got -1",
    desk({ domains: [Domain.make("d", { workers: [worker("one")], intensity: { restarts: -1 } })] }),
    "d"
  ],
  [
    "duplicate-worker",
    "two workers are called d.one",
    desk({ workers: [worker("one"), worker("one", { description: "Else" })] }),
    "d.one"
  ],
  [
    "same-description",
    "d.one and d.two have the same description, so nobody can choose between them",
    desk({ workers: [worker("one"), worker("two", { description: " Does one" })] }),
    "d.two"
  ],
  [
    "infinite-timeout",
    "the attempt time-out of d.one is infinite",
    desk({ workers: [worker("one", { attemptTimeout: "Infinity" })] }),
    "d.one"
  ],
  [
    "ungranted-permission",
    "d.two needs the permission database, which the contract policy never grants; known is repository",
    desk({ contracts: policy, workers: [worker("one"), worker("two", { permissions: ["database"] })] }),
    "d.two"
  ],
  [
    "ungranted-permission",
    "d.two needs the permission hosts, which the contract policy never grants; known is repository",
    desk({ contracts: policy, workers: [worker("one"), worker("two", { permissions: ["hosts"] })] }),
    "d.two"
  ],
  [
    "unaffordable",
    "d.one can never run: it is expected to use 500 tokens, above the 100 of domain:d",
    desk({ budgets: { "domain:d": { tokens: 100 } }, workers: [worker("one", { estimate: { tokens: 500 } })] }),
    "d.one"
  ],
  [
    "unaffordable",
    "d.one can never run: it is expected to use 2 toolCalls, above the 1 of worker:d.one",
    desk({ budgets: { "worker:d.one": { toolCalls: 1 } }, workers: [worker("one", { estimate: { toolCalls: 2 } })] }),
    "d.one"
  ],
  [
    "unaffordable",
    "d.one can never run: it is expected to use 0.5 cost, above the 0.25 of a run",
    desk({ limits: { cost: 0.25 }, workers: [worker("one", { estimate: { cost: 0.5 } })] }),
    "d.one"
  ],

  // Names and needs
  ["no-task", "the plan of desk has no tasks", desk({ tasks: [] }), "desk"],
  ["no-task", "the plan of a has no tasks", desk({ tasks: [group("a", [])] }), "a"],
  ["duplicate-task", "two tasks are called a", desk({ tasks: [task("a"), task("a")] }), "a"],
  ["duplicate-task", "two tasks are called a/b", desk({ tasks: [group("a", [task("b"), task("b")])] }), "a/b"],
  [
    "invalid-name",
    "task a/b: id must be letters, digits, '.', '_' and '-', beginning with a letter, at most 64, got \"a/b\"",
    desk({ tasks: [task("a/b")] }),
    "a/b"
  ],
  [
    "invalid-name",
    "task a#2: id must be letters, digits, '.', '_' and '-', beginning with a letter, at most 64, got \"a#2\"",
    desk({ tasks: [task("a#2")] }),
    "a#2"
  ],
  ["unknown-need", "task a: needs an unknown task z", desk({ tasks: [task("a", { needs: ["z"] })] }), "a"],
  [
    "unknown-need",
    "task a/b: needs an unknown task c",
    desk({ tasks: [task("c"), group("a", [task("b", { needs: ["c"] })])] }),
    "a/b"
  ],
  ["unknown-need", "task b: needs a twice", desk({ tasks: [task("a"), task("b", { needs: ["a", "a"] })] }), "b"],
  ["cycle", "tasks need each other in a circle: a → a", desk({ tasks: [task("a", { needs: ["a"] })] }), "a"],
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
    }),
    "b"
  ],
  [
    "cycle",
    "tasks need each other in a circle: x/a/b → x/a/c → x/a/b",
    desk({ tasks: [group("x", [group("a", [task("b", { needs: ["c"] }), task("c", { needs: ["b"] })])])] }),
    "x/a/b"
  ],
  ["cycle", "task a/c: is carried out by a coordinator that it is a task of", desk({ tasks: [itself()] }), "a/c"],

  // Who does it
  [
    "unassigned",
    "task a: names neither a worker nor a capability",
    desk({ tasks: [task("a", { worker: undefined })] }),
    "a"
  ],
  [
    "unassigned",
    "task a/b: names neither a worker nor a capability",
    desk({ tasks: [group("a", [task("b", { worker: undefined })])] }),
    "a/b"
  ],
  [
    "assigned-twice",
    "task a: is to be done by d.one and by a plan of its own",
    desk({ tasks: [{ ...group("a", [task("b")]), worker: "d.one" }] }),
    "a"
  ],
  [
    "assigned-twice",
    "task a: is to be done by somebody with read and by a plan of its own",
    desk({ tasks: [{ ...group("a", [task("b")]), capability: "read" }] }),
    "a"
  ],
  [
    "unknown-worker",
    "task a: there is no worker d.nine; known are d.one, d.two",
    desk({ tasks: [task("a", { worker: "d.nine" })] }),
    "a"
  ],
  [
    "unknown-worker",
    "task a: there is no worker one; known are d.one, d.two",
    desk({ tasks: [task("a", { worker: "one" })] }),
    "a"
  ],
  [
    "unknown-worker",
    "task x/a/b: there is no worker d.nine; known are d.one, d.two",
    desk({ tasks: [group("x", [group("a", [task("b", { worker: "d.nine" })])])] }),
    "x/a/b"
  ],
  [
    "unknown-capability",
    "task a: no worker has the capability fly; known is read",
    desk({ tasks: [task("a", { capability: "fly" })] }),
    "a"
  ],
  [
    "unknown-capability",
    "task a/b: no worker has the capability fly; known is read",
    desk({ tasks: [group("a", [task("b", { worker: undefined, capability: "fly" })])] }),
    "a/b"
  ],

  // Contracts, permissions and limits
  [
    "invalid-contract",
    "task a: CONTRACT_INVALID: limits.tokens must be a whole number >= 0, got -1",
    desk({ tasks: [task("a", { limits: { tokens: -1 } })] }),
    "a"
  ],
  [
    "invalid-contract",
    'task a/b: CONTRACT_INVALID: objective must be a text that is not empty, got " "',
    desk({ tasks: [group("a", [task("b", { objective: " " })])] }),
    "a/b"
  ],
  [
    "invalid-contract",
    'task a: dataClass must be one of "public", "internal", "confidential", "personal", got "secret"',
    desk({ contracts: policy, tasks: [task("a", { dataClass: "secret" })] }),
    "a"
  ],
  [
    "ungranted-permission",
    'task a: permissions.repository[0] must lie inside "docs", got "src"',
    desk({ contracts: policy, tasks: [task("a", { permissions: repository("src") })] }),
    "a"
  ],
  [
    "ungranted-permission",
    "task a/b: permissions.database is not an area of the policy",
    desk({ contracts: policy, tasks: [group("a", [task("b", { permissions: { database: ["x"] } })])] }),
    "a/b"
  ],
  [
    "lacking-permission",
    "task a: d.one can never have it: permissions.repository is required",
    desk({ workers: [worker("one", { permissions: ["repository"] })] }),
    "a"
  ],
  [
    "lacking-permission",
    "task a: d.one can never have it: permissions.repository must name at least one scope, got [0 items]",
    desk({
      workers: [worker("one", { permissions: ["repository"] })],
      tasks: [task("a", { permissions: repository() })]
    }),
    "a"
  ],
  [
    "lacking-permission",
    "task a/b: nobody with read can ever have it: d.one: permissions.repository is required; d.two: permissions.hosts is required",
    desk({
      workers: [
        worker("one", { capabilities: ["read"], permissions: ["repository"] }),
        worker("two", { capabilities: ["read"], permissions: ["hosts"] })
      ],
      tasks: [group("a", [task("b", { worker: undefined, capability: "read" })])]
    }),
    "a/b"
  ],
  [
    "excessive-limits",
    "task a: limits.tokens must be at most 100, got 200",
    desk({ contracts: policy, tasks: [task("a", { limits: { tokens: 200 } })] }),
    "a"
  ],
  [
    "excessive-limits",
    "task a: limits.deadlineMillis must be at most the 1000 of the desk, got 2000",
    desk({ limits: { deadlineMillis: 1000 }, tasks: [task("a", { limits: { deadlineMillis: 2000 } })] }),
    "a"
  ],
  [
    "excessive-limits",
    "task a/b: limits.steps must be at most the 3 of the task a, got 4",
    desk({
      limits: { steps: 3 },
      tasks: [{ ...group("a", [task("b", { limits: { steps: 4 } })]), limits: { steps: 3 } }]
    }),
    "a/b"
  ],
  ...[Infinity, -1, Number.NaN, "-3 seconds", "Infinity", "40000 days"].map(
    (after) =>
      [
        "out-of-range",
        `task a: after must be a duration >= 0 of at most a hundred years, got ${typeof after === "string" ? JSON.stringify(after) : after}`,
        desk({ tasks: [task("a", { after: after as never })] }),
        "a"
      ] as const
  ),
  [
    "unaffordable",
    "task a: d.one can never have it: it is expected to use 500 tokens, above the 100 of the task",
    desk({
      workers: [worker("one", { estimate: { tokens: 500 } })],
      tasks: [task("a", { limits: { tokens: 100 } })]
    }),
    "a"
  ],
  [
    "unaffordable",
    "task a/b: d.one can never have it: it is expected to use 500 tokens, above the 100 of the task a",
    desk({
      workers: [worker("one", { estimate: { tokens: 500 } })],
      tasks: [{ ...group("a", [task("b")]), limits: { tokens: 100 } }]
    }),
    "a/b"
  ],

  // Coordinators
  [
    "out-of-range",
    "the plan of desk: the quorum must be at most its 1 tasks, got 2",
    desk({ coordinator: Plan.make([task("a")], { containment: { quorum: 2 } }) }),
    "desk"
  ],
  [
    "out-of-range",
    "the plan of a: the quorum must be at most its 2 tasks, got 3",
    desk({ tasks: [group("a", [task("b"), task("c")], { containment: { quorum: 3 } })] }),
    "a"
  ],
  [
    "out-of-range",
    "the plan of desk: the quorum must be a whole number >= 1, got 0",
    desk({ coordinator: coordinator({ containment: { quorum: 0 } }) }),
    "desk"
  ],
  [
    "out-of-range",
    "the plan of desk: concurrency must be a whole number >= 1, got 0",
    desk({ coordinator: coordinator({ concurrency: 0 }) }),
    "desk"
  ],
  [
    "out-of-range",
    "the swarm of desk can never begin: the desk desk allows 0 steps",
    desk({ steps: 0, coordinator: coordinator({ kind: "swarm", initial: [] }) }),
    "desk"
  ],
  [
    "coordinator",
    "the router of desk has nobody to ask",
    desk({ coordinator: coordinator({ kind: "router" }) }),
    "desk"
  ],
  [
    "no-fallback",
    "no fallback",
    desk({ coordinator: coordinator({ problems: says("no-fallback", "router", "no fallback") }) }),
    "router"
  ],
  [
    "unreachable-node",
    "the graph of a: the node z cannot be reached",
    desk({
      tasks: [
        {
          id: "a",
          objective: "Walk",
          by: coordinator({ kind: "graph", problems: says("unreachable-node", "z", "the node z cannot be reached") })
        }
      ]
    }),
    "a/z"
  ],
  [
    "no-fallback",
    'the router\'s fallback must be one of a, review, got "z"',
    desk({
      coordinator: Router.make({
        tasks: [task("a")],
        choose: Router.rule(() => "a"),
        // As somebody without types might say it.
        fallback: "z" as "review"
      })
    }),
    "router"
  ],
  [
    "no-exit",
    "no way leads from the node b to the end of the graph",
    desk({
      coordinator: Graph.make({
        start: "b",
        nodes: { b: { worker: "d.one", objective: "Turn", outcomes: ["on"], outcome: () => "on" } },
        edges: { b: { on: "b" } }
      })
    }),
    "b"
  ],
  [
    "coordinator",
    "the plan of desk cannot be checked: not now",
    desk({
      coordinator: coordinator({
        problems: () => {
          throw new Error("not now")
        }
      })
    }),
    "desk"
  ],
  [
    "coordinator",
    "the moon is full",
    desk({ coordinator: coordinator({ problems: says("full-moon", "moon", "the moon is full") }) }),
    "moon"
  ],
  [
    "coordinator",
    "the plan of a cannot be checked: out of order",
    desk({
      tasks: [
        {
          id: "a",
          objective: "Do it",
          by: coordinator({
            problems: () => {
              throw new Error("out of order")
            }
          })
        }
      ]
    }),
    "a"
  ],
  [
    "duplicate-task",
    "two stages are called a",
    desk({
      coordinator: coordinator({
        kind: "pipeline",
        tasks: [task("a"), task("a")],
        problems: says("duplicate-task", "a", "two stages are called a")
      })
    }),
    "a"
  ],
  [
    "unknown-task",
    "the plan of desk begins with z, which stands for no task of it",
    desk({ coordinator: coordinator({ initial: [planned("z")] }) }),
    "z"
  ],
  [
    "duplicate-task",
    "the plan of desk begins with a twice",
    desk({ coordinator: coordinator({ initial: [planned("a"), planned("a")] }) }),
    "a"
  ],
  [
    "unknown-need",
    "task a: needs an unknown task b",
    desk({ coordinator: coordinator({ tasks: [task("a"), task("b")], initial: [planned("a", { needs: ["b"] })] }) }),
    "a"
  ],
  [
    "coordinator",
    "the plan of desk begins with a as plan, which it is not",
    desk({ coordinator: coordinator({ initial: [planned("a", { group: "plan" })] }) }),
    "desk"
  ],
  [
    "unknown-worker",
    "the planner of desk may use d.nine, but there is no such worker; known are d.one, d.two",
    desk({
      coordinator: coordinator({
        kind: "planner",
        decide: () => Effect.die("never"),
        facts: { workers: ["d.one", "d.nine"] }
      })
    }),
    "desk"
  ],
  [
    "ungranted-permission",
    "the planner of desk may give the permission database, which the contract policy never grants; known is repository",
    desk({
      contracts: policy,
      coordinator: coordinator({
        kind: "planner",
        decide: () => Effect.die("never"),
        facts: { permissions: { database: ["x"], repository: ["docs"] } }
      })
    }),
    "desk"
  ]
]

const warnings: ReadonlyArray<Row> = [
  [
    "excessive-limits",
    "task a: it can never begin: after is 2000 ms, and the deadlineMillis of the desk are only 2000",
    desk({ limits: { deadlineMillis: 2_000 }, tasks: [task("a", { after: "2 seconds" })] }),
    "a"
  ],
  [
    "excessive-limits",
    "task a/b: it can never begin: after is 3000 ms, and the deadlineMillis of the task a are only 2000",
    desk({
      limits: { deadlineMillis: 9_000 },
      tasks: [{ ...group("a", [task("b", { after: "3 seconds" })]), limits: { deadlineMillis: 2_000 } }]
    }),
    "a/b"
  ],
  [
    "crowded",
    "the domain d has 9 workers; above 8 they are hard to tell apart",
    desk({ workers: Array.from({ length: 9 }, (_, index) => worker(index === 0 ? "one" : `w${index}`)) }),
    "d"
  ],
  [
    "unavailable",
    "task a: of those that can do it, nobody is available: d.one",
    desk({ workers: [worker("one", { available: false })] }),
    "a"
  ],
  [
    "no-aggregate",
    "the desk desk says who reconciles, but has no aggregate in which anything could be open",
    desk({ reconcile: "review" }),
    "desk"
  ],
  [
    "no-estimate",
    "d.one declares no estimate of tokens, which is limited for a run, domain:d, worker:d.one, the task a, the task b/c and 1 more",
    desk({
      limits: { tokens: 500 },
      budgets: { "domain:d": { tokens: 400 }, "worker:d.one": { tokens: 300 } },
      workers: [worker("one", { estimate: { steps: 1 } }), worker("two", { estimate: { tokens: 1 } })],
      tasks: [
        task("a", { limits: { tokens: 100 } }),
        { ...group("b", [task("c", { limits: { tokens: 100 } })]), limits: { tokens: 200 } }
      ]
    }),
    "d.one"
  ],
  ...(["steps", "tokens", "toolCalls", "cost"] as const).map((measure): Row => [
    "no-estimate",
    `d.two declares no estimate of ${measure}, which is limited for worker:d.two`,
    desk({ budgets: { "worker:d.two": { [measure]: 5 } }, workers: [worker("one"), worker("two")] }),
    "d.two"
  ]),
  [
    "no-estimate",
    "d.two declares no estimate of cost, which is limited for the task a",
    desk({
      workers: [
        worker("one", { estimate: { cost: 1 }, capabilities: ["read"] }),
        worker("two", { capabilities: ["read"] })
      ],
      tasks: [task("a", { worker: undefined, capability: "read", limits: { cost: 5 } })]
    }),
    "d.two"
  ],
  [
    "out-of-range",
    "the graph of desk may have 50 tasks, but the desk desk allows 20",
    desk({ coordinator: coordinator({ kind: "graph", facts: { steps: 50 } }) }),
    "desk"
  ],
  [
    "no-exit",
    "hard to leave",
    desk({ coordinator: coordinator({ problems: says("no-exit", "a", "hard to leave", "warning") }) }),
    "a"
  ]
]

describe("Desk.check", () => {
  const good: ReadonlyArray<readonly [string, Desk.Desk<object>]> = [
    ["a desk of one task", desk()],
    ["groups in groups", desk({ tasks: [group("x", [group("a", [task("b")]), task("c", { needs: ["a"] })])] })],
    ["the same plan in two places", desk({ tasks: ["a", "c"].map((id) => ({ id, objective: "Do it", by: shared })) })],
    ["an incomplete task that is escalated", desk({ tasks: [task("a", { onIncomplete: "escalate" })] })],
    [
      "a worker that may, of several with the capability",
      desk({
        workers: [
          worker("one", { capabilities: ["read"], permissions: ["repository"] }),
          worker("two", { capabilities: ["read"] })
        ],
        tasks: [task("a", { worker: undefined, capability: "read" })]
      })
    ],
    [
      "budgets of what is there, and limits that only narrow",
      desk({
        budgets: { "domain:d": { tokens: 500 }, "worker:d.one": { tokens: 500 } },
        limits: { tokens: 500, deadlineMillis: 1000 },
        workers: [worker("one", { estimate: { tokens: 100 } })],
        tasks: [{ ...group("a", [task("b", { limits: { tokens: 100 } })]), limits: { tokens: 500 } }]
      })
    ],
    [
      "what its policy grants",
      desk({
        contracts: policy,
        workers: [worker("one", { permissions: ["repository"], estimate: { tokens: 100 } })],
        tasks: [task("a", { permissions: repository("docs/**"), limits: { tokens: 100 } })]
      })
    ],
    [
      "limits of what each worker under them estimates, also at nothing",
      desk({
        limits: { steps: 9 },
        budgets: { "worker:d.two": { toolCalls: 5 } },
        workers: [
          worker("one", { estimate: { steps: 1, cost: 0 } }),
          worker("two", { estimate: { steps: 1, toolCalls: 2 } })
        ],
        tasks: [task("a", { limits: { cost: 1 } })]
      })
    ],
    ["a deadline without an estimate, for nobody estimates time", desk({ limits: { deadlineMillis: 1000 } })],
    ["a quorum of all", desk({ coordinator: Plan.make([task("a"), task("b")], { containment: { quorum: 2 } }) })]
  ]
  it.each(good)("finds nothing wrong with %s", (_, desk) => {
    assert.deepStrictEqual(Desk.check(desk), [])
  })

  it.each(errors)("R-218 finds %s: %s", (rule, message, desk, subject) => {
    assert.deepStrictEqual(
      Desk.check(desk).filter((finding) => finding.rule === rule),
      [{ rule, severity: "error", subject, message }]
    )
  })

  it.each(warnings)("R-218 warns of %s: %s", (rule, message, desk, subject) => {
    assert.deepStrictEqual(Desk.check(desk), [{ rule, severity: "warning", subject, message }])
  })

  it("sees through a chain of ten thousand tasks", () => {
    const tasks = Array.from({ length: 10_000 }, (_, index) =>
      task(`t${index}`, { needs: index === 0 ? [] : [`t${index - 1}`] })
    )
    assert.deepStrictEqual(Desk.check(desk({ tasks })), [])
  })

  describe("on random desks", () => {
    const random = (seed: number): Desk.Desk<object, never> => {
      const { below, next, pick } = dice(seed)
      const faulty = next() < 0.5
      const slip = () => faulty && next() < 0.08
      const workers = Array.from({ length: 1 + below(3) }, (_, index) =>
        worker(`w${index}`, {
          capabilities: ["read", "write"].filter(() => next() < 0.5),
          permissions: next() < 0.3 ? ["repository"] : [],
          estimate: next() < 0.3 ? { steps: 1 + below(3) } : {}
        })
      )
      const tasks = (depth: number): ReadonlyArray<Plan.Task> =>
        Array.from({ length: 1 + below(3) }, (_, index): Plan.Task => {
          const needs = index > 0 && next() < 0.5 ? [slip() ? "t9" : `t${below(index)}`] : []
          const limits = next() < 0.2 ? { steps: 1 + below(9) } : {}
          const id = slip() ? "t0" : `t${index}`
          if (depth < 3 && next() < 0.3) {
            const by = pick([Plan.make, Pipeline.make, inTurn])(tasks(depth + 1))
            return { id, objective: "Do all of it", by, needs, limits, ...(slip() ? { worker: "d.w0" } : {}) }
          }
          const who = slip()
            ? { worker: "d.w9" }
            : next() < 0.7
              ? { worker: `d.w${below(workers.length)}` }
              : { worker: undefined, capability: pick(["read", "write"]) }
          return task(id, { ...who, needs, limits, permissions: next() < 0.8 ? repository("docs") : {} })
        })
      return desk({
        workers,
        tasks: tasks(0),
        ...(next() < 0.3 ? { limits: { steps: 40 } } : {}),
        ...(next() < 0.3 ? { budgets: { [slip() ? "domain:e" : "domain:d"]: { steps: 40 } } } : {})
      })
    }
    const seeds = Array.from({ length: 200 }, (_, seed) => seed)
    const passes = (seed: number) => Desk.check(random(seed)).every(({ severity }) => severity !== "error")

    it("R-218 passes some and refuses some", () => {
      const passed = seeds.filter(passes).length
      assert.isAbove(passed, 40)
      assert.isBelow(passed, 160)
    })

    it.effect("R-218 a desk that passes never fails because somebody or something is not there", () =>
      Effect.gen(function* () {
        for (const seed of seeds.filter(passes)) {
          const { status } = yield* Run.start(random(seed), { id: `r${seed}`, input: {} })
          const events = yield* history(`r${seed}`)
          const said = events
            .map(({ note }) => note)
            .filter((note) => /there is no|no worker has|no eligible/.test(note))
          assert.deepStrictEqual([seed, status, said], [seed, "completed", []])
        }
      }).pipe(Effect.provide(Journal.layerMemory))
    )
  })
})
