/** Observers that write down what they are shown, and what is to hold of it. */
import { assert } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { Observer, type RunEvent } from "espalier/run"

import { history } from "./desks.ts"

export const trace = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`

/** What one attendance was shown. */
export interface Shown {
  readonly run: string
  readonly causes: Array<Observer.Cause>
  readonly events: Array<RunEvent.RunEvent>
  readonly happened: Array<RunEvent.RunEvent>
  ends: number
}

export const nameOf = (work: Observer.Work): string => {
  switch (work._tag) {
    case "Attempt":
      return `Attempt ${work.dispatch} ${work.attempt}`
    case "Choice":
      return `Choice ${work.consult} ${work.purpose}`
    case "Tool":
      return `Tool ${work.tool}`
    case "Decision":
      return `Decision ${work.review}`
  }
}

/** An observer that writes down whatever it is shown. */
export const watching = (answer: { readonly trace?: string } = { trace }) => {
  const seen: Array<string> = []
  const attendances: Array<Shown> = []
  const work: Array<Observer.Work> = []
  const ends: Array<Observer.Ended & { readonly of: string }> = []
  const observer: Observer.Observer = {
    attend: (run) => {
      const shown: Shown = { run, causes: [], events: [], happened: [], ends: 0 }
      attendances.push(shown)
      return {
        recall: (event) => {
          seen.push(`recall ${event._tag}`)
          shown.events.push(event)
        },
        begin: ({ cause }) => {
          seen.push(`begin ${run} ${cause}`)
          shown.causes.push(cause)
          return answer
        },
        happened: (events) => {
          for (const event of events) {
            seen.push(event._tag)
            shown.events.push(event)
            shown.happened.push(event)
          }
        },
        around: (each, effect, ended) =>
          Effect.suspend(() => {
            seen.push(`around ${nameOf(each)}`)
            work.push(each)
            return Effect.onExit(effect, (exit) =>
              Effect.sync(() => {
                seen.push(`after ${nameOf(each)}`)
                ends.push({ of: nameOf(each), ...ended(exit) })
              })
            )
          }),
        end: () => {
          seen.push("end")
          shown.ends += 1
        }
      }
    }
  }
  return {
    layer: Observer.layer(observer),
    observer,
    seen,
    attendances,
    work,
    ends,
    causes: () => attendances.flatMap(({ causes }) => causes)
  }
}

/**
 * What each process was shown has no gap, every event has happened once over all of them, and each attendance has ended. `after`:
 * how many events there were before anybody was there to see them.
 */
export const isWhole = (attendances: ReadonlyArray<Shown>, run = "r1", after = 0) =>
  Effect.gen(function* () {
    const journal = yield* history(run)
    const own = attendances.filter((each) => each.run === run)
    for (const { ends, events } of own) {
      assert.deepStrictEqual(events, journal.slice(0, events.length))
      assert.strictEqual(ends, 1)
    }
    const texts = (events: ReadonlyArray<RunEvent.RunEvent>) =>
      events
        .map((event) =>
          JSON.stringify(Object.fromEntries(Object.entries(event).toSorted(([a], [b]) => (a < b ? -1 : 1))))
        )
        .toSorted()
    assert.deepStrictEqual(texts(own.flatMap(({ happened }) => happened)), texts(journal.slice(after)))
  })

/** Takes what is logged down. */
export const logged = () => {
  const lines: Array<string> = []
  const layer = Logger.layer([
    Logger.make(({ message }) => void lines.push((Array.isArray(message) ? message : [message]).map(String).join(" ")))
  ])
  return { layer, lines, told: () => lines.filter((line) => line.startsWith("Observer:")) }
}
