/**
 * One breaker per dependency (a provider, a model, a credential, a tool host), shared by all workers that are given it.
 *
 * A worker makes its outside calls through {@link call}. When a dependency keeps failing, or asks to be left alone, the
 * calls of every worker fail at once with {@link DependencyOpen} instead of finding out one by one. Afterwards one call is
 * let through as the probe; when it is answered, all are.
 *
 * | a call ends with | which means for the dependency |
 * |---|---|
 * | a success; `capability`, `denied`, `oversized`, `malformed` | it answered |
 * | `transient`, or an error without a kind | it failed; a `retryAfterMillis` holds everybody back for that long |
 * | `exhausted`, a defect, an interruption, a {@link DependencyOpen} | nothing |
 *
 * **Details**
 *
 * - A failure that asks to be left alone holds back all calls at once, not only after `failures` of them. After such a
 *   pause everybody may call; after an opening only the probe.
 * - With `spacing`, calls of one dependency start at least so far apart. A call waits for its turn, and is refused in its
 *   turn when the dependency was closed to callers meanwhile.
 * - Nothing here tries again: a refused call is a `transient` failure like any other, and says how long to wait.
 * - A failure that is the dependency's can be told from the worker's own by {@link blame}.
 *
 * Effect's `CircuitBreaker` is not used: a hint can only lengthen its opening, never shorten it; a hint is heard only from
 * the failure that opens it; and there is no pause without a probe, which is what a rate limit asks for.
 *
 * **Invariants**
 *
 * - D1. A dependency that asked to be left alone gets no call before that time, whichever call brought the hint, unless the
 *   probe was answered since; a hint beyond `longest` counts as `longest`.
 * - D2. At most one probe is under way. A probe that says nothing gives its place to the next call.
 * - D3. Every call that was let through is settled, also when it is interrupted.
 *
 * **Gotchas**
 *
 * - Calls that were let through before an opening run on.
 * - "In a row" goes by the order in which calls end.
 * - Nothing here has a time-out: put one inside the call, where it counts as a failure. Outside, it is an interruption. A
 *   wait for `spacing` is part of the call.
 *
 * **Example** (What one worker learns, all know)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Failure } from "espalier"
 * import { Dependency } from "espalier/run"
 *
 * const limited = Effect.suspend(() => Effect.fail(Failure.transient("429", { retryAfter: "30 seconds" })))
 *
 * const program = Effect.gen(function*() {
 *   const first = yield* Effect.flip(Dependency.call("anthropic", limited))
 *   const second = yield* Effect.flip(Dependency.call("anthropic", Effect.succeed("never sent")))
 *   return [Dependency.blame(first), second._tag, Dependency.blame(second), Dependency.blame(new Error("my own"))]
 * })
 * const seen = await Effect.runPromise(Effect.provide(program, Dependency.layer()))
 * seen // => ["anthropic", "DependencyOpen", "anthropic", undefined]
 * ```
 *
 * @since 0.1.0
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"

import * as Failure from "../Failure.ts"
import { show } from "../internal/options.ts"
import { tellWarning } from "../internal/telling.ts"
import type * as Circuit from "./internal/circuit.ts"
import { DependencyOpen } from "./internal/dependencyOpen.ts"
import { Gate, type Checked } from "./internal/gate.ts"
import { Given } from "./internal/given.ts"
import { Listeners } from "./internal/listeners.ts"

export { DependencyOpen } from "./internal/dependencyOpen.ts"

/**
 * The dependencies of a process, or of as much of it as is given the same layer.
 *
 * @category services
 * @since 0.1.0
 */
export class Dependency extends Context.Service<
  Dependency,
  {
    /**
     * See {@link call}.
     *
     * @since 0.1.0
     */
    readonly call: <A, E, R>(
      name: string,
      effect: Effect.Effect<A, E, R>,
      options?: CallOptions<E> | undefined
    ) => Effect.Effect<A, E | DependencyOpen, R>

    /**
     * The dependencies that do not take every call now, in the order of their first call.
     *
     * @since 0.1.0
     */
    readonly states: Effect.Effect<ReadonlyArray<Standing>>

    /**
     * Calls the listener with every change from now on, at once; the answer removes it. One that throws is not called
     * again, and the log says so.
     *
     * @since 0.1.0
     */
    readonly changes: (listener: (change: Change) => void) => () => void
  }
>()("espalier/run/Dependency") {}

/**
 * What the options of one call say.
 *
 * **Details**
 *
 * - `classify`: the kind of an error, at the time `at` in milliseconds since 1970, with what it asks to be left alone for
 *   when it is `transient`, as `HttpFailure.classify` tells it. `undefined` leaves it to `Failure.Classifier` and the
 *   error's own mark. It must not throw; one that throws has no opinion.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallOptions<in E> {
  readonly classify?:
    | ((
        error: E,
        at: number
      ) => Failure.Kind | { readonly kind: Failure.Kind; readonly retryAfterMillis?: number | undefined } | undefined)
    | undefined
}

/**
 * A dependency that does not take every call.
 *
 * **Details**
 *
 * - `held`: it asked to be left alone. `open`: it keeps failing. `ready-for-probe`: the next call is the probe.
 *   `probing`: that call is under way.
 * - `until`: of `held` and `open`, in milliseconds since 1970.
 *
 * @category models
 * @since 0.1.0
 */
export interface Standing {
  readonly dependency: string
  readonly status: "held" | "open" | "ready-for-probe" | "probing"
  readonly until?: number
}

/**
 * A dependency changed.
 *
 * **Details**
 *
 * - `status`: as in {@link Standing}, or `closed`: every call is let through. That a pause is over shows with the next call.
 * - `note`: one plain sentence that says what happened and why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly dependency: string
  readonly at: number
  readonly status: Standing["status"] | "closed"
  readonly until?: number
  readonly note: string
}

/**
 * What a dependency's breaker goes by.
 *
 * **Details**
 *
 * - `failures`: failures in a row that open it, a whole number >= 1. Default 5.
 * - `openFor`: how long it stays open when the failure does not say, > 0 and finite. Default 30 seconds.
 * - `longest`: the longest pause that a failure can ask for, > 0 and finite. Default 1 hour.
 * - `spacing`: time between the starts of two calls, >= 0 and finite. Default 0: no limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Settings {
  readonly failures?: number | undefined
  readonly openFor?: Duration.Input | undefined
  readonly longest?: Duration.Input | undefined
  readonly spacing?: Duration.Input | undefined
}

/**
 * {@link Settings} for all dependencies, and what differs for some of them by name.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends Settings {
  readonly dependencies?: Readonly<Record<string, Settings>> | undefined
}

const given = new Given("Dependency.make")

const settings: ReadonlyArray<keyof Settings> = ["failures", "openFor", "longest", "spacing"]

const millis = (name: string, input: Duration.Input, least: "zero" | "more"): number => {
  const value = Duration.toMillis(given.duration(name, input, least))
  if (!Number.isFinite(value)) throw new RangeError(`Dependency.make: ${name} must be finite, got ${show(input)}`)
  return value
}

const check = (settings: Settings, where = ""): Checked => {
  return {
    failures: given.whole(`failures${where}`, settings.failures ?? 5, 1),
    openMillis: millis(`openFor${where}`, settings.openFor ?? "30 seconds", "more"),
    longestMillis: millis(`longest${where}`, settings.longest ?? "1 hour", "more"),
    spacingMillis: millis(`spacing${where}`, settings.spacing ?? 0, "zero")
  }
}

/** Errors that were counted against a dependency; the outermost call that one went through is the last to say. */
const charged = new WeakMap<object, string>()

interface Judged {
  readonly verdict: Circuit.Verdict
  readonly error?: unknown
}

const judge = <A, E>(
  exit: Exit.Exit<A, E>,
  at: number,
  classify: CallOptions<E>["classify"],
  classifier: (error: unknown) => Failure.Kind | undefined
): Judged => {
  if (Exit.isSuccess(exit)) return { verdict: { _tag: "Answered" } }
  if (Cause.hasInterruptsOnly(exit.cause)) return { verdict: { _tag: "Nothing" } }
  const typed = new Map(exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => [error as unknown, error]))
  let asks: number | undefined
  const { error, kind } = Failure.classify(exit.cause, (error) => {
    const own = typed.has(error) ? classify?.(typed.get(error)!, at) : undefined
    if (own === undefined) return classifier(error)
    if (typeof own === "string") return own
    const { kind, retryAfterMillis } = own
    if (retryAfterMillis !== undefined && retryAfterMillis >= 0) asks ??= retryAfterMillis
    return kind
  })
  if (error instanceof DependencyOpen) return { verdict: { _tag: "Nothing" } }
  switch (kind) {
    case "capability":
    case "denied":
    case "oversized":
    case "malformed":
      return { verdict: { _tag: "Answered" } }
    case "exhausted":
      return { verdict: { _tag: "Nothing" } }
    case undefined:
      // A bug of the caller is no news of the dependency.
      return typed.has(error) ? { verdict: { _tag: "Failed" }, error } : { verdict: { _tag: "Nothing" } }
    case "transient": {
      const hint = Failure.retryAfterOf(error)
      asks ??= hint === undefined ? undefined : Duration.toMillis(hint)
      return { verdict: { _tag: "Failed", retryAfterMillis: asks }, error }
    }
  }
}

/**
 * Makes the service; at first every dependency takes every call.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option, and the dependency, when one is out of range, and when there is no such
 * option.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Dependency["Service"] => {
  given.record("options", options, [...settings, "dependencies"])
  const { dependencies = {}, ...shared } = options
  for (const [name, own] of Object.entries(given.record("dependencies", dependencies))) {
    given.record(`dependencies.${name}`, own, settings)
  }
  const all = check(shared)
  const some = new Map(
    Object.entries(dependencies).map(([name, own]) => [name, check({ ...shared, ...own }, ` of ${name}`)])
  )
  const thrown: Array<unknown> = []
  const listeners = new Listeners<Change>((error) => thrown.push(error))
  const gates = new Map<string, Gate>()
  let calls = 0

  const gateOf = (name: string): Gate => {
    let gate = gates.get(name)
    if (gate === undefined) gates.set(name, (gate = new Gate(name, some.get(name) ?? all, listeners)))
    return gate
  }

  const warn = Effect.suspend(() =>
    Effect.forEach(
      thrown.splice(0),
      (error) => tellWarning("Dependency: a listener threw and is not called again", error),
      { discard: true }
    )
  )

  return {
    call: (name, effect, options) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const gate = gateOf(name)
          const call = yield* gate.enter((calls += 1), restore)
          const exit = yield* Effect.exit(restore(effect))
          const at = yield* Clock.currentTimeMillis
          const { error, verdict } = judge(exit, at, options?.classify, yield* Failure.Classifier)
          if (Predicate.isObject(error)) charged.set(error, name)
          yield* gate.settle(at, call, verdict) // D3
          yield* warn
          return yield* exit
        })
      ),
    states: Effect.map(Clock.currentTimeMillis, (at) =>
      Array.from(gates.values()).flatMap((gate) => gate.standing(at) ?? [])
    ),
    changes: (listener) => listeners.add(listener)
  }
}

/**
 * Provides the service. What shares the layer shares the dependencies.
 *
 * **Gotchas**
 *
 * Throws the `RangeError` of {@link make}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options | undefined): Layer.Layer<Dependency> => {
  make(options)
  return Layer.sync(Dependency, () => make(options))
}

/**
 * Makes a call to a dependency.
 *
 * **Details**
 *
 * - `name`: as fine as what fails together: `"anthropic"`, `"anthropic/opus"`, `"anthropic/key-2"`.
 * - Fails with {@link DependencyOpen}, without running the effect, when the dependency is closed to callers.
 * - Otherwise ends as the effect does.
 *
 * @category operations
 * @since 0.1.0
 */
export const call = <A, E, R>(
  name: string,
  effect: Effect.Effect<A, E, R>,
  options?: CallOptions<E> | undefined
): Effect.Effect<A, E | DependencyOpen, R | Dependency> =>
  Effect.flatMap(Dependency, (dependency) => dependency.call(name, effect, options))

/** How many causes of an error are looked at. */
const deepest = 8

/**
 * The dependency whose failure an error is, or `undefined` when it is the worker's own.
 *
 * **Details**
 *
 * It is the dependency of a {@link DependencyOpen}, or the one against which the error, or the `cause` inside it, was
 * counted; of several calls around each other the outermost.
 *
 * **Gotchas**
 *
 * An error that is no object cannot be followed. One that is made once and failed with again and again stays charged: make
 * errors where they happen.
 *
 * @category accessors
 * @since 0.1.0
 */
export const blame = (error: unknown): string | undefined => {
  let each = error
  for (let depth = 0; depth < deepest && Predicate.isObject(each); depth++) {
    if (each instanceof DependencyOpen) return each.dependency
    const name = charged.get(each)
    if (name !== undefined) return name
    try {
      each = Predicate.hasProperty(each, "cause") ? each.cause : undefined
    } catch {
      return undefined // an error whose properties cannot be read says no more
    }
  }
  return undefined
}
