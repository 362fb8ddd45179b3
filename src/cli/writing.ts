// @effect-diagnostics nodeBuiltinImport:off -- exports are files, and the platform hashes many times as fast.
/**
 * The commands that write: an export into a file, a run into a journal, lists. A Node file: uses `node:crypto`, `node:fs` and
 * `node:process`.
 *
 * @since 0.1.0
 */
import { hash } from "node:crypto"
import { createReadStream } from "node:fs"
import { link, open, rm } from "node:fs/promises"
import process from "node:process"

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"

import * as Export from "../journal/Export.ts"
import { plain } from "../run/internal/text.ts"
import * as Rebuild from "../run/Rebuild.ts"
import { Damaged, Refused } from "./failures.ts"
import { Stores } from "./opening.ts"
import { print, printJson, write } from "./printing.ts"
import { demand } from "./reading.ts"

const digest = (text: string): string => hash("sha256", text, "hex")

/** What the system said of a file. */
const refused = (what: string, cause: unknown): Refused => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : "unknown"
  const why = code === "EEXIST" ? "it is there already" : code === "ENOENT" ? "it is not there" : code
  return new Refused({ reason: `${what}: ${why}` })
}

/** Writes a run into a file of its own, or to standard output. A file is there whole, or not at all. */
export const exportRun = Effect.fnUntraced(function* (run: string, out: string | undefined, withArtefacts: boolean) {
  yield* demand(run)
  const artefacts = withArtefacts ? yield* Stores : undefined
  const lines = Export.lines(run, { digest, ...(artefacts === undefined ? {} : { artefacts }) })
  if (out === undefined) return yield* Stream.runForEach(lines, (line) => write(`${line}\n`))
  const attempt = <A>(step: () => Promise<A>) =>
    Effect.tryPromise({ try: step, catch: (cause) => refused(`${out} cannot be written`, cause) })
  const beside = `${out}.${process.pid}.part`
  yield* Effect.acquireUseRelease(
    attempt(() => open(beside, "wx", 0o600)),
    (file) =>
      Stream.runForEach(lines, (line) => attempt(() => file.write(`${line}\n`))).pipe(
        Effect.andThen(attempt(() => file.sync())),
        // A link is refused where a file is already; a new name would take its place.
        Effect.andThen(attempt(() => link(beside, out)))
      ),
    (file) =>
      Effect.ignore(
        Effect.andThen(
          attempt(() => file.close()),
          attempt(() => rm(beside, { force: true }))
        )
      )
  )
})

/** Takes a run out of a file into the journal, and puts right what the lists say of it. */
export const importRun = Effect.fnUntraced(function* (file: string, json: boolean) {
  const artefacts = yield* Stores
  const bytes = Stream.fromAsyncIterable<Uint8Array, Refused>(
    file === "-" ? process.stdin : createReadStream(file),
    (cause) => refused(`${file} cannot be read`, cause)
  )
  const lines = Stream.splitLines(Stream.decodeText(bytes))
  const imported = yield* Export.read(lines, { digest, artefacts })
  const lists = yield* Rebuild.run(imported.run)
  const { events, head, outcome, run } = imported
  if (json) return yield* printJson({ ...imported, lists: lists.what })
  const how = outcome === "imported" ? "imported" : "there already"
  yield* print(`${run}: ${how}, ${events} events, head ${head.version}:${head.hash}`)
  if (imported.artefacts > 0) yield* print(`${imported.artefacts} artefacts`)
})

/** Makes the lists anew. */
export const rebuild = Effect.fnUntraced(function* (dryRun: boolean, json: boolean) {
  const changes: Array<Rebuild.Change> = []
  let unread = 0
  yield* Stream.runForEach(Rebuild.all({ dryRun }), (change) =>
    Effect.suspend(() => {
      changes.push(change)
      if (change.unread !== undefined) unread += 1
      if (json) return Effect.void
      const { ghost, run, what } = change
      return print(
        change.unread !== undefined
          ? `unread   ${run}  ${plain(change.unread.message)}`
          : ghost === true
            ? `ghost    ${run}  it is listed and has no events`
            : `${dryRun ? "differs" : "rebuilt"}  ${run}  ${what.join(", ")}`
      )
    })
  )
  const put = changes.filter(({ what }) => what.length > 0).length
  if (json) {
    yield* printJson(
      changes.map(({ ghost, run, unread, what }) => ({
        run,
        what,
        ...(ghost === undefined ? {} : { ghost }),
        ...(unread === undefined ? {} : { unread: unread.message })
      }))
    )
  } else
    yield* print(`${put === 1 ? "1 run" : `${put} runs`} ${dryRun ? (put === 1 ? "differs" : "differ") : "rebuilt"}`)
  if (unread > 0) return yield* new Damaged()
})
