/**
 * What a protocol becomes: references whose methods send, and timers that send later.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Rpc from "effect/rpc/Rpc"
import * as RpcSchema from "effect/rpc/RpcSchema"

import { ActorCalledItself, ActorNotStarted, cheaply } from "./actorErrors.ts"
import { ActorMount, type Message } from "./actorMount.ts"
import { Control, StreamBuffer, Timeout } from "./annotations.ts"
import { Ask, Envelope } from "./envelope.ts"
import { showPath } from "./errors.ts"
import type { Mount } from "./mount.ts"
import { makerOf } from "./payload.ts"
import { Place, type Placed, shownAs } from "./place.ts"
import { consume, type StreamRpc } from "./replyStream.ts"
import { CurrentLife, CurrentNode } from "./runtime.ts"
import { type TimerSpec, timersOf, type TimerTable } from "./timers.ts"

const reserved = new Set(["tell", "tellUnsafe", "then", "constructor", "toString", "valueOf", "toJSON", "__proto__"])

export const check = (id: string, protocol: ReadonlyArray<Rpc.AnyWithProps>): void => {
  const seen = new Set<string>()
  for (const rpc of protocol) {
    const tag = rpc._tag
    if (reserved.has(tag)) throw new RangeError(`Actor.Service: ${id} must not have an rpc called ${tag}`)
    if (seen.has(tag)) throw new RangeError(`Actor.Service: ${id} has two rpcs called ${tag}`)
    seen.add(tag)
  }
}

const defaultBuffer = 16

export const streamsOf = (id: string, protocol: ReadonlyArray<Rpc.AnyWithProps>): ReadonlyArray<StreamRpc> =>
  protocol.filter(isStream).map((rpc) => {
    const own = Context.getOrUndefined(rpc.annotations as Context.Context<StreamBuffer>, StreamBuffer)
    const buffer = own ?? defaultBuffer
    if (!Number.isSafeInteger(buffer) || buffer < 1) {
      throw new RangeError(
        `Actor.Service: StreamBuffer of ${rpc._tag} of ${id} must be a whole number >= 1, got ${String(buffer)}`
      )
    }
    return { tag: rpc._tag, buffer }
  })

const isStream = (rpc: Rpc.AnyWithProps): boolean => RpcSchema.isStreamSchema(rpc.successSchema)

const defaultTimeout = 5_000

const millisOf = (timeout: Duration.Input): number => durationOf("Actor.Timeout:", timeout, false)

const isUrgent = (rpc: Rpc.AnyWithProps): boolean =>
  Context.getOrUndefined(rpc.annotations as Context.Context<Control>, Control) === true

/** Whether a fiber is, or may be, what its child must finish to be ready. */
const inInit = (fiber: Fiber.Fiber<unknown, unknown>): boolean => fiber.getRef(CurrentLife)?.ready !== true

/** A class of references for one protocol: methods are shared, a reference holds its mount alone. */
export const makeRef = (
  id: string,
  protocol: ReadonlyArray<Rpc.AnyWithProps>,
  messages: Map<string, Message>
): ((mount: ActorMount) => object) => {
  class Target implements Placed<ActorMount> {
    readonly [Place]: ActorMount
    constructor(mount: ActorMount) {
      this[Place] = mount
    }
  }
  shownAs(Target.prototype, function (this: Target) {
    return `Ref(${this[Place] === undefined ? "" : showPath(this[Place].path)})`
  })
  class Asks extends Target {}
  class Tells extends Target {}
  class UnsafeTells extends Target {}
  for (const rpc of protocol) {
    const tag = rpc._tag
    const make = makerOf(id, rpc)
    const own = Context.getOrUndefined(rpc.annotations as Context.Context<Timeout>, Timeout)
    const ownMillis = own === undefined ? defaultTimeout : millisOf(own)
    const urgent = isUrgent(rpc)
    const ask = (mount: ActorMount, payload: unknown) =>
      Effect.callback<unknown, unknown>((resume) => {
        const fiber = Fiber.getCurrent()!
        const asked = Context.getOrUndefined(fiber.context as Context.Context<Timeout>, Timeout)
        const millis = asked === undefined ? ownMillis : millisOf(asked)
        if (!mount.serving && inInit(fiber) && mount.waitsFor(fiber.getRef(CurrentNode) as Mount | undefined)) {
          return resume(Effect.fail(cheaply(() => new ActorNotStarted({ actor: mount.path, rpc: tag }))))
        }
        if (mount.isRunBy(fiber)) {
          return resume(Effect.fail(cheaply(() => new ActorCalledItself({ actor: mount.path, rpc: tag }))))
        }
        const envelope = new Ask(mount, tag, make(payload), fiber.cache.span, resume)
        if (urgent) mount.askFirst(envelope, millis)
        else mount.ask(envelope, millis)
        return Effect.sync(() => envelope.cancel())
      })
    if (isStream(rpc)) {
      define(Asks, tag, function (this: Target, payload: unknown) {
        return consume(ask(this[Place], payload))
      })
      continue
    }
    messages.set(tag, { make, urgent })
    define(Asks, tag, function (this: Target, payload: unknown) {
      return ask(this[Place], payload)
    })
    define(Tells, tag, function (this: Target, payload: unknown) {
      const mount = this[Place]
      return Effect.withFiber((fiber) => {
        const envelope = new Envelope(tag, make(payload), fiber.cache.span)
        if (urgent ? mount.tellFirst(envelope) : mount.tellUnsafe(envelope)) return Effect.void
        return Effect.callback<void>((resume) => {
          mount.tell(envelope, () => resume(Effect.void))
          return Effect.sync(() => envelope.cancel())
        })
      })
    })
    define(UnsafeTells, tag, function (this: Target, payload: unknown) {
      const envelope = new Envelope(tag, make(payload), undefined)
      const mount = this[Place]
      return urgent ? mount.tellFirst(envelope) : mount.tellUnsafe(envelope)
    })
  }
  lazily(Asks, "tell", (mount) => new Tells(mount))
  lazily(Asks, "tellUnsafe", (mount) => new UnsafeTells(mount))
  return (mount) => new Asks(mount)
}

const define = (on: { readonly prototype: object }, name: string, value: (payload: unknown) => unknown): void => {
  Object.defineProperty(on.prototype, name, { value, enumerable: true })
}

const lazily = (on: { readonly prototype: object }, name: string, make: (mount: ActorMount) => object): void => {
  Object.defineProperty(on.prototype, name, {
    get(this: Placed<ActorMount>) {
      const value = make(this[Place])
      Object.defineProperty(this, name, { value })
      return value
    }
  })
}

/** A class of timers for one protocol. */
export const makeTimers = (id: string, protocol: ReadonlyArray<Rpc.AnyWithProps>): Effect.Effect<object> => {
  class Timed {
    readonly table: TimerTable
    readonly key: string
    readonly millis: number
    readonly repeats: boolean
    constructor(table: TimerTable, key: string, millis: number, repeats: boolean) {
      this.table = table
      this.key = key
      this.millis = millis
      this.repeats = repeats
    }
  }
  for (const rpc of protocol) {
    if (isStream(rpc)) continue
    const urgent = isUrgent(rpc)
    const make = makerOf(id, rpc)
    define(Timed, rpc._tag, function (this: Timed, payload: unknown) {
      const { key, millis, repeats, table } = this
      return Effect.sync(() => {
        const spec: TimerSpec = { rpc: rpc._tag, payload: make(payload), urgent, millis, repeats }
        table.set(key, spec)
      })
    })
  }
  return Effect.withFiber((fiber) => {
    const mount = fiber.getRef(CurrentNode)
    const life = fiber.getRef(CurrentLife)
    if (!(mount instanceof ActorMount) || life === undefined || !mount.refs.has(id)) {
      return Effect.die(new TypeError(`${id}.timers: only the init of ${id} has them`))
    }
    const table = timersOf(mount, life)
    return Effect.succeed({
      after: (key: string, delay: Duration.Input) =>
        new Timed(table, key, durationOf("Timers.after: delay", delay, false), false),
      every: (key: string, period: Duration.Input) =>
        new Timed(table, key, durationOf("Timers.every: period", period, true), true),
      cancel: (key: string) => Effect.sync(() => table.cancel(key))
    })
  })
}

const durationOf = (what: string, input: Duration.Input, positive: boolean): number => {
  const duration = Duration.fromInput(input)
  // A Duration made of NaN is zero: nobody asked for that.
  const millis = duration._tag === "Some" && !Number.isNaN(input) ? Duration.toMillis(duration.value) : Number.NaN
  if (!(positive ? millis > 0 : millis >= 0)) {
    throw new RangeError(`${what} must be a duration ${positive ? ">" : ">="} 0, got ${String(input)}`)
  }
  return millis
}
