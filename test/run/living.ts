import { Effect, Fiber, Schema } from "effect"
import { TestClock } from "effect/testing"
import { type Coordinator, Desk, Domain, type Outcome, Run, type RunEvent, type Worker } from "espalier/run"

import { settle } from "./desks.ts"

export const options = { id: "r1", input: "go", log: false } as const

type Settings = Partial<
  Omit<
    Desk.Options<string, string, ReadonlyArray<Domain.Domain<never>>, never, unknown, unknown>,
    "input" | "domains" | "coordinator"
  >
>

/** A desk with one domain, `d`, and any coordinator. */
export const deskOf = (
  workers: ReadonlyArray<Worker.Worker<never>>,
  coordinator: Coordinator.Coordinator<string>,
  settings: Settings = {}
): Desk.Desk<string, never> =>
  Desk.make("desk", {
    version: "1",
    ...settings,
    input: Schema.String,
    domains: [Domain.make("d", { workers, intensity: { restarts: 100, within: "1 second" } })],
    coordinator
  })

/** Every task with how it ended, in the order in which they came. */
export const ends = ({ results }: Outcome.Outcome): ReadonlyArray<string> =>
  Object.values(results).map(({ status, task }) => `${task} ${status}`)

/** Every dispatch with its worker and how it ended. */
export const rows = ({ dispatches }: Outcome.Outcome): ReadonlyArray<string> =>
  dispatches.map(({ dispatch, outcome, worker }) => `${dispatch} ${worker} ${outcome}`)

/** The events of one kind. */
export const of = <Tag extends RunEvent.RunEvent["_tag"]>(
  events: ReadonlyArray<RunEvent.RunEvent>,
  tag: Tag
): ReadonlyArray<RunEvent.Of<Tag>> => events.filter((event): event is RunEvent.Of<Tag> => event._tag === tag)

/** A run that goes on beside the test, at rest for now. */
export const begin = Effect.fnUntraced(function* <A, E, R>(run: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(run)
  yield* settle
  return {
    join: Fiber.join(fiber),
    interrupt: Fiber.interrupt(fiber),
    over: Effect.sync(() => fiber.pollUnsafe() !== undefined)
  }
})

/** Lets time pass and everything come to rest. */
export const pass = (time: Parameters<typeof TestClock.adjust>[0]) => Effect.andThen(TestClock.adjust(time), settle)

export const resume = (desk: Desk.Desk<string, never>) => Run.resume(desk, "r1", { log: false })
