/**
 * The data that the tree shows of itself: exit reasons, events, snapshots. Public through `Tree`.
 */
import type * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"

import type { Mailbox } from "../Mailbox.ts"
import type { AutoShutdown, NodeState, Restart, Strategy } from "./transition.ts"

export type { AutoShutdown, NodeState, Restart, Strategy }

/**
 * Why an incarnation ended, as the runtime classifies it.
 *
 * **Details**
 *
 * - `Normal`: its effect succeeded and nobody had asked it to stop.
 * - `Shutdown`: it was asked to stop, or it failed with `Failure.Shutdown`. `cause` holds what else went wrong on the
 *   way down.
 * - `GaveUp`: a supervisor that spent its restart intensity.
 * - `Error`: a typed failure or a defect.
 * - `Killed`: interrupted by somebody else than its supervisor, or abandoned after its grace time.
 *
 * @category models
 * @since 0.1.0
 */
export type ExitReason =
  | { readonly _tag: "Normal" }
  | { readonly _tag: "Shutdown"; readonly cause: Cause.Cause<unknown> | undefined; readonly detail?: unknown }
  | { readonly _tag: "GaveUp"; readonly path: ReadonlyArray<string>; readonly cause: Cause.Cause<unknown> }
  | { readonly _tag: "Error"; readonly cause: Cause.Cause<unknown> }
  | { readonly _tag: "Killed"; readonly cause: Cause.Cause<unknown> }

/**
 * What happened in the tree, one step.
 *
 * **Details**
 *
 * Every event has the `path` of the node it is about and `at`, milliseconds since the epoch.
 *
 * - `Starting`, `Started`, `Ignored`, `StartFailed`: an incarnation's init begins and ends.
 * - `Exited`: an incarnation and its finalizers are finished. `ordered` tells a stop by the supervisor.
 * - `BackingOff`: the restart waits for `delay`.
 * - `Restarting`: one unit of the supervisor's intensity was spent on this child; `left` remain.
 * - `Stopping`: the node was asked to stop.
 * - `Failed`: a directive (or the failure's kind) says that a restart cannot help; the spec is kept.
 * - `GaveUp`: a supervisor gave up on `child`. `why` is `intensity` when a further restart would exceed it, `escalated`
 *   when the child's directive said so or its backoff was over; `restarts` are the times that spent the budget, in
 *   milliseconds. `path` is the supervisor's; that of the error of the same name leads to the child.
 * - `AutoShutdown`: a supervisor ends, cleanly, because its significant `child` has ended.
 * - `Replaced`: the child has another spec, which it follows from that incarnation on.
 * - `Leaked`: it did not stop in its grace time. It was abandoned and fenced: its refs and mailbox no longer reach it.
 *   `LeakEnded` when it ends after all.
 * - `Removed`: the spec is gone.
 * - `DeadLetter`: a message that nobody will handle.
 * - `Missed`: this subscriber was too slow for `count` events.
 * - `Warning`: the spec makes something unlikely to work as meant.
 *
 * @category models
 * @since 0.1.0
 */
export type Event = { readonly path: ReadonlyArray<string>; readonly at: number } & EventBody

/** What an event says beside its path and time. */
export type EventBody =
  | { readonly _tag: "Starting" | "Started" | "Ignored"; readonly incarnation: number }
  | { readonly _tag: "StartFailed"; readonly incarnation: number; readonly cause: Cause.Cause<unknown> }
  | {
      readonly _tag: "Exited"
      readonly incarnation: number
      readonly reason: ExitReason
      readonly ordered: boolean
    }
  | { readonly _tag: "BackingOff"; readonly delay: Duration.Duration; readonly until: number }
  | { readonly _tag: "Restarting"; readonly left: number; readonly strategy: Strategy }
  | { readonly _tag: "Stopping" }
  | { readonly _tag: "Failed"; readonly reason: ExitReason }
  | {
      readonly _tag: "GaveUp"
      readonly child: string
      readonly why: "intensity" | "escalated"
      readonly cause: Cause.Cause<unknown>
      readonly intensity: { readonly restarts: number; readonly within: Duration.Duration }
      readonly restarts: ReadonlyArray<number>
    }
  | { readonly _tag: "AutoShutdown"; readonly child: string }
  | { readonly _tag: "Leaked" | "LeakEnded" | "Replaced"; readonly incarnation: number }
  | { readonly _tag: "Removed" }
  | { readonly _tag: "DeadLetter"; readonly message: string; readonly reason: DeadLetterReason }
  | { readonly _tag: "Missed"; readonly count: number }
  | { readonly _tag: "Warning"; readonly warning: string }

/**
 * Why a message was not handled.
 *
 * **Details**
 *
 * - `stopped`: the actor is gone. `crashed`: it crashed on it, or dropped it in a crash. `interrupted`: it was stopped
 *   while it handled it.
 * - `dropped-new`, `dropped-old`, `mailbox-full`: its mailbox was full, see `Mailbox.WhenFull`.
 * - `cleared`: it was in a stash that the actor cleared.
 *
 * @category models
 * @since 0.1.0
 */
export type DeadLetterReason =
  | "stopped"
  | "crashed"
  | "dropped-new"
  | "dropped-old"
  | "mailbox-full"
  | "interrupted"
  | "cleared"

/**
 * One node of the tree and what is below it, at one moment.
 *
 * **Details**
 *
 * - `restarts`: automatic restarts that this node's own ends caused since its parent last started. A node that a group
 *   restart took along has a further incarnation, and no further restart.
 * - `since`: when it became ready, in milliseconds since the epoch, while it is `running`.
 * - `mailbox`: messages that wait, for an actor. `capacity`: how many may, where its mailbox has a bound; see `Mailbox`.
 * - `instance`: it is one of many of its kind under a dynamic or a partitioned supervisor, and its id says no more.
 * - `tasks`: tasks that run, for a task supervisor. A task is no node: it has no place that could be found again.
 * - `intensity`: what a supervisor may still spend.
 * - `retryAt`: when it is tried again, in milliseconds since the epoch, while it is `backing-off`.
 * - `leaked`: incarnations of this node that were abandoned and have not ended.
 *
 * @category models
 * @since 0.1.0
 */
export interface Snapshot {
  readonly id: string
  readonly path: ReadonlyArray<string>
  readonly kind: "supervisor" | "worker" | "actor" | "tasks" | "layer" | "process" | "thread"
  readonly state: NodeState
  readonly restart: Restart
  readonly incarnation: number
  readonly restarts: number
  readonly leaked: number
  readonly retryAt?: number
  readonly since?: number
  readonly mailbox?: number
  readonly capacity?: number
  readonly instance?: true
  readonly tasks?: number
  readonly intensity?: { readonly restarts: number; readonly within: Duration.Duration; readonly left: number }
  readonly children: ReadonlyArray<Snapshot>
}

/**
 * One child of a supervisor, at one moment.
 *
 * @category models
 * @since 0.1.0
 */
export type ChildInfo = Pick<Snapshot, "id" | "path" | "kind" | "state" | "restart" | "incarnation">

/**
 * How many children a supervisor has.
 *
 * **Details**
 *
 * `specs`: all of them, whatever their state. `active`: those that are running. `supervisors` and `workers` (everything
 * else, actors too) divide `specs`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Counts {
  readonly specs: number
  readonly active: number
  readonly supervisors: number
  readonly workers: number
}

/**
 * The spec of a child as it is followed, defaults filled in.
 *
 * **Details**
 *
 * - `backoff`, `onFailure`: whether it has one of its own.
 * - `supervisor`: what a supervisor has beside; `mailbox`: that of an actor.
 *
 * @category models
 * @since 0.1.0
 */
export interface ChildSpec {
  readonly id: string
  readonly kind: Snapshot["kind"]
  readonly restart: Restart
  readonly significant: boolean
  readonly shutdown: Duration.Duration | "abandon"
  readonly initTimeout: Duration.Duration
  readonly backoff: boolean
  readonly backoffReset: Duration.Duration
  readonly onFailure: boolean
  readonly supervisor?: {
    readonly strategy: Strategy
    readonly intensity: { readonly restarts: number; readonly within: Duration.Duration }
    readonly autoShutdown: AutoShutdown
  }
  readonly mailbox?: Mailbox
}
