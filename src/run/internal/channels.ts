/**
 * One way to tell people, and how often it is tried.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { Redaction } from "../../Redaction.ts"
import type { Notice } from "./notices.ts"
import { shorten, thrown } from "./problems.ts"
import { instantOf, lasted, plain } from "./text.ts"

/**
 * A notice has not gone out.
 *
 * **Details**
 *
 * - `reason`: why, without anything that is nobody's business in a log.
 * - `retryable`: whether it may go out when it is tried again.
 * - `retryAfterMillis`: what the other side asks to be left alone for.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotifyFailed extends Schema.TaggedError<NotifyFailed>("espalier/run/Notifier/NotifyFailed")(
  "NotifyFailed",
  {
    channel: Schema.String,
    reason: Schema.String,
    retryable: Schema.Boolean,
    retryAfterMillis: Schema.optionalKey(Schema.Finite)
  }
) {
  override get message(): string {
    return `NOTIFY_FAILED: ${this.channel}: ${this.reason}`
  }
}

/**
 * One way to tell people.
 *
 * **Details**
 *
 * - `name`: letters, digits, `.`, `_` and `-`, beginning with a letter.
 * - `send`: tells them once. The same notice may come twice: its id says so.
 * - `attempts`: how often `send` is tried, a whole number >= 1. Default 3.
 * - `timeout`: how long one attempt may take, > 0. Default 10 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Channel {
  readonly name: string
  readonly send: (notice: Notice) => Effect.Effect<void, NotifyFailed>
  readonly attempts?: number | undefined
  readonly timeout?: Duration.Input | undefined
  /** @internal Until when the notice is held back at a time, if it is. */
  readonly heldUntil?: ((notice: Notice, at: number) => number | undefined) | undefined
}

/** @since 0.1.0 */
export interface Receipt extends Schema.Schema.Type<typeof Receipt> {}

/**
 * What came of a notice on one channel.
 *
 * **Details**
 *
 * - `attempts`: how often it was tried; 0 for one that was held back.
 * - `reason`: why it has not gone out; absent when it has.
 * - `until`: not to be sent again before that, in milliseconds since 1970.
 *
 * @category models
 * @since 0.1.0
 */
export const Receipt = Schema.Struct({
  channel: Schema.String,
  ok: Schema.Boolean,
  attempts: Schema.Int,
  reason: Schema.optionalKey(Schema.String),
  until: Schema.optionalKey(Schema.Finite)
})

/** @since 0.1.0 */
export const attemptsByDefault = 3

/** @since 0.1.0 */
export const timeoutByDefault: Duration.Input = "10 seconds"

/** The longest wait between two attempts. Whoever asks for more is asked again by whoever keeps the notice. */
const longestWait = 60_000

/** The longest time that the other side can keep itself from being told. */
const longestRest = 24 * 3_600_000

/**
 * What is done after an attempt that has failed.
 *
 * @since 0.1.0
 */
export type Next =
  | { readonly _tag: "Again"; readonly afterMillis: number }
  | { readonly _tag: "Over"; readonly restMillis?: number }

/**
 * Decides what is done after attempt number `attempt` has failed: waits of 1, 2, 4 … seconds, each a fifth shorter or longer
 * by `random` from 0 to 1, and never shorter than what the other side asks for.
 *
 * @since 0.1.0
 */
export const after = (
  { retryAfterMillis, retryable }: Pick<NotifyFailed, "retryable" | "retryAfterMillis">,
  attempt: number,
  attempts: number,
  random: number
): Next => {
  if (!retryable) return { _tag: "Over" }
  const asked = retryAfterMillis !== undefined && retryAfterMillis > 0 ? retryAfterMillis : undefined
  if (attempt >= attempts || (asked ?? 0) > longestWait) {
    return asked === undefined ? { _tag: "Over" } : { _tag: "Over", restMillis: Math.min(asked, longestRest) }
  }
  const usual = 1_000 * 2 ** (attempt - 1) * (0.8 + 0.4 * random)
  return { _tag: "Again", afterMillis: Math.round(Math.min(Math.max(usual, asked ?? 0), longestWait)) }
}

const longestReason = 300

/** One attempt: that it went well, or why not. Only an interruption from outside goes through. */
const tried = (channel: Channel, notice: Notice): Effect.Effect<NotifyFailed | undefined> => {
  const { name, timeout = timeoutByDefault } = channel
  const failed = (reason: string, retryable: boolean) => new NotifyFailed({ channel: name, reason, retryable })
  return Effect.suspend(() => channel.send(notice)).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () =>
        Effect.fail(failed(`no answer within ${lasted(Duration.toMillis(Duration.fromInputUnsafe(timeout)))}`, true))
    }),
    Effect.exit,
    Effect.map((exit) => {
      if (Exit.isSuccess(exit)) return undefined
      const found: EffectResult.Result<unknown, Cause.Cause<never>> = Cause.findError(exit.cause)
      if (EffectResult.isSuccess(found) && found.success instanceof NotifyFailed) return found.success
      return failed(`the channel itself failed: ${thrown(Cause.squash(exit.cause))}`, false)
    })
  )
}

/**
 * Sends a notice on one channel, as often as the channel is tried. Never fails.
 *
 * @since 0.1.0
 */
export const deliver = Effect.fnUntraced(function* (channel: Channel, notice: Notice): Effect.fn.Return<Receipt> {
  const { attempts = attemptsByDefault, name } = channel
  const until = channel.heldUntil?.(notice, yield* Clock.currentTimeMillis)
  if (until !== undefined) {
    return { channel: name, ok: false, attempts: 0, reason: `quiet until ${instantOf(until)}`, until }
  }
  const redaction = yield* Redaction
  for (let attempt = 1; ; attempt++) {
    const failure = yield* tried(channel, notice)
    if (failure === undefined) return { channel: name, ok: true, attempts: attempt }
    const next = after(failure, attempt, attempts, yield* Random.next)
    if (next._tag === "Again") {
      yield* Effect.sleep(next.afterMillis)
      continue
    }
    const reason = shorten(plain(redaction.text(failure.reason)), longestReason)
    const over = { channel: name, ok: false, attempts: attempt, reason }
    return next.restMillis === undefined ? over : { ...over, until: (yield* Clock.currentTimeMillis) + next.restMillis }
  }
})
