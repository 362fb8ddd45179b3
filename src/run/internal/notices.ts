/**
 * What people are told: that they are asked something, and what came of it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { sha256 } from "../../journal/internal/sha256.ts"
import { Risk } from "../Autonomy.ts"
import { ReviewKind } from "../RunEvent.ts"
import { canonical } from "./canonical.ts"
import { Text } from "./fields.ts"
import { shorten } from "./problems.ts"
import { instantOf, plain } from "./text.ts"

/**
 * What a notice is about.
 *
 * **Details**
 *
 * - `created`: somebody is asked. `reminder`: still is. `stage-changed`: others are asked, too.
 * - `decided`, `expired`, `withdrawn`, `superseded`: nobody is asked any more, and why.
 * - `grant-stalled`: what was approved has not been carried out. `late-attempt`: somebody decided when it was over.
 *
 * @category models
 * @since 0.1.0
 */
export const What = Schema.Literals([
  "created",
  "reminder",
  "stage-changed",
  "decided",
  "expired",
  "withdrawn",
  "superseded",
  "grant-stalled",
  "late-attempt"
])

/**
 * @category models
 * @since 0.1.0
 */
export type What = typeof What.Type

/** @since 0.1.0 */
export interface Notice extends Schema.Schema.Type<typeof Notice> {}

const NoticeId = Schema.String.check(
  Schema.isPattern(/^[\w-]{1,128}$/, { expected: "letters, digits, '_' and '-', at most 128 characters" })
)

/**
 * One thing that people are told, as plain JSON. It says that there is a question, and where, but nothing of its content.
 *
 * **Details**
 *
 * - `id`: the same for the same notice, however often it is sent; letters, digits, `_` and `-`.
 * - `review`, `run`, `desk`, `task`: what it is about; `task` is absent when the run itself is concerned.
 * - `kind`: of the question. `risk`: of the action that is to be approved.
 * - `at`: when it came to be. `due`: when the next step comes, such as a reminder or the end. Milliseconds since 1970.
 * - `to`: who is told, as in `user:ada` or `group:finance`.
 * - `summary`: one sentence for people, out of a template.
 *
 * @category models
 * @since 0.1.0
 */
export const Notice = Schema.Struct({
  id: NoticeId,
  run: Text,
  review: Text,
  desk: Text,
  what: What,
  kind: ReviewKind,
  at: Schema.Finite,
  due: Schema.optionalKey(Schema.Finite),
  risk: Schema.optionalKey(Risk),
  task: Schema.optionalKey(Text),
  to: Schema.Array(Text),
  summary: Text.check(Schema.isMaxLength(1000))
})

/**
 * What a notice is made of: its fields, and the number of the event in the journal that it comes from.
 *
 * @category models
 * @since 0.1.0
 */
export interface NoticeOptions extends Omit<Notice, "id" | "summary"> {
  readonly event: number
}

const leads: { readonly [W in What]: string } = {
  created: "A decision is asked for",
  reminder: "A decision is still waited for",
  "stage-changed": "More people are asked to decide",
  decided: "A decision has been taken",
  expired: "The time to decide is over",
  withdrawn: "No decision is needed any more",
  superseded: "Another question has taken the place of this one",
  "grant-stalled": "What was approved has not been carried out yet",
  "late-attempt": "A decision came too late"
}

const subjects: { readonly [K in ReviewKind]: string } = {
  "action-approval": "whether an action may be carried out",
  "result-acceptance": "whether a result is good enough",
  question: "the answer to a question",
  escalation: "what becomes of a task that is stuck",
  "budget-increase": "whether a budget is raised",
  "scope-reduction": "whether requirements are dropped",
  reconciliation: "what is true where accounts differ",
  routing: "who goes on",
  "plan-approval": "whether a plan is carried out"
}

const longestName = 120

const nameOf = (text: string): string => shorten(plain(text), longestName)

const summaryOf = ({ desk, due, kind, risk, run, task, what }: NoticeOptions): string => {
  const where = [
    `desk ${nameOf(desk)}`,
    `run ${nameOf(run)}`,
    ...(task === undefined ? [] : [`task ${nameOf(task)}`]),
    ...(risk === undefined ? [] : [`${risk} risk`])
  ]
  const next = due === undefined ? "" : `; the next step is at ${instantOf(due)}`
  return `${leads[what]}: ${subjects[kind]} (${where.join(", ")})${next}.`
}

/**
 * Makes a notice: with an id that is the same for the same event, and a sentence out of a template.
 *
 * **Details**
 *
 * - `event`: the number of the event in the journal that it comes from. Two notices of one review about the same thing, such
 *   as two reminders, differ in it. Who is told does not change the id.
 *
 * @category constructors
 * @since 0.1.0
 */
export const notice = (options: NoticeOptions): Notice => {
  const { event, ...rest } = options
  const { review, run, what } = rest
  const key = sha256(new TextEncoder().encode(canonical([run, review, what, event])))
  return { ...rest, id: `notice_${key.slice(0, 32)}`, summary: summaryOf(options) }
}
