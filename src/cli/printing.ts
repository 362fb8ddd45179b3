// @effect-diagnostics nodeBuiltinImport:off -- the command writes to the terminal that it was started from.
/**
 * What a command prints. A Node file: uses `node:process` and `node:util`.
 *
 * @since 0.1.0
 */
import process from "node:process"
import { styleText } from "node:util"

import * as Effect from "effect/Effect"

import { tableOf } from "../run/internal/text.ts"

/** Writes to standard output, and goes on when whoever reads it has taken that. */
export const write = (text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    process.stdout.write(text, () => resume(Effect.void))
  })

/** Writes a line. */
export const print = (line: string): Effect.Effect<void> => write(`${line}\n`)

/** Says what is wrong, beside the output. */
export const warn = (text: string): Effect.Effect<void> =>
  Effect.sync(() => {
    process.stderr.write(`espalier: ${text}\n`)
  })

/** Writes a value as JSON: in one line for programs. */
export const printJson = (value: unknown): Effect.Effect<void> => print(JSON.stringify(value))

/** A heading: bold in a terminal that has not asked for plain text. */
export const heading = (text: string): string => styleText("bold", text, { stream: process.stdout })

/** A table whose heads stand out. */
export const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const [first = "", ...rest] = tableOf(heads, rows).split("\n")
  return [heading(first), ...rest].join("\n")
}
