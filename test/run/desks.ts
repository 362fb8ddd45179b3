import { Deferred, Effect, Fiber, Schema, type Scope, Stream } from "effect"
import type { Duration } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Desk, Domain, type Effects, Plan, type Review, Run, type RunEvent, Worker } from "espalier/run"

export const Text = Schema.Struct({ text: Schema.String })

type Handle<R> = (order: Worker.Order<unknown>) => Effect.Effect<unknown, unknown, R>

/** A worker whose handler may return anything, as a careless one would. */
export const worker = <R = never>(
  name: string,
  handle: Handle<R>,
  options: Partial<Omit<Worker.Options<unknown, unknown, string, string, never, never>, "handle">> = {}
): Worker.Worker<Exclude<R, Scope.Scope | Effects.Effects | Review.Review>> =>
  Worker.make(name, {
    description: `The worker ${name}`,
    capabilities: ["work"],
    input: Schema.Unknown,
    output: Schema.String,
    ...options,
    handle: handle as (order: Worker.Order<unknown>) => Effect.Effect<string, unknown, R>
  })

export const task = (id: string, fields: Partial<Plan.Task<string>> = {}): Plan.Task<string> => ({
  id,
  worker: "d.one",
  objective: `Do ${id}`,
  ...fields
})

export const desk = <R = never>(
  workers: ReadonlyArray<Worker.Worker<R>>,
  tasks: ReadonlyArray<Plan.Task<string>>,
  options: {
    readonly concurrency?: number
    readonly version?: string
    readonly domains?: ReadonlyArray<Domain.Domain<R>>
    readonly intensity?: Domain.Options<[]>["intensity"]
  } = {}
): Desk.Desk<string, R> =>
  Desk.make("desk", {
    version: options.version ?? "1",
    input: Schema.String,
    domains: options.domains ?? [
      Domain.make("d", { workers, ...(options.intensity === undefined ? {} : { intensity: options.intensity }) })
    ],
    coordinator: Plan.make(tasks, { concurrency: options.concurrency ?? 10 })
  }) as Desk.Desk<string, R>

/** Lets everything come to rest that needs no time: the test clock waits for what it woke, not for what was just forked. */
export const settle = Effect.repeat(Effect.yieldNow, { times: 200 })

/** Runs an effect while the test clock goes on. */
export const elapse = <A, E, R>(effect: Effect.Effect<A, E, R>, time: Duration.Input) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    yield* settle
    yield* TestClock.adjust(time)
    return yield* Fiber.join(fiber)
  })

export const history = (run: string) => Stream.runCollect(Run.events(run))

/** What happened, in short: tag and task or worker. */
export const short = (events: ReadonlyArray<RunEvent.RunEvent>): ReadonlyArray<string> =>
  events.map((event) => {
    switch (event._tag) {
      case "Routed":
      case "ContractRefused":
        return `${event._tag} ${event.task} ${event.worker}`
      case "Dispatched":
        return `Dispatched ${event.dispatch} ${event.worker}`
      case "AttemptFailed":
        return `AttemptFailed ${event.dispatch} ${event.attempt} ${event.kind} ${event.waitMillis}`
      case "Reported":
        return `Reported ${event.dispatch} ${event.outcome}`
      case "TaskEnded":
        return `TaskEnded ${event.task} ${event.status}`
      case "RunSuspended":
        return `RunSuspended ${event.reason}`
      case "RunFinished":
        return `RunFinished ${event.status} ${event.stopReason}`
      default:
        return event._tag
    }
  })

/** A handler that waits until it is let go, and tells when it was reached and when it was interrupted. */
export const gate = () => {
  const reached = Deferred.makeUnsafe<void>()
  const open = Deferred.makeUnsafe<void>()
  const log: Array<string> = []
  const wait = Effect.gen(function* () {
    log.push("began")
    yield* Deferred.succeed(reached, undefined)
    yield* Deferred.await(open)
    log.push("ended")
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => log.push("interrupted"))))
  return { reached: Deferred.await(reached), open: Deferred.succeed(open, undefined), wait, log }
}

export const memory = Effect.provide(Journal.layerMemory)
