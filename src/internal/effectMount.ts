/**
 * A child that is an Effect: a scoped init whose value is the effect that runs. One fiber per incarnation.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"

import * as exits from "./exit.ts"
import type { Snapshot } from "./model.ts"
import type { Parent, Policy } from "./mount.ts"
import { Incarnation, Mount } from "./mount.ts"
import { CurrentLife, CurrentNode } from "./runtime.ts"
import type { Runtime } from "./runtime.ts"
import type { Refusal } from "./transition.ts"

/** The run effect of a child that declines to start. */
export const ignore: Effect.Effect<void> = Effect.sync(() => {})

class Life extends Incarnation {
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  readonly scope = Scope.makeUnsafe()
  closing = false
}

export class EffectMount extends Mount {
  readonly kind: Snapshot["kind"]
  private init: Effect.Effect<unknown, unknown, Scope.Scope>

  constructor(
    runtime: Runtime,
    parent: Parent,
    policy: Policy,
    init: Effect.Effect<unknown, unknown, Scope.Scope>,
    outer: Context.Context<never> | undefined,
    kind: Snapshot["kind"] = "worker"
  ) {
    super(runtime, parent, policy, outer)
    this.init = init
    this.kind = kind
  }

  protected override live(): Life {
    return new Life(this)
  }

  protected launch(life: Life): void {
    const context = this.context.pipe(
      Context.add(CurrentNode, this),
      Context.add(CurrentLife, life),
      Context.add(Scope.Scope, life.scope)
    )
    const body = Effect.flatMap(this.init, (run) => {
      if (run === ignore) {
        life.closing = true
        return Effect.void
      }
      if (!Effect.isEffect(run)) return Effect.die(new TypeError("the init's value is not an Effect"))
      this.started(life)
      return run as Effect.Effect<unknown, unknown>
    })
    const fiber = Effect.runForkWith(context)(body)
    life.fiber = fiber
    fiber.addObserver((exit) => this.bodyEnded(life, exit))
  }

  private bodyEnded(life: Life, exit: Exit.Exit<unknown, unknown>): void {
    const declined = life.closing
    life.closing = true
    life.exit = exit
    const close = Scope.closeUnsafe(life.scope, exit)
    const settle = (end: Exit.Exit<unknown, unknown>): void => {
      life.fiber = undefined
      if (declined && end._tag === "Success" && !life.ordered) this.ignored(life)
      else this.finished(life, end)
    }
    if (close === undefined) return settle(exit)
    // Its finalizers run in a fiber of their own, as long as the grace time lets them.
    if (!life.over) {
      life.cancelTimer?.()
      life.cancelTimer = undefined
      const finalizers = Effect.provideService(Effect.uninterruptible(close), CurrentLife, life)
      this.runtime.fork(finalizers).addObserver((end) => settle(exits.withFinalizers(exit, end)))
      this.grace(life)
    } else {
      this.runtime.fork(close).addObserver(() => settle(exit))
    }
  }

  protected quit(life: Life): void {
    if (!life.closing) life.fiber?.interruptUnsafe()
  }

  protected fence(life: Life): boolean {
    if (!life.closing) life.fiber?.interruptUnsafe()
    return life.fiber !== undefined
  }

  override refusesSpecOf(other: Mount): Refusal | undefined {
    return other instanceof EffectMount && other.kind === this.kind ? undefined : "other-kind"
  }

  protected override trade(other: EffectMount): void {
    super.trade(other)
    const { init } = this
    this.init = other.init
    other.init = init
  }

  snapshot(): Snapshot {
    return this.node([])
  }
}
