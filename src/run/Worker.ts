/**
 * Who can: a typed function with a name, what it is good at, and what it may cost.
 *
 * A worker is handed an {@link Order} and answers with its output, a {@link Result.Result}, or an error. What the error
 * means is told by its kind ({@link Failure}); an error without a kind, and anything thrown, counts as a bug. A worker
 * never talks to another worker and sees nothing but its order.
 *
 * **Details**
 *
 * - Input and output are schemas. The input is decoded from the contract's plain values before the worker is called, the
 *   output is encoded to plain JSON and checked before anybody sees it.
 * - What the handler needs is inferred and becomes a requirement of the desk. Each attempt has a scope of its own: what it
 *   acquires is released when it ends, also when it is interrupted.
 *
 * **Gotchas**
 *
 * A handler may be called again with the same order: after a passing failure, after a crash of the process. What it does
 * outside is keyed by {@link Order.idempotencyKey}.
 *
 * **Example** (A worker that counts words)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   capabilities: ["count-words"],
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Struct({ words: Schema.Int }),
 *   handle: ({ input }) => Effect.succeed({ words: input.text.split(/\s+/).length })
 * })
 *
 * count.name // => "count"
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import type { Contract } from "./Contract.ts"
import { decoder, encoder, type Problem } from "./internal/problems.ts"
import type { ErrorKind, Missing, Result } from "./Result.ts"

const TypeId = "~espalier/run/Worker"

/**
 * How much harm a worker's actions can do: `low` reads and drafts, `medium` writes outside production, `high` touches
 * production, is dear, or cannot be undone.
 *
 * @category models
 * @since 0.1.0
 */
export type Risk = "low" | "medium" | "high"

/**
 * An earlier try at the same task, and how it failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreviousError {
  readonly dispatch: string
  readonly worker: string
  readonly kind: ErrorKind
  readonly reason: string
}

/**
 * What a task lacks from the tasks before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface MissingInput extends Missing {
  readonly task: string
}

/**
 * Everything a worker is handed.
 *
 * **Details**
 *
 * - `dispatch`: id of this order, `run/task/n`; the same after a crash of the process.
 * - `attempt`: 1 for the first try inside this dispatch.
 * - `idempotencyKey`: the same for every attempt and every dispatch of the task.
 * - `accepted`: what the tasks before it put out, by task id, as plain JSON.
 * - `missing`: what they did not; empty when everything is there.
 * - `previous`: earlier errors of this task, oldest first. After a malformed answer, the last one says what was wrong.
 *
 * @category models
 * @since 0.1.0
 */
export interface Order<out Input = unknown> {
  readonly run: string
  readonly task: string
  readonly dispatch: string
  readonly attempt: number
  readonly idempotencyKey: string
  readonly contract: Contract
  readonly input: Input
  readonly accepted: Readonly<Record<string, Schema.Json>>
  readonly missing: ReadonlyArray<MissingInput>
  readonly previous: ReadonlyArray<PreviousError>
}

/**
 * A worker, ready to be put into a domain. `R` is what its handler needs.
 *
 * **Details**
 *
 * - `prepare` decodes the input of an order and answers with the work, or with what is wrong with the input.
 * - `encodeOutput` turns an output into plain JSON by the output schema.
 * - `schemas` are both schemas as JSON schema.
 *
 * @category models
 * @since 0.1.0
 */
export interface Worker<out R = unknown> {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly description: string
  readonly capabilities: ReadonlyArray<string>
  readonly risk: Risk
  readonly size: number
  readonly attemptTimeout: Duration.Duration
  readonly prepare: (order: Order) => EffectResult.Result<Effect.Effect<unknown, unknown, R>, ReadonlyArray<Problem>>
  readonly encodeOutput: (output: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly schemas: () => ReadonlyArray<unknown>
}

/**
 * What a worker needs from its surroundings.
 *
 * @category types
 * @since 0.1.0
 */
export type Requires<W> = W extends Worker<infer R> ? R : never

/**
 * What a worker is made of.
 *
 * **Details**
 *
 * - `description`: one sentence by which it is chosen; no two workers of a desk have the same.
 * - `capabilities`: what it can take over; another worker with the same capabilities is its stand-in. Default none.
 * - `input`: a schema over the contract's named inputs.
 * - `output`: the schema of what `handle` returns; it must encode to JSON.
 * - `risk`: default `"low"`.
 * - `size`: how many orders it works on at once, a whole number >= 1. Default 1.
 * - `attemptTimeout`: how long one attempt may take before it is interrupted, > 0. Default 30 seconds. Waiting between
 *   attempts does not count.
 * - `handle`: the work.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<I, IE, A, AE, E, R> {
  readonly description: string
  readonly capabilities?: ReadonlyArray<string> | undefined
  readonly input: Schema.Codec<I, IE>
  readonly output: Schema.Codec<A, AE>
  readonly risk?: Risk | undefined
  readonly size?: number | undefined
  readonly attemptTimeout?: Duration.Input | undefined
  readonly handle: (order: Order<I>) => Effect.Effect<NoInfer<A> | Result<NoInfer<A>>, E, R>
}

const namePattern = /^[A-Za-z][\w-]{0,63}$/

/**
 * Makes a worker.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the name has other characters than letters, digits, `_` and `-`, when `size` is not a whole
 * number >= 1, or when `attemptTimeout` is not > 0.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <I, IE, A, AE, E, R>(
  name: string,
  options: Options<I, IE, A, AE, E, R>
): Worker<Exclude<R, Scope.Scope>> => {
  const size = options.size ?? 1
  const attemptTimeout = Duration.fromInputUnsafe(options.attemptTimeout ?? "30 seconds")
  if (!namePattern.test(name)) {
    throw new RangeError(`Worker.make: name must be letters, digits, '_' and '-', got ${JSON.stringify(name)}`)
  }
  if (!Number.isInteger(size) || size < 1) {
    throw new RangeError(`Worker.make: size must be a whole number >= 1, got ${size}`)
  }
  if (!Duration.isGreaterThan(attemptTimeout, Duration.zero)) {
    throw new RangeError(`Worker.make: attemptTimeout must be > 0, got ${Duration.toMillis(attemptTimeout)} ms`)
  }
  const decodeInput = decoder(Schema.toCodecJson(options.input))
  return {
    [TypeId]: TypeId,
    name,
    description: options.description,
    capabilities: options.capabilities ?? [],
    risk: options.risk ?? "low",
    size,
    attemptTimeout,
    prepare: (order) =>
      EffectResult.map(decodeInput(order.contract.inputs), (input) =>
        Effect.scoped(Effect.suspend(() => options.handle({ ...order, input })))
      ),
    encodeOutput: encoder(Schema.toCodecJson(options.output)),
    schemas: () => [jsonSchema(options.input), jsonSchema(options.output)]
  }
}

/** The JSON schemas of a worker's input and output, as far as they can be told; a change of them is a new definition. */
const jsonSchema = (schema: Schema.Constraint): unknown => {
  try {
    return Schema.toJsonSchemaDocument(schema).schema
  } catch {
    return null
  }
}

/**
 * Whether a value is a worker.
 *
 * @category guards
 * @since 0.1.0
 */
export const isWorker = (value: unknown): value is Worker =>
  typeof value === "object" && value !== null && TypeId in value
