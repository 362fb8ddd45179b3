/**
 * Carries a run of the desk to where it can get: to its end, or to a question that nobody answers.
 *
 * @since 0.1.0
 */
import { Deferred, Effect, Stream } from "effect"
import type { Tree } from "espalier"
import { Office, Run } from "espalier/run"
import type { Outcome, RunEvent } from "espalier/run"

import * as ResearchDesk from "./desk.ts"
import type { Setting } from "./forced.ts"
import type { Input } from "./model.ts"
import * as Script from "./script.ts"

/**
 * What is to be done.
 *
 * **Details**
 *
 * - `input`: what a new run begins with; absent to take up the run of this id again.
 * - `answer`: given to every question that comes up. Default none: the run ends as `waiting`.
 * - `desk`: what differs from the defaults, beside what the setting says. Without models, the scripted ones have the faults of
 *   the setting.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly run: string
  readonly input?: Input | undefined
  readonly setting: Setting
  readonly answer?: RunEvent.Decision | undefined
  readonly desk?: ResearchDesk.Options | undefined
  readonly onEvent?: ((event: RunEvent.RunEvent) => void) | undefined
  readonly onTreeEvent?: ((event: Tree.Event) => void) | undefined
}

/** Somebody who says the same to every question is asked so many times. */
const rounds = 10

/**
 * Starts or takes up a run, gives the answer where one is asked for, and ends with what there is.
 *
 * **Details**
 *
 * Fails with `CommandRefused` when the answer is none that the question allows; the run goes on waiting then.
 *
 * @category running
 * @since 0.1.0
 */
export const conduct = Effect.fnUntraced(function* (options: Options) {
  const { answer, input, onEvent, onTreeEvent, run, setting } = options
  const models = options.desk?.models ?? Script.make(setting.faults)
  const desk = ResearchDesk.make({ ...options.desk, ...setting.desk, models })
  const office = yield* Office.open(desk, {
    log: false,
    ...(onTreeEvent === undefined ? {} : { onEvent: onTreeEvent })
  })
  const reached = yield* Deferred.make<void>()
  const watching = {
    onEvent: (event: RunEvent.RunEvent): void => {
      onEvent?.(event)
      if (event._tag === "Dispatched" && event.task === setting.cancelAt) Deferred.doneUnsafe(reached, Effect.void)
    }
  }
  yield* Deferred.await(reached).pipe(
    Effect.andThen(Run.cancel(run, { by: "the reader", note: "it was asked for with --force", office })),
    Effect.ignore,
    Effect.forkScoped
  )
  let outcome: Outcome.Outcome =
    input === undefined
      ? yield* Run.resumeIn(office, run, watching)
      : yield* Run.startIn(office, { ...watching, id: run, input, limits: setting.limits })
  if (answer === undefined) return outcome
  for (let round = 0; outcome.status === "waiting" && round < rounds; round++) {
    for (const { review } of outcome.reviews) {
      const said = { review, decision: answer, by: "the reader", note: "said on the command line" }
      yield* Run.decide(said, { office })
    }
    outcome = yield* Run.resumeIn(office, run, watching)
  }
  return outcome
}, Effect.scoped)

/**
 * What a run of the journal began with.
 *
 * @category reading
 * @since 0.1.0
 */
export const begun = (run: string) =>
  Effect.flatMap(Stream.runHead(Run.events(run)), (first) =>
    first._tag === "Some" && first.value._tag === "RunStarted" && first.value.desk === "research-desk"
      ? Effect.succeed(first.value.input)
      : Effect.fail(new Run.RunNotFound({ run }))
  )
