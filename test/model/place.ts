/**
 * The model of one place in a tree: what is common to all children.
 *
 * The model says what a tree must do, as plainly as possible and without looking at how the tree does it: a supervisor
 * is a script that waits (`branch.ts`), a child is a life with a few timers (here and in `leaf.ts`). It knows nothing of
 * fibers, scopes and messages in flight, and is slow and simple on purpose.
 */
import type { Failure } from "espalier"

import type { Spec } from "./plan.ts"
import type { Picture, Story } from "./story.ts"
import type { Timeline } from "./timeline.ts"

/** What went wrong, in parts. */
export type Part = "bug" | "interruption" | "shutdown" | "init-timeout" | "unmarked" | Failure.Kind
export type Fault = ReadonlyArray<Part>

export type Reason = "Normal" | "Shutdown" | "Killed" | "Error" | "GaveUp"

export type Verdict = "restart" | "stop" | "fail" | "gave-up" | "forget" | "escalate"

/** What a supervisor hears of its children. */
export interface News {
  readonly about: Place
  readonly incarnation: number
  readonly what: "started" | "ignored" | "start-failed" | "exited" | "retry"
  readonly verdict: Verdict
  readonly delay: number
  readonly at: number
  readonly leaked: boolean
  readonly fault: Fault
}

export interface Parent {
  readonly path: string
  hear(news: News): void
}

/** What all places of one tree share. */
export interface World {
  readonly time: Timeline
  readonly story: Story
  /** lives begun, by path */
  readonly begun: Map<string, number>
  /** the actors that somebody outside can reach */
  readonly reachable: Map<string, unknown>
  /** the newest life of each leaf, whether it still counts or not */
  readonly newest: Map<string, unknown>
  readonly hanging: Array<() => void>
  /** one decision after the other */
  decide(decision: () => void): void
}

export interface Life {
  readonly number: number
  /** which life of its path it is */
  readonly index: number
  ready: boolean
  ordered: boolean
  returns: boolean
  over: boolean
  timedOut: boolean
  readyAt: number
  /** how its body ended, while it still cleans up */
  exit: Fault | undefined
  callOff: (() => void) | undefined
  /** when an ordered stop's patience is over */
  stopBy: number | undefined
}

const usualGrace = 5_000
const healthy = 60_000

/** How an end is read. */
export const reasonOf = (fault: Fault, ordered: boolean): Reason => {
  if (ordered) return "Shutdown"
  if (fault.length === 0) return "Normal"
  const real = fault.filter((part) => part !== "interruption")
  if (real.length === 0) return "Killed"
  return real.every((part) => part === "shutdown") ? "Shutdown" : "Error"
}

const kindOf = (fault: Fault): Part | undefined => {
  if (fault.includes("bug")) return undefined
  const typed = fault.find((part) => part !== "interruption")
  return typed === "init-timeout" ? "transient" : typed
}

export abstract class Place {
  state = "stopped"
  incarnation = 0
  restarts = 0
  leaked = 0
  life: Life | undefined
  /** the wait for a restart */
  retry: (() => void) | undefined
  private delays = 0
  readonly world: World
  readonly parent: Parent | undefined
  readonly spec: Spec
  readonly path: string
  readonly declared: boolean
  private readonly scene: string

  constructor(world: World, parent: Parent | undefined, spec: Spec, declared: boolean) {
    this.world = world
    this.parent = parent
    this.spec = spec
    this.declared = declared
    this.path = parent === undefined ? spec.id : `${parent.path}/${spec.id}`
    this.scene = parent?.path ?? ""
  }

  tell(line: string): void {
    this.world.story.tell(this.scene, `${this.world.time.now} ${line}`)
  }

  get isUp(): boolean {
    return this.state === "running" || this.state === "starting"
  }

  // ----------------------------------------------------------------------------------------------------------- a life

  begin(): void {
    this.incarnation += 1
    this.tell(`Starting ${this.spec.id} #${this.incarnation}`)
    const index = this.world.begun.get(this.path) ?? 0
    this.world.begun.set(this.path, index + 1)
    const life = this.live({
      number: this.incarnation,
      index,
      ready: false,
      ordered: false,
      returns: false,
      over: false,
      timedOut: false,
      readyAt: 0,
      exit: undefined,
      callOff: undefined,
      stopBy: undefined
    })
    this.life = life
    this.launch(life)
    if (life.ready || life.over || life.callOff !== undefined) return
    life.callOff = this.world.time.later(this.spec.initTimeout, () => {
      life.timedOut = true
      life.callOff = undefined
      this.quit(life, false)
      this.grace(life)
    })
  }

  halt(returns: boolean): void {
    const { life } = this
    if (life === undefined || life.over || life.ordered) return
    this.tell(`Stopping ${this.spec.id}`)
    life.ordered = true
    life.returns = returns
    if (this.spec.shutdown === "abandon") return this.giveUpOn(life)
    life.callOff?.()
    life.callOff = undefined
    life.stopBy = undefined
    this.quit(life, returns)
    this.grace(life)
  }

  /** Ends it for the tree, at once. */
  abandon(): void {
    if (this.life === undefined || this.life.over) return
    this.life.ordered = true
    this.giveUpOn(this.life)
  }

  /** From now on it has its grace time, and no more. */
  grace(life: Life): void {
    if (life.over || life.callOff !== undefined) return
    const patience = this.spec.shutdown === "abandon" ? 0 : this.spec.shutdown
    const { time } = this.world
    const asked = life.ordered || life.timedOut
    if (patience === 0) {
      if (life.ordered) return this.giveUpOn(life)
      life.callOff = time.later(usualGrace, () => this.giveUpOn(life))
      return
    }
    if (asked) life.stopBy ??= time.now + patience
    life.callOff = time.later(asked ? life.stopBy! - time.now : patience, () => this.giveUpOn(life))
  }

  private giveUpOn(life: Life): void {
    if (life.over) return
    const alive = this.cut(life)
    if (life.over) return
    if (alive) {
      this.leaked += 1
      this.tell(`Leaked ${this.spec.id} #${life.number}`)
    }
    if (life.timedOut && !life.ordered) return this.end(life, ["init-timeout"], "Error", alive)
    if (life.ordered || life.exit === undefined) return this.end(life, ["interruption"], "Killed", alive)
    this.end(life, life.exit, reasonOf(life.exit, false), alive)
  }

  protected ready(life: Life): void {
    if (life.over || life.ready || life.timedOut) return
    life.ready = true
    life.readyAt = this.world.time.now
    if (life.ordered) return
    life.callOff?.()
    life.callOff = undefined
    this.tell(`Started ${this.spec.id} #${life.number}`)
    this.say(life, { what: "started" })
  }

  protected declined(life: Life): void {
    if (life.over) return this.lateEnd(life)
    life.over = true
    life.callOff?.()
    this.tell(`Ignored ${this.spec.id} #${life.number}`)
    this.say(life, { what: "ignored" })
  }

  /** Body and clean-up are finished. */
  protected finished(life: Life, fault: Fault): void {
    if (life.over) return this.lateEnd(life)
    if (life.timedOut && !life.ordered) return this.end(life, ["init-timeout"], "Error", false)
    const reason = reasonOf(fault, life.ordered)
    if (!life.ready && reason === "Normal") this.end(life, ["bug"], "Error", false)
    else this.end(life, fault, reason, false)
  }

  private lateEnd(life: Life): void {
    this.leaked -= 1
    this.tell(`LeakEnded ${this.spec.id} #${life.number}`)
  }

  protected end(life: Life, fault: Fault, reason: Reason, leaked: boolean): void {
    life.over = true
    life.callOff?.()
    life.callOff = undefined
    if (this.life === life) this.life = undefined
    const { id } = this.spec
    const startFailed = !life.ready && !life.ordered
    if (startFailed) this.tell(`StartFailed ${id} #${life.number}`)
    else this.tell(`Exited ${id} #${life.number} ${reason}${life.ordered ? " ordered" : ""}`)
    this.down(life, reason)
    if (this.parent === undefined) return
    const what = startFailed ? "start-failed" : "exited"
    if (life.ordered) {
      this.say(life, { what, leaked, fault })
      if (!life.returns) this.settle()
      return
    }
    const verdict = this.judge(startFailed ? "Error" : reason, fault)
    if (verdict === "fail") this.tell(`Failed ${id} ${reason}`)
    const delay = verdict === "restart" ? this.delay(life, fault) : 0
    if (delay === undefined) this.say(life, { what, leaked, fault, verdict: "escalate" })
    else this.say(life, { what, leaked, fault, verdict, delay })
  }

  private judge(reason: Reason, fault: Fault): Verdict {
    const { restart } = this.spec
    if (reason === "Normal" || reason === "Shutdown" || reason === "GaveUp") {
      if (restart === "always") return "restart"
      if (restart === "never") return "forget"
      return reason === "GaveUp" ? "gave-up" : "stop"
    }
    const typed = fault.find((part) => part !== "interruption" && part !== "bug")
    const chosen = this.spec.kind === "supervisor" ? undefined : this.spec.directive
    const hopeless = ["capability", "oversized", "denied", "exhausted"].includes(kindOf(fault) ?? "")
    const directive =
      chosen !== undefined && typed !== undefined && typed !== "init-timeout" && !fault.includes("bug")
        ? chosen
        : hopeless
          ? "stop"
          : "restart"
    if (directive === "escalate") return "escalate"
    if (restart === "never") return "forget"
    return directive === "stop" ? "fail" : "restart"
  }

  private delay(life: Life, fault: Fault): number | undefined {
    if (life.ready && this.world.time.now - life.readyAt >= healthy) this.delays = 0
    const { backoff } = this.spec
    if (backoff === undefined && kindOf(fault) !== "transient") return 0
    this.delays += 1
    if (backoff === undefined) return Math.min(30_000, 1_000 * 2 ** (this.delays - 1))
    return this.delays > backoff.times ? undefined : backoff.delay
  }

  say(life: Pick<Life, "number">, news: Partial<News> & Pick<News, "what">): void {
    this.parent?.hear({
      about: this,
      incarnation: life.number,
      verdict: "stop",
      delay: 0,
      at: this.world.time.now,
      leaked: false,
      fault: [],
      ...news
    })
  }

  // --------------------------------------------------------------------------------------------------- between lives

  retryLater(delay: number): void {
    const number = this.incarnation
    const { time } = this.world
    const due = (): void => {
      this.retry = undefined
      this.say({ number }, { what: "retry" })
    }
    if (delay === 0) return time.soon(due)
    this.tell(`BackingOff ${this.spec.id} until ${time.now + delay}`)
    this.retry = time.later(delay, due)
  }

  cancelRetry(): void {
    this.retry?.()
    this.retry = undefined
  }

  /** Its supervisor begins anew. */
  renew(): void {
    this.restarts = 0
    this.delays = 0
  }

  protected picture(rest: Pick<Picture, "mailbox" | "left"> & { readonly children: ReadonlyArray<Place> }): Picture {
    return {
      id: this.spec.id,
      state: this.state,
      incarnation: this.incarnation,
      restarts: this.restarts,
      leaked: this.leaked,
      mailbox: rest.mailbox,
      left: rest.left,
      children: rest.children.map((child) => child.look())
    }
  }

  abstract look(): Picture

  protected live(life: Life): Life {
    return life
  }

  protected abstract launch(life: Life): void
  protected abstract quit(life: Life, returns: boolean): void
  /** Cuts it off; tells whether something of it goes on. */
  protected abstract cut(life: Life): boolean
  protected down(_life: Life, _reason: Reason): void {}

  /** Nobody will start it, unless somebody asks. */
  settle(): void {}
  /** It is gone for good. */
  revoke(): void {}

  settleIdle(): void {
    if (this.life === undefined) this.settle()
  }
}
