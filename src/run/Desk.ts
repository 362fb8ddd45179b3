/**
 * The root over the domains: who is there, what a run begins with, and the plan that it follows.
 *
 * A desk is a value. It is checked before anything runs ({@link check}), and it has a definition: its version and its
 * plain data. A run keeps the definition that it began with; a run of another definition is not taken up.
 *
 * **Details**
 *
 * - A worker is called `domain.worker` everywhere outside its domain.
 * - What the handlers of all workers need is the desk's requirement.
 *
 * **Example** (A desk that does not hold)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Desk, Domain, Plan } from "espalier/run"
 *
 * const desk = Desk.make("release", {
 *   version: "1",
 *   input: Schema.Struct({ root: Schema.String }),
 *   domains: [Domain.make("docs", { workers: [] })],
 *   coordinator: Plan.make([{ id: "links", worker: "docs.links", objective: "Find dead links" }])
 * })
 *
 * const messages = Desk.check(desk).map(({ message }) => message)
 * messages // => ["the domain docs has no workers", "task links: there is no worker docs.links"]
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Decider from "./Decider.ts"
import type * as Domain from "./Domain.ts"
import { decoder, encoder, type Problem } from "./internal/problems.ts"
import * as Plan from "./Plan.ts"
import * as Recovery from "./Recovery.ts"
import type { PlannedTask } from "./RunEvent.ts"
import type * as Worker from "./Worker.ts"

const TypeId = "~espalier/run/Desk"

/**
 * The policy that picks what comes next.
 *
 * @category models
 * @since 0.1.0
 */
export type Coordinator<Input> = Plan.Plan<Input>

/**
 * A worker with its place.
 *
 * @category models
 * @since 0.1.0
 */
export interface Seat<out R = unknown> {
  readonly name: string
  readonly domain: string
  readonly worker: Worker.Worker<R>
}

/**
 * A desk. A run of it begins with an `Input`; its workers need `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Desk<in Input = never, out R = unknown> {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly version: string
  readonly domains: ReadonlyArray<Domain.Domain<R>>
  readonly coordinator: Coordinator<Input>
  readonly policy: Recovery.Policy
  readonly encodeInput: (input: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly decodeInput: (input: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
}

/**
 * What a desk is made of.
 *
 * **Details**
 *
 * - `version`: of the workflow, a text that is not empty. Change it when a change of the code changes what a run means.
 * - `input`: the schema of what a run begins with; it must encode to JSON.
 * - `domains`: with names that are unique.
 * - `coordinator`: the plan.
 * - `policy`: what differs from `Recovery.policy`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Input, IE, D extends ReadonlyArray<Domain.Domain>> {
  readonly version: string
  readonly input: Schema.Codec<Input, IE>
  readonly domains: D
  readonly coordinator: Coordinator<NoInfer<Input>>
  readonly policy?: Partial<Recovery.Policy> | undefined
}

/**
 * Makes a desk. Nothing is checked yet; see {@link check}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Input, IE, const D extends ReadonlyArray<Domain.Domain>>(
  name: string,
  options: Options<Input, IE, D>
): Desk<Input, Domain.Requires<D[number]>> => {
  const codec = Schema.toCodecJson(options.input)
  return {
    [TypeId]: TypeId,
    name,
    version: options.version,
    domains: options.domains as ReadonlyArray<Domain.Domain<Domain.Requires<D[number]>>>,
    coordinator: options.coordinator,
    policy: { ...Recovery.policy, ...options.policy },
    encodeInput: encoder(codec),
    decodeInput: decoder(codec)
  }
}

/**
 * All workers of a desk, in the order of their domains.
 *
 * @category accessors
 * @since 0.1.0
 */
export const seats = <R>(desk: Desk<never, R>): ReadonlyArray<Seat<R>> =>
  desk.domains.flatMap((domain) =>
    domain.workers.map((worker) => ({ name: `${domain.name}.${worker.name}`, domain: domain.name, worker }))
  )

/**
 * The tasks of a desk as a run begins with them.
 *
 * @category accessors
 * @since 0.1.0
 */
export const tasks = (desk: Desk): ReadonlyArray<PlannedTask> => desk.coordinator.tasks.map(Plan.planned)

/**
 * What the decisions of a desk's runs go by.
 *
 * @category accessors
 * @since 0.1.0
 */
export const spec = (desk: Desk): Decider.Spec =>
  Decider.spec({
    workers: seats(desk).map(({ name, worker }) => ({ name, capabilities: worker.capabilities })),
    concurrency: desk.coordinator.concurrency,
    escalate: desk.coordinator.tasks.filter((task) => task.onIncomplete === "escalate").map(({ id }) => id),
    policy: desk.policy
  })

/**
 * The plain data that makes a desk the desk it is, as one text: tasks and what they need, workers, schemas.
 *
 * @category accessors
 * @since 0.1.0
 */
export const definition = (desk: Desk): string =>
  JSON.stringify([tasks(desk), seats(desk).map(({ name, worker }) => [name, worker.capabilities, worker.schemas()])])

/**
 * What can be wrong with a desk.
 *
 * @category models
 * @since 0.1.0
 */
export const Rule = Schema.Literals([
  "no-version",
  "no-domain",
  "no-worker",
  "no-task",
  "duplicate-domain",
  "duplicate-worker",
  "same-description",
  "infinite-timeout",
  "crowded",
  "duplicate-task",
  "invalid-contract",
  "unassigned",
  "unknown-worker",
  "unknown-capability",
  "unknown-need",
  "cycle"
])

/** @since 0.1.0 */
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

/**
 * One thing that is wrong with a desk.
 *
 * **Details**
 *
 * - `severity`: an `error` keeps the desk from running, a `warning` does not.
 * - `subject`: the domain, worker or task.
 *
 * @category models
 * @since 0.1.0
 */
export const Finding = Schema.Struct({
  rule: Rule,
  severity: Schema.Literals(["error", "warning"]),
  subject: Schema.String,
  message: Schema.String
})

/**
 * A desk that must not run.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeskInvalid extends Schema.TaggedError<DeskInvalid>("espalier/run/Desk/DeskInvalid")("DeskInvalid", {
  desk: Schema.String,
  findings: Schema.Array(Finding)
}) {
  override get message(): string {
    return `DESK_INVALID: ${this.desk}: ${this.findings.map(({ message }) => message).join("; ")}`
  }
}

/** More workers than this under one supervisor are hard to tell apart. */
const crowd = 8

/**
 * Everything that is wrong with a desk, before anything runs.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (desk: Desk): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const error = (rule: Finding["rule"], subject: string, message: string) => {
    findings.push({ rule, severity: "error", subject, message })
  }
  if (desk.version.trim() === "") error("no-version", desk.name, `the desk ${desk.name} has no version`)
  if (desk.domains.length === 0) error("no-domain", desk.name, `the desk ${desk.name} has no domains`)
  const domains = new Set<string>()
  for (const { name, workers } of desk.domains) {
    if (domains.has(name)) error("duplicate-domain", name, `two domains are called ${name}`)
    domains.add(name)
    if (workers.length === 0) error("no-worker", name, `the domain ${name} has no workers`)
    if (workers.length > crowd) {
      const message = `the domain ${name} has ${workers.length} workers; above ${crowd} they are hard to tell apart`
      findings.push({ rule: "crowded", severity: "warning", subject: name, message })
    }
  }
  const descriptions = new Map<string, string>()
  const names = new Set<string>()
  const capabilities = new Set<string>()
  for (const { name, worker } of seats(desk)) {
    if (names.has(name)) error("duplicate-worker", name, `two workers are called ${name}`)
    names.add(name)
    for (const capability of worker.capabilities) capabilities.add(capability)
    const twin = descriptions.get(worker.description.trim())
    if (twin !== undefined) {
      error(
        "same-description",
        name,
        `${twin} and ${name} have the same description, so nobody can choose between them`
      )
    } else descriptions.set(worker.description.trim(), name)
    if (!Duration.isFinite(worker.attemptTimeout)) {
      error("infinite-timeout", name, `the attempt time-out of ${name} is infinite`)
    }
  }
  checkPlan(desk, names, capabilities, error)
  return findings
}

const checkPlan = (
  desk: Desk,
  names: ReadonlySet<string>,
  capabilities: ReadonlySet<string>,
  error: (rule: Finding["rule"], subject: string, message: string) => void
): void => {
  const { tasks } = desk.coordinator
  if (tasks.length === 0) error("no-task", desk.name, `the plan of ${desk.name} has no tasks`)
  const ids = new Set(tasks.map(({ id }) => id))
  const seen = new Set<string>()
  for (const task of tasks) {
    const { capability, id, needs = [], worker } = task
    if (seen.has(id)) error("duplicate-task", id, `two tasks are called ${id}`)
    seen.add(id)
    const contract = Plan.contract(task, {})
    if (EffectResult.isFailure(contract)) error("invalid-contract", id, `task ${id}: ${contract.failure.message}`)
    if (worker === undefined && capability === undefined) {
      error("unassigned", id, `task ${id}: names neither a worker nor a capability`)
    }
    if (worker !== undefined && !names.has(worker)) {
      error("unknown-worker", id, `task ${id}: there is no worker ${worker}`)
    }
    if (capability !== undefined && !capabilities.has(capability)) {
      error("unknown-capability", id, `task ${id}: no worker has the capability ${capability}`)
    }
    needs.forEach((need, index) => {
      if (!ids.has(need)) error("unknown-need", id, `task ${id}: needs an unknown task ${need}`)
      if (needs.indexOf(need) !== index) error("unknown-need", id, `task ${id}: needs ${need} twice`)
    })
  }
  const circle = Plan.cycle(tasks.map(Plan.planned))
  const [first] = circle
  if (first !== undefined) error("cycle", first, `tasks need each other in a circle: ${[...circle, first].join(" → ")}`)
}
