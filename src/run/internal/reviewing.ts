/**
 * What people do with questions beside deciding one: they take one back, take care of it, have others asked, give it more
 * time, and decide several at once.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { readDuration } from "../../internal/options.ts"
import type * as Journal from "../../journal/Journal.ts"
import type * as Ladder from "../Ladder.ts"
import type * as Office from "../Office.ts"
import type { RunState } from "../RunState.ts"
import * as StandingGrant from "../StandingGrant.ts"
import { grantOf } from "./applying/granting.ts"
import { command, decide, type Deciding, named, type Taken } from "./commanding.ts"
import { Text } from "./fields.ts"
import { Name, nameOf, Principal } from "./principals.ts"
import { decoder, instant, many, type Problem, sentences, show } from "./problems.ts"
import { foldRun } from "./reading.ts"
import { BatchRefused } from "./reviewErrors.ts"
import { isBatchable, ruleOf, runOf } from "./reviewQueue.ts"
import { CommandRefused, type RunError, type RunNotFound, type RunTooNew, type RunUntrusted } from "./runErrors.ts"
import { isWho, longestClaim, longestNote, longestTime, mostAsked } from "./sayable.ts"
import type { FromOutside } from "./word.ts"

/** How what is said about a question can fail to be taken. */
export type Refusals = CommandRefused | RunNotFound | RunTooNew | RunUntrusted | RunError

/**
 * Who says something about a question.
 *
 * **Details**
 *
 * - `by`: a name such as `ann` or `service:mailer`, or a principal.
 * - `office`: where the run is being carried out, if it is; as for {@link decide}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Speaking {
  readonly by: string | Principal
  readonly office?: Pick<Office.Office, "live"> | undefined
}

const Id = Schema.String.check(Schema.isPattern(/^.+\/review\/[1-9]\d*$/, { expected: "an id such as RUN/review/1" }))

const Said = Schema.Struct({
  review: Id,
  by: Schema.Union([Name, Principal]),
  note: Schema.optionalKey(
    Text.check(Schema.isMaxLength(longestNote, { expected: `a text of at most ${longestNote} characters` }))
  )
})

const decodeSaid = decoder(Said, "error")

type Handled = Extract<
  FromOutside,
  { readonly _tag: "ReviewWithdrawn" | "ReviewChanged" | "GrantGiven" | "GrantRevoked" }
>

interface Who {
  readonly by: string
  readonly principal?: Principal
}

/** Says something about a question, once it is known to be something that can be said. */
const say = (
  tag: Handled["_tag"],
  review: string,
  { by, note, office }: Speaking & { readonly note?: string | undefined },
  wrong: ReadonlyArray<Problem>,
  make: (who: Who, at: number) => Handled
): Effect.Effect<Taken, Refusals, Journal.Journal> =>
  Effect.suspend(() => {
    const run = runOf(String(review))
    const read = decodeSaid({ review, by, ...(note === undefined ? {} : { note }) })
    const problems = [...(EffectResult.isFailure(read) ? read.failure : []), ...wrong]
    if (EffectResult.isFailure(read) || problems.length > 0) {
      const said = named(run, { _tag: tag, review: String(review) })
      return Effect.fail(new CommandRefused({ run, command: said, reason: sentences(problems, "what is said") }))
    }
    const { by: who } = read.success
    const principal = typeof who === "string" ? {} : { principal: who }
    return Effect.flatMap(Clock.currentTimeMillis, (now) =>
      command(office, run, make({ by: typeof who === "string" ? who : nameOf(who), ...principal }, Math.floor(now)))
    )
  })

const problem = (path: string, expectation: string, actual: unknown): Problem => ({
  path,
  expectation: `must be ${expectation}`,
  actual: show(actual)
})

/** A sentence of its own, or the one that was given. */
const noteOr = (note: string | undefined, said: string): string => (note === undefined ? said : `${said}: ${note}`)

/**
 * Takes a question back: nobody has to decide it any more, and nothing that it asks for is done.
 *
 * **Details**
 *
 * - May be done by whoever asked for the run, and by those who may decide it. `note`: why, in a sentence.
 * - The task of the question ends as cancelled; work that asked, and waits for the answer, hears that it was withdrawn.
 *
 * @category handling
 * @since 0.1.0
 */
export const withdraw = (
  review: string,
  options: Speaking & { readonly note: string }
): Effect.Effect<Taken, Refusals, Journal.Journal> => {
  const { note } = options
  const wrong = typeof note === "string" ? [] : [problem("note", "the reason, in a sentence", note)]
  return say("ReviewWithdrawn", review, options, wrong, (who) => ({ _tag: "ReviewWithdrawn", review, ...who, note }))
}

const millisOf = (
  input: Duration.Input,
  most: number,
  expectation: string
): { readonly millis: number; readonly wrong: ReadonlyArray<Problem> } => {
  const read = readDuration(input)
  const millis = read === undefined ? Number.NaN : Math.floor(Duration.toMillis(read))
  return millis > 0 && millis <= most ? { millis, wrong: [] } : { millis, wrong: [problem("for", expectation, input)] }
}

/**
 * Says that somebody takes care of a question. That keeps nobody else from deciding it; others see it.
 *
 * **Details**
 *
 * - `for`: how long, more than nothing and at most a day. Default 15 minutes: enough to read, and short enough that nobody
 *   waits for somebody who has gone home.
 * - Said again, it begins anew; said by another one, the question is theirs.
 *
 * @category handling
 * @since 0.1.0
 */
export const claim = (
  review: string,
  options: Speaking & { readonly for?: Duration.Input | undefined }
): Effect.Effect<Taken, Refusals, Journal.Journal> => {
  const { millis, wrong } = millisOf(options.for ?? "15 minutes", longestClaim, "a duration > 0 and at most 24 hours")
  return say("ReviewChanged", review, options, wrong, (who, at) => {
    const until = at + millis
    const note = `${who.by} takes care of ${review} until ${instant(until) ?? until}`
    return { _tag: "ReviewChanged", review, ...who, what: "claimed", until, note }
  })
}

/**
 * Says that nobody takes care of a question any more. Anybody who may decide it can say so.
 *
 * @category handling
 * @since 0.1.0
 */
export const release = (review: string, options: Speaking): Effect.Effect<Taken, Refusals, Journal.Journal> =>
  say("ReviewChanged", review, options, [], (who) => {
    const note = `${who.by} says that nobody takes care of ${review} any more`
    return { _tag: "ReviewChanged", review, ...who, what: "released", note }
  })

/**
 * Has others asked instead of those of its ladder, who may not decide any more.
 *
 * **Details**
 *
 * - `to`: 1 to 50 of `anyone`, `requester`, `manager-of-requester`, `user:ID`, `group:NAME`, `role:NAME`. `note`: why.
 *
 * @category handling
 * @since 0.1.0
 */
export const reassign = (
  review: string,
  options: Speaking & { readonly to: ReadonlyArray<Ladder.Who>; readonly note: string }
): Effect.Effect<Taken, Refusals, Journal.Journal> => {
  const { note, to } = options
  const listed: ReadonlyArray<unknown> | undefined = Array.isArray(to) ? to : undefined
  const odd = listed?.findIndex((each) => !isWho(each)) ?? -1
  const wrong = [
    ...(typeof note === "string" ? [] : [problem("note", "the reason, in a sentence", note)]),
    ...(listed === undefined || listed.length === 0 || listed.length > mostAsked
      ? [problem("to", `a list of 1 to ${mostAsked} of those who may decide`, to)]
      : []),
    ...(odd < 0
      ? []
      : [problem(`to[${odd}]`, "anyone, requester, manager-of-requester, user:ID, group:NAME or role:NAME", to[odd])])
  ]
  return say("ReviewChanged", review, options, wrong, (who) => {
    const said = noteOr(note, `${who.by} has ${to.join(", ")} asked about ${review}`)
    return { _tag: "ReviewChanged", review, ...who, what: "reassigned", to: [...new Set(to)], note: said }
  })
}

/**
 * Gives a question more time: all that is to come while nobody decides comes later by so much.
 *
 * **Details**
 *
 * - `for`: how much later, more than nothing. `note`: why, in a sentence.
 * - As often as its terms say (`extensions`, default 2), by those who may decide it. One that stays open after its last
 *   deadline has no time that could be over.
 *
 * @category handling
 * @since 0.1.0
 */
export const extend = (
  review: string,
  options: Speaking & { readonly for: Duration.Input; readonly note?: string | undefined }
): Effect.Effect<Taken, Refusals, Journal.Journal> => {
  const { millis, wrong } = millisOf(options.for, longestTime, "a duration > 0 and at most 100 years")
  return say("ReviewChanged", review, options, wrong, (who) => {
    const later = Duration.format(Duration.millis(millis))
    const note = noteOr(options.note, `${who.by} gives ${review} ${later} more`)
    return { _tag: "ReviewChanged", review, ...who, what: "extended", millis, note }
  })
}

/**
 * What became of one of several decisions. `refused`: why it does not count, or could not be written.
 *
 * @category models
 * @since 0.1.0
 */
export type Each =
  | { readonly review: string; readonly result: Taken }
  | { readonly review: string; readonly refused: Refusals }

/** Decisions that may be taken at once: more than that nobody has looked at. */
const mostAtOnce = 50

/** What is wrong with decisions that are to be taken together, whatever they are about. */
const apart = (all: ReadonlyArray<Deciding>): ReadonlyArray<Problem> => {
  if (all.length === 0 || all.length > mostAtOnce) {
    return [problem("the decisions", `1 to ${mostAtOnce}`, all.length)]
  }
  const [first] = all
  return all.flatMap(({ decision, review }, index) => {
    const twice = all.findIndex((each) => each.review === review) < index
    return [
      ...(twice ? [problem(`[${index}].review`, "another one than those before it", review)] : []),
      ...(decision === first?.decision
        ? []
        : [problem(`[${index}].decision`, `${first?.decision}, as of [0]`, decision)])
    ]
  })
}

/** What a question is about, as far as others are of the same kind: the tool, else the worker, and the rule. */
interface Alike {
  readonly what: string
  readonly rule: string
  readonly batchable: boolean
}

const alikeOf = ({ reviews }: RunState, id: string): Alike | undefined => {
  const review = reviews.get(id)
  if (review === undefined) return undefined
  const { tool, worker } = review.facts
  const what = typeof tool === "string" ? `the tool ${tool}` : `the worker ${String(worker ?? "nobody")}`
  return { what, rule: `${review.kind}, ${ruleOf(review) ?? "no rule"}`, batchable: isBatchable(review) }
}

/** What keeps open questions from being decided together. */
const unlike = (all: ReadonlyArray<readonly [index: number, alike: Alike]>): ReadonlyArray<Problem> => {
  const [first] = all
  if (first === undefined) return []
  const [at, one] = first
  return all.flatMap(([index, { batchable, rule, what }]) => {
    const said = (expectation: string, actual: string): Problem => ({ path: `[${index}]`, expectation, actual })
    return [
      ...(batchable
        ? []
        : [said("must be decided alone: its rules do not let it be decided together with others", "")]),
      ...(what === one.what ? [] : [said(`must be about ${one.what}, as [${at}] is`, what)]),
      ...(rule === one.rule ? [] : [said(`must be asked by the same rule as [${at}], ${one.rule}`, rule)])
    ]
  })
}

/**
 * Lets the like of a call be done without being asked again: a standing grant.
 *
 * **Details**
 *
 * - `review`: an open question about the call of a tool. The grant is for that tool, and up to the risk of that question; who may
 *   decide the question may give it. The question itself stays open: approve it, too, or not.
 * - `uses`: how many calls it covers, 1 to 1000. `for`: how long, at most 8 hours.
 * - `where`: JSON Pointers into the arguments, and the values that must stand there. Default: any arguments.
 * - `task`: the task that it is for, with those below it. Default: any task of the run.
 * - Answers with the id of the grant, `REVIEW/grant`. Each use is a question of its own, opened and decided in the same moment, by
 *   whoever gave the grant.
 *
 * **Gotchas**
 *
 * What cannot be undone, what has the risk `critical` and what needs several approvals is never covered: a grant for it is
 * refused.
 *
 * @category handling
 * @since 0.1.0
 */
export const allow = (review: string, options: Allowing): Effect.Effect<string, Refusals, Journal.Journal> =>
  Effect.gen(function* () {
    const { note, task, uses, where } = options
    const run = runOf(String(review))
    const { millis, wrong } = millisOf(options.for, StandingGrant.longest, "a duration > 0 and at most 8 hours")
    const facts = (yield* foldRun(run)).state.reviews.get(review)?.facts
    const tool = typeof facts?.["tool"] === "string" ? facts["tool"] : "no tool"
    const bounds = { uses, ...(where === undefined ? {} : { where }), ...(task === undefined ? {} : { task }) }
    const granted = (by: string, at: number): StandingGrant.StandingGrant => ({
      grant: grantOf(review),
      by,
      tool,
      ...bounds,
      at,
      until: at + millis
    })
    // What it may be for is looked at by whoever takes it; only what it is bound to can be wrong here.
    const made =
      wrong.length > 0 ? undefined : StandingGrant.make(granted("-", 0), { risk: "low", irreversible: false })
    const problems = made !== undefined && EffectResult.isFailure(made) ? made.failure.problems : []
    yield* say("GrantGiven", review, options, [...wrong, ...problems], (who, at) => {
      const grant = granted(who.by, at)
      const until = instant(grant.until) ?? grant.until
      const said = `${who.by} lets ${tool} be done ${many(uses, "time")} without being asked, until ${until}`
      return { _tag: "GrantGiven", review, grant, ...who, note: noteOr(note, said) }
    })
    return grantOf(review)
  })

/**
 * A standing grant to be given. See {@link allow}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Allowing extends Speaking {
  readonly uses: number
  readonly for: Duration.Input
  readonly where?: { readonly [pointer: string]: Schema.Json } | undefined
  readonly task?: string | undefined
  readonly note?: string | undefined
}

/**
 * Takes a standing grant back: it covers nothing any more. May be done by whoever gave it, and by those who may decide what it is
 * for.
 *
 * @category handling
 * @since 0.1.0
 */
export const revoke = (
  grant: string,
  options: Speaking & { readonly note?: string | undefined }
): Effect.Effect<Taken, Refusals, Journal.Journal> => {
  const review = String(grant).replace(/\/grant$/, "")
  const wrong = grantOf(review) === grant ? [] : [problem("grant", "an id such as RUN/review/1/grant", grant)]
  return say("GrantRevoked", review, options, wrong, (who) => {
    const note = noteOr(options.note, `${who.by} takes ${grant} back`)
    return { _tag: "GrantRevoked", review, grant, ...who, note }
  })
}

/**
 * Decides several questions of one kind in one go, each with an event of its own.
 *
 * **Details**
 *
 * - 1 to 50 of them, all the same decision, about the same tool or the same worker, asked by the same rule, and such that may
 *   be decided together: of low or medium risk. Otherwise nothing is decided, and it fails with `BatchRefused`, which says of
 *   each what is in the way.
 * - Answers with what became of each, in their order. One that is refused, or closed already, keeps none of the others.
 * - A single one is decided as by `decide`, whatever its risk.
 *
 * @category deciding
 * @since 0.1.0
 */
export const decideAll = Effect.fnUntraced(function* (
  decisions: ReadonlyArray<Deciding>,
  options?: { readonly office?: Pick<Office.Office, "live"> | undefined } | undefined
): Effect.fn.Return<ReadonlyArray<Each>, BatchRefused, Journal.Journal> {
  const problems = apart(decisions)
  if (problems.length > 0) return yield* new BatchRefused({ problems })
  if (decisions.length > 1) {
    const states = new Map<string, RunState | undefined>()
    for (const run of new Set(decisions.map(({ review }) => runOf(review)))) {
      // Of a run that cannot be read, each decision is told so.
      const state = yield* Effect.orElseSucceed(
        Effect.map(foldRun(run), ({ state }): RunState | undefined => state),
        () => undefined
      )
      states.set(run, state)
    }
    const alike = decisions.flatMap(({ review }, index) => {
      const state = states.get(runOf(review))
      const each = state === undefined ? undefined : alikeOf(state, review)
      return each === undefined ? [] : [[index, each] as const]
    })
    const apart = unlike(alike)
    if (apart.length > 0) return yield* new BatchRefused({ problems: apart })
  }
  return yield* Effect.forEach(decisions, (each) =>
    Effect.match(decide(each, options), {
      onFailure: (refused): Each => ({ review: each.review, refused }),
      onSuccess: (result): Each => ({ review: each.review, result })
    })
  )
})
