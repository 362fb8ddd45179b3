/**
 * What people say to a run: decisions, its end, a change of its tier.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import * as Journal from "../../journal/Journal.ts"
import { Redaction } from "../../Redaction.ts"
import * as Autonomy from "../Autonomy.ts"
import * as Budget from "../Budget.ts"
import type { Ended } from "../Observer.ts"
import type * as Office from "../Office.ts"
import { Decision, Edits, type Of, type RefusedBecause, type RunEvent } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import { alreadyAsked, applySaid, copy } from "./apply.ts"
import { saidOf } from "./applying/reviews.ts"
import { canonical } from "./canonical.ts"
import { notHere } from "./inbox.ts"
import { Listed } from "./listing.ts"
import { commit, fromRecord, refusal, toRecord } from "./log.ts"
import type { News } from "./news.ts"
import { attended, type Observing, traceOf } from "./observing.ts"
import { owned } from "./plain.ts"
import { Name, nameOf, Principal } from "./principals.ts"
import { decoder, sentence, sentences } from "./problems.ts"
import { foldRun } from "./reading.ts"
import { reasonOf } from "./reasons.ts"
import { redacted } from "./redacting.ts"
import { CommandRefused, type RunError, type RunNotFound, type RunTooNew, type RunUntrusted } from "./runErrors.ts"
import { misworded } from "./sayable.ts"
import {
  type Eligible,
  type Heard,
  howClosed,
  type Refusal,
  refused,
  submitted,
  type Submitted,
  unheard
} from "./submitting.ts"
import { configuration } from "./tiering.ts"
import { inTurn } from "./turns.ts"
import { asksWho, vet } from "./vetting.ts"
import { commandOf, type FromOutside, type Word, wordOf } from "./word.ts"

/** What somebody said, in the words of whoever said it. */
export const named = (run: string, said: Pick<FromOutside, "_tag"> & { readonly review?: string }): string => {
  switch (said._tag) {
    case "ReviewDecided":
      return `the decision of ${said.review}`
    case "ReviewWithdrawn":
      return `the withdrawal of ${said.review}`
    case "ReviewChanged":
      return `the change of ${said.review}`
    case "GrantGiven":
      return `the grant that goes with ${said.review}`
    case "GrantRevoked":
      return `the end of the grant that goes with ${said.review}`
    case "AutonomyChanged":
      return `the change of the tier of ${run}`
    case "CancelRequested":
      return `the cancelling of ${run}`
  }
}

/** What is wrong with what somebody says, if it could not be read back from the journal. */
const unreadable = (news: News): string | undefined => {
  const { ack: _, eligible: _e, heard: _h, since: _s, ...told } = news
  const read = fromRecord(toRecord({ ...told, at: 0 } as RunEvent))
  if (EffectResult.isSuccess(read)) return undefined
  return read.failure._tag === "Damaged" ? read.failure.reason : refusal("", 0, read.failure).message
}

/**
 * The values that are to be used as they are and hold a secret, if there is one: without it they would be other values, and with
 * it they may not be written.
 */
const secretIn = (news: FromOutside, rules: Redaction): string | undefined => {
  const [field, values] =
    news._tag === "ReviewDecided"
      ? (["edits", news.edits] as const)
      : news._tag === "GrantGiven"
        ? (["where", news.grant.where] as const)
        : (["", undefined] as const)
  for (const [pointer, value] of Object.entries(values ?? {})) {
    // By the name of its field, too.
    const named = { [pointer.slice(pointer.lastIndexOf("/") + 1)]: value }
    if (canonical(rules.value(named)) === canonical(named)) continue
    return sentences([
      { path: `${field}[${JSON.stringify(pointer)}]`, expectation: "must not hold a secret", actual: "" }
    ])
  }
  return undefined
}

/** What somebody says, without the secrets in it. */
const told = (news: FromOutside, rules: Redaction): FromOutside => {
  const { at: _, ...rest } = redacted({ ...news, at: 0 }, rules)
  return rest as FromOutside
}

/** What whoever decides is told where somebody has, by word that the run has not taken in yet. */
const claimedBefore = Effect.fnUntraced(function* (
  journal: Journal.Journal["Service"],
  run: string,
  news: Extract<FromOutside, { readonly _tag: "ReviewDecided" }>
): Effect.fn.Return<Heard | undefined, Journal.JournalError> {
  const { review } = news
  const claimed = (yield* journal.reviews(run)).some((each) => each.review === review && each.claimed !== undefined)
  if (!claimed) return undefined
  const left = (yield* journal.commands(run)).find((each) => each.review === review)
  // It was taken in just now.
  if (left === undefined) return undefined
  const word = wordOf(left)
  if (word._tag !== "ReviewDecided") return taken(`${JSON.stringify(review)} has been decided already`)
  const { by, decision } = word
  if (by === news.by && saidOf(word) === saidOf(news)) return { _tag: "Replayed" }
  return taken(`${howClosed(review, { as: "decided", at: left.at, by, decision })}, which waits to be taken in`)
})

const taken = (reason: string): Refusal => ({ _tag: "Refused", because: "already-decided", reason })

/** Whether somebody may say what they say, as far as it matters. */
const eligibleFor = (state: RunState, news: FromOutside): Effect.Effect<Eligible> =>
  asksWho(news) ? vet(state, news) : Effect.succeed({ _tag: "Eligible" })

/** What becomes of what somebody says to a run that nobody carries out here, and the event that says it. */
const considered = (state: RunState, event: RunEvent, eligible: Eligible): Submitted => {
  if (event._tag === "ReviewDecided") {
    const said = submitted(state, event, eligible)
    if (said.event === undefined) return said
    // A draft that nobody keeps.
    const next = applySaid(copy(state), said.event)
    return typeof next === "string" ? { heard: { _tag: "Refused", because: "invalid", reason: next } } : said
  }
  const refusal = asksWho(event) ? unheard(state, event, eligible) : undefined
  if (refusal !== undefined) return { heard: refusal }
  const next = applySaid(copy(state), event)
  if (next === alreadyAsked) return { heard: { _tag: "Replayed" } }
  if (typeof next !== "string") return { heard: { _tag: "Applied" }, event }
  return { heard: { _tag: "Refused", because: "invalid", reason: next } }
}

/** What somebody is told whose word was taken. */
export type Taken = Exclude<Heard, { readonly _tag: "Refused" }>

/** Has an event from outside taken: by whoever carries the run out here, or straight into the journal. */
export const command = Effect.fnUntraced(function* (
  office: Pick<Office.Office, "live"> | undefined,
  run: string,
  news: FromOutside
): Effect.fn.Return<Taken, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> {
  const refuse = (reason: string, because?: RefusedBecause | undefined) =>
    new CommandRefused({ run, command: named(run, news), reason, ...(because === undefined ? {} : { because }) })
  const answer = (heard: Heard): Effect.Effect<Taken, CommandRefused> =>
    heard._tag === "Refused"
      ? Effect.fail(refuse(heard.reason, asksWho(news) ? heard.because : undefined))
      : Effect.succeed(heard)
  const wrong = unreadable(news)
  if (wrong !== undefined) return yield* refuse(wrong)
  const problem = misworded(news)
  if (problem !== undefined) return yield* refuse(sentence(problem))
  const journal = yield* Journal.Journal
  const rules = yield* Redaction
  const secret = secretIn(news, rules)
  if (secret !== undefined) return yield* refuse(secret)
  const said = told(news, rules)
  if (said._tag === "ReviewDecided") {
    const before = yield* claimedBefore(journal, run, said)
    if (before?._tag === "Refused") yield* relay(journal, run, said, before)
    if (before !== undefined) return yield* answer(before)
  }
  const live = office?.live.get(run)
  if (live !== undefined) {
    const ack = Deferred.makeUnsafe<string | undefined>()
    const told: { by?: Heard } = {}
    const heard = (heard: Heard) => void (told.by = heard)
    const eligible = asksWho(news) ? yield* live.eligible(news) : undefined
    live.tell({ ...news, ack, heard, ...(eligible === undefined ? {} : { eligible }) })
    const refused = yield* Deferred.await(ack)
    if (refused === undefined) return yield* answer(told.by ?? { _tag: "Applied" })
    // Whether what was asked for already is written, too, only the journal knows.
    if (refused !== notHere && refused !== alreadyAsked) {
      return yield* answer(told.by ?? { _tag: "Refused", because: "invalid", reason: refused })
    }
  }
  if (!(yield* journal.owns)) {
    const left = yield* leave(journal, run, said)
    return yield* left._tag === "Full" ? refuse(left.reason) : answer(left)
  }
  return yield* answer(yield* inTurn(journal, run, write(journal, run, news)))
})

/** Writes what somebody says straight into a run, or says why not. */
const write = Effect.fnUntraced(function* (
  journal: Journal.Journal["Service"],
  run: string,
  news: FromOutside
): Effect.fn.Return<Heard, RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> {
  // Whoever writes in between only makes this one look again.
  for (let tries = 1; ; tries++) {
    const heard = yield* attended(run, (observing) => writeOnce(journal, run, news, observing)).pipe(
      Effect.catchTag("VersionConflict", (conflict) => (tries < 10 ? Effect.undefined : Effect.fail(conflict)))
    )
    if (heard !== undefined) return heard
  }
})

const writeOnce = Effect.fnUntraced(function* (
  journal: Journal.Journal["Service"],
  run: string,
  news: FromOutside,
  observing: Observing
): Effect.fn.Return<Heard, RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> {
  const rules = yield* Redaction
  const { state } = yield* foldRun(run, observing.recall)
  const expected = state.version
  const eligible = yield* eligibleFor(state, news)
  const at = Math.floor(yield* Clock.currentTimeMillis)
  const { event: made, heard } = considered(state, redacted(eventOf(news, at), rules), eligible)
  if (made === undefined) return heard
  // Why it does not count may say more than was said.
  const event = redacted(made, rules)
  const listed = new Listed(state)
  const next = applySaid(state, event)
  if (typeof next === "string") return { _tag: "Refused", because: "invalid", reason: next }
  yield* commit(journal, { run, expected, events: [toRecord(event)], ...listed.changes(next) }).pipe(
    Effect.map(() => observing.happened([event])),
    Effect.uninterruptible
  )
  yield* journal.announce
  return heard
})

/** What somebody says as an event, without what is only known here. */
const eventOf = (said: FromOutside, at: number): RunEvent => {
  const { ack: _a, command: _c, eligible: _e, heard: _h, since: _s, ...news } = said
  return { ...news, at } as RunEvent
}

/** So much word of a kind about one question, or about the run, may wait for whoever carries the run out. */
export const mostWaiting = 20

/** There is too much word already. */
interface Full {
  readonly _tag: "Full"
  readonly reason: string
}

const timeless = ({ at: _at, ...event }: Of<"ReviewRefused">): Word => event

/** The question that word is about; nothing where it is about the run. */
const aboutOf = ({ data }: Journal.Command): unknown =>
  typeof data === "object" && data !== null && "review" in data ? data.review : undefined

const isFull = (
  journal: Journal.Journal["Service"],
  word: Journal.Command
): Effect.Effect<boolean, Journal.JournalError> =>
  Effect.map(journal.commands(word.run), (waiting) => {
    const alike = waiting.filter((each) => each.type === word.type && aboutOf(each) === aboutOf(word))
    return alike.length >= mostWaiting
  })

/** Leaves word that a decision does not count, which somebody is told here and now. */
const relay = Effect.fnUntraced(function* (
  journal: Journal.Journal["Service"],
  run: string,
  news: FromOutside,
  { because, reason }: Refusal
): Effect.fn.Return<void, RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> {
  const { state } = yield* foldRun(run)
  const at = Math.floor(yield* Clock.currentTimeMillis)
  const made = eventOf(news, at)
  const event = made._tag === "ReviewDecided" ? refused(state, made, because, reason).event : undefined
  if (event?._tag !== "ReviewRefused") return
  const { review: _, ...word } = commandOf(run, at, timeless(event))
  const unlessFull = Effect.flatMap(isFull(journal, word), (full) => (full ? Effect.void : journal.command(word)))
  yield* inTurn(journal, run, Effect.catchTag(unlessFull, "ReviewTaken", Effect.die))
})

/**
 * Leaves word for whoever carries out the runs of this journal. It is looked at first, by what the journal has: somebody else
 * may have been faster all the same, and then the owner of the journal refuses it and says so in the run.
 */
const leave: (
  journal: Journal.Journal["Service"],
  run: string,
  news: FromOutside
) => Effect.Effect<Heard | Full, RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> =
  Effect.fnUntraced(function* (journal, run, news) {
    const { state } = yield* foldRun(run)
    const at = Math.floor(yield* Clock.currentTimeMillis)
    const { event, heard } = considered(state, eventOf(news, at), yield* eligibleFor(state, news))
    if (event === undefined) return heard
    // What was refused here does not count, whatever the owner's own directory says of it.
    const word = commandOf(run, at, event._tag === "ReviewRefused" ? timeless(event) : news)
    // Only one claims a question: whoever decides it needs no room.
    const claims = heard._tag === "Applied" && word.review !== undefined
    if (!claims && (yield* isFull(journal, word))) {
      const reason = `${mostWaiting} others like it wait already for the process that carries the run out`
      return heard._tag === "Refused" ? heard : { _tag: "Full", reason }
    }
    const { review: _, ...unclaimed } = word
    // One of several votes claims nothing, and what does not count is only to be written down.
    if (heard._tag !== "Applied") {
      yield* Effect.catchTag(journal.command(unclaimed), "ReviewTaken", Effect.die)
      return heard._tag === "Refused" ? heard : { _tag: "Left" }
    }
    const late = yield* journal.command(word).pipe(
      Effect.as(undefined),
      Effect.catchTag("ReviewTaken", (late) => Effect.succeed(late))
    )
    if (late === undefined) return { _tag: "Left" }
    if (late.found === "claimed" && news._tag === "ReviewDecided") {
      const before = yield* claimedBefore(journal, run, news)
      // It was taken in just now.
      if (before === undefined) return yield* leave(journal, run, news)
      if (before._tag === "Refused") yield* relay(journal, run, news, before)
      return before
    }
    if ((yield* journal.version(run)) !== state.version) return yield* leave(journal, run, news)
    // By its events it is open, and only the list does not know it: of two who decide, the owner takes the first.
    yield* Effect.catchTag(journal.command(unclaimed), "ReviewTaken", Effect.die)
    return { _tag: "Left" }
  })

/**
 * A decision about a {@link Outcome.Review}.
 *
 * **Details**
 *
 * - `review`: its id, `run/review/n`. `decision`: one of those that it allows.
 * - `by`: who decides: a name such as `ann` or `service:mailer`, or a principal. `note`: why, in a sentence. Default none.
 * - `answer`: with the decision `answer`, and only then: see the table of {@link decide}.
 * - `raise`: what a spent budget is raised by, by measure; where a `budget-increase` is approved, and only then. Measures that
 *   the account limits, each > 0, and at least what `facts.needed` names; `{}` opens an account that was closed.
 * - `edits`: with the decision `edit`, and only then: new values by JSON pointers into `facts.arguments`, out of `editable`.
 * - `digest`, `revision`: of the question as it was seen; a decision about anything else does not count. Default: whatever it
 *   is. `key`: the same for a decision that is sent again; then it counts once, and is answered alike. At most 200 characters.
 *
 * @category models
 * @since 0.1.0
 */
export interface Deciding {
  readonly review: string
  readonly decision: Decision
  readonly by: string | Principal
  readonly note?: string | undefined
  readonly answer?: Schema.Json | undefined
  readonly raise?: Budget.Amount | undefined
  readonly edits?: Edits | undefined
  readonly digest?: string | undefined
  readonly revision?: number | undefined
  readonly key?: string | undefined
}

const Deciding = Schema.Struct({
  review: Schema.String.check(Schema.isPattern(/^.+\/review\/[1-9]\d*$/, { expected: "an id such as RUN/review/1" })),
  decision: Decision,
  by: Schema.Union([Name, Principal]),
  note: Schema.optionalKey(Schema.String),
  answer: Schema.optionalKey(Schema.Json),
  raise: Schema.optionalKey(Budget.Amount),
  edits: Schema.optionalKey(Edits),
  digest: Schema.optionalKey(Schema.String),
  revision: Schema.optionalKey(Schema.Int),
  key: Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^.{1,200}$/s, { expected: "a text of 1 to 200 characters" }))
  )
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

/** By which what is traced of deciding is found again. */
const currentTrace: Effect.Effect<{ readonly trace?: string }> = Effect.map(
  Effect.option(Effect.currentParentSpan),
  (span) => (Option.isNone(span) ? {} : traceOf(span.value))
)

/** A decision that is not taken is no failure of whoever takes decisions. */
const endOf = (exit: Exit.Exit<unknown, { readonly _tag: string }>): Ended => {
  if (Exit.isSuccess(exit)) return { outcome: "accepted" }
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  if (error?._tag === "CommandRefused") return { outcome: "refused" }
  return { outcome: "failed", kind: Failure.kindOf(error) ?? "defect", reason: reasonOf(Cause.squash(exit.cause)) }
}

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
 * - A decision is taken once. The same one of the same is answered as `Replayed`. Another one, a late one, one of somebody who
 *   may not (see `Reviewers`) and one about something else are refused with `CommandRefused`, whose `because` says why, and
 *   which is written into the run, too. What is no answer to the question is refused, and nothing is written.
 * - Where a question needs several approvals (`terms.quorum`), the others are `Voted`.
 * - What does not count is written down 200 times in a run, and no more after that. Of word of one kind about one question, 20
 *   wait for the owner at most: more is refused, and what does not count is not left.
 *
 * | kind of review | decision | what happens |
 * |---|---|---|
 * | `action-approval` | `approve` | the worker gets the order of `facts.order`; an order with another `facts.digest`, or another worker, is asked about anew |
 * | | `reject` | the task ends as `rejected`, its worker was never called |
 * | `result-acceptance` | `approve` | the result is accepted |
 * | | `reject` | the task ends as `rejected` |
 * | | `accept-partial` | where it is allowed: what there is stands as partial |
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
 * | `plan-approval` | `approve` | the tasks of `facts.plan` are added to the group |
 * | | `retry` | another plan is made, with the note as a hint |
 * | | `reject` | the group is stopped as rejected |
 *
 * @category deciding
 * @since 0.1.0
 */
export const decide = (
  deciding: Deciding,
  options?: { readonly office?: Pick<Office.Office, "live"> | undefined } | undefined
): Effect.Effect<Taken, CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError, Journal.Journal> =>
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
    const { answer: given, by: who, note = "no reason given", ...rest } = decoded.success
    const by = typeof who === "string" ? { by: who } : { by: nameOf(who), principal: who }
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
    const decision = { _tag: "ReviewDecided", ...rest, ...by, ...answer, note } as const
    return attended(run, (observing) => {
      if (observing.isNobody) return command(options?.office, run, decision)
      const traced = Effect.flatMap(currentTrace, (trace) => command(options?.office, run, { ...decision, ...trace }))
      const seen = observing.around(
        { _tag: "Decision", review: decision.review, decision: decision.decision },
        traced,
        endOf
      )
      // What is known of the question is of use to who looks at the answer, and no condition for it.
      return Effect.andThen(Effect.ignore(foldRun(run, observing.recall)), seen)
    })
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
  Effect.asVoid(
    command(options.office, run, {
      _tag: "CancelRequested",
      by: options.by,
      note: `${options.by} asked for the end of the run${options.note === undefined ? "" : `: ${options.note}`}`
    })
  )

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
    return Effect.asVoid(command(options?.office, run, { _tag: "AutonomyChanged", from, to, by: who, note: why }))
  })
