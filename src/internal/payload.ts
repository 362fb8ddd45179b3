/**
 * Whether a payload's schema says more than its type: checks, defaults, classes. Only then must it run on every message.
 */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

const plain = new Set([
  "String",
  "Boolean",
  "Number",
  "BigInt",
  "Null",
  "Undefined",
  "Void",
  "Unknown",
  "Any",
  "Literal"
])

const says = (ast: SchemaAST.AST, depth: number): boolean => {
  if (depth > 8 || ast.checks !== undefined || ast.context?.constructorDefault !== undefined) return true
  if (ast._tag === "Objects") {
    return ast.indexSignatures.length > 0 || ast.propertySignatures.some((property) => says(property.type, depth + 1))
  }
  return !plain.has(ast._tag)
}

export const needsMake = (schema: Schema.Top): boolean => says(SchemaAST.toType(schema.ast), 0)
