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
import * as Stream from "effect/Stream"

import * as Export from "../journal/Export.ts"
import { many } from "../run/internal/problems.ts"
import * as Rebuild from "../run/Rebuild.ts"
import { absentOf, artefactsIn } from "./artefacts.ts"
import { differencesText, keptText } from "./differing.ts"
import { Damaged, type Refused } from "./failures.ts"
import { refused } from "./files.ts"
import { Stores } from "./opening.ts"
import { finding, print, printJson, warn, write } from "./printing.ts"
import { demand } from "./reading.ts"

const digest = (text: string): string => hash("sha256", text, "hex")

/** Writes a run into a file of its own, or to standard output. A file is there whole, or not at all. */
export const exportRun = Effect.fnUntraced(function* (run: string, out: string | undefined, withArtefacts: boolean) {
  yield* demand(run)
  const artefacts = withArtefacts ? yield* Stores : undefined
  const referred = new Set<string>()
  const lines = Stream.tap(Export.lines(run, { digest, ...(artefacts === undefined ? {} : { artefacts }) }), (line) =>
    Effect.sync(() => {
      for (const each of artefactsIn(line)) referred.add(each)
    })
  )
  const tell = Effect.gen(function* () {
    if (referred.size === 0) return
    if (!withArtefacts) {
      return yield* warn(
        `the run refers to ${many(referred.size, "artefact")} that the export does not hold: --artefacts puts them in`
      )
    }
    const absent = yield* absentOf(referred)
    if (absent > 0)
      yield* warn(`the export lacks ${many(absent, "artefact")} that the run refers to and the store does not have`)
  })
  if (out === undefined)
    return yield* Effect.andThen(
      Stream.runForEach(lines, (line) => write(`${line}\n`)),
      tell
    )
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
  yield* tell
})

/** Takes a run out of a file into the journal, and puts right what the lists say of it. */
export const importRun = Effect.fnUntraced(function* (file: string, json: boolean) {
  const artefacts = yield* Stores
  const bytes = Stream.fromAsyncIterable<Uint8Array, Refused>(
    file === "-" ? process.stdin : createReadStream(file),
    (cause) => refused(`${file} cannot be read`, cause)
  )
  const referred = new Set<string>()
  const lines = Stream.tap(Stream.splitLines(Stream.decodeText(bytes)), (line) =>
    Effect.sync(() => {
      for (const each of artefactsIn(line)) referred.add(each)
    })
  )
  const imported = yield* Export.read(lines, { digest, artefacts })
  const lists = yield* Rebuild.run(imported.run)
  const { events, head, outcome, run } = imported
  const absent = yield* absentOf(referred)
  if (absent > 0) {
    yield* warn(
      `the run refers to ${many(absent, "artefact")} that the store does not have: export it with --artefacts`
    )
  }
  if (lists.kept === true) yield* warn(`${run}: ${differencesText(lists.differences)}: ${keptText}`)
  if (json) return yield* printJson({ ...imported, lists: lists.what })
  const how = outcome === "imported" ? "imported" : "there already"
  yield* print(`${run}: ${how}, ${events} events, head ${head.version}:${head.hash}`)
  if (imported.artefacts > 0) yield* print(many(imported.artefacts, "artefact"))
})

const changeText = ({ differences, ghost, kept, run, unread }: Rebuild.Change, dryRun: boolean): string => {
  if (unread !== undefined) return finding("unread", run, unread.message)
  if (ghost === true) return finding("ghost", run, "it is listed and has no events")
  const said = differencesText(differences)
  if (kept === true) return finding("kept", run, `${said}: ${keptText}. --force lists it so all the same`)
  return finding(dryRun ? "differs" : "rebuilt", run, said)
}

/** Makes the lists anew. */
export const rebuild = Effect.fnUntraced(function* (options: Rebuild.Options, json: boolean) {
  const dryRun = options.dryRun === true
  const changes: Array<Rebuild.Change> = []
  yield* Stream.runForEach(Rebuild.all(options), (change) => {
    changes.push(change)
    return json ? Effect.void : print(changeText(change, dryRun))
  })
  const count = (of: (change: Rebuild.Change) => boolean): number => changes.filter(of).length
  const kept = count((change) => change.kept === true)
  const put = count(({ what }) => what.length > 0) - (dryRun ? 0 : kept)
  if (json) {
    yield* printJson(
      changes.map(({ differences, ghost, kept, run, unread, what }) => ({
        run,
        what,
        differences,
        ...(kept === undefined ? {} : { kept }),
        ...(ghost === undefined ? {} : { ghost }),
        ...(unread === undefined ? {} : { unread: unread.message })
      }))
    )
  } else {
    const left = kept === 0 || dryRun ? "" : `, ${kept} left as ${kept === 1 ? "it is" : "they are"}`
    yield* print(`${many(put, "run")} ${dryRun ? (put === 1 ? "differs" : "differ") : "rebuilt"}${left}`)
  }
  if (count(({ unread }) => unread !== undefined) > 0 || (kept > 0 && !dryRun)) return yield* new Damaged()
})
