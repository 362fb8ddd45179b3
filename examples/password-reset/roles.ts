/**
 * The agents: who drafts the contract, who writes code, who writes and runs tests, who reviews security.
 *
 * What an agent says proves nothing. Records of what was run are put beside its output by {@link recorded}, out of what its
 * tools have really done; an agent that ran nothing delivers nothing.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { Failure } from "espalier"
import { Agent, type Models } from "espalier/agent"
import { Artefacts } from "espalier/journal"
import { Result } from "espalier/run"

import { evidence, Record, Told } from "./checks.ts"
import { Brief, Draft, lacking, limits, numbers, secured, tested } from "./contract.ts"
import { scopes } from "./tools.ts"

/**
 * Which model stands behind each role.
 *
 * @category models
 * @since 0.1.0
 */
export interface Cast<R = never> {
  readonly requirements: Models.Models<R>
  readonly coding: Models.Models<R>
  readonly authoring: Models.Models<R>
  readonly testing: Models.Models<R>
  readonly security: Models.Models<R>
}

const isTold = Schema.is(Told)

/** What the last call of a tool has put into the store, and the evidence that it holds. */
const recorded = (tool: string, { calls }: Agent.Done) =>
  Effect.gen(function* () {
    const last = calls.findLast(({ isFailure, name }) => name === tool && !isFailure)?.result
    if (!isTold(last)) return yield* Failure.malformed(`nothing was run: call ${tool} before you deliver`)
    const { record } = last
    return { evidence: evidence(yield* Artefacts.getJson(record, Record)), artefacts: { record } }
  })

/** Whether anything was committed. */
const committed = ({ calls }: Agent.Done): Effect.Effect<Result.Options, Failure.Failure> =>
  calls.some(({ isFailure, name }) => name === "git_commit" && !isFailure)
    ? Effect.succeed({})
    : Failure.malformed("nothing was committed: call git_commit before you deliver")

/**
 * What somebody who wrote something says of it.
 *
 * @category models
 * @since 0.1.0
 */
export const Written = Schema.Struct({ summary: Schema.NonEmptyString })

/**
 * What a review of security says beside its probes.
 *
 * @category models
 * @since 0.1.0
 */
export const Reviewed = Schema.Struct({
  summary: Schema.NonEmptyString,
  findings: Schema.Array(
    Schema.Struct({ severity: Schema.Literals(["low", "medium", "high"]), statement: Schema.NonEmptyString })
  )
})

/** Nothing is set aside for an order before it begins: what a first one has left is there for its correction. */
const shared = { steps: 8, corrections: 2, context: { size: 60_000 } } as const

const said = (statements: { readonly [id: string]: string }) =>
  Object.entries(statements).map(([id, statement]) => `- ${id}: ${statement}`)

/**
 * The agents with these models.
 *
 * @category workers
 * @since 0.1.0
 */
export const roles = <R>(cast: Cast<R>) => ({
  analyst: Agent.make("analyst", {
    ...shared,
    description: "Drafts the contract of a change",
    instructions: [
      "Draft the contract of the change that you are asked for: what it must do, in requirements with these ids and no others.",
      ...said({ ...tested, ...secured }),
      `The numbers: ${JSON.stringify(numbers)}. The limits of each order: ${JSON.stringify(limits)}.`,
      "Say in the constraints how the module is called and what it offers, and in the risks what stays open."
    ].join("\n"),
    input: Schema.Struct({ wish: Schema.String, constraints: Schema.Array(Schema.String) }),
    output: Draft,
    models: cast.requirements,
    tools: scopes.requirements,
    maxOutput: 3000,
    attach: (draft) => {
      const said = lacking(draft)
      return said.length === 0 ? Effect.succeed({}) : Failure.malformed(said.join("; "))
    }
  }),
  coder: Agent.make("coder", {
    ...shared,
    description: "Writes the code of a change, on its branch",
    instructions: [
      "Write the code that the contract asks for, below src, commit it, and deliver.",
      "Where you are given failing evidence, mend what it shows and nothing else."
    ].join("\n"),
    input: Schema.Struct({ contract: Brief, failing: Schema.optionalKey(Schema.Array(Result.Evidence)) }),
    output: Written,
    models: cast.coding,
    tools: scopes.coding,
    permissions: ["read", "write"],
    maxOutput: 2500,
    attach: (_, done) => committed(done)
  }),
  author: Agent.make("author", {
    ...shared,
    description: "Writes the tests of a change, on its branch",
    instructions: [
      "Write a test for each requirement of the contract, in test/ID.test.js, with node:test, and commit them.",
      "A shop to test with is in test/shop.js. What was there before has its test already."
    ].join("\n"),
    input: Schema.Struct({ contract: Brief }),
    output: Written,
    models: cast.authoring,
    tools: scopes.authoring,
    permissions: ["read", "write"],
    maxOutput: 2000,
    attach: (_, done) => committed(done)
  }),
  tester: Agent.make("tester", {
    ...shared,
    description: "Runs the tests of a change",
    instructions: "Run the tests that you are asked for, with run_tests, and deliver what you have seen.",
    input: Schema.Struct({ only: Schema.Array(Schema.String) }),
    output: Written,
    models: cast.testing,
    tools: scopes.testing,
    permissions: ["read"],
    artefacts: ["record"],
    maxOutput: 1000,
    size: 2,
    attach: (_, done) => recorded("run_tests", done)
  }),
  reviewer: Agent.make("reviewer", {
    ...shared,
    description: "Reviews the security of a change",
    instructions: [
      "Read the change, run the probes with run_probes, and deliver what you have found.",
      "Look for tokens in logs, tokens that are kept, and sessions that outlive a reset."
    ].join("\n"),
    input: Schema.Struct({ contract: Brief }),
    output: Reviewed,
    models: cast.security,
    tools: scopes.security,
    permissions: ["read"],
    artefacts: ["record"],
    maxOutput: 1500,
    attach: (_, done) => recorded("run_probes", done)
  })
})
