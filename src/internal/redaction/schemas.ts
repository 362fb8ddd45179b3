/**
 * Takes out of an encoded value what its schema marks as a secret: by the annotation, or because it holds `Redacted` values.
 *
 * The schema is looked at once. One that marks nothing costs nothing.
 */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

import { secretMark } from "./mark.ts"
import { placeholder } from "./texts.ts"

/** Takes secrets out of an encoded value; the same reference when there are none. */
export type Concealing = (encoded: unknown) => unknown

const taken = placeholder("secret")

/** Effect's own schema of redacted values. */
const isRedactedSchema = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isDeclaration(ast) && idOf(ast.annotations?.["representation"]) === "effect/schema/Redacted"

const idOf = (representation: unknown): unknown =>
  typeof representation === "object" && representation !== null && "id" in representation
    ? representation.id
    : undefined

const isMarked = (ast: SchemaAST.AST): boolean =>
  SchemaAST.resolve(ast)?.[secretMark] === true ||
  ast.context?.annotations?.[secretMark] === true ||
  isRedactedSchema(ast)

/** What a value of this schema is made of, itself apart. */
const below = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  switch (ast._tag) {
    case "Objects":
      return [...ast.propertySignatures.map(({ type }) => type), ...ast.indexSignatures.map(({ type }) => type)]
    case "Arrays":
      return [...ast.elements, ...ast.rest]
    case "Union":
      return ast.types
    case "Suspend":
      return [ast.thunk()]
    default:
      return []
  }
}

/** The schema of what is written down: the last of those that a value goes through. */
const written = (ast: SchemaAST.AST): SchemaAST.AST => ast.encoding?.at(-1)?.to ?? ast

/** Whether anything that can be reached from here is marked. */
const reaches = (from: SchemaAST.AST, next: (ast: SchemaAST.AST) => ReadonlyArray<SchemaAST.AST>): boolean => {
  const seen = new Set([from])
  for (const ast of seen) {
    if (isMarked(ast)) return true
    for (const each of next(ast)) seen.add(each)
  }
  return false
}

const anywhere = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => [
  ...below(ast),
  ...(ast.encoding ?? []).map(({ to }) => to),
  ...(SchemaAST.isDeclaration(ast) ? ast.typeParameters : [])
]

const inWriting = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  const to = written(ast)
  return to === ast ? below(ast) : [to]
}

/** What has to be done to the values of a schema; nothing when it marks nothing. */
class Compiler {
  private readonly known = new Map<SchemaAST.AST, Concealing | undefined>()

  of(ast: SchemaAST.AST): Concealing | undefined {
    if (this.known.has(ast)) return this.known.get(ast)
    let made: Concealing | undefined
    // One that is met again while it is made refers to itself.
    this.known.set(ast, (encoded) => (made === undefined ? encoded : made(encoded)))
    made = this.make(ast)
    this.known.set(ast, made)
    return made
  }

  private make(ast: SchemaAST.AST): Concealing | undefined {
    if (!reaches(ast, anywhere)) return undefined
    if (isMarked(ast)) return take
    // Behind a change of a whole value nobody knows where the secret has gone.
    if (!reaches(ast, inWriting)) return take
    const to = written(ast)
    if (to !== ast) return this.of(to)
    switch (ast._tag) {
      case "Objects":
        return this.fields(ast)
      case "Arrays":
        return this.items(ast)
      case "Union":
        return this.members(ast)
      case "Suspend":
        return this.of(ast.thunk())
      default:
        return undefined
    }
  }

  private fields({ indexSignatures, propertySignatures }: SchemaAST.Objects): Concealing {
    const own = new Map(propertySignatures.map(({ name, type }) => [name, this.of(type)] as const))
    const others = indexSignatures.flatMap(({ type }) => this.of(type) ?? [])
    return (encoded) => {
      if (typeof encoded !== "object" || encoded === null || Array.isArray(encoded)) return take(encoded)
      let copy: Record<string, unknown> | undefined
      for (const [key, value] of Object.entries(encoded)) {
        const next = own.has(key) ? own.get(key)?.(value) : others.reduce((value, conceal) => conceal(value), value)
        if (next === undefined || next === value) continue
        copy ??= { ...(encoded as Readonly<Record<string, unknown>>) }
        copy[key] = next
      }
      return copy ?? encoded
    }
  }

  private items({ elements, rest }: SchemaAST.Arrays): Concealing {
    const first = elements.map((each) => this.of(each))
    const others = rest.flatMap((each) => this.of(each) ?? [])
    return (encoded) => {
      if (!Array.isArray(encoded)) return take(encoded)
      const items = encoded as ReadonlyArray<unknown>
      const next = items.map((item, index) =>
        index < first.length ? (first[index]?.(item) ?? item) : others.reduce((value, conceal) => conceal(value), item)
      )
      return next.every((item, index) => item === items[index]) ? encoded : next
    }
  }

  private members({ types }: SchemaAST.Union): Concealing {
    const marking = types.flatMap((type) => {
      const conceal = this.of(type)
      return conceal === undefined ? [] : [{ conceal, fits: Schema.is(encodedAs(type)) }]
    })
    return (encoded) =>
      marking.reduce<unknown>((value, { conceal, fits }) => (fits(encoded) ? conceal(value) : value), encoded)
  }
}

const encodedAs = (ast: SchemaAST.AST): Schema.Codec<unknown> =>
  Schema.make<Schema.Codec<unknown>>(SchemaAST.toEncoded(ast))

const take: Concealing = (encoded) => (encoded === null || encoded === undefined ? encoded : taken)

const nothing: Concealing = (encoded) => encoded

/**
 * Takes out what a schema marks, of values that it has encoded.
 *
 * @param schema whose encoded side is what is written down, as that of `Schema.toCodecJson` is.
 */
export const concealing = (schema: Schema.Constraint): Concealing => {
  const { ast } = schema
  const known = compiled.get(ast)
  if (known !== undefined) return known
  const made = new Compiler().of(ast) ?? nothing
  compiled.set(ast, made)
  return made
}

const compiled = new WeakMap<SchemaAST.AST, Concealing>()
