/**
 * A child that is a supervisor: the shell round the decisions of `transition.ts`.
 *
 * It owns the mounts of its children and its context. The mounts of declared children are made once, before anything
 * starts, so that refs exist over every restart; children added at run time end with the incarnation.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"

import * as Failure from "../Failure.ts"
import { GaveUp } from "./errors.ts"
import type { ExitReason, Snapshot } from "./model.ts"
import type { Incarnation, Mount, Parent, Trouble } from "./mount.ts"
import type { Runtime } from "./runtime.ts"
import type { SupervisingPolicy } from "./supervising.ts"
import { Supervising, SupervisingLife } from "./supervising.ts"
import * as core from "./transition.ts"

/** A child's spec, as a supervisor needs it. */
export interface Mountable {
  readonly id: string
  readonly provides: ReadonlyArray<string>
  mount(runtime: Runtime, parent: Parent, outer?: Context.Context<never> | undefined): Mount
}

export interface SupervisorPolicy extends SupervisingPolicy {
  readonly strategy: core.Strategy
  readonly autoShutdown: core.AutoShutdown
}

class Life extends SupervisingLife {
  readonly state: core.State<Mount, Trouble>

  constructor(mount: Mount, policy: SupervisorPolicy, children: ReadonlyArray<Mount>) {
    super(mount, policy)
    this.state = core.make(policy.strategy, this.intensity, children, policy.autoShutdown)
  }
}

export class SupervisorMount extends Supervising {
  readonly concurrent = false
  declare readonly policy: SupervisorPolicy
  declare protected current: Life | undefined
  private readonly subtree: ReadonlyMap<string, unknown>
  protected readonly declared: ReadonlyArray<Mount>
  private known: Context.Context<never> | undefined

  constructor(
    runtime: Runtime,
    parent: Parent | undefined,
    policy: SupervisorPolicy,
    children: ReadonlyArray<Mountable>,
    outer: Context.Context<never> | undefined
  ) {
    super(runtime, parent, policy, outer)
    const refs = new Map<string, unknown>()
    const declared: Array<Mount> = []
    for (const child of children) {
      const mount = child.mount(runtime, this)
      declared.push(mount)
      if (child.provides.length > 0) for (const [key, ref] of mount.refs) refs.set(key, ref)
    }
    this.declared = declared
    this.subtree = refs
  }

  get strategy(): core.Strategy {
    return this.policy.strategy
  }

  /** the refs of the whole subtree, by key */
  override get refs(): ReadonlyMap<string, unknown> {
    return this.subtree
  }

  /** What the children see: the parent's context, overlaid by the refs of this subtree. */
  override get context(): Context.Context<never> {
    if (this.known !== undefined) return this.known
    const base = super.context
    this.known = this.refs.size === 0 ? base : Context.merge(base, Context.makeUnsafe<never>(new Map(this.refs)))
    return this.known
  }

  /** Whether it is in the middle of starting or stopping something. */
  get busy(): boolean {
    const state = this.current?.state
    return state !== undefined && (state.job !== undefined || state.phase !== "running")
  }

  /** Starts the root; `answer` hears of its ready, or of what went wrong. */
  bootRoot(answer: (trouble: Trouble | undefined) => void): void {
    this.rootAnswer = answer
    this.runtime.whenBroken(() => this.abandon())
    this.incarnation += 1
    this.state = "starting"
    this.begin()
  }

  private rootAnswer: ((trouble: Trouble | undefined) => void) | undefined

  post(message: core.Message<Mount, Trouble>, refuses?: () => core.Refusal | undefined): void {
    const life = this.current
    if (life === undefined) {
      if ("reply" in message) message.reply({ _tag: "Refused", reason: "not-running" })
      return
    }
    this.runtime.post(() => {
      const reason = refuses?.()
      if (reason === undefined || !("reply" in message)) core.transition(life.state, message, this.emitOf(life))
      else message.reply({ _tag: "Refused", reason })
    })
  }

  protected override live(): Life {
    for (const child of this.declared) {
      child.state = "stopped"
      child.renew()
    }
    return new Life(this, this.policy, this.declared)
  }

  protected launch(_life: Life): void {
    this.post({ _tag: "Boot" })
  }

  protected quit(life: Life, returns: boolean): void {
    if (this.parent === undefined) this.state = "stopping"
    if (!returns) this.settleThoseDown(life)
    if (this.decides) core.transition(life.state, { _tag: "Stop", returns }, this.emitOf(life))
    else this.post({ _tag: "Stop", returns })
  }

  private decides = false

  /** Stops the tree, as a decision of its own: what is posted after it was asked for comes after the stop. */
  stopRoot(): void {
    this.decides = true
    this.halt()
    this.decides = false
  }

  /** Nothing will start the children that are down: those who wait for them need not wait for the others to stop. */
  private settleThoseDown(life: Life): void {
    for (const child of life.state.order) child?.settleIdle()
  }

  protected fence(life: Life): boolean {
    const { state } = life
    const declared = new Set(this.declared)
    core.abandon(state)
    for (let i = state.order.length - 1; i >= 0; i--) {
      const child = state.order[i]
      if (child === undefined) continue
      if (child.state === "backing-off") child.cancelRetry()
      child.abandon()
      child.state = child.leaked > 0 ? "leaked" : "stopped"
      // The places of declared children are there for the next incarnation; the others end with this one.
      if (declared.has(child)) child.settle()
      else child.revoke()
    }
    return false
  }

  protected override givingUp(life: Life): void {
    this.settleThoseDown(life)
  }

  private readonly emits = new WeakMap<Life, core.Emit<Mount, Trouble>>()

  private emitOf(life: Life): core.Emit<Mount, Trouble> {
    const known = this.emits.get(life)
    if (known !== undefined) return known
    const emit: core.Emit<Mount, Trouble> = {
      ...this.orders(life),
      settled: (child) => child.settle(),
      autoShutdown: (child) => {
        this.runtime.emit(this, { _tag: "AutoShutdown", child: child.id })
        this.settleThoseDown(life)
      },
      ready: () => {
        this.started(life)
        if (this.parent !== undefined) return
        this.state = "running"
        this.rootAnswer?.(undefined)
        this.rootAnswer = undefined
      },
      ended: (ending) => this.over(life, ending)
    }
    this.emits.set(life, emit)
    return emit
  }

  private over(life: Life, ending: core.Ending<Mount, Trouble>): void {
    const declared = new Set(this.declared)
    for (const child of life.state.order) {
      if (child === undefined) continue
      if (!declared.has(child)) child.revoke()
      else if (!life.state.returns) child.settle()
    }
    switch (ending._tag) {
      case "Stopped":
        return this.finished(life, Exit.void)
      case "GaveUp": {
        const trouble = ending.failure ?? { path: ending.child.path, cause: Cause.empty }
        return this.finished(life, Exit.fail(new GaveUp(trouble)))
      }
      case "AutoShutdown":
        return this.finished(life, Exit.fail(new Failure.Shutdown()))
      case "StartFailed": {
        life.trouble = ending.failure
        return this.finished(life, Exit.failCause(ending.failure.cause))
      }
    }
  }

  protected override down(life: Incarnation, reason: ExitReason): void {
    if (this.parent !== undefined) return
    this.state = reason._tag === "GaveUp" ? "gave-up" : life.ready || life.ordered ? "stopped" : "failed"
    this.revoke()
    if (reason._tag === "GaveUp") this.runtime.finish(Exit.fail(new GaveUp({ path: reason.path, cause: reason.cause })))
    else this.runtime.finish(Exit.void)
    const { defect } = this.runtime
    const unknown = defect !== undefined && Exit.isFailure(defect) ? defect.cause : Cause.interrupt()
    this.rootAnswer?.((life as Life).trouble ?? { path: this.path, cause: unknown })
    this.rootAnswer = undefined
  }

  override renew(): void {
    super.renew()
    for (const child of this.declared) child.renew()
  }

  override settle(): void {
    for (const child of this.declared) child.settle()
    super.settle()
  }

  override revoke(): void {
    for (const child of this.declared) child.revoke()
    super.revoke()
  }

  get children(): ReadonlyArray<Mount> {
    return this.current?.state.order.filter((child) => child !== undefined) ?? []
  }

  override awaits(child: Mount): "ready" | "down" | undefined {
    return this.current === undefined ? undefined : core.awaits(this.current.state, child)
  }

  protected override get autoShutdown(): core.AutoShutdown {
    return this.policy.autoShutdown
  }

  childOf(id: string): Mount | undefined {
    const state = this.current?.state
    return state === undefined ? undefined : core.find(state, id)
  }

  snapshot(): Snapshot {
    const life = this.current
    const children = (life === undefined ? this.declared : life.state.order).flatMap((child) =>
      child === undefined ? [] : [child.snapshot()]
    )
    return this.node(children)
  }
}
