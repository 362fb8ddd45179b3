/** A random desk, a random plan and random trouble, as plain data. */
import type { Autonomy, Confidence, Recovery, RunEvent } from "espalier/run"

import { type Dice, fate } from "./fate.ts"

export interface WorkerSpec {
  /** `domain.worker` */
  readonly name: string
  readonly capabilities: ReadonlyArray<string>
  readonly size: number
  readonly risk: "low" | "medium" | "high"
  readonly irreversible: boolean
  readonly available: boolean
  /** what is reserved for one of its orders; undefined = nothing */
  readonly tokens: number | undefined
  readonly window: number | undefined
  readonly confidence: number | undefined
  readonly timeout: number
}

export interface TaskSpec {
  readonly id: string
  readonly needs: ReadonlyArray<string>
  readonly worker: string | undefined
  readonly capability: string | undefined
  readonly acceptMissing: boolean
  readonly tokens: number | undefined
  readonly deadline: number | undefined
  /** how long it waits once what it needs has ended */
  readonly after: number | undefined
  readonly by: GroupSpec | undefined
  readonly expand: ReadonlyArray<Recovery.Expansion>
  readonly escalate: boolean
  /** has a requirement that may be dropped if a person says so */
  readonly optional: boolean
}

/** `router`: asks which of its tasks comes next, and ends after some rounds. */
export interface GroupSpec {
  readonly kind: "plan" | "pipeline" | "router"
  readonly containment: RunEvent.Containment
  readonly tasks: ReadonlyArray<TaskSpec>
  readonly rounds: number
}

/** Shares of what goes wrong, between 0 and 1, and when. Times are milliseconds. */
export interface Trouble {
  readonly failing: number
  readonly odd: number
  readonly sick: number
  readonly outages: boolean
  readonly cutOff: number
  readonly cancelAt: number | undefined
  readonly slow: number
}

export interface Case {
  readonly seed: number
  readonly workers: ReadonlyArray<WorkerSpec>
  readonly root: GroupSpec
  readonly concurrency: number
  readonly tier: Autonomy.Tier
  readonly low: Confidence.Low
  readonly reviewConfidence: boolean
  readonly atCap: "stop" | "review"
  readonly skipAfter: number
  readonly tokens: number | undefined
  readonly deadline: number | undefined
  /** limits of domains and workers, by account */
  readonly budgets: Readonly<Record<string, number>>
  readonly merges: boolean
  readonly trouble: Trouble
}

const capabilities = ["read", "write", "check"]

const workersOf = ({ below, next, pick }: Dice): ReadonlyArray<WorkerSpec> => {
  const domains = 2 + below(2)
  const counted = next() < 0.5
  return Array.from({ length: 2 + below(5) }, (_, index) => ({
    name: `d${index % domains}.w${index}`,
    capabilities: capabilities.filter(() => next() < 0.5),
    size: next() < 0.7 ? 1 : 2 + below(2),
    risk: next() < 0.75 ? "low" : pick(["medium", "high"] as const),
    irreversible: next() < 0.05,
    available: next() < 0.95,
    tokens: counted && next() < 0.8 ? 10 * (1 + below(10)) : undefined,
    window: next() < 0.3 ? 100 * (1 + below(3)) : undefined,
    confidence: next() < 0.2 ? next() : undefined,
    timeout: 1_000 * (2 + below(20))
  }))
}

const containmentOf = ({ below, next }: Dice, tasks: number): RunEvent.Containment => {
  const roll = next()
  if (roll < 0.6) return "isolate"
  return roll < 0.8 ? "fail-fast" : { quorum: 1 + below(Math.min(3, tasks)) }
}

/** What a group is inside of: its tasks can have no more. */
interface Bounds {
  readonly tokens: number | undefined
  readonly deadline: number | undefined
}

const within = (own: number | undefined, most: number | undefined): number | undefined =>
  own === undefined || most === undefined ? own : Math.min(own, most)

const expansions: ReadonlyArray<Recovery.Expansion> = ["decompose", "re-plan", "follow-up"]

const groupOf = (dice: Dice, workers: ReadonlyArray<WorkerSpec>, most: Bounds, depth: number): GroupSpec => {
  const { below, next, pick } = dice
  const known = capabilities.filter((each) => workers.some((worker) => worker.capabilities.includes(each)))
  const size = depth === 0 ? 1 + below(6) : 1 + below(3)
  const task = (index: number): TaskSpec => {
    // No single order is larger than 100 tokens, and a desk on which one cannot be given is refused.
    const tokens = within(next() < 0.15 ? 100 + 20 * below(10) : undefined, most.tokens)
    const deadline = within(next() < 0.2 ? 1_000 * (1 + below(40)) : undefined, most.deadline)
    const inner = { tokens: tokens ?? most.tokens, deadline: deadline ?? most.deadline }
    const by = depth < 2 && next() < 0.2 ? groupOf(dice, workers, inner, depth + 1) : undefined
    const named = known.length === 0 || next() < 0.5
    return {
      id: `t${index}`,
      needs: Array.from({ length: index }, (_, earlier) => `t${earlier}`).filter(() => next() < 0.3),
      worker: by === undefined && named ? pick(workers).name : undefined,
      capability: by === undefined && (!named || (known.length > 0 && next() < 0.3)) ? pick(known) : undefined,
      acceptMissing: next() < 0.3,
      tokens,
      deadline,
      after: undefined,
      by,
      expand: by === undefined && next() < 0.4 ? expansions.filter(() => next() < 0.5) : [],
      escalate: next() < 0.1,
      optional: next() < 0.1
    }
  }
  const roll = next()
  const kind = roll < 0.15 ? "router" : roll < 0.3 ? "pipeline" : "plan"
  const tasks = Array.from({ length: size }, (_, index) => task(index))
  return {
    kind,
    containment: containmentOf(dice, size),
    tasks: kind !== "router" ? tasks : tasks.map((each) => ({ ...each, needs: [] })),
    rounds: 1 + below(4)
  }
}

/** Has some tasks wait: seconds, minutes, or longer than anybody has time for. */
const waiting = (seed: number, group: GroupSpec, path: string): GroupSpec => ({
  ...group,
  tasks: group.tasks.map((task) => {
    const own = `${path}/${task.id}`
    const { below, next } = fate(seed, "after", own)
    const after = next() < 0.7 ? undefined : next() < 0.5 ? 1 + below(20_000) : 60_000 * (1 + below(10))
    return { ...task, after, ...(task.by === undefined ? {} : { by: waiting(seed, task.by, own) }) }
  })
})

const troubleOf = ({ below, next, pick }: Dice): Trouble => ({
  failing: pick([0, 0.1, 0.3, 0.6]),
  odd: pick([0, 0.1, 0.2]),
  sick: pick([0, 0, 0.1]),
  outages: next() < 0.3,
  cutOff: next() < 0.3 ? 0.1 : 0,
  cancelAt: next() < 0.15 ? below(60_000) : undefined,
  slow: pick([0, 1_000, 10_000])
})

/** The case of a seed. */
export const generate = (seed: number): Case => {
  const dice = fate(seed, "case")
  const { below, next, pick } = dice
  const workers = workersOf(dice)
  const budgets: Record<string, number> = {}
  for (const { name } of workers) {
    if (next() < 0.15) budgets[`worker:${name}`] = 100 + 50 * below(6)
    if (next() < 0.2) budgets[`domain:${name.slice(0, 2)}`] = 100 + 50 * below(5)
  }
  const tokens = next() < 0.4 ? 100 * (1 + below(5)) : undefined
  const deadline = next() < 0.3 ? 1_000 * (5 + below(120)) : undefined
  const root = groupOf(dice, workers, { tokens, deadline }, 0)
  return {
    seed,
    workers,
    root: seed % 2 === 0 ? waiting(seed, root, "") : root,
    concurrency: 1 + below(5),
    tier: next() < 0.6 ? "medium" : pick(["low", "full"] as const),
    low: pick(["note", "retry", "cross-check", "review"] as const),
    reviewConfidence: next() < 0.2,
    atCap: next() < 0.7 ? "stop" : "review",
    skipAfter: next() < 0.8 ? 5 : 1 + below(3),
    tokens,
    deadline,
    budgets,
    merges: next() < 0.3,
    trouble: troubleOf(dice)
  }
}
