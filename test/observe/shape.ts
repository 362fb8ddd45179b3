/**
 * The delegation of a run as plain data, once out of its spans and once out of its journal, in one form, so that both can be
 * compared. What differs by design is left out by {@link differences}, and by nothing else.
 */
import { type Delegation, SemConv } from "espalier/observe"
import type { RunEvent } from "espalier/run"

import type { Seen } from "./seen.ts"

const { attributes: names } = SemConv.names()
const { errorTypeOfOutcome, espalier, operations, spanName, value } = SemConv

type Kind = "workflow" | "supervisor" | "plan" | "delegate" | "agent" | "chat" | "tool" | "review"

/**
 * A node.
 *
 * - `outcome`: as attributes have it. `error`: the type of its error.
 * - `from`, `to`: milliseconds since 1970.
 */
export interface Shape {
  readonly kind: Kind
  readonly name: string
  readonly task?: string | undefined
  readonly attempt?: number | undefined
  readonly outcome?: string | undefined
  readonly error?: string | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly below: ReadonlyArray<Shape>
}

/**
 * What one process did without a pause, which is one trace.
 *
 * - `lost`: its process has died. `torn`: what was told of it although what it is below was lost.
 */
export interface Segment {
  readonly index: number
  readonly cause: string
  readonly recalled: number
  readonly lost: boolean
  readonly below: ReadonlyArray<Shape>
  readonly torn: ReadonlyArray<Shape>
}

/**
 * What differs by design.
 *
 * - `nodes`: of these there is no span. `shapes`: of these spans the journal knows nothing. `fields`: these are not the same thing in both; `retried`: of tries that others follow.
 *   `unused`: of these events no span says what was used. `unsummed`: these may say less than what was used below them.
 */
export interface Difference {
  readonly why: string
  readonly nodes?: (node: Delegation.Node) => boolean
  readonly shapes?: (shape: Shape) => boolean
  readonly fields?: {
    readonly of: ReadonlyArray<Kind>
    readonly names: ReadonlyArray<keyof Shape>
    readonly retried?: boolean
  }
  readonly unused?: (event: RunEvent.RunEvent) => boolean
  readonly unsummed?: (span: Seen) => boolean
}

export const differences: ReadonlyArray<Difference> = [
  {
    why: "What happens in a moment to a run beside its work is no work: it is in the journal, and counted by metrics",
    nodes: ({ kind }) => kind === "note"
  },
  {
    why: "What a worker does outside has the spans that the worker makes of it",
    nodes: ({ kind }) => kind === "effect"
  },
  {
    why: "A call of a tool that is cut short because its order is called back or put down need not be in the journal",
    nodes: ({ kind, outcome }) => kind === "tool" && outcome === "cancelled",
    shapes: ({ kind, outcome }) => kind === "tool" && (outcome === "cancelled" || outcome === "suspended")
  },
  {
    why: "Whether a try that is due in the very moment in which its order is called back has begun is not in the journal",
    nodes: ({ attempt = 1, children, endedAt, kind, outcome, startedAt }) =>
      kind === "agent" && attempt > 1 && outcome === "cancelled" && startedAt === endedAt && children.length === 0,
    shapes: ({ attempt = 1, below, from, kind, outcome, to }) =>
      kind === "agent" && attempt > 1 && outcome === "cancelled" && from === to && below.length === 0
  },
  {
    why: "A choice is asked of the supervisor, and the tree names what is chosen",
    fields: { of: ["plan"], names: ["name", "task"] }
  },
  {
    why: "The journal has in its own words what a model failed of, the span in those of the provider's error",
    fields: { of: ["chat"], names: ["error"] }
  },
  {
    why: "Of a try that another one follows the journal has the kind of its failure, and not that it crashed or took too long",
    fields: { of: ["agent"], names: ["outcome", "error"], retried: true }
  },
  {
    why: "What a provider did not say is an estimate for budgets; a span has only what was said",
    unused: (event) => event._tag === "Spent" && event.facts?.["estimated"] === true
  },
  {
    why: "Who makes a choice, or is called back or put down, is over before what was used last is written; those around have it",
    unsummed: (span) => {
      const kind = kindOf(span)
      const outcome = outcomeOfSpan(span)
      return kind === "plan" || (kind === "agent" && (outcome === "cancelled" || outcome === "suspended"))
    }
  },
  {
    why: "The span of a question is over once it is asked; its wait is told by the span of the answer",
    fields: { of: ["review"], names: ["task", "outcome", "error", "to"] }
  }
]

const every: ReadonlyArray<Kind> = ["workflow", "supervisor", "plan", "delegate", "agent", "chat", "tool", "review"]

/** Where it is not known when something happened: the clock is that of a machine. */
export const realTime: Difference = {
  why: "The clock of a machine goes on between an event and its span",
  fields: { of: every, names: ["from", "to"] }
}

const formed = (given: Shape, without: ReadonlyArray<Difference>, retried = false): Shape => {
  const left = new Set(
    without.flatMap(({ fields }) =>
      fields?.of.includes(given.kind) === true && (fields.retried !== true || retried) ? fields.names : ([] as const)
    )
  )
  const kept = Object.entries(given).filter(([key, each]) => each !== undefined && !left.has(key as keyof Shape))
  return Object.fromEntries(kept) as unknown as Shape
}

const failures: ReadonlySet<string | undefined> = new Set(["failed", "timed_out", "crashed"])

/** The tries below an order after which others come or were to come, with what is not known of them left out. */
const retries = (
  below: ReadonlyArray<Shape>,
  outcome: string | undefined,
  without: ReadonlyArray<Difference>
): ReadonlyArray<Shape> => {
  const last = Math.max(...below.map(({ attempt = 0 }) => attempt))
  return below.map((each) => {
    const isLast = (each.attempt ?? last) === last
    return formed(each, without, !isLast || (failures.has(each.outcome) && each.outcome !== outcome))
  })
}

/** Whoever works at the same time is told of in any order. */
const ordered = (all: ReadonlyArray<Shape>): ReadonlyArray<Shape> =>
  all
    .map((each) => [JSON.stringify(each), each] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([, each]) => each)

const text = (told: unknown): string | undefined => (told === undefined ? undefined : String(told))

/** What a span stands for; nothing where it is one of somebody else. */
const kindOf = ({ attributes, name }: Seen): Kind | undefined => {
  if (name.startsWith(spanName.delegate())) return "delegate"
  if (name === spanName.reviewRequest) return "review"
  switch (attributes[names.operationName]) {
    case operations.invokeWorkflow:
      return "workflow"
    case operations.invokeAgent:
      return attributes[espalier.nodeRole] === "supervisor" ? "supervisor" : "agent"
    case operations.plan:
      return "plan"
    case operations.chat:
      return "chat"
    case operations.executeTool:
      return "tool"
    default:
      return undefined
  }
}

const nameOfSpan = (kind: Kind, { attributes }: Seen): string => {
  switch (kind) {
    case "delegate":
      return String(attributes[espalier.delegationTo])
    case "agent":
      return String(attributes[espalier.nodePath]).split("/").slice(1).join(".")
    case "workflow":
      return String(attributes[names.workflowName])
    case "chat":
      return String(attributes[names.requestModel])
    case "tool":
      return String(attributes[names.toolName])
    case "review":
      return `${String(attributes[espalier.reviewId])} ${String(attributes[espalier.reviewKind])}`
    default:
      return String(attributes[names.agentName])
  }
}

/** A chat has no outcome of its own. */
const outcomeOfSpan = ({ attributes, end }: Seen): string | undefined =>
  text(attributes[espalier.outcome]) ?? { ok: "ok", error: "failed", interrupted: "cancelled", open: undefined }[end]

const shapeOfSpan = (kind: Kind, span: Seen, below: ReadonlyArray<Shape>): Shape => {
  const { attributes, endedAt, startedAt } = span
  const attempt = attributes[espalier.taskAttempt]
  const waited = attributes[espalier.mailboxWaitTime]
  return {
    kind,
    name: nameOfSpan(kind, span),
    task: text(attributes[espalier.taskId]),
    attempt: typeof attempt === "number" ? attempt : undefined,
    outcome: outcomeOfSpan(span),
    error: text(attributes[names.errorType]),
    // A try has begun when it was given; its span begins when somebody is free for it.
    from: startedAt - (typeof waited === "number" ? Math.round(waited * 1_000) : 0),
    to: endedAt,
    below
  }
}

/** The segments of a run out of spans, in their order. Spans of others are looked through. */
export const ofSpans = (
  run: string,
  spans: ReadonlyArray<Seen>,
  without: ReadonlyArray<Difference> = []
): ReadonlyArray<Segment> => {
  const all = [...differences, ...without]
  const children = new Map<string, Array<Seen>>()
  const known = new Set(spans.map(({ id }) => id))
  for (const span of spans) {
    if (span.parent === undefined) continue
    const there = children.get(span.parent)
    if (there === undefined) children.set(span.parent, [span])
    else there.push(span)
  }
  const grow = (span: Seen): ReadonlyArray<Shape> => {
    // Where all segments are one trace, the later ones are below the first.
    if (span.name === spanName.segment) return []
    const kind = kindOf(span)
    const below = retries((children.get(span.id) ?? []).flatMap(grow), outcomeOfSpan(span), all)
    if (kind === undefined) return below
    const shape = shapeOfSpan(kind, span, ordered(below))
    return all.some(({ shapes }) => shapes?.(shape) === true) ? [] : [formed(shape, all)]
  }
  const anchors = spans.filter(
    ({ attributes, name }) => name === spanName.segment && attributes[espalier.runId] === run
  )
  // Who takes a run up says of the one before that it was lost.
  const lost = new Set(
    anchors.flatMap(({ attributes }) =>
      attributes[espalier.segmentLost] === true ? [Number(attributes[espalier.segmentIndex]) - 1] : []
    )
  )
  return anchors
    .map((anchor): Segment => {
      const torn = spans.filter(
        ({ parent, trace }) => trace === anchor.trace && parent !== undefined && !known.has(parent)
      )
      return {
        index: Number(anchor.attributes[espalier.segmentIndex]),
        cause: String(anchor.attributes[espalier.segmentCause]),
        recalled: Number(anchor.attributes[espalier.replayedCount] ?? 0),
        lost: lost.has(Number(anchor.attributes[espalier.segmentIndex])),
        below: ordered((children.get(anchor.id) ?? []).flatMap(grow)),
        torn: ordered(torn.flatMap(grow))
      }
    })
    .toSorted((one, other) => one.index - other.index)
}

const nameOfNode = ({ name, review }: Delegation.Node): string =>
  review === undefined ? name : `${review.review} ${value(review.kind)}`

const kinds: ReadonlySet<string> = new Set(every)

/** Which task and which try something is a part of. */
interface Around {
  readonly task?: string | undefined
  readonly attempt?: number | undefined
}

const outcomeOfNode = ({ outcome }: Delegation.Node): string | undefined =>
  outcome === undefined ? undefined : outcome === "accepted" ? "ok" : value(outcome)

const shapeOfNode = (kind: Kind, node: Delegation.Node, around: Around, below: ReadonlyArray<Shape>): Shape => {
  const { endedAt, error, outcome, startedAt } = node
  return {
    kind,
    name: nameOfNode(node),
    task: kind === "agent" || kind === "tool" ? around.task : node.task,
    attempt: kind === "tool" ? around.attempt : node.attempt,
    outcome: outcomeOfNode(node),
    error:
      outcome === undefined
        ? undefined
        : errorTypeOfOutcome(outcome, { kind: error?.kind as never, late: outcome === "timed-out" }),
    from: startedAt,
    to: endedAt,
    below
  }
}

/** The segments of a run out of its journal, in their order. */
export const ofTree = (tree: Delegation.Node, without: ReadonlyArray<Difference> = []): ReadonlyArray<Segment> => {
  const all = [...differences, ...without]
  const hasSpan = (node: Delegation.Node): boolean => !all.some(({ nodes }) => nodes?.(node) === true)
  return tree.children.flatMap(({ children, kind, lost, segment }) => {
    if (kind !== "segment" || segment === undefined) return []
    const torn: Array<Shape> = []
    const grow = (node: Delegation.Node, around: Around, isTorn: boolean): ReadonlyArray<Shape> => {
      const isLost = node.lost === true
      const isShown = !isLost && hasSpan(node)
      const inside = { task: node.task ?? around.task, attempt: node.attempt ?? around.attempt }
      const further = node.children.flatMap((child) => grow(child, inside, isLost || (!isShown && isTorn)))
      const below = retries(further, outcomeOfNode(node), all)
      if (!isShown) return below
      if (!kinds.has(node.kind)) throw new Error(`No span stands for a ${node.kind}, which is no difference`)
      const shape = formed(shapeOfNode(node.kind as Kind, node, around, ordered(below)), all)
      if (!isTorn) return [shape]
      torn.push(shape)
      return []
    }
    const below = children.flatMap((child) => grow(child, {}, false))
    return [
      {
        index: segment.index,
        cause: value(segment.cause),
        recalled: segment.replayed,
        lost: lost === true,
        below: ordered(below),
        torn: ordered(torn)
      }
    ]
  })
}

/** Segments as lines, which say it in the fewest words where two differ. */
export const lines = (segments: ReadonlyArray<Segment>): ReadonlyArray<string> => {
  const below = (all: ReadonlyArray<Shape>, depth: number): ReadonlyArray<string> =>
    all.flatMap(({ below: further, kind, name, ...rest }) => [
      `${"  ".repeat(depth)}${kind} ${name ?? ""} ${JSON.stringify(rest)}`,
      ...below(further, depth + 1)
    ])
  return segments.flatMap(({ below: all, torn, ...segment }) => [
    JSON.stringify(segment),
    ...below(all, 1),
    ...(torn.length === 0 ? [] : ["  torn", ...below(torn, 2)])
  ])
}
