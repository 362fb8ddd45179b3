/**
 * The README as a newcomer reads it.
 *
 * @since 0.1.0
 */
import { Effect, Predicate } from "effect"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding, oneLine } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { read, text } from "../Repository.ts"
import type { Document } from "./markdown.ts"
import { isMarkdown, parse } from "./markdown.ts"

interface Section {
  readonly name: string
  readonly heading: RegExp
  /** a file that says it as well */
  readonly file?: RegExp
}

const sections: ReadonlyArray<Section> = [
  {
    name: "install",
    heading: /\b(install\w*|setup|getting started|get started|quick ?start|requirements|download)\b|^try it/i
  },
  {
    name: "usage",
    heading: /\b(usage|use|using|example\w*|getting started|quick ?start|tutorial|guide|how to)\b|^try it/i
  },
  { name: "licence", heading: /\b(licen[cs]e|copying)\b/i, file: /^(licen[cs]e|copying|unlicense)([.-].*)?$/i }
]

const command =
  /^\s*(?:[$%]\s+)?(?:npm\s+(?:run|run-script)\s+(?!-)([\w:.-]{1,100})|npm\s+(test|start)(?![\w:.-])|(?:pnpm|yarn)\s+run\s+(?!-)([\w:.-]{1,100})|(?:pnpm|yarn)\s+(build|start|test|dev|lint|serve|format|typecheck|watch|coverage|release)(?![\w:.-]))/

/** A command for a package of a workspace, or for another folder, speaks of another manifest. */
const elsewhere =
  /\s(?:-w|-ws|--workspaces?|--filter|-F|-r|--recursive|--prefix|-C|--dir|--cwd|--if-present)(?:[\s=]|$)/

/** A command that installs says it without a heading, and so does code that shows the use. */
const installs =
  /\b(?:npm (?:i|install|add)|pnpm (?:i|install|add)|yarn add|bun add|npx|pip3? install|uv add|cargo (?:add|install)|go (?:get|install)|gem install|brew install|apt(?:-get)? install|docker pull|composer require)\b/
const notCode = new Set(["sh", "bash", "shell", "zsh", "console", "shell-session", "terminal", "text", "txt", "json"])

const shells = new Set(["sh", "bash", "shell", "zsh", "console", "shell-session", "terminal"])

/**
 * npm scripts that a README's commands name, with the line of each. A README that changes folders speaks of other
 * manifests too, so nothing is said of it.
 */
const commandsIn = (document: Document): ReadonlyArray<{ readonly script: string; readonly line: number }> => {
  const blocks = document.blocks.filter(({ language }) => language === undefined || shells.has(language.toLowerCase()))
  // `git clone` with one `cd` after it leads to the root.
  const moves = blocks.reduce((sum, { text }) => sum + text.split(/(?:^|[\s;&])cd\s/).length - 1, 0)
  if (moves > (blocks.some(({ text }) => text.includes("git clone ")) ? 1 : 0)) return []
  return blocks.flatMap(({ line, text }) =>
    text.split("\n").flatMap((row, index) =>
      row
        .split(/&&|;|\|\|/)
        .map((part) => part.slice(0, 400))
        .filter((part) => !elsewhere.test(part))
        .map((part) => command.exec(part))
        .filter((found) => found !== null)
        .map((found) => ({ script: found.slice(1).find((name) => name !== undefined)!, line: line + 1 + index }))
    )
  )
}

/** The scripts of the manifest at the root; `undefined` when there is none to compare with. */
const scriptsOf = (manifest: string | undefined): ReadonlySet<string> | undefined => {
  if (manifest === undefined) return undefined
  try {
    const parsed: unknown = JSON.parse(manifest)
    if (!Predicate.isObject(parsed)) return undefined
    const scripts = Predicate.hasProperty(parsed, "scripts") ? parsed.scripts : {}
    return new Set(Predicate.isObject(scripts) ? Object.keys(scripts) : [])
  } catch {
    return undefined
  }
}

const findReadme = (repository: Repository): string | undefined => {
  const names = repository.files
    .map(({ path }) => path)
    .filter((path) => /^(\.github\/|docs\/)?readme(\.\w+)?$/i.test(path))
  return names.toSorted(
    (a, b) => a.split("/").length - b.split("/").length || Number(isMarkdown(b)) - Number(isMarkdown(a))
  )[0]
}

/**
 * Reads the README at the root, in `.github` or in `docs`.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (repository: Repository) {
  const of = (findings: ReadonlyArray<Finding>, facts: Audit["facts"]): Audit => ({
    findings: atMost(findings, 30),
    facts
  })
  const file = findReadme(repository)
  if (file === undefined) {
    return of([finding("missing-readme", "medium", { file: "" }, "there is no README")], { readme: null })
  }
  const content = yield* read(repository, file)
  if (content.text === undefined) {
    return of([finding("unreadable-readme", "medium", { file }, `not read: ${content.detail}`)], { readme: file })
  }
  if (content.text.trim() === "") {
    return of([finding("empty-readme", "medium", { file }, "the README says nothing")], { readme: file })
  }
  if (!isMarkdown(file)) return of([], { readme: file, lines: content.text.split("\n").length })
  const document = parse(content.text)
  if (typeof document === "string") {
    return of([finding("unparsed-readme", "info", { file }, `not read: ${document}`)], { readme: file })
  }
  const findings: Array<Finding> = []
  const found: Array<string> = []
  for (const { file: said, heading, name } of sections) {
    const has =
      (name === "install" && document.blocks.some(({ text }) => installs.test(text))) ||
      (name === "usage" && document.blocks.some(({ language = "sh" }) => !notCode.has(language.toLowerCase()))) ||
      document.headings.some(({ text }) => heading.test(text.slice(0, 200))) ||
      (said !== undefined && repository.files.some(({ path }) => said.test(path))) ||
      (name === "licence" && /\blicen[cs]ed? under\b|\blicen[cs]e\b/i.test(content.text))
    if (has) found.push(name)
    else findings.push(finding(`no-${name}-section`, "low", { file }, `no heading says how it stands with: ${name}`))
  }
  const languages = new Map<string, number>()
  for (const { language, line } of document.blocks) {
    const written = language === undefined ? "none" : language.slice(0, 40).toLowerCase()
    const name =
      /^[a-z0-9][a-z0-9#+.-]*$/.test(written) && (languages.has(written) || languages.size < 40) ? written : "other"
    languages.set(name, (languages.get(name) ?? 0) + 1)
    if (language === undefined) {
      findings.push(finding("code-block-without-language", "info", { file, line }, "this code block names no language"))
    }
  }
  const scripts = scriptsOf(yield* text(repository, "package.json"))
  if (scripts !== undefined) {
    for (const { line, script } of commandsIn(document)) {
      if (scripts.has(script) || script === "install" || script === "env") continue
      // npm starts a file of this name when there is no script.
      if (script === "start" && repository.files.some(({ path }) => path === "server.js")) continue
      const message = `the command names the script ${oneLine(script)}, which package.json does not have`
      findings.push(finding("unknown-script", "medium", { file, line }, message))
    }
  }
  return of(findings, {
    readme: file,
    sections: found,
    headings: document.headings
      .filter(({ text }) => text !== "")
      .slice(0, 50)
      .map(({ text }) => oneLine(text, 100)),
    codeBlocks: Object.fromEntries(languages)
  })
})
