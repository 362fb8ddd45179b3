/**
 * Where processes are killed: points out of a seed and the trace of a life that nobody cut off, in cases of some kills each.
 *
 * Every boundary of the trace comes in turn, the rare ones first; between them lie numbers of events and moments at random.
 */
import { dice } from "../run/simulate.ts"
import type { Line } from "./outside.ts"
import type { Point } from "./seams.ts"

/** A crossing of a boundary, as the trace has it. */
export type Crossing = Extract<Line, { readonly _tag: "Crossed" }>

/**
 * A kill to come.
 *
 * - `number`: from 1 on, what it is called by.
 * - `point`: in the first life of a case. `next`: in a life that goes on after the kill before it in its case.
 * - `server`: it is not the process that is killed there but its server, or all connections to it. Alone in its case.
 */
export interface Kill {
  readonly number: number
  readonly point: Point
  readonly next: Point
  readonly server?: "restart" | "cut" | undefined
}

/**
 * Kills of one store, one after the other; each life goes on where the one before it was killed.
 *
 * `prelude`: a kill that is not counted, where the first one is at what only a later life comes by.
 */
export interface Case {
  readonly number: number
  readonly prelude?: Point | undefined
  readonly kills: ReadonlyArray<Kill>
}

/** What only a life comes by that takes a run up. */
const takingUp = ["before append RunResumed", "after append RunResumed"]

/** A case of kills that are in order. */
export const caseOf = (number: number, kills: ReadonlyArray<Kill>): Case => {
  const point = kills[0]?.point
  const later = point?._tag === "boundary" && takingUp.includes(point.name)
  return { number, ...(later ? { prelude: { _tag: "acknowledged", events: 5 } } : {}), kills }
}

/** Of a case at most. */
const most = 4

interface Placed {
  readonly number: number
  readonly point: Point
  /** where in the trace; -1 = right at the beginning of a later life */
  readonly place: number
  readonly server?: "restart" | "cut" | undefined
}

/** Plans so many kills; every eighth is one of the server, where there is one. */
export const plan = (
  seed: number,
  points: number,
  trace: ReadonlyArray<Crossing>,
  server = false
): ReadonlyArray<Case> => {
  const { below, next } = dice(seed)
  const shuffled = <A>(values: ReadonlyArray<A>): Array<A> => {
    const left = [...values]
    return values.map(() => left.splice(below(left.length), 1)[0]!)
  }
  const places = new Map<string, Array<number>>()
  trace.forEach(({ boundary }, index) => places.set(boundary, [...(places.get(boundary) ?? []), index]))
  // The rare ones first: the others lie where the points at random do.
  const rarity = (name: string) => places.get(name)?.length ?? 0
  const names = shuffled([...places.keys(), ...takingUp]).toSorted((a, b) => rarity(a) - rarity(b))
  const last = trace.at(-1) ?? { acknowledged: 1, millis: 1 }
  let named = 0
  const placed = Array.from({ length: points }, (_, index): Placed => {
    const number = index + 1
    if (server && index % 8 === 7) {
      const point: Point = { _tag: "acknowledged", events: 1 + below(last.acknowledged - 1) }
      return { number, point, place: trace.length, server: index % 16 === 7 ? "restart" : "cut" }
    }
    if (index % 4 !== 3) {
      const name = names[named++ % names.length]!
      const at = places.get(name)
      if (at === undefined) return { number, point: { _tag: "boundary", name, nth: 1 }, place: -1 }
      const nth = 1 + below(at.length)
      return { number, point: { _tag: "boundary", name, nth }, place: at[nth - 1]! }
    }
    if (next() < 0.5) {
      const events = 1 + below(last.acknowledged)
      const place = trace.findIndex(({ acknowledged }) => acknowledged >= events)
      return { number, point: { _tag: "acknowledged", events }, place: place < 0 ? trace.length : place }
    }
    const millis = 1 + below(last.millis)
    const place = trace.findIndex((crossing) => crossing.millis >= millis)
    return { number, point: { _tag: "millis", millis }, place: place < 0 ? trace.length : place }
  })
  const groups = grouped(shuffled(placed.filter(({ server }) => server === undefined)))
  const cases = groups.map((group, index) => caseOf(index + 1, inOrder(group, trace)))
  const alone = placed.flatMap(({ number, point, server }) =>
    server === undefined ? [] : [{ number, point, next: point, server }]
  )
  return [...cases, ...alone.map((kill, index) => caseOf(groups.length + index + 1, [kill]))]
}

/** Groups that begin with what a first life comes by too, as long as there is such a point. */
const grouped = (placed: ReadonlyArray<Placed>): ReadonlyArray<ReadonlyArray<Placed>> => {
  const first = placed.filter(({ place }) => place >= 0)
  const later = placed.filter(({ place }) => place < 0)
  const groups: Array<Array<Placed>> = Array.from({ length: Math.ceil(placed.length / most) }, () => [])
  for (const [index, each] of [...first, ...later].entries()) groups[index % groups.length]?.push(each)
  return groups
}

/** In the order in which a life comes by them; what only a later life comes by is second. */
const inOrder = (group: ReadonlyArray<Placed>, trace: ReadonlyArray<Crossing>): ReadonlyArray<Kill> => {
  const later = group.filter(({ place }) => place < 0)
  const [first, ...rest] = group.filter(({ place }) => place >= 0).toSorted((a, b) => a.place - b.place)
  let before = -1
  return [...(first === undefined ? [] : [first]), ...later, ...rest].map(({ number, place, point }) => {
    const kill = { number, point, next: place < 0 ? point : after(point, before, place, trace) }
    if (place >= 0) before = place
    return kill
  })
}

/** The same point for a life that begins about there in the trace. */
const after = (point: Point, before: number, place: number, trace: ReadonlyArray<Crossing>): Point => {
  const since = trace[before] ?? { acknowledged: 0, millis: 0 }
  switch (point._tag) {
    case "boundary": {
      const { name } = point
      const nth = trace.slice(before + 1, place + 1).filter(({ boundary }) => boundary === name).length
      return { _tag: "boundary", name, nth: Math.max(1, nth) }
    }
    case "acknowledged":
      return { _tag: "acknowledged", events: Math.max(1, point.events - since.acknowledged) }
    case "millis":
      return { _tag: "millis", millis: Math.max(1, point.millis - since.millis) }
  }
}

/** A point in words. */
export const sentence = (point: Point): string => {
  switch (point._tag) {
    case "boundary":
      return `${point.name}, time ${point.nth}`
    case "acknowledged":
      return `after ${point.events} acknowledged events`
    case "millis":
      return `after ${point.millis} ms`
  }
}
