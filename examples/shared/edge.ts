/**
 * The edge of a desk that is a program of its own: arguments, a journal in the current folder, and an exit code.
 *
 * Exit codes: what the job says; 3 when it could not run, 70 for a bug, 130 when it was interrupted.
 *
 * Who wants to see what it does says so in the environment: `ESPALIER_METRICS_PORT`, `OTEL_EXPORTER_OTLP_ENDPOINT`.
 *
 * @since 0.1.0
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect, Exit, Layer, Logger, Result, Schema } from "effect"
import { type Journal, JournalSqlite } from "espalier/journal"
import { Logs, Telemetry } from "espalier/observe"

/**
 * The program could not be begun, or could not be carried on; said in one line.
 *
 * @category errors
 * @since 0.1.0
 */
export class CouldNotRun extends Schema.TaggedError<CouldNotRun>()("CouldNotRun", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/**
 * Writes to a stream of the process.
 *
 * @category running
 * @since 0.1.0
 */
export const write = (stream: NodeJS.WriteStream, text: string): Effect.Effect<void> =>
  Effect.sync(() => void stream.write(text))

/** Who sees what the program does, as the environment says. */
const telemetry = Telemetry.layerConfig().pipe(
  Layer.catchTag("ConfigError", ({ cause }) =>
    Layer.effectDiscard(Effect.fail(new CouldNotRun({ reason: cause.message })))
  )
)

/**
 * Runs a program and ends the process.
 *
 * **Details**
 *
 * - `name`: stands before what is said on the error stream. `help`: is printed for `--help`.
 * - `parse`: reads the arguments. `job`: does the work and says the exit code; any typed failure is a reason not to run.
 *
 * @category running
 * @since 0.1.0
 */
export const runProgram = <A extends { readonly help: boolean }>(
  name: string,
  program: {
    readonly help: string
    readonly parse: (argv: ReadonlyArray<string>) => Result.Result<A, { readonly message: string }>
    readonly job: (
      args: A
    ) => Effect.Effect<number, { readonly message: string }, Journal.Journal | NodeServices.NodeServices>
  }
): void => {
  const main = Effect.suspend(() => {
    const parsed = program.parse(process.argv.slice(2))
    if (Result.isFailure(parsed)) return Effect.fail(new CouldNotRun({ reason: parsed.failure.message }))
    if (parsed.success.help) return Effect.as(write(process.stdout, program.help), 0)
    const journal = JournalSqlite.layerSqlite({ filename: ".espalier/journal.db" })
    return Effect.provide(program.job(parsed.success), Layer.mergeAll(journal, NodeServices.layer, telemetry)).pipe(
      Effect.mapError(({ message }) => new CouldNotRun({ reason: message }))
    )
  }).pipe(
    Effect.catchTag("CouldNotRun", ({ reason }) => Effect.as(write(process.stderr, `${name}: ${reason}\n`), 3)),
    Effect.provide(Logger.layer([Logs.withoutFacts(Logger.withConsoleError(Logger.formatLogFmt))]))
  )
  NodeRuntime.runMain(main, {
    disableErrorReporting: true,
    teardown: (exit, onExit) => {
      if (Exit.isSuccess(exit)) return onExit(exit.value as number)
      if (Exit.hasInterrupts(exit)) {
        process.stderr.write("interrupted; the run can be taken up with --resume\n")
        return onExit(130)
      }
      process.stderr.write(`${name}: a bug: ${String(exit.cause)}\n`)
      onExit(70)
    }
  })
}
