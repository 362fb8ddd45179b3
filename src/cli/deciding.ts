// @effect-diagnostics nodeBuiltinImport:off -- the people of a directory stand in a file.
/**
 * The commands by which people decide, and handle what they are asked. A Node file: uses `node:fs`.
 *
 * @since 0.1.0
 */
import { readFileSync } from "node:fs"

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as EffectResult from "effect/Result"

import * as Journal from "../journal/Journal.ts"
import { many } from "../run/internal/problems.ts"
import { runOf } from "../run/internal/reviewQueue.ts"
import { instantOf, plain } from "../run/internal/text.ts"
import { wordOf } from "../run/internal/word.ts"
import * as Review from "../run/Review.ts"
import * as Reviewers from "../run/Reviewers.ts"
import type { Decision } from "../run/RunEvent.ts"
import { isAlive } from "./carried.ts"
import { Ended, Misused, Refused } from "./failures.ts"
import { refused as fileRefused } from "./files.ts"
import { print, printJson } from "./printing.ts"
import { type Named, resumeText, userName } from "./running.ts"
import { seen } from "./seen.ts"

/** Who says something, by whom it is looked up, and whether JSON was asked for. */
export interface Speaker {
  readonly as: string | undefined
  readonly people: string | undefined
  readonly named: Named
  readonly json: boolean
}

/** Whom a directory in a file knows. Without one everybody may decide, and is who they say they are. */
export const peopleOf = (file: string | undefined): Layer.Layer<never, Refused | Reviewers.DirectoryInvalid> => {
  if (file === undefined) return Layer.empty
  return Layer.unwrap(
    Effect.gen(function* () {
      const text = yield* Effect.try({
        try: () => readFileSync(file, "utf8"),
        catch: (cause) => fileRefused(`${file} cannot be read`, cause)
      })
      const directory = yield* Effect.try({
        try: (): Reviewers.Directory => JSON.parse(text),
        catch: () => new Refused({ reason: `${file} must be JSON with groups, roles and users, and is not` })
      })
      return Reviewers.layer(directory)
    })
  )
}

/** Who it is. */
const speaking = Effect.fnUntraced(function* ({ as }: Speaker) {
  const by = as ?? (yield* userName("as"))
  if (by.trim() === "") return yield* new Misused({ reason: "--as must be a name, is empty" })
  return by
})

/** How long the process that carries the runs out is waited for: it looks four times in a second. */
const patience = 3_000

/**
 * Waits until word about a question has been taken in, while somebody is there to do so; whether it was.
 */
const takenIn = Effect.fnUntraced(function* (review: string) {
  const journal = yield* Journal.Journal
  const until = (yield* Clock.currentTimeMillis) + patience
  for (;;) {
    const left = (yield* journal.commands(runOf(review))).some((each) => {
      const word = wordOf(each)
      return "review" in word && word.review === review
    })
    if (!left) return true
    const now = yield* Clock.currentTimeMillis
    if (now >= until || !isAlive(yield* journal.owner, now)) return false
    yield* Effect.sleep("50 millis")
  }
})

/** What became of what somebody said. `left`: it is in the journal, and nobody has taken it in. */
interface Came {
  readonly heard: "applied" | "voted" | "known" | "left" | "refused"
  readonly votes?: number | undefined
  readonly need?: number | undefined
  readonly because?: string | undefined
  readonly reason?: string | undefined
}

/** What was made of a decision that was left as word, by what the run says now. */
const madeOf = ({ by, decision }: { readonly by: string; readonly decision: Decision }, now: Review.Whole): Came => {
  const refusal = now.refusals.findLast((each) => each.by === by && each.decision === decision)
  const { closed } = now
  if (closed?.as === "decided" && closed.by === by) return { heard: "applied" }
  if (closed === undefined && now.votes.some((vote) => vote.by === by && vote.decision === decision)) {
    return { heard: "voted", votes: now.votes.length, need: now.quorum }
  }
  if (refusal !== undefined) return { heard: "refused", because: refusal.because, reason: "it does not count" }
  return nothing(now)
}

/** Nothing has come of what was said: the question is closed otherwise, or only the run says why. */
const nothing = ({ closed, review, run }: Review.Whole): Came => {
  if (closed === undefined) {
    const reason = `nothing has come of it; espalier audit ${run} --trail says why`
    return { heard: "refused", because: "invalid", reason }
  }
  const { as, at, by } = closed
  const reason = `${review} is closed: ${as}${by === undefined ? "" : ` by ${by}`} at ${instantOf(at)}`
  return { heard: "refused", because: as === "decided" ? "already-decided" : as, reason }
}

const heards = { Applied: "applied", Replayed: "known", Left: "left", Voted: "voted" } as const

const cameOf = (taken: Review.Taken): Came =>
  taken._tag === "Voted" ? { heard: "voted", votes: taken.votes, need: taken.need } : { heard: heards[taken._tag] }

/** What became of what was said, and how the run goes on. */
interface Told extends Came {
  readonly review: string
  readonly run: string
  readonly said: string
  readonly by: string
  readonly does?: string | undefined
  readonly carried?: string | undefined
  readonly waits: ReadonlyArray<string>
  readonly resume?: string | undefined
}

/** How the run goes on: who carries it out, or how it is taken up; and what else it waits for. */
const after = Effect.fnUntraced(function* (review: string, { heard }: Came, named: Named) {
  const journal = yield* Journal.Journal
  const owner = yield* journal.owner
  const run = runOf(review)
  const { items } = yield* Review.queue({ run })
  const waits = items.filter((item) => !item.word && item.review !== review).map((item) => item.review)
  const resume = resumeText(run, named)
  if (!isAlive(owner, yield* Clock.currentTimeMillis)) return { waits, resume }
  // One that does not hear may have died a moment ago.
  return { waits, carried: owner.name, ...(heard === "left" ? { resume } : {}) }
})

const results: { readonly [D in Decision]: string } = {
  approve: "approved",
  reject: "rejected",
  retry: "to be tried anew",
  "accept-partial": "accepted as it stands",
  answer: "answered",
  edit: "approved with changes"
}

const heardText = (told: Told, result: string): string => {
  const { by, carried, does, heard, need, review, said, votes } = told
  const meaning = does === undefined ? "" : `: ${does}`
  switch (heard) {
    case "applied":
      return `${review} is ${result} by ${by}${meaning}`
    case "voted":
      return `${review} has ${votes} of the ${need} votes that it needs, with the one of ${by} (${said})`
    case "known":
      return `${review} knows that already, ${said} by ${by}: nothing was written`
    case "refused":
      return `${review} stays as it is: ${said} by ${by} is refused (${told.because}): ${told.reason}`
    case "left": {
      const where =
        carried === undefined
          ? "nobody carries the run out now, and it counts when the run is taken up"
          : `${carried}, who carries out the runs of this journal, has not taken it in yet`
      const votes = need === undefined || need < 2 ? "" : `; it is one of the ${need} votes that are needed`
      return `${review}: ${said} by ${by} is in the journal; ${where}${votes}${meaning}`
    }
  }
}

const nextText = ({ carried, resume, run, waits }: Told): ReadonlyArray<string> => [
  ...(waits.length === 0
    ? []
    : [`${run} waits for ${many(waits.length, "more decision")}: ${waits.slice(0, 5).join(", ")}`]),
  ...(resume === undefined
    ? []
    : [`go on with: ${resume}${carried === undefined ? "" : ", should that process be gone"}`])
]

/** Prints what became of what was said; ends with the code of a refusal where it is one. */
const tell = Effect.fnUntraced(function* (told: Told, result: string, json: boolean, understood = "") {
  if (json) yield* printJson(told)
  else {
    const what = understood === "" ? [] : [understood]
    if (told.heard === "refused") return yield* new Refused({ reason: [heardText(told, result), ...what].join("; ") })
    yield* print([...what, heardText(told, result), ...nextText(told)].map(plain).join("\n"))
  }
  if (told.heard === "refused") return yield* new Ended({ code: 2 })
})

/** A refusal as what became of it: it is told like everything else. */
const refusedAs = (error: Review.Refusals): Effect.Effect<Came, Exclude<Review.Refusals, { _tag: "CommandRefused" }>> =>
  error._tag === "CommandRefused"
    ? Effect.succeed({ heard: "refused", because: error.because ?? "invalid", reason: error.reason })
    : Effect.fail(error)

/** What is decided. */
export interface Deciding extends Omit<Review.Deciding, "review" | "by" | "note"> {
  readonly why?: string | undefined
}

/** Decides one question, which is looked at first: what it is about says how it is understood. */
export const decide = <E>(
  id: string,
  speaker: Speaker,
  make: (whole: Review.Whole) => Effect.Effect<readonly [deciding: Deciding, understood?: string], E>
) =>
  Effect.gen(function* () {
    const { json, named } = speaker
    const by = yield* speaking(speaker)
    const whole = yield* Review.get(id)
    const [{ why, ...deciding }, understood] = yield* make(whole)
    const note = why === undefined ? {} : { note: why }
    const { decision } = deciding
    const came = yield* Review.decide({ ...deciding, ...note, review: id, by }).pipe(
      Effect.map(cameOf),
      Effect.catch(refusedAs)
    )
    const taken = came.heard === "left" && (yield* takenIn(id))
    const done: Came = taken ? madeOf({ by, decision }, yield* Review.get(id)) : came
    const does = whole.decisions.find((each) => each.decision === decision)?.does
    const told: Told = {
      review: id,
      run: whole.run,
      said: decision,
      by,
      ...(done.heard === "left" && whole.quorum > 1 ? { need: whole.quorum } : {}),
      ...done,
      ...(does === undefined ? {} : { does }),
      ...(yield* after(id, done, { ...named, people: speaker.people }))
    }
    yield* tell(told, results[decision], json, understood)
  }).pipe(Effect.provide(Layer.merge(peopleOf(speaker.people), seen({ offers: false }))))

/** Decides several questions of one kind. */
export const decideAll = (
  ids: ReadonlyArray<string>,
  speaker: Speaker,
  { decision, why }: Pick<Deciding, "decision" | "why">
) =>
  Effect.gen(function* () {
    const { json, named } = speaker
    const by = yield* speaking(speaker)
    for (const id of ids) yield* Review.get(id)
    const note = why === undefined ? {} : { note: why }
    const each = yield* Review.decideAll(ids.map((review) => ({ review, decision, by, ...note })))
    const told: Array<Told> = []
    for (const one of each) {
      const id = one.review
      const came = "result" in one ? cameOf(one.result) : yield* refusedAs(one.refused)
      const taken = came.heard === "left" && (yield* takenIn(id))
      const done = taken ? madeOf({ by, decision }, yield* Review.get(id)) : came
      told.push({
        review: id,
        run: runOf(id),
        said: decision,
        by,
        ...done,
        ...(yield* after(id, done, { ...named, people: speaker.people }))
      })
    }
    if (json) yield* printJson(told)
    else {
      yield* print(told.map((one) => plain(heardText(one, results[decision]))).join("\n"))
      // Of each run once, how it goes on.
      const last = new Map(told.map((one) => [one.run, one]))
      const next = [...last.values()].flatMap(nextText)
      if (next.length > 0) yield* print(next.map(plain).join("\n"))
    }
    if (told.some(({ heard }) => heard === "refused")) return yield* new Ended({ code: 2 })
  }).pipe(Effect.provide(Layer.merge(peopleOf(speaker.people), seen({ offers: false }))))

/** Handles a question otherwise than by deciding it. `done`: whether that has come, by what the run says now. */
export const handle = (
  id: string,
  speaker: Speaker,
  said: string,
  result: string,
  say: (by: string) => ReturnType<typeof Review.release>
) =>
  Effect.gen(function* () {
    const { json, named } = speaker
    const by = yield* speaking(speaker)
    const before = yield* Review.get(id)
    const came = yield* say(by).pipe(Effect.map(cameOf), Effect.catch(refusedAs))
    const taken = came.heard === "left" && (yield* takenIn(id))
    const now = yield* Review.get(id)
    const changed = now.revision > before.revision || now.status === "withdrawn"
    const done: Came = !taken ? came : changed ? { heard: "applied" } : nothing(now)
    const { claimed, final } = now
    const does =
      said === "claim" && claimed !== undefined
        ? `until ${instantOf(claimed.until)}, which keeps nobody else from deciding`
        : said === "extend" && final !== undefined && done.heard === "applied"
          ? `silence means ${final.action} at ${instantOf(final.at)}`
          : undefined
    const told: Told = {
      review: id,
      run: now.run,
      said,
      by,
      ...done,
      ...(does === undefined ? {} : { does }),
      ...(yield* after(id, done, { ...named, people: speaker.people }))
    }
    yield* tell(told, result, json)
  }).pipe(Effect.provide(Layer.merge(peopleOf(speaker.people), seen({ offers: false }))))

/** What was typed, or why it cannot be understood. */
export const understood = <A>(read: EffectResult.Result<A, Misused>): Effect.Effect<A, Misused> =>
  Effect.fromResult(read)
