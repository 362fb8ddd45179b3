/**
 * Asking people from inside a worker, and what people do with what they are asked.
 *
 * A handler asks through {@link ask}. The question is written into the journal, the order ends for now, and nothing of it stays
 * in memory: days may pass, and the process may be another one. Once somebody has decided, the same order, under the same id,
 * begins anew, and asks the same again; this time the answer is there.
 *
 * **Details**
 *
 * - So whatever comes before a question is done once more after it. It has to be pure, or go through `Effects`, which are done
 *   once.
 * - Several questions that are asked at once are open at once. The order begins anew with each answer, and waits for the others.
 * - While it waits, the clocks of its task stand still, it holds no place of its worker, and nothing counts as a failure.
 * - Who may decide, for how long people are asked, and what silence means is the desk's policy (`ReviewPolicy`).
 *
 * | what became of the question | `ask` answers with |
 * |---|---|
 * | somebody answered | `Answered`, with the value as the schema decodes it |
 * | somebody approved, or silence did where the policy lets it | `Approved` |
 * | somebody rejected it | `Rejected`, with the reason |
 * | nobody decided in time | `Expired`; where its policy says `halt`, the task has ended instead |
 * | somebody took it back | `Withdrawn` |
 *
 * The other side is that of people. {@link queue} has what all runs of a journal ask, {@link get} one question with all that
 * is needed to decide it; {@link decide} and {@link decideAll} answer. {@link claim}, {@link release}, {@link reassign},
 * {@link extend} and {@link withdraw} change how a question is handled; {@link allow} lets the like of a call be done without being
 * asked again, and {@link revoke} takes that back. They need nothing but the journal, and nobody has to carry the run out
 * meanwhile.
 *
 * **Invariants**
 *
 * - R1. Nobody is asked the same twice in a task: what is asked again under the same name and occurrence is answered from the
 *   record.
 * - R2. An answer belongs to what was asked. Asked about something else under the same name, the old question is closed, and
 *   its answer is nobody's.
 *
 * **Gotchas**
 *
 * - A question must not be raced with a time-out: it is interrupted while nobody has answered, and the order begins anew. How
 *   long people have is said by the policy of the desk.
 * - The answer of a person is data, and may be as wrong as any other. `by` is a name, not a proof.
 *
 * **Example** (A worker that asks which of two names is right)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Review, Run, Worker } from "espalier/run"
 *
 * const name = Worker.make("name", {
 *   description: "Finds the name of a customer",
 *   input: Schema.Struct({}),
 *   output: Schema.String,
 *   handle: () =>
 *     Effect.map(
 *       Review.ask({
 *         name: "which",
 *         question: "Which name is right?",
 *         choices: ["Ann", "Anne"],
 *         schema: Schema.String
 *       }),
 *       (reply) => (reply._tag === "Answered" ? reply.value : "nobody")
 *     )
 * })
 * const desk = Desk.make("names", {
 *   version: "1",
 *   input: Schema.Struct({}),
 *   domains: [Domain.make("people", { workers: [name] })],
 *   coordinator: Plan.make([{ id: "name", worker: "people.name", objective: "Find the name" }])
 * })
 *
 * const program = Effect.gen(function* () {
 *   const { reviews, status } = yield* Run.start(desk, { id: "r1", input: {} })
 *   yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "Anne", by: "bob" })
 *   const { dispatches, results } = yield* Run.resume(desk, "r1")
 *   return [status, reviews[0]?.facts["question"], results["name"]?.output, dispatches.length]
 * })
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => ["waiting", "Which name is right?", "Anne", 1]
 * ```
 *
 * **Example** (What is there to be decided, and what silence does)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Review, Run, Worker } from "espalier/run"
 *
 * const send = Worker.make("send", {
 *   description: "Sends the letter",
 *   risk: "high",
 *   input: Schema.Struct({}),
 *   output: Schema.String,
 *   handle: () => Effect.succeed("sent")
 * })
 * const desk = Desk.make("letters", {
 *   version: "1",
 *   input: Schema.Struct({}),
 *   domains: [Domain.make("post", { workers: [send] })],
 *   coordinator: Plan.make([{ id: "send", worker: "post.send", objective: "Send it" }])
 * })
 *
 * const program = Effect.gen(function* () {
 *   yield* Run.start(desk, { id: "r1", input: {} })
 *   const { items } = yield* Review.queue({ mine: "ann" })
 *   const whole = yield* Review.get(items[0]?.review ?? "")
 *   yield* Review.claim(whole.review, { by: "ann" })
 *   return [whole.path.join(" / "), whole.risk, whole.decisions[0]?.does, whole.silence?.does]
 * })
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => ["letters / post.send / send", "high", "the worker gets the order", "it counts as not approved, and nothing is done"]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import type { Risk } from "./Autonomy.ts"
import { canonical, digest } from "./internal/canonical.ts"
import { owned } from "./internal/plain.ts"
import { decoder, sentences, shortened } from "./internal/problems.ts"
import type { Asked, Closing } from "./internal/questioning.ts"
import { ReviewError } from "./internal/reviewErrors.ts"
import type { Decision, FinalAction } from "./RunEvent.ts"

export { decide, type Deciding, type Taken } from "./internal/commanding.ts"
export { BatchRefused, ReviewError, ReviewNotFound } from "./internal/reviewErrors.ts"
export {
  allow,
  type Allowing,
  claim,
  decideAll,
  type Each,
  extend,
  reassign,
  type Refusals,
  release,
  revoke,
  type Speaking,
  withdraw
} from "./internal/reviewing.ts"
export {
  type Changed,
  type Closed,
  type Filter,
  get,
  type Item,
  type Page,
  type Previous,
  queue,
  type Voted,
  type Whole
} from "./internal/reviewQueue.ts"

/**
 * What came of a question.
 *
 * **Details**
 *
 * - `review`: its id. `by`: who decided; `"system"` where silence did. `note`: why, in their words.
 * - `action`: what the policy of the desk did about it, as nobody had decided.
 *
 * @category models
 * @since 0.1.0
 */
export type Reply<A = Schema.Json> =
  | {
      readonly _tag: "Answered"
      readonly value: A
      readonly by: string
      readonly note: string
      readonly review: string
    }
  | { readonly _tag: "Approved"; readonly by: string; readonly note: string; readonly review: string }
  | { readonly _tag: "Rejected"; readonly by: string; readonly reason: string; readonly review: string }
  | { readonly _tag: "Expired"; readonly action: FinalAction; readonly note: string; readonly review: string }
  | { readonly _tag: "Withdrawn"; readonly by: string; readonly note: string; readonly review: string }

/**
 * A question.
 *
 * **Details**
 *
 * - `name`: what is asked, 1 to 100 letters, digits and any of `_ . : / -`, beginning with a letter. `occurrence`: which time,
 *   where the same name is asked more than once in a task, a whole number >= 0. Default 0.
 * - `question`: one sentence for people, at most 2,000 characters.
 * - `about`: what it is about, plain JSON of at most 32 KiB, shown beside it. Asked about something else, the question is put
 *   anew.
 * - `rationale`: what a model or another outside source says about it, at most 8,000 characters; shown apart, as untrusted.
 * - `choices`: the answers that there are, texts. `schema`: of the answer. Default: the choices, or any JSON.
 * - `decisions`: what may be decided, out of `answer`, `approve` and `reject`. Default `answer` and `reject`.
 * - `risk`, `irreversible`: of what depends on it; the policy of the desk goes by them. Default: those of the worker.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<A = Schema.Json> {
  readonly name: string
  readonly occurrence?: number | undefined
  readonly question: string
  readonly about?: Schema.Json | undefined
  readonly rationale?: string | undefined
  readonly choices?: ReadonlyArray<string> | undefined
  readonly schema?: Schema.Codec<A, unknown> | undefined
  readonly decisions?: ReadonlyArray<"answer" | "approve" | "reject"> | undefined
  readonly risk?: Risk | undefined
  readonly irreversible?: boolean | undefined
}

/**
 * What {@link Review} does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Service {
  readonly run: string
  readonly task: string
  /** @internal */
  readonly ask: (asked: Asked) => Effect.Effect<Closing, ReviewError>
}

/**
 * The people that an order may ask. A handler that requires it gets it from whoever carries its order out.
 *
 * @category services
 * @since 0.1.0
 */
export class Review extends Context.Service<Review, Service>()("espalier/run/Review") {}

const namePattern = /^[A-Za-z][\w.:/-]{0,99}$/

const known: ReadonlyArray<Decision> = ["answer", "approve", "reject"]

/** What is asked, as it is written down; or what is wrong with it. */
const askedOf = <A>({ run, task }: Pick<Service, "run" | "task">, options: Options<A>): Asked | ReviewError => {
  const {
    about,
    choices,
    decisions = ["answer", "reject"],
    irreversible,
    occurrence = 0,
    question,
    rationale,
    risk
  } = options
  const called = typeof options.name === "string" && namePattern.test(options.name)
  const name = called ? options.name : "without a name"
  const invalid = (detail: string) => new ReviewError({ name, reason: "invalid", detail })
  if (!called) return invalid("name must be 1 to 100 letters, digits and any of _ . : / -, beginning with a letter")
  if (!Number.isSafeInteger(occurrence) || occurrence < 0) return invalid("occurrence must be a whole number >= 0")
  if (typeof question !== "string" || question.trim() === "")
    return invalid("question must be a text that is not empty")
  if (!Array.isArray(decisions) || decisions.length === 0 || !decisions.every((each) => known.includes(each))) {
    return invalid(`decisions must be some of ${known.join(", ")}`)
  }
  if (choices !== undefined && (choices.length === 0 || !choices.every((each) => typeof each === "string"))) {
    return invalid("choices must be texts, of which there is one at least")
  }
  const own = owned(about ?? null, "about")
  if (EffectResult.isFailure(own)) return invalid(`${own.failure.path} ${own.failure.expectation}`)
  const subject = canonical([question, own.success, choices ?? null, decisions])
  if (subject.length > largest) return invalid(`about must take at most ${largest} bytes of JSON`)
  const text = shortened(question, 2_000)
  return {
    key: digest(canonical([run, task, "ask", name, occurrence])),
    name,
    kind: "question",
    reason: "asked",
    allowed: decisions,
    digest: digest(subject),
    facts: {
      task,
      name,
      question: text,
      ...(about === undefined ? {} : { about: own.success }),
      ...(choices === undefined ? {} : { choices }),
      ...(rationale === undefined ? {} : { rationale: shortened(rationale, 8_000) }),
      ...(risk === undefined ? {} : { risk }),
      ...(irreversible === undefined ? {} : { irreversible })
    },
    note: `${task} asks: ${text}`
  }
}

/** Bytes that what a question is about may take: 32 KiB. */
const largest = 32 * 1024

/**
 * Asks people, and answers with what came of it.
 *
 * **Details**
 *
 * - Does not succeed in the order that asks first: that is parked, and begins anew when there is an answer.
 * - Fails with a {@link ReviewError}: an option that cannot be, an order that is over, an answer that does not fit the schema.
 *
 * @category asking
 * @since 0.1.0
 */
export const ask = <A = Schema.Json>(
  options: Options<A> & (Schema.Json extends A ? unknown : { readonly schema: Schema.Codec<A, unknown> })
): Effect.Effect<Reply<A>, ReviewError, Review> =>
  Effect.flatMap(Review, (service) => {
    const asked = askedOf(service, options)
    if (asked instanceof ReviewError) return Effect.fail(asked)
    return Effect.flatMap(service.ask(asked), (closing) => Effect.fromResult(replyOf(asked.name, options, closing)))
  })

const replyOf = <A>(
  name: string,
  { schema }: Options<A>,
  closing: Closing
): EffectResult.Result<Reply<A>, ReviewError> => {
  const { note, review } = closing
  switch (closing._tag) {
    case "ReviewExpired": {
      const { action } = closing
      if (action === "approve") return EffectResult.succeed({ _tag: "Approved", by: "system", note, review })
      return EffectResult.succeed({ _tag: "Expired", action, note, review })
    }
    case "ReviewWithdrawn":
      return EffectResult.succeed({ _tag: "Withdrawn", by: closing.by ?? "system", note, review })
    case "ReviewDecided": {
      const { answer = null, by, decision } = closing
      if (decision === "reject") return EffectResult.succeed({ _tag: "Rejected", by, reason: note, review })
      if (decision !== "answer") return EffectResult.succeed({ _tag: "Approved", by, note, review })
      if (schema === undefined) {
        return EffectResult.succeed({ _tag: "Answered", value: answer as A, by, note, review })
      }
      const read = decoder(Schema.toCodecJson(schema))(answer)
      if (EffectResult.isSuccess(read)) {
        return EffectResult.succeed({ _tag: "Answered", value: read.success as A, by, note, review })
      }
      const detail = `the answer of ${by} in ${review} does not fit: ${sentences(read.failure, "the answer")}`
      return EffectResult.fail(new ReviewError({ name, reason: "malformed", detail }))
    }
  }
}

/**
 * What a question looks like to somebody who decides without people, in a test.
 *
 * @category models
 * @since 0.1.0
 */
export interface Question extends Pick<Asked, "allowed" | "facts" | "kind" | "name"> {}

/**
 * What such a one says.
 *
 * @category models
 * @since 0.1.0
 */
export interface Said {
  readonly decision: Decision
  readonly answer?: Schema.Json | undefined
  readonly note?: string | undefined
}

/**
 * People for tests of a handler: a function decides at once.
 *
 * **Details**
 *
 * - `decide`: what is decided; `answer` with a value. Default: everything is rejected.
 * - `run`, `task`: whose questions they are. Defaults: `"none"`, `"none"`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (
  options: {
    readonly run?: string | undefined
    readonly task?: string | undefined
    readonly decide?: ((question: Question) => Said) | undefined
  } = {}
): Layer.Layer<Review> => Layer.sync(Review, () => memory(options))

/** @internal */
export const memory = (options: Parameters<typeof layerMemory>[0] = {}): Service => {
  const {
    decide = (): Said => ({ decision: "reject", note: "there are no people here" }),
    run = "none",
    task = "none"
  } = options
  let asked = 0
  return {
    run,
    task,
    ask: (question) =>
      Effect.sync(() => {
        const { answer, decision, note = "" } = decide(question)
        const said = answer === undefined ? {} : { answer }
        asked += 1
        return { _tag: "ReviewDecided", at: 0, review: `${run}/review/${asked}`, decision, by: "policy", ...said, note }
      })
  }
}
