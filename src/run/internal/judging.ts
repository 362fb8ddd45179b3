/**
 * What is asked of an output beyond its schema: that its evidence holds, and that it is right.
 *
 * @since 0.1.0
 */
import * as Acceptance from "../Acceptance.ts"
import type { Contract } from "../Contract.ts"
import type { Task } from "../Coordinator.ts"
import type { Judge } from "./attempt.ts"
import { shortened, show, thrown } from "./problems.ts"

const nothing = {}

/** What an output means is said in a few words; they are part of the state of a run. */
const longestLabel = 500

/** Checks in this order: evidence and acceptance, then the task's own validation; then what the output means. */
export const judgeOf = (
  template: Task<never, unknown> | undefined,
  contract: Contract,
  sameRevision: boolean
): Judge => {
  const { definitionOfDone } = contract
  if (template?.validate === undefined && template?.label === undefined && definitionOfDone.length === 0) {
    return () => nothing
  }
  return (result) => {
    if (definitionOfDone.length > 0 && result.status === "completed") {
      const { accepted, findings } = Acceptance.check(definitionOfDone, result.evidence, { named: sameRevision })
      if (!accepted) {
        const open = findings.filter(({ mandatory, state }) => mandatory && state !== "met")
        const said = open.map(({ reason, requirement, state }) => `${requirement} is ${state}: ${reason}`).join("; ")
        return { against: shortened(said, 500) }
      }
    }
    const { output } = result
    if (output === undefined) return nothing
    if (template?.validate !== undefined) {
      const against = validated(template.validate, output, contract)
      if (against !== undefined) return { against }
    }
    if (template?.label === undefined) return nothing
    try {
      const label: unknown = template.label(output)
      if (typeof label === "string" && label.length <= longestLabel) return { label }
      return {
        against: `the label of the output must be a text of at most ${longestLabel} characters, got ${show(label)}`
      }
    } catch (error) {
      return { against: `the label of the output cannot be told: ${thrown(error)}` }
    }
  }
}

const validated = (
  validate: NonNullable<Task["validate"]>,
  output: Parameters<NonNullable<Task["validate"]>>[0],
  contract: Contract
): string | undefined => {
  try {
    const sentences = validate(output, contract)
    return sentences.length === 0 ? undefined : shortened(sentences.join("; "), 500)
  } catch (error) {
    return `the validation threw: ${thrown(error)}`
  }
}
