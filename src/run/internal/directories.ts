/**
 * A directory of people as plain data: groups, roles, managers, and who is away.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Who } from "../Ladder.ts"
import { keyOf, Name } from "./principals.ts"
import { decoder, Problem, sentences } from "./problems.ts"

const instantPattern = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/** A moment in milliseconds since 1970; nothing where a text is none. A day is its beginning, in UTC. */
const millisOf = (text: string): number | undefined => {
  const [, day = ""] = instantPattern.exec(text) ?? []
  const midnight = Option.getOrUndefined(DateTime.make(`${day}T00:00:00Z`))
  // There is no 30th of February, but a lenient reader of dates has one.
  if (midnight === undefined || !DateTime.formatIso(midnight).startsWith(day)) return undefined
  return Option.getOrUndefined(Option.map(DateTime.make(text), DateTime.toEpochMillis))
}

const Instant = Schema.String.check(
  Schema.makeFilter((text: string) => millisOf(text) !== undefined, {
    expected: "a day, or a time with its zone, as in 2026-12-24 or 2026-12-24T09:00:00Z"
  })
)

/**
 * Somebody who is away from one moment until before another, and who stands in, if anybody does.
 *
 * @category models
 * @since 0.1.0
 */
export const Absence = Schema.Struct({
  who: Name,
  from: Instant,
  until: Instant,
  delegate: Schema.optionalKey(Name)
}).check(
  Schema.makeFilter(({ delegate, from, until, who }) => {
    if (!((millisOf(from) ?? 0) < (millisOf(until) ?? 0))) {
      return { path: ["until"], issue: `must be later than from, ${from}` }
    }
    const own = delegate !== undefined && keyOf(delegate) === keyOf(who)
    return !own || { path: ["delegate"], issue: "must be somebody else" }
  })
)

const Names = Schema.Array(Name)

const isWho = Schema.is(Who)

/** What is in each group or role, by a name that can be asked. */
const byName = (kind: "group" | "role") =>
  Schema.Record(Schema.String, Names).check(
    Schema.makeFilter((record) => {
      const odd = Object.keys(record).find((key) => !isWho(`${kind}:${key}`))
      return odd === undefined || { path: [odd], issue: `must have a name that ${kind}:NAME can ask for` }
    })
  )

/** @since 0.1.0 */
export interface Directory extends Schema.Schema.Type<typeof Directory> {}

/**
 * A directory as plain data.
 *
 * **Details**
 *
 * - `users`: who is whose `manager`, by name.
 * - `groups`, `roles`: who is in each.
 * - `absences`: who is away from when until before when, as ISO 8601, and who stands in (`delegate`). A day without a time
 *   is its beginning in UTC.
 * - `admins`: who may override what others have decided.
 *
 * All are optional. People are named as `Reviewers.principal` reads it.
 *
 * @category models
 * @since 0.1.0
 */
export const Directory = Schema.Struct({
  users: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Struct({ manager: Schema.optionalKey(Name) })).check(
      Schema.makeFilter((users) => {
        const odd = Object.keys(users).find((key) => !isName(key))
        return odd === undefined || { path: [odd], issue: "must have the name of one, such as ann or service:x" }
      })
    )
  ),
  groups: Schema.optionalKey(byName("group")),
  roles: Schema.optionalKey(byName("role")),
  absences: Schema.optionalKey(Schema.Array(Absence)),
  admins: Schema.optionalKey(Names)
})

const isName = Schema.is(Name)

/**
 * A directory that is not what it must be. The message names the first problems, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class DirectoryInvalid extends Schema.TaggedError<DirectoryInvalid>("espalier/run/Reviewers/DirectoryInvalid")(
  "DirectoryInvalid",
  { problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `DIRECTORY_INVALID: ${sentences(this.problems, "the directory")}`
  }
}

const decode = decoder(Directory, "error")

/**
 * A directory as it is looked things up in: by keys, with times as numbers.
 *
 * @since 0.1.0
 */
export interface Index {
  readonly managers: ReadonlyMap<string, string>
  readonly groups: ReadonlyMap<string, ReadonlyArray<string>>
  readonly roles: ReadonlyMap<string, ReadonlyArray<string>>
  readonly absences: ReadonlyMap<
    string,
    ReadonlyArray<{ readonly from: number; readonly until: number; readonly delegate: string }>
  >
  readonly admins: ReadonlyArray<string>
}

/**
 * Checks any value as a directory, with every problem.
 *
 * @since 0.1.0
 */
export const indexed = (input: unknown): Result.Result<Index, ReadonlyArray<Problem>> =>
  Result.map(decode(input), ({ absences = [], admins = [], groups = {}, roles = {}, users = {} }) => {
    const away = new Map<string, Array<{ from: number; until: number; delegate: string }>>()
    for (const { delegate, from, until, who } of absences) {
      if (delegate === undefined) continue
      const key = keyOf(who)
      const span = { from: millisOf(from) ?? 0, until: millisOf(until) ?? 0, delegate }
      away.set(key, [...(away.get(key) ?? []), span])
    }
    const managers = Object.entries(users).flatMap(([user, { manager }]) =>
      manager === undefined ? [] : [[keyOf(user), manager] as const]
    )
    return {
      managers: new Map(managers),
      groups: new Map(Object.entries(groups)),
      roles: new Map(Object.entries(roles)),
      absences: away,
      admins
    }
  })

/**
 * Who stands in for somebody at a moment.
 *
 * @since 0.1.0
 */
export const standingIn = (index: Index, who: string, now: number): ReadonlyArray<string> =>
  (index.absences.get(keyOf(who)) ?? [])
    .filter(({ from, until }) => from <= now && now < until)
    .map(({ delegate }) => delegate)
