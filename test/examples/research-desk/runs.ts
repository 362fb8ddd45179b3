/** Runs of the research desk on the test clock, over the notes that ship with it. */
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

import { Effect, Layer, Stream } from "effect"
import { Journal } from "espalier/journal"
import { type Contract, Dependency, type Outcome, Run, type RunEvent } from "espalier/run"
import { VirtualTime } from "espalier/testing"

import { defaultTopic } from "../../../examples/research-desk/arguments.ts"
import { conduct } from "../../../examples/research-desk/conduct.ts"
import type { Options } from "../../../examples/research-desk/desk.ts"
import { type Fail, type Force, type Setting, settingOf } from "../../../examples/research-desk/forced.ts"
import { Library, type Note, type Notes, parse } from "../../../examples/research-desk/Library.ts"
import { reportOf } from "../../../examples/research-desk/print.ts"
import * as Prices from "../../../examples/shared/prices.ts"

const folder = fileURLToPath(new URL("../../../examples/research-desk/notes/", import.meta.url))

export const noteOf = (file: string, text: string): Note => {
  const note = parse(file, new TextEncoder().encode(text))
  if (typeof note === "string") throw new Error(`${file}: ${note}`)
  return note
}

export const shipped: Notes = {
  notes: readdirSync(folder)
    .toSorted()
    .map((file) => noteOf(file, readFileSync(folder + file, "utf8"))),
  unread: []
}

export interface Asked {
  readonly force?: Force | undefined
  readonly fail?: Fail | undefined
  readonly answer?: RunEvent.Decision | undefined
  readonly topic?: string | undefined
  readonly notes?: Notes | undefined
  readonly desk?: Options | undefined
  readonly limits?: Contract.Limits | undefined
}

export interface Ran {
  readonly outcome: Outcome.Outcome
  readonly events: ReadonlyArray<RunEvent.RunEvent>
}

/** A run with its history; minutes of waiting take no time. */
export const run = ({ answer, desk, fail, force, limits, notes = shipped, topic = defaultTopic }: Asked) => {
  const forced = settingOf(force, fail)
  const setting: Setting = { ...forced, limits: limits ?? forced.limits }
  return Effect.gen(function* () {
    const outcome = yield* VirtualTime.elapse(
      conduct({
        run: "r1",
        input: { topic, folder, ...(force === undefined ? {} : { force }) },
        setting,
        answer,
        desk: { jitter: 0, ...desk }
      }),
      "5 minutes"
    )
    return { outcome, events: yield* Stream.runCollect(Run.events("r1")) } satisfies Ran
  }).pipe(
    Effect.provideService(Library, { notes }),
    Effect.provide(Layer.mergeAll(Journal.layerMemory, Dependency.layer(), Prices.layer))
  )
}

/** The report of a run that has one. */
export const report = ({ outcome }: Ran) => {
  const found = reportOf(outcome)
  if (found === undefined) throw new Error(`no report: ${outcome.note}`)
  return found
}

/** Every dispatch with its worker, how it ended and after how many attempts. */
export const rows = ({ outcome }: Ran): ReadonlyArray<string> =>
  outcome.dispatches.map(
    ({ attempts, dispatch, outcome, worker }) => `${dispatch.slice(3)} ${worker} ${outcome} ${attempts}`
  )

export const tagged = <Tag extends RunEvent.RunEvent["_tag"]>({ events }: Ran, tag: Tag) =>
  events.filter((event): event is RunEvent.Of<Tag> => event._tag === tag)
