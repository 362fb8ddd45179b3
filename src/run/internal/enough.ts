/**
 * Whether a group has all the results that it needs.
 *
 * @since 0.1.0
 */
import type { GroupState, RunState } from "../RunState.ts"

/** Whether so many tasks of a group are accepted that the others are not needed. */
export const isQuorum = ({ accepted, containment }: Pick<GroupState, "accepted" | "containment">): boolean =>
  typeof containment !== "string" && accepted >= containment.quorum

/** Whether a group is whole with what it has. One that stops with the group that it is in, which has enough, is not. */
export const isEnough = (state: Pick<RunState, "groups" | "tasks">, group: GroupState): boolean => {
  if (isQuorum(group)) return true
  if (group.stopping?.reason !== "accepted") return false
  for (let { id } = group; id !== "";) {
    id = state.tasks.get(id)?.parent ?? ""
    if (state.groups.get(id)?.stopping?.reason === "accepted") return false
  }
  return true
}
