/**
 * Kills a program at planned points and looks at what is left: the parent of all lives.
 *
 * First one life that nobody cuts off; it is the trace out of which points are planned, and the end that every other world
 * has to come to. Then the cases, two at a time.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { Data, Effect, type Scope } from "effect"

import type { Server } from "../fixtures/postgres.ts"
import { check, compare, decisions, type End, endOf, type Violation } from "./check.ts"
import type { Ending, Manner } from "./life.ts"
import { type Case, caseOf, type Crossing, type Kill, plan, sentence } from "./points.ts"
import type { Point } from "./seams.ts"
import { answer, liveOn, look, makeWorld, outcomes, type World } from "./world.ts"

/** What is tried. */
export interface Options {
  readonly points: number
  readonly seed: number
  /** Where the journals are. Default: each in an SQLite file. */
  readonly server?: Server | undefined
  /** Whether people are asked, who decide while others are killed. */
  readonly asking?: boolean | undefined
  /** The case of this kill alone. */
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
  /** How many effects were left to people. */
  readonly answered: number
  readonly found: ReadonlyArray<Found>
}

interface Room extends Manner {
  readonly folder: string
  readonly server: Server | undefined
  readonly asking: boolean
}

/** A world of its own in a room. */
const inRoom = ({ asking, folder, server }: Room, name: string): World => {
  const store = server === undefined ? {} : { postgres: { url: server.url, schema: name } }
  return makeWorld(folder, name, store, ["a", "b"], asking)
}

/** A temporary folder of the scope's own. */
export const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "espalier-crash-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const hung = (ending: Ending): ReadonlyArray<Violation> => {
  const what =
    ending._tag === "failed"
      ? `it could not go on: ${ending.told}`
      : ending._tag === "hung"
        ? "it did not end in time"
        : `it ended as ${ending._tag}`
  return [{ kind: "hung", what }]
}

/** Lives on until the runs are over or the process is killed; people who are asked in between answer. */
const goOn = (world: World, manner: Manner, told: Parameters<typeof liveOn>[2] = {}) =>
  Effect.gen(function* () {
    for (let rounds = 0; rounds < 20; rounds++) {
      const ending = yield* liveOn(world, manner, told)
      if (ending._tag !== "waiting") return ending
      yield* answer(world)
    }
    return { _tag: "hung" } satisfies Ending
  })

/** Lives on without a kill to the end of all runs, and looks at it. */
export const toTheEnd = (world: World, manner: Manner, undisturbed: End) =>
  Effect.gen(function* () {
    const ending = yield* goOn(world, manner)
    if (ending._tag !== "over") return hung(ending)
    const last = yield* look(world)
    return [...check(last), ...decisions(last), ...compare(endOf(last, yield* outcomes(world)), undisturbed)]
  })

/** The server dies, or cuts off everybody, in the middle of a life, which has to go on. Tells whether it came to that. */
const strike = ({ server, ...manner }: Room, world: World, kill: Kill) =>
  Effect.gen(function* () {
    const { cut = Effect.void, restart = () => Effect.void } = server ?? {}
    let struck = false
    const onSignal = Effect.suspend(() => {
      struck = true
      return Effect.orDie(kill.server === "cut" ? cut : restart())
    })
    const ending = yield* goOn(world, { ...manner, onSignal }, { point: kill.point, signal: "nothing" })
    return { ending, struck }
  })

/** What a case came to: the kills that were made, those of which the point was not met, and what does not hold. */
interface Tried {
  readonly made: number
  readonly answered: number
  readonly missed: ReadonlyArray<Kill>
  readonly found: ReadonlyArray<Found>
}

const tryCase = (room: Room, { kills, number, prelude }: Case, undisturbed: End, name: string) =>
  Effect.gen(function* () {
    const world = inRoom(room, name)
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
    if (prelude !== undefined) yield* liveOn(world, room, { point: prelude })
    for (const kill of kills) {
      if (over) {
        missed.push(kill)
        continue
      }
      const point = made === 0 ? kill.point : kill.next
      if (kill.server !== undefined) {
        const { ending, struck } = yield* strike(room, world, kill)
        over = ending._tag === "over"
        last = kill
        if (struck) made += 1
        if (!over) note(kill, `${kill.server} ${sentence(point)}`, hung(ending))
        else if (!struck) missed.push(kill)
        continue
      }
      const ending = yield* goOn(world, room, { point })
      if (ending._tag === "killed") {
        made += 1
        last = kill
        note(kill, `killed ${sentence(point)}`, check(yield* look(world)))
      } else if (ending._tag === "over") {
        over = true
        missed.push(kill)
      } else {
        note(kill, `before it was killed ${sentence(point)}`, hung(ending))
        return { made, answered: world.answered, missed, found } satisfies Tried
      }
    }
    note(last, "at the end", yield* toTheEnd(world, room, undisturbed))
    rmSync(world.folder, { recursive: true, force: true })
    return { made, answered: world.answered, missed, found } satisfies Tried
  })

/** What does not hold although nobody was killed. */
class Disturbed extends Data.TaggedError("Disturbed")<{ readonly found: ReadonlyArray<Violation> }> {
  override get message(): string {
    return this.found.map(({ kind, what }) => `${kind}: ${what}`).join("\n")
  }
}

/** The undisturbed life: its end, and the boundaries that it came by. */
export const undisturbed = (world: World, manner: Manner) =>
  Effect.gen(function* () {
    const ending = yield* goOn(world, manner)
    if (ending._tag !== "over") return yield* new Disturbed({ found: hung(ending) })
    const last = yield* look(world)
    const found = check(last)
    if (found.length > 0) return yield* new Disturbed({ found })
    const trace = last.lines.filter((line): line is Crossing => line._tag === "Crossed")
    return { end: endOf(last, yield* outcomes(world)), trace }
  })

/** Kills of which the point was not met are tried again in a world of their own, a little earlier. */
const again = ({ point, ...kill }: Kill, cases: number): Case => {
  const earlier: Point =
    point._tag === "boundary"
      ? { ...point, nth: Math.max(1, Math.floor(point.nth / 2)) }
      : point._tag === "millis"
        ? { ...point, millis: Math.max(1, Math.floor(point.millis / 2)) }
        : { ...point, events: Math.max(1, Math.floor(point.events / 2)) }
  return caseOf(cases, [{ ...kill, point: earlier, next: earlier }])
}

/** Makes all the kills. */
export const crashTest = ({ asking = false, only, points, script, seed, server, told = () => {} }: Options) =>
  Effect.gen(function* () {
    const room: Room = { folder: yield* folder, cache: yield* folder, script, server, asking }
    const { end, trace } = yield* undisturbed(inRoom(room, "undisturbed"), { cache: room.cache })
    const planned = plan(seed, points, trace, server !== undefined)
    let cases = planned.filter(({ kills }) => only === undefined || kills.some(({ number }) => number === only))
    const found: Array<Found> = []
    let [kills, answered] = [0, 0]
    for (let round = 0; cases.length > 0; round++) {
      if (round > 6) return yield* Effect.die(new Error(`points that are never met: ${JSON.stringify(cases)}`))
      const tryAll = (cases: ReadonlyArray<Case>, concurrency: number) =>
        Effect.forEach(
          cases,
          (each) =>
            Effect.tap(tryCase(room, each, end, `case-${each.number}-${round}`), (tried) =>
              Effect.sync(() => {
                for (const { kill, kind, what, where } of tried.found) told(`kill ${kill} (${where}): ${kind}: ${what}`)
              })
            ),
          { concurrency }
        )
      // When the server dies, nobody else may be living with it.
      const isAlone = ({ kills }: Case) => kills.some(({ server }) => server !== undefined)
      const tried = [
        ...(yield* tryAll(
          cases.filter((each) => !isAlone(each)),
          2
        )),
        ...(yield* tryAll(cases.filter(isAlone), 1))
      ]
      for (const each of tried) {
        kills += each.made
        answered += each.answered
        found.push(...each.found)
      }
      cases = tried.flatMap(({ missed }) => missed).map((kill, index) => again(kill, planned.length + index + 1))
    }
    return { kills, answered, found } satisfies Report
  }).pipe(
    Effect.catchTag("Disturbed", ({ found }) => {
      for (const { kind, what } of found) told(`undisturbed: ${kind}: ${what}`)
      const where = "undisturbed"
      return Effect.succeed<Report>({
        kills: 0,
        answered: 0,
        found: found.map((each) => ({ ...each, kill: 0, where }))
      })
    }),
    Effect.scoped
  )

/** The closing line. */
export const closing = ({ found, kills }: Report): string => {
  const count = (kind: Violation["kind"]) => found.filter((each) => each.kind === kind).length
  return `${kills} kills: ${count("lost")} lost, ${count("repeated")} repeated, ${count("hung")} hung`
}
