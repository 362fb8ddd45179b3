// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes many times as fast.
/**
 * The commands that only look. A Node file: uses `node:crypto`.
 *
 * @since 0.1.0
 */
import { hash } from "node:crypto"

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import * as Chain from "../journal/Chain.ts"
import * as Journal from "../journal/Journal.ts"
import * as Audit from "../run/Audit.ts"
import { knownAs } from "../run/internal/closest.ts"
import { many } from "../run/internal/problems.ts"
import { foldRun } from "../run/internal/reading.ts"
import { plain } from "../run/internal/text.ts"
import type * as Rebuild from "../run/Rebuild.ts"
import * as Run from "../run/Run.ts"
import * as RunState from "../run/RunState.ts"
import * as Standing from "../run/Standing.ts"
import { artefactsOf, brokenOf, type BrokenArtefact } from "./artefacts.ts"
import { askedOf } from "./asked.ts"
import { auditTable, stepText } from "./auditing.ts"
import { differencesText, listsOf } from "./differing.ts"
import { Damaged, Misused, Refused } from "./failures.ts"
import { finding, here, print, printJson, printJsonText, table, time, warn } from "./printing.ts"
import { shownOf, textOf } from "./showing.ts"
import { status } from "./table.ts"

const sha256 = (text: string): string => hash("sha256", text, "hex")

/** What a message about a run that is not there adds: the runs whose ids are most like it. */
export const nearRuns = Effect.fnUntraced(function* (run: string) {
  const journal = yield* Journal.Journal
  return knownAs(run, yield* Stream.runCollect(Stream.take(journal.ids, 10_000)))
})

/** Fails with the names that are near when the journal has no such run; its version otherwise. */
export const demand = Effect.fnUntraced(function* (run: string) {
  const journal = yield* Journal.Journal
  const version = yield* journal.version(run)
  if (version > 0) return version
  return yield* new Refused({ reason: `the journal has no run ${run}${yield* nearRuns(run)}` })
})

/** Lists runs. */
export const runs = Effect.fnUntraced(function* (filter: Journal.Filter, json: boolean) {
  const journal = yield* Journal.Journal
  const listed = yield* journal.runs(filter)
  if (json) return yield* printJson(listed)
  if (listed.length === 0) return yield* print("no runs")
  yield* print(
    table(
      ["run", "status", "desk", "events", "started", "last event", "reason"],
      listed.map(({ desk, reason = "", run, startedAt, status: now, updatedAt, version }) => [
        run,
        status(now),
        desk,
        String(version),
        time(startedAt),
        time(updatedAt),
        reason
      ])
    )
  )
})

/** Shows a run. */
export const show = Effect.fnUntraced(function* (run: string, json: boolean) {
  yield* demand(run)
  const journal = yield* Journal.Journal
  let paid = 0
  const read = yield* foldRun(run, ({ _tag }) => {
    if (_tag === "Spent") paid += 1
  })
  const outcome = read.fold.outcome(read.state)
  if (outcome === undefined) return yield* new Refused({ reason: `the run ${run} has not begun` })
  const events = yield* Stream.runCollect(journal.rows(run, { from: read.state.version, to: read.state.version }))
  const standing = Standing.of(read.state, read.fold)
  const { decided, open } = yield* askedOf(run, read.state.version)
  const owner = yield* journal.owner
  const now = yield* Clock.currentTimeMillis
  const hash = events[0]?.hash ?? ""
  const shown = shownOf(read, outcome, standing, { hash, asked: open, decided, paid, owner, now })
  yield* json ? printJson(shown) : print(textOf(here(), shown))
})

/** Prints the rows of one run or of all. */
export const audit = Effect.fnUntraced(function* (
  run: string | undefined,
  query: Audit.Query,
  form: "table" | "lines" | "json"
) {
  if (run !== undefined) yield* demand(run)
  const found = run === undefined ? Audit.ofAll(query) : Stream.fromEffect(Audit.ofRun(run, query))
  const whole: Array<Audit.Found> = []
  let damaged = false
  let some = false
  yield* Stream.runForEach(found, (each) =>
    Effect.gen(function* () {
      if (each.rows.length > 0) some = true
      if (each.unread !== undefined) {
        damaged = true
        yield* warn(plain(each.unread.message))
      }
      if (form !== "lines") whole.push(each)
      else for (const row of each.rows) yield* printJsonText(Audit.line(each.run, row))
    })
  )
  const rows = whole
    .flatMap(({ run, rows }) => rows.map((row) => ({ run, ...row, retries: row.attempts - 1 })))
    .toSorted((one, other) => (run === undefined ? one.startedAt - other.startedAt : 0))
  if (form === "json") yield* printJson(rows)
  if (form === "table") {
    yield* print(rows.length === 0 ? "no dispatches" : auditTable(here(), rows, run === undefined))
  }
  if (!some) yield* known(run, query)
  if (damaged) return yield* new Damaged()
})

/** Says which workers and tasks there are, where the ones that were asked for are none of them. */
const known = Effect.fnUntraced(function* (run: string | undefined, { task, worker }: Audit.Query) {
  if (task === undefined && worker === undefined) return
  const workers = new Set<string>()
  const tasks = new Set<string>()
  const all = run === undefined ? Audit.ofAll() : Stream.fromEffect(Audit.ofRun(run))
  yield* Stream.runForEach(all, ({ rows }) =>
    Effect.sync(() => {
      for (const row of rows) {
        workers.add(row.worker)
        tasks.add(row.task)
      }
    })
  )
  if (worker !== undefined && !workers.has(worker)) {
    yield* warn(`no dispatches: there is no worker ${plain(worker)}${knownAs(worker, workers)}`)
  }
  if (task !== undefined && !tasks.has(task)) {
    yield* warn(`no dispatches: there is no task ${plain(task)}${knownAs(task, tasks)}`)
  }
})

/** Prints every step of a run. */
export const trail = Effect.fnUntraced(function* (run: string, form: "table" | "lines" | "json") {
  yield* demand(run)
  const steps = Audit.trail(run)
  if (form === "json") return yield* printJson(yield* Stream.runCollect(steps))
  yield* Stream.runForEach(steps, (step) =>
    form === "lines" ? printJsonText(JSON.stringify({ run, ...step })) : print(stepText(here(), step))
  )
})

/** A head as it is printed. */
const headText = ({ hash, version }: Journal.Head): string => `${version}:${hash}`

const headOf = (text: string): Effect.Effect<{ readonly hash: string; readonly version?: number }, Misused> => {
  const [, version, hash] = /^(?:([1-9]\d{0,14}):)?([0-9a-f]{64})$/.exec(text) ?? []
  if (hash === undefined) {
    const reason = `--head must be VERSION:HASH or HASH, 64 hexadecimal digits in lower case, is ${text}`
    return Effect.fail(new Misused({ reason }))
  }
  return Effect.succeed(version === undefined ? { hash } : { hash, version: Number(version) })
}

/** What was found out about a run. */
interface Verified {
  readonly run: string
  readonly events: number
  readonly head: Journal.Head
  readonly damage?: Pick<Chain.ChainBroken, "problem" | "version" | "expected" | "found"> | undefined
  readonly unread?: string | undefined
  readonly artefacts: number
  readonly broken: ReadonlyArray<BrokenArtefact>
  readonly lists: ReadonlyArray<Rebuild.Difference>
}

const brokenText = ({ hash, problem, version }: BrokenArtefact): string =>
  `event ${version} refers to the artefact ${hash}, which ${problem === "missing" ? "is missing" : "was altered"}`

/** Looks at all of a run whose chain was walked. */
const verified = Effect.fnUntraced(function* ({ damage, events, head, run }: Chain.Verification) {
  const { artefacts, broken } = yield* brokenOf(run)
  const { differences, unread } = damage === undefined ? yield* listsOf(run) : { differences: [], unread: undefined }
  const lines = [
    ...(damage === undefined ? [] : [finding("damaged", run, damage.message)]),
    ...(unread?._tag === "RunUntrusted" ? [finding("damaged", run, unread.message)] : []),
    ...broken.map((each) => finding("damaged", run, brokenText(each))),
    ...(differences.length === 0 ? [] : [finding("differs", run, `the lists differ: ${differencesText(differences)}`)])
  ]
  const found: Verified = {
    run,
    events,
    head,
    ...(damage === undefined
      ? {}
      : {
          damage: {
            problem: damage.problem,
            version: damage.version,
            expected: damage.expected,
            found: damage.found
          }
        }),
    ...(unread?._tag === "RunUntrusted" ? { unread: unread.message } : {}),
    artefacts,
    broken,
    lists: differences
  }
  return { found, lines: lines.length === 0 ? [finding("ok", run, headText(head))] : lines }
})

const isDamaged = ({ broken, damage, unread }: Verified): boolean =>
  damage !== undefined || unread !== undefined || broken.length > 0

/** Checks the store, and of one run or of all the chain, the artefacts and what the lists say of it. */
export const verify = Effect.fnUntraced(function* (run: string | undefined, head: string | undefined, json: boolean) {
  const kept = head === undefined ? undefined : yield* headOf(head)
  const journal = yield* Journal.Journal
  yield* journal.check
  // Of a run that is gone a head may have been kept; without one there is nothing to check.
  if (run !== undefined && kept === undefined) yield* demand(run)
  const checked =
    run === undefined
      ? Chain.verifyAll({ digest: sha256 })
      : Stream.fromEffect(Chain.verify(run, { digest: sha256, ...(kept === undefined ? {} : { head: kept }) }))
  let runs = 0
  let damaged = 0
  let differing = 0
  const whole: Array<unknown> = []
  yield* Stream.runForEach(Stream.mapEffect(checked, verified), ({ found, lines }) => {
    runs += 1
    if (isDamaged(found)) damaged += 1
    if (found.lists.length > 0) differing += 1
    if (!json) return Effect.forEach(lines, print, { discard: true })
    whole.push(found)
    return Effect.void
  })
  const ghosts = run === undefined ? (yield* journal.runs()).filter(({ version }) => version === 0) : []
  for (const { run } of ghosts) {
    differing += 1
    if (json) whole.push({ run, events: 0, ghost: true })
    else yield* print(finding("differs", run, "it is listed and has no events"))
  }
  if (json) yield* printJson(whole)
  else {
    const lists = differing === 0 ? "" : `, ${differing} listed otherwise than the events say`
    yield* print(`${many(runs, "run")} checked, ${damaged === 0 ? "none" : damaged} damaged${lists}`)
  }
  if (differing > 0) {
    yield* warn(
      "where the lists differ, espalier rebuild makes them anew; or the end of the run was cut off: " +
        "compare with a head that you kept (verify RUN --head)"
    )
  }
  if (damaged + differing > 0) return yield* new Damaged()
})

const encodeState = Schema.encodeEffect(RunState.Json)

/** Prints the state of a run, as it is or as it was. */
export const state = Effect.fnUntraced(function* (run: string, at: number | undefined, json: boolean) {
  yield* demand(run)
  const state = yield* at === undefined ? Run.state(run) : Run.stateAt(run, at)
  const encoded = yield* Effect.orDie(encodeState(state))
  yield* printJsonText(JSON.stringify(encoded, null, json ? 0 : 2))
})

/** Prints how much there is. */
export const size = Effect.fnUntraced(function* (run: string | undefined, json: boolean) {
  if (run !== undefined) yield* demand(run)
  const journal = yield* Journal.Journal
  const { bytes, events } = yield* journal.size(run)
  const artefacts = yield* artefactsOf(run)
  if (json) return yield* printJson({ events, bytes, artefacts })
  yield* print(`${many(events, "event")}, ${bytes} bytes of data`)
  yield* print(`${many(artefacts.count, "artefact")} that they refer to, ${artefacts.bytes} bytes`)
})
