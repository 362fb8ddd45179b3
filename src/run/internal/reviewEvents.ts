/**
 * What the journal says of questions to people.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { Step } from "../Ladder.ts"
import { Usage } from "../Result.ts"
import { Terms } from "../ReviewPolicy.ts"
import { StandingGrant } from "../StandingGrant.ts"
import { Principal } from "./principals.ts"
import { Decision, FinalAction, RefusedBecause, ReviewKind, ReviewReason } from "./vocabulary.ts"

const at = Schema.Finite
const note = Schema.String
const review = Schema.String
const by = Schema.String

/**
 * Changes of arguments: a JSON pointer into them, and the new value.
 *
 * @category models
 * @since 0.1.0
 */
export const Edits = Schema.Record(Schema.String, Schema.Json)

/**
 * @category models
 * @since 0.1.0
 */
export type Edits = typeof Edits.Type

/**
 * **Details**
 *
 * - `review`: `run/review/n`, n from 1. `task`: absent when the run itself is concerned.
 * - `allowed`: what may be decided.
 * - `terms`: by which rules it is decided. `steps`: what happens while nobody decides, with the times; both absent in journals
 *   of before 0.2. `requester`: who asked for the run.
 * - `digest`: of what is decided about. `editable`: JSON pointers to the arguments that may be changed.
 * - `dispatch`: the order whose work asks; it waits for the answer and then begins anew. `key`: of what it asks, the same
 *   whenever it asks the same again.
 * - `supersedes`: the question in whose place it is put. `edited`: those in which what is proposed was changed before, in turn.
 * - `grant`: the standing grant by which it is decided in the same moment.
 * - `facts`: what a person needs to see, as plain data, by `kind`:
 *   - `action-approval` of an order: `worker`, `risk`, `irreversible`, `tier`, `confidence` (of what the task builds on),
 *     `requester` and `batchable` (see `Autonomy.Decision`), the worker's `description` and `estimate`, `order` (the contract;
 *     of an input of more than 32 KiB of JSON, or beyond 128 KiB of them all, only the bytes, in `largeInputs`, which the note
 *     says) and `digest`, for which alone an approval holds.
 *   - `action-approval` of a tool: `worker`, `tool`, its `version`, `arguments` or `largeArguments`, `description` (one sentence
 *     of the author of the tool), `risk`, `irreversible`, `tier`, `rule` and `why` it is asked about, `occurrence` unless it is 0,
 *     `call` (a digest of the tool and the arguments, the same in any task), and `schema`, the JSON schema of the arguments,
 *     where they may be changed.
 *   - `budget-increase`: `account`, `measure`, `limit`, `settled`, `reserved`, `asked` (of the measure, by the order),
 *     `closed` (it was overrun), `estimate` (all that the order may use) and `needed` (the least raise, by measure).
 *   - `question`: `worker`, `confidence`, `question`, and `choices` where the answer is one of them. `result-acceptance`,
 *     `escalation`: `worker`, `confidence`, as far as known, and of a gate `dispatch`, whose result would stand. All three with the `objective` of the task, and where it has a
 *     result, with the last one: `output` (of more than 32 KiB of JSON only the bytes, in `largeOutput`; it stands in
 *     `Reported` or `Merged`), `missing`, and `evidence` (`requirement`, `command`, `exitStatus`).
 *   - `scope-reduction`: `drop`, the requirements. `routing`: `group`, and `choices` where the answer is a name.
 *   - `plan-approval`: `group`, `plan` (of more than 128 KiB only the bytes, in `largePlan`; it stands in `Decided`), `digest`.
 *   - `reconciliation`: `field`, `values`, `schema` of the field; or of an effect that nobody knows the outcome of: `effect`,
 *     `name`, `dispatch` in which it was intended, `intendedAt`, `happened`, `arguments` or `largeArguments`, and `of`, its task.
 *   - Of a task always `task` and `tries`, how many it has had. `rationale`: what whoever asks says about it; untrusted.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewOpened = Schema.TaggedStruct("ReviewOpened", {
  at,
  review,
  task: Schema.optionalKey(Schema.String),
  kind: ReviewKind,
  reason: ReviewReason,
  allowed: Schema.Array(Decision),
  terms: Schema.optionalKey(Terms),
  steps: Schema.optionalKey(Schema.Array(Step)),
  requester: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  editable: Schema.optionalKey(Schema.Array(Schema.String)),
  dispatch: Schema.optionalKey(Schema.String),
  key: Schema.optionalKey(Schema.String),
  supersedes: Schema.optionalKey(Schema.String),
  edited: Schema.optionalKey(Schema.Array(Schema.String)),
  grant: Schema.optionalKey(Schema.String),
  facts: Schema.Record(Schema.String, Schema.Json),
  note
})

/** What somebody has decided, whether it settles the question or is one vote of several. */
const decided = {
  at,
  review,
  decision: Decision,
  by,
  principal: Schema.optionalKey(Principal),
  via: Schema.optionalKey(Schema.String),
  edits: Schema.optionalKey(Edits),
  raise: Schema.optionalKey(Usage),
  key: Schema.optionalKey(Schema.String),
  revision: Schema.optionalKey(Schema.Int),
  digest: Schema.optionalKey(Schema.String),
  trace: Schema.optionalKey(Schema.String),
  note
}

/**
 * **Details**
 *
 * - `by`: who decided; `principal`: what is known of them, where it is more than a name; `via`: in whose place.
 * - `answer`: to a question, `{ reconcile: { field: value } }`, what came of an effect, or the route that was taken; only with
 *   `answer`.
 * - `raise`: what a budget is raised by. `edits`: what is changed of the arguments; only with `edit`.
 * - `key`: of the request that decided it. `revision`, `digest`: of what it was decided on.
 * - `grant`: the standing grant by which it was decided; then `by` is who gave that.
 * - `trace`: the W3C `traceparent` of what was traced of deciding it, where it was.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewDecided = Schema.TaggedStruct("ReviewDecided", {
  ...decided,
  answer: Schema.optionalKey(Schema.Json),
  grant: Schema.optionalKey(Schema.String)
})

/**
 * One vote of several that a question needs; the last one is its `ReviewDecided`.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewVoted = Schema.TaggedStruct("ReviewVoted", decided)

/**
 * **Details**
 *
 * - `what`: people were reminded, others may decide, too, from now on, or nobody could be found for the stage that began.
 * - `stage`: the one that it is about, from 0. `due`: when its time came; `at` is when that was noticed.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewAdvanced = Schema.TaggedStruct("ReviewAdvanced", {
  at,
  review,
  what: Schema.Literals(["reminded", "widened", "skipped"]),
  stage: Schema.Int,
  due: Schema.Finite,
  note
})

/**
 * **Details**
 *
 * - `action`: what is done about it; with `hold` it stays open. `because`: its time was over, or there was nobody to ask.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewExpired = Schema.TaggedStruct("ReviewExpired", {
  at,
  review,
  action: FinalAction,
  because: Schema.Literals(["deadline", "no-reviewer"]),
  due: Schema.Finite,
  note
})

/**
 * **Details**
 *
 * - `by`: who took it back; absent where the run did, because nobody needs the answer any more.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewWithdrawn = Schema.TaggedStruct("ReviewWithdrawn", {
  at,
  review,
  by: Schema.optionalKey(by),
  principal: Schema.optionalKey(Principal),
  note
})

/**
 * A change of how a question is handled, not of what it asks.
 *
 * **Details**
 *
 * - `what`: somebody takes care of it until a time (which keeps nobody else from deciding), or does not any more; others are
 *   asked instead; its deadlines are later by `millis`.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewChanged = Schema.TaggedStruct("ReviewChanged", {
  at,
  review,
  by,
  principal: Schema.optionalKey(Principal),
  what: Schema.Literals(["claimed", "released", "reassigned", "extended"]),
  until: Schema.optionalKey(Schema.Finite),
  to: Schema.optionalKey(Schema.Array(Schema.String)),
  millis: Schema.optionalKey(Schema.Finite),
  note
})

/**
 * Somebody decided and it does not count. It changes nothing, and may come after the end of the run.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewRefused = Schema.TaggedStruct("ReviewRefused", {
  at,
  review,
  decision: Decision,
  by,
  principal: Schema.optionalKey(Principal),
  because: RefusedBecause,
  note
})

/**
 * An approval that nothing has been done with for a while, or that was never used.
 *
 * @category models
 * @since 0.1.0
 */
export const GrantStalled = Schema.TaggedStruct("GrantStalled", {
  at,
  review,
  task: Schema.String,
  what: Schema.Literals(["stalled", "lapsed"]),
  due: Schema.Finite,
  note
})

/**
 * Somebody who may decide a question lets the like be done without being asked again.
 *
 * **Details**
 *
 * - `review`: the question. `grant`: what is covered, and by whom; its id is that of the question, and `/grant`.
 *
 * @category models
 * @since 0.1.0
 */
export const GrantGiven = Schema.TaggedStruct("GrantGiven", {
  at,
  review,
  grant: StandingGrant,
  by,
  principal: Schema.optionalKey(Principal),
  note
})

/**
 * Somebody has taken such a grant back.
 *
 * @category models
 * @since 0.1.0
 */
export const GrantRevoked = Schema.TaggedStruct("GrantRevoked", {
  at,
  review,
  grant: Schema.String,
  by,
  principal: Schema.optionalKey(Principal),
  note
})

/**
 * Somebody was told of a question, or could not be. It changes nothing, and may come after the end of the run.
 *
 * **Details**
 *
 * - `notice`: its id. `what`: see `Notifier.Notice`. `channels`: how each was reached.
 *
 * @category models
 * @since 0.1.0
 */
export const Notified = Schema.TaggedStruct("Notified", {
  at,
  review,
  notice: Schema.String,
  what: Schema.String,
  ok: Schema.Boolean,
  channels: Schema.Array(
    Schema.Struct({
      channel: Schema.String,
      ok: Schema.Boolean,
      attempts: Schema.Int,
      reason: Schema.optionalKey(Schema.String)
    })
  ),
  note
})

/**
 * The work of an order has stopped, because it waits for the answers to what it has asked. The order stays open, and holds
 * nothing but what was set aside for it.
 *
 * **Details**
 *
 * - `usage`: what its calls have used so far; it is charged now.
 *
 * @category models
 * @since 0.1.0
 */
export const Parked = Schema.TaggedStruct("Parked", {
  at,
  task: Schema.String,
  dispatch: Schema.String,
  worker: Schema.String,
  usage: Schema.optionalKey(Usage),
  note
})

/**
 * The work of an order begins anew, with an answer to what it has asked.
 *
 * @category models
 * @since 0.1.0
 */
export const Unparked = Schema.TaggedStruct("Unparked", {
  at,
  task: Schema.String,
  dispatch: Schema.String,
  worker: Schema.String,
  note
})
