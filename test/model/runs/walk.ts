/** Carries a case to its end with `decide` and `evolve` alone: no Effect, no clock, no worker, only what might be told. */
import { Result as EffectResult } from "effect"
import { type Coordinator, Decider, Desk, type RunEvent, RunState } from "espalier/run"
import { Fake } from "espalier/testing"

import type { Case } from "./case.ts"
import { type Dice, fate } from "./fate.ts"
import { throughJson, Watcher } from "./holds.ts"
import { deskOf, optionsOf } from "./office.ts"
import { decisionOn, insteadOf, mergedOf, reportOf } from "./telling.ts"

type Event = RunEvent.RunEvent
type Of<Tag extends Event["_tag"]> = RunEvent.Of<Tag>
type Action<Tag extends Decider.Action["_tag"]> = Extract<Decider.Action, { readonly _tag: Tag }>

/** Something does not hold. */
export class Violation extends Error {}

const fail = (what: string): never => {
  throw new Violation(what)
}

const mostEvents = 1_500

export interface Told {
  readonly events: ReadonlyArray<Event>
  readonly state: RunState.RunState | undefined
  readonly wrong: string | undefined
}

class Walk {
  readonly events: Array<Event> = []
  current: RunState.RunState | undefined
  private readonly plan: Case
  private readonly desk: Desk.Desk<unknown, never>
  private readonly spec: Decider.Spec
  private readonly templates: ReadonlyMap<string, Coordinator.Task<never, unknown>>
  private readonly coordinators: ReadonlyMap<string, Coordinator.Coordinator<never, unknown>>
  private readonly watcher: Watcher
  private readonly prefixes = new Map<string, string>([["", ""]])
  private readonly asked = new Map<string, Action<"Consult">>()
  private readonly late = new Set<string>()
  private at = 0
  private round = 0

  constructor(plan: Case) {
    this.plan = plan
    this.desk = deskOf(plan, (name, spec) => Fake.worker(name, optionsOf(spec)))
    this.spec = Desk.spec(this.desk)
    this.templates = Desk.templates(this.desk)
    this.coordinators = Desk.coordinators(this.desk)
    this.watcher = new Watcher(this.spec)
  }

  private get state(): RunState.RunState {
    return this.current ?? fail("nothing has begun")
  }

  private fate(...key: ReadonlyArray<string | number>): Dice {
    return fate(this.plan.seed, ...key)
  }

  private happened(event: Event): void {
    if (this.events.length >= mostEvents) fail(`the run does not end within ${mostEvents} events`)
    this.events.push(event)
    const before = this.current
    const next = RunState.evolve(before, event)
    if (EffectResult.isFailure(next)) return fail(next.failure.message)
    this.current = next.success
    const wrong = this.watcher.see(before, event, next.success)
    if (wrong !== undefined) fail(wrong)
  }

  /** To the end of the run. */
  go(): void {
    const { budgets, deadline, tier, tokens } = this.plan
    const limits = {
      ...(tokens === undefined ? {} : { run: { tokens } }),
      ...Object.fromEntries(Object.entries(budgets).map(([account, tokens]) => [account, { tokens }]))
    }
    this.happened({
      _tag: "RunStarted",
      at: 0,
      run: "r1",
      desk: "desk",
      version: "1",
      definition: "d",
      input: null,
      tasks: Desk.tasks(this.desk),
      coordinator: this.desk.coordinator.kind,
      containment: this.desk.coordinator.containment,
      limits,
      tier,
      ...(deadline === undefined ? {} : { deadlineAt: deadline }),
      note: "Asked for"
    })
    this.settle()
    let middle: { readonly length: number; readonly state: RunState.RunState } | undefined
    while (!RunState.isFinished(this.state.status)) {
      this.round += 1
      if (this.fate("keep", this.round).next() < 0.2) middle = { length: this.events.length, state: this.state }
      this.move()
    }
    this.same(this.events.length, this.state)
    if (middle !== undefined) this.same(middle.length, middle.state)
  }

  private same(length: number, state: RunState.RunState): void {
    const folded = RunState.fold(this.events.slice(0, length))
    if (EffectResult.isFailure(folded)) return fail(`the history does not fold: ${folded.failure.message}`)
    if (JSON.stringify(text(folded.success)) !== JSON.stringify(text(state))) {
      fail(`R-215: the first ${length} events do not fold to the state that they led to`)
    }
  }

  /** Decides until nothing is left to decide, as a step of a run does. */
  private settle(): void {
    for (;;) {
      const actions = Decider.decide(this.state, this.spec)
      this.alike(actions)
      if (actions.length === 0) return
      for (const action of actions) this.carryOut(action)
    }
  }

  private alike(actions: ReadonlyArray<Decider.Action>): void {
    const said = JSON.stringify(actions)
    if (JSON.stringify(Decider.decide(this.state, this.spec)) !== said)
      fail("R-215: decide does not decide the same twice")
    if (this.fate("json", this.state.version).next() > 0.1) return
    const again = JSON.stringify(Decider.decide(throughJson(this.state), this.spec))
    if (again !== said) fail(`R-215: decide decides otherwise of the JSON of the state: ${again} and not ${said}`)
  }

  private carryOut(action: Decider.Action): void {
    const { at } = this
    switch (action._tag) {
      case "Dispatch":
        return this.give(action)
      case "OpenGroup":
        return this.open(action)
      case "AddTasks": {
        const { group, note, tasks } = action
        const on = this.state.tasks.get(group)
        const prefix = this.prefixes.get(group) ?? ""
        const key = on === undefined ? "" : `${on.template ?? on.id}/`
        return this.happened({
          _tag: "TasksAdded",
          at,
          group,
          tasks: tasks.map((task) => under(task, prefix, key)),
          note
        })
      }
      case "Merge":
        return this.merge(action)
      case "Consult": {
        const { note, purpose, subject } = action
        const consult = `r1/consult/${this.state.consulted + 1}`
        this.asked.set(consult, action)
        return this.happened({ _tag: "Consulted", at, consult, subject, purpose, note })
      }
      case "Review": {
        const { task, ...rest } = action
        const review = `r1/review/${this.state.reviewed + 1}`
        return this.happened({ ...rest, _tag: "ReviewOpened", at, review, ...(task === undefined ? {} : { task }) })
      }
      case "SetTimer": {
        const { millis, purpose, task: subject } = action
        const timer = `r1/timer/${this.state.timersSet + 1}`
        return this.happened({ _tag: "TimerSet", at, timer, subject, purpose, due: at + millis, note: "It waits" })
      }
      case "EndTask": {
        const { dispatch, ...rest } = action
        return this.happened({ ...rest, _tag: "TaskEnded", at, ...(dispatch === undefined ? {} : { dispatch }) })
      }
      case "RefuseBudget":
        return this.happened({ ...action, _tag: "BudgetRefused", at })
      case "Confirm":
        return this.happened({ ...action, _tag: "Confirmed", at })
      case "Recall":
        return this.happened({ ...action, _tag: "Recalled", at })
      case "StopGroup":
        return this.happened({ ...action, _tag: "GroupStopping", at })
      case "Finish":
        return this.happened({ ...action, _tag: "RunFinished", at })
    }
  }

  private give({ candidates, note, task: id, worker }: Action<"Dispatch">): void {
    const { at } = this
    const task = this.state.tasks.get(id) ?? fail(`an order for ${id}, which nobody knows`)
    const dispatch = `r1/${id}/${task.dispatches + 1}`
    const { next, pick } = this.fate("give", dispatch, task.tries.length, this.state.version)
    const known = this.state.health.get(worker)?.health ?? "healthy"
    const refused = known !== "healthy" && known !== "ready-for-probe" ? known : undefined
    if (refused !== undefined || next() < this.plan.trouble.sick) {
      const health = refused ?? pick(["degraded", "unavailable", "probing"] as const)
      return this.happened({ _tag: "HealthChanged", at, worker, health, note: "It is not let have it" })
    }
    this.happened({ _tag: "Routed", at, task: id, worker, candidates, note })
    if (next() < this.plan.trouble.odd / 4) {
      return this.happened({ _tag: "ContractRefused", at, task: id, worker, note: "CONTRACT_INVALID" })
    }
    const twin = [...this.state.tasks.values()].find((each) => each.id !== id && each.status === "accepted")
    const first = twin?.tries.find(({ kind, version }) => kind === undefined && version === twin.result)
    if (twin !== undefined && first !== undefined && task.tries.length === 0 && next() < this.plan.trouble.odd / 2) {
      return this.happened({
        _tag: "Reused",
        at,
        task: id,
        worker,
        of: twin.id,
        version: first.version,
        note: "The same"
      })
    }
    const template = this.templates.get(task.template ?? task.id)
    const { deadlineMillis, ...limits } = template?.limits ?? {}
    const { estimate } = this.spec.workers.get(worker) ?? fail(`an order for ${worker}, whom nobody knows`)
    if (limits.tokens !== undefined && task.dispatches === 0 && (estimate.tokens ?? 0) > limits.tokens) {
      return this.happened({ _tag: "ContractRefused", at, task: id, worker, note: "CONTRACT_INVALID: limits.tokens" })
    }
    const deadlineAt = task.deadlineAt ?? (deadlineMillis === undefined ? undefined : at + deadlineMillis)
    this.happened({
      _tag: "Dispatched",
      at,
      task: id,
      dispatch,
      worker,
      contract: 1,
      ...(next() < 0.5 ? { digest: `${worker} ${pick(["x", "y", "z"])}` } : {}),
      ...(Object.keys(estimate).length === 0 ? {} : { reserved: estimate }),
      ...(Object.keys(limits).length === 0 || task.dispatches > 0 ? {} : { limits }),
      ...(deadlineAt === undefined ? {} : { deadlineAt }),
      note: `${dispatch} is given to ${worker}`
    })
  }

  private open({ answer, kind, note, task: id }: Action<"OpenGroup">): void {
    const { at } = this
    const task = this.state.tasks.get(id) ?? fail(`a group for ${id}, which nobody knows`)
    const key = task.template ?? id
    const coordinator = answer === undefined ? this.coordinators.get(key) : undefined
    const prefix = `${id}/${coordinator === undefined ? kind : ""}${task.tries.length}/`
    this.prefixes.set(id, prefix)
    const tasks =
      coordinator === undefined
        ? (answer as unknown as ReadonlyArray<RunEvent.PlannedTask>).map((each) => under(each, prefix, ""))
        : coordinator.initial.map((each) => under(each, prefix, `${key}/`))
    const { deadlineMillis, ...limits } = this.templates.get(key)?.limits ?? {}
    this.happened({
      _tag: "GroupOpened",
      at,
      task: id,
      kind,
      containment: coordinator?.containment ?? "isolate",
      tasks,
      limits,
      ...(deadlineMillis === undefined ? {} : { deadlineAt: at + deadlineMillis }),
      note
    })
  }

  private merge({ group: id, result }: Action<"Merge">): void {
    const { at } = this
    const group = this.state.groups.get(id) ?? fail(`an end of the group ${id}, which nobody knows`)
    const dice = this.fate("merge", id, group.tasks.length, this.state.reviewed, this.state.consulted)
    const { next } = dice
    const tasks = group.tasks.map((each) => this.state.tasks.get(each)!)
    const useful = tasks.filter(({ status }) => status === "accepted" || status === "partial")
    if (id === "" && group.stopping === undefined && useful.length > 0 && next() < this.plan.trouble.odd) {
      const said = group.said.some(({ kind }) => kind === "reconciliation")
      if (!said && group.answers.length === 0 && next() < 0.5) {
        const review = `r1/review/${this.state.reviewed + 1}`
        return this.happened({
          _tag: "ReviewOpened",
          at,
          review,
          kind: "reconciliation",
          reason: "conflict",
          allowed: ["answer", "accept-partial"],
          facts: { field: "f" },
          note: "Which one is it?"
        })
      }
      if (!said && (group.consult?.failures ?? 0) < 2 && group.answers.length === 0) {
        return this.carryOut({ _tag: "Consult", subject: "", purpose: "reconcile", note: "Which one is it?" })
      }
    }
    const whole = useful.length === tasks.length && group.stopping === undefined && result === undefined
    const merged = mergedOf(dice, useful.length, whole)
    this.happened({ _tag: "Merged", at, group: id, kind: group.kind, ...merged, note: "The tasks are over" })
  }

  /** Time passes, and something is told. */
  private move(): void {
    const dice = this.fate("move", this.round)
    const { below, next } = dice
    this.at += next() < 0.1 ? below(100_000) : below(4_000)
    const { status } = this.state
    if (status === "waiting" || status === "suspended") return this.fromOutside(dice)
    const roll = next()
    if (roll < this.plan.trouble.cutOff) {
      if (next() < 0.7) this.happened({ _tag: "RunSuspended", at: this.at, reason: "asked", note: "Asked to stop" })
      else this.resume()
      return
    }
    const happens: Array<() => void> = []
    for (let more = true; more; more = next() < 0.3) happens.push(...this.something(dice))
    this.datelines(happens)
    if (happens.length === 0) {
      if (this.waitsForNothing()) fail("nothing is under way and nothing is decided")
      return
    }
    for (const each of happens) each()
    this.settle()
  }

  private waitsForNothing(): boolean {
    const { consulting, reviews, running, timers } = this.state
    return running === 0 && consulting === 0 && reviews.size === 0 && timers.length === 0
  }

  private resume(): void {
    this.happened({ _tag: "RunResumed", at: this.at, note: "Taken up again" })
    this.settle()
  }

  /** What people say while nobody carries the run out, which is then taken up. */
  private fromOutside(dice: Dice): void {
    const wakes = RunState.wakeAt(this.state)
    if (wakes !== undefined && dice.next() < 0.7) return this.wake(wakes, dice)
    const [review] = this.state.reviews.values()
    if (review !== undefined && dice.next() < 0.7) this.decideReview(review)
    else if (this.state.status === "waiting") this.toEnd(dice)
    else if (dice.next() < 0.1) this.toEnd(dice)
    if (this.state.status === "running" || this.state.status === "suspended") this.resume()
  }

  /** The time has come for which the run waits, whether or not somebody was there. */
  private wake(wakes: number, { below, next }: Dice): void {
    this.at = Math.max(this.at, wakes + (next() < 0.5 ? 0 : below(200_000)))
    if (next() < 0.7) this.happened({ _tag: "RunResumed", at: this.at, note: "Its time has come" })
    const happens: Array<() => void> = []
    this.datelines(happens)
    for (const each of happens) each()
    this.settle()
  }

  private toEnd({ next, pick }: Dice): void {
    const { at } = this
    if (this.state.cancelled === undefined && next() < 0.3) {
      return this.happened({ _tag: "CancelRequested", at, by: "somebody", note: "Enough" })
    }
    const { tier: from } = this.state
    const to = pick((["low", "medium", "full"] as const).filter((tier) => tier !== from))
    this.happened({ _tag: "AutonomyChanged", at, from, to, by: "somebody", note: "So be it" })
  }

  /** The deadlines that have passed and the timers that are due, with what is told at the same moment. */
  private datelines(happens: Array<() => void>): void {
    const { at, state } = this
    const { deadlineAt, expired, tasks, timed, timers } = state
    const note = "Its time is over"
    const found: Array<{ readonly due: number; readonly happens: () => void }> = []
    const end = deadlineAt !== undefined && !expired && deadlineAt <= at ? deadlineAt : Infinity
    if (end <= at) {
      found.push({
        due: end,
        happens: () => this.happened({ _tag: "DeadlinePassed", at, subject: "", due: end, note })
      })
    }
    for (const subject of timed) {
      const due = tasks.get(subject)!.deadlineAt!
      if (due > at) continue
      const passes = () => {
        const task = this.state.tasks.get(subject)!
        // One that has reported at the same moment is in time.
        if (task.dispatch === undefined && tasks.get(subject)!.dispatch !== undefined) return
        if (!task.expired && task.heldAt === undefined)
          this.happened({ _tag: "DeadlinePassed", at, subject, due, note })
      }
      found.push({ due, happens: passes })
    }
    for (const { due, subject, timer } of timers) {
      if (due > at || due >= end) continue
      found.push({ due, happens: () => this.happened({ _tag: "TimerFired", at, timer, subject, due, note: "Now" }) })
    }
    found.sort((one, other) => one.due - other.due)
    happens.push(...found.map(({ happens }) => happens))
  }

  private something(dice: Dice): ReadonlyArray<() => void> {
    const { next, pick } = dice
    const { at, state } = this
    const { cancelAt, sick } = this.plan.trouble
    const roll = next()
    if (cancelAt !== undefined && at >= cancelAt && state.cancelled === undefined) {
      return [
        () => this.state.cancelled ?? this.happened({ _tag: "CancelRequested", at, by: "somebody", note: "Enough" })
      ]
    }
    if (roll < sick) {
      const worker = pick(this.plan.workers).name
      const health = pick(["healthy", "healthy", "degraded", "ready-for-probe", "probing", "unavailable"] as const)
      return [() => this.happened({ _tag: "HealthChanged", at, worker, health, note: `It is ${health}` })]
    }
    const late = [...this.late]
    if (late.length > 0) {
      this.late.clear()
      return [
        () => this.happened({ _tag: "Noticed", at, subject: "", what: "late-answer", note: `${late.join()} too late` })
      ]
    }
    const open = [...state.tasks.values()].filter(({ dispatch }) => dispatch !== undefined)
    const choices: Array<() => ReadonlyArray<() => void>> = []
    if (open.length > 0) choices.push(() => [() => this.report(pick(open).id)])
    const [consult] = this.asked.keys()
    if (consult !== undefined) choices.push(() => [() => this.answer(consult)])
    const [review] = state.reviews.values()
    if (review !== undefined && (choices.length === 0 || next() < 0.2)) {
      return [() => (this.state.reviews.has(review.review) ? this.decideReview(review) : undefined)]
    }
    return choices.length === 0 ? [] : pick(choices)()
  }

  private report(id: string): void {
    const { at } = this
    const task = this.state.tasks.get(id)!
    const { dispatch } = task
    // It may have reported in the same moment.
    if (dispatch === undefined) return
    const { id: name, recalled, worker } = dispatch
    const dice = this.fate("report", name, task.attempts)
    if (recalled === undefined && task.attempts < 2 && dice.next() < this.plan.trouble.failing / 2) {
      const attempt = task.attempts + 1
      const said = { attempt, kind: "transient", waitMillis: 1_000, note: "Slow down" } as const
      return this.happened({ _tag: "AttemptFailed", at, task: id, dispatch: name, worker, ...said })
    }
    const reserved = this.state.ledger.reservations.get(name)?.amount.tokens
    const { outcome, result } = reportOf(dice, this.plan.trouble, recalled, reserved)
    const digest = result.output === undefined ? {} : { digest: dice.pick(["x", "y"]) }
    const told = { task: id, dispatch: name, worker, attempts: task.attempts + 1, outcome, result, ...digest }
    this.happened({ _tag: "Reported", at, ...told, note: "Reported" })
    for (const { account, limit, measure, settled } of this.state.overruns) {
      const said = { account, measure, limit, settled, note: "More than was set aside" }
      this.happened({ _tag: "Overrun", at, task: id, dispatch: name, ...said })
    }
  }

  private answer(consult: string): void {
    const { at } = this
    const action = this.asked.get(consult)
    if (action === undefined) return
    this.asked.delete(consult)
    const { purpose, subject } = action
    const group = this.state.groups.get(subject)
    const task = this.state.tasks.get(subject)
    if ((group?.consult ?? task?.consult)?.id !== consult || (group?.consult ?? task?.consult)?.status !== "open") {
      this.late.add(consult)
      return
    }
    const { below, next, pick } = this.fate("answer", consult)
    const usage = next() < 0.5 ? {} : { usage: { tokens: below(20) } }
    if (next() < 0.2) {
      const error = { kind: "malformed" as const, reason: "It cannot be told" }
      return this.happened({ _tag: "DecisionFailed", at, consult, subject, error, ...usage, note: "No answer" })
    }
    const template = task === undefined ? "" : (task.template ?? task.id)
    let answer: Of<"Decided">["answer"] = { reconcile: { f: 1 } }
    if (purpose === "route") answer = pick(this.routesOf(subject))
    else if (purpose !== "reconcile") {
      const known = this.templates.get(template) ?? fail(`no template ${template} to ${purpose}`)
      answer = insteadOf(known, purpose) ?? fail(`${template} cannot ${purpose}`)
    }
    this.happened({ _tag: "Decided", at, consult, subject, answer, ...usage, note: "Decided" })
  }

  private routesOf(group: string): ReadonlyArray<string> {
    const task = this.state.tasks.get(group)
    const key = task === undefined ? "" : (task.template ?? task.id)
    return (this.coordinators.get(key) ?? fail(`nobody to ask for a route of ${key}`)).tasks.map(({ id }) => id)
  }

  private decideReview(review: RunState.ReviewState): void {
    const on = review.task ?? ""
    const answers = this.state.tasks.get(on)?.answers.length ?? this.state.groups.get(on)?.said.length ?? 0
    const routes = review.kind === "routing" ? this.routesOf(on) : []
    const decided = decisionOn(this.fate("person", review.review), review, answers, routes)
    this.happened({ _tag: "ReviewDecided", at: this.at, ...decided, note: "So be it" })
  }
}

const text = (state: RunState.RunState | undefined): unknown =>
  JSON.parse(
    JSON.stringify(state, (_, value: unknown) =>
      value instanceof Map ? [...value.entries()] : value instanceof Set ? [...value] : value
    ) ?? "null"
  )

/** A task of a group under the group's names. */
const under = (task: RunEvent.PlannedTask, prefix: string, key: string): RunEvent.PlannedTask => ({
  ...task,
  id: `${prefix}${task.id}`,
  needs: task.needs.map((need) => `${prefix}${need}`),
  ...(key === "" && task.template === undefined && (prefix === "" || task.amendment !== undefined)
    ? {}
    : { template: `${key}${task.template ?? task.id}` })
})

/** Carries a case to its end, or as far as everything holds. */
export const walk = (plan: Case): Told => {
  const each = new Walk(plan)
  let wrong: string | undefined
  try {
    each.go()
  } catch (error) {
    wrong =
      error instanceof Violation
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error)
  }
  return { events: each.events, state: each.current, wrong }
}
