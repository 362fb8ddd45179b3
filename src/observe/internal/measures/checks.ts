/**
 * How results were checked, and what was sent back.
 *
 * **Details**
 *
 * | source | passes | fails |
 * |---|---|---|
 * | `test` | evidence that was run, and the result was accepted | evidence that was run, and the result was sent back |
 * | `validator` | findings, none of them grave | a grave finding |
 * | `human` | a result is approved, or stands in part | it is rejected, or tried anew |
 *
 * A validator that says nothing cannot be told from any other worker: it has to answer with a list of findings, which may be
 * empty.
 *
 * @since 0.1.0
 */
import type { Of } from "../../../run/RunEvent.ts"
import { attribute as a } from "../names.ts"
import { type Measure, measured, type Measurement, nothing } from "./measurement.ts"
import type { Memory } from "./memory.ts"

const verification = (source: string, verdict: string, { desk }: Memory): Measurement =>
  measured("espalier.task.verifications", 1, {
    [a.workflow]: desk,
    [a.verification]: source,
    [a.verdict]: verdict
  })

const revision = (cause: string, { desk }: Memory): Measurement =>
  measured("espalier.task.revisions", 1, { [a.workflow]: desk, [a.cause]: cause })

const reported = ({ outcome, result }: Of<"Reported">, before: Memory): ReadonlyArray<Measurement> => {
  const found: Array<Measurement> = []
  const run = result.evidence.some(({ command, exitStatus }) => command !== undefined && exitStatus !== undefined)
  if (run && outcome === "accepted") found.push(verification("test", "pass", before))
  if (run && outcome === "rejected-quality") found.push(verification("test", "fail", before))
  if (result.findings !== undefined) {
    const grave = result.findings.some(({ severity }) => severity === "high")
    found.push(verification("validator", grave ? "fail" : "pass", before))
  }
  if (outcome === "rejected-contract") found.push(revision("contract", before))
  if (outcome === "rejected-quality") found.push(revision("validator", before))
  return found
}

const decided = ({ decision, review: id }: Of<"ReviewDecided">, before: Memory): ReadonlyArray<Measurement> => {
  const kind = before.reviews.get(id)?.event.kind
  if (kind !== "result-acceptance" && kind !== "escalation") return nothing
  const good = decision === "approve" || decision === "accept-partial"
  if (!good && decision !== "reject" && decision !== "retry") return nothing
  const verdicts = kind === "result-acceptance" ? [verification("human", good ? "pass" : "fail", before)] : []
  return decision === "retry" ? [...verdicts, revision("human", before)] : verdicts
}

/** @since 0.1.0 */
export const checks: Measure = (event, before) => {
  switch (event._tag) {
    case "Reported":
      return before.tasks.has(event.task) ? reported(event, before) : nothing
    case "ReviewDecided":
      return decided(event, before)
    case "GroupOpened":
      return event.kind === "follow-up" ? [revision("follow_up", before)] : nothing
    default:
      return nothing
  }
}
