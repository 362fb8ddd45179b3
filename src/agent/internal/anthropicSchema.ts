/**
 * JSON schemas, as somebody else wrote them, in the form that the Messages API holds a model to. Pure.
 *
 * What only narrows is left out and told in the description; whoever checks the call knows the whole schema. A schema that says
 * something else that has no place there has no such form.
 */
import { isRecord } from "../../run/internal/given.ts"

type Fields = Readonly<Record<string, unknown>>

/** The schema has no form that can be enforced. */
class NoForm extends Error {}

const fail = (): never => {
  throw new NoForm()
}

/** Bounds, which are told instead. */
const told: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "default"
])

/** What says nothing about what fits. */
const notes: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "$anchor",
  "$comment",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly"
])

const formats: ReadonlySet<unknown> = new Set(["date-time", "time", "date", "duration", "email", "hostname", "uuid"])

const isPlain = (value: unknown): boolean => value === null || ["string", "number", "boolean"].includes(typeof value)

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : fail())

const recordOf = (value: unknown): Fields => (isRecord(value) ? value : fail())

const referred = /^#\/(?:\$defs|definitions)\/([\w.-]+)$/

/** Makes the form of one schema, with the names that it refers to. */
const formOf = (schema: unknown, refers: (name: string) => void): Fields => {
  const { $defs: _, definitions: __, ...fields } = recordOf(schema)
  const out: Record<string, unknown> = {}
  const bounds: Array<string> = []
  const each = (value: unknown) => formOf(value, refers)
  for (const [key, value] of Object.entries(fields)) {
    switch (key) {
      case "type":
      case "title":
      case "description":
      case "required":
        out[key] = value
        break
      case "enum":
        out[key] = listOf(value).every(isPlain) ? value : fail()
        break
      case "const":
        out[key] = isPlain(value) ? value : fail()
        break
      case "anyOf":
      case "oneOf":
        if ("anyOf" in out) fail()
        out["anyOf"] = listOf(value).map(each)
        break
      case "properties":
        out[key] = Object.fromEntries(Object.entries(recordOf(value)).map(([name, field]) => [name, each(field)]))
        break
      case "items":
        out[key] = each(value)
        break
      case "additionalProperties":
        if (value !== false) fail()
        break
      case "$ref": {
        const name = typeof value === "string" ? referred.exec(value)?.[1] : undefined
        refers(name ?? fail())
        out[key] = `#/$defs/${name}`
        break
      }
      default:
        if (key === "format" && formats.has(value)) out[key] = value
        else if (told.has(key)) bounds.push(`${key}: ${JSON.stringify(value)}`)
        else if (!notes.has(key) && !key.startsWith("x-")) fail()
    }
  }
  const types: ReadonlyArray<unknown> = Array.isArray(out["type"]) ? out["type"] : [out["type"]]
  if (types.includes("object")) {
    // Without fields it is a map or anything at all, unless it says that it is empty.
    if (out["properties"] === undefined && fields["additionalProperties"] !== false) fail()
    out["additionalProperties"] = false
  } else if ("properties" in out) fail()
  if (types.includes("array") && !("items" in out)) fail()
  if (!["type", "enum", "const", "anyOf", "$ref"].some((key) => key in out)) fail()
  if (bounds.length > 0) {
    const said = typeof out["description"] === "string" ? `${out["description"]} ` : ""
    out["description"] = `${said}(${bounds.join(", ")})`
  }
  return out
}

/** The schema in the subset that is enforced, or `undefined` for one that has no such form. */
export const enforceable = (schema: unknown): Fields | undefined => {
  try {
    const root = recordOf(schema)
    const definitions: Fields = { ...recordOf(root["definitions"] ?? {}), ...recordOf(root["$defs"] ?? {}) }
    const made = new Map<string, Fields>()
    const within = new Set<string>()
    const refers = (name: string): void => {
      if (made.has(name)) return
      // What refers to itself has no end.
      if (within.has(name) || !Object.hasOwn(definitions, name)) fail()
      within.add(name)
      made.set(name, formOf(definitions[name], refers))
      within.delete(name)
    }
    const form = formOf(root, refers)
    if (form["type"] !== "object") return undefined
    return made.size === 0 ? form : { ...form, $defs: Object.fromEntries(made) }
  } catch (error) {
    if (error instanceof NoForm || error instanceof RangeError) return undefined
    throw error
  }
}
