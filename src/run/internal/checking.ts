/**
 * Everything that is wrong with a desk, found before anything runs.
 *
 * @since 0.1.0
 */
import * as Decider from "../Decider.ts"
import type { Desk, Seat } from "../Desk.ts"
import { checkEstimates } from "./checking/estimates.ts"
import { type Finding, Findings } from "./checking/findings.ts"
import { checkGroup, groupsOf } from "./checking/groups.ts"
import { checkNumbers } from "./checking/limits.ts"
import { checkStaff } from "./checking/staffing.ts"
import { checkTask, type Staff } from "./checking/tasks.ts"
import { knownAs } from "./closest.ts"

/** See `Desk.check`. */
export const check = (desk: Desk, seats: ReadonlyArray<Seat>): ReadonlyArray<Finding> => {
  const findings = new Findings()
  if (desk.name.trim() === "") findings.error("no-name", desk.name, "the desk has no name")
  if (desk.version.trim() === "") {
    findings.error("no-version", desk.name, `the desk ${desk.name} has no version`)
  }
  checkStaff(desk, seats, findings)
  checkNumbers(desk, seats, findings)
  const staff = staffOf(seats)
  const names = new Set(staff.seats.keys())
  const groups = groupsOf(desk, findings)
  for (const group of groups) {
    checkGroup(desk, names, group, findings)
    for (const task of group.coordinator.tasks) checkTask(desk, staff, group, task, findings)
  }
  checkEstimates(desk, staff, groups, findings)
  checkMerge(desk, findings)
  return findings.all
}

const staffOf = (seats: ReadonlyArray<Seat>): Staff => ({
  seats: new Map(seats.map((seat) => [seat.name, seat])),
  capabilities: new Set(seats.flatMap(({ worker }) => worker.capabilities)),
  spec: Decider.spec({
    workers: seats.map(({ name, worker }) => ({ name, capabilities: worker.capabilities }))
  })
})

/** The answer of a run is merged out of tasks of its own coordinator; those of a planner are not known before. */
const checkMerge = ({ aggregate, coordinator, name, reconcile }: Desk, findings: Findings): void => {
  if (aggregate === undefined) {
    if (reconcile === undefined) return
    const message = `the desk ${name} says who reconciles, but has no aggregate in which anything could be open`
    return findings.warning("no-aggregate", name, message)
  }
  if (coordinator.kind === "planner") return
  const ids = new Set(coordinator.tasks.map(({ id }) => id))
  for (const task of aggregate.tasks) {
    if (ids.has(task)) continue
    findings.error(
      "unknown-task",
      name,
      `the answer of ${name} is merged out of ${task}, but there is no such task${knownAs(task, ids)}`
    )
  }
}
