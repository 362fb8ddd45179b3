/**
 * What somebody says to a run, as word in the journal and back: whoever reads it has not seen who wrote it, so it is decoded
 * like anything else that comes from outside.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import type * as Journal from "../../journal/Journal.ts"
import * as RunEvents from "../RunEvent.ts"
import { fromRecord, toRecord } from "./log.ts"
import type { News } from "./news.ts"
import { decoder, sentence, sentences, show } from "./problems.ts"
import { unsayable } from "./sayable.ts"

/** What may be said from outside. */
export type FromOutside = Extract<
  News,
  {
    readonly _tag:
      | "ReviewDecided"
      | "ReviewWithdrawn"
      | "ReviewChanged"
      | "GrantGiven"
      | "GrantRevoked"
      | "AutonomyChanged"
      | "CancelRequested"
  }
>

/** What is left as word: what somebody says, or that it does not count, where they were told so already. */
export type Word = FromOutside | Extract<News, { readonly _tag: "ReviewRefused" }>

/** The word for a run that says something. */
export const commandOf = (run: string, at: number, said: Word): Journal.Command => {
  const { ack: _, command: __, eligible: _e, heard: _h, since: _s, ...told } = said
  const { data, type } = toRecord({ ...told, at } as RunEvents.RunEvent)
  return { run, type, at, data, ...(told._tag === "ReviewDecided" ? { review: told.review } : {}) }
}

const schemas = [
  RunEvents.ReviewDecided,
  RunEvents.ReviewRefused,
  RunEvents.ReviewWithdrawn,
  RunEvents.ReviewChanged,
  RunEvents.GrantGiven,
  RunEvents.GrantRevoked,
  RunEvents.AutonomyChanged,
  RunEvents.CancelRequested
]

const decoders = new Map(
  schemas.map((schema) => [schema.fields._tag.schema.literal as string, decoder<unknown, unknown>(schema)])
)

/** What is wrong with the fields of word that cannot be read; nothing where it is of no kind that could be. */
const misread = (type: string, data: unknown): string => {
  const fields = typeof data === "object" && data !== null && !Array.isArray(data) ? data : {}
  const read = decoders.get(type)?.({ ...fields, _tag: type, at: 0 })
  return read === undefined || EffectResult.isSuccess(read) ? "" : `, of which ${sentences(read.failure)}`
}

/** What word says; that it says nothing, where it does not. */
export const wordOf = ({ at, data, id, type }: Journal.Left): News => {
  const read = fromRecord({ type, at, data })
  const event = EffectResult.isSuccess(read) ? read.success : undefined
  const none = (why: string): News => {
    const note = `Word number ${id} that was left in the journal is none that a run takes: ${why}`
    return { _tag: "Noticed", subject: "", what: "refused-command", note, command: id }
  }
  const wrong = event === undefined ? undefined : unsayable(event)
  if (wrong !== undefined) return none(`${show(type)}, of which ${sentence(wrong)}`)
  switch (event?._tag) {
    case "ReviewDecided":
    case "ReviewRefused":
    case "ReviewWithdrawn":
    case "ReviewChanged":
    case "GrantGiven":
    case "GrantRevoked":
    case "AutonomyChanged":
    case "CancelRequested": {
      const { at: _, ...told } = event
      return { ...told, command: id, since: at }
    }
    default:
      return none(`${show(type)}${misread(type, data)}`)
  }
}
