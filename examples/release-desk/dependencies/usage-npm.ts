import { builtinModules } from "node:module"

/**
 * The use of npm packages by JavaScript and TypeScript.
 *
 * **Details**
 *
 * A file belongs to the nearest `package.json` above it. A package may import what its own manifest declares and what
 * the manifests above it do; a declared package counts as used when anything inside its folder imports it, or names it:
 * a script that calls one of its commands, a string in a configuration file, a plugin's short name.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Result } from "effect"

import { finding } from "../Finding.ts"
import type { Finding, Severity } from "../Finding.ts"
import * as Repo from "../Repository.ts"
import type { Repository } from "../Repository.ts"
import * as JavaScript from "./javascript.ts"
import * as Locks from "./locks.ts"
import type { Manifests } from "./manifests.ts"
import { baseOf, folderOf, inside, isInside, resolveFrom, upwards } from "./model.ts"
import type { Dependency, Manifest } from "./model.ts"
import * as Known from "./npm-data.ts"
import * as Text from "./text.ts"

/**
 * What one ecosystem's part of the audit gives.
 *
 * @category models
 * @since 0.1.0
 */
export interface Usage {
  readonly findings: ReadonlyArray<Finding>
  readonly files: number
}

/** An import of a package, with its place. */
interface Import extends JavaScript.Requested {
  readonly name: string
  readonly file: string
}

/** What the files of one package say. */
interface Evidence {
  /** by package name: of each kind of use the first */
  readonly imports: Map<string, Array<Import>>
  readonly mentions: Set<string>
  readonly configured: Set<string>
  readonly ambient: Set<string>
  hasTypeScript: boolean
  hasJsx: boolean
  files: number
}

const builtins = new Set(builtinModules)

/**
 * Audits the npm packages of a repository.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  { folders, manifests }: Manifests
): Effect.fn.Return<Usage, never, FileSystem.FileSystem | Path.Path> {
  const npm = manifests.filter(({ ecosystem }) => ecosystem === "npm")
  if (npm.length === 0) return { findings: [], files: 0 }
  const packageFolders = folders.get("npm") ?? new Set()
  const installed = yield* readInstalled(repository, npm)
  const interest = new Set<string>()
  for (const { dependencies } of npm) {
    for (const { alias } of dependencies) {
      interest.add(alias)
      for (const short of Known.shortNames(alias)) interest.add(short)
      for (const command of commandsOf(installed, alias)) interest.add(command)
    }
  }
  const aliases = yield* readAliases(repository)
  const evidence = new Map<string, Evidence>()
  for (const { path } of repository.files) {
    const folder = upwards(folderOf(path)).find((above) => packageFolders.has(above))
    if (folder === undefined || !isEvidence(path)) continue
    const content = yield* Repo.read(repository, path)
    if (content.text === undefined) continue
    let here = evidence.get(folder)
    if (here === undefined) evidence.set(folder, (here = empty()))
    collect(here, path, content.text, interest)
  }
  const paths = new Set(repository.files.flatMap(({ path }) => [path, ...upwards(folderOf(path))]))
  const siblings = new Set(npm.flatMap(({ name }) => (name === undefined ? [] : [name])))
  const ambient = new Set([...evidence.values()].flatMap((here) => [...here.ambient]))
  const findings: Array<Finding> = []
  for (const manifest of npm) {
    yield* Effect.yieldNow
    const own = evidence.get(manifest.folder)
    const below = [...evidence].filter(([folder]) => isInside(folder, manifest.folder)).map(([, here]) => here)
    const above = npm.filter((other) => isInside(manifest.folder, other.folder))
    const context = { manifest, above, aliases, ambient, paths, siblings, installed }
    if (own !== undefined) findings.push(...undeclared(own, context))
    findings.push(...unused(below, context))
  }
  return { findings, files: [...evidence.values()].reduce((sum, { files }) => sum + files, 0) }
})

interface Context {
  readonly manifest: Manifest
  readonly above: ReadonlyArray<Manifest>
  readonly aliases: Aliases
  readonly ambient: ReadonlySet<string>
  readonly paths: ReadonlySet<string>
  readonly siblings: ReadonlySet<string>
  readonly installed: ReadonlyMap<string, Installed>
}

const empty = (): Evidence => ({
  imports: new Map(),
  mentions: new Set(),
  configured: new Set(),
  ambient: new Set(),
  hasTypeScript: false,
  hasJsx: false,
  files: 0
})

const isConfiguration = (path: string): boolean => {
  const name = baseOf(path)
  if (Locks.names.has(name)) return false
  return (
    /\.(?:json|jsonc|json5|ya?ml|toml|sh|bash|zsh|html?|css|scss|sass|less|styl|mdx|pcss|njk|pug|hbs)$/.test(name) ||
    /^(?:Makefile|Dockerfile.*|Procfile|justfile|\.[\w-]+rc|\.husky|\.babelrc|\.npmrc|\.env.*)$/.test(name) ||
    /(^|\/)\.husky\//.test(path)
  )
}

const isEvidence = (path: string): boolean => JavaScript.isSource(path) || isConfiguration(path)

const isConfigurationCode = (path: string): boolean =>
  /(^|[./-])(config|setup|rc)\.[cm]?[jt]sx?$|(^|\/)\.[\w-]+\.[cm]?[jt]s$/.test(path)

// A name right after a quotation mark; bounded, so that a long word costs what a short one does.
const quoted = /["'`]((?:@[\w.~-]{1,100}\/)?[\w.~-]{1,100})/g
const bare = /(?:@[\w.~-]{1,100}\/)?[\w.~-]{1,100}/g

const collect = (here: Evidence, path: string, text: string, interest: ReadonlySet<string>): void => {
  here.files++
  const note = (word: string) => {
    if (interest.has(word)) here.mentions.add(word)
  }
  if (baseOf(path) === "package.json") {
    for (const word of scriptWords(text)) {
      note(word)
      here.configured.add(word)
    }
    return
  }
  if (!JavaScript.isSource(path)) {
    for (const [word] of text.matchAll(bare)) {
      note(word)
      // "tool.cmd", "a@1" and the like.
      const cut = word.indexOf(".")
      if (cut > 0) note(word.slice(0, cut))
    }
    return
  }
  if (/\.[cm]?tsx?$/.test(path)) here.hasTypeScript = true
  if (/\.[jt]sx$/.test(path) || text.includes("</") || text.includes("/>")) here.hasJsx = true
  const isConfig = isConfigurationCode(path)
  for (const [, word = ""] of text.matchAll(quoted)) {
    note(word)
    if (isConfig) here.configured.add(word)
  }
  if (isConfig) for (const [word] of text.matchAll(bare)) here.configured.add(word)
  const { ambient, requested } = JavaScript.scan(path, text)
  for (const module of ambient) here.ambient.add(module)
  for (const request of requested) {
    const name = packageOf(request.specifier)
    if (name === undefined) continue
    const known = here.imports.get(name)
    const seen = { ...request, name, file: path }
    if (known === undefined) here.imports.set(name, [seen])
    // Enough to tell the worst kind of use and its first place.
    else if (known.length < 50 && !known.some((other) => sameUse(other, seen))) known.push(seen)
  }
}

const sameUse = (a: Import, b: Import): boolean =>
  a.kind === b.kind && a.optional === b.optional && a.specifier === b.specifier && rank(a.file) === rank(b.file)

/**
 * The package that a specifier names, or `undefined` for a file, an alias, a built-in module or a scheme.
 *
 * @category rules
 * @since 0.1.0
 */
export const packageOf = (specifier: string): string | undefined => {
  const name = /^((?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9_][\w.-]*)(?:[/?#].*)?$/i.exec(specifier.slice(0, 500))?.[1]
  // `punycode/` asks for the package that bears the name of a built-in module.
  return name === undefined || name.length > 214 || builtins.has(specifier) ? undefined : name
}

const scriptWords = (text: string): ReadonlyArray<string> => {
  const data = Result.getOrUndefined(Text.json(text))
  const words: Array<string> = []
  for (const [key, value] of Text.entries(data)) {
    if (Known.manifestFields.has(key)) continue
    try {
      const plain = JSON.stringify(value) ?? ""
      for (const [word] of plain.slice(0, 200_000).matchAll(bare)) words.push(word)
    } catch {
      // Nested too deeply to be written out: no configuration of any tool.
    }
  }
  return words
}

interface Aliases {
  readonly patterns: ReadonlyArray<{ readonly folder: string; readonly prefix: string; readonly exact: boolean }>
  readonly bases: ReadonlyArray<{ readonly folder: string; readonly base: string }>
}

/** `paths` and `baseUrl` of every `tsconfig.json`, and the import map of a `deno.json`. */
const readAliases = Effect.fnUntraced(function* (
  repository: Repository
): Effect.fn.Return<Aliases, never, FileSystem.FileSystem | Path.Path> {
  const patterns: Array<Aliases["patterns"][number]> = []
  const bases: Array<Aliases["bases"][number]> = []
  for (const { path } of repository.files) {
    const name = baseOf(path)
    if (!/^(?:tsconfig|jsconfig).*\.json$|^deno\.jsonc?$/.test(name)) continue
    const text = yield* Repo.text(repository, path)
    const data = text === undefined ? undefined : Result.getOrUndefined(Text.jsonc(text))
    const folder = folderOf(path)
    const options = Text.at(data, "compilerOptions")
    for (const [pattern] of [...Text.entries(Text.at(options, "paths")), ...Text.entries(Text.at(data, "imports"))]) {
      const star = pattern.indexOf("*")
      const isPrefix = star >= 0 || pattern.endsWith("/")
      patterns.push({ folder, prefix: star < 0 ? pattern : pattern.slice(0, star), exact: !isPrefix })
    }
    const base = Text.string(Text.at(options, "baseUrl"))
    const resolved = base === undefined ? undefined : resolveFrom(folder, base)
    if (resolved !== undefined) bases.push({ folder, base: resolved })
  }
  return { patterns, bases }
})

const isAlias = ({ aliases, manifest, paths }: Context, used: Import): boolean => {
  const first = used.specifier.split("/")[0] ?? ""
  const exists = (folder: string) =>
    paths.has(inside(folder, first)) ||
    ["ts", "tsx", "js", "jsx", "mjs", "d.ts", "vue"].some((end) => paths.has(inside(folder, `${first}.${end}`)))
  return (
    aliases.patterns.some(
      ({ exact, folder, prefix }) =>
        isInside(used.file, folder) && (exact ? used.specifier === prefix : used.specifier.startsWith(prefix))
    ) ||
    aliases.bases.some(({ base, folder }) => isInside(used.file, folder) && exists(base)) ||
    paths.has(inside(manifest.folder, first)) ||
    exists(inside(manifest.folder, "src"))
  )
}

/** How much a file's imports matter: 2 is shipped code, 1 tests and tools, 0 data of tests. */
const rank = (path: string): 0 | 1 | 2 => {
  const segments = path.split("/")
  const name = segments.at(-1) ?? ""
  const folders = segments.slice(0, -1)
  if (folders.some((folder) => Known.dataFolders.has(folder) || folder.startsWith("template-"))) return 0
  const isTool =
    folders.some((folder) => Known.toolFolders.has(folder) || folder.startsWith(".")) ||
    /[._-](?:test|spec|bench|stories|e2e|cy|mock|fixture)s?\.[^/]+$|^(?:test|tests|bench|gulpfile|Gruntfile)\.[cm]?[jt]sx?$/.test(
      name
    ) ||
    isConfigurationCode(name)
  return isTool ? 1 : 2
}

const names = (manifests: ReadonlyArray<Manifest>): ReadonlySet<string> =>
  new Set(manifests.flatMap(({ dependencies }) => dependencies.map(({ alias }) => alias)))

const typesOf = (name: string): string => `@types/${name.startsWith("@") ? name.slice(1).replace("/", "__") : name}`

const undeclared = (own: Evidence, context: Context): ReadonlyArray<Finding> => {
  const { above, ambient, manifest, siblings } = context
  const declared = names(above)
  const findings: Array<Finding> = []
  for (const [name, uses] of own.imports) {
    const types = typesOf(name)
    if (declared.has(name)) {
      const shipped = shippedDevelopment(uses, context)
      if (shipped !== undefined) findings.push(shipped)
      continue
    }
    if (above.some((other) => other.name === name) || Known.provided.has(name)) continue
    if (ambient.has(name) || uses.some(({ specifier }) => ambient.has(specifier))) continue
    // A name that a configuration file knows is an alias as likely as a package.
    if (own.configured.has(name)) continue
    const real = uses.filter((used) => rank(used.file) > 0 && !used.optional && !isAlias(context, used))
    const [worst] = real.toSorted((a, b) => weight(b) - weight(a) || a.line - b.line)
    if (worst === undefined || (worst.kind === "types" && declared.has(types))) continue
    const place = { file: worst.file, line: worst.line }
    const what = worst.kind === "types" ? "its types are imported" : "it is imported"
    if (siblings.has(name)) {
      const message = `${name} is a package of this repository; ${what} here, but ${manifest.path} does not declare it`
      findings.push(finding("undeclared-dependency", "low", place, message))
      continue
    }
    const severity: Severity = weight(worst) >= 4 ? "medium" : "low"
    const many = real.length > 1 ? ` (and in ${real.length - 1} more places)` : ""
    const message = `${name} is not declared in ${manifest.path}; ${what} here${many}`
    findings.push(finding("undeclared-dependency", severity, place, message))
  }
  return findings
}

/** 4 and more: shipped code needs it at run time. */
const weight = ({ file, kind }: Import): number =>
  (rank(file) === 2 ? 2 : 0) + (kind === "import" || kind === "require" ? 2 : kind === "dynamic" ? 1 : 0)

/** Code that is published and runs without the development dependencies of its package. */
const shippedDevelopment = (uses: ReadonlyArray<Import>, { above, manifest }: Context): Finding | undefined => {
  if (manifest.kind !== "library") return undefined
  const [{ name } = { name: "" }] = uses
  const own = manifest.dependencies.filter(({ alias }) => alias === name)
  if (own.length === 0 || own.some(({ section }) => section !== "development")) return undefined
  if (above.some(({ dependencies }) => dependencies.some(({ alias }) => Known.bundlers.has(alias)))) return undefined
  const files = Text.strings(Text.at(manifest.data, "files")).map((file) => file.replace(/^\.?\//, "").split("/")[0])
  const isShipped = (path: string) => {
    const relative = manifest.folder === "" ? path : path.slice(manifest.folder.length + 1)
    const [first = ""] = relative.split("/")
    return rank(path) === 2 && (files.length > 0 ? files.includes(first) : ["src", "lib"].includes(first))
  }
  const worst = uses.find((used) => weight(used) >= 4 && !used.optional && isShipped(used.file))
  if (worst === undefined) return undefined
  const message = `${name} is only a development dependency; code that is published imports it here (heuristic)`
  return finding("development-dependency-shipped", "medium", { file: worst.file, line: worst.line }, message)
}

interface Installed {
  readonly commands: ReadonlyArray<string>
  readonly peers: ReadonlyArray<string>
}

/** The commands and peers of the direct dependencies that are installed. */
const readInstalled = Effect.fnUntraced(function* (
  repository: Repository,
  manifests: ReadonlyArray<Manifest>
): Effect.fn.Return<ReadonlyMap<string, Installed>, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const installed = new Map<string, Installed>()
  const roots = [...new Set(manifests.flatMap(({ folder }) => upwards(folder)))].map((folder) =>
    path.join(repository.root, folder)
  )
  const withModules: Array<string> = []
  for (const root of roots) {
    if (yield* Effect.orElseSucceed(fs.exists(path.join(root, "node_modules")), () => false)) withModules.push(root)
  }
  for (const name of names(manifests)) {
    if (packageOf(name) !== name) continue
    for (const root of withModules) {
      const text = yield* Repo.text({ ...repository, root }, `node_modules/${name}/package.json`)
      const data = text === undefined ? undefined : Result.getOrUndefined(Text.json(text))
      if (data === undefined) continue
      const bin = Text.at(data, "bin")
      installed.set(name, {
        commands: typeof bin === "string" ? [baseOf(name)] : Text.entries(bin).map(([command]) => command),
        peers: Text.entries(Text.at(data, "peerDependencies")).map(([peer]) => peer)
      })
      break
    }
  }
  return installed
})

const commandsOf = (installed: ReadonlyMap<string, Installed>, name: string): ReadonlyArray<string> => [
  ...(installed.get(name)?.commands ?? []),
  ...(Known.commands.get(name) ?? []),
  baseOf(name)
]

const unused = (evidence: ReadonlyArray<Evidence>, context: Context): ReadonlyArray<Finding> => {
  const { installed, manifest } = context
  const hasCode = evidence.some(({ imports }) => imports.size > 0)
  // Nothing that could use a dependency: a folder of configuration, a template, a package that only groups others.
  if (!hasCode && !evidence.some(({ hasTypeScript }) => hasTypeScript)) return []
  const declared = new Set(manifest.dependencies.map(({ alias }) => alias))
  const imported = (name: string) => evidence.some(({ imports }) => imports.has(name))
  const mentioned = (name: string) => evidence.some(({ mentions }) => mentions.has(name))
  const peers = new Set([...declared].flatMap((name) => installed.get(name)?.peers ?? []))
  const isPlugin = Known.pluginsOf(declared)
  const hasJsx = evidence.some((here) => here.hasJsx)
  const hasTypeScript = evidence.some((here) => here.hasTypeScript)
  const isUsed = ({ alias }: Dependency): boolean => {
    if (imported(alias) || mentioned(alias) || peers.has(alias) || Known.implicit.has(alias)) return true
    if (commandsOf(installed, alias).some(mentioned)) return true
    if (alias === "typescript") return hasTypeScript
    if (/^(?:react|react-dom|preact|solid-js)$/.test(alias) && hasJsx) return true
    if (alias.startsWith("@types/")) {
      const base = alias.slice("@types/".length).replace(/^(.+)__(.+)$/, "@$1/$2")
      return (
        Known.ambientTypes.has(base) || builtins.has(base) || imported(base) || declared.has(base) || mentioned(base)
      )
    }
    return Known.shortNames(alias).some(mentioned) || isPlugin(alias)
  }
  const seen = new Set<string>()
  const alsoPeers = new Set(manifest.dependencies.filter(({ section }) => section === "peer").map(({ alias }) => alias))
  return manifest.dependencies.flatMap((asked) => {
    const { alias, line, section } = asked
    if (section === "peer" || section === "optional" || seen.has(alias) || isUsed(asked)) return []
    // Declared as a peer as well: it is there for its users and for the tests.
    if (alsoPeers.has(alias)) return []
    seen.add(alias)
    const how = installed.has(alias) ? "heuristic" : "heuristic; it is not installed here, so its commands are a guess"
    const message = `${alias} is declared, and nothing imports or names it (${how})`
    const severity = section === "production" ? "low" : "info"
    return [finding("unused-dependency", severity, { file: manifest.path, line }, message)]
  })
}
