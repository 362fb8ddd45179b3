/**
 * How a tree stands, as values of gauges.
 *
 * **Details**
 *
 * Supervisors and mailboxes are named by the path of their kind: ids from the root on, with `*` in place of an id that tells one of
 * many of a kind from the others. What several nodes of one kind have is put together.
 *
 * @since 0.1.0
 */
import { nodeStates } from "../../internal/decisions.ts"
import type { Snapshot } from "../../Tree.ts"
import { attribute as a, word } from "./names.ts"
import { type Sample, sample } from "./sample.ts"

/** The path of the kind of a node below a node of that kind. */
export const kindPath = (above: string, { id, instance }: Pick<Snapshot, "id" | "instance">): string => {
  const name = instance === true ? "*" : id
  return above === "" ? name : `${above}/${name}`
}

const ofSupervisor = (node: Snapshot, supervisor: string): ReadonlyArray<Sample> => {
  if (node.kind !== "supervisor") return []
  const of = { [a.supervisor]: supervisor }
  // Each has a value also when no child is in it.
  const found = nodeStates.map((state) =>
    sample("espalier.supervisor.child.count", node.children.filter((child) => child.state === state).length, {
      ...of,
      [a.childState]: word(state)
    })
  )
  const { intensity } = node
  if (intensity === undefined) return found
  const { left, restarts } = intensity
  found.push(
    sample("espalier.supervisor.restart.usage", restarts - left, of),
    sample("espalier.supervisor.restart.limit", restarts, of),
    sample("espalier.supervisor.restart.left", left, of)
  )
  return found
}

/** The most that one of them has, and what all have. */
const spread = (
  metric: "espalier.mailbox.usage" | "espalier.mailbox.limit",
  path: string,
  values: ReadonlyArray<number>
): ReadonlyArray<Sample> => {
  const total = values.reduce((sum, value) => sum + value, 0)
  return [
    sample(metric, Math.max(...values), { [a.kindPath]: path, [a.aggregation]: "max" }),
    sample(metric, total, { [a.kindPath]: path, [a.aggregation]: "sum" })
  ]
}

/** @since 0.1.0 */
export const treeSamples = (root: Snapshot): ReadonlyArray<Sample> => {
  const found: Array<Sample> = []
  const depths = new Map<string, Array<number>>()
  const limits = new Map<string, Array<number>>()
  const walk = (node: Snapshot, above: string): void => {
    const path = kindPath(above, node)
    found.push(...ofSupervisor(node, path))
    if (node.mailbox !== undefined) push(depths, path, node.mailbox)
    if (node.capacity !== undefined) push(limits, path, node.capacity)
    for (const child of node.children) walk(child, path)
  }
  walk(root, "")
  for (const [path, values] of depths) found.push(...spread("espalier.mailbox.usage", path, values))
  for (const [path, values] of limits) found.push(...spread("espalier.mailbox.limit", path, values))
  return found
}

const push = (lists: Map<string, Array<number>>, key: string, value: number): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}
