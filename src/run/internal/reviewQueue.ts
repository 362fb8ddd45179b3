/**
 * What people are asked by the runs of a journal: as a list, and one question with all that a person needs to decide it.
 *
 * All of it follows from the events. The lists of the journal only say in which runs there is something to be read.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Journal from "../../journal/Journal.ts"
import type * as Autonomy from "../Autonomy.ts"
import * as Budget from "../Budget.ts"
import * as Ladder from "../Ladder.ts"
import type { Usage } from "../Result.ts"
import * as Reviewers from "../Reviewers.ts"
import type { Terms } from "../ReviewPolicy.ts"
import { ReviewKind } from "../RunEvent.ts"
import type { Decision, Edits, FinalAction, Of, RefusedBecause, ReviewEnd, ReviewReason } from "../RunEvent.ts"
import { isFinished, type ReviewState, type RunState } from "../RunState.ts"
import { accountsOf } from "./applying/draft.ts"
import { closest } from "./closest.ts"
import { applyEdits } from "./editing.ts"
import { Given } from "./given.ts"
import { meaningOf } from "./meanings.ts"
import type { Principal } from "./principals.ts"
import { foldRun } from "./reading.ts"
import { ReviewNotFound } from "./reviewErrors.ts"
import type { RunNotFound, RunTooNew, RunUntrusted } from "./runErrors.ts"
import { expiry } from "./timing.ts"
import { vet } from "./vetting.ts"
import { wordOf } from "./word.ts"

/**
 * A question in a list.
 *
 * **Details**
 *
 * - `path`: from the desk down to the task: the desk, the worker if there is one, and the tasks, the outer ones first.
 * - `task`, `worker`, `tool`: absent where none is concerned.
 * - `risk`, `irreversible`: by which its rules were chosen. `rule`: which, as in `high of policy 1`.
 * - `stage`: which stage of its ladder has begun. `held`: its last deadline is over, and it stays open.
 * - `asked`: who may decide, as in `group:release`, as far as its stage has begun.
 * - `next`: what comes next while nobody decides. `final`: what silence does in the end, and when; absent where it stays open.
 * - `claimed`: who takes care of it just now. `word`: somebody has decided it, and the process that carries out the run has
 *   not taken that in yet.
 * - `votes`: what was said so far. `quorum`: how many have to approve.
 * - `revision`, `digest`: of what is shown here, for a decision about exactly that.
 * - `batchable`: whether it may be decided together with others of its kind.
 *
 * @category models
 * @since 0.1.0
 */
export interface Item {
  readonly review: string
  readonly run: string
  readonly desk: string
  readonly path: ReadonlyArray<string>
  readonly task?: string | undefined
  readonly worker?: string | undefined
  readonly tool?: string | undefined
  readonly kind: ReviewKind
  readonly reason: ReviewReason
  readonly allowed: ReadonlyArray<Decision>
  readonly risk: Autonomy.Risk
  readonly irreversible: boolean
  readonly rule?: string | undefined
  readonly stage: Ladder.StageName
  readonly held: boolean
  readonly asked: ReadonlyArray<string>
  readonly openedAt: number
  readonly next?: Pick<Ladder.Step, "at" | "what"> | undefined
  readonly final?: { readonly at: number; readonly action: FinalAction } | undefined
  readonly claimed?: { readonly by: string; readonly until: number } | undefined
  readonly word: boolean
  readonly votes: ReadonlyArray<Voted>
  readonly quorum: number
  readonly revision: number
  readonly digest?: string | undefined
  readonly batchable: boolean
  readonly note: string
}

/**
 * One vote of several. `via`: in whose place it was given.
 *
 * @category models
 * @since 0.1.0
 */
export interface Voted {
  readonly by: string
  readonly via?: string | undefined
  readonly decision: Decision
  readonly at: number
}

/**
 * Which questions.
 *
 * **Details**
 *
 * - `run`, `desk`, `kind`: only those of it. Default: all.
 * - `mine`: only those that this one may decide now otherwise than by rejecting them.
 * - `limit`: at most so many, from 1 to 1,000. Default 100. `after`: the `next` of the page before.
 *
 * @category models
 * @since 0.1.0
 */
export interface Filter {
  readonly run?: string | undefined
  readonly desk?: string | undefined
  readonly kind?: ReviewKind | undefined
  readonly mine?: string | Principal | undefined
  readonly limit?: number | undefined
  readonly after?: string | undefined
}

/**
 * A page of questions.
 *
 * **Details**
 *
 * - `total`: how many there are on all pages. `next`: where the next page begins; absent of the last one.
 * - `unread`: runs that have open questions and cannot be read, with the reason.
 *
 * @category models
 * @since 0.1.0
 */
export interface Page {
  readonly items: ReadonlyArray<Item>
  readonly total: number
  readonly next?: string | undefined
  readonly unread: ReadonlyArray<{ readonly run: string; readonly reason: string }>
}

const given = new Given("Review.queue")

const mostInPage = 1_000

const names: ReadonlyArray<keyof Filter> = ["run", "desk", "kind", "mine", "limit", "after"]

/** The place of a question in the order of the queue. */
type Place = readonly [deadline: number, openedAt: number, review: string]

const placeOf = ({ final, openedAt, review }: Item): Place => [final?.at ?? Infinity, openedAt, review]

const compare = (one: Place, other: Place): number => {
  if (one[0] !== other[0]) return one[0] < other[0] ? -1 : 1
  return one[1] - other[1] || (one[2] < other[2] ? -1 : one[2] > other[2] ? 1 : 0)
}

const cursorOf = ([deadline, openedAt, review]: Place): string =>
  `${deadline === Infinity ? "" : deadline}:${openedAt}:${review}`

const placeAt = (cursor: string): Place => {
  const [, deadline = "", openedAt = "", review = ""] = /^(\d*(?:\.\d+)?):(\d+(?:\.\d+)?):(.+)$/s.exec(cursor) ?? []
  if (review === "") return given.refuse("after", "the next of a page", cursor)
  return [deadline === "" ? Infinity : Number(deadline), Number(openedAt), review]
}

const checked = (filter: Filter) => {
  given.record("filter", filter, names)
  const { after, kind, limit = 100, mine } = filter
  if (kind !== undefined) given.oneOf("kind", kind, ReviewKind.literals)
  given.whole("limit", limit, 1)
  if (limit > mostInPage) given.refuse("limit", `a whole number from 1 to ${mostInPage}`, limit)
  const who = mine === undefined ? undefined : Reviewers.principal(mine)
  if (who !== undefined && EffectResult.isFailure(who)) {
    return given.refuse("mine", "the name of somebody, such as ann or service:x", mine)
  }
  return { limit, from: after === undefined ? undefined : placeAt(after), who: who?.success }
}

/**
 * What people are asked and have not decided, in all runs of the journal: those whose last deadline comes first, then those
 * that have none; of the same deadline the one that was asked first.
 *
 * **Details**
 *
 * - Reads the runs that the lists of the journal say have open questions, and no others; the one of the filter always.
 * - A run that cannot be read stands in `unread`, and keeps nobody from the others.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when the filter has an unknown field, or one that is out of range.
 *
 * @category reading
 * @since 0.1.0
 */
export const queue = (filter: Filter = {}): Effect.Effect<Page, RunNotFound | Journal.JournalError, Journal.Journal> =>
  Effect.suspend(() => listed(filter, checked(filter)))

const listed = Effect.fnUntraced(function* (
  { desk, kind, run }: Filter,
  { from, limit, who }: ReturnType<typeof checked>
): Effect.fn.Return<Page, RunNotFound | Journal.JournalError, Journal.Journal> {
  const journal = yield* Journal.Journal
  const now = yield* Clock.currentTimeMillis
  const open = yield* journal.reviews(run)
  const words = new Set(open.flatMap(({ claimed, review }) => (claimed === undefined ? [] : [review])))
  const runs = run === undefined ? [...new Set(open.map(({ run }) => run))] : [run]
  const items: Array<Item> = []
  const unread: Array<{ readonly run: string; readonly reason: string }> = []
  // One after the other: only one of them is in memory at a time.
  for (const each of runs) {
    const state = yield* foldRun(each).pipe(
      Effect.map(({ state }): RunState | undefined => state),
      Effect.catchTags({
        RunTooNew: (error) =>
          Effect.as(
            Effect.sync(() => unread.push({ run: each, reason: error.message })),
            undefined
          ),
        RunUntrusted: (error) =>
          Effect.as(
            Effect.sync(() => unread.push({ run: each, reason: error.message })),
            undefined
          )
      }),
      Effect.catchTag("RunNotFound", (error) => (run === undefined ? Effect.succeed(undefined) : Effect.fail(error)))
    )
    if (state === undefined || isFinished(state.status)) continue
    if (desk !== undefined && state.desk !== desk) continue
    for (const review of state.reviews.values()) {
      if (kind !== undefined && review.kind !== kind) continue
      if (who !== undefined && !(yield* mayDecide(state, review, who))) continue
      items.push(itemOf(state, review, { now, word: words.has(review.review) }))
    }
  }
  items.sort((one, other) => compare(placeOf(one), placeOf(other)))
  const left = from === undefined ? items : items.filter((item) => compare(placeOf(item), from) > 0)
  const page = left.slice(0, limit)
  const last = page.at(-1)
  const more = last !== undefined && left.length > page.length ? { next: cursorOf(placeOf(last)) } : {}
  return { items: page, total: items.length, ...more, unread }
})

/** Whether somebody may decide something, other than to reject it. */
const mayDecide = (state: RunState, review: ReviewState, who: Principal): Effect.Effect<boolean> => {
  const [decision = "reject"] = review.allowed.filter((each) => each !== "reject")
  const said = { _tag: "ReviewDecided", review: review.review, decision, by: Reviewers.nameOf(who), note: "" } as const
  return Effect.map(vet(state, { ...said, principal: who }), ({ _tag }) => _tag === "Eligible")
}

/** A task with those around it, the outer ones first. */
const tasksTo = ({ tasks }: Pick<RunState, "tasks">, task: string | undefined): ReadonlyArray<string> => {
  const path: Array<string> = []
  for (let each = task ?? ""; each !== ""; each = tasks.get(each)?.parent ?? "") path.unshift(each)
  return path
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

/** Who is concerned: whose action it is, whose order asks, or who would have it next. */
const workerOf = ({ tasks }: Pick<RunState, "tasks">, { facts, task = "" }: ReviewState): string | undefined => {
  const of = tasks.get(task)
  return textOf(facts["worker"]) ?? of?.dispatch?.worker ?? of?.parked?.worker ?? of?.routed ?? of?.tries.at(-1)?.worker
}

const risks: ReadonlySet<unknown> = new Set<Autonomy.Risk>(["low", "medium", "high", "critical"])

/** Whether it may be decided together with others: its rules say so, and so does the table of tier and risk. */
export const isBatchable = ({ facts, terms }: Pick<ReviewState, "facts" | "terms">): boolean =>
  terms?.batchable === true && facts["batchable"] !== false

/** By which rule it was asked. */
export const ruleOf = ({ terms }: Pick<ReviewState, "terms">): string | undefined =>
  terms === undefined ? undefined : `${terms.policy.rule} of policy ${terms.policy.version}`

const itemOf = (
  state: RunState,
  open: ReviewState,
  { now, word }: { readonly now: number; readonly word: boolean }
): Item => {
  const { allowed, at, claimed, digest, facts, held = false, kind, note, reason, revision, stage, steps, task } = open
  const { review, terms, to, votes } = open
  const worker = workerOf(state, open)
  const tool = textOf(facts["tool"])
  const rule = ruleOf(open)
  const risk = terms?.risk ?? (risks.has(facts["risk"]) ? (facts["risk"] as Autonomy.Risk) : "low")
  const [next] = steps
  const last = steps.at(-1)
  return {
    review,
    run: state.run,
    desk: state.desk,
    path: [state.desk, ...(worker === undefined ? [] : [worker]), ...tasksTo(state, task)],
    ...(task === undefined ? {} : { task }),
    ...(worker === undefined ? {} : { worker }),
    ...(tool === undefined ? {} : { tool }),
    kind,
    reason,
    allowed,
    risk,
    irreversible: terms?.irreversible ?? facts["irreversible"] === true,
    ...(rule === undefined ? {} : { rule }),
    stage: Ladder.StageName.literals[stage] ?? "primary",
    held,
    asked: [...new Set(to ?? (terms?.stages ?? [["anyone"]]).slice(0, stage + 1).flat())],
    openedAt: at,
    ...(next === undefined ? {} : { next: { at: next.at, what: next.what } }),
    ...(last?.what === "expire" ? { final: { at: last.at, action: terms?.final ?? "hold" } } : {}),
    ...(claimed !== undefined && claimed.until > now ? { claimed } : {}),
    word,
    votes: votes.map(({ at, by, decision, via }) => ({ by, ...(via === undefined ? {} : { via }), decision, at })),
    quorum: terms?.quorum ?? 1,
    revision,
    ...(digest === undefined ? {} : { digest }),
    batchable: isBatchable(open),
    note
  }
}

/**
 * How a question was closed.
 *
 * **Details**
 *
 * - `by`, `decision`: of one that was decided, or taken back by somebody. `action`: of one that expired.
 * - `instead`: the question that was put in its place.
 * - `answer`, `raise`, `edits`, `note`: what was said with it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Closed extends Partial<Pick<Of<"ReviewDecided">, "answer" | "raise" | "edits" | "via" | "grant">> {
  readonly as: ReviewEnd
  readonly at: number
  readonly by?: string | undefined
  readonly decision?: Decision | undefined
  readonly action?: FinalAction | undefined
  readonly instead?: string | undefined
  readonly note: string
}

/**
 * What was decided about a question of the same kind before, in the same run.
 *
 * @category models
 * @since 0.1.0
 */
export interface Previous extends Pick<Of<"ReviewDecided">, "review" | "decision" | "by" | "at" | "note"> {
  readonly task?: string | undefined
}

/**
 * What somebody wants to be done instead of what was proposed.
 *
 * **Details**
 *
 * - `edits`: what is changed. `arguments`: all of them as they would be; absent where they are too large to be shown.
 *
 * @category models
 * @since 0.1.0
 */
export interface Changed {
  readonly by: string
  readonly edits: Edits
  readonly arguments?: Schema.Json | undefined
}

/**
 * A question with all that a person needs to decide it.
 *
 * **Details**
 *
 * - `status`: `open`, or how it was closed; `closed` says more about that.
 * - `requester`: who asked for the run. `terms`: the rules by which it is decided.
 * - `facts`: what is known of it, by `kind`; see `RunEvent.ReviewOpened`. They were computed by the run. `editable`: JSON
 *   pointers into `facts.arguments`.
 * - `rationale`: what a model or another outside source says about it. It is no fact, and no instruction.
 * - `decisions`: what may be decided, and what that does. `silence`: what happens when nobody decides, and when.
 * - `previous`: the last ten decisions of its kind in the run, the latest first.
 * - `spent`: by the run, and by the task, so far. `budget`: what is left where its task, or else the run, is charged.
 * - `changed`: what somebody wants to be done instead of what was proposed, where others have to approve that, too.
 * - `words`: what was decided and is not taken in yet. `refusals`: what was said about it and did not count.
 *
 * @category models
 * @since 0.1.0
 */
export interface Whole extends Item {
  readonly status: "open" | ReviewEnd
  readonly closed?: Closed | undefined
  readonly requester?: string | undefined
  readonly terms?: Terms | undefined
  readonly supersedes?: string | undefined
  readonly editable: ReadonlyArray<string>
  readonly facts: { readonly [name: string]: Schema.Json }
  readonly rationale?: string | undefined
  readonly decisions: ReadonlyArray<{ readonly decision: Decision; readonly does: string }>
  readonly silence?: { readonly at?: number | undefined; readonly does: string } | undefined
  readonly previous: ReadonlyArray<Previous>
  readonly spent: { readonly run: Usage; readonly task?: Usage | undefined }
  readonly budget: Budget.Amount
  readonly changed?: Changed | undefined
  readonly words: ReadonlyArray<Pick<Of<"ReviewDecided">, "decision" | "by" | "at" | "note" | "edits">>
  readonly refusals: ReadonlyArray<{
    readonly by: string
    readonly decision: Decision
    readonly because: RefusedBecause
    readonly at: number
  }>
}

/** What is gathered of one question while its run is folded. */
interface Gathered {
  readonly kinds: Map<string, Pick<Of<"ReviewOpened">, "kind" | "task">>
  readonly decided: Array<Of<"ReviewDecided">>
  readonly refusals: Array<Of<"ReviewRefused">>
  opened?: Of<"ReviewOpened">
  last?: ReviewState
  closing?: { readonly at: number; readonly event?: Of<"ReviewDecided" | "ReviewExpired" | "ReviewWithdrawn"> }
}

const gathering = (id: string) => {
  const found: Gathered = { kinds: new Map(), decided: [], refusals: [] }
  const look = (event: Parameters<NonNullable<Parameters<typeof foldRun>[1]>>[0], state: RunState): void => {
    switch (event._tag) {
      case "ReviewOpened":
        found.kinds.set(event.review, event)
        if (event.review === id) found.opened = event
        break
      case "ReviewDecided":
        // What came after it was closed was nothing to go by.
        if (found.closing === undefined) found.decided.push(event)
        break
      case "ReviewRefused":
        if (event.review === id) found.refusals.push(event)
        break
    }
    if (found.opened === undefined || found.closing !== undefined) return
    const now = state.reviews.get(id)
    if (now !== undefined) {
      found.last = now
      return
    }
    const settles = event._tag === "ReviewDecided" || event._tag === "ReviewExpired" || event._tag === "ReviewWithdrawn"
    found.closing = { at: event.at, ...(settles && event.review === id ? { event } : {}) }
  }
  return { found, look }
}

/** The run of a question, by its id. */
export const runOf = (review: string): string => review.replace(/\/review\/[^/]*$/, "")

/** There is no such question; those that are open, the ones that may have been meant first. */
const missing = (review: string): Effect.Effect<never, ReviewNotFound | Journal.JournalError, Journal.Journal> =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const open = (yield* journal.reviews()).map(({ review }) => review)
    return yield* new ReviewNotFound({ review, open: closest(review, open), more: Math.max(0, open.length - 5) })
  })

/**
 * A question with all that a person needs to decide it, or, once it is closed, with how that came.
 *
 * **Details**
 *
 * Fails with `ReviewNotFound`, which names those that are open, when the journal has no such question.
 *
 * @category reading
 * @since 0.1.0
 */
export const get = Effect.fnUntraced(function* (
  review: string
): Effect.fn.Return<Whole, ReviewNotFound | RunTooNew | RunUntrusted | Journal.JournalError, Journal.Journal> {
  const journal = yield* Journal.Journal
  const run = runOf(review)
  const { found, look } = gathering(review)
  const folded = yield* foldRun(run, look).pipe(Effect.catchTag("RunNotFound", () => Effect.succeed(undefined)))
  const { last, opened } = found
  if (folded === undefined || opened === undefined || last === undefined) return yield* missing(review)
  const { fold, state } = folded
  const now = yield* Clock.currentTimeMillis
  const left = (yield* journal.commands(run)).flatMap((each) => {
    const word = wordOf(each)
    return word._tag === "ReviewDecided" && word.review === review ? [{ ...word, at: each.at }] : []
  })
  const open = state.reviews.has(review) && !isFinished(state.status)
  const item = itemOf(state, last, { now, word: open && left.length > 0 })
  const closed = open ? undefined : closedOf(state, review, found)
  const { rationale, ...facts } = opened.facts
  const { editable = [], requester, supersedes, terms } = last
  const task = last.task === undefined ? undefined : state.tasks.get(last.task)
  const accounts = task === undefined ? ["run"] : accountsOf(state, task, item.worker ?? "")
  return {
    ...item,
    status: closed?.as ?? "open",
    ...(closed === undefined ? {} : { closed }),
    ...(requester === undefined ? {} : { requester }),
    ...(terms === undefined ? {} : { terms }),
    ...(supersedes === undefined ? {} : { supersedes }),
    editable,
    facts,
    ...(open ? changedOf(last, facts["arguments"]) : {}),
    ...(rationale === undefined
      ? {}
      : { rationale: typeof rationale === "string" ? rationale : JSON.stringify(rationale) }),
    decisions: last.allowed.map((decision) => ({
      decision,
      does: meaningOf({ kind: last.kind, facts, dispatch: last.dispatch }, decision)
    })),
    ...(closed === undefined ? { silence: silenceOf(item) } : {}),
    previous: previousOf(found, opened),
    spent: {
      run: fold.outcome(state)?.usage ?? {},
      ...(task === undefined ? {} : { task: fold.usage(task.id) })
    },
    budget: Budget.left(
      state.ledger,
      accounts.filter((account) => state.ledger.accounts.has(account))
    ),
    words: open
      ? left.map(({ at, by, decision, edits, note }) => ({
          decision,
          by,
          at,
          note,
          ...(edits === undefined ? {} : { edits })
        }))
      : [],
    refusals: found.refusals.map(({ at, because, by, decision }) => ({ by, decision, because, at }))
  }
})

const changedOf = (
  { editable = [], votes }: ReviewState,
  proposed: Schema.Json | undefined
): { readonly changed?: Changed } => {
  const editor = votes.findLast(({ edits }) => edits !== undefined)
  if (editor?.edits === undefined) return {}
  const { by, edits } = editor
  const after = proposed === undefined ? undefined : applyEdits(proposed, edits, editable)
  const args = after !== undefined && EffectResult.isSuccess(after) ? { arguments: after.success } : {}
  return { changed: { by, edits, ...args } }
}

const silenceOf = ({ final }: Item): NonNullable<Whole["silence"]> =>
  final === undefined ? { does: expiry.hold } : { at: final.at, does: expiry[final.action] }

const previousOf = ({ decided, kinds }: Gathered, { kind, review: id }: Of<"ReviewOpened">): ReadonlyArray<Previous> =>
  decided
    .filter(({ review }) => review !== id && kinds.get(review)?.kind === kind)
    .slice(-10)
    .toReversed()
    .map(({ at, by, decision, note, review }) => {
      const task = kinds.get(review)?.task
      return { review, ...(task === undefined ? {} : { task }), decision, by, at, note }
    })

const closedOf = (state: RunState, id: string, { closing }: Gathered): Closed => {
  const known = state.closed.get(id)
  const event = closing?.event
  const { action, as = "withdrawn", at = closing?.at ?? state.lastAt, by, decision, instead } = known ?? {}
  return {
    as,
    at,
    ...(by === undefined ? {} : { by }),
    ...(decision === undefined || as !== "decided" ? {} : { decision }),
    ...(action === undefined ? {} : { action }),
    ...(instead === undefined ? {} : { instead }),
    ...(event?._tag === "ReviewDecided" ? saidWith(event) : {}),
    note: event?.note ?? (instead === undefined ? "Nobody needs the answer any more" : `Put anew, as ${instead}`)
  }
}

const saidWith = ({ answer, edits, grant, raise, via }: Of<"ReviewDecided">) => ({
  ...(answer === undefined ? {} : { answer }),
  ...(edits === undefined ? {} : { edits }),
  ...(grant === undefined ? {} : { grant }),
  ...(raise === undefined ? {} : { raise }),
  ...(via === undefined ? {} : { via })
})
