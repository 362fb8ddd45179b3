/**
 * The program that is killed: opens the desk on a journal, begins its runs or takes them up, and carries them to their end.
 *
 * `child.ts SETTINGS`, as JSON. It prints `ready` before it begins and `over` when all of its runs are.
 */
import { writeSync } from "node:fs"

import { Effect, Layer } from "effect"
import { Artefacts, ArtefactsSqlite, Journal, JournalSqlite } from "espalier/journal"
import { Office, Run, type RunEvent } from "espalier/run"

import { desk, Outside } from "./desk.ts"
import { pen } from "./outside.ts"
import { type Point, Seams } from "./seams.ts"

/** Where the journal is. */
export type Store = { readonly _tag: "sqlite"; readonly filename: string }

/** What one life is told. */
export interface Settings {
  readonly life: number
  readonly outside: string
  readonly store: Store
  readonly runs: ReadonlyArray<string>
  readonly point?: Point | undefined
}

/** The store, without any seam. */
export const layerStore = ({ filename }: Store) =>
  Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))

/** What an event that is told of is known by; a large output is told with its value. */
export const whatOf = (event: Pick<RunEvent.RunEvent, "_tag" | "at" | "note">): string =>
  `${event._tag} ${event.at} ${event.note}`

/** One life. `under` lies between the seams and the store: a store that does not keep its word. */
export const live = (
  settings: Settings,
  under: (journal: Journal.Journal["Service"]) => Journal.Journal["Service"] = (journal) => journal
) =>
  Effect.gen(function* () {
    const { life, outside, point, runs, store } = settings
    const { tell } = pen(outside, life)
    const seams = new Seams({ tell, close: () => {} }, point, () => void process.kill(process.pid, "SIGKILL"))
    const seamed = Layer.merge(
      Layer.effect(
        Journal.Journal,
        Effect.map(Journal.Journal, (journal) => seams.journal(under(journal)))
      ),
      Layer.effect(
        Artefacts.Artefacts,
        Effect.map(Artefacts.Artefacts, (artefacts) => seams.artefacts(artefacts))
      )
    ).pipe(Layer.provide(layerStore(store)))
    const world = Layer.succeed(Outside, {
      begun: ({ dispatch, run, task }) =>
        Effect.sync(() => {
          seams.cross("begin of work")
          tell({ _tag: "Begun", run, task, dispatch })
          seams.cross("work")
        })
    })
    const program = Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const versions: Record<string, number> = {}
      for (const run of runs) versions[run] = yield* journal.version(run)
      tell({ _tag: "Life", versions })
      const office = yield* Office.open(desk, { log: false })
      writeSync(1, "ready\n")
      yield* Effect.forEach(
        runs,
        (run, index): Effect.Effect<unknown, Run.RunError | Error, Journal.Journal> => {
          const onEvent = (event: RunEvent.RunEvent) => tell({ _tag: "Published", run, what: whatOf(event) })
          return versions[run] === 0
            ? Run.startIn(office, { id: run, input: index + 2, onEvent })
            : Run.resumeIn(office, run, { onEvent })
        },
        { concurrency: "unbounded" }
      )
      writeSync(1, "over\n")
    })
    yield* program.pipe(Effect.scoped, Effect.provide(Layer.merge(seamed, world)))
  })

/** What this process was told. */
export const settings = (): Settings => JSON.parse(process.argv[2] ?? "") as Settings

if (import.meta.main) await Effect.runPromise(live(settings()))
