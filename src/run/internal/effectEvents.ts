/**
 * What the journal says of what workers do outside.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { Reference } from "../../journal/Reference.ts"
import { Usage } from "../Result.ts"
import { EffectEnd, EffectRecovery } from "./vocabulary.ts"

const at = Schema.Finite
const note = Schema.String
const task = Schema.String
const effect = Schema.String

/**
 * **Details**
 *
 * - `effect`: its key, the same whenever the task does the same again. `name`, `digest`: what it is, and of its arguments.
 * - `per`: it belongs to its order alone, and means nothing once that is over.
 * - `recovery`: what is done when nobody knows whether it has happened.
 * - `grant`: the review in which a person let it be done. It is used up by this. `digest` and `arguments` are those that were
 *   approved there, which may be other ones than were proposed.
 * - `arguments`: for people to see; of more than 32 KiB of JSON only the bytes, in `largeArguments`.
 *
 * @category models
 * @since 0.1.0
 */
export const EffectIntended = Schema.TaggedStruct("EffectIntended", {
  at,
  task,
  dispatch: Schema.String,
  effect,
  name: Schema.String,
  digest: Schema.String,
  occurrence: Schema.Int,
  recovery: EffectRecovery,
  per: Schema.optionalKey(Schema.Literal("dispatch")),
  arguments: Schema.optionalKey(Schema.Json),
  largeArguments: Schema.optionalKey(Schema.Int),
  grant: Schema.optionalKey(Schema.String),
  note
})

/**
 * **Details**
 *
 * - `value`: what came of it, absent where it gives none; `valueRef`: where it is, when it takes more than 64 KiB of JSON and
 *   there is a store of artefacts. Only when it was done.
 * - `by`: whether that is known from doing it or from a probe.
 *
 * @category models
 * @since 0.1.0
 */
export const EffectSettled = Schema.TaggedStruct("EffectSettled", {
  at,
  task,
  effect,
  outcome: EffectEnd,
  by: Schema.Literals(["run", "probe"]),
  value: Schema.optionalKey(Schema.Json),
  valueRef: Schema.optionalKey(Reference),
  note
})

/**
 * **Details**
 *
 * - `task`: the one that cannot go on, which need not be the one whose effect it is.
 * - `happened`: it is known to have happened, and only what came of it is not.
 *
 * @category models
 * @since 0.1.0
 */
export const EffectQuarantined = Schema.TaggedStruct("EffectQuarantined", {
  at,
  task,
  effect,
  happened: Schema.Boolean,
  note
})

/**
 * **Details**
 *
 * - `task`, `dispatch`, `worker`: the order whose work it was; it is charged at once, to what was set aside for the order first. Of a
 *   choice what it is about, its own id, and nobody.
 * - `what`: what was paid for, such as `model` or `tool`. `facts`: what there is to know of it; `espalier/agent` has a schema of
 *   those of a model.
 *
 * @category models
 * @since 0.1.0
 */
export const Spent = Schema.TaggedStruct("Spent", {
  at,
  task,
  dispatch: Schema.String,
  worker: Schema.String,
  what: Schema.String,
  usage: Usage,
  facts: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  note
})
