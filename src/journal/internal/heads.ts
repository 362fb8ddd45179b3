/**
 * Where the runs end that an owner writes to: nobody else appends to them, so they need not be asked for again.
 */
import { canonicalRow, root } from "./chain.ts"
import type { Row } from "./row.ts"
import type { Head } from "./store.ts"

/** The end of a run without events. */
export const none: Head = { version: 0, hash: root }

/** The most runs that are remembered; the one that was heard of first is forgotten first. */
const most = 4096

/** The ends of runs, as far as they are known. */
export class Heads {
  private readonly known = new Map<string, Head>()

  get(run: string): Head | undefined {
    return this.known.get(run)
  }

  set(run: string, head: Head): void {
    this.known.delete(run)
    this.known.set(run, head)
    if (this.known.size <= most) return
    for (const oldest of this.known.keys()) {
      this.known.delete(oldest)
      return
    }
  }

  forget(run: string): void {
    this.known.delete(run)
  }
}

/** The rows with their hashes, as they follow a head. */
export const chained = (
  head: Head,
  rows: ReadonlyArray<Row>,
  digest: ((text: string) => string) | undefined
): ReadonlyArray<Row> => {
  if (digest === undefined) return rows
  let previous = head.hash
  return rows.map((row) => {
    previous = digest(canonicalRow(previous, row))
    return { ...row, hash: previous }
  })
}
