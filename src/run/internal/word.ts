/**
 * What somebody says to a run, as word in the journal and back: whoever reads it has not seen who wrote it, so it is decoded
 * like anything else that comes from outside.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import type * as Journal from "../../journal/Journal.ts"
import type { RunEvent } from "../RunEvent.ts"
import { fromRecord, toRecord } from "./log.ts"
import type { News } from "./news.ts"
import { show } from "./problems.ts"
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
  const { data, type } = toRecord({ ...told, at } as RunEvent)
  return { run, type, at, data, ...(told._tag === "ReviewDecided" ? { review: told.review } : {}) }
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
  if (wrong !== undefined) return none(`${show(type)}, of which ${wrong}`)
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
      return none(show(type))
  }
}
