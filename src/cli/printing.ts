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

/** Whether JSON was asked for: then what is said beside the output is JSON, too. */
const asJson = process.argv.some((each) => each === "--json" || each === "--json=true")

/** Says something beside the output: as JSON in one line where that was asked for, in lines of text otherwise. */
export const complain = (value: unknown, lines: ReadonlyArray<string>): void => {
  process.stderr.write(asJson ? `${JSON.stringify(value)}\n` : lines.map((line) => `espalier: ${line}\n`).join(""))
}

/** Says what is wrong, beside the output. */
export const warn = (text: string): Effect.Effect<void> => Effect.sync(() => complain({ warning: text }, [text]))

/** Writes a value as JSON: in one line for programs. */
export const printJson = (value: unknown): Effect.Effect<void> => print(JSON.stringify(value))

/** A heading: bold in a terminal that has not asked for plain text. */
export const heading = (text: string): string => styleText("bold", text, { stream: process.stdout })

/** A table whose heads stand out. */
export const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const [first = "", ...rest] = tableOf(heads, rows).split("\n")
  return [heading(first), ...rest].join("\n")
}
