/**
 * Trees, drawn with lines.
 *
 * @since 0.1.0
 */
import { plain } from "../run/internal/text.ts"
import { type Look, painted, styleOf } from "./look.ts"
import { padded, widthOf, wrapped } from "./width.ts"

/** What stands at a branch: its name, how it is, more about it, and what is below it. */
export interface Branch {
  readonly name: string
  readonly status?: string | undefined
  readonly more?: string | undefined
  readonly below?: ReadonlyArray<Branch> | undefined
}

/** Names and statuses of branches beside each other stand in line up to so many columns. */
const aligned = 32

const widest = (texts: ReadonlyArray<string>): number =>
  texts.reduce((most, text) => (widthOf(text) > aligned ? most : Math.max(most, widthOf(text))), 0)

/** The text of a branch in lines, of which the first one has the status in its style. */
const textIn = (
  look: Look,
  { more = "", name, status = "" }: Branch,
  room: number,
  names: number,
  statuses: number
): ReadonlyArray<string> => {
  const called = plain(name)
  const now = plain(status)
  const head = status === "" && more === "" ? called : padded(called, names)
  const whole = [head, ...(statuses === 0 ? [] : [padded(now, statuses)]), plain(more)]
  const text = whole.join("  ").trimEnd()
  const lines = look.columns === undefined ? [text] : wrapped(text, room)
  const start = `${head}  `
  return lines.map((line, at) =>
    at === 0 && now !== "" && line.startsWith(`${start}${now}`)
      ? start + painted(look, styleOf(now), now) + line.slice(start.length + now.length)
      : at === 0
        ? line
        : `  ${line}`
  )
}

/** The least room for the text of a branch, however deep it is. */
const least = 24

const drawn = (look: Look, branches: ReadonlyArray<Branch>, before: string): ReadonlyArray<string> => {
  const names = widest(branches.map(({ name }) => plain(name)))
  const statuses = widest(branches.map(({ status = "" }) => plain(status)))
  const room = Math.max(least, (look.columns ?? 0) - widthOf(before) - 5)
  return branches.flatMap((branch, index) => {
    const last = index === branches.length - 1
    const under = `${before}${last ? "   " : "│  "}`
    const { below = [] } = branch
    return [
      ...textIn(look, branch, room, names, statuses).map((line, at) =>
        at === 0
          ? `${before}${last ? "└─ " : "├─ "}${line}`
          : `${under}${below.length > 0 ? "│ " : "  "}${line.trimStart()}`
      ),
      ...drawn(look, below, under)
    ]
  })
}

/** A tree below its root. */
export const treeIn = (look: Look, root: Branch): string =>
  [
    ...textIn(look, root, look.columns ?? 0, 0, widthOf(plain(root.status ?? ""))),
    ...drawn(look, root.below ?? [], "")
  ].join("\n")
