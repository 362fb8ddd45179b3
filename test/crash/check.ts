/**
 * What must hold of a world in which processes were killed, told from outside: a pure function of what was seen.
 */
import type { Journal } from "espalier/journal"
import type { Outcome } from "espalier/run"

import type { Line } from "./outside.ts"
import { digestOf } from "./seams.ts"

/**
 * What does not hold.
 *
 * - `lost`: something acknowledged is gone or is not what it was, or the outcome is another one.
 * - `repeated`: what was finished was done again, or an effect happened twice.
 * - `hung`: a life did not end, or could not go on.
 */
export interface Violation {
  readonly kind: "lost" | "repeated" | "hung"
  readonly what: string
}

/** Everything that was seen: lines from outside, and the history of each run as the store has it. */
export interface Seen {
  readonly lines: ReadonlyArray<Line>
  readonly histories: ReadonlyMap<string, ReadonlyArray<Journal.Recorded>>
  /** Default none. */
  readonly decisions?: ReadonlyArray<Decision> | undefined
}

/** What somebody decided of a question, and what they were told: `Applied`, `Left`, or why it does not count. */
export interface Decision {
  readonly review: string
  readonly by: string
  readonly told: string
}

type Of<Tag extends Line["_tag"]> = Extract<Line, { readonly _tag: Tag }>

const of = <Tag extends Line["_tag"]>(lines: ReadonlyArray<Line>, tag: Tag): ReadonlyArray<Of<Tag>> =>
  lines.filter((line): line is Of<Tag> => line._tag === tag)

/** What an event says under a name. */
export const field = (event: Journal.Event, name: string): unknown =>
  typeof event.data === "object" && event.data !== null && name in event.data
    ? (event.data as Readonly<Record<string, unknown>>)[name]
    : undefined

const lost = (what: string): Violation => ({ kind: "lost", what })
const repeated = (what: string): Violation => ({ kind: "repeated", what })

/** Versions are dense, and each acknowledged event is in its place, as it was. */
const acknowledged = ({ histories, lines }: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  for (const [run, events] of histories) {
    events.forEach(({ version }, index) => {
      if (version !== index + 1) found.push(lost(`${run} has version ${version} in place ${index + 1}`))
    })
  }
  const places = new Map<string, string>()
  for (const { digest, life, run, version } of of(lines, "Committed")) {
    const event = histories.get(run)?.[version - 1]
    const place = `event ${version} of ${run}, acknowledged in life ${life},`
    const before = places.get(`${run} ${version}`)
    places.set(`${run} ${version}`, digest)
    if (before !== undefined && before !== digest) found.push(lost(`${place} had been acknowledged as another one`))
    if (event === undefined) found.push(lost(`${place} is gone`))
    else if (digestOf(event) !== digest) found.push(lost(`${place} is another one: ${event.type}`))
  }
  return found
}

/** Where each run was when each life began. */
const bases = (lines: ReadonlyArray<Line>) => {
  const lives = new Map(of(lines, "Life").map(({ life, versions }) => [life, versions]))
  return (life: number, run: string): number => lives.get(life)?.[run] ?? 0
}

/** What a run told of in a life is what it went on with, in that order, and all of it is in the store. */
const published = ({ histories, lines }: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const base = bases(lines)
  const told = new Map<string, number>()
  for (const { life, run, what } of of(lines, "Published")) {
    const version = 1 + (told.get(`${life} ${run}`) ?? base(life, run))
    told.set(`${life} ${run}`, version)
    const event = histories.get(run)?.[version - 1]
    if (event === undefined || `${event.type} ${event.at} ${String(field(event, "note"))}` !== what) {
      found.push(lost(`life ${life} told of "${what}" of ${run}, which is not its event ${version}`))
    }
  }
  return found
}

/** The versions of the events of a kind, by a field of theirs. */
const versionsOf = ({ histories }: Seen, type: string, key: (run: string, event: Journal.Recorded) => string) => {
  const versions = new Map<string, number>()
  for (const [run, events] of histories) {
    for (const event of events) if (event.type === type) versions.set(key(run, event), event.version)
  }
  return versions
}

/** A task that had ended when a life began is not begun in it. */
const tasks = (seen: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const base = bases(seen.lines)
  const ends = versionsOf(seen, "TaskEnded", (run, event) => `${run} ${String(field(event, "task"))}`)
  for (const { dispatch, life, run, task } of of(seen.lines, "Begun")) {
    const end = ends.get(`${run} ${task}`)
    if (end !== undefined && end <= base(life, run)) {
      found.push(repeated(`${task} of ${run} had ended at version ${end}, and life ${life} began ${dispatch} again`))
    }
  }
  return found
}

/** No order is carried out, and nothing is done outside, before it is written down. */
const written = (seen: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const base = bases(seen.lines)
  const orders = versionsOf(seen, "Dispatched", (_, event) => String(field(event, "dispatch")))
  const intents = versionsOf(seen, "EffectIntended", (_, event) => String(field(event, "effect")))
  const committed = new Map<string, number>()
  // A commit of which the answer was lost is only known by what is told of it.
  const told = new Map<string, number>()
  for (const line of seen.lines) {
    if (line._tag === "Life" || line._tag === "Crossed") continue
    const { life, run } = line
    const key = `${life} ${run}`
    const begun = base(life, run)
    if (line._tag === "Published") told.set(key, 1 + (told.get(key) ?? begun))
    else if (line._tag === "Committed") committed.set(key, line.version)
    else {
      const what = line._tag === "Begun" ? line.dispatch : `the effect ${line.key} of ${line.task}`
      const version = line._tag === "Begun" ? orders.get(line.dispatch) : intents.get(line.key)
      const known = Math.max(begun, committed.get(key) ?? 0, told.get(key) ?? 0)
      if (version === undefined) found.push(lost(`${what} was begun in life ${life} and is not in the journal`))
      else if (version > known) {
        found.push(lost(`${what} was begun in life ${life} before version ${version}, which says so, was written down`))
      }
    }
  }
  return found
}

/** No effect happened twice. */
const effects = ({ lines }: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const done = new Map<string, number>()
  for (const { key, life, task } of of(lines, "Done")) {
    const before = done.get(key)
    if (before !== undefined)
      found.push(repeated(`the effect ${key} of ${task} happened in life ${before} and ${life}`))
    done.set(key, life)
  }
  return found
}

/** Nobody is asked the same twice in a run, and nothing that is asked is closed twice. */
const questions = ({ histories }: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  for (const [run, events] of histories) {
    const asked = new Map<string, string>()
    const closed = new Set<string>()
    for (const event of events) {
      const review = String(field(event, "review"))
      // An order uses its approval up.
      if (event.type === "Dispatched") {
        const spent = `${String(field(event, "task"))} action-approval `
        for (const what of asked.keys()) if (what.startsWith(spent)) asked.delete(what)
      }
      if (event.type === "ReviewOpened") {
        const { effect, digest } = (field(event, "facts") ?? {}) as { readonly [name: string]: unknown }
        const what = [field(event, "task"), field(event, "kind"), field(event, "key") ?? effect ?? digest].join(" ")
        const before = asked.get(what)
        if (before !== undefined) found.push(repeated(`${review} of ${run} asks what ${before} has asked: ${what}`))
        asked.set(what, review)
      }
      if (!["ReviewDecided", "ReviewExpired", "ReviewWithdrawn"].includes(event.type)) continue
      if (closed.has(review)) found.push(repeated(`${review} of ${run} is closed a second time: ${event.type}`))
      closed.add(review)
    }
  }
  return found
}

/** Nothing that has to be approved is begun before it is. */
const approved = ({ histories }: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  for (const events of histories.values()) {
    const waits = new Map<string, string>()
    for (const event of events) {
      if (event.type === "ReviewOpened" && field(event, "kind") === "action-approval") {
        waits.set(String(field(event, "review")), String(field(event, "task")))
      }
      if (event.type === "ReviewDecided") waits.delete(String(field(event, "review")))
      if (event.type !== "Dispatched") continue
      const task = String(field(event, "task"))
      if ([...waits.values()].includes(task)) {
        found.push(repeated(`${String(field(event, "dispatch"))} is given before anybody has approved it`))
      }
    }
  }
  return found
}

/** What somebody was told counts is what the run goes by at its end, once; and of one question it is one decision. */
export const decisions = ({ decisions = [], histories }: Seen): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const stood = new Map<string, string>()
  for (const events of histories.values()) {
    for (const event of events) {
      if (event.type === "ReviewDecided") stood.set(String(field(event, "review")), String(field(event, "by")))
    }
  }
  for (const { by, review, told } of decisions) {
    const counts = told === "Applied" || told === "Left"
    if (counts && stood.get(review) !== by) {
      found.push(lost(`the decision of ${by} about ${review}: it stands as that of ${stood.get(review)}`))
    }
    if (!counts && stood.get(review) === by)
      found.push(lost(`${by} heard ${told} of ${review}, and their decision stands`))
    if (!counts && told !== "already-decided") found.push(lost(`${by} heard of ${review}: ${told}`))
  }
  return found
}

/** What must hold at any moment, also right after a kill. */
export const check = (seen: Seen): ReadonlyArray<Violation> => [
  ...acknowledged(seen),
  ...published(seen),
  ...tasks(seen),
  ...written(seen),
  ...effects(seen),
  ...questions(seen),
  ...approved(seen)
]

/** What a run came to, without the times and tries that a kill may change. */
export interface Essence {
  readonly whole: unknown
  /** Its orders, by task. */
  readonly orders: Readonly<Record<string, ReadonlyArray<string>>>
}

const essence = (outcome: Outcome.Outcome): Essence => {
  const orders: Record<string, ReadonlyArray<string>> = {}
  for (const { dispatch, outcome: end, task, worker } of outcome.dispatches) {
    orders[task] = [...(orders[task] ?? []), `${dispatch} ${worker} ${end}`]
  }
  const results = Object.values(outcome.results)
    .map(({ confidence, missing, output, status, task, worker }) => ({
      task,
      status,
      worker,
      output,
      confidence,
      missing
    }))
    .toSorted((a, b) => (a.task < b.task ? -1 : 1))
  const { degraded, missing, output, status, stopReason } = outcome
  return { whole: { status, stopReason, degraded, output, missing, results }, orders }
}

/** What an end must be: as that of a world in which nobody was killed. `asked`: tasks of which people were asked. */
export interface End {
  readonly runs: Readonly<Record<string, Essence>>
  readonly effects: ReadonlySet<string>
  readonly asked: ReadonlySet<string>
}

/** The tasks of whose effects nobody knew the outcome. */
const reconciled = ({ histories }: Seen): ReadonlySet<string> => {
  const all = [...histories].flatMap(([run, events]) =>
    events
      .filter((event) => event.type === "ReviewOpened" && field(event, "kind") === "reconciliation")
      .map((event) => `${run} ${String(field(event, "task"))}`)
  )
  return new Set(all)
}

/** The end of a world. */
export const endOf = (seen: Seen, outcomes: ReadonlyArray<Outcome.Outcome>): End => ({
  runs: Object.fromEntries(outcomes.map((outcome) => [outcome.run, essence(outcome)])),
  effects: new Set(of(seen.lines, "Done").map(({ key }) => key)),
  asked: reconciled(seen)
})

/** How an end differs from the one that it has to be. Who was asked about has another order after the answer. */
export const compare = (end: End, undisturbed: End): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  for (const [run, wanted] of Object.entries(undisturbed.runs)) {
    const is = end.runs[run]
    const orders = { ...is?.orders }
    for (const [task, each] of Object.entries(wanted.orders)) if (end.asked.has(`${run} ${task}`)) orders[task] = each
    const difference = differing(is?.whole, wanted.whole, run) ?? differing(orders, wanted.orders, `${run}.orders`)
    if (difference !== undefined) found.push(lost(`the outcome of ${difference}`))
  }
  for (const key of undisturbed.effects) if (!end.effects.has(key)) found.push(lost(`the effect ${key} did not happen`))
  for (const key of end.effects) {
    if (!undisturbed.effects.has(key)) found.push(repeated(`the effect ${key} is none of an undisturbed run`))
  }
  return found
}

/** The first place in which two values differ. */
const differing = (is: unknown, wanted: unknown, path: string): string | undefined => {
  if (typeof is !== "object" || typeof wanted !== "object" || is === null || wanted === null) {
    return Object.is(is, wanted) ? undefined : `${path} is ${short(is)}, undisturbed ${short(wanted)}`
  }
  const keys = new Set([...Object.keys(wanted), ...Object.keys(is)])
  for (const key of keys) {
    const found = differing(
      (is as Readonly<Record<string, unknown>>)[key],
      (wanted as Readonly<Record<string, unknown>>)[key],
      `${path}.${key}`
    )
    if (found !== undefined) return found
  }
  return undefined
}

const short = (value: unknown): string => (JSON.stringify(value) ?? "nothing").slice(0, 200)
