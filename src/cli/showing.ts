/**
 * A run in words: what it is, its tasks, what it knows of itself.
 *
 * @since 0.1.0
 */
import type { Owner } from "../journal/Journal.ts"
import { many } from "../run/internal/problems.ts"
import type { Read } from "../run/internal/reading.ts"
import { plain } from "../run/internal/text.ts"
import type { Outcome } from "../run/Outcome.ts"
import { wakeAt } from "../run/RunState.ts"
import type { Fact, Outstanding, Standing } from "../run/Standing.ts"
import { type Asked, factLines, type Said, saidText } from "./asked.ts"
import { carriedText, waitsText } from "./carried.ts"
import { type Look, painted, styleOf, timeOf } from "./look.ts"
import { labelled, status, tableIn } from "./table.ts"

/** What is told of a run, as plain data. */
export interface Shown {
  readonly run: string
  readonly desk: string
  readonly deskVersion: string
  readonly status: string
  readonly stopReason?: string | undefined
  readonly note: string
  readonly tier: string
  readonly startedAt: number
  readonly lastAt: number
  readonly version: number
  readonly hash: string
  readonly spent: ReadonlyArray<{
    readonly account: string
    readonly measure: string
    readonly settled: number
    readonly reserved: number
    readonly limit?: number | undefined
  }>
  readonly paid: number
  readonly tasks: ReadonlyArray<{
    readonly task: string
    readonly status: string
    readonly worker: string
    readonly orders: number
    readonly note: string
  }>
  readonly missing: Outcome["missing"]
  readonly standing: Pick<Standing, "facts" | "outstanding" | "next">
  readonly asked: ReadonlyArray<Asked>
  readonly decided: ReadonlyArray<Said>
  readonly waits?: string | undefined
  readonly carried?: string | undefined
}

/** What is told of a run beside what its events fold to. */
export interface Beside extends Pick<Shown, "asked" | "decided" | "hash" | "paid"> {
  readonly owner: Owner | undefined
  readonly now: number
}

/** What it waits for, and who carries it out, where that is to be known. */
const livelinessOf = (state: Read["state"], { outstanding }: Standing, { now, owner }: Beside) => {
  const wake = state.status === "waiting" ? wakeAt(state) : undefined
  return {
    ...(state.status === "waiting" ? { waits: waitsText(outstanding, wake) } : {}),
    ...(state.status === "running" || wake !== undefined ? { carried: carriedText(owner, now) } : {})
  }
}

/** What is told of a run, from what its events fold to. */
export const shownOf = ({ state }: Read, outcome: Outcome, standing: Standing, beside: Beside): Shown => ({
  run: state.run,
  desk: state.desk,
  deskVersion: state.deskVersion,
  status: state.status,
  ...(state.stopReason === undefined ? {} : { stopReason: state.stopReason }),
  note: outcome.note,
  tier: state.tier,
  startedAt: state.startedAt,
  lastAt: state.lastAt,
  version: state.version,
  hash: beside.hash,
  spent: [...state.ledger.accounts].flatMap(([account, { limit, reserved, settled }]) =>
    [...new Set([...Object.keys(settled), ...Object.keys(limit)])].map((measure) => {
      const of = (amount: object): number => Number(Reflect.get(amount, measure) ?? 0)
      return {
        account,
        measure,
        settled: of(settled),
        reserved: of(reserved),
        ...(Reflect.has(limit, measure) ? { limit: of(limit) } : {})
      }
    })
  ),
  paid: beside.paid,
  tasks: Array.from(state.tasks.values(), ({ dispatches, id, reason, status }) => ({
    task: id,
    status,
    worker: outcome.results[id]?.worker ?? "",
    orders: dispatches,
    note: outcome.results[id]?.note ?? reason
  })),
  missing: outcome.missing,
  standing: { facts: standing.facts, outstanding: standing.outstanding, next: standing.next },
  asked: beside.asked,
  decided: beside.decided,
  ...livelinessOf(state, standing, beside)
})

const factRow = ({
  approvals,
  builtOn,
  confidence,
  contract,
  dispatch,
  evidence,
  hash,
  task,
  version,
  worker
}: Fact) => [
  task,
  String(version),
  dispatch ?? "",
  worker,
  contract === undefined ? "" : String(contract),
  String(confidence),
  hash === undefined ? "" : hash.slice(0, 19),
  String(evidence.length),
  builtOn.map(({ task, version }) => `${task}@${version}`).join(", "),
  approvals.join(", ")
]

/** Beside what stands the name of what it is. */
const labels = 9

const outstandingLines = (
  look: Look,
  { choices, deadlines, effects, orders, reviews, timers }: Outstanding,
  asked: ReadonlyArray<Asked>
): ReadonlyArray<string> => {
  const line = (label: string, text: string) => labelled(look, label, labels, text)
  const time = (millis: number) => timeOf(look, millis)
  return [
    ...reviews.flatMap(({ allowed, at, kind, note, review, task }) => {
      const of = task === undefined ? "" : ` of ${task}`
      const known = asked.find((each) => each.review === review) ?? { review, facts: {} }
      return [
        line("review", `${review}  ${kind}${of}, since ${time(at)}: ${plain(note)} (${allowed.join(", ")})`),
        ...factLines(kind, allowed, known).map((fact) => labelled(look, "", labels + 2, fact.trimStart()))
      ]
    }),
    ...choices.map(({ consult, purpose, subject }) => line("choice", `${consult}  ${purpose} for ${subject}`)),
    ...orders.map(({ at, dispatch, worker }) => line("order", `${dispatch}  at ${worker}, since ${time(at)}`)),
    ...timers.map(({ due, purpose, timer }) => line("timer", `${timer}  ${purpose}, due ${time(due)}`)),
    ...deadlines.map(({ at, subject }) => line("deadline", `${subject}  ${time(at)}`)),
    ...effects.map(({ effect, name, status, task }) => line("effect", `${effect}  ${name} of ${task}, ${status}`))
  ]
}

/** A run as text. */
export const textOf = (look: Look, shown: Shown): string => {
  const { facts, next, outstanding } = shown.standing
  const why = shown.stopReason === undefined ? "" : `, ${shown.stopReason}`
  const line = (label: string, text: string) => labelled(look, label, labels, text)
  const section = (name: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
    lines.length === 0 ? [] : ["", painted(look, "bold", name), ...lines]
  const tables = (...[look, heads, rows]: Parameters<typeof tableIn>): ReadonlyArray<string> =>
    rows.length === 0 ? [] : [tableIn(look, heads, rows)]
  return [
    line("run", shown.run),
    labelled(look, "status", labels, `${shown.status}${why}: ${plain(shown.note)}`, styleOf(shown.status)),
    ...(shown.waits === undefined ? [] : [line("waits", `for ${shown.waits}`)]),
    ...(shown.carried === undefined ? [] : [line("carried", shown.carried)]),
    line("desk", `${shown.desk} ${shown.deskVersion}, tier ${shown.tier}`),
    line("started", timeOf(look, shown.startedAt)),
    line("head", `${shown.version}:${shown.hash}, ${timeOf(look, shown.lastAt)}`),
    // Of each domain, worker and task there is a line in the JSON.
    ...shown.spent.flatMap(({ account, limit, measure, reserved, settled }) => {
      if (account !== "run" && limit === undefined) return []
      const held = reserved === 0 ? "" : `, ${reserved} reserved`
      return line("spent", `${account}: ${settled} ${measure}${held}${limit === undefined ? "" : ` of ${limit}`}`)
    }),
    ...(shown.paid === 0
      ? []
      : [line("paid", `${many(shown.paid, "call")}; espalier costs ${plain(shown.run)} tells of those of models`)]),
    ...section(
      "tasks",
      tables(
        look,
        ["task", "status", "worker", "orders", "note"],
        shown.tasks.map(({ note, orders, status: now, task, worker }) => [
          task,
          status(now),
          worker,
          String(orders),
          note
        ])
      )
    ),
    ...section(
      "facts",
      tables(
        look,
        ["task", "event", "dispatch", "worker", "contract", "confidence", "hash", "evidence", "built on", "approvals"],
        facts.map(factRow)
      )
    ),
    ...section(
      "missing",
      shown.missing.map(({ reason, task }) => labelled(look, "", 0, `${task}: ${plain(reason)}`))
    ),
    ...section(
      "decided",
      shown.decided.map((said) => labelled(look, "", 0, `${said.review}  ${saidText(said)}`))
    ),
    ...section("outstanding", outstandingLines(look, outstanding, shown.asked)),
    ...section(
      "next",
      next.map(({ note, subject, what }) =>
        labelled(look, "", 0, `${what} ${subject}${note === "" ? "" : `: ${plain(note)}`}`)
      )
    )
  ].join("\n")
}
