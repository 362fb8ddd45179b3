/**
 * An import of a run, line by line: what has been read, what has been written, and what is still to come.
 */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { Artefacts, ArtefactsError } from "../Artefacts.ts"
import * as Chain from "../Chain.ts"
import type { ExportInvalid, Imported, RunThere } from "../Export.ts"
import type { Event, Head, Journal, JournalError, Stored } from "../Journal.ts"
import { joined } from "./artefactStore.ts"
import type { VersionConflict } from "./errors.ts"

/** Events of one commit, and the characters of their data. */
const mostEvents = 500
const mostChars = 4 * 1024 * 1024

const Header = Schema.Struct({
  format: Schema.Literal("espalier-run"),
  version: Schema.Int,
  run: Schema.String,
  head: Schema.Struct({ version: Schema.Int, hash: Schema.String }),
  listing: Schema.optionalKey(
    Schema.Struct({
      status: Schema.String,
      desk: Schema.String,
      startedAt: Schema.Int,
      wakeAt: Schema.optionalKey(Schema.Int),
      reason: Schema.optionalKey(Schema.String)
    })
  ),
  reviews: Schema.Array(
    Schema.Struct({
      review: Schema.String,
      kind: Schema.String,
      task: Schema.optionalKey(Schema.String),
      openedAt: Schema.Int,
      dueAt: Schema.optionalKey(Schema.Int)
    })
  )
})

const decodeHeader = Schema.decodeUnknownResult(Header)

type Line = { readonly [field: string]: Schema.Json }

type Refused = ExportInvalid | RunThere | ArtefactsError | VersionConflict | JournalError

interface Options extends Pick<Chain.Options, "digest"> {
  readonly artefacts?: Artefacts["Service"] | undefined
}

interface Errors {
  readonly invalid: (line: number, field: string, problem: string) => ExportInvalid
  readonly there: (run: string, head: Head, exported: number) => RunThere
}

interface Open {
  readonly header: typeof Header.Type
  readonly chain: Chain.Walk
  /** What the journal had when this began. */
  readonly had: Head
}

/** The versions of the format that are read. */
const newest = 1

/** One import. */
export class Importing {
  private line = 0
  private open: Open | undefined
  private ended = false
  private written = 0
  private events: Array<Event> = []
  private chars = 0
  private last: Head = { version: 0, hash: "" }
  private content: { readonly hash: string; readonly pieces: Array<Uint8Array> } | undefined
  private kept = 0
  private leftOut = 0
  private readonly journal: Journal["Service"]
  private readonly options: Options
  private readonly errors: Errors

  constructor(journal: Journal["Service"], options: Options, errors: Errors) {
    this.journal = journal
    this.options = options
    this.errors = errors
  }

  private invalid(field: string, problem: string): Effect.Effect<never, ExportInvalid> {
    return Effect.fail(this.errors.invalid(this.line, field, problem))
  }

  /** Takes a line in. What was written is removed again when it fails or is interrupted. */
  take(text: string): Effect.Effect<void, Refused> {
    return Effect.suspend(() => {
      this.line += 1
      if (text === "" && this.ended) return Effect.void
      if (this.ended) return this.invalid("", "must not come after the last line")
      let line: unknown
      try {
        line = JSON.parse(text)
      } catch {
        return this.invalid("", "must be JSON")
      }
      if (typeof line !== "object" || line === null || Array.isArray(line)) {
        return this.invalid("", "must be an object")
      }
      const fields = line as Line
      if (this.open === undefined) return this.begin(fields)
      if ("artefact" in fields) return this.artefact(fields)
      if (this.content !== undefined) {
        return this.invalid("", `must go on with the artefact ${this.content.hash}`)
      }
      return "end" in fields ? this.end(fields["end"]) : this.event(this.open, fields)
    })
  }

  private begin(fields: Line): Effect.Effect<void, Refused> {
    const { format, version } = fields
    if (format !== "espalier-run") return this.invalid("format", 'must be "espalier-run": this is no export of a run')
    if (typeof version === "number" && version > newest) {
      return this.invalid("version", `must be at most ${newest}: a newer release has written it`)
    }
    const decoded = decodeHeader(fields)
    if (Result.isFailure(decoded))
      return this.invalid("", `must be the header of an export: ${decoded.failure.message}`)
    const header = decoded.success
    const { head, run } = header
    if (head.version < 1) return this.invalid("head.version", `must be >= 1, is ${head.version}`)
    return Effect.gen({ self: this }, function* () {
      const had = yield* this.journal.head(run)
      const [listed] = had.version === 0 ? [] : yield* this.journal.runs({ run })
      const same = had.version === head.version && had.hash === head.hash
      // What is not listed is the beginning of an import that was cut off, as far as it agrees with this one.
      const begun = had.version < head.version && listed === undefined
      if (!same && !begun) return yield* this.errors.there(run, had, head.version)
      this.open = { header, chain: Chain.walk(run, { head, digest: this.options.digest }), had }
    })
  }

  private event({ chain, had, header }: Open, fields: Line): Effect.Effect<void, Refused> {
    const { at, data, hash, type, version } = fields
    if (typeof version !== "number" || !Number.isSafeInteger(version)) {
      return this.invalid("version", "must be a whole number")
    }
    if (typeof type !== "string") return this.invalid("type", "must be a string")
    if (typeof at !== "number" || !Number.isSafeInteger(at)) return this.invalid("at", "must be a whole number")
    if (typeof hash !== "string") return this.invalid("hash", "must be a string")
    if (data === undefined) return this.invalid("data", "must be there")
    if (version > header.head.version) return this.invalid("version", `must be at most ${header.head.version}`)
    const stored: Stored = { version, type, at, hash, data: JSON.stringify(data) }
    const broken = chain.add(stored)
    if (broken !== undefined) {
      return broken.problem === "missing"
        ? this.invalid("version", `must be ${broken.version}, is ${version}`)
        : this.invalid("hash", `must be ${broken.expected}, is ${hash}: the event, or one before it, was changed`)
    }
    if (version === had.version && hash !== had.hash) {
      return Effect.fail(this.errors.there(header.run, had, header.head.version))
    }
    this.last = { version, hash }
    if (version <= had.version) return Effect.void
    this.events.push({ type, at, data })
    this.chars += stored.data.length
    const full = this.events.length >= mostEvents || this.chars >= mostChars
    return full && version < header.head.version ? this.write(header, {}) : Effect.void
  }

  private write(
    { run }: typeof Header.Type,
    lists: Partial<Pick<Parameters<Journal["Service"]["append"]>[0], "listing" | "reviews">>
  ): Effect.Effect<void, VersionConflict | JournalError> {
    const { events } = this
    if (events.length === 0) return Effect.void
    const expected = this.last.version - events.length
    return Effect.map(this.journal.append({ run, expected, events, ...lists }), () => {
      this.written += events.length
      this.events = []
      this.chars = 0
    })
  }

  private artefact(fields: Line): Effect.Effect<void, Refused> {
    const { artefact: hash, bytes, content } = fields
    if (typeof hash !== "string") return this.invalid("artefact", "must be a hash")
    if (this.content !== undefined && this.content.hash !== hash) {
      return this.invalid("artefact", `must be ${this.content.hash}, which has not ended, is ${hash}`)
    }
    const open = this.content ?? { hash, pieces: [] }
    if (content !== undefined) {
      const decoded = typeof content === "string" ? Base64.decode(content) : undefined
      if (decoded === undefined || Result.isFailure(decoded)) return this.invalid("content", "must be base64")
      if (this.options.artefacts !== undefined) open.pieces.push(decoded.success)
      this.content = open
      return Effect.void
    }
    this.content = undefined
    const store = this.options.artefacts
    if (store === undefined) {
      this.leftOut += 1
      return Effect.void
    }
    const whole = joined(open.pieces)
    if (bytes !== whole.length)
      return this.invalid("bytes", `must be ${whole.length}, the bytes that came, is ${String(bytes)}`)
    return Effect.flatMap(store.put(whole), (kept) => {
      if (kept.hash !== hash)
        return this.invalid("artefact", `must be ${kept.hash}, the hash of its content, is ${hash}`)
      this.kept += 1
      return Effect.void
    })
  }

  private end(end: Schema.Json | undefined): Effect.Effect<void, Refused> {
    const events = typeof end === "object" && end !== null && "events" in end ? end.events : undefined
    if (events !== this.last.version) {
      return this.invalid("end.events", `must be ${this.last.version}, the events that came, is ${String(events)}`)
    }
    this.ended = true
    return Effect.void
  }

  /** There are no more lines: writes what is left, with the lists, or says why it cannot be. */
  finish(): Effect.Effect<Imported, Refused> {
    return Effect.suspend((): Effect.Effect<Imported, Refused> => {
      const { chain, had, header } = this.open ?? {}
      if (chain === undefined || had === undefined || header === undefined) {
        this.line += 1
        return this.invalid("", "must be the header of an export: there is nothing")
      }
      const { damage, head } = chain.end()
      if (!this.ended) return this.invalid("", "must not be the last one: the export was cut off")
      if (damage !== undefined) {
        return this.invalid(
          "head",
          `must be ${header.head.hash} at version ${header.head.version}, is ${head.hash} at version ${head.version}`
        )
      }
      const { listing, reviews, run } = header
      const outcome = this.events.length === 0 ? ("there-already" as const) : ("imported" as const)
      const lists = listing === undefined ? {} : { listing, reviews: { opened: reviews } }
      return Effect.as(this.write(header, lists), {
        run,
        events: head.version,
        head,
        outcome,
        artefacts: this.kept,
        leftOut: this.leftOut
      })
    })
  }

  /** Removes what this import has written, unless it went on with what was there before. */
  undo(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void, JournalError> {
    return Effect.suspend(() =>
      Exit.isFailure(exit) && this.written > 0 && this.open?.had.version === 0
        ? this.journal.remove(this.open.header.run)
        : Effect.void
    )
  }
}
