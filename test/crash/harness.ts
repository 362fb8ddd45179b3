/**
 * Kills a program at planned points and looks at what is left: the parent of all lives.
 *
 * First one life that nobody cuts off; it is the trace out of which points are planned, and the end that every other world
 * has to come to. Then the cases, some at a time.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { Effect, type Scope, Stream } from "effect"
import { Journal } from "espalier/journal"
import { Run } from "espalier/run"

import { check, compare, type End, endOf, type Seen, type Violation } from "./check.ts"
import { layerStore, type Settings, type Store } from "./child.ts"
import { type Ending, live, type Manner } from "./life.ts"
import { readLines } from "./outside.ts"
import { type Case, caseOf, type Crossing, type Kill, plan, sentence } from "./points.ts"
import type { Point } from "./seams.ts"

/** The runs of a world, all in one process. */
const runs = ["a", "b"]

/** What is tried. `only`: the case of this kill alone. */
export interface Options {
  readonly points: number
  readonly seed: number
  readonly only?: number | undefined
  readonly told?: ((line: string) => void) | undefined
  /** The program that is killed. Default: the child. */
  readonly script?: string | undefined
}

/** A violation, where it was found. */
export interface Found extends Violation {
  readonly kill: number
  readonly where: string
}

/** What came of it. */
export interface Report {
  readonly kills: number
  readonly found: ReadonlyArray<Found>
}

interface Room extends Manner {
  readonly folder: string
}

/** A world of its own: a store and what is outside of it. */
interface World {
  readonly folder: string
  readonly store: Store
  readonly outside: string
  life: number
}

const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "espalier-crash-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const makeWorld = ({ folder }: Room, name: string): World => {
  const own = join(folder, name)
  mkdirSync(own)
  const store: Store = { _tag: "sqlite", filename: join(own, "journal.db") }
  return { folder: own, store, outside: join(own, "outside"), life: 0 }
}

const lifeOf = (room: Room, world: World, point: Point | undefined): Effect.Effect<Ending> =>
  Effect.suspend(() => {
    const { outside, store } = world
    const settings: Settings = { life: world.life++, outside, store, runs, ...(point === undefined ? {} : { point }) }
    return live(settings, room)
  })

/** The store as the dead process left it: a copy, so that the next life still has to recover it by itself. */
const copyOf = ({ folder, life, store }: World): Store => {
  const own = join(folder, `copy-${life}`)
  mkdirSync(own)
  for (const suffix of ["", "-wal"]) {
    const from = `${store.filename}${suffix}`
    if (existsSync(from)) copyFileSync(from, join(own, `journal.db${suffix}`))
  }
  return { ...store, filename: join(own, "journal.db") }
}

const seen = (world: World, store: Store) =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const histories = new Map<string, ReadonlyArray<Journal.Recorded>>()
    for (const run of runs) histories.set(run, yield* Stream.runCollect(journal.read(run)))
    return { lines: existsSync(world.outside) ? readLines(world.outside) : [], histories } satisfies Seen
  }).pipe(Effect.provide(layerStore(store)))

const outcomes = (world: World) => Effect.forEach(runs, Run.outcome).pipe(Effect.provide(layerStore(world.store)))

const hung = (ending: Ending): ReadonlyArray<Violation> =>
  ending._tag === "failed"
    ? [{ kind: "hung", what: `it could not go on: ${ending.told}` }]
    : ending._tag === "hung"
      ? [{ kind: "hung", what: "it did not end in time" }]
      : []

/** Lives on without a kill, and looks at the end. */
const toTheEnd = (room: Room, world: World, undisturbed: End) =>
  Effect.gen(function* () {
    const ending = yield* lifeOf(room, world, undefined)
    if (ending._tag !== "over") return hung(ending)
    const last = yield* seen(world, world.store)
    const end = endOf(last.lines, yield* outcomes(world))
    return [...check(last), ...compare(end, undisturbed)]
  })

/** What a case came to: the kills that were made, those of which the point was not met, and what does not hold. */
interface Tried {
  readonly made: number
  readonly missed: ReadonlyArray<Kill>
  readonly found: ReadonlyArray<Found>
}

const tryCase = (room: Room, { kills, number, prelude }: Case, undisturbed: End, name: string) =>
  Effect.gen(function* () {
    const world = makeWorld(room, name)
    const missed: Array<Kill> = []
    const found: Array<Found> = []
    let made = 0
    let over = false
    let last: Kill | undefined
    const note = (kill: Kill | undefined, where: string, violations: ReadonlyArray<Violation>) => {
      for (const each of violations) {
        // What was found after an earlier kill is still there after a later one.
        if (found.some(({ what }) => what === each.what)) continue
        found.push({ ...each, kill: kill?.number ?? 0, where: `case ${number}, ${where}` })
      }
    }
    if (prelude !== undefined) yield* lifeOf(room, world, prelude)
    for (const kill of kills) {
      if (over) {
        missed.push(kill)
        continue
      }
      const point = made === 0 ? kill.point : kill.next
      const ending = yield* lifeOf(room, world, point)
      if (ending._tag === "killed") {
        made += 1
        last = kill
        note(kill, `killed ${sentence(point)}`, check(yield* seen(world, copyOf(world))))
      } else if (ending._tag === "over") {
        over = true
        missed.push(kill)
      } else {
        note(kill, `before it was killed ${sentence(point)}`, hung(ending))
        return { made, missed, found } satisfies Tried
      }
    }
    note(last, "at the end", yield* toTheEnd(room, world, undisturbed))
    rmSync(world.folder, { recursive: true, force: true })
    return { made, missed, found } satisfies Tried
  })

/** The undisturbed life: its end, and the boundaries that it came by. */
const undisturbed = (room: Room) =>
  Effect.gen(function* () {
    const world = makeWorld(room, "undisturbed")
    const ending = yield* lifeOf(room, world, undefined)
    if (ending._tag !== "over") return yield* Effect.die(new Error(`the undisturbed life: ${JSON.stringify(ending)}`))
    const last = yield* seen(world, world.store)
    const wrong = check(last)
    if (wrong.length > 0) return yield* Effect.die(new Error(`the undisturbed life: ${JSON.stringify(wrong)}`))
    const trace = last.lines.filter((line): line is Crossing => line._tag === "Crossed")
    return { end: endOf(last.lines, yield* outcomes(world)), trace }
  })

/** Kills of which the point was not met are tried again in a world of their own, a little earlier. */
const again = ({ number, point }: Kill, cases: number): Case => {
  const earlier: Point =
    point._tag === "boundary"
      ? { ...point, nth: Math.max(1, Math.floor(point.nth / 2)) }
      : point._tag === "millis"
        ? { ...point, millis: Math.max(1, Math.floor(point.millis / 2)) }
        : { ...point, events: Math.max(1, Math.floor(point.events / 2)) }
  return caseOf(cases, [{ number, point: earlier, next: earlier }])
}

/** Makes all the kills. */
export const crashTest = ({ only, points, script, seed, told = () => {} }: Options) =>
  Effect.gen(function* () {
    const room: Room = { folder: yield* folder, cache: yield* folder, script }
    const { end, trace } = yield* undisturbed({ ...room, script: undefined })
    const planned = plan(seed, points, trace)
    let cases = planned.filter(({ kills }) => only === undefined || kills.some(({ number }) => number === only))
    const found: Array<Found> = []
    let kills = 0
    for (let round = 0; cases.length > 0; round++) {
      if (round > 6) return yield* Effect.die(new Error(`points that are never met: ${JSON.stringify(cases)}`))
      const tried = yield* Effect.forEach(
        cases,
        (each) =>
          Effect.tap(tryCase(room, each, end, `case-${each.number}-${round}`), (tried) =>
            Effect.sync(() => {
              for (const { kill, kind, what, where } of tried.found) told(`kill ${kill} (${where}): ${kind}: ${what}`)
            })
          ),
        { concurrency: 2 }
      )
      for (const each of tried) {
        kills += each.made
        found.push(...each.found)
      }
      cases = tried.flatMap(({ missed }) => missed).map((kill, index) => again(kill, planned.length + index + 1))
    }
    return { kills, found } satisfies Report
  }).pipe(Effect.scoped)

/** The closing line. */
export const closing = ({ found, kills }: Report): string => {
  const count = (kind: Violation["kind"]) => found.filter((each) => each.kind === kind).length
  return `${kills} kills: ${count("lost")} lost, ${count("repeated")} repeated, ${count("hung")} hung`
}
