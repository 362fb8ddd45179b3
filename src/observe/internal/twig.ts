/**
 * A node of a delegation while it grows.
 *
 * @since 0.1.0
 */
import type { DispatchEnd, TaskEnd } from "../../run/RunEvent.ts"
import type { Node } from "../Delegation.ts"
import { Sums } from "./totals.ts"

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** What a node says beside its times and what is below it. */
export type Said = Omit<Partial<Node>, "id" | "kind" | "name" | "startedAt" | "endedAt" | "children" | "totals">

/** A node that is not finished, with what its own calls came to. */
export class Twig {
  readonly id: number
  readonly kind: Node["kind"]
  readonly name: string
  readonly startedAt: number
  readonly said: Writable<Said>
  readonly children: Array<Twig> = []
  endedAt: number | undefined
  /** An error that something later made good. */
  healed = false
  private sums: Sums | undefined

  constructor(id: number, kind: Node["kind"], name: string, startedAt: number, said: Said) {
    this.id = id
    this.kind = kind
    this.name = name
    this.startedAt = startedAt
    this.said = { ...said }
  }

  get own(): Sums {
    return (this.sums ??= new Sums())
  }

  get isOpen(): boolean {
    return this.endedAt === undefined
  }

  end(at: number, outcome?: Node["outcome"], error?: Node["error"]): void {
    this.endedAt = Math.max(at, this.startedAt)
    if (outcome !== undefined) this.said.outcome = outcome
    if (error !== undefined) this.said.error = error
  }

  /** It goes on. */
  reopen(): void {
    this.endedAt = undefined
    delete this.said.outcome
  }

  /** Ends as another one did, which was taken for it and goes on. */
  takeEnd(of: Twig): void {
    this.end(of.endedAt ?? this.startedAt, of.said.outcome, of.said.error)
    this.sums = of.sums
    of.sums = undefined
    delete of.said.error
    of.reopen()
  }

  get whole(): Sums {
    const sums = new Sums()
    if (this.sums !== undefined) sums.addAll(this.sums)
    return sums
  }
}

const isWell = (outcome: Node["outcome"]): boolean => outcome === "accepted" || outcome === "ok"

/** Kinds of nodes that made good what went wrong below them where they ended well. */
const heals: ReadonlySet<Node["kind"]> = new Set(["run", "workflow", "plan", "delegate", "agent"])

/** The node of a twig, and the sums of all that is below it. `tasks`: how tasks have ended. */
export const grown = (
  twig: Twig,
  tasks: ReadonlyMap<string, TaskEnd>,
  inherited = false
): { readonly node: Node; readonly sums: Sums } => {
  const { said } = twig
  const healed = inherited || twig.healed || (said.task !== undefined && tasks.get(said.task) === "accepted")
  const below = healed || (heals.has(twig.kind) && isWell(said.outcome))
  const sums = twig.whole
  const children = twig.children.map((child) => {
    const { node, sums: of } = grown(child, tasks, below)
    sums.addAll(of)
    return node
  })
  const { error, ...rest } = said
  const { totals } = sums
  return {
    node: {
      id: twig.id,
      kind: twig.kind,
      name: twig.name,
      startedAt: twig.startedAt,
      ...(twig.endedAt === undefined ? {} : { endedAt: twig.endedAt }),
      ...rest,
      ...(error === undefined ? {} : { error: healed ? { ...error, recovered: true as const } : error }),
      ...(totals === undefined ? {} : { totals }),
      children
    },
    sums
  }
}

/** How a task that ended so is told of as an outcome. */
export const outcomeOfTask: Readonly<Record<TaskEnd, DispatchEnd>> = {
  accepted: "accepted",
  partial: "partial",
  rejected: "denied",
  blocked: "failed",
  failed: "failed",
  cancelled: "cancelled",
  skipped: "cancelled"
}
