/**
 * Which limited measures a worker is not expected to use anything of, as far as it says.
 *
 * @since 0.1.0
 */
import { planned } from "../../Coordinator.ts"
import type { Desk } from "../../Desk.ts"
import { measures } from "../amounts.ts"
import { candidates } from "../deciding/routing.ts"
import type { Findings } from "./findings.ts"
import { type Group, pathIn } from "./groups.ts"
import type { Staff } from "./tasks.ts"

type Limits = Desk["limits"] | undefined

/** So many places are told. */
const most = 5

const named = (places: ReadonlyArray<string>): string =>
  `${places.slice(0, most).join(", ")}${places.length > most ? ` and ${places.length - most} more` : ""}`

/** Warns where nothing can be reserved for an order, so that what it used is known only when it is over. */
export const checkEstimates = (desk: Desk, staff: Staff, groups: ReadonlyArray<Group>, findings: Findings): void => {
  const bounds = new Map([...staff.seats.keys()].map((name): [string, Map<string, Limits>] => [name, new Map()]))
  for (const [name, { domain }] of staff.seats) {
    const own = bounds.get(name)
    own?.set("a run", desk.limits)
    for (const account of [`domain:${domain}`, `worker:${name}`]) own?.set(account, desk.budgets[account])
  }
  for (const group of groups) {
    for (const task of group.coordinator.tasks) {
      if (task.by !== undefined) continue
      for (const worker of candidates(planned(task), staff.spec)) {
        const own = bounds.get(worker)
        own?.set(`the task ${pathIn(group, task.id)}`, task.limits)
        for (const around of group.around) own?.set(`the task ${around.path}`, around.task.limits)
      }
    }
  }
  for (const [name, { worker }] of staff.seats) {
    for (const measure of measures) {
      if (worker.estimate[measure] !== undefined) continue
      const whose = [...(bounds.get(name) ?? [])].flatMap(([who, limits]) =>
        limits?.[measure] === undefined ? [] : [who]
      )
      if (whose.length === 0) continue
      const message = `${name} declares no estimate of ${measure}, which is limited for ${named(whose)}`
      findings.warning("no-estimate", name, message)
    }
  }
}
