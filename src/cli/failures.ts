/**
 * What can go wrong with a command, in a sentence and as an exit code.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { near } from "../run/internal/closest.ts"
import { plain } from "../run/internal/text.ts"
import type { RunStatus } from "../run/RunState.ts"

/** What was asked for is not there, or is refused. */
export class Refused extends Schema.TaggedError<Refused>("espalier/cli/Refused")("Refused", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** The command was used wrongly. */
export class Misused extends Schema.TaggedError<Misused>("espalier/cli/Misused")("Misused", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** Something is damaged; what it is has been told already. */
export class Damaged extends Schema.TaggedError<Damaged>("espalier/cli/Damaged")("Damaged", {}) {}

/** How a run stands that a command leaves: each of these has an exit code of its own. */
export const endings: Readonly<Record<Exclude<RunStatus, "completed" | "running">, number>> = {
  waiting: 10,
  partial: 11,
  failed: 12,
  cancelled: 13,
  suspended: 14
}

/** The same, in words. */
export const endingsText = Object.entries(endings)
  .map(([status, code]) => `${code} ${status}`)
  .join(", ")

/** A run was left as anything else than completed; that has been told already. */
export class Ended extends Schema.TaggedError<Ended>("espalier/cli/Ended")("Ended", { code: Schema.Int }) {}

/** What a command can fail with. */
export interface Failure {
  readonly _tag: string
  readonly message: string
  readonly reason?: unknown
}

const damages: ReadonlySet<string> = new Set(["Damaged", "ChainBroken", "ExportInvalid", "RunUntrusted"])

const damagedStores: ReadonlySet<string> = new Set(["JournalCorrupt", "ArtefactMismatch", "ArtefactUnreadable"])

const refusedStores: ReadonlySet<string> = new Set([
  "InvalidInput",
  "ValueTooLarge",
  "NotAJournal",
  "JournalTooNew",
  "ArtefactMissing",
  "ArtefactTooLarge"
])

const tagOf = (value: unknown): string =>
  typeof value === "object" && value !== null && "_tag" in value && typeof value._tag === "string" ? value._tag : ""

/** The exit code of a failure. */
export const codeOf = (failure: Failure): number => {
  const { _tag: tag, reason } = failure
  if (tag === "ShowHelp")
    return "errors" in failure && Array.isArray(failure.errors) && failure.errors.length === 0 ? 0 : 1
  if (tag === "Misused") return 1
  if (tag === "Ended") return "code" in failure && typeof failure.code === "number" ? failure.code : 70
  if (damages.has(tag)) return 3
  if (tag !== "JournalError" && tag !== "ArtefactsError") return 2
  const store = tagOf(reason)
  return damagedStores.has(store) ? 3 : refusedStores.has(store) ? 2 : 4
}

/** Flags that every command takes. */
const shared = ["journal", "schema", "json", "help", "version", "completions"]

/** What may have been meant. The parser knows the commands, and the flags of one that no other one has. */
const meant = (error: Failure): ReadonlyArray<string> => {
  const known = "suggestions" in error && Array.isArray(error.suggestions) ? error.suggestions.map(String) : []
  return known.length > 0 || !("option" in error) || error._tag !== "UnrecognizedOption"
    ? known
    : near(String(error.option).replace(/^-+/, ""), shared).map((name) => `--${name}`)
}

/** What was used wrongly in one place, and what was meant, where that is near. */
const wrong = (error: Failure): string => {
  const names = meant(error)
  // What the parser says of them takes lines of its own.
  const [what = ""] = names.length === 0 ? [error.message] : error.message.split("\n\n")
  return plain(names.length === 0 ? what : `${what}; did you mean ${names.join(" or ")}?`)
}

/** What was used wrongly, and where it is told how it is used. */
const misuse = (failure: Failure): ReadonlyArray<string> => {
  if (!("errors" in failure) || !Array.isArray(failure.errors) || failure.errors.length === 0) return []
  const errors: ReadonlyArray<Failure> = failure.errors
  const unknown = errors.filter(({ _tag }) => _tag === "UnknownSubcommand")
  // Where the command is unknown, nothing is known of its flags.
  const said = (unknown.length > 0 ? unknown : errors).map(wrong).join("; ")
  const path =
    "commandPath" in failure && Array.isArray(failure.commandPath) ? failure.commandPath.join(" ") : "espalier"
  return [said, `see ${path} --help`]
}

/** What is said of a failure, a line each; nothing where it has been said. */
export const sayWhy = (failure: Failure): ReadonlyArray<string> =>
  failure._tag === "ShowHelp"
    ? misuse(failure)
    : failure._tag === "Damaged" || failure._tag === "Ended"
      ? []
      : [plain(failure.message)]
