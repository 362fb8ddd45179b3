/**
 * Takes a run up where its journal left off.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"

import * as Journal from "../../journal/Journal.ts"
import { Notifier } from "../Notifier.ts"
import type { Office } from "../Office.ts"
import type * as Outcome from "../Outcome.ts"
import type { ResumeCause, RunEvent } from "../RunEvent.ts"
import { isFinished, type RunState } from "../RunState.ts"
import { Tiers, type TiersInvalid } from "../Tiers.ts"
import { isSoon, wakeAt } from "./applying/timers.ts"
import { make } from "./executor.ts"
import { attended, isTrace, type Observing } from "./observing.ts"
import { many } from "./problems.ts"
import { readRun } from "./reading.ts"
import {
  RunBusy,
  type RunError,
  type RunNotFound,
  RunQuarantined,
  type RunTooNew,
  type RunUntrusted,
  VersionMismatch
} from "./runErrors.ts"
import { changeTo, mayChange } from "./tiering.ts"

/**
 * How a run is taken up.
 *
 * **Details**
 *
 * - `onEvent`: see `Run.Watching`. `waitForMillis`: how far ahead the next timer may be for it to be waited for here.
 * - `crashes`: a run that was cut off so many times in a row without any progress is put into quarantine instead. Default:
 *   never.
 * - `alone`: a run that was cut off `from` times or more in a row goes through this lane.
 *
 * @since 0.1.0
 */
export interface TakeUp {
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  readonly waitForMillis: number
  readonly crashes?: number | undefined
  readonly alone?:
    | {
        readonly from: number
        readonly lane: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
      }
    | undefined
}

/** What was under way of a run, in a sentence. */
const underWay = ({ tasks }: Pick<RunState, "tasks">): string => {
  const orders = [...tasks.values()].flatMap(({ dispatch }) =>
    dispatch === undefined ? [] : [`${dispatch.id} at ${dispatch.worker}`]
  )
  return orders.length === 0 ? "nothing was under way" : `under way: ${orders.slice(0, 10).join(", ")}`
}

type Untaken =
  | RunBusy
  | RunNotFound
  | VersionMismatch
  | RunTooNew
  | RunUntrusted
  | RunQuarantined
  | TiersInvalid
  | RunError

/**
 * Why a run goes on that nothing was under way of: by what people have said to it, here or in its journal already, or because it
 * is time.
 */
const causeOf = (state: RunState, left: ReadonlyArray<Journal.Left>, sleeps: boolean): ResumeCause => {
  if (left.some(({ type }) => type === "ReviewDecided")) return "decision"
  if (state.status === "running") return state.cancelled === undefined ? "decision" : "message"
  return left.length > 0 || sleeps || state.status === "suspended" ? "message" : "timer"
}

/** What was traced of the decisions among what people have left word of. */
const tracesOf = (left: ReadonlyArray<Journal.Left>): ReadonlyArray<string> =>
  left.flatMap(({ data, type }) => {
    const trace = type === "ReviewDecided" && Predicate.hasProperty(data, "trace") ? data.trace : undefined
    return isTrace(trace) ? [trace] : []
  })

/** @since 0.1.0 */
export const takeUp = (
  office: Office,
  run: string,
  options: TakeUp
): Effect.Effect<Outcome.Outcome, Untaken, Journal.Journal> =>
  Effect.suspend(() =>
    office.live.has(run)
      ? Effect.fail(new RunBusy({ run }))
      : attended(run, (observing) => takenUp(office, run, options, observing))
  )

const takenUp = Effect.fnUntraced(function* (
  office: Office,
  run: string,
  { alone, crashes = Infinity, onEvent, waitForMillis }: TakeUp,
  observing: Observing
): Effect.fn.Return<Outcome.Outcome, Untaken, Journal.Journal> {
  const { desk } = office
  const read = yield* readRun(run, observing.recall)
  const { fold, owing, state } = read
  const known = fold.outcome(state)
  const journal = yield* Journal.Journal
  const { channels } = yield* Notifier
  // Who does not own the journal leaves it to the owner.
  const owes = channels.length > 0 && owing.owed().length > 0 && (yield* Effect.isSuccess(journal.own))
  if (isFinished(state.status) && known !== undefined) {
    if (!owes) return known
    const rest = yield* make(office, journal, run, { observing, onEvent, waitForMillis }, read)
    return yield* rest.tellRest(() => new RunBusy({ run }))
  }
  const left = yield* journal.commands(run)
  const at = Math.floor(yield* Clock.currentTimeMillis)
  const wakes = wakeAt(state)
  const sleeps = state.status === "waiting" && !isSoon(state, at, waitForMillis)
  if (sleeps && left.length === 0 && !owes && known !== undefined) return known
  const executor = yield* make(office, journal, run, { observing, onEvent, waitForMillis }, read)
  const input = desk.decodeInput(fold.input())
  const name = (version: string, definition: string) => `${version} (${definition.slice(0, 12)})`
  const sameDesk = state.desk === desk.name && state.deskVersion === desk.version
  if (!sameDesk || state.definition !== office.definition || EffectResult.isFailure(input)) {
    const mismatch = new VersionMismatch({
      run,
      began: `${state.desk} ${name(state.deskVersion, state.definition)}`,
      current: `${desk.name} ${name(desk.version, office.definition)}`
    })
    yield* executor.suspend("version-mismatch", mismatch.message, at)
    return yield* mismatch
  }
  if (state.status === "running" && state.crashes >= crashes) {
    const reason = underWay(state)
    const quarantined = new RunQuarantined({ run, crashes: state.crashes, reason })
    yield* executor.suspend("quarantined", `Cut off ${state.crashes} times without any progress; ${reason}`, at)
    return yield* quarantined
  }
  const tiers = yield* Tiers
  const configured = mayChange(state, desk.tier, left) ? yield* tiers.of(desk.name) : undefined
  // A step ends with something under way, or with a run that waits for people or for a timer.
  const waited = state.running + state.consulting === 0
  const why =
    state.status === "suspended"
      ? `it was suspended (${state.suspended})`
      : waited
        ? sleeps && left.length === 0
          ? "people are to be told of it"
          : left.length > 0 || wakes === undefined
            ? "what it waited for is decided"
            : "its next timer is due, or will be soon"
        : "it was cut off"
  const rest = state.running === 0 ? "" : `, with ${many(state.running, "order")} under way`
  const note = `Taken up at version ${state.version}: ${why}${rest}`
  const cause: ResumeCause = waited
    ? causeOf(state, left, sleeps)
    : state.status === "suspended"
      ? "message"
      : "crash-recovery"
  const context = yield* Effect.context<never>()
  const begun = observing.begin({ cause, at, context, desk: desk.name, decided: tracesOf(left) })
  const execution = executor.execute(
    [{ _tag: "RunResumed", at, cause, ...begun, note }, ...changeTo(state.tier, configured, tiers.source, at)],
    input.success,
    () => new RunBusy({ run }),
    left
  )
  return yield* alone !== undefined && state.crashes >= alone.from ? alone.lane(execution) : execution
})
