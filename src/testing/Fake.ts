/**
 * Workers with canned answers, for tests of desks: real workers in every respect but their work.
 *
 * A fake answers from a list, one entry per call, or by a function of its order. Beside outputs and results an entry can be
 * anything that goes wrong with a worker: a failure of any kind, a bug, no answer, a malformed or an empty one. It can be
 * slow, fail now and then from a seed, and go down with an {@link Outage}. It remembers every order that it saw.
 *
 * **Details**
 *
 * A call goes through these in turn: it is recorded; an outage strikes it at once; the seeded failures and the next answer
 * are drawn; the latency passes; the answer is given. A call that an outage or a seeded failure strikes uses up no answer.
 *
 * **Invariants**
 *
 * - F1. What is drawn from a seed depends on the seed, the dispatch and the attempt alone, never on what runs beside it.
 * - F2. A call beyond the last answer is a bug and says so.
 *
 * **Gotchas**
 *
 * A fake keeps its state for as long as it lives. Make a new one for each test.
 *
 * **Example** (A worker that crashes once, and what it was asked)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run } from "espalier/run"
 * import { Fake } from "espalier/testing"
 *
 * const links = Fake.worker("links", { answers: [Fake.die(), { dead: ["a.md"] }] })
 * const desk = Desk.make("release", {
 *   version: "1",
 *   input: Schema.Null,
 *   domains: [Domain.make("docs", { workers: [links] })],
 *   coordinator: Plan.make([{ id: "links", worker: "docs.links", objective: "Find dead links" }])
 * })
 *
 * const program = Effect.gen(function* () {
 *   const { results, status } = yield* Run.start(desk, { id: "r1", input: null, log: false })
 *   const asked = (yield* links.calls).map(({ dispatch }) => dispatch)
 *   return [status, results["links"]?.output, asked, yield* links.unused]
 * })
 * const seen = await Effect.runPromise(Effect.provide(program, Journal.layerMemory))
 * seen // => ["completed", { dead: ["a.md"] }, ["r1/links/1", "r1/links/2"], []]
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as Failure from "../Failure.ts"
import { readDuration } from "../internal/options.ts"
import type { Effects } from "../run/Effects.ts"
import { Given } from "../run/internal/given.ts"
import * as Result from "../run/Result.ts"
import type { Review } from "../run/Review.ts"
import * as Worker from "../run/Worker.ts"
import * as Outage from "./Outage.ts"

const TypeId = "~espalier/testing/Fake/Answer"

/**
 * An answer that is neither an output nor a result. Made by {@link fail}, {@link die}, {@link never}, {@link malformed} and
 * {@link empty}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answer {
  readonly [TypeId]: Effect.Effect<unknown, Failure.Failure>
}

/**
 * What a call can be answered with: a plain output, a result, or an {@link Answer}.
 *
 * @category models
 * @since 0.1.0
 */
export type Reply<A> = A | Result.Result<A> | Answer

const answer = (given: Effect.Effect<unknown, Failure.Failure>): Answer => ({ [TypeId]: given })

const isAnswer = (value: unknown): value is Answer => Predicate.hasProperty(value, TypeId)

/**
 * Fails.
 *
 * **Details**
 *
 * - `reason`: default `"canned"`.
 * - `retryAfter`: what a `transient` failure asks to wait, >= 0. Default: nothing is said.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the kind or an option is not what its type says.
 *
 * @category answers
 * @since 0.1.0
 */
export const fail = (
  kind: Failure.Kind,
  options: { readonly reason?: string | undefined; readonly retryAfter?: Duration.Input | undefined } = {}
): Answer => {
  const given = new Given("Fake.fail")
  given.oneOf("kind", kind, Failure.kinds)
  given.record("options", options, ["reason", "retryAfter"])
  const { reason = "canned", retryAfter } = options
  given.text("reason", reason)
  if (retryAfter !== undefined) given.duration("retryAfter", retryAfter, "zero")
  return answer(Effect.fail(failure(kind, reason, retryAfter)))
}

const failure = (kind: Failure.Kind, reason: string, retryAfter?: Duration.Input | undefined): Failure.Failure =>
  new Failure.Failure({
    kind,
    reason,
    ...(retryAfter === undefined ? {} : { retryAfterMillis: Duration.toMillis(Duration.fromInputUnsafe(retryAfter)) })
  })

/**
 * Breaks off with a bug, which ends the incarnation of the worker. Default: an error `canned defect`.
 *
 * @category answers
 * @since 0.1.0
 */
export const die = (defect?: unknown): Answer =>
  answer(Effect.suspend(() => Effect.die(defect ?? new Error("canned defect"))))

/**
 * Never answers; only a time-out or an interruption ends the call.
 *
 * @category answers
 * @since 0.1.0
 */
export const never: Answer = answer(Effect.never)

/**
 * Answers with this value, whatever the worker's output schema says. Without a value, with a confidence of 2, which is
 * malformed for every schema.
 *
 * @category answers
 * @since 0.1.0
 */
export const malformed = (...value: readonly [value?: unknown]): Answer =>
  answer(Effect.succeed(value.length === 0 ? Result.completed(undefined, { confidence: 2 }) : value[0]))

/**
 * Answers with nothing at all.
 *
 * @category answers
 * @since 0.1.0
 */
export const empty: Answer = answer(Effect.undefined)

/**
 * Failures from a seed.
 *
 * **Details**
 *
 * - `rate`: the share of calls that fail, between 0 and 1.
 * - `kind`: how they fail. Default `"transient"`.
 * - `seed`: which calls they are.
 * - `retryAfter`: what a `transient` failure asks to wait. Default: nothing is said.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failures {
  readonly rate: number
  readonly seed: number | string
  readonly kind?: Result.ErrorKind | undefined
  readonly retryAfter?: Duration.Input | undefined
}

/**
 * How long a call takes: always the same, or evenly between two durations from a seed.
 *
 * @category models
 * @since 0.1.0
 */
export type Latency =
  | Duration.Input
  | { readonly from: Duration.Input; readonly to: Duration.Input; readonly seed: number | string }

/** As `NoInfer`, which makes object literals fail against a union as open as that of plain JSON. */
type Settled<A> = [A][A extends unknown ? 0 : never]

/**
 * What a fake is made of. What is not named here is as for `Worker.make`.
 *
 * **Details**
 *
 * - `description`: default `"The fake worker NAME"`.
 * - `input`: default any value. `output`: default any plain JSON.
 * - `answers`: one per call, in the order of the calls, or a function of the order, which may answer with an effect.
 *   Default none.
 * - `otherwise`: the answer of every call beyond the list. Default: such a call is a bug.
 * - `failures`: default none.
 * - `latency`: default none.
 * - `outage`: what strikes its calls. Default `Outage.Current`.
 * - `what`: the name by which the outage knows it. Default its own name. It is down with each of its `dependencies`, too.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<I, IE, A, AE, E, R> extends Partial<
  Omit<Worker.Options<I, IE, A, AE, never, never>, "handle">
> {
  readonly answers?:
    | ReadonlyArray<Reply<Settled<A>>>
    | ((order: Worker.Order<NoInfer<I>>) => Reply<Settled<A>> | Effect.Effect<Reply<Settled<A>>, E, R>)
    | undefined
  readonly otherwise?: Reply<Settled<A>> | undefined
  readonly failures?: Failures | undefined
  readonly latency?: Latency | undefined
  readonly outage?: Outage.Outage | undefined
  readonly what?: string | undefined
}

/**
 * A fake worker.
 *
 * **Details**
 *
 * - `calls`: the orders that it saw, oldest first. An order that was refused for its input is none of them.
 * - `unused`: the answers of the list that no call was given; empty when the test used them up.
 * - `running`: how many calls are under way.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fake<out I = unknown, out A = unknown, out R = unknown> extends Worker.Worker<R> {
  readonly calls: Effect.Effect<ReadonlyArray<Worker.Order<I>>>
  readonly unused: Effect.Effect<ReadonlyArray<Reply<A>>>
  readonly running: Effect.Effect<number>
}

/**
 * Makes a fake worker.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` as `Worker.make` does, and when an option is not what its type says: a rate that is not between 0
 * and 1, a kind that is none, a latency that is negative, infinite, or ends before it begins.
 *
 * @category constructors
 * @since 0.1.0
 */
export const worker = <I = unknown, IE = unknown, A = Schema.Json, AE = unknown, E = never, R = never>(
  name: string,
  options: Options<I, IE, A, AE, E, R> = {}
): Fake<I, A, Exclude<R, Scope.Scope | Effects | Review>> => {
  given.record("options", options)
  const { answers = [], failures, latency, otherwise, outage, what = name, ...rest } = options
  if (typeof answers !== "function") given.list("answers", answers)
  if (failures !== undefined) checkFailures(failures)
  if (outage !== undefined) given.made("outage", "an outage", Outage.isOutage(outage), outage)
  given.text("what", what)
  const wait = latency === undefined ? () => Effect.void : waiting(latency)
  const struck = failures === undefined ? () => Effect.succeed(false) : striking(failures)
  const calls: Array<Worker.Order<I>> = []
  const unused: Array<Reply<A>> = typeof answers === "function" ? [] : [...answers]
  let running = 0

  const next = (order: Worker.Order<I>): Effect.Effect<Reply<A>, E, R> => {
    if (typeof answers === "function") {
      const given = answers(order)
      return Effect.isEffect(given) ? (given as Effect.Effect<Reply<A>, E, R>) : Effect.succeed(given)
    }
    if (unused.length > 0) return Effect.succeed(unused.shift() as Reply<A>)
    if (otherwise !== undefined) return Effect.succeed(otherwise)
    return Effect.die(new Error(`${name} has no answer left for ${order.dispatch}, attempt ${order.attempt}`)) // F2
  }

  const handle = (order: Worker.Order<I>) =>
    Effect.suspend(() => {
      calls.push(order)
      running += 1
      const work = Effect.gen(function* () {
        const given: Effect.Effect<unknown, Failure.Failure> = (yield* struck(order))
          ? strike(failures)
          : give(yield* next(order))
        yield* wait(order)
        return yield* given
      })
      const met = [what, ...(rest.dependencies ?? [])].reduce<Effect.Effect<unknown, E | Failure.Failure, R>>(
        (call, down) => (outage === undefined ? Outage.applyCurrent(down, call) : Outage.apply(outage, down, call)),
        work
      )
      // What a fake hands back need not be what its schema says; that is the point.
      return Effect.ensuring(
        met as Effect.Effect<A | Result.Result<A>, E | Failure.Failure, R>,
        Effect.sync(() => (running -= 1))
      )
    })

  const made = Worker.make(name, {
    ...rest,
    description: rest.description ?? `The fake worker ${name}`,
    input: rest.input ?? (Schema.Unknown as Schema.Codec<unknown> as Schema.Codec<I, IE>),
    output: rest.output ?? (Schema.Json as Schema.Codec<unknown> as Schema.Codec<A, AE>),
    handle
  })
  return {
    ...made,
    calls: Effect.sync(() => [...calls]),
    unused: Effect.sync(() => [...unused]),
    running: Effect.sync(() => running)
  }
}

const give = (reply: unknown): Effect.Effect<unknown, Failure.Failure> =>
  isAnswer(reply) ? reply[TypeId] : Effect.succeed(reply)

const strike = (failures: Failures | undefined): Effect.Effect<never, Failure.Failure> => {
  const { kind = "transient", retryAfter } = failures ?? {}
  const reason = "a seeded failure"
  return kind === "defect" ? Effect.die(new Error(reason)) : Effect.fail(failure(kind, reason, retryAfter))
}

const given = new Given("Fake.worker")

const checkFailures = (failures: Failures): void => {
  const { kind, rate, retryAfter, seed } = given.record("failures", failures, ["rate", "seed", "kind", "retryAfter"])
  given.share("failures.rate", rate)
  if (typeof seed !== "string" && !Number.isFinite(seed)) given.refuse("failures.seed", "a text or a number", seed)
  if (kind !== undefined) given.oneOf("failures.kind", kind, Result.ErrorKind.literals)
  if (retryAfter !== undefined) given.duration("failures.retryAfter", retryAfter, "zero")
}

type Seen = Pick<Worker.Order, "dispatch" | "attempt">

/** A number in [0, 1) that belongs to one attempt. F1 */
const drawn = (seed: number | string, purpose: string, { attempt, dispatch }: Seen): Effect.Effect<number> =>
  Random.withSeed(Random.next, JSON.stringify([seed, purpose, dispatch, attempt]))

const striking = ({ rate, seed }: Failures) => {
  return (order: Seen): Effect.Effect<boolean> => Effect.map(drawn(seed, "failures", order), (number) => number < rate)
}

const waiting = (latency: Latency): ((order: Seen) => Effect.Effect<void>) => {
  const millis = (input: Duration.Input): number => {
    const duration = readDuration(input) ?? given.refuse("latency", "a duration", input)
    const value = Duration.toMillis(duration)
    if (Number.isFinite(value) && value >= 0) return value
    throw new RangeError(`Fake.worker: latency must be finite and >= 0, got ${value} ms`)
  }
  if (!Predicate.hasProperty(latency, "seed")) {
    const fixed = millis(latency)
    return () => Effect.sleep(fixed)
  }
  const { seed } = given.record("latency", latency, ["from", "to", "seed"]) as typeof latency
  const from = millis(latency.from)
  const to = millis(latency.to)
  if (to < from) throw new RangeError(`Fake.worker: latency.to must be >= from (${from} ms), got ${to} ms`)
  return (order) =>
    Effect.flatMap(drawn(seed, "latency", order), (number) => Effect.sleep(from + Math.floor(number * (to - from + 1))))
}
