/**
 * What a model may call, and on what terms: Effect's tools with a handler, a risk class and a gate each.
 *
 * The scope of an agent is fixed when it is made. A call of anything else is refused, recorded and counted; there is no
 * way to widen a scope from a prompt. A tool that is in scope is called by its worker through `Effects.perform`, so it is done once, its gate is
 * looked at first, and people are asked where that says so.
 *
 * **Details**
 *
 * | what a model asks for | what becomes of it |
 * |---|---|
 * | a tool that is not in scope | refused, and counted; the third refusal ends the order as `denied` |
 * | a tool with arguments that do not fit | refused, told what is wrong; counted for that tool |
 * | a tool whose gate says deny | refused, and counted |
 * | a tool whose gate or risk says ask | the order waits for a person |
 * | anything else | done, and its result held against the tool's schema |
 *
 * **Invariants**
 *
 * - S1. A scope is never changed. What a name means is looked up among its own entries only; an empty scope has none.
 * - S2. An approval is for one definition of a tool: its name, description and schemas are part of its version.
 *
 * **Gotchas**
 *
 * A tool without `idempotent` is done once for its task: a second order that asks for the same with the same arguments gets what
 * came of the first. One that only looks something up has to say so, by `Tool.Readonly`, `Tool.Idempotent` or `idempotent`.
 *
 * **Example** (A scope of one tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool } from "effect/ai"
 * import { ToolScope } from "espalier/agent"
 *
 * const Search = Tool.make("search", {
 *   description: "Searches the notes",
 *   parameters: Schema.Struct({ query: Schema.String }),
 *   success: Schema.Array(Schema.String)
 * }).annotate(Tool.Readonly, true)
 *
 * const scope = ToolScope.make([
 *   ToolScope.tool(Search, { handle: ({ query }) => Effect.succeed([`a note about ${query}`]) })
 * ])
 * scope.names // => ["search"]
 * ToolScope.get(scope, "constructor") // => undefined
 * ```
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type * as Autonomy from "../run/Autonomy.ts"
import { Given } from "../run/internal/given.ts"
import type { Problem } from "../run/internal/problems.ts"
import type * as ToolGate from "../run/ToolGate.ts"
import type * as Worker from "../run/Worker.ts"
import type { Gateway } from "./Gateway.ts"
import { reserved } from "./internal/endings.ts"
import { entryOf, given, TypeId } from "./internal/entries.ts"

/**
 * What a handler is told of its call.
 *
 * **Details**
 *
 * - `key`: the same whenever the same call is made again, for a receiver that knows keys. `call`: as the model named it.
 * - `order`: whose it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Called {
  readonly key: string
  readonly call: string
  readonly order: Worker.Order
}

/**
 * The terms of a tool.
 *
 * **Details**
 *
 * - `handle`: does it, with arguments as the tool's schema decodes them.
 * - `risk`, `irreversible`, `gate`, `editable`, `describe`: as in `Worker.Tool`. Defaults `"low"`, false, `"never"`, none, none. A
 *   tool of Effect's that `needsApproval` always is asked about always; one that decides by a function needs a `gate` instead.
 *   One that is `irreversible` is asked about at every tier: a gate that answers `"allow"` changes nothing then.
 * - `idempotent`: whether calling it again under the same key does no harm. Default: as the tool is annotated (`Tool.Readonly`,
 *   `Tool.Idempotent`).
 * - `parallel`: whether it may be called beside others of the same turn. Default: whether it is annotated `Tool.Readonly`.
 * - `timeout`: of one call, > 0 and finite. Default 60 seconds.
 * - `onFailure`: `"return"` tells the model what went wrong, `"fail"` ends the order, as a `capability` where the error has no kind
 *   of its own. Default `"return"`.
 * - `recorded`: `"call"` has each call done once and its result recorded. With `"handler"` the handler records itself what it
 *   does, and is called again when its order is given again, as those of `Memory` are; such a tool has no gate and no risk.
 *   Default `"call"`.
 * - `host`: the host that it talks to. Its calls need the `Gateway` then, which limits them by host. Default: none; where there is a
 *   gateway its calls go through it all the same, and can be limited and switched off by the name of the tool.
 * - `version`: of what it does, beside its definition. Default `"1"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<Params, Success, E, R> {
  readonly handle: (params: Params, called: Called) => Effect.Effect<Success, E, R>
  readonly risk?: Autonomy.Risk | undefined
  readonly irreversible?: boolean | undefined
  readonly gate?: "always" | "never" | ((params: Params) => ToolGate.Verdict) | undefined
  readonly editable?: ReadonlyArray<string> | undefined
  readonly describe?: ((params: Params) => string) | undefined
  readonly idempotent?: boolean | undefined
  readonly parallel?: boolean | undefined
  readonly timeout?: Duration.Input | undefined
  readonly onFailure?: "return" | "fail" | undefined
  readonly recorded?: "call" | "handler" | undefined
  readonly host?: string | undefined
  readonly version?: string | undefined
}

/**
 * A tool in scope.
 *
 * **Details**
 *
 * - `worker`: as it is declared to the run. `fingerprint`: of its definition.
 * - `read`: arguments as a model gives them, decoded, or what is wrong with them. `encode`: a result as plain JSON. `result`: a schema of
 *   results as they are recorded, which what a person says of one has to fit, too.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry<out R = unknown> {
  readonly [TypeId]: "entry"
  readonly tool: Tool.Any
  readonly name: string
  readonly fingerprint: string
  readonly worker: Worker.Tool
  readonly idempotent: boolean
  readonly parallel: boolean
  readonly timeout: Duration.Duration
  readonly onFailure: "return" | "fail"
  readonly recorded: "call" | "handler"
  readonly host: string | undefined
  readonly read: (params: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly encode: (result: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly result: Schema.Codec<Schema.Json, Schema.Json>
  readonly handle: (params: unknown, called: Called) => Effect.Effect<unknown, unknown, R>
}

/**
 * The tools that one agent may call. `R` is what their handlers need.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolScope<out R = never> {
  readonly [TypeId]: "scope"
  readonly names: ReadonlyArray<string>
  readonly entries: ReadonlyMap<string, Entry<R>>
}

/**
 * Puts a tool into scope.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is not what it can be; when the tool is one that a provider executes by
 * itself, which no gate could hold back; and when its name has other characters than letters, digits, `_` and `-`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const tool: {
  <T extends Tool.Any, E, R>(
    tool: T,
    options: Options<Tool.Parameters<T>, Tool.Success<T>, E, R> & { readonly host: string }
  ): Entry<R | Gateway>
  <T extends Tool.Any, E, R>(
    tool: T,
    options: Options<Tool.Parameters<T>, Tool.Success<T>, E, R> & { readonly host?: undefined }
  ): Entry<R>
} = <T extends Tool.Any, E, R>(tool: T, options: Options<Tool.Parameters<T>, Tool.Success<T>, E, R>): Entry<R> => {
  const { name } = tool
  if (reserved.has(name)) given.refuse("name", `another name than ${[...reserved].join(", ")}`, name)
  return entryOf(tool, options)
}

const scopes = new Given("ToolScope.make")

/**
 * Makes a scope. Nothing is in it but what is given here.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when something is not made by {@link tool}, and when two have the same name.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <R = never>(entries: ReadonlyArray<Entry<R>>): ToolScope<R> => {
  const list = scopes.list("entries", entries) as ReadonlyArray<Entry<R>>
  list.forEach((entry, index) => {
    scopes.made(`entries[${index}]`, "made by ToolScope.tool", isEntry(entry), entry)
  })
  const names = scopes.names(
    "entries",
    list.map(({ name }) => name)
  )
  return { [TypeId]: "scope", names: [...names], entries: new Map(list.map((entry) => [entry.name, entry])) }
}

const isEntry = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (value as { readonly [TypeId]?: unknown })[TypeId] === "entry"

/**
 * A scope with no tools.
 *
 * @category constructors
 * @since 0.1.0
 */
export const empty: ToolScope = make([])

/**
 * The entry of a name, if it is in scope. Names are what they are: nothing is looked up elsewhere.
 *
 * @category accessors
 * @since 0.1.0
 */
export const get = <R>({ entries }: ToolScope<R>, name: string): Entry<R> | undefined => entries.get(name)

/**
 * Whether a value is a scope.
 *
 * @category guards
 * @since 0.1.0
 */
export const isToolScope = (value: unknown): value is ToolScope<unknown> =>
  typeof value === "object" && value !== null && (value as { readonly [TypeId]?: unknown })[TypeId] === "scope"
