/**
 * A child that is a supervisor: the shell round the decisions of `transition.ts`.
 *
 * It owns the mounts of its children and its context. The mounts of declared children are made once, before anything
 * starts, so that refs exist over every restart; children added at run time end with the incarnation.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Exit from "effect/Exit"

import * as RestartIntensity from "../RestartIntensity.ts"
import { GaveUp } from "./errors.ts"
import type { ExitReason, Snapshot } from "./model.ts"
import type { Incarnation, Parent, Policy, Trouble } from "./mount.ts"
import { Mount } from "./mount.ts"
import type { Runtime } from "./runtime.ts"
import * as core from "./transition.ts"

/** A child's spec, as a supervisor needs it. */
export interface Mountable {
  readonly id: string
  readonly provides: ReadonlyArray<string>
  mount(runtime: Runtime, parent: SupervisorMount, outer?: Context.Context<never> | undefined): Mount
}

export interface SupervisorPolicy extends Policy {
  readonly strategy: core.Strategy
  readonly intensity: RestartIntensity.Options | undefined
}

interface Life extends Incarnation {
  readonly state: core.State<Mount, Trouble>
  readonly intensity: RestartIntensity.RestartIntensity
  trouble: Trouble | undefined
}

export class SupervisorMount extends Mount implements Parent {
  readonly kind = "supervisor"
  declare readonly policy: SupervisorPolicy
  declare protected current: Life | undefined
  private readonly subtree: ReadonlyMap<string, unknown>
  private readonly declared: ReadonlyArray<Mount>
  private known: Context.Context<never> | undefined

  constructor(
    runtime: Runtime,
    parent: SupervisorMount | undefined,
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

  post(message: core.Message<Mount, Trouble>): void {
    const life = this.current
    if (life === undefined) {
      if ("reply" in message) message.reply({ _tag: "Refused", reason: "not-running" })
      return
    }
    this.runtime.post(() => core.transition(life.state, message, this.emitOf(life)))
  }

  protected override live(): Life {
    const intensity = RestartIntensity.make(this.policy.intensity)
    for (const child of this.declared) {
      child.state = "stopped"
      child.renew()
    }
    return {
      ...super.live(),
      state: core.make<Mount, Trouble>(this.policy.strategy, intensity, this.declared),
      intensity,
      trouble: undefined
    }
  }

  protected launch(_life: Life): void {
    this.post({ _tag: "Boot" })
  }

  protected quit(life: Life, returns: boolean): void {
    if (this.parent === undefined) this.state = "stopping"
    if (!returns) this.settleThoseDown(life)
    this.post({ _tag: "Stop", returns })
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

  private readonly emits = new WeakMap<Life, core.Emit<Mount, Trouble>>()

  private emitOf(life: Life): core.Emit<Mount, Trouble> {
    const known = this.emits.get(life)
    if (known !== undefined) return known
    const { runtime } = this
    const emit: core.Emit<Mount, Trouble> = {
      start: (child) => child.begin(),
      stop: (child, returns) => child.halt(returns),
      settled: (child) => child.settle(),
      retryLater: (child, delayMillis) => child.retryLater(delayMillis),
      cancelRetry: (child) => child.cancelRetry(),
      restarting: (child, left) => {
        child.restarts += 1
        runtime.emit(child, { _tag: "Restarting", left, strategy: this.policy.strategy })
      },
      forgotten: (child) => {
        runtime.emit(child, { _tag: "Removed" })
        child.revoke()
      },
      gaveUp: (child, trouble) => {
        life.trouble = trouble
        const wallOffset = runtime.clock.currentTimeMillisUnsafe() - runtime.nanos() / 1e6
        runtime.emit(this, {
          _tag: "GaveUp",
          child: child.id,
          cause: trouble?.cause ?? Cause.empty,
          intensity: { restarts: life.intensity.restarts, within: life.intensity.within },
          restarts: RestartIntensity.times(life.intensity).map((nanos) => Math.round(nanos / 1e6 + wallOffset))
        })
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
      case "StartFailed": {
        life.trouble = ending.failure
        return this.finished(life, Exit.failCause(ending.failure.cause))
      }
    }
  }

  protected override troubleOf(reason: ExitReason): Trouble {
    const trouble = this.current?.trouble
    return reason._tag === "Error" && trouble !== undefined ? trouble : super.troubleOf(reason)
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
  }

  override revoke(): void {
    for (const child of this.declared) child.revoke()
  }

  /** The child of that id in the current incarnation. */
  childOf(id: string): Mount | undefined {
    return this.current?.state.byId.get(id)
  }

  snapshot(): Snapshot {
    const life = this.current
    const children = (life === undefined ? this.declared : life.state.order).flatMap((child) =>
      child === undefined ? [] : [child.snapshot()]
    )
    const within = life?.intensity.within ?? Duration.fromInputUnsafe(this.policy.intensity?.within ?? "5 seconds")
    const restarts = life?.intensity.restarts ?? this.policy.intensity?.restarts ?? 3
    const left = life === undefined ? restarts : RestartIntensity.left(life.intensity, this.runtime.nanos())
    return { ...this.node(children), intensity: { restarts, within, left } }
  }
}
