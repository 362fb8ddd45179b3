/**
 * A gardener: grafts a scion, leaves it alone for as long as it needs, and then looks whether it has taken.
 *
 * @since 0.1.0
 */
import { DateTime, type Duration, Effect, Schema } from "effect"
import { Desk, Domain, Plan, Worker } from "espalier/run"

/**
 * What was done, and when, as in `2026-04-01T12:00:00.000Z`.
 *
 * @category models
 * @since 0.1.0
 */
export const Done = Schema.Struct({ what: Schema.String, at: Schema.String })

const grafter = Worker.make("grafter", {
  description: "Joins a scion to a rootstock",
  input: Schema.Struct({ scion: Schema.String }),
  output: Done,
  handle: ({ input: { scion } }) =>
    Effect.map(DateTime.now, (now) => ({ what: `${scion} is grafted`, at: DateTime.formatIso(now) }))
})

const watcher = Worker.make("watcher", {
  description: "Looks whether a graft has taken",
  input: Schema.Struct({ scion: Schema.String, since: Schema.String }),
  output: Done,
  handle: ({ input: { scion, since } }) =>
    Effect.map(DateTime.now, (now) => ({
      what: `${scion} has taken, grafted at ${since}`,
      at: DateTime.formatIso(now)
    }))
})

const isDone = Schema.is(Done)

/**
 * The desk; `after`: how long a graft is left alone.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = (after: Duration.Input) =>
  Desk.make("garden", {
    version: "1",
    input: Schema.Struct({ scion: Schema.String }),
    domains: [Domain.make("garden", { workers: [grafter, watcher] })],
    coordinator: Plan.make<{ readonly scion: string }>([
      { id: "graft", worker: "garden.grafter", objective: "Graft the scion", input: (_, { scion }) => ({ scion }) },
      {
        id: "look",
        worker: "garden.watcher",
        objective: "Look whether it has taken",
        needs: ["graft"],
        after,
        input: ({ graft }, { scion }) => ({ scion, since: isDone(graft) ? graft.at : "some day" })
      }
    ])
  })
