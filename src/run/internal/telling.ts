/**
 * Sends what people are to be told of a run: what the journal says is owed (see `owing`), once it is in the journal.
 *
 * What came of a notice is news, and becomes a `Notified`. Between sending it and writing that down the process may die: the
 * notice is sent again then, with the same id.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

import * as Notifier from "../Notifier.ts"
import { Errands } from "./errands.ts"
import type { News } from "./news.ts"
import { most, type Owed } from "./owing.ts"
import { instant, many } from "./problems.ts"

/** So many notices are sent at once, and of one question one after the other. */
const atOnce = 4

/**
 * A notice that was sent here.
 *
 * **Details**
 *
 * - `under`: it is being sent, what came of it is on its way into the journal, or it is held back until a time.
 * - `written`, `since`: as of the notice when it was sent.
 *
 * @since 0.1.0
 */
export interface Sent {
  readonly under: "sending" | "writing" | "holding"
  readonly written: number
  readonly since: number
  readonly until?: number | undefined
}

/**
 * Whether a notice is sent, again: a failed one with the next thing that people are told of its question, one that was held
 * back when that is over.
 *
 * @since 0.1.0
 */
export const isDue = (
  { since, written }: Pick<Owed, "since" | "written">,
  before: Sent | undefined,
  at: number
): boolean => {
  if (before === undefined) return true
  if (before.under === "sending" || (before.under === "writing" && written === before.written)) return false
  return before.until === undefined ? since > before.since : at >= before.until
}

/** What came of a notice, to be written down; nothing for one that was only held back. */
const notified = ({ failed, notice }: Owed, receipts: ReadonlyArray<Notifier.Receipt>): News | undefined => {
  const lost = receipts.filter(({ attempts, ok }) => !ok && attempts > 0)
  const held = receipts.filter(({ attempts, ok }) => !ok && attempts === 0)
  if (held.length > 0 && held.length === receipts.length) return undefined
  const ok = lost.length + held.length === 0
  const on = receipts.flatMap(({ channel, ok }) => (ok ? [channel] : []))
  const times = failed + 1
  const why = [
    ...lost.map(({ channel, reason = "no reason given" }) => `${channel}: ${reason}`),
    ...held.map(({ channel, until = 0 }) => `${channel}: held back until ${instant(until) ?? until}`)
  ].join("; ")
  const next =
    lost.length > 0 && times >= most
      ? `; it has failed ${many(times, "time")} and is given up`
      : "; it is tried again with what comes next, or when the run is taken up"
  const told = on.length === 0 ? "was not told" : `was told on ${on.join(", ")}`
  return {
    _tag: "Notified",
    review: notice.review,
    notice: notice.id,
    what: notice.what,
    ok,
    channels: receipts.map(({ until: _until, ...receipt }) => receipt),
    note: `${notice.what} of ${notice.review} ${told}${ok ? "" : ` (${why})${next}`}`
  }
}

/** @since 0.1.0 */
export class Telling {
  private readonly errands: Errands
  private readonly tell: (news: News) => void
  private readonly sent = new Map<string, Sent>()
  private channels: ReadonlyArray<Notifier.Channel> = []

  /** `idle`: is called whenever there is nothing more to be done, whether or not that was news. */
  constructor(fork: (effect: Effect.Effect<void>) => void, tell: (news: News) => void, idle: () => void) {
    this.errands = new Errands(atOnce, fork, idle)
    this.tell = tell
  }

  /** Who is told, from now on. */
  open({ channels }: Notifier.Notifier): void {
    this.channels = channels
  }

  /** Whether anybody is told of anything. */
  isOpen(): boolean {
    return this.channels.length > 0
  }

  /** Whether something is being sent. */
  isBusy(): boolean {
    return !this.errands.isIdle()
  }

  close(): void {
    this.errands.close()
  }

  /** Sends what is owed and is not being sent. */
  begin(owed: ReadonlyArray<Owed>, at: number): void {
    const ids = new Set(owed.map(({ notice }) => notice.id))
    for (const id of this.sent.keys()) if (!ids.has(id)) this.sent.delete(id)
    for (const each of owed) {
      const { id, review } = each.notice
      if (!isDue(each, this.sent.get(id), at)) continue
      this.sent.set(id, { under: "sending", written: each.written, since: each.since })
      this.errands.add(review, this.send(each))
    }
  }

  /** When the next of what was held back may be sent. */
  next(): number | undefined {
    let next: number | undefined
    for (const { until } of this.sent.values()) {
      if (until !== undefined && (next === undefined || until < next)) next = until
    }
    return next
  }

  private send(owed: Owed): Effect.Effect<void> {
    const { notice, reached, since, written } = owed
    const channels = this.channels.filter(({ name }) => !reached.has(name))
    return Notifier.send(notice).pipe(
      Effect.provideService(Notifier.Notifier, Notifier.make(channels)),
      Effect.map((receipts) => {
        const untils = receipts.flatMap(({ until }) => (until === undefined ? [] : [until]))
        const until = untils.length === 0 ? {} : { until: Math.max(...untils) }
        const news = notified(owed, receipts)
        this.sent.set(notice.id, { under: news === undefined ? "holding" : "writing", written, since, ...until })
        if (news !== undefined) this.tell(news)
      })
    )
  }
}
