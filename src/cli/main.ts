#!/usr/bin/env node
/**
 * The command `espalier`: carries out the runs of a journal, looks at them, checks them, and carries them elsewhere. A Node
 * file: uses `node:process`.
 *
 * **Details**
 *
 * Exit codes: 0 all is well, 1 the command was used wrongly, 2 what was asked for is not there or refused, 3 something is
 * damaged, 4 the journal cannot be used now, 70 a mistake of this program, 130 stopped by a signal. Of `run` and `resume`, how
 * the run was left: 10 waiting, 11 partial, 12 failed, 13 cancelled, 14 suspended.
 *
 * @since 0.1.0
 */
import process from "node:process"

import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"

import { run } from "./commands.ts"
import { codeOf, sayWhy } from "./failures.ts"
import { complain } from "./printing.ts"

// Who reads the output may stop reading: `espalier export r1 | head -1`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? 0 : 70)
})

const interrupt = new AbortController()
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    // Whoever asks twice does not want to wait for what is being stopped.
    if (interrupt.signal.aborted) process.exit(130)
    interrupt.abort()
  })
}

const exit = await Effect.runPromiseExit(run(process.argv.slice(2)), { signal: interrupt.signal })

if (Exit.isFailure(exit)) {
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined && Cause.hasInterruptsOnly(exit.cause)) process.exitCode = 130
  else {
    const said = error === undefined ? [Cause.pretty(exit.cause)] : sayWhy(error)
    const code = error === undefined ? 70 : codeOf(error)
    const [message, hint] = said
    if (message !== undefined) complain({ error: message, code, ...(hint === undefined ? {} : { hint }) }, said)
    process.exitCode = code
  }
}

// A desk may have left something open that would keep the process for ever.
process.stdout.write("", () => process.exit())
