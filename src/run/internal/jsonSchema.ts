/**
 * A schema as plain data, so that a change of it is a change of a desk's definition.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** The JSON schema of a schema, as far as it can be told. */
export const jsonSchema = (schema: Schema.Constraint): unknown => {
  try {
    return Schema.toJsonSchemaDocument(schema).schema
  } catch {
    return null
  }
}
