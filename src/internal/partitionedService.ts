/**
 * Partitioned supervisors: a service that spreads keys over a fixed number of like children. Public through `Supervisor`.
 */
import * as Context from "effect/Context"
import * as Hash from "effect/Hash"

import * as Child from "../Child.ts"
import * as RestartIntensity from "../RestartIntensity.ts"
import type { Missing } from "../Supervisor.ts"
import type { Mount } from "./mount.ts"
import { PartitionedMount } from "./partitionedMount.ts"
import { placed } from "./place.ts"
import type { SupervisorPolicy } from "./supervisorMount.ts"
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

/**
 * A partitioned supervisor.
 *
 * **Details**
 *
 * - `partitions`: how many there are.
 * - `indexOf`: the partition of a key, from 0. An integer `k` belongs to `abs(k) mod partitions`, any other value to its
 *   `Hash` in the same way; for strings, numbers and plain data that is the same in every process.
 * - `at`: the reference of the partition of a key. `undefined` where the partitions provide no service, or several.
 * - `all`: the references in order, to ask every partition.
 *
 * **Gotchas**
 *
 * An object is hashed once, by its fields or its own `Hash`; one that changes afterwards keeps its partition, and an equal
 * one may have another. Functions and symbols are no useful keys.
 *
 * @category models
 * @since 0.1.0
 */
export interface Partitioned<Provides> {
  readonly path: ReadonlyArray<string>
  readonly partitions: number
  readonly indexOf: (key: unknown) => number
  readonly at: (key: unknown) => RefOf<Provides>
  readonly all: ReadonlyArray<RefOf<Provides>>
}

/**
 * The options of a partitioned supervisor.
 *
 * **Details**
 *
 * - `partitions`: how many, a whole number > 0. It has no default: an `Effect` program has one thread, so it is not a
 *   matter of the machine but of how much may stop at once.
 * - `id`: the child's id. Default: the service's.
 * - `intensity`: see `RestartIntensity.Options`; one budget for all partitions. Default 3 restarts in 5 seconds.
 * - The rest: of the supervisor itself, as for `Supervisor.make`.
 *
 * @category models
 * @since 0.1.0
 */
export interface PartitionedOptions<in E> extends Omit<Child.Options<E>, "onFailure"> {
  readonly partitions: number
  readonly id?: string | undefined
  readonly intensity?: RestartIntensity.Options | undefined
}

/**
 * A partitioned supervisor as a service: the key of its handle, and the maker of its child.
 *
 * @category models
 * @since 0.1.0
 */
export interface PartitionedClass<Self, Id extends string, Provides> extends Context.ServiceClass<
  Self,
  Id,
  Partitioned<Provides>
> {
  /** The supervisor as a child of another. `template` makes the spec of each partition from its index, at once. */
  readonly child: <P extends Provides, E, R>(
    template: ((index: number) => Child.Child<P, E, R>) & Declared<P, Provides>,
    options: PartitionedOptions<NoInfer<E>>
  ) => Child.Child<Self, E, Missing<R, P>>
}

const where = "Supervisor.PartitionedService"

const policyOf = (id: string, options: PartitionedOptions<never>): SupervisorPolicy => {
  const policy = Child.policyOf(where, id, options as Child.Options<never>, Child.supervisorDefaults)
  mustBeOneForOne(where, id, options)
  RestartIntensity.make(options.intensity)
  return { ...policy, strategy: "one-for-one", intensity: options.intensity, autoShutdown: "never" }
}

const remainder = (key: unknown, partitions: number): number => {
  if (typeof key === "bigint") return Number((key < 0n ? -key : key) % BigInt(partitions))
  return Math.abs(Number.isInteger(key) ? (key as number) : Hash.hash(key)) % partitions
}

/** The service that a partitioned supervisor gives to others. */
const handleOf = (supervisor: PartitionedMount, mounts: ReadonlyArray<Mount>): Partitioned<unknown> => {
  const all = mounts.map((mount) => refOf(mount) as RefOf<unknown>)
  const partitions = mounts.length
  const handle: Partitioned<unknown> = {
    get path() {
      return supervisor.path
    },
    partitions,
    indexOf: (key) => remainder(key, partitions),
    at: (key) => all[remainder(key, partitions)],
    all
  }
  return placed(handle, supervisor, "Partitioned")
}

/**
 * Declares a partitioned supervisor: a fixed number of children of one template, each responsible for a part of the keys.
 *
 * **Details**
 *
 * The type parameters say what users of the service see: the service that each partition provides (`Counter` for a child
 * that an actor `Counter` is). The template must keep to it.
 *
 * - It is an ordinary one-for-one supervisor: its children start in order, with the ids `"0"`, `"1"`, and so on, and a
 *   crashed partition is restarted alone, behind the same reference. Keys never move.
 * - A partition finds its own reference where it asks for the service that it provides.
 * - While a partition is down, its reference answers as that of any actor: mail waits for a restart, and fails with
 *   `ActorStopped` once there will be none.
 *
 * **When to use**
 *
 * To keep one actor from being the bottleneck, or one crash from taking all state along, when work divides by key. For
 * one child per key, started when it is needed, use {@link DynamicService}.
 *
 * **Gotchas**
 *
 * `child` throws a `RangeError` that names the option when one is out of range, and for a `strategy` or `autoShutdown`,
 * which it does not have. What the template throws, it throws.
 *
 * **Example** (Counters by name)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Rpc } from "effect/rpc"
 * import { Actor, Supervisor } from "espalier"
 *
 * class Counter extends Actor.Service<Counter>()("Counter", [
 *   Rpc.make("Add", { payload: { name: Schema.String }, success: Schema.Finite })
 * ]) {}
 * class Counters extends Supervisor.PartitionedService<Counters, Counter>()("Counters") {}
 *
 * const counters = Counters.child(() => Counter.child(Effect.sync(() => {
 *   const counts = new Map<string, number>()
 *   return Counter.handlers({
 *     Add: ({ name }) => {
 *       counts.set(name, (counts.get(name) ?? 0) + 1)
 *       return counts.get(name)!
 *     }
 *   })
 * })), { partitions: 4 })
 *
 * const program = Effect.gen(function*() {
 *   const { at } = yield* Counters
 *   yield* at("apples").Add({ name: "apples" })
 *   return yield* at("apples").Add({ name: "apples" })
 * })
 * const tree = Supervisor.layer(Supervisor.make("root", { children: [counters] }))
 * await Effect.runPromise(Effect.provide(program, tree)) // => 2
 * ```
 *
 * @see https://hexdocs.pm/elixir/PartitionSupervisor.html
 * @category constructors
 * @since 0.1.0
 */
export const PartitionedService =
  <Self, Provides = never>() =>
  <const Id extends string>(id: Id): PartitionedClass<Self, Id, Provides> => {
    const child = (
      template: (index: number) => Child.Any,
      options: PartitionedOptions<never>
    ): Child.Child<never, never, never> => {
      const policy = policyOf(options?.id ?? id, options ?? {})
      mustBeTemplate(where, policy.id, template)
      const count = options?.partitions
      if (!Number.isSafeInteger(count) || count < 1) {
        throw new RangeError(
          `${where}: partitions of ${policy.id} must be a whole number > 0, got ${Child.show(count)}`
        )
      }
      const children = Array.from({ length: count }, (_, index): Child.Any => {
        const made = template(index)
        mustBeChild(where, policy.id, made)
        mustBeInsignificant(where, policy.id, made)
        const name = String(index)
        return { ...made, id: name, provides: [], mount: (runtime, parent) => mountAs(name, made, runtime, parent) }
      })
      const spec = { key: id, partitions: children, handle: handleOf }
      const self = Child.fromMount<never, never, never>(
        policy,
        [id],
        (runtime, parent, outer) => new PartitionedMount(runtime, parent, policy, spec, outer)
      )
      return Object.assign(self, { children }) // for `Tree.check`
    }
    const service = Context.Service<Self, Partitioned<Provides>>()(id)
    return Object.assign(service, { child }) as never
  }
