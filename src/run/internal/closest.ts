/**
 * Which of the names that there are somebody may have meant.
 *
 * @since 0.1.0
 */

/** So many names are told. */
const most = 5

/** A name that is longer is compared by its beginning. */
const compared = 64

/** How many characters have to be inserted, left out or replaced to make one text of the other. */
const distance = (one: string, other: string): number => {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let at = 1; at <= one.length; at++) {
    const row = [at]
    for (let to = 1; to <= other.length; to++) {
      const same = one[at - 1] === other[to - 1] ? 0 : 1
      row.push(Math.min((above[to] ?? 0) + 1, (row[to - 1] ?? 0) + 1, (above[to - 1] ?? 0) + same))
    }
    above = row
  }
  return above[other.length] ?? 0
}

const folded = (name: string): string => name.slice(0, compared).toLowerCase()

/**
 * The names that are most like this one, the closest first, at most five; of equally close ones the first.
 *
 * @since 0.1.0
 */
export const closest = (name: string, names: Iterable<string>): ReadonlyArray<string> =>
  [...new Set(names)]
    .map((each) => ({ each, far: distance(folded(name), folded(each)) }))
    .toSorted((one, other) => one.far - other.far)
    .slice(0, most)
    .map(({ each }) => each)

/** A slip of the pen is at most so many characters. */
const slip = 2

/**
 * The names of which this one may be a slip of the pen: the closest, when they are near.
 *
 * @since 0.1.0
 */
export const near = (name: string, names: Iterable<string>): ReadonlyArray<string> => {
  const far = (each: string): number => distance(folded(name), folded(each))
  const [first = "", ...rest] = closest(name, names)
  const least = far(first)
  return least > slip ? [] : [first, ...rest.filter((each) => far(each) === least)]
}

/**
 * As {@link closest}, for a sentence: `a, b and 3 more`; `nothing` when there are no names.
 *
 * @since 0.1.0
 */
export const candidates = (name: unknown, names: Iterable<string>): string => {
  const all = new Set(names)
  const near = (typeof name === "string" ? closest(name, all) : [...all].slice(0, most)).join(", ")
  return all.size === 0 ? "nothing" : all.size > most ? `${near} and ${all.size - most} more` : near
}

/**
 * What a message about an unknown name adds: `; known are a, b`. Nothing where there are no names.
 *
 * @since 0.1.0
 */
export const knownAs = (name: unknown, names: Iterable<string>): string => {
  const all = [...names]
  return all.length === 0 ? "" : `; known ${all.length === 1 ? "is" : "are"} ${candidates(name, all)}`
}
