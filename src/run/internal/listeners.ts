/**
 * Those who are told of changes, at once and in order.
 *
 * **Invariants**
 *
 * - Every listener hears of the changes in the order in which they happened, also when one of them causes the next.
 * - A listener that throws is dropped; nobody else hears less for it.
 *
 * @since 0.1.0
 */
export class Listeners<in out A> {
  private readonly listeners = new Map<object, (change: A) => void>()
  private readonly waiting: Array<A> = []
  private telling = false
  private readonly onThrow: (error: unknown) => void

  /** `onThrow` is handed what a listener threw. */
  constructor(onThrow: (error: unknown) => void) {
    this.onThrow = onThrow
  }

  /** Adds a listener; the answer removes it. */
  add(listener: (change: A) => void): () => void {
    const key = {}
    this.listeners.set(key, listener)
    return () => void this.listeners.delete(key)
  }

  tell(change: A): void {
    this.waiting.push(change)
    if (this.telling) return
    this.telling = true
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      for (const [key, listener] of Array.from(this.listeners)) {
        // It may have been removed by one that was told before it.
        if (!this.listeners.has(key)) continue
        try {
          listener(next)
        } catch (error) {
          this.listeners.delete(key)
          this.onThrow(error)
        }
      }
    }
    this.telling = false
  }
}
