/**
 * What an rpc may be annotated with. Public through `Actor`.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"

/**
 * How long an ask waits for its answer: >= 0, `"Infinity"` allowed. Default 5 seconds (OTP's `gen_server:call`).
 *
 * **Details**
 *
 * Provide it around an ask, or annotate an rpc with it as the default of that rpc; the one nearest to the call wins.
 *
 * @category options
 * @since 0.1.0
 */
export class Timeout extends Context.Service<Timeout, Duration.Input>()("espalier/internal/annotations/Timeout") {}

/**
 * Marks an rpc whose messages go before all others: `Rpc.make("Pause", {}).annotate(Actor.Control, true)`.
 *
 * **Details**
 *
 * They wait in a lane of their own, which has no bound and from which nothing is dropped, and keep their order among
 * themselves. They do not interrupt the message in progress.
 *
 * **Gotchas**
 *
 * Ordinary mail waits for as long as control messages keep coming.
 *
 * @category options
 * @since 0.1.0
 */
export class Control extends Context.Service<Control, boolean>()("espalier/internal/annotations/Control") {}

/**
 * How many elements of a stream may wait for their consumer: a whole number >= 1. Default 16.
 *
 * **Details**
 *
 * Annotate an rpc that answers with a stream. The producer waits while so many do; an array that the stream gives in one
 * go counts beside it.
 *
 * @category options
 * @since 0.1.0
 */
export class StreamBuffer extends Context.Service<StreamBuffer, number>()(
  "espalier/internal/annotations/StreamBuffer"
) {}
