import { assert, describe, it } from "@effect/vitest"
import { Result as EffectResult } from "effect"
import { type Coordinator, Decider, Desk, Ladder, Plan, ReviewPolicy, type RunEvent, RunState } from "espalier/run"
import { Fake } from "espalier/testing"

import { nextDue } from "../../src/run/internal/applying/timers.ts"
import { dueBy } from "../../src/run/internal/timing.ts"
import { wrongIn } from "../model/runs/holds.ts"
import { task } from "./desks.ts"
import { deskOf } from "./living.ts"
import { dice, envelope, get } from "./simulate.ts"

const hour = 3_600_000

type Dice = ReturnType<typeof dice>

/** Tasks with gates, deadlines, budgets, and tasks of their own, down to three deep. */
const planned = ({ below, next }: Dice, depth: number): ReadonlyArray<Plan.Task<never>> =>
  Array.from({ length: 1 + below(4) }, (_, index) => {
    const { worker, ...rest } = task(`t${index}`, {
      needs: Array.from({ length: index }, (_, before) => `t${before}`).filter(() => next() < 0.3),
      acceptMissing: next() < 0.3,
      ...(next() < 0.3 ? { acceptance: "person" as const } : {}),
      ...(next() < 0.2 ? { onIncomplete: "escalate" as const } : {}),
      ...(next() < 0.15 ? { after: `${1 + below(20)} hours` as const } : {}),
      ...(next() < 0.4 ? { limits: { deadlineMillis: (1 + below(40)) * hour } } : {})
    })
    const inner = depth < 3 && next() < 0.35
    return (
      inner ? { ...rest, by: groupOf({ below, next } as Dice, depth + 1) } : { ...rest, worker }
    ) as Plan.Task<never>
  })

const groupOf = (random: Dice, depth: number): Coordinator.Coordinator<never> => {
  const roll = random.next()
  const containment = roll < 0.15 ? "fail-fast" : roll < 0.25 ? { quorum: 1 } : "isolate"
  return Plan.make<never>(planned(random, depth), { containment })
}

const finals = ["reject", "halt", "hold"] as const

const ladderOf = ({ below, pick }: Dice) =>
  Ladder.make({
    stages: [
      { to: ["anyone"], after: 0, remindAt: [0.5] },
      { to: ["anyone"], after: `${1 + below(10)} hours` }
    ],
    final: { after: `${11 + below(10)} hours`, action: pick(finals) }
  })

const deskFor = (random: Dice) =>
  deskOf(
    [
      Fake.worker("one", { otherwise: "x", size: 2, estimate: { tokens: 10 } }),
      Fake.worker("two", { otherwise: "x", size: 3, risk: "low", estimate: { tokens: 5 } })
    ],
    groupOf(random, 1) as Coordinator.Coordinator<string>,
    {
      tier: random.next() < 0.3 ? "low" : "medium",
      ...(random.next() < 0.3
        ? { limits: { tokens: 25 }, policy: { atCap: "review" } }
        : { limits: { tokens: 100_000 } }),
      reviews: ReviewPolicy.make({ ladders: { low: ladderOf(random), question: ladderOf(random) } })
    }
  )

/** A run that goes by without any Effect: what is decided is written down, and what happens outside is thrown by dice. */
class Played {
  readonly events: Array<RunEvent.RunEvent> = []
  state!: RunState.RunState
  at = 0
  readonly desk: ReturnType<typeof deskFor>
  readonly spec: Decider.Spec
  readonly coordinators: ReadonlyMap<string, Coordinator.Coordinator<never, never>>
  readonly random: Dice
  refused = 0

  constructor(seed: number) {
    this.random = dice(seed)
    this.desk = deskFor(this.random)
    this.spec = Desk.spec(this.desk)
    this.coordinators = Desk.coordinators(this.desk)
    this.take({
      _tag: "RunStarted",
      at: 0,
      run: "r1",
      desk: "desk",
      version: "1",
      definition: "",
      input: null,
      tasks: Desk.tasks(this.desk),
      containment: this.desk.coordinator.containment,
      limits: { run: { tokens: this.desk.limits.tokens ?? 0 } },
      tier: this.desk.tier,
      ...(this.random.next() < 0.3 ? { deadlineAt: (20 + this.random.below(200)) * hour } : {}),
      note: ""
    })
  }

  take(event: RunEvent.RunEvent): void {
    this.events.push(event)
    this.state = get(RunState.evolve(this.state, event))
    // What an order has asked is withdrawn in the same step in which it is over.
    const over = ({ dispatch, task = "" }: RunState.ReviewState) => {
      const { dispatch: open, parked } = this.state.tasks.get(task) ?? {}
      return dispatch !== undefined && (open ?? parked)?.id !== dispatch
    }
    const ends = event._tag === "Reported" || event._tag === "ReviewWithdrawn"
    const halfway = ends && [...this.state.reviews.values()].some(over)
    const wrong = halfway ? undefined : wrongIn(this.state)
    if (wrong !== undefined) throw new Error(`after ${event._tag} at version ${this.state.version}: ${wrong}`)
  }

  /** What may be refused; then nothing has changed. */
  offer(event: RunEvent.RunEvent): boolean {
    const before = this.state
    const next = RunState.evolve(before, event)
    if (EffectResult.isFailure(next)) {
      this.refused += 1
      assert.strictEqual(this.state, before)
      return false
    }
    this.take(event)
    return true
  }

  withdraw(which: (review: RunState.ReviewState) => boolean): void {
    const open = [...this.state.reviews.values()].filter(which)
    for (const { review } of open) this.take({ _tag: "ReviewWithdrawn", at: this.at, review, note: "Not needed" })
  }

  open(review: Omit<RunEvent.Of<"ReviewOpened">, "_tag" | "at" | "review" | "terms" | "steps">): void {
    const subject = { kind: review.kind, risk: "low" as const }
    this.take({
      _tag: "ReviewOpened",
      at: this.at,
      review: `r1/review/${this.state.reviewed + 1}`,
      terms: ReviewPolicy.terms(this.desk.reviews, subject),
      steps: Ladder.arm(ReviewPolicy.ladder(this.desk.reviews, subject), this.at),
      ...review
    })
  }

  /** Writes one decision down. */
  carry(action: Decider.Action): void {
    const { at, state } = this
    switch (action._tag) {
      case "Dispatch": {
        const { approval, candidates, note, task, worker } = action
        const before = state.tasks.get(task)!
        const granted = before.approved.find((each) => each.worker === worker)
        if (approval !== undefined && granted === undefined) throw new Error("an approval that is not there")
        this.take({ _tag: "Routed", at, task, worker, candidates, note })
        const { limits } = this.template(task)
        this.take({
          _tag: "Dispatched",
          at,
          task,
          dispatch: `r1/${task}/${before.dispatches + 1}`,
          worker,
          contract: 1,
          reserved: this.spec.workers.get(worker)!.estimate,
          ...(granted?.review === undefined ? {} : { grant: granted.review }),
          ...(limits?.deadlineMillis === undefined ? {} : { deadlineAt: at + limits.deadlineMillis }),
          note
        })
        return
      }
      case "RefuseBudget": {
        const { _tag: _, ...rest } = action
        return this.take({ _tag: "BudgetRefused", at, ...rest })
      }
      case "Recall": {
        const { _tag: _, ...rest } = action
        return this.take({ _tag: "Recalled", at, ...rest })
      }
      case "Confirm": {
        const { _tag: _, ...rest } = action
        return this.take({ _tag: "Confirmed", at, ...rest })
      }
      case "Unpark": {
        const { _tag: _, ...rest } = action
        return this.take({ _tag: "Unparked", at, ...rest })
      }
      case "OpenGroup": {
        const { kind, note, task: id } = action
        const known = state.tasks.get(id)!
        const key = known.template ?? known.id
        const by = this.coordinators.get(key)!
        const times = known.tries.filter(({ dispatch }) => dispatch === undefined).length
        const prefix = times === 0 ? `${id}/` : `${id}/${times + 1}/`
        const { limits } = this.template(id)
        return this.take({
          _tag: "GroupOpened",
          at,
          task: id,
          kind,
          containment: by.containment,
          tasks: by.initial.map((each) => ({
            ...each,
            id: `${prefix}${each.id}`,
            needs: each.needs.map((need) => `${prefix}${need}`),
            template: `${key}/${each.id}`
          })),
          ...(limits?.deadlineMillis === undefined ? {} : { deadlineAt: at + limits.deadlineMillis }),
          note
        })
      }
      case "StopGroup": {
        const { group, note, reason, recall } = action
        const own = state.groups.get(group)?.review
        this.withdraw(({ review }) => review === own)
        return this.take({ _tag: "GroupStopping", at, group, reason, recall, note })
      }
      case "Merge": {
        const { group } = action
        const { accepted, kind, partial } = state.groups.get(group)!
        const some = accepted + partial > 0
        const result = some
          ? envelope({ output: at })
          : envelope({ status: "failed", confidence: 0, error: { kind: "capability", reason: "nothing" } })
        return this.take({ _tag: "Merged", at, group, kind, outcome: some ? "accepted" : "failed", result, note: "" })
      }
      case "Review": {
        const { _tag: _, task, ...rest } = action
        return this.open({ ...(task === undefined ? {} : { task }), ...rest })
      }
      case "SetTimer": {
        const { millis, purpose, task: subject } = action
        const timer = `r1/timer/${state.timersSet + 1}`
        return this.take({ _tag: "TimerSet", at, timer, subject, purpose, due: at + millis, note: "" })
      }
      case "EndTask": {
        const { _tag: _, dispatch, ...rest } = action
        this.withdraw(({ task }) => task === action.task)
        return this.take({ _tag: "TaskEnded", at, ...(dispatch === undefined ? {} : { dispatch }), ...rest })
      }
      case "Finish": {
        const { _tag: _, ...rest } = action
        this.withdraw(() => true)
        return this.take({ _tag: "RunFinished", at, ...rest })
      }
      default:
        throw new Error(`a ${action._tag} of plain plans`)
    }
  }

  template(id: string): Plan.Task<never> {
    const { template = id } = this.state.tasks.get(id)!
    return Desk.templates(this.desk).get(template)! as Plan.Task<never>
  }

  decide(): void {
    for (let rounds = 0; rounds < 1_000; rounds++) {
      const actions = Decider.decide(this.state, this.spec)
      if (actions.length === 0) return
      for (const action of actions) this.carry(action)
    }
    throw new Error("the decisions have no end")
  }

  /** Lets time pass, up to what is due next, and takes that in. */
  pass(): void {
    const { below } = this.random
    const next = nextDue(this.state)
    const to = this.at + below(8) * hour
    this.at = next !== undefined && this.random.next() < 0.5 ? Math.max(this.at, next) : to
    for (const event of dueBy(this.state, this.at, new Set())) this.take(event)
  }

  /** What an order comes to: it asks, waits, goes on, or ends. */
  report(): void {
    const { next, pick } = this.random
    const open = [...this.state.tasks.values()].filter(({ dispatch }) => dispatch !== undefined)
    if (open.length === 0) return
    const { id: name, attempts, dispatch } = pick(open)
    const { id, recalled, worker } = dispatch!
    const roll = next()
    const asked = [...this.state.asks.values()].filter((ask) => ask.task === name)
    if (recalled === undefined && roll < 0.3 && asked.length < 4) {
      const key = `${name} ${asked.length}`
      return this.open({
        task: name,
        dispatch: id,
        key,
        kind: "question",
        reason: "asked",
        allowed: ["answer", "reject"],
        facts: {},
        note: "Which?"
      })
    }
    if (recalled === undefined && roll < 0.55 && asked.some(({ review }) => this.state.reviews.has(review))) {
      return this.take({
        _tag: "Parked",
        at: this.at,
        task: name,
        dispatch: id,
        worker,
        usage: { tokens: 1 },
        note: ""
      })
    }
    const result =
      recalled !== undefined
        ? envelope({ status: "failed", confidence: 0, error: { kind: "transient", reason: "stopped" } })
        : roll < 0.8
          ? envelope({ output: this.at, confidence: next() })
          : roll < 0.9
            ? envelope({ status: "partial", output: this.at, missing: [{ part: "p", reason: "q" }] })
            : envelope({
                status: "failed",
                confidence: 0,
                error: { kind: pick(["transient", "capability", "denied", "defect"] as const), reason: "broke" }
              })
    const outcome = recalled !== undefined ? "cancelled" : result.status === "completed" ? "accepted" : result.status
    this.take({
      _tag: "Reported",
      at: this.at,
      task: name,
      dispatch: id,
      worker,
      attempts: attempts + 1,
      outcome: outcome as RunEvent.DispatchEnd,
      result,
      note: ""
    })
    this.withdraw((review) => review.dispatch === id)
  }

  /** What people say. */
  say(): void {
    const { next, pick } = this.random
    const { at } = this
    const open = [...this.state.reviews.values()]
    if (open.length === 0) return
    const { allowed, facts, kind, review } = pick(open)
    const roll = next()
    const by = "ann"
    if (roll < 0.6) {
      const decision = pick(allowed.filter((each) => each !== "retry" || next() < 0.2))
      if (decision === undefined) return
      const raise = kind === "budget-increase" && decision === "approve" ? { raise: { tokens: 1_000 } } : {}
      const answer = decision === "answer" ? { answer: "this" } : {}
      return this.take({
        _tag: "ReviewDecided",
        at,
        review,
        decision,
        by,
        ...raise,
        ...answer,
        note: String(facts["task"])
      })
    }
    if (roll < 0.7) return this.take({ _tag: "ReviewWithdrawn", at, review, by, note: "Taken back" })
    if (roll < 0.8) {
      this.offer({ _tag: "ReviewVoted", at, review, decision: pick(allowed), by, note: "" })
      return
    }
    if (roll < 0.9) {
      this.offer({ _tag: "ReviewChanged", at, review, by, what: "extended", millis: 5 * hour, note: "" })
      return
    }
    this.take({ _tag: "ReviewChanged", at, review, by, what: "claimed", until: at + hour, note: "" })
  }

  /** To the end. */
  play(): RunState.RunState {
    const { next } = this.random
    for (let round = 0; round < 3_000; round++) {
      this.decide()
      if (RunState.isFinished(this.state.status)) return this.state
      const roll = next()
      if (roll < 0.02) {
        this.take({ _tag: "RunSuspended", at: this.at, reason: "asked", note: "" })
        this.at += this.random.below(50) * hour
        if (next() < 0.5) this.say()
        this.at += this.random.below(50) * hour
        this.take({ _tag: "RunResumed", at: this.at, note: "" })
      } else if (roll < 0.025 && this.state.cancelled === undefined) {
        this.take({ _tag: "CancelRequested", at: this.at, by: "ann", note: "Enough" })
      } else if (roll < 0.45) this.pass()
      else if (roll < 0.85) this.report()
      else this.say()
    }
    throw new Error("it does not end")
  }
}

const trial = (seed: number): Played => {
  const played = new Played(seed)
  try {
    played.play()
    return played
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

describe("A random run with questions to people", () => {
  const hundreds = [0, 100, 200]
  for (const from of hundreds) {
    it(`D73 D79 D89 S1 to S11 hold after each event, and nothing is left at its end: seeds ${from} to ${from + 99}`, () => {
      for (let seed = from; seed < from + 100; seed++) {
        const { events, state } = trial(seed)
        assert.strictEqual(state.reviews.size, 0, `seed ${seed}`)
        assert.strictEqual(state.ledger.reservations.size, 0, `seed ${seed}`)
        assert.deepStrictEqual([state.asks.size, state.running, state.load.size], [0, 0, 0], `seed ${seed}`)
        assert.deepStrictEqual(get(RunState.fold(events)), state, `seed ${seed}`)
      }
    })
  }

  it("sees what it is to see: orders that wait, steps, ends of silence, gates, withdrawals, and standstills", () => {
    const seen = new Map<string, number>()
    for (let seed = 0; seed < 100; seed++) {
      for (const event of trial(seed).events) {
        const what = event._tag === "ReviewExpired" ? `${event._tag} ${event.action}` : event._tag
        seen.set(what, (seen.get(what) ?? 0) + 1)
      }
    }
    for (const what of [
      "Parked",
      "Unparked",
      "ReviewAdvanced",
      "ReviewExpired reject",
      "ReviewExpired halt",
      "ReviewExpired hold",
      "ReviewWithdrawn",
      "ReviewChanged",
      "GroupStopping",
      "DeadlinePassed",
      "BudgetRefused",
      "RunSuspended"
    ]) {
      assert.isAtLeast(seen.get(what) ?? 0, 5, what)
    }
  })
})
