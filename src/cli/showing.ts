import type { Read } from "../run/internal/reading.ts"
/**
 * A run in words: what it is, its tasks, what it knows of itself.
 *
 * @since 0.1.0
 */
import { instantOf, plain } from "../run/internal/text.ts"
import type { Outcome } from "../run/Outcome.ts"
import type { Fact, Outstanding, Standing } from "../run/Standing.ts"
import { heading, table } from "./printing.ts"

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
  readonly tasks: ReadonlyArray<{
    readonly task: string
    readonly status: string
    readonly worker: string
    readonly orders: number
    readonly note: string
  }>
  readonly missing: Outcome["missing"]
  readonly standing: Pick<Standing, "facts" | "outstanding" | "next">
}

/** What is told of a run, from what its events fold to. */
export const shownOf = ({ state }: Read, outcome: Outcome, standing: Standing, hash: string): Shown => ({
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
  hash,
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
  tasks: Array.from(state.tasks.values(), ({ dispatches, id, reason, status }) => ({
    task: id,
    status,
    worker: outcome.results[id]?.worker ?? "",
    orders: dispatches,
    note: outcome.results[id]?.note ?? reason
  })),
  missing: outcome.missing,
  standing: { facts: standing.facts, outstanding: standing.outstanding, next: standing.next }
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

const outstandingLines = ({
  choices,
  deadlines,
  effects,
  orders,
  reviews,
  timers
}: Outstanding): ReadonlyArray<string> => [
  ...reviews.map(({ allowed, at, kind, note, review, task }) => {
    const of = task === undefined ? "" : ` of ${task}`
    return `review   ${review}  ${kind}${of}, since ${instantOf(at)}: ${plain(note)} (${allowed.join(", ")})`
  }),
  ...choices.map(({ consult, purpose, subject }) => `choice   ${consult}  ${purpose} for ${subject}`),
  ...orders.map(({ at, dispatch, worker }) => `order    ${dispatch}  at ${worker}, since ${instantOf(at)}`),
  ...timers.map(({ due, purpose, timer }) => `timer    ${timer}  ${purpose}, due ${instantOf(due)}`),
  ...deadlines.map(({ at, subject }) => `deadline ${subject}  ${instantOf(at)}`),
  ...effects.map(({ effect, name, status, task }) => `effect   ${effect}  ${name} of ${task}, ${status}`)
]

const section = (name: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : ["", heading(name), ...lines]

/** A run as text. */
export const textOf = (shown: Shown): string => {
  const { facts, next, outstanding } = shown.standing
  const why = shown.stopReason === undefined ? "" : `, ${shown.stopReason}`
  return [
    `run      ${shown.run}`,
    `status   ${shown.status}${why}: ${plain(shown.note)}`,
    `desk     ${shown.desk} ${shown.deskVersion}, tier ${shown.tier}`,
    `started  ${instantOf(shown.startedAt)}`,
    `head     ${shown.version}:${shown.hash}, ${instantOf(shown.lastAt)}`,
    ...shown.spent.map(({ account, limit, measure, reserved, settled }) => {
      const held = reserved === 0 ? "" : `, ${reserved} reserved`
      return `spent    ${account}: ${settled} ${measure}${held}${limit === undefined ? "" : ` of ${limit}`}`
    }),
    ...section(
      "tasks",
      shown.tasks.length === 0
        ? []
        : [
            table(
              ["task", "status", "worker", "orders", "note"],
              shown.tasks.map(({ note, orders, status, task, worker }) => [
                task,
                status,
                worker,
                String(orders),
                plain(note)
              ])
            )
          ]
    ),
    ...section(
      "facts",
      facts.length === 0
        ? []
        : [
            table(
              [
                "task",
                "event",
                "dispatch",
                "worker",
                "contract",
                "confidence",
                "hash",
                "evidence",
                "built on",
                "approvals"
              ],
              facts.map(factRow)
            )
          ]
    ),
    ...section(
      "missing",
      shown.missing.map(({ reason, task }) => `${task}: ${plain(reason)}`)
    ),
    ...section("outstanding", outstandingLines(outstanding)),
    ...section(
      "next",
      next.map(({ note, subject, what }) => `${what} ${subject}${note === "" ? "" : `: ${plain(note)}`}`)
    )
  ].join("\n")
}
