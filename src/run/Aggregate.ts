/**
 * Many results made one, by code: each field of the whole has a rule that merges what the tasks give for it.
 *
 * No model takes part. Where a rule finds that tasks contradict each other, the conflict is data: it is settled by another
 * rule ({@link orElse}) or handed out as one narrow question whose answer is checked.
 *
 * **Details**
 *
 * - Every planned task has one entry in the result, with its status and cause, whether or not it delivered.
 * - An output that does not fit the schema of its task or of a field is left out as a whole, and listed.
 * - Claims without a source are dropped where a field says so (`backed`), and listed.
 *
 * **Invariants**
 *
 * - M1. The result depends on the plan and on what was delivered, never on who was first: values come in the plan's order.
 * - M2. Without a usable output the result is `empty`, never a success.
 * - M3. Nothing vanishes: what is not in the output is a conflict, left out, dropped, or the cause of an entry.
 *
 * **Example** (Two tasks, two fields, one conflict)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Aggregate } from "espalier/run"
 *
 * const release = Aggregate.make({
 *   tasks: { code: Schema.Json, docs: Schema.Json },
 *   fields: {
 *     problems: Aggregate.concat(Schema.String),
 *     ready: Aggregate.error(Schema.Boolean)
 *   }
 * })
 * const merged = release.merge({
 *   code: { status: "ok", output: { problems: [], ready: true } },
 *   docs: { status: "ok", output: { problems: ["a dead link"], ready: false } }
 * })
 * merged.value.problems // => ["a dead link"]
 * merged.conflicts.map(({ field }) => field) // => ["ready"]
 * ```
 *
 * @since 0.1.0
 */

import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { canonical } from "./internal/canonical.ts"
import { Given, isRecord } from "./internal/given.ts"
import { type Held, Value } from "./internal/mergeFields.ts"
import { type Field, TypeId } from "./internal/mergeRules.ts"
import { decoder, Problem, sentences } from "./internal/problems.ts"
import type { Outcome } from "./Outcome.ts"
import type { TaskEnd } from "./RunEvent.ts"

export { type Part, Value } from "./internal/mergeFields.ts"
export {
  concat,
  custom,
  error,
  type Field,
  first,
  last,
  majority,
  max,
  mostConfident,
  type Options,
  orElse,
  sum,
  union
} from "./internal/mergeRules.ts"

/** @since 0.1.0 */
export interface Conflict extends Schema.Schema.Type<typeof Conflict> {}

/**
 * A field for which tasks give values that its rule cannot merge.
 *
 * **Details**
 *
 * - `values`: as plain JSON, in the order of the plan.
 *
 * @category models
 * @since 0.1.0
 */
export const Conflict = Schema.Struct({ field: Schema.String, values: Schema.Array(Value) })

/** @since 0.1.0 */
export interface Decided extends Schema.Schema.Type<typeof Decided> {}

/**
 * A field for which tasks gave different values and one was chosen or made of them.
 *
 * **Details**
 *
 * - `rule`: the name of the field's rule, or `answer` when a question was answered.
 *
 * @category models
 * @since 0.1.0
 */
export const Decided = Schema.Struct({ ...Conflict.fields, rule: Schema.String })

/**
 * What came of a planned task, as far as the whole is concerned.
 *
 * **Details**
 *
 * - `ok`, `partial`: its output is part of the whole.
 * - `empty`: it delivered, and there is no value for any field in it.
 * - `failed`: it failed, or its output does not fit.
 * - `skipped`: it was not needed.
 *
 * @category models
 * @since 0.1.0
 */
export const EntryStatus = Schema.Literals([
  "ok",
  "partial",
  "empty",
  "timed-out",
  "failed",
  "blocked",
  "cancelled",
  "skipped"
])

/**
 * @category models
 * @since 0.1.0
 */
export type EntryStatus = typeof EntryStatus.Type

/** @since 0.1.0 */
export interface Entry extends Schema.Schema.Type<typeof Entry> {}

/**
 * One planned task. `cause` is a plain sentence.
 *
 * @category models
 * @since 0.1.0
 */
export const Entry = Schema.Struct({ task: Schema.String, status: EntryStatus, cause: Schema.String })

/** @since 0.1.0 */
export interface LeftOut extends Schema.Schema.Type<typeof LeftOut> {}

/**
 * An output that is not part of the whole, and why.
 *
 * @category models
 * @since 0.1.0
 */
export const LeftOut = Schema.Struct({ task: Schema.String, reason: Schema.String, problems: Schema.Array(Problem) })

/** @since 0.1.0 */
export interface Report extends Schema.Schema.Type<typeof Report> {}

/**
 * A merge as plain data.
 *
 * **Details**
 *
 * - `status`: `complete` when every planned task delivered or was not needed and no conflict is open, `empty` when there is
 *   no usable output, else `partial`.
 * - `output`: the merged fields. A field that no task gives, or whose conflict is open, is absent.
 * - `entries`: one for each planned task, in the order of the plan.
 * - `conflicts`: those that are open. `decided`: those that a rule or an answer settled.
 * - `leftOut`: outputs that do not fit, or that belong to no planned task. `dropped`: claims without a source.
 *
 * @category models
 * @since 0.1.0
 */
export const Report = Schema.Struct({
  status: Schema.Literals(["complete", "partial", "empty"]),
  output: Schema.Record(Schema.String, Schema.Json),
  entries: Schema.Array(Entry),
  conflicts: Schema.Array(Conflict),
  decided: Schema.Array(Decided),
  leftOut: Schema.Array(LeftOut),
  dropped: Schema.Array(Schema.Struct({ task: Schema.String, field: Schema.String, claim: Schema.Json }))
})

/**
 * A {@link Report} with its output decoded.
 *
 * @category models
 * @since 0.1.0
 */
export interface Merged<out A> extends Report {
  readonly value: A
}

/**
 * What is handed in for a task.
 *
 * **Details**
 *
 * - `output`: plain JSON; only that of `ok` and `partial` is read.
 * - `confidence`: between 0 and 1. Default 1.
 * - `cause`: why it is so. Default a sentence about the status.
 *
 * @category models
 * @since 0.1.0
 */
export interface Delivery {
  readonly status: Exclude<EntryStatus, "empty">
  readonly output?: unknown
  readonly confidence?: number | undefined
  readonly cause?: string | undefined
}

/**
 * The merged value of some fields.
 *
 * @category types
 * @since 0.1.0
 */
export type Values<F> = { readonly [K in keyof F]?: F[K] extends Field<infer A> ? A : never }

/** @since 0.1.0 */
export interface Question extends Schema.Schema.Type<typeof Question> {}

/**
 * One narrow question about a conflict, for whoever decides it.
 *
 * **Details**
 *
 * - `schema`: the JSON schema of an answer; empty when it cannot be told.
 *
 * @category models
 * @since 0.1.0
 */
export const Question = Schema.Struct({ ...Conflict.fields, question: Schema.String, schema: Schema.Json })

/**
 * An answer that settles nothing. The message names the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class AnswerRefused extends Schema.TaggedError<AnswerRefused>("espalier/run/Aggregate/AnswerRefused")(
  "AnswerRefused",
  { field: Schema.String, problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `ANSWER_REFUSED: ${sentences(this.problems, this.field)}`
  }
}

/**
 * A plan for one result out of many. `A` is the type of its value.
 *
 * **Details**
 *
 * - `merge`: what was delivered, by task. A planned task that is absent counts as blocked.
 * - `question`: a conflict as a question. Throws a `RangeError` when the aggregate has no such field.
 * - `resolve`: the same result with one conflict settled. The answer is plain JSON, one of the values or any other that
 *   fits the field; else it fails with {@link AnswerRefused}, also when that field has no open conflict.
 *
 * @category models
 * @since 0.1.0
 */
export interface Aggregate<in out A> {
  readonly tasks: ReadonlyArray<string>
  readonly merge: (deliveries: Readonly<Record<string, Delivery>>) => Merged<A>
  readonly question: (conflict: Conflict) => Question
  readonly resolve: (merged: Merged<A>, field: string, answer: unknown) => Result.Result<Merged<A>, AnswerRefused>
}

/**
 * Makes an aggregate.
 *
 * **Details**
 *
 * - `tasks`: the planned tasks in their order, each with the schema of its output.
 * - `fields`: the fields of the whole, each with its rule.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when there is no task or no field, when the id of a task does not begin with a letter, when a task
 * has no schema, and when a field is none.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const F extends Readonly<Record<string, Field<unknown>>>>(options: {
  readonly tasks: Readonly<Record<string, Schema.Codec<unknown, unknown>>>
  readonly fields: F
}): Aggregate<Values<F>> => {
  given.record("options", options, ["tasks", "fields"])
  for (const [task, schema] of Object.entries(given.record("tasks", options.tasks))) {
    given.schema(`tasks.${task}`, schema)
  }
  for (const [name, field] of Object.entries(given.record("fields", options.fields))) {
    given.made(`fields.${name}`, "made by a rule of Aggregate", isRecord(field) && TypeId in field, field)
  }
  const fields = Object.entries(options.fields).map(([name, field]) => ({ name, shape: field[TypeId] }))
  const tasks = Object.entries(options.tasks).map(([task, schema]) => ({
    task,
    fits: decoder(Schema.toCodecJson(schema))
  }))
  if (tasks.length === 0) throw new RangeError("Aggregate.make: tasks must name at least one task, got none")
  if (fields.length === 0) throw new RangeError("Aggregate.make: fields must name at least one field, got none")
  for (const { task } of tasks) {
    if (!/^[A-Za-z]/.test(task)) {
      throw new RangeError(`Aggregate.make: tasks must have ids that begin with a letter, got ${JSON.stringify(task)}`)
    }
  }

  const merge = (deliveries: Readonly<Record<string, Delivery>>): Merged<Values<F>> => {
    const entries: Array<Entry> = []
    const leftOut: Array<LeftOut> = []
    const dropped: Array<Report["dropped"][number]> = []
    const values = new Map(fields.map(({ name }): [string, Array<Value>] => [name, []]))
    for (const { fits, task } of tasks) {
      const delivery = Object.hasOwn(deliveries, task) ? deliveries[task] : undefined
      if (delivery === undefined) {
        entries.push({ task, status: "blocked", cause: "Nothing was handed in for it" })
        continue
      }
      const { cause, confidence = 1, output, status } = delivery
      if (status !== "ok" && status !== "partial") {
        entries.push({ task, status, cause: cause ?? causes[status] })
        continue
      }
      if (output === undefined || output === null) {
        entries.push({ task, status: "empty", cause: "It has no output" })
        continue
      }
      const read = reading(output, fits)
      if (Result.isFailure(read)) {
        const reason = `Its output does not fit: ${sentences(read.failure, "the output")}`
        leftOut.push({ task, reason, problems: read.failure })
        entries.push({ task, status: "failed", cause: reason })
        continue
      }
      for (const { claims, name } of read.success) {
        for (const claim of claims) dropped.push({ task, field: name, claim })
      }
      const given = read.success.filter(({ json }) => json !== undefined)
      for (const { json, name } of given) {
        if (json !== undefined) values.get(name)?.push({ task, value: json, confidence })
      }
      entries.push(
        given.length > 0
          ? { task, status, cause: cause ?? (status === "ok" ? "It delivered" : "It delivered in part") }
          : {
              task,
              status: "empty",
              cause: read.success.length > 0 ? "No claim of it has a source" : "It has no field"
            }
      )
    }
    for (const task of Object.keys(deliveries).toSorted()) {
      if (!Object.hasOwn(options.tasks, task)) leftOut.push({ task, reason: "It is not a planned task", problems: [] })
    }
    return whole({ values, entries, leftOut, dropped })
  }

  /** The fields of an output, each read, or everything that is wrong with it. A field that is not there is not read. */
  const reading = (
    output: unknown,
    fits: (output: unknown) => Result.Result<unknown, ReadonlyArray<Problem>>
  ): Result.Result<ReadonlyArray<Read>, ReadonlyArray<Problem>> => {
    const checked = fits(output)
    if (Result.isFailure(checked)) return Result.fail(checked.failure)
    const reads: Array<Read> = []
    const problems: Array<Problem> = []
    for (const { name, shape } of fields) {
      const key = shape.from ?? name
      if (!Predicate.hasProperty(output, key) || !Object.hasOwn(output, key)) continue
      const raw = output[key]
      if (raw === undefined) continue
      const read = shape.read(raw)
      if (Result.isSuccess(read)) reads.push({ name, json: read.success.json, claims: read.success.dropped })
      else problems.push(...read.failure.map((each) => ({ ...each, path: under(key, each.path) })))
    }
    return problems.length === 0 ? Result.succeed(reads) : Result.fail(problems)
  }

  const whole = (
    parts: Pick<Report, "entries" | "leftOut" | "dropped"> & {
      readonly values: ReadonlyMap<string, ReadonlyArray<Value>>
    }
  ): Merged<Values<F>> => {
    const { dropped, entries, leftOut, values } = parts
    const held: Array<readonly [name: string, held: Held<unknown>]> = []
    const conflicts: Array<Conflict> = []
    const decided: Array<Decided> = []
    for (const { name, shape } of fields) {
      const given = values.get(name) ?? []
      if (given.length === 0) continue
      const merged = shape.merge(given)
      if (Option.isNone(merged)) conflicts.push({ field: name, values: given })
      else {
        held.push([name, merged.value])
        const different = new Set(given.map(({ value }) => canonical(value))).size > 1
        if (shape.chooses && different) decided.push({ field: name, values: given, rule: shape.rule })
      }
    }
    return {
      status: statusOf(entries, conflicts),
      output: Object.fromEntries(held.map(([name, { json }]) => [name, json])),
      entries,
      conflicts,
      decided,
      leftOut,
      dropped,
      value: Object.fromEntries(held.map(([name, { value }]) => [name, value])) as Values<F>
    }
  }

  const shapeOf = (name: string) => fields.find((field) => field.name === name)?.shape

  return {
    tasks: tasks.map(({ task }) => task),
    merge,
    question: ({ field, values }) => {
      const shape = shapeOf(field)
      if (shape === undefined) {
        throw new RangeError(`Aggregate.question: conflict.field must be a field, got ${JSON.stringify(field)}`)
      }
      const tasks = values.map(({ task }) => task).join(", ")
      return {
        field,
        values,
        question: `Which value of ${field} holds? It is given by ${tasks}.`,
        schema: shape.schema()
      }
    },
    resolve: (merged, field, answer) => {
      const conflict = merged.conflicts.find((each) => each.field === field)
      const shape = shapeOf(field)
      if (conflict === undefined || shape === undefined) {
        const names = merged.conflicts.map((each) => each.field).join(", ")
        const expectation = `must have an open conflict; ${names === "" ? "there is none" : `open are ${names}`}`
        return Result.fail(new AnswerRefused({ field, problems: [{ path: "", expectation, actual: "" }] }))
      }
      const held = shape.answer(answer)
      if (Result.isFailure(held)) return Result.fail(new AnswerRefused({ field, problems: held.failure }))
      const conflicts = merged.conflicts.filter((each) => each !== conflict)
      return Result.succeed({
        ...merged,
        status: statusOf(merged.entries, conflicts),
        output: { ...merged.output, [field]: held.success.json },
        conflicts,
        decided: [...merged.decided, { ...conflict, rule: "answer" }],
        value: { ...merged.value, [field]: held.success.value }
      })
    }
  }
}

const causes: Readonly<Record<Exclude<Delivery["status"], "ok" | "partial">, string>> = {
  "timed-out": "It timed out",
  failed: "It failed",
  blocked: "It is blocked",
  cancelled: "It was cancelled",
  skipped: "It was not needed"
}

interface Read {
  readonly name: string
  readonly json: Schema.Json | undefined
  readonly claims: ReadonlyArray<Schema.Json>
}

const under = (key: string, path: string): string =>
  path === "" ? key : path.startsWith("[") ? `${key}${path}` : `${key}.${path}`

/** M2. */
const statusOf = (entries: ReadonlyArray<Entry>, conflicts: ReadonlyArray<Conflict>): Report["status"] => {
  if (!entries.some(({ status }) => status === "ok" || status === "partial")) return "empty"
  const whole = entries.every(({ status }) => status === "ok" || status === "skipped")
  return whole && conflicts.length === 0 ? "complete" : "partial"
}

/**
 * What a run delivered, task by task.
 *
 * **Details**
 *
 * - An accepted task is `ok`, a rejected one `failed`. A failed one whose last dispatch timed out is `timed-out`.
 * - A task that has not ended is `blocked`. A skipped one that was needed is `cancelled`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const deliveries = (outcome: Outcome): Readonly<Record<string, Delivery>> => {
  const timedOut = new Set<string>()
  for (const { outcome: end, task } of outcome.dispatches) {
    if (end === "timed-out") timedOut.add(task)
    else timedOut.delete(task)
  }
  return Object.fromEntries(
    Object.values(outcome.results).map(({ confidence, missing, note, output, status, task }): [string, Delivery] => {
      const lacks = missing.map(({ part, reason }) => `${part}: ${reason}`).join("; ")
      const cause = [status === "partial" ? lacks : "", note].find((text) => text.trim() !== "")
      return [
        task,
        {
          status:
            status === "failed" && timedOut.has(task)
              ? "timed-out"
              : status === "skipped" && missing.length > 0
                ? "cancelled"
                : delivered[status],
          confidence,
          ...(output === undefined ? {} : { output }),
          ...(status === "open" ? { cause: "It has not ended" } : cause === undefined ? {} : { cause })
        }
      ]
    })
  )
}

const delivered: Readonly<Record<TaskEnd | "open", Delivery["status"]>> = {
  accepted: "ok",
  partial: "partial",
  rejected: "failed",
  blocked: "blocked",
  failed: "failed",
  cancelled: "cancelled",
  skipped: "skipped",
  open: "blocked"
}

const given = new Given("Aggregate.make")
