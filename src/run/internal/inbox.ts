/**
 * What one run is told, until it looks.
 *
 * It is not bounded: every open dispatch tells of each attempt once, and their number is; so is that of the choices and of
 * the people that are asked.
 *
 * **Invariants**
 *
 * - News are taken in the order in which they were told, each of them once.
 * - Whoever stops waiting has taken nothing.
 * - What comes after the end is refused, and who waits for its acknowledgement is told so.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { News } from "./news.ts"

/**
 * What somebody is told whose word came when the run was no longer carried out here.
 *
 * @since 0.1.0
 */
export const notHere = "the run is not carried out here any more"

type Resume = (news: Effect.Effect<ReadonlyArray<News>>) => void

/** @since 0.1.0 */
export class Inbox {
  private news: Array<News> = []
  private resume: Resume | undefined
  private closed = false
  private roused = false
  /** Runs a function on a clean stack, after those who have more to tell. */
  private readonly soon: (f: () => void) => void

  constructor(soon: (f: () => void) => void) {
    this.soon = soon
  }

  tell(news: News): void {
    if (this.closed) return refuse(news)
    this.news.push(news)
    if (this.news.length === 1 && this.resume !== undefined) this.soon(this.wake)
  }

  private readonly wake = (): void => {
    const { resume } = this
    if (resume === undefined || this.news.length === 0) return
    this.resume = undefined
    resume(Effect.succeed(this.clear()))
  }

  /** Ends the waiting, although nothing has come; the next one, when nobody waits just now. */
  rouse(): void {
    const { resume } = this
    if (resume === undefined) {
      this.roused = true
      return
    }
    this.resume = undefined
    resume(Effect.succeed(this.clear()))
  }

  /** Everything that has come, as soon as there is something. One waits at a time. */
  readonly take: Effect.Effect<ReadonlyArray<News>> = Effect.suspend(() => {
    const { roused } = this
    this.roused = false
    return this.news.length > 0 || roused ? Effect.succeed(this.clear()) : this.wait
  })

  private readonly wait: Effect.Effect<ReadonlyArray<News>> = Effect.callback<ReadonlyArray<News>>((resume) => {
    this.resume = resume
    return Effect.sync(() => {
      if (this.resume === resume) this.resume = undefined
    })
  })

  isEmpty(): boolean {
    return this.news.length === 0
  }

  /** Everything that has come, which may be nothing. */
  clear(): ReadonlyArray<News> {
    const { news } = this
    this.news = []
    return news
  }

  /** Ends it: nobody takes what is in it any more. */
  close(): void {
    this.closed = true
    for (const each of this.clear()) refuse(each)
  }
}

const refuse = ({ ack }: News): void => {
  if (ack !== undefined) Deferred.doneUnsafe(ack, Exit.succeed(notHere))
}
