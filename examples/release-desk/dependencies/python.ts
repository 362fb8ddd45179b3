/**
 * Python's manifests as {@link Manifest}s: `pyproject.toml` (PEP 621, PEP 735 and Poetry), `requirements*.txt` and the
 * lists of a `setup.cfg`. A `setup.py` is a program and is not run.
 *
 * @since 0.1.0
 */
import { Result } from "effect"

import { keyLines } from "./cargo.ts"
import { baseOf, folderOf, maxDependencies, resolveFrom } from "./model.ts"
import type { Broken, DeclaredLicence, Dependency, Manifest } from "./model.ts"
import * as Text from "./text.ts"

/**
 * A name as PyPI compares names (PEP 503).
 *
 * @category names
 * @since 0.1.0
 */
export const normalised = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "-")

/**
 * Reads the text of a `pyproject.toml`.
 *
 * @category parsing
 * @since 0.1.0
 */
export const pyproject = (path: string, text: string): Result.Result<Manifest, Broken> =>
  Result.map(Text.toml(text), (data) => {
    const folder = folderOf(path)
    const lines = Text.lines(text)
    const keys = keyLines(text)
    const dependencies: Array<Dependency> = []
    const add = (dependency: Dependency | undefined) => {
      if (dependency !== undefined && dependencies.length < maxDependencies) dependencies.push(dependency)
    }
    const list = (values: unknown, section: Dependency["section"], from: number) => {
      for (const value of Text.strings(values)) {
        add(requirement(folder, value, section, lines.after(value, from) || lines.after(value)))
      }
    }
    const offset = (header: string) => Math.max(0, text.indexOf(`[${header}`))
    list(Text.at(data, "project", "dependencies"), "production", offset("project"))
    for (const [group, values] of Text.entries(Text.at(data, "project", "optional-dependencies"))) {
      const section = isDevelopmentName(group) ? "development" : "optional"
      list(values, section, offset("project.optional-dependencies"))
    }
    for (const [, values] of Text.entries(Text.at(data, "dependency-groups"))) {
      list(values, "development", offset("dependency-groups"))
    }
    list(Text.at(data, "build-system", "requires"), "build", offset("build-system"))
    const poetry = ["tool", "poetry"]
    const table = (path: ReadonlyArray<string>, section: Dependency["section"]) => {
      for (const [name, value] of Text.entries(Text.at(data, ...path))) {
        if (name.toLowerCase() !== "python")
          add(poetryDependency(folder, name, value, section, keys(path.join("."), name)))
      }
    }
    // Beside a [project] list the Poetry table only adds to what that list says.
    if (Text.at(data, "project", "dependencies") === undefined) table([...poetry, "dependencies"], "production")
    table([...poetry, "dev-dependencies"], "development")
    for (const [group] of Text.entries(Text.at(data, ...poetry, "group"))) {
      table([...poetry, "group", group, "dependencies"], "development")
    }
    const isPackage = Text.at(data, "project") !== undefined || Text.at(data, ...poetry) !== undefined
    const buildable = Text.at(data, "build-system") !== undefined && Text.at(data, ...poetry, "package-mode") !== false
    return {
      ecosystem: "python",
      path,
      folder,
      name: Text.string(Text.at(data, "project", "name")) ?? Text.string(Text.at(data, ...poetry, "name")),
      kind: !isPackage ? "workspace" : buildable ? "library" : "application",
      isPrivate: Text.strings(Text.at(data, "project", "classifiers")).some((value) => value.startsWith("Private ::")),
      dependencies,
      licence: licence(data, keys),
      members: Text.strings(Text.at(data, "tool", "uv", "workspace", "members")),
      overridden: new Set(
        Text.strings(Text.at(data, "tool", "uv", "override-dependencies")).map((value) =>
          normalised(/^[\w.-]+/.exec(value)?.[0] ?? value)
        )
      ),
      data
    } satisfies Manifest
  })

const licence = (data: unknown, keys: (table: string, key: string) => number): DeclaredLicence | undefined => {
  const declared = Text.at(data, "project", "license") ?? Text.at(data, "tool", "poetry", "license")
  const line = keys("project", "license") || keys("tool.poetry", "license")
  const expression = Text.string(declared)
  if (expression !== undefined) return { expression, line }
  const file = Text.string(Text.at(declared, "file"))
  if (file !== undefined) return { file, line }
  const text = Text.string(Text.at(declared, "text"))
  if (text !== undefined) return { expression: text.trim().slice(0, 300), line }
  const files = Text.strings(Text.at(data, "project", "license-files"))
  if (files[0] !== undefined) return { file: files[0], line: keys("project", "license-files") }
  const classifiers = [
    ...Text.strings(Text.at(data, "project", "classifiers")),
    ...Text.strings(Text.at(data, "tool", "poetry", "classifiers"))
  ]
  const classifier = classifiers.find((value) => value.startsWith("License ::"))
  return classifier === undefined ? undefined : { expression: classifier.split("::").at(-1)?.trim(), line: 0 }
}

const isDevelopmentName = (group: string): boolean =>
  /(^|[-_./])(dev|develop|development|tests?|testing|docs?|documentation|lint|linting|typing|types|ci|tox|build|bench|benchmarks?|style|release)([-_./]|$)/i.test(
    group
  )

/**
 * Reads the text of a `requirements.txt`. Lines that are options (`-r other.txt`, `--index-url …`) are passed over; the
 * files they name are manifests of their own.
 *
 * @category parsing
 * @since 0.1.0
 */
export const requirements = (path: string, text: string): Result.Result<Manifest, Broken> => {
  const folder = folderOf(path)
  const section = isDevelopmentName(path.replace(/requirements/gi, "").replace(/\.(txt|in)$/, ""))
    ? "development"
    : "production"
  const dependencies: Array<Dependency> = []
  let pending = ""
  let started = 0
  let number = 0
  for (const raw of text.split("\n")) {
    number++
    const line = raw.replace(/(^|\s)#.*$/, "").trim()
    if (pending === "") started = number
    if (line.endsWith("\\")) {
      pending += `${line.slice(0, -1)} `
      continue
    }
    const whole = `${pending}${line}`.trim()
    pending = ""
    const editable = /^(?:-e|--editable)[\s=]+(.+)$/.exec(whole)?.[1]
    if (whole === "" || (whole.startsWith("-") && editable === undefined)) continue
    const wanted = requirement(folder, editable ?? whole, section, started)
    if (wanted !== undefined && dependencies.length < maxDependencies) dependencies.push(wanted)
  }
  return Result.succeed(listed(path, dependencies, undefined, undefined))
}

/**
 * Reads the lists of a `setup.cfg`: `install_requires` and the extras. Without them it is no manifest but a
 * configuration file, and gives one without dependencies.
 *
 * @category parsing
 * @since 0.1.0
 */
export const setupCfg = (path: string, text: string): Result.Result<Manifest, Broken> => {
  const folder = folderOf(path)
  const dependencies: Array<Dependency> = []
  let section = ""
  let key = ""
  let name: string | undefined
  let declared: DeclaredLicence | undefined
  let number = 0
  for (const raw of text.split("\n")) {
    number++
    const line = raw.replace(/(^|\s)#.*$/, "").trimEnd()
    if (line.trim() === "") continue
    const header = /^\[([^\]]*)\]/.exec(line)?.[1]
    if (header !== undefined) {
      section = header
      key = ""
      continue
    }
    const equals = line.indexOf("=")
    const isKey = !/^\s/.test(line) && equals > 0
    if (isKey) key = line.slice(0, equals).trim()
    const value = (isKey ? line.slice(equals + 1) : line).trim()
    if (value === "") continue
    if (section === "metadata" && key === "name") name = value
    if (section === "metadata" && key === "license") declared = { expression: value.slice(0, 300), line: number }
    const kind =
      section === "options" && key === "install_requires"
        ? "production"
        : section === "options" && (key === "tests_require" || key === "setup_requires")
          ? "development"
          : section === "options.extras_require"
            ? isDevelopmentName(key)
              ? "development"
              : "optional"
            : undefined
    if (kind === undefined) continue
    for (const part of value.split(/;\s*(?=[\w.-]+\s*(?:[<>=!~[]|$))/)) {
      const wanted = requirement(folder, part, kind, number)
      if (wanted !== undefined && dependencies.length < maxDependencies) dependencies.push(wanted)
    }
  }
  return Result.succeed(listed(path, dependencies, name, declared))
}

const listed = (
  path: string,
  dependencies: ReadonlyArray<Dependency>,
  name: string | undefined,
  licence: DeclaredLicence | undefined
): Manifest => ({
  ecosystem: "python",
  path,
  folder: folderOf(path),
  name,
  kind: baseOf(path) === "setup.cfg" ? "library" : "application",
  isPrivate: false,
  dependencies,
  licence,
  members: [],
  overridden: new Set(),
  data: undefined
})

/**
 * One PEP 508 requirement, or `undefined` for a text that is none.
 *
 * @category parsing
 * @since 0.1.0
 */
export const requirement = (
  folder: string,
  written: string,
  section: Dependency["section"],
  line: number
): Dependency | undefined => {
  if (written.length > 2_000) return undefined
  const [text = "", ...options] = written.trim().split(/\s+(?=--)/)
  const hashed = options.some((option) => option.startsWith("--hash"))
  const named = /^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(.*)$/.exec(text)
  const base = { section, line }
  if (/^(git|hg|svn|bzr)\+|^https?:|^file:/.test(text)) {
    const egg = /[#&]egg=([\w.-]+)/.exec(text)?.[1]
    return egg === undefined
      ? undefined
      : { ...base, name: egg, alias: egg, range: "", ...located(folder, text, hashed) }
  }
  // An editable or local path asks for no name that could be compared.
  if (/^[./~]/.test(text) || named === null) return undefined
  const [, name = "", rest = ""] = named
  if (rest.startsWith("@")) {
    const target = rest.slice(1).trim().split(/\s+;/)[0] ?? ""
    return { ...base, name, alias: name, range: "", ...located(folder, target, hashed) }
  }
  const specifiers = (rest.split(";")[0] ?? "")
    .trim()
    .replace(/^\((.*)\)$/, "$1")
    .trim()
  if (specifiers !== "" && !/^[<>=!~]/.test(specifiers)) return undefined
  const loose = specifiers === "" && !hashed ? "any version" : undefined
  return { ...base, name, alias: name, range: specifiers, source: "registry", loose }
}

const located = (folder: string, url: string, hashed: boolean): Pick<Dependency, "source" | "loose"> => {
  if (/^(git|hg|svn|bzr)\+/.test(url)) {
    const reference = /@([^@#/]+)(?:#.*)?$/.exec(url.replace(/^[a-z]+\+[a-z]+:\/\/[^/]*/, ""))?.[1]
    if (reference === undefined) return { source: "git", loose: "the default branch of a repository, no commit" }
    const isCommit = /^[0-9a-f]{7,40}$/i.test(reference)
    return { source: "git", loose: isCommit ? undefined : `the reference ${reference}, which can move; no commit` }
  }
  if (url.startsWith("file:")) {
    const target = url.slice("file:".length).replace(/^\/\//, "")
    return {
      source: "path",
      loose: resolveFrom(folder, target) === undefined ? "a path outside this repository" : undefined
    }
  }
  const fixed = hashed || /[#&](sha256|sha384|sha512)=/.test(url)
  return { source: "url", loose: fixed ? undefined : "a URL whose content can change; there is no hash" }
}

const poetryDependency = (
  folder: string,
  name: string,
  value: unknown,
  section: Dependency["section"],
  line: number
): Dependency => {
  const optional = Text.at(value, "optional") === true
  const base = { name, alias: name, line, section: optional ? ("optional" as const) : section }
  const git = Text.string(Text.at(value, "git"))
  if (git !== undefined) {
    const fixed = Text.at(value, "rev") !== undefined
    const reference = Text.string(Text.at(value, "tag")) ?? Text.string(Text.at(value, "branch"))
    const loose =
      reference === undefined ? "the default branch of a repository, no rev" : `the reference ${reference}, no rev`
    return { ...base, range: "", source: "git", loose: fixed ? undefined : loose }
  }
  const path = Text.string(Text.at(value, "path"))
  if (path !== undefined) {
    const outside = resolveFrom(folder, path) === undefined
    return { ...base, range: "", source: "path", loose: outside ? "a path outside this repository" : undefined }
  }
  if (Text.at(value, "url") !== undefined) {
    return { ...base, range: "", source: "url", loose: "a URL whose content can change; the manifest has no hash" }
  }
  // Several constraints for several platforms: no single range to compare with.
  if (Array.isArray(value)) return { ...base, range: "", source: "unknown" }
  const written = Text.string(value) ?? Text.string(Text.at(value, "version"))
  if (written === undefined) return { ...base, range: "", source: "unknown" }
  const range = written.trim()
  if (range.includes("|")) return { ...base, range: "", source: "unknown" }
  const bare = /^\d+(\.\d+)*$/.test(range) ? `==${range}` : range
  return { ...base, range: bare, source: "registry", loose: range === "*" || range === "" ? "any version" : undefined }
}
