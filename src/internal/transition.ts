/**
 * The decisions of one static supervisor: a function from a message to orders, with no clock, no randomness and no
 * Effect in it.
 *
 * `transition(state, message, emit)` reads only the state and the message, changes only the state (in place: a copied
 * state costs as much as the group is large, at every step), and says what must happen through `emit`. The shell
 * carries the orders out and answers with messages. Times, reasons, verdicts and delays are computed by the shell and
 * arrive inside the messages.
 *
 * **Invariants**
 *
 * - T1. At most one job is under way, with at most one child in flight (being started or being stopped).
 * - T2. A message that needs a decision while a job is under way waits in `postponed`, in order of arrival; only `Stop`
 *   replaces a job.
 * - T3. A message that names an older incarnation than the child's own changes nothing.
 * - T4. Every order `start` and `stop` is answered by exactly one of `Started`, `Ignored`, `StartFailed`, `Exited`.
 * - T5. Every reply that came in with a request is answered exactly once.
 * - T6. `ended` is emitted once, after the last child is down; nothing is emitted after it.
 *
 * @see https://www.erlang.org/doc/apps/stdlib/supervisor.html
 */
import * as RestartIntensity from "../RestartIntensity.ts"
import type {
  Answer,
  AutoShutdown,
  Child,
  Emit,
  Ended,
  Ending,
  Message,
  Refusal,
  Reply,
  Strategy,
  WhyGaveUp
} from "./decisions.ts"

export type * from "./decisions.ts"

interface Job<C, F> {
  readonly kind: "boot" | "restart" | "stop" | "request"
  /** children from `stopAt` down to `stopTo` are still to be stopped */
  stopAt: number
  readonly stopTo: number
  /** then those from `startAt` up to `startTo` are to be started */
  startAt: number
  startTo: number
  current: C | undefined
  /** left out of the start */
  readonly except: C | undefined
  reply: Reply<F> | undefined
  readonly request: "StartChild" | "StopChild" | "RestartChild" | "RemoveChild" | undefined
}

export interface State<C extends Child, F> {
  readonly strategy: Strategy
  readonly intensity: RestartIntensity.RestartIntensity
  readonly autoShutdown: AutoShutdown
  phase: "idle" | "starting" | "running" | "stopping" | "ended"
  /** start order; a removed child leaves a hole, so that indices stay valid */
  order: Array<C | undefined>
  holes: number
  /** made when a request first asks for a child by its id: most supervisors never need it */
  byId: Map<string, C> | undefined
  job: Job<C, F> | undefined
  postponed: Array<Message<C, F>>
  /** how many of `postponed` were taken out at its head */
  taken: number
  /** the exits in `postponed`, by child: such a child is down, whatever its state still says */
  readonly exits: Map<C, Ended<C, F>>
  /** why those children failed that wait for their retry */
  readonly causes: Map<C, F>
  ending: Ending<C, F>
  /** the parent stops it only to start it again */
  returns: boolean
  /** a group whose start broke off and waits for the retry of `child` */
  interrupted: { readonly child: C; readonly low: number; readonly high: number } | undefined
}

export const make = <C extends Child, F>(
  strategy: Strategy,
  intensity: RestartIntensity.RestartIntensity,
  children: ReadonlyArray<C>,
  autoShutdown: AutoShutdown = "never"
): State<C, F> => {
  const state: State<C, F> = {
    strategy,
    intensity,
    autoShutdown,
    phase: "idle",
    order: [],
    holes: 0,
    byId: undefined,
    job: undefined,
    postponed: [],
    taken: 0,
    exits: new Map(),
    causes: new Map(),
    ending: { _tag: "Stopped" },
    returns: false,
    interrupted: undefined
  }
  for (const child of children) append(state, child)
  return state
}

const append = <C extends Child, F>(state: State<C, F>, child: C): void => {
  child.index = state.order.length
  state.order.push(child)
  state.byId?.set(child.id, child)
}

/** The child of that id. */
export const find = <C extends Child, F>(state: State<C, F>, id: string): C | undefined => {
  if (state.byId === undefined) {
    state.byId = new Map()
    for (const child of state.order) if (child !== undefined) state.byId.set(child.id, child)
  }
  return state.byId.get(id)
}

export const transition = <C extends Child, F>(state: State<C, F>, message: Message<C, F>, emit: Emit<C, F>): void => {
  handle(state, message, emit)
  while (state.job === undefined && state.taken < state.postponed.length) handle(state, takeWaiting(state), emit) // T2
  if (state.job === undefined) compact(state)
}

/** The next message that waits. What waits behind it stays where a decision to give up finds it. */
const takeWaiting = <C extends Child, F>(state: State<C, F>): Message<C, F> => {
  const message = state.postponed[state.taken++]!
  if (state.taken === state.postponed.length) {
    state.postponed = []
    state.taken = 0
  } else if (state.taken > 1024 && state.taken * 2 > state.postponed.length) {
    state.postponed = state.postponed.slice(state.taken)
    state.taken = 0
  }
  return message
}

/** Closes the holes that removed children left. */
const compact = <C extends Child, F>(state: State<C, F>): void => {
  // An interrupted group remembers its bounds as indices: it is waited for.
  if (state.holes <= 16 || state.holes * 2 <= state.order.length || state.interrupted !== undefined) return
  state.order = state.order.filter((some) => some !== undefined)
  state.holes = 0
  state.order.forEach((some, index) => (some!.index = index))
}

const handle = <C extends Child, F>(state: State<C, F>, message: Message<C, F>, emit: Emit<C, F>): void => {
  switch (message._tag) {
    case "Boot": {
      if (state.phase !== "idle") return
      state.phase = "starting"
      begin(state, emit, { kind: "boot", startAt: 0, startTo: state.order.length - 1 })
      return
    }
    case "Stop":
      return stop(state, message.returns, emit)
    case "Started":
      return started(state, message.child, message.incarnation, "running", emit)
    case "Ignored":
      return started(state, message.child, message.incarnation, "stopped", emit)
    case "StartFailed":
    case "Exited":
      return ended(state, message, emit)
    case "Retry": {
      const { child } = message
      if (child.state !== "backing-off" || child.incarnation !== message.incarnation) return // T3
      if (state.job !== undefined) state.postponed.push(message)
      else restart(state, child, message.now, causeOf(state, child), emit)
      return
    }
    case "StartChild":
    case "StopChild":
    case "RestartChild":
    case "RemoveChild":
    case "ReplaceChild": {
      if (state.phase !== "starting" && state.phase !== "running") return message.reply(refused("not-running"))
      if (state.job !== undefined) state.postponed.push(message)
      else request(state, message, emit)
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- jobs

const begin = <C extends Child, F>(
  state: State<C, F>,
  emit: Emit<C, F>,
  job: Partial<Job<C, F>> & Pick<Job<C, F>, "kind">
): void => {
  state.job = {
    stopAt: -1,
    stopTo: 0,
    startAt: 0,
    startTo: -1,
    current: undefined,
    except: undefined,
    reply: undefined,
    request: undefined,
    ...job
  }
  advance(state, emit)
}

const isUp = (child: Child): boolean => child.state === "running" || child.state === "starting"

/** Takes the job's next step; returns when a child is in flight or the job is over. */
const advance = <C extends Child, F>(state: State<C, F>, emit: Emit<C, F>): void => {
  const job = state.job
  if (job === undefined) return
  while (job.current === undefined) {
    if (job.stopAt >= job.stopTo) {
      const child = state.order[job.stopAt--]
      if (child === undefined) continue
      const gone = state.exits.get(child)
      if (gone !== undefined && gone.incarnation === child.incarnation) {
        // It died by itself, and its exit waits: nobody is there to be stopped, and the job covers it.
        stopped(state, job, child, gone.leaked, emit)
      } else if (isUp(child)) {
        job.current = child
        child.state = "stopping"
        emit.stop(child, job.kind === "stop" ? state.returns : job.kind === "restart" && child.restart !== "never")
      } else if (child.state === "backing-off") {
        child.state = "stopped"
        waitNoMore(state, child, emit)
      }
    } else if (job.startAt <= job.startTo) {
      const child = state.order[job.startAt++]
      if (child === undefined || child === job.except || isUp(child)) continue
      if (job.kind === "restart" && child.restart === "never") continue
      if (child.state === "backing-off") waitNoMore(state, child, emit)
      job.current = child
      child.incarnation += 1
      child.state = "starting"
      emit.start(child)
    } else {
      state.job = undefined
      if (job.kind === "boot") {
        state.phase = "running"
        emit.ready()
      } else if (job.kind === "stop") {
        state.phase = "ended"
        emit.ended(state.ending)
      }
      return
    }
  }
}

/** Answers the request behind the job, if there is one that still waits. */
const answer = <C extends Child, F>(job: Job<C, F>, with_: Answer<F>): void => {
  const reply = job.reply
  job.reply = undefined // T5
  reply?.(with_)
}

const done: Answer<never> = { _tag: "Done" }

const refused = (reason: Refusal): Answer<never> => ({ _tag: "Refused", reason })

const forget = <C extends Child, F>(state: State<C, F>, child: C, emit: Emit<C, F>): void => {
  if (state.order[child.index] !== child) return
  state.byId?.delete(child.id)
  state.order[child.index] = undefined
  state.holes += 1
  emit.forgotten(child)
}

// ----------------------------------------------------------------------------------------------------- answers of children

const started = <C extends Child, F>(
  state: State<C, F>,
  child: C,
  incarnation: number,
  to: "running" | "stopped",
  emit: Emit<C, F>
): void => {
  if (child.incarnation !== incarnation) return // T3
  const job = state.job
  if (child.state === "stopping") {
    // A stop overtook the answer. One that is up will still exit; one that declined to start is down already.
    if (to === "stopped") isDown(state, child, false, emit)
    return
  }
  if (child.state !== "starting") return
  child.state = to
  if (to === "stopped") emit.settled(child)
  if (job?.current !== child) return
  job.current = undefined
  if (to === "stopped" && child.restart === "never") forget(state, child, emit)
  answer(job, done)
  advance(state, emit)
}

/** An ordered stop is complete. */
const isDown = <C extends Child, F>(state: State<C, F>, child: C, leaked: boolean, emit: Emit<C, F>): void => {
  const job = state.job
  if (job?.current !== child) {
    child.state = leaked ? "leaked" : "stopped"
    return
  }
  job.current = undefined
  stopped(state, job, child, leaked, emit)
  advance(state, emit)
}

/** What a job has to say about a child that it found, or made, down. */
const stopped = <C extends Child, F>(
  state: State<C, F>,
  job: Job<C, F>,
  child: C,
  leaked: boolean,
  emit: Emit<C, F>
): void => {
  child.state = leaked ? "leaked" : "stopped"
  if (child.restart === "never" && (job.kind === "restart" || job.kind === "request")) forget(state, child, emit)
  else if (job.kind === "request") emit.settled(child)
  if (job.kind === "request") answer(job, done)
}

const ended = <C extends Child, F>(state: State<C, F>, message: Ended<C, F>, emit: Emit<C, F>): void => {
  const { child } = message
  if (state.exits.get(child) === message) state.exits.delete(child)
  if (child.incarnation !== message.incarnation) return // T3
  if (child.state === "stopping") return isDown(state, child, message.leaked, emit)
  if (child.state === "starting" && message._tag === "StartFailed") return startFailed(state, message, emit)
  if (child.state !== "running") return
  const job = state.job
  if (job !== undefined) {
    if (child.index <= job.stopAt && child.index >= job.stopTo) {
      // It died before its turn to be stopped came: the job covers it.
      child.state = message.leaked ? "leaked" : "stopped"
      if (child.restart === "never" && job.kind === "restart") forget(state, child, emit)
    } else {
      state.postponed.push(message)
      state.exits.set(child, message)
    }
    return
  }
  if (state.phase !== "running") return
  switch (message.verdict) {
    case "restart": {
      if (message.delayMillis > 0) {
        wait(state, child, message, emit)
      } else restart(state, child, message.now, message.failure, emit)
      return
    }
    case "escalate":
      return giveUp(state, child, message.failure, "escalated", emit)
    case "forget":
    case "stop":
    case "fail":
    case "gave-up": {
      const { verdict } = message
      child.state = verdict === "fail" ? "failed" : verdict === "gave-up" ? "gave-up" : "stopped"
      if (verdict === "forget") forget(state, child, emit)
      else emit.settled(child)
      if (endsWith(state, child)) shutDown(state, child, emit)
    }
  }
}

const startFailed = <C extends Child, F>(state: State<C, F>, message: Ended<C, F>, emit: Emit<C, F>): void => {
  const { child, failure } = message
  const job = state.job
  child.state = message.leaked ? "leaked" : "failed"
  if (job?.current !== child) return
  job.current = undefined
  if (job.kind === "boot") {
    state.phase = "stopping"
    state.ending = { _tag: "StartFailed", failure }
    refuseWaiting(state)
    return begin(state, emit, { kind: "stop", stopAt: child.index - 1 })
  }
  if (job.kind === "request") {
    if (job.request === "StartChild") forget(state, child, emit)
    else emit.settled(child)
    answer(job, { _tag: "Failed", failure })
    return advance(state, emit)
  }
  switch (message.verdict) {
    case "restart": {
      wait(state, child, message, emit)
      if (state.strategy === "one-for-one") return advance(state, emit)
      const low = state.strategy === "one-for-all" ? 0 : child.index
      state.interrupted = { child, low, high: job.startTo }
      // one-for-all begins again from the first; rest-for-one goes on from the one that failed
      return state.strategy === "one-for-all"
        ? begin(state, emit, { kind: "restart", stopAt: child.index - 1 })
        : begin(state, emit, { kind: "restart" })
    }
    case "escalate":
      return giveUp(state, child, failure, "escalated", emit)
    case "forget":
    case "stop":
    case "fail":
    case "gave-up": {
      // The rest of the group starts without it.
      if (message.verdict === "forget") forget(state, child, emit)
      else emit.settled(child)
      return endsWith(state, child) ? shutDown(state, child, emit) : advance(state, emit)
    }
  }
}

// ------------------------------------------------------------------------------------------------------ the decisions

/** The child waits for its retry. */
const wait = <C extends Child, F>(state: State<C, F>, child: C, message: Ended<C, F>, emit: Emit<C, F>): void => {
  child.state = "backing-off"
  state.causes.set(child, message.failure)
  emit.retryLater(child, message.delayMillis)
}

const waitNoMore = <C extends Child, F>(state: State<C, F>, child: C, emit: Emit<C, F>): void => {
  state.causes.delete(child)
  if (state.interrupted?.child === child) state.interrupted = undefined
  emit.cancelRetry(child)
}

/** What the child that waited had failed with. */
const causeOf = <C extends Child, F>(state: State<C, F>, child: C): F | undefined => {
  const cause = state.causes.get(child)
  state.causes.delete(child)
  return cause
}

const restart = <C extends Child, F>(
  state: State<C, F>,
  child: C,
  now: number,
  failure: F | undefined,
  emit: Emit<C, F>
): void => {
  if (!RestartIntensity.record(state.intensity, now)) return giveUp(state, child, failure, "intensity", emit)
  child.state = "stopped"
  if (state.interrupted?.child === child) state.interrupted = undefined
  emit.restarting(child, RestartIntensity.left(state.intensity, now))
  const last = state.order.length - 1
  switch (state.strategy) {
    case "one-for-one":
      return begin(state, emit, { kind: "restart", startAt: child.index, startTo: child.index })
    case "one-for-all":
      return begin(state, emit, { kind: "restart", stopAt: last, startTo: last })
    case "rest-for-one":
      return begin(state, emit, {
        kind: "restart",
        stopAt: last,
        stopTo: child.index,
        startAt: child.index,
        startTo: last
      })
  }
}

const giveUp = <C extends Child, F>(
  state: State<C, F>,
  child: C,
  failure: F | undefined,
  why: WhyGaveUp,
  emit: Emit<C, F>
): void => {
  child.state = "failed"
  state.phase = "stopping"
  state.ending = { _tag: "GaveUp", child, failure: failure as F }
  emit.gaveUp(child, failure as F, why)
  refuseWaiting(state)
  begin(state, emit, { kind: "stop", stopAt: state.order.length - 1 })
}

/** Whether the supervisor ends with `child`, which has ended by itself and will not be started again. */
const endsWith = <C extends Child, F>(state: State<C, F>, child: C): boolean => {
  if (!child.significant || state.autoShutdown === "never") return false
  return state.autoShutdown === "any-significant" || !state.order.some((some) => isNeeded(state, some))
}

/** Whether a significant child runs, or will without anybody asking. */
const isNeeded = <C extends Child, F>({ job, interrupted }: State<C, F>, child: C | undefined): boolean => {
  if (child === undefined || !child.significant) return false
  if (isUp(child) || child.state === "backing-off") return true
  const { index, restart } = child
  if (restart === "never") return false // a group leaves it out
  if (job !== undefined && index >= job.startAt && index <= job.startTo) return true
  return interrupted !== undefined && index >= interrupted.low && index <= interrupted.high
}

const shutDown = <C extends Child, F>(state: State<C, F>, child: C, emit: Emit<C, F>): void => {
  state.phase = "stopping"
  state.ending = { _tag: "AutoShutdown", child }
  emit.autoShutdown(child)
  refuseWaiting(state)
  begin(state, emit, { kind: "stop", stopAt: state.order.length - 1 })
}

const stop = <C extends Child, F>(state: State<C, F>, returns: boolean, emit: Emit<C, F>): void => {
  if (state.phase === "stopping" || state.phase === "ended") return
  state.returns = returns
  const job = state.job
  if (job !== undefined) answer(job, refused("not-running"))
  const current = job?.current
  state.phase = "stopping"
  state.ending = { _tag: "Stopped" }
  refuseWaiting(state)
  if (current?.state === "starting") {
    current.state = "stopping"
    emit.stop(current, state.returns)
  }
  begin(state, emit, { kind: "stop", stopAt: state.order.length - 1, current })
}

/** Ends the supervisor at once, without its children: whoever does so ends them. Who waits for an answer gets it. */
export const abandon = <C extends Child, F>(state: State<C, F>): void => {
  const job = state.job
  state.phase = "ended"
  state.job = undefined
  if (job !== undefined) answer(job, refused("not-running"))
  refuseWaiting(state)
}

/** What the supervisor is waiting for that only `child` can give: that it is ready, or that it is down. */
export const awaits = <C extends Child, F>(state: State<C, F>, child: C): "ready" | "down" | undefined => {
  const job = state.job
  if (job === undefined) return undefined
  if (job.current === child) return child.state === "starting" ? "ready" : "down"
  return child.index <= job.stopAt && child.index >= job.stopTo ? "down" : undefined
}

const refuseWaiting = <C extends Child, F>(state: State<C, F>): void => {
  const waiting = state.postponed.slice(state.taken)
  state.postponed = []
  state.taken = 0
  state.exits.clear()
  for (const message of waiting) {
    if ("reply" in message) message.reply(refused("not-running"))
    // An exit that waited is not lost: its child is down already, and must not be stopped again.
    else if (message._tag === "Exited") bury(message)
  }
}

/** Marks a child down whose exit waited, unless it was started again since. */
const bury = <C extends Child, F>({ child, incarnation, leaked }: Ended<C, F>): void => {
  if (child.incarnation === incarnation && child.state === "running") child.state = leaked ? "leaked" : "stopped" // T3
}

const request = <C extends Child, F>(
  state: State<C, F>,
  message: Extract<Message<C, F>, { readonly reply: Reply<F> }>,
  emit: Emit<C, F>
): void => {
  const { reply } = message
  if (message._tag === "StartChild") {
    const present = find(state, message.child.id)
    if (present !== undefined) return reply(refused(isUp(present) ? "already-started" : "already-present"))
    append(state, message.child)
    const at = message.child.index
    return begin(state, emit, { kind: "request", request: "StartChild", startAt: at, startTo: at, reply })
  }
  const child = find(state, message.id)
  if (child === undefined) return reply(refused("not-found"))
  const at = child.index
  switch (message._tag) {
    case "StopChild": {
      if (isUp(child)) {
        return begin(state, emit, { kind: "request", request: "StopChild", stopAt: at, stopTo: at, reply })
      }
      if (child.state === "backing-off") return cancelRetry(state, child, reply, emit)
      if (child.restart === "never") forget(state, child, emit)
      return reply(done)
    }
    case "RestartChild": {
      if (isUp(child)) return reply(refused("running"))
      if (child.state === "backing-off") return reply(refused("restarting"))
      return begin(state, emit, { kind: "request", request: "RestartChild", startAt: at, startTo: at, reply })
    }
    case "RemoveChild": {
      if (isUp(child)) return reply(refused("running"))
      if (child.state === "backing-off") return reply(refused("restarting"))
      forget(state, child, emit)
      return reply(done)
    }
    case "ReplaceChild": {
      // What waits for its restart was judged by the spec that it had, and goes on by it until it starts.
      const refusal = message.replace(child, !isUp(child) && child.state !== "backing-off")
      return reply(refusal === undefined ? done : refused(refusal))
    }
  }
}

/** Stops a child that waits for its retry. A group that waited with it starts without it. */
const cancelRetry = <C extends Child, F>(state: State<C, F>, child: C, reply: Reply<F>, emit: Emit<C, F>): void => {
  const group = state.interrupted
  waitNoMore(state, child, emit)
  child.state = "stopped"
  emit.settled(child)
  if (child.restart === "never") forget(state, child, emit)
  reply(done)
  if (group?.child !== child) return
  begin(state, emit, { kind: "restart", startAt: group.low, startTo: group.high, except: child })
}
