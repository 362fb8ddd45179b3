/**
 * The edge of an example: a run with its journal in memory, told on standard output, and an exit code.
 *
 * Exit codes: 0 completed, 2 less than that, 3 could not run.
 *
 * @since 0.1.0
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"
import { type Desk, type Outcome, Run } from "espalier/run"

import { oneLine } from "./files.ts"
import { auditLines, lineOf } from "./telling.ts"

/**
 * Why an example cannot run: its arguments.
 *
 * @category errors
 * @since 0.1.0
 */
export class Misused extends Schema.TaggedError<Misused>()("Misused", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/**
 * What a parser of arguments that throws comes up with, or its complaint as {@link Misused}.
 *
 * @category arguments
 * @since 0.1.0
 */
export const args = <A>(parse: () => A): Effect.Effect<A, Misused> =>
  Effect.try({
    try: parse,
    catch: (error) => new Misused({ reason: error instanceof Error ? error.message : String(error) })
  })

/**
 * One of some words, the first where none is given, or a refusal that names them.
 *
 * @category arguments
 * @since 0.1.0
 */
export const choice = <const Words extends ReadonlyArray<string>>(
  flag: string,
  given: string | undefined,
  words: Words
): Words[number] => {
  const found = words.find((word) => word === (given ?? words[0]))
  if (found === undefined) throw new RangeError(`${flag} must be one of ${words.join(", ")}, got ${given}`)
  return found
}

/**
 * A whole number from 1 on, or a refusal.
 *
 * @category arguments
 * @since 0.1.0
 */
export const count = (flag: string, given: string | undefined, otherwise: number): number => {
  if (given === undefined) return otherwise
  if (!/^[1-9]\d{0,5}$/.test(given)) throw new RangeError(`${flag} must be a whole number from 1 on, got ${given}`)
  return Number(given)
}

/**
 * Runs a desk, tells how it goes, then its result as `show` has it, and the audit. Succeeds with the exit code.
 *
 * @category running
 * @since 0.1.0
 */
export const perform = <Input, R>(
  desk: Desk.Desk<Input, R>,
  input: Input,
  show: (outcome: Outcome.Outcome) => ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const onEvent = (event: Parameters<typeof lineOf>[0]) => {
      const line = lineOf(event)
      if (line !== undefined) console.log(line)
    }
    const outcome = yield* Run.start(desk, { id: desk.name, input, onEvent, log: false })
    console.log(["", ...show(outcome), "", ...auditLines(outcome)].join("\n"))
    return outcome.status === "completed" ? 0 : 2
  }).pipe(Effect.provide(Journal.layerMemory))

/**
 * Runs an example to its exit code; a typed failure is one line and 3.
 *
 * @category running
 * @since 0.1.0
 */
export const main = <E extends { readonly message: string }>(
  name: string,
  program: Effect.Effect<number, E, NodeServices.NodeServices>
): Promise<number> =>
  program.pipe(
    Effect.catch((error) => {
      console.error(`${name}: ${oneLine(error.message, 1000)}`)
      return Effect.succeed(3)
    }),
    Effect.provide(NodeServices.layer),
    Effect.runPromise
  )
