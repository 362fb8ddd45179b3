/** Delegations in lines, and histories that many tests look at. */
import { Effect, Stream } from "effect"
import { Delegation } from "espalier/observe"
import { Run, type RunEvent } from "espalier/run"

/** The tree of some events; they have one. */
export const treeOf = (events: Iterable<RunEvent.RunEvent>): Delegation.Node => {
  const { add, tree } = Delegation.fold()
  for (const event of events) add(event)
  const found = tree()
  if (found === undefined) throw new Error("no events have no tree")
  return found
}

/** Every node, above before below. */
export const nodes = (node: Delegation.Node): ReadonlyArray<Delegation.Node> => [node, ...node.children.flatMap(nodes)]

const faultText = ({ kind, recovered }: Delegation.Fault): string => `${kind}${recovered === true ? " recovered" : ""}`

/** A tree in lines: kind, name, times in milliseconds since its beginning, how it ended, what went wrong. */
export const lines = (tree: Delegation.Node): ReadonlyArray<string> => {
  const visit = (node: Delegation.Node, depth: number): ReadonlyArray<string> => {
    const { attempt, endedAt, error, kind, lost, name, outcome, startedAt } = node
    const text = [
      `${"  ".repeat(depth)}${kind} ${name}${attempt === undefined ? "" : ` #${attempt}`}`,
      `${startedAt - tree.startedAt}..${endedAt === undefined ? "" : endedAt - tree.startedAt}`,
      ...(outcome === undefined ? [] : [outcome]),
      ...(lost === true ? ["lost"] : []),
      ...(error === undefined ? [] : [`(${faultText(error)})`])
    ].join(" ")
    return [text, ...node.children.flatMap((child) => visit(child, depth + 1))]
  }
  return visit(tree, 0)
}

/** All events of a run. */
export const eventsOf = (run: string) => Stream.runCollect(Run.events(run)).pipe(Effect.map((events) => [...events]))
