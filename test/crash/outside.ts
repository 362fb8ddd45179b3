/**
 * The world outside of a run: a file that only grows, and outlives whoever is killed.
 *
 * Each line is one write. What a killed process had written before its death is there, and nothing after it.
 */
import { openSync, readFileSync, writeSync } from "node:fs"

/**
 * What is seen from outside.
 *
 * - `Life`: a process began; where each run was then.
 * - `Crossed`: it came by a boundary, so many acknowledged events and milliseconds after it was ready; told only when nobody
 *   is to be killed.
 * - `Begun`: a worker was given an order.
 * - `Done`: an effect was performed, the only thing that must not happen twice.
 * - `Committed`: the store has acknowledged an event at this place. `Published`: the run has told of it.
 */
export type Line =
  | { readonly _tag: "Life"; readonly life: number; readonly versions: Readonly<Record<string, number>> }
  | {
      readonly _tag: "Crossed"
      readonly life: number
      readonly boundary: string
      readonly acknowledged: number
      readonly millis: number
    }
  | {
      readonly _tag: "Begun"
      readonly life: number
      readonly run: string
      readonly task: string
      readonly dispatch: string
    }
  | { readonly _tag: "Done"; readonly life: number; readonly run: string; readonly task: string; readonly key: string }
  | {
      readonly _tag: "Committed"
      readonly life: number
      readonly run: string
      readonly version: number
      readonly digest: string
    }
  | { readonly _tag: "Published"; readonly life: number; readonly run: string; readonly what: string }

/** A line before it is known whose it is. */
export type Told = Line extends infer L ? (L extends Line ? Omit<L, "life"> : never) : never

/** Opens the file for one life, to write lines. A line is in the file when it is told; it is not forced to the device. */
export const pen = (path: string, life: number): ((line: Told) => void) => {
  const file = openSync(path, "a")
  return (line) => void writeSync(file, `${JSON.stringify({ ...line, life })}\n`)
}

/** All lines so far. */
export const readLines = (path: string): ReadonlyArray<Line> =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line)
