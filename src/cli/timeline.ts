/**
 * A delegation as lines over time: what was done under what, a bar for when, how long it took, and what it has used.
 *
 * **Details**
 *
 * - The bars leave out the time between segments, in which nobody carried the run out.
 * - Where there is no room for bars there are none; where there is none for columns either, each node is told in a sentence.
 *
 * @since 0.1.0
 */
import { shownAmount } from "../agent/internal/meterRows.ts"
import type { Node } from "../observe/Delegation.ts"
import { lasted, plain } from "../run/internal/text.ts"
import { type Look, painted, type Style, styleOf } from "./look.ts"
import { padded, widthOf, wrapped } from "./width.ts"

/** The time in which a run was carried out, without what lies between. */
export interface Axis {
  /** All of it, in milliseconds. */
  readonly worked: number
  /** What lies between. */
  readonly idle: number
  /** The last time that the tree knows of. */
  readonly until: number
  /** How much of it was over at a time. */
  readonly at: (time: number) => number
}

const lastOf = (node: Node): number =>
  node.children.reduce((last, child) => Math.max(last, lastOf(child)), node.endedAt ?? node.startedAt)

/** The time of a tree. */
export const axisOf = (tree: Node): Axis => {
  const until = lastOf(tree)
  const spans: Array<{ readonly from: number; readonly to: number; readonly before: number }> = []
  let worked = 0
  let idle = 0
  for (const { endedAt = until, kind, startedAt } of tree.children) {
    if (kind !== "segment") continue
    const from = Math.max(startedAt, spans.at(-1)?.to ?? startedAt)
    const to = Math.max(from, endedAt)
    idle += from - (spans.at(-1)?.to ?? from)
    spans.push({ from, to, before: worked })
    worked += to - from
  }
  const at = (time: number): number => {
    let low = 0
    let high = spans.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((spans[middle]?.from ?? Infinity) <= time) low = middle + 1
      else high = middle
    }
    const span = spans[low - 1]
    return span === undefined ? 0 : span.before + Math.min(time, span.to) - span.from
  }
  return { worked, idle, until, at }
}

/** What is called a node. */
export const labelOf = ({ attempt, kind, name, review, segment, task }: Node): string => {
  const of = task === undefined ? "" : ` (${task})`
  switch (kind) {
    case "segment": {
      const read = segment === undefined || segment.replayed === 0 ? "" : `, ${segment.replayed} replayed`
      return `segment ${name}${segment === undefined ? "" : ` (${segment.cause}${read})`}`
    }
    case "agent":
      return `agent ${name}${attempt === undefined ? "" : ` #${attempt}`}`
    case "review": {
      const said = review?.decision ?? review?.end
      return `review ${name}${of}${said === undefined ? "" : `: ${said}${review?.by === undefined ? "" : ` by ${review.by}`}`}`
    }
    case "note":
      return `${name}${of}`
    default:
      return `${kind} ${name}${of}`
  }
}

/** How a node stands. */
const standOf = ({ endedAt, kind, lost, outcome }: Node): string =>
  lost === true ? "lost" : (outcome ?? (kind === "note" ? "" : endedAt === undefined ? "open" : "ended"))

/** What calls have cost; `?` stands for those without a price. */
const costOf = ({ totals }: Node): string => {
  if (totals === undefined || totals.calls === 0) return ""
  const { costs, unpriced } = totals
  const known = costs.map(({ cost, currency }) => `${shownAmount(cost)} ${currency}`)
  return [...known, ...(unpriced === 0 ? [] : ["?"])].join(" + ")
}

const tookOf = ({ endedAt, kind, startedAt }: Node): string =>
  endedAt === undefined || (kind === "note" && endedAt === startedAt) ? "" : lasted(endedAt - startedAt)

const heads = ["took", "tries", "tokens", "cost"] as const

/** What is told of a node under the heads. One attempt goes without saying. */
const factsOf = (node: Node): ReadonlyArray<string> => {
  const { attempts, totals } = node
  const tokens = totals === undefined || totals.calls === 0 ? "" : String(totals.tokens.total)
  return [tookOf(node), attempts === undefined || attempts === 1 ? "" : String(attempts), tokens, plain(costOf(node))]
}

/** A line before it is laid out. `before`, `under`: the lines of the tree in its first line, and in those below it. */
interface Line {
  readonly node: Node
  readonly before: string
  readonly under: string
  readonly label: string
  readonly stand: string
  readonly facts: ReadonlyArray<string>
}

/** A tree in lines, above before below. `hidden`: how many nodes below one are not shown. */
const linesOf = (tree: Node, hidden: ReadonlyMap<Node, number>): ReadonlyArray<Line> => {
  const found: Array<Line> = []
  const visit = (node: Node, before: string, under: string): void => {
    const more = hidden.get(node)
    const label = `${plain(labelOf(node))}${more === undefined ? "" : ` +${more}`}`
    found.push({ node, before, under, label, stand: standOf(node), facts: factsOf(node) })
    node.children.forEach((child, index) => {
      const last = index === node.children.length - 1
      visit(child, `${under}${last ? "└ " : "├ "}`, `${under}${last ? "  " : "│ "}`)
    })
  }
  visit(tree, "", "")
  return found
}

/** What is waited for, and not worked. */
const isWait = ({ kind }: Node): boolean => kind === "review" || kind === "note"

const styleOfBar = (node: Node): Style | undefined => {
  if (node.error !== undefined) return node.error.recovered === true ? "yellow" : "red"
  return isWait(node) ? "dim" : undefined
}

/** When a node was, in a bar of so many columns. Whatever has been takes one at least. */
export const barOf = (look: Look, axis: Axis, node: Node, width: number): string => {
  const { endedAt = axis.until, startedAt } = node
  const scale = axis.worked === 0 ? 0 : width / axis.worked
  const from = Math.min(width - 1, Math.floor(axis.at(startedAt) * scale))
  const to = Math.min(width, Math.max(from + 1, Math.ceil(axis.at(endedAt) * scale)))
  const bar = (isWait(node) ? "░" : "█").repeat(to - from)
  return " ".repeat(from) + painted(look, styleOfBar(node), bar) + " ".repeat(width - to)
}

const most = (texts: ReadonlyArray<string>): number =>
  texts.reduce((widest, text) => Math.max(widest, widthOf(text)), 0)

/** The columns of a bar: at least, at most, and in a pipe. */
const bars = { least: 6, most: 60, piped: 32 }

/** A label that is broken has at least so many columns. */
const narrowest = 16

/** The columns that a tree needs and has. `bar`: nothing where there is no room for bars. */
interface Layout {
  readonly labels: number
  readonly stands: number
  readonly facts: ReadonlyArray<number>
  readonly bar: number
}

/** How lines are laid out in a place, or nothing where they have no room beside each other. */
const layoutOf = (look: Look, lines: ReadonlyArray<Line>): Layout | undefined => {
  const facts = heads.map((head, column) => {
    const widest = most(lines.map((line) => line.facts[column] ?? ""))
    return widest === 0 ? 0 : Math.max(widest, head.length)
  })
  const stands = most(lines.map(({ stand }) => stand))
  const natural = most(lines.map(({ before, label }) => before + label))
  if (look.columns === undefined) return { labels: natural, stands, facts, bar: bars.piped }
  const beside = [stands, ...facts].reduce((sum, width) => sum + (width === 0 ? 0 : width + 2), 0)
  const room = look.columns - beside
  const deepest = most(lines.map(({ under }) => under)) + narrowest
  const wanted = Math.max(deepest, Math.min(natural, Math.floor(look.columns / 2)))
  const bar = room - wanted - 2
  if (bar >= bars.least) {
    const width = Math.min(bars.most, Math.max(bars.least, room - natural - 2))
    return { labels: Math.min(natural, room - width - 2), stands, facts, bar: width }
  }
  return room >= Math.min(natural, deepest) ? { labels: Math.min(natural, room), stands, facts, bar: 0 } : undefined
}

const joined = (cells: ReadonlyArray<string>): string => cells.join("  ").trimEnd()

/** The heads of the columns; above the bars stands how much time they are. */
const headLine = (look: Look, axis: Axis, { bar, facts, labels, stands }: Layout): string => {
  const long = lasted(axis.worked)
  const scale = `0${long.padStart(Math.max(0, bar - 1))}`
  const cells = [
    " ".repeat(labels),
    ...(stands === 0 ? [] : [" ".repeat(stands)]),
    ...(bar === 0 ? [] : [scale]),
    ...facts.flatMap((width, column) => (width === 0 ? [] : [(heads[column] ?? "").padStart(width)]))
  ]
  return painted(look, "bold", joined(cells))
}

const asColumns = (
  look: Look,
  axis: Axis,
  line: Line,
  { bar, facts, labels, stands }: Layout
): ReadonlyArray<string> => {
  const { before, label, node, stand, under } = line
  const [first = "", ...more] =
    look.columns === undefined ? [label] : wrapped(label, Math.max(1, labels - widthOf(before)))
  const cells = [
    padded(before + first, labels),
    ...(stands === 0 ? [] : [painted(look, styleOf(stand), stand) + " ".repeat(stands - widthOf(stand))]),
    ...(bar === 0 ? [] : [barOf(look, axis, node, bar)]),
    ...facts.flatMap((width, column) =>
      width === 0 ? [] : [" ".repeat(width - widthOf(line.facts[column] ?? "")) + (line.facts[column] ?? "")]
    )
  ]
  const below = node.children.length > 0 ? "│ " : "  "
  return [joined(cells), ...more.map((text) => `${under}${below}${text}`)]
}

/** A node as a sentence, in as many columns as there are. `cut`: of the lines of the tree, so many columns are not drawn. */
const asSentence = (
  look: Look,
  cut: number,
  { before, facts, label, node, stand, under }: Line
): ReadonlyArray<string> => {
  const columns = look.columns ?? Infinity
  const guide = `${under}${node.children.length > 0 ? "│ " : "  "}`
  const said = facts.flatMap((fact, column) => {
    const head = heads[column] ?? ""
    return fact === "" ? [] : [head === "took" || head === "cost" ? fact : `${fact} ${head}`]
  })
  const text = [label, ...(stand === "" ? [] : [stand]), ...said].join(", ")
  const [first = "", ...more] = wrapped(text, Math.max(1, columns - Math.max(0, guide.length - cut)))
  return [before.slice(cut) + first, ...more.map((line) => guide.slice(cut) + line)]
}

/** A tree in a place, over its time. */
export const timelineIn = (look: Look, axis: Axis, tree: Node, hidden: ReadonlyMap<Node, number>): string => {
  const lines = linesOf(tree, hidden)
  const layout = layoutOf(look, lines)
  // Of a deep tree the lines alone would leave no room.
  const cut = Math.max(0, most(lines.map(({ under }) => under)) + 2 - Math.floor((look.columns ?? Infinity) / 2))
  return layout === undefined
    ? lines.flatMap((line) => asSentence(look, cut + (cut % 2), line)).join("\n")
    : [headLine(look, axis, layout), ...lines.flatMap((line) => asColumns(look, axis, line, layout))].join("\n")
}
