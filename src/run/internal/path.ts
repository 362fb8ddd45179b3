/**
 * Paths as scopes: what is wrong with one, and which roots it lies under. Text only: nothing is looked up.
 *
 * @since 0.1.0
 */

/** A path in parts, without what changes nothing: empty parts and `.`. */
export interface Path {
  readonly absolute: boolean
  readonly parts: ReadonlyArray<string>
}

/** @since 0.1.0 */
export const parsePath = (text: string): Path => ({
  absolute: text.startsWith("/"),
  parts: text.split("/").filter((part) => part !== "" && part !== ".")
})

const control = /\p{Cc}/u

/**
 * What keeps a text from being the path of a scope, wherever its roots are.
 *
 * @since 0.1.0
 */
export const pathProblem = (text: string): string | undefined => {
  if (control.test(text)) return "must not contain control characters"
  if (!text.isWellFormed()) return "must not contain a lone surrogate"
  if (text.includes("\\")) return "must be separated by /, not by \\"
  if (/^[A-Za-z]:/.test(text)) return "must not begin with the letter of a drive"
  if (text.startsWith("~")) return "must not begin with ~"
  if (/[{}[\]()!|]/.test(text)) return "must have no other wildcards than *, ** and ?"
  return text.split("/").includes("..") ? "must not contain .." : undefined
}

/**
 * Whether a path has a wildcard.
 *
 * @since 0.1.0
 */
export const isGlob = (text: string): boolean => /[*?]/.test(text)

/**
 * Whether a path lies in a root, or is the root. Parts are compared unit by unit: neither case nor the form of an accent is
 * overlooked, because a file system may not overlook it either.
 *
 * @since 0.1.0
 */
export const isInside = (path: Path, root: Path): boolean =>
  path.absolute === root.absolute && root.parts.every((part, index) => path.parts[index] === part)
