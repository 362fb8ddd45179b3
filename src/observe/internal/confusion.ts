/**
 * What labelled choices say about whoever chose.
 *
 * @since 0.1.0
 */

/** A choice, and the one that would have been right. */
export interface Pair {
  readonly predicted: string
  readonly expected: string
}

/** How one class was hit. */
export interface Hits {
  readonly name: string
  readonly hits: number
  readonly predicted: number
  readonly expected: number
}

/** The matrix as counts: how often each was expected, and what was predicted then. */
export const matrixOf = (pairs: Iterable<Pair>): ReadonlyMap<string, ReadonlyMap<string, number>> => {
  const matrix = new Map<string, Map<string, number>>()
  for (const { expected, predicted } of pairs) {
    const row = matrix.get(expected) ?? new Map<string, number>()
    matrix.set(expected, row.set(predicted, (row.get(predicted) ?? 0) + 1))
  }
  return matrix
}

/** The classes of a matrix, by name: all that were expected or predicted. */
export const hitsOf = (matrix: ReadonlyMap<string, ReadonlyMap<string, number>>): ReadonlyArray<Hits> => {
  const counts = new Map<string, { hits: number; predicted: number; expected: number }>()
  const of = (name: string) => {
    const known = counts.get(name) ?? { hits: 0, predicted: 0, expected: 0 }
    counts.set(name, known)
    return known
  }
  for (const [expected, row] of matrix) {
    for (const [predicted, count] of row) {
      of(expected).expected += count
      of(predicted).predicted += count
      if (expected === predicted) of(expected).hits += count
    }
  }
  return Array.from(counts, ([name, count]) => ({ name, ...count })).toSorted((one, other) =>
    one.name < other.name ? -1 : 1
  )
}

/** A share, or nothing where there is nothing to take it of. */
export const share = (part: number, whole: number): number | undefined => (whole === 0 ? undefined : part / whole)

/** The harmonic mean of precision and recall; 0 where nothing was hit. */
export const f1Of = ({ expected, hits, predicted }: Hits): number => (2 * hits) / (predicted + expected)
