/**
 * A supervisor with its workers: the unit of containment.
 *
 * A domain owns a small set of workers of one field. What crashes in it is restarted in it; when it gives up, it alone
 * stays down, its workers answer as unavailable, and the other domains do not notice.
 *
 * **Example** (A domain of one worker)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Domain, Worker } from "espalier/run"
 *
 * const links = Worker.make("links", {
 *   description: "Finds dead links",
 *   input: Schema.Struct({ files: Schema.Array(Schema.String) }),
 *   output: Schema.Struct({ dead: Schema.Array(Schema.String) }),
 *   handle: () => Effect.succeed({ dead: [] })
 * })
 *
 * Domain.make("docs", { workers: [links] }).name // => "docs"
 * ```
 *
 * @since 0.1.0
 */
import type * as RestartIntensity from "../RestartIntensity.ts"
import type * as Supervisor from "../Supervisor.ts"
import { Given } from "./internal/given.ts"
import * as Worker from "./Worker.ts"

const TypeId = "~espalier/run/Domain"

/**
 * A domain. `R` is what its workers need.
 *
 * @category models
 * @since 0.1.0
 */
export interface Domain<out R = unknown> {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly workers: ReadonlyArray<Worker.Worker<R>>
  readonly strategy: Supervisor.Strategy
  readonly intensity: RestartIntensity.Options
}

/**
 * What a domain needs from its surroundings.
 *
 * @category types
 * @since 0.1.0
 */
export type Requires<D> = D extends Domain<infer R> ? R : never

/**
 * What a domain is made of.
 *
 * **Details**
 *
 * - `workers`: with names that are unique in the domain.
 * - `strategy`: whom a crash restarts with it. Default `"one-for-one"`.
 * - `intensity`: how many restarts it may spend before it gives up. Default 3 in 5 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<W extends ReadonlyArray<Worker.Worker>> {
  readonly workers: W
  readonly strategy?: Supervisor.Strategy | undefined
  readonly intensity?: RestartIntensity.Options | undefined
}

const given = new Given("Domain.make")

const strategies: ReadonlyArray<Supervisor.Strategy> = ["one-for-one", "one-for-all", "rest-for-one"]

const namePattern = /^[A-Za-z][\w-]{0,63}$/

/**
 * Makes a domain.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the name has other characters than letters, digits, `_` and `-`, and when an option is not of
 * its kind. An `intensity` that is out of range is found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const W extends ReadonlyArray<Worker.Worker>>(
  name: string,
  options: Options<W>
): Domain<Worker.Requires<W[number]>> => {
  if (typeof name !== "string" || !namePattern.test(name)) given.refuse("name", "letters, digits, '_' and '-'", name)
  given.record("options", options, ["workers", "strategy", "intensity"])
  given.list("workers", options.workers).forEach((worker, index) => {
    given.made(`workers[${index}]`, "a worker", Worker.isWorker(worker), worker)
  })
  const { intensity = {}, strategy = "one-for-one" } = options
  given.oneOf("strategy", strategy, strategies)
  given.record("intensity", intensity, ["restarts", "within"])
  return {
    [TypeId]: TypeId,
    name,
    workers: options.workers as ReadonlyArray<Worker.Worker<Worker.Requires<W[number]>>>,
    strategy,
    intensity
  }
}
