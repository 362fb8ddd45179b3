/**
 * What has to be asked for an open choice, now or after the run was taken up again.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"

import * as Failure from "../../Failure.ts"
import * as Allowance from "../Allowance.ts"
import * as Budget from "../Budget.ts"
import type { Question } from "../Coordinator.ts"
import type * as Decider from "../Decider.ts"
import type { PlannedTask } from "../RunEvent.ts"
import type { TaskState } from "../RunState.ts"
import { askCoordinator, askTemplate, type Asking } from "./consulting.ts"
import { viewOf } from "./deciding/coordinating.ts"
import type { Hands } from "./hands.ts"
import { acceptedBy, contractOf, inputOf, templateOf } from "./orders.ts"
import { Paying } from "./paying.ts"
import { shortened, thrown } from "./problems.ts"

/** What has to be asked for an open choice, now or after the run was taken up again. */
export const asking = (
  hands: Hands,
  subject: string,
  purpose: Extract<Decider.Action, { readonly _tag: "Consult" }>["purpose"],
  consult: string
): Asking => {
  const { office } = hands
  const fold = hands.fold()
  const sources = hands.sources()
  const state = hands.state()
  const group = state.groups.get(subject)
  const task = state.tasks.get(subject)
  const key = task === undefined ? "" : (task.template ?? task.id)
  if (
    group === undefined &&
    task !== undefined &&
    (purpose === "decompose" || purpose === "re-plan" || purpose === "follow-up")
  ) {
    const contract = contractOf(sources, state, task)
    if (EffectResult.isFailure(contract)) {
      return { consult, subject, purpose, effect: Effect.die(new Error(contract.failure)) }
    }
    const last = task.tries.at(-1)
    const failing = (fold.evidence(subject) ?? []).filter(
      ({ exitStatus }) => exitStatus !== undefined && exitStatus !== 0
    )
    const effect = askTemplate(
      templateOf(sources, task),
      purpose,
      { contract: contract.success, accepted: acceptedBy(sources, state, task), reason: last?.reason ?? "", failing },
      { key, planned: plannedOf(task) },
      (worker, capability) => {
        if (worker === undefined && capability === undefined) return "it names neither a worker nor a capability"
        if (worker !== undefined && !office.spec.workers.has(worker)) return `there is no worker ${worker}`
        const known = capability === undefined || sources.capabilities.includes(capability)
        return known ? undefined : `no worker has the capability ${capability}`
      }
    )
    return { consult, subject, purpose, effect }
  }
  const coordinator = office.coordinators.get(key)
  if (group === undefined || coordinator === undefined) {
    return { consult, subject, purpose, effect: Effect.die(new Error(`nobody can be asked for ${purpose}`)) }
  }
  const refused = group.consult?.error
  const hints = group.said.flatMap(({ decision, kind, note }) =>
    kind === "plan-approval" && decision === "retry" ? [note] : []
  )
  let input: unknown
  try {
    input = inputOf(sources, state, subject)
  } catch (error) {
    const why = `the inputs of ${subject} cannot be made: ${thrown(error)}`
    return { consult, subject, purpose, effect: Effect.fail(Failure.malformed(why)) }
  }
  const left = Budget.left(state.ledger, ["run"])
  const question: Question = {
    run: state.run,
    consult,
    purpose,
    input,
    workers: [...office.spec.workers.values()].map(({ available, capabilities, name }) => ({
      name,
      description: office.staff.posts.get(name)?.seat.worker.description ?? "",
      capabilities,
      available: available && !state.health.has(name)
    })),
    tasks: viewOf(state, group).tasks,
    ...(refused === undefined ? {} : { refused }),
    ...(hints.length === 0 ? {} : { hints }),
    left,
    spend: new Paying(Allowance.makeUnsafe({ limit: left, account: "run" }), (told) =>
      hands.outside.around.tell({ _tag: "Spent", task: subject, dispatch: consult, worker: "", ...told })
    ).spend,
    notice: (what, note) =>
      Effect.sync(() =>
        hands.outside.around.tell({ _tag: "Noticed", subject, what: shortened(what, 100), note: shortened(note, 500) })
      )
  }
  return {
    consult,
    subject,
    purpose,
    candidates: question.workers.length,
    effect: askCoordinator(coordinator, question, office.context)
  }
}

const plannedOf = (task: TaskState): PlannedTask => {
  const { acceptMissing, amendment, capability, id, needs, template, worker } = task
  return {
    id,
    needs,
    acceptMissing,
    ...(worker === undefined ? {} : { worker }),
    ...(capability === undefined ? {} : { capability }),
    ...(template === undefined ? {} : { template }),
    ...(amendment === undefined ? {} : { amendment })
  }
}
