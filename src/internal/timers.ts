/**
 * Messages that an actor sends itself later. A timer belongs to one incarnation, and so does every tick it sent.
 *
 * **Invariants**
 *
 * - I1. A tick reaches only the incarnation whose timer sent it: what is queued when that one is over is taken back.
 * - I2. A key has one timer. Setting or cancelling it takes back a tick that is queued already.
 * - I3. A repeated timer has at most one tick that is not handled yet.
 * - I4. Nothing fires once the incarnation was asked to stop or has crashed, whatever its finalizers take.
 */
import * as Duration from "effect/Duration"

import { Envelope } from "./envelope.ts"
import type { Incarnation, Mount } from "./mount.ts"

/** Where ticks go. */
export interface Ticked extends Mount {
  tell(envelope: Envelope, taken: () => void): void
  tellFirst(envelope: Envelope): boolean
}

/** A message from a timer, until it is handled or dropped. */
class Tick extends Envelope {
  private readonly done: () => void

  constructor(rpc: string, payload: unknown, done: () => void) {
    super(rpc, payload, undefined)
    this.done = done
  }

  override answer(): void {
    this.done()
  }

  override dropped(): void {
    this.done()
  }
}

export interface TimerSpec {
  readonly rpc: string
  readonly payload: unknown
  /** the rpc is a control message */
  readonly urgent: boolean
  readonly millis: number
  readonly repeats: boolean
}

interface Timer {
  readonly spec: TimerSpec
  tick: Tick | undefined
  cancelSleep: () => void
  /** nanoseconds, when it fires next */
  due: number
}

export class TimerTable {
  private readonly timers = new Map<string, Timer>()
  private readonly mount: Ticked
  private readonly life: Incarnation

  constructor(mount: Ticked, life: Incarnation) {
    this.mount = mount
    this.life = life
    const observer = {
      over: (over: Incarnation): void => {
        if (over !== life) return
        mount.unobserve(observer)
        for (const key of this.timers.keys()) this.cancel(key)
      }
    }
    mount.observe(observer)
  }

  set(key: string, spec: TimerSpec): void {
    this.cancel(key)
    if (this.idle) return
    const timer: Timer = {
      spec,
      tick: undefined,
      cancelSleep: noop,
      due: this.mount.runtime.nanos() + spec.millis * 1e6
    }
    this.timers.set(key, timer)
    this.sleep(key, timer)
  }

  cancel(key: string): void {
    const timer = this.timers.get(key)
    if (timer === undefined) return
    this.timers.delete(key)
    timer.cancelSleep()
    timer.tick?.cancel()
  }

  /** I4 */
  private get idle(): boolean {
    const { exit, ordered, over, struck } = this.life
    return over || ordered || struck !== undefined || exit !== undefined
  }

  private sleep(key: string, timer: Timer): void {
    const { runtime } = this.mount
    const millis = Math.max(0, (timer.due - runtime.nanos()) / 1e6)
    timer.cancelSleep = runtime.later(Duration.millis(millis), () => this.fire(key, timer))
  }

  private fire(key: string, timer: Timer): void {
    if (this.idle) return
    const { repeats, millis } = timer.spec
    if (repeats) {
      // Counted from when it was due, so it does not drift; what a stalled process missed is not made up for.
      const missed = Math.floor((this.mount.runtime.nanos() - timer.due) / (millis * 1e6))
      timer.due += (Math.max(0, missed) + 1) * millis * 1e6
      this.sleep(key, timer)
    }
    if (timer.tick === undefined) this.send(key, timer)
  }

  private send(key: string, timer: Timer): void {
    const { payload, repeats, rpc, urgent } = timer.spec
    const tick = new Tick(rpc, payload, () => {
      timer.tick = undefined
      if (!repeats && this.timers.get(key) === timer) this.timers.delete(key)
    })
    timer.tick = tick
    if (urgent) this.mount.tellFirst(tick)
    else this.mount.tell(tick, noop)
  }
}

const noop = (): void => {}

const tables = new WeakMap<Incarnation, TimerTable>()

/** The timers of an incarnation. */
export const timersOf = (mount: Ticked, life: Incarnation): TimerTable => {
  let table = tables.get(life)
  if (table === undefined) tables.set(life, (table = new TimerTable(mount, life)))
  return table
}
