/**
 * The use of Python packages: a best effort, since a package may be imported under any name.
 *
 * **Details**
 *
 * - The manifests of one folder (and of its `requirements` folder) make one project; a file belongs to the nearest one
 *   above it and may import what the projects above declare too.
 * - An import counts as optional inside `try`, and as types inside `if`; modules that the repository has itself are its
 *   own. Undeclared imports are only reported where all of a project's dependencies could be read.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { FileSystem, Path } from "effect"

import { finding } from "../Finding.ts"
import type { Finding } from "../Finding.ts"
import * as Repo from "../Repository.ts"
import type { Repository } from "../Repository.ts"
import type { Manifests } from "./manifests.ts"
import { isFixture } from "./manifests.ts"
import { baseOf, folderOf, inside, isInside, upwards } from "./model.ts"
import type { Manifest } from "./model.ts"
import * as Known from "./python-data.ts"
import { normalised } from "./python.ts"
import * as Text from "./text.ts"
import type { Usage } from "./usage-npm.ts"

/**
 * One import.
 *
 * **Details**
 *
 * - `module`: dotted, as written.
 * - `optional`: inside a `try` or an `if`.
 *
 * @category models
 * @since 0.1.0
 */
export interface PythonImport {
  readonly module: string
  readonly optional: boolean
  readonly line: number
}

/**
 * The absolute imports of a Python file.
 *
 * @category scanning
 * @since 0.1.0
 */
export const scan = (text: string): ReadonlyArray<PythonImport> => {
  const imports: Array<PythonImport> = []
  // The indents of the `try`, `except`, `else` and `if` that are open.
  const conditions: Array<number> = []
  let line = 0
  for (const code of withoutStrings(text).split("\n")) {
    line++
    const trimmed = code.trim()
    if (trimmed === "") continue
    const indent = code.length - code.trimStart().length
    while (conditions.length > 0 && (conditions.at(-1) ?? 0) >= indent) conditions.pop()
    const optional = conditions.length > 0
    if (/^(?:try|except|else|finally|if|elif)\b.*:$/.test(trimmed)) conditions.push(indent)
    for (const statement of trimmed.split(";").slice(0, 20)) {
      const from = /^\s*from\s+([A-Za-z_][\w.]{0,200})\s+import\b/.exec(statement)?.[1]
      if (from !== undefined) imports.push({ module: from, optional, line })
      const list = /^\s*import\s+(.+)$/.exec(statement)?.[1]
      for (const part of list?.split(",").slice(0, 50) ?? []) {
        const module = /^\s*([A-Za-z_][\w.]{0,200})(?:\s+as\s+\w+)?\s*\\?$/.exec(part)?.[1]
        if (module !== undefined) imports.push({ module, optional, line })
      }
    }
  }
  return imports
}

/** The code without comments and the insides of strings; every line stays where it is. */
const withoutStrings = (text: string): string => {
  const out: Array<string> = []
  let from = 0
  let at = 0
  while (at < text.length) {
    const char = text[at]
    if (char === "#") {
      out.push(text.slice(from, at))
      const end = text.indexOf("\n", at)
      at = from = end < 0 ? text.length : end
    } else if (char === '"' || char === "'") {
      const mark = text.startsWith(char.repeat(3), at) ? char.repeat(3) : char
      out.push(text.slice(from, at), '""')
      let end = at + mark.length
      while (end < text.length && !text.startsWith(mark, end)) {
        if (mark.length === 1 && text[end] === "\n") break
        if (text[end] === "\\") end++
        if (text[end] === "\n" && mark.length === 3) out.push("\n")
        end++
      }
      at = from = Math.min(text.length, text.startsWith(mark, end) ? end + mark.length : end)
    } else at++
  }
  out.push(text.slice(from))
  return out.join("")
}

interface Project {
  readonly folder: string
  readonly manifests: ReadonlyArray<Manifest>
  /** by module the first import of it, of tests and of the rest */
  readonly shipped: Map<string, { readonly file: string; readonly line: number; count: number }>
  readonly tested: Map<string, { readonly file: string; readonly line: number; count: number }>
  readonly used: Set<string>
  readonly words: Set<string>
  files: number
}

/**
 * Audits the Python packages of a repository.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  { manifests }: Manifests
): Effect.fn.Return<Usage, never, FileSystem.FileSystem | Path.Path> {
  const projects = new Map<string, Project>()
  for (const manifest of manifests) {
    if (manifest.ecosystem !== "python") continue
    const folder = baseOf(manifest.folder) === "requirements" ? folderOf(manifest.folder) : manifest.folder
    const known = projects.get(folder)
    if (known !== undefined) projects.set(folder, { ...known, manifests: [...known.manifests, manifest] })
    else {
      const fresh = {
        shipped: new Map(),
        tested: new Map(),
        used: new Set<string>(),
        words: new Set<string>(),
        files: 0
      }
      projects.set(folder, { folder, manifests: [manifest], ...fresh })
    }
  }
  if (projects.size === 0) return { findings: [], files: 0 }
  const own = new Set<string>()
  for (const { path } of repository.files) {
    if (!/\.(?:pyi?|pyx|so|pyd)$/.test(path)) continue
    for (const segment of path.split("/")) own.add(segment.replace(/\..*$/, ""))
  }
  for (const { path } of repository.files) {
    const project = upwards(folderOf(path))
      .map((folder) => projects.get(folder))
      .find((found) => found !== undefined)
    if (project === undefined || !/\.(?:pyi?|pyx|ipynb|toml|cfg|ini|ya?ml)$/.test(path)) continue
    if (/(^|\/)(?:poetry|uv|pdm)\.lock$/.test(path)) continue
    const text = yield* Repo.text(repository, path)
    if (text === undefined) continue
    project.files++
    collect(project, path, text, own)
  }
  const all = [...projects.values()]
  const present = new Set(repository.files.map(({ path }) => path))
  const findings: Array<Finding> = []
  for (const project of all) {
    yield* Effect.yieldNow
    const above = all.filter(({ folder }) => isInside(project.folder, folder))
    const inner = all.filter(({ folder }) => isInside(folder, project.folder))
    findings.push(...undeclared(project, above, present), ...unused(project, inner))
  }
  return { findings, files: all.reduce((sum, { files }) => sum + files, 0) }
})

const quoted = /["']([A-Za-z_][\w.-]{1,100})/g
const bare = /[A-Za-z_][\w.-]{1,100}/g

const collect = (project: Project, path: string, text: string, own: ReadonlySet<string>): void => {
  const isManifest = project.manifests.some((manifest) => manifest.path === path)
  if (!/\.(?:pyi?|pyx)$/.test(path)) {
    // A manifest names what it declares: that is no use of it.
    if (!isManifest) for (const [word] of text.matchAll(bare)) project.words.add(word.toLowerCase())
    return
  }
  for (const [, word = ""] of text.matchAll(quoted)) project.words.add(word.toLowerCase())
  const isData = /(^|\/)(?:fixtures?|testdata|test_data|data|templates?|vendor|_vendor|vendored)\//.test(path)
  const isTest = isFixture(path) || /(^|\/)(?:test_[^/]*|[^/]*_tests?|conftest)\.py$/.test(path)
  const isTool =
    /(^|\/)(?:docs?|scripts?|tools?|examples?|benchmarks?|bench|samples?|extras|notebooks?|\.[^/]+)\//.test(path) ||
    /(^|\/)(?:setup|noxfile|tasks|fabfile|conf|dodo|manage|build)\.py$/.test(path)
  for (const { line, module, optional } of scan(text)) {
    project.used.add(module.toLowerCase())
    const [top = ""] = module.split(".")
    if (optional || isData || isTool || Known.standard.has(top) || top.startsWith("_") || own.has(top)) continue
    const into = isTest ? project.tested : project.shipped
    const known = into.get(module)
    if (known === undefined) into.set(module, { file: path, line, count: 1 })
    else known.count++
  }
}

/**
 * The modules that a package may be imported as, in lower case.
 *
 * @category rules
 * @since 0.1.0
 */
export const modulesOf = (name: string): ReadonlyArray<string> => {
  const plain = normalised(name)
  const short = plain.replace(/^python3?-|^py(?=[a-z])|-python3?$|-py3?$/g, "")
  const guesses = [plain, short].flatMap((guess) => [guess.replaceAll("-", "_"), guess.replaceAll("-", "."), guess])
  const known = (Known.modules.get(plain) ?? []).map((module) => module.toLowerCase())
  return [...new Set([...known, ...guesses])].filter((guess) => guess !== "")
}

/** `a.b.c` gives `a.b.c`, `a.b` and `a`. */
const prefixesOf = (module: string): ReadonlyArray<string> => {
  const all = [module]
  for (let at = module.lastIndexOf("."); at > 0 && all.length < 20; at = module.lastIndexOf(".", at - 1)) {
    all.push(module.slice(0, at))
  }
  return all
}

/** `a-b-c` gives `a`, `a-b`, `c` and `b-c`: google-cloud-storage is imported as google, types-requests as requests. */
const partsOf = (name: string): ReadonlyArray<string> => {
  const words = normalised(name).split("-").slice(0, 8)
  return words.slice(1).flatMap((_, at) => [words.slice(0, at + 1).join("-"), words.slice(at + 1).join("-")])
}

const dashedTop = (module: string): string => (module.split(".")[0] ?? "").replaceAll("_", "-")

/** Answers for many packages at once whether any of them may provide a module. */
const providers = (names: Iterable<string>): ((module: string) => boolean) => {
  const modules = new Set<string>()
  const above = new Set<string>()
  const parts = new Set<string>()
  for (const name of names) {
    for (const module of modulesOf(name)) {
      modules.add(module)
      for (const prefix of prefixesOf(module)) above.add(prefix)
    }
    for (const part of partsOf(name)) parts.add(part)
  }
  return (module) => {
    const lower = module.toLowerCase()
    return above.has(lower) || parts.has(dashedTop(lower)) || prefixesOf(lower).some((prefix) => modules.has(prefix))
  }
}

/** Answers for many imports at once whether any of them may come from a package. */
const users = (modules: Iterable<string>): ((name: string) => boolean) => {
  const exact = new Set<string>()
  const above = new Set<string>()
  const tops = new Set<string>()
  for (const module of modules) {
    exact.add(module)
    for (const prefix of prefixesOf(module)) above.add(prefix)
    tops.add(dashedTop(module))
  }
  return (name) =>
    modulesOf(name).some((module) => above.has(module) || prefixesOf(module).some((prefix) => exact.has(prefix))) ||
    partsOf(name).some((part) => tops.has(part))
}

const undeclared = (
  project: Project,
  above: ReadonlyArray<Project>,
  present: ReadonlySet<string>
): ReadonlyArray<Finding> => {
  const manifests = above.flatMap((found) => found.manifests)
  const isWhole = manifests.every(
    ({ data }) => !Text.strings(Text.at(data, "project", "dynamic")).includes("dependencies")
  )
  const others = ["setup.py", "Pipfile", "environment.yml", "environment.yaml", "conda.yaml"]
  const declaredAny = manifests.some(({ dependencies }) => dependencies.some(({ section }) => section === "production"))
  if (!isWhole || (!declaredAny && others.some((name) => present.has(inside(project.folder, name))))) return []
  const declared = manifests.flatMap(({ dependencies }) => dependencies)
  const production = declared.filter(({ section }) => section !== "development" && section !== "build")
  const hasTests = declared.some(({ section }) => section === "development")
  const isOwn = providers(manifests.flatMap(({ name }) => (name === undefined ? [] : [name])))
  const isDeclared = providers(declared.map(({ name }) => name))
  const judge = (
    imports: Project["shipped"],
    isAvailable: (module: string) => boolean,
    severity: "low" | "medium"
  ): ReadonlyArray<Finding> => {
    const seen = new Set<string>()
    return [...imports].flatMap(([module, { count, file, line }]) => {
      const [top = ""] = module.split(".")
      if (seen.has(top)) return []
      if (isOwn(module) || isAvailable(module)) return []
      seen.add(top)
      const many = count > 1 ? ` (and in ${count - 1} more places)` : ""
      const development = isDeclared(module)
      const message = development
        ? `${top} is only a development dependency; code outside the tests imports it here${many} (heuristic)`
        : `${top} is imported here${many}, and no declared package seems to provide it (heuristic: names can differ)`
      const rule = development ? "development-dependency-shipped" : "undeclared-dependency"
      return [finding(rule, development ? "low" : severity, { file, line }, message)]
    })
  }
  const isProduction = providers(production.map(({ name }) => name))
  return [
    ...judge(project.shipped, isProduction, "medium"),
    ...(hasTests ? judge(project.tested, isDeclared, "low") : [])
  ]
}

// Packages that are used by being installed: plugins, servers, drivers, stubs, tools.
const implicit =
  /^(?:pip|setuptools|wheel|build|twine|gunicorn|uvicorn|uwsgi|hypercorn|daphne|waitress|supervisor|psycopg2?(-binary)?|mysqlclient|asyncpg|aiosqlite|greenlet|tzdata|certifi|colorama|win-unicode-console|pytest.*|.*-stubs|types-.*|mypy.*|flake8.*|pylint.*|black|ruff|isort|tox|nox|coverage|pre-commit|sphinx.*|mkdocs.*|.*-plugin|backports.*|importlib-.*|typing-extensions|dataclasses|cryptography|lxml|brotli.*|uvloop|httptools|watchfiles|h2|pyopenssl|pywin32.*|ipykernel|jupyter.*|notebook|django-.*|gevent|eventlet|redis|hiredis|openpyxl|xlrd|pyarrow|tabulate|email-validator|python-multipart|itsdangerous|argon2-cffi|bcrypt|numpy|cython|cffi|pycparser|torch.*|nvidia-.*|tensorflow.*|opentelemetry-.*|llama-index.*|langchain.*)$/

const unused = (project: Project, inner: ReadonlyArray<Project>): ReadonlyArray<Finding> => {
  if (!inner.some(({ used }) => used.size > 0)) return []
  const isUsed = users(inner.flatMap((found) => [...found.used]))
  const words = new Set(inner.flatMap((found) => [...found.words]))
  const seen = new Set<string>()
  return project.manifests.flatMap((manifest) => {
    // A list that pins everything, what the dependencies need included, was made by a tool.
    const isMade = manifest.path.endsWith(".txt") && manifest.dependencies.every(({ range }) => range.startsWith("=="))
    if (isMade) return []
    return manifest.dependencies.flatMap((asked) => {
      const name = normalised(asked.name)
      if (asked.section !== "production" || implicit.test(name) || seen.has(name)) return []
      if (isUsed(name)) return []
      if (modulesOf(name).some((module) => words.has(module))) return []
      seen.add(name)
      const message = `${asked.name} is declared, and nothing imports it (heuristic: it may be imported under another name)`
      return [finding("unused-dependency", "low", { file: manifest.path, line: asked.line }, message)]
    })
  })
}
