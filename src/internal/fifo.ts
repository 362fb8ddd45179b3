/**
 * First in, first out, in constant time at both ends.
 *
 * An array with a head: what is spent is cut off when it is more than half of the array, so a long queue is never moved
 * for one item.
 */

/** Fewer spent places than this are left alone. */
const SpentBeforeCompaction = 1024

/** What a queue holds that never held anything: an idle actor costs no array. Nothing is ever put into it. */
const none: Array<never> = []

export class Fifo<A extends object> {
  private items: Array<A> = none
  private head = 0

  get size(): number {
    return this.items.length - this.head
  }

  push(item: A): void {
    if (this.items === none) this.items = [item]
    else this.items.push(item)
  }

  shift(): A | undefined {
    const { items, head } = this
    if (head === items.length) return undefined
    const item = items[head]!
    items[head] = undefined as never
    this.head = head + 1
    if (this.head === items.length) {
      items.length = 0
      this.head = 0
    } else if (this.head > SpentBeforeCompaction && this.head * 2 > items.length) {
      this.items = items.slice(this.head)
      this.head = 0
    }
    return item
  }

  /** Empties it, and returns what it held, oldest first. */
  takeAll(): Array<A> {
    const items = this.head === 0 ? this.items : this.items.slice(this.head)
    this.items = none
    this.head = 0
    return items
  }

  /** Puts items before all others, in their order. */
  prepend(items: ReadonlyArray<A>): void {
    this.items = [...items, ...this.takeAll()]
  }
}
