/**
 * What a handler can say instead of an answer: "it will come", and "answer this, then stop me".
 */
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"

import type { Ask } from "./envelope.ts"

/** The answer, and that the actor ends with it. */
export class StopWith<out A> {
  readonly value: A

  constructor(value: A) {
    this.value = value
  }
}

/**
 * Asks that were handled and whose answers are still to come. An ask leaves when it is answered, when its time is over
 * and when its caller is gone; whoever is left when the incarnation ends is told so.
 */
export class Unanswered {
  private readonly asks = new Set<Ask>()
  private readonly life: { readonly over: boolean }
  private readonly onEmpty: () => void

  constructor(life: { readonly over: boolean }, onEmpty: () => void) {
    this.life = life
    this.onEmpty = onEmpty
  }

  get size(): number {
    return this.asks.size
  }

  /** Answers with what `deferred` is completed with, at once if it is. */
  add(ask: Ask, deferred: Deferred.Deferred<unknown, unknown>): void {
    if (deferred.effect !== undefined) return ask.answer(deferred.effect)
    if (ask.resume === undefined) return
    const resume = (effect: Effect.Effect<unknown, unknown>): void => {
      // It is too late even when its caller was not told yet.
      if (!this.life.over) ask.answer(effect)
    }
    deferred.resumes ??= []
    deferred.resumes.push(resume)
    this.asks.add(ask)
    ask.onOver = () => {
      ask.onOver = undefined
      this.asks.delete(ask)
      // One deferred may be the answer to many, and outlive them all.
      const at = deferred.resumes?.indexOf(resume) ?? -1
      if (at >= 0) deferred.resumes!.splice(at, 1)
      if (this.asks.size === 0) this.onEmpty()
    }
  }

  [Symbol.iterator](): Iterator<Ask> {
    return [...this.asks][Symbol.iterator]()
  }
}
