/**
 * How something outside is done once: look it up, write down that it is intended, do it, write down what came of it.
 *
 * What is known and where it is written down is the business of a {@link Book}: that of a run, or one in memory.
 *
 * **Invariants**
 *
 * - P1. Nothing is done before the intent is written, and nobody gets a value before it is.
 * - P2. Between looking an effect up and having it in `pending` nothing else happens, so that nobody else begins it.
 * - P3. Whatever was begun stays unknown until its end is told. Only a typed failure says that nothing happened.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { Redaction } from "../../Redaction.ts"
import type { Options } from "../Effects.ts"
import type { EffectEnd, EffectRecovery } from "../RunEvent.ts"
import { canonical, digest } from "./canonical.ts"
import { EffectError } from "./effectErrors.ts"
import { owned } from "./plain.ts"
import { decoder, encoder, sentences, shorten } from "./problems.ts"
import { Doing } from "./questioning.ts"
import { reasonOf } from "./reasons.ts"
import type { Called } from "./tools.ts"

/** What is to be done. `effect`: its key; `digest`: of its arguments; `per`: the order that it belongs to alone; `grant`: the review in which a person let it be done. */
export interface Intent {
  readonly effect: string
  readonly name: string
  readonly digest: string
  readonly occurrence: number
  readonly recovery: EffectRecovery
  readonly per?: string | undefined
  readonly arguments: Schema.Json
  readonly grant?: string | undefined
}

/** What is written down. */
export type Entry =
  | { readonly _tag: "Intended" }
  | {
      readonly _tag: "Settled"
      readonly outcome: EffectEnd
      readonly by: "run" | "probe"
      readonly value?: Schema.Json | undefined
      readonly why?: string | undefined
    }
  | { readonly _tag: "Quarantined"; readonly effect: string; readonly happened: boolean; readonly why: string }

/**
 * What is known of an effect.
 *
 * **Details**
 *
 * - `Wait`: what came of it is being written. `Unknown`: it was intended, and nobody knows more. `Held`: only a person can
 *   tell, of this effect or of another one that is the same by name and arguments.
 */
export type Known =
  | { readonly _tag: "New" }
  | { readonly _tag: "Wait"; readonly until: Effect.Effect<unknown> }
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Done"; readonly value: Effect.Effect<Schema.Json | undefined, EffectError> }
  | { readonly _tag: "Busy"; readonly why: string }
  | { readonly _tag: "Held"; readonly effect: string; readonly happened: boolean; readonly why: string }

/** An effect that is under way. `twin`: its name and arguments. */
export interface Pending {
  readonly twin: string
  readonly owner: Book
  readonly over: Deferred.Deferred<void>
}

/**
 * What a worker's effects are looked up in, and written to.
 *
 * **Details**
 *
 * - `refusal`: why nothing may be begun any more.
 * - `earlier`: what an order before this one has begun, and nobody or only a person has told the end of, in the place of an intent
 *   that is the same but for its order.
 * - `pass`: lets a call of a tool through, as it may be done: with other arguments where a person has changed them, and with
 *   the approval that it uses up. Fails where it may not be done, and does not come back while people are asked.
 * - `holds`: whether an approval can still be used.
 * - `tell`: has an entry written; done when it is, with the reason when it is not taken. What is told in turn is written in
 *   turn.
 * - `written`: an effect that was settled is so for everybody. `stick`: nothing more is begun, for this reason.
 */
export interface Book {
  readonly run: string
  readonly task: string
  readonly dispatch: string
  readonly pending: Map<string, Pending>
  readonly refusal: (name: string) => EffectError | undefined
  readonly earlier: (intent: Intent) => Intent
  readonly pass: (intent: Intent, called: Called) => Effect.Effect<Intent, EffectError>
  readonly holds: (grant: string) => boolean
  readonly look: (intent: Intent) => Known
  readonly tell: (intent: Intent, entry: Entry) => Deferred.Deferred<string | undefined>
  readonly written: (intent: Intent) => void
  readonly stick: (error: EffectError) => void
}

type Any<A, E, R, E2, R2> = Options<A, E, R, E2, R2>

const namePattern = /^[A-Za-z][\w.:/-]{0,99}$/

/** The key of an effect: the same over attempts, orders and processes. */
export const keyOf = (
  run: string,
  task: string,
  name: string,
  args: Schema.Json,
  occurrence: number,
  dispatch?: string | undefined
): string => digest(canonical([run, task, name, args, occurrence, ...(dispatch === undefined ? [] : [dispatch])]))

/** Of arguments. What belongs to one order is another effect than that of any other. */
const digestFor = (args: Schema.Json, order: string | undefined): string =>
  digest(canonical(order === undefined ? args : [args, order]))

/** What is to be done, as it is written down. */
const intentOf = <A, E, R, E2, R2>(book: Book, options: Any<A, E, R, E2, R2>): Intent | EffectError => {
  const { args = null, idempotent = false, name, occurrence = 0, per = "task", probe } = options
  const called = typeof name === "string" && namePattern.test(name)
  const invalid = (detail: string) =>
    new EffectError({ effect: called ? name : "without a name", reason: "invalid", detail })
  if (!called) {
    return invalid("name must be 1 to 100 letters, digits and any of _ . : / -, beginning with a letter")
  }
  if (!Number.isSafeInteger(occurrence) || occurrence < 0) return invalid("occurrence must be a whole number >= 0")
  if (per !== "task" && per !== "dispatch") return invalid(`per must be "task" or "dispatch"`)
  if (typeof options.run !== "function") return invalid("run must be a function")
  const own = owned(args, "args")
  if (EffectResult.isFailure(own)) {
    const { expectation, path } = own.failure
    return invalid(`${path} ${expectation}`)
  }
  const order = per === "dispatch" ? book.dispatch : undefined
  return book.earlier({
    ...(order === undefined ? {} : { per: order }),
    effect: keyOf(book.run, book.task, name, own.success, occurrence, order),
    name,
    digest: digestFor(own.success, order),
    occurrence,
    recovery: idempotent ? "repeat" : probe === undefined ? "person" : "probe",
    arguments: own.success
  })
}

/** What came of an effect, or that it has to be looked up again. */
type Turn<A> = { readonly _tag: "Value"; readonly value: A } | { readonly _tag: "Again" }

const again = { _tag: "Again" } as const

/** What is recorded of an effect that was done; nothing is done. */
export const recall = <A, E, R, E2, R2>(
  book: Book,
  options: Any<A, E, R, E2, R2>
): Effect.Effect<Option.Option<A>, EffectError> =>
  Effect.suspend((): Effect.Effect<Option.Option<A>, EffectError> => {
    const intent = intentOf(book, options)
    if (intent instanceof EffectError) return Effect.fail(intent)
    const known = book.look(intent)
    if (known._tag === "Wait") return Effect.andThen(known.until, recall(book, options))
    if (known._tag !== "Done") return Effect.succeedNone
    const { decode } = codecOf(options.schema)
    // What does not fit is for `perform` to say.
    return Effect.map(known.value, (json) => EffectResult.getSuccess(decode(json)))
  })

/** An intent with other arguments. */
export const withArguments = (intent: Intent, args: Schema.Json): Intent =>
  args === intent.arguments ? intent : { ...intent, arguments: args, digest: digestFor(args, intent.per) }

/** Performs an effect once, whoever asks for it how often. */
export const perform = <A, E, R, E2, R2>(
  book: Book,
  options: Any<A, E, R, E2, R2>,
  called?: Called | undefined
): Effect.Effect<A, E | E2 | EffectError, R | R2> =>
  Effect.suspend(() => {
    const intent = intentOf(book, options)
    if (intent instanceof EffectError) return Effect.fail(intent)
    const turn =
      called === undefined
        ? new Performing(book, intent, options).turn
        : Effect.flatMap(book.pass(intent, called), (passed) => new Performing(book, passed, options).turn)
    const loop: Effect.Effect<A, E | E2 | EffectError, R | R2> = Effect.flatMap(turn, (turn) =>
      turn._tag === "Value" ? Effect.succeed(turn.value) : loop
    )
    return loop
  })

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

class Performing<A, E, R, E2, R2> {
  private readonly book: Book
  private readonly intent: Intent
  private readonly options: Any<A, E, R, E2, R2>
  private readonly codec: Codec<A>

  constructor(book: Book, intent: Intent, options: Any<A, E, R, E2, R2>) {
    this.book = book
    this.intent = intent
    this.options = options
    this.codec = codecOf(options.schema)
  }

  private fail(reason: EffectError["reason"], detail: string): EffectError {
    return new EffectError({ effect: this.intent.name, reason, detail })
  }

  readonly turn: Effect.Effect<Turn<A>, E | E2 | EffectError, R | R2> = Effect.uninterruptibleMask((restore) =>
    Effect.suspend((): Effect.Effect<Turn<A>, E | E2 | EffectError, R | R2> => {
      const { book, intent } = this
      const refused = book.refusal(intent.name)
      if (refused !== undefined) return Effect.fail(refused)
      const other = this.underWay()
      if (other !== undefined) return Effect.as(restore(Deferred.await(other.over)), again)
      const known = book.look(intent)
      switch (known._tag) {
        case "Wait":
          return Effect.as(restore(known.until), again)
        case "Busy":
          return Effect.fail(this.fail("busy", known.why))
        case "Held":
          return this.quarantine(restore, known)
        case "Done":
          return this.recorded(restore, known.value)
        case "New":
          return this.pending(this.begin(restore)) // P2
        case "Unknown": {
          if (intent.recovery === "repeat") return this.pending(this.run(restore))
          if (intent.recovery === "probe") return this.pending(this.probe(restore))
          const why = `it was begun before, and nobody knows whether it has happened`
          return this.quarantine(restore, { effect: intent.effect, happened: false, why })
        }
      }
    })
  )

  /** The same effect, by its key or by name and arguments, where somebody is at it. */
  private underWay(): Pending | undefined {
    const { intent } = this
    const { pending } = this.book
    if (pending.size === 0) return undefined
    const twin = twinOf(intent)
    for (const [key, each] of pending) if (key === intent.effect || each.twin === twin) return each
    return undefined
  }

  /** Has everybody else who asks for the same wait for it. */
  private pending<B, F, S>(work: Effect.Effect<B, F, S>): Effect.Effect<B, F, S> {
    const { effect } = this.intent
    const { pending } = this.book
    const over = Deferred.makeUnsafe<void>()
    pending.set(effect, { twin: twinOf(this.intent), owner: this.book, over })
    return Effect.onExit(work, () =>
      Effect.sync(() => {
        pending.delete(effect)
        Deferred.doneUnsafe(over, Exit.void)
      })
    )
  }

  /** Writes down that it is intended, and does it. P1 */
  private begin(restore: Restore): Effect.Effect<Turn<A>, E | EffectError, R> {
    const { book, intent } = this
    return Effect.suspend(() => {
      const ack = book.tell(intent, { _tag: "Intended" })
      return restore(Deferred.await(ack)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => this.unbegun("it was called back before"))),
        Effect.flatMap((refused): Effect.Effect<Turn<A>, E | EffectError, R> => {
          if (refused !== undefined) {
            // An approval that has lapsed in between is asked for anew.
            if (intent.grant !== undefined && !book.holds(intent.grant)) return Effect.succeed(again)
            return Effect.fail(this.fail("refused", refused))
          }
          const late = book.refusal(intent.name)
          if (late === undefined) return this.run(restore)
          this.unbegun(late.detail)
          return Effect.fail(late)
        })
      )
    })
  }

  /** It was intended, and has not been begun. */
  private unbegun(why: string): void {
    this.book.tell(this.intent, { _tag: "Settled", outcome: "failed", by: "run", why: `it was not begun: ${why}` })
  }

  private run(restore: Restore): Effect.Effect<Turn<A>, E | EffectError, R> {
    const { intent, options } = this
    const work = Effect.provideService(
      Effect.suspend(() => options.run(intent.effect, intent.arguments)),
      Doing,
      intent.name
    )
    const { interruptible = true } = options
    return Effect.flatMap(Effect.exit(interruptible ? restore(work) : work), (exit) =>
      Exit.isSuccess(exit) ? this.done(restore, exit.value, "run") : this.failed(restore, exit.cause)
    )
  }

  private probe(restore: Restore): Effect.Effect<Turn<A>, E | E2 | EffectError, R | R2> {
    const { intent, options } = this
    const { probe } = options
    if (probe === undefined) return Effect.succeed(again)
    return Effect.flatMap(restore(Effect.suspend(() => probe(intent.effect))), (found) =>
      Option.isSome(found) ? this.done(restore, found.value, "probe") : this.run(restore)
    )
  }

  /** It has happened. */
  private done(restore: Restore, value: A, by: "run" | "probe"): Effect.Effect<Turn<A>, EffectError> {
    const { codec } = this
    return Effect.flatMap(Redaction, (rules) => {
      // Whoever goes on with it gets what is recorded, as they would after a crash.
      const record = EffectResult.flatMap(codec.encode(value), (said) => {
        const json = said === undefined ? undefined : rules.value(said)
        return EffectResult.map(codec.decode(json), (read) => ({ json, read }))
      })
      return this.record(restore, record, by)
    })
  }

  private record(
    restore: Restore,
    record: EffectResult.Result<{ readonly json: Schema.Json | undefined; readonly read: A }, string>,
    by: "run" | "probe"
  ): Effect.Effect<Turn<A>, EffectError> {
    const { book, intent } = this
    if (EffectResult.isFailure(record)) {
      const why = `it has happened, and what came of it cannot be recorded: ${record.failure}`
      return this.quarantine(restore, { effect: intent.effect, happened: true, why })
    }
    const { json, read } = record.success
    const entry: Entry = { _tag: "Settled", outcome: "done", by, value: json }
    const ack = book.tell(intent, entry)
    return Effect.flatMap(restore(Deferred.await(ack)), (refused): Effect.Effect<Turn<A>, EffectError> => {
      book.written(intent)
      if (refused === undefined) return Effect.succeed({ _tag: "Value", value: read })
      return Effect.fail(this.fail("refused", refused))
    })
  }

  /** A typed failure says that nothing has happened; anything else says nothing. P3 */
  private failed(restore: Restore, cause: Cause.Cause<E>): Effect.Effect<Turn<A>, E | EffectError> {
    const { book, intent } = this
    const first = cause.reasons.find(Cause.isFailReason)
    if (first === undefined || !cause.reasons.every(Cause.isFailReason) || this.isAmbiguous(first.error)) {
      return Effect.failCause(cause)
    }
    return Effect.flatMap(Redaction, (rules) => {
      // It is cut short afterwards, so that no half of a secret is left.
      const why = shorten(rules.text(reasonOf(first.error)), 300)
      const ack = book.tell(intent, { _tag: "Settled", outcome: "failed", by: "run", why })
      return Effect.flatMap(restore(Deferred.await(ack)), () => {
        book.written(intent)
        return Effect.failCause(cause)
      })
    })
  }

  private isAmbiguous(error: E): boolean {
    const { ambiguous = Cause.isTimeoutError } = this.options
    try {
      return ambiguous(error)
    } catch {
      return true
    }
  }

  /** What was recorded before, as it is read by the schema now. */
  private recorded(
    restore: Restore,
    value: Effect.Effect<Schema.Json | undefined, EffectError>
  ): Effect.Effect<Turn<A>, EffectError> {
    return Effect.flatMap(restore(value), (json): Effect.Effect<Turn<A>, EffectError> => {
      const read = this.codec.decode(json)
      if (EffectResult.isSuccess(read)) return Effect.succeed({ _tag: "Value", value: read.success })
      const why = `it has happened, and what is recorded of it does not fit: ${read.failure}`
      return this.quarantine(restore, { effect: this.intent.effect, happened: true, why })
    })
  }

  private quarantine(
    restore: Restore,
    { effect, happened, why }: Pick<Extract<Known, { readonly _tag: "Held" }>, "effect" | "happened" | "why">
  ): Effect.Effect<never, EffectError> {
    const { book, intent } = this
    const unknown = this.fail("unknown", why)
    return Effect.flatMap(
      restore(Deferred.await(book.tell(intent, { _tag: "Quarantined", effect, happened, why }))),
      (refused) => {
        if (refused !== undefined) return Effect.fail(this.fail("busy", refused))
        book.stick(unknown)
        return Effect.fail(unknown)
      }
    )
  }
}

/** Name and arguments, by which an effect is the same whoever does it. */
const twinOf = ({ digest, name }: Pick<Intent, "digest" | "name">): string => `${name} ${digest}`

interface Codec<A> {
  readonly encode: (value: A) => EffectResult.Result<Schema.Json | undefined, string>
  readonly decode: (json: Schema.Json | undefined) => EffectResult.Result<A, string>
}

/** What came of an effect as JSON and back. Without a schema it is JSON itself, or nothing at all. */
const codecOf = <A>(schema: Schema.Codec<A, unknown> | undefined): Codec<A> => {
  if (schema === undefined) {
    return {
      encode: (value) => (value === undefined ? EffectResult.succeed(undefined) : asJson(value)),
      decode: (json) => EffectResult.succeed(json as A)
    }
  }
  const codec = Schema.toCodecJson(schema)
  const encode = encoder(codec)
  const decode = decoder(codec)
  return {
    encode: (value) =>
      EffectResult.flatMap(
        EffectResult.mapError(encode(value), (problems) => sentences(problems, "the value")),
        (json) => asJson(json)
      ),
    decode: (json) => EffectResult.mapError(decode(json ?? null), (problems) => sentences(problems, "the value"))
  }
}

const asJson = (value: unknown): EffectResult.Result<Schema.Json, string> =>
  EffectResult.mapError(owned(value, "the value"), ({ expectation, path }) => `${path} ${expectation}`)
