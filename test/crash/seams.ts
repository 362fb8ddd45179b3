/**
 * The boundaries at which a process can be killed, made from outside: services and effects with a seam before and after.
 */
import { createHash } from "node:crypto"

import { Effect } from "effect"
import type { Artefacts, Journal } from "espalier/journal"

import type { Told } from "./outside.ts"

/**
 * When a process dies.
 *
 * - `boundary`: when it comes by this one for the `nth` time in this life.
 * - `acknowledged`: right after so many events have been acknowledged in this life.
 * - `millis`: so long after it was ready, by the hand of whoever started it.
 */
export type Point =
  | { readonly _tag: "boundary"; readonly name: string; readonly nth: number }
  | { readonly _tag: "acknowledged"; readonly events: number }
  | { readonly _tag: "millis"; readonly millis: number }

/** What an event is, wherever it is read. */
export const digestOf = (event: Journal.Event): string =>
  createHash("sha256")
    .update(JSON.stringify([event.type, event.at, sorted(event.data)]))
    .digest("hex")
    .slice(0, 16)

/** Stores may keep the keys of an object in an order of their own. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, sorted(each)]))
}

/** The seams of one life. */
export class Seams {
  private readonly tell: (line: Told) => void
  private readonly point: Point | undefined
  private readonly atPoint: () => void
  private met = false
  private acknowledged = 0
  private crossings = 0
  /** Real time: random kills fall at moments of a real process, as the undisturbed life was long. */
  private readonly since = performance.now()

  constructor(tell: (line: Told) => void, point: Point | undefined, atPoint: () => void) {
    this.tell = tell
    this.point = point
    this.atPoint = atPoint
  }

  private die(): void {
    if (this.met) return
    this.met = true
    this.atPoint()
  }

  /** Comes by a boundary, and perhaps no further. */
  cross(boundary: string): void {
    const { acknowledged, point } = this
    if (point === undefined) {
      const millis = Math.round(performance.now() - this.since)
      this.tell({ _tag: "Crossed", boundary, acknowledged, millis })
    } else if (point._tag === "boundary" && point.name === boundary && ++this.crossings === point.nth) this.die()
  }

  /** The same around an effect: what is done in it is done between two boundaries. */
  around(name: string) {
    return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        this.cross(`before ${name}`)
        return Effect.tap(effect, () => Effect.sync(() => this.cross(`after ${name}`)))
      })
  }

  /**
   * A journal that can be cut off before and after each commit, by the kinds of its events. An event that nobody was told of
   * yet is in the store then; it is acknowledged after that.
   */
  journal(inner: Journal.Journal["Service"]): Journal.Journal["Service"] {
    return {
      ...inner,
      append: (append) =>
        Effect.suspend(() => {
          const types = [...new Set(append.events.map(({ type }) => type))]
          for (const type of types) this.cross(`before append ${type}`)
          return Effect.tap(inner.append(append), (version) =>
            Effect.sync(() => {
              for (const type of types) this.cross(`after append ${type}`)
              append.events.forEach((event, index) => {
                const place = version - append.events.length + 1 + index
                this.tell({ _tag: "Committed", run: append.run, version: place, digest: digestOf(event) })
              })
              this.acknowledged += append.events.length
              if (this.point?._tag === "acknowledged" && this.acknowledged >= this.point.events) this.die()
            })
          )
        })
    }
  }

  /** A store of artefacts that can be cut off before and after each put. */
  artefacts(inner: Artefacts.Artefacts["Service"]): Artefacts.Artefacts["Service"] {
    return { ...inner, put: (content, options) => this.around("put")(inner.put(content, options)) }
  }
}
