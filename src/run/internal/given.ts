/**
 * Checks of what a constructor was given: the first value that does not hold is a `RangeError` which names it.
 *
 * Callers without types, and values out of configuration, can give anything. What passes here is what the types say.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

import { durationOf } from "../../internal/options.ts"
import { candidates } from "./closest.ts"
import { isId } from "./fields.ts"
import { show } from "./problems.ts"

/**
 * A record that is no list and no function.
 *
 * @since 0.1.0
 */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Predicate.isObject(value) && !Array.isArray(value)

/**
 * Names as they stand in a sentence about a literal: `"low", "medium", "full"`.
 *
 * @since 0.1.0
 */
export const quoted = (names: ReadonlyArray<string>): string => names.map((name) => JSON.stringify(name)).join(", ")

/**
 * The checks of one function, `where`, such as `Worker.make`.
 *
 * @since 0.1.0
 */
export class Given {
  readonly where: string

  constructor(where: string) {
    this.where = where
  }

  refuse(parameter: string, expectation: string, value: unknown): never {
    throw new RangeError(`${this.where}: ${parameter} must be ${expectation}, got ${show(value)}`)
  }

  /** A record; with `known`, one that has no other fields. */
  record(parameter: string, value: unknown, known?: Iterable<string>): Readonly<Record<string, unknown>> {
    if (!isRecord(value)) return this.refuse(parameter, "an object", value)
    if (known !== undefined) {
      const names = new Set(known)
      for (const key of Object.keys(value)) {
        if (!names.has(key)) this.refuse(`each field of ${parameter}`, `one of ${candidates(key, names)}`, key)
      }
    }
    return value
  }

  list(parameter: string, value: unknown): ReadonlyArray<unknown> {
    return Array.isArray(value) ? (value as ReadonlyArray<unknown>) : this.refuse(parameter, "a list", value)
  }

  text(parameter: string, value: unknown): void {
    if (typeof value !== "string") this.refuse(parameter, "a text", value)
  }

  /** A list of texts. */
  texts(parameter: string, value: unknown): void {
    this.list(parameter, value).forEach((each, index) => this.text(`${parameter}[${index}]`, each))
  }

  /** A list of names without blanks and repetitions; `ids` are also keys of records. */
  names(parameter: string, value: unknown, kind: "ids" | "names" = "names"): ReadonlyArray<string> {
    const seen = new Set<string>()
    this.list(parameter, value).forEach((name, index) => {
      const path = `${parameter}[${index}]`
      if (kind === "ids" && !(typeof name === "string" && isId(name))) {
        this.refuse(path, "letters, digits, '.', '_' and '-', beginning with a letter", name)
      }
      if (typeof name !== "string" || name.trim() === "") return this.refuse(path, "a name that is not empty", name)
      if (seen.has(name)) throw new RangeError(`${this.where}: ${path} must not be named twice, got ${show(name)}`)
      seen.add(name)
    })
    return [...seen]
  }

  flag(parameter: string, value: unknown): void {
    if (typeof value !== "boolean") this.refuse(parameter, "true or false", value)
  }

  oneOf(parameter: string, value: unknown, names: ReadonlyArray<string>): void {
    if (typeof value !== "string" || !names.includes(value)) this.refuse(parameter, `one of ${quoted(names)}`, value)
  }

  whole(parameter: string, value: unknown, least: number): number {
    return Number.isSafeInteger(value) && (value as number) >= least
      ? (value as number)
      : this.refuse(parameter, `a whole number >= ${least}`, value)
  }

  /** A share of a whole. */
  share(parameter: string, value: unknown): number {
    return typeof value === "number" && value >= 0 && value <= 1
      ? value
      : this.refuse(parameter, "a number between 0 and 1", value)
  }

  duration(parameter: string, value: unknown, least: "zero" | "more"): Duration.Duration {
    return durationOf(this.where, parameter, value as Duration.Input, least)
  }

  code(parameter: string, value: unknown): void {
    if (!Predicate.isFunction(value)) this.refuse(parameter, "a function", value)
  }

  schema(parameter: string, value: unknown): void {
    if (!Schema.isSchema(value)) this.refuse(parameter, "a schema", value)
  }

  /** Something that one of the constructors of a module has made. */
  made(parameter: string, what: string, holds: boolean, value: unknown): void {
    if (!holds) this.refuse(parameter, what, value)
  }
}
