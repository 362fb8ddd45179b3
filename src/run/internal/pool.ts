/**
 * What is free to be taken, and those who wait for it.
 *
 * So many may stand in its queue; whoever comes later is held back, and moves up when there is a place.
 *
 * **Invariants**
 *
 * - What is put back goes to whoever has waited longest, else it is kept.
 * - Whoever stops waiting has taken nothing, and leaves his place to whoever was held back longest.
 * - Nobody is held back while there is a place in the queue.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

type Resume<A> = (item: Effect.Effect<A>) => void

/** @since 0.1.0 */
export class Pool<A> {
  private readonly free: Array<A> = []
  private readonly queue = new Set<Resume<A>>()
  private readonly held = new Set<Resume<A>>()
  private readonly places: number

  /** `places`: in the queue. Default: no bound. */
  constructor(places: number = Number.POSITIVE_INFINITY) {
    this.places = places
  }

  /** Takes what was free longest, at once if there is something; otherwise it waits, and can be interrupted. */
  readonly take: Effect.Effect<A> = Effect.suspend(() => {
    const item = this.free.shift()
    return item === undefined ? this.wait : Effect.succeed(item)
  })

  private readonly wait: Effect.Effect<A> = Effect.callback<A>((resume) => {
    if (this.queue.size < this.places) this.queue.add(resume)
    else this.held.add(resume)
    return Effect.sync(() => {
      if (!this.held.delete(resume) && this.queue.delete(resume)) this.moveUp()
    })
  })

  private moveUp(): void {
    for (const resume of this.held) {
      if (this.queue.size >= this.places) return
      this.held.delete(resume)
      this.queue.add(resume)
    }
  }

  put(item: A): void {
    // Without any place in the queue it is taken from where one is held back.
    for (const line of [this.queue, this.held]) {
      for (const resume of line) {
        line.delete(resume)
        this.moveUp()
        return resume(Effect.succeed(item))
      }
    }
    this.free.push(item)
  }

  /** How many are free, stand in the queue, and are held back. */
  count(): { readonly free: number; readonly queued: number; readonly held: number } {
    return { free: this.free.length, queued: this.queue.size, held: this.held.size }
  }
}
