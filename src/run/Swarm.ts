/**
 * A small group of peers that hand the work over to each other until one of them is done.
 *
 * Nobody decides for them: each peer's output says who is next. From outside, a swarm is one task with one result, that of
 * the last peer.
 *
 * **Details**
 *
 * - All peers are workers of one domain: what they hand to each other stays in it.
 * - The first turn of a peer is the task of its name; the ones after it are `name#2`, `name#3` and so on.
 * - A peer reads the newest output of every peer that was before it, by the peer's name.
 * - Its output is that of the last peer that has one.
 *
 * | the last peer | what follows |
 * |---|---|
 * | handed over to a peer | that peer, unless the group has had its tasks (`budget-exceeded`) |
 * | handed over and goes round in circles with the others | the group stops (`loop-detected`) |
 * | is done | the end, with its output |
 * | handed over to nobody that is known | the group stops and names it (`no-ready-task`) |
 * | gave no result | the group stops with what there is (`no-ready-task`) |
 *
 * **Invariants**
 *
 * - W1. One peer works at a time.
 *
 * **Gotchas**
 *
 * A peer that fails is replaced as any worker is: by one that can do what it can do, of whatever domain.
 *
 * **Example** (A writer and a critic)
 *
 * ```ts
 * import { Swarm } from "espalier/run"
 *
 * const swarm = Swarm.make({
 *   start: "writer",
 *   peers: {
 *     writer: { worker: "docs.writer", objective: "Write the notes", handOver: () => "critic" },
 *     critic: {
 *       worker: "docs.critic",
 *       objective: "Criticise the notes",
 *       handOver: (output) => (output === "fine" ? "done" : "writer")
 *     }
 *   }
 * })
 *
 * const wrote = { id: "writer", template: "writer", status: "accepted", label: "critic", confidence: 1, reason: "" } as const
 * const next = swarm.next({ run: "r1", group: "", tasks: [wrote], open: 0, answers: [], said: [] })
 * next._tag === "Add" ? next.tasks.map(({ id }) => id) : [] // => ["critic"]
 * ```
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

import type * as Coordinator from "./Coordinator.ts"
import { candidates } from "./internal/closest.ts"
import { checkRepetition, checkTask, concurrencyOf } from "./internal/declared.ts"
import { Given } from "./internal/given.ts"
import { show } from "./internal/problems.ts"
import { circling, lastOutput, listed, stop, usable, visit, visitId, visits } from "./internal/visits.ts"
import * as Repetition from "./Repetition.ts"

/**
 * One of the peers.
 *
 * **Details**
 *
 * - `worker`: a registered name, `domain.worker`; the domain is that of the other peers.
 * - `handOver`: who is next, as an output says: a peer, itself included, or `done`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Peer<in Input = unknown, Name extends string = string> extends Omit<
  Coordinator.Task<Input>,
  "id" | "worker" | "by" | "needs" | "acceptMissing" | "label"
> {
  readonly worker: string
  readonly handOver: (output: Schema.Json) => Name | "done"
}

/**
 * A swarm over a run, or a task, that begins with an `Input`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Swarm<in Input = unknown> extends Coordinator.Coordinator<Input> {
  readonly kind: "swarm"
}

/**
 * Makes a swarm.
 *
 * **Details**
 *
 * - `start`: the peer that begins.
 * - `steps`: how many tasks there are in all, a whole number >= 1. Default 20.
 * - `repetition`: how much going round in circles is too much. Default `Repetition.policy`.
 * - `concurrency`: how many orders of the run may be under way at once, a whole number >= 1; a swarm has one. Default 10.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option or the shape of a peer is not what its type says: `steps` or `concurrency` out of
 * range, a `handOver` that is no function. Peers of several domains, a peer that is called
 * `done` and, for callers without types, a start that is no peer are found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Name extends string, Input = unknown>(options: {
  readonly start: NoInfer<Name>
  readonly peers: { readonly [N in Name]: Peer<Input, NoInfer<Name>> }
  readonly steps?: number | undefined
  readonly repetition?: Repetition.Policy | undefined
  readonly concurrency?: number | undefined
}): Swarm<Input> => {
  given.record("options", options, ["start", "peers", "steps", "repetition", "concurrency"])
  const { peers, repetition = Repetition.policy, start } = options
  given.text("start", start)
  for (const [name, peer] of Object.entries(given.record("peers", peers))) {
    checkTask(given, `peers.${name}`, peer, false)
    given.code(`peers.${name}.handOver`, given.record(`peers.${name}`, peer)["handOver"])
  }
  checkRepetition(given, repetition)
  const steps = given.whole("steps", options.steps ?? 20, 1)
  const tasks = Object.entries<Peer<Input>>(peers).map(([id, { handOver, ...peer }]): Coordinator.Task<Input> => {
    return { ...peer, id, label: handOver }
  })
  const byName = new Map(tasks.map((task) => [task.id, task]))
  const first = byName.get(start)
  return {
    kind: "swarm",
    tasks,
    initial: first === undefined ? [] : [visit(first, start, [])],
    adds: true,
    concurrency: concurrencyOf(given, options),
    containment: "isolate",
    next: (view) => turn(view, byName, start, steps, repetition),
    merge: (parts) => lastOutput(parts, "No peer gave a result"),
    problems: () => problems(tasks, start),
    facts: { start, peers: tasks.map(({ id }) => id), steps }
  }
}

const given = new Given("Swarm.make")

const turn = (
  view: Coordinator.View,
  peers: ReadonlyMap<string, Coordinator.Task<never>>,
  start: string,
  steps: number,
  repetition: Repetition.Policy
): Coordinator.Next => {
  if (view.open > 0) return { _tag: "Wait" } // W1
  const { tasks } = view
  const last = tasks.at(-1)
  if (last !== undefined && !usable(last.status)) {
    return stop("no-ready-task", `${last.id} gave no result and handed over to nobody: ${last.reason}`)
  }
  const to = last === undefined ? start : last.label
  if (last !== undefined && to === "done") return { _tag: "Done", result: last.id, note: `${last.id} is done` }
  const peer = to === undefined ? undefined : peers.get(to)
  if (peer === undefined) {
    const whom = to === undefined ? "nobody" : show(to)
    const who = last === undefined ? "The group begins with" : `${last.id} handed over to`
    return stop("no-ready-task", `${who} ${whom}, which is none of: ${listed([...peers.keys(), "done"])}`)
  }
  if (tasks.length >= steps) {
    return stop("budget-exceeded", `The group has had ${tasks.length} of ${steps} tasks, and ${peer.id} would be next`)
  }
  const circle = circling(tasks, peer.worker, repetition)
  if (circle !== undefined) return stop("loop-detected", `The group goes round in circles: ${circle}`)
  const id = visitId(peer.id, (visits(tasks).get(peer.id) ?? 0) + 1)
  const note = last === undefined ? `The group begins with ${id}` : `${last.id} hands over to ${peer.id}`
  return { _tag: "Add", tasks: [visit(peer, id, tasks)], note }
}

const problems = (peers: ReadonlyArray<Coordinator.Task<never>>, start: string): ReadonlyArray<Coordinator.Problem> => {
  const found: Array<Coordinator.Problem> = []
  const names = peers.map(({ id }) => id)
  if (!names.includes(start)) {
    const message = `the swarm starts at ${show(start)}, but the peers are ${candidates(start, names)}`
    found.push({ rule: "unknown-node", subject: start, message })
  }
  if (names.includes("done")) {
    found.push({ rule: "reserved-name", subject: "done", message: "no peer can be called done, which is the end" })
  }
  const domains = new Map<string, string>()
  for (const { id, worker } of peers) {
    if (worker === undefined) {
      found.push({ rule: "unassigned", subject: id, message: `the peer ${id} names no worker` })
    } else {
      const domain = worker.slice(0, Math.max(0, worker.indexOf(".")))
      if (!domains.has(domain)) domains.set(domain, id)
    }
  }
  if (domains.size > 1) {
    const where = listed([...domains].map(([domain, peer]) => `${peer} in ${show(domain)}`))
    found.push({ rule: "several-domains", subject: start, message: `the peers are of several domains: ${where}` })
  }
  return found
}
