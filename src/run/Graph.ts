/**
 * Tasks with conditional transitions: each says how it came out, and that decides which one is next.
 *
 * A node declares the outcomes that it can have, and the edges name a target for every one of them; one that is missing
 * does not compile. Loops are allowed and end at a cap.
 *
 * **Details**
 *
 * - The first visit of a node is the task of its name; the ones after it are `name#2`, `name#3` and so on.
 * - A node reads the newest output of every node that was visited before it, by the node's name. One that gave none is
 *   missing there.
 * - A target may be several nodes. They run side by side, and the graph goes on when all of them have ended: branches
 *   advance step by step together. A node that several of them lead to is visited once.
 * - Its output is the newest one of the node that `result` names, otherwise of the last node that has one.
 * - Where branches have different lengths, `join` on the node in which they meet has it wait for the longest.
 *
 * | the last task | what follows |
 * |---|---|
 * | was accepted or is partial | the edge of its outcome |
 * | has an outcome that its node does not declare | the graph stops and names it (`no-ready-task`) |
 * | gave no result | the edge `failed`; without one the graph stops with what there is (`no-ready-task`) |
 * | would be followed by one visit too many of a node | the graph stops (`loop-detected`) |
 * | would be followed by one task too many in all | the graph stops (`budget-exceeded`) |
 *
 * **Invariants**
 *
 * - G1. Every visit follows from the start and the outcomes so far, so a resumed graph goes on as it would have.
 * - G2. A node is visited at most once in a step, so a join happens once, whatever the order in which its branches end.
 *
 * **Gotchas**
 *
 * A visit is a new order, also with the same inputs: what should be done once belongs before the loop.
 *
 * **Example** (A draft that is corrected until it holds)
 *
 * ```ts
 * import { Graph } from "espalier/run"
 *
 * const graph = Graph.make({
 *   start: "draft",
 *   nodes: {
 *     draft: {
 *       worker: "docs.draft",
 *       objective: "Draft the notes",
 *       outcomes: ["drafted"],
 *       outcome: () => "drafted",
 *       input: ({ check }) => ({ remarks: check ?? null })
 *     },
 *     check: {
 *       worker: "docs.check",
 *       objective: "Check the notes",
 *       outcomes: ["fine", "wrong"],
 *       outcome: (output) => (output === "fine" ? "fine" : "wrong"),
 *       input: ({ draft }) => ({ text: draft })
 *     }
 *   },
 *   edges: {
 *     draft: { drafted: "check" },
 *     check: { fine: "finish", wrong: "draft" }
 *   },
 *   result: "draft"
 * })
 *
 * const accepted = { status: "accepted" as const, confidence: 1, reason: "Accepted" }
 * const tasks = [
 *   { id: "draft", template: "draft", label: "drafted", ...accepted },
 *   { id: "check", template: "check", label: "wrong", ...accepted }
 * ]
 * const next = graph.next({ run: "r1", group: "", tasks, open: 0, answers: [], said: [] })
 * next._tag === "Add" ? next.tasks.map(({ id, needs }) => [id, ...needs]) : [] // => [["draft#2", "draft", "check"]]
 * ```
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

import type * as Coordinator from "./Coordinator.ts"
import { checkTask, concurrencyOf } from "./internal/declared.ts"
import { Given } from "./internal/given.ts"
import { exits, problems, type Shape } from "./internal/graphs.ts"
import { show } from "./internal/problems.ts"
import { lastOutput, listed, stop, usable, visit, visitId } from "./internal/visits.ts"
import type { PlannedTask } from "./RunEvent.ts"
import { isEnded } from "./RunState.ts"

/**
 * One node: a task that says how it came out.
 *
 * **Details**
 *
 * - `outcomes`: every outcome that it can have. `failed` is none of them: it stands for a task that gave no result.
 * - `outcome`: which one an output means.
 * - `join`: wait until no other branch goes on. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Node<in Input = unknown, out R = never, Outcome extends string = string> extends Omit<
  Coordinator.Task<Input, R>,
  "id" | "needs" | "acceptMissing" | "label"
> {
  readonly outcomes: ReadonlyArray<Outcome>
  readonly outcome: (output: Schema.Json) => Outcome
  readonly join?: boolean | undefined
}

/**
 * Where an edge leads: a node, several side by side, or the end.
 *
 * @category models
 * @since 0.1.0
 */
export type Target<Name extends string> = Name | "finish" | readonly [Name, ...ReadonlyArray<Name>]

/**
 * The edges of a node by its outcomes.
 *
 * **Details**
 *
 * - `failed`: for a task that gave no result. Default: the graph stops with what there is.
 *
 * @category models
 * @since 0.1.0
 */
export type Edges<Name extends string, Outcome extends string> = {
  readonly [O in Outcome]: Target<Name>
} & { readonly failed?: Target<Name> | undefined }

/**
 * A graph over a run, or a task, that begins with an `Input`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Graph<in Input = unknown, out R = never> extends Coordinator.Coordinator<Input, R> {
  readonly kind: "graph"
}

/**
 * What a graph is made of.
 *
 * **Details**
 *
 * - `start`: the node that is visited first.
 * - `cap`: how often one node is visited, a whole number >= 1. Default 10.
 * - `steps`: how many tasks there are in all, a whole number >= 1. Default 20.
 * - `result`: the node whose newest output is the graph's. Default: the last one that led to the end.
 * - `concurrency`: how many orders of the run may be under way at once, a whole number >= 1. Default 10.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Nodes extends AnyNodes> {
  readonly start: NoInfer<keyof Nodes & string>
  readonly nodes: Nodes & Declared<NoInfer<Nodes>>
  readonly edges: {
    readonly [Name in keyof Nodes]: NoInfer<Edges<keyof Nodes & string, Outcome<Nodes[Name]>>>
  }
  readonly cap?: number | undefined
  readonly steps?: number | undefined
  readonly result?: NoInfer<keyof Nodes & string> | undefined
  readonly concurrency?: number | undefined
}

/**
 * Nodes by name, whatever they begin with and need.
 *
 * @category types
 * @since 0.1.0
 */
export type AnyNodes = Readonly<Record<string, Node<never, unknown>>>

/**
 * The outcomes that a node declares.
 *
 * @category types
 * @since 0.1.0
 */
export type Outcome<N extends Node<never, unknown>> = N["outcomes"][number]

/**
 * Nodes that come out only as they declare.
 *
 * @category types
 * @since 0.1.0
 */
export type Declared<Nodes extends AnyNodes> = {
  readonly [Name in keyof Nodes]: { readonly outcome: (output: Schema.Json) => Outcome<Nodes[Name]> }
}

/**
 * The graph that is made of these nodes: it begins with what all of them can begin with, and needs what any of them needs.
 *
 * @category types
 * @since 0.1.0
 */
export type Of<Nodes extends AnyNodes> = Graph<Begin<Nodes[keyof Nodes]>, Needs<Nodes[keyof Nodes]>>

type Needs<N> = N extends unknown ? ("by" extends keyof N ? Coordinator.Requires<NonNullable<N["by"]>> : never) : never

/** What all of the nodes can begin with: parameters of functions, which meet in an intersection. */
type Begin<N> = [Taking<N>] extends [never]
  ? unknown
  : [Taking<N>] extends [(input: infer Input) => void]
    ? Input
    : never

type Taking<N> = N extends unknown
  ? "input" extends keyof N
    ? NonNullable<N["input"]> extends (accepted: never, input: infer Input) => unknown
      ? (input: Input) => void
      : never
    : never
  : never

/**
 * Makes a graph.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option or the shape of a node is not what its type says: `cap`, `steps` or `concurrency`
 * out of range, outcomes that are no list of texts. Nodes that cannot be reached, loops without
 * an exit and, for callers without types, unknown nodes and missing transitions are found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Nodes extends AnyNodes>(options: Options<Nodes>): Of<Nodes> => {
  // What the nodes begin with and need stands in their types, which a loop over them does not keep.
  return build(options) as Of<Nodes>
}

const build = (options: {
  readonly start: string
  readonly nodes: AnyNodes
  readonly edges: Readonly<Record<string, Readonly<Record<string, string | ReadonlyArray<string> | undefined>>>>
  readonly cap?: number | undefined
  readonly steps?: number | undefined
  readonly result?: string | undefined
  readonly concurrency?: number | undefined
}): Graph<never, unknown> => {
  checkOptions(given.record("options", options, known))
  const { edges, nodes, result, start } = options
  const entries = Object.entries(nodes)
  const tasks = entries.map(([name, node]): Coordinator.Task<never, unknown> => {
    const { join: _, outcome, outcomes: _o, ...rest } = node
    return { ...rest, id: name, label: outcome }
  })
  const shape: Shape = {
    start,
    result,
    nodes: new Map(entries.map(([name, { join, outcomes }]) => [name, { outcomes, join: join ?? false }])),
    edges: new Map(Object.entries(edges).map(([name, own]) => [name, new Map(exits(own))]))
  }
  const walk: Walk = {
    shape,
    tasks: new Map(tasks.map((task) => [task.id, task])),
    cap: given.whole("cap", options.cap ?? 10, 1),
    steps: given.whole("steps", options.steps ?? 20, 1)
  }
  const first = walk.tasks.get(start)
  return {
    kind: "graph",
    tasks,
    initial: first === undefined ? [] : [visit(first, start, [])],
    adds: true,
    concurrency: concurrencyOf(given, options),
    containment: "isolate",
    next: (view) => follow(walk, view),
    merge: (parts) =>
      lastOutput(parts, result === undefined ? "No node gave a result" : `The node ${result} gave no result`, result),
    problems: () => problems(shape),
    facts: {
      start,
      nodes: Object.fromEntries([...shape.nodes].map(([name, { join, outcomes }]) => [name, { outcomes, join }])),
      edges: Object.fromEntries([...shape.edges].map(([name, own]) => [name, Object.fromEntries(own)])),
      cap: walk.cap,
      steps: walk.steps,
      result: result ?? null
    }
  }
}

const given = new Given("Graph.make")

const known = ["start", "nodes", "edges", "cap", "steps", "result", "concurrency"]

const checkOptions = ({ edges, nodes, result, start }: Readonly<Record<string, unknown>>): void => {
  given.text("start", start)
  if (result !== undefined) given.text("result", result)
  for (const [name, node] of Object.entries(given.record("nodes", nodes))) {
    const path = `nodes.${name}`
    checkTask(given, path, node, false)
    const { join, outcome, outcomes } = given.record(path, node)
    given.texts(`${path}.outcomes`, outcomes)
    given.code(`${path}.outcome`, outcome)
    if (join !== undefined) given.flag(`${path}.join`, join)
  }
  for (const [name, own] of Object.entries(given.record("edges", edges))) {
    for (const [outcome, target] of Object.entries(given.record(`edges.${name}`, own))) {
      const path = `edges.${name}.${outcome}`
      if (Array.isArray(target)) given.texts(path, target)
      else if (target !== undefined && typeof target !== "string")
        given.refuse(path, "a name or a list of names", target)
    }
  }
}

interface Walk {
  readonly shape: Shape
  readonly tasks: ReadonlyMap<string, Coordinator.Task<never, unknown>>
  readonly cap: number
  readonly steps: number
}

/** Walks from the start along the outcomes so far, and says what is beyond them. G1 */
const follow = ({ cap, shape, steps, tasks }: Walk, view: Coordinator.View): Coordinator.Next => {
  const seen = new Map(view.tasks.map((task) => [task.id, task]))
  const visits = new Map<string, number>()
  const before: Array<Coordinator.Seen> = []
  const joins = new Set<string>()
  let last: Coordinator.Seen | undefined
  let names = new Set([shape.start])
  for (;;) {
    const step = advance(shape, names, joins)
    if (step.length === 0) return finish(shape, before, last)
    const ids: Array<string> = []
    const added: Array<PlannedTask> = []
    for (const name of step) {
      const times = (visits.get(name) ?? 0) + 1
      if (times > cap) return stop("loop-detected", `The node ${name} was visited ${cap} times, which is its cap`)
      visits.set(name, times)
      const task = tasks.get(name)
      if (task === undefined) return stop("no-ready-task", `There is no node ${show(name)}`)
      const id = visitId(name, times)
      ids.push(id)
      if (!seen.has(id)) added.push(visit(task, id, before))
    }
    if (added.length > 0) {
      if (view.tasks.length + added.length > steps) {
        return stop(
          "budget-exceeded",
          `The graph has had ${view.tasks.length} of ${steps} tasks, and ${listed(step)} would be next`
        )
      }
      return { _tag: "Add", tasks: added, note: because(before.at(-1), step) }
    }
    const ended = ids.flatMap((id) => seen.get(id) ?? [])
    if (ended.some(({ status }) => !isEnded(status))) return { _tag: "Wait" }
    names = new Set()
    for (const task of ended) {
      const target = targetOf(shape, task)
      if (typeof target === "object" && "stopped" in target) return stop("no-ready-task", target.stopped)
      if (target === "finish") {
        if (usable(task.status)) last = task
      } else for (const name of typeof target === "string" ? [target] : target) names.add(name) // G2
    }
    before.push(...ended)
  }
}

/** The nodes of the next step. Joins are held back while others go on. */
const advance = (shape: Shape, names: ReadonlySet<string>, joins: Set<string>): ReadonlyArray<string> => {
  const going: Array<string> = []
  for (const name of names) {
    if (shape.nodes.get(name)?.join === true) joins.add(name)
    else going.push(name)
  }
  if (going.length > 0) return going
  const held = [...joins]
  joins.clear()
  return held
}

const targetOf = (
  { edges, nodes }: Shape,
  { id, label, reason, status, template }: Coordinator.Seen
): string | ReadonlyArray<string> | { readonly stopped: string } => {
  const own = edges.get(template)
  if (!usable(status)) {
    return own?.get("failed") ?? { stopped: `${id} gave no result, and no edge says what follows then: ${reason}` }
  }
  const outcomes = nodes.get(template)?.outcomes ?? []
  if (label === undefined || !outcomes.includes(label)) {
    const came = label === undefined ? "without an outcome" : `as ${show(label)}`
    return { stopped: `${id} came out ${came}, which is none of: ${listed(outcomes)}` }
  }
  return own?.get(label) ?? { stopped: `No edge says what follows ${id} when it comes out as ${show(label)}` }
}

const because = (task: Coordinator.Seen | undefined, step: ReadonlyArray<string>): string =>
  task === undefined
    ? `The graph begins with ${listed(step)}`
    : `${task.id} ${usable(task.status) ? `came out as ${show(task.label)}` : "gave no result"}; next: ${listed(step)}`

const finish = (
  { result }: Shape,
  before: ReadonlyArray<Coordinator.Seen>,
  last: Coordinator.Seen | undefined
): Coordinator.Next => {
  if (result === undefined) {
    return { _tag: "Done", ...(last === undefined ? {} : { result: last.id }), note: "The graph has come to its end" }
  }
  const newest = before.findLast(({ status, template }) => template === result && usable(status))
  return newest === undefined
    ? { _tag: "Done", note: `The graph has come to its end, and the node ${result} gave no result` }
    : { _tag: "Done", result: newest.id, note: `The graph has come to its end; its result is that of ${newest.id}` }
}
