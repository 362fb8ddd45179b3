/**
 * The delegation of a run over time.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

import * as Delegation from "../observe/Delegation.ts"
import { many } from "../run/internal/problems.ts"
import { lasted, plain } from "../run/internal/text.ts"
import { Refused } from "./failures.ts"
import { type Look, timeOf } from "./look.ts"
import { here, print, printJson } from "./printing.ts"
import { demand } from "./reading.ts"
import { labelled } from "./table.ts"
import { axisOf, labelOf, timelineIn } from "./timeline.ts"

/** What of a tree is shown: `depth` levels below the run, only branches with an error. */
export interface Shown {
  readonly depth?: number | undefined
  readonly errors: boolean
}

const isBranch = (node: Delegation.Node): boolean => node.error !== undefined || node.children.some(isBranch)

const sizeOf = (node: Delegation.Node): number => node.children.reduce((size, child) => size + sizeOf(child), 1)

/** What is left of a tree, and how many nodes are not shown below those at which it ends. */
export const pruned = (
  tree: Delegation.Node,
  { depth = Infinity, errors }: Shown
): { readonly tree: Delegation.Node; readonly hidden: ReadonlyMap<Delegation.Node, number> } => {
  const hidden = new Map<Delegation.Node, number>()
  const visit = (node: Delegation.Node, left: number): Delegation.Node => {
    const wanted = errors ? node.children.filter(isBranch) : node.children
    const kept = { ...node, children: left > 0 ? wanted.map((child) => visit(child, left - 1)) : [] }
    const size = left > 0 ? 0 : wanted.reduce((size, child) => size + sizeOf(child), 0)
    if (size > 0) hidden.set(kept, size)
    return kept
  }
  return { tree: visit(tree, depth), hidden }
}

/** Beside what stands the name of what it is. */
const labels = 13

const errorLines = (look: Look, tree: Delegation.Node): ReadonlyArray<string> => {
  const first = Delegation.firstError(tree)
  if (first === undefined) return ["no errors"]
  const { error, path } = first
  const at = path.at(-1)
  const time = at?.endedAt ?? at?.startedAt ?? tree.startedAt
  const again = error.recovered === true ? ", recovered" : ""
  return [
    labelled(
      look,
      { text: "first error", style: "bold" },
      labels,
      `${plain(error.kind)}${again}: ${plain(error.reason)}`
    ),
    labelled(look, "in", labels, path.map((node) => plain(labelOf(node))).join(" > ")),
    labelled(look, "at", labels, `${timeOf(look, time)}, ${lasted(Math.max(0, time - tree.startedAt))} after it began`)
  ]
}

/** A tree as text: over time, and below that what went wrong first. */
export const traceText = (look: Look, whole: Delegation.Node, shown: Shown): string => {
  const { hidden, tree } = pruned(whole, shown)
  const axis = axisOf(whole)
  const idle =
    axis.idle === 0
      ? []
      : [labelled(look, "left out", labels, `${lasted(axis.idle)} in which nobody carried it out are not in the bars`)]
  const unpriced = whole.totals?.unpriced ?? 0
  const unknown = unpriced === 0 ? [] : [labelled(look, "?", labels, `${many(unpriced, "call")} without a known price`)]
  return [timelineIn(look, axis, tree, hidden), "", ...errorLines(look, whole), ...idle, ...unknown].join("\n")
}

/** Prints the delegation of a run over time. */
export const trace = Effect.fnUntraced(function* (run: string, shown: Shown, json: boolean) {
  yield* demand(run)
  const tree = yield* Delegation.ofRun(run)
  if (tree === undefined) return yield* new Refused({ reason: `the run ${run} has not begun` })
  yield* json ? printJson(pruned(tree, shown).tree) : print(traceText(here(), tree, shown))
})
