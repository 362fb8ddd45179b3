/**
 * The way out of one host, or of one tool: how many go at once, how many wait, how often one may go.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as RateLimiter from "effect/persistence/RateLimiter"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

/** How often: so many calls in so long. */
export interface Rate {
  readonly calls: number
  readonly millis: number
}

/** Waits in line until a rate lets one through. Nothing is used up by whoever does not get through. */
export class Turnstile {
  private readonly first = Semaphore.makeUnsafe(1)
  readonly pass: Effect.Effect<void, RateLimiter.RateLimiterError>

  constructor(limiter: RateLimiter.RateLimiter, key: string, { calls, millis }: Rate) {
    const options = { algorithm: "token-bucket", onExceeded: "fail", window: millis, limit: calls, key } as const
    const once: Effect.Effect<void, RateLimiter.RateLimiterError> = Effect.catch(
      Effect.asVoid(limiter.consume(options)),
      (error) =>
        error.reason._tag === "RateLimitExceeded"
          ? Effect.andThen(Effect.sleep(Duration.max(error.reason.retryAfter, Duration.millis(1))), once)
          : Effect.fail(error)
    )
    this.pass = this.first.withPermit(once)
  }
}

/** Places for calls that are under way. */
export class Lane {
  private readonly places: Semaphore.Semaphore
  private readonly queue: number
  waiting = 0
  underWay = 0

  constructor(concurrency: number, queue: number) {
    this.places = Semaphore.makeUnsafe(concurrency)
    this.queue = queue
  }

  get idle(): boolean {
    return this.waiting === 0 && this.underWay === 0
  }

  get full(): boolean {
    return this.waiting >= this.queue
  }

  /** Takes a place until the scope ends. */
  readonly place: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() => this.places.takeScoped(1))
}

/** What was made by name; what nobody uses any more goes when there is too much of it. */
export class Kept<A> {
  private readonly all = new Map<string, A>()
  private readonly make: (name: string) => A
  private readonly idle: (value: A) => boolean
  private readonly most: number

  constructor(make: (name: string) => A, idle: (value: A) => boolean, most: number) {
    this.make = make
    this.idle = idle
    this.most = most
  }

  get(name: string): A {
    let value = this.all.get(name)
    if (value !== undefined) return value
    if (this.all.size >= this.most) {
      for (const [each, kept] of this.all) {
        if (!this.idle(kept)) continue
        this.all.delete(each)
        break
      }
    }
    this.all.set(name, (value = this.make(name)))
    return value
  }

  entries(): ReadonlyArray<readonly [name: string, value: A]> {
    return [...this.all]
  }
}
