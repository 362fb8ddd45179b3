/**
 * The artefacts that the events of runs refer to: whether they are there, and whether they are what their hashes say.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import type { Reference } from "../journal/Reference.ts"
import { Stores } from "./opening.ts"

/** The hashes of the artefacts that a text refers to. Hashes of what lies elsewhere are none of them. */
export const artefactsIn = (text: string): ReadonlyArray<string> =>
  text.match(/(?<=artefact:)sha256:[0-9a-f]{64}/g) ?? []

const referenceOf = (hash: string): Reference => ({ uri: `artefact:${hash}`, hash })

/** Ends of a dispatch whose result stands. */
const taken: ReadonlySet<unknown> = new Set(["accepted", "partial"])

/** Whether an event is a report that was not taken: a worker may have named in it what there never was. */
const isRefusedReport = ({ data, type }: Journal.Stored): boolean => {
  if (type !== "Reported") return false
  try {
    const report: unknown = JSON.parse(data)
    return !Predicate.hasProperty(report, "outcome") || !taken.has(report.outcome)
  } catch {
    return true
  }
}

/** An artefact that is not there, or not what its hash says. */
export interface BrokenArtefact {
  readonly hash: string
  readonly version: number
  readonly problem: "missing" | "altered"
}

/** Looks at every artefact that a run refers to, each once, and reads it whole. `version`: of the first event that does. */
export const brokenOf = Effect.fnUntraced(function* (run: string) {
  const journal = yield* Journal.Journal
  const store = yield* Stores
  const versions = new Map<string, number>()
  yield* Stream.runForEach(journal.rows(run), (event) =>
    Effect.sync(() => {
      if (!event.data.includes("artefact:sha256:") || isRefusedReport(event)) return
      for (const hash of artefactsIn(event.data)) if (!versions.has(hash)) versions.set(hash, event.version)
    })
  )
  const found = yield* Effect.forEach(versions, ([hash, version]) => {
    const problem = (problem: BrokenArtefact["problem"]) =>
      Effect.succeed<ReadonlyArray<BrokenArtefact>>([{ hash, version, problem }])
    // Verifying would make it young again to whoever collects: this only looks.
    return Stream.runDrain(store.getStream(referenceOf(hash))).pipe(
      Effect.as<ReadonlyArray<BrokenArtefact>>([]),
      Effect.catch((error) =>
        error.reason._tag === "ArtefactMissing"
          ? problem("missing")
          : error.reason._tag === "ArtefactMismatch"
            ? problem("altered")
            : Effect.fail(error)
      )
    )
  })
  return { artefacts: versions.size, broken: found.flat() }
})

/** How many artefacts the events of a run, or of all of them, refer to that are there, and how much they hold. */
export const artefactsOf = Effect.fnUntraced(function* (run: string | undefined) {
  const journal = yield* Journal.Journal
  const store = yield* Stores
  const hashes = new Set<string>()
  const runs = run === undefined ? journal.ids : Stream.succeed(run)
  yield* Stream.runForEach(
    Stream.flatMap(runs, (each) => journal.rows(each)),
    ({ data }) => Effect.sync(() => artefactsIn(data).forEach((hash) => hashes.add(hash)))
  )
  let count = 0
  let bytes = 0
  for (const hash of hashes) {
    if (!(yield* store.has(referenceOf(hash)))) continue
    count += 1
    yield* Stream.runForEach(store.getStream(referenceOf(hash)), (piece) =>
      Effect.sync(() => {
        bytes += piece.length
      })
    ).pipe(
      // Whether it is what its hash says is not asked here.
      Effect.catch((error) => (error.reason._tag === "ArtefactMismatch" ? Effect.void : Effect.fail(error)))
    )
  }
  return { count, bytes }
})

/** How many of these the store does not have. */
export const absentOf = Effect.fnUntraced(function* (hashes: ReadonlySet<string>) {
  const store = yield* Stores
  const there = yield* Effect.forEach(hashes, (hash) => store.has(referenceOf(hash)))
  return there.filter((each) => !each).length
})
