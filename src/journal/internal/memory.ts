/**
 * A journal in memory. Behaves as the other stores do, down to the copies: rows hold text, so that what is read back shares
 * nothing with what was appended.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import type { Left, Listed, ListedReview, Listing, Owner } from "../Journal.ts"
import { canonicalRow, root } from "./chain.ts"
import { ReviewTaken } from "./errors.ts"
import type { Row } from "./row.ts"
import { sha256 } from "./sha256.ts"
import type { Commit, Store } from "./store.ts"

const encoder = new TextEncoder()

/** The rows of a run, hashed as far as somebody has asked. */
class History {
  readonly rows: Array<Row> = []
  private hashed = 0

  hashTo(version: number): string {
    for (; this.hashed < Math.min(version, this.rows.length); this.hashed++) {
      const row = this.rows[this.hashed]!
      const previous = this.rows[this.hashed - 1]?.hash ?? root
      this.rows[this.hashed] = { ...row, hash: sha256(encoder.encode(canonicalRow(previous, row))) }
    }
    return this.rows[Math.min(version, this.rows.length) - 1]?.hash ?? root
  }
}

/** Makes an empty one. */
export const makeMemory = (): Store => {
  const events = new Map<string, History>()
  const listings = new Map<string, Listing>()
  const reviews = new Map<string, ListedReview>()
  const commands = new Map<number, Left>()
  let owner: Owner | undefined
  let lastCommand = 0

  const handle = (id: number): void => {
    const command = commands.get(id)
    commands.delete(id)
    const review = command?.review === undefined ? undefined : reviews.get(command.review)
    if (review?.claimed === id) {
      const { claimed: _, ...free } = review
      reviews.set(review.review, free)
    }
  }

  const write = ({ handled = [], listing, reviews: changed = {}, rows, run }: Commit): void => {
    if (rows.length > 0) {
      const history = events.get(run) ?? new History()
      for (const row of rows) history.rows.push(row)
      events.set(run, history)
    }
    if (listing !== undefined) listings.set(run, { ...listing })
    for (const review of changed.opened ?? []) {
      const { claimed } = reviews.get(review.review) ?? {}
      reviews.set(review.review, { ...review, run, ...(claimed === undefined ? {} : { claimed }) })
    }
    for (const review of changed.closed ?? []) reviews.delete(review)
    for (const id of handled) handle(id)
  }

  return {
    location: "memory",
    gathers: false,
    claim: Effect.clockWith((clock) =>
      Effect.sync(() => {
        const now = Math.floor(clock.currentTimeMillisUnsafe())
        owner = { epoch: 1, name: "memory", since: now, heartbeatAt: now, released: false }
        return { epoch: 1 }
      })
    ),
    write: (_, commits) =>
      Effect.sync(() => {
        const lengths = new Map<string, number>()
        const collides = commits.some(({ rows, run }) => {
          const length = lengths.get(run) ?? events.get(run)?.rows.length ?? 0
          lengths.set(run, length + rows.length)
          return rows.length > 0 && length + 1 !== rows[0]?.version
        })
        if (collides) return "collision" as const
        for (const commit of commits) write(commit)
        return "written" as const
      }),
    remove: (_, run) =>
      Effect.sync(() => {
        events.delete(run)
        listings.delete(run)
        for (const { review, run: of } of reviews.values()) if (of === run) reviews.delete(review)
        for (const { id, run: of } of commands.values()) if (of === run) commands.delete(id)
      }),
    head: (run) =>
      Effect.sync(() => {
        const history = events.get(run)
        const version = history?.rows.length ?? 0
        return { version, hash: history?.hashTo(version) ?? root }
      }),
    page: (run, from, to, take) =>
      Effect.sync(() => {
        const history = events.get(run)
        if (history === undefined) return take([])
        const last = Math.min(from + 255, to)
        history.hashTo(last)
        return take(history.rows.slice(from - 1, last))
      }),
    ids: (after) =>
      Effect.sync(() =>
        [...events.keys()]
          .filter((run) => run > after)
          .toSorted((a, b) => (a < b ? -1 : 1))
          .slice(0, 500)
      ),
    runs: ({ desk, dueBy, limit, order = "newest", run: only, status }) =>
      Effect.sync(() => {
        const statuses = typeof status === "string" ? [status] : status
        const found: Array<Listed> = []
        for (const [run, listing] of listings) {
          if (only !== undefined && only !== run) continue
          if (statuses !== undefined && !statuses.includes(listing.status)) continue
          if (desk !== undefined && desk !== listing.desk) continue
          if (dueBy !== undefined && !(listing.wakeAt !== undefined && listing.wakeAt <= dueBy)) continue
          if (order === "due" && listing.wakeAt === undefined) continue
          const rows = events.get(run)?.rows ?? []
          found.push({ run, ...listing, version: rows.length, updatedAt: rows.at(-1)?.at ?? listing.startedAt })
        }
        const by = (a: Listed, b: Listed): number => {
          if (order === "newest") return b.startedAt - a.startedAt
          return order === "oldest" ? a.startedAt - b.startedAt : (a.wakeAt ?? 0) - (b.wakeAt ?? 0)
        }
        found.sort((a, b) => by(a, b) || (a.run < b.run ? -1 : 1))
        return limit === undefined ? found : found.slice(0, limit)
      }),
    reviews: (run) =>
      Effect.sync(() =>
        [...reviews.values()]
          .filter((review) => run === undefined || review.run === run)
          .toSorted((a, b) => a.openedAt - b.openedAt || (a.review < b.review ? -1 : 1))
          .map((review) => ({ ...review }))
      ),
    command: ({ data, review: id, ...command }) =>
      Effect.suspend(() => {
        const review = id === undefined ? undefined : reviews.get(id)
        if (id !== undefined && (review === undefined || review.run !== command.run)) {
          return Effect.fail(new ReviewTaken({ run: command.run, review: id, found: "not-open" }))
        }
        if (review?.claimed !== undefined) {
          return Effect.fail(new ReviewTaken({ run: command.run, review: review.review, found: "claimed" }))
        }
        lastCommand += 1
        if (review !== undefined) reviews.set(review.review, { ...review, claimed: lastCommand })
        const left = { ...command, id: lastCommand, data: JSON.parse(data) }
        commands.set(lastCommand, id === undefined ? left : { ...left, review: id })
        return Effect.succeed(lastCommand)
      }),
    commands: (run) =>
      Effect.sync(() => [...commands.values()].filter((command) => run === undefined || command.run === run)),
    owner: Effect.sync(() => owner),
    size: (run) =>
      Effect.sync(() => {
        const size = { events: 0, bytes: 0 }
        for (const [id, { rows }] of events) {
          if (run !== undefined && id !== run) continue
          size.events += rows.length
          for (const { data } of rows) size.bytes += encoder.encode(data).byteLength
        }
        return size
      }),
    check: Effect.void,
    // All word that is left here is left through the service, which tells of it itself.
    changes: Stream.never
  }
}
