/**
 * What counts as done: the definition of done of a contract against evidence, and nothing against a claim.
 *
 * | the evidence that decides | the requirement is |
 * |---|---|
 * | says what was run, which ended with exit status 0 | `met` |
 * | ended with another exit status | `unmet` |
 * | has no exit status, does not say what was run, or there is none | `unproven` |
 * | was taken against another revision than the one asked for, or against none where one has to be named | `unproven` |
 *
 * A requirement that needs no evidence is met where another one would be unproven: there the claim is enough. The evidence
 * that decides is the latest for the requirement: by `at`, then by its place in the list. Evidence without a time counts as
 * earlier than any with one. Where something was run (`environment`) is kept and may be left out.
 *
 * **Invariants**
 *
 * - E1. Accepted means: each mandatory requirement is met. One that is unmet or unproven blocks.
 * - E2. Failing evidence, wherever it is added, never makes anything accepted that was not.
 * - E3. No mandatory requirement is lost when the scope is reduced.
 *
 * **Gotchas**
 *
 * A process that was killed has no exit status. Its evidence proves nothing, also when an earlier one had succeeded.
 *
 * **Example** (The last word counts)
 *
 * ```ts
 * import { Acceptance } from "espalier/run"
 *
 * const done = [{ id: "tests", statement: "All tests pass", mandatory: true, evidence: true }]
 * const check = Acceptance.check(done, [
 *   { requirement: "tests", command: "npm test", exitStatus: 1, at: 10 },
 *   { requirement: "tests", command: "npm test", exitStatus: 0, at: 20 }
 * ])
 * check.accepted // => true
 * Acceptance.check(done, []).findings[0]?.state // => "unproven"
 * ```
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import type * as Contract from "./Contract.ts"
import { candidates } from "./internal/closest.ts"
import { limitNames } from "./internal/limiting.ts"
import { frozen } from "./internal/plain.ts"
import { Problem, sentences, show } from "./internal/problems.ts"
import { Evidence } from "./Result.ts"

/**
 * See the table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const State = Schema.Literals(["met", "unmet", "unproven"])

/**
 * @category models
 * @since 0.1.0
 */
export type State = typeof State.Type

/** @since 0.1.0 */
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

/**
 * What is known about one requirement.
 *
 * **Details**
 *
 * - `evidence`: the one that decides; absent when there is none.
 * - `reason`: one plain sentence.
 *
 * @category models
 * @since 0.1.0
 */
export const Finding = Schema.Struct({
  requirement: Schema.String,
  statement: Schema.String,
  mandatory: Schema.Boolean,
  state: State,
  evidence: Schema.optionalKey(Evidence),
  reason: Schema.String
})

/** @since 0.1.0 */
export interface Check extends Schema.Schema.Type<typeof Check> {}

/**
 * A definition of done that was checked.
 *
 * **Details**
 *
 * - `accepted`: each mandatory requirement is met.
 * - `findings`: one for each requirement, in the order of the definition.
 * - `strays`: evidence for requirements that the definition does not have. It decides nothing.
 *
 * @category models
 * @since 0.1.0
 */
export const Check = Schema.Struct({
  accepted: Schema.Boolean,
  findings: Schema.Array(Finding),
  strays: Schema.Array(Evidence)
})

/**
 * Checks evidence against a definition of done.
 *
 * **Details**
 *
 * - `revision`: the only revision that counts. Default any.
 * - `named`: whether evidence has to name a revision. Default false.
 *
 * A definition without mandatory requirements is accepted.
 *
 * @category checking
 * @since 0.1.0
 */
export const check = (
  definitionOfDone: ReadonlyArray<Contract.Requirement>,
  evidence: ReadonlyArray<Evidence>,
  options: { readonly revision?: string | undefined; readonly named?: boolean | undefined } = {}
): Check => {
  const strays = straysOf(definitionOfDone, evidence)
  const named = options.named ?? false
  const findings = definitionOfDone.map((requirement) =>
    find(requirement, evidence, { strays, named, revision: options.revision })
  )
  return { accepted: accepts(findings), findings, strays }
}

const straysOf = (
  definitionOfDone: ReadonlyArray<Contract.Requirement>,
  evidence: ReadonlyArray<Evidence>
): ReadonlyArray<Evidence> =>
  evidence.filter(({ requirement }) => definitionOfDone.every(({ id }) => id !== requirement))

interface Terms {
  readonly revision: string | undefined
  readonly named: boolean
  readonly strays: ReadonlyArray<Evidence>
}

/** E1. */
const accepts = (findings: ReadonlyArray<Finding>): boolean =>
  findings.every(({ mandatory, state }) => !mandatory || state === "met")

const find = (
  requirement: Contract.Requirement,
  evidence: ReadonlyArray<Evidence>,
  { named, revision, strays }: Terms
): Finding => {
  const { id, mandatory, statement } = requirement
  const head = { requirement: id, statement, mandatory }
  const about = evidence.filter((each) => each.requirement === id)
  const counted = latest(revision === undefined ? about : about.filter((each) => each.revision === revision))
  const lacks = counted === undefined ? undefined : lacking(counted, named)
  if (counted !== undefined && lacks === undefined) {
    const state = counted.exitStatus === 0 ? "met" : "unmet"
    const reason = `${called(counted)} ended with exit status ${counted.exitStatus}`
    return { ...head, state, evidence: counted, reason }
  }
  const decides = counted ?? latest(about)
  const known = { ...head, ...(decides === undefined ? {} : { evidence: decides }) }
  if (!requirement.evidence) return { ...known, state: "met", reason: "It needs no evidence" }
  if (decides === undefined)
    return { ...known, state: "unproven", reason: `There is no evidence for it${beside(id, strays)}` }
  const reason = lacks ?? `It was checked against ${at(decides.revision)}, not against ${at(revision)}`
  return { ...known, state: "unproven", reason }
}

/** What keeps evidence from proving anything. What failed counts whatever it leaves out. E2 */
const lacking = (evidence: Evidence, named: boolean): string | undefined => {
  const { command, exitStatus, revision } = evidence
  if (exitStatus === undefined) return `${called(evidence)} has no exit status`
  if (exitStatus !== 0) return undefined
  if (command === undefined || command.trim() === "") return "Its evidence does not say what was run"
  return named && revision === undefined ? `${command} does not say against which revision it was run` : undefined
}

const called = ({ command }: Evidence): string =>
  command === undefined || command.trim() === "" ? "Its check" : command

/** Evidence under another name is likely to be meant for this one. */
const beside = (id: string, strays: ReadonlyArray<Evidence>): string => {
  const names = new Set(strays.map(({ requirement }) => requirement))
  const what = names.size === 1 ? "which is no requirement" : "which are no requirements"
  return names.size === 0 ? "" : `; there is evidence for ${candidates(id, names)}, ${what} of this task`
}

const at = (revision: string | undefined): string => (revision === undefined ? "no revision" : `revision ${revision}`)

/** The latest evidence: by time, then by place. */
const latest = (evidence: ReadonlyArray<Evidence>): Evidence | undefined => {
  let last: Evidence | undefined
  for (const each of evidence) {
    if (last === undefined || (each.at ?? -Infinity) >= (last.at ?? -Infinity)) last = each
  }
  return last
}

/**
 * A task of a run, with everything that was handed in for it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly task: string
  readonly definitionOfDone: ReadonlyArray<Contract.Requirement>
  readonly evidence: ReadonlyArray<Evidence>
}

/** @since 0.1.0 */
export interface FinalFinding extends Schema.Schema.Type<typeof FinalFinding> {}

/**
 * What is known about one requirement of one task at the end.
 *
 * **Details**
 *
 * - `checkedAgainst`: the revision of its latest evidence; absent when that names none or there is none.
 *
 * @category models
 * @since 0.1.0
 */
export const FinalFinding = Schema.Struct({
  task: Schema.String,
  ...Finding.fields,
  checkedAgainst: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export interface Final extends Schema.Schema.Type<typeof Final> {}

/**
 * The acceptance of a whole run.
 *
 * **Details**
 *
 * - `revision`: the final one, against which everything was checked; absent when no evidence names a revision.
 * - `accepted`: each mandatory requirement of each task is met against it.
 * - `open`: the mandatory requirements that are not, each with the revision that it was checked against.
 *
 * @category models
 * @since 0.1.0
 */
export const Final = Schema.Struct({
  accepted: Schema.Boolean,
  revision: Schema.optionalKey(Schema.String),
  findings: Schema.Array(FinalFinding),
  open: Schema.Array(FinalFinding)
})

/**
 * Checks all tasks of a run against one and the same final revision.
 *
 * **Details**
 *
 * - `revision`: the final one. Default the revision of the latest evidence that names one, for a mandatory requirement if
 *   there is any. When none names one, nothing is proven.
 *
 * @category checking
 * @since 0.1.0
 */
export const final = (
  entries: ReadonlyArray<Entry>,
  options: { readonly revision?: string | undefined } = {}
): Final => {
  const revision = options.revision ?? finalRevision(entries)
  const findings = entries.flatMap(({ definitionOfDone, evidence, task }) => {
    const terms: Terms = { revision, named: true, strays: straysOf(definitionOfDone, evidence) }
    return definitionOfDone.map((requirement): FinalFinding => {
      const finding = find(requirement, evidence, terms)
      const checkedAgainst = finding.evidence?.revision
      return { task, ...finding, ...(checkedAgainst === undefined ? {} : { checkedAgainst }) }
    })
  })
  const open = findings.filter(({ mandatory, state }) => mandatory && state !== "met")
  return { accepted: open.length === 0, ...(revision === undefined ? {} : { revision }), findings, open }
}

/** Mandatory requirements come first, so that failing evidence for another one cannot move the revision in their favour. */
const finalRevision = (entries: ReadonlyArray<Entry>): string | undefined => {
  const of = (must: boolean) =>
    entries.flatMap(({ definitionOfDone, evidence }) =>
      evidence.filter(
        ({ requirement, revision }) =>
          revision !== undefined &&
          definitionOfDone.some(({ id, mandatory }) => id === requirement && (mandatory || !must))
      )
    )
  return (latest(of(true)) ?? latest(of(false)))?.revision // E2
}

/**
 * Under which input a follow-up finds what failed.
 *
 * @category follow-up
 * @since 0.1.0
 */
export const followUpInput = "follow-up"

/**
 * A follow-up that has nothing to follow up.
 *
 * @category errors
 * @since 0.1.0
 */
export class NothingOpen extends Schema.TaggedError<NothingOpen>("espalier/run/Acceptance/NothingOpen")("NothingOpen", {
  task: Schema.String
}) {
  override get message(): string {
    return `NOTHING_OPEN: findings must name a requirement of ${this.task} that is not met, got none`
  }
}

/**
 * A bounded contract for what is still open: the same work, told only what failed.
 *
 * **Details**
 *
 * - `findings`: of the task's check. Those that are met are left out, with their evidence.
 * - `task`: id of the new task. Default the id of the task and `.follow-up`.
 * - `limits`: default those of the contract; given ones can only lower them.
 *
 * Inputs, references, constraints, permissions and class of data are those of the contract; the input `follow-up` ({@link followUpInput}) lists the
 * open requirements with their evidence. The definition of done has the open requirements and no other, and the version
 * is 1: it is a new contract.
 *
 * Fails with {@link NothingOpen} when everything is met.
 *
 * **Gotchas**
 *
 * The id of a long task is cut before the suffix, so a run that follows up more than once names the `task` itself.
 *
 * @category follow-up
 * @since 0.1.0
 */
export const followUp = (
  contract: Contract.Contract,
  findings: ReadonlyArray<Finding>,
  options: { readonly task?: string | undefined; readonly limits?: Contract.Limits | undefined } = {}
): EffectResult.Result<Contract.Fields, NothingOpen> => {
  const open = findings.filter(
    ({ requirement, state }) => state !== "met" && contract.definitionOfDone.some(({ id }) => id === requirement)
  )
  if (open.length === 0) return EffectResult.fail(new NothingOpen({ task: contract.task }))
  const { constraints, dataClass, limits, objective, onIncomplete, permissions, references } = contract
  const failed = open.map(({ evidence, reason, requirement, state }): Schema.Json => ({
    requirement,
    state,
    reason,
    ...(evidence === undefined ? {} : { evidence: { ...evidence } })
  }))
  return EffectResult.succeed({
    task: options.task ?? followUpId(contract.task),
    objective: objective.startsWith(stillOpen) ? objective : `${stillOpen}${objective}`,
    inputs: { ...contract.inputs, [followUpInput]: failed },
    references,
    constraints,
    permissions,
    ...(dataClass === undefined ? {} : { dataClass }),
    definitionOfDone: contract.definitionOfDone.filter(({ id }) => open.some(({ requirement }) => requirement === id)),
    limits: lower(limits, options.limits ?? {}),
    onIncomplete
  })
}

const stillOpen = "Meet what is still open of: "

const suffix = ".follow-up"

/** An id of a task has at most 64 characters. */
const followUpId = (task: string): string => `${task.slice(0, 64 - suffix.length)}${suffix}`

const lower = (one: Contract.Limits, other: Contract.Limits): Contract.Limits => {
  const lowest: { -readonly [K in keyof Contract.Limits]: Contract.Limits[K] } = { ...one }
  for (const name of limitNames) {
    const limit = other[name]
    if (limit !== undefined) lowest[name] = Math.min(limit, one[name] ?? limit)
  }
  return lowest
}

/**
 * A scope that cannot be reduced in this way.
 *
 * **Details**
 *
 * - `mandatory`: the ids of the mandatory requirements among what was to be dropped.
 * - `problems`: everything that is wrong; the message names the first.
 *
 * @category errors
 * @since 0.1.0
 */
export class ScopeNotReduced extends Schema.TaggedError<ScopeNotReduced>("espalier/run/Acceptance/ScopeNotReduced")(
  "ScopeNotReduced",
  { mandatory: Schema.Array(Schema.String), problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `SCOPE_NOT_REDUCED: ${sentences(this.problems, "the scope")}`
  }
}

/**
 * The next version of a contract, without the requirements that are dropped.
 *
 * **Details**
 *
 * - `dropped`: ids of requirements, at least one.
 *
 * Fails with {@link ScopeNotReduced} when one of them is mandatory, when the contract has no such requirement, and when
 * none is named.
 *
 * @category scope
 * @since 0.1.0
 */
export const reduceScope = (
  contract: Contract.Contract,
  dropped: ReadonlyArray<string>
): EffectResult.Result<Contract.Contract, ScopeNotReduced> => {
  const mandatory: Array<string> = []
  const problems: Array<Problem> = []
  if (dropped.length === 0) {
    problems.push({ path: "dropped", expectation: "must name at least one requirement", actual: "" })
  }
  dropped.forEach((id, index) => {
    const found = contract.definitionOfDone.find((requirement) => requirement.id === id)
    if (found !== undefined && !found.mandatory) return
    if (found !== undefined) mandatory.push(id)
    const expectation = `must be a requirement of the contract${found === undefined ? "" : " that is not mandatory"}`
    problems.push({ path: `dropped[${index}]`, expectation, actual: show(id) })
  })
  if (problems.length > 0) return EffectResult.fail(new ScopeNotReduced({ mandatory, problems })) // E3
  const definitionOfDone = contract.definitionOfDone.filter(({ id }) => !dropped.includes(id))
  return EffectResult.succeed(
    frozen({ ...contract, version: contract.version + 1, definitionOfDone }) as Contract.Contract
  )
}
