/**
 * What is done beside a run, a few things at once.
 *
 * **Invariants**
 *
 * - N1. At most so many are under way, and of one subject one, in the order in which they came.
 * - N2. Once it is closed nothing begins any more.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

interface Errand {
  readonly subject: string
  readonly effect: Effect.Effect<void>
}

/** @since 0.1.0 */
export class Errands {
  private readonly atOnce: number
  private readonly fork: (effect: Effect.Effect<void>) => void
  private readonly idle: () => void
  /** As many as there are events of questions to people that nobody was told of: the journal has them anyway. */
  private readonly waiting: Array<Errand> = []
  private readonly busy = new Set<string>()
  private beginning = false
  private closed = false

  /** `fork`: begins one, in a fiber that somebody owns. `idle`: is called whenever there is nothing more to be done. */
  constructor(atOnce: number, fork: (effect: Effect.Effect<void>) => void, idle: () => void) {
    this.atOnce = atOnce
    this.fork = fork
    this.idle = idle
  }

  /** Whether there is nothing to be done. */
  isIdle(): boolean {
    return this.waiting.length === 0 && this.busy.size === 0
  }

  /** Adds something to be done, which may begin at once. */
  add(subject: string, effect: Effect.Effect<void>): void {
    this.waiting.push({ subject, effect })
    this.begin()
  }

  /** What has not begun does not begin any more. N2 */
  close(): void {
    this.closed = true
    this.waiting.length = 0
  }

  private begin(): void {
    // What is over at once makes room for the next one in this loop, and not inside of itself.
    if (this.beginning || this.closed) return
    this.beginning = true
    while (this.busy.size < this.atOnce) {
      const next = this.waiting.findIndex(({ subject }) => !this.busy.has(subject)) // N1
      const [errand] = next < 0 ? [] : this.waiting.splice(next, 1)
      if (errand === undefined) break
      this.busy.add(errand.subject)
      const over = Effect.sync(() => {
        this.busy.delete(errand.subject)
        this.begin()
        if (this.isIdle()) this.idle()
      })
      this.fork(Effect.ensuring(errand.effect, over))
    }
    this.beginning = false
  }
}
