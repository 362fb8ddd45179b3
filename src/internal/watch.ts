/**
 * Watching a place: until its final end, or every step of it.
 *
 * **Invariants**
 *
 * - W1. A watch gives one notice, when the place is down and nothing will start it; a restart gives none.
 * - W2. A notice is decided in the tree's order of decisions, after everything that came before the end, and only if the
 *   place is still down by then.
 * - W3. A watch that was closed gives nothing, even if its notice is on the way.
 * - W4. An actor's watches belong to its place: a restart keeps them, its final end closes them.
 */
import * as Cause from "effect/Cause"
import * as Equal from "effect/Equal"

import type { ActorMount } from "./actorMount.ts"
import { Notice } from "./envelope.ts"
import type { ExitReason } from "./model.ts"
import type { Incarnation, Mount, Observer } from "./mount.ts"

/** Why a watched place ended; `Gone` when it had ended before it was watched. */
export type Reason = ExitReason | { readonly _tag: "Gone" }

/** The notice of a final end. */
export interface Down {
  readonly _tag: "Down"
  readonly path: ReadonlyArray<string>
  /** the last incarnation */
  readonly incarnation: number
  readonly reason: Reason
}

/** One step in the life of a watched place. */
export type Change =
  | Down
  | { readonly _tag: "Started" | "Restarted"; readonly path: ReadonlyArray<string>; readonly incarnation: number }
  | {
      readonly _tag: "Ended"
      readonly path: ReadonlyArray<string>
      readonly incarnation: number
      readonly reason: ExitReason
    }
  | { readonly _tag: "Missed"; readonly path: ReadonlyArray<string>; readonly count: number }

const gone: Reason = { _tag: "Gone" }

/** Whether an end is none that was meant to be. */
export const isFailure = (reason: Reason): boolean =>
  reason._tag === "Error" || reason._tag === "Killed" || reason._tag === "GaveUp"

/** The cause behind a reason, empty for a clean one. */
export const causeOf = (reason: Reason): Cause.Cause<unknown> =>
  reason._tag === "Normal" || reason._tag === "Gone" ? Cause.empty : (reason.cause ?? Cause.empty)

/** Waits for the final end of a place. */
export class DownWatch implements Observer {
  private reason: Reason = gone
  private open = true
  private readonly mount: Mount
  private readonly tell: (down: Down) => void

  constructor(mount: Mount, tell: (down: Down) => void) {
    this.mount = mount
    this.tell = tell
    mount.observe(this)
    if (mount.settled) this.settled()
  }

  over(_life: Incarnation, reason: ExitReason): void {
    this.reason = reason
  }

  settled(): void {
    const { mount } = this
    mount.runtime.post(() => {
      if (!this.open || !mount.settled) return // W2, W3
      this.close()
      this.tell({ _tag: "Down", path: mount.path, incarnation: mount.incarnation, reason: this.reason }) // W1
    })
  }

  close(): void {
    this.open = false
    this.mount.unobserve(this)
  }
}

/** Follows every step of a place, from how it stands now until it is given up. */
export class ChangeWatch implements Observer {
  private reason: Reason = gone
  /** the next incarnation that is ready is one more, not the first */
  private again: boolean
  /** it was said that it is down */
  private told = false
  private open = true
  private readonly mount: Mount
  private readonly offer: (change: Change) => void
  private readonly end: () => void

  constructor(mount: Mount, offer: (change: Change) => void, end: () => void) {
    this.mount = mount
    this.offer = offer
    this.end = end
    const { life } = mount
    this.again = !mount.settled && mount.incarnation > (life === undefined ? 0 : 1)
    mount.observe(this)
    if (life?.ready === true && !life.ordered) {
      this.offer({ _tag: "Started", path: mount.path, incarnation: life.number })
      this.again = true
    }
    if (mount.settled) this.settled()
    if (mount.revoked) this.revoked()
  }

  up(life: Incarnation): void {
    this.told = false
    this.offer({ _tag: this.again ? "Restarted" : "Started", path: this.mount.path, incarnation: life.number })
    this.again = true
  }

  over(life: Incarnation, reason: ExitReason): void {
    this.reason = reason
    this.told = false
    this.again = true
    this.offer({ _tag: "Ended", path: this.mount.path, incarnation: life.number, reason })
  }

  settled(): void {
    const { mount } = this
    mount.runtime.post(() => {
      if (!this.open || !mount.settled || this.told) return
      this.told = true
      this.offer({ _tag: "Down", path: mount.path, incarnation: mount.incarnation, reason: this.reason })
      this.reason = gone
      this.again = false
    })
  }

  revoked(): void {
    this.mount.runtime.post(() => {
      if (this.open) this.end()
      this.close()
    })
  }

  close(): void {
    this.open = false
    this.mount.unobserve(this)
  }
}

// -------------------------------------------------------------------------------------------------- notices as messages

/** What an actor wants to be told: a payload for one of its rpcs, or how to make it. */
export interface Wish {
  readonly rpc: string
  readonly payload: unknown
}

/** The watches of one actor, by what they watch (W4). */
class Watches implements Observer {
  readonly byTarget = new Map<Mount, Telling>()
  readonly watcher: ActorMount

  constructor(watcher: ActorMount) {
    this.watcher = watcher
    watcher.observe(this)
  }

  settled(): void {
    for (const telling of this.byTarget.values()) telling.close()
  }

  remove(target: Mount): void {
    this.byTarget.delete(target)
    if (this.byTarget.size > 0) return
    this.watcher.unobserve(this)
    known.delete(this.watcher)
  }
}

/** One watch of an actor: its notice is a message. */
class Telling {
  /** the incarnation of the watcher that asked last */
  by: number
  private wish: Wish
  private down: Down | undefined
  private notice: Notice | undefined
  private readonly target: Mount
  private readonly watches: Watches
  private readonly watch: DownWatch

  constructor(watches: Watches, target: Mount, wish: Wish) {
    this.watches = watches
    this.target = target
    this.wish = wish
    this.by = watches.watcher.incarnation
    watches.byTarget.set(target, this)
    this.watch = new DownWatch(target, (down) => this.tell(down))
  }

  /** Whether its notice is no longer waiting to be handled. */
  get read(): boolean {
    return this.notice !== undefined && this.watches.watcher.isHandling(this.notice)
  }

  get rpc(): string {
    return this.wish.rpc
  }

  is(wish: Wish): boolean {
    return this.wish.rpc === wish.rpc && Equal.equals(this.wish.payload, wish.payload)
  }

  /** A new incarnation wants to be told something else; a notice that waits is told anew. */
  change(wish: Wish): void {
    this.wish = wish
    this.notice?.cancel()
    if (this.down !== undefined) this.tell(this.down)
  }

  close(): void {
    this.watch.close()
    this.notice?.cancel() // W3
    if (this.watches.byTarget.get(this.target) === this) this.watches.remove(this.target)
  }

  private tell(down: Down): void {
    const { watcher } = this.watches
    const { rpc, payload } = this.wish
    this.down = down
    let made: unknown
    try {
      const given = typeof payload === "function" ? (payload as (down: Down) => unknown)(down) : payload
      made = watcher.messageOf(rpc)!.make(given)
    } catch (defect) {
      this.close()
      return watcher.misread(rpc, defect)
    }
    this.notice = new Notice(rpc, made, () => this.close())
    watcher.notify(this.notice)
  }
}

const known = new WeakMap<ActorMount, Watches>()

/** Has an actor told of the end of a place. Answers with the wish that stands against it, if there is one. */
export const tell = (watcher: ActorMount, target: Mount, wish: Wish): string | undefined => {
  // Nobody would read it.
  if (watcher.settled) return undefined
  let watches = known.get(watcher)
  if (watches === undefined) known.set(watcher, (watches = new Watches(watcher)))
  const standing = watches.byTarget.get(target)
  if (standing === undefined || standing.read) {
    void new Telling(watches, target, wish)
    return undefined
  }
  if (!standing.is(wish)) {
    if (standing.by === watcher.incarnation) return standing.rpc
    standing.change(wish)
  }
  standing.by = watcher.incarnation
  return undefined
}

/** Ends such a watch; what was not handled by now never is. */
export const untell = (watcher: ActorMount, target: Mount): void => known.get(watcher)?.byTarget.get(target)?.close()
