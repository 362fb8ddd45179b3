/**
 * Schemas as a provider takes them for a tool whose calls have to keep to it.
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"

import { isRecord } from "../../run/internal/given.ts"

/** What every provider understands. Bounds and patterns are checked here, whatever a provider does. */
const understood: ReadonlySet<string> = new Set([
  "type",
  "description",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "prefixItems",
  "anyOf",
  "oneOf",
  "allOf",
  "$ref",
  "$defs"
])

const named: ReadonlySet<string> = new Set(["properties", "$defs"])

const trimmed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(trimmed)
  if (!isRecord(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => understood.has(key))
      .map(([key, value]) => {
        if (key === "enum" || key === "const" || key === "required") return [key, value]
        if (!named.has(key) || !isRecord(value)) return [key, trimmed(value)]
        return [key, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, trimmed(each)]))]
      })
  )
}

/**
 * The JSON schema of a schema: no field beside those that it names, and without bounds and patterns. Throws where it has none.
 *
 * @since 0.1.0
 */
export const strictSchema = (schema: Schema.Constraint): JsonSchema.JsonSchema => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const whole = Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
  return trimmed(whole) as JsonSchema.JsonSchema
}

/** Not every provider knows fields that may be left out. */
const demandsAll = ({ properties = {}, required }: Readonly<Record<string, unknown>>): boolean => {
  const names: ReadonlyArray<unknown> = Array.isArray(required) ? required : []
  return isRecord(properties) && Object.keys(properties).every((name) => names.includes(name))
}

/** Whether a schema leaves nothing open, so that a provider can hold a model to it. */
const isClosed = (schema: unknown): boolean => {
  if (!isRecord(schema)) return false
  const { $defs, allOf, anyOf, items, oneOf, prefixItems, properties, type } = schema
  const parts = [allOf, anyOf, oneOf, prefixItems].flatMap((each) =>
    Array.isArray(each) ? (each as Array<unknown>) : []
  )
  const fields = [properties, $defs].flatMap((each) => (isRecord(each) ? Object.values(each) : []))
  const says = ["$ref", "anyOf", "oneOf", "allOf", "type", "enum", "const"].some((key) => key in schema)
  return (
    says &&
    (type !== "object" || (schema["additionalProperties"] === false && demandsAll(schema))) &&
    (type !== "array" || items === undefined || items === false || isClosed(items)) &&
    [...parts, ...fields].every(isClosed)
  )
}

/**
 * A tool whose calls are checked by whoever reads them.
 *
 * @since 0.1.0
 */
export const strictTool = (name: string, description: string, parameters: JsonSchema.JsonSchema): Tool.Any =>
  Tool.dynamic(name, { description, parameters }).annotateMerge(Context.make(Tool.Strict, isClosed(parameters)))
