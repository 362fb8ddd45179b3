/** Makes a real desk of a case. */
import { Effect, Schema } from "effect"
import { Failure } from "espalier"
import { Coordinator, Desk, Domain, Pipeline, Plan, type Worker } from "espalier/run"

import type { Case, GroupSpec, TaskSpec, WorkerSpec } from "./case.ts"
import { fate } from "./fate.ts"

type Member = Coordinator.Coordinator<unknown>

const pieces = (plan: Case, task: TaskSpec, purpose: string): ReadonlyArray<Coordinator.TaskData> => {
  const { below, next, pick } = fate(plan.seed, purpose, task.id)
  const count = purpose === "follow-up" ? 1 : 1 + below(3)
  return Array.from({ length: count }, (_, index) => ({
    id: `p${index}`,
    objective: `Part ${index}`,
    worker: pick(plan.workers).name,
    needs: index > 0 && next() < 0.4 ? [`p${index - 1}`] : [],
    acceptMissing: next() < 0.3
  }))
}

const taskOf = (plan: Case, task: TaskSpec): Coordinator.Task<unknown> => {
  const { acceptMissing, after, by, capability, deadline, escalate, expand, id, needs, optional, tokens, worker } = task
  const limits = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(deadline === undefined ? {} : { deadlineMillis: deadline })
  }
  return {
    id,
    needs,
    acceptMissing,
    objective: `Do ${id}`,
    limits,
    ...(after === undefined ? {} : { after }),
    onIncomplete: escalate ? "escalate" : "partial",
    reduceScope: optional,
    ...(optional ? { definitionOfDone: [{ id: "nice", statement: "It is nice", mandatory: false }] } : {}),
    ...(worker === undefined ? {} : { worker }),
    ...(capability === undefined ? {} : { capability }),
    ...(by === undefined ? {} : { by: coordinatorOf(plan, by) }),
    ...(expand.includes("decompose") ? { decompose: () => pieces(plan, task, "decompose") } : {}),
    ...(expand.includes("re-plan") ? { replan: () => pieces(plan, task, "re-plan") } : {}),
    ...(expand.includes("follow-up") ? { followUp: () => pieces(plan, task, "follow-up")[0]! } : {}),
    validate: (output) => (output === "wrong" ? ["it is wrong"] : [])
  }
}

/** Asks which of its tasks comes next, for some rounds; a person is asked when nobody gives a usable answer. */
const routerOf = (plan: Case, group: GroupSpec, tasks: ReadonlyArray<Coordinator.Task<unknown>>): Member => ({
  kind: "router",
  tasks,
  initial: [],
  adds: true,
  concurrency: plan.concurrency,
  containment: group.containment,
  next: ({ answers, consult, open, said, tasks: seen }) => {
    const told = said.filter(({ decision }) => decision === "answer")
    const routes = [...answers, ...told.map(({ answer }) => answer ?? "")]
    if (open > 0) return { _tag: "Wait" }
    if (routes.length > seen.length) {
      const route = routes[seen.length]
      const task = tasks.find(({ id }) => id === route)
      if (task === undefined)
        return { _tag: "Stop", reason: "no-eligible-worker", recall: false, note: "No such route" }
      const planned = { ...Coordinator.planned(task), id: `${task.id}#${seen.length + 1}`, template: task.id }
      return { _tag: "Add", tasks: [planned], note: `${task.id} comes next` }
    }
    if (said.some(({ decision }) => decision !== "answer")) return { _tag: "Done" }
    if (seen.length >= group.rounds)
      return { _tag: "Done", result: seen.findLast((each) => each.status === "accepted")?.id }
    if (consult?.status === "failed" && consult.failures >= 2 + told.length) {
      return { _tag: "Review", reason: "no-route", note: "Nobody knows the way" }
    }
    return { _tag: "Consult", purpose: "route", note: "Which task comes next?" }
  },
  decide: ({ consult }) => {
    const { below, next, pick } = fate(plan.seed, "route", consult)
    const chosen =
      next() < 0.2
        ? Effect.fail(new Failure.Failure({ kind: "malformed", reason: "It cannot be told" }))
        : Effect.succeed({ answer: pick(tasks).id, note: "Chosen", usage: { tokens: below(5) } })
    return Effect.delay(chosen, below(plan.trouble.slow + 1))
  }
})

const coordinatorOf = (plan: Case, group: GroupSpec): Member => {
  const tasks = group.tasks.map((task) => taskOf(plan, task))
  if (group.kind === "router") return routerOf(plan, group, tasks)
  const make = group.kind === "pipeline" ? Pipeline.make : Plan.make
  return make(tasks, { concurrency: plan.concurrency, containment: group.containment })
}

/** What a worker of a case says of itself. */
export const optionsOf = (spec: WorkerSpec) => ({
  capabilities: spec.capabilities,
  size: spec.size,
  risk: spec.risk,
  irreversible: spec.irreversible,
  available: spec.available,
  attemptTimeout: spec.timeout,
  ...(spec.tokens === undefined ? {} : { estimate: { tokens: spec.tokens } }),
  ...(spec.window === undefined ? {} : { window: spec.window }),
  ...(spec.confidence === undefined ? {} : { confidence: spec.confidence })
})

/** The desk of a case; `make` makes a worker of what is said of it, under its name in its domain. */
export const deskOf = (
  plan: Case,
  make: (name: string, spec: WorkerSpec) => Worker.Worker<never>
): Desk.Desk<unknown, never> => {
  const domains = new Map<string, Array<Worker.Worker<never>>>()
  for (const spec of plan.workers) {
    const [domain = "", name = ""] = spec.name.split(".")
    const siblings = domains.get(domain) ?? []
    domains.set(domain, siblings)
    siblings.push(make(name, spec))
  }
  const { atCap, low, reviewConfidence, skipAfter } = plan
  return Desk.make("desk", {
    version: "1",
    input: Schema.Unknown,
    ...(plan.merges ? { output: Schema.Unknown } : {}),
    domains: [...domains].map(([name, workers]) => Domain.make(name, { workers })),
    coordinator: coordinatorOf(plan, plan.root),
    policy: { atCap, lowConfidence: low, reviewConfidence, skipAfter },
    tier: plan.tier,
    limits: {
      ...(plan.tokens === undefined ? {} : { tokens: plan.tokens }),
      ...(plan.deadline === undefined ? {} : { deadlineMillis: plan.deadline })
    },
    budgets: Object.fromEntries(Object.entries(plan.budgets).map(([account, tokens]) => [account, { tokens }]))
  })
}
