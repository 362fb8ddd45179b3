/**
 * Links that lead nowhere: relative links, images and anchors in every Markdown file.
 *
 * Links to other hosts are counted, not followed.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path } from "effect"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding, oneLine } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { read, text } from "../Repository.ts"
import type { Document, Link } from "./markdown.ts"
import { isMarkdown, parse } from "./markdown.ts"

const external = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i
const template = /\{\{|\{%|<%|\$\{/

const decode = (target: string): string => {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}

/** The path that a link names, from the root, or `undefined` when it leaves it. */
const resolve = (from: string, target: string): string | undefined => {
  const parts = target.startsWith("/") ? [] : from.split("/").slice(0, -1)
  for (const part of target.split("/")) {
    if (part === "" || part === ".") continue
    if (part !== "..") parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join("/")
}

/** Files that say that the Markdown beside or below them is a site, whose links need not be paths. */
const siteFile =
  /(^|\/)(mkdocs\.ya?ml|_config\.ya?ml|docusaurus\.config\.[cm]?[jt]s|book\.toml|astro\.config\.[cm]?[jt]s)$|(^|\/)\.vitepress\/config\.[cm]?[jt]s$|(^|\/)\.vitepress\/config\/index\.[cm]?[jt]s$/

const bare = (anchor: string): string => anchor.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

/** Where a site's link may lead: a page without its ending, a folder's index, a file that is served from `public`. */
const pagesOf = (to: string): ReadonlyArray<string> => {
  const stem = to.replace(/\.html?$/, "").replace(/\/$/, "")
  const inside = stem === "" ? "" : `${stem}/`
  return [`${stem}.md`, `${stem}.mdx`, `${inside}index.md`, `${inside}README.md`]
}

/**
 * Follows every relative link of every Markdown file.
 *
 * **Details**
 *
 * In the folder of a site (VitePress, Docusaurus, MkDocs, …) a link may name a page without its ending, and begins at the
 * site's root when it begins with a slash. What is not found there is `info`: only the site's own build can tell.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (repository: Repository) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const files = new Set(repository.files.map((file) => file.path))
  const lower = new Map(repository.files.map((file) => [file.path.toLowerCase(), file.path]))
  const folders = new Set<string>([""])
  for (const file of files) {
    for (let at = file.lastIndexOf("/"); at > 0; at = file.lastIndexOf("/", at - 1)) folders.add(file.slice(0, at))
  }
  const documents = new Map<string, Document>()
  const findings: Array<Finding> = []
  for (const file of files) {
    if (!isMarkdown(file)) continue
    const content = yield* read(repository, file)
    if (content.text === undefined) {
      findings.push(finding("unreadable-markdown", "low", { file }, `not read: ${content.detail}`))
      continue
    }
    const document = parse(content.text)
    if (typeof document === "string") {
      findings.push(finding("unparsed-markdown", "info", { file }, `its links were not followed: ${document}`))
    } else documents.set(file, document)
    yield* Effect.yieldNow
  }

  const sites = repository.files
    .filter(({ path }) => siteFile.test(path))
    .map(({ path }) => path.replace(/(?:\.vitepress\/.*|[^/]*)$/, ""))
    .toSorted((a, b) => b.length - a.length)

  /** Files that git ignores, or that the listing left out, can still be there. */
  const exists = (target: string) =>
    files.has(target) || folders.has(target)
      ? Effect.succeed(true)
      : Effect.orElseSucceed(fs.exists(path.join(repository.root, target)), () => false)

  /** Where a link leads: the path itself, or the page that a site would show for it. */
  const find = Effect.fnUntraced(function* (to: string, named: string, site: string | undefined) {
    if (yield* exists(to)) return to
    if (site === undefined) return undefined
    const starts = named.startsWith("/")
      ? [site + to, `${site}public/${to}`, `${site}docs/${to}`, `${site}src/${to}`]
      : [to]
    for (const start of starts) {
      for (const path of [start, ...pagesOf(start)]) if (files.has(path) || folders.has(path)) return path
    }
    return undefined
  })

  const lineCounts = new Map<string, number>()
  const linesOf = Effect.fnUntraced(function* (file: string) {
    const known = lineCounts.get(file)
    if (known !== undefined) return known
    const content = yield* text(repository, file)
    const lines = content === undefined ? Number.POSITIVE_INFINITY : content.replace(/\n$/, "").split("\n").length
    lineCounts.set(file, lines)
    return lines
  })

  const bareAnchors = new Map<string, ReadonlySet<string>>()
  const bareAnchorsOf = (file: string, { anchors }: Document): ReadonlySet<string> => {
    const known = bareAnchors.get(file) ?? new Set([...anchors].map(bare))
    bareAnchors.set(file, known)
    return known
  }

  const follow = Effect.fnUntraced(function* (file: string, { kind, line, target }: Link) {
    const place = { file, line }
    const shown = oneLine(target, 160)
    const hash = target.indexOf("#")
    const fragment = hash < 0 ? "" : decode(target.slice(hash + 1))
    const named = decode((hash < 0 ? target : target.slice(0, hash)).replace(/\?.*$/, ""))
    // The file system throws for a NUL in a path; no file has one in its name.
    const resolved = named === "" ? file : resolve(file, named.replaceAll("\0", "\uFFFD"))
    if (resolved === undefined) {
      return void findings.push(
        finding("outside-link", "info", place, `${shown} leads out of the repository; not followed`)
      )
    }
    const site = sites.find((folder) => file.startsWith(folder))
    const to = yield* find(resolved, named, site)
    if (to === undefined) {
      const other = lower.get(resolved.toLowerCase())
      if (site !== undefined && other === undefined) {
        const message = `${shown} is no file; the site may still make a page of it`
        return void findings.push(finding("unknown-page", "info", place, message))
      }
      const hint = other === undefined ? "" : `; there is ${other}, spelled otherwise`
      const rule = kind === "image" ? "dead-image" : "dead-link"
      return void findings.push(finding(rule, "medium", place, `${shown} leads nowhere${hint}`))
    }
    if (fragment === "" || fragment === "top" || fragment.startsWith(":~:")) return
    const lines = /^L(\d{1,9})(?:C\d+)?(?:-L?(\d{1,9}))?/.exec(fragment)
    if (lines !== null && (!isMarkdown(to) || target.includes("?plain=1"))) {
      const last = Number(lines[2] ?? lines[1])
      const count = files.has(to) ? yield* linesOf(to) : Number.POSITIVE_INFINITY
      if (last > count) {
        findings.push(finding("dead-anchor", "medium", place, `${shown} names line ${last}, but ${to} has ${count}`))
      }
      return
    }
    const document = documents.get(to)
    if (document === undefined || document.anchors.has(fragment.toLowerCase())) return
    if (document.anchors.has(`user-content-${fragment.toLowerCase()}`)) return
    // Sites make their anchors in other ways than GitHub; letters and digits are what they have in common.
    if (site !== undefined && bareAnchorsOf(to, document).has(bare(fragment))) return
    findings.push(
      finding("dead-anchor", "medium", place, `${shown} names no heading of ${to === file ? "this file" : to}`)
    )
  })

  let relative = 0
  let outside = 0
  for (const [file, document] of documents) {
    for (const link of document.links) {
      if (link.target === "" || template.test(link.target)) continue
      if (external.test(link.target)) {
        outside += 1
        continue
      }
      relative += 1
      yield* follow(file, link)
    }
  }
  const result: Audit = {
    findings: atMost(findings, 50),
    facts: { documents: documents.size, relativeLinks: relative, externalLinksNotFollowed: outside }
  }
  return result
})
