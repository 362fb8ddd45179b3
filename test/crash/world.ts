/** A world in which processes are killed: its store, what is outside of it, and the people that are asked. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from "node:fs"
import { join } from "node:path"

import { Cause, Effect, Schedule, Stream } from "effect"
import { Journal } from "espalier/journal"
import { type Outcome, Run } from "espalier/run"

import type { Decision, Seen } from "./check.ts"
import { receiptOf, type Settings } from "./child.ts"
import { type Ending, live, type Manner } from "./life.ts"
import { readLines } from "./outside.ts"
import { layerStore, type Store } from "./store.ts"

/** A world of its own. */
export interface World {
  readonly folder: string
  readonly store: Store
  readonly outside: string
  readonly runs: ReadonlyArray<string>
  /** Whether its desk is the one that asks people. */
  readonly asking: boolean
  /** What people decided, and what they were told. */
  readonly decisions: Array<Decision>
  life: number
  /** How many people there were. */
  people: number
  /** How often people were asked, and answered. */
  answered: number
}

/** Makes a world in a folder of its own. `store`: what differs from an SQLite file there. */
export const makeWorld = (
  parent: string,
  name: string,
  store: Partial<Store> = {},
  runs = ["a", "b"],
  asking = false
): World => {
  const folder = join(parent, name)
  mkdirSync(folder)
  const filename = join(folder, "journal.db")
  const outside = join(folder, "outside")
  return {
    folder,
    store: { filename, ...store },
    outside,
    runs,
    asking,
    decisions: [],
    life: 0,
    people: 0,
    answered: 0
  }
}

type Told = Pick<Settings, "patient" | "point" | "signal">

/** What the next life of a world is told. */
export const nextLife = (world: World, told: Told = {}): Settings => {
  const { asking, outside, runs, store } = world
  return { ...told, life: world.life++, outside, store, runs, asking }
}

/** Lives one life. */
export const liveOn = (world: World, manner: Manner, told: Told = {}) =>
  Effect.suspend((): Effect.Effect<Ending> => {
    const life = live(nextLife(world, told), manner)
    return world.asking ? Effect.raceFirst(life, Effect.andThen(people(world), Effect.never)) : life
  })

/** An SQLite file as the dead process left it: a copy, so that the next life still has to recover it by itself. */
const copyOf = ({ folder, store }: World): Store => {
  const own = mkdtempSync(join(folder, "copy-"))
  const filename = join(own, "journal.db")
  for (const suffix of ["", "-wal"]) {
    if (existsSync(`${store.filename}${suffix}`)) copyFileSync(`${store.filename}${suffix}`, `${filename}${suffix}`)
  }
  return { ...store, filename }
}

/** All that is to be seen of a world in which nobody lives just now. */
export const look = (world: World) =>
  Effect.suspend(() => {
    const store = world.store.postgres === undefined ? copyOf(world) : world.store
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const histories = new Map<string, ReadonlyArray<Journal.Recorded>>()
      for (const run of world.runs) histories.set(run, yield* Stream.runCollect(journal.read(run)))
      const lines = existsSync(world.outside) ? readLines(world.outside) : []
      return { lines, histories, decisions: [...world.decisions] } satisfies Seen
    }).pipe(Effect.provide(layerStore(store)))
  })

/** What somebody who is asked says. They tell the truth: they look outside whether something has happened. */
const saidTo = ({ facts, kind }: Pick<Outcome.Review, "facts" | "kind">, happened: ReadonlySet<string>) => {
  if (kind === "action-approval") return { decision: "approve" } as const
  if (kind === "question") return { decision: "answer", answer: "left" } as const
  const key = String(facts["effect"])
  return happened.has(key)
    ? ({ decision: "answer", answer: receiptOf(key) } as const)
    : ({ decision: "retry" } as const)
}

const happenedIn = (lines: Seen["lines"]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => (line._tag === "Done" ? [line.key] : [])))

/** Decides one question under a name that nobody else has, and keeps what was told. */
const decide = (world: World, review: Outcome.Review, happened: ReadonlySet<string>) =>
  Effect.suspend(() => {
    const by = `somebody-${(world.people += 1)}`
    return Effect.match(Run.decide({ review: review.review, by, note: "I have looked", ...saidTo(review, happened) }), {
      onSuccess: ({ _tag }) => void world.decisions.push({ review: review.review, by, told: _tag }),
      // Of what could not be written just now nobody knows whether it was.
      onFailure: (error) => {
        if (error._tag !== "CommandRefused") return
        world.decisions.push({ review: review.review, by, told: error.because ?? error.message })
      }
    })
  })

/** Decides what nobody has decided while nobody lives. */
export const answer = (world: World) =>
  Effect.gen(function* () {
    const happened = happenedIn((yield* look(world)).lines)
    for (const { reviews } of yield* Effect.forEach(world.runs, Run.outcome)) {
      for (const review of reviews) {
        if (review.kind === "reconciliation") world.answered += 1
        yield* decide(world, review, happened)
      }
    }
  }).pipe(Effect.provide(layerStore(world.store)))

/** People who decide, two at once, at any moment of the lives of others. What cannot be read just now is read a little later. */
const people = (world: World) => {
  const someone = Effect.gen(function* () {
    for (;;) {
      // Real time: it is another process that goes on meanwhile.
      yield* Effect.sleep(1 + Math.floor(Math.random() * 60))
      for (const run of world.runs) {
        const { reviews } = yield* Run.outcome(run)
        const review = reviews[Math.floor(Math.random() * reviews.length)]
        // Whether an effect has happened is only sure once whoever did it is dead.
        if (review === undefined || review.kind === "reconciliation") continue
        const before = world.decisions.filter((each) => each.review === review.review)
        if (before.length < 3) yield* decide(world, review, new Set())
      }
    }
  })
  const persistent = (each: typeof someone): Effect.Effect<never, never, Journal.Journal> =>
    Effect.catchCause(each, (cause) =>
      // Real time: the process whose file is busy, or is being recovered, tells nobody when it is done.
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.andThen(Effect.sleep(20), persistent(each))
    )
  const open = Effect.provide(
    Effect.all([persistent(someone), persistent(someone)], { concurrency: "unbounded" }),
    layerStore(world.store)
  )
  // Real time: the file is there once another process has made it, and nothing tells this one when.
  return Effect.orDie(Effect.retry(open, { schedule: Schedule.spaced("20 millis") }))
}

/** What the runs of a world came to. */
export const outcomes = ({ runs, store }: World) => Effect.provide(Effect.forEach(runs, Run.outcome), layerStore(store))
