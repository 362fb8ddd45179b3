/**
 * What every supervisor's mount has in common: children that report to it, a restart intensity, and how it gives up.
 *
 * A kind of supervisor adds its decisions (a pure core) and how the children come to be.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"

import * as RestartIntensity from "../RestartIntensity.ts"
import type { ChildSpec, Counts, ExitReason, Snapshot } from "./model.ts"
import type { Parent, Policy, Trouble } from "./mount.ts"
import { Incarnation, Mount } from "./mount.ts"
import type * as core from "./transition.ts"

export interface SupervisingPolicy extends Policy {
  readonly intensity: RestartIntensity.Options | undefined
}

export class SupervisingLife extends Incarnation {
  readonly intensity: RestartIntensity.RestartIntensity
  /** what it gave up on, or could not start */
  trouble: Trouble | undefined = undefined

  constructor(mount: Mount, policy: SupervisingPolicy) {
    super(mount)
    this.intensity = RestartIntensity.make(policy.intensity)
  }
}

/** The orders that mean the same whoever gives them. */
type CommonOrders = Pick<
  core.Emit<Mount, Trouble>,
  "start" | "stop" | "retryLater" | "cancelRetry" | "restarting" | "forgotten" | "gaveUp"
>

export abstract class Supervising extends Mount implements Parent {
  readonly kind = "supervisor"
  declare readonly policy: SupervisingPolicy
  declare protected current: SupervisingLife | undefined
  abstract readonly strategy: core.Strategy
  abstract readonly concurrent: boolean

  get alike(): boolean {
    return false
  }

  /** Decides a message in its turn; a request not at all when `refuses` has a reason by then. */
  abstract post(message: core.Message<Mount, Trouble>, refuses?: () => core.Refusal | undefined): void

  /** the children of the current incarnation, oldest first */
  abstract get children(): ReadonlyArray<Mount>

  get counts(): Counts {
    let active = 0
    let supervisors = 0
    const { children } = this
    for (const { kind, state } of children) {
      if (state === "running") active += 1
      if (kind === "supervisor") supervisors += 1
    }
    return { specs: children.length, active, supervisors, workers: children.length - supervisors }
  }

  /** whether it has an incarnation */
  get alive(): boolean {
    return this.current !== undefined
  }

  /** What it waits for that only this child can give. */
  awaits(_child: Mount): "ready" | "down" | undefined {
    return undefined
  }

  protected get autoShutdown(): core.AutoShutdown {
    return "never"
  }

  protected override describe(): ChildSpec {
    const { restarts, within } = RestartIntensity.make(this.policy.intensity)
    const { autoShutdown, strategy } = this
    return { ...super.describe(), supervisor: { strategy, intensity: { restarts, within }, autoShutdown } }
  }

  /** The child of that id in the current incarnation. */
  abstract childOf(id: string): Mount | undefined

  /** It is about to stop its children because it gave up. */
  protected givingUp(_life: SupervisingLife): void {}

  protected orders(life: SupervisingLife): CommonOrders {
    const { runtime, strategy } = this
    return {
      start: (child) => child.begin(),
      stop: (child, returns) => child.halt(returns),
      retryLater: (child, delayMillis) => child.retryLater(delayMillis),
      cancelRetry: (child) => child.cancelRetry(),
      restarting: (child, left) => {
        child.restarts += 1
        runtime.emit(child, { _tag: "Restarting", left, strategy })
      },
      forgotten: (child) => {
        runtime.emit(child, { _tag: "Removed" })
        child.revoke()
      },
      gaveUp: (child, trouble, why) => {
        life.trouble = trouble
        const wallOffset = runtime.clock.currentTimeMillisUnsafe() - runtime.nanos() / 1e6
        runtime.emit(this, {
          _tag: "GaveUp",
          child: child.id,
          why,
          cause: trouble?.cause ?? Cause.empty,
          intensity: { restarts: life.intensity.restarts, within: life.intensity.within },
          restarts: RestartIntensity.times(life.intensity).map((nanos) => Math.round(nanos / 1e6 + wallOffset))
        })
        this.givingUp(life)
      }
    }
  }

  protected override troubleOf(reason: ExitReason): Trouble {
    const trouble = this.current?.trouble
    return reason._tag === "Error" && trouble !== undefined ? trouble : super.troubleOf(reason)
  }

  protected override node(children: ReadonlyArray<Snapshot>): Snapshot {
    const intensity = this.current?.intensity
    const within = intensity?.within ?? Duration.fromInputUnsafe(this.policy.intensity?.within ?? "5 seconds")
    const restarts = intensity?.restarts ?? this.policy.intensity?.restarts ?? 3
    const left = intensity === undefined ? restarts : RestartIntensity.left(intensity, this.runtime.nanos())
    return { ...super.node(children), intensity: { restarts, within, left } }
  }
}
