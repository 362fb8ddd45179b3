/**
 * Which of two places of a tree is down until the other has started.
 */
import type { Mount, Parent } from "./mount.ts"

/** Whether `node` can only start once the init of `caller`, which is under way, is finished. */
export const startsAfter = (node: Mount, caller: Mount | undefined): boolean => {
  for (let below: Mount | undefined = caller; below !== undefined; below = below.parent as Mount | undefined) {
    // Below their nearest common supervisor, one branch starts, and the other is down until that is done.
    const branch = branchOf(node, below.parent)
    if (branch !== undefined) {
      return branch !== below && !below.parent!.concurrent && below.state === "starting" && !branch.serving
    }
  }
  return false
}

/** The child of `supervisor` that `node` is, or is below. */
const branchOf = (node: Mount, supervisor: Parent | undefined): Mount | undefined => {
  let branch: Mount | undefined = node
  while (branch !== undefined && branch.parent !== supervisor) branch = branch.parent as Mount | undefined
  return branch
}
