/**
 * A desk that is open: its tree runs, its workers wait for orders.
 *
 * **When to use**
 *
 * `Run.start` opens a desk for one run and closes it again. Open it yourself when several runs share its workers, or when
 * you want to look at its tree.
 *
 * **Example** (Two runs, one staff)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Office, Plan, Run, Worker } from "espalier/run"
 *
 * const shout = Worker.make("shout", {
 *   description: "Makes a text loud",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.String,
 *   handle: ({ input }) => Effect.succeed(input.text.toUpperCase())
 * })
 * const desk = Desk.make("voices", {
 *   version: "1",
 *   input: Schema.String,
 *   domains: [Domain.make("loud", { workers: [shout] })],
 *   coordinator: Plan.make([
 *     { id: "shout", worker: "loud.shout", objective: "Shout it", input: (_, text: string) => ({ text }) }
 *   ])
 * })
 *
 * const program = Effect.gen(function* () {
 *   const office = yield* Office.open(desk)
 *   const outcomes = yield* Effect.all([Run.startIn(office, { input: "one" }), Run.startIn(office, { input: "two" })])
 *   return outcomes.map(({ results }) => results["shout"]?.output)
 * })
 * await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Journal.layerMemory))) // => ["ONE", "TWO"]
 * ```
 *
 * @since 0.1.0
 */

import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Digest from "effect/crypto/Digest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import { heeded } from "../internal/heard.ts"
import { tellError, tellWarning } from "../internal/telling.ts"
import type * as Supervisor from "../Supervisor.ts"
import type { Event, Tree } from "../Tree.ts"
import type { Coordinator, Task } from "./Coordinator.ts"
import type * as Decider from "./Decider.ts"
import * as Desk from "./Desk.ts"
import * as Health from "./Health.ts"
import { Contracts } from "./internal/contracts.ts"
import { type Hearing, make as makeHearing, type Listener } from "./internal/hearing.ts"
import type { News } from "./internal/news.ts"
import { alone } from "./internal/observing.ts"
import { start, type Staff } from "./internal/staff.ts"
import type { Eligible } from "./internal/submitting.ts"
import { effectOf } from "./internal/surrounding.ts"
import type { Judged } from "./internal/vetting.ts"
import * as Observer from "./Observer.ts"

const TypeId = "~espalier/run/Office"

/**
 * An open desk.
 *
 * **Details**
 *
 * - `tree`: the running tree, to be watched. `health`: who is routed around, over all its runs.
 * - `definition`: a digest of the desk's definition.
 *
 * @category models
 * @since 0.1.0
 */
export interface Office<in Input = never> {
  readonly [TypeId]: (input: Input) => void
  readonly desk: Desk.Desk<Input>
  readonly definition: string
  readonly tree: Tree["Service"]
  readonly health: Health.Health
  /** @internal */
  readonly staff: Staff
  /** @internal */
  readonly spec: Decider.Spec
  /** @internal */
  readonly templates: ReadonlyMap<string, Task<never, unknown>>
  /** @internal */
  readonly contracts: Contracts
  /** @internal Templates whose orders may be the same as those of others. */
  readonly twins: ReadonlySet<string>
  /** @internal */
  readonly coordinators: ReadonlyMap<string, Coordinator<never, unknown>>
  /** @internal What whoever is asked for choices needs. */
  readonly context: Context.Context<never>
  /** @internal The runs that are being executed here. */
  readonly live: Map<string, Live>
  /** @internal Whether its scope has ended, and its staff with it. */
  readonly closed: () => boolean
  /** @internal */
  readonly hearing: Hearing
}

/** @internal A run that is being executed: what it is told from outside. */
export interface Live extends Listener {
  readonly tell: (news: News) => void
  /** Whether somebody may say what they say. */
  readonly eligible: (said: Judged) => Effect.Effect<Eligible>
  /** Puts the run down, as an interruption does, and waits until it is. */
  readonly stop: Effect.Effect<void>
}

/**
 * A digest that tells one definition from another; nobody has to be kept from forging one. The digests of WebCrypto would
 * make the start of every run wait for a turn of the real event loop, which a test clock does not know of.
 */
const digest = (definition: string): string =>
  Hex.encode(Digest.md5.implementation?.(new TextEncoder().encode(definition)) ?? definition)

/**
 * Opens a desk in the current scope: checks it, starts its tree, and closes it with the scope.
 *
 * **Details**
 *
 * - Fails with `DeskInvalid` when `Desk.check` finds an error, with `StartFailure` when the tree does not start.
 * - `onEvent`, `log`: of the tree, as for `Supervisor.start`. Default of `log`: true, unless an observer logs it.
 * - Runs that still go on when it closes are interrupted first, and left suspended.
 * - The workers of a domain that gives up are degraded at once, for all runs; the first probe starts the domain again.
 *
 * **Gotchas**
 *
 * Whoever gives a run to an office that is closed dies of it, and nothing is written of the run.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = <Input, R>(
  desk: Desk.Desk<Input, R>,
  options?: Supervisor.RunOptions | undefined
): Effect.Effect<Office<Input>, Desk.DeskInvalid | Supervisor.StartFailure<never>, R | Scope.Scope> =>
  // What goes on around whoever opens it is no part of what its staff does.
  Effect.provideContext(Effect.updateContext(opened(desk, options), alone<R | Scope.Scope>), desk.services)

const opened = Effect.fnUntraced(function* <Input, R>(
  desk: Desk.Desk<Input, R>,
  options?: Supervisor.RunOptions | undefined
): Effect.fn.Return<Office<Input>, Desk.DeskInvalid | Supervisor.StartFailure<never>, R | Scope.Scope> {
  const findings = Desk.check(desk).filter(({ severity }) => severity === "error")
  if (findings.length > 0) return yield* new Desk.DeskInvalid({ desk: desk.name, findings })
  const context = yield* Effect.context<R>()
  const seats = Desk.seats(desk)
  const observers = yield* Observer.all
  // They see the end of the tree, too, each by itself.
  const watching = yield* Effect.acquireRelease(Scope.make("parallel"), (scope, exit) => left(scope, exit, desk.name))
  const health = yield* Health.make({ workers: seats.map(({ name }) => name), breaker: desk.breaker })
  const watch =
    options?.onEvent &&
    heeded(options.onEvent, (error) => {
      const message = "an observer of the tree's events threw and was removed"
      Effect.runSyncExitWith(context as Context.Context<never>)(tellError(message, Cause.die(error)))
    })
  const staff = yield* start(desk, {
    ...options,
    log: options?.log ?? observers.every(({ logsTrees }) => logsTrees !== true),
    onEvent: (event) => {
      const domain = downOf(event)
      for (const seat of seats) {
        if (seat.domain === domain) health.trip(seat.name, Math.floor(event.at), `the domain ${domain} gave up`)
      }
      watch?.(event)
    }
  })
  const templates = Desk.templates(desk)
  const live = new Map<string, Live>()
  let closed = false
  // Before the tree stops: without its staff a run would have nobody left, and end.
  yield* Effect.addFinalizer(() => {
    closed = true
    return Effect.forEach([...live.values()], ({ stop }) => stop, { concurrency: "unbounded" })
  })
  const office: Office<Input> = {
    [TypeId]: () => {},
    desk,
    definition: digest(Desk.definition(desk)),
    tree: staff.tree,
    health,
    staff,
    spec: Desk.spec(desk),
    templates,
    contracts: new Contracts(),
    twins: twinsOf(templates),
    coordinators: Desk.coordinators(desk),
    // It is only ever given to what asked for exactly this.
    context: Context.omit(Tracer.ParentSpan)(context as Context.Context<never>),
    live,
    closed: () => closed,
    hearing: makeHearing(live, yield* Effect.scope)
  }
  yield* shown(office, observers, watching)
  return office
})

/** Shows an open desk to the observers around, beside it: it waits for none of them, and none of them can do harm. */
const shown = <Input>(
  office: Office<Input>,
  observers: ReadonlyArray<Observer.Observer>,
  watching: Scope.Scope
): Effect.Effect<void> =>
  Effect.forEach(
    observers,
    (observer) =>
      observer.staffed === undefined
        ? Effect.void
        : Effect.forkIn(beside(observer, office), watching, { startImmediately: true }),
    { discard: true }
  )

/** So long a desk waits at its end for what its observers have begun. */
const patience = Duration.seconds(5)

/** Ends what observers have begun with a desk. What does not come to an end is left to itself, and told of. */
const left = (watching: Scope.Closeable, exit: Exit.Exit<unknown, unknown>, desk: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const closing = yield* Effect.forkDetach(Scope.close(watching, exit), { startImmediately: true })
    const closed = yield* Effect.timeoutOption(Effect.interruptible(Fiber.await(closing)), patience)
    if (Option.isNone(closed)) yield* tellWarning(`Observer: what it began with the desk ${desk} has not ended`)
  }).pipe(Effect.ignoreCause)

/** What an observer begins with a desk ends with it, but not in its scope: whatever that comes to is told, and no end of the desk. */
const beside = <Input>(observer: Observer.Observer, office: Office<Input>): Effect.Effect<void> =>
  Effect.scoped(
    Effect.andThen(
      Effect.suspend(() => effectOf(observer.staffed?.(office))),
      Effect.never
    )
  ).pipe(
    Effect.onExit((exit) =>
      Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)
        ? Effect.void
        : tellWarning(`Observer: it was not shown the desk ${office.desk.name}`, Cause.squash(exit.cause))
    ),
    Effect.ignoreCause
  )

/**
 * How busy a worker is, over all runs of an office.
 *
 * **Details**
 *
 * - `size`: how many orders it works on at once. `busy`: how many it does.
 * - `queued`: how many wait for a free place. `held`: how many more the runs hold back because the queue is full.
 *
 * @category models
 * @since 0.1.0
 */
export interface Load {
  readonly size: number
  readonly busy: number
  readonly queued: number
  readonly held: number
}

/**
 * How busy the workers of an office are now, by name.
 *
 * @category accessors
 * @since 0.1.0
 */
export const loads = (office: Pick<Office, "staff">): Effect.Effect<ReadonlyMap<string, Load>> =>
  Effect.sync(
    () =>
      new Map(
        Array.from(office.staff.posts, ([name, { free, seat }]) => {
          const { size } = seat.worker
          const { free: idle, held, queued } = free.count()
          return [name, { size, busy: size - idle, queued, held }]
        })
      )
  )

/** The domain that is down for good from this event on, if one is. */
const downOf = ({ _tag, path }: Event): string | undefined =>
  path.length === 2 && (_tag === "GaveUp" || _tag === "Failed") ? path[1] : undefined

/** Declared tasks that differ in nothing but their names and inputs: only their orders can be the same. */
const twinsOf = (templates: ReadonlyMap<string, Task<never, unknown>>): ReadonlySet<string> => {
  const first = new Map<string, string>()
  const twins = new Set<string>()
  for (const [template, task] of templates) {
    const { capability, objective, worker } = task
    const key = JSON.stringify([worker, capability, objective])
    const other = first.get(key)
    if (other === undefined) first.set(key, template)
    else twins.add(other).add(template)
  }
  return twins
}
