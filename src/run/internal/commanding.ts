/**
 * What people say to a run: decisions, its end, a change of its tier.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Journal from "../../journal/Journal.ts"
import { Redaction } from "../../Redaction.ts"
import * as Autonomy from "../Autonomy.ts"
import * as Budget from "../Budget.ts"
import type * as Office from "../Office.ts"
import { Decision, type RunEvent } from "../RunEvent.ts"
import { alreadyAsked, applySaid } from "./apply.ts"
import { notHere } from "./inbox.ts"
import { Listed } from "./listing.ts"
import { commit, fromRecord, refusal, toRecord } from "./log.ts"
import type { News } from "./news.ts"
import { owned } from "./plain.ts"
import { decoder, sentences } from "./problems.ts"
import { foldRun } from "./reading.ts"
import { redacted } from "./redacting.ts"
import { CommandRefused, type RunError, type RunNotFound, type RunTooNew, type RunUntrusted } from "./runErrors.ts"
import { configuration } from "./tiering.ts"
import { commandOf, type FromOutside } from "./word.ts"

/** What somebody said, in the words of whoever said it. */
const named = (run: string, said: Pick<FromOutside, "_tag"> & { readonly review?: string }): string => {
  switch (said._tag) {
    case "ReviewDecided":
      return `the decision of ${said.review}`
    case "AutonomyChanged":
      return `the change of the tier of ${run}`
    case "CancelRequested":
      return `the cancelling of ${run}`
  }
}

/** What is wrong with what somebody says, if it could not be read back from the journal. */
const unreadable = (news: News): string | undefined => {
  const { ack: _, ...told } = news
  const read = fromRecord(toRecord({ ...told, at: 0 } as RunEvent))
  if (EffectResult.isSuccess(read)) return undefined
  return read.failure._tag === "Damaged" ? read.failure.reason : refusal("", 0, read.failure).message
}

/** What somebody says, without the secrets in it. */
const told = (news: FromOutside, rules: Redaction): FromOutside => {
  const { at: _, ...rest } = redacted({ ...news, at: 0 }, rules)
  return rest as FromOutside
}

/** Why a review is not decided once more: somebody has, by word that the run has not taken in yet. */
const claimedBefore = (
  journal: Journal.Journal["Service"],
  run: string,
  news: FromOutside
): Effect.Effect<string | undefined, Journal.JournalError> =>
  news._tag !== "ReviewDecided"
    ? Effect.undefined
    : Effect.map(journal.reviews(run), (reviews) =>
        reviews.some(({ claimed, review }) => review === news.review && claimed !== undefined)
          ? `${JSON.stringify(news.review)} has been decided already`
          : undefined
      )

/** Has an event from outside taken: by whoever carries the run out here, or straight into the journal. */
const command = Effect.fnUntraced(function* (
  office: Pick<Office.Office, "live"> | undefined,
  run: string,
  news: FromOutside
): Effect.fn.Return<void, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> {
  const refuse = (reason: string) => new CommandRefused({ run, command: named(run, news), reason })
  const wrong = unreadable(news)
  if (wrong !== undefined) return yield* refuse(wrong)
  const journal = yield* Journal.Journal
  const before = yield* claimedBefore(journal, run, news)
  if (before !== undefined) return yield* refuse(before)
  const live = office?.live.get(run)
  if (live !== undefined) {
    const ack = Deferred.makeUnsafe<string | undefined>()
    live.tell({ ...news, ack })
    const refused = yield* Deferred.await(ack)
    if (refused === undefined) return
    // Whether what was asked for already is written, too, only the journal knows.
    if (refused !== notHere && refused !== alreadyAsked) return yield* refuse(refused)
  }
  const rules = yield* Redaction
  if (!(yield* journal.owns)) return yield* leave(journal, run, told(news, rules))
  // Whoever writes in between only makes this one look again.
  for (let tries = 1; ; tries++) {
    const { state } = yield* foldRun(run)
    const expected = state.version
    const listed = new Listed(state)
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const event: RunEvent = redacted({ ...news, at }, rules)
    const next = applySaid(state, event)
    if (next === alreadyAsked) return
    if (typeof next === "string") return yield* refuse(next)
    const written = yield* commit(journal, {
      run,
      expected,
      events: [toRecord(event)],
      ...listed.changes(next)
    }).pipe(
      Effect.as(true),
      Effect.catchTag("VersionConflict", (conflict) => (tries < 10 ? Effect.succeed(false) : Effect.fail(conflict)))
    )
    if (written) return yield* journal.announce
  }
})

/**
 * Leaves word for whoever carries out the runs of this journal. It is looked at first, by what the journal has: somebody else
 * may have been faster all the same, and then the owner of the journal refuses it and says so in the run.
 */
const leave = Effect.fnUntraced(function* (
  journal: Journal.Journal["Service"],
  run: string,
  news: FromOutside
): Effect.fn.Return<void, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> {
  const refuse = (reason: string) => new CommandRefused({ run, command: named(run, news), reason })
  const { state } = yield* foldRun(run)
  const at = Math.floor(yield* Clock.currentTimeMillis)
  const next = applySaid(state, { ...news, at })
  if (next === alreadyAsked) return
  if (typeof next === "string") return yield* refuse(next)
  const word = commandOf(run, at, news)
  const late = yield* journal.command(word).pipe(
    Effect.as(undefined),
    Effect.catchTag("ReviewTaken", (late) => Effect.succeed(late))
  )
  if (late === undefined) return
  if (late.found === "claimed") return yield* refuse(late.message)
  // By its events it is open, and only the list does not know it: of two who decide, the owner takes the first.
  const { review: _, ...unclaimed } = word
  yield* Effect.catchTag(journal.command(unclaimed), "ReviewTaken", Effect.die)
})

/**
 * A decision about a {@link Outcome.Review}.
 *
 * **Details**
 *
 * - `review`: its id, `run/review/n`. `decision`: one of those that it allows.
 * - `by`: who decides, a text that is not empty. `note`: why, in a sentence. Default none.
 * - `answer`: with the decision `answer`, and only then: see the table of {@link decide}.
 * - `raise`: what a spent budget is raised by, by measure; where a `budget-increase` is approved, and only then. Measures that
 *   the account limits, each > 0, and at least what `facts.needed` names; `{}` opens an account that was closed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Deciding {
  readonly review: string
  readonly decision: Decision
  readonly by: string
  readonly note?: string | undefined
  readonly answer?: Schema.Json | undefined
  readonly raise?: Budget.Amount | undefined
}

const Deciding = Schema.Struct({
  review: Schema.String.check(Schema.isPattern(/^.+\/review\/[1-9]\d*$/, { expected: "an id such as RUN/review/1" })),
  decision: Decision,
  by: Schema.String.check(Schema.isPattern(/\S/, { expected: "a text that is not empty" })),
  note: Schema.optionalKey(Schema.String),
  answer: Schema.optionalKey(Schema.Json),
  raise: Schema.optionalKey(Budget.Amount)
})

const decodeDeciding = decoder(Deciding, "error")

/** What a review allows, to be told to whoever said something else; nothing when it is not known. */
const allowedBy = (run: string, id: string): Effect.Effect<string, never, Journal.Journal> =>
  foldRun(run).pipe(
    Effect.map(({ state }) => {
      const review = state.reviews.get(id)
      return review === undefined ? "" : `; ${id} (${review.kind}) allows ${review.allowed.join(", ")}`
    }),
    Effect.orElseSucceed(() => "")
  )

const without = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/**
 * Answers what a run asks of people.
 *
 * **Details**
 *
 * - `office`: where the run is being carried out, if it is. The decision then takes effect at once; otherwise it is written
 *   into the journal, and {@link resume} goes on from it. Where another process owns the journal, or nobody does, it is left
 *   there as word: its owner takes it in at once, whoever becomes the owner does so when the run is taken up.
 * - A decision is taken once. A second one, a late one, and one that was not asked for are refused with `CommandRefused`, and
 *   nothing is written. So is a field that says nothing with the decision.
 *
 * | kind of review | decision | what happens |
 * |---|---|---|
 * | `action-approval` | `approve` | the worker gets the order of `facts.order`; an order with another `facts.digest`, or another worker, is asked about anew |
 * | | `reject` | the task ends as `rejected`, its worker was never called |
 * | `result-acceptance` | `approve` | the result is accepted |
 * | | `reject` | the task ends as `rejected` |
 * | | `retry` | the task is tried anew, with the note as a hint |
 * | `question` | `answer` | the worker gets the task again, with `answer`: any JSON but null and an empty text |
 * | | `accept-partial`, `reject` | what there is stands; the task ends as `rejected` |
 * | `escalation` | `retry` | the task is tried anew, with the note as a hint |
 * | | `accept-partial`, `reject` | what there is stands; the task ends as `rejected` |
 * | `budget-increase` | `approve` | the account is raised by `raise`, and who waits for it goes on |
 * | | `reject` | nothing more is spent of the account |
 * | `scope-reduction` | `approve` | the requirements of `facts.drop` are dropped, and the task is tried anew |
 * | | `reject` | the task ends with what there is |
 * | `reconciliation` of a field (`facts.field`) | `answer` | the field has the value of `answer`, `{ reconcile: { field: value } }` with the one field of `facts.field`; a value that does not fit is asked for once more |
 * | | `accept-partial` | the field is left out, and named as missing |
 * | `reconciliation` of an effect (`facts.effect`) | `answer` | it has happened, and `answer` came of it, which may be null; the order is given anew and gets it |
 * | | `retry` | it has not happened; the order is given anew and does it |
 * | | `reject` | the task ends as `rejected`; what became of the effect stays unknown |
 * | `routing` | `answer` | the group goes on with `answer`: one of `facts.choices`, or the plan that was asked for |
 * | | `accept-partial`, `reject` | the group ends with what there is; it is stopped as rejected |
 *
 * **Gotchas**
 *
 * Who may decide is not checked here.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decide = (
  deciding: Deciding,
  options?: { readonly office?: Pick<Office.Office, "live"> | undefined } | undefined
): Effect.Effect<void, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> =>
  Effect.suspend(() => {
    const decoded = decodeDeciding(without(deciding))
    const run = String(deciding.review).replace(/\/review\/[^/]*$/, "")
    if (EffectResult.isFailure(decoded)) {
      const reason = sentences(decoded.failure, "the decision")
      const command = named(run, { _tag: "ReviewDecided", review: String(deciding.review) })
      return Effect.flatMap(allowedBy(run, deciding.review), (allowed) =>
        Effect.fail(new CommandRefused({ run, command, reason: `${reason}${allowed}` }))
      )
    }
    const { answer: given, note = "no reason given", ...rest } = decoded.success
    const own = given === undefined ? undefined : owned(given, "answer")
    if (own !== undefined && EffectResult.isFailure(own)) {
      const reason = sentences([own.failure], "the decision")
      return Effect.fail(
        new CommandRefused({
          run,
          command: named(run, { _tag: "ReviewDecided", review: decoded.success.review }),
          reason
        })
      )
    }
    const answer = own === undefined ? {} : { answer: own.success }
    return command(options?.office, run, { _tag: "ReviewDecided", ...rest, ...answer, note })
  })

/**
 * Asks for the end of a run: what is under way is called back and has stopped when the run ends as `cancelled`.
 *
 * **Details**
 *
 * - `office`: as for {@link decide}. Without it, a run that is cut off or waits ends as `cancelled` when it is taken up.
 * - Asked for once more before the run is over, it succeeds, and nothing is written: the first word stands. Of a run that is
 *   over it fails with `CommandRefused`.
 *
 * @category deciding
 * @since 0.1.0
 */
export const cancel = (
  run: string,
  options: {
    readonly by: string
    readonly note?: string | undefined
    readonly office?: Pick<Office.Office, "live"> | undefined
  }
): Effect.Effect<void, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> =>
  command(options.office, run, {
    _tag: "CancelRequested",
    by: options.by,
    note: `${options.by} asked for the end of the run${options.note === undefined ? "" : `: ${options.note}`}`
  })

/**
 * Changes how much a run may do without a person. Who changed it, and why, is in the journal.
 *
 * **Details**
 *
 * - `change`: as checked by `Autonomy.change`; `who` may not be `configuration`. `office`: as for {@link decide}.
 * - Configuration (see `Tiers`) does not change the tier of this run any more.
 *
 * @category deciding
 * @since 0.1.0
 */
export const changeTier = (
  run: string,
  change: Omit<Autonomy.TierChange, "at">,
  options?: { readonly office?: Pick<Office.Office, "live"> | undefined } | undefined
): Effect.Effect<void, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> =>
  Effect.suspend(() => {
    const checked = Autonomy.change(change.from, { ...change, at: 0 })
    if (EffectResult.isFailure(checked)) {
      const reason = checked.failure.message
      return Effect.fail(new CommandRefused({ run, command: named(run, { _tag: "AutonomyChanged" }), reason }))
    }
    const { from, to, who, why } = checked.success
    if (who.trim().toLowerCase() === configuration) {
      const reason = sentences([
        { path: "who", expectation: "must be a person or a system by name", actual: JSON.stringify(who) }
      ])
      return Effect.fail(new CommandRefused({ run, command: named(run, { _tag: "AutonomyChanged" }), reason }))
    }
    return command(options?.office, run, { _tag: "AutonomyChanged", from, to, by: who, note: why })
  })
