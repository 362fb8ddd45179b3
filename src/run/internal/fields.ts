// @effect-diagnostics schemaNumber:off -- the ranges refuse what is not finite, in one sentence instead of two
/**
 * The small schemas that contracts and results share: names, texts, counts and amounts.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/** Whether a value is not `-0`, which is what a subtraction leaves behind and which JSON cannot say. */
const isNotNegativeZero = (expected: string) =>
  Schema.makeFilter((value: number) => !Object.is(value, -0), { expected })

/**
 * A text in which something can be seen: blanks, control characters and characters of no width alone do not count.
 *
 * @since 0.1.0
 */
export const Text = Schema.String.check(
  Schema.isPattern(/[^\s\p{Cc}\u00ad\u200b-\u200f\u2060\ufeff]/u, {
    expected: "a text that is not empty"
  })
)

/**
 * Whether something can be seen in it.
 *
 * @since 0.1.0
 */
export const isText = Schema.is(Text)

const nameExpected = "letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters"

const namePattern = /^[A-Za-z][\w.-]{0,63}$/

/**
 * An id: letters, digits, `.`, `_` and `-`, beginning with a letter, at most 64 characters.
 *
 * @since 0.1.0
 */
export const Id = Schema.String.check(Schema.isPattern(namePattern, { expected: `an id of ${nameExpected}` }))

/**
 * Whether a text is an id.
 *
 * @since 0.1.0
 */
export const isId = (text: string): boolean => namePattern.test(text)

/**
 * A record whose keys are ids, so that none of them is a name that an object has of its own accord.
 *
 * @since 0.1.0
 */
export const named = <S extends Schema.Constraint>(value: S) =>
  Schema.Record(Schema.String, value).check(
    Schema.makeFilter((record) => {
      const odd = Object.keys(record).find((key) => !isId(key))
      return odd === undefined || { path: [odd], issue: `must have a name of ${nameExpected}` }
    })
  )

const count = { expected: "a whole number >= 0" }

/**
 * A whole number from 0 to 2^53 - 1.
 *
 * @since 0.1.0
 */
export const Count = Schema.Number.check(
  Schema.isInt(count).abort(),
  Schema.isGreaterThanOrEqualTo(0, count).abort(),
  isNotNegativeZero(count.expected)
)

const version = { expected: "a whole number > 0" }

/**
 * A whole number from 1 to 2^53 - 1.
 *
 * @since 0.1.0
 */
export const Version = Schema.Number.check(Schema.isInt(version).abort(), Schema.isGreaterThan(0, version))

const cost = { expected: "an amount >= 0 and at most 1e15" }

/**
 * An amount of money: two of them still add up to a number that is exact to a tenth.
 *
 * @since 0.1.0
 */
export const Cost = Schema.Number.check(
  Schema.isBetween({ minimum: 0, maximum: 1e15 }, cost).abort(),
  isNotNegativeZero(cost.expected)
)

const millis = { expected: "a number of milliseconds > 0 and at most 100 years" }

/**
 * A span of time: longer than nothing, and short enough that a time plus it is still a time.
 *
 * @since 0.1.0
 */
export const Millis = Schema.Number.check(
  Schema.isBetween({ minimum: 0, maximum: 36_525 * 86_400_000, exclusiveMinimum: true }, millis)
)
