// @effect-diagnostics nodeBuiltinImport:off -- inputs come out of files and of standard input.
/**
 * The commands that carry runs out and end them. A Node file: uses `node:console`, `node:fs`, `node:os`,
 * `node:process` and `node:stream`.
 *
 * @since 0.1.0
 */
import { Console } from "node:console"
import { createReadStream } from "node:fs"
import { userInfo } from "node:os"
import process from "node:process"
import { Writable } from "node:stream"

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import { Artefacts } from "../journal/Artefacts.ts"
import * as Journal from "../journal/Journal.ts"
import { isFact } from "../observe/internal/logNames.ts"
import { defaults } from "../Redaction.ts"
import type * as Autonomy from "../run/Autonomy.ts"
import { many, shortened } from "../run/internal/problems.ts"
import { instantOf, plain } from "../run/internal/text.ts"
import type * as Outcome from "../run/Outcome.ts"
import * as Run from "../run/Run.ts"
import type { RunEvent } from "../run/RunEvent.ts"
import { isFinished } from "../run/RunState.ts"
import { isAlive } from "./carried.ts"
import { Ended, endings, Misused, Refused } from "./failures.ts"
import { load, type Loaded } from "./loading.ts"
import { Stores } from "./opening.ts"
import { complain, heading, print, printJson, table } from "./printing.ts"
import * as Progress from "./progress.ts"
import { demand } from "./reading.ts"
import { seen } from "./seen.ts"
import { status as styled } from "./table.ts"

/**
 * Which journal was named, and how: whoever goes on has to name it again. So has whoever takes a run up with `module` and
 * `people`, where they were named.
 */
export interface Named {
  readonly journal: Option.Option<string>
  readonly schema: Option.Option<string>
  readonly module?: string | undefined
  readonly people?: string | undefined
}

const bare = /^[\w@%+=:,./-]+$/

/** A word as a shell takes it. */
const quoted = (word: string): string => (bare.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

/** A command to be typed. The password of a server is not told: whoever types it knows it. */
export const commandText = (words: ReadonlyArray<string>, { journal, schema }: Named): string =>
  [
    "espalier",
    ...words,
    ...Option.match(journal, { onNone: () => [], onSome: (place) => ["--journal", defaults.text(place)] }),
    ...Option.match(schema, { onNone: () => [], onSome: (name) => ["--schema", name] })
  ]
    .map(quoted)
    .join(" ")

/** The longest input that is read: more than any run takes. */
const most = 16 * 1024 * 1024

/** Reads a file, or standard input. */
export const readText = (source: string): Effect.Effect<string, Refused> => {
  const name = source === "-" ? "standard input" : source
  const refuse = (reason: string) => new Refused({ reason })
  const bytes = Stream.fromAsyncIterable<Uint8Array, Refused>(
    source === "-" ? process.stdin : createReadStream(source, { end: most }),
    (cause) => {
      const code = typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : "unknown"
      return refuse(`the input cannot be read from ${name}: ${code === "ENOENT" ? "it is not there" : code}`)
    }
  )
  return Effect.flatMap(
    Stream.runFoldEffect(
      bytes,
      () => ({ parts: [] as Array<Uint8Array>, size: 0 }),
      ({ parts, size }, part) =>
        size + part.length > most
          ? Effect.fail(refuse(`the input of ${name} is larger than ${most / 1024 / 1024} MiB`))
          : Effect.sync(() => {
              parts.push(part)
              return { parts, size: size + part.length }
            })
    ),
    ({ parts }) => Effect.sync(() => Buffer.concat(parts).toString("utf8"))
  )
}

/** The input of a run as JSON: as it stands there, in a file, or on standard input. */
const inputOf = Effect.fnUntraced(function* (given: string): Effect.fn.Return<Schema.Json, Refused | Misused> {
  const from = given === "-" ? "-" : given.startsWith("@") ? given.slice(1) : undefined
  const text = from === undefined ? given : yield* readText(from)
  const where = from === undefined ? "--input" : from === "-" ? "the input of standard input" : `the input of ${from}`
  return yield* Effect.try({
    try: (): Schema.Json => JSON.parse(text),
    catch: (cause) => {
      const said = shortened(plain(cause instanceof Error ? cause.message : String(cause)), 200)
      const how = from === undefined ? "; a file is named as @FILE" : ""
      return new Misused({ reason: `${where} must be JSON: ${said}${how}` })
    }
  })
})

/**
 * What a desk finds around itself: the journal and the artefacts, and nothing that this command has for itself. What the desk
 * logs or prints goes beside the output.
 */
const forDesk = Effect.fnUntraced(function* <A, E>(
  effect: Effect.Effect<A, E, Journal.Journal | Artefacts | Scope.Scope>,
  progress: Pick<Progress.Progress, "above">
) {
  const journal = yield* Journal.Journal
  const stores = yield* Stores
  const context = Context.make(Journal.Journal, journal).pipe(Context.add(Artefacts, stores))
  // What happens in the run is shown already.
  const logger = Logger.make((options) => {
    if (!isFact(options)) progress.above(`${Logger.formatLogFmt.log(options)}\n`)
  })
  return yield* Effect.scoped(effect).pipe(
    Effect.provide(seen({ offers: true }).pipe(Layer.provideMerge(Logger.layer([logger])))),
    // Not merged with what is around: a desk is not to find what is there for the parser of commands.
    Effect.updateContext<never, Journal.Journal | Artefacts>(() => context)
  )
})

const methods = ["log", "info", "warn", "error", "debug", "dir", "table", "trace"] as const

/** Has what the desk's own code prints go beside the output, and above what is drawn. */
export const beside = (progress: Pick<Progress.Progress, "above">): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const stream = new Writable({
          decodeStrings: false,
          write: (text: string, _, done) => {
            progress.above(text)
            done()
          }
        })
        const other = new Console({ stdout: stream, stderr: stream })
        // Whoever has kept the console has kept this object.
        const before = methods.map((name) => [name, console[name]] as const)
        for (const name of methods) console[name] = other[name]
        return before
      }),
      (before) => Effect.sync(() => void Object.assign(console, Object.fromEntries(before)))
    )
  )

/** Where progress is shown: where the output goes, unless that is JSON. */
const screenOf = (json: boolean): Progress.Screen | undefined =>
  !json ? process.stdout : process.stderr.isTTY ? process.stderr : undefined

/** The command that takes a run up. */
export const resumeText = (run: string, named: Named): string => {
  const { module, people } = named
  const flags = [
    ...(module === undefined ? [] : ["--module", module]),
    ...(people === undefined ? [] : ["--people", people])
  ]
  return commandText(["resume", run, ...flags], named)
}

/** Says how to go on with a run that was put down because somebody stopped this process. */
const tellSuspended = (run: string, named: Named) =>
  Effect.gen(function* () {
    const { status } = yield* Run.state(run)
    if (isFinished(status)) return
    const resume = resumeText(run, named)
    yield* Effect.sync(() =>
      complain({ interrupted: run, status, resume }, [
        `interrupted: the run ${run} is ${status}; go on with: ${resume}`
      ])
    )
  }).pipe(
    // Before the first event there is no run, and nothing to go on with.
    Effect.ignore
  )

/** Carries a run out, shows how it goes, and says how to go on when it is stopped. */
const carriedOut = <E>(
  run: string,
  named: Named,
  progress: Progress.Progress,
  effect: Effect.Effect<Outcome.Outcome, E, Journal.Journal | Artefacts | Scope.Scope>
) =>
  forDesk(effect, progress).pipe(
    Effect.onExit((exit) =>
      Effect.andThen(
        Effect.sync(progress.done),
        exit._tag === "Failure" && Cause.hasInterrupts(exit.cause) ? tellSuspended(run, named) : Effect.void
      )
    )
  )

const valueText = (value: unknown): string => plain(shortened(JSON.stringify(value), 500))

/** What a run waits for. */
const awaited = ({ reviews, wakeAt }: Outcome.Outcome): string => {
  const people = reviews.length === 0 ? [] : [many(reviews.length, "decision")]
  const meanwhile = people.length === 0 ? "" : "; the next step without them comes at "
  return `${people.join("")}${wakeAt === undefined ? "" : `${meanwhile}${instantOf(wakeAt)}`}`
}

/** What people are asked, and how a run goes on that waits, a line each. */
const nextLines = ({ reviews, run, status }: Outcome.Outcome, named: Named): ReadonlyArray<string> => {
  if (status !== "waiting") return []
  const asked = reviews.map(({ allowed, kind, note, review, task }) => {
    const of = task === undefined ? "" : ` of ${task}`
    return `${review}  ${kind}${of}: ${plain(note)} (${allowed.join(", ")})`
  })
  return [
    ...(asked.length === 0
      ? [""]
      : ["", heading("asked"), ...asked, `decide with: ${commandText(["reviews"], named)}`]),
    `go on then with: ${resumeText(run, named)}`
  ]
}

/** An outcome as text. */
const outcomeText = (outcome: Outcome.Outcome, named: Named): string => {
  const { missing, note, output, results, run, status, stopReason } = outcome
  const why = stopReason === undefined ? "" : `, ${stopReason}`
  const stands = status === "waiting" ? `waiting for ${awaited(outcome)}` : `${status}${why}: ${plain(note)}`
  const rows = Object.values(results).map(({ note, status, task, worker = "" }) => [
    task,
    styled(status),
    worker,
    plain(note)
  ])
  const outputs = Object.values(results).flatMap(({ output, task }) =>
    output === undefined ? [] : [`${task}: ${valueText(output)}`]
  )
  return [
    `run ${run} is ${stands}`,
    ...(rows.length === 0 ? [] : ["", table(["task", "status", "worker", "note"], rows)]),
    ...(output !== undefined
      ? ["", heading("answer"), valueText(output)]
      : outputs.length === 0
        ? []
        : ["", heading("results"), ...outputs]),
    ...(missing.length === 0
      ? []
      : ["", heading("missing"), ...missing.map(({ reason, task }) => `${task}: ${plain(reason)}`)]),
    ...nextLines(outcome, named)
  ].join("\n")
}

/** Prints an outcome, and ends with the exit code of how the run stands. */
const told = Effect.fnUntraced(function* (outcome: Outcome.Outcome, named: Named, json: boolean, nothing = "") {
  // Apart from how it went, which is gone on a terminal.
  const above = nothing !== "" ? `${nothing}\n` : process.stdout.isTTY ? "" : "\n"
  yield* json ? printJson(outcome) : print(`${above}${outcomeText(outcome, named)}`)
  const { status } = outcome
  if (status === "completed") return
  return yield* new Ended({ code: status === "running" ? endings.suspended : endings[status] })
})

/** Who uses this computer, as far as it says so. */
export const userName = (flag: string): Effect.Effect<string, Misused> =>
  Effect.try({
    try: () => userInfo().username,
    catch: () => new Misused({ reason: `the system does not say who you are: name yourself with --${flag}` })
  })

/** By whom it is looked up who may decide what the run asks, while it is carried out here. */
export type People = Layer.Layer<never, { readonly _tag: string; readonly message: string }>

/** What a run is begun with. `as`: who asks for it. */
export interface Beginning {
  readonly input: string
  readonly as?: string | undefined
  readonly people: People
  readonly id?: string | undefined
  readonly tier?: Autonomy.Tier | undefined
}

/** Begins a run of the desk of a module, and carries it out. */
export const start = (module: string, { as, id, input, people, tier }: Beginning, named: Named, json: boolean) =>
  Effect.scoped(
    Effect.gen(function* () {
      const requester = as ?? (yield* userName("as"))
      const value = yield* inputOf(input)
      const run = id ?? (yield* Run.makeId)
      const progress = yield* Progress.make(screenOf(json), process.stderr)
      yield* beside(progress)
      const { onEvent } = progress
      const begun = Effect.gen(function* () {
        const desk = yield* load(module)
        const decoded = desk.decodeInput(value)
        if (EffectResult.isFailure(decoded)) {
          return yield* new Run.InputInvalid({ desk: desk.name, problems: decoded.failure })
        }
        return yield* Run.start(desk, { id: run, input: decoded.success, tier, requester, module, onEvent, log: false })
      }).pipe(Effect.provide(people))
      const outcome = yield* carriedOut(run, named, progress, begun)
      return yield* told(outcome, named, json)
    })
  )

/** Where the desk of a run was loaded from, as the run says. */
const moduleOf = Effect.fnUntraced(function* (run: string) {
  const first = yield* Stream.runHead(Run.events(run))
  return Option.isSome(first) && first.value._tag === "RunStarted" ? first.value.module : undefined
})

/** The desk that a run goes on with. */
const deskOf = Effect.fnUntraced(function* (run: string, given: string | undefined, began: string) {
  const recorded = yield* moduleOf(run)
  const module = given ?? recorded
  if (module === undefined) {
    return yield* new Refused({
      reason: `the run ${run} does not say where its desk ${began} is from: name it with --module`
    })
  }
  const desk: Loaded = yield* Effect.mapError(load(module), ({ reason }) =>
    given === undefined
      ? new Refused({ reason: `${reason}; the run ${run} began with it: name another one with --module` })
      : new Refused({ reason })
  )
  // To put the run down for another definition would be a strange answer to a wrong name.
  if (desk.name === began) return desk
  return yield* new Refused({
    reason: `the run ${run} is one of the desk ${began}, and the module ${module} has the desk ${desk.name}`
  })
})

/** Takes a run up, unless it is over. */
export const resume = (
  run: string,
  { module, people }: { readonly module: string | undefined; readonly people: People },
  named: Named,
  json: boolean
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const version = yield* demand(run)
      const { desk, status } = yield* Run.state(run)
      const stores = yield* Stores
      if (isFinished(status)) {
        const outcome = yield* Effect.provideService(Run.outcome(run), Artefacts, stores)
        return yield* told(outcome, named, json, `the run ${run} is over, nothing was done`)
      }
      const progress = yield* Progress.make(screenOf(json), process.stderr)
      yield* beside(progress)
      const { onEvent, seen } = progress
      const goneOn = Effect.gen(function* () {
        const loaded = yield* deskOf(run, module, desk)
        yield* Stream.runForEach(Run.events(run), (event: RunEvent) => Effect.sync(() => seen(event)))
        return yield* Run.resume(loaded, run, { onEvent, log: false })
      }).pipe(Effect.provide(people))
      const outcome = yield* carriedOut(run, named, progress, goneOn)
      const journal = yield* Journal.Journal
      const same = (yield* journal.version(run)) === version
      return yield* told(outcome, named, json, same ? `the run ${run} is waiting, nothing was done` : undefined)
    })
  )

/** Asks for the end of a run. */
export const cancel = Effect.fnUntraced(function* (
  run: string,
  given: { readonly by: string | undefined; readonly note: string | undefined },
  named: Named,
  json: boolean
) {
  yield* demand(run)
  const by = given.by ?? (yield* userName("by"))
  if (by.trim() === "") return yield* new Misused({ reason: "--by must be a name, is empty" })
  yield* Run.cancel(run, { by, note: given.note })
  const journal = yield* Journal.Journal
  const owner = yield* journal.owner
  const carried = isAlive(owner, yield* Clock.currentTimeMillis) ? owner.name : undefined
  const resume = resumeText(run, named)
  if (json) return yield* printJson({ run, by, ...(carried === undefined ? { resume } : { carried }) })
  const how =
    carried === undefined
      ? `nobody carries it out now, and it ends when it is taken up: ${resume}`
      : `${plain(carried)}, who carries out the runs of this journal, hears of it`
  yield* print(`asked for the end of ${run} as ${plain(by)}; ${how}`)
})
