/**
 * The gate before the tools of one order: whether a call may be done, and what of it.
 *
 * It is looked at each time that a call is about to begin, also when somebody has approved it before.
 *
 * | what is known of the call | what becomes of it |
 * |---|---|
 * | its arguments do not fit the tool | refused; nobody is asked |
 * | the gate says deny, whoever has approved it | refused |
 * | a person has rejected the same before, in this run | refused, with the reason that was given then |
 * | a person is asked about it | waits |
 * | approved, and the approval is there | done with it |
 * | approved, and the approval is used up or has lapsed | asked about anew |
 * | approved with changes that ask for more | asked about anew, as it is with the changes |
 * | a standing grant covers it | asked about, and decided by that in the same moment |
 * | nobody let it or its like be done | the gate and the tier say: done, confirmed, or a person is asked |
 *
 * **Invariants**
 *
 * - K1. What a person has not let be done is not done, whatever the work makes of it: there is no way from there to the tool.
 * - K2. An approval lets one call be done, by its question, and only with the arguments that were approved.
 * - K3. Nobody is asked about what would not be done anyway.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Autonomy from "../Autonomy.ts"
import * as Budget from "../Budget.ts"
import type * as Decider from "../Decider.ts"
import type * as ReviewPolicy from "../ReviewPolicy.ts"
import * as ReviewText from "../ReviewText.ts"
import type { ClosedReview, RunState } from "../RunState.ts"
import * as ToolGate from "../ToolGate.ts"
import { accountsOf } from "./applying/draft.ts"
import { uncovered } from "./applying/granting.ts"
import { canonical, digest as digestOf } from "./canonical.ts"
import { basis } from "./deciding/basis.ts"
import { differences, digestOfAction } from "./editing.ts"
import { EffectError } from "./effectErrors.ts"
import type { News } from "./news.ts"
import { type Intent, withArguments } from "./performing.ts"
import type { Asked, Closing, Questions } from "./questioning.ts"
import { bytesOf } from "./showing.ts"
import { type Called, type Declared, edited, misfit } from "./tools.ts"

/** What is needed of the order, and of the run. */
export interface Around {
  readonly run: string
  readonly task: string
  readonly dispatch: string
  readonly worker: string
  readonly state: () => RunState
  readonly tell: (news: News) => void
  readonly questions: Questions
  readonly spec: Decider.Spec
  readonly policy: ReviewPolicy.ReviewPolicy
  readonly refusal: (name: string) => EffectError | undefined
  /** Nothing more is begun, for this reason. */
  readonly stick: (error: EffectError) => void
}

/** So many calls that were refused by the gate, and not by a person, end an order. */
const most = 3

/** Bytes of JSON that arguments may take in a question: 32 KiB. */
const small = 32 * 1024

/** What a call is asked about or done with. */
type Step = { readonly _tag: "Pass"; readonly intent: Intent } | { readonly _tag: "Ask"; readonly asked: Asked }

const pass = (intent: Intent): Step => ({ _tag: "Pass", intent })

type Ruled = Exclude<ToolGate.Ruling, { readonly _tag: "Run" }>

/** What a call is by its tool and its arguments, whoever makes it. */
const callOf = ({ name }: Declared, args: Schema.Json): string => digestOf(canonical(["call", name, args]))

/** @since 0.1.0 */
export class Gatekeeper {
  private readonly around: Around
  /** Calls whose rejection the work has heard of since it began. */
  private readonly told = new Set<string>()
  private denied = 0
  /** What a person did not let be done, last. */
  rejection: EffectError | undefined

  constructor(around: Around) {
    this.around = around
  }

  /** See `Book.pass`. */
  pass(intent: Intent, called: Called, withGrants = true): Effect.Effect<Intent, EffectError> {
    return Effect.suspend((): Effect.Effect<Intent, EffectError> => {
      const refused = this.around.refusal(intent.name)
      if (refused !== undefined) return Effect.fail(refused)
      if (called._tag === "Undeclared") return Effect.fail(this.undeclared(intent, called.known))
      const { questions } = this.around
      return Effect.flatMap(questions.during(this.step(intent, called, withGrants)), (step) => {
        if (step._tag === "Pass") return Effect.succeed(step.intent)
        return Effect.matchEffect(questions.ask(step.asked), {
          onFailure: ({ detail, reason }) =>
            // The last use of a grant was somebody else's.
            reason === "refused" && step.asked.grant !== undefined
              ? this.pass(intent, called, false)
              : Effect.fail(this.fail(intent, reason === "busy" ? "busy" : "refused", detail)),
          // It was decided in the meantime.
          onSuccess: () => this.pass(intent, called)
        })
      })
    })
  }

  private fail(
    { name }: Intent,
    reason: EffectError["reason"],
    detail: string,
    review?: string | undefined
  ): EffectError {
    return new EffectError({ effect: name, reason, detail, ...(review === undefined ? {} : { review }) })
  }

  private notice(what: string, note: string): void {
    this.around.tell({ _tag: "Noticed", subject: this.around.task, what, note })
  }

  /** Refused without a person; too many of these end the order. */
  private deny(intent: Intent, what: string, reason: EffectError["reason"], detail: string): EffectError {
    const { dispatch } = this.around
    this.notice(what, `${dispatch} may not do ${intent.name}: ${detail}`)
    return this.count(this.fail(intent, reason, detail))
  }

  private count(error: EffectError): EffectError {
    this.denied += 1
    if (this.denied >= most) this.around.stick(error)
    return error
  }

  private undeclared(intent: Intent, known: ReadonlyArray<string>): EffectError {
    const { message } = new Autonomy.ToolUnknown({ tool: intent.name, known: known.toSorted() })
    return this.deny(intent, "undeclared-tool", "denied", message)
  }

  private step(intent: Intent, tool: Declared, withGrants: boolean): Effect.Effect<Step, EffectError> {
    return Effect.gen({ self: this }, function* () {
      const { effects } = this.around.state()
      const known = effects.get(intent.effect)
      // What came of it is recorded, or a person has to tell.
      if (known !== undefined && known.status !== "intended") return pass(intent)
      const wrong = misfit(tool, intent.arguments)
      if (wrong !== undefined) return yield* this.deny(intent, "malformed-call", "malformed", wrong) // K3
      const proposed = yield* this.proposed(intent, tool)
      if (known !== undefined) return pass(yield* this.begun(intent, tool, proposed, known.digest))
      return yield* this.fresh(intent, tool, proposed, withGrants)
    })
  }

  /** What is proposed, with what was changed in questions that others were put in the place of. */
  private proposed(intent: Intent, tool: Declared): Effect.Effect<Schema.Json, EffectError> {
    return Effect.gen({ self: this }, function* () {
      let args = intent.arguments
      const { asks, closed } = this.around.state()
      for (const review of asks.get(intent.effect)?.edited ?? []) {
        const closing = yield* this.closing(intent, closed.get(review))
        const next = edited(tool, args, editsOf(closing))
        // The tool or the call is another one now: what was changed before means nothing.
        if (EffectResult.isFailure(next)) return intent.arguments
        args = next.success
      }
      return args
    })
  }

  /** It was begun before: it is the same only with the arguments that it was begun with. */
  private begun(
    intent: Intent,
    tool: Declared,
    proposed: Schema.Json,
    digest: string
  ): Effect.Effect<Intent, EffectError> {
    return Effect.gen({ self: this }, function* () {
      const { asks, closed } = this.around.state()
      const review = closed.get(asks.get(intent.effect)?.review ?? "")
      const closing = review?.decision === "edit" ? yield* this.closing(intent, review) : undefined
      const args = closing === undefined ? undefined : edited(tool, proposed, editsOf(closing))
      const same = withArguments(intent, args !== undefined && EffectResult.isSuccess(args) ? args.success : proposed)
      return same.digest === digest ? same : { ...intent, recovery: "person" as const }
    })
  }

  private closing(intent: Intent, review: ClosedReview | undefined): Effect.Effect<Closing, EffectError> {
    return Effect.mapError(this.around.questions.read(intent.name, review?.version ?? 0), ({ detail }) =>
      this.fail(intent, "busy", detail)
    )
  }

  private rule(tool: Declared, args: Schema.Json): ToolGate.Ruling {
    const { spec, state, task } = this.around
    const now = state()
    const of = now.tasks.get(task)
    const lowConfidence = of !== undefined && basis(now, of).confidence < spec.policy.confidence
    const read = tool.read(args)
    // What does not fit never comes here.
    const decoded = EffectResult.isSuccess(read) ? read.success : args
    return ToolGate.decide({ tool, args: decoded, worker: tool.worker, tier: now.tier, lowConfidence })
  }

  /** What is approved: the call, and how much is at stake with it. */
  private digest(tool: Declared, args: Schema.Json, { irreversible, risk }: ToolGate.Ruling): string {
    const { policy, run, task } = this.around
    const { name, version } = tool
    const asked = { version: policy.version, risk, irreversible }
    return digestOfAction({ tool: name, version, args, run, task, policy: asked })
  }

  private fresh(
    intent: Intent,
    tool: Declared,
    proposed: Schema.Json,
    withGrants: boolean
  ): Effect.Effect<Step, EffectError> {
    return Effect.gen({ self: this }, function* () {
      const { asks, closed, grants, reviews } = this.around.state()
      const ruling = this.rule(tool, proposed)
      if (ruling._tag === "Deny") return yield* this.denial(intent, ruling) // deny wins
      const ask = asks.get(intent.effect)
      const review = ask?.review ?? ""
      const before = closed.get(review)
      const digest = this.digest(tool, proposed, ruling)
      const asked = this.asked(intent, tool, proposed, ruling, ask?.edited)
      if (reviews.get(review)?.digest === digest) return { _tag: "Ask", asked }
      if (before?.digest === digest) {
        const answered = yield* this.answered(intent, tool, proposed, review, before, asked)
        if (answered !== undefined) return answered
      } else if (before !== undefined && grants.has(review)) {
        this.mismatch(intent, review, before.digest, digest)
      }
      yield* this.unlessRejected(intent, tool, proposed, review)
      const anew = before?.digest === digest ? { ...asked, after: review } : asked
      if (ruling._tag === "Run") return pass(withArguments(intent, proposed))
      const because = ruling._tag === "Confirm" ? this.confirm(intent, tool, ruling) : ruling.reason
      if (because === undefined) return pass(withArguments(intent, proposed))
      const grant = withGrants ? this.covering(tool, proposed, ruling, yield* Clock.currentTimeMillis) : undefined
      if (grant !== undefined) return { _tag: "Ask", asked: { ...anew, grant } }
      this.strangers(intent, tool, digest)
      return { _tag: "Ask", asked: { ...anew, note: `${anew.note}${because === "" ? "" : ` (${because})`}` } }
    })
  }

  /** A standing grant that lets the call be done. */
  private covering(
    { name }: Declared,
    args: Schema.Json,
    { irreversible, risk }: Ruled,
    at: number
  ): string | undefined {
    const { state, task } = this.around
    const call = { tool: name, args, task, risk, irreversible, at }
    for (const [grant, standing] of state().standing) if (uncovered(standing, call) === undefined) return grant
    return undefined
  }

  private denial(intent: Intent, { reason, rule }: Ruled): EffectError {
    const detail = `its gate says no (${rule})${reason === "" ? "" : `: ${reason}`}`
    return this.deny(intent, "denied-call", "denied", detail)
  }

  /** The supervisor's own decision, which is recorded: why it does not let it be done, if it does not. */
  private confirm(intent: Intent, tool: Declared, { risk }: Ruled): string | undefined {
    const { dispatch, spec, state, task, worker } = this.around
    const now = state()
    const of = now.tasks.get(task)
    const verdict = Autonomy.confirm(
      {
        task,
        worker,
        risk,
        tier: now.tier,
        confidence: of === undefined ? 0 : basis(now, of).confidence,
        budgetLeft: of === undefined ? 0 : Budget.left(now.ledger, accountsOf(now, of, worker)).cost,
        attempts: of?.tries.filter((each) => each.worker === worker).length ?? 0
      },
      spec.confirm
    )
    const { allowed, reason } = verdict
    const note = `${allowed ? "Confirmed" : "Not confirmed"}: ${tool.name} of ${dispatch}: ${reason}`
    this.around.tell({ _tag: "Confirmed", task, worker, allowed, dispatch, effect: intent.effect, note })
    return allowed ? undefined : `not confirmed: ${reason}`
  }

  /** A question about a call. */
  private asked(
    intent: Intent,
    tool: Declared,
    args: Schema.Json,
    ruling: ToolGate.Ruling,
    changed: ReadonlyArray<string> | undefined
  ): Asked {
    const { state, task, worker } = this.around
    const { irreversible, risk } = ruling
    const bytes = bytesOf(args)
    const large = bytes > small
    const read = tool.read(args)
    const sentence = EffectResult.isSuccess(read) ? tool.sentence(read.success) : undefined
    const editable = large || tool.editable.length === 0 ? undefined : tool.editable
    const rule = ruling._tag === "Run" ? "autonomy" : ruling.rule
    const reason = ruling._tag === "Run" ? "" : ruling.reason
    const facts = {
      task,
      worker,
      tool: tool.name,
      version: tool.version,
      call: callOf(tool, args),
      ...(large ? { largeArguments: bytes } : { arguments: args }),
      ...(sentence === undefined ? {} : { description: sentence }),
      risk,
      irreversible,
      tier: state().tier,
      rule,
      ...(reason === "" ? {} : { why: reason }),
      ...(intent.occurrence === 0 ? {} : { occurrence: intent.occurrence }),
      ...(editable === undefined || tool.schema === undefined ? {} : { schema: tool.schema })
    }
    return {
      key: intent.effect,
      name: intent.name,
      kind: "action-approval",
      reason: "gate",
      allowed: editable === undefined ? ["approve", "reject"] : ["approve", "edit", "reject"],
      digest: this.digest(tool, args, ruling),
      ...(editable === undefined ? {} : { editable }),
      ...(changed === undefined || changed.length === 0 ? {} : { edited: changed }),
      facts,
      note: `${worker} wants to do ${tool.name} for ${task}${sentence === undefined ? "" : `: ${sentence}`}`
    }
  }

  /** What was decided about the call; nothing where that does not hold any more, and it is asked about anew. */
  private answered(
    intent: Intent,
    tool: Declared,
    proposed: Schema.Json,
    review: string,
    before: ClosedReview,
    asked: Asked
  ): Effect.Effect<Step | undefined, EffectError> {
    return Effect.gen({ self: this }, function* () {
      const { dispatch, state, task } = this.around
      const anew: Step = { _tag: "Ask", asked: { ...asked, after: review } }
      const other = before.dispatch !== dispatch
      if (before.as !== "decided" && other) return undefined
      const closing = yield* this.closing(intent, before)
      if (closing._tag === "ReviewWithdrawn") {
        const reason = closing.note
        return yield* this.unapproved(intent, review, "withdrawn", { _tag: "Withdrawn", reason }, before)
      }
      if (closing._tag === "ReviewExpired" && closing.action !== "approve") {
        const { action, because } = closing
        // Work that is to end with its task waits for that.
        if (action === "halt") return { _tag: "Ask", asked }
        const resolution: ReviewText.Resolution = { _tag: because === "deadline" ? "Expired" : "NoReviewer", action }
        return yield* this.unapproved(intent, review, "expired", resolution, before)
      }
      if (closing._tag === "ReviewDecided" && closing.decision === "reject") {
        if (other) return undefined
        const { by, note: reason } = closing
        if (this.told.has(intent.effect)) return yield* this.repeated(intent, review, reason, before)
        this.told.add(intent.effect)
        const rejected: ReviewText.Resolution = { _tag: "Rejected", by, reason, doNotRetry: false }
        return yield* this.unapproved(intent, review, "rejected", rejected, before)
      }
      const changed = closing._tag === "ReviewDecided" && closing.decision === "edit"
      const args = changed ? edited(tool, proposed, editsOf(closing)) : EffectResult.succeed(proposed)
      if (EffectResult.isFailure(args)) {
        const note = `What was changed in ${review} cannot be done, and is asked about anew: ${args.failure}`
        this.notice("edits-refused", note)
        return anew
      }
      if (changed) {
        const ruling = this.rule(tool, args.success)
        if (ruling._tag === "Deny") return yield* this.denial(intent, ruling)
        const was = this.rule(tool, proposed)
        if (ToolGate.needsMore(ruling, was)) {
          const more = this.asked(intent, tool, args.success, ruling, [...(asked.edited ?? []), review])
          return { _tag: "Ask", asked: { ...more, note: `${more.note}, as it was changed in ${review}` } }
        }
      }
      const grant = state().grants.get(review)
      const now = yield* Clock.currentTimeMillis
      // It was used up, it has lapsed, or it is of another task. K2
      if (grant === undefined || grant.task !== task || grant.until <= now) return anew
      return pass({ ...withArguments(intent, args.success), grant: review })
    })
  }

  /** A person did not let it be done, or nobody did. */
  private unapproved(
    intent: Intent,
    review: string,
    reason: EffectError["reason"],
    resolution: ReviewText.Resolution,
    { onReject }: Pick<ClosedReview, "onReject">
  ): EffectError {
    const error = this.fail(intent, reason, ReviewText.forWorker(resolution, intent.name), review)
    this.rejection = error
    if (reason !== "rejected" || onReject === undefined || onReject === "tell") return error
    // Whoever is asked next is asked about the task.
    if (onReject === "escalate") this.rejection = undefined
    this.around.stick(onReject === "fail" ? error : this.fail(intent, reason, error.detail))
    return error
  }

  /** The same as what was rejected before. */
  private repeated(
    intent: Intent,
    review: string,
    reason: string,
    before: Pick<ClosedReview, "onReject">
  ): EffectError {
    const { dispatch } = this.around
    this.notice("rejected-repeat", `${dispatch} wants to do ${intent.name} again, which ${review} did not let be done`)
    return this.count(this.unapproved(intent, review, "rejected", { _tag: "RejectedRepeat", reason }, before))
  }

  /** Refuses what somebody has rejected before in this run, or has had done in another way, whoever asked for it. */
  private unlessRejected(
    intent: Intent,
    tool: Declared,
    args: Schema.Json,
    own: string
  ): Effect.Effect<void, EffectError> {
    return Effect.gen({ self: this }, function* () {
      const { closed, tasks } = this.around.state()
      const { dispatch, task } = this.around
      const call = callOf(tool, args)
      for (const [review, each] of closed) {
        const { as, decision } = each
        if (as !== "decided" || each.call !== call || each.tool !== tool.name) continue
        if (decision !== "reject" && decision !== "edit") continue
        if (review === own && each.dispatch === dispatch) continue
        const after = tasks.get(task)?.answers.some((said) => {
          return said.decision === "retry" && (closed.get(said.review)?.version ?? 0) > each.version
        })
        // Somebody has had the task tried anew since.
        if (after === true) continue
        const closing = yield* this.closing(intent, each)
        if (closing._tag !== "ReviewDecided") continue
        if (decision === "edit") {
          const effective = edited(tool, args, editsOf(closing))
          if (EffectResult.isSuccess(effective) && differences(args, effective.success).length === 0) continue
        }
        return yield* this.repeated(intent, review, closing.note, each)
      }
    })
  }

  /** What is approved is not what is to be done now. */
  private mismatch(intent: Intent, review: string, approved: string | undefined, digest: string): void {
    const { dispatch } = this.around
    const note = `${dispatch} wants to do ${intent.name} as ${digest}, and ${review} approved ${approved ?? "nothing that is known"}; it was not done`
    this.notice("approval-mismatch", note)
  }

  /** Approvals of the same tool that this order has and that are not for this call. */
  private strangers(intent: Intent, { name }: Declared, digest: string): void {
    const { dispatch, state } = this.around
    const { asks, grants } = state()
    if (asks.has(intent.effect)) return
    for (const [review, grant] of grants) {
      if (grant.dispatch === dispatch && grant.tool === name) this.mismatch(intent, review, grant.digest, digest)
    }
  }
}

const editsOf = (closing: Closing): Readonly<Record<string, Schema.Json>> =>
  closing._tag === "ReviewDecided" ? (closing.edits ?? {}) : {}
