/**
 * Listens to the journals that an office writes to: word that was left for a run that is carried out here is handed to it,
 * and when the office's process is not the owner any more, all that it carries out ends.
 *
 * One fiber a journal, of the office; it begins with the first run of that journal and ends with the office. Word is looked
 * at when the journal says that some may have come, and every half a minute whatever it says.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import type * as Journal from "../../journal/Journal.ts"

/** A run that is carried out here, as far as it is told of its journal. */
export interface Listener {
  /** Looks at word, and answers with what tells it to the run. */
  readonly hear: (left: Journal.Left) => Effect.Effect<() => void>
  readonly end: (error: Journal.JournalError) => void
}

type Service = Journal.Journal["Service"]

/** @since 0.1.0 */
export interface Hearing {
  /**
   * Begins to listen to a journal, unless that has begun already. `late`: whether word may have been left for a run that is
   * carried out here from now on, and was not heard because it was not yet.
   */
  readonly begin: (journal: Service, late?: boolean) => Effect.Effect<void>
}

/** How often word is looked for although the journal has not said that there is any. */
const backup = "30 seconds"

/** So much word is looked at at once; it is told in the order in which it was left. */
const atOnce = 16

const nothing = Effect.succeed(() => {})

/** Hands out what was left. What cannot be read just now is looked at again. */
const look = (journal: Service, live: ReadonlyMap<string, Listener>): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (live.size === 0) return Effect.void
    return journal.commands().pipe(
      Effect.flatMap((commands) =>
        Effect.forEach(commands, (command) => live.get(command.run)?.hear(command) ?? nothing, { concurrency: atOnce })
      ),
      Effect.match({
        onSuccess: (tells) => {
          for (const tell of tells) tell()
        },
        onFailure: () => {}
      })
    )
  })

/** The hearing of an office, which ends with the scope. */
export const make = (live: ReadonlyMap<string, Listener>, scope: Scope.Scope): Hearing => {
  const heard = new Set<Service>()
  const listen = (journal: Service): Effect.Effect<void> => {
    const changes = Stream.runForEach(journal.changes, () => look(journal, live))
    const backups = Effect.repeat(Effect.delay(look(journal, live), backup), Schedule.forever)
    const loss = Effect.catch(journal.fenced, (error) =>
      Effect.sync(() => {
        for (const { end } of live.values()) end(error)
      })
    )
    return Effect.raceFirst(loss, Effect.all([changes, backups], { concurrency: "unbounded", discard: true }))
  }
  return {
    begin: (journal, late = false) =>
      Effect.suspend(() => {
        if (heard.has(journal)) return late ? Effect.asVoid(Effect.forkIn(look(journal, live), scope)) : Effect.void
        heard.add(journal)
        return Effect.asVoid(Effect.forkIn(listen(journal), scope))
      })
  }
}
