/**
 * The words of a supervisor's decisions: what it knows of a child, what it is told, and what it orders. Both cores, the
 * ordered and the dynamic one, speak them.
 */

/** Which siblings a restart takes along. */
export type Strategy = "one-for-one" | "one-for-all" | "rest-for-one"

/** OTP's permanent, transient and temporary. */
export type Restart = "always" | "on-failure" | "never"

/** When a supervisor ends because its significant children have. */
export type AutoShutdown = "never" | "any-significant" | "all-significant"

/** Every {@link NodeState}. */
export const nodeStates = [
  "starting",
  "running",
  "backing-off",
  "stopping",
  "stopped",
  "failed",
  "gave-up",
  "leaked"
] as const

/**
 * The state of a node.
 *
 * **Details**
 *
 * - `starting`: its init is under way. `running`: it is ready.
 * - `backing-off`: it waits for its restart. `stopping`: it was asked to end.
 * - `stopped`: it ended, or was stopped, and may be started on request. `failed`: so it is, because a restart cannot help.
 * - `gave-up`: a supervisor that spent its intensity and is not restarted.
 * - `leaked`: it did not end in its grace time and was abandoned.
 *
 * @category models
 * @since 0.1.0
 */
export type NodeState = (typeof nodeStates)[number]

/** What the core knows of a child; the shell's own record of the child carries these fields. */
export interface Child {
  readonly id: string
  readonly restart: Restart
  /** its end by itself, when no restart answers it, may end the supervisor */
  readonly significant: boolean
  index: number
  state: NodeState
  incarnation: number
}

/**
 * What an exit, read with the child's restart policy and directive, asks for.
 *
 * `stop` leaves the child stopped, `fail` and `gave-up` leave it so named, `forget` drops its spec.
 */
export type Verdict = "restart" | "stop" | "fail" | "gave-up" | "forget" | "escalate"

/** Why a request was refused. */
export type Refusal =
  | "not-running"
  | "not-found"
  | "already-started"
  | "already-present"
  | "running"
  | "restarting"
  | "max-children"
  | "ignored"
  | "dynamic-supervisor"
  | "not-replaceable"
  | "other-kind"
  | "other-service"
  | "called-from-init"
  | "called-from-stop"

/** The answer to a request. */
export type Answer<F> =
  | { readonly _tag: "Done" }
  | { readonly _tag: "Refused"; readonly reason: Refusal }
  | { readonly _tag: "Failed"; readonly failure: F }

/** Where an answer goes; the shell knows what is behind it. */
export type Reply<F> = (answer: Answer<F>) => void

/** Why a supervisor gives up: its intensity is spent, or a child's directive or the end of its backoff says so. */
export type WhyGaveUp = "intensity" | "escalated"

/** How a supervisor ended. */
export type Ending<C, F> =
  | { readonly _tag: "Stopped" }
  | { readonly _tag: "GaveUp"; readonly child: C; readonly failure: F }
  | { readonly _tag: "AutoShutdown"; readonly child: C }
  | { readonly _tag: "StartFailed"; readonly failure: F }

export type Message<C, F> =
  | { readonly _tag: "Boot" }
  | { readonly _tag: "Stop"; readonly returns: boolean }
  | { readonly _tag: "Started"; readonly child: C; readonly incarnation: number }
  | { readonly _tag: "Ignored"; readonly child: C; readonly incarnation: number }
  | Ended<C, F>
  | { readonly _tag: "Retry"; readonly child: C; readonly incarnation: number; readonly now: number }
  | { readonly _tag: "StartChild"; readonly child: C; readonly reply: Reply<F> }
  | {
      readonly _tag: "StopChild" | "RestartChild" | "RemoveChild"
      readonly id: string
      readonly reply: Reply<F>
    }
  | {
      readonly _tag: "ReplaceChild"
      readonly id: string
      /** gives the child another spec, at once or for its next start; or says why not */
      readonly replace: (child: C, atOnce: boolean) => Refusal | undefined
      readonly reply: Reply<F>
    }

/** A child's incarnation is over: it never became ready (`StartFailed`), or it did (`Exited`). */
export interface Ended<C, F> {
  readonly _tag: "StartFailed" | "Exited"
  readonly child: C
  readonly incarnation: number
  /** what to do about it; without meaning for an ordered stop */
  readonly verdict: Verdict
  /** milliseconds before the restart, 0 = at once */
  readonly delayMillis: number
  /** nanoseconds of the monotonic clock */
  readonly now: number
  /** something of it may still be running; it was fenced off */
  readonly leaked: boolean
  readonly failure: F
}

/** The orders. None of them may call `transition` before it returns. */
export interface Emit<C, F> {
  /** begin incarnation `child.incarnation` */
  start(child: C): void
  /** end the current incarnation, by the child's own shutdown policy; `returns`: to be started again by the same job */
  stop(child: C, returns: boolean): void
  /** send `Retry` after the delay; with 0 after everybody else had a turn */
  retryLater(child: C, delayMillis: number): void
  cancelRetry(child: C): void
  /** the child is down and nothing will start it, unless somebody asks */
  settled(child: C): void
  /** one unit was spent on `child` */
  restarting(child: C, left: number): void
  /** the child is no longer part of the tree */
  forgotten(child: C): void
  gaveUp(child: C, failure: F, why: WhyGaveUp): void
  /** the significant `child` has ended: so does the supervisor */
  autoShutdown(child: C): void
  ready(): void
  ended(ending: Ending<C, F>): void
}
