/**
 * The program that is killed: opens the desk on a journal, begins its runs or takes them up, and carries them to their end.
 *
 * `child.ts SETTINGS`, as JSON. It prints `ready` before it begins, and at its end `over` when all of its runs are, `waiting`
 * when people are asked, `suspended` when it was told to stop (SIGTERM).
 */
import { writeSync } from "node:fs"

import { Clock, Cause, Effect, Exit, Fiber, Layer, Option, Schedule } from "effect"
import { Artefacts, Journal } from "espalier/journal"
import { Host, Office, Run, type RunEvent } from "espalier/run"

import { asking } from "./asking.ts"
import { desk, Outside } from "./desk.ts"
import { pen, readLines } from "./outside.ts"
import { type Point, Seams } from "./seams.ts"
import { layerStore, type Store } from "./store.ts"

/** What one life is told. */
export interface Settings {
  readonly life: number
  readonly outside: string
  readonly store: Store
  readonly runs: ReadonlyArray<string>
  /** Default: the one that is not. */
  readonly asking?: boolean | undefined
  readonly point?: Point | undefined
  /** What it does to itself at the point, once it has said `signal`. Default SIGKILL. */
  readonly signal?: NodeJS.Signals | "nothing" | undefined
  /** Whether it waits for as long as another process owns the journal. Default false: that is a failure. */
  readonly patient?: boolean | undefined
}

const isOwned = ({ reason }: Journal.JournalError): boolean => reason._tag === "JournalOwned"

/** What comes of something that is done under a key. */
export const receiptOf = (key: string): string => `receipt ${key}`

/** What an event that is told of is known by; a large output is told with its value. */
export const whatOf = (event: Pick<RunEvent.RunEvent, "_tag" | "at" | "note">): string =>
  `${event._tag} ${event.at} ${event.note}`

/**
 * Waits until nothing goes on by itself: the runs are over, or wait for people. Where people are there, only what nobody can
 * tell while somebody lives is waited for.
 */
const untilRest = (journal: Journal.Journal["Service"], people: boolean): Effect.Effect<"over" | "waiting", Error> =>
  Effect.gen(function* () {
    for (;;) {
      const listed = yield* Effect.retry(journal.runs(), {
        while: ({ isRetryable }) => isRetryable,
        schedule: Schedule.spaced("100 millis")
      })
      const left = yield* Effect.orElseSucceed(journal.commands(), () => [])
      const open = listed.filter(({ status }) => !isOver(status))
      const stuck = open.find(({ reason, status }) => status === "suspended" && reason !== "asked")
      if (stuck !== undefined) return yield* Effect.fail(new Error(`${stuck.run} is suspended: ${stuck.reason}`))
      // What comes hours later is a reminder of a question.
      const soon = (yield* Clock.currentTimeMillis) + 3_600_000
      if (left.length === 0 && open.every(({ status, wakeAt = Infinity }) => status === "waiting" && wakeAt > soon)) {
        if (open.length === 0) return "over"
        const reviews = people ? yield* Effect.orElseSucceed(journal.reviews(), () => undefined) : []
        if (reviews?.every(({ kind }) => kind === "reconciliation")) return "waiting"
      }
      // Real time: the list is all that tells of runs that the host takes up by itself.
      yield* Effect.sleep("25 millis")
    }
  })

const isOver = (status: string): boolean => ["completed", "partial", "failed", "cancelled"].includes(status)

/** One life. `under` lies between the seams and the store: a store that does not keep its word. */
export const live = (
  settings: Settings,
  under: (journal: Journal.Journal["Service"]) => Journal.Journal["Service"] = (journal) => journal
) =>
  Effect.gen(function* () {
    const { asking: asks = false, life, outside, patient = false, point, runs, signal = "SIGKILL", store } = settings
    const tell = pen(outside, life)
    const seams = new Seams(tell, point, () => {
      writeSync(1, "signal\n")
      if (signal !== "nothing") process.kill(process.pid, signal)
    })
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
    const known = (key: string): string | undefined =>
      readLines(outside).some((line) => line._tag === "Done" && line.key === key) ? receiptOf(key) : undefined
    const world = Layer.succeed(Outside, {
      begun: ({ dispatch, run, task }) =>
        Effect.sync(() => {
          seams.cross("begin of work")
          tell({ _tag: "Begun", run, task, dispatch })
          seams.cross("work")
        }),
      act: ({ key, name, once, order: { run, task } }) =>
        Effect.sync(() => {
          seams.cross(`before ${name}`)
          if (!once || known(key) === undefined) tell({ _tag: "Done", run, task, key })
          seams.cross(`after ${name}`)
          return receiptOf(key)
        }),
      find: (key) => Effect.sync(() => Option.fromUndefinedOr(known(key)))
    })
    const program = Effect.gen(function* () {
      const journal = yield* Journal.Journal
      yield* patient
        ? Effect.retry(journal.own, { while: isOwned, schedule: Schedule.spaced("50 millis") })
        : journal.own
      const versions: Record<string, number> = {}
      for (const run of runs) versions[run] = yield* journal.version(run)
      tell({ _tag: "Life", versions })
      const office = yield* Office.open(asks ? asking : desk, { log: false })
      writeSync(1, "ready\n")
      const published = (event: RunEvent.RunEvent, run: string) => tell({ _tag: "Published", run, what: whatOf(event) })
      const begun = Effect.forEach(
        runs.flatMap((id, index) => (versions[id] === 0 ? [{ id, input: index + 2 }] : [])),
        ({ id, input }) => Run.startIn(office, { id, input, onEvent: (event) => published(event, id) }),
        { concurrency: "unbounded" }
      )
      // Whoever takes up what others left does not know of it beforehand.
      const host = Host.serve(office, { asked: true, every: "500 millis", onEvent: published })
      return yield* Effect.raceFirst(host, Effect.andThen(begun, untilRest(journal, asks)))
    })
    return yield* program.pipe(Effect.scoped, Effect.provide(Layer.merge(seamed, world)))
  })

/** Lives by what this process was told. */
export const main = async (under?: Parameters<typeof live>[1]): Promise<void> => {
  const fiber = Effect.runFork(live(JSON.parse(process.argv[2] ?? "") as Settings, under))
  process.once("SIGTERM", () => fiber.interruptUnsafe())
  const exit = await Effect.runPromise(Fiber.await(fiber))
  if (Exit.isSuccess(exit)) writeSync(1, `${exit.value}\n`)
  else if (Cause.hasInterruptsOnly(exit.cause)) writeSync(1, "suspended\n")
  else {
    console.error(Cause.pretty(exit.cause))
    process.exitCode = 1
  }
}

if (import.meta.main) await main()
