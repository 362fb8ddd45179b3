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
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import type * as Aggregate from "./Aggregate.ts"
import * as Autonomy from "./Autonomy.ts"
import type * as Breaker from "./Breaker.ts"
import type * as Contract from "./Contract.ts"
import type * as ContractPolicy from "./ContractPolicy.ts"
import type { Coordinator, Task } from "./Coordinator.ts"
import * as Decider from "./Decider.ts"
import type * as Domain from "./Domain.ts"
import * as checking from "./internal/checking.ts"
import { Finding } from "./internal/checking/findings.ts"
import { isCoordinator } from "./internal/declared.ts"
import * as describing from "./internal/describing.ts"
import type { Description } from "./internal/describing.ts"
import { Given, isRecord } from "./internal/given.ts"
import { jsonSchema } from "./internal/jsonSchema.ts"
import { decoder, encoder, type Problem } from "./internal/problems.ts"
import type * as Recovery from "./Recovery.ts"
import * as ReviewPolicy from "./ReviewPolicy.ts"
import type { AccountLimits, PlannedTask } from "./RunEvent.ts"
import type * as Worker from "./Worker.ts"

export { Finding, Rule } from "./internal/checking/findings.ts"
export { Description } from "./internal/describing.ts"

const TypeId = "~espalier/run/Desk"

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
 * A desk. A run of it begins with an `Input`; its workers, and whoever it asks for choices, need `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Desk<in Input = never, out R = unknown> {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly version: string
  readonly owner: string
  readonly domains: ReadonlyArray<Domain.Domain<R>>
  readonly coordinator: Coordinator<Input, R>
  readonly policy: Decider.Policy
  readonly steps: number
  readonly tier: Autonomy.Tier
  readonly confirm: Autonomy.Policy | undefined
  readonly reviews: ReviewPolicy.ReviewPolicy
  readonly limits: Contract.Limits
  readonly budgets: AccountLimits
  readonly contracts: ContractPolicy.ContractPolicy | undefined
  readonly breaker: Breaker.Options
  readonly aggregate: Aggregate.Aggregate<unknown> | undefined
  readonly reconcile: Reconcile<R> | undefined
  readonly sameRevision: boolean
  readonly services: Context.Context<never>
  readonly decodeOutput: ((output: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>) | undefined
  readonly schemas: () => ReadonlyArray<unknown>
  readonly encodeInput: (input: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly decodeInput: (input: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
}

/**
 * Who decides about a field for which tasks gave different values: a function that answers one narrow question, or a
 * person.
 *
 * @category models
 * @since 0.1.0
 */
export type Reconcile<R> = "review" | ((question: Aggregate.Question) => Effect.Effect<unknown, unknown, R>)

/**
 * What a desk is made of.
 *
 * **Details**
 *
 * - `version`: of the workflow, a text that is not empty. Change it when a change of the code changes what a run means.
 * - `owner`: who answers for the workflow. Default nobody.
 * - `input`: the schema of what a run begins with; it must encode to JSON.
 * - `output`: the schema of the merged answer, which is decoded against it. Default: none is asked for.
 * - `domains`: with names that are unique.
 * - `coordinator`: the policy that picks what comes next: a plan, a pipeline, a graph, a swarm, a router, a planner.
 * - `policy`: what differs from `Decider.policy`.
 * - `steps`: tasks that routers, graphs and swarms may add to a group, a whole number >= 0. Default 20.
 * - `limits`: of a whole run. Default none. `budgets`: of a domain or a worker over a whole run, by account:
 *   `domain:docs`, `worker:docs.links`.
 * - `contracts`: the policy that contracts are held to. Default: what they say of themselves.
 * - `tier`: how much a run may do without a person. Default `"medium"`. `confirm`: the supervisor's own decision.
 * - `reviews`: by which rules people are asked: whom, for how long, how many. Default: `ReviewPolicy.policy`.
 * - `breaker`: when a worker is routed around. Default: 3 failed dispatches within 5 minutes, for 10 minutes.
 * - `aggregate`: how the outputs of tasks become one. `reconcile`: who decides what it leaves open. Default: nobody, it
 *   stays open and is named.
 * - `acceptance`: with `sameRevision`, a run is complete only if every mandatory requirement of every task holds at one and
 *   the same revision, that of the latest evidence, and evidence has to name its revision; what does not hold is named as
 *   missing. Default false: each task is accepted by itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Input, IE, D extends ReadonlyArray<Domain.Domain>, RC, A, AE> {
  readonly version: string
  readonly owner?: string | undefined
  readonly input: Schema.Codec<Input, IE>
  readonly output?: Schema.Codec<A, AE> | undefined
  readonly domains: D
  readonly coordinator: Coordinator<NoInfer<Input>, RC>
  readonly policy?: Partial<Decider.Policy> | undefined
  readonly steps?: number | undefined
  readonly limits?: Contract.Limits | undefined
  readonly budgets?: AccountLimits | undefined
  readonly contracts?: ContractPolicy.ContractPolicy | undefined
  readonly tier?: Autonomy.Tier | undefined
  readonly confirm?: Autonomy.Policy | undefined
  readonly reviews?: ReviewPolicy.ReviewPolicy | undefined
  readonly breaker?: Breaker.Options | undefined
  readonly aggregate?: Aggregate.Aggregate<NoInfer<A>> | undefined
  readonly reconcile?: Reconcile<RC> | undefined
  readonly acceptance?: { readonly sameRevision?: boolean | undefined } | undefined
}

const given = new Given("Desk.make")

const known: ReadonlyArray<keyof Options<unknown, unknown, ReadonlyArray<Domain.Domain>, unknown, unknown, unknown>> = [
  "version",
  "owner",
  "input",
  "output",
  "domains",
  "coordinator",
  "policy",
  "steps",
  "limits",
  "budgets",
  "contracts",
  "tier",
  "confirm",
  "reviews",
  "breaker",
  "aggregate",
  "reconcile",
  "acceptance"
]

/** Checks that a desk can be put together; whether it holds is for {@link check} to say. */
const checkOptions = (name: unknown, value: unknown): void => {
  given.text("name", name)
  const options = given.record("options", value, known)
  given.text("version", options["version"])
  given.schema("input", options["input"])
  given.list("domains", options["domains"]).forEach((domain, index) => {
    const holds = isRecord(domain) && typeof domain["name"] === "string" && Array.isArray(domain["workers"])
    given.made(`domains[${index}]`, "a domain", holds, domain)
  })
  const { aggregate, confirm, contracts, coordinator, output, owner, reconcile } = options
  given.made("coordinator", "a coordinator", isCoordinator(coordinator), coordinator)
  if (owner !== undefined) given.text("owner", owner)
  if (output !== undefined) given.schema("output", output)
  for (const field of ["policy", "limits", "budgets", "breaker", "acceptance"] as const) {
    if (options[field] !== undefined) given.record(field, options[field])
  }
  if (contracts !== undefined) {
    const holds = isRecord(contracts) && isRecord(contracts["areas"]) && isRecord(contracts["limits"])
    given.made("contracts", "a policy that ContractPolicy.make has made", holds, contracts)
  }
  if (aggregate !== undefined) {
    given.made("aggregate", "an aggregate", isRecord(aggregate) && Array.isArray(aggregate["tasks"]), aggregate)
  }
  if (confirm !== undefined) given.code("confirm", confirm)
  const { reviews } = options
  if (reviews !== undefined) {
    const holds = isRecord(reviews) && isRecord(reviews["ladders"]) && isRecord(reviews["quorum"])
    given.made("reviews", "a policy that ReviewPolicy.make has made", holds, reviews)
  }
  if (reconcile !== undefined && typeof reconcile !== "function" && reconcile !== "review") {
    given.refuse("reconcile", 'a function or "review"', reconcile)
  }
  if (options["acceptance"] !== undefined) {
    const { sameRevision } = given.record("acceptance", options["acceptance"], ["sameRevision"])
    if (sameRevision !== undefined) given.flag("acceptance.sameRevision", sameRevision)
  }
}

/** What of a policy is said. */
const said = (policy: Partial<Decider.Policy> = {}): Partial<Decider.Policy> =>
  Object.fromEntries(Object.entries(policy).filter(([, value]) => value !== undefined))

/**
 * Makes a desk. Whether it holds as a whole is not checked yet; see {@link check}.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when it is missing or of another kind, and when there is no such option. The
 * tier, the numbers, and the policy are checked with the desk.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  Input,
  IE,
  const D extends ReadonlyArray<Domain.Domain>,
  RC = never,
  A = Readonly<Record<string, unknown>>,
  AE = unknown
>(
  name: string,
  options: Options<Input, IE, D, RC, A, AE>
): Desk<Input, Domain.Requires<D[number]> | RC> => {
  checkOptions(name, options)
  const codec = Schema.toCodecJson(options.input)
  const output = options.output === undefined ? undefined : Schema.toCodecJson(options.output)
  return {
    [TypeId]: TypeId,
    name,
    version: options.version,
    owner: options.owner ?? "",
    domains: options.domains as ReadonlyArray<Domain.Domain<Domain.Requires<D[number]>>>,
    coordinator: options.coordinator,
    policy: { ...Decider.policy, ...said(options.policy) },
    steps: options.steps ?? 20,
    tier: options.tier ?? Autonomy.defaultTier,
    confirm: options.confirm,
    reviews: options.reviews ?? ReviewPolicy.policy,
    limits: options.limits ?? {},
    budgets: options.budgets ?? {},
    contracts: options.contracts,
    breaker: options.breaker ?? {},
    aggregate: options.aggregate as Aggregate.Aggregate<unknown> | undefined,
    reconcile: options.reconcile,
    sameRevision: options.acceptance?.sameRevision ?? false,
    services: Context.empty(),
    decodeOutput: output === undefined ? undefined : decoder(output),
    schemas: () => [options.input, options.output].map((schema) => (schema === undefined ? null : jsonSchema(schema))),
    encodeInput: encoder(codec),
    decodeInput: decoder(codec)
  }
}

/**
 * A desk with a part of what it needs, such as the models and the tools of its agents. What a module exports for the command
 * has to need nothing any more.
 *
 * **Details**
 *
 * - `context`: services that were made already. They are there for as long as whoever made them keeps them.
 * - What is provided here comes before what is around when the desk is opened, and after what was provided before.
 *
 * **Example** (A desk that brings its own clock hand)
 *
 * ```ts
 * import { Context, Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * class Hand extends Context.Service<Hand, string>()("docs/Hand") {}
 *
 * const tells = Worker.make("tells", {
 *   description: "Tells the time",
 *   input: Schema.Struct({}),
 *   output: Schema.String,
 *   handle: () => Hand.useSync((hand) => `the hand is at ${hand}`)
 * })
 * const desk = Desk.make("tower", {
 *   version: "1",
 *   input: Schema.Void,
 *   domains: [Domain.make("clock", { workers: [tells] })],
 *   coordinator: Plan.make([{ id: "tell", worker: "clock.tells", objective: "Tell it" }])
 * })
 * const whole = Desk.provide(desk, Context.make(Hand, "twelve"))
 *
 * const { results } = await Effect.runPromise(
 *   Run.start(whole, { id: "r1", input: undefined }).pipe(Effect.provide(Journal.layerMemory))
 * )
 * results["tell"]?.output // => "the hand is at twelve"
 * ```
 *
 * @category operations
 * @since 0.1.0
 */
export const provide = <Input, R, R2>(
  desk: Desk<Input, R>,
  context: Context.Context<R2>
): Desk<Input, Exclude<R, R2>> =>
  // What it needs is a type; what it has is here.
  ({ ...desk, services: Context.merge(context, desk.services) }) as unknown as Desk<Input, Exclude<R, R2>>

/**
 * Whether a value is a desk. What it needs and begins with cannot be seen.
 *
 * @category guards
 * @since 0.1.0
 */
export const isDesk = (value: unknown): value is Desk => Predicate.hasProperty(value, TypeId)

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
export const tasks = (desk: Desk): ReadonlyArray<PlannedTask> => desk.coordinator.initial

/** The coordinators of a desk by the template of the task that each carries out; the run's own has the empty name. */
export const coordinators = <R>(desk: Desk<never, R>): ReadonlyMap<string, Coordinator<never, R>> => {
  const found = new Map<string, Coordinator<never, R>>()
  const visit = (template: string, coordinator: Coordinator<never, R>) => {
    found.set(template, coordinator)
    const prefix = template === "" ? "" : `${template}/`
    for (const task of coordinator.tasks) if (task.by !== undefined) visit(`${prefix}${task.id}`, task.by)
  }
  visit("", desk.coordinator)
  return found
}

/** The declared tasks of a desk, at any depth, by template. */
export const templates = <R>(desk: Desk<never, R>): ReadonlyMap<string, Task<never, R>> => {
  const found = new Map<string, Task<never, R>>()
  for (const [template, coordinator] of coordinators(desk)) {
    const prefix = template === "" ? "" : `${template}/`
    for (const task of coordinator.tasks) found.set(`${prefix}${task.id}`, task)
  }
  return found
}

const factsOf = (task: Task<never, unknown>): Decider.TaskFacts => {
  const can = new Set<Recovery.Expansion>()
  if (task.decompose !== undefined) can.add("decompose")
  if (task.replan !== undefined) can.add("re-plan")
  if (task.followUp !== undefined) can.add("follow-up")
  return {
    escalate: task.onIncomplete === "escalate",
    can,
    reduceScope: task.reduceScope ?? false,
    gated: task.acceptance === "person",
    permissions: Object.keys(task.permissions ?? {}),
    optional: (task.definitionOfDone ?? []).flatMap(({ id, mandatory }) => (mandatory === false ? [id] : []))
  }
}

/**
 * What the decisions of a desk's runs go by.
 *
 * @category accessors
 * @since 0.1.0
 */
export const spec = (desk: Desk): Decider.Spec =>
  Decider.spec({
    workers: seats(desk).map(({ domain, name, worker }) => {
      const { available, capabilities, confidence, estimate, irreversible, permissions, risk, size, window } = worker
      return {
        name,
        domain,
        capabilities,
        available,
        estimate,
        irreversible,
        permissions,
        risk,
        size,
        ...(confidence === undefined ? {} : { confidence }),
        ...(window === undefined ? {} : { window })
      }
    }),
    tasks: new Map([...templates(desk)].map(([template, task]) => [template, factsOf(task)])),
    coordinators: coordinators(desk),
    concurrency: desk.coordinator.concurrency,
    steps: desk.steps,
    merges: desk.aggregate !== undefined || desk.decodeOutput !== undefined || desk.sameRevision,
    policy: desk.policy,
    ...(desk.confirm === undefined ? {} : { confirm: desk.confirm })
  })

/**
 * The plain data that makes a desk the desk it is, as one text. A run that began with another one is not taken up.
 *
 * **Details**
 *
 * - Of tasks, at any depth: ids, needs, who does them, their contracts (objective, constraints, permissions, limits,
 *   definition of done and the rest), `acceptMissing`, `fresh`, `reduceScope`,
 *   `acceptance`.
 * - Of coordinators: kind, containment, facts, what they begin with. Of workers: names, capabilities, permissions,
 *   artefacts, schemas. Of the desk: its schemas, and the tasks out of which the answer is merged.
 * - The order of fields does not matter, and neither does whether a default is written out.
 *
 * **Gotchas**
 *
 * - Code is not seen: when a handler or another function comes to mean something else, change the version.
 * - How a desk is run is not part of it: pool sizes, time-outs, estimates, risks, the recovery policy. Limits, budgets and
 *   the tier of a run are those that it began with.
 *
 * @category accessors
 * @since 0.1.0
 */
export const definition = (desk: Desk): string =>
  describing.definition(desk, { seats: seats(desk), coordinators: coordinators(desk) })

/**
 * A desk as a contract: what a run begins with and answers, whom it may call, what is asked of them, and who is responsible.
 *
 * **Gotchas**
 *
 * It is meant for desks that pass {@link check}.
 *
 * **Example** (Who may be called)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Desk, Domain, Plan, Worker } from "espalier/run"
 *
 * const links = Worker.make("links", {
 *   description: "Finds dead links",
 *   input: Schema.Struct({}),
 *   output: Schema.Int,
 *   handle: () => Effect.succeed(0)
 * })
 * const desk = Desk.make("release", {
 *   version: "1",
 *   owner: "the docs team",
 *   input: Schema.Struct({}),
 *   domains: [Domain.make("docs", { workers: [links] })],
 *   coordinator: Plan.make([{ id: "links", worker: "docs.links", objective: "Find dead links" }])
 * })
 *
 * const { owner, tasks } = Desk.describe(desk)
 * const who = tasks.map(({ candidates, task }) => [task, ...candidates])
 * who // => [["links", "docs.links"]]
 * owner // => "the docs team"
 * ```
 *
 * @category conversions
 * @since 0.1.0
 */
export const describe = (desk: Desk): Description =>
  describing.describe(desk, { seats: seats(desk), coordinators: coordinators(desk), spec: spec(desk) })

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

/**
 * Everything that is wrong with a desk, before anything runs.
 *
 * **Details**
 *
 * - Groups are checked at any depth; a task inside of others is called by its path, as in `notes/draft`.
 * - What a coordinator says of itself (`problems`) is among the findings.
 * - A worker that a task can never go to is an error where the task names it, and otherwise where nobody is left.
 *
 * **Gotchas**
 *
 * What only shows in a run is not found: inputs, what workers answer, plans and routes that are chosen there.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (desk: Desk): ReadonlyArray<Finding> => checking.check(desk, seats(desk))
