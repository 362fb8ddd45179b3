/** Something outside of a run that remembers what was done to it, and a journal that a process loses at a moment. */
import { Effect, Layer, type Schema } from "effect"
import { Journal } from "espalier/journal"
import { Effects, Plan, Run, type RunEvent, type Worker } from "espalier/run"

import { task, worker } from "./desks.ts"
import { deskOf } from "./living.ts"

/** What is outside: it counts by key what was done. */
export class Bank {
  readonly done: Array<string> = []
  readonly byKey = new Map<string, number>()

  /** Does it, and says how often it has been done. */
  pay(what: string, key = what): number {
    this.done.push(what)
    this.byKey.set(key, (this.byKey.get(key) ?? 0) + 1)
    return this.done.length
  }
}

export type Moment = "before" | "after"

export const lost = new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: "memory" }) })

/**
 * The journal around, as a process has it that is killed at a moment: before or after the commit with the first event that
 * `at` names. Nothing that it appends from then on is written, and it never hears of the last commit.
 */
export const killed = <A, E, R>(
  run: Effect.Effect<A, E, R>,
  at: (event: Journal.Event) => boolean,
  moment: Moment
): Effect.Effect<void, never, R | Journal.Journal> =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    let dead = false
    const append: (typeof journal)["append"] = (append) =>
      Effect.suspend(() => {
        if (dead) return Effect.fail(lost)
        if (!append.events.some(at)) return journal.append(append)
        dead = true
        return moment === "before" ? Effect.fail(lost) : Effect.andThen(journal.append(append), Effect.fail(lost))
      })
    const process = Layer.succeed(Journal.Journal, { ...journal, append })
    yield* Effect.ignoreCause(Effect.provide(run, process))
    if (!dead) return yield* Effect.die(new Error("the process was never killed"))
  })

/** An event of this kind. */
export const tagged =
  (tag: RunEvent.RunEvent["_tag"]) =>
  ({ type }: Journal.Event): boolean =>
    type === tag

type Handle<R> = (order: Worker.Order<unknown>) => Effect.Effect<unknown, unknown, R>

/** A desk with tasks that need nothing of each other, all for one worker, `d.one`. */
export const desk = <R = never>(
  handle: Handle<R>,
  tasks: ReadonlyArray<string> = ["a"],
  options: Parameters<typeof worker>[2] = {},
  settings: Parameters<typeof deskOf>[2] = {}
) =>
  deskOf(
    [worker("one", handle, { size: 4, ...options }) as Worker.Worker<never>],
    Plan.make<string>(tasks.map((id) => task(id))),
    settings
  )

/** What a payment differs in. */
export type Fields = Partial<Effects.Options<string, unknown, never, unknown>> & { readonly schema?: undefined }

/** Pays five, once. */
export const pays = (bank: Bank, fields: Fields = {}) =>
  Effects.perform({
    name: "pay",
    args: { amount: 5 },
    run: (key) => Effect.sync(() => `receipt ${bank.pay("five", key)}`),
    ...fields
  })

/** Says something of an effect, or of another question. */
export const decide = (decision: RunEvent.Decision, answer?: Schema.Json, number = 1) =>
  Run.decide({ review: `r1/review/${number}`, decision, by: "ann", ...(answer === undefined ? {} : { answer }) })
