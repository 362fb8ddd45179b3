/**
 * What can be wrong with a group of tasks: its names, what needs what, and what its coordinator says of itself.
 *
 * @since 0.1.0
 */
import type { Coordinator, Task } from "../../Coordinator.ts"
import type { Desk } from "../../Desk.ts"
import * as Plan from "../../Plan.ts"
import type { PlannedTask } from "../../RunEvent.ts"
import { knownAs } from "../closest.ts"
import { isId } from "../fields.ts"
import { show, thrown } from "../problems.ts"
import { type Findings, ruleOf } from "./findings.ts"
import { granted, grants } from "./staffing.ts"

/** A coordinator and the tasks that its group is a part of, from the outside in. */
export interface Group {
  readonly path: string
  readonly coordinator: Coordinator<never, unknown>
  readonly around: ReadonlyArray<{ readonly path: string; readonly task: Task<never, unknown> }>
}

/** The path of a task of a group. */
export const pathIn = ({ path }: Pick<Group, "path">, id: string): string => (path === "" ? id : `${path}/${id}`)

/** The groups of a desk, outer ones first. A coordinator that would carry out a task of itself is told and not entered. */
export const groupsOf = (desk: Desk, findings: Findings): ReadonlyArray<Group> => {
  const groups: Array<Group> = [{ path: "", coordinator: desk.coordinator, around: [] }]
  const within = new Map<Group, ReadonlySet<Coordinator<never, unknown>>>()
  // Groups are appended while the list is walked.
  for (const group of groups) {
    const own = new Set(within.get(group)).add(group.coordinator)
    for (const task of group.coordinator.tasks) {
      if (task.by === undefined) continue
      const path = pathIn(group, task.id)
      if (own.has(task.by)) {
        findings.error("cycle", path, `task ${path}: is carried out by a coordinator that it is a task of`)
        continue
      }
      const inner: Group = { path, coordinator: task.by, around: [...group.around, { path, task }] }
      within.set(inner, own)
      groups.push(inner)
    }
  }
  return groups
}

/** How a group is called in a sentence. */
const nameOf = (desk: Desk, { coordinator, path }: Group): string =>
  `the ${coordinator.kind} of ${path === "" ? desk.name : path}`

/** Adds what is wrong with a group as a whole. */
export const checkGroup = (desk: Desk, workers: ReadonlySet<string>, group: Group, findings: Findings): void => {
  const { coordinator, path } = group
  const { concurrency, containment, decide, kind, tasks } = coordinator
  const name = nameOf(desk, group)
  const subject = path === "" ? desk.name : path
  const told = checkOwn(name, subject, group, findings)
  if (tasks.length === 0 && !coordinator.adds && !told.has("no-task")) {
    findings.error("no-task", subject, `${name} has no tasks`)
  }
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    const message = `${name}: concurrency must be a whole number >= 1, got ${show(concurrency)}`
    findings.error("out-of-range", subject, message)
  }
  if (typeof containment !== "string") {
    const { quorum } = containment
    // How many tasks a group has that adds some is not known.
    const most = coordinator.adds ? Number.MAX_SAFE_INTEGER : tasks.length
    if (!Number.isSafeInteger(quorum) || quorum < 1) {
      const message = `${name}: the quorum must be a whole number >= 1, got ${show(quorum)}`
      findings.error("out-of-range", subject, message)
    } else if (quorum > most) {
      const message = `${name}: the quorum must be at most its ${most} tasks, got ${quorum}`
      findings.error("out-of-range", subject, message)
    }
  }
  if ((kind === "router" || kind === "planner") && decide === undefined) {
    findings.error("coordinator", subject, `${name} has nobody to ask`)
  }
  checkNames(group, told, findings)
  checkBeginning(name, subject, group, findings)
  checkSteps(desk, name, subject, coordinator, findings)
  if (kind === "planner") checkPlanner(desk, workers, name, subject, coordinator, findings)
}

/** Adds what a coordinator says of itself, and answers with the rules that it told of. */
const checkOwn = (name: string, about: string, group: Group, findings: Findings): ReadonlySet<string> => {
  const { coordinator, path } = group
  const told = new Set<string>()
  try {
    for (const { message, rule, severity = "error", subject } of coordinator.problems?.() ?? []) {
      told.add(rule).add(`${rule} ${subject}`)
      findings.add({
        rule: ruleOf(rule),
        severity,
        subject: path === "" ? subject : pathIn(group, subject),
        message: path === "" ? message : `${name}: ${message}`
      })
    }
  } catch (error) {
    findings.error("coordinator", about, `${name} cannot be checked: ${thrown(error)}`)
  }
  return told
}

/** Adds what is wrong with the names of tasks and with what needs what. */
const checkNames = (group: Group, told: ReadonlySet<string>, findings: Findings): void => {
  const { tasks } = group.coordinator
  const ids = new Set(tasks.map(({ id }) => id))
  const seen = new Set<string>()
  const others = (need: string, id: string) =>
    knownAs(
      need,
      [...ids].filter((each) => each !== id)
    )
  for (const { id, needs = [] } of tasks) {
    const path = pathIn(group, id)
    if (seen.has(id) && !told.has(`duplicate-task ${id}`)) {
      findings.error("duplicate-task", path, `two tasks are called ${path}`)
    }
    seen.add(id)
    if (!isId(id)) {
      const expectation = "must be letters, digits, '.', '_' and '-', beginning with a letter, at most 64"
      findings.error("invalid-name", path, `task ${path}: id ${expectation}, got ${show(id)}`)
    }
    needs.forEach((need, index) => {
      if (!ids.has(need))
        findings.error("unknown-need", path, `task ${path}: needs an unknown task ${need}${others(need, id)}`)
      if (needs.indexOf(need) !== index) findings.error("unknown-need", path, `task ${path}: needs ${need} twice`)
    })
  }
  if (told.has("cycle")) return
  const circle = Plan.cycle(tasks.map(Plan.planned))
  const [first] = circle
  if (first === undefined) return
  const ring = [...circle, first].map((id) => pathIn(group, id)).join(" → ")
  findings.error("cycle", pathIn(group, first), `tasks need each other in a circle: ${ring}`)
}

/** Adds what is wrong with the tasks that a group begins with, where they are not simply those that are declared. */
const checkBeginning = (name: string, subject: string, group: Group, findings: Findings): void => {
  const { initial, tasks } = group.coordinator
  const declared = new Map(tasks.map((task) => [task.id, task]))
  const ids = new Set<string>()
  for (const { id } of initial) {
    if (ids.has(id) && !findings.has("duplicate-task", pathIn(group, id))) {
      findings.error("duplicate-task", pathIn(group, id), `${name} begins with ${id} twice`)
    }
    ids.add(id)
  }
  for (const task of initial) {
    const { amendment, id, needs, template = id } = task
    const path = pathIn(group, id)
    if (amendment !== undefined && task.template === undefined) continue
    const own = declared.get(template)
    if (own === undefined) {
      findings.error("unknown-task", path, `${name} begins with ${id}, which stands for no task of it`)
      continue
    }
    if (!sameGroup(task, own)) {
      const message = `${name} begins with ${id} as ${task.group ?? "a task of a worker"}, which it is not`
      findings.error("coordinator", subject, message)
    }
    const foreign = needs.find((need) => !ids.has(need))
    if (foreign !== undefined && !(own.needs ?? []).includes(foreign)) {
      findings.error("unknown-need", path, `task ${path}: needs an unknown task ${foreign}`)
    }
  }
}

const sameGroup = ({ group }: PlannedTask, { by }: Task<never, unknown>): boolean => group === by?.kind

/** Facts of a coordinator, as far as they are what is looked for. */
const factOf = ({ facts }: Coordinator<never, unknown>, name: string): unknown =>
  typeof facts === "object" && facts !== null && !Array.isArray(facts) && Object.hasOwn(facts, name)
    ? (facts as { readonly [name: string]: unknown })[name]
    : undefined

const defaultSteps = 20

/** The desk has the last word about how many tasks are added to a group that is not planned as a whole. */
const checkSteps = (
  { name: desk, steps }: Desk,
  name: string,
  subject: string,
  coordinator: Coordinator<never, unknown>,
  findings: Findings
): void => {
  const { adds, initial, kind } = coordinator
  if (!adds || kind === "planner") return
  if (initial.length === 0 && steps === 0) {
    findings.error("out-of-range", subject, `${name} can never begin: the desk ${desk} allows 0 steps`)
  }
  const own = factOf(coordinator, "steps")
  // One that says nothing of its steps has the default, which nobody asked for.
  if (typeof own === "number" && own > steps && own !== defaultSteps) {
    findings.warning("out-of-range", subject, `${name} may have ${own} tasks, but the desk ${desk} allows ${steps}`)
  }
}

/** Adds what is wrong with whom and what a planner may use. */
const checkPlanner = (
  { contracts }: Desk,
  workers: ReadonlySet<string>,
  name: string,
  subject: string,
  coordinator: Coordinator<never, unknown>,
  findings: Findings
): void => {
  const usable = factOf(coordinator, "workers")
  if (Array.isArray(usable)) {
    for (const worker of usable as ReadonlyArray<unknown>) {
      if (typeof worker === "string" && workers.has(worker)) continue
      findings.error(
        "unknown-worker",
        subject,
        `${name} may use ${String(worker)}, but there is no such worker${knownAs(worker, workers)}`
      )
    }
  }
  const areas = factOf(coordinator, "permissions")
  if (contracts === undefined || typeof areas !== "object" || areas === null) return
  for (const area of Object.keys(areas)) {
    if (grants(contracts, area)) continue
    const message = `${name} may give the permission ${area}, which the contract policy never grants${knownAs(area, granted(contracts))}`
    findings.error("ungranted-permission", subject, message)
  }
}
