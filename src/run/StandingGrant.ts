/**
 * An approval for more than one action: "allow this for the run", "allow this for 15 minutes".
 *
 * A standing grant is for one tool, and may be bound to values of arguments and to a part of the tasks. It has an end and a
 * number of uses, and it can be revoked. It owns the rule whether an action is covered; that a use is recorded, and how many
 * there have been, is the matter of whoever asks.
 *
 * **Invariants**
 *
 * - G1. Nothing is covered before the grant was given, nor from `until` on, nor more than 8 hours after it was given.
 * - G2. Nothing is covered once `uses` actions were, and never more than 1000 are.
 * - G3. No other tool is covered, no other value of a bound argument, and no task outside.
 * - G4. What cannot be undone and what has the risk `critical` is never covered.
 * - G5. Nothing is covered once the grant is revoked.
 * - G6. What is not known is not covered: a time or a count that is no number, a risk that is none, a pointer that is none.
 *
 * **Example** (Mail to the team for a quarter of an hour)
 *
 * ```ts
 * import { Result } from "effect"
 * import { StandingGrant } from "espalier/run"
 *
 * const minute = 60_000
 * const grant = Result.getOrThrow(
 *   StandingGrant.make(
 *     { grant: "g1", by: "ada", tool: "mail.send", where: { "/to": "team" }, uses: 2, at: 0, until: 15 * minute },
 *     { risk: "medium", irreversible: false }
 *   )
 * )
 *
 * const action = { tool: "mail.send", task: "notify", risk: "medium", irreversible: false, at: minute, used: 0 } as const
 * StandingGrant.covers(grant, { ...action, args: { to: "team", text: "Hi" } }) // => true
 * StandingGrant.refusal(grant, { ...action, args: { to: "all", text: "Hi" } }) // => "other-arguments"
 * StandingGrant.refusal(grant, { ...action, args: { to: "team" }, used: 2 }) // => "used-up"
 * ```
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Risk } from "./Autonomy.ts"
import { canonical } from "./internal/canonical.ts"
import { Count, Text, Version } from "./internal/fields.ts"
import { pointerExpected, tokensOf, valueAt } from "./internal/pointers.ts"
import { decoder, Problem, sentences } from "./internal/problems.ts"

/**
 * The longest time of a grant, in milliseconds: 8 hours.
 *
 * @category limits
 * @since 0.1.0
 */
export const longest = 8 * 60 * 60 * 1000

/**
 * The most uses of a grant.
 *
 * @category limits
 * @since 0.1.0
 */
export const mostUses = 1000

/** Arguments that a grant may be bound to. */
const mostBound = 100

/** @since 0.1.0 */
export interface StandingGrant extends Schema.Schema.Type<typeof StandingGrant> {}

/**
 * An approval for more than one action.
 *
 * **Details**
 *
 * - `grant`: its id. `by`: who gave it. `tool`: the name of the tool, or of the worker, that it is for.
 * - `where`: JSON Pointers into the arguments, at most 100, and the value that must be there. Default: any arguments.
 * - `task`: the task that it is for, with those below it: `a` is for `a` and `a/b` and not for `ab`. Default: any task of the
 *   run.
 * - `uses`: how many actions it covers, from 1 to 1000.
 * - `at`, `until`: when it was given and when it ends, in milliseconds since 1970; at most 8 hours apart.
 * - `revoked`: by whom it was taken back, and when.
 *
 * @category models
 * @since 0.1.0
 */
export const StandingGrant = Schema.Struct({
  grant: Text,
  by: Text,
  tool: Text,
  where: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).check(
      Schema.makeFilter((where) => {
        const pointers = Object.keys(where)
        if (pointers.length > mostBound) return `must have at most ${mostBound} pointers`
        const odd = pointers.find((pointer) => tokensOf(pointer) === undefined)
        return odd === undefined || { path: [odd], issue: pointerExpected }
      })
    )
  ),
  task: Schema.optionalKey(Text),
  uses: Version.check(Schema.isLessThanOrEqualTo(mostUses, { expected: `a whole number from 1 to ${mostUses}` })),
  at: Count,
  until: Count,
  revoked: Schema.optionalKey(Schema.Struct({ by: Text, at: Count }))
}).check(
  Schema.makeFilter(({ at, until }) =>
    until > at && until - at <= longest
      ? undefined
      : { path: ["until"], issue: "must be later than at, and at most 8 hours later" }
  )
)

/**
 * A grant that cannot be given. The message names the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class StandingGrantInvalid extends Schema.TaggedError<StandingGrantInvalid>(
  "espalier/run/StandingGrant/StandingGrantInvalid"
)("StandingGrantInvalid", { problems: Schema.Array(Problem) }) {
  override get message(): string {
    return `STANDING_GRANT_INVALID: ${sentences(this.problems, "the grant")}`
  }
}

const decode = decoder(StandingGrant, "error")

/** What is never covered, whatever a grant says. */
const barred = (action: {
  readonly risk: Risk
  readonly irreversible: boolean
}): "risk" | "irreversible" | undefined => {
  if (action.risk === "critical" || !Risk.literals.includes(action.risk)) return "risk" // G4, G6
  return action.irreversible === false ? undefined : "irreversible" // G4, G6
}

/**
 * Checks any value as a grant for actions of a kind.
 *
 * **Details**
 *
 * - `risk`, `irreversible`: of what it is to cover, as far as that is known when it is given.
 *
 * Fails with {@link StandingGrantInvalid} when a field does not hold, when it is revoked already, and when what it is for is
 * never covered.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  input: unknown,
  kind: { readonly risk: Risk; readonly irreversible: boolean }
): Result.Result<StandingGrant, StandingGrantInvalid> => {
  const decoded = decode(input)
  const problems: Array<Problem> = Result.isFailure(decoded) ? [...decoded.failure] : []
  const bar = barred(kind)
  if (bar === "risk") problems.push({ path: "", expectation: "must not be for an action of critical risk", actual: "" })
  if (bar === "irreversible") {
    problems.push({ path: "", expectation: "must not be for an action that cannot be undone", actual: "" })
  }
  if (Result.isSuccess(decoded) && decoded.success.revoked !== undefined) {
    problems.push({ path: "revoked", expectation: "must be absent of a new grant", actual: "" })
  }
  return Result.isSuccess(decoded) && problems.length === 0
    ? Result.succeed(decoded.success)
    : Result.fail(new StandingGrantInvalid({ problems }))
}

/**
 * Why an action is not covered.
 *
 * **Details**
 *
 * - `revoked`, `not-yet`, `expired`, `used-up`: the grant does not stand, or not any more.
 * - `other-tool`, `other-task`, `other-arguments`: it is for something else.
 * - `risk`, `irreversible`: no grant covers that.
 *
 * @category models
 * @since 0.1.0
 */
export type Refusal =
  | "revoked"
  | "not-yet"
  | "expired"
  | "used-up"
  | "other-tool"
  | "other-task"
  | "other-arguments"
  | "risk"
  | "irreversible"

/**
 * An action that a grant may cover.
 *
 * **Details**
 *
 * - `args`: the effective ones, which would be executed now.
 * - `at`: the time of now, in milliseconds since 1970. `used`: how many actions the grant has covered so far.
 *
 * @category models
 * @since 0.1.0
 */
export interface Action {
  readonly tool: string
  readonly args: Schema.Json
  readonly task: string
  readonly risk: Risk
  readonly irreversible: boolean
  readonly at: number
  readonly used: number
}

/**
 * Why a grant does not cover an action; `undefined` when it does.
 *
 * **Gotchas**
 *
 * The answer holds for the moment of `used`: the use has to be recorded together with the action, or two at once are covered
 * by the last use of a grant.
 *
 * @category operations
 * @since 0.1.0
 */
export const refusal = (grant: StandingGrant, action: Action): Refusal | undefined => {
  const { args, at, task, tool, used } = action
  const bar = barred(action)
  if (bar !== undefined) return bar
  if (grant.revoked !== undefined) return "revoked" // G5
  if (!(at >= grant.at)) return "not-yet" // G1, G6
  if (!(at < Math.min(grant.until, grant.at + longest))) return "expired" // G1, G6
  if (!(used >= 0 && used < Math.min(grant.uses, mostUses))) return "used-up" // G2, G6
  if (tool !== grant.tool) return "other-tool" // G3
  if (grant.task !== undefined && task !== grant.task && !task.startsWith(`${grant.task}/`)) return "other-task" // G3
  for (const [pointer, expected] of Object.entries(grant.where ?? {})) {
    const tokens = tokensOf(pointer)
    const value = tokens === undefined ? undefined : valueAt(args, tokens)
    if (value === undefined || canonical(value) !== canonical(expected)) return "other-arguments" // G3, G6
  }
  return undefined
}

/**
 * Whether a grant covers an action. {@link refusal} says why not.
 *
 * @category operations
 * @since 0.1.0
 */
export const covers = (grant: StandingGrant, action: Action): boolean => refusal(grant, action) === undefined
