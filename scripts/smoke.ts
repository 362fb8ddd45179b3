/**
 * `npm run smoke`: one small piece of work of each kind that a language model does here, by a real one. See `--help`.
 */
import { NodeServices } from "@effect/platform-node"
import { Effect } from "effect"

import { main } from "./smoke/main.ts"

process.exitCode = await main(process.argv.slice(2)).pipe(
  Effect.map(({ code, text }) => {
    console.log(text.trimEnd())
    return code
  }),
  Effect.catch((error) => {
    console.error(`smoke: ${error.message}`)
    return Effect.succeed(3)
  }),
  Effect.provide(NodeServices.layer),
  Effect.runPromise
)
