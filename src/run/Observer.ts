/**
 * Whoever sees runs as they go: what was written of them, and what is being worked on.
 *
 * An observer changes nothing. What it throws is told once and counts for nothing, what it answers with is only written
 * down, and a run without observers does no work for them.
 *
 * **Details**
 *
 * - Each process that does something with a run attends to it: to carry it out, or to write what somebody has said. It
 *   recalls what the journal has, and then sees what is written from here on.
 * - What is recalled has been seen before, perhaps by another process: an observer learns from it, and tells nobody.
 *
 * **Invariants**
 *
 * - O1. `happened` sees each event once it is in the journal, in order, and before any work that it begins.
 * - O2. `recall` and `happened` together see the events of the journal without a gap.
 *
 * **Gotchas**
 *
 * - What is put around work takes the time that it takes: work is over when that is. What interrupts the work (a time limit, a
 *   race) has interrupted it.
 *
 * **Example** (Counting what happens, and not what is read back)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Observer, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Int,
 *   handle: ({ input }) => Effect.succeed(input.text.split(" ").length)
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
 * const orders: Array<string> = []
 * const layer = Observer.layer({
 *   attend: () => ({
 *     happened: (events) => {
 *       for (const event of events) if (event._tag === "Dispatched") orders.push(event.dispatch)
 *     }
 *   })
 * })
 *
 * const program = Run.start(desk, { id: "r1", input: { text: "to be" } })
 * await Effect.runPromise(program.pipe(Effect.provide([layer, Journal.layerMemory])))
 * orders // => ["r1/count/1"]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import { dual } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import type * as Budget from "./Budget.ts"
import { contextOf, keyOf, observersIn, withOnly } from "./internal/observers.ts"
import type { Office } from "./Office.ts"
import type { ErrorKind } from "./Result.ts"
import type { Decision, DispatchEnd, Purpose, RunEvent } from "./RunEvent.ts"

/**
 * Why somebody begins to carry a run out.
 *
 * **Details**
 *
 * - `start`: it is new. `decision`: people have decided what it waited for. `timer`: its time has come.
 * - `message`: somebody has asked for it, or has said something else to it. `crash-recovery`: it was cut off.
 *
 * @category models
 * @since 0.1.0
 */
export type Cause = "start" | "decision" | "timer" | "message" | "crash-recovery"

/**
 * How somebody begins to carry a run out.
 *
 * **Details**
 *
 * - `context`: the services of whoever does. `at`: when, in milliseconds since 1970. `desk`: the name of the desk.
 * - `decided`: traces of the decisions that are taken in first, as `traceparent`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Beginning {
  readonly cause: Cause
  readonly at: number
  readonly desk: string
  readonly decided: ReadonlyArray<string>
  readonly context: Context.Context<never>
}

/**
 * What is known of a run besides its events.
 *
 * **Details**
 *
 * - `account`: an account of its budget, as `Budget` names them, after these events: a copy, which is frozen.
 *
 * @category models
 * @since 0.1.0
 */
export interface Known {
  readonly account: (name: string) => Budget.Account | undefined
}

/**
 * How a piece of work has ended.
 *
 * **Details**
 *
 * - `outcome`: `suspended`: it waits for people, or was put down with its run.
 * - `kind`: of its failure; absent = it has none that is to blame on it. `reason`: in the words
 *   of the failure, which may say anything.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ended {
  readonly outcome: DispatchEnd | "suspended"
  readonly kind?: ErrorKind | undefined
  readonly reason?: string | undefined
}

/**
 * A piece of work that is done.
 *
 * **Details**
 *
 * - `Attempt`: one try of a dispatch. `waitMillis`: how long it has waited for a free member of the worker's pool.
 * - `Choice`: somebody is asked for a route or a plan. `candidates`: how many could be chosen, where that is known.
 * - `Tool`: a model's call of a tool that is made; one that is recorded is not made again. `call`: its id, which the model gave it.
 *   `params`: its arguments as the model gave them, which may be anything. `of`: the try that it is made in.
 * - `Decision`: somebody says what is to become of a review.
 *
 * @category models
 * @since 0.1.0
 */
export type Work =
  | Attempt
  | {
      readonly _tag: "Choice"
      readonly consult: string
      readonly subject: string
      readonly purpose: Purpose
      readonly candidates?: number | undefined
    }
  | {
      readonly _tag: "Tool"
      readonly tool: string
      readonly call: string
      readonly params?: unknown
      readonly description?: string | undefined
      readonly of?: Attempt | undefined
    }
  | { readonly _tag: "Decision"; readonly review: string; readonly decision: Decision }

/**
 * One try of a dispatch, see {@link Work}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Attempt {
  readonly _tag: "Attempt"
  readonly task: string
  readonly dispatch: string
  readonly worker: string
  readonly attempt: number
  readonly waitMillis: number
}

/**
 * What an observer does about work: it is the work itself, or the work with something around it.
 *
 * **Details**
 *
 * - `ended`: what its exit means.
 *
 * @category models
 * @since 0.1.0
 */
export type Around = <A, E, R>(
  work: Work,
  effect: Effect.Effect<A, E, R>,
  ended: (exit: Exit.Exit<A, E>) => Ended
) => Effect.Effect<A, E, R>

/**
 * What is done about one run, for as long as somebody here does something with it. All of it is optional.
 *
 * **Details**
 *
 * - `recall`: is shown an event that was in the journal before.
 * - `begin`: somebody begins to carry the run out. What it answers with is written into the event that says so: `trace`, by which
 *   a later process finds what was traced, as a W3C `traceparent`. Of several observers, the first that has one counts.
 * - `happened`: is shown events that are in the journal now. `known`: what whoever carries the run out knows besides.
 * - `around`: see {@link Around}. Work without `begin` is that of people.
 * - `end`: nobody carries the run out here any more.
 *
 * @category models
 * @since 0.1.0
 */
export interface Attendance {
  readonly recall?: ((event: RunEvent) => void) | undefined
  readonly begin?: ((beginning: Beginning) => { readonly trace?: string | undefined } | void) | undefined
  readonly happened?: ((events: ReadonlyArray<RunEvent>, known?: Known) => void) | undefined
  readonly around?: Around | undefined
  readonly end?: (() => void) | undefined
}

/**
 * Whoever sees runs as they go.
 *
 * **Details**
 *
 * - `attend`: to a run, by its id. Called for each process that does something with it, and again for each time that it does.
 * - `staffed`: a desk was opened; what it begins ends with the desk, after its tree. Nobody waits for it to begin, and the desk waits
 *   5 seconds at most for it to end.
 * - `logsTrees`: it logs what happens in the trees of desks, which then leave that to it, unless they are told `log: true`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Observer {
  readonly attend?: ((run: string) => Attendance) | undefined
  readonly staffed?: ((office: Office) => Effect.Effect<void, never, Scope.Scope>) | undefined
  readonly logsTrees?: boolean | undefined
}

/**
 * Adds an observer to those around.
 *
 * **Details**
 *
 * - Layers with observers may be merged side by side (`Layer.mergeAll`): each adds its own.
 * - `name`: of two observers of one name, the inner one is left. Absent = it replaces none.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (observer: Observer, name?: string): Layer.Layer<never> =>
  layerEffect(Effect.succeed(observer), name)

/**
 * Adds an observer that has to be made to those around, see {@link layer}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerEffect = <E, R>(
  observer: Effect.Effect<Observer, E, R>,
  name?: string
): Layer.Layer<never, E, Exclude<R, Scope.Scope>> => {
  const key = keyOf(name)
  return Layer.effectContext(Effect.map(observer, (made) => contextOf(key, made)))
}

/**
 * The observers around.
 *
 * @category getters
 * @since 0.1.0
 */
export const all: Effect.Effect<ReadonlyArray<Observer>> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.succeed(observersIn(context))
)

/**
 * Does something with these observers, and with no others.
 *
 * @category combinators
 * @since 0.1.0
 */
export const only: {
  (observers: ReadonlyArray<Observer>): <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(effect: Effect.Effect<A, E, R>, observers: ReadonlyArray<Observer>): Effect.Effect<A, E, R>
} = dual(2, <A, E, R>(effect: Effect.Effect<A, E, R>, observers: ReadonlyArray<Observer>): Effect.Effect<A, E, R> =>
  Effect.updateContext(effect, (context: Context.Context<R>) => withOnly(context, observers))
)

/**
 * What is done about the work that is done inside the work that goes on: what calls of tools are put into. Default: nothing.
 *
 * @category services
 * @since 0.1.0
 */
export const Inside: Context.Reference<Around> = Context.Reference<Around>("espalier/run/Observer/Inside", {
  defaultValue: (): Around => (_, effect) => effect
})
