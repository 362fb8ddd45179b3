// @effect-diagnostics nodeBuiltinImport:off -- what is looked at is the computer that the command runs on.
/**
 * Whether all is there that runs need, and what to do where it is not. A Node file: uses `node:fs`, `node:module`, `node:path`
 * and `node:process`.
 *
 * What was measured is judged by functions of data; only {@link doctor} looks.
 *
 * @since 0.1.0
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, resolve } from "node:path"
import process from "node:process"

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"

import { schemaVersion } from "../journal/internal/sqliteSchema.ts"
import type { Owner } from "../journal/Journal.ts"
import * as Journal from "../journal/Journal.ts"
import { defaults } from "../Redaction.ts"
import * as Desk from "../run/Desk.ts"
import { many } from "../run/internal/problems.ts"
import { instantOf, lasted, plain } from "../run/internal/text.ts"
import { carriedText, isAlive } from "./carried.ts"
import { codeOf, Ended } from "./failures.ts"
import { load } from "./loading.ts"
import { least, reaches } from "./node.ts"
import { type Place, layerOf, whereOf } from "./opening.ts"
import { print, printJson, table } from "./printing.ts"
import { beside, type Named } from "./running.ts"
import { status } from "./table.ts"

/** Whether something is as it should be, what it is, and what to do. `code`: the exit code where it fails, 3 or 4. */
export interface Check {
  readonly check: string
  readonly status: "ok" | "warn" | "fail"
  readonly found: string
  readonly advice?: string | undefined
  readonly code?: 3 | 4 | undefined
}

const ok = (check: string, found: string): Check => ({ check, status: "ok", found })

const warned = (check: string, found: string, advice: string): Check => ({ check, status: "warn", found, advice })

const failed = (check: string, found: string, advice: string, code: 3 | 4 = 3): Check => ({
  check,
  status: "fail",
  found,
  advice,
  code
})

/** Node, by its version and the least one, as in `>=22.19`. */
export const nodeCheck = (version: string, range: string): Check =>
  reaches(version, range)
    ? ok("node", version)
    : failed("node", `${version}, and ${range} is needed`, "install a newer Node")

/** The version that the command uses, and the one that a desk of this folder finds. */
export const effectCheck = (own: string, found: string | undefined): Check =>
  found === undefined
    ? warned("effect", `${own}; there is none in this folder`, "npm install effect, where the desk is")
    : found === own
      ? ok("effect", own)
      : warned("effect", `${own}; a desk of this folder has ${found}`, "have one version of effect for both")

/** The years 2026 to 2099: before them there was no such command, and a clock that is after them was set by nobody. */
const [soonest, latest] = [1_767_225_600_000, 4_102_444_800_000]

/** The clock, beside the last event of the journal and the clock of its server. */
export const clockCheck = (now: number, last: number | undefined, server: number | undefined): Check => {
  const skew = server === undefined ? undefined : now - server
  const told =
    skew === undefined ? instantOf(now) : `${instantOf(now)}, ${lasted(Math.round(Math.abs(skew)))} from the server's`
  const advice = "set the clock, or have it set: timers, leases and deadlines go by it"
  if (now < soonest || now >= latest) return failed("clock", told, advice)
  if (skew !== undefined && Math.abs(skew) >= 5_000) return warned("clock", told, advice)
  return last !== undefined && last > now + 5_000
    ? warned("clock", `${told}; the last event is of ${instantOf(last)}`, advice)
    : ok("clock", told)
}

const mebi = 1024 * 1024

/** How much of a disk is free. */
export const diskCheck = (free: number): Check => {
  const told =
    free >= 1024 * mebi ? `${Math.floor(free / 1024 / mebi)} GiB free` : `${Math.floor(free / mebi)} MiB free`
  const advice = "make room where the journal is"
  return free < 64 * mebi
    ? failed("disk", told, advice, 4)
    : free < 1024 * mebi
      ? warned("disk", told, advice)
      : ok("disk", told)
}

/** Who owns the journal. */
export const ownerCheck = (owner: Owner | undefined, now: number): Check =>
  owner === undefined || owner.released || isAlive(owner, now)
    ? ok("owner", isAlive(owner, now) ? `carried out ${carriedText(owner, now)}` : "nobody, it is free")
    : warned("owner", carriedText(owner, now), "espalier runs, then resume what was cut off")

/** A desk, by its findings. */
export const deskChecks = (desk: string, findings: ReadonlyArray<Desk.Finding>): ReadonlyArray<Check> =>
  findings.length === 0
    ? [ok("desk", `${desk} holds`)]
    : findings.map(({ message, rule, severity }) =>
        severity === "error"
          ? failed("desk", `${desk}: ${message}`, `change the desk (${rule})`)
          : warned("desk", `${desk}: ${message}`, `look at the desk (${rule})`)
      )

/** The exit code of checks. */
export const exitOf = (checks: ReadonlyArray<Check>): number =>
  checks.reduce((most, { code = 3, status }) => (status === "fail" ? Math.max(most, code) : most), 0)

/** A field of a package, if it is there. */
const fieldOf = (from: string, file: string, read: (json: object) => unknown): string | undefined => {
  try {
    const json: unknown = createRequire(from)(file)
    const value = Predicate.isObject(json) ? read(json) : undefined
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}

const versionIn = (json: object): unknown => Reflect.get(json, "version")

/** What can be seen without a journal. */
const here = (): ReadonlyArray<Check> => {
  const own = fieldOf(import.meta.url, "../../package.json", versionIn) ?? "unknown"
  const engines = (json: object): unknown => Reflect.get(Object(Reflect.get(json, "engines")), "node")
  const range = fieldOf(import.meta.url, "../../package.json", engines) ?? least
  const effect = "effect/package.json"
  return [
    nodeCheck(process.version, range),
    ok("espalier", own),
    effectCheck(
      fieldOf(import.meta.url, effect, versionIn) ?? "unknown",
      fieldOf(resolve("espalier.js"), effect, versionIn)
    )
  ]
}

const whole = (check: string, error: { readonly _tag: string; readonly message: string }): Check => {
  const damaged = codeOf(error) === 3
  const advice = damaged ? "espalier verify says what is damaged" : "name another one with --journal, or put this right"
  return failed(check, plain(defaults.text(error.message)), advice, damaged ? 3 : 4)
}

/** Whether a file, or the folder that it is to be in, can be written. */
const writable = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** The folder that is there, of those that a path is to be in. */
const folderOf = (path: string): string => {
  const folder = dirname(path)
  return existsSync(folder) || folder === dirname(folder) ? folder : folderOf(folder)
}

/** A journal in a file, before anything opens it. */
const fileChecks = (file: string): ReadonlyArray<Check> => {
  const path = resolve(file)
  const folder = folderOf(path)
  const there = existsSync(path)
  const place = !there
    ? warned("journal", `there is none at ${file} yet`, "espalier run makes it")
    : ok("journal", `${file}, ${Math.ceil(statSync(path).size / 1024)} KiB`)
  const { bavail, bsize } = statfsSync(folder)
  return [
    place,
    writable(folder) && (!there || writable(path))
      ? ok("write", "it can be written")
      : failed("write", `${there ? file : folder} cannot be written`, "grant this user the right to", 4),
    diskCheck(bavail * bsize)
  ]
}

/** What the clock of a server says. */
const serverTime = (url: string): Effect.Effect<number | undefined> =>
  Effect.tryPromise({ try: () => import("@effect/sql-pg/PgClient"), catch: () => undefined }).pipe(
    Effect.flatMap((PgClient) =>
      Effect.flatMap(
        PgClient.PgClient,
        (client) => client<{ now: number }>`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`
      ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url) })))
    ),
    Effect.map(([row]) => (row === undefined ? undefined : Number(row.now))),
    Effect.orElseSucceed(() => undefined)
  )

/** What an open journal says of itself. */
const journalChecks = Effect.gen(function* () {
  const journal = yield* Journal.Journal
  const { bytes, events } = yield* journal.size()
  const now = yield* Clock.currentTimeMillis
  const listed = yield* journal.runs()
  return {
    checks: [
      ok("events", `${many(listed.length, "run")}, ${many(events, "event")}, ${bytes} bytes`),
      ownerCheck(yield* journal.owner, now)
    ],
    last: listed.reduce<number | undefined>((most, { updatedAt }) => Math.max(most ?? 0, updatedAt), undefined)
  }
})

/** The format that a journal has once it is open: an earlier one is brought up to date then, a later one refused. */
const formatOf = (place: Place): Effect.Effect<number> =>
  place._tag === "File"
    ? Effect.succeed(schemaVersion)
    : Effect.map(
        Effect.promise(() => import("../journal/internal/postgresSchema.ts")),
        (there) => there.schemaVersion
      )

/** Looks at the journal that is meant, if it is there. */
const ofJournal = Effect.fnUntraced(function* ({ journal, schema }: Named, place: Place) {
  const before = place._tag === "File" ? fileChecks(place.path) : []
  if (place._tag === "File" && !existsSync(place.path)) return { checks: before, last: undefined }
  const exit = yield* Effect.exit(Effect.provide(journalChecks, layerOf(journal, schema, false)))
  if (Exit.isSuccess(exit)) {
    const { checks, last } = exit.value
    const format = yield* formatOf(place)
    const server = [ok("format", place._tag === "Server" ? `${format}, on a server that answers` : String(format))]
    return { checks: [...before, ...server, ...checks], last }
  }
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined) return yield* Effect.failCause(exit.cause)
  if (error._tag === "Misused") return yield* error
  return { checks: [...before.filter(({ check }) => check !== "journal"), whole("journal", error)], last: undefined }
})

/** Looks at the desk of a module. */
const ofDesk = (module: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* beside({ above: (text) => void process.stderr.write(text) })
      // A desk is not to find what is there for the parser of commands.
      const desk = yield* load(module).pipe(
        Effect.updateContext((context: Context.Context<Scope.Scope>) => Context.pick(Scope.Scope)(context))
      )
      return deskChecks(desk.name, Desk.check(desk))
    })
  ).pipe(Effect.catchTag("Refused", ({ reason }) => Effect.succeed([failed("desk", reason, "put the module right")])))

/** Looks at everything, and says what to do. */
export const doctor = Effect.fnUntraced(function* (module: string | undefined, named: Named, json: boolean) {
  const place = yield* whereOf(named.journal, named.schema)
  const { checks, last } = yield* ofJournal(named, place)
  const server = place._tag === "Server" ? yield* serverTime(place.url) : undefined
  const all: ReadonlyArray<Check> = [
    ...here(),
    ...checks,
    clockCheck(yield* Clock.currentTimeMillis, last, server),
    ...(module === undefined ? [] : yield* ofDesk(module))
  ]
  const code = exitOf(all)
  if (json)
    yield* printJson({
      ok: code === 0,
      checks: all.map(({ advice, check, found, status }) => ({ check, status, found, advice }))
    })
  else {
    yield* print(
      table(
        ["check", "status", "found", "what to do"],
        all.map(({ advice = "", check, found, status: how }) => [check, status(how), plain(found), advice])
      )
    )
  }
  if (code !== 0) return yield* new Ended({ code })
})
