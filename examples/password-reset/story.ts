/**
 * The run in plain lines: what people are asked and say, what was really run and how it ended, and what goes back.
 *
 * @since 0.1.0
 */
import type { RunEvent } from "espalier/run"

import { oneLine } from "../shared/files.ts"
import { lineOf } from "../shared/telling.ts"

const short = (revision = "?"): string => revision.slice(0, 7)

/** What was run, in a line, and one more for each that did not end well. */
const evidenceLines = ({ result, task }: Extract<RunEvent.RunEvent, { readonly _tag: "Reported" }>) => {
  const { evidence } = result
  const [first] = evidence
  if (first === undefined) return []
  const wrong = evidence.filter(({ exitStatus }) => exitStatus !== 0)
  return [
    `  ${task}: ${evidence.length - wrong.length} of ${evidence.length} checks hold at ${short(first.revision)}`,
    ...wrong.map(({ command, exitStatus, requirement }) => `  ✗ ${requirement}: ${command} ended with ${exitStatus}`)
  ]
}

/**
 * An event as lines, where it matters.
 *
 * @category lines
 * @since 0.1.0
 */
export const story = (event: RunEvent.RunEvent): ReadonlyArray<string> => {
  const line = lineOf(event)
  switch (event._tag) {
    case "ReviewOpened":
      return [oneLine(`? ${event.review}: ${event.note}`)]
    case "Noticed":
      return [oneLine(`${event.subject}: ${event.note}`)]
    case "Reported":
      return [...(line === undefined ? [] : [line]), ...evidenceLines(event)]
    default:
      return line === undefined ? [] : [line]
  }
}
