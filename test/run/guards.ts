import { Effect, Schema } from "effect"
import { Desk, Domain, type Office, Plan, Run, type RunEvent, type Worker } from "espalier/run"
import { type Fake } from "espalier/testing"

import { history } from "./desks.ts"

type Options = Partial<Desk.Options<string, string, ReadonlyArray<Domain.Domain>, never, unknown, unknown>>

/** A desk of one domain `d`, with everything that a desk can be told. */
export const guarded = (
  workers: ReadonlyArray<Worker.Worker<never> | Fake.Fake<unknown, unknown, never>>,
  tasks: ReadonlyArray<Plan.Task<string>>,
  options: Omit<Options, "aggregate"> & { readonly aggregate?: object; readonly plan?: Plan.Options } = {}
): Desk.Desk<string, never> => {
  const { plan, ...rest } = options
  return Desk.make("desk", {
    version: "1",
    input: Schema.String,
    domains: [Domain.make("d", { workers })],
    coordinator: Plan.make(tasks, plan),
    ...(rest as Options)
  }) as Desk.Desk<string, never>
}

export const r1 = { id: "r1", input: "go", log: false } as const

/** The events of a kind in the journal of a run. */
export const of = <Tag extends RunEvent.RunEvent["_tag"]>(tag: Tag, run = "r1") =>
  Effect.map(history(run), (events) => events.filter((event): event is RunEvent.Of<Tag> => event._tag === tag))

/** The tokens that the reports of a run are to be charged with: what they say, or else what was set aside for them. */
export const receipts = (
  events: ReadonlyArray<RunEvent.RunEvent>,
  of: (event: RunEvent.Of<"Reported">) => boolean
): number => {
  const reserved = new Map<string, number>()
  let sum = 0
  for (const event of events) {
    if (event._tag === "Dispatched") reserved.set(event.dispatch, event.reserved?.tokens ?? 0)
    if (event._tag === "Reported" && of(event)) sum += event.result.usage.tokens ?? reserved.get(event.dispatch) ?? 0
  }
  return sum
}

/** What somebody says about the newest question of a run. */
export const say = (
  decision: RunEvent.Decision,
  more: Partial<Run.Deciding> = {},
  office?: Pick<Office.Office, "live">
) =>
  Effect.flatMap(of("ReviewOpened"), (opened) =>
    Run.decide({ review: opened.at(-1)?.review ?? "", decision, by: "ann", note: "so it is", ...more }, { office })
  )

/** Decides the newest question of a run that waits, and takes the run up in an office of its own. */
export const goOn = (desk: Desk.Desk<string, never>, decision: RunEvent.Decision, more: Partial<Run.Deciding> = {}) =>
  Effect.andThen(say(decision, more), Run.resume(desk, "r1", { log: false }))
