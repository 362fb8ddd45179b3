import { smallest } from "../smallest.ts"
/** Makes a failing case small: what can be left out without it starting to hold is left out. */
import type { Case, GroupSpec, TaskSpec } from "./case.ts"

const plainTask: Partial<TaskSpec> = {
  needs: [],
  acceptMissing: false,
  tokens: undefined,
  deadline: undefined,
  after: undefined,
  expand: [],
  escalate: false,
  optional: false
}

const differs = (one: unknown, other: unknown): boolean => JSON.stringify(one) !== JSON.stringify(other)

const fitting = (group: GroupSpec): GroupSpec =>
  typeof group.containment === "object" && group.containment.quorum > group.tasks.length
    ? { ...group, containment: "isolate" }
    : group

function* lessTask(task: TaskSpec, worker: string): Generator<TaskSpec> {
  if (task.by !== undefined) {
    yield { ...task, by: undefined, worker }
    for (const by of lessGroup(task.by, worker)) yield { ...task, by }
  }
  for (const [name, value] of Object.entries(plainTask)) {
    if (differs(task[name as keyof TaskSpec], value)) yield { ...task, [name]: value }
  }
}

function* lessGroup(group: GroupSpec, worker: string): Generator<GroupSpec> {
  const { tasks } = group
  for (const { id } of tasks.length > 1 ? tasks : []) {
    const rest = tasks.filter((task) => task.id !== id)
    yield fitting({
      ...group,
      tasks: rest.map((task) => ({ ...task, needs: task.needs.filter((need) => need !== id) }))
    })
  }
  if (group.kind !== "plan") yield { ...group, kind: "plan" }
  if (group.containment !== "isolate") yield { ...group, containment: "isolate" }
  for (const [at, task] of tasks.entries()) {
    for (const less of lessTask(task, worker))
      yield { ...group, tasks: tasks.map((each, i) => (i === at ? less : each)) }
  }
}

const plainCase: Partial<Case> = {
  tokens: undefined,
  deadline: undefined,
  budgets: {},
  merges: false,
  tier: "full",
  low: "note",
  reviewConfidence: false,
  atCap: "stop",
  skipAfter: 5
}

const noTrouble: Case["trouble"] = {
  failing: 0,
  odd: 0,
  sick: 0,
  outages: false,
  cutOff: 0,
  cancelAt: undefined,
  slow: 0
}

const names = (group: GroupSpec): ReadonlyArray<string> =>
  group.tasks.flatMap(({ by, worker }) => [
    ...(worker === undefined ? [] : [worker]),
    ...(by === undefined ? [] : names(by))
  ])

function* smaller(plan: Case): Generator<Case> {
  const [first] = plan.workers
  for (const root of lessGroup(plan.root, first!.name)) yield { ...plan, root }
  for (const [name, value] of Object.entries(noTrouble)) {
    if (plan.trouble[name as keyof Case["trouble"]] !== value)
      yield { ...plan, trouble: { ...plan.trouble, [name]: value } }
  }
  for (const [name, value] of Object.entries(plainCase)) {
    if (differs(plan[name as keyof Case], value)) yield { ...plan, [name]: value }
  }
  const named = names(plan.root)
  for (const { name } of plan.workers) {
    if (plan.workers.length > 1 && !named.includes(name)) {
      yield { ...plan, workers: plan.workers.filter((worker) => worker.name !== name) }
    }
  }
}

/** The smallest case that can be found in so many attempts and of which `fails` still holds. */
export const shrink = (plan: Case, fails: (plan: Case) => boolean, attempts = 200): Case =>
  smallest(plan, smaller, fails, attempts)

const showGroup = (group: GroupSpec, indent: string): string =>
  group.tasks
    .map(({ by, ...task }) => {
      const told = Object.entries(task).filter(
        ([name, value]) => value !== undefined && differs(value, plainTask[name as keyof TaskSpec])
      )
      const line = `${indent}${told.map(([name, value]) => (name === "id" ? value : `${name} ${JSON.stringify(value)}`)).join(" ")}`
      return by === undefined
        ? line
        : `${line} by a ${by.kind} ${JSON.stringify(by.containment)}\n${showGroup(by, `${indent}  `)}`
    })
    .join("\n")

/** A case as a person reads it. */
export const showCase = ({ root, trouble, workers, ...rest }: Case): string =>
  [
    `  ${JSON.stringify(rest)}`,
    `  trouble ${JSON.stringify(trouble)}`,
    ...workers.map((worker) => `  ${JSON.stringify(worker)}`),
    `  the run: a ${root.kind} ${JSON.stringify(root.containment)}`,
    showGroup(root, "    ")
  ].join("\n")
