/**
 * The command as a process: does what its arguments say, stops when it is told to, and ends with its exit code. A Node file:
 * uses `node:process`.
 *
 * @since 0.1.0
 */
import process from "node:process"

import * as Effect from "effect/Effect"

import { run } from "./commands.ts"
import { ended } from "./ending.ts"

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

process.exitCode = ended(await Effect.runPromiseExit(run(process.argv.slice(2)), { signal: interrupt.signal }))

// A desk may have left something open that would keep the process for ever.
process.stdout.write("", () => process.exit())
