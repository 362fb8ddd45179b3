/**
 * Whether a contract may be given out: the second check, against what is allowed and what is so just now.
 *
 * The first check, `Contract.parse`, looks at a contract alone. This one compares it with a policy and with facts about the
 * run, and refuses in the same form with the same error, before anybody is dispatched.
 *
 * | field | must |
 * |---|---|
 * | `limits` | be within the policy's maximum; an absent limit is inherited and passes |
 * | `permissions` | name known areas, with scopes inside their roots or out of their names, and those the worker needs |
 * | `dataClass` | be one of the policy's, and be told where the policy says so |
 * | `references` | have the current version, where the facts know one |
 * | the capability that the task asks for | be one that some worker has |
 *
 * **Invariants**
 *
 * - P1. The check is a function of its arguments: it reads no file, no clock and no registry.
 * - P2. What the policy does not mention is not allowed: an area, a scope, a data class. Only a limit is open when absent.
 *
 * **Gotchas**
 *
 * Scopes are compared as text. Symbolic links are not resolved: a link inside a root that leads outside passes here, and
 * whoever opens files has to look. Letters in the other case and other forms of the same accent are other paths.
 *
 * **Example** (A path that leads out of its root)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Contract, ContractPolicy } from "espalier/run"
 *
 * const policy = ContractPolicy.make({
 *   limits: { tokens: 100_000 },
 *   areas: { repository: ContractPolicy.paths(["docs", "src"]) }
 * })
 * const check = (scope: string) =>
 *   Contract.make({ task: "fix", objective: "Fix links", permissions: { repository: [scope] } }).pipe(
 *     Effect.flatMap((contract) => Effect.fromResult(ContractPolicy.check(contract, policy))),
 *     Effect.match({ onFailure: ({ message }) => message, onSuccess: ({ task }) => task })
 *   )
 *
 * Effect.runSync(check("docs/**")) // => "fix"
 * const message = 'CONTRACT_INVALID: permissions.repository[0] must not contain .., got "docs/../.git"'
 * Effect.runSync(check("docs/../.git")) // => message
 * ```
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"

import { Limits, lacking, ContractInvalid, type Contract } from "./Contract.ts"
import { isId } from "./internal/fields.ts"
import { Given, isRecord } from "./internal/given.ts"
import { beyond } from "./internal/limiting.ts"
import { isGlob, isInside, parsePath, pathProblem, type Path } from "./internal/path.ts"
import { decoder, pathOf, sentences, shorten, show, type Problem } from "./internal/problems.ts"

/**
 * What an area allows: paths under roots, or names out of a list.
 *
 * @category models
 * @since 0.1.0
 */
export type Area =
  | { readonly _tag: "Paths"; readonly roots: ReadonlyArray<string> }
  | { readonly _tag: "Names"; readonly names: ReadonlyArray<string> }

/**
 * A policy. See {@link make} for the defaults.
 *
 * @category models
 * @since 0.1.0
 */
export interface ContractPolicy {
  readonly limits: Limits
  readonly areas: Readonly<Record<string, Area>>
  readonly dataClasses: ReadonlyArray<string>
  readonly dataClassRequired: boolean
}

/**
 * What is so just now.
 *
 * **Details**
 *
 * - `areas`: the areas in which the worker works. Default none.
 * - `capability`: the one that the task asks for. Default none.
 * - `capabilities`: those that the workers have. Default none, so that a capability that is asked for does not exist.
 * - `versions`: the current version of what each reference stands for, by the reference's name. A reference that is not
 *   listed has no version to compare. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly areas?: ReadonlyArray<string> | undefined
  readonly capability?: string | undefined
  readonly capabilities?: ReadonlyArray<string> | undefined
  readonly versions?: Readonly<Record<string, number>> | undefined
}

/**
 * The classes of data that are told apart unless told otherwise, the most open one first.
 *
 * @category models
 * @since 0.1.0
 */
export const dataClasses: ReadonlyArray<string> = ["public", "internal", "confidential", "personal"]

/**
 * An area whose scopes are paths.
 *
 * **Details**
 *
 * - `roots`: absolute paths, or relative ones, `.` for every relative path. A scope is a path in one of them or the root
 *   itself, with `*`, `**` and `?` as wildcards. A relative scope never lies in an absolute root, nor the other way round.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a root has a wildcard, `..`, or characters that no scope may have.
 *
 * @category constructors
 * @since 0.1.0
 */
export const paths = (roots: ReadonlyArray<string>): Area => {
  new Given("ContractPolicy.paths").texts("roots", roots)
  for (const root of roots) {
    const problem = root === "" ? "must not be empty" : isGlob(root) ? "must have no wildcards" : pathProblem(root)
    if (problem !== undefined) throw new RangeError(`ContractPolicy.paths: a root ${problem}, got ${show(root)}`)
  }
  return { _tag: "Paths", roots }
}

/**
 * An area whose scopes are names, such as hosts or tables.
 *
 * **Details**
 *
 * - `names`: each scope is one of them, letter by letter; `*` stands for any name.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a name is no text or empty, or is named twice.
 *
 * @category constructors
 * @since 0.1.0
 */
export const names = (names: ReadonlyArray<string>): Area => {
  new Given("ContractPolicy.names").names("names", names)
  return { _tag: "Names", names }
}

const decodeLimits = decoder(Limits, "error")

/**
 * Makes a policy.
 *
 * **Details**
 *
 * - `limits`: the most that a contract may ask for. Default no maximum.
 * - `areas`: what may be touched, by area. Default nothing.
 * - `dataClasses`: the classes that a contract may have. Default {@link dataClasses}.
 * - `dataClassRequired`: whether a contract that tells no class is refused. Default false.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a limit is out of range, when an option is not what its type says, or when an area or a data class is not named with letters, digits,
 * `.`, `_` and `-`, beginning with a letter.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: {
  readonly limits?: Limits | undefined
  readonly areas?: Readonly<Record<string, Area>> | undefined
  readonly dataClasses?: ReadonlyArray<string> | undefined
  readonly dataClassRequired?: boolean | undefined
}): ContractPolicy => {
  if (options !== undefined) {
    given.record("options", options, ["limits", "areas", "dataClasses", "dataClassRequired"])
  }
  const limits = decodeLimits(options?.limits ?? {})
  if (Result.isFailure(limits)) {
    const problems = limits.failure.map((each) => ({
      ...each,
      path: each.path === "" ? "limits" : `limits.${each.path}`
    }))
    throw new RangeError(`ContractPolicy.make: ${sentences(problems)}`)
  }
  const areas = options?.areas ?? {}
  const classes = options?.dataClasses ?? dataClasses
  given.record("areas", areas)
  given.texts("dataClasses", classes)
  for (const name of [...Object.keys(areas), ...classes]) {
    if (!isId(name)) given.refuse("a name", "letters, digits, '.', '_' and '-'", name)
  }
  for (const [name, area] of Object.entries<unknown>(areas)) {
    given.made(`areas.${name}`, "made by ContractPolicy.paths or ContractPolicy.names", isArea(area), area)
  }
  const dataClassRequired = options?.dataClassRequired ?? false
  given.flag("dataClassRequired", dataClassRequired)
  return { limits: limits.success, areas, dataClasses: classes, dataClassRequired }
}

const given = new Given("ContractPolicy.make")

const isArea = (area: unknown): boolean =>
  isRecord(area) && (area["_tag"] === "Paths" ? Array.isArray(area["roots"]) : Array.isArray(area["names"]))

/** A list in a message: what is allowed, cut when it is long. */
const listed = (allowed: ReadonlyArray<string>): string =>
  allowed.length === 0 ? "nothing" : shorten(allowed.map((each) => JSON.stringify(each)).join(", "), 200)

const own = <A>(record: Readonly<Record<string, A>>, key: string): A | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

const pathScope = (scope: string, roots: ReadonlyArray<readonly [string, Path]>): string | undefined => {
  const path = parsePath(scope)
  return (
    pathProblem(scope) ??
    (roots.some(([, root]) => isInside(path, root))
      ? undefined
      : `must lie inside ${listed(roots.map(([text]) => text))}`)
  )
}

const scopeProblems = (contract: Contract, policy: ContractPolicy): ReadonlyArray<Problem> =>
  Object.entries(contract.permissions).flatMap(([area, scopes]): ReadonlyArray<Problem> => {
    const allowed = own(policy.areas, area)
    if (allowed === undefined) {
      return [{ path: pathOf(["permissions", area]), expectation: "is not an area of the policy", actual: "" }]
    }
    const roots = allowed._tag === "Paths" ? allowed.roots.map((root) => [root, parsePath(root)] as const) : []
    return scopes.flatMap((scope, index) => {
      const expectation =
        allowed._tag === "Paths"
          ? pathScope(scope, roots)
          : allowed.names.includes(scope) || allowed.names.includes("*")
            ? undefined
            : `must be one of ${listed(allowed.names)}`
      return expectation === undefined
        ? []
        : [{ path: pathOf(["permissions", area, index]), expectation, actual: show(scope) }]
    })
  })

const versionProblems = (contract: Contract, versions: Readonly<Record<string, number>>): ReadonlyArray<Problem> =>
  Object.entries(contract.references).flatMap(([name, { version }]): ReadonlyArray<Problem> => {
    const current = own(versions, name)
    if (current === undefined || version === current) return []
    const path = pathOf(["references", name, "version"])
    if (version === undefined) return [{ path, expectation: "is required", actual: "" }]
    return version < current
      ? [{ path, expectation: `is stale: the current version is ${current}`, actual: show(version) }]
      : [{ path, expectation: `must be at most the current version ${current}`, actual: show(version) }]
  })

/**
 * Checks a contract against a policy and the facts, and answers with the contract itself or with every problem.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (
  contract: Contract,
  policy: ContractPolicy,
  facts: Facts = {}
): Result.Result<Contract, ContractInvalid> => {
  const problems: Array<Problem> = [
    ...lacking(contract, facts.areas ?? []),
    ...beyond(contract.limits, policy.limits),
    ...scopeProblems(contract, policy),
    ...versionProblems(contract, facts.versions ?? {})
  ]
  const { dataClass } = contract
  if (dataClass === undefined) {
    if (policy.dataClassRequired) problems.push({ path: "dataClass", expectation: "is required", actual: "" })
  } else if (!policy.dataClasses.includes(dataClass)) {
    const expectation = `must be one of ${listed(policy.dataClasses)}`
    problems.push({ path: "dataClass", expectation, actual: show(dataClass) })
  }
  const { capabilities = [], capability } = facts
  if (capability !== undefined && !capabilities.includes(capability)) {
    const expectation = `must be one of ${listed(capabilities)}`
    problems.push({ path: "capability", expectation, actual: show(capability) })
  }
  return problems.length === 0 ? Result.succeed(contract) : Result.fail(new ContractInvalid({ problems }))
}
