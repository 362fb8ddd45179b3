/**
 * What runs inside a thread of `ThreadChild`: readiness, stop and messages. A Node module: uses `node:worker_threads`.
 *
 * It imports nothing else, so a thread that needs no Effect does not load it.
 *
 * **Details**
 *
 * The protocol is plain objects, so a thread can also speak it without this module, over its `parentPort`:
 *
 * | message | direction | means |
 * |---|---|---|
 * | `{ type: "stop" }` | to the thread | please end |
 * | `{ type: "message", value }` | both | a message, in its schema's encoded form |
 * | `{ type: "done" }` | from the thread | one message is handled: the next may come |
 * | `{ type: "ready" }` | from the thread | ready, where the child waits for that |
 *
 * Anything else that the thread sends fails the child.
 *
 * **Example** (The whole of a thread)
 *
 * ```ts no-run
 * import * as Thread from "espalier/Thread"
 *
 * Thread.onMessage((order) => Thread.send({ received: order }))
 * Thread.onStop(() => console.log("closing"))
 * Thread.ready()
 * ```
 *
 * **Example** (A thread that runs an Effect)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import * as Thread from "espalier/Thread"
 *
 * const program = Effect.log("indexing").pipe(Effect.delay("1 second"), Effect.forever)
 * const fiber = Effect.runFork(program)
 * Thread.onStop(() => fiber.interruptUnsafe())
 * ```
 *
 * @since 0.1.0
 */

import { parentPort } from "node:worker_threads"

let stopping = false
/** without a function of its own, the thread only stops to listen */
let stop: () => unknown = () => {}
let handle: ((value: unknown) => unknown) | undefined
/** messages before there is a handler; their number is bounded by the window of the one who sends */
const early: Array<unknown> = []
let listening = false

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const post = (message: unknown): void => parentPort?.postMessage(message)

/** Throws in a turn of its own, where the thread ends by it. */
const rethrow = (error: unknown): void =>
  queueMicrotask(() => {
    throw error
  })

const run = (handler: (value: unknown) => unknown, value: unknown): void => {
  Promise.resolve(value)
    .then(handler)
    .then(() => post({ type: "done" }))
    .catch(rethrow)
}

const end = (handler: () => unknown): void => {
  Promise.resolve()
    .then(handler)
    // Nothing more is heard: the thread ends as soon as nothing else keeps it.
    .then(() => parentPort?.close())
    .catch(rethrow)
}

const listen = (): void => {
  if (listening) return
  listening = true
  parentPort?.on("message", (message: { readonly type?: unknown; readonly value?: unknown } | null) => {
    if (message?.type === "stop") {
      stopping = true
      end(stop)
    } else if (message?.type === "message") {
      if (handle === undefined) early.push(message.value)
      else run(handle, message.value)
    }
  })
  // Waiting for a stop is no reason to go on living.
  parentPort?.unref()
}

/**
 * Says that the thread is ready, to a child with `ready: "message"`.
 *
 * @category lifecycle
 * @since 0.1.0
 */
export const ready = (): void => post({ type: "ready" })

/**
 * Calls the function when the child is asked to stop, once. When it has returned, or its promise is settled, no more
 * messages are heard, and the thread ends as soon as nothing else keeps it.
 *
 * **Details**
 *
 * - What it throws ends the thread.
 * - A thread that does not end within the child's `shutdown` is terminated.
 * - Waiting for the stop does not keep the thread alive.
 * - Only the last function counts. One that is given after the stop was asked for is called at once.
 *
 * @category lifecycle
 * @since 0.1.0
 */
export const onStop = (handler: () => unknown): void => {
  stop = handler
  if (stopping) end(handler)
  listen()
}

/**
 * Handles the messages of the child's `send`. It keeps the thread alive until it is asked to stop.
 *
 * **Details**
 *
 * - Messages are in the encoded form of the child's schema. The next ones are sent as earlier ones are handled: when the
 *   function has returned, or its promise is fulfilled.
 * - What it throws ends the thread.
 * - Only the last function counts; messages that came before the first one are kept for it.
 *
 * @category messages
 * @since 0.1.0
 */
export const onMessage = (handler: (value: unknown) => unknown): void => {
  handle = handler
  listen()
  parentPort?.ref()
  for (const value of early.splice(0)) run(handler, value)
}

/**
 * Sends a message to the child's `receive`, in the encoded form of its schema.
 *
 * **Gotchas**
 *
 * It does not wait: a child that is slower than its thread loses the newest messages beyond its `capacity`, with a
 * `DeadLetter` event for each.
 *
 * @category messages
 * @since 0.1.0
 */
export const send = (value: unknown): void => post({ type: "message", value })
