/**
 * A run of the desk from its beginning to where only people can go on, and a person who follows a script.
 *
 * What there is of the run lies in one folder: the journal, the scratch repository, the outbox of the tests in their records.
 * A folder in which a run has begun is gone on with.
 *
 * @since 0.1.0
 */
import { Effect, Layer, Path, Stream } from "effect"
import { Redaction } from "espalier"
import { CostModel, Sandbox } from "espalier/agent"
import { ArtefactsSqlite, Journal, JournalSqlite } from "espalier/journal"
import { Dependency, type Outcome, Run, type RunEvent } from "espalier/run"

import { desk, type Input } from "./desk.ts"
import type { Cast } from "./roles.ts"
import * as Workspace from "./Workspace.ts"

/**
 * The id of the run: there is one for each folder.
 *
 * @category models
 * @since 0.1.0
 */
export const id = "password-reset"

/**
 * What is wished for.
 *
 * @category models
 * @since 0.1.0
 */
export const wish: Input = {
  wish: "Customers who forgot their password want to set a new one by themselves",
  constraints: [
    "Tokens have 128 bits, are good for one use, and expire after 15 minutes",
    "5 requests in an hour and account; the same answer for unknown accounts",
    "Tokens are stored securely, and stand in no log"
  ]
}

/**
 * What the scripted person does by itself: approve the contract, approve the deployment.
 *
 * @category models
 * @since 0.1.0
 */
export interface Person {
  readonly contract: boolean
  readonly deployment: boolean
}

/** What the person says to a question; nothing where it is left to others. */
const said = ({ task }: Outcome.Review, person: Person) =>
  task === "contract" && person.contract
    ? { by: "bob", note: "The contract says what was wished for" }
    : task === "deployment" && person.deployment
      ? { by: "cem", note: "It may go out" }
      : undefined

/**
 * Where a run lies below its folder.
 *
 * @category layers
 * @since 0.1.0
 */
export const stored = (folder: string) =>
  Layer.unwrap(
    Effect.map(Path.Path, ({ join, resolve }) => {
      const filename = join(resolve(folder), ".espalier", "journal.db")
      return Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))
    })
  )

/**
 * What is taken out of the journal, and of what a model has said before it is done. Code about passwords says `password = …`
 * in earnest: rules that go by names would make other code of it. Accounts are synthetic here, and rules that go by the form
 * of a secret stay.
 */
const redaction = Redaction.layer({ without: ["password", "token"] })

/**
 * What the workers need beside journal and models. `sandbox`: where code is run. Default: this machine's.
 *
 * @category layers
 * @since 0.1.0
 */
export const surroundings = (folder: string, sandbox: Layer.Layer<Sandbox.Sandbox> = Sandbox.layerNode) =>
  Layer.mergeAll(
    Layer.unwrap(Effect.map(Path.Path, ({ resolve }) => Workspace.layer(resolve(folder)))),
    sandbox,
    Dependency.layer(),
    redaction,
    CostModel.layerUnknown
  )

/**
 * Carries the run out for as long as the person has something to say.
 *
 * @category running
 * @since 0.1.0
 */
export const conduct = <R = never>(options: {
  readonly cast: Cast<R>
  readonly person: Person
  readonly onEvent?: ((event: RunEvent.RunEvent) => void) | undefined
  readonly onSaid?: ((line: string) => void) | undefined
}) =>
  Effect.gen(function* () {
    const { cast, onEvent, onSaid, person } = options
    const watching = { log: false, onEvent }
    const team = desk(cast)
    const journal = yield* Journal.Journal
    const begun = (yield* journal.version(id)) > 0
    let outcome = yield* begun
      ? Run.resume(team, id, watching)
      : Run.start(team, { ...watching, id, input: wish, requester: "ann" })
    while (outcome.status === "waiting") {
      const answers = outcome.reviews.flatMap((review) => {
        const word = said(review, person)
        return word === undefined ? [] : [{ review: review.review, decision: "approve" as const, ...word }]
      })
      if (answers.length === 0) break
      for (const answer of answers) {
        yield* Run.decide(answer)
        onSaid?.(`! ${answer.by} approves ${answer.review}: ${answer.note}`)
      }
      outcome = yield* Run.resume(team, id, watching)
    }
    return { outcome, events: yield* Stream.runCollect(Run.events(id)) }
  })
