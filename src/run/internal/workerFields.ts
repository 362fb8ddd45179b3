/**
 * The options of a worker, by their names.
 *
 * @since 0.1.0
 */
import type { Options } from "../Worker.ts"

/** @since 0.1.0 */
export const workerFields: ReadonlyArray<keyof Options<unknown, unknown, unknown, unknown, unknown, unknown>> = [
  "description",
  "capabilities",
  "input",
  "output",
  "risk",
  "size",
  "queue",
  "available",
  "attemptTimeout",
  "permissions",
  "tools",
  "dependencies",
  "artefacts",
  "secrets",
  "estimate",
  "confidence",
  "window",
  "irreversible",
  "handle"
]
