/**
 * What waits to be sent to a collector, and whoever sends it: one batch after the other, in a fiber of its own.
 *
 * Whoever puts something in goes on at once. Nothing that happens to a batch comes back.
 *
 * **Invariants**
 *
 * - X1. What waits is no more than `maxQueue` items and `maxBytes` bytes, or one batch. What is being sent counts as waiting.
 * - X2. One request is on its way at a time.
 * - X3. Each item that is not delivered is counted as dropped, once.
 * - X4. `close` ends within `shutdownTimeout`, also where a request cannot be interrupted.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

import { dropped, type Reason, type Signal } from "./drops.ts"

/**
 * Items that are sent together, by `send`.
 *
 * @since 0.1.0
 */
export interface Batch {
  readonly items: number
  readonly bytes: number
  readonly send: Effect.Effect<Sent>
}

/**
 * What has become of a request.
 *
 * **Details**
 *
 * - `Taken`: but for `rejected` items. `Again`: not now; `afterMillis`: not before. `Never`: this batch is not wanted.
 * - `why`: a few words without anything of what was sent.
 *
 * @since 0.1.0
 */
export type Sent =
  | { readonly _tag: "Taken"; readonly rejected: number }
  | { readonly _tag: "Again"; readonly why: string; readonly afterMillis?: number | undefined }
  | { readonly _tag: "Never"; readonly why: string }

/**
 * How an outbox works.
 *
 * **Details**
 *
 * - `keep`: `latest`: a batch takes the place of those that wait, which are then not missed: it has all of what they say.
 *
 * @since 0.1.0
 */
export interface Settings {
  readonly signal: Signal
  readonly maxQueue: number
  readonly maxBytes: number
  readonly overflow: "drop-old" | "drop-new"
  readonly keep: "all" | "latest"
  readonly timeout: Duration.Duration
  readonly attempts: number
  readonly shutdownTimeout: Duration.Duration
}

const longestWait = 60_000
const quiet = 60_000

/**
 * How long to wait before the next attempt, in milliseconds: what the collector has asked for, or 1 s, 2 s, 4 s … up to 30 s.
 *
 * There is no jitter: random numbers of the program are the program's.
 *
 * @since 0.1.0
 */
export const pause = (attempt: number, asked: number | undefined): number =>
  asked === undefined ? Math.min(1_000 * 2 ** (attempt - 1), 30_000) : Math.min(Math.max(asked, 0), longestWait)

/**
 * Which of the waiting batches go when one more comes, and whether it comes in.
 *
 * **Details**
 *
 * - `waiting`: oldest first; `held`: what is being sent, which stays.
 *
 * @since 0.1.0
 */
export const admit = (
  limits: Pick<Settings, "maxQueue" | "maxBytes" | "overflow">,
  held: Pick<Batch, "items" | "bytes"> | undefined,
  waiting: ReadonlyArray<Pick<Batch, "items" | "bytes">>,
  next: Pick<Batch, "items" | "bytes">
): { readonly gone: number; readonly enters: boolean } => {
  let items = (held?.items ?? 0) + next.items
  let bytes = (held?.bytes ?? 0) + next.bytes
  for (const batch of waiting) {
    items += batch.items
    bytes += batch.bytes
  }
  const over = () => items > limits.maxQueue || bytes > limits.maxBytes
  let gone = 0
  if (limits.overflow === "drop-old") {
    for (const batch of waiting) {
      if (!over()) break
      items -= batch.items
      bytes -= batch.bytes
      gone++
    }
  }
  // One batch that is alone always fits.
  const alone = held === undefined && gone === waiting.length
  return over() && !alone ? { gone: 0, enters: false } : { gone, enters: true }
}

/** @since 0.1.0 */
export class Outbox {
  private readonly settings: Settings
  private readonly context: Context.Context<never>
  private waiting: Array<Batch> = []
  private sending: Batch | undefined
  private readonly wake = Latch.makeUnsafe(false)
  private readonly idle = Latch.makeUnsafe(true)
  private readonly ending = Latch.makeUnsafe(false)
  private closed = false
  private told = false
  private toldAt: number | undefined
  private lost = 0

  private constructor(settings: Settings, context: Context.Context<never>) {
    this.settings = settings
    this.context = context
  }

  /** Makes one that is closed with `close`: its fiber belongs to whoever calls that. */
  static make(settings: Settings): Effect.Effect<{ readonly outbox: Outbox; readonly close: Effect.Effect<void> }> {
    return Effect.gen(function* () {
      const outbox = new Outbox(settings, yield* Effect.context<never>())
      const fiber = yield* Effect.forkDetach(outbox.work)
      const close = Effect.gen(function* () {
        outbox.ending.openUnsafe()
        yield* Effect.timeoutOption(Effect.interruptible(outbox.settled), settings.shutdownTimeout)
        // X4: an interruption that is waited for could take any time.
        fiber.interruptUnsafe()
        outbox.abandon()
      })
      return { outbox, close }
    })
  }

  /** Waits until nothing waits. */
  get settled(): Effect.Effect<void> {
    return this.idle.await
  }

  /** How many items wait, with those that are being sent. */
  get size(): number {
    return this.waiting.reduce((sum, { items }) => sum + items, this.sending?.items ?? 0)
  }

  /** Puts a batch in, or drops what does not fit. */
  offerUnsafe(batch: Batch): void {
    if (this.closed) return this.drop("shutdown", batch.items)
    if (this.settings.keep === "latest") this.waiting = []
    const { enters, gone } = admit(this.settings, this.sending, this.waiting, batch)
    if (!enters) return this.drop("queue_full", batch.items)
    for (const { items } of this.waiting.splice(0, gone)) this.drop("queue_full", items)
    this.waiting.push(batch)
    this.idle.closeUnsafe()
    this.wake.openUnsafe()
  }

  /** Counts items as dropped. */
  drop(reason: Reason, items: number): void {
    this.lost += items
    dropped(this.settings.signal, reason, this.context, items)
  }

  private abandon(): void {
    this.closed = true
    this.drop("shutdown", this.size)
    this.waiting = []
    this.sending = undefined
    this.idle.openUnsafe()
  }

  private get work(): Effect.Effect<never> {
    const one = Effect.gen({ self: this }, function* () {
      yield* this.wake.await
      const batch = this.waiting.shift()
      if (batch === undefined) {
        this.wake.closeUnsafe()
        this.idle.openUnsafe()
        return
      }
      this.sending = batch
      yield* this.deliver(batch)
      this.sending = undefined
    })
    return Effect.forever(one)
  }

  private deliver(batch: Batch): Effect.Effect<void> {
    const { attempts, timeout } = this.settings
    return Effect.gen({ self: this }, function* () {
      const send = batch.send.pipe(
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => Effect.succeed<Sent>({ _tag: "Again", why: "no answer in time" })
        }),
        Effect.catchCause(() => Effect.succeed<Sent>({ _tag: "Never", why: "a defect of the client" }))
      )
      for (let attempt = 1; ; attempt++) {
        const sent = yield* send
        // X3: what is left behind at the end is counted there.
        if (this.closed) return
        if (sent._tag === "Taken") {
          this.drop("rejected", Math.min(sent.rejected, batch.items))
          return yield* this.worked
        }
        yield* this.failed(sent.why)
        if (sent._tag === "Never") return this.drop("rejected", batch.items)
        const again = attempt < attempts && !this.ending.isOpen()
        if (!again) return this.drop("unreachable", batch.items)
        yield* Effect.timeoutOption(this.ending.await, pause(attempt, sent.afterMillis))
      }
    })
  }

  /** Tells once that it does not work, and not again within a minute. */
  private failed(why: string): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.told) return
      const now = yield* Clock.currentTimeMillis
      if (this.toldAt !== undefined && now - this.toldAt < quiet) return
      this.told = true
      this.toldAt = now
      this.lost = 0
      yield* this.tell(
        Effect.logWarning("Telemetry does not get through; what does not fit is dropped and counted", { why })
      )
    })
  }

  private get worked(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (!this.told) return Effect.void
      this.told = false
      return this.tell(Effect.logInfo("Telemetry gets through again", { dropped: this.lost }))
    })
  }

  private tell(log: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.ignoreCause(Effect.annotateLogs(log, { signal: this.settings.signal }))
  }
}
