/**
 * Dynamic supervisors: a service that starts children of one template, any number of them. Public through `Supervisor`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import * as Child from "../Child.ts"
import * as RestartIntensity from "../RestartIntensity.ts"
import type { Missing } from "../Supervisor.ts"
import { ask } from "./ask.ts"
import type { DynamicPolicy } from "./dynamicMount.ts"
import { DynamicMount } from "./dynamicMount.ts"
import { ChildRefused, StartFailure } from "./errors.ts"
import type { Counts, Snapshot } from "./model.ts"
import type { Trouble } from "./mount.ts"
import { placed } from "./place.ts"
import {
  type Declared,
  mountAs,
  mustBeChild,
  mustBeInsignificant,
  mustBeOneForOne,
  mustBeTemplate,
  refOf,
  type RefOf
} from "./template.ts"
import type * as core from "./transition.ts"

/**
 * A child that a dynamic supervisor started.
 *
 * **Details**
 *
 * - `id`: its name below the supervisor: a whole number as text, never used twice.
 * - `ref`: its reference when it provides one service, `undefined` when none or several. It stays valid over restarts.
 * - `context`: all that it provides.
 * - `stop`: waits until it is down and forgotten. Fails with `not-found` when it is already gone.
 *
 * @category models
 * @since 0.1.0
 */
export interface DynamicChild<Provides> {
  readonly id: string
  readonly path: ReadonlyArray<string>
  readonly ref: RefOf<Provides>
  readonly context: Context.Context<Provides>
  readonly stop: Effect.Effect<void, ChildRefused>
}

/**
 * A running dynamic supervisor.
 *
 * **Details**
 *
 * - `start`: starts a child of the template and waits until it is ready. Fails with `StartFailure` when the template
 *   throws or the init fails, and with `ChildRefused`: `max-children`, `not-running`, or `ignored` when the init declined.
 *   Then no slot is taken, and nothing is spent of the intensity. Interrupting it stops the child that was about to start.
 * - `stop`: the same for a child's id as the `stop` of the child.
 * - `children`: what stands below, oldest first, at one moment.
 * - `counts`: see {@link Counts}.
 *
 * Starts do not wait for each other, nor do stops: a slow init holds up nobody else. So a child's init or handlers may
 * themselves start and stop children of this supervisor.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dynamic<in Args, Provides, out E> {
  readonly path: ReadonlyArray<string>
  readonly start: (args: Args) => Effect.Effect<DynamicChild<Provides>, StartFailure<E> | ChildRefused>
  readonly stop: (id: string) => Effect.Effect<void, ChildRefused>
  readonly children: Effect.Effect<ReadonlyArray<Snapshot>>
  readonly counts: Effect.Effect<Counts>
}

/**
 * The options of a dynamic supervisor.
 *
 * **Details**
 *
 * - `id`: the child's id. Default: the service's.
 * - `maxChildren`: children that there may be at a time, a whole number >= 0. A child holds its slot from the moment its
 *   start begins until it is down for good: also while it waits for a restart. Default `"unbounded"`, as in Elixir's
 *   `DynamicSupervisor`.
 * - `intensity`: see `RestartIntensity.Options`; one budget for all children. Default 3 restarts in 5 seconds.
 * - `restart`, `significant`, `shutdown`, `backoff`, `backoffReset`: of the supervisor itself, as for every child. `shutdown` is
 *   `"Infinity"` by default, because its children have their own.
 *
 * @category models
 * @since 0.1.0
 */
export interface DynamicOptions extends Omit<Child.Options<never>, "initTimeout" | "onFailure"> {
  readonly id?: string | undefined
  readonly maxChildren?: number | "unbounded" | undefined
  readonly intensity?: RestartIntensity.Options | undefined
}

/**
 * A dynamic supervisor as a service: the key of its handle, and the maker of its child.
 *
 * @category models
 * @since 0.1.0
 */
export interface DynamicClass<Self, Id extends string, Args, Provides, E> extends Context.ServiceClass<
  Self,
  Id,
  Dynamic<Args, Provides, E>
> {
  /**
   * The supervisor as a child of another. `template` makes the spec of a new child from the arguments of `start`; the
   * arguments are kept as long as the child lives, and no longer.
   */
  readonly child: <P extends Provides, R>(
    template: ((args: Args) => Child.Child<P, E, R>) & Declared<P, Provides>,
    options?: DynamicOptions | undefined
  ) => Child.Child<Self, never, Missing<R, P>>
}

const where = "Supervisor.DynamicService"

const policyOf = (id: string, options: DynamicOptions | undefined): DynamicPolicy => {
  const policy = Child.policyOf(where, id, options as Child.Options<never> | undefined, Child.supervisorDefaults)
  mustBeOneForOne(where, id, options)
  RestartIntensity.make(options?.intensity)
  const most = options?.maxChildren ?? "unbounded"
  if (most !== "unbounded" && !(Number.isSafeInteger(most) && most >= 0)) {
    throw new RangeError(
      `${where}: maxChildren of ${id} must be a whole number >= 0 or unbounded, got ${Child.show(most)}`
    )
  }
  return { ...policy, intensity: options?.intensity, maxChildren: most === "unbounded" ? Infinity : most }
}

/** The service that a running dynamic supervisor gives to others. */
const handleOf = (supervisor: DynamicMount): Dynamic<unknown, unknown, unknown> => {
  const refused = (child: string, reason: ChildRefused["reason"]): ChildRefused =>
    new ChildRefused({ supervisor: supervisor.path, child, reason })

  const failureOf = (
    id: string,
    answer: Exclude<core.Answer<Trouble>, { readonly _tag: "Done" }>
  ): ChildRefused | StartFailure<unknown> =>
    answer._tag === "Refused" ? refused(id, answer.reason) : new StartFailure<unknown>({ ...answer.failure })

  const stop = (id: string): Effect.Effect<void, ChildRefused> =>
    ask(supervisor, id, (reply) => ({ _tag: "StopChild", id, reply })) as Effect.Effect<void, ChildRefused>

  const handle: Dynamic<unknown, unknown, unknown> = {
    get path() {
      return supervisor.path
    },
    start: (args) =>
      Effect.callback((resume) => {
        const id = supervisor.nextId()
        const withdraw = supervisor.start(id, args, (answer, child) => {
          if (answer._tag !== "Done") return resume(Effect.fail(failureOf(id, answer)))
          const started: DynamicChild<unknown> = {
            id,
            path: child!.path,
            ref: refOf(child!) as never,
            context: child!.provided(child!.seat!.provides, Context.empty() as Context.Context<unknown>),
            stop: stop(id)
          }
          resume(Effect.succeed(placed(started, child!, "DynamicChild")))
        })
        return Effect.sync(withdraw)
      }),
    stop,
    children: Effect.sync(() => supervisor.children.map((child) => child.snapshot())),
    counts: Effect.sync(() => supervisor.counts)
  }
  return placed(handle, supervisor, "Dynamic")
}

/**
 * Declares a dynamic supervisor: children of one template, started and stopped at any time.
 *
 * **Details**
 *
 * The type parameters say what users of the service see: the arguments of `start`, the service that each child provides
 * (`Session` for a child that an actor `Session` is), and how a start can fail. The template must keep to them.
 *
 * - It starts without children. Any number may be started with the same arguments.
 * - Each child is restarted for itself, by its own policies and with the same arguments, and keeps its references. All
 *   spend from one intensity; when it is exceeded, all are stopped.
 * - A child that is down for good is forgotten: after a clean end under `restart: "on-failure"`, any end under `"never"`, a
 *   failure that a directive does not restart, or an init that declines its restart.
 * - A stop stops all children at the same time, each within its own grace time.
 * - Children end with the supervisor: when it is restarted itself, it begins empty.
 * - A child finds its own reference where it asks for the service that it provides.
 *
 * In a `Tree` it is a supervisor, whose children have the ids `"1"`, `"2"`, and so on, whatever their specs are called.
 * `Tree.Handle`'s `stopChild` works as for others; `startChild`, `restartChild` and `removeChild` are refused with
 * `dynamic-supervisor`.
 *
 * **When to use**
 *
 * For what comes and goes: sessions, connections, jobs. Children that are known beforehand, or that need an order or a
 * shared restart, belong into `Supervisor.make`.
 *
 * **Gotchas**
 *
 * - The default `restart: "always"` restarts a session that has ended well. Most templates want `"on-failure"` or
 *   `"never"`.
 * - The template runs between the tree's decisions: it should make a spec and do nothing else. What it throws fails the
 *   start.
 * - `child` throws a `RangeError` that names the option when one is out of range, and for a `strategy` or `autoShutdown`,
 *   which it does not have.
 *
 * **Example** (Sessions)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Supervisor } from "espalier"
 *
 * class Session extends Actor.Service<Session>()("Session", [Rpc.make("Greet", { success: Schema.String })]) {}
 * class Sessions extends Supervisor.DynamicService<Sessions, { readonly user: string }, Session>()("Sessions") {}
 *
 * const sessions = Sessions.child(
 *   ({ user }) => Session.child(Effect.succeed({ Greet: () => `hello, ${user}` }), { restart: "on-failure" }),
 *   { maxChildren: 10_000 }
 * )
 * const program = Effect.gen(function*() {
 *   const session = yield* (yield* Sessions).start({ user: "Ada" })
 *   return [session.id, yield* session.ref.Greet()]
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [sessions] }))
 * await Effect.runPromise(Effect.provide(program, tree)) // => ["1", "hello, Ada"]
 * ```
 *
 * @see https://hexdocs.pm/elixir/DynamicSupervisor.html
 * @category constructors
 * @since 0.1.0
 */
export const DynamicService =
  <Self, Args = void, Provides = never, E = never>() =>
  <const Id extends string>(id: Id): DynamicClass<Self, Id, Args, Provides, E> => {
    const child = (
      template: (args: unknown) => Child.Any,
      options?: DynamicOptions | undefined
    ): Child.Child<never, never, never> => {
      const policy = policyOf(options?.id ?? id, options)
      mustBeTemplate(where, policy.id, template)
      const spec = {
        key: id,
        make: (args: unknown, name: string, supervisor: DynamicMount) => {
          const made = template(args)
          mustBeChild(where, policy.id, made)
          mustBeInsignificant(where, policy.id, made)
          return mountAs(name, made, supervisor.runtime, supervisor)
        },
        handle: handleOf
      }
      return Child.fromMount(
        policy,
        [id],
        (runtime, parent, outer) => new DynamicMount(runtime, parent, policy, spec, outer)
      )
    }
    const service = Context.Service<Self, Dynamic<Args, Provides, E>>()(id)
    return Object.assign(service, { child }) as never
  }
