/**
 * Which spans a run has, as data: what is opened, told and closed, by the events of the run and the work in between.
 *
 * It makes no span. What was recalled opens nothing; a segment begins with an anchor, which is over before its work begins, so that it
 * is there for later segments to point to whatever becomes of this one.
 *
 * **Invariants**
 *
 * - P1. Whatever is opened is closed, at the latest by {@link SpanPlan.end}.
 * - P2. A parent is closed after its children.
 * - P3. A segment that the journal does not know, as somebody else carries the run out, has an anchor that says so and nothing below it.
 *
 * @since 0.1.0
 */
import { endOfChoice, endOfOrder, errorTypeOfRun, errorTypeOfTool } from "../../agent/internal/errorTypes.ts"
import type { Beginning, Ended, Known, Work } from "../../run/Observer.ts"
import type { Of, RunEvent, WorkerHealth } from "../../run/RunEvent.ts"
import { type Attributes, espalier, links, operations, spanName, value } from "../SemConv.ts"
import { decisionOf } from "./decisions.ts"
import { OpenSpans } from "./openSpans.ts"
import * as budget from "./spanBudget.ts"
import { SpanMemory } from "./spanMemory.ts"
import { closing, type Fields, type How, type Op, type Open } from "./spanOps.ts"
import type { Link } from "./spanSegments.ts"

/**
 * What work opens.
 *
 * **Details**
 *
 * - `id`: by which it is closed. `within`: the span that it is done in. `agent`: who does it, where models are asked for it.
 */
export interface Opened {
  readonly ops: ReadonlyArray<Op>
  readonly id: string
  readonly within: string
  readonly agent?: string
}

const anchor = "segment"
const workflow = "workflow"

/** The domain of a worker, and its own name. */
const placeOf = (worker: string): readonly [domain: string, name: string] => {
  const dot = worker.indexOf(".")
  return dot === -1 ? ["", worker] : [worker.slice(0, dot), worker.slice(dot + 1)]
}

/** What is known of a worker's breaker before it is called: nothing is said of one that is closed. */
const breakerOf = (worker: string, health: WorkerHealth | undefined): Fields =>
  health === "probing" || health === "ready-for-probe"
    ? { [espalier.breakerName]: worker, [espalier.breakerState]: "half_open" }
    : {}

/** How runs are told. See `Tracing.Options`. */
export interface Manner {
  readonly most: number
  readonly mode: "segment" | "run"
  readonly kept: boolean
}

interface More {
  readonly kind?: "internal" | "producer"
  readonly links?: ReadonlyArray<Link>
}

/** How a run is over. */
const endOfRun = (event: Of<"RunFinished">): How => {
  const { status, stopReason } = event
  const error = errorTypeOfRun(event)
  const outcomes = { completed: "accepted", partial: "partial", failed: "failed", cancelled: "cancelled" } as const
  if (status !== "failed") return { outcome: outcomes[status], error }
  if (error === undefined) return { outcome: stopReason === "stop-requested" ? "cancelled" : "denied", error }
  return { outcome: stopReason === "deadline" ? "timed-out" : "failed", error }
}

/** @since 0.1.0 */
export class SpanPlan {
  private readonly run: string
  private readonly names: Attributes
  private readonly manner: Manner
  private recalled = 0
  private known: Known | undefined
  private readonly memory = new SpanMemory()
  private readonly open: OpenSpans
  private readonly tried = new Map<string, string>()
  private begun: Beginning | undefined
  private isWritten = false
  private called = 0
  private ended: Ended["outcome"] | undefined

  constructor(run: string, names: Attributes, manner: Manner) {
    this.run = run
    this.names = names
    this.manner = manner
    this.open = new OpenSpans(names, manner.most)
  }

  recall(event: RunEvent): void {
    this.recalled += 1
    this.memory.learn(event)
  }

  /** The anchor of a segment. `caller`: the span in which it is begun, as a `traceparent`. */
  begin(beginning: Beginning, caller?: string): ReadonlyArray<Op> {
    const { segments } = this.memory
    const { kept, mode } = this.manner
    this.begun = beginning
    this.memory.desk = beginning.desk
    this.isWritten = false
    const fields = {
      [espalier.segmentIndex]: segments.count,
      [espalier.segmentCause]: value(beginning.cause),
      ...(this.recalled === 0 ? {} : { [espalier.replayedCount]: this.recalled })
    }
    return [
      {
        ...this.make(anchor, undefined, spanName.segment, fields, { links: segments.linksOf(beginning, caller) }),
        within: mode === "run" ? segments.first : undefined,
        sampled: segments.isSampled(beginning, kept)
      }
    ]
  }

  /** The journal says that the run is carried out here: P3. */
  private written(): ReadonlyArray<Op> {
    if (this.isWritten) return []
    this.isWritten = true
    const lost = this.begun?.cause === "crash-recovery"
    const attributes = lost ? { [espalier.segmentLost]: true } : {}
    return [{ _tag: "Close", id: anchor, error: undefined, quiet: false, kept: true, attributes }]
  }

  happened(event: RunEvent, known?: Known): ReadonlyArray<Op> {
    this.memory.learn(event)
    this.known = known ?? this.known
    if (this.begun === undefined) return []
    switch (event._tag) {
      case "RunStarted":
        return [...this.written(), ...this.root()]
      case "RunResumed": {
        // What was under way goes on, though its next try may have to wait.
        const under = [...this.memory.orders.keys()].filter((dispatch) => !this.memory.parked.has(dispatch))
        return [
          ...this.written(),
          ...this.root(),
          ...[...this.memory.groups.keys()].flatMap((group) => this.group(group).ops),
          ...under.flatMap((dispatch) => this.delegate(dispatch))
        ]
      }
      case "GroupOpened":
        return this.group(event.task).ops
      case "Dispatched":
      case "Unparked":
        return this.delegate(event.dispatch)
      case "Decided":
        return this.close(`choice ${event.consult}`, { outcome: "accepted" })
      case "DecisionFailed":
        return this.close(`choice ${event.consult}`, endOfChoice(event))
      case "Reported": {
        const id = `dispatch ${event.dispatch}`
        const { dependency } = event
        return this.close(id, endOfOrder(event), {
          ...budget.used(event.result.usage),
          ...(dependency === undefined ? {} : { [espalier.breakerName]: dependency })
        })
      }
      case "Spent":
        this.open.spent(event, this.payers(event))
        return []
      case "BudgetRefused":
      case "Overrun":
        return this.open.tell(this.nearest(event.task), budget.met(event))
      case "Parked":
        return this.close(`dispatch ${event.dispatch}`, { outcome: "suspended" })
      case "Merged":
        return event.group === "" ? [] : this.close(`group ${event.group}`, endOfOrder(event))
      case "ReviewOpened": {
        const order = "dispatch" in event && event.dispatch !== undefined ? `dispatch ${event.dispatch}` : undefined
        const task = "task" in event && event.task !== undefined ? event.task : ""
        const tried = order === undefined ? undefined : this.tried.get(order)
        const asking = [tried, order].find((each) => each !== undefined && this.open.has(each))
        const below = asking === undefined ? this.group(this.memory.parents.get(task) ?? "") : { ops: [], id: asking }
        const id = `review ${event.review}`
        const request = this.opening(
          id,
          below.id,
          spanName.reviewRequest,
          {
            [espalier.reviewId]: event.review,
            [espalier.reviewKind]: value(event.kind),
            [espalier.reviewReason]: value(event.reason)
          },
          { kind: "producer" }
        )
        return [...below.ops, ...request, ...this.close(id, { outcome: "accepted" })]
      }
      case "RunFinished": {
        const how = endOfRun(event)
        this.ended = how.outcome
        return this.closeAll(how)
      }
      default:
        return []
    }
  }

  /** What work opens. */
  work(work: Work): Opened {
    switch (work._tag) {
      case "Attempt": {
        const order = `dispatch ${work.dispatch}`
        if (!this.memory.orders.has(work.dispatch))
          this.memory.orders.set(work.dispatch, { task: work.task, worker: work.worker })
        const below = this.delegate(work.dispatch)
        const id = `attempt ${work.dispatch} ${work.attempt}`
        const [domain, name] = placeOf(work.worker)
        const { worker } = work
        const before = this.tried.get(order)
        this.tried.set(order, id)
        const own = this.opening(
          id,
          order,
          spanName.invokeAgent(worker),
          {
            [this.names.operationName]: operations.invokeAgent,
            [this.names.agentName]: worker,
            [espalier.nodePath]: `${this.memory.desk}/${domain}/${name}`,
            [espalier.nodeKindPath]: `${this.memory.desk}/${domain}/${name}`,
            [espalier.nodeRole]: "worker",
            [espalier.taskId]: work.task,
            [espalier.taskAttempt]: work.attempt,
            [espalier.mailboxWaitTime]: work.waitMillis / 1000,
            ...budget.limits(this.memory.orders.get(work.dispatch)?.limits)
          },
          { links: before === undefined ? [] : [{ type: links.restartOf, to: { id: before } }] }
        )
        const past: ReadonlyArray<Op> = before === undefined ? [] : [{ _tag: "Forget", id: before }]
        return { ops: [...below, ...own, ...past], id, within: this.open.nearest(id), agent: worker }
      }
      case "Choice": {
        const subject = this.memory.groups.has(work.subject)
          ? work.subject
          : (this.memory.parents.get(work.subject) ?? "")
        const below = this.group(subject)
        const id = `choice ${work.consult}`
        const own = this.opening(id, below.id, spanName.plan(this.memory.desk), {
          [this.names.operationName]: operations.plan,
          [this.names.agentName]: this.memory.desk,
          ...(work.candidates === undefined ? {} : { [espalier.routingCandidates]: work.candidates })
        })
        return { ops: [...below.ops, ...own], id, within: this.open.nearest(id), agent: this.memory.desk }
      }
      case "Tool": {
        // A model gives ids as it likes.
        const id = `tool ${++this.called}`
        const attributes = {
          [this.names.operationName]: operations.executeTool,
          [this.names.toolName]: work.tool,
          [this.names.toolType]: "function",
          [this.names.toolCallId]: work.call,
          ...(work.of === undefined
            ? {}
            : {
                [this.names.agentName]: work.of.worker,
                [espalier.taskId]: work.of.task,
                [espalier.taskAttempt]: work.of.attempt
              })
        }
        return { ops: [this.make(id, undefined, spanName.executeTool(work.tool), attributes)], id, within: id }
      }
      case "Decision": {
        const id = `decision ${++this.called}`
        const asked = this.memory.reviews.get(work.review)
        const attributes = {
          [espalier.reviewId]: work.review,
          [espalier.reviewDecision]: decisionOf(work.decision, asked?.kind),
          ...(asked === undefined ? {} : { [espalier.reviewKind]: value(asked.kind) })
        }
        const answers = asked?.trace === undefined ? [] : [{ type: links.answers, to: { trace: asked.trace } }]
        return {
          ops: [this.make(id, undefined, spanName.reviewDecide, attributes, { links: answers })],
          id,
          within: id
        }
      }
    }
  }

  /** What is closed with work. `now`: when, in milliseconds since 1970. */
  done(work: Work, id: string, how: Ended, now: number): ReadonlyArray<Op> {
    switch (work._tag) {
      case "Attempt":
        return this.close(id, how)
      case "Choice":
        // What came of it is told by the run, which may have no use for the answer.
        return how.outcome === "suspended" || how.outcome === "cancelled" ? this.close(id, how) : []
      case "Tool":
        return [closing(id, { ...how, error: errorTypeOfTool(how) }, this.names)]
      case "Decision": {
        const asked = this.memory.reviews.get(work.review)
        const waited = asked === undefined ? {} : { [espalier.reviewWaitTime]: Math.max(0, now - asked.at) / 1000 }
        return [closing(id, how, this.names, waited)]
      }
    }
  }

  /** Nobody carries the run out here any more. */
  end(): ReadonlyArray<Op> {
    const refused = closing(anchor, { outcome: "refused" }, this.names)
    return [
      ...this.closeAll({ outcome: this.ended ?? "suspended" }),
      ...(this.begun === undefined || this.isWritten ? [] : [refused])
    ]
  }

  private root(): ReadonlyArray<Op> {
    if (this.open.has(workflow)) return []
    return [
      ...this.opening(workflow, anchor, spanName.invokeWorkflow(this.memory.desk), {
        [this.names.operationName]: operations.invokeWorkflow,
        [this.names.workflowName]: this.memory.desk,
        [espalier.autonomyTier]: this.memory.tier,
        ...budget.limits(this.known?.account("run")?.limit)
      }),
      ...this.opening("group ", workflow, spanName.invokeAgent(this.memory.desk), {
        [this.names.operationName]: operations.invokeAgent,
        [this.names.agentName]: this.memory.desk,
        [espalier.nodePath]: this.memory.desk,
        [espalier.nodeKindPath]: this.memory.desk,
        [espalier.nodeRole]: "supervisor"
      })
    ]
  }

  /** The span of a group, opened where it is not yet. */
  private group(group: string): { readonly ops: ReadonlyArray<Op>; readonly id: string } {
    const id = `group ${group}`
    if (group === "" || this.open.has(id)) return { ops: [], id }
    const below = this.group(this.memory.parents.get(group) ?? "")
    const kind = this.memory.groups.get(group) ?? "group"
    const own = this.opening(id, below.id, spanName.invokeWorkflow(kind), {
      [this.names.operationName]: operations.invokeWorkflow,
      [this.names.workflowName]: kind,
      [espalier.taskId]: group
    })
    return { ops: [...below.ops, ...own], id }
  }

  private delegate(dispatch: string): ReadonlyArray<Op> {
    const order = this.memory.orders.get(dispatch)
    if (order === undefined || this.open.has(`dispatch ${dispatch}`)) return []
    const [domain] = placeOf(order.worker)
    const group = this.memory.parents.get(order.task) ?? ""
    const before = this.memory.routing.before(order.task)
    const below = this.group(group)
    const id = `domain ${domain} ${group}`
    const supervisor = this.open.has(id)
      ? []
      : this.opening(id, below.id, spanName.invokeAgent(domain), {
          [this.names.operationName]: operations.invokeAgent,
          [this.names.agentName]: domain,
          [espalier.nodePath]: `${this.memory.desk}/${domain}`,
          [espalier.nodeKindPath]: `${this.memory.desk}/${domain}`,
          [espalier.nodeRole]: "supervisor"
        })
    return [
      ...below.ops,
      ...supervisor,
      ...this.opening(
        `dispatch ${dispatch}`,
        id,
        spanName.delegate(order.worker),
        {
          [espalier.delegationId]: dispatch,
          [espalier.delegationFrom]: this.memory.desk,
          [espalier.delegationTo]: order.worker,
          [espalier.delegationMode]: "call",
          [espalier.taskId]: order.task,
          ...budget.limits(order.limits),
          ...breakerOf(order.worker, this.memory.health.get(order.worker)),
          ...this.memory.routing.of(order.task, group, order.worker)
        },
        {
          links: [
            ...(before === undefined ? [] : [{ type: links.restartOf, to: { id: `dispatch ${before}` } }]),
            ...(this.memory.needs.get(order.task) ?? []).flatMap((need) => {
              const from = this.memory.brought.get(need)
              return from === undefined ? [] : [{ type: links.gathers, to: { id: from } }]
            })
          ]
        }
      )
    ]
  }

  /**
   * What is open that a piece of work is a part of, from the inside out. A choice is over before what it has used is written, so that is
   * told of the group that it was made for.
   */
  private payers({ dispatch, task }: Of<"Spent">): ReadonlyArray<string> {
    const order = `dispatch ${dispatch}`
    const own = [this.tried.get(order) ?? "", order].find((id) => this.open.has(id))
    const around = this.memory.groups.has(task) ? this.nearestGroup(task) : this.nearest(task)
    return this.open.around(own ?? around)
  }

  /** The group of a task that is open, or the nearest one around it. */
  private nearest(task: string): string {
    return this.nearestGroup(this.memory.parents.get(task) ?? "")
  }

  private nearestGroup(of: string): string {
    let group = of
    while (group !== "" && !this.open.has(`group ${group}`)) group = this.memory.parents.get(group) ?? ""
    return `group ${group}`
  }

  private make(id: string, parent: string | undefined, name: string, attributes: Fields, more: More = {}): Open {
    const { kind = "internal", links = [] } = more
    const own = {
      [espalier.runId]: this.run,
      ...(this.memory.desk === "" ? {} : { [espalier.workflowType]: this.memory.desk })
    }
    return { _tag: "Open", id, parent, name, kind, attributes: { ...own, ...attributes }, links }
  }

  private opening(id: string, parent: string, name: string, attributes: Fields, more?: More): ReadonlyArray<Op> {
    return this.open.open({ ...this.make(id, parent, name, attributes, more), parent })
  }

  /** Closes a span, and before it whatever is open below it. The last try of an order is pointed to no more. P2 */
  private close(id: string, how: How, more?: Fields): ReadonlyArray<Op> {
    return this.open.close(id, how, more).flatMap((op) => {
      const last = this.tried.get(op.id)
      if (last === undefined) return [op]
      this.tried.delete(op.id)
      return [op, { _tag: "Forget", id: last }]
    })
  }

  private closeAll(how: How): ReadonlyArray<Op> {
    if (!this.open.has(workflow)) return []
    const { dropped } = this.open
    return this.close(workflow, how, {
      ...budget.used(this.known?.account("run")?.settled),
      ...(dropped === 0 ? {} : { [espalier.spansDropped]: dropped })
    }) // P1
  }
}
