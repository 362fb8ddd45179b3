/**
 * What any worker has to hold to, as a suite that drives it and tells what does not hold.
 *
 * The suite knows no test framework: {@link check} calls the worker with inputs of yours and succeeds with findings, none
 * for a good worker.
 *
 * | rule | a finding means |
 * |---|---|
 * | `input-refused` | an input that it ought to take does not decode |
 * | `bad-input-accepted` | an input that it ought to refuse reaches its handler |
 * | `bad-input-untyped` | it refuses an input without saying what is wrong with it |
 * | `throws` | it breaks off with a bug |
 * | `no-kind` | it fails with an error that carries no kind, so nobody knows what to do |
 * | `no-answer` | it fails on an input that it ought to answer |
 * | `no-failure` | it answers an input on which it ought to fail |
 * | `too-slow` | it takes longer than its own attempt time-out |
 * | `infinite-timeout` | its attempt time-out never comes |
 * | `output-invalid` | its output is empty or not what its own output schema says |
 * | `confidence` | its confidence is not a number between 0 and 1 |
 * | `result-invalid` | its result contradicts itself |
 * | `over-limit` | it says itself that it used more than its order allowed |
 * | `inconsistent` | asked again with the same idempotency key, it answers otherwise |
 * | `ignores-interruption` | it goes on after it was interrupted, longer than the grace time |
 * | `goes-on` | something that it started still runs after it has ended |
 * | `held` | it still holds something after it has ended |
 *
 * **Details**
 *
 * Each input is given twice under one idempotency key, as a retry would, and then twice under keys of their own to be
 * interrupted: at the first point at which the work waits, and some turns later. A handler that never waits has nothing to
 * interrupt.
 *
 * **Gotchas**
 *
 * - The worker is really called. Give it its fakes.
 * - Under a test clock somebody has to move the time when the worker waits for it.
 * - What is no fiber cannot be seen to go on. A request that goes on after its fiber has ended shows as `held`, if you say
 *   how to see it.
 * - A fiber that a shared service starts inside a call, for itself, counts as one of the worker's.
 *
 * **Example** (A worker that forgets to say what its failure means)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Worker } from "espalier/run"
 * import { WorkerSuite } from "espalier/testing"
 *
 * const half = Worker.make("half", {
 *   description: "Halves an even number",
 *   input: Schema.Struct({ n: Schema.Int }),
 *   output: Schema.Int,
 *   handle: ({ input: { n } }) => (n % 2 === 0 ? Effect.succeed(n / 2) : Effect.fail("odd"))
 * })
 *
 * const findings = await Effect.runPromise(
 *   WorkerSuite.check(half, { inputs: [{ n: 4 }], failingInputs: [{ n: 5 }], badInputs: [{ n: "four" }] })
 * )
 * findings // => [{ rule: "no-kind", message: 'failingInputs[0]: fails without a kind: "odd"' }]
 * ```
 *
 * @since 0.1.0
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import * as Allowance from "../run/Allowance.ts"
import * as Budget from "../run/Budget.ts"
import * as Contract from "../run/Contract.ts"
import { Memory } from "../run/internal/effectMemory.ts"
import { Paying } from "../run/internal/paying.ts"
import { sentences, show } from "../run/internal/problems.ts"
import { reasonOf } from "../run/internal/reasons.ts"
import * as Result from "../run/Result.ts"
import type * as Worker from "../run/Worker.ts"
import { type Ended, interrupted, toEnd } from "./internal/call.ts"

/**
 * See the table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const Rule = Schema.Literals([
  "input-refused",
  "bad-input-accepted",
  "bad-input-untyped",
  "throws",
  "no-kind",
  "no-answer",
  "no-failure",
  "too-slow",
  "infinite-timeout",
  "output-invalid",
  "confidence",
  "result-invalid",
  "over-limit",
  "inconsistent",
  "ignores-interruption",
  "goes-on",
  "held"
])

/**
 * @category models
 * @since 0.1.0
 */
export type Rule = typeof Rule.Type

/** @since 0.1.0 */
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

/**
 * One rule that a worker does not hold to; the message names the input.
 *
 * @category models
 * @since 0.1.0
 */
export const Finding = Schema.Struct({ rule: Rule, message: Schema.String })

/**
 * What a worker is driven with.
 *
 * **Details**
 *
 * - `inputs`: named inputs of a contract, as plain values, that the worker ought to answer; at least one.
 * - `failingInputs`: well-formed ones that it cannot do: it has to fail with a kind. Default none.
 * - `badInputs`: ones that its input schema has to refuse, of any shape. Default none.
 * - `contract`: fields of the contract of every order: permissions, references, limits. What the worker says it used is held
 *   against the limits. Default: the worker's description as objective, its areas granted in full (`*`), and nothing else.
 * - `grace`: how long it may take to stop once it is interrupted, > 0 and finite. Default 5 seconds.
 * - `consistent`: whether two answers to the same order can stand beside each other. Default: same status, same
 *   output, same artefacts.
 * - `held`: counts what the worker holds at the moment, connections for one; has to be 0 after each call. Default: not
 *   looked at.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly inputs: ReadonlyArray<{ readonly [name: string]: unknown }>
  readonly failingInputs?: ReadonlyArray<{ readonly [name: string]: unknown }> | undefined
  readonly badInputs?: ReadonlyArray<unknown> | undefined
  readonly contract?: Partial<Omit<Contract.Fields, "task" | "inputs">> | undefined
  readonly grace?: Duration.Input | undefined
  readonly consistent?: ((first: Result.Envelope, second: Result.Envelope) => boolean) | undefined
  readonly held?: Effect.Effect<number> | undefined
}

/** An output as whoever reads the journal sees it. */
const stored = (output: unknown): unknown => (output === undefined ? output : JSON.parse(JSON.stringify(output)))

const sameAnswer = (first: Result.Envelope, second: Result.Envelope): boolean =>
  first.status === second.status &&
  Equal.equals(stored(first.output), stored(second.output)) &&
  Equal.equals(first.artefacts, second.artefacts)

/** In place of a time-out that never comes. */
const longest = Duration.seconds(30)

/**
 * Drives a worker and succeeds with everything that does not hold.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when there are no inputs, `grace` is out of range, or the fields of `contract` make none.
 *
 * @category checking
 * @since 0.1.0
 */
export const check = <R>(
  worker: Worker.Worker<R>,
  options: Options
): Effect.Effect<ReadonlyArray<Finding>, never, R> => {
  const grace = Duration.fromInputUnsafe(options.grace ?? "5 seconds")
  if (options.inputs.length === 0) throw new RangeError("WorkerSuite.check: inputs must be at least one, got none")
  if (!(Duration.isFinite(grace) && Duration.isGreaterThan(grace, Duration.zero))) {
    throw new RangeError(`WorkerSuite.check: grace must be finite and > 0, got ${Duration.toMillis(grace)} ms`)
  }
  const contract = Contract.parse({
    objective: worker.description,
    permissions: Object.fromEntries(worker.permissions.map((area) => [area, ["*"]])),
    ...options.contract,
    task: "suite"
  })
  if (EffectResult.isFailure(contract)) {
    throw new RangeError(`WorkerSuite.check: contract must be one, got ${contract.failure.message}`)
  }
  return Effect.gen(function* () {
    const suite = new Suite(worker, options, grace, contract.success)
    yield* suite.run()
    return suite.findings
  })
}

class Suite<R> {
  readonly findings: Array<Finding> = []
  private readonly worker: Worker.Worker<R>
  private readonly options: Options
  private readonly grace: Duration.Duration
  private readonly timeout: Duration.Duration
  private readonly contract: Contract.Contract
  private readonly effects = new Map<string, Memory>()

  constructor(worker: Worker.Worker<R>, options: Options, grace: Duration.Duration, contract: Contract.Contract) {
    this.contract = contract
    this.worker = worker
    this.options = options
    this.grace = grace
    const { attemptTimeout } = worker
    this.timeout = Duration.isFinite(attemptTimeout) ? attemptTimeout : longest
  }

  run(): Effect.Effect<void, never, R> {
    const { badInputs = [], failingInputs = [], inputs } = this.options
    return Effect.gen({ self: this }, function* () {
      if (!Duration.isFinite(this.worker.attemptTimeout)) {
        this.find("infinite-timeout", "the worker", "has an attempt time-out that never comes")
      }
      badInputs.forEach((input, index) => this.refusal(`badInputs[${index}]`, input))
      for (const [index, input] of failingInputs.entries()) yield* this.failing(`failingInputs[${index}]`, input)
      for (const [index, input] of inputs.entries()) yield* this.answering(`inputs[${index}]`, input)
    })
  }

  private find(rule: Rule, subject: string, what: string): void {
    const message = `${subject}: ${what}`
    if (this.findings.some((finding) => finding.rule === rule && finding.message === message)) return
    this.findings.push({ rule, message })
  }

  private order(subject: string, inputs: unknown, attempt: number): Worker.Prepared & Worker.Order {
    const task = taskOf(subject)
    // What was done outside is known to the next attempt.
    const effects = this.effects.get(task) ?? new Memory("suite", task)
    this.effects.set(task, effects)
    const allowance = Allowance.makeUnsafe({ limit: {} })
    return {
      run: "suite",
      task,
      dispatch: `suite/${task}/1`,
      attempt,
      idempotencyKey: `suite/${task}`,
      // Inputs that are no inputs of a contract have to be refused too, so the contract is made without them.
      contract: { ...this.contract, task, inputs: inputs as Contract.Contract["inputs"] },
      input: undefined,
      accepted: {},
      artefacts: {},
      missing: [],
      previous: [],
      answers: [],
      allowance,
      spend: new Paying(allowance, () => {}).spend,
      notice: () => Effect.void,
      progress: Effect.void,
      effects: effects.service
    }
  }

  private refusal(subject: string, input: unknown): void {
    try {
      const prepared = this.worker.prepare(this.order(subject, input, 1))
      if (EffectResult.isSuccess(prepared)) return this.find("bad-input-accepted", subject, "reaches the handler")
      const silent = prepared.failure.every(({ expectation }) => expectation.trim() === "")
      if (silent) this.find("bad-input-untyped", subject, "is refused without a word about what is wrong with it")
    } catch (error) {
      this.find("bad-input-untyped", subject, `is refused with something thrown: ${sight(error)}`)
    }
  }

  private prepare(subject: string, input: unknown, attempt: number): Effect.Effect<unknown, unknown, R> | undefined {
    const plain = Contract.parse({ task: "check", objective: "Check", inputs: input })
    if (EffectResult.isFailure(plain)) {
      this.find("input-refused", subject, `is no input of a contract: ${plain.failure.message}`)
      return undefined
    }
    try {
      const prepared = this.worker.prepare(this.order(subject, plain.success.inputs, attempt))
      if (EffectResult.isSuccess(prepared)) return prepared.success
      this.find("input-refused", subject, sentences(prepared.failure, "the input"))
    } catch (error) {
      this.find("throws", subject, `the input cannot even be looked at: ${sight(error)}`)
    }
    return undefined
  }

  /** Calls to the end; `undefined` when there is no exit to look at. */
  private call(
    subject: string,
    input: unknown,
    attempt: number
  ): Effect.Effect<Exit.Exit<unknown, unknown> | undefined, never, R> {
    return Effect.gen({ self: this }, function* () {
      const work = this.prepare(subject, input, attempt)
      if (work === undefined) return undefined
      const ended = yield* toEnd(work, this.timeout, this.grace)
      if (ended.exit === undefined) {
        this.find("too-slow", subject, `no answer within ${Duration.toMillis(this.timeout)} ms`)
      }
      yield* this.aftermath(subject, ended)
      return ended.exit
    })
  }

  private aftermath(subject: string, { left, stopped }: Ended): Effect.Effect<void> {
    if (!stopped) {
      const what = `still runs ${Duration.toMillis(this.grace)} ms after it was interrupted`
      this.find("ignores-interruption", subject, what)
    }
    if (left > 0) this.find("goes-on", subject, `${left} of its fibers still run after it has ended`)
    if (this.options.held === undefined || !stopped) return Effect.void
    return Effect.map(this.options.held, (held) => {
      if (held !== 0) this.find("held", subject, `still holds ${held} after it has ended`)
    })
  }

  /** The kind of a failed call, if it has one; bugs and failures without a kind are findings. */
  private kindOf(subject: string, cause: Cause.Cause<unknown>): Effect.Effect<Failure.Kind | undefined> {
    return Effect.map(Failure.Classifier, (classifier) => {
      const { error, kind } = Failure.classify(cause, classifier)
      if (kind !== undefined) return kind
      if (Cause.hasDies(cause)) this.find("throws", subject, `breaks off with a bug: ${sight(error)}`)
      else if (Cause.hasInterruptsOnly(cause)) this.find("throws", subject, "interrupts itself")
      else this.find("no-kind", subject, `fails without a kind: ${sight(error)}`)
      return undefined
    })
  }

  private failing(subject: string, input: unknown): Effect.Effect<void, never, R> {
    return Effect.gen({ self: this }, function* () {
      const exit = yield* this.call(subject, input, 1)
      if (exit === undefined) return
      if (Exit.isFailure(exit)) {
        yield* this.kindOf(subject, exit.cause)
        return
      }
      const result = yield* this.envelope(subject, exit.value)
      if (result !== undefined && result.error === undefined) {
        this.find("no-failure", subject, `is answered with a ${result.status} result`)
      }
    })
  }

  private answering(subject: string, input: unknown): Effect.Effect<void, never, R> {
    return Effect.gen({ self: this }, function* () {
      const first = yield* this.answer(subject, input, 1)
      if (first !== undefined) {
        const second = yield* this.answer(subject, input, 2)
        if (second !== undefined && !(this.options.consistent ?? sameAnswer)(first, second)) {
          const what = `${first.status} at first, ${second.status} and another answer under the same idempotency key`
          this.find("inconsistent", subject, what)
        }
      }
      for (const turns of [0, 10]) {
        const work = this.prepare(`${subject}, interrupted after ${turns} turns`, input, 1)
        if (work === undefined) return
        yield* this.aftermath(subject, yield* interrupted(work, turns, this.grace))
      }
    })
  }

  private answer(
    subject: string,
    input: unknown,
    attempt: number
  ): Effect.Effect<Result.Envelope | undefined, never, R> {
    return Effect.gen({ self: this }, function* () {
      const exit = yield* this.call(subject, input, attempt)
      if (exit === undefined) return undefined
      if (Exit.isFailure(exit)) {
        const kind = yield* this.kindOf(subject, exit.cause)
        if (kind !== undefined)
          this.find("no-answer", subject, `fails (${kind}): ${reasonOf(Cause.squash(exit.cause))}`)
        return undefined
      }
      const result = yield* this.envelope(subject, exit.value)
      if (result?.error !== undefined) {
        this.find("no-answer", subject, `is ${result.status} (${result.error.kind}): ${result.error.reason}`)
      }
      return result
    })
  }

  /** The envelope of an answer; what is wrong with it is a finding. */
  private envelope(subject: string, answer: unknown): Effect.Effect<Result.Envelope | undefined> {
    const { artefacts, encodeOutput, name } = this.worker
    return Effect.map(Clock.currentTimeMillis, (at) => {
      try {
        const checked = Result.check(answer, encodeOutput, {
          artefacts,
          origin: { worker: name, task: taskOf(subject), at }
        })
        if (EffectResult.isSuccess(checked)) {
          this.examine(subject, checked.success)
          return checked.success
        }
        for (const problem of checked.failure.problems) {
          this.find(ruleOf(problem.path), subject, sentences([problem], "the answer"))
        }
      } catch (error) {
        this.find("throws", subject, `its output cannot be encoded: ${sight(error)}`)
      }
      return undefined
    })
  }

  private examine(subject: string, { usage }: Result.Envelope): void {
    for (const name of Budget.measures) {
      const limit = this.contract.limits[name]
      const used = usage[name]
      if (limit !== undefined && used !== undefined && used > limit) {
        this.find("over-limit", subject, `used ${used} of ${limit} ${name}`)
      }
    }
  }
}

/** The id of the task that an input makes. */
const taskOf = (subject: string): string => subject.replaceAll(/\W+/g, "-").slice(0, 64)

const ruleOf = (path: string): Rule => {
  if (path === "confidence") return "confidence"
  return /^output(?![A-Za-z])/.test(path) ? "output-invalid" : "result-invalid"
}

const sight = (error: unknown): string => (Predicate.isError(error) ? error.message : show(error))
