/**
 * What is wrong with the shape of a graph.
 *
 * @since 0.1.0
 */
import type { Problem } from "../Coordinator.ts"
import { candidates } from "./closest.ts"
import { show } from "./problems.ts"

/** A graph as plain data: nodes with their outcomes, and edges by node and outcome. */
export interface Shape {
  readonly start: string
  readonly result?: string | undefined
  readonly nodes: ReadonlyMap<string, { readonly outcomes: ReadonlyArray<string>; readonly join: boolean }>
  readonly edges: ReadonlyMap<string, ReadonlyMap<string, Target>>
}

type Target = string | ReadonlyArray<string>

/** The edges of a node that are there. */
export const exits = (edges: Readonly<Record<string, Target | undefined>>): ReadonlyArray<readonly [string, Target]> =>
  Object.entries(edges).flatMap(([outcome, target]) => (target === undefined ? [] : [[outcome, target] as const]))

const targets = (target: Target): ReadonlyArray<string> => (typeof target === "string" ? [target] : target)

/** Everything that is wrong with a graph. */
export const problems = (shape: Shape): ReadonlyArray<Problem> => {
  const found: Array<Problem> = []
  const error = (rule: string, subject: string, message: string) => void found.push({ rule, subject, message })
  const { edges, nodes, result, start } = shape
  const known = (name: string) => `the nodes are ${candidates(name, nodes.keys())}`
  if (!nodes.has(start)) error("unknown-node", start, `the graph starts at ${show(start)}, but ${known(start)}`)
  if (result !== undefined && !nodes.has(result)) {
    error("unknown-node", result, `the graph's result is that of ${show(result)}, but ${known(result)}`)
  }
  for (const name of edges.keys()) {
    if (!nodes.has(name)) error("unknown-node", name, `edges lead out of ${show(name)}, but ${known(name)}`)
  }
  for (const [name, { outcomes }] of nodes) {
    if (name === "finish") error("reserved-name", name, "no node can be called finish, which is the end of a graph")
    if (outcomes.length === 0) error("no-outcome", name, `the node ${name} declares no outcomes`)
    const own = edges.get(name)
    for (const outcome of outcomes) {
      if (outcome === "failed") {
        error("reserved-name", name, `the node ${name} cannot declare the outcome failed, which stands for no result`)
      } else if (own === undefined || !own.has(outcome)) {
        error("missing-transition", name, `nothing follows the node ${name} when it comes out as ${show(outcome)}`)
      }
    }
    for (const [outcome, target] of own ?? []) {
      if (outcome !== "failed" && !outcomes.includes(outcome)) {
        error("unknown-outcome", name, `the node ${name} has an edge for ${show(outcome)}, which it does not declare`)
      }
      if (target.length === 0) {
        error("missing-transition", name, `the edge ${show(outcome)} of ${name} leads nowhere`)
      }
      for (const each of targets(target)) {
        if (each === "" || nodes.has(each) || (each === "finish" && target === each)) continue
        error("unknown-node", name, `the edge ${show(outcome)} of ${name} leads to ${show(each)}, but ${known(each)}`)
      }
    }
  }
  const reached = reachable(start, (name) => [...(edges.get(name)?.values() ?? [])].flatMap(targets))
  for (const name of nodes.keys()) {
    if (!reached.has(name)) error("unreachable-node", name, `the node ${name} cannot be reached from ${start}`)
  }
  const back = new Map<string, Array<string>>()
  for (const [name, own] of edges) {
    for (const target of [...own.values()].flatMap(targets)) back.set(target, [...(back.get(target) ?? []), name])
  }
  const leaving = reachable("finish", (name) => back.get(name) ?? [])
  for (const name of nodes.keys()) {
    if (reached.has(name) && !leaving.has(name)) {
      error("no-exit", name, `no way leads from the node ${name} to the end of the graph`)
    }
  }
  return found
}

const reachable = (start: string, next: (name: string) => ReadonlyArray<string>): ReadonlySet<string> => {
  const reached = new Set([start])
  for (const name of reached) for (const each of next(name)) reached.add(each)
  return reached
}
