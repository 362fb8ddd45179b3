import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Model, type Response } from "effect/ai"
import { CostModel, type Models, ScriptedModel } from "espalier/agent"
import { Journal } from "espalier/journal"
import { type Coordinator, Dependency, Desk, Domain, type Worker } from "espalier/run"

type Steps = Parameters<typeof ScriptedModel.make>[0]

/** What models that choose need beside the run. */
export type Needs = Models.Provided | Dependency.Dependency | CostModel.CostModel

/** What a call needs beside a model. */
export const beside = Layer.merge(Dependency.layer(), CostModel.layerUnknown)

/** A script, and everything around it that is needed. */
export const scripted = (steps: Steps) => {
  const script = ScriptedModel.make(steps)
  return { ...script, provide: Effect.provide(Layer.merge(script.layer, beside)) }
}

/** A model that answers with exactly these parts. */
export const answering = (parts: ReadonlyArray<Response.PartEncoded>): Layer.Layer<Needs> =>
  Layer.merge(
    Model.make(
      "acme",
      "odd",
      Layer.effect(
        LanguageModel.LanguageModel,
        LanguageModel.make({ generateText: () => Effect.succeed([...parts]), streamText: () => Stream.empty })
      )
    ),
    beside
  )

/** A desk with one domain, `d`, whose coordinator asks a model. */
export const deskOf = <R>(
  workers: ReadonlyArray<Worker.Worker<never>>,
  coordinator: Coordinator.Coordinator<string, R>,
  settings: { readonly limits?: { readonly tokens?: number } } = {}
): Desk.Desk<string, R> =>
  Desk.make("desk", {
    version: "1",
    ...settings,
    input: Schema.String,
    domains: [Domain.make("d", { workers, intensity: { restarts: 100, within: "1 second" } })],
    coordinator
  })

/** A journal whose writer dies once, at the first commit that has an event of this type: before or after it is durable. */
export const dying = (type: string, when: "before" | "after") => {
  let dead = false
  return Layer.effect(
    Journal.Journal,
    Effect.map(Journal.Journal, (journal) => ({
      ...journal,
      append: (append: Journal.Append) =>
        Effect.suspend(() => {
          if (dead || !append.events.some((event) => event.type === type)) return journal.append(append)
          dead = true
          return Effect.andThen(
            when === "after" ? journal.append(append) : Effect.void,
            Effect.die("the power is gone")
          )
        })
    }))
  ).pipe(Layer.provide(Journal.layerMemory))
}
