/**
 * What people are asked, as a table; and one question in full, in words.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import { instantOf, plain } from "../run/internal/text.ts"
import * as Review from "../run/Review.ts"
import type { Decision } from "../run/RunEvent.ts"
import { Damaged } from "./failures.ts"
import { type Look, painted, timeOf } from "./look.ts"
import { here, print, printJson, table, warn } from "./printing.ts"
import { demand } from "./reading.ts"
import { commandText, type Named } from "./running.ts"
import { labelled, tableIn } from "./table.ts"

/** How far a question is. */
const stateOf = ({ claimed, held, quorum, stage, votes, word }: Review.Item): string =>
  [
    held ? "overdue" : stage,
    ...(quorum > 1 ? [`${votes.length} of ${quorum} votes`] : []),
    ...(claimed === undefined ? [] : [`claimed by ${claimed.by}`]),
    ...(word ? ["decided, not taken in yet"] : [])
  ].join(", ")

/** Lists what people are asked. */
export const reviews = Effect.fnUntraced(function* (filter: Review.Filter, named: Named, json: boolean) {
  if (filter.run !== undefined) yield* demand(filter.run)
  const page = yield* Review.queue(filter)
  for (const { reason } of page.unread) yield* warn(plain(reason))
  if (json) yield* printJson(page)
  else if (page.items.length === 0) yield* print("nobody is asked anything")
  else {
    yield* print(
      table(
        ["review", "kind", "risk", "where", "asked", "until", "state", "note"],
        page.items.map((item) => [
          item.review,
          item.kind,
          item.risk,
          item.path.join(" / "),
          item.asked.join(", "),
          item.final === undefined ? "it is decided" : `${timeOf(here(), item.final.at)} ${item.final.action}`,
          item.held ? { text: stateOf(item), style: "red" } : stateOf(item),
          item.note
        ])
      )
    )
    if (page.next !== undefined) {
      const { desk, kind, limit, mine, run } = filter
      const words = [
        ...(run === undefined ? [] : [run]),
        ...(typeof mine === "string" ? ["--mine", mine] : []),
        ...(kind === undefined ? [] : ["--kind", kind]),
        ...(desk === undefined ? [] : ["--desk", desk]),
        ...(limit === undefined ? [] : ["--limit", String(limit)])
      ]
      yield* print(
        `${page.items.length} of ${page.total}; more with: ${commandText(["reviews", ...words, "--after", page.next], named)}`
      )
    }
  }
  if (page.unread.length > 0) return yield* new Damaged()
})

/** Beside what stands the name of what it is. */
const labels = 11

/** What a decision is typed as. */
const typed: { readonly [D in Decision]: (review: string) => ReadonlyArray<string> } = {
  approve: (review) => ["approve", review],
  reject: (review) => ["reject", review, "--why", "TEXT"],
  answer: (review) => ["answer", review, "VALUE"],
  retry: (review) => ["retry", review, "--why", "TEXT"],
  "accept-partial": (review) => ["accept", review],
  edit: (review) => ["edit", review, "--set", "/POINTER=JSON"]
}

/** A value in full. Nothing in it can look like a line of this command: lines of texts stay inside of their quotes. */
const valueLines = (value: Schema.Json): ReadonlyArray<string> =>
  JSON.stringify(value, null, 2)
    .split("\n")
    .map((line) => `    ${line}`)

const amountText = (amount: object): string => {
  const parts = Object.entries(amount).map(([measure, value]) => `${measure} ${value}`)
  return parts.length === 0 ? "nothing" : parts.join(", ")
}

const closedText = ({ action, as, at, by, decision, instead, note, via }: Review.Closed): string => {
  const who = by === undefined ? "" : ` by ${by}${via === undefined ? "" : ` for ${via}`}`
  const what = decision ?? action ?? instead
  return `${as}${who} at ${instantOf(at)}${what === undefined ? "" : ` (${what})`}: ${note}`
}

/** A question as text. */
export const textOf = (look: Look, whole: Review.Whole, named: Named): string => {
  const line = (label: string, text: string | undefined) =>
    text === undefined ? [] : [labelled(look, label, labels, plain(text))]
  const section = (name: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
    lines.length === 0 ? [] : ["", painted(look, "bold", name), ...lines]
  const time = (millis: number) => timeOf(look, millis)
  const { budget, claimed, closed, digest, next, rationale, requester, silence, spent, terms } = whole
  const isOpen = closed === undefined
  const pair = (name: string, value: Schema.Json | undefined): ReadonlyArray<string> => {
    if (value === undefined) return []
    const [first = "", ...rest] = valueLines(value)
    return rest.length === 0 ? [`  ${plain(name)}: ${first.trim()}`] : [`  ${plain(name)}:`, first, ...rest]
  }
  return [
    ...line("review", `${whole.review}, revision ${whole.revision}${digest === undefined ? "" : `, digest ${digest}`}`),
    labelled(look, "status", labels, isOpen ? `open: ${stateOf(whole)}` : plain(closedText(closed))),
    ...line("asks", `${whole.kind}, reason ${whole.reason}: ${whole.note}`),
    ...line("where", whole.path.join(" / ")),
    ...line(
      "risk",
      `${whole.risk}${whole.irreversible ? ", cannot be undone" : ""}${whole.rule === undefined ? "" : `, ${whole.rule}`}`
    ),
    ...line("requester", requester),
    ...line("asked", `${whole.asked.join(", ")}, since ${time(whole.openedAt)}`),
    ...line("separation", terms?.separation),
    ...line("in place of", whole.supersedes),
    ...(isOpen && next !== undefined && next.what !== "expire" ? line("next", `${next.what} ${time(next.at)}`) : []),
    ...(isOpen && silence !== undefined
      ? line("silence", `${silence.at === undefined ? "" : `${time(silence.at)}: `}${silence.does}`)
      : []),
    ...line("claimed", claimed === undefined ? undefined : `by ${claimed.by} until ${time(claimed.until)}`),
    ...whole.votes.flatMap(({ at, by, decision, via }) =>
      line("vote", `${decision} by ${by}${via === undefined ? "" : ` for ${via}`}, ${time(at)}`)
    ),
    ...whole.words.flatMap(({ at, by, decision, edits, note }) => {
      const what = edits === undefined ? "" : ` to ${JSON.stringify(edits)}`
      return line("left", `${decision}${what} by ${by}, ${time(at)}, not taken in yet: ${note}`)
    }),
    ...line(
      "spent",
      `${amountText(spent.run)} by the run${spent.task === undefined ? "" : `, ${amountText(spent.task)} by the task`}`
    ),
    ...(Object.keys(budget).length === 0 ? [] : line("left over", amountText(budget))),
    ...section("changed, and to be approved so", [
      ...pair("by", whole.changed?.by),
      ...pair("edits", whole.changed?.edits),
      ...pair("arguments", whole.changed?.arguments)
    ]),
    ...section(
      "facts",
      Object.entries(whole.facts).flatMap(([name, value]) => pair(name, value))
    ),
    ...section("said by whoever asks, not to be trusted", rationale === undefined ? [] : valueLines(rationale)),
    ...(whole.editable.length === 0 ? [] : section("may be changed", [`  ${plain(whole.editable.join(", "))}`])),
    ...(closed === undefined
      ? []
      : section("decided", [
          ...pair("answer", closed.answer),
          ...pair("edits", closed.edits),
          ...pair("raise", closed.raise === undefined ? undefined : { ...closed.raise })
        ])),
    ...(isOpen
      ? section("decisions", [
          tableIn(
            look,
            ["decision", "what it does", "typed as"],
            whole.decisions.map(({ decision, does }) => [
              decision,
              does,
              commandText(typed[decision](whole.review), named)
            ])
          )
        ])
      : []),
    ...section(
      "decided before",
      whole.previous.map(({ at, by, decision, note, review, task }) =>
        labelled(look, "", 0, plain(`${review}  ${decision} by ${by}, ${time(at)}, of ${task ?? "the run"}: ${note}`))
      )
    ),
    ...section(
      "did not count",
      whole.refusals.map(({ at, because, by, decision }) =>
        labelled(look, "", 0, plain(`${decision} by ${by}, ${time(at)}: ${because}`))
      )
    )
  ].join("\n")
}

/** Shows one question in full. */
export const review = Effect.fnUntraced(function* (id: string, named: Named, json: boolean) {
  const whole = yield* Review.get(id)
  yield* json ? printJson(whole) : print(textOf(here(), whole, named))
})
