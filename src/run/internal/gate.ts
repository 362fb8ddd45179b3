/**
 * One dependency: its circuit, and the line of those who wait for their turn.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"

import type { Change, Standing } from "../Dependency.ts"
import * as Circuit from "./circuit.ts"
import { DependencyOpen } from "./dependencyOpen.ts"
import type { Listeners } from "./listeners.ts"

/** Settings whose numbers are in range. */
export interface Checked extends Circuit.Settings {
  readonly spacingMillis: number
}

const reasons = { held: "asked-to-wait", open: "failing", probing: "probing" } as const

/** @since 0.1.0 */
export class Gate {
  readonly name: string
  readonly settings: Checked
  circuit = Circuit.closed
  /** When the last call started, and when the next one may. */
  private last = Number.NEGATIVE_INFINITY
  private next = Number.NEGATIVE_INFINITY
  private readonly line = Latch.makeUnsafe(false)
  private readonly listeners: Listeners<Change>

  constructor(name: string, settings: Checked, listeners: Listeners<Change>) {
    this.name = name
    this.settings = settings
    this.listeners = listeners
  }

  /** Lets the call `id` through, in its turn. `wait` is what may be interrupted. */
  enter(id: number, wait: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>) {
    return Effect.gen({ self: this }, function* () {
      let at = yield* Clock.currentTimeMillis
      let admission = Circuit.admit(this.circuit, at, id)
      const turn = Math.max(at, this.next)
      if (admission._tag === "Admitted") this.next = turn + this.settings.spacingMillis
      if (admission._tag === "Admitted" && turn > at) {
        yield* wait(Effect.timeoutOption(this.line.await, turn - at))
        at = yield* Clock.currentTimeMillis
        admission = Circuit.admit(this.circuit, at, id)
      }
      if (admission._tag === "Refused") {
        const { reason, until } = admission
        return yield* new DependencyOpen({
          dependency: this.name,
          because: reasons[reason],
          ...(until === undefined ? {} : { retryAfterMillis: until - at })
        })
      }
      this.last = at
      this.set(at, admission.circuit, "its pause is over")
      return admission.call
    })
  }

  /** Settles a call; those who wait in line learn at once when there is nothing to wait for. */
  settle(at: number, call: Circuit.Call, verdict: Circuit.Verdict): Effect.Effect<unknown> {
    const after = Circuit.settle(this.circuit, at, call, verdict, this.settings)
    this.set(at, after, this.because(call, verdict))
    const until = untilOf(after.state)
    if (until === undefined || until <= at) return Effect.void
    this.next = this.last + this.settings.spacingMillis
    return this.line.release
  }

  standing(at: number): Standing | undefined {
    const { state } = this.circuit
    const dependency = this.name
    switch (state.status) {
      case "closed":
        return undefined
      case "held":
        return at < state.until ? { dependency, status: "held", until: state.until } : undefined
      case "open":
        return at < state.until
          ? { dependency, status: "open", until: state.until }
          : { dependency, status: "ready-for-probe" }
      case "probing":
        return { dependency, status: "probing" }
    }
  }

  private because({ id }: Circuit.Call, verdict: Circuit.Verdict): string {
    const { state } = this.circuit
    const probe = state.status === "probing" && state.call === id
    if (verdict._tag === "Answered") return "the probe was answered"
    if (verdict._tag === "Nothing") return "the probe ended without an answer"
    if (probe) return "the probe failed"
    const failures = "failures" in state ? state.failures + 1 : 0
    if (failures < this.settings.failures) return "it asked to be left alone"
    return failures === 1 ? "a call failed" : `${failures} calls failed in a row`
  }

  private set(at: number, circuit: Circuit.Circuit, because: string): void {
    const before = this.circuit.state
    const { state } = circuit
    this.circuit = circuit
    if (state.status === before.status && untilOf(state) === untilOf(before)) return
    const { status = "closed", until } = this.standing(at) ?? {}
    const what = {
      closed: "takes every call again",
      held: "gets no call",
      open: "gets no call",
      "ready-for-probe": "is ready for another probe",
      probing: "is probed by one call"
    }
    const left = until === undefined ? "" : ` for ${Duration.format(Duration.millis(Math.ceil(until - at)))}`
    const note = `${this.name} ${what[status]}${left}: ${because}`
    this.listeners.tell({ dependency: this.name, at, status, ...(until === undefined ? {} : { until }), note })
  }
}

const untilOf = (state: Circuit.State): number | undefined => ("until" in state ? state.until : undefined)
