/**
 * The check of a plan that somebody made as plain data.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Contract from "../Contract.ts"
import * as ContractPolicy from "../ContractPolicy.ts"
import type { Candidate, TaskData } from "../Coordinator.ts"
import { cycle } from "../Plan.ts"
import { Text } from "./fields.ts"
import { frozen, tooMuch } from "./plain.ts"
import { decoder, pathOf, shorten, show, type Problem } from "./problems.ts"
import { listed } from "./visits.ts"

const { task: _task, version: _version, ...contract } = Contract.Contract.fields

/** One task as plain data. */
export const Task = Schema.Struct({
  id: Contract.TaskId,
  worker: Schema.optionalKey(Text),
  capability: Schema.optionalKey(Text),
  needs: Schema.optionalKey(Schema.Array(Contract.TaskId)),
  acceptMissing: Schema.optionalKey(Schema.Boolean),
  ...contract
})

const fields: ReadonlySet<string> = new Set(Object.keys(Task.fields))

/** Tasks that a plan may have. */
export const most = 50

const decode = decoder(Task, "error")

/** What a plan may ask for. `workers`: by name; absent = whoever is there. */
export interface Rules {
  readonly workers?: ReadonlySet<string> | undefined
  readonly policy: ContractPolicy.ContractPolicy
}

/** A plan that holds, and the paths of what was left out of it. */
export interface Checked {
  readonly tasks: ReadonlyArray<TaskData>
  readonly dropped: ReadonlyArray<string>
}

/**
 * A plan, if it holds, or everything that is wrong with it.
 *
 * `known`: who is there; absent where that cannot be told, and then names of workers and capabilities pass.
 */
export const check = (
  given: unknown,
  rules: Rules,
  known: ReadonlyArray<Candidate> | undefined
): EffectResult.Result<Checked, ReadonlyArray<Problem>> => {
  const picked = pick(given)
  if (EffectResult.isFailure(picked)) return EffectResult.fail(picked.failure)
  const { dropped, tasks: raw } = picked.success
  const problems: Array<Problem> = []
  const tasks = raw.map((given, index): Readonly<Record<string, unknown>> => {
    const decoded = decode(given)
    if (EffectResult.isFailure(decoded)) {
      problems.push(...decoded.failure.map((each) => below(index, each)))
      return given
    }
    const task = decoded.success
    const { acceptMissing: _a, capability: _c, id, needs: _n, worker: _w, ...fields } = task
    const inner = EffectResult.flatMap(Contract.parse({ ...fields, task: id }), (contract) =>
      ContractPolicy.check(contract, rules.policy)
    )
    if (EffectResult.isFailure(inner)) problems.push(...inner.failure.problems.map((each) => below(index, each)))
    const limits = { ...rules.policy.limits, ...task.limits }
    return { ...given, id, objective: task.objective, limits, permissions: task.permissions }
  })
  // A task that does not hold by itself can still be told whom and what it names wrongly: there is one correction.
  const formal = new Set(problems.map(({ path }) => path))
  const wires = raw.map(wiring)
  const wired = [...assignments(wires, rules, known), ...dependencies(wires)].filter(({ path }) => !formal.has(path))
  problems.push(...wired)
  return problems.length > 0
    ? EffectResult.fail(problems)
    : // Decoding has shown that it is plain JSON of this form.
      EffectResult.succeed({ tasks: frozen(tasks) as ReadonlyArray<TaskData>, dropped })
}

const below = (index: number, each: Problem): Problem => ({
  ...each,
  path: each.path === "" || each.path.startsWith("[") ? `tasks[${index}]${each.path}` : `tasks[${index}].${each.path}`
})

/** Whom and what a task names, as far as it can be read. */
interface Wiring {
  readonly id: string | undefined
  readonly worker: string | undefined
  readonly capability: string | undefined
  readonly needs: ReadonlyArray<string>
}

const wiring = ({ capability, id, needs, worker }: Readonly<Record<string, unknown>>): Wiring => ({
  id: Predicate.isString(id) ? id : undefined,
  worker: Predicate.isString(worker) ? worker : undefined,
  capability: Predicate.isString(capability) ? capability : undefined,
  needs: Array.isArray(needs) && needs.every(Predicate.isString) ? needs : []
})

/** The fields of each task that tasks have, with the paths of the others. */
const pick = (
  given: unknown
): EffectResult.Result<
  { readonly tasks: ReadonlyArray<Readonly<Record<string, unknown>>>; readonly dropped: ReadonlyArray<string> },
  ReadonlyArray<Problem>
> => {
  const fail = (path: string, expectation: string, actual: unknown) =>
    EffectResult.fail([{ path, expectation, actual: show(actual) }])
  try {
    if (!Array.isArray(given)) return fail("", "must be a list of tasks", given)
    if (given.length === 0) return fail("", "must have at least one task", given)
    if (given.length > most) return fail("", `must have at most ${most} tasks`, given)
    const dropped: Array<string> = []
    const tasks: Array<Readonly<Record<string, unknown>>> = []
    for (const [index, item] of (given as ReadonlyArray<unknown>).entries()) {
      if (!Predicate.isObject(item)) return fail(`tasks[${index}]`, "must be a task", item)
      const task: Record<string, unknown> = {}
      for (const [key, value] of Object.entries(item)) {
        if (!fields.has(key)) dropped.push(pathOf(["tasks", index, key]))
        else if (value !== undefined) task[key] = value
      }
      tasks.push(task)
    }
    const large = tooMuch(tasks, "")
    return large === undefined ? EffectResult.succeed({ tasks, dropped }) : EffectResult.fail([large])
  } catch {
    return EffectResult.fail([{ path: "", expectation: "must be readable", actual: "" }])
  }
}

/** What is wrong with who is to do what. */
const assignments = (
  tasks: ReadonlyArray<Wiring>,
  { workers }: Rules,
  known: ReadonlyArray<Candidate> | undefined
): ReadonlyArray<Problem> => {
  const there = known?.filter(({ name }) => workers === undefined || workers.has(name))
  const names = there === undefined ? workers : new Set(there.map(({ name }) => name))
  const capabilities = there === undefined ? undefined : new Set(there.flatMap(({ capabilities }) => capabilities))
  const problems: Array<Problem> = []
  tasks.forEach(({ capability, worker }, index) => {
    if (worker === undefined && capability === undefined) {
      problems.push({
        path: `tasks[${index}].worker`,
        expectation: "is required where there is no capability",
        actual: ""
      })
    }
    if (worker !== undefined && names !== undefined && !names.has(worker)) {
      const expectation = `must be one of: ${listed(names)}`
      problems.push({ path: `tasks[${index}].worker`, expectation, actual: show(worker) })
    }
    if (capability !== undefined && capabilities !== undefined && !capabilities.has(capability)) {
      const expectation = `must be one of: ${listed(capabilities)}`
      problems.push({ path: `tasks[${index}].capability`, expectation, actual: show(capability) })
    }
  })
  return problems
}

/** What is wrong with names and with what needs what. */
const dependencies = (tasks: ReadonlyArray<Wiring>): ReadonlyArray<Problem> => {
  const places = new Map<string, number>()
  const problems: Array<Problem> = []
  tasks.forEach(({ id }, index) => {
    // Others may need what has no readable name: nothing can be said then.
    if (id === undefined) return
    if (places.has(id)) problems.push({ path: `tasks[${index}].id`, expectation: "is used twice", actual: show(id) })
    else places.set(id, index)
  })
  const named = tasks.every(({ id }) => id !== undefined)
  tasks.forEach(({ needs }, index) => {
    needs.forEach((need, at) => {
      const path = `tasks[${index}].needs[${at}]`
      if (!places.has(need) && named)
        problems.push({ path, expectation: "must be a task of the plan", actual: show(need) })
      else if (needs.indexOf(need) !== at) problems.push({ path, expectation: "is named twice", actual: show(need) })
    })
  })
  if (problems.length > 0) return problems
  const circle = cycle(tasks.flatMap(({ id, needs }) => (id === undefined ? [] : [{ id, needs }])))
  const [first] = circle
  if (first === undefined) return problems
  const expectation = `must not lead back to the task: ${shorten([...circle, first].join(" → "), 500)}`
  return [{ path: `tasks[${places.get(first)}].needs`, expectation, actual: "" }]
}
