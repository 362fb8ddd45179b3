/**
 * The one way out for the calls of tools: who may go where, how often, for how long, and who has been switched off.
 *
 * A tool makes its outside call through {@link call}, or with the client of {@link httpClient}. Whether it may go out is decided
 * before anything leaves. Every call is logged, by the names of its tool and host, what came of it and how long it took; what it
 * was called with, and what it brought, is not. What went well is logged as `Debug`, what failed or was interrupted and each
 * switch as `Info`, what was refused or did not answer in time as a warning.
 *
 * | a call | fails with | which counts as |
 * |---|---|---|
 * | of a tool or to a host that is switched off | {@link GatewayOff} | `capability`: another worker may have another way |
 * | to a host where the tool may not go | {@link GatewayDenied} | `denied` |
 * | that does not get its turn | {@link GatewayBusy} | `transient` |
 * | that is not answered in time | {@link GatewayTimeout}, with the name of the tool | `transient` |
 * | to a host whose breaker is open | `DependencyOpen` of `host:NAME` | `transient` |
 *
 * **Details**
 *
 * - Tools and hosts are switched off and on while everything runs, with {@link switchOff} and {@link switchOn}. Calls that wait
 *   are refused then; those that are under way go on.
 * - A host is compared in small letters, without its port. A pattern is a host, or `*.example.com`: every host below that
 *   one. The settings of a host are those of the pattern that says the most of it; what fits one pattern shares its rate and
 *   its places. A call without a host goes by its tool alone.
 * - Rates are those of Effect's `RateLimiter`: the one around the layer, which processes can share, or one in memory.
 * - Where `Dependency` is around a call with a host, the call counts for the breaker of `host:NAME`.
 * - Redirects are followed by {@link httpClient} itself, each as a call of its own.
 *
 * **Invariants**
 *
 * - G1. Nothing leaves that is switched off, not listed, or above a rate.
 * - G2. An empty list of hosts means none, and so does a list that is missing for {@link httpClient}.
 * - G3. What waits is bounded in number and in time. A place is given back however a call ends.
 * - G4. A time-out interrupts the call, so that its connection is closed.
 *
 * **Gotchas**
 *
 * - Names are not resolved here: a listed name that leads to a private address gets there. Only names and addresses as they
 *   are written are judged.
 * - A client answers as soon as there are headers. What reads a body has to be inside a {@link call} to be under the time-out.
 * - A call that cannot be interrupted is waited for after its time-out.
 *
 * **Example** (A tool is switched off)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Gateway } from "espalier/agent"
 *
 * const search = Gateway.call({ tool: "search", host: "api.example.com" }, Effect.succeed("3 results"))
 *
 * const program = Effect.gen(function* () {
 *   const before = yield* search
 *   yield* Gateway.switchOff({ host: "*.example.com", by: "ann", why: "it is being attacked" })
 *   const after = yield* Effect.flip(search)
 *   return [before, after.message]
 * })
 *
 * await Effect.runPromise(Effect.provide(program, Gateway.layer()))
 * // => ["3 results", "the host api.example.com is switched off by ann: it is being attacked"]
 * ```
 *
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RateLimiter from "effect/persistence/RateLimiter"

import type * as Dependency from "../run/Dependency.ts"
import * as HttpFailure from "../run/HttpFailure.ts"
import type { GatewayBusy, GatewayDenied, GatewayOff, GatewayTimeout } from "./internal/gatewayErrors.ts"
import { Making } from "./internal/gatewayMaking.ts"
import { check } from "./internal/gatewaySettings.ts"

export { GatewayBusy, GatewayDenied, GatewayOff, GatewayTimeout } from "./internal/gatewayErrors.ts"

/**
 * Why a call of the gateway has not gone out, or has not come back in time.
 *
 * @category errors
 * @since 0.1.0
 */
export type GatewayError = GatewayOff | GatewayDenied | GatewayBusy | GatewayTimeout

/**
 * The gateway of a process, or of as much of it as is given the same layer.
 *
 * @category services
 * @since 0.1.0
 */
export class Gateway extends Context.Service<
  Gateway,
  {
    /**
     * See {@link call}.
     *
     * @since 0.1.0
     */
    readonly call: <A, E, R>(
      options: Call<E>,
      effect: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | GatewayError | Dependency.DependencyOpen, R>

    /**
     * See {@link switchOff}.
     *
     * @since 0.1.0
     */
    readonly switchOff: (options: Switch) => Effect.Effect<void>

    /**
     * See {@link switchOn}.
     *
     * @since 0.1.0
     */
    readonly switchOn: (options: Switch) => Effect.Effect<void>

    /**
     * See {@link state}.
     *
     * @since 0.1.0
     */
    readonly state: Effect.Effect<State>

    /**
     * Calls the listener with every change from now on, at once; the answer removes it. One that throws is not called
     * again, and the log says so.
     *
     * @since 0.1.0
     */
    readonly changes: (listener: (change: Change) => void) => () => void
  }
>()("espalier/agent/Gateway") {}

/**
 * One call.
 *
 * **Details**
 *
 * - `tool`: its name. `host`: where it goes, as the code of the tool knows it; refused where the tool has a list without it.
 *   Default: the call goes by its tool alone.
 * - `url`: where it goes, as somebody else has said; only to a host that is listed for the tool, by `http` or `https`. A
 *   private address has to be listed as it is, and not by a pattern. Instead of `host`.
 * - `timeout`: how long the call may take, > 0. Default: that of the tool. Waiting for its turn does not count.
 * - `classify`: what an error means for the breaker of the host; see `Dependency.CallOptions`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call<in E> {
  readonly tool: string
  readonly host?: string | undefined
  readonly url?: string | undefined
  readonly timeout?: Duration.Input | undefined
  readonly classify?: Dependency.CallOptions<E>["classify"]
}

/**
 * A tool, or hosts by a pattern, that somebody switches.
 *
 * @category models
 * @since 0.1.0
 */
export type Switch = (
  | { readonly tool: string; readonly host?: undefined }
  | { readonly host: string; readonly tool?: undefined }
) & { readonly by: string; readonly why: string }

/**
 * How often something may be called: `calls`, a whole number >= 1, in any time as long as `per`, > 0 and finite; at first all
 * of them at once.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rate {
  readonly calls: number
  readonly per: Duration.Input
}

/**
 * What holds for the calls of one tool.
 *
 * **Details**
 *
 * - `hosts`: where it may go, hosts and patterns; an empty list means nowhere. Default: wherever its code says, and to no `url`.
 * - `rate`: default none. `timeout`: of one call, > 0. Default: that of the gateway.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolSettings {
  readonly hosts?: ReadonlyArray<string> | undefined
  readonly rate?: Rate | undefined
  readonly timeout?: Duration.Input | undefined
}

/**
 * What holds for the calls to a host, or to the hosts of a pattern together.
 *
 * **Details**
 *
 * - `rate`: default none.
 * - `concurrency`: calls that are under way at once, a whole number >= 1. `queue`: calls that may wait, a whole number >= 1.
 *   Defaults: those of the gateway.
 *
 * @category models
 * @since 0.1.0
 */
export interface HostSettings {
  readonly rate?: Rate | undefined
  readonly concurrency?: number | undefined
  readonly queue?: number | undefined
}

/**
 * What a gateway goes by.
 *
 * **Details**
 *
 * - `tools`, `hosts`: settings by name, and by host or pattern. Default none.
 * - `off`: what is switched off from the beginning. Default nothing.
 * - `timeout`: of one call, > 0. Default 60 seconds.
 * - `wait`: how long a call may wait for its turn, > 0. Default 60 seconds.
 * - `concurrency`: calls that are under way at once to one host, or of one tool where there is no host, a whole number >= 1.
 *   Default 8. `queue`: calls that may wait there, a whole number >= 1. Default 100.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly tools?: Readonly<Record<string, ToolSettings>> | undefined
  readonly hosts?: Readonly<Record<string, HostSettings>> | undefined
  readonly off?: ReadonlyArray<Switch> | undefined
  readonly timeout?: Duration.Input | undefined
  readonly wait?: Duration.Input | undefined
  readonly concurrency?: number | undefined
  readonly queue?: number | undefined
}

/**
 * Something happened at the gateway.
 *
 * **Details**
 *
 * - `reason`: of a refusal: the tag of its error. `note`: one plain sentence that says what happened and why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly _tag: "SwitchedOff" | "SwitchedOn" | "Refused"
  readonly at: number
  readonly tool?: string
  readonly host?: string
  readonly by?: string
  readonly reason?: string
  readonly note: string
}

/**
 * What has become of the calls of a tool, or of those to a host.
 *
 * **Details**
 *
 * - `calls`: that have gone out. `refused`: that have not. `failed`: that have ended with an error, a time-out or an
 *   interruption; `timedOut`: with a time-out.
 * - `underWay`, `waiting`: now.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counts {
  readonly name: string
  readonly calls: number
  readonly refused: number
  readonly failed: number
  readonly timedOut: number
  readonly underWay: number
  readonly waiting: number
}

/**
 * How a gateway stands: what is switched off, and what was counted, of at most 1000 tools and 1000 hosts.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly off: ReadonlyArray<Switch & { readonly at: number }>
  readonly tools: ReadonlyArray<Counts>
  readonly hosts: ReadonlyArray<Counts>
}

/**
 * Provides the gateway. What shares the layer shares its rates, its places and its switches.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is out of range, when a host or a pattern is none, and when there is no
 * such option.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Gateway> => {
  const settings = check(options)
  return Layer.effect(
    Gateway,
    Effect.gen(function* () {
      const around = yield* Effect.serviceOption(RateLimiter.RateLimiter)
      const limiter = Option.isSome(around)
        ? around.value
        : yield* Effect.provide(RateLimiter.make, RateLimiter.layerStoreMemory)
      const making = new Making(settings, limiter, yield* Clock.currentTimeMillis)
      return {
        call: (options, effect) => making.call(options, effect),
        switchOff: (options) => making.switchOff(options),
        switchOn: (options) => making.switchOn(options),
        state: Effect.sync(() => making.state),
        changes: (listener) => making.listeners.add(listener)
      }
    })
  )
}

/**
 * Makes an outside call of a tool, when it may go out and it is its turn.
 *
 * @category operations
 * @since 0.1.0
 */
export const call = <A, E, R>(
  options: Call<E>,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | GatewayError | Dependency.DependencyOpen, R | Gateway> =>
  Effect.flatMap(Gateway, (gateway) => gateway.call(options, effect))

/**
 * Switches a tool, or the hosts of a pattern, off. Calls that are under way go on.
 *
 * **Details**
 *
 * - `by`, `why`: who does it and for what reason, in at most 500 characters. Whoever is refused is told.
 * - What is off already has the new reason.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for a host that is none, and for a text that is empty.
 *
 * @category operations
 * @since 0.1.0
 */
export const switchOff = (options: Switch): Effect.Effect<void, never, Gateway> =>
  Effect.flatMap(Gateway, (gateway) => gateway.switchOff(options))

/**
 * Switches on what was switched off, by the same tool, host or pattern. Anything else stays as it is.
 *
 * @category operations
 * @since 0.1.0
 */
export const switchOn = (options: Switch): Effect.Effect<void, never, Gateway> =>
  Effect.flatMap(Gateway, (gateway) => gateway.switchOn(options))

/**
 * How the gateway stands.
 *
 * @category accessors
 * @since 0.1.0
 */
export const state: Effect.Effect<State, never, Gateway> = Effect.flatMap(Gateway, ({ state }) => state)

/**
 * The client of a tool.
 *
 * @category models
 * @since 0.1.0
 */
export interface Client extends HttpClient.HttpClient.With<
  HttpClientError.HttpClientError | GatewayError | Dependency.DependencyOpen
> {}

/** The most redirects that are followed. */
const mostRedirects = 5

/** A response that says that its host has trouble, on its way past the breaker. */
class Troubled {
  readonly response: HttpClientResponse.HttpClientResponse

  constructor(response: HttpClientResponse.HttpClientResponse) {
    this.response = response
  }
}

/**
 * The client of a tool: the `HttpClient` around, of which each request is a call of the gateway.
 *
 * **Details**
 *
 * - The host is that of the URL, and has to be listed for the tool (`hosts`).
 * - At most 5 redirects are followed, each as a call of its own: to a host where the tool may not go it fails. What comes
 *   after is the answer itself.
 * - From the first redirect to another origin on, only the headers `accept`, `accept-*`, `content-type`, `content-length` and
 *   `user-agent` are sent: keys go to nobody whom the caller has not named, whatever their headers are called.
 * - An answer of 429 or of 500 and more counts as a failure for the breaker of its host, and is an answer all the same.
 * - Requests have the span of the gateway, without the URL, and carry no trace to the other side.
 *
 * **Gotchas**
 *
 * - A client other than that of `fetch` must not follow redirects by itself.
 * - A key in a URL or in a body is no header: a redirect by 307 or 308 sends the body again, to whom it says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const httpClient = (tool: string): Effect.Effect<Client, never, Gateway | HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const gateway = yield* Gateway
    const client = yield* HttpClient.HttpClient
    const guarded: Client = HttpClient.transform(client, (effect, request) => {
      const sent = Effect.filterOrFail(
        byHand(effect),
        ({ status }) => status !== 429 && status < 500,
        (response) => new Troubled(response)
      )
      const classify = (error: unknown, at: number) =>
        error instanceof Troubled ? HttpFailure.classify(error.response, at) : undefined
      return Effect.catchIf(
        gateway.call({ tool, url: request.url, classify }, sent),
        (error): error is Troubled => error instanceof Troubled,
        ({ response }) => Effect.succeed(response)
      )
    })
    return HttpClient.makeWith(
      (request) =>
        Effect.flatMap(request, (first) => {
          const leaves = leaving(first)
          const careful: Client = HttpClient.makeWith(
            (next) => guarded.postprocess(Effect.map(next, (sent) => (leaves(sent) ? withoutKeys(sent) : sent))),
            guarded.preprocess
          )
          return HttpClient.followRedirects(careful, mostRedirects).postprocess(Effect.succeed(first))
        }),
      guarded.preprocess
    )
  })

const originOf = (request: HttpClientRequest.HttpClientRequest): string | undefined => URL.parse(request.url)?.origin

/** Whether the requests that follow a first one have left its origin. Coming back changes nothing: others led there. */
const leaving = (first: HttpClientRequest.HttpClientRequest) => {
  const origin = originOf(first)
  let left = false
  return (request: HttpClientRequest.HttpClientRequest): boolean => {
    left ||= originOf(request) !== origin
    return left
  }
}

const harmless = /^(?:accept(?:-.*)?|content-type|content-length|user-agent)$/

const withoutKeys = (request: HttpClientRequest.HttpClientRequest): HttpClientRequest.HttpClientRequest =>
  Object.keys(request.headers)
    .filter((name) => !harmless.test(name))
    .reduce((kept, name) => HttpClientRequest.removeHeader(kept, name), request)

/** Sends a request without following redirects, and without a span that has its URL. */
const byHand = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const init = Context.getOrUndefined(
      context as Context.Context<FetchHttpClient.RequestInit>,
      FetchHttpClient.RequestInit
    )
    return effect.pipe(
      Effect.provideService(FetchHttpClient.RequestInit, { ...init, redirect: "manual" }),
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
    ) as Effect.Effect<A, E, R>
  })
