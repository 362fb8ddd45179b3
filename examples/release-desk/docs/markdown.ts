/**
 * A Markdown file as the audits need it: headings, code blocks, links, anchors.
 *
 * **Gotchas**
 *
 * A parser of Markdown recurses over nesting. A file that nests deeper than people do is not parsed, and says so.
 *
 * @since 0.1.0
 */
import GithubSlugger from "github-slugger"
import type { Nodes } from "mdast"
import { fromMarkdown } from "mdast-util-from-markdown"
import { gfmFromMarkdown } from "mdast-util-gfm"
import { gfm } from "micromark-extension-gfm"

/**
 * A link or an image, as it is written.
 *
 * @category models
 * @since 0.1.0
 */
export interface Link {
  readonly kind: "link" | "image"
  readonly target: string
  readonly line: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Heading {
  readonly depth: number
  readonly text: string
  readonly line: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface CodeBlock {
  readonly language: string | undefined
  readonly text: string
  readonly line: number
}

/**
 * What a file holds.
 *
 * **Details**
 *
 * `anchors`: every fragment that a link into the file may name, lower case.
 *
 * @category models
 * @since 0.1.0
 */
export interface Document {
  readonly headings: ReadonlyArray<Heading>
  readonly blocks: ReadonlyArray<CodeBlock>
  readonly links: ReadonlyArray<Link>
  readonly anchors: ReadonlySet<string>
}

const longest = 1_000_000
const deepest = 100
/** About two seconds of parsing. */
const budget = 1_000_000_000

const container = /^(?:[ \t]{0,12}(?:>|[-+*]|\d{1,9}[.)])){100}/

/**
 * Why a file is not given to the parser, which would overflow on it or take minutes; `undefined` when it is.
 *
 * What takes the parser quadratic time is counted for each block, that is, up to the next blank line: every opening mark
 * may be matched against the rest of the block, every cell of a table and every underlined line against the others. A line that continues nested
 * quotes or lists costs as much as they are deep.
 */
const refusal = (text: string): string | undefined => {
  if (text.length > longest) return `it has more than ${longest} characters`
  let cost = 0
  let length = 0
  let marks = 0
  let ticks = 0
  let cells = 0
  let lines = 0
  let nested = 0
  let underlines = 0
  let footnotes = 0
  let headings = 0
  const endBlock = (): void => {
    cost += marks * length + 10 * ticks * length + cells * cells + 10_000 * lines * nested
    cost += 4 * underlines * lines
    length = marks = ticks = cells = lines = nested = underlines = 0
  }
  for (const line of text.split(/\r\n|\r|\n/)) {
    const start = /[^\s>]/.exec(line)?.index ?? -1
    if (start < 0) endBlock()
    if (
      start > 3 * deepest ||
      line.lastIndexOf(">", start < 0 ? line.length : start) > deepest ||
      container.test(line)
    ) {
      return "it is nested deeper than a person writes"
    }
    if (line.startsWith("[^")) footnotes += 1
    if (line.startsWith("#")) headings += 1
    if (/^ {0,3}(?:=+|-+)[ \t]*$/.test(line)) underlines += 1
    if (start > 8) nested = Math.max(nested, start / 4)
    lines += 1
    length += line.length + 1
    for (let at = 0; at < line.length; at++) {
      switch (line[at]) {
        case "`":
        case "~":
          if (line[at - 1] !== line[at]) ticks += 1
          break
        case "[":
        case "*":
        case "_":
        case "<":
          marks += 1
          break
        case "|":
          cells += 1
          break
        default:
      }
    }
  }
  endBlock()
  cost += footnotes * footnotes + headings * headings
  return cost > budget ? "it would take a parser too long: too many marks without a blank line between" : undefined
}

/** One by one: a node may have more children than a call takes arguments. */
const pushChildren = (waiting: Array<Nodes>, node: Nodes): void => {
  if (!("children" in node)) return
  for (let at = node.children.length - 1; at >= 0; at--) waiting.push(node.children[at]!)
}

const textOf = (node: Nodes): string => {
  let text = ""
  const waiting: Array<Nodes> = [node]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if ("value" in next && next.type !== "html") text += next.value
    else if (next.type === "image") text += next.alt ?? ""
    pushChildren(waiting, next)
  }
  return text
}

const tag = /<([a-z][a-z0-9]{0,20})((?:\s[^<>]{0,2000})?)>/gi
const attribute = /(?:^|\s)(href|src|id|name)\s{0,9}=\s{0,9}(?:"([^"]{0,1000})"|'([^']{0,1000})')/gi
const rawHeading = /<h([1-6])(?:\s[^<>]{0,500})?>([^]{0,500}?)<\/h\1>/gi

const withoutComments = (html: string): string => {
  let rest = ""
  let at = 0
  for (let open = html.indexOf("<!--"); open >= 0; open = html.indexOf("<!--", at)) {
    const close = html.indexOf("-->", open + 4)
    rest += html.slice(at, open)
    if (close < 0) return rest
    at = close + 3
  }
  return rest + html.slice(at)
}

/**
 * Parses a file; a sentence when it is not parsed.
 *
 * @category parsing
 * @since 0.1.0
 */
export const parse = (text: string): Document | string => {
  const refused = refusal(text)
  if (refused !== undefined) return refused
  let root: Nodes
  try {
    root = fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
  } catch (error) {
    return String(error).slice(0, 200)
  }
  const headings: Array<Heading> = []
  const blocks: Array<CodeBlock> = []
  const links: Array<Link> = []
  const anchors = new Set<string>()
  const slugger = new GithubSlugger()
  const waiting: Array<Nodes> = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const line = node.position?.start.line ?? 0
    switch (node.type) {
      case "heading": {
        // Some sites let a heading name its own anchor: `## Title {#name}`.
        const written = textOf(node)
        const own = /^(.*\S)\s*\{#([\w-]{1,200})\}\s*$/.exec(written.slice(0, 1_000))
        const said = own?.[1] ?? written
        headings.push({ depth: node.depth, text: said, line })
        anchors.add(slugger.slug(said).toLowerCase())
        if (own !== null) anchors.add(own[2]!.toLowerCase())
        break
      }
      case "code": {
        blocks.push({ language: node.lang ?? undefined, text: node.value, line })
        break
      }
      case "link":
      case "definition": {
        links.push({ kind: "link", target: node.url, line })
        break
      }
      case "image": {
        links.push({ kind: "image", target: node.url, line })
        break
      }
      case "footnoteDefinition": {
        anchors.add(`user-content-fn-${node.identifier}`.toLowerCase())
        break
      }
      case "html": {
        const html = withoutComments(node.value)
        for (const [, element = "", attributes = ""] of html.matchAll(tag)) {
          const name = element.toLowerCase()
          for (const [, key = "", double, single] of attributes.matchAll(attribute)) {
            const value = (double ?? single ?? "").replaceAll("&amp;", "&")
            if (/^(id|name)$/i.test(key)) anchors.add(value.toLowerCase())
            else if (name === "img" && key.toLowerCase() === "src") links.push({ kind: "image", target: value, line })
            else if (name === "a" && key.toLowerCase() === "href") links.push({ kind: "link", target: value, line })
          }
        }
        for (const [, depth, inner = ""] of html.matchAll(rawHeading)) {
          const said = inner.replace(/<[^<>]{0,500}>/g, "").trim()
          headings.push({ depth: Number(depth), text: said, line })
          anchors.add(slugger.slug(said).toLowerCase())
        }
        break
      }
      default:
    }
    pushChildren(waiting, node)
  }
  return { headings, blocks, links, anchors }
}

/**
 * Whether a file is Markdown, by its name.
 *
 * @category queries
 * @since 0.1.0
 */
export const isMarkdown = (path: string): boolean => /\.(md|markdown|mdown)$/i.test(path)
