/**
 * How long a question to people waits, whom it asks meanwhile, and what silence means in the end.
 *
 * A ladder has one to three stages, `primary`, `alternate` and `escalation`, and an end. Each stage begins so long after
 * the question was asked and adds those it names: who was asked before may still decide. At the end, the last action is
 * taken. A ladder is plain data; {@link arm} makes of it the instants of one question, and the caller says what time it is.
 *
 * | | `alternate` | `escalation` | end | silence |
 * |---|---|---|---|---|
 * | risk `low`, `medium` | 24 hours | 48 hours | 72 hours | `reject` |
 * | risk `high`, `critical` | 4 hours | 8 hours | 24 hours | `reject` |
 * | a question, a reconciliation | by its risk | by its risk | by its risk | `hold` |
 *
 * These are the {@link defaults}: 72 hours span a weekend, and what only people know is not made up by silence.
 *
 * **Details**
 *
 * - `to`: `anyone`, `requester`, `manager-of-requester`, `user:ID`, `group:NAME`, `role:NAME`. Who that is, is looked up
 *   when somebody decides.
 * - `remindAt`: shares of the length of a stage, which lasts until the next one or the end.
 * - `reject` ends the task as rejected, `halt` ends it as timed out, `hold` waits on and reminds every day, `approve` lets
 *   it go ahead; see `ReviewPolicy` for when that is allowed.
 * - While a directory (`Reviewers`) has nobody who could decide, nobody is waited for: the next stage comes at once, and where
 *   no stage has anybody, the end. The later steps stay where they were.
 *
 * **Invariants**
 *
 * - L1. The steps of a ladder come in the order of their times, and the last one is its end.
 * - L2. Each stage but the first one widens once, and what it reminds of lies inside it.
 * - L3. To extend or to pause moves every step by the same time: the order stays, and nothing is lost.
 *
 * **Example** (An hour for the release group, another one for anybody)
 *
 * ```ts
 * import { Ladder } from "espalier/run"
 *
 * const ladder = Ladder.make({
 *   stages: [
 *     { to: ["group:release"], after: 0, remindAt: [0.5] },
 *     { to: ["anyone"], after: "1 hour" }
 *   ],
 *   final: { after: "2 hours", action: "halt" }
 * })
 * const minute = 60_000
 *
 * Ladder.arm(ladder, 0).map(({ at, what }) => `${what} at ${at / minute}`) // => ["remind at 30", "widen at 60", "expire at 120"]
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

import { Risk } from "./Autonomy.ts"
import { Given } from "./internal/given.ts"
import { Name } from "./internal/principals.ts"
import { FinalAction } from "./internal/vocabulary.ts"

/**
 * The stages, first to last.
 *
 * @category models
 * @since 0.1.0
 */
export const StageName = Schema.Literals(["primary", "alternate", "escalation"])

/**
 * @category models
 * @since 0.1.0
 */
export type StageName = typeof StageName.Type

/**
 * What happens when nobody has decided in time.
 *
 * @category models
 * @since 0.1.0
 */
export const Action = FinalAction

/**
 * @category models
 * @since 0.1.0
 */
export type Action = typeof Action.Type

const whoExpected = "anyone, requester, manager-of-requester, user:ID, group:NAME or role:NAME"

const words: ReadonlySet<string> = new Set(["anyone", "requester", "manager-of-requester"])

const kindOf = (text: string): string | undefined => /^(?:user|group|role):/.exec(text)?.[0]

const isName = Schema.is(Name)

const namesSomebody = (text: string): boolean => {
  const kind = kindOf(text)
  return kind === undefined ? words.has(text) : isName(text.slice(kind.length))
}

/**
 * Who may decide. An id or a name is one of `Reviewers`: 1 to 200 characters that can be seen, no blank at either end.
 *
 * @category models
 * @since 0.1.0
 */
export const Who = Schema.String.check(Schema.makeFilter(namesSomebody, { expected: whoExpected }))

/**
 * @category models
 * @since 0.1.0
 */
export type Who = typeof Who.Type

/**
 * A stage of a ladder. `afterMillis`: when it begins, counted from the question.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stage {
  readonly name: StageName
  readonly to: ReadonlyArray<Who>
  readonly afterMillis: number
  readonly remindAt: ReadonlyArray<number>
}

/**
 * A ladder, as {@link make} makes it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ladder {
  readonly stages: ReadonlyArray<Stage>
  readonly final: { readonly afterMillis: number; readonly action: Action }
}

/**
 * A {@link Ladder} as it is written down.
 *
 * **Details**
 *
 * - `stages`: one to three. `to`: one to 50, none of them twice.
 * - `after`: counted from the question, in whole milliseconds: 0 for the first stage, then each one longer than the one
 *   before, at most 100 years.
 * - `remindAt`: at most 10 shares between 0 and 1, rising. Default none.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly stages: ReadonlyArray<{
    readonly to: ReadonlyArray<Who>
    readonly after: Duration.Input
    readonly remindAt?: ReadonlyArray<number> | undefined
  }>
  readonly final: { readonly after: Duration.Input; readonly action: Action }
}

const century = 36_525 * 86_400_000

const mostNamed = 50

const mostReminders = 10

const given = new Given("Ladder.make")

const readAfter = (path: string, input: unknown): number => {
  const millis = Duration.toMillis(given.duration(path, input, "zero"))
  return Number.isInteger(millis) && millis <= century
    ? millis
    : given.refuse(path, "a duration of whole milliseconds, at most 100 years", input)
}

const readTo = (path: string, input: unknown): ReadonlyArray<Who> => {
  const names = given.names(path, input)
  if (names.length === 0 || names.length > mostNamed) {
    given.refuse(path, `a list of 1 to ${mostNamed} of those who may decide`, input)
  }
  names.forEach((name, index) => {
    if (namesSomebody(name)) return
    const kind = kindOf(name)
    given.refuse(
      `${path}[${index}]`,
      kind === undefined
        ? whoExpected
        : `${kind} and then 1 to 200 characters that can be seen, without a blank at either end`,
      name
    )
  })
  return names
}

const readShares = (path: string, input: unknown): ReadonlyArray<number> => {
  const shares = given.list(path, input)
  if (shares.length > mostReminders) given.refuse(path, `a list of at most ${mostReminders} shares`, input)
  return shares.map((share, index) => {
    const each = `${path}[${index}]`
    if (typeof share !== "number" || !(share > 0 && share < 1)) {
      return given.refuse(each, "a number > 0 and < 1", share)
    }
    const before = shares[index - 1]
    return typeof before !== "number" || share > before
      ? share
      : given.refuse(each, `more than the share before, ${before}`, share)
  })
}

/**
 * Makes a ladder.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the field when one is missing, unknown or out of range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Ladder => {
  given.record("options", options, ["stages", "final"])
  const listed = given.list("stages", options.stages)
  const names = StageName.literals
  if (listed.length === 0 || listed.length > names.length) {
    given.refuse("stages", `a list of 1 to ${names.length} stages`, listed)
  }
  const stages: Array<Stage> = []
  for (const [index, name] of names.slice(0, listed.length).entries()) {
    const path = `stages[${index}]`
    const stage = given.record(path, listed[index], ["to", "after", "remindAt"])
    const { after, remindAt = [], to } = stage
    const afterMillis = readAfter(`${path}.after`, after)
    const before = stages.at(-1)
    if (before === undefined && afterMillis !== 0) given.refuse(`${path}.after`, "0", after)
    if (before !== undefined && afterMillis <= before.afterMillis) {
      given.refuse(`${path}.after`, `longer than stages[${index - 1}].after`, after)
    }
    stages.push({
      name,
      to: readTo(`${path}.to`, to),
      afterMillis,
      remindAt: readShares(`${path}.remindAt`, remindAt)
    })
  }
  const final = given.record("final", options.final, ["after", "action"])
  const afterMillis = readAfter("final.after", final["after"])
  if (afterMillis <= (stages.at(-1)?.afterMillis ?? 0)) {
    given.refuse("final.after", `longer than stages[${stages.length - 1}].after`, final["after"])
  }
  given.oneOf("final.action", final["action"], Action.literals)
  return { stages, final: { afterMillis, action: options.final.action } }
}

/**
 * Whether a value is a ladder, with everything that {@link make} asks for.
 *
 * @category guards
 * @since 0.1.0
 */
export const isLadder = (value: unknown): value is Ladder => {
  try {
    const { final, stages } = value as Ladder
    const made = make({
      stages: stages.map(({ afterMillis, remindAt, to }) => ({ to, after: afterMillis, remindAt })),
      final: { after: final.afterMillis, action: final.action }
    })
    return made.stages.every(({ name }, index) => stages[index]?.name === name)
  } catch {
    return false
  }
}

/**
 * What is asked, as far as silence goes: for an approval it can be a no, to the other two it is no answer.
 *
 * @category models
 * @since 0.1.0
 */
export const Asked = Schema.Literals(["approval", "question", "reconciliation"])

/**
 * @category models
 * @since 0.1.0
 */
export type Asked = typeof Asked.Type

const hour = 3_600_000

const slow = { alternate: 24 * hour, escalation: 48 * hour, final: 72 * hour }

const fast = { alternate: 4 * hour, escalation: 8 * hour, final: 24 * hour }

const choosing = new Given("Ladder.defaults")

/**
 * The default ladder for a risk, see the table of the module. It reminds at half and at 80 % of its first stage.
 *
 * **Details**
 *
 * - `asked`: default `"approval"`.
 * - `to`: who is asked. Without it anyone at every stage; a stage that it does not name has those of the stage before.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when there is no such risk or nothing such is asked, and as {@link make} does.
 *
 * **Example** (The usual times, for people of one's own)
 *
 * ```ts
 * import { Ladder } from "espalier/run"
 *
 * const ladder = Ladder.defaults("high", "approval", { primary: ["group:release"], escalation: ["role:on-call"] })
 *
 * ladder.stages.map(({ to }) => to) // => [["group:release"], ["group:release"], ["role:on-call"]]
 * ladder.final // => { afterMillis: 86_400_000, action: "reject" }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const defaults = (
  risk: Risk,
  asked: Asked = "approval",
  to: { readonly [Name in StageName]?: ReadonlyArray<Who> | undefined } = {}
): Ladder => {
  choosing.oneOf("risk", risk, Risk.literals)
  choosing.oneOf("asked", asked, Asked.literals)
  choosing.record("to", to, StageName.literals)
  const times = risk === "high" || risk === "critical" ? fast : slow
  const primary = to.primary ?? ["anyone"]
  const alternate = to.alternate ?? primary
  return make({
    stages: [
      { to: primary, after: 0, remindAt: [0.5, 0.8] },
      { to: alternate, after: times.alternate },
      { to: to.escalation ?? alternate, after: times.escalation }
    ],
    final: { after: times.final, action: asked === "approval" ? "reject" : "hold" }
  })
}

/** @since 0.1.0 */
export interface Step extends Schema.Schema.Type<typeof Step> {}

/**
 * One step of the ladder of one question, as it is written down.
 *
 * **Details**
 *
 * - `at`: when, in milliseconds since 1970.
 * - `stage`: the index of the stage that it reminds in, that it widens to, or that expires.
 *
 * @category steps
 * @since 0.1.0
 */
export const Step = Schema.Struct({
  at: Schema.Finite,
  what: Schema.Literals(["remind", "widen", "expire"]),
  stage: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a whole number >= 0" }))
})

/**
 * The steps of a question that is asked at a time, first to last.
 *
 * **Details**
 *
 * - `at`: in whole milliseconds since 1970.
 *
 * @category steps
 * @since 0.1.0
 */
export const arm = ({ final, stages }: Ladder, at: number): ReadonlyArray<Step> => [
  ...stages.flatMap(({ afterMillis, remindAt }, stage): ReadonlyArray<Step> => {
    const length = (stages[stage + 1] ?? final).afterMillis - afterMillis
    const reminders = remindAt.map((share): Step => {
      // A share of less than the whole, rounded down, never reaches the next stage.
      return { at: at + afterMillis + Math.floor(share * length), what: "remind", stage }
    })
    return stage === 0 ? reminders : [{ at: at + afterMillis, what: "widen", stage }, ...reminders]
  }),
  { at: at + final.afterMillis, what: "expire", stage: stages.length - 1 }
]

const moving = (where: string) => {
  const given = new Given(where)
  return (steps: ReadonlyArray<Step>, millis: number): ReadonlyArray<Step> => {
    if (!(Number.isFinite(millis) && millis >= 0)) {
      given.refuse("millis", "a number of milliseconds >= 0", millis)
    }
    return steps.map((step) => ({ ...step, at: step.at + millis }))
  }
}

/**
 * The steps that are left of a question which somebody has given more time.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the time is no number >= 0.
 *
 * @category steps
 * @since 0.1.0
 */
export const extend: (steps: ReadonlyArray<Step>, millis: number) => ReadonlyArray<Step> = moving("Ladder.extend")

/**
 * The steps that are left of a question whose run was put down for so long: time stood still for it.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the time is no number >= 0.
 *
 * @category steps
 * @since 0.1.0
 */
export const pause: (steps: ReadonlyArray<Step>, millis: number) => ReadonlyArray<Step> = moving("Ladder.pause")

/**
 * The next reminder of a question that is held beyond its end: a day after a time, for the stage that expired.
 *
 * @category steps
 * @since 0.1.0
 */
export const holding = (at: number, stage: number): Step => ({ at: at + 24 * hour, what: "remind", stage })

/**
 * All those who may decide at a stage: whom it names, and whom the stages before it named.
 *
 * **Details**
 *
 * - `stages`: for each stage, whom it names, as in `ReviewPolicy.Terms`.
 *
 * @category steps
 * @since 0.1.0
 */
export const named = (stages: ReadonlyArray<ReadonlyArray<Who>>, stage: number): ReadonlyArray<Who> => [
  ...new Set(stages.slice(0, stage + 1).flat())
]
