/**
 * One message on its way, and the deadlines of those that wait for an answer.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { AnySpan } from "effect/Tracer"

import type { Runtime } from "./runtime.ts"

/** Who the message is for, as far as a missed deadline needs to know. */
export interface Addressee {
  expire(envelope: Envelope, millis: number): void
}

/** How an ask hears of its answer; a tell has none. */
export type Resume = (effect: Effect.Effect<unknown, unknown>) => void

export class Envelope {
  readonly to: Addressee
  readonly rpc: string
  readonly payload: unknown
  readonly span: AnySpan | undefined
  /** `undefined` for a tell, and once the answer is out: a late one goes nowhere */
  resume: Resume | undefined
  /** whoever waited is gone; it is not worth handling */
  cancelled = false
  readonly isAsk: boolean
  // the deadline list
  due = 0
  list: DeadlineList | undefined
  previous: Envelope | undefined
  next: Envelope | undefined

  constructor(to: Addressee, rpc: string, payload: unknown, span: AnySpan | undefined, resume: Resume | undefined) {
    this.to = to
    this.rpc = rpc
    this.payload = payload
    this.span = span
    this.resume = resume
    this.isAsk = resume !== undefined
  }

  answer(effect: Effect.Effect<unknown, unknown>): void {
    const resume = this.resume
    if (resume === undefined) return
    this.resume = undefined
    this.list?.unlink(this)
    resume(effect)
  }

  cancel(): void {
    this.cancelled = true
    this.resume = undefined
    this.list?.unlink(this)
  }
}

/**
 * All asks of one tree that have the same patience, oldest first, and one fiber that sleeps until the first is due.
 */
export class DeadlineList {
  private first: Envelope | undefined
  private last: Envelope | undefined
  private sleeper: Fiber.Fiber<void> | undefined
  private readonly runtime: Runtime
  private readonly millis: number
  private readonly onIdle: () => void

  constructor(runtime: Runtime, millis: number, onIdle: () => void) {
    this.runtime = runtime
    this.millis = millis
    this.onIdle = onIdle
  }

  add(envelope: Envelope): void {
    envelope.list = this
    envelope.due = this.runtime.nanos() + this.millis * 1e6
    envelope.previous = this.last
    if (this.last === undefined) this.first = envelope
    else this.last.next = envelope
    this.last = envelope
    if (this.sleeper === undefined) this.sleep()
  }

  unlink(envelope: Envelope): void {
    const { previous, next } = envelope
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.last = previous
    else next.previous = previous
    envelope.previous = undefined
    envelope.next = undefined
    envelope.list = undefined
  }

  private sleep(): void {
    const first = this.first
    if (first === undefined) {
      this.sleeper = undefined
      return this.onIdle()
    }
    const millis = Math.max(0, (first.due - this.runtime.nanos()) / 1e6)
    this.sleeper = this.runtime.fork(
      Effect.andThen(
        Effect.sleep(millis),
        Effect.sync(() => this.wake())
      )
    )
  }

  private wake(): void {
    const now = this.runtime.nanos()
    for (let envelope = this.first; envelope !== undefined && envelope.due <= now; envelope = this.first) {
      this.unlink(envelope)
      envelope.to.expire(envelope, this.millis)
    }
    this.sleep()
  }

  stop(): void {
    this.sleeper?.interruptUnsafe()
    this.sleeper = undefined
  }
}

/** The deadline lists of a tree, one for each distinct patience. */
export class Deadlines {
  private readonly lists = new Map<number, DeadlineList>()
  private readonly runtime: Runtime

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  add(envelope: Envelope, millis: number): void {
    let list = this.lists.get(millis)
    if (list === undefined) {
      // A list goes with its last sleeper, so that odd durations do not pile up.
      list = new DeadlineList(this.runtime, millis, () => this.lists.delete(millis))
      this.lists.set(millis, list)
    }
    list.add(envelope)
  }

  stop(): void {
    for (const list of this.lists.values()) list.stop()
    this.lists.clear()
  }
}
