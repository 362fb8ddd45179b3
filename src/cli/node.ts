/**
 * Which Node the command needs. Imports nothing, so that a Node that is too old can load it.
 *
 * @since 0.1.0
 */

/** The numbers of a version, or of the least one as in `>=22.19`. */
const numbersOf = (version: string): ReadonlyArray<number> => (version.match(/\d+/g) ?? []).map(Number)

/** Whether a version is not older than the least one, as in `>=22.19`. */
export const reaches = (version: string, range: string): boolean => {
  const [have, least] = [numbersOf(version), numbersOf(range)]
  const at = least.findIndex((number, index) => number !== (have[index] ?? 0))
  return at < 0 || (have[at] ?? 0) > (least[at] ?? 0)
}

/** The least version of Node, as `engines` of the package names it. */
export const least = ">=22.19"

/** What is said where Node is too old; nothing where it is not. */
export const tooOld = (version: string): string | undefined =>
  reaches(version, least) ? undefined : `Node ${least.slice(2)} or later is needed, this is ${version}`
