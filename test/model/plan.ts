/** One case as data: a tree, how each of its children behaves, and what is done to it. A seed is the whole case. */
import type { Child, Failure, Supervisor } from "espalier"

import { dice } from "../run/simulate.ts"

/** Milliseconds; `Infinity` for ever. */
export type Millis = number

export interface Init {
  /** `deaf`: ready in the end, and not to be interrupted before */
  readonly how: "ready" | "fails" | "dies" | "interrupts" | "ignores" | "hangs" | "deaf"
  readonly after: Millis
}

export interface Finalizer {
  readonly how: "done" | "dies"
  readonly after: Millis
}

interface Common {
  readonly id: string
  readonly restart: Child.Restart
  readonly shutdown: Millis | "abandon"
  readonly initTimeout: Millis
  /** counts only where it can, see {@link isSignificant} */
  readonly significant: boolean
  /** `times`: delays that the schedule has to give */
  readonly backoff: { readonly delay: Millis; readonly times: number } | undefined
}

export interface LeafSpec extends Common {
  readonly kind: "worker" | "actor"
  /** by life, round and round */
  readonly inits: ReadonlyArray<Init>
  readonly finalizers: ReadonlyArray<Finalizer>
  readonly initError: Failure.Kind | "unmarked"
  readonly directive: Child.Directive | undefined
  /** a worker that cannot be interrupted */
  readonly deaf: boolean
  /** an actor's mail */
  readonly onRestart: "keep" | "fail"
}

export interface SupervisorSpec extends Common {
  readonly kind: "supervisor"
  readonly strategy: Supervisor.Strategy
  readonly intensity: { readonly restarts: number; readonly within: Millis }
  readonly autoShutdown: Supervisor.AutoShutdown
  readonly children: ReadonlyArray<Spec>
}

export type Spec = LeafSpec | SupervisorSpec

/** Whether the end of a child may end its supervisor. */
export const isSignificant = (spec: Spec, parent: SupervisorSpec | undefined): boolean =>
  spec.significant && spec.restart !== "always" && parent !== undefined && parent.autoShutdown !== "never"

/** How a worker ends by itself: a clean way, a bug, an interruption, a typed failure. */
export type End = "done" | "shutdown" | "dies" | "interrupts" | "unmarked" | Failure.Kind

/** What a message makes of its handler. */
export interface Work {
  readonly how: "replies" | "fails" | "dies" | "interrupts" | "deaf"
  readonly after: Millis
}

export type Step =
  | { readonly do: "end"; readonly path: string; readonly how: End }
  | { readonly do: "tell" | "ask"; readonly path: string; readonly work: Work }
  | { readonly do: "stop" | "restart" | "remove"; readonly path: string; readonly id: string }
  | { readonly do: "add"; readonly path: string; readonly child: Spec }
  | { readonly do: "wait"; readonly millis: Millis }
  | { readonly do: "interrupt-starter" }

export interface Case {
  readonly root: SupervisorSpec
  /** those of one group are done in one go: nothing runs in between */
  readonly steps: ReadonlyArray<ReadonlyArray<Step>>
  /** how the tree ends */
  readonly ending: "stop" | "close"
}

const kinds: ReadonlyArray<Failure.Kind> = ["transient", "capability", "oversized", "malformed", "denied", "exhausted"]

export const generate = (seed: number): Case => {
  const { below, next, pick } = dice(seed)
  const chance = (probability: number): boolean => next() < probability

  const init = (kind: LeafSpec["kind"], troubled: boolean): Init => {
    if (!troubled || chance(0.5)) return { how: "ready", after: pick([0, 0, 0, 13, 173]) }
    const how = pick(["fails", "fails", "dies", "interrupts", "ignores", "hangs", "deaf"] as const)
    if (how === "ignores" && kind === "actor") return { how: "fails", after: 0 }
    if (how === "hangs") return { how, after: Number.POSITIVE_INFINITY }
    return { how, after: pick([0, 0, 13, 173]) }
  }

  const finalizer = (): Finalizer => ({
    how: chance(0.1) ? "dies" : "done",
    after: pick([0, 0, 29, 71, 411, chance(0.3) ? Number.POSITIVE_INFINITY : 0])
  })

  const common = (id: string): Omit<Common, "shutdown" | "initTimeout"> => ({
    id,
    restart: pick(["always", "always", "always", "on-failure", "on-failure", "never"] as const),
    significant: chance(0.5),
    backoff: chance(0.3) ? { delay: pick([0, 71, 707]), times: pick([1, 2, 1000]) } : undefined
  })

  const leaf = (id: string): LeafSpec => {
    const kind = chance(0.6) ? "worker" : "actor"
    const troubled = chance(0.4)
    const slow = chance(0.3)
    return {
      kind,
      ...common(id),
      shutdown: pick([5_000, 5_000, 5_000, 103, 103, 0, "abandon"] as const),
      initTimeout: pick([30_000, 30_000, 30_000, 61]),
      inits: [
        chance(0.95) ? { how: "ready", after: pick([0, 0, 0, 13]) } : init(kind, troubled),
        ...Array.from({ length: below(4) }, () => init(kind, troubled))
      ],
      finalizers: slow ? Array.from({ length: 1 + below(3) }, finalizer) : [{ how: "done", after: 0 }],
      initError: chance(0.3) ? pick(kinds) : "unmarked",
      directive: chance(0.1) ? pick(["restart", "stop", "escalate"] as const) : undefined,
      deaf: kind === "worker" && chance(0.07),
      onRestart: chance(0.7) ? "keep" : "fail"
    }
  }

  let left = 4 + below(10)
  const hasRoom = (): boolean => left > 0
  const branch = (id: string, depth: number): SupervisorSpec => {
    const children: Array<Spec> = []
    const width = 1 + below(4)
    while (children.length < width && hasRoom()) children.push(child(`${children.length}`, depth))
    return {
      kind: "supervisor",
      ...common(id),
      shutdown: chance(0.2) ? pick([89, 700, 0, "abandon"] as const) : Number.POSITIVE_INFINITY,
      initTimeout: chance(0.1) ? 239 : Number.POSITIVE_INFINITY,
      strategy: pick(["one-for-one", "one-for-all", "rest-for-one"] as const),
      autoShutdown: chance(0.3) ? pick(["any-significant", "all-significant"] as const) : "never",
      intensity: { restarts: pick([0, 1, 2, 3, 3, 10, 50]), within: pick([500, 1_000, 5_000]) },
      children
    }
  }
  const letters = "abcdefghijklmnopqrstuvwxyz"
  const child = (id: string, depth: number): Spec => {
    left -= 1
    const name = `${letters[depth]}${id}`
    return depth < 4 && chance(0.3) ? branch(name, depth + 1) : leaf(name)
  }
  // A root without end of its own would only make the case shorter.
  const root: SupervisorSpec = {
    ...branch("root", 1),
    shutdown: Number.POSITIVE_INFINITY,
    restart: "always",
    intensity: { restarts: pick([1, 3, 10, 50]), within: pick([500, 1_000, 5_000]) },
    autoShutdown: chance(0.03) ? "all-significant" : "never"
  }

  const leaves: Array<{ readonly path: string; readonly spec: LeafSpec }> = []
  const branches: Array<{ readonly path: string; readonly ids: Array<string> }> = []
  const specs = new Map<string, Spec>()
  const visit = (spec: Spec, path: string): void => {
    specs.set(path, spec)
    if (spec.kind !== "supervisor") {
      leaves.push({ path, spec })
      return
    }
    branches.push({ path, ids: spec.children.map((some) => some.id) })
    for (const some of spec.children) visit(some, `${path}/${some.id}`)
  }
  visit(root, "root")

  const work = (): Work => ({
    how: pick(["replies", "replies", "fails", "dies", "dies", "interrupts", "deaf"] as const),
    after: pick([0, 0, 0, 47, 353])
  })

  let again: Step | undefined
  const step = (): Step => {
    // What was just sent to work, or to its end, is also asked to stop at times.
    if (again !== undefined && chance(0.2)) {
      const path = (again as Extract<Step, { readonly path: string }>).path.split("/")
      again = undefined
      return { do: "stop", path: path.slice(0, -1).join("/"), id: path.at(-1)! }
    }
    const some = anyStep()
    again = some.do === "end" || some.do === "tell" || some.do === "ask" ? some : undefined
    return some
  }
  const anyStep = (): Step => {
    const roll = next()
    if (roll < 0.45 && leaves.length > 0) {
      const { path, spec } = pick(leaves)
      if (spec.kind === "actor") return { do: chance(0.5) ? "tell" : "ask", path, work: work() }
      return {
        do: "end",
        path,
        how: chance(0.5) ? "dies" : pick(["done", "shutdown", "interrupts", "unmarked", ...kinds])
      }
    }
    if (roll < 0.7)
      return { do: "wait", millis: pick([1, 10, 50, 100, 300, 500, 1_000, 1_000, 4_999, 5_000, 7_000, 61_000]) }
    const { ids, path } = pick(branches)
    if (roll < 0.78) {
      // One path has one spec for the whole case: a child that was removed comes back as it was.
      const known = ids.length > 0 && chance(0.3) ? specs.get(`${path}/${pick(ids)}`) : undefined
      if (known !== undefined) return { do: "add", path, child: known }
      left = 2
      const spec = child(`x${ids.length}`, path.split("/").length)
      visit(spec, `${path}/${spec.id}`)
      ids.push(spec.id)
      return { do: "add", path, child: spec }
    }
    const id = ids.length > 0 ? pick(ids) : "nobody"
    return { do: pick(["stop", "stop", "restart", "remove"] as const), path, id }
  }

  const steps = Array.from({ length: 3 + below(50) }, (): Array<Step> => {
    if (chance(0.004)) return [{ do: "interrupt-starter" }]
    return Array.from({ length: chance(0.2) ? 2 + below(3) : 1 }, step)
  })
  return { root, steps, ending: chance(0.5) ? "stop" : "close" }
}
