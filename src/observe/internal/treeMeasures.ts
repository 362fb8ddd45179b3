/**
 * What the events of a tree measure.
 *
 * **Invariants**
 *
 * - T1. What is known of a node is forgotten when the node is removed: a tree whose children come and go needs no more memory
 *   than its children do.
 * - T2. Whoever has the gauges of a tree hears when there may be a kind of node that was not there, or none any more of one that was;
 *   of the second of a kind they hear nothing.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"

import { errorTypeOfKind } from "../../agent/internal/errorTypes.ts"
import * as Failure from "../../Failure.ts"
import type { DeadLetterReason, Event, ExitReason, Snapshot } from "../../Tree.ts"
import { measured, type Measurement, nothing, seconds } from "./measures/measurement.ts"
import { attribute as a, word } from "./names.ts"
import { kindPath } from "./treeSamples.ts"

interface Known {
  readonly kind: Snapshot["kind"]
  readonly path: string
  startedAt: number | undefined
  /** what its last incarnation failed of */
  error: string | undefined
  readonly children: Map<string, Known>
}

const exits: Readonly<Record<ExitReason["_tag"], string>> = {
  Normal: "normal",
  Shutdown: "shutdown",
  GaveUp: "error",
  Error: "error",
  Killed: "killed"
}

/** What a mailbox did with a message that it had no room for. */
const policies: Partial<Record<DeadLetterReason, string>> = {
  "dropped-new": "drop_new",
  "dropped-old": "drop_old",
  "mailbox-full": "fail"
}

/** What is known of why something ended, without what it says. */
const errorIn = (cause: Cause.Cause<unknown>): string => {
  if (cause.reasons.some(Cause.isDieReason)) return "crash"
  const { kind } = Failure.classify(cause, () => undefined)
  return errorTypeOfKind({ kind })
}

/** @since 0.1.0 */
export class TreeMeasures {
  private readonly root: Known
  /** how many nodes there are of each kind */
  private readonly kinds = new Map<string, number>()
  private changed = false
  /** How a node that is not known yet stands; `undefined` when it is gone already. */
  private readonly look: (path: ReadonlyArray<string>) => Snapshot | undefined

  constructor(root: Snapshot, look: (path: ReadonlyArray<string>) => Snapshot | undefined) {
    this.root = knownOf(root, "")
    this.look = look
    this.arrived(this.root)
    this.changed = false
  }

  /** Whether there may be other kinds of nodes than when this was asked before. T2 */
  takeChanged(): boolean {
    const { changed } = this
    this.changed = false
    return changed
  }

  private arrived(known: Known): void {
    const before = this.kinds.get(known.path) ?? 0
    this.kinds.set(known.path, before + 1)
    if (before === 0) this.changed = true
    for (const child of known.children.values()) this.arrived(child)
  }

  private gone(known: Known): void {
    const left = (this.kinds.get(known.path) ?? 1) - 1
    if (left > 0) this.kinds.set(known.path, left)
    else {
      this.kinds.delete(known.path)
      this.changed = true
    }
    for (const child of known.children.values()) this.gone(child)
  }

  /** How many nodes are known. */
  get size(): number {
    const count = (known: Known): number =>
      Array.from(known.children.values(), count).reduce((sum, each) => sum + each, 1)
    return count(this.root)
  }

  happened(event: Event): ReadonlyArray<Measurement> {
    switch (event._tag) {
      case "Starting":
      case "Ignored":
        this.find(event.path)
        return nothing
      case "Started": {
        const known = this.find(event.path)
        if (known !== undefined) known.startedAt = event.at
        return nothing
      }
      case "Exited":
        return this.exited(event.path, event.at, event.reason)
      case "StartFailed": {
        const known = this.find(event.path)
        if (known !== undefined) known.error = errorIn(event.cause)
        return nothing
      }
      case "Restarting":
        return this.restarting(event.path, event.strategy)
      case "GaveUp": {
        const target = event.path.length === 1 ? "root_stop" : "parent"
        const supervisor = this.find(event.path)?.path
        return [measured("espalier.supervisor.escalations", 1, { [a.supervisor]: supervisor, [a.target]: target })]
      }
      case "DeadLetter":
        return this.deadLetter(event.path, event.reason)
      case "Replaced":
        this.changed = true
        return nothing
      case "Missed":
        this.changed = true
        return [
          measured("espalier.telemetry.dropped", event.count, {
            [a.signal]: "tree_event",
            [a.dropReason]: "slow_reader"
          })
        ]
      case "Removed":
        this.removed(event.path)
        return nothing
      default:
        return nothing
    }
  }

  private exited(path: ReadonlyArray<string>, at: number, reason: ExitReason): ReadonlyArray<Measurement> {
    const known = this.find(path)
    if (known === undefined) return nothing
    const { kind, startedAt } = known
    known.error = reason._tag === "Normal" ? undefined : errorOfExit(reason)
    known.startedAt = undefined
    // What came at run time is gone with the incarnation of its supervisor. T1
    if (kind === "supervisor") {
      for (const child of known.children.values()) this.gone(child)
      known.children.clear()
    }
    // Whoever reads late may know of the next incarnation only.
    if (startedAt === undefined || startedAt > at) return nothing
    return [
      measured("espalier.supervisor.child.lifetime", seconds(at - startedAt), {
        [a.childKind]: kind,
        [a.exitReason]: exits[reason._tag]
      })
    ]
  }

  private removed(path: ReadonlyArray<string>): void {
    const siblings = this.parentOf(path)?.children
    const id = path.at(-1)!
    const known = siblings?.get(id)
    if (known === undefined) this.changed = true
    else this.gone(known)
    siblings?.delete(id) // T1
  }

  private restarting(path: ReadonlyArray<string>, strategy: string): ReadonlyArray<Measurement> {
    const known = this.find(path)
    return [
      measured("espalier.supervisor.restarts", 1, {
        [a.supervisor]: this.parentOf(path)?.path,
        [a.childKind]: known?.kind,
        [a.strategy]: word(strategy),
        [a.errorType]: known?.error
      })
    ]
  }

  private deadLetter(path: ReadonlyArray<string>, reason: DeadLetterReason): ReadonlyArray<Measurement> {
    // Of an actor that is gone it is not known whether its id is one of many.
    const parent = this.parentOf(path)?.path
    const of = { [a.kindPath]: this.find(path)?.path ?? (parent === undefined ? undefined : `${parent}/*`) }
    const dead = measured("espalier.deadletter.messages", 1, { ...of, [a.deadReason]: word(reason) })
    const policy = policies[reason]
    if (policy === undefined) return [dead]
    return [dead, measured("espalier.mailbox.rejections", 1, { ...of, [a.overflowPolicy]: policy })]
  }

  private parentOf(path: ReadonlyArray<string>): Known | undefined {
    return path.length < 2 ? undefined : this.find(path.slice(0, -1))
  }

  /** What is known of a node; one that is new is looked at once. */
  private find(path: ReadonlyArray<string>): Known | undefined {
    let known = this.root
    for (let depth = 1; depth < path.length; depth++) {
      const id = path[depth]!
      let child = known.children.get(id)
      if (child === undefined) {
        const snapshot = this.look(path.slice(0, depth + 1))
        if (snapshot === undefined) return undefined
        known.children.set(id, (child = knownOf(snapshot, known.path)))
        this.arrived(child)
      }
      known = child
    }
    return known
  }
}

const knownOf = (snapshot: Snapshot, above: string): Known => {
  const path = kindPath(above, snapshot)
  return {
    kind: snapshot.kind,
    path,
    startedAt: snapshot.since,
    error: undefined,
    children: new Map(snapshot.children.map((child) => [child.id, knownOf(child, path)]))
  }
}

const errorOfExit = (reason: ExitReason): string => {
  switch (reason._tag) {
    case "GaveUp":
      return "restart_intensity"
    case "Killed":
      return "cancelled"
    default:
      return errorIn(reason._tag === "Normal" ? Cause.empty : (reason.cause ?? Cause.empty))
  }
}
