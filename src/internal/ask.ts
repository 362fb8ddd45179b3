/**
 * Sending a request to a supervisor and waiting for its answer, unless the answer would wait for the asker.
 *
 * A supervisor decides one thing at a time. While it waits for a child to become ready or to end, requests wait too. So
 * code of that very child that asks would wait for itself: such a request is refused when it arrives. What is known is
 * the fiber that asks and the incarnation whose code it runs; a fiber that is forked for the purpose and not waited for
 * may ask anything.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { format } from "effect/Formatter"

import { ChildRefused, StartFailure } from "./errors.ts"
import type { Incarnation, Mount, Trouble } from "./mount.ts"
import { CurrentLife } from "./runtime.ts"
import type { Supervising } from "./supervising.ts"
import type * as core from "./transition.ts"

/** Who asks. */
export interface Asker {
  readonly life: Incarnation
  readonly fiber: Fiber.Fiber<unknown, unknown>
  /** it is in a region that cannot be interrupted */
  readonly protected: boolean
}

/** Calls `f` with the asker, if it runs the code of a child. */
export const withAsker = <A, E, R>(f: (asker: Asker | undefined) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    const life = fiber.getRef(CurrentLife)
    if (life === undefined) return f(undefined)
    // Where nothing can be interrupted, there is nothing to restore.
    return Effect.uninterruptibleMask((restore) =>
      restore(f({ life, fiber, protected: restore(Effect.void) === Effect.void }))
    )
  })

/** Whether a stop of the asker's child must wait until the asker has its answer. */
export const holdsUp = ({ fiber, life, protected: isProtected }: Asker): boolean =>
  !life.over && (isProtected || life.mount.waitsOut(fiber))

/** Why the answer would wait for the asker; `stops` is the child that is asked to stop. */
const wouldWait = (
  supervisor: Supervising,
  asker: Asker,
  stops: string | undefined
): "called-from-init" | "called-from-stop" | undefined => {
  const { life } = asker
  let branch: Mount | undefined = life.mount
  while (branch !== undefined && branch.parent !== supervisor) branch = branch.parent as Mount | undefined
  if (branch === undefined || life.over) return undefined
  const awaited = supervisor.awaits(branch)
  if (awaited === "ready") return life.ready ? undefined : "called-from-init"
  if (awaited === undefined && branch.id !== stops) return undefined
  return holdsUp(asker) ? "called-from-stop" : undefined
}

export const refusal = (supervisor: Mount, child: unknown, reason: ChildRefused["reason"]): ChildRefused =>
  new ChildRefused({ supervisor: supervisor.path, child: typeof child === "string" ? child : format(child), reason })

/** Refusals that are about a child that is there. */
const isPresent = (reason: core.Refusal): boolean =>
  reason === "already-started" || reason === "already-present" || reason === "running" || reason === "restarting"

const refusalOf = (supervisor: Supervising, id: string, reason: core.Refusal): ChildRefused => {
  const child = isPresent(reason) ? supervisor.childOf(id) : undefined
  if (child === undefined) return refusal(supervisor, id, reason)
  const { incarnation, state } = child
  return new ChildRefused({ supervisor: supervisor.path, child: id, reason, present: { state, incarnation } })
}

/** Sends a request and waits for its answer. */
export const ask = (
  supervisor: Supervising,
  child: string,
  message: (reply: core.Reply<Trouble>) => core.Message<Mount, Trouble>
): Effect.Effect<void, ChildRefused | StartFailure<never>> =>
  withAsker((asker) =>
    Effect.callback<void, ChildRefused | StartFailure<never>>((resume) => {
      const request = message((answer) => {
        switch (answer._tag) {
          case "Done":
            return resume(Effect.void)
          case "Refused":
            return resume(Effect.fail(refusalOf(supervisor, child, answer.reason)))
          case "Failed": {
            const { path, cause } = answer.failure
            return resume(Effect.fail(new StartFailure<never>({ path, cause: cause as Cause.Cause<never> })))
          }
        }
      })
      if (asker === undefined) return supervisor.post(request)
      const stops = request._tag === "StopChild" ? request.id : undefined
      supervisor.post(request, () => wouldWait(supervisor, asker, stops))
    })
  )
