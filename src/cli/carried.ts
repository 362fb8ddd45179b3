/**
 * Who carries a run out, and what it waits for.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

import { usualLease } from "../journal/internal/ownership.ts"
import type { Owner } from "../journal/Journal.ts"
import { many } from "../run/internal/problems.ts"
import { instantOf, lasted, plain } from "../run/internal/text.ts"
import type { Outstanding } from "../run/Standing.ts"

/** Whether an owner is there, as far as its signs of life say. */
export const isAlive = (owner: Owner | undefined, now: number): owner is Owner =>
  owner !== undefined && !owner.released && now - owner.heartbeatAt <= Duration.toMillis(usualLease)

/** Whether somebody carries out the runs of the journal, and who. */
export const carriedText = (owner: Owner | undefined, now: number): string => {
  if (owner === undefined || owner.released) return "nobody carries it out"
  const age = Math.max(0, now - owner.heartbeatAt)
  const name = plain(owner.name)
  const sign = `last sign of life ${lasted(age)} ago`
  return isAlive(owner, now)
    ? `by ${name}, ${sign}`
    : `nobody carries it out: ${name} gave its ${sign} and has died or stands still`
}

/** What a run waits for; nothing where it does not. */
export const waitsText = ({ reviews, timers }: Outstanding, wakeAt: number | undefined): string => {
  const people = reviews.length === 0 ? "" : many(reviews.length, "decision")
  const timed = timers.length === 0 ? "" : many(timers.length, "timer")
  const what = [people, timed].filter((each) => each !== "").join(" and ")
  const until = reviews.length === 0 ? "until" : "the next step without them at"
  return wakeAt === undefined ? what : `${what === "" ? "" : `${what}, `}${until} ${instantOf(wakeAt)}`
}
