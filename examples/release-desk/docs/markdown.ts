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

/** Whether the file nests so deep that a parser would overflow or take minutes. */
const isDeep = (text: string): boolean => {
  for (const line of text.split("\n", 50_000)) {
    let quotes = 0
    let brackets = 0
    let most = 0
    for (let at = 0; at < line.length; at++) {
      const char = line[at]
      if (char === ">") quotes += 1
      else if (char === "[" || char === "*" || char === "_") most = Math.max(most, ++brackets)
      else if (char === "]") brackets = Math.max(0, brackets - 1)
    }
    const indent = line.length - line.trimStart().length
    if ((quotes > deepest && /^[>\s]{100}/.test(line)) || most > 2_000 || indent > 2_000) return true
  }
  return false
}

const textOf = (node: Nodes): string => {
  let text = ""
  const waiting: Array<Nodes> = [node]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if ("value" in next && next.type !== "html") text += next.value
    else if (next.type === "image") text += next.alt ?? ""
    if ("children" in next) waiting.push(...(next.children as Array<Nodes>).toReversed())
  }
  return text
}

const attribute = /<(a|img)\b[^<>]{0,1000}?\s(href|src|id|name)\s*=\s*["']([^"'<>]{0,1000})["']/gi
const anchor = /\s(?:id|name)\s*=\s*["']([^"'<>]{1,200})["']/gi

/**
 * Parses a file; a sentence when it is not parsed.
 *
 * @category parsing
 * @since 0.1.0
 */
export const parse = (text: string): Document | string => {
  if (text.length > longest) return `it has more than ${longest} characters`
  if (isDeep(text)) return "it is nested deeper than a person writes"
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
        for (const [, tag, name, value] of node.value.matchAll(attribute)) {
          const kind = tag!.toLowerCase() === "img" ? "image" : "link"
          if (/^(href|src)$/i.test(name!)) links.push({ kind, target: value!, line })
        }
        for (const [, id] of node.value.matchAll(anchor)) anchors.add(id!.toLowerCase())
        break
      }
      default:
    }
    if ("children" in node) waiting.push(...(node.children as Array<Nodes>).toReversed())
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
