/**
 * Making a message's payload of what a caller gives: by the rpc's schema, where that says more than the type (checks,
 * defaults, classes). Only then must it run on every message.
 */
import type * as Rpc from "effect/rpc/Rpc"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"

import { isA } from "./exit.ts"

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

const textOf = SchemaIssue.makeFormatterDefault()

/** The maker of an rpc's payloads; what it throws names the actor, the rpc, the field and the value. */
export const makerOf = (id: string, rpc: Rpc.AnyWithProps): ((payload: unknown) => unknown) => {
  if (!needsMake(rpc.payloadSchema as Schema.Top)) return (payload) => payload
  return (payload) => {
    try {
      return rpc.payloadSchema.make(payload as never)
    } catch (error) {
      const issue = isA(error, Error) ? error.cause : undefined
      const why = SchemaIssue.isIssue(issue) ? textOf(issue) : String(error)
      throw new RangeError(`${id}.${rpc._tag}: the payload does not pass its schema: ${why}`, { cause: error })
    }
  }
}
