/**
 * The commands for people: what they are asked, and what they say to it.
 *
 * @since 0.1.0
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

import * as Review from "../run/Review.ts"
import { type Decision, ReviewKind } from "../run/RunEvent.ts"
import { on, oneOf, present, runId, text, within } from "./base.ts"
import * as deciding from "./deciding.ts"
import { Misused } from "./failures.ts"
import * as queue from "./queue.ts"
import { readText } from "./running.ts"
import { answerOf, editsOf, raiseOf, timeOf } from "./understanding.ts"

const reviewId = Argument.String("review").pipe(
  Argument.withDescription("The id of a question, such as r1/review/1; espalier reviews has them")
)

/** Where it stands who may decide. */
export const people = text(
  "people",
  "A file of JSON with groups, roles, users and absences, by which it is looked up who may decide. Default: none, and everybody " +
    "may"
)

/** Who says it. */
const speaker = {
  as: Flag.String("as").pipe(
    Flag.withMetavar("NAME"),
    Flag.withDescription("Who says it. Default: the user of this system"),
    Flag.optional
  ),
  people
}

const why = Flag.String("why").pipe(
  Flag.withMetavar("TEXT"),
  Flag.withDescription("The reason, in a sentence"),
  Flag.optional
)

const because = Flag.String("why").pipe(Flag.withMetavar("TEXT"), Flag.withDescription("The reason, in a sentence"))

/** What a decision is about, exactly, and what makes it the same one when it is sent again. */
const exactly = {
  digest: text("digest", "Only if the question still has this digest, as espalier review prints it"),
  revision: Flag.Int("revision").pipe(
    Flag.withDescription("Only if the question still has this revision"),
    Flag.optional
  ),
  key: text("key", "The same for a decision that is sent again: it counts once")
}

interface Spoken {
  readonly as: Option.Option<string>
  readonly people: Option.Option<string>
}

interface Exactly {
  readonly digest: Option.Option<string>
  readonly revision: Option.Option<number>
  readonly key: Option.Option<string>
}

/** Does something as somebody. */
const spoken = <A, E, R>({ as, people }: Spoken, use: (speaker: deciding.Speaker) => Effect.Effect<A, E, R>) =>
  within((json, named) => use({ as: Option.getOrUndefined(as), people: Option.getOrUndefined(people), named, json }))

const exactlyOf = ({ digest, key, revision }: Exactly) => present({ digest, revision, key })

const whyOf = (why: Option.Option<string>) => present({ why })

const reviews = Command.make(
  "reviews",
  {
    run: runId.pipe(Argument.optional),
    mine: text("mine", "Only those that this one may decide now"),
    kind: oneOf("kind", ReviewKind.literals, "Only those of this kind"),
    desk: text("desk", "Only those of this desk"),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription("At most so many. Default: 100"),
      Flag.filter(
        (limit) => limit >= 1 && limit <= 1_000,
        (limit) => `must be from 1 to 1000, is ${limit}`
      ),
      Flag.optional
    ),
    after: text("after", "Where the page before ended, as it says itself"),
    people
  },
  ({ after, desk, kind, limit, mine, people, run }) =>
    within((json, named) =>
      Effect.gen(function* () {
        if (Option.isSome(mine) && mine.value.trim() === "") {
          return yield* new Misused({ reason: "--mine must be a name, is empty" })
        }
        if (Option.isSome(after) && !/^[\d.]*:[\d.]+:./.test(after.value)) {
          return yield* new Misused({ reason: `--after must be what the page before says, is ${after.value}` })
        }
        const filter: Review.Filter = present({ run, mine, kind, desk, limit, after })
        const directory = deciding.peopleOf(Option.getOrUndefined(people))
        yield* Effect.provide(queue.reviews(filter, named, json), directory)
      })
    )
).pipe(
  Command.withDescription(
    "Lists what people are asked and have not decided, of a run or of all of them, the ones whose time is over first at the top"
  ),
  Command.withExamples([
    { command: "espalier reviews --mine ann", description: "What ann may decide now" },
    { command: "espalier reviews r1 --json", description: "What the run r1 asks, as JSON" }
  ])
)

const review = Command.make("review", { review: reviewId }, ({ review }) =>
  within((json, named) => queue.review(review, named, json))
).pipe(
  Command.withDescription(
    "Shows one question in full: what is proposed, what each decision does, what silence does and when; or how it was closed"
  )
)

/** One or more questions. */
const reviewIds = reviewId.pipe(Argument.atLeast(1))

/** Decides one question, or several of one kind. */
const decideEach = (
  ids: ReadonlyArray<string>,
  decision: Decision,
  given: Exactly & { readonly why: Option.Option<string>; readonly raise: Option.Option<string> },
  who: deciding.Speaker
) =>
  Effect.gen(function* () {
    const [first = ""] = ids
    const only = exactlyOf(given)
    const raise = Option.isSome(given.raise) ? { raise: yield* deciding.understood(raiseOf(given.raise.value)) } : {}
    if (ids.length === 1) {
      return yield* deciding.decide(first, who, () =>
        Effect.succeed([{ decision, ...only, ...raise, ...whyOf(given.why) }] as const)
      )
    }
    const single = Object.keys({ ...only, ...raise })
    if (single.length > 0) {
      const flags = single.map((each) => `--${each}`).join(", ")
      return yield* new Misused({ reason: `${flags} can be given for one question, and there are ${ids.length}` })
    }
    yield* deciding.decideAll(ids, who, { decision, ...whyOf(given.why) })
  })

const approve = Command.make(
  "approve",
  {
    reviews: reviewIds,
    why,
    raise: Flag.String("raise").pipe(
      Flag.withMetavar("AMOUNTS"),
      Flag.withDescription("What a spent budget is raised by: cost=1,tokens=100, or an object of JSON"),
      Flag.optional
    ),
    ...exactly,
    ...speaker
  },
  ({ as, people, reviews, ...given }) => spoken({ as, people }, (who) => decideEach(reviews, "approve", given, who))
).pipe(
  Command.withDescription(
    "Approves what is asked: of one question, or of several of one kind that are of low or medium risk"
  ),
  Command.withExamples([
    { command: "espalier approve r1/review/1 --why 'as agreed'", description: "Lets the action go ahead" },
    { command: "espalier approve r1/review/2 --raise tokens=5000", description: "Raises a budget that is spent" }
  ])
)

const reject = Command.make(
  "reject",
  { reviews: reviewIds, why: because, ...exactly, ...speaker },
  ({ as, people, reviews, why, ...given }) =>
    spoken({ as, people }, (who) =>
      decideEach(reviews, "reject", { ...given, why: Option.some(why), raise: Option.none() }, who)
    )
).pipe(Command.withDescription("Rejects what is asked, with the reason: nothing of it is done"))

const answer = Command.make(
  "answer",
  {
    review: reviewId,
    value: Argument.String("value").pipe(
      Argument.withDescription("The answer: a text or JSON, @FILE, or - for standard input")
    ),
    text: on("text", "Take the answer for a text, whatever it looks like"),
    why,
    ...exactly,
    ...speaker
  },
  ({ as, people, review, text, value, why, ...given }) =>
    spoken({ as, people }, (who) =>
      deciding.decide(review, who, (whole) =>
        Effect.gen(function* () {
          const from = value === "-" ? "-" : value.startsWith("@") ? value.slice(1) : undefined
          const said = from === undefined ? value : (yield* readText(from)).replace(/\r?\n$/, "")
          const read = answerOf(whole, said, text)
          const { value: answer } = read
          const only = exactlyOf(given)
          return [{ decision: "answer" as const, answer, ...only, ...whyOf(why) }, `the answer is ${read.as}`] as const
        })
      )
    )
).pipe(
  Command.withDescription(
    "Answers a question: with one of its choices, with a text, or with JSON; it says how it was understood"
  ),
  Command.withExamples([
    { command: "espalier answer r1/review/1 'The left one'", description: "A text" },
    { command: "espalier answer r1/review/1 @answer.json", description: "What a file has" }
  ])
)

/** A decision that says nothing more than itself. */
const plainly = (name: string, decision: Decision, description: string) =>
  Command.make(name, { review: reviewId, why, ...exactly, ...speaker }, ({ as, people, review, why, ...given }) =>
    spoken({ as, people }, (who) =>
      deciding.decide(review, who, () => Effect.succeed([{ decision, ...exactlyOf(given), ...whyOf(why) }] as const))
    )
  ).pipe(Command.withDescription(description))

const retry = plainly("retry", "retry", "Has a task tried anew, with the reason as a hint for whoever does it")

const accept = plainly("accept", "accept-partial", "Accepts what there is as it stands, though something is missing")

const edit = Command.make(
  "edit",
  {
    review: reviewId,
    set: Flag.String("set").pipe(
      Flag.withMetavar("/POINTER=JSON"),
      Flag.withDescription("A JSON pointer into the arguments, and the new value; may be given again"),
      Flag.atLeast(1)
    ),
    why,
    ...exactly,
    ...speaker
  },
  ({ as, people, review, set, why, ...given }) =>
    spoken({ as, people }, (who) =>
      deciding.decide(review, who, () =>
        Effect.map(
          deciding.understood(editsOf(set)),
          ({ as, edits }) =>
            [
              { decision: "edit" as const, edits, ...exactlyOf(given), ...whyOf(why) },
              `changes ${as.join("; ")}`
            ] as const
        )
      )
    )
).pipe(
  Command.withDescription(
    "Approves an action with other arguments: those that may be changed, checked as the action checks them"
  ),
  Command.withExamples([
    { command: `espalier edit r1/review/1 --set '/to="team"' --why "not to all"`, description: "Another receiver" }
  ])
)

const withdraw = Command.make(
  "withdraw",
  { review: reviewId, why: because, ...speaker },
  ({ as, people, review, why }) =>
    spoken({ as, people }, (who) =>
      deciding.handle(review, who, "withdraw", "withdrawn", (by) => Review.withdraw(review, { by, note: why }))
    )
).pipe(Command.withDescription("Takes a question back: nobody has to decide it any more, and nothing of it is done"))

const claim = Command.make(
  "claim",
  { review: reviewId, for: text("for", `How long. Default: "15 minutes"`), ...speaker },
  ({ as, for: given, people, review }) =>
    spoken({ as, people }, (who) =>
      Effect.gen(function* () {
        const time = Option.isSome(given) ? { for: yield* deciding.understood(timeOf("for", given.value)) } : {}
        yield* deciding.handle(review, who, "claim", "claimed", (by) => Review.claim(review, { by, ...time }))
      })
    )
).pipe(Command.withDescription("Says that somebody takes care of a question, which keeps nobody else from deciding it"))

const release = Command.make("release", { review: reviewId, ...speaker }, ({ as, people, review }) =>
  spoken({ as, people }, (who) =>
    deciding.handle(review, who, "release", "free again, said", (by) => Review.release(review, { by }))
  )
).pipe(Command.withDescription("Says that nobody takes care of a question any more"))

const reassign = Command.make(
  "reassign",
  {
    review: reviewId,
    to: Flag.String("to").pipe(
      Flag.withMetavar("WHO"),
      Flag.withDescription("user:ID, group:NAME, role:NAME or anyone; may be given again"),
      Flag.atLeast(1)
    ),
    why: because,
    ...speaker
  },
  ({ as, people, review, to, why }) =>
    spoken({ as, people }, (who) =>
      deciding.handle(review, who, "reassign", "reassigned", (by) => Review.reassign(review, { by, to, note: why }))
    )
).pipe(Command.withDescription("Has others asked instead of those who are, who may not decide any more"))

const extend = Command.make(
  "extend",
  {
    review: reviewId,
    for: Flag.String("for").pipe(Flag.withMetavar("TIME"), Flag.withDescription(`How much later, such as "2 hours"`)),
    why,
    ...speaker
  },
  ({ as, for: given, people, review, why }) =>
    spoken({ as, people }, (who) =>
      Effect.gen(function* () {
        const time = yield* deciding.understood(timeOf("for", given))
        const note = Option.isSome(why) ? { note: why.value } : {}
        yield* deciding.handle(review, who, "extend", "extended", (by) =>
          Review.extend(review, { by, for: time, ...note })
        )
      })
    )
).pipe(Command.withDescription("Gives a question more time, as often as its rules let it have some"))

/** The commands for people. */
export const forPeople = [
  reviews,
  review,
  approve,
  reject,
  answer,
  retry,
  accept,
  edit,
  claim,
  release,
  reassign,
  extend,
  withdraw
] as const
