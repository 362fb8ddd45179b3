/**
 * How a request to a task supervisor can fail beside the task's own errors. Public through `Tasks`.
 */
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { showPath } from "./errors.ts"

const where = { tasks: Schema.Array(Schema.String) }

/**
 * The task supervisor does not run: it has not started, it stops, or it ended while the task ran.
 *
 * @category errors
 * @since 0.1.0
 */
export class TasksStopped extends Schema.TaggedError<TasksStopped>("espalier/Tasks/TasksStopped")(
  "TasksStopped",
  where
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.tasks)} does not run`
  }
}

/**
 * The task supervisor has as many tasks as it may have. Nothing was started.
 *
 * @category errors
 * @since 0.1.0
 */
export class TasksFull extends Schema.TaggedError<TasksFull>("espalier/Tasks/TasksFull")("TasksFull", {
  ...where,
  maxChildren: Schema.Finite
}) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.tasks)} is full: ${this.maxChildren} tasks run`
  }
}

/**
 * A task was not finished in time. An `awaitFor` leaves it running; a stream has cancelled it.
 *
 * **Details**
 *
 * `task`: the last part of the task's path. `index`: the position of the element, for a task of a stream.
 *
 * @category errors
 * @since 0.1.0
 */
export class TaskTimeout extends Schema.TaggedError<TaskTimeout>("espalier/Tasks/TaskTimeout")("TaskTimeout", {
  ...where,
  task: Schema.String,
  afterMillis: Schema.Finite,
  index: Schema.UndefinedOr(Schema.Finite)
}) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    const element = this.index === undefined ? "" : `, element ${this.index},`
    return `${showPath([...this.tasks, this.task])}${element} was not finished after ${this.afterMillis} ms`
  }
}

/**
 * The task ended without a result: it was shut down, or it interrupted itself.
 *
 * **Details**
 *
 * `leaked`: it did not stop in its grace time and was abandoned. It may still be running; nothing that it does reaches
 * anybody.
 *
 * @category errors
 * @since 0.1.0
 */
export class TaskCancelled extends Schema.TaggedError<TaskCancelled>("espalier/Tasks/TaskCancelled")("TaskCancelled", {
  ...where,
  task: Schema.String,
  leaked: Schema.Boolean
}) {
  override get message(): string {
    const path = showPath([...this.tasks, this.task])
    return this.leaked ? `${path} did not stop in its grace time and was abandoned` : `${path} was cancelled`
  }
}
