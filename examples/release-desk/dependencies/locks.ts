/**
 * Lockfiles as {@link Lock}s: npm, Yarn (1 and later), pnpm, Cargo, Go, Poetry, uv and PDM.
 *
 * **Details**
 *
 * Yarn's and pnpm's files are read line by line: both are written by machines in one layout, a YAML parser takes a
 * second for a megabyte of them, and a line cannot expand an alias.
 *
 * @since 0.1.0
 */
import { Result } from "effect"

import { folderOf, inside, missing, unknown, upwards } from "./model.ts"
import type { Broken, Dependency, Ecosystem, Lock, LockedPackage, Manifest, Resolution } from "./model.ts"
import { overriddenName } from "./npm.ts"
import { normalised } from "./python.ts"
import * as Text from "./text.ts"

/**
 * Which lockfile a file is, by its name.
 *
 * @category models
 * @since 0.1.0
 */
export const names: ReadonlyMap<string, { readonly ecosystem: Ecosystem; readonly format: string }> = new Map([
  ["package-lock.json", { ecosystem: "npm", format: "npm" }],
  ["npm-shrinkwrap.json", { ecosystem: "npm", format: "npm" }],
  ["yarn.lock", { ecosystem: "npm", format: "yarn" }],
  ["pnpm-lock.yaml", { ecosystem: "npm", format: "pnpm" }],
  ["bun.lock", { ecosystem: "npm", format: "bun" }],
  ["bun.lockb", { ecosystem: "npm", format: "bun" }],
  ["Cargo.lock", { ecosystem: "cargo", format: "cargo" }],
  ["go.sum", { ecosystem: "go", format: "go" }],
  ["poetry.lock", { ecosystem: "python", format: "poetry" }],
  ["uv.lock", { ecosystem: "python", format: "uv" }],
  ["pdm.lock", { ecosystem: "python", format: "pdm" }],
  ["Pipfile.lock", { ecosystem: "python", format: "pipenv" }]
])

/**
 * Whether a format is TOML.
 *
 * @category models
 * @since 0.1.0
 */
export const isToml = (format: string): boolean => ["cargo", "poetry", "uv", "pdm"].includes(format)

/**
 * Reads the text of a lockfile.
 *
 * @category parsing
 * @since 0.1.0
 */
export const parse = (path: string, format: string, text: string): Result.Result<Lock, Broken> => {
  const conflict = Text.conflictLine(text)
  if (conflict !== undefined) return Result.fail({ line: conflict, message: "git left a merge conflict here" })
  switch (format) {
    case "npm":
      return npm(path, text)
    case "yarn":
      return yarn(path, text)
    case "pnpm":
      return pnpm(path, text)
    case "go":
      return go(path, text)
    case "bun":
    case "pipenv":
      return Result.succeed(present(path, format === "bun" ? "npm" : "python", format))
    default:
      return tables(path, format, text)
  }
}

/**
 * A lockfile that is known to exist, and no more.
 *
 * @category parsing
 * @since 0.1.0
 */
export const present = (path: string, ecosystem: Ecosystem, format: string): Lock => ({
  ecosystem,
  path,
  folder: folderOf(path),
  format,
  packages: [],
  resolve: () => unknown,
  knows: () => true
})

const relativeTo = (folder: string, path: string): string =>
  folder === "" ? path : path === folder ? "" : path.slice(folder.length + 1)

const npm = (path: string, text: string): Result.Result<Lock, Broken> =>
  Result.flatMap(Text.json(text), (data) => {
    const folder = folderOf(path)
    const lines = Text.lines(text)
    const packages = Text.at(data, "packages")
    if (packages === undefined) return npmVersion1(path, data, lines)
    const root = Text.at(packages, "")
    if (root === undefined) {
      return Result.fail({
        line: lines.after('"packages"'),
        message: "its packages have no entry for the project itself"
      })
    }
    const all: Array<LockedPackage> = []
    for (const [key, entry] of Text.entries(packages)) {
      const cut = key.lastIndexOf("node_modules/")
      const version = Text.string(Text.at(entry, "version"))
      if (cut < 0 || version === undefined) continue
      const licence = Text.string(Text.at(entry, "license"))
      all.push({
        name: Text.string(Text.at(entry, "name")) ?? key.slice(cut + "node_modules/".length),
        version,
        line: lines.inOrder(`${JSON.stringify(key)}:`, 0),
        licence,
        isDevelopment: Text.at(entry, "dev") === true || Text.at(entry, "devOptional") === true
      })
    }
    const knows = (manifest: Manifest) => Text.at(packages, relativeTo(folder, manifest.folder)) !== undefined
    const resolve = (manifest: Manifest, asked: Dependency): Resolution => {
      const from = relativeTo(folder, manifest.folder)
      const range = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]
        .map((section) => Text.string(Text.at(packages, from, section, asked.alias)))
        .find((value) => value !== undefined)
      for (const above of upwards(from)) {
        const key = inside(above, `node_modules/${asked.alias}`)
        const entry = Text.at(packages, key)
        if (entry === undefined) continue
        const version = Text.at(entry, "link") === true ? undefined : Text.string(Text.at(entry, "version"))
        const line = lines.after(`${JSON.stringify(key)}:`)
        return { _tag: "Locked", versions: version === undefined ? [] : [version], range, line }
      }
      return missing
    }
    return Result.succeed({
      ecosystem: "npm",
      path,
      folder,
      format: "npm",
      packages: all,
      resolve,
      knows
    } satisfies Lock)
  })

const npmVersion1 = (path: string, data: unknown, lines: Text.Lines): Result.Result<Lock, Broken> => {
  const version = Text.at(data, "lockfileVersion")
  const dependencies = Text.at(data, "dependencies")
  if (typeof version !== "number") {
    return Result.fail({ line: 1, message: "there is neither a lockfileVersion nor a list of packages" })
  }
  const all: Array<LockedPackage> = []
  const open: Array<unknown> = [dependencies]
  for (let level = open.pop(); level !== undefined; level = open.pop()) {
    for (const [name, entry] of Text.entries(level)) {
      const locked = Text.string(Text.at(entry, "version"))
      const isDevelopment = Text.at(entry, "dev") === true
      if (locked !== undefined) all.push({ name, version: locked, line: 0, isDevelopment })
      const nested = Text.at(entry, "dependencies")
      if (nested !== undefined) open.push(nested)
    }
  }
  const resolve = (_: Manifest, asked: Dependency): Resolution => {
    const locked = Text.at(dependencies, asked.alias)
    if (locked === undefined) return missing
    const version = Text.string(Text.at(locked, "version"))
    const line = lines.after(`${JSON.stringify(asked.alias)}:`)
    return { _tag: "Locked", versions: version === undefined ? [] : [version], line }
  }
  const folder = folderOf(path)
  const knows = (manifest: Manifest) => manifest.folder === folder
  return Result.succeed({ ecosystem: "npm", path, folder, format: "npm", packages: all, resolve, knows } satisfies Lock)
}

const yarn = (path: string, text: string): Result.Result<Lock, Broken> => {
  const all: Array<LockedPackage> = []
  const descriptors = new Map<string, Array<{ range: string; version: string; line: number }>>()
  const isBerry = text.includes("\n__metadata:")
  let keys: ReadonlyArray<string> = []
  let keyLine = 0
  let number = 0
  for (const raw of text.split("\n")) {
    number++
    const line = raw.trimEnd()
    if (line === "" || line.startsWith("#")) continue
    if (!line.startsWith(" ")) {
      if (!line.endsWith(":"))
        return Result.fail({ line: number, message: "a line that starts an entry ends in a colon" })
      keyLine = number
      keys =
        line === "__metadata:"
          ? []
          : line
              .slice(0, -1)
              .split(",")
              .map((key) => key.trim().replace(/^"|"$/g, ""))
      continue
    }
    const version = /^ {2}version:? "?([^"\s]+)"?$/.exec(line)?.[1]
    if (version === undefined || keys.length === 0) continue
    let name: string | undefined
    for (const key of keys) {
      const split = key.indexOf("@", 1)
      if (split < 0) continue
      name = key.slice(0, split)
      const range = key.slice(split + 1).replace(/^npm:/, "")
      const known = descriptors.get(name)
      if (known === undefined) descriptors.set(name, [{ range, version, line: keyLine }])
      else known.push({ range, version, line: keyLine })
    }
    const isLocal = keys.some((key) => /@(workspace|link|portal|file):/.test(key))
    if (name !== undefined && !isLocal) all.push({ name, version, line: keyLine })
    keys = []
  }
  if (all.length === 0 && descriptors.size === 0 && !isBerry && !text.includes("yarn lockfile")) {
    return Result.fail({ line: 1, message: "this is no lockfile of Yarn" })
  }
  const resolve = (_: Manifest, asked: Dependency): Resolution => {
    const known = descriptors.get(asked.alias) ?? descriptors.get(asked.name)
    if (known === undefined) return missing
    const exact = known.find(({ range }) => range === asked.range)
    // Without the very range the file was made for another manifest; whether any version fits says how bad that is.
    return {
      _tag: "Locked",
      versions: exact === undefined ? known.map(({ version }) => version) : [],
      line: (exact ?? known[0])?.line ?? 0
    }
  }
  const folder = folderOf(path)
  return Result.succeed({
    ecosystem: "npm",
    path,
    folder,
    format: "yarn",
    packages: all,
    resolve,
    knows: () => true
  } satisfies Lock)
}

interface Imported {
  specifier: string | undefined
  version: string | undefined
  readonly line: number
}

const pnpm = (path: string, text: string): Result.Result<Lock, Broken> => {
  const all: Array<LockedPackage> = []
  const importers = new Map<string, Map<string, Imported>>()
  let section = ""
  let importer = "."
  let group = ""
  let current: Imported | undefined
  const overridden = new Set<string>()
  let hasVersion = false
  let number = 0
  const importedBy = (name: string): Map<string, Imported> => {
    const known = importers.get(name)
    if (known !== undefined) return known
    const fresh = new Map<string, Imported>()
    importers.set(name, fresh)
    return fresh
  }
  for (const raw of text.split("\n")) {
    number++
    const line = raw.trimEnd()
    if (line === "" || line.trimStart().startsWith("#") || line === "---") continue
    const indent = line.length - line.trimStart().length
    const [key, value] = yamlPair(line.trimStart())
    if (indent === 0) {
      if (key === undefined) return Result.fail({ line: number, message: "a line at the margin is a key and a colon" })
      section = key
      if (key === "lockfileVersion") hasVersion = true
      if (isGroup(key)) [group, importer] = [key, "."]
      continue
    }
    if (key === undefined) continue
    if (section === "overrides" && indent === 2) {
      const forced = overriddenName(key)
      if (forced !== undefined) overridden.add(forced)
    }
    if (section === "packages" && indent === 2) {
      const locked = pnpmPackage(key)
      if (locked !== undefined) all.push({ ...locked, line: number })
    }
    const depth = section === "importers" ? indent : isGroup(section) ? indent + 4 : section === "specifiers" ? -1 : 0
    if (depth === -1 && indent === 2) {
      const known = importedBy(".").get(key)
      if (known === undefined) importedBy(".").set(key, { specifier: value, version: undefined, line: number })
      else known.specifier = value
    } else if (depth === 2) [importer, group] = [key, ""]
    else if (depth === 4 && section === "importers") group = key
    else if (depth === 6 && isGroup(group)) {
      current = { specifier: importedBy(importer).get(key)?.specifier, version: value, line: number }
      importedBy(importer).set(key, current)
    } else if (depth === 8 && isGroup(group) && current !== undefined) {
      if (key === "specifier") current.specifier = value
      if (key === "version") current.version = value
    }
  }
  if (!hasVersion) return Result.fail({ line: 1, message: "there is no lockfileVersion" })
  const folder = folderOf(path)
  const importerOf = (manifest: Manifest) => {
    const relative = relativeTo(folder, manifest.folder)
    return importers.get(relative === "" ? "." : relative)
  }
  const resolve = (manifest: Manifest, asked: Dependency): Resolution => {
    const imported = importerOf(manifest)?.get(asked.alias)
    if (imported === undefined) return missing
    if (overridden.has(asked.alias)) return { _tag: "Locked", versions: [], line: imported.line }
    const version = /^[^(_]+/.exec(imported.version ?? "")?.[0]
    const isVersion = version !== undefined && /^\d/.test(version)
    return { _tag: "Locked", versions: isVersion ? [version] : [], range: imported.specifier, line: imported.line }
  }
  const knows = (manifest: Manifest) => importerOf(manifest) !== undefined || manifest.folder === folder
  return Result.succeed({
    ecosystem: "npm",
    path,
    folder,
    format: "pnpm",
    packages: all,
    resolve,
    knows
  } satisfies Lock)
}

const isGroup = (key: string): boolean =>
  key === "dependencies" || key === "devDependencies" || key === "optionalDependencies"

const yamlPair = (line: string): readonly [key: string | undefined, value: string | undefined] => {
  const quoted = /^'([^']*)':(?:\s+(.*))?$/.exec(line) ?? /^"([^"]*)":(?:\s+(.*))?$/.exec(line)
  const match = quoted ?? /^([^\s'"#:-][^\s]*?):(?:\s+(.*))?$/.exec(line)
  if (match === null) return [undefined, undefined]
  const value = match[2]?.trim()
  return [match[1], value === undefined || value === "" ? undefined : value.replace(/^(['"])(.*)\1$/, "$2")]
}

const pnpmPackage = (key: string): { readonly name: string; readonly version: string } | undefined => {
  // "/a/1.0.0", "/a@1.0.0(peer)", "a@1.0.0", with a scope in each form.
  const plain = key.replace(/^\//, "").replace(/\(.*$/, "")
  const match = /^((?:@[^/@]+\/)?[^/@]+)[@/](\d[^_]*)/.exec(plain)
  return match?.[1] === undefined || match[2] === undefined ? undefined : { name: match[1], version: match[2] }
}

const tables = (path: string, format: string, text: string): Result.Result<Lock, Broken> =>
  Result.flatMap(Text.toml(text), (data) => {
    const ecosystem = format === "cargo" ? "cargo" : "python"
    const same = ecosystem === "cargo" ? (name: string) => name : normalised
    const lines = Text.lines(text)
    const byName = new Map<string, Array<LockedPackage>>()
    const all: Array<LockedPackage> = []
    for (const entry of Text.items(Text.at(data, "package"))) {
      const name = Text.string(Text.at(entry, "name"))
      // A member of a uv workspace with a computed version has none.
      const version = Text.string(Text.at(entry, "version")) ?? ""
      if (name === undefined) return Result.fail({ line: 0, message: "a package has no name" })
      const locked = { name, version, line: lines.inOrder(`name = ${JSON.stringify(name)}`, 0) }
      const known = byName.get(same(name))
      if (known === undefined) byName.set(same(name), [locked])
      else known.push(locked)
      if (version !== "") all.push(locked)
    }
    const resolve = (_: Manifest, asked: Dependency): Resolution => {
      const known = byName.get(same(asked.name))
      if (known === undefined) return missing
      const versions = known.map(({ version }) => version).filter((version) => version !== "")
      return { _tag: "Locked", versions, line: known[0]?.line ?? 0 }
    }
    const folder = folderOf(path)
    const knows = (manifest: Manifest) =>
      manifest.folder === folder || (manifest.name !== undefined && byName.has(same(manifest.name)))
    return Result.succeed({ ecosystem, path, folder, format, packages: all, resolve, knows } satisfies Lock)
  })

const go = (path: string, text: string): Result.Result<Lock, Broken> => {
  const versions = new Map<string, Map<string, number>>()
  let number = 0
  for (const raw of text.split("\n")) {
    number++
    const line = raw.trim()
    if (line === "") continue
    const [name, version, hash, ...rest] = line.split(/\s+/)
    if (
      name === undefined ||
      version === undefined ||
      hash === undefined ||
      rest.length > 0 ||
      !hash.startsWith("h1:")
    ) {
      return Result.fail({
        line: number,
        message: "a line is a module path, a version and a hash that starts with h1:"
      })
    }
    const plain = version.replace(/\/go\.mod$/, "")
    const known = versions.get(name)
    if (known === undefined) versions.set(name, new Map([[plain, number]]))
    else if (!known.has(plain)) known.set(plain, number)
  }
  const resolve = (manifest: Manifest, asked: Dependency): Resolution => {
    const by = manifest.go?.replaced.get(asked.name)
    const known = versions.get(by?.by ?? asked.name)
    const line = known?.get(by?.version ?? asked.range)
    return line === undefined ? missing : { _tag: "Locked", versions: [], line }
  }
  const folder = folderOf(path)
  // go.sum also lists versions that were only compared, so it says nothing about what is built several times.
  const all = [...versions].map(([name, of]) => ({ name, version: [...of.keys()].at(-1) ?? "", line: 0 }))
  const knows = (manifest: Manifest) => manifest.folder === folder
  return Result.succeed({ ecosystem: "go", path, folder, format: "go", packages: all, resolve, knows } satisfies Lock)
}
