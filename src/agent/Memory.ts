/**
 * What an agent keeps outside of its window: plain JSON by key, as of what the journal has recorded.
 *
 * Each change is an effect of its order (`Effects`): it is in the journal before anybody sees it. An order that is given again, in
 * another process or after a crash, makes the same changes and finds exactly what it had.
 *
 * **Details**
 *
 * - A memory belongs to one order. Other tasks and runs have their own, whatever the agent is called. Only what is declared to be
 *   shared is: by a `namespace` in a {@link Store}. Such a memory sees what others have put there as it was when it was first
 *   read by this order, and its own changes on top of it.
 * - A key is 1 to 128 letters, digits and any of `_ . : / -`, beginning with a letter or a digit. A value takes at most 64 KiB of
 *   JSON. An order puts at most 1,000 keys.
 * - Changes are made one after the other, in the order in which they were asked for.
 *
 * **Gotchas**
 *
 * - A worker that declares its tools declares {@link effects} among them: it may perform nothing else.
 * - The {@link tools} record what they do themselves. Their handlers are called again when their order is given again, or the
 *   memory would be empty: do not perform a call of them as an effect.
 * - Values are written into the journal as they are: no secrets in them. What a model has put there is as untrusted as the model.
 *
 * **Example** (An order that is given again finds what it had)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Effects } from "espalier/run"
 * import { Memory } from "espalier/agent"
 *
 * const order = Effect.gen(function* () {
 *   const memory = yield* Memory.make()
 *   yield* memory.put("ship/name", "Vasa")
 *   yield* memory.put("ship/year", 1628)
 *   return yield* memory.list("ship/")
 * })
 *
 * const program = Effect.all([order, order]).pipe(Effect.provide(Effects.layerMemory()))
 * await Effect.runPromise(program) // => [["ship/name", "ship/year"], ["ship/name", "ship/year"]]
 * ```
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"

import * as Failure from "../Failure.ts"
import type * as Autonomy from "../run/Autonomy.ts"
import * as Effects from "../run/Effects.ts"
import { canonical } from "../run/internal/canonical.ts"
import { Given } from "../run/internal/given.ts"
import { owned, tooMuch } from "../run/internal/plain.ts"
import { many } from "../run/internal/problems.ts"
import type * as Worker from "../run/Worker.ts"

/** What one order may keep. */
const limits = { keys: 1000, value: 64 * 1024, listed: 100 } as const

const pattern = /^[A-Za-z0-9][\w.:/-]{0,127}$/

const named = "1 to 128 letters, digits and any of _ . : / -, beginning with a letter or a digit"

const kinds = { key: "malformed", value: "malformed", full: "exhausted" } as const

/**
 * A memory does not take what it was given.
 *
 * **Details**
 *
 * - `reason`: `key` and `value` for what cannot be one, which count as `malformed`; `full` when there are too many keys, which
 *   counts as `exhausted`.
 * - `detail`: what is expected.
 *
 * @category errors
 * @since 0.1.0
 */
export class MemoryError extends Schema.TaggedError<MemoryError>("espalier/agent/Memory/MemoryError")("MemoryError", {
  reason: Schema.Literals(["key", "value", "full"]),
  detail: Schema.String
}) {
  get [Failure.kind](): Failure.Kind {
    return kinds[this.reason]
  }

  override get message(): string {
    return `the memory does not take it: ${this.detail}`
  }
}

/**
 * One change.
 *
 * @category models
 * @since 0.1.0
 */
export type Change =
  | { readonly _tag: "Put"; readonly key: string; readonly value: Schema.Json }
  | { readonly _tag: "Remove"; readonly key: string }

/**
 * What an order has changed so far. `removed`: keys that it has removed, and not put again.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly entries: ReadonlyMap<string, Schema.Json>
  readonly removed: ReadonlySet<string>
}

/**
 * Nothing yet.
 *
 * @category states
 * @since 0.1.0
 */
export const empty: State = { entries: new Map(), removed: new Set() }

const keyProblem = (key: unknown): MemoryError | undefined =>
  typeof key === "string" && pattern.test(key)
    ? undefined
    : new MemoryError({ reason: "key", detail: `a key must be ${named}` })

/**
 * The state after a change, or why there is none.
 *
 * @category states
 * @since 0.1.0
 */
export const apply = (state: State, change: Change): Result.Result<State, MemoryError> => {
  const { key } = change
  const wrong = keyProblem(key)
  if (wrong !== undefined) return Result.fail(wrong)
  const entries = new Map(state.entries)
  const removed = new Set(state.removed)
  if (change._tag === "Remove") {
    entries.delete(key)
    return Result.succeed({ entries, removed: removed.add(key) })
  }
  const own = owned(change.value, "value")
  const problem = Result.isFailure(own) ? own.failure : tooMuch(own.success, "value", limits.value)
  if (Result.isFailure(own) || problem !== undefined) {
    return Result.fail(new MemoryError({ reason: "value", detail: `${problem?.path} ${problem?.expectation}` }))
  }
  if (!entries.has(key) && entries.size >= limits.keys) {
    return Result.fail(new MemoryError({ reason: "full", detail: `it has ${many(limits.keys, "key")} already` }))
  }
  removed.delete(key)
  return Result.succeed({ entries: entries.set(key, own.success), removed })
}

/**
 * Where memories that are shared are kept.
 *
 * **Details**
 *
 * - `put` and `remove` may be called again with the same, and do no harm then.
 * - A failure means that nothing was changed; its kind says whether it is worth another try.
 *
 * @category models
 * @since 0.1.0
 */
export interface Store {
  readonly get: (namespace: string, key: string) => Effect.Effect<Option.Option<Schema.Json>, Failure.Failure>
  readonly list: (namespace: string) => Effect.Effect<ReadonlyArray<string>, Failure.Failure>
  readonly put: (namespace: string, key: string, value: Schema.Json) => Effect.Effect<void, Failure.Failure>
  readonly remove: (namespace: string, key: string) => Effect.Effect<void, Failure.Failure>
}

/**
 * A store that lives as long as the process, such as for tests.
 *
 * @category stores
 * @since 0.1.0
 */
export const storeMemory: Effect.Effect<Store> = Effect.sync(() => {
  const spaces = new Map<string, Map<string, Schema.Json>>()
  const space = (namespace: string): Map<string, Schema.Json> => {
    const known = spaces.get(namespace) ?? new Map<string, Schema.Json>()
    spaces.set(namespace, known)
    return known
  }
  return {
    get: (namespace, key) => Effect.sync(() => Option.fromUndefinedOr(space(namespace).get(key))),
    list: (namespace) => Effect.sync(() => [...space(namespace).keys()]),
    put: (namespace, key, value) => Effect.sync(() => void space(namespace).set(key, value)),
    remove: (namespace, key) => Effect.sync(() => void space(namespace).delete(key))
  }
})

/**
 * How a memory can fail: it does not take what it was given, its effect is not performed, or the store that it shares failed.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failed = MemoryError | Effects.EffectError | Failure.Failure

/**
 * What {@link Memory} does.
 *
 * **Details**
 *
 * - `get`: the value of a key. `list`: the keys that begin with `prefix`, sorted. Default all.
 * - `put`, `remove`: recorded when they are done. To remove what is not there does nothing more.
 *
 * @category models
 * @since 0.1.0
 */
export interface Service {
  readonly get: (key: string) => Effect.Effect<Option.Option<Schema.Json>, Failed>
  readonly list: (prefix?: string) => Effect.Effect<ReadonlyArray<string>, Failed>
  readonly put: (key: string, value: Schema.Json) => Effect.Effect<void, Failed>
  readonly remove: (key: string) => Effect.Effect<void, Failed>
}

/**
 * The memory of an order.
 *
 * @category services
 * @since 0.1.0
 */
export class Memory extends Context.Service<Memory, Service>()("espalier/agent/Memory") {}

/**
 * What a memory shares with other tasks. Default nothing.
 *
 * **Details**
 *
 * - `namespace`: under which it is shared, written like a key. Whoever may read it is given the same one: put the tenant in it.
 * - `store`: where it is kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly namespace: string
  readonly store: Store
}

const Entry = Schema.Union([Schema.Null, Schema.Struct({ value: Schema.Json })])
const Keys = Schema.Array(Schema.String)
const Nothing = Schema.Null

/** The memory of one order. */
class OfOrder implements Service {
  private state = empty
  /** How often each change was made, so that it has a key of its own each time. */
  private readonly times = new Map<string, number>()
  private readonly turn = Semaphore.makeUnsafe(1)
  private readonly effects: Effects.Service
  private readonly shared: Options | undefined

  constructor(effects: Effects.Service, shared: Options | undefined) {
    this.effects = effects
    this.shared = shared
  }

  /** Performs it once, as an effect of this order alone: another one of the same task reads and writes anew. */
  private perform<A>(
    options: Pick<Effects.Options<A>, "args" | "name" | "occurrence"> & {
      readonly schema: Schema.Codec<A, unknown>
      readonly run: () => Effect.Effect<A, Failure.Failure>
    }
  ): Effect.Effect<A, Effects.EffectError | Failure.Failure> {
    return Effect.provideService(
      Effects.perform({ ...options, per: "dispatch", idempotent: true }),
      Effects.Effects,
      this.effects
    )
  }

  private args(of: { readonly [name: string]: Schema.Json }): Schema.Json {
    return this.shared === undefined ? of : { namespace: this.shared.namespace, ...of }
  }

  get(key: string): Effect.Effect<Option.Option<Schema.Json>, Failed> {
    return Effect.suspend((): Effect.Effect<Option.Option<Schema.Json>, Failed> => {
      const wrong = keyProblem(key)
      if (wrong !== undefined) return Effect.fail(wrong)
      const { entries, removed } = this.state
      const own = entries.get(key)
      if (own !== undefined) return Effect.succeedSome(own)
      const { shared } = this
      if (shared === undefined || removed.has(key)) return Effect.succeedNone
      const found = this.perform({
        name: "memory.get",
        args: this.args({ key }),
        schema: Entry,
        run: () =>
          Effect.map(shared.store.get(shared.namespace, key), (value) =>
            Option.isSome(value) ? { value: value.value } : null
          )
      })
      return Effect.map(found, (entry) => (entry === null ? Option.none() : Option.some(entry.value)))
    })
  }

  list(prefix = ""): Effect.Effect<ReadonlyArray<string>, Failed> {
    return Effect.suspend((): Effect.Effect<ReadonlyArray<string>, Failed> => {
      const { shared } = this
      const there =
        shared === undefined
          ? Effect.succeed<ReadonlyArray<string>>([])
          : this.perform({
              name: "memory.list",
              args: this.args({}),
              schema: Keys,
              run: () => shared.store.list(shared.namespace)
            })
      return Effect.map(there, (keys) => {
        const { entries, removed } = this.state
        const all = new Set([...keys.filter((key) => !removed.has(key)), ...entries.keys()])
        return [...all].filter((key) => key.startsWith(prefix)).toSorted()
      })
    })
  }

  put(key: string, value: Schema.Json): Effect.Effect<void, Failed> {
    return this.change({ _tag: "Put", key, value })
  }

  remove(key: string): Effect.Effect<void, Failed> {
    return this.change({ _tag: "Remove", key })
  }

  private change(change: Change): Effect.Effect<void, Failed> {
    const { shared } = this
    const { key } = change
    const make = Effect.suspend((): Effect.Effect<void, Failed> => {
      const next = apply(this.state, change)
      if (Result.isFailure(next)) return Effect.fail(next.failure)
      const value = change._tag === "Put" ? next.success.entries.get(key) : undefined
      const args = this.args(value === undefined ? { key } : { key, value })
      const name = change._tag === "Put" ? "memory.put" : "memory.remove"
      const same = canonical([name, args])
      const occurrence = this.times.get(same) ?? 0
      this.times.set(same, occurrence + 1)
      const run = (): Effect.Effect<null, Failure.Failure> => {
        if (shared === undefined) return Effect.succeed(null)
        const { namespace, store } = shared
        return Effect.as(value === undefined ? store.remove(namespace, key) : store.put(namespace, key, value), null)
      }
      return Effect.uninterruptibleMask((restore) =>
        Effect.map(restore(this.perform({ name, args, occurrence, schema: Nothing, run })), () => {
          this.state = next.success
        })
      )
    })
    return this.turn.withPermit(make)
  }
}

/**
 * The memory of the order in which this is called. It is empty, until the order has done again what it did before.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (shared?: Options): Effect.Effect<Service, never, Effects.Effects> => {
  if (shared !== undefined) {
    const given = new Given("Memory.make")
    given.record("options", shared, ["namespace", "store"])
    if (!(typeof shared.namespace === "string" && pattern.test(shared.namespace))) {
      given.refuse("namespace", named, shared.namespace)
    }
    given.record("store", shared.store)
  }
  return Effect.map(Effects.Effects, (effects) => new OfOrder(effects, shared))
}

/**
 * The memory of the order in which this is provided.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (shared?: Options): Layer.Layer<Memory, never, Effects.Effects> =>
  Layer.effect(Memory, make(shared))

/**
 * What a worker declares that keeps things in a memory, and declares its tools.
 *
 * @category workers
 * @since 0.1.0
 */
export const effects: ReadonlyArray<Worker.Tool> = ["memory.get", "memory.list", "memory.put", "memory.remove"].map(
  (name) => ({ name, idempotent: true, risk: "low" })
)

/**
 * A tool for a model, with what it does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handled<T extends Tool.Any> {
  readonly tool: T
  readonly handle: (params: Tool.Parameters<T>) => Effect.Effect<Tool.Success<T>, Failed, Memory>
  readonly risk: Autonomy.Risk
  readonly idempotent: boolean
}

const Key = Schema.String.annotate({ description: `The key: ${named}` })

const Get = Tool.make("memory_get", {
  description: "Reads what was kept under a key.",
  parameters: Schema.Struct({ key: Key }),
  success: Schema.Struct({ found: Schema.Boolean, value: Schema.Json }),
  failure: MemoryError,
  failureMode: "return"
}).annotate(Tool.Readonly, true)

const Put = Tool.make("memory_put", {
  description: "Keeps a value under a key, so that it can be read later. What was there before is replaced.",
  parameters: Schema.Struct({
    key: Key,
    value: Schema.Json.annotate({ description: "What to keep: any JSON value of at most 64 KiB" })
  }),
  success: Schema.Struct({ kept: Schema.String }),
  failure: MemoryError,
  failureMode: "return"
}).annotate(Tool.Idempotent, true)

const List = Tool.make("memory_list", {
  description: `Lists the keys under which something is kept, at most ${limits.listed} of them.`,
  parameters: Schema.Struct({
    prefix: Schema.optionalKey(Schema.String.annotate({ description: "What the keys begin with. Default: all keys" }))
  }),
  success: Schema.Struct({ keys: Schema.Array(Schema.String), total: Schema.Finite }),
  failure: MemoryError,
  failureMode: "return"
}).annotate(Tool.Readonly, true)

const handled = <T extends Tool.Any>(tool: T, handle: Handled<T>["handle"]): Handled<T> => ({
  tool,
  handle,
  risk: "low",
  idempotent: true
})

/**
 * The tools by which a model reads and writes its memory: `memory_get`, `memory_put`, `memory_list`.
 *
 * @category tools
 * @since 0.1.0
 */
export const tools: {
  readonly get: Handled<typeof Get>
  readonly put: Handled<typeof Put>
  readonly list: Handled<typeof List>
} = {
  get: handled(Get, ({ key }) =>
    Effect.map(
      Effect.flatMap(Memory, (memory) => memory.get(key)),
      (value) => ({ found: Option.isSome(value), value: Option.getOrNull(value) })
    )
  ),
  put: handled(Put, ({ key, value }) =>
    Effect.as(
      Effect.flatMap(Memory, (memory) => memory.put(key, value)),
      { kept: key }
    )
  ),
  list: handled(List, ({ prefix }) =>
    Effect.map(
      Effect.flatMap(Memory, (memory) => memory.list(prefix)),
      (keys) => ({ keys: keys.slice(0, limits.listed), total: keys.length })
    )
  )
}
