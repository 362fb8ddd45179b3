import { type ErrorType, errorTypeOfKind } from "../../agent/internal/errorTypes.ts"
/**
 * What can be told of an event.
 *
 * @since 0.1.0
 */
import type { ErrorInfo } from "../../run/Result.ts"
import type { Of, RunEvent } from "../../run/RunEvent.ts"
import type { Memory } from "./logMemory.ts"
import type { Fields } from "./logNames.ts"

/** How loud a line is. */
export type Level = "Debug" | "Info" | "Warn" | "Error"

/**
 * What is told of one event.
 *
 * **Details**
 *
 * - `task`, `worker`: where it happened. `more`: other fields, made only when somebody listens.
 * - `note`, `error`: words that are not ours.
 *
 * @since 0.1.0
 */
export interface Said {
  readonly level: Level
  readonly name: string
  readonly message: string
  readonly task?: string | undefined
  readonly worker?: string | undefined
  readonly more?: (() => Fields) | undefined
  readonly note?: string | undefined
  readonly error?: ErrorOf | undefined
}

/** Of a failure: `type` is what `error.type` says, nothing where it is not an error for telemetry. */
export interface ErrorOf {
  readonly kind: ErrorInfo["kind"]
  readonly reason: string
  readonly type: ErrorType | undefined
}

/** A failure as it is told. */
export const errorOf = (error: ErrorInfo | undefined): ErrorOf | undefined =>
  error === undefined ? undefined : { ...error, type: errorTypeOfKind(error) }

/** What is told of each event. */
export type Table = { readonly [Tag in RunEvent["_tag"]]: (event: Of<Tag>, memory: Memory) => Said }
