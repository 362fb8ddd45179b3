#!/usr/bin/env node
/**
 * The command `espalier`: carries out the runs of a journal, looks at them, checks them, and carries them elsewhere. A Node
 * file: uses `node:process`.
 *
 * **Details**
 *
 * Exit codes: 0 all is well, 1 the command was used wrongly, 2 what was asked for is not there or refused, 3 something is
 * damaged, 4 the journal cannot be used now, 70 a mistake of this program or a Node that is too old for it, 130 stopped by a
 * signal. Of `run` and `resume`, how the run was left: 10 waiting, 11 partial, 12 failed, 13 cancelled, 14 suspended.
 *
 * **Gotchas**
 *
 * Nothing else is loaded before the version of Node is known: an older one would end in the middle of that.
 *
 * @since 0.1.0
 */
import process from "node:process"

import { tooOld } from "./node.ts"

const refused = tooOld(process.versions.node)
if (refused === undefined) await import("./started.ts")
else {
  process.stderr.write(`espalier: ${refused}\n`)
  process.exitCode = 70
}
