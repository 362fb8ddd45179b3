/**
 * Who may decide what people are asked: people by name, groups, roles, those who stand in for them, and nobody for himself.
 *
 * Whom a question is put to is written as texts, each a {@link Who}:
 *
 * | text | asks |
 * |---|---|
 * | `anyone` | everybody |
 * | `user:ann` | one, by name; `user:service:mailer` is a service |
 * | `group:finance` `role:on-call` | those who are in it |
 * | `requester` | the one who has asked for the action |
 * | `manager-of-requester` | whoever the directory says that is |
 *
 * What they mean is looked up in the service {@link Reviewers} when somebody decides, not when the question is put. Where
 * nothing is provided it is {@link open}: everybody may decide everything. {@link layer} and {@link layerFile} have a directory.
 *
 * **Details**
 *
 * - Who is away has a right that goes over to whoever stands in, and on from there if that one is away, too: over three
 *   steps at most. A verdict names both.
 * - Somebody who acts on behalf of another has no right of that one, and may not do what that one may not do.
 * - What is told apart when it gives a right is told apart to the letter. When it takes one, `Ann` is `ann`.
 *
 * **Invariants**
 *
 * - V1. Where separation applies, nobody who has asked for something approves it: not by another name for the same, not on
 *   behalf of another, not through somebody who acts on their behalf or in their place.
 * - V2. An agent, or whoever acts for one, decides only where agents may and the risk is low. The system decides nothing.
 * - V3. A directory that fails, or takes longer than 5 seconds, lets nobody in. Nothing here fails.
 * - V4. Whoever has asked for something may reject it, whatever the directory says.
 *
 * **Example** (Somebody who stands in)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Reviewers } from "espalier/run"
 *
 * const directory = Reviewers.layer({
 *   groups: { finance: ["ann", "bob"] },
 *   absences: [{ who: "ann", from: "1970-01-01", until: "9999-01-01", delegate: "cem" }]
 * })
 * const may = (id: string) =>
 *   Reviewers.eligible({
 *     by: { kind: "human", id },
 *     decision: "approve",
 *     stages: [["group:finance"]],
 *     risk: "high",
 *     separation: "requester",
 *     requester: "bob",
 *     editors: [],
 *     agents: false
 *   })
 * const program = Effect.all([may("cem"), may("bob"), may("eve")]).pipe(Effect.provide(directory))
 * const [cem, bob, eve] = await Effect.runPromise(program)
 *
 * cem // => { _tag: "Eligible", as: { kind: "human", id: "cem" }, via: "ann", alone: true }
 * bob._tag === "Refused" && bob.because // => "self-approval"
 * eve._tag === "Refused" && eve.reason // => "eve is none of those who are asked: group:finance"
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import type { Risk } from "./Autonomy.ts"
import { type Directory, DirectoryInvalid, type Index, indexed, standingIn } from "./internal/directories.ts"
import {
  beforehand,
  judge,
  longestChain,
  type Question,
  refused,
  type Resolved,
  rule,
  type Verdict,
  type Vote
} from "./internal/eligibility.ts"
import { Given } from "./internal/given.ts"
import { folded, identities, keyOf, nameOf, nameOfKey, type Principal, somebody } from "./internal/principals.ts"
import { Problem, sentences, thrown } from "./internal/problems.ts"
import { Who } from "./Ladder.ts"

export { Absence, Directory, DirectoryInvalid } from "./internal/directories.ts"
export { type Because, type Question, type Resolved, rule, type Verdict, type Vote } from "./internal/eligibility.ts"
export { Id, Kind, Name, nameOf, Principal, principal, PrincipalInvalid } from "./internal/principals.ts"
export { Who } from "./Ladder.ts"

const TypeId = "~espalier/run/Reviewers"

const isWho = Schema.is(Who)

/**
 * What a directory is told about a question.
 *
 * **Details**
 *
 * - `requester`: who has asked for the action, by name; the one behind it, where somebody has on behalf of another.
 *
 * @category models
 * @since 0.1.0
 */
export interface About {
  readonly requester?: string | undefined
  readonly run?: string | undefined
  readonly desk?: string | undefined
  readonly risk: Risk
}

/**
 * A directory that cannot say who may decide. Nobody may, then.
 *
 * **Details**
 *
 * - `directory`: which one. `problems`: what is wrong with it.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReviewersUnavailable extends Schema.TaggedError<ReviewersUnavailable>(
  "espalier/run/Reviewers/ReviewersUnavailable"
)("ReviewersUnavailable", { directory: Schema.String, problems: Schema.Array(Problem) }) {
  override get message(): string {
    return `REVIEWERS_UNAVAILABLE: ${sentences(this.problems, this.directory)}`
  }
}

/**
 * A directory that cannot be asked, and why, as a half sentence such as `must answer, got status 503`.
 *
 * @category errors
 * @since 0.1.0
 */
export const unavailable = (directory: string, expectation: string): ReviewersUnavailable =>
  new ReviewersUnavailable({ directory, problems: [{ path: "", expectation, actual: "" }] })

/**
 * A directory at one moment. People are named as {@link principal} reads it.
 *
 * **Details**
 *
 * - `members`: who is meant by a text of the table of the module, now.
 * - `standIns`: who stands in for somebody, now; nobody for who is not away.
 * - `admins`: who may override what others have decided.
 *
 * @category models
 * @since 0.1.0
 */
export interface View {
  readonly members: (who: string, about: About) => Effect.Effect<"anyone" | ReadonlyArray<string>, ReviewersUnavailable>
  readonly standIns: (who: string) => Effect.Effect<ReadonlyArray<string>, ReviewersUnavailable>
  readonly admins: Effect.Effect<ReadonlyArray<string>, ReviewersUnavailable>
}

/**
 * A directory.
 *
 * **Details**
 *
 * - `look`: is carried out once for each question, so that all of its answer is of the same moment.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reviewers {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly look: Effect.Effect<View, ReviewersUnavailable>
}

const making = new Given("Reviewers.make")

/**
 * Makes a directory of one's own.
 *
 * **Details**
 *
 * - `name`: what it is called in reasons.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the name is empty.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (name: string, look: Effect.Effect<View, ReviewersUnavailable>): Reviewers => {
  making.names("name", [name])
  return { [TypeId]: TypeId, name, look }
}

const nobody: ReadonlyArray<string> = []

/**
 * Everybody may decide everything, and nobody is away. There are no admins.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open: Reviewers = make(
  "open",
  Effect.succeed({
    members: () => Effect.succeed("anyone"),
    standIns: () => Effect.succeed(nobody),
    admins: Effect.succeed(nobody)
  })
)

/**
 * The directory in which it is looked up who may decide. Default: {@link open}.
 *
 * @category services
 * @since 0.1.0
 */
export const Reviewers = Context.Reference<Reviewers>("espalier/run/Reviewers", { defaultValue: () => open })

const one = (name: string | undefined): ReadonlyArray<string> => (name === undefined ? [] : [name])

const namedBy = (who: string, { requester }: About, index: Index): "anyone" | ReadonlyArray<string> => {
  if (who === "anyone") return "anyone"
  if (who === "requester") return one(requester)
  if (who === "manager-of-requester") return requester === undefined ? [] : one(index.managers.get(keyOf(requester)))
  const name = who.slice(who.indexOf(":") + 1)
  if (who.startsWith("group:")) return index.groups.get(name) ?? []
  if (who.startsWith("role:")) return index.roles.get(name) ?? []
  return who.startsWith("user:") ? [name] : []
}

const viewOf = (index: Index): View => ({
  members: (who, about) => Effect.succeed(namedBy(who, about, index)),
  standIns: (who) => Effect.map(Clock.currentTimeMillis, (now) => standingIn(index, who, now)),
  admins: Effect.succeed(index.admins)
})

/**
 * Provides a directory that is plain data.
 *
 * **Details**
 *
 * A group, a role or a manager that it does not have is nobody. Fails with {@link DirectoryInvalid}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (directory: Directory): Layer.Layer<never, DirectoryInvalid> =>
  Layer.effect(Reviewers)(
    EffectResult.match(indexed(directory), {
      onFailure: (problems) => Effect.fail(new DirectoryInvalid({ problems })),
      onSuccess: (index) => Effect.succeed(make("the directory", Effect.succeed(viewOf(index))))
    })
  )

const largestFile = 16 * 1024 * 1024

/** Where a parser stopped, without what it saw there. */
const placeOf = (error: unknown): string =>
  / at position \d+(?: \(line \d+ column \d+\))?/.exec(thrown(error))?.[0] ?? ""

const parsed = (name: string, text: string): EffectResult.Result<unknown, ReviewersUnavailable> =>
  EffectResult.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => unavailable(name, `must be JSON, and is not${placeOf(error)}`)
  })

/**
 * Provides a directory that is a file of JSON, with what {@link Directory} has.
 *
 * **Details**
 *
 * It is read whenever somebody decides, so it may be changed at any time: write another file and rename it. A file that is
 * missing, damaged or larger than 16 MiB lets nobody in, and the verdict says what is wrong with it.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerFile = (path: string): Layer.Layer<never, never, FileSystem.FileSystem> =>
  Layer.effect(Reviewers)(
    Effect.map(FileSystem.FileSystem, (files) => {
      const name = `the file ${path}`
      const read = Effect.gen(function* () {
        const { size } = yield* files.stat(path)
        if (size > largestFile) return yield* unavailable(name, `must not be larger than 16 MiB, got ${size} bytes`)
        return yield* files.readFileString(path)
      })
      const look = read.pipe(
        Effect.catchTag("PlatformError", ({ reason }) =>
          Effect.fail(
            unavailable(name, reason._tag === "NotFound" ? "must be there" : `must be readable: ${reason._tag}`)
          )
        ),
        Effect.flatMap((text) => Effect.fromResult(parsed(name, text))),
        Effect.flatMap((input) =>
          Effect.fromResult(
            EffectResult.mapError(
              indexed(input),
              (problems) =>
                new ReviewersUnavailable({
                  directory: name,
                  problems: problems.map((each) => ({
                    ...each,
                    path: each.path === "" ? name : `${name}: ${each.path}`
                  }))
                })
            )
          )
        ),
        Effect.map(viewOf)
      )
      return make(name, look)
    })
  )

/** So many answers of a directory are waited for at once. */
const concurrency = 8

const patience = Duration.seconds(5)

const aboutOf = ({ desk, requester, risk, run }: Question): About => {
  const asked = requester === undefined ? undefined : somebody(requester)
  return { requester: asked === undefined ? undefined : (asked.onBehalfOf ?? nameOf(asked)), run, desk, risk }
}

const listed = (
  name: string,
  what: string,
  value: unknown
): Effect.Effect<ReadonlyArray<string>, ReviewersUnavailable> =>
  Array.isArray(value) && value.every((each) => typeof each === "string")
    ? Effect.succeed(value)
    : Effect.fail(unavailable(name, `must name ${what} as a list of texts`))

/** Looks up what the rule needs: who is asked, and, unless `enough`, who stands in for them. */
const resolve = Effect.fnUntraced(function* (
  { look, name }: Reviewers,
  question: Question,
  enough: (members: ReadonlyArray<string>) => boolean
): Effect.fn.Return<Resolved, ReviewersUnavailable> {
  const view = yield* look
  const about = aboutOf(question)
  const members: Array<string> = []
  const whos = [...new Set(question.stages.flat())]
  const odd = whos.find((who) => !isWho(who))
  if (odd !== undefined) {
    return yield* unavailable(name, `cannot be asked for ${JSON.stringify(odd)}, which names nobody it could know`)
  }
  const answers = yield* Effect.forEach(whos, (who) => view.members(who, about), { concurrency })
  for (const answer of answers) {
    if (answer === "anyone") return { members: "anyone", standIns: new Map() }
    for (const member of yield* listed(name, "members", answer)) members.push(member)
  }
  const standIns = new Map<string, ReadonlyArray<string>>()
  let away = enough(members) ? new Set<string>() : new Set(members.map(keyOf))
  for (let step = 0; step < longestChain && away.size > 0; step++) {
    const found = yield* Effect.forEach(
      away,
      (key) =>
        Effect.map(
          Effect.flatMap(view.standIns(nameOfKey(key)), (names) => listed(name, "who stands in", names)),
          (names) => [key, names] as const
        ),
      { concurrency }
    )
    for (const [key, names] of found) standIns.set(key, names)
    away = new Set(found.flatMap(([, names]) => names.map(keyOf)).filter((key) => !standIns.has(key)))
  }
  return { members, standIns }
})

/** Asks the directory that is provided; whatever goes wrong there, and whatever takes too long, is an answer. */
const asking = <A>(
  ask: (reviewers: Reviewers) => Effect.Effect<A, ReviewersUnavailable>,
  otherwise: (why: ReviewersUnavailable) => A
): Effect.Effect<A> =>
  Effect.flatMap(Reviewers, (reviewers) =>
    Effect.suspend(() => ask(reviewers)).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => Effect.fail(unavailable(reviewers.name, "must answer within 5 seconds"))
      }),
      Effect.catchCause((cause) => {
        const error = Cause.squash(cause)
        const known = error instanceof ReviewersUnavailable
        return Effect.succeed(otherwise(known ? error : unavailable(reviewers.name, `must answer: ${thrown(error)}`)))
      })
    )
  )

const notKnown = (why: ReviewersUnavailable): Verdict =>
  refused("reviewers-unavailable", `It cannot be said who may decide: ${sentences(why.problems, why.directory)}`)

/**
 * Whether somebody may decide, now.
 *
 * **Details**
 *
 * The rule is {@link rule}, over what the directory says. A directory that fails or takes longer than 5 seconds refuses.
 *
 * **Gotchas**
 *
 * - A verdict with `alone: false` is one of an editor: it counts, and does not close the question without another's.
 * - Where nobody is known to have asked for an action, there is nobody to be independent of.
 *
 * @category decisions
 * @since 0.1.0
 */
export const eligible = (vote: Vote): Effect.Effect<Verdict> =>
  asking((reviewers) => {
    const already = beforehand(vote)
    if (already !== undefined) return Effect.succeed(already)
    const who = keyOf(vote.by)
    // Who is asked needs nobody's place.
    const enough = (members: ReadonlyArray<string>) => members.some((member) => keyOf(member) === who)
    return Effect.map(resolve(reviewers, vote, enough), (resolved) => rule(vote, resolved))
  }, notKnown)

/** Everybody who is asked or stands in. */
const candidates = ({ members, standIns }: Resolved): ReadonlyArray<Principal> =>
  members === "anyone"
    ? []
    : [...new Set([...members, ...[...standIns.values()].flat()].map(keyOf))].map((key) => somebody(nameOfKey(key)))

/**
 * Whether nobody could approve, so that a ladder need not wait for anybody.
 *
 * **Details**
 *
 * Looks at all that are asked and at who stands in for them: groups without members, the one who has asked for it where
 * separation applies, agents where agents may not decide. A directory that cannot say is no sign that there is nobody.
 *
 * @category decisions
 * @since 0.1.0
 */
export const none = (question: Question): Effect.Effect<boolean> => {
  const anybody = (resolved: Resolved): boolean => {
    const may = judge(question, resolved)
    return resolved.members === "anyone" || candidates(resolved).some((by) => may(by, "approve")._tag === "Eligible")
  }
  const enough = (members: ReadonlyArray<string>) => anybody({ members, standIns: new Map() })
  return asking(
    (reviewers) => Effect.map(resolve(reviewers, question, enough), (resolved) => !anybody(resolved)),
    () => false
  )
}

/**
 * Whether somebody may override what has been decided or what nobody decides: an admin of the directory, who is a person and
 * has not asked for it.
 *
 * @category decisions
 * @since 0.1.0
 */
export const mayOverride = (vote: {
  readonly by: Principal
  readonly requester?: string | Principal | undefined
}): Effect.Effect<Verdict> =>
  asking((reviewers): Effect.Effect<Verdict, ReviewersUnavailable> => {
    const { by, requester } = vote
    const name = nameOf(by)
    if (by.kind !== "human" || by.onBehalfOf !== undefined) {
      return Effect.succeed(refused("not-a-reviewer", `${name} may not override this: only people may, for themselves`))
    }
    if (requester !== undefined && identities(requester).includes(folded(keyOf(by)))) {
      return Effect.succeed(refused("self-approval", `${name} has asked for this and may not override it`))
    }
    return reviewers.look.pipe(
      Effect.flatMap(({ admins }) => admins),
      Effect.flatMap((admins) => listed(reviewers.name, "admins", admins)),
      Effect.map((admins) =>
        admins.some((admin) => keyOf(admin) === keyOf(by))
          ? { _tag: "Eligible", as: by, alone: true }
          : refused("not-a-reviewer", `${name} may not override this: that is for admins`)
      )
    )
  }, notKnown)
