/**
 * What a run looks like while it goes on: a view that is folded from its events, drawn in place on a terminal, and a line for
 * each thing that happened elsewhere.
 *
 * The view is a value and drawing it a function; only {@link make} writes. What is drawn comes from models and files, too: it
 * is written as text that a terminal does not obey.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import { many, shorten } from "../run/internal/problems.ts"
import { stepOf } from "../run/internal/steps.ts"
import { instantOf, lasted, plain } from "../run/internal/text.ts"
import type { RunEvent } from "../run/RunEvent.ts"
import { cut, padded, widthOf } from "./width.ts"

/** How a task stands. `within`: whether it is carried out by tasks of its own, which are told instead. */
interface Line {
  readonly state: "open" | "working" | "again" | "asked" | "done" | "less"
  readonly within: boolean
  readonly worker: string
  readonly note: string
  readonly since: number
}

/** A run as it is drawn. */
export interface View {
  readonly run: string
  readonly desk: string
  readonly startedAt: number
  readonly tasks: ReadonlyMap<string, Line>
  /** The tasks that people are asked about, by review. */
  readonly asked: ReadonlyMap<string, string>
}

/** Before the first event. */
export const empty: View = { run: "", desk: "", startedAt: 0, tasks: new Map(), asked: new Map() }

const fresh: Line = { state: "open", within: false, worker: "", note: "", since: 0 }

const changed = (view: View, task: string, to: Partial<Line>): View => ({
  ...view,
  tasks: new Map(view.tasks).set(task, { ...(view.tasks.get(task) ?? fresh), ...to })
})

const added = (view: View, tasks: ReadonlyArray<{ readonly id: string }>): View => ({
  ...view,
  tasks: new Map([...view.tasks, ...tasks.map(({ id }) => [id, view.tasks.get(id) ?? fresh] as const)])
})

/** The view after an event. */
export const after = (view: View, event: RunEvent): View => {
  switch (event._tag) {
    case "RunStarted": {
      const { at, desk, run, tasks, version } = event
      return added({ run, desk: `${desk} ${version}`, startedAt: at, tasks: new Map(), asked: new Map() }, tasks)
    }
    case "GroupOpened":
      return added(changed(view, event.task, { within: true }), event.tasks)
    case "TasksAdded":
      return added(view, event.tasks)
    case "Dispatched":
      return changed(view, event.task, { state: "working", worker: event.worker, note: "", since: event.at })
    case "AttemptFailed":
      return changed(view, event.task, { state: "again", note: event.note })
    case "Reported":
      return changed(view, event.task, { state: "open", note: event.note })
    case "ReviewOpened":
      return event.task === undefined
        ? view
        : {
            ...changed(view, event.task, { state: "asked", note: event.note }),
            asked: new Map(view.asked).set(event.review, event.task)
          }
    case "ReviewDecided": {
      const task = view.asked.get(event.review)
      return task === undefined ? view : changed(view, task, { state: "open", note: event.note })
    }
    case "TaskEnded":
      return changed(view, event.task, {
        state: event.status === "accepted" ? "done" : "less",
        note: event.status === "accepted" ? "" : `${event.status}: ${event.note}`
      })
    default:
      return view
  }
}

const marks: Readonly<Record<Line["state"], string>> = {
  open: "·",
  working: "▸",
  again: "↻",
  asked: "?",
  done: "✓",
  less: "✗"
}

/** What is drawn first where there is not room for all: what goes on, then what needs somebody, then the rest. */
const ranks: ReadonlyArray<Line["state"]> = ["working", "again", "asked", "less", "open", "done"]

/** The view as lines that fit: none is longer than `width`, and there are fewer than `height`. */
export const draw = (
  view: View,
  room: { readonly width: number; readonly height: number; readonly now: number }
): ReadonlyArray<string> => {
  const lines = [...view.tasks].filter(([, { within }]) => !within)
  const ended = lines.filter(([, { state }]) => state === "done" || state === "less").length
  const all = Math.max(1, room.height - 2)
  const kept =
    lines.length <= all
      ? lines
      : lines.toSorted(([, one], [, other]) => ranks.indexOf(one.state) - ranks.indexOf(other.state)).slice(0, all - 1)
  const longest = Math.min(40, Math.max(0, ...kept.map(([task]) => widthOf(plain(task)))))
  const fitted = (line: string) => cut(line, Math.max(2, room.width - 1))
  return [
    fitted(
      `${plain(view.run)}  ${plain(view.desk)}  ${ended} of ${many(lines.length, "task")}, ${lasted(Math.max(0, room.now - view.startedAt))}`
    ),
    ...kept.map(([task, { note, since, state, worker }]) => {
      const said = state === "working" ? `${worker}, ${lasted(Math.max(0, room.now - since))}` : note
      return fitted(`  ${marks[state]} ${padded(plain(task), longest)}  ${plain(said)}`.trimEnd())
    }),
    ...(kept.length < lines.length ? [fitted(`  and ${lines.length - kept.length} more`)] : [])
  ]
}

/** Events that say what another one says, too, or that only matter to whoever looks closer. */
const quiet: ReadonlySet<RunEvent["_tag"]> = new Set([
  "Routed",
  "Confirmed",
  "TimerFired",
  "EffectIntended",
  "EffectSettled",
  "Spent",
  "RunFinished"
])

/** An event as one line, where it matters to somebody who watches. What went as it should needs no reason. */
export const lineOf = (event: RunEvent): string | undefined => {
  if (quiet.has(event._tag)) return undefined
  const { note, subject, what } = stepOf(event)
  const name = event._tag === "RunStarted" ? `run ${event.run}` : subject
  const well =
    event._tag === "RunStarted" ||
    event._tag === "Dispatched" ||
    (event._tag === "Reported" && event.outcome === "accepted") ||
    (event._tag === "TaskEnded" && event.status === "accepted")
  const why = well ? "" : plain(note)
  return `${instantOf(event.at)}  ${plain(name)}  ${plain(what)}${why === "" ? "" : `: ${shorten(why, 300)}`}`
}

/** Where progress is shown. */
export interface Screen {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  readonly rows?: number | undefined
  readonly write: (text: string) => unknown
}

/**
 * What shows progress.
 *
 * **Details**
 *
 * - `seen`: takes what happened before. `onEvent`: shows what happens now. `above`: writes something that is no progress.
 * - `done`: takes away what is drawn, and draws nothing any more.
 */
export interface Progress {
  readonly seen: (event: RunEvent) => void
  readonly onEvent: (event: RunEvent) => void
  readonly above: (text: string) => void
  readonly done: () => void
}

/** How often a terminal is drawn anew. */
const pause = "100 millis"

/**
 * Shows the progress of a run: drawn in place on a terminal, as lines elsewhere, not at all without a screen.
 *
 * **Details**
 *
 * - `beside`: where goes what is no progress.
 *
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  screen: Screen | undefined,
  beside: Screen
): Effect.fn.Return<Progress, never, Scope.Scope> {
  const above = (text: string): void => void beside.write(text)
  if (screen?.isTTY !== true) {
    const onEvent = (event: RunEvent): void => {
      const line = screen === undefined ? undefined : lineOf(event)
      if (line !== undefined) screen?.write(`${line}\n`)
    }
    return { seen: () => {}, onEvent, above, done: () => {} }
  }
  let view = empty
  let drawn = 0
  let over = false
  // Up to where the drawing begins, and nothing below it any more.
  const cleared = (): string => (drawn === 0 ? "" : `\u001b[${drawn}A\r\u001b[J`)
  const clear = (): void => {
    if (drawn > 0) screen.write(cleared())
    drawn = 0
  }
  const show = (now: number): void => {
    if (over || view === empty) return
    // A terminal that does not tell its size says 0, or nothing.
    const { columns = 0, rows = 0 } = screen
    const lines = draw(view, { width: columns > 0 ? columns : 80, height: rows > 0 ? rows : 24, now })
    screen.write(`${cleared()}${lines.join("\n")}\n`)
    drawn = lines.length
  }
  const take = (event: RunEvent): void => {
    view = after(view, event)
  }
  const drawing = Effect.andThen(Effect.sleep(pause), Effect.map(Clock.currentTimeMillis, show))
  yield* Effect.forkScoped(Effect.forever(drawing))
  const done = (): void => {
    over = true
    clear()
  }
  yield* Effect.addFinalizer(() => Effect.sync(done))
  return {
    seen: take,
    onEvent: take,
    // The next drawing comes below it.
    above: (text) => {
      clear()
      above(text)
    },
    done
  }
})
