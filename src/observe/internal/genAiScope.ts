/**
 * For whom a model is called, as the spans of its calls say it, and how tracers are decorated.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Tracer from "effect/Tracer"

/**
 * How much of what is said to a model and by it may be told.
 *
 * **Details**
 *
 * - `none`: nothing. `metadata`: of what kinds its parts are, and how large.
 * - `redacted`: the content without what the rules of `Redaction` take out. `full`: the content.
 *
 * @category models
 * @since 0.1.0
 */
export type Capture = (typeof captures)[number]

/** Every {@link Capture}, the least first. */
export const captures = ["none", "metadata", "redacted", "full"] as const

/**
 * For whom a model is called.
 *
 * **Details**
 *
 * - `agent`: the name of a kind of agent, never of one instance. `kindPath`: where it is in the tree, without numbers.
 * - `run`: the id of the run. `conversation`: the id of a conversation, only where there is one.
 * - `capture`: stands over what the layer was told.
 *
 * @category models
 * @since 0.1.0
 */
export interface Scope {
  readonly agent?: string | undefined
  readonly run?: string | undefined
  readonly kindPath?: string | undefined
  readonly conversation?: string | undefined
  readonly capture?: Capture | undefined
}

/**
 * How tracers are decorated.
 *
 * **Details**
 *
 * - `decorate`: the same for the same tracer. `tellsTools`: whether arguments and results of tools may go to its spans, which take of
 *   them what may be told.
 *
 * @category models
 * @since 0.1.0
 */
export interface Decoration {
  readonly decorate: (tracer: Tracer.Tracer) => Tracer.Tracer
  readonly tellsTools: boolean
}

/**
 * How the tracers of runs are decorated, whichever they are. Default: not at all.
 *
 * @category services
 * @since 0.1.0
 */
export const Decoration: Context.Reference<Decoration | undefined> = Context.Reference<Decoration | undefined>(
  "espalier/observe/internal/genAiScope/Decoration",
  { defaultValue: () => undefined }
)

/**
 * For whom models are called around here. Default: nobody known.
 *
 * @category services
 * @since 0.1.0
 */
export const GenAiScope: Context.Reference<Scope> = Context.Reference<Scope>(
  "espalier/observe/internal/genAiScope/GenAiScope",
  {
    defaultValue: () => ({})
  }
)
