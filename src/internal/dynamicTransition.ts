/**
 * The decisions of one dynamic supervisor: children that come and go, in no order, each for itself.
 *
 * Written as `transition.ts` is, with the same messages and orders: it reads only the state and the message, changes only
 * the state, and says through `emit` what must happen. What it leaves out is what makes the static core large: there is
 * no order, no group and no job, so starts, stops and restarts of different children are under way side by side. What it
 * adds is the slots.
 *
 * **Invariants**
 *
 * - D1. `children` holds exactly the children that occupy a slot: from the start to the end of all tries to restart.
 * - D2. A child that is down for good is forgotten; nothing here refers to it afterwards.
 * - D3. A message about an older incarnation, or about a child that is gone, changes nothing.
 * - D4. Every reply that came in with a request is answered exactly once.
 * - D5. `ended` is emitted once, after the last child is down; nothing is emitted after it.
 * - D6. A message costs the same however many children there are, except `Stop` and a give-up.
 *
 * @see https://www.erlang.org/doc/apps/stdlib/supervisor.html "simple_one_for_one"
 */
import * as RestartIntensity from "../RestartIntensity.ts"
import type * as core from "./transition.ts"

/** A request for a new child. `make` is called when there is room for it, and only then. */
export interface Start<C, F> {
  readonly _tag: "Start"
  readonly make: () => Made<C, F>
  readonly reply: core.Reply<F>
}

/** A new child, or why there is none. */
export type Made<C, F> =
  | { readonly _tag: "Child"; readonly child: C }
  | { readonly _tag: "Failed"; readonly failure: F }

export type Message<C, F> = core.Message<C, F> | Start<C, F>

/** The orders; those of the static core that a dynamic supervisor gives too. */
export type Emit<C, F> = Pick<
  core.Emit<C, F>,
  "start" | "stop" | "retryLater" | "cancelRetry" | "restarting" | "settled" | "forgotten" | "gaveUp" | "ready"
> & { ended(ending: Ending<C, F>): void }

export type Ending<C, F> = Extract<core.Ending<C, F>, { readonly _tag: "Stopped" | "GaveUp" }>

export interface State<C extends core.Child, F> {
  readonly intensity: RestartIntensity.RestartIntensity
  /** children that there may be at a time; `Infinity` for any number */
  readonly maxChildren: number
  phase: "idle" | "running" | "stopping" | "ended"
  /** oldest first */
  readonly children: Map<string, C>
  /** who waits for a new child to be ready */
  readonly starts: Map<C, core.Reply<F>>
  /** who waits for a child to be down */
  readonly stops: Map<C, Array<core.Reply<F>>>
  /** why those children failed that wait for their retry */
  readonly causes: Map<C, F>
  ending: Ending<C, F>
}

export const make = <C extends core.Child, F>(
  intensity: RestartIntensity.RestartIntensity,
  maxChildren: number
): State<C, F> => ({
  intensity,
  maxChildren,
  phase: "idle",
  children: new Map(),
  starts: new Map(),
  stops: new Map(),
  causes: new Map(),
  ending: { _tag: "Stopped" }
})

export const transition = <C extends core.Child, F>(
  state: State<C, F>,
  message: Message<C, F>,
  emit: Emit<C, F>
): void => {
  switch (message._tag) {
    case "Boot": {
      if (state.phase !== "idle") return
      state.phase = "running"
      return emit.ready()
    }
    case "Stop":
      return stopAll(state, { _tag: "Stopped" }, emit)
    case "Started": {
      const { child } = message
      if (!isCurrent(state, child, message.incarnation) || child.state !== "starting") return // a stop overtook it
      child.state = "running"
      return answerStart(state, child, done)
    }
    case "Ignored": {
      const { child } = message
      if (!isCurrent(state, child, message.incarnation)) return
      return gone(state, child, refused("ignored"), emit)
    }
    case "StartFailed":
    case "Exited":
      return ended(state, message, emit)
    case "Retry": {
      const { child } = message
      if (!isCurrent(state, child, message.incarnation) || child.state !== "backing-off") return
      const failure = state.causes.get(child)
      state.causes.delete(child)
      return restart(state, child, message.now, failure, emit)
    }
    case "Start":
    case "StartChild":
    case "StopChild":
    case "RestartChild":
    case "RemoveChild":
      return request(state, message, emit)
  }
}

const done: core.Answer<never> = { _tag: "Done" }

const refused = (reason: core.Refusal): core.Answer<never> => ({ _tag: "Refused", reason })

const isCurrent = <C extends core.Child, F>(state: State<C, F>, child: C, incarnation: number): boolean =>
  child.incarnation === incarnation && state.children.get(child.id) === child // D3

const answerStart = <C extends core.Child, F>(state: State<C, F>, child: C, answer: core.Answer<F>): void => {
  const reply = state.starts.get(child)
  if (reply === undefined) return
  state.starts.delete(child) // D4
  reply(answer)
}

const answerStops = <C extends core.Child, F>(state: State<C, F>, child: C, answer: core.Answer<F>): void => {
  const replies = state.stops.get(child)
  if (replies === undefined) return
  state.stops.delete(child) // D4
  for (const reply of replies) reply(answer)
}

const begin = <C extends core.Child, F>(child: C, emit: Emit<C, F>): void => {
  child.incarnation += 1
  child.state = "starting"
  emit.start(child)
}

// -------------------------------------------------------------------------------------------------------- requests

const request = <C extends core.Child, F>(
  state: State<C, F>,
  message: Extract<Message<C, F>, { readonly reply: core.Reply<F> }>,
  emit: Emit<C, F>
): void => {
  const { reply } = message
  if (state.phase !== "running") return reply(refused("not-running"))
  switch (message._tag) {
    case "Start": {
      if (state.children.size >= state.maxChildren) return reply(refused("max-children"))
      const made = message.make()
      if (made._tag === "Failed") return reply(made)
      const { child } = made
      state.children.set(child.id, child)
      state.starts.set(child, reply)
      return begin(child, emit)
    }
    case "StopChild": {
      const child = state.children.get(message.id)
      if (child === undefined) return reply(refused("not-found"))
      const waiting = state.stops.get(child)
      if (waiting !== undefined) waiting.push(reply)
      else state.stops.set(child, [reply])
      return stop(state, child, emit)
    }
    case "StartChild":
    case "RestartChild":
    case "RemoveChild":
      return reply(refused("dynamic-supervisor"))
  }
}

/** Stops a child that is up, or gives up a restart that is due. */
const stop = <C extends core.Child, F>(state: State<C, F>, child: C, emit: Emit<C, F>): void => {
  if (child.state === "backing-off") {
    emit.cancelRetry(child)
    child.state = "stopped"
    gone(state, child, undefined, emit)
  } else if (child.state !== "stopping") {
    child.state = "stopping"
    emit.stop(child, false)
  }
}

// --------------------------------------------------------------------------------------------- answers of children

const ended = <C extends core.Child, F>(state: State<C, F>, message: core.Ended<C, F>, emit: Emit<C, F>): void => {
  const { child, failure } = message
  if (!isCurrent(state, child, message.incarnation)) return
  const stopping = child.state === "stopping"
  // A start that was asked for is tried once; so is one that somebody cut short.
  if (stopping || state.starts.has(child)) {
    child.state = message.leaked ? "leaked" : stopping ? "stopped" : "failed"
    return gone(state, child, { _tag: "Failed", failure }, emit)
  }
  switch (message.verdict) {
    case "restart": {
      // After a failed restart the others have their turn, even without a delay.
      if (message.delayMillis === 0 && message._tag === "Exited") {
        return restart(state, child, message.now, failure, emit)
      }
      child.state = "backing-off"
      state.causes.set(child, failure)
      return emit.retryLater(child, message.delayMillis)
    }
    case "escalate":
      return giveUp(state, child, failure, "escalated", emit)
    case "forget":
    case "stop":
    case "fail":
    case "gave-up": {
      child.state = message.verdict === "fail" ? "failed" : message.verdict === "gave-up" ? "gave-up" : "stopped"
      return gone(state, child, undefined, emit)
    }
  }
}

/** A child is down for good: its slot is free, and whoever waited for it is told. */
const gone = <C extends core.Child, F>(
  state: State<C, F>,
  child: C,
  start: core.Answer<F> | undefined,
  emit: Emit<C, F>
): void => {
  state.children.delete(child.id)
  state.causes.delete(child)
  if (state.phase === "running") emit.forgotten(child)
  else emit.settled(child) // it goes with its supervisor: nobody removed it
  if (start !== undefined) answerStart(state, child, start)
  answerStops(state, child, done)
  endWhenEmpty(state, emit)
}

const restart = <C extends core.Child, F>(
  state: State<C, F>,
  child: C,
  now: number,
  failure: F | undefined,
  emit: Emit<C, F>
): void => {
  if (!RestartIntensity.record(state.intensity, now)) return giveUp(state, child, failure, "intensity", emit)
  child.state = "stopped"
  emit.restarting(child, RestartIntensity.left(state.intensity, now))
  begin(child, emit)
}

// ---------------------------------------------------------------------------------------------------------- the end

const giveUp = <C extends core.Child, F>(
  state: State<C, F>,
  child: C,
  failure: F | undefined,
  why: core.WhyGaveUp,
  emit: Emit<C, F>
): void => {
  child.state = "failed"
  state.children.delete(child.id)
  emit.gaveUp(child, failure as F, why)
  emit.settled(child)
  stopAll(state, { _tag: "GaveUp", child, failure: failure as F }, emit)
}

const stopAll = <C extends core.Child, F>(state: State<C, F>, ending: Ending<C, F>, emit: Emit<C, F>): void => {
  if (state.phase === "stopping" || state.phase === "ended") return
  state.phase = "stopping"
  state.ending = ending
  refuseWaiting(state)
  for (const child of state.children.values()) stop(state, child, emit)
  endWhenEmpty(state, emit)
}

const refuseWaiting = <C extends core.Child, F>(state: State<C, F>): void => {
  for (const child of state.starts.keys()) answerStart(state, child, refused("not-running"))
  for (const child of state.stops.keys()) answerStops(state, child, refused("not-running"))
}

const endWhenEmpty = <C extends core.Child, F>(state: State<C, F>, emit: Emit<C, F>): void => {
  if (state.phase !== "stopping" || state.children.size > 0) return
  state.phase = "ended" // D5
  emit.ended(state.ending)
}

/** Ends the supervisor at once, without its children: whoever does so ends them. Who waits for an answer gets it. */
export const abandon = <C extends core.Child, F>(state: State<C, F>): void => {
  state.phase = "ended"
  refuseWaiting(state)
}
