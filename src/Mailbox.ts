/**
 * How much mail an actor keeps, and what happens to the rest.
 *
 * **Details**
 *
 * The mailbox belongs to the actor's place in the tree, not to an incarnation: by default queued mail waits for the next
 * one. The message that was being handled when an incarnation crashed is never handled again.
 *
 * **Example** (A mailbox that keeps the newest)
 *
 * ```ts
 * import { Mailbox } from "espalier"
 *
 * const newest = Mailbox.make({ capacity: 2, whenFull: "drop-old" })
 * newest.onRestart // => "keep"
 * ```
 *
 * @since 0.1.0
 */

/**
 * What happens to a message that finds the mailbox full.
 *
 * **Details**
 *
 * - `wait`: the sender of a tell is suspended until there is room; an ask waits anyway. The default of a bounded mailbox.
 * - `drop-new`: the message becomes a dead letter; an ask fails with `MailboxFull`.
 * - `drop-old`: the oldest queued message does.
 * - `fail`: an ask fails with `MailboxFull`, a tell becomes a dead letter.
 *
 * @category models
 * @since 0.1.0
 */
export type WhenFull = "wait" | "drop-new" | "drop-old" | "fail"

/**
 * The options of a mailbox.
 *
 * **Details**
 *
 * - `capacity`: queued messages at most, a whole number >= 1, or `"unbounded"`. Default `"unbounded"`, as in OTP: its
 *   depth is in every snapshot.
 *   Control messages do not count, nor what an actor stashed.
 * - `whenFull`: see {@link WhenFull}. Default `"wait"`.
 * - `onRestart`: `"keep"` leaves queued mail for the next incarnation, `"fail"` answers every queued ask with
 *   `ActorCrashed` and makes the tells dead letters. Default `"keep"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly capacity?: number | "unbounded" | undefined
  readonly whenFull?: WhenFull | undefined
  readonly onRestart?: "keep" | "fail" | undefined
}

/**
 * A mailbox's options, checked and with their defaults.
 *
 * @category models
 * @since 0.1.0
 */
export interface Mailbox {
  /** `Infinity` when it is unbounded. */
  readonly capacity: number
  readonly whenFull: WhenFull
  readonly onRestart: "keep" | "fail"
}

const whenFulls: ReadonlyArray<string> = ["wait", "drop-new", "drop-old", "fail"]

/**
 * Checks the options of a mailbox and fills in the defaults.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is out of range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options?: Options | undefined): Mailbox => {
  if (options === undefined) return unbounded
  const { capacity = "unbounded", whenFull = "wait", onRestart = "keep" } = options
  if (capacity !== "unbounded" && (!Number.isSafeInteger(capacity) || capacity < 1)) {
    throw new RangeError(`Mailbox.make: capacity must be a whole number >= 1 or "unbounded", got ${String(capacity)}`)
  }
  if (!whenFulls.includes(whenFull)) {
    throw new RangeError(`Mailbox.make: whenFull must be one of ${whenFulls.join(", ")}, got ${String(whenFull)}`)
  }
  if (onRestart !== "keep" && onRestart !== "fail") {
    throw new RangeError(`Mailbox.make: onRestart must be keep or fail, got ${String(onRestart)}`)
  }
  return { capacity: capacity === "unbounded" ? Number.POSITIVE_INFINITY : capacity, whenFull, onRestart }
}

const unbounded: Mailbox = { capacity: Number.POSITIVE_INFINITY, whenFull: "wait", onRestart: "keep" }
