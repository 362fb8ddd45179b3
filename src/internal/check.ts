/**
 * What a spec makes unlikely to work as meant, found without starting anything.
 */
import * as Duration from "effect/Duration"

import type * as Child from "../Child.ts"
import * as RestartIntensity from "../RestartIntensity.ts"
import type { SupervisorPolicy } from "./supervisorMount.ts"

/** A supervisor's spec, as far as it is read here. */
interface Spec {
  readonly policy: SupervisorPolicy
  readonly children: ReadonlyArray<Child.Any>
}

const isSupervisor = (child: Child.Any): child is Child.Any & Spec => "children" in child

/** One sentence per finding, with the path. */
export const check = (root: Child.Any): ReadonlyArray<string> => {
  const warnings: Array<string> = []
  const waiting: Array<readonly [spec: Spec, path: string]> = isSupervisor(root) ? [[root, root.id]] : []
  for (const [spec, path] of waiting) {
    const { strategy, intensity } = spec.policy
    const budget = RestartIntensity.make(intensity)
    // Without a restart to spend, the first crash is the last: there is nothing that could go on for ever.
    const share = budget.restarts === 0 ? Number.NaN : Duration.toMillis(budget.within) / budget.restarts
    for (const child of spec.children) {
      if (isSupervisor(child)) waiting.push([child, `${path}/${child.id}`])
      if (isSupervisor(child) && child.policy.autoShutdown !== "never" && child.policy.restart === "always") {
        warnings.push(
          `${path}: ${child.id} shuts itself down and is restarted always, at the cost of a restart each time`
        )
      }
      const { shutdown, declaredShutdown } = child.policy
      if (strategy === "one-for-one" || !declaredShutdown || shutdown === "abandon") continue
      if (Duration.toMillis(shutdown) >= share) {
        warnings.push(
          `${path}: a group stop may wait ${Duration.format(shutdown)} for ${child.id}, so ${
            budget.restarts
          } restarts within ${Duration.format(budget.within)} may never be exceeded: it could restart for ever`
        )
      }
    }
  }
  return warnings
}
