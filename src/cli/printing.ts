// @effect-diagnostics nodeBuiltinImport:off -- the command writes to the terminal that it was started from.
/**
 * What a command prints. A Node file: uses `node:process`.
 *
 * @since 0.1.0
 */
import process from "node:process"

import * as Effect from "effect/Effect"

import { plain } from "../run/internal/text.ts"
import { harmless, harmlessJson, type Look, lookOf, painted, timeOf } from "./look.ts"
import { type Cell, labelled, status, tableIn } from "./table.ts"

/** What standard output is like. */
export const here = (): Look => lookOf(process.env, process.stdout)

/** Writes to standard output as it is, and goes on when whoever reads it has taken that. */
export const write = (text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    process.stdout.write(text, () => resume(Effect.void))
  })

/** Writes lines of text, without anything that a terminal obeys but for the styles of this command. */
export const print = (text: string): Effect.Effect<void> => write(`${harmless(here(), text)}\n`)

/** Whether JSON was asked for: then what is said beside the output is JSON, too. */
const asJson = (): boolean => process.argv.some((each) => each === "--json" || each === "--json=true")

/** Says something beside the output: as JSON in one line where that was asked for, in lines of text otherwise. */
export const complain = (value: unknown, lines: ReadonlyArray<string>): void => {
  const beside = lookOf(process.env, process.stderr)
  const name = painted(beside, "bold", "espalier:")
  process.stderr.write(
    asJson()
      ? `${harmlessJson(JSON.stringify(value))}\n`
      : lines.map((line) => `${name} ${harmless(beside, line)}\n`).join("")
  )
}

/** Says what is wrong, beside the output. */
export const warn = (text: string): Effect.Effect<void> => Effect.sync(() => complain({ warning: text }, [text]))

/** Writes a text of JSON; a terminal gets it without anything that it obeys. */
export const printJsonText = (text: string): Effect.Effect<void> =>
  write(`${here().columns === undefined ? text : harmlessJson(text)}\n`)

/** Writes a value as JSON: in one line for programs. */
export const printJson = (value: unknown): Effect.Effect<void> => printJsonText(JSON.stringify(value))

/** A heading. */
export const heading = (text: string): string => painted(here(), "bold", text)

/** A time. */
export const time = (millis: number): string => timeOf(here(), millis)

/** A table. */
export const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string =>
  tableIn(here(), heads, rows)

/** What was found of a run, in a line. */
export const finding = (what: string, run: string, text: string): string =>
  labelled(here(), status(what), 9, `${plain(run)}  ${plain(text)}`)
