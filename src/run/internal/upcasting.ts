/**
 * Versions of event schemas: what a journal of an older release has becomes what this one knows, one version at a time.
 *
 * **Details**
 *
 * - The stored type of an event is its name for version 1 and `Name.N` for version N. A version is raised when older code
 *   would misread what the new one writes; a new optional field alone is no new version.
 * - What is stored is never changed: it is brought up to date whenever it is read. So hashes stay, and so do old files.
 *
 * **Invariants**
 *
 * - V1. An event is read by the schema of the version it was brought up to, which is the latest.
 * - V2. What newer code has written is told apart from damage, and never read as something else.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import { RunEvent } from "../RunEvent.ts"

/** The data of an event, without its name and its time. */
export type Data = { readonly [field: string]: Schema.Json }

/** From the data of one version to that of the next. */
export type Upcaster = (data: Data) => Data

/** By name, the ways from version 1 to 2, from 2 to 3 and so on; the latest version is one more than there are. */
export type Upcasters = { readonly [Name in RunEvent["_tag"]]?: ReadonlyArray<Upcaster> }

/** Those of this release, in which every event has its first version. */
export const upcasters: Upcasters = {}

/** Why a record is no event: newer code has written it, or nobody has. `known`: the latest version here, 0 for none. */
export type Unreadable =
  | { readonly _tag: "TooNew"; readonly type: string; readonly known: number }
  | { readonly _tag: "Damaged"; readonly reason: string }

/** The names of events, from the schema. */
const names: ReadonlySet<string> = new Set(RunEvent.members.map(({ fields }) => fields._tag.schema.literal))

const isName = (name: string): name is RunEvent["_tag"] => names.has(name)

/** Names are words; numbers of versions begin with 2. */
const pattern = /^([A-Z][A-Za-z]*)(?:\.([2-9]|[1-9]\d{1,5}))?$/

/**
 * The stored type of an event of this release.
 *
 * @since 0.1.0
 */
export const storedType = (name: RunEvent["_tag"], table: Upcasters = upcasters): string => {
  const version = 1 + (table[name]?.length ?? 0)
  return version === 1 ? name : `${name}.${version}`
}

/**
 * The name and the data of the latest version of what is stored.
 *
 * @since 0.1.0
 */
export const upcast = (
  type: string,
  data: Data,
  table: Upcasters = upcasters
): Result.Result<{ readonly name: RunEvent["_tag"]; readonly data: Data }, Unreadable> => {
  const [, name = "", version = "1"] = pattern.exec(type) ?? []
  if (name === "") return Result.fail({ _tag: "Damaged", reason: `an event of the type ${JSON.stringify(type)}` })
  if (!isName(name)) return Result.fail({ _tag: "TooNew", type, known: 0 })
  const steps = table[name] ?? []
  const stored = Number(version)
  if (stored > steps.length + 1) return Result.fail({ _tag: "TooNew", type, known: steps.length + 1 })
  try {
    return Result.succeed({ name, data: steps.slice(stored - 1).reduce((each, step) => step(each), data) })
  } catch {
    return Result.fail({ _tag: "Damaged", reason: `a ${type} that cannot be brought up to date` })
  }
}
