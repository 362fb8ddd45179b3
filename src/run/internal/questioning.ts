/**
 * What the work of one order asks people.
 *
 * A question that is asked for the first time is written down, and then the work waits. As soon as nothing of it is under way
 * that is recorded, the order is parked: its work is interrupted, and begins anew once there is an answer, which it gets when it
 * asks the same again.
 *
 * **Invariants**
 *
 * - Q1. What is asked again under the same key and about the same is answered from the record, or waited for: it is never asked
 *   twice.
 * - Q2. What is asked under the same key about something else is put anew, in the place of what was asked before.
 * - Q3. The work is not interrupted while it asks something else, while it reads what was answered, or while an effect of it is
 *   under way.
 * - Q4. So nothing is asked from inside an effect: it would wait for its own end.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Decision, Of, ReviewKind, ReviewReason, RunEvent } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import type { News } from "./news.ts"
import { ReviewError } from "./reviewErrors.ts"

/**
 * What is asked.
 *
 * **Details**
 *
 * - `key`: the same whenever it is asked again; `digest`: of what it is about.
 * - `after`: a question of this key whose answer does not hold any more: it is put anew.
 * - `edited`: the questions in which what is proposed was changed before. `grant`: the standing grant that covers it.
 */
export interface Asked {
  readonly key: string
  readonly name: string
  readonly kind: ReviewKind
  readonly reason: ReviewReason
  readonly allowed: ReadonlyArray<Decision>
  readonly facts: { readonly [name: string]: Schema.Json }
  readonly digest: string
  readonly editable?: ReadonlyArray<string> | undefined
  readonly edited?: ReadonlyArray<string> | undefined
  readonly after?: string | undefined
  readonly grant?: string | undefined
  readonly note: string
}

/** How a question was closed, by the event that says so. */
export type Closing = Of<"ReviewDecided"> | Of<"ReviewExpired"> | Of<"ReviewWithdrawn">

/** What is being done outside by whoever asks, if anything is. */
export const Doing = Context.Reference<string | undefined>("espalier/run/Doing", { defaultValue: () => undefined })

/** What is needed of the order, and of the run. */
export interface Around {
  readonly task: string
  readonly dispatch: string
  readonly state: () => RunState
  readonly tell: (news: News) => void
  /** The event of a version. */
  readonly recorded: (version: number) => Effect.Effect<RunEvent | undefined, { readonly message: string }>
  /** Why nothing may be asked any more. */
  readonly refusal: () => string | undefined
  /** Waits for what is under way outside. */
  readonly rest: Effect.Effect<void>
  /** Begins to look for the moment in which the work can be interrupted. */
  readonly park: () => void
}

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** So many turns others get that are about to ask or to do something, too. */
const turns = 4

/** @since 0.1.0 */
export class Questions {
  private readonly around: Around
  private readonly opening = new Map<string, Deferred.Deferred<void>>()
  /** What is being found out before the work goes on, or asks. */
  private readonly deciding = new Set<Deferred.Deferred<void>>()
  private waiting = 0
  private looking = false
  /** Whether the work is being interrupted for a question. */
  parking = false

  constructor(around: Around) {
    this.around = around
  }

  /** How a question was closed, as soon as it is. Waits for ever otherwise: the work is interrupted. */
  ask(asked: Asked): Effect.Effect<Closing, ReviewError> {
    return Effect.uninterruptibleMask((restore) => this.asking(restore, asked))
  }

  private asking(restore: Restore, asked: Asked): Effect.Effect<Closing, ReviewError> {
    return Effect.flatMap(Doing, (doing): Effect.Effect<Closing, ReviewError> => {
      const { key, name } = asked
      const other = this.opening.get(key)
      if (other !== undefined) return Effect.andThen(restore(Deferred.await(other)), this.asking(restore, asked))
      const { asks, closed, reviews } = this.around.state()
      const known = asks.get(key)
      const open = known === undefined ? undefined : reviews.get(known.review)
      const over = known === undefined ? undefined : closed.get(known.review)
      const isAnswered = over !== undefined && over.digest === asked.digest && known?.review !== asked.after
      if (isAnswered && over.action !== "halt") return restore(this.read(name, over.version))
      // Q4
      const held = doing === undefined ? undefined : `people cannot be asked while ${doing} is done; ask before it`
      if (held !== undefined) return Effect.fail(new ReviewError({ name, reason: "refused", detail: held }))
      if (isAnswered || (open !== undefined && open.digest === asked.digest)) return restore(this.wait)
      const refused = this.around.refusal()
      if (refused !== undefined) return Effect.fail(new ReviewError({ name, reason: "refused", detail: refused }))
      return this.open(restore, asked, known?.review)
    })
  }

  private open(restore: Restore, all: Asked, supersedes: string | undefined): Effect.Effect<Closing, ReviewError> {
    const { dispatch, task } = this.around
    const { key, name, ...asked } = all
    const ack = Deferred.makeUnsafe<string | undefined>()
    const written = Deferred.makeUnsafe<void>()
    this.opening.set(key, written)
    const { after: _, editable, edited, grant, ...rest } = asked
    this.around.tell({
      _tag: "ReviewOpened",
      review: "",
      task,
      dispatch,
      key,
      ...rest,
      ...(editable === undefined ? {} : { editable }),
      ...(edited === undefined ? {} : { edited }),
      ...(grant === undefined ? {} : { grant }),
      ...(supersedes === undefined ? {} : { supersedes }),
      ack
    })
    // Whoever is interrupted here does not know whether it was written; asked again, it is known.
    return restore(Deferred.await(ack)).pipe(
      Effect.onExit(() =>
        Effect.sync(() => {
          this.opening.delete(key)
          Deferred.doneUnsafe(written, Effect.void)
        })
      ),
      Effect.flatMap((refused) =>
        refused === undefined
          ? // What a grant covers is decided in the same moment.
            grant === undefined
            ? restore(this.wait)
            : this.asking(restore, all)
          : Effect.fail(new ReviewError({ name, reason: "refused", detail: refused }))
      )
    )
  }

  private readonly wait: Effect.Effect<never> = Effect.suspend(() => {
    this.waiting += 1
    if (!this.looking) {
      this.looking = true
      this.around.park()
    }
    return Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (this.waiting -= 1)))
  })

  /** Done when the work can be interrupted, or nobody waits any more: then it says false. */
  readonly quiet: Effect.Effect<boolean> = Effect.gen({ self: this }, function* () {
    for (let still = 0; still < turns;) {
      yield* Effect.yieldNow
      still += 1
      for (const written of this.opening.values()) {
        yield* Deferred.await(written)
        still = 0
      }
      for (const over of this.deciding) {
        yield* Deferred.await(over)
        still = 0
      }
      yield* this.around.rest
      if (this.waiting === 0) {
        this.looking = false
        return false
      }
    }
    this.parking = true
    return true
  })

  /** Keeps the work from being interrupted for a question until this is over. */
  during<A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const over = Deferred.makeUnsafe<void>()
      this.deciding.add(over)
      return Effect.onExit(effect, () =>
        Effect.sync(() => {
          this.deciding.delete(over)
          Deferred.doneUnsafe(over, Effect.void)
        })
      )
    })
  }

  /** How a question was closed, by the event of a version. */
  read(name: string, version: number): Effect.Effect<Closing, ReviewError> {
    const busy = (detail: string) => new ReviewError({ name, reason: "busy", detail })
    const found = this.around.recorded(version)
    return this.during(found).pipe(
      Effect.mapError(({ message }) => busy(`what was answered cannot be read: ${message}`)),
      Effect.flatMap((event) => {
        switch (event?._tag) {
          case "ReviewDecided":
          case "ReviewExpired":
          case "ReviewWithdrawn":
            return Effect.succeed(event)
          case undefined:
            // It is being written: the work begins anew once it is.
            return this.wait
          default:
            return Effect.fail(busy(`there is no record of the answer at version ${version}`))
        }
      })
    )
  }
}
