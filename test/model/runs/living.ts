/**
 * Carries a case to its end in a real office, on a machine of its own: workers that fail, are slow or are down, people who
 * answer, somebody who calls the run off, and sessions that are cut off and taken up again.
 */
import { Cause, Effect, Logger, Queue, Result as EffectResult, type Schema, Stream } from "effect"
import { Journal } from "espalier/journal"
import { type Decider, Desk, Office, Outcome, Result, Run, type RunEvent, RunState, type Worker } from "espalier/run"
import { Fake, Outage } from "espalier/testing"

import { Machine } from "../machine.ts"
import type { Case, WorkerSpec } from "./case.ts"
import { drive } from "./drive.ts"
import { fate } from "./fate.ts"
import { Watcher } from "./holds.ts"
import { deskOf, optionsOf } from "./office.ts"
import { decisionOn } from "./telling.ts"

type Event = RunEvent.RunEvent

const failures = ["transient", "transient", "transient", "capability", "oversized", "malformed", "denied"] as const

/** How long cancelled work may take: the grace time, and what comes after it. */
const grace = 6_000

interface Call {
  readonly dispatch: string
  readonly attempt: number
  readonly at: number
  readonly usage: Result.Usage | undefined
}

type Reply = Fake.Reply<Schema.Json>

/** What a call is answered with, from its seed alone. */
const replyTo = (plan: Case, order: Worker.Order, spec: WorkerSpec): Reply => {
  const { below, next, pick } = fate(plan.seed, "call", order.dispatch, order.attempt)
  const { failing, odd } = plan.trouble
  const usage = { tokens: next() < 0.05 ? 200 : below((spec.tokens ?? 20) + 1) }
  const roll = next()
  if (roll < failing) {
    const how = next()
    if (how < 0.1) return Fake.die()
    if (how < 0.15) return Fake.never
    if (how < 0.25) return Fake.malformed()
    if (how < 0.3) return Fake.empty
    if (how < 0.4) return Result.completed("wrong", { usage })
    const kind = pick(failures)
    if (how < 0.6) return Result.failed(kind, "it broke", { usage })
    const retryAfter = kind === "transient" && next() < 0.3 ? { retryAfter: 1_000 * below(90) } : {}
    return Fake.fail(kind, retryAfter)
  }
  if (roll < failing + odd) {
    const missing = [{ part: "p", reason: "q" }]
    const how = next()
    if (how < 0.3) return Result.ambiguous("Which one?", { usage })
    if (how < 0.6) return Result.needsReview("look", missing, { usage, confidence: next() })
    return Result.partial("some", missing, { usage, confidence: next() })
  }
  return Result.completed(next() < 0.5 ? "this" : "that", { usage, confidence: next() < 0.3 ? next() : 1 })
}

/** How long nobody carried the run out after this time. */
const awayAfter = (written: ReadonlyArray<Event>, time: number): number => {
  let away = 0
  for (const [index, { _tag, at }] of written.entries()) {
    if (_tag === "RunResumed") away += Math.max(0, at - Math.max(time, written[index - 1]?.at ?? 0))
  }
  return away
}

class Living {
  readonly machine = new Machine()
  readonly complaints: Array<string> = []
  readonly events: Array<Event> = []
  private readonly calls: Array<Call> = []
  private readonly fakes: Array<Fake.Fake> = []
  private readonly plan: Case
  private listening = 0
  private session = 0
  private outcome: Outcome.Outcome | undefined

  constructor(plan: Case) {
    this.plan = plan
  }

  private complain(what: string): void {
    this.complaints.push(what)
  }

  private readonly worker = (outage: Outage.Outage) => (name: string, spec: WorkerSpec) => {
    const fake = Fake.worker(name, {
      ...optionsOf(spec),
      outage,
      answers: (order) =>
        Effect.suspend(() => {
          const reply = replyTo(this.plan, order, spec)
          const { below, next } = fate(this.plan.seed, "time", order.dispatch, order.attempt)
          const at = this.machine.now
          const answered = Effect.sync(() => {
            const usage = Result.isResult(reply) ? reply.usage : undefined
            this.calls.push({ dispatch: order.dispatch, attempt: order.attempt, at, usage })
            return reply
          })
          const slow = Effect.andThen(Effect.sleep(below(this.plan.trouble.slow + 1)), answered)
          // Some take their time to stop.
          return next() < 0.1 ? Effect.onInterrupt(slow, () => Effect.sleep(below(4_000))) : slow
        })
    })
    this.fakes.push(fake as Fake.Fake)
    return fake as Worker.Worker<never>
  }

  /** The office with a count of those who listen to its health. */
  private counted(office: Office.Office<unknown>): Office.Office<unknown> {
    const { health } = office
    return {
      ...office,
      health: {
        ...health,
        changes: (listener) => {
          this.listening += 1
          const off = health.changes(listener)
          return () => {
            this.listening -= 1
            off()
          }
        }
      }
    }
  }

  private routesOf(task: string | undefined): ReadonlyArray<string> {
    const key = (task ?? "").replaceAll(/\/\d+\//g, "/").replaceAll(/#\d+/g, "")
    const tasks = Desk.coordinators(deskOf(this.plan, (name) => Fake.worker(name))).get(key)?.tasks ?? []
    return tasks.length === 0 ? ["t0"] : tasks.map(({ id }) => id)
  }

  /** Says something to the run; that it is refused is nothing to complain about. */
  private readonly say = <E extends { readonly _tag: string }, R>(
    what: string,
    effect: Effect.Effect<void, E, R>
  ): Effect.Effect<void, never, R> =>
    Effect.catch(effect, (error) =>
      Effect.sync(() => {
        if (error._tag !== "CommandRefused") this.complain(`${what} fails: ${String(error)}`)
      })
    )

  readonly story = Effect.gen({ self: this }, function* () {
    const { plan } = this
    const { cancelAt, cutOff, outages } = plan.trouble
    const names = plan.workers.map(({ name }) => name.slice(3))
    const outage = outages
      ? yield* Outage.random({
          seed: plan.seed,
          names,
          within: "10 minutes",
          mean: "20 seconds",
          kinds: ["transient", "defect", "silence"]
        })
      : Outage.none
    const desk = deskOf(plan, this.worker(outage))
    const shared = plan.seed % 3 === 0 ? undefined : this.counted(yield* Office.open(desk, { log: false }))
    const reviews = yield* Queue.unbounded<RunEvent.Of<"ReviewOpened">>()
    const seen = new Map<string, number>()
    const asked = ({ task = "" }: RunEvent.Of<"ReviewOpened">): number => (seen.get(task) ?? 1) - 1
    const onEvent = (event: Event): void => {
      this.events.push(event)
      if (event._tag !== "ReviewOpened") return
      seen.set(event.task ?? "", (seen.get(event.task ?? "") ?? 0) + 1)
      Queue.offerUnsafe(reviews, event)
    }
    const through = shared === undefined || plan.seed % 5 === 0 ? {} : { office: shared }
    const answer = (opened: RunEvent.Of<"ReviewOpened">) =>
      this.say(
        "a decision",
        Run.decide(
          decisionOn(fate(plan.seed, "person", opened.review), opened, asked(opened), this.routesOf(opened.task)),
          through
        )
      )
    // A person who answers while the run goes on.
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.flatMap(Queue.take(reviews), (opened) => {
          const { below, next } = fate(plan.seed, "haste", opened.review)
          return next() < 0.5 ? Effect.void : Effect.andThen(Effect.sleep(below(20_000)), answer(opened))
        })
      )
    )
    if (cancelAt !== undefined) {
      const cancel = this.say("the end", Run.cancel("r1", { by: "somebody", ...through }))
      yield* Effect.forkScoped(Effect.andThen(Effect.sleep(cancelAt), cancel))
    }
    const waitFor = fate(plan.seed, "patience").pick(["0 seconds", "1 minute", "Infinity"] as const)
    const options = { id: "r1", input: null, onEvent, log: false, waitFor }
    for (;;) {
      const begun = this.session > 0
      this.session += 1
      const run: Effect.Effect<Outcome.Outcome, unknown, Journal.Journal> =
        shared === undefined
          ? begun
            ? Run.resume(desk, "r1", options)
            : Run.start(desk, options)
          : begun
            ? Run.resumeIn(shared, "r1", options)
            : Run.startIn(shared, options)
      const { below, next } = fate(plan.seed, "session", this.session)
      const cut = next() < cutOff * 6 && this.session < 6 ? below(15_000) : undefined
      const done = cut === undefined ? yield* Effect.asSome(run) : yield* Effect.timeoutOption(run, cut)
      for (const fake of this.fakes) {
        const running = yield* fake.running
        if (running > 0) this.complain(`${running} calls of ${fake.name} run on after session ${this.session}`)
      }
      if (this.listening > 0) this.complain(`${this.listening} listeners are left after session ${this.session}`)
      if (done._tag === "None") {
        // Somebody else goes on at once, or much later.
        if (fate(plan.seed, "away", this.session).next() < 0.6) yield* Effect.sleep(below(30_000))
        continue
      }
      this.outcome = done.value
      if (RunState.isFinished(done.value.status)) break
      if (done.value.status !== "waiting") return this.complain(`a session ends as ${done.value.status}`)
      if (shared !== undefined && shared.live.size > 0) this.complain("a run that waits is carried out")
      const { wakeAt } = done.value
      const own = done.value.reviews.length === 0
      if (wakeAt !== undefined && own && waitFor === "Infinity") this.complain(`nobody waits for ${wakeAt}`)
      // Too early, too late, or just in time.
      const wait = wakeAt === undefined || !own || next() < 0.3 ? 0 : Math.max(0, wakeAt - this.machine.now)
      yield* Effect.sleep(wait + (wakeAt !== undefined && next() < 0.3 ? 0 : below(30_000)))
      const [open] = (yield* Run.outcome("r1")).reviews
      if (open !== undefined) yield* answer({ ...open, _tag: "ReviewOpened" })
      if (this.session > 200) return this.complain("the run waits again and again")
    }
    const written = yield* Stream.runCollect(Run.events("r1"))
    const read = yield* Run.outcome("r1")
    this.check(Desk.spec(desk), [...written], read)
  }).pipe(Effect.scoped, Effect.provide([Journal.layerMemory, Logger.layer([])]))

  /** What the journal says, against what was seen. */
  private check(spec: Decider.Spec, written: ReadonlyArray<Event>, read: Outcome.Outcome): void {
    const same = (what: string, one: unknown, other: unknown) => {
      if (JSON.stringify(one) !== JSON.stringify(other)) this.complain(what)
    }
    same("the journal folds to another outcome", Outcome.of(written), this.outcome)
    same("the outcome is read otherwise than it was given", read, this.outcome)
    const watcher = new Watcher(spec)
    let state: RunState.RunState | undefined
    for (const event of written) {
      const next = RunState.evolve(state, event)
      if (EffectResult.isFailure(next)) return this.complain(`the journal does not fold: ${next.failure.message}`)
      const wrong = watcher.see(state, event, next.success)
      if (wrong !== undefined) return this.complain(wrong)
      state = next.success
    }
    if (state === undefined) return this.complain("the journal is empty")
    const { endedAt = 0 } = read
    const index = written.findIndex((event) => event._tag === "DeadlinePassed" && event.subject === "")
    const end = written[index]?.at ?? endedAt
    // Its time ran on while it waited for its own timer, and that was noticed when it was taken up.
    const late = written.slice(0, index + 1).some((event) => event._tag === "RunResumed" && event.at === end)
    const outlived = endedAt - awayAfter(written, end) - (late ? end : (state.deadlineAt ?? Infinity))
    if (outlived > grace) this.complain(`the run outlives its deadline of ${state.deadlineAt} by ${outlived} ms`)
    this.recalled(written)
    this.patient(written)
    const call = this.calls.find(({ at }) => at > endedAt)
    if (call !== undefined) this.complain(`${call.dispatch} was called after the end of the run`)
    this.receipts(written, read)
  }

  /** No attempt begins before the wait for it is over, whoever was cut off meanwhile. */
  private patient(written: ReadonlyArray<Event>): void {
    for (const failed of written) {
      if (failed._tag !== "AttemptFailed") continue
      const { at, attempt, dispatch, waitMillis } = failed
      const next = this.calls.find((call) => call.dispatch === dispatch && call.attempt === attempt + 1)
      if (next !== undefined && next.at < at + waitMillis) {
        this.complain(
          `attempt ${attempt + 1} of ${dispatch} begins at ${next.at}, ${at + waitMillis - next.at} ms early`
        )
      }
    }
  }

  /** What is called back stops within its grace time. */
  private recalled(written: ReadonlyArray<Event>): void {
    for (const recall of written) {
      if (recall._tag !== "Recalled") continue
      const stopped = written.find((event) => event._tag === "Reported" && event.dispatch === recall.dispatch)
      if (stopped === undefined) return this.complain(`${recall.dispatch} is called back and never reports`)
      const took = stopped.at - recall.at - awayAfter(written, recall.at)
      if (took > grace) this.complain(`${recall.dispatch} goes on for ${took} ms after it was called back`)
    }
  }

  /** What the calls said that they used, against what the run says. */
  private receipts(written: ReadonlyArray<Event>, read: Outcome.Outcome): void {
    let total = 0
    for (const event of written) {
      if (event._tag === "Decided" || event._tag === "DecisionFailed") total += event.usage?.tokens ?? 0
      if (event._tag !== "Reported") continue
      const { dispatch, result } = event
      total += result.usage.tokens ?? 0
      const calls = this.calls.filter((call) => call.dispatch === dispatch)
      const used = calls.reduce((sum, { usage }) => sum + (usage?.tokens ?? 0), 0)
      const told = result.usage.tokens ?? 0
      if (told > used) this.complain(`D34: ${dispatch} says ${told} tokens, its calls say ${used}`)
      if (told < used && event.outcome !== "cancelled" && event.outcome !== "timed-out" && this.session === 1) {
        this.complain(`D34: ${dispatch} says ${told} tokens, its calls say ${used}`)
      }
    }
    if (total !== (read.usage.tokens ?? 0))
      this.complain(`D34: the outcome says ${read.usage.tokens}, the receipts ${total}`)
  }

  perform(): string | undefined {
    const { machine } = this
    const exit = drive(machine, this.story)
    if (typeof exit === "string") return exit
    if (exit._tag === "Failure") return `the run breaks: ${Cause.pretty(exit.cause)}`
    if (this.complaints[0] !== undefined) return this.complaints[0]
    if (machine.fibers > 0) return `${machine.fibers} fibers are left`
    if (machine.pending > 0) return `${machine.pending} timers are left`
    return undefined
  }
}

/** What does not hold, or nothing; with what was seen of the run. */
export const live = (plan: Case): { readonly events: ReadonlyArray<Event>; readonly wrong: string | undefined } => {
  const living = new Living(plan)
  let wrong: string | undefined
  try {
    wrong = living.perform()
  } catch (error) {
    wrong = error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
  return { events: living.events, wrong }
}
