/**
 * A child that is a dynamic supervisor: the shell round the decisions of `dynamicTransition.ts`.
 *
 * It owns a template and the mounts of its children. A child's mount is made when it is started and dropped when it is
 * down for good; a restart keeps it, so references stay valid. Children end with the supervisor's incarnation.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Exit from "effect/Exit"

import * as dynamic from "./dynamicTransition.ts"
import { GaveUp } from "./errors.ts"
import type { Snapshot } from "./model.ts"
import type { Mount, Parent, Trouble } from "./mount.ts"
import type { Runtime } from "./runtime.ts"
import type { SupervisingPolicy } from "./supervising.ts"
import { Supervising, SupervisingLife } from "./supervising.ts"
import type * as core from "./transition.ts"

export interface DynamicPolicy extends SupervisingPolicy {
  /** `Infinity` for any number */
  readonly maxChildren: number
}

/** A dynamic supervisor's spec, as its mount needs it. */
export interface DynamicSpec {
  readonly key: string
  /** mounts a new child of that id; throws when the template does */
  readonly make: (args: unknown, id: string, supervisor: DynamicMount) => Mount
  /** what users of the service get */
  readonly handle: (supervisor: DynamicMount) => unknown
}

class Life extends SupervisingLife {
  readonly state: dynamic.State<Mount, Trouble>

  constructor(mount: Mount, policy: DynamicPolicy) {
    super(mount, policy)
    this.state = dynamic.make(this.intensity, policy.maxChildren)
  }
}

/** Tells of a start: with the child when there is one. */
export type Started = (answer: core.Answer<Trouble>, child: Mount | undefined) => void

export class DynamicMount extends Supervising {
  readonly concurrent = true
  override get alike(): boolean {
    return true
  }

  readonly strategy = "one-for-one"
  declare readonly policy: DynamicPolicy
  declare protected current: Life | undefined
  private readonly spec: DynamicSpec
  private readonly handle: unknown
  /** ids are never used twice, so that an old one finds nothing instead of somebody else */
  private issued = 0

  constructor(
    runtime: Runtime,
    parent: Parent,
    policy: DynamicPolicy,
    spec: DynamicSpec,
    outer: Context.Context<never> | undefined
  ) {
    super(runtime, parent, policy, outer)
    this.spec = spec
    this.handle = spec.handle(this)
  }

  override get refs(): ReadonlyMap<string, unknown> {
    return new Map([[this.spec.key, this.handle]])
  }

  post(message: core.Message<Mount, Trouble>, refuses?: () => core.Refusal | undefined): void {
    this.decide(message, refuses)
  }

  private decide(message: dynamic.Message<Mount, Trouble>, refuses?: () => core.Refusal | undefined): void {
    const life = this.current
    if (life === undefined) {
      if ("reply" in message) message.reply({ _tag: "Refused", reason: "not-running" })
      return
    }
    this.runtime.post(() => {
      const reason = refuses?.()
      if (reason === undefined || !("reply" in message)) dynamic.transition(life.state, message, this.emitOf(life))
      else message.reply({ _tag: "Refused", reason })
    })
  }

  nextId(): string {
    this.issued += 1
    return String(this.issued)
  }

  /** Starts a child of that id. The function that it returns takes the request back: a child that came of it is stopped. */
  start(id: string, args: unknown, answer: Started): () => void {
    let child: Mount | undefined
    let withdrawn = false
    this.decide({
      _tag: "Start",
      make: () => {
        if (withdrawn) return { _tag: "Failed", failure: { path: [...this.path, id], cause: Cause.interrupt() } }
        try {
          child = this.spec.make(args, id, this)
          return { _tag: "Child", child }
        } catch (defect) {
          return { _tag: "Failed", failure: { path: [...this.path, id], cause: Cause.die(defect) } }
        }
      },
      reply: (answered) => answer(answered, child)
    })
    return () => {
      withdrawn = true
      if (child !== undefined) this.decide({ _tag: "StopChild", id, reply: noop })
    }
  }

  protected override live(): Life {
    return new Life(this, this.policy)
  }

  protected launch(_life: Life): void {
    this.post({ _tag: "Boot" })
  }

  protected quit(_life: Life, returns: boolean): void {
    this.post({ _tag: "Stop", returns })
  }

  protected fence(life: Life): boolean {
    const { state } = life
    dynamic.abandon(state)
    for (const child of state.children.values()) {
      if (child.state === "backing-off") child.cancelRetry()
      child.abandon()
      child.state = child.leaked > 0 ? "leaked" : "stopped"
      child.revoke()
    }
    state.children.clear()
    return false
  }

  private readonly emits = new WeakMap<Life, dynamic.Emit<Mount, Trouble>>()

  private emitOf(life: Life): dynamic.Emit<Mount, Trouble> {
    const known = this.emits.get(life)
    if (known !== undefined) return known
    const emit: dynamic.Emit<Mount, Trouble> = {
      ...this.orders(life),
      // Nothing starts a child again that went with its supervisor.
      settled: (child) => child.revoke(),
      ready: () => this.started(life),
      ended: (ending) => {
        if (ending._tag === "Stopped") return this.finished(life, Exit.void)
        const { path, cause } = ending.failure ?? { path: ending.child.path, cause: Cause.empty }
        this.finished(life, Exit.fail(new GaveUp({ path, cause })))
      }
    }
    this.emits.set(life, emit)
    return emit
  }

  childOf(id: string): Mount | undefined {
    return this.current?.state.children.get(id)
  }

  /** The children of the current incarnation, oldest first. */
  get children(): ReadonlyArray<Mount> {
    return this.current === undefined ? [] : [...this.current.state.children.values()]
  }

  snapshot(): Snapshot {
    return this.node(this.children.map((child) => child.snapshot()))
  }
}

const noop = (): void => {}
