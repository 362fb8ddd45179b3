/**
 * One message on its way, and the deadlines of those that wait for an answer.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { AnySpan } from "effect/Tracer"

import type { Runtime } from "./runtime.ts"

/** Who the message is for, as far as a missed deadline and a deep stack need to know. */
export interface Addressee {
  expire(ask: Ask, millis: number): void
  /** Runs `f` on a clean stack. */
  soon(f: () => void): void
}

/**
 * Answers that are under way inside one another: an answer runs its caller's code, which may be a handler whose answer
 * runs its own caller's. The stack is the thread's, so the count is too; it is zero whenever the stack is empty.
 */
let nested = 0

/** Answers nest so deep at most; the next one takes a clean stack. */
const MaxNested = 64

/** How an ask hears of its answer; a tell has none. */
export type Resume = (effect: Effect.Effect<unknown, unknown>) => void

/** A tell, and what an ask has in common with it. Kept small: a backlog of a million costs what one costs. */
export class Envelope {
  readonly rpc: string
  readonly payload: unknown
  readonly span: AnySpan | undefined
  /** whoever waited is gone; it is not worth handling */
  cancelled = false

  constructor(rpc: string, payload: unknown, span: AnySpan | undefined) {
    this.rpc = rpc
    this.payload = payload
    this.span = span
  }

  answer(_effect: Effect.Effect<unknown, unknown>): void {}

  /** It became a dead letter. */
  dropped(): void {}

  cancel(): void {
    this.cancelled = true
  }
}

/**
 * The notice of a death that somebody asked for. It finds room in a full mailbox, and stays over restarts.
 */
export class Notice extends Envelope {
  private readonly over: () => void

  constructor(rpc: string, payload: unknown, over: () => void) {
    super(rpc, payload, undefined)
    this.over = over
  }

  override answer(): void {
    this.over()
  }

  override dropped(): void {
    this.over()
  }
}

/** A message whose sender waits for the answer. */
export class Ask extends Envelope {
  readonly to: Addressee
  /** `undefined` once the answer is out: a late one goes nowhere */
  resume: Resume | undefined
  /** hears of it when the answer is out, or nobody waits for it any more */
  onOver: (() => void) | undefined
  // the deadline list
  due = 0
  list: DeadlineList | undefined
  previous: Ask | undefined
  next: Ask | undefined

  constructor(to: Addressee, rpc: string, payload: unknown, span: AnySpan | undefined, resume: Resume) {
    super(rpc, payload, span)
    this.to = to
    this.resume = resume
  }

  override answer(effect: Effect.Effect<unknown, unknown>): void {
    const resume = this.resume
    if (resume === undefined) return
    this.resume = undefined
    this.list?.unlink(this)
    this.onOver?.()
    if (nested >= MaxNested) return this.to.soon(() => resume(effect))
    nested += 1
    try {
      resume(effect)
    } finally {
      nested -= 1
    }
  }

  override cancel(): void {
    this.cancelled = true
    this.resume = undefined
    this.list?.unlink(this)
    this.onOver?.()
  }
}

/**
 * All asks of one tree that have the same patience, oldest first, and one fiber that sleeps until the first is due.
 */
export class DeadlineList {
  private first: Ask | undefined
  private last: Ask | undefined
  private sleeper: Fiber.Fiber<void> | undefined
  private readonly runtime: Runtime
  private readonly millis: number
  private readonly onIdle: () => void

  constructor(runtime: Runtime, millis: number, onIdle: () => void) {
    this.runtime = runtime
    this.millis = millis
    this.onIdle = onIdle
  }

  add(ask: Ask): void {
    ask.list = this
    ask.due = this.runtime.nanos() + this.millis * 1e6
    ask.previous = this.last
    if (this.last === undefined) this.first = ask
    else this.last.next = ask
    this.last = ask
    if (this.sleeper === undefined) this.sleep()
  }

  unlink(ask: Ask): void {
    const { previous, next } = ask
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.last = previous
    else next.previous = previous
    ask.previous = undefined
    ask.next = undefined
    ask.list = undefined
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
    for (let ask = this.first; ask !== undefined && ask.due <= now; ask = this.first) {
      this.unlink(ask)
      ask.to.expire(ask, this.millis)
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

  add(ask: Ask, millis: number): void {
    let list = this.lists.get(millis)
    if (list === undefined) {
      // A list goes with its last sleeper, so that odd durations do not pile up.
      list = new DeadlineList(this.runtime, millis, () => this.lists.delete(millis))
      this.lists.set(millis, list)
    }
    list.add(ask)
  }

  stop(): void {
    for (const list of this.lists.values()) list.stop()
    this.lists.clear()
  }
}

const known = new WeakMap<Runtime, Deadlines>()

/** The deadlines of a tree, which end with it. */
export const deadlinesOf = (runtime: Runtime): Deadlines => {
  let deadlines = known.get(runtime)
  if (deadlines === undefined) {
    const made = new Deadlines(runtime)
    runtime.atEnd(() => made.stop())
    known.set(runtime, (deadlines = made))
  }
  return deadlines
}
