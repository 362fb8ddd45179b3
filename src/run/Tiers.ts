/**
 * The tiers of autonomy that a configuration sets, by the name of the desk, without a change of code.
 *
 * A desk says in code how far its runs may go on their own. Whoever operates it may say otherwise: `Tiers` is looked at when a run
 * begins and whenever it is taken up, so that a tier can be lowered in an hour of trouble without a new release.
 *
 * **Details**
 *
 * - A run begins with its option `tier`, else with what is said here, else with the tier of its desk.
 * - A run that is taken up gets the tier that is said here, where it has another one. That is an `AutonomyChanged` by
 *   `configuration`, whose note names the source. A run that is carried out meanwhile is not changed; `Run.changeTier` does that.
 * - A run that was begun with the option `tier`, and one whose tier a person has changed since, are left alone: what was said of
 *   one run wins over what is said of all of them. Word of a change that lies in the journal counts, too.
 * - What is not said changes nothing: without configuration, and with one that does not name the desk, a run that is taken up keeps
 *   its tier. So nobody raises a tier by forgetting a file.
 *
 * **Gotchas**
 *
 * A file that is missing or damaged never means the tier of the desk: the start fails with {@link TiersInvalid}, and so does the
 * taking up. Nothing is written then.
 *
 * **Example** (A desk that may do less than its code says)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Tiers, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Struct({ words: Schema.Int }),
 *   handle: ({ input }) => Effect.succeed({ words: input.text.split(" ").length })
 * })
 * const desk = Desk.make("counting", {
 *   version: "1",
 *   input: Schema.Struct({ text: Schema.String }),
 *   domains: [Domain.make("words", { workers: [count] })],
 *   coordinator: Plan.make([
 *     { id: "count", worker: "words.count", objective: "Count", input: (_, { text }: { text: string }) => ({ text }) }
 *   ])
 * })
 *
 * const program = Effect.gen(function* () {
 *   const { status, tier } = yield* Run.start(desk, { id: "r1", input: { text: "to be" } })
 *   return [status, tier]
 * }).pipe(Effect.provide(Tiers.layer({ desks: { counting: "low" } })))
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => ["waiting", "low"]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { Tier } from "./Autonomy.ts"
import { Given } from "./internal/given.ts"
import { decoder, Problem, sentences, shorten, thrown } from "./internal/problems.ts"

/**
 * The tiers that are configured.
 *
 * **Details**
 *
 * - `source`: what they come from, as it is named in the journal.
 * - `of`: the tier of a desk, by its name; `undefined` where nothing is said of it. Asked for at each start and each taking up.
 *
 * @category services
 * @since 0.1.0
 */
export interface Tiers {
  readonly source: string
  readonly of: (desk: string) => Effect.Effect<Tier | undefined, TiersInvalid>
}

/**
 * A configuration that cannot be used. The message names the file and the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class TiersInvalid extends Schema.TaggedError<TiersInvalid>("espalier/run/Tiers/TiersInvalid")("TiersInvalid", {
  source: Schema.String,
  problems: Schema.Array(Problem)
}) {
  override get message(): string {
    return `TIERS_INVALID: ${this.source}: ${sentences(this.problems, "the file")}`
  }
}

/**
 * The tiers that a configuration sets around this effect. Default: none.
 *
 * @category services
 * @since 0.1.0
 */
export const Tiers = Context.Reference<Tiers>("espalier/run/Tiers", {
  defaultValue: () => ({ source: "no configuration", of: () => Effect.undefined })
})

/** @since 0.1.0 */
export interface Configured extends Schema.Schema.Type<typeof Configured> {}

/**
 * What a configuration says, in code as in a file: a tier by the name of a desk.
 *
 * @category models
 * @since 0.1.0
 */
export const Configured = Schema.Struct({ desks: Schema.Record(Schema.String, Tier) })

const decode = decoder(Configured, "error")

const lookUp = ({ desks }: Configured, desk: string): Tier | undefined =>
  Object.hasOwn(desks, desk) ? desks[desk] : undefined

/**
 * Provides tiers that are said in code, or come out of a configuration of one's own.
 *
 * **Details**
 *
 * - `desks`: the tier by the name of the desk.
 * - `source`: what is named in the journal. Default `Tiers.layer`.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a value is no tier.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: {
  readonly desks: Readonly<Record<string, Tier>>
  readonly source?: string | undefined
}): Layer.Layer<never> => {
  const given = new Given("Tiers.layer")
  const { desks, source = "Tiers.layer" } = given.record("options", options, ["desks", "source"])
  given.text("source", source)
  const configured = { desks: { ...options.desks } }
  for (const [name, tier] of Object.entries(given.record("desks", desks))) {
    given.oneOf(`desks[${JSON.stringify(shorten(name, 64))}]`, tier, Tier.literals)
  }
  return Layer.succeed(Tiers, { source: String(source), of: (desk) => Effect.succeed(lookUp(configured, desk)) })
}

/**
 * Provides the tiers of a JSON file, which is read anew each time that a run begins or is taken up.
 *
 * **Details**
 *
 * - `path`: of the file. It holds `{ "desks": { "NAME": "low" } }`, and nothing else.
 *
 * A file that is not there, cannot be read, is no JSON or holds anything else is a {@link TiersInvalid} of each start and each
 * taking up for which it is looked at, also of desks that it says nothing of.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFile = (path: string): Layer.Layer<never, never, FileSystem.FileSystem> =>
  Layer.effect(
    Tiers,
    Effect.map(FileSystem.FileSystem, (files): Tiers => {
      const invalid = (expectation: string) =>
        new TiersInvalid({ source: path, problems: [{ path: "", expectation, actual: "" }] })
      return {
        source: path,
        of: (desk) =>
          files.readFileString(path).pipe(
            Effect.mapError(({ reason }) =>
              invalid(reason._tag === "NotFound" ? "is not there" : `cannot be read: ${reason._tag}`)
            ),
            Effect.flatMap((text) =>
              Effect.try({
                try: (): unknown => JSON.parse(text),
                catch: (cause) => invalid(`must be JSON: ${shorten(thrown(cause), 120)}`)
              })
            ),
            Effect.flatMap((value) =>
              Effect.fromResult(
                EffectResult.mapError(decode(value), (problems) => new TiersInvalid({ source: path, problems }))
              )
            ),
            Effect.map((configured) => lookUp(configured, desk))
          )
      }
    })
  )
