/**
 * What becomes of an order that was under way when its run was cut off.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import * as Contract from "../Contract.ts"
import type { TaskState } from "../RunState.ts"
import { type Answer, failure } from "./attempt.ts"
import { beginning } from "./carrying.ts"
import { forPeople } from "./deciding/effects.ts"
import { unknown } from "./dispatch.ts"
import type { Beginning, Hands } from "./hands.ts"
import type { News } from "./news.ts"
import { type Made, orderFor } from "./orders.ts"

/** It is given again, under the same id, or it is over: a report says why. */
export type Reattached =
  | { readonly _tag: "Again"; readonly beginning: Beginning }
  | { readonly _tag: "Over"; readonly report: News }

/** Gives an order again, where there is still one to give. What only a person can tell is waited for first. */
export const reattach = (hands: Hands, task: TaskState): Reattached | undefined => {
  const { dispatch: open } = task
  if (open === undefined) return undefined
  const { digest, grant, id, recalled, worker } = open
  const over = ({ outcome, result }: Answer, why: string): Reattached => {
    const note = `${worker} cannot be given ${id} again: ${why}`
    const attempts = task.attempts + 1
    return {
      _tag: "Over",
      report: { _tag: "Reported", task: task.id, dispatch: id, worker, attempts, outcome, result, note }
    }
  }
  const effect = recalled === undefined ? forPeople(hands.state(), task.id) : undefined
  if (effect !== undefined) {
    // It says nothing about the worker.
    const why = unknown(effect)
    return over(failure("transient", why, "cancelled"), why)
  }
  const post = hands.office.staff.posts.get(worker)
  const again =
    post === undefined
      ? EffectResult.fail(`CONTRACT_INVALID: there is no worker ${worker}`)
      : orderFor(hands.sources(), post.seat, hands.state(), task, task.dispatches)
  // Journals of before approvals were used up have them beside the order.
  const old = task.approved.filter((each) => each.review === undefined && each.worker === worker)
  const digests = grant === undefined ? old.map((each) => each.digest) : [grant.digest]
  const bound = digests.some((each) => each !== undefined)
  const made = EffectResult.flatMap(again, (made): EffectResult.Result<Made, string> =>
    bound && !digests.includes(Contract.digest(made.order.contract))
      ? EffectResult.fail(`it is not the order that a person let ${worker} have`)
      : EffectResult.succeed(made)
  )
  return EffectResult.isSuccess(made)
    ? { _tag: "Again", beginning: beginning(hands, task.id, worker, made.success, digest !== undefined) }
    : over(failure("defect", made.failure, "rejected-contract"), made.failure)
}
