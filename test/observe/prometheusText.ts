/** Prometheus text, read by a parser that is not ours. */
import { createRequire } from "node:module"

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly metrics: ReadonlyArray<{
    readonly value?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly buckets?: Readonly<Record<string, string>>
    readonly count?: string
    readonly sum?: string
  }>
}

export const parse = createRequire(import.meta.url)("parse-prometheus-text-format") as (
  text: string
) => ReadonlyArray<Family>

export const family = (text: string, name: string): Family | undefined => parse(text).find((each) => each.name === name)
