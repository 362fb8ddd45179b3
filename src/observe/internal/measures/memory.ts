/**
 * What has to be remembered of a run to measure what happens next in it. It follows from the events alone.
 *
 * **Invariants**
 *
 * - M1. What is remembered is a function of the events that were seen, whoever has seen them.
 * - M2. Of a task that is over only who has made its result is kept, and of a run that is over nothing.
 *
 * @since 0.1.0
 */
import { endOfOrder, errorTypeOfEnd, errorTypeOfKind, type ErrorType } from "../../../agent/internal/errorTypes.ts"
import type { Of, PlannedTask, RunEvent } from "../../../run/RunEvent.ts"
import type { OpenChoice, OpenOrder, OpenReview, OpenTask, Tokens } from "./openWork.ts"
import { Waiting } from "./waiting.ts"

/** What people do, and what is told to them, is no sign that somebody carries the run out. */
const fromOutside: ReadonlySet<RunEvent["_tag"]> = new Set<RunEvent["_tag"]>([
  "AutonomyChanged",
  "CancelRequested",
  "GrantGiven",
  "GrantRevoked",
  "Notified",
  "ReviewChanged",
  "ReviewDecided",
  "ReviewRefused",
  "ReviewVoted",
  "ReviewWithdrawn"
])

/** @since 0.1.0 */
export class Memory {
  desk = ""
  startedAt = 0
  isOver = false
  tokens = 0
  readonly waiting = new Waiting()
  readonly costs = new Map<string, number>()
  readonly tasks = new Map<string, OpenTask>()
  readonly reviews = new Map<string, OpenReview>()
  readonly choices = new Map<string, OpenChoice>()
  /** who has made the accepted result of a task that is over */
  readonly producers = new Map<string, string>()
  /** kinds of the groups that are open, by the task that each carries out */
  private readonly kinds = new Map<string, string>()
  /** by whom the choices of a group are made */
  private readonly methods = new Map<string, "llm" | "rule">()
  /** keys of effects, by task */
  private readonly effects = new Map<string, Set<string>>()
  /** tasks that need a task which is not over */
  private readonly dependants = new Map<string, Array<OpenTask>>()
  /** orders that are worked on, and what is waited for: people and timers */
  private readonly working = new Set<string>()
  private readonly waits = new Set<string>()
  private lastAt = 0

  /** Who gives the orders for a task: the desk, or a group of it. */
  supervisorOf(group: string): string {
    const kind = this.kinds.get(group)
    return kind === undefined ? this.desk : `${this.desk}/${kind}`
  }

  /** Whether a task intended an effect with this key before. */
  intended(task: string, effect: string): boolean {
    return this.effects.get(task)?.has(effect) === true
  }

  /** How long an order was worked on at `at`, in milliseconds. */
  activeOf({ at: since, retryUntil, waiting }: OpenOrder, at: number): number {
    // An order that was called back did not wait for its next attempt to the end.
    return Math.max(0, at - since - waiting.at(at) + Math.max(0, retryUntil - at))
  }

  /** How many tasks are in each state, waits for timers apart. */
  get states(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { state } of this.tasks.values()) counts.set(state, (counts.get(state) ?? 0) + 1)
    return counts
  }

  see(event: RunEvent): void {
    if (this.isOver) return
    this.change(event)
    if (!fromOutside.has(event._tag)) this.lastAt = Math.max(this.lastAt, event.at)
    if (event._tag !== "RunFinished") return this.rest(event.at)
    this.isOver = true // M2
    for (const each of [this.tasks, this.reviews, this.choices, this.producers, this.kinds, this.methods]) each.clear()
    for (const each of [this.effects, this.dependants, this.working, this.waits]) each.clear()
  }

  /** The run waits while there is nothing that anybody works on. */
  private rest(at: number): void {
    if (this.working.size === 0 && this.choices.size === 0 && this.waits.size > 0) this.waiting.begin("others", at)
    else this.waiting.end("others", at)
  }

  private add(group: string, tasks: ReadonlyArray<PlannedTask>, at: number, correcting = false): void {
    const depth = (this.tasks.get(group)?.depth ?? 0) + 1
    const added: Array<OpenTask> = []
    for (const { id, needs } of tasks) {
      const task: OpenTask = {
        id,
        group,
        needs,
        open: 0,
        depth,
        correcting: correcting || this.tasks.get(group)?.correcting === true,
        method: this.methods.get(group) ?? "rule",
        waiting: new Waiting(),
        readyAt: at,
        state: "queued",
        orders: new Map(),
        routed: undefined,
        order: undefined,
        attempts: 0,
        steps: 0,
        delivered: false,
        accepted: undefined,
        lastError: undefined,
        tokens: { input: 0, output: 0, cacheRead: 0, reasoning: 0 },
        costs: new Map()
      }
      this.tasks.set(id, task)
      added.push(task)
      for (const need of needs) {
        const others = this.dependants.get(need)
        if (others === undefined) this.dependants.set(need, [task])
        else others.push(task)
      }
    }
    for (const task of added) {
      task.open = task.needs.filter((need) => this.tasks.has(need)).length
      if (task.open === 0) task.state = "ready"
    }
  }

  private change(event: RunEvent): void {
    switch (event._tag) {
      case "RunStarted":
        this.desk = event.desk
        this.startedAt = event.at
        return this.add("", event.tasks, event.at)
      case "GroupOpened": {
        const task = this.tasks.get(event.task)
        if (task !== undefined) task.state = "running"
        this.kinds.set(event.task, event.kind)
        return this.add(event.task, event.tasks, event.at, event.kind === "follow-up")
      }
      case "TasksAdded":
        return this.add(event.group, event.tasks, event.at)
      case "Merged":
        this.kinds.delete(event.group)
        this.methods.delete(event.group)
        return
      case "Consulted": {
        const { at, consult, purpose, subject } = event
        this.choices.set(consult, { at, purpose, subject, models: 0, waiting: new Waiting() })
        return
      }
      case "Decided":
      case "DecisionFailed": {
        const choice = this.choices.get(event.consult)
        this.choices.delete(event.consult)
        if (choice !== undefined) this.methods.set(event.subject, choice.models > 0 ? "llm" : "rule")
        return
      }
      case "Spent":
        return this.spent(event)
      case "EffectIntended":
        if (this.tasks.has(event.task)) {
          const keys = this.effects.get(event.task) ?? new Set()
          this.effects.set(event.task, keys.add(event.effect))
        }
        return
      case "RunSuspended":
        this.waiting.begin("suspended", event.at)
        return this.eachWaiting((waiting) => waiting.begin("suspended", event.at))
      case "RunResumed":
        return this.resumed(event.at)
      case "RunFinished":
        return
      default:
        if (event._tag.startsWith("Review")) this.ofReview(event)
        else this.ofTask(event)
    }
  }

  private eachWaiting(change: (waiting: Waiting) => void): void {
    for (const { order, waiting } of this.tasks.values()) {
      change(waiting)
      if (order !== undefined) change(order.waiting)
    }
    for (const { waiting } of this.choices.values()) change(waiting)
  }

  private resumed(at: number): void {
    // A process that died did not say since when nobody works: since the last that is known of it, that is.
    const change = (waiting: Waiting): void => {
      waiting.lost(this.lastAt, at)
      waiting.end("suspended", at)
    }
    change(this.waiting)
    this.eachWaiting(change)
  }

  private spent(event: Of<"Spent">): void {
    const { dispatch, facts, usage } = event
    const tokens = facts?.["estimated"] === true ? 0 : (usage.tokens ?? 0)
    const currency = currencyOf(event)
    const task = this.tasks.get(event.task)
    const choice = this.choices.get(dispatch)
    this.tokens += tokens
    if (usage.cost !== undefined) add(this.costs, currency, usage.cost)
    if (event.what === "model" && choice !== undefined) choice.models += 1
    if (task === undefined) return
    task.steps += (usage.steps ?? 0) + (usage.toolCalls ?? 0)
    if (usage.cost !== undefined) add(task.costs, currency, usage.cost)
    if (event.what === "model" && facts?.["estimated"] !== true) addTokens(task.tokens, facts?.["usage"])
    const { order } = task
    if (order?.dispatch !== dispatch) return
    if (event.what === "model") order.models += 1
    if (event.what === "tool") order.tools += 1
  }

  private ofTask(event: RunEvent): void {
    if (!("task" in event) || typeof event.task !== "string") return this.ofTimer(event)
    const task = this.tasks.get(event.task)
    if (task === undefined) return
    switch (event._tag) {
      case "Routed":
        task.routed = event.worker
        return
      case "Dispatched": {
        const { at, dispatch, worker } = event
        const had = task.orders.get(worker)
        const first = task.orders.size === 0
        task.orders.set(worker, { times: (had?.times ?? 0) + 1 })
        task.order = { dispatch, worker, at, first, waiting: new Waiting(), models: 0, tools: 0, retryUntil: 0 }
        task.state = "running"
        this.working.add(dispatch)
        return
      }
      case "AttemptFailed":
        task.attempts += 1
        task.lastError = errorTypeOfKind(event)
        if (task.order === undefined) return
        task.order.waiting.waited += event.waitMillis
        task.waiting.waited += event.waitMillis
        task.order.retryUntil = event.at + event.waitMillis
        return
      case "Parked":
        this.working.delete(event.dispatch)
        this.waits.add(event.dispatch)
        task.order?.waiting.begin("parked", event.at)
        task.waiting.begin("parked", event.at)
        return
      case "Unparked":
        if (task.order !== undefined) this.working.add(event.dispatch)
        this.waits.delete(event.dispatch)
        task.order?.waiting.end("parked", event.at)
        task.waiting.end("parked", event.at)
        return
      case "Reported":
        return this.reported(task, event)
      case "Reused":
        task.accepted = event.worker
        return
      case "TaskEnded":
        return this.ended(task, event)
      default:
    }
  }

  private reported(task: OpenTask, event: Of<"Reported">): void {
    const { at, dispatch, outcome, result, worker } = event
    const { order } = task
    this.working.delete(dispatch)
    this.waits.delete(dispatch)
    if (order !== undefined) {
      task.waiting.waited -= Math.max(0, order.retryUntil - at)
      task.waiting.end("parked", at)
    }
    const had = task.orders.get(worker)
    if (had !== undefined) had.outcome = outcome
    if (result.error !== undefined) task.lastError = lastErrorOf(event)
    if (result.error === undefined) task.delivered = true
    task.accepted = outcome === "accepted" || outcome === "partial" ? worker : undefined
    task.order = undefined
    task.state = "ready"
  }

  private ended({ accepted, id }: OpenTask, { at, status }: Of<"TaskEnded">): void {
    this.tasks.delete(id)
    this.kinds.delete(id)
    this.methods.delete(id)
    this.effects.delete(id)
    if (accepted !== undefined && (status === "accepted" || status === "partial")) this.producers.set(id, accepted)
    for (const other of this.dependants.get(id) ?? []) {
      other.readyAt = Math.max(other.readyAt, at)
      other.waiting.waited = 0
      other.open -= 1
      if (other.open === 0 && other.state === "queued") other.state = "ready"
    }
    this.dependants.delete(id)
  }

  private ofTimer(event: RunEvent): void {
    if (event._tag !== "TimerSet" && event._tag !== "TimerFired") return
    const waiting = this.tasks.get(event.subject)?.waiting
    if (event._tag === "TimerSet") {
      this.waits.add(event.timer)
      waiting?.begin(event.timer, event.at)
    } else {
      this.waits.delete(event.timer)
      waiting?.end(event.timer, event.at)
    }
  }

  private ofReview(event: RunEvent): void {
    if (event._tag === "ReviewOpened") {
      this.reviews.set(event.review, { event, stage: "primary", claim: undefined })
      this.waits.add(event.review)
      const task = event.dispatch === undefined ? this.taskOf(event.task) : undefined
      if (task === undefined) return
      task.waiting.begin(event.review, event.at)
      task.state = "awaiting_review"
      return
    }
    if (!("review" in event) || typeof event.review !== "string") return
    const review = this.reviews.get(event.review)
    if (review === undefined) return
    switch (event._tag) {
      case "ReviewAdvanced":
        if (event.what === "widened") review.stage = event.stage >= 2 ? "escalated" : "alternate"
        return
      case "ReviewChanged":
        if (event.what === "claimed") {
          const { claim } = review
          const since = claim === undefined || claim.until < event.at ? event.at : claim.since
          review.claim = { since, until: event.until ?? Number.POSITIVE_INFINITY }
        }
        if (event.what === "released") review.claim = undefined
        return
      case "ReviewDecided":
      case "ReviewWithdrawn":
        return this.closed(event.review, review, event.at)
      case "ReviewExpired":
        if (event.action !== "hold") this.closed(event.review, review, event.at)
        return
      default:
    }
  }

  private closed(id: string, { event }: OpenReview, at: number): void {
    this.reviews.delete(id)
    this.waits.delete(id)
    const task = event.dispatch === undefined ? this.taskOf(event.task) : undefined
    if (task === undefined) return
    task.waiting.end(id, at)
    if (task.state === "awaiting_review") task.state = "ready"
  }

  private taskOf(id: string | undefined): OpenTask | undefined {
    return id === undefined ? undefined : this.tasks.get(id)
  }
}

/** What an order failed of, for its task: one that was refused is an error of the task where nobody else does it. */
const lastErrorOf = (event: Of<"Reported">): ErrorType | "none" => {
  const end = endOfOrder(event)
  return errorTypeOfEnd(end) ?? (end.kind === undefined ? "none" : errorTypeOfKind(end))
}

const add = (sums: Map<string, number>, key: string, value: number): void => {
  sums.set(key, (sums.get(key) ?? 0) + value)
}

/** The currency of what was spent, as far as it is known. */
export const currencyOf = ({ facts }: Of<"Spent">): string => {
  const currency = facts?.["currency"]
  return typeof currency === "string" ? currency : "unknown"
}

const addTokens = (tokens: Tokens, usage: unknown): void => {
  if (typeof usage !== "object" || usage === null) return
  const of = (kind: string): number => {
    const value = (usage as Readonly<Record<string, unknown>>)[kind]
    return typeof value === "number" ? value : 0
  }
  tokens.input += of("input") + of("cacheRead") + of("cacheWrite")
  tokens.output += of("output")
  tokens.cacheRead += of("cacheRead")
  tokens.reasoning += of("reasoning")
}
