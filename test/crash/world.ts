/** A world in which processes are killed: its store, what is outside of it, and the people that are asked. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync } from "node:fs"
import { join } from "node:path"

import { Effect, Stream } from "effect"
import { Journal } from "espalier/journal"
import { Run } from "espalier/run"

import type { Seen } from "./check.ts"
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
  life: number
  /** How often people were asked, and answered. */
  answered: number
}

/** Makes a world in a folder of its own. `store`: what differs from an SQLite file there. */
export const makeWorld = (parent: string, name: string, store: Partial<Store> = {}, runs = ["a", "b"]): World => {
  const folder = join(parent, name)
  mkdirSync(folder)
  const filename = join(folder, "journal.db")
  return { folder, store: { filename, ...store }, outside: join(folder, "outside"), runs, life: 0, answered: 0 }
}

type Told = Pick<Settings, "patient" | "point" | "signal">

/** What the next life of a world is told. */
export const nextLife = (world: World, told: Told = {}): Settings => {
  const { outside, runs, store } = world
  return { ...told, life: world.life++, outside, store, runs }
}

/** Lives one life. */
export const liveOn = (world: World, manner: Manner, told: Told = {}) =>
  Effect.suspend((): Effect.Effect<Ending> => live(nextLife(world, told), manner))

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
      return { lines, histories } satisfies Seen
    }).pipe(Effect.provide(layerStore(store)))
  })

/** Who is asked tells the truth: they look outside whether it has happened. */
export const answer = (world: World) =>
  Effect.gen(function* () {
    const { lines } = yield* look(world)
    const happened = new Set(lines.flatMap((line) => (line._tag === "Done" ? [line.key] : [])))
    for (const { reviews } of yield* Effect.forEach(world.runs, Run.outcome)) {
      for (const { facts, review } of reviews) {
        const key = String(facts["effect"])
        const said = happened.has(key)
          ? ({ decision: "answer", answer: receiptOf(key) } as const)
          : ({ decision: "retry" } as const)
        world.answered += 1
        yield* Run.decide({ review, by: "who looks", note: "I have looked", ...said })
      }
    }
  }).pipe(Effect.provide(layerStore(world.store)))

/** What the runs of a world came to. */
export const outcomes = ({ runs, store }: World) => Effect.provide(Effect.forEach(runs, Run.outcome), layerStore(store))
