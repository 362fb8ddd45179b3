/**
 * What the three dependency audits share: a manifest, a dependency and a lockfile, the same for npm, Cargo, Go and
 * Python.
 *
 * @since 0.1.0
 */
import type { Broken } from "./text.ts"

/**
 * @category models
 * @since 0.1.0
 */
export type Ecosystem = "npm" | "cargo" | "go" | "python"

/**
 * One dependency that a manifest asks for.
 *
 * **Details**
 *
 * - `name`: as the registry knows it; `alias`: as the code imports it.
 * - `range`: the accepted versions as written, without the parts that are no range.
 * - `source`: `unknown` stands for a form that is not understood.
 * - `loose`: why more versions are accepted than anyone tried, when that is so.
 * - `line`: in the manifest, 0 when it was not found.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dependency {
  readonly name: string
  readonly alias: string
  readonly range: string
  readonly section: "production" | "development" | "optional" | "peer" | "build"
  readonly source: "registry" | "git" | "url" | "path" | "workspace" | "unknown"
  readonly loose?: string | undefined
  readonly line: number
}

/**
 * The licence that a manifest declares.
 *
 * **Details**
 *
 * - `file`: the manifest points to a file instead.
 *
 * @category models
 * @since 0.1.0
 */
export interface DeclaredLicence {
  readonly expression?: string | undefined
  readonly file?: string | undefined
  readonly line: number
}

/**
 * A manifest.
 *
 * **Details**
 *
 * - `folder`: `""` for the root.
 * - `kind`: a library's users do not get its lockfile, an application's do. A guess where the manifest does not say.
 * - `members`: globs of the folders that belong to its workspace.
 * - `overridden`: packages whose version is forced, so that a range says nothing.
 * - `data`: the parsed manifest, for what only one audit asks.
 *
 * @category models
 * @since 0.1.0
 */
export interface Manifest {
  readonly ecosystem: Ecosystem
  readonly path: string
  readonly folder: string
  readonly name: string | undefined
  readonly kind: "application" | "library" | "workspace"
  readonly isPrivate: boolean
  readonly dependencies: ReadonlyArray<Dependency>
  readonly licence: DeclaredLicence | undefined
  readonly members: ReadonlyArray<string>
  readonly overridden: ReadonlySet<string>
  readonly data: unknown
  readonly go?: GoMod | undefined
}

/**
 * What only the Go audits ask of a `go.mod`.
 *
 * **Details**
 *
 * - `indirect`: the required modules marked `// indirect`.
 * - `replaced`: the module and what stands in for it; a `version` of `undefined` means a folder.
 * - `tools`: the package paths of `tool` directives.
 *
 * @category models
 * @since 0.1.0
 */
export interface GoMod {
  readonly module: string
  readonly indirect: ReadonlySet<string>
  readonly replaced: ReadonlyMap<
    string,
    { readonly by: string; readonly version: string | undefined; readonly line: number }
  >
  readonly tools: ReadonlyArray<string>
}

/**
 * One package of a lockfile.
 *
 * @category models
 * @since 0.1.0
 */
export interface LockedPackage {
  readonly name: string
  readonly version: string
  readonly line: number
  readonly licence?: string | undefined
  readonly isDevelopment?: boolean | undefined
}

/**
 * What a lockfile says about a direct dependency.
 *
 * **Details**
 *
 * - `Locked`: `version` is missing where the lockfile links to a folder or names no single version; `range` is the
 *   range that the lockfile was made for, where it records one.
 * - `Unknown`: this lockfile cannot tell.
 *
 * @category models
 * @since 0.1.0
 */
export type Resolution =
  | { readonly _tag: "Missing" }
  | { readonly _tag: "Unknown" }
  | {
      readonly _tag: "Locked"
      readonly versions: ReadonlyArray<string>
      readonly range?: string | undefined
      readonly line: number
    }

/**
 * A lockfile.
 *
 * **Details**
 *
 * - `resolve`: asks for a direct dependency of the manifest in `folder`, relative to the root of the repository.
 * - `knows`: whether the manifest belongs to this lockfile, when it lies in another folder.
 *
 * @category models
 * @since 0.1.0
 */
export interface Lock {
  readonly ecosystem: Ecosystem
  readonly path: string
  readonly folder: string
  readonly format: string
  readonly packages: ReadonlyArray<LockedPackage>
  readonly resolve: (manifest: Manifest, dependency: Dependency) => Resolution
  readonly knows: (manifest: Manifest) => boolean
}

/**
 * A text that could not be parsed, as data.
 *
 * @category models
 * @since 0.1.0
 */
export type { Broken }

/**
 * @category resolutions
 * @since 0.1.0
 */
export const missing: Resolution = { _tag: "Missing" }

/**
 * @category resolutions
 * @since 0.1.0
 */
export const unknown: Resolution = { _tag: "Unknown" }

/**
 * The most dependencies of one manifest that are looked at.
 *
 * @category bounds
 * @since 0.1.0
 */
export const maxDependencies = 5_000

/**
 * The folder of a POSIX path, `""` for the root.
 *
 * @category paths
 * @since 0.1.0
 */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")))

/**
 * The last part of a POSIX path.
 *
 * @category paths
 * @since 0.1.0
 */
export const baseOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/**
 * Puts a name into a folder.
 *
 * @category paths
 * @since 0.1.0
 */
export const inside = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`)

/**
 * Whether a path lies in a folder or is that folder.
 *
 * @category paths
 * @since 0.1.0
 */
export const isInside = (path: string, folder: string): boolean =>
  folder === "" || path === folder || path.startsWith(`${folder}/`)

/**
 * A path written in a manifest, as a path from the root of the repository, or `undefined` when it leaves it.
 *
 * @category paths
 * @since 0.1.0
 */
export const resolveFrom = (folder: string, written: string): string | undefined => {
  if (written.startsWith("/") || /^[A-Za-z]:/.test(written) || written.startsWith("~")) return undefined
  const parts = folder === "" ? [] : folder.split("/")
  for (const part of written.split(/[\\/]/)) {
    if (part === "" || part === ".") continue
    if (part !== "..") parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join("/")
}

/**
 * The folder itself and those above it, the nearest first, `""` last.
 *
 * @category paths
 * @since 0.1.0
 */
export const upwards = (folder: string): ReadonlyArray<string> => {
  const all = [folder]
  for (let here = folder; here !== "";) {
    here = folderOf(here)
    all.push(here)
  }
  return all
}
