/**
 * What a run looks like while it goes on: on a terminal the tree with a line per worker, redrawn in place; elsewhere one
 * plain line for each thing that happened.
 *
 * The view is a value, folded from the run's events and the tree's; drawing it is a pure function. Only `make` writes.
 *
 * @since 0.1.0
 */
import { Predicate } from "effect"
import type { Tree } from "espalier"
import type { RunEvent } from "espalier/run"
import { createLogUpdate } from "log-update"
import pc from "picocolors"

import { oneLine } from "./Finding.ts"

/**
 * How a worker stands.
 *
 * @category models
 * @since 0.1.0
 */
export interface Line {
  readonly worker: string
  readonly state: "queued" | "working" | "waiting" | "done" | "missing"
  readonly note: string
  readonly restarts: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface View {
  readonly lines: ReadonlyMap<string, Line>
  /** the state of each domain's supervisor in the tree */
  readonly domains: ReadonlyMap<string, string>
  /** the run has ended; that its tree is stopped then is no news */
  readonly over: boolean
}

/**
 * @category models
 * @since 0.1.0
 */
export const empty: View = { lines: new Map(), domains: new Map(), over: false }

const change = (view: View, worker: string, to: Partial<Line>): View => {
  const known = view.lines.get(worker) ?? { worker, state: "queued", note: "", restarts: 0 }
  return { ...view, lines: new Map(view.lines).set(worker, { ...known, ...to }) }
}

const findingsIn = (output: unknown): number | undefined =>
  Predicate.hasProperty(output, "findings") && Array.isArray(output.findings) ? output.findings.length : undefined

/**
 * The view after an event of the run.
 *
 * @category folding
 * @since 0.1.0
 */
export const onRun = (view: View, event: RunEvent.RunEvent): View => {
  switch (event._tag) {
    case "RunStarted":
      return event.tasks.reduce((next, { worker }) => change(next, worker ?? "", {}), view)
    case "Dispatched":
      return change(view, event.worker, { state: "working", note: "" })
    case "AttemptFailed":
      return change(view, event.worker, { state: "waiting", note: event.note })
    case "Reported": {
      const found = findingsIn(event.result.output)
      return change(view, event.worker, { note: found === undefined ? event.note : `${found} findings` })
    }
    case "TaskEnded": {
      if (event.status === "accepted") return change(view, event.task, { state: "done" })
      return change(view, event.task, { state: event.status === "partial" ? "done" : "missing", note: event.note })
    }
    case "RunFinished":
      return { ...view, over: true }
    default:
      return view
  }
}

/**
 * The view after an event of the tree.
 *
 * @category folding
 * @since 0.1.0
 */
export const onTree = (view: View, event: Tree.Event): View => {
  const [, domain, worker] = event.path
  if (domain === undefined || view.over) return view
  if (worker !== undefined) {
    if (event._tag !== "Restarting") return view
    const name = `${domain}.${worker}`
    return change(view, name, { restarts: (view.lines.get(name)?.restarts ?? 0) + 1 })
  }
  const state = domainState(event)
  return state === undefined ? view : { ...view, domains: new Map(view.domains).set(domain, state) }
}

const domainState = (event: Tree.Event): string | undefined => {
  switch (event._tag) {
    case "Started":
      return "running"
    case "GaveUp":
      return "gave up"
    case "StartFailed":
      return "did not start"
    case "Exited":
      return event.ordered ? "stopped" : undefined
    default:
      return undefined
  }
}

/**
 * The plain line of a run's event, for those that a reader wants to follow.
 *
 * @category drawing
 * @since 0.1.0
 */
export const runLine = (event: RunEvent.RunEvent): string | undefined => {
  switch (event._tag) {
    case "Dispatched":
      return `${event.worker}: working (${event.dispatch.split("/").slice(1).join("/")})`
    case "AttemptFailed":
      return `${event.worker}: ${oneLine(event.note, 200)}`
    case "TaskEnded":
      // What was accepted needs no reason; what was not does.
      return event.status === "accepted"
        ? `${event.task}: accepted`
        : `${event.task}: ${event.status}, ${oneLine(event.note, 200)}`
    case "RunResumed":
    case "RunSuspended":
    case "RunFinished":
      return oneLine(event.note, 300)
    default:
      return undefined
  }
}

/**
 * The plain line of a tree's event: what broke, and what became of it.
 *
 * @category drawing
 * @since 0.1.0
 */
export const treeLine = (event: Tree.Event): string | undefined => {
  const path = event.path.join("/")
  switch (event._tag) {
    case "Exited": {
      if (event.ordered || event.reason._tag === "Normal" || event.reason._tag === "Shutdown") return undefined
      return `tree ${path}: ended (${event.reason._tag.toLowerCase()})`
    }
    case "Restarting":
      return `tree ${path}: restarting, ${event.left} restarts left`
    case "GaveUp":
      return `tree ${path}: gave up on ${event.child}`
    case "Leaked":
      return `tree ${path}: did not stop and was abandoned`
    default:
      return undefined
  }
}

const marks: Readonly<Record<Line["state"], string>> = {
  queued: pc.dim("·"),
  working: pc.cyan("▸"),
  waiting: pc.yellow("↻"),
  done: pc.green("✓"),
  missing: pc.red("✗")
}

/**
 * The whole view as a tree, no line longer than `width`.
 *
 * @category drawing
 * @since 0.1.0
 */
export const draw = (view: View, width: number): string => {
  const rows = [pc.bold("release-desk")]
  const names = [...view.lines.keys()].toSorted()
  for (const domain of new Set(names.map((name) => name.split(".", 1)[0]!))) {
    rows.push(`├─ ${domain} ${pc.dim(view.domains.get(domain) ?? "starting")}`)
    for (const name of names.filter((name) => name.startsWith(`${domain}.`))) {
      const { note, restarts, state } = view.lines.get(name)!
      const restarted = restarts === 0 ? "" : pc.yellow(` restarted ×${restarts}`)
      const room = Math.max(0, width - 40)
      rows.push(
        `│  ${marks[state]} ${name.slice(domain.length + 1).padEnd(12)} ${state.padEnd(8)}${restarted} ${pc.dim(oneLine(note, room))}`
      )
    }
  }
  return rows.join("\n")
}

/**
 * Where progress goes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Progress {
  readonly onRun: (event: RunEvent.RunEvent) => void
  readonly onTree: (event: Tree.Event) => void
  readonly done: () => void
}

/**
 * Shows progress on a stream.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (stream: NodeJS.WriteStream): Progress => {
  if (!stream.isTTY) {
    const print = (line: string | undefined): void => {
      if (line !== undefined) stream.write(`${line}\n`)
    }
    return { onRun: (event) => print(runLine(event)), onTree: (event) => print(treeLine(event)), done: () => {} }
  }
  const update = createLogUpdate(stream)
  let view = empty
  const show = (next: View): void => {
    if (next === view) return
    view = next
    update(draw(view, stream.columns))
  }
  return {
    onRun: (event) => show(onRun(view, event)),
    onTree: (event) => show(onTree(view, event)),
    done: () => update.done()
  }
}
