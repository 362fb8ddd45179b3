/**
 * What a task builds on.
 *
 * @since 0.1.0
 */
import type { RunState, TaskState } from "../../RunState.ts"

/** The confidence of what a task builds on: the lowest of what it needs, and whose that is. */
export const basis = (
  state: Pick<RunState, "tasks">,
  task: TaskState
): { readonly confidence: number; readonly of: string } => {
  let least = { confidence: 1, of: "" }
  for (const need of task.needs) {
    const before = state.tasks.get(need)
    const behind = before?.tries.findLast(({ version }) => version === before.result)
    if (behind !== undefined && behind.confidence < least.confidence)
      least = { confidence: behind.confidence, of: need }
  }
  return least
}
