/**
 * Scores of finished runs, as the runs of evaluations report them.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { Scored } from "../../../agent/Evaluation.ts"
import { attribute as a } from "../names.ts"
import { type Measure, measured, nothing } from "./measurement.ts"

const read = Schema.decodeUnknownOption(Scored)

/** @since 0.1.0 */
export const evaluations: Measure = (event) => {
  if (event._tag !== "Reported" || event.task !== "score" || event.outcome !== "accepted") return nothing
  const report = Option.getOrUndefined(read(event.result.output))
  if (report === undefined) return nothing
  return report.scores.map(({ scorer, value }) => {
    const of = { [a.workflow]: report.desk, [a.scorer]: scorer }
    return value === null
      ? measured("espalier.evaluation.unscored", 1, of)
      : measured("espalier.evaluation.score", value, of)
  })
}
