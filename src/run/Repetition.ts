/**
 * Work that goes round in circles: the same call again and again, two workers that hand the same things to and fro, a
 * worker that is called too often.
 *
 * Calls are compared by digests of what went in and what came out, so the history is small and tells nothing of its
 * content. It is plain data, bounded, and every function here is pure; whoever makes the digests decides what counts as
 * the same.
 *
 * | found | when |
 * |---|---|
 * | `identical-call` | the newest call is in the history `identical` times: same worker, same input, same output |
 * | `ping-pong` | the last `rounds` rounds are the same two calls of two workers in turn |
 * | `loop-count` | a worker was called more often than `perWorker` |
 *
 * **Invariants**
 *
 * - P1. The history holds the newest `window` calls at most, oldest first.
 * - P2. `calls` counts every call of a worker, also those that have left the window.
 * - P3. From its second full round on, an alternation is a ping-pong and not also an identical call.
 *
 * **Gotchas**
 *
 * Identical calls need not follow on one another: others in between hide nothing while the window holds them.
 *
 * **Example** (Two workers hand the same text to and fro)
 *
 * ```ts
 * import { Repetition } from "espalier/run"
 *
 * const writer = { worker: "writer", input: "a1", output: "b2" }
 * const critic = { worker: "critic", input: "b2", output: "a1" }
 * const history = [writer, critic, writer, critic, writer, critic].reduce(
 *   (history, call) => Repetition.record(history, call),
 *   Repetition.empty
 * )
 * Repetition.detect(history) // => { _tag: "ping-pong", workers: ["writer", "critic"], times: 3 }
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { Given } from "./internal/given.ts"

/** @since 0.1.0 */
export interface Call extends Schema.Schema.Type<typeof Call> {}

/**
 * A call that is over: who was called, and digests of what went in and what came out.
 *
 * @category models
 * @since 0.1.0
 */
export const Call = Schema.Struct({ worker: Schema.String, input: Schema.String, output: Schema.String })

/** @since 0.1.0 */
export interface History extends Schema.Schema.Type<typeof History> {}

/**
 * The newest calls, oldest first, and how often each worker was called.
 *
 * @category models
 * @since 0.1.0
 */
export const History = Schema.Struct({
  newest: Schema.Array(Call),
  calls: Schema.ReadonlyMap(Schema.String, Schema.Int)
})

/**
 * The history before the first call.
 *
 * @category models
 * @since 0.1.0
 */
export const empty: History = { newest: [], calls: new Map() }

/**
 * How much repetition is too much.
 *
 * **Details**
 *
 * - `identical`: so many identical calls are found, a whole number >= 2. Default 3.
 * - `rounds`: so many rounds of a ping-pong are found, a whole number >= 2. Default 3.
 * - `perWorker`: how often one worker may be called, a whole number >= 0; 0 = never. Absent = as often as it takes, the
 *   default.
 * - `window`: how many calls are remembered, a whole number >= `identical` and >= 2 × `rounds`. Default 64, or more where
 *   the other numbers need it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy {
  readonly identical: number
  readonly rounds: number
  readonly perWorker?: number | undefined
  readonly window: number
}

/**
 * Makes a policy out of what differs from the defaults.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the parameter when one is out of range, and when there is no such parameter.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: { readonly [K in keyof Policy]?: Policy[K] | undefined } = {}): Policy => {
  const given = new Given("Repetition.make")
  given.record("options", options, ["identical", "rounds", "perWorker", "window"])
  const { identical = 3, perWorker, rounds = 3 } = options
  given.whole("identical", identical, 2)
  given.whole("rounds", rounds, 2)
  if (perWorker !== undefined) given.whole("perWorker", perWorker, 0)
  const needed = Math.max(identical, 2 * rounds)
  const window = options.window ?? Math.max(64, needed)
  given.whole("window", window, needed)
  return { identical, rounds, perWorker, window }
}

/**
 * The defaults.
 *
 * @category models
 * @since 0.1.0
 */
export const policy: Policy = make()

/** @since 0.1.0 */
export interface Detection extends Schema.Schema.Type<typeof Detection> {}

/**
 * What was found, as in the table of the module.
 *
 * **Details**
 *
 * - `workers`: two for a ping-pong, the one that was called first in front; one for the others.
 * - `times`: identical calls, whole rounds, or calls of the worker, as far as the history goes.
 *
 * @category models
 * @since 0.1.0
 */
export const Detection = Schema.Struct({
  _tag: Schema.Literals(["identical-call", "ping-pong", "loop-count"]),
  workers: Schema.Array(Schema.String),
  times: Schema.Int
})

/**
 * The history with one more call.
 *
 * @category operations
 * @since 0.1.0
 */
export const record = (history: History, call: Call, { window }: Policy = policy): History => {
  const { input, output, worker } = call
  const newest = history.newest.slice(Math.max(0, history.newest.length + 1 - window)) // P1
  newest.push({ worker, input, output })
  return { newest, calls: new Map(history.calls).set(worker, (history.calls.get(worker) ?? 0) + 1) } // P2
}

/**
 * What the newest call shows, if anything. Asked after each call that was recorded.
 *
 * @category operations
 * @since 0.1.0
 */
export const detect = (history: History, policy_: Policy = policy): Detection | undefined => {
  const { newest } = history
  const last = newest.at(-1)
  if (last === undefined) return undefined
  const alternating = alternation(newest, last)
  if (alternating >= 2 * policy_.rounds) {
    const before = newest.at(-2) ?? last
    // A round begins with the one that was called first.
    const [first, second] = alternating % 2 === 0 ? [before, last] : [last, before]
    return { _tag: "ping-pong", workers: [first.worker, second.worker], times: Math.floor(alternating / 2) }
  }
  const established = alternating >= 4
  let times = established ? 1 : 0 // P3
  for (let at = newest.length - 1 - (established ? alternating : 0); at >= 0; at--) {
    if (same(newest[at], last)) times += 1
  }
  if (times >= policy_.identical) return { _tag: "identical-call", workers: [last.worker], times }
  const called = history.calls.get(last.worker) ?? 0
  return policy_.perWorker !== undefined && called > policy_.perWorker
    ? { _tag: "loop-count", workers: [last.worker], times: called }
    : undefined
}

/**
 * Whether one more call of a worker would be too many. Asked before the call, so that a limit of 5 means 5 calls.
 *
 * **Details**
 *
 * - `open`: calls of the worker that run and are not recorded yet, a whole number >= 0. Default 0.
 *
 * @category operations
 * @since 0.1.0
 */
export const refuse = (
  history: History,
  worker: string,
  { perWorker }: Policy = policy,
  open = 0
): Detection | undefined => {
  const times = (history.calls.get(worker) ?? 0) + open
  return perWorker !== undefined && times >= perWorker ? { _tag: "loop-count", workers: [worker], times } : undefined
}

const same = (one: Call | undefined, other: Call): boolean =>
  one !== undefined && one.worker === other.worker && one.input === other.input && one.output === other.output

/** How many of the newest calls are the same two calls of two workers in turn. */
const alternation = (newest: ReadonlyArray<Call>, last: Call): number => {
  const before = newest.at(-2)
  if (before === undefined || before.worker === last.worker) return 1
  let length = 2
  while (same(newest.at(-length - 1), length % 2 === 0 ? last : before)) length += 1
  return length
}
