/**
 * The fold from the events of a run to its delegation.
 *
 * @since 0.1.0
 */
import { callOf } from "../../agent/internal/callSums.ts"
import { modelEffect } from "../../agent/internal/endings.ts"
import { domainOf } from "../../agent/internal/meterRows.ts"
import { applyEvent, type Draft } from "../../run/internal/apply.ts"
import type { ErrorInfo } from "../../run/Result.ts"
import type { DispatchEnd, Of, RunEvent, TaskEnd } from "../../run/RunEvent.ts"
import type { Node } from "../Delegation.ts"
import { Causes, isInside } from "./causes.ts"
import { Order } from "./order.ts"
import { Section, type Group } from "./section.ts"
import { grown, outcomeOfTask, type Said, Twig } from "./twig.ts"

type Outcome = Node["outcome"]
type Fault = NonNullable<Node["error"]>

/** How a run ends, as an outcome. */
const outcomeOfRun = ({ status, stopReason }: Of<"RunFinished">): DispatchEnd => {
  if (status === "completed") return "accepted"
  if (status !== "failed") return status
  return stopReason === "budget-exceeded" ? stopReason : stopReason === "deadline" ? "timed-out" : "failed"
}

/** What went wrong in an order. That people said no, and that it was called back, are no errors. */
const faultOf = (
  outcome: DispatchEnd,
  error: ErrorInfo | undefined,
  note: string,
  review?: string
): Fault | undefined => {
  if (outcome === "accepted" || outcome === "partial" || outcome === "cancelled") return undefined
  if (outcome === "denied" && review !== undefined) return undefined
  return error === undefined ? { kind: outcome, reason: note } : { kind: error.kind, reason: error.reason }
}

/** Events become a tree. */
export class Delegating {
  private draft: Draft | undefined
  private events = 0
  private ids = 0
  private run: Twig | undefined
  private desk = ""
  private lastAt = 0
  private section: Section | undefined
  private segments = 0
  private readonly causes = new Causes()
  private readonly groupOf = new Map<string, string>()
  private readonly groups = new Map<string, Group>()
  private readonly orders = new Map<string, Order>()
  private readonly orderOf = new Map<string, string>()
  /** Orders of which another attempt is to come. */
  private readonly waiting = new Set<Order>()
  private readonly consults = new Map<string, { readonly event: Of<"Consulted">; twig: Twig }>()
  private readonly failed = new Map<string, Array<Twig>>()
  private readonly reviews = new Map<string, Twig>()
  private readonly parked = new Map<string, Twig>()
  private readonly outside = new Map<
    string,
    { readonly name: string; readonly dispatch: string; readonly twig: Twig }
  >()
  /** Where a late payment for an order or a choice is told of. */
  private readonly payers = new Map<string, Twig>()
  private readonly tasks = new Map<string, TaskEnd>()

  add(event: RunEvent): void {
    const inside = isInside(event)
    const isCutOff = this.section?.isOpen === true
    const cause = event._tag === "RunResumed" ? this.causes.of(this.draft, isCutOff, event) : undefined
    const next = applyEvent(this.draft, event)
    if (typeof next !== "string") this.draft = next
    const { run, section } = this.begun(event)
    if (cause !== undefined) this.resume(run, event, cause)
    else {
      // Who has put it down may not be who carried it out.
      if (inside && event._tag !== "RunSuspended") this.pass(event.at)
      if (!section.isOpen && inside && run.isOpen && this.draft?.status === "running") this.goOn(run, section)
      const found = this.causes.see(event)
      const { segment } = section.twig.said
      if (found !== undefined && segment !== undefined) section.twig.said.segment = { ...segment, cause: found }
      this.take(event, section, run)
    }
    this.events += 1
    this.lastAt = Math.max(this.lastAt, event.at)
    if (inside && this.section !== undefined) this.section.lastAt = Math.max(this.section.lastAt, event.at)
    if (this.draft?.status === "waiting") this.rest(event.at, run)
  }

  tree(): Node | undefined {
    return this.run === undefined ? undefined : grown(this.run, this.tasks).node
  }

  /** Begins the attempts that are due by then. */
  private pass(at: number): void {
    for (const order of this.waiting) {
      if (order.goesOn) order.due(at)
      if (!order.waits) this.waiting.delete(order)
    }
  }

  private readonly twig = (
    parent: Twig | undefined,
    kind: Node["kind"],
    name: string,
    at: number,
    said: Said = {}
  ): Twig => {
    const twig = new Twig(this.ids++, kind, name, at, said)
    parent?.children.push(twig)
    return twig
  }

  /** The run and its segment; of a history without a beginning they begin with its first event. */
  private begun(event: RunEvent): { readonly run: Twig; readonly section: Section } {
    const { at } = event
    if (event._tag === "RunStarted" && this.run === undefined) {
      this.desk = event.desk
      this.lastAt = at
      for (const { id } of event.tasks) this.groupOf.set(id, "")
    }
    this.run ??= this.twig(undefined, "run", event._tag === "RunStarted" ? event.run : "", at)
    this.section ??= this.segment(this.run, at, "start")
    return { run: this.run, section: this.section }
  }

  private segment(run: Twig, at: number, cause: NonNullable<Node["segment"]>["cause"]): Section {
    const index = this.segments++
    const said = { segment: { index, cause, replayed: this.events } }
    return new Section(this.twig(run, "segment", String(index), at, said), this.twig, this.desk, this.groups)
  }

  private resume(run: Twig, { at }: RunEvent, cause: NonNullable<Node["segment"]>["cause"]): void {
    if (this.section?.isOpen === true) this.lose(this.section)
    // The history begins with it.
    if (this.events > 0) this.section = this.segment(run, at, cause)
    const { section } = this
    if (section === undefined) return
    if (run.isOpen) delete run.said.outcome
    for (const group of this.groups.keys()) section.place(group, at)
    for (const order of this.orders.values()) if (!this.parked.has(order.dispatch)) this.give(order, section, at)
    for (const consult of this.consults.values()) consult.twig = this.consulted(consult.event, section, at)
  }

  /** A process has ended in the middle: nobody knows more of what went on than until its last event. */
  private lose(section: Section): void {
    this.pass(section.lastAt)
    section.stop(section.lastAt, undefined, true)
  }

  /** Nothing goes on, and the run waits. */
  private rest(at: number, run: Twig): void {
    if (this.section?.isOpen !== true) return
    this.section.stop(at, "suspended")
    run.said.outcome = "suspended"
  }

  /** What it waited for came before whoever carries it out had left. */
  private goOn(run: Twig, section: Section): void {
    section.goOn()
    delete run.said.outcome
  }

  private give(order: Order, section: Section, at: number): void {
    const group = this.groupOf.get(order.task) ?? ""
    order.begin(section, section.domain(group, domainOf(order.worker), at), at)
    if (order.waits) this.waiting.add(order)
    this.paid(order.dispatch, order.at(at))
  }

  private paid(id: string, twig: Twig | undefined): Twig | undefined {
    if (twig !== undefined) this.payers.set(id, twig)
    return twig
  }

  private consulted({ consult, purpose, subject }: Of<"Consulted">, section: Section, at: number): Twig {
    const isGroup = subject === "" || this.groups.has(subject)
    const place = section.place(isGroup ? subject : (this.groupOf.get(subject) ?? ""), at)
    const said = isGroup ? {} : { task: subject }
    const twig = section.start(place.twig, "plan", purpose, at, said)
    this.paid(consult, twig)
    return twig
  }

  /** A leaf that stands for a moment. */
  private note(
    parent: Twig,
    name: string,
    { at, note }: { readonly at: number; readonly note: string },
    said?: Said
  ): Twig {
    const twig = this.twig(parent, "note", name, at, { ...said, note })
    twig.end(at)
    return twig
  }

  /** Where what concerns a task is told of. */
  private of(task: string, section: Section, at: number): Twig {
    return section.place(this.groupOf.get(task) ?? "", at).twig
  }

  private take(event: RunEvent, section: Section, run: Twig): void {
    const { at } = event
    switch (event._tag) {
      case "GroupOpened":
        this.groups.set(event.task, { parent: this.groupOf.get(event.task) ?? "", kind: event.kind })
        for (const { id } of event.tasks) this.groupOf.set(id, event.task)
        section.place(event.task, at)
        return
      case "TasksAdded":
        for (const { id } of event.tasks) this.groupOf.set(id, event.group)
        return
      case "Merged": {
        const error = faultOf(event.outcome, event.result.error, event.note)
        const said = { outcome: event.outcome, ...(error === undefined ? {} : { error }) }
        this.note(section.place(event.group, at).twig, "merged", event, said)
        if (event.group !== "") this.ungroup(event.group, section, at, event.outcome, error)
        return
      }
      case "Consulted":
        this.consults.set(event.consult, { event, twig: this.consulted(event, section, at) })
        return
      case "Decided":
      case "DecisionFailed":
        return this.decided(event, section)
      case "Dispatched": {
        const order = new Order(event.task, event.dispatch, event.worker)
        this.drop(event.task)
        this.orders.set(event.dispatch, order)
        this.orderOf.set(event.task, event.dispatch)
        return this.give(order, section, at)
      }
      case "AttemptFailed": {
        const order = this.orders.get(event.dispatch)
        if (order === undefined) return
        order.failed(event.attempt, at, event.waitMillis, { kind: event.kind, reason: event.note })
        this.waiting.add(order)
        return
      }
      case "Recalled": {
        const order = this.orders.get(event.dispatch)
        if (order !== undefined) order.isRecalled = true
        return
      }
      case "Reported": {
        const { attempts, dispatch, note, outcome, result, review } = event
        const order = this.orders.get(dispatch)
        if (order === undefined) return
        // One that is called back may say so while its next attempt is to come.
        if (outcome !== "cancelled" && !order.isRecalled) order.heard(attempts, at)
        order.stop(at, outcome, faultOf(outcome, result.error, note, review))
        this.drop(event.task)
        return
      }
      case "Parked": {
        const order = this.orders.get(event.dispatch)
        const twig = order?.at(at)
        order?.stop(at, "suspended")
        const { dispatch, note } = event
        this.parked.set(dispatch, this.twig(twig ?? this.of(event.task, section, at), "note", "parked", at, { note }))
        return
      }
      case "Unparked": {
        this.parked.get(event.dispatch)?.end(at, "ok")
        this.parked.delete(event.dispatch)
        const order = this.orders.get(event.dispatch)
        if (order !== undefined) this.give(order, section, at)
        return
      }
      case "TaskEnded":
        this.tasks.set(event.task, event.status)
        this.drop(event.task)
        this.ungroup(event.task, section, at, outcomeOfTask[event.status])
        return
      case "EffectIntended": {
        const order = this.orders.get(event.dispatch)
        if (order !== undefined && event.name === modelEffect) order.isAgent = true
        else {
          const twig = order?.intended(event.name, at)
          const { dispatch, effect, name } = event
          if (twig !== undefined) this.outside.set(effect, { name, dispatch, twig })
        }
        return
      }
      case "EffectSettled":
        return this.settled(event)
      case "Spent":
        return this.spent(event, section)
      case "ReviewOpened": {
        const { dispatch, facts: _, kind, reason, review, supersedes, task } = event
        if (supersedes !== undefined) this.answered(supersedes, at, "cancelled", { end: "superseded" })
        const asking = dispatch === undefined ? undefined : this.orders.get(dispatch)?.at(at)
        const parent = asking ?? (task === undefined ? section.place("", at).twig : this.of(task, section, at))
        const said = { review: { review, kind, reason }, note: event.note, ...(task === undefined ? {} : { task }) }
        this.reviews.set(review, this.twig(parent, "review", kind, at, said))
        return
      }
      case "ReviewDecided": {
        const { by, decision } = event
        const outcome = decision === "reject" ? "denied" : "accepted"
        return this.answered(event.review, at, outcome, { end: "decided", decision, by })
      }
      case "ReviewExpired":
        if (event.action !== "hold")
          this.answered(event.review, at, "timed-out", { end: "expired", decision: event.action })
        return
      case "ReviewWithdrawn": {
        const by = event.by === undefined ? {} : { by: event.by }
        return this.answered(event.review, at, "cancelled", { end: "withdrawn", ...by })
      }
      case "RunSuspended": {
        // Another process puts down what was cut off: of what went on there, nobody knows more.
        if (section.isOpen && event.reason !== "asked") this.lose(section)
        else if (section.isOpen) {
          for (const order of this.orders.values()) if (order.goesOn) order.stop(at, "suspended")
          section.stop(at, "suspended")
        }
        run.said.outcome = "suspended"
        return
      }
      case "RunFinished": {
        const outcome = outcomeOfRun(event)
        section.stop(at, outcome === "accepted" ? "ok" : outcome)
        for (const [review] of this.reviews) this.answered(review, at, "cancelled", { end: "withdrawn" })
        for (const twig of this.parked.values()) if (twig.isOpen) twig.end(at)
        const error = event.status === "failed" ? { kind: event.stopReason, reason: event.note } : undefined
        run.end(at, outcome, error)
        return
      }
      default:
        return this.noted(event, section)
    }
  }

  /** What happens to a run beside its work, as leaves. */
  private noted(event: RunEvent, section: Section): void {
    const { at, note } = event
    switch (event._tag) {
      case "ContractRefused": {
        const error = { kind: "contract-violation", reason: note }
        this.note(this.of(event.task, section, at), `contract refused: ${event.worker}`, event, {
          task: event.task,
          outcome: "rejected-contract",
          error
        })
        return
      }
      case "BudgetRefused": {
        const error = { kind: "budget-exceeded", reason: note }
        this.note(this.of(event.task, section, at), `budget refused: ${event.account}`, event, {
          task: event.task,
          outcome: "budget-exceeded",
          error
        })
        return
      }
      case "Reused":
        this.note(this.of(event.task, section, at), `reused: ${event.of}`, event, { task: event.task, outcome: "ok" })
        return
      case "Overrun":
        this.note(this.of(event.task, section, at), `overrun: ${event.account}`, event, { task: event.task })
        return
      case "GroupStopping":
        this.note(section.place(event.group, at).twig, `stopping: ${event.reason}`, event)
        return
      case "DeadlinePassed": {
        const { subject } = event
        const error = { kind: "timeout", reason: note }
        const said = { outcome: "timed-out", error, ...(subject === "" ? {} : { task: subject }) } as const
        this.note(subject === "" ? section.place("", at).twig : this.of(subject, section, at), "deadline", event, said)
        return
      }
      case "CancelRequested":
        this.note(section.place("", at).twig, `cancel asked for: ${event.by}`, event)
        return
      default:
    }
  }

  private decided(event: Of<"Decided"> | Of<"DecisionFailed">, section: Section): void {
    const consult = this.consults.get(event.consult)
    if (consult === undefined) return
    this.consults.delete(event.consult)
    const { event: asked, twig } = consult
    const what = `${asked.purpose} ${asked.subject}`
    if (event._tag === "DecisionFailed") {
      const { kind, reason } = event.error
      section.end(twig, event.at, "failed", { kind, reason })
      this.failed.set(what, [...(this.failed.get(what) ?? []), twig])
      return
    }
    section.end(twig, event.at, "accepted")
    // Asked again, it was answered.
    for (const each of this.failed.get(what) ?? []) each.healed = true
    this.failed.delete(what)
  }

  private settled({ at, effect, note, outcome: end }: Of<"EffectSettled">): void {
    const known = this.outside.get(effect)
    if (known === undefined) return
    this.outside.delete(effect)
    const { dispatch, name, twig } = known
    const outcome: Outcome = end === "done" ? "ok" : "failed"
    const error = end === "done" ? undefined : { kind: `${twig.kind}-failed`, reason: note }
    const order = this.orders.get(dispatch)
    if (twig.said.lost !== true) return order?.settled(twig, at, outcome, error)
    if (order?.wasRepeated(name) === true) return
    const parent = order?.at(at) ?? this.payers.get(dispatch)
    if (parent !== undefined) this.twig(parent, twig.kind, name, at).end(at, outcome, error)
  }

  private spent(event: Of<"Spent">, section: Section): void {
    const { at, dispatch, facts, note, what } = event
    const order = this.orders.get(dispatch)
    const parent = this.paid(dispatch, order?.at(at)) ?? this.payers.get(dispatch) ?? section.place("", at).twig
    const millis = facts?.["durationMillis"]
    const began = at - (typeof millis === "number" && millis > 0 ? millis : 0)
    if (what === "model") {
      const call = callOf(event)
      const twig = this.twig(parent, "chat", call?.model ?? "model", began, { note })
      twig.own.model(call, event)
      if (call === undefined || call.end === "answered") {
        twig.end(at, "ok")
        // Another model has answered, or the same one when it was asked again.
        for (let index = parent.children.length - 2; index >= 0; index--) {
          const each = parent.children[index]
          if (each?.kind !== "chat") continue
          if (each.said.outcome === "ok") break
          each.healed = true
        }
      } else if (call.end === "interrupted") twig.end(at, "cancelled")
      else twig.end(at, "failed", { kind: call.end, reason: call.reason ?? note })
      return
    }
    if (what !== "tool") return void this.note(parent, `paid: ${what}`, event)
    const tool = typeof facts?.["tool"] === "string" ? facts["tool"] : "tool"
    const end = facts?.["outcome"]
    const outcome: Outcome = end === "failed" ? "failed" : end === "interrupted" ? "cancelled" : "ok"
    const error = outcome === "failed" ? { kind: "tool-failed", reason: note } : undefined
    const known = order?.called(tool, at, outcome, error)
    const twig = known ?? this.twig(parent, "tool", tool, began)
    if (known === undefined) twig.end(at, outcome, error)
    twig.own.tool()
  }

  private answered(review: string, at: number, outcome: Outcome, end: Partial<NonNullable<Node["review"]>>): void {
    const twig = this.reviews.get(review)
    if (twig === undefined) return
    this.reviews.delete(review)
    twig.end(at, outcome)
    const { review: asked } = twig.said
    if (asked !== undefined) twig.said.review = { ...asked, ...end, waitMillis: Math.max(0, at - twig.startedAt) }
  }

  /** The order of a task is no longer open. */
  private drop(task: string): void {
    const dispatch = this.orderOf.get(task)
    if (dispatch === undefined) return
    this.orderOf.delete(task)
    const order = this.orders.get(dispatch)
    if (order?.goesOn === true) order.stop(this.lastAt, undefined)
    this.orders.delete(dispatch)
    this.parked.get(dispatch)?.end(this.lastAt)
    this.parked.delete(dispatch)
  }

  private ungroup(group: string, section: Section, at: number, outcome: Outcome, error?: Fault): void {
    if (!this.groups.has(group)) return
    section.close(group, at, outcome, error)
    this.groups.delete(group)
  }
}
