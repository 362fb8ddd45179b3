/**
 * What is free to be taken, and those who wait for it.
 *
 * **Invariants**
 *
 * - What is put back goes to whoever has waited longest, else it is kept.
 * - Whoever stops waiting has taken nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** @since 0.1.0 */
export class Pool<A> {
  private readonly free: Array<A> = []
  private readonly waiting = new Set<(item: Effect.Effect<A>) => void>()

  /** Takes what was free longest, at once if there is something; otherwise it waits, and can be interrupted. */
  readonly take: Effect.Effect<A> = Effect.suspend(() => {
    const item = this.free.shift()
    return item === undefined ? this.wait : Effect.succeed(item)
  })

  private readonly wait: Effect.Effect<A> = Effect.callback<A>((resume) => {
    this.waiting.add(resume)
    return Effect.sync(() => void this.waiting.delete(resume))
  })

  put(item: A): void {
    for (const resume of this.waiting) {
      this.waiting.delete(resume)
      return resume(Effect.succeed(item))
    }
    this.free.push(item)
  }
}
