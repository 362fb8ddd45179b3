/**
 * Everything that waits for one actor, in the order in which it is handled: control messages, then what is put back,
 * then the mail. Only the mail has a bound, and senders that wait for room in it.
 */
import { type Envelope, Notice } from "./envelope.ts"
import { Fifo } from "./fifo.ts"

/** A sender that waits for room. */
interface Waiting {
  readonly envelope: Envelope
  readonly taken: () => void
}

/** The mail itself, and the lanes beside it, which most actors never have. */
export class Mail extends Fifo<Envelope> {
  /** never lost for lack of room: it has no bound */
  private control: Fifo<Envelope> | undefined
  /** was in the mail or a stash once, whose bounds it passed */
  private again: Fifo<Envelope> | undefined
  /** each sender is a suspended fiber: their number is bounded by that of the fibers */
  private waiting: Fifo<Waiting> | undefined

  /** all that waits, without the senders that wait for room */
  get depth(): number {
    return this.size + (this.control?.size ?? 0) + (this.again?.size ?? 0)
  }

  pushFirst(envelope: Envelope): void {
    this.control ??= new Fifo()
    this.control.push(envelope)
  }

  wait(envelope: Envelope, taken: () => void): void {
    this.waiting ??= new Fifo()
    this.waiting.push({ envelope, taken })
  }

  /** Puts messages before the mail and before what was put back earlier. */
  putBack(envelopes: ReadonlyArray<Envelope>): void {
    if (envelopes.length === 0) return
    this.again ??= new Fifo()
    this.again.prepend(envelopes)
  }

  /** Takes out what was put back and has not been handled. */
  takePutBack(): ReadonlyArray<Envelope> {
    return this.again?.takeAll() ?? []
  }

  /** The next message that somebody still wants handled. */
  take(): Envelope | undefined {
    return firstWanted(this.control) ?? firstWanted(this.again) ?? this.takeOldest()
  }

  /** The oldest of the ordinary ones; a sender that waits takes its place. */
  takeOldest(): Envelope | undefined {
    for (let envelope = this.shift(); envelope !== undefined; envelope = this.shift()) {
      if (this.waiting !== undefined) this.admit(this.waiting)
      if (!envelope.cancelled) return envelope
    }
    return undefined
  }

  /** The oldest of the ordinary ones that may be lost for lack of room. */
  takeDroppable(): Envelope | undefined {
    const kept: Array<Envelope> = []
    let oldest = this.takeOldest()
    for (; oldest instanceof Notice; oldest = this.takeOldest()) kept.push(oldest)
    if (kept.length > 0) this.prepend(kept)
    return oldest
  }

  /** Lets senders in that wait, as far as a mailbox of that capacity has room. */
  makeRoom(capacity: number): void {
    while (this.waiting !== undefined && this.waiting.size > 0 && this.size < capacity) this.admit(this.waiting)
  }

  private admit(waiting: Fifo<Waiting>): void {
    for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) {
      if (first.envelope.cancelled) continue
      this.push(first.envelope)
      return first.taken()
    }
  }

  /** Empties every lane, and returns what is still wanted. */
  clear(): Array<Envelope> {
    const all = [...(this.control?.takeAll() ?? []), ...this.takePutBack(), ...this.takeAll()]
    for (const { envelope, taken } of this.waiting?.takeAll() ?? []) {
      all.push(envelope)
      taken()
    }
    return all.filter((envelope) => !envelope.cancelled)
  }
}

const firstWanted = (lane: Fifo<Envelope> | undefined): Envelope | undefined => {
  for (let envelope = lane?.shift(); envelope !== undefined; envelope = lane?.shift()) {
    if (!envelope.cancelled) return envelope
  }
  return undefined
}
