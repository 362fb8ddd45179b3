/**
 * The command line of the smoke run, as data.
 */
import { parseArgs } from "node:util"

import { defaults } from "../../examples/shared/claude.ts"

/** What was asked for. `record`: the file that exchanges are kept in. */
export interface Arguments {
  readonly scripted: boolean
  readonly model: string
  readonly baseURL: string | undefined
  readonly record: string | undefined
  readonly help: boolean
}

export const help = `Has one small piece of work of each kind done by a real model, and says what that cost.

  npm run smoke -- [options]

  --model ID       the model, by default ${defaults.cheap}
  --record FILE    keep what was asked and answered in this file, without secrets
  --base-url URL   where the API is, by default that of Anthropic
  --scripted       a scripted model instead, which needs no key and costs nothing
  --help           print this

The key is ANTHROPIC_API_KEY of the environment. Without it nothing is asked, and that is no mistake.
Exit codes: 0 all of it worked, or there is no key, 1 something did not, 3 could not run.
`

/** Reads the arguments after the name of the program. Throws what is wrong with them, in one line. */
export const parse = (args: ReadonlyArray<string>): Arguments => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      scripted: { type: "boolean", default: false },
      model: { type: "string", default: defaults.cheap },
      "base-url": { type: "string" },
      record: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  const { help, model, record, scripted } = values
  if (!/^[A-Za-z0-9][\w.:-]{0,99}$/.test(model)) throw new RangeError("--model: expected the id of a model")
  if (record === "") throw new RangeError("--record: expected a file")
  return { help, model, record, scripted, baseURL: values["base-url"] }
}
