/**
 * The rules by which the values of a field are merged. They are part of the public module of aggregates.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { canonical } from "./canonical.ts"
import { Given } from "./given.ts"
import { type Keyed, type Part, shape, type Shape, siftMany, siftOne } from "./mergeFields.ts"

/** @since 0.1.0 */
export const TypeId = "~espalier/run/Aggregate"

/**
 * A field of the whole: how its values are merged. `A` is the type of the merged value.
 *
 * **Details**
 *
 * - `rule`: the name of the rule, as it stands in {@link Decided}.
 *
 * @category fields
 * @since 0.1.0
 */
export interface Field<out A> {
  readonly [TypeId]: Shape<A>
  readonly rule: string
}

/**
 * What every field may say.
 *
 * **Details**
 *
 * - `from`: the name of the field in the outputs of the tasks. Default its name in the aggregate.
 * - `backed`: whether a claim has a source; a claim without one is dropped and listed. Of a list, each item is a claim; of
 *   any other field, its value is. Default all are.
 *
 * @category fields
 * @since 0.1.0
 */
export interface Options<in A> {
  readonly from?: string | undefined
  readonly backed?: ((claim: A) => boolean) | undefined
}

/** Checks what a rule is made of. */
const checkRule = (
  rule: string,
  schemas: Readonly<Record<string, unknown>>,
  options: unknown,
  more: ReadonlyArray<string> = []
) => {
  const given = new Given(`Aggregate.${rule}`)
  const { backed, from, key } = given.record("options", options, ["from", "backed", ...more])
  for (const [name, schema] of Object.entries(schemas)) given.schema(name, schema)
  if (from !== undefined) given.text("from", from)
  if (backed !== undefined) given.code("backed", backed)
  if (key !== undefined) given.code("key", key)
  return given
}

const field = <A>(of: Shape<A>): Field<A> => ({ [TypeId]: of, rule: of.rule })

const single = <A>(
  rule: string,
  schema: Schema.Codec<A, unknown>,
  options: Options<A>,
  merge: (parts: ReadonlyArray<Keyed<A>>) => Option.Option<A>,
  chooses = true
): Field<A> => {
  checkRule(rule === "most-confident" ? "mostConfident" : rule, { schema }, options)
  return field(
    shape({
      rule,
      chooses,
      from: options.from,
      part: schema,
      merged: schema,
      sift: siftOne(schema, options.backed),
      merge
    })
  )
}

const list = <A>(
  rule: string,
  item: Schema.Codec<A, unknown>,
  options: Options<A>,
  merge: (parts: ReadonlyArray<Keyed<ReadonlyArray<A>>>) => Option.Option<ReadonlyArray<A>>
): Field<ReadonlyArray<A>> => {
  checkRule(rule, { item }, options, rule === "union" ? ["key"] : [])
  const many = Schema.Array(item)
  return field(
    shape({
      rule,
      chooses: false,
      from: options.from,
      part: many,
      merged: many,
      sift: siftMany(item, options.backed),
      merge
    })
  )
}

const valueOf = <A>(part: Keyed<A> | undefined): Option.Option<A> =>
  part === undefined ? Option.none() : Option.some(part.value)

/**
 * The value of the first task of the plan that gives one.
 *
 * @category fields
 * @since 0.1.0
 */
export const first = <A>(schema: Schema.Codec<A, unknown>, options: Options<A> = {}): Field<A> =>
  single("first", schema, options, (parts) => valueOf(parts[0]))

/**
 * The value of the last task of the plan that gives one.
 *
 * @category fields
 * @since 0.1.0
 */
export const last = <A>(schema: Schema.Codec<A, unknown>, options: Options<A> = {}): Field<A> =>
  single("last", schema, options, (parts) => valueOf(parts.at(-1)))

/**
 * The value that all tasks give alike; different values are a conflict.
 *
 * @category fields
 * @since 0.1.0
 */
export const error = <A>(schema: Schema.Codec<A, unknown>, options: Options<A> = {}): Field<A> =>
  single("error", schema, options, (parts) =>
    parts.every(({ key }) => key === parts[0]?.key) ? valueOf(parts[0]) : Option.none()
  )

/**
 * The value that more than half of those tasks give that give any; without one it is a conflict.
 *
 * @category fields
 * @since 0.1.0
 */
export const majority = <A>(schema: Schema.Codec<A, unknown>, options: Options<A> = {}): Field<A> =>
  single("majority", schema, options, (parts) =>
    valueOf(parts.find(({ key }) => parts.filter((other) => other.key === key).length * 2 > parts.length))
  )

/**
 * The value with the highest confidence; different values with the same highest confidence are a conflict.
 *
 * @category fields
 * @since 0.1.0
 */
export const mostConfident = <A>(schema: Schema.Codec<A, unknown>, options: Options<A> = {}): Field<A> =>
  single("most-confident", schema, options, (parts) => {
    const highest = Math.max(...parts.map(({ confidence }) => confidence))
    const best = parts.filter(({ confidence }) => confidence === highest)
    return best.every(({ key }) => key === best[0]?.key) ? valueOf(best[0]) : Option.none()
  })

/**
 * The sum of finite numbers. One that is too large for a number is a conflict.
 *
 * @category fields
 * @since 0.1.0
 */
export const sum = (options: Options<number> = {}): Field<number> =>
  single(
    "sum",
    Schema.Finite,
    options,
    (parts) => {
      const total = parts.reduce((sum, { value }) => sum + value, 0)
      return Number.isFinite(total) ? Option.some(total) : Option.none()
    },
    false
  )

/**
 * The largest of finite numbers.
 *
 * @category fields
 * @since 0.1.0
 */
export const max = (options: Options<number> = {}): Field<number> =>
  single("max", Schema.Finite, options, (parts) => Option.some(Math.max(...parts.map(({ value }) => value))))

/**
 * All items of all lists, in the order of the plan. The schema is that of one item.
 *
 * @category fields
 * @since 0.1.0
 */
export const concat = <A>(item: Schema.Codec<A, unknown>, options: Options<A> = {}): Field<ReadonlyArray<A>> =>
  list("concat", item, options, (parts) => Option.some(parts.flatMap(({ value }) => value)))

/**
 * All items of all lists, each key once, in the order of the plan. The schema is that of one item.
 *
 * **Details**
 *
 * - `key`: items with the same key are the same item. Default their whole value.
 *
 * Items that have the same key and differ otherwise are a conflict of the field.
 *
 * @category fields
 * @since 0.1.0
 */
export const union = <A>(
  item: Schema.Codec<A, unknown>,
  options: Options<A> & { readonly key?: ((item: A) => string) | undefined } = {}
): Field<ReadonlyArray<A>> =>
  list("union", item, options, (parts) => {
    const { key } = options
    const items = new Map<string, { readonly value: A; readonly whole: string }>()
    for (const { json, value } of parts) {
      const wholes = Array.isArray(json) ? json.map(canonical) : []
      for (const [index, each] of value.entries()) {
        const whole = wholes[index] ?? ""
        const name = key === undefined ? whole : key(each)
        const known = items.get(name)
        if (known === undefined) items.set(name, { value: each, whole })
        else if (known.whole !== whole) return Option.none()
      }
    }
    return Option.some([...items.values()].map(({ value }) => value))
  })

/**
 * A rule of your own: a pure function of the values, in the order of the plan, at least one.
 *
 * **Details**
 *
 * - `rule`: its name in {@link Decided}.
 * - `part`: the schema of what a task gives. `merged`: the schema of what comes out.
 * - `merge`: `Option.none()` means that the values contradict each other. A value that does not fit `merged` means the same.
 *
 * **Gotchas**
 *
 * A `merge` that throws is a bug; the merge throws too.
 *
 * @category fields
 * @since 0.1.0
 */
export const custom = <P, A>(
  rule: string,
  options: Options<P> & {
    readonly part: Schema.Codec<P, unknown>
    readonly merged: Schema.Codec<A, unknown>
    readonly merge: (parts: ReadonlyArray<Part<P>>) => Option.Option<A>
  }
): Field<A> => {
  const given = checkRule("custom", {}, options, ["part", "merged", "merge"])
  const { backed, from, merge, merged, part } = options
  given.text("rule", rule)
  given.schema("part", part)
  given.schema("merged", merged)
  given.code("merge", merge)
  return field(
    shape({
      rule,
      chooses: true,
      from,
      part,
      merged,
      sift: siftOne(part, backed),
      merge: (parts) => merge(parts.map(({ confidence, task, value }) => ({ task, value, confidence })))
    })
  )
}

/**
 * Settles the conflicts of one rule by another one.
 *
 * **Details**
 *
 * Values are read as the first rule says: its `from` and its `backed` count.
 *
 * @category fields
 * @since 0.1.0
 */
export const orElse = <A>(self: Field<A>, that: Field<A>): Field<A> => {
  const one = self[TypeId]
  const other = that[TypeId]
  return field({
    ...one,
    rule: `${one.rule}, else ${other.rule}`,
    chooses: one.chooses || other.chooses,
    merge: (values) => Option.orElse(one.merge(values), () => other.merge(values))
  })
}
