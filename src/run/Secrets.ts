/**
 * Credentials by name, handed out at execution, and only to the workers that have declared them.
 *
 * A worker says which secrets it uses (`secrets: ["github-token"]`), and gets them with {@link get} when it works. Contracts,
 * prompts, events and logs hold at most the name. What was handed out is taken out again wherever it would be written down.
 *
 * | a worker asks for | it gets |
 * |---|---|
 * | a name that it has declared | the value, as `Redacted` |
 * | any other name | {@link SecretRefused}, which counts as `denied` |
 * | a name that nobody has given a value | {@link SecretRefused}, which counts as `denied` |
 * | one whose source fails | {@link SecretRefused}, which counts as `transient` |
 *
 * **Details**
 *
 * - {@link layer} provides the service, and rules for `Redaction`: those around it, and before them whatever has been handed
 *   out. They take the value out as it is, as JSON, for URLs and forms, in base64 and in hexadecimal, of what a worker returns,
 *   its errors, its effects, its artefacts, and everything else that is recorded; `[redacted:github-token]` stands in its place.
 * - What a worker with secrets logs and traces goes through the same values.
 * - A source that is an effect is run each time that its secret is asked for, so that it can be renewed.
 * - Names are compared as they are; nothing is inherited, and a worker that declares nothing may have nothing.
 *
 * **Invariants**
 *
 * - S1. Nothing is handed out that could not be found again: not a value of fewer than 6 characters, and nothing where other
 *   rules than those of the layer are in force.
 * - S2. A value is known to the rules before anybody has it. What is given as `Redacted`, from the beginning.
 *
 * **Gotchas**
 *
 * - Give rules of one's own to this layer: `Secrets.layer({ … }).pipe(Layer.provide(Redaction.layer({ … })))`. Rules provided
 *   further inside take the place of these, and nothing is handed out then.
 * - A part of a secret, and one that was encrypted or compressed, is not found. Of each name the last 20 values are known.
 * - The names of effects are recorded as they are.
 *
 * **Example** (A worker with a token)
 *
 * ```ts
 * import { Effect, Layer, Redacted, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Secrets, Worker } from "espalier/run"
 *
 * const clone = Worker.make("clone", {
 *   description: "Clones a repository",
 *   secrets: ["git-token"],
 *   input: Schema.Struct({}),
 *   output: Schema.String,
 *   handle: () => Effect.map(Secrets.get("git-token"), (token) => `cloned with ${Redacted.value(token)}`)
 * })
 * const desk = Desk.make("mirror", {
 *   version: "1",
 *   input: Schema.Struct({}),
 *   domains: [Domain.make("git", { workers: [clone] })],
 *   coordinator: Plan.make([{ id: "clone", worker: "git.clone", objective: "Clone it" }])
 * })
 *
 * const secrets = Secrets.layer({ "git-token": Redacted.make("correct horse battery") })
 * const run = Effect.provide(Run.start(desk, { id: "r1", input: {} }), Layer.merge(Journal.layerMemory, secrets))
 * const { results } = await Effect.runPromise(run)
 * results["clone"]?.output // => "cloned with [redacted:git-token]"
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { Known, shortest } from "../internal/redaction/known.ts"
import { Redaction } from "../Redaction.ts"
import { Given, isRecord } from "./internal/given.ts"
import { shortened } from "./internal/problems.ts"

/**
 * The secrets of a process, or those of them that a worker may have.
 *
 * @category services
 * @since 0.1.0
 */
export class Secrets extends Context.Service<
  Secrets,
  {
    /**
     * See {@link get}.
     *
     * @since 0.1.0
     */
    readonly get: (name: string) => Effect.Effect<Redacted.Redacted, SecretRefused>

    /**
     * The names that are answered.
     *
     * @since 0.1.0
     */
    readonly names: ReadonlyArray<string>

    /**
     * A text without the values that are known.
     *
     * @since 0.1.0
     */
    readonly scrub: (text: string) => string

    /**
     * Data without the values that are known, in its texts, its numbers and the names of its fields.
     *
     * @since 0.1.0
     */
    readonly scrubJson: (value: Schema.Json) => Schema.Json
  }
>()("espalier/run/Secrets") {}

const sentencesOf = {
  undeclared: "it has not declared it",
  unknown: "there is no such secret",
  unguarded: "the rules of Redaction in force are not those of Secrets, and it would be recorded",
  untraceable: `it could not be found again where it is recorded, as what has fewer than ${shortest} characters`,
  unavailable: "it cannot be had now"
} as const

/**
 * A secret was not handed out.
 *
 * **Details**
 *
 * - `secret`: its name. `worker`: who has asked; absent where no worker has. `may`: the names that would be answered.
 * - `reason`:
 *   - `undeclared`: the worker has not declared it. `unknown`: nobody has given it a value.
 *   - `unguarded`: it could be recorded, because other rules are in force than those of the layer of secrets.
 *   - `untraceable`: it could not be found again, as what has fewer than 6 characters.
 *   - `unavailable`: its source has failed. Only this one counts as `transient`, the others as `denied`. Of the failure only
 *     the tag is told, in `detail`.
 *
 * @category errors
 * @since 0.1.0
 */
export class SecretRefused extends Schema.TaggedError<SecretRefused>("espalier/run/Secrets/SecretRefused")(
  "SecretRefused",
  {
    secret: Schema.String,
    worker: Schema.optionalKey(Schema.String),
    reason: Schema.Literals(["undeclared", "unknown", "unguarded", "untraceable", "unavailable"]),
    may: Schema.Array(Schema.String),
    detail: Schema.optionalKey(Schema.String)
  }
) {
  get [Failure.kind](): Failure.Kind {
    return this.reason === "unavailable" ? "transient" : "denied"
  }

  override get message(): string {
    const who = this.worker === undefined ? "" : ` to ${this.worker}`
    const may = this.may.length === 0 ? "none" : this.may.join(", ")
    const detail = this.detail === undefined ? "" : ` (${this.detail})`
    return `the secret ${this.secret} is not handed out${who}: ${sentencesOf[this.reason]}${detail}; it may have: ${may}`
  }
}

/**
 * Where a secret comes from: a value, or an effect that brings one each time that it is asked for.
 *
 * @category models
 * @since 0.1.0
 */
export type Source<R = never> = Redacted.Redacted | Effect.Effect<Redacted.Redacted, unknown, R>

/**
 * What the sources of secrets need.
 *
 * @category types
 * @since 0.1.0
 */
export type Requires<S> = S extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/** A longer name is cut short where it is told. */
const longestName = 100

const kept = (name: unknown): string => shortened(typeof name === "string" ? name : typeof name, longestName)

/** What of a failure says nothing of its content. */
const tagOf = (cause: Cause.Cause<unknown>): string | undefined => {
  const error = Cause.squash(cause)
  if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return kept(error._tag)
  return error instanceof Error ? kept(error.name) : undefined
}

type Sources = ReadonlyMap<string, Redacted.Redacted | Effect.Effect<Redacted.Redacted, unknown>>

const make = (sources: Sources, known: Known, guards: (rules: Redaction) => boolean): Secrets["Service"] => {
  const names = [...sources.keys()]
  const refuse = (name: unknown, reason: SecretRefused["reason"], detail?: string): SecretRefused =>
    new SecretRefused({
      secret: known.text(kept(name)),
      reason,
      may: names,
      ...(detail === undefined ? {} : { detail: known.text(detail) })
    })
  for (const [name, source] of sources) {
    if (Redacted.isRedacted(source)) known.add(name, String(Redacted.value(source))) // S2
  }
  const get = (name: string): Effect.Effect<Redacted.Redacted, SecretRefused> =>
    Effect.gen(function* () {
      const source = sources.get(name)
      if (source === undefined) return yield* refuse(name, "unknown")
      if (!guards(yield* Redaction)) return yield* refuse(name, "unguarded") // S1
      const redacted: unknown = Redacted.isRedacted(source)
        ? source
        : yield* Effect.catchCause(source, (cause) =>
            Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(refuse(name, "unavailable", tagOf(cause)))
          )
      const value: unknown = Redacted.isRedacted(redacted) ? Redacted.value(redacted) : undefined
      if (typeof value !== "string") return yield* refuse(name, "unavailable", "it is no Redacted text")
      known.add(name, value) // S2
      if (!known.finds(value)) return yield* refuse(name, "untraceable") // S1
      return redacted as Redacted.Redacted
    })
  return {
    get,
    names,
    scrub: known.text,
    scrubJson: (value) => known.value(value) as Schema.Json
  }
}

const given = new Given("Secrets.layer")

/** The service, and the rules that go with it. */
const provide = (sources: Sources): Layer.Layer<Secrets> =>
  Layer.effectContext(
    Effect.map(Redaction, (around) => {
      const known = new Known()
      const rules: Redaction = {
        ...around,
        text: (text) => around.text(known.text(text)),
        value: (<A>(value: A): A => around.value(known.value(value)) as A) as Redaction["value"]
      }
      return Context.make(
        Secrets,
        make(sources, known, (each) => each === rules)
      ).pipe(Context.add(Redaction, rules))
    })
  )

/**
 * Provides secrets by name, and the rules that take them out of what is recorded.
 *
 * **Details**
 *
 * - What an effect needs becomes a requirement of the layer. It is run when the secret is asked for, not before.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the secret when something is neither a `Redacted` nor an effect.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <const S extends Readonly<Record<string, Source<unknown>>>>(
  sources: S
): Layer.Layer<Secrets, never, Requires<S[keyof S]>> => {
  const entries = Object.entries(given.record("secrets", sources))
  for (const [name, source] of entries) {
    if (name.trim() === "") given.refuse("each name", "a name that is not empty", name)
    if (Redacted.isRedacted(source)) {
      if (typeof Redacted.value(source) !== "string") given.refuse(name, "a Redacted text", "something else")
    } else if (!Effect.isEffect(source)) given.refuse(name, "a Redacted or an effect", typeof source)
  }
  return Layer.unwrap(
    Effect.contextWith((context: Context.Context<Requires<S[keyof S]>>) =>
      Effect.succeed(
        provide(
          new Map(
            (entries as ReadonlyArray<readonly [string, Source<Requires<S[keyof S]>>]>).map(([name, source]) => [
              name,
              Redacted.isRedacted(source) ? source : Effect.provideContext(source, context)
            ])
          )
        )
      )
    )
  )
}

/**
 * Provides secrets out of the configuration: `ConfigProvider`, which is the environment of the process by default.
 *
 * **Details**
 *
 * - `names`: of variables, each the name of its secret, too; or variables by the names of secrets.
 * - A variable is read when its secret is asked for, and each time. One that is missing is a {@link SecretRefused} of the reason
 *   `unavailable`.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for something else, and for a name that is empty or is there twice.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (names: ReadonlyArray<string> | Readonly<Record<string, string>>): Layer.Layer<Secrets> => {
  const given = new Given("Secrets.layerConfig")
  const variables = isRecord(names)
    ? Object.entries(names as Readonly<Record<string, string>>)
    : given.names("names", names).map((name) => [name, name] as const)
  given.names(
    "names",
    variables.map(([name]) => name)
  )
  return layer(
    Object.fromEntries(
      variables.map(([name, variable]): readonly [string, Source] => {
        if (typeof variable !== "string" || variable.trim() === "") {
          given.refuse(`names.${name}`, "the name of a variable", variable)
        }
        return [name, Config.Redacted(variable)]
      })
    )
  )
}

/**
 * Provides secrets that are given as texts, for tests.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (values: Readonly<Record<string, string>> = {}): Layer.Layer<Secrets> =>
  layer(
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Redacted.make(value, { label: name })]))
  )

/**
 * What a worker sees of the service: only the names that it has declared. `Worker.make` does this.
 *
 * @category combinators
 * @since 0.1.0
 */
export const narrow = (
  secrets: Secrets["Service"],
  options: { readonly worker: string; readonly names: ReadonlyArray<string> }
): Secrets["Service"] => {
  const may = new Set(options.names)
  const names = [...may]
  const { worker } = options
  return {
    get: (name) =>
      Effect.suspend(() =>
        may.has(name)
          ? Effect.mapError(secrets.get(name), (refused) => new SecretRefused({ ...refused, worker, may: names }))
          : Effect.fail(
              new SecretRefused({ secret: secrets.scrub(kept(name)), worker, reason: "undeclared", may: names })
            )
      ),
    names,
    scrub: secrets.scrub,
    scrubJson: secrets.scrubJson
  }
}

/**
 * A secret. In a worker only one that it has declared.
 *
 * @category operations
 * @since 0.1.0
 */
export const get = (name: string): Effect.Effect<Redacted.Redacted, SecretRefused, Secrets> =>
  Effect.flatMap(Secrets, (secrets) => secrets.get(name))

/**
 * A text without the secrets that are known, as for a prompt. Without the service it stays as it is.
 *
 * @category operations
 * @since 0.1.0
 */
export const scrub = (text: string): Effect.Effect<string> =>
  Effect.map(Effect.serviceOption(Secrets), (secrets) => (Option.isSome(secrets) ? secrets.value.scrub(text) : text))

/**
 * Data without the secrets that are known. Without the service it stays as it is.
 *
 * @category operations
 * @since 0.1.0
 */
export const scrubJson = (value: Schema.Json): Effect.Effect<Schema.Json> =>
  Effect.map(Effect.serviceOption(Secrets), (secrets) =>
    Option.isSome(secrets) ? secrets.value.scrubJson(value) : value
  )
