/**
 * A run that waits for a time, and survives its process: graft → two days → look whether it has taken.
 *
 * The first start grafts, says when it wakes, and ends: nothing is left but a file. Any start after that time goes on.
 *
 * ```sh
 * npm run example examples/waiting/main.ts -- --after "3 seconds"   # grafts, and ends
 * npm run example examples/waiting/main.ts -- --after "3 seconds"   # 3 seconds later: looks, and is over
 * ```
 *
 * `--folder` names the folder with the journal (default `.espalier/waiting`). Exit codes: 0 completed, 4 it waits, 2 anything
 * else that a run can end as, 3 it could not run.
 *
 * Watch for: `after` of a task; the outcome `waiting` with its `wakeAt`; one id, so that every start is of the same run; the
 * time, which is part of what the desk is: a run that began with another one is suspended rather than mixed with it.
 *
 * @since 0.1.0
 */
import { parseArgs } from "node:util"

import { Clock, DateTime, Duration, Effect, Option, Path, Schema } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { type Outcome, Run } from "espalier/run"

import { args, main } from "../shared/program.ts"
import { auditLines } from "../shared/telling.ts"
import { desk, Done } from "./desk.ts"

const id = "graft"

const parse = () => {
  const { values } = parseArgs({
    options: {
      after: { type: "string", default: "2 days" },
      folder: { type: "string", default: ".espalier/waiting" },
      scion: { type: "string", default: "Bellflower" }
    }
  })
  const after = Duration.fromInput(values.after as Duration.Input)
  if (Option.isNone(after)) {
    throw new RangeError(`--after must be a duration such as "3 seconds" or "2 days", got ${values.after}`)
  }
  return { ...values, after: after.value }
}

const isDone = Schema.is(Done)

const told = ({ results, status, wakeAt }: Outcome.Outcome, now: number): ReadonlyArray<string> => [
  ...Object.values(results).map(({ output, status, task }) =>
    isDone(output) ? `${task}: ${output.what}` : `${task}: ${status}`
  ),
  wakeAt === undefined
    ? `The run is ${status}.`
    : `The run waits until ${DateTime.formatIso(DateTime.makeUnsafe(wakeAt))}, ${Math.ceil((wakeAt - now) / 1_000)} s from now. Start it again then.`
]

const codes: Partial<Record<Outcome.Outcome["status"], number>> = { completed: 0, waiting: 4 }

const program = Effect.gen(function* () {
  const { after, folder, scion } = yield* args(parse)
  const path = yield* Path.Path
  const file = path.resolve(folder, "journal.db")
  const garden = desk(after)
  const outcome = yield* Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const begun = (yield* journal.version(id)) > 0
    console.log(`${begun ? "Taking up" : "Starting"} the run ${id} in ${file}`)
    // A process that only waits is one too many: it ends, whatever the time.
    const how = { log: false, waitFor: 0 }
    return begun ? yield* Run.resume(garden, id, how) : yield* Run.start(garden, { ...how, id, input: { scion } })
  }).pipe(Effect.provide(JournalSqlite.layerSqlite({ filename: file })))
  console.log(["", ...told(outcome, yield* Clock.currentTimeMillis), "", ...auditLines(outcome)].join("\n"))
  return codes[outcome.status] ?? 2
})

process.exitCode = await main("waiting", program)
