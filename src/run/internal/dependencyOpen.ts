/**
 * The refusal of a call. Public through `Dependency`.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"

/**
 * A call was refused: its dependency is closed to callers.
 *
 * **Details**
 *
 * - `because`: `"asked-to-wait"` by the dependency itself, `"failing"` after too many failures in a row, or `"probing"`
 *   when another call is finding out.
 * - `retryAfterMillis`: what is left of the pause; not known while a probe is under way.
 *
 * @category errors
 * @since 0.1.0
 */
export class DependencyOpen extends Schema.TaggedError<DependencyOpen>("espalier/run/Dependency/DependencyOpen")(
  "DependencyOpen",
  {
    dependency: Schema.String,
    because: Schema.Literals(["asked-to-wait", "failing", "probing"]),
    retryAfterMillis: Schema.optionalKey(Schema.Finite)
  }
) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "transient"

  override get message(): string {
    const { because, dependency, retryAfterMillis: left = 0 } = this
    if (because === "probing") return `${dependency} is being probed`
    const why = because === "failing" ? "keeps failing" : "asked to be left alone"
    return `${dependency} ${why}: no call for another ${Duration.format(Duration.millis(Math.ceil(left)))}`
  }
}
