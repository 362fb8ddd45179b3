/**
 * Hours in which people are left alone.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"

import type { Channel } from "./channels.ts"
import { Given } from "./given.ts"
import type { Notice } from "./notices.ts"

/**
 * When people are left alone.
 *
 * **Details**
 *
 * - `from`, `until`: as on a clock, `"22:00"` and `"07:00"`; not the same. The first is quiet, the second is not.
 * - `zone`: the name of a time zone, such as `"Europe/Vienna"`, or an offset, such as `"+01:00"`.
 *
 * @category options
 * @since 0.1.0
 */
export interface QuietHours {
  readonly from: string
  readonly until: string
  readonly zone: string
}

interface Hours {
  readonly from: number
  readonly until: number
  readonly zone: DateTime.TimeZone
}

const clock = /^([01]\d|2[0-3]):([0-5]\d)$/

const read = (hours: QuietHours): Hours => {
  const given = new Given("Notifier.quiet")
  given.record("hours", hours, ["from", "until", "zone"])
  const minutes = (name: "from" | "until"): number => {
    const value: unknown = hours[name]
    const found = typeof value === "string" ? clock.exec(value) : null
    return found === null
      ? given.refuse(name, "a time from 00:00 to 23:59", value)
      : Number(found[1]) * 60 + Number(found[2])
  }
  const from = minutes("from")
  const until = minutes("until")
  if (from === until) given.refuse("until", "another time than from", hours.until)
  const zone = typeof hours.zone === "string" ? DateTime.zoneFromString(hours.zone) : Option.none()
  return Option.isSome(zone)
    ? { from, until, zone: zone.value }
    : given.refuse("zone", "the name of a time zone, or an offset", hours.zone)
}

/** The end of the quiet hours that a moment lies in, if it does. */
const endOf = ({ from, until, zone }: Hours, at: number): number | undefined => {
  const local = Option.getOrUndefined(DateTime.makeZoned(at, { timeZone: zone }))
  if (local === undefined) return undefined
  const { hour, minute } = DateTime.toParts(local)
  const now = hour * 60 + minute
  if (from < until ? now < from || now >= until : now >= until && now < from) return undefined
  const { day, month, year } = DateTime.toParts(now < until ? local : DateTime.add(local, { days: 1 }))
  const end = DateTime.makeZoned(
    { year, month, day, hour: Math.floor(until / 60), minute: until % 60 },
    // An hour that comes twice is quiet twice; one that never comes ends when it would have.
    { timeZone: zone, adjustForTimeZone: true, disambiguation: "later" }
  )
  return Option.getOrUndefined(Option.map(end, DateTime.toEpochMillis))
}

/** Whether it can wait until then: not where much is at stake, and not where the next step would come first. */
const canWait = ({ due, risk }: Notice, until: number): boolean =>
  risk !== "high" && risk !== "critical" && !(due !== undefined && due < until)

/**
 * Makes a channel that leaves people alone for some hours.
 *
 * @since 0.1.0
 */
export const quiet = (hours: QuietHours): ((channel: Channel) => Channel) => {
  const known = read(hours)
  return (channel) => ({
    ...channel,
    heldUntil: (notice, at) => {
      const before = channel.heldUntil?.(notice, at)
      const end = endOf(known, at)
      const own = end !== undefined && canWait(notice, end) ? end : undefined
      return before === undefined || own === undefined ? (before ?? own) : Math.max(before, own)
    }
  })
}
