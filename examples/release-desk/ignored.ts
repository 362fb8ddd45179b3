/**
 * What `.gitignore` files say about a path, nested ones included.
 *
 * The patterns of a folder are asked about paths relative to that folder, the deepest file first: the first that has an
 * opinion wins, as in git.
 *
 * **Gotchas**
 *
 * Patterns become regular expressions, and a hostile one (`a*a*a*a*…`) takes exponential time. A pattern with more than
 * {@link maxWildcards} wildcards is refused and counted.
 *
 * @since 0.1.0
 */
import ignore from "ignore"
import type { Ignore } from "ignore"

/**
 * The rules of one folder.
 *
 * @category models
 * @since 0.1.0
 */
export interface Rules {
  readonly folder: string
  readonly matcher: Ignore
}

/**
 * The rules that hold in a folder: its own first, then those of the folders above.
 *
 * @category models
 * @since 0.1.0
 */
export type Chain = ReadonlyArray<Rules>

/**
 * The most `*`s of one pattern that is still obeyed.
 *
 * @category models
 * @since 0.1.0
 */
export const maxWildcards = 6

const maxPatterns = 5_000

/**
 * Reads the text of a `.gitignore` that lies in `folder`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (text: string, folder: string): { readonly rules: Rules; readonly refused: number } => {
  const lines = text.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"))
  const kept = lines
    .slice(0, maxPatterns)
    .filter((line) => line.length <= 1_000 && (line.match(/\*+|\?/g)?.length ?? 0) <= maxWildcards)
  const matcher = ignore({ allowRelativePaths: true })
  matcher.add(kept)
  return { rules: { folder, matcher }, refused: lines.length - kept.length }
}

/**
 * Puts the rules of a folder before those of the folders above.
 *
 * @category combining
 * @since 0.1.0
 */
export const extend = (chain: Chain | undefined, rules: Rules | undefined): Chain =>
  rules === undefined ? (chain ?? []) : [rules, ...(chain ?? [])]

/**
 * Whether a path is ignored.
 *
 * @category testing
 * @since 0.1.0
 */
export const test = (chain: Chain, path: string, isFolder: boolean): boolean => {
  for (const { folder, matcher } of chain) {
    const relative = folder === "" ? path : path.slice(folder.length + 1)
    const answer = ask(matcher, isFolder ? `${relative}/` : relative)
    if (answer !== undefined) return answer
  }
  return false
}

const ask = (matcher: Ignore, path: string): boolean | undefined => {
  try {
    const said = matcher.test(path)
    return said.ignored ? true : said.unignored ? false : undefined
  } catch {
    // A name that the matcher does not take for a path, or a pattern that is no regular expression: no opinion.
    return undefined
  }
}
