/**
 * What a person who decides about a task's result, or about an effect, is shown of it.
 *
 * The journal has the result already, in the report; here it stands beside the question. The state keeps nothing of it.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type * as Decider from "../Decider.ts"
import type * as Outcome from "../Outcome.ts"
import type { Envelope } from "../Result.ts"
import { canonical, digest } from "./canonical.ts"
import type { Hands } from "./hands.ts"
import { contractOf } from "./orders.ts"

/** Bytes of JSON that an output may take in a question: 32 KiB. */
const small = 32 * 1024

/** Bytes of JSON that a plan may take in a question: 128 KiB. */
const large = 128 * 1024

/** Bytes of the JSON of a value. */
export const bytesOf = (value: Schema.Json): number => new TextEncoder().encode(JSON.stringify(value)).length

/** The questions that are about a result. */
const about: ReadonlySet<string> = new Set(["result-acceptance", "escalation", "question"])

/** The question with the objective of its task, and the result that stands, if there is one. */
export const showing = (
  { fold, sources, state }: Pick<Hands, "fold" | "sources" | "state">,
  review: Decider.Review
): Decider.Review => {
  const { effect, plan, ...others } = review.facts
  if (review.kind === "plan-approval" && plan !== undefined) {
    const bytes = bytesOf(plan)
    const seen = bytes <= large ? { plan } : { largePlan: bytes }
    return { ...review, facts: { ...others, ...seen, digest: digest(canonical(plan)) } }
  }
  if (typeof effect === "string") return { ...review, facts: { ...review.facts, ...done(fold().intent(effect)) } }
  const task = state().tasks.get(review.task ?? "")
  if (task === undefined || !about.has(review.kind)) return review
  const contract = contractOf(sources(), state(), task)
  const objective = EffectResult.isSuccess(contract) ? { objective: contract.success.objective } : {}
  const { dispatch } = review.facts
  const result = fold().result(task.id, typeof dispatch === "string" ? dispatch : undefined)
  return { ...review, facts: { ...review.facts, ...objective, ...(result === undefined ? {} : seen(result)) } }
}

/** What an effect is done with. */
const done = (intent: Outcome.Unsettled | undefined): Decider.Review["facts"] => {
  const { arguments: args, largeArguments } = intent ?? {}
  return {
    ...(args === undefined ? {} : { arguments: args }),
    ...(largeArguments === undefined ? {} : { largeArguments })
  }
}

const seen = ({ evidence, missing, output, outputRef }: Envelope): Decider.Review["facts"] => {
  const bytes = output === undefined ? outputRef?.bytes : bytesOf(output)
  return {
    ...(output !== undefined && bytes !== undefined && bytes <= small
      ? { output }
      : bytes === undefined
        ? {}
        : { largeOutput: bytes }),
    missing: missing.map(({ part, reason }) => ({ part, reason })),
    evidence: evidence.map(({ command, exitStatus, requirement }) => ({
      requirement,
      ...(command === undefined ? {} : { command }),
      ...(exitStatus === undefined ? {} : { exitStatus })
    }))
  }
}
