/**
 * What of an event may hold a secret, and the event without it.
 *
 * Ids, names, references, digests, kinds and numbers are left as they are. Everything that is said, given or brought is
 * looked at, before the state sees it: what is live, what is written and what is hashed is the same.
 *
 * @since 0.1.0
 */
import type { Redaction } from "../../Redaction.ts"
import type { RunEvent } from "../RunEvent.ts"
import { canonical, digest } from "./canonical.ts"
import { sealed, tooMuch } from "./plain.ts"

type Look = (value: unknown, by: Redaction) => unknown

const text: Look = (value, by) => (typeof value === "string" ? by.text(value) : value)

/** What became too large by what was put into it is not kept. */
const data: Look = (value, by) => {
  const redacted = by.value(value)
  if (redacted === value) return value
  const grown = tooMuch(redacted, "") !== undefined && tooMuch(value, "") === undefined
  return sealed(grown ? "[redacted:crowded]" : redacted)
}

/** Looks at some fields of an object; the same object when nothing is taken out. */
const fields =
  (looks: Readonly<Record<string, Look>>): Look =>
  (value, by) => {
    const given = value as Readonly<Record<string, unknown>>
    let copy: Record<string, unknown> | undefined
    for (const name in looks) {
      const before = given[name]
      if (before === undefined) continue
      const next = looks[name]?.(before, by)
      if (next === before) continue
      copy ??= { ...given }
      copy[name] = next
    }
    return copy ?? value
  }

const each =
  (look: Look): Look =>
  (value, by) => {
    const given = value as ReadonlyArray<unknown>
    let copy: Array<unknown> | undefined
    for (let index = 0; index < given.length; index++) {
      const next = look(given[index], by)
      if (next === given[index]) continue
      copy ??= [...given]
      copy[index] = next
    }
    return copy ?? value
  }

const error = fields({ reason: text })
const missing = each(fields({ part: text, reason: text }))
const result = fields({
  output: data,
  error,
  evidence: each(fields({ command: text, environment: text, output: text })),
  missing,
  findings: each(fields({ statement: text })),
  ambiguity: text
})
const tasks = each(fields({ amendment: data }))

/** By the kind of an event, what is looked at beside its note. */
const looks: { readonly [Tag in RunEvent["_tag"]]?: Readonly<Record<string, Look>> } = {
  RunStarted: { input: data, tasks },
  GroupOpened: { tasks },
  TasksAdded: { tasks },
  Merged: { result, conflicts: data, leftOut: missing, open: each(fields({ reason: text })) },
  Decided: { answer: data },
  DecisionFailed: { error },
  EffectIntended: { arguments: data },
  EffectSettled: { value: data },
  Spent: { facts: data },
  Reported: { result },
  ReviewOpened: { facts: data },
  ReviewDecided: { answer: data },
  TaskEnded: { missing }
}

const byTag = new Map(
  Object.entries(looks).map(([tag, looks]) => [tag as RunEvent["_tag"], fields({ ...looks, note: text })])
)

const onlyNote = fields({ note: text })

/**
 * An event without its secrets; the same event when it has none.
 *
 * @since 0.1.0
 */
export const redacted = (event: RunEvent, by: Redaction): RunEvent => {
  const next = (byTag.get(event._tag) ?? onlyNote)(event, by) as RunEvent
  if (next === event || next._tag !== "Reported" || next.digest === undefined) return next
  const { output } = next.result
  // The digest of an output is that of what is written.
  return output === undefined ? next : { ...next, digest: digest(canonical(output)) }
}
