/**
 * A run as lines of JSON, to be kept or carried elsewhere, and the way back into a journal.
 *
 * **Details**
 *
 * - The first line is the header: the format, the run, its head, what the list of runs and that of open reviews say. Then
 *   each event is a line, its data exactly as it is stored, and the last line says that this was all.
 * - With a store of artefacts, what an event refers to stands before it: lines with pieces of the content in base64, and one
 *   that ends them. Otherwise only the hashes are told, in the last line.
 * - Both ways hold one page of events, or one artefact, at a time.
 *
 * **Invariants**
 *
 * - E1. Nothing is imported whose hash does not follow from what is there and all that came before.
 * - E2. A run is in the list of runs once it is there whole, and not before.
 *
 * **Gotchas**
 *
 * What the header says of lists is not covered by the chain. It is a copy of what follows from the events, and can be made
 * anew from them. Word that was left for the owner and not taken in yet is not part of a run.
 *
 * **Example** (From one journal into another one)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Export, Journal } from "espalier/journal"
 *
 * const write = Effect.gen(function* () {
 *   const journal = yield* Journal.Journal
 *   const listing = { status: "finished", desk: "release", startedAt: 0 }
 *   yield* journal.append({ run: "r1", expected: 0, events: [{ type: "RunStarted", at: 0, data: null }], listing })
 *   return yield* Stream.runCollect(Export.lines("r1"))
 * })
 * const lines = await Effect.runPromise(Effect.provide(write, Journal.layerMemory))
 *
 * const read = Export.read(Stream.fromIterable(lines))
 * const { events, outcome } = await Effect.runPromise(Effect.provide(read, Journal.layerMemory))
 * const came = [lines.length, events, outcome]
 * came // => [3, 1, "imported"]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import type { Artefacts, ArtefactsError } from "./Artefacts.ts"
import * as Chain from "./Chain.ts"
import { showId, type VersionConflict } from "./internal/errors.ts"
import { Importing } from "./internal/importing.ts"
import {
  type Head,
  Journal,
  type JournalError,
  type Listed,
  type ListedReview,
  type OpenReview,
  type Stored
} from "./Journal.ts"
import { hashesIn, type Reference } from "./Reference.ts"

/**
 * The journal has no events of this run.
 *
 * @category errors
 * @since 0.1.0
 */
export class NothingToExport extends Schema.TaggedError<NothingToExport>("espalier/journal/Export/NothingToExport")(
  "NothingToExport",
  { run: Schema.String }
) {
  override get message(): string {
    return `the journal has no events of the run ${showId(this.run)}`
  }
}

/**
 * How to export.
 *
 * **Details**
 *
 * - `artefacts`: the store whose artefacts go along. Default: none goes along.
 * - `digest`: as for {@link Chain.Options}.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends Pick<Chain.Options, "digest"> {
  readonly artefacts?: Artefacts["Service"] | undefined
}

/** The format that this release writes, and the only one so far. */
export const format = 1

/** Bytes of an artefact in one line; a multiple of three, so that the texts of pieces are the text of the whole. */
const piece = 768 * 1024

const referenceOf = (hash: string): Reference => ({ uri: `artefact:${hash}`, hash })

/** What the lists say of a run at one moment: read again while the run goes on in between. */
const snapshot = Effect.fnUntraced(function* (run: string) {
  const journal = yield* Journal
  for (let tries = 1; ; tries++) {
    const [listed] = yield* journal.runs({ run })
    const head = yield* journal.head(run)
    const reviews = yield* journal.reviews(run)
    const [again] = yield* journal.runs({ run })
    if (JSON.stringify(listed) === JSON.stringify(again) || tries === 5) return { head, listed: again, reviews }
  }
})

const listingOf = ({ desk, reason, startedAt, status, wakeAt }: Listed) => ({
  status,
  desk,
  startedAt,
  ...(wakeAt === undefined ? {} : { wakeAt }),
  ...(reason === undefined ? {} : { reason })
})

const openOf = ({ dueAt, kind, openedAt, review, task }: ListedReview): OpenReview => ({
  review,
  kind,
  openedAt,
  ...(task === undefined ? {} : { task }),
  ...(dueAt === undefined ? {} : { dueAt })
})

/**
 * A run as lines, without line ends.
 *
 * **Details**
 *
 * - Events that are appended after it has begun are not in it.
 * - Fails with `ChainBroken` at the first event that does not hold, also when the lines before it are out already: a file that
 *   ends early is not imported.
 *
 * @category exporting
 * @since 0.1.0
 */
export const lines = (
  run: string,
  options: Options = {}
): Stream.Stream<string, NothingToExport | Chain.ChainBroken | ArtefactsError | JournalError, Journal> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const journal = yield* Journal
      const { artefacts, digest } = options
      const { head, listed, reviews } = yield* snapshot(run)
      if (head.version === 0) return yield* new NothingToExport({ run })
      const chain = Chain.walk(run, { head, digest })
      const told = new Set<string>()
      const missing = new Set<string>()
      const header = JSON.stringify({
        format: "espalier-run",
        version: format,
        run,
        head,
        ...(listed === undefined ? {} : { listing: listingOf(listed) }),
        reviews: reviews.map(openOf),
        artefacts: artefacts !== undefined
      })

      const before = (event: Stored): Stream.Stream<string, ArtefactsError> => {
        const fresh = [...new Set(hashesIn(event.data))].filter((hash) => !told.has(hash))
        for (const hash of fresh) told.add(hash)
        if (artefacts === undefined || fresh.length === 0) return Stream.empty
        return Stream.flatMap(Stream.fromIterable(fresh), (hash) =>
          Stream.unwrap(
            Effect.map(artefacts.has(referenceOf(hash)), (there) => {
              if (there) return contentLines(artefacts, hash)
              missing.add(hash)
              return Stream.empty
            })
          )
        )
      }

      const events = journal.rows(run, { to: head.version }).pipe(
        Stream.flatMap((event): Stream.Stream<string, Chain.ChainBroken | ArtefactsError> => {
          const broken = chain.add(event)
          if (broken !== undefined) return Stream.fail(broken)
          const { at, data, hash, type, version } = event
          const line = `{"version":${version},"type":${JSON.stringify(type)},"at":${at},"hash":"${hash}","data":${data}}`
          return Stream.concat(before(event), Stream.succeed(line))
        })
      )

      const last = Stream.suspend((): Stream.Stream<string, Chain.ChainBroken> => {
        const { damage, events } = chain.end()
        if (damage !== undefined) return Stream.fail(damage)
        const absent = missing.size === 0 ? {} : { missing: [...missing] }
        return Stream.succeed(JSON.stringify({ end: { events, artefacts: [...told], ...absent } }))
      })

      return Stream.concat(Stream.concat(Stream.succeed(header), events), last)
    })
  )

/** The content of an artefact in pieces, and the line that ends it. */
const contentLines = (store: Artefacts["Service"], hash: string): Stream.Stream<string, ArtefactsError> => {
  let bytes = 0
  const pieces = store.getStream(referenceOf(hash)).pipe(
    Stream.flatMap((chunk) => {
      bytes += chunk.length
      const parts: Array<string> = []
      for (let from = 0; from < chunk.length; from += piece) {
        parts.push(JSON.stringify({ artefact: hash, content: Base64.encode(chunk.subarray(from, from + piece)) }))
      }
      return Stream.fromIterable(parts)
    })
  )
  return Stream.concat(
    pieces,
    Stream.suspend(() => Stream.succeed(JSON.stringify({ artefact: hash, bytes })))
  )
}

/**
 * What is being imported is no export of a run, or was damaged. Nothing of it stays in the journal.
 *
 * **Details**
 *
 * - `line`: the number of the line, from 1. `field`: the one that is wrong, empty for the line as a whole.
 *
 * @category errors
 * @since 0.1.0
 */
export class ExportInvalid extends Schema.TaggedError<ExportInvalid>("espalier/journal/Export/ExportInvalid")(
  "ExportInvalid",
  { line: Schema.Int, field: Schema.String, problem: Schema.String }
) {
  override get message(): string {
    return `line ${this.line}${this.field === "" ? "" : `, ${this.field}`}: ${this.problem}`
  }
}

/**
 * The journal has a run of this id already, and it is not what is to be imported. Nothing was changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunThere extends Schema.TaggedError<RunThere>("espalier/journal/Export/RunThere")("RunThere", {
  run: Schema.String,
  version: Schema.Int,
  hash: Schema.String,
  exported: Schema.Int
}) {
  override get message(): string {
    return (
      `the journal has a run ${showId(this.run)} already, at version ${this.version} (${this.hash}); ` +
      `the export has version ${this.exported}`
    )
  }
}

/**
 * What came of an import.
 *
 * **Details**
 *
 * - `outcome`: `"imported"`, or `"there-already"`: the journal had the same run, and nothing was written.
 * - `artefacts`: how many were kept. `leftOut`: how many of those that stand in the file were not, because no store was given.
 *
 * @category models
 * @since 0.1.0
 */
export interface Imported {
  readonly run: string
  readonly events: number
  readonly head: Head
  readonly outcome: "imported" | "there-already"
  readonly artefacts: number
  readonly leftOut: number
}

/**
 * Imports a run from its lines, and checks each one on the way.
 *
 * **Details**
 *
 * - Fails with {@link ExportInvalid} at the first line that does not hold, and with {@link RunThere} when the journal has
 *   another run of this id, or one that has gone on.
 * - A run of up to 500 events and 4 MiB is one commit. A larger one is several; its listing comes with the last one. When it
 *   fails or is interrupted, what was written is removed again. When the process dies, an unlisted beginning is left, and
 *   the next import of the same run goes on from it.
 * - Artefacts are kept before the events that refer to them. Of a failed import some may be left; collecting removes them.
 *
 * @category importing
 * @since 0.1.0
 */
export const read = <E, R>(
  lines: Stream.Stream<string, E, R>,
  options: Options = {}
): Effect.Effect<
  Imported,
  E | ExportInvalid | RunThere | ArtefactsError | VersionConflict | JournalError,
  Journal | R
> =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const importing = new Importing(journal, options, {
      invalid: (line, field, problem) => new ExportInvalid({ line, field, problem }),
      there: (run, head, exported) => new RunThere({ run, version: head.version, hash: head.hash, exported })
    })
    return yield* Stream.runForEach(lines, (line) => importing.take(line)).pipe(
      Effect.andThen(importing.finish()),
      Effect.onExit((exit) => Effect.ignore(importing.undo(exit)))
    )
  })
