/**
 * The most common answer by far, an output that is there and maybe what it came to, without the help of a schema.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

import type { Envelope, Usage } from "../Result.ts"
import { frozenIfPlain, isPlain } from "./plain.ts"

/** @since 0.1.0 */
export const isEmpty = (output: unknown): boolean =>
  output === undefined || output === null || (typeof output === "string" && output.trim() === "")

/**
 * The envelope of these fields when there is nothing to object to it, and nothing to add; `undefined` of all others, which
 * go by the schema. The output in it is a copy that nobody can change.
 *
 * @since 0.1.0
 */
export const ifUsual = (fields: { readonly [field: string]: unknown }): Envelope | undefined => {
  const { confidence, evidence, missing, output, status, usage } = fields
  if (status !== "completed" || Object.keys(fields).length !== 6 || isEmpty(output)) return undefined
  if (typeof confidence !== "number" || !(confidence >= 0 && confidence <= 1)) return undefined
  if (!isEmptyList(evidence) || !isEmptyList(missing)) return undefined
  const used = usageOf(usage)
  const copy = used === undefined ? undefined : frozenIfPlain(output)
  if (used === undefined || copy === undefined) return undefined
  return { status, output: copy as Schema.Json, confidence, evidence: noList, usage: used, missing: noList }
}

const noList: ReadonlyArray<never> = Object.freeze([])

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** A copy of a usage about which there is no doubt. */
const usageOf = (usage: unknown): Usage | undefined => {
  if (typeof usage !== "object" || usage === null || !isPlain(usage)) return undefined
  const read: Record<PropertyKey, number> = {}
  for (const measure of Reflect.ownKeys(usage)) {
    const amount = (usage as Readonly<Record<PropertyKey, unknown>>)[measure]
    if (typeof amount !== "number" || !(amount >= 0) || Object.is(amount, -0)) return undefined
    if (measure === "cost" ? amount > 1e15 : !isCounted(measure) || !Number.isSafeInteger(amount)) return undefined
    read[measure] = amount
  }
  const { cost, steps, tokens, toolCalls } = read
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(cost === undefined ? {} : { cost })
  }
}

const isCounted = (measure: PropertyKey): boolean =>
  measure === "steps" || measure === "tokens" || measure === "toolCalls"
