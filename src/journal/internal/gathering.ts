/**
 * Appends that come at about the same time share one write.
 *
 * Whoever comes first leads: it waits while others still come, for a few turns at most, and then writes for all who have come
 * by then. Those who come while it writes wait for the next write, which the first of them leads. There is no fiber of its
 * own, and nobody waits when there is nobody to wait for.
 *
 * **Invariants**
 *
 * - G1. What is gathered is written in the order in which it came, each once, and each hears of its own outcome.
 * - G2. A write takes at most 512 appends and 4 MiB of text, unless a single append is larger.
 * - G3. An append waits for at most 8 turns before the write that it leads.
 */
import * as Effect from "effect/Effect"

/** One who waits. `size`: of what is to be written, in characters. */
export class Waiting<in out A, in out E> {
  readonly size: number
  outcome: Effect.Effect<A, E> | undefined
  resume: ((effect: Effect.Effect<A, E>) => void) | undefined

  constructor(size: number) {
    this.size = size
  }
}

const mostWaiting = 512
const mostChars = 4 * 1024 * 1024
const mostTurns = 8

/**
 * Gathers. `write` must give each of those it is called with its `outcome`, and not fail. `waits`: whether there may be
 * others who are about to come.
 */
export class Gathering<A, E, W extends Waiting<A, E>> {
  private queue: Array<W> = []
  private led = false
  private readonly write: (batch: ReadonlyArray<W>) => Effect.Effect<void>
  private readonly waits: (first: W) => boolean

  constructor(write: (batch: ReadonlyArray<W>) => Effect.Effect<void>, waits: (first: W) => boolean) {
    this.write = write
    this.waits = waits
  }

  /** Takes part, and answers with the outcome. Must not be interrupted. */
  join(one: W): Effect.Effect<A, E> {
    if (!this.led) return this.begin(one)
    return Effect.callback<A, E>((resume) => {
      // A turn may have passed before this, and with it the last write that was led. Who is in the queue can be told.
      if (!this.led) return resume(this.begin(one))
      one.resume = resume
      this.queue.push(one)
    })
  }

  private begin(one: W): Effect.Effect<A, E> {
    this.led = true
    this.queue.push(one)
    return this.lead(one)
  }

  private lead(one: W): Effect.Effect<A, E> {
    return this.waits(one) ? Effect.andThen(this.gather(0, 0), this.batch(one)) : this.batch(one)
  }

  /** Lets a turn pass as long as each brings somebody. */
  private gather(turns: number, before: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const now = this.queue.length
      if (now === before || now >= mostWaiting || turns >= mostTurns) return Effect.void
      return Effect.andThen(Effect.yieldNow, this.gather(turns + 1, now))
    })
  }

  private batch(one: W): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const batch = this.take()
      return Effect.andThen(
        // A write that dies is told to those who are in it, and keeps nobody else waiting.
        Effect.catchCause(this.write(batch), (cause) =>
          Effect.sync(() => {
            for (const each of batch) each.outcome ??= Effect.failCause(cause)
          })
        ),
        Effect.suspend(() => {
          for (const each of batch) if (each !== one) each.resume?.(outcomeOf(each))
          this.handOver()
          return outcomeOf(one)
        })
      )
    })
  }

  private take(): ReadonlyArray<W> {
    let count = 0
    for (let chars = 0; count < this.queue.length && count < mostWaiting; count++) {
      chars += this.queue[count]!.size
      if (count > 0 && chars > mostChars) break
    }
    return this.queue.splice(0, count)
  }

  private handOver(): void {
    const [next] = this.queue
    if (next === undefined) this.led = false
    else next.resume?.(this.lead(next))
  }
}

const outcomeOf = <A, E>({ outcome }: Waiting<A, E>): Effect.Effect<A, E> =>
  outcome ?? Effect.die(new Error("a gathered write left somebody without an outcome"))
